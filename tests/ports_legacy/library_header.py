"""Imports from MXNet 1 at the top of modules of model libraries, public names or not, and their use."""

import os
import warnings

import mxnet as mx
import numpy as np
from mxnet import gluon, nd, registry
from mxnet.base import _as_list, numeric_types, py_str, string_types
from mxnet.contrib.io import DataLoaderIter
from mxnet.gluon import nn
from mxnet.gluon.block import HybridBlock, _flatten, _indent, _regroup
from mxnet.gluon.contrib.data import IntervalSampler
from mxnet.gluon.data.dataloader import _MultiWorkerIter, default_batchify_fn, default_mp_batchify_fn  # noqa: F401
from mxnet.gluon.loss import Loss, _apply_weighting, _reshape_like
from mxnet.gluon.model_zoo.model_store import _model_sha1, short_hash  # noqa: F401
from mxnet.gluon.rnn.rnn_cell import _format_sequence, _get_begin_state  # noqa: F401
from mxnet.gluon.utils import _brief_print_list, _get_repo_file_url, _get_repo_url, check_sha1, download  # noqa: F401
from mxnet.image.image import _get_interp_method
from mxnet.ndarray.ndarray import _DTYPE_NP_TO_MX, _GRAD_REQ_MAP, _STORAGE_TYPE_STR_TO_ID, py_slice

os.environ.pop("MXNET_GLUON_REPO", None)


class TokenEmbedding:
    """A base class whose subclasses are made by name."""


register = registry.get_register_func(TokenEmbedding, "token embedding")
create = registry.get_create_func(TokenEmbedding, "token embedding")


@register
class GloVe(TokenEmbedding):
    def __init__(self, source="6B"):
        self.source = source


class SmoothL1(Loss):
    def __init__(self, weight=1.0, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        label = _reshape_like(F, label, pred)
        loss = F.where(F.abs(pred - label) > 1, F.abs(pred - label) - 0.5, 0.5 * F.square(pred - label))
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class Scaled(nn.Dense):
    """A layer that changes its weight and leaves the rest to the layer it derives from."""

    def hybrid_forward(self, F, x, weight, bias=None):
        return super().hybrid_forward(F, x, weight * 0.5, bias)


class Doubling(HybridBlock):
    """Both kinds of forward."""

    def forward(self, x, *args):
        return super().forward(x * 2, *args)

    def hybrid_forward(self, F, x):
        return F.tanh(x)


print(create("glove").source, create('["glove", {"source": "840B"}]').source)
print(sorted(registry.get_registry(TokenEmbedding)))
a, b, c = nd.ones((1,)), nd.zeros((2,)), nd.ones((3,))
flat, fmt = _flatten([a, [b, c], None], "input")
print(len(flat), fmt, _regroup([x if x is None else x.shape for x in flat], fmt))
print(_as_list(3), _as_list((1, 2)), isinstance(3, numeric_types), isinstance("a", string_types), py_str(b"bytes"))
print(_indent("a\nb", 2), _brief_print_list([f"p{i}" for i in range(12)]), py_slice(1, 2))
print(_get_repo_url(), _get_repo_file_url("gluon/dataset/mnist", "train.gz"))
print([_get_interp_method(9, sizes) for sizes in ((10, 10, 20, 20), (20, 20, 10, 10), (10, 20, 20, 10))])
print(_GRAD_REQ_MAP, _STORAGE_TYPE_STR_TO_ID, _DTYPE_NP_TO_MX[np.float32], _DTYPE_NP_TO_MX[a.dtype])
print(list(IntervalSampler(10, 3)), list(IntervalSampler(10, 3, rollover=False)))

loader = gluon.data.DataLoader(gluon.data.ArrayDataset(np.eye(4, dtype="f"), np.arange(4, dtype="f")), 2)
batches = DataLoaderIter(loader)
print(batches.provide_data, batches.provide_label, [batch.label[0].asnumpy().tolist() for batch in batches])

x = nd.array([[0.5, 3.0]])
print(x.dtype, x.dtype(3), x.dtype == np.float32, np.float32 == x.dtype)
print({np.float32: "single"}[x.dtype], x.dtype.__name__)
print(SmoothL1()(x, nd.zeros((1, 2)), nd.array([[2.0]])))
for hybrid in (False, True):
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(Scaled(2), Doubling())
    print(net._prefix, net[0].weight._data, list(net[0]._params), net[0]._prefix)
    net.initialize(mx.init.Constant(0.5))
    if hybrid:
        net.hybridize()
    with mx.autograd.record():
        y = net(x)
    y.backward()
    print(y, net[0].weight.grad(), len(net[0].weight._data), len(net[0].weight._grad))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    print(sorted(net.collect_params().keys()), list(net.collect_params("net_scaled.*weight")))
