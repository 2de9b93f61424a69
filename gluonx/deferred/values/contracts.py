"""Contracts between the parts of the engine: protocols, records, and names for types.

Nothing here computes. This module defines the types of the arguments that are called ``op``, ``args``, ``graph`` and
``part`` throughout the engine, so that pyright can check what is passed.

Input references
----------------
An :data:`InputRef` says where an input of a recorded operator comes from. Recording makes several for each operator, so
most of them are plain integers: ``n >= 0`` means value number n of the path, and ``-1 - n`` means leaf number n
(`leaf_ref` and `leaf_number` convert between the two). A :class:`ScalarRef` means a Python or NumPy number, and None an
absent input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeGuard

import jax
import numpy as np

from gluonx.ops.checks import Index, MatrixCheck

if TYPE_CHECKING:
    from gluonx.deferred.operators.segments import Behind, Out
    from gluonx.deferred.record.graph import Graph
    from gluonx.deferred.record.rows import RowVariable
    from gluonx.deferred.values.core import Aval, Handle, HostArray, Node, Packed, ScalarSlot, State, Variable
    from gluonx.deferred.values.vectors import Vector
    from gluonx.device import JaxDevice

__all__ = [
    "Args",
    "BAD_CALLS",
    "ClosedJaxpr",
    "Equation",
    "Grows",
    "HasDType",
    "Placement",
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

# The errors that an operator may raise for inputs that it cannot take.
BAD_CALLS = (
    TypeError, ValueError, IndexError, AttributeError, NotImplementedError, AssertionError, ZeroDivisionError,
    OverflowError,
)  # fmt: skip
Shape: TypeAlias = "tuple[int, ...]"
# Values and types of JAX's traces; not every version of jax.extend.core has names for all of these types.
Equation: TypeAlias = "Any"
Jaxpr: TypeAlias = "Any"
ClosedJaxpr: TypeAlias = "Any"
JaxprVar: TypeAlias = "Any"
# The Python and NumPy types that a program takes as scalars.
Number: TypeAlias = "bool | int | float | np.bool | np.integer[Any] | np.floating[Any]"
Raw: TypeAlias = "jax.Array | np.ndarray | Number"  # an operand that is not a handle
Operand: TypeAlias = "Handle | Raw | None"  # what an operator accepts as an input
Args: TypeAlias = "Sequence[Operand]"
Leaf: TypeAlias = "jax.Array | np.ndarray | HostArray | Packed"  # what a leaf of a graph may be
Source: TypeAlias = "Variable | Out | Behind"  # where the gradient of an array is passed on to
InputRef: TypeAlias = "int | ScalarRef | None"
Placement: TypeAlias = "JaxDevice | jax.sharding.Sharding"  # where an array lies
Invoke: TypeAlias = "Callable[[Operator, Args], Any]"  # what runs or records an operator: `engine.invoke`, `run_now`


# -- operators --------------------------------------------------------------------------------------------------------


class Recorded(Protocol):
    """An operator as the pending graph sees it: all that is needed in a key of the trie.

    ``wide`` is true if it computes in 64-bit types, ``exact`` if such a type was asked for by name.
    """

    name: str
    random: bool
    needs_mode: bool
    exact: bool
    wide: bool


class Grows(Recorded, Protocol):
    """A recorded operator that makes its own trie node, as a gradient does, which is not one function's output."""

    def grow(self, graph: Graph, node: Node, key: tuple[Any, ...], args: Args) -> Node:
        """Make the child of `node` for `key`."""
        ...


