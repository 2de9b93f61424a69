"""Nets on meshes of fake devices: the numbers of one device, one program a step, and what XLA sends."""

import functools
import types

import jax
import numpy as onp
import optax
import pytest

import gluonx
from gluonx import Trainer, amp, autograd, engine, gluon, nn, np, parallel, sharding
from gluonx.deferred.values.core import aval_of
from lib.meshes import NETS, STRATEGIES, Experts, collectives, compilations, kinds, on, ran, train

STEPS = 20
EVERY = [(net, strategy, count) for net in NETS for strategy in STRATEGIES for count in (1, 2, 4, 8)]
QUICK = [("mlp", "data", 8), ("mlp", "fsdp", 8), ("mlp", "both", 4), ("lenet", "tensor", 2), ("mixture", "both", 8)]


@functools.cache
def alone(net):
    """The losses of one device, which is no mesh."""
    return train(net, steps=STEPS)


CASES = [
    pytest.param(*case, id="-".join(map(str, case)), marks=[] if case in QUICK else pytest.mark.slow) for case in EVERY
]


@pytest.mark.dear
@pytest.mark.parametrize(("net", "strategy", "count"), CASES)
def test_losses_are_those_of_one_device_by_one_program_a_step(net, strategy, count):
    axes, rules = STRATEGIES[strategy]
    seen = []

    def look(block, trainer, step, counts):
        seen.extend(counts)
        split = [p for p in block.collect_params().values() if p.sharding.spec]
        assert bool(split) == (strategy != "data" and count > 1)

    found = train(net, on(count, **axes(count)), rules, STEPS, look=look)
    onp.testing.assert_allclose(found, alone(net), rtol=0, atol=1e-5)
    assert seen[0][:2] == (1, 1)
    # On one device small weights become a vector, which takes a program of its own once.
    later = seen[1:] if count > 1 else seen[2:]
    assert set(later) == {(1, 0, 0)}, "one dispatch a step, and nothing is compiled after the first"


@pytest.mark.slow
def test_a_loop_that_reads_nothing_comes_to_its_end():
    """With hundreds of steps under way XLA's collectives on fake devices would lock up and end the process."""
    with parallel.use(on(8, data=8)):
        net = nn.HybridSequential()
        for _ in range(4):
            net.add(nn.Dense(256, activation="relu", in_units=256))
        net.initialize()
        trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
        x = parallel.split(np.ones((256, 256)))
        before = engine.stats()["dispatches"]
        for _ in range(600):
            with autograd.record():
                loss = (net(x) ** 2).mean()
            loss.backward()
            trainer.step(1)
        assert engine.stats()["dispatches"] <= before + 610
        assert onp.isfinite(loss.item())


def test_options_follow_the_devices_of_a_program_and_not_the_default_backend(monkeypatch):
    """XLA for GPUs or TPUs knows no scheduler of CPUs, and a mesh of CPUs wants it also beside a GPU."""
    cpus = jax.devices()[:2]
    options = sharding.multi_device_options(cpus)
    assert options == {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}
    for platform in ("gpu", "tpu"):
        others = [types.SimpleNamespace(platform=platform)] * 2
        assert sharding.multi_device_options(others) is None
        monkeypatch.setattr(jax, "default_backend", lambda platform=platform: platform)
        sharding.option_of_cpus.cache_clear()
        assert sharding.multi_device_options(cpus) == options and sharding.multi_device_options(others) is None


@pytest.mark.dear
def test_a_net_that_is_not_hybridized_trains_alike():
    found = train("mlp", on(8, data=8), [parallel.fsdp(min_size=64)], 3, hybridize=False)
    onp.testing.assert_allclose(found, alone("mlp")[:3], rtol=0, atol=1e-5)


# ------------------------------------------------------------------------------------- initial values and masks


