"""Time of the recurrent layers: gluonx's, the same in plain JAX, and the fused layers of MXNet 2.0.

``python -m benchmarks.rnn`` prints a table. MXNet runs in a process of its own (``--mxnet`` names its Python),
which waits for orders, so all sides are timed in turns in the same rounds. It is there twice: with the number of
threads that it chooses, and with one for each core that this process may use. Ratios are gluonx's time over the other.

The plain JAX is what one writes by hand with weights that are fused already: one product for all inputs, ``lax.scan``
over time with all gates in one product, autodiff.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import gluonx as mx
from benchmarks.harness import Result, Side, compare, offer_tuning, tune
from benchmarks.remote import ROOT, RemoteSide, Worker, cores
from gluonx import autograd, gluon
from gluonx.gluon import rnn

__all__ = ["CASES", "Case", "main", "measure"]

RATE = 1e-3


class Case(NamedTuple):
    """A layer and the batch it gets; inputs are as large as the state."""

    kind: str
    time: int
    batch: int
    size: int

    @property
    def title(self) -> str:
        """For the table."""
        return f"{self.kind}, T {self.time}, batch {self.batch}, hidden {self.size}"

    def data(self) -> Any:
        """Return the inputs."""
        shape = (self.time, self.batch, self.size)
        return np.random.RandomState(0).uniform(-1, 1, shape).astype("float32")


CASES = [Case(kind, *sizes) for kind in ("LSTM", "GRU") for sizes in ((35, 32, 256), (35, 32, 650), (100, 16, 64))]


class MXNet:
    """A process that runs MXNet; `threads` as MXNet chooses if None."""

    def __init__(self, python: pathlib.Path, threads: int | None) -> None:
        self.name = "MXNet" if threads is None else f"MXNet, {threads} threads"
        environment = {"PYTHONPATH": None, "OMP_NUM_THREADS": None if threads is None else str(threads)}
        self.worker = Worker(self.name, [str(python), "-m", "benchmarks.rnn_mxnet"], environment=environment)

    def side(self, case: Case, training: bool) -> Side:
        """Return the layer there."""
        sizes = [case.time, case.batch, case.size]
        self.worker.order(do="make", kind=case.kind, sizes=sizes, training=training, rate=RATE)
        return RemoteSide(self.name, lambda count: self.worker.order(do="run", count=count))


def gluon_side(case: Case, training: bool) -> Side:
    """Return the layer in the loop that a Gluon user writes."""
    layer = getattr(rnn, case.kind)(case.size, input_size=case.size)
    layer.initialize()
    layer.hybridize()
    x = mx.np.array(case.data())
    layer(x).wait_to_read()
    if not training:

        def forward(count: int) -> None:
            y = x
            for _ in range(count):
                y = layer(x)
            y.wait_to_read()

        return Side("gluonx", forward)
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": RATE})

    def step(count: int) -> None:
        for _ in range(count):
            with autograd.record():
                loss = (layer(x) ** 2).mean()
            loss.backward()
            trainer.step(1)
        layer.rnn_param.data().wait_to_read()

    return Side("gluonx", step)


def lstm_by_hand(p: dict[str, Any], x: Any) -> Any:
    """Return an LSTM as one writes it in JAX."""
    gates, weight = x @ p["wx"] + p["b"], p["wh"]

    def step(state: Any, xt: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(xt + h @ weight, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((x.shape[1], weight.shape[0]))
    return jax.lax.scan(step, (zeros, zeros), gates)[1]


def gru_by_hand(p: dict[str, Any], x: Any) -> Any:
    """Return a GRU as one writes it in JAX."""
    gates, weight, bias = x @ p["wx"] + p["b"], p["wh"], p["bh"]

    def step(h: Any, xt: Any) -> Any:
        xr, xz, xn = jnp.split(xt, 3, -1)
        hr, hz, hn = jnp.split(h @ weight + bias, 3, -1)
        r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
        n = jnp.tanh(xn + r * hn)
        h = (1 - z) * n + z * h
        return h, h

    return jax.lax.scan(step, jnp.zeros((x.shape[1], weight.shape[0])), gates)[1]


def hand_side(case: Case, training: bool) -> Side:
    """Return the layer and the step in plain JAX."""
    gates, net = (4, lstm_by_hand) if case.kind == "LSTM" else (3, gru_by_hand)
    rng = np.random.RandomState(1)
    shapes = {"wx": (case.size, gates * case.size), "wh": (case.size, gates * case.size), "b": (gates * case.size,)}
    if case.kind == "GRU":
        shapes["bh"] = shapes["b"]
    held = [{name: jnp.asarray(rng.uniform(-0.07, 0.07, s).astype("float32")) for name, s in shapes.items()}]
    x = jnp.asarray(case.data())
    if not training:
        compiled = jax.jit(net)

        def forward(count: int) -> None:
            y = x
            for _ in range(count):
                y = compiled(held[0], x)
            jax.block_until_ready(y)

        return Side("plain JAX", forward)

    def update(p: Any, x: Any) -> Any:
        loss, grads = jax.value_and_grad(lambda p: (net(p, x) ** 2).mean())(p)
        return jax.tree.map(lambda a, g: a - RATE * g, p, grads), loss, grads

    compiled_step = jax.jit(update, donate_argnums=0)

    def step(count: int) -> None:
        for _ in range(count):
            held[0], _loss, _grads = compiled_step(held[0], x)
        jax.block_until_ready(held[0])

    return Side("plain JAX", step)


def measure(case: Case, training: bool, servers: list[MXNet], rounds: int, block: float) -> list[Result]:
    """Gluonx's time over each other side's: the first result is gluonx itself."""
    sides = [hand_side(case, training), *(server.side(case, training) for server in servers)]
    return compare(gluon_side(case, training), sides, rounds, block)


def line(case: Case, training: bool, results: list[Result]) -> str:
    """One row of the table; the harness divides by the first side, so its ratios are turned over."""
    own, *others = results
    cells = [f"{case.title}, {'training step' if training else 'forward'}", f"{own.wall[1] * 1e3:.2f} ms"]
    for other in others:
        low, middle, high = (1 / r for r in reversed(other.ratio))
        cells.append(f"{middle:.2f} ({low:.2f} to {high:.2f}; cpu {1 / other.cpu_ratio[1]:.2f})")
    return "| " + " | ".join(cells) + " |"


def main(argv: list[str] | None = None) -> int:
    """Measure all cases and print the table; the status is 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rnn", description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--block", type=float, default=0.3, help="seconds of one block of calls")
    parser.add_argument("--mxnet", type=pathlib.Path, default=ROOT / ".venv-mxnet/bin/python", help="its interpreter")
    parser.add_argument("--only", choices=["LSTM", "GRU"])
    offer_tuning(parser)
    args = parser.parse_args(argv)
    print(tune(args), flush=True)
    servers = [MXNet(args.mxnet, n) for n in (None, cores())] if args.mxnet.exists() else []
    start, missed = time.perf_counter(), 0
    print("| layer | gluonx | over " + " | over ".join(["plain JAX", *(s.name for s in servers)]) + " |")
    print("| --- " * (3 + len(servers)) + "|")
    try:
        for case in CASES:
            for training in (False, True):
                if args.only in (None, case.kind):
                    results = measure(case, training, servers, args.rounds, args.block)
                    bounds = [1.05, *[1.0] * len(servers)]
                    missed += any(1 / r.ratio[1] > bound for r, bound in zip(results[1:], bounds, strict=True))
                    print(line(case, training, results), flush=True)
    finally:
        for server in servers:
            server.worker.close()
    spent = time.perf_counter() - start
    print(f"\n{cores()} cores, jax {jax.__version__}, load {os.getloadavg()[0]:.1f} at the end, {spent:.0f} s.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
