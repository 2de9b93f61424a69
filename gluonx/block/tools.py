"""Helpers of blocks: the registry of their parts, hooks, and sentences about what is wrong where."""

from __future__ import annotations

import contextlib
import functools
import re
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax

from gluonx.block.parameter import Parameter
from gluonx.block.structure import Structure
from gluonx.common.frames import warn
from gluonx.deferred import source_location
from gluonx.deferred.attributes import aval_or_unknown, is_handle
from gluonx.deferred.core import Handle, State, Tracer, current_state, set_state
from gluonx.deferred.interceptor import Interceptor
from gluonx.device import Device, current_device
from gluonx.errors import ArgumentError
from gluonx.sharding import is_spread

if TYPE_CHECKING:
    from gluonx.block.block import Block


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
    """The children or the parameters of a block by name; every change is one of the block's ``structure``."""

    def __init__(self, *items: Any, structure: Structure | None = None) -> None:
        self.structure = structure or Structure()
        super().__init__(*items)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Registry, (), None, None, iter(self.items())  # a copy belongs with the copies of what is in it

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
    """Make a ``__repr__`` that never raises: of a block that is half made, or was changed, it gives the class."""

    @functools.wraps(describe)
    def __repr__(self: Any) -> str:
        try:
            return describe(self)
        except Exception:
            return f"{type(self).__name__}(...)"

    return __repr__


def belonging(item: object) -> Structure:
    """Return the structure of a block or parameter, given to it now where it has none, as one that is being copied."""
    own = item.__dict__
    return own.get("_structure") or own.setdefault("_structure", Structure())


class Snapshot:
    """A value derived from the parts of a block, and the version of its structure at which it was true."""

    __slots__ = ("content", "version")

    def __init__(self, content: Any, version: int = -1) -> None:
        self.content, self.version = content, version

    def __deepcopy__(self, memo: dict[int, object]) -> Snapshot:
        return Snapshot(None)  # of another object; not true of the copy

    def __reduce__(self) -> tuple[Any, ...]:
        return Snapshot, (None,)


class HookHandle:
    """The handle of a registered hook; :meth:`detach` removes the hook, and so does leaving a ``with`` on it."""

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
        self._block._structure.changed()  # hybridized blocks around it look again whether they can be one program
        self._block._refresh()

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.detach()


def foreign_call(args: object, kwargs: object) -> Callable[[Any, tuple[Any, ...]], Any] | None:
    """Return what calls a block with `args` where one of them brings that along, else None.

    Such an input is no array, and its class defines ``__call_block__(block, args)``. This is asked when a call has
    failed, so that others pay nothing.
    """
    if kwargs or current_state().trace is not None:
        return None
    found = next((leaf for leaf in _leaves(args) if hasattr(type(leaf), "__call_block__")), None)
    return None if found is None else found.__call_block__


def device_of_call(args: tuple[Any, ...]) -> Device | None:
    """Return the device of a call's first array where that is not the current one, which says what replica is meant."""
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
    """Yield what stands in lists, tuples and dicts, whatever that is."""
    if isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def chosen(known: Mapping[str, Any], names: str | Iterable[str], owner: str, what: str) -> dict[str, Any]:
    """Return what is known under these names, or, of one text, under all names that it matches as a whole.

    Raises
    ------
    ArgumentError
        If there is none; it says what there is.
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
    """Return whether hooks of `block` run in this call: there must be values. Where they are missed, that is said."""
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
    """Stands where the trace of a hybridized block would, while blocks below it have hooks.

    Those look at values in the middle of its forward, so that runs as if it were not hybridized. Blocks without hooks
    below them are traced as ever, and a recorded step is one program all the same.
    """

    def __init__(self, block: Block, traced: Any) -> None:
        self._block = weakref.ref(block)
        self.traced = traced  # for when the hooks are gone
        self.last_inputs: Any = traced.last_inputs if traced is not None else None

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the forward."""
        block, state = self._block(), current_state()
        assert block is not None, "it is being called"
        if not kwargs:
            with contextlib.suppress(AttributeError):  # something that is no array: nothing for an export
                self.last_inputs = list(jax.tree.map(aval_or_unknown, args, is_leaf=is_handle))
        if state.deferring or state.trace is not None or state.naive:
            return block._run_forward(*args, **kwargs)
        return block._calls.run(block._run_forward, args, kwargs, state)


@contextlib.contextmanager
def watch_operators(callbacks: Iterable[tuple[Any, bool]], calls: Any = None) -> Iterator[None]:
    """Show every operator that runs meanwhile to ``callback(name, operator, array)``.

    Parameters
    ----------
    callbacks : iterable of (callable, bool)
        The flag says whether the inputs are to be shown as well as the outputs.
    calls : callable, optional
        Called with each bound operator, its inputs and a tuple of its outputs; with None for an operator where raw JAX
        code takes a handle's value.
    """
    before = current_state()
    set_state(_Watch(before, tuple(callbacks), calls).state())
    try:
        yield
    finally:
        set_state(before)


class _Watch(Interceptor):
    """Shows the operators that pass to callbacks."""

    def __init__(self, outer: State, callbacks: tuple[tuple[Any, bool], ...], calls: Any = None) -> None:
        super().__init__(outer)
        self.callbacks, self.calls, self.count = callbacks, calls, 0

    def invoke(self, op: Any, args: Any) -> Any:
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
        """Return the value for raw JAX code, of which `calls` is told that it takes the handle, and no more."""
        if self.calls is not None:
            self.outside(self.calls, None, (handle,), ())
        return super().value(handle)


class _Trail:
    """The blocks that an error has left, by name: an error outlives them, and is not to keep them."""

    __slots__ = ("kind", "last", "names")

    def __init__(self, block: Block) -> None:
        self.kind = type(block).__name__  # of the innermost one
        self.names: list[str] = []  # within the outermost one, from the outside inwards
        self.last = (id(block), self.kind)

    def leave(self, block: Block) -> None:
        """Note that the error leaves `block`, in which the one that it left last lies."""
        inner, kind = self.last
        self.names.insert(0, next((n for n, child in block._children.items() if id(child) == inner), f"<{kind}>"))
        self.last = (id(block), type(block).__name__)


def locate(error: Exception, block: Block) -> None:
    """Note below an error that leaves `block` where it arose: each block on the way out puts its name in front."""
    trail: _Trail | None = error.__dict__.get("_gluonx_trail")
    if trail is None:
        trail = error.__dict__["_gluonx_trail"] = _Trail(block)
    else:
        trail.leave(block)
    path = ".".join([type(block).__name__, *trail.names])
    notes = error.__dict__.setdefault("__notes__", [])
    notes[:] = [note for note in notes if not note.startswith("In block ")]
    if path not in str(error):  # gluonx's own errors name it themselves
        notes.append(f"In block {path} (a {trail.kind})." if trail.names else f"In block {path}.")


def warn_of_loose_items(blocks: Iterable[Any]) -> None:
    """Warn of blocks and parameters that sit in plain lists, tuples or dicts of `blocks` and nowhere else."""
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
    """Return the names in quotes, and how many more there are beyond `limit`."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(f"'{name}'" for name in names[:limit]) + more
