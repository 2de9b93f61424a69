# ruff: noqa
"""Ten short programs with control flow, as they are written for MXNet 2."""

import mxnet as mx, numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

npx.set_np()
rs = onp.random.RandomState(2)


def show(name, *values):
    print(
        name,
        *[
            onp.round(onp.asarray(v.asnumpy() if hasattr(v, "asnumpy") else v, "float64"), 5).ravel()[:8].tolist()
            for v in values
        ],
    )


x = np.array(rs.rand(5, 3).astype("float32"))
# 1: foreach, cumulative sum
outs, last = npx.foreach(lambda row, state: (row + state, row + state), x, np.zeros((3,)))
show("cumsum", outs, last)


# 2: foreach with several states and arrays
def step(items, states):
    a, b = items
    s, n = states
    s = s * 0.5 + a * b
    return [s, a - b], [s, n + 1]


outs, states = npx.foreach(step, [x, x * 2], [np.zeros((3,)), np.zeros((1,))])
show("several", *outs, *states)
# 3: through a loop of Python, which is recorded step by step
x.attach_grad()
with autograd.record():
    state, loss = np.ones((3,)), 0
    for row in x:
        loss = loss + ((row * state) ** 2).sum()
        state = row + state
    loss = loss + state.sum()
loss.backward()
show("gradient", loss, x.grad)
# 4: while_loop
outs, (i, total) = npx.while_loop(
    lambda i, s: i <= 5, lambda i, s: ([i * 2], [i + 1, s + i]), (np.array([0.0]), np.array([1.0])), max_iterations=10
)
show("while", outs[0][:6], i, total)
# 5: a power by repeated products
_, (i, p, _) = npx.while_loop(
    lambda i, p, k: i < 4,
    lambda i, p, k: ([], [i + 1, p * k, k]),
    (np.array([0.0]), np.array([1.0]), np.array([2.0])),
    max_iterations=4,
)
show("power", i, p)
# 6: cond
for value in (1.0, 9.0):
    v = np.array([value])
    v.attach_grad()
    with autograd.record():
        y = npx.cond(lambda a: a * a < 5, lambda a: a * 3, lambda a: a - 1, v)
        y = y[0] if isinstance(y, (list, tuple)) else y
        y = y.sum()
    y.backward()
    show("cond", y, v.grad)


# 7: a recurrent cell over foreach, in a hybridized block
class Loop(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.cell = gluon.rnn.RNNCell(4, input_size=3)

    def forward(self, seq, h):
        outs, states = npx.foreach(self.cell, seq, [h])
        return outs, states[0]


net = Loop()
net.initialize(mx.init.Constant(0.1))
seq, h = np.array(rs.rand(6, 2, 3).astype("float32")), np.zeros((2, 4))
plain = net(seq, h)
show("loop", *plain)
net.hybridize()
show("hybrid", *net(seq, h))


# 8: Python's own control flow, not hybridized
class Depth(nn.Block):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, in_units=3)

    def forward(self, x, depth):
        for i in range(depth):
            x = self.dense(x)
            if x.sum() > 10:
                break
        return x


deep = Depth()
deep.initialize(mx.init.Constant(0.5))
show("depth", deep(x, 1), deep(x, 4))
# 9: masks in place of branches
with autograd.record():
    m = np.where(x > 0.5, x * 2, x / 2).sum() + npx.relu(x - 0.3).sum()
m.backward()
show("mask", m, x.grad)
# 10: sequence operators
lengths = np.array([1, 3])
s = np.arange(12).reshape(3, 2, 2)
show(
    "sequences",
    npx.sequence_mask(s, lengths, use_sequence_length=True, value=-1),
    mx.nd.SequenceLast(s.as_nd_ndarray(), lengths.as_nd_ndarray(), use_sequence_length=True),
    mx.nd.SequenceReverse(s.as_nd_ndarray(), lengths.as_nd_ndarray(), use_sequence_length=True),
)
