"""Shapes that are not known yet, and how they become known.

A parameter with an open shape has a handle that holds :class:`Unknown`. The first operator that uses it infers the
shape, by the rule in its record; the parameter is then initialized on the host and the handle holds its array. The same
happens while a forward is traced for its shapes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding

from gluonx.common import forked
from gluonx.deferred.values import source_location
from gluonx.deferred.values.contracts import Args, Operator
from gluonx.deferred.values.core import Handle, HostArray, Placeholder
from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.errors import DeferredInitializationError, GluonxError

__all__ = ["Gone", "Unknown", "Zeros"]


class Zeros(Placeholder):
    """Zeros that take no memory until somebody reads them."""

    __slots__ = ("dtype", "shape", "sharding")
    known = True

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, sharding: Sharding | None = None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.sharding = sharding

    def make(self, handle: Handle) -> Any:
        """Return the zeros."""
        if forked.in_child():
            zeros = np.zeros(self.shape, self.dtype)
            zeros.setflags(write=False)
            return HostArray(zeros)
        with jax.ensure_compile_time_eval(), keeping_64_bits(self.dtype in WIDE):
            return jnp.zeros(self.shape, self.dtype, device=self.sharding)


class Gone(Placeholder):
    """A value that was given up on purpose; reading it raises `error` with this `message`."""

    __slots__ = ("dtype", "error", "message", "shape")

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype,
        message: str,
        error: type[GluonxError] = DeferredInitializationError,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.message = message
        self.error = error

    def make(self, handle: Handle) -> jax.Array:
        """Raise the error that was left here."""
        raise self.error(self.message)


class Unknown(Placeholder):
    """The value of a parameter whose shape has open dimensions."""

    __slots__ = ("param",)

    def __init__(self, param: Any) -> None:
        self.param = param

    @property
    def shape(self) -> Any:  # type: ignore[override]
        """The declared shape, with open dimensions as they were declared."""
        return self.param.shape

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        """The declared dtype."""
        return np.dtype(self.param.dtype)

    def make(self, handle: Handle) -> jax.Array:
        """Raise: the value was asked for before the shape is known."""
        raise self.param._deferred_error()

    def resolve(self, handle: Handle, op: Operator, args: Args) -> None:
        """Infer the shape by the rule of `op`, the operator that uses this parameter."""
        inputs = args[2:] if op.random else args
        known = [_shape_of(a) for a in inputs]
        found = (op.infer if getattr(self.param, "takes_batch", False) else op.infer_weights)(known)
        for a, shape in zip(inputs, found, strict=False):
            if isinstance(a, Handle) and isinstance(a.value, Unknown) and shape is not None and _complete(shape):
                param = a.value.param
                param._resolve_shape(tuple(shape))
                if param._handle is None:  # only its shape is wanted
                    a.value = jnp.zeros(param.shape, param.dtype)
        if isinstance(handle.value, Unknown):
            block = source_location.block_path()
            at = f" of {block}" if block else ""
            name = self.param._path.rpartition(".")[2]
            raise DeferredInitializationError(
                f"Parameter '{self.param._path}'{at} has unknown dimensions, and {op} cannot tell them from its other "
                f"inputs {known}: which of their axes is the batch's is not known here. Give the shape where the "
                "parameter is declared, or define infer_shape in its block, as in "
                f"`def infer_shape(self, x): self.{name}.shape = (x.shape[-1],)`."
            )


def _complete(shape: Sequence[object]) -> bool:
    return all(n > 0 if isinstance(n, int) else n is not None for n in shape)  # a size that is not an int is symbolic


def _shape_of(value: object) -> tuple[int, ...] | None:
    if value is None:
        return None
    shape = getattr(value, "shape", ())
    return None if shape is None else tuple([int(n) if isinstance(n, np.integer) else n for n in shape])
