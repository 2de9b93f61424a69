"""Contracts between the parts of the engine: protocols, records, and names for types.

Nothing here computes. A name in this module says once what an argument called ``op``, ``args``, ``graph`` or ``part``
is wherever it occurs in the engine, and pyright checks that what is passed there has these attributes and methods.

Places
------
An :data:`InputRef` says where an input of a recorded operator comes from. Recording makes some for each operator, so it
is no object where a number will do: ``n >= 0`` is value number n of the path, ``-1 - n`` is leaf number n (`leaf_ref`
and `leaf_number` go from one to the other), a :class:`ScalarRef` a Python or NumPy number, None an input that is not
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeGuard

import jax
import numpy as np

from gluonx.ops.checks import Index, MatrixCheck

if TYPE_CHECKING:
    from gluonx.deferred.core import Aval, Handle, HostArray, Node, Packed, ScalarSlot, State, Variable
    from gluonx.deferred.graph import Graph
    from gluonx.deferred.rows import RowVariable
    from gluonx.deferred.segments import Behind, Out
    from gluonx.deferred.vectors import Vector
    from gluonx.device import JaxDevice

__all__ = [
    "Args",
    "BAD_CALLS",
    "ClosedJaxpr",
    "Equation",
    "Grows",
    "HasDType",
    "Home",
    "Interpreter",
    "Invoke",
    "Jaxpr",
    "JaxprVar",
    "Laid",
    "Leaf",
    "Number",
    "Operand",
    "Operator",
    "Ownership",
    "Packs",
    "InputRef",
    "Raw",
    "Reach",
    "Rebound",
    "Recorded",
    "Replaced",
    "ScalarRef",
    "Shape",
    "Shaped",
    "Source",
    "StepRequest",
    "grows",
    "is_operator",
    "leaf_number",
    "leaf_ref",
]

# What operators raise on inputs that they cannot take.
BAD_CALLS = (
    TypeError, ValueError, IndexError, AttributeError, NotImplementedError, AssertionError, ZeroDivisionError,
    OverflowError,
)  # fmt: skip
Shape: TypeAlias = "tuple[int, ...]"
# Of JAX's traces; jax.extend.core has no names of types for all of them in each version.
Equation: TypeAlias = "Any"
Jaxpr: TypeAlias = "Any"
ClosedJaxpr: TypeAlias = "Any"
JaxprVar: TypeAlias = "Any"
# What goes into a program as a scalar.
Number: TypeAlias = "bool | int | float | np.bool | np.integer[Any] | np.floating[Any]"
Raw: TypeAlias = "jax.Array | np.ndarray | Number"  # an operand that is no handle
Operand: TypeAlias = "Handle | Raw | None"  # what an operator may be given
Args: TypeAlias = "Sequence[Operand]"
Leaf: TypeAlias = "jax.Array | np.ndarray | HostArray | Packed"  # what a graph has as a leaf
Source: TypeAlias = "Variable | Out | Behind"  # where the gradient of an array goes on to
InputRef: TypeAlias = "int | ScalarRef | None"
Home: TypeAlias = "JaxDevice | jax.sharding.Sharding"  # where an array lies
Invoke: TypeAlias = "Callable[[Operator, Args], Any]"  # what runs or records an operator: `engine.invoke`, `run_now`


# -- operators --------------------------------------------------------------------------------------------------------


class Recorded(Protocol):
    """An operator as the pending graph sees it: enough to be a part of a trie key.

    ``wide`` tells that it computes in 64-bit types, ``exact`` that such a type was asked of it by name.
    """

    name: str
    random: bool
    needs_mode: bool
    exact: bool
    wide: bool


class Grows(Recorded, Protocol):
    """A recorded operator that makes its own node: a gradient, whose outputs are not those of a function."""

    def grow(self, graph: Graph, node: Node, key: tuple[Any, ...], args: Args) -> Node:
        """Make the child of `node` for `key`."""
        ...


class Operator(Recorded, Protocol):
    """A function on arrays that the engine runs, records, differentiates and compiles.

    ``gluonx.ops.registry.BoundOp`` and ``derived.DerivedOp`` are; both are hashable by identity. ``fn`` takes arrays (a
    key first, if ``random``), ``attrs`` are its static attributes, gradients flow through the first ``n_live`` outputs
    (None: all), ``index`` and ``matrix`` say what is looked at before and after it runs (`gluonx.ops.checks`). What
    else stands here are slots in which the engine keeps what it derives.
    """

    fn: Callable[..., Any]
    attrs: dict[str, Any]
    n_live: int | None
    index: Index | None
    matrix: MatrixCheck | None
    cache: Any
    eager: Any
    families: Any
    traced: Any
    vjp: Any
    shapes: Any
    host: Any
    usage: Any

    def in_mode(self, training: bool) -> Operator:
        """Return the operator in train or predict mode."""
        ...

    def infer(self, shapes: list[Any]) -> list[Any]:
        """Return the shapes of the inputs, completed as far as the operator can tell."""
        ...

    def infer_weights(self, shapes: list[Any]) -> list[Any]:
        """Return the same, but for the inputs whose shape follows the batch."""
        ...


def grows(op: Recorded) -> TypeGuard[Grows]:
    """Return whether an operator makes its own nodes."""
    return hasattr(op, "grow")


def is_operator(op: Recorded) -> TypeGuard[Operator]:
    """Return whether an operator is a function on arrays, as all are that do not make their own nodes."""
    return hasattr(op, "fn")


# -- what runs operators in place of the engine ------------------------------------------------------------------------


class Interpreter(Protocol):
    """The one in ``State.trace``: operators go to it in place of being run or recorded.

    :class:`~gluonx.deferred.tracing.Trace` (with its kinds, the recorder of exports and the one that turns channels
    last) makes them part of a JAX trace. An :class:`~gluonx.deferred.interceptor.Interceptor` looks at them and lets
    them pass: it is *transparent*.

    Attributes
    ----------
    outer : State or None
        What holds around one that is transparent; None of a trace.
    transparent : bool
        Whether values exist in it, so that reading one is no mistake.
    unrolls : bool
        Whether loops run step by step in it.
    of_shapes : bool
        Whether it only finds out shapes, of parameters above all.
    runs_hooks : bool or None
        Whether hooks of blocks run; None if only shapes are found out, where hooks have nothing to look at.
    required : list or None
        Booleans of it that must hold, and what to say if not; None where none can be given out.
    taps : list or None
        The look-ups in tables with a gradient by rows; None where it gives none out.
    """

    transparent: bool
    unrolls: bool
    of_shapes: bool
    runs_hooks: bool | None

    @property
    def outer(self) -> State | None:
        """See above."""
        ...

    @property
    def required(self) -> list[tuple[Handle, str]] | None:
        """See above."""
        ...

    @property
    def taps(self) -> list[tuple[Handle, Any]] | None:
        """See above."""
        ...

    def invoke(self, op: Operator, args: Args) -> Any:
        """Run an operator; return a handle, or a tuple of them."""
        ...

    def value(self, handle: Handle) -> Any:
        """Return the value of a handle for code on raw arrays."""
        ...

    def rebind(self, handle: Handle, new: Handle) -> bool:
        """Write `new` to a handle; False where the caller is to do that as ever."""
        ...

    def store(self, block: Any, name: str) -> None:
        """Note that an attribute of a block is about to be written."""
        ...

    def random_inputs(self, count: int) -> tuple[Any, Any]:
        """Return the root key and the index of the next `count` random operations."""
        ...

    def moved(self, handle: Handle, place: Home) -> Handle:
        """Return a copy of a handle on another device."""
        ...

    def tap(self, home: RowVariable, index: Operand, shape: Shape) -> Handle:
        """Return the tap of the next look-up, where it gives taps out."""
        ...


# -- records ----------------------------------------------------------------------------------------------------------


class HasDType(Protocol):
    """Anything with a dtype: what has a shape too, and the slot of a number."""

    @property
    def dtype(self) -> Any:
        """The dtype."""
        ...


class Shaped(HasDType, Protocol):
    """Anything with a shape and a dtype: an array, a tracer, a ``jax.ShapeDtypeStruct``, a handle, an aval."""

    @property
    def shape(self) -> Any:
        """The shape."""
        ...


class Laid(Shaped, Protocol):
    """An array of JAX, or what stands for one: it says where it lies."""

    @property
    def sharding(self) -> Any:
        """The sharding."""
        ...


class ScalarRef(NamedTuple):
    """The place of a Python or NumPy number: number `number` of its kind, floats or integers, on the path."""

    slot: ScalarSlot
    number: int


class Replaced(NamedTuple):
    """A leaf that a step replaces, and the number of the output that takes its place."""

    leaf: int
    out: int


class Ownership(NamedTuple):
    """Rights of a step over memory, found once for each node.

    ``donors`` are the leaves whose buffers its program may reuse, ``gradients`` slots that may leave it packed,
    ``replaced`` what may be kept as a vector, and ``order`` the numbers of all outputs that take the place of a leaf,
    in the order of these leaves.
    """

    donors: tuple[int, ...] = ()
    gradients: tuple[int, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    order: tuple[int, ...] = ()


class StepRequest(NamedTuple):
    """A request of a Trainer: `op` on `args`, its outputs into `targets`, and all that is pending with it.

    Attributes
    ----------
    op : Operator
        Gives one output for each target.
    args : list
        As for ``engine.invoke``.
    targets : list of Handle
        Rebound to the outputs; their dtype and shape do not change.
    owned : sequence of int
        Which of `args` have buffers that nothing else should refer to: they are donated.
    release : callable, optional
        Called once all is recorded; what it releases is no output of the program.
    together : int
        So many of the first `args` are the first `targets` themselves, and may be kept as one vector where they are
        small.
    """

    op: Operator
    args: list[Any]
    targets: list[Any]
    owned: Sequence[int]
    release: Callable[[], None] | None = None
    together: int = 0


class Rebound(NamedTuple):
    """A handle that was rebound to a place of a pending graph, and what it held before; `scope` is its ``record()``."""

    handle: Handle
    value: Any
    aval: Aval | None
    tape: Any
    scope: Any


class Packs(NamedTuple):
    """The vectors that a program gives, and by slot which of them holds a value, as its which piece."""

    where: dict[int, tuple[int, int]]
    vectors: list[Vector]


class Reach(NamedTuple):
    """The reach of a gradient from one output of a program.

    Numbers of sources, depths of nodes that it passes, and which of the program's outputs it passes, itself included.
    """

    sources: frozenset[int]
    nodes: frozenset[int]
    outputs: frozenset[int]


def leaf_ref(number: int) -> int:
    """Return the place of leaf `number`.

    Examples
    --------
    >>> leaf_ref(0), leaf_number(leaf_ref(7))
    (-1, 7)
    """
    return -1 - number


def leaf_number(place: int) -> int:
    """Return which leaf a place below 0 is; see :func:`leaf_ref`."""
    return -1 - place
