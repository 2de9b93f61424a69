"""Gradients where they jump (at 0, at bounds, at ties), against numbers of MXNet 2.0."""

import json

import numpy
import pytest

from gluonx import autograd, engine, gluon, np, npx
from gluonx.compat import nd
from lib import TESTS
from lib.golden import load_cases
from lib.sweep import churn  # noqa: F401 - a fixture

cases = load_cases("kinks")
GOLDEN = json.loads((TESTS / "oracle" / "kinks" / "golden.json").read_text(encoding="utf-8"))
SCOPE = {"nd": nd, "np": np, "npx": npx, "gluon": gluon}


@pytest.mark.parametrize("mode", ["deferred", "naive"])
@pytest.mark.parametrize(
    ("array", "text", "names"), [*[(nd.array, *case) for case in cases.ND], *[(np.array, *case) for case in cases.NP]]
)
def test_at_kinks(array, text, names, mode):
    with engine.mode(mode):
        found = cases.gradients(text, names, SCOPE, array, autograd)
    for mine, wanted in zip(found, GOLDEN[text], strict=True):
        numpy.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ord", [1, -1, numpy.inf, -numpy.inf])
def test_norms_of_matrices_do_not_see_the_sign_of_zero(ord):
    x = np.array([[0.0, 3.0], [-2.0, 3.0]])
    x.attach_grad()
    with autograd.record():
        out = np.linalg.norm(x, ord=ord)
    out.backward()
    assert float(out) == numpy.linalg.norm(x.asnumpy(), ord=ord)
    assert x.grad.asnumpy()[0, 0] == 0


def test_the_deviation_of_equal_numbers():
    x = np.array([[1.0, 1.0], [1.0, 3.0]])
    x.attach_grad()
    with autograd.record():
        out = np.std(x, axis=1)
    out.backward()
    assert out.asnumpy().tolist() == [0, 1]
    assert x.grad.asnumpy().tolist() == [[0, 0], [-0.5, 0.5]]


@pytest.mark.parametrize("power", [0, -1])
def test_pooling_by_no_power(power):
    with pytest.raises(ValueError, match="p_value is a whole number from 1 on"):
        npx.pooling(np.ones((1, 1, 2, 2)), kernel=(2, 2), pool_type="lp", p_value=power).wait_to_read()
