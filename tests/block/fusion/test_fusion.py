"""Parameter fusion: pieces and fused arrays are one thing seen twice, whatever is done to either."""

import copy
import pickle

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import Fused, autograd, engine, nn, np
from gluonx import files as serialize
from gluonx.block.block import HybridBlock
from gluonx.block.fusion import layout as fusion
from gluonx.block.fusion.pieces import FusedParameter
from gluonx.block.parameter import Constant, Parameter
from gluonx.errors import (
    DeferredInitializationError,
    FormatError,
    FusionError,
    GluonxError,
    GraphError,
    UninitializedError,
)
from gluonx.export import stablehlo

# == the transforms ====================================================================================================


@st.composite
def declarations(draw):
    """A Fused and pieces that fit it."""
    how = draw(st.sampled_from(["concat", "stack", "flat"]))
    ndim = draw(st.integers(0 if how != "concat" else 1, 3))
    count = draw(st.integers(1, 4))
    base = draw(st.lists(st.integers(1, 3), min_size=ndim, max_size=ndim))
    axis = draw(st.integers(0, ndim if how == "stack" else max(ndim - 1, 0)))
    shapes = []
    for _ in range(count):
        shape = list(base)
        if how == "concat":
            shape[axis] = draw(st.integers(1, 4))
        elif how == "flat":
            shape = draw(st.lists(st.integers(1, 3), max_size=3))
        shapes.append(tuple(shape))
    names = tuple(f"p{i}" for i in range(count))
    fused = Fused("fused", names, how, axis, draw(st.booleans()))
    dtype = draw(st.sampled_from(["float32", "float16", "int32"]))
    rng = onp.random.RandomState(draw(st.integers(0, 99)))
    return fused, {n: (rng.normal(size=s) * 9).astype(dtype) for n, s in zip(names, shapes)}


@pytest.mark.dear
@hypothesis.settings(max_examples=50, deadline=None)
@hypothesis.given(declarations())
def test_fuse_and_unfuse_are_inverse_bit_for_bit(given):
    fused, tree = given
    tree = {**tree, "other": onp.ones(2)}
    shapes = {name: array.shape for name, array in tree.items()}
    layout = fused.layout([tree[p].shape for p in fused.pieces])
    made = fusion.fuse(tree, [fused])
    assert set(made) == {"fused", "other"}
    assert made["fused"].shape == layout.shape
    back = fusion.unfuse(made, [fused], shapes)
    assert list(back) == list(tree)
    for name, array in tree.items():
        assert back[name].dtype == array.dtype
        onp.testing.assert_array_equal(back[name], array)
    fusion.check_round_trip(
        lambda t: fusion.fuse(t, [fused]), lambda t: fusion.unfuse(t, [fused], shapes), tree, "Block"
    )


@pytest.mark.dear
@hypothesis.settings(max_examples=10, deadline=None)
@hypothesis.given(declarations())
def test_a_layout_reads_writes_spreads_and_measures_pieces(given):
    fused, tree = given
    arrays = [tree[p].astype("float32") for p in fused.pieces]
    layout = fused.layout([a.shape for a in arrays])
    whole = layout.join(arrays)
    last = len(arrays) - 1
    for space in (onp.asarray, jnp.asarray):
        written = layout.replace(space(whole), last, space(arrays[last]) + 1)
        for i, array in enumerate(arrays):
            onp.testing.assert_array_equal(layout.part(written, i), array + (i == last))
    onp.testing.assert_array_equal(layout.join(arrays), whole)  # replace() has not written into it
    numbers = [float(i) for i in range(len(arrays))]
    spread = onp.broadcast_to(layout.spread(numbers), whole.shape)
    norms = onp.broadcast_to(layout.norm(jnp.asarray(whole)), whole.shape)
    for i, array in enumerate(arrays):
        onp.testing.assert_array_equal(layout.part(spread, i), onp.full(array.shape, numbers[i]))
        expected = onp.full(array.shape, onp.linalg.norm(array))
        onp.testing.assert_allclose(layout.part(norms, i), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fused("w", ()), "has no pieces"),
        (lambda: Fused("w", ("a", "a")), "names the piece 'a' twice"),
        (lambda: Fused("w", ("a",), how="sum"), "how must be one of"),
        (lambda: Fused("w", ("a", "b")).layout([(2, 3), (2, 4)]), r"piece 'b' has shape \(2, 4\), .* but for axis 0"),
        (lambda: Fused("w", ("a", "b"), how="stack").layout([(2, 3), (1, 3)]), r"piece 'b' has shape \(1, 3\)"),
        (lambda: Fused("w", ("a", "b"), axis=2).layout([(2, 3), (2, 3)]), "axis 2 is none of 2 axes"),
    ],
)
def test_declarations_that_cannot_be(make, message):
    with pytest.raises(FusionError, match=message):
        make()


