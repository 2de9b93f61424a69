"""The workloads in PyTorch, eager. Modules have the names of the Gluon nets, so weights find their places by name."""

from __future__ import annotations

import os
import platform
import re
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.zoo.cases import EPSILON, TIED, Case, fuse_attention, layers_of

__all__ = ["Job", "make", "versions"]

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def versions(side: str) -> dict[str, str]:
    """Return the versions of the libraries; PyTorch uses as many threads as cores afterwards."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.set_float32_matmul_precision("high")  # on a GPU as XLA does it, by TF32; a CPU heeds only "medium"
    torch.ones(2, device=DEVICE) + 1
    return {"torch": torch.__version__, "Python": platform.python_version()}


class Job:
    """A model and its step."""

    def __init__(self, step: Any) -> None:
        self.step = step
        if DEVICE == "cuda":
            self.peak, self.mark = torch.cuda.max_memory_allocated, torch.cuda.reset_peak_memory_stats

    def wait(self, loss: Any) -> None:
        """Wait for the last step: a CPU has done it already."""
        if DEVICE == "cuda":
            torch.cuda.synchronize()

    def number(self, loss: Any) -> float:
        """Return the mean of a loss, or of the sizes of what was predicted."""
        return float(loss.detach().float().abs().mean())


def mlp(case: Case) -> Any:
    layers: list[Any] = []
    for _ in range(case.size["layers"] - 1):
        layers.append(nn.Sequential(nn.Linear(32, 32), nn.ReLU()))
    return nn.Sequential(*layers, nn.Sequential(nn.Linear(32, case.classes)))


def lenet(case: Case) -> Any:
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU()),
        nn.MaxPool2d(2),
        nn.Sequential(nn.Conv2d(20, 50, 5), nn.ReLU()),
        nn.Sequential(nn.MaxPool2d(2), nn.Flatten()),
        nn.Sequential(nn.Linear(800, 500), nn.ReLU()),
        nn.Sequential(nn.Linear(500, case.classes)),
    )


def conv(inner: int, out: int, size: int, stride: int = 1, pad: int = 0, bias: bool = False, groups: int = 1) -> Any:
    return nn.Conv2d(inner, out, size, stride, pad, bias=bias, groups=groups)


class Residual(nn.Module):
    """A block of a ResNet of version 1."""

    def __init__(self, inner: int, channels: int, wide: int, stride: int) -> None:
        super().__init__()
        if wide == 4:
            own = channels // 4
            layers = [conv(inner, own, 1, stride, bias=True), nn.BatchNorm2d(own), nn.ReLU()]
            layers += [conv(own, own, 3, 1, 1), nn.BatchNorm2d(own), nn.ReLU()]
            layers += [conv(own, channels, 1, bias=True), nn.BatchNorm2d(channels)]
        else:
            layers = [conv(inner, channels, 3, stride, 1), nn.BatchNorm2d(channels), nn.ReLU()]
            layers += [conv(channels, channels, 3, 1, 1), nn.BatchNorm2d(channels)]
        self.body = nn.Sequential(*layers)
        shortcut = [conv(inner, channels, 1, stride), nn.BatchNorm2d(channels)]
        self.downsample = nn.Sequential(*shortcut) if inner != channels or stride > 1 else nn.Identity()

    def forward(self, x: Any) -> Any:
        return F.relu(self.body(x) + self.downsample(x))


class WithOutput(nn.Module):
    """Features and what comes after them."""

    def __init__(self, features: list[Any], output: Any) -> None:
        super().__init__()
        self.features, self.output = nn.Sequential(*features), output

    def forward(self, x: Any) -> Any:
        return self.output(self.features(x))


def resnet(case: Case) -> Any:
    features: list[Any] = [conv(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inner = 64
    for wide, channels, count, first in layers_of(case.model):
        blocks = [Residual(channels if i else inner, channels, wide, 1 if i else first) for i in range(count)]
        features.append(nn.Sequential(*blocks))
        inner = channels
    features += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return WithOutput(features, nn.Linear(inner, case.classes))


class Bottleneck(nn.Module):
    """A block of MobileNetV2."""

    def __init__(self, inner: int, channels: int, expansion: int, stride: int) -> None:
        super().__init__()
        wide = inner * expansion
        layers = [conv(inner, wide, 1), nn.BatchNorm2d(wide), nn.ReLU6()]
        layers += [conv(wide, wide, 3, stride, 1, groups=wide), nn.BatchNorm2d(wide), nn.ReLU6()]
        self.out = nn.Sequential(*layers, conv(wide, channels, 1), nn.BatchNorm2d(channels))
        self.shortcut = stride == 1 and inner == channels

    def forward(self, x: Any) -> Any:
        return self.out(x) + x if self.shortcut else self.out(x)


def mobilenet(case: Case) -> Any:
    features: list[Any] = [conv(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU6()]
    inner = 32
    for expansion, channels, count, first in layers_of(case.model):
        for i in range(count):
            features.append(Bottleneck(inner, channels, expansion, 1 if i else first))
            inner = channels
    features += [conv(inner, 1280, 1), nn.BatchNorm2d(1280), nn.ReLU6(), nn.AdaptiveAvgPool2d(1)]
    return WithOutput(features, nn.Sequential(conv(1280, case.classes, 1), nn.Flatten()))


class UNet(nn.Module):
    """Down, and up again beside what was seen on the way."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        widths = case.size["widths"]

        def pair(inner: int, out: int) -> Any:
            first, second = conv(inner, out, 3, 1, 1), conv(out, out, 3, 1, 1)
            return nn.Sequential(first, nn.BatchNorm2d(out), nn.ReLU(), second, nn.BatchNorm2d(out), nn.ReLU())

        wider = list(zip(widths[:0:-1], widths[-2::-1]))
        self.down = nn.ModuleList([pair(inner, out) for inner, out in zip((3,) + tuple(widths), widths)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(inner, out, 2, 2) for inner, out in wider])
        self.join = nn.ModuleList([pair(2 * out, out) for _, out in wider])
        self.output = conv(widths[0], case.classes, 1, bias=True)

    def forward(self, x: Any) -> Any:
        seen = [self.down[0](x)]
        for block in self.down[1:]:
            seen.append(block(F.max_pool2d(seen[-1], 2)))
        x = seen.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([seen.pop(), up(x)], 1))
        return self.output(x)


