"""What a process takes that goes on for long: ``make soak``, an hour, or fewer minutes: ``ARGS='--minutes 5'``.

Three lives, one after the other, each for a third of the time or until its count is reached: 100,000 training steps
with a new batch size now and then; 20,000 requests to a server (extra ``serve``) whose model is exported and loaded
again meanwhile; 1,000 epochs of a DataLoader whose workers are killed now and then. Ten times in each the memory,
threads, descriptors, child processes and programs of the process are noted (of the server, where one is asked).
The table has them after a tenth, which warms up, in the middle, and at the end.

    python -m benchmarks.soak --minutes 60
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as onp

__all__ = ["main"]

_NOTES = 10


def _taken(pid: int, programs: float) -> tuple[float, int, int, float, int]:
    """Memory in MB, threads and descriptors of a process, the programs that it told, and the processes below it."""
    folder = pathlib.Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    below = len((folder / "task" / str(pid) / "children").read_text().split())
    memory = int(status["VmRSS"].split()[0]) / 1e3
    return memory, int(status["Threads"]), len(list((folder / "fd").iterdir())), programs, below


def steps(count: int) -> Iterator[tuple[int, float]]:
    """Train, with one of eight batch sizes that come again and, once in a thousand steps, one that was not there."""
    from gluonx import Trainer, autograd, engine, nn, np

    net = nn.HybridSequential()
    net.add(nn.Dense(32, activation="relu"), nn.BatchNorm(), nn.Dropout(0.2), nn.Dense(1))
    net.initialize()
    net.hybridize()
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 1e-3})
    x = onp.random.default_rng(0).standard_normal((20_000, 8)).astype("float32")
    for i in range(count):
        size = 40 + i // 1000 % 10_000 if i % 1000 == 500 else 4 * (1 + i // 100 % 8)
        with autograd.record():
            loss = ((net(np.array(x[:size])) - 1) ** 2).mean()
        loss.backward()
        trainer.step(1)
        if i % 100 == 0:
            assert onp.isfinite(float(loss))
        yield os.getpid(), engine.stats()["programs_compiled"] - engine.stats()["programs_forgotten"]


def requests(count: int) -> Iterator[tuple[int, float]]:
    """Ask a server; once in 200 requests its model is exported anew and loaded again."""
    import tritonclient.grpc as client

    import gluonx
    from benchmarks.serving import free_ports
    from gluonx import nn

    net = nn.Dense(3, in_units=4, use_bias=False)
    net.initialize()
    x = onp.ones((2, 4), "float32")
    tensor = client.InferInput("data", x.shape, "FP32")
    tensor.set_data_from_numpy(x)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "net"

        def export(scale: float) -> None:
            net.weight.set_data(gluonx.np.full((3, 4), scale))
            net.export(folder, inputs=[gluonx.np.ones((1, 4))])

        export(1.0)
        ports = free_ports(3)
        flags = zip(("--http-port", "--grpc-port", "--metrics-port"), map(str, ports))
        line = ["-m", "gluonx.export.serve_model", str(folder), "--buckets", "2", *itertools.chain(*flags)]
        with open(folder.parent / "log", "w") as log:
            process = subprocess.Popen([sys.executable, *line], stdout=log, stderr=log)
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{ports[0]}/v2/health/ready", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            scale = 1.0
            with client.InferenceServerClient(f"127.0.0.1:{ports[1]}") as asking:
                for i in range(count):
                    if i % 200 == 199:
                        scale += 1
                        export(scale)
                        address = f"http://127.0.0.1:{ports[0]}/v2/repository/models/net/load"
                        urllib.request.urlopen(address, data=b"", timeout=60).close()
                    found = asking.infer("net", [tensor]).as_numpy("output0")
                    assert (found == 4 * scale).all(), (found, scale)
                    yield process.pid, float("nan")
        finally:
            process.terminate()
            process.wait()


class _Numbers:
    """A dataset that tells which process read a sample."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Any:
        return onp.array([index, os.getpid()])


def epochs(count: int) -> Iterator[tuple[int, float]]:
    """Read epochs by two workers; in one of ten a worker is killed, and the epoch is read again."""
    from gluonx import engine
    from gluonx.errors import GluonxError
    from gluonx.gluon.data import DataLoader

    loader = DataLoader(_Numbers(), batch_size=4, num_workers=2)
    for i in range(count):
        try:
            seen: list[int] = []
            for batch in loader:
                numbers, pids = batch.asnumpy().T
                seen += numbers.tolist()
                if i % 10 == 9 and len(seen) == 8:
                    os.kill(int(pids[0]), signal.SIGKILL)
            assert seen == list(range(64))
        except GluonxError as error:
            assert i % 10 == 9 and "was killed by SIGKILL" in str(error), error
        yield os.getpid(), engine.stats()["programs_compiled"] - engine.stats()["programs_forgotten"]


LIVES = {
    "training steps": (steps, 100_000),
    "requests": (requests, 20_000),
    "epochs of a DataLoader": (epochs, 1_000),
}


def run(life: Any, count: int, seconds: float) -> tuple[int, list[tuple[float, int, int, float, int]]]:
    """Live until `count` or for so many seconds; give how far it came, and what it took at ten times."""
    began, notes, done = time.monotonic(), [], 0
    told = 0, 0.0
    for told in life(count):
        done += 1
        part = max(done / count, (time.monotonic() - began) / seconds)
        while part * _NOTES >= len(notes) + 1 and len(notes) < _NOTES:
            gc.collect()
            notes.append(_taken(*told))
        if part >= 1:
            break
    return done, notes


def main(argv: list[str] | None = None) -> None:
    """Run all three and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", choices=LIVES, default=list(LIVES))
    options = parser.parse_args(argv)
    print("| what | done | after | MB | threads | descriptors | programs | child processes |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in options.only:
        life, count = LIVES[name]
        done, notes = run(life, count, 60 * options.minutes / len(options.only))
        for at in (0, _NOTES // 2 - 1, _NOTES - 1):
            if at < len(notes):
                memory, threads, files, programs, below = notes[at]
                shown = "" if programs != programs else f"{programs:.0f}"
                row = f"{memory:.0f} | {threads} | {files} | {shown} | {below}"
                print(f"| {name} | {done:,} | {10 * (at + 1)} % | {row} |", flush=True)


if __name__ == "__main__":
    main()
