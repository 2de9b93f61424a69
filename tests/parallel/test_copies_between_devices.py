"""Copies between devices are part of the tape: nets of which each device has some layers, as users write them."""

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, gluon, nn, np
from gluonx.errors import DeviceError

cpu = gluonx.cpu
# One of JAX's for each; one of JAX's for both; neither is the default one.
PAIRS = [(cpu(0), cpu(1)), (cpu(0), cpu(8)), (cpu(2), cpu(1))]
WAYS = ["as_in_ctx", "as_in_context", "to_device", "copyto", "copyto array", "write", "write rows"]


def brought(x, device, way):
    """The value of `x` on `device`, by each way that there is."""
    if way not in ("copyto array", "write", "write rows"):
        return getattr(x, way)(device)
    target = np.zeros(x.shape, ctx=device)
    if way == "copyto array":
        x.copyto(target)
    elif way == "write":
        target[:] = x
    else:
        target[0], target[1:] = x[0], x[1:]
    return target


def leaf(values, device, req="write"):
    array = np.array(values, dtype="float32", ctx=device)
    array.attach_grad(req)
    return array


@pytest.mark.parametrize("mode", ["deferred", "naive"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_a_gradient_passes_a_copy(pair, way, mode):
    here, there = pair
    with engine.mode(mode):
        x, w = leaf([1, 2, 3], here), leaf([2, 4, 6], there)
        with autograd.record():
            y = brought(x * 2, there, way)
            loss = (y * y * w).sum()
        assert (y.device, loss.device) == (there, there)
        loss.backward()
    assert (x.grad.device, w.grad.device) == (here, there)
    assert x.grad.tolist() == [16, 64, 144] and w.grad.tolist() == [4, 16, 36]


@pytest.mark.parametrize("mode", ["deferred", "naive"])
@pytest.mark.parametrize("way", ["as_in_ctx", "copyto array", "write", "write rows"])
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_a_leaf_itself_is_copied(pair, way, mode):
    """Gradients that are added are added: MXNet 2.0 forgets the old ones behind a copy."""
    x = leaf([1, 2], pair[0], "add")
    for _ in range(2):
        with engine.mode(mode):
            with autograd.record():
                y = brought(x, pair[1], way)
                loss = (y * y).sum()
            loss.backward()
        assert y.device == pair[1]
    assert x.grad.tolist() == [4, 8] and x.grad.device == pair[0]


def test_what_is_copied_outside_of_record_is_a_constant():
    x = leaf([1, 2], cpu(0))
    with autograd.record():
        y = x * 2
    outside = y.as_in_ctx(cpu(1))
    with autograd.record():
        loss = (outside * outside).sum() + (y * 3).as_in_ctx(cpu(1)).sum()
    loss.backward()
    assert x.grad.tolist() == [6, 6]


def test_no_copy_is_made_where_the_array_is():
    x = leaf([1, 2], cpu(0))
    engine.reset_stats()
    with autograd.record():
        y = x * 2
        assert y.as_in_ctx(cpu(0)) is y and y.to_device(y.device) is y
        assert engine.stats()["dispatches"] == 0  # to ask computes nothing


@pytest.mark.parametrize("mode", ["deferred", "naive"])
@pytest.mark.parametrize("marked", [False, True])
def test_heads_on_two_devices_share_what_is_before_the_copy(marked, mode):
    with engine.mode(mode):
        x, w = leaf([1, 2], cpu(0)), leaf([3, 5], cpu(1))
        with autograd.record():
            h = x * 2
            if marked:
                h.attach_grad()
            m = h.as_in_ctx(cpu(1))
            heads = [(h * 3).sum(), (m * m * w).sum()]
        autograd.backward(heads)
    assert x.grad.tolist() == [30, 86] and w.grad.tolist() == [4, 16]
    assert not marked or h.grad.tolist() == [15, 43]


@pytest.mark.parametrize("mode", ["deferred", "naive"])
def test_gradients_of_gradients_pass_a_copy(mode):
    with engine.mode(mode):
        x = leaf([1, 2], cpu(0))
        with autograd.record():
            y = (x**3).as_in_ctx(cpu(1))
            (slope,) = autograd.grad((y * y).sum(), [x], create_graph=True, retain_graph=True)
            total = slope.sum()
        total.backward()
    assert slope.device == cpu(0)
    onp.testing.assert_allclose(slope.asnumpy(), [6, 192], rtol=1e-5)
    onp.testing.assert_allclose(x.grad.asnumpy(), [30, 480], rtol=1e-5)


@pytest.mark.dear
def test_a_gradient_goes_twice_and_over_many_devices():
    x = leaf([1, 2], cpu(0), "add")
    with autograd.record():
        y = x
        for k in range(6):
            y = (y * 1.5).as_in_ctx(cpu(k % 4))
        loss = y.sum()
    loss.backward(retain_graph=True)
    loss.backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), [2 * 1.5**6] * 2, rtol=1e-6)
    with pytest.raises(gluonx.errors.GraphError, match="freed"):
        loss.backward()


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("way", ["split", "replicate"])
def test_a_gradient_passes_the_way_to_a_mesh_and_back(way, read):
    with gluonx.parallel.use(gluonx.parallel.mesh(data=2, devices=jax.devices()[:2])):
        x = leaf([1, 2, 3, 4], cpu(0))
        with autograd.record():
            h = x * 2 if read else x
            if read:
                h.wait_to_read()
            y = getattr(gluonx.parallel, way)(h)
            loss = (y * y).sum()
            alone = loss.to_device(cpu(3)) * 2
        alone.backward()
    assert x.grad.tolist() == ([16, 32, 48, 64] if read else [4, 8, 12, 16]) and alone.device == cpu(3)


