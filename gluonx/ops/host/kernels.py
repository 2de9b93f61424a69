"""NumPy kernels of the operators that interactive code uses most.

A kernel takes NumPy arrays (and typed NumPy scalars) where the operator of the same name takes JAX arrays, with the
same static attributes, and returns the same result: dtype and shape always, integers, comparisons and moves exactly,
floats to within two units in the last place. It returns ``NotImplemented`` where NumPy's semantics are not XLA's (mixed
dtypes, floats that become integers out of range). For such a call, and for an operator without a kernel, the jaxpr is
interpreted (:mod:`gluonx.ops.host.jaxprs`). So kernels only save time, and none is required.

Functions like ``exp`` are computed in double precision and rounded once; sums are accumulated in it. Kernels may return
views of their operands, and never write to them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.common import policy
from gluonx.dtype import WIDE, bfloat16
from gluonx.ops.common import axis_of
from gluonx.ops.elementwise import ACTIVATIONS
from gluonx.ops.host import counts, draws, elementwise
from gluonx.ops.host.draws import cipher
from gluonx.ops.registry import OPS, BoundOp, Lifted
from gluonx.ops.sampling import FEW_TRIALS
from gluonx.ops.tensor import new_shape, stop_index

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


Kernel = Callable[..., Any]
Work = Callable[..., int]

_BOOL, _INT32, _INT64 = np.dtype(bool), np.dtype(np.int32), np.dtype(np.int64)
_HALF, _SINGLE, _DOUBLE = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
_FLOATS = frozenset([_SINGLE, _DOUBLE])
_HALVES = frozenset([_HALF, bfloat16])
_WIDER = {_HALF: _SINGLE, bfloat16: _SINGLE, _SINGLE: _DOUBLE, _DOUBLE: _DOUBLE}
"""The type in which functions of each float type are computed."""

_KERNELS: dict[str, tuple[Kernel, Work | None, int | Work]] = {}
_SHARED = 1 << 18  # multiplications of a matrix product above which OpenBLAS gives parts of it to other threads


def kernel_of(op: Any) -> tuple[Kernel, Work | None] | None:
    """Return an operator's kernel, as a function of its arrays, and a function for its work; None without a kernel.

    The latter tells how many elements the kernel reads or writes; it is None if the operator is elementwise, or reads
    each operand once.
    """
    if not isinstance(op, BoundOp):
        kernel = getattr(op, "numpy_kernel", None)
        return None if kernel is None else (kernel, getattr(op, "work", None))
    found = _KERNELS.get(op.name)
    if found is None or (op.random and callable(op.op.random)):  # it draws depending on the mode, as dropout does
        return None
    kernel, work, _ = found
    if isinstance(op, Lifted):
        return _lowered(op, kernel), None if work is None else functools.partial(work, **op.constant.attrs)
    return functools.partial(kernel, **op.attrs), None if work is None else functools.partial(work, **op.attrs)


def products_of(op: Any) -> int:
    """Return at most how many multiplications in matrix products an operator does for each element of its work."""
    if not isinstance(op, BoundOp):
        return getattr(op, "products", 0)
    products = _KERNELS[op.name][2] if op.name in _KERNELS else 0
    return _DEEP if callable(products) else products


def may_share(op: Any) -> Callable[[float, list[Any]], bool] | None:
    """Return a function of an operator's work and inputs: whether BLAS may share its products among several threads.

    It is None if the operator has no matrix products.
    """
    products = products_of(op)
    if not products:
        return None
    exact = _KERNELS[op.name][2] if isinstance(op, BoundOp) else products
    if not callable(exact):
        return lambda work, values: work * products > _SHARED
    return lambda work, values: work * products > _SHARED and exact(*values, **op.attrs) > _SHARED


def cost_of(op: Any) -> float:
    """Return the time that the operator takes for an element, relative to a function such as ``exp``."""
    if not isinstance(op, BoundOp):
        return 1
    light = op.op.light or (op.name == "activation" and op.attrs["act_type"] == "relu")
    return 1 / policy.limits["light"] if light else 1


def _lowered(op: Lifted, kernel: Kernel) -> Kernel:
    """Return the kernel of an operator whose last operands are some of its attributes."""
    names, attrs, count = op.lifted_names, op.attrs, -len(op.lifted_names)

    def run(*args: Any) -> Any:
        numbers = dict(zip(names, map(float, args[count:]), strict=True))
        return kernel(*args[:count], **attrs, **numbers)

    return run


def numpy_kernel(name: str, work: Work | None = None, products: int | Work = 0) -> Callable[[Kernel], Kernel]:
    """Register the decorated function as the kernel of the operator `name`; `work` returns the elements it touches.

    If it computes by matrix products, `products` is the number of multiplications for each of these elements, or a
    function that counts them.
    """

    def decorate(fn: Kernel) -> Kernel:
        _KERNELS[OPS[name].name] = fn, work, products
        return fn

    return decorate


_RESULTS: dict[str, Callable[..., Any]] = {}


def results_of(op: Any) -> Callable[..., Any] | None:
    """Return a function that tells the shape and type of each result from inputs whose values it does not read.

    It returns ``NotImplemented`` for inputs that the operator's kernel, or its pull-back, refuses. None without one.
    """
    found = _RESULTS.get(op.name) if isinstance(op, BoundOp) and not isinstance(op, Lifted) else None
    return None if found is None else functools.partial(found, **op.attrs)


def kernel_results(name: str) -> Callable[[Kernel], Kernel]:
    """Register the decorated function as what tells the results of the operator `name`.

    So operators that are large, or slow, need not be run to know these.
    """

    def decorate(fn: Kernel) -> Kernel:
        _RESULTS[OPS[name].name] = fn
        return fn

    return decorate


# -- elementwise ------------------------------------------------------------------------------------------------------


def _computed(fn: Callable[..., Any]) -> Kernel:
    """Return a function of floats, computed in a wider type."""

    def run(x: np.ndarray) -> Any:
        wider = _WIDER.get(x.dtype)
        if wider is None:
            return NotImplemented
        return fn(x, dtype=wider).astype(x.dtype) if x.dtype in _FLOATS else fn(x.astype(wider)).astype(x.dtype)

    return run


def _exact(fn: Callable[..., Any], kinds: str = "fiu") -> Kernel:
    """Return a function that NumPy computes as XLA does, in the type of its operand.

    Half precision is computed in single precision.
    """

    def run(x: np.ndarray) -> Any:
        if x.dtype in _HALVES:
            return fn(x.astype(_SINGLE)).astype(x.dtype)
        return fn(x) if x.dtype.kind in kinds else NotImplemented

    return run


def _asked(fn: Callable[..., Any]) -> Kernel:
    """Return an elementwise test of floats."""

    def run(x: np.ndarray) -> Any:
        return fn(x.astype(_SINGLE) if x.dtype in _HALVES else x) if x.dtype in _WIDER else NotImplemented

    return run


def _erf(x: np.ndarray) -> np.ndarray:
    if x.dtype == _DOUBLE:
        return _scipy("erf")(x)
    return NotImplemented if x.dtype not in _WIDER else elementwise.error_function(x.astype(_DOUBLE)).astype(x.dtype)


def _scipy(name: str) -> Kernel:
    def run(x: np.ndarray) -> Any:
        from scipy import special  # rarely needed, and slow to import

        wider = _WIDER.get(x.dtype)
        return NotImplemented if wider is None else getattr(special, name)(x.astype(_DOUBLE)).astype(x.dtype)

    return run


def _in_double(compute: Callable[[Any], Any]) -> Kernel:
    """Return a formula on float64."""

    def run(x: np.ndarray) -> Any:
        return compute(x.astype(_DOUBLE)).astype(x.dtype) if x.dtype in _WIDER else NotImplemented

    return run


def _relu(x: np.ndarray) -> np.ndarray:
    zero = _ZEROS.get(x.dtype)
    if zero is None:
        return np.where((x > 0) | (x != x), x, x.dtype.type(0)) if x.dtype in _HALVES else NotImplemented
    return np.maximum(x, zero) + zero  # turns -0 into 0


_ZEROS = {dtype: np.zeros((), dtype) for dtype in _FLOATS}


def _sigmoid(x: np.ndarray) -> np.ndarray:
    if x.dtype not in _WIDER:
        return NotImplemented
    out = np.exp(np.negative(x), dtype=_DOUBLE) if x.dtype in _FLOATS else np.asarray(np.exp(-x.astype(_DOUBLE)))
    return np.reciprocal(out + _ONE).astype(x.dtype)


_softrelu = _in_double(lambda x: np.logaddexp(x, 0))
_tanh = _computed(np.tanh)
_log_sigmoid = _in_double(lambda x: -np.logaddexp(-x, 0))
_softsign = _in_double(lambda x: x / (1 + np.abs(x)))
_silu = _in_double(lambda x: x / (1 + np.exp(-x)))
_same = lambda x: x  # noqa: E731
_ONE = np.array(1.0)  # an array, because converting a Python number takes as long as the sum

_UNARY: dict[str, Kernel] = {
    **{n: _computed(getattr(np, n)) for n in (
        "exp", "log", "expm1", "log1p", "log2", "log10", "exp2", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
        "sinh", "cosh", "arcsinh", "arccosh", "arctanh", "cbrt",
    )},
    **{n: _exact(getattr(np, n), "f") for n in ("sqrt", "floor", "ceil", "trunc", "rint")},
    **{n: _exact(getattr(np, n)) for n in ("negative", "absolute", "square")},
    **{n: _asked(getattr(np, n)) for n in ("isnan", "isinf", "isfinite", "isposinf", "isneginf")},
    "relu": _relu,
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "softrelu": _softrelu,
    "softsign": _softsign,
    "log_sigmoid": _log_sigmoid,
    "silu": _silu,
    "reciprocal": _exact(lambda x: 1 / x, "f"),
    "rsqrt": _in_double(lambda x: 1 / np.sqrt(x)),
    "erf": _erf,
    "erfinv": _scipy("erfinv"),
    "gammaln": _scipy("gammaln"),
    "logical_not": lambda x: np.logical_not(x.astype(_SINGLE) if x.dtype in _HALVES else x),
    "bitwise_not": lambda x: np.invert(x) if x.dtype.kind in "biu" else NotImplemented,
    "stop_gradient": _same,
    "copy": _same,
}  # fmt: skip

for _name, _unary in _UNARY.items():
    numpy_kernel(_name)(_unary)


@numpy_kernel("activation")
def _activation(x: np.ndarray, *, act_type: str) -> Any:
    compute = _UNARY.get(act_type) if act_type in ACTIVATIONS else None
    return NotImplemented if compute is None else compute(x)


@functools.cache
def _promoted_dtype(a: np.dtype, b: np.dtype) -> np.dtype | None:
    """Return the common type of two operands, one of them a float; None if it depends on JAX's x64 switch."""
    if a not in _WIDER and b not in _WIDER:
        return None
    return np.dtype(jnp.promote_types(a, b))


