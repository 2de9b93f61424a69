"""``mx.nd.contrib``: control flow, and the operators whose registered name begins with ``_contrib_``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import np, npx
from gluonx.compat.nd.creation import array
from gluonx.compat.nd.graphs import (
    dgl_adjacency,
    dgl_csr_neighbor_non_uniform_sample,
    dgl_csr_neighbor_uniform_sample,
    dgl_graph_compact,
    dgl_subgraph,
    parts_of,
)
from gluonx.compat.nd.names import lookup, public_names
from gluonx.compat.nd.ndarray import as_nd, nd_twin
from gluonx.sparse import CSRNDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gluonx.device import DeviceLike
    from gluonx.np.handle import ndarray


__all__ = [
    "cond",
    "dgl_adjacency",
    "dgl_csr_neighbor_non_uniform_sample",
    "dgl_csr_neighbor_uniform_sample",
    "dgl_graph_compact",
    "dgl_subgraph",
    "edge_id",
    "foreach",
    "getnnz",
    "rand_zipfian",
    "while_loop",
]


def _with_nd(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a body that is given NDArrays."""
    return lambda *args: function(*[nd_twin(a) for a in args])


def foreach(
    body: Callable[..., Any],
    data: ndarray | Sequence[ndarray],
    init_states: ndarray | Sequence[ndarray],
    name: str = "foreach",
) -> tuple[Any, Any]:
    """``body(item, states) -> (output, states)`` over the first axis of `data`; see `gluonx.npx.foreach`."""
    outs, states = npx.foreach(_with_nd(body), data, init_states)
    return as_nd(outs), as_nd(states)


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "",
) -> tuple[Any, Any]:
    """``func(*loop_vars) -> (output, loop_vars)`` as long as ``cond(*loop_vars)``; see `gluonx.npx.while_loop`."""
    outs, states = npx.while_loop(_with_nd(cond), _with_nd(func), loop_vars, max_iterations)
    return as_nd(outs), as_nd(states)


def cond(
    pred: Any, then_func: Callable[..., Any], else_func: Callable[..., Any], inputs: object = None, name: str = "cond"
) -> Any:
    """Return the result of one of two functions without arguments; see `gluonx.npx.cond`."""
    return as_nd(npx.cond(pred, then_func, else_func))


def rand_zipfian(
    true_classes: ndarray, num_sampled: int, range_max: int, ctx: DeviceLike = None
) -> tuple[Any, Any, Any]:
    """Class numbers, the small ones often, and how often these and `true_classes` are expected among them."""
    log_range = math.log(range_max + 1)
    drawn = np.random.uniform(0, log_range, size=(num_sampled,))
    sampled = np.mod(np.astype(np.exp(drawn), "int32") - 1, range_max)

    def expected(classes: ndarray) -> ndarray:
        wide = np.astype(classes, "float32")
        return np.log((wide + 2.0) / (wide + 1.0)) / log_range * num_sampled

    return as_nd(sampled), as_nd(expected(true_classes)), as_nd(expected(sampled))


def getnnz(data: CSRNDArray, axis: int | None = None) -> Any:
    """Count the values that a csr matrix stores: all, along `axis` 0 those of each column, along 1 those of each row.

    Returns
    -------
    NDArray of int64, shape (1,), (columns,) or (rows,)

    Examples
    --------
    >>> from gluonx.compat.nd import sparse
    >>> getnnz(sparse.csr_matrix([[0, 1], [2, 3]]), axis=1).asnumpy().tolist()
    [1, 2]
    """
    _, columns, starts = parts_of("getnnz", data)
    if axis is None:
        count = starts[-1:]
    elif axis in (0, 1, -1, -2):
        count = onp.bincount(columns, minlength=data.shape[1]) if axis in (0, -2) else onp.diff(starts)
    else:
        raise ValueError(f"getnnz: axis must be 0, 1 or None, got {axis!r}")
    return array(count, dtype="int64")


def edge_id(data: CSRNDArray, u: ndarray, v: ndarray) -> Any:
    """Read a csr matrix of edges at ``(u[i], v[i])``; -1 where it stores nothing.

    Examples
    --------
    >>> from gluonx.compat.nd import sparse
    >>> graph = sparse.csr_matrix([[0, 7], [8, 9]])
    >>> edge_id(graph, array([0, 1]), array([1, 1])).asnumpy().tolist()
    [7.0, 9.0]
    """
    values, columns, starts = parts_of("edge_id", data)
    found = onp.full(u.shape, -1, values.dtype)
    for i, (row, column) in enumerate(zip(*(x.asnumpy().astype("int64").tolist() for x in (u, v)), strict=True)):
        if not 0 <= row < data.shape[0]:
            raise IndexError(f"edge_id: there is no row {row} in a matrix of shape {data.shape}")
        where = onp.flatnonzero(columns[starts[row] : starts[row + 1]] == column)
        if where.size:
            found[i] = values[starts[row] + where[0]]
    return array(found, dtype=found.dtype)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)  # asked by tools that look at every module; nothing is loaded for them
    from gluonx.compat.nd.updates import MADE

    found = globals()[name] = MADE.get(name) or lookup(name, "contrib")
    return found


def __dir__() -> list[str]:
    from gluonx.compat.nd.updates import MADE

    return sorted({*globals(), *public_names("contrib"), *MADE})
