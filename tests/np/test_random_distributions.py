"""Every distribution of np.random, npx.random: moments and shape against SciPy, sizes, seeds, dtypes, gradients.

tests/oracle/random/make.py recorded MXNet's shapes, and pairs of draws and gradients: the relation between the two is
what MXNet's numbers and ours are both held to.

Each test fixes its seed, so its draws are the same in every run: no test of significance fails by chance, whatever the
seed of the run.
"""

import json

import numpy as onp
import pytest
from scipy import stats

import gluonx
from gluonx import autograd, engine, nn, np, npx, random
from lib import TESTS

# Seeds are fixed here, so that what passes once passes always; a p-value is asked of the one draw that was looked at.
DRAWS = json.loads((TESTS / "oracle" / "random" / "draws.json").read_text())
COUNT = 4000

# name: (parameters, the distribution in SciPy)
CONTINUOUS = {
    "uniform": ((0.5, 2.0), stats.uniform(0.5, 1.5)),
    "normal": ((0.5, 2.0), stats.norm(0.5, 2.0)),
    "lognormal": ((0.5, 0.75), stats.lognorm(0.75, scale=onp.exp(0.5))),
    "laplace": ((0.5, 2.0), stats.laplace(0.5, 2.0)),
    "logistic": ((0.5, 2.0), stats.logistic(0.5, 2.0)),
    "gumbel": ((0.5, 2.0), stats.gumbel_r(0.5, 2.0)),
    "exponential": ((2.0,), stats.expon(scale=2.0)),
    "gamma": ((3.0, 2.0), stats.gamma(3.0, scale=2.0)),
    "beta": ((2.0, 3.0), stats.beta(2.0, 3.0)),
    "chisquare": ((3.0,), stats.chi2(3.0)),
    "f": ((4.0, 12.0), stats.f(4.0, 12.0)),
    "pareto": ((3.0,), stats.lomax(3.0)),
    "power": ((3.0,), stats.powerlaw(3.0)),
    "rayleigh": ((2.0,), stats.rayleigh(scale=2.0)),
    "weibull": ((3.0,), stats.weibull_min(3.0)),
    "triangular": ((0.0, 1.0, 4.0), stats.triang(0.25, 0.0, 4.0)),
}
DISCRETE = {
    "poisson": ((3.5,), stats.poisson(3.5)),
    "binomial": ((9, 0.3), stats.binom(9, 0.3)),
    "geometric": ((0.35,), stats.geom(0.35)),
    "bernoulli": ((0.3,), stats.bernoulli(0.3)),
    "randint": ((2, 9), stats.randint(2, 9)),
}
TYPED = [name for name in CONTINUOUS if name in ("uniform", "normal", "lognormal", "laplace", "gamma", "beta")]
TYPED += ["exponential", "chisquare"]
COSTLY = ("gamma", "beta", "chisquare")  # to compile
SLOW = (pytest.mark.slow,)


def draw(name, *parameters, **options):
    return getattr(np.random, name)(*parameters, **options)


@pytest.mark.parametrize("name", sorted(CONTINUOUS))
def test_continuous(name):
    """Kolmogorov and Smirnov's test, and the first two moments."""
    parameters, law = CONTINUOUS[name]
    random.seed(11)
    x = draw(name, *parameters, size=(COUNT,)).asnumpy().astype(onp.float64)
    assert x.dtype == onp.float64 and onp.isfinite(x).all()
    assert stats.kstest(x, law.cdf).pvalue > 1e-3
    error = law.std() / onp.sqrt(COUNT)
    assert abs(x.mean() - law.mean()) < 4 * error
    assert x.std() == pytest.approx(law.std(), rel=0.2)


