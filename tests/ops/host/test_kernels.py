"""Forms in NumPy against the same operators under XLA: every form, its types, shapes and awkward values."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest
from ml_dtypes import bfloat16

from gluonx import ops
from gluonx.deferred.operators.derived import run_alone
from gluonx.np import handle, indexing
from gluonx.ops.host import algebra, counts, kernels, layers
from gluonx.ops.rnn import packing

AWKWARD = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, 3.25, 1e-3, -7.75, 20.0, -20.0, onp.inf, -onp.inf, onp.nan, 100.5]
FLOATS = ("float32", "float64", "float16", "bfloat16")
WHOLE = ("int32", "int8", "uint8", "int64", "bool")
OFF_IN_XLA = frozenset({"arctanh", "cosh", "erf", "exp2", "gammaln", "log1p", "sinh"})
"""Functions that XLA computes to more than two units in the last place."""


def dtype_of(name: str) -> Any:
    return onp.dtype(bfloat16) if name == "bfloat16" else onp.dtype(name)


def values(dtype: Any, shape: tuple[int, ...] = (16,), seed: int = 0) -> onp.ndarray:
    """Awkward values of a type, then random ones."""
    size = int(onp.prod(shape))
    rng = onp.random.default_rng(seed)
    if dtype.kind in "iub":
        ends = (0, 1) if dtype.kind == "b" else (onp.iinfo(dtype).min, onp.iinfo(dtype).max)
        pool = onp.array([0, 1, ends[0], ends[1], *rng.integers(0, 2 if dtype.kind == "b" else 100, max(size, 4))])
        return rng.permutation(pool[:size]).astype(dtype).reshape(shape)
    pool = onp.array([*AWKWARD, *rng.normal(0, 3, max(size, 1))])
    return rng.permutation(pool[: max(size, 16)])[:size].astype(dtype).reshape(shape)


def same(host: Any, xla: Any, units: float = 2, atol: float = 0, truth: Any = None) -> None:
    """Compare results of the two; `truth` is what the host may be nearer to, where XLA is off."""
    host, xla = onp.asarray(host), onp.asarray(xla)
    assert host.dtype == xla.dtype
    assert host.shape == xla.shape
    if host.dtype.kind in "biu":
        onp.testing.assert_array_equal(host, xla)
        return
    eps = 2.0**-7 if host.dtype == bfloat16 else onp.finfo(host.dtype).eps
    tiny = 1e-37 if host.dtype != onp.float64 else 1e-300  # XLA takes subnormal numbers for 0
    if host.dtype == onp.float16:
        tiny = 6e-8
    h, x = host.astype(onp.float64), xla.astype(onp.float64)
    with onp.errstate(invalid="ignore"):
        near = (h == x) | (onp.isnan(h) & onp.isnan(x)) | (abs(h - x) <= units * eps * abs(x) + tiny + atol)
        if truth is not None:
            near |= abs(h - truth) <= abs(x - truth)
    assert near.all(), f"host {h[~near][:5]} XLA {x[~near][:5]}"


def check(op: Any, *arrays: Any, units: float = 2, atol: float = 0, must: bool = True) -> None:
    """Compare what NumPy and XLA give for one call."""
    found = kernels.kernel_of(op)
    assert found is not None
    numpy_kernel, work = found
    kept = [None if a is None else onp.array(a) for a in arrays]
    with onp.errstate(all="ignore"):
        if work is not None:
            assert int(work(*arrays)) >= 0
        host = numpy_kernel(*arrays)
    for before, after in zip(kept, arrays, strict=True):
        if before is not None:
            assert before.tobytes() == onp.asarray(after).tobytes()  # nothing was written to
    if host is NotImplemented:
        assert not must, f"{op} has no form for {[getattr(a, 'dtype', None) for a in arrays]}"
        return
    xla = run_alone(op, list(arrays))
    if type(xla) is tuple:
        assert type(host) is tuple
        for h, x in zip(host, xla, strict=True):
            same(h, x, units, atol)
    else:
        same(host, xla, units, atol)


UNARY = sorted(kernels._UNARY)
BINARY = sorted(kernels._BINARY)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
def test_unary(name: str, dtype: str) -> None:
    kind = dtype_of(dtype)
    op = ops.get(name).bind()
    must = dtype in FLOATS and name != "bitwise_not"
    for shape in ((40,), (3, 5), (), (0, 2)):
        x = values(kind, shape)
        if name not in OFF_IN_XLA or dtype not in FLOATS:
            check(op, x, must=must)
        elif dtype == "float64":
            check(op, x, units=256)
        else:
            with onp.errstate(all="ignore"):
                host = kernels.kernel_of(op)[0](x)  # type: ignore[index]
            same(host, run_alone(op, [x]), truth=onp.asarray(run_alone(op, [x.astype(onp.float64)])))


PAIRS = [("float32", "float32"), ("float64", "float64"), ("float16", "float16"), ("bfloat16", "bfloat16"),
         ("int32", "int32"), ("uint8", "uint8"), ("bool", "bool"), ("int32", "float32"), ("float32", "bool"),
         ("float16", "float32"), ("float32", "float64"), ("int64", "float32"), ("int32", "int64")]  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_binary(name: str, pair: tuple[str, str]) -> None:
    op = ops.get(name).bind()
    left, right = map(dtype_of, pair)
    must = pair == ("float32", "float32") and not name.startswith("bitwise") and name not in ("floor_divide", "mod")
    for a, b in (((40,), (40,)), ((3, 1), (4,)), ((), (5,)), ((2, 0), (2, 1)), ((2, 3), ())):
        check(op, values(left, a), values(right, b, 1), must=must)


def test_ties_and_nan_of_the_larger() -> None:
    grid = onp.array([0.0, -0.0, 1.0, onp.nan, onp.inf, -onp.inf], onp.float32)
    for name in ("maximum", "minimum", "fmax", "fmin"):
        x, y = onp.repeat(grid, 6), onp.tile(grid, 6)
        op = ops.get(name).bind()
        host, xla = kernels.kernel_of(op)[0](x, y), onp.asarray(run_alone(op, [x, y]))  # type: ignore[index]
        onp.testing.assert_array_equal(onp.signbit(host) & (host == 0), onp.signbit(xla) & (xla == 0))
        onp.testing.assert_array_equal(host, xla)


REDUCTIONS = {
    "sum": {"dtype": None}, "prod": {"dtype": None}, "mean": {"dtype": None}, "var": {"dtype": None},
    "std": {"dtype": None}, "max": {}, "min": {}, "all": {}, "any": {}, "argmax": {}, "argmin": {},
}  # fmt: skip


@pytest.mark.dear
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "bool", "uint8"])
def test_reductions(name: str, dtype: str) -> None:
    kind = dtype_of(dtype)
    rng = onp.random.default_rng(3)
    for axis in (None, 0, -1, (0, 2)):
        if name.startswith("arg") and isinstance(axis, tuple):
            continue
        for keepdims in (False, True):
            op = ops.get(name).bind(axis=axis, keepdims=keepdims)
            x = rng.normal(1, 1, (3, 4, 5)).astype(kind) if kind.kind not in "iub" else values(kind, (3, 4, 5))
            check(op, x, units=16, atol=2e-6 if dtype in ("float32", "float64") else 2e-2, must=dtype == "float32")
    awkward = onp.array([[1.0, onp.nan, 3.0], [4.0, 4.0, -onp.inf]], onp.float32)
    for axis in (None, 0, 1):
        check(ops.get(name).bind(axis=axis), awkward, units=16)
    if name in ("sum", "prod", "all", "any"):
        check(ops.get(name).bind(axis=0), onp.zeros((0, 3), kind), must=False)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(name: str, dtype: str) -> None:
    rng = onp.random.default_rng(0)
    for axis in (-1, 0):
        check(ops.get(name).bind(axis=axis), (rng.normal(size=(4, 7)) * 5).astype(dtype_of(dtype)), units=8, atol=1e-6)
    masked = onp.array([[0.0, -onp.inf, 1.0], [-onp.inf, -onp.inf, -onp.inf]], onp.float32)
    check(ops.get(name).bind(axis=-1), masked, units=8, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_products(dtype: str) -> None:
    rng, kind = onp.random.default_rng(0), dtype_of(dtype)
    make = lambda *shape: rng.normal(size=shape).astype(kind)  # noqa: E731
    loose = {"units": 8, "atol": 1e-5 if kind.itemsize >= 4 else 5e-2}
    for a, b in (
        ((3, 4), (4, 5)),
        ((4,), (4,)),
        ((2, 3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((3, 0), (0, 2)),
    ):
        check(ops.get("matmul").bind(), make(*a), make(*b), **loose)
        if len(b) < 3:
            check(ops.get("dot").bind(), make(*a), make(*b), **loose)
    check(ops.get("batch_dot").bind(transpose_b=True), make(2, 3, 4), make(2, 5, 4), **loose)
    dense = ops.get("fully_connected")
    check(dense.bind(), make(2, 3, 4), make(5, 12), make(5), must=dtype == "float32", **loose)
    check(dense.bind(flatten=False, no_bias=True), make(2, 3, 4), make(5, 4), must=dtype == "float32", **loose)


MOVES: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("reshape", {"newshape": (4, -1)}, (2, 6)),
    ("reshape", {"newshape": (-2, -1)}, (2, 3, 2)),
    ("reshape", {"newshape": (3, 4), "order": "F"}, (2, 6)),
    ("batch_flatten", {}, (2, 3, 2)),
    ("expand_dims", {"axis": 1}, (2, 3)),
    ("expand_dims", {"axis": (0, -1)}, (2, 3)),
    ("squeeze", {"axis": None}, (2, 1, 3)),
    ("squeeze", {"axis": 0}, ()),
    ("transpose", {"axes": None}, (2, 3, 4)),
    ("transpose", {"axes": (1, 2, 0)}, (2, 3, 4)),
    ("swapaxes", {"axis1": 0, "axis2": 2}, (2, 3, 4)),
    ("moveaxis", {"source": 0, "destination": -1}, (2, 3, 4)),
    ("flip", {"axis": 1}, (2, 3)),
    ("flip", {"axis": None}, (2, 3)),
    ("broadcast_to", {"shape": (4, 2, 3)}, (2, 3)),
    ("zeros_like", {}, (2, 3)),
    ("ones_like", {"dtype": "int32"}, (2, 3)),
    ("split", {"indices_or_sections": 3, "axis": 1}, (2, 6)),
    ("split", {"indices_or_sections": (1, 4, 3), "axis": 1}, (2, 6)),
    ("slice_axis", {"axis": 1, "begin": 1, "end": -1}, (2, 6)),
    ("slice_axis", {"axis": 1, "begin": -2, "end": None}, (2, 6)),
    ("tile", {"reps": (2, 3)}, (2, 2)),
    ("tile", {"reps": 2}, ()),
    ("repeat", {"repeats": 2, "axis": 1}, (2, 3)),
    ("repeat", {"repeats": (1, 2, 0), "axis": 1}, (2, 3)),
    ("repeat", {"repeats": 3, "axis": None}, (2, 3)),
    ("cumsum", {"axis": 1}, (2, 3)),
    ("activation", {"act_type": "relu"}, (2, 3)),
    ("activation", {"act_type": "softrelu"}, (2, 3)),
    ("leaky_relu", {"act_type": "leaky", "slope": 0.1}, (2, 3)),
    ("dropout", {"p": 0.5}, (2, 3)),
]


@pytest.mark.parametrize("name, attrs, shape", MOVES, ids=lambda v: str(v))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
def test_moves(name: str, attrs: dict[str, Any], shape: tuple[int, ...], dtype: str) -> None:
    op = ops.get(name).bind(**attrs)
    op = op.in_mode(False)
    if name in ("cumsum", "activation", "leaky_relu") and dtype not in ("float32",):
        return
    x = values(dtype_of(dtype), shape) if name != "cumsum" else onp.arange(6, dtype=onp.float32).reshape(shape)
    check(op, x)


@pytest.mark.parametrize("source", [*FLOATS, *WHOLE])
@pytest.mark.parametrize("target", [*FLOATS, *WHOLE])
def test_casts(source: str, target: str) -> None:
    kind, wanted = dtype_of(source), dtype_of(target)
    safe = onp.array([0, 1, 2.5, -3.75, 100], onp.float64).astype(kind)
    floats = source in FLOATS and target in WHOLE and target != "bool"
    if not (floats and target == "uint8"):  # which holds no negative number
        check(ops.get("cast").bind(dtype=wanted), safe)
    check(ops.get("cast").bind(dtype=wanted), values(kind), must=not floats)
    check(handle._cast_op(wanted), values(kind), must=not floats)


def test_choice_and_bounds() -> None:
    x, y = values(onp.dtype("float32")), values(onp.dtype("float32"), seed=4)
    check(ops.get("where").bind(), onp.array([True, False] * 8), x, y)
    check(ops.get("where").bind(), onp.array([1.0, 0.0] * 8, onp.float32), x, onp.float32(2))
    check(ops.get("where").bind(), onp.array([True, False]), onp.arange(6, dtype=onp.int32).reshape(3, 2), onp.int32(4))
    check(ops.get("clip").bind(), x, onp.float32(-1), onp.float32(2))
    check(ops.get("clip").bind(), x, None, y)
    check(ops.get("concatenate").bind(axis=0), x, y)
    check(ops.get("concatenate").bind(axis=None), x, y.reshape(4, 4))
    check(ops.get("stack").bind(axis=1), x, y)


@pytest.mark.dear
def test_indices() -> None:
    x = onp.random.default_rng(0).normal(size=(4, 5, 3)).astype(onp.float32)
    places = onp.array([[0, 3], [-1, 9]], onp.int32)
    for mode in ("clip", "wrap", "raise"):
        for axis in (0, 1, -1, None):
            check(ops.get("take").bind(axis=axis, mode=mode), x, places)
    check(ops.get("take").bind(), x, onp.array([1.0, 2.7], onp.float32))
    check(ops.get("embedding").bind(), onp.array([[0, 2.0], [3, 8]], onp.float32), x[0])
    check(ops.get("one_hot").bind(depth=4), onp.array([0, 3, 4, -1], onp.int32))
    check(
        ops.get("one_hot").bind(depth=3, on_value=2.0, off_value=-1.0, dtype="int32"),
        onp.array([[0.0, 2.0]], onp.float32),
    )
    for keepdims in (False, True):
        for mode in ("clip", "wrap"):
            check(
                ops.get("pick").bind(axis=1, keepdims=keepdims, mode=mode), x, onp.tile([0.0, 4, 7], (4, 1)).astype("f")
            )


@pytest.mark.dear
def test_regions() -> None:
    x = onp.arange(60, dtype=onp.float32).reshape(3, 4, 5)
    for key in (1, -1, slice(1, 3), (slice(None), 2), (Ellipsis, slice(None, None, -2)), (None, 1, slice(0, 0)),
                (slice(2, 0, -1), slice(1, None, 2), 3), (slice(None), None, 1)):  # fmt: skip
        region = indexing.basic(key, x.shape)
        assert region is not None
        starts = [onp.int32(s) for s in region.starts]
        check(indexing.region_read(region), x, *starts)
        check(indexing.region_write(region), x, onp.float32(7), *starts, must=0 not in region.shape)
        check(
            indexing.region_write(region), x, onp.full(region.shape, 2, onp.int32), *starts, must=0 not in region.shape
        )


@pytest.mark.dear
def test_advanced_indices() -> None:
    x = onp.arange(60, dtype=onp.float32).reshape(3, 4, 5)
    for key in ([0, 2], (slice(None), [1, 3]), ([0, 1], [2, 3]), ([[0], [1]], slice(1, 3), [0, 4]), (0, [1, 2]),
                (None, [1, -1]), (True, [0, 1]), (Ellipsis, [0, -2]), x[:, 0, 0] > 10):  # fmt: skip
        pattern, arrays = indexing.advanced(key, x.shape, onp.asarray)
        arrays = [onp.asarray(a) for a in arrays]
        check(indexing.gather_op(pattern), x, *arrays)
        shape = run_alone(indexing.gather_op(pattern), [x, *arrays]).shape
        check(indexing.scatter_op(pattern), x, -onp.arange(onp.prod(shape), dtype="f").reshape(shape), *arrays)
    mask = x % 2 == 0
    check(indexing.mask_write_op(), x, mask, onp.float32(3))
    check(indexing.mask_write_op(), x, mask[..., 0], onp.arange(5, dtype="f"))


def test_creation() -> None:
    from gluonx.np import creation

    for op, args in (
        (creation._zeros.bind(shape=(2, 3), dtype="float16"), ()),
        (creation._ones.bind(shape=(), dtype="int64"), ()),
        (creation._full.bind(shape=(2, 2), dtype="float32"), (onp.int32(3),)),
        (creation._arange.bind(num=5, dtype="float32"), (onp.int32(2), onp.int32(3))),
        (creation._arange.bind(num=5, dtype="int64"), (onp.float32(0.5), onp.float32(1.5))),
        (creation._eye.bind(N=3, M=4, k=1, dtype="float32"), ()),
    ):
        check(op, *args)


@pytest.mark.dear
def test_draws() -> None:
    words, index = onp.array([0, 7], onp.uint32), onp.int32(3)
    for name in ("random_uniform", "random_normal"):
        for size in ((40,), (3, 5), (), 7, (0, 2)):
            op = ops.get(name).bind(size=size)
            check(op, words, index, onp.float32(-1), onp.float32(2.5), units=16)
            check(op, words, index, units=16)
        check(ops.get(name).bind(size=(2,), dtype="float16"), words, index, onp.float32(0), onp.float32(1), must=False)
    op = ops.get("random_uniform").bind(size=(64,))
    host = kernels.kernel_of(op)[0](words, index)  # type: ignore[index]
    onp.testing.assert_array_equal(host, onp.asarray(run_alone(op, [words, index])))  # the very bits


def _tried(name: str, size: Any, *parameters: Any) -> None:
    """Compare draws by trying: but for one in a thousand, which is at the bound, all are accepted alike."""
    words, index = onp.array([3, 7], onp.uint32), onp.int32(-5)
    op = ops.get(name).bind(size=size)
    given = [onp.asarray(p, "f") for p in parameters]
    host = kernels.kernel_of(op)[0](words, index, *given)  # type: ignore[index]
    xla = onp.asarray(run_alone(op, [words, index, *given]))
    assert (host.dtype, host.shape) == (xla.dtype, xla.shape)
    if name == "random_gamma":
        assert (abs(host - xla) > 1e-5 * abs(xla)).sum() <= host.size // 1000
    else:  # the very numbers
        onp.testing.assert_array_equal(host, xla)


@pytest.mark.dear
@pytest.mark.parametrize(
    "name", ["random_gamma", "random_poisson", "random_negative_binomial", "random_generalized_negative_binomial"]
)
def test_draws_by_trying(name: str) -> None:
    second = [] if name == "random_poisson" else [onp.float32(0.4)]
    odd = onp.array([onp.nan, -1, 0, 1e-6, 1e4, 1e8, 1e20, onp.inf])
    if name in ("random_gamma", "random_poisson"):
        for size, first in (
            ((50,), 4.0), ((20, 50), 40.0), ((3, 4), onp.linspace(0.1, 30, 4)), ((), 2.0), (7, 9.5), ((2, 0), 1.0),
            (None, onp.linspace(0.5, 300, 600)),
        ):  # fmt: skip
            _tried(name, size, first, *second)
    if name == "random_poisson":
        _tried(name, (7,), 0.0)
        _tried(name, (5,))
        _tried(name, None, odd)
    if name != "random_gamma":
        for first in (0.5, 4.0, 20.0):
            _tried(name, (40000,), first, *second)
    if name == "random_negative_binomial":
        chances = onp.array([0, 1, onp.nan, 1e-6, 0.5])
        _tried(name, None, *(v.ravel() for v in onp.meshgrid([*odd, *onp.linspace(0.1, 300, 600)], chances)))
    if name == "random_generalized_negative_binomial":
        spreads = onp.array([0, 1, onp.nan, 1e-6, 1e-13, 50])
        _tried(name, None, *(v.ravel() for v in onp.meshgrid([*odd, *onp.linspace(0.1, 300, 600)], spreads)))
    found = kernels.kernel_of(ops.get("random_gamma").bind(size=(3,)))
    assert found is not None and found[0](onp.zeros(2, onp.uint32), onp.int32(0)) is NotImplemented


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_differences(dtype: str) -> None:
    x = values(dtype_of(dtype), (3, 4))
    for n, axis in ((1, -1), (2, 0), (3, 0), (5, 1)):
        check(ops.get("diff").bind(n=n, axis=axis), x, must=False)
    check(ops.get("diff").bind(n=1, axis=1), x)
    check(ops.get("diff").bind(n=2, axis=1), x, x[:, :1], x)
    check(ops.get("diff").bind(n=1, axis=0), x, None, onp.zeros((), dtype))
    check(ops.get("diff").bind(n=1, axis=0), x, onp.zeros((), "int64"), must=False)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_the_largest(dtype: str) -> None:
    x = onp.random.default_rng(0).integers(0, 4, (3, 7)).astype(dtype)  # with many that are equal
    for ret_typ in ("indices", "value", "both", "mask"):
        for axis, k in ((-1, 3), (0, 0), (None, 5), (1, 7)):
            for is_ascend in (False, True):
                op = ops.get("topk").bind(axis=axis, k=k, ret_typ=ret_typ, is_ascend=is_ascend)
                check(op, x, must=ret_typ != "mask")
    check(ops.get("topk").bind(k=2, dtype="int32"), x)
    if dtype == "float32":
        for odd in ([0.0, -0.0, 1.0, -0.0], [onp.nan, 1.0, onp.inf, -onp.inf]):
            for is_ascend in (False, True):
                check(ops.get("topk").bind(k=3, is_ascend=is_ascend), onp.array(odd, "f"), must=False)
        check(ops.get("topk").bind(k=3), onp.array([onp.inf, -1.0, -onp.inf, onp.inf], "f"))


def test_multinomial_counts() -> None:
    words, index = onp.array([0, 7], onp.uint32), onp.int32(3)
    chances = onp.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]], "f")
    for n, size, dtype, pvals in (
        (5, None, "int64", chances[0]), (7, (2, 3), None, chances[0]), (40, (4,), "int32", chances),
        (0, None, "int64", chances[0]), (3, 2, "float32", chances[:, :1]), (3, (0,), "int64", chances),
    ):  # fmt: skip
        check(ops.get("random_multinomial").bind(n=n, size=size, dtype=dtype), words, index, pvals)
    check(ops.get("random_multinomial").bind(n=5000, dtype="int64"), words, index, chances[0], must=False)
    check(ops.get("random_multinomial").bind(n=5, dtype="int64"), words, index, chances.astype("e"), must=False)


def test_few_counts_are_the_first_of_many() -> None:
    """A number hangs on its element alone, however many tries are drawn ahead."""
    key, chance, n = onp.array([3, 4], onp.uint32), onp.array(0.3), 3000
    arrays = onp.linspace(0.0, 30, n), onp.linspace(0.01, 3, n)
    for rate, spread in (arrays, *zip(onp.array([2.0, 12.0]), onp.array([0.4, 3.0]), strict=True)):
        many = (
            counts.poisson(key, rate, n),
            counts.failures(key, spread, chance, n),
            counts.overdispersed(key, rate, spread, n),
        )
        for size in (1, 40, 300, 700):
            one, two = (v[:size] if v.ndim else v for v in (rate, spread))
            onp.testing.assert_array_equal(counts.poisson(key, one, size), many[0][:size])
            onp.testing.assert_array_equal(counts.failures(key, two, chance, size), many[1][:size])
            onp.testing.assert_array_equal(counts.overdispersed(key, one, two, size), many[2][:size])


@pytest.mark.dear
def test_order_and_layer_norm() -> None:
    for dtype in ("float32", "int32", "uint8", "bool", "float64"):
        for axis in (0, 1, None):
            check(ops.get("sort").bind(axis=axis), values(dtype_of(dtype), (4, 6)), must=dtype == "int32")
            check(ops.get("argsort").bind(axis=axis), values(dtype_of(dtype), (4, 6)))
    check(ops.get("argsort").bind(axis=0, dtype="float32"), onp.array([3, 1, 2, 1], onp.int32))
    check(ops.get("argsort").bind(axis=0), onp.array([0.0, -0.0, onp.nan, -1, onp.nan, 0.0], onp.float32))
    x = onp.random.default_rng(0).normal(size=(3, 4, 5)).astype("f")
    for axis in (-1, 1):
        g, b = onp.linspace(0.5, 2, x.shape[axis]).astype("f"), onp.linspace(-1, 1, x.shape[axis]).astype("f")
        check(ops.get("layer_norm").bind(axis=axis), x, g, b, units=16, atol=1e-6)


@pytest.mark.parametrize("case", [
    {}, {"pad": (1, 1)}, {"stride": (2, 2), "pad": (1, 0)}, {"dilate": (2, 1), "pad": (2, 2)}, {"stride": (1, 3)},
    {"num_group": 2, "pad": (1, 1)}, {"num_group": 4, "stride": (2, 1)}, {"kernel": (1, 1)},
    {"kernel": (1, 1), "stride": (2, 2), "num_group": 2}, {"layout": "NHWC", "pad": (1, 1), "num_group": 2},
    {"no_bias": True}, {"kernel": (9, 3)}, {"num_filter": 5},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", ["convolution", "deconvolution"])
def test_convolutions(name: str, case: dict[str, Any], batch: int) -> None:
    kernel = case.get("kernel", (3, 2))
    rng, groups, layout = onp.random.default_rng(0), case.get("num_group", 1), case.get("layout", "NCHW")
    inputs, filters = 4, 8
    outer, inner = (filters, inputs // groups) if name == "convolution" else (inputs, filters // groups)
    data, weight = (batch, inputs, 7, 6), (outer, inner, *kernel)
    if layout == "NHWC":
        data, weight = (batch, 7, 6, inputs), (outer, *kernel, inner)
    fits = kernel != (9, 3) or name == "deconvolution"
    op = ops.get(name).bind(**{"kernel": kernel, "num_filter": filters, **case})
    x, w, b = (rng.normal(size=shape).astype("f") for shape in (data, weight, (filters,)))
    if case.get("num_filter") or not fits:  # a bad call is left to the operator
        assert kernels.kernel_of(op)[0](x, w, b) is NotImplemented  # type: ignore[index]
        return
    check(op, x, w, None if case.get("no_bias") else b, units=8, atol=1e-5)
    check(op, *(v.astype("float64") for v in (x, w, b)), units=8, atol=1e-13)
    check(op, *(v.astype("float16") for v in (x, w, b)), must=False)


@pytest.mark.dear
def test_convolutions_over_one_and_three_axes() -> None:
    rng = onp.random.default_rng(0)
    for space in (1, 3):
        x = rng.normal(size=(2, 4, *[5] * space)).astype("f")
        for name in ("convolution", "deconvolution"):
            for groups, each in ((1, {}), (1, {"stride": (2,), "pad": (1,)}), (2, {"dilate": (2,)})):
                w = rng.normal(size=(4, 4 // groups, *[2] * space)).astype("f")
                op = ops.get(name).bind(kernel=(2,) * space, num_filter=4, num_group=groups, **each)
                check(op, x, w, units=8, atol=1e-5)
    x, w = rng.normal(size=(2, 3, 5, 4)).astype("f"), rng.normal(size=(3, 2, 3, 3)).astype("f")
    for each in ({"adj": (1, 0), "stride": (2, 2)}, {"target_shape": (10, 7), "stride": (2, 2)}):
        check(ops.get("deconvolution").bind(kernel=(3, 3), num_filter=2, pad=(1, 1), **each), x, w, units=8, atol=1e-5)


def test_windows_too_many_to_unroll_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "_MOST", 1)
    rng = onp.random.default_rng(0)
    x, w = rng.normal(size=(3, 4, 5, 5)).astype("f"), rng.normal(size=(6, 2, 3, 3)).astype("f")
    check(ops.get("convolution").bind(pad=(1, 1), num_group=2), x, w, units=8, atol=1e-5)


@pytest.mark.dear
@pytest.mark.parametrize("pool_type", ["max", "avg", "sum"])
@pytest.mark.parametrize("convention", ["valid", "full", "same"])
def test_pooling(pool_type: str, convention: str) -> None:
    rng = onp.random.default_rng(0)
    x = rng.normal(size=(2, 3, 7, 6)).astype("f")
    for shape in ({}, {"stride": (2, 2)}, {"stride": (3, 2), "pad": (1, 0)}, {"pad": (1, 1), "stride": (2, 1)},
                  {"kernel": (2, 2), "stride": (2, 2)}, {"layout": "NHWC", "kernel": (2, 2)}, {"global_pool": True},
                  {"kernel": (1, 1), "stride": (2, 2)}):  # fmt: skip
        attrs = {"kernel": (3, 2), "pool_type": pool_type, "pooling_convention": convention, **shape}
        for include in (None, False):
            check(ops.get("pooling").bind(**attrs, count_include_pad=include), x, units=8, atol=1e-6)
    x[0, 0, 2, 3], x[1, 1] = onp.nan, -onp.inf
    pooled = ops.get("pooling").bind(kernel=(3, 3), pad=(1, 1), pool_type=pool_type, pooling_convention=convention)
    check(pooled, x, units=8, atol=1e-6)
    check(ops.get("pooling").bind(kernel=2, pool_type=pool_type), x[0], units=8, atol=1e-6)
    check(pooled, x.astype("float16"), must=False)
    found = kernels.kernel_of(ops.get("pooling").bind(kernel=(9, 9), pool_type=pool_type))
    assert found is not None and found[0](x) is NotImplemented  # the operator says what is wrong


@pytest.mark.dear
def test_batch_norm() -> None:
    rng = onp.random.default_rng(0)
    for shape, axis in (((2, 3, 4, 5), 1), ((4, 3), -1), ((2, 5, 3), 2)):
        x = rng.normal(size=shape).astype("f")
        gamma, beta, mean = (rng.normal(size=3).astype("f") for _ in range(3))
        var = onp.abs(rng.normal(size=3)).astype("f")
        for each in ({}, {"fix_gamma": False, "eps": 1e-5}, {"use_global_stats": True}):
            op = ops.get("batch_norm").bind(axis=axis, **each).in_mode(False)
            check(op, x, gamma, beta, mean, var, units=8, atol=1e-6)
            check(op.op.bind(axis=axis, **each).in_mode(True), x, gamma, beta, mean, var, units=8, atol=1e-6)
        op = ops.get("batch_norm").bind(axis=axis, eps=0.0).in_mode(False)
        check(op, x, gamma, beta, mean, var * onp.array([1, 0, 1], "f"), units=8, atol=1e-6)


@pytest.mark.dear
def test_norms() -> None:
    x = onp.random.default_rng(0).normal(size=(3, 4)).astype("f")
    norm = ops.get("linalg_norm")
    for attrs in ({}, {"keepdims": True}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}, {"axis": -1}):
        check(norm.bind(**attrs), x)
        check(norm.bind(**attrs), x.astype("float64"))
    check(norm.bind(), x.reshape(3, 2, 2))
    for ord in ("fro", 1, onp.inf):
        check(norm.bind(ord=ord), x, must=False)
    found = kernels.kernel_of(norm.bind(axis=(0, 1, 2)))
    assert found is not None and found[0](x.reshape(3, 2, 2)) is NotImplemented  # there is no such norm
    for name in ("var", "std"):
        check(ops.get(name).bind(), onp.float32(3).reshape(()))
        for ddof in (1, 12, 13):
            check(ops.get(name).bind(ddof=ddof), x)


def test_bounds_beside_nan_and_zeros() -> None:
    x = onp.array([-0.0, 0.0, onp.nan, 2, -2, onp.inf, -onp.inf] * 9, "f")
    for low, high in (
        (0.0, 1.0),
        (-0.0, 2.0),
        (-1.0, 0.0),
        (0.0, onp.nan),
        (-0.0, None),
        (None, 0.0),
        (onp.nan, None),
        (3.0, 1.0),
    ):
        bounds = [None if b is None else onp.float32(b) for b in (low, high)]
        op = ops.get("clip").bind()
        check(op, x, *bounds)
        host, xla = kernels.kernel_of(op)[0](x, *bounds), onp.asarray(run_alone(op, [x, *bounds]))  # type: ignore[index]
        onp.testing.assert_array_equal(onp.signbit(host) & (host == 0), onp.signbit(xla) & (xla == 0))


def test_gelu() -> None:
    for act_type in ("gelu", "gelu_erf"):
        op = ops.get("leaky_relu").bind(act_type=act_type).in_mode(False)
        check(op, onp.linspace(-5, 5, 101, dtype="f"), units=4, atol=3e-7)
        check(op, onp.array([onp.nan, onp.inf, 0.0], "f"))
        check(op, onp.ones(3), must=False)


@pytest.mark.dear
@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("both", [False, True], ids=["forwards", "both"])
def test_recurrent_layers(mode: str, both: bool) -> None:
    rng = onp.random.default_rng(0)
    size = sum(onp.prod(shape) for _, shape in packing(mode, 3, 4, 2, both))
    x, flat = rng.normal(size=(5, 2, 3)).astype("f"), rng.normal(size=size).astype("f")
    begin = [rng.normal(size=(4 if both else 2, 2, 4)).astype("f") for _ in range(2 if mode == "lstm" else 1)]
    named = {"mode": mode, "state_size": 4, "num_layers": 2, "bidirectional": both}
    for outputs in (False, True):
        op = ops.get("rnn").bind(**named, state_outputs=outputs)
        check(op, x, flat, units=8, atol=2e-5)
        check(op, x, flat, *begin, units=8, atol=2e-5)
        check(op, x[:1], flat, *begin, units=8, atol=2e-5)
        tells, kernel = kernels.results_of(op), kernels.kernel_of(op)
        assert tells is not None and kernel is not None
        for call in ((x, flat), (x[:1], flat, *begin)):
            told, found = tells(*call), kernel[0](*call)
            for a, b in zip(told, found, strict=True) if outputs else [(told, found)]:
                assert (a.shape, a.dtype) == (b.shape, b.dtype)
    for others in ({"p": 0.5}, {"use_sequence_length": True}):
        op = ops.get("rnn").bind(**named, **others).in_mode(False)
        check(
            op, x, flat, *begin, *[None] * (2 - len(begin)), onp.array([2, 5], "int32"), must=False, units=8, atol=2e-5
        )
    found, tells = kernels.kernel_of(ops.get("rnn").bind(**named)), kernels.results_of(ops.get("rnn").bind(**named))
    assert found is not None and tells is not None  # of a bad call the operator says what is wrong
    bad: list[tuple[Any, ...]] = [(x, flat[1:]), (x, flat, begin[0][:1], *begin[1:]), (x[0], flat), (x[:0], flat)]
    for call in [*bad, *([(x, flat, begin[0])] if mode == "lstm" else [])]:
        assert found[0](*call) is NotImplemented and tells(*call) is NotImplemented
    wrong = kernels.kernel_of(ops.get("rnn").bind(**named, p=2.0).in_mode(False))
    assert wrong is not None and wrong[0](x, flat) is NotImplemented


@pytest.mark.parametrize("name", ["convolution", "deconvolution"])
@pytest.mark.parametrize(
    "attrs", [{"dilate": (0, 1)}, {"stride": (1, -1)}, {"pad": (-1, 0)}, {"num_group": 3}], ids=str
)
def test_a_bad_convolution_is_left_to_the_operator(name: str, attrs: dict[str, Any]) -> None:
    found = kernels.kernel_of(ops.get(name).bind(kernel=(2, 2), **attrs))
    assert found is not None
    assert found[0](onp.ones((1, 4, 5, 5), "f"), onp.ones((4, 4, 2, 2), "f")) is NotImplemented


def _matrices(dtype: str, *shape: int) -> onp.ndarray:
    """Matrices that are far from singular, and symmetric."""
    x = onp.random.default_rng(0).normal(size=shape)
    return (x + onp.swapaxes(x, -1, -2) + 4 * shape[-1] * onp.eye(shape[-1])).astype(dtype)


LINEAR = [
    ("inv", {}), ("cholesky", {"upper": False}), ("cholesky", {"upper": True}), ("det", {}), ("slogdet", {}),
    ("qr", {"mode": "reduced"}), ("qr", {"mode": "complete"}), ("svd", {"compute_uv": False}),
    ("svd", {"full_matrices": True}),    ("eigh", {}), ("eigh", {"upper": True}), ("eigvalsh", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "attrs"), LINEAR, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linear_algebra(name: str, attrs: dict[str, Any], dtype: str) -> None:
    op = ops.get(f"linalg_{name}").bind(**attrs)
    for shape in ((1, 1), (4, 4), (2, 3, 3)):
        must = len(shape) == 2 or name not in ("svd", "eigh") or not attrs.get("compute_uv", True)
        check(op, _matrices(dtype, *shape), units=64, atol=64 * onp.finfo(dtype).eps, must=must)
    if name in ("qr", "svd"):
        wide = onp.random.default_rng(0).normal(size=(3, 5)).astype(dtype)
        check(op, wide, units=64, atol=64 * onp.finfo(dtype).eps)
        check(op, wide.T.copy(), units=64, atol=64 * onp.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linear_systems(dtype: str) -> None:
    numbers = onp.random.default_rng(1)
    near = {"units": 64, "atol": 16 * onp.finfo(dtype).eps}
    for a, b in (((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 4)), ((2, 3, 3), (2, 3)), ((3, 3), (1, 3, 2))):
        check(
            ops.get("linalg_solve").bind(), _matrices(dtype, *a), numbers.normal(size=b).astype(dtype), **near,
            must=len(a) - len(b) in (0, 1),
        )  # fmt: skip
    whole = _matrices(dtype, 6, 6)
    check(ops.get("linalg_tensorinv").bind(ind=2), whole.reshape(2, 3, 6), **near)
    check(ops.get("linalg_tensorinv").bind(ind=1), whole.reshape(6, 2, 3), **near)
    b = numbers.normal(size=(2, 3)).astype(dtype)
    check(ops.get("linalg_tensorsolve").bind(), whole.reshape(2, 3, 2, 3), b, **near)
    check(ops.get("linalg_tensorsolve").bind(axes=(0, 1)), whole.reshape(2, 3, 2, 3), b, **near)


@pytest.mark.dear
def test_norms_of_all_orders() -> None:
    x = onp.random.default_rng(0).normal(size=(3, 4, 4)).astype("f")
    for ord in (None, 0, 1, -1, 2, -2, 3, "inf", onp.inf, -onp.inf, "fro", "nuc"):
        for keepdims in (False, True):
            op = ops.get("linalg_norm").bind(ord=ord, keepdims=keepdims, axis=(1, 2))
            if ord not in (0, 3):
                check(op, x, units=16)
            if ord != "nuc":
                check(ops.get("linalg_norm").bind(ord=ord, keepdims=keepdims, axis=-1), x, units=16)
                check(ops.get("linalg_norm").bind(ord=ord, keepdims=keepdims), x[0, 0], units=16)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "subscripts", ["ij,jk->ik", "ij,jk,kl->il", "ii->i", "ii", "ijk->kji", "ij,ij->", "i,j", "ij->j", "bij,bkj->bik"]
)
def test_sums_of_products(subscripts: str, dtype: str) -> None:
    arrays = [
        onp.random.default_rng(k).normal(size=[{"b": 2}.get(letter, 3) for letter in letters]).astype(dtype)
        for k, letters in enumerate(subscripts.partition("->")[0].split(","))
    ]
    check(ops.get("einsum").bind(subscripts=subscripts), *arrays, units=16, atol=16 * onp.finfo(dtype).eps)


def test_tensordot() -> None:
    x, y = (onp.random.default_rng(k).normal(size=s).astype("f") for k, s in enumerate([(2, 3, 4), (4, 3, 2)]))
    for axes in (0, 1, ((2,), (0,)), ((1, 2), (1, 0)), (2, 0)):
        check(ops.get("tensordot").bind(axes=axes), x, y, units=16, atol=1e-6)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float16"])
def test_padding(mode: str, dtype: str) -> None:
    x = values(dtype_of(dtype), (3, 4))
    for width in (1, (2, 1), ((0, 2), (1, 0)), ((0, 0), (2, 2))):
        check(ops.get("numpy.pad").bind(pad_width=width, mode=mode), x)
    check(ops.get("numpy.pad").bind(pad_width=5, mode=mode), x, must=mode not in ("reflect", "symmetric"))
    if mode == "constant":
        check(ops.get("numpy.pad").bind(pad_width=1, mode=mode), x, onp.float32(1.0))


@pytest.mark.dear
def test_quantiles_and_interpolation() -> None:
    x = onp.random.default_rng(0).normal(size=(5, 4)).astype("f")
    for name, q in (("percentile", 30.0), ("quantile", 0.7), ("quantile", [0.0, 0.25, 1.0])):
        for axis in (None, 0, (0, 1)):
            for keepdims in (False, True):
                op = ops.get(name).bind(axis=axis, keepdims=keepdims)
                check(op, x, onp.asarray(q, "f"), units=16, atol=1e-6)
    missing = x.copy()
    missing[2, 1] = onp.nan
    check(ops.get("quantile").bind(axis=0), missing, onp.float32(0.5), units=16, atol=1e-6)
    at = onp.array([0.0, 1.0, 2.5], "f")
    check(ops.get("interp").bind(), onp.array([-1.0, 0.3, 2.5, 4.0], "f"), at, at[::-1].copy() ** 2, units=16)
    check(ops.get("interp").bind(), at, at[::-1].copy(), at, must=False)


HERE = [
    "rnn", "convolution", "deconvolution", "pooling", "batch_norm",
    "softmax", "log_softmax", "matmul", "dot", "batch_dot", "fully_connected", "cast", "where", "clip", "concatenate",
    "stack", "take", "embedding", "one_hot", "pick", "sort", "argsort", "topk", "layer_norm", "random_uniform",
    "random_normal", "random_gamma", "random_poisson", "random_negative_binomial",
    "random_generalized_negative_binomial", "random_multinomial", "zeros", "ones", "full", "arange",
    "eye", "einsum", "tensordot", "softmax_cross_entropy_loss",
    "masked_softmax", "l1_loss", "l2_loss", "sigmoid_bce_loss",  # whose forward test_pullbacks compares too
]  # fmt: skip


def test_every_form_is_here() -> None:
    here = [*UNARY, *BINARY, *REDUCTIONS, *[name for name, *_ in MOVES], *HERE, *algebra.MORE]
    here += [f"linalg_{name}" for name in algebra.LINEAR]
    assert {ops.get(name).name for name in here} == set(kernels._KERNELS)
