"""Parameters on several devices: MXNet's loop over ``ctx=[...]``, with the numbers of one device."""

import copy

import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, amp, autograd, engine, gluon, nn, np
from gluonx.errors import ArgumentError, DeviceError, GluonxError, StaleGradientError

cpu = gluonx.cpu
# Devices of their own, with the default one and without; those that share one of JAX's; both.
MORE = [[cpu(1), cpu(2), cpu(3)], [cpu(0), cpu(8)], [cpu(0), cpu(1), cpu(8), cpu(9)]]
LISTS = [[cpu(0), cpu(1)], *[pytest.param(devices, marks=pytest.mark.slow) for devices in MORE]]
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def batches(steps=4, size=12):
    draw = onp.random.RandomState(0)
    return [(draw.randn(size, 6).astype("float32"), draw.randint(0, 3, size)) for _ in range(steps)]


def mlp(devices, hybrid=True, *between):
    gluonx.random.seed(3)
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), *between, nn.Dense(3))
    net.initialize(gluonx.init.Xavier(), ctx=devices)
    if hybrid:
        net.hybridize()
    return net


def twins(devices):
    """A net on these devices, and one of the same values on one."""
    nets = mlp(devices), mlp([cpu(0)])
    for net in nets:
        net(np.ones((1, 6), device=net.collect_params()["0.bias"].list_ctx()[0]))
    for name, param in nets[1].collect_params().items():
        param.set_data(nets[0].collect_params()[name].list_data()[0].asnumpy())
    return nets


def split(batch, devices, even=True):
    return [gluon.utils.split_and_load(np.array(part), devices, even_split=even) for part in batch]


def train(net, trainer, devices, data, after=None, even=True):
    """Losses, and what the last step took in programs."""
    found = []
    for batch in data:
        xs, ys = split(batch, devices, even)
        engine.reset_stats()
        with autograd.record():
            losses = [LOSS(net(x), y) for x, y in zip(xs, ys, strict=True)]
        for loss in losses:
            loss.backward()
        (after or trainer.step)(len(batch[0]))
        stats = engine.stats()
        found.append(sum(loss.sum().item() for loss in losses) / len(batch[0]))
    return onp.array(found), stats


def same(net):
    for name, param in net.collect_params().items():
        first, *rest = [array.asnumpy() for array in param.list_data()]
        for other in rest:
            assert onp.array_equal(first, other), name
    return {name: param.data(param.list_ctx()[0]).asnumpy() for name, param in net.collect_params().items()}


def close(one, two, bound=0.0):
    for name in one:
        rtol, atol = max(2e-5, bound), max(1e-6, bound)
        onp.testing.assert_allclose(one[name], two[name], rtol=rtol, atol=atol, err_msg=name)


def trained(devices, hybrid=True, optimizer="adam", even=True, size=12, **kwargs):
    net = mlp(devices, hybrid)
    trainer = Trainer(net.collect_params(), optimizer, {"learning_rate": 0.05}, **kwargs)
    losses, stats = train(net, trainer, devices, batches(size=size), even=even)
    return losses, same(net), stats


@pytest.mark.dear
@pytest.mark.parametrize(
    ("devices", "hybrid"),
    [([cpu(0), cpu(1)], True), ([cpu(0), cpu(8)], False)]
    + [pytest.param(d, h, marks=pytest.mark.slow) for d in MORE for h in (True, False)],
    ids=str,
)
def test_a_loop_over_devices_has_the_numbers_of_one_and_is_one_program(devices, hybrid):
    alone, weights, _ = trained([cpu(0)], hybrid)
    losses, replicas, stats = trained(devices, hybrid)
    onp.testing.assert_allclose(losses, alone, rtol=1e-5)
    close(replicas, weights)
    assert (stats["dispatches"], stats["programs_compiled"], stats["copies"]) == (1, 0, 0)


@pytest.mark.dear
@pytest.mark.parametrize("size", [12, 13])
@pytest.mark.parametrize("optimizer", ["adam", pytest.param("lamb", marks=pytest.mark.slow)])
@pytest.mark.parametrize("devices", [[cpu(0), cpu(1), cpu(8)], [cpu(9), cpu(1), cpu(0)]], ids=str)
def test_some_devices_of_a_list_share_one_and_others_do_not(devices, optimizer, size):
    """No one program has equally many on each of JAX's: the sum and the update are computed on the first."""
    alone, weights, _ = trained([cpu(0)], optimizer=optimizer, size=size)
    losses, replicas, stats = trained(devices, optimizer=optimizer, size=size, even=size == 12)
    onp.testing.assert_allclose(losses, alone, rtol=1e-5)
    close(replicas, weights)
    assert (stats["programs_compiled"], stats["traces"]) == (0, 0)
    sums, replicas, _ = trained(devices, optimizer=optimizer, size=size, even=size == 12, update_on_kvstore=False)
    onp.testing.assert_allclose(sums, alone, rtol=1e-5)
    close(replicas, weights)