# == blocks ============================================================================================================


class Two(HybridBlock):
    """Parameters of its own and of a child, fused across the two."""

    def __init__(self, in_units=3, fuse=False):
        super().__init__()
        self.own = Parameter("own", shape=(2, in_units or -1), allow_deferred_init=True)
        self.child = nn.Dense(4, in_units=in_units, use_bias=False)
        self.bias = Parameter("bias", shape=(6,), init="ones")
        self.declare_fusion(Fused("weight", ("own", "child.weight")))
        if fuse:
            self.fuse()

    def infer_shape(self, x):
        self.own.shape, self.child.weight.shape = (2, x.shape[1]), (4, x.shape[1])

    def forward(self, x):
        return np.dot(x, self.weights_of("weight").T) + self.bias.data()


def made(fused=True, seed=0, **kwargs):
    net = Two(**kwargs)
    net.initialize()
    for i, param in enumerate(net.collect_params(fused=False).values()):
        param.set_data(onp.random.RandomState(seed + i).uniform(-1, 1, param.shape))
    if fused:
        net.fuse()
    return net


X = onp.random.RandomState(7).uniform(-1, 1, (5, 3)).astype("float32")


def out(net):
    return net(np.array(X)).asnumpy()


def values(net):
    return {name: p.data().asnumpy() for name, p in net.collect_params(fused=False).items()}


def same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        onp.testing.assert_array_equal(a[name], b[name], err_msg=name)


def train(net):
    with autograd.record():
        loss = (net(np.array(X)) ** 2).sum()
    loss.backward()
    return loss.item()


def grads(net):
    return {name: p.grad().asnumpy() for name, p in net.collect_params(fused=False).items()}


def test_the_report_tells_what_was_fused():
    net = made(False)
    report = net.fuse()
    assert repr(report) == "FusionReport: 3 arrays before, 2 after\n  weight (6, 3) <- own, child.weight"
    assert (report.before, report.after, report.waiting) == (3, 2, [])
    assert repr(net.fuse()) == repr(report)
    assert repr(net.unfuse()) == "FusionReport: 3 arrays before, 3 after"
    assert not net.is_fused
    assert repr(nn.Dense(2).fuse()) == "FusionReport: 2 arrays before, 2 after"


def test_names_fused_and_apart():
    net = made()
    assert list(net.collect_params()) == ["weight", "bias"]
    assert list(net.collect_params(fused=False)) == ["own", "bias", "child.weight"]
    fused = net.collect_params()["weight"]
    assert isinstance(fused, FusedParameter)
    assert fused.pieces == (net.own, net.child.weight)
    assert fused._path == "Two.weight"
    assert repr(fused) == "FusedParameter (shape=(6, 3), dtype=float32)"
    outer = nn.HybridSequential()
    outer.add(net, made(False))
    assert list(outer.collect_params()) == ["0.weight", "0.bias", "1.own", "1.bias", "1.child.weight"]


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True])
def test_values_and_gradients_are_the_same(hybrid):
    fused, apart = made(), made(False)
    if hybrid:
        fused.hybridize()
        apart.hybridize()
    onp.testing.assert_allclose(out(fused), out(apart), rtol=1e-6)
    assert train(fused) == pytest.approx(train(apart), rel=1e-6)
    a, b = grads(fused), grads(apart)
    for name in b:
        onp.testing.assert_allclose(a[name], b[name], rtol=1e-5, err_msg=name)
    onp.testing.assert_array_equal(
        fused.collect_params()["weight"].grad().asnumpy(), onp.concatenate([a["own"], a["child.weight"]])
    )


