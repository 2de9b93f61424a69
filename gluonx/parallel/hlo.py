"""Operations and collectives of a compiled program, read from its text, in which loops say how often they run."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Read", "read"]

_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_SIZES = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4}
_SIZES |= {"s64": 8, "u64": 8, "f64": 8, "c64": 8, "c128": 16, "f8e4m3fn": 1, "f8e5m2": 1, "s4": 1, "u4": 1}
_HEAD = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$")
_LINE = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = (.*?) ([\w\-]+)\((.*)$")
_PART = re.compile(r"'(\w+)'(?::\((\d+)\)(\d+))?")
_ARRAY = re.compile(r"\b([a-z]\w*)\[([\d,]*)\]")


@dataclass
class Read:
    """Cost of one run of a program, on one device."""

    flops: float = 0.0
    flops_once: float = 0.0
    """With the body of each loop counted once."""
    loops: int = 0
    collectives: list[dict[str, Any]] = field(default_factory=list)
    """By kind and axes of the mesh: how many, bytes of their results, and how often a link carries such a byte."""


@dataclass
class _Line:
    name: str
    shape: str
    op: str
    rest: str


def read(text: str, mesh: Any) -> Read:
    """Read a program's text.

    Parameters
    ----------
    text : str
        As ``compiled.as_text()`` gives it.
    mesh : jax.sharding.Mesh
        That it was compiled for: groups of devices are told as its axes.
    """
    bodies, entry = _computations(text)
    often = _often(bodies, entry)
    found = Read()
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for name, lines in bodies.items():
        times = often.get(name, 0)
        if not times:
            continue
        shapes = {line.name: line.shape for line in lines}
        for line in lines:
            found.loops += line.op == "while"
            flops = _flops(line, shapes)
            found.flops += flops * times
            found.flops_once += flops
            kind = line.op.removesuffix("-start")
            if kind in _KINDS:
                groups = _groups(line.rest)
                size = len(groups[0]) if groups else mesh.devices.size
                if size == 1 and kind != "collective-permute":
                    continue
                entry_sum = sums[kind, _axes(groups, mesh)]
                entry_sum[0] += times
                entry_sum[1] += times * _result(line, kind)
                entry_sum[2] = _rounds(kind, size)
    found.collectives = [
        {"kind": kind, "axes": axes, "count": int(n), "bytes": int(total), "rounds": rounds}
        for (kind, axes), (n, total, rounds) in sorted(sums.items())
    ]
    return found


def _computations(text: str) -> tuple[dict[str, list[_Line]], str]:
    bodies: dict[str, list[_Line]] = {}
    entry, current = "", None
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head:
            current = bodies[head[1]] = []
            entry = head[1] if line.startswith("ENTRY") else entry
        elif current is not None:
            parts = _LINE.match(line)
            if parts:
                current.append(_Line(*parts.groups()))
            elif line.startswith("}"):
                current = None
    return bodies, entry


def _often(bodies: dict[str, list[_Line]], entry: str) -> dict[str, int]:
    """How often each computation runs: loops say how often they go round."""
    often: dict[str, int] = defaultdict(int)
    stack = [(entry, 1)]
    while stack:
        name, times = stack.pop()
        often[name] += times
        for line in bodies.get(name, ()):
            if line.op == "while":
                rounds = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', line.rest)
                body = re.search(r"body=%?([\w.\-]+)", line.rest)
                if body:
                    stack.append((body[1], times * (int(rounds[1]) if rounds else 1)))
                continue
            stack += [(inner, times) for inner in re.findall(r"(?:calls|to_apply)=%?([\w.\-]+)", line.rest)]
            branches = re.search(r"branch_computations=\{([^}]*)\}", line.rest)
            if branches:
                stack += [(inner.strip().lstrip("%"), times) for inner in branches[1].split(",")[:1]]
    return often


def _elements(shape: str) -> int:
    found = _ARRAY.search(shape)
    return math.prod(int(n) for n in found[2].split(",") if n) if found else 0


def _size(shape: str) -> int:
    return sum(
        math.prod(int(n) for n in dims.split(",") if n) * _SIZES.get(kind, 4) for kind, dims in _ARRAY.findall(shape)
    )


def _result(line: _Line, kind: str) -> int:
    """Bytes of the result on one device; that of a started one has the operand beside it."""
    if line.op.endswith("-start") and line.shape.startswith("("):
        parts = [math.prod(int(n) for n in d.split(",") if n) * _SIZES.get(k, 4) for k, d in _ARRAY.findall(line.shape)]
        if kind == "all-reduce":
            return sum(parts)
        return max(parts, default=0)
    return _size(line.shape)


def _rounds(kind: str, size: int) -> float:
    """How often a link carries a byte of the result, on a ring."""
    if kind == "all-reduce":
        return 2 * (size - 1) / size
    if kind == "reduce-scatter":  # whose result is one part
        return size - 1.0
    return (size - 1) / size if kind != "collective-permute" else 1.0


def _groups(rest: str) -> list[list[int]]:
    """The groups of devices that a collective goes over."""
    listed = re.search(r"replica_groups=\{(\{[\d,{}]*\})\}", rest)
    if listed:
        return [[int(n) for n in part.split(",")] for part in re.findall(r"\{([\d,]+)\}", listed[1])]
    iota = re.search(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", rest)
    if iota:
        import numpy as np

        shape, dims = ([int(n) for n in iota[k].split(",")] for k in (1, 2))
        numbers = np.arange(math.prod(dims)).reshape(dims)
        if iota[3]:
            numbers = numbers.transpose([int(n) for n in iota[3].split(",")])
        return numbers.reshape(shape).tolist()
    along = re.search(r"replica_groups=mesh\[([^\]]*)\] \{([^}]*)\}", rest)
    if along:
        return _along(along[1], along[2])
    pairs = re.search(r"source_target_pairs=\{(\{[\d,{}]*\})\}", rest)
    return [[int(n) for n in part.split(",")] for part in re.findall(r"\{([\d,]+)\}", pairs[1])][:1] if pairs else []


def _along(dims: str, chosen: str) -> list[list[int]]:
    """The groups of devices along axes of a mesh: ``'a'=2,'b'=4`` and ``'b'``, or a part of one, ``'b':(2)2``."""
    import numpy as np

    sizes = {name: int(size) for name, size in re.findall(r"'(\w+)'=(\d+)", dims)}
    shape: list[int] = []
    inner: list[int] = []
    parts = {name: (int(before or 1), int(size or 0)) for name, before, size in _PART.findall(chosen)}
    for name, size in sizes.items():
        before, own = parts.get(name, (size, 1))
        own = own or size
        inner += [len(shape) + 1] if name in parts else []
        shape += [before, own, size // (before * own)]
    outer = [k for k in range(len(shape)) if k not in inner]
    numbers = np.arange(math.prod(shape)).reshape(shape).transpose([*outer, *inner])
    return numbers.reshape(-1, math.prod(shape[k] for k in inner)).tolist()


def _axes(groups: list[list[int]], mesh: Any) -> str:
    """The axes of the mesh along which the devices of a group differ."""
    import numpy as np

    if not groups:
        return ",".join(mesh.axis_names)
    shape = tuple(mesh.shape.values())
    places = np.array(np.unravel_index(groups[0], shape))
    found = [name for name, where in zip(mesh.axis_names, places, strict=True) if len(set(where.tolist())) > 1]
    return ",".join(found) or "one device"


def _flops(line: _Line, shapes: dict[str, str]) -> float:
    """Operations of a matrix product or convolution; dot products are convolutions on a TPU."""
    if line.op not in ("convolution", "dot"):
        return 0.0
    operands = re.findall(r"%([\w.\-]+)", line.rest.partition(")")[0])
    if len(operands) < 2:
        return 0.0
    right = _ARRAY.search(shapes.get(operands[1], ""))
    left = _ARRAY.search(shapes.get(operands[0], ""))
    if right is None or left is None:
        return 0.0
    out = _elements(line.shape)
    if line.op == "dot":
        contracted = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", line.rest)
        dims = [int(n) for n in left[2].split(",") if n]
        inner = math.prod(dims[int(k)] for k in contracted[1].split(",") if k) if contracted else 1
        return 2.0 * out * inner
    labels = re.search(r"dim_labels=\w+_(\w+)->(\w+)", line.rest)
    dims = [int(n) for n in right[2].split(",") if n]
    if labels is None:
        return 0.0
    kernel = math.prod(n for n, label in zip(dims, labels[1], strict=False) if label != "o")
    return 2.0 * out * kernel
