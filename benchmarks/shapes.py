"""The memory of a process that meets ever new shapes, and of one that may forget programs (`GLUONX_PROGRAMS_MB`).

    python -m benchmarks.shapes
    python -m benchmarks.shapes --shapes 1000 --bounds 0 128

Each bound has a process of its own, which compiles for every shape either a recorded line with its backward or one of
twelve operators alone. Told are the resident memory after the first shapes, at its highest and at the end, what gluonx
estimates that programs and traces take, and how many programs were forgotten.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import numpy as onp

__all__ = ["main"]

_OPERATORS = "exp log sin cos tanh sqrt square negative absolute floor sign cbrt".split()
_FIRST = 16  # shapes after which everything is loaded that has nothing to do with shapes


def _resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _run(count: int) -> None:
    from gluonx import autograd, engine, np
    from gluonx.common import policy

    policy.limits["many"] = count  # every program is compiled, as if it were to come again
    before = highest = estimated = 0.0
    for n in range(count):
        x = np.array(onp.ones((1 + n % 100, 1 + n // 100), "f"))
        if n % 2:
            with engine.host(False):
                getattr(np, _OPERATORS[n // 2 % len(_OPERATORS)])(x).wait_to_read()
        else:
            x.attach_grad()
            with autograd.record():
                y = (x * x).sum()
            y.backward()
            assert x.grad is not None and float(x.grad[0, 0]) == 2
        if n == _FIRST:
            before = _resident_mb() - engine.stats()["programs_mb"]
        if n % 64 == 63 or n == count - 1:
            highest = max(highest, _resident_mb())
            estimated = max(estimated, engine.stats()["programs_mb"])
    print(
        f"{count:,} shapes, bound {os.environ['GLUONX_PROGRAMS_MB']} MB: the process has {before:.0f} MB without "
        f"programs, {highest:.0f} at its highest, {_resident_mb():.0f} at the end; programs are estimated at "
        f"{estimated:.0f} MB at most, and {engine.stats()['programs_forgotten']:,} were forgotten"
    )


def main() -> None:
    """Run each bound in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", type=int, default=10_000)
    parser.add_argument("--bounds", type=int, nargs="+", default=[512], help="megabytes; 0 forgets nothing")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        return _run(args.shapes)
    for bound in args.bounds:
        environment = {**os.environ, "GLUONX_PROGRAMS_MB": str(bound)}
        command = [sys.executable, "-m", "benchmarks.shapes", "--inside", "--shapes", str(args.shapes)]
        subprocess.run(command, env=environment, check=True)
    return None


if __name__ == "__main__":
    main()
