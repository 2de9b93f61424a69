"""Requests a second of a served ResNet-18, and how long they take: ``make bench-serve``.

Clients in a process of their own ask by gRPC, each the next request when the one before is answered. The server is the
same for all sides (MLServer with `gluonx.export.runtime`'s batching); `benchmarks.serving_sides` has the others.
PyTorch and onnxruntime take part where they are installed beside the extra ``serve``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["main"]

SHAPE = (3, 64, 64)
SIDES = {
    "gluonx": ("gluonx.export.runtime.Runtime", "jax"),
    "onnxruntime": ("benchmarks.serving_sides.OnnxRuntime", "onnxruntime"),
    "PyTorch eager": ("benchmarks.serving_sides.TorchEager", "torch"),
}


def prepare(folder: pathlib.Path) -> None:
    """Write the model for every side."""
    import gluonx as mx
    from gluonx.export import InputSpec
    from gluonx.gluon import model_zoo

    net = model_zoo.vision.resnet18_v1(classes=10)
    net.initialize()
    net.hybridize()
    net(mx.np.ones((1, *SHAPE)))
    net.export(folder / "gluonx", buckets=[1, 2, 4, 8, 16])
    told = {"inputs": [("data", ["b", *SHAPE], "float32")], "outputs": [("output0", ["b", 10], "float32")]}
    for side in ("onnxruntime", "PyTorch eager"):
        (folder / side).mkdir()
        (folder / side / "signature.json").write_text(json.dumps(told))
    if importlib.util.find_spec("onnx"):
        spec = [InputSpec("data", ("b", *SHAPE), "float32")]
        net.export(folder / "onnxruntime" / "model", format="onnx", inputs=spec)
    if importlib.util.find_spec("torch"):
        import torch

        from benchmarks.zoo.cases import CASES
        from benchmarks.zoo.torches import resnet

        torch.save(resnet(CASES["resnet18"]).state_dict(), folder / "PyTorch eager" / "weights.pt")


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


@contextlib.contextmanager
def server(folder: pathlib.Path, side: str, batch: int) -> Iterator[int]:
    """Run a server of one side; give its gRPC port."""
    http, grpc, metrics = free_ports(3)
    place = folder / f"server-{side}-{batch}"
    place.mkdir()
    model = {"name": "net", "implementation": SIDES[side][0], "max_batch_size": batch}
    model["parameters"] = {"uri": str(folder / side)}
    (place / "model-settings.json").write_text(json.dumps(model))
    settings = {"parallel_workers": 0, "debug": False, "host": "127.0.0.1", "http_port": http}
    (place / "settings.json").write_text(json.dumps({**settings, "grpc_port": grpc, "metrics_port": metrics}))
    start = "import sys; from mlserver.cli import main; sys.argv[0] = 'mlserver'; main()"
    with open(place / "log", "w") as log:
        line = [sys.executable, "-c", start, "start", str(place)]
        process = subprocess.Popen(line, stdout=log, stderr=log)
    try:
        for _ in range(1200):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{http}/v2/health/ready", timeout=5).close()
                break
            if process.poll() is not None:
                raise RuntimeError((place / "log").read_text())
            time.sleep(0.1)
        yield grpc
    finally:
        process.terminate()
        process.wait()


async def load(port: int, clients: int, seconds: float) -> dict[str, float]:
    """Ask for a while; gives requests a second and milliseconds of the median and of the slowest hundredth."""
    import tritonclient.grpc.aio as grpc

    x = np.random.default_rng(0).normal(size=(1, *SHAPE)).astype("float32")
    tensor = grpc.InferInput("data", x.shape, "FP32")
    tensor.set_data_from_numpy(x)
    times: list[float] = []
    async with grpc.InferenceServerClient(f"127.0.0.1:{port}") as client:

        async def one(until: float, kept: list[float]) -> None:
            while time.perf_counter() < until:
                begin = time.perf_counter()
                await client.infer("net", [tensor])
                kept.append(time.perf_counter() - begin)

        await asyncio.gather(*[one(time.perf_counter() + seconds / 4, []) for _ in range(clients)])  # to warm up
        begin = time.perf_counter()
        await asyncio.gather(*[one(begin + seconds, times) for _ in range(clients)])
        spent = time.perf_counter() - begin
    return {"rate": len(times) / spent, "p50": 1e3 * np.percentile(times, 50), "p99": 1e3 * np.percentile(times, 99)}


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--load", type=int, metavar="PORT", help=argparse.SUPPRESS)  # the clients' process
    args = parser.parse_args(argv)
    if args.load:
        print(json.dumps(asyncio.run(load(args.load, args.clients[0], args.seconds))))
        return
    print(f"ResNet-18, one image of {'x'.join(map(str, SHAPE))} a request, {os.cpu_count()} cores")
    print("| side | largest batch | clients | requests a second | median ms | 99 % within ms |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        for side, (_, package) in SIDES.items():
            if importlib.util.find_spec(package) is None:
                print(f"| {side} | not installed |")
                continue
            for batch in (1, 16):
                with server(folder, side, batch) as port:
                    for clients in args.clients:
                        line = [sys.executable, "-m", "benchmarks.serving", "--load", str(port)]
                        line += ["--clients", str(clients), "--seconds", str(args.seconds)]
                        told: Any = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout)
                        row = f"{told['rate']:.0f} | {told['p50']:.1f} | {told['p99']:.1f}"
                        print(f"| {side} | {batch} | {clients} | {row} |", flush=True)


if __name__ == "__main__":
    main()
