"""Draws have the distribution that they are named after, and gradients where they are smooth functions of parameters.

Every comparison is made at a fixed seed and would fail by chance, for a seed chosen at random, less than once in
10 ** 7 (`CHANCE`): below 10 ** -6 for each test.
"""

import math

import numpy as onp
import pytest
import scipy.stats as ss

from gluonx import autograd, np, probability
from lib.distributions import ROWS

CHANCE = 1e-7
COUNT = 20000

pytestmark = pytest.mark.filterwarnings("ignore:the line .* has compiled")


def is_drawn_from(drawn, reference, discrete=False):
    """A Kolmogorov-Smirnov test, whose bound holds for discrete distributions too (it is conservative there)."""
    drawn = onp.sort(onp.asarray(drawn, onp.float64).ravel())
    points, counts = onp.unique(drawn, return_counts=True)
    upto = onp.cumsum(counts) / drawn.size
    below = upto - counts / drawn.size
    cdf = reference.cdf(points)
    left = reference.cdf(points - 1) if discrete else cdf
    gap = max(onp.abs(upto - cdf).max(), onp.abs(left - below).max())
    return gap < math.sqrt(-0.5 * math.log(CHANCE / 2) / drawn.size)  # Dvoretzky, Kiefer, Wolfowitz, Massart


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_draws(row):
    np.random.seed(11)
    drawn = row.make("float32").sample_n(COUNT).asnumpy()
    assert drawn.shape == (COUNT, 3, 1) and drawn.dtype == onp.float32
    for index in range(3):
        reference = row.reference(*[onp.float64(p[index, 0]) for p in row.parameters.values()])
        assert is_drawn_from(drawn[:, index], reference, row.discrete), (row, index)


def test_the_test_can_fail():
    np.random.seed(11)
    drawn = probability.Normal(0.0, 1.2).sample(COUNT)
    assert is_drawn_from(drawn, ss.norm(0, 1.2)) and not is_drawn_from(drawn, ss.norm(0, 1))
    assert not is_drawn_from(probability.Poisson(3.3).sample(COUNT), ss.poisson(3), True)


@pytest.mark.parametrize("row", [row for row in ROWS if row.grad], ids=str)
def test_gradients_of_draws(row):
    """Along a path of constant probability a draw moves by ``-(dF/dp) / f``: the implicit reparametrization."""
    assert row.make().has_grad
    arrays = row.arrays()
    for array in arrays.values():
        array.attach_grad()
    np.random.seed(5)
    with autograd.record():
        drawn = row.make(**arrays).sample_n(1)[0]
    drawn.backward()
    at, values = drawn.asnumpy(), [array.asnumpy() for array in arrays.values()]
    density = row.reference().pdf(at)
    for index, array in enumerate(arrays.values()):
        step = 1e-5
        sides = [
            row.reference(*[v + sign * step * (i == index) for i, v in enumerate(values)]).cdf(at) for sign in (1, -1)
        ]
        slope = -(sides[0] - sides[1]) / (2 * step) / density
        if row.name in ("Beta", "StudentT", "FisherSnedecor"):
            assert onp.isfinite(array.grad.asnumpy()).all() and (array.grad != 0).all()  # of two draws: see below
        else:
            onp.testing.assert_allclose(array.grad, slope, rtol=1e-3, atol=1e-5)


@pytest.mark.dear
@pytest.mark.parametrize(
    ("make", "arguments", "slopes"),
    [
        (probability.Beta, (2.0, 3.0), lambda a, b: (b / (a + b) ** 2, -a / (a + b) ** 2)),
        (probability.FisherSnedecor, (3.0, 12.0), lambda a, b: (0.0, -2 / (b - 2) ** 2)),
        (probability.StudentT, (9.0, 1.0, 2.0), lambda df, loc, scale: (0.0, 1.0, 0.0)),
        (probability.Gamma, (0.7, 2.0), lambda a, s: (s, a)),
    ],
)
def test_gradients_of_means(make, arguments, slopes):
    """The mean of the gradients of draws is the gradient of the mean, within 6 standard errors."""
    arrays = [np.full((COUNT,), value) for value in arguments]
    for array in arrays:
        array.attach_grad()
    np.random.seed(3)
    with autograd.record():
        drawn = make(*arrays).sample()
    drawn.backward()
    for array, slope in zip(arrays, slopes(*arguments), strict=True):
        found = array.grad.asnumpy().astype("float64")
        assert abs(found.mean() - slope) < 6 * found.std() / math.sqrt(COUNT) + 1e-6


def near(found, wanted, spread):
    """Means over COUNT draws, within 6 standard errors."""
    onp.testing.assert_array_less(onp.abs(onp.asarray(found) - wanted), 6 * spread / math.sqrt(COUNT) + 1e-6)


WEIGHTS = onp.array([[0.2, 0.3, 0.5], [0.7, 0.1, 0.2]])
SPREAD = onp.sqrt(WEIGHTS * (1 - WEIGHTS))


@pytest.mark.dear
@pytest.mark.parametrize("kind", ["prob", "logit"])
def test_classes(kind):
    given = {kind: np.array(WEIGHTS if kind == "prob" else onp.log(WEIGHTS) + 3)}
    np.random.seed(1)
    drawn = probability.Categorical(3, **given).sample_n(COUNT)
    assert drawn.shape == (COUNT, 2) and drawn.dtype == onp.int64
    near((drawn.asnumpy()[..., None] == onp.arange(3)).mean(0), WEIGHTS, SPREAD)
    drawn = probability.OneHotCategorical(3, **given).sample((COUNT, 2)).asnumpy()
    assert drawn.shape == (COUNT, 2, 3) and drawn.dtype == onp.float32 and (drawn.sum(-1) == 1).all()
    near(drawn.mean(0), WEIGHTS, SPREAD)
    drawn = probability.Multinomial(3, **given, total_count=4).sample_n(COUNT).asnumpy()
    assert drawn.shape == (COUNT, 2, 3) and drawn.dtype == onp.float32 and (drawn.sum(-1) == 4).all()
    near(drawn.mean(0), 4 * WEIGHTS, 2 * SPREAD)


