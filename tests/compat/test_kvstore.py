"""``mx.kv`` within one process, and stores of the user's in a Trainer. Numbers are those of MXNet 2.0."""

import numpy as onp
import pytest

import gluonx as mx
from gluonx import autograd, nn
from gluonx.compat import kvstore as kv
from gluonx.errors import GluonxError

np = mx.np


def pulled(store, key):
    out = np.zeros(2)
    store.pull(key, out=out)
    return out.tolist()


@pytest.mark.parametrize("kind", ["local", "device", "nccl", "local_allreduce_cpu", "Local"])
def test_push_and_pull(kind):
    store = kv.create(kind)
    assert (store.type, store.rank, store.num_workers, store.is_capable("optimizer")) == (kind.lower(), 0, 1, True)
    first = np.ones(2)
    store.init(3, first)
    first[:] = 7
    assert pulled(store, 3) == [1, 1], "a copy is kept"
    store.push(3, [np.ones(2) * 2] * 3)
    assert pulled(store, 3) == [6, 6]
    store.push([3], [np.ones(2) * 2])
    assert pulled(store, 3) == [2, 2]
    keys = []

    def update(key, pushed, stored):
        keys.append(key)
        stored += pushed * 2

    store._set_updater(update)
    store.push(3, np.ones(2))
    assert pulled(store, 3) == [4, 4] and keys == [3]


def test_lists_of_keys():
    store = kv.create()
    store.init(["a", "b"], [np.ones(2), np.ones(2) * 2])
    outs = [[np.zeros(2), np.zeros(2)], np.zeros(2)]
    store.push(["a", "b"], [[np.ones(2)] * 2, np.ones(2)])
    store.pull(["a", "b"], out=outs)
    assert [outs[0][0].tolist(), outs[0][1].tolist(), outs[1].tolist()] == [[2, 2], [2, 2], [1, 1]]


def test_pushpull_and_broadcast():
    store, out = kv.create("device"), np.zeros(2)
    store.broadcast("w", np.ones(2) * 5, out=out)
    assert out.tolist() == [5, 5]
    values = [np.ones(2), np.ones(2) * 3]
    store.pushpull("w", values, out=out)
    assert out.tolist() == [4, 4] == pulled(store, "w")
    store.pushpull("w", values)
    assert [v.tolist() for v in values] == [[4, 4], [4, 4]]


def test_arrays_of_mxnet_1():
    store, out = kv.create(), mx.nd.zeros((2,))
    store.init("w", mx.nd.ones((2,)))
    store.pushpull("w", mx.nd.ones((2,)) * 3, out=out)
    assert out.asnumpy().tolist() == [3, 3]


def test_optimizer(tmp_path):
    store, out = kv.create(), np.zeros(2)
    store.init("a", np.ones(2))
    with pytest.raises(GluonxError, match="set_optimizer first"):
        store.save_optimizer_states(tmp_path / "s")
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
    store.push("a", np.ones(2))
    assert pulled(store, "a") == [0.5, 0.5]
    store.save_optimizer_states(tmp_path / "s", dump_optimizer=True)
    store.pushpull("a", np.ones(2), out=out)
    assert out.tolist() == [-0.25, -0.25]
    again = kv.create()
    again.init("a", np.ones(2) * 0.5)
    again.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
    again.load_optimizer_states(tmp_path / "s")
    again.push("a", np.ones(2))
    assert pulled(again, "a") == [-0.25, -0.25]


