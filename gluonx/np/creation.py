"""Functions that make arrays: of zeros and ones, from numbers, and from other libraries' arrays.

Two rules of MXNet hold for all of them. The default dtype is float32, also for lists of integers and for NumPy arrays
of any dtype; ``dtype=`` asks for another one, and only an ndarray or a JAX array keeps its own. ``device=`` (or
``ctx=``, its older name) says where the array lives; the default is the innermost ``with device:`` or JAX's default
device.

Sizes and dtypes are part of the program. The numbers that fill an array (the value of ``full``, the start of
``arange``) are operands: other numbers use the same program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as onp
from jax import Array
from numpy.typing import ArrayLike

from gluonx.common.arguments import Size, from_elsewhere, written
from gluonx.common.host import copied_as
from gluonx.deferred import invoke
from gluonx.deferred.run.host import host_array, stays_on_host
from gluonx.deferred.values.core import new_handle
from gluonx.device import DeviceLike, resolve
from gluonx.dtype import WIDE, DTypeLike, canonical, keeping_64_bits, on_device, standard, wide_default
from gluonx.errors import ArgumentError
from gluonx.np.handle import borrow, ndarray
from gluonx.np.wrapping import as_leaf, as_static, write_out
from gluonx.ops.host import kernels
from gluonx.ops.registry import get, register

if TYPE_CHECKING:
    from gluonx.ops.registry import Op


Shape = int | Sequence[int]


def placed(result: ndarray, device: DeviceLike, ctx: DeviceLike = None) -> ndarray:
    """Return `result` on the device that the caller or the context names."""
    target = resolve(ctx if device is None else device)
    if target is None or target == jax.local_devices()[0]:
        return result
    return result.to_device(target)


def _shape(shape: Size) -> tuple[int, ...]:
    value = as_static("shape", shape)
    return value if isinstance(value, tuple) else (value,)


# -- from values ------------------------------------------------------------------------------------------------------


def array(
    object: Any,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
    copy: bool = True,
    ndmin: int = 0,
) -> ndarray:
    """Return an array that holds a copy of `object`.

    Parameters
    ----------
    object : ndarray, jax.Array, numpy.ndarray, number or nested sequence
        Sequences may hold ndarrays; gradients flow through those.
    dtype : dtype, optional
        float32 by default, but for ndarrays and JAX arrays, which keep theirs.
    device, ctx : Device, optional
        Where the array goes.
    copy : bool
        Ignored. The result is always independent of `object`.
    ndmin : int
        The least number of axes.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from gluonx import np
    >>> np.array([1, 2, 3]).dtype
    dtype('float32')
    >>> np.array([1, 2, 3], dtype="int32").tolist()
    [1, 2, 3]
    """
    result = _from_any(object, dtype, device, ctx)
    return result if result.ndim >= ndmin else result.reshape((1,) * (ndmin - result.ndim) + result.shape)


def _from_any(value: object, dtype: DTypeLike, device: DeviceLike, ctx: DeviceLike) -> ndarray:
    if isinstance(value, ndarray):
        return placed(value.copy() if dtype is None else value.astype(canonical(dtype)), device, ctx)
    if isinstance(value, jax.Array):
        wanted = onp.dtype(value.dtype) if dtype is None else canonical(dtype)
        with keeping_64_bits(wanted in WIDE or value.dtype in WIDE):
            return placed(new_handle(jnp.array(value, dtype=wanted)), device, ctx)
    if isinstance(value, (list, tuple)) and _holds_arrays(value):
        return placed(_stacked(value).astype(standard(dtype)), device, ctx)
    try:
        host = onp.asarray(value)  # not a copy; the only copy is made with the right dtype on the right device
    except ValueError as error:  # the rows have different lengths
        raise ArgumentError(f"np.array: {error}") from None
    except (TypeError, RuntimeError) as error:  # PyTorch's bfloat16, and tensors that require gradients
        if not hasattr(value, "__dlpack__"):
            raise
        raise TypeError(f"np.array: NumPy cannot read this {type(value).__name__}{from_elsewhere(value)}") from error
    host = read_as(host, value, dtype)
    if host.dtype.kind not in "biufcV" or host.dtype.fields is not None:
        raise TypeError(f"np.array: numbers were expected, got {str(value)[:80]!r} (NumPy makes {host.dtype} of it).")
    if dtype is None and host.dtype.kind == "c":
        dtype = onp.complex64
    elif dtype is None and isinstance(value, onp.generic if not wide_default.get() else (onp.generic, onp.ndarray)):
        dtype = host.dtype  # a NumPy scalar keeps its type, as in MXNet
    wanted = standard(dtype)
    target = resolve(ctx if device is None else device)
    if target is None and stays_on_host():
        return new_handle(host_array(copied_as(host, wanted)))
    return new_handle(on_device(copied_as(host, wanted), target))


def read_as(host: onp.ndarray, value: object, dtype: DTypeLike) -> onp.ndarray:
    """Return `host`, which NumPy made of `value`, changed where the requested dtype needs it.

    Text is read as numbers, as in MXNet. Integers beyond int64 in a list are not rounded to floats before they become
    64-bit integers.
    """
    if host.dtype.kind not in "SUf":
        return host
    wanted = standard(dtype)
    exact = wanted in WIDE and wanted.kind in "iu" and isinstance(value, (list, tuple))
    if host.dtype.kind == "f" and not exact:
        return host
    try:
        return onp.asarray(value, wanted)
    except (ValueError, OverflowError):
        return host


def _holds_arrays(value: Sequence[Any]) -> bool:
    return any(
        isinstance(v, (ndarray, jax.Array)) or (isinstance(v, (list, tuple)) and _holds_arrays(v)) for v in value
    )


def _stacked(value: Sequence[Any]) -> ndarray:
    """Return nested sequences with ndarrays in them as one array, by stacking: nothing is read, gradients flow."""
    parts = [_stacked(v) if isinstance(v, (list, tuple)) and _holds_arrays(v) else as_leaf(v) for v in value]
    return invoke(get("stack").bind(), tuple(parts))


def asarray(
    obj: ArrayLike,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    copy: bool | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Return `obj` as an ndarray: itself if it is one of the requested dtype, else the result of `array`.

    Parameters
    ----------
    obj, dtype, device, ctx
        As for `array`.
    copy : bool, optional
        Whether the result must be a new array (True) or must not be one (False); None copies only where it is needed.

    Returns
    -------
    ndarray
        `obj` itself if it fits already, else a new array; without `dtype` it is float32 if `obj` is no array.

    Raises
    ------
    ValueError
        If `copy` is False and a copy cannot be avoided.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.ones(2)
    >>> np.asarray(x) is x, np.asarray([1, 2]).tolist()
    (True, [1.0, 2.0])
    """
    if isinstance(obj, ndarray) and not copy and (dtype is None or obj.dtype == canonical(dtype)):
        return placed(obj, device, ctx)
    if copy is False:
        raise ValueError(f"np.asarray: copy=False, but {type(obj).__name__} cannot become this ndarray without a copy.")
    return array(obj, dtype, device, ctx=ctx)