class Both(nn.Module):
    """The two nets of a DCGAN."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        width = case.size["width"]
        maker: list[Any] = []
        inner = case.size["noise"]
        for i in (8, 4, 2, 1):
            stride, pad = (1, 0) if i == 8 else (2, 1)
            maker += [
                nn.ConvTranspose2d(inner, width * i, 4, stride, pad, bias=False),
                nn.BatchNorm2d(width * i),
                nn.ReLU(),
            ]
            inner = width * i
        maker += [nn.ConvTranspose2d(inner, 3, 4, 2, 1, bias=False), nn.Tanh()]
        judge: list[Any] = [conv(3, width, 4, 2, 1), nn.LeakyReLU(0.2)]
        for i in (2, 4, 8):
            judge += [conv(width * i // 2, width * i, 4, 2, 1), nn.BatchNorm2d(width * i), nn.LeakyReLU(0.2)]
        self.maker = nn.Sequential(*maker)
        self.judge = nn.Sequential(*judge, conv(width * 8, 1, 4), nn.Flatten(0))


class LanguageModel(nn.Module):
    """Words to scores of the next one; one table for both ends."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        units = case.size["units"]
        self.embedding, self.rnn = nn.Embedding(case.classes, units), nn.LSTM(units, units, case.size["layers"])
        self.output = nn.Linear(units, case.classes)
        self.output.weight = self.embedding.weight

    def forward(self, words: Any, states: Any) -> Any:
        x, states = self.rnn(self.embedding(words), states)
        return self.output(x), states


