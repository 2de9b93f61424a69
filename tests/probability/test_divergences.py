"""Every formula in the table of divergences is the integral, or the sum, that it stands for."""

import numpy as onp
import pytest

from gluonx import autograd, gluon, np, probability
from gluonx.probability import kl

P = probability
close = onp.testing.assert_allclose
pytestmark = pytest.mark.filterwarnings("ignore:the line .* has compiled")


def at(value):
    return np.array(value, dtype="float64")


NUMBERS = [
    (P.Normal(at(0.3), at(0.7)), P.Normal(at(-1.0), at(2.0)), (-8, 8)),
    (P.HalfNormal(at(0.7)), P.HalfNormal(at(1.5)), (0, 8)),
    (P.Laplace(at(0.3), at(0.7)), P.Laplace(at(-1.0), at(2.0)), (-30, 30)),
    (P.Cauchy(at(0.3), at(0.7)), P.Cauchy(at(-1.0), at(2.0)), (-onp.inf, onp.inf)),
    (P.Uniform(at(0.0), at(1.0)), P.Uniform(at(-0.5), at(2.0)), (0, 1)),
    (P.Exponential(at(0.7)), P.Exponential(at(2.0)), (0, 40)),
    (P.Gumbel(at(0.3), at(0.7)), P.Gumbel(at(-1.0), at(2.0)), (-4, 40)),
    (P.Pareto(at(2.0), at(1.5)), P.Pareto(at(0.7), at(1.0)), (1.5, onp.inf)),
    (P.Gamma(at(2.0), at(0.7)), P.Gamma(at(0.6), at(2.0)), (0, 40)),
    (P.Chi2(at(3.0)), P.Gamma(at(0.6), at(2.0)), (0, 80)),
    (P.Beta(at(2.0), at(1.3)), P.Beta(at(0.6), at(3.0)), (0, 1)),
    (P.Uniform(at(0.0), at(1.0)), P.Normal(at(0.5), at(2.0)), (0, 1)),
    (P.Uniform(at(-1.0), at(1.0)), P.Gumbel(at(0.5), at(2.0)), (-1, 1)),
    (P.Exponential(at(2.0)), P.Normal(at(0.5), at(2.0)), (0, 80)),
    (P.Exponential(at(2.0)), P.Gumbel(at(0.5), at(2.0)), (0, 80)),
    (P.Exponential(at(2.0)), P.Gamma(at(2.5), at(1.5)), (0, 80)),
    (P.Bernoulli(at(0.3)), P.Bernoulli(logit=at(1.0)), 2),
    (P.Geometric(at(0.3)), P.Geometric(logit=at(0.2)), 80),
    (P.Binomial(5, at(0.3)), P.Binomial(5, logit=at(1.0)), 6),
    (P.Binomial(3, at(0.2)), P.Binomial(5, at(0.4)), 4),
    (P.NegativeBinomial(at(2.5), at(0.3)), P.NegativeBinomial(at(2.5), logit=at(0.2)), 80),
    (P.Poisson(at(3.0)), P.Poisson(at(1.5)), 60),
    (P.Categorical(3, at([0.2, 0.3, 0.5])), P.Categorical(3, logit=at([0.0, 1.0, -1.0])), 3),
]


def ids(value):
    return type(value).__name__ if isinstance(value, P.Distribution) else ""


@pytest.mark.parametrize(("p", "q", "span"), NUMBERS, ids=ids)
def test_numbers(p, q, span):
    if isinstance(span, int):
        x = at(onp.arange(float(span)))
        wanted = (onp.exp(p.log_prob(x)) * (p.log_prob(x) - q.log_prob(x))).sum()
    else:
        # Gauss-Legendre on pieces, after a substitution for what goes on for ever.
        grid, weight = onp.polynomial.legendre.leggauss(60)
        edges = onp.linspace(0, 1, 201) ** 3 if 0 in span and onp.isfinite(span[1]) else onp.linspace(0, 1, 201)
        u = (edges[:-1, None] + (grid + 1) / 2 * onp.diff(edges)[:, None]).ravel()
        du = (weight / 2 * onp.diff(edges)[:, None]).ravel()
        low, high = span
        if onp.isfinite(high):
            x, dx = low + (high - low) * u, (high - low) * du
        elif onp.isfinite(low):
            x, dx = low + u / (1 - u), du / (1 - u) ** 2
        else:
            x, dx = onp.tan(onp.pi * (u - 0.5)), onp.pi * du / onp.cos(onp.pi * (u - 0.5)) ** 2
        ours, other = p.log_prob(at(x)).asnumpy(), q.log_prob(at(x)).asnumpy()
        wanted = (dx * onp.exp(ours) * (ours - other)).sum()
    found = P.kl_divergence(p, q)
    assert found.shape == () and found.dtype == onp.float64
    close(found, wanted, rtol=1e-5, atol=1e-7)
    close(P.kl_divergence(p, p), 0, atol=1e-12)


