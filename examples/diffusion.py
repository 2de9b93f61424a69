"""A diffusion model on handwritten digits: a small U-Net learns to take noise away, and draws digits from noise.

Run it by ``python -m examples.diffusion`` (needs the extra ``examples``); ``--picture digits.png`` keeps the picture.
The loss is that of "Denoising Diffusion Probabilistic Models", https://arxiv.org/abs/2006.11239, with the class of the
digit beside the time. Samples are drawn with the moving averages of the weights, which the step's one program keeps.
"""

from __future__ import annotations

import argparse
import struct
import sys
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as onp
import optax

import gluonx as mx
from examples.digits import load_data
from gluonx import autograd, ema, gluon, np, npx
from gluonx.gluon import nn

__all__ = ["UNet", "main", "png", "sample", "train"]

TIMES = 100
SHARES = onp.cumprod(1 - onp.linspace(1e-3, 0.12, TIMES)).astype("float32")
"""What is left of the image at each time, as a share of the variance."""


class Stage(nn.HybridBlock):
    """Two convolutions with a residual connection, told the time and the class in between."""

    def __init__(self, channels: int, inputs: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, in_channels=inputs), nn.GroupNorm(4, in_channels=channels)
        self.conv1 = nn.Conv2D(channels, 3, padding=1, in_channels=inputs)
        self.conv2 = nn.Conv2D(channels, 3, padding=1, in_channels=channels)
        self.told = nn.Dense(channels)
        self.short = nn.Conv2D(channels, 1, in_channels=inputs)

    def forward(self, x: Any, told: Any) -> Any:
        """Map images to images of `channels`."""
        y = self.conv1(npx.silu(self.norm1(x))) + self.told(told)[:, :, None, None]
        return self.conv2(npx.silu(self.norm2(y))) + self.short(x)


class UNet(nn.HybridBlock):
    """Noisy images (batch, 1, 8, 8), times and classes to the noise in them."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.times, self.classes = nn.Embedding(TIMES, 4 * channels), nn.Embedding(10, 4 * channels)
        self.first = nn.Conv2D(channels, 3, padding=1, in_channels=1)
        self.down = Stage(channels, channels)
        self.halve = nn.Conv2D(2 * channels, 2, strides=2, in_channels=channels)
        self.middle = Stage(2 * channels, 2 * channels)
        self.double = nn.Upsample(2)
        self.up = Stage(channels, 3 * channels)
        self.last = nn.Conv2D(1, 3, padding=1, in_channels=channels)

    def forward(self, x: Any, time: Any, kind: Any) -> Any:
        """Return an array like the images."""
        told = npx.silu(self.times(time) + self.classes(kind))
        high = self.down(self.first(x), told)
        low = self.middle(self.halve(high), told)
        return self.last(self.up(np.concatenate([high, self.double(low)], axis=1), told))


def train(net: Any, data: Any, steps: int, batch: int = 64, rate: float = 2e-3) -> tuple[Any, list[float]]:
    """Return the trainer, whose rule keeps the averages, and the losses."""
    images, labels = data[0] * 2 - 1, data[1]
    net.initialize(mx.init.Xavier())
    net.hybridize()
    rule = optax.adam(optax.cosine_decay_schedule(rate, steps))
    trainer = gluon.Trainer(net.collect_params(), ema.averaged(rule, 0.995), clip_norm=1.0)
    rng, trail = onp.random.default_rng(0), []
    for _ in range(steps):
        rows, time = rng.integers(0, len(images), batch), rng.integers(0, TIMES, batch)
        share = np.array(SHARES[time].reshape(-1, 1, 1, 1))
        noise = np.random.normal(size=(batch, 1, 8, 8))
        noisy = np.sqrt(share) * np.array(images[rows]) + np.sqrt(1 - share) * noise
        with autograd.record():
            found = net(noisy, np.array(time, dtype="int32"), np.array(labels[rows], dtype="int32"))
            loss = ((found - noise) ** 2).mean()
        loss.backward()
        trainer.step(1)
        trail.append(loss)
    return trainer, [float(loss) for loss in trail]


def sample(net: Any, kinds: Sequence[int]) -> Any:
    """Return images of these digits, (count, 8, 8) from 0 to 1, drawn from noise."""
    x = np.random.normal(size=(len(kinds), 1, 8, 8))
    kind = np.array(kinds, dtype="int32")
    for t in reversed(range(TIMES)):
        share, before = float(SHARES[t]), float(SHARES[t - 1]) if t else 1.0
        noise = net(x, np.full((len(kinds),), t, dtype="int32"), kind)
        clean = np.clip((x - (1 - share) ** 0.5 * noise) / share**0.5, -1, 1)
        step = 1 - share / before
        x = (before**0.5 * step * clean + (share / before) ** 0.5 * (1 - before) * x) / (1 - share)
        if t:
            x = x + ((1 - before) / (1 - share) * step) ** 0.5 * np.random.normal(size=x.shape)
    return (x.asnumpy()[:, 0] + 1) / 2


def png(images: Any, columns: int, scale: int = 6) -> bytes:
    """Return a picture of grey images side by side, as a PNG file."""
    rows = [onp.concatenate(list(images[i : i + columns]), 1) for i in range(0, len(images), columns)]
    whole = onp.kron(onp.clip(onp.concatenate(rows) * 255, 0, 255), onp.ones((scale, scale))).astype("uint8")
    lines = b"".join(b"\0" + line.tobytes() for line in whole)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", *whole.shape[::-1], 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(lines))]
    parts.append((b"IEND", b""))
    chunks = [struct.pack(">I", len(p)) + kind + p + struct.pack(">I", zlib.crc32(kind + p)) for kind, p in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def main(argv: Sequence[str] | None = None) -> int:
    """Train and draw; the status is 1 where the last losses are not below the bound."""
    parser = argparse.ArgumentParser(description="Digits from noise.")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--bound", type=float, default=0.25, help="of the mean square of what is left of the noise")
    parser.add_argument("--picture", help="a file for it")
    options = parser.parse_args(argv)
    mx.random.seed(0)
    net = UNet(options.channels)
    trainer, trail = train(net, load_data()[0], options.steps)
    with ema.weights(trainer):
        images = sample(net, [*range(10)] * 2)
    last = float(onp.mean(trail[-max(1, options.steps // 10) :]))
    print(f"loss of the first step {trail[0]:.2f}, of the last {last:.3f} (bound {options.bound:g})")
    if options.picture:
        with open(options.picture, "wb") as file:
            file.write(png(images, 10))
    return 0 if last < options.bound else 1


if __name__ == "__main__":
    sys.exit(main())