def test_the_forward_holds_no_concatenation_of_parameters():
    """The text of what is traced says so, apart and fused; and so does the jaxpr of the functional view."""
    for fused in (False, True):
        net = made(fused)
        net.hybridize()
        train(net)
        texts = [entry.text[0] for entries in net._traced.entries.values() for entry in entries]
        pure = gluonx.functional(net)
        texts.append(str(jax.make_jaxpr(lambda p: pure.apply(p, {}, None, X)[0])(pure.params)))  # noqa: B023
        assert ["concatenate" in text for text in texts] == [not fused] * len(texts)


def test_fusing_a_traced_net_traces_it_anew():
    net = made(False)
    net.hybridize()
    before = out(net)
    net.fuse()
    net.own.set_data(onp.zeros((2, 3)))
    after = out(net)
    assert (after[:, :2] == after[0, :2]).all()
    onp.testing.assert_allclose(after[:, 2:], before[:, 2:], rtol=1e-6)


# -- pieces ------------------------------------------------------------------------------------------------------------


def test_a_piece_keeps_its_handle():
    net = made(False)
    handles = {name: p.data() for name, p in net.collect_params(fused=False).items()}
    train(net)
    grad = net.own.grad()
    old = grad.asnumpy()
    for _ in range(2):
        net.fuse()
        assert all(p.data() is handles[name] for name, p in net.collect_params(fused=False).items())
        onp.testing.assert_array_equal(net.own.grad().asnumpy(), old)
        net.unfuse()
        assert all(p.data() is handles[name] for name, p in net.collect_params(fused=False).items())
        onp.testing.assert_array_equal(net.own.grad().asnumpy(), old)


def test_pieces_are_read_and_written_through():
    net = made()
    whole = net.collect_params()["weight"]
    net.own.set_data(onp.full((2, 3), 5.0))
    assert (whole.data().asnumpy()[:2] == 5).all()
    whole.set_data(onp.full((6, 3), 2.0))
    assert net.child.weight.data().tolist() == [[2.0] * 3] * 4
    handle = net.child.weight.data()
    handle[1:3] = 7
    handle += 1
    assert whole.data().asnumpy()[:, 0].tolist() == [2, 2, 3, 8, 8, 3]
    assert handle.sum().item() == 66
    assert (handle.shape, handle.dtype, handle.ndim) == ((4, 3), onp.float32, 2)
    net.own.set_data(np.zeros((2, 3)))
    assert net.own.data().asnumpy().max() == 0
    with pytest.raises(gluonx.errors.ShapeError, match="own"):
        net.own.set_data(onp.zeros((3, 3)))


def test_gradients_of_pieces_are_written_through():
    net = made()
    assert net.own.grad().tolist() == [[0.0] * 3] * 2
    train(net)
    net.own.grad()[:] = 0
    whole = net.collect_params()["weight"].grad().asnumpy()
    assert (whole[:2] == 0).all()
    assert (whole[2:] != 0).any()
    net.child.weight.zero_grad()
    assert net.collect_params()["weight"].grad().asnumpy().max() == 0
    train(net)
    assert net.own.data().grad.asnumpy().any()
    net.zero_grad()
    assert not any(g.any() for g in grads(net).values())


def test_grad_req_add_and_null():
    net, apart = made(), made(False)
    for each in (net, apart):
        each.setattr("grad_req", "add")
        train(each)
        train(each)
    for name, grad in grads(apart).items():
        onp.testing.assert_allclose(grads(net)[name], grad, rtol=1e-5)
    net.own.grad_req = "null"
    kept = net.child.weight.grad().asnumpy()
    with pytest.raises(GluonxError, match=r"'Two.own' has no gradient"):
        net.own.grad()
    assert net.own.data().grad is None
    onp.testing.assert_allclose(kept, grads(apart)["child.weight"], rtol=1e-5)
    net.own.grad_req = "add"
    assert net.own.grad().asnumpy().max() == 0
    with pytest.raises(FusionError, match="must have the same grad_req; 'own' would be 'write' beside 'add'"):
        net.own.grad_req = "write"
    assert net.own.grad_req == "add"
    net.collect_params()["weight"].grad_req = "null"
    assert (net.own.grad_req, net.child.weight.grad_req) == ("null", "null")
    with pytest.raises(ValueError, match="grad_req"):
        net.collect_params()["weight"].grad_req = "sometimes"


