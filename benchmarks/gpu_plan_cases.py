"""What `benchmarks.gpu_plan` compiles: each workload as a Gluon net, and by hand in JAX as one writes it for a GPU.

By hand convolutions have their channels last, attention is cuDNN's, query, key and value are one product where an
expert joins them, and statistics, normalization and loss are in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

import gluonx as mx
from benchmarks.zoo import gluon as zoo
from examples.ssd import RATIOS, SCALES, SSD, MultiBoxLoss
from gluonx import loss, nn, rnn
from gluonx.block.block import HybridBlock
from gluonx.ops import get

__all__ = ["CASES", "Case"]

Struct = jax.ShapeDtypeStruct


class Case(NamedTuple):
    """A workload."""

    title: str
    net: Callable[[], Any]
    dtype: str
    inputs: tuple[Any, ...]
    labels: tuple[Any, ...]
    loss: Callable[[], Any]
    by_hand: Callable[..., Any]
    """``by_hand(params, state, inputs, labels)`` is the loss and the moving averages, both by layer."""

    def inputs_by_hand(self) -> tuple[Any, ...]:
        """Return the inputs, images with their channels last."""
        return tuple(
            Struct((x.shape[0], *x.shape[2:], x.shape[1]), x.dtype) if len(x.shape) == 4 else x for x in self.inputs
        )


# -- pieces by hand ----------------------------------------------------------------------------------------------------


def cross_entropy(scores: Any, labels: Any) -> Any:
    chances = jax.nn.log_softmax(scores.astype(jnp.float32))
    return -jnp.take_along_axis(chances, labels[..., None], -1).mean()


def dense(p: Any, x: Any) -> Any:
    return x @ p["weight"].T + p["bias"]


def layer_norm(p: Any, x: Any, eps: float = 1e-5) -> Any:
    wide = x.astype(jnp.float32)
    wide = (wide - wide.mean(-1, keepdims=True)) * lax.rsqrt(wide.var(-1, keepdims=True) + eps)
    return (wide * p["gamma"] + p["beta"]).astype(x.dtype)


class Images:
    """Layers of images with their channels last, and the moving averages as they move."""

    def __init__(self, params: Any, state: Any) -> None:
        self.params, self.state, self.moved = params, state, {}

    def conv(self, name: str, x: Any, stride: int = 1, pad: int = 0) -> Any:
        p, pads = self.params[name], [(pad, pad)] * 2
        y = lax.conv_general_dilated(x, p["weight"], (stride,) * 2, pads, dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return y + p["bias"] if "bias" in p else y

    def twice(self, name: str, x: Any) -> Any:
        """Return a transposed convolution of two by two with stride two."""
        p = self.params[name]  # its kernel is (height, width, outputs, inputs)
        names = ("NHWC", "HWOI", "NHWC")
        pads = [(1, 1)] * 2
        y = lax.conv_general_dilated(x, p["weight"][::-1, ::-1], (1, 1), pads, (2, 2), dimension_numbers=names)
        return y + p["bias"]

    def norm(self, name: str, x: Any) -> Any:
        p, s, wide = self.params[name], self.state[name], x.astype(jnp.float32)
        mean = wide.mean((0, 1, 2))
        var = jnp.maximum(jnp.square(wide).mean((0, 1, 2)) - jnp.square(mean), 0)
        self.moved[name] = {
            f"running_{kind}": 0.9 * s[f"running_{kind}"] + 0.1 * lax.stop_gradient(now)
            for kind, now in (("mean", mean), ("var", var))
        }
        return ((wide - mean) * (p["gamma"] * lax.rsqrt(var + 1e-5)) + p["beta"]).astype(x.dtype)


def pooled(x: Any, size: int, stride: int, pad: int) -> Any:
    pads = [(0, 0), (pad, pad), (pad, pad), (0, 0)]
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), pads)


# -- the workloads -----------------------------------------------------------------------------------------------------


def mlp() -> Case:
    """Return three layers in float32."""
    sizes = (784, 512, 512, 10)

    def net() -> Any:
        made = nn.HybridSequential()
        for i in range(3):
            made.add(nn.Dense(sizes[i + 1], in_units=sizes[i], activation="relu" if i < 2 else None))
        return made

    def value(params: Any, state: Any, inputs: Any, labels: Any) -> Any:
        (x,) = inputs
        for i in range(3):
            x = dense(params[str(i)], x)
            x = jax.nn.relu(x) if i < 2 else x
        return cross_entropy(x, labels[0]), state

    return Case(
        "MLP", net, "float32", (Struct((128, 784), "float32"),), (Struct((128,), "int32"),),
        loss.SoftmaxCrossEntropyLoss, value,
    )  # fmt: skip


class _Layer(HybridBlock):
    def __init__(self, units: int, heads: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(in_channels=units), nn.LayerNorm(in_channels=units)
        self.attention = nn.MultiHeadAttention(units, heads, causal=True, in_units=units)
        self.wide = nn.Dense(4 * units, flatten=False, in_units=units, activation="relu")
        self.narrow = nn.Dense(units, flatten=False, in_units=4 * units)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.first(x))
        return x + self.narrow(self.wide(self.second(x)))


class _GPT(HybridBlock):
    def __init__(self, layers: int, units: int, heads: int, words: int, length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, units), nn.Embedding(length, units)
        self.layers = nn.HybridSequential()
        self.layers.add(*[_Layer(units, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(in_channels=units)
        self.output = nn.Dense(words, flatten=False, in_units=units, use_bias=False)
        self.output.weight = self.words.weight

    def forward(self, words: Any) -> Any:
        x = self.words(words) + self.places(mx.np.arange(words.shape[1], dtype="int32"))
        return self.output(self.norm(self.layers(x)))


def gpt(title: str, layers: int, units: int, heads: int, words: int, batch: int, length: int) -> Case:
    """Return a causal Transformer in bfloat16, its words' weights tied."""

    def value(params: Any, state: Any, inputs: Any, labels: Any) -> Any:
        table = params["words"]["weight"]
        x = table[inputs[0]] + params["places"]["weight"]
        for i in range(layers):
            p = {k.removeprefix(f"layers.{i}."): v for k, v in params.items() if k.startswith(f"layers.{i}.")}
            y = layer_norm(p["first"], x)
            parts = [dense(p[f"attention.{n}"], y).reshape(batch, length, heads, -1) for n in ("query", "key", "value")]
            seen = jax.nn.dot_product_attention(*parts, is_causal=True, implementation="cudnn")
            x = x + dense(p["attention.proj"], seen.reshape(x.shape))
            x = x + dense(p["narrow"], jax.nn.relu(dense(p["wide"], layer_norm(p["second"], x))))
        return cross_entropy(layer_norm(params["norm"], x) @ table.T, labels[0]), state

    given = Struct((batch, length), "int32")
    return Case(
        title, lambda: _GPT(layers, units, heads, words, length), "bfloat16", (given,), (given,),
        loss.SoftmaxCrossEntropyLoss, value,
    )  # fmt: skip