def test_what_is_wrong_is_said():
    store = kv.create()
    store.init(1, np.ones(2))
    for call, error, text in [
        (lambda: store.init(1, np.ones(2)), GluonxError, "duplicate init of key 1"),
        (lambda: store.push(4, np.ones(2)), GluonxError, "key 4 has no value yet"),
        (lambda: store.pull(4, out=np.ones(2)), GluonxError, "key 4 has no value yet"),
        (lambda: store.pull(1), ValueError, "pull needs out="),
        (lambda: store.push(1, np.ones(3)), ValueError, r"shape \(2,\), but \(3,\)"),
        (lambda: store.push([1, 2], [np.ones(2)]), ValueError, "2 keys were given with 1 values"),
        (lambda: store.row_sparse_pull(1, out=np.ones(2)), ValueError, "row_ids="),
        (lambda: store.set_gradient_compression({"type": "2bit"}), GluonxError, "nothing is sent"),
        (lambda: kv.create("dist_async"), GluonxError, "Use 'dist_sync'"),
        (lambda: kv.create("foo"), ValueError, "no kvstore 'foo'; known: local"),
        (lambda: kv.create(3), TypeError, "takes a name"),
        (lambda: kv.TestStore().set_optimizer(None), GluonxError, "has no optimizer"),
        (lambda: mx.Trainer([mx.Parameter(shape=(1,))], "sgd", kvstore=3), ValueError, "broadcast and pushpull"),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_the_store_for_tests():
    store, out = kv.create("teststore"), np.zeros(2)
    assert (store.type, store.rank, store.num_workers, store.is_capable("optimizer")) == ("teststore", 0, 1, False)
    store.broadcast(1, np.ones(2), out=[out])
    assert out.tolist() == [1, 1]
    store.pushpull(1, [np.ones(2) * 4, np.ones(2) * 4], out=[out])
    assert out.tolist() == [8, 8]


@kv.KVStoreBase.register
class Doubling(kv.KVStoreBase):
    """Stands for two processes with the same gradients."""

    def __init__(self):
        self.seen = []

    def broadcast(self, key, value, out, priority=0):
        self.seen.append(("broadcast", key))

    def pushpull(self, key, value, out=None, priority=0):
        self.seen.append(("pushpull", key, priority))
        for o, v in zip(out, value):
            o[:] = v * 2


def trained(store, optimizer="sgd", steps=3, **options):
    net = nn.Dense(1, in_units=2, weight_initializer="ones")
    net.initialize()
    trainer = mx.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1}, kvstore=store, **options)
    for _ in range(steps):
        with autograd.record():
            loss = (net(np.array([[1.0, 2.0]])) ** 2).sum()
        loss.backward()
        trainer.step(1)
    return trainer, net.weight.data().tolist() + [net.bias.data().tolist()]


@pytest.mark.dear
def test_a_registered_store_takes_part_in_training():
    trainer, weights = trained("doubling")
    assert trainer._kvstore.seen[:4] == [("broadcast", 0), ("broadcast", 1), ("pushpull", 0, 0), ("pushpull", 1, -1)]
    net = nn.Dense(1, in_units=2, weight_initializer="ones")
    net.initialize()
    hand = mx.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2})
    for _ in range(3):
        with autograd.record():
            loss = (net(np.array([[1.0, 2.0]])) ** 2).sum()
        loss.backward()
        hand.step(1)
    assert weights == net.weight.data().tolist() + [net.bias.data().tolist()]
    with pytest.raises(mx.errors.StaleGradientError):
        trainer.step(1)


def test_allreduce_and_update_apart():
    store = Doubling()
    trainer, _ = trained(store, steps=1)
    count = len(store.seen)
    with autograd.record():
        loss = sum((p.data() ** 2).sum() for p in trainer._params)
    loss.backward()
    before = trainer._params[0].grad().tolist()
    trainer.allreduce_grads()
    assert len(store.seen) == count + 2
    assert trainer._params[0].grad().tolist() == [2 * b for b in before]
    trainer.update(1)
    assert len(store.seen) == count + 2


def test_a_store_that_updates():
    plain = mx.Trainer([mx.Parameter(shape=(1,))], "sgd", kvstore=kv.create("local"))
    plain._init_kvstore()
    assert plain._kvstore is None

    class Mine(kv.KVStoreBase):
        def __init__(self):
            self.inner = kv.create("local")

        def is_capable(self, capability):
            return capability == "optimizer"

        def broadcast(self, key, value, out, priority=0):
            self.inner.broadcast(key, value, out)

        def pushpull(self, key, value, out=None, priority=0):
            self.inner.pushpull(key, value, out)

        def set_optimizer(self, optimizer):
            self.inner.set_optimizer(optimizer)

    trainer, weights = trained(Mine())
    assert trainer._update_on_kvstore
    _, plain = trained("device")
    for got, wanted in zip(weights, plain, strict=True):  # of two programs, each of which rounds in its way
        onp.testing.assert_allclose(got, wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="call step"):
        trainer.update(1)
    with pytest.raises(ValueError, match="call step"):
        trainer.allreduce_grads()


def test_names():
    assert mx.kv is mx.kvstore is kv