asanyarray = asarray


def ascontiguousarray(a: ArrayLike, dtype: DTypeLike = None) -> ndarray:
    """Return `a` as an ndarray, which is always contiguous.

    Returns
    -------
    ndarray
        `a` itself if it is an ndarray.

    Examples
    --------
    >>> from gluonx import np
    >>> np.ascontiguousarray([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """
    return asarray(a, dtype)


def from_dlpack(x: ArrayLike) -> ndarray:
    """Return an ndarray that shares another library's memory: of any object with ``__dlpack__``, or a capsule.

    What is written to it does not change that memory, unless it is that of a capsule of `to_dlpack_for_write`.

    Returns
    -------
    ndarray
        Of the shape and dtype of `x`.

    Examples
    --------
    >>> import numpy
    >>> from gluonx import np
    >>> np.from_dlpack(numpy.ones(2, "float32")).tolist()
    [1.0, 1.0]
    """
    lent = borrow(x)
    if lent is not None:
        return lent
    with keeping_64_bits():
        return new_handle(jnp.from_dlpack(x if hasattr(x, "__dlpack__") else _Capsule(x)))


class _Capsule:
    """An array on the default device, from a DLPack capsule, which does not tell its device."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: object) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        default: Any = jnp.zeros(())
        return default.__dlpack_device__()


def _host_reader(name: str, example: str) -> Callable[..., ndarray]:
    reader = getattr(onp, name)

    def read(*args: object, device: DeviceLike = None, ctx: DeviceLike = None, **kwargs: object) -> ndarray:
        host = reader(*args, **kwargs)
        return array(host, canonical(host.dtype), device, ctx=ctx)

    read.__name__ = read.__qualname__ = name
    read.__doc__ = (
        f"Return what ``numpy.{name}`` reads, with the same arguments, and ``device``.\n\n"
        f"Returns\n-------\nndarray\n    Of the shape and dtype that ``numpy.{name}`` gives.\n\n"
        f"Examples\n--------\n{example}\n"
    )
    return read


frombuffer = _host_reader(
    "frombuffer",
    """>>> from gluonx import np
