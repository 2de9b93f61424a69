"""The workloads in Flax NNX, in its own layout (NHWC) and with its own layers, optimizer and ``nnx.jit``.

Attributes have the names of the Gluon nets, so weights find their places by name. The LSTM is written out, for Flax's
cells have one bias where Gluon, MXNet and PyTorch have two, and would train differently.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from benchmarks.zoo import byhand
from benchmarks.zoo.cases import TIED, Case, layers_of

__all__ = ["Job", "make", "versions"]

RNGS = nnx.Rngs(0)


def versions(side: str) -> dict[str, str]:
    """Return the versions of the libraries; the backend is ready afterwards."""
    return {"flax": flax.__version__, **byhand.versions(side)}


def conv(inner: int, out: int, size: int, stride: int = 1, pad: int = 0, bias: bool = False, groups: int = 1) -> Any:
    pads, strides = [(pad, pad)] * 2, (stride, stride)
    return nnx.Conv(
        inner, out, (size, size), strides, padding=pads, use_bias=bias, feature_group_count=groups, rngs=RNGS
    )


def deconv(inner: int, out: int, size: int, stride: int, pad: int, bias: bool = False) -> Any:
    pads = [(size - 1 - pad,) * 2] * 2
    return nnx.ConvTranspose(inner, out, (size, size), (stride, stride), padding=pads, use_bias=bias, rngs=RNGS)


def norm(channels: int) -> Any:
    return nnx.BatchNorm(channels, momentum=0.9, epsilon=1e-5, rngs=RNGS)


def dense(inner: int, out: int) -> Any:
    return nnx.Linear(inner, out, rngs=RNGS)


class Function(nnx.Module):
    """A function as a layer."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, x: Any) -> Any:
        return self.function(x)


relu, relu6, tanh = Function(nnx.relu), Function(nnx.relu6), Function(jnp.tanh)
leaky = Function(functools.partial(nnx.leaky_relu, negative_slope=0.2))
pool2 = Function(lambda x: nnx.max_pool(x, (2, 2), (2, 2)))
pool3 = Function(lambda x: nnx.max_pool(x, (3, 3), (2, 2), [(1, 1), (1, 1)]))
mean = Function(lambda x: x.mean((1, 2)))
# Gluon flattens channels first, and a dense layer's weight counts on it.
flat = Function(lambda x: x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1))


class Layers(nnx.Module):
    """Layers one after another, with relu after all with weights but the last."""

    def __init__(self, layers: list[Any]) -> None:
        self.layers = nnx.List(layers)

    def __call__(self, x: Any) -> Any:
        for layer in self.layers[:-1]:
            x = layer(x) if isinstance(layer, Function) else nnx.relu(layer(x))
        return self.layers[-1](x)


def mlp(case: Case) -> Any:
    return Layers([dense(32, 32) for _ in range(case.size["layers"])])


def lenet(case: Case) -> Any:
    body = [conv(1, 20, 5, bias=True), pool2, conv(20, 50, 5, bias=True), Function(lambda x: flat(pool2(x)))]
    return Layers([*body, dense(800, 500), dense(500, case.classes)])


class Residual(nnx.Module):
    """A block of a ResNet of version 1."""

    def __init__(self, inner: int, channels: int, wide: int, stride: int) -> None:
        if wide == 4:
            own = channels // 4
            layers = [conv(inner, own, 1, stride, bias=True), norm(own), relu, conv(own, own, 3, 1, 1), norm(own), relu]
            layers += [conv(own, channels, 1, bias=True), norm(channels)]
        else:
            layers = [conv(inner, channels, 3, stride, 1), norm(channels), relu]
            layers += [conv(channels, channels, 3, 1, 1), norm(channels)]
        self.body = nnx.Sequential(*layers)
        change = inner != channels or stride > 1
        self.downsample = nnx.Sequential(conv(inner, channels, 1, stride), norm(channels)) if change else None

    def __call__(self, x: Any) -> Any:
        return nnx.relu(self.body(x) + (x if self.downsample is None else self.downsample(x)))


class WithOutput(nnx.Module):
    """Features and what comes after them."""

    def __init__(self, features: list[Any], output: Any) -> None:
        self.features, self.output = nnx.Sequential(*features), output

    def __call__(self, x: Any) -> Any:
        return self.output(self.features(x))


def resnet(case: Case) -> Any:
    features: list[Any] = [conv(3, 64, 7, 2, 3), norm(64), relu, pool3]
    inner = 64
    for wide, channels, count, first in layers_of(case.model):
        blocks = [Residual(channels if i else inner, channels, wide, 1 if i else first) for i in range(count)]
        features.append(nnx.Sequential(*blocks))
        inner = channels
    return WithOutput([*features, mean], dense(inner, case.classes))