@pytest.mark.dear
def test_a_step_of_several_devices_is_explained():
    net = mlp([cpu(0), cpu(1)])
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    for batch in batches(2):
        xs, ys = split(batch, [cpu(0), cpu(1)])
        with autograd.record():
            losses = [LOSS(net(x), y) for x, y in zip(xs, ys, strict=True)]
        autograd.backward(losses)
        trainer.step(12)
    said = engine.explain().splitlines()
    assert said[0] == "8 operations, compiled, because of: trainer.step"
    assert said[1] == "one program on 2 devices, which do the same; run 2 time(s)"
    assert "sum over devices" in engine.explain()


def scaled(devices, hybrid=True, overflow=None, clip=False, optimizer="adam", start=2.0**10):
    """Train under a loss scale: weights, scale, steps skipped, what a step took. In step `overflow` a loss is inf."""
    amp.init("bfloat16")
    try:
        net = mlp(devices, hybrid)
        trainer = Trainer(net.collect_params(), optimizer, {"learning_rate": 0.05}, update_on_kvstore=not clip and None)
        amp.init_trainer(trainer)
        trainer._scaler.load_state_dict({"numbers": [start, start, 0, 0]})
        for i, batch in enumerate(batches(5)):
            xs, ys = split(batch, devices)
            engine.reset_stats()
            with autograd.record():
                losses = [LOSS(net(x), y) for x, y in zip(xs, ys, strict=True)]
                if i == overflow:
                    losses[-1] = losses[-1] * onp.inf
                with amp.scale_loss(losses, trainer) as each:
                    autograd.backward(each)
            if clip:
                trainer.allreduce_grads()
                amp.unscale(trainer)
                for device in devices:
                    gluon.utils.clip_global_norm([p.grad(device) for p in net.collect_params().values()], 0.5, False)
                trainer.update(len(batch[0]))
            else:
                trainer.step(len(batch[0]))
            stats = engine.stats()
        return same(net), trainer.amp_loss_scale, trainer._scaler.skipped, stats
    finally:
        amp.reset()


