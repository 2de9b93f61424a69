"""Units: what a formula works on, made of a step's arrays and taken apart again."""

import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import Trainer, autograd, nn, np
from gluonx.common.packing import Layout
from gluonx.compat.operators.table import get_legacy
from gluonx.ops.updates import UPDATES
from gluonx.optimizer.units import Units

FUSED = Layout("concat", 0, True, ((2, 3), (1, 3)))
WAYS = {
    "plain": Units.plain(3),
    "joined": Units.plain(3).joining([(0, 2), (1,)], [(2,), (3, 3), (2, 2)]),
    "fused": Units(((0, 1), (2,)), (FUSED, None)),
    "fused, one frozen": Units(((0, None), (1,)), (FUSED, None)),
    "cut": Units(((0, 1), (2,)), (FUSED, None), cuts=True),
    "cut, one frozen": Units(((None, 0), (1,)), (FUSED, None), cuts=True),
}


def arrays_for(way):
    rng = onp.random.RandomState(0)
    shapes = [(2,), (3, 3), (2, 2)] if way in ("plain", "joined") else [(3, 3), (4,)]
    return [jnp.asarray(rng.rand(*shape), jnp.float32) for shape in shapes]


@pytest.mark.parametrize("way", WAYS)
def test_units_scatter_to_the_arrays_that_they_were_gathered_from(way):
    units, arrays = WAYS[way], arrays_for(way)
    gathered = units.gather(arrays)
    assert len(gathered) == len(units.members) == len(units.layouts)
    for array, found in zip(arrays, units.scatter(gathered, arrays), strict=True):
        onp.testing.assert_array_equal(array, found)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_trained_or_not_fresh_is_masked(way):
    """Of each array that is fresh the trained pieces change, and nothing else."""
    units, arrays = WAYS[way], arrays_for(way)
    fresh = [k % 2 == 0 for k in range(len(arrays))]
    old = units.gather(arrays)
    new = [
        jnp.where(mask, unit + 1, unit) if mask is not False else unit
        for mask, unit in zip(units.masks(fresh), old, strict=True)
    ]
    found = units.scatter(new, arrays)
    for k, (before, after) in enumerate(zip(arrays, found, strict=True)):
        layout = units.places[k]
        parts = zip(layout.split(before), layout.split(after)) if layout is not None else [(before, after)]
        for number, (was, now) in zip(units.pieces[k], parts, strict=True):
            onp.testing.assert_array_equal(now, was + 1 if fresh[k] and number is not None else was)


@pytest.mark.dear
def test_a_layer_that_a_step_did_not_use_stays_beside_those_it_is_joined_with():
    net = nn.HybridSequential()
    for _ in range(3):
        net.add(nn.Dense(2, in_units=2))
    net.initialize()
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})

    def train(layers, **how):
        with autograd.record():
            x = np.ones((1, 2))
            for layer in layers:
                x = layer(x)
            loss = (x**2).sum()
        loss.backward()
        trainer.step(1, **how)

    train(net)
    assert [len(group) for group in trainer._held.units.groups.members] == [6]
    before = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
    states = trainer._states()
    train(list(net)[:2], ignore_stale_grad=True)
    for name, p in net.collect_params().items():
        assert (before[name] == p.data().asnumpy()).all() == name.startswith("2.")
    for name, state in trainer._states().items():
        assert (states[name] == state).all() == name.startswith("2.")


@pytest.mark.parametrize(
    "name", [name for name in UPDATES if name not in ("adamw_update", "adabelief_update", "lans_update")]
)
def test_the_defaults_of_an_update_are_those_of_its_legacy_operator(name):
    """They are written once."""
    row, legacy = UPDATES[name], get_legacy(name)
    assert legacy.aux == row.states
    for number, default in row.numbers.items():
        attr = legacy.attrs[number]
        assert (None if attr.default is None else float(attr.default)) == default
