"""Functions composed of others: in-place ones, those with a user's function, and those that mix lists and arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as onp
from jax import Array
from numpy.typing import ArrayLike

from gluonx.common.arguments import written
from gluonx.deferred import DerivedOp, invoke
from gluonx.deferred.values import index_checks
from gluonx.deferred.values.core import Tracer, new_handle
from gluonx.dtype import DTypeLike
from gluonx.errors import BadIndexError, ShapeError
from gluonx.np import functions as F
from gluonx.np.creation import asarray
from gluonx.np.differing import histogram as _histogram_rule
from gluonx.np.differing import histogram_edges as _edges_rule
from gluonx.np.differing import whole
from gluonx.np.handle import ndarray
from gluonx.np.hosted import as_indices, nonzero, on_host
from gluonx.np.wrapping import as_leaf, as_static, binary, write_out
from gluonx.ops.checks import Attrs, Bounds, Index, Operands, along, along_axis, shape_of
from gluonx.ops.common import aligned
from gluonx.ops.registry import get, register

if TYPE_CHECKING:
    from gluonx.ops.registry import Op


# -- powers and choices -----------------------------------------------------------------------------------------------


_any_power = binary(get("power"), "power")
_integer_power = get("integer_power")


def power(x1: ArrayLike, x2: ArrayLike, out: ndarray | None = None, **kwargs: object) -> ndarray:
    """Return `x1` to the power `x2`, elementwise.

    A Python integer as the exponent is part of the program, and becomes multiplications; any other exponent is a value.

    Returns
    -------
    ndarray
        The shape of both inputs broadcast; of their promoted dtype.

    Examples
    --------
    >>> from gluonx import np
    >>> np.power(np.array([1.0, 2.0, 3.0]), 2).tolist()
    [1.0, 4.0, 9.0]
    """
    if type(x2) is int and abs(x2) <= 64 and isinstance(x1, ndarray) and not kwargs:
        result = invoke(_integer_power.bind(exponent=x2), (x1,))
        return result if out is None else write_out("np.power", out, result)
    return _any_power(x1, x2, out, **kwargs)


pow = power

_where = F.where


def where(condition: Any, x: ArrayLike | None = None, y: ArrayLike | None = None) -> Any:
    """Return elements of `x` where `condition` is True and of `y` elsewhere.

    With `condition` alone, the indices where it is True.

    Returns
    -------
    ndarray or tuple of ndarray
        The shape of all three inputs broadcast, and the promoted dtype of `x` and `y`. With `condition` alone the
        indices of its True elements, an array for each axis.

    Raises
    ------
    ValueError
        If only one of `x` and `y` is given.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.array([-1.0, 2.0])
    >>> np.where(x > 0, x, 0.0).tolist()
    [0.0, 2.0]
    """
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("np.where: give both x and y, or neither.")
    scalar = [not isinstance(v, ndarray) and onp.isscalar(v) for v in (x, y)]  # isscalar asks 32 types about an array
    if all(scalar):
        return _where(
            condition, *[float(v) if isinstance(v, (bool, int)) else v for v in (x, y)]
        )  # float32, as in MXNet
    condition = as_leaf(condition)
    if condition.dtype != bool:
        condition = condition != 0
    given: list[Any] = [v if is_scalar else as_leaf(v) for v, is_scalar in zip((x, y), scalar, strict=True)]
    return invoke(get("where").bind(), (condition, *given))


_OTHER = {"b": "The array to compare with."}


@register(
    "select_first",
    gives="input",
    shape="that of all inputs, broadcast",
    doc="Return the element of the first choice whose condition holds, of the last array where none does.",
    example=("np.select([np.array([True, False])], [np.array([1.0, 2.0])], 0).tolist()", "[1.0, 0.0]"),
)
def _select(*arrays: Array) -> Array:
    half = len(arrays) // 2
    return jnp.select([c != 0 for c in arrays[:half]], list(arrays[half:-1]), arrays[-1])


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: ArrayLike = 0) -> ndarray:
    """Return for each position the element of the first choice whose condition is True there, else `default`.

    Returns
    -------
    ndarray
        The shape of the conditions and choices broadcast.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.array([-1.0, 0.0, 2.0])
    >>> np.select([x < 0, x > 0], [-x, x * 10], 5.0).tolist()
    [1.0, 5.0, 20.0]
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"np.select: {len(condlist)} conditions, but {len(choicelist)} choices.")
    return invoke(_select.bind(), tuple([as_leaf(v) for v in (*condlist, *choicelist, default)]))


