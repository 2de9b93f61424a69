"""Models of today in Flax NNX, of its own layers, with optax. Attributes have the names of the Gluon nets."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from benchmarks.zoo.cases import EPSILON, Case
from benchmarks.zoo.nnx import RNGS, Job, conv

__all__ = ["WRITTEN", "make"]


def rule_of(case: Case, mask: Any = None) -> Any:
    """Return AdamW behind clipped gradients."""
    adamw = optax.adamw(case.rate, eps=EPSILON, weight_decay=case.size["decay"], mask=mask)
    return optax.chain(optax.clip_by_global_norm(1.0), adamw)


def linear(inputs: int, units: int, bias: bool = True) -> Any:
    """Return a dense layer."""
    return nnx.Linear(inputs, units, use_bias=bias, rngs=RNGS)


# -- a decoder as Llama's ---------------------------------------------------------------------------------------------


def turned(x: Any, base: float = 10000.0) -> Any:
    """Turn heads (batch, length, heads, width) by their positions."""
    length, _, width = x.shape[1:]
    angles = jnp.arange(length)[:, None] * base ** (-jnp.arange(width // 2) / (width // 2))
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    first, second = jnp.split(x, 2, -1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


class GroupedAttention(nnx.Module):
    """Causal attention whose heads share keys and values."""

    def __init__(self, units: int, heads: int, shared: int) -> None:
        self.width = units // heads
        self.query, self.proj = linear(units, units, False), linear(units, units, False)
        self.key, self.value = (linear(units, self.width * shared, False) for _ in range(2))

    def __call__(self, x: Any) -> Any:
        q, k, v = (f(x).reshape(*x.shape[:2], -1, self.width) for f in (self.query, self.key, self.value))
        out = jax.nn.dot_product_attention(turned(q), turned(k), v, is_causal=True)
        return self.proj(out.reshape(x.shape))


class Gated(nnx.Module):
    """A SwiGLU."""

    def __init__(self, units: int, hidden: int) -> None:
        self.gate, self.up = linear(units, hidden, False), linear(units, hidden, False)
        self.down = linear(hidden, units, False)

    def __call__(self, x: Any) -> Any:
        return self.down(nnx.silu(self.gate(x)) * self.up(x))


class DecoderLayer(nnx.Module):
    """Attention and a SwiGLU, each behind a normalization."""

    def __init__(self, size: dict[str, Any]) -> None:
        units = size["units"]
        self.attention_norm, self.ffn_norm = (nnx.RMSNorm(units, epsilon=1e-6, rngs=RNGS) for _ in range(2))
        self.attention = GroupedAttention(units, size["heads"], size["shared"])
        self.ffn = Gated(units, size["hidden"])

    def __call__(self, x: Any) -> Any:
        x = x + self.attention(self.attention_norm(x))
        return x + self.ffn(self.ffn_norm(x))


class GPT(nnx.Module):
    """Letters to scores of the next one."""

    def __init__(self, case: Case) -> None:
        units = case.size["units"]
        self.embedding = nnx.Embed(case.classes, units, rngs=RNGS)
        self.layers = nnx.List([DecoderLayer(case.size) for _ in range(case.size["layers"])])
        self.norm, self.head = nnx.RMSNorm(units, epsilon=1e-6, rngs=RNGS), linear(units, case.classes, False)

    def __call__(self, tokens: Any) -> Any:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def gpt_step(case: Case, net: Any, inputs: Any, labels: Any) -> Any:
    """Return a step on the letters that follow."""
    optimizer = nnx.Optimizer(net, rule_of(case), wrt=nnx.Param)

    def loss_of(net: Any, tokens: Any, labels: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(net(tokens), labels).mean()

    @nnx.jit
    def step(net: Any, optimizer: Any, tokens: Any, labels: Any) -> Any:
        loss, grads = nnx.value_and_grad(loss_of)(net, tokens, labels)
        optimizer.update(net, grads)
        return loss

    return lambda: step(net, optimizer, *inputs, labels)


# -- a ViT with additions of a low rank, and BERT ---------------------------------------------------------------------


def dense(inputs: int, units: int, size: dict[str, Any]) -> Any:
    """Return a dense layer, with an addition of a low rank where the model has them."""
    if "rank" in size:
        return nnx.LoRALinear(inputs, units, lora_rank=size["rank"], rngs=RNGS)
    return linear(inputs, units)


class Attention(nnx.Module):
    """Attention of all to all, or of those that the mask has."""

    def __init__(self, size: dict[str, Any]) -> None:
        units, self.heads = size["units"], size["heads"]
        self.query, self.key, self.value, self.proj = (dense(units, units, size) for _ in range(4))

    def __call__(self, x: Any, mask: Any = None) -> Any:
        q, k, v = (f(x).reshape(*x.shape[:2], self.heads, -1) for f in (self.query, self.key, self.value))
        return self.proj(jax.nn.dot_product_attention(q, k, v, mask=mask).reshape(x.shape))


class FFN(nnx.Module):
    """Two dense layers, and the normalization beside them."""

    def __init__(self, size: dict[str, Any]) -> None:
        self.ffn_1, self.ffn_2 = dense(size["units"], size["hidden"], size), dense(size["hidden"], size["units"], size)
        self.layer_norm = nnx.LayerNorm(size["units"], epsilon=1e-12, rngs=RNGS)

    def __call__(self, x: Any) -> Any:
        return self.ffn_2(nnx.gelu(self.ffn_1(x), approximate=False))


class EncoderLayer(nnx.Module):
    """Attention and two dense layers; normalized before (ViT) or behind (BERT)."""

    def __init__(self, size: dict[str, Any], before: bool) -> None:
        self.before, self.self_attention, self.ffn = before, Attention(size), FFN(size)
        self.layer_norm = nnx.LayerNorm(size["units"], epsilon=1e-12, rngs=RNGS)

    def __call__(self, x: Any, mask: Any = None) -> Any:
        if self.before:
            x = x + self.self_attention(self.layer_norm(x), mask)
            return x + self.ffn(self.ffn.layer_norm(x))
        x = self.layer_norm(x + self.self_attention(x, mask))
        return self.ffn.layer_norm(x + self.ffn(x))


class Encoder(nnx.Module):
    """Layers, and a normalization at the end of those that are normalized before."""

    def __init__(self, size: dict[str, Any], before: bool) -> None:
        self.layers = nnx.List([EncoderLayer(size, before) for _ in range(size["layers"])])
        self.layer_norm = nnx.LayerNorm(size["units"], epsilon=1e-12, rngs=RNGS) if before else None

    def __call__(self, x: Any, mask: Any = None) -> Any:
        for layer in self.layers:
            x = layer(x, mask)
        return x if self.layer_norm is None else self.layer_norm(x)


class ViT(nnx.Module):
    """Images to scores of classes."""

    def __init__(self, case: Case) -> None:
        size, (_, channels, width, _) = case.size, case.shape
        units = size["units"]
        self.token, self.places = (nnx.Param(jnp.zeros((1, n, units))) for n in (1, 1 + (width // 2) ** 2))
        self.patches = nnx.Dict(proj=conv(channels, units, 2, 2, bias=True))
        self.encoder, self.output = Encoder(size, True), linear(units, case.classes)

    def __call__(self, images: Any) -> Any:
        x = self.patches["proj"](images)
        x = x.reshape(len(x), -1, x.shape[-1])
        first = jnp.broadcast_to(self.token[...], (len(x), 1, x.shape[-1]))
        return self.output(self.encoder(jnp.concatenate([first, x], 1) + self.places[...])[:, 0])


def vit_lora_step(case: Case, net: Any, inputs: Any, labels: Any) -> Any:
    """Return a step that trains additions and the last layer."""
    trained = nnx.Any(nnx.LoRAParam, nnx.All(nnx.Param, nnx.PathContains("output")))
    optimizer = nnx.Optimizer(net, rule_of(case), wrt=trained)

    def loss_of(net: Any, images: Any, labels: Any) -> Any:
        wanted = optax.smooth_labels(jax.nn.one_hot(labels, case.classes), 0.05)
        return optax.softmax_cross_entropy(net(images), wanted).mean()

    @nnx.jit
    def step(net: Any, optimizer: Any, images: Any, labels: Any) -> Any:
        loss, grads = nnx.value_and_grad(loss_of, argnums=nnx.DiffState(0, trained))(net, images, labels)
        optimizer.update(net, grads)
        return loss

    return lambda: step(net, optimizer, *inputs, labels)


class Scores(nnx.Module):
    """States to scores of words, by the table of words."""

    def __init__(self, case: Case) -> None:
        self.change = linear(case.size["units"], case.size["units"])
        self.norm = nnx.LayerNorm(case.size["units"], epsilon=1e-12, rngs=RNGS)
        self.bias = nnx.Param(jnp.zeros(case.classes))

    def __call__(self, x: Any, words: Any) -> Any:
        x = self.norm(nnx.gelu(self.change(x), approximate=False))
        return words.attend(x) + self.bias[...]


class BERT(nnx.Module):
    """Words to scores of those that are masked."""

    def __init__(self, case: Case) -> None:
        units = case.size["units"]
        counts = (case.classes, case.shape[1], 1)
        self.words, self.places, self.types = (nnx.Embed(count, units, rngs=RNGS) for count in counts)
        self.norm, self.encoder = nnx.LayerNorm(units, epsilon=1e-12, rngs=RNGS), Encoder(case.size, False)
        self.scores = Scores(case)

    def __call__(self, words: Any, segments: Any, positions: Any) -> Any:
        mask = (segments[:, :, None] == segments[:, None, :])[:, None]
        x = self.norm(self.words(words) + self.places(positions) + self.types.embedding[0])
        return self.scores(self.encoder(x, mask), self.words)


def masked_step(case: Case, net: Any, inputs: Any, words: Any) -> Any:
    """Return a step on the words that are masked; norms and biases do not decay."""

    def decays(params: Any) -> Any:
        return jax.tree_util.tree_map_with_path(
            lambda path, _: not any(word in jax.tree_util.keystr(path) for word in ("bias", "scale")), params
        )

    optimizer = nnx.Optimizer(net, rule_of(case, decays), wrt=nnx.Param)

    def loss_of(net: Any, seen: Any, segments: Any, positions: Any, asked: Any, words: Any) -> Any:
        losses = optax.softmax_cross_entropy_with_integer_labels(net(seen, segments, positions), words)
        return (losses * asked).sum() / asked.sum()

    @nnx.jit
    def step(net: Any, optimizer: Any, *batch: Any) -> Any:
        loss, grads = nnx.value_and_grad(loss_of)(net, *batch)
        optimizer.update(net, grads)
        return loss

    return lambda: step(net, optimizer, *inputs, words)


# -- diffusion --------------------------------------------------------------------------------------------------------


class Stage(nnx.Module):
    """Two convolutions with a residual connection, told the time and the class in between."""

    def __init__(self, channels: int, inputs: int, told: int) -> None:
        self.norm1, self.norm2 = (nnx.GroupNorm(n, 4, epsilon=1e-5, rngs=RNGS) for n in (inputs, channels))
        self.conv1, self.conv2 = (
            conv(inputs, channels, 3, 1, 1, bias=True),
            conv(channels, channels, 3, 1, 1, bias=True),
        )
        self.told, self.short = linear(told, channels), conv(inputs, channels, 1, bias=True)

    def __call__(self, x: Any, told: Any) -> Any:
        y = self.conv1(nnx.silu(self.norm1(x))) + self.told(told)[:, None, None]
        return self.conv2(nnx.silu(self.norm2(y))) + self.short(x)


class UNet(nnx.Module):
    """Noisy images, times and classes to the noise in them."""

    def __init__(self, case: Case) -> None:
        channels = case.size["channels"]
        told = 4 * channels
        self.times, self.classes = (nnx.Embed(n, told, rngs=RNGS) for n in (case.size["times"], case.classes))
        self.first, self.last = conv(1, channels, 3, 1, 1, bias=True), conv(channels, 1, 3, 1, 1, bias=True)
        self.down, self.halve = Stage(channels, channels, told), conv(channels, 2 * channels, 2, 2, bias=True)
        self.middle, self.up = Stage(2 * channels, 2 * channels, told), Stage(channels, 3 * channels, told)

    def __call__(self, x: Any, time: Any, kind: Any) -> Any:
        told = nnx.silu(self.times(time) + self.classes(kind))
        high = self.down(self.first(x), told)
        low = self.middle(self.halve(high), told).repeat(2, 1).repeat(2, 2)
        return self.last(self.up(jnp.concatenate([high, low], -1), told))


def diffusion_step(case: Case, net: Any, inputs: Any, noise: Any) -> Any:
    """Return a step on the noise, with moving averages of the weights."""
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(case.rate, eps=EPSILON))
    optimizer = nnx.Optimizer(net, rule, wrt=nnx.Param)
    averages = jax.tree.map(jnp.copy, nnx.state(net, nnx.Param))

    def loss_of(net: Any, x: Any, time: Any, kind: Any, noise: Any) -> Any:
        return ((net(x, time, kind) - noise) ** 2).mean()

    @nnx.jit
    def update(net: Any, optimizer: Any, averages: Any, *batch: Any) -> Any:
        loss, grads = nnx.value_and_grad(loss_of)(net, *batch)
        optimizer.update(net, grads)
        return loss, optax.incremental_update(nnx.state(net, nnx.Param), averages, 0.005)

    def step() -> Any:
        nonlocal averages
        loss, averages = update(net, optimizer, averages, *inputs, noise)
        return loss

    return step


# -- a graph network --------------------------------------------------------------------------------------------------


class GraphLayer(nnx.Module):
    """A node's new state, from its own and the mean of its neighbours'."""

    def __init__(self, inputs: int, units: int) -> None:
        self.own, self.others = linear(inputs, units), linear(inputs, units, False)

    def __call__(self, x: Any, edges: Any) -> Any:
        start, stop = edges
        count = jnp.zeros(len(x)).at[stop].add(1.0)
        arrived = jnp.zeros_like(x).at[stop].add(x[start])
        return self.own(x) + self.others(arrived / jnp.maximum(count, 1)[:, None])


class GraphNet(nnx.Module):
    """Layers with activations between, and scores of the groups at the end."""

    def __init__(self, case: Case) -> None:
        sizes = [case.shape[1], *[case.size["units"]] * (case.size["layers"] - 1), case.classes]
        self.layers = nnx.List([GraphLayer(inputs, units) for inputs, units in itertools.pairwise(sizes)])

    def __call__(self, x: Any, edges: Any) -> Any:
        for i, layer in enumerate(self.layers):
            x = layer(nnx.relu(x) if i else x, edges)
        return x


def graph_step(case: Case, net: Any, inputs: Any, groups: Any) -> Any:
    """Return a step on the nodes whose group is told."""
    optimizer = nnx.Optimizer(net, rule_of(case), wrt=nnx.Param)

    def loss_of(net: Any, features: Any, edges: Any, told: Any, groups: Any) -> Any:
        losses = optax.softmax_cross_entropy_with_integer_labels(net(features, edges), groups)
        return (losses * told).sum() / told.sum()

    @nnx.jit
    def step(net: Any, optimizer: Any, *batch: Any) -> Any:
        loss, grads = nnx.value_and_grad(loss_of)(net, *batch)
        optimizer.update(net, grads)
        return loss

    return lambda: step(net, optimizer, *inputs, groups)


MADE: dict[str, Any] = {
    "gpt": (GPT, gpt_step), "vit_lora": (ViT, vit_lora_step), "diffusion": (UNet, diffusion_step),
    "masked_packed": (BERT, masked_step), "graph": (GraphNet, graph_step),
}  # fmt: skip
_ENCODER = (dense, Attention, FFN, EncoderLayer, Encoder, linear, rule_of)
WRITTEN: dict[str, Any] = {
    "gpt": (*MADE["gpt"], turned, GroupedAttention, Gated, DecoderLayer, linear, rule_of),
    "vit_lora": (*MADE["vit_lora"], *_ENCODER),
    "diffusion": (*MADE["diffusion"], Stage, linear),
    "masked_packed": (*MADE["masked_packed"], Scores, *_ENCODER),
    "graph": (*MADE["graph"], GraphLayer, linear, rule_of),
}
"""What somebody writes for each."""

KINDS = {"kernel": "weight", "embedding": "weight", "scale": "gamma"}


def load(net: Any, weights: dict[str, Any]) -> None:
    """Set all parameters by name. Kernels of Flax are the other way round."""
    found = dict(nnx.to_flat_state(nnx.state(net, nnx.Any(nnx.Param, nnx.LoRAParam))))
    paths = {".".join(map(str, path)): path for path in found}
    used = {"scores.output.weight"}  # is the table of words
    for path, key in paths.items():
        place, _, kind = path.rpartition(".")
        of_norm = kind == "bias" and f"{place}.scale" in paths
        name = f"{place}.{'beta' if of_norm else KINDS.get(kind, kind)}".lstrip(".").replace(".lora.", ".")
        name = "scores.output.bias" if name == "scores.bias" else name
        value = weights[name]
        if kind in ("kernel", "lora_a", "lora_b"):
            value = value.transpose(2, 3, 1, 0) if value.ndim == 4 else value.T
        found[key] = found[key].replace(jnp.array(value))
        used.add(name)
    if left := set(weights) - used:
        raise AssertionError(f"left over: {sorted(left)}")
    nnx.update(net, nnx.from_flat_state(found))


def make(side: str, case: Case, arrays: Any, weights: Any, dtype: str) -> Job:
    """Build the model with these weights, and its step."""
    net_of, step_of = MADE[case.name]
    net = net_of(case)
    load(net, weights)

    def placed(array: Any) -> Any:
        return jnp.asarray(array.transpose(0, 2, 3, 1) if array.ndim == 4 else array)

    inputs, labels = [placed(np.asarray(a)) for a in arrays[0]], placed(arrays[1])
    return Job(net, step_of(case, net, inputs, labels))
