"""Taking a profile: when JAX's profiler runs, and what becomes of its files."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from gluonx import engine
from gluonx.deferred.run import flushing, host
from gluonx.deferred.values import source_location
from gluonx.dtype import keeping_64_bits
from gluonx.files.atomic import atomic_write
from gluonx.profiler.trace import MARK, Origin, Rows, aggregate, origins_of, placed, read

_SETTINGS: dict[str, Any] = {
    "filename": "profile.json",
    "profile_memory": False,
    "profile_all": False,
}
_ACCEPTED = {
    "aggregate_stats",
    "continuous_dump",
    "dump_period",
    "gpu_memory_profile_filename_prefix",
    "profile_api",
    "profile_imperative",
    "profile_process",
    "profile_symbolic",
}
_COLUMNS = ("Total Count", "Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)")
_MEMORY_COLUMNS = ("Total Count", "Use (kB)", "Min Use (kB)", "Max Use (kB)", "Avg Use (kB)")
_MEMORY = "Device Storage"
_ORDERS = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}


class Profile:
    """The process's one profile: stretches of time, of each the events, on one time line."""

    def __init__(self) -> None:
        self.settings = dict(_SETTINGS)
        self.running = False
        self.wanted = False  # set_state('run') was called; pause() may have stopped it for now
        self.forget()

    def forget(self) -> None:
        """Drop what was collected."""
        self.events: list[dict[str, Any]] = []
        self.memory: dict[str, list[float]] = {}
        self.programs: dict[str, dict[int, tuple[Any, list[Any]]]] = {}
        self.origins: dict[str, Mapping[str, Origin]] = {}
        self.notes: list[tuple[str, str, str, Any]] = []
        self.began: float | None = None

    def note(self, kind: str, category: str, name: str, value: Any = None) -> int:
        """Remember what an entry of the user's means, and return its number."""
        self.notes.append((kind, category, name, value))
        return len(self.notes) - 1

    def open(self) -> None:
        """Start a stretch."""
        engine.waitall()
        self.folder = tempfile.mkdtemp(prefix="gluonx-profile-")
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        self.at = time.perf_counter()
        try:
            jax.profiler.start_trace(self.folder, profiler_options=options)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        if self.began is None:
            self.began = self.at
        flushing.watchers.append(self.watch)
        host.watchers.append(self.watch_host)
        self.running = True

    def close(self) -> None:
        """End a stretch, when all that was asked for is computed, and take in its events."""
        engine.waitall()
        self.running = False
        flushing.watchers.remove(self.watch)
        host.watchers.remove(self.watch_host)
        try:
            jax.profiler.stop_trace()
            self.events += self.moved(read(self.folder))
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.settings["profile_memory"] or self.settings["profile_all"]:
            self.look_at_memory()

    def moved(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the events of the last stretch on the common time line, the user's entries spelled out."""
        assert self.began is not None, "a stretch was opened"
        shift = (self.at - self.began) * 1e6
        out: list[dict[str, Any]] = []
        for event in events:
            if "ts" in event:
                event["ts"] += shift
            out.append(self.spelled(event) if event.get("name") == MARK else event)
        return out

    def spelled(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return an entry of the user's as the event that viewers know: a span, a counter or an instant."""
        kind, category, name, value = self.notes[int(event["args"]["id"])]
        base = {"name": name, "cat": category, "ts": event["ts"], "pid": event["pid"], "tid": event["tid"]}
        if kind == "counter":
            return {**base, "ph": "C", "args": {name: value}}
        if kind == "marker":
            return {**base, "ph": "i", "s": {"global": "g", "thread": "t"}.get(value, "p")}
        return {**base, "ph": "X", "dur": event.get("dur", 0)}

    def watch(self, program: Any, args: list[Any]) -> None:
        """Note a program that is about to run, and the shapes that it runs on."""
        known = self.programs.setdefault(f"jit_{program.call.__name__}", {})
        if id(program) not in known:
            structs = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=getattr(a, "sharding", None)) for a in args]
            known[id(program)] = program, structs

    def watch_host(self, name: str, begin: float, end: float) -> None:
        """Note an operator that NumPy ran, between two times of ``time.perf_counter``."""
        assert self.began is not None, "a stretch was opened"
        number = len(self.events)
        args = {
            "operator": name,
            "block": source_location.block_path(),
            "backward": False,
            "hlo_module": "host",
            "run_id": number,
        }
        ends = {"ts": (begin - self.began) * 1e6, "dur": (end - begin) * 1e6}
        self.events.append({"ph": "X", "name": name, "pid": os.getpid(), "tid": 0, "args": args, **ends})

    def origins_in(self, module: str) -> Mapping[str, Origin]:
        """Return the origins of instructions of all programs of this name, joined: JAX's trace does the same."""
        found = self.origins.get(module)
        if found is None:
            joined: dict[str, Origin] = {}
            for program, structs in self.programs.get(module, {}).values():
                with keeping_64_bits(program.wide):
                    joined.update(origins_of(program.call.lower(*structs).compile().as_text() or ""))
            found = self.origins[module] = joined
        return found

    def look_at_memory(self) -> None:
        """Note what the live arrays of each device take."""
        taken: dict[str, int] = {}
        if kept := host.nbytes():
            taken["Memory: cpu/0"] = kept
        for array in jax.live_arrays():
            for device in array.devices():
                name = f"Memory: {device.platform}/{device.id}"
                taken[name] = taken.get(name, 0) + array.nbytes // len(array.devices())
        for name, size in taken.items():
            self.memory.setdefault(name, []).append(size / 1000)

    def finished_events(self) -> list[dict[str, Any]]:
        """All events so far, those of the device with block and operator."""
        if self.running:
            self.close()
            self.open()
        return placed(self.events, self.origins_in)

    def rows(self) -> Rows:
        """All that the table shows."""
        rows = Rows()
        events = self.finished_events()
        aggregate(events, rows)
        for event in events:
            if event.get("ph") in ("X", "C", "i") and "cat" in event:
                value = event["args"][event["name"]] if event["ph"] == "C" else event.get("dur", 0) / 1000
                rows.add(event["cat"], event["name"], value)
        for name, sizes in self.memory.items():
            for size in sizes:
                rows.add(_MEMORY, name, size)
        return rows


