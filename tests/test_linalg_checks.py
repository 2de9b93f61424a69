"""Matrices without inverse or Cholesky factor raise, as in MXNet 2 and NumPy, where the result can be looked at."""

import numpy as onp
import pytest

from gluonx import autograd, engine, nd, nn, np
from gluonx.errors import MatrixError, MXNetError

SINGULAR, INDEFINITE = [[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [2.0, 1.0]]


def a(value):
    return np.array(value)


CALLS = {
    "cholesky": lambda: np.linalg.cholesky(a(INDEFINITE)),
    "cholesky upper": lambda: np.linalg.cholesky(a(INDEFINITE), upper=True),
    "cholesky singular": lambda: np.linalg.cholesky(np.zeros((3, 3))),
    "cholesky nan": lambda: np.linalg.cholesky(a([[onp.nan, 1.0], [1.0, 2.0]])),
    "cholesky stack": lambda: np.linalg.cholesky(a([[[1.0, 0.0], [0.0, 1.0]], INDEFINITE])),
    "inv": lambda: np.linalg.inv(a(SINGULAR)),
    "inv integers": lambda: np.linalg.inv(np.array([[1, 2], [2, 4]], dtype="int32")),
    "inv float64": lambda: np.linalg.inv(np.array(SINGULAR, dtype="float64")),
    "inv stack": lambda: np.linalg.inv(a([[[1.0, 0.0], [0.0, 1.0]], SINGULAR])),
    "solve": lambda: np.linalg.solve(a(SINGULAR), np.ones((2,))),
    "solve matrix": lambda: np.linalg.solve(np.zeros((3, 3)), np.ones((3, 2))),
    "tensorinv": lambda: np.linalg.tensorinv(np.zeros((2, 3, 6)), 2),
    "tensorsolve": lambda: np.linalg.tensorsolve(a(SINGULAR), np.ones((2,))),
    "tensorsolve axes": lambda: np.linalg.tensorsolve(np.zeros((2, 3, 6)), np.ones((6,)), axes=(0, 1)),
    "matrix_power": lambda: np.linalg.matrix_power(a(SINGULAR), -2),
    "multivariate_normal": lambda: np.random.multivariate_normal(np.zeros(2), a(INDEFINITE), size=(3,)),
    "potrf": lambda: nd.linalg.potrf(nd.array(INDEFINITE)),
    "inverse": lambda: nd.linalg.inverse(nd.array(SINGULAR)),
    "potri": lambda: nd.linalg.potri(nd.zeros((2, 2))),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("naive", [False, True])
def test_it_raises_what_programs_catch(name, naive):
    with (
        engine.mode("naive" if naive else "deferred"),
        pytest.raises(MatrixError, match="test_linalg_checks") as caught,
    ):
        CALLS[name]()
    assert isinstance(caught.value, MXNetError)
    assert isinstance(caught.value, onp.linalg.LinAlgError)


@pytest.mark.parametrize(
    ("give", "wanted"),
    [(lambda: np.linalg.inv(a([[2.0, 0.0], [0.0, 4.0]])), [[0.5, 0], [0, 0.25]]),
     (lambda: np.linalg.inv(a([[1e-30, 0.0], [0.0, 1e30]])), [[1e30, 0], [0, 1e-30]]),
     (lambda: np.linalg.solve(a([[1e-20]]), a([1e20])), [onp.inf]),  # too large for float32: no matter of the matrix
     (lambda: np.linalg.inv(np.zeros((0, 0))), onp.zeros((0, 0))),
     (lambda: np.linalg.matrix_power(a(SINGULAR), 2), [[5, 10], [10, 20]]),
     (lambda: np.linalg.cholesky(a([[4.0, 2.0], [2.0, 2.0]])), [[2, 0], [1, 1]])],
)  # fmt: skip
def test_what_has_a_value_has_it(give, wanted):
    onp.testing.assert_allclose(give().asnumpy(), wanted, rtol=1e-6)


def test_nan_goes_through_as_in_numpy():
    assert onp.isnan(np.linalg.inv(a([[onp.nan, 1.0], [1.0, 2.0]])).asnumpy()).any()
    assert onp.isnan(np.linalg.eigvalsh(a([[onp.nan, 1.0], [1.0, 2.0]])).asnumpy()).all()
    values, _ = np.linalg.eigh(a([[1.0, onp.nan], [0.0, 2.0]]), upper=False)  # the upper triangle is not read
    onp.testing.assert_allclose(values.asnumpy(), [1, 2])


def test_a_pending_operand_is_computed_and_looked_at():
    x = a(SINGULAR)
    x.attach_grad()
    with autograd.record():
        y = (x * 2).sum()
    y.backward()
    with pytest.raises(MatrixError):
        np.linalg.inv(x.grad - 2 + x)


def test_what_is_recorded_or_traced_keeps_inf():
    x = a(SINGULAR)
    x.attach_grad()
    with autograd.record():
        y = np.linalg.inv(x)
    assert not onp.isfinite(y.asnumpy()).any()
    net = nn.HybridLambda(lambda x: np.linalg.inv(x))
    net.hybridize()
    assert not onp.isfinite(net(x).asnumpy()).any()


@pytest.mark.parametrize(
    ("matrix", "upper", "gradient"),
    [([[4.0, 2.0], [2.0, 2.0]], False, [[0.375, -0.25], [-0.25, 2.0]]),
     ([[4.0, 9.0], [2.0, 2.0]], False, [[0.375, -0.25], [-0.25, 2.0]]),
     ([[4.0, 2.0], [9.0, 2.0]], True, [[0.5, -0.5], [-0.5, 2.0]])],
)  # fmt: skip
def test_cholesky_reads_one_triangle(matrix, upper, gradient):
    """Factors and gradients of MXNet 2.0.0b1; NumPy reads one triangle too."""
    x = a(matrix)
    x.attach_grad()
    with autograd.record():
        y = np.linalg.cholesky(x, upper=upper)
    y.backward(a([[1.0, 2.0], [3.0, 4.0]]))
    factor = onp.array([[2.0, 0.0], [1.0, 1.0]])
    onp.testing.assert_allclose(y.asnumpy(), factor.T if upper else factor, atol=1e-6)
    onp.testing.assert_allclose(np.linalg.cholesky(x, upper=upper).asnumpy(), y.asnumpy(), atol=1e-6)
    onp.testing.assert_allclose(x.grad.asnumpy(), gradient, atol=1e-5)
