"""Models of today in PyTorch, eager, of its own layers. Modules have the names of the Gluon nets."""

from __future__ import annotations

import itertools
import re
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from benchmarks.zoo.cases import EPSILON, Case
from benchmarks.zoo.torches import DEVICE, Job

__all__ = ["WRITTEN", "make"]


def optimizer_of(case: Case, params: Any) -> Any:
    """Return AdamW."""
    return torch.optim.AdamW(params, case.rate, eps=EPSILON, weight_decay=case.size["decay"])


def update(optimizer: Any, loss: Any, params: Any) -> Any:
    """Take a step of clipped gradients."""
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()
    return loss


# -- a decoder as Llama's ---------------------------------------------------------------------------------------------


def turned(x: Any, base: float = 10000.0) -> Any:
    """Turn heads (batch, heads, length, width) by their positions."""
    length, width = x.shape[2:]
    rates = base ** (-torch.arange(width // 2, device=x.device) / (width // 2))
    angles = torch.arange(length, device=x.device)[:, None] * rates
    first, second = x.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class GroupedAttention(nn.Module):
    """Causal attention whose heads share keys and values."""

    def __init__(self, units: int, heads: int, shared: int) -> None:
        super().__init__()
        self.heads, self.shared, narrow = heads, shared, units // heads * shared
        self.query, self.proj = nn.Linear(units, units, bias=False), nn.Linear(units, units, bias=False)
        self.key, self.value = nn.Linear(units, narrow, bias=False), nn.Linear(units, narrow, bias=False)

    def forward(self, x: Any) -> Any:
        q = self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = (layer(x).unflatten(-1, (self.shared, -1)).transpose(1, 2) for layer in (self.key, self.value))
        out = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True, enable_gqa=True)
        return self.proj(out.transpose(1, 2).flatten(2))


class Gated(nn.Module):
    """A SwiGLU."""

    def __init__(self, units: int, hidden: int) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(units, hidden, bias=False), nn.Linear(units, hidden, bias=False)
        self.down = nn.Linear(hidden, units, bias=False)

    def forward(self, x: Any) -> Any:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class DecoderLayer(nn.Module):
    """Attention and a SwiGLU, each behind a normalization."""

    def __init__(self, size: dict[str, Any]) -> None:
        super().__init__()
        units = size["units"]
        self.attention_norm, self.ffn_norm = nn.RMSNorm(units, 1e-6), nn.RMSNorm(units, 1e-6)
        self.attention = GroupedAttention(units, size["heads"], size["shared"])
        self.ffn = Gated(units, size["hidden"])

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.attention_norm(x))
        return x + self.ffn(self.ffn_norm(x))