@pytest.mark.dear
def test_initial_values_and_masks_are_the_same_bits():
    def values(mesh, *rules):
        gluonx.random.seed(4)
        with parallel.use(mesh):
            net = nn.HybridSequential()
            net.add(nn.Dense(32, in_units=16), nn.Dropout(0.5))
            if mesh is not None:
                net.shard(*rules)
            net.initialize()
            with autograd.train_mode():
                mask = net[1](parallel.split(onp.ones((16, 40), "f")))
            large = np.random.normal(size=(300, 400))
            return [net[0].weight.data().asnumpy(), mask.asnumpy(), large.asnumpy()]

    one = values(None)
    for found in (values(on(8, data=8), parallel.fsdp(min_size=1)), values(on(4, data=2, model=2), parallel.tensor())):
        for a, b in zip(one, found, strict=True):
            assert a.tobytes() == b.tobytes()


def test_each_device_holds_its_shard_alone():
    with parallel.use(on(8, data=8)):
        net = nn.Dense(64, in_units=16)
        net.shard(parallel.fsdp(min_size=1))
        net.initialize()
        value = net.weight.data()._read()
    assert [shard.data.shape for shard in value.addressable_shards] == [(8, 16)] * 8


# --------------------------------------------------------------------------------------- states and donation


@pytest.mark.dear
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "lamb", "ftrl"])
def test_states_lie_as_their_weights_do(optimizer):
    def look(net, trainer, step, counts):
        assert {count[0] for count in counts[1:]} == {1}
        assert all(count[1:] == (0, 0) for count in counts[1:])
        spread = {aval_of(state._read()).sharding.spec for state in trainer._held.arrays if state.size >= 64}
        assert all(spread), "large states are split"

    losses = train("mlp", on(4, data=4), [parallel.fsdp(min_size=64)], 4, optimizer=optimizer, settings={}, look=look)
    # An element whose gradient is almost nothing moves by its sign under some of these.
    onp.testing.assert_allclose(losses, train("mlp", steps=4, optimizer=optimizer, settings={}), atol=1e-3)


@pytest.mark.dear
def test_weights_are_donated():
    def look(net, trainer, step, counts):
        engine.waitall()
        before = net[0].weight.data()._read()
        pointers = {shard.data.unsafe_buffer_pointer() for shard in before.addressable_shards}
        del before
        step()
        after = net[0].weight.data()._read()
        assert pointers == {shard.data.unsafe_buffer_pointer() for shard in after.addressable_shards}

    train("mlp", on(4, data=4), [parallel.fsdp(min_size=64)], 3, look=look)


@pytest.mark.dear
def test_states_are_saved_and_loaded(tmp_path):
    def look(net, trainer, step, counts):
        net.save_parameters(str(tmp_path / "net.params"))
        trainer.save_states(str(tmp_path / "trainer.states"))
        wanted = [step().item() for _ in range(2)]
        place = net[0].weight.sharding
        net.load_parameters(str(tmp_path / "net.params"))
        trainer.load_states(str(tmp_path / "trainer.states"))
        assert net[0].weight.data()._read().sharding == place and place.spec
        assert [step().item() for _ in range(2)] == wanted

    train("lenet", on(4, data=4), [parallel.fsdp(min_size=64)], 3, look=look)


# ------------------------------------------------------------------------------------------- what is sent


def text_of(net, mesh, rules, steps=2):
    with ran() as texts:
        train(net, mesh, rules, steps)
    return texts[-1]


@pytest.mark.dear
def test_data_parallel_sums_the_gradients_once():
    sizes = []
    look = lambda net, *_: sizes.extend(p.data().size for p in net.collect_params().values())  # noqa: E731
    with ran() as texts:
        train("lenet", on(8, data=8), (), 2, look=look)
    found = collectives(texts[-1])
    assert set(found) == {"all-reduce"}
    assert len(found["all-reduce"]) <= 2, "XLA combines all but that of the weight that a convolution has transposed"
    assert sum(found["all-reduce"]) == sum(sizes) + 1, "every gradient, and the loss"


