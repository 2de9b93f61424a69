"""Nets, layers and parameters in notebooks.

A net is shown as a tree that folds. It shows for each block its class and the number and bytes of all parameters in it,
and for each parameter its shape, dtype, whether it is trained, and how its values are spread. treescope renders it if
it is installed, else plain HTML, also with ``GLUONX_DISPLAY=plain``. Nothing is computed for the display; pending
values are shown as such.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gluonx.common import html
from gluonx.np.display import spread

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.block.parameter import Parameter


_COLUMNS = ("parameter", "shape", "dtype", "numbers", "bytes", "", "values")
_RIGHT = (3, 4)  # the columns with numbers
_SMALL = 16  # a net with at most so many parameters is shown unfolded


def _numbers(param: Parameter) -> int:
    count = 1
    for dim in param.shape or ():
        count *= max(dim, 0)
    return count if param.shape is not None else 0


def _bytes(params: list[Parameter]) -> str:
    return html.size(sum(_numbers(p) * p.dtype.itemsize for p in params))


def _row(name: str, param: Parameter, shared: bool) -> tuple[str, ...]:
    kind = "shared" if shared else "trained" if param.grad_req != "null" else "not trained"
    shape = "unknown" if param.shape is None else str(tuple("?" if n < 0 else n for n in param.shape)).replace("'", "")
    values = spread(param._handle) if param._home is None else f"in {param._home.name}"
    known = param.shape is not None and all(n >= 0 for n in param.shape)
    sizes = (f"{_numbers(param):,}", _bytes([param])) if known else ("", "")
    return name, shape, str(param.dtype), *sizes, kind, values


def _below(block: Block) -> list[Parameter]:
    return list(dict.fromkeys(p for _, inner in block._walk() for p in inner._reg_params.values()))


def _title(name: str, block: Block) -> str:
    kind = type(block).__name__
    params = _below(block)
    count = sum(_numbers(p) for p in params)
    waiting = sum(not p._is_ready for p in params)
    note = f" · {waiting} without a value" if waiting else ""
    numbers = f" · {count:,} parameter{'s' * (count != 1)} · {_bytes(params)}" if params else ""
    return (f"{name}: {kind}" if name else kind) + numbers + note


def _tree(name: str, block: Block, seen: set[int], unfolded: bool) -> str:
    rows = []
    for own, param in block._reg_params.items():
        rows.append(_row(own, param, id(param) in seen))
        seen.add(id(param))
    parts = [html.table(_COLUMNS, rows, _RIGHT)] if rows else []
    small = unfolded and len(_below(block)) <= _SMALL
    parts += [_tree(key, child, seen, small) for key, child in block._children.items()]
    return html.folding(_title(name, block), parts, unfolded)


def _rendered(value: object) -> str | None:
    """Render a value by treescope, where it is installed and wanted."""
    if os.environ.get("GLUONX_DISPLAY", "").lower() == "plain":
        return None
    if importlib.util.find_spec("treescope") is None:
        return None
    import treescope
    from treescope import handlers

    renderer = treescope.active_renderer.get()  # without the hook that would call this display again
    hooks = [hook for hook in renderer.wrapper_hooks if hook is not handlers.append_repr_html_when_present]
    try:
        with treescope.active_renderer.set_scoped(dataclasses.replace(renderer, wrapper_hooks=hooks)):
            return treescope.render_to_html(value)
    except Exception:  # an error inside treescope, which inspects all modules; plain HTML shows the same
        return None


def block_html(block: Block) -> str:
    """Return a block as HTML.

    Examples
    --------
    >>> from gluonx import nn
    >>> len(block_html(nn.Dense(2))) > 0
    True
    """
    return _rendered(block) or _tree("", block, set(), True)


def parameter_html(param: Parameter) -> str:
    """Return a parameter as HTML."""
    return _rendered(param) or html.table(_COLUMNS, [_row(param._path, param, False)], _RIGHT)


def block_part(block: Block, path: str | None, render: Callable[..., Any]) -> object:
    """Return a block as treescope renders it; see its ``__treescope_repr__``."""
    from treescope import rendering_parts as parts

    children = {**block._reg_params, **block._children}
    lines = [
        parts.siblings_with_annotations(f"{name}: ", render(child, path=f"({path}).{name}" if path else None))
        for name, child in children.items()
    ]
    title = _title("", block)
    if not lines:
        return parts.build_one_line_tree_node(parts.text(title), path=path)
    inside = parts.fold_condition(
        collapsed=parts.text("...}"), expanded=parts.siblings(parts.indented_children(lines), parts.text("}"))
    )
    state = parts.ExpandState.WEAKLY_EXPANDED  # treescope's layout folds what would be too high
    return parts.build_custom_foldable_tree_node(inside, path, parts.text(title + " {"), state)


def parameter_part(param: Parameter, path: str | None, render: Callable[..., Any]) -> object:
    """Return a parameter as treescope renders it, on one line."""
    from treescope import rendering_parts as parts

    del render
    _, shape, dtype, _, *cells = _row("", param, False)  # on one line the count is left out, since the shape shows it
    told = [type(param).__name__, shape, dtype, *filter(None, cells)]
    return parts.build_one_line_tree_node(parts.text(" · ".join(told)), path=path)


def in_notebook() -> bool:
    """Return whether this runs in a kernel that shows rich displays."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
