"""Operators in MXNet 2.0, as its front end calls them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"

import mxnet as mx  # pyright: ignore[reportMissingImports] - in its own environment
from mxnet import autograd, np, npx  # pyright: ignore[reportMissingImports]

from benchmarks.sweep.cases import Case, arrays, trained

__all__ = ["FORMS", "make", "versions"]

npx.set_np()
Form = Callable[..., Any]


def versions() -> dict[str, str]:
    """Of MXNet."""
    return {"mxnet": mx.__version__}


class Job:
    """A call with its arrays."""

    def __init__(self, fn: Form, inputs: list[Any], wanted: list[Any]) -> None:
        self.fn, self.inputs, self.wanted = fn, inputs, wanted
        for x in wanted:
            x.attach_grad()
        self.y: Any = None

    def step(self) -> None:
        """One call."""
        if not self.wanted:
            with autograd.train_mode():
                self.y = self.fn(*self.inputs)
            return
        with autograd.record():
            y = self.fn(*self.inputs)
        if isinstance(y, (tuple, list)):
            autograd.backward(list(y), list(y))
        else:
            y.backward(y)
        self.y = y

    def wait(self) -> None:
        """Until all is there."""
        npx.waitall()

    def results(self) -> list[list[Any]]:
        """Return as NumPy arrays the result's parts, and the gradients."""
        y = self.y if isinstance(self.y, (tuple, list)) else [self.y]
        found = [[part.asnumpy() for part in y]]
        return [*found, [x.grad.asnumpy() for x in self.wanted]] if self.wanted else found


def _bare(fn: Form) -> Callable[..., Form]:
    """Return a function that needs none of the attributes."""
    return lambda **_: fn


def _over(fn: Form) -> Callable[..., Form]:
    """Return a function that takes the attributes as they are."""
    return lambda **attrs: lambda *args: fn(*args, **attrs)


def _layer(make: Callable[..., Any]) -> Callable[..., Form]:
    """Return a layer or a loss without parameters, compiled."""

    def form(**attrs: Any) -> Form:
        layer = make(**attrs)
        layer.hybridize(static_alloc=True, static_shape=True)
        return layer

    return form


def _first(fn: Form) -> Callable[..., Form]:
    """Return a function of which the first result is wanted."""

    def form(**attrs: Any) -> Form:
        def call(*args: Any) -> Any:
            y = fn(*args, **attrs)
            return y[0] if isinstance(y, (tuple, list)) else y

        return call

    return form


def _activation(act_type: str) -> Callable[..., Form]:
    return lambda **_: lambda x: npx.activation(x, act_type=act_type)


def _leaky(act_type: str = "leaky", **attrs: Any) -> Form:
    return lambda *args: npx.leaky_relu(*args, act_type=act_type, **attrs)


def _gelu(approximate: bool = False) -> Form:
    return lambda x: npx.leaky_relu(x, act_type="gelu")


def _logsumexp(axis: int) -> Form:
    def run(x: Any) -> Any:
        top = x.max(axis, keepdims=True)
        return np.log(np.exp(x - top).sum(axis)) + top.squeeze(axis)

    return run


def _pad(pad_width: Any, mode: str = "constant") -> Form:
    return lambda x: npx.pad(x, mode=mode, pad_width=pad_width)


def _split(indices_or_sections: int, axis: int) -> Form:
    return lambda x: np.split(x, indices_or_sections, axis)


def _attention(causal: bool = False) -> Form:
    def attend(q: Any, k: Any, v: Any) -> Any:
        batch, length, heads, width = q.shape
        q, k, v = (x.transpose(0, 2, 1, 3).reshape(-1, length, width) for x in (q, k, v))
        scores = npx.batch_dot(q, k, transpose_b=True) / math.sqrt(width)
        y = npx.batch_dot(npx.softmax(scores, axis=-1), v)
        return y.reshape(batch, heads, length, width).transpose(0, 2, 1, 3)

    if causal:
        raise ImportError("MXNet has no causal attention")
    return attend


def _sequence(fn: Form) -> Callable[..., Form]:
    return lambda **attrs: lambda x, n: fn(x, sequence_length=n.astype("float32"), **attrs)


def _legacy(fn: Form) -> Form:
    """Return a function of `mx.nd`, for arrays of `mx.np`."""
    return lambda *args, **attrs: fn(*[x.as_nd_ndarray() for x in args], **attrs).as_np_ndarray()


def _random(draw: Form) -> Callable[..., Form]:
    return lambda size, **_: lambda *numbers: draw(size)


def _update(fn: Form, names: tuple[str, ...], states: int) -> Callable[..., Form]:
    """Return a step of an optimizer, in place as MXNet has it."""

    def form(**_: Any) -> Form:
        def step(*args: Any) -> Any:
            arrays, numbers = args[: 2 + states], args[2 + states :]
            given = dict(zip(names, numbers))
            return fn(*[x.as_nd_ndarray() for x in arrays], out=arrays[0].as_nd_ndarray(), **given)

        return step

    return form