@register(
    "choose",
    shape="that of `a` and the choices, broadcast",
    meaning={
        "choices": "The arrays to pick from, which are broadcast to one shape.",
        "mode": "'clip' or 'wrap': an index out of range takes the nearest choice, or counts on from the other end.",
    },
    doc="Return elements of the choices, picked by the indices `a`.",
    example=("np.choose(np.array([1, 0]), [np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist()", "[3.0, 2.0]"),
)
def _choose(a: Array, *choices: Array, mode: str = "clip") -> Array:
    return jnp.choose(whole(a), list(choices), mode=mode)


def choose(a: Any, choices: Sequence[Any], out: ndarray | None = None, mode: str = "raise") -> ndarray:
    """Return elements picked from `choices` by the indices `a`.

    With ``mode="raise"``, indices with known values raise if they are out of range; others take the nearest choice,
    since a compiled program cannot raise.

    Returns
    -------
    ndarray
        The shape of `a` and the choices broadcast.

    Raises
    ------
    BadIndexError

    Examples
    --------
    >>> from gluonx import np
    >>> np.choose(np.array([0, 1]), [np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist()
    [1.0, 4.0]
    """
    bound, a = _choose.bind(mode="clip" if mode == "raise" else mode), as_leaf(a)
    if mode == "raise":
        index_checks.look("np.choose", a, len(choices), None, 0)
    result = invoke(bound, (a, *[as_leaf(c) for c in choices]))
    return result if out is None else write_out("np.choose", out, result)


def piecewise(
    x: ArrayLike, condlist: ArrayLike | Sequence[ArrayLike], funclist: Sequence[Any], *args: object, **kw: object
) -> ndarray:
    """Return `x` with another function (or number) applied wherever another condition is True.

    Returns
    -------
    ndarray
        Of the shape and dtype of `x`.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.array([-1.0, 2.0])
    >>> np.piecewise(x, [x < 0, x >= 0], [0.0, lambda x: x * x]).tolist()
    [0.0, 4.0]
    """
    x = asarray(x)
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"np.piecewise: {len(conditions)} conditions need as many functions, or one more; got {len(funclist)}."
        )
    values: list[Any] = [f(x, *args, **kw) if callable(f) else f for f in funclist]
    result: Any = values.pop() if len(values) > len(conditions) else 0
    # The last condition that holds decides, as in NumPy.
    for condition, value in zip(conditions, values, strict=True):
        result = _where(condition, value, result)
    return result.astype(x.dtype)


# -- contractions -----------------------------------------------------------------------------------------------------


def einsum(
    subscripts: str,
    *operands: ArrayLike,
    out: ndarray | None = None,
    optimize: object = "auto",
    precision: object = None,
    preferred_element_type: DTypeLike = None,
) -> ndarray:
    """Return a sum of products, written in Einstein's notation.

    Returns
    -------
    ndarray
        An axis for each letter of the output, in its order.

    Examples
    --------
    >>> from gluonx import np
    >>> np.einsum("ij,j->i", np.ones((2, 3)), np.ones(3)).tolist()
    [3.0, 3.0]
    """
    if not isinstance(subscripts, str):
        raise TypeError(f"np.einsum: a string such as 'ij,jk->ik' was expected first, got {type(subscripts).__name__}.")
    bound = get("einsum").bind(
        subscripts=subscripts,
        optimize="auto" if optimize in (True, False) else as_static("optimize", optimize),
        precision=precision,
        preferred_element_type=as_static("preferred_element_type", preferred_element_type),
    )
    result = invoke(bound, tuple([as_leaf(o) for o in operands]))
    return result if out is None else write_out("np.einsum", out, result)


