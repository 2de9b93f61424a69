"""hybridize(remat=...): the same numbers, and less that is kept for the backward."""

import re

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, init, nn, np
from gluonx.deferred.run import flushing
from gluonx.errors import ArgumentError

KEY = jax.random.key(0)


def net():
    layers = nn.HybridSequential()
    for _ in range(6):
        layers.add(nn.Dense(64, activation="tanh", in_units=64), nn.Dropout(0.3), nn.BatchNorm(in_channels=64))
    return layers


def run(make=net, shape=(512, 64), steps=3, **how):
    engine.waitall()  # what another test has left pending is no program of this one
    gluonx.random.seed(3)
    block = make()
    block.initialize(init.Xavier())
    block.hybridize(**how)
    trainer = Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1})
    x = np.array(onp.random.default_rng(1).standard_normal(shape).astype("float32"))
    seen, losses, before = [], [], engine.stats()

    def watch(program, args):
        structs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in args]
        seen.append(program.call.lower(*structs).compile())

    for step in range(steps):
        if step == steps - 1:
            flushing.watchers.append(watch)
        try:
            with autograd.record():
                loss = (block(x) ** 2).mean()
            loss.backward()
            trainer.step(1)
        finally:
            if step == steps - 1:
                flushing.watchers.remove(watch)
        losses.append(loss)
    after = engine.stats()
    assert after["programs_compiled"] - before["programs_compiled"] == 1
    assert after["dispatches"] - before["dispatches"] == steps
    params = [p.data().asnumpy() for p in block.collect_params().values()]
    return [onp.array([v.item() for v in losses]), *params], seen[-1].memory_analysis().temp_size_in_bytes


@pytest.mark.dear
def test_layers_are_computed_again_with_the_same_draws_and_averages():
    wanted, kept = run()
    for how in ("layer", "nothing_saveable", "dots_saveable", "none"):
        found, needed = run(remat=how)
        for a, b in zip(wanted, found, strict=True):
            onp.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        assert (needed < kept) == (how in ("layer", "nothing_saveable")) or how == "dots_saveable"


@pytest.mark.dear
def test_scanned_layers_too():
    def alike():
        layers = nn.HybridSequential()
        for _ in range(6):
            layers.add(nn.TransformerEncoderLayer(16, 64, 2))
        return layers

    wanted, kept = run(alike, (8, 32, 16), scan=True)
    found, needed = run(alike, (8, 32, 16), scan=True, remat="layer")
    for a, b in zip(wanted, found, strict=True):
        onp.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert needed < kept / 2


@pytest.mark.dear
def test_an_encoder_in_another_block():
    class Bert(gluonx.HybridBlock):
        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoder(num_layers=2, units=16, hidden_size=64, num_heads=2)

        def forward(self, x):
            return self.encoder(x).mean(axis=1)

    wanted, _ = run(Bert, (8, 8, 16))
    found, _ = run(Bert, (8, 8, 16), remat="layer")
    for a, b in zip(wanted, found, strict=True):
        onp.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    for how, layers in ((None, 0), ("layer", 2)):
        block = Bert()
        block.initialize()
        block.hybridize(remat=how)
        pure = gluonx.functional(block)
        forward = jax.make_jaxpr(lambda p, pure=pure: pure.apply(p, pure.state, KEY, onp.ones((2, 4, 16), "f"))[0])
        assert len(re.findall(r"= (?:checkpoint|remat)\w*\[", str(forward(pure.params)))) == layers


def test_a_policy_that_there_is_not():
    block = net()
    with pytest.raises(
        ArgumentError, match=r"remat must be 'none', 'layer' or a policy \(checkpoint_dots, .*got 'dots'"
    ):
        block.hybridize(remat="dots")
    assert not block._active
