"""Programs over ``ctx=[...]`` beyond the plain loop: gradients by rows, closures, devices that come, go, or pause."""

import jax
import numpy as onp
import optax
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, gluon, nn, np
from gluonx.deferred.replicas import joining
from gluonx.errors import DeviceError, GraphError, StaleGradientError

cpu = gluonx.cpu
# Devices of their own; some of them sharing one of JAX's.
TWO, MIXED = [cpu(0), cpu(1)], [cpu(0), cpu(1), cpu(8), cpu(9)]
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def split(batch, devices):
    return [gluon.utils.split_and_load(np.array(part), devices, even_split=False) for part in batch]


def points(steps, size=12, first=0):
    draw = onp.random.RandomState(first)
    return [(draw.randn(size, 4).astype("float32"), draw.randint(0, 3, size)) for _ in range(steps)]


def mlp(devices, *between):
    gluonx.random.seed(5)
    net = nn.HybridSequential()
    net.add(nn.Dense(5, activation="relu", in_units=4), *between, nn.Dense(3, in_units=5))
    net.initialize(gluonx.init.Xavier(), ctx=devices)
    net.hybridize()
    return net


def backward(net, batch, devices, only=None):
    """Gradients of a batch, of its parts on the first `only` devices."""
    parts = list(zip(*split(batch, devices), strict=True))[:only]
    engine.reset_stats()
    with autograd.record():
        losses = [LOSS(net(x), y) for x, y in parts]
    autograd.backward(losses)
    return losses


def train(net, trainer, devices, data):
    for batch in data:
        backward(net, batch, devices)
        trainer.step(len(batch[0]))


def values(net):
    """The parameters by name, which are the same on all devices."""
    found = {}
    for name, param in net.collect_params().items():
        first, *rest = [array.asnumpy() for array in param.list_data()]
        assert all(onp.array_equal(first, other) for other in rest), name
        found[name] = first
    return found


def close(one, two, bound=2e-5):
    assert one.keys() == two.keys()
    for name in one:
        onp.testing.assert_allclose(one[name], two[name], rtol=bound, atol=bound / 10, err_msg=name)


# -- gradients by rows -------------------------------------------------------------------------------------------------


class Words(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(20, 4, sparse_grad=True), nn.Dense(2, in_units=4)

    def forward(self, x):
        return self.out(self.embed(x).mean(axis=1))


def words(steps, size):
    draw = onp.random.RandomState(0)  # the rows from 12 to 19 are met late
    return [(draw.randint(0, 12 if k < steps // 2 else 20, (size, 3)), draw.randint(0, 2, size)) for k in range(steps)]


def by_rows(devices, optimizer="sgd", hybrid=True, size=8, sums=False, read=False, grad_req="write", **settings):
    gluonx.random.seed(1)
    net = Words()
    net.initialize(gluonx.init.Xavier(), ctx=devices)
    net.setattr("grad_req", grad_req)
    if hybrid:
        net.hybridize()
    trainer = Trainer(
        net.collect_params(), optimizer, {"learning_rate": 0.3, **settings}, update_on_kvstore=False if sums else None
    )
    for batch in words(4, size):
        losses = backward(net, batch, devices)
        if sums:
            trainer.allreduce_grads()
            for grad in net.embed.weight.list_grad():
                assert grad.stype == "row_sparse"
            trainer.update(size)
        else:
            trainer.step(size)
        stats = engine.stats()
        if grad_req == "add":
            net.zero_grad()
        if read:
            assert [loss.shape for loss in losses] and losses[0].asnumpy().shape
    return values(net), stats, net


HOW = [
    ({}, TWO),
    pytest.param({"momentum": 0.9, "wd": 0.1}, TWO, marks=pytest.mark.slow),
    ({"optimizer": "adam", "hybrid": False}, MIXED),
    pytest.param({"optimizer": "adam", "lazy_update": False}, TWO, marks=pytest.mark.slow),
    pytest.param({"optimizer": "adagrad", "epsilon": 0.01}, MIXED, marks=pytest.mark.slow),
    pytest.param({"sums": True}, MIXED, marks=pytest.mark.slow),
    pytest.param({"grad_req": "add"}, TWO, marks=pytest.mark.slow),
    pytest.param({}, [cpu(1), cpu(2)], marks=pytest.mark.slow),
    pytest.param({}, [cpu(0), cpu(8)], marks=pytest.mark.slow),
]


@pytest.mark.dear
@pytest.mark.parametrize(("how", "devices"), HOW, ids=str)
def test_gradients_by_rows_are_summed_over_devices(how, devices):
    one, _, _ = by_rows([cpu(0)], **how)
    several, stats, _ = by_rows(devices, **how)
    close(several, one)
    assert (stats["dispatches"], stats["programs_compiled"], stats["traces"]) == (1, 0, 0)


@pytest.mark.dear
@pytest.mark.parametrize("devices", [TWO, pytest.param(MIXED, marks=pytest.mark.slow)], ids=str)
def test_gradients_by_rows_of_uneven_slices(devices):
    """The devices look up as many rows as their slices ask for; no number of rows stands for what one has less."""
    one, _, _ = by_rows([cpu(0)], size=9)
    several, stats, net = by_rows(devices, size=9)
    close(several, one)
    assert stats["programs_compiled"] == 0
    sizes = [len(grad.indices) for grad in net.embed.weight.list_grad()]
    assert len(set(sizes)) > 1 or devices is MIXED


@pytest.mark.dear
def test_a_lazy_update_leaves_rows_that_no_device_looked_up():
    """Weight decay moves the rows of all devices' look-ups, on each device, and no other."""
    net = Words()
    net.initialize(ctx=TWO)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "wd": 0.1, "lazy_update": True})
    before = values(net)["embed.weight"]
    backward(net, (onp.array([[1, 2, 3], [7, 7, 8]]), onp.array([0, 1])), TWO)
    trainer.step(2)
    moved = (values(net)["embed.weight"] != before).any(axis=1)
    assert onp.flatnonzero(moved).tolist() == [1, 2, 3, 7, 8]


@pytest.mark.dear
def test_a_device_that_looked_nothing_up_has_no_rows():
    one, several = Words(), Words()
    for net, devices in ((one, [cpu(0)]), (several, TWO)):
        gluonx.random.seed(1)
        net.initialize(ctx=devices)
        trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.3})
        first, second = words(2, 4)
        train(net, trainer, devices, [first])
        backward(net, (second[0][:2], second[1][:2]), devices[:1])
        trainer.step(2, ignore_stale_grad=True)
    close(values(several), values(one))


