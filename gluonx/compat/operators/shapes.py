"""Shapes of inputs that nobody declared, found by running a legacy operator on shapes alone."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.deferred.core import current_state, new_handle
from gluonx.deferred.shapes import Unknown
from gluonx.deferred.tracing import infer
from gluonx.errors import DeferredInitializationError
from gluonx.export.record import is_open

Shape = tuple[int, ...]


class _Blank:
    """Stands where a parameter of unknown shape would, and learns the shape from the operator that meets it."""

    def __init__(self, name: str, shape: Shape | None, seed: Any, takes_batch: bool) -> None:
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


def _known(shape: Shape | None) -> bool:
    return shape is not None and all(is_open((n,)) or (isinstance(n, int) and n > 0) for n in shape)


def complete_shapes(op: Any, shapes: Sequence[Shape | None], attrs: Any) -> list[Shape | None]:
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

    def forward(seed: Any, *known: Any) -> None:
        rest, inputs = list(known), []
        for i, shape in enumerate(shapes):
            if _known(shape):
                inputs.append(rest.pop(0))
            else:
                name = op.input_names(attrs)[i] if not op.variadic else f"arg{i}"
                blanks[i] = _Blank(name, shape, seed, takes_batch)
                inputs.append(blanks[i].handle)
        op.run(inputs, attrs)

    structs = [jax.ShapeDtypeStruct(s, np.float32) for s in shapes if s is not None and _known(s)]
    # An input that no operator can tell ends the run, as a rule's look at a shape that is None does; what was learned
    # before is all that there is to know, and what is wrong comes up again when the operator runs on whole shapes.
    # With a symbolic size JAX raises whatever it does where that matters.
    opened = any(shape is not None and is_open(shape) for shape in shapes)
    with contextlib.suppress(Exception if opened else DeferredInitializationError, TypeError):
        infer(forward, [jax.ShapeDtypeStruct((), np.float32), *structs])
    found = [s if b is None else b.shape for s, b in zip(shapes, blanks, strict=True)]
    return [None if shape == (-1, -1, -1) else shape for shape in found]
