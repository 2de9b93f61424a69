"""Small arrays that are kept together in one vector between programs.

Each array that a program takes or returns costs one to two microseconds, whatever its size, and small weights are taken
and returned in each step. So a training program takes its small weights as one vector and returns them as one
(:class:`Join`). Their handles hold a :class:`~gluonx.deferred.values.core.Packed` each, which says which part of the
vector the array is. Only training programs know of vectors. When anybody else reads such an array, one program cuts all
arrays out of the vector (:meth:`Vector.array`).

Invariants: the array that a Packed stands for never changes while anybody but its handle can see it. A vector is
donated to the next step only if nobody but the handles and that step holds its pieces; otherwise they are cut out first
(:meth:`Vector.freeze`). If nobody refers to them, not even weakly, the vector simply gets its next value: handles and
pieces stay, so a steady step does no work for each weight.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any
from weakref import getweakrefcount

import jax
import numpy as np
from jax.core import eval_context

from gluonx.common import policy
from gluonx.common.packing import Layout
from gluonx.deferred.values.aliasing import any_piece_held
from gluonx.deferred.values.contracts import Leaf
from gluonx.deferred.values.core import Aval, Handle, HostArray, Packed, Pending, counters
from gluonx.dtype import keeping_64_bits, on_device

__all__ = ["Join", "Vector", "VectorLayout", "layout_of", "read", "resolved"]


class VectorLayout(Layout):
    """The layout of arrays end to end in a vector, with programs that join and cut; interned, see :func:`layout_of`."""

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __init__(self, avals: tuple[Aval, ...]) -> None:
        super().__init__("flat", 0, False, tuple([a.shape for a in avals]))
        self.avals = avals
        self.numbers = list(range(len(avals)))
        self.taken_apart = jax.jit(self.split)
        self.joined = jax.jit(self.join)
        self.cuts = 0

    def cut(self, vector: jax.Array) -> list[jax.Array]:
        """Return the arrays of a computed vector. The first times, it compiles nothing for that."""
        self.cuts += 1
        with keeping_64_bits(self.avals[0].wide):
            if self.cuts > policy.CUTS:
                with contextlib.suppress(RecursionError):  # in a signal handler that interrupted this compilation
                    return self.taken_apart(vector)
            return jax.device_put([part.copy() for part in self.split(np.asarray(vector))])


_layouts: weakref.WeakValueDictionary[tuple[Aval, ...], VectorLayout] = weakref.WeakValueDictionary()


def layout_of(avals: tuple[Aval, ...]) -> VectorLayout:
    """Return the interned :class:`VectorLayout` of these arrays; it lives as long as somebody holds it."""
    found = _layouts.get(avals)
    return _layouts.setdefault(avals, VectorLayout(avals)) if found is None else found


_NONE_CUT: tuple[Any, list[Any]] = (None, [])


class _Frozen:
    """The final value of a vector whose pieces stand for arrays that were cut out."""

    __slots__ = ("__weakref__",)


class Vector:
    """Arrays that are kept as one; the program that computes them sets ``value``."""

    __slots__ = ("found", "layout", "placed", "value")

    def __init__(self, layout: VectorLayout, value: jax.Array | None = None) -> None:
        self.layout = layout
        self.value: Any = value
        self.found: tuple[Any, list[Any]] = _NONE_CUT  # a value, and the arrays that were cut out of it
        self.placed = False  # whether handles hold its arrays

    def array(self, number: int) -> jax.Array:
        """Return one of the arrays; the first call cuts all of them out."""
        return self.arrays(self.value)[number]

    def arrays(self, value: jax.Array | Pending | _Frozen) -> list[Any]:
        """Return the arrays of a `value` that was read a moment ago, or of a later value if that one is gone."""
        while (found := self.found)[0] is not value:
            if isinstance(value, _Frozen):
                value = self.value
            elif isinstance(value, Pending):
                value = self.result(value)
            else:
                with eval_context():
                    found = value, self.layout.cut(value)
                counters.dispatches += 1
                if self.value is value:
                    self.found = found
                return found[1]
        return found[1]

    def now(self) -> jax.Array:
        """Return the value. If a step in another thread has taken it, wait for that step and return its result."""
        return self.result(self.value)

    def result(self, value: jax.Array | Pending | _Frozen) -> Any:
        """Return a `value` that was read here; if it is a pending step, that step's result."""
        while type(value) is Pending:
            if value.value is None and value.graph.is_ours():
                return value.graph.value_apart(value)
            with value.graph.lock:
                if value.value is not None:
                    return value.value
            value = self.value  # that step failed, and has restored the former value
        return value

    def settle(self) -> None:
        """Store the result of a step that was interrupted before it stored it here."""
        before, value = self.value, self.now()
        if self.value is before:
            self.value = value

    def freeze(self) -> None:
        """Let the pieces stand for the current arrays for good; another vector may then take over the value."""
        own = (_Frozen(), self.arrays(self.value))
        self.found, self.value = own, own[0]

    @property
    def sample(self) -> jax.Array:
        """One array on the device of these arrays."""
        value, arrays = self.found
        return arrays[0] if arrays and value is self.value else self.now()

    def packed(self) -> list[Packed]:
        """Return the values for handles to hold, one for each array."""
        self.placed = True
        return list(map(Packed, itertools.repeat(self), self.layout.numbers))


