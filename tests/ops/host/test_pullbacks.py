"""Pull-backs in NumPy against those that JAX derives: every one, its types, shapes and kinks."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import jax
import numpy as onp
import pytest

from gluonx import autograd, np, ops
from gluonx.deferred.operators.derived import out_avals, pullback_of, run_alone
from gluonx.deferred.record import engine
from gluonx.deferred.values.core import intern_aval
from gluonx.ops.host import kernels, pullbacks

NUMBERS = onp.random.default_rng(0)


@pytest.fixture(autouse=True)
def _numbers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test draw the same numbers, whichever ran before it in its process."""
    monkeypatch.setattr(sys.modules[__name__], "NUMBERS", onp.random.default_rng(0))


def array(*shape: int, dtype: str = "float32") -> onp.ndarray:
    return NUMBERS.uniform(0.2, 2, shape).astype(dtype) * NUMBERS.choice([-1, 1], shape).astype(dtype)


def check_forward(op: Any, *inputs: Any) -> None:
    """Compare a kernel's result, where it was written with the pull-back, with XLA's."""
    kernel = kernels.kernel_of(op)
    assert kernel is not None
    host, xla = kernel[0](*inputs), onp.asarray(run_alone(op, list(inputs)))
    assert (host.dtype, host.shape) == (xla.dtype, xla.shape)
    onp.testing.assert_allclose(host, xla, 32 * onp.finfo(xla.dtype).eps, 16 * onp.finfo(xla.dtype).eps)


def check(op: Any, *inputs: Any, diff: tuple[int, ...] | None = None, must: bool = True, sums: bool = False) -> None:
    """Compare the two for one call, with a cotangent of random numbers, and the shapes of the forward.

    With `sums` of many products, errors are measured by the largest result.
    """
    moving = tuple([i for i, x in enumerate(inputs) if x is not None and x.dtype.kind == "f"]) if diff is None else diff
    found = pullbacks.pullback_kernel(op, moving, len(inputs), (True,))
    assert found is not None
    out: Any = run_alone(op, list(inputs))
    g = array(*out.shape, dtype=str(out.dtype))
    kept = [None if x is None else x.copy() for x in (*inputs, g)]
    assert found[1] is None or int(found[1](*inputs, g)) >= 0
    with onp.errstate(all="ignore"):
        host = found[0](*inputs, g)
    for before, after in zip(kept, (*inputs, g), strict=True):
        assert before is None or before.tobytes() == after.tobytes()
    if host is NotImplemented:
        assert not must
        return
    xla = run_alone(pullback_of(op, moving, len(inputs), (True,)), [*inputs, g])
    assert len(host) == len(xla) == len(moving)
    eps = onp.finfo(out.dtype).eps
    for a, b in zip(host, map(onp.asarray, xla), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        largest = onp.abs(b).max(initial=0) if sums else 1
        onp.testing.assert_allclose(a, b, rtol=32 * eps, atol=16 * eps * largest)


UNARY = [*pullbacks._SLOPES, "relu"]


@pytest.mark.dear
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions(name: str, dtype: str) -> None:
    op = ops.get(name).bind()
    for shape in ((7,), (2, 3), (), (0, 2)):
        x = array(*shape, dtype=dtype)
        check(op, abs(x) if name in ("log", "sqrt", "log1p") else x)
    if name not in ("log", "sqrt"):
        check(op, onp.array([0.0, -0.0, 30.0, onp.inf, -onp.inf, onp.nan][: 3 if name in ("sin", "cos") else 6], dtype))
    check(op, array(3).astype("float16"), must=False)


@pytest.mark.dear
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "true_divide"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_operands(name: str, dtype: str) -> None:
    op = ops.get(name).bind()
    for a, b in (((7,), (7,)), ((3, 1), (4,)), ((2, 3), ()), ((), (2, 1)), ((2, 1, 3), (4, 1)), ((0, 2), (2,))):
        x, y = array(*a, dtype=dtype), array(*b, dtype=dtype)
        check(op, x, y)
        check(op, x, y, diff=(1,))
    check(op, array(3), onp.array([1, 2, 3]), diff=(0,), must=False)
    check(op, array(3), onp.float32(2.0).reshape(()), diff=(0,))


def test_an_operand_that_an_empty_one_widens() -> None:
    for a, b in (((0,), (1,)), ((2, 1), (2, 0)), ((0, 1), (1, 3))):
        check(ops.get("multiply").bind(), array(*a), array(*b))


@pytest.mark.dear
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "var", "std"])
def test_sums(name: str) -> None:
    for shape, axis in (((2, 3), None), ((2, 3), 0), ((2, 3, 4), (0, 2)), ((2, 3), -1), ((), None), ((5,), 0)):
        for keepdims in (False, True):
            check(ops.get(name).bind(axis=axis, keepdims=keepdims), array(*shape))


