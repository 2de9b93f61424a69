"""The basic types of the deferred engine: handles, values, avals, trie nodes, and the state of the context.

A :class:`Handle` is what users hold (``gluonx.np.ndarray`` is its subclass). It is mutable and holds one of

- a ``jax.Array``: the value itself;
- a JAX tracer: the handle is used inside a traced block;
- a :class:`Pending`: a value of a pending graph; shape and dtype are known, the value is not computed yet;
- a :class:`Packed`: one array in a vector of small arrays, cut out when somebody reads it;
- a :class:`HostArray`: the value, in the host's memory; a program that takes it makes a ``jax.Array`` of it;
- a :class:`Placeholder`: no value. Using it either makes one (zeros, an inferred parameter) or raises.

``Handle.aval`` caches the interned :class:`Aval` of the value, so that recording an operator compares identities and
does not hash shapes. It is None if nobody has needed it yet, or if the value is a tracer or a placeholder: testing for
None sends all rare cases off the fast path.

A :class:`Node` is one edge of the trie: an operator applied to input references. It is made, with the avals of its
outputs, when a program first reaches that operator at that point. Every later run of the same code only walks along it,
so a node is also the identity of the program that ends there.
"""

from __future__ import annotations

import contextvars
import itertools
import os
import threading
from typing import TYPE_CHECKING, Any, final

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh, NamedSharding, Sharding

from gluonx.common import forked
from gluonx.deferred.values.contracts import Interpreter, Laid, Recorded
from gluonx.device import is_folded, planned
from gluonx.dtype import WIDE, is_inexact, on_device
from gluonx.sharding import check_automatic, is_spread

if TYPE_CHECKING:
    from gluonx.deferred.record.graph import Graph
    from gluonx.deferred.values.vectors import Vector

__all__ = [
    "ROOT",
    "Attached",
    "Aval",
    "Handle",
    "HostArray",
    "Index",
    "Node",
    "Packed",
    "Pending",
    "Placeholder",
    "ScalarSlot",
    "State",
    "TapedAval",
    "Tracer",
    "Variable",
    "at_once",
    "array_types",
    "aval_of",
    "counters",
    "current_state",
    "ever_ran",
    "finds_shapes",
    "intern_aval",
    "is_still",
    "new_handle",
    "new_pending",
    "new_pendings",
    "record_scope",
    "scalar_slot",
    "set_handle_class",
    "set_state",
    "set_variable",
    "state_with",
    "tracing",
    "twin_of",
]


class Aval:
    """Shape, dtype and placement of a value; interned, so two equal ones are the same object.

    ``taped`` stands in a trie key for a leaf with a Variable: a variant, if gradients can flow through it. ``wide`` is
    true for a 64-bit dtype, ``spread`` for a value on several devices. The sharding of a pending spread value is chosen
    by XLA later; until then the aval says that every device holds the whole value, unless it was pinned (`pinned`).
    ``home`` is the single JAX device of the value, if that is not the default device.
    """

    __slots__ = (
        "dtype",
        "home",
        "inexact",
        "nbytes",
        "ndim",
        "shape",
        "sharding",
        "size",
        "spread",
        "struct",
        "taped",
        "wide",
    )

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, sharding: Sharding | None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.sharding = sharding
        self.spread = is_spread(sharding)
        self.home: Any = None if sharding is None or self.spread else _home_of(sharding)
        self.ndim = len(shape)
        self.size = int(np.prod(shape, dtype=np.int64)) if shape else 1
        self.nbytes = self.size * dtype.itemsize
        self.inexact = is_inexact(dtype)
        self.wide = dtype in WIDE
        self.struct = jax.ShapeDtypeStruct(shape, dtype)
        self.taped = TapedAval(self) if self.inexact else self  # no gradient flows through integers

    def __repr__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def _home_of(sharding: Sharding) -> Any:
    (device,) = sharding.device_set
    # While a plan for one device is made, that device counts as the default: a net makes its arrays there.
    return None if device == jax.local_devices()[0] or device in planned.get().values() else device


class TapedAval:
    """The variant of an aval that stands in trie keys for a leaf through which gradients flow."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval


_avals: dict[Any, Aval] = {}
_default_shardings: dict[Any, Any] = {}


def intern_aval(shape: tuple[int, ...], dtype: np.dtype, sharding: Sharding | None = None) -> Aval:
    """Return the one :class:`Aval` of this shape, dtype and placement."""
    key = (shape, dtype, sharding)
    found = _avals.get(key)
    if found is None:
        forked.watch()
        found = _avals.setdefault(key, Aval(shape, dtype, sharding))
    return found


def ever_ran() -> bool:
    """Return whether any operator was recorded in this process."""
    return bool(_avals)


def _placement(sharding: Sharding) -> Any:
    """Return None for JAX's default device, else the sharding itself."""
    try:
        return _default_shardings[sharding]
    except KeyError:
        devices = sharding.device_set
        if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
            check_automatic(sharding.mesh)
        plain = len(devices) == 1 and next(iter(devices)) == jax.local_devices()[0] and not is_folded(sharding)
        placed = None if plain else sharding
        _default_shardings[sharding] = placed
        return placed