@pytest.mark.parametrize("value", [cpu(0), cpu(1), cpu(2)], ids=str)
@pytest.mark.parametrize("home", [cpu(0), cpu(2)], ids=str)
def test_a_write_leaves_the_array_where_it_is(home, value):
    for key in (slice(None), 0, [1, 0], onp.array([True, False])):
        target, new = np.zeros((2, 2), ctx=home), np.ones((2, 2), ctx=value)
        target[key] = new[key]
        assert target.device == home
        assert target.tolist() == [[1, 1], [1, 1] if isinstance(key, (slice, list)) else [0, 0]]


# -- whole nets --------------------------------------------------------------------------------------------------------


class Split(gluon.HybridBlock):
    """Two layers on one device, one on another, and a connection past it."""

    def __init__(self, here, there, moves=True):
        super().__init__()
        self.first, self.second = nn.Dense(5, activation="tanh", in_units=4), nn.Dense(5, in_units=5)
        self.last = nn.Dense(3, in_units=5)
        self.here, self.there, self.moves = here, there, moves

    def forward(self, x):
        h = self.first(x)
        out = self.second(h.as_in_ctx(self.there) if self.moves else h)
        back = np.tanh(out).as_in_ctx(self.here) if self.moves else np.tanh(out)
        return self.last(h + back)


def plain(weights, x, label):
    h = jnp.tanh(x @ weights["first.weight"].T + weights["first.bias"])
    out = h @ weights["second.weight"].T + weights["second.bias"]
    out = (h + jnp.tanh(out)) @ weights["last.weight"].T + weights["last.bias"]
    return -jnp.take_along_axis(jax.nn.log_softmax(out), label[:, None], 1).sum()


def values(net):
    return {name: param.data().asnumpy() for name, param in net.collect_params().items()}


