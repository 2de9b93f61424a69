"""Operators whose result's shape depends on values, and constraints, in hybridized blocks."""

import warnings

import numpy as onp
import pytest

from gluonx import Trainer, autograd, engine, gluon, nn, np, npx
from gluonx.errors import DynamicShapeError, TracedValueError

RUNS = "runs un-hybridized"


class Act(gluon.HybridBlock):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, *args):
        return self.fn(*args)


def outcome(fn, x, hybrid):
    """Results and gradient of a block, called twice."""
    block = Act(fn)
    block.hybridize(hybrid)
    x = np.array(x)
    x.attach_grad()
    seen = []
    for _ in range(2):
        with autograd.record():
            y = block(x)
            outs = y if isinstance(y, (list, tuple)) else (y,)
            total = sum([(o.astype("float32") ** 2).sum() for o in outs]) + (x * 0).sum()
        total.backward()
        seen.append([*[o.tolist() for o in outs], x.grad.tolist()])
    seen.append([o.tolist() for o in (lambda y: y if isinstance(y, (list, tuple)) else (y,))(block(x))])
    return seen


FORWARDS = {
    "mask": lambda x: x[x > 1] * 2,
    "mask in a tuple": lambda x: x[x.sum(1) > 3, 0],
    "flag": lambda x: x[(x > 1).any()],
    "write": lambda x: _written(x * 1),
    "add": lambda x: _added(x * 1),
    "nonzero": lambda x: np.nonzero(x > 1),
    "where": lambda x: np.where(x > 1),
    "argwhere": lambda x: np.argwhere(x > 1),
    "flatnonzero": lambda x: np.flatnonzero(x > 1),
    "npx.nonzero": lambda x: npx.nonzero(x > 1),
    "unique": lambda x: np.unique(x),
    "unique_all": lambda x: np.unique_all(x).values,
    "bincount": lambda x: np.bincount(x.reshape(-1).astype("int32")),
    "extract": lambda x: np.extract(x > 1, x),
    "compress": lambda x: np.compress(np.array([1, 0]), x, axis=0),
    "eigvals": lambda x: np.linalg.eigvals(x + np.eye(2)),
    "intersect1d": lambda x: np.intersect1d(x, np.array([1.0, 3.0])),
}


def _written(y):
    y[y > 1] = np.arange(int((y > 1).sum()) if False else 2)
    return y


def _added(y):
    y[y > 1] += 1
    return y


@pytest.mark.parametrize("name", FORWARDS)
def test_a_hybridized_block_runs_it(name):
    x = onp.array([[1.0, 2.0], [0.0, 3.0]], onp.float32)
    with pytest.warns(UserWarning, match=rf"block Act {RUNS}: .*test_dynamic_shapes\.py") as told:
        found = outcome(FORWARDS[name], x, True)
    assert len(told) == 1
    assert found == outcome(FORWARDS[name], x, False)


class Picky(gluon.HybridBlock):
    """Normalizes, draws, and picks rows by their values, between layers that can be traced."""

    def __init__(self):
        super().__init__()
        self.first = nn.HybridSequential()
        self.first.add(nn.Dense(4, use_bias=False), nn.BatchNorm(), nn.Dropout(0.5))
        self.last = nn.Dense(2)
        self.calls = []

    def forward(self, x):
        self.calls.append(1)
        y = self.first(x)
        return self.last(y[x[:, 0] > 0])


def trained(hybrid):
    import gluonx

    gluonx.random.seed(3)
    net = Picky()
    net.initialize()
    if hybrid:
        net.hybridize()
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    x = np.array(onp.random.RandomState(0).randn(6, 3).astype("f"))
    losses = []
    for _ in range(3):
        with autograd.record():
            loss = (net(x) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.item())
    return losses, {n: p.data().asnumpy() for n, p in net.collect_params().items()}, net, x


@pytest.mark.dear
def test_training_through_it_is_that_of_the_plain_net():
    """Values, gradients, draws and moving averages; layers below stay hybridized; it is said once, and counted."""
    engine.reset_stats()
    with pytest.warns(UserWarning, match=rf"block Picky {RUNS}: x\[mask\] at .*in block Picky") as told:
        losses, params, net, x = trained(True)
    assert len(told) == 1
    stats = engine.stats()
    (why,) = stats["unhybridized"]
    assert "Picky, because of x[mask]" in why and stats["unhybridized"][why] == 3
    assert why in engine.explain()
    assert stats["traces"] > 0 and net.first._traced.entries  # the layers before it
    plain_losses, plain, *_ = trained(False)
    onp.testing.assert_allclose(losses, plain_losses, rtol=1e-5)
    assert params.keys() == plain.keys()
    for name, value in params.items():
        onp.testing.assert_allclose(value, plain[name], rtol=1e-4, atol=1e-6, err_msg=name)
    before = net.first[1].running_mean.data().asnumpy()
    with autograd.record():
        net(x)
    once = net.first[1].running_mean.data().asnumpy()
    with autograd.record():
        batch = net.first[0](x).asnumpy().mean(0)
    onp.testing.assert_allclose(once, 0.9 * before + 0.1 * batch, rtol=1e-4, atol=1e-6)


