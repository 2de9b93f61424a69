"""The workloads by hand: jax.lax and optax, a dict of arrays, one donated ``jax.jit`` around the whole step.

Convolutions are in their plain form, and so is the overlapping pooling of ResNet; the pooling of two by two is the fast
one of `examples.by_hand`.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from benchmarks.zoo.cases import EPSILON, TIED, Case, fuse_attention, layers_of
from examples.by_hand import batch_norm, conv, cross_entropy, max_pool

__all__ = ["Job", "cost", "make", "versions"]

NAMES = ("NCHW", "OIHW", "NCHW")


def versions(side: str) -> dict[str, str]:
    """Return the versions of the libraries, and the device; the backend is ready afterwards."""
    jax.block_until_ready(jnp.ones(2) + 1)
    found = {"jax": jax.__version__, "optax": optax.__version__, "Python": platform.python_version()}
    return found | {"device": jax.devices()[0].device_kind}


class Net:
    """The arrays of a net by layer, and the moving averages as they move."""

    def __init__(self, params: Any, state: Any, train: bool, dtype: Any) -> None:
        self.params, self.state, self.moved, self.train, self.dtype = params, state, {}, train, dtype

    def norm(self, name: str, x: Any) -> Any:
        """Batch normalization, its statistics in float32."""
        p, s, wide = self.params[name], self.state[name], x.astype(jnp.float32)
        if self.train:
            y, self.moved[name] = batch_norm(p, s, wide)
        else:
            scale = p["gamma"] * lax.rsqrt(s["var"] + 1e-5)
            y = (wide - s["mean"][:, None, None]) * scale[:, None, None] + p["beta"][:, None, None]
        return y.astype(x.dtype)

    def conv(self, name: str, x: Any, stride: int = 1, pad: int = 0, groups: int = 1) -> Any:
        p = self.params[name]
        if groups == 1:
            return conv(p, x, stride, pad)
        pads = [(pad, pad)] * 2
        return lax.conv_general_dilated(
            x, p["weight"], (stride, stride), pads, dimension_numbers=NAMES, feature_group_count=groups
        )

    def deconv(self, name: str, x: Any, stride: int, pad: int) -> Any:
        """Return a transposed convolution, with Gluon's (inputs, outputs, height, width) weight."""
        p = self.params[name]
        weight = p["weight"][..., ::-1, ::-1]
        pads = [(weight.shape[-1] - 1 - pad,) * 2] * 2
        names = ("NCHW", "IOHW", "NCHW")
        y = lax.conv_general_dilated(x, weight, (1, 1), pads, (stride, stride), dimension_numbers=names)
        return y + p["bias"][:, None, None] if "bias" in p else y

    def dense(self, name: str, x: Any) -> Any:
        """Over the last axis."""
        return x @ self.params[name]["weight"].T + self.params[name]["bias"]

    def layer_norm(self, name: str, x: Any, eps: float = 1e-5) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        normal = centred * lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + eps)
        return normal * self.params[name]["gamma"] + self.params[name]["beta"]


def flat(x: Any) -> Any:
    return x.reshape(x.shape[0], -1)


def mlp(net: Net, case: Case, x: Any) -> Any:
    last = case.size["layers"] - 1
    for index in range(last):
        x = jax.nn.relu(net.dense(str(index), x))
    return net.dense(str(last), x)


def lenet(net: Net, case: Case, x: Any) -> Any:
    for name in ("0", "2"):
        x = max_pool(jax.nn.relu(net.conv(name, x)))
    return net.dense("5", jax.nn.relu(net.dense("4", flat(x))))


def resnet(net: Net, case: Case, x: Any) -> Any:
    """Version 1. Blocks of three convolutions have the stride in the first."""
    x = jax.nn.relu(net.norm("features.1", net.conv("features.0", x, 2, 3)))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)])
    for stage, (wide, channels, count, first) in enumerate(layers_of(case.model), 4):
        for block in range(count):
            name, stride = f"features.{stage}.{block}", 1 if block else first
            strides_pads = [(stride, 0), (1, 1), (1, 0)] if wide == 4 else [(stride, 1), (1, 1)]
            y = x
            for i, (each, pad) in enumerate(strides_pads):
                y = jax.nn.relu(y) if i else y
                y = net.norm(f"{name}.body.{3 * i + 1}", net.conv(f"{name}.body.{3 * i}", y, each, pad))
            if x.shape[1] != channels or stride > 1:
                x = net.norm(f"{name}.downsample.1", net.conv(f"{name}.downsample.0", x, stride))
            x = jax.nn.relu(x + y)
    return net.dense("output", x.mean((2, 3)))