@pytest.mark.dear
def test_fsdp_gathers_each_weight_and_scatters_its_gradient():
    split, sizes = [], []

    def look(net, *_):
        params = net.collect_params().values()
        split.extend(p.data().size for p in params if p.sharding.spec)
        sizes.extend(p.data().size for p in params)

    with ran() as texts:
        train("lenet", on(8, data=8), [parallel.fsdp(min_size=64)], 2, look=look)
    found = collectives(texts[-1])
    assert sorted(found["all-gather"]) == sorted(split), "each weight that is split, once"
    # XLA for CPUs has no reduce-scatter: it sums and takes a slice, where a GPU's and a TPU's scatter.
    assert set(found) <= {"all-gather", "all-reduce", "reduce-scatter"}
    assert sum(found.get("all-reduce", ())) <= sum(sizes) + 1


@pytest.mark.dear
def test_tensor_parallel_sums_twice_a_block():
    def forward(net):
        net.hybridize()
        x = parallel.split(onp.ones((4, 6, 32), "f"))
        with autograd.record(), ran() as texts:
            out = net(x)
            out.wait_to_read()
        return texts[-1]

    with parallel.use(on(4, data=1, model=4)):
        layers = nn.HybridSequential()
        layers.add(*[nn.TransformerEncoderLayer(32, 64, 4) for _ in range(2)])
        layers.initialize()
        layers.shard(parallel.tensor())
        assert kinds(forward(layers)) == {"all-reduce": 4}
        pair = nn.HybridSequential()
        pair.add(nn.Dense(64, activation="relu", flatten=False), nn.Dropout(0.1), nn.Dense(32, flatten=False))
        pair.initialize()
        pair.shard(parallel.tensor())
        assert kinds(forward(pair)) == {"all-reduce": 1}


def test_experts_stay_where_they_are():
    class Placed(Experts):
        along = ("expert", "data")

    with parallel.use(on(8, data=2, expert=4)):
        net = Placed()
        net.initialize()
        report = net.shard(parallel.expert())
        assert tuple(report.shardings["expert_up"].spec) == ("expert",)
        with autograd.record(), ran() as texts:
            net(parallel.split(onp.ones((8, 16), "f"))).wait_to_read()
    weight = net.expert_up.data().size
    assert max(collectives(texts[-1]).get("all-gather", [0])) < weight // 8, "scores are sent, experts are not"


# ------------------------------------------------------------------------------------------------- batches


def test_a_loader_gives_global_batches_and_an_uneven_last_one():
    data = gluon.data.ArrayDataset(onp.arange(22 * 3, dtype="f").reshape(22, 3), onp.arange(22, dtype="i"))
    loader = gluon.data.DataLoader(data, batch_size=8)
    with parallel.use(on(4, data=4)):
        found = [(x, y) for x, y in loader]
    assert [tuple(x._read().sharding.spec) for x, _ in found] == [("data",), ("data",), ()]
    assert np.concatenate([y for _, y in found]).tolist() == list(range(22))
    assert [x._read().sharding.device_set for x, _ in found] == [set(jax.devices()[:4])] * 3
    for x, _ in loader:
        assert len(x._read().devices()) == 1, "without a mesh, one device"


@pytest.mark.dear
def test_uneven_last_batches_give_the_numbers_of_one_device():
    data = gluon.data.ArrayDataset(
        onp.random.default_rng(0).standard_normal((22, 12)).astype("f"), onp.arange(22, dtype="i") % 8
    )

    def losses(mesh):
        gluonx.random.seed(1)
        with parallel.use(mesh):
            net = NETS["mlp"][0]()
            net.initialize()
            trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
            found, metric = [], gluon.metric.Accuracy()
            for _ in range(2):
                for x, y in gluon.data.DataLoader(data, batch_size=8):
                    with autograd.record():
                        out = net(x)
                        value = gluon.loss.SoftmaxCrossEntropyLoss()(out, y)
                    value.backward()
                    norm = gluon.utils.clip_global_norm(
                        [p.grad() for p in trainer._params if p.grad_req != "null"], 1.0, False
                    )
                    trainer.step(len(x))
                    metric.update(y, out)
                    found += [value.mean().item(), norm.item()]
            return [*found, metric.get()[1]]

    onp.testing.assert_allclose(losses(on(4, data=4)), losses(None), atol=1e-5)


