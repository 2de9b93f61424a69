"""A GPT, letter by letter, on the reference manual that every Python carries; it goes on with what one begins.

Run it by ``python -m examples.gpt``. Rotary positions, gated feed-forward nets and shared heads of keys are those of
current models; the rate rises and falls by its schedule's name, gradients are clipped, and a step is one program.
``--mesh data=2,model=2`` trains the same on four devices, split by three lines of rules (fake ones of a CPU:
``XLA_FLAGS=--xla_force_host_platform_device_count=4``).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as onp

import gluonx as mx
from examples.bert_pretrain import mesh_of
from gluonx import autograd, gluon, parallel
from gluonx.gluon import nn

__all__ = ["RULES", "Letters", "main", "make", "train"]

RULES = {
    r".*\.(query|key|value|gate|up)\.weight": ("model", None),
    r".*\.(proj|down)\.weight": (None, "model"),
    r"(embedding|head)\.weight": ("model", None),
}


class Letters:
    """A text as numbers of its letters."""

    def __init__(self, text: str) -> None:
        self.letters = sorted(set(text))
        number = {letter: i for i, letter in enumerate(self.letters)}
        self.numbers = onp.array([number[letter] for letter in text], "int32")
        self._number = number

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's letters."""
        return [self._number[letter] for letter in text]

    def decode(self, numbers: Sequence[int]) -> str:
        """Return the text of such numbers."""
        return "".join(self.letters[i] for i in numbers)


def read_text(limit: int | None = None) -> str:
    """Return the reference manual of this Python."""
    from pydoc_data.topics import topics

    text = "\n\n".join(topics[name] for name in sorted(topics))
    return text.encode("ascii", "ignore").decode()[:limit]


def make(letters: int, units: int, layers: int, heads: int) -> Any:
    """Return a net with its first weights; on a mesh, split by `RULES`."""
    net = nn.CausalDecoder(letters, layers, units, 3 * units, heads, max(1, heads // 2))
    net.initialize(mx.init.Normal(0.02))
    mesh = parallel.current_mesh()
    if mesh is not None:
        net.shard(RULES if "model" in mesh.axis_names else {})
    net.hybridize()
    return net


def train(net: Any, numbers: Any, steps: int, batch: int, length: int, rate: float, seed: int = 0) -> list[float]:
    """Train on random pieces of a text; return the loss of each step, in nats a letter."""
    trainer = gluon.Trainer(
        net.collect_params(),
        "adamw",
        {"learning_rate": rate, "wd": 0.1, "beta2": 0.95},
        schedule="cosine",
        total_steps=steps,
        warmup_steps=steps // 10,
        clip_norm=1.0,
    )
    loss_fn, rng, trail = gluon.loss.SoftmaxCrossEntropyLoss(), onp.random.default_rng(seed), []
    for _ in range(steps):
        starts = rng.integers(0, len(numbers) - length - 1, batch)
        rows = onp.stack([numbers[i : i + length + 1] for i in starts])
        seen, following = parallel.split((rows[:, :-1], rows[:, 1:]))
        with autograd.record():
            loss = loss_fn(net(seen), following).mean()
        loss.backward()
        trainer.step(1)
        trail.append(loss)
        if parallel.current_mesh() is not None:
            loss.wait_to_read()  # collectives of fake devices lock up when hundreds of steps are under way
    return [float(loss) for loss in trail]


def main(argv: Sequence[str] | None = None) -> int:
    """Train and write; the status is 1 where the last losses are not below the bound."""
    parser = argparse.ArgumentParser(description="A GPT on Python's own reference manual.")
    for name, value in (("units", 96), ("layers", 3), ("heads", 4), ("steps", 400), ("batch", 8), ("length", 128)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--bound", type=float, default=2.0, help="of the loss")
    parser.add_argument("--limit", type=int, help="letters of the text")
    parser.add_argument("--prompt", default="The expression ")
    parser.add_argument("--mesh", type=mesh_of, help="axes and sizes, as data=2,model=2")
    options = parser.parse_args(argv)
    mx.random.seed(0)
    text = Letters(read_text(options.limit))
    with parallel.use(None if options.mesh is None else parallel.mesh(**options.mesh)):
        net = make(len(text.letters), options.units, options.layers, options.heads)
        trail = train(net, text.numbers, options.steps, options.batch, options.length, options.rate)
    last = float(onp.mean(trail[-max(1, options.steps // 10) :]))
    print(f"loss of the first step {trail[0]:.2f}, of the last {last:.2f} nats a letter (bound {options.bound:g})")
    if options.mesh is None:
        more = max(1, options.length - len(options.prompt))  # it has seen no longer texts
        (made,) = mx.generate(net, text.encode(options.prompt), more, temperature=0.7, top_p=0.9)
        print(options.prompt + text.decode(made))
    return 0 if last < options.bound else 1


if __name__ == "__main__":
    sys.exit(main())
