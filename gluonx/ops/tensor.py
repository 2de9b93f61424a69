"""Tensors: their shape, joining and splitting, margins and slices.

Names and meanings are NumPy's. A parameter whose value may change from step to step (the bounds of ``clip``, the
branches of ``where``) is an array here; a parameter on which the result's shape depends is a static attribute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonx.dtype import canonical
from gluonx.errors import ShapeError
from gluonx.ops.common import aligned, axes_of, axis_of, converted, index_dtype
from gluonx.ops.registry import BROADCAST, FLAT, NONE, SAME, Front, register

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


Shape = tuple[int, ...]
Axis = int | Sequence[int] | None


# -- shape ---------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads the codes of `reshape` from left to right, and takes the axes of the old shape that they use."""

    def __init__(self, old: Shape, codes: Sequence[int], told: str) -> None:
        self.old, self.codes, self.told = old, list(codes), told
        self.new: list[int] = []
        self.at = 0
        self.unknown = -1

    def fail(self, why: str) -> ShapeError:
        return ShapeError(f"{self.told}: {why}.")

    def eat(self, count: int = 1) -> Shape:
        if self.at + count > len(self.old):
            raise self.fail("the new shape asks for more axes than the array has")
        self.at += count
        return self.old[self.at - count : self.at]

    def infer(self) -> None:
        if self.unknown >= 0:
            raise self.fail("only one length can be -1")
        self.unknown = len(self.new)
        self.new.append(1)

    def split(self) -> None:
        """Read -6: the next axis becomes two, whose lengths follow (one of them may be -1)."""
        if len(self.codes) < 2:
            raise self.fail("-6 needs two lengths after it")
        (n,), a, b = self.eat(), self.codes.pop(0), self.codes.pop(0)
        if a == b == -1:
            raise self.fail("only one of the two lengths after -6 can be -1")
        a, b = (n // b if a == -1 and b else a), (n // a if b == -1 and a else b)
        if a * b != n:
            raise self.fail(f"an axis of {n} cannot be split into {a} and {b}")
        self.new += [a, b]

    def step(self) -> None:
        code = self.codes.pop(0)
        if code >= 0:
            self.new.append(code)
            self.at += 1
        elif code == -1:
            self.infer()
            self.at += 1
        elif code == -2:
            self.new += self.eat()
        elif code == -3:
            if self.eat() != (1,):
                raise self.fail("-3 skips an axis of length 1 only")
        elif code == -4:
            self.new += self.old[self.at :]
            self.at = len(self.old)
        elif code == -5:
            self.new.append(math.prod(self.eat(2)))
        elif code == -6:
            self.split()
        else:
            raise self.fail(f"{code} is not a length or a code from -1 to -6")

    def read(self) -> Shape:
        while self.codes:
            self.step()
        size, rest = math.prod(self.old), math.prod(self.new)
        if self.unknown >= 0:
            if rest == 0 or size % rest:
                raise self.fail(f"{size} elements cannot fill {tuple(self.new)}, where one length is open")
            self.new[self.unknown] = size // rest
        elif rest != size:
            raise self.fail(f"{size} elements cannot fill {tuple(self.new)}")
        return tuple(self.new)


def new_shape(old: Shape, codes: int | Sequence[int], reverse: bool = False) -> Shape:
    """Return the shape that `codes` make of the shape `old`; see `reshape`.

    Raises
    ------
    ShapeError
        If they do not fit.

    Examples
    --------
    >>> new_shape((8, 3, 4), (-5, -2))
    (24, 4)
    >>> new_shape((8, 3, 3, 3, 4, 4), (-6, 2, -1, -4))
    (2, 4, 3, 3, 3, 4, 4)
    """
    codes = (codes,) if isinstance(codes, int) else tuple(codes)
    told = f"reshape of {old} to {codes}"
    if not reverse:
        return _Reader(tuple(old), codes, told).read()
    turned = list(codes[::-1])
    for i, code in enumerate(turned):  # read from the right too, -6 is before its two lengths
        if code == -6 and i >= 2:
            turned[i - 2 : i + 1] = [-6, turned[i - 2], turned[i - 1]]
    return _Reader(tuple(old[::-1]), turned, told).read()[::-1]


@register(
    np=Front(order="x newshape order out", shown={"x": "a"}, also={"shape": "newshape"}),
    npx=Front(order="x newshape reverse order", shown={"x": "a"}, also={"shape": "newshape"}),
    shape="`newshape`, -1 worked out (-2 to -6 as MXNet reads them)",
    gives="input",
)
def reshape(x: Array, *, newshape: int | Sequence[int], reverse: bool = False, order: str = "C") -> Array:
    """Return the same elements in another shape.

    Parameters
    ----------
    newshape : int or tuple of int
        Lengths, and codes, each for the next axis of the old shape: -1 infers one length from the others, -2 copies an
        axis, -3 skips one of length 1, -4 copies all that remain, -5 merges two, -6 splits one into the two lengths
        that follow.
    reverse : bool
        Read both shapes from the right.
    order : {'C', 'F', 'A'}
        The order in which elements are taken and put; 'A' is 'C'.

    Raises
    ------
    ShapeError
        If the number of elements does not fit.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.reshape(np.ones((2, 3)), (3, -1)).shape
    (3, 2)
    """
    return jnp.reshape(x, new_shape(x.shape, newshape, reverse), order="C" if order == "A" else order)


@register(
    methods=("reshape_like",),
    npx=Front(shown={"x": "lhs", "like": "rhs"}),
    shape="`like`, or `x` with the axes of `like` in a range",
    stands_for="`stablehlo.reshape`",
)
def reshape_like(
    x: Array,
    like: Array,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> Array:
    """Return the elements of `x` with its axes from `lhs_begin` to `lhs_end` replaced by those of `like`.

    Parameters
    ----------
    like
        The array that has the new lengths.
    lhs_begin, lhs_end
        The axes of `x` that are replaced; all by default.
    rhs_begin, rhs_end
        The axes of `like` that replace them; all by default.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.reshape_like(np.ones((2, 3)), np.ones((3, 2))).shape
    (3, 2)
    """
    kept = range(x.ndim)[slice(lhs_begin, lhs_end)]
    new = like.shape[slice(rhs_begin, rhs_end)]
    shape = x.shape[: kept.start] + new + x.shape[max(kept.stop, kept.start) :]
    if math.prod(shape) != x.size:
        raise ShapeError(f"reshape_like: data of shape {x.shape} cannot take the shape {shape} after {like.shape}.")
    return x.reshape(shape)


@register(
    "batch_flatten",
    aliases=("flatten", "Flatten"),
    shape="(x.shape[0], the product of the others)",
    stands_for="`stablehlo.reshape`",
    gives="input",
)
def batch_flatten(x: Array) -> Array:
    """Join all axes but the first.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.batch_flatten(np.ones((2, 3, 4))).shape
    (2, 12)
    """
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


@register(
    methods=("expand_dims",),
    np=Front(order="x axis", shown={"x": "a"}),
    shape="`x` with 1 at each of `axis`",
    gives="input",
)
def expand_dims(x: Array, *, axis: int | Sequence[int]) -> Array:
    """Return the array with new axes of length 1 at the positions `axis` of the result.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.expand_dims(np.ones((2, 3)), 0).shape
    (1, 2, 3)
    """
    return jnp.expand_dims(x, axis)


@register(
    methods=("squeeze",),
    np=Front(order="x axis out", shown={"x": "a"}),
    shape="`x` without axes of length 1",
    gives="input",
)
def squeeze(x: Array, *, axis: Axis = None) -> Array:
    """Return the array without its axes of length 1, or without those named; 0 is allowed for an array without axes.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.squeeze(np.ones((1, 3, 1))).shape
    (3,)
    """
    return x if x.ndim == 0 and axis in (0, -1) else jnp.squeeze(x, axis)


@register(np=Front(order="x axes", shown={"x": "a"}), shape="`x` with its axes in the order of `axes`", gives="input")
def transpose(x: Array, *, axes: int | Sequence[int] | None = None) -> Array:
    """Return the axes in another order; reversed by default.

    Parameters
    ----------
    axes
        The old axes in their new order.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.transpose(np.ones((2, 3, 4))).shape
    (4, 3, 2)
    """
    return jnp.transpose(x, (axes,) if isinstance(axes, int) else axes or None)


@register(
    aliases=("SwapAxis",),
    methods=("swapaxes",),
    np=Front(order="x axis1= axis2=", shown={"x": "a"}),
    shape="`x` with two axes exchanged",
    gives="input",
)
def swapaxes(x: Array, *, axis1: int = 0, axis2: int = 1) -> Array:
    """Return the array with two axes exchanged.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.swapaxes(np.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return jnp.swapaxes(x, axis1, axis2)


@register(np=Front(order="x source destination", shown={"x": "a"}), shape="`x` with axes moved", gives="input")
def moveaxis(x: Array, *, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Return the array with some axes at other positions.

    Parameters
    ----------
    source
        The axes to move.
    destination
        Their positions in the result.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return jnp.moveaxis(x, source, destination)


@register(methods=("broadcast_to",), np=Front(order="x shape", shown={"x": "array"}), shape="`shape`", gives="input")
def broadcast_to(x: Array, *, shape: int | Sequence[int]) -> Array:
    """Repeat the array to `shape`, in which -2 keeps the length of the array's own axis, counted from the last.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.broadcast_to(np.ones((1, 3)), (2, 3)).shape
    (2, 3)
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if -2 in shape:
        missing = len(shape) - x.ndim
        own = [x.shape[i - missing] if d == -2 and i >= missing else d for i, d in enumerate(shape)]
    else:
        own = shape
    try:
        return jnp.broadcast_to(x, own)
    except ValueError:
        raise ShapeError(f"broadcast_to: an array of shape {x.shape} does not broadcast to {shape}.") from None


@register(
    methods=("broadcast_like",),
    npx=Front(shown={"x": "lhs", "like": "rhs"}),
    shape="as `like`, or as `x` with the lengths of `like` in `lhs_axes`",
    stands_for="`stablehlo.broadcast_in_dim`",
)
def broadcast_like(x: Array, like: Array, *, lhs_axes: Axis = None, rhs_axes: Axis = None) -> Array:
    """Return the array repeated to the shape of `like`; where axes are named, to the lengths of those only.

    Parameters
    ----------
    lhs_axes
        Axes of the array that get other lengths; all by default.
    rhs_axes
        The axes of `like` with these lengths.
    like
        The array that has the shape.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.broadcast_like(np.ones((2, 1)), np.ones((2, 3))).shape
    (2, 3)
    """
    if (lhs_axes is None) != (rhs_axes is None):
        raise ValueError("broadcast_like: lhs_axes and rhs_axes go together; one of them is None.")
    if lhs_axes is None or rhs_axes is None:
        shape = like.shape
    else:
        lengths = [like.shape[a] for a in axes_of(rhs_axes, like.ndim, "broadcast_like")]
        new = dict(zip(axes_of(lhs_axes, x.ndim, "broadcast_like"), lengths, strict=True))
        shape = tuple(new.get(i, d) for i, d in enumerate(x.shape))
    try:
        return jnp.broadcast_to(x, shape)
    except ValueError:
        raise ShapeError(f"broadcast_like: an array of shape {x.shape} does not broadcast to {shape}.") from None


@register(
    aliases=("Cast",),
    channels_last="each",
    shape=SAME,
    gradient="through `x`, from floats to floats",
    stands_for="`stablehlo.convert`",
    light=True,
)
def cast(x: Array, *, dtype: DTypeLike) -> Array:
    """Return the values in another element type. Floats are truncated towards zero.

    A number out of range of a small integer wraps round.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.cast(np.array([1.7, -1.7]), dtype="int32").tolist()
    [1, -1]
    """
    return converted(x, canonical(dtype))


@register(methods=("zeros_like",), shape=SAME, gradient=FLAT, gives="input")
def zeros_like(x: Array, *, dtype: DTypeLike = None) -> Array:
    """Return zeros in the shape of an array, and in its element type unless `dtype` is given.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.zeros_like(np.array([5.0, 6.0])).tolist()
    [0.0, 0.0]
    """
    return jnp.zeros_like(x, dtype=x.dtype if dtype is None else canonical(dtype))


@register(methods=("ones_like",), shape=SAME, gradient=FLAT, gives="input")
def ones_like(x: Array, *, dtype: DTypeLike = None) -> Array:
    """Return ones in the shape of an array, and in its element type unless `dtype` is given.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.ones_like(np.array([5.0, 6.0])).tolist()
    [1.0, 1.0]
    """
    return jnp.ones_like(x, dtype=x.dtype if dtype is None else canonical(dtype))


@register(shape=SAME)
def full_like(x: Array, fill_value: Array, *, dtype: DTypeLike = None) -> Array:
    """Return one value in the shape of an array, and in its element type unless `dtype` is given.

    Parameters
    ----------
    fill_value
        The number.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.full_like(np.ones((2,)), 7.0).tolist()
    [7.0, 7.0]
    """
    dtype = x.dtype if dtype is None else canonical(dtype)
    return jnp.broadcast_to(jnp.asarray(fill_value).astype(dtype), x.shape)


@register(
    moving=("start", "step"),
    npx=Front(order="x start step repeat ctx axis"),
    shape="as `x`, or (x.shape[axis],)",
    gradient=FLAT,
)
def arange_like(x: Array, *, start: float = 0.0, step: float = 1.0, repeat: int = 1, axis: int | None = None) -> Array:
    """Return equally spaced numbers in the shape of `x`, or as a vector as long as one of its axes.

    `repeat` is how often each number is repeated.

    Parameters
    ----------
    start
        The first number.
    step
        The distance of two numbers.
    repeat
        How often each number is repeated.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.arange_like(np.zeros((2, 3)), axis=1).tolist()
    [0.0, 1.0, 2.0]
    """
    count = x.size if axis is None else x.shape[axis_of(axis, x.ndim, "arange_like")]
    values = (jnp.arange(count) // repeat * step + start).astype(x.dtype)
    return values.reshape(x.shape) if axis is None else values


@register(wide=True, shape="(x.ndim,)", gradient=NONE, gives="int64")
def shape_array(x: Array) -> Array:
    """Return the shape as an array.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.shape_array(np.ones((2, 3))).tolist()
    [2, 3]
    """
    return jnp.asarray(x.shape, index_dtype())


# -- joining, splitting, repeating ---------------------------------------------------------------------------------


@register(
    "concatenate",
    aliases=("concat",),
    amp="widest",
    np=Front(order="arrays axis out dtype", shown={"arrays": "seq"}),
    npx=Front(hidden="dtype"),
    channels_last="axis",
    shape="as the inputs, their lengths along `axis` added up",
    light=True,
    gives="input",
)
def concatenate(*arrays: Array, axis: int | None = 0, dtype: DTypeLike = None) -> Array:
    """Join arrays end to end along an axis; they are flattened first if that is None.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.concatenate([np.array([1.0, 2.0]), np.array([3.0])]).tolist()
    [1.0, 2.0, 3.0]
    """
    if axis is None:
        return jnp.concatenate([a.reshape(-1) for a in arrays], dtype=dtype)
    _same_but(arrays, axis_of(axis, arrays[0].ndim, "concatenate"))
    return jnp.concatenate(arrays, axis, dtype=dtype)


def _same_but(arrays: Sequence[Array], axis: int) -> None:
    first = arrays[0].shape
    for a in arrays:
        if a.ndim != len(first) or any(
            m != n for i, (m, n) in enumerate(zip(a.shape, first, strict=True)) if i != axis
        ):
            raise ShapeError(
                f"concatenate: the arrays have shapes {', '.join(str(b.shape) for b in arrays)}, which may differ "
                f"along axis {axis} only."
            )


@register(
    amp="widest",
    np=Front(order="arrays axis out dtype"),
    npx=Front(hidden="dtype"),
    shape="the inputs' shape with their number at `axis`",
    light=True,
    gives="input",
)
def stack(*arrays: Array, axis: int = 0, dtype: DTypeLike = None) -> Array:
    """Join arrays of one shape along a new axis.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.stack([np.array([1.0, 2.0]), np.array([3.0, 4.0])], axis=1).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    if any(a.shape != arrays[0].shape for a in arrays):
        raise ShapeError(f"stack: the arrays must have one shape, but have {', '.join(str(a.shape) for a in arrays)}.")
    return jnp.stack(arrays, axis, dtype=dtype)


def _parts(attrs: Mapping[str, Any]) -> int:
    sections = attrs["indices_or_sections"]
    return sections if isinstance(sections, int) else len(sections) + 1


@register(
    nout=_parts,
    methods=("split",),
    np=Front(order="x indices_or_sections axis", shown={"x": "ary"}, listed=True),
    shape="parts of `x` along `axis`",
    gives="input",
)
def split(x: Array, *, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Array, ...]:
    """Split the array along an axis into so many equal parts, or at the given positions.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [part.tolist() for part in np.split(np.array([1.0, 2.0, 3.0, 4.0]), 2)]
    [[1.0, 2.0], [3.0, 4.0]]
    """
    axis = axis_of(axis, x.ndim, "split")
    if isinstance(indices_or_sections, int) and x.shape[axis] % indices_or_sections:
        raise ShapeError(
            f"split: axis {axis} of data of shape {x.shape} does not make {indices_or_sections} equal parts."
        )
    if isinstance(indices_or_sections, int):
        return tuple(jnp.split(x, indices_or_sections, axis))
    return cut(x, indices_or_sections, axis)


def cut(x: Array, positions: Sequence[int], axis: int) -> tuple[Array, ...]:
    """Return the parts between positions along an axis.

    A part that ends before it begins, or begins past the end, is empty.
    """
    n = x.shape[axis]
    starts = [0, *[stop_index(p, n) for p in positions]]
    stops = [*starts[1:], n]
    return tuple([lax.slice_in_dim(x, a, max(a, b), axis=axis) for a, b in zip(starts, stops, strict=True)])


@register(
    aliases=("SliceChannel",),
    nout=lambda attrs: attrs["num_outputs"],
    npx=Front(order="x num_outputs axis squeeze_axis"),
    shape="num_outputs parts of `x` along `axis`",
    stands_for="`numpy.split`",
    gives="input",
)
def slice_channel(x: Array, *, num_outputs: int, axis: int = 1, squeeze_axis: bool = False) -> tuple[Array, ...]:
    """Split the array into `num_outputs` equal parts along an axis, which each part loses with `squeeze_axis`.

    Parameters
    ----------
    num_outputs
        The number of parts, equally long.
    squeeze_axis
        Whether the axis is dropped; each part has length 1 then.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [part.tolist() for part in npx.slice_channel(np.array([[1.0, 2.0]]), num_outputs=2)]
    [[[1.0]], [[2.0]]]
    """
    axis = axis_of(axis, x.ndim, "slice_channel")
    if x.shape[axis] % num_outputs or (squeeze_axis and x.shape[axis] != num_outputs):
        raise ShapeError(
            f"slice_channel: axis {axis} of data of shape {x.shape} does not make {num_outputs} such parts."
        )
    parts = jnp.split(x, num_outputs, axis)
    return tuple(p.squeeze(axis) for p in parts) if squeeze_axis else tuple(parts)


@register(
    methods=("tile",),
    np=Front(order="x reps", shown={"x": "A"}),
    shape="the lengths of `x` times `reps`",
    gives="input",
)
def tile(x: Array, *, reps: int | Sequence[int]) -> Array:
    """Return the array repeated as a tile.

    Parameters
    ----------
    reps
        How often, for each axis; the last number is that of the last axis.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.tile(np.array([1.0, 2.0]), 2).tolist()
    [1.0, 2.0, 1.0, 2.0]
    """
    return jnp.tile(x, reps)


@register(
    methods=("repeat",),
    np=Front(order="x repeats axis", shown={"x": "a"}),
    shape="`x` with the length of `axis` times `repeats`",
    gives="input",
)
def repeat(x: Array, *, repeats: int | Sequence[int], axis: int | None = None) -> Array:
    """Repeat each element, along an axis or of the flattened array.

    Parameters
    ----------
    repeats
        How often; one number, or one for each element along the axis.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.repeat(np.array([1.0, 2.0]), 2).tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    if not isinstance(repeats, int):
        return jnp.repeat(x, jnp.asarray(repeats), axis, total_repeat_length=sum(repeats))
    return jnp.repeat(x, repeats, axis)


def _check_reflection(x: Array, pad_width: Any) -> None:
    for n, margin in zip(x.shape, np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)), strict=True):
        if max(margin) >= max(n, 1):
            raise ShapeError(f"pad: an axis of {n} has no {max(margin)} further elements to reflect, in {x.shape}.")


@register(
    aliases=("Pad",),
    npx=Front(order="x mode pad_width constant_value"),
    shape="`x` with the margins added",
    gives="input",
)
def pad(x: Array, constant_value: Array | None = None, *, pad_width: Any, mode: str = "constant") -> Array:
    """Return the array with margins added before and after it along its axes.

    Parameters
    ----------
    constant_value : scalar, optional
        The number in the margins in mode ``'constant'``; 0 by default.
    pad_width : int, or a pair for each axis, or all the pairs in one flat tuple
        How many positions before and after.
    mode : {'constant', 'edge', 'reflect', 'symmetric', 'wrap', 'maximum', 'minimum', 'mean', ...}
        As `numpy.pad`'s.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.pad(np.array([[1.0, 2.0]]), pad_width=((0, 0), (1, 1))).tolist()
    [[0.0, 1.0, 2.0, 0.0]]
    """
    if isinstance(pad_width, tuple) and x.ndim > 1 and len(pad_width) == 2 * x.ndim and isinstance(pad_width[0], int):
        pad_width = tuple(zip(pad_width[::2], pad_width[1::2], strict=True))
    if mode == "reflect":
        _check_reflection(x, pad_width)
    if mode != "constant":
        return jnp.pad(x, pad_width, mode)
    value = 0 if constant_value is None else jnp.asarray(constant_value).astype(x.dtype)
    return jnp.pad(x, pad_width, constant_values=value)


@register(methods=("flip",), np=Front(order="x axis out", shown={"x": "m"}), shape=SAME, gives="input")
def flip(x: Array, *, axis: Axis = None) -> Array:
    """Return the elements in opposite order along axes.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.flip(np.array([1.0, 2.0, 3.0])).tolist()
    [3.0, 2.0, 1.0]
    """
    return jnp.flip(x, axis)


@register(shape=SAME, gives="input")
def roll(x: Array, *, shift: int | Sequence[int], axis: Axis = None) -> Array:
    """Move the elements along axes; those that leave at one end come in at the other.

    Parameters
    ----------
    shift
        How many positions the elements move; one number, or one for each axis.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.roll(np.array([1.0, 2.0, 3.0]), 1).tolist()
    [3.0, 1.0, 2.0]
    """
    return jnp.roll(x, shift, axis)


def _matrix(x: Array) -> Array:
    return jnp.broadcast_to(x, (x.shape[0], x.shape[0])) if x.ndim == 1 else x


@register(np=Front(order="x k", shown={"x": "m"}), shape=SAME, gives="input")
def tril(x: Array, *, k: int = 0) -> Array:
    """Return the lower triangle of the last two axes; 0 above. A vector is every row.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.tril(np.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return jnp.tril(_matrix(x), k)


@register(np=Front(order="x k", shown={"x": "m"}), shape=SAME, gives="input")
def triu(x: Array, *, k: int = 0) -> Array:
    """Return the upper triangle of the last two axes; 0 below. A vector is every row.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.triu(np.ones((2, 2))).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return jnp.triu(_matrix(x), k)


@register(shape="(n, c / b**2, b h, b w)", stands_for="`stablehlo.reshape`, `transpose`", gives="input")
def depth_to_space(x: Array, *, block_size: int) -> Array:
    """Move blocks of channels into space: (n, c * b * b, h, w) becomes (n, c, h * b, w * b).

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.depth_to_space(np.ones((1, 8, 2, 3)), block_size=2).shape
    (1, 2, 4, 6)
    """
    n, c, h, w = x.shape
    y = x.reshape(n, block_size, block_size, c // block_size**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    return y.reshape(n, c // block_size**2, h * block_size, w * block_size)


@register(shape="(n, c b**2, h / b, w / b)", stands_for="`stablehlo.reshape`, `transpose`", gives="input")
def space_to_depth(x: Array, *, block_size: int) -> Array:
    """Return the inverse of `depth_to_space`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.space_to_depth(np.ones((1, 2, 4, 6)), block_size=2).shape
    (1, 8, 2, 3)
    """
    n, c, h, w = x.shape
    y = x.reshape(n, c, h // block_size, block_size, w // block_size, block_size).transpose(0, 3, 5, 1, 2, 4)
    return y.reshape(n, c * block_size**2, h // block_size, w // block_size)


# -- slices --------------------------------------------------------------------------------------------------------


def stop_index(stop: int | None, n: int) -> int:
    """Return the end of a slice, counted from the front and clipped to an axis of length `n`."""
    return n if stop is None else min(max(stop + n if stop < 0 else stop, 0), n)


@register(
    "slice",
    methods=("slice",),
    npx=Front(unset="step"),
    shape="(end - begin) / step along the first axes",
    stands_for="`stablehlo.slice`",
    gives="input",
)
def slice_(
    x: Array,
    *,
    begin: int | Sequence[int | None] | None,
    end: int | Sequence[int | None] | None,
    step: int | Sequence[int | None] | None = (),
) -> Array:
    """Return the part from `begin` to `end` along the first axes, as Python slices it; None leaves an end open.

    A number in place of a sequence is one for the first axis.

    Parameters
    ----------
    step
        The step along each axis; 1 by default.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.slice(np.arange(6).reshape(2, 3), begin=(0, 1), end=(2, 3)).tolist()
    [[1.0, 2.0], [4.0, 5.0]]
    """
    begin, end, step = [(n,) if n is None or isinstance(n, int) else n for n in (begin, end, step)]
    step = tuple(step or ()) or (None,) * len(begin)
    if not len(begin) == len(end) == len(step):
        raise ShapeError(f"slice: begin={begin}, end={end} and step={step} must have the same length.")
    return x[tuple(slice(b, e, s) for b, e, s in zip(begin, end, step, strict=True))]


@register(
    methods=("slice_axis",),
    shape="`x` with the length end - begin along `axis`",
    stands_for="`stablehlo.slice`",
    gives="input",
)
def slice_axis(x: Array, *, axis: int, begin: int, end: int | None) -> Array:
    """Return the part from `begin` to `end` along one axis.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.slice_axis(np.arange(6).reshape(2, 3), axis=1, begin=1, end=3).tolist()
    [[1.0, 2.0], [4.0, 5.0]]
    """
    axis = axis_of(axis, x.ndim, "slice_axis")
    n = x.shape[axis]
    start = begin + n if begin < 0 else begin
    if start < 0:  # JAX would count from the end once more
        raise ShapeError(f"slice_axis: begin={begin} lies before an axis of length {n}.")
    return lax.slice_in_dim(x, start, stop_index(end, n), 1, axis)


@register(
    methods=("slice_like",),
    npx=Front(unset="axes"),
    shape="`x` cut to the lengths of `shape_like`",
    stands_for="`stablehlo.slice`",
)
def slice_like(x: Array, shape_like: Array, *, axes: Axis = ()) -> Array:
    """Return the front part of `x` that has the lengths of `shape_like`, along `axes` (all by default).

    Parameters
    ----------
    axes
        The axes that are cut; all by default.
    shape_like
        The array that has the lengths.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.slice_like(np.ones((3, 4)), np.ones((2, 3))).shape
    (2, 3)
    """
    chosen = axes_of(None if axes == () else axes, x.ndim, "slice_like")
    for axis in chosen:
        if axis >= shape_like.ndim or shape_like.shape[axis] > x.shape[axis]:
            raise ShapeError(
                f"slice_like: data of shape {x.shape} cannot be cut to {shape_like.shape} along axis {axis}."
            )
    return x[tuple(slice(shape_like.shape[i]) if i in chosen else slice(None) for i in range(x.ndim))]


@register(amp="widest", np=Front(order="condition x y", also={"cond": "condition"}), shape=BROADCAST, light=True)
def where(condition: Array, x: Array, y: Array) -> Array:
    """Return the elements of `x` where `condition` is True, those of `y` elsewhere.

    Parameters
    ----------
    condition
        True, or not zero, where `x` is taken.
    y
        The elements elsewhere.
    x
        The elements where `condition` is True.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.where(np.array([True, False]), np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()
    [1.0, 4.0]
    """
    return jnp.where(*aligned(condition.astype(bool), x, y))