def test_every_formula_is_tested():
    tested = {(type(p), type(q)) for p, q, _ in NUMBERS} - {(P.Chi2, P.Gamma)}
    vectors = {(cls, cls) for cls in (P.Dirichlet, P.MultivariateNormal, P.OneHotCategorical, P.Independent)}
    assert set(kl._FORMULAS) == tested | vectors


def test_dirichlet():
    """In two classes it is the beta distribution; in three, a double integral."""
    one, other = onp.array([2.0, 1.3]), onp.array([0.6, 3.0])
    wanted = P.kl_divergence(P.Beta(*map(at, one)), P.Beta(*map(at, other)))
    close(P.kl_divergence(P.Dirichlet(at(one)), P.Dirichlet(at(other))), wanted, rtol=1e-12)
    p, q = P.Dirichlet(at([2.0, 3.0, 1.5])), P.Dirichlet(at([1.0, 2.0, 4.0]))
    grid, weight = onp.polynomial.legendre.leggauss(60)
    a, b = onp.meshgrid((grid + 1) / 2, (grid + 1) / 2)
    x = onp.stack([a, (1 - a) * b, (1 - a) * (1 - b)], -1)
    ours, theirs = p.log_prob(at(x)).asnumpy(), q.log_prob(at(x)).asnumpy()
    area = onp.outer(weight, weight) / 4 * (1 - a)
    close(P.kl_divergence(p, q), (area * onp.exp(ours) * (ours - theirs)).sum(), rtol=1e-4)
    close((area * onp.exp(ours)).sum(), 1, rtol=1e-4)
    close(p.entropy(), -(area * onp.exp(ours) * ours).sum(), rtol=1e-4)


def test_multivariate_normal():
    cov, other = onp.array([[2.0, 0.6], [0.6, 0.5]]), onp.array([[1.0, -0.3], [-0.3, 3.0]])
    loc = onp.array([[0.0, 1.0], [1.0, 1.0]])
    inverse = onp.linalg.inv(other)
    apart = loc - onp.array([1.0, -1.0])
    logs = onp.log(onp.linalg.det(other) / onp.linalg.det(cov))
    wanted = 0.5 * (onp.trace(inverse @ cov) + onp.einsum("bi,ij,bj->b", apart, inverse, apart) - 2 + logs)
    p = P.MultivariateNormal(at(loc), cov=at(cov))
    for q in (
        P.MultivariateNormal(at([1.0, -1.0]), cov=at(other)),
        P.MultivariateNormal(at([1.0, -1.0]), precision=at(inverse)),
        P.MultivariateNormal(at([1.0, -1.0]), scale_tril=at(onp.linalg.cholesky(other))),
    ):
        close(P.kl_divergence(p, q), wanted, rtol=1e-10)
    assert P.kl_divergence(p, p).shape == (2,)
    factor = P.MultivariateNormal(np.zeros(1), np.eye(1))
    assert P.kl_divergence(factor, P.MultivariateNormal(np.ones(1), np.eye(1))).item() == pytest.approx(0.5)


