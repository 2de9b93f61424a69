"""Helpers of blocks: the registry of their parts, hooks, and error messages that name a block."""

from __future__ import annotations

import contextlib
import functools
import re
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax

from gluonx.block.parameter import Parameter
from gluonx.block.structure import Structure
from gluonx.common.frames import warn
from gluonx.deferred.record.interceptor import Interceptor
from gluonx.deferred.trace.attributes import aval_or_unknown, is_handle
from gluonx.deferred.values import source_location
from gluonx.deferred.values.core import Handle, State, Tracer, current_state, set_state
from gluonx.device import Device, current_device
from gluonx.errors import ArgumentError
from gluonx.sharding import is_spread

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.np.handle import ndarray
    from gluonx.ops.registry import BoundOp


__all__ = [
    "HookHandle",
    "LineByLine",
    "Registry",
    "Snapshot",
    "belonging",
    "chosen",
    "device_of_call",
    "foreign_call",
    "hooks_run",
    "listed",
    "locate",
    "unfailing",
    "warn_of_loose_items",
    "watch_operators",
]

_LOOSE = (
    "'{cls}.{name}' is a {kind} that holds {what}. What is in a plain Python container is not part of the block: it is "
    "neither initialized, trained nor saved. Use nn.HybridSequential, nn.HybridBlockList or nn.HybridBlockDict "
    "(without Hybrid in a plain Block), or register_child."
)


class Registry(OrderedDict[str, Any]):
    """The children or the parameters of a block by name; every change is recorded in the block's ``structure``."""

    def __init__(self, *items: Any, structure: Structure | None = None) -> None:
        self.structure = structure or Structure()
        super().__init__(*items)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Registry, (), None, None, iter(self.items())  # a copy has the structure of its copied items

    def __setitem__(self, name: str, item: object) -> None:
        self.structure.join(belonging(item))
        super().__setitem__(name, item)

    def __delitem__(self, name: str) -> None:
        self.structure.changed()
        super().__delitem__(name)

    def pop(self, *args: Any) -> Any:
        """As ``dict.pop``."""
        self.structure.changed()
        return super().pop(*args)

    def popitem(self, last: bool = True) -> tuple[str, Any]:
        """As ``OrderedDict.popitem``."""
        self.structure.changed()
        return super().popitem(last)

    def clear(self) -> None:
        """As ``dict.clear``."""
        self.structure.changed()
        super().clear()

    def move_to_end(self, key: str, last: bool = True) -> None:
        """As ``OrderedDict.move_to_end``."""
        self.structure.changed()
        super().move_to_end(key, last)


def unfailing(describe: Callable[[Any], str]) -> Callable[[Any], str]:
    """Make a ``__repr__`` that never raises: for a block that is incomplete or was changed, it shows the class."""

    @functools.wraps(describe)
    def __repr__(self: Any) -> str:
        try:
            return describe(self)
        except Exception:
            return f"{type(self).__name__}(...)"

    return __repr__


def belonging(item: object) -> Structure:
    """Return the structure of a block or parameter; make one if it has none, as in a block that is being copied."""
    own = item.__dict__
    return own.get("_structure") or own.setdefault("_structure", Structure())


class Snapshot:
    """A value derived from the parts of a block, and the version of its structure at which it was true."""

    __slots__ = ("content", "version")

    def __init__(self, content: Any, version: int = -1) -> None:
        self.content, self.version = content, version

    def __deepcopy__(self, memo: dict[int, object]) -> Snapshot:
        return Snapshot(None)  # it is about another object, and not valid for the copy

    def __reduce__(self) -> tuple[Any, ...]:
        return Snapshot, (None,)


class HookHandle:
    """The handle of a registered hook; :meth:`detach`, or leaving a ``with`` block on it, removes the hook.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> with net.register_forward_hook(lambda block, args, out: print(out.shape)) as handle:
    ...     _ = net(np.ones((4, 3)))
    (4, 2)
    >>> _ = net(np.ones((4, 3)))  # the hook is gone
    """

    __slots__ = ("_block", "_hooks")

    def __init__(self, block: Block, hooks: dict[HookHandle, Any], hook: object) -> None:
        self._block, self._hooks = block, hooks
        hooks[self] = hook
        self._changed()

    def detach(self) -> None:
        """Remove the hook; doing it twice does no harm."""
        self._hooks.pop(self, None)
        self._changed()

    def _changed(self) -> None:
        self._block._structure.changed()  # outer hybridized blocks may now become one program
        self._block._refresh()

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.detach()