class Bottleneck(nnx.Module):
    """A block of MobileNetV2."""

    def __init__(self, inner: int, channels: int, expansion: int, stride: int) -> None:
        wide = inner * expansion
        layers = [
            conv(inner, wide, 1),
            norm(wide),
            relu6,
            conv(wide, wide, 3, stride, 1, groups=wide),
            norm(wide),
            relu6,
        ]
        self.out = nnx.Sequential(*layers, conv(wide, channels, 1), norm(channels))
        self.shortcut = stride == 1 and inner == channels

    def __call__(self, x: Any) -> Any:
        return self.out(x) + x if self.shortcut else self.out(x)


def mobilenet(case: Case) -> Any:
    features: list[Any] = [conv(3, 32, 3, 2, 1), norm(32), relu6]
    inner = 32
    for expansion, channels, count, first in layers_of(case.model):
        for i in range(count):
            features.append(Bottleneck(inner, channels, expansion, 1 if i else first))
            inner = channels
    features += [conv(inner, 1280, 1), norm(1280), relu6, Function(lambda x: x.mean((1, 2), keepdims=True))]
    return WithOutput(features, nnx.Sequential(conv(1280, case.classes, 1), flat))


class UNet(nnx.Module):
    """Down, and up again beside what was seen on the way."""

    def __init__(self, case: Case) -> None:
        widths = case.size["widths"]

        def pair(inner: int, out: int) -> Any:
            return nnx.Sequential(conv(inner, out, 3, 1, 1), norm(out), relu, conv(out, out, 3, 1, 1), norm(out), relu)

        inners = (3, *widths[:-1])
        self.down = nnx.List([pair(inner, out) for inner, out in zip(inners, widths)])
        wider = list(zip(widths[:0:-1], widths[-2::-1]))
        self.up = nnx.List([deconv(inner, out, 2, 2, 0, bias=True) for inner, out in wider])
        self.join = nnx.List([pair(2 * out, out) for _, out in wider])
        self.output = conv(widths[0], case.classes, 1, bias=True)

    def __call__(self, x: Any) -> Any:
        seen = [self.down[0](x)]
        for block in self.down[1:]:
            seen.append(block(pool2(seen[-1])))
        x = seen.pop()
        for up, join in zip(self.up, self.join):
            x = join(jnp.concatenate([seen.pop(), up(x)], -1))
        return self.output(x)


