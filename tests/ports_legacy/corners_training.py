# ruff: noqa
"""Corners of training in MXNet 1: optimizers by hand, predictions by a named tuple, states, buckets, metrics, files."""

import os
import tempfile
from collections import namedtuple

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

Batch = namedtuple("Batch", ["data"])


def show(what, *values):
    print(what, *[np.round(v.asnumpy(), 5).tolist() if hasattr(v, "asnumpy") else v for v in values])


# -- an optimizer by hand, one weight at a time
for name in ["sgd", "nag", "adam", "adagrad", "rmsprop", "adadelta", "ftrl", "adamax", "signum", "lamb", "test"]:
    opt = mx.optimizer.create(name, wd=0.01)
    w, g = nd.array([1.0, -2.0]), nd.array([0.5, 0.25])
    state = opt.create_state_multi_precision(0, w)
    opt.update(0, w, g, state)
    opt.update_multi_precision(0, w, g, state)
    show(name, w)


class Plain(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        return nd.zeros(weight.shape)

    def update(self, i, w, g, s):  # no list, whatever it is called
        self._update_count(i)
        s += 1
        w -= self._get_lr(i) * g
        print("update", i, type(w).__name__, w.shape)


net = nn.Dense(2, in_units=2, use_bias=True)
net.initialize(mx.init.One())
trainer = gluon.Trainer(net.collect_params(), Plain(learning_rate=0.5))
with autograd.record():
    loss = (net(nd.array([[1.0, 2.0]])) ** 2).sum()
loss.backward()
trainer.step(2)
show("stepped", net.weight.data(), net.bias.data())

# -- how the tutorials predict
data = mx.sym.Variable("data")
out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=2, name="fc"), name="softmax")
values = {"fc_weight": nd.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.0]]), "fc_bias": nd.array([0.1, -0.1])}
mod = mx.mod.Module(symbol=out, context=mx.cpu(), label_names=None)
mod.bind(for_training=False, data_shapes=[("data", (1, 3))], label_shapes=mod._label_shapes)
mod.set_params(values, {}, allow_missing=True)
mod.forward(Batch([nd.array([[1, 2, 3]])]))
show("prob", mod.get_outputs()[0])
mod = mx.mod.Module(out.get_internals()["fc_output"], label_names=None)
mod.bind(for_training=False, data_shapes=[("data", (1, 3))])
mod.set_params(values, {})
mod.forward(Batch([nd.array([[1, 2, 3], [0, 1, 0]])]))
show("features", mod.get_outputs()[0])

# -- states
state = mx.sym.Variable("state")
step = mx.sym.FullyConnected(data, num_hidden=2, name="fc") + state
mod = mx.mod.Module(mx.sym.Group([step, mx.sym.BlockGrad(step * 2)]), label_names=None, state_names=["state"])
mod.bind(data_shapes=[("data", (1, 3))])
mod.init_params(mx.init.One())
mod.init_optimizer()
print(sorted(mod.get_params()[0]))
mod.set_states(value=2)
for _ in range(3):
    mod.forward(mx.io.DataBatch([nd.array([[1, 2, 3]])]), is_train=True)
    mod.backward([nd.ones((1, 2)), nd.ones((1, 2))])
    mod.update()
    outs = mod.get_outputs(merge_multi_context=False)
    show("state", outs[0][0])
    mod.set_states(states=outs[1:])
show("states", mod.get_states(merge_multi_context=False)[0][0], mod.get_params()[0]["fc_weight"])


