"""The workloads in Gluon. The same text runs on gluonx and on MXNet 2.0: `mx` is the one or the other.

This is what a user writes, loop and all. Where MXNet has no layer for something (BERT's encoder), it gets its own in
the form that GluonNLP had, with query, key and value as one product.
"""

from __future__ import annotations

import importlib
import platform
from typing import Any

import numpy as onp

from benchmarks.zoo.cases import EPSILON, Case, fuse_attention

__all__ = ["Job", "make", "versions"]


def library(side: str) -> Any:
    """Return the package of a side."""
    mx = importlib.import_module("mxnet" if side == "mxnet" else "gluonx")
    mx.npx.set_np()
    return mx


def versions(side: str) -> dict[str, str]:
    """Return the versions of the libraries; the backend is ready afterwards."""
    mx = library(side)
    (mx.np.ones(2) + 1).asnumpy()
    return {mx.__name__: mx.__version__, "Python": platform.python_version(), "numpy": onp.__version__}


class Job:
    """A net and its step."""

    def __init__(self, mx: Any, case: Case, net: Any, step: Any) -> None:
        self.mx, self.case, self.net, self.step = mx, case, net, step
        if mx.__name__ == "gluonx":
            device = importlib.import_module("jax").devices()[0]
            if device.memory_stats():
                self.peak = lambda: int((device.memory_stats() or {})["peak_bytes_in_use"])

    def wait(self, loss: Any) -> None:
        """Wait for all steps. MXNet's engine updates each parameter on its own, so no single array tells."""
        self.mx.npx.waitall()

    def number(self, loss: Any) -> float:
        """Return the mean of a loss, or of the sizes of what was predicted."""
        return float(onp.abs(loss.astype("float32").asnumpy()).mean())

    def save(self, path: str) -> int:
        """Write the weights, as float32, for the other sides; returns the bytes of those that are trained."""
        params = self.net.collect_params(fused=False)
        onp.savez(path, **{name: p.data().astype("float32").asnumpy() for name, p in params.items()})
        trained = {id(p): p for p in params.values() if p.grad_req != "null"}
        return sum(p.data().size * p.data().dtype.itemsize for p in trained.values())


def load(mx: Any, case: Case, net: Any, weights: dict[str, Any]) -> None:
    """Set all parameters."""
    params = net.collect_params()
    if mx.__name__ == "mxnet":
        for packed in [name for name in params if name.endswith("rnn_param")]:
            start = packed[: -len("rnn_param")]
            parts = [k for k in weights if k.startswith(start)]
            parts.sort(key=lambda k: k.endswith("_bias"))  # cuDNN's layout: all weights, then all biases
            weights[packed] = onp.concatenate([weights[k].reshape(-1) for k in parts])
        weights = fuse_attention(weights)
    else:
        params = net.collect_params(fused=False)
    for name, parameter in params.items():
        parameter.set_data(mx.np.array(weights[name], dtype=parameter.dtype))


def lenet(mx: Any, case: Case) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Conv2D(20, kernel_size=5, activation="relu"), nn.MaxPool2D())
    net.add(nn.Conv2D(50, kernel_size=5, activation="relu"), nn.MaxPool2D())
    net.add(nn.Dense(500, activation="relu"), nn.Dense(case.classes))
    return net


def mlp(mx: Any, case: Case) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    for _ in range(case.size["layers"] - 1):
        net.add(nn.Dense(32, activation="relu"))
    net.add(nn.Dense(case.classes))
    return net


def zoo(name: str) -> Any:
    return lambda mx, case: mx.gluon.model_zoo.vision.get_model(name, classes=case.classes)


