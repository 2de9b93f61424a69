"""Whoever comes in between, at any bytecode, finds the state before or after, and no step is lost or made twice.

The loss of each net here is the sum of its weights, so every weight goes down by one at each step, exactly.
"""

from __future__ import annotations

import gc

import jax
import numpy as onp
import pytest

import gluonx as mx
from gluonx import autograd, gluon, init, np, npx, parallel
from gluonx.gluon import nn
from lib.interrupting import Interrupter, Stop

SMALL, LARGE = (3,), (70, 70)  # one travels in a vector, the other by itself


class Sums(nn.HybridBlock):
    """The sum of its weights, and of a moving count of its calls times nothing."""

    def __init__(self, shapes):
        super().__init__()
        for i, shape in enumerate(shapes):
            setattr(self, f"w{i}", gluon.Parameter(f"w{i}", shape=shape, init=init.Zero()))
        self.count = gluon.Constant(onp.zeros(1, "float32"))

    def forward(self, x):
        self.count.set_data(self.count.data() + 1)
        total = x.sum() * 0
        for name, param in self._reg_params.items():
            if name != "count":
                total = total + param.data().sum()
        return total


class Loop:
    """A training loop; `step` makes one and says by how much the weights have gone down in all."""

    def __init__(self, shapes=(SMALL, LARGE, SMALL, SMALL), hybridize=False, optimizer="sgd", **settings):
        self.net = Sums(shapes)
        self.net.initialize()
        self.net.hybridize(hybridize)
        self.params = [p for name, p in self.net.collect_params().items() if "count" not in name]
        self.trainer = gluon.Trainer(self.net.collect_params("w.*"), optimizer, {"learning_rate": 1.0, **settings})
        self.x, self.loss, self.made = np.ones((2,)), None, 0

    def forward(self):
        return self.net(self.x)

    def step(self):
        with autograd.record():
            loss = self.forward()
        self.loss = loss
        loss.backward()
        self.trainer.step(1)
        self.made += 1

    def values(self):
        return [p.data().asnumpy() for p in self.params]

    def check(self, made=None):
        made = self.made if made is None else made
        for value in self.values():
            onp.testing.assert_array_equal(value, -float(made))


def reading_loss(loop):
    def attack():
        if loop.loss is not None:
            sizes = sum(p.data().size for p in loop.params)
            assert float(loop.loss) in (-sizes * (loop.made - 1), -sizes * loop.made, -sizes * (loop.made + 1))

    return attack


def reading_weights(loop):
    def attack():
        for value in loop.values():
            assert -value.flat[0] in (loop.made, loop.made + 1)
            assert (value == value.flat[0]).all()

    return attack


def reading_gradients(loop):
    def attack():
        for param in loop.params:
            assert set(param.grad().asnumpy().flat) <= {0.0, 1.0}

    return attack


def waiting(loop):
    return npx.waitall


def computing(loop):
    return lambda: onp.testing.assert_array_equal((np.arange(6.0) * 2 + 1).asnumpy(), onp.arange(6.0) * 2 + 1)


def collecting(loop):
    """A finalizer reads the loss."""
    read = reading_loss(loop)

    class Reads:
        me: object = None

        def __del__(self):
            read()

    def attack():
        circle = Reads()
        circle.me = circle
        del circle
        gc.collect(0)

    return attack


def training(loop):
    """Another net is trained in between."""
    other = Loop(hybridize=False)
    for _ in range(3):
        other.step()

    def attack():
        with autograd.pause():
            other.step()
            other.check()

    return attack


def writing(loop):
    """Another array is written to, recorded and read."""
    other = np.zeros((3,))
    count = [0]

    def attack():
        count[0] += 1
        other[:] = other + 1
        assert (other.asnumpy() == count[0]).all()

    return attack


ATTACKS = [reading_loss, reading_weights, reading_gradients, waiting, computing, writing, collecting, training]


class Rows(Loop):
    """Rows of a table, all looked up at each step, with gradients that are rows."""

    def __init__(self):
        super().__init__()
        self.net = nn.Embedding(5, 3, sparse_grad=True)
        self.net.initialize(init.Zero())
        self.params = [self.net.weight]
        self.trainer = gluon.Trainer(self.net.collect_params(), "sgd", {"learning_rate": 1.0})
        self.x = np.arange(5)

    def forward(self):
        return self.net(self.x).sum()


class OnMesh(Loop):
    """On two devices."""

    def __init__(self):
        self.mesh = parallel.mesh(jax.devices()[:2], data=2)
        with parallel.use(self.mesh):
            super().__init__()
            self.x = parallel.split(self.x)

    def step(self):
        try:
            with parallel.use(self.mesh):
                super().step()
        finally:  # an exception at the first instruction of `__exit__` leaves the mesh in use, for tests to come
            parallel.use(None)


LOOPS = {
    "eager": lambda: Loop(),
    "hybridized": lambda: Loop(hybridize=True),
    "momentum": lambda: Loop(hybridize=True, momentum=0.0),
    "scheduled": lambda: Loop(lr_scheduler=mx.lr_scheduler.FactorScheduler(10**6, base_lr=1.0)),
    "small": lambda: Loop(shapes=(SMALL,) * 4),
    "large": lambda: Loop(shapes=(LARGE,) * 2),
    "rows": Rows,
    "mesh": OnMesh,
}


def attacked(kind, make_attack, interrupts, stride=97, warm=3):
    loop = LOOPS[kind]()
    for _ in range(warm):
        loop.step()
    attack = make_attack(loop)
    with Interrupter(attack, stride, interrupts) as comes:
        while comes.count < interrupts:
            loop.step()
    assert not comes.errors, (len(comes.errors), comes.count, comes.errors[:3])
    loop.check()
    for _ in range(3):
        loop.step()
    loop.check()


@pytest.mark.parametrize("make_attack", ATTACKS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", LOOPS)
def test_who_comes_in_between_finds_before_or_after(kind, make_attack):
    attacked(kind, make_attack, 30)


@pytest.mark.slow
@pytest.mark.parametrize("stride", [1, 7, 101])
@pytest.mark.parametrize("make_attack", ATTACKS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", LOOPS)
def test_at_every_bytecode(kind, make_attack, stride):
    attacked(kind, make_attack, 800, stride)


def raising():
    raise Stop


def stopped(kind, numbers):
    """Raise where a signal can come, at these of all places, each in a step of its own; it is made or is not."""
    loop = LOOPS[kind]()
    for _ in range(3):
        loop.step()
    for number in numbers:
        with Interrupter(raising, 1, 1, first=number, as_signals=True) as comes:
            try:
                loop.step()
            except Stop:
                made = -float(loop.values()[0].flat[0])
                assert made in (loop.made, loop.made + 1), number
                loop.made = made
        if number % 10 == 0 or not comes.count:
            loop.check()
        if not comes.count:
            break
    for _ in range(3):
        loop.step()
    loop.check()
    return bool(comes.count)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of what came in a finalizer
@pytest.mark.parametrize("kind", LOOPS)
def test_an_exception_that_ends_a_step_leaves_it_whole_or_not_made(kind):
    stopped(kind, range(11, 10**6, 61))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of what came in a finalizer
@pytest.mark.parametrize("kind", LOOPS)
def test_an_exception_wherever_a_signal_can_come(kind):
    assert not stopped(kind, range(10**6)), "the last step was not interrupted any more"