# -- buckets in files
def sym_gen(length):
    emb = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=5, output_dim=3, name="emb")
    fc = mx.sym.FullyConnected(mx.sym.sum(emb, axis=1), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(fc, name="softmax"), ("data",), ("softmax_label",)


def train(module, length):
    shapes = {"provide_data": [("data", (2, length))], "provide_label": [("softmax_label", (2,))]}
    words = nd.array(np.arange(2 * length).reshape(2, length) % 5)
    module.forward_backward(mx.io.DataBatch([words], [nd.array([0, 1])], bucket_key=length, **shapes))
    module.update()


buckets = mx.mod.BucketingModule(sym_gen, default_bucket_key=4)
buckets.bind([("data", (2, 4))], [("softmax_label", (2,))])
start = {
    "emb_weight": nd.array(np.arange(15).reshape(5, 3) / 15),
    "fc_weight": nd.array(np.arange(6).reshape(2, 3) / 6),
}
buckets.init_params(arg_params=dict(start, fc_bias=nd.zeros(2)), aux_params={})
buckets.init_optimizer(optimizer_params={"learning_rate": 0.5})
for length in (4, 2, 3):
    train(buckets, length)
with tempfile.TemporaryDirectory() as folder:
    buckets.save_checkpoint(os.path.join(folder, "net"), 3)
    print(sorted(os.listdir(folder)))
    print(nd.load(os.path.join(folder, "net.buckets"))[0].asnumpy().tolist())
    again = mx.mod.BucketingModule.load(os.path.join(folder, "net"), 3, sym_gen=sym_gen, default_bucket_key=4)
print(again.binded, again.params_initialized, sorted(again.get_params()[0]))
again.bind([("data", (2, 4))], [("softmax_label", (2,))])
again.init_optimizer(optimizer_params={"learning_rate": 0.5})
for length in (2, 4, 1):
    train(again, length)
for name, value in sorted(again.get_params()[0].items()):
    show(name, value)

# -- metrics of the last batches, and of all
rows = [
    ([1, 0, 1, 0], [0.7, 0.6, 0.8, 0.1]),
    ([1, 0, 1, 1], [0.6, 0.4, 0.3, 0.9]),
    ([0, 0, 1, 0], [0.2, 0.7, 0.6, 0.3]),
]
for name in ["acc", "f1", "mcc", "mae", "mse", "rmse", "ce", "nll_loss", "perplexity", "pearsonr", "pcc", "loss"]:
    m = mx.metric.create(name, **({"ignore_label": None} if name == "perplexity" else {}))
    for k, (label, p) in enumerate(rows):
        if k == 2:
            m.reset_local()
        one = name in ("mae", "mse", "rmse", "pearsonr")
        m.update([nd.array(label)], [nd.array(p) if one else nd.array([[1 - q, q] for q in p])])
    print(name, *["%.4f" % v for _, v in m.get_name_value() + m.get_global_name_value()])
both = mx.metric.create(["acc", "mae"])
both.update([nd.array([1, 0])], [nd.array([1, 1])])
both.reset_local()
print(both.get(), both.get_global())


class Sum(mx.metric.EvalMetric):
    def __init__(self):
        super(Sum, self).__init__("sum", has_global_stats=True)

    def update(self, labels, preds):
        for pred in preds:
            s = pred.asnumpy().sum()
            self.sum_metric += s
            self.global_sum_metric += s
            self.num_inst += 1
            self.global_num_inst += 1


m = Sum()
for k in range(3):
    m.update(None, [nd.array([k, 1.0])])
    print(m.get()[1], m.get_global()[1])
    m.reset_local()
m.reset()
print(m.get(), m.get_global())

# -- an iterator's arrays
it = mx.io.NDArrayIter(np.arange(6).reshape(3, 2), np.arange(3), batch_size=2)
name, array = it.data[0]
print(name, type(array).__name__, array.shape, it.label[0][0], it.label[0][1].asnumpy().tolist(), array.dtype)
array[1] = 7
show("batch", it.next().data[0], it.label[0][1][1:])

# -- blocks whose constructors take params of their own; constants by name; losses that call their parent


class Configured(gluon.HybridBlock):
    def __init__(self, params):
        super(Configured, self).__init__()
        self.dense = nn.Dense(params["units"], in_units=2)

    def hybrid_forward(self, F, x):
        return self.dense(x)


b = Configured(params={"units": 3})
b.initialize(mx.init.One())
show("configured", b(nd.array([[1, 2]])), list(b.collect_params()))

c = gluon.Constant("c", nd.array([1.0, 2.0]))
c.initialize()
show(c.name, c.data(), c.value, c.grad_req)
c = gluon.Constant(name="d", value=[[3, 4]])
show(c.name, c.value, c.shape)


class Scaled(gluon.loss.Loss):
    def __init__(self, weight=1.0, batch_axis=0):
        super(Scaled, self).__init__(weight, batch_axis)

    def forward(self, pred, label):
        return super(Scaled, self).forward(pred, label)

    def hybrid_forward(self, F, pred, label):
        return F.mean(F.square(pred - label), axis=self._batch_axis, exclude=True) * self._weight


class Listed(Scaled):
    def forward(self, pred, label):
        found = super(Listed, self).forward(pred, label)
        return found, "L2"


found = Listed(3.0)(nd.array([[1, 2]]), nd.array([[0, 0]]))
show(found[1], found[0])


class Both(gluon.loss.SoftmaxCELoss):
    def forward(self, pred, label):
        return super(Both, self).forward(pred, label) * 3

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        return super(Both, self).hybrid_forward(F, pred, label, sample_weight) + 1


show("both", Both()(nd.array([[1, 2]]), nd.array([1])))


class Cell(gluon.rnn.HybridRecurrentCell):
    def state_info(self, batch_size=0):
        return [{"shape": (batch_size, 2), "__layout__": "NC"}]

    def _alias(self):
        return "own"

    def forward(self, x, states):
        return super(Cell, self).forward(x, states)

    def hybrid_forward(self, F, x, states):
        total = F.tanh(x + states[0])
        return total, [total]


show("cell", Cell().unroll(3, nd.ones((1, 3, 2)), merge_outputs=True)[0])

# -- of parameters that an optimizer knows by name, weights and gammas decay
for mult in ({}, {"a_bias": 3.0}):
    opt = mx.optimizer.SGD(learning_rate=0.1, wd=0.1, param_idx2name={0: "a_weight", 1: "a_bias", 2: "a_gamma"})
    opt.set_wd_mult(mult)
    for i in range(4):
        w = nd.ones(1)
        opt.update(i, w, nd.ones(1), opt.create_state(i, w))
        show("decayed", w)

# -- a list of devices that names one twice
two = [mx.cpu(0), mx.cpu(0)]
net = nn.Dense(2, in_units=2)
net.initialize(mx.init.One())
net.collect_params().reset_ctx(two)
parts = gluon.utils.split_and_load(nd.array(np.arange(8).reshape(4, 2)), two)
with autograd.record():
    losses = [net(x).sum() for x in parts]
autograd.backward(losses)
print(net.weight.list_ctx(), len(net.weight.list_data()), [g.asnumpy().tolist() for g in net.weight.list_grad()])
try:
    gluon.Trainer(net.collect_params(), "sgd").step(4)
except Exception:
    print("no step")

layer = gluon.rnn.LSTM(2, input_size=2)
layer.initialize(mx.init.One(), ctx=two)
with autograd.record():
    losses = [layer(x).sum() for x in gluon.utils.split_and_load(nd.ones((2, 4, 2)), two, batch_axis=1)]
autograd.backward(losses)
show("lstm", layer.l0_i2h_bias.list_ctx(), *layer.l0_i2h_bias.list_grad())
with tempfile.TemporaryDirectory() as folder:
    layer.save_parameters(os.path.join(folder, "file"))
    layer.load_parameters(os.path.join(folder, "file"), ctx=two)
layer.collect_params().reset_ctx(mx.cpu(0))
print(layer.l0_i2h_bias.list_ctx(), len(layer.l0_i2h_bias.list_grad()))
trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.1})
with autograd.record():
    loss = layer(nd.ones((2, 2, 2))).sum()