class Attention(nn.Module):
    """Self attention with query, key and value as one product."""

    def __init__(self, units: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(units, 3 * units), nn.Linear(units, units)

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A layer of BERT."""

    def __init__(self, size: dict[str, Any]) -> None:
        super().__init__()
        units = size["units"]
        self.self_attention, self.layer_norm = Attention(units, size["heads"]), nn.LayerNorm(units, 1e-12)
        self.ffn = nn.Sequential()
        self.ffn.ffn_1, self.ffn.ffn_2 = nn.Linear(units, size["hidden"]), nn.Linear(size["hidden"], units)
        self.ffn.layer_norm = nn.LayerNorm(units, 1e-12)

    def forward(self, x: Any) -> Any:
        x = self.layer_norm(x + self.self_attention(x))
        return self.ffn.layer_norm(x + self.ffn.ffn_2(F.gelu(self.ffn.ffn_1(x))))


class BERT(nn.Module):
    """Words to scores of those that are masked."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        units = case.size["units"]
        self.words, self.places = nn.Embedding(case.classes, units), nn.Embedding(case.shape[1], units)
        self.norm, self.change_norm = nn.LayerNorm(units), nn.LayerNorm(units)
        self.encoder = nn.Sequential()
        self.encoder.layers = nn.Sequential(*[Layer(case.size) for _ in range(case.size["layers"])])
        self.change, self.output = nn.Linear(units, units), nn.Linear(units, case.classes)
        self.output.weight = self.words.weight

    def forward(self, words: Any, asked: Any) -> Any:
        x = self.encoder(self.norm(self.words(words) + self.places.weight))
        x = x.flatten(0, 1)[asked]
        return self.output(self.change_norm(F.gelu(self.change(x))))


NETS = {
    "mlp": mlp, "lenet": lenet, "resnet18": resnet, "resnet50": resnet, "mobilenetv2": mobilenet, "unet": UNet,
    "dcgan": Both, "lstm": LanguageModel, "bert": BERT,
}  # fmt: skip


def load(model: Any, case: Case, weights: dict[str, Any]) -> None:
    """Set all parameters by name."""
    state = {}
    for name, value in fuse_attention(weights).items():
        name = re.sub(r"gamma$", "weight", re.sub(r"beta$", "bias", name))
        name = re.sub(
            r"l(\d+)_(i2h|h2h)_(\w+)$", lambda m: "{}_{}_l{}".format(m[3], {"i": "ih", "h": "hh"}[m[2][0]], m[1]), name
        )
        name = re.sub(r"^(\d+)\.", r"\1.0.", name)
        state[name] = torch.from_numpy(value)
    for name in TIED.get(case.model, {}):
        state[name] = state[TIED[case.model][name]]
    missing = set(state) ^ {n for n in model.state_dict() if not n.endswith("num_batches_tracked")}
    if missing:
        raise AssertionError(f"names that do not fit: {sorted(missing)}")
    model.load_state_dict(state, strict=False)


def optimizer_of(case: Case, model: Any) -> Any:
    if case.optimizer == "sgd":
        return torch.optim.SGD(model.parameters(), case.rate, momentum=0.9)
    return torch.optim.Adam(model.parameters(), case.rate, eps=EPSILON)


def training(case: Case, model: Any, inputs: Any, labels: Any) -> Job:
    """Return the loop of every tutorial."""
    optimizer = optimizer_of(case, model)
    loss_fn = nn.BCEWithLogitsLoss() if case.model == "unet" else nn.CrossEntropyLoss()

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_fn(model(*inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    return Job(step)


def language_training(case: Case, model: Any, inputs: Any, labels: Any) -> Job:
    """Train by truncated back-propagation, gradients clipped."""
    optimizer, (words,) = optimizer_of(case, model), inputs
    zeros = torch.zeros(
        case.size["layers"], case.shape[1], case.size["units"], device=DEVICE, dtype=model.output.bias.dtype
    )
    states = (zeros, zeros)

    def step() -> Any:
        nonlocal states
        optimizer.zero_grad()
        scores, after = model(words, states)
        states = tuple(state.detach() for state in after)
        loss = F.cross_entropy(scores.flatten(0, 1), labels.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), case.size["clip"])
        optimizer.step()
        return loss

    return Job(step)


def gan_training(case: Case, both: Any, inputs: Any, labels: Any) -> Job:
    """Return a step of the judge, then a step of the maker against it."""
    of_maker, of_judge = (optimizer_of(case, net) for net in (both.maker, both.judge))
    (real, noise), loss_fn = inputs, F.binary_cross_entropy_with_logits
    ones, zeros = (make(len(real), device=DEVICE, dtype=real.dtype) for make in (torch.ones, torch.zeros))

    def step() -> Any:
        of_judge.zero_grad()
        fake = both.maker(noise)
        judged = loss_fn(both.judge(real), ones) + loss_fn(both.judge(fake.detach()), zeros)
        judged.backward()
        of_judge.step()
        of_maker.zero_grad()
        made = loss_fn(both.judge(fake), ones)
        made.backward()
        of_maker.step()
        return (judged + made).detach()

    return Job(step)


def predicting(case: Case, model: Any, inputs: Any, labels: Any) -> Job:
    """Return the forward alone."""
    model.eval()

    def step() -> Any:
        with torch.inference_mode():
            return model(*inputs)

    return Job(step)


def make(side: str, case: Case, arrays: Any, weights: Any, dtype: str) -> Job:
    """Build the model with these weights, and its step."""
    kind = getattr(torch, dtype)
    model = NETS[case.model](case)
    load(model, case, weights)
    model.to(DEVICE)
    for module in model.modules():
        if not isinstance(module, nn.BatchNorm2d):
            for parameter in module.parameters(recurse=False):
                parameter.data = parameter.data.to(kind)

    def placed(array: Any) -> Any:
        x = torch.from_numpy(array).to(DEVICE)
        return x.to(kind) if x.is_floating_point() else x.long()

    kinds = {"dcgan": gan_training, "lstm": language_training}
    kind_of = predicting if case.kind == "predict" else kinds.get(case.model, training)
    return kind_of(case, model, [placed(a) for a in arrays[0]], None if arrays[1] is None else placed(arrays[1]))