def test_a_child_can_be_called_by_itself():
    """Its weight is a piece of its parent's array; the gradient goes there."""
    for mode, hybrid in (("deferred", False), ("deferred", True), ("naive", False), ("naive", True)):
        net = made()
        if hybrid:
            net.child.hybridize()
        with engine.mode(mode):
            with autograd.record():
                loss = net.child(np.array(X)).sum()
            loss.backward()
        expected = onp.broadcast_to(X.sum(0), (4, 3))
        onp.testing.assert_allclose(net.child.weight.grad().asnumpy(), expected, rtol=1e-5)
        assert not net.own.grad().asnumpy().any()


@pytest.mark.dear
def test_gradients_returned_for_pieces():
    fused, apart = made(), made(False)
    results = []
    for net in (fused, apart):
        with autograd.record():
            loss = (net(np.array(X)) ** 2).sum()
            wrt = [net.child.weight.data(), net.bias.data()]
            weight, bias = autograd.grad(loss, wrt, create_graph=True)
            loss = (weight**2).sum() + bias.sum()
        loss.backward()
        results.append([weight.asnumpy(), bias.asnumpy(), *grads(net).values()])
    for a, b in zip(*results, strict=True):
        onp.testing.assert_allclose(a, b, rtol=1e-5)


def test_factors_of_the_fused_parameter_are_those_of_its_pieces():
    net = made()
    whole = net.collect_params()["weight"]
    assert (whole.lr_mult, whole.wd_mult) == (1.0, 1.0)
    net.own.lr_mult = 0.5
    assert whole.lr_mult == (0.5, 1.0)
    whole.lr_mult, whole.wd_mult = 2.0, 0.0
    assert (net.own.lr_mult, net.child.weight.lr_mult, net.own.wd_mult) == (2.0, 2.0, 0.0)


def test_a_constant_can_be_a_piece():
    class Frozen(HybridBlock):
        def __init__(self):
            super().__init__()
            self.w, self.c = Parameter("w", shape=(2,)), Constant([1.0, 2.0])
            self.declare_fusion(Fused("both", ("w", "c"), how="stack"))

        def forward(self, x):
            return (self.weights_of("both") * x).sum()

    net = Frozen()
    net.initialize()
    net.fuse()
    with autograd.record():
        y = net(np.ones((2, 2)))
    y.backward()
    assert net.w.grad().tolist() == [1.0, 1.0]
    assert net.c.data().tolist() == [1.0, 2.0]
    assert net.c.grad_req == "null"


# -- when it happens ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_what_is_asked_for_early_is_done_at_the_first_call(hybrid, nested):
    inner = Two(in_units=0, fuse=True)
    net = nn.HybridSequential()
    net.add(inner) if nested else None
    net = net if nested else inner
    report = net.fuse()
    name = "0.weight" if nested else "weight"
    assert report.waiting == [name]
    assert repr(report).endswith(f"  {name}: waits until its pieces have values")
    net.initialize()
    assert not net.is_fused
    if hybrid:
        net.hybridize()
    start = engine.stats()["traces"]
    train(net)
    assert net.is_fused
    assert engine.stats()["traces"] - start == hybrid  # not once apart and once fused
    assert name in net.collect_params()


def test_a_net_by_pieces_of_unknown_shape_says_which():
    class Silent(Two):
        infer_shape = HybridBlock.infer_shape

    net = Silent(in_units=0, fuse=True)
    with pytest.raises(UninitializedError, match=r"Silent.own"):
        net(np.array(X))
    net.initialize()
    with pytest.raises(DeferredInitializationError, match=r"Silent.own"):
        net(np.array(X))


def test_fusing_between_forward_and_backward_is_refused():
    net = made(False)
    with autograd.record():
        loss = net(np.array(X)).sum()
        with pytest.raises(FusionError, match="whose backward is still to come"):
            net.fuse()
    loss.backward()
    assert net.own.grad().asnumpy().any()
    net.fuse()
    assert net.own.grad().asnumpy().any()


