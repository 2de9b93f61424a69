"""Parameter fusion as pure functions: many arrays, declared one by one, stored as one.

A layer declares parameters as people think of them: a query, a key and a value. The computation wants one wide matrix.
A :class:`Fused` says how the one array is made of the many. It is a *rearrangement*: each element of each piece is at
exactly one position of the fused array, and there are no other elements. So values, gradients and optimizer states are
converted back and forth without rounding, and an elementwise operation can be applied to the fused array at once.

A :class:`~gluonx.common.packing.Layout` is a Fused for given shapes; equal layers have equal layouts and share their
operators (:func:`reader` and similar functions). :class:`FunctionLayout` is the layout of a block's own functions,
which no Fused describes.

All functions work on NumPy arrays, on JAX arrays and on tracers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from gluonx.block.structure import Shape, is_complete, merge
from gluonx.common.packing import Layout
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.errors import FusionError

if TYPE_CHECKING:
    import jax

    from gluonx.np.handle import ndarray


__all__ = [
    "Fused",
    "FunctionLayout",
    "Layout",
    "changed",
    "check_round_trip",
    "fuse",
    "joiner",
    "keeper",
    "of_functions",
    "reader",
    "unfuse",
    "writer",
]

Tree = dict[str, Any]

_KINDS = ("concat", "stack", "flat")


@dataclass(frozen=True)
class Fused:
    """A declaration that several parameters are stored as one array.

    Parameters
    ----------
    name : str
        The name of the fused parameter.
    pieces : sequence of str
        The names of its pieces below the block that declares them: ``'weight'``, ``'query.weight'``.
    how : {'concat', 'stack', 'flat'}
        Concatenated along `axis`; stacked along a new `axis`; or ravelled and concatenated, whatever the shapes.
    axis : int
        See `how`; not used for 'flat'.
    transposed : bool
        Whether the fused array is stored with its axes reversed.

    Raises
    ------
    FusionError
        If there is no piece, one is named twice, or `how` is none of the above.

    Examples
    --------
    >>> import numpy as np
    >>> qkv = Fused("qkv", ("q", "k"), axis=0)
    >>> tree = fuse({"q": np.zeros((2, 3)), "k": np.ones((1, 3)), "bias": np.zeros(3)}, [qkv])
    >>> {name: array.shape for name, array in tree.items()}
    {'qkv': (3, 3), 'bias': (3,)}
    >>> unfuse(tree, [qkv], {"q": (2, 3), "k": (1, 3)})["k"].tolist()
    [[1.0, 1.0, 1.0]]
    """

    name: str
    pieces: tuple[str, ...]
    how: str = "concat"
    axis: int = 0
    transposed: bool = False

    def __post_init__(self) -> None:
        pieces = (self.pieces,) if isinstance(self.pieces, str) else tuple(self.pieces)
        object.__setattr__(self, "pieces", pieces)
        if self.how not in _KINDS:
            raise FusionError(f"Fused '{self.name}': how must be one of {_KINDS}, got {self.how!r}.")
        if not pieces:
            raise FusionError(f"Fused '{self.name}' has no pieces.")
        twice = next((p for p in pieces if pieces.count(p) > 1), None)
        if twice is not None:
            raise FusionError(f"Fused '{self.name}' names the piece '{twice}' twice.")

    def layout(self, shapes: Sequence[Sequence[int]]) -> Layout:
        """Return the layout for pieces of these shapes.

        Raises
        ------
        FusionError
            If pieces of these shapes cannot be put together so.
        """
        found = [tuple(int(n) for n in shape) for shape in shapes]
        if self.how == "flat":
            return Layout("flat", 0, self.transposed, tuple(found))
        ndim = len(found[0]) + (self.how == "stack")
        if not -ndim <= self.axis < ndim:
            raise FusionError(f"Fused '{self.name}': axis {self.axis} is none of {ndim} axes.")
        axis = self.axis % ndim
        for piece, shape in zip(self.pieces, found, strict=True):
            rest, first = (
                (shape, found[0]) if self.how == "stack" else (_without(shape, axis), _without(found[0], axis))
            )
            if len(shape) != len(found[0]) or rest != first:
                beside = "" if self.how == "stack" else f" but for axis {axis}"
                raise FusionError(
                    f"Fused '{self.name}': the piece '{piece}' has shape {shape}, which must be equal{beside} to "
                    f"{found[0]} of '{self.pieces[0]}'."
                )
        return Layout(self.how, axis, self.transposed, tuple(found))

    def shape_of(self, shapes: Sequence[Shape | None]) -> Shape | None:
        """Return the shape of the fused array, as far as the shapes of its pieces determine it.

        Parameters
        ----------
        shapes : sequence of tuple of int or None
            The shapes of the pieces; -1 for a dimension that is not known, None if nothing is known.

        Returns
        -------
        tuple of int or None
            The same for the fused array.

        Raises
        ------
        ValueError
            If pieces of these shapes cannot be put together so.

        Examples
        --------
        >>> Fused("both", ("a", "b")).shape_of([(2, -1), (3, 4)])
        (5, 4)
        """
        if all(map(is_complete, shapes)):
            return self.layout(shapes).shape  # type: ignore[arg-type]
        if self.how == "flat":
            return (-1,)
        rest: Shape | None = None
        for shape in shapes:
            rest = merge(rest, self._beside(shape))
        if rest is None:
            return None
        axis = self.axis % (len(rest) + (self.how == "stack"))
        if self.how == "stack":
            whole = (*rest[:axis], len(shapes), *rest[axis:])
        else:
            sizes = [-1 if shape is None else shape[axis] for shape in shapes]
            whole = (*rest[:axis], -1 if -1 in sizes else sum(sizes), *rest[axis + 1 :])
        return whole[::-1] if self.transposed else whole

    def shapes_within(self, whole: Shape, shapes: Sequence[Shape | None]) -> list[Shape | None]:
        """Return the shapes of the pieces, as far as the fused array's and what is known of theirs determine them.

        Raises
        ------
        ValueError
            If they contradict each other.

        Examples
        --------
        >>> Fused("both", ("a", "b")).shapes_within((5, 4), [(2, -1), (-1, -1)])
        [(2, 4), (3, 4)]
        """
        if self.how == "flat":
            return list(shapes)
        merge(self.shape_of(shapes), whole)
        if not whole:
            raise ValueError(f"Fused '{self.name}': pieces cannot be put together to a scalar")
        whole = whole[::-1] if self.transposed else whole
        axis = self.axis % len(whole)
        if self.how == "stack":
            return [merge(shape, _without(whole, axis)) for shape in shapes]
        sizes = [-1 if shape is None else shape[axis] for shape in shapes]
        if sizes.count(-1) == 1:
            sizes[sizes.index(-1)] = max(whole[axis] - sum(n for n in sizes if n > 0), -1)
        return [merge(s, (*whole[:axis], n, *whole[axis + 1 :])) for s, n in zip(shapes, sizes, strict=True)]

    def _beside(self, shape: Shape | None) -> Shape | None:
        """Return the part of a piece's shape that all pieces have in common."""
        if shape is None or self.how == "stack":
            return shape
        axis = self.axis % len(shape)
        return (*shape[:axis], -1, *shape[axis + 1 :])


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