def test_rows_of_a_table_on_several_devices():
    table = gluonx.Parameter("table", shape=(5, 2), stype="row_sparse", init="ones")
    table.initialize(ctx=TWO)
    found = table.row_sparse_data(np.array([3, 1], device=cpu(1)))
    assert found.device == cpu(1) and found.indices.tolist() == [1, 3]
    assert [rows.device for rows in table.list_row_sparse_data(onp.array([2]))] == TWO


# -- devices that come, go, or pause -----------------------------------------------------------------------------------


@pytest.mark.dear
def test_more_devices_in_the_middle_of_a_training(tmp_path):
    """A list of devices may hold some of those that there were."""
    one, net = mlp([cpu(0)]), mlp(TWO)
    trainers = [Trainer(n.collect_params(), "adam", {"learning_rate": 0.05}) for n in (one, net)]
    for k, devices in enumerate([TWO, [cpu(0), cpu(1), cpu(2)], [cpu(2)], [cpu(2), cpu(1)]]):
        net.reset_ctx(devices)
        for each, trainer, places in ((one, trainers[0], [cpu(0)]), (net, trainers[1], devices)):
            train(each, trainer, places, points(2, first=k))
        assert net[0].weight.list_ctx() == devices
    close(values(net), values(one))
    net.save_parameters(str(tmp_path / "net"))
    trainers[1].save_states(str(tmp_path / "states"))
    again = mlp(TWO)
    again.load_parameters(str(tmp_path / "net"), ctx=TWO)
    trainer = Trainer(again.collect_params(), "adam", {"learning_rate": 0.05})
    trainer.load_states(str(tmp_path / "states"))
    train(again, trainer, TWO, points(1, first=9))
    train(one, trainers[0], [cpu(0)], points(1, first=9))
    close(values(again), values(one))


@pytest.mark.dear
@pytest.mark.parametrize("devices", [TWO, [cpu(1), cpu(2)], [cpu(0), cpu(8)]], ids=str)
@pytest.mark.parametrize("first", ["list", "one"])
def test_a_net_on_one_device_trains_beside_a_net_on_several(first, devices):
    """Both in one record(): the step of the one is no part of what the other's devices do."""

    def run(devices):
        one, several = mlp([cpu(0)]), mlp(devices)
        nets = [several, one] if first == "list" else [one, several]
        trainers = [Trainer(net.collect_params(), "sgd", {"learning_rate": 0.3}) for net in nets]
        for batch in points(2):
            parts = list(zip(*split(batch, devices), strict=True))
            with autograd.record():
                losses = [LOSS(several(x), y) for x, y in parts] + [LOSS(one(np.array(batch[0])), np.array(batch[1]))]
            autograd.backward(losses)
            for trainer in trainers:
                trainer.step(12)
        return values(one), values(several)

    for found, expected in zip(run(devices), run([cpu(0)]), strict=True):
        close(found, expected)


