"""Cases of the benchmark: models, their data, their optimizers, the bounds of the table. It imports no framework."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["CASES", "CURRENT", "EPSILON", "FRACTIONS", "TIED", "Case", "data", "fuse_attention", "layers_of"]

# Bounds of gluonx over (hand-written JAX, MXNet 2.0, PyTorch), hybridized and not.
VISION = (1.0, 1.0, 1.1)
LARGE = (1.0, 1.1, 1.1)
# The same for peak memory.
FRACTIONS = (1.05, 1.0, 1.1)


class Case(NamedTuple):
    """A workload. `shape` is that of the inputs, `size` what the model is made of besides."""

    name: str
    model: str
    shape: tuple[int, ...]
    classes: int = 10
    optimizer: str = "sgd"
    rate: float = 0.01
    kind: str = "train"
    size: dict[str, Any] = {}  # noqa: RUF012 - nobody writes into it
    bounds: tuple[float, ...] | None = VISION
    eager_bounds: tuple[float, ...] | None = None
    gigabytes: float = 0.8  # what a side's process may need
    sides: tuple[str, ...] | None = None  # those that have it; None: all

    @property
    def title(self) -> str:
        """For the table."""
        return f"{self.name}, {'x'.join(map(str, self.shape))}, {self.kind}"


def mlp(layers: int, bounds: tuple[float, ...], eager: tuple[float, ...]) -> Case:
    """Return a net that is dispatch and nothing else."""
    size = {"layers": layers}
    return Case(f"mlp{layers}", "mlp", (8, 32), 32, "adam", 1e-3, "train", size, bounds, eager)


def bert(name: str, layers: int) -> Case:
    """BERT-base, or its first layers: masked words, 20 of each sequence."""
    size = {"layers": layers, "units": 768, "hidden": 3072, "heads": 12, "masked": 20}
    return Case(name, "bert", (8, 128), 30522, "adam", 1e-4, "train", size, gigabytes=0.7 + 0.25 * layers)


def current(name: str, shape: tuple[int, ...], classes: int, **size: Any) -> Case:
    """Return a model of today, as the example of its name trains it, but at a constant rate."""
    sides = ("gluonx", "gluonx-eager", "flax", "torch")
    return Case(name, name, shape, classes, "adamw", 1e-3, "train", size, None, sides=sides)


CASES = {
    case.name: case
    for case in (
        mlp(2, (1.5, 0.15, 0.5), (2.0, 0.2, 0.6)),
        mlp(12, (1.25, 0.15, 0.5), (1.6, 0.2, 0.6)),
        mlp(48, (1.1, 0.3, 0.5), (1.4, 0.4, 0.6)),
        Case("lenet", "lenet", (32, 1, 28, 28)),
        Case("resnet18", "resnet18", (16, 3, 64, 64), rate=1e-4),
        Case("mobilenetv2", "mobilenetv2", (16, 3, 64, 64), rate=1e-5),
        Case("unet", "unet", (2, 3, 128, 128), 1, size={"widths": (32, 64, 128, 256)}),
        Case("dcgan", "dcgan", (8, 3, 64, 64), 1, "adam", 2e-4, size={"width": 64, "noise": 100}),
        Case("lstm", "lstm", (35, 20), 4000, "adam", 2e-3, size={"units": 200, "layers": 2, "clip": 0.25}),
        bert("bert2", 2),
        Case("resnet50-predict", "resnet50", (8, 3, 224, 224), 1000, kind="predict", bounds=LARGE, gigabytes=1.2),
        Case("resnet50", "resnet50", (8, 3, 224, 224), 1000, rate=1e-5, bounds=LARGE, gigabytes=2.2),
        bert("bert", 12),
        current("gpt", (8, 128), 96, layers=3, units=96, hidden=288, heads=4, shared=2, decay=0.1),
        current("vit_lora", (64, 1, 8, 8), 10, layers=3, units=48, hidden=96, heads=4, rank=8, decay=0.01),
        current("diffusion", (64, 1, 8, 8), 10, channels=32, times=100, decay=0.0),
        current("masked_packed", (16, 128), 2000, layers=3, units=96, hidden=384, heads=4, decay=0.01),
        current("graph", (2000, 8), 4, layers=3, units=32, degree=16, decay=0.05),
    )
}

CURRENT = [name for name, case in CASES.items() if case.sides is not None]
"""Cases that are examples: the modules ``current_...`` of the sides have them."""

TIED = {"lstm": {"output.weight": "embedding.weight"}, "bert": {"output.weight": "words.weight"}}
"""Parameters of a model that are another parameter."""

EPSILON = 1e-10
"""Of Adam. MXNet adds it before the bias correction and others after; where it is small they do the same."""


def data(case: Case) -> tuple[list[Any], Any]:
    """Return a fixed batch: the inputs and the labels. Numbers of words and classes are int32."""
    rng = np.random.RandomState(0)

    def whole(top: int, *shape: int) -> Any:
        return rng.randint(0, top, shape).astype("int32")

    if case.name in CURRENT:
        return current_data(case, rng, whole)
    if case.model == "lstm":
        words = whole(case.classes, case.shape[0] + 1, case.shape[1])
        return [words[:-1]], words[1:]
    if case.model == "bert":
        batch, length = case.shape
        masked = case.size["masked"]
        places = np.stack([np.sort(rng.permutation(length)[:masked]) + i * length for i in range(batch)])
        return [whole(case.classes, *case.shape), places.reshape(-1).astype("int32")], whole(
            case.classes, batch * masked
        )
    inputs = [rng.standard_normal(case.shape).astype("float32")]
    if case.model == "dcgan":
        noise = rng.standard_normal((case.shape[0], case.size["noise"], 1, 1))
        return [np.tanh(inputs[0]), noise.astype("float32")], None
    if case.model == "unet":
        return inputs, (rng.uniform(size=(case.shape[0], 1) + case.shape[2:]) < 0.5).astype("float32")
    return inputs, whole(case.classes, case.shape[0])


def current_data(case: Case, rng: Any, whole: Any) -> tuple[list[Any], Any]:
    """Return the same for the cases that are examples."""
    if case.model == "gpt":
        words = whole(case.classes, case.shape[0], case.shape[1] + 1)
        return [words[:, :-1]], words[:, 1:]
    if case.model == "masked_packed":
        batch, length = case.shape
        starts = rng.uniform(size=case.shape) < 0.04  # where a paragraph begins
        starts[:, 0] = True
        segments = np.cumsum(starts, 1)
        places = np.arange(length) - np.maximum.accumulate(np.where(starts, np.arange(length), 0), 1)
        words, asked = whole(case.classes, batch, length), rng.uniform(size=case.shape) < 0.15
        seen = np.where(asked, 0, words)
        return [x.astype("int32") for x in (seen, segments, places)] + [asked.astype("float32")], words
    if case.model == "graph":
        nodes = case.shape[0]
        edges, told = whole(nodes, 2, nodes * case.size["degree"]), rng.uniform(size=nodes) < 0.05
        return [rng.standard_normal(case.shape).astype("float32"), edges, told.astype("float32")], whole(
            case.classes, nodes
        )
    images, batch = rng.standard_normal(case.shape).astype("float32"), case.shape[0]
    if case.model == "diffusion":
        noise = rng.standard_normal(case.shape).astype("float32")
        return [images, whole(case.size["times"], batch), whole(case.classes, batch)], noise
    return [images], whole(case.classes, batch)


def fuse_attention(weights: dict[str, Any]) -> dict[str, Any]:
    """Query, key and value of each attention as one matrix, ``qkv``: for the sides that write it so."""
    fused = {}
    for name, value in weights.items():
        before, _, kind = name.rpartition(".")
        place, _, part = before.rpartition(".")
        if part == "query":
            parts = [weights[f"{place}.{p}.{kind}"] for p in ("query", "key", "value")]
            fused[f"{place}.qkv.{kind}"] = np.concatenate(parts)
        elif part not in ("key", "value"):
            fused[name] = value
    return fused


def layers_of(model: str) -> list[tuple[int, int, int, int]]:
    """Give the bottlenecks of MobileNetV2 (expansion, channels, how many, first stride) or a ResNet's stages."""
    if model == "mobilenetv2":
        return [
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)
        ]  # fmt: skip
    counts = {"resnet18": (2, 2, 2, 2), "resnet50": (3, 4, 6, 3)}[model]
    wide = 4 if model == "resnet50" else 1
    return [(wide, 64 * wide * 2**i, count, 2 if i else 1) for i, count in enumerate(counts)]
