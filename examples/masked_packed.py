"""A masked language model on texts of many lengths, packed into rows of one length: nearly nothing is padding.

Run it by ``python -m examples.masked_packed``. The texts are the paragraphs of the reference manual that every Python
carries. Attention stays within paragraphs, positions begin anew in each, and the loss asks for the masked words alone
("BERT", https://arxiv.org/abs/1810.04805). A step is one program, whatever the lengths.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as onp

import gluonx as mx
from gluonx import autograd, gluon, np
from gluonx.gluon import nn
from gluonx.model_zoo.transformers import BERT

__all__ = ["evaluate", "main", "read_paragraphs", "train"]

MASK, RARE = 0, 1


def read_paragraphs(vocabulary: int, limit: int | None = None) -> tuple[list[list[int]], int]:
    """Return paragraphs as numbers of words, and how many words there are; 0 is the mask, 1 a rare word."""
    from pydoc_data.topics import topics

    paragraphs = dict.fromkeys(p.strip() for name in sorted(topics) for p in topics[name].split("\n\n"))
    texts = [found for p in list(paragraphs)[:limit] if (found := re.findall(r"\w+|[^\w\s]", p))]
    common = Counter(word for text in texts for word in text).most_common(vocabulary - 2)
    number = {word: i for i, (word, _) in enumerate(common, 2)}
    return [[number.get(word, RARE) for word in text] for text in texts], len(number) + 2


def batches(packed: Any, batch: int, rng: Any) -> Any:
    """Batches in a random order: what the net sees, segments, positions, words, and where they are asked for."""
    order = rng.permutation(len(packed.tokens))
    for start in range(0, len(order) - batch + 1, batch):
        tokens, segments, positions = (part[order[start : start + batch]] for part in packed)
        asked = (rng.random(tokens.shape) < 0.15) & (segments > 0) & (tokens != RARE)
        seen = onp.where(asked & (rng.random(tokens.shape) < 0.9), MASK, tokens)
        yield seen, segments, positions, tokens, asked.astype("float32")


def loss_of(net: Any, batch: Any) -> Any:
    """Return the mean loss of the words that are asked for, in nats."""
    seen, segments, positions, tokens, asked = batch
    scores = net(seen, None, None, nn.gen_packed_attn_mask(segments), positions)
    losses = gluon.loss.SoftmaxCrossEntropyLoss()(scores, tokens, np.expand_dims(asked, 2))
    return losses.mean() * (asked.size / np.maximum(asked.sum(), 1))  # the mean over places, made one over those asked


def train(net: Any, packed: Any, epochs: int, batch: int, rate: float) -> list[float]:
    """Return the losses of all steps."""
    rng, steps = onp.random.default_rng(0), epochs * (len(packed.tokens) // batch)
    net.initialize(mx.init.Normal(0.02))
    net.hybridize()
    trainer = gluon.Trainer(
        net.collect_params(),
        "adamw",
        {"learning_rate": rate, "wd": 0.01},
        schedule="linear",
        total_steps=steps,
        warmup_steps=steps // 10,
        clip_norm=1.0,
    )
    for param in net.collect_params(".*(bias|gamma|beta)").values():
        param.wd_mult = 0.0
    trail = []
    for _ in range(epochs):
        for made in gluon.data.Prefetched(batches(packed, batch, rng)):
            with autograd.record():
                loss = loss_of(net, made)
            loss.backward()
            trainer.step(1)
            trail.append(loss)
    return [float(loss) for loss in trail]


def evaluate(net: Any, packed: Any, batch: int) -> float:
    """Return the mean loss on other rows."""
    made = gluon.data.Prefetched(batches(packed, batch, onp.random.default_rng(1)))
    return float(onp.mean([float(loss_of(net, one)) for one in made]))


def main(argv: Sequence[str] | None = None) -> int:
    """Train and report; the status is 1 where the loss on rows held out is not below the bound."""
    parser = argparse.ArgumentParser(description="A masked language model on packed paragraphs.")
    for name, value in (("units", 96), ("layers", 3), ("heads", 4), ("epochs", 5), ("batch", 16), ("length", 128)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--limit", type=int, help="paragraphs")
    parser.add_argument("--bound", type=float, default=4.5)
    options = parser.parse_args(argv)
    mx.random.seed(0)
    texts, words = read_paragraphs(options.vocabulary, options.limit)
    cut = len(texts) * 9 // 10
    packed, held = (gluon.data.pack(part, options.length, split=True) for part in (texts[:cut], texts[cut:]))
    padded = sum(-(-len(text) // options.length) for text in texts[:cut])
    units = options.units
    net = BERT(words, options.layers, units, 4 * units, options.heads, options.length, 1, head="words", dropout=0.1)
    trail = train(net, packed, options.epochs, options.batch, options.rate)
    loss = evaluate(net, held, min(options.batch, len(held.tokens)))
    print(f"{padded} rows with a paragraph each, {len(packed.tokens)} packed, {(packed.segments > 0).mean():.1%} full")
    print(f"loss of the first step {trail[0]:.2f}, on rows held out {loss:.2f} (bound {options.bound:g})")
    return 0 if loss < options.bound else 1


if __name__ == "__main__":
    sys.exit(main())
