"""Arrays in notebooks, and what can be shown of an array without computing anything.

`at_hand` never runs a program: it reports a pending array as such. Displaying an array itself does compute it, because
the user wants to see its numbers; displaying a net does not compute its arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from gluonx.common import html
from gluonx.deferred.values.core import HostArray, Packed, Pending, Placeholder, Tracer
from gluonx.deferred.values.shapes import Gone, Unknown, Zeros

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


_MOST_BYTES = 1 << 20  # the most bytes that are fetched from an accelerator


def at_hand(array: ndarray) -> np.ndarray | str:
    """Return the numbers of an array if they are computed, else the reason why not, such as ``'pending'``.

    Nothing is run, and no buffer is kept after the call.
    """
    value: Any = array.value
    if isinstance(value, Pending):
        if value.value is None:
            return "pending"
        value = value.value
    number = None
    if type(value) is Packed:
        number, vector = value.number, value.vector
        cut_from, arrays = vector.found
        is_cut = bool(arrays) and cut_from is vector.value
        value = arrays[number] if is_cut else vector.value
        number = None if is_cut else number
        layout = vector.layout
        if type(value) is Pending:
            return "being computed"
    if type(value) is HostArray:
        return value.array
    if isinstance(value, Placeholder):
        return _of_placeholder(value)
    if isinstance(value, Tracer) or not isinstance(value, jax.Array):
        return "traced" if isinstance(value, Tracer) else "no value"
    try:
        if value.is_deleted():
            return "deleted"
        if not getattr(value, "is_ready")():  # noqa: B009 - jax.Array's annotations leave it out
            return "being computed"
        found = _on_host(value)
    except Exception as error:  # a display must not fail
        return f"unreadable: {type(error).__name__}"
    if isinstance(found, str) or number is None:
        return found
    start, count, shape = layout.spans[number]
    return found[start : start + count].reshape(shape)


def _of_placeholder(value: Placeholder) -> str:
    if isinstance(value, Zeros):
        return "zeros"
    if isinstance(value, Unknown):
        return "shape unknown"
    return "given up" if isinstance(value, Gone) else "no value"


def _on_host(value: jax.Array) -> np.ndarray | str:
    """Return the numbers without letting the array cache them, as `np.asarray` would.

    The next step had to copy them.
    """
    local = all(device.platform == "cpu" for device in value.devices())
    if local and len(value.devices()) == 1 and value.dtype.kind in "fiu":
        exporter: Any = value  # jax.Array's annotations lack the keywords
        return np.from_dlpack(exporter)
    return np.asarray(value) if value.nbytes <= _MOST_BYTES or local else "on the device"


def spread(array: ndarray | None) -> str:
    """Return a text that shows how the numbers of an array are spread, or why that is not known; it runs nothing.

    Examples
    --------
    >>> from gluonx import np
    >>> spread(np.array([0.0, 0.0, 1.0]))
    '0 █▁▁▁▁▁▁▁▁▁▁▅ 1'
    """
    if array is None:
        return "not initialized"
    found = at_hand(array)
    if isinstance(found, str):
        return found
    try:
        return html.sparkline(found)
    except Exception as error:
        return f"unreadable: {type(error).__name__}"


def as_html(array: ndarray) -> str:
    """Return an array as HTML: its kind, how its numbers are spread, and its text, which folds.

    Examples
    --------
    >>> from gluonx import np
    >>> as_html(np.ones((2, 3))).count("(2, 3)")
    2
    """
    shown = repr(array)  # computes a pending array, whose numbers the user asked to see
    return html.folding(_line(array), [html.preformatted(shown)], unfolded=len(shown) < 2000)


def as_part(array: ndarray, path: str | None) -> object:
    """Return an array as treescope renders it, on one line; computes nothing."""
    from treescope import rendering_parts as parts

    return parts.build_one_line_tree_node(parts.text(_line(array)), path=path)


def _line(array: ndarray) -> str:
    known = array.shape is not None and all(
        n >= 0 for n in array.shape
    )  # a parameter's shape may be unknown until the first batch
    counts = f" · {html.size(array.nbytes)}" if known else ""
    return f"{type(array).__name__} {array.shape} {array.dtype}{counts} · {spread(array)}"