def einsum_path(
    subscripts: str,
    *operands: ArrayLike,
    optimize: bool | Literal["greedy", "optimal"] | Sequence[Any] | None = "greedy",
) -> tuple[list[Any], str]:
    """Return a good order for computing `einsum` (see ``numpy.einsum_path``); it depends on the shapes alone.

    Returns
    -------
    tuple
        The path, which begins with 'einsum_path', and a text that describes it.

    Examples
    --------
    >>> from gluonx import np
    >>> np.einsum_path("ij,jk", np.ones((2, 3)), np.ones((3, 4)))[0]
    ['einsum_path', (0, 1)]
    """
    return onp.einsum_path(subscripts, *[onp.empty(onp.shape(o), onp.float32) for o in operands], optimize=optimize)


@register(
    "block",
    gives="input",
    shape="that of the blocks side by side",
    meaning={"nesting": "How the blocks are nested: lists of their numbers."},
    doc="Return an array put together of nested lists of blocks.",
    example=("np.block([np.array([1.0]), np.array([2.0, 3.0])]).tolist()", "[1.0, 2.0, 3.0]"),
)
def _block(*arrays: Array, nesting: tuple[Any, ...] | None) -> Array:
    parts = iter(arrays)

    def build(level: tuple[Any, ...] | None) -> Array | list[Any]:
        return next(parts) if level is None else [build(item) for item in level]

    return jnp.block(build(nesting))


def block(arrays: Sequence[Any]) -> ndarray:
    """Concatenate nested lists of blocks to one array.

    Returns
    -------
    ndarray
        The blocks of innermost lists joined along the last axis, of outer ones along the axes before it.

    Examples
    --------
    >>> from gluonx import np
    >>> np.block([[np.ones((1, 1)), np.zeros((1, 2))]]).tolist()
    [[1.0, 0.0, 0.0]]
    """
    leaves: list[Any] = []

    def nest(level: object) -> tuple[Any, ...] | None:
        if isinstance(level, list):
            return tuple([nest(item) for item in level])
        leaves.append(level)
        return None

    return invoke(_block.bind(nesting=nest(arrays)), tuple(leaves))


# -- histograms -------------------------------------------------------------------------------------------------------

_histogram = register(
    "histogram",
    shape="``(bins,)`` for the counts, ``(bins + 1,)`` for the edges",
    meaning={
        "edges": "The edges of the bins, ascending; if given, `bins` and `range` are not used.",
        "density": "Whether the counts are divided such that the areas of the bars sum to one.",
        "range": "The outer edges; the least and the largest element by default.",
    },
    doc="Count by bins, and give the edges; without `edges` there are `bins` equal ones.",
    example=("np.histogram(np.array([1.0, 2.0, 4.0]), bins=3)[0].tolist()", "[1, 1, 1]"),
    nout=2,
    wide=True,
)(_histogram_rule)
_histogram_edges = register(
    "histogram_bin_edges",
    gives="float",
    shape="``(bins + 1,)``",
    meaning={
        "edges": "The edges of the bins, which are returned if given.",
        "range": "The outer edges; the least and the largest element by default.",
    },
    doc="Return the edges of a histogram's bins.",
    example=("np.histogram_bin_edges(np.array([1.0, 4.0]), bins=3).tolist()", "[1.0, 2.0, 3.0, 4.0]"),
)(_edges_rule)


def _binned(
    op: Op, a: ArrayLike, bins: ArrayLike, range: Sequence[float] | None, weights: ArrayLike | None, **statics: object
) -> Any:
    counted = isinstance(bins, (int, onp.integer))
    bound = op.bind(bins=int(bins) if counted else 10, range=as_static("range", range), **statics)
    return invoke(
        bound, (as_leaf(a), None if counted else as_leaf(bins), None if weights is None else as_leaf(weights))
    )


def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[float] | None = None,
    normed: bool | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[ndarray, ndarray]:
    """Count the elements that fall into each bin, and return the counts and the edges of the bins.

    Parameters
    ----------
    a : ndarray
    bins : int or ndarray
        The number of bins, or their edges.
    range : pair of float, optional
        The outer edges; the least and the largest element by default.
    normed : bool, optional
        The older name of `density`.
    weights : ndarray, optional
        The weight of each element.
    density : bool, optional
        Whether the areas are to sum to one.

    Returns
    -------
    tuple of ndarray
        The counts, of shape ``(bins,)``, and the edges, of shape ``(bins + 1,)``.

    Examples
    --------
    >>> from gluonx import np
    >>> counts, edges = np.histogram(np.array([0.0, 1.0, 1.0, 2.0]), bins=2)
    >>> counts.tolist(), edges.tolist()
    ([1, 3], [0.0, 1.0, 2.0])
    """
    return _binned(_histogram, a, bins, range, weights, density=density or normed)