# -- a block's own functions -------------------------------------------------------------------------------------------


class Interleaved(HybridBlock):
    """Rows of two matrices in turns, which no Fused describes."""

    def __init__(self, rows=2):
        super().__init__()
        self.even, self.odd = (Parameter(n, shape=(rows, 3)) for n in ("even", "odd"))
        self.other = Parameter("other", shape=(1,))

    def fuse_parameters(self, tree):
        tree = dict(tree)
        pair = [tree.pop("even"), tree.pop("odd")]
        return {**tree, "turns": jnp.stack(pair, 1).reshape(-1, 3)}

    def unfuse_parameters(self, tree):
        tree = dict(tree)
        turns = tree.pop("turns").reshape(-1, 2, 3)
        return {**tree, "even": turns[:, 0], "odd": turns[:, 1]}

    def forward(self, x):
        return np.dot(x, self.weights_of("turns").T) * self.other.data()


@pytest.mark.dear
def test_functions_of_a_block_fuse():
    nets = []
    for fused in (False, True):
        net = Interleaved()
        net.initialize()
        net.even.set_data(onp.arange(6.0).reshape(2, 3))
        net.odd.set_data(-onp.arange(6.0).reshape(2, 3))
        net.other.set_data(onp.ones(1))
        if fused:
            assert repr(net.fuse()).splitlines()[1] == "  turns (4, 3) <- even, odd"
            assert net.collect_params()["turns"].data().asnumpy()[:, 2].tolist() == [2, -2, 5, -5]
        trainer = gluonx.Trainer(net.collect_params(), "lamb", {"learning_rate": 0.1})
        net.even.lr_mult = 0.5
        for _ in range(3):
            train(net)
            trainer.step(1)
        net.odd.data()[0] = 3
        nets.append(values(net))
        copied = copy.deepcopy(net)
        assert copied.is_fused == fused
        same(values(copied), values(net))
    for name in nets[0]:
        onp.testing.assert_allclose(nets[1][name], nets[0][name], rtol=1e-5)


def loses(tree):
    tree = dict(tree)
    return {"turns": tree.pop("even"), "other": tree["other"]}


def doubles(tree):
    return {"turns": jnp.concatenate([tree["even"], tree["even"], tree["odd"]]), "other": tree["other"]}


def adds(tree):
    return {"turns": jnp.concatenate([tree["even"], -tree["odd"] - 1]), "other": tree["other"]}


def tears(tree):
    return {"a": tree["even"], "b": tree["odd"][:1], "c": tree["odd"][1:], "other": tree["other"]}


@pytest.mark.parametrize(
    ("fuse", "message"),
    [
        (loses, "Interleaved: fuse_parameters loses 'odd'"),
        (doubles, r"Interleaved: .*in 'turns' elements of \['even', 'odd'\] stand twice"),
        (adds, "Interleaved: .*in 'turns' there are elements of no piece"),
        (tears, "Interleaved: .*in 'b' 'odd' is torn"),
    ],
)
def test_a_fuse_that_is_no_placement_is_refused(fuse, message):
    class Wrong(Interleaved):
        def fuse_parameters(self, tree):
            return fuse(tree)

    Wrong.__name__ = "Interleaved"
    net = Wrong()
    net.initialize()
    before = values(net)
    with pytest.raises(FusionError, match=message):
        net.fuse()
    same(values(net), before)
    assert not net.is_fused


def swapped(tree):
    turns = tree["turns"].reshape(-1, 2, 3)
    return {"other": tree["other"], "even": turns[:, 1], "odd": turns[:, 0]}


def forgets(tree):
    return {"other": tree["other"], "even": tree["turns"][::2]}


def invents(tree):
    return {**Interleaved.unfuse_parameters(None, tree), "more": tree["turns"]}


def reshapes(tree):
    return {"other": tree["other"], "even": tree["turns"][::2].ravel(), "odd": tree["turns"][1::2]}


