"""What a shape that was never seen costs: single operators, and loops of the kinds that notebooks hold.

    make bench-first

Each side is a process of its own, and runs every row on shapes that it has not met before: gluonx, gluonx with
``GLUONX_HOST=0`` (every shape is compiled), ``jax.numpy``, MXNet 2.0 and PyTorch (both from ``make bench-venvs``; left
out where they are not there). ``jax.numpy`` runs no loop and PyTorch those that its arrays can be written in. The sides
take turns; a row's time is the median over its shapes, then over the rounds, and the ratios are those of one round.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as onp

__all__ = ["LOOPS", "OPERATORS", "main"]

SHAPES = 12

Row = Callable[[Any, Any, Any], Any]


def _x(np: Any, n: int) -> Any:
    return np.array(onp.linspace(0.1, 1, n * (n + 1), dtype=onp.float32).reshape(n, n + 1))


OPERATORS: dict[str, Row] = {
    "add": lambda np, npx, x: x + x,
    "multiply by a number": lambda np, npx, x: x * 0.5,
    "divide": lambda np, npx, x: x / x,
    "power": lambda np, npx, x: x**2,
    "exp": lambda np, npx, x: np.exp(x),
    "log": lambda np, npx, x: np.log(x),
    "tanh": lambda np, npx, x: np.tanh(x),
    "relu": lambda np, npx, x: npx.relu(x),
    "sigmoid": lambda np, npx, x: npx.sigmoid(x),
    "maximum": lambda np, npx, x: np.maximum(x, 0.5),
    "compare": lambda np, npx, x: x > 0.5,
    "where": lambda np, npx, x: np.where(x > 0.5, x, -x),
    "clip": lambda np, npx, x: np.clip(x, 0.2, 0.8),
    "sum": lambda np, npx, x: x.sum(),
    "mean of an axis": lambda np, npx, x: x.mean(axis=1),
    "max": lambda np, npx, x: x.max(axis=0),
    "argmax": lambda np, npx, x: x.argmax(axis=1),
    "std": lambda np, npx, x: np.std(x, axis=0),
    "cumsum": lambda np, npx, x: np.cumsum(x, axis=1),
    "softmax": lambda np, npx, x: npx.softmax(x),
    "log_softmax": lambda np, npx, x: npx.log_softmax(x),
    "dot": lambda np, npx, x: np.dot(x, x.T),
    "reshape": lambda np, npx, x: x.reshape(-1),
    "transpose": lambda np, npx, x: x.T + 0,
    "concatenate": lambda np, npx, x: np.concatenate([x, x], axis=0),
    "stack": lambda np, npx, x: np.stack([x, x]),
    "slice": lambda np, npx, x: x[1:, :2],
    "rows by an array": lambda np, npx, x: x[np.array([0, 1], dtype="int32")],
    "write a row": lambda np, npx, x: _written(x),
    "one_hot": lambda np, npx, x: npx.one_hot(np.array([0, 1, 2]), x.shape[0]),
    "sort": lambda np, npx, x: np.sort(x, axis=1),
    "argsort": lambda np, npx, x: np.argsort(x, axis=1),
    "layer_norm": lambda np, npx, x: npx.layer_norm(x, np.ones(x.shape[1]), np.zeros(x.shape[1])),
    "zeros": lambda np, npx, x: np.zeros(x.shape),
    "uniform": lambda np, npx, x: np.random.uniform(size=x.shape),
    "normal": lambda np, npx, x: np.random.normal(size=x.shape),
}


def _written(x: Any) -> Any:
    x[1] = 0
    return x


def _prefixes(np: Any, npx: Any, seed: int) -> None:
    """Means of growing prefixes, as a chapter on statistics takes them."""
    xs = np.array(onp.random.default_rng(seed).normal(size=200 + seed).astype("f"))
    for i in range(1, 200):
        float(xs[:i].mean())


def _suppression(np: Any, npx: Any, seed: int) -> None:
    """Non-maximum suppression of 60 boxes, as it is written by hand."""
    rng = onp.random.default_rng(seed)
    corners = rng.uniform(0, 1, (60 + seed, 2))
    boxes = np.array(onp.concatenate([corners, corners + rng.uniform(0.1, 0.4, (60 + seed, 2))], 1).astype("f"))
    scores = np.array(rng.uniform(size=60 + seed).astype("f"))
    order, keep = scores.argsort()[::-1], []
    while order.size > 0:
        i = int(order[0])
        keep.append(i)
        if order.size == 1:
            break
        rest = boxes[order[1:]]
        upper, lower = np.maximum(boxes[i, :2], rest[:, :2]), np.minimum(boxes[i, 2:], rest[:, 2:])
        sides = np.clip(lower - upper, 0, None)
        inter = sides[:, 0] * sides[:, 1]
        areas = (rest[:, 2] - rest[:, 0]) * (rest[:, 3] - rest[:, 1])
        iou = inter / (areas + (boxes[i, 2] - boxes[i, 0]) * (boxes[i, 3] - boxes[i, 1]) - inter)
        left = np.array(onp.nonzero(iou.asnumpy() <= 0.5)[0], dtype="int32")
        order = order[left + 1]


def _beams(np: Any, npx: Any, seed: int) -> None:
    """Beam search over 30 steps, whose histories grow."""
    width, words = 4, 40 + seed
    weight = np.array(onp.random.default_rng(seed).normal(size=(words, words)).astype("f"))
    tokens, scores = np.zeros((width, 1), dtype="int32"), np.zeros((width, 1))
    for _ in range(30):
        logp = npx.log_softmax(weight[tokens[:, -1]]) + scores
        best = logp.reshape(-1).argsort()[::-1][:width].astype("int32")
        beams, word = (best / words).astype("int32"), best % words
        tokens = np.concatenate([tokens[beams], word.reshape(-1, 1)], axis=1)
        scores = logp.reshape(-1)[best].reshape(-1, 1)
    tokens.asnumpy()


def _decoding(np: Any, npx: Any, seed: int) -> None:
    """Attention of one head over a past of 1 to 100 tokens."""
    units = 16 + seed
    rng = onp.random.default_rng(seed)
    w = [np.array(rng.normal(size=(units, units)).astype("f")) for _ in range(4)]
    x, past = np.ones((1, units)), None
    for _ in range(100):
        past = x if past is None else np.concatenate([past, x], axis=0)
        q, k, v = np.dot(x, w[0]), np.dot(past, w[1]), np.dot(past, w[2])
        weights = npx.softmax(np.dot(q, k.T) / units**0.5, axis=-1)
        x = np.tanh(np.dot(np.dot(weights, v), w[3]))
    x.asnumpy()


def _statistics(np: Any, npx: Any, seed: int) -> None:
    """Look at samples of growing size: moments, a histogram by hand, a correlation."""
    for n in range(10, 40):
        x, y = np.random.normal(0, 1, size=(n + seed, 2)), np.random.uniform(0, 1, size=(n + seed, 2))
        mean, deviation = x.mean(axis=0), x.std(axis=0)
        z = (x - mean) / deviation
        float(((z * (y - y.mean(axis=0))).mean(axis=0) / y.std(axis=0)).sum())
        [int((x[:, 0] > edge).sum()) for edge in (-1, 0, 1)]


def _updates(np: Any, npx: Any, seed: int) -> None:
    """Update a weight by hand, 36 on each of 36 shapes, as tests of optimizers make them."""
    library = importlib.import_module(np.__name__.partition(".")[0]).optimizer
    update = library.get_updater(library.create("adam", learning_rate=0.1))
    for n in range(36):
        weight, grad = np.ones((2 + n, 3 + seed)), np.ones((2 + n, 3 + seed)) * 0.1
        for _ in range(36):
            update(n, grad, weight)
        weight.asnumpy()


LOOPS: dict[str, Row] = {
    "means of 200 prefixes": _prefixes,
    "suppression of 60 boxes": _suppression,
    "beam search, 30 steps": _beams,
    "decoding of 100 tokens": _decoding,
    "statistics, 30 sizes": _statistics,
    "1,296 updates, 36 shapes": _updates,
}


def _done(out: Any) -> None:
    """Wait until a result is there."""
    wait = getattr(out, "wait_to_read", None) or getattr(out, "block_until_ready", None)
    if wait is not None:
        wait()


def _times(np: Any, npx: Any, names: list[str], round_: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in names:
        if name in OPERATORS:
            taken = []
            for i in range(SHAPES):
                x = _x(np, 4 + i)
                _done(x)
                begin = time.perf_counter()
                _done(OPERATORS[name](np, npx, x))
                taken.append(time.perf_counter() - begin)
            found[name] = statistics.median(taken)
        else:
            begin = time.perf_counter()
            LOOPS[name](np, npx, round_)
            found[name] = time.perf_counter() - begin
    return found


def _in_jax() -> tuple[Any, Any]:
    """``jax.numpy`` under the names that the rows use."""
    import types

    import jax
    import jax.numpy as jnp

    key = [jax.random.key(0)]

    def drawn(draw: Any) -> Any:
        def run(*ends: float, size: Any) -> Any:
            key[0], use = jax.random.split(key[0])
            return draw(use, size)

        return run

    np = types.SimpleNamespace(**{n: getattr(jnp, n) for n in dir(jnp) if not n.startswith("_")})
    np.random = types.SimpleNamespace(uniform=drawn(jax.random.uniform), normal=drawn(jax.random.normal))
    npx = types.SimpleNamespace(
        relu=jax.nn.relu, sigmoid=jax.nn.sigmoid, softmax=jax.nn.softmax, log_softmax=jax.nn.log_softmax,
        one_hot=jax.nn.one_hot,
        layer_norm=lambda x, g, b: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b,
    )  # fmt: skip
    return np, npx


IN_TORCH = ["means of 200 prefixes", "decoding of 100 tokens", "statistics, 30 sizes"]
"""Loops without steps of -1, ``astype`` and an updater, which PyTorch's arrays lack."""


