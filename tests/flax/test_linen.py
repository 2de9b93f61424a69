"""gluonx.flax: nets as modules of Linen and back, against each side alone."""

import copy

import jax
import jax.numpy as jnp
import numpy as onp
import optax
import pytest
from flax import linen

import gluonx
from gluonx import Trainer, autograd, engine, nn, np, random
from gluonx.errors import ArgumentError, DeferredInitializationError, UninitializedError
from gluonx.flax import from_linen, from_nnx, to_linen, to_nnx
from gluonx.ops import prng
from lib.nets import make

X = onp.random.RandomState(0).rand(6, 3).astype("float32")
Y = onp.random.RandomState(1).rand(6, 2).astype("float32")


class Net(linen.Module):
    dropout: float = 0.0

    @linen.compact
    def __call__(self, x, train: bool):
        x = jnp.tanh(linen.Dense(4)(x))
        x = linen.BatchNorm(use_running_average=not train)(x)
        x = linen.Dropout(self.dropout, deterministic=not train)(x)
        return linen.Dense(2)(x)


def flat(variables):
    tree = jax.tree_util.tree_flatten_with_path(variables)[0]
    return {".".join(k.key for k in path[1:]): onp.asarray(value) for path, value in tree}


def values_of(net):
    return {name: p.data().asnumpy() for name, p in net.collect_params(fused=False).items()}


def same(a, b, tol=1e-6):
    assert a.keys() == b.keys()
    for name in a:
        onp.testing.assert_allclose(a[name], b[name], rtol=tol, atol=tol, err_msg=name)


def train_by_gluon(net, steps):
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    losses = []
    for _ in range(steps):
        with autograd.record():
            loss = ((net(np.array(X)) - np.array(Y)) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.item())
    return losses


def train_by_linen(module, variables, steps):
    tx = optax.sgd(0.1)
    opt = tx.init(variables["params"])

    @jax.jit
    def step(variables, opt):
        def loss(params):
            out, new = module.apply({**variables, "params": params}, X, train=True, mutable=["batch_stats"])
            return ((out - Y) ** 2).mean(), new

        (value, new), grads = jax.value_and_grad(loss, has_aux=True)(variables["params"])
        updates, opt = tx.update(grads, opt)
        return value, {"params": optax.apply_updates(variables["params"], updates), **new}, opt

    losses = []
    for _ in range(steps):
        value, variables, opt = step(variables, opt)
        losses.append(float(value))
    return losses, variables


# -- to_linen ----------------------------------------------------------------------------------------------------------


def test_a_net_is_a_module_and_its_variables():
    net = make()
    module, variables = to_linen(net)
    assert isinstance(module, linen.Module) and set(variables) == {"params", "batch_stats"}
    same(flat(variables), values_of(net), 0)
    for name, param in net.collect_params().items():
        place = variables["batch_stats" if "running" in name else "params"]
        for step in name.split("."):
            place = place[step]
        assert place.unsafe_buffer_pointer() == param.data()._read().unsafe_buffer_pointer()
    onp.testing.assert_allclose(module.apply(variables, X), net(np.array(X)).asnumpy(), rtol=1e-6)
    same(flat(module.init(jax.random.key(0), X)), values_of(net), 0)


@pytest.mark.dear
def test_a_module_trains_as_its_net():
    net = make()
    module, variables = to_linen(net)
    losses, after = train_by_linen(module, variables, 5)
    onp.testing.assert_allclose(losses, train_by_gluon(net, 5), rtol=1e-5)
    same(flat(after), values_of(net), 1e-5)
    back = from_linen(module, after)
    assert [type(block) for block in back] == [type(block) for block in net]
    same(values_of(back), values_of(net), 1e-5)
    assert values_of(from_linen(module)).keys() == values_of(net).keys()
    with pytest.raises(ArgumentError, match="missing, or are not the net's"):
        from_linen(module, {"params": after["params"]})


