"""Densities and statistics of distributions of numbers are SciPy's, their gradients those of SciPy's differences."""

import jax
import numpy as onp
import pytest
import scipy.stats as ss
from scipy.special import entr

import gluonx
from gluonx import autograd, engine, np, npx, probability
from gluonx.gluon import nn
from lib.distributions import CONTINUOUS, ROWS

pytestmark = pytest.mark.filterwarnings("ignore:the line .* has compiled")  # one line compares all rows
every_row = pytest.mark.parametrize("row", ROWS, ids=str)
close = onp.testing.assert_allclose


@every_row
def test_log_prob_and_cdf(row):
    value = np.array(row.values, dtype="float64")
    made = row.make()
    found = made.log_prob(value)
    assert found.dtype == onp.float64
    close(found, row.log_prob(row.values), rtol=1e-9, atol=1e-11)
    close(made.pdf(value), onp.exp(row.log_prob(row.values)), rtol=1e-9)
    close(made.cdf(value), row.reference().cdf(row.values), rtol=1e-9, atol=1e-12)

    single, value = row.make("float32"), np.array(row.values)
    found, below = single.log_prob(value), single.cdf(value)
    assert found.dtype == below.dtype == onp.float32
    close(found, row.log_prob(row.values), rtol=2e-5, atol=2e-5)
    close(below, row.reference().cdf(row.values), rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("row", [row for row in ROWS if len(row.outside)], ids=str)
def test_outside_the_support(row):
    """The density is zero there, the distribution function 0 or 1, and gradients of the parameters are finite."""
    value = np.array(row.outside, dtype="float64")
    arrays = row.arrays()
    for array in arrays.values():
        array.attach_grad()
    with autograd.record():
        made = row.make(**arrays)
        density, below = made.log_prob(value), made.cdf(value)
        total = np.where(np.isinf(density), 0.0, density).sum() + below.sum()
    total.backward()
    assert (density == -onp.inf).all()
    close(below, row.reference().cdf(row.outside) * onp.ones(density.shape))
    assert all((array.grad == 0).all() for array in arrays.values())


LEVELS = onp.array([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])


@every_row
def test_icdf(row):
    made, wanted = row.make(), row.reference().ppf(LEVELS)
    found = made.icdf(np.array(LEVELS, dtype="float64"))
    single = row.make("float32").icdf(np.array(LEVELS))
    assert found.dtype == onp.float64 and single.dtype == onp.float32
    if row.discrete:
        assert (found.asnumpy() == wanted).all() and (single.asnumpy() == wanted).all()
        for dtype in ("float64", "float32"):
            made, counts = row.make(dtype), np.array(row.values, dtype=dtype)
            assert (made.icdf(made.cdf(counts)) == counts).all()  # whatever the rounding of the level
        return
    close(found, wanted, rtol=1e-8, atol=1e-12)
    close(made.cdf(found), onp.broadcast_to(LEVELS, found.shape), rtol=1e-8)
    close(single, wanted, rtol=3e-5, atol=1e-6)


@pytest.mark.dear
@pytest.mark.parametrize("row", [row for row in ROWS if "Cauchy" not in row.name], ids=str)  # tan(pi / 2) is 1.6e16
def test_icdf_of_the_ends(row):
    """The ends of the support, and for counts the first one: SciPy gives the number before it."""
    made = row.make()
    support = row.reference().support()
    close(made.icdf(np.array([0.0, 1.0], dtype="float64")), onp.broadcast_to(onp.concatenate(support, -1), (3, 2)))


HARD = [
    ("Gamma", (1e-3, 2.0), lambda a, s: ss.gamma(a, 0, s)),
    ("Gamma", (1e4, 2.0), lambda a, s: ss.gamma(a, 0, s)),
    ("Beta", (2.0, 0.01), ss.beta),
    ("Beta", (0.01, 2.0), ss.beta),
    ("Beta", (1e4, 3.0), ss.beta),
    ("StudentT", (0.3,), ss.t),
    ("StudentT", (200.0,), ss.t),
    ("FisherSnedecor", (100.0, 0.7), ss.f),
    ("Poisson", (1e5,), ss.poisson),
    ("Binomial", (1e6, 0.5), ss.binom),
    ("Binomial", (10, 0.0), ss.binom),
    ("Binomial", (10, 1.0), ss.binom),
    ("NegativeBinomial", (3.0, 0.9999), lambda n, p: ss.nbinom(n, 1 - p)),
]


@pytest.mark.parametrize(("name", "parameters", "reference"), HARD)
def test_icdf_far_out(name, parameters, reference):
    """Quantiles near 1e-150, beside 1, and of great counts."""
    level = onp.array([1e-12, 1e-3, 0.2, 0.5, 0.5 + 1e-9, 0.7, 1 - 1e-9])
    made = getattr(probability, name)(*[np.array(p, dtype="float64") for p in parameters])
    close(made.icdf(np.array(level, dtype="float64")), reference(*parameters).ppf(level), rtol=2e-8, atol=1e-300)


@pytest.mark.dear
def test_icdf_of_what_is_no_probability():
    level = np.array([-0.1, 1.1, onp.nan])
    gamma, beta, student = probability.Gamma(2.0), probability.Beta(2.0, 3.0), probability.StudentT(3.0)
    counts = probability.Poisson(2.0), probability.Binomial(3, 0.5), probability.NegativeBinomial(2.0, 0.5)
    for made in (gamma, beta, student, *counts, probability.Geometric(0.3)):
        assert onp.isnan(made.icdf(level).asnumpy()).all(), made


def test_icdf_of_classes():
    level = onp.array([0.0, 0.2, 0.21, 0.5, 1.0])
    weather = probability.Categorical(3, np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], dtype="float64"))
    found = weather.icdf(np.array(level[:, None], dtype="float64"))
    assert found.dtype == onp.int64 and found.asnumpy().T.tolist() == [[0, 0, 1, 1, 2], [0, 0, 0, 0, 0]]