@pytest.mark.parametrize("alpha", [[0.5, 1.0, 2.0], [3.0, 1.0, 1.0]], ids=str)
def test_dirichlet(alpha):
    made = probability.Dirichlet(np.array([alpha, alpha]))
    np.random.seed(1)
    drawn = made.sample((COUNT, 2)).asnumpy()
    assert drawn.shape == (COUNT, 2, 3) and onp.allclose(drawn.sum(-1), 1, atol=1e-5)
    near(drawn.mean(0), made.mean, made.stddev.asnumpy())
    for index, a in enumerate(alpha):
        for column in range(2):
            assert is_drawn_from(drawn[:, column, index], ss.beta(a, sum(alpha) - a))


@pytest.mark.dear
@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_small_concentrations(alpha):
    small = np.full((100, 3), alpha)
    small.attach_grad()
    with autograd.record():
        drawn = probability.Dirichlet(small).sample()
        total = drawn[:, 0].sum()
    total.backward()
    assert onp.isfinite(drawn.asnumpy()).all() and onp.isfinite(small.grad.asnumpy()).all()


def test_multivariate_normal():
    cov = onp.array([[2.0, 0.6], [0.6, 0.5]])
    loc = onp.array([[0.0, 1.0], [5.0, -1.0]])
    np.random.seed(1)
    drawn = probability.MultivariateNormal(np.array(loc), np.array(cov)).sample_n(COUNT).asnumpy()
    assert drawn.shape == (COUNT, 2, 2)
    for row in range(2):
        for direction in ([1, 0], [0, 1], [1, -2]):
            reference = ss.norm(direction @ loc[row], math.sqrt(direction @ cov @ direction))
            assert is_drawn_from(drawn[:, row] @ direction, reference)


def test_half_precision():
    half = np.full((2, 2), 0.5, dtype="float16")
    for made in (probability.Normal(half, 1.0), probability.Bernoulli(half)):
        drawn = made.sample()
        assert drawn.dtype == made.log_prob(drawn).dtype == onp.float16
        assert made.cdf(drawn).dtype == onp.float16


@pytest.mark.slow
def test_relaxed():
    np.random.seed(1)
    made = probability.RelaxedBernoulli(0.7, prob=np.array(0.3))
    drawn = made.sample(COUNT).asnumpy().astype("float64")
    logistic = ss.logistic(math.log(0.3 / 0.7) / 0.7, 1 / 0.7)
    assert is_drawn_from(onp.log(drawn) - onp.log1p(-drawn), logistic)
    assert is_drawn_from(made.cdf(np.array(drawn)), ss.uniform())
    made = probability.RelaxedOneHotCategorical(0.5, 3, prob=np.array(WEIGHTS))
    drawn = made.sample_n(COUNT).asnumpy()
    assert drawn.shape == (COUNT, 2, 3) and onp.allclose(drawn.sum(-1), 1, atol=1e-5)
    near((drawn.argmax(-1)[..., None] == onp.arange(3)).mean(0), WEIGHTS, SPREAD)
    logit = np.array([0.1, -0.4, 1.0])
    logit.attach_grad()
    with autograd.record():
        total = probability.RelaxedOneHotCategorical(0.5, 3, logit=logit).sample()[0]
    total.backward()
    assert (logit.grad != 0).all() and abs(logit.grad.sum()) < 1e-5


@pytest.mark.dear
def test_mixture():
    weights, loc = onp.array([0.2, 0.3, 0.5]), onp.array([-2.0, 0.0, 3.0])
    made = probability.MixtureSameFamily(
        probability.Categorical(3, np.array(weights)), probability.Normal(np.array(loc), 0.5)
    )

    class Reference:
        def cdf(self, x):
            return (weights * ss.norm(loc, 0.5).cdf(onp.asarray(x)[..., None])).sum(-1)

    np.random.seed(1)
    assert is_drawn_from(made.sample(COUNT), Reference())
    x = onp.linspace(-4, 5, 9)
    onp.testing.assert_allclose(made.cdf(np.array(x)), Reference().cdf(x), rtol=1e-5, atol=1e-6)
    dense = (weights * ss.norm(loc, 0.5).pdf(x[:, None])).sum(-1)
    onp.testing.assert_allclose(made.log_prob(np.array(x)), onp.log(dense), rtol=1e-5)
    onp.testing.assert_allclose(made.mean, weights @ loc, rtol=1e-6)
    onp.testing.assert_allclose(made.variance, 0.25 + weights @ loc**2 - (weights @ loc) ** 2, rtol=1e-6)
    vectors = probability.MixtureSameFamily(
        probability.Categorical(2, np.array([[0.5, 0.5], [0.1, 0.9]])),
        probability.Independent(probability.Normal(np.zeros((2, 2, 3)), 1.0), 1),
    )
    assert vectors.batch_shape == (2,) and vectors.event_shape == (3,)
    assert vectors.mean.shape == vectors.variance.shape == (2, 3) and vectors.log_prob(np.zeros((2, 3))).shape == (2,)
