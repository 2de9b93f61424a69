"""What the first steps of a deep net cost: in pieces, as gluonx runs them, and as one program compiled at once.

    python -m benchmarks.early [--hybridize]

Each side is a fresh process without a compilation cache, and they take turns. Processor time of the first, second and
third step (the third compiles the whole where the first two went in pieces), and the wall time of a later one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as onp

from benchmarks.harness import warm

__all__ = ["ROWS", "main"]


def _dense(count: int, units: int) -> Any:
    from gluonx import nn

    net = nn.HybridSequential()
    net.add(*[nn.Dense(units, in_units=units, activation="relu") for _ in range(count)])
    return net


def _square(net: Any, x: Any) -> Any:
    return (net(x) ** 2).mean()


def _unrolled(net: Any, xs: Any) -> Any:
    states = net.begin_state(xs.shape[1])
    for x in xs:
        out, states = net(x, states)
    return (out**2).mean()


def _dense100() -> tuple[Any, Any, Callable[..., Any]]:
    return _dense(100, 64), onp.ones((32, 64), "f"), _square


def _transformer12() -> tuple[Any, Any, Callable[..., Any]]:
    from gluonx import nn

    return nn.TransformerEncoder(12, 128, 512, 4, 0.1, 0.1), onp.ones((8, 32, 128), "f"), _square


def _rnn300() -> tuple[Any, Any, Callable[..., Any]]:
    from gluonx.rnn import RNNCell

    return RNNCell(32, input_size=16), onp.ones((300, 8, 16), "f"), _unrolled


def _resnet50() -> tuple[Any, Any, Callable[..., Any]]:
    from gluonx.model_zoo.vision import get_model

    return get_model("resnet50_v1", classes=10), onp.ones((2, 3, 64, 64), "f"), _square


ROWS: dict[str, Callable[[], tuple[Any, Any, Callable[..., Any]]]] = {
    "100 Dense": _dense100,
    "transformer, 12 layers": _transformer12,
    "recurrent net, 300 steps": _rnn300,
    "ResNet-50": _resnet50,
}


def _side(row: str, whole: bool, hybridize: bool) -> dict[str, float]:
    import gluonx
    from gluonx import Trainer, autograd, np
    from gluonx.common import policy

    if whole:
        policy.limits["long"] = 10**9
        policy.limits["runs"] = 0
    net, batch, loss_of = ROWS[row]()
    net.initialize()
    if hybridize:
        net.hybridize()
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 1e-3})

    def step(x: Any) -> None:
        with autograd.record():
            loss = loss_of(net, x)
        loss.backward()
        trainer.step(1)
        gluonx.waitall()

    def spent(run: Callable[[], None], clock: Callable[[], float] = time.process_time) -> float:
        begin = clock()
        run()
        return clock() - begin

    x = np.array(batch)
    found = {name: spent(lambda: step(x)) for name in ("first", "second", "third")}
    warm(lambda count: [step(x) for _ in range(count)])
    return {**found, "later": statistics.median(spent(lambda: step(x), time.perf_counter) for _ in range(20))}


def _run(row: str, whole: bool, hybridize: bool) -> dict[str, float]:
    gone = ("GLUONX_CACHE_DIR", "GLUONX_TUNE", "JAX_COMPILATION_CACHE_DIR")
    env = {name: value for name, value in os.environ.items() if name not in gone}
    env["PYTHONPATH"] = str(Path(__file__).parent.parent)
    command = [sys.executable, __file__, "--side", row, *["--whole"] * whole, *["--hybridize"] * hybridize]
    out = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(out.stdout.splitlines()[-1])


def main() -> None:
    """Run the sides in turns and print the table."""
    parser = argparse.ArgumentParser(description="What the first steps of a deep net cost.")
    parser.add_argument("--side", choices=list(ROWS), help="run one side and print its times as JSON")
    parser.add_argument("--whole", action="store_true", help="of that side: compile the step whole at once")
    parser.add_argument("--hybridize", action="store_true", help="hybridize the nets")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    if args.side:
        print(json.dumps(_side(args.side, args.whole, args.hybridize)))
        return
    print("| seconds | first step | second | third | later, ms | first, whole | later, whole, ms | later, ratio |")
    print("| --- " * 8 + "|")
    for row in args.rows:
        rounds = [(_run(row, False, args.hybridize), _run(row, True, args.hybridize)) for _ in range(args.rounds)]
        pieces, whole = zip(*rounds, strict=True)

        def shown(side: Any, name: str, scale: float = 1) -> str:
            return f"{scale * statistics.median(r[name] for r in side):.2f}"

        ratio = [a["later"] / b["later"] for a, b in rounds]
        cells = [shown(pieces, "first"), shown(pieces, "second"), shown(pieces, "third"), shown(pieces, "later", 1e3)]
        cells += [shown(whole, "first"), shown(whole, "later", 1e3), f"{statistics.median(ratio):.2f}" if ratio else ""]
        print(f"| {row} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
