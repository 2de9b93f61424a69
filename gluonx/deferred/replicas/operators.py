"""Operators over several devices: sums and updates over all, and operators that read the parts of all."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import jax

from gluonx.deferred.operators.derived import DerivedOp
from gluonx.errors import DeviceError

__all__ = ["Joint", "Together"]


class Joint(DerivedOp):
    """An operator on several devices: it takes the inputs of each of `replicas` in turn, then inputs common to all.

    It applies `inner` to the inputs of each replica and the common ones. Without `inner` it is the sum over the
    replicas, which every replica gets: ``total(replicas, axis, *arrays)`` computes it from the arrays of so many
    replicas in turn, and also along an axis of a mesh, if one is given. The results are ordered by replica; those of a
    replica lie where its first input does. The operator's own function works if all replicas share a device;
    :mod:`gluonx.deferred.replicas` runs it on several.
    """

    __slots__ = ("inner", "replicas", "parts", "shared", "total")
    crosses = True

    def __init__(
        self, replicas: int, inner: DerivedOp | None = None, shared: int = 0, total: Callable[..., Any] | None = None
    ) -> None:
        super().__init__("sum over devices" if inner is None else inner.name, self._apart, interpreted=False)
        self.replicas, self.inner, self.shared, self.total = replicas, inner, shared, total or _summed
        self.parts: dict[tuple[int, Any], DerivedOp] = {}
        self.wide = inner is not None and inner.wide
        self.steady = inner is None or inner.steady

    def replica(self, number: int, count: int) -> range:
        """Return the positions of replica `number`'s inputs among the `count` inputs."""
        each = (count - self.shared) // self.replicas
        return range(number * each, (number + 1) * each)

    def output_shardings(self, inputs: tuple[Any, ...], count: int) -> list[Any]:
        """Return the sharding of each of the `count` outputs."""
        firsts = [inputs[self.replica(k, len(inputs))[0]].sharding for k in range(self.replicas)]
        return [sharding for sharding in firsts for _ in range(count // self.replicas)]

    def _apart(self, *args: jax.Array) -> tuple[Any, ...]:
        return self.part(self.replicas, None).fn(*args)

    def part(self, replicas: int, axis: str | None) -> DerivedOp:
        """Return the operator on so many replicas that share a device; the others are along `axis` of a mesh."""
        found = self.parts.get((replicas, axis))
        if found is None:
            fn = (
                functools.partial(self.total, replicas, axis)
                if self.inner is None
                else self._replica_by_replica(replicas)
            )
            found = self.parts[replicas, axis] = DerivedOp(self.name, fn, wide=self.wide, interpreted=False)
        return found

    def _replica_by_replica(self, replicas: int) -> Callable[..., Any]:
        assert self.inner is not None, "a sum goes over all replicas at once"
        run, shared = self.inner.fn, self.shared

        def fn(*args: jax.Array) -> tuple[Any, ...]:
            each = (len(args) - shared) // replicas
            common = args[len(args) - shared :]
            return tuple([out for k in range(replicas) for out in run(*args[k * each : (k + 1) * each], *common)])

        return fn


class Together(DerivedOp):
    """An operator that each of `count` devices runs on its own part, and that reads the parts of all.

    ``across(axis, *arrays)`` computes it along a named axis of these devices. Only a program of all devices has that
    axis (:mod:`gluonx.deferred.replicas`); everything else that would run the operator raises DeviceError with the text
    ``alone``. ``like`` is an operator with the same output shapes.
    """

    __slots__ = ("across", "alone", "count", "like", "parts")
    spans = True  # see Node

    def __init__(self, name: str, across: Callable[..., Any], count: int, like: DerivedOp, alone: str) -> None:
        super().__init__(name, self._alone, n_live=like.n_live, interpreted=False)
        self.across, self.count, self.like, self.alone = across, count, like, alone
        self.eager = self._alone
        self.parts: dict[str, DerivedOp] = {}

    def _alone(self, *args: jax.Array) -> NoReturn:
        raise DeviceError(self.alone)

    def part(self, axis: str) -> DerivedOp:
        """Return the operator on one device of a mesh with this axis."""
        found = self.parts.get(axis)
        if found is None:

            def run(*args: jax.Array) -> Any:
                if _length(axis) != self.count:  # some devices have no part, or run something else
                    raise DeviceError(self.alone)
                return self.across(axis, *args)

            found = self.parts[axis] = DerivedOp(self.name, run, n_live=self.n_live, interpreted=False)
        return found


def _length(axis: str) -> int:
    """Return the number of devices along an axis of the mesh that is being traced for; 0 if there is no such axis."""
    try:
        return int(jax.lax.psum(1, axis))
    except NameError:
        return 0


def _summed(replicas: int, axis: str | None, *args: jax.Array) -> tuple[Any, ...]:
    each = len(args) // replicas
    sums = [functools.reduce(operator.add, args[j::each]) for j in range(each)]
    return (*(sums if axis is None else jax.lax.psum(sums, axis)),) * replicas