def _paired(x: np.generic | np.ndarray, y: np.generic | np.ndarray) -> tuple[Any, Any] | None:
    """Return two operands in their common type; half precision is not changed."""
    if x.dtype == y.dtype:
        return x, y
    dtype = _promoted_dtype(x.dtype, y.dtype)
    return None if dtype is None else (x.astype(dtype, copy=False), y.astype(dtype, copy=False))


def _arithmetic(fn: Callable[..., Any], kinds: str) -> Kernel:
    def run(x: np.generic | np.ndarray, y: np.generic | np.ndarray) -> Any:
        if x.dtype != y.dtype:
            pair = _paired(x, y)
            if pair is None:
                return NotImplemented
            x, y = pair
        dtype = x.dtype
        if dtype in _HALVES and "f" in kinds:
            return fn(x.astype(_SINGLE), y.astype(_SINGLE)).astype(dtype)
        return fn(x, y) if dtype.kind in kinds else NotImplemented

    return run


def _in_two_doubles(fn: Callable[..., Any]) -> Kernel:
    def run(x: np.generic | np.ndarray, y: np.generic | np.ndarray) -> Any:
        pair = _paired(x, y)
        if pair is None or pair[0].dtype not in _WIDER:
            return NotImplemented
        return fn(pair[0].astype(_DOUBLE), pair[1].astype(_DOUBLE)).astype(pair[0].dtype)

    return run


