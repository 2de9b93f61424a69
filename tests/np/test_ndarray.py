"""The array handle: what it looks like, NumPy's and JAX's protocols, indexing, and writing in place."""

import copy
import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import autograd, engine, nn, np
from gluonx.errors import GraphError, ShapeError, TracedValueError


def pending(x):
    """The same values, not computed yet."""
    with autograd.record():
        return x * 1


def traced(fn, *inputs):
    """Runs `fn` inside a hybridized forward."""

    class Net(nn.HybridBlock):
        def forward(self, *xs):
            return fn(*xs)

    net = Net()
    net.hybridize()
    return net(*inputs)


# -- display -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x, text",
    [
        (np.array([1.0, 2.5]), "array([1. , 2.5], shape=(2,), dtype=float32, device=cpu(0))"),
        (np.array(3.0), "array(3., shape=(), dtype=float32, device=cpu(0))"),
        (np.array([[1, 2]], dtype="int32"), "array([[1, 2]], shape=(1, 2), dtype=int32, device=cpu(0))"),
        (np.array([True], dtype=bool), "array([ True], shape=(1,), dtype=bool, device=cpu(0))"),
        (np.zeros((0, 2)), "array([], shape=(0, 2), dtype=float32, device=cpu(0))"),
    ],
    ids=str,
)
def test_repr(x, text):
    assert repr(x) == text
    if x.dtype == onp.float32:
        assert repr(pending(x)) == text


def test_repr_of_what_is_large_traced_or_not_there_yet():
    assert len(repr(np.zeros((300, 300)))) < 700
    seen = []
    traced(lambda x: seen.append((repr(x), str(x))) or x, np.ones((2, 3)))
    assert set(seen[-1]) == {"array(<traced>, shape=(2, 3), dtype=float32)"}
    layer = nn.Dense(2)
    layer.initialize()
    assert "no value yet" in repr(layer.weight._handle)


def test_str_and_format():
    assert str(np.array([1.0, 2.0])) == "[1. 2.]"
    assert f"{np.array(3.14159):.2f}" == "3.14" and f"{np.array([1.0])}" == "[1.]"


# -- Python's protocols ------------------------------------------------------------------------------------------------


def test_numbers_and_truth():
    x = np.array([2.0])
    assert (float(x), int(x), bool(x), complex(x), x.item()) == (2.0, 2, True, 2 + 0j, 2.0)
    assert [10, 20, 30][np.array(1, dtype="int32")] == 20
    assert np.array([[1.0, 2.0]]).item(0, 1) == 2.0
    assert not np.array([]) and not np.zeros((0, 3)) and np.ones((1, 1)) and not np.zeros(())  # as in MXNet
    with pytest.raises(ValueError, match="more than one element is ambiguous"):
        bool(np.ones((2,)))
    for wrong in (np.array(1.0), np.array([1], dtype="int32")):
        with pytest.raises(TypeError, match="integer scalar"):
            range(wrong)


def test_length_iteration_membership():
    x = np.arange(6).reshape(3, 2)
    assert len(x) == 3 and [r.tolist() for r in x] == [[0, 1], [2, 3], [4, 5]]
    assert 5 in x and 7 not in x
    *_, last = x
    assert last.shape == (2,)
    with pytest.raises(TypeError, match="without dimensions"):
        len(np.array(1.0))
    with pytest.raises(TypeError):
        iter(np.array(1.0)).__next__()


def test_iteration_over_rows_is_recorded():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    x.attach_grad()
    with autograd.record():
        y = sum((row * row).sum() * i for i, row in enumerate(x, 1))
    y.backward()
    assert x.grad.tolist() == [[2.0, 4.0], [12.0, 16.0]]


def test_hash_is_identity_and_equality_is_elementwise():
    x, y = np.ones((2,)), np.ones((2,))
    assert len({x, y}) == 2 and (x == y).tolist() == [True, True] and (x != 1).tolist() == [False, False]


def test_attributes():
    x = np.zeros((2, 3), dtype="float16")
    assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes, x.stype) == ((2, 3), 2, 6, 2, 12, "default")
    assert x.T.shape == (3, 2) and x.ctx == x.context == x.device
    p = pending(np.zeros((4, 5)))
    before = engine.stats()["dispatches"]
    assert (p.shape, p.dtype, p.size, str(p.device)) == ((4, 5), onp.float32, 20, "cpu(0)")
    assert engine.stats()["dispatches"] == before
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = x.nonsense


def test_assigning_the_shape_reshapes():
    x = np.arange(6)
    x.shape = (2, 3)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises((ShapeError, ValueError, TypeError)):
        x.shape = (4,)