@pytest.mark.dear
def test_dropout_and_statistics_are_asked_for_as_in_linen():
    net = make(0.5)
    module, variables = to_linen(net)
    pure = gluonx.functional(net)
    key = jax.random.key(3)
    run = jax.jit(lambda v, key: module.apply(v, X, train=True, mutable=["batch_stats"], rngs={"dropout": key}))
    out, new = run(variables, key)
    again, _ = run(variables, key)
    onp.testing.assert_array_equal(out, again)
    assert onp.abs(new["batch_stats"]["1"]["running_mean"]).max() > 0
    _, state = pure.apply(pure.params, pure.state, key, X, train=True)
    onp.testing.assert_allclose(new["batch_stats"]["1"]["running_mean"], state["1.running_mean"], rtol=1e-5)
    with pytest.raises(Exception, match="dropout"):  # Linen's own errors
        module.apply(variables, X, train=True, mutable=["batch_stats"])
    with pytest.raises(Exception, match="immutable"):
        module.apply(variables, X, train=True, rngs={"dropout": key})


@pytest.mark.dear
def test_a_net_within_a_module_within_a_net():
    inner, variables = to_linen(make())

    class Outer(linen.Module):
        inner: linen.Module

        @linen.compact
        def __call__(self, x, train=False):
            return linen.Dense(2)(self.inner(x, train=train))

    net = from_linen(Outer(inner))
    net.initialize()
    with pytest.raises(UninitializedError, match="not been initialized"):
        from_linen(Outer(inner))(np.array(X))
    net(np.array(X))
    assert {"inner.0.weight", "inner.1.running_mean", "Dense_0.kernel"} <= values_of(net).keys()
    same({k[6:]: v for k, v in values_of(net).items() if k.startswith("inner.")}, flat(variables), 0)
    top = nn.HybridSequential()
    top.add(net, nn.Dense(2, in_units=2))
    top[1].initialize()
    top.hybridize()
    losses = train_by_gluon(top, 8)
    assert losses[-1] < losses[0] and onp.abs(values_of(top)["0.inner.1.running_mean"]).max() > 0
    mixed = to_nnx(top)
    mixed.eval()
    onp.testing.assert_allclose(mixed(X), top(np.array(X)).asnumpy(), rtol=1e-5, atol=1e-6)
    assert mixed.variable("0.Dense_0.kernel").shape == (2, 2)
    onp.testing.assert_allclose(from_nnx(mixed)(np.array(X)).asnumpy(), top(np.array(X)).asnumpy(), rtol=1e-5)


# -- from_linen --------------------------------------------------------------------------------------------------------


@pytest.mark.dear
@pytest.mark.parametrize("hybridize", [False, True])
def test_a_block_trains_as_its_module(hybridize):
    module = Net()
    variables = module.init(jax.random.key(0), X, train=False)
    net = from_linen(module, variables)
    if hybridize:
        net.hybridize()
    assert [n for n, p in net.collect_params().items() if p.grad_req == "null"] == [
        "BatchNorm_0.mean",
        "BatchNorm_0.var",
    ]
    kernel = variables["params"]["Dense_0"]["kernel"]
    assert (
        net.collect_params()["Dense_0.kernel"].data()._read().unsafe_buffer_pointer() == kernel.unsafe_buffer_pointer()
    )
    onp.testing.assert_allclose(
        net(np.array(X)).asnumpy(), module.apply(variables, X, train=False), rtol=1e-6, atol=1e-7
    )
    losses, after = train_by_linen(module, variables, 5)
    onp.testing.assert_allclose(train_by_gluon(net, 5), losses, rtol=1e-5)
    same(values_of(net), flat(after), 1e-5)
    back, now = to_linen(net)
    assert back is module
    same(flat(now), flat(after), 1e-5)
    assert not kernel.is_deleted()