def foreign_call(args: object, kwargs: object) -> Callable[[Any, tuple[Any, ...]], Any] | None:
    """Return a function that calls a block with `args`, if one of them provides it, else None.

    Such an input is not an array, and its class defines ``__call_block__(block, args)``. This is asked only after a
    call has failed, so that other calls pay nothing.
    """
    if kwargs or current_state().trace is not None:
        return None
    found = next((leaf for leaf in _leaves(args) if hasattr(type(leaf), "__call_block__")), None)
    return None if found is None else found.__call_block__


def device_of_call(args: tuple[Any, ...]) -> Device | None:
    """Return the device of a call's first array if it is not the current device; it selects the replica."""
    if current_state().trace is not None:
        return None
    first = next((leaf for arg in args for leaf in _leaves(arg) if isinstance(leaf, Handle)), None)
    if first is None or isinstance(first.value, Tracer):
        return None
    lies = first.aval if first.aval is not None else first.value
    if is_spread(getattr(lies, "sharding", None)):
        return None
    device = first.device  # type: ignore[attr-defined]
    return None if device == current_device() else device


def _leaves(value: object) -> Iterator[Any]:
    """Yield the items in lists, tuples and dicts, at any depth."""
    if isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def chosen(known: Mapping[str, Any], names: str | Iterable[str], owner: str, what: str) -> dict[str, Any]:
    """Return the items with these names; a single text is a pattern that must match a whole name.

    Raises
    ------
    ArgumentError
        If there is none. The message lists the names that exist.
    """
    if isinstance(names, str):
        wanted = re.compile(names)
        unknown = [] if any(map(wanted.fullmatch, known)) else [names]
        names = [name for name in known if wanted.fullmatch(name)]
    else:
        names = list(names)
        unknown = [name for name in names if name not in known]
    if unknown:
        raise ArgumentError(f"{owner} has no {what} {listed(unknown)}; it has {listed(list(known), 20)}.")
    return {name: known[name] for name in names}


def hooks_run(block: Block) -> bool:
    """Return whether hooks of `block` run in this call, which needs values; warn if they are skipped."""
    trace = current_state().trace
    runs = True if trace is None else trace.runs_hooks
    if runs is False:
        source_location.warn(
            f"The hooks of {type(block).__name__} do not run: it is called within code that is compiled as a whole "
            "(the body of npx.foreach, while_loop or cond, a closure of Trainer.step, or a hybridized block that it is "
            "no child of), where there are no values to look at. Call it outside, or return what you want to see."
        )
    return bool(runs)


