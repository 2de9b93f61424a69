"""The table that ``Block.summary`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gluonx.autograd import pause
from gluonx.parameter import Parameter

if TYPE_CHECKING:
    from gluonx.block import Block

__all__ = ["summarize"]

_COLUMNS = "{:<44}{:<26}{:>12}{:>12}"
_WIDTH = 94


def summarize(block: Block, *inputs: Any) -> str:
    """A table of the layers of `block`, in the order in which they finish on these inputs.

    Parameters
    ----------
    block : Block
        Initialized. A hybridized block is run as if it were not, and stays hybridized. Nothing is trained, and moving
        averages are not touched.
    *inputs : ndarray
        What ``block.forward`` takes.

    Returns
    -------
    str
        One line a call: structured name and class, output shape, number of parameters, and their bytes. Parameters that
        an earlier line has counted already are marked as shared.

    Examples
    --------
    >>> from gluonx.block import Block
    >>> class Twice(Block):
    ...     def forward(self, x):
    ...         return x * 2
    >>> from gluonx import np
    >>> print(summarize(Twice(), np.ones((2, 3))).splitlines()[3].split())
    ['Twice', '(2,', '3)', '0', '0', 'B']
    """
    names: dict[int, str] = {}
    for prefix, child in block._walk():
        names.setdefault(id(child), prefix[:-1])
    rows: list[tuple[str, str, list[Parameter]]] = [("Input", _shapes(inputs), [])]

    def note(layer: Block, _: Any, outputs: Any) -> None:
        title = f"{names[id(layer)]} ({type(layer).__name__})" if names[id(layer)] else type(layer).__name__
        rows.append((title, _shapes(outputs), list(layer._reg_params.values())))

    blocks = list({id(child): child for _, child in block._walk()}.values())
    active = [child for child in blocks if getattr(child, "_active", False)]
    hooks = []
    try:
        for child in active:
            child.__dict__["_active"] = False
        hooks = [child.register_forward_hook(note) for child in blocks]
        with pause():  # which is predict mode as well
            block(*inputs)
    finally:
        for child in active:
            child.__dict__["_active"] = True
        for hook in hooks:
            hook.detach()
    return "\n".join(_table(rows, block))


def _shapes(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(_shapes(item) for item in value)
    return str(tuple(value.shape)) if hasattr(value, "shape") else type(value).__name__


def _count(params: list[Parameter]) -> int:
    return sum(_size(p) for p in params)


def _size(param: Parameter) -> int:
    size = 1
    for dim in param.shape or ():
        size *= dim
    return size


def _bytes(params: list[Parameter]) -> str:
    total = float(sum(_size(p) * p.dtype.itemsize for p in params))
    for unit in ("B", "KiB", "MiB"):
        if total < 1024:
            return f"{total:.0f} {unit}" if unit == "B" else f"{total:.1f} {unit}"
        total /= 1024
    return f"{total:.1f} GiB"


def _table(rows: list[tuple[str, str, list[Parameter]]], block: Block) -> list[str]:
    lines = [_COLUMNS.format("Layer", "Output shape", "Parameters", "Memory"), "=" * _WIDTH]
    counted: set[Parameter] = set()
    for title, shape, params in rows:
        mark = " shared" if params and counted.issuperset(params) else ""
        lines.append(_COLUMNS.format(title + mark, shape, f"{_count(params):,}", _bytes(params)).rstrip())
        counted.update(params)
    everything = list(dict.fromkeys(block.collect_params().values()))
    trained = [p for p in everything if p.grad_req != "null"]
    unused = [p for p in everything if p not in counted]
    lines += [
        "=" * _WIDTH,
        f"Parameters: {_count(everything):,} ({_bytes(everything)}), each counted once",
        f"  trained: {_count(trained):,}",
        f"  not trained: {_count(everything) - _count(trained):,}",
    ]
    if unused:
        lines.append(f"  in blocks that this forward did not call: {_count(unused):,}")
    return lines
