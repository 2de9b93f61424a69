"""gluonx.lora: only the addition is trained and saved, and merging keeps the outputs."""

import numpy as onp
import pytest

from gluonx import Trainer, autograd, lora, nn, np, random
from gluonx.block.fusion.layout import Fused
from gluonx.errors import ArgumentError, FormatError
from gluonx.files import load_arrays

X = onp.random.RandomState(0).uniform(-1, 1, (6, 5)).astype("float32")


def make():
    random.seed(0)
    net = nn.HybridSequential()
    net.add(
        nn.Dense(4, in_units=5, activation="tanh"), nn.Dense(3, in_units=4, use_bias=False), nn.Dense(2, in_units=3)
    )
    net.initialize(init="xavier")
    return net


def train(net, steps=3):
    trainer = Trainer(lora.parameters(net), "sgd", {"learning_rate": 0.5})
    for _ in range(steps):
        with autograd.record():
            loss = (net(np.array(X)) ** 2).sum()
        loss.backward()
        trainer.step(6)


@pytest.mark.dear
@pytest.mark.parametrize("hybridized", [False, True])
def test_the_addition_alone_is_trained_saved_and_merged(tmp_path, hybridized):
    net, x = make(), np.array(X)
    net.hybridize(hybridized)
    before = {n: p.data().asnumpy() for n, p in net.collect_params().items()}
    plain = net(x).asnumpy()
    assert lora.inject(net, "[01]", rank=2) == ["0", "1"]
    onp.testing.assert_array_equal(net(x).asnumpy(), plain)
    train(net)
    trained = net(x).asnumpy()
    assert abs(trained - plain).max() > 1e-3
    for name, value in before.items():
        onp.testing.assert_array_equal(net.collect_params()[name].data().asnumpy(), value)

    lora.save(net, tmp_path / "lora.safetensors")
    assert set(load_arrays(tmp_path / "lora.safetensors")) == set(lora.parameters(net))
    other = make()
    lora.inject(other, "[01]", rank=2)
    lora.load(other, tmp_path / "lora.safetensors")
    onp.testing.assert_allclose(other(x).asnumpy(), trained, rtol=1e-6, atol=1e-7)

    assert lora.merge(net) == ["0", "1"]
    onp.testing.assert_allclose(net(x).asnumpy(), trained, rtol=1e-5, atol=1e-6)
    assert {type(layer) for layer in net} == {nn.Dense}
    assert net.collect_params().keys() == before.keys()


class Joined(nn.HybridBlock):
    """Two layers whose weights are one."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(2, in_units=3), nn.Dense(2, in_units=3)
        self.declare_fusion(Fused("both", ("a.weight", "b.weight")))
        self.fuse()


@pytest.mark.dear
@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("cross", [False, True])
def test_query_key_and_value_of_an_attention_take_it(fuse, cross, hybridized):
    random.seed(5)
    layer = nn.MultiHeadAttention(6, 2, in_units=6, memory_units=6, fuse=fuse, cross=cross)
    layer.initialize()
    layer.hybridize(hybridized)
    x = np.random.normal(size=(2, 3, 6))
    call = (x, x + 1) if cross else (x,)
    plain, names = layer(*call).asnumpy(), list(layer.collect_params())
    assert lora.inject(layer, "query|value", rank=2) == ["query", "value"]
    onp.testing.assert_allclose(layer(*call).asnumpy(), plain, rtol=1e-5, atol=1e-6)
    assert [name for name, p in layer.collect_params().items() if p.grad_req != "null"] == list(lora.parameters(layer))
    frozen = {n: p.data().asnumpy() for n, p in layer.collect_params().items() if p.grad_req == "null"}
    trainer = Trainer(lora.parameters(layer), "sgd", {"learning_rate": 0.5})
    for _ in range(3):
        with autograd.record():
            loss = (layer(*call) ** 2).sum()
        loss.backward()
        trainer.step(1)
    for name, value in frozen.items():
        onp.testing.assert_array_equal(layer.collect_params()[name].data().asnumpy(), value)
    trained = layer(*call).asnumpy()
    assert abs(trained - plain).max() > 1e-3
    lora.merge(layer)
    assert list(layer.collect_params()) == names
    onp.testing.assert_allclose(layer(*call).asnumpy(), trained, rtol=1e-4, atol=1e-5)


def test_what_does_not_fit_is_refused_and_changes_nothing(tmp_path):
    net = make()
    with pytest.raises(ArgumentError, match="no dense layer whose path matches 'x'"):
        lora.inject(net, "x")
    assert {p.grad_req for p in net.collect_params().values()} == {"write"}
    lora.inject(net, "0", rank=2)
    lora.save(net, tmp_path / "a.npz")
    other = make()
    lora.inject(other, "0", rank=3)
    with pytest.raises(FormatError, match="does not fit"):
        lora.load(other, tmp_path / "a.npz")
    fused = Joined()
    fused.initialize()
    with pytest.raises(ArgumentError, match="LoRA cannot stand in 'a': Joined multiplies"):
        lora.inject(fused)
    assert type(fused.a) is nn.Dense
    unknown = nn.HybridSequential()
    unknown.add(nn.Dense(3))
    with pytest.raises(ArgumentError, match="seen no batch"):
        lora.inject(unknown)


def test_the_attention_of_a_decoder_takes_it():
    net = nn.CausalDecoder(7, 1, 8, 8, 2)
    net.initialize()
    tokens = np.array([[1, 2, 3]])
    plain = net(tokens).asnumpy()
    paths = lora.inject(net, r"layers\.0\.attention\.(query|value)", rank=2)
    assert paths == ["layers.0.attention.query", "layers.0.attention.value"]
    net.layers[0].attention.value.lora_b.set_data(np.ones((8, 2)))
    changed = net(tokens).asnumpy()
    assert abs(changed - plain).max() > 1e-5
    lora.merge(net)
    onp.testing.assert_allclose(net(tokens).asnumpy(), changed, rtol=1e-4, atol=1e-6)
