"""A small residual net on CIFAR-10, with random crops, flips and colours in worker processes.

``python -m examples.cifar10 --root ~/.mxnet/datasets/cifar10`` trains on the real photographs, which are fetched if
they are not there. Without ``--root`` it makes files of the same binary format, of ten classes of coloured patterns.
The loading code is the same for both. No extra is needed: nothing is decoded.
"""

from __future__ import annotations

import argparse
import hashlib
import pathlib
import tempfile
import time
from typing import Any

import numpy as onp

import gluonx as mx
from gluonx import autograd, gluon, init, npx
from gluonx.gluon import nn
from gluonx.gluon.data.vision import CIFAR10, transforms

__all__ = ["MadeCIFAR10", "ResNet", "evaluate", "loaders", "main", "make_files", "train"]

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


class MadeCIFAR10(CIFAR10):
    """The data set in files that `make_files` made, whose hashes are others than those of the real ones."""

    def __init__(self, root: pathlib.Path, train: bool = True) -> None:
        made = {path.name: hashlib.sha1(path.read_bytes()).hexdigest() for path in sorted(root.glob("*.bin"))}
        self._train_files = tuple((name, sha1) for name, sha1 in made.items() if name.startswith("data"))
        self._test_files = tuple((name, sha1) for name, sha1 in made.items() if name.startswith("test"))
        super().__init__(root, train)


def make_files(folder: pathlib.Path, images: int = 500, seed: int = 0) -> None:
    """Write six files of `images` rows each: a label, and 32 x 32 pixels of red, of green and of blue.

    A class is a pattern (stripes across or upright, checks, rings, diamonds) and a colour; their width, their place,
    the light and the noise are random. A mirror image is of the same class.
    """
    rng = onp.random.default_rng(seed)
    across, upright = onp.mgrid[:32, :32][:, None]
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        labels = rng.integers(0, 10, images)
        place, width = rng.uniform(8, 24, (2, images, 1, 1)), rng.uniform(1.0, 1.5, (images, 1, 1))
        y, x = (across - place[0]) / width, (upright - place[1]) / width
        patterns = onp.stack(
            [onp.sin(x), onp.sin(y), onp.sin(x) * onp.sin(y), onp.sin(onp.hypot(x, y)), onp.sin(abs(x) + abs(y))]
        )
        colours = onp.where((labels < 5)[:, None], [90, 60, 30], [30, 60, 90]) * rng.uniform(0.6, 1, (images, 1))
        pixels = 128 + patterns[labels % 5, onp.arange(images)][:, None] * colours[:, :, None, None]
        pixels = onp.clip(pixels + rng.normal(0, 20, pixels.shape), 0, 255).astype("uint8")
        rows = onp.concatenate([labels[:, None].astype("uint8"), pixels.reshape(images, -1)], 1)
        (folder / f"{name}.bin").write_bytes(rows.tobytes())


class Residual(nn.HybridBlock):
    """Two convolutions and a way past them."""

    def __init__(self, channels: int, stride: int = 1) -> None:
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(
            nn.Conv2D(channels, 3, stride, 1, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, 3, 1, 1, use_bias=False),
            nn.BatchNorm(),
        )
        self.past = nn.Conv2D(channels, 1, stride, use_bias=False) if stride > 1 else nn.Identity()

    def forward(self, x: Any) -> Any:
        """Images (batch, channels, height, width) to images."""
        return npx.relu(self.body(x) + self.past(x))


class ResNet(nn.HybridSequential):
    """A net of three stages, as He and others (2015) have it for CIFAR.

    Parameters
    ----------
    width : int
        Channels of the first stage.
    blocks : int
        Residual blocks of a stage.
    """

    def __init__(self, width: int = 16, blocks: int = 3, classes: int = 10) -> None:
        super().__init__()
        self.add(nn.Conv2D(width, 3, 1, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
        for stage in range(3):
            for block in range(blocks):
                self.add(Residual(width << stage, 2 if stage and not block else 1))
        self.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(classes))


def loaders(training: Any, held_out: Any, batch: int, workers: int) -> tuple[Any, Any]:
    """Batches for training, of images that are changed at random each time, and for tests, of images as they are."""
    augment = transforms.Compose(
        [
            transforms.RandomCrop(32, pad=4),
            transforms.RandomFlipLeftRight(),
            transforms.RandomColorJitter(brightness=0.2, contrast=0.2, saturation=0.2),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )
    plain = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    return (
        gluon.data.DataLoader(
            training.transform_first(augment), batch, shuffle=True, last_batch="discard", num_workers=workers
        ),
        gluon.data.DataLoader(held_out.transform_first(plain), batch, num_workers=workers),
    )


def train(net: Any, batches: Any, epochs: int, rate: float = 0.1) -> None:
    """Train by SGD with momentum, the learning rate falling with a cosine; an epoch a line."""
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    schedule = mx.lr_scheduler.CosineScheduler(epochs * len(batches), base_lr=rate, final_lr=0)
    options = {"learning_rate": rate, "momentum": 0.9, "wd": 5e-4, "lr_scheduler": schedule}
    trainer = gluon.Trainer(net.collect_params(), "sgd", options)
    accuracy = gluon.metric.Accuracy()
    for epoch in range(epochs):
        start, count = time.perf_counter(), 0
        accuracy.reset()
        for images, labels in batches:
            with autograd.record():
                scores = net(images)
                loss = loss_fn(scores, labels)
            loss.backward()
            trainer.step(len(images))
            accuracy.update(labels, scores)
            count += len(images)
        told = f"training accuracy {accuracy.get()[1]:.3f}"
        print(f"epoch {epoch + 1}: {told}, {count / (time.perf_counter() - start):.0f} images/s")


def evaluate(net: Any, batches: Any) -> float:
    """Return the accuracy on all images."""
    accuracy = gluon.metric.Accuracy()
    for images, labels in batches:
        accuracy.update(labels, net(images))
    return accuracy.get()[1]


def main(argv: list[str] | None = None) -> float:
    """Train, test and return the accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--root", type=pathlib.Path, help="a folder of CIFAR-10; made-up images unless given")
    parser.add_argument("--images", type=int, default=500, help="made-up images in each of the six files")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args(argv)
    mx.random.seed(0)
    with tempfile.TemporaryDirectory() as folder:
        if args.root is None:
            make_files(pathlib.Path(folder), args.images)
            parts = [MadeCIFAR10(pathlib.Path(folder), train=part) for part in (True, False)]
        else:
            parts = [CIFAR10(args.root, train=part) for part in (True, False)]
        training, held_out = loaders(*parts, args.batch, args.workers)
        net = ResNet(args.width, args.blocks)
        net.initialize(init.Xavier())
        net.hybridize()
        train(net, training, args.epochs)
        result = evaluate(net, held_out)
        for one in (training, held_out):
            one.close()
    print(f"accuracy on held-out images: {result:.3f}")
    return result


if __name__ == "__main__":
    main()
