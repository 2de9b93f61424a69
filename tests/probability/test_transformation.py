"""Transformations invert, their Jacobians are JAX's, and what they make of a distribution is the one SciPy knows."""

import jax
import jax.numpy as jnp
import numpy as onp
import pytest
import scipy.stats as ss

from gluonx import autograd, gluon, np, probability
from gluonx.gluon import nn
from gluonx.probability import constraint as C

P = probability
close = onp.testing.assert_allclose
pytestmark = pytest.mark.filterwarnings("ignore:the line .* has compiled")

SCALARS = [
    (P.ExpTransform(), jnp.exp),
    (P.AffineTransform(1.0, -2.5), lambda x: 1 - 2.5 * x),
    (P.PowerTransform(2.5), lambda x: x**2.5),
    (P.PowerTransform(-0.5), lambda x: x**-0.5),
    (P.SigmoidTransform(), jax.nn.sigmoid),
    (P.ComposeTransform([P.AffineTransform(0.5, 2.0), P.SigmoidTransform()]), lambda x: jax.nn.sigmoid(0.5 + 2 * x)),
    (P.ComposeTransform([]), lambda x: x),
]


@pytest.mark.parametrize(("transform", "wanted"), SCALARS)
def test_scalars(transform, wanted):
    x = np.array([0.3, 1.1, 2.0])
    y = transform(x)
    assert transform.bijective
    close(y, wanted(jnp.array([0.3, 1.1, 2.0])), rtol=1e-5)
    for inverse in (transform.inv, transform.inv.inv.inv):
        close(inverse(y), x, rtol=1e-4)
    slope = jax.vmap(jax.grad(wanted))(jnp.array([0.3, 1.1, 2.0]))
    close(transform.log_det_jacobian(x, y), onp.log(onp.abs(slope)), rtol=1e-4, atol=1e-5)
    close(transform.inv.log_det_jacobian(y, x), -onp.log(onp.abs(slope)), rtol=1e-4, atol=1e-5)
    assert transform.sign == transform.inv.sign == onp.sign(slope[0])


def test_events():
    affine = P.AffineTransform(1.0, np.array([2.0, -3.0]), event_dim=1)
    x = np.ones((4, 2))
    close(affine.log_det_jacobian(x, affine(x)), onp.full(4, onp.log(6)), rtol=1e-6)
    both = P.ComposeTransform([P.ExpTransform(), affine])
    assert both.event_dim == 1
    close(both.log_det_jacobian(x, both(x)), onp.full(4, 2 + onp.log(6)), rtol=1e-6)
    made = P.TransformedDistribution(P.Normal(np.zeros((4, 2)), 1.0), both)
    assert made.event_dim == 1 and made.batch_shape == (4,) and made.event_shape == (2,)
    y = made.sample_n(3)
    assert y.shape == (3, 4, 2) and made.log_prob(y).shape == (3, 4)
    wide = made.broadcast_to((5, 4))
    assert wide.sample().shape == (5, 4, 2)
    with pytest.raises(NotImplementedError, match="an event has 1 axes"):
        made.cdf(y)


def test_parameters_larger_than_the_base():
    """Each element of a transformation's parameters has a draw of its own."""
    affine = P.AffineTransform(np.zeros(3), 2.0)
    made = P.TransformedDistribution(P.Normal(0.0, 1.0), [affine, P.PowerTransform(np.ones((2, 1)))])
    assert made.batch_shape == (2, 3) and len(set(made.sample().ravel().tolist())) == 6
    vector = P.MultivariateNormal(np.zeros(3), np.eye(3))
    shifted = P.TransformedDistribution(vector, P.AffineTransform(np.ones((2, 3)), 2.0, event_dim=1))
    assert shifted.batch_shape == (2,) and shifted.sample().shape == (2, 3)
    drawn = shifted.sample_n(4)
    assert drawn.shape == (4, 2, 3) and len(set(drawn.ravel().tolist())) == 24