def histogram_bin_edges(
    a: ArrayLike, bins: ArrayLike = 10, range: Sequence[float] | None = None, weights: ArrayLike | None = None
) -> ndarray:
    """Return the edges that `histogram` would use.

    Returns
    -------
    ndarray
        Of shape ``(bins + 1,)``.

    Examples
    --------
    >>> from gluonx import np
    >>> np.histogram_bin_edges(np.array([0.0, 4.0]), 2).tolist()
    [0.0, 2.0, 4.0]
    """
    return _binned(_histogram_edges, a, bins, range, weights)


# -- comparisons that answer with a bool ------------------------------------------------------------------------------


@register(
    "all_close",
    shape="()",
    gives="bool",
    meaning=_OTHER,
    doc="Return whether all elements agree within a tolerance.",
    example=("np.allclose(np.array([1.0, 2.0]), np.array([1.0, 2.0]))", "True"),
    stands_for="`numpy.allclose`",
)
def _all_close(a: Array, b: Array, rtol: Array, atol: Array, *, equal_nan: bool = False) -> Array:
    return jnp.allclose(a, b, rtol, atol, equal_nan)


@register(
    "all_equal",
    shape="()",
    gives="bool",
    meaning=_OTHER,
    doc="Return whether two arrays have one shape and equal elements.",
    example=("np.array_equal(np.array([1.0, 2.0]), np.array([1.0, 3.0]))", "False"),
    stands_for="`numpy.array_equal`",
)
def _all_equal(a: Array, b: Array, *, equal_nan: bool = False) -> Array:
    return jnp.array_equal(a, b, equal_nan)


@register(
    "all_equivalent",
    shape="()",
    gives="bool",
    meaning=_OTHER,
    doc="Return whether two arrays are equal after broadcasting.",
    example=("np.array_equiv(np.array([1.0, 1.0]), np.array([1.0]))", "True"),
    stands_for="`numpy.array_equiv`",
)
def _all_equivalent(a: Array, b: Array) -> Array:
    return jnp.array_equiv(*aligned(a, b))


def _answer(flag: ndarray) -> bool | ndarray:
    """Return a bool; in a traced block, which has no values, the traced boolean."""
    return flag if isinstance(flag.value, Tracer) else bool(flag)


def allclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool | ndarray:
    """Compare two arrays within a tolerance, ``|a - b| <= atol + rtol * |b|``; the answer is read at once.

    Returns
    -------
    bool
        Whether all elements agree.

    Examples
    --------
    >>> from gluonx import np
    >>> np.allclose(np.ones(2), np.ones(2) + 1e-9)
    True
    """
    return _answer(invoke(_all_close.bind(equal_nan=bool(equal_nan)), (as_leaf(a), as_leaf(b), rtol, atol)))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool | ndarray:
    """Return whether two arrays have the same shape and elements; the answer is read at once.

    Returns
    -------
    bool
        Whether shapes and elements are equal.

    Examples
    --------
    >>> from gluonx import np
    >>> np.array_equal(np.ones(2), np.ones(3))
    False
    """
    return _answer(invoke(_all_equal.bind(equal_nan=bool(equal_nan)), (as_leaf(a1), as_leaf(a2))))


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool | ndarray:
    """Return whether two arrays are equal after broadcasting; the answer is read at once.

    Returns
    -------
    bool
        Whether the elements are equal.

    Examples
    --------
    >>> from gluonx import np
    >>> np.array_equiv(np.ones(2), np.ones((3, 2)))
    True
    """
    return _answer(invoke(_all_equivalent.bind(), (as_leaf(a1), as_leaf(a2))))


# -- taking out and putting in ----------------------------------------------------------------------------------------


