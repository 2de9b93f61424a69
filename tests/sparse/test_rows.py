"""Gradients by rows: equal to dense ones, in one program of a size that depends on the rows alone."""

import copy
import pickle

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, loss, nd, nn, np
from gluonx.compat import kvstore

OPTIMIZERS = [
    ("sgd", {}), ("sgd", {"momentum": 0.9}), ("nag", {}), ("adam", {}), ("adagrad", {}), ("groupadagrad", {}),
    ("rmsprop", {}), ("lamb", {}), ("adam", {"multi_precision": True}),
]  # fmt: skip


class Net(gluonx.HybridBlock):
    def __init__(self, rows=30, sparse=True, dtype="float32", tied=False):
        super().__init__()
        self.emb = nn.Embedding(rows, 4, sparse_grad=sparse, dtype=dtype)
        self.out = nn.Dense(3, in_units=20, dtype=dtype)
        self.tied = tied

    def forward(self, x):
        found = self.emb(x)
        if self.tied:
            found = np.matmul(found, np.matmul(self.emb.weight.data().T, self.emb.weight.data()))
        return self.out(found.reshape((found.shape[0], -1)))


def batches(count, rows=30, seed=1):
    rng = onp.random.default_rng(seed)
    return [(np.array(rng.integers(0, rows, (6, 5))), np.array(rng.integers(0, 3, 6))) for _ in range(count)]


def train(sparse, hybrid=False, optimizer="sgd", settings=None, calls=1, steps=3, req="write", **more):
    gluonx.random.seed(0)
    net = Net(sparse=sparse, **more)
    net.initialize(init="xavier")
    net.hybridize(hybrid)
    net.emb.weight.grad_req = req
    trainer = Trainer(net.collect_params(), optimizer, settings or {})
    measure = loss.SoftmaxCrossEntropyLoss()
    for x, y in batches(steps):
        for _ in range(2 if req == "add" else 1):
            with autograd.record():
                total = sum(measure(net((x + k) % 30), y).sum() for k in range(calls))
            total.backward()
        grad = net.emb.weight.grad().asnumpy()
        trainer.step(6)
        if req == "add":
            net.emb.weight.zero_grad()
    return net.emb.weight.data().asnumpy(), grad, net


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize(("optimizer", "settings"), OPTIMIZERS)
def test_updates_are_those_of_dense_gradients(optimizer, settings, calls, hybrid):
    dtype = "float16" if settings.get("multi_precision") else "float32"
    found, wanted = (train(sparse, hybrid, optimizer, settings, calls, dtype=dtype) for sparse in (True, False))
    bound = 2e-3 if dtype == "float16" else 2e-6
    onp.testing.assert_allclose(found[0], wanted[0], rtol=bound, atol=bound)
    onp.testing.assert_allclose(found[1], wanted[1], rtol=bound, atol=bound)
    assert found[2].emb.weight.grad().stype == "row_sparse" and wanted[2].emb.weight.grad().stype == "default"


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True])
def test_gradients_are_added(hybrid):
    found, wanted = (train(sparse, hybrid, req="add") for sparse in (True, False))
    onp.testing.assert_allclose(found[0], wanted[0], rtol=1e-6, atol=1e-6)
    onp.testing.assert_allclose(found[1], wanted[1], rtol=1e-6, atol=1e-6)


@pytest.mark.dear
@pytest.mark.parametrize("mode", ["naive", "read"])
def test_other_ways_to_run_give_the_same(mode):
    net = Net()
    net.initialize(init="xavier")
    (x, y), *_ = batches(1)

    def grad():
        with autograd.record():
            total = loss.SoftmaxCrossEntropyLoss()(net(x), y).sum()
        if mode == "read":
            total.item()  # a segment is between the forward and the backward now
        total.backward()
        return net.emb.weight.grad().asnumpy()

    if mode == "naive":
        with engine.mode("naive"):
            found = grad()
    else:
        found = grad()
    mode = "plain"
    onp.testing.assert_allclose(found, grad(), rtol=1e-5, atol=1e-7)
    assert found.any()


