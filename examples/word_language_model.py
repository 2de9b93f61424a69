"""A language model of words: an LSTM with tied weights, trained on the reference manual that every Python carries.

Run it by ``python -m examples.word_language_model``. The text is ``pydoc_data.topics``, what ``help("for")``
shows: 100,000 words, so nothing is downloaded. A tenth of it is held out.

The loop is Gluon as it has always been written. The sequence is cut into pieces of ``BPTT`` steps; the LSTM's states go
on from piece to piece, detached, so the gradient does not (truncated back-propagation). Forward, backward, clipping,
update and the metric of a step are one program.

``--checkpoint DIR`` writes a folder after each epoch. A run that finds one goes on from there, and computes the very
numbers that an uninterrupted run computes: parameters, optimizer states and the seed of each epoch are all there is.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as onp

import gluonx as mx
from gluonx import autograd, files, gluon, init
from gluonx.gluon import nn, rnn

__all__ = ["Corpus", "LanguageModel", "Settings", "evaluate", "main", "read_corpus", "train"]

BOUND = 40.0
"""Bound on the perplexity on the held-out text."""


@dataclass(frozen=True)
class Settings:
    """Settings of the net, the cut of the text, and the training."""

    size: int = 200
    layers: int = 2
    dropout: float = 0.3
    batch: int = 20
    bptt: int = 35
    rate: float = 2e-3
    clip: float = 0.25
    epochs: int = 8
    seed: int = 0


@dataclass(frozen=True)
class Corpus:
    """A text as numbers of words: to train on, and held out."""

    words: list[str]
    training: Any
    held_out: Any


def read_corpus(vocabulary: int = 4000, limit: int | None = None) -> Corpus:
    """Return the reference manual of this Python; rare words, beyond the size of the vocabulary, are one word.

    Parameters
    ----------
    vocabulary : int
    limit : int, optional
        Take so many words of text only.
    """
    from pydoc_data.topics import topics

    # Some topics repeat paragraphs of others, which would be held out from nobody.
    paragraphs = dict.fromkeys(p.strip() for name in sorted(topics) for p in topics[name].split("\n\n"))
    text = re.findall(r"\w+|[^\w\s]", " ".join(paragraphs))[:limit]
    words = ["<rare>", *(word for word, _ in Counter(text).most_common(vocabulary - 1))]
    number = {word: i for i, word in enumerate(words)}
    numbers = onp.array([number.get(word, 0) for word in text], "int32")
    cut = len(numbers) * 9 // 10
    return Corpus(words, numbers[:cut], numbers[cut:])


def pieces(numbers: Any, batch: int, bptt: int) -> Iterator[tuple[Any, Any]]:
    """(words, next words) as arrays (bptt, batch): the text in `batch` columns, cut into pieces of equal length."""
    rows = (len(numbers) - 1) // batch
    columns = numbers[: rows * batch].reshape(batch, rows).T
    following = numbers[1 : rows * batch + 1].reshape(batch, rows).T
    for start in range(0, rows - bptt + 1, bptt):
        yield columns[start : start + bptt], following[start : start + bptt]


class LanguageModel(nn.HybridBlock):
    """Words to scores of the next word. The embedding's table is the output layer's weight (Press and Wolf 2016)."""

    def __init__(self, words: int, size: int, layers: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.embedding = nn.Embedding(words, size, weight_initializer=init.Uniform(0.1))
        self.rnn = rnn.LSTM(size, layers, dropout=dropout, input_size=size)
        self.output = nn.Dense(words, flatten=False, in_units=size)
        self.output.weight = self.embedding.weight

    def begin_state(self, batch: int) -> list[Any]:
        """Return the states before the first word."""
        return self.rnn.begin_state(batch)

    def forward(self, words: Any, states: Any) -> tuple[Any, Any]:
        """Words (time, batch) to scores (time, batch, words), and the states after them."""
        x, states = self.rnn(self.dropout(self.embedding(words)), states)
        return self.output(self.dropout(x)), states


def train_epoch(net: Any, trainer: Any, corpus: Corpus, settings: Settings) -> tuple[float, list[Any]]:
    """One walk over the text; returns its perplexity, and the losses of all steps."""
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    metric = gluon.metric.Perplexity(from_logits=True)
    params = dict.fromkeys(net.collect_params().values())  # a tied weight has two names, and is clipped once
    states, losses = net.begin_state(settings.batch), []
    for words, following in pieces(corpus.training, settings.batch, settings.bptt):
        states = [state.detach() for state in states]
        labels = mx.np.array(following, dtype="int32")
        with autograd.record():
            scores, states = net(mx.np.array(words, dtype="int32"), states)
            loss = loss_fn(scores, labels).mean()
        loss.backward()
        gluon.utils.clip_global_norm([p.grad() for p in params], settings.clip, check_isfinite=False)
        metric.update(labels, scores)
        trainer.step(1)
        losses.append(loss)
    return metric.get()[1], losses


def evaluate(net: Any, numbers: Any, settings: Settings) -> float:
    """Return the perplexity on a text."""
    metric = gluon.metric.Perplexity(from_logits=True)
    states = net.begin_state(settings.batch)
    for words, following in pieces(numbers, settings.batch, settings.bptt):
        scores, states = net(mx.np.array(words, dtype="int32"), states)
        metric.update(mx.np.array(following, dtype="int32"), scores)
    return metric.get()[1]


def save(folder: pathlib.Path, net: Any, trainer: Any, epoch: int) -> None:
    """Write what a run needs to go on after `epoch` epochs. The folder is whole or not there."""
    folder.mkdir(parents=True, exist_ok=True)
    with files.atomic_directory(folder / f"epoch-{epoch:04d}") as place:
        net.save_parameters(place / "net.params")
        trainer.save_states(place / "trainer.states")
        (place / "progress.json").write_text(json.dumps({"epochs": epoch}))


def load(folder: pathlib.Path, net: Any, trainer: Any) -> int:
    """Take up the newest checkpoint; returns how many epochs it has behind it, 0 if there is none."""
    found = sorted(folder.glob("epoch-????"))
    if not found:
        return 0
    net.load_parameters(found[-1] / "net.params")
    trainer.load_states(found[-1] / "trainer.states")
    return int(json.loads((found[-1] / "progress.json").read_text())["epochs"])


def make(corpus: Corpus, settings: Settings) -> tuple[Any, Any]:
    """Return a net with its first weights, and its trainer."""
    mx.random.seed(settings.seed)
    net = LanguageModel(len(corpus.words), settings.size, settings.layers, settings.dropout)
    net.initialize(init.Xavier())
    net.fuse()  # at once, not at first use, so that a run that goes on lists the same parameters from its first step
    net.hybridize()
    return net, gluon.Trainer(net.collect_params(), "adam", {"learning_rate": settings.rate})


def train(corpus: Corpus, settings: Settings, checkpoint: pathlib.Path | None = None) -> tuple[Any, list[float]]:
    """Train, going on from a checkpoint if there is one.

    Returns
    -------
    (net, list of float)
        The net, and the losses of all steps of the epochs that were run now.
    """
    net, trainer = make(corpus, settings)
    first = load(checkpoint, net, trainer) if checkpoint is not None else 0
    trail: list[float] = []
    for epoch in range(first, settings.epochs):
        mx.random.seed(settings.seed + 1 + epoch)
        trainer.set_learning_rate(settings.rate * min(1.0, 2 * (1 - epoch / settings.epochs)))
        perplexity, losses = train_epoch(net, trainer, corpus, settings)
        trail += [float(loss) for loss in losses]
        print(f"epoch {epoch + 1}: perplexity {perplexity:.1f}", flush=True)
        if checkpoint is not None:
            save(checkpoint, net, trainer, epoch + 1)
    return net, trail


def main(argv: Sequence[str] | None = None) -> int:
    """Train and report; the status is 1 where the perplexity on the held-out text is not below the bound."""
    parser = argparse.ArgumentParser(description="An LSTM language model on Python's own reference manual.")
    for name, kind, about in (
        ("size", int, "of the embedding and the LSTM"),
        ("layers", int, "of the LSTM"),
        ("dropout", float, "share dropped between layers"),
        ("epochs", int, "walks over the text"),
        ("seed", int, "of weights and dropout"),
    ):
        parser.add_argument(f"--{name}", type=kind, default=getattr(Settings, name), help=about)
    parser.add_argument("--checkpoint", type=pathlib.Path, help="folder to write to, and to go on from")
    args = vars(parser.parse_args(argv))
    checkpoint = args.pop("checkpoint")
    settings, corpus = Settings(**args), read_corpus()
    mx.engine.tune()  # compiled programs are kept for the next run; see docs/startup.md
    before = mx.engine.stats()
    net, trail = train(corpus, settings, checkpoint)
    after = mx.engine.stats()
    perplexity = evaluate(net, corpus.held_out, settings)
    steps = max(1, len(trail))
    rows = [
        ("words to train on, and held out", f"{len(corpus.training)}, {len(corpus.held_out)}"),
        ("training steps", f"{len(trail)}"),
        ("dispatches a step", f"{(after['dispatches'] - before['dispatches']) / steps:.2f}"),
        ("perplexity on the held-out text", f"{perplexity:.1f} (bound {BOUND:g})"),
    ]
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows))
    return 0 if perplexity < BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