def relu6(x: Any) -> Any:
    return jnp.clip(x, 0, 6)


def mobilenet(net: Net, case: Case, x: Any) -> Any:
    x = relu6(net.norm("features.1", net.conv("features.0", x, 2, 1)))
    index = 3
    for expansion, channels, count, first in layers_of(case.model):
        for i in range(count):
            name, stride, wide = f"features.{index}.out", 1 if i else first, expansion * x.shape[1]
            y = relu6(net.norm(f"{name}.1", net.conv(f"{name}.0", x)))
            y = relu6(net.norm(f"{name}.4", net.conv(f"{name}.3", y, stride, 1, wide)))
            y = net.norm(f"{name}.7", net.conv(f"{name}.6", y))
            x = x + y if stride == 1 and x.shape[1] == channels else y
            index += 1
    x = relu6(net.norm(f"features.{index + 1}", net.conv(f"features.{index}", x)))
    return flat(net.conv("output.0", x.mean((2, 3), keepdims=True)))


def unet(net: Net, case: Case, x: Any) -> Any:
    def pair(name: str, x: Any) -> Any:
        for i in (0, 3):
            x = jax.nn.relu(net.norm(f"{name}.{i + 1}", net.conv(f"{name}.{i}", x, 1, 1)))
        return x

    levels = len(case.size["widths"])
    seen = [pair("down.0", x)]
    for i in range(1, levels):
        seen.append(pair(f"down.{i}", max_pool(seen[-1])))
    x = seen.pop()
    for i in range(levels - 1):
        x = pair(f"join.{i}", jnp.concatenate([seen.pop(), net.deconv(f"up.{i}", x, 2, 0)], 1))
    return net.conv("output", x)


def maker(net: Net, noise: Any) -> Any:
    """Return the generator of the DCGAN."""
    x = noise
    for i in range(4):
        stride, pad = (2, 1) if i else (1, 0)
        x = jax.nn.relu(net.norm(f"maker.{3 * i + 1}", net.deconv(f"maker.{3 * i}", x, stride, pad)))
    return jnp.tanh(net.deconv("maker.12", x, 2, 1))


def judge(net: Net, x: Any) -> Any:
    """Return the discriminator of the DCGAN."""
    x = jax.nn.leaky_relu(net.conv("judge.0", x, 2, 1), 0.2)
    for i in (2, 5, 8):
        x = jax.nn.leaky_relu(net.norm(f"judge.{i + 1}", net.conv(f"judge.{i}", x, 2, 1)), 0.2)
    return net.conv("judge.11", x).reshape(-1)


