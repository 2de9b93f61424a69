"""What a process pays before training is under way: the first step, ten steps, a prediction, 40 steps of 40 lengths.

    make bench-cold                  print the table        make bench-cold ARGS=--write   keep it in RESULTS_COLD.md

Processor seconds, of gluonx and of MXNet 2.0 (from ``make bench-venvs``; left out where it is not there). Each side of
each row is a process of its own without a compilation cache, and they take turns. Nets are hybridized (``--plain``: no)
and train by SGD with momentum. ``import included`` is what the process has spent when the first step is done, ``later``
the median of ten steps after XLA's program took over.
Programs of other kinds (``benchmarks.programs``) run once, whole.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as onp

from benchmarks.harness import warm
from benchmarks.programs import PROGRAMS

__all__ = ["LENGTHS", "NETS", "main"]

PAGE = Path(__file__).parent / "RESULTS_COLD.md"

NETS = {
    "mobilenet_v2_0_5": (2, 3, 64, 64),
    "resnet18_v1": (2, 3, 64, 64),
    "resnet50_v1": (2, 3, 64, 64),
    "densenet121": (2, 3, 224, 224),
    "googlenet": (2, 3, 64, 64),
    "SSD": (2, 3, 64, 64),
    "U-Net": (2, 3, 64, 64),
    "LSTM, 2 layers": (20, 8, 64),
    "BERT, 12 layers": (2, 32),
    "transformer, 6 layers": (8, 32, 64),
    "perceptron": (32, 20),
}
"""Nets that see one shape, with the shape."""

_BY_SQUARES = ("transformer", "U-Net", "SSD", "LSTM")  # begin the names of nets whose loss is the mean of squares
_WORDS = 1000

LENGTHS = ["LSTM language model", "small CNN", "transformer layer"]
"""Nets that see a new length at each of 40 steps."""


def _encoder(mx: Any, layers: int, units: int, activation: str = "relu") -> Any:
    """Return encoder layers as they are written by hand in Gluon."""
    nn, np, npx = mx.gluon.nn, mx.np, mx.npx

    class Layer(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (
                nn.Dense(units, flatten=False, in_units=units) for _ in range(4)
            )
            self.first, self.second = nn.LayerNorm(in_channels=units), nn.LayerNorm(in_channels=units)
            self.up = nn.Dense(4 * units, flatten=False, in_units=units)
            self.activation = nn.GELU() if activation == "gelu" else nn.Activation(activation)
            self.down = nn.Dense(units, flatten=False, in_units=4 * units)
            self.dropout = nn.Dropout(0.1)

        def forward(self, x: Any) -> Any:
            scores = np.matmul(self.query(x), np.swapaxes(self.key(x), 1, 2)) / units**0.5
            mixed = self.out(np.matmul(npx.softmax(scores), self.value(x)))
            x = self.first(x + self.dropout(mixed))
            return self.second(x + self.dropout(self.down(self.activation(self.up(x)))))

    net = nn.HybridSequential()
    net.add(*[Layer() for _ in range(layers)])
    return net


def _bert(mx: Any, length: int, units: int = 128) -> Any:
    """Return a classifier of words: 12 encoder layers behind embeddings of words and places."""
    nn, np = mx.gluon.nn, mx.np

    class Classifier(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(_WORDS, units), nn.Embedding(length, units)
            self.norm, self.layers = nn.LayerNorm(in_channels=units), _encoder(mx, 12, units, "gelu")
            self.pooled, self.out = nn.Dense(units, activation="tanh", in_units=units), nn.Dense(10, in_units=units)

        def forward(self, words: Any) -> Any:
            x = self.layers(self.norm(self.words(words) + self.places(np.arange(length))))
            return self.out(self.pooled(x[:, 0]))

    return Classifier()


def _convolutions(mx: Any, channels: int) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    for _ in range(2):
        net.add(nn.Conv2D(channels, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    return net


def _unet(mx: Any) -> Any:
    """Return a net that halves the image three times, and doubles it again beside what it was."""
    nn, np = mx.gluon.nn, mx.np

    class UNet(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.down, self.up, self.wider = nn.HybridSequential(), nn.HybridSequential(), nn.HybridSequential()
            for channels in (16, 32, 64):
                self.down.add(_convolutions(mx, channels))
                self.up.add(_convolutions(mx, channels))
                self.wider.add(nn.Conv2DTranspose(channels, 2, strides=2))
            self.middle, self.pool, self.out = _convolutions(mx, 128), nn.MaxPool2D(), nn.Conv2D(2, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for i in range(3):
                kept.append(self.down[i](x))
                x = self.pool(kept[-1])
            x = self.middle(x)
            for i in (2, 1, 0):
                x = self.up[i](np.concatenate([kept[i], self.wider[i](x)], axis=1))
            return self.out(x)

    return UNet()


_INCEPTIONS = {  # of GoogLeNet: channels of 1x1, of 3x3 and before it, of 5x5 and before it, behind the pooling
    "3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64), "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64), "4c": (128, 128, 256, 24, 64, 64), "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128), "5a": (256, 160, 320, 32, 128, 128), "5b": (384, 192, 384, 48, 128, 128),
}  # fmt: skip


def _googlenet(mx: Any) -> Any:
    """Return GoogLeNet, which MXNet's own model zoo has not."""
    nn = mx.gluon.nn

    def chain(*layers: Any) -> Any:
        net = nn.HybridSequential()
        net.add(*layers)
        return net

    def conv(channels: int, kernel: int, stride: int = 1) -> Any:
        layer = nn.Conv2D(channels, kernel, stride, padding=kernel // 2, use_bias=False)
        return chain(layer, nn.BatchNorm(), nn.Activation("relu"))

    net = chain(conv(64, 7, 2), nn.MaxPool2D(3, 2, 1), conv(64, 1), conv(192, 3), nn.MaxPool2D(3, 2, 1))
    for name, (one, before3, three, before5, five, behind) in _INCEPTIONS.items():
        if name in ("4a", "5a"):
            net.add(nn.MaxPool2D(3, 2, 1))
        inception = nn.HybridConcatenate(axis=1)
        inception.add(conv(one, 1), chain(conv(before3, 1), conv(three, 3)), chain(conv(before5, 1), conv(five, 5)))
        inception.add(chain(nn.MaxPool2D(3, 1, 1), conv(behind, 1)))
        net.add(inception)
    net.add(nn.GlobalAvgPool2D(), nn.Dropout(0.4), nn.Dense(10))
    return net


def _ssd(mx: Any, anchors: int = 4, classes: int = 20) -> Any:
    """Return a detector: at four scales of the features, classes and boxes of the anchors at each place."""
    nn, np = mx.gluon.nn, mx.np

    class Detector(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.stages, self.classes, self.boxes = (nn.HybridSequential() for _ in range(3))
            for channels in (32, 64, 128, 128):
                stage = _convolutions(mx, channels)
                stage.add(nn.MaxPool2D())
                self.stages.add(stage)
                self.classes.add(nn.Conv2D(anchors * (classes + 1), 3, padding=1))
                self.boxes.add(nn.Conv2D(anchors * 4, 3, padding=1))

        def forward(self, x: Any) -> Any:
            found = []
            for i in range(4):
                x = self.stages[i](x)
                for head in (self.classes[i], self.boxes[i]):
                    found.append(np.transpose(head(x), (0, 2, 3, 1)).reshape(x.shape[0], -1))
            return np.concatenate(found, axis=1)

    return Detector()


def _cnn(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(8, 3, activation="relu", in_channels=1),
        nn.MaxPool2D(),
        nn.Conv2D(16, 3, activation="relu", in_channels=8),
        nn.GlobalAvgPool2D(),
        nn.Dense(10, in_units=16),
    )
    return net


def _language_model(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(
        nn.Embedding(200, 64),
        mx.gluon.rnn.LSTM(64, num_layers=2, input_size=64),
        nn.Dense(200, flatten=False, in_units=64),
    )
    return net


def _net(mx: Any, row: str) -> Any:
    nn = mx.gluon.nn
    if row == "perceptron":
        net = nn.HybridSequential()
        net.add(nn.Dense(64, activation="relu"), nn.Dense(64, activation="relu"), nn.Dense(10))
        return net
    if row.startswith("transformer, "):
        return _encoder(mx, 6, 64)
    if row.startswith("BERT"):
        return _bert(mx, NETS[row][1])
    if row.startswith("LSTM"):
        return mx.gluon.rnn.LSTM(64, num_layers=2, input_size=64)
    by_hand = {"U-Net": _unet, "SSD": _ssd, "googlenet": _googlenet}
    if row in by_hand:
        return by_hand[row](mx)
    names = {"mobilenet_v2_0_5": "mobilenetv2_0.5"}
    return mx.gluon.model_zoo.vision.get_model(names.get(row, row), classes=10)


def _lengths(mx: Any, row: str) -> Any:
    """Return a net, and what it is given at step `i` as data and labels."""
    numbers = onp.random.RandomState(0)
    if row == "small CNN":
        return _cnn(mx), lambda i: (numbers.rand(4, 1, 16 + i, 16 + i).astype("f"), numbers.randint(0, 10, 4))
    if row == "transformer layer":
        return _encoder(mx, 1, 32), lambda i: (numbers.rand(4, 4 + i, 32).astype("f"), None)

    def words(i: int) -> Any:
        x = numbers.randint(0, 200, (9 + i, 8))
        return x[:-1].astype("int32"), x[1:]

    return _language_model(mx), words


def _spent(run: Any, times: list[float]) -> None:
    begin = time.process_time()
    run()
    times.append(time.process_time() - begin)


def _side(name: str, row: str, hybridize: bool) -> dict[str, float]:
    mx = importlib.import_module(name)
    if name == "mxnet":
        mx.npx.set_np()
    np, gluon = mx.np, mx.gluon
    if row in PROGRAMS:
        run = PROGRAMS[row](mx)
        times: list[float] = []
        _spent(lambda: (run(), mx.npx.waitall()), times)
        return {"whole program": times[0]}
    if row in NETS:
        net, numbers = _net(mx, row), onp.random.RandomState(0)
        shape = NETS[row]
        labels = None if row.startswith(_BY_SQUARES) else numbers.randint(0, 10, shape[0])
        words = row.startswith("BERT")
        batch = (numbers.randint(0, _WORDS, shape).astype("i") if words else numbers.rand(*shape).astype("f"), labels)
        given = lambda i: batch  # noqa: E731
    else:
        net, given = _lengths(mx, row)
    net.initialize()
    if hybridize:
        net.hybridize()
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()

    def predict_one() -> Any:
        x = given(0)[0]
        return net(np.array(x, dtype=x.dtype))

    forward: list[float] = []
    steps: list[float] = []
    predict: list[float] = []
    ends: list[float] = []
    if row in NETS:
        _spent(lambda: predict_one().wait_to_read(), forward)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3, "momentum": 0.9})

    def step(i: int) -> None:
        x, y = given(i)
        with mx.autograd.record():
            out = net(np.array(x, dtype=x.dtype))
            loss = (out**2).mean() if y is None else entropy(out, np.array(y)).mean()
        loss.backward()
        trainer.step(1)
        loss.item()
        mx.npx.waitall()
        ends.append(time.process_time())

    for i in range(25 if row in NETS else 40):
        _spent(lambda i=i: step(i), steps)
        if row in NETS and i == 1:
            _spent(lambda: predict_one().wait_to_read(), predict)
    if row not in NETS:
        return {"40 lengths": sum(steps)}
    warm(lambda count: [step(i) for i in range(count)])
    later: list[float] = []
    for i in range(10):
        _spent(lambda i=i: step(i), later)
    return {
        "forward": forward[0],
        "first step": steps[0],
        "import included": ends[0],
        "ten steps": forward[0] + sum(steps[:10]),
        "predict": predict[0],
        "25 steps": forward[0] + sum(steps),
        "later": statistics.median(later),
    }


def _run(side: str, python: Path, row: str, hybridize: bool) -> dict[str, float]:
    gone = ("GLUONX_CACHE_DIR", "GLUONX_TUNE", "JAX_COMPILATION_CACHE_DIR")
    env = {name: value for name, value in os.environ.items() if name not in gone}
    env["PYTHONPATH"] = str(Path(__file__).parent.parent)
    command = [str(python), __file__, "--side", side, "--rows", row]
    out = subprocess.run(
        [*command, *["--plain"] * (not hybridize)], env=env, capture_output=True, text=True, check=True
    )
    return json.loads(out.stdout.splitlines()[-1])


def main() -> None:
    """Run the sides in turns and print the table."""
    parser = argparse.ArgumentParser(description="What a process pays before training is under way.")
    parser.add_argument("--side", choices=["gluonx", "mxnet"], help="run one side of one row and print it as JSON")
    parser.add_argument("--plain", action="store_true", help="do not hybridize")
    parser.add_argument("--rows", nargs="+", default=[*NETS, *LENGTHS, *PROGRAMS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--mxnet", type=Path, default=Path(".venv-mxnet/bin/python"), help="a Python that has MXNet 2.0"
    )
    parser.add_argument("--write", action="store_true", help=f"keep the table in {PAGE.name}")
    args = parser.parse_args()
    if args.side:
        print(json.dumps(_side(args.side, args.rows[0], not args.plain)))
        return
    sides = {"gluonx": Path(sys.executable), **({"mxnet": args.mxnet} if args.mxnet.exists() else {})}
    lines = ["| processor seconds | | " + " | ".join(sides) + " | ratio |", "| --- " * (3 + len(sides)) + "|"]
    print("\n".join(lines))
    for row in args.rows:
        found: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
        for _ in range(args.rounds):
            for side, python in sides.items():
                found[side].append(_run(side, python, row, not args.plain))
        for what in found["gluonx"][0]:
            medians = [statistics.median(times[what] for times in each) for each in found.values()]
            ratio = f"{medians[0] / medians[1]:.1f}" if len(medians) > 1 else ""
            lines.append(f"| {row} | {what} | " + " | ".join(f"{m:.3f}" for m in medians) + f" | {ratio} |")
            print(lines[-1], flush=True)
    if args.write:
        versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("jax", "numpy"))
        about = (
            f"Measured {time.strftime('%Y-%m-%d')} on {platform.machine()}, {os.cpu_count()} cores, Python "
            f"{platform.python_version()}, {versions}; medians of {args.rounds} rounds. "
            f"Load of the machine at the end: {os.getloadavg()[0]:.1f}."
        )
        head = ["<!-- written by `make bench-cold ARGS=--write` -->", "# The first steps of a process", "", about, ""]
        PAGE.write_text("\n".join([*head, *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