PROFILE = Profile()


def set_config(**kwargs: Any) -> None:
    """Set the profiler up.

    Parameters
    ----------
    filename : str
        What :func:`dump` writes; ``'profile.json'`` at first. A name that ends in ``.gz`` is compressed.
    profile_memory, profile_all : bool
        Whether to note what live arrays take whenever a stretch of profiling ends.
    profile_symbolic, profile_imperative, profile_api, aggregate_stats, continuous_dump, dump_period, ...
        MXNet's other settings are accepted: everything is always collected, and written when asked for.

    Raises
    ------
    TypeError
        For a setting that there is not.
    RuntimeError
        While a profile is being taken.

    Examples
    --------
    >>> from gluonx import profiler
    >>> profiler.set_config(profile_all=True, filename="profile.json")
    >>> profiler.set_config(profile_all=False)
    """
    unknown = sorted(set(kwargs) - set(_SETTINGS) - _ACCEPTED)
    if unknown:
        known = ", ".join(sorted({*_SETTINGS, *_ACCEPTED}))
        raise TypeError(f"profiler.set_config() has no setting {unknown[0]!r}; there are {known}")
    if PROFILE.wanted:
        raise RuntimeError("a profile is being taken: call profiler.set_state('stop') before profiler.set_config()")
    PROFILE.settings.update({k: v for k, v in kwargs.items() if k in _SETTINGS})


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Do :func:`set_config`, in its older form.

    Examples
    --------
    >>> from gluonx import profiler
    >>> profiler.profiler_set_config(filename="profile.json")
    """
    set_config(profile_symbolic=mode == "symbolic", filename=filename)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start (``'run'``) or end (``'stop'``) profiling. What is pending or running is computed first, in both cases.

    Raises
    ------
    ValueError
        For another state.
    RuntimeError
        If ``jax.profiler`` is running already.

    Examples
    --------
    >>> from gluonx import np, profiler
    >>> profiler.set_state("run")  # doctest: +SKIP
    >>> y = np.ones(2) + 1  # doctest: +SKIP
    >>> profiler.set_state("stop")
    """
    if state not in ("run", "stop"):
        raise ValueError(f"the profiler's states are 'run' and 'stop', got {state!r}")
    run = state == "run"
    if run != PROFILE.running:
        (PROFILE.open if run else PROFILE.close)()
    PROFILE.wanted = run


def profiler_set_state(state: str = "stop") -> None:
    """Do :func:`set_state`, by its older name.

    Examples
    --------
    >>> from gluonx import profiler
    >>> profiler.profiler_set_state("stop")
    """
    set_state(state)


def start() -> None:
    """``set_state('run')``.

    Examples
    --------
    >>> from gluonx import profiler
    >>> profiler.start()  # doctest: +SKIP
    """
    set_state("run")


def stop() -> None:
    """``set_state('stop')``.

    Examples
    --------
    >>> from gluonx import profiler
    >>> profiler.stop()
    """
    set_state("stop")


