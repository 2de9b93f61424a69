"""gluonx.flax: nets as modules of NNX and back, against each side alone."""

import copy
import gc
import pickle

import jax
import jax.numpy as jnp
import numpy as onp
import optax
import pytest
from flax import nnx

import gluonx
from gluonx import Trainer, autograd, engine, nn, np, random
from gluonx.block.parameter import Constant
from gluonx.errors import ArgumentError, DeferredInitializationError, TracedValueError, UninitializedError
from gluonx.flax import Frozen, from_nnx, to_linen, to_nnx
from gluonx.ops import prng
from lib.nets import make

X = onp.random.RandomState(0).rand(6, 3).astype("float32")
Y = onp.random.RandomState(1).rand(6, 2).astype("float32")


class Net(nnx.Module):
    """What `make` gives, in NNX."""

    def __init__(self, rngs, dropout=0.0):
        self.first = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.dropout = nnx.Dropout(dropout, rngs=rngs)
        self.rest = nnx.List([nnx.Linear(4, 2, rngs=rngs)])

    def __call__(self, x):
        return self.rest[0](self.dropout(self.norm(jnp.tanh(self.first(x)))))


def values_of(net):
    return {name: p.data().asnumpy() for name, p in net.collect_params(fused=False).items()}


def variables_of(module):
    return {
        ".".join(map(str, path)): onp.asarray(leaf.get_value())
        for path, leaf in nnx.to_flat_state(nnx.state(module, nnx.Not(nnx.RngState)))
    }


def same(a, b, tol=1e-6):
    assert a.keys() == b.keys()
    for name in a:
        onp.testing.assert_allclose(a[name], b[name], rtol=tol, atol=tol, err_msg=name)


def train_by_gluon(net, steps, x=X, optimizer="sgd", **settings):
    trainer = Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1, **settings})
    losses = []
    for _ in range(steps):
        with autograd.record():
            loss = ((net(np.array(x)) - np.array(Y)) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.item())
    return losses


@nnx.jit
def step_of_nnx(module, optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - Y) ** 2).mean())(module)
    optimizer.update(module, grads)
    return loss


def train_by_nnx(module, steps, x=X):
    optimizer = nnx.Optimizer(module, optax.sgd(0.1), wrt=nnx.Param)
    return [float(step_of_nnx(module, optimizer, jnp.asarray(x))) for _ in range(steps)]


# -- to_nnx ------------------------------------------------------------------------------------------------------------


def test_a_net_is_a_module_with_its_names_and_its_own_arrays():
    net = make()
    module = to_nnx(net)
    assert isinstance(module, nnx.Module)
    params, stats = nnx.state(module, nnx.Param), nnx.state(module, nnx.BatchStat)
    assert {".".join(p) for p, _ in nnx.to_flat_state(params)} == {n for n in values_of(net) if "running" not in n}
    assert {".".join(p) for p, _ in nnx.to_flat_state(stats)} == {"1.running_mean", "1.running_var"}
    for name, param in net.collect_params().items():
        held = module.variable(name).get_raw_value()
        assert held.unsafe_buffer_pointer() == param.data()._read().unsafe_buffer_pointer(), name
    assert module[0].weight.shape == (4, 3) and module["3"]["bias"].shape == (2,)


@pytest.mark.dear
@pytest.mark.parametrize("jit", [False, True])
def test_both_modes_are_those_of_the_net(jit):
    net = make()
    module = to_nnx(net)
    call = nnx.jit(lambda m, x: m(x)) if jit else lambda m, x: m(x)
    module.eval()
    onp.testing.assert_allclose(call(module, X), net(np.array(X)).asnumpy(), rtol=1e-6)
    same(variables_of(module), values_of(net), 0)
    module.train()
    with autograd.record():
        y = net(np.array(X))
    onp.testing.assert_allclose(call(module, X), y.asnumpy(), rtol=1e-5)
    same(variables_of(module), values_of(net))
    assert onp.abs(variables_of(module)["1.running_mean"]).max() > 0
    onp.testing.assert_allclose(module(X, deterministic=True), net(np.array(X)).asnumpy(), rtol=1e-5)