@pytest.mark.parametrize("make", [lambda x: x, pending], ids=["value", "pending"])
@pytest.mark.parametrize(
    "twin_of",
    [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.copy()],
    ids=["copy", "deepcopy", "pickle", ".copy"],
)
def test_copies_are_independent(make, twin_of):
    x = make(np.array([1.0, 2.0]))
    twin = twin_of(x)
    twin += 1
    assert type(twin) is type(x) and x.tolist() == [1.0, 2.0] and twin.tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    "twin_of", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"]
)
def test_a_twin_keeps_its_grad_req_and_has_a_gradient_of_its_own(twin_of):
    x = np.array([1.0])
    x.attach_grad("add")
    twin = twin_of(x)
    with autograd.record():
        y = twin * 3
    y.backward()
    assert (twin.grad.tolist(), x.grad.tolist()) == ([3.0], [0.0])


# -- NumPy and JAX -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda x: x, pending], ids=["value", "pending"])
def test_numpy_takes_it(make):
    x = make(np.array([[1.0, 4.0]]))
    assert onp.asarray(x).tolist() == [[1.0, 4.0]] and onp.asarray(x, "int64").dtype == onp.int64
    assert onp.array(x, copy=True).flags.writeable
    mine = x.asnumpy()
    mine[:] = 0
    assert x.tolist() == [[1.0, 4.0]]


@pytest.mark.parametrize(
    "call, wanted",
    [
        (lambda x: onp.sqrt(x), [1.0, 2.0]),
        (lambda x: onp.add(x, 1), [2.0, 5.0]),
        (lambda x: onp.divide(onp.float32(4), x), [4.0, 1.0]),
        (lambda x: onp.mean(x), 2.5),
        (lambda x: onp.concatenate([x, x]), [1.0, 4.0, 1.0, 4.0]),
        (lambda x: onp.linalg.norm(x), 17**0.5),
        (lambda x: onp.ones(2, "float32") * x, [1.0, 4.0]),
        (lambda x: onp.float32(2) * x, [2.0, 8.0]),
    ],
)
def test_numpys_functions_give_ndarrays_and_are_recorded(call, wanted):
    x = np.array([1.0, 4.0])
    y = call(x)
    assert isinstance(y, np.ndarray)
    onp.testing.assert_allclose(y.asnumpy(), wanted, rtol=1e-6)


def test_numpys_functions_keep_the_gradient():
    x = np.array([1.0, 4.0])
    x.attach_grad()
    with autograd.record():
        y = onp.sum(onp.sqrt(x) * onp.array([1.0, 2.0], "float32"))
    y.backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), [0.5, 0.5], rtol=1e-6)


def test_a_ufunc_writes_into_out():
    x, out = np.array([1.0, 4.0]), np.zeros((2,))
    assert onp.multiply(x, 2, out=out) is out and out.tolist() == [2.0, 8.0]


def test_what_numpy_has_and_gluonx_not_is_refused():
    with pytest.raises(TypeError):
        onp.add.outer(np.ones((2,)), np.ones((2,)))


@pytest.mark.dear
def test_jax_takes_it_as_a_pytree_and_as_an_array():
    x = np.array([1.0, 2.0])
    assert jnp.asarray(x).tolist() == [1.0, 2.0] and jnp.sin(x).shape == (2,)
    doubled = jax.jit(lambda a: a * 2)(x)
    assert isinstance(doubled, np.ndarray) and doubled.tolist() == [2.0, 4.0]
    tree = jax.tree.map(lambda a: a + 1, {"x": x, "v": x[1:]})
    assert tree["x"].tolist() == [2.0, 3.0] and tree["v"].tolist() == [3.0]
    grads = jax.grad(lambda a: (a * a).sum().value)(x)
    assert jax.tree.leaves(grads)[0].tolist() == [2.0, 4.0]
    rows = jax.vmap(lambda a: np.tanh(a) * 2)(np.ones((3, 2)))
    assert rows.shape == (3, 2)


def test_raw_jax_is_refused_where_a_gradient_would_be_lost():
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        with pytest.raises(GraphError, match="from_jax"):
            jnp.sin(x)
        y = x * 2
        with pytest.raises(GraphError, match="from_jax"):
            jnp.asarray(y)
        assert jnp.sin(y.detach()).shape == (2,)
        with autograd.pause():
            assert jnp.asarray(x).tolist() == [1.0, 2.0]
        assert jnp.asarray(np.ones((2,))).tolist() == [1.0, 1.0]
    assert jnp.asarray(y).tolist() == [2.0, 4.0]


def test_dlpack():
    x = np.array([1.0, 2.0])
    assert onp.from_dlpack(x).tolist() == [1.0, 2.0] and jax.dlpack.from_dlpack(pending(x)).tolist() == [1.0, 2.0]
    assert x.__dlpack_device__() == jnp.ones(1).__dlpack_device__()