def aval_of(value: Laid | HostArray | Packed) -> Aval:
    """Return the interned aval of an array, packed array or tracer."""
    if type(value) is Packed:
        return value.aval
    if type(value) is HostArray:
        return intern_aval(value.shape, value.dtype)
    if isinstance(value, Tracer):
        return intern_aval(value.shape, np.dtype(value.dtype))
    return intern_aval(value.shape, value.dtype, _placement(value.sharding))


class ScalarSlot:
    """The part of a trie key for a Python or NumPy scalar: its dtype in the program, never its value."""

    __slots__ = ("dtype", "integral", "struct", "wide")

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.wide = dtype in WIDE
        self.integral = dtype.kind in "iub"
        self.struct = jax.ShapeDtypeStruct((), dtype)

    def __repr__(self) -> str:
        return f"scalar {self.dtype}"


class Index(int):
    """An integer that enters a program as int32 (int64 if too large), whatever stands beside it, such as a counter."""

    __slots__ = ()


_scalar_slots: dict[np.dtype, ScalarSlot] = {}


def scalar_slot(dtype: np.dtype) -> ScalarSlot:
    """Return the interned slot of a scalar that enters a program as `dtype`."""
    found = _scalar_slots.get(dtype)
    if found is None:
        found = _scalar_slots.setdefault(dtype, ScalarSlot(dtype))
    return found


class Handle:
    """A mutable reference to an immutable value; see the module's docstring."""

    __slots__ = ("__weakref__", "aval", "tape", "value", "variable")

    derived = False  # whether reading `value` may itself record something, as for a view whose base has changed
    plain_class: type | None = (
        None  # the class of arrays that belong to this one, such as its gradient; None means `array_class`
    )
    value: Any
    aval: Aval | None
    tape: Any  # tape.Out: the output of a finished segment that this value is
    variable: Variable | None  # set by attach_grad

    # The methods below are defined by the class of users' arrays; the engine calls them.

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, known also while the value is not there."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype:
        """The dtype, known also while the value is not there."""
        raise NotImplementedError

    def is_current(self) -> bool:
        """Return whether reading `value` records nothing. Only views override this."""
        return True


array_types: set[type] = (
    set()
)  # classes of jax.Array seen so far; isinstance() takes three times as long as a look-up here
array_class: type[Any] = Handle  # the class of users' arrays; read it as an attribute of this module: it is set late


def set_handle_class(cls: type) -> None:
    """Tell the engine which subclass of :class:`Handle` to hand to users."""
    global array_class
    array_class = cls


def handle_class() -> type:
    """Return the class of users' arrays."""
    return array_class


def new_handle(value: Any, aval: Aval | None = None) -> Any:
    """Return a fresh user-visible handle on `value`."""
    handle = array_class()
    handle.value = value
    handle.aval = aval
    handle.tape = None
    handle.variable = None
    return handle


def twin_of(handle: Handle, cls: type) -> Any:
    """Return another handle, of class `cls`, on what `handle` holds now: value, tape and gradient.

    Later writes to one are not seen by the other.
    """
    twin: Any = object.__new__(cls)
    twin.value, twin.aval, twin.tape, twin.variable = handle.value, handle.aval, handle.tape, handle.variable
    return twin


class Variable:
    """The end point of a gradient; ``attach_grad`` gives one to a handle.

    ``grad`` is the handle that users read. It exists from the start, but takes no memory until a gradient arrives or is
    asked for. ``fresh`` says whether a backward has written to it since the Trainer's last step. ``keeps`` is None or
    an operator that gradients go through first: it makes zeros of the parts of the array that are not trained.
    """

    __slots__ = ("fresh", "grad", "keeps", "owner", "req")

    def __init__(self, req: str, grad: Handle, owner: str = "") -> None:
        self.req = req
        self.grad = grad
        self.fresh = False
        self.keeps: Any = None
        self.owner = owner


class Attached:
    """A mark for the current assignment of Variables to handles: ``latest`` becomes another object after each change.

    A Trainer compares it with the mark that it remembers, and so knows without looking at each handle that none has
    changed.
    """

    latest: object = object()

    @classmethod
    def changed(cls) -> None:
        """Record a change; call it after the change is complete."""
        cls.latest = object()