@pytest.mark.parametrize(
    ("unfuse", "message"),
    [
        (swapped, "Interleaved: 'even' has other values"),
        (forgets, "Interleaved: unfuse_parameters does not give back 'odd'"),
        (invents, "Interleaved: unfuse_parameters gives 'more', which is no parameter"),
        (reshapes, r"Interleaved: 'even' was float32\(2, 3\) before it was fused, and came back .* float32\(6,\)"),
    ],
)
def test_an_unfuse_that_is_not_the_inverse_is_refused(unfuse, message):
    class Wrong(Interleaved):
        def unfuse_parameters(self, tree):
            return unfuse(tree)

    Wrong.__name__ = "Interleaved"
    net = Wrong()
    net.initialize()
    before = values(net)
    with pytest.raises(FusionError, match=message):
        net.fuse()
    same(values(net), before)
    assert not net.is_fused


# -- wrong declarations ------------------------------------------------------------------------------------------------


def test_overlapping_declarations_are_refused():
    net = Two()
    with pytest.raises(FusionError, match="Fused 'more' of Two wants 'own', which is a piece of 'weight' already"):
        net.declare_fusion(Fused("more", ("own", "bias"), how="flat"))
    with pytest.raises(FusionError, match="the parameter 'bias' exists already"):
        net.declare_fusion(Fused("bias", ("other",)))
    with pytest.raises(TypeError, match="takes Fused"):
        net.declare_fusion("own")


def test_a_parent_and_its_child_cannot_fuse_the_same():
    outer = nn.HybridSequential()
    inner = made(False)
    outer.add(inner)
    outer.declare_fusion(Fused("whole", ("0.own", "0.bias"), how="flat"))
    before = values(outer)
    with pytest.raises(FusionError, match=r"'own' of '.*0\.weight'|'0\.own' of"):
        outer.fuse()
    assert not outer.is_fused
    same(values(outer), before)
    inner.fuse()
    with pytest.raises(FusionError, match=r"is a piece of '.*weight' already"):
        outer.fuse()


def test_a_piece_that_is_not_there_or_of_another_dtype():
    net = made(False)
    net.declare_fusion(Fused("more", ("bias", "offset"), how="flat"))
    with pytest.raises(FusionError, match="no parameter 'offset' below this block; it has 'own', 'bias'"):
        net.fuse()
    net = made(False)
    net.child.cast("float16")
    before = values(net)
    with pytest.raises(FusionError, match=r"Two\.weight: the piece 'child.weight' is float16, 'own' is float32"):
        net.fuse()
    same(values(net), before)


def test_pieces_of_two_grad_reqs():
    net = made(False)
    net.own.grad_req = "add"
    with pytest.raises(FusionError, match="'write' and 'add' cannot share one gradient; 'own' has 'add'"):
        net.fuse()
    assert not net.is_fused


def test_an_array_that_was_not_declared():
    with pytest.raises(FusionError, match="declares no fused parameter 'wieght'; declared: 'weight'"):
        made().weights_of("wieght")


# -- what else is done to parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))], ids=["deep", "pickle"])
def test_copies_are_fused_and_apart_from_the_original(copied):
    net = made()
    twin = copied(net)
    assert twin.is_fused
    same(values(twin), values(net))
    twin.own.set_data(onp.zeros((2, 3)))
    assert net.own.data().asnumpy().any()
    train(twin)
    assert not net.own.grad().asnumpy().any()
    assert twin.own.grad().asnumpy().any()
    alone = copied(net.own)
    onp.testing.assert_array_equal(alone.data().asnumpy(), net.own.data().asnumpy())
    whole = copied(net.collect_params()["weight"])
    onp.testing.assert_array_equal(whole.data().asnumpy(), net.collect_params()["weight"].data().asnumpy())


def test_a_shallow_copy_shares():
    net = made()
    twin = copy.copy(net)
    assert twin.collect_params()["weight"] is net.collect_params()["weight"]


def test_cast_and_device():
    net = made()
    net.cast("float16")
    whole = net.collect_params()["weight"]
    assert {whole.dtype, net.own.dtype, net.own.data().dtype, net.own.grad().dtype} == {onp.dtype("float16")}
    net(np.array(X, dtype="float16"))
    net.own.cast("float32")  # all pieces of an array have its dtype
    assert whole.dtype == net.child.weight.dtype == onp.float32
    net.reset_device(gluonx.cpu(0))
    assert net.own.list_device() == [gluonx.cpu(0)]
    assert net.own.data().device == gluonx.cpu(0)