@pytest.mark.dear
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("how", ["deferred", "naive", "hybrid", "parts", "read"])
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_a_net_of_two_devices_trains_as_on_one(pair, how, optimizer):
    """A hybridized net of several devices runs line by line; blocks below it that are on one device stay programs."""
    draw = onp.random.RandomState(0)
    data = [(draw.randn(6, 4).astype("float32"), draw.randint(0, 3, 6)) for _ in range(4)]
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    found = []
    for here, there in (pair, (cpu(0), cpu(0))):
        gluonx.random.seed(3)
        net = Split(here, there, moves=here != there)
        for part, device in ((net.first, here), (net.second, there), (net.last, here)):
            part.initialize(gluonx.init.Xavier(), ctx=device)
        if how in ("hybrid", "parts"):
            for part in (net,) if how == "hybrid" else (net.first, net.second, net.last):
                part.hybridize()
        groups = [[net.first, net.last], [net.second]]
        trainers = [
            Trainer({f"{i}.{k}": p for i, b in enumerate(blocks) for k, p in b.collect_params().items()}, optimizer)
            for blocks in groups
        ]
        with engine.mode("naive" if how == "naive" else "deferred"):
            for k, (x, y) in enumerate(data):
                weights = values(net)
                engine.reset_stats()
                with autograd.record():
                    loss = loss_fn(net(np.array(x, ctx=here)), np.array(y, ctx=here))
                if how == "read":
                    assert loss.asnumpy().shape == (6,)
                loss.backward()
                if k == 0:
                    slopes = jax.grad(plain)(weights, x, y)
                    for name, param in net.collect_params().items():
                        assert param.grad().device == param.data().device
                        onp.testing.assert_allclose(param.grad().asnumpy(), slopes[name], rtol=2e-5, atol=1e-6)
                for trainer in trainers:
                    trainer.step(6)
        stats = engine.stats()
        assert (stats["programs_compiled"], stats["traces"]) == (0, 0)
        assert net.second.weight.data().device == there and net.second.weight.grad().device == there
        found.append(values(net))
    for name in found[0]:
        onp.testing.assert_allclose(found[0][name], found[1][name], rtol=2e-5, atol=1e-6, err_msg=name)


