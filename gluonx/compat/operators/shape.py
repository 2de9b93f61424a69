"""Legacy operators on shapes: reshaping with MXNet's codes, joining, splitting, slicing, padding, making arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gluonx import np
from gluonx.compat.operators.elementwise import kept
from gluonx.compat.operators.row import core, row, same
from gluonx.compat.operators.shapes import of_flattened, of_joined, of_packed, of_parts
from gluonx.errors import ShapeError

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


Shape = tuple[int, ...]


# -- reshape ----------------------------------------------------------------------------------------------------------


def _codes(old: Shape, codes: Sequence[int], told: str) -> list[int]:  # noqa: C901 - MXNet's codes of a shape, one case each
    """Return the new lengths, of which one may be left as -1."""
    new: list[int] = []
    at, rest = 0, list(codes)

    def eat(count: int) -> Shape:
        nonlocal at
        if at + count > len(old):
            raise ShapeError(f"{told}: the codes ask for more axes than the array has.")
        at += count
        return old[at - count : at]

    while rest:
        code = rest.pop(0)
        if code == 0:
            new += eat(1)
        elif code == -1:
            new.append(-1)
            at += 1
        elif code == -2:
            new += old[at:]
            at = len(old)
        elif code == -3:
            new.append(math.prod(eat(2)))
        elif code == -4:
            if len(rest) < 2:
                raise ShapeError(f"{told}: -4 needs two lengths after it.")
            (n,), a, b = eat(1), rest.pop(0), rest.pop(0)
            if a == b == -1:
                raise ShapeError(f"{told}: only one of the two lengths after -4 can be -1.")
            a, b = (n // b if a == -1 else a), (n // a if b == -1 else b)
            if a * b != n:
                raise ShapeError(f"{told}: an axis of {n} cannot be split into {a} and {b}.")
            new += [a, b]
        elif code > 0:
            new.append(code)
            at += 1
        else:
            raise ShapeError(f"{told}: {code} is not a length or a code from -1 to -4.")
    return new


def legacy_shape(old: Shape, codes: Sequence[int], reverse: bool = False) -> Shape:
    """Return the shape that MXNet 1's codes make of `old`.

    0 copies a length, -1 infers one, -2 copies all that remain, -3 merges two axes, -4 splits one into the two lengths
    that follow. With `reverse` both shapes are read from the right.

    Raises
    ------
    ShapeError
        If they do not fit.

    Examples
    --------
    >>> legacy_shape((2, 3, 4), (0, -1))
    (2, 12)
    >>> legacy_shape((2, 3, 4), (-3, 0))
    (6, 4)
    >>> legacy_shape((2, 3, 4), (-4, 1, 2, -2))
    (1, 2, 3, 4)
    """
    told = f"reshape of {old} to {tuple(codes)}"
    turned = list(codes)
    if reverse:
        turned = turned[::-1]
        for i, code in enumerate(turned):  # -4 stands before its two lengths also from the right
            if code == -4 and i >= 2:
                turned[i - 2 : i + 1] = [-4, turned[i - 2], turned[i - 1]]
        new = _codes(tuple(old)[::-1], turned, told)[::-1]
    else:
        new = _codes(tuple(old), turned, told)
    size, known = math.prod(old), math.prod([n for n in new if n != -1])
    if new.count(-1) > 1:
        raise ShapeError(f"{told}: only one length can be -1.")
    if -1 in new:
        if known == 0 or size % known:
            raise ShapeError(f"{told}: {size} elements cannot fill {tuple(new)}.")
        new[new.index(-1)] = size // known
    elif known != size:
        raise ShapeError(f"{told}: {size} elements cannot fill {tuple(new)}.")
    return tuple(new)


@row(
    "Reshape(data; shape: shape=(), reverse: bool=False, target_shape: shape=(), keep_highest: bool=False)",
    via="reshape",
    alias="reshape",
    colour=5,
    shapes_told=of_flattened,
)
def _reshape(a: Attrs, data: ndarray) -> ndarray:
    old = tuple(data.shape)
    if a.shape or not a.target_shape:
        return core("reshape", data, newshape=legacy_shape(old, a.shape, a.reverse))
    new = [-1 if n == 0 else n for n in a.target_shape]  # the older attribute, in which 0 is inferred
    if a.keep_highest:
        new[0] = old[0]
    return core("reshape", data, newshape=legacy_shape(old, new))


same("Flatten(data)", "batch_flatten", alias="flatten", colour=5)


same(
    "reshape_like(lhs, rhs; lhs_begin: int?=None, lhs_end: int?=None, rhs_begin: int?=None, rhs_end: int?=None)",
    "reshape_like",
)


same("shape_array(data)", "shape_array", gives="int64")
row(
    "size_array(data)",
    lambda a, data: np.prod(core("shape_array", data)).reshape((1,)),
    via="shape_array",
    gives="int64",
)
same("expand_dims(data; axis: int)", "expand_dims")


@row("squeeze(data; axis: shape?=None)", via="squeeze")
def _squeeze(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    out = core("squeeze", data, axis=a.axis or None)
    return out if out.shape else core("reshape", out, newshape=(1,))


row(
    "transpose(data; axes: shape=())",
    lambda a, data: core("transpose", data, axes=a.axes or None),
    via="transpose",
)
row(
    "SwapAxis(data; dim1: int=0, dim2: int=0)",
    lambda a, data: core("swapaxes", data, axis1=a.dim1, axis2=a.dim2),
    via="swapaxes",
    alias="swapaxes",
)
same("depth_to_space(data; block_size: int)", "depth_to_space")
same("space_to_depth(data; block_size: int)", "space_to_depth")

# -- broadcasting -----------------------------------------------------------------------------------------------------


@row("broadcast_to(data; shape: shape=())", via="broadcast_to")
def _broadcast_to(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    if len(a.shape) != len(data.shape):
        raise ShapeError(f"broadcast_to: an array of shape {data.shape} does not broadcast to {a.shape}.")
    shape = tuple([n or old for n, old in zip(a.shape, data.shape, strict=True)])
    return core("broadcast_to", data, shape=shape)


@row("broadcast_axis(data; axis: shape=(), size: shape=())", via="broadcast_to", alias="broadcast_axes")
def _broadcast_axis(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    shape = list(data.shape)
    for axis, size in zip(a.axis, a.size, strict=True):
        shape[axis] = size
    return core("broadcast_to", data, shape=tuple(shape))


same("broadcast_like(lhs, rhs; lhs_axes: shape?=None, rhs_axes: shape?=None)", "broadcast_like")

# -- joining, splitting, repeating ------------------------------------------------------------------------------------


def _concat(a: Attrs, *data: ndarray) -> ndarray:
    return core("concatenate", *data, axis=a.dim)


row("Concat(*data; dim: int=1)", _concat, via="concatenate", alias="concat", colour=5, shapes_told=of_joined)
row("_rnn_param_concat(*data; dim: int=1)", _concat, via="concatenate", shapes_told=of_packed)
same("stack(*data; axis: int=0)", "stack")


def _one_or_all(parts: tuple[Any, ...]) -> Any:
    return parts[0] if len(parts) == 1 else parts


@row(
    "SliceChannel(data; num_outputs: int, axis: int=1, squeeze_axis: bool=False)",
    via="slice_channel",
    alias="split",
    nout=lambda a: a.num_outputs,
    shapes_told=of_parts,
)
def _slice_channel(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    return _one_or_all(core("slice_channel", data, **a))


@row(
    "_split_v2(data; indices: shape, axis: int=1, squeeze_axis: bool=False, sections: int=0)",
    via="split squeeze",
    nout=lambda a: a.sections or len(a.indices),
)
def _split_v2(a: Attrs, data: ndarray) -> tuple[ndarray, ...]:
    # The first of the indices is where the first part begins, so it is no cut.
    parts = core("split", data, indices_or_sections=a.sections or a.indices[1:], axis=a.axis)
    return _one_or_all(tuple([core("squeeze", p, axis=a.axis) for p in parts]) if a.squeeze_axis else parts)


same("repeat(data; repeats: int, axis: int?=None)", "repeat")
same("tile(data; reps: shape)", "tile")
same("reverse(data; axis: shape)", "flip", alias="flip")


@row("Pad(data; mode: {constant edge reflect}, pad_width: shape, constant_value: float=0.0)", via="pad", alias="pad")
def _pad(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    value = a.constant_value if a.mode == "constant" else None
    return core("pad", data, value, pad_width=a.pad_width, mode=a.mode)


# -- slices -----------------------------------------------------------------------------------------------------------


def _span(a: Attrs) -> tuple[slice, ...]:
    steps = a.step or (None,) * len(a.begin)
    return tuple([slice(*edges) for edges in zip(a.begin, a.end, steps, strict=True)])


same("slice(data; begin: shape, end: shape, step: shape=())", "slice", alias="crop")
same("slice_axis(data; axis: int, begin: int, end: int?)", "slice_axis")
same("slice_like(data, shape_like; axes: shape=())", "slice_like")


def _put(data: Any, value: Any, a: Attrs) -> Any:
    out = core("copy", data)
    out[_span(a)] = value
    return out


row(
    "_slice_assign(lhs, rhs; begin: shape, end: shape, step: shape=())",
    lambda a, lhs, rhs: _put(lhs, rhs, a),
    via="index_update",
    alias="_crop_assign",
)
row(
    "_slice_assign_scalar(data; scalar: float=0.0, begin: shape, end: shape, step: shape=())",
    lambda a, data: _put(data, a.scalar, a),
    via="index_update",
    alias="_crop_assign_scalar",
)


@row("Crop(*data; offset: shape=(0 0), h_w: shape=(0 0), center_crop: bool=False)", via="slice")
def _crop(a: Attrs, data: ndarray, like: ndarray | None = None) -> ndarray | Sequence[ndarray]:
    height, width = data.shape[2:]
    h, w = a.h_w if like is None else like.shape[2:]
    y, x = ((height - h) // 2, (width - w) // 2) if a.center_crop else a.offset
    if h + y > height or w + x > width:
        raise ShapeError(f"Crop: a part of {(h, w)} at {(y, x)} does not lie within data of shape {data.shape}.")
    return core("slice", data, begin=(None, None, y, x), end=(None, None, y + h, x + w))


# -- making arrays ----------------------------------------------------------------------------------------------------

_CTX = "ctx: str=''"


def _filled(a: Attrs, value: float) -> ndarray:
    return np.full(a.shape or (), value, dtype=a.dtype or "float32")  # MXNet 2 writes None for it


row(f"_zeros(; shape: shape=(), {_CTX}, dtype: dtype?=float32)", lambda a: _filled(a, 0), via="full_like")
row(f"_ones(; shape: shape=(), {_CTX}, dtype: dtype?=float32)", lambda a: _filled(a, 1), via="full_like")
row(
    f"_full(; shape: shape?=None, {_CTX}, dtype: dtype?=float32, value: float)",
    lambda a: _filled(a, a.value),
    via="full_like",
)
row(
    f"_zeros_without_dtype(; shape: shape?=None, {_CTX}, dtype: int=-1)",
    lambda a: np.zeros(a.shape or ()),
    via="full_like",
)
row(
    f"_eye(; N: int, M: int=0, k: int=0, {_CTX}, dtype: dtype?=float32)",
    lambda a: np.eye(a.N, a.M or None, a.k, dtype=a.dtype or "float32"),
    via="eye",
)


@row(
    f"_arange(; start: float, stop: float?=None, step: float=1.0, repeat: int=1, infer_range: bool=False, {_CTX}, "
    "dtype: dtype?=float32)",
    via="arange repeat",
)
def _arange(a: Attrs) -> ndarray | Sequence[ndarray]:
    start, stop = (0.0, a.start) if a.stop is None else (a.start, a.stop)
    values = np.arange(start, stop, a.step, dtype=a.dtype or "float32")
    return values if a.repeat == 1 else core("repeat", values, repeats=a.repeat)


row(
    f"_linspace(; start: float, stop: float, num: int, endpoint: bool=True, {_CTX}, dtype: dtype?=float32)",
    lambda a: np.linspace(a.start, a.stop, a.num, a.endpoint, dtype=a.dtype or "float32"),
    via="linspace",
)


@row(
    f"_contrib_arange_like(data; start: float=0.0, step: float=1.0, repeat: int=1, {_CTX}, axis: int?=None)",
    via="arange_like",
)
def _arange_like(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    return core("arange_like", data, start=a.start, step=a.step, repeat=a.repeat, axis=a.axis)


@row("_contrib_index_array(data; axes: shape?=None)", via="indices", gives="int64")
def _index_array(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    places = np.stack(np.meshgrid(*[np.arange(n, dtype="int32") for n in data.shape], indexing="ij"), axis=-1)
    return places if a.axes is None else np.take(places, np.array(a.axes, dtype="int32"), axis=-1)


@row("diag(data; k: int=0, axis1: int=0, axis2: int=1)", via="diag diagonal")
def _diag(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    return np.diag(data, a.k) if len(data.shape) == 1 else np.diagonal(data, a.k, a.axis1, a.axis2)


row("cast_storage(data; stype: {csr default row_sparse})", lambda a, data: kept(core("copy", data), data), via="copy")