>>> np.frombuffer(b"\\x01\\x02", dtype="uint8").tolist()
[1, 2]""",
)
fromfile = _host_reader(
    "fromfile",
    """>>> import tempfile
>>> from gluonx import np
>>> with tempfile.NamedTemporaryFile() as file:
...     _ = file.write(b"\\x01\\x02")
...     file.flush()
...     np.fromfile(file.name, dtype="uint8").tolist()
[1, 2]""",
)
fromiter = _host_reader(
    "fromiter",
    """>>> from gluonx import np
>>> np.fromiter((n * n for n in range(4)), dtype="int32").tolist()
[0, 1, 4, 9]""",
)
fromstring = _host_reader(
    "fromstring",
    """>>> from gluonx import np
>>> np.fromstring("1 2 3", dtype="float32", sep=" ").tolist()
[1.0, 2.0, 3.0]""",
)
genfromtxt = _host_reader(
    "genfromtxt",
    """>>> import io
>>> from gluonx import np
>>> np.genfromtxt(io.StringIO("1,2\\n3,4"), delimiter=",").tolist()
[[1.0, 2.0], [3.0, 4.0]]""",
)


# -- constants --------------------------------------------------------------------------------------------------------


@register(
    "zeros",
    shape="`shape`",
    gives="asked",
    doc="Return an array of zeros.",
    example=("np.zeros((2,)).tolist()", "[0.0, 0.0]"),
)
def _zeros(*, shape: Size, dtype: DTypeLike) -> Array:
    return jnp.zeros(shape, dtype)


@register(
    "ones",
    shape="`shape`",
    gives="asked",
    doc="Return an array of ones.",
    example=("np.ones((2,)).tolist()", "[1.0, 1.0]"),
)
def _ones(*, shape: Size, dtype: DTypeLike) -> Array:
    return jnp.ones(shape, dtype)


@register(
    "full",
    shape="`shape`",
    gives="asked",
    meaning={"fill_value": "The number, or an array that is broadcast to the shape."},
    doc="Return an array of one value throughout.",
    example=("np.full((2,), 7.0).tolist()", "[7.0, 7.0]"),
)
def _full(fill_value: Array, *, shape: Size, dtype: DTypeLike) -> Array:
    return jnp.broadcast_to(jnp.asarray(fill_value, dtype), shape)


def _elements(*_: object, shape: Sequence[int], **__: object) -> int:
    return math.prod(shape)


kernels.numpy_kernel("zeros", _elements)(lambda *, shape, dtype: onp.zeros(shape, dtype))
kernels.numpy_kernel("ones", _elements)(lambda *, shape, dtype: onp.ones(shape, dtype))
kernels.numpy_kernel("full", _elements)(kernels.full)


def zeros(
    shape: Shape, dtype: DTypeLike = None, order: str = "C", device: DeviceLike = None, *, ctx: DeviceLike = None
) -> ndarray:
    """Return zeros of a shape, float32 by default.

    Returns
    -------
    ndarray
        Of shape `shape`; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.zeros((2, 3)).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return placed(invoke(_zeros.bind(shape=_shape(shape), dtype=standard(dtype)), ()), device, ctx)