@pytest.mark.dear
def test_extremes() -> None:
    """Several equal ones, and numbers that are not finite."""
    for x in (onp.array([[1, 2, 2], [-0.0, 0, -1]], "f"), onp.array([[1, onp.nan], [onp.inf, onp.inf]], "f")):
        for name in ("max", "min"):
            for axis in (None, 0, -1):
                check(ops.get(name).bind(axis=axis), x)
        for name in ("maximum", "minimum"):
            for y in (x[::-1].copy(), x[:1], onp.float32(0).reshape(())):
                check(ops.get(name).bind(), x, y)
        for bounds in ((-0.5, 1.0), (0.0, None), (None, 0.0), (0.0, 0.0)):
            given = [None if b is None else onp.array(b, "f") for b in bounds]
            check(ops.get("clip").bind(), x, *given, diff=(0,))
    check(ops.get("clip").bind(), array(3), onp.array([0.0, 1, 2], "f"), None, diff=(0,), must=False)


@pytest.mark.dear
def test_sums_so_far_and_spreads() -> None:
    for axis in (None, 0, -1):
        check(ops.get("cumsum").bind(axis=axis), array(3, 4))
    check(ops.get("std").bind(axis=0), onp.array([[1, 2], [1, onp.nan]], "f"))
    for ddof in (1, 3):
        check(ops.get("var").bind(axis=0, ddof=ddof), array(3, 2), must=ddof == 1)


def invoked(fn: Any, x: onp.ndarray) -> tuple[Any, list[onp.ndarray]]:
    """The operator of one call on an array, and its inputs."""
    seen: list[Any] = []

    def watched(op: Any, inputs: Any) -> Any:
        seen.append((op, inputs))
        return engine.invoke(op, inputs)

    handle = np.array(x)
    handle.attach_grad()
    with pytest.MonkeyPatch.context() as patch, autograd.record():
        for module in ("handle", "arithmetic"):
            patch.setattr(f"gluonx.np.{module}.invoke", watched)
        fn(handle).asnumpy()
    op, (_, *more) = seen[0]
    return op, [x, *[onp.asarray(v.asnumpy() if isinstance(v, np.ndarray) else v) for v in more]]


@pytest.mark.dear
@pytest.mark.parametrize("exponent", [-2, -1, 0, 1, 2, 3])
def test_powers(exponent: int) -> None:
    for x in (array(3, 2), onp.array([0.0, -0.0, 1, -1, onp.inf, onp.nan], "f")):
        op, inputs = invoked(lambda a: a**exponent, x)
        check(op, *inputs)


INDICES: list[Any] = [0, -1, slice(1, None), slice(None, None, -2), (slice(None), 1), (..., None, 0), (1, 2),
                      slice(2, 1), [0, 2, 0], (slice(None), [1, 1, -1]), ([0, 1], [2, 2])]  # fmt: skip


@pytest.mark.dear
@pytest.mark.parametrize("key", INDICES, ids=str)
def test_indices(key: Any) -> None:
    op, inputs = invoked(lambda a: a[key], array(3, 4))
    assert op.name in ("slice", "index")
    check(op, *inputs, diff=(0,))