def test_no_draw_is_shared():
    """A block does not tell the shape of its parameters: what it spreads over them is an error."""

    class Scaled(P.TransformBlock):
        def __init__(self):
            super().__init__()
            self.scale = gluon.Parameter("scale", shape=(3,), init="ones")

        def _forward_compute(self, x):
            return x * self.scale.data()

    scaled = Scaled()
    scaled.initialize()
    assert P.TransformedDistribution(P.Normal(np.zeros(3), 1.0), scaled).sample_n(2).shape == (2, 3)
    for size in (None, 1):
        with pytest.raises(ValueError, match=r"share a draw. Give the base distribution the batch shape"):
            P.TransformedDistribution(P.Normal(0.0, 1.0), scaled).sample(size)


def test_made_of_vectors():
    """Distributions made of an Independent draw as that does."""
    vectors = P.Independent(P.Normal(np.zeros((3, 2, 4)), 1.0), 1)
    moved = P.TransformedDistribution(vectors, P.AffineTransform(5.0, 1.0, event_dim=1))
    assert moved.sample_n(5).shape == (5, 3, 2, 4)
    components = P.Independent(P.Independent(P.Normal(np.array([[0.0, 0.0], [7.0, 7.0]]), 1e-3), 1), 0)
    mixture = P.MixtureSameFamily(P.Categorical(2, np.array([0.0, 1.0])), components)
    assert mixture.sample().shape == (2,)
    close(mixture.sample((6, 5)), onp.full((6, 5, 2), 7), atol=0.1)


def test_those_without_an_inverse():
    close(P.AbsTransform()(np.array([-2.0, 3.0])), [2, 3])
    softmax = P.SoftmaxTransform()
    y = softmax(np.array([1.0, 2.0, 3.0]))
    close(softmax(softmax.inv(y)), y, rtol=1e-6)
    for transform in (P.AbsTransform(), softmax):
        assert not transform.bijective
        with pytest.raises(NotImplementedError, match="neither increases"):
            _ = transform.sign
        with pytest.raises(NotImplementedError, match="no Jacobian"):
            transform.log_det_jacobian(y, y)


@pytest.mark.parametrize("scale", [0.7, -0.7])
def test_log_normal(scale):
    made = P.TransformedDistribution(P.Normal(0.0, 1.0), [P.AffineTransform(0.4, scale), P.ExpTransform()])
    reference = ss.lognorm(abs(scale), 0, onp.exp(0.4))
    x, level = onp.array([0.2, 1.0, 3.5]), onp.array([0.01, 0.5, 0.8])
    close(made.log_prob(np.array(x)), reference.logpdf(x), rtol=1e-5)
    close(made.cdf(np.array(x)), reference.cdf(x), rtol=1e-5)
    close(made.icdf(np.array(level)), reference.ppf(level), rtol=1e-5)
    assert made.has_grad and "AffineTransform, ExpTransform" in repr(made)


CONSTRAINTS = [
    C.Real(), C.Positive(), C.NonNegative(), C.GreaterThan(2.0), C.GreaterThanEq(-1.0), C.LessThan(1.0),
    C.LessThanEq(0.5), C.Interval(-1.0, 3.0), C.UnitInterval(), C.OpenInterval(2, 3), C.HalfOpenInterval(0, 1),
]  # fmt: skip


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: type(c).__name__)
def test_into_a_constraint(constraint):
    x = np.array([-3.0, 0.0, 2.5])
    for into in (P.biject_to, P.transform_to):
        transform = into(constraint)
        close(transform.inv(constraint.check(transform(x))), x, rtol=1e-4, atol=1e-5)


def test_the_map():
    C.Simplex().check(P.transform_to(C.Simplex())(np.array([1.0, 2.0])))
    with pytest.raises(NotImplementedError, match="Cannot transform Simplex"):
        P.biject_to(C.Simplex())
    with pytest.raises(TypeError, match="Constraint or a class"):
        P.biject_to.register(int, None)(lambda constraint: None)
    table = P.domain_map()
    table.register(C.Boolean)(lambda constraint: P.AbsTransform())
    assert isinstance(table(C.Boolean()), P.AbsTransform)


