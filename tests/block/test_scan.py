"""hybridize(scan=True): layers that do the same are one loop, and compute what they compute one by one."""

from __future__ import annotations

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, functional, nn, np


def data(*shape):
    return np.array(onp.random.RandomState(0).uniform(-1, 1, shape).astype("float32"))


class Cell(nn.HybridBlock):
    def __init__(self, units=4, factor=1.0, gradient=None):
        super().__init__()
        self.dense = nn.Dense(units, in_units=4, activation="relu")
        self.dropout = nn.Dropout(0.3)
        self.factor, self.gradient = factor, gradient

    def forward(self, x):
        y = self.dropout(self.dense(x)) * self.factor
        return x + (y if self.gradient is None else self.gradient(y))


def hidden(slope):
    """A function whose forward does not show its gradient."""

    @jax.custom_jvp
    def same(x):
        return x * 1.0

    same.defjvp(lambda primals, tangents: (same(*primals), slope * tangents[0]))
    return gluonx.from_jax(same)


def encoder(layers=2):
    return nn.TransformerEncoder(layers, 8, 8, 2, 0.1, 0.1, activation="gelu")


def stack(*cells):
    net = nn.HybridSequential()
    net.add(*cells)
    return net


class Twice(nn.HybridBlock):
    """One layer, run twice, between two others."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Cell(), Cell()

    def forward(self, x):
        return self.chained([self.first, self.second, self.second, self.first], x)


NETS = {
    "cells": (lambda: stack(*[Cell() for _ in range(4)]), (5, 4)),
    "cells between others": (
        lambda: stack(nn.Dense(4, in_units=6), *[Cell() for _ in range(3)], nn.Dense(2, in_units=4)),
        (5, 6),
    ),
    "batch norm": (lambda: stack(*[nn.BatchNorm(in_channels=4) for _ in range(3)]), (5, 4)),
    "encoder": (encoder, (2, 5, 8)),
    "other factors": (lambda: stack(Cell(), Cell(), Cell(factor=2.0), Cell(factor=2.0)), (5, 4)),
    "other gradients": (lambda: stack(Cell(gradient=hidden(1.0)), Cell(gradient=hidden(3.0))), (5, 4)),
    "equal gradients": (lambda: stack(Cell(gradient=hidden(3.0)), Cell(gradient=hidden(3.0))), (5, 4)),
    "a shared layer": (Twice, (5, 4)),
    "several outputs": (
        lambda: stack(nn.HybridLambda(lambda x: (x, x * 2)), nn.HybridLambda(lambda a, b: a + b)),
        (5, 4),
    ),
}


def trained(kind, scan, steps=3):
    make, shape = NETS[kind]
    gluonx.random.seed(5)
    net = make()
    net.initialize()
    net.hybridize(scan=scan)
    params = net.collect_params()
    trainer = Trainer(params, "sgd", {"learning_rate": 0.01}) if params else None
    x, trail = data(*shape), []
    x.attach_grad()
    for _ in range(steps):
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trail += [loss.asnumpy(), x.grad.asnumpy()]
        if trainer is not None:
            trainer.step(1)
    return net, [*trail, *[p.data().asnumpy() for p in net.collect_params().values()], net(x).asnumpy()]


@pytest.mark.dear
@pytest.mark.parametrize("kind", NETS)
def test_numbers_are_those_of_the_layers_one_by_one(kind):
    """Gradients, moving averages and the draws of dropout included."""
    _, plain = trained(kind, False)
    _, scanned = trained(kind, True)
    for ours, theirs in zip(scanned, plain, strict=True):
        onp.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


def loops(kind):
    """Count the scans of the forward, and the products outside and inside of them."""
    make, shape = NETS[kind]
    net = make()
    net.initialize()
    net(data(*shape))
    net.hybridize(scan=True)
    pure = functional(net)
    closed = jax.make_jaxpr(lambda p, s, x: pure.apply(p, s, jax.random.key(0), x, train=True))(
        pure.params, pure.state, onp.ones(shape, "float32")
    )
    names = list(primitives(closed.jaxpr))
    return names.count("scan"), names.count("dot_general")


def primitives(jaxpr):
    """The names of all operations, those of inner functions each time that they are called."""
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for value in jax.tree.leaves(list(eqn.params.values()), is_leaf=lambda v: hasattr(v, "eqns")):
            inner = value if hasattr(value, "eqns") else getattr(value, "jaxpr", None)
            if hasattr(inner, "eqns"):
                yield from primitives(inner)


@pytest.mark.parametrize(
    ("kind", "scans", "products"),
    [
        ("cells", 1, 1),
        ("cells between others", 1, 3),
        ("batch norm", 0, 0),
        ("other factors", 2, 2),
        ("other gradients", 0, 2),
        ("equal gradients", 1, 1),
        ("several outputs", 0, 0),
    ],
)
def test_only_what_does_the_same_is_a_loop(kind, scans, products):
    assert loops(kind) == (scans, products)


@pytest.mark.dear
def test_depth_adds_nothing_to_the_forward():
    NETS["deep"] = (lambda: encoder(5), (2, 5, 8))
    try:
        assert loops("deep") == loops("encoder") and loops("deep")[0] == 1
    finally:
        del NETS["deep"]


@pytest.mark.dear
def test_a_steady_loop_compiles_once():
    net, _ = trained("cells", True)
    trainer, x = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}), data(5, 4)
    for step in range(4):
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(1)
        if step == 1:
            engine.reset_stats()
    assert engine.stats()["programs_compiled"] == 0 and engine.stats()["dispatches"] == 2


@pytest.mark.dear
def test_switching_back():
    net, _ = trained("cells", True)
    net.hybridize()
    assert not net._scan and not net[0]._scan
    net.hybridize(scan=True)
    assert net[0]._scan
    net.hybridize(False)
    assert not net._scan
