"""Attention and the layers of a transformer: against NumPy, fused and apart, with masks, and token by token."""

import jax
import numpy as onp
import pytest
from jax.test_util import check_grads

import gluonx
from gluonx import Trainer, autograd, engine, nn, np, npx, ops, parallel
from gluonx import files as serialize
from gluonx.common import policy
from gluonx.deferred.run.program import Program
from gluonx.errors import ShapeError
from gluonx.export.stablehlo import load_artifact
from gluonx.ops import cudnn


def real(*shape, seed=0):
    return onp.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


def reference(q, k, v, mask=None, scale=None):
    """Attention with loops; a query that may look at nothing gives zeros."""
    batch, length, heads, width = q.shape
    groups = heads // k.shape[2]
    out = onp.zeros(q.shape, "float64")
    for b in range(batch):
        for h in range(heads):
            for t in range(length):
                seen = onp.flatnonzero(mask[b, h, t]) if mask is not None else onp.arange(k.shape[1])
                if len(seen):
                    scores = k[b, seen, h // groups] @ q[b, t, h] * (scale or 1 / onp.sqrt(width))
                    weights = onp.exp(scores - scores.max())
                    out[b, t, h] = weights / weights.sum() @ v[b, seen, h // groups]
    return out


def full(mask, q, k):
    return onp.broadcast_to(mask, (q.shape[0], q.shape[2], q.shape[1], k.shape[1]))


Q, K, V = real(2, 4, 4, 3), real(2, 5, 2, 3, seed=1), real(2, 5, 2, 3, seed=2)
MASK = onp.random.RandomState(3).uniform(size=(2, 4, 5)) > 0.4
MASK[1, 2] = False
VALID = onp.array([5, 2])
INSIDE = (onp.arange(5) < VALID[:, None])[:, None, None]
TRIANGLE = onp.tril(onp.ones((4, 5), bool), 1)


@pytest.mark.dear
@pytest.mark.parametrize(
    ("given", "attrs", "mask"),
    [
        ({}, {}, True),
        ({}, {"scale": 0.3}, True),
        ({"mask": MASK}, {}, MASK[:, None]),
        ({"mask": MASK[0]}, {}, MASK[0]),
        ({"mask": MASK[:, None].astype("float32")}, {}, MASK[:, None]),
        ({"valid_length": VALID}, {}, INSIDE),
        ({"valid_length": onp.array([0, 5])}, {}, onp.array([False, True])[:, None, None, None]),
        ({}, {"causal": True}, TRIANGLE),
        ({"mask": MASK, "valid_length": VALID}, {"causal": True}, MASK[:, None] & INSIDE & TRIANGLE),
    ],
    ids=["plain", "scale", "mask", "one-mask", "float-mask", "valid", "none-valid", "causal", "all"],
)
def test_the_operator_against_loops(given, attrs, mask):
    expected = reference(Q, K, V, full(mask, Q, K), attrs.get("scale"))
    found = npx.dot_product_attention(*map(np.array, (Q, K, V)), **{n: np.array(a) for n, a in given.items()}, **attrs)
    onp.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-6)

    op = ops.get("dot_product_attention").fn
    rest = [given.get("mask"), given.get("valid_length")]
    check_grads(lambda q, k, v: op(None, q, k, v, *rest, **attrs), (Q, K, V), 1, modes=["rev"], atol=1e-2, rtol=1e-2)


def test_weights_are_dropped_in_training_alone():
    arrays = [np.array(a) for a in (Q, K, V)]
    kwargs = {"mask": np.array(MASK), "p": 0.5}
    plain = npx.dot_product_attention(*arrays, np.array(MASK))
    onp.testing.assert_array_equal(npx.dot_product_attention(*arrays, **kwargs).asnumpy(), plain.asnumpy())
    with autograd.train_mode():
        draws = onp.mean([npx.dot_product_attention(*arrays, **kwargs).asnumpy() for _ in range(300)], 0)
    onp.testing.assert_allclose(draws, plain.asnumpy(), atol=0.2)
    assert not onp.array_equal(draws, plain.asnumpy())
    assert not draws[1, 2].any()


@pytest.mark.parametrize(
    ("arrays", "kwargs", "message"),
    [
        ((Q[0], K, V), {}, r"query must be \(batch, queries, heads, width\)"),
        ((Q, K, V[:, :4]), {}, "key and value both"),
        ((Q, K[:1], V[:1]), {}, "batch and width of query and key must be equal"),
        ((Q, onp.repeat(K, 3, 2)[:, :, :3], onp.repeat(V, 3, 2)[:, :, :3]), {}, "a multiple of those of key"),
        ((Q, K, V), {"mask": onp.ones((3, 5), bool)}, r"mask must broadcast to .* = \(2, 4, 4, 5\)"),
        ((Q, K, V), {"valid_length": onp.ones((3,))}, r"valid_length must have shape \(2,\)"),
    ],
)
def test_shapes_that_do_not_fit(arrays, kwargs, message):
    with pytest.raises(ShapeError, match=message):
        npx.dot_product_attention(*map(np.array, arrays), **{n: np.array(a) for n, a in kwargs.items()})


def test_a_share_that_cannot_be_dropped():
    with pytest.raises(ValueError, match="p is 1"):
        npx.dot_product_attention(*map(np.array, (Q, K, V)), p=1.0)


# == the layer =========================================================================================================


def layer_by_hand(net, x, memory=None, mask=None):
    w = {name: p.data().asnumpy() for name, p in net.collect_params(fused=False).items()}

    def dense(name, x):
        return x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0)

    def heads(x):
        return x.reshape(*x.shape[:2], net._heads, -1)

    memory = x if memory is None else memory
    q, k, v = heads(dense("query", x)), heads(dense("key", memory)), heads(dense("value", memory))
    out = reference(q, k, v, None if mask is None else full(mask, q, k))
    return dense("proj", out.reshape(*x.shape[:2], -1))