READS = {
    "float": float,
    "bool": lambda x: bool(x > 1),
    "asnumpy": lambda x: x.asnumpy(),
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "numpy": onp.asarray,
    "contains": lambda x: 3 in x,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "format": lambda x: f"{x.sum():.2f}",
}


@pytest.mark.parametrize("read", READS)
def test_reading_inside_a_trace_says_what_to_do(read):
    with pytest.raises(TracedValueError, match=r"npx\.cond"):
        traced(lambda x: READS[read](x) and x, np.ones((1,)))


# -- indexing ----------------------------------------------------------------------------------------------------------

KEYS = [
    0,
    -1,
    onp.int64(1),
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(3, 0, -2),
    slice(-2, None),
    slice(5, 2),
    slice(0, 100),
    ...,
    None,
    (),
    (1, 2),
    (slice(None), 0),
    (..., 0),
    (0, ...),
    (None, slice(None), None, 1),
    (slice(None, None, 2), slice(None, None, -1)),
    (slice(1, 1), slice(None)),
    [0, 2],
    [[0, 1], [1, 2]],
    onp.array([2, 0, 2]),
    (onp.array([0, 1]), onp.array([3, 3])),
    (slice(None), [1, 1]),
    (onp.array([[0], [1]]), onp.array([0, 2])),
    (0, [1, 3]),
    onp.array([True, False, True]),
    (slice(None), onp.array([True, False, False, True])),
    onp.arange(12).reshape(3, 4) % 3 == 0,
    (onp.array([True, False, True]), 1),
    [],
    True,
]


@pytest.mark.parametrize("key", KEYS, ids=lambda k: repr(k).replace("\n", ""))
def test_reading_and_writing_at_a_key_is_numpys(key):
    base = onp.arange(12, dtype="float32").reshape(3, 4)
    x = np.array(base)
    onp.testing.assert_array_equal(x[key].asnumpy(), base[key])
    assert x[key].shape == base[key].shape
    for value in (7.0, base[key] * 2 + 1):
        wanted = base.copy()
        wanted[key] = value
        for given in (value, np.array(value)):
            x = np.array(base)
            x[key] = given
            onp.testing.assert_array_equal(x.asnumpy(), wanted)


def test_keys_of_arrays_and_comparisons():
    x = np.arange(6)
    assert x[np.array([1.0, 3.0])].tolist() == [1, 3] and x[np.array([5], dtype="int32")].tolist() == [5]
    assert x[x > 3].tolist() == [4, 5]
    x[x > 3] = -1
    assert x.tolist() == [0, 1, 2, 3, -1, -1]
    x[x < 0] = np.array([8.0, 9.0])
    assert x.tolist() == [0, 1, 2, 3, 8, 9]


@pytest.mark.parametrize(
    "key, message",
    [
        (3, "index 3 is out of bounds for axis 0 with size 3"),
        ((0, -5), "index -5 is out of bounds for axis 1 with size 4"),
        ((0, 0, 0), "too many indices: the array has 2 dimensions, but 3 were indexed"),
        ((..., ...), "only one ellipsis"),
        ("a", "cannot be indexed by str"),
    ],
)
def test_wrong_keys(key, message):
    for use in (lambda x: x[key], lambda x: x.__setitem__(key, 1.0)):
        with pytest.raises(IndexError, match=message):
            use(np.zeros((3, 4)))


def test_what_cannot_be_written():
    x = np.zeros((3, 4))
    with pytest.raises(ShapeError, match="slice_assign"):
        x[0] = np.ones((3,))
    with pytest.raises(TypeError, match="array or number"):
        x[0] = "text"
    assert x.sum().item() == 0
    x[0] = [1, 2, 3, 4]
    assert x[0].tolist() == [1, 2, 3, 4]


# -- views and writing in place ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("defer", [False, True], ids=["now", "deferred"])
def test_views_share_and_copies_do_not(defer):
    with engine.bulk(100) if defer else autograd.pause():
        x = np.arange(6)
        v, w = x[1:], x[::-1]
        vv = v[1:3]
        taken = x[onp.array([0, 1])]
        x[2] = 20
        vv[0] += 100
        v *= 2
        w[0] = -1
        assert x.tolist() == [0, 2, 240, 6, 8, -1]
        assert v.tolist() == [2, 240, 6, 8, -1] and vv.tolist() == [240, 6] and w.tolist() == [-1, 8, 6, 240, 2, 0]
        assert taken.tolist() == [0, 1]
        x += 1
        assert vv.tolist() == [241, 7]


