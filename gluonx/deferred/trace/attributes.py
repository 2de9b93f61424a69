"""Attributes of blocks in traced code: ``self.scale`` that is read, ``self.state = new`` that is written.

A forward that is not hybridized reads the arrays that the block holds at that moment, and stores new ones there. The
trace of a hybridized forward runs many times, so it must do this anew in each run: an :class:`Attribute` makes the
array that is read an input of the trace, and the one that is written an output.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeGuard

import jax

from gluonx.deferred.values import core
from gluonx.deferred.values.core import Handle, Pending, Placeholder, Tracer, aval_of, new_handle
from gluonx.deferred.values.shapes import Gone
from gluonx.errors import TracedValueError

__all__ = ["LEAF", "Attribute", "aval_or_unknown", "is_handle", "is_traced", "leaves_of"]

LEAF = jax.tree.structure(0)
_ABSENT = object()


class Attribute:
    """An attribute of a block that a traced forward reads arrays from or writes arrays to.

    Each use of the traced code takes the attribute's current arrays as inputs; new arrays are outputs and are stored,
    as the plain forward does. ``reads`` maps inputs of the operator to leaves of the attribute. ``kinds`` holds for
    each leaf that is written the class of its array, None if it is no array.
    """

    __slots__ = ("before", "block", "kinds", "leaves", "name", "reads", "rest", "structs", "tree", "tree_before")

    def __init__(self, block: Any, name: str) -> None:
        self.block, self.name = weakref.ref(block), name
        self.before = block.__dict__.get(name, _ABSENT)
        self.leaves, self.tree_before = leaves_of(self.before)
        self.reads: list[tuple[int, int]] = []
        self.kinds: list[Any] = []
        self.rest: list[Any] | None = None  # leaves of the written value, None for each array

    def take(self) -> list[Handle]:
        """Return the arrays of the trace that are stored there at its end."""
        leaves, self.tree = leaves_of(self.block().__dict__.get(self.name))
        self.kinds = [type(leaf) if is_traced(leaf) else None for leaf in leaves]
        taken = list(filter(is_traced, leaves))
        self.structs = [h.value.aval for h in taken]
        if taken:
            self.rest = [None if is_traced(leaf) else leaf for leaf in leaves]
        return taken

    def put_back(self, arrays: Callable[[Any], bool]) -> None:
        """Restore the former value of the attribute, if these `arrays` are there now."""
        own = self.block().__dict__
        if any(map(arrays, leaves_of(own.get(self.name))[0])):
            own.pop(self.name)
            if self.before is not _ABSENT:
                own[self.name] = self.before

    def give_up(self, within: str) -> None:
        """Store arrays there that raise when they are read, since the traced code does not return the real ones."""
        assert self.rest is not None, "there were arrays"
        arrays = iter(self.structs)
        leaves = [
            leaf if kind is None else _gone(next(arrays), self.name, within)
            for kind, leaf in zip(self.kinds, self.rest, strict=True)
        ]
        self.block().__dict__[self.name] = jax.tree.unflatten(self.tree, leaves)

    def find(self, handles: list[Handle], params: set[int]) -> bool:
        """Note which of the inputs `handles` stand in this attribute; return whether the attribute matters.

        An array of a parameter may have been read as the parameter's, so it must stay the same one.
        """
        self.before = None
        for k, leaf in enumerate(self.leaves):
            if is_handle(leaf) and id(leaf) not in params:
                self.reads += [(i, k) for i, h in enumerate(handles) if h is leaf]
                self.leaves[k] = aval_or_unknown(leaf)
        return bool(self.reads) or self.rest is not None

    def read(self, handles: list[Handle]) -> bool:
        """Put the current value among the inputs; return False if its kind is not the traced one."""
        now, tree = leaves_of(self.block().__dict__.get(self.name, _ABSENT))
        if tree != self.tree_before:
            return False
        for leaf, traced in zip(now, self.leaves, strict=True):
            if leaf is not traced and not (is_handle(leaf) and aval_or_unknown(leaf) == traced):
                return False
        for i, k in self.reads:
            handles[i] = now[k]
        return True

    def write(self, new: list[Any]) -> list[Any]:
        """Store those of the new arrays that belong here; return the others."""
        if self.rest is None:
            return new
        values = iter(new)
        leaves = [rest if kind is None else next(values) for kind, rest in zip(self.kinds, self.rest, strict=True)]
        for i, kind in enumerate(self.kinds):
            plain = kind and (kind.plain_class or core.array_class)  # an NDArray of mx.nd, if that was stored before
            if plain and type(leaves[i]) is not plain:
                leaves[i] = core.twin_of(leaves[i], plain)
        self.block().__dict__[self.name] = jax.tree.unflatten(self.tree, leaves)
        return list(values)


def _gone(struct: jax.ShapeDtypeStruct, name: str, within: str) -> Handle:
    message = (
        f"attribute '{name}' was stored by the body of {within}, which is compiled as a whole: only what the body "
        "returns comes out of it. Return the array from the body and store it afterwards."
    )
    return new_handle(Gone(struct.shape, struct.dtype, message, TracedValueError))


def is_traced(leaf: object) -> bool:
    """Return whether `leaf` is an array of a trace, which must not outlive it."""
    return is_handle(leaf) and isinstance(leaf.value, Tracer)


def leaves_of(value: object) -> tuple[list[Any], Any]:
    """Return the arrays in an attribute, and everything else in it."""
    if isinstance(value, (list, tuple, dict)):
        try:
            return jax.tree.flatten(value, is_leaf=is_handle)
        except (TypeError, ValueError):
            pass  # a dict whose keys cannot be sorted
    return [value], LEAF


def is_handle(value: object) -> TypeGuard[Handle]:
    """For ``jax.tree`` functions: stop at handles."""
    return isinstance(value, Handle)


def aval_or_unknown(handle: Handle) -> jax.ShapeDtypeStruct:
    """Return the shape of a handle that is to be lifted; fill a placeholder first."""
    if handle.aval is None:
        value = handle.value
        if isinstance(value, Placeholder):
            return jax.ShapeDtypeStruct(value.shape, value.dtype)
        if not isinstance(value, Pending):
            handle.aval = aval_of(value)
    aval = handle.aval or handle.value.aval
    return aval.struct