def made(fuse=True, **kwargs):
    net = nn.MultiHeadAttention(6, 2, fuse=fuse, **{"bias_initializer": "normal", **kwargs})
    net.initialize(gluonx.init.Uniform(1))
    return net


X, M = real(2, 4, 5), real(2, 3, 7, seed=4)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("kind", ["self", "causal", "cross", "masked", "memory"])
def test_the_layer_by_hand(kind, fuse, hybrid):
    net = made(fuse, causal=kind == "causal", cross=kind == "cross", use_bias=kind != "causal")
    if hybrid:
        net.hybridize()
    args, mask = (X,), None
    if kind in ("cross", "memory"):  # a layer of self attention can be given a memory as well, with its pieces
        args = (X, M if kind == "cross" else X[:, ::-1])
    elif kind == "masked":
        mask = onp.random.RandomState(5).uniform(size=(2, 4, 4)) > 0.3
        args = (X, None, None, mask)
    elif kind == "causal":
        mask = onp.tril(onp.ones((4, 4), bool))
    found = net(*[a if a is None else np.array(a) for a in args])
    shown = mask[:, None] if kind == "masked" else mask
    expected = layer_by_hand(net, X, args[1] if len(args) == 2 else None, shown)
    onp.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    assert net.is_fused == fuse
    names = {"kv_weight", "kv_bias"} if kind == "cross" else {"qkv_weight", "qkv_bias"}
    assert names.issuperset(set(net.collect_params()) - set(net.collect_params(fused=False)))


@pytest.mark.dear
def test_the_fused_forward_holds_no_concatenation(monkeypatch):
    monkeypatch.setitem(policy.limits, "runs", 0)  # else operators are single equations of the trace
    for fuse in (True, False):
        net = made(fuse)
        net.hybridize()
        net(np.array(X))
        ((entry,),) = net._traced.entries.values()
        assert ("concatenate" in entry.text[0]) == (not fuse)
        assert entry.text[0].count("dot_general") == 4  # qkv, scores, sums, proj
        pure = gluonx.functional(net)
        text = str(jax.make_jaxpr(lambda p: pure.apply(p, {}, None, X)[0])(pure.params))  # noqa: B023
        assert ("concatenate" in text) == (not fuse)