class _Operators:
    """The operators of a layout, made on demand; cached by layout, so that equal layouts share them."""

    made: dict[Any, DerivedOp] = {}  # noqa: RUF012 - one table for the process

    @classmethod
    def get(cls, key: object, name: str, fn: Callable[..., Any]) -> DerivedOp:
        found = cls.made.get(key)
        return found if found is not None else cls.made.setdefault(key, DerivedOp(name, fn))


def joiner(layout: Layout) -> DerivedOp:
    """Return :meth:`Layout.join` as an operator on the pieces."""
    return _Operators.get((layout, "join"), "fuse", lambda *arrays: layout.join(arrays))


def reader(layout: Layout, i: int) -> DerivedOp:
    """Return :meth:`Layout.part` as an operator on the fused array."""
    return _Operators.get((layout, "part", i), "piece", lambda fused: layout.part(fused, i))


def writer(layout: Layout, i: int) -> DerivedOp:
    """Return :meth:`Layout.replace` as an operator on the fused array and the new piece."""
    return _Operators.get(
        (layout, "replace", i),
        "piece_assign",
        lambda fused, piece: layout.replace(fused, i, jnp.broadcast_to(piece.astype(fused.dtype), layout.shapes[i])),
    )


def keeper(layout: Layout, keeps: tuple[bool, ...]) -> DerivedOp:
    """Return an operator on the fused array that zeroes each piece for which `keeps` is False."""
    # By selection, not multiplication, so that a NaN there becomes zero too.
    return _Operators.get((layout, "keep", keeps), "trained_pieces", lambda x: jnp.where(layout.spread(keeps), x, 0))


