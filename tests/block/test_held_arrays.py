"""Arrays that blocks hold as attributes: a hybridized forward reads and writes them as the plain one does."""

import jax
import numpy as onp
import pytest

import gluonx as mx
from gluonx import autograd, engine, gluon, np, npx
from gluonx.errors import TracedValueError
from gluonx.gluon import nn
from lib.derivatives import doubling


class Keeps(nn.HybridBlock):
    """Leaves what it computed on the way, for the loss to use."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Dense(4), nn.Dense(6)
        self.mean = None

    def forward(self, x):
        self.mean = self.encoder(x)
        self.parts = {"twice": self.mean * 2, "name": "parts"}
        return self.decoder(self.mean)


class Carries(nn.HybridBlock):
    """Goes on from the state that the last call left."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3)
        self.states = None

    def forward(self, x):
        before = np.zeros_like(x) if self.states is None else self.states[0]
        self.states = [self.dense(x) + before / 2]
        return self.states[0].sum()


class Averages(nn.HybridBlock):
    """Writes in training what it reads in prediction."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3)
        self.average = np.zeros((3,))

    def forward(self, x):
        if autograd.is_training():
            self.average = self.average * 0.9 + x.mean(axis=0) * 0.1
        return (self.dense(x) - self.average).sum()


def assert_close(found, wanted):
    onp.testing.assert_allclose(onp.asarray(found), onp.asarray(wanted), rtol=1e-5)


def train(net, loss_of, x, steps):
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    losses = []
    for i in range(steps):
        with autograd.record():
            loss = loss_of(net, x * (i + 1))
        loss.backward()
        trainer.step(1)
        losses.append(float(loss))
        losses.append(float(net(x).sum()))
    return losses


LOSSES = {
    Keeps: lambda net, x: net(x).sum() + (net.mean**2).sum() + net.parts["twice"].sum(),
    Carries: lambda net, x: net(x),
    Averages: lambda net, x: net(x) ** 2,
}


@pytest.mark.dear
@pytest.mark.parametrize("block", LOSSES)
def test_hybridized_does_what_plain_does(block):
    x, runs = np.ones((2, 3)), []
    for hybridize in (False, True):
        net = block()
        net.initialize(mx.init.Constant(0.1))
        if hybridize:
            net.hybridize()
        losses = train(net, LOSSES[block], x, 3)
        before = engine.stats()
        losses += train(net, LOSSES[block], x, 3)
        after = engine.stats()
        runs.append(losses)
    assert runs[1] == pytest.approx(runs[0], rel=1e-5)
    assert after["traces"] == before["traces"]
    assert after["programs_compiled"] - before["programs_compiled"] <= 1  # another Trainer


def test_each_call_leaves_a_new_array():
    net = Keeps()
    net.initialize()
    net.hybridize()
    kept = []
    for i in range(3):
        net(np.ones((2, 3)) * i)
        kept.append(net.mean)
    assert [float(k[0, 0]) == 0 for k in kept] == [True, False, False]
    assert float(kept[2][0, 0]) == pytest.approx(2 * float(kept[1][0, 0]))
    assert net.parts["name"] == "parts"


def test_what_is_set_from_outside_is_read():
    net = Carries()
    net.initialize(mx.init.Constant(0.0))
    net.hybridize()
    x = np.ones((2, 3))
    net(x)
    net(x)  # now there is a state to begin with: another trace
    net.states = [np.ones((2, 3))]
    before = engine.stats()["traces"]
    assert float(net(x)) == 3.0
    assert engine.stats()["traces"] == before
    net.states = None
    assert float(net(x)) == 0.0
    assert engine.stats()["traces"] == before
    net.states = [np.ones((3,))]  # of another shape: traced anew
    assert float(net(x)) == 3.0


def test_a_failed_trace_leaves_the_attribute():
    class Fails(Carries):
        def forward(self, x):
            super().forward(x)
            raise RuntimeError("later")

    net = Fails()
    net.initialize()
    net.states = held = [np.ones((2, 3))]
    net.hybridize()
    with pytest.raises(RuntimeError, match="later"):
        net(np.ones((2, 3)))
    assert net.states is held


@pytest.mark.dear
def test_an_attribute_that_changes_its_kind_for_ever_is_told():
    net = Carries()
    net.initialize(mx.init.Constant(0.0))
    net.hybridize()
    x = np.ones((1, 3))
    with pytest.warns(UserWarning, match="or of arrays that it holds") as warned:
        for i in range(70):
            net.states = [np.ones((i + 1, 3))]
            net(x)
    assert [w.filename for w in warned] == [__file__]


@pytest.mark.dear
def test_a_pure_view_leaves_blocks_as_they_are_and_tells_what_it_does_not_carry(tmp_path):
    net = Carries()
    net.initialize()
    net.hybridize()
    x = np.ones((2, 3))
    net(x)
    held, value = net.states[0], net.states[0].asnumpy()
    view = mx.functional(net)
    for run in (view.apply, jax.jit(view.apply)):
        with pytest.warns(UserWarning, match="Carries reads its attribute 'states'") as warned:
            first = run(view.params, view.state, None, x._read())[0]
            second = view.apply(view.params, view.state, None, x._read())[0]
        assert warned[0].filename == __file__
        assert_close(first, second)
        assert net.states[0] is held
    with pytest.warns(UserWarning, match="starts from the array of now"):
        net.export(str(tmp_path / "net"), format="mxnet")
    assert net.states[0] is held
    assert_close(held, value)
    net(x)  # goes on from there
    assert not np.array_equal(net.states[0], held)


def test_what_is_only_left_on_a_block_is_no_state(tmp_path):
    net = Keeps()
    net.initialize()
    net(np.ones((2, 3)))
    view = mx.functional(net)
    mean = net.mean
    jax.jit(view.apply)(view.params, view.state, None, np.ones((2, 3))._read())  # warnings are errors here
    assert net.mean is mean


def test_a_pure_view_in_a_recorded_scope_has_gradients():
    net = nn.Dense(2, in_units=3)
    net.initialize()
    view = mx.functional(net)
    with autograd.record():
        grads = jax.grad(lambda p: view.apply(p, {}, None, jax.numpy.ones((1, 3)))[0].sum())(view.params)
    assert_close(grads["weight"], onp.ones((2, 3)))


def loop(kind, body, x):
    if kind == "foreach":
        return npx.foreach(lambda data, state: (body(data), state), x, x[0])[0]
    if kind == "while_loop":
        return npx.while_loop(lambda i, h: i < 2, lambda i, h: (h, (i + 1, body(h))), [np.zeros(()), x[0]], 3)[0]
    return npx.cond(lambda: x.sum() > 0, lambda: body(x[0]), lambda: body(x[0]) * 2)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("kind", ["foreach", "while_loop", "cond"])
def test_an_array_that_the_body_of_a_loop_stores_is_not_to_be_had(kind, hybrid):
    """A dead tracer there would break whoever reads it, and the value from before would be a silent wrong answer."""

    class Loops(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense, self.seen = nn.Dense(3, in_units=3, flatten=False), np.zeros((3,))

        def forward(self, x):
            return loop(kind, self.body, x)

        def body(self, data):
            self.seen = self.dense(data)
            return self.seen * 2

    net = Loops()
    net.initialize()
    net.hybridize(hybrid)
    x = np.ones((2, 3))
    for _ in range(2):
        net(x).wait_to_read()
        with pytest.raises(TracedValueError, match="'seen' was stored by the body of"):
            net.seen.asnumpy()
        with pytest.raises(TracedValueError, match="store it afterwards"):
            net.seen + 1
    net.seen = x
    assert_close(net.seen, onp.ones((2, 3)))


def test_layers_that_leave_arrays_behind_are_not_one_loop():
    net = nn.HybridSequential()
    for _ in range(3):
        net.add(Leaves())
    net.initialize()
    net.hybridize(scan=True)
    y = net(np.ones((2, 3)))
    assert_close(net[2].left, y.asnumpy())
    assert not np.array_equal(net[0].left, net[1].left)


class Leaves(nn.HybridBlock):
    """Leaves its result on itself."""

    def __init__(self):
        super().__init__()
        self.dense, self.left = nn.Dense(3, in_units=3), None

    def forward(self, x):
        self.left = self.dense(x)
        return self.left


def test_a_block_made_in_the_forward_may_go():
    class Makes(nn.HybridBlock):
        def forward(self, x):
            for _ in range(20):
                helper = Keeps.__new__(Keeps)
                nn.HybridBlock.__init__(helper)
                helper.mean = x * 2
                x = x + helper.mean
            return x

    net = Makes()
    net.hybridize()
    assert_close(net(np.ones((1,))), onp.array([3.0**20], "float32"))


_hidden = None


def test_a_new_trace_that_reads_like_the_old_one_keeps_its_own_derivative(monkeypatch):
    class Holds(nn.HybridBlock):
        def forward(self, x):
            return _hidden(x) * self.held[0]

    net = Holds()
    net.hybridize()
    x = np.ones((2,))
    x.attach_grad()
    for slope, kind in ((3.0, list), (5.0, tuple)):
        monkeypatch.setitem(globals(), "_hidden", doubling(slope))
        net.held = kind([np.ones((2,))])
        with autograd.record():
            y = net(x)
        y.backward()
        assert y.tolist() == [2.0, 2.0] and x.grad.tolist() == [slope] * 2
