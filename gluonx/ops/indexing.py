"""Indexing by arrays, and sequences of different lengths.

Indices may be floats with integer values, as everywhere in MXNet. No operator here raises for an index out of range,
since an XLA program cannot: reads take the nearest element, writes are dropped. Indices whose values are known before
an operator runs are checked by :mod:`gluonx.deferred.values.index_checks`.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.checks import Attrs, Bounds, Index, Operands, along, along_axis, coordinates, shape_of
from gluonx.ops.common import aligned, axis_of, choose
from gluonx.ops.registry import SAME, Front, register


def _whole(indices: Array) -> Array:
    return indices if jnp.issubdtype(indices.dtype, jnp.integer) else indices.astype(jnp.int32)


def from_end(indices: Array, size: int) -> Array:
    """Return indices in which negative ones are counted from the end of an axis of `size`."""
    if jnp.issubdtype(indices.dtype, jnp.unsignedinteger):
        return indices
    return jnp.where(indices < 0, indices + size, indices)


@register(
    methods=("take",),
    index=Index(1, along(mode="raise")),
    np=Front(order="x indices axis=None mode=raise out", shown={"x": "a"}),
    shape="`x` with the axes of `indices` in place of `axis`",
    stands_for="`stablehlo.gather`",
)
def take(x: Array, indices: Array, *, axis: int | None = 0, mode: str = "clip") -> Array:
    """Return the elements of `x` at `indices` along an axis (None: of the flattened array).

    Parameters
    ----------
    mode : {'clip', 'wrap', 'raise'}
        An index out of range takes the nearest element (negative ones the first), or counts on from the other end.
        With ``'raise'`` negative indices count from the end, and what is still out of range takes the nearest
        element here: a compiled program cannot raise.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.take(np.array([10.0, 20.0, 30.0]), np.array([2, 0])).tolist()
    [30.0, 10.0]
    """
    how = choose({"clip": "clip", "wrap": "wrap", "raise": "raise"}, mode, "take", "mode")
    indices = _whole(indices)
    if how == "raise":
        indices, how = from_end(indices, x.size if axis is None else x.shape[axis]), "clip"
    return jnp.take(x, indices, axis, mode=how)


@register(
    np=Front(order="x indices axis mode", shown={"x": "arr"}),
    npx=Front(hidden="mode"),
    index=Index(1, along(mode=None)),
    shape="as `indices`",
)
def take_along_axis(x: Array, indices: Array, *, axis: int | None = -1, mode: str | None = None) -> Array:
    """Return, for each vector along an axis, its elements at `indices`.

    Parameters
    ----------
    mode
        None, or 'fill', 'clip' or 'fast' as in ``jax.numpy``. With None indices out of range take the nearest element.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.take_along_axis(np.array([[3.0, 1.0], [2.0, 4.0]]), np.array([[1], [0]]), axis=1).tolist()
    [[1.0], [2.0]]
    """
    indices = _whole(indices)
    if mode is None:
        indices, mode = from_end(indices, x.size if axis is None else x.shape[axis]), "clip"
    return jnp.take_along_axis(x, indices, axis, mode=mode)


def _positions(name: str, x: Array, indices: Array) -> tuple[Array, ...]:
    if indices.ndim < 1 or indices.shape[0] > x.ndim:
        raise ShapeError(f"{name}: indices of shape {indices.shape} name more axes than data of shape {x.shape} has.")
    return tuple(_whole(indices))


@register(
    index=Index(1, coordinates),
    shape="indices.shape[1:] + x.shape[m:], m = indices.shape[0]",
    stands_for="`stablehlo.gather`",
)
def gather_nd(x: Array, indices: Array) -> Array:
    """Return the elements of `x` whose coordinates are the columns of `indices`.

    Parameters
    ----------
    indices : array, shape (m, ...)
        Coordinates along the first ``m`` axes; negative ones count from the end, others are kept within the array.

    Returns
    -------
    array, shape indices.shape[1:] + x.shape[m:]

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.gather_nd(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0, 1], [1, 0]])).tolist()
    [2.0, 3.0]
    """
    return x.at[_positions("gather_nd", x, indices)].get(mode="clip")


@register(
    index=Index(1, lambda attrs, _: (Bounds(1, tuple(attrs["shape"]), negative=True),)),
    shape="`shape`",
    stands_for="`stablehlo.scatter`",
)
def scatter_nd(x: Array, indices: Array, *, shape: Sequence[int]) -> Array:
    """Return zeros of `shape` with the elements of `x` at the columns of `indices` (coordinates as for `gather_nd`).

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.scatter_nd(np.array([5.0, 6.0]), np.array([[0, 1], [1, 0]]), shape=(2, 2)).tolist()
    [[0.0, 5.0], [6.0, 0.0]]
    """
    target = jnp.zeros(tuple(shape), x.dtype)
    return target.at[_positions("scatter_nd", target, indices)].set(x)


def _spread(x: Array, positions: tuple[Array, ...], value: Array) -> Array:
    shape = positions[0].shape + x.shape[len(positions) :]
    _, value = aligned(jnp.empty((1,) * len(shape)), value)
    return jnp.broadcast_to(value.astype(x.dtype), shape)


def _rows(ind: Array) -> Array:
    """Return coordinates with two axes; with fewer they are rows along the first axis."""
    return ind.reshape(1, -1) if ind.ndim < 2 else ind


_WRITE = Front(shown={"x": "a"})


def _written(attrs: Attrs, operands: Operands) -> Sequence[Bounds]:
    """Return the bounds of rows, or of coordinates in columns."""
    if len(shape_of(operands[1])) < 2:
        return along_axis(1, shape_of(operands[0]), 0, True)
    return coordinates(attrs, operands)


@register(amp="widest", npx=_WRITE, index=Index(1, _written), shape=SAME, stands_for="`stablehlo.scatter`")
def index_add(x: Array, ind: Array, val: Array) -> Array:
    """Return the array with `val` added at the coordinates in the columns of `ind`; repeated ones add up.

    A number or a vector as `ind` names rows, positions along the first axis.

    Parameters
    ----------
    ind
        Coordinates in columns, or numbers of rows.
    val
        The numbers to add.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.index_add(np.zeros((3,)), np.array([[0, 2]]), np.array([1.0, 2.0])).tolist()
    [1.0, 0.0, 2.0]
    """
    positions = _positions("index_add", x, _rows(ind))
    return x.at[positions].add(_spread(x, positions, val))


@register(amp="widest", npx=_WRITE, index=Index(1, _written), shape=SAME, stands_for="`stablehlo.scatter`")
def index_update(x: Array, ind: Array, val: Array) -> Array:
    """Return the array with `val` at the coordinates in the columns of `ind`, or in the rows that a vector `ind` names.

    Parameters
    ----------
    ind
        Coordinates in columns, or numbers of rows.
    val
        The numbers to write.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.index_update(np.zeros((3,)), np.array([[0, 2]]), np.array([1.0, 2.0])).tolist()
    [1.0, 0.0, 2.0]
    """
    positions = _positions("index_update", x, _rows(ind))
    return x.at[positions].set(_spread(x, positions, val))


@register(index=Index(1, along()), shape=SAME, stands_for="`stablehlo.scatter`")
def index_copy(x: Array, index: Array, new: Array) -> Array:
    """Return the array with the rows numbered `index` replaced by those of `new`.

    Parameters
    ----------
    new
        The rows to write.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.index_copy(np.zeros((3, 2)), np.array([2, 0]), np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]
    """
    return x.at[_whole(index)].set(new)


# -- sequences ------------------------------------------------------------------------------------------------------


def _sequence_axes(name: str, x: Array, axis: int, lengths: Array | None, use: bool) -> tuple[int, int]:
    """Return the axes of time and of batch, which are the first two."""
    axis = axis_of(axis, x.ndim, name)
    if axis > 1 or x.ndim < 2:
        raise ShapeError(
            f"{name}: axis, that of time, must be 0 or 1 and the batch the other, but is {axis} for {x.shape}."
        )
    if use:
        if lengths is None:
            raise ValueError(f"{name}: use_sequence_length=True needs the lengths as a second array.")
        if lengths.shape != (x.shape[1 - axis],):
            raise ShapeError(
                f"{name}: sequence_length has shape {lengths.shape}, but data of shape {x.shape} has another batch."
            )
    return axis, 1 - axis


def _lengths(sequence_length: Array | None, x: Array, batch: int) -> Array:
    """Return the lengths as integers, to broadcast along the axis of the batch."""
    assert sequence_length is not None, "checked by _sequence_axes"
    return _along(_whole(sequence_length), x.ndim, batch)


def _along(vector: Array, ndim: int, axis: int) -> Array:
    return vector.reshape([-1 if i == axis else 1 for i in range(ndim)])


@register(
    aliases=("SequenceMask",),
    moving=("value",),
    npx=Front(order="x sequence_length use_sequence_length value axis"),
    shape=SAME,
    stands_for="`stablehlo.select`",
    gives="input",
)
def sequence_mask(
    x: Array,
    sequence_length: Array | None = None,
    *,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
) -> Array:
    """Return the sequences with `value` in place of the elements beyond their lengths.

    Parameters
    ----------
    x : array, shape (time, batch, ...), or (batch, time, ...) with ``axis=1``
    sequence_length : array, shape (batch,), optional
    use_sequence_length : bool
        If False, the data are returned unchanged.
    value
        The number beyond the lengths.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.sequence_mask(np.ones((3, 2)), np.array([1, 3]), use_sequence_length=True).tolist()
    [[1.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    """
    time, batch = _sequence_axes("sequence_mask", x, axis, sequence_length, use_sequence_length)
    if not use_sequence_length:
        return x
    step = lax.broadcasted_iota(jnp.int32, [n if i == time else 1 for i, n in enumerate(x.shape)], time)
    inside = step < _lengths(sequence_length, x, batch)
    return jnp.where(inside, x, jnp.asarray(value, x.dtype))


@register(aliases=("SequenceLast",), shape="`x` without the axis of time", gives="input")
def sequence_last(
    x: Array, sequence_length: Array | None = None, *, use_sequence_length: bool = False, axis: int = 0
) -> Array:
    """Return the last element of each sequence, the first of an empty one; the layout is that of `sequence_mask`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.sequence_last(
    ...     np.arange(6).reshape(3, 2), np.array([1, 3]), use_sequence_length=True
    ... ).tolist()
    [0.0, 5.0]
    """
    time, batch = _sequence_axes("sequence_last", x, axis, sequence_length, use_sequence_length)
    if not use_sequence_length:
        return lax.index_in_dim(x, -1, time, keepdims=False)
    last = jnp.clip(_lengths(sequence_length, x, batch) - 1, 0, x.shape[time] - 1)
    return jnp.take_along_axis(x, last, time).squeeze(time)


@register(aliases=("SequenceReverse",), shape=SAME, gives="input")
def sequence_reverse(
    x: Array, sequence_length: Array | None = None, *, use_sequence_length: bool = False, axis: int = 0
) -> Array:
    """Return each sequence reversed within its length; the layout is that of `sequence_mask`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.sequence_reverse(
    ...     np.arange(6).reshape(3, 2), np.array([2, 3]), use_sequence_length=True
    ... ).tolist()
    [[2.0, 5.0], [0.0, 3.0], [4.0, 1.0]]
    """
    time, batch = _sequence_axes("sequence_reverse", x, axis, sequence_length, use_sequence_length)
    if not use_sequence_length:
        return jnp.flip(x, time)
    step = lax.broadcasted_iota(jnp.int32, [n if i < 2 else 1 for i, n in enumerate(x.shape)], time)
    length = _lengths(sequence_length, x, batch)
    return jnp.take_along_axis(x, jnp.where(step < length, length - 1 - step, step), time)
