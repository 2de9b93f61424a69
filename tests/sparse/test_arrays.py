"""Sparse arrays: random ones against SciPy and NumPy, gradients, and what is wrong with bad ones."""

import copy
import pickle

import hypothesis.strategies as st
import numpy as onp
import pytest
import scipy.sparse
from hypothesis import given, settings

import gluonx
from gluonx import autograd, compat, nd, np, sparse
from gluonx.errors import GluonxError, ShapeError
from gluonx.sparse.functions import take_rows
from gluonx.sparse.storage import bucket

SHORT = settings(max_examples=12, deadline=None)


def matrix(rng, rows, columns, density=0.4):
    values = rng.integers(-4, 5, (rows, columns)).astype("float32")
    return onp.where(rng.random((rows, columns)) < density, values, 0)


@pytest.mark.dear
@SHORT
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_csr_matrices_as_scipy(rows, columns, seed):
    rng = onp.random.default_rng(seed)
    a, b = (matrix(rng, rows, columns) for _ in range(2))
    x, y = nd.array(a).tostype("csr"), sparse.csr_matrix(scipy.sparse.csr_matrix(b))
    for found, other in ((x, a), (y, b)):
        found.check_format()
        assert (found.asscipy() != scipy.sparse.csr_matrix(other)).nnz == 0
    begin = int(rng.integers(0, rows))
    pairs = [
        (x + y, a + b), (x - y, a - b), (x * y, a * b), (x * 3, a * 3), (x / 2, a / 2), (-x, -a), (abs(x), abs(a)),
        (x * nd.array(b), a * b), (x[begin:], a[begin:]), (x[-1], a[-1:]),
        (nd.concat(x, y, dim=0), onp.concatenate([a, b])),
        (take_rows(x, rng.integers(0, rows, 5)), None), (x.copy(), a), (x.astype("float64"), a),
    ]  # fmt: skip
    for found, wanted in pairs:
        assert isinstance(found, sparse.CSRNDArray)
        found.check_format()
        if wanted is not None:
            onp.testing.assert_array_equal(found.asnumpy(), wanted)
            onp.testing.assert_array_equal(found.tostype("default").asnumpy(), wanted)
    for axis in (None, 0, 1):
        onp.testing.assert_allclose(nd.sum(x, axis=axis).asnumpy().ravel(), onp.ravel(a.sum(axis)), rtol=1e-6)