def pause(profile_process: str = "worker") -> None:
    """Leave out what comes until :func:`resume`.

    Examples
    --------
    >>> from gluonx import profiler
    >>> profiler.pause()  # of no effect while no profile is taken
    >>> profiler.resume()
    """
    if PROFILE.running:
        PROFILE.close()


def resume(profile_process: str = "worker") -> None:
    """Go on after :func:`pause`.

    Examples
    --------
    >>> from gluonx import profiler
    >>> profiler.pause()
    >>> profiler.resume()  # of no effect while no profile is taken
    """
    if PROFILE.wanted and not PROFILE.running:
        PROFILE.open()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write what was collected to the file of :func:`set_config`: Chrome's trace format, which Perfetto opens.

    Parameters
    ----------
    finished : bool
        Whether profiling ends with this.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import profiler
    >>> path = tempfile.mkdtemp() + "/profile.json"
    >>> profiler.set_config(filename=path)
    >>> profiler.dump()
    >>> with open(path) as file:
    ...     sorted(json.load(file))
    ['displayTimeUnit', 'traceEvents']
    >>> profiler.set_config(filename="profile.json")
    """
    if finished:
        set_state("stop")
    content = {"displayTimeUnit": "ms", "traceEvents": PROFILE.finished_events()}
    data = json.dumps(content).encode()
    name = str(PROFILE.settings["filename"])
    with atomic_write(name) as file:
        file.write(gzip.compress(data) if name.endswith(".gz") else data)


def dump_profile() -> None:
    """Do :func:`dump`, by its older name.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import profiler
    >>> profiler.set_config(filename=tempfile.mkdtemp() + "/profile.json")
    >>> profiler.dump_profile()
    >>> profiler.set_config(filename="profile.json")
    """
    dump()


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """Return the table of times.

    Parameters
    ----------
    reset : bool
        Whether to forget what was collected.
    format : {'table', 'json'}
    sort_by : {'total', 'avg', 'min', 'max', 'count'}
    ascending : bool

    Returns
    -------
    str
        Sections ``operator`` (times of instructions, by the operator that they came from), ``block`` (times a program
        run, by block path, blocks below included), ``program`` (from its first instruction to its last), and those of
        the user's own entries.

    Raises
    ------
    ValueError
        For another format or order.

    Examples
    --------
    >>> from gluonx import profiler
    >>> json.loads(profiler.dumps(format="json")).keys() >= {"Time"}
    True
    """
    if format not in ("table", "json"):
        raise ValueError(f"profiler.dumps: format is 'table' or 'json', got {format!r}")
    if sort_by not in _ORDERS:
        raise ValueError(f"profiler.dumps: sort_by is one of {', '.join(map(repr, _ORDERS))}, got {sort_by!r}")
    rows = PROFILE.rows()
    sections: dict[str, dict[str, dict[str, float]]] = {}
    for category in sorted(rows.times):
        stats = {name: _stats(values) for name, values in rows.times[category].items()}
        order = sorted(stats, key=lambda name, stats=stats: stats[name][_ORDERS[sort_by]], reverse=not ascending)
        sections[category] = {name: stats[name] for name in order}
    if reset:
        PROFILE.forget()
    if format == "json":
        memory = {k: v for k, v in sections.items() if k == _MEMORY}
        times = {k: v for k, v in sections.items() if k != _MEMORY}
        return json.dumps({"Time": times, "Memory": memory, "Unit": {"Time": "ms", "Memory": "kB"}}, indent=4)
    return _table(sections)


def _stats(values: list[float]) -> dict[str, float]:
    total = float(np.sum(values))
    return {
        "Count": len(values),
        "Total": total,
        "Min": float(np.min(values)),
        "Max": float(np.max(values)),
        "Avg": total / len(values),
    }


def _table(sections: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    for category, stats in sections.items():
        columns = _MEMORY_COLUMNS if category == _MEMORY else _COLUMNS
        width = max([25, *[len(name) for name in stats]]) + 2
        lines += [category, "================="]
        lines.append("Name".ljust(width) + "".join(c.rjust(17) for c in columns))
        lines.append("----".ljust(width) + "".join(("-" * len(c)).rjust(17) for c in columns))
        for name, s in stats.items():
            numbers = [f"{s['Count']:.0f}", *[f"{s[k]:.4f}" for k in ("Total", "Min", "Max", "Avg")]]
            lines.append(name.ljust(width) + "".join(n.rjust(17) for n in numbers))
        lines.append("")
    return "\n".join(lines)
