"""Weak scaling by plan: what a chip needs and sends as chips are added. ``python -m benchmarks.scale > plans.jsonl``.

Nothing runs: XLA's TPU compiler says it (the extra ``tpu-plan``). Each net is planned in a process of its own, which
takes minutes; ``python -m benchmarks.scale --table plans.jsonl`` prints the rows of docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

MESHES = {8: "v5p:2x2x2", 64: "v5p:4x4x4", 512: "v5p:8x8x8", 4096: "v5p:16x16x16"}


def struct(*shape: int, dtype: Any = np.float32) -> Any:
    """Return the shape of a batch."""
    return jax.ShapeDtypeStruct(shape, dtype)


def bert_base(chips: int) -> dict[str, Any]:
    """BERT-base: 32 pieces of 128 words for each chip."""
    from examples.bert_pretrain import BASE, BERT
    from gluonx import loss

    net = BERT(30522, BASE)
    net.hybridize(scan=True)
    words = struct(32 * chips, BASE.length, dtype=np.int32)
    return {"net": net, "inputs": words, "labels": words, "loss": loss.SoftmaxCrossEntropyLoss(), "optimizer": "lamb"}


def resnet50(chips: int) -> dict[str, Any]:
    """ResNet-50: 64 images for each chip."""
    from gluonx import loss, model_zoo

    net = model_zoo.vision.resnet50_v1()
    net.hybridize()
    return {
        "net": net,
        "inputs": struct(64 * chips, 3, 224, 224),
        "labels": struct(64 * chips, dtype=np.int32),
        "loss": loss.SoftmaxCrossEntropyLoss(),
        "optimizer": "nag",
        "optimizer_params": {"momentum": 0.9},
    }


def decoder(layers: int, units: int, hidden: int, heads: int, length: int, rows: int) -> dict[str, Any]:
    """Return a decoder of words in bfloat16, one layer compiled for all, the inputs of layers kept."""
    import gluonx
    from gluonx import loss, nn, parallel

    class Layer(gluonx.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiHeadAttention(units, heads, causal=True)
            self.ffn = nn.PositionwiseFFN(units, hidden, dropout=0.0, activation="gelu", pre_norm=True)
            self.norm = nn.LayerNorm(in_channels=units)

        def forward(self, x: Any) -> Any:
            return self.ffn(x + self.attention(self.norm(x)))

    class Decoder(gluonx.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(32000, units)
            self.layers = nn.HybridSequential()
            self.layers.add(*[Layer() for _ in range(layers)])
            self.norm = nn.LayerNorm(in_channels=units)
            self.out = nn.Dense(32000, flatten=False, use_bias=False, in_units=units)

        def forward(self, words: Any) -> Any:
            return self.out(self.norm(self.layers(self.embed(words))))

    net = Decoder()
    net.cast("bfloat16")
    net.hybridize(scan=True, remat="layer")
    words = struct(rows, length, dtype=np.int32)
    return {
        "net": net,
        "inputs": words,
        "labels": words,
        "loss": loss.SoftmaxCrossEntropyLoss(),
        "optimizer": "adam",
        "optimizer_params": {"multi_precision": True},
        "rules": [parallel.fsdp()],
    }


def decoder7b(chips: int) -> dict[str, Any]:
    """Return a decoder of 7 billion parameters: a piece of 2,048 words for each chip."""
    return decoder(32, 4096, 16384, 32, 2048, chips)


def decoder70b(chips: int) -> dict[str, Any]:
    """Return a decoder of 70 billion parameters."""
    return decoder(80, 8192, 36864, 64, 2048, chips)


NETS = {"bert_base": bert_base, "resnet50": resnet50, "decoder7b": decoder7b, "decoder70b": decoder70b}


def one(name: str, mesh: str, chips: int) -> dict[str, Any]:
    """Plan one net on one mesh."""
    from dataclasses import asdict

    from gluonx import parallel

    begun = time.perf_counter()
    made = parallel.plan(**NETS[name](chips), mesh=mesh)
    return {"net": name, "took": time.perf_counter() - begun, **asdict(made)}


def table(lines: Iterable[str]) -> str:
    """Rows of docs/scale.md from lines of JSON."""
    rows = [
        "| net | chips | fits | GB a chip | weights and states | TFLOPs a step | GB by collectives | computing, ms "
        "| sending, ms | sending over computing | planned in, s |",
        "| --- " * 11 + "|",
    ]
    for made in sorted(map(json.loads, lines), key=lambda made: (made["net"], made["devices"])):
        computing, sending = made["seconds"]["computing"], made["seconds"]["sending"]
        sent = sum(entry["bytes"] for entry in made["collectives"])
        cells = [
            f"{made['net']} ({made['parameters'] / 1e6:,.0f} million)",
            f"{made['devices']:,}",
            "yes" if made["fits"] else "no",
            f"{made['needed'] / 1e9:.2f}",
            f"{(made['weights'] + made['states']) / 1e9:.2f}",
            f"{made['flops'] / 1e12:,.3f}",
            f"{sent / 1e9:.3g}",
            f"{computing * 1e3:,.2f}",
            f"{sending * 1e3:,.2f}",
            f"{sending / computing:.2f}",
            f"{made['took']:.0f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> int:
    """Plan all, or one in this process; print a line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nets", nargs="*", help=", ".join(NETS))
    parser.add_argument("--mesh", help="one mesh, in this process")
    parser.add_argument("--chips", type=int)
    parser.add_argument("--table", metavar="FILE", help="print what was planned before")
    options = parser.parse_args()
    if options.table:
        with open(options.table) as file:
            print(table(file))
        return 0
    if options.mesh:
        print(json.dumps(one(options.nets[0], options.mesh, options.chips)), flush=True)
        return 0
    for name in options.nets or list(NETS)[:3]:
        for chips, mesh in MESHES.items():
            command = [sys.executable, "-m", "benchmarks.scale", name, "--mesh", mesh, "--chips", str(chips)]
            subprocess.run(command, env={**os.environ, "JAX_PLATFORMS": "cpu"}, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