class GPT(nn.Module):
    """Letters to scores of the next one."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        units = case.size["units"]
        self.embedding = nn.Embedding(case.classes, units)
        self.layers = nn.Sequential(*[DecoderLayer(case.size) for _ in range(case.size["layers"])])
        self.norm, self.head = nn.RMSNorm(units, 1e-6), nn.Linear(units, case.classes, bias=False)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.norm(self.layers(self.embedding(tokens))))


def gpt_step(case: Case, net: Any, inputs: Any, labels: Any) -> Any:
    """Return a step on the letters that follow."""
    params = list(net.parameters())
    optimizer = optimizer_of(case, params)
    return lambda: update(optimizer, F.cross_entropy(net(*inputs).flatten(0, 1), labels.flatten()), params)


# -- a ViT with additions of a low rank, and BERT ---------------------------------------------------------------------


class LoRA(nn.Linear):
    """A dense layer with an addition of a low rank."""

    def __init__(self, inputs: int, units: int, rank: int) -> None:
        super().__init__(inputs, units)
        self.lora_a, self.lora_b = nn.Parameter(torch.zeros(rank, inputs)), nn.Parameter(torch.zeros(units, rank))

    def forward(self, x: Any) -> Any:
        return super().forward(x) + x @ self.lora_a.T @ self.lora_b.T


def dense(inputs: int, units: int, size: dict[str, Any]) -> Any:
    """Return a dense layer, with an addition where the model has them."""
    return LoRA(inputs, units, size["rank"]) if "rank" in size else nn.Linear(inputs, units)


class Attention(nn.Module):
    """Attention of all to all, or of those that the mask has."""

    def __init__(self, size: dict[str, Any]) -> None:
        super().__init__()
        units, self.heads = size["units"], size["heads"]
        self.query, self.key, self.value, self.proj = (dense(units, units, size) for _ in range(4))

    def forward(self, x: Any, mask: Any = None) -> Any:
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        return self.proj(F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))


class EncoderLayer(nn.Module):
    """Attention and two dense layers; normalized before (ViT) or behind (BERT)."""

    def __init__(self, size: dict[str, Any], before: bool) -> None:
        super().__init__()
        units, hidden, self.before = size["units"], size["hidden"], before
        self.self_attention, self.layer_norm = Attention(size), nn.LayerNorm(units, 1e-12)
        self.ffn = nn.Module()
        self.ffn.ffn_1, self.ffn.ffn_2 = dense(units, hidden, size), dense(hidden, units, size)
        self.ffn.layer_norm = nn.LayerNorm(units, 1e-12)

    def forward(self, x: Any, mask: Any = None) -> Any:
        if self.before:
            x = x + self.self_attention(self.layer_norm(x), mask)
            return x + self.ffn.ffn_2(F.gelu(self.ffn.ffn_1(self.ffn.layer_norm(x))))
        x = self.layer_norm(x + self.self_attention(x, mask))
        return self.ffn.layer_norm(x + self.ffn.ffn_2(F.gelu(self.ffn.ffn_1(x))))


class ViT(nn.Module):
    """Images to scores of classes."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        size, (_, channels, width, _) = case.size, case.shape
        units = size["units"]
        self.token, self.places = (nn.Parameter(torch.zeros(1, n, units)) for n in (1, 1 + (width // 2) ** 2))
        self.patches = nn.Module()
        self.patches.proj = nn.Conv2d(channels, units, 2, 2)
        self.encoder = nn.Module()
        self.encoder.layers = nn.Sequential(*[EncoderLayer(size, True) for _ in range(size["layers"])])
        self.encoder.layer_norm, self.output = nn.LayerNorm(units, 1e-12), nn.Linear(units, case.classes)

    def forward(self, images: Any) -> Any:
        x = self.patches.proj(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        return self.output(self.encoder.layer_norm(self.encoder.layers(x))[:, 0])


def vit_lora_step(case: Case, net: Any, inputs: Any, labels: Any) -> Any:
    """Return a step that trains additions and the last layer."""
    net.requires_grad_(False)
    params = [p for name, p in net.named_parameters() if "lora_" in name or name.startswith("output")]
    for param in params:
        param.requires_grad_(True)
    optimizer = optimizer_of(case, params)
    return lambda: update(optimizer, F.cross_entropy(net(*inputs), labels, label_smoothing=0.05), params)


class BERT(nn.Module):
    """Words to scores of those that are masked."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        units = case.size["units"]
        self.words, self.places = nn.Embedding(case.classes, units), nn.Embedding(case.shape[1], units)
        self.types, self.norm = nn.Embedding(1, units), nn.LayerNorm(units, 1e-12)
        self.encoder = nn.Module()
        self.encoder.layers = nn.ModuleList([EncoderLayer(case.size, False) for _ in range(case.size["layers"])])
        self.scores = nn.Module()
        self.scores.change, self.scores.norm = nn.Linear(units, units), nn.LayerNorm(units, 1e-12)
        self.scores.output = nn.Linear(units, case.classes)
        self.scores.output.weight = self.words.weight

    def forward(self, words: Any, segments: Any, positions: Any) -> Any:
        mask = (segments[:, :, None] == segments[:, None, :])[:, None]
        x = self.norm(self.words(words) + self.places(positions) + self.types.weight[0])
        for layer in self.encoder.layers:
            x = layer(x, mask)
        return self.scores.output(self.scores.norm(F.gelu(self.scores.change(x))))


def masked_step(case: Case, net: Any, inputs: Any, words: Any) -> Any:
    """Return a step on the words that are masked; norms and biases do not decay."""
    seen, segments, positions, asked = inputs
    params = dict(net.named_parameters())
    plain = [p for name, p in params.items() if name.endswith("bias") or "norm" in name]
    rest = [p for name, p in params.items() if not (name.endswith("bias") or "norm" in name)]
    optimizer = optimizer_of(case, [{"params": rest}, {"params": plain, "weight_decay": 0.0}])

    def step() -> Any:
        scores = net(seen, segments, positions)
        losses = F.cross_entropy(scores.flatten(0, 1), words.flatten(), reduction="none")
        return update(optimizer, (losses * asked.flatten()).sum() / asked.sum(), list(params.values()))

    return step


# -- diffusion --------------------------------------------------------------------------------------------------------


class Stage(nn.Module):
    """Two convolutions with a residual connection, told the time and the class in between."""

    def __init__(self, channels: int, inputs: int, told: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, inputs), nn.GroupNorm(4, channels)
        self.conv1 = nn.Conv2d(inputs, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.told, self.short = nn.Linear(told, channels), nn.Conv2d(inputs, channels, 1)

    def forward(self, x: Any, told: Any) -> Any:
        y = self.conv1(F.silu(self.norm1(x))) + self.told(told)[:, :, None, None]
        return self.conv2(F.silu(self.norm2(y))) + self.short(x)


class UNet(nn.Module):
    """Noisy images, times and classes to the noise in them."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        channels = case.size["channels"]
        told = 4 * channels
        self.times, self.classes = nn.Embedding(case.size["times"], told), nn.Embedding(case.classes, told)
        self.first, self.last = nn.Conv2d(1, channels, 3, padding=1), nn.Conv2d(channels, 1, 3, padding=1)
        self.down, self.halve = Stage(channels, channels, told), nn.Conv2d(channels, 2 * channels, 2, 2)
        self.middle = Stage(2 * channels, 2 * channels, told)
        self.enlarge, self.up = nn.Upsample(scale_factor=2), Stage(channels, 3 * channels, told)

    def forward(self, x: Any, time: Any, kind: Any) -> Any:
        told = F.silu(self.times(time) + self.classes(kind))
        high = self.down(self.first(x), told)
        low = self.middle(self.halve(high), told)
        return self.last(self.up(torch.cat([high, self.enlarge(low)], 1), told))


def diffusion_step(case: Case, net: Any, inputs: Any, noise: Any) -> Any:
    """Return a step on the noise, with moving averages of the weights."""
    params = list(net.parameters())
    optimizer = torch.optim.Adam(params, case.rate, eps=EPSILON)
    averages = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.995))

    def step() -> Any:
        loss = update(optimizer, F.mse_loss(net(*inputs), noise), params)
        averages.update_parameters(net)
        return loss

    return step


# -- a graph network --------------------------------------------------------------------------------------------------


class GraphLayer(nn.Module):
    """A node's new state, from its own and the mean of its neighbours'."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.own, self.others = nn.Linear(inputs, units), nn.Linear(inputs, units, bias=False)

    def forward(self, x: Any, edges: Any) -> Any:
        start, stop = edges
        count = x.new_zeros(len(x)).index_add_(0, stop, x.new_ones(len(stop)))
        arrived = torch.zeros_like(x).index_add_(0, stop, x[start])
        return self.own(x) + self.others(arrived / count.clamp(min=1)[:, None])


class GraphNet(nn.Module):
    """Layers with activations between, and scores of the groups at the end."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        sizes = [case.shape[1], *[case.size["units"]] * (case.size["layers"] - 1), case.classes]
        self.layers = nn.ModuleList([GraphLayer(inputs, units) for inputs, units in itertools.pairwise(sizes)])

    def forward(self, x: Any, edges: Any) -> Any:
        for i, layer in enumerate(self.layers):
            x = layer(F.relu(x) if i else x, edges)
        return x


def graph_step(case: Case, net: Any, inputs: Any, groups: Any) -> Any:
    """Return a step on the nodes whose group is told."""
    features, edges, told = inputs
    params = list(net.parameters())
    optimizer = optimizer_of(case, params)

    def step() -> Any:
        losses = F.cross_entropy(net(features, edges), groups, reduction="none")
        return update(optimizer, (losses * told).sum() / told.sum(), params)

    return step


MADE: dict[str, Any] = {
    "gpt": (GPT, gpt_step), "vit_lora": (ViT, vit_lora_step), "diffusion": (UNet, diffusion_step),
    "masked_packed": (BERT, masked_step), "graph": (GraphNet, graph_step),
}  # fmt: skip
WRITTEN: dict[str, Any] = {
    "gpt": (*MADE["gpt"], turned, GroupedAttention, Gated, DecoderLayer, optimizer_of, update),
    "vit_lora": (*MADE["vit_lora"], LoRA, dense, Attention, EncoderLayer, optimizer_of, update),
    "diffusion": (*MADE["diffusion"], Stage, update),
    "masked_packed": (*MADE["masked_packed"], dense, Attention, EncoderLayer, optimizer_of, update),
    "graph": (*MADE["graph"], GraphLayer, optimizer_of, update),
}
"""What somebody writes for each."""


def make(side: str, case: Case, arrays: Any, weights: Any, dtype: str) -> Job:
    """Build the model with these weights, and its step."""
    net_of, step_of = MADE[case.name]
    net = net_of(case)
    names = {name: re.sub(r"gamma$", "weight", re.sub(r"beta$", "bias", name)) for name in weights}
    net.load_state_dict({names[name]: torch.from_numpy(value) for name, value in weights.items()})
    net.to(DEVICE)

    def placed(array: Any) -> Any:
        x = torch.from_numpy(array).to(DEVICE)
        return x if x.is_floating_point() else x.long()

    return Job(step_of(case, net, [placed(a) for a in arrays[0]], placed(arrays[1])))
