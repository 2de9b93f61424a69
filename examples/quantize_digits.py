"""The digits net in int8: quantize it, write both kinds of artifact, and compare accuracy, size and time with float32.

Run it by ``python -m examples.quantize_digits`` (extras ``examples`` and ``onnx``, and onnxruntime for its rows);
``--resnet`` adds the times of a ResNet-18, whose weights are random.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import sys
import tempfile
import time
from statistics import median
from typing import Any

import numpy as onp

import gluonx as mx
from examples.digits import Digits, evaluate, load_data, train
from gluonx import gluon, np
from gluonx.quantization import quantize_net

__all__ = ["main", "quantized", "serving", "times"]

BATCHES = 5


def quantized(net: Any, images: Any, mode: str = "naive") -> Any:
    """Return the net in int8, calibrated on a few batches of `images`."""
    loader = gluon.data.DataLoader(images, batch_size=64)
    return quantize_net(
        net, calib_data=loader, calib_mode=mode, num_calib_batches=BATCHES, quantize_granularity="channel-wise"
    )


def serving(net: Any, images: Any, folder: pathlib.Path) -> tuple[Any, Any, list[int]]:
    """Predictors of the artifact and of the ONNX file (None without onnxruntime), and the bytes of both."""
    net(np.array(images))
    net.export(folder, buckets=[len(images)])
    predictors: list[Any] = [mx.load(folder).predictor(), None]
    sizes = [(folder / "params.safetensors").stat().st_size]
    with contextlib.suppress(ImportError):
        import onnxruntime

        path = net.export(folder.with_suffix(".onnx"), format="onnx")
        session = onnxruntime.InferenceSession(path)
        predictors[1] = lambda x: session.run(None, {"data": x})[0]
        sizes.append(pathlib.Path(path).stat().st_size)
    return predictors[0], predictors[1], sizes


def times(one: Any, other: Any, images: Any, repeats: int) -> tuple[float, float]:
    """Seconds of two predictors, run in turns: medians."""
    for predict in (one, other):
        predict(images)  # once before
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for predict, noted in zip((one, other), spent, strict=True):
            start = time.perf_counter()
            predict(images)
            noted.append(time.perf_counter() - start)
    return median(spent[0]), median(spent[1])


def compare(name: str, net: Any, small: Any, images: Any, repeats: int) -> list[tuple[str, str]]:
    """Rows of a table: the size and the time of int8 over those of float32."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        whole = serving(net, images, pathlib.Path(scratch) / "float32")
        bytes_ = serving(small, images, pathlib.Path(scratch) / "int8")
        for index, runtime in enumerate(("gluonx", "onnxruntime")):
            if whole[index] is None:
                continue
            real, eight = times(whole[index], bytes_[index], images, repeats)
            size = bytes_[2][index] / whole[2][index]
            said = f"{eight * 1e3:.3f} ms, {eight / real:.2f} of float32; size {size:.2f} of float32"
            rows.append((f"{name}, {len(images)} images, {runtime}", said))
    return rows


def main(argv: list[str] | None = None) -> int:
    """Train, quantize, compare; exit status 1 if more than half a percent of accuracy is lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--mode", default="naive", choices=["none", "naive", "entropy"])
    parser.add_argument("--resnet", action="store_true")
    args = parser.parse_args(argv)
    training, held_out = load_data()
    net = Digits()
    train(net, training, args.epochs)
    small = quantized(net, training[0], args.mode)
    before, after = evaluate(net, held_out)[0], evaluate(small, held_out)[0]
    rows = [("accuracy in float32, in int8", f"{before:.2%}, {after:.2%} of {len(held_out[1])} held-out images")]
    for count in (1, 64):
        rows += compare("digits", net, small, held_out[0][:count], args.repeats)
    if args.resnet:
        from gluonx.gluon.model_zoo import vision

        resnet = vision.resnet18_v1()
        resnet.initialize()
        images = onp.random.default_rng(0).normal(size=(64, 3, 64, 64)).astype("float32")
        resnet(np.array(images[:1]))
        resnet.hybridize()
        for count in (1, 8):
            rows += compare("ResNet-18", resnet, quantized(resnet, images), images[:count], max(5, args.repeats // 5))
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows))
    return 0 if after >= before - 0.005 else 1


if __name__ == "__main__":
    sys.exit(main())
