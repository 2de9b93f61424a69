"""A user's own entries in a profile: tasks, frames, events, counters, markers, and scopes.

While no profile is taken they cost next to nothing and leave no trace.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import jax

from gluonx.deferred.values import source_location
from gluonx.profiler.session import PROFILE
from gluonx.profiler.trace import MARK

_SCOPES = ("global", "process", "thread", "task", "marker")


class Domain:
    """A group of tasks, frames, counters and markers.

    Examples
    --------
    >>> domain = Domain("loader")
    >>> task = domain.new_task("read")
    >>> print(domain, task)
    loader read
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """Return a :class:`Task` of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """Return a :class:`Frame` of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> Counter:
        """Return a :class:`Counter` of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """Return a :class:`Marker` of this domain."""
        return Marker(self, name)


class _Span:
    """Something that starts and stops, once or again and again; also a context manager."""

    def __init__(self, category: str, name: str) -> None:
        self.category, self.name = category, name
        self._open: Any = None

    def __str__(self) -> str:
        return self.name

    def start(self) -> None:
        """Begin."""
        if PROFILE.running and self._open is None:
            self._open = jax.profiler.TraceAnnotation(MARK, id=PROFILE.note("span", self.category, self.name))
            self._open.__enter__()

    def stop(self) -> None:
        """End; on the thread that began."""
        if self._open is not None:
            self._open.__exit__(None, None, None)
            self._open = None

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()


class Task(_Span):
    """A named piece of work of a domain.

    Examples
    --------
    >>> from gluonx import profiler
    >>> with profiler.Domain("training").new_task("augmentation") as task:
    ...     str(task)
    'augmentation'
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(domain.name, name)
        self.domain = domain


class Frame(_Span):
    """A named piece of work that comes again and again, such as one batch.

    Examples
    --------
    >>> from gluonx import profiler
    >>> with profiler.Domain("training").new_frame("batch") as frame:
    ...     str(frame)
    'batch'
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(f"{domain.name},frame", name)
        self.domain = domain


class Event(_Span):
    """A named piece of work of no domain.

    Examples
    --------
    >>> from gluonx import profiler
    >>> with profiler.Event("validation") as event:
    ...     str(event)
    'validation'
    """

    def __init__(self, name: str) -> None:
        super().__init__("event", name)


class Counter:
    """A number whose course a profile shows.

    Examples
    --------
    >>> counter = Domain("loader").new_counter("waiting", 2)
    >>> counter.increment()
    >>> counter += 4
    >>> counter.value
    7
    """

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        self.domain, self.name = domain, name
        self.value = 0
        if value is not None:
            self.set_value(value)

    def __str__(self) -> str:
        return self.name

    def set_value(self, value: int) -> None:
        """Set the number."""
        self.value = value
        _instant("counter", self.domain.name, self.name, value)

    def increment(self, delta: int = 1) -> None:
        """Add to the number."""
        self.set_value(self.value + delta)

    def decrement(self, delta: int = 1) -> None:
        """Subtract from the number."""
        self.set_value(self.value - delta)

    def __iadd__(self, delta: int) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> Counter:
        self.decrement(delta)
        return self


class Marker:
    """A point in time.

    Examples
    --------
    >>> from gluonx import profiler
    >>> marker = profiler.Domain("training").new_marker("epoch is over")
    >>> marker.mark("process")
    """

    def __init__(self, domain: Domain, name: str) -> None:
        self.domain, self.name = domain, name

    def __str__(self) -> str:
        return self.name

    def mark(self, scope: str = "process") -> None:
        """Mark now.

        Parameters
        ----------
        scope : {'global', 'process', 'thread', 'task', 'marker'}
            How far the line is drawn in a viewer.

        Raises
        ------
        ValueError
            For another scope.
        """
        if scope not in _SCOPES:
            raise ValueError(f"a marker's scope is one of {', '.join(map(repr, _SCOPES))}, got {scope!r}")
        _instant("marker", f"{self.domain.name},instant_marker", self.name, scope)


def _instant(kind: str, category: str, name: str, value: Any) -> None:
    if PROFILE.running:
        with jax.profiler.TraceAnnotation(MARK, id=PROFILE.note(kind, category, name, value)):
            pass


@contextmanager
def scope(name: str = "<unk>:", append_mode: bool = True) -> Generator[str]:
    """Put a name before the block paths of what is first recorded here, and on the host's time line.

    Parameters
    ----------
    name : str
    append_mode : bool
        Whether an outer scope's name stands before it.

    Examples
    --------
    >>> with scope("encoder"), scope("attention") as name:
    ...     print(name)
    encoder:attention:
    """
    shown = name if name.endswith(":") else f"{name}:"
    outer = source_location.prefix.get()
    if append_mode and outer:
        shown = outer.replace(".", ":") + shown
    token = source_location.prefix.set(shown.replace(":", "."))
    try:
        if PROFILE.running:
            with jax.profiler.TraceAnnotation(MARK, id=PROFILE.note("span", "scope", shown)):
                yield shown
        else:
            yield shown
    finally:
        source_location.prefix.reset(token)