def test_a_file_holds_the_three_apart(tmp_path):
    net = made()
    net(np.array(X))
    net.save_parameters(tmp_path / "f")
    assert "key.weight" in serialize.load_arrays(tmp_path / "f")
    other = made(False)
    other.load_parameters(tmp_path / "f")
    onp.testing.assert_allclose(other(np.array(X)).asnumpy(), net(np.array(X)).asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.dear
def test_training_with_a_frozen_key_is_the_same_fused_and_apart():
    nets = [made(True), made(False)]
    nets[0](np.array(X))
    for name, param in nets[1].collect_params(fused=False).items():
        param.shape = nets[0].collect_params(fused=False)[name].shape
        param.set_data(nets[0].collect_params(fused=False)[name].data())
    for net in nets:
        net.key.setattr("grad_req", "null")
        trainer = Trainer(net.collect_params(), "lamb", {"learning_rate": 0.05})
        for _ in range(3):
            with autograd.record():
                loss = (net(np.array(X)) ** 2).sum()
            loss.backward()
            trainer.step(2)
    a, b = ({n: p.data().asnumpy() for n, p in net.collect_params(fused=False).items()} for net in nets)
    for name in a:
        onp.testing.assert_allclose(a[name], b[name], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.dear
def test_decoding_with_a_cache_is_the_forward_in_pieces():
    net = made(causal=True)
    net.hybridize()
    x = real(2, 6, 5, seed=6)
    expected = net(np.array(x)).asnumpy()
    cache = net.init_cache(2, 8)
    found = []
    for start, stop in ((0, 3), (3, 4), (4, 5), (5, 6)):
        out, cache = net(np.array(x[:, start:stop]), None, None, None, None, cache)
        found.append(out.asnumpy())
        if start == 3:
            compiled = engine.stats()["programs_compiled"], engine.stats()["traces"]
    assert (engine.stats()["programs_compiled"], engine.stats()["traces"]) == compiled  # one token after the other
    onp.testing.assert_allclose(onp.concatenate(found, 1), expected, rtol=1e-5, atol=1e-6)
    assert cache[2].item() == 6


def test_a_cache_for_padded_prompts():
    net = made(causal=True)
    x = real(2, 4, 5, seed=7)
    mask = onp.ones((2, 1, 8), bool)
    mask[1, :, :2] = False  # the second prompt is padded in front
    out, _ = net(np.array(x), None, None, np.array(mask), None, net.init_cache(2, 8))
    short = net(np.array(x[1:, 2:]))
    onp.testing.assert_allclose(out.asnumpy()[1:, 2:], short.asnumpy(), rtol=1e-5, atol=1e-6)


def test_bad_calls_of_the_layer():
    with pytest.raises(ValueError, match="4 heads do not divide 6 units"):
        nn.MultiHeadAttention(6, 4)
    net = made(cross=True)
    with pytest.raises(ShapeError, match=r"attends to a memory: call it with layer\(query, memory\)"):
        net(np.array(X))
    net = made(causal=True)
    with pytest.raises(ShapeError, match="a cache is for self attention"):
        net(np.array(X), np.array(X), None, None, None, net.init_cache(2, 8))
    with pytest.raises(ShapeError, match="4 tokens do not fit into a cache of 3"):
        net(np.array(X), None, None, None, None, net.init_cache(2, 3))
    with pytest.raises(ShapeError, match="the cache has shapes"):
        net(np.array(X), None, None, None, None, net.init_cache(1, 8))
    with pytest.raises(ValueError, match="attn_type must be"):
        nn.gen_self_attn_mask(np.array(X), None, "half")
    with pytest.raises(ShapeError, match="no multiple of 3 parts of 2 heads"):
        npx.split_heads(np.ones((2, 7)), heads=2, parts=3)


def test_masks():
    x, valid = np.zeros((2, 3)), np.array([2, 3], dtype="int32")
    inside = onp.arange(3) < onp.array([[2], [3]])
    square = inside[:, None] & inside[:, :, None]
    onp.testing.assert_array_equal(nn.gen_self_attn_mask(x, valid).asnumpy(), square)
    causal = nn.gen_self_attn_mask(x, valid, "causal").asnumpy()
    onp.testing.assert_array_equal(causal, square & onp.tril(onp.ones((3, 3), bool)))
    assert nn.gen_self_attn_mask(x).asnumpy().all()
    mem = nn.gen_mem_attn_mask(np.zeros((2, 4)), np.array([4, 1]), x, valid).asnumpy()
    onp.testing.assert_array_equal(mem, (onp.arange(4) < onp.array([[4], [1]]))[:, None] & inside[:, :, None])


# == layers of a transformer ===========================================================================================


@pytest.mark.parametrize("pre_norm", [False, True])
def test_padding_does_not_reach_the_rest(pre_norm):
    net = nn.TransformerEncoder(2, 8, 12, 2, 0.0, 0.0, activation="gelu", pre_norm=pre_norm)
    net.initialize()
    x, valid = real(2, 5, 8), np.array([5, 3], dtype="int32")
    other = x.copy()
    other[1, 3:] += 1
    a, b = (net(np.array(data), valid).asnumpy() for data in (x, other))
    onp.testing.assert_array_equal(a[0], b[0])
    onp.testing.assert_allclose(a[1, :3], b[1, :3], rtol=1e-5, atol=1e-6)
    alone = net(np.array(x[1:, :3])).asnumpy()
    onp.testing.assert_allclose(a[1:, :3], alone, rtol=1e-4, atol=1e-5)
    masked = net(np.array(x), None, nn.gen_self_attn_mask(np.array(x), valid)).asnumpy()
    onp.testing.assert_allclose(masked[1, :3], a[1, :3], rtol=1e-5, atol=1e-6)


@pytest.mark.dear
def test_incremental_decoding_is_the_decoder_token_by_token():
    net = nn.TransformerDecoder(2, 8, 12, 2, 0.0, 0.0, pre_norm=True)
    net.initialize()
    net.hybridize()
    x, mem, valid = real(2, 4, 8), real(2, 3, 8, seed=1), np.array([3, 2], dtype="int32")
    expected = net(np.array(x), np.array(mem), valid).asnumpy()
    states = net.init_states(2, 6)
    for t in range(4):
        out, states = net.incremental_decode(np.array(x[:, t : t + 1]), states, np.array(mem), valid)
        onp.testing.assert_allclose(out.asnumpy()[:, 0], expected[:, t], rtol=1e-4, atol=1e-5)


def test_the_report_of_a_whole_net():
    net = nn.TransformerEncoder(2, 8, 12, 2, fuse=False)
    net.initialize()
    before = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
    report = net.fuse()
    assert (report.before, report.after) == (32, 24)
    lines = repr(report).splitlines()
    assert lines[0] == "FusionReport: 32 arrays before, 24 after"
    assert lines[1] == (
        "  layers.0.self_attention.qkv_weight (24, 8) <- layers.0.self_attention.query.weight, "
        "layers.0.self_attention.key.weight, layers.0.self_attention.value.weight"
    )
    after = {name: p.data().asnumpy() for name, p in net.collect_params(fused=False).items()}
    assert before.keys() == after.keys()
    assert all(onp.array_equal(before[n], after[n]) for n in before)


@pytest.mark.dear
def test_a_layer_trains_and_exports(tmp_path):
    gluonx.random.seed(7)  # whether eight steps with dropout make the loss smaller is a matter of chance otherwise
    net = nn.TransformerEncoderLayer(8, 12, 2, 0.1, 0.1)
    net.initialize(gluonx.init.Xavier())
    net.hybridize()
    trainer = Trainer(net.collect_params(), "lamb", {"learning_rate": 0.05})
    x, losses = np.array(real(4, 5, 8)), []
    for _ in range(8):
        with autograd.record():
            loss = ((net(x) - x[:, ::-1]) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    expected = net(x).asnumpy()
    path = net.export(tmp_path / "layer")
    assert "self_attention.qkv_weight" in serialize.load_arrays(path / "params.safetensors")
    onp.testing.assert_allclose(load_artifact(path)(real(4, 5, 8)), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.dear
def test_explain_tells_what_computes_attention(monkeypatch):
    """And why it is not cuDNN; of what was traced last."""
    monkeypatch.setattr("gluonx.ops.cudnn._choices", {})
    monkeypatch.setattr("gluonx.ops.cudnn._has_attention", lambda: True)
    monkeypatch.setattr("gluonx.ops.cudnn.attention", lambda query, *_, **__: query)
    monkeypatch.delenv("GLUONX_CUDNN", raising=False)

    def told(query, keys, dtype="bfloat16", causal=False, mask=None):
        structs = [jax.ShapeDtypeStruct(shape, dtype) for shape in (query, keys, keys)]
        structs += [jax.ShapeDtypeStruct(mask, "bool")] if mask else []
        fn = ops.get("dot_product_attention")
        jax.eval_shape(lambda *arrays: fn(None, *arrays, causal=causal), *structs)
        return cudnn.choices()[-1]

    fine = (2, 8, 2, 16)
    assert told(fine, fine) == f"attention of bfloat16 {fine} to {fine} is cuDNN's in programs for CUDA"
    assert told(fine, fine, "float32").endswith("is XLA's: cuDNN takes bfloat16 and float16")
    assert told((2, 8, 2, 136), (2, 8, 2, 136)).endswith("heads of up to 128 and a multiple of 8, not 136")
    assert "causal is XLA's: cuDNN counts from the first key" in told((2, 4, 2, 16), fine, causal=True)
    assert "masked is XLA's: cuDNN takes masks of even lengths, not 7 and 8" in told(
        (2, 7, 2, 16), fine, mask=(2, 7, 8)
    )
    monkeypatch.setenv("GLUONX_CUDNN", "0")
    assert told(fine, fine).endswith("is XLA's: GLUONX_CUDNN is 0")
    assert set(cudnn.choices()) <= set(engine.explain().splitlines())
    for length in range(2, 60, 2):
        told((2, length, 2, 16), fine)
    assert len(cudnn.choices()) == 16


@pytest.mark.dear
@pytest.mark.first_runs  # then a net is traced by operators, whose form is chosen when it is compiled
@pytest.mark.parametrize("spread", [False, True], ids=["one device", "a mesh"])
def test_a_step_has_forms_for_one_cpu_where_it_runs_on_one(spread):
    """The softmax of our products keeps its result behind a barrier, which the kernel's does not have."""
    devices = jax.devices()[:2]
    if len(devices) < 2:
        pytest.skip("one device")
    mesh = parallel.mesh(data=2, devices=devices)
    with parallel.use(mesh if spread else None):
        layer = nn.MultiHeadAttention(8, 2)
        layer.initialize()
        layer.hybridize()
        x = np.array(real(2, 5, 8))
        x = parallel.split(x, "data") if spread else x
        trainer = Trainer(layer.collect_params(), "sgd")
        texts = []

        def seen(self, *args, trace=Program.trace):
            found = trace(self, *args)
            texts.append(str(found.jaxpr))
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Program, "trace", seen)
            for _ in range(16):
                with autograd.record():
                    value = (layer(x) ** 2).sum()
                value.backward()
                trainer.step(1)
                value.wait_to_read()
    assert texts
    assert any("optimization_barrier" in text for text in texts) == (not spread)