def test_only_the_block_with_it_and_those_around_it_run_plainly():
    class Outer(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.body, self.picky = nn.Dense(3), Picky()

        def forward(self, x):
            return self.picky(self.body(x) + 1)

    net = Outer()
    net.initialize(init="ones")
    net.hybridize()
    with pytest.warns(UserWarning, match=r"block Outer runs un-hybridized: x\[mask\].*in block Outer\.picky") as told:
        first = net(np.ones((2, 3)))
    assert len(told) == 1
    net.hybridize(False)
    assert first.tolist() == net(np.ones((2, 3))).tolist()


def test_it_is_traced_where_the_operator_is_not_met():
    block = Act(lambda x: x * 2 if autograd.is_training() else x[x > 1])
    block.hybridize()
    x = np.array([1.0, 2.0])
    with pytest.warns(UserWarning, match=RUNS):
        assert block(x).tolist() == [2.0]
    engine.reset_stats()
    with autograd.record():
        y = block(x)
    assert y.tolist() == [2.0, 4.0] and engine.stats()["traces"] == 1 and not engine.stats()["unhybridized"]


def test_a_python_if_stays_the_error_that_it_is():
    block = Act(lambda x: x if x.sum() > 1 else -x)
    block.hybridize()
    with pytest.raises(TracedValueError, match=r"npx\.cond") as caught:
        block(np.ones(3))
    assert not isinstance(caught.value, DynamicShapeError)


def test_an_export_says_that_it_cannot(tmp_path):
    block = Act(lambda x: x[x > 1])
    block.hybridize()
    with pytest.warns(UserWarning, match=RUNS):
        block(np.ones(3) * 2)
    with pytest.raises(DynamicShapeError, match=r"x\[mask\].*test_dynamic_shapes\.py"):
        block.export(tmp_path / "net")


def test_loops_and_branches_run_it_step_by_step():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    outs, last = npx.foreach(lambda row, s: (row[row > s], s + 1), x, np.array(0.0))
    assert outs.tolist() == [[1.0, 2.0], [3.0, 4.0]] and last.item() == 2.0
    x.attach_grad()
    with autograd.record():
        y = npx.cond(lambda x: x.sum() > 1, lambda x: x[x > 2], lambda x: x, [x])
        total = (y * y).sum()
    total.backward()
    assert y.tolist() == [3.0, 4.0] and x.grad.tolist() == [[0.0, 0.0], [6.0, 8.0]]


# -- constraints -------------------------------------------------------------------------------------------------------


def guarded(hybrid):
    block = Act(lambda x: x * npx.constraint_check(x > 0, "x must be positive"))
    block.hybridize(hybrid)
    return block


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("mode", ["deferred", "naive"])
def test_a_broken_constraint_raises(hybrid, mode):
    block, good, bad = guarded(hybrid), np.array([1.0, 2.0]), np.array([1.0, -2.0])
    with engine.mode(mode):
        for _ in range(2):
            assert block(good).tolist() == [1.0, 2.0]
            with pytest.raises(ValueError, match="x must be positive"):
                block(bad)
        with autograd.record():
            fine = block(good) * 2
        assert fine.tolist() == [2.0, 4.0]
        with pytest.raises(ValueError, match="x must be positive"), autograd.record():
            block(bad).asnumpy()
        assert block(good).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_broken_constraint_raises_at_the_step(hybrid):
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.layer = nn.Dense(1, in_units=2)

        def forward(self, x):
            npx.constraint_check(x > 0, "x must be positive")
            return self.layer(x)

    net = Net()
    net.initialize()
    net.hybridize(hybrid)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

    def step(x):
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(1)

    for _ in range(2):
        step(np.ones((2, 2)))
    with pytest.raises(ValueError, match="x must be positive"):
        step(-np.ones((2, 2)))
    before = net.layer.weight.data().asnumpy()
    step(np.ones((2, 2)))
    onp.testing.assert_allclose(net.layer.weight.data().asnumpy(), before - 0.2, rtol=1e-5)


def test_a_constraint_in_a_loop():
    with pytest.raises(ValueError, match="too large"):
        npx.foreach(lambda x, s: (x * npx.constraint_check(x < 3, "too large"), s), np.array([1.0, 4.0]), np.zeros(()))


def test_a_constraint_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        guarded(True)(np.ones(2))
