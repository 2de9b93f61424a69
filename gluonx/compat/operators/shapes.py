"""Shapes of inputs that nobody declared, found by running a legacy operator on shapes alone."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.deferred.trace.tracing import infer
from gluonx.deferred.values.core import current_state, new_handle
from gluonx.deferred.values.shapes import Unknown
from gluonx.errors import DeferredInitializationError
from gluonx.export.record import is_open

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


Shape = tuple[int, ...]


class _Blank:
    """Stands where a parameter of unknown shape would, and learns the shape from the operator that meets it."""

    def __init__(self, name: str, shape: Shape | None, seed: ndarray, takes_batch: bool) -> None:
        self.takes_batch = takes_batch  # whether its shape may come from another operand
        self.name = self._path = name
        self.shape = None if shape is None else tuple([n if n > 0 else -1 for n in shape])
        self.dtype = np.dtype(np.float32)
        self.seed = seed
        self.handle = self._handle = new_handle(Unknown(self))

    def _resolve_shape(self, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        trace = current_state().trace
        assert trace is not None, "shapes are found in a trace"
        self.handle.value = jnp.broadcast_to(trace.value(self.seed), self.shape)

    def _deferred_error(self) -> DeferredInitializationError:
        return DeferredInitializationError(f"the shape of '{self.name}' is not known yet")


def _of_equal_shapes(name: str) -> bool:
    """Return whether operands tell each other's shapes, as MXNet 1's do where nothing is broadcast."""
    return not name.startswith("broadcast_") and not name.endswith("_scalar")


_EACH_ELEMENT = """
    Activation BlockGrad Cast SoftmaxActivation _copy _copyto _grad_add _identity_with_attr_like_rhs _shuffle add_n
    clip elemwise_add elemwise_div elemwise_mul elemwise_sub hard_sigmoid log_softmax make_loss ones_like reverse
    smooth_l1 softmin zeros_like
    abs ceil erf erfinv exp expm1 fix floor gamma gammaln log log10 log1p log2 logical_not negative reciprocal relu rint
    round sigmoid sign softsign sqrt rsqrt cbrt rcbrt square trunc degrees radians
    sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh
"""
_OF_TWO = """
    plus minus mul div mod power maximum minimum hypot equal not_equal greater greater_equal lesser lesser_equal
    logical_and logical_or logical_xor rminus rdiv rmod rpower
"""
_KEEPS_SHAPE = frozenset(
    [*_EACH_ELEMENT.split(), *[f"_{name}{kind}" for name in _OF_TWO.split() for kind in ("", "_scalar")]]
)
"""Operators whose arrays all have the shape of the result, and have it from there in MXNet 1.9.1 (measured)."""


def agreed(shapes: list[Shape]) -> Shape | None:
    """Return what shapes that are one shape say of it; the first of them where they are of other lengths."""
    if not shapes or any(len(shape) != len(shapes[0]) for shape in shapes):
        return shapes[0] if shapes else None
    return tuple([next((n for n in sizes if n > 0), 0) for sizes in zip(*shapes, strict=True)])


def of_dense(shapes: list[Any], out: Shape, attrs: Attrs) -> list[Any]:
    """Return the input shapes of a dense layer, the batch from the result's."""
    leading = 1 if attrs.flatten else len(out) - 1
    shapes[0] = (*out[:leading], *shapes[0][leading:])
    return shapes


def of_convolution(shapes: list[Any], out: Shape, attrs: Any) -> list[Any]:
    """Return the input shapes of a convolution: the batch, and where nothing is skipped, the image's sizes."""
    if attrs.layout not in (None, "None", "NCW", "NCHW", "NCDHW") or len(shapes[0]) != len(out):
        return shapes
    axes = len(out) - 2
    stride, dilate, pad = (
        tuple(attrs[name]) or (usual,) * axes for name, usual in (("stride", 1), ("dilate", 1), ("pad", 0))
    )
    sizes = [
        size if n <= 0 or step != 1 else n + gap * (k - 1) - 2 * edge  # other strides leave several sizes
        for size, n, k, step, gap, edge in zip(shapes[0][2:], out[2:], attrs.kernel, stride, dilate, pad, strict=True)
    ]
    shapes[0] = (out[0], shapes[0][1], *sizes)
    return shapes


def of_parts(shapes: list[Any], out: Shape, attrs: Attrs) -> list[Any]:
    """Return the shape of what is split, from that of a part."""
    axis, parts = attrs.axis % len(shapes[0]), attrs.num_outputs
    part = 1 if attrs.squeeze_axis else out[axis]
    rest = list(out) if attrs.squeeze_axis else [*out[:axis], *out[axis + 1 :]]
    shapes[0] = (*rest[:axis], part * parts, *rest[axis:])
    return shapes


def of_joined(shapes: list[Any], out: Shape, attrs: Any) -> list[Any]:
    """Return the shapes of what is joined: the result's but along the axis."""
    axis = attrs.dim % len(out)
    return [None if s is None else (*out[:axis], s[axis], *out[axis + 1 :]) for s in shapes]