@SHORT
@given(st.integers(1, 6), st.integers(0, 2), st.integers(0, 2**32 - 1))
def test_arrays_of_rows_as_numpy(rows, more, seed):
    rng = onp.random.default_rng(seed)
    shape = (rows, *rng.integers(1, 4, more))
    a, b = (rng.normal(size=shape).astype("float32") for _ in range(2))
    for one in (a, b):
        one[rng.random(rows) < 0.5] = 0
    x, y = nd.array(a).tostype("row_sparse"), nd.array(b).tostype("row_sparse")
    wanted = rng.integers(0, rows, 2)
    kept = onp.zeros_like(a)
    kept[wanted] = a[wanted]
    pairs = [(x + y, a + b), (x - y, a - b), (x * y, a * b), (x * 2, a * 2), (-x, -a), (x.retain(wanted), kept)]
    for found, other in [*pairs, (x * nd.array(b), a * b), (x.copy(), a)]:
        assert isinstance(found, sparse.RowSparseNDArray)
        found.check_format()
        onp.testing.assert_allclose(found.asnumpy(), other, rtol=1e-6)
    assert set(x.indices.asnumpy().tolist()) == set(onp.flatnonzero(a.reshape(rows, -1).any(1)))
    rebuilt = sparse.row_sparse_array((x.data, x.indices), shape=shape)
    onp.testing.assert_array_equal(rebuilt.asnumpy(), a)


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore:.*has compiled 16 programs")
@settings(max_examples=12, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4), st.booleans(), st.booleans(), st.integers(0, 2**32 - 1))
def test_products_and_their_gradients(rows, columns, width, transposed, by_rows, seed):
    rng = onp.random.default_rng(seed)
    a = matrix(rng, rows, columns)
    left = a.T if transposed else a
    b = rng.normal(size=(left.shape[1], width)).astype("float32")
    weight = np.array(b)
    weight.attach_grad(stype="row_sparse" if by_rows else None)
    factor = rng.normal(size=(left.shape[0], width)).astype("float32")
    x = nd.array(a).tostype("csr")
    with autograd.record():
        out = sparse.dot(x, weight, transpose_a=transposed, forward_stype="default")
        loss = (out * np.array(factor)).sum()
    loss.backward()
    onp.testing.assert_allclose(out.asnumpy(), left @ b, rtol=1e-5, atol=1e-5)
    onp.testing.assert_allclose(weight.grad.asnumpy(), left.T @ factor, rtol=1e-5, atol=1e-5)
    assert weight.grad.stype == ("row_sparse" if by_rows else "default")
    if transposed:
        found = sparse.dot(x, weight, transpose_a=True)
        assert found.stype == "row_sparse"
        onp.testing.assert_allclose(found.asnumpy(), left @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_dense_matrix_before_a_sparse_one(transposed):
    rng = onp.random.default_rng(3)
    a, b = rng.normal(size=(3, 5)).astype("float32"), matrix(rng, 5, 4)
    x = np.array(a)
    x.attach_grad()
    right = nd.array(b.T if transposed else b).tostype("csr")
    with autograd.record():
        out = sparse.dot(x, right, transpose_b=transposed, forward_stype="default")
        loss = (out**2).sum()
    loss.backward()
    onp.testing.assert_allclose(out.asnumpy(), a @ b, rtol=1e-5, atol=1e-6)
    onp.testing.assert_allclose(x.grad.asnumpy(), 2 * a @ b @ b.T, rtol=1e-5, atol=1e-5)
    assert sparse.dot(x, right, transpose_b=transposed).stype == "csr"


def test_gradients_flow_through_values():
    x = np.array([[0.0, 2.0], [3.0, 0.0]])
    x.attach_grad()
    with autograd.record():
        rows = sparse.cast_storage(x, "csr")
        loss = ((rows + rows) * 3).data.sum() + sparse.dot(rows, np.ones((2, 1))).sum()
        loss = loss + sparse.cast_storage(x, "row_sparse").retain([0]).data.sum()
    loss.backward()
    assert x.grad.tolist() == [[2.0, 8.0], [7.0, 1.0]]


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_what_is_recorded_of_a_sparse_array_has_gradients_where_nothing_is_stored(stype):
    rng = onp.random.default_rng(4)
    value, weight = matrix(rng, 4, 3), nd.array(rng.normal(size=(4, 3)).astype("float32"))
    value[1] = 0
    right = nd.array(rng.normal(size=(3, 2)).astype("float32"))
    programs = {  # MXNet 1.9.1's gradients but for the product, whose gradient has memory nobody wrote to there
        "default": (lambda s: (s.tostype("default") + 1) * weight, weight.asnumpy()),
        "scaled": (lambda s: (s * 3).tostype("default") * weight, 3 * weight.asnumpy()),
        "added": (lambda s: (s + s).tostype("default") * weight, 2 * weight.asnumpy()),
        "written": (lambda s: s.__imul__(2).tostype("default") * weight, 2 * weight.asnumpy()),
        "dense": (lambda s: s + weight, onp.ones((4, 3))),
        "exp": (lambda s: nd.exp(s), onp.exp(value)),
        "dot": (lambda s: nd.dot(s, right), onp.broadcast_to(right.asnumpy().sum(1), (4, 3))),
        "itself": (lambda s: s, onp.ones((4, 3))),
    }
    for name, (program, wanted) in programs.items():
        x = nd.array(value)
        x.attach_grad()
        with autograd.record():
            found = program(x.tostype(stype))
        found.backward()
        onp.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-5, atol=1e-6, err_msg=name)
        onp.testing.assert_array_equal(x.asnumpy(), value)