def _in_torch() -> tuple[Any, Any]:
    """PyTorch under the names that the rows use."""
    import types

    import torch  # type: ignore[import-not-found]

    torch.set_grad_enabled(False)
    torch.Tensor.asnumpy = torch.Tensor.numpy  # what the loops call at their end
    dtypes = {None: None, "int32": torch.int32}

    def array(value: Any, dtype: str | None = None) -> Any:
        return torch.as_tensor(value, dtype=dtypes[dtype])

    same = "exp log tanh where clip std cumsum concatenate stack sort argsort zeros ones".split()
    np = types.SimpleNamespace(**{n: getattr(torch, n) for n in same}, array=array, dot=torch.matmul)
    np.maximum = lambda x, number: torch.clamp(x, min=number)
    np.random = types.SimpleNamespace(
        uniform=lambda low=0, high=1, size=(): torch.empty(size).uniform_(low, high),
        normal=lambda mean=0, deviation=1, size=(): torch.empty(size).normal_(mean, deviation),
    )
    npx = types.SimpleNamespace(
        relu=torch.relu, sigmoid=torch.sigmoid,
        softmax=lambda x, axis=-1: torch.softmax(x, axis), log_softmax=lambda x: torch.log_softmax(x, -1),
        one_hot=lambda x, depth: torch.nn.functional.one_hot(x.long(), depth).float(),
        layer_norm=lambda x, g, b: torch.nn.functional.layer_norm(x, x.shape[-1:], g, b),
    )  # fmt: skip
    return np, npx


