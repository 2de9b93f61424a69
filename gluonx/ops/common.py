"""Helpers of all families of operators: axes, element types and the arithmetic of shapes.

Shape rules (``infer``) get partly known input shapes: ``None`` if nothing is known, 0 or -1 for an unknown dimension. A
rule states the shape of an input with `filled`, which completes unknown dimensions and refuses contradictions.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonx.dtype import WIDE, canonical, keeping_64_bits, without_64_bits
from gluonx.errors import ShapeError

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


Shape = tuple[int, ...]


def axis_of(axis: int, ndim: int, name: str) -> int:
    """Return the axis counted from the front.

    Raises
    ------
    ShapeError
        If an array of `ndim` axes has no such axis; `name` is the operator, for the message.
    """
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise ShapeError(f"{name}: axis {axis} does not exist in an array of {ndim} axes.")
    return axis % ndim


def axes_of(axis: int | Sequence[int] | None, ndim: int, name: str) -> Shape:
    """Return the axes counted from the front; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, (tuple, list)):
        return tuple(axis_of(a, ndim, name) for a in axis)
    return (axis_of(axis, ndim, name),)  # type: ignore[arg-type]


def per_axis(value: int | Sequence[int] | None, ndim: int, default: int, name: str) -> Shape:
    """Return one number for each spatial axis: ``2`` and ``(2,)`` mean ``(2, 2)``, None and ``()`` the default."""
    if value is None or value == ():
        return (default,) * ndim
    if isinstance(value, int):
        return (value,) * ndim
    if len(value) == 1:
        return tuple(value) * ndim
    if len(value) != ndim:
        raise ShapeError(f"{name}: expected {ndim} numbers, one for each spatial axis, but {tuple(value)} came.")
    return tuple(value)


def choose(table: dict[str, Any], value: str, operator_name: str, attribute: str) -> Any:
    """Return the entry of a table of modes, or a ValueError that lists them."""
    try:
        return table[value]
    except KeyError:
        known = ", ".join(repr(k) for k in sorted(table))
        raise ValueError(f"{operator_name}: {attribute} is {value!r}, but must be one of {known}.") from None


def float_dtype(x: Array) -> np.dtype:
    """Return the element type of a real-valued result: that of a floating-point `x`, else float32."""
    return x.dtype if jnp.issubdtype(x.dtype, jnp.inexact) else canonical(None)


def wide(x: Array) -> Array:
    """Return the array in a type for sums: half precision and integers become float32."""
    keep = jnp.issubdtype(x.dtype, jnp.inexact) and x.dtype.itemsize >= 4
    return x if keep else x.astype(jnp.float32)


def narrow(x: Array, dtype: DTypeLike) -> Array:
    """Return the array in `dtype`; unchanged if it has it."""
    return x if x.dtype == dtype else x.astype(dtype)


def same_dtype(*arrays: Array) -> tuple[Array, ...]:
    """Return the arrays in their common element type."""
    first = arrays[0].dtype
    if all(a.dtype == first for a in arrays):
        return arrays
    dtype = jnp.result_type(*arrays)
    return tuple(narrow(a, dtype) for a in arrays)


def aligned(*arrays: Array) -> tuple[Array, ...]:
    """Return the arrays with equally many axes, with axes added in front as NumPy's broadcasting does; scalars stay.

    Operators broadcast explicitly, so that they also work under ``jax_numpy_rank_promotion='raise'``.
    """
    ndim = max(a.ndim for a in arrays)
    return tuple(a if a.ndim in (0, ndim) else lax.expand_dims(a, range(ndim - a.ndim)) for a in arrays)


def channels(vector: Array, ndim: int, axis: int) -> Array:
    """Return a vector of one value a channel, shaped to broadcast along `axis` of an array of `ndim` axes."""
    return vector.reshape([-1 if i == axis else 1 for i in range(ndim)])


def size_of(shape: Sequence[int]) -> int:
    """Return the number of elements, or -1 if a dimension is unknown."""
    return math.prod(shape) if all(d > 0 for d in shape) else -1


