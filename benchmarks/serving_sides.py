"""Other runtimes in the server that `gluonx.export.runtime` runs in, with its batching: what differs is what computes.

A side's folder holds ``signature.json`` and ``model.onnx``, or ``weights.pt``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gluonx.export.runtime import Runtime, Served
from gluonx.export.stablehlo import InputSpec, Signature

__all__ = ["OnnxRuntime", "TorchEager"]


def _signature(path: str) -> Signature:
    told = json.loads((Path(path) / "signature.json").read_text())
    specs = [tuple([InputSpec(*entry) for entry in told[kind]]) for kind in ("inputs", "outputs")]
    return Signature(specs[0], specs[1], {"b": (1, None)})


class OnnxRuntime(Runtime):
    """onnxruntime, with its defaults."""

    def prepared(self, path: str) -> Served:
        """Load the file."""
        import onnxruntime

        session = onnxruntime.InferenceSession(str(Path(path) / "model.onnx"))
        name = session.get_inputs()[0].name
        return Served(_signature(path), lambda arrays: list(session.run(None, {name: arrays[0]})), stacks=True)


class TorchEager(Runtime):
    """PyTorch without a compiler."""

    def prepared(self, path: str) -> Served:
        """Build the net."""
        import torch

        from benchmarks.zoo.cases import CASES
        from benchmarks.zoo.torches import resnet

        net: Any = resnet(CASES["resnet18"])
        net.load_state_dict(torch.load(Path(path) / "weights.pt", weights_only=True))
        net.eval()

        def run(arrays: list[Any]) -> list[Any]:
            with torch.inference_mode():
                return [net(torch.from_numpy(arrays[0])).numpy()]

        return Served(_signature(path), run, stacks=True)