@pytest.mark.dear
def test_shapes_are_learned_at_the_first_batch():
    random.seed(11)
    net = nn.HybridSequential()
    net.add(nn.Dense(5), from_linen(Net()), nn.Dense(1))
    net.initialize()
    net.hybridize()
    early = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    y = net(np.array(X))
    assert y.shape == (6, 1)
    found = values_of(net)
    assert found["1.Dense_0.kernel"].shape == (5, 4) and "1.BatchNorm_0.mean" in found
    assert onp.abs(found["1.Dense_0.kernel"]).max() > 0 and not found["1.Dense_0.bias"].any()
    with autograd.record():
        loss = (net(np.array(X)) ** 2).mean()
    loss.backward()
    with pytest.raises(DeferredInitializationError, match="unknown_until_the_first_batch"):
        early.step(1)  # it does not know what it should train
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    trainer.step(1)
    for _ in range(3):
        engine.reset_stats()
        with autograd.record():
            loss = (net(np.array(X)) ** 2).mean()
        loss.backward()
        trainer.step(1)
    stats = engine.stats()
    assert (stats["dispatches"], stats["programs_compiled"]) == (1, 0)

    random.seed(11)
    again = nn.HybridSequential()
    again.add(nn.Dense(5), from_linen(Net()), nn.Dense(1))
    again.initialize()
    again.infer_shape(np.array(X))
    same(values_of(again), found, 0)


@pytest.mark.dear
def test_dropout_draws_from_gluons_stream():
    module = Net(0.5)
    variables = module.init(jax.random.key(0), X, train=False)
    net = from_linen(module, variables)
    random.seed(7)
    key = prng.wrap(jnp.asarray(prng.root()), 0)
    with autograd.train_mode():
        first, second = net(np.array(X)).asnumpy(), net(np.array(X)).asnumpy()
    assert (first != second).any()
    wanted, _ = module.apply(variables, X, train=True, mutable=["batch_stats"], rngs={"dropout": key})
    onp.testing.assert_allclose(first, wanted, rtol=1e-5, atol=1e-6)


def test_modes_by_other_names_collections_and_copies():
    class Other(linen.Module):
        @linen.compact
        def __call__(self, x, deterministic=True):
            calls = self.variable("cache", "calls", lambda: jnp.zeros((), jnp.int32))
            if not self.is_initializing():
                calls.value += 1
            return linen.Dropout(1.0)(linen.Dense(2)(x), deterministic=deterministic)

    module = Other()
    variables = module.init(jax.random.key(0), X)
    with pytest.raises(ArgumentError, match=r"collection 'cache'.*state=\('batch_stats', 'frozen', 'cache'\)"):
        from_linen(module, variables)
    net = from_linen(module, variables, state=("cache",))
    assert net(np.array(X)).asnumpy().any()
    with autograd.train_mode():
        assert not net(np.array(X)).asnumpy().any()
        assert net(np.array(X), deterministic=True).asnumpy().any()
    assert values_of(net)["calls"] == 3
    twin = copy.deepcopy(net)
    twin(np.array(X))
    assert values_of(twin)["calls"] == 4 and values_of(net)["calls"] == 3

    class Clash(linen.Module):
        @linen.compact
        def __call__(self, x):
            return x * self.param("w", lambda _: jnp.ones(())) + self.variable("batch_stats", "w", lambda: 1.0).value

    with pytest.raises(ArgumentError, match="two variables of Clash would be called 'w'"):
        from_linen(Clash(), {"params": {"w": jnp.ones(())}, "batch_stats": {"w": jnp.ones(())}})
    with pytest.raises(ArgumentError, match=r"takes a flax.linen.Module.*got a int"):
        from_linen(3)
    with pytest.raises(ArgumentError, match="from_linen"):
        from_nnx(linen.Dense(3))


@pytest.mark.dear
def test_a_block_of_linen_is_exported(tmp_path):
    module = Net()
    net = from_linen(module, module.init(jax.random.key(0), X, train=False))
    net.hybridize()
    wanted = net(np.array(X)).asnumpy()
    served = gluonx.load(net.export(tmp_path / "model"))
    onp.testing.assert_allclose(served(np.array(X[:2])).asnumpy(), wanted[:2], rtol=1e-5, atol=1e-6)