def test_a_view_shows_a_write_to_its_base_in_a_trace():
    def forward(x):
        y = x * 1
        v = y[1:]
        y[1] = 10.0
        v += 1
        return y

    assert traced(forward, np.zeros((3,))).tolist() == [0.0, 11.0, 1.0]


def test_a_slice_given_back_to_itself():
    x = np.arange(4)
    x[1:3] += 1
    x[:] = x[::-1]
    assert x.tolist() == [3, 3, 2, 0]
    x[:3] = x[1:]
    assert x.tolist() == [3, 2, 0, 0]


IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul"]


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("make", [lambda x: x, pending], ids=["value", "pending"])
def test_in_place_operators_change_this_array(name, make):
    base = onp.array([[5.0, 7.0], [9.0, 4.0]], "float32")
    x = make(np.array(base))
    alias = x
    other = onp.array([[2.0, 1.0], [3.0, 2.0]], "float32")
    wanted = getattr(base, f"__{name[1:]}__")(other)
    x = getattr(x, f"__{name}__")(np.array(other))
    assert alias is x
    onp.testing.assert_allclose(x.asnumpy(), wanted, rtol=1e-5)


def test_in_place_keeps_dtype_and_shape():
    n = np.array([5, 7], dtype="int32")
    n += np.array([1, 1], dtype="uint8")
    assert n.dtype == onp.int32 and n.tolist() == [6, 8]
    for other in (1.5, np.ones((2,))):
        with pytest.raises(TypeError, match="int32, which cannot hold results of dtype float32"):
            n *= other
    with pytest.raises(TypeError, match="cannot hold"):
        n /= 2
    with pytest.raises(TypeError, match="`out` is of dtype int32"):
        np.exp(np.ones((2,)), out=n)
    assert n.tolist() == [6, 8]
    h = np.ones((2,), dtype="float16")
    h += np.ones((2,), dtype="float32")
    assert h.dtype == onp.float16
    x = np.ones((2,))
    with pytest.raises(ShapeError, match=r"\(2,\) expected, \(3, 2\) came"):
        x += np.ones((3, 2))
    x += np.ones((1,))
    assert x.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError):
        x += "text"


def test_bits_of_integers():
    a = np.array([6, 3], dtype="int32")
    b = np.array([3, 1], dtype="int32")
    assert [(a & b).tolist(), (a | b).tolist(), (a ^ b).tolist(), (~a).tolist()] == [[2, 1], [7, 3], [5, 2], [-7, -4]]
    assert (a << b).tolist() == [48, 6] and (a >> 1).tolist() == [3, 1] and divmod(a, 4)[1].tolist() == [2, 3]


@pytest.mark.parametrize(
    "dtype, number, result",
    [
        ("float32", 2, "float32"),
        ("float16", 2.5, "float16"),
        ("bfloat16", onp.float64(2.5), "bfloat16"),
        ("int32", 2, "int32"),
        ("int8", 2, "int8"),
        ("int32", 2.5, "float32"),
        ("bool", 2, "int32"),
        ("bool", True, "bool"),
        ("float32", True, "float32"),
    ],
)
@pytest.mark.parametrize("way", ["now", "pending", "traced"])
def test_a_number_takes_the_dtype_of_the_array_beside_it(dtype, number, result, way):
    x = np.ones((2,), dtype=dtype)
    if way == "now":
        y = x + number if dtype != "bool" else x * number
    elif way == "pending":
        with autograd.record():
            y = x + number if dtype != "bool" else x * number
    else:
        y = traced(lambda x: x + number if x.dtype != bool else x * number, x)
    assert str(y.dtype) == result


def test_copyto_and_as_type():
    x, y = np.array([1.0, 2.0]), np.zeros((2,))
    assert x.copyto(y) is y and y.tolist() == [1.0, 2.0]
    y += 1
    assert x.tolist() == [1.0, 2.0]
    assert x.astype("float32", copy=False) is x and x.astype("int32").dtype == onp.int32
    assert x.as_np_ndarray() is x and x.as_nd_ndarray().as_np_ndarray() is x and x.to_device(x.device) is x


def test_writing_whole_arrays_does_not_alias():
    x, y = np.array([1.0, 2.0]), np.array([5.0, 6.0])
    x[:] = y
    y += 1
    assert x.tolist() == [5.0, 6.0]
    x[...] = 3
    assert x.tolist() == [3.0, 3.0]


@pytest.mark.dear
def test_a_misspelled_name_is_told():
    """By Python itself, which nothing here keeps from it."""
    code = "from gluonx import np\n"
    code += "try: np.arry\nexcept AttributeError as e: import sys; sys.__excepthook__(type(e), e, e.__traceback__)\n"
    code += "np.ones((1,)).shpe"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert "Did you mean: 'array'" in done.stderr and "Did you mean: 'shape'" in done.stderr
