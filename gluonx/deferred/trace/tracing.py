"""From Python code on handles to a jaxpr, and from the jaxpr to one node of the pending graph.

While a :class:`Trace` is active, operators run on tracers. Handles that exist outside (parameters, arrays that the
code captures) are *lifted*: each is an input of the trace, and reading it gives its tracer. A write to such a handle
stays in the trace and comes out as an extra output, which rebinds the handle when the traced code is used. So the
jaxpr is closed over nothing that can change, and the handles outside never hold a tracer.

:class:`TracedCall` does this for the forward of a hybridized block, once for each signature.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import re
import weakref
from collections.abc import Callable, Generator, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import eval_context

from gluonx.common import forked, policy
from gluonx.common.host import copied, to_jax
from gluonx.common.process import uncollected
from gluonx.deferred.operators import amp_policy, growth, primitive
from gluonx.deferred.operators.derived import DerivedOp, Inner, needs_64_bits, numpy_is_first, strong
from gluonx.deferred.record import rows
from gluonx.deferred.record.engine import invoke, random_inputs, require
from gluonx.deferred.record.graph import settle
from gluonx.deferred.record.rows import RowVariable
from gluonx.deferred.trace.attributes import LEAF, Attribute, aval_or_unknown, is_handle, is_traced, leaves_of
from gluonx.deferred.values import core, index_checks, interrupts, source_location
from gluonx.deferred.values.contracts import Args, Operand, Operator, Placement, Raw, Shaped
from gluonx.deferred.values.core import (
    Aval,
    Handle,
    Pending,
    Placeholder,
    State,
    Tracer,
    aval_of,
    counters,
    current_state,
    new_handle,
    scalar_slot,
    set_state,
)
from gluonx.deferred.values.program_cache import TRACE, Cache, add, program_size
from gluonx.deferred.values.shapes import Unknown
from gluonx.device import Replicas, current_device
from gluonx.dtype import WIDE, as_array, keeping_64_bits, without_64_bits
from gluonx.errors import DynamicShapeError, GluonxError, ShapeError, TracedValueError
from gluonx.ops.cpu.convolution import native_only
from gluonx.ops.cpu.natively import natively
from gluonx.sharding import Layouts, in_use

__all__ = [
    "KEY",
    "READ_IN_TRACE",
    "NoKey",
    "NotTraced",
    "Trace",
    "Traced",
    "TracedCall",
    "hides_code",
    "infer",
    "is_handle",
    "run_plainly",
    "trace_function",
]

READ_IN_TRACE = (
    "the value of an array was asked for inside a hybridized (traced) forward, where only shapes and dtypes exist yet. "
    "For a Python `if`, `while` or `for` over values use npx.cond, npx.while_loop or npx.foreach (or np.where); "
    "to look at "
    "a value, print it outside, or call hybridize(False) while debugging."
)


class NoKey(TracedValueError):
    """A random operator was met in a trace that was given no key."""


class Trace:
    """The state of one trace: an :class:`~gluonx.deferred.values.contracts.Interpreter`.

    `handles` are lifted to `tracers`. `key` is a pair (root words, base index), or a function that returns the pair and
    is called at the first draw, or None.
    """

    outer: State | None = None
    transparent = False
    unrolls = False
    of_shapes = False
    runs_hooks: bool | None = False
    interrupts: int | None = None  # how many handlers and finalizers interrupt it (`values.interrupts`)

    def __init__(self, handles: list[Handle], tracers: Sequence[jax.Array], key: Any) -> None:
        self.stored: dict[tuple[int, str], Attribute] = {}
        self.handles = list(handles)
        self.values: dict[int, Any] = {id(h): t for h, t in zip(handles, tracers, strict=True)}
        self.written: dict[int, Handle] = {}
        self.on_tape: set[int] = set()  # ids of handles that the trace wrote to, outside of pause()
        self.missing: dict[int, Handle] = {}
        self.key = key
        self.n_random = 0
        self.recording = self.wide = False
        self.required: list[tuple[Handle, str]] | None = []  # booleans that must be true; None if it cannot return any
        # Variables of the weights that are gathered inside (see `gluonx.sharding.gathered`); None: not tracked.
        self.gathers: set[Any] | None = None
        # Taps of look-ups, with the row numbers; None if there can be none.
        self.taps: list[tuple[Handle, Any]] | None = None
        self.known_taps: list[Handle] = []
        # The devices of all inputs, if the trace becomes a program of one device; None if XLA decides.
        self.placements: set[Placement] | None = None
        # Tracers on which an operator becomes one equation (`operators.primitive`); None: operators are traced.
        self.tracer: type | None = None

    @contextlib.contextmanager
    def running(self, recording: bool, training: bool, pure: bool = False) -> Generator[None]:
        """Within, operators are part of this trace. Afterwards blocks have their former attributes again.

        With `pure`, nothing that blocks store is kept, and a warning tells what they would have carried over.
        """
        before = current_state()
        self.recording = recording
        self.interrupts = interrupts.count()
        set_state(State(recording, training, self, 0, before.naive))
        try:
            yield
            if pure:
                self._warn_of_carried()
        finally:
            for attribute in self.stored_attributes():
                attribute.put_back(is_handle if pure else is_traced)
            set_state(before)

    def invoke(self, op: Operator, args: Args) -> Any:
        """Run `op` as part of the trace."""
        if interrupts.CtrlC.came is not None:
            interrupts.deliver()
        values = [self.value(a, op, args) if isinstance(a, Handle) else self._plain(a, args, op) for a in args]
        try:
            scope = source_location.scope_name(source_location.block_path(), op)
            if self.tracer is not None and primitive.may_be_one(op, values, self.tracer):
                out = primitive.bind(op, values, scope)
            else:
                with jax.named_scope(scope):
                    out = strong(op)(*values)
            self.wide = self.wide or needs_64_bits(op, values)
            if self.gathers is not None:
                self.gathers.update(getattr(op, "gathers", ()))
        except (GluonxError, jax.errors.JAXTypeError):
            raise
        except growth.BAD_CALLS as error:
            avals = tuple(
                [
                    None
                    if v is None
                    else aval_of(v)
                    if hasattr(v, "sharding") or isinstance(v, Tracer)
                    else scalar_slot(np.dtype(v.dtype))
                    for v in values
                ]
            )
            raise growth.bad_call(op, avals, error) from error
        if self.recording and not current_state().recording:
            out = jax.tree.map(jax.lax.stop_gradient, out)  # autograd.pause() in a forward that is being recorded
        return tuple([new_handle(o) for o in out]) if type(out) is tuple else new_handle(out)

    def _plain(self, value: Raw | None, args: Args, op: Operator) -> Any:
        if value is None or isinstance(value, (np.ndarray, jax.Array)):
            return copied(growth.operand(value, args, op)) if isinstance(value, np.ndarray) else value
        return growth.typed(value, args, op)

    def value(self, handle: Handle, op: Operator | None = None, args: Args = ()) -> Any:
        """Return the tracer of a handle; note an outer handle that is not lifted as missing."""
        value = handle.value
        if isinstance(value, Tracer):
            return value
        found = self.values.get(id(handle))
        if found is not None:
            return found
        if type(value) is Pending and value.value is None:
            # This trace is thrown away, and the next one has the handle as an input; the value here does not matter.
            self.missing[id(handle)] = handle
            with eval_context():
                return as_array(np.zeros(value.aval.shape, value.aval.dtype))
        if isinstance(value, Placeholder) and op is not None:
            with jax.ensure_compile_time_eval():
                growth.fill(handle, op, args)
        with eval_context():
            array = settle(handle)
        if isinstance(array, Tracer) or self.of_shapes:
            return array
        self.missing[id(handle)] = handle
        return array

    def enter(self, value: object) -> Any:
        """Return a handle on an input of the traced code."""
        return new_handle(to_jax(value))

    def leave(self, handle: Handle) -> Any:
        """Return the value of an output of the traced code."""
        return self.value(handle)

    def rebind(self, handle: Handle, new: Handle) -> bool:
        """Write to a handle from outside; return False if the handle belongs to the trace and is simply rebound."""
        if isinstance(handle.value, Tracer):
            if current_state().recording:
                self.on_tape.add(id(handle))
            return False
        if new.shape != handle.shape or new.dtype != handle.dtype:
            raise ShapeError(
                f"inside a traced forward an array keeps its shape and dtype: {handle.dtype}{handle.shape} "
                f"cannot be replaced by {new.dtype}{new.shape}"
            )
        if id(handle) not in self.values:
            self.missing[id(handle)] = handle
        self.values[id(handle)] = self.value(new)
        self.written[id(handle)] = handle
        return True

    def moved(self, handle: Handle, placement: Placement) -> Handle:
        """Return the handle itself, if all inputs are on this device; else refuse the trace.

        A block that works on several devices cannot be one program.
        """
        if self.placements is not None and self.placements != {placement} and placement != current_device().place:
            raise NotTraced("a copy to another device in its forward")
        return handle

    def run_by_line(self, why: str) -> None:
        """Refuse the trace of a hybridized block, which then runs line by line; do nothing in another trace."""
        if self.placements is not None:
            raise NotTraced(why)

    def tap(self, home: RowVariable, index: Operand, shape: tuple[int, ...]) -> Handle:
        """Return the tap of the next look-up in this trace, which is an input of it (`gluonx.deferred.record.rows`)."""
        assert self.taps is not None, "asked of traces that give taps out"
        number = len(self.taps)
        if number == len(self.known_taps):
            self.known_taps.append(rows.tap_of(home, shape))
        tap = self.known_taps[number]
        assert tap.variable is not None and tap.variable.home is home, "each trace looks up in the same order"  # type: ignore[attr-defined]
        self.taps.append((tap, index))
        return tap

    def store(self, block: Any, name: str) -> None:
        """Note that a forward is about to write an attribute of `block`."""
        known = self.stored.get((id(block), name))
        if known is None or known.block() is not block:  # the known one may have been made in the forward and be gone
            self.stored[id(block), name] = Attribute(block, name)

    def stored_attributes(self) -> list[Attribute]:
        """Return the attributes that were written, of blocks that still exist."""
        return [attribute for attribute in self.stored.values() if attribute.block() is not None]

    def _warn_of_carried(self) -> None:
        for attribute in self.stored_attributes():
            if any(id(leaf) in self.missing for leaf in attribute.leaves):
                source_location.warn(
                    f"{type(attribute.block()).__name__} reads its attribute '{attribute.name}' and stores an array "
                    "there. A pure function or an exported program carries nothing from call to call: it starts from "
                    "the array of now each time. Make the state an input and an output of forward.",
                )

    def random_inputs(self, count: int) -> tuple[Any, Any]:
        """Return the key and index of the next `count` random operations in this trace."""
        key: Any = self.key
        if key is None:
            raise NoKey("a random operator was met where no key was given")
        if callable(key):
            key = self.key = key()
        root, base = key
        index = base + self.n_random
        self.n_random += count
        return root, index


class _Found(NamedTuple):
    """The findings of a trace, besides the arrays that it returns."""

    tree: Any  # the pytree of the results
    writes: list[Handle]  # handles from outside that were written to
    missing: list[Handle]  # handles that were used but not lifted: the trace must be repeated with them
    changed: list[int]  # numbers of the inputs that were written to,
    on_tape: list[int]  # and of those that were written to while recording
    stored: list[Attribute]  # attributes of blocks whose arrays are returned
    lost: list[Attribute]  # attributes of blocks whose arrays are not returned
    required: list[str]  # the messages for booleans that are False
    taps: list[Any]  # handles, each of a RowVariable
    gathers: frozenset[Any]  # Variables of the weights that it gathers itself
    n_random: int
    n_live: int  # gradients flow through the first so many outputs
    wide: bool


class Traced:
    """A traced function: an operator, and the handles that are its inputs before the arguments.

    Its outputs are the results, then the new values of inputs that it has written to (by their numbers, ``changed``),
    then those of blocks' ``attributes``, then those of outer handles (``writes``), then booleans that must be true
    (``required`` has their messages). Arrays that it left in attributes without returning them are ``lost``. ``inputs``
    and ``outputs`` are the shapes and dtypes of the operator. ``given`` holds the arguments for an export, nested as
    they were; None if some were keywords.
    """

    __slots__ = (
        "_closed",
        "_elsewhere",
        "_gradient",
        "_text",
        "attributes",
        "changed",
        "given",
        "handles",
        "inputs",
        "layouts",
        "lost",
        "n_out",
        "n_random",
        "on_tape",
        "op",
        "out_tree",
        "outputs",
        "required",
        "taps",
        "writes",
    )

    def __init__(
        self,
        op: DerivedOp,
        handles: list[Handle],
        structs: list[Any],
        outputs: list[Any],
        found: _Found,
        closed: Any,
    ) -> None:
        self.op, self.handles, self.n_out = op, handles, found.tree.num_leaves
        head = KEY if found.n_random else ()
        self.inputs, self.outputs = [*head, *map(aval_or_unknown, handles), *structs], outputs
        self.given: list[Any] | None = structs
        self.layouts = Layouts.version if op.gathers else None  # whose version says how weights are gathered
        self._closed = closed
        self._text: tuple[str, bool] | None = None
        self._gradient: tuple[str | None] | None = None
        self._elsewhere: dict[Any, tuple[int, Traced]] = {}
        self.writes, self.changed, self.on_tape = found.writes, found.changed, found.on_tape
        self.n_random = found.n_random
        self.attributes, self.lost, self.required = found.stored, found.lost, found.required
        numbers = {id(h): k for k, h in enumerate(handles)}
        self.taps = [(numbers[id(tap)], tap.variable.home, tap.shape) for tap in found.taps]
        self.out_tree = None if found.tree == LEAF else found.tree

    def __call__(self, flat: list[Any]) -> Any:
        """Use the traced code on flat inputs."""
        for k in self.on_tape:
            flat[k]._check_write()
        handles, rest = self.handles, []
        if self.taps:
            handles = list(handles)
            for number, home, shape in self.taps:  # each call makes taps of its own
                handles[number] = rows.tap_of(home, shape)
        if self.n_random:
            outs = invoke(self.op, (*random_inputs(current_state(), self.n_random), *handles, *flat))
        else:
            outs = invoke(self.op, (*handles, *flat))
        if len(outs) > self.n_out:
            rest = list(outs[self.n_out :])
            for number, _, _ in reversed(self.taps):
                handles[number].variable.index = rest.pop()  # type: ignore[union-attr]
            self._hand_out(flat, rest)
        return jax.tree.unflatten(self.out_tree, outs[: self.n_out]) if self.out_tree is not None else outs[0]

    def here(self, params: Callable[[], list[Any]]) -> Traced:
        """Return this trace with the replicas of the block's `params` on the current device as its inputs.

        The operator is the same object, so that what the devices record is alike.
        """
        device = current_device()
        version, found = self._elsewhere.get(device, (-1, self))
        if version != Replicas.version or self.attributes:
            replicas = [(p._handle, p.data()) for p in params() if p._replicas is not None]
            handles = {id(first): own for first, own in replicas}
            homes = {id(first.variable): own.variable for first, own in replicas}
            tables = [(a, b) for first, b in replicas if type(a := first.variable) is rows.RowVariable]
            handles |= {id(a.bare): b.variable.bare for a, b in tables}
            found = copy.copy(self)
            found.handles = [handles.get(id(h), h) for h in self.handles]
            found.writes = [handles.get(id(h), h) for h in self.writes]
            found.taps = [(number, homes.get(id(home), home), shape) for number, home, shape in self.taps]
            self._elsewhere[device] = Replicas.version, found
        return found

    def _hand_out(self, flat: list[Any], rest: list[Any]) -> None:
        """Deliver the outputs that follow the results."""
        count = len(self.changed)
        written, rest = rest[:count], rest[count:]
        for attribute in self.attributes:
            rest = attribute.write(rest)
        flags = [rest.pop() for _ in self.required][::-1]
        for handle, new in zip([*[flat[k] for k in self.changed], *self.writes], [*written, *rest], strict=True):
            handle._put(new)  # type: ignore[attr-defined]
        for flag, message in zip(flags, self.required, strict=True):
            require(flag, message)

    @property
    def text(self) -> tuple[str, bool] | None:
        """The trace as text, and whether it hides code; None if two traces with one text may differ in constants.

        Writing it takes a tenth of the time of the trace, so it is written only on demand.
        """
        if self._text is None and not self._closed.consts:
            self._text = _written(self._closed.jaxpr), hides_code(self._closed.jaxpr)
        return self._text

    @property
    def gradient(self) -> str | None:
        """The text of the gradient, if the trace hides code; empty if its own text shows all, None if both hide code.

        It distinguishes functions whose own texts are equal, since a text does not show derivatives that were written
        by hand, such as those of a ``jax.custom_vjp``.
        """
        if self._gradient is None:
            text = self.text
            hides = text is None or text[1]
            self._gradient = (_gradient_text(self.op, self.inputs, self.outputs) if hides else "",)
        return self._gradient[0]

    def hidden(self, fn: Callable[..., Any]) -> Any:
        """Return a key for what the text of the trace of `fn` does not show: its gradient, else the code of `fn`.

        With the gradient as key, `fn` may refer to lists and numbers that change at every call; the code's key would
        include them.
        """
        gradient = self.gradient
        return _code_of(fn) if gradient is None else gradient

    def give_up(self, within: str) -> None:
        """Make values that the traced code left in attributes without returning them raise.

        The error names `within`.
        """
        for attribute in self.lost:
            attribute.give_up(within)

    def watch(self, blocks: list[Any], params: set[int]) -> None:
        """Find the inputs that are arrays which `blocks` hold as attributes; the next call may find others there."""
        written = {(id(a.block()), a.name) for a in self.attributes}
        inputs = {id(h) for h in self.handles} - params
        for block in blocks if inputs else ():
            for name, value in block.__dict__.items():
                if (id(block), name) not in written and any(id(leaf) in inputs for leaf in leaves_of(value)[0]):
                    self.attributes.append(Attribute(block, name))
        self.attributes = [a for a in self.attributes if a.find(self.handles, params)]

    def renewed(self) -> bool:
        """Take the arrays that blocks hold now as inputs.

        Return False if their shapes or dtypes are not the traced ones.
        """
        return all(attribute.read(self.handles) for attribute in self.attributes)


TRACED = ("traced",)  # the attribute that marks an operator as a trace
KEY = (jax.ShapeDtypeStruct((2,), np.uint32), jax.ShapeDtypeStruct((), np.int32))
"""The first inputs of traced code that draws: root words, and the index of its first operator that does."""


def trace_function(
    fn: Callable[..., Any],
    name: str,
    structs: list[Any],
    lifted: list[Handle],
    changes: bool = False,
    placements: set[Placement] | None = None,
) -> Traced:
    """Trace ``fn(*handles)`` on inputs of the given shapes.

    Parameters
    ----------
    fn : callable
        Takes one handle for each entry of `structs`; returns a pytree of handles.
    structs : list of jax.ShapeDtypeStruct
    lifted : list of Handle
        Handles that the function is expected to read; it finds others that the function captures.
    changes : bool
        Whether writes to inputs reach the caller's arrays, and arrays that it stores as attributes of blocks are stored
        there at each use.
    placements : set, optional
        The devices of all inputs; if given, a copy to another device raises NotTraced.
    """
    handles, taps = list(lifted), list[Handle]()
    for _ in range(3):
        traced, missing = _trace_once(fn, name, structs, handles, changes, taps, placements)
        if not missing:
            return traced
        handles.extend(missing)
    raise GluonxError(
        f"{name}: each trace of its forward captured other arrays than the one before; create arrays that a "
        "forward needs in __init__, as Constant or Parameter"
    )


def _trace_once(
    fn: Callable[..., Any],
    name: str,
    structs: list[Any],
    handles: list[Handle],
    changes: bool,
    taps: list[Handle],
    placements: set[Placement] | None,
) -> tuple[Traced, list[Handle]]:
    results: list[_Found] = []
    n = len(handles)

    def flat(root: jax.Array, base: jax.Array, *values: jax.Array) -> Any:
        trace, state = Trace(handles, values[:n], (root, base)), current_state()
        trace.required, trace.gathers = ([], set()) if changes else (None, None)
        trace.taps, trace.known_taps, trace.placements = [] if changes else None, taps, placements
        if changes and _for_numpy():
            trace.tracer = type(root)
        if state.trace is not None and state.trace.of_shapes:
            trace.of_shapes, trace.runs_hooks = True, None
        with without_64_bits(), trace.running(state.recording, state.training):
            local = [new_handle(v) for v in values[n:]]
            out = fn(*local)
            leaves, tree = jax.tree.flatten(out, is_leaf=is_handle)
            raw = [_output(leaf, trace, name) for leaf in leaves]
            writes, missing, n_random = list(trace.written.values()), list(trace.missing.values()), trace.n_random
            changed = [k for k, h in enumerate(local) if changes and h.value is not values[n + k]]
            attributes = trace.stored_attributes()
            taken = [attribute.take() for attribute in attributes]
            raw += [local[k].value for k in changed]
            raw += [h.value for arrays in taken for h in arrays] if changes else []
            n_live, wide = len(raw), trace.wide
            raw += [trace.values[id(h)] for h in writes] + [trace.value(flag) for flag, _ in trace.required or ()]
            raw += [_output(index, trace, name) for _, index in trace.taps or ()]
            results[:] = [
                _Found(
                    tree,
                    writes,
                    missing,
                    changed,
                    on_tape=[k for k in changed if id(local[k]) in trace.on_tape],
                    stored=attributes if changes else [],
                    lost=[] if changes else list(itertools.compress(attributes, taken)),
                    required=[message for _, message in trace.required or ()],
                    taps=[tap for tap, _ in trace.taps or ()],
                    gathers=frozenset(trace.gathers or ()),
                    n_random=n_random,
                    n_live=n_live,
                    wide=wide,
                )
            ]
            return raw

    inner = [aval_or_unknown(h) for h in handles]
    with interrupts.held(), uncollected(), keeping_64_bits(any(s.dtype in WIDE for s in (*inner, *structs))):
        core.tracing.depth += 1
        try:
            closed = jax.make_jaxpr(flat)(*KEY, *inner, *structs)
        finally:
            core.tracing.depth -= 1
    counters.traces += 1
    found = results[0]
    if found.missing:
        return None, found.missing  # type: ignore[return-value]
    used = _used(closed.jaxpr)
    kept = [i for i in range(n) if closed.jaxpr.invars[2 + i] in used]
    run = _runner(closed, kept, n, bool(found.n_random), len(structs))
    op = DerivedOp(name, run, extra=TRACED, n_live=found.n_live)
    op.composed = True
    op.wide, op.gathers, op.nbytes = found.wide, found.gathers, program_size(closed)
    head = (0, 1) if found.n_random else ()
    op.within = Inner(closed, (*head, *[2 + i for i in kept], *range(2 + n, 2 + n + len(structs))))
    avals: list[Any] = closed.out_avals
    outputs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
    head = closed.in_avals[: 2 if found.n_random else 0]
    op.told = [*head, *[inner[i] for i in kept], *structs], tuple(outputs)
    traced = Traced(op, [handles[i] for i in kept], structs, outputs, found, closed)
    return traced, []


def _output(leaf: object, trace: Trace, name: str) -> Any:
    if isinstance(leaf, Handle):
        return trace.value(leaf)
    if isinstance(leaf, (jax.Array, np.ndarray, int, float, bool, np.generic)):
        return to_jax(leaf) if isinstance(leaf, jax.Array) else jax.numpy.asarray(copied(leaf))
    raise TracedValueError(
        f"the traced forward of {name} returned a {type(leaf).__name__}; arrays, or lists, tuples and "
        "dicts of arrays, can be returned from a hybridized block"
    )


_DERIVED = {"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vmap_call": "call"}
_SHOWN = frozenset(["ctx_mesh", "impl", "op"])  # parameters that are callables, which the text names in full


def hides_code(value: Any, derivatives: bool = True) -> bool:
    """Return whether a jaxpr holds Python code that its text omits: callbacks, and hand-written `derivatives`."""
    if hasattr(value, "eqns"):  # in jax 0.12 a closed jaxpr has eqns too
        return any(_hides(eqn, derivatives) for eqn in value.eqns)
    if hasattr(value, "jaxpr"):
        return hides_code(value.jaxpr, derivatives)
    if isinstance(value, (tuple, list)):
        return any(hides_code(v, derivatives) for v in value)
    return callable(value) and not isinstance(value, type)


def _hides(eqn: Any, derivatives: bool) -> bool:
    if eqn.primitive.name in _DERIVED:
        return derivatives or hides_code(eqn.params[_DERIVED[eqn.primitive.name]], derivatives)
    return any(hides_code(p, derivatives) for name, p in eqn.params.items() if name not in _SHOWN)


def _gradient_text(op: DerivedOp, inputs: Sequence[Any], outputs: Sequence[Any]) -> str | None:
    """Return the text of the gradient of ``op(*inputs)``, from all outputs to all inputs; None if it hides code."""
    moving, heads = ([i for i, s in enumerate(some) if _is_inexact(s)] for some in (inputs, outputs))

    def back(cotangents: Sequence[jax.Array], *values: jax.Array) -> Any:
        def moved(*some: jax.Array) -> Any:
            full = dict(enumerate(values)) | dict(zip(moving, some, strict=True))
            out = op.fn(*full.values())
            return [out[i] for i in heads]

        return jax.vjp(moved, *[values[i] for i in moving])[1](cotangents)

    with interrupts.held(), keeping_64_bits(needs_64_bits(op, inputs)):
        closed = jax.make_jaxpr(back)([outputs[i] for i in heads], *inputs)
    return None if closed.consts or hides_code(closed.jaxpr, derivatives=False) else _written(closed.jaxpr)


def _written(jaxpr: object) -> str:
    """Return a jaxpr as text, without memory addresses of functions that it hides."""
    return _ADDRESS.sub("", str(jaxpr))


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def _is_inexact(struct: Shaped) -> bool:
    return jax.numpy.issubdtype(struct.dtype, jax.numpy.inexact)


def _code_of(fn: Any) -> Any:
    """Return a key of a function whose trace hides code: its code, its closure, and the globals that it names.

    Arrays are left out, since they are inputs of the trace.
    """
    if not isinstance(fn, FunctionType):
        return fn
    used = [cell.cell_contents for cell in fn.__closure__ or ()]
    used += [fn.__globals__[n] for n in fn.__code__.co_names if n in fn.__globals__]
    return (fn.__code__, *[None if isinstance(c, Handle) else c for c in used])


def _used(jaxpr: Any) -> set[Any]:
    used = {v for v in jaxpr.outvars if not hasattr(v, "val")}
    for eqn in jaxpr.eqns:
        used.update([v for v in eqn.invars if not hasattr(v, "val")])
    return used


def _runner(closed: Any, kept: list[int], n: int, random: bool, n_structs: int) -> Callable[..., Any]:
    """Return the closed jaxpr as a function of those inputs that it uses."""
    from jax.extend import core  # imports much that a process without hybridized blocks does not need

    fun, native = core.jaxpr_as_fun(closed), functools.cache(lambda: natively(closed))
    by_operators = primitive.expanded(closed)
    avals = closed.in_avals
    dead = [i for i in range(n) if i not in set(kept)]

    def run(*args: jax.Array) -> Any:
        given = list(args)
        head = [given.pop(0), given.pop(0)] if random else [np.zeros((2,), np.uint32), np.int32(0)]
        full: list[Any] = [None] * n
        for i in kept:
            full[i] = given.pop(0)
        for i in dead:
            full[i] = np.zeros(avals[2 + i].shape, avals[2 + i].dtype)
        assert len(given) == n_structs, "a traced function is called with the inputs that it was traced with"
        values = [*head, *full, *given]
        for v, a in zip(values, avals, strict=True):
            if v.shape != a.shape or v.dtype != a.dtype:
                raise ShapeError(
                    f"a hybridized block was traced with a parameter or input of {a.dtype}{a.shape}, which is now "
                    f"{v.dtype}{v.shape}; call hybridize() again after changing parameters"
                )
        return tuple((by_operators or (native() if native_only() else fun))(*values))

    return run


class NotTraced(Exception):
    """Raised where a hybridized block must run line by line; `why` is empty if the user has asked for it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def run_plainly(why: str) -> None:
    """Count a call of a hybridized block that runs line by line, with the reason."""
    if why:
        counters.unhybridized[why] = counters.unhybridized.get(why, 0) + 1


