"""`get_symbol`: the operators that were recorded as a symbol of MXNet, which `gluonx.compat` makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gluonx.common.extensions import NAMES
from gluonx.deferred.values.core import Handle

__all__ = ["get_symbol"]


def get_symbol(outputs: Handle | list[Handle], names: Sequence[str] | None = None) -> Any:
    """Return the symbol of arrays that were recorded and not computed yet; see :mod:`gluonx.symbol`.

    Parameters
    ----------
    outputs : ndarray or list of ndarray
    names : list of str, optional
        Names for the input arrays, in the order of their first use; by default ``var0``, ``var1`` and so on.

    Returns
    -------
    gluonx.symbol.Symbol
        A symbol of MXNet 2's operators.

    Raises
    ------
    GraphError
        If the arrays are computed already, or if MXNet lacks an operator that was recorded.

    Examples
    --------
    >>> from gluonx import autograd, np
    >>> x = np.ones((2, 3))
    >>> with autograd.record():
    ...     s = get_symbol(np.exp(x) + 1, ["x"])
    >>> s.list_arguments(), len(s.get_internals())
    (['x'], 3)
    """
    return NAMES["gluonx.deferred.get_symbol"](outputs, names)
