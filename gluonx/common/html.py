"""Parts of the rich displays in notebooks: escaped text, tables, folding parts, sizes, and sparklines.

Everything that a user has named goes through `text`, so no name of a block or array is markup.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["folding", "preformatted", "size", "sparkline", "table", "text"]

_BARS = "▁▂▃▄▅▆▇█"
_BINS = 12
_MOST = 1 << 14  # numbers that a sparkline looks at
_CELL = "padding:1px 14px 1px 0;font-family:monospace;white-space:pre"
_TEXT = "font-family:monospace;line-height:1.4;margin:0;padding:0;background:none;border:none"


def text(value: Any) -> str:
    """Return `value` as text that is no markup.

    Examples
    --------
    >>> text("<b>")
    '&lt;b&gt;'
    """
    return html.escape(str(value), quote=True)


def preformatted(value: Any) -> str:
    """Return text whose spaces and lines count, in letters of one width whatever the page around it says."""
    return f'<pre style="{_TEXT}">{text(value)}</pre>'


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], right: Collection[int] = ()) -> str:
    """Return a table of texts; columns of numbers, by their places in `right`, end below one another.

    Examples
    --------
    >>> table(["a"], [["<1>"]]).count("&lt;1&gt;")
    1
    """

    def line(cells: Sequence[Any], tag: str) -> str:
        sides = ("right" if place in right else "left" for place in range(len(cells)))
        whole = (f'<{tag} style="text-align:{side};{_CELL}">{text(c)}</{tag}>' for side, c in zip(sides, cells))
        return f"<tr>{''.join(whole)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f'<table style="margin:0"><thead>{line(head, "th")}</thead><tbody>{body}</tbody></table>'


def folding(title: str, parts: Iterable[str], unfolded: bool = False) -> str:
    """Return a part that folds: `title` is text, `parts` are HTML."""
    inside = "".join(parts)
    head = f'<span style="font-family:monospace">{text(title)}</span>'
    if not inside:
        return f'<div style="padding-left:1em">{head}</div>'
    start = "<details open>" if unfolded else "<details>"
    return f'{start}<summary>{head}</summary><div style="padding-left:1.5em">{inside}</div></details>'


def size(count: float) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> size(48), size(3 << 20)
    ('48 B', '3.0 MiB')
    """
    if count < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB"):
        count /= 1024
        if count < 1024:
            return f"{count:.1f} {unit}"
    return f"{count / 1024:.1f} GiB"


def sparkline(values: np.ndarray) -> str:
    """Return how the numbers of an array are spread, from the least to the greatest, and how many are not finite.

    Examples
    --------
    >>> sparkline(np.array([0.0, 0.0, 1.0]))
    '0 █▁▁▁▁▁▁▁▁▁▁▅ 1'
    >>> sparkline(np.array([2.0, np.nan]))
    '2, 1 not finite'
    """
    flat = np.ravel(values)
    if flat.dtype.kind == "c":
        flat = np.abs(flat)
    flat = flat[:: max(1, flat.size // _MOST)]
    numbers = flat.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    lost = f", {numbers.size - finite.size} not finite" if finite.size < numbers.size else ""
    if not finite.size:
        return "empty" if not lost else lost[2:]
    low, high = finite.min(), finite.max()
    if low == high:
        return f"{'all ' if finite.size > 1 else ''}{low:.3g}{lost}"
    with np.errstate(over="ignore", invalid="ignore"):
        places = np.clip((finite / 2 - low / 2) / (high / 2 - low / 2) * _BINS, 0, _BINS - 1).astype(int)
    counts = np.bincount(places, minlength=_BINS)
    bars = "".join(_BARS[round(n / counts.max() * (len(_BARS) - 1))] for n in counts)
    return f"{low:.3g} {bars} {high:.3g}{lost}"