def _settled_aval(handle: Handle) -> Aval:
    """Return the aval of an argument of a traced call, computing a pending value."""
    if forked.in_child():
        raise NotTraced("a forked child")
    settle(handle)
    aval = handle.aval = aval_of(handle.value)
    return aval


class TracedCall:
    """The traced forward of one block: a cache from signatures to :class:`Traced`."""

    def __init__(self, block: Any) -> None:
        self._block = weakref.ref(block)
        self.entries: dict[Any, list[Traced]] = {}  # several, if attributes of blocks had different kinds of arrays
        self.last: Traced | None = None  # the trace that the last call used
        self.refused: list[Any] | None = None  # the arguments of a call that could not be traced
        # By train mode: why the forward cannot be traced, and for which `Replicas.version` (None: for any).
        self.plain: dict[bool, tuple[str, int | None]] = {}
        Cache.tables.add(self)

    def forget(self) -> None:
        """Drop the traces whose programs were evicted; see :mod:`gluonx.deferred.values.program_cache`."""
        for key, variants in list(self.entries.items()):
            if all(entry.op.usage is None for entry in variants):
                self.entries.pop(key, None)

    @property
    def block(self) -> Any:
        """The block, which owns this object."""
        return self._block()

    @property
    def last_inputs(self) -> list[Any] | None:
        """Return the arguments of the last call for an export, nested as they were; None if it cannot take them."""
        return self.refused if self.last is None else self.last.given

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the block with these arguments; trace it first if their kinds are new."""
        state = current_state()
        if state.trace is not None:
            return self.block._run_forward(*args, **kwargs)
        if index_checks.Switch.on or self.plain:
            self._refuse(state)
        key: list[Any] = [state.training, state.recording, core.array_class]
        if amp_policy.Switch.on and (policy := amp_policy.policy_in_force()) is not None:
            key.append(policy)  # without one the key is that of a process which never had any: traces stay valid
        if (scope := in_use()) is not None:
            key.append(scope.key)
        if kwargs:
            return self._general(args, kwargs, state)
        for a in args:
            if not isinstance(a, Handle):
                return self._general(args, kwargs, state)
            aval = a.aval
            if aval is None:
                if isinstance(a.value, Tracer):
                    return self.block._run_forward(*args)
                aval = _settled_aval(a)
            key.append(aval if not Replicas.on else _anywhere(aval))
        lookup = tuple(key)
        entry = self._find(lookup)
        if entry is None:
            entry = self._build(lookup, list(args), lambda *h: self.block._run_forward(*h))
        self.last = entry
        if Replicas.on:
            entry = entry.here(self.block._unique_params)
        return entry(list(args))

    def _find(self, key: tuple[object, ...]) -> Traced | None:
        """Return the trace for inputs of these kinds, and for what blocks hold now."""
        variants = self.entries.get(key)
        if variants is None:
            return None
        for i, entry in enumerate(variants):
            if entry.layouts is not None and entry.layouts != Layouts.version:
                continue
            if not entry.attributes or entry.renewed():
                if i:
                    variants.insert(0, variants.pop(i))
                if entry.op.usage is not None:
                    entry.op.usage.used = Cache.now
                return entry
        return None

    def _dtypes_beside(self, leaves: list[Any]) -> list[np.dtype]:
        """Return the parameters' dtypes if there are 64-bit NumPy inputs: a float64 net takes these unchanged."""
        if not any(isinstance(x, np.ndarray) and x.dtype in WIDE for x in leaves):
            return []
        return [p.dtype for p in self.block._unique_params()]

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any], state: State) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs), is_leaf=is_handle)
        dtypes = self._dtypes_beside(leaves)
        leaves = [growth.operand(x, leaves, None, dtypes) if isinstance(x, np.ndarray) else x for x in leaves]
        arrays = [new_handle(to_jax(x)) if isinstance(x, (jax.Array, np.ndarray)) else x for x in leaves]
        moving = [i for i, x in enumerate(arrays) if isinstance(x, Handle)]
        if any(isinstance(arrays[i].value, Tracer) for i in moving):
            return self.block._run_forward(*args, **kwargs)
        statics = tuple([None if isinstance(x, Handle) else (type(x), x) for x in arrays])
        flat = [arrays[i] for i in moving]
        policy = amp_policy.policy_in_force() if amp_policy.Switch.on else None
        scope = in_use()
        kinds = state.training, state.recording, core.array_class, None if scope is None else scope.key
        key = (kinds, policy, tree, statics, tuple([aval_or_unknown(h) for h in flat]))
        try:
            entry = self._find(key)
        except TypeError:
            bad = next(type(x).__name__ for x in leaves if getattr(x, "__hash__", None) is None)
            raise TypeError(
                f"{type(self.block).__name__}: an argument of a hybridized block must be an array, a nested "
                f"list, tuple or dict of arrays, or a hashable value; got a {bad}"
            ) from None
        if entry is None:

            def forward(*handles: Handle) -> Any:
                full = list(arrays)
                for i, h in zip(moving, handles, strict=True):
                    full[i] = h
                inner_args, inner_kwargs = jax.tree.unflatten(tree, full)
                return self.block._run_forward(*inner_args, **inner_kwargs)

            entry = self._build(key, flat, forward)
            if len(flat) == len(leaves) and not kwargs:
                entry.given = list(jax.tree.unflatten(tree, [aval_or_unknown(h) for h in flat])[0])
            elif kwargs:
                entry.given = None  # an export cannot pass keywords
        self.last = entry
        if Replicas.on:
            entry = entry.here(self.block._unique_params)
        return entry(flat)

    def _refuse(self, state: State) -> None:
        if index_checks.Switch.on:
            raise NotTraced("")
        why, version = self.plain.get(state.training, ("", -1))
        if version in (None, Replicas.version):
            raise NotTraced(why)

    def _build(self, key: tuple[object, ...], flat: list[Handle], forward: Callable[..., Any]) -> Traced:
        if len(_placements(self.block._unique_params())) > 1:  # only for now: the parameters may be moved
            raise NotTraced("parameters on several devices, without a replica on each")
        structs = [aval_or_unknown(h) for h in flat]
        try:
            return self._trace(key, flat, structs, forward)
        except DynamicShapeError as error:
            self.last, self.refused = None, structs
            name = type(self.block).__name__
            why = f"{name}, because of {error.operator} at {error.where}"
            self.plain[current_state().training] = why, None
            source_location.warn_once(
                ("un-hybridized", error.where),
                f"the hybridized block {name} runs un-hybridized: {error.operator} at {error.where} works on "
                "values, which a traced forward does not have (the shape of its result depends on them, or the "
                "host computes it). Blocks below it without such an operator stay hybridized. Where the shape can "
                "stay fixed, np.where(condition, x, 0) keeps all of it in one program.",
            )
            raise NotTraced(why) from None
        except NotTraced as error:
            self.last, self.refused = None, structs
            self.plain[current_state().training] = error.why, Replicas.version
            raise

    def _trace(
        self, key: tuple[object, ...], flat: list[Handle], structs: list[Any], forward: Callable[..., Any]
    ) -> Traced:
        params = self.block._unique_params()
        placements = _placements(params, flat)
        if any(p._handle is not None and isinstance(p._handle.value, Placeholder) for p in params):
            infer(forward, structs)
        # A parameter whose shape the forward did not infer is not used in it: it is no input, and its shape stays open.
        handles = list({id(h): h for p in params if (h := p._handle) is not None and not _waits(h)}.values())
        traced = trace_function(
            forward, type(self.block).__name__, structs, handles, changes=True, placements=placements
        )
        traced.watch([block for _, block in self.block._walk()], {id(h) for h in handles})
        for old in self.entries.get(key, ()):
            if _read_alike(old, traced):
                traced.op = old.op  # the attribute's change does not matter: nothing recompiles
        add(TRACE, traced.op)  # this may evict other traces of this block
        variants = self.entries.setdefault(key, [])
        variants.insert(0, traced)
        self._warn_of_many(len(self.entries) if len(variants) == 1 else len(variants))
        del variants[policy.KINDS :]
        return traced

    def _warn_of_many(self, count: int) -> None:
        if count == policy.KINDS:
            source_location.warn(
                f"{type(self.block).__name__} was traced for {count} kinds of input, or of arrays that it holds, "
                "each a program of its own. Shapes that change can be padded; a Python number that changes from call "
                "to call is part of the kind: give it as an array. See docs/recompile.md.",
            )