class Both(nnx.Module):
    """The two nets of a DCGAN."""

    def __init__(self, case: Case) -> None:
        width = case.size["width"]
        maker, judge = [deconv(case.size["noise"], width * 8, 4, 1, 0), norm(width * 8), relu], []
        judge = [conv(3, width, 4, 2, 1), leaky]
        for i in (8, 4, 2):
            maker += [deconv(width * i, width * i // 2, 4, 2, 1), norm(width * i // 2), relu]
        for i in (1, 2, 4):
            judge += [conv(width * i, width * i * 2, 4, 2, 1), norm(width * i * 2), leaky]
        self.maker = nnx.Sequential(*maker, deconv(width, 3, 4, 2, 1), tanh)
        self.judge = nnx.Sequential(*judge, conv(width * 8, 1, 4), Function(lambda x: x.reshape(-1)))


class LSTM(nnx.Module):
    """Layers of an LSTM, time first."""

    def __init__(self, units: int, layers: int) -> None:
        self.layers = layers
        for i in range(layers):
            for part in ("i2h", "h2h"):
                setattr(self, f"l{i}_{part}_weight", nnx.Param(jnp.zeros((4 * units, units))))
                setattr(self, f"l{i}_{part}_bias", nnx.Param(jnp.zeros(4 * units)))

    def __call__(self, x: Any, states: Any) -> Any:
        after = []
        for i in range(self.layers):
            wx, bx, wh, bh = (
                getattr(self, f"l{i}_{n}")[...] for n in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
            )

            def tick(state: Any, gate: Any, wh: Any = wh) -> Any:
                h, c = state
                i, f, g, o = jnp.split(gate + h @ wh.T, 4, -1)
                c = nnx.sigmoid(f) * c + nnx.sigmoid(i) * jnp.tanh(g)
                h = nnx.sigmoid(o) * jnp.tanh(c)
                return (h, c), h

            last, x = jax.lax.scan(tick, states[i], x @ wx.T + (bx + bh))
            after.append(last)
        return x, after


class LanguageModel(nnx.Module):
    """Words to scores of the next one; one table for both ends."""

    def __init__(self, case: Case) -> None:
        units = case.size["units"]
        self.embedding = nnx.Embed(case.classes, units, rngs=RNGS)
        self.rnn, self.bias = LSTM(units, case.size["layers"]), nnx.Param(jnp.zeros(case.classes))

    def __call__(self, words: Any, states: Any) -> Any:
        x, states = self.rnn(self.embedding(words), states)
        return self.embedding.attend(x) + self.bias[...], states


class Layer(nnx.Module):
    """A layer of BERT."""

    def __init__(self, size: dict[str, Any]) -> None:
        units = size["units"]
        self.self_attention = nnx.MultiHeadAttention(size["heads"], units, decode=False, rngs=RNGS)
        self.layer_norm, self.ffn_norm = (nnx.LayerNorm(units, epsilon=1e-12, rngs=RNGS) for _ in range(2))
        self.ffn_1, self.ffn_2 = dense(units, size["hidden"]), dense(size["hidden"], units)

    def __call__(self, x: Any) -> Any:
        x = self.layer_norm(x + self.self_attention(x))
        return self.ffn_norm(x + self.ffn_2(nnx.gelu(self.ffn_1(x), approximate=False)))


class BERT(nnx.Module):
    """Words to scores of those that are masked."""

    def __init__(self, case: Case) -> None:
        units = case.size["units"]
        self.words, self.places = nnx.Embed(case.classes, units, rngs=RNGS), nnx.Embed(case.shape[1], units, rngs=RNGS)
        self.norm, self.change_norm = (nnx.LayerNorm(units, epsilon=1e-5, rngs=RNGS) for _ in range(2))
        self.encoder = nnx.List([Layer(case.size) for _ in range(case.size["layers"])])
        self.change, self.bias = dense(units, units), nnx.Param(jnp.zeros(case.classes))

    def __call__(self, words: Any, asked: Any) -> Any:
        x = self.norm(self.words(words) + self.places(jnp.arange(words.shape[1])))
        for layer in self.encoder:
            x = layer(x)
        x = x.reshape(-1, x.shape[-1])[asked]
        x = self.change_norm(nnx.gelu(self.change(x), approximate=False))
        return self.words.attend(x) + self.bias[...]


NETS: dict[str, Callable[[Case], Any]] = {
    "mlp": mlp, "lenet": lenet, "resnet18": resnet, "resnet50": resnet, "mobilenetv2": mobilenet, "unet": UNet,
    "dcgan": Both, "lstm": LanguageModel, "bert": BERT,
}  # fmt: skip

# How a path of Flax's becomes a name of Gluon's.
RENAMED = (
    (r"\blayers\.(?=\d)", ""),
    (r"encoder\.(?=\d)", "encoder.layers."),
    (r"\.ffn_norm", ".ffn.layer_norm"),
    (r"\.(ffn_\d)", r".ffn.\1"),
    (r"\.out\.(kernel|bias)", r".proj.\1"),
    (r"\.(kernel|embedding)$", ".weight"),
    (r"\.scale$", ".gamma"),
    (r"\.(mean|var)$", r".running_\1"),
    (r"^bias$", "output.bias"),
)


def load(model: Any, case: Case, weights: dict[str, Any], dtype: Any) -> None:
    """Set all parameters by name. Kernels of Flax are the other way round, those of transposed convolutions turned."""
    state = nnx.state(model, nnx.Any(nnx.Param, nnx.BatchStat))
    found = dict(nnx.to_flat_state(state))
    paths = {".".join(map(str, path)): path for path in found}
    used = set(TIED.get(case.model, {}))
    for path, key in paths.items():
        place, _, kind = path.rpartition(".")
        exact = f"{place}.scale" in paths and case.model != "bert"
        name = f"{place}.beta" if kind == "bias" and f"{place}.scale" in paths else path
        for pattern, by in RENAMED:
            name = re.sub(pattern, by, name)
        value, shape = weights[name], found[key][...].shape
        if kind == "kernel" and value.ndim == 4:
            turned = re.match(r"up\.|maker\.", name)
            value = value[..., ::-1, ::-1].transpose(2, 3, 0, 1) if turned else value.transpose(2, 3, 1, 0)
        elif kind == "kernel":
            value = value.T
        found[key] = found[key].replace(jnp.array(value.reshape(shape), jnp.float32 if exact else dtype))
        used.add(name)
    if used != set(weights):
        raise AssertionError(f"left over: {sorted(set(weights) - used)}")
    nnx.update(model, nnx.from_flat_state(found))
    for module in nnx.iter_modules(model):
        if isinstance(module[1], (nnx.BatchNorm, nnx.Embed)):
            module[1].dtype = dtype  # their results are of the type that their parameters were made with


class Job:
    """A jitted step over a model and its optimizer."""

    def __init__(self, model: Any, step: Callable[[], Any]) -> None:
        self.model, self.step = model, step
        if jax.devices()[0].memory_stats():
            self.peak = lambda: int((jax.devices()[0].memory_stats() or {})["peak_bytes_in_use"])

    def wait(self, loss: Any) -> None:
        """Wait for the last step."""
        jax.block_until_ready((nnx.state(self.model), loss))

    def number(self, loss: Any) -> float:
        """Return the mean of a loss, or of the sizes of what was predicted."""
        return float(jnp.abs(loss.astype(jnp.float32)).mean())


def optimizer_of(case: Case, model: Any) -> Any:
    return nnx.Optimizer(model, byhand.optimizer_of(case), wrt=nnx.Param)


def cross_entropy(scores: Any, labels: Any) -> Any:
    return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean()


def sigmoid_loss(scores: Any, labels: Any) -> Any:
    return optax.sigmoid_binary_cross_entropy(scores, labels).mean()


def training(case: Case, model: Any, inputs: Any, labels: Any) -> Job:
    """Forward, backward and update."""
    model.train()
    optimizer, loss_fn = optimizer_of(case, model), sigmoid_loss if case.model == "unet" else cross_entropy

    @nnx.jit
    def step(model: Any, optimizer: Any, inputs: Any, labels: Any) -> Any:
        loss, grads = nnx.value_and_grad(lambda model: loss_fn(model(*inputs), labels))(model)
        optimizer.update(model, grads)
        return loss

    return Job(model, lambda: step(model, optimizer, inputs, labels))


def language_training(case: Case, model: Any, inputs: Any, labels: Any) -> Job:
    """Train by truncated back-propagation, gradients clipped."""
    optimizer, words, dtype = optimizer_of(case, model), inputs[0], model.bias.dtype
    zeros = [[jnp.zeros((case.shape[1], case.size["units"]), dtype) for _ in "hc"] for _ in range(case.size["layers"])]
    states: Any = [tuple(pair) for pair in zeros]

    def loss_of(model: Any, states: Any, words: Any, labels: Any) -> Any:
        scores, states = model(words, states)
        return cross_entropy(scores, labels), states

    @nnx.jit
    def update(model: Any, optimizer: Any, states: Any, words: Any, labels: Any) -> Any:
        found, grads = nnx.value_and_grad(loss_of, has_aux=True)(model, states, words, labels)
        optimizer.update(model, grads)
        return found

    def step() -> Any:
        nonlocal states
        loss, states = update(model, optimizer, states, words, labels)
        return loss

    return Job(model, step)


def gan_training(case: Case, both: Any, inputs: Any, labels: Any) -> Job:
    """Return a step of the judge, then a step of the maker against it."""
    both.train()
    optimizers, (real, noise) = [optimizer_of(case, net) for net in (both.maker, both.judge)], inputs

    def judging(judge: Any, *images_labels: Any) -> Any:
        scores = [(judge(images), label) for images, label in images_labels]
        return sum(sigmoid_loss(found, jnp.full_like(found, label)) for found, label in scores)

    @nnx.jit
    def step(maker: Any, judge: Any, of_maker: Any, of_judge: Any, real: Any, noise: Any) -> Any:
        fake, back = nnx.vjp(lambda maker: maker(noise), maker, graph_updates=False)
        judged, grads = nnx.value_and_grad(judging)(judge, (real, 1.0), (fake, 0.0))
        of_judge.update(judge, grads)
        made, slope = nnx.value_and_grad(lambda fake, judge: judging(judge, (fake, 1.0)))(fake, judge)
        of_maker.update(maker, back(slope)[0])
        return judged + made

    return Job(both, lambda: step(both.maker, both.judge, *optimizers, real, noise))


def predicting(case: Case, model: Any, inputs: Any, labels: Any) -> Job:
    """Return the forward alone."""
    model.eval()
    predict = nnx.jit(lambda model, *inputs: model(*inputs))
    return Job(model, lambda: predict(model, *inputs))


def make(side: str, case: Case, arrays: Any, weights: Any, dtype: str) -> Job:
    """Build the model with these weights, and its step."""
    kind = jnp.dtype(dtype)

    def placed(array: Any) -> Any:
        array = array.transpose(0, 2, 3, 1) if array.ndim == 4 else array
        return jnp.asarray(array, kind if array.dtype == np.float32 else None)

    model = NETS[case.model](case)
    load(model, case, weights, kind)
    kinds = {"dcgan": gan_training, "lstm": language_training}
    kind_of = predicting if case.kind == "predict" else kinds.get(case.model, training)
    return kind_of(case, model, [placed(a) for a in arrays[0]], None if arrays[1] is None else placed(arrays[1]))