@pytest.mark.dear
def test_products() -> None:
    for a, b in ((False, False), (False, True), (True, False), (True, True)):
        left = (2, 3, 4) if a else (2, 4, 3)
        right = (2, 5, 3) if b else (2, 3, 5)
        check(ops.get("batch_dot").bind(transpose_a=a, transpose_b=b), array(*left), array(*right))
    for a, b in (
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((2, 3), (5, 3, 1)),
        ((1, 2, 3), (4, 3, 2)),
    ):
        check(ops.get("matmul").bind(), array(*a), array(*b))
    check(ops.get("matmul").bind(), array(3), array(3, 2), must=False)
    check(ops.get("dot").bind(), array(2, 3), array(3, 4))
    check(ops.get("dot").bind(), array(3), array(3), must=False)
    for flatten, shape in ((True, (4, 2, 3)), (False, (4, 2, 6)), (True, (4, 6))):
        for no_bias in (False, True):
            op = ops.get("fully_connected").bind(num_hidden=5, no_bias=no_bias, flatten=flatten)
            check(op, array(*shape), array(5, 6), *[array(5)] * (not no_bias))
    check(ops.get("fully_connected").bind(num_hidden=5, no_bias=True), array(4, 6), array(5, 6), array(5))  # not used
    check(ops.get("fully_connected").bind(num_hidden=5, flatten=False), array(4, 6), array(5, 6), array(5), diff=(1, 2))


@pytest.mark.parametrize(
    ("name", "attrs", "shape"),
    [
        ("reshape", {"newshape": (3, 2)}, (2, 3)), ("batch_flatten", {}, (2, 3, 4)),
        ("expand_dims", {"axis": 1}, (2, 3)), ("squeeze", {"axis": None}, (2, 1, 3)),
        ("broadcast_to", {"shape": (4, 2, 3)}, (2, 1)),
        ("transpose", {"axes": None}, (2, 3, 4)), ("transpose", {"axes": (1, 2, 0)}, (2, 3, 4)),
        ("flip", {"axis": None}, (2, 3)), ("flip", {"axis": 1}, (2, 3)), ("flip", {"axis": (0, 2)}, (2, 3, 4)),
        ("moveaxis", {"source": 0, "destination": -1}, (2, 3, 4)), ("copy", {}, (2, 3)),
        ("moveaxis", {"source": (0, 1), "destination": (2, 0)}, (2, 3, 4)), ("cast", {"dtype": "float32"}, (2, 3)),
        ("slice_axis", {"axis": -1, "begin": -3, "end": -1}, (2, 4)),
        ("slice_axis", {"axis": 0, "begin": 1, "end": None}, (3, 2)),
        ("transpose", {"axes": (-1, 0, 1)}, (2, 3, 4)), ("swapaxes", {"axis1": 0, "axis2": -1}, (2, 3, 4)),
    ],
)  # fmt: skip
def test_moves(name: str, attrs: dict[str, Any], shape: tuple[int, ...]) -> None:
    check(ops.get(name).bind(**attrs), array(*shape))


@pytest.mark.dear
def test_elements_by_number() -> None:
    """Also numbers beyond the ends, which are cut or counted round, and one that comes twice."""
    x = array(3, 4)
    for mode in ("clip", "wrap"):
        for axis, places in ((0, [2, 0, 2, 5, -1]), (1, [[0, 1], [3, 3]]), (-1, 2), (None, [11, 3, 3, -20, 90])):
            check(ops.get("take").bind(axis=axis, mode=mode), x, onp.array(places), diff=(0,))
        for axis, places in ((-1, [0, 9, -1]), (0, [0, 1, 2, -4]), (1, [[1], [1], [2]])):
            for keepdims in (False, True):
                op = ops.get("pick").bind(axis=axis, mode=mode, keepdims=keepdims)
                check(op, x, onp.array(places), diff=(0,))
    check(ops.get("pick").bind(), x, onp.array([0.0, 1, 2], "f"), diff=(0,), must=False)
    check(ops.get("take").bind(), x, onp.array([0.0, 1, 2], "f"), diff=(0,), must=False)


@pytest.mark.dear
def test_arrays_put_together() -> None:
    for axis in (0, 1, -1):
        check(ops.get("concatenate").bind(axis=axis), array(2, 3), array(2, 3), array(2, 3))
        check(ops.get("stack").bind(axis=axis), array(2, 3), array(2, 3))
    check(ops.get("concatenate").bind(axis=1), array(2, 3), array(2, 0), array(2, 1))
    check(ops.get("where").bind(), onp.array([True, False, True]), array(3), array(2, 3))
    check(ops.get("where").bind(), array(3), array(3), array(1), diff=(1, 2))