def delete(arr: Any, obj: ArrayLike, axis: int | None = None) -> ndarray:
    """Return `arr` without the elements or slices that `obj` (a number, a slice, indices, a mask) selects.

    Returns
    -------
    ndarray
        As `arr`, shorter along `axis`; flattened without one.

    Raises
    ------
    BadIndexError
        If an index is out of range.
    ShapeError
        If a mask is not as long as the axis.

    Examples
    --------
    >>> from gluonx import np
    >>> np.delete(np.array([1.0, 2.0, 3.0]), 1).tolist()
    [1.0, 3.0]
    """
    arr = asarray(arr)
    if axis is None:
        arr, axis = F.ravel(arr), 0
    size = arr.shape[axis]
    mask = onp.asarray(on_host("delete", obj))
    if mask.dtype == bool and mask.shape != (size,):
        raise ShapeError(f"np.delete: a mask for axis {axis} has shape {(size,)}, but one of shape {mask.shape} came.")
    gone = as_indices("delete", obj, size)
    far = gone[(gone < -size) | (gone >= size)]
    if far.size:
        raise BadIndexError(f"np.delete: index {far.flat[0]} is out of bounds for axis {axis} with size {size}")
    return F.take(arr, onp.delete(onp.arange(size), gone).astype(onp.int32), axis=axis)


@register(
    "insert",
    shape="as the first input, longer along `axis`; a vector if that is None",
    gives="input",
    meaning={
        "arr": "The array to insert into.",
        "obj": "The positions, in the old array, before which values are inserted.",
    },
    doc="Return the array with values put in before the positions `obj`.",
    example=("np.insert(np.array([1.0, 3.0]), 1, 2.0).tolist()", "[1.0, 2.0, 3.0]"),
)
def _insert(arr: Array, values: Array, *, obj: ArrayLike, axis: int | None = None) -> Array:
    at = obj if isinstance(obj, int) else onp.asarray(obj)
    return jnp.insert(arr, at, values.astype(arr.dtype), axis)


def insert(arr: ArrayLike, obj: ArrayLike, values: ArrayLike, axis: int | None = None) -> ndarray:
    """Return `arr` with `values` inserted before the positions that `obj` (a number, a slice, indices) gives.

    Returns
    -------
    ndarray
        As `arr`, longer along `axis`; flattened without one.

    Raises
    ------
    BadIndexError
        If a position is out of range.

    Examples
    --------
    >>> from gluonx import np
    >>> np.insert(np.array([1.0, 2.0]), 1, 9.0).tolist()
    [1.0, 9.0, 2.0]
    """
    arr = asarray(arr)
    size = arr.size if axis is None else arr.shape[axis]
    at = as_indices("insert", obj, size)
    far = onp.asarray(at)[(onp.asarray(at) < -size) | (onp.asarray(at) > size)]
    if far.size:
        raise BadIndexError(f"np.insert: index {far.flat[0]} is out of bounds for an axis of size {size}")
    return invoke(_insert.bind(obj=as_static("obj", at), axis=axis), (arr, as_leaf(values)))


def _flat(attrs: Attrs, operands: Operands) -> Sequence[Bounds]:
    return along_axis(1, shape_of(operands[0]), None, True) if attrs["mode"] is None else ()


@register(
    "put",
    shape="as the first input",
    meaning={
        "mode": "For an index out of range: 'wrap' counts on from the other end, 'clip' takes the nearest element."
    },
    doc="Return the array with values written at flat indices.",
    example=("npx.put(np.zeros(3), np.array([1]), np.array([5.0])).tolist()", "[0.0, 5.0, 0.0]"),
    index=Index(1, _flat),
)
def _put(a: Array, indices: Array, values: Array, *, mode: str | None = None) -> Array:
    return jnp.put(a, whole(indices), values.astype(a.dtype), mode=mode, inplace=False)


@register(
    "place",
    shape="as the first input",
    meaning={"mask": "True, or not zero, where a value is written."},
    doc="Return the array with values written where the mask holds.",
    example=("npx.place(np.zeros(3), np.array([True, False, True]), np.array([1.0, 2.0])).tolist()", "[1.0, 0.0, 2.0]"),
)
def _position(a: Array, mask: Array, values: Array) -> Array:
    return jnp.place(a, mask != 0, values.astype(a.dtype), inplace=False)


