"""Names of parameters as older versions of MXNet wrote them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

_UNFUSED = re.compile(r"(?P<path>(?:.*\.)?)_unfused\.(?P<at>\d+)\.(?:(?P<side>[lr])_cell\.)?(?P<what>\w+)")


_OF_LAYERS = re.compile(r"(?P<side>[lr])(?P<at>\d+)_(?P<what>(?:i2h|h2h|h2r)_(?:weight|bias))")


def cell_name(name: str, bidirectional: bool) -> str:
    """Return the name by which MXNet 1 saves a parameter of a recurrent layer: that of a cell.

    Examples
    --------
    >>> cell_name("l0_i2h_weight", False), cell_name("r1_h2h_bias", True), cell_name("scale", True)
    ('_unfused.0.i2h_weight', '_unfused.1.r_cell.h2h_bias', 'scale')
    """
    match = _OF_LAYERS.fullmatch(name)
    if match is None:
        return name
    side = f"{match['side']}_cell." if bidirectional else ""
    return f"_unfused.{match['at']}.{side}{match['what']}"


def recurrent_names(names: Iterable[str], known: Container[str]) -> dict[str, str]:
    """Give the names that blocks have for parameters of recurrent layers that MXNet 1 saved as those of cells.

    Parameters
    ----------
    names : iterable of str
        As a file has them: ``lstm._unfused.0.i2h_weight``, ``lstm._unfused.0.r_cell.i2h_weight``. The number is the
        cell's place among the cells and dropouts of the layer.
    known : container of str
        The names that the block has; a name is left alone where its new one is not among them.

    Returns
    -------
    dict of str to str
        New name by old name, for those that change.

    Examples
    --------
    >>> old = ["lstm._unfused.0.h2h_bias", "lstm._unfused.2.h2h_bias", "dense.bias"]
    >>> recurrent_names(old, {"lstm.l0_h2h_bias", "lstm.l1_h2h_bias", "dense.bias"})
    {'lstm._unfused.0.h2h_bias': 'lstm.l0_h2h_bias', 'lstm._unfused.2.h2h_bias': 'lstm.l1_h2h_bias'}
    """
    found = {name: match for name in names if (match := _UNFUSED.fullmatch(name))}
    places: dict[str, set[int]] = {}
    for match in found.values():
        places.setdefault(match["path"], set()).add(int(match["at"]))
    new: dict[str, str] = {}
    for name, match in found.items():
        layer = sorted(places[match["path"]]).index(int(match["at"]))
        wanted = f"{match['path']}{match['side'] or 'l'}{layer}_{match['what']}"
        if wanted in known:
            new[name] = wanted
    return new