@pytest.mark.parametrize("name", sorted(DISCRETE))
def test_discrete(name):
    """A chi-square test of the counts."""
    parameters, law = DISCRETE[name]
    random.seed(12)
    x = draw(name, *parameters, size=(COUNT,)).asnumpy()
    assert (x == x.round()).all()
    low, high = int(law.ppf(0.005)), int(law.ppf(0.995))
    kept = onp.clip(x, low, high).astype(int) - low
    chances = onp.array([law.pmf(k) for k in range(low, high + 1)])
    chances[0] += law.cdf(low - 1)
    chances[-1] += law.sf(high)
    counts = onp.bincount(kept, minlength=len(chances))
    assert stats.chisquare(counts, COUNT * chances / chances.sum()).pvalue > 1e-3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [pytest.param(n, marks=SLOW * (n in COSTLY)) for n in TYPED])
def test_half_types(name, dtype):
    """Drawn in float32 and rounded: the same draws, in steps of the type."""
    parameters, law = CONTINUOUS[name]
    random.seed(13)
    wide = draw(name, *parameters, size=(COUNT,)).asnumpy()
    random.seed(13)
    x = draw(name, *parameters, size=(COUNT,), dtype=dtype)
    assert str(x.dtype) == dtype
    step = 2.0**-8 if dtype == "bfloat16" else 2.0**-11
    onp.testing.assert_allclose(x.astype("float32").asnumpy(), wide, rtol=step)
    assert stats.kstest(x.astype("float32").asnumpy(), law.cdf).statistic < 2 / onp.sqrt(COUNT) + step


@pytest.mark.parametrize("name", sorted(DRAWS["shapes"]))
def test_sizes_are_mxnets(name):
    sizes = {"none": None, "int": 3, "tuple": (2, 3), "one": (1,), "zero": (0, 2)}
    parameters, _ = CONTINUOUS[name]
    for label, expected in DRAWS["shapes"][name].items():
        with engine.bulk(100):  # shapes are known when a draw is recorded; nothing has to run
            if label == "broadcast":
                given = [np.full((2, 1), v) for v in parameters[:1]] + [np.full((3,), v) for v in parameters[1:]]
                found = list(draw(name, *given).shape)
            else:
                x = draw(name, *parameters, size=sizes[label])
                found = [list(x.shape), str(x.dtype)]
        assert found == expected, label


@pytest.mark.parametrize("name", sorted({**CONTINUOUS, **DISCRETE}))
def test_seeds(name):
    """A seed repeats its draws; another seed, or the next draw, gives others."""
    parameters, _ = {**CONTINUOUS, **DISCRETE}[name]
    found = []
    for seed in (3, 3, 4):
        random.seed(seed)
        found.append([draw(name, *parameters, size=(COUNT,)).asnumpy() for _ in range(2)])
    (a, b), (c, d), (e, _) = found
    onp.testing.assert_array_equal(a, c)
    onp.testing.assert_array_equal(b, d)
    assert (a != b).any() and (a != e).any()


def test_elements_of_parameters_have_draws_of_their_own():
    random.seed(5)
    loc = np.array([[-50.0], [50.0]])
    x = np.random.normal(loc, np.array([1.0, 2.0, 3.0]), size=(2, 3)).asnumpy()
    assert (x[0] < 0).all() and (x[1] > 0).all() and len(set(x.round(4).ravel())) == 6
    lam = np.random.poisson(np.array([0.0, 500.0]), size=(7, 2)).asnumpy()
    assert (lam[:, 0] == 0).all() and (lam[:, 1] > 300).all()
    with pytest.raises(ValueError, match="do not broadcast"):
        np.random.normal(np.zeros((4,)), 1.0, size=(3,))