@pytest.mark.skipif(len(jax.devices("cpu")) < 2, reason="one device")
def test_moving_a_piece_moves_all():
    net = made()
    before = values(net)
    net.own.reset_device(gluonx.cpu(1))
    assert net.child.weight.data().device == gluonx.cpu(1)
    same(values(net), before)
    net.initialize(device=gluonx.cpu(0), force_reinit=True)
    assert {p.data().device for p in net.collect_params(fused=False).values()} == {gluonx.cpu(0)}


def test_force_reinit_gives_each_piece_its_own_initializer():
    nets = []
    for fused in (True, False):
        net = made(fused)
        net.own.init = "ones"
        gluonx.random.seed(3)
        net.initialize(gluonx.init.Xavier(), force_reinit=True)
        nets.append(values(net))
        assert net.is_fused == fused
    same(*nets)
    assert (nets[0]["own"] == 1).all()


def test_sharing_all_pieces_shares_the_array():
    a, b = made(), made(seed=5)
    b.share_parameters(a.collect_params())
    assert b.own is a.own
    assert b.is_fused
    onp.testing.assert_array_equal(out(a), out(b))
    assert b.collect_params()["weight"] is a.collect_params()["weight"]
    a.own.set_data(onp.zeros((2, 3)))
    onp.testing.assert_array_equal(out(a), out(b))
    a.unfuse()
    onp.testing.assert_array_equal(out(a), out(b))


@pytest.mark.parametrize("fused", [(True, False), (False, True), (False, False)])
def test_sharing_between_fused_and_not(fused):
    a, b = made(fused[0]), made(fused[1], seed=5)
    b.share_parameters(a.collect_params())
    onp.testing.assert_array_equal(out(a), out(b))
    train(b)
    onp.testing.assert_array_equal(a.own.grad().asnumpy(), b.own.grad().asnumpy())
    a.child.weight.set_data(onp.ones((4, 3)))
    onp.testing.assert_array_equal(out(a), out(b))


def test_sharing_one_piece_of_two_fusions_is_refused():
    a, b = made(), made(seed=5)
    before = values(b)
    with pytest.raises(FusionError, match=r"Cannot share 'own': it is a piece of 'Two.weight', and 'weight' of Two is"):
        b.share_parameters({"own": a.own})
    same(values(b), before)
    assert b.own is not a.own
    apart = made(False, seed=9)
    apart.share_parameters({"own": a.own})  # read as a piece, which needs no fusion of its own
    onp.testing.assert_array_equal(
        out(apart)[:, :2], np.dot(np.array(X), a.own.data().T).asnumpy() + values(apart)["bias"][:2]
    )
    with pytest.raises(FusionError, match=r"'own' .*is a piece of"):
        apart.fuse()


def test_replacing_a_piece_ends_its_fusion_and_the_next_call_fuses_anew():
    net = made()
    old = net.child.weight
    net.own = Parameter("own", shape=(2, 3), init="ones")
    net.own.initialize()
    assert not net.is_fused
    assert old._home is None
    result = out(net)
    assert net.is_fused
    assert net.collect_params()["weight"].data().asnumpy()[0].tolist() == [1.0] * 3
    onp.testing.assert_allclose(result[:, 0], X.sum(1) + values(net)["bias"][0], rtol=1e-5)


# -- functional, export, files -----------------------------------------------------------------------------------------


@pytest.mark.dear
def test_functional_has_the_fused_ones():
    net = made()
    pure = gluonx.functional(net)
    assert set(pure.params) == {"weight", "bias"}
    result, _ = pure.apply(pure.params, pure.state, None, X)
    onp.testing.assert_allclose(result, out(net), rtol=1e-6)
    pure.update_from({"weight": jnp.zeros((6, 3))})
    assert not net.own.data().asnumpy().any()


def test_export_has_the_fused_ones(tmp_path):
    net = made()
    net.hybridize()
    expected = out(net)
    path = net.export(tmp_path / "net")
    saved = serialize.load_arrays(path / "params.safetensors")
    assert set(saved) == {"weight", "bias"}
    onp.testing.assert_allclose(stablehlo.load_artifact(path)(X), expected, rtol=1e-6)


