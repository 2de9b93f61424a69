"""Operations and collectives of a compiled program, read from its text, in which loops say how often they run."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_SIZES = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4}
_SIZES |= {"s64": 8, "u64": 8, "f64": 8, "c64": 8, "c128": 16, "f8e4m3fn": 1, "f8e5m2": 1, "s4": 1, "u4": 1}
_NAMES = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while", "call", "conditional", "after-all"}
_NAMES |= {"async-start", "async-update", "partition-id", "replica-id", "opt-barrier"}
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
    bytes: float = 0.0
    """What all that is launched reads and writes if no cache holds any of it: operands and results, but of one of which
    it takes or replaces a part (a row looked up, a step of a loop) that part."""
    kernels: int = 0
    """Launches: fusions, calls of libraries, copies and the rest that is no mere name of a buffer."""
    calls: dict[str, int] = field(default_factory=dict)
    """The number of calls of each target of a custom call, such as a function of cuDNN."""
    loops: int = 0
    unknown: int = 0
    """Loops among them of which the text does not tell how often they run; their bodies are counted once."""
    collectives: list[dict[str, Any]] = field(default_factory=list)
    """By kind and axes of the mesh: how many, bytes of their results, how often a link carries such a byte, among how
    many devices, and over how many hosts."""


@dataclass
class _Line:
    name: str
    shape: str
    op: str
    rest: str
    is_root: bool = False


def read(text: str, mesh: Any, near: int | None = None) -> Read:
    """Read a program's text.

    Parameters
    ----------
    text : str
        As ``compiled.as_text()`` gives it.
    mesh : jax.sharding.Mesh
        That it was compiled for: groups of devices are told as its axes.
    near : int, optional
        How many of its devices, one after another, are in one host; all by default.
    """
    of_host = near or mesh.devices.size
    bodies, entry = _computations(text)
    often, unknown = _often(bodies, entry)
    found = Read(unknown=unknown)
    inside = _inside(bodies)
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 1, 1])
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
            if name not in inside and line.op not in _NAMES and not line.op.endswith("-done"):
                found.kernels += times
                found.bytes += times * _moved(line, shapes, bodies)
                target = re.search(r'custom_call_target="([^"]+)"', line.rest)
                if target:
                    found.calls[target[1]] = found.calls.get(target[1], 0) + times
            kind = line.op.removesuffix("-start")
            if kind in _KINDS:
                groups = _groups(line.rest)
                size = len(groups[0]) if groups else mesh.devices.size
                if size == 1 and kind != "collective-permute":
                    continue
                entry_sum = sums[kind, _axes(groups, mesh)]
                entry_sum[0] += times
                entry_sum[1] += times * _result(line, kind)
                members = groups[0] if groups else range(size)
                entry_sum[2:] = _rounds(kind, size), size, len({member // of_host for member in members})
    found.collectives = [
        {
            "kind": kind,
            "axes": axes,
            "count": int(n),
            "bytes": int(total),
            "rounds": rounds,
            "devices": int(size),
            "hosts": int(hosts),
        }
        for (kind, axes), (n, total, rounds, size, hosts) in sorted(sums.items())
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
                current.append(_Line(*parts.groups(), is_root=line.lstrip().startswith("ROOT ")))
            elif line.startswith("}"):
                current = None
    return bodies, entry


def _inside(bodies: dict[str, list[_Line]]) -> set[str]:
    """Return the computations that are no launches of their own: inside of fusions, and what reductions apply."""
    found: set[str] = set()
    stack = [
        name
        for lines in bodies.values()
        for line in lines
        if line.op not in ("call", "while", "conditional", "async-start")
        for name in re.findall(r"(?:calls|to_apply)=%?([\w.\-]+)", line.rest)
    ]
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            for line in bodies.get(name, ()):
                stack += re.findall(r"(?:calls|to_apply|body|condition)=%?([\w.\-]+)", line.rest)
    return found


def _often(bodies: dict[str, list[_Line]], entry: str) -> tuple[dict[str, int], int]:
    """Return how often each computation runs, and how many loops do not tell how often they go round."""
    often: dict[str, int] = defaultdict(int)
    unknown: set[tuple[str, str]] = set()
    stack = [(entry, 1)]
    while stack:
        name, times = stack.pop()
        often[name] += times
        for line in bodies.get(name, ()):
            if line.op == "while":
                rounds = _rounds_of_loop(bodies, name, line)
                if rounds is None:
                    unknown.add((name, line.name))
                body = _attribute(line, "body")
                if body:
                    stack.append((body, times * (1 if rounds is None else rounds)))
                continue
            stack += [(inner, times) for inner in re.findall(r"(?:calls|to_apply)=%?([\w.\-]+)", line.rest)]
            branches = re.search(r"branch_computations=\{([^}]*)\}", line.rest)
            if branches:
                stack += [(inner.strip().lstrip("%"), times) for inner in branches[1].split(",")[:1]]
    return often, len(unknown)


def _attribute(line: _Line, name: str) -> str | None:
    found = re.search(rf"\b{name}=%?([\w.\-]+)", line.rest)
    return found[1] if found else None


def _operands(line: _Line) -> list[str]:
    return re.findall(r"%([\w.\-]+)", line.rest.partition("), ")[0])


class _Untold(Exception):
    """A number that is not told by the text alone."""


class _Numbers:
    """The integers in a computation that are known before it runs: what loops count by.

    ``inputs`` are the values of its parameters: an integer, a list of them (and None) for a tuple, None if unknown.
    """

    def __init__(self, bodies: dict[str, list[_Line]], name: str, inputs: list[Any]) -> None:
        self.bodies, self.inputs = bodies, inputs
        self.lines = {line.name: line for line in bodies.get(name, ())}
        self.root = next((line.name for line in reversed(self.lines.values()) if line.is_root), "")

    def at(self, name: str, place: int | None = None) -> Any:
        """Return the integer that an instruction gives, or that stands at a place of the tuple that it gives."""
        line = self.lines.get(name)
        if line is None:
            raise _Untold
        args = _operands(line)
        if line.op == "parameter":
            number = int(line.rest.partition(")")[0])
            value = self.inputs[number] if number < len(self.inputs) else None
            if isinstance(value, list) and place is not None:
                value = value[place] if place < len(value) else None
        elif line.op == "constant":
            told = re.match(r"(-?\d+)\)", line.rest)
            value = int(told[1]) if told else None
        elif line.op == "tuple" and place is not None:
            value = self.at(args[place])
        elif line.op == "get-tuple-element" and place is None:
            value = self.at(args[0], int(_attribute(line, "index") or 0))
        elif line.op in ("copy", "bitcast", "convert", "reshape", "opt-barrier", "copy-done"):
            value = self.at(args[0], place)
        elif line.op in ("add", "subtract", "multiply"):
            one, other = self.at(args[0]), self.at(args[1])
            value = one + other if line.op == "add" else one - other if line.op == "subtract" else one * other
        elif line.op in ("fusion", "call"):
            inner = _Numbers(
                self.bodies, _attribute(line, "calls") or _attribute(line, "to_apply") or "", self._of(args)
            )
            value = inner.at(inner.root, place)
        else:
            value = None
        if not isinstance(value, int):
            raise _Untold
        return value

    def _of(self, names: list[str]) -> list[Any]:
        found: list[Any] = []
        for name in names:
            try:
                found.append(self.at(name))
            except _Untold:
                found.append(None)
        return found

    def tuple(self, name: str) -> list[Any]:
        """Return the integers of the tuple that an instruction gives, None for what is not known."""
        line = self.lines.get(name)
        while line is not None and line.op in ("copy", "opt-barrier"):
            line = self.lines.get(_operands(line)[0])
        return self._of(_operands(line)) if line is not None and line.op == "tuple" else []

    def comparison(self) -> _Line:
        """Return the comparison that a condition gives, perhaps as a fusion of its own."""
        line = self.lines.get(self.root)
        if line is None or line.op != "compare":
            raise _Untold
        return line


def _rounds_of_loop(bodies: dict[str, list[_Line]], name: str, loop: _Line) -> int | None:
    """Return how often a loop goes round, None where that is not told.

    XLA for CPUs writes it down. Of other loops the count is read off where an integer goes from one constant to another
    in steps of a third, as it does in all that is made of ``lax.scan``.
    """
    told = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', loop.rest)
    if told:
        return int(told[1])
    condition, body = _attribute(loop, "condition") or "", _attribute(loop, "body") or ""
    try:
        first = _Numbers(bodies, name, []).tuple(_operands(loop)[0])
        while_true = _Numbers(bodies, condition, [first])
        test = while_true.comparison()
        direction = _attribute(test, "direction")
        counter, limit = _operands(test)
        counted = while_true.lines[counter]
        while counted.op in ("copy", "bitcast"):
            counted = while_true.lines[_operands(counted)[0]]
        if counted.op != "get-tuple-element" or direction not in ("LT", "LE", "GT", "GE", "NE"):
            return None
        place = int(_attribute(counted, "index") or 0)
        end, now = while_true.at(limit), first[place] if place < len(first) else None
        if now is None:
            return None
        inside = _Numbers(bodies, body, [first])
        step = inside.at(inside.root, place) - now
        # The step is that of the first round: it is that of all where nothing but constants is added.
        again = _Numbers(bodies, body, [[*first[:place], now + step, *first[place + 1 :]]])
        if again.at(again.root, place) != now + 2 * step or step == 0:
            return None
    except (_Untold, ValueError, IndexError, KeyError):
        return None
    last = end + (step > 0) - (step < 0) if direction in ("LE", "GE") else end
    return max(0, -(-(last - now) // step))


def _elements(shape: str) -> int:
    found = _ARRAY.search(shape)
    return math.prod(int(n) for n in found[2].split(",") if n) if found else 0


def _size(shape: str) -> int:
    return sum(
        math.prod(int(n) for n in dims.split(",") if n) * _SIZES.get(kind, 4) for kind, dims in _ARRAY.findall(shape)
    )


_PARTS = {"slice", "dynamic-slice", "gather"}
_REPLACED = {"dynamic-update-slice": 1, "scatter": 2}  # in their first operand; the operand that tells how much
_ALIKE = {"bitcast", "copy", "convert", "reshape", "transpose", "negate", "multiply", "add", "subtract", "select"}

_WORKSPACE = re.compile(r", [su]8\[\d*\](?:\{0\})?\)$")  # the last result of a call of a library of NVIDIA's


def _moved(line: _Line, shapes: dict[str, str], bodies: dict[str, list[_Line]]) -> int:
    """Return the bytes that a launch reads and writes."""
    operands = _operands(line)
    sizes = [_size(shapes.get(name, "")) for name in operands]
    inner = bodies.get(_attribute(line, "calls") or "", []) if line.op == "fusion" else []
    if not inner:
        if line.op in _PARTS:
            return 2 * _size(line.shape) + sum(sizes[1:])
        if line.op in _REPLACED:
            return sum(sizes[1:]) + sizes[_REPLACED[line.op]]
        shape = _WORKSPACE.sub("", line.shape) if line.op == "custom-call" else line.shape
        return _size(shape) + sum(sizes)
    body = {one.name: one for one in inner}
    users: dict[str, list[_Line]] = defaultdict(list)
    for one in inner:
        for name in _operands(one):
            users[name].append(one)
    read = {int(one.rest.partition(")")[0]): _share(one, users, body) for one in inner if one.op == "parameter"}
    root = next(one for one in reversed(inner) if one.is_root)
    results = [body[name] for name in _operands(root)] if root.op == "tuple" else [root]
    return sum(int(size * read.get(k, 1.0)) for k, size in enumerate(sizes)) + sum(
        _written(one, body) for one in results
    )


def _share(line: _Line, users: dict[str, list[_Line]], body: dict[str, _Line]) -> float:
    """Return how much of a value of a fusion the rest of it reads, from 0 to 1."""
    whole, found = _elements(line.shape), 0.0
    for user in users[line.name]:
        first = _operands(user)[0] == line.name and _operands(user).count(line.name) == 1
        if user.op in _PARTS and first:
            found += _elements(user.shape) / max(whole, 1)
        elif user.op in _REPLACED and first:
            continue  # what is not replaced stays where it is
        elif user.op in _ALIKE and _elements(user.shape) == whole and not user.is_root:
            found += _share(user, users, body)
        else:
            return 1.0
    return min(found, 1.0)


def _written(line: _Line, body: dict[str, _Line]) -> int:
    """Return the bytes that a result of a fusion takes; of an operand that is changed in place those that change."""
    result = line
    while line.op in ("bitcast", "copy", "convert") and _operands(line)[0] in body:
        line = body[_operands(line)[0]]
    place = _REPLACED.get(line.op)
    if place is None:
        return _size(result.shape)
    changed = body.get(_operands(line)[0])
    while changed is not None and changed.op == "bitcast":
        changed = body.get(_operands(changed)[0])
    update = body.get(_operands(line)[place])
    if changed is None or changed.op != "parameter" or update is None:
        return _size(result.shape)
    return _size(update.shape)


def _result(line: _Line, kind: str) -> int:
    """Bytes of the result on one device; that of a started one has the operand beside it."""
    if line.op.endswith("-start") and line.shape.startswith("("):
        parts = [math.prod(int(n) for n in d.split(",") if n) * _SIZES.get(k, 4) for k, d in _ARRAY.findall(line.shape)]
        if kind == "all-reduce":
            return sum(parts)
        return max(parts, default=0)
    return _size(line.shape)


def _rounds(kind: str, size: int) -> float:
    """Return how often a link carries a byte of the result, on a ring."""
    if kind == "all-reduce":
        return 2 * (size - 1) / size
    if kind == "reduce-scatter":  # whose result is one part
        return size - 1.0
    return (size - 1) / size if kind != "collective-permute" else 1.0


def _groups(rest: str) -> list[list[int]]:
    """Return the groups of devices that a collective goes over."""
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
    """Give the groups of devices along axes of a mesh: ``'a'=2,'b'=4`` and ``'b'``, or a part of one, ``'b':(2)2``."""
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
    """Return the axes of the mesh along which the devices of a group differ."""
    import numpy as np

    if not groups:
        return ",".join(mesh.axis_names)
    shape = tuple(mesh.shape.values())
    places = np.array(np.unravel_index(groups[0], shape))
    found = [name for name, where in zip(mesh.axis_names, places, strict=True) if len(set(where.tolist())) > 1]
    return ",".join(found) or "one device"


def _flops(line: _Line, shapes: dict[str, str]) -> float:
    """Operations of a matrix product or convolution; dot products are convolutions on a TPU, library calls on a GPU."""
    kind, rest = line.op, line.rest
    if kind == "custom-call":
        target = re.search(r'custom_call_target="__(cublas\$|cudnn\$conv|cudnn\$fmha)(\w*)', rest)
        if target is None:
            return 0.0
        kind = {"cublas$": "dot", "cudnn$conv": "convolution", "cudnn$fmha": "attention"}[target[1]] + target[2]
    operands = [_ARRAY.search(shapes.get(name, "")) for name in _operands(line)[:2]]
    result = _ARRAY.search(line.shape)
    if len(operands) < 2 or None in operands or result is None:
        return 0.0
    left, right, out = ([int(n) for n in found[2].split(",") if n] for found in (*operands, result) if found)
    if kind.startswith("dot"):
        told = re.search(r'lhs_contracting_dim(?:s=\{|ensions":\[)([\d,"]*)', rest)
        inner = math.prod(left[int(k)] for k in told[1].replace('"', "").split(",") if k) if told else 1
        return 2.0 * math.prod(out) * inner
    if kind.startswith("attention"):  # of queries and keys, both (batch, length, heads, width)
        return 2.0 * (5 if "Backward" in kind else 2) * math.prod(left) * right[1]
    if not kind.startswith("convolution"):
        return 0.0
    # cuDNN's gradients are described by the convolution that they are of.
    parts = {"BackwardInput": (out, right, left), "BackwardFilter": (left, out, right)}
    return _convolution(rest, parts.get(kind.removeprefix("convolution"), (left, right, out)))


def _convolution(rest: str, parts: tuple[list[int], ...]) -> float:
    """Operations of a convolution of an image with a kernel to a result, which have these shapes."""
    labels = re.search(r"dim_labels=(\w+)_(\w+)->(\w+)", rest)
    if labels is None:
        return 0.0
    lhs, rhs, result = (dict(zip(axes, part, strict=False)) for axes, part in zip(labels.groups(), parts, strict=True))
    window = re.search(r"window=\{([^}]*)\}", rest)
    told = dict(part.split("=") for part in window[1].split()) if window else {}
    pairs = math.prod(_taps(told, int(k), lhs[k], rhs[k], result[k]) for k in labels[2] if k.isdigit())
    return 2.0 * result["b"] * result["f"] * rhs["i"] * pairs


def _taps(window: dict[str, str], axis: int, size: int, kernel: int, result: int) -> int:
    """Return how many pairs of an output and a tap of the kernel meet an element of the input along an axis.

    Others meet padding, or the holes of a dilated input, and are not computed: the TPU's compiler writes a batch of
    matrix products as one convolution with holes, so that of many taps a single one is real.
    """
    import numpy as np

    def told(name: str, default: str) -> str:
        return window[name].split("x")[axis] if name in window else default

    stride, holes, spread = (int(told(name, "1")) for name in ("stride", "lhs_dilate", "rhs_dilate"))
    before = int(told("pad", "0_0").partition("_")[0])
    places = np.arange(result)[:, None] * stride - before + np.arange(kernel) * spread
    return int(((places >= 0) & (places <= (size - 1) * holes) & (places % holes == 0)).sum())
