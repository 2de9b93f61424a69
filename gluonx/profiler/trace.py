"""JAX's trace of a stretch of code, read as the times of operators, blocks and programs.

``jax.profiler`` writes one file of Chrome trace events for a stretch. An event of the device names an instruction of a
compiled program, and the program's text says in its metadata which operator of which block that instruction came from,
since the engine traces each operator under ``jax.named_scope("<block path>:<operator>")``
(`gluonx.deferred.values.source_location.scope_name`). Both are public: the JSON file, and
``jax.stages.Compiled.as_text``.

A fused instruction does the work of several operators; its time goes to the one that its metadata name, which is
XLA's choice. An instruction without metadata (a copy) goes under its own name.
"""

from __future__ import annotations

import gzip
import json
import pathlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

MARK = "gluonx-mark"
_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = ")
_METADATA = re.compile(r'metadata=\{[^}]*op_name="([^"]*)"')
_CALLS = re.compile(r"\b(?:calls|to_apply)=%?([\w.\-]+)")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\{\s*$")


class Origin(NamedTuple):
    """The origin of an instruction: a block's path (empty: none), an operator, forward or backward."""

    block: str
    operator: str
    backward: bool


def read(folder: str) -> list[dict[str, Any]]:
    """Return the events of the one trace in `folder`."""
    (path,) = pathlib.Path(folder).rglob("*.trace.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [e for e in json.load(file)["traceEvents"] if e and not str(e.get("name", "")).startswith("end: ")]


def origin_of(op_name: str) -> Origin | None:
    """Read the metadata of an instruction; None where it holds no operator of ours.

    Examples
    --------
    >>> origin_of("jit(step)/transpose(jvp(Net.body.0:convolution))/conv_general_dilated")
    Origin(block='Net.body.0', operator='convolution', backward=True)
    >>> origin_of("jit(step)/:update/mul")
    Origin(block='', operator='update', backward=False)
    """
    parts = [p for p in op_name.split("/") if ":" in p]
    if not parts:
        return None
    last = parts[-1]
    backward = any(p.startswith("transpose(") for p in op_name.split("/"))
    block, _, operator = last.rpartition("(")[2].rstrip(")").rpartition(":")
    return Origin(block, operator, backward)


def origins_of(text: str) -> dict[str, Origin]:
    """Return the origin of each instruction of a compiled program, by the instruction's name."""
    found: dict[str, Origin] = {}
    inside: dict[str, Origin] = {}  # the last known origin in each computation: its root's, or near it
    calls: dict[str, str] = {}
    computation = ""
    for line in text.splitlines():
        head = _COMPUTATION.match(line)
        if head is not None:
            computation = head[1]
            continue
        instruction = _INSTRUCTION.match(line)
        if instruction is None:
            continue
        metadata = _METADATA.search(line)
        origin = None if metadata is None else origin_of(metadata[1])
        if origin is not None:
            found[instruction[1]] = inside[computation] = origin
        else:
            called = _CALLS.search(line)
            if called is not None:
                calls[instruction[1]] = called[1]
    for name, called in calls.items():
        if called in inside:
            found[name] = inside[called]
    return found


def placed(events: Iterable[dict[str, Any]], origins: Callable[[str], Mapping[str, Origin]]) -> list[dict[str, Any]]:
    """Return the events, those of the device with ``block`` and ``operator`` among their arguments.

    ``origins`` gives the instructions of a program by the program's name.
    """
    events = list(events)
    counted = _counted(events)
    out: list[dict[str, Any]] = []
    for event in events:
        args = event.get("args") or {}
        module = args.get("hlo_module")
        if "operator" in args:  # one that the host ran
            out.append(event)
            continue
        if event.get("ph") == "X" and module is not None and (event["pid"], event["tid"]) in counted:
            origin = origins(module).get(args.get("hlo_op", event["name"]))
            if origin is None:
                plain = re.sub(r"[.\d]+$", "", event["name"])
                program = module.removeprefix("jit_")
                origin = Origin("", plain if program.startswith("gluonx_") else program, False)
            extra = {"block": origin.block, "operator": origin.operator, "backward": origin.backward}
            event = {**event, "args": {**args, **extra}}
        out.append(event)
    return out


def _counted(events: list[dict[str, Any]]) -> set[tuple[Any, Any]]:
    """Return the threads whose device events count: a GPU's streams, else all that show instructions.

    A GPU's trace shows the same work a second time on lines such as "XLA Ops".
    """
    names = {(e["pid"], e["tid"]): str(e["args"]["name"]) for e in events if e.get("name") == "thread_name"}
    busy = {(e["pid"], e["tid"]) for e in events if "hlo_module" in (e.get("args") or {})}
    streams = {place for place in busy if names.get(place, "").startswith("Stream")}
    with_streams = {pid for pid, _ in streams}
    return streams | {place for place in busy if place[0] not in with_streams}


class _Runs:
    """Runs of programs, to find an event's: the trace names it, or else the first instruction comes again."""

    def __init__(self) -> None:
        self.first: dict[Any, str] = {}
        self.count: dict[Any, int] = {}

    def of(self, event: dict[str, Any]) -> tuple[str, Any]:
        """Return the program, and something that is another for another run."""
        args = event["args"]
        if "run_id" in args:
            return args["hlo_module"], args["run_id"]
        place = args["hlo_module"], event["pid"]
        op = args.get("hlo_op", event["name"])
        if self.first.setdefault(place, op) == op:
            self.count[place] = self.count.get(place, 0) + 1
        return args["hlo_module"], (event["pid"], self.count[place])


class Rows:
    """Times by category and name, in milliseconds."""

    def __init__(self) -> None:
        self.times: dict[str, dict[str, list[float]]] = {}

    def add(self, category: str, name: str, value: float) -> None:
        """Note one value."""
        self.times.setdefault(category, {}).setdefault(name, []).append(value)


def aggregate(events: Iterable[dict[str, Any]], rows: Rows) -> None:
    """Add the device's events (see `placed`) to `rows`: by operator, by block, and by program.

    A block's time is that of one run of its program, blocks below it included; an operator's that of one instruction.
    """
    blocks: dict[tuple[str, Any, str], float] = {}
    spans: dict[tuple[str, Any], tuple[float, float]] = {}
    runs = _Runs()
    device = [e for e in events if e.get("ph") == "X" and "operator" in (e.get("args") or {})]
    for event in sorted(device, key=lambda e: float(e["ts"])):
        args = event["args"]
        begin, length = float(event["ts"]), float(event.get("dur", 0))
        suffix = " (backward)" if args["backward"] else ""
        rows.add("operator", args["operator"] + suffix, length / 1000)
        run = runs.of(event)
        first, last = spans.get(run, (begin, begin))
        spans[run] = min(first, begin), max(last, begin + length)
        names = args["block"].split(".") if args["block"] else []
        for depth in range(1, len(names) + 1):
            key = (*run, ".".join(names[:depth]) + suffix)
            blocks[key] = blocks.get(key, 0.0) + length / 1000
    for (_, _, name), time in blocks.items():
        rows.add("block", name, time)
    for (module, _), (first, last) in spans.items():
        rows.add("program", module.removeprefix("jit_"), (last - first) / 1000)
