"""Models of today in Gluon, as the examples have them; rates are constant, and dropout is off."""

from __future__ import annotations

from typing import Any

import optax

import gluonx as mx
from benchmarks.zoo.cases import EPSILON, Case
from benchmarks.zoo.gluon import Job, load
from examples import diffusion, graph
from gluonx import autograd, ema, gluon, lora, np
from gluonx.gluon import nn
from gluonx.model_zoo import transformers

__all__ = ["WRITTEN", "make"]


def trainer_of(case: Case, params: Any) -> Any:
    """Return AdamW with clipped gradients."""
    options = {"learning_rate": case.rate, "wd": case.size["decay"], "epsilon": EPSILON}
    return gluon.Trainer(params, "adamw", options, clip_norm=1.0)


def gpt(case: Case) -> Any:
    """Return a decoder as Llama's."""
    size = case.size
    return nn.CausalDecoder(case.classes, size["layers"], size["units"], size["hidden"], size["heads"], size["shared"])


def gpt_step(case: Case, net: Any, inputs: Any, labels: Any) -> Any:
    """Return a step on the letters that follow."""
    trainer, loss_fn = trainer_of(case, net.collect_params()), gluon.loss.SoftmaxCrossEntropyLoss()

    def step() -> Any:
        with autograd.record():
            loss = loss_fn(net(*inputs), labels).mean()
        loss.backward()
        trainer.step(1)
        return loss

    return step


def vit_lora(case: Case) -> Any:
    """Return a ViT for two classes with additions of a low rank, and a new last layer."""
    size, (_, channels, width, _) = case.size, case.shape
    net = transformers.ViT(2, width, 2, channels, size["layers"], size["units"], size["hidden"], size["heads"])
    net.initialize(mx.init.Normal(0.05))
    lora.inject(net, r"encoder.*\.(query|key|value|proj|ffn_.)", rank=size["rank"], alpha=size["rank"])
    net.output = nn.Dense(case.classes, in_units=size["units"])
    net.output.initialize(mx.init.Normal(0.05))
    return net


def vit_lora_step(case: Case, net: Any, inputs: Any, labels: Any) -> Any:
    """Return a step that trains additions and the last layer."""
    trainer = trainer_of(case, {**lora.parameters(net), **net.collect_params(r"output\..*")})
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss(label_smoothing=0.05)

    def step() -> Any:
        with autograd.record():
            loss = loss_fn(net(*inputs), labels).mean()
        loss.backward()
        trainer.step(1)
        return loss

    return step


def unet(case: Case) -> Any:
    """Return the example's."""
    return diffusion.UNet(case.size["channels"])


def diffusion_step(case: Case, net: Any, inputs: Any, noise: Any) -> Any:
    """Return a step on the noise, with moving averages of the weights."""
    rule = ema.averaged(optax.adam(case.rate, eps=EPSILON), 0.995)
    trainer = gluon.Trainer(net.collect_params(), rule, clip_norm=1.0)

    def step() -> Any:
        with autograd.record():
            loss = ((net(*inputs) - noise) ** 2).mean()
        loss.backward()
        trainer.step(1)
        return loss

    return step


def bert(case: Case) -> Any:
    """Return a BERT with scores of all words."""
    size, units = case.size, case.size["units"]
    rest = {"head": "words", "dropout": 0.0}
    return transformers.BERT(
        case.classes, size["layers"], units, size["hidden"], size["heads"], case.shape[1], 1, **rest
    )


def masked_step(case: Case, net: Any, inputs: Any, words: Any) -> Any:
    """Return a step on the words that are masked, each paragraph for itself; norms and biases do not decay."""
    seen, segments, positions, asked = inputs
    trainer, loss_fn = trainer_of(case, net.collect_params()), gluon.loss.SoftmaxCrossEntropyLoss()
    for param in net.collect_params(".*(bias|gamma|beta)").values():
        param.wd_mult = 0.0

    def step() -> Any:
        with autograd.record():
            scores = net(seen, None, None, nn.gen_packed_attn_mask(segments), positions)
            losses = loss_fn(scores, words, np.expand_dims(asked, 2))
            loss = losses.mean() * (asked.size / asked.sum())
        loss.backward()
        trainer.step(1)
        return loss

    return step


def graph_net(case: Case) -> Any:
    """Return the example's, without dropout."""
    net = graph.GraphNet(case.shape[1], case.classes, case.size["units"], case.size["layers"])
    net.dropout = nn.Dropout(0.0)
    return net


def graph_step(case: Case, net: Any, inputs: Any, groups: Any) -> Any:
    """Return a step on the nodes whose group is told."""
    features, edges, told = inputs
    trainer, loss_fn = trainer_of(case, net.collect_params()), gluon.loss.SoftmaxCrossEntropyLoss()

    def step() -> Any:
        with autograd.record():
            loss = loss_fn(net(features, edges), groups, told.expand_dims(1)).sum() / told.sum()
        loss.backward()
        trainer.step(1)
        return loss

    return step


MADE = {
    "gpt": (gpt, gpt_step), "vit_lora": (vit_lora, vit_lora_step), "diffusion": (unet, diffusion_step),
    "masked_packed": (bert, masked_step), "graph": (graph_net, graph_step),
}  # fmt: skip
MORE: dict[str, Any] = {
    "diffusion": (diffusion.Stage, diffusion.UNet),
    "graph": (graph.GraphLayer, graph.GraphNet),
}
WRITTEN = {name: (*made, trainer_of, *MORE.get(name, ())) for name, made in MADE.items()}
"""What somebody writes for each; `diffusion` has no use for AdamW."""
WRITTEN["diffusion"] = (*MADE["diffusion"], *MORE["diffusion"])


def make(side: str, case: Case, arrays: Any, weights: Any, dtype: str) -> Job:
    """Build the net with these weights, and its loop."""
    mx.npx.set_np()
    mx.random.seed(1)
    net_of, step_of = MADE[case.name]
    net = net_of(case)
    if case.name != "vit_lora":  # which begins with weights
        net.initialize(mx.init.Normal(0.05))
    inputs = [np.array(array, dtype=str(array.dtype)) for array in arrays[0]]
    labels = np.array(arrays[1], dtype=str(arrays[1].dtype))
    if side != "gluonx-eager":
        net.hybridize()
    if case.name == "masked_packed":
        net(inputs[0], None, None, None, inputs[2])
    else:
        net(*inputs[:2] if case.name == "graph" else inputs)
    if weights:
        load(mx, case, net, weights)
    return Job(mx, case, net, step_of(case, net, inputs, labels))