def read(handle: Handle) -> jax.Array:
    """Return the array of a handle that holds a Packed. The handle keeps the Packed, for the next step's vector."""
    return resolved(handle.value)


def resolved(value: Leaf) -> Any:
    """Return the array that a leaf of a graph stands for."""
    if type(value) is Packed:
        return value.vector.array(value.number)
    return value.make() if type(value) is HostArray else value


def picks(numbers: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return a function that selects the items with these numbers from a list."""
    return itemgetter(*numbers) if len(numbers) > 1 else lambda items: tuple([items[i] for i in numbers])


def _are_pieces(values: Sequence[Any], vector: Vector, numbers: Sequence[int]) -> bool:
    """Return whether `values` are the pieces of a vector that have these numbers."""
    for value, number in zip(values, numbers, strict=True):
        if type(value) is not Packed or value.vector is not vector or value.number != number:
            return False
    return True


class Join:
    """Leaves that a program takes as one vector, and the outputs of its last node that replace them.

    Parameters
    ----------
    leaves : sequence of int
        The numbers of the leaves: two or more.
    outs : sequence of int
        The numbers of the outputs that replace them; empty if the leaves are only read.
    layout : VectorLayout
        The layout of the vector.
    numbers : list of int, optional
        The numbers of the leaves in the layout; None means all of them, as it must if they are replaced.
    """

    __slots__ = ("layout", "leaves", "numbers", "outs", "taken", "targets")

    def __init__(
        self, leaves: Sequence[int], outs: Sequence[int], layout: VectorLayout, numbers: list[int] | None = None
    ) -> None:
        self.leaves, self.outs, self.layout = list(leaves), list(outs), layout
        self.numbers = layout.numbers if numbers is None else numbers
        self.taken = picks(leaves)
        self.targets = picks(outs)

    def vector(self, leaves: list[Any], first: bool) -> Vector:
        """Return the vector of these leaves; `first` says that nothing is to be compiled for it.

        If the leaves are replaced, nobody else holds the vector's value. It is ``placed`` if it can take the next value
        too.
        """
        packed = self.taken(leaves)
        vector = packed[0].vector if type(packed[0]) is Packed else None
        if vector is not None and type(vector.value) is Pending:
            vector.settle()
        value = None if vector is None else vector.value
        if vector is not None and vector.layout is self.layout and not isinstance(value, (_Frozen, Pending)):
            if _are_pieces(packed, vector, self.numbers):
                if not self.outs:
                    return vector
                if any_piece_held(packed) or any(map(getweakrefcount, packed)):
                    vector.freeze()
                    return Vector(self.layout, value)
                vector.found = _NONE_CUT
                return vector
        arrays: list[Any] = [np.zeros(a.shape, a.dtype) for a in self.layout.avals]
        for number, leaf in zip(self.numbers, packed, strict=True):
            arrays[number] = resolved(leaf)
        if first:
            return Vector(self.layout, on_device(self.layout.join(list(map(np.asarray, arrays)))))
        counters.dispatches += 1
        with keeping_64_bits(self.layout.avals[0].wide):
            return Vector(self.layout, self.layout.joined(arrays))

    def parted(self, vector: jax.Array) -> list[tuple[int, Any]]:
        """Return the leaves in a vector, with their numbers."""
        parts = self.layout.split(vector)
        return [(leaf, parts[number]) for leaf, number in zip(self.leaves, self.numbers, strict=True)]
