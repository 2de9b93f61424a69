# ruff: noqa
"""Initializers, metrics, optimizers and schedulers of a program's own, and MXNet 1's with their defaults."""

import math, re
import mxnet as mx, numpy as np
from mxnet import autograd, gluon, init, metric, nd
from mxnet.gluon import nn


@mx.init.register
class MyInit(init.Initializer):
    def __init__(self, scale=0.5):
        super(MyInit, self).__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name, data):
        print("Init", name, data.shape)
        data[:] = nd.array(np.random.RandomState(data.size).normal(0, self.scale, data.shape))
        data *= data.abs() >= 0.01

    def _init_bias(self, name, data):
        data[:] = 0.1

    def _init_default(self, name, data):
        data[:] = 1


print(MyInit(0.25).dumps())
net = nn.HybridSequential(prefix="net_")
with net.name_scope():
    net.add(
        nn.Dense(6, activation="relu", bias_initializer="ones"),
        nn.BatchNorm(),
        nn.Dense(3, weight_initializer=init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2)),
    )
net.initialize(MyInit(0.3))
rs = np.random.RandomState(0)
X, y = (nd.array(rs.normal(size=(16, 5))), nd.array(rs.randint(0, 3, 16)))
net(X)
net[2].weight.initialize(init=MyInit(), force_reinit=True)
net[0].weight.set_data(net[0].weight.data() + 1)
mixed = mx.init.Mixed([".*bias", ".*weight", ".*"], [mx.init.Zero(), mx.init.Constant(0.2), mx.init.One()])
n2 = nn.Dense(2, in_units=3, prefix="m_")
n2.initialize()
mixed("m_weight", n2.weight.data())
mixed("m_bias", n2.bias.data())
print(n2.weight.data(), n2.bias.data())


class F1(metric.EvalMetric):
    def __init__(self, name="my-f1", **kw):
        super(F1, self).__init__(name, **kw)

    def reset(self):
        self.tp = self.fp = self.fn = 0
        self.num_inst = 0
        self.sum_metric = 0.0

    def update(self, labels, preds):
        labels, preds = (
            metric.check_label_shapes(labels, preds, True) if hasattr(metric, "check_label_shapes") else (labels, preds)
        )
        for l, p in zip(labels, preds):
            p, l = (p.asnumpy().argmax(1), l.asnumpy().astype("int32"))
            self.tp += ((p == 1) & (l == 1)).sum()
            self.fp += ((p == 1) & (l != 1)).sum()
            self.fn += ((p != 1) & (l == 1)).sum()
            self.num_inst += len(l)

    def get(self):
        return (self.name, 2 * self.tp / max(1, 2 * self.tp + self.fp + self.fn))


class MultiBoxMetric(mx.metric.EvalMetric):
    def __init__(self, eps=1e-08):
        super().__init__("MultiBox")
        self.eps = eps
        self.num = 2
        self.name = ["CE", "L1"]
        self.reset()

    def reset(self):
        if getattr(self, "num", None) is None:
            self.num_inst = 0
            self.sum_metric = 0.0
        else:
            self.num_inst = [0] * self.num
            self.sum_metric = [0.0] * self.num

    def update(self, labels, preds):
        self.sum_metric[0] += 1.5
        self.num_inst[0] += 1
        self.sum_metric[1] += 3
        self.num_inst[1] += 2

    def get(self):
        return (self.name, [s / n if n else float("nan") for s, n in zip(self.sum_metric, self.num_inst)])


def top2(label, pred):
    return float((np.argsort(-pred, 1)[:, :2] == label.reshape(-1, 1)).any(1).mean())


comp = mx.metric.CompositeEvalMetric()
for m in (
    mx.metric.Accuracy(),
    F1(),
    mx.metric.CrossEntropy(),
    mx.metric.np(top2),
    mx.metric.create("ce"),
    mx.metric.create(["acc", "top_k_accuracy"][0]),
    MultiBoxMetric(),
):
    comp.add(m)


