"""The operators on graphs of ``mx.nd.contrib`` that the Deep Graph Library called: ``dgl_*``.

A graph is a csr matrix of int64: row `u` holds the edges from vertex `u`, a column is the vertex at the other end, and
the value is the number of the edge. These operators look at numbers, and the size of what they give depends on them,
so they run on the host, with NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import np
from gluonx.common.frames import warn
from gluonx.compat.nd.creation import array
from gluonx.compat.nd.sparse import csr_matrix
from gluonx.sparse import CSRNDArray

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


_Parts = tuple[onp.ndarray, onp.ndarray, onp.ndarray]  # values, columns, and where each row begins


def parts_of(name: str, graph: object) -> _Parts:
    """Return the three arrays of a csr matrix, on the host."""
    if not isinstance(graph, CSRNDArray):
        raise TypeError(f"{name}: a csr matrix was expected, got {type(graph).__name__}")
    values, columns, starts = (part.asnumpy() for part in (graph.data, graph.indices, graph.indptr))
    return values, columns, starts


def _edges(name: str, graph: ndarray) -> _Parts:
    values, columns, starts = parts_of(name, graph)
    if values.dtype != onp.int64:
        raise TypeError(f"{name}: the values of a graph are numbers of edges, int64, got {values.dtype}")
    return values, columns, starts


def _vertices(name: str, given: Any, count: int) -> onp.ndarray:
    found = onp.asarray(given.asnumpy() if hasattr(given, "asnumpy") else given).astype(onp.int64).ravel()
    if found.size and not 0 <= found.min() <= found.max() < count:
        beyond = found.max() if found.max() >= count else found.min()
        raise IndexError(f"{name}: there is no vertex {beyond} in a graph of {count}")
    return found


def _matrix(
    values: onp.ndarray, columns: onp.ndarray, starts: onp.ndarray, shape: tuple[int, ...], dtype: str = "int64"
) -> CSRNDArray:
    return csr_matrix((values, columns, onp.asarray(starts, onp.int64)), shape=shape, dtype=dtype)


# -- sampling ---------------------------------------------------------------------------------------------------------


def _chosen(rng: onp.random.Generator, weights: onp.ndarray, count: int) -> onp.ndarray:
    """Places of `count` of the weights without replacement, in order (Efraimidis, Spirakis 2006); all if fewer."""
    if len(weights) <= count:
        return onp.arange(len(weights))
    with onp.errstate(divide="ignore"):
        keys = onp.log(rng.random(len(weights))) / weights
    return onp.sort(onp.argpartition(keys, -count)[-count:])


def _walked(
    edges: _Parts, weights: onp.ndarray, seeds: onp.ndarray, hops: int, neighbours: int, most: int
) -> tuple[onp.ndarray, _Parts, onp.ndarray]:
    """Return the vertices that are reached from the seeds, sorted, the sampled edges of each, and the hop of each.

    The walk goes on, breadth first, until it has `most` vertices; the edges of the vertex at which that happens stay.
    """
    rng = onp.random.default_rng(int(np.random.randint(2**31 - 1, size=()).item()))
    values, columns, starts = edges
    layers = dict.fromkeys(seeds.tolist(), 0)
    queue, taken = list(layers), {}
    for vertex in queue:  # which grows
        if len(layers) >= most:
            warn(f"the sample of a graph was cut: it has reached max_num_vertices={most}")
            break
        if layers[vertex] >= hops:
            break
        row = slice(starts[vertex], starts[vertex + 1])
        kept = starts[vertex] + _chosen(rng, weights[columns[row]], neighbours)
        taken[vertex] = kept
        for other in columns[kept].tolist():
            if other not in layers and len(layers) < most:
                layers[other] = layers[vertex] + 1
                queue.append(other)
    found = onp.sort(onp.fromiter(layers, onp.int64, len(layers)))
    rows = [taken.get(vertex, onp.empty(0, onp.int64)) for vertex in found.tolist()]
    ends = onp.cumsum([0, *map(len, rows)])
    places = onp.concatenate([onp.empty(0, onp.int64), *rows]).astype(onp.int64)
    return found, (values[places], columns[places], ends), onp.array([layers[v] for v in found.tolist()], onp.int64)


def _padded(found: onp.ndarray, size: int, filler: float) -> onp.ndarray:
    out = onp.full(size, filler, found.dtype)
    out[: len(found)] = found
    return out


def _sampled(
    name: str, graph: ndarray, chances: ndarray | None, seeds: Sequence[Any], hops: int, neighbours: int, most: int
) -> list[ndarray]:
    edges, count = _edges(name, graph), graph.shape[0]
    weights = onp.ones(count, onp.float32) if chances is None else chances.asnumpy().astype(onp.float32).ravel()
    if len(weights) < count:
        raise ValueError(f"{name}: {count} vertices need as many probabilities, got {len(weights)}")
    sets: list[list[Any]] = []
    for given in seeds:
        start = _vertices(name, given, count)
        if len(start) > most:
            raise ValueError(f"{name}: {len(start)} seeds are more than max_num_vertices={most}")
        found, (values, columns, ends), layers = _walked(edges, weights, start, hops, neighbours, most)
        names = onp.append(_padded(found, most, -1), len(found))
        ends = onp.append(ends, onp.full(most - len(found), ends[-1]))
        chance = [] if chances is None else [array(_padded(weights[found], most, 0), dtype="float32")]
        matrix = _matrix(values, columns, ends, (most, graph.shape[1]))
        sets.append([array(names, dtype="int64"), matrix, *chance, array(_padded(layers, most, -1), dtype="int64")])
    return [one for same in zip(*sets, strict=True) for one in same]


def dgl_csr_neighbor_uniform_sample(
    csr_matrix: CSRNDArray,
    *seed_arrays: ndarray,
    num_args: int | None = None,
    num_hops: int = 1,
    num_neighbor: int = 2,
    max_num_vertices: int = 100,
) -> list[ndarray]:
    """Sample subgraphs: from the seeds so many hops along at most `num_neighbor` edges of each vertex.

    Parameters
    ----------
    csr_matrix : CSRNDArray of int64
        The graph.
    *seed_arrays : NDArray
        The seeds of each subgraph.
    num_args : int, optional
        The number of arrays; not needed.
    num_hops, num_neighbor : int
    max_num_vertices : int
        A walk ends, with a warning, when it has so many.

    Returns
    -------
    list
        First for each array of seeds the vertices (int64, max_num_vertices + 1: sorted, -1 where there are fewer, and
        how many there are), then for each the csr matrix of the edges that were sampled, a row a vertex of these, and
        then for each the hops at which vertices were reached (-1 where there are fewer).

    Raises
    ------
    TypeError
        If the graph is no csr matrix of int64.
    ValueError
        If there are more seeds than `max_num_vertices`.
    IndexError
        If a seed is no vertex.

    Examples
    --------
    >>> from gluonx.compat.nd import sparse
    >>> chain = sparse.csr_matrix(([10, 20, 30], [1, 2, 3], [0, 1, 2, 3, 3]), shape=(4, 4), dtype="int64")
    >>> vertices, edges, hops = dgl_csr_neighbor_uniform_sample(chain, array([0]), num_hops=2, max_num_vertices=4)
    >>> vertices.asnumpy().tolist(), edges.data.asnumpy().tolist(), hops.asnumpy().tolist()
    ([0, 1, 2, -1, 3], [10, 20], [0, 1, 2, -1])
    """
    name = "dgl_csr_neighbor_uniform_sample"
    return _sampled(name, csr_matrix, None, seed_arrays, num_hops, num_neighbor, max_num_vertices)


def dgl_csr_neighbor_non_uniform_sample(
    csr_matrix: CSRNDArray,
    probability: ndarray,
    *seed_arrays: ndarray,
    num_args: int | None = None,
    num_hops: int = 1,
    num_neighbor: int = 2,
    max_num_vertices: int = 100,
) -> list[ndarray]:
    """Sample as :func:`dgl_csr_neighbor_uniform_sample` does, but neighbours by the `probability` of each vertex.

    Returns
    -------
    list
        As there, and before the hops for each array of seeds the probabilities of its vertices.
    """
    name = "dgl_csr_neighbor_non_uniform_sample"
    return _sampled(name, csr_matrix, probability, seed_arrays, num_hops, num_neighbor, max_num_vertices)


# -- parts of graphs --------------------------------------------------------------------------------------------------


def _renumbered(edges: _Parts, vertices: onp.ndarray, rows: onp.ndarray) -> _Parts:
    """Return the edges of some rows to the vertices, which are sorted; columns become places among these."""
    values, columns, starts = edges
    kept, ends = [], [0]
    for row in rows.tolist():
        place = onp.arange(int(starts[row]), int(starts[row + 1]))
        kept.append(place[onp.isin(columns[place], vertices)])
        ends.append(ends[-1] + len(kept[-1]))
    places = onp.concatenate([onp.empty(0, onp.int64), *kept]).astype(onp.int64)
    return values[places], onp.searchsorted(vertices, columns[places]), onp.array(ends, onp.int64)


def _mapped(graphs: list[_Parts], return_mapping: bool) -> Any:
    """Matrices with new numbers of edges, and if asked for those with the numbers of the graph they come from."""

    def square(values: onp.ndarray, part: _Parts) -> CSRNDArray:
        size = len(part[2]) - 1
        return _matrix(values, part[1], part[2], (size, size))

    made = [square(onp.arange(len(part[0])), part) for part in graphs]
    if return_mapping:
        made += [square(part[0], part) for part in graphs]
    return made[0] if len(made) == 1 else made


def dgl_subgraph(graph: CSRNDArray, *data: ndarray, return_mapping: bool, num_args: int | None = None) -> Any:
    """Return the subgraphs of sets of vertices: the edges between these.

    Parameters
    ----------
    graph : CSRNDArray of int64
    *data : NDArray
        The vertices of each subgraph, sorted.
    return_mapping : bool
        Whether to return, after the matrices with edges numbered from 0, those with the numbers in `graph`.
    num_args : int, optional
        The number of arrays; not needed.

    Raises
    ------
    ValueError
        If vertices are not sorted, or one stands there twice.

    Examples
    --------
    >>> from gluonx.compat.nd import sparse
    >>> graph = sparse.csr_matrix([[1, 0, 2], [3, 0, 4], [0, 5, 0]], dtype="int64")
    >>> new, old = dgl_subgraph(graph, array([0, 2]), return_mapping=True)
    >>> old.asnumpy().tolist(), new.data.asnumpy().tolist()
    ([[1, 2], [0, 0]], [0, 1])
    """
    edges, found = _edges("dgl_subgraph", graph), []
    for given in data:
        vertices = _vertices("dgl_subgraph", given, graph.shape[0])
        if (onp.diff(vertices) <= 0).any():
            raise ValueError(f"dgl_subgraph: vertices must be sorted and different, got {vertices[:20].tolist()}")
        found.append(_renumbered(edges, vertices, vertices))
    return _mapped(found, return_mapping)


def dgl_graph_compact(
    *graph_data: ndarray, return_mapping: bool, graph_sizes: int | Sequence[int], num_args: int | None = None
) -> Any:
    """Remove the empty rows and columns of sampled graphs.

    Parameters
    ----------
    *graph_data : CSRNDArray and NDArray
        The graphs that :func:`dgl_csr_neighbor_uniform_sample` gave, and then the vertices of each.
    return_mapping : bool
        As in :func:`dgl_subgraph`.
    graph_sizes : int or tuple of int
        The number of vertices of each: the last element of its array of vertices.
    num_args : int, optional
        The number of arrays; not needed.

    Raises
    ------
    ValueError
        If there are not as many arrays of vertices and sizes as graphs, or a size is not that of its array.
    """
    name = "dgl_graph_compact"
    sizes = [int(graph_sizes)] if onp.ndim(graph_sizes) == 0 else [int(size) for size in graph_sizes]  # type: ignore[union-attr, arg-type]
    count = len(graph_data) // 2
    if len(graph_data) != 2 * len(sizes):
        raise ValueError(
            f"{name}: {len(sizes)} sizes go with as many graphs and vertices, got {len(graph_data)} arrays"
        )
    found = []
    for graph, names, size in zip(graph_data[:count], graph_data[count:], sizes, strict=True):
        edges, given = _edges(name, graph), names.asnumpy()
        if given[-1] != size or size > graph.shape[0]:
            raise ValueError(f"{name}: a graph of {given[-1]} vertices in {graph.shape[0]} rows has no size of {size}")
        vertices = _vertices(name, given[:size], graph.shape[1])
        found.append(_renumbered(edges, vertices, onp.arange(size)))
    return _mapped(found, return_mapping)


def dgl_adjacency(data: CSRNDArray) -> CSRNDArray:
    """Return the matrix of a graph with ones in the place of the numbers of its edges, float32.

    Examples
    --------
    >>> from gluonx.compat.nd import sparse
    >>> graph = sparse.csr_matrix([[0, 7], [8, 9]], dtype="int64")
    >>> dgl_adjacency(graph).asnumpy().tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """
    values, columns, starts = _edges("dgl_adjacency", data)
    return _matrix(onp.ones(len(values), onp.float32), columns, starts, data.shape, "float32")
