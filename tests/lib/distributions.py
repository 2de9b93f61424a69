"""One row for each distribution of numbers: how it is made here and in SciPy, and where the two are compared.

Parameters are columns, values rows, so one call compares a grid.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as onp
import scipy.stats as ss

from gluonx import np, probability


def column(*values):
    return onp.array(values, dtype=onp.float64)[:, None]


@dataclass(frozen=True)
class Row:
    """`scipy(*parameters)` is the frozen distribution of SciPy; `values` lie in every support."""

    name: str
    parameters: dict[str, Any]
    scipy: Any
    values: Any
    outside: Any = ()
    fixed: dict[str, Any] = field(default_factory=dict)
    discrete: bool = False
    grad: bool = False  # of draws

    def arrays(self, dtype="float64"):
        return {key: np.array(value, dtype=dtype) for key, value in self.parameters.items()}

    def make(self, dtype="float64", **arrays):
        return getattr(probability, self.name)(**self.fixed, **(arrays or self.arrays(dtype)))

    def reference(self, *parameters):
        return self.scipy(*(parameters or self.parameters.values()))

    def log_prob(self, value, *parameters):
        reference = self.reference(*parameters)
        return (reference.logpmf if self.discrete else reference.logpdf)(value)

    def __str__(self):
        return "-".join([self.name, *(["logit"] if "logit" in self.parameters else [])])


def sigmoid(x):
    return 1 / (1 + onp.exp(-x))


LOC, SCALE = column(-1.5, 0.0, 2.0), column(0.3, 1.0, 2.5)
REALS = onp.array([-3.0, -0.4, 0.3, 1.7, 4.0])
POSITIVE = onp.array([0.05, 0.5, 1.3, 4.0])
COUNTS = onp.array([0.0, 1.0, 2.0, 5.0])
PROB, LOGIT = column(0.1, 0.5, 0.85), column(-1.2, 0.0, 1.5)
NEGATIVE = onp.array([-2.0, -0.1])

ROWS = [
    Row("Normal", {"loc": LOC, "scale": SCALE}, ss.norm, REALS, grad=True),
    Row("Uniform", {"low": LOC - 4, "high": LOC + 4}, lambda a, b: ss.uniform(a, b - a), onp.array([-1.0, 0.7, 2.0]),
        onp.array([-7.0, 6.5]), grad=True),
    Row("Laplace", {"loc": LOC, "scale": SCALE}, ss.laplace, REALS, grad=True),
    Row("Cauchy", {"loc": LOC, "scale": SCALE}, ss.cauchy, REALS, grad=True),
    Row("Gumbel", {"loc": LOC, "scale": SCALE}, ss.gumbel_r, REALS, grad=True),
    Row("Exponential", {"scale": SCALE}, lambda s: ss.expon(0, s), POSITIVE, NEGATIVE, grad=True),
    Row("Gamma", {"shape": column(0.4, 1.0, 3.5), "scale": SCALE}, lambda a, s: ss.gamma(a, 0, s), POSITIVE, NEGATIVE,
        grad=True),
    Row("Chi2", {"df": column(1.0, 2.0, 7.5)}, ss.chi2, POSITIVE, NEGATIVE, grad=True),
    Row("Beta", {"alpha": column(0.5, 1.0, 3.0), "beta": column(0.7, 2.5, 1.0)}, ss.beta,
        onp.array([0.03, 0.4, 0.95]), onp.array([-0.1, 1.2]), grad=True),
    Row("StudentT", {"df": column(0.8, 2.0, 6.0), "loc": LOC, "scale": SCALE}, ss.t, REALS, grad=True),
    Row("FisherSnedecor", {"df1": column(1.5, 2.0, 6.0), "df2": column(2.5, 4.5, 9.0)}, ss.f, POSITIVE, NEGATIVE,
        grad=True),
    Row("HalfNormal", {"scale": SCALE}, lambda s: ss.halfnorm(0, s), POSITIVE, NEGATIVE, grad=True),
    Row("HalfCauchy", {"scale": SCALE}, lambda s: ss.halfcauchy(0, s), POSITIVE, NEGATIVE, grad=True),
    Row("Pareto", {"alpha": column(0.8, 1.5, 4.0), "scale": SCALE}, lambda a, s: ss.pareto(a, 0, s),
        onp.array([2.6, 3.0, 7.5]), onp.array([-1.0, 0.2]), grad=True),
    Row("Weibull", {"concentration": column(0.7, 1.0, 2.5), "scale": SCALE}, lambda k, s: ss.weibull_min(k, 0, s),
        POSITIVE, NEGATIVE, grad=True),
    Row("Bernoulli", {"prob": PROB}, ss.bernoulli, onp.array([0.0, 1.0]), onp.array([-1.0, 2.0]), discrete=True),
    Row("Bernoulli", {"logit": LOGIT}, lambda x: ss.bernoulli(sigmoid(x)), onp.array([0.0, 1.0]),
        onp.array([-1.0, 2.0]), discrete=True),
    Row("Geometric", {"prob": PROB}, lambda p: ss.geom(p, -1), COUNTS, NEGATIVE, discrete=True),
    Row("Geometric", {"logit": LOGIT}, lambda x: ss.geom(sigmoid(x), -1), COUNTS, NEGATIVE, discrete=True),
    Row("Binomial", {"prob": PROB}, lambda p: ss.binom(6, p), onp.array([0.0, 1.0, 4.0, 6.0]), onp.array([-1.0, 7.0]),
        {"n": 6}, discrete=True),
    Row("Binomial", {"logit": LOGIT}, lambda x: ss.binom(6, sigmoid(x)), COUNTS, NEGATIVE, {"n": 6}, discrete=True),
    Row("NegativeBinomial", {"n": column(1.0, 2.5, 4.0), "prob": PROB}, lambda n, p: ss.nbinom(n, 1 - p), COUNTS,
        NEGATIVE, discrete=True),
    Row("NegativeBinomial", {"n": column(1.0, 2.5, 4.0), "logit": LOGIT}, lambda n, x: ss.nbinom(n, sigmoid(-x)),
        COUNTS, NEGATIVE, discrete=True),
    Row("Poisson", {"rate": column(0.3, 1.0, 5.5)}, ss.poisson, COUNTS, NEGATIVE, discrete=True),
]  # fmt: skip
CONTINUOUS = [row for row in ROWS if not row.discrete]