def test_split_takes_specs_and_structures():
    with parallel.use(on(8, data=4, seq=2)):
        tokens = parallel.split(onp.zeros((8, 6)), "data", "seq")
        assert tuple(tokens._read().sharding.spec) == ("data", "seq")
        tree = parallel.split({"x": np.zeros((8, 2)), "y": [np.zeros(8), np.zeros(3)]})
        assert tuple(tree["y"][0]._read().sharding.spec) == ("data",)
        assert tuple(tree["y"][1]._read().sharding.spec) == ()
        assert parallel.split([1.0, 2.0, 3.0, 4.0]).shape == (4,)
        assert tuple(parallel.split(np.zeros((3, 4)), axis=1)._read().sharding.spec) == (None, "data")
        with autograd.record():  # a pending value too
            z = parallel.split(np.ones((8, 2)) * 2)
        assert tuple(z._read().sharding.spec) == ("data",)
    assert len(parallel.split(onp.zeros((8, 6)))._read().devices()) == 1


# ------------------------------------------------------------------------------------------- all the rest


def test_a_net_joins_a_mesh_after_it_was_initialized():
    net = nn.HybridSequential()
    net.add(nn.Dense(16, in_units=8), nn.BatchNorm(in_channels=16))
    net.initialize()
    before = net[0].weight.data().asnumpy()
    handle = net[0].weight.data()
    with parallel.use(on(4, data=4)):
        print(net.shard(parallel.fsdp(min_size=1)))
        assert net[0].weight.data() is handle
        assert tuple(handle._read().sharding.spec) == ("data",)
        assert net[0].weight.grad().asnumpy().sum() == 0
        onp.testing.assert_array_equal(handle.asnumpy(), before)
        net[0].weight.set_data(before * 2)
        assert tuple(handle._read().sharding.spec) == ("data",)
        net[0].weight.set_data(np.array(before * 3))
        assert tuple(handle._read().sharding.spec) == ("data",)
        onp.testing.assert_array_equal(handle.asnumpy(), before * 3)
    net.reset_device(gluonx.cpu(0))
    assert len(net[0].weight.data()._read().devices()) == 1 and net[0].weight.sharding is None


WAYS = {"mesh": ["one", "fsdp", "one"], "layouts": ["fsdp", "tensor", "one", "list"], "list": ["list", "one", "fsdp"]}


def moving(way, optimizer, width):
    """Losses of a net that goes from place to place with its Trainer, two steps in each."""
    gluonx.random.seed(11)
    net = nn.HybridSequential()
    net.add(nn.Dense(width, activation="tanh", in_units=12), nn.Dense(8, in_units=width))
    net.initialize(gluonx.init.Xavier())
    net.hybridize()
    trainer, losses = Trainer(net.collect_params(), optimizer, {"learning_rate": 0.01}), []
    rules = {"fsdp": [parallel.fsdp(min_size=8)], "tensor": [parallel.tensor()]}
    data = onp.random.default_rng(5).standard_normal((16, 12)).astype("float32")
    label = onp.arange(16) % 8
    for place in way:
        with parallel.use(on(4, data=2, model=2) if place in rules else None):
            devices = [gluonx.cpu(0), gluonx.cpu(1)] if place == "list" else [gluonx.cpu(0)]
            if place in rules:
                net.shard(*rules[place])
                x, y = [parallel.split(data)], [parallel.split(label)]
            else:
                net.reset_ctx(devices)
                x, y = gluon.utils.split_and_load(data, devices), gluon.utils.split_and_load(label, devices)
            for _ in range(2):
                with autograd.record():
                    found = [gluon.loss.SoftmaxCrossEntropyLoss()(net(a), b) for a, b in zip(x, y, strict=True)]
                autograd.backward(found)
                trainer.step(16)
                losses.append(sum(value.sum().item() for value in found))
            if place in rules:
                assert engine.stats()["copies"] == 0
                weights = {(p.shape, p.sharding) for p in net.collect_params().values()}
                states = {(s.shape, s._read().sharding) for s in trainer._held.arrays}
                assert states == weights, "a state lies as its weight does"
    return losses