class ByHand(gluonx.optimizer.Optimizer):
    """An optimizer with a step of its own."""

    def create_state(self, index, weight):
        return None

    def step(self, indices, weights, grads, states):
        for i, weight, grad in zip(indices, weights, grads, strict=True):
            weight[:] = weight - self._get_lrs([i])[0] * self.rescale_grad * grad


@pytest.mark.dear
@pytest.mark.parametrize("how", ["step", "sums", "by hand", "add"])
def test_a_device_that_pauses_counts_as_nothing(how):
    """Its old gradient is not summed again, and its replica moves as the others do."""
    found = []
    for devices in ([cpu(0)], TWO):
        net = mlp(devices)
        if how == "add":
            net.setattr("grad_req", "add")
        optimizer = ByHand(learning_rate=0.3) if how == "by hand" else "sgd"
        settings = None if how == "by hand" else {"learning_rate": 0.3}
        trainer = Trainer(net.collect_params(), optimizer, settings, update_on_kvstore=False if how == "sums" else None)
        (first, second), rest = points(2), points(1, first=3)
        train(net, trainer, devices, [first])
        backward(net, (second[0][:6], second[1][:6]), devices[:1])
        if len(devices) > 1:
            with pytest.raises(StaleGradientError):
                trainer.step(6)
        trainer.step(6, ignore_stale_grad=True)
        found.append(values(net))
        train(net, trainer, devices, rest)
        found.append(values(net))
    close(found[2], found[0])
    close(found[3], found[1])


@pytest.mark.dear
def test_a_step_by_hand_that_fails_on_one_device_is_counted_on_none():
    class Failing(ByHand):
        fails = False

        def step(self, indices, weights, grads, states):
            self._update_count(indices)
            if self.fails and self._current_device == 1:
                raise RuntimeError("no more")
            super().step(indices, weights, grads, states)

    net, optimizer = mlp(TWO), Failing(learning_rate=0.3)
    trainer = Trainer(net.collect_params(), optimizer)
    train(net, trainer, TWO, points(1))

    def counts():
        return optimizer.num_update, optimizer._index_update_count, dict(optimizer._all_index_update_counts)

    before, kept = values(net), counts()
    optimizer.fails = True
    with pytest.raises(RuntimeError, match="no more"):
        train(net, trainer, TWO, points(1, first=1))
    close(values(net), before)
    assert counts() == kept and set(kept[2][1].values()) == {1}
    optimizer.fails = False
    trainer.step(6)
    assert set(optimizer._all_index_update_counts[1].values()) == {2}


# -- synchronized statistics by hand -----------------------------------------------------------------------------------


class Synchronized(gluon.HybridBlock):
    """A net that calls the operator itself, as ports of symbolic code do."""

    def __init__(self, ndev):
        super().__init__()
        self.ndev = ndev
        self.dense, self.out = nn.Dense(5, in_units=4), nn.Dense(3, in_units=5)
        for name, value, req in [
            ("gamma", 1.0, "write"),
            ("beta", 0.0, "write"),
            ("mean", 0.0, "null"),
            ("var", 1.0, "null"),
        ]:
            init = gluonx.init.Constant(value)
            setattr(self, name, gluonx.Parameter(name, shape=(5,), init=init, grad_req=req))

    def forward(self, x):
        vectors = [p.data() for p in (self.gamma, self.beta, self.mean, self.var)]
        args = {"fix_gamma": False, "ndev": self.ndev, "key": "norm"}
        return self.out(gluonx.npx.sync_batch_norm(self.dense(x), *vectors, **args))


def synchronized(devices, hybrid=True):
    gluonx.random.seed(5)
    net = Synchronized(len(devices))
    net.initialize(gluonx.init.Xavier(), ctx=devices)
    if hybrid:
        net.hybridize()
    return net, Trainer(net.collect_params(), "sgd", {"learning_rate": 0.3})


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_synchronized_statistics_by_hand_are_those_of_all_devices(hybrid):
    found = []
    for devices in ([cpu(0)], TWO, [cpu(0), cpu(8)], MIXED):
        net, trainer = synchronized(devices, hybrid)
        for x, y in points(3):
            backward(net, (x + onp.linspace(0, 3, 12, dtype="float32")[:, None], y), devices)
            trainer.step(12)
            stats = engine.stats()
        found.append(values(net))  # the moving statistics too are the same on each device
        close(found[-1], found[0])
        assert (stats["dispatches"], stats["programs_compiled"]) == (1, 0)