def formulas(name, x, parameters):
    """The gradients of a draw with respect to its parameters, given the draw: for MXNet's numbers and for ours."""
    if name in ("normal", "logistic", "gumbel", "laplace"):
        loc, scale = parameters
        return onp.ones_like(x), (x - loc) / scale
    if name == "lognormal":
        mean, sigma = parameters
        return x, x * (onp.log(x) - mean) / sigma
    if name in ("exponential", "rayleigh"):
        return (x / parameters[0],)
    if name == "pareto":
        return (-(1 + x) * onp.log1p(x) / parameters[0],)
    if name == "power":
        return (-x * onp.log(x) / parameters[0],)
    if name == "weibull":
        return (-x * onp.log(x) / parameters[0],)
    low, high = parameters
    t = (x - low) / (high - low)
    return 1 - t, t


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore:the line .* has compiled")
@pytest.mark.parametrize(
    "name",
    ["normal", "logistic", "gumbel", "laplace", "lognormal", "exponential", "rayleigh", "pareto", "power", "weibull"]
    + ["uniform"],
)
def test_gradients(name):
    """Of every smooth draw, for each parameter; where MXNet has one, it is the same function of the draw."""
    parameters, _ = CONTINUOUS[name]
    for i, recorded in enumerate(DRAWS["gradients"][name]):
        x, gradient = (onp.array(v) for v in recorded)
        if gradient.any():
            onp.testing.assert_allclose(gradient, formulas(name, x, parameters)[i], rtol=1e-3, atol=1e-4)
        given = [np.full((16,), v) for v in parameters]
        given[i].attach_grad()
        with autograd.record():
            y = draw(name, *given)
        y.backward()
        wanted = formulas(name, y.asnumpy().astype(onp.float64), parameters)[i]
        onp.testing.assert_allclose(given[i].grad.asnumpy(), wanted, rtol=2e-3, atol=2e-4)


@pytest.mark.dear
@pytest.mark.parametrize("name", [pytest.param(n, marks=SLOW * (n != "gamma")) for n in COSTLY])
def test_implicit_gradients(name):
    """Draws that are no formula of the parameters: the mean gradient is the gradient of the mean."""
    parameters, _ = CONTINUOUS[name]
    means = {"gamma": (2.0, 3.0), "beta": (3 / 25, -2 / 25), "chisquare": (1.0,)}[name]
    random.seed(17)
    for i, slope in enumerate(means):
        given = [np.full((COUNT,), v) for v in parameters]
        given[i].attach_grad()
        with autograd.record():
            y = draw(name, *given)
        y.backward()
        assert given[i].grad.mean().item() == pytest.approx(slope, rel=0.08)


class Noise(nn.HybridBlock):
    def forward(self, x):
        return x + np.random.normal(size=x.shape) + np.random.exponential(2.0, size=x.shape)


@pytest.mark.dear
def test_a_hybridized_block_draws_anew():
    """At each call, the bits that the plain and the naive block draw."""
    x = np.zeros((8,))
    found = []
    for hybrid, mode in ((False, "deferred"), (True, "deferred"), (False, "naive"), (True, "naive")):
        net = Noise()
        if hybrid:
            net.hybridize()
        with engine.mode(mode):
            random.seed(21)
            found.append([net(x).asnumpy() for _ in range(3)])
    for calls in found:
        assert (calls[0] != calls[1]).all() and (calls[1] != calls[2]).all()
        onp.testing.assert_allclose(calls, found[0], rtol=1e-6)


def test_recorded_draws_compile_once():
    w = np.ones((8,))
    w.attach_grad()

    def step(scale):
        with autograd.record():
            y = (w * np.random.normal(0.0, scale, size=(8,))).sum()
        y.backward()
        return w.grad.asnumpy()

    first = [step(1.0) for _ in range(2)]
    engine.reset_stats()
    later = [step(1.0 + i) for i in range(3)]
    assert engine.stats()["programs_compiled"] == 0
    assert len({a.tobytes() for a in [*first, *later]}) == 5