@pytest.mark.dear
@pytest.mark.parametrize("width", [16, pytest.param(520, marks=pytest.mark.slow)])  # small states travel together
@pytest.mark.parametrize("optimizer", ["adam", pytest.param("nag", marks=pytest.mark.slow)])
@pytest.mark.parametrize("way", WAYS)
def test_a_trainer_goes_along_from_place_to_place(way, optimizer, width):
    engine.reset_stats()
    losses = moving(WAYS[way], optimizer, width)
    onp.testing.assert_allclose(losses, moving(["one"] * len(WAYS[way]), optimizer, width), rtol=1e-5)


def test_constrain_is_nothing_without_a_mesh_and_passes_gradients_on_one():
    x = np.ones((8, 4))
    assert parallel.constrain(x, "data") is x

    class Net(gluonx.HybridBlock):
        def forward(self, x):
            return parallel.constrain(x * 2, "data") * 3

    for hybridize in (False, True):
        net = Net()
        net.hybridize(hybridize)
        assert net(x).sum().item() == 192
        with parallel.use(on(8, data=8)):
            y = np.ones((8, 4))
            y.attach_grad()
            with autograd.record():
                out = net(y)
            out.backward()
            assert y.grad.asnumpy().sum() == 192
            assert out._read().sharding.device_set == set(jax.devices())
            assert len(net(x)._read().devices()) == 8, "nor the one without a mesh on one"
        assert len(net(x)._read().devices()) == 1, "the trace for a mesh does not serve without one"


@pytest.mark.dear
def test_moving_averages_and_in_place_writes_keep_their_place():
    def look(net, *_):
        for name in ("running_mean", "running_var"):
            value = getattr(net[1], name).data()._read()
            assert value.sharding.is_fully_replicated and len(value.devices()) == 8

    train("mlp", on(8, data=8), [parallel.fsdp(min_size=64)], 2, look=look)
    with parallel.use(on(8, data=8)):
        x = parallel.split(onp.ones((8, 2), "f"))
        with autograd.record():
            x += np.ones((8, 2))
            x *= 2
        assert tuple(x._read().sharding.spec) == ("data",) and x.asnumpy().sum() == 64


def compared(
    make, data, steps, step=None, settings=("sgd", {"learning_rate": 0.05}), prepare=None, mesh=None, rules=None
):
    """The losses of one device, those of a mesh, and the counts of dispatches and compilations of each step there."""
    found = []
    for m in (None, mesh or on(4, data=4)):
        gluonx.random.seed(2)
        with parallel.use(m):
            net = make()
            net.initialize(gluonx.init.Xavier())
            if m is not None:
                net.shard(*(rules or [parallel.fsdp(min_size=16)]))
            if prepare is not None:
                prepare(net)
            trainer = Trainer(net.collect_params(), *settings)
            x, losses, counts = parallel.split(data), [], []
            for _ in range(steps):
                before = engine.stats()["dispatches"], compilations()
                value = (step or plain_step)(net, trainer, x)
                counts.append((engine.stats()["dispatches"] - before[0], compilations() - before[1]))
                losses.append(value)
            found.append([value.item() for value in losses])
    return *found, counts


def plain_step(net, trainer, x):
    with autograd.record():
        value = (net(x) ** 2).mean()
    value.backward()
    trainer.step(1)
    return value


def deep():
    net = nn.HybridSequential()
    for _ in range(4):
        net.add(nn.Dense(16, activation="tanh", in_units=16))
    return net


DATA = onp.random.default_rng(0).standard_normal((8, 16)).astype("f")


@pytest.mark.dear
@pytest.mark.parametrize("how", [{"scan": True}, {"remat": "layer"}, {"scan": True, "remat": "dots_saveable"}], ids=str)
@pytest.mark.parametrize("rules", [[parallel.fsdp(min_size=16)], [parallel.tensor()]], ids=["fsdp", "tensor"])
def test_scan_and_remat(how, rules):
    mesh = on(4, data=2, model=2)
    one, many, counts = compared(deep, DATA, 3, prepare=lambda net: net.hybridize(**how), mesh=mesh, rules=rules)
    onp.testing.assert_allclose(many, one, atol=1e-5)
    assert counts[1:] == [(1, 0)] * 2