@pytest.mark.dear
def test_a_table_used_in_another_way_too_loses_nothing():
    with pytest.warns(UserWarning, match="all rows are there"):
        found = train(True, steps=1, tied=True)
    wanted = train(False, steps=1, tied=True)
    onp.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-6)
    onp.testing.assert_allclose(found[1], wanted[1], rtol=1e-5, atol=1e-6)


@pytest.mark.dear
def test_lazy_updates_leave_other_rows_as_they_are():
    for optimizer, settings in [
        ("sgd", {"momentum": 0.9, "wd": 0.1, "lazy_update": True}), ("adam", {"wd": 0.1, "lazy_update": True}),
        ("adagrad", {"wd": 0.1}), ("ftrl", {}), ("groupadagrad", {}),
    ]:  # fmt: skip
        layer = nn.Embedding(9, 2, sparse_grad=True)
        layer.initialize(init="ones")
        trainer = Trainer(layer.collect_params(), optimizer, settings)
        for rows in ([1, 2], [5, 5]):
            before = layer.weight.data().asnumpy()
            with autograd.record():
                out = layer(np.array(rows)).sum()
            out.backward()
            trainer.step(1)
            changed = (layer.weight.data().asnumpy() != before).any(1)
            assert onp.flatnonzero(changed).tolist() == sorted(set(rows)), optimizer


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_steady_loop_is_one_program_without_an_array_of_the_tables_size(hybrid):
    net = Net(rows=20000)
    net.initialize()
    net.hybridize(hybrid)
    trainer = Trainer(net.collect_params(), "adam", {"lazy_update": True})
    measure = loss.SoftmaxCrossEntropyLoss()
    data = batches(6, rows=20000)

    def step(x, y):
        with autograd.record():
            total = measure(net(x), y)
        total.backward()
        trainer.step(6)

    for x, y in data[:2]:
        step(x, y)
    engine.flush("the first steps") if hasattr(engine, "flush") else None
    before = engine.stats()
    for x, y in data[2:]:
        step(x, y)
    after = engine.stats()
    assert after["programs_compiled"] == before["programs_compiled"] and after["copies"] == before["copies"]
    assert after["dispatches"] - before["dispatches"] == 4
    sizes = [a.size for a in jax.live_arrays()]
    assert sizes.count(80000) == 3, "the table and two averages"
    grad = net.emb.weight.grad()
    assert grad.places()[1].shape == (30, 4) and grad.data.shape[0] == len(set(x.asnumpy().ravel().tolist()))
    grad.check_format()


@pytest.mark.dear
def test_reading_gradients():
    layer = nn.Embedding(6, 2, sparse_grad=True)
    layer.initialize(init="ones")
    param = layer.weight
    assert param.grad().asnumpy().tolist() == onp.zeros((6, 2)).tolist() and param.grad().indices.shape == (0,)
    with autograd.record():
        out = layer(np.array([4, 1, 4])).sum()
    out.backward()
    (grad,) = param.list_grad()
    assert grad is param.grad() and grad.indices.tolist() == [1, 4] and grad.data.tolist() == [[1, 1], [2, 2]]
    assert grad.retain([4]).asnumpy()[4].tolist() == [2, 2]
    norm = gluonx.utils.clip_global_norm([param.grad()], 1.0)
    assert float(norm) == pytest.approx(10**0.5) and grad.stype == "row_sparse"
    assert float((grad.data**2).sum()) == pytest.approx(1, rel=1e-4)
    param.zero_grad()
    assert not param.grad().asnumpy().any()
    (taken,) = autograd_grad(layer, [2, 2])
    assert taken.tolist() == [[0, 0], [0, 0], [2, 2], [0, 0], [0, 0], [0, 0]]


def autograd_grad(layer, rows):
    with autograd.record():
        out = layer(np.array(rows)).sum()
    return autograd.grad(out, [layer.weight.data()])