@pytest.mark.dear
@pytest.mark.parametrize("name", ["l2_loss", "l1_loss", "sigmoid_bce_loss"])
def test_losses_of_samples(name: str) -> None:
    loss = ops.get(name)
    for shape, of_label in (((4, 3), (4, 3)), ((4, 1), (4,)), ((5,), (5, 1)), ((2, 3, 4), (2, 3, 4))):
        for attrs in ({}, {"weight": 0.3}):
            inputs = array(*shape), array(*of_label)
            check_forward(loss.bind(**attrs), *inputs)
            check(loss.bind(**attrs), *inputs)
    same = array(4, 3)
    check(loss.bind(), same, same)
    check(loss.bind(), 90 * array(4, 3), array(4, 3))
    check(loss.bind(batch_axis=1), array(4, 3), array(4, 3), must=False)
    check(loss.bind(), array(4, 3), array(4, 3), array(4, 1), must=False)
    if name == "sigmoid_bce_loss":
        check(loss.bind(from_sigmoid=True), abs(array(4, 3)) / 2, abs(array(4, 3)) / 2, must=False)
        check(loss.bind(ignore_label=-1.0), array(4, 3), array(4, 3), must=False)


@pytest.mark.dear
def test_masks_norms_and_powers() -> None:
    masked = ops.get("masked_softmax")
    for mask in (NUMBERS.random((2, 3, 4)) < 0.6, onp.array([[1.0], [0], [1]], "f"), onp.zeros((2, 3, 4), bool)):
        for axis in (-1, 1):
            check_forward(masked.bind(axis=axis), array(2, 3, 4), mask)
            check(masked.bind(axis=axis), 9 * array(2, 3, 4), mask, diff=(0,))
    check(masked.bind(), array(2, 4), onp.ones((2, 4), bool), onp.float32(2).reshape(()), diff=(0,), must=False)
    norm = ops.get("linalg_norm")
    for keepdims in (False, True):
        for attrs in ({}, {"axis": 1}, {"ord": 2, "axis": -1}, {"axis": (0, 2)}):
            check(norm.bind(keepdims=keepdims, **attrs), array(2, 3, 4) if attrs else array(2, 3))
    check(norm.bind(), onp.zeros((2, 2), "f"), must=False)
    check(norm.bind(ord=1, axis=0), array(2, 2), must=False)
    for x, y in ((abs(array(3, 2)), array(2)), (onp.array([0.0, 0, 2], "f"), onp.array([0.0, 2, 0], "f"))):
        check(ops.get("power").bind(), x, y)
    check(ops.get("power").bind(), array(3), onp.float32(2).reshape(()), diff=(0,))


@pytest.mark.dear
def test_layers_and_losses() -> None:
    for kind in ("relu", "sigmoid", "tanh", "softrelu"):
        check(ops.get("activation").bind(act_type=kind), array(2, 3))
    check(ops.get("activation").bind(act_type="silu"), array(2, 3), must=False)
    for name in ("softmax", "log_softmax"):
        for axis in (-1, 0):
            check(ops.get(name).bind(axis=axis), array(4, 5))
    check(ops.get("embedding").bind(), onp.array([[0, 2], [2, 9]]), array(4, 3), diff=(1,))
    check(ops.get("embedding").bind(), onp.array([0.0, 3.0], "f"), array(4, 3), diff=(1,))
    for axis in (-1, 1):
        x = array(2, 3, 4)
        check(ops.get("layer_norm").bind(axis=axis), x, array(x.shape[axis]), array(x.shape[axis]))
    loss = ops.get("softmax_cross_entropy_loss")
    for label in (onp.array([0, 4, 7, -1]), onp.array([0, 1, 2, 3], "f")):
        check(loss.bind(), array(4, 5), label, diff=(0,))
    check(loss.bind(), array(2, 3, 5), onp.array([[0, 1, 2], [4, 3, 0]]), diff=(0,))
    check(loss.bind(label_smoothing=0.1), array(4, 5), onp.array([0, 1, 2, 3]), diff=(0,), must=False)
    check(loss.bind(sparse_label=False), array(4, 5), array(4, 5), diff=(0,), must=False)