def seen_step(texts):
    def step(net, trainer, x):
        with ran() as found:
            value = plain_step(net, trainer, x)
            value.item()
        texts.append(found[-1])
        return value

    return step


@pytest.mark.dear
@pytest.mark.parametrize("scan", [True, False])
def test_weights_that_are_split_are_gathered_a_layer_at_a_time(scan):
    """With ``scan`` the program has one layer's gathers and sums, in its loops, however deep the net is."""
    texts = []
    one, many, counts = compared(
        deep, DATA, 3, seen_step(texts), prepare=lambda net: net.hybridize(scan=scan), rules=[parallel.fsdp(min_size=1)]
    )
    onp.testing.assert_allclose(many, one, atol=1e-5)
    assert all(compiled == 0 for _, compiled in counts[2:])
    sent = collectives(texts[-1])
    weight, bias, layers = 16 * 16, 16, 1 if scan else 4
    # The backward of a loop gathers again: else it would keep all layers' weights whole.
    assert sorted(sent["all-gather"]) == sorted([weight, bias] * layers + [weight] * scan)
    assert sum(sum(sent.get(kind, [])) for kind in ("all-reduce", "reduce-scatter")) <= layers * (weight + bias) + 1


@pytest.mark.dear
def test_a_loop_follows_when_weights_are_laid_out_anew():
    texts = []
    with parallel.use(on(4, data=2, model=2)):
        net = deep()
        net.initialize(gluonx.init.Xavier())
        net.hybridize(scan=True)
        trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
        x = parallel.split(DATA)
        for rules in ([parallel.fsdp(min_size=1)], [parallel.tensor()], [parallel.data_parallel()]):
            net.shard(*rules)
            seen_step(texts)(net, trainer, x)
    first, _, last = [collectives(text) for text in texts]
    assert first["all-gather"] and "all-gather" not in last
    net.reset_device(gluonx.cpu(0))
    with autograd.record():
        value = (net(np.array(DATA)) ** 2).mean()
    value.backward()
    trainer.step(1)
    assert len(value._read().devices()) == 1


def test_an_update_on_a_mesh_joins_nothing_although_the_same_net_was_trained_on_one_device():
    """An optimizer without states has nothing else that tells the two updates apart."""
    texts = []
    compared(deep, DATA, 2, seen_step(texts), ("sgd", {"learning_rate": 0.03}), rules=[parallel.fsdp(min_size=1)])
    assert "all-gather" not in "".join(line for line in texts[-1].splitlines() if "/jit(update)/" in line)


@pytest.mark.dear
def test_lengths_are_split_and_attention_gathers_keys_and_values():
    def losses(mesh):
        gluonx.random.seed(2)
        with parallel.use(mesh):
            net = nn.HybridSequential()
            net.add(*[nn.TransformerEncoderLayer(32, 64, 4, 0.0, 0.0) for _ in range(2)])
            net.initialize(gluonx.init.Xavier())
            net.hybridize()
            trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
            data = onp.random.default_rng(0).standard_normal((4, 16, 32)).astype("f")
            x = parallel.split(data, "data", "sequence") if mesh is not None else np.array(data)
            texts = []
            return [seen_step(texts)(net, trainer, x).item() for _ in range(3)], texts[-1]

    one, _ = losses(None)
    many, text = losses(on(8, data=2, sequence=4))
    onp.testing.assert_allclose(many, one, atol=1e-5)
    sent = collectives(text)
    whole = 4 // 2 * 16 * 32  # the keys or the values of a device's samples
    assert sent["all-gather"] == [whole] * 4, "those of two layers, once each"
    assert set(sent) <= {"all-gather", "all-reduce", "reduce-scatter"}


def amp_step(net, trainer, x):
    with autograd.record():
        value = (net(x) ** 2).mean()
        with amp.scale_loss(value, trainer) as scaled:
            scaled.backward()
    trainer.step(1)
    return value