def filled(given: Shape | None, wanted: Sequence[int], what: str, reason: str) -> Shape:
    """Return the known part of shape `given`, completed from `wanted`.

    Parameters
    ----------
    given : tuple of int or None
        The shape as known; 0 or -1 stand for an unknown dimension.
    wanted : sequence of int
        The shape by the operator's rule; 0 or -1 for a dimension that the rule does not determine either.
    what, reason : str
        The operator and its input, and the reason for the shape, for the message.

    Raises
    ------
    ShapeError
        If the two contradict each other.
    """
    wanted = tuple(wanted)
    if given is None:
        return tuple(d if d > 0 else -1 for d in wanted)
    if len(given) != len(wanted) or any(g > 0 and w > 0 and g != w for g, w in zip(given, wanted, strict=True)):
        shown = "(" + ", ".join(str(w) if w > 0 else "?" for w in wanted) + ("," if len(wanted) == 1 else "") + ")"
        raise ShapeError(f"{what} has shape {tuple(given)}, but {reason} needs {shown}.")
    return tuple(g if g > 0 else (w if w > 0 else -1) for g, w in zip(given, wanted, strict=True))


def flops_by_output(attrs: Mapping[str, Any], inputs: Sequence[Shape | None], output: Shape) -> float:
    """Return the floating-point operations of a layer that applies its filters once for each position of its output."""
    return _layer_flops(attrs, inputs, output, output)


def flops_by_input(attrs: Mapping[str, Any], inputs: Sequence[Shape | None], output: Shape) -> float:
    """Return the floating-point operations of a layer that applies its filters once for each position of its data."""
    return _layer_flops(attrs, inputs, output, inputs[0] or ())


def _layer_flops(attrs: Mapping[str, Any], inputs: Sequence[Shape | None], output: Shape, larger: Shape) -> float:
    """Return the operations if each position of the `larger` side meets each weight of its channel once."""
    weight = inputs[1]
    assert weight is not None, "a layer has a weight"
    biased = not attrs["no_bias"] and len(inputs) > 2 and inputs[2] is not None
    return 2.0 * (math.prod(larger) // weight[0]) * math.prod(weight) + math.prod(output) * biased


def vector_rule(axis: int | None = None, *, attribute: str = "axis") -> Callable[..., list[Shape | None]]:
    """Return a shape rule for normalizations: every input after the first is a vector along one axis of the first."""

    def infer(shapes: list[Shape | None], attrs: Any) -> list[Shape | None]:
        data = shapes[0]
        if data is None:
            return shapes
        position = axis_of(attrs[attribute] if axis is None else axis, len(data), "a normalization")
        return [data, *(filled(s, (data[position],), "its parameter", f"data of shape {data}") for s in shapes[1:])]

    return infer


def index_dtype() -> np.dtype:
    """Return the element type of positions, int64; operators that return them are registered as ``wide``."""
    return np.dtype(np.int64)


def _is_huge(x: Array) -> bool:
    """Return whether positions in `x` need more than 32 bits; symbolic sizes of an export count as small."""
    return all(isinstance(n, int) for n in x.shape) and x.size >= 2**31


def positions(find: Callable[..., Array], x: Array, *args: Any, **kwargs: Any) -> Array:
    """Return the positions ``find(x, ...)`` as int64, computed in 32 bits unless `x` is a 64-bit array."""
    with without_64_bits() if x.dtype not in WIDE and not _is_huge(x) else contextlib.nullcontext():
        found = find(x, *args, **kwargs)
    with keeping_64_bits():  # set here because functions of other operators call this too
        return found.astype(np.int64)


def converted(x: Array, dtype: np.dtype) -> Array:
    """Return the array in another dtype; floats become small integers, and masks floats, by way of integers.

    Values out of range of a small integer wrap round, as in NumPy. Masks go through integers because XLA turns a
    product with a mask that became floats into a selection between the value and 0, which hides NaN and inf.
    """
    if dtype.kind in "iu" and dtype.itemsize < 4 and jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(jnp.int32)
    if x.dtype == bool and jnp.issubdtype(dtype, jnp.inexact):
        x = x.astype(jnp.int8)
    return x.astype(dtype)


def equations(jaxpr: Any) -> Iterator[Any]:
    """Yield the equations of a jaxpr, and those of the jaxprs in their parameters.

    Examples
    --------
    >>> import jax
    >>> [eqn.primitive.name for eqn in equations(jax.make_jaxpr(jax.jit(lambda x: -abs(x)))(1.0))]
    ['jit', 'abs', 'neg']
    """
    value = getattr(jaxpr, "jaxpr", jaxpr)
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from equations(each)
    for eqn in getattr(value, "eqns", ()):
        yield eqn
        for param in eqn.params.values():
            yield from equations(param)