@pytest.mark.parametrize("row", CONTINUOUS, ids=str)
def test_gradients_of_the_icdf(row):
    arrays, level = row.arrays(), onp.array([1e-4, 0.03, 0.3, 0.62, 0.97])
    leaves = [*arrays.values(), np.array(level, dtype="float64")]
    for leaf in leaves:
        leaf.attach_grad()
    with autograd.record():
        total = row.make(**arrays).icdf(leaves[-1]).sum()
    total.backward()
    wanted = differences(lambda *v: row.reference(*v[:-1]).ppf(v[-1]), [leaf.asnumpy() for leaf in leaves])
    for leaf, slope in zip(leaves, wanted, strict=True):
        close(leaf.grad, slope, rtol=1e-3, atol=1e-6)


@every_row
def test_statistics(row):
    made, reference = row.make(), row.reference()
    mean, variance = reference.stats("mv")
    if row.name == "StudentT":
        mean[0] = onp.nan  # SciPy says infinity of df up to 1
    close(made.mean, mean, rtol=1e-9)
    close(made.variance, variance, rtol=1e-9)
    close(made.stddev, onp.sqrt(variance), rtol=1e-9)
    assert made.mean.shape == made.variance.shape == made.batch_shape == (3, 1)
    wanted = onp.vectorize(lambda *p: row.reference(*p).entropy())(*row.parameters.values())
    close(made.entropy(), wanted, rtol=1e-7)
    close(made.perplexity(), onp.exp(wanted), rtol=1e-7)
    close(row.make("float32").entropy(), wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.dear
def test_entropies_of_counts():
    """Ends, great counts, arrays of trials; the expansion about the normal distribution where SciPy's sums give up."""
    wide = probability.Poisson(np.array([1e5, 999_999.0, 1_000_001.0, 1e12], dtype="float64"))
    rate = wide.rate.asnumpy()
    close(wide.entropy(), 0.5 * onp.log(2 * onp.pi * onp.e * rate) - 1 / (12 * rate) - 1 / (24 * rate**2), rtol=1e-12)
    close(probability.Poisson(np.array(rate)).entropy(), wide.entropy(), rtol=1e-5)
    n, prob = onp.array([0, 1, 7, 1000, 100_000]), onp.array([[0.0], [1.0], [0.3], [1 - 1e-9]])
    made = probability.Binomial(np.array(n, dtype="float64"), np.array(prob, dtype="float64"))
    # Over all counts: SciPy's own entropy() gives up after a thousand of them from 1.18 on.
    wanted = onp.vectorize(lambda n, p: entr(ss.binom(n, p).pmf(onp.arange(n + 1))).sum())(n, prob)
    close(made.entropy(), wanted, rtol=1e-7, atol=1e-12)
    n = np.array([0.05, 1.0, 50.0], dtype="float64")
    close(probability.NegativeBinomial(n, 0.7).entropy(), ss.nbinom(n.asnumpy(), 0.3).entropy(), rtol=1e-7)
    geometric = probability.Geometric(np.array(1e-3, dtype="float64")).entropy()
    close(probability.NegativeBinomial(np.array(1.0, dtype="float64"), 0.999).entropy(), geometric, rtol=1e-7)
    close(
        probability.NegativeBinomial(np.array(1e9, dtype="float64"), 0.5).entropy(), 0.5 * onp.log(4e9 * onp.pi * onp.e)
    )
    lost = [probability.Poisson(np.array([-1.0, onp.nan])), probability.Binomial(np.array([-1.0, 3.0]), 1.5),
            probability.NegativeBinomial(3, np.array([1.0, 1 - 6e-8]))]  # fmt: skip
    assert all(onp.isnan(one.entropy().asnumpy()).all() for one in lost)


@pytest.mark.parametrize("total", [0, 1, 7])
def test_entropy_of_counts_of_classes(total):
    prob = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], dtype="float64")
    prob.attach_grad()
    with autograd.record():
        found = probability.Multinomial(3, prob, total_count=total).entropy()
        found[0].backward()
    wanted = ss.multinomial(total, [0.2, 0.3, 0.5]).entropy() if total else 0.0
    close(found, [wanted, 0.0], rtol=1e-9, atol=1e-12)

    def moved(index, step):
        p = onp.array([0.2, 0.3, 0.5])
        p[index] += step
        return ss.multinomial(total, p / p.sum()).entropy() if total else 0.0

    slopes = [(moved(index, 1e-5) - moved(index, -1e-5)) / 2e-5 for index in range(3)]
    close(prob.grad[0], slopes, rtol=1e-5, atol=1e-7)