@mx.optimizer.Optimizer.register
class MyOpt(mx.optimizer.Optimizer):
    def __init__(self, momentum=0.5, **kwargs):
        super(MyOpt, self).__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index, weight):
        return nd.zeros(weight.shape, weight.context, dtype=weight.dtype)

    def update(self, index, weight, grad, state):
        self._update_count(index)
        lr, wd = (self._get_lr(index), self._get_wd(index))
        grad = grad * self.rescale_grad
        if self.clip_gradient is not None:
            grad = nd.clip(grad, -self.clip_gradient, self.clip_gradient)
        state[:] = self.momentum * state + grad + wd * weight
        weight[:] -= lr * state


class TriangularSchedule:
    def __init__(self, lo, hi, n):
        self.lo, self.hi, self.n = (lo, hi, n)
        self.base_lr = lo

    def __call__(self, it):
        return self.lo + (self.hi - self.lo) * (1 - abs(it % self.n / self.n * 2 - 1))


class Poly(mx.lr_scheduler.LRScheduler):
    def __init__(self, n, **kw):
        super().__init__(**kw)
        self.n = n
        self.base_lr_orig = self.base_lr

    def __call__(self, t):
        if t < self.warmup_steps:
            return self.get_warmup_lr(t)
        self.base_lr = self.base_lr_orig * (1 - t / self.n) ** 2
        return self.base_lr


L = gluon.loss.SoftmaxCrossEntropyLoss()


def train(opt, kw, n=4):
    for i, (k, p) in enumerate(net.collect_params(".*(weight|bias|gamma|beta)").items()):
        p.set_data(nd.array(np.random.RandomState(i).normal(0.2, 0.3, p.shape)))
    tr = gluon.Trainer(net.collect_params(), opt, kw)
    comp.reset()
    res = []
    for i in range(n):
        with autograd.record():
            out = net(X)
            l = L(out, y)
        l.backward()
        tr.step(16)
        comp.update([y], [nd.softmax(out)])
        res.append("%.5f/%.4f" % (l.mean().asscalar(), tr.learning_rate))
    print(opt if isinstance(opt, str) else type(opt).__name__, *res)


net.hybridize()
train("myopt", {"learning_rate": 0.1, "wd": 0.01, "clip_gradient": 0.5})
train(MyOpt(momentum=0.2, learning_rate=0.2), None)
print([(name, "%.5f" % value) for name, value in comp.get_name_value()])
train("sgd", {"learning_rate": 0.1, "lr_scheduler": TriangularSchedule(0.01, 0.5, 4)})
train("adam", {"learning_rate": 0.1, "lr_scheduler": Poly(10, base_lr=0.1, warmup_steps=2, warmup_begin_lr=0.01)})
train(
    "sgd", {"lr_scheduler": mx.lr_scheduler.MultiFactorScheduler(step=[2, 3], factor=0.5, base_lr=0.3), "momentum": 0.9}
)
train("sgd", {"lr_scheduler": mx.lr_scheduler.FactorScheduler(2, 0.7), "learning_rate": 0.4})
train("sgd", {"lr_scheduler": mx.lr_scheduler.PolyScheduler(6, base_lr=0.4, pwr=2, warmup_steps=1)})
train(mx.optimizer.create("ftml", learning_rate=0.01), {})
for o in ("adagrad", "adadelta", "rmsprop", "signum", "ftrl", "adamax", "lars", "lamb"):
    train(o, {} if o == "adadelta" else {"learning_rate": 0.01}, 3)
from mxnet.gluon.contrib.nn import Identity, HybridConcurrent, Concurrent, PixelShuffle2D, SyncBatchNorm

c = HybridConcurrent(axis=1, prefix="")
c.add(nn.Dense(2, in_units=5), Identity())
c.initialize()
print(c(X).shape, c)


class Lam(nn.HybridLambda):
    pass


seq = nn.HybridSequential()
seq.add(
    nn.HybridLambda("tanh"),
    nn.HybridLambda(lambda F, x: F.LeakyReLU(x, slope=0.1)),
    nn.HybridLambda(lambda F, x: x * 2),
)
print(seq(X)[0])
est = mx.metric.PearsonCorrelation()
est.update([y], [y * 2 + X[:, 0]])
print("%.5f" % est.get()[1])
mm = mx.metric.MCC()
mm.update([nd.array([0, 1, 1, 0])], [nd.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4], [0.2, 0.8]])])
print(mm.get())
pp = mx.metric.Perplexity(ignore_label=0)
pp.update([y], [nd.softmax(net(X))])
print(pp.get())