def test_products_of_one_bucket_share_a_program():
    rng = onp.random.default_rng(0)
    weight = np.array(rng.normal(size=(50, 4)))
    batches = [nd.array(matrix(rng, 20, 50, density)).tostype("csr") for density in (0.106, 0.108, 0.11, 0.112)]
    sizes = {bucket(b.data.shape[0]) for b in batches}
    assert len({b.data.shape for b in batches}) > len(sizes)
    for batch in batches:
        sparse.dot(batch, weight).wait_to_read()
    before = gluonx.engine.stats()
    for batch in batches:
        fresh = sparse.CSRNDArray(batch.data.asnumpy(), batch._columns, batch._indptr, batch.shape)
        sparse.dot(fresh, weight).wait_to_read()
    assert gluonx.engine.stats()["programs_compiled"] == before["programs_compiled"]


def test_writes_copies_and_pickles():
    x = nd.array([[0, 1], [2, 0]]).tostype("csr")
    y = nd.sparse.zeros("csr", (2, 2))
    y[:] = x
    assert y.asnumpy().tolist() == x.asnumpy().tolist()
    y[:] = nd.array([[5, 0], [0, 0]])
    assert y.indices.asnumpy().tolist() == [0] and x.asnumpy().tolist() == [[0, 1], [2, 0]]
    y += x
    assert y.asnumpy().tolist() == [[5, 1], [2, 0]]
    dense = nd.zeros((2, 2))
    assert x.copyto(dense) is dense and dense.asnumpy().tolist() == [[0, 1], [2, 0]]
    rows = nd.sparse.zeros("row_sparse", (2, 2))
    dense.copyto(rows)
    assert rows.stype == "row_sparse" and rows.asnumpy().tolist() == [[0, 1], [2, 0]]
    for array in (x, rows):
        for other in (
            pickle.loads(pickle.dumps(array)),
            copy.deepcopy(array),
            copy.copy(array),
            array.as_in_context("cpu"),
        ):
            assert other.stype == array.stype and (other.asnumpy() == array.asnumpy()).all()
    assert isinstance(x, nd.NDArray) and isinstance(x, nd.sparse.CSRNDArray) and len(x) == 2
    assert [row.shape for row in x] == [(1, 2), (1, 2)]
    assert repr(x).strip().startswith("<CSRNDArray 2x2 @cpu(0)")


