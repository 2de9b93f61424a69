"""A convnet on real handwritten digits: train it, export it, serve it without gluonx, and count what that took.

Run it by ``make demo`` or ``python -m examples.digits`` (needs the extra ``examples``: scikit-learn carries the
1,797 images of 8 by 8 pixels, so nothing is downloaded). The training part is Gluon as it has always been written; no
line of it knows of ``jit``.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import jax
import numpy as onp

import gluonx as mx
from benchmarks import harness
from examples import by_hand
from gluonx import autograd, gluon, init, npx
from gluonx.gluon import nn

__all__ = ["Digits", "evaluate", "load_data", "main", "train"]

BATCH = 64
RATE = 0.3
LEARNING_RATE = 2e-3


class Digits(nn.HybridBlock):
    """Two convolutions, two dense layers; no layer is told how many inputs it gets."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(32, kernel_size=3, padding=1, use_bias=False)
        self.norm1 = nn.BatchNorm()
        self.conv2 = nn.Conv2D(64, kernel_size=3, padding=1, use_bias=False)
        self.norm2 = nn.BatchNorm()
        self.pool = nn.MaxPool2D()
        self.dense = nn.Dense(128, activation="relu")
        self.dropout = nn.Dropout(RATE)
        self.output = nn.Dense(classes)

    def forward(self, x: Any) -> Any:
        """Images (batch, 1, 8, 8) to scores (batch, classes)."""
        x = self.pool(npx.relu(self.norm1(self.conv1(x))))
        x = self.pool(npx.relu(self.norm2(self.conv2(x))))
        return self.output(self.dropout(self.dense(x)))