def set_variable(handle: Handle, variable: Variable | None) -> None:
    """Give a handle another Variable, or none, and mark that Variables have changed.

    Examples
    --------
    >>> handle, before = new_handle(None), Attached.latest
    >>> set_variable(handle, Variable("write", new_handle(None)))
    >>> Attached.latest is before
    False
    """
    handle.variable = variable
    Attached.changed()


class Placeholder:
    """A value that is not an array. :meth:`make` returns the array to put there, or raises an error for the user.

    ``known`` says whether there is a value, so that `make` does not raise.
    """

    __slots__ = ()
    known = False
    shape: tuple[int, ...]
    dtype: np.dtype

    def make(self, handle: Handle) -> jax.Array:
        """Make the array to put into `handle`."""
        raise NotImplementedError


@final
class HostArray(Placeholder):
    """A value in the host's memory that nobody writes to; all handles on it share it.

    Operators that NumPy runs return it (:mod:`gluonx.deferred.run.host`). It counts as lying on the default device.
    """

    __slots__ = ("__weakref__", "_placed", "array", "dtype", "shape")
    known = True

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.shape = array.shape
        self.dtype = array.dtype
        self._placed: jax.Array | None = None

    def make(self, handle: Handle | None = None) -> jax.Array:
        """Return the same value as a ``jax.Array``, made once."""
        placed = self._placed
        if placed is None:
            forked.check("an array of JAX")
            with jax.ensure_compile_time_eval():
                placed = self._placed = on_device(self.array)
        return placed

    def is_at(self, array: object) -> bool:
        """Return whether `array` is what :meth:`make` has made of this value."""
        return array is not None and array is self._placed


@final
class Pending:
    """A value of a pending graph, at slot `slot`. All handles on the same value share it.

    :func:`new_pending` and :func:`new_pendings` make them. A constructor written in Python would take longer than
    everything else in these, so neither this class nor that of users' arrays has one.
    """

    __slots__ = ("__weakref__", "aval", "graph", "slot", "value")

    graph: Graph
    slot: int
    aval: Aval
    value: Any


def new_pending(graph: Graph, slot: int, aval: Aval) -> Any:
    """Return a new handle for users on a new pending value; this runs for each operator that is recorded."""
    pending = Pending()
    pending.graph = graph
    pending.slot = slot
    pending.aval = aval
    pending.value = None
    handle = array_class()
    handle.value = pending
    handle.aval = aval
    handle.tape = None
    handle.variable = None
    return handle


def new_pendings(graph: Graph, first: int, avals: tuple[Aval, ...]) -> list[Pending]:
    """Return new pending values for slots `first`, `first` + 1, ... with these avals."""
    pendings: list[Pending] = []
    slot = first
    for aval in avals:
        pending = Pending()
        pending.graph = graph
        pending.slot = slot
        pending.aval = aval
        pending.value = None
        pendings.append(pending)
        slot += 1
    return pendings


@final
class Packed:
    """An array in a vector of small arrays: number `number` of ``vectors.Vector`` `vector`."""

    __slots__ = ("__weakref__", "number", "vector")

    def __init__(self, vector: Vector, number: int) -> None:
        self.vector = vector
        self.number = number

    @property
    def aval(self) -> Aval:
        """The array's aval."""
        return self.vector.layout.avals[self.number]

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        """The array's dtype."""
        return self.aval.dtype


def is_still(seen: object, now: object) -> bool:
    """Return whether a value is the one that was seen, which may have been computed, or put on the device, since."""
    if type(seen) is Pending and seen is not now:
        seen = seen.value
    return now is seen or (type(seen) is HostArray and seen.is_at(now))