loss.backward()
trainer.step(1)
show("stepped", layer.l0_i2h_bias.data())

# -- padding of Caffe
x = nd.array(np.arange(16).reshape(1, 1, 4, 4))
show("pool", nd.Pooling(x, kernel=(2, 2), pad=(1, 0, 1, 0), stride=(2, 2, 2), pool_type="avg"))
print(
    mx.sym.Pooling(mx.sym.Variable("x"), kernel=(2, 2), pad=(1, 1, 1, 1), pool_type="max").infer_shape(x=(1, 1, 4, 4))[
        1
    ]
)


# -- an operator in Python whose infer_shape completes parameters
@mx.operator.register("ports_dense")
class DenseProp(mx.operator.CustomOpProp):
    def __init__(self, units):
        super(DenseProp, self).__init__(need_top_grad=True)
        self.units = int(units)

    def list_arguments(self):
        return ["data", "weight", "bias"]

    def infer_shape(self, in_shape):
        batch, size = in_shape[0]
        return [in_shape[0], (self.units, size), (self.units,)], [(batch, self.units)], []

    def create_operator(self, ctx, shapes, dtypes):
        return Dense()


class Dense(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x, w, b = in_data
        self.assign(out_data[0], req[0], nd.dot(x, w.T) + b)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        (x, w, _), g = in_data, out_grad[0]
        for k, grad in enumerate([nd.dot(g, w), nd.dot(g.T, x), g.sum(axis=0)]):
            self.assign(in_grad[k], req[k], grad)


class Layer(gluon.HybridBlock):
    def __init__(self, units, **kwargs):
        super(Layer, self).__init__(**kwargs)
        self._units = units
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(units, 0), allow_deferred_init=True)
            self.bias = self.params.get("bias", shape=(0,), allow_deferred_init=True)

    def hybrid_forward(self, F, x, weight, bias):
        return F.Custom(x, weight, bias, op_type="ports_dense", units=self._units)


for hybrid in (False, True):
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu"), Layer(3), nn.Dense(2))
    net.initialize(mx.init.One())
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    for _ in range(2):
        with autograd.record():
            loss = (net(nd.array([[1, 2, 3], [0, 1, 0]])) ** 2).mean()
        loss.backward()
        trainer.step(2)
    show("custom", net[1].weight.data(), net[1].bias.data(), loss)

# -- files of recurrent layers
with tempfile.TemporaryDirectory() as folder:
    for layer in [gluon.rnn.LSTM(3, 2, bidirectional=True), gluon.rnn.GRU(3), gluon.rnn.RNN(3, 2)]:
        layer.initialize(mx.init.One())
        layer(nd.ones((2, 1, 2)))
        net = nn.Sequential()
        net.add(layer, nn.Dense(1, in_units=3))
        net[1].initialize()
        path = os.path.join(folder, "file")
        net.save_parameters(path)
        print(sorted(nd.load(path)))
        net[0].initialize(mx.init.Zero(), force_reinit=True)
        net.load_parameters(path)
        show("layer", layer(nd.ones((1, 1, 2))))