def differences(function, values, step=1e-6):
    """Central differences of the sum over a row, for each parameter in `values`."""
    out = []
    for index, value in enumerate(values):
        sides = []
        for sign in (1, -1):
            moved = [v + sign * step * (i == index) for i, v in enumerate(values)]
            sides.append(function(*moved))
        slope = (sides[0] - sides[1]) / (2 * step)
        axes = tuple(axis for axis in range(slope.ndim) if onp.shape(value)[axis : axis + 1] == (1,))
        out.append(slope.sum(axes, keepdims=True) if onp.ndim(value) == 2 else slope.sum(0))
    return out


@pytest.mark.dear
@every_row
@pytest.mark.parametrize("what", ["log_prob", "cdf"])
def test_gradients_are_differences_of_scipy(row, what):
    arrays = row.arrays()
    value = np.array(row.values, dtype="float64")
    leaves = [*arrays.values()] if row.discrete else [*arrays.values(), value]
    for leaf in leaves:
        leaf.attach_grad()
    with autograd.record():
        total = getattr(row.make(**arrays), what)(value).sum()
    total.backward()

    def function(*values):
        parameters, at = values[: len(arrays)], (row.values if row.discrete else values[-1])
        return row.log_prob(at, *parameters) if what == "log_prob" else row.reference(*parameters).cdf(at)

    wanted = differences(function, [leaf.asnumpy() for leaf in leaves])
    for leaf, slope in zip(leaves, wanted, strict=True):
        close(leaf.grad, slope, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("row", [row for row in ROWS if row.name not in ("Cauchy",)], ids=str)
def test_gradients_of_the_entropy(row):
    arrays = row.arrays()
    for leaf in arrays.values():
        leaf.attach_grad()
    with autograd.record():
        total = row.make(**arrays).entropy().sum()
    total.backward()
    entropy = onp.vectorize(lambda *p: row.reference(*p).entropy())
    wanted = differences(entropy, [leaf.asnumpy() for leaf in arrays.values()], 1e-4)
    for leaf, slope in zip(arrays.values(), wanted, strict=True):
        close(leaf.grad, slope, rtol=1e-3, atol=1e-4)


class Held(nn.HybridBlock):
    """A distribution within a block: its density, its statistics, a quantile and a draw."""

    def __init__(self, row):
        super().__init__()
        self.row = row

    def forward(self, value, *parameters):
        made = self.row.make(**dict(zip(self.row.parameters, parameters)))
        statistics = made.mean, made.variance, made.entropy(), made.icdf(0.3)
        return made.log_prob(value), made.cdf(value), *statistics, made.sample_n(2)


@pytest.mark.dear
@pytest.mark.parametrize(
    # Samplers take seconds to compile.
    "row",
    [pytest.param(r, marks=[pytest.mark.slow] * (str(r) not in ("Normal", "Geometric")), id=str(r)) for r in ROWS],
)
def test_every_mode(row):
    """At once, recorded, hybridized and in a functional view: one result, the draws of one seed included."""
    values = [np.array(row.values), *row.arrays("float32").values()]
    net = Held(row)
    np.random.seed(7)
    plain = net(*values)
    values[1].attach_grad()
    np.random.seed(7)
    with autograd.record():
        recorded = net(*values)
    net.hybridize()
    np.random.seed(7)
    hybridized = net(*values)
    view = gluonx.functional(net)
    pure, _ = jax.jit(view.apply)(view.params, view.state, jax.random.key(1), *[v.asnumpy() for v in values])
    for others in (recorded, hybridized):
        for one, other in zip(plain, others, strict=True):
            assert one.shape == other.shape and one.dtype == other.dtype
            close(one, other, rtol=1e-5, atol=1e-6)
    for one, other in zip(plain[:-1], pure[:-1], strict=True):
        close(one, other, rtol=1e-5, atol=1e-6)
    assert pure[-1].shape == plain[-1].shape and onp.isfinite(pure[-1]).all()


def test_numbers_alone():
    """Without arrays the results are numbers, of 64 bits where MXNet's are."""
    found = probability.Normal(0, 2).log_prob(0.5)
    assert isinstance(found, float) and found == pytest.approx(ss.norm(0, 2).logpdf(0.5), rel=1e-14)
    assert probability.Gamma(2.5, 3.0).entropy() == pytest.approx(ss.gamma(2.5, 0, 3.0).entropy(), rel=1e-12)
    assert probability.Exponential(2.0).cdf(-1.0) == 0.0 and probability.Uniform(0, 1).log_prob(2) == -onp.inf
    assert probability.Normal(0, 1).sample().shape == () and probability.Normal(0, 1).sample(3).shape == (3,)
    assert probability.Bernoulli(logit=0.3).prob == pytest.approx(1 / (1 + onp.exp(-0.3)))


def test_shapes():
    normal = probability.Normal(np.zeros((2, 1)), np.ones(3))
    assert normal.batch_shape == (2, 3) and normal.event_shape == ()
    assert normal.sample().shape == (2, 3) and normal.sample_n().shape == (2, 3)
    assert normal.sample((4, 2, 3)).shape == normal.sample_n(4).shape == (4, 2, 3)
    assert normal.sample_n((4, 5)).shape == (4, 5, 2, 3)
    assert normal.mean.shape == normal.entropy().shape == (2, 3)
    spread = probability.Normal(0, 1).broadcast_to((2, 3))
    assert spread.loc.shape == (2, 3) and spread.log_prob(np.zeros(3)).shape == (2, 3)
    assert normal.loc.shape == (2, 1)
    with pytest.raises(ValueError, match="broadcast"):
        normal.sample((4, 3))


@every_row
def test_broadcast_to(row):
    spread = row.make().broadcast_to((2, 3, 4))
    assert type(spread) is type(row.make()) and spread.batch_shape == (2, 3, 4)
    wanted = onp.broadcast_to(row.log_prob(row.values[:1]), (2, 3, 4))
    close(spread.log_prob(np.array(row.values[0], dtype="float64")), wanted, rtol=1e-9)
    assert spread.sample().shape == (2, 3, 4)


INVALID = [
    (lambda: probability.Normal(0, -1, validate_args=True), "-1 should be greater than 0"),
    (lambda: probability.Normal(0, np.array([1.0, -1.0]), validate_args=True), "should be greater than 0"),
    (lambda: probability.Normal(0, 1, validate_args=True).log_prob(np.array(onp.nan)), "real numbers"),
    (lambda: probability.Bernoulli(np.array(1.3), validate_args=True), ">= 0 and be <= 1"),
    (lambda: probability.Bernoulli(0.3, validate_args=True).log_prob(np.array(0.5)), "either 0 or 1"),
    (lambda: probability.Uniform(1.0, 3.0, validate_args=True).log_prob(np.array([0.0, 2.0])), ">= 1.0 and be <= 3.0"),
    (lambda: probability.Uniform(1.0, 0.0, validate_args=True), "greater than"),
    (lambda: probability.Poisson(np.array(2.0), validate_args=True).log_prob(np.array(1.5)), "be an integer"),
    (lambda: probability.Dirichlet(np.ones(2), validate_args=True).log_prob(np.array([0.5, 0.4])), "sum to 1"),
    (lambda: probability.Categorical(2, np.array([0.5, 0.4]), validate_args=True), "sum to 1"),
    (lambda: probability.MultivariateNormal(np.zeros(2), -np.eye(2), validate_args=True), "positive definite"),
    (lambda: probability.Bernoulli(), "either `prob` or `logit`"),
    (lambda: probability.Bernoulli(0.5, 0.0), "either `prob` or `logit`"),
    (lambda: probability.Categorical(0, np.ones(3)), "greater than zero"),
    (lambda: probability.Categorical(4, np.ones(3)), "4 classes, got shape"),
    (lambda: probability.Binomial(-5, 0.3), "non-negative integer"),
    (lambda: probability.Binomial(2.5, 0.3), "non-negative integer"),
    (lambda: probability.Multinomial(3, np.ones(3), total_count=-1), "total_count"),
    (lambda: probability.MultivariateNormal(np.zeros(3)), "exactly one"),
    (lambda: probability.MultivariateNormal(np.zeros(2), np.eye(3)), "expected"),
    (lambda: probability.Distribution.set_default_validate_args(3), "True or False"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), INVALID)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_validation_is_off_unless_asked_for():
    assert probability.Normal(0, -1).scale == -1
    probability.Distribution.set_default_validate_args(True)
    try:
        with pytest.raises(ValueError, match="greater than 0"):
            probability.Normal(0, -1)
    finally:
        probability.Distribution.set_default_validate_args(False)


def test_validation_in_a_hybridized_block():
    class Net(nn.HybridBlock):
        def forward(self, scale):
            return probability.Normal(0.0, scale, validate_args=True).log_prob(0.5)

    net = Net()
    net.hybridize()
    net(np.array([1.0]))
    with pytest.raises(ValueError, match="greater than 0"):
        net(np.array([-1.0]))


def test_a_derived_parameter_carries_its_gradient():
    """The logit of a probability is computed when it is asked for: one kept from before would have no gradient."""
    prob = np.array([0.2, 0.7])
    made = probability.Bernoulli(prob)
    before = made.logit
    prob.attach_grad()
    with autograd.record():
        total = made.logit.sum()
    total.backward()
    close(prob.grad, 1 / (prob * (1 - prob)), rtol=1e-5)
    close(before, onp.log([0.25, 7 / 3]), rtol=1e-5)


def test_probabilities_of_zero_and_one():
    prob = np.array([0.0, 1.0])
    for made in (probability.Bernoulli(prob), probability.Binomial(3, prob)):
        most = 3 if isinstance(made, probability.Binomial) else 1
        close(made.log_prob(np.array([0.0, most])), [0.0, 0.0], atol=1e-6)
        close(made.log_prob(np.array([most, 0.0])), [-onp.inf, -onp.inf])
    close(probability.Bernoulli(prob).entropy(), [0.0, 0.0])
    classes = probability.Categorical(3, np.array([0.5, 0.5, 0.0]))
    close(classes.log_prob(np.array([0, 2])), [onp.log(0.5), -onp.inf])
    close(classes.entropy(), onp.log(2))


@pytest.mark.dear
def test_a_steady_loop_compiles_once():
    class Net(nn.HybridBlock):
        def forward(self, loc, value):
            return probability.Normal(loc, 2.0).log_prob(value) - probability.Gamma(2.0, loc).log_prob(value)

    def step(net, index):
        loc = np.array([0.5 + index])
        loc.attach_grad()
        with autograd.record():
            total = net(loc, np.array([1.0 + index])).sum()
        total.backward()
        return loc.grad.asnumpy()

    for hybridized in (False, True):
        net = Net()
        net.hybridize(hybridized)
        for index in range(3):
            step(net, index)
        engine.reset_stats()
        for index in range(5):
            step(net, index)
        assert engine.stats()["programs_compiled"] == 0


class Coin(probability.ExponentialFamily):
    """As a user writes one: the entropy follows from the log normalizer."""

    arg_constraints = {"logit": probability.constraint.Real()}  # noqa: RUF012

    def __init__(self, logit):
        self.logit = logit
        super().__init__(event_dim=0)

    @property
    def _natural_params(self):
        return (self.logit,)

    def _log_normalizer(self, x):
        return npx.softrelu(x)


def test_a_family_of_ones_own():
    logit = np.array([-1.0, 0.5])
    close(Coin(logit).entropy(), probability.Bernoulli(logit=logit).entropy(), rtol=1e-5)


@pytest.mark.slow
def test_entropies_by_the_log_normalizer():
    normal = probability.Normal(np.array([[1.0], [0.0]]), np.array([2.0, 0.5, 1.0]))
    gamma, beta = probability.Gamma(np.array(2.0), np.array(0.5)), probability.Beta(np.array(2.0), np.array(0.5))
    dirichlet = probability.Dirichlet(np.array([1.0, 2.0, 0.5]))
    for made in (normal, probability.Exponential(np.array(3.0)), gamma, beta, dirichlet):
        close(probability.ExponentialFamily.entropy(made), made.entropy(), rtol=1e-5)


class Written(probability.Distribution):
    """As a class written for MXNet."""

    def __init__(self, loc):
        self.loc = loc
        super().__init__(event_dim=0)

    def log_prob(self, value):
        return -np.abs(value - self.loc)

    def sample(self, size=None):
        return np.random.normal(self.loc, 1.0, size)


def test_a_distribution_of_ones_own():
    made = Written(np.zeros(3))
    assert made.log_prob(np.ones(3)).tolist() == [-1, -1, -1] and made.sample((2, 3)).shape == (2, 3)
    for name in ("cdf", "icdf"):
        with pytest.raises(NotImplementedError, match=f"Written has no {name}"):
            getattr(made, name)(0.5)
    assert repr(probability.Distribution()) == "Distribution()"