def _divided(x: np.generic | np.ndarray, y: np.generic | np.ndarray) -> Any:
    whole = x.dtype.kind in "biu", y.dtype.kind in "biu"
    return _quotient(x.astype(_SINGLE), y.astype(_SINGLE)) if all(whole) else _quotient(x, y)


_quotient = _arithmetic(np.true_divide, "f")


def _whole_division(fn: Callable[..., Any]) -> Kernel:
    """Return a quotient or remainder of integers, for divisors other than 0."""

    def run(x: np.ndarray, y: np.generic | np.ndarray) -> Any:
        return fn(x, y) if x.dtype == y.dtype and x.dtype.kind in "iu" and y.all() else NotImplemented

    return run


def raised(exponent: int) -> Kernel:
    """Return the kernel of ``x ** exponent``, of floats."""

    def run(x: np.ndarray) -> Any:
        if exponent == 2:
            return _UNARY["square"](x)
        if x.dtype not in _WIDER:
            return NotImplemented
        return np.power(x.astype(_DOUBLE), exponent).astype(x.dtype)

    return run


def _comparison(fn: Callable[..., Any]) -> Kernel:
    def run(x: np.generic | np.ndarray, y: np.generic | np.ndarray) -> Any:
        pair = _paired(x, y)
        if pair is None:
            return NotImplemented
        x, y = pair
        return fn(x.astype(_SINGLE), y.astype(_SINGLE)) if x.dtype in _HALVES else fn(x, y)

    return run


def _chosen(better: Any, other_nan: bool) -> Kernel:
    """Return the larger or smaller of two; at a tie or NaN the operator's own rule decides."""

    def run(x: np.ndarray, y: np.generic | np.ndarray) -> Any:
        pair = _paired(x, y)
        if pair is None:
            return NotImplemented
        x, y = pair
        nan = y if other_nan else x
        return np.where(better(x, y) | (nan != nan), x, y) if x.dtype.kind in "fV" else np.where(better(x, y), x, y)

    return run


_BINARY: dict[str, Kernel] = {
    "add": _arithmetic(np.add, "fiu"),
    "subtract": _arithmetic(np.subtract, "fiu"),
    "multiply": _arithmetic(np.multiply, "fiu"),
    "true_divide": _divided,
    "floor_divide": _whole_division(np.floor_divide),
    "mod": _whole_division(np.mod),
    "power": _in_two_doubles(elementwise.raised),
    "arctan2": _in_two_doubles(np.arctan2),
    "hypot": _in_two_doubles(np.hypot),
    "logaddexp": _in_two_doubles(np.logaddexp),
    "maximum": _chosen(np.greater_equal, False),
    "minimum": _chosen(np.less_equal, False),
    "fmax": _chosen(np.greater_equal, True),
    "fmin": _chosen(np.less_equal, True),
    **{n: _comparison(getattr(np, n)) for n in (
        "equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_or",
        "logical_xor",
    )},
    **{n: _arithmetic(getattr(np, n), "biu") for n in ("bitwise_and", "bitwise_or", "bitwise_xor")},
}  # fmt: skip

for _name, _binary in _BINARY.items():
    numpy_kernel(_name)(_binary)


@numpy_kernel("clip")
def _clip(x: np.ndarray, a_min: Any = None, a_max: Any = None) -> np.ndarray:
    if (
        a_min is not None and a_max is not None and a_min.dtype == a_max.dtype == x.dtype in _FLOATS
        and not a_min.ndim and not a_max.ndim and a_min == a_min and a_max and a_max == a_max
    ):  # fmt: skip
        return x.clip(a_min, a_max)  # both bounds are numbers, and the upper is not 0, with which clip would change -0
    for bound, beyond, keep in ((a_min, np.less, "maximum"), (a_max, np.greater, "minimum")):
        if bound is not None:
            if bound.dtype != x.dtype:
                if bound.ndim or bound.dtype.kind != x.dtype.kind:
                    return NotImplemented
                bound = bound.astype(x.dtype)
            if bound.ndim or x.dtype not in _FLOATS or bound != bound:
                x = _KERNELS[keep][0](x, bound)
            else:
                x = np.where(beyond(x, bound), bound, x)  # unlike clip, keeps NaN, and -0 beside 0
    return x


