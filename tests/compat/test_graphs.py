"""``mx.nd.contrib.dgl_*``: what MXNet 2.0.0b1 gives for the same graphs, and what a sample of a graph must be."""

import numpy as onp
import pytest

import gluonx as mx
from gluonx.compat import nd

contrib = nd.contrib
FULL = (onp.arange(1, 21), onp.array([v for u in range(5) for v in range(5) if v != u]), onp.arange(0, 21, 4))


def graph(values, columns, starts, shape, dtype="int64"):
    return nd.sparse.csr_matrix((values, columns, starts), shape=shape, dtype=dtype)


def whole():
    """Return the graph of 5 vertices in which each has an edge to each other one."""
    return graph(*FULL, (5, 5))


def vertices(*numbers):
    return nd.array(numbers, dtype="int64")


def told(csr):
    return [part.asnumpy().tolist() for part in (csr.data, csr.indices, csr.indptr)]


def test_all_neighbours():
    names, edges, hops = contrib.dgl_csr_neighbor_uniform_sample(
        whole(), vertices(2, 0), num_args=2, num_hops=1, num_neighbor=9, max_num_vertices=7
    )
    assert names.asnumpy().tolist() == [0, 1, 2, 3, 4, -1, -1, 5] and names.dtype == edges.dtype == onp.int64
    assert edges.shape == (7, 5)
    starts = [0, 4, 4, 8, 8, 8, 8, 8]
    assert told(edges) == [[1, 2, 3, 4, 9, 10, 11, 12], [1, 2, 3, 4, 0, 1, 3, 4], starts]
    assert hops.asnumpy().tolist() == [0, 1, 0, 1, 1, -1, -1]


@pytest.mark.parametrize(("hops", "reached"), [(1, [0, 1]), (2, [0, 1, 2]), (3, [0, 1, 2, 3])])
def test_hops_along_a_chain(hops, reached):
    chain = graph([10, 20, 30], [1, 2, 3], [0, 1, 2, 3, 3], (4, 4))
    names, edges, layers = contrib.dgl_csr_neighbor_uniform_sample(
        chain, vertices(0), num_hops=hops, max_num_vertices=6
    )
    count = len(reached)
    assert names.asnumpy().tolist() == reached + [-1] * (6 - count) + [count]
    assert edges.data.asnumpy().tolist() == [10, 20, 30][:hops]
    assert layers.asnumpy().tolist()[:count] == reached


def test_a_sample_is_cut_at_its_most_vertices():
    with pytest.warns(UserWarning, match="max_num_vertices=3"):
        names, edges, hops = contrib.dgl_csr_neighbor_uniform_sample(
            whole(), vertices(3), num_hops=2, num_neighbor=4, max_num_vertices=3
        )
    assert names.asnumpy().tolist() == [0, 1, 3, 3] and hops.asnumpy().tolist() == [1, 1, 0]
    assert told(edges) == [[13, 14, 15, 16], [0, 1, 2, 4], [0, 0, 0, 4]]


def test_several_sets_of_seeds():
    out = contrib.dgl_csr_neighbor_uniform_sample(
        whole(), vertices(3), vertices(1, 0), num_args=3, num_neighbor=4, max_num_vertices=6
    )
    assert [one.stype for one in out] == ["default", "default", "csr", "csr", "default", "default"]
    assert out[2].data.asnumpy().tolist() == [13, 14, 15, 16]
    assert out[3].data.asnumpy().tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.dear
def test_neighbours_by_chance():
    """Two different edges of each vertex, all equally often; one of probability zero only where there is no other."""
    mx.random.seed(3)
    counts = onp.zeros(20)
    for _ in range(300):
        _, edges, _ = contrib.dgl_csr_neighbor_uniform_sample(whole(), vertices(0, 1, 2, 3, 4), max_num_vertices=9)
        values, _, starts = told(edges)
        assert starts == [0, 2, 4, 6, 8, 10, 10, 10, 10, 10] and len(set(values)) == 10
        counts[onp.array(values) - 1] += 1
    assert abs(counts - 150).max() < 60  # 7 standard deviations
    names, edges, chances, hops = contrib.dgl_csr_neighbor_non_uniform_sample(
        whole(), nd.array([1, 0, 0, 0, 1]), vertices(2), num_args=3, num_neighbor=2, max_num_vertices=4
    )
    assert names.asnumpy().tolist() == [0, 2, 4, -1, 3] and hops.asnumpy().tolist() == [1, 0, 1, -1]
    assert edges.data.asnumpy().tolist() == [9, 12] and chances.asnumpy().tolist() == [1, 0, 1, 0]


def test_subgraphs():
    some = nd.sparse.csr_matrix([[1, 0, 0, 2], [3, 0, 4, 0], [0, 5, 0, 0], [0, 6, 7, 0]], dtype="int64")
    new, old = contrib.dgl_subgraph(some, vertices(0, 1, 2), return_mapping=True)
    assert old.asnumpy().tolist() == [[1, 0, 0], [3, 0, 4], [0, 5, 0]]
    assert told(new) == [[0, 1, 2, 3], [0, 0, 2, 1], [0, 1, 3, 4]]
    alone = contrib.dgl_subgraph(some, vertices(1, 3), return_mapping=False)
    assert told(alone) == [[0], [0], [0, 0, 1]]
    ones = contrib.dgl_adjacency(some)
    assert ones.dtype == onp.float32 and (ones.asnumpy() == (some.asnumpy() != 0)).all()


def test_compacted():
    names, edges, _ = contrib.dgl_csr_neighbor_uniform_sample(whole(), vertices(3), max_num_vertices=6)
    assert names.asnumpy()[-1] == 3
    new, old = contrib.dgl_graph_compact(edges, names, graph_sizes=3, return_mapping=True)
    kept = names.asnumpy()[:3]
    assert new.shape == old.shape == (3, 3) and new.data.asnumpy().tolist() == [0, 1]
    assert (old.asnumpy() == edges.asnumpy()[:3][:, kept]).all()


def test_bad_graphs():
    sample = contrib.dgl_csr_neighbor_uniform_sample
    with pytest.raises(TypeError, match="csr matrix was expected"):
        sample(nd.ones((2, 2)), vertices(0))
    with pytest.raises(TypeError, match="int64, got float32"):
        contrib.dgl_adjacency(nd.sparse.csr_matrix([[0.0, 1.0]]))
    with pytest.raises(IndexError, match="no vertex 7 in a graph of 5"):
        sample(whole(), vertices(7))
    with pytest.raises(ValueError, match="3 seeds are more than max_num_vertices=2"):
        sample(whole(), vertices(0, 1, 2), max_num_vertices=2)
    with pytest.raises(ValueError, match="5 vertices need as many probabilities, got 2"):
        contrib.dgl_csr_neighbor_non_uniform_sample(whole(), nd.ones(2), vertices(0))
    for wrong in (vertices(2, 1), vertices(1, 1)):
        with pytest.raises(ValueError, match="must be sorted and different"):
            contrib.dgl_subgraph(whole(), wrong, return_mapping=True)
    names, edges, _ = sample(whole(), vertices(3), max_num_vertices=6)
    with pytest.raises(ValueError, match="has no size of 4"):
        contrib.dgl_graph_compact(edges, names, graph_sizes=4, return_mapping=False)
    with pytest.raises(ValueError, match="2 sizes go with"):
        contrib.dgl_graph_compact(edges, names, graph_sizes=(3, 3), return_mapping=False)
