"""Masked-word training of a BERT encoder, with LAMB, on the reference manual that every Python carries.

Run it by ``python -m examples.bert_pretrain``. The text is that of :mod:`examples.word_language_model`;
a tenth of it is held out (the manual repeats itself, so that tenth is easier than the rest). Of each piece of text 15
percent of the words are to be found again: most of them are replaced by a mask, some by another word, some stay
("BERT", https://arxiv.org/abs/1810.04805).

``--mesh data=2,model=2`` trains on a mesh of devices, each piece of text on those of its row and each layer's weights
split over those of its column: fake devices of a CPU (``XLA_FLAGS=--xla_force_host_platform_device_count=4``), or those
of processes, ``python -m gluonx.parallel.launch -n 2 --devices-per-process 2 -m examples.bert_pretrain ...``.
``--folder`` keeps checkpoints there, one for each epoch, and goes on from the last.

The blocks are Gluon's; query, key and value of each attention are fused into one matrix at their first use, and a step
(forward, backward, LAMB's layer-wise update) is one program. LAMB ("Large Batch Optimization for Deep Learning",
https://arxiv.org/abs/1904.00962) takes its norms of the unfused parameters.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as onp

import gluonx as mx
from examples.word_language_model import read_corpus
from gluonx import autograd, gluon, init, parallel
from gluonx.gluon import nn

__all__ = ["BASE", "BERT", "Settings", "evaluate", "main", "masked", "train"]

BOUND = 60.0
"""Bound on the perplexity of the masked words of the held-out text."""


@dataclass(frozen=True)
class Settings:
    """The net, the cut of the text, and the training."""

    units: int = 128
    hidden: int = 512
    layers: int = 2
    heads: int = 4
    length: int = 64
    dropout: float = 0.1
    batch: int = 32
    rate: float = 6e-3
    warmup: float = 0.1
    epochs: int = 8
    seed: int = 0


BASE = Settings(units=768, hidden=3072, layers=12, heads=12, length=128, batch=8)
"""The shape of BERT-base."""


class BERT(nn.HybridBlock):
    """Words to scores of the word that belongs in each place. The table of words is the output layer's weight too."""

    def __init__(self, words: int, settings: Settings) -> None:
        super().__init__()
        units, normal = settings.units, init.Normal(0.02)
        self.words = nn.Embedding(words, units, weight_initializer=normal)
        self.places = nn.Embedding(settings.length, units, weight_initializer=normal)
        self.norm = nn.LayerNorm(in_channels=units)
        self.dropout = nn.Dropout(settings.dropout)
        self.encoder = nn.TransformerEncoder(
            settings.layers,
            units,
            settings.hidden,
            settings.heads,
            settings.dropout,
            settings.dropout,
            activation="gelu",
            weight_initializer=normal,
        )
        self.change = nn.Dense(units, flatten=False, in_units=units, weight_initializer=normal)
        self.activation = nn.GELU()
        self.change_norm = nn.LayerNorm(in_channels=units)
        self.output = nn.Dense(words, flatten=False, in_units=units)
        self.output.weight = self.words.weight

    def forward(self, words: Any, valid_length: Any = None) -> Any:
        """Numbers of words (batch, length) to scores (batch, length, words)."""
        places = mx.np.arange(words.shape[1], dtype="int32")
        x = self.dropout(self.norm(self.words(words) + self.places(places)))
        x = self.encoder(x, valid_length)
        return self.output(self.change_norm(self.activation(self.change(x))))


