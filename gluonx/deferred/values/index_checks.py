"""Indices out of range: which of them are checked before an operator runs.

A compiled program cannot raise: there a read out of range returns the nearest element, and a write is dropped. So an
index is checked before the operator runs, if its value is known without waiting for a device:

- Python numbers, lists and NumPy arrays are always checked;
- arrays on the CPU that are computed are checked for the operators for which MXNet raises (``x[i]``, ``take``,
  ``gather_nd`` ...). Classes and labels in arrays are clipped, as in MXNet;
- everything is checked, also pending values and arrays on an accelerator, while the switch is on (``GLUONX_CHECK=1``,
  or ``gluonx.engine.check()``). Pending values are computed for it, and hybridized blocks run un-hybridized.

An operator's record says which of its operands holds indices, and their range (``index``, see `gluonx.ops.checks`). The
engine asks only for operators that are marked as special, so other operators pay nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeAlias
from weakref import ref

import jax
import numpy as np

from gluonx.deferred.values import source_location
from gluonx.deferred.values.contracts import Args, Operand, Operator
from gluonx.deferred.values.core import Handle, HostArray, Pending, Tracer, current_state
from gluonx.errors import BadIndexError
from gluonx.ops.checks import Index

_Values: TypeAlias = "jax.Array | np.ndarray | np.generic | int | float | list[Any] | tuple[Any, ...]"

__all__ = ["Switch", "check", "is_near", "look"]


class Switch:
    """The switch for checks of indices on devices, and the function that computes a pending index."""

    settle: Callable[[Handle], Any] | None = (
        None  # `graph.settle`, set later because that module imports this one indirectly
    )
    on = os.environ.get("GLUONX_CHECK", "") not in ("", "0")


def _columns(what: str, shape: tuple[int, ...], index: Operand) -> None:
    """Check coordinates: each row of `index` goes along one axis."""
    found = _known(index, True, True)
    if found is None or len(found) > len(shape):
        return
    for axis, ends in enumerate(found):
        _compare(what, ends, lambda axis=axis: _host(index)[axis], shape[axis], axis, -shape[axis])


def check(rule: Index, op: Operator, args: Args) -> None:
    """Raise if an index of `op` is known and out of range.

    Raises
    ------
    BadIndexError
    """
    if len(args) <= rule.operand or not (rule.strict or Switch.on or not isinstance(args[rule.operand], Handle)):
        return
    for operand, size, axis, negative, ignored in rule.bounds(op.attrs, args):
        index = args[operand]
        if ignored is not None:
            if isinstance(index, Handle):
                continue  # arrays on a device are not searched
            host = np.asarray(index)
            index = np.where(host == ignored, 0, host)
        if isinstance(size, tuple):
            _columns(op.name, size, index)
        else:
            look(op.name, index, size, axis, -size if negative else 0, rule.strict)


def look(what: str, index: Operand, size: object, axis: int | None, lowest: int, strict: bool = True) -> None:
    """Raise if an element of `index` is known, and is below `lowest` or not below `size`.

    Parameters
    ----------
    what : str
        The operator, for the message.
    index : Handle, array or int
    size : int
        The length of the axis; if it is symbolic, nothing is checked.
    axis : int or None
        The axis indexed, for the message; None for the flattened array.
    strict : bool
        Whether arrays on the CPU are checked too.

    Raises
    ------
    BadIndexError
    """
    found = _known(index, strict, False)
    if found is not None and isinstance(size, int):
        _compare(what, found[0], lambda: _host(index), size, axis, lowest)


def _compare(
    what: str, ends: tuple[Any, Any], read: Callable[[], Any], size: int, axis: int | None, lowest: int
) -> None:
    if ends[0] >= lowest and ends[1] < size:
        return
    host = np.asarray(read())
    host = np.trunc(host) if host.dtype.kind == "f" else host  # as the operators round
    bad = host[(host < lowest) | (host >= size)]
    if not bad.size:
        return
    along = "the flattened array" if axis is None else f"axis {axis}"
    block = source_location.block_path()
    at, more = f" in {block}" if block else "", f" ({bad.size} such indices)" if bad.size > 1 else ""
    raise BadIndexError(
        f"{what}{at}: index {bad.flat[0]:.0f} is out of bounds for {along} with size {size}{more}. "
        f"The line is {source_location.user_line()}."
    )


_on_cpu: dict[Any, bool] = {}


def is_near(array: jax.Array) -> bool:
    """Return whether an array is on the CPU of this process."""
    sharding = array.sharding
    known = _on_cpu.get(sharding)
    if known is None:
        near = array.is_fully_addressable and all(d.platform == "cpu" for d in sharding.device_set)
        known = _on_cpu[sharding] = near
    return known


def _opened(index: Operand, strict: bool) -> _Values | None:
    """Return the array or number whose values are to be checked, or None."""
    if isinstance(index, Handle):
        trace = current_state().trace
        if trace is not None and not trace.transparent:
            return None
        value = index.value
        if type(value) is Pending and value.value is not None:
            value = value.value
        if type(value) is HostArray:
            return value.array if Switch.on or strict else None
        if not isinstance(value, jax.Array) and Switch.on:
            assert Switch.settle is not None, "gluonx.deferred.record.engine says how a value is computed"
            value = Switch.settle(index)
        return _looked_at(value, strict)
    return _looked_at(index, strict)


def _looked_at(index: object, strict: bool) -> _Values | None:
    if isinstance(index, jax.Array):
        return None if isinstance(index, Tracer) or not (Switch.on or (strict and is_near(index))) else index
    return index if isinstance(index, (np.ndarray, int, float, np.generic, list, tuple)) else None


def _host(index: Operand) -> np.ndarray:
    return np.asarray(_opened(index, True))


_ends: dict[tuple[int, bool], tuple[Any, Any]] = {}  # least and largest values of arrays on devices, which never change


def _known(index: Operand, strict: bool, rows: bool) -> list[tuple[Any, Any]] | None:
    """Return the least and largest value of `index` (or of its rows), if it is to be checked and is not empty."""
    value = _opened(index, strict)
    if value is None:
        return None
    key = (id(value), rows)
    if isinstance(value, jax.Array):
        seen = _ends.get(key)
        if seen is not None and seen[0]() is value:
            return seen[1]
    host = np.asarray(value)
    if rows and host.ndim < 1:
        return None
    found = None
    if host.size:
        parts = host.reshape(len(host), -1) if rows else [host]
        found = [(part.min(), part.max()) for part in parts]
    if isinstance(value, jax.Array):
        _ends[key] = (ref(value, lambda _: _ends.pop(key, None)), found)
    return found