def load_data(seed: int = 0) -> tuple[Any, Any]:
    """Return the digits as ((images, labels) to train on, (images, labels) held out: a fifth, chosen by `seed`)."""
    from sklearn.datasets import load_digits

    bunch: Any = load_digits()
    images = (bunch.images / 16).astype("float32")[:, None]
    order = onp.random.default_rng(seed).permutation(len(images))
    held, rest = onp.split(order, [len(images) // 5])
    return (images[rest], bunch.target[rest]), (images[held], bunch.target[held])


def progress(iterable: Any, **kwargs: Any) -> Any:
    """Return the iterable with a progress bar on a terminal."""
    from tqdm import tqdm

    return tqdm(iterable, leave=False, disable=not sys.stderr.isatty(), **kwargs)


def train(net: Any, data: Any, epochs: int, seed: int = 0) -> tuple[Any, int]:
    """Return the plain Gluon loop; returns the trainer and the number of steps."""
    mx.random.seed(seed)
    net.initialize(init.Xavier())
    net.hybridize()
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(*data), batch_size=BATCH, shuffle=True)
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": LEARNING_RATE})
    metric = gluon.metric.Accuracy()
    steps = 0
    bar = progress(range(epochs), unit="epoch")
    for epoch in bar:
        metric.reset()
        for images, labels in loader:
            with autograd.record():
                scores = net(images)
                loss = loss_fn(scores, labels)
            loss.backward()
            metric.update(labels, scores)
            trainer.step(images.shape[0])
            steps += 1
        bar.set_postfix(epoch=epoch + 1, training_accuracy=f"{metric.get()[1]:.3f}")
        if epoch + 1 == (2 * epochs) // 3:
            trainer.set_learning_rate(LEARNING_RATE / 10)
    return trainer, steps


def evaluate(net: Any, data: Any) -> tuple[float, Any]:
    """Accuracy on `data`, and the predicted classes."""
    metric = gluon.metric.Accuracy()
    predicted = []
    for images, labels in gluon.data.DataLoader(gluon.data.ArrayDataset(*data), batch_size=BATCH):
        scores = net(images)
        metric.update(labels, scores)
        predicted.append(scores.asnumpy().argmax(1))
    return metric.get()[1], onp.concatenate(predicted)


def serve_elsewhere(artifact: pathlib.Path, images: Any) -> Any:
    """Classify `images` in a fresh Python process that imports jax and numpy and not gluonx."""
    program = (
        "import runpy, sys; runpy.run_path(sys.argv[0], run_name='__main__'); "
        "assert 'gluonx' not in sys.modules, 'gluonx was imported'"
    )
    with tempfile.TemporaryDirectory() as scratch:
        request, answer = pathlib.Path(scratch) / "request.npy", pathlib.Path(scratch) / "answer.npz"
        onp.save(request, images)
        command = f"import sys; sys.argv = {[str(artifact / 'serve.py'), str(request), str(answer)]!r}; {program}"
        # -I: neither this folder nor the environment's PYTHONPATH is on the new process's path.
        subprocess.run([sys.executable, "-I", "-c", command], check=True)
        with onp.load(answer) as outputs:
            return outputs["output0"].argmax(1)


def forward_by_hand(params: Any, state: Any, key: Any, x: Any) -> Any:
    """`Digits.forward` in plain jax."""
    x, norm1 = by_hand.batch_norm(params["norm1"], state["norm1"], by_hand.conv(params["conv1"], x))
    x = by_hand.max_pool(jax.nn.relu(x))
    x, norm2 = by_hand.batch_norm(params["norm2"], state["norm2"], by_hand.conv(params["conv2"], x))
    x = by_hand.max_pool(jax.nn.relu(x))
    x = by_hand.dropout(key, jax.nn.relu(by_hand.dense(params["dense"], x)), RATE)
    return by_hand.dense(params["output"], x), {"norm1": norm1, "norm2": norm2}


def params_by_hand(net: Any) -> tuple[Any, Any]:
    """Return the net's parameters and moving averages as two dicts of fresh jax arrays."""
    params: dict[str, Any] = {}
    state: dict[str, Any] = {}
    for name, parameter in net.collect_params().items():
        layer, kind = name.split(".")
        moving = kind.startswith("running_")
        kind = kind.removeprefix("running_")
        (state if moving else params).setdefault(layer, {})[kind] = jax.numpy.array(parameter.data().asnumpy())
    return params, state


def compare(net: Any, trainer: Any, data: Any, repeats: int) -> tuple[Any, Any]:
    """Time a step of the Gluon loop and of the step written by hand, in turns as the benchmarks do."""
    import optax

    images, labels = (mx.np.array(part[:BATCH]) for part in data)
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()

    def gluon_steps(count: int) -> None:
        for _ in range(count):
            with autograd.record():
                loss = loss_fn(net(images), labels)
            loss.backward()
            trainer.step(BATCH)
        net.output.weight.data().wait_to_read()

    optimizer = optax.adam(LEARNING_RATE)
    params, state = params_by_hand(net)
    held = [params, state, optimizer.init(params)]
    step = by_hand.make_step(forward_by_hand, optimizer)
    x, y = jax.numpy.asarray(data[0][:BATCH]), jax.numpy.asarray(data[1][:BATCH].astype("float32"))

    def hand_steps(count: int) -> None:
        for index in range(count):
            *held[:], _loss = step(*held, index, x, y)
        jax.block_until_ready(held)

    by_hand_side, gluon_side = harness.Side("by hand", hand_steps), harness.Side("gluonx", gluon_steps)
    found = harness.compare(by_hand_side, [gluon_side], rounds=repeats)
    return found[1], found[0]


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.digits", description="Train, export and serve a convnet on handwritten digits."
    )
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=15, help="rounds of the timing against the step by hand")
    parser.add_argument("--output", type=pathlib.Path, help="keep the exported artifact in this directory")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Train, evaluate, export, serve, compare; returns the exit status."""
    args = parse(argv)
    mx.engine.tune()  # compiled programs are kept for the next run; see docs/startup.md
    training, held_out = load_data()
    net = Digits()
    before = mx.engine.stats()
    trainer, steps = train(net, training, args.epochs, args.seed)
    after = mx.engine.stats()
    accuracy, predicted = evaluate(net, held_out)
    with tempfile.TemporaryDirectory() as scratch:
        artifact = args.output or pathlib.Path(scratch) / "digits"
        net.export(artifact)
        served = serve_elsewhere(artifact, held_out[0])
    same = int((served == predicted).sum())
    gluon_step, hand_step = compare(net, trainer, training, args.repeats)
    rows = [
        ("accuracy on the held-out fifth", f"{accuracy:.2%} of {len(predicted)} images"),
        ("served by a process without gluonx", f"{same} of {len(predicted)} predictions the same"),
        ("training steps", f"{steps}"),
        ("programs compiled", f"{after['programs_compiled'] - before['programs_compiled']}"),
        ("dispatches a step", f"{(after['dispatches'] - before['dispatches']) / steps:.2f}"),
        ("time a step, this loop", f"{gluon_step.wall[1] * 1e3:.3f} ms"),
        ("time a step, jax.jit and optax by hand", f"{hand_step.wall[1] * 1e3:.3f} ms"),
        ("this loop over by hand, in turns", "{1:.2f} (quartiles {0:.2f} to {2:.2f})".format(*gluon_step.ratio)),
    ]
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows))
    return 0 if accuracy >= 0.98 and same == len(predicted) else 1


if __name__ == "__main__":
    sys.exit(main())
