"""Names, signatures, shapes, dtypes and numbers are MXNet's, but for what is listed here and in docs/differences.md."""

import json

import numpy as onp
import pytest

from gluonx import np, probability
from gluonx.probability import constraint
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("probability")
FOLDER = TESTS / "oracle" / "probability"
SIGNATURES = json.loads((FOLDER / "signatures.json").read_text())
RESULTS = json.loads((FOLDER / "results.json").read_text())
MADE = cases.MADE

# Where MXNet is wrong; tests/probability compares with SciPy and with integrals.
WRONG = {
    MADE["HalfCauchy"] + ".mean",  # those of the half normal distribution
    MADE["HalfCauchy"] + ".variance",
    MADE["HalfCauchy"] + ".stddev",
    MADE["NegativeBinomial"] + ".log_prob(np.array([1.0, 0.0]))",  # of 1 - prob, unlike its mean and its draws
    MADE["Poisson"] + ".sample_n((4, 5)).shape",
    MADE["Bernoulli"] + ".has_enumerate_support",
    MADE["Bernoulli-logit"] + ".has_enumerate_support",
    MADE["OneHotCategorical"] + ".has_enumerate_support",  # it has the method
    "P.kl_divergence(P.MultivariateNormal(np.zeros(3), np.eye(3)), P.MultivariateNormal(np.ones(3), 2 * np.eye(3)))",
}
# Names of MXNet's files, not of its interface.
LEFT_OUT = {"cached_property"}


def costly(call):
    """Return the slow marker for a call that compiles a costly program for every distribution."""
    return [pytest.mark.slow] if "sample" in call or "cdf" in call else []


DRAWN = [expression for expression in cases.SINGLE if ".sample" in expression]
EXPRESSIONS = [
    [expression for expression in cases.SINGLE if expression not in DRAWN],
    pytest.param(DRAWN, marks=pytest.mark.slow),
    *[pytest.param(call, marks=costly(call)) for call in cases.CALLS],
]


@pytest.mark.dear
@pytest.mark.parametrize("expressions", EXPRESSIONS, ids=lambda e: e if isinstance(e, str) else "")
@pytest.mark.filterwarnings("ignore:the line .* has compiled")
def test_results(expressions):
    """Results are MXNet's where it gives one (statistics in the full batch shape), and so are errors of arguments."""
    if isinstance(expressions, str):
        expressions = [expressions.format(MADE[n], cases.VALUES.get(n, "np.array([0.6, 0.9])")) for n in MADE]
    for expression in expressions:
        wanted = RESULTS[expression]
        if expression in WRONG or wanted.get("error") in {"AttributeError", "MXNetError"}:
            continue
        found = cases.result(expression, {"P": probability, "C": constraint, "np": np})
        if "error" in wanted:
            ours = found.get("error")
            assert expression not in cases.SINGLE or ours == wanted["error"], (expression, found)
            continue
        assert "error" not in found, (expression, found)
        if isinstance(wanted["value"], (str, bool)):
            assert found["value"] == wanted["value"], expression
            continue
        full = onp.broadcast_to(onp.array(wanted["value"]), found["shape"] or onp.shape(wanted["value"]))
        onp.testing.assert_allclose(found["value"], full, rtol=1e-4, atol=1e-5, err_msg=expression)


@pytest.mark.parametrize("name", sorted(set(SIGNATURES) - LEFT_OUT))
def test_signatures(name):
    """Our functions take MXNet's arguments, in its order and with its defaults; some take more."""
    ours = getattr(probability, name, None) or getattr(constraint, name)
    found = cases.signatures(ours)
    for method, wanted in SIGNATURES[name].items():
        if wanted == "property" or wanted is None:
            assert hasattr(ours, method) or name == "Chi2", (name, method)  # its `df` is an attribute
            continue
        given = found[method]
        assert [p[0] for p in given[: len(wanted)]] == [p[0] for p in wanted], (name, method)
        assert all(g == w for g, w in zip(given, wanted, strict=False) if len(w) == 2), (name, method)