@pytest.mark.parametrize("how", ["read", "uneven", "one", "at once"])
def test_synchronized_statistics_by_hand_that_cannot_be_had_are_refused(how):
    devices = TWO
    net, trainer = synchronized(devices)
    batch = points(1, 5 if how == "uneven" else 4)[0]
    with pytest.raises(DeviceError, match=r"npx\.sync_batch_norm on 2 devices takes .*parallel\.mesh"):
        if how == "at once":
            with autograd.train_mode():
                net(np.array(batch[0])).wait_to_read()
        if how == "read":
            with autograd.record():
                losses = [LOSS(net(x), y) for x, y in zip(*split(batch, devices), strict=True)]
            losses[0].asnumpy()
        backward(net, batch, devices, only=1 if how == "one" else None)
        trainer.step(4, ignore_stale_grad=how == "one")
    assert values(net)["mean"].tolist() == [0.0] * 5


@pytest.mark.dear
def test_synchronized_statistics_on_a_mesh_need_no_number_of_devices():
    found = []
    for mesh in (None, gluonx.parallel.mesh(data=2, devices=jax.devices()[:2])):
        with gluonx.parallel.use(mesh):
            gluonx.random.seed(5)
            net = Synchronized(2 if mesh else 1)
            net.initialize(gluonx.init.Xavier())
            net.hybridize()
            trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.3})
            x, y = points(1)[0]
            with autograd.record():
                loss = LOSS(net(gluonx.parallel.split(np.array(x)) if mesh else np.array(x)), np.array(y))
            loss.backward()
            trainer.step(12)
            found.append(values(net))
    close(found[1], found[0])


# -- closures ----------------------------------------------------------------------------------------------------------


def closed(devices, optimizer, steps=3, hybrid=True):
    gluonx.random.seed(5)
    net = nn.HybridSequential()
    net.add(nn.Dense(5, activation="tanh", in_units=4), nn.Dense(3, in_units=5))
    net.initialize(gluonx.init.Xavier(), ctx=devices)
    if hybrid:
        net.hybridize()
    trainer, found = Trainer(net.collect_params(), optimizer()), []
    for k in range(steps):
        xs, ys = split(points(1, first=k % 2)[0], devices)
        engine.reset_stats()
        found.append(trainer.step(12, closure=lambda: [LOSS(net(x), y) for x, y in zip(xs, ys, strict=True)]))  # noqa: B023
        stats = engine.stats()
    return [loss.item() for loss in found], values(net), stats, net, trainer


@pytest.mark.dear
@pytest.mark.parametrize(
    "devices", [TWO, *[pytest.param(d, marks=pytest.mark.slow) for d in (MIXED, [cpu(2), cpu(0)])]], ids=str
)
@pytest.mark.parametrize("optimizer", [optax.lbfgs, pytest.param(lambda: "adam", marks=pytest.mark.slow)])
def test_a_closure_gives_a_loss_for_each_device(optimizer, devices):
    losses, one, _, _, _ = closed([cpu(0)], optimizer)
    several, replicas, stats, net, trainer = closed(devices, optimizer)
    onp.testing.assert_allclose(several, losses, rtol=1e-5)
    assert losses[0] > losses[2]
    close(replicas, one, 1e-4)
    assert (stats["dispatches"], stats["programs_compiled"]) == (1, 0)
    if optimizer is not optax.lbfgs:  # the states too are the same on each device: a plain step goes on
        train(net, trainer, devices, points(1))
        values(net)


def test_a_closure_that_writes_to_replicas_is_refused():
    net = mlp(TWO, nn.BatchNorm(in_channels=5))
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    xs, ys = split(points(1)[0], TWO)
    before = values(net)
    with pytest.raises(DeviceError, match=r"writes to parameter 'HybridSequential.1.running_mean'.*mesh"):
        trainer.step(12, closure=lambda: [LOSS(net(x), y) for x, y in zip(xs, ys, strict=True)])
    trained = {n: p for n, p in net.collect_params().items() if p.grad_req != "null"}
    with pytest.raises(DeviceError, match=r"writes to an array of shape \(5,\)"):
        Trainer(trained, "sgd").step(12, closure=lambda: [LOSS(net(x), y) for x, y in zip(xs, ys, strict=True)])
    close(values(net), before)
    with pytest.raises(GraphError, match="it returned a float"):
        trainer.step(12, closure=lambda: [1.0, 2.0])


def test_a_joint_operator_takes_what_numpy_computed_for_the_first_device():
    ones = onp.ones(3, "float32")
    sums = joining.joint(2).eager(ones, jax.device_put(2 * ones, jax.devices()[1]))
    assert [next(iter(s.devices())).id for s in sums] == [0, 1]
    for total in sums:
        onp.testing.assert_array_equal(onp.asarray(total), 3 * ones)