class FunctionLayout(Layout):
    """The layout of a fused array that a block's own functions make.

    Parameters
    ----------
    join, cut : callable
        ``join(pieces) -> array`` and ``cut(array) -> pieces``, both pure.
    shapes : sequence of tuple of int
        Of the pieces.
    """

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __init__(self, join: Callable[..., Any], cut: Callable[..., Any], shapes: Sequence[Shape]) -> None:
        super().__init__("functions", 0, False, tuple(shapes))
        self._join, self._cut = join, cut

    def join(self, arrays: Sequence[Any]) -> jax.Array:
        """Fuse all pieces into one array."""
        return self._join([jnp.asarray(a) for a in arrays])

    def part(self, joined: object, i: int) -> jax.Array:
        """Return piece number `i`."""
        return self.split(joined)[i]

    def split(self, joined: object) -> list[Any]:
        """Return all pieces."""
        return list(self._cut(jnp.asarray(joined)))

    def replace(self, joined: object, i: int, piece: object) -> jax.Array:
        """Return the fused array with another piece number `i`."""
        return self.join([piece if k == i else part for k, part in enumerate(self.split(joined))])

    def spread(self, values: Sequence[Any]) -> jax.Array:
        """Return one number for each piece as an array that broadcasts against the fused one."""
        return self.join([jnp.broadcast_to(v, shape) for v, shape in zip(values, self.shapes, strict=True)])


# ----------------------------------------------------------------- transforms of whole trees


def fuse(tree: Mapping[str, Any], declarations: Sequence[Fused]) -> Tree:
    """Return the tree with fused arrays instead of their pieces, each at the position of its first piece.

    Parameters
    ----------
    tree : dict of str to array
    declarations : sequence of Fused

    Returns
    -------
    dict of str to array
    """
    home = {piece: fused for fused in declarations for piece in fused.pieces}
    out: Tree = {}
    for name, array in tree.items():
        fused = home.get(name)
        if fused is None:
            out[name] = array
        elif fused.name not in out:
            arrays = [tree[piece] for piece in fused.pieces]
            out[fused.name] = fused.layout([a.shape for a in arrays]).join(arrays)
    return out


def unfuse(tree: Mapping[str, Any], declarations: Sequence[Fused], shapes: Mapping[str, Sequence[int]]) -> Tree:
    """Undo :func:`fuse`; `shapes` are those of the pieces by name."""
    named = {fused.name: fused for fused in declarations}
    out: Tree = {}
    for name, array in tree.items():
        fused = named.get(name)
        if fused is None:
            out[name] = array
        else:
            out.update(zip(fused.pieces, fused.layout([shapes[p] for p in fused.pieces]).split(array), strict=True))
    return out


_NO_PLACEMENT = (
    "{where}: fuse_parameters must put each element of its pieces in one place of one fused array and add nothing, so "
    "that gradients and optimizer states can follow; in '{name}' {what}."
)