def test_other_operators_take_dense_arrays_and_say_so(monkeypatch):
    x = nd.array([[0, 1], [2, 0]]).tostype("csr")
    with pytest.warns(UserWarning, match="without a rule for csr storage was given a CSRNDArray of shape"):
        found = nd.exp(x)
    assert found.stype == "default" and found.asnumpy()[0, 0] == 1
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")
    weight = np.ones((2, 2))
    weight.attach_grad()
    with autograd.record():
        loss = (np.exp(weight) * x).sum()
    loss.backward()
    onp.testing.assert_allclose(weight.grad.asnumpy(), onp.e * x.asnumpy(), rtol=1e-6)
    x[:] = nd.array([[1, 0], [0, 0]])
    assert nd.exp(x).asnumpy()[0, 0] == pytest.approx(onp.e)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: sparse.csr_matrix(([1], [5], [0, 1]), shape=(1, 3)), ValueError, "from 0 to less than 3"),
        (lambda: sparse.csr_matrix(([1, 2], [0, 1], [0, 1]), shape=(1, 3)), ValueError, "must ascend from 0 to 2"),
        (lambda: sparse.csr_matrix(([1], ([4], [0])), shape=(2, 2)), ValueError, "from 0 to less than 2"),
        (lambda: sparse.csr_matrix(onp.eye(2), shape=(3, 3)), ValueError, "the array has shape"),
        (lambda: sparse.csr_matrix(scipy.sparse.eye(2).tocoo()), TypeError, "tocsr"),
        (lambda: sparse.row_sparse_array(([[1]], [3]), shape=(2, 1)), ValueError, "from 0 to less than 2"),
        (lambda: sparse.row_sparse_array(([[1], [2]], [1, 1]), shape=(2, 1)), ValueError, "more than once"),
        (lambda: sparse.zeros("csc", (2, 2)), ValueError, "unknown storage type"),
        (lambda: sparse.array(onp.eye(2)), ValueError, r"Please use mx\.nd\.array"),
        (lambda: nd.ones((2, 2, 2)).tostype("csr"), ValueError, "2 Dimensional"),
        (lambda: nd.ones((2, 2)).tostype("coo"), ValueError, "valid values are"),
        (lambda: nd.ones((2, 2)).tostype("csr").tostype("row_sparse"), ValueError, "csr to row_sparse is not"),
        (lambda: nd.ones((2, 2)).tostype("csr")[::2], ValueError, "continuous slicing"),
        (lambda: nd.ones((2, 2)).tostype("csr")[0, 1], ValueError, "Multi-dimension indexing"),
        (lambda: nd.ones((2, 2)).tostype("csr")[5], IndexError, "out of bounds"),
        (lambda: nd.ones((2, 2)).tostype("row_sparse")[0], GluonxError, "only supports"),
        (lambda: nd.ones((2, 2)).tostype("csr").reshape((4,)), GluonxError, "reshape is not for sparse"),
        (lambda: nd.ones((2, 2)).tostype("csr").__setitem__(0, 1), TypeError, "only supports"),
        (lambda: sparse.retain(nd.ones((2, 2)).tostype("csr"), [0]), TypeError, "row_sparse arrays"),
        (lambda: sparse.retain(nd.ones((2, 2)).tostype("row_sparse"), [7]), IndexError, "got 7 to 7"),
        (lambda: sparse.dot(nd.ones((2, 2)).tostype("csr"), nd.ones((3, 1))), ShapeError, "do not fit"),
        (lambda: nd.ones((2, 2)).tostype("csr") + nd.ones((3, 2)).tostype("csr"), ShapeError, "element by element"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("given_as", "places"),
    [
        (([1, 0, 1], [0, 2, 1]), [(1, 0), (0, 2), (1, 1)]),
        (([1, 0, 1], [0, 2, 0]), [(1, 0), (0, 2), (1, 0)]),  # one place twice
    ],
)
def test_the_gradient_of_values_by_places_is_not_lost(given_as, places):
    values, weight = np.array([1.0, 2.0, 3.0]), onp.array([[0.0, 1.0, 2.0], [4.0, 5.0, 6.0]], "f")
    values.attach_grad()
    with autograd.record():
        loss = (sparse.csr_matrix((values, given_as), shape=(2, 3)).tostype("default") * np.array(weight)).sum()
    loss.backward()
    assert values.grad.tolist() == [weight[place] for place in places]


def test_the_gradient_of_rows_given_in_disorder_is_not_lost():
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    values.attach_grad()
    with autograd.record():
        found = sparse.row_sparse_array((values, [3, 1]), shape=(4, 2))
        loss = (found.tostype("default") * np.arange(8).reshape(4, 2)).sum()
    loss.backward()
    assert found.indices.tolist() == [1, 3]
    assert values.grad.tolist() == [[6.0, 7.0], [2.0, 3.0]]


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_both_operands_of_a_sum_have_gradients(stype):
    x, z = (nd.array([[1, 0], [0, 3]]).tostype(stype) for _ in range(2))
    x.attach_grad()
    z.attach_grad()
    with autograd.record():
        out = x + z * 2
    out.backward()
    assert x.grad.asnumpy().tolist() == [[1, 1], [1, 1]]
    assert z.grad.asnumpy().tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_float64_stays_under_the_alias(stype):
    compat.install_as_mxnet(1)
    try:
        import mxnet

        x = mxnet.nd.array([[1.1, 0], [0, 3]], dtype="float64").tostype(stype)
        assert x.tostype("default").asnumpy()[0, 0] == 1.1
    finally:
        compat.uninstall()