@pytest.mark.dear
@pytest.mark.parametrize("overflows", [False, True])
def test_a_loss_scale_on_a_mesh(overflows):
    """One program a step as without; where a gradient overflows, no shard of a weight moves."""
    amp.init("bfloat16")
    try:
        found = []
        for mesh in (None, on(4, data=4)):
            gluonx.random.seed(2)
            with parallel.use(mesh):
                net = deep()
                net.initialize(gluonx.init.Xavier())
                if mesh is not None:
                    net.shard(parallel.fsdp(min_size=16))
                net.hybridize()
                trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
                amp.init_trainer(trainer)
                x, bad = parallel.split(DATA), parallel.split(DATA * onp.float32(onp.inf))
                losses = []
                for step in range(5):
                    engine.reset_stats()
                    losses.append(amp_step(net, trainer, bad if overflows and step == 2 else x))
                    stats = engine.stats()
                values = [value.item() for value in losses]
                weights = [p.data().asnumpy() for p in net.collect_params().values()]
                found.append((values, weights, trainer.amp_loss_scale, trainer._scaler.skipped))
        (one, weights, *scale), (many, shards, *its_scale) = found
        onp.testing.assert_allclose(many, one, atol=2e-3)  # products in bfloat16
        for a, b in zip(weights, shards, strict=True):
            onp.testing.assert_allclose(b, a, atol=1e-2)
        assert scale == its_scale and scale[1] == overflows
        assert (stats["dispatches"], stats["programs_compiled"]) == (1, 0)
    finally:
        amp.reset()


def scales_on_the_way(way):
    """Losses, and scales after each place, of a net that goes from place to place with a scaled Trainer."""
    gluonx.random.seed(11)
    net = deep()
    net.initialize(gluonx.init.Xavier())
    trainer, losses, scales = Trainer(net.collect_params(), "adam", {"learning_rate": 0.01}), [], []
    amp.init_trainer(trainer)
    trainer._scaler.growth_interval = 3  # counts go along, or it would not grow in the second place
    places = {"one": [gluonx.cpu(0)], "other": [gluonx.cpu(1)], "list": [gluonx.cpu(0), gluonx.cpu(1)]}
    for place in way:
        with parallel.use(on(4, data=2, model=2) if place == "mesh" else None):
            if place == "mesh":
                net.shard(parallel.fsdp(min_size=8))
                xs = [parallel.split(DATA)]
            else:
                net.reset_ctx(places[place])
                xs = gluon.utils.split_and_load(DATA, places[place])
            for step in range(2):
                with autograd.record():
                    values = [(net(x) ** 2).sum() for x in xs]
                    with amp.scale_loss(values, trainer) as scaled:
                        autograd.backward(scaled)
                if step:
                    amp.unscale(trainer)
                trainer.step(len(DATA))
                losses.append(sum(value.item() for value in values))
            scales.append((trainer.amp_loss_scale, trainer._scaler.arrays[2].item()))
    return losses, scales


WAYS_OF_A_SCALE = [("one", "mesh", "one"), ("mesh", "other"), ("list", "one", "mesh"), ("other", "list", "other")]


@pytest.mark.dear
@pytest.mark.parametrize("way", WAYS_OF_A_SCALE, ids="-".join)
def test_a_loss_scale_goes_along_from_place_to_place(way):
    amp.init("bfloat16")
    try:
        losses, scales = scales_on_the_way(way)
        expected, its_scales = scales_on_the_way(["one"] * len(way))
        onp.testing.assert_allclose(losses, expected, rtol=2e-2)  # products in bfloat16
        assert scales == its_scales and scales[-1][0] > 2**15
    finally:
        amp.reset()


def closure_step(net, trainer, x):
    return trainer.step(8, closure=lambda: (net(x) ** 2).sum(-1))


def read_step(net, trainer, x):
    with autograd.record():
        value = (net(x) ** 2).mean()
    value.item()
    value.backward()
    trainer.step(1)
    return value


def clipped_step(net, trainer, x):
    with autograd.record():
        value = (net(x) ** 2).mean()
    value.backward()
    gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], 0.1, False)
    trainer.step(1)
    return value


def added_step(net, trainer, x):
    net.setattr("grad_req", "add")
    for _ in range(2):
        with autograd.record():
            value = (net(x) ** 2).mean()
        value.backward()
    trainer.step(2)
    net.zero_grad()
    return value


