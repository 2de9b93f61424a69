"""``make bench-models``: training steps of networks of the model zoo, the Gluon loop against the step written in JAX.

The hand-written side is what one writes with jax.lax and optax, convolutions and poolings in their plain form; both
sides start from the same numbers and are checked to do the same work before they are timed, in turns.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks import step
from benchmarks.harness import Result, compare
from benchmarks.models import MOMENTUM, Case
from gluonx.examples.by_hand import batch_norm, conv, dense
from gluonx.model_zoo import vision

__all__ = ["CASES", "main"]


class _Net:
    """The arrays of a net by structured name, and the moving averages as they move."""

    def __init__(self, params: Any, state: Any) -> None:
        self.params, self.state, self.moved = params, state, {}

    def norm(self, name: str, x: Any) -> Any:
        x, self.moved[name] = batch_norm(self.params[name], self.state[name], x)
        return x

    def conv(self, name: str, x: Any, stride: int = 1, pad: int = 0, groups: int = 1) -> Any:
        if groups == 1:
            return conv(self.params[name], x, stride, pad)
        return lax.conv_general_dilated(
            x,
            self.params[name]["weight"],
            (stride, stride),
            [(pad, pad)] * 2,
            dimension_numbers=("NCHW", "OIHW", "NCHW"),
            feature_group_count=groups,
        )


def resnet18(params: Any, state: Any, key: Any, x: Any) -> Any:
    """The forward of ``resnet18_v1``."""
    net = _Net(params, state)
    x = jax.nn.relu(net.norm("features.1", net.conv("features.0", x, 2, 3)))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)])
    for stage in range(4, 8):
        for block in range(2):
            name, stride = f"features.{stage}.{block}", 2 if stage > 4 and not block else 1
            y = jax.nn.relu(net.norm(f"{name}.body.1", net.conv(f"{name}.body.0", x, stride, 1)))
            y = net.norm(f"{name}.body.4", net.conv(f"{name}.body.3", y, 1, 1))
            if stride > 1:
                x = net.norm(f"{name}.downsample.1", net.conv(f"{name}.downsample.0", x, stride))
            x = jax.nn.relu(x + y)
    return dense(params["output"], x.mean((2, 3))), net.moved


# Expansion, channels, how many, stride of the first.
_BOTTLENECKS = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip


def _relu6(x: Any) -> Any:
    return jnp.clip(x, 0, 6)


def mobilenet_v2(params: Any, state: Any, key: Any, x: Any) -> Any:
    """The forward of ``mobilenet_v2_1_0``."""
    net = _Net(params, state)
    x = _relu6(net.norm("features.1", net.conv("features.0", x, 2, 1)))
    index = 3
    for expansion, channels, count, first in _BOTTLENECKS:
        for i in range(count):
            name, stride, wide = f"features.{index}.out", 1 if i else first, expansion * x.shape[1]
            y = _relu6(net.norm(f"{name}.1", net.conv(f"{name}.0", x)))
            y = _relu6(net.norm(f"{name}.4", net.conv(f"{name}.3", y, stride, 1, wide)))
            y = net.norm(f"{name}.7", net.conv(f"{name}.6", y))
            x = x + y if stride == 1 and x.shape[1] == channels else y
            index += 1
    x = _relu6(net.norm(f"features.{index + 1}", net.conv(f"features.{index}", x)))
    return net.conv("output.0", x.mean((2, 3), keepdims=True)).reshape(x.shape[0], -1), net.moved


CASES = {
    case.name: case
    for case in (
        Case("resnet18", lambda: vision.resnet18_v1(classes=10), resnet18, (16, 3, 64, 64), 10, **MOMENTUM),
        Case("mobilenetv2", lambda: vision.mobilenet_v2_1_0(classes=10), mobilenet_v2, (16, 3, 64, 64), 10, **MOMENTUM),
    )
}


def _shown(result: Result) -> str:
    low, middle, high = result.ratio
    return f"{result.wall[1] * 1e3:.4g} | {middle:.3f} ({low:.3f} to {high:.3f}) | {result.cpu_ratio[1]:.3f}"


def main(argv: list[str] | None = None) -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models_zoo", description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--block", type=float, default=0.5, help="seconds of one block of calls")
    parser.add_argument("--write", type=pathlib.Path, help="a file for the table")
    args = parser.parse_args(argv)
    lines = ["| training step | ms | over by hand | by processor time |", "| --- | --- | --- | --- |"]
    for name in args.cases:
        case = CASES[name]
        difference = step.agree(case)
        if not difference < 0.05:
            raise AssertionError(f"{name}: the two sides came {difference:.0%} apart in three steps")
        sides = [step.gluon_side(case, True), step.gluon_side(case, False)]
        shape = "x".join(map(str, case.input_shape))
        for result in compare(step.hand_side(case), sides, args.rounds, args.block):
            lines.append(f"| {name}, {shape}, {result.name} | {_shown(result)} |")
            print(lines[-1], flush=True)
    text = "\n".join(lines)
    print(f"\n{text}")
    if args.write:
        load = f"Load of the machine at the end: {os.getloadavg()[0]:.1f}."
        head = f"{os.cpu_count()} cores, jax {jax.__version__}. Ratios are medians, in parentheses quartiles. {load}"
        args.write.write_text(f"# Models\n\n<!-- written by make bench-models -->\n{head}\n\n{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