@pytest.mark.dear
def test_gradients_and_training_are_those_of_the_net():
    net = make()
    module = to_nnx(net)
    grads = nnx.grad(lambda m: ((m(X) - Y) ** 2).mean())(module)
    before = make()
    with autograd.record():
        loss = ((net(np.array(X)) - np.array(Y)) ** 2).mean()
    loss.backward()
    wanted = {n: p.grad().asnumpy() for n, p in net.collect_params().items() if p.grad_req != "null"}
    same({".".join(p): onp.asarray(v.get_value()) for p, v in nnx.to_flat_state(grads)}, wanted)
    del before
    module = to_nnx(net)
    onp.testing.assert_allclose(train_by_nnx(module, 5), train_by_gluon(net, 5), rtol=1e-5)
    same(variables_of(module), values_of(net), 1e-5)


@pytest.mark.dear
def test_the_net_and_the_module_go_their_own_ways():
    net = make()
    module = to_nnx(net)
    before = variables_of(module)
    train_by_gluon(net, 3)  # which donates what nobody else holds
    same(variables_of(module), before, 0)
    module.eval()
    wanted = module(X)
    net.add(nn.Dense(7, in_units=2))
    net[4].initialize()
    net.cast("float16")
    onp.testing.assert_array_equal(module(X), wanted)
    now = values_of(net)
    train_by_nnx(module, 2)
    same(values_of(net), now, 0)


@pytest.mark.dear
def test_dropout_draws_from_the_modules_stream():
    net = make(dropout=0.5)
    module, key = to_nnx(net, nnx.Rngs(5)), nnx.Rngs(5).fork().dropout()
    pure = gluonx.functional(net)
    wanted, _ = pure.apply(pure.params, pure.state, key, X, train=True)
    onp.testing.assert_array_equal(module(X), wanted)
    assert (onp.asarray(module(X)) != onp.asarray(wanted)).any()
    onp.testing.assert_array_equal(nnx.jit(lambda m: m(X))(to_nnx(net, nnx.Rngs(5))).round(4), wanted.round(4))
    own = module(X, rngs=nnx.Rngs(dropout=3))
    onp.testing.assert_array_equal(own, pure.apply(pure.params, pure.state, nnx.Rngs(3).dropout(), X, train=True)[0])
    count = module.rngs.dropout.count[...]
    module.eval()
    module(X)
    assert module.rngs.dropout.count[...] == count == 2  # prediction draws nothing
    with pytest.raises(UninitializedError, match=r"HybridSequential draws random numbers.*rngs=nnx.Rngs\(0\)"):
        to_nnx(net)(X)


def test_a_net_that_draws_runs_once():
    seen = []
    net = make(dropout=0.5)
    net.register_forward_hook(lambda *_: seen.append(1))
    module = to_nnx(net, nnx.Rngs(5))
    module(X)
    linen, variables = to_linen(net)
    linen.apply(variables, X, train=True, mutable=["batch_stats"], rngs={"dropout": jax.random.key(0)})
    assert len(seen) == 2, "once for each"