def test_what_has_axes():
    weights, logit = at([[0.2, 0.3, 0.5], [0.7, 0.1, 0.2]]), at([0.0, 1.0, -1.0])
    wanted = P.kl_divergence(P.Categorical(3, weights), P.Categorical(3, logit=logit))
    assert wanted.shape == (2,)
    close(P.kl_divergence(P.OneHotCategorical(3, weights), P.OneHotCategorical(3, logit=logit)), wanted, rtol=1e-12)
    p, q = P.Normal(np.zeros((4, 3)), 1.0), P.Normal(np.ones((4, 3)), 2.0)
    found = P.kl_divergence(P.Independent(p, 1), P.Independent(q, 1))
    close(found, P.kl_divergence(p, q).sum(-1), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="other axes"):
        P.kl_divergence(P.Independent(p, 1), P.Independent(q, 2))


def test_what_is_not_held_is_infinite():
    assert P.kl_divergence(P.Uniform(0, 1), P.Uniform(0.5, 2)) == onp.inf
    assert P.kl_divergence(P.Pareto(np.array(2.0), 1.0), P.Pareto(2.5, 2.0)) == onp.inf
    assert P.kl_divergence(P.Binomial(5, np.array(0.2)), P.Binomial(3, 0.4)) == onp.inf
    assert P.kl_divergence(P.Bernoulli(np.array(0.2)), P.Bernoulli(np.array(0.0))) == onp.inf


def test_other_numbers_of_trials():
    """A divergence without a formula is refused, in a hybridized block too, and not a NaN."""
    trials = np.array([2.0, 3.0])
    close(P.kl_divergence(P.Binomial(trials, 0.3), P.Binomial(np.array([1.0, 3.0]), 0.3)), [onp.inf, 0], atol=1e-6)
    sure = P.kl_divergence(P.Binomial(2, np.array([0.3, 0.0])), P.Binomial(3, np.array([0.4, 0.5])))
    close(sure, [0.284856, 3 * onp.log(2)], rtol=1e-4)

    class Divergence(gluon.HybridBlock):
        def __init__(self, cls):
            super().__init__()
            self.cls = cls

        def forward(self, n, other):
            return P.kl_divergence(self.cls(n, 0.3), self.cls(other, 0.4))

    for cls, trials_each in ((P.Binomial, 1), (P.NegativeBinomial, 1 / 0.7)):
        for hybridize in (False, True):
            net = Divergence(cls)
            if hybridize:
                net.hybridize()
            one = P.kl_divergence(P.Bernoulli(0.3), P.Bernoulli(0.4))
            close(net(trials, trials + 0), trials * trials_each * one, rtol=1e-5)
            with pytest.raises(ValueError, match=f"of two {cls.__name__}s: .* should .* empirical_kl"):
                net(trials, np.array([2.0, 4.0])).asnumpy()
    with pytest.raises(ValueError, match=r"p\.n and q\.n should be equal"):
        P.kl_divergence(P.NegativeBinomial(2, 0.3), P.NegativeBinomial(3, 0.4))


def test_the_table():
    with pytest.raises(NotImplementedError, match="between Normal and Cauchy is not implemented"):
        P.kl_divergence(P.Normal(), P.Cauchy())
    with pytest.raises(TypeError, match="classes of distributions"):
        P.register_kl(P.Normal, int)

    class Sharper(P.Normal):
        pass

    assert P.kl_divergence(Sharper(0, 1), P.Normal(1, 2)) == P.kl_divergence(P.Normal(0, 1), P.Normal(1, 2))
    P.register_kl(Sharper, P.Normal)(lambda p, q: 7.0)
    try:
        assert P.kl_divergence(Sharper(0, 1), P.Normal(1, 2)) == 7.0
    finally:
        del kl._FORMULAS[Sharper, P.Normal]


@pytest.mark.slow
def test_estimates():
    """Within 6 standard errors (a false alarm once in 10 ** 9); their gradient too."""
    np.random.seed(2)
    loc = np.array([0.0, 0.5])
    loc.attach_grad()
    with autograd.record():
        found = P.empirical_kl(P.Normal(loc, 1.0), P.Normal(1.0, 2.0), 20000)
    found.backward()
    exact = P.kl_divergence(P.Normal(loc, 1.0), P.Normal(1.0, 2.0))
    assert found.shape == (2,) and (np.abs(found - exact) < 6 * 1.0 / 20000**0.5).all()
    assert (np.abs(loc.grad - (loc - 1) / 4) < 6 * 0.25 / 20000**0.5 + 1e-4).all()
