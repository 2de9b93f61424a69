"""The deferred engine. See docs/design/engine.md; the essay of each part stands in its module."""

from typing import Any as _Any

# Switches the compilation cache on before the first program.
import gluonx.cache as _cache  # noqa: F401 # pyright: ignore[reportUnusedImport]
from gluonx import late as _late
from gluonx.deferred.core import Handle as Handle
from gluonx.deferred.core import Index as Index
from gluonx.deferred.derived import DerivedOp as DerivedOp
from gluonx.deferred.engine import invoke as invoke


def get_symbol(outputs: _Any, names: _Any = None) -> _Any:
    """The symbol of arrays that were recorded and not computed yet; see :mod:`gluonx.symbol`.

    Parameters
    ----------
    outputs : ndarray or list of ndarray
    names : list of str, optional
        What to call the arrays that it begins with, in the order of their first use; ``var0``, ``var1`` otherwise.

    Returns
    -------
    gluonx.symbol.Symbol
        Its operators are those of MXNet 2.

    Raises
    ------
    GraphError
        If the arrays have been computed already, or MXNet has no operator for what was recorded.

    Examples
    --------
    >>> from gluonx import autograd, np
    >>> x = np.ones((2, 3))
    >>> with autograd.record():
    ...     s = get_symbol(np.exp(x) + 1, ["x"])
    >>> s.list_arguments(), len(s.get_internals())
    (['x'], 3)
    """
    return _late.wanted("get_symbol")(outputs, names)