def test_infinite_scores_give_what_xla_gives() -> None:
    rows = onp.array(list(itertools.product([-onp.inf, 0, 1, onp.inf, onp.nan], repeat=3)), "f")
    masks = onp.array(list(itertools.product([False, True], repeat=3)))
    scores, seen = onp.repeat(rows, len(masks), 0), onp.tile(masks, (len(rows), 1))
    loss, masked = ops.get("softmax_cross_entropy_loss").bind(), ops.get("masked_softmax").bind()
    with onp.errstate(all="ignore"):
        check_forward(masked, scores, seen)
        check(masked, scores, seen, diff=(0,))
        for label in range(3):
            check_forward(loss, rows, onp.full(len(rows), label))
            check(loss, rows, onp.full(len(rows), label), diff=(0,))
        for name in ("softmax", "log_softmax"):
            check(ops.get(name).bind(), rows)


@pytest.mark.dear
@pytest.mark.parametrize(
    ("kernel", "stride", "dilate", "pad", "space"),
    [
        ((3, 3), (1, 1), (1, 1), (1, 1), (7, 9)), ((3, 3), (2, 2), (1, 1), (1, 1), (8, 9)),
        ((1, 1), (1, 1), (1, 1), (0, 0), (5, 5)), ((3, 2), (2, 3), (2, 1), (0, 1), (11, 12)),
        ((5, 5), (3, 3), (1, 1), (0, 0), (9, 10)), ((3,), (1,), (1,), (0,), (9,)),
        ((3, 3, 3), (1, 2, 1), (1, 1, 1), (0, 1, 0), (5, 4, 6)),
    ],
)  # fmt: skip
def test_convolutions(kernel: Any, stride: Any, dilate: Any, pad: Any, space: Any) -> None:
    attrs = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "num_filter": 5}
    for no_bias in (False, True):
        op = ops.get("convolution").bind(**attrs, no_bias=no_bias)
        check(op, array(3, 4, *space), array(5, 4, *kernel), array(5), sums=True)
        for adj in {(0,) * len(kernel), tuple([s - 1 for s in stride])}:
            op = ops.get("deconvolution").bind(**attrs, adj=adj, no_bias=no_bias)
            check(op, array(3, 4, *space), array(4, 5, *kernel), array(5), sums=True)
    grouped = ops.get("convolution").bind(kernel=kernel, num_filter=6, num_group=2, no_bias=True)
    check(grouped, array(3, 4, *space), array(6, 2, *kernel), must=False)


@pytest.mark.dear
@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "convention"),
    [
        ((2, 2), (2, 2), (0, 0), "valid"), ((3, 3), (2, 2), (1, 1), "valid"), ((3, 3), (1, 1), (1, 1), "valid"),
        ((3, 2), (2, 2), (1, 0), "full"), ((2, 2), (2, 2), (0, 0), "full"), ((2, 2), (3, 3), (0, 0), "valid"),
    ],
)  # fmt: skip
def test_pooling(kind: str, kernel: Any, stride: Any, pad: Any, convention: str) -> None:
    x = array(2, 3, 8, 9)
    odd = x.copy()
    odd[0, 0, 2, 2] = odd[0, 1, :, 3] = onp.nan
    odd[1, 1, 3, 3] = onp.inf
    for include in (None, False):
        op = ops.get("pooling").bind(
            kernel=kernel, stride=stride, pad=pad, pool_type=kind, pooling_convention=convention,
            count_include_pad=include,
        )  # fmt: skip
        for image in (x, onp.round(x), odd, array(2, 3, 9, 8)):
            check(op, image)
    check(ops.get("pooling").bind(kernel=(1, 1), global_pool=True, pool_type=kind), x, must=kind != "max")