def bert(title: str, layers: int) -> Case:
    """Return the first layers of BERT-base with its masked words."""
    size = {"layers": layers, "units": 768, "hidden": 3072, "heads": 12, "masked": 20}
    batch, length, words = 8, 128, 30522
    given: Any = SimpleNamespace(size=size, shape=(batch, length), classes=words)

    def value(params: Any, state: Any, inputs: Any, labels: Any) -> Any:
        table, heads = params["words"]["weight"], size["heads"]
        x = layer_norm(params["norm"], table[inputs[0]] + params["places"]["weight"])
        for i in range(layers):
            start = f"encoder.layers.{i}."
            p = {k.removeprefix(start): v for k, v in params.items() if k.startswith(start)}
            parts = [
                dense(p[f"self_attention.{n}"], x).reshape(batch, length, heads, -1) for n in ("query", "key", "value")
            ]
            seen = jax.nn.dot_product_attention(*parts, implementation="cudnn").reshape(x.shape)
            x = layer_norm(p["layer_norm"], x + dense(p["self_attention.proj"], seen), 1e-12)
            y = dense(p["ffn.ffn_2"], jax.nn.gelu(dense(p["ffn.ffn_1"], x), approximate=False))
            x = layer_norm(p["ffn.layer_norm"], x + y, 1e-12)
        x = x.reshape(-1, x.shape[-1])[inputs[1]]
        x = layer_norm(params["change_norm"], jax.nn.gelu(dense(params["change"], x), approximate=False))
        return cross_entropy(x @ table.T + params["output"]["bias"], labels[0]), state

    asked = Struct((batch * size["masked"],), "int32")
    return Case(
        title, lambda: zoo.bert(mx, given), "bfloat16", (Struct((batch, length), "int32"), asked), (asked,),
        loss.SoftmaxCrossEntropyLoss, value,
    )  # fmt: skip