@pytest.mark.dear
def test_split_merge_clone_view_and_vmap():
    net = make()
    module = to_nnx(net)
    module.eval()
    wanted = module(X)
    graph, params, rest = nnx.split(module, nnx.Param, ...)
    onp.testing.assert_array_equal(nnx.merge(graph, params, rest)(X), wanted)
    assert hash(graph) == hash(nnx.split(module, nnx.Param, ...)[0])
    onp.testing.assert_array_equal(nnx.clone(module)(X), wanted)
    onp.testing.assert_array_equal(nnx.view(to_nnx(net), deterministic=True)(X), wanted)
    onp.testing.assert_array_equal(copy.deepcopy(module)(X), wanted)
    many = jax.tree.map(lambda v: jnp.stack([v, v * 0]), nnx.state(module))
    outs = nnx.vmap(lambda state, x: nnx.merge(nnx.graphdef(module), state)(x), in_axes=(0, None))(many, X)
    onp.testing.assert_allclose(outs[0], wanted, rtol=1e-5, atol=1e-6)

    @nnx.vmap(in_axes=(0, None), out_axes=0)
    def each(module, x):
        return module(x)

    stacked = nnx.merge(nnx.graphdef(module), many)
    onp.testing.assert_allclose(each(stacked, X)[0], wanted, rtol=1e-5, atol=1e-6)
    single = jax.vmap(module)(X[:, None])  # a module is a function, too
    onp.testing.assert_allclose(single[:, 0], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.dear
def test_nothing_compiles_again_in_a_loop_of_nnx():
    module = to_nnx(make(0.3), nnx.Rngs(0))
    traces = []

    @nnx.jit
    def run(m, x):
        traces.append(1)
        return m(x)

    for _ in range(3):
        run(module, X)
    assert len(traces) == 1


@pytest.mark.dear
def test_what_is_not_trained_is_frozen_and_ties_stay_ties():
    class Tied(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Dense(3, in_units=3, use_bias=False), nn.Dense(3, in_units=3, use_bias=False)
            self.b.weight = self.a.weight
            self.scale = Constant([1.0, 2.0, 3.0])
            self.fixed = nn.Dense(3, in_units=3)

        def forward(self, x, twice=False):
            y = self.fixed(self.b(self.a(x))) * self.scale.data()
            return {"y": [y + y if twice else y]}

    net = Tied()
    net.initialize()
    net.fixed.setattr("grad_req", "null")
    module = to_nnx(net)
    assert module.a.weight is module.b.weight
    assert set(nnx.to_flat_state(nnx.state(module, nnx.Param)).paths) == {("a", "weight")}
    frozen = {".".join(p) for p in nnx.to_flat_state(nnx.state(module, Frozen)).paths}
    assert frozen == {"scale", "fixed.weight", "fixed.bias"}
    out = module(X, twice=True)
    onp.testing.assert_allclose(out["y"][0], net(np.array(X), twice=True)["y"][0].asnumpy(), rtol=1e-6)
    back = from_nnx(module)
    assert back.a.weight is back.b.weight and back.fixed.weight.grad_req == "null"
    grads = nnx.grad(lambda m: m(X)["y"][0].sum())(module)
    with autograd.record():
        loss = net(np.array(X))["y"][0].sum()
    loss.backward()
    onp.testing.assert_allclose(grads["a"]["weight"].get_value(), net.a.weight.grad().asnumpy(), rtol=1e-5)


@pytest.mark.dear
def test_fused_parameters_are_their_pieces():
    net = gluonx.rnn.LSTM(4, input_size=3)
    net.initialize()
    assert net.is_fused
    module = to_nnx(net)
    assert set(variables_of(module)) == {"l0_i2h_weight", "l0_h2h_weight", "l0_i2h_bias", "l0_h2h_bias"}
    x = X.reshape(2, 3, 3)
    onp.testing.assert_allclose(module(x), net(np.array(x)).asnumpy(), rtol=1e-5, atol=1e-6)
    onp.testing.assert_allclose(
        from_nnx(module)(np.array(x)).asnumpy(), net(np.array(x)).asnumpy(), rtol=1e-5, atol=1e-6
    )


@pytest.mark.dear
def test_what_was_fused_is_fused_again():
    net = gluonx.rnn.LSTM(4, input_size=3)
    net.initialize()
    back = from_nnx(to_nnx(net))
    assert back.is_fused and list(back.collect_params()) == ["rnn_param"]
    net.unfuse()
    assert not from_nnx(to_nnx(net)).is_fused
    loop = to_nnx(gluonx.nn.Dropout(0.5), nnx.Rngs(0))
    assert loop(jnp.ones((8, 8))).shape == (8, 8)


@pytest.mark.dear
def test_recurrent_layers_draw_and_transforms_of_nnx_within_a_block():
    net = gluonx.rnn.LSTM(4, num_layers=2, dropout=0.5, input_size=3)
    net.initialize()
    module, x = to_nnx(net, nnx.Rngs(0)), X.reshape(2, 3, 3)
    assert (onp.asarray(module(x)) != onp.asarray(module(x))).any()

    class Layer(nnx.Module):
        def __init__(self, rngs):
            self.linear, self.norm = nnx.Linear(3, 3, rngs=rngs), nnx.BatchNorm(3, rngs=rngs)
            self.dropout = nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, x):
            return self.dropout(self.norm(self.linear(x)))

    class Stack(nnx.Module):
        def __init__(self, rngs):
            self.layers = nnx.split_rngs(splits=2)(nnx.vmap(Layer, in_axes=0, out_axes=0))(rngs)

        def __call__(self, x):
            return nnx.scan(lambda layer, x: layer(x), in_axes=(0, nnx.Carry), out_axes=nnx.Carry)(self.layers, x)

    stack = Stack(nnx.Rngs(0))
    block = from_nnx(stack)
    before = values_of(block)
    with autograd.record():
        loss = (block(np.array(X)) ** 2).sum()
    loss.backward()
    Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1}).step(1)
    assert all(
        onp.abs(v - before[n]).max() > 0 for n, v in values_of(block).items() if "kernel" in n or "norm.mean" in n
    )
    stack.eval()
    with autograd.predict_mode():
        onp.testing.assert_allclose(from_nnx(stack)(np.array(X)).asnumpy(), stack(X), rtol=1e-5, atol=1e-6)