class Node:
    """An edge of the trie: `op` applied to `parts`, after everything on the path that leads here.

    ``parts`` are input references: ``n >= 0`` is the n-th value, ``-1-n`` the n-th leaf, a pair ``(ScalarSlot, n)`` the
    n-th scalar of its kind, None an absent input. ``size``, ``n_leaves``, ``n_floats`` and ``n_ints`` count what the
    path holds so far. ``wide`` says whether there is a 64-bit type on the path, so that a program needs JAX's x64
    switch. ``spans`` says whether several devices take part: values lie on single devices that differ, or an operator
    reads the values of all (:mod:`gluonx.deferred.replicas`).
    """

    __slots__ = (
        "children",
        "depth",
        "diff",
        "donors",
        "full",
        "grad",
        "has_backward",
        "line",
        "live",
        "n_floats",
        "n_ints",
        "n_leaves",
        "nbytes",
        "op",
        "outs",
        "parent",
        "parts",
        "programs",
        "single",
        "size",
        "spans",
        "taped",
        "used",
        "visits",
        "where",
        "wide",
    )

    def __init__(
        self, parent: Node | None, op: Recorded | None, parts: tuple[Any, ...], outs: tuple[Aval, ...]
    ) -> None:
        self.parent = parent
        self.op: Any = op  # an Operator, or a recorded operator that makes its own nodes
        self.parts = parts
        self.outs = outs
        self.children: dict[tuple[Any, ...], Node] = {}
        self.programs: dict[Any, Any] = {}
        self.visits = 0
        self.used = 0  # when it was last used, by the clock of gluonx.deferred.values.program_cache
        self.single = True
        self.full = False
        self.taped = False
        self.live: tuple[bool, ...] = ()
        self.diff: tuple[int, ...] = ()
        self.grad: Any = None
        self.donors: Any = None  # for a Trainer's update: the donors that flushing.Commit takes
        self.line: Any = None
        self.where = ""
        if parent is None:
            self.depth = self.size = self.n_leaves = self.n_floats = self.n_ints = self.nbytes = 0
            self.has_backward = self.wide = self.spans = False
        else:
            self.depth = parent.depth + 1
            self.size = parent.size + len(outs)
            self.nbytes = parent.nbytes + sum(a.nbytes for a in outs)
            self.n_leaves, self.n_floats, self.n_ints = parent.n_leaves, parent.n_floats, parent.n_ints
            self.has_backward = parent.has_backward
            self.wide = parent.wide or any(a.wide for a in outs)
            self.spans = parent.spans or getattr(op, "spans", False) or _spans(parent, outs)

    def __repr__(self) -> str:
        return f"{self.op} -> {', '.join(map(repr, self.outs))}"


def _spans(parent: Node, outs: tuple[Aval, ...]) -> bool:
    """Return whether these outputs lie on several devices, or on another device than the outputs of `parent`."""
    homes = {a.home for a in outs if not a.spread}
    if len(homes) == 1 and parent.parent is not None:
        before: Node | None = parent
        while before is not None and not before.outs:  # a backward may have none
            before = before.parent
        homes |= {a.home for a in before.outs if not a.spread} if before is not None else set()
    return len(homes) > 1


ROOT = Node(None, None, (), ())


class State:
    """The modes of the current context; immutable and interned, so that switching is one ContextVar.set."""

    __slots__ = ("bulk", "deferring", "naive", "recording", "trace", "training")

    def __init__(self, recording: bool, training: bool, trace: Interpreter | None, bulk: int, naive: bool) -> None:
        self.recording = recording
        self.training = training
        self.trace = trace
        self.bulk = bulk
        self.naive = naive
        self.deferring = (recording or bulk > 0) and trace is None and not naive


_state: contextvars.ContextVar[State] = contextvars.ContextVar(
    "gluonx_state",
    default=State(False, False, None, 0, os.environ.get("GLUONX_ENGINE", "").lower() == "naive"),  # noqa: B039 - immutable
)
current_state = _state.get
record_scope: contextvars.ContextVar[Any] = contextvars.ContextVar("gluonx_record_scope", default=None)
set_state = _state.set
_states: dict[tuple[bool, bool, int, bool], State] = {}


def state_with(
    recording: bool | None = None,
    training: bool | None = None,
    trace: Interpreter | None = None,
    bulk: int | None = None,
    naive: bool | None = None,
) -> State:
    """Return the current state with some of its fields changed."""
    now = current_state()
    key = (
        now.recording if recording is None else recording,
        now.training if training is None else training,
        now.bulk if bulk is None else bulk,
        now.naive if naive is None else naive,
    )
    trace = now.trace if trace is None else trace
    if trace is not None:
        return State(key[0], key[1], trace, key[2], key[3])
    found = _states.get(key)
    if found is None:
        found = _states[key] = State(key[0], key[1], None, key[2], key[3])
    return found


def finds_shapes() -> bool:
    """Return whether the current trace only infers shapes, above all those of parameters."""
    trace = current_state().trace
    return trace is not None and trace.of_shapes


class _Tracing(threading.local):
    """A count (``depth``) of this thread's calls in which JAX may be tracing a function that belongs to no graph."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


tracing = _Tracing()


def at_once() -> State:
    """Return a state in which everything runs at once and nothing is recorded."""
    return State(False, False, None, 0, current_state().naive)


class _Counters:
    """Plain integers that ``engine.stats()`` shows; also the source of sequence numbers."""

    def __init__(self) -> None:
        self.sequence = itertools.count(1)
        self.reset()

    def reset(self) -> None:
        self.programs_compiled = 0
        self.forgotten = 0  # programs (gluonx.deferred.values.program_cache)
        self.dispatches = 0
        self.nodes_flushed = 0
        self.traces = 0
        self.copies = 0
        self.host = 0  # operators that NumPy ran
        self.flushes: dict[str, int] = {}
        self.unhybridized: dict[str, int] = {}  # calls of hybridized blocks that ran line by line, by the reason


counters = _Counters()