def unet(mx: Any, case: Case) -> Any:
    nn = mx.gluon.nn

    def pair(width: int) -> Any:
        block = nn.HybridSequential()
        for _ in range(2):
            block.add(nn.Conv2D(width, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
        return block

    class UNet(nn.HybridBlock):
        def __init__(self, widths: Any) -> None:
            super().__init__()
            self.down, self.up, self.join = (nn.HybridSequential() for _ in range(3))
            for width in widths:
                self.down.add(pair(width))
            for width in reversed(widths[:-1]):
                self.up.add(nn.Conv2DTranspose(width, 2, strides=2))
                self.join.add(pair(width))
            self.pool = nn.MaxPool2D()
            self.output = nn.Conv2D(case.classes, 1)

        def forward(self, x: Any) -> Any:
            seen = [self.down[0](x)]
            for i in range(1, len(self.down)):
                seen.append(self.down[i](self.pool(seen[-1])))
            x = seen.pop()
            for i in range(len(self.up)):
                x = self.join[i](mx.np.concatenate([seen.pop(), self.up[i](x)], axis=1))
            return self.output(x)

    return UNet(case.size["widths"])


def dcgan(mx: Any, case: Case) -> Any:
    nn, width = mx.gluon.nn, case.size["width"]
    both, maker, judge = nn.Block(), nn.HybridSequential(), nn.HybridSequential()
    maker.add(nn.Conv2DTranspose(width * 8, 4, 1, 0, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    for channels in (width * 4, width * 2, width):
        maker.add(nn.Conv2DTranspose(channels, 4, 2, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    maker.add(nn.Conv2DTranspose(3, 4, 2, 1, use_bias=False), nn.Activation("tanh"))
    judge.add(nn.Conv2D(width, 4, 2, 1, use_bias=False), nn.LeakyReLU(0.2))
    for channels in (width * 2, width * 4, width * 8):
        judge.add(nn.Conv2D(channels, 4, 2, 1, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.2))
    judge.add(nn.Conv2D(1, 4, 1, 0, use_bias=False))
    both.maker, both.judge = maker, judge
    return both


def lstm(mx: Any, case: Case) -> Any:
    nn, units = mx.gluon.nn, case.size["units"]

    class LanguageModel(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(case.classes, units, weight_initializer=mx.init.Uniform(0.1))
            self.rnn = mx.gluon.rnn.LSTM(units, case.size["layers"], input_size=units)
            self.output = nn.Dense(case.classes, flatten=False, in_units=units)
            self.output.weight = self.embedding.weight

        def forward(self, words: Any, states: Any) -> Any:
            x, states = self.rnn(self.embedding(words), states)
            return self.output(x), states

    return LanguageModel()


def encoder(mx: Any, case: Case) -> Any:
    """BERT's encoder: gluonx has one, MXNet gets one as GluonNLP wrote it."""
    nn, size = mx.gluon.nn, case.size
    units, heads = size["units"], size["heads"]
    if mx.__name__ == "gluonx":
        normal = mx.init.Normal(0.02)
        rest = {"activation": "gelu", "weight_initializer": normal}
        return nn.TransformerEncoder(size["layers"], units, size["hidden"], heads, 0.0, 0.0, **rest)

    class Attention(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Dense(3 * units, flatten=False, in_units=units)
            self.proj = nn.Dense(units, flatten=False, in_units=units)

        def forward(self, x: Any) -> Any:
            batch, length = case.shape
            parts = self.qkv(x).reshape((batch, length, 3 * heads, -1)).transpose((0, 2, 1, 3))
            q, k, v = (p.reshape((batch * heads, length, -1)) for p in mx.np.split(parts, 3, axis=1))
            scores = mx.npx.softmax(mx.npx.batch_dot(q * (units // heads) ** -0.5, k, transpose_b=True))
            out = mx.npx.batch_dot(scores, v).reshape((batch, heads, length, -1)).transpose((0, 2, 1, 3))
            return self.proj(out.reshape((batch, length, units)))

    class Dense2(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.ffn_1 = nn.Dense(size["hidden"], flatten=False, in_units=units)
            self.gelu = nn.GELU()
            self.ffn_2 = nn.Dense(units, flatten=False, in_units=size["hidden"])
            self.layer_norm = nn.LayerNorm(epsilon=1e-12, in_channels=units)

        def forward(self, x: Any) -> Any:
            return self.layer_norm(self.ffn_2(self.gelu(self.ffn_1(x))) + x)

    class Layer(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.self_attention, self.ffn = Attention(), Dense2()
            self.layer_norm = nn.LayerNorm(epsilon=1e-12, in_channels=units)

        def forward(self, x: Any) -> Any:
            return self.ffn(self.layer_norm(self.self_attention(x) + x))

    whole = nn.HybridSequential()
    whole.layers = nn.HybridSequential()
    whole.layers.add(*[Layer() for _ in range(size["layers"])])
    whole.forward = whole.layers.forward
    return whole


def bert(mx: Any, case: Case) -> Any:
    nn, units, normal = mx.gluon.nn, case.size["units"], mx.init.Normal(0.02)

    class BERT(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(case.classes, units, weight_initializer=normal)
            self.places = nn.Embedding(case.shape[1], units, weight_initializer=normal)
            self.norm = nn.LayerNorm(in_channels=units)
            self.encoder = encoder(mx, case)
            self.change = nn.Dense(units, flatten=False, in_units=units, weight_initializer=normal)
            self.activation = nn.GELU()
            self.change_norm = nn.LayerNorm(in_channels=units)
            self.output = nn.Dense(case.classes, flatten=False, in_units=units)
            self.output.weight = self.words.weight

        def forward(self, words: Any, asked: Any) -> Any:
            places = mx.np.arange(case.shape[1], dtype="int32")
            x = self.encoder(self.norm(self.words(words) + self.places(places)))
            x = mx.np.take(x.reshape((-1, units)), asked, axis=0)
            return self.output(self.change_norm(self.activation(self.change(x))))

    return BERT()


NETS = {
    "lenet": lenet,
    "mlp": mlp,
    "resnet18": zoo("resnet18_v1"),
    "resnet50": zoo("resnet50_v1"),
    "mobilenetv2": zoo("mobilenetv2_1.0"),
    "unet": unet,
    "dcgan": dcgan,
    "lstm": lstm,
    "bert": bert,
}


def trainer_of(mx: Any, case: Case, net: Any) -> Any:
    more = {"momentum": 0.9} if case.optimizer == "sgd" else {"epsilon": EPSILON}
    options = dict(more, learning_rate=case.rate)
    return mx.gluon.Trainer(net.collect_params(), case.optimizer, options)


def training(mx: Any, case: Case, net: Any, inputs: Any, labels: Any) -> Any:
    """Return the loop of every book."""
    losses, autograd = mx.gluon.loss, mx.autograd
    loss_fn = losses.SigmoidBCELoss() if case.model == "unet" else losses.SoftmaxCrossEntropyLoss()
    trainer, batch = trainer_of(mx, case, net), len(labels)

    def step() -> Any:
        with autograd.record():
            loss = loss_fn(net(*inputs), labels)
        loss.backward()
        trainer.step(batch)
        return loss

    return step


def predicting(mx: Any, case: Case, net: Any, inputs: Any, labels: Any) -> Any:
    return lambda: net(*inputs)


def gan_training(mx: Any, case: Case, both: Any, inputs: Any, labels: Any) -> Any:
    """Return a step of the judge, then a step of the maker against it."""
    maker, judge, (real, noise), autograd = both.maker, both.judge, inputs, mx.autograd
    loss_fn = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
    maker_trainer, judge_trainer = (trainer_of(mx, case, net) for net in (maker, judge))
    batch = len(real)
    ones, zeros = (make((batch,), dtype=real.dtype) for make in (mx.np.ones, mx.np.zeros))

    def step() -> Any:
        with autograd.record():
            fake = maker(noise)
            right = loss_fn(judge(real).reshape((-1,)), ones)
            judged = right + loss_fn(judge(fake.detach()).reshape((-1,)), zeros)
        judged.backward()
        judge_trainer.step(batch)
        with autograd.record():
            made = loss_fn(judge(fake).reshape((-1,)), ones)
        made.backward()
        maker_trainer.step(batch)
        return judged + made

    return step


def language_training(mx: Any, case: Case, net: Any, inputs: Any, labels: Any) -> Any:
    """Train by truncated back-propagation: the states go on, the gradient does not; gradients are clipped."""
    (words,), loss_fn = inputs, mx.gluon.loss.SoftmaxCrossEntropyLoss()
    trainer, autograd = trainer_of(mx, case, net), mx.autograd
    params = list({id(p): p for p in net.collect_params().values()}.values())
    states = net.rnn.begin_state(case.shape[1])

    def step() -> Any:
        nonlocal states
        states = [state.detach() for state in states]
        with autograd.record():
            scores, states = net(words, states)
            loss = loss_fn(scores, labels).mean()
        loss.backward()
        mx.gluon.utils.clip_global_norm([p.grad() for p in params], case.size["clip"], check_isfinite=False)
        trainer.step(1)
        return loss

    return step


def make(side: str, case: Case, arrays: Any, weights: Any, dtype: str) -> Job:
    """Build the net with these weights, and its loop."""
    mx = library(side)
    mx.random.seed(1)
    net = NETS[case.model](mx, case)
    # MXNet cannot apply Xavier to the packed weights of its recurrent layers; its weights are replaced anyway.
    xavier = mx.init.Xavier(magnitude=6 if case.model == "mlp" else 3)  # 48 layers with relu need the larger one
    net.initialize(mx.init.Uniform() if side == "mxnet" else xavier)
    nets = [net.maker, net.judge] if case.model == "dcgan" else [net]
    inputs, labels = [mx.np.array(a, dtype=str(a.dtype)) for a in arrays[0]], arrays[1]
    labels = labels if labels is None else mx.np.array(labels, dtype=str(labels.dtype))
    if dtype != "float32":
        net.cast(dtype)
        inputs = [x.astype(dtype) if x.dtype == onp.float32 else x for x in inputs]
    if side != "gluonx-eager":
        for each in nets:
            each.hybridize(static_alloc=True, static_shape=True)
    if case.model == "dcgan":
        net.judge(net.maker(inputs[1]))
    elif case.model == "lstm":
        net(inputs[0], net.rnn.begin_state(case.shape[1]))
    else:
        net(*inputs)
    if weights:
        load(mx, case, net, weights)
    kinds = {"dcgan": gan_training, "lstm": language_training}
    kind = predicting if case.kind == "predict" else kinds.get(case.model, training)
    return Job(mx, case, net, kind(mx, case, net, inputs, labels))
