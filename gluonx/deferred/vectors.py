"""Small arrays that stay together between programs.

An array that crosses the border of a program costs one to two microseconds whatever it holds, and small weights go in
and out at each step. So a training program takes those of its own as one vector and gives them back as one
(:class:`Join`); the handles hold a :class:`~gluonx.deferred.core.Packed` each, which says where in the vector its array
is. Nothing but a training program knows of this: whoever else wants such an array reads it, and then all pieces are cut
out by one program (:meth:`Vector.array`).

Invariants: a Packed never changes what it stands for, as long as anybody but its handle knows of it. A vector is
donated to the next step only when nobody but the handles and that step holds its pieces; otherwise they are cut out
first (:meth:`Vector.freeze`). Where nobody remembers them, not even weakly, the vector just gets its next value:
handles and pieces stay, so a steady step does nothing for each weight.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter, is_, itemgetter
from typing import Any
from weakref import getweakrefcount

import jax
import numpy as np
from jax.core import eval_context

from gluonx.common.packing import Layout
from gluonx.common.thresholds import threshold
from gluonx.deferred.aliasing import any_piece_held
from gluonx.deferred.contracts import Leaf
from gluonx.deferred.core import Aval, Handle, HostArray, Packed, Pending, counters
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
        """Return the same for a vector that is there. The first times nothing is compiled for it."""
        self.cuts += 1
        with keeping_64_bits(self.avals[0].wide):
            if self.cuts > _CUTS_BY_HOST:
                with contextlib.suppress(RecursionError):  # of a signal handler that came while this was compiled
                    return self.taken_apart(vector)
            return jax.device_put([part.copy() for part in self.split(np.asarray(vector))])


_CUTS_BY_HOST = threshold("small.cuts_by_host")
_layouts: weakref.WeakValueDictionary[tuple[Aval, ...], VectorLayout] = weakref.WeakValueDictionary()


def layout_of(avals: tuple[Aval, ...]) -> VectorLayout:
    """Return the one :class:`VectorLayout` of these arrays, as long as somebody holds it."""
    found = _layouts.get(avals)
    return _layouts.setdefault(avals, VectorLayout(avals)) if found is None else found


_NONE_CUT: tuple[Any, list[Any]] = (None, [])


class _Frozen:
    """The value of a vector whose pieces are what was cut out of it, for good."""

    __slots__ = ("__weakref__",)


class Vector:
    """Arrays that are kept as one; ``value`` is put in by the program that computes it."""

    __slots__ = ("found", "layout", "placed", "value")

    def __init__(self, layout: VectorLayout, value: jax.Array | None = None) -> None:
        self.layout = layout
        self.value: Any = value
        self.found: tuple[Any, list[Any]] = _NONE_CUT  # a value, and the arrays that were cut out of that
        self.placed = False  # whether handles hold its pieces

    def array(self, number: int) -> jax.Array:
        """One of the arrays; the first time all of them are cut out."""
        return self.arrays(self.value)[number]

    def arrays(self, value: jax.Array | Pending | _Frozen) -> list[Any]:
        """Return the arrays of a `value` that was read here a moment ago, or of a later one where that is not there."""
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
        """Return the value; the result of a step that has taken it, in another thread, which is waited for."""
        return self.result(self.value)

    def result(self, value: jax.Array | Pending | _Frozen) -> Any:
        """Return a value that was read here, the result of a step in the place of it."""
        while type(value) is Pending:
            if value.value is None and value.graph.is_ours():
                return value.graph.value_apart(value)
            with value.graph.lock:
                if value.value is not None:
                    return value.value
            value = self.value  # that step failed, and has put back what was here
        return value

    def settle(self) -> None:
        """Take up the result of a step that was interrupted before it gave it here."""
        place, value = self.value, self.now()
        if self.value is place:
            self.value = value

    def freeze(self) -> None:
        """Let the pieces stand for the arrays of now for good, and the value go, which another vector takes over."""
        own = (_Frozen(), self.arrays(self.value))
        self.found, self.value = own, own[0]

    @property
    def sample(self) -> jax.Array:
        """An array where these are."""
        value, arrays = self.found
        return arrays[0] if arrays and value is self.value else self.now()

    def places(self) -> list[Packed]:
        """Return the values that handles hold, one for each array."""
        self.placed = True
        return list(map(Packed, itertools.repeat(self), self.layout.numbers))


def read(handle: Handle) -> jax.Array:
    """Get the array of a handle that holds a Packed, which it keeps: it is to be in its vector at the next step too."""
    return resolved(handle.value)


def resolved(value: Leaf) -> Any:
    """Return the array that a leaf of a graph stands for."""
    if type(value) is Packed:
        return value.vector.array(value.number)
    return value.make() if type(value) is HostArray else value


_PACKED = {Packed}
_vector_of, _number_of = attrgetter("vector"), attrgetter("number")


class Join:
    """Leaves of a program that go in as one vector, and the outputs of its last node that replace them.

    Parameters
    ----------
    leaves : sequence of int
        The numbers of the leaves: two or more.
    outs : sequence of int
        The numbers of the outputs that replace them, or none where the leaves are only read.
    layout : VectorLayout
        Of the vector.
    numbers : list of int, optional
        Which of its arrays the leaves are; all of them if they are replaced.
    """

    __slots__ = ("layout", "leaves", "numbers", "outs", "taken", "targets")

    def __init__(
        self, leaves: Sequence[int], outs: Sequence[int], layout: VectorLayout, numbers: list[int] | None = None
    ) -> None:
        self.leaves, self.outs, self.layout = list(leaves), list(outs), layout
        self.numbers = layout.numbers if numbers is None else numbers
        self.taken = itemgetter(*leaves)
        self.targets: Callable[[list[Any]], tuple[Any, ...]] = itemgetter(*outs) if outs else lambda _: ()

    def vector(self, leaves: list[Any], first: bool) -> Vector:
        """Return the vector of these leaves; `first` says that nothing is to be compiled for it.

        Where the leaves are replaced, nobody else holds its value. It is ``placed`` if it may take the next one too.
        """
        packed = self.taken(leaves)
        vector = packed[0].vector if type(packed[0]) is Packed else None
        if vector is not None and type(vector.value) is Pending:
            vector.settle()
        value = None if vector is None else vector.value
        if vector is not None and vector.layout is self.layout and not isinstance(value, (_Frozen, Pending)):
            in_it = set(map(type, packed)) == _PACKED and all(
                map(is_, map(_vector_of, packed), itertools.repeat(vector))
            )
            if in_it and list(map(_number_of, packed)) == self.numbers:
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
        """Return the leaves of a vector, with their numbers."""
        parts = self.layout.split(vector)
        return [(leaf, parts[number]) for leaf, number in zip(self.leaves, self.numbers, strict=True)]
