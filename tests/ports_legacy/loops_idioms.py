# ruff: noqa
"""Ten short programs with loops and branches, as tutorials of MXNet 1 write them."""

import mxnet as mx, numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

rs = np.random.RandomState(0)


def show(name, *values):
    print(
        name,
        *[
            np.round(np.asarray(v.asnumpy() if hasattr(v, "asnumpy") else v, "float64"), 5).ravel()[:8].tolist()
            for v in values
        ],
    )


# 1: a running sum by foreach
out, last = nd.contrib.foreach(lambda x, s: (x + s[0], [x + s[0]]), nd.array([[1, 2], [3, 4], [5, 6]]), [nd.zeros(2)])
show("sum", out, last[0])
# 2: a state that is no list, and two inputs
out, last = nd.contrib.foreach(lambda x, s: (x[0] * s, s + x[1]), [nd.arange(3), nd.arange(3) + 1], nd.array([2]))
show("two", out, last)
# 3: gradients through foreach
x, w = nd.array(rs.uniform(size=(4, 3))), nd.array(rs.uniform(size=(3,)))
x.attach_grad(), w.attach_grad()
with autograd.record():
    out, s = nd.contrib.foreach(lambda d, s: (nd.tanh(d * w + s[0]), [s[0] + d]), x, [nd.zeros(3)])
    (out.sum() + s[0].sum()).backward()
show("grads", x.grad, w.grad)
# 4: while_loop
outs, vs = nd.contrib.while_loop(
    lambda i, s: i <= 5, lambda i, s: ([i + s], [i + 1, s + i]), (nd.array([0]), nd.array([1])), max_iterations=8
)
show("while", outs[0][:6], *vs)
# 5: gradient through while_loop
a = nd.array([1.1])
a.attach_grad()
with autograd.record():
    _, (i, p) = nd.contrib.while_loop(
        lambda i, p: i < 4, lambda i, p: (p, [i + 1, p * a]), (nd.array([0]), nd.array([1])), max_iterations=6
    )
    p.backward()
show("power", p, a.grad)
# 6: cond on arrays
for v in (1, -1):
    b = nd.array([v])
    b.attach_grad()
    with autograd.record():
        c = nd.contrib.cond(b > 0, lambda: b * 3, lambda: b * b)
    c.backward()
    show("cond", c, b.grad)
# 7: symbols: foreach with a free variable
free = mx.sym.var("free")
so, ss = mx.sym.contrib.foreach(lambda d, s: (d * free + s[0], [s[0] + d]), mx.sym.var("data"), [mx.sym.var("init")])
g = mx.sym.Group([so, ss[0]])
print(g.list_arguments())
e = g.bind(
    mx.cpu(),
    {"data": nd.array([[1, 2], [3, 4]]), "init": nd.zeros(2), "free": nd.array([2, 3])},
    {"free": nd.zeros(2), "data": nd.zeros((2, 2))},
)
show("sym", *e.forward(is_train=True))
e.backward([nd.ones((2, 2)), nd.ones(2)])
show("sym grads", e.grad_dict["free"], e.grad_dict["data"])
# 8: symbols: while_loop and cond, saved and loaded
i, s = mx.sym.var("i"), mx.sym.var("s")
o, v = mx.sym.contrib.while_loop(lambda i, s: s < 20, lambda i, s: ([i], [i + 1, s * 2]), [i, s], max_iterations=7)
c = mx.sym.contrib.cond(i < 3, lambda: s + 1, lambda: s - 1)
g = mx.sym.load_json(mx.sym.Group([v[0], v[1], c]).tojson())
show("loaded", *g.eval(i=nd.array([0]), s=nd.array([1]), ctx=mx.cpu()))


# 9: a hybrid block with foreach around a cell
class Net(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.cell = rnn.RNNCell(
                3,
                input_size=2,
                i2h_weight_initializer=mx.init.Constant(0.2),
                h2h_weight_initializer=mx.init.Constant(-0.1),
            )

    def hybrid_forward(self, F, x, state):
        return F.contrib.foreach(self.cell, x, [state])


for hybrid in (False, True):
    net = Net(prefix="net%d_" % hybrid)
    net.initialize()
    if hybrid:
        net.hybridize()
    data = nd.array(np.arange(12).reshape(3, 2, 2) / 10)
    with autograd.record():
        y, st = net(data, nd.zeros((2, 3)))
        (y.sum() + st[0].sum()).backward()
    show("cell", y, st[0], net.cell.i2h_weight.grad())


# 10: beam-like search in a hybrid block with while_loop
class Search(gluon.HybridBlock):
    def hybrid_forward(self, F, scores):
        def step(i, total):
            row = F.take(scores, i)
            return F.argmax(row, axis=1), [i + 1, total + F.max(row, axis=1)]

        return F.contrib.while_loop(
            lambda i, total: F.sum(total) < 2.0, step, [F.zeros(1), F.zeros(1)], max_iterations=4
        )


net = Search()
scores = nd.array(rs.uniform(size=(4, 3)))
path, (steps, total) = net(scores)
show("search", path[: int(steps.asscalar())], steps, total)