def ones(
    shape: Shape, dtype: DTypeLike = None, order: str = "C", device: DeviceLike = None, *, ctx: DeviceLike = None
) -> ndarray:
    """Return ones of a shape, float32 by default.

    Returns
    -------
    ndarray
        Of shape `shape`; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.ones(3, dtype="int32").tolist()
    [1, 1, 1]
    """
    return placed(invoke(_ones.bind(shape=_shape(shape), dtype=standard(dtype)), ()), device, ctx)


def empty(
    shape: Shape, dtype: DTypeLike = None, order: str = "C", device: DeviceLike = None, *, ctx: DeviceLike = None
) -> ndarray:
    """Return an array of a shape with any contents (zeros).

    Returns
    -------
    ndarray
        Of shape `shape`; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype, order, device, ctx=ctx)


def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    order: str = "C",
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Return an array of a shape, filled with a number or with an array that broadcasts to it.

    The default dtype is that of `fill_value`: bool, int64 and float32 for Python's numbers.

    Returns
    -------
    ndarray
        Of the given shape; of `dtype`, or of the dtype of the value.

    Examples
    --------
    >>> from gluonx import np
    >>> np.full((2, 2), 7.0).tolist()
    [[7.0, 7.0], [7.0, 7.0]]
    """
    value = as_leaf(fill_value)
    wanted = canonical(_dtype_of(value) if dtype is None else dtype)
    result = placed(invoke(_full.bind(shape=_shape(shape), dtype=wanted), (value,)), device, ctx)
    return result if out is None else write_out("np.full", out, result)


def _dtype_of(value: ArrayLike) -> DTypeLike:
    found = getattr(value, "dtype", None)
    if found is None:
        found = onp.result_type(value)
        return standard(None) if found == onp.float64 else found
    return onp.float32 if found == onp.float64 else found


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    order: str = "C",
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Return an array of the shape and dtype of `a`, filled with `fill_value`.

    Returns
    -------
    ndarray
        Of the shape of the prototype or array that is given, and of its dtype unless `dtype` says otherwise.

    Examples
    --------
    >>> from gluonx import np
    >>> np.full_like(np.ones(2), 7).tolist()
    [7.0, 7.0]
    """
    bound = get("full_like").bind(dtype=as_static("dtype", dtype))
    result = placed(invoke(bound, (as_leaf(a), as_leaf(fill_value))), device, ctx)
    return result if out is None else write_out("np.full_like", out, result)


def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: str = "C",
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Return zeros of the shape and dtype of `a`.

    Returns
    -------
    ndarray
        Of the shape of the prototype or array that is given, and of its dtype unless `dtype` says otherwise.

    Examples
    --------
    >>> from gluonx import np
    >>> np.zeros_like(np.array([1.0, 2.0])).tolist()
    [0.0, 0.0]
    """
    result = placed(invoke(get("zeros_like").bind(dtype=as_static("dtype", dtype)), (as_leaf(a),)), device, ctx)
    return result if out is None else write_out("np.zeros_like", out, result)