@pytest.mark.dear
@pytest.mark.parametrize("devices", [[cpu(0), cpu(1)], pytest.param(MORE[2], marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"overflow": 1},
        pytest.param({"hybrid": False, "optimizer": "sgd"}, marks=pytest.mark.slow),
        pytest.param({"overflow": 2, "optimizer": "lamb"}, marks=pytest.mark.slow),
        pytest.param({"clip": True, "overflow": 1}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_loss_scale_on_several_devices(devices, how):
    weights, scale, skipped, _ = scaled([cpu(0)], **how)
    replicas, its_scale, its_skipped, stats = scaled(devices, **how)
    close(replicas, weights, 2e-2 if "clip" in how else 5e-3)  # products in bfloat16
    assert (its_scale, its_skipped) == (scale, skipped) == ((512.0, 1) if "overflow" in how else (1024.0, 0))
    assert "clip" in how or (stats["dispatches"], stats["programs_compiled"]) == (1, 0)


@pytest.mark.dear
@pytest.mark.parametrize("devices", LISTS, ids=str)
def test_uneven_slices(devices):
    alone, weights, _ = trained([cpu(0)], size=13)
    losses, replicas, stats = trained(devices, even=False, size=13)
    onp.testing.assert_allclose(losses, alone, rtol=1e-5)
    close(replicas, weights)
    assert stats["programs_compiled"] == 0
    # One for each device of JAX and one more; devices that share one are one program.
    assert stats["dispatches"] == {"[cpu(0), cpu(8)]": 1, "[cpu(0), cpu(1), cpu(8), cpu(9)]": 3}.get(
        str(devices), len(devices) + 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("devices", [[cpu(0), cpu(1)], *MORE], ids=str)
@pytest.mark.parametrize("store", ["local", "device", "nccl", "dist_sync", "dist_device_sync"])
def test_every_name_of_a_kvstore(devices, store):
    alone, weights, _ = trained([cpu(0)], optimizer="sgd")
    losses, replicas, _ = trained(devices, optimizer="sgd", kvstore=store)
    onp.testing.assert_allclose(losses, alone, rtol=1e-5)
    close(replicas, weights)


@pytest.mark.dear
@pytest.mark.parametrize("devices", LISTS, ids=str)
def test_clipping_between_allreduce_and_update(devices):
    def run(devices):
        net = mlp(devices)
        trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5}, update_on_kvstore=False)

        def after(size):
            trainer.allreduce_grads()
            for device in devices:
                grads = [p.grad(device) for p in net.collect_params().values()]
                gluon.utils.clip_global_norm(grads, 2.0, check_isfinite=False)
            trainer.update(size)

        return *train(net, trainer, devices, batches(), after), same(net)

    alone, _, weights = run([cpu(0)])
    losses, stats, replicas = run(devices)
    onp.testing.assert_allclose(losses, alone, rtol=1e-5)
    close(replicas, weights)
    assert (stats["dispatches"], stats["programs_compiled"]) == (1, 0)


@pytest.mark.parametrize("devices", LISTS, ids=str)
def test_gradients_are_each_devices_own_until_they_are_summed(devices):
    net = mlp(devices)
    (x, y), n = batches(1)[0], len(devices)
    xs, ys = split((x, y), devices)
    with autograd.record():
        losses = [LOSS(net(a), b) for a, b in zip(xs, ys, strict=True)]
    autograd.backward(losses)
    weight = net[1].weight
    own = [g.asnumpy() for g in weight.list_grad()]
    assert len(own) == n and not onp.allclose(own[0], own[1])
    assert [g.device for g in weight.list_grad()] == devices == weight.list_ctx()
    Trainer(net.collect_params(), "sgd", update_on_kvstore=False).allreduce_grads()
    for grad in weight.list_grad():
        onp.testing.assert_allclose(grad.asnumpy(), sum(own), rtol=1e-5, atol=1e-6)
    weight.zero_grad()
    assert not any(g.asnumpy().any() for g in weight.list_grad())


@pytest.mark.dear
@pytest.mark.parametrize("devices", LISTS[:3], ids=str)
def test_gradients_add_up(devices):
    net, one = twins(devices)
    net.setattr("grad_req", "add")
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    one.setattr("grad_req", "add")
    other = Trainer(one.collect_params(), "sgd", {"learning_rate": 0.1})
    for k, batch in enumerate(batches()):
        for n, d in ((net, devices), (one, [cpu(0)])):
            with autograd.record():
                losses = [LOSS(n(x), y) for x, y in zip(*split(batch, d), strict=True)]
            autograd.backward(losses)
        if k % 2:
            trainer.step(24), other.step(24)
            net.zero_grad(), one.zero_grad()
    close(same(net), same(one))


@pytest.mark.dear
@pytest.mark.parametrize("devices", LISTS, ids=str)
def test_a_loss_that_is_read_before_its_backward(devices):
    alone, weights, _ = trained([cpu(0)])
    net = mlp(devices)
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    for batch, expected in zip(batches(), alone, strict=True):
        with autograd.record():
            losses = [LOSS(net(x), y) for x, y in zip(*split(batch, devices), strict=True)]
        total = sum(float(loss.sum().asnumpy()) for loss in losses) / 12
        assert total == pytest.approx(expected, rel=1e-5)
        for loss in losses:
            loss.backward()
        trainer.step(12)
    close(same(net), weights)


@pytest.mark.dear
@pytest.mark.parametrize("devices", LISTS[:3], ids=str)
def test_statistics_are_each_devices_own(devices, tmp_path):
    net = mlp(devices, True, nn.BatchNorm())
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    _, stats = train(net, trainer, devices, batches())
    assert stats["dispatches"] == 1
    means = [array.asnumpy() for array in net[1].running_mean.list_data()]
    assert not onp.allclose(means[0], means[1])
    net.save_parameters(str(tmp_path / "net.params"))
    one = mlp([cpu(0)], True, nn.BatchNorm())
    one.load_parameters(str(tmp_path / "net.params"))
    onp.testing.assert_allclose(one[1].running_mean.data().asnumpy(), onp.mean(means, 0), rtol=1e-5)
    # What a part of the batch gives on its device is what it gives alone.
    parts = split(batches(1)[0], devices)[0]
    for k, part in enumerate(parts):
        here = mlp([cpu(0)], True, nn.BatchNorm())
        for name, param in net.collect_params().items():
            here.collect_params()[name].set_data(param.list_data()[k].asnumpy())
        onp.testing.assert_allclose(net(part).asnumpy(), here(part.as_in_ctx(cpu(0))).asnumpy(), rtol=1e-4, atol=1e-5)


def images(devices, hybrid, norm=nn.SyncBatchNorm):
    """A net with synchronized statistics of images and of vectors."""
    gluonx.random.seed(3)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(3, 3), norm(), nn.Activation("relu"), nn.Dense(5), norm(), nn.Dense(3))
    net.initialize(gluonx.init.Xavier(), ctx=devices)
    if hybrid:
        net.hybridize()
    return net


def pictures(steps, size=12):
    draw = onp.random.RandomState(0)
    shift = onp.linspace(0, 3, size, dtype="float32").reshape(-1, 1, 1, 1)  # the parts have other means than the whole
    return [(draw.randn(size, 2, 5, 5).astype("float32") + shift, draw.randint(0, 3, size)) for _ in range(steps)]


@pytest.mark.dear
@pytest.mark.parametrize(
    "devices",
    [
        [cpu(0), cpu(1)],
        [cpu(0), cpu(8)],
        [cpu(9), cpu(0), cpu(1)],
        pytest.param(MORE[0], marks=pytest.mark.slow),
        pytest.param([cpu(8), cpu(16)], marks=pytest.mark.slow),
        pytest.param([cpu(0), cpu(8), cpu(1), cpu(9)], marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.parametrize("hybrid", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_synchronized_statistics_are_those_of_the_whole_batch(devices, hybrid):
    nets, found = [], []
    for places, norm in ((devices, nn.SyncBatchNorm), ([cpu(0)], nn.BatchNorm)):
        net = images(places, hybrid, norm)
        nets.append(net)
        trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05, "momentum": 0.9})
        losses, stats = train(net, trainer, places, pictures(2) * 10)
        found.append(losses)
        assert (stats["dispatches"], stats["programs_compiled"], stats["copies"], stats["traces"]) == (1, 0, 0, 0)
    onp.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-5)
    assert found[1][0] - found[1][-1] > 0.1
    replicas, whole = map(same, nets)  # the running statistics too are the same bits on each device
    for name in whole:
        onp.testing.assert_allclose(replicas[name], whole[name], rtol=1e-6 if "running" in name else 1e-4, atol=1e-6)
    x = pictures(1)[0][0]
    outs = [net(np.array(x, device=place)).asnumpy() for net, place in zip(nets, (devices[0], cpu(0)), strict=True)]
    onp.testing.assert_allclose(*outs, rtol=1e-4, atol=1e-5)


@pytest.mark.dear
def test_a_net_that_leaves_its_devices_is_hybridized_again():
    net = images([cpu(0), cpu(1)], True)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    _, stats = train(net, trainer, [cpu(0), cpu(1)], pictures(1))
    assert list(stats["unhybridized"]) == ["SyncBatchNorm on several devices"]
    net.reset_ctx(cpu(0))
    _, stats = train(net, Trainer(net.collect_params(), "sgd"), [cpu(0)], pictures(1))
    assert stats["unhybridized"] == {} and stats["traces"] > 0


REFUSED = ["read", "at once", "uneven", "one", "naive"]


@pytest.mark.parametrize("hybrid", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("devices", [[cpu(0), cpu(1)], [cpu(0), cpu(8)]], ids=str)
@pytest.mark.parametrize("how", REFUSED)
def test_synchronized_statistics_that_cannot_be_had_are_refused_with_the_way(how, devices, hybrid):
    net = images(devices, hybrid)
    net(np.ones((1, 2, 5, 5)))
    before = {name: [a.asnumpy() for a in p.list_data()] for name, p in net.collect_params().items()}
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    parts = list(zip(*split(pictures(1, 5 if how == "uneven" else 4)[0], devices, even=False), strict=True))
    told = pytest.raises(DeviceError, match=r"SyncBatchNorm on 2 devices .*parallel\.mesh")
    if how == "at once":
        with told, autograd.train_mode():
            net(parts[0][0])
    elif how == "naive":
        with engine.mode("naive"), told, autograd.record():
            net(parts[0][0])
    else:
        with autograd.record():
            losses = [LOSS(net(x), y) for x, y in parts[: 1 if how == "one" else 2]]
        with told:
            if how == "read":
                losses[0].asnumpy()
            autograd.backward(losses)
            trainer.step(4, ignore_stale_grad=how == "one")
    for name, p in net.collect_params().items():  # nothing was written
        for was, now in zip(before[name], p.list_data(), strict=True):
            assert onp.array_equal(was, now.asnumpy()), name


@pytest.mark.dear
@pytest.mark.parametrize("devices", LISTS[:3], ids=str)
@pytest.mark.parametrize("hybrid", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_dropout_draws_on_each_device(devices, hybrid):
    net = nn.HybridSequential()
    net.add(nn.Dropout(0.5), nn.Dense(1, use_bias=False, weight_initializer="ones"))
    net.initialize(ctx=devices)
    if hybrid:
        net.hybridize()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.0})
    with autograd.record():
        outs = [net(np.ones((4, 64), device=d)) for d in devices]
    autograd.backward(outs)
    trainer.step(4)
    grads = [g.asnumpy() for g in net[1].weight.list_grad()]
    assert not onp.array_equal(grads[0], grads[1])
    same(net)


@pytest.mark.dear
@pytest.mark.parametrize("devices", LISTS[:1] + [MORE[1]], ids=str)
@pytest.mark.parametrize(
    "make",
    [gluon.metric.Accuracy, gluon.metric.PearsonCorrelation, gluon.metric.PCC, gluon.metric.Perplexity],
    ids=lambda make: make.__name__,
)
def test_a_metric_takes_the_outputs_of_each_device(devices, make):
    """As a list after a step, or one by one in record(); the totals go along with the devices."""
    metrics = [make() for _ in range(3)]
    for batch in batches(2):
        whole = onp.abs(batch[0][:, :3]) / onp.abs(batch[0][:, :3]).sum(1, keepdims=True)
        label = batch[1] if make is not gluon.metric.PearsonCorrelation else whole[:, ::-1].copy()
        metrics[0].update(np.array(label), np.array(whole))
        xs, ys = split((whole, label), devices)
        metrics[1].update(ys, xs)
        with autograd.record():
            for x, y in zip(xs, ys, strict=True):
                metrics[2].update(y, x * 1)
    (_, one), *others = [metric.get() for metric in metrics]
    for _, several in others:
        assert several == pytest.approx(one, rel=1e-5)


def test_what_is_written_is_written_to_all():
    devices = [cpu(0), cpu(1), cpu(9)]
    net = mlp(devices)
    net(np.ones((1, 6)))
    weight = net[0].weight
    weight.set_data(np.ones((8, 6)) * 2)
    assert [a.device for a in weight.list_data()] == devices
    assert all((a.asnumpy() == 2).all() for a in weight.list_data())
    net.cast("float16")
    assert {a.dtype for a in weight.list_data()} == {onp.dtype("float16")}
    with cpu(1):
        assert weight.data() is weight.data(cpu(1)) is weight.list_data()[1]
    again = copy.deepcopy(net)
    assert again[0].weight.list_ctx() == devices
    net.reset_ctx([cpu(2), cpu(3)])
    assert [a.device for a in weight.list_data()] == [cpu(2), cpu(3)]
    net.reset_ctx(cpu(0))
    assert [a.device for a in weight.list_data()] == [cpu(0)]


def test_files_come_back_on_all_devices(tmp_path):
    devices = [cpu(0), cpu(1)]
    net = mlp(devices)
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    train(net, trainer, devices, batches(2))
    net.save_parameters(str(tmp_path / "net"))
    trainer.save_states(str(tmp_path / "states"))
    fresh = nn.HybridSequential()
    fresh.add(nn.Dense(8, activation="relu"), nn.Dense(3))
    fresh.load_parameters(str(tmp_path / "net"), ctx=devices)
    other = Trainer(fresh.collect_params(), "adam", {"learning_rate": 0.05})
    other.load_states(str(tmp_path / "states"))
    one, _ = train(net, trainer, devices, batches(2))
    two, _ = train(fresh, other, devices, batches(2))
    assert list(one) == list(two)
    close(same(net), same(fresh))


class ByHand(gluonx.optimizer.Optimizer):
    """An optimizer with a step of its own."""

    def create_state(self, index, weight):
        return np.zeros(weight.shape, device=weight.device)

    def step(self, indices, weights, grads, states):
        for i, weight, grad, state in zip(indices, weights, grads, states, strict=True):
            state[:] = 0.9 * state + grad * self.rescale_grad
            weight[:] = weight - self._get_lrs([i])[0] * state


@pytest.mark.slow
def test_steps_written_by_hand():
    alone, weights, _ = _by_hand([cpu(0)])
    for devices in [[cpu(0), cpu(1)], *MORE]:
        losses, replicas, _ = _by_hand(devices)
        onp.testing.assert_allclose(losses, alone, rtol=1e-5)
        close(replicas, weights)


def _by_hand(devices):
    net = mlp(devices)
    losses, stats = train(net, Trainer(net.collect_params(), ByHand(learning_rate=0.05)), devices, batches())
    return losses, same(net), stats


def test_replicas_that_were_made_to_differ_are_told():
    devices = [cpu(0), cpu(1)]
    net = mlp(devices)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    train(net, trainer, devices, batches(1))
    net[0].weight.list_data()[1][:] = 0
    with pytest.raises(GluonxError, match=r"'HybridSequential.0.weight' is not the same on cpu\(0\) and cpu\(1\)"):
        train(net, trainer, devices, batches(1))
    net[0].weight.set_data(np.zeros((8, 6)))
    train(net, trainer, devices, batches(1))


@pytest.mark.dear
def test_a_device_without_a_slice_is_told_and_can_be_left_out():
    devices = [cpu(0), cpu(1)]
    net, one = twins(devices)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    other = Trainer(one.collect_params(), "sgd", {"learning_rate": 0.1})
    train(net, trainer, devices, batches(1))
    train(one, other, [cpu(0)], batches(1))
    x, y = map(np.array, batches(1, 4)[0])
    for n in net, one:
        with autograd.record():
            loss = LOSS(n(x), y)
        loss.backward()
    with pytest.raises(StaleGradientError):
        trainer.step(4)
    trainer.step(4, ignore_stale_grad=True)
    other.step(4)
    close(same(net), same(one))


@pytest.mark.slow  # a port does the same
def test_a_hand_written_sum_over_devices():
    devices = [cpu(0), cpu(1)]
    start = onp.random.RandomState(1).randn(3, 6).astype("float32")
    x, y = batches(1)[0]

    def run(devices):
        params = [np.array(start, device=d) for d in devices]
        for p in params:
            p.attach_grad()
        for _ in range(3):
            xs, ys = split((x, y), devices)
            with autograd.record():
                losses = [LOSS(np.dot(a, p.T), b) for a, b, p in zip(xs, ys, params, strict=True)]
            for loss in losses:
                loss.backward()
            grads = [p.grad for p in params]
            for grad in grads[1:]:
                grads[0][:] += grad.as_in_ctx(grads[0].ctx)
            for grad in grads[1:]:
                grad[:] = grads[0].as_in_ctx(grad.ctx)
            for p in params:
                p[:] -= 0.1 * p.grad / 12
        return [p.asnumpy() for p in params]

    (alone,) = run([cpu(0)])
    for replica in run(devices):
        onp.testing.assert_allclose(replica, alone, rtol=1e-5, atol=1e-6)


@pytest.mark.dear
def test_what_does_not_go_on_several_devices_says_so():
    devices = [cpu(0), cpu(1)]
    net = mlp(devices)
    net(np.ones((1, 6)))
    with pytest.raises(DeviceError, match=r"lives on \[cpu\(0\), cpu\(1\)\], and the current device is cpu\(5\)"):
        net(np.ones((1, 6), device=cpu(5)))
    other = nn.Dense(2, in_units=2)
    other.initialize()
    trainer = Trainer([*net.collect_params().values(), *other.collect_params().values()], "sgd")
    with autograd.record():
        loss = [net(np.ones((1, 6), device=d)).sum() for d in devices] + [other(np.ones((1, 2))).sum()]
    autograd.backward(loss)
    with pytest.raises(DeviceError, match="all parameters on the same devices"):
        trainer.step(1)
    with gluonx.parallel.use(gluonx.parallel.mesh(data=-1)), pytest.raises(DeviceError, match="a mesh is in use"):
        nn.Dense(2, in_units=2).initialize(ctx=devices)
    with autograd.record():
        loss = [net(np.ones((1, 6), device=d)).sum() for d in devices]
    autograd.backward(loss)
    with pytest.raises(ArgumentError, match="several devices"):
        Trainer(net.collect_params(), "sgd").step(1, value=1.0)
    gluonx.waitall()
