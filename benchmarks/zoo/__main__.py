"""``python -m benchmarks.zoo``: training steps of whole models, gluonx against the others, all in one run."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import sys
import tempfile

from benchmarks.harness import offer_tuning, tune
from benchmarks.zoo import host, report
from benchmarks.zoo.cases import CASES

__all__ = ["main"]

ROOT = pathlib.Path(__file__).parents[2]


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo", description=__doc__)
    parser.add_argument("--cases", nargs="*", default=list(CASES), help="none: the table of what was kept")
    parser.add_argument("--sides", nargs="+", choices=list(host.SIDES), default=list(host.SIDES))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--block", type=float, default=0.3, help="seconds of one block of steps")
    parser.add_argument("--dtype", choices=list(host.APART), default="float32")
    parser.add_argument("--cores", help="cores for all sides, such as 2,3; otherwise the first two that are allowed")
    parser.add_argument("--mxnet", type=pathlib.Path, default=ROOT / ".venv-mxnet/bin/python", help="its interpreter")
    parser.add_argument("--torch", type=pathlib.Path, default=ROOT / ".venv-torch/bin/python", help="its interpreter")
    parser.add_argument("--write", type=pathlib.Path, help="a file for the table")
    parser.add_argument(
        "--keep", type=pathlib.Path, help="a folder of raw numbers: cases measured before are in the table"
    )
    offer_tuning(parser)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Measure, print and write the table; the status is 1 if a bound is missed."""
    args = parse(argv)
    print(tune(args), flush=True)
    if unknown := set(args.cases) - set(CASES):
        raise SystemExit(f"no such cases: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, [int(n) for n in args.cores.split(",")] if args.cores else allowed[:2])
    pythons = {"mxnet": str(args.mxnet), "torch": str(args.torch)}
    found: dict[str, host.Measured] = {}
    with tempfile.TemporaryDirectory(prefix="gluonx-zoo-") as scratch:
        logs = pathlib.Path(scratch)
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            logs = args.keep
        machine = host.machine(args.dtype, logs)
        timing = host.Timing(args.rounds, args.block, args.dtype, machine["gpu"] > 0)
        for name in CASES:
            kept = args.keep / f"{name}.json" if args.keep else None
            if name in args.cases:
                found[name] = host.measure(CASES[name], args.sides, pythons, timing, logs)
                print("\n".join(report.rows(CASES[name], found[name], args.dtype, machine)), flush=True)
                if kept:
                    kept.write_text(json.dumps(dataclasses.asdict(found[name])))
            elif kept and kept.exists():
                found[name] = host.Measured(**json.loads(kept.read_text()))
    page = report.text(found, args.dtype, machine, [])
    if args.write:
        args.write.write_text(f"<!-- written by `make bench-models` -->\n{page}")
    print(f"\n{page}")
    return 1 if report.missed(page.splitlines()) else 0


if __name__ == "__main__":
    sys.exit(main())