class LineByLine:
    """Replaces the trace of a hybridized block while blocks below it have hooks.

    Hooks look at values in the middle of the forward, so it runs as if it were not hybridized. Blocks without hooks
    below them are traced as usual, and a recorded step is still one program.
    """

    def __init__(self, block: Block, traced: Any) -> None:
        self._block = weakref.ref(block)
        self.traced = traced  # used again when the hooks are removed
        self.last_inputs: Any = traced.last_inputs if traced is not None else None

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the forward."""
        block, state = self._block(), current_state()
        assert block is not None, "it is being called"
        if not kwargs:
            with contextlib.suppress(AttributeError):  # an argument is not an array: an export cannot use this call
                self.last_inputs = list(jax.tree.map(aval_or_unknown, args, is_leaf=is_handle))
        if state.deferring or state.trace is not None or state.naive:
            return block._run_forward(*args, **kwargs)
        return block._calls.run(block._run_forward, args, kwargs, state)


@contextlib.contextmanager
def watch_operators(
    callbacks: Iterable[tuple[Any, bool]], calls: Callable[..., object] | None = None
) -> Iterator[None]:
    """Within, call ``callback(name, operator, array)`` for every operator that runs.

    Parameters
    ----------
    callbacks : iterable of (callable, bool)
        The flag says whether to show the inputs as well as the outputs.
    calls : callable, optional
        Called with each bound operator, its inputs and a tuple of its outputs; the operator is None if raw JAX code
        takes a handle's value.
    """
    before = current_state()
    set_state(_Watch(before, tuple(callbacks), calls).state())
    try:
        yield
    finally:
        set_state(before)


class _Watch(Interceptor):
    """Passes operators on and shows them to callbacks."""

    def __init__(
        self, outer: State, callbacks: tuple[tuple[Any, bool], ...], calls: Callable[..., object] | None = None
    ) -> None:
        super().__init__(outer)
        self.callbacks, self.calls, self.count = callbacks, calls, 0

    def invoke(self, op: BoundOp, args: Sequence[ndarray]) -> Any:
        self.count += 1
        out = super().invoke(op, args)
        outputs = out if type(out) is tuple else (out,)
        if self.calls is not None:
            self.outside(self.calls, op, args, outputs)
        for callback, monitor_all in self.callbacks:
            for i, array in enumerate(args if monitor_all else ()):
                self.outside(callback, f"node_{self.count}_input{i}", op.name, array)
            for i, array in enumerate(outputs):
                suffix = i if len(outputs) > 1 else ""
                self.outside(callback, f"node_{self.count}_output{suffix}", op.name, array)
        return out

    def value(self, handle: Handle) -> Any:
        """Return the value for raw JAX code; tell only `calls`."""
        if self.calls is not None:
            self.outside(self.calls, None, (handle,), ())
        return super().value(handle)


class _Trail:
    """The blocks that an error has left, by name. An error outlives the blocks and must not keep them alive."""

    __slots__ = ("kind", "last", "names")

    def __init__(self, block: Block) -> None:
        self.kind = type(block).__name__  # the class of the innermost block
        self.names: list[str] = []  # names inside of the outermost block, outer ones first
        self.last = (id(block), self.kind)

    def leave(self, block: Block) -> None:
        """Note that the error leaves `block`, which contains the block that it left before."""
        inner, kind = self.last
        self.names.insert(0, next((n for n, child in block._children.items() if id(child) == inner), f"<{kind}>"))
        self.last = (id(block), type(block).__name__)


def locate(error: Exception, block: Block) -> None:
    """Add to an error that leaves `block` where it arose: each block on the way out prepends its name."""
    trail: _Trail | None = error.__dict__.get("_gluonx_trail")
    if trail is None:
        trail = error.__dict__["_gluonx_trail"] = _Trail(block)
    else:
        trail.leave(block)
    path = ".".join([type(block).__name__, *trail.names])
    notes = error.__dict__.setdefault("__notes__", [])
    notes[:] = [note for note in notes if not note.startswith("In block ")]
    if path not in str(error):  # gluonx's own errors contain the path already
        notes.append(f"In block {path} (a {trail.kind})." if trail.names else f"In block {path}.")


def warn_of_loose_items(blocks: Iterable[Any]) -> None:
    """Warn of blocks and parameters that are only in plain lists, tuples or dicts of `blocks`."""
    unique = {id(block): block for block in blocks}
    inside = unique.keys() | {id(p) for block in unique.values() for p in block._reg_params.values()}
    for block in unique.values():
        for name, value in block.__dict__.items():
            if not isinstance(value, (list, tuple, dict)) or isinstance(value, Registry):
                continue
            loose = next((item for item in _items(value) if id(item) not in inside), None)
            if loose is not None:
                what = "parameters" if isinstance(loose, Parameter) else "blocks"
                text = _LOOSE.format(cls=type(block).__name__, name=name, kind=type(value).__name__, what=what)
                warn(text)


def _items(container: Any) -> Iterator[Any]:
    """Yield the blocks and parameters in a container, at any depth."""
    stack, seen = [container], set()
    while stack:
        found = stack.pop()
        for item in found.values() if isinstance(found, dict) else found:
            if isinstance(item, Parameter) or hasattr(item, "_reg_params"):
                yield item
            elif isinstance(item, (list, tuple, dict)) and id(item) not in seen:
                seen.add(id(item))
                stack.append(item)


def listed(names: list[str], limit: int = 5) -> str:
    """Return the names in quotes, at most `limit` of them, and how many more there are."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(f"'{name}'" for name in names[:limit]) + more
