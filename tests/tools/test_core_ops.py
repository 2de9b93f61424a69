"""``docs/core_ops.md`` is the registry's page, and what it says of shapes and gradients is what operators do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gluonx import ops
from gluonx.ops.registry import BROADCAST, REDUCED, SAME
from lib.golden import load_cases
from lib.rows import every
from tools import core_ops as describe
from tools.parity.page import operators

cases = load_cases("ops")
PAGE = operators()
FIRST = {}  # one call of each operator
for _row in cases.rows():
    FIRST.setdefault(ops.get(_row["op"]).name, _row)
OWN = sorted({op for op in ops.OPS.values() if op.__module__.startswith("gluonx.ops")}, key=lambda op: op.name)


def sample(name):
    """The bound operator of a row, and its inputs."""
    row = FIRST[name]
    op = ops.get(name)
    attrs = {"training": False, **row["attrs"]} if "training" in op.attr_names else row["attrs"]
    arrays = [None if x is None else jnp.asarray(x) for x in cases.make(row)]
    key = [jax.random.key(0)] if op.bind(**attrs).random else []
    return op.bind(**attrs), key, arrays


def described(rule):
    return [op.name for op in OWN if op.name in FIRST and describe.shape_rule(op) == rule]


def is_described(op):
    assert describe.shape_rule(op) != "see its docstring", f"{op.name} needs shape= in its record"
    assert f"| `{op.name}`" in PAGE
    assert all(f"`{name}" in PAGE for name in op.attr_names)


def test_every_operator_is_described():
    every(is_described, OWN)


def test_a_family_is_a_file_of_operators():
    """Its title begins the docstring of the file; no record says to which family an operator belongs."""
    titles = [describe._title(module) for module in {op.__module__ for op in OWN}]
    assert len(titles) == len(set(titles)) and all(f"## {title}\n" in PAGE for title in titles)


@pytest.mark.parametrize("name", described(SAME))
def test_shapes_as_the_first_input(name):
    bound, key, arrays = sample(name)
    out = bound(*key, *arrays)
    assert (out[0] if isinstance(out, tuple) else out).shape == arrays[0].shape


@pytest.mark.parametrize("name", described(BROADCAST))
def test_broadcast_shapes(name):
    bound, key, arrays = sample(name)
    assert bound(*key, *arrays).shape == np.broadcast_shapes(*[a.shape for a in arrays if a is not None])


@pytest.mark.dear
@pytest.mark.parametrize("name", described(REDUCED))
def test_reduced_shapes(name):
    x = jnp.ones((2, 3, 4))
    for keepdims, wanted in ((False, (2, 4)), (True, (2, 1, 4))):
        assert ops.get(name).bind(axis=1, keepdims=keepdims)(x).shape == wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in FIRST if len(describe.gradient(ops.get(n))) < 90])
def test_gradients_are_as_told(name):
    """Gradients told to be zero or none are so; those told to flow do, through every float input."""
    bound, key, arrays = sample(name)
    told = describe.gradient(ops.get(name))
    places = [i for i, x in enumerate(arrays) if x is not None and jnp.issubdtype(x.dtype, jnp.floating)]

    def total(floats):
        given = list(arrays)
        for i, x in zip(places, floats):
            given[i] = x
        out = bound(*key, *given)
        parts = out if isinstance(out, tuple) else (out,)
        weigh = [jnp.sin(jnp.arange(p.size, dtype=jnp.float32) + 1).reshape(p.shape) for p in parts]
        return sum((w * p).sum() for w, p in zip(weigh, parts) if jnp.issubdtype(p.dtype, jnp.floating))

    if not places or not jnp.issubdtype(jnp.asarray(total([arrays[i] for i in places])).dtype, jnp.floating):
        assert told.startswith(("none", "zero")) or "floats to floats" in told or not places
        return
    moves = {i: bool(jnp.any(g != 0)) for i, g in zip(places, jax.grad(total)([arrays[i] for i in places]))}
    inputs = ops.get(name).inputs
    if told.startswith(("none", "zero")):
        assert not any(moves.values())
    elif told.startswith("through") and not ops.get(name).variadic:
        silent = [inputs[i] for i, moved in moves.items() if not moved and f"`{inputs[i]}`" in told.split(";")[0]]
        assert not silent, f"no gradient reaches {silent}"
