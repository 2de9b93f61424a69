"""Attacks on fused parameters: odd orders of steps that each work by themselves."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import Fused, autograd, gluon, init, nn, np, rnn
from gluonx.block.fusion.pieces import FusedParameter
from gluonx.block.parameter import Parameter
from gluonx.errors import FormatError, FusionError


def attention(seed=0, fuse=True, **kwargs):
    """A layer of known shapes with the same numbers for each seed."""
    onp.random.seed(seed)
    layer = nn.MultiHeadAttention(4, 2, in_units=4, fuse=fuse, **kwargs)
    layer.initialize()
    rng = onp.random.RandomState(seed)
    for param in layer.collect_params(fused=False).values():
        param.set_data(rng.normal(size=param.shape).astype("float32"))
    return layer


X = np.array(onp.random.RandomState(9).normal(size=(2, 3, 4)).astype("float32"))


def step(net, trainer=None, x=X):
    with autograd.record():
        loss = (net(x) ** 2).mean()
    loss.backward()
    if trainer is not None:
        trainer.step(1)
    return loss


def values(net):
    return {name: p.data().asnumpy() for name, p in net.collect_params(fused=False).items()}


def assert_same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        if name.endswith("key.bias"):
            continue  # softmax is blind to it: its gradient is rounding noise, which lamb and nadam make large
        onp.testing.assert_allclose(a[name], b[name], rtol=1e-5, atol=3e-6, err_msg=name)


# == lists taken early =================================================================================================


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True])
def test_a_list_made_right_after_initialize_holds_what_trains(hybrid):
    """Clipping loops keep such lists; the first step must find its gradients in them."""
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=4, flatten=False), nn.MultiHeadAttention(4, 2, in_units=4), rnn.LSTM(3, input_size=4))
    net.initialize(init.Normal(0.7))
    if hybrid:
        net.hybridize()
    params = net.collect_params()
    assert {"1.qkv_weight", "1.qkv_bias", "2.rnn_param"} <= params.keys()
    kept = list(params.values())
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.1})
    step(net)
    grads = [p.grad() for p in kept]
    assert all(float((g**2).sum()) > 0 for g in grads)
    norm = gluon.utils.clip_global_norm(grads, 1e-3)
    assert norm > 2e-3
    before = values(net)
    trainer.step(1)
    moved = sum(float(((value - before[name]) ** 2).sum()) for name, value in values(net).items()) ** 0.5
    assert moved == pytest.approx(1e-4, rel=0.05), "what was clipped is what was applied"
    assert list(net.collect_params().values()) == kept


def test_initialize_fuses_only_what_asks_for_it_and_changes_no_number():
    class Declares(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Dense(2, in_units=3), nn.Dense(2, in_units=3)
            self.declare_fusion(Fused("w", ("a.weight", "b.weight")))

    net = Declares()
    net.initialize()
    assert "a.weight" in net.collect_params() and not net.is_fused
    found = []
    for fuse in (True, False):
        onp.random.seed(3)
        gluonx.random.seed(3)
        layer = nn.MultiHeadAttention(4, 2, in_units=4, fuse=fuse)
        layer.initialize(init.Normal(0.5))
        found.append(values(layer))
        assert layer.is_fused is fuse
    for name, value in found[0].items():
        onp.testing.assert_array_equal(value, found[1][name])


def test_what_cannot_be_fused_at_initialize_may_be_mended_before_the_first_call():
    layer = nn.MultiHeadAttention(4, 2, in_units=4)
    layer.query.cast("float16")
    layer.initialize()
    assert not layer.is_fused
    with pytest.raises(FusionError, match=r"float16|float32"):
        layer(X)
    layer.cast("float32")
    layer(X)
    assert layer.is_fused


def test_loading_into_a_net_without_values_fuses_too(tmp_path):
    first = attention()
    first.save_parameters(str(tmp_path / "p"))
    other = nn.MultiHeadAttention(4, 2, in_units=4)
    other.load_parameters(str(tmp_path / "p"))
    assert other.is_fused
    assert_same(values(other), values(first))


@pytest.mark.parametrize("fails", [False, True], ids=["loads", "fails"])
def test_loading_after_pieces_were_read(fails, monkeypatch):
    layer = attention()
    for param in layer.collect_params(fused=False).values():
        jnp.asarray(param.data())
    before, other = values(layer), values(attention(seed=1))
    if not fails:
        layer.load_dict(other)
        return assert_same(values(layer), other)
    took = []

    def adopt(self, *args):
        if took:
            raise KeyboardInterrupt
        took.append(adopted(self, *args))

    adopted = FusedParameter._adopt
    monkeypatch.setattr(FusedParameter, "_adopt", adopt)
    with pytest.raises(KeyboardInterrupt):
        layer.load_dict(other)
    assert took
    assert_same(values(layer), before)


# == values that go stale ==============================================================================================


def test_pieces_see_every_way_of_writing_the_whole():
    layer = attention()
    whole, piece = layer.collect_params()["qkv_weight"], layer.key.weight
    held = piece.data()
    for k, write in enumerate(
        [
            lambda: whole.set_data(onp.full((12, 4), 1.0, "float32")),
            lambda: whole.data().__setitem__(slice(None), 2.0),
            lambda: piece.set_data(onp.full((4, 4), 3.0, "float32")),
            lambda: held.__setitem__(slice(None), 4.0),
            lambda: layer.load_dict({**values(layer), "key.weight": onp.full((4, 4), 5.0, "float32")}),
            lambda: piece.initialize(init.Constant(6.0), force_reinit=True),
        ]
    ):
        write()
        assert (held.asnumpy() == k + 1).all() and piece.data() is held
        assert (whole.data().asnumpy()[4:8] == k + 1).all()
        assert float(held.sum()) == 16 * (k + 1)


@pytest.mark.dear
def test_a_piece_read_inside_record_before_and_after_a_write():
    layer = attention()
    w = layer.query.weight.data()
    with autograd.record():
        before = (w * 2).sum()
        with autograd.pause():
            layer.query.weight.set_data(np.ones((4, 4)))
        after = (w * 3).sum()
    after.backward()
    assert float(after) == 48
    assert (layer.query.weight.grad().asnumpy() == 3).all()
    assert (layer.key.weight.grad().asnumpy() == 0).all()
    assert float(before) != 32


@pytest.mark.dear
def test_a_cast_and_back_keeps_handles_and_trains():
    layer = attention()
    held = layer.value.weight.data()
    layer.cast("float16")
    assert held.dtype == "float16" and layer.value.weight.grad().dtype == "float16"
    layer.query.weight.cast("float32")  # a piece casts all
    assert held.dtype == "float32" and layer.collect_params()["qkv_weight"].dtype == "float32"
    layer.cast("float32")
    before = held.asnumpy()
    step(layer, gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 1.0}))
    assert (held.asnumpy() != before).any()


# == copies ============================================================================================================


@pytest.mark.dear
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))], ids=["deep", "pickle"])
def test_copies_keep_what_optimizers_heed(copied):
    layer = attention()
    layer.key.weight.grad_req = "null"
    layer.query.weight.lr_mult, layer.value.weight.wd_mult = 0.5, 3.0
    step(layer)
    other = copied(layer)
    assert other.is_fused and other.key.weight.grad_req == "null"
    assert other.query.weight.lr_mult == 0.5 and other.value.weight.wd_mult == 3.0
    for net in (layer, other):
        step(net, gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "wd": 0.1, "momentum": 0.9}))
    assert_same(values(layer), values(other))
    other.key.weight.set_data(np.zeros((4, 4)))
    assert (layer.key.weight.data().asnumpy() != 0).all()


@pytest.mark.dear
def test_a_copy_of_two_blocks_that_share_still_shares():
    a, b = attention(0), attention(1)
    b.share_parameters(a.collect_params())
    both = nn.HybridSequential()
    both.add(a, b)
    both(X)
    other = copy.deepcopy(both)
    other[0].query.weight.set_data(np.ones((4, 4)))
    assert (other[1].query.weight.data().asnumpy() == 1).all()
    assert (b.query.weight.data().asnumpy() != 1).all()
    assert len(other.collect_params()) == len(both.collect_params())
    assert len(set(other.collect_params().values())) == len(set(both.collect_params().values())) == 4


@pytest.mark.dear
def test_sharing_after_steps_and_retraining():
    a, b = attention(0), attention(1)
    a.hybridize()
    b.hybridize()
    step(a), step(b)
    b.share_parameters(a.collect_params())
    onp.testing.assert_allclose(a(X).asnumpy(), b(X).asnumpy(), rtol=1e-6)
    trainer = gluon.Trainer(b.collect_params(), "sgd", {"learning_rate": 0.5})
    step(b, trainer)
    onp.testing.assert_allclose(a(X).asnumpy(), b(X).asnumpy(), rtol=1e-6)


@pytest.mark.dear
def test_one_piece_shared_into_a_fused_layer_is_one_error_and_no_change():
    a, b = attention(0), attention(1)
    before = values(a), values(b)
    with pytest.raises(FusionError, match=r"Cannot share"):
        b.share_parameters({"key.weight": a.key.weight})
    assert_same(values(a), before[0])
    assert_same(values(b), before[1])
    assert b.is_fused and a.is_fused
    step(a), step(b)


# == frozen pieces, and back ===========================================================================================


@pytest.mark.dear
@pytest.mark.parametrize("name", ["sgd", "adam", "lamb", "nadam"])
def test_freezing_and_thawing_a_gate_in_the_middle(name):
    """The piece stands still while it is frozen, its state waits, and both nets go on alike."""
    kwargs = {"sgd": {"momentum": 0.9, "wd": 0.1}}.get(name, {"wd": 0.1})
    nets = [attention(0, fuse) for fuse in (True, False)]
    trainers = [gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.05, **kwargs}) for net in nets]
    for phase in ("write", "null", "write"):
        for net, trainer in zip(nets, trainers):
            net.key.weight.grad_req = phase
            before = net.key.weight.data().asnumpy()
            for _ in range(2):
                step(net, trainer)
            assert (net.key.weight.data().asnumpy() == before).all() == (phase == "null")
        assert_same(*map(values, nets))


def whole_and_pieces(net):
    """Norms of the gradients of what `collect_params` lists, and of the pieces that are trained."""
    whole = [p.grad().asnumpy() for p in net.collect_params().values()]
    apart = [p.grad().asnumpy() for p in net.collect_params(fused=False).values() if p.grad_req != "null"]
    return [float(onp.sqrt(sum((g**2).sum() for g in grads))) for grads in (whole, apart)]


@pytest.mark.dear
@pytest.mark.parametrize("kind", ["lstm", "attention", "functions"])
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("req", ["write", "add"])
def test_a_frozen_piece_does_not_count_in_the_norm_of_the_whole(kind, hybrid, req):
    """Clipping by the global norm must scale what is trained by the norm of what is trained."""
    if kind == "lstm":
        net, name = rnn.LSTM(3, input_size=4), "l0_i2h_weight"
        net.initialize(init.Normal(0.7))
    elif kind == "attention":
        net, name = attention(), "key.weight"
    else:
        net, name = ByFunctions(), "b"
        net.initialize(init.Normal(0.7))
        net.fuse()
    if hybrid:
        net.hybridize()
    net.setattr("grad_req", req)
    step(net)
    whole, _ = whole_and_pieces(net)
    net.collect_params(fused=False)[name].grad_req = "null"
    kept = whole_and_pieces(net)
    assert kept[0] == pytest.approx(kept[1]) and 0 < kept[0] < whole  # also of the gradient that was there
    for _ in range(2):
        step(net)
        assert len(net.collect_params()) < len(net.collect_params(fused=False))
        counted, trained = whole_and_pieces(net)
        assert counted == pytest.approx(trained) and counted > 0
    norm = gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], trained / 2)
    assert norm == pytest.approx(trained)
    assert whole_and_pieces(net) == pytest.approx([trained / 2] * 2)
    net.collect_params(fused=False)[name].grad_req = req
    before = trained
    step(net)
    counted, trained = whole_and_pieces(net)
    assert counted == pytest.approx(trained) and trained != pytest.approx(before)


class ByFunctions(nn.HybridBlock):
    """Fuses by functions of its own."""

    def __init__(self):
        super().__init__()
        self.a, self.b = Parameter("a", shape=(4, 2)), Parameter("b", shape=(4, 3))

    def fuse_parameters(self, params):
        params = dict(params)
        return {"both": jnp.concatenate([params.pop("b"), params.pop("a")], 1), **params}

    def unfuse_parameters(self, params):
        params = dict(params)
        both = params.pop("both")
        return {"a": both[:, 3:], "b": both[:, :3], **params}

    def forward(self, x):
        return np.matmul(x, self.weights_of("both"))


@pytest.mark.dear
def test_freezing_between_forward_and_backward():
    net = attention()
    with autograd.record():
        loss = (net(X) ** 2).mean()
    net.key.weight.grad_req = "null"
    loss.backward()
    counted, trained = whole_and_pieces(net)
    assert counted == pytest.approx(trained) and counted > 0


def test_what_is_not_a_number_in_a_frozen_piece_skips_no_step():
    """The gradient of a frozen piece is no reason for a loss scaler, or a check of all gradients, to give up."""
    net = ByFunctions()
    net.initialize(init.Normal(0.7))
    net.fuse()
    net.b.grad_req = "null"
    with autograd.record():
        out = net(X)
        loss = out[..., 3:].sum() + np.sqrt(out[..., :3] * 0).sum()
    loss.backward()
    (whole,) = net.collect_params().values()
    assert onp.isfinite(whole.grad().asnumpy()).all() and whole.grad().asnumpy().any()


@pytest.mark.dear
def test_functional_gives_a_frozen_piece_no_gradient():
    net = attention()
    net.key.weight.grad_req = "null"
    step(net)
    for pure in (gluonx.functional(net), gluonx.functional(copy.deepcopy(net))):

        def loss(params, pure=pure):
            return (pure.apply(params, pure.state, None, X._read())[0] ** 2).mean()

        grads = jax.grad(loss)(pure.params)
        for name, param in net.collect_params().items():
            wanted = param.grad().asnumpy()  # that of the key's bias is 0: a sum of the others' rounding errors
            atol = 16 * onp.finfo("f").eps * abs(wanted).max()
            onp.testing.assert_allclose(grads[name], wanted, rtol=1e-4, atol=atol, err_msg=name)


@pytest.mark.dear
def test_unfusing_between_backward_and_step():
    nets = [attention(0), attention(0)]
    for k, net in enumerate(nets):
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
        step(net, trainer)
        step(net)
        if k:
            net.unfuse()
            assert not net.is_fused
        trainer.step(1)
        step(net, trainer)
    assert_same(*map(values, nets))


def test_adding_gradients_and_clearing_one_piece():
    layer = attention()
    layer.collect_params()["qkv_weight"].grad_req = "add"
    step(layer)
    one = layer.query.weight.grad().asnumpy()
    step(layer)
    onp.testing.assert_allclose(layer.query.weight.grad().asnumpy(), 2 * one, rtol=1e-5)
    other = layer.value.weight.grad().asnumpy()
    layer.query.weight.zero_grad()
    assert not layer.query.weight.grad().asnumpy().any()
    onp.testing.assert_array_equal(layer.value.weight.grad().asnumpy(), other)


# == structure =========================================================================================================


def test_a_piece_of_a_child_that_is_fused_already():
    class Greedy(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.lstm, self.dense = rnn.LSTM(2, input_size=3), nn.Dense(8, in_units=3, use_bias=False)
            self.declare_fusion(Fused("both", ("lstm.l0_i2h_weight", "dense.weight")))

    net = Greedy()
    net.initialize()
    before = values(net)
    with pytest.raises(FusionError, match=r"l0_i2h_weight.*piece of"):
        net.fuse()
    assert_same(values(net), before)
    assert list(net.collect_params()) == ["lstm.rnn_param", "dense.weight"]


def test_a_parameter_that_two_siblings_fuse():
    shared = Parameter("shared", shape=(2, 3))

    class Pair(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.shared, self.own = shared, Parameter("own", shape=(2, 3))
            self.declare_fusion(Fused("both", ("shared", "own")))

    net = nn.HybridSequential()
    net.add(Pair(), Pair())
    net.initialize()
    with pytest.raises(FusionError, match="piece of two fused parameters"):
        net.fuse()
    assert not net.is_fused
    net[0].fuse()
    with pytest.raises(FusionError, match="piece of"):
        net[1].fuse()
    assert not net[1].is_fused and net[0].is_fused


def test_a_dense_child_given_away_leaves_the_fusion():
    """A block whose child is replaced by another's child no longer trains the old one."""
    a, b = attention(0), attention(1)
    a(X), b(X)
    b.key = nn.Dense(4, in_units=4, flatten=False)
    b.key.initialize()
    b(X), b(X)  # the first call ends the fusion, the second makes it anew
    assert b.is_fused and b.collect_params()["qkv_weight"].pieces[1] is b.key.weight
    step(b, gluon.Trainer(b.collect_params(), "sgd", {"learning_rate": 0.1}))


@pytest.mark.parametrize(
    "layer", [rnn.LSTM(3, input_size=4), nn.MultiHeadAttention(4, 2, in_units=4)], ids=["lstm", "mha"]
)
def test_a_file_with_a_piece_missing_changes_nothing(layer, tmp_path):
    layer.initialize(force_reinit=True)
    layer(X)
    arrays = {name: p.data().asnumpy() + 1 for name, p in layer.collect_params(fused=False).items()}
    gone = next(iter(arrays))
    del arrays[gone]
    before = values(layer)
    with pytest.raises(FormatError, match=gone.replace(".", r"\.")) as caught:
        layer.load_dict(arrays)
    assert "allow_missing" in str(caught.value)
    assert_same(values(layer), before)
    layer.load_dict(arrays, allow_missing=True)
    onp.testing.assert_array_equal(values(layer)[gone], before[gone])
    assert all((values(layer)[name] == arrays[name]).all() for name in arrays)
    with pytest.raises(FormatError):
        layer.load_dict({**arrays, gone: onp.ones((1, 1), "float32")})
    with pytest.raises(FormatError):
        layer.load_dict({name: p.data().asnumpy()[:-1] for name, p in layer.collect_params().items()})