@register(
    "put_along_axis",
    shape="as the first input",
    doc="Return the array with values written at indices along an axis.",
    example=(
        "npx.put_along_axis(np.zeros((2, 2)), np.array([[1], [0]]), np.array([[5.0], [6.0]]), axis=1).tolist()",
        "[[0.0, 5.0], [6.0, 0.0]]",
    ),
    index=Index(1, along()),
)
def _put_along_axis(a: Array, indices: Array, values: Array, *, axis: int | None) -> Array:
    return jnp.put_along_axis(a, whole(indices), values.astype(a.dtype), axis, inplace=False)


@register(
    "fill_diagonal",
    shape="as the first input",
    meaning={
        "val": "The number, or the vector, that is written.",
        "wrap": "Whether the diagonal of a tall matrix starts again, one row after it has ended.",
    },
    doc="Return the array with its main diagonal overwritten.",
    example=("npx.fill_diagonal(np.zeros((2, 2)), np.array(3.0)).tolist()", "[[3.0, 0.0], [0.0, 3.0]]"),
)
def _fill_diagonal(a: Array, val: Array, *, wrap: bool = False) -> Array:
    if not wrap or a.ndim != 2:
        return jnp.fill_diagonal(a, jnp.asarray(val, a.dtype), wrap=False, inplace=False)
    positions = jnp.arange(0, a.size, a.shape[1] + 1)  # with `wrap` the diagonal starts again after one row without it
    values = jnp.resize(jnp.asarray(val, a.dtype), positions.shape)
    return a.reshape(-1).at[positions].set(values).reshape(a.shape)


def put(a: ndarray, ind: ArrayLike, v: ArrayLike, mode: str | None = None) -> None:
    """Write `v` at the flat indices `ind` of `a`, in place.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.zeros(3)
    >>> np.put(x, np.array([0, 2]), np.array([5.0, 6.0]))
    >>> x.tolist()
    [5.0, 0.0, 6.0]
    """
    a[...] = invoke(_put.bind(mode=None if mode == "raise" else mode), (a, as_leaf(ind), as_leaf(v)))


def place(arr: ndarray, mask: ArrayLike, vals: ArrayLike) -> None:
    """Write `vals`, repeated as needed, where `mask` is True, in place.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> np.place(x, x > 1, np.array([0.0]))
    >>> x.tolist()
    [1.0, 0.0, 0.0]
    """
    arr[...] = invoke(_position.bind(), (arr, as_leaf(mask), as_leaf(vals)))


def put_along_axis(arr: ndarray, indices: ArrayLike, values: ArrayLike, axis: int | None) -> None:
    """Write `values` at indices along an axis, in place.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.zeros((2, 2))
    >>> np.put_along_axis(x, np.array([[1], [0]], dtype="int32"), np.array([[5.0], [6.0]]), axis=1)
    >>> x.tolist()
    [[0.0, 5.0], [6.0, 0.0]]
    """
    arr[...] = invoke(_put_along_axis.bind(axis=axis), (arr, as_leaf(indices), as_leaf(values)))