class TestVectors:
    def test_multivariate_normal(self):
        random.seed(31)
        mean, cov = onp.array([1.0, -2.0, 0.5]), onp.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])
        x = np.random.multivariate_normal(np.array(mean), np.array(cov), size=(COUNT,)).asnumpy()
        white = onp.linalg.solve(onp.linalg.cholesky(cov), (x - mean).T)
        for row in white:
            assert stats.kstest(row, stats.norm.cdf).pvalue > 1e-3
        onp.testing.assert_allclose(onp.cov(x.T), cov, atol=0.12)

    def test_dirichlet(self):
        random.seed(32)
        alpha = onp.array([2.0, 3.0, 5.0])
        x = np.random.dirichlet(np.array(alpha), size=(COUNT,)).asnumpy()
        onp.testing.assert_allclose(x.sum(-1), 1, rtol=1e-5)
        for i, a in enumerate(alpha):
            assert stats.kstest(x[:, i], stats.beta(a, alpha.sum() - a).cdf).pvalue > 1e-3

    def test_multinomial_and_categorical(self):
        random.seed(33)
        p = onp.array([0.1, 0.2, 0.3, 0.4])
        counts = np.random.multinomial(COUNT, np.array(p)).asnumpy()
        assert stats.chisquare(counts, COUNT * p).pvalue > 1e-3
        drawn = npx.random.categorical(np.array(p), shape=(COUNT,)).asnumpy()
        assert stats.chisquare(onp.bincount(drawn, minlength=4), COUNT * p).pvalue > 1e-3
        rows = npx.random.multinomial(np.array([50.0, 80.0]), np.array(onp.stack([p, p[::-1]])), shape=(200,)).asnumpy()
        assert rows.shape == (2, 200, 4) and (rows.sum(-1) == onp.array([[50], [80]])).all()
        onp.testing.assert_allclose(rows.mean(1), [50 * p, 80 * p[::-1]], rtol=0.15)

    def test_choice_and_permutation(self):
        random.seed(34)
        p = onp.array([0.5, 0.25, 0.125, 0.125])
        x = np.random.choice(4, size=(COUNT,), p=np.array(p)).asnumpy().astype(int)
        assert stats.chisquare(onp.bincount(x, minlength=4), COUNT * p).pvalue > 1e-3
        few = np.random.choice(100, size=(30,), replace=False).asnumpy()
        assert len(set(few.tolist())) == 30
        first = onp.array([np.random.permutation(5)[0].item() for _ in range(400)]).astype(int)
        assert stats.chisquare(onp.bincount(first, minlength=5)).pvalue > 1e-3

    def test_randint_covers_its_range(self):
        random.seed(35)
        for dtype in ("int8", "uint8", "int32", "int64"):
            x = np.random.randint(0, 7, size=(2000,), dtype=dtype)
            assert set(x.tolist()) == set(range(7)) and x.dtype.kind in "iu"

    def test_negative_numbers(self):
        """Beside the unsigned words of the key a number keeps its sign, in every mode."""

        class Shifted(nn.HybridBlock):
            def forward(self, x):
                return x + np.random.randint(-9, -5, size=x.shape) + np.random.uniform(-3, -1, size=x.shape)

        net = Shifted()
        x = np.zeros((20,))
        for hybrid in (False, True):
            net.hybridize(hybrid)
            assert net(x).min().item() >= -12 and net(x).max().item() < -6
        with engine.bulk(10):
            y = np.random.normal(-40, 1, size=(9,))
        assert y.max().item() < -30 and np.random.randint(-3, 0, size=(50,)).asnumpy().max() < 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: np.random.normal(0.0, -1.0), "scale"),
        (lambda: np.random.exponential(-1.0), "scale"),
        (lambda: np.random.randint(4, 4), "high must be larger"),
        (lambda: np.random.choice(3, size=(4,), replace=False), "without putting back"),
        (lambda: npx.random.bernoulli(), "prob or logit"),
    ],
)
def test_bad_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# -- parameters out of range: MXNet raises for each of these, old functions MXNetError, new ones ValueError --


