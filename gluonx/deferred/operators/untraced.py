"""Operators of a linked program that need no trace: NumPy has a kernel of them, and of their pull-backs.

JAX takes 3 to 40 ms to trace an operator and its gradient, and again for each kind of lengths; a kernel
(:mod:`gluonx.ops.host.kernels`, :mod:`gluonx.ops.host.pullbacks`) is there already. What they compute is the same; a
kernel computes more in double precision, so only small operators go this way. Whether a kernel takes arrays of given
shapes and types is tried once, with zeros. If it refuses the values of a run (labels that are no whole numbers), the
operator is traced after all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gluonx.common import policy
from gluonx.common.process import one_blas_thread
from gluonx.deferred.operators.derived import has_any_length
from gluonx.deferred.values import program_cache
from gluonx.deferred.values.contracts import Operator, Shaped
from gluonx.ops.host.kernels import cost_of, kernel_of, results_of
from gluonx.ops.host.pullbacks import pullback_kernel

__all__ = ["Untraced", "chosen", "results", "untraced"]

Kernel = Callable[..., Any]


class Untraced(NamedTuple):
    """The kernels of an operator for inputs of given shapes and types, and how many elements each touches."""

    forward: Kernel
    back: Kernel | None
    costs: tuple[float, float]


def results(op: Operator, inputs: Sequence[Any]) -> Any:
    """Return arrays like the results of an operator's kernel: one, or a tuple; None without a kernel that takes these.

    Parameters
    ----------
    op : Operator
    inputs : sequence
        What has a shape and a dtype, or None.
    """
    inputs = [getattr(a, "struct", a) for a in inputs]
    if not has_any_length(op) or op.random or op.wide or not _may_run(op, inputs):
        return None
    known = _memo(op)
    key = ("results", *_key(inputs))
    if key not in known:
        known[key] = _tried(op, inputs)
    return known[key]


def untraced(
    op: Operator, inputs: Sequence[Any], outs: Sequence[Any], diff: tuple[int, ...], passed: tuple[bool, ...] | None
) -> Untraced | None:
    """Return the kernels of an operator, and of its pull-back to the inputs `diff`; None if it has to be traced.

    Parameters
    ----------
    op : Operator
    inputs, outs : sequence
        What has a shape and a dtype; an input may be None.
    diff : tuple of int
    passed : tuple of bool or None
        The results that have a cotangent; None if no gradient passes.
    """
    inputs = [getattr(a, "struct", a) for a in inputs]
    found = results(op, inputs)
    if found is None or not _is_like(found if type(found) is tuple else (found,), outs):
        return None
    known = _memo(op)
    key = (diff if passed is not None else None, passed, *_key(inputs))
    if key not in known:
        known[key] = _kernels(op, inputs, found, diff, passed)
    return known[key]


def _kernels(
    op: Operator, inputs: Sequence[Any], out: Any, diff: tuple[int, ...], passed: tuple[bool, ...] | None
) -> Untraced | None:
    kernel = kernel_of(op)
    assert kernel is not None, "it has results"
    forward, work = kernel
    zeros = _zeros(inputs)
    size = sum([z.size for z in zeros if z is not None])
    costs = [(size if work is None else work(*zeros)) * cost_of(op), 0.0]
    back = None
    if passed is not None:
        pull = pullback_kernel(op, diff, len(inputs), passed)
        if pull is None or not passed[0]:
            return None
        back, work = pull
        cotangent = out[0] if type(out) is tuple else out
        if _told(op, inputs) is None and not _takes(back, [*zeros, _thin(cotangent)], [zeros[i] for i in diff]):
            return None
        costs[1] = 4.0 * size if work is None else work(*zeros, cotangent)
    return Untraced(forward, back, (costs[0], costs[1]))


def _takes(back: Kernel, values: list[Any], inputs: list[Any]) -> bool:
    with one_blas_thread(), np.errstate(all="ignore"):
        try:
            found = back(*values)
        except Exception:  # the trace says what is wrong
            return False
    return found is not NotImplemented and _is_like(found, inputs)


def _may_run(op: Operator, inputs: Sequence[Any]) -> bool:
    """Return whether all lengths are numbers, and the inputs few enough elements for the kernels."""
    size = _size(inputs)
    return size <= policy.TRIED or (size < math.inf and results_of(op) is not None)


def _tried(op: Operator, inputs: Sequence[Any]) -> Any:
    kernel, out = kernel_of(op), _told(op, inputs)
    if kernel is None:
        return None
    if out is None and _size(inputs) <= policy.TRIED:
        with one_blas_thread(), np.errstate(all="ignore"):
            try:
                out = kernel[0](*_zeros(inputs))
            except Exception:  # the trace says what is wrong
                return None
    if out is None or out is NotImplemented:
        return None
    return tuple(map(_thin, out)) if type(out) in (tuple, list) else _thin(out)


def _told(op: Operator, inputs: Sequence[Shaped | None]) -> Any:
    """Return what is told of an operator's results without computing; None if nothing is."""
    tells = results_of(op)
    if tells is None:
        return None
    try:
        out = tells(*_zeros(inputs))
    except Exception:  # the trace says what is wrong
        return None
    return None if out is NotImplemented else out


def _thin(like: Shaped) -> np.ndarray:
    """Return zeros of the same shape and type that take no memory."""
    return np.broadcast_to(np.zeros((), like.dtype), like.shape)


def _zeros(inputs: Sequence[Shaped | None]) -> list[Any]:
    return [None if a is None else _thin(a) for a in inputs]


def _size(inputs: Sequence[Shaped | None]) -> float:
    return sum([math.prod(a.shape) if _is_known(a.shape) else math.inf for a in inputs if a is not None])


def _is_known(shape: Sequence[object]) -> bool:
    return all(isinstance(n, int) for n in shape)


def _key(inputs: Sequence[Shaped | None]) -> tuple[Any, ...]:
    return tuple([None if a is None else (a.shape, a.dtype) for a in inputs])


def _is_like(found: Sequence[Shaped], outs: Sequence[Shaped]) -> bool:
    return len(found) == len(outs) and all(
        a.shape == b.shape and a.dtype == b.dtype for a, b in zip(found, outs, strict=True)
    )


def _memo(op: Operator) -> dict[Any, Any]:
    families = op.families
    if families is None:
        families = op.families = {}
        program_cache.add_known(op)
    known = families.setdefault("untraced", {})
    if len(known) > policy.KINDS:
        known.clear()
    return known


def chosen(kernel: Kernel, present: Sequence[bool], instead: Callable[[], Callable[..., Any]]) -> Kernel:
    """Return a kernel as a function of the inputs that are present; where it refuses, `instead` returns another.

    The other function returns a list of results.
    """
    every = all(present)
    other: list[Any] = []

    def run(*given: Any) -> Any:
        if every:
            out = kernel(*given)
        else:
            values = iter(given)
            inputs = [next(values) if there else None for there in present]
            out = kernel(*inputs, *values)
        if out is NotImplemented:
            if not other:
                other.append(instead())
            out = other[0](*given)
            return out[0] if len(out) == 1 else out
        return out[0] if type(out) is tuple and len(out) == 1 else out

    return run