def _side(name: str, round_: int) -> dict[str, float]:
    if name == "mxnet":
        import mxnet as mx  # type: ignore[import-not-found]

        mx.npx.set_np()
        np, npx = mx.np, mx.npx
    elif name == "jnp":
        np, npx = _in_jax()
    elif name == "torch":
        np, npx = _in_torch()
    else:
        from gluonx import np, npx
    _done(np.ones((2, 2)) + 1)  # the device is there
    names = [*OPERATORS, *LOOPS]
    if name == "jnp":
        names = [n for n in OPERATORS if n != "write a row"]
    elif name == "torch":
        names = [*OPERATORS, *IN_TORCH]
    return _times(np, npx, names, round_)


def _run(side: str, round_: int, pythons: dict[str, Path]) -> dict[str, float]:
    python = pythons.get(side, Path(sys.executable))
    env = {**os.environ, "GLUONX_HOST": "0" if side == "gluonx, compiled" else "1"}
    out = subprocess.run(
        [python, __file__, "--side", side, "--round", str(round_)], env=env, capture_output=True, text=True, check=True
    )
    return json.loads(out.stdout.splitlines()[-1])


def _table(results: dict[str, list[dict[str, float]]]) -> Iterator[str]:
    sides = list(results)
    yield "| | gluonx, ms | " + " | ".join(f"over {s}" for s in sides[1:]) + " |"
    yield "| --- " * (len(sides) + 1) + "|"
    for row in [*OPERATORS, *LOOPS]:
        mine = [r[row] for r in results["gluonx"]]
        cells = [f"{1000 * statistics.median(mine):.3f}"]
        for side in sides[1:]:
            ratios = [m / r[row] for m, r in zip(mine, results[side], strict=True) if row in r]
            cells.append(f"{statistics.median(ratios):.3g}" if ratios else "")
        yield f"| {row} | " + " | ".join(cells) + " |"


def main() -> None:
    """Run the sides in turns and print the table."""
    parser = argparse.ArgumentParser(description="What a shape that was never seen costs.")
    parser.add_argument("--side", help="run one side and print its times as JSON")
    parser.add_argument("--round", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--mxnet", type=Path, default=Path(".venv-mxnet/bin/python"), help="a Python that has MXNet 2.0"
    )
    parser.add_argument("--torch", type=Path, default=Path(".venv-torch/bin/python"), help="a Python that has PyTorch")
    args = parser.parse_args()
    if args.side:
        print(json.dumps(_side(args.side, args.round)))
        return
    pythons = {name: path for name, path in (("mxnet", args.mxnet), ("torch", args.torch)) if path.exists()}
    sides = ["gluonx", "gluonx, compiled", "jnp", *pythons]
    results: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for round_ in range(args.rounds):
        for side in sides if round_ % 2 == 0 else sides[::-1]:
            results[side].append(_run(side, round_, pythons))
            print(f"round {round_ + 1}, {side}", file=sys.stderr)
    print("\n".join(_table(results)))


if __name__ == "__main__":
    main()
