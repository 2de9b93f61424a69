"""A vision transformer from a file with transformers' names, fine-tuned to another task by LoRA.

Run it by ``python -m examples.vit_lora`` (needs the extra ``examples``), or with ``--folder`` and a folder of the
Hugging Face Hub that holds such a net for images of 8 by 8 pixels. Without, a net is made first that tells even digits
from odd ones, and written as transformers would (``config.json``, ``model.safetensors``). Then only low-rank additions
to queries and values and a new last layer are trained to read the digit; what is saved of it is a small file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import gluonx as mx
from examples.digits import load_data
from gluonx import autograd, gluon, lora, np, weights
from gluonx.gluon import nn
from gluonx.model_zoo import transformers

__all__ = ["adapt", "evaluate", "main", "pretrain"]

CONFIG = {
    "model_type": "vit", "architectures": ["ViTForImageClassification"], "image_size": 8, "patch_size": 2,
    "num_channels": 1, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "layer_norm_eps": 1e-12, "num_labels": 2,
}  # fmt: skip


def train(net: Any, params: Any, data: Any, epochs: int, rate: float) -> None:
    """Train some parameters of a net."""
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(*data), 64, shuffle=True, last_batch="discard")
    steps = epochs * len(loader)
    trainer = gluon.Trainer(
        params, "adamw", {"learning_rate": rate}, schedule="one_cycle", total_steps=steps, clip_norm=1.0
    )
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss(label_smoothing=0.05)
    for _ in range(epochs):
        for x, y in loader:
            with autograd.record():
                loss = loss_fn(net(x), y)
            loss.backward()
            trainer.step(64)


def evaluate(net: Any, data: Any) -> float:
    """Return the share of images that are told right."""
    images, labels = data
    return float((net(np.array(images)).argmax(axis=1) == np.array(labels)).mean())


def pretrain(folder: str, data: Any, epochs: int) -> float:
    """Write a net that tells even from odd digits as transformers would; return its accuracy."""
    images, labels = data
    net = transformers.of_config(CONFIG)
    net.initialize(mx.init.Normal(0.05))
    net.hybridize()
    train(net, net.collect_params(), (images, labels % 2), epochs, 3e-3)
    weights.save(net, os.path.join(folder, "model.safetensors"), transformers.saved_names(net))
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(CONFIG, file)
    return evaluate(net, (images, labels % 2))


def adapt(folder: str, data: Any, epochs: int, rank: int = 8) -> Any:
    """Return a net from the folder that reads the digit, of which only the additions and the last layer are new."""
    net = weights.from_pretrained(folder)
    lora.inject(net, r"encoder\.layers\.\d+\.(self_attention\.(query|key|value|proj)|ffn\.ffn_[12])", rank=rank)
    net.output = nn.Dense(10, in_units=CONFIG["hidden_size"])
    net.output.initialize(mx.init.Normal(0.02))
    net.hybridize()
    trained = {**lora.parameters(net), **net.collect_params(r"output\..*")}
    train(net, trained, data, epochs, 1e-2)
    return net


def main(argv: Sequence[str] | None = None) -> int:
    """Train and report; the status is 1 where the accuracy on images held out is not above the bound."""
    parser = argparse.ArgumentParser(description="A ViT, fine-tuned by LoRA.")
    parser.add_argument("--folder", help="of the net to begin with")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--limit", type=int, help="images")
    parser.add_argument("--bound", type=float, default=0.9)
    options = parser.parse_args(argv)
    mx.random.seed(0)
    (images, labels), held = load_data()
    data = images[: options.limit], labels[: options.limit]
    with tempfile.TemporaryDirectory() as place:
        folder = options.folder or place
        if options.folder is None:
            print(f"even or odd: {pretrain(folder, data, options.epochs):.3f} of the images it was trained on")
        net = adapt(folder, data, options.epochs)
        lora.save(net, os.path.join(place, "lora.safetensors"))
        files = os.path.join(folder, "model.safetensors"), os.path.join(place, "lora.safetensors")
        sizes = [os.path.getsize(file) for file in files]
    before = evaluate(net, held)
    lora.merge(net)
    after = evaluate(net, held)
    print(f"the digit: {before:.3f} of the images held out, {after:.3f} merged (bound {options.bound:g})")
    print(f"bytes of the net {sizes[0]}, of the additions {sizes[1]}")
    return 0 if min(before, after) > options.bound else 1


if __name__ == "__main__":
    sys.exit(main())
