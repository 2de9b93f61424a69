"""What random programs found to differ from MXNet 2.0, held by its numbers (tests/oracle/fuzzed)."""

import json

import numpy as onp
import pytest

from gluonx import autograd, gluon, nd, np
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("fuzzed")
GOLDEN = json.loads((TESTS / "oracle" / "fuzzed" / "golden.json").read_text())
STEPS = [(name, words, bound) for name, words in cases.OPTIMIZERS for bound in cases.BOUNDS]
# Where MXNet hands on to NumPy a float32 comes back as float64; here it stays.
_FLOATS = ("float32", "float64")


def array(values, kind):
    return np.array(onp.array(values).astype(kind), dtype=kind)


def legacy(values, kind="float32"):
    return nd.array(onp.array(values).astype(kind), dtype=kind)


def slope(function, x):
    """The gradient of the sum of the outputs."""
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward()
    return x.grad


@pytest.mark.parametrize("program", cases.PROGRAMS)
def test_program(program):
    found = eval(program, {"np": np, "nd": nd, "a": array, "n": legacy, "slope": slope})
    wanted = GOLDEN["programs"][program]
    if isinstance(found, tuple):
        assert list(found) == wanted
        return
    found = found.asnumpy()
    assert str(found.dtype) == wanted["dtype"] or {str(found.dtype), wanted["dtype"]} == set(_FLOATS)
    exact = found.dtype.kind in "iub"
    onp.testing.assert_allclose(found, onp.array(wanted["value"]), 0 if exact else 1e-6, strict=False)


@pytest.mark.parametrize(("index", "name", "words", "bound"), [(i, *step) for i, step in enumerate(STEPS)])
def test_a_bound_of_gradients_that_is_not_positive_is_none(index, name, words, bound):
    p = gluon.Parameter("weight", shape=(3,))
    p.initialize(init="ones")
    trainer = gluon.Trainer({"weight": p}, name, {"learning_rate": 0.1, "clip_gradient": bound, **words})
    for _ in range(2):
        with autograd.record():
            y = (p.data() * np.array([3.0, -2.0, 0.5])).sum()
        y.backward()
        trainer.step(1)
    onp.testing.assert_allclose(p.data().asnumpy(), GOLDEN["steps"][index]["value"], 1e-5)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolve_of_integers_is_exact(mode):
    x, y = onp.array([2**24 + 1, 3, -5, 7]), onp.array([1, -1, 1])
    found = np.convolve(np.array(x, dtype="int32"), np.array(y, dtype="int32"), mode=mode)
    assert found.dtype == onp.int32 and found.tolist() == onp.convolve(x, y, mode).tolist()


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("q", [50.0, [10.0, 50.0, 90.0]], ids=["one", "three"])
@pytest.mark.parametrize("name", ["percentile", "nanpercentile"])
def test_the_nearest_percentile_is_numpys(name, q, keepdims, axis):
    x = onp.random.RandomState(1).permutation(24).reshape(2, 3, 4).astype("float32")
    x[0, 1, 2] = onp.nan
    found = getattr(np, name)(np.array(x), np.array(q), axis=axis, keepdims=keepdims, interpolation="nearest")
    wanted = getattr(onp, name)(x, q, axis=axis, keepdims=keepdims, method="nearest")
    assert found.shape == wanted.shape
    onp.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "int64"])
def test_divmod_by_0_is_numpys(kind):
    x, y = onp.array([3, 0, 7, 5]).astype(kind), onp.array([0, 0, 2, 5]).astype(kind)
    with onp.errstate(divide="ignore"):
        wanted = onp.divmod(x, y)
    for found, part in zip(np.divmod(np.array(x, dtype=kind), np.array(y, dtype=kind)), wanted):
        assert found.dtype == part.dtype and found.tolist() == part.tolist()


@pytest.mark.parametrize(("kind", "wanted"), [("int32", "float32"), ("int64", "float64"), ("float16", "float16")])
def test_the_nearest_quantile_keeps_width_and_has_a_gradient(kind, wanted):
    x = np.array([3, 1, 2, 9, 5], dtype=kind)
    found = np.quantile(x, np.array([0.5, 1.0]), interpolation="nearest")
    assert found.dtype == wanted and found.tolist() == [3, 9]
    assert np.quantile(np.ones((2, 0, 3)), 0.5, axis=(0, 2), interpolation="nearest").shape == (0,)
    if kind == "float16":
        gradient = slope(lambda y: np.quantile(y, np.array([0.5, 1.0]), interpolation="nearest"), x)
        assert gradient.tolist() == [1, 0, 0, 1, 0]