def of_packed(shapes: list[Any], out: Shape, attrs: Any) -> list[Any]:
    """Return the shapes of the pieces of a recurrent layer's parameters: open ones share the rest, as in MXNet."""
    found = [(0,) if shape is None else shape for shape in shapes]
    opened = [i for i, shape in enumerate(found) if shape == (0,)]
    rest = out[0] - sum([shape[0] for shape in found])
    if not opened or out[0] <= 0 or rest <= 0 or rest % len(opened):
        return shapes
    return [(rest // len(opened),) if i in opened else shape for i, shape in enumerate(shapes)]


def of_flattened(shapes: list[Any], out: Shape, attrs: Attrs) -> list[Any]:
    """Return the shape of what is made flat: the one size that is not known."""
    known = [n for n in shapes[0] if n > 0]
    if tuple(attrs.shape) == (-1,) and len(known) == len(shapes[0]) - 1 and out[0] > 0:
        shapes[0] = tuple([n if n > 0 else out[0] // math.prod(known) for n in shapes[0]])
    return shapes


def shapes_from_output(op: Any, shapes: Sequence[Shape | None], out: Shape | None, attrs: Attrs) -> list[Shape | None]:
    """Return the input shapes of the legacy operator `op` as far as the shape of its result tells them, or one another.

    Parameters
    ----------
    op : LegacyOp
    shapes : sequence of tuple or None
        What is known of the inputs; it stays where the result says nothing.
    out : tuple of int, or None
        0 for an unknown dimension.
    attrs : Attrs
    """
    if op.name in _KEEPS_SHAPE:
        return [agreed([shape for shape in (out, *shapes) if shape is not None])] * len(shapes)
    if out is None:
        return list(shapes)
    if op.shapes_told is not None and (shapes[0] is not None or op.variadic):
        return op.shapes_told(list(shapes), out, attrs)
    if op.name == "transpose" and len(attrs.axes or out) == len(out):
        axes = attrs.axes or tuple(reversed(range(len(out))))
        return [tuple([out[axes.index(axis)] for axis in range(len(out))])]
    if op.name == "expand_dims" and out:
        axis = attrs.axis % len(out)
        return [out[:axis] + out[axis + 1 :]]
    return list(shapes)


def _known(shape: Shape | None) -> bool:
    return shape is not None and all(is_open((n,)) or (isinstance(n, int) and n > 0) for n in shape)


def complete_shapes(op: Any, shapes: Sequence[Shape | None], attrs: Attrs) -> list[Shape | None]:
    """Return the input shapes of the legacy operator `op`, completed as far as its core operators can tell.

    Parameters
    ----------
    op : LegacyOp
    shapes : sequence of tuple or None
        None where nothing is known; 0 or -1 in place of an unknown dimension, or a symbolic size of JAX.
    attrs : Attrs

    Raises
    ------
    ShapeError
        If what is known contradicts itself.
    """
    if op.name.startswith("_sample_"):  # parameters of a distribution, an element of each for every draw
        shapes = [shape if _known(shape) else next(filter(_known, shapes), shape) for shape in shapes]
    if op.name == "RNN":  # to the core operator a begin state without a shape is one that nobody gave
        states = [name.startswith("state") for name in op.input_names(attrs)]
        shapes = [(0, 0, 0) if shape is None and state else shape for shape, state in zip(shapes, states, strict=False)]
    blanks: list[Any] = [None] * len(shapes)
    takes_batch = _of_equal_shapes(op.name)

    def forward(seed: ndarray, *known: ndarray) -> None:
        rest, inputs = list(known), []
        for i, shape in enumerate(shapes):
            if _known(shape):
                inputs.append(rest.pop(0))
            else:
                name = op.input_names(attrs)[i] if not op.variadic else f"arg{i}"
                blanks[i] = _Blank(name, shape, seed, takes_batch)
                inputs.append(blanks[i].handle)
        with contextlib.suppress(*ended):  # here already: what JAX sees raised costs it more than the shapes
            op.run(inputs, attrs)

    structs = [jax.ShapeDtypeStruct(s, np.float32) for s in shapes if s is not None and _known(s)]
    # An input that no operator can tell ends the run, as a rule's look at a shape that is None does; what was learned
    # before is all that there is to know, and what is wrong comes up again when the operator runs on whole shapes.
    # With a symbolic size JAX raises whatever it does where that matters.
    opened = any(shape is not None and is_open(shape) for shape in shapes)
    ended = (Exception if opened else DeferredInitializationError, TypeError)
    with contextlib.suppress(*ended):
        infer(forward, [jax.ShapeDtypeStruct((), np.float32), *structs])
    found = [s if b is None else b.shape for s, b in zip(shapes, blanks, strict=True)]
    return [None if shape == (-1, -1, -1) else shape for shape in found]