def pieces(numbers: Any, settings: Settings, rng: onp.random.Generator | None = None) -> Iterator[Any]:
    """Batches of text, (batch, length); with `rng` in another order each time."""
    size = settings.batch * settings.length
    rows = numbers[: len(numbers) // size * size].reshape(-1, settings.length)
    order = onp.arange(len(rows)) if rng is None else rng.permutation(len(rows))
    for start in range(0, len(rows), settings.batch):
        yield rows[order[start : start + settings.batch]]


def masked(text: Any, words: int, rng: onp.random.Generator) -> tuple[Any, Any]:
    """Mask words of a text; return what the net sees, and the places that it is asked for.

    Parameters
    ----------
    text : numpy.ndarray of int
    words : int
        How many words there are; the number of the mask is this one.

    Returns
    -------
    (numpy.ndarray of int, numpy.ndarray of float32)
        15 percent of the places are 1 in the second. Of those, 80 percent are masked in the first, and 10 percent are
        other words.
    """
    asked = rng.random(text.shape) < 0.15
    how = rng.random(text.shape)
    seen = onp.where(asked & (how < 0.8), words, text)
    seen = onp.where(asked & (how >= 0.9), rng.integers(0, words, text.shape), seen)
    return seen.astype("int32"), asked.astype("float32")


def loss_of(net: Any, text: Any, words: int, rng: onp.random.Generator) -> Any:
    """Return the mean loss of the masked words of a batch."""
    seen, asked = masked(text, words, rng)
    seen, text, asked = parallel.split((seen, text.astype("int32"), asked))
    scores = net(seen)
    # A loss of Gluon is the mean over a sample's places; this is the mean over those that were asked for.
    losses = gluon.loss.SoftmaxCrossEntropyLoss()(scores, text, mx.np.expand_dims(asked, 2))
    return losses.mean() * (asked.size / mx.np.maximum(asked.sum(), 1))  # in a small batch there may be none


def make(words: int, settings: Settings, steps: int) -> tuple[Any, Any]:
    """Return a net with its first weights, and its trainer: LAMB, with a rate that rises and then falls."""
    mx.random.seed(settings.seed)
    net = BERT(words + 1, settings)
    net.initialize(init.Xavier())
    mesh = parallel.current_mesh()
    if mesh is not None:
        net.shard(*[parallel.tensor("model")] if "model" in mesh.axis_names else [])
    net.hybridize()
    schedule = mx.lr_scheduler.PolyScheduler(
        steps, settings.rate, pwr=1, warmup_steps=max(1, round(steps * settings.warmup))
    )
    return net, gluon.Trainer(
        net.collect_params(), "lamb", {"learning_rate": settings.rate, "lr_scheduler": schedule, "wd": 0.01}
    )


def train(numbers: Any, words: int, settings: Settings, folder: str | None = None) -> tuple[Any, list[float]]:
    """Train on a text; with a `folder`, go on from the last epoch that is kept there.

    Returns
    -------
    (net, list of float)
        The net, and the losses of all steps.
    """
    rng = onp.random.default_rng(settings.seed)
    per_epoch = len(numbers) // (settings.batch * settings.length)
    net, trainer = make(words, settings, per_epoch * settings.epochs)
    trail: list[Any] = []
    kept = None
    if folder is not None:
        from gluonx.checkpoint import Checkpoints

        kept = Checkpoints(folder, net, trainer)
    begin = 0 if kept is None else kept.restore() or 0
    for epoch in range(begin, settings.epochs):
        rng = onp.random.default_rng([settings.seed, epoch]) if kept is not None else rng  # an epoch alone repeats
        for text in pieces(numbers, settings, rng):
            with autograd.record():
                loss = loss_of(net, text, words, rng)
            loss.backward()
            trainer.step(1)
            trail.append(loss)
            if parallel.current_mesh() is not None:
                loss.wait_to_read()  # collectives of fake devices lock up when hundreds of steps are under way
        last = sum(float(loss) for loss in trail[-per_epoch:]) / per_epoch
        print(f"epoch {epoch + 1}: perplexity of masked words {math.exp(last):.1f}", flush=True)
        if kept is not None:
            kept.save(epoch + 1)
    if kept is not None:
        kept.close()
    return net, [float(loss) for loss in trail]


def evaluate(net: Any, numbers: Any, words: int, settings: Settings) -> float:
    """Return the perplexity of masked words on a text."""
    rng = onp.random.default_rng(1)
    losses = [loss_of(net, text, words, rng) for text in pieces(numbers, settings)]
    return math.exp(sum(float(loss) for loss in losses) / len(losses))


def mesh_of(text: str) -> dict[str, int]:
    """Return the axes that an argument names.

    >>> mesh_of("data=2,model=2")
    {'data': 2, 'model': 2}
    """
    pairs = [part.partition("=") for part in text.split(",")]
    return {name.strip(): int(size) for name, _, size in pairs}


def main(argv: Sequence[str] | None = None) -> int:
    """Train and report; the status is 1 where the perplexity on the held-out text is not below the bound."""
    parser = argparse.ArgumentParser(description="A BERT encoder on Python's own reference manual.")
    for name, about in (
        ("units", "of each layer"),
        ("layers", "of the encoder"),
        ("heads", "of each attention"),
        ("epochs", "walks over the text"),
        ("seed", "of weights, masks and dropout"),
    ):
        parser.add_argument(f"--{name}", type=int, default=getattr(Settings, name), help=about)
    parser.add_argument("--mesh", type=mesh_of, help="axes and sizes, as data=2,model=2")
    parser.add_argument("--folder", help="where checkpoints are kept")
    options = vars(parser.parse_args(argv))
    mesh, folder = options.pop("mesh"), options.pop("folder")
    settings, corpus = Settings(**options), read_corpus()
    words = len(corpus.words)
    mx.engine.tune()  # compiled programs are kept for the next run; see docs/startup.md
    before = mx.engine.stats()
    with parallel.use(None if mesh is None else parallel.mesh(**mesh)):
        net, trail = train(corpus.training, words, settings, folder)
        after = mx.engine.stats()
        perplexity = evaluate(net, corpus.held_out, words, settings)
    rows = [
        ("words to train on, and held out", f"{len(corpus.training)}, {len(corpus.held_out)}"),
        ("training steps", f"{len(trail)}"),
        ("programs compiled", f"{after['programs_compiled'] - before['programs_compiled']}"),
        ("dispatches a step", f"{(after['dispatches'] - before['dispatches']) / max(1, len(trail)):.2f}"),
        ("perplexity of masked words on the held-out text", f"{perplexity:.1f} (bound {BOUND:g})"),
    ]
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows))
    return 0 if perplexity < BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