def test_files_do_not_depend_on_fusion(tmp_path):
    fused, apart = made(), made(False)
    fused.save_parameters(tmp_path / "fused")
    apart.save_parameters(tmp_path / "apart")
    a, b = (serialize.load_arrays(tmp_path / name) for name in ("fused", "apart"))
    same(a, b)
    for name in ("fused", "apart"):
        for start in (True, False):
            net = made(start, seed=11)
            net.load_parameters(tmp_path / name)
            same(values(net), values(apart))
            assert net.is_fused == start
            onp.testing.assert_allclose(out(net), out(apart), rtol=1e-6)
    fused.save(str(tmp_path / "model"))
    net = made(seed=12)
    net.load(str(tmp_path / "model"))
    same(values(net), values(apart))
    late = Two(in_units=0, fuse=True)
    late.load_parameters(tmp_path / "apart")
    onp.testing.assert_allclose(out(late), out(apart), rtol=1e-6)
    assert late.is_fused


def test_dicts_of_fused_arrays_load_into_any_net():
    source = made()
    arrays = {name: p.data() for name, p in source.collect_params().items()}
    for fused in (True, False):
        net = made(fused, seed=13)
        net.load_dict(arrays)
        same(values(net), values(source))
    with pytest.raises(
        FormatError, match=r"'weight' has shape \(7, 3\), .* \('own', 'child.weight'\) together \(6, 3\)"
    ):
        net.load_dict({**arrays, "weight": onp.zeros((7, 3))})


def test_files_that_do_not_fit_change_nothing(tmp_path):
    net = made()
    before = values(net)
    net.save_parameters(tmp_path / "all")
    arrays = serialize.load_arrays(tmp_path / "all")
    less = {n: a for n, a in arrays.items() if n != "child.weight"}
    with pytest.raises(FormatError, match=r"lacks 'child.weight'"):
        net.load_dict({n: a + 1 for n, a in less.items()})
    other = {"kernel": onp.zeros((6, 3)), "bias": arrays["bias"]}  # as a layer before it had pieces wrote it
    with pytest.raises(FormatError, match=r"lacks 'own', 'child.weight' .*\n.*holds 'kernel'"):
        net.load_dict(other)
    mixed = {**arrays, "own": arrays["own"].astype("float16")}
    with pytest.raises(FormatError, match=r"'child.weight' the dtype float32 and 'own' float16"):
        net.load_dict(mixed, cast_dtype=True, dtype_source="saved")
    same(values(net), before)
    net.load_dict({n: a + 1 for n, a in less.items()}, allow_missing=True)
    onp.testing.assert_array_equal(values(net)["own"], before["own"] + 1)
    onp.testing.assert_array_equal(values(net)["child.weight"], before["child.weight"])
    net.load_dict({n: a.astype("float16") for n, a in arrays.items()}, cast_dtype=True, dtype_source="saved")
    assert net.own.dtype == net.collect_params()["weight"].dtype == onp.float16


def test_forms_of_other_libraries(tmp_path):
    def form(net):
        net.declare_file_form(
            "mxnet",
            Fused("packed", ("child.weight", "own"), how="flat"),
            lambda size: {"own": (2, size // 6), "child.weight": (4, size // 6)},
        )
        return net

    net = form(made())
    net.save_parameters(tmp_path / "f", format="mxnet")
    saved = serialize.load_arrays(tmp_path / "f")
    assert {name: array.shape for name, array in saved.items()} == {"packed": (18,), "bias": (6,)}
    for other in (made(False, seed=4), Two(in_units=0)):
        form(other).load_parameters(tmp_path / "f")
        same(values(other), values(net))
    with pytest.raises(FormatError, match=r"'packed' has shape \(19,\)"):
        net.load_dict({"packed": onp.zeros(19), "bias": onp.zeros(6)})


def test_a_piece_has_no_gradient_of_its_own_to_attach():
    with pytest.raises(GraphError, match="set the Parameter's grad_req"):
        made().own.data().attach_grad()


def test_a_fused_parameter_that_was_unfused_says_so():
    net = made()
    whole = net.collect_params()["weight"]
    net.unfuse()
    with pytest.raises(UninitializedError, match=r"'Two.weight' is no more: it was unfused"):
        whole.data()