def ones_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: str = "C",
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Return ones of the shape and dtype of `a`.

    Returns
    -------
    ndarray
        Of the shape of the prototype or array that is given, and of its dtype unless `dtype` says otherwise.

    Examples
    --------
    >>> from gluonx import np
    >>> np.ones_like(np.array([1.0, 2.0])).tolist()
    [1.0, 1.0]
    """
    result = placed(invoke(get("ones_like").bind(dtype=as_static("dtype", dtype)), (as_leaf(a),)), device, ctx)
    return result if out is None else write_out("np.ones_like", out, result)


def empty_like(
    prototype: ArrayLike,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    order: str = "C",
    subok: bool = False,
    shape: Size | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Return an array of the dtype and shape of `prototype` (or of `shape`) with any contents.

    Returns
    -------
    ndarray
        Of the shape of the prototype or array that is given, and of its dtype unless `dtype` says otherwise.

    Examples
    --------
    >>> from gluonx import np
    >>> np.empty_like(np.ones((2, 3))).shape
    (2, 3)
    """
    if shape is not None:
        return zeros(shape, _dtype_of(prototype) if dtype is None else dtype, order, device, ctx=ctx)
    return zeros_like(prototype, dtype, order, device, ctx=ctx)


# -- ranges -----------------------------------------------------------------------------------------------------------


@register(
    "arange",
    shape="``(num,)``",
    gives="asked",
    meaning={"start": "The first number.", "step": "The distance of two numbers.", "num": "How many numbers."},
    doc="Return `num` numbers from `start` on, `step` apart.",
    example=("np.arange(3).tolist()", "[0.0, 1.0, 2.0]"),
)
def _arange(start: Array, step: Array, *, num: int, dtype: DTypeLike) -> Array:
    return (start + step * jnp.arange(num, dtype=jnp.result_type(start, step))).astype(dtype)


