"""``python -m gluonx.parallel.launch``: run a script in several processes that work as one.

On one machine, ``-n 4`` starts four processes on the CPU, which talk by gloo; ``--devices-per-process 2`` gives each
two (fake) devices. On a cluster, start it without ``-n`` once for each process by the cluster's own launcher (``srun``,
a JobSet, a TPU pod): it joins what JAX finds there. Either way the script is unchanged, and sees all devices.

When a process ends with an error, or is killed, the others say so and end too, and the status is that of the first.
"""

from __future__ import annotations

import argparse
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from typing import IO, Any

_GRACE = 5.0  # seconds for the others to say why they end


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the processes, wait for them, and return the status of the first that failed; 0 if none did."""
    options = _parser().parse_args(arguments)
    if not options.as_module and not os.path.isfile(options.script):
        print(f"gluonx.parallel.launch: there is no file {options.script!r}", file=sys.stderr)
        return 2
    if options.processes is None or options.process is not None:
        return _work(options)
    if options.processes < 1 or (options.devices or 1) < 1:
        print("gluonx.parallel.launch: -n and --devices-per-process are at least 1", file=sys.stderr)
        return 2
    return _Run(options).wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gluonx.parallel.launch",
        description="Run a script in several processes that work as one. Without -n: join those that the cluster "
        "(Slurm, Open MPI, Kubernetes, a TPU pod) has started.",
    )
    parser.add_argument("-n", "--processes", type=int, metavar="N", help="start N processes on this machine, on CPUs")
    parser.add_argument("--devices-per-process", dest="devices", type=int, metavar="K", help="of the CPU; 1 by default")
    parser.add_argument(
        "--heartbeat", type=int, default=100, metavar="S", help="seconds until a silent process is dead"
    )
    parser.add_argument(
        "--timeout", type=float, default=300, metavar="S", help="seconds to wait for one that is behind"
    )
    parser.add_argument("--process", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    parser.add_argument("-m", dest="as_module", action="store_true", help="the script is a module's name")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


# ------------------------------------------------------------------------------------------------------- the parent


class _Run:
    """The processes of one run, as their parent sees them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.count: int = options.processes
        with socket.socket() as probe:  # free now, and in a moment
            probe.bind(("127.0.0.1", 0))
            at = f"127.0.0.1:{probe.getsockname()[1]}"
        # The workers hold the reading end: it closes when this process ends in whatever way, and they end with it.
        inner, self._outer = os.pipe()
        base = [sys.executable, "-m", "gluonx.parallel.launch", "-n", str(self.count), "--at", at]
        base += ["--heartbeat", str(options.heartbeat), "--timeout", str(options.timeout), "--parent", str(inner)]
        base += ["--devices-per-process", str(options.devices or 1)]
        script = (["-m"] if options.as_module else []) + [options.script, *options.arguments]
        self.workers: list[subprocess.Popen[bytes]] = []
        self._copies: list[threading.Thread] = []
        for rank in range(self.count):
            worker = subprocess.Popen(
                [*base, "--process", str(rank), *script],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[inner],
            )
            self.workers.append(worker)
            self._copies += [
                _copying(worker.stdout, sys.stdout, f"[{rank}] "),
                _copying(worker.stderr, sys.stderr, f"[{rank}] "),
            ]
        os.close(inner)

    def wait(self) -> int:
        """Wait for all, or for the first that fails."""
        try:
            status = self._first_failure()
        except KeyboardInterrupt:
            status = 128 + signal.SIGINT
        finally:
            self._end()
        for copy in self._copies:
            copy.join()
        return status

    def _first_failure(self) -> int:
        running = dict(enumerate(self.workers))
        while running:
            for rank, worker in list(running.items()):
                status = worker.poll()
                if status:
                    return self._tell(rank, status)
                if status == 0:
                    del running[rank]
            time.sleep(0.02)
        return 0

    def _tell(self, rank: int, status: int) -> int:
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        told = f"gluonx.parallel.launch: process {rank} of {self.count} {how}; the others end"
        print(told, file=sys.stderr, flush=True)
        return 128 - status if status < 0 else status

    def _end(self) -> None:
        deadline = time.monotonic() + _GRACE
        for worker in self.workers:
            try:
                worker.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
        os.close(self._outer)


def _copying(source: IO[bytes] | None, to: IO[str], prefix: str) -> threading.Thread:
    """Return a thread that copies whole lines, each with the number of its process."""

    def copy() -> None:
        assert source is not None, "the worker writes into a pipe"
        for line in source:
            to.write(prefix + line.decode(errors="replace").rstrip("\n") + "\n")
            to.flush()

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    return thread


# ------------------------------------------------------------------------------------------------------- the worker


def _work(options: argparse.Namespace) -> int:
    """Join the others and run the script, in this process."""
    import jax

    from gluonx.parallel import processes, roll

    settings: dict[str, Any] = {"heartbeat_timeout_seconds": options.heartbeat, "timeout": options.timeout}
    if options.process is not None:
        threading.Thread(target=_end_with, args=(options.parent,), daemon=True).start()
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", options.devices)
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        processes.initialize(options.at, options.processes, options.process, **settings)
    else:
        processes.initialize(**settings)
    sys.argv = [options.script, *options.arguments]
    sys.path[0] = os.getcwd() if options.as_module else os.path.dirname(os.path.abspath(options.script))
    try:
        if options.as_module:
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(options.script, run_name="__main__")
    except BaseException as error:
        # JAX would now wait for the other processes, which wait for this one.
        status = error.code if isinstance(error, SystemExit) else 1
        if status in (None, 0):
            return 0
        if isinstance(error, SystemExit):
            roll.leave(f"ended with status {status}")
        else:
            traceback.print_exc()
            roll.leave(f"failed: {type(error).__name__}: {error}")
        processes.end(status if isinstance(status, int) else 1)
    return 0


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone."""
    os.read(parent, 1)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