def naive_step(net, trainer, x):
    with engine.mode("naive"):
        return plain_step(net, trainer, x)


@pytest.mark.dear
@pytest.mark.parametrize(
    ("step", "dispatches"),
    [(closure_step, 1), (read_step, 3), (clipped_step, 1), (added_step, 2), (naive_step, None)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_other_steps(step, dispatches):
    settings = (optax.lbfgs(),) if step is closure_step else ("sgd", {"learning_rate": 0.05})
    one, many, counts = compared(deep, DATA, 4, step, settings)
    onp.testing.assert_allclose(many, one, rtol=1e-5, atol=1e-5)
    assert all(compiled == 0 for _, compiled in counts[2:])
    assert dispatches is None or {count for count, _ in counts} == {dispatches}


@pytest.mark.dear
def test_gradients_that_are_given_up():
    settings = ("adam", {}, "device", None, None)
    trainer = functools.partial(Trainer, keep_grads=False)
    losses = []
    for mesh in (None, on(4, data=4)):
        gluonx.random.seed(2)
        with parallel.use(mesh):
            net = deep()
            net.initialize(gluonx.init.Xavier())
            if mesh is not None:
                net.shard(parallel.fsdp(min_size=16))
            made = trainer(net.collect_params(), *settings)
            losses.append([plain_step(net, made, parallel.split(DATA)).item() for _ in range(3)])
    onp.testing.assert_allclose(*losses, atol=1e-5)


@pytest.mark.dear
def test_functions_of_jax_and_the_functional_view():
    with parallel.use(on(4, data=4)):
        x = parallel.split(DATA)
        x.attach_grad()
        with autograd.record():
            y = gluonx.from_jax(lambda a: jax.numpy.sin(a) * 2)(x)
        y.backward()
        assert tuple(x.grad._read().sharding.spec) == ("data",)
        onp.testing.assert_allclose(x.grad.asnumpy(), 2 * onp.cos(DATA), atol=1e-6)
        net = deep()
        net.initialize(gluonx.init.Xavier())
        net.shard(parallel.fsdp(min_size=16))
        pure = gluonx.functional(net)
        assert {tuple(p.sharding.spec) for p in pure.params.values() if p.ndim == 2} == {("data",)}
        out, _ = jax.jit(pure.apply)(pure.params, pure.state, jax.random.key(0), x._read())
        onp.testing.assert_allclose(out, net(x).asnumpy(), atol=1e-6)


@pytest.mark.dear
@pytest.mark.parametrize("kind", [nn.BatchNorm, nn.SyncBatchNorm])
def test_statistics_of_each_part_by_choice(kind):
    def losses(mesh, statistics):
        gluonx.random.seed(2)
        with parallel.use(mesh, statistics=statistics):
            net = nn.HybridSequential()
            net.add(nn.Dense(6, in_units=16), kind(in_channels=6))
            net.initialize(gluonx.init.Xavier())
            net.hybridize()
            trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
            x = parallel.split(DATA)
            with autograd.record(), ran() as texts:
                value = net(x)
                found = value.asnumpy()
            value.backward(np.array(found))
            trainer.step(8)
            mean = net[1].running_mean.data().asnumpy()
        return found, mean, texts[-1]

    whole, mean, _ = losses(None, "global")
    spread, its_mean, text = losses(on(4, data=4), "global")
    onp.testing.assert_allclose(spread, whole, atol=1e-5)
    onp.testing.assert_allclose(its_mean, mean, atol=1e-6)
    assert kinds(text)["all-reduce"]
    apart, other_mean, text = losses(on(4, data=4), "local")
    if kind is nn.SyncBatchNorm:
        onp.testing.assert_allclose(apart, whole, atol=1e-5)
        return
    onp.testing.assert_allclose(apart.reshape(4, 2, 6).mean(axis=1), 0, atol=1e-5)
    onp.testing.assert_allclose(other_mean, mean, atol=1e-6)
    assert collectives(text).get("all-reduce", [0])[-1] <= 12, "only the moving averages are sent"
    with pytest.raises(ValueError, match="'global' or 'local'"):
        parallel.use(on(2, data=2), statistics="mine")