HELD = [
    (C.Real(), [1.0], [onp.nan]),
    (C.Boolean(), [0.0, 1.0], [0.5]),
    (C.Interval(0, 2), [0, 2], [2.1]),
    (C.OpenInterval(0, 2), [0.1], [0.0]),
    (C.HalfOpenInterval(0, 2), [0.0], [2.0]),
    (C.IntegerInterval(1, 3), [1.0, 3.0], [0.0]),
    (C.IntegerOpenInterval(1, 3), [2.0], [3.0]),
    (C.IntegerHalfOpenInterval(1, 3), [1.0, 2.0], [1.5]),
    (C.GreaterThan(0), [0.1], [0.0]),
    (C.GreaterThanEq(0), [0.0], [-0.1]),
    (C.IntegerGreaterThan(0), [1.0], [0.0]),
    (C.IntegerGreaterThanEq(0), [0.0], [0.5]),
    (C.LessThan(0), [-0.1], [0.0]),
    (C.LessThanEq(0), [0.0], [0.1]),
    (C.IntegerLessThan(0), [-1.0], [0.0]),
    (C.IntegerLessThanEq(0), [0.0], [-0.5]),
    (C.PositiveInteger(), [1.0], [0.0]),
    (C.NonNegativeInteger(), [0.0], [-1.0]),
    (C.Simplex(), [[0.5, 0.5]], [[0.5, 0.4]]),
    (C.Simplex(), [[1.0, 0.0]], [[1.5, -0.5]]),
    (C.LowerTriangular(), [[1.0, 0.0], [2.0, -1.0]], [[1.0, 1.0], [0.0, 1.0]]),
    (C.LowerCholesky(), [[1.0, 0.0], [2.0, 1.0]], [[1.0, 0.0], [2.0, -1.0]]),
    (C.PositiveDefinite(), [[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]),
    (C.PositiveDefinite(), [[[2.0]], [[1.0]]], [[[2.0]], [[-1.0]]]),
    (C.PositiveDefinite(), [[2.0]], [[2.0, 0.5], [0.0, 2.0]]),
    (C.Cat([C.Positive(), C.Boolean()], lengths=[2, 1]), [2.0, 3.0, 1.0], [2.0, 3.0, 3.0]),
    (C.Stack([C.Positive(), C.Boolean()], axis=1), [[2.0, 1.0], [3.0, 0.0]], [[2.0, 1.0], [-3.0, 0.0]]),
]  # fmt: skip


@pytest.mark.parametrize(("constraint", "good", "bad"), HELD, ids=lambda c: type(c).__name__)
def test_constraints(constraint, good, bad):
    good = np.array(good)
    assert constraint.check(good) is good
    with pytest.raises(ValueError, match="Constraint violated"):
        constraint.check(np.array(bad))
    assert "should" in repr(constraint)


def test_constraints_of_others():
    assert C.is_dependent(P.Uniform.support) and not C.is_dependent(P.Normal.support)
    assert P.Uniform(0, 2).support.upper_bound == 2
    with pytest.raises(ValueError, match="depends on other"):
        C.dependent.check(1.0)
    with pytest.raises(ValueError, match="Lengths"):
        C.Cat([C.Positive()]).check(np.ones(2))
    with pytest.raises(ValueError, match="2 constraints"):
        C.Stack([C.Positive(), C.Real()]).check(np.ones(3))


class Scale(P.TransformBlock):
    """A scale that is learned."""

    bijective = True

    def __init__(self):
        super().__init__()
        self.log_scale = gluon.Parameter("log_scale", shape=(2,), init="zeros")

    def _forward_compute(self, x):
        return x * np.exp(self.log_scale.data())

    def _inverse_compute(self, y):
        return y * np.exp(-self.log_scale.data())

    def log_det_jacobian(self, x, y):
        return np.broadcast_to(self.log_scale.data(), y.shape)


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_flow_learns_its_scale(hybridize):
    class Flow(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.scale = Scale()

        def forward(self, x):
            return -P.TransformedDistribution(P.Normal(0.0, 1.0), self.scale).log_prob(x).mean()

    net = Flow()
    net.initialize()
    net.hybridize(hybridize)
    assert list(net.collect_params()) == ["scale.log_scale"]
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    x = np.array(onp.random.default_rng(0).normal(0, [0.5, 3.0], (500, 2)))
    for _ in range(80):
        with autograd.record():
            loss = net(x)
        loss.backward()
        trainer.step(1)
    close(np.exp(net.scale.log_scale.data()), np.sqrt((x**2).mean(0)), rtol=0.03)