def resnet50() -> Case:
    """Return version 1, its stride in the first convolution of a block."""
    stages = [(3, 1), (4, 2), (6, 2), (3, 2)]

    def value(params: Any, state: Any, inputs: Any, labels: Any) -> Any:
        net = Images(params, state)
        x = jax.nn.relu(net.norm("features.1", net.conv("features.0", inputs[0], 2, 3)))
        x = pooled(x, 3, 2, 1)
        for stage, (count, first) in enumerate(stages, 4):
            for block in range(count):
                name, stride, y = f"features.{stage}.{block}", 1 if block else first, x
                for i, (each, pad) in enumerate([(stride, 0), (1, 1), (1, 0)]):
                    y = jax.nn.relu(y) if i else y
                    y = net.norm(f"{name}.body.{3 * i + 1}", net.conv(f"{name}.body.{3 * i}", y, each, pad))
                if not block:
                    x = net.norm(f"{name}.downsample.1", net.conv(f"{name}.downsample.0", x, stride))
                x = jax.nn.relu(x + y)
        x = x.astype(jnp.float32).mean((1, 2)).astype(x.dtype)
        return cross_entropy(dense(params["output"], x), labels[0]), net.moved

    return Case(
        "ResNet-50", lambda: mx.gluon.model_zoo.vision.get_model("resnet50_v1", classes=1000), "bfloat16",
        (Struct((32, 3, 224, 224), "bfloat16"),), (Struct((32,), "int32"),), loss.SoftmaxCrossEntropyLoss, value,
    )  # fmt: skip


def unet() -> Case:
    """Return one of four levels, with batch normalization."""
    widths = (32, 64, 128, 256)
    given: Any = SimpleNamespace(size={"widths": widths}, classes=1)

    def value(params: Any, state: Any, inputs: Any, labels: Any) -> Any:
        net = Images(params, state)

        def pair(name: str, x: Any) -> Any:
            for i in (0, 3):
                x = jax.nn.relu(net.norm(f"{name}.{i + 1}", net.conv(f"{name}.{i}", x, 1, 1)))
            return x

        seen = [pair("down.0", inputs[0])]
        for i in range(1, len(widths)):
            seen.append(pair(f"down.{i}", pooled(seen[-1], 2, 2, 0)))
        x = seen.pop()
        for i in range(len(widths) - 1):
            x = pair(f"join.{i}", jnp.concatenate([seen.pop(), net.twice(f"up.{i}", x)], -1))
        x = net.conv("output", x).astype(jnp.float32)
        y = labels[0].astype(jnp.float32).reshape(x.shape)
        return (jax.nn.relu(x) - x * y + jax.nn.softplus(-jnp.abs(x))).mean(), net.moved

    shape = (8, 1, 256, 256)
    return Case(
        "U-Net", lambda: zoo.unet(mx, given), "bfloat16", (Struct((8, 3, 256, 256), "bfloat16"),),
        (Struct(shape, "bfloat16"),), loss.SigmoidBCELoss, value,
    )  # fmt: skip