kernels.numpy_kernel("arange", lambda *_, num, dtype: num)(kernels.arange)


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Return evenly spaced numbers from `start` to `stop`, excluding `stop`; float32 by default.

    Their number is part of the program; the start and the step are values.

    Returns
    -------
    ndarray
        Of shape ``(n,)``, where n is ``(stop - start) / step`` rounded up; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.arange(3).tolist()
    [0.0, 1.0, 2.0]
    >>> np.arange(5, 0, -2, dtype="int32").tolist()
    [5, 3, 1]
    """
    start, stop, step = (as_static("", v) for v in (start, stop, step))
    step = 1 if step is None else step
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("np.arange: the step must not be zero.")
    if step == 1 and not isinstance(stop - start, int | float):
        num = stop - start  # a symbolic size in an export
    else:
        num = max(0, math.ceil((stop - start) / step))
    if dtype is None and wide_default.get() and all(isinstance(v, int) for v in (start, stop, step)):
        dtype = onp.int64
    return placed(invoke(_arange.bind(num=num, dtype=standard(dtype)), (start, step)), device, ctx)


def _space_op(name: str, fn: Callable[..., Array], doc: str, example: tuple[str, str]) -> Op:
    # Integers are rounded from float64, since float32 has all integers only up to 2**24.
    @register(
        name,
        doc=doc,
        example=example,
        wide=lambda attrs: attrs["dtype"].kind in "iu",
        shape="`num` along `axis`, beside the axes of `start` and `stop`",
        gives="asked",
        meaning={
            "start": "The first number; for `logspace` its logarithm.",
            "stop": "The last number, or with `endpoint` False the one after it; for `logspace` its logarithm.",
            "num": "How many numbers.",
            "endpoint": "Whether `stop` is the end.",
            "base": "The base of the logarithms, for `logspace`.",
        },
    )
    def space(
        start: Array, stop: Array, base: Array | None = None, *, num: int, endpoint: bool, dtype: onp.dtype, axis: int
    ) -> Array:
        extra = {} if base is None else {"base": base}
        whole = dtype.kind in "iu"
        inner = jnp.float64 if whole else jnp.promote_types(dtype, jnp.float32)
        points = fn(start, stop, num, endpoint=endpoint, dtype=inner, axis=axis, **extra)
        return (jnp.floor(points) if whole else points).astype(dtype)

    return space


_linspace = _space_op(
    "linspace",
    jnp.linspace,
    "Return numbers at equal distances from `start` to `stop`.",
    ("np.linspace(0, 1, 3).tolist()", "[0.0, 0.5, 1.0]"),
)
_logspace = _space_op(
    "logspace",
    jnp.logspace,
    "Return powers of `base`, their exponents at equal distances.",
    ("np.logspace(0, 2, 3).tolist()", "[1.0, 10.0, 100.0]"),
)
_geomspace = _space_op(
    "geomspace",
    jnp.geomspace,
    "Return numbers from `start` to `stop`, each the same multiple of the one before.",
    ("np.geomspace(1, 4, 3).tolist()", "[1.0, 2.0, 4.0]"),
)


def _space(
    op: Op,
    ends: tuple[Any, ...],
    num: int,
    endpoint: bool,
    dtype: DTypeLike,
    axis: int,
    device: DeviceLike,
    ctx: DeviceLike,
) -> ndarray:
    bound = op.bind(num=int(num), endpoint=bool(endpoint), dtype=standard(dtype), axis=axis)
    # Integer ends are converted to floats, because the points between them are not integers.
    leaves = tuple([float(e) if isinstance(e, (int, onp.integer)) else as_leaf(e) for e in ends])
    return placed(invoke(bound, leaves), device, ctx)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> Any:
    """Return `num` evenly spaced numbers from `start` to `stop`; float32 by default.

    Returns
    -------
    ndarray, or (ndarray, step) with ``retstep=True``

    Examples
    --------
    >>> from gluonx import np
    >>> np.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    points = _space(_linspace, (start, stop), num, endpoint, dtype, axis, device, ctx)
    if not retstep:
        return points
    gaps = num - 1 if endpoint else num
    return points, (stop - start) / gaps if gaps > 0 else math.nan


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Return `num` numbers from ``base**start`` to ``base**stop`` whose logarithms are evenly spaced.

    Returns
    -------
    ndarray
        `num` numbers along `axis`; if the ends are arrays, their axes follow.

    Examples
    --------
    >>> from gluonx import np
    >>> np.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    return _space(_logspace, (start, stop, base), num, endpoint, dtype, axis, device, ctx)


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Return `num` numbers from `start` to `stop`, each the same multiple of the one before.

    Returns
    -------
    ndarray
        `num` numbers along `axis`; if the ends are arrays, their axes follow.

    Examples
    --------
    >>> from gluonx import np
    >>> np.geomspace(1, 4, 3).round(3).tolist()
    [1.0, 2.0, 4.0]
    """
    return _space(_geomspace, (start, stop), num, endpoint, dtype, axis, device, ctx)


# -- matrices, indices, windows ---------------------------------------------------------------------------------------


_SIZES = {"N": "The number of rows.", "M": "The number of columns; that of rows by default."}


@register(
    "eye",
    shape="``(N, M)``",
    gives="asked",
    meaning=_SIZES,
    doc="Return a matrix with ones on a diagonal.",
    example=("np.eye(2).tolist()", "[[1.0, 0.0], [0.0, 1.0]]"),
)
def _eye(*, N: int, M: int | None = None, k: int = 0, dtype: DTypeLike) -> Array:
    return jnp.eye(N, M, k, dtype)


@kernels.numpy_kernel("eye", lambda *, N, M, k, dtype: N * (M or N))
def _eye_on_host(*, N: int, M: int, k: int, dtype: DTypeLike) -> onp.ndarray:
    return onp.eye(N, M, k, dtype)


@register(
    "tri",
    shape="``(N, M)``",
    gives="asked",
    meaning=_SIZES,
    doc="Return a matrix of ones below a diagonal and on it.",
    example=("np.tri(2).tolist()", "[[1.0, 0.0], [1.0, 1.0]]"),
)
def _tri(*, N: int, M: int | None = None, k: int = 0, dtype: DTypeLike) -> Array:
    return jnp.tri(N, M, k, dtype)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Return ones on the k-th diagonal of an N by M matrix, zeros elsewhere.

    Returns
    -------
    ndarray
        Of shape ``(N, M)``, with M equal to N by default; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.eye(2, 3, k=1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    bound = _eye.bind(N=as_static("", N), M=as_static("", M), k=as_static("", k), dtype=standard(dtype))
    return placed(invoke(bound, ()), device, ctx)


def identity(n: int, dtype: DTypeLike = None, device: DeviceLike = None, *, ctx: DeviceLike = None) -> ndarray:
    """Return the n by n identity matrix.

    Returns
    -------
    ndarray
        Of shape ``(n, n)``; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return eye(n, dtype=dtype, device=device, ctx=ctx)


