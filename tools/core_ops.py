"""The core operator set, written down: the page ``docs/core_ops.md``, made from the registry.

Records say the shape of the result, what is particular about the gradient, and the operation of NumPy or StableHLO that
an operator stands for; what follows from a rule stands here. ``python -m tools.parity --write`` writes the page; tests
compare it with the registry, and what it claims (`SAME`, `BROADCAST` and `REDUCED` shapes, gradients) with what
operators do.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from gluonx.ops.registry import BROADCAST, OPS, SAME, Op

__all__ = ["gradient", "page", "shape_rule", "stands_for"]

_WHOLE = frozenset(
    ["indices", "index", "ind", "condition", "mask", "length", "sequence_length", "pred_lengths", "label_lengths",
     "like", "shape_like", "dilation", "valid_length", "position"]
)  # fmt: skip
"""Inputs through which no gradient flows, in whatever operator."""


def shape_rule(op: Op) -> str:
    """Return the shape of the result."""
    if op.shape:
        return op.shape
    if op.name.startswith("random_"):
        return "`size`, or that of the parameters' broadcast"
    plain = op.name.removeprefix("quantized_")
    if plain != op.name and plain in OPS:
        return f"that of `{plain}`; then the ends of its range"
    family = op.__module__.rpartition(".")[2]
    if family == "elementwise":
        return SAME if len(op.inputs) == 1 else BROADCAST
    found = re.search(r"Returns\n-+\n.*?shape (.*)", op.doc)
    return found.group(1).strip() if found else "see its docstring"


def gradient(op: Op) -> str:
    """Through which inputs gradients flow, and what is particular about them."""
    if op.gradient:
        return op.gradient
    inputs = [f"`{name}`" for name in op.inputs if name not in _WHOLE]
    return f"through {', '.join(inputs)}" if inputs else "none: no inputs"


def stands_for(op: Op) -> str:
    """Return the operation of NumPy or StableHLO that it is, or what it is composed of."""
    if op.stands_for:
        return op.stands_for
    if op.name.startswith("random_") and hasattr(np.random, op.name.removeprefix("random_")):
        return f"`numpy.random.{op.name.removeprefix('random_')}`"
    for name in (op.name.removeprefix("np."), *op.aliases):
        if hasattr(np, name):
            return f"`numpy.{name}`"
    for family in ("linalg", "fft"):
        name = op.name.removeprefix(f"{family}_")
        if hasattr(getattr(np, family), name):
            return f"`numpy.{family}.{name}`"
    return "composed"


def _attributes(op: Op) -> str:
    names = [p for p in inspect.signature(op.fn).parameters if p in op.attr_names]
    return ", ".join([f"`{n}`" if n not in op.defaults else f"`{n}={_shown(op.defaults[n])}`" for n in names])


def _shown(value: Any) -> str:
    return value.name if isinstance(value, np.dtype) else repr(value)


def _inputs(op: Op) -> str:
    if op.variadic:
        return f"`*{op.inputs[0]}`"
    return ", ".join([f"`{n}`" + ("?" if n in op.optional else "") for n in op.inputs])


def _names(op: Op) -> str:
    also = f" ({', '.join(op.aliases)})" if op.aliases else ""
    marks = " ᴿ" if op.random else ""
    return f"`{op.name}`{also}{marks}"


_HEAD = """# Core operators

<!-- Written by `python -m tools.parity --write` from the registry; do not edit. -->

Every operator that everything in `np`, `npx`, the layers and the older names is made of, by kind: what it takes, what
comes out, and what its gradient passes. An operator is a pure function of arrays with static attributes. `?` marks an
input that may be left out, `ᴿ` an operator that draws random numbers; attributes without a default must be given.

"""
_COLUMNS = ("name", "inputs", "attributes", "shape of the result", "gradient", "stands for", "computes")


def _line(op: Op) -> str:
    summary = op.doc.split("\n\n", 1)[0].replace("\n", " ")
    summary = re.sub(r"^(Return|Give|Get|Compute) (.)", lambda m: m[2].upper(), summary)  # what the column is called
    cells = (_names(op), _inputs(op), _attributes(op), shape_rule(op), gradient(op), stands_for(op), summary)
    return "| " + " | ".join([cell.replace("|", "\\|") for cell in cells]) + " |\n"


def _title(module: str) -> str:
    """Return what the operators of a module are: its docstring up to the first colon or the end of the line."""
    return re.split(r":|\.$", (sys.modules[module].__doc__ or "").partition("\n")[0])[0]


def page(operators: Iterable[Op]) -> str:
    """Return the whole page.

    Parameters
    ----------
    operators : iterable of Op
        The registry's values; those that neither ``gluonx.ops`` nor ``gluonx.np`` defines are left out.
    """
    unique = sorted({op.name: op for op in operators}.values(), key=lambda op: (op.__module__, op.name))
    parts = [_HEAD]
    head = "| " + " | ".join(_COLUMNS) + " |\n" + "| --- " * len(_COLUMNS) + "|\n"
    own = [op for op in unique if op.__module__.startswith("gluonx.ops")]
    for module in sorted({op.__module__ for op in own}, key=_title):
        lines = [_line(op) for op in own if op.__module__ == module]
        parts += [f"## {_title(module)}\n\n", head, *lines, "\n"]
    made = [op for op in unique if op.__module__.startswith(("gluonx.np", "gluonx.npx"))]
    parts += ["## Made from `jax.numpy`\n\nAttributes, shapes and gradients are those of the NumPy function.\n\n"]
    parts += ["| name | inputs | stands for |\n| --- | --- | --- |\n"]
    parts += [f"| {_names(op)} | {_inputs(op)} | {stands_for(op)} |\n" for op in made]
    return "".join(parts)