def changed(fuse: Callable[[Tree], Tree], shapes: Mapping[str, Shape], where: str) -> dict[str, list[str]]:
    """Return the arrays that `fuse` makes and the pieces of each, found by passing numbered elements through it.

    Parameters
    ----------
    fuse : callable
        Maps a dict of arrays to another.
    shapes : dict of str to tuple
        Of the parameters that go in.
    where : str
        The block, for messages.

    Returns
    -------
    dict of str to list of str
        The pieces of each fused array, in the order of `shapes`. Unchanged arrays are not listed.

    Raises
    ------
    FusionError
        If elements are lost, doubled or added, or if a piece is split.
    """
    ends = list(itertools.accumulate(math.prod(s) for s in shapes.values()))
    starts = dict(zip(shapes, [0, *ends], strict=False))
    numbers = {
        name: np.arange(starts[name], starts[name] + math.prod(shape), dtype=np.int32).reshape(shape)
        for name, shape in shapes.items()
    }
    out = {name: np.asarray(array) for name, array in fuse({n: jnp.asarray(a) for n, a in numbers.items()}).items()}
    edges = np.array(ends, np.int64)
    names = list(shapes)
    found: dict[str, list[str]] = {}
    homes: dict[str, str] = {}
    for name, array in out.items():
        if name in numbers and np.array_equal(array, numbers[name]):
            continue
        held, counts = np.unique(array, return_counts=True)
        if array.size and (held[0] < 0 or held[-1] >= (ends[-1] if ends else 0)):
            raise FusionError(_NO_PLACEMENT.format(where=where, name=name, what="there are elements of no piece"))
        pieces = [names[k] for k in np.unique(np.searchsorted(edges, held, side="right"))]
        if (counts > 1).any():
            raise FusionError(_NO_PLACEMENT.format(where=where, name=name, what=f"elements of {pieces} stand twice"))
        for piece in pieces:
            whole = np.isin(numbers[piece].ravel(), held).all()
            if piece in homes or piece in out or not whole:
                what = f"'{piece}' is torn: not all of its elements stand here alone"
                raise FusionError(_NO_PLACEMENT.format(where=where, name=name, what=what))
            homes[piece] = name
        found[name] = pieces
    lost = [name for name in names if name not in homes and name not in out]
    if lost:
        raise FusionError(f"{where}: fuse_parameters loses {', '.join(map(repr, lost))}.")
    return found


def of_functions(
    fuse: Callable[[Tree], Tree], unfuse: Callable[[Tree], Tree], shapes: Mapping[str, Shape], where: str
) -> list[tuple[str, tuple[str, ...], FunctionLayout]]:
    """Return name, pieces and layout of each array that a pair of functions makes; see :func:`changed`."""
    found = changed(fuse, shapes, where)
    made = []
    for name, pieces in found.items():

        def join(arrays: Sequence[Any], name: str = name, pieces: list[str] = pieces) -> jax.Array:
            given = dict(zip(pieces, arrays, strict=True))
            rest = arrays[0].dtype
            return fuse({n: given[n] if n in given else jnp.zeros(s, rest) for n, s in shapes.items()})[name]

        def cut(array: ndarray, name: str = name, pieces: list[str] = pieces) -> list[Any]:
            blank = fuse({n: jnp.zeros(s, array.dtype) for n, s in shapes.items()})
            tree = unfuse({**blank, name: array})
            return [tree[p] for p in pieces]

        made.append((name, tuple(pieces), FunctionLayout(join, cut, [shapes[p] for p in pieces])))
    return made


def check_round_trip(
    fuse: Callable[[Tree], Tree], unfuse: Callable[[Tree], Tree], tree: Mapping[str, Any], where: str
) -> None:
    """Check that ``unfuse(fuse(tree))`` is `tree`, bit for bit.

    Raises
    ------
    FusionError
        If it is not; the message names the block (`where`) and the first parameter that differs.
    """
    back = unfuse(fuse(dict(tree)))
    for name, array in tree.items():
        found = back.get(name)
        if found is None:
            raise FusionError(f"{where}: unfuse_parameters does not give back '{name}'.")
        was, now = np.asarray(array), np.asarray(found)
        if was.shape != now.shape or was.dtype != now.dtype:
            raise FusionError(
                f"{where}: '{name}' was {was.dtype}{was.shape} before it was fused, and came back from "
                f"unfuse_parameters as {now.dtype}{now.shape}."
            )
        if was.tobytes() != now.tobytes():
            raise FusionError(
                f"{where}: '{name}' has other values after fuse_parameters and unfuse_parameters than before."
            )
    extra = [name for name in back if name not in tree]
    if extra:
        raise FusionError(f"{where}: unfuse_parameters gives '{extra[0]}', which is no parameter of the block.")