def test_a_parameter_of_rows():
    param = gluonx.Parameter("w", shape=(5, 2), init="ones", stype="row_sparse", grad_stype="row_sparse")
    param.initialize()
    with autograd.record():
        rows = param.row_sparse_data(np.array([3, 1, 3]))
        out = (rows.data * 2).sum()
    out.backward()
    assert rows.indices.tolist() == [1, 3] and param.grad().indices.tolist()[:2] == [1, 3]
    assert param.grad().asnumpy()[[1, 3]].tolist() == [[2, 2], [2, 2]]
    assert [r.stype for r in param.list_row_sparse_data([0])] == ["row_sparse"]
    with pytest.raises(IndexError, match="got 9 to 9"):
        param.row_sparse_data([9])


def test_copies_keep_the_storage_of_gradients():
    net = Net()
    net.initialize()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.emb.weight.grad().stype == "row_sparse"
    x = np.ones((2, 2))
    x.attach_grad(stype="row_sparse")
    assert pickle.loads(pickle.dumps(x)).grad.stype == copy.deepcopy(x).grad.stype == "row_sparse"
    with pytest.raises(ValueError, match="'default' or 'row_sparse'"):
        x.attach_grad(stype="csr")


@pytest.mark.dear
def test_states_are_saved_and_loaded(tmp_path):
    def go(net, trainer, data):
        for x, y in data:
            with autograd.record():
                total = loss.SoftmaxCrossEntropyLoss()(net(x), y)
            total.backward()
            trainer.step(6)

    net, data = Net(), batches(4)
    net.initialize(init="xavier")
    trainer = Trainer(net.collect_params(), "adam", {"lazy_update": True})
    go(net, trainer, data[:2])
    net.save_parameters(tmp_path / "net.params")
    trainer.save_states(tmp_path / "trainer.states")
    go(net, trainer, data[2:])
    again = Net()
    again.load_parameters(tmp_path / "net.params")
    other = Trainer(again.collect_params(), "adam", {"lazy_update": True})
    other.load_states(tmp_path / "trainer.states")
    go(again, other, data[2:])
    onp.testing.assert_array_equal(again.emb.weight.data().asnumpy(), net.emb.weight.data().asnumpy())


def test_a_store_gives_and_takes_rows():
    store = kvstore.create("local")
    store.init("w", nd.array(onp.arange(10).reshape(5, 2)).tostype("row_sparse"))
    out = nd.sparse.zeros("row_sparse", (5, 2))
    store.row_sparse_pull("w", out=out, row_ids=nd.array([3, 1, 3]))
    assert out.indices.asnumpy().tolist() == [1, 3] and out.data.asnumpy().tolist() == [[2, 3], [6, 7]]
    store.set_optimizer(gluonx.optimizer.SGD(learning_rate=1.0))
    store.push("w", nd.sparse.row_sparse_array(([[1, 1]], [3]), shape=(5, 2)))
    dense = nd.ones((5, 2))
    store.row_sparse_pull("w", out=[out, dense], row_ids=[nd.array([3]), nd.array([0, 4])])
    assert out.data.asnumpy().tolist() == [[5, 6]]
    assert dense.asnumpy().tolist() == [[0, 1], [0, 0], [0, 0], [0, 0], [8, 9]]
    store.init("d", nd.ones((4, 2)))
    rows = nd.sparse.zeros("row_sparse", (4, 2))
    store.row_sparse_pull(["d"], out=[rows], row_ids=[nd.array([2])])
    assert rows.asnumpy().sum() == 2


@pytest.mark.dear
def test_a_loss_scale_looks_at_rows_too():
    from gluonx import amp

    amp.init("bfloat16")
    try:
        layer = nn.Embedding(6, 2, sparse_grad=True)
        layer.initialize(init="ones")
        trainer = Trainer(layer.collect_params(), "sgd", {"learning_rate": 1.0, "lazy_update": True})
        amp.init_trainer(trainer)
        for factor in (1.0, onp.inf):
            with autograd.record():
                out = (layer(np.array([1, 1])) * factor).sum()
                with amp.scale_loss(out, trainer) as scaled:
                    scaled.backward()
            if factor == 1.0:
                amp.unscale(trainer)
            trainer.step(1)
        assert layer.weight.data().asnumpy().tolist() == [[1, 1], [-1, -1], *[[1, 1]] * 4]
    finally:
        amp.reset()