@pytest.mark.dear
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(("training", "globally"), [(True, False), (True, True), (False, False)])
def test_batch_norm(training: bool, globally: bool, fixed: bool) -> None:
    """The forward too, whose moving averages are results."""
    for axis, shape in ((1, (4, 3, 5, 5)), (-1, (6, 3)), (1, (2, 3))):
        op = ops.get("batch_norm").bind(training=training, use_global_stats=globally, fix_gamma=fixed, axis=axis)
        inputs = [array(*shape) + 3, array(3), array(3), array(3), abs(array(3))]
        kernel, tells = kernels.kernel_of(op), kernels.results_of(op)
        assert kernel is not None and tells is not None
        found, told, xla = kernel[0](*inputs), tells(*inputs), run_alone(op, list(inputs))
        if not training:
            found, told, xla = [found], [told], [xla]
        for a, b, c in zip(found, told, map(onp.asarray, xla), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape) == (c.dtype, c.shape)
            onp.testing.assert_allclose(a, c, 2e-5, 2e-5)
        g = array(*shape)
        given = (True, False, False) if training else (True,)
        pull = pullbacks.pullback_kernel(op, (0, 1, 2), 5, given)
        assert pull is not None
        theirs = run_alone(pullback_of(op, (0, 1, 2), 5, given), [*inputs, g])
        for a, b in zip(pull[0](*inputs, g), map(onp.asarray, theirs), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            onp.testing.assert_allclose(a, b, 1e-4, 1e-4 * max(1, onp.abs(b).max()))


def test_leaky() -> None:
    for kind in ("leaky", "gelu"):
        check(ops.get("leaky_relu").bind(act_type=kind), array(20) * 3)
    check(ops.get("leaky_relu").bind(act_type="elu"), array(20), must=False)


def test_what_tells_results_is_right() -> None:
    """Without computing: for each operator that has it, what XLA gives."""
    image, windows = array(2, 3, 7, 8), {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 0)}
    for name, attrs, *inputs in (
        ("convolution", {**windows, "num_filter": 5}, image, array(5, 3, 3, 2), array(5)),
        ("deconvolution", {**windows, "adj": (1, 0), "num_filter": 5}, image, array(3, 5, 3, 2)),
        ("pooling", {**windows, "pooling_convention": "full"}, image),
        ("pooling", {"global_pool": True, "pool_type": "avg"}, image),
        ("activation", {"act_type": "relu"}, array(2, 3)),
        ("concatenate", {"axis": 1}, array(2, 3), array(2, 4)),
    ):  # fmt: skip
        op = ops.get(name).bind(**attrs)
        tells: Any = kernels.results_of(op)
        told, found = tells(*inputs), onp.asarray(run_alone(op, list(inputs)))
        assert (told.shape, told.dtype) == (found.shape, found.dtype), name


def test_every_pullback_is_here() -> None:
    here = {
        *UNARY, "add", "subtract", "multiply", "true_divide", "sum", "mean", "matmul", "dot", "fully_connected",
        "where", "reshape", "batch_flatten", "expand_dims", "squeeze", "broadcast_to", "transpose", "swapaxes",
        "concatenate", "stack", "activation", "softmax", "log_softmax", "embedding", "layer_norm",
        "max", "min", "maximum", "minimum", "clip", "var", "std", "cumsum", "batch_dot", "copy", "cast", "flip",
        "moveaxis", "slice_axis", "take", "pick", "power", "linalg_norm", "masked_softmax", "l2_loss", "l1_loss",
        "sigmoid_bce_loss", "softmax_cross_entropy_loss", "leaky_relu", "convolution", "deconvolution", "pooling",
        "batch_norm",
    }  # fmt: skip
    assert {ops.get(name).name for name in here} == set(pullbacks.PULLBACKS)


def test_shapes_are_told_by_a_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gluonx.deferred.operators.derived.numpy_is_first", [lambda: True])
    monkeypatch.setattr(jax, "eval_shape", lambda *args: pytest.fail("traced"))
    op = ops.get("matmul").bind()
    single, (out,) = out_avals(op, (intern_aval((2, 311), onp.dtype("f")), intern_aval((311, 4), onp.dtype("f"))))
    assert single and out.shape == (2, 4) and out.dtype == onp.float32