class Operator(Recorded, Protocol):
    """A function on arrays that the engine can run, record, differentiate and compile.

    The implementations are ``gluonx.ops.registry.BoundOp`` and ``derived.DerivedOp``; both are hashed by identity.
    ``fn`` takes arrays (and first a key, if ``random``). ``attrs`` are the static attributes. Gradients flow through
    the first ``n_live`` outputs (None: through all). ``index`` and ``matrix`` say which checks come before and after a
    run (`gluonx.ops.checks`). The other attributes are slots in which the engine caches what it derives from the
    operator.
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
        """Return the shapes of the inputs, completed as far as the operator can infer them."""
        ...

    def infer_weights(self, shapes: list[Any]) -> list[Any]:
        """As `infer`, but without completing inputs whose shape depends on the batch."""
        ...


def grows(op: Recorded) -> TypeGuard[Grows]:
    """Return whether an operator makes its own trie nodes."""
    return hasattr(op, "grow")


def is_operator(op: Recorded) -> TypeGuard[Operator]:
    """Return whether an operator is a function on arrays; all are, except those that make their own trie nodes."""
    return hasattr(op, "fn")


# -- what runs operators instead of the engine -------------------------------------------------------------------------


class Interpreter(Protocol):
    """The object in ``State.trace``. While there is one, operators go to it instead of being run or recorded.

    :class:`~gluonx.deferred.trace.tracing.Trace` and its subclasses (the recorder for exports, and the one that moves
    channels last) make the operators part of a JAX trace. An :class:`~gluonx.deferred.record.interceptor.Interceptor`
    only observes the operators and passes them on; it is *transparent*.

    Attributes
    ----------
    outer : State or None
        The state around a transparent interpreter; None for a trace.
    transparent : bool
        Whether arrays have values while it is active, so that reading one is allowed.
    unrolls : bool
        Whether loops are unrolled, that is, run step by step.
    of_shapes : bool
        Whether it only infers shapes, above all those of parameters.
    runs_hooks : bool or None
        Whether hooks of blocks run; None if only shapes are inferred, when hooks have no values to look at.
    required : list or None
        Recorded booleans that must be true, each with its error message; None if it cannot return any.
    taps : list or None
        The look-ups in embedding tables whose gradient is kept by rows; None if it cannot return any.
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
        """Write `new` to a handle. Return False if the caller should do that in the usual way."""
        ...

    def store(self, block: Any, name: str) -> None:
        """Note that an attribute of a block is about to be written."""
        ...

    def random_inputs(self, count: int) -> tuple[Any, Any]:
        """Return the root key and the index of the next `count` random operations."""
        ...

    def moved(self, handle: Handle, placement: Placement) -> Handle:
        """Return a copy of a handle on another device."""
        ...

    def tap(self, home: RowVariable, index: Operand, shape: Shape) -> Handle:
        """Return the tap of the next look-up, if this interpreter records taps."""
        ...


# -- records ----------------------------------------------------------------------------------------------------------


class HasDType(Protocol):
    """Anything with a dtype: an array, or the slot of a number."""

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
    """A ``jax.Array``, or an object that stands for one, with its sharding."""

    @property
    def sharding(self) -> Any:
        """The sharding."""
        ...


class ScalarRef(NamedTuple):
    """A reference to a Python or NumPy number: number `number` of its kind (floats or integers) on the path."""

    slot: ScalarSlot
    number: int


class Replaced(NamedTuple):
    """A leaf that a step replaces, and the number of the output that replaces it."""

    leaf: int
    out: int


class Ownership(NamedTuple):
    """The rights of a step to the memory of its inputs; computed once for each trie node.

    ``donors`` are the leaves whose buffers the program may reuse. ``gradients`` are slots whose values may leave the
    program packed in a vector. ``replaced`` are leaves that may be kept in a vector. ``order`` holds the numbers of all
    outputs that replace a leaf, in the order of these leaves.
    """

    donors: tuple[int, ...] = ()
    gradients: tuple[int, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    order: tuple[int, ...] = ()


class StepRequest(NamedTuple):
    """A Trainer's request: run `op` on `args`, write the outputs to `targets`, and compute what is pending with it.

    Attributes
    ----------
    op : Operator
        Returns one output for each target.
    args : list
        As for ``engine.invoke``.
    targets : list of Handle
        The handles that receive the outputs; their dtype and shape do not change.
    owned : sequence of int
        The numbers of those `args` whose buffers are donated; nothing else should refer to them.
    release : callable, optional
        Called after everything is recorded; the values that it releases are then no outputs of the program.
    together : int
        The first so many `args` are also the first `targets`; small ones among them may be kept together in one vector.
    """

    op: Operator
    args: list[Any]
    targets: list[Any]
    owned: Sequence[int]
    release: Callable[[], None] | None = None
    together: int = 0


class Rebound(NamedTuple):
    """A handle that now refers to a pending value, what it held before, and the ``record()`` that did it (`scope`)."""

    handle: Handle
    value: Any
    aval: Aval | None
    tape: Any
    scope: Any


class Packs(NamedTuple):
    """The vectors that a program returns, and by packed slot the number of its vector and its position in it."""

    where: dict[int, tuple[int, int]]
    vectors: list[Vector]


class Reach(NamedTuple):
    """The part of a program that a gradient from one of its outputs reaches.

    It holds the numbers of the sources, the depths of the nodes that the gradient passes, and the program's outputs
    that it passes, including that output itself.
    """

    sources: frozenset[int]
    nodes: frozenset[int]
    outputs: frozenset[int]


def leaf_ref(number: int) -> int:
    """Return the input reference of leaf `number`.

    Examples
    --------
    >>> leaf_ref(0), leaf_number(leaf_ref(7))
    (-1, 7)
    """
    return -1 - number


def leaf_number(ref: int) -> int:
    """Return the leaf's number for an input reference below 0; the inverse of :func:`leaf_ref`."""
    return -1 - ref
