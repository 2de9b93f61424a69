"""Tokens a second of a text that is written greedily: gluonx's ``generate``, the same by hand in JAX, and PyTorch.

``python -m benchmarks.generating`` (``make bench-generate``) prints a table. A decoder as Llama's continues prompts of
equal lengths with a cache of keys and values. All sides have the same weights, and must write the same tokens. By hand
is one jitted step with donated caches, whose tokens are read at the end; PyTorch is eager in ``inference_mode``. Each
side runs in a process of its own, and they take turns. Ratios are gluonx's time over the other's, by rounds.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time

from benchmarks.harness import quartiles
from benchmarks.remote import ROOT, Missing, Worker, cores, one_thread_a_core

__all__ = ["main", "measure"]

SIDES = {"gluonx": "gluonx.generate", "jax": "JAX by hand", "torch": "PyTorch, eager"}
TARGET = {"jax": 1.1}


def measure(
    pythons: dict[str, str], rounds: int, size: dict[str, int]
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return wall and processor seconds of a text, a list for each side that is there; raise where texts differ."""
    with tempfile.TemporaryDirectory() as folder:
        weights, workers, texts = str(pathlib.Path(folder) / "weights.npz"), {}, {}
        try:
            for side in SIDES:
                command = [pythons.get(side, sys.executable), "-m", "benchmarks.generating_sides", side]
                environment = {"PYTHONPATH": str(ROOT), **one_thread_a_core()}
                try:
                    worker = Worker(side, command, environment=environment)
                    texts[side] = worker.order(do="begin", weights=weights, size=size)
                except Missing:
                    continue
                workers[side] = worker
            for side, text in texts.items():
                if text != texts["gluonx"]:
                    raise RuntimeError(f"{side} writes other tokens than gluonx")
            wall: dict[str, list[float]] = {side: [] for side in workers}
            cpu: dict[str, list[float]] = {side: [] for side in workers}
            for number in range(rounds):
                for side in workers if number % 2 == 0 else reversed(list(workers)):
                    seconds = workers[side].order(do="write")
                    wall[side].append(seconds[0])
                    cpu[side].append(seconds[1])
        finally:
            for worker in workers.values():
                worker.close()
    return wall, cpu


def lines(wall: dict[str, list[float]], cpu: dict[str, list[float]], tokens: int) -> list[str]:
    """Return the rows of a Markdown table."""
    found = []
    for side, seconds in wall.items():
        ratios = [quartiles([a / b for a, b in zip(t["gluonx"], t[side], strict=True)]) for t in (wall, cpu)]
        (low, middle, high), (_, by_cpu, _) = ratios
        ratio = "" if side == "gluonx" else f"{middle:.2f} ({low:.2f} to {high:.2f}; cpu {by_cpu:.2f})"
        bound = f"{TARGET[side]} | {'yes' if middle <= TARGET[side] else 'NO'}" if side in TARGET else " | "
        rates = tokens / quartiles(seconds)[1], tokens / quartiles(cpu[side])[1]
        found.append(f"| {SIDES[side]} | {rates[0]:.0f} | {rates[1]:.0f} | {ratio} | {bound} |")
    return found


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--torch", default=str(ROOT / ".venv-torch" / "bin" / "python"))
    sizes = {"words": 256, "layers": 4, "units": 256, "hidden": 704, "heads": 8, "shared": 4, "batch": 4,
             "prompt": 16, "new": 112}  # fmt: skip
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args(argv)
    size = {name: getattr(args, name) for name in sizes}
    wall, cpu = measure({"torch": args.torch}, args.rounds, size)
    told = ", ".join(f"{name} {value}" for name, value in size.items())
    print(f"{told}; {cores()} cores, {time.strftime('%Y-%m-%d')}\n")
    print("| side | tokens a second | tokens a processor second | gluonx's time over it | at most | reached |")
    print("| --- | --- | --- | --- | --- | --- |")
    print("\n".join(lines(wall, cpu, size["batch"] * size["new"])))


if __name__ == "__main__":
    main()