@pytest.mark.parametrize(
    "law, bad",
    [
        ("normal", (0.0, -1.0)), ("lognormal", (0.0, -1.0)), ("logistic", (0.0, -1.0)), ("gumbel", (0.0, -1.0)),
        ("exponential", (-1.0,)), ("rayleigh", (-1.0,)), ("gamma", (-1.0,)), ("gamma", (0.0,)), ("gamma", (1.0, 0.0)),
        ("gamma", (1.0, -1.0)), ("beta", (0.0, 1.0)), ("beta", (1.0, -1.0)), ("chisquare", (0.0,)), ("f", (-1.0, 1.0)),
        ("f", (1.0, 0.0)), ("weibull", (0.0,)), ("pareto", (-1.0,)), ("power", (0.0,)),
        ("multinomial", (4, [0.5, 0.6])),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["numbers", "numpy", "ndarray"])
def test_parameters_out_of_range_are_refused(law, bad, kind):
    make = {"numbers": lambda v: v, "numpy": lambda v: onp.array([v]), "ndarray": lambda v: np.array([v])}[kind]
    if law != "multinomial":
        bad = [make(v) for v in bad]
    elif kind != "numbers":
        bad = (4, make(bad[1]))
    for error in (ValueError, gluonx.MXNetError):
        with pytest.raises(error, match=f"np.random.{law}: .*(must be|must not be|sum to)"):
            getattr(np.random, law)(*bad)


@pytest.mark.parametrize("prob", [1.5, -0.5])
def test_a_probability_is_between_0_and_1(prob):
    for value in (prob, np.array([0.5, prob])):
        with pytest.raises(ValueError, match="prob must be between 0 and 1"):
            gluonx.npx.random.bernoulli(prob=value)
    assert gluonx.npx.random.bernoulli(logit=-7.0).shape == ()
    assert gluonx.npx.random.bernoulli(logit=np.zeros(2), size=()).shape == (2,)  # no size, as in MXNet


def test_bounds_that_mxnet_takes_are_taken():
    for draw in (np.random.normal, np.random.gumbel):
        assert draw(0.0, 0.0).item() == 0.0
    assert np.random.rayleigh(0.0).item() == np.random.exponential(0.0).item() == 0.0
    assert np.random.multinomial(-1, [0.5, 0.5]).tolist() == [0, 0]
    with gluonx.autograd.record():  # what is still to be computed is not waited for
        scale = np.array([-1.0]) * 1
        drawn = np.random.normal(0.0, scale)
    assert drawn.shape == (1,)


@pytest.mark.parametrize(
    "law, bad",
    [
        ("uniform", (2, 1)), ("normal", (0, -1)), ("normal", (0, 0)), ("gamma", (-1, 1)), ("gamma", (1, 0)),
        ("exponential", (-1,)), ("poisson", (-1,)), ("negative_binomial", (-1, 0.5)), ("randint", (5, 2)),
        ("generalized_negative_binomial", (-1, 0.5)), ("generalized_negative_binomial", (1, -0.5)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("module", [gluonx.nd.random, gluonx.random])
def test_old_functions_refuse_them_too(module, law, bad):
    with pytest.raises(gluonx.MXNetError, match=r"must be|must not be|low must not"):
        getattr(module, law)(*bad)


def test_seed_takes_a_context_and_refuses_what_is_no_integer():
    gluonx.random.seed(3, ctx=gluonx.cpu())
    first = np.random.uniform(size=3)
    gluonx.npx.random.seed(3, ctx="all")
    assert (np.random.uniform(size=3) == first).all()
    for error in (ValueError, TypeError):
        with pytest.raises(error, match="must be an integer"):
            gluonx.random.seed("a")


def test_the_gradient_of_a_log_probability_is_one_over_the_probability():
    """As MXNet 1's sample_multinomial: of the number itself, and of nothing else in the row."""
    p = gluonx.nd.array([[0.2, 0.8, 0.0], [0.8, 1.2, 0.0]])
    p.attach_grad()
    with gluonx.autograd.record():
        drawn, chance = gluonx.nd.sample_multinomial(p, shape=4, get_prob=True)
    chance.backward()
    picked = onp.stack([p.asnumpy()[i, row] for i, row in enumerate(drawn.asnumpy())])
    onp.testing.assert_allclose(chance.asnumpy(), onp.log(picked), rtol=1e-6)
    expected = onp.zeros((2, 3))
    for i, row in enumerate(drawn.asnumpy()):
        for k in row:
            expected[i, k] += 1 / p.asnumpy()[i, k]
    onp.testing.assert_allclose(p.grad.asnumpy(), expected, rtol=1e-6)


def counts_agree(x, law):
    """Compare counts with the chances of a law by a chi-square test; rare counts are taken together."""
    low, high = int(law.ppf(1e-3)), int(law.ppf(1 - 1e-3))
    places = onp.arange(low, high + 1)
    seen = onp.array([(x < low).sum(), *[(x == k).sum() for k in places], (x > high).sum()])
    chances = onp.array([law.cdf(low - 1), *law.pmf(places), law.sf(high)])
    several = chances * x.size >= 10
    seen = onp.append(seen[several], seen[~several].sum())
    expected = onp.append(chances[several], chances[~several].sum()) * x.size
    kept = expected > 0
    assert stats.chisquare(seen[kept], expected[kept] * seen.sum() / expected.sum()).pvalue > 1e-3


@pytest.mark.dear
def test_counts_follow_their_laws():
    """Rates on both sides of the one from which counts are drawn by rejection, as numbers and as arrays."""
    random.seed(21)
    n = 100_000
    for lam in (1e-3, 0.5, 4.0, 9.99, 10.0, 13.0, 100.0, 1e4):
        counts_agree(np.random.poisson(lam, size=(n,)).asnumpy(), stats.poisson(float(onp.float32(lam))))
        counts_agree(np.random.poisson(np.full((n,), lam)).asnumpy(), stats.poisson(float(onp.float32(lam))))
    for k, p in ((0.3, 0.2), (1, 0.5), (3, 0.4), (30, 0.1), (1000, 0.9)):
        law = stats.nbinom(k, float(onp.float32(p)))
        counts_agree(random.negative_binomial(k, p, shape=(n,)).asnumpy(), law)
        counts_agree(random.negative_binomial(np.full((n,), k), np.full((n,), p)).asnumpy(), law)
    for mu, alpha in ((2.0, 0.5), (20.0, 3.0), (0.1, 0.01)):
        law = stats.nbinom(1 / alpha, 1 / (1 + mu * alpha))
        counts_agree(random.generalized_negative_binomial(mu, alpha, shape=(n,)).asnumpy(), law)
    counts_agree(random.generalized_negative_binomial(3.0, 0.0, shape=(n,)).asnumpy(), stats.poisson(3.0))


def test_counts_of_large_rates_have_their_moments():
    random.seed(22)
    n = 100_000
    for lam in (1e6, 1e8, 1e12):
        x = np.random.poisson(np.full((n,), lam), dtype="float64").asnumpy() - float(onp.float32(lam))
        assert abs(x.mean()) < 4 * (lam / n) ** 0.5
        assert abs(x.var() / lam - 1) < 0.03


@pytest.mark.dear
def test_counts_are_the_same_in_each_type_and_mode():
    """NumPy's numbers, XLA's one by one, and those of a compiled block."""

    class Draw(nn.HybridBlock):
        def __init__(self, dtype):
            super().__init__()
            self.dtype = dtype

        def forward(self, rates):
            counts = np.random.poisson(rates, size=(9, 5), dtype=self.dtype)
            failures = random.negative_binomial(3, 0.4, shape=(20,), dtype=self.dtype)
            return counts.astype("float64"), failures.astype("float64")

    rates = np.array([0.0, 0.5, 3.0, 30.0, 200.0])
    seen = {}
    for dtype in ("float16", "bfloat16", "float32", "float64", "int32"):
        for mode in ("deferred", "naive", "host off", "hybridized") if dtype == "float32" else ("deferred", "naive"):
            net = Draw(dtype)
            if mode == "hybridized":
                net.hybridize()
            random.seed(23)
            with engine.mode("naive" if mode == "naive" else "deferred"), engine.host(mode == "deferred"):
                seen[dtype, mode] = [v.asnumpy().tolist() for v in net(rates)]
    first = seen["float32", "deferred"]
    for where, found in seen.items():
        if where[0] != "bfloat16":  # which has eight bits
            assert found == first, where
        else:
            assert found == seen["bfloat16", "deferred"]
