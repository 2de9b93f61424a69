"""A variational autoencoder on real handwritten digits: two numbers for each image, and images from two numbers.

Run it by ``python -m examples.vae`` (needs the extra ``examples``: scikit-learn carries the 1,797 images of 8 by 8
pixels). Encoder and decoder give distributions; the loss is the negative evidence lower bound (Kingma, Welling 2014),
whose divergence term the encoder adds as a loss of its own.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as onp

import gluonx as mx
from examples.digits import load_data, progress
from gluonx import autograd, gluon, np
from gluonx.gluon import nn
from gluonx.gluon import probability as mgp

__all__ = ["VAE", "evaluate", "main", "train"]

BATCH = 64
LEARNING_RATE = 2e-3


class VAE(mgp.StochasticBlock):
    """Pixels to a normal distribution of codes, a code to Bernoulli distributions of pixels."""

    def __init__(self, pixels: int = 64, codes: int = 2, hidden: int = 128) -> None:
        super().__init__()
        self.codes = codes
        self.encoder = nn.HybridSequential()
        self.encoder.add(nn.Dense(hidden, activation="relu"), nn.Dense(2 * codes))
        self.decoder = nn.HybridSequential()
        self.decoder.add(nn.Dense(hidden, activation="relu"), nn.Dense(pixels))

    def decode(self, code: Any) -> Any:
        """Return the distribution of the pixels."""
        return mgp.Independent(mgp.Bernoulli(logit=self.decoder(code)), 1)

    @mgp.StochasticBlock.collectLoss
    def forward(self, x: Any) -> Any:
        """Images (batch, pixels) to the negative log-probability of each; adds the divergence from the prior."""
        loc, log_scale = np.split(self.encoder(x), 2, axis=-1)
        posterior = mgp.Normal(loc, np.exp(log_scale))
        self.add_loss(mgp.kl_divergence(posterior, mgp.Normal(0.0, 1.0)).sum(-1))
        return -self.decode(posterior.sample()).log_prob(x)


def train(net: Any, images: Any, epochs: int, seed: int = 0) -> list[float]:
    """Return the plain Gluon loop; returns the mean loss, in nats an image, of each epoch."""
    mx.random.seed(seed)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loader = gluon.data.DataLoader(images, batch_size=BATCH, shuffle=True, last_batch="discard")
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": LEARNING_RATE})
    trail = []
    for _ in progress(range(epochs), unit="epoch"):
        total = 0.0
        for batch in loader:
            with autograd.record():
                loss = net(batch) + net.losses[0]
            loss.backward()
            trainer.step(BATCH)
            total = total + loss.mean()
        trail.append(float(total) / len(loader))
    return trail


def evaluate(net: Any, images: Any) -> tuple[float, float]:
    """Return the loss on images that it has not seen, and how much of it is the divergence."""
    loss = net(np.array(images))
    divergence = net.losses[0]
    return float((loss + divergence).mean()), float(divergence.mean())


def picture(net: Any, code: Any) -> str:
    """Return the image that a code stands for, in characters."""
    grey = net.decode(np.array([code])).mean[0].reshape((8, 8)).asnumpy()
    return "\n".join("".join(" .:-=+*#%@"[min(9, int(10 * pixel))] * 2 for pixel in row) for row in grey)


def main(argv: list[str] | None = None) -> int:
    """Train, evaluate, draw; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m examples.vae", description="A VAE on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--codes", type=int, default=2)
    args = parser.parse_args(argv)
    (images, _), (held, _) = load_data()
    images, held = images.reshape((-1, 64)), held.reshape((-1, 64))
    net = VAE(codes=args.codes)
    trail = train(net, images, args.epochs)
    loss, divergence = evaluate(net, held)
    # How many nats an image costs that does not know it: each pixel by its own mean.
    alone = mgp.Bernoulli(np.array(onp.clip(images.mean(0), 1e-3, 1 - 1e-3))).log_prob(np.array(held))
    print(f"nats an image in the first and last epoch  {trail[0]:.2f}, {trail[-1]:.2f}")
    print(f"held-out images                            {loss:.2f}, of which the code {divergence:.2f}")
    print(f"without a code                             {-float(alone.sum(-1).mean()):.2f}")
    for code in ((-1.0, 0.0), (1.0, 0.0)):
        print(f"the image of {code}:\n{picture(net, (*code, *(0.0,) * (args.codes - 2)))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