def tri(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Return ones on and below the k-th diagonal, zeros above.

    Returns
    -------
    ndarray
        Of shape ``(N, M)``, with M equal to N by default; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.tri(2, 3).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    bound = _tri.bind(N=as_static("", N), M=as_static("", M), k=as_static("", k), dtype=standard(dtype))
    return placed(invoke(bound, ()), device, ctx)


def _index_arrays(host: Sequence[onp.ndarray], device: DeviceLike = None) -> tuple[ndarray, ...]:
    return tuple([array(h, onp.int64, device) for h in host])


def indices(
    dimensions: Sequence[int],
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
    sparse: bool = False,
) -> Any:
    """Return the indices of a grid, an array for each axis. With `sparse` it is a tuple of broadcastable arrays.

    Returns
    -------
    ndarray, or tuple of ndarray where `sparse`
        Of shape ``(len(dimensions), *dimensions)``, int64; with `sparse` one for each axis, of length 1 along the
        others.

    Examples
    --------
    >>> from gluonx import np
    >>> np.indices((2, 2))[1].tolist()
    [[0, 1], [0, 1]]
    """
    dtype = onp.int64 if dtype is None else dtype
    found = onp.indices(_shape(dimensions), sparse=sparse)
    if sparse:
        return tuple([array(f, dtype, device, ctx=ctx) for f in found])
    return array(found, dtype, device, ctx=ctx)


def diag_indices(n: int, ndim: int = 2) -> tuple[ndarray, ...]:
    """Return the indices of the diagonal of an n by n (by n ...) array.

    Returns
    -------
    tuple of ndarray
        An array of positions for each axis, of dtype int64.

    Examples
    --------
    >>> from gluonx import np
    >>> [i.tolist() for i in np.diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    return _index_arrays(onp.diag_indices(int(n), int(ndim)))


def diag_indices_from(arr: ndarray) -> tuple[ndarray, ...]:
    """Return the indices of the diagonal of `arr`, whose axes are all of one length.

    Returns
    -------
    tuple of ndarray
        An array of positions for each axis, of dtype int64.

    Examples
    --------
    >>> from gluonx import np
    >>> [i.tolist() for i in np.diag_indices_from(np.ones((2, 2)))]
    [[0, 1], [0, 1]]
    """
    if arr.ndim < 2 or len(set(arr.shape)) != 1:
        raise ValueError(f"np.diag_indices_from: two or more axes of one length were expected, got shape {arr.shape}.")
    return diag_indices(arr.shape[0], arr.ndim)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """Return the indices of the lower triangle of an n by m matrix.

    Returns
    -------
    tuple of ndarray
        An array of positions for each axis, of dtype int64.

    Examples
    --------
    >>> from gluonx import np
    >>> [i.tolist() for i in np.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return _index_arrays(onp.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None, device: DeviceLike = None) -> tuple[ndarray, ...]:
    """Return the indices of the upper triangle of an n by m matrix.

    Returns
    -------
    tuple of ndarray
        An array of positions for each axis, of dtype int64.

    Examples
    --------
    >>> from gluonx import np
    >>> [i.tolist() for i in np.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return _index_arrays(onp.triu_indices(n, k, m), device)


def tril_indices_from(arr: ndarray, k: int = 0) -> tuple[ndarray, ...]:
    """Return the indices of the lower triangle of the matrix `arr`.

    Returns
    -------
    tuple of ndarray
        An array of positions for each axis, of dtype int64.

    Examples
    --------
    >>> from gluonx import np
    >>> [i.tolist() for i in np.tril_indices_from(np.ones((2, 2)))]
    [[0, 1, 1], [0, 0, 1]]
    """
    return tril_indices(arr.shape[-2], k, arr.shape[-1])


def triu_indices_from(arr: ndarray, k: int = 0) -> tuple[ndarray, ...]:
    """Return the indices of the upper triangle of the matrix `arr`.

    Returns
    -------
    tuple of ndarray
        An array of positions for each axis, of dtype int64.

    Examples
    --------
    >>> from gluonx import np
    >>> [i.tolist() for i in np.triu_indices_from(np.ones((2, 2)))]
    [[0, 0, 1], [0, 1, 1]]
    """
    return triu_indices(arr.shape[-2], k, arr.shape[-1])


def mask_indices(n: int, mask_func: Callable[..., Any], k: int = 0) -> tuple[ndarray, ...]:
    """Return the indices of the elements that `mask_func` (``np.triu``, ``np.tril``) keeps in an n by n matrix.

    Returns
    -------
    tuple of ndarray
        A vector of indices for each of the two axes.

    Examples
    --------
    >>> from gluonx import np
    >>> [i.tolist() for i in np.mask_indices(2, np.triu)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return _index_arrays(onp.nonzero(mask_func(ones((n, n)), k).asnumpy()))


def _window(name: str) -> Callable[..., ndarray]:
    make = getattr(onp, name)

    def window(M: int, dtype: DTypeLike = None, device: DeviceLike = None, *, ctx: DeviceLike = None) -> ndarray:
        return array(make(int(M)), dtype, device, ctx=ctx)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = (
        f"Return the {name.capitalize()} window of M points.\n\n"
        "Returns\n-------\nndarray\n    Of shape ``(M,)``; of `dtype`, float32 by default.\n\n"
        f"Examples\n--------\n>>> from gluonx import np\n>>> np.{name}(3).round(2).tolist()\n"
        f"{make(3).round(2).tolist()}\n"
    )
    return window


bartlett = _window("bartlett")
blackman = _window("blackman")
hamming = _window("hamming")
hanning = _window("hanning")


def kaiser(
    M: int, beta: float, dtype: DTypeLike = None, device: DeviceLike = None, *, ctx: DeviceLike = None
) -> ndarray:
    """Return the Kaiser window of M points with the shape parameter `beta`.

    Returns
    -------
    ndarray
        Of shape ``(M,)``.

    Examples
    --------
    >>> from gluonx import np
    >>> np.kaiser(3, 0.0).tolist()
    [1.0, 1.0, 1.0]
    """
    return array(onp.kaiser(int(M), float(beta)), dtype, device, ctx=ctx)


def fromfunction(
    function: Callable[..., Any], shape: Sequence[int], *, dtype: DTypeLike = None, **kwargs: object
) -> Any:
    """Call `function` with the coordinates of a grid, one array for each axis.

    Returns
    -------
    object
        What `function` returns.

    Examples
    --------
    >>> from gluonx import np
    >>> np.fromfunction(lambda i, j: i + j, (2, 2)).tolist()
    [[0.0, 1.0], [1.0, 2.0]]
    """
    grid = indices(shape, dtype=canonical(dtype))
    return function(*[grid[i] for i in range(len(_shape(shape)))], **kwargs)


__all__ = [*written(globals(), but=["placed", "read_as"])]  # noqa: PLE0604