def _placements(params: list[Any], inputs: Sequence[Handle] = ()) -> set[Placement]:
    """Return the single devices of parameters and inputs; for replicas, the device of this call."""
    homes = {current_device() if p._replicas is not None else p._device for p in params if p._layout is None}
    homes |= {h.device for h in inputs if h.aval is None or not h.aval.spread}  # type: ignore[attr-defined]
    return {home.place for home in homes if home is not None}


def _anywhere(aval: object) -> Any:
    """Return the aval of the same value on the default device, because one trace serves every replica."""
    if not isinstance(aval, core.Aval) or aval.spread or aval.sharding is None:
        return aval
    return core.intern_aval(aval.shape, aval.dtype)


def _read_alike(one: Traced, two: Traced) -> bool:
    if one.text is None or one.text != two.text or len(one.handles) != len(two.handles):
        return False
    return one.gradient is not None and one.gradient == two.gradient


def _waits(handle: Handle) -> bool:
    return isinstance(handle.value, Unknown)


def _for_numpy() -> bool:
    """Return whether NumPy will run the trace first."""
    return in_use() is None and any(is_on() for is_on in numpy_is_first)


def infer(forward: Callable[..., Any], structs: list[Any]) -> None:
    """Run `forward` for its shapes only, so that parameters with open shapes infer them."""

    def flat(root: jax.Array, base: jax.Array, *values: jax.Array) -> None:
        trace, state = Trace([], [], (root, base)), current_state()
        trace.of_shapes, trace.runs_hooks = True, None
        if _for_numpy():
            trace.tracer = type(root)
        with without_64_bits(), trace.running(state.recording, state.training):
            forward(*[new_handle(v) for v in values])

    with interrupts.held(), keeping_64_bits(any(s.dtype in WIDE for s in structs)):
        jax.eval_shape(flat, jax.ShapeDtypeStruct((2,), np.uint32), jax.ShapeDtypeStruct((), np.int32), *structs)