def fill_diagonal(a: ndarray, val: ArrayLike, wrap: bool = False) -> None:
    """Write `val` on the diagonal, in place.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.zeros((2, 2))
    >>> np.fill_diagonal(x, 1)
    >>> x.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    a[...] = invoke(_fill_diagonal.bind(wrap=bool(wrap)), (a, as_leaf(val)))


# -- users' functions -------------------------------------------------------------------------------------------------


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: int | list[int] | tuple[int, ...]) -> ndarray:
    """Apply `func(a, axis)` for one axis after the other.

    Returns
    -------
    ndarray
        With as many axes as `a`.

    Examples
    --------
    >>> from gluonx import np
    >>> np.apply_over_axes(np.sum, np.ones((2, 3)), [0, 1]).tolist()
    [[6.0]]
    """
    a = asarray(a)
    for axis in as_static("axes", axes) if isinstance(axes, (list, tuple)) else (axes,):
        axis = axis + a.ndim if axis < 0 else axis
        result = func(a, axis)
        a = result if result.ndim == a.ndim else F.expand_dims(result, axis)
    return a


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: object, **kwargs: object) -> ndarray:
    """Apply `func1d`, a function of vectors, to every vector along an axis; it is called once for each.

    Returns
    -------
    ndarray
        As `arr`, with the result of `func1d` in place of the axis.

    Examples
    --------
    >>> from gluonx import np
    >>> np.apply_along_axis(lambda v: v.sum(), 1, np.ones((2, 3))).tolist()
    [3.0, 3.0]
    """
    arr = asarray(arr)
    axis = axis + arr.ndim if axis < 0 else axis
    arr = F.moveaxis(arr, axis, -1)
    outer = arr.shape[:-1]
    rows = F.reshape(arr, (-1, arr.shape[-1]))
    results = F.stack([asarray(func1d(rows[i], *args, **kwargs)) for i in range(rows.shape[0])])
    inner = results.shape[1:]
    results = F.reshape(results, outer + inner)
    if not inner:
        return results
    return F.moveaxis(results, tuple(range(len(outer), results.ndim)), tuple(range(axis, axis + len(inner))))


def _opened(result: object) -> Any:
    return jax.tree.map(
        lambda h: h.value if isinstance(h, ndarray) else h, result, is_leaf=lambda h: isinstance(h, ndarray)
    )


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: object = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """Return `pyfunc`, a function of scalars (or as `signature` says), as one of arrays.

    See ``jax.numpy.vectorize``.

    Returns
    -------
    callable
        A function of arrays, which are broadcast.

    Examples
    --------
    >>> from gluonx import np
    >>> np.vectorize(lambda a: a * a)(np.array([-1.0, 2.0])).tolist()
    [1.0, 4.0]
    """

    def scalars(*raw: object) -> Any:
        return _opened(pyfunc(*[new_handle(r) if isinstance(r, jax.Array) else r for r in raw]))

    over = jnp.vectorize(scalars, excluded=excluded, signature=signature)
    run = DerivedOp(getattr(pyfunc, "__name__", "vectorized"), lambda *arrays: over(*arrays))
    return lambda *args: invoke(run, tuple([as_leaf(a) for a in args]))


def frompyfunc(func: Callable[..., Any], nin: int, nout: int, *, identity: object = None) -> Callable[..., Any]:
    """Return `func`, a function of `nin` scalars with `nout` results, as a function of arrays.

    Returns
    -------
    callable
        A function of arrays, which are broadcast; with several results it returns a tuple.

    Examples
    --------
    >>> from gluonx import np
    >>> np.frompyfunc(lambda a, b: a * b, 2, 1)(np.array([1, 2]), np.array([3, 4])).tolist()
    [3.0, 8.0]
    """
    return vectorize(func)


# -- index tricks -----------------------------------------------------------------------------------------------------


@register(
    "concatenated_ranges",
    shape="that of the slices and arrays joined",
    meaning={"items": "The slices, with the numbers of arrays among them.", "name": "``r_`` or ``c_``."},
    doc="Return slices and numbers one behind the other, as ``np.r_`` and ``np.c_`` take them.",
    example=("np.r_[0:3, np.array([7.0])].tolist()", "[0.0, 1.0, 2.0, 7.0]"),
)
def _ranges(*arrays: Array, items: tuple[Any, ...], name: str) -> Array | tuple[Array, ...]:
    parts = iter(arrays)
    build = lambda i: next(parts) if i is None else slice(*i[1:]) if isinstance(i, tuple) else i  # noqa: E731
    single, key = items[0] == "single", [build(i) for i in items[1:]]
    result = getattr(jnp, name)[key[0] if single else tuple(key)]
    return tuple(result) if isinstance(result, list) else result


class _Ranges:
    """``np.r_``, ``np.c_``, ``np.mgrid``, ``np.ogrid``: arrays written as an index of slices, numbers and arrays."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, key: object) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        items = [
            k if isinstance(k, str) else ("slice", k.start, k.stop, k.step) if isinstance(k, slice) else None
            for k in keys
        ]
        leaves = tuple([as_leaf(k) for k, i in zip(keys, items, strict=True) if i is None])
        kind = "many" if isinstance(key, tuple) else "single"
        return invoke(_ranges.bind(items=(kind, *items), name=self._name), leaves)

    def __repr__(self) -> str:
        return f"gluonx.np.{self._name}"


r_ = _Ranges("r_")
c_ = _Ranges("c_")
mgrid = _Ranges("mgrid")
ogrid = _Ranges("ogrid")


__all__ = ["c_", "mgrid", "ogrid", "r_", *written(globals())]  # noqa: PLE0604