def test_a_hybridized_forward_may_end_on_another_device():
    class Ends(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(2, in_units=3)

        def forward(self, x):
            return self.dense(x.as_in_ctx(x.ctx)).as_in_ctx(cpu(1))

    net = Ends()
    net.initialize()
    net.hybridize()
    with autograd.record():
        out = net(np.ones((2, 3)))
        loss = (out * np.ones((2, 2), ctx=cpu(1))).sum()
    loss.backward()
    assert out.device == cpu(1) and net.dense.bias.grad().tolist() == [2, 2]


def test_a_net_that_was_brought_together_is_one_program_again():
    net = Split(cpu(0), cpu(1), moves=False)
    for part, device in ((net.first, cpu(0)), (net.second, cpu(0)), (net.last, cpu(1))):
        part.initialize(ctx=device)
    net.hybridize()
    net(np.ones((2, 4)))
    engine.reset_stats()
    net.reset_ctx(cpu(0))
    assert net(np.ones((2, 4))).device == cpu(0)
    assert not engine.stats()["unhybridized"]


@pytest.mark.dear
def test_copies_beside_replicas():
    """A loss of each device, one of them through a copy: both share the layer before it."""
    net = nn.Dense(2, in_units=3, use_bias=False)
    net.initialize(ctx=[cpu(0), cpu(1)])
    top = nn.Dense(1, in_units=2, use_bias=False)
    top.initialize(ctx=cpu(1))
    parts = [np.ones((1, 3), ctx=cpu(0)), np.ones((2, 3), ctx=cpu(1))]
    with autograd.record():
        outs = [net(x) for x in parts]
        losses = [outs[0].sum(), top(np.concatenate([outs[0].as_in_ctx(cpu(1)), outs[1]])).sum()]
    autograd.backward(losses)
    weight = top.weight.data().asnumpy().reshape(2, 1)
    onp.testing.assert_allclose(net.weight.grad(cpu(0)).asnumpy(), onp.repeat(1 + weight, 3, 1), rtol=1e-5)
    onp.testing.assert_allclose(net.weight.grad(cpu(1)).asnumpy(), onp.repeat(2 * weight, 3, 1), rtol=1e-5)


def test_one_trainer_for_parameters_of_two_devices_is_refused():
    one, two = nn.Dense(1, in_units=1), nn.Dense(1, in_units=1)
    one.initialize(ctx=cpu(0))
    two.initialize(ctx=cpu(1))
    trainer = Trainer([*one.collect_params().values(), *two.collect_params().values()], "sgd")
    with autograd.record():
        loss = two(one(np.ones((1, 1))).as_in_ctx(cpu(1)))
    loss.backward()
    before = one.weight.data().asnumpy()
    with pytest.raises(DeviceError, match=r"'Dense.*' is on \[cpu\(\d\)\] and .*make a Trainer for .* each device"):
        trainer.step(1)
    assert one.weight.data().asnumpy() == before


# -- drawn programs ----------------------------------------------------------------------------------------------------


def written(a, b, device):
    out = np.zeros(a.shape, ctx=device)
    out[0], out[1:] = a[1], b[:1] * 2
    return out


def constant(a, b, device):
    with autograd.pause():
        c = (a * 2).as_in_ctx(device)
    return c * b.as_in_ctx(device)


def read(a, b, device):
    out = np.tanh(a)
    out.wait_to_read()
    return out


STEPS = [
    lambda a, b, device: a * b.as_in_ctx(a.ctx),
    lambda a, b, device: np.tanh(a) - b.to_device(a.ctx) * 0.5,
    lambda a, b, device: np.sin(a),
    lambda a, b, device: a.as_in_ctx(device),
    lambda a, b, device: a.copyto(np.ones(a.shape, ctx=device)),
    written,
    constant,
    read,
]


def drawn(seed, devices, mode):
    """Gradients and heads of two backwards over a drawn program, whose arrays lie on these devices in turn."""
    draw, found = onp.random.RandomState(seed), []
    leaves = [
        leaf(draw.randn(2, 3), devices[k % len(devices)], req) for k, req in enumerate(draw.choice(["write", "add"], 3))
    ]
    with engine.mode(mode):
        for _ in range(2):
            values = list(leaves)
            with autograd.record():
                for _ in range(draw.randint(4, 14)):
                    a, b = values[draw.randint(len(values))], values[draw.randint(len(values))]
                    values.append(STEPS[draw.randint(len(STEPS))](a, b, devices[draw.randint(60) % len(devices)]))
                heads = [(value * (k + 1)).sum() for k, value in enumerate(values[-draw.randint(1, 4) :])]
            if draw.rand() < 0.2:
                heads[0].wait_to_read()
            if draw.rand() < 0.5:
                autograd.backward(heads)
            else:
                for head in heads:
                    head.backward(retain_graph=True)
            assert [x.grad.device for x in leaves] == [x.device for x in leaves]
            found += [x.asnumpy() for x in (*[x.grad for x in leaves], *heads)]
    return found


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore:the line .* has compiled")  # what then runs operator by operator is looked at too
@pytest.mark.parametrize("mode", ["deferred", "naive"])
@pytest.mark.parametrize("first", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(5, 100, 5)]])
def test_drawn_programs_over_devices_have_the_numbers_of_one(first, mode):
    for seed in range(first, first + 5):
        order = onp.random.RandomState(seed).permutation(5)
        devices = [[cpu(0), cpu(1), cpu(2), cpu(8), cpu(9)][k] for k in order[: 2 + seed % 3]]
        try:
            one = drawn(seed, [cpu(0)], mode)
        except gluonx.errors.GraphError:  # of heads that no leaf takes part in
            with pytest.raises(gluonx.errors.GraphError):
                drawn(seed, devices, mode)
            continue
        for a, b in zip(drawn(seed, devices, mode), one, strict=True):
            onp.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6, err_msg=str((seed, devices)))