class _DetectionLoss(HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.loss = MultiBoxLoss()

    def forward(self, outputs: Any, objects: Any) -> Any:
        anchors, scores, offsets = outputs
        return self.loss(anchors, scores, offsets, objects)


def ssd() -> Case:
    """Return the detector of `examples.ssd` in float32; its boxes and their matching are gluonx's by hand too."""
    classes, width, size = 3, 16, 64

    def value(params: Any, state: Any, inputs: Any, labels: Any) -> Any:
        net, (x,) = Images(params, state), inputs

        def convolutions(name: str, count: int, x: Any) -> Any:
            for i in range(count):
                x = jax.nn.relu(net.norm(f"{name}.{3 * i + 1}", net.conv(f"{name}.{3 * i}", x, 1, 1)))
            return pooled(x, 2, 2, 0)

        anchors, scores, offsets = [], [], []
        for i in range(3):
            if i == 0:
                x = convolutions("stages.0.1", 2, convolutions("stages.0.0", 1, x))
            else:
                x = convolutions(f"stages.{i}", 2, x)
            image = jnp.zeros((1, 1, *x.shape[1:3]))
            anchors.append(get("multibox_prior").bind(sizes=SCALES[i], ratios=RATIOS)(image))
            scores.append(net.conv(f"class_heads.{i}", x, 1, 1).reshape(len(x), -1, classes + 1))
            offsets.append(net.conv(f"box_heads.{i}", x, 1, 1).reshape(len(x), -1))
        places, logits, moves = (jnp.concatenate(parts, 1) for parts in (anchors, scores, offsets))
        match = get("multibox_target").bind(negative_mining_ratio=3.0, overlap_threshold=0.5)
        wanted, mask, kinds = lax.stop_gradient(match(places, labels[0], logits.swapaxes(1, 2)))
        chances = jax.nn.log_softmax(logits)
        picked = jnp.take_along_axis(chances, jnp.maximum(kinds, 0).astype(jnp.int32)[..., None], -1)[..., 0]
        far = jnp.abs((moves - wanted) * mask)
        smooth = jnp.where(far < 1, 0.5 * far**2, far - 0.5)
        positives = jnp.maximum((kinds > 0).sum(), 1)
        return (smooth.sum() - (picked * (kinds >= 0)).sum()) / positives, net.moved

    return Case(
        "SSD", lambda: SSD(classes, width), "float32", (Struct((32, 3, size, size), "float32"),),
        (Struct((32, 3, 5), "float32"),), _DetectionLoss, value,
    )  # fmt: skip


class _LanguageModel(HybridBlock):
    def __init__(self, words: int, units: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, units)
        self.rnn = rnn.LSTM(units, layers, input_size=units)
        self.output = nn.Dense(words, flatten=False, in_units=units)
        self.output.weight = self.embedding.weight

    def forward(self, words: Any) -> Any:
        return self.output(self.rnn(self.embedding(words)))


def lstm() -> Case:
    """Return a language model in float32, as a scan."""
    words, units, layers, length, batch = 10000, 640, 2, 35, 32

    def value(params: Any, state: Any, inputs: Any, labels: Any) -> Any:
        p = params["rnn"]
        x = params["embedding"]["weight"][inputs[0]]
        for i in range(layers):
            gates = x @ p[f"l{i}_i2h_weight"].T + (p[f"l{i}_i2h_bias"] + p[f"l{i}_h2h_bias"])
            weight, zeros = p[f"l{i}_h2h_weight"].T, jnp.zeros((batch, units))

            def tick(state: Any, gate: Any, weight: Any = weight) -> Any:
                h, c = state
                i, f, g, o = jnp.split(gate + h @ weight, 4, -1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), h

            _, x = lax.scan(tick, (zeros, zeros), gates)
        scores = x @ params["embedding"]["weight"].T + params["output"]["bias"]
        return cross_entropy(scores, labels[0]), state

    given = Struct((length, batch), "int32")
    return Case(
        "LSTM language model", lambda: _LanguageModel(words, units, layers), "float32", (given,), (given,),
        loss.SoftmaxCrossEntropyLoss, value,
    )  # fmt: skip


CASES = {
    "mlp": mlp(),
    "gpt-small": gpt("small GPT", 2, 256, 4, 1024, 8, 128),
    "gpt": gpt("GPT of 124M", 12, 768, 12, 50257, 4, 1024),
    "bert-2": bert("BERT-base, 2 layers", 2),
    "bert": bert("BERT-base", 12),
    "resnet50": resnet50(),
    "unet": unet(),
    "ssd": ssd(),
    "lstm": lstm(),
}