def lstm(net: Net, case: Case, words: Any, states: Any) -> Any:
    """As one writes it: one product for all inputs of a layer, a scan over time with all gates in one product."""
    p = net.params["rnn"]
    x, after = net.params["embedding"]["weight"][words], []
    for i in range(case.size["layers"]):
        gates = x @ p[f"l{i}_i2h_weight"].T + (p[f"l{i}_i2h_bias"] + p[f"l{i}_h2h_bias"])
        weight = p[f"l{i}_h2h_weight"].T

        def tick(state: Any, gate: Any, weight: Any = weight) -> Any:
            h, c = state
            i, f, g, o = jnp.split(gate + h @ weight, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        last, x = lax.scan(tick, states[i], gates)
        after.append(last)
    return x @ net.params["embedding"]["weight"].T + net.params["output"]["bias"], after


def bert(net: Net, case: Case, words: Any, asked: Any) -> Any:
    """Return the whole encoder, with query, key and value as one product."""
    table, heads, shape = net.params["words"]["weight"], case.size["heads"], case.shape
    x = net.layer_norm("norm", table[words] + net.params["places"]["weight"])
    for i in range(case.size["layers"]):
        name = f"encoder.layers.{i}"
        qkv = net.dense(f"{name}.self_attention.qkv", x).reshape(*shape, 3 * heads, -1)
        out = jax.nn.dot_product_attention(*jnp.split(qkv, 3, 2)).reshape(x.shape)
        x = net.layer_norm(f"{name}.layer_norm", x + net.dense(f"{name}.self_attention.proj", out), 1e-12)
        y = net.dense(f"{name}.ffn.ffn_2", jax.nn.gelu(net.dense(f"{name}.ffn.ffn_1", x), approximate=False))
        x = net.layer_norm(f"{name}.ffn.layer_norm", x + y, 1e-12)
    x = x.reshape(-1, x.shape[-1])[asked]
    x = net.layer_norm("change_norm", jax.nn.gelu(net.dense("change", x), approximate=False))
    return x @ table.T + net.params["output"]["bias"]


NETS: dict[str, Callable[..., Any]] = {
    "mlp": mlp, "lenet": lenet, "resnet18": resnet, "resnet50": resnet, "mobilenetv2": mobilenet, "unet": unet,
    "lstm": lstm, "bert": bert,
}  # fmt: skip


class Job:
    """A jitted step and what it carries: ``jitted(held, *fixed)`` is (held, loss)."""

    def __init__(self, update: Callable[..., Any], held: Any, fixed: Any) -> None:
        self.held, self.fixed = held, fixed
        self.jitted = jax.jit(update, donate_argnums=0)
        if jax.devices()[0].memory_stats():
            self.peak = lambda: int((jax.devices()[0].memory_stats() or {})["peak_bytes_in_use"])

    def step(self) -> Any:
        """One step."""
        self.held, loss = self.jitted(self.held, *self.fixed)
        return loss

    def wait(self, loss: Any) -> None:
        """Wait for the last step."""
        jax.block_until_ready((self.held, loss))

    def number(self, loss: Any) -> float:
        """Return the mean of a loss, or of the sizes of what was predicted."""
        return float(jnp.abs(loss.astype(jnp.float32)).mean())


def arrays_of(case: Case, weights: dict[str, Any], dtype: Any) -> tuple[Any, Any]:
    """(params, moving averages) by layer, as fresh buffers; normalizations over batches stay in float32."""
    params: dict[str, Any] = {}
    state: dict[str, Any] = {}
    moving = {name.rpartition(".")[0] for name in weights if name.endswith("running_mean")}
    for name, value in fuse_attention(weights).items():
        if name in TIED.get(case.model, {}):
            continue
        layer, _, kind = name.rpartition(".")
        place = state if kind.startswith("running_") else params
        exact = layer in moving
        place.setdefault(layer, {})[kind.removeprefix("running_")] = jnp.array(value, jnp.float32 if exact else dtype)
    return params, state


def optimizer_of(case: Case) -> Any:
    if case.optimizer == "sgd":
        return optax.sgd(case.rate, momentum=0.9)
    adam = optax.adam(case.rate, eps=EPSILON)
    return optax.chain(optax.clip_by_global_norm(case.size["clip"]), adam) if "clip" in case.size else adam


def training(case: Case, params: Any, state: Any, inputs: Any, labels: Any, dtype: Any) -> Job:
    """Forward, backward and update."""
    forward, optimizer = NETS[case.model], optimizer_of(case)

    def objective(params: Any, state: Any, inputs: Any, labels: Any) -> Any:
        net = Net(params, state, True, dtype)
        scores = forward(net, case, *inputs)
        if case.model == "unet":
            return optax.sigmoid_binary_cross_entropy(scores, labels).mean(), net.moved
        return cross_entropy(scores, labels), net.moved

    def update(held: Any, inputs: Any, labels: Any) -> Any:
        params, state, opt = held
        (loss, state), grads = jax.value_and_grad(objective, has_aux=True)(params, state, inputs, labels)
        updates, opt = optimizer.update(grads, opt, params)
        return (optax.apply_updates(params, updates), state, opt), loss

    return Job(update, (params, state, optimizer.init(params)), (inputs, labels))


def language_training(case: Case, params: Any, state: Any, inputs: Any, labels: Any, dtype: Any) -> Job:
    """Train by truncated back-propagation, gradients clipped."""
    optimizer = optimizer_of(case)

    def objective(params: Any, states: Any, words: Any, labels: Any) -> Any:
        scores, states = lstm(Net(params, {}, True, dtype), case, words, states)
        return cross_entropy(scores.reshape(-1, case.classes), labels.reshape(-1)), states

    def update(held: Any, words: Any, labels: Any) -> Any:
        params, opt, states = held
        (loss, states), grads = jax.value_and_grad(objective, has_aux=True)(params, states, words, labels)
        updates, opt = optimizer.update(grads, opt, params)
        return (optax.apply_updates(params, updates), opt, states), loss

    zeros = [[jnp.zeros((case.shape[1], case.size["units"]), dtype) for _ in "hc"] for _ in range(case.size["layers"])]
    states = [tuple(pair) for pair in zeros]
    return Job(update, (params, optimizer.init(params), states), (*inputs, labels))


def gan_training(case: Case, params: Any, state: Any, inputs: Any, labels: Any, dtype: Any) -> Job:
    """Return a step of the judge, then a step of the maker against it, as one program."""
    optimizer, parts = optimizer_of(case), ("judge", "maker")
    held = {part: {k: v for k, v in params.items() if k.startswith(part)} for part in parts}
    opts = {part: optimizer.init(held[part]) for part in parts}

    def loss_of(scores: Any, label: float) -> Any:
        return optax.sigmoid_binary_cross_entropy(scores, jnp.full_like(scores, label)).mean()

    def judging(params: Any, state: Any, *images_labels: Any) -> Any:
        losses = []
        for images, label in images_labels:
            net = Net(params, state, True, dtype)
            losses.append(loss_of(judge(net, images), label))
            state = state | net.moved
        return sum(losses), state

    def apply(part: str, held: Any, opts: Any, grads: Any) -> None:
        updates, opts[part] = optimizer.update(grads, opts[part], held[part])
        held[part] = optax.apply_updates(held[part], updates)

    def making(params: Any, state: Any, noise: Any) -> Any:
        net = Net(params, state, True, dtype)
        images = maker(net, noise)
        return images, state | net.moved

    def update(carried: Any, real: Any, noise: Any) -> Any:
        held, opts, state = dict(carried[0]), dict(carried[1]), carried[2]
        images, back, state = jax.vjp(lambda p: making(p, state, noise), held["maker"], has_aux=True)
        pairs = (real, 1.0), (images, 0.0)
        (judged, state), grads = jax.value_and_grad(judging, has_aux=True)(held["judge"], state, *pairs)
        apply("judge", held, opts, grads)
        fooling = jax.value_and_grad(lambda x: judging(held["judge"], state, (x, 1.0)), has_aux=True)
        (made, state), slope = fooling(images)
        apply("maker", held, opts, back(slope)[0])
        return (held, opts, state), judged + made

    return Job(update, (held, opts, state), tuple(inputs))


def predicting(case: Case, params: Any, state: Any, inputs: Any, labels: Any, dtype: Any) -> Job:
    """Return the forward alone."""
    forward = NETS[case.model]

    def predict(held: Any, params: Any, state: Any, *inputs: Any) -> Any:
        return held, forward(Net(params, state, False, dtype), case, *inputs)

    return Job(predict, None, (params, state, *inputs))


def make(side: str, case: Case, arrays: Any, weights: Any, dtype: str) -> Job:
    """Build the step, from these weights."""
    kind = jnp.dtype(dtype)
    inputs = [jnp.asarray(a, kind if a.dtype == np.float32 else None) for a in arrays[0]]
    labels = None if arrays[1] is None else jnp.asarray(arrays[1])
    kinds = {"dcgan": gan_training, "lstm": language_training}
    maker_of = predicting if case.kind == "predict" else kinds.get(case.model, training)
    return maker_of(case, *arrays_of(case, weights, kind), inputs, labels, kind)


def cost(job: Job) -> dict[str, float]:
    """Count the step's FLOPs before XLA optimizes, the bytes of its fused operators, and of arguments and results."""
    lowered = job.jitted.lower(job.held, *job.fixed)
    before: Any = lowered.cost_analysis() or {}
    compiled = lowered.compile()
    after: Any = compiled.cost_analysis() or {}
    after = after[0] if isinstance(after, list) else after
    memory: Any = compiled.memory_analysis()
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes if memory is not None else 0
    return {"flops": before.get("flops", 0.0), "bytes": after.get("bytes accessed", 0.0), "held": float(held)}