def test_what_cannot_be_a_module_says_so():
    net = nn.Dense(2)
    with pytest.raises(UninitializedError, match=r"net.initialize\(\)"):
        to_nnx(net)
    net.initialize()
    with pytest.raises(DeferredInitializationError, match="infer_shape"):
        to_nnx(net)

    class Bad(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.sow = nn.Dense(2, in_units=2)

    bad = Bad()
    bad.initialize()
    with pytest.raises(ArgumentError, match="'sow' of Bad cannot be an attribute"):
        to_nnx(bad)
    module = to_nnx(make())
    module[1].eval()
    with pytest.raises(ArgumentError, match=r"module.1 is in eval mode and the module that is called in train mode"):
        module(X)


# -- from_nnx ----------------------------------------------------------------------------------------------------------


def test_a_module_is_a_block_with_its_paths_and_its_own_arrays():
    module = Net(nnx.Rngs(0))
    net = from_nnx(module)
    assert isinstance(net, gluonx.HybridBlock)
    assert values_of(net).keys() == variables_of(module).keys() >= {"rest.0.kernel", "norm.mean"}
    params = net.collect_params()
    assert [n for n, p in params.items() if p.grad_req == "null"] == ["norm.mean", "norm.var"]
    kernel = module.first.kernel.get_raw_value()
    assert params["first.kernel"].data()._read().unsafe_buffer_pointer() == kernel.unsafe_buffer_pointer()
    assert repr(net) == "NNXBlock(Net)"
    before = variables_of(module)
    train_by_gluon(net, 3)
    same(variables_of(module), before, 0)
    assert not kernel.is_deleted()


@pytest.mark.dear
@pytest.mark.parametrize("hybridize", [False, True])
def test_a_block_trains_as_its_module(hybridize):
    module = Net(nnx.Rngs(0))
    net = from_nnx(module)
    if hybridize:
        net.hybridize()
    module.eval()
    onp.testing.assert_allclose(net(np.array(X)).asnumpy(), module(X), rtol=1e-6, atol=1e-6)
    module.train()
    onp.testing.assert_allclose(train_by_gluon(net, 5), train_by_nnx(module, 5), rtol=1e-5)
    same(values_of(net), variables_of(module), 1e-5)
    back = to_nnx(net)
    assert type(back) is Net and type(back.rest[0].kernel) is nnx.Param
    same(variables_of(back), values_of(net), 0)
    assert back.rest[0].kernel.get_raw_value() is net.collect_params()["rest.0.kernel"].data()._read()


@pytest.mark.dear
@pytest.mark.parametrize("hybridize", [False, True])
def test_dropout_draws_from_gluons_stream(hybridize):
    module = Net(nnx.Rngs(0), dropout=0.5)
    net = from_nnx(module)
    if hybridize:
        net.hybridize()
    random.seed(7)
    with autograd.train_mode():
        first, second = net(np.array(X)).asnumpy(), net(np.array(X)).asnumpy()
    assert (first != second).any()
    random.seed(7)
    with autograd.train_mode():
        onp.testing.assert_array_equal(net(np.array(X)).asnumpy(), first)
    module.dropout.rngs.key.set_value(jax.random.fold_in(prng.wrap(jnp.asarray(prng.root()), 0), 0))
    module.dropout.rngs.count.set_value(jnp.uint32(0))
    onp.testing.assert_allclose(module(X), first, rtol=1e-5, atol=1e-6)
    onp.testing.assert_array_equal(net(np.array(X)).asnumpy(), net(np.array(X)).asnumpy())


@pytest.mark.dear
def test_three_levels_train_as_one_and_in_one_program():
    """A Gluon net inside a module of NNX inside a Gluon net, against the same written in Gluon alone."""
    inner = make()

    class Middle(nnx.Module):
        def __init__(self):
            self.inner = to_nnx(inner)
            self.head = nnx.Linear(2, 2, rngs=nnx.Rngs(3))

        def __call__(self, x):
            return self.head(jnp.tanh(self.inner(x)))

    middle = Middle()
    outer = nn.HybridSequential()
    outer.add(nn.Dense(3, in_units=3), from_nnx(middle), nn.Dense(2, in_units=2))
    outer[0].initialize(), outer[2].initialize()
    alone = nn.HybridSequential()
    alone.add(nn.Dense(3, in_units=3), *copy.deepcopy(inner)._children.values(), nn.Activation("tanh"))
    alone.add(nn.Dense(2, in_units=2), nn.Dense(2, in_units=2))
    alone[0].initialize(), alone[6].initialize(), alone[7].initialize()
    for a, b in ((alone[0], outer[0]), (alone[7], outer[2])):
        a.weight.set_data(b.weight.data()), a.bias.set_data(b.bias.data())
    alone[6].weight.set_data(np.array(onp.asarray(middle.head.kernel[...]).T))
    alone[6].bias.set_data(np.array(onp.asarray(middle.head.bias[...])))
    for net in (outer, alone):
        net.hybridize()
    onp.testing.assert_allclose(train_by_gluon(outer, 4), train_by_gluon(alone, 4), rtol=1e-5)
    mine, theirs = values_of(outer), values_of(alone)
    onp.testing.assert_allclose(mine["1.inner.1.running_var"], theirs["2.running_var"], rtol=1e-5)
    onp.testing.assert_allclose(mine["1.head.kernel"].T, theirs["6.weight"], rtol=1e-5, atol=1e-6)

    trainer = Trainer(outer.collect_params(), "adam")
    for k in range(6):
        engine.reset_stats()
        with autograd.record():
            loss = ((outer(np.array(X)) - np.array(Y)) ** 2).mean()
        loss.backward()
        trainer.step(1)
        stats = engine.stats()
        assert stats["dispatches"] == 1 or k == 0
        assert stats["programs_compiled"] == 0 or k < 2
    whole = to_nnx(outer)  # and once more outwards
    whole.eval()
    onp.testing.assert_allclose(whole(X), outer(np.array(X)).asnumpy(), rtol=1e-5, atol=1e-6)
    assert whole.variable("1.inner.0.weight").shape == (4, 3)
    assert type(whole.variable("1.inner.1.running_var")) is nnx.BatchStat


@pytest.mark.dear
def test_round_trips_keep_classes_and_arrays():
    net = make(0.5)
    back = from_nnx(to_nnx(net))
    assert [type(block) for block in back] == [type(block) for block in net]
    for name, param in net.collect_params().items():
        assert back.collect_params()[name].data()._read() is param.data()._read()
        assert back.collect_params()[name].grad_req == param.grad_req
    train_by_gluon(back, 2)
    train_by_gluon(net, 2)
    assert all(onp.isfinite(v).all() for v in (*values_of(net).values(), *values_of(back).values()))
    assert from_nnx(to_nnx(from_nnx(Net(nnx.Rngs(0))))).__class__.__name__ == "NNXBlock"


@pytest.mark.dear
def test_a_block_of_nnx_is_copied_saved_exported_and_summarized(tmp_path, capsys):
    net = from_nnx(Net(nnx.Rngs(0)))
    x = np.array(X)
    wanted = net(x).asnumpy()
    onp.testing.assert_array_equal(copy.deepcopy(net)(x).asnumpy(), wanted)
    net.save_parameters(tmp_path / "net.params")
    other = from_nnx(Net(nnx.Rngs(1)))
    other.load_parameters(tmp_path / "net.params")
    onp.testing.assert_array_equal(other(x).asnumpy(), wanted)
    net.hybridize()
    net(x)
    folder = net.export(tmp_path / "model")
    served = gluonx.load(folder)
    onp.testing.assert_allclose(served(x[:2]).asnumpy(), wanted[:2], rtol=1e-5, atol=1e-6)
    net.summary(x)
    assert "NNXBlock" in capsys.readouterr().out
    assert pickle.loads(pickle.dumps(from_nnx(nnx.Linear(2, 3, rngs=nnx.Rngs(0)))))(np.ones((1, 2))).shape == (1, 3)


def test_arguments_of_other_kinds():
    class Choosing(nnx.Module):
        def __init__(self):
            self.w = nnx.Param(jnp.ones(3))

        def __call__(self, xs, how="sum", scale=1.0):
            y = xs["a"] * self.w * scale
            return {"out": (y.sum() if how == "sum" else y.mean(), [y])}

    net = from_nnx(Choosing())
    x = np.array([1.0, 2.0, 3.0])
    assert net({"a": x})["out"][0].item() == 6
    assert net({"a": x}, how="mean", scale=2.0)["out"][0].item() == 4
    assert net({"a": x}, scale=2)["out"][1][0].tolist() == [2, 4, 6]
    with pytest.raises(ArgumentError, match=r"must be an array.*got a set"):
        net({"a": x}, how={1})


@pytest.mark.dear
def test_modules_that_cannot_be_blocks_say_so():
    class Growing(nnx.Module):
        def __init__(self):
            self.w = nnx.Param(jnp.ones(3))

        def __call__(self, x):
            self.seen = nnx.Variable(x)
            return x * self.w

    class Counting(nnx.Module):
        def __init__(self):
            self.n = 0

        def __call__(self, x):
            self.n += 1
            return x

    class Widening(nnx.Module):
        def __init__(self):
            self.v = nnx.Variable(jnp.ones(3))

        def __call__(self, x):
            self.v.set_value(jnp.ones(4))
            return x

    class Odd(nnx.Module):
        def __init__(self):
            self.v = nnx.Variable("text")

    x = np.ones(3)
    with pytest.raises(ArgumentError, match=r"Growing has made or removed variables in its call: \['seen'\]"):
        from_nnx(Growing())(x)
    with pytest.raises(ArgumentError, match="Counting has changed attributes of its own"):
        from_nnx(Counting())(x)
    with pytest.raises(ArgumentError, match=r"writes float32\(4,\) into its variable 'v', which is float32\(3,\)"):
        from_nnx(Widening())(x)
    with pytest.raises(ArgumentError, match=r"variable 'v' .*holds a str"):
        from_nnx(Odd())
    with pytest.raises(ArgumentError, match=r"takes an nnx.Module.*got a int"):
        from_nnx(3)
    with pytest.raises(TracedValueError, match=r"outside of nnx\.jit"):
        nnx.jit(lambda m: from_nnx(m) and 1)(Net(nnx.Rngs(0)))


@pytest.mark.dear
def test_a_module_holds_no_memory_of_the_net():
    net = make()
    module = to_nnx(net)
    train_by_nnx(module, 2)
    held = {
        id(v.get_raw_value()) for v in jax.tree.leaves(nnx.state(module), is_leaf=lambda v: isinstance(v, nnx.Variable))
    }
    del net
    gc.collect()
    arrays = [a for a in gc.get_referrers(module.forward) if isinstance(a, jax.Array)]
    assert held and not arrays
    assert all(type(h.value).__name__ == "Zeros" for h in module.forward.handles.values())


def test_a_symbol_block_is_converted(tmp_path):
    """A model that MXNet exported goes to NNX and Linen, by the names of its graph, and back; copies are apart."""
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3), nn.BatchNorm(in_channels=4), nn.Dense(2, in_units=4))
    net.initialize()
    wanted = net(np.array(X)).asnumpy()
    net.hybridize()
    net(np.array(X))
    symbol_file, params_file = net.export(tmp_path / "m", format="mxnet")
    block = gluonx.SymbolBlock.imports(symbol_file, ["data"], params_file)
    module, (linen_module, variables) = to_nnx(block), to_linen(block)
    same(variables_of(module), values_of(block), 0)
    module.eval()
    for out in (module(X), linen_module.apply(variables, X), from_nnx(module)(np.array(X)).asnumpy()):
        onp.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-6)
    grads = nnx.grad(lambda m: m(X).sum())(module)
    onp.testing.assert_allclose(grads["2"]["bias"].get_value(), [6.0, 6.0], rtol=1e-6)

    twin = copy.deepcopy(block)
    block.collect_params()["2.weight"].set_data(np.zeros((2, 4)))
    onp.testing.assert_allclose(twin(np.array(X)).asnumpy(), wanted, rtol=1e-5, atol=1e-6)
    assert type(twin) is type(block)