_LOSSES = mx.gluon.loss
_ADAM = ("lr", "beta1", "beta2", "epsilon", "wd", "rescale_grad", "clip_gradient")
FORMS: dict[str, Callable[..., Form]] = {
    "pooling": lambda **attrs: lambda x: npx.pooling(x, **{"kernel": (1,) * (x.ndim - 2), **attrs}),
    "adaptive_avg_pooling": lambda output_size: (
        lambda x: mx.nd.contrib.AdaptiveAvgPooling2D(x.as_nd_ndarray(), output_size=output_size).as_np_ndarray()
    ),
    "pixel_shuffle": _layer(lambda factors: mx.gluon.nn.PixelShuffle2D(factors)),
    "batch_norm": _first(npx.batch_norm),
    "instance_norm": _over(npx.instance_norm),
    "lrn": _over(_legacy(mx.nd.LRN)),
    "l2_normalization": _bare(_legacy(mx.nd.L2Normalization)),
    "softmax_cross_entropy_loss": _layer(_LOSSES.SoftmaxCrossEntropyLoss),
    "softmax_output": _bare(
        lambda x, y: mx.nd.SoftmaxOutput(x.as_nd_ndarray(), y.astype("float32").as_nd_ndarray()).as_np_ndarray()
    ),
    "sigmoid_bce_loss": _layer(_LOSSES.SigmoidBinaryCrossEntropyLoss),
    "l2_loss": _layer(_LOSSES.L2Loss),
    "huber_loss": _layer(_LOSSES.HuberLoss),
    "kl_div_loss": _layer(_LOSSES.KLDivLoss),
    "ctc_batch_loss": _layer(_LOSSES.CTCLoss),
    "softrelu": _activation("softrelu"),
    "mish": _activation("mish"),
    "softsign": _activation("softsign"),
    "silu": _bare(lambda x: x * npx.sigmoid(x)),
    "gelu": _gelu,
    "elu": _bare(lambda x: npx.leaky_relu(x, act_type="elu", slope=1.0)),
    "selu": _bare(lambda x: npx.leaky_relu(x, act_type="selu")),
    "hard_sigmoid": _bare(_legacy(mx.nd.hard_sigmoid)),
    "rsqrt": _bare(_legacy(mx.nd.rsqrt)),
    "leaky_relu": _leaky,
    "dropout": lambda p: lambda x: npx.dropout(x, p=p),
    "cast": lambda dtype: lambda x: x.astype(dtype),
    "add_n": _bare(npx.add_n),
    "logsumexp": _logsumexp,
    "norm": lambda axis: lambda x: np.linalg.norm(x, axis=axis),
    "index_add": _bare(npx.index_add),
    "index_update": _bare(npx.index_update),
    "gather_nd": _bare(npx.gather_nd),
    "scatter_nd": lambda shape: (
        lambda x, i: mx.nd.scatter_nd(x.as_nd_ndarray(), i.as_nd_ndarray(), shape=shape).as_np_ndarray()
    ),
    "topk": lambda k, ret_typ: lambda x: npx.topk(x, k=k, ret_typ=ret_typ),
    "concatenate": lambda axis: lambda *xs: np.concatenate(xs, axis),
    "stack": lambda axis: lambda *xs: np.stack(xs, axis),
    "split": _split,
    "slice_axis": lambda axis, begin, end: lambda x: x.take(np.arange(begin, end), axis),
    "pad": _pad,
    "einsum": lambda subscripts: lambda *xs: np.einsum(subscripts, *xs),
    "clip": _bare(np.clip),
    "rnn": lambda **attrs: (
        lambda x, flat, *states: npx.rnn(
            data=x, parameters=flat, state=states[0], **({"state_cell": states[1]} if len(states) > 1 else {}), **attrs
        )
    ),
    "dot_product_attention": _attention,
    "sequence_mask": _sequence(npx.sequence_mask),
    "sequence_last": _sequence(npx.sequence_last),
    "sequence_reverse": _sequence(npx.sequence_reverse),
    "bilinear_resize": lambda height, width, align_corners: (
        lambda x: mx.nd.contrib.BilinearResize2D(
            x.as_nd_ndarray(), height=height, width=width, align_corners=align_corners
        ).as_np_ndarray()
    ),
    "image.normalize": lambda mean, std: lambda x: npx.image.normalize(x, mean, std),
    "random_normal": _random(lambda size: np.random.normal(size=size)),
    "random_uniform": _random(lambda size: np.random.uniform(size=size)),
    "random_exponential": _random(lambda size: np.random.exponential(size=size)),
    "random_gamma": _random(lambda size: np.random.gamma(2.0, 1.0, size=size)),
    "random_permutation": _bare(lambda x: np.random.permutation(x)),
    "sgd_mom_update": _update(mx.nd.sgd_mom_update, ("lr", "momentum", "wd", "rescale_grad", "clip_gradient"), 1),
    "adam_update": _update(mx.nd.adam_update, _ADAM, 2),
}


def make(case: Case, gradient: bool) -> Job:
    """Return the case as a call: by the table, else what MXNet has by this name, with the same attributes.

    Raises
    ------
    ImportError
        If MXNet has no such operator.
    """
    form = FORMS.get(case.op)
    if form is None:
        named = getattr(npx, case.op, None) or getattr(np, case.op, None)
        if named is None:
            raise ImportError(f"MXNet has no {case.op}")
        form = _over(named)
    fn = form(**case.attrs)
    inputs = [np.array(x, dtype=x.dtype) if x.ndim else float(x) for x in arrays(case)]
    return Job(fn, inputs, [inputs[i] for i in trained(case)] if gradient else [])
