"""The costs by which gluonx chooses between NumPy and XLA, measured on this machine.

    python -m benchmarks.costs

`gluonx/common/policy.py` has sixteen numbers. This measures those that a clock can tell, in the unit that they have
there, and prints them beside the numbers in use. Those are the ones with which `benchmarks.cold`, `early` and `first`
came out best with two to sixteen cores; they lean towards compiling early, since a long run must not lose. Of the other
numbers it says which benchmark shows them. All times are processor time of one thread, medians over repeats, in a fresh
process without a compilation cache.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as onp

__all__ = ["MEASURED", "main"]

REPEATS = 7


def _seconds(run: Callable[[], object], least: float = 0.01) -> float:
    """Return the processor time of one call: the median over repeats of many calls each."""
    run()
    count = 1
    while True:
        began = time.process_time()
        for _ in range(count):
            run()
        taken = time.process_time() - began
        if taken >= least:
            break
        count *= 2 if taken < least / 8 else math.ceil(least / max(taken, 1e-6)) + 1
    found = [taken / count]
    for _ in range(REPEATS - 1):
        began = time.process_time()
        for _ in range(count):
            run()
        found.append((time.process_time() - began) / count)
    return statistics.median(found)


def _element() -> float:
    """Return the seconds of one element: the median over functions that deep learning uses."""
    x = onp.linspace(0.1, 0.9, 1 << 16, dtype="f")
    functions = (onp.exp, onp.log, onp.tanh, onp.log1p, onp.sin, onp.arctan, lambda x: x**x)
    return statistics.median([_seconds(lambda f=f: f(x)) for f in functions]) / x.size


def light() -> float:
    """Return how many times faster comparing and moving is than a function."""
    x = onp.linspace(-1, 1, 1 << 16, dtype="f")
    return _element() / (_seconds(lambda: x > 0.5) / x.size)


def product() -> float:
    """Return the products of a matrix product in the time of one element."""
    x = onp.ones((384, 384), "f")
    return _element() / (_seconds(lambda: x @ x) / 384**3)


def call() -> float:
    """Return the elements in the time that a function of NumPy takes to begin."""
    x = onp.ones(1, "f")
    return _seconds(lambda: onp.exp(x)) / _element()


def step() -> float:
    """Return the elements in the time that an operation of a program by NumPy takes to begin."""
    import jax
    import jax.numpy as jnp

    from gluonx.ops.host.jaxprs import HostProgram

    def loss(w: Any, x: Any) -> Any:
        for _ in range(16):
            x = jnp.tanh(x @ w)
        return (x**2).mean()

    w, x = onp.ones((4, 4), "f"), onp.ones((2, 4), "f")
    program = HostProgram(jax.make_jaxpr(jax.grad(loss))(w, x))
    return (_seconds(lambda: program(w, x)) / _element() - program.cost) / program.steps


def border() -> float:
    """Return the elements in the time that a compiled program of one small array takes to be called."""
    import jax

    x, double = jax.numpy.ones(8), jax.jit(lambda x: x * 2)
    return _seconds(lambda: double(x)) / _element()


def _compilation(lowered: Any) -> float:
    began = time.process_time()
    lowered.compile()
    return time.process_time() - began


def _chain(turns: int, seed: int) -> Any:
    """Lower a chain of five operations a turn, each of a length of its own: XLA compiles equal kernels once."""
    import jax
    import jax.numpy as jnp

    def run(x: Any, weights: list[Any]) -> Any:
        for w in weights:
            x = jnp.tanh((x[:, :, None] * w).sum(1))
            x = x / x.sum()
        return x

    lengths = range(seed, seed + turns + 1)
    weights = [jax.ShapeDtypeStruct((n, n + 1), "float32") for n in lengths[:-1]]
    return jax.jit(run).lower(jax.ShapeDtypeStruct((4, seed), "float32"), weights)


def _line() -> tuple[float, float]:
    """Return the seconds that XLA takes for one operation more, and those for a program of none."""
    few, many = [
        statistics.median([_compilation(_chain(turns, 20 * seed + turns)) for seed in range(1, 1 + REPEATS)])
        for turns in (1, 9)
    ]
    each = (many - few) / 40
    return each, max(few - 5 * each, 0)


def compile_() -> float:
    """Return the elements in the time that XLA takes to compile one operation."""
    return _line()[0] / _element()


def base() -> float:
    """Return the operations whose compilation takes as long as a program does besides its operations."""
    each, none = _line()
    return none / each


def training() -> float:
    """Return how many times longer an operation of a training step takes to trace and compile than one alone."""
    from gluonx import engine
    from gluonx.deferred.run import flushing

    run = _training(6, rows=32)
    run()
    operations = flushing.LAST["program"].by_host.program.steps
    engine.clear()
    with engine.host(False):
        began = time.process_time()
        run()
        compiling = time.process_time() - began
        return (compiling - _seconds(run)) / operations / _line()[0]


def code() -> float:
    """Return the bytes that an operation adds to a compiled program."""
    kept: list[Any] = [_chain(30, 9).compile()]
    before = _resident()
    kept += [_chain(30, 40 * n + 40).compile() for n in range(20)]
    return (_resident() - before) / (len(kept) - 1) / 150


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _training(layers: int, rows: int) -> Callable[[], None]:
    """Return a step of a net of so many convolutions with normalization."""
    from gluonx import Trainer, autograd, nn, np

    net = nn.HybridSequential()
    for _ in range(layers):
        net.add(nn.Conv2D(8, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.Dense(10))
    net.initialize()
    net.hybridize()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    x = np.ones((rows, 3, 6, 6))

    def run() -> None:
        with autograd.record():
            loss = (net(x) ** 2).mean()
        loss.backward()
        trainer.step(1)
        loss.asnumpy()

    return run


MEASURED: dict[str, Callable[[], float]] = {
    "light": light,
    "product": product,
    "call": call,
    "step": step,
    "border": border,
    "compile": compile_,
    "base": base,
    "training": training,
    "code": code,
}


def main(argv: list[str] | None = None) -> None:
    """Measure each cost in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", choices=MEASURED, help="measure this one in this process, and print nothing else")
    args = parser.parse_args(argv)
    if args.one:
        print(MEASURED[args.one]())
        return
    from gluonx.common.policy import NUMBERS

    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    print(f"{'':10} {'in use':>14} {'here':>14} {'here / in use':>14}  ")
    for name, number in NUMBERS.items():
        shown = f"{name:10} {number.value:14,}"
        if name not in MEASURED:
            print(f"{shown} {'':14} {'':14}  {number.unit}; shown by benchmarks.{number.shown_by}")
            continue
        run = [sys.executable, "-m", "benchmarks.costs", "--one", name]
        done = subprocess.run(run, capture_output=True, text=True, check=True, env={**os.environ, **single})
        found = float(done.stdout)
        print(f"{shown} {found:14,.0f} {found / number.value:14.2f}  {number.unit}", flush=True)


if __name__ == "__main__":
    main()