@numpy_kernel("where")
def _where(condition: np.ndarray, x: np.generic | np.ndarray, y: np.generic | np.ndarray) -> np.ndarray:
    pair = _paired(x, y)
    if pair is None:
        return NotImplemented
    return np.where(condition.astype(bool), *pair)


@numpy_kernel("leaky_relu")
def _leaky_relu(
    x: np.ndarray, gamma: np.ndarray | None = None, *, act_type: str, slope: float, **rest: Any
) -> np.ndarray:
    if act_type in ("gelu", "gelu_erf") and x.dtype == _SINGLE:
        return _gelu(x)
    if act_type != "leaky" or x.dtype not in _FLOATS:
        return NotImplemented
    return np.where(x <= 0, x * x.dtype.type(slope), x)


def _gelu(x: np.ndarray) -> np.ndarray:
    wide = x.astype(_DOUBLE)
    return (0.5 * wide * elementwise.complementary_error(wide * -math.sqrt(0.5))).astype(x.dtype)


@numpy_kernel("dropout", lambda *_, **__: 1)
def _dropout(x: np.ndarray, *, mode: str, **_: object) -> np.ndarray:
    """Return the array itself, if nothing is dropped."""
    return x if mode == "training" else NotImplemented


def _fits(x: np.ndarray, dtype: np.dtype) -> bool:
    """Return whether all floats of `x` are within the range of the integer type `dtype`."""
    ends = np.iinfo(_INT32 if dtype.itemsize < 4 else dtype)
    return not x.size or bool((x >= ends.min).all() and (x <= math.nextafter(float(ends.max) + 1, 0)).all())


def converted(x: Any, dtype: np.dtype) -> Any:
    """Return `x` in another dtype, like `gluonx.ops.common.converted`; NotImplemented if floats do not fit."""
    if x.dtype == dtype:
        return x
    if x.dtype.kind in "fV" and dtype.kind in "iu":
        x = x.astype(_SINGLE) if x.dtype in _HALVES else x
        if not _fits(x, dtype):
            return NotImplemented
        return x.astype(_INT32).astype(dtype) if dtype.itemsize < 4 else x.astype(dtype)
    if "c" in (x.dtype.kind, dtype.kind):
        return NotImplemented
    if x.dtype in _HALVES and dtype == _BOOL:
        x = x.astype(_SINGLE)
    return x.astype(dtype)


@numpy_kernel("cast")
def _cast(x: np.ndarray, *, dtype: Any) -> Any:
    return converted(x, np.dtype(dtype))


# -- reductions -------------------------------------------------------------------------------------------------------


def _sums(fn: Callable[..., Any]) -> Kernel:
    """Return a sum or product, accumulated in double precision; integers as JAX widens them."""

    def run(x: np.ndarray, *first_or_where: Any, axis: Any, dtype: DTypeLike, keepdims: bool) -> Any:
        own = x.dtype
        if dtype is not None or first_or_where:
            return NotImplemented
        if own in _WIDER:
            wide = x.astype(_SINGLE) if own in _HALVES else x
            return np.array(fn(wide, axis=axis, dtype=_DOUBLE, keepdims=keepdims), own)
        if own.kind not in "biu" or jax.config.jax_enable_x64:  # type: ignore[attr-defined]
            return NotImplemented
        to = own if own.itemsize >= 4 else np.dtype(np.uint32) if own.kind == "u" else _INT32
        return fn(x, axis=axis, dtype=to, keepdims=keepdims)

    return run


# Methods of ufuncs, because the functions around them take longer than the sum of a small array.
numpy_kernel("sum")(_sums(np.add.reduce))
numpy_kernel("prod")(_sums(np.multiply.reduce))


