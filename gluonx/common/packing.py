"""Several arrays kept as one array.

A :class:`Layout` says where each of several arrays, its *pieces*, lies in one array. It joins and splits arrays, and
it carries what an optimizer asks of pieces that it no longer sees: one number a piece, spread so that it broadcasts
against the joined array (:meth:`Layout.spread`), and the norm of each piece (:meth:`Layout.norm`).

Three parts of gluonx keep arrays so: fused parameters (`gluonx.block.fusion`), the vectors in which small arrays travel
between programs (`gluonx.deferred.values.vectors`), and the update of several weights by one formula with its states
(`gluonx.optimizer.units`). :class:`Groups` says which of many arrays are kept together. All functions work on NumPy
arrays, on JAX arrays and on tracers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

__all__ = ["Groups", "Layout"]

Shape = tuple[int, ...]


def _space(arrays: Iterable[Any]) -> Any:
    return np if all(isinstance(a, np.ndarray) for a in arrays) else jnp


@dataclass(unsafe_hash=True)
class Layout:
    """The place of each piece in a joined array. Equal layouts are equal, so that what is made for one is shared.

    Parameters
    ----------
    how : {'concat', 'stack', 'flat'}
        End to end along `axis`; along a new `axis`; or ravelled and end to end, whatever the shapes.
    axis : int
        See `how`; 0 or more.
    transposed : bool
        Whether the joined array is kept with its axes reversed.
    shapes : tuple of tuple of int
        Of the pieces.

    Examples
    --------
    >>> import numpy as np
    >>> layout = Layout("flat", 0, False, ((2,), (1, 2)))
    >>> both = layout.join([np.array([1, 2]), np.array([[3, 4]])])
    >>> both.tolist(), [piece.tolist() for piece in layout.split(both)]
    ([1, 2, 3, 4], [[1, 2], [[3, 4]]])
    >>> layout.spread([0.5, 2.0]).tolist()
    [0.5, 0.5, 2.0, 2.0]
    """

    how: str
    axis: int
    transposed: bool
    shapes: tuple[Shape, ...]

    @cached_property
    def shape(self) -> Shape:
        """The shape of the joined array, found without computing it."""
        if self.how == "flat":
            return (sum([size for _, size, _ in self.spans]),)
        structs = [jax.ShapeDtypeStruct(shape, np.float32) for shape in self.shapes]
        return tuple(jax.eval_shape(lambda *arrays: self.join(arrays), *structs).shape)

    @cached_property
    def spans(self) -> list[tuple[int, int, Shape]]:
        """For each piece where it begins along the axis of joining, how far it reaches there, and its shape."""
        if self.how == "flat":
            sizes = [math.prod(shape) for shape in self.shapes]
        else:
            sizes = [1 if self.how == "stack" else shape[self.axis] for shape in self.shapes]
        return list(zip(itertools.accumulate(sizes, initial=0), sizes, self.shapes, strict=False))

    def join(self, arrays: Sequence[Any]) -> Any:
        """Return the joined array of all pieces; one of NumPy if all of them are."""
        xp = _space(arrays)
        if self.how == "flat":
            return xp.concatenate([a.reshape(-1) for a in arrays])
        out = (xp.stack if self.how == "stack" else xp.concatenate)(list(arrays), axis=self.axis)
        return out.transpose() if self.transposed else out

    def part(self, joined: Any, i: int) -> Any:
        """Return piece number `i`; of an array of NumPy a view."""
        start, size, shape = self.spans[i]
        if self.how != "flat":
            whole = joined.transpose() if self.transposed else joined
            return whole[(*[slice(None)] * self.axis, self._index(i))]
        if isinstance(joined, np.ndarray):
            return joined[start : start + size].reshape(shape)
        # Traced in half of the time that indexing takes.
        return lax.slice_in_dim(joined, start, start + size).reshape(shape)

    def split(self, joined: Any) -> list[Any]:
        """Return all pieces."""
        return [self.part(joined, i) for i in range(len(self.shapes))]

    def replace(self, joined: Any, i: int, piece: Any) -> Any:
        """Return the joined array with another piece number `i`."""
        if self.how == "flat":
            start, size, _ = self.spans[i]
            return _put(joined, (slice(start, start + size),), piece.reshape(-1))
        whole = joined.transpose() if self.transposed else joined
        whole = _put(whole, (*[slice(None)] * self.axis, self._index(i)), piece)
        return whole.transpose() if self.transposed else whole

    def spread(self, values: Sequence[Any]) -> jax.Array:
        """Return one number a piece as an array that broadcasts against the joined one."""
        line = jnp.concatenate([jnp.broadcast_to(v, (n,)) for v, (_, n, _) in zip(values, self.spans, strict=True)])
        if self.how == "flat":
            return line
        ndim = len(self.shapes[0]) + (self.how == "stack")
        out = line.reshape([-1 if axis == self.axis else 1 for axis in range(ndim)])
        return out.transpose() if self.transposed else out

    def norm(self, joined: Any) -> jax.Array:
        """Return the Euclidean norm of each piece, as an array that broadcasts against the joined one."""
        return self.spread([jnp.sqrt(jnp.sum(jnp.square(part))) for part in self.split(joined)])

    def _index(self, i: int) -> Any:
        start, size, _ = self.spans[i]
        return start if self.how == "stack" else slice(start, start + size)


@dataclass(frozen=True)
class Groups:
    """A choice: which of several arrays are kept end to end as one, and which alone; equal choices compare equal.

    Parameters
    ----------
    members : tuple of tuple of int
        For each group the numbers of its arrays.
    layouts : tuple of (Layout or None)
        Where they lie; None for an array alone, which keeps its shape.

    Examples
    --------
    >>> import numpy as np
    >>> groups = Groups.of([(0, 2), (1,)], [(2,), (3,), (1, 1)])
    >>> kept = groups.join([np.zeros(2), np.ones(3), np.ones((1, 1))])
    >>> [array.tolist() for array in kept], [array.shape for array in groups.split(kept)]
    ([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]], [(2,), (3,), (1, 1)])
    """

    members: tuple[tuple[int, ...], ...]
    layouts: tuple[Layout | None, ...]

    @classmethod
    def of(cls, members: Iterable[Sequence[int]], shapes: Sequence[Any]) -> Groups:
        """Return the groups of arrays of these shapes."""
        own = tuple(map(tuple, members))
        flat = [tuple([tuple(shapes[k]) for k in group]) for group in own]
        return cls(own, tuple([Layout("flat", 0, False, each) if len(each) > 1 else None for each in flat]))

    def join(self, arrays: Sequence[Any]) -> list[Any]:
        """Return one array for each group."""
        return [
            arrays[own[0]] if layout is None else layout.join([arrays[k] for k in own])
            for own, layout in zip(self.members, self.layouts, strict=True)
        ]

    def split(self, joined: Sequence[Any]) -> list[Any]:
        """Return all arrays in their order."""
        found: dict[int, Any] = {}
        for array, own, layout in zip(joined, self.members, self.layouts, strict=True):
            found.update(zip(own, [array] if layout is None else layout.split(array), strict=True))
        return [found[k] for k in range(len(found))]


def _put(array: Any, place: tuple[Any, ...], value: Any) -> Any:
    if isinstance(array, np.ndarray):
        array = array.copy()
        array[place] = value
        return array
    return array.at[place].set(value)
