"""Layers of current models, and the editing of nets: what the rows of the contract table do not say."""

import jax
import numpy as onp
import pytest

from gluonx import autograd, nn, np, npx, random
from gluonx.errors import ArgumentError, ShapeError

RNG = onp.random.RandomState(0)


def real(*shape):
    return np.array(RNG.uniform(-1, 1, shape))


def test_rotary_scores_depend_on_distances_only():
    q, k = real(2, 1, 1, 8), real(2, 1, 1, 8)

    def score(i, j):
        turned = [npx.rotary_embedding(x, np.array(p, dtype="int32")) for x, p in ((q, i), (k, j))]
        return (turned[0] * turned[1]).sum((1, 2, 3)).asnumpy()

    onp.testing.assert_allclose(score(7, 3), score(4, 0), rtol=1e-5, atol=1e-6)
    assert abs(score(7, 3) - score(4, 3)).max() > 1e-3
    each = npx.rotary_embedding(q, np.array([[5], [2]], dtype="int32"))
    for place, row in ((5, 0), (2, 1)):
        one = npx.rotary_embedding(q, np.array(place, dtype="int32"))
        onp.testing.assert_allclose(each[row].asnumpy(), one[row].asnumpy(), rtol=1e-6)
    with pytest.raises(ShapeError, match="even width"):
        npx.rotary_embedding(real(1, 2, 1, 3))
    with pytest.raises(ShapeError, match="position must have shape"):
        npx.rotary_embedding(q, np.array([1, 2, 3]))


@pytest.mark.dear
def test_grouped_query_attention_by_its_cache_is_that_of_all_tokens():
    layer = nn.GroupedQueryAttention(8, 4, 2)
    layer.initialize(init="xavier")
    x = real(3, 5, 8)
    cache, outs = layer.init_cache(3, 7), []
    for part in (x[:, :2], x[:, 2:3], x[:, 3:]):
        out, cache = layer(part, cache=cache)
        outs.append(out)
    onp.testing.assert_allclose(np.concatenate(outs, 1).asnumpy(), layer(x).asnumpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="3 heads of keys do not divide 4"):
        nn.GroupedQueryAttention(8, 4, 3)


@pytest.mark.dear
def test_gated_ffn_is_its_formula():
    layer, x = nn.GatedFFN(3, 5, "gelu"), real(2, 3)
    layer.initialize(init="xavier")
    gate, up, down = (p.data().asnumpy() for p in layer.collect_params(fused=False).values())
    wanted = (onp.asarray(jax.nn.gelu(x.asnumpy() @ gate.T, approximate=False)) * (x.asnumpy() @ up.T)) @ down.T
    onp.testing.assert_allclose(layer(x).asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_drop_path_drops_whole_samples():
    random.seed(0)
    with autograd.train_mode():
        out = nn.DropPath(0.5)(np.ones((64, 3))).asnumpy()
    assert set(out.ravel().tolist()) == {0.0, 2.0}
    assert (out == out[:, :1]).all()


@pytest.mark.dear
def test_upsample_bilinear_is_that_of_jax():
    x = real(1, 2, 3, 4)
    wanted = jax.image.resize(x.asnumpy(), (1, 2, 6, 12), "linear")
    onp.testing.assert_allclose(nn.Upsample((2, 3), "bilinear")(x).asnumpy(), wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(ArgumentError, match="'nearest' or 'bilinear'"):
        nn.Upsample(2, "cubic")
    with pytest.raises(ArgumentError, match=r"whole numbers, got 1.5"):
        nn.Upsample(1.5)


def test_patch_embedding_goes_row_by_row():
    layer, x = nn.PatchEmbedding(2, (1, 2)), real(1, 1, 2, 4)
    layer.initialize()
    weight = layer.proj
    wanted = [weight(x[:, :, i : i + 1, j : j + 2]).asnumpy().ravel() for i in (0, 1) for j in (0, 2)]
    onp.testing.assert_allclose(layer(x).asnumpy()[0], wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(ShapeError, match="no multiple of"):
        layer(real(1, 1, 2, 3))


@pytest.mark.parametrize("hybridized", [False, True])
def test_layers_of_a_sequential_are_exchanged_and_inserted(hybridized):
    net = nn.HybridSequential()
    net.add(nn.Dense(3), nn.Dense(2))
    net.initialize()
    net.hybridize(hybridized)
    x = real(4, 5)
    before = net(x).asnumpy()
    net.insert(2, nn.Activation("sigmoid"))
    onp.testing.assert_allclose(net(x).asnumpy(), 1 / (1 + onp.exp(-before)), rtol=1e-5)
    net[-1] = nn.HybridLambda(lambda a: a * 2)
    onp.testing.assert_allclose(net(x).asnumpy(), before * 2, rtol=1e-6)
    last, net[1] = net[1], nn.Dense(7, in_units=3)
    net[1].initialize()
    assert net(x).shape == (4, 7)
    assert list(net.collect_params()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert net.pop() is not last
    assert len(net) == 2
    with pytest.raises(ValueError, match="HybridBlock"):
        net[0] = nn.Lambda("tanh")
    with pytest.raises(IndexError, match="has 2 blocks, none at 5"):
        net[5] = last
    assert net(x).shape == (4, 7)


def test_apply_and_freeze_by_pattern():
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2), nn.HybridSequential(), nn.Dense(1, in_units=3))
    net[1].add(nn.Dense(3, in_units=3))
    net.initialize()
    found = []
    assert net.apply(found.append, "1(\\..*)?") is net
    assert found == [net[1][0], net[1]]
    assert net.freeze(r"[01]\..*") == ["0.weight", "0.bias", "1.0.weight", "1.0.bias"]
    with autograd.record():
        loss = net(real(4, 2)).sum()
    loss.backward()
    assert [p.grad_req for p in net.collect_params().values()] == ["null"] * 4 + ["write"] * 2
    assert float(net[2].bias.grad().sum()) == 4
    with pytest.raises(ArgumentError, match="no parameter whose name matches 'nothing'"):
        net.freeze("nothing")