@numpy_kernel("mean")
def _mean(x: np.ndarray, *where: Any, axis: Any, dtype: DTypeLike, keepdims: bool) -> Any:
    """Return the mean, with the division of ``np.mean``."""
    own = x.dtype
    if dtype is not None or where or own not in _WIDER:
        return NotImplemented
    wide = x.astype(_SINGLE) if own in _HALVES else x
    total = np.add.reduce(wide, axis=axis, dtype=_DOUBLE, keepdims=keepdims)
    return np.array(total / (x.size // total.size if total.size else 1), own)


def centred(x: np.generic | np.ndarray, axis: Any) -> tuple[np.ndarray, int]:
    """Return the differences from the mean, in double precision, and the number of elements in each mean."""
    wide = x.astype(_DOUBLE)
    total = np.add.reduce(wide, axis=axis, keepdims=True)
    count = x.size // total.size
    return wide - total / count, count


def _moments(finish: Callable[[Any], Any]) -> Kernel:
    """Return a function of the variance; NumPy's own takes twice the time of these steps."""

    def run(x: np.generic | np.ndarray, *where: Any, axis: Any, dtype: DTypeLike, keepdims: bool, ddof: int) -> Any:
        if dtype is not None or where or x.dtype not in _WIDER or not x.size:
            return NotImplemented
        apart, count = centred(x, axis)
        free = count - ddof if count > ddof else math.nan  # degrees of freedom
        variance = np.add.reduce(apart * apart, axis=axis, keepdims=keepdims) / free
        return np.array(finish(variance), x.dtype)

    return run


numpy_kernel("var")(_moments(_same))
numpy_kernel("std")(_moments(np.sqrt))


def _extreme(fn: Callable[..., Any]) -> Kernel:
    def run(x: np.ndarray, *first_or_where: Any, axis: Any, keepdims: bool) -> Any:
        if first_or_where:
            return NotImplemented
        if x.dtype in _HALVES:
            return fn(x.astype(_SINGLE), axis=axis, keepdims=keepdims).astype(x.dtype)
        return fn(x, axis=axis, keepdims=keepdims)

    return run


def _test(fn: Callable[..., Any]) -> Kernel:
    def run(x: np.ndarray, *where: Any, axis: Any, keepdims: bool) -> Any:
        if where:
            return NotImplemented
        return fn(x.astype(_SINGLE) if x.dtype in _HALVES else x, axis=axis, keepdims=keepdims)

    return run


for _name, _reduction in (
    ("max", _extreme(np.maximum.reduce)),
    ("min", _extreme(np.minimum.reduce)),
    ("all", _test(np.all)),
    ("any", _test(np.any)),
):
    numpy_kernel(_name)(_reduction)


def _position(fn: Callable[..., Any]) -> Kernel:
    def run(x: np.ndarray, *, axis: Any, keepdims: bool) -> Any:
        if x.dtype in _HALVES or not x.ndim:
            return NotImplemented
        return np.asarray(fn(x, axis=axis, keepdims=keepdims), _INT64)

    return run


numpy_kernel("argmax")(_position(np.ndarray.argmax))
numpy_kernel("argmin")(_position(np.ndarray.argmin))


def _lacks(x: np.ndarray, axis: Any) -> bool:
    """Return whether the axis does not exist; NumPy sorts and sums a scalar along one, which is an error elsewhere."""
    return not x.ndim and axis is not None


@numpy_kernel("cumsum")
def _cumsum(x: np.ndarray, *, axis: Any, dtype: DTypeLike) -> Any:
    if dtype is not None or x.dtype not in _FLOATS or _lacks(x, axis):
        return NotImplemented
    return x.cumsum(axis, _DOUBLE).astype(x.dtype)


def _weights(x: np.ndarray, axis: int) -> tuple[Any, Any, Any]:
    x = x.astype(_DOUBLE)
    x -= np.maximum.reduce(x, axis=axis, keepdims=True)
    powers = np.exp(x)
    return x, powers, np.add.reduce(powers, axis=axis, keepdims=True)


def _is_plain(x: np.ndarray, length: Any, temperature: Any, use_length: bool, dtype: DTypeLike) -> bool:
    return (
        length is None and temperature is None and not use_length and dtype is None and x.dtype in _WIDER and x.size > 0
    )


@numpy_kernel("softmax")
def _softmax(
    x: np.ndarray, length: Any = None, temperature: Any = None, *, axis: int, use_length: bool, dtype: DTypeLike
) -> np.ndarray:
    if not _is_plain(x, length, temperature, use_length, dtype):
        return NotImplemented
    _, powers, total = _weights(x, axis)
    return np.divide(powers, total, out=powers).astype(x.dtype)


@numpy_kernel("log_softmax")
def _log_softmax(
    x: np.ndarray, length: Any = None, temperature: Any = None, *, axis: int, use_length: bool = False, dtype: DTypeLike
) -> np.ndarray:
    if not _is_plain(x, length, temperature, use_length, dtype):
        return NotImplemented
    shifted, _, total = _weights(x, axis)
    return np.subtract(shifted, np.log(total), out=shifted).astype(x.dtype)


@numpy_kernel("layer_norm", lambda x, *_, **__: 4 * x.size)
def _layer_norm(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, *, axis: int, eps: float, output_mean_var: bool
) -> Any:
    axis = axis_of(axis, x.ndim, "layer_norm")
    sizes = (x.shape[axis],)
    if (
        output_mean_var
        or not x.size  # of whose mean NumPy warns
        or any(v.dtype not in _WIDER for v in (x, gamma, beta))
        or not gamma.shape == beta.shape == sizes
    ):
        return NotImplemented
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    wide = x.astype(_DOUBLE)
    centred = wide - wide.mean(axis=axis, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(axis=axis, keepdims=True) + eps)
    return (centred * scale * gamma.astype(_DOUBLE).reshape(shape) + beta.astype(_DOUBLE).reshape(shape)).astype(
        x.dtype
    )


@numpy_kernel("sort", lambda x, **_: 8 * x.size)
def _sort(x: np.ndarray, *, axis: Any, descending: bool, stable: bool, kind: Any, order: Any) -> Any:
    if descending or order is not None or x.dtype in _HALVES or x.dtype.kind not in "fiub":
        return NotImplemented
    if x.dtype.kind == "f" and not x.all():
        return NotImplemented  # -0 sorts before 0
    return np.sort(x, axis=axis, kind="stable")


@numpy_kernel("argsort", lambda x, **_: 8 * x.size)
def _argsort(
    x: np.ndarray, *, axis: Any, descending: bool, stable: bool, dtype: DTypeLike, kind: Any, order: Any
) -> Any:
    if descending or order is not None or x.dtype in _HALVES or x.dtype.kind not in "fiub" or _lacks(x, axis):
        return NotImplemented
    return np.argsort(x, axis=axis, kind="stable").astype(_INT64 if dtype is None else dtype)


@numpy_kernel("topk", lambda x, **_: 8 * x.size)
def _topk(x: np.ndarray, *, axis: int | None, k: int, ret_typ: str, is_ascend: bool, dtype: DTypeLike) -> Any:
    kind = x.dtype.kind
    if x.dtype not in (_SINGLE, _DOUBLE) and kind not in "iu":
        return NotImplemented
    if ret_typ not in ("indices", "value", "both") or dtype not in (_SINGLE, np.int32) or not x.ndim:
        return NotImplemented
    if kind == "f" and (np.isnan(x).any() or (np.signbit(x) & (x == 0)).any()):  # which XLA ranks by their bits
        return NotImplemented
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim, "topk")
    n = x.shape[axis]
    if not 0 <= k <= n:
        return NotImplemented
    if is_ascend:
        order = np.argsort(x, axis, kind="stable")
    else:  # backwards twice, so that equal elements keep their order
        order = n - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    order = order[(slice(None),) * axis + (slice(k or n),)]
    positions = order.astype(dtype)
    if ret_typ == "indices":
        return positions
    values = np.take_along_axis(x, order, axis)
    return values if ret_typ == "value" else (values, positions)


# -- products ---------------------------------------------------------------------------------------------------------

_DEEP = policy.limits["product"]


def _product(fn: Any) -> Kernel:
    def run(
        x: np.ndarray,
        y: np.ndarray,
        *,
        precision: Any = None,
        preferred_element_type: jax.typing.DTypeLike | None = None,
    ) -> Any:
        if x.dtype != y.dtype or precision is not None or preferred_element_type is not None:
            return NotImplemented
        if x.dtype in _HALVES:
            return fn(x.astype(_SINGLE), y.astype(_SINGLE)).astype(x.dtype)
        return fn(x, y) if x.dtype in _FLOATS else NotImplemented

    return run


def _multiplied(x: np.ndarray, y: np.ndarray, **_: object) -> int:
    return x.size * (y.shape[-1] if y.ndim > 1 else 1) if x.ndim else y.size


def _multiplied_by_dot(x: np.ndarray, y: np.ndarray, **_: object) -> int:
    return x.size * y.size // max(1, *x.shape[-1:])


def _multiplied_by_weight(x: np.ndarray, weight: np.ndarray, *_: object, **__: object) -> int:
    return x.size * weight.shape[0]


def _by_products(multiplied: Work, y_cost: int = 1) -> Work:
    return lambda x, y, *rest, **attrs: max(x.size, y.size // y_cost, multiplied(x, y, *rest, **attrs) // _DEEP)


numpy_kernel("matmul", _by_products(_multiplied), products=_multiplied)(_product(np.matmul))
numpy_kernel("dot", _by_products(_multiplied_by_dot), products=_multiplied_by_dot)(_product(np.dot))


@numpy_kernel("batch_dot", lambda x, y, **_: max(x.size, y.size, x.size * max(y.shape[-2:]) // _DEEP), products=_DEEP)
def _batch_dot(x: np.ndarray, y: np.ndarray, *, transpose_a: bool, transpose_b: bool) -> np.ndarray:
    x = np.swapaxes(x, -1, -2) if transpose_a else x
    y = np.swapaxes(y, -1, -2) if transpose_b else y
    return _KERNELS["matmul"][0](x, y)


@numpy_kernel("fully_connected", _by_products(_multiplied_by_weight, y_cost=8), products=_multiplied_by_weight)
def _fully_connected(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    num_hidden: int | None,
    no_bias: bool,
    flatten: bool,
) -> Any:
    bias = None if no_bias else bias
    if x.ndim < 2 or x.dtype != _SINGLE or weight.dtype != _SINGLE:
        return NotImplemented
    if flatten:
        x = x.reshape(x.shape[0], math.prod(x.shape[1:]))
    if weight.ndim != 2 or weight.shape[1] != x.shape[-1] or num_hidden not in (None, weight.shape[0]):
        return NotImplemented
    out = np.matmul(x, weight.T)
    if bias is None:
        return out
    return out + bias if bias.shape == weight.shape[:1] and bias.dtype == _SINGLE else NotImplemented


# -- shapes -----------------------------------------------------------------------------------------------------------

_NONE: Work = lambda *_, **__: 1  # noqa: E731 - a view, or what has no size


@numpy_kernel("reshape", _NONE)
def _reshape(x: Any, *, newshape: Any, reverse: bool, order: str) -> Any:
    return x.reshape(new_shape(x.shape, newshape, reverse), order="C" if order == "A" else order)


@numpy_kernel("batch_flatten", _NONE)
def _batch_flatten(x: np.ndarray) -> np.ndarray:
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


numpy_kernel("expand_dims", _NONE)(lambda x, *, axis: np.expand_dims(x, axis))
numpy_kernel("squeeze", _NONE)(lambda x, *, axis: x if x.ndim == 0 and axis in (0, -1) else np.squeeze(x, axis))
numpy_kernel("transpose", _NONE)(lambda x, *, axes: np.transpose(x, axes if isinstance(axes, int) else axes or None))
numpy_kernel("swapaxes", _NONE)(lambda x, *, axis1, axis2: np.swapaxes(x, axis1, axis2))
numpy_kernel("moveaxis", _NONE)(lambda x, *, source, destination: np.moveaxis(x, source, destination))
numpy_kernel("flip", _NONE)(lambda x, *, axis: np.flip(x, axis))
numpy_kernel("zeros_like")(lambda x, *, dtype: np.zeros(x.shape, x.dtype if dtype is None else dtype))
numpy_kernel("ones_like")(lambda x, *, dtype: np.ones(x.shape, x.dtype if dtype is None else dtype))


@numpy_kernel("broadcast_to", lambda x, *, shape: 1)
def _broadcast_to(x: np.generic | np.ndarray, *, shape: Any) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return NotImplemented if -2 in shape or math.prod(shape) > 4096 else np.broadcast_to(x, shape).copy()


def _all_sizes(*arrays: np.ndarray, **_: object) -> int:
    return sum([a.size for a in arrays])


def _are_alike(arrays: Sequence[Any]) -> bool:
    return all(a.dtype == arrays[0].dtype for a in arrays)


@numpy_kernel("concatenate", _all_sizes)
def _concatenate(*arrays: np.ndarray, axis: Any, dtype: DTypeLike) -> Any:
    return np.concatenate(arrays, axis) if dtype is None and _are_alike(arrays) else NotImplemented


@numpy_kernel("stack", _all_sizes)
def _stack(*arrays: np.ndarray, axis: int, dtype: DTypeLike) -> np.ndarray:
    return np.stack(arrays, axis) if dtype is None and _are_alike(arrays) else NotImplemented


@numpy_kernel("split", _NONE)
def _split(x: np.ndarray, *, indices_or_sections: Any, axis: int) -> tuple[np.ndarray, ...]:
    axis = axis_of(axis, x.ndim, "split")
    if isinstance(indices_or_sections, int):
        return tuple(np.split(x, indices_or_sections, axis))
    n = x.shape[axis]
    starts = [0, *[stop_index(p, n) for p in indices_or_sections]]
    return tuple([_between(x, axis, a, max(a, b)) for a, b in zip(starts, [*starts[1:], n], strict=True)])


def _between(x: np.ndarray, axis: int, start: int, stop: int) -> np.ndarray:
    return x[(*(slice(None),) * axis, slice(start, stop))]


@numpy_kernel("slice_axis", _NONE)
def _slice_axis(x: np.ndarray, *, axis: int, begin: int, end: Any) -> np.ndarray:
    axis = axis_of(axis, x.ndim, "slice_axis")
    n = x.shape[axis]
    start, stop = begin + n if begin < 0 else begin, stop_index(end, n)
    return _between(x, axis, start, stop) if 0 <= start <= stop else NotImplemented


def _tiled(x: np.ndarray, *, reps: Any) -> int:
    return x.size * math.prod((reps,) if isinstance(reps, int) else reps)


numpy_kernel("tile", _tiled)(lambda x, *, reps: np.tile(x, reps))


@numpy_kernel(
    "repeat", lambda x, *, repeats, axis: x.size * (repeats if isinstance(repeats, int) else max(repeats, default=0))
)
def _repeat(x: np.ndarray, *, repeats: Any, axis: Any) -> np.ndarray:
    return np.repeat(x, repeats, axis)


def full(value: np.generic | np.ndarray, *, shape: Any, dtype: DTypeLike) -> np.ndarray:
    """Return an array of `shape` with `value` everywhere."""
    found = converted(value, np.dtype(dtype))
    return found if found is NotImplemented else np.broadcast_to(found, shape).copy()


def arange(start: Any, step: Any, *, num: int, dtype: DTypeLike) -> np.ndarray:
    """Return `num` numbers from `start` on, `step` apart."""
    if start.dtype != step.dtype:
        pair = _paired(start, step)
        if pair is None:
            return NotImplemented
        start, step = pair
    return converted(start + step * np.arange(num, dtype=start.dtype), np.dtype(dtype))


def filled(x: np.ndarray, value: np.generic | np.ndarray) -> np.ndarray:
    """Return `value` in the shape and dtype of `x`."""
    return full(value, shape=x.shape, dtype=x.dtype)


# -- draws ------------------------------------------------------------------------------------------------------------


_LOW, _HIGH = _SINGLE.type(0), _SINGLE.type(1)


def _size(size: Any) -> tuple[int, ...]:
    return () if size is None else (size,) if isinstance(size, int) else tuple(size)


def _unit(words: np.ndarray, index: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers in [0, 1), as ``jax.random.uniform`` draws them in float32 (see `gluonx.ops.prng.wrap`)."""
    count = np.arange(math.prod(shape), dtype=np.uint32)
    first = words[:1] + np.uint32(int(index) & 0xFFFFFFFF)
    high, low = cipher(first, words[1:], np.zeros(1, np.uint32), count)
    bits = ((high ^ low) >> np.uint32(9)) | np.uint32(0x3F800000)
    return (bits.view(_SINGLE) - _HIGH).reshape(shape)


def _fused(scale: Any, x: np.generic | np.ndarray, start: Any) -> Any:
    """Return ``start + scale * x`` of float32, rounded once, as XLA's programs for CPUs compute it."""
    return (start.astype(np.float64) + scale.astype(np.float64) * x).astype(_SINGLE)


def _is_drawn(size: Any, dtype: DTypeLike, *parameters: Any) -> bool:
    """Return whether the draw is float32 and its parameters are numbers."""
    partitionable = jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]
    sizes = all(n >= 0 for n in _size(size))
    single = dtype is None or dtype == _SINGLE  # in a comparison, NumPy would treat None as float64
    return bool(partitionable) and sizes and single and all(p.ndim == 0 for p in parameters)


def _drawn(*_: object, size: Any, **__: object) -> int:
    return 32 * math.prod(_size(size))


@numpy_kernel("random_uniform", _drawn)
def _uniform(words: np.ndarray, index: Any, low: Any = _LOW, high: Any = _HIGH, *, size: Any, dtype: DTypeLike) -> Any:
    if not _is_drawn(size, dtype, low, high):
        return NotImplemented
    low, high = low.astype(_SINGLE), high.astype(_SINGLE)
    return _fused(high - low, _unit(words, index, _size(size)), low)


@numpy_kernel("random_normal", _drawn)
def _normal(
    words: np.ndarray,
    index: Any,
    loc: np.generic | np.ndarray = _LOW,
    scale: np.generic | np.ndarray = _HIGH,
    *,
    size: Any,
    dtype: DTypeLike,
) -> Any:
    if not _is_drawn(size, dtype, loc, scale):
        return NotImplemented
    least = np.nextafter(_SINGLE.type(-1), _SINGLE.type(0))
    ends = np.maximum(least, _unit(words, index, _size(size)) * (_HIGH - least) + least)
    normal = elementwise.inverse_error(ends) * _SINGLE.type(math.sqrt(2))
    return _fused(scale.astype(_SINGLE), normal, loc.astype(_SINGLE))


def _each(*parameters: Any, size: Any, **__: object) -> int:
    """Return the work of a draw that NumPy makes as fast as XLA, which takes most of a second to compile it."""
    return math.prod(_shape_of(size, *parameters[2:]))


def _shape_of(size: Any, *parameters: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*[p.shape for p in parameters]) if size is None else _size(size)


def _tried(draw: Callable[..., Any], *defaults: Any) -> Kernel:
    """Return a kernel that draws with ``draw(key, *parameters)``, for float32 and one shape.

    A default of None means no default.
    """

    def run(words: np.ndarray, index: Any, *given: Any, size: Any, dtype: DTypeLike) -> Any:
        given = (*given, *defaults[len(given) :])
        if (
            any(p is None for p in given)
            or not _is_drawn(size, dtype)
            or any(p.ndim and p.dtype in WIDE for p in given)
        ):
            return NotImplemented
        shape = _shape_of(size, *given)
        key = np.array([words[0] + np.uint32(int(index) & 0xFFFFFFFF), words[1]])
        parameters = [np.broadcast_to(p.astype(_SINGLE), shape) for p in given]
        return draw(key, *parameters) if math.prod(shape) else np.zeros(shape, _SINGLE)

    return run


def _counted(draw: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return ``draw(key, *parameters, size)``, which draws on one axis, for parameters of the shape of the draw."""
    return lambda key, *given: draw(key, *given, given[0].size).astype(_SINGLE).reshape(given[0].shape)


numpy_kernel("random_gamma", _each)(_tried(lambda key, alpha, scale: scale * draws.gamma(key, alpha), None, _HIGH))
numpy_kernel("random_poisson", _each)(_tried(_counted(counts.poisson), _HIGH))
numpy_kernel("random_negative_binomial", _each)(_tried(_counted(counts.failures), _HIGH, _HIGH / 2))
numpy_kernel("random_generalized_negative_binomial", _each)(_tried(_counted(counts.overdispersed), _HIGH, _HIGH))


def _trials(*parameters: Any, n: int, size: Any, **__: object) -> int:
    return 32 * n * math.prod(_size(size)) * math.prod(parameters[2].shape[:-1])


@numpy_kernel("random_multinomial", _trials)
def _multinomial(words: np.ndarray, index: Any, pvals: np.ndarray, *, n: int, size: Any, dtype: DTypeLike) -> Any:
    if n > FEW_TRIALS or not _is_drawn(size, None) or pvals.dtype != _SINGLE or not pvals.size:
        return NotImplemented
    drawn = _unit(words, index, (n, *_size(size), *pvals.shape[:-1], 1))
    below = np.cumsum(pvals, -1)
    below[..., -1] = 1
    counts = (drawn < below).sum(0)
    return np.diff(counts, axis=-1, prepend=0).astype(np.int64 if dtype is None else dtype, copy=False)


# -- indices ----------------------------------------------------------------------------------------------------------


def _whole(indices: np.ndarray) -> np.ndarray:
    return indices if indices.dtype.kind in "iu" else converted(indices, _INT32)


@numpy_kernel(
    "take",
    lambda x, indices, *, axis, mode: indices.size * (x.size // max(x.shape[axis], 1) if axis is not None else 1),
)
def _take(x: np.ndarray, indices: np.ndarray, *, axis: Any, mode: str) -> np.ndarray:
    indices = _whole(indices)
    if indices is NotImplemented or indices.dtype.kind == "u":
        return NotImplemented
    if mode == "raise":
        indices, mode = np.where(indices < 0, indices + (x.size if axis is None else x.shape[axis]), indices), "clip"
    return np.take(x, indices, axis, mode=mode)  # type: ignore[call-overload]


@numpy_kernel("embedding", lambda x, weight, **_: x.size * weight.shape[-1])
def _embedding(x: np.ndarray, weight: np.ndarray, *, input_dim: Any, output_dim: Any, dtype: DTypeLike) -> np.ndarray:
    wanted = (input_dim or weight.shape[0], output_dim or weight.shape[-1])
    if weight.shape != wanted or not (dtype is None or dtype == weight.dtype):
        return NotImplemented
    return _take(weight, x, axis=0, mode="clip")


@numpy_kernel("one_hot", lambda indices, *, depth, **_: indices.size * depth)
def _one_hot(indices: np.ndarray, *, depth: int, on_value: float, off_value: float, dtype: DTypeLike) -> Any:
    positions = converted(indices, _INT32)
    if positions is NotImplemented or depth < 0:
        return NotImplemented
    dtype = np.dtype(dtype)
    return np.where(positions[..., None] == np.arange(depth, dtype=_INT32), dtype.type(on_value), dtype.type(off_value))


@numpy_kernel("pick")
def _pick(x: np.ndarray, index: np.ndarray, *, axis: Any, mode: str, keepdims: bool) -> np.ndarray:
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim, "pick")
    kept = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    position = converted(index, _INT32)
    n = x.shape[axis]
    if (
        position is NotImplemented
        or not n
        or mode not in ("clip", "wrap")
        or index.shape not in (kept, kept[:axis] + kept[axis + 1 :])
    ):
        return NotImplemented
    position = position.reshape(kept)
    position = np.mod(position, n) if mode == "wrap" else np.clip(position, 0, n - 1)
    out = np.take_along_axis(x, position, axis)
    return out if keepdims else out.squeeze(axis)
