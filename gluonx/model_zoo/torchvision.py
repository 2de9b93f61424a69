"""Torchvision's names for the parameters of the zoo's models.

Of AlexNet, VGG, SqueezeNet, DenseNet, Inception v3 and the ResNets of basic blocks (18 and 34, V1) torchvision has the
same network. Its ResNet-50, 101 and 152 stride in the 3x3 convolution where MXNet's stride in the first 1x1, and its
MobileNetV2 has no expansion in the first block: the zoo makes those networks when it is asked for them, as
``resnet50_v1(torchvision=True)``. Into MXNet's their weights would load and compute something else, so they are
refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_LEAVES = {"gamma": "weight", "beta": "bias"}
_NORMS = {0: "norm1", 2: "conv1", 3: "norm2", 5: "conv2"}
_STEM = ("Conv2d_1a_3x3", "Conv2d_2a_3x3", "Conv2d_2b_3x3", "Conv2d_3b_1x1", "Conv2d_4a_3x3")
_MIXED = {
    "5b 5c 5d": "1x1 5x5_1 5x5_2 3x3dbl_1 3x3dbl_2 3x3dbl_3 _pool",
    "6a": "3x3 3x3dbl_1 3x3dbl_2 3x3dbl_3",
    "6b 6c 6d 6e": "1x1 7x7_1 7x7_2 7x7_3 7x7dbl_1 7x7dbl_2 7x7dbl_3 7x7dbl_4 7x7dbl_5 _pool",
    "7a": "3x3_1 3x3_2 7x7x3_1 7x7x3_2 7x7x3_3 7x7x3_4",
    "7b 7c": "1x1 3x3_1 3x3_2a 3x3_2b 3x3dbl_1 3x3dbl_2 3x3dbl_3a 3x3dbl_3b _pool",
}
_ALEXNET = {0: 0, 2: 3, 4: 6, 5: 8, 6: 10}


def _resnet(stem: str) -> str:
    hit = re.fullmatch(r"features\.(\d+)\.(\d+)\.(body|downsample)\.(\d+)", stem)
    if hit:
        stage, block, part, i = int(hit[1]) - 3, hit[2], hit[3], int(hit[4])
        inner = f"downsample.{i}" if part == "downsample" else f"{('conv', 'bn')[i % 3]}{i // 3 + 1}"
        return f"layer{stage}.{block}.{inner}"
    return {"features.0": "conv1", "features.1": "bn1", "output": "fc"}[stem]


def _squeezenet(stem: str) -> str:
    ends = {".0.0": ".squeeze", ".1.0.0": ".expand1x1", ".1.1.0": ".expand3x3"}
    hit = re.fullmatch(r"(features\.\d+)((?:\.\d+)*)", stem)
    return "classifier.1" if hit is None else hit[1] + (ends[hit[2]] if hit[2] else "")


def _mobilenet(stem: str) -> str:
    if stem.startswith("output"):
        return "classifier.1"
    place, *inner = [int(part) for part in stem.split(".") if part.isdigit()]
    if not inner:
        return f"features.{0 if place < 3 else 18}.{place % 3 if place < 3 else place - 20}"
    # Units of a convolution, its normalization and an activation are one place there, the last unit's parts are two.
    last = 3 if place == 3 else 6
    unit = f"{inner[0] // 3}.{inner[0] % 3}" if inner[0] < last else str(last // 3 + inner[0] - last)
    return f"features.{place - 2}.conv.{unit}"


def _inception(params: Mapping[str, Any]) -> Callable[[str], str]:
    """Return the names of Inception's convolutions and normalizations, which come in the same order there."""
    mixed = [
        f"Mixed_{name}.branch{part}"
        for names, parts in _MIXED.items()
        for name in names.split()
        for part in parts.split()
    ]
    stems = dict.fromkeys(name.rpartition(".")[0] for name in params if not name.startswith("output"))
    names = [f"{unit}.{part}" for unit in (*_STEM, *mixed) for part in ("conv", "bn")]
    return {"output": "fc", **dict(zip(stems, names, strict=True))}.__getitem__


def _densenet(stem: str) -> str:
    if stem == "output":
        return "classifier"
    place, *inner = [int(part) for part in stem.split(".")[1:]]
    if len(inner) == 3:
        return f"features.denseblock{place // 2 - 1}.denselayer{inner[0] + 1}.{_NORMS[inner[2]]}"
    if inner:
        return f"features.transition{(place - 3) // 2}.{('norm', '', 'conv')[inner[0]]}"
    return "features." + {0: "conv0", 1: "norm0"}.get(place, "norm5")


def _flat(places: Mapping[int, int] | None, first: int, dense: list[str]) -> Callable[[str], str]:
    """Return the names of AlexNet or VGG: convolutions by their place, then three dense layers."""

    def name(stem: str) -> str:
        if stem == "output":
            return "classifier.6"
        if stem in dense:
            return f"classifier.{dense.index(stem) * 3 + first}"
        place = int(stem.split(".")[1])
        return f"features.{place if places is None else places[place]}"

    return name


def _names(net: Any, params: Mapping[str, Any]) -> Callable[[str], str] | None:
    kinds = {cls.__name__ for cls in type(net).__mro__ if cls.__module__.startswith("gluonx.model_zoo.")}
    stems = dict.fromkeys(n.rpartition(".")[0] for n, p in params.items() if len(p.shape or ()) == 2)
    dense = [stem for stem in stems if stem != "output"]
    if "AlexNet" in kinds:
        return _flat(_ALEXNET, 1, dense)
    if "VGG" in kinds:
        return _flat(None, 0, dense)
    if "SqueezeNet" in kinds:
        return _squeezenet
    if "DenseNet" in kinds:
        return _densenet
    if "Inception3" in kinds:
        return _inception(params)
    if "MobileNetV2" in kinds:
        return _mobilenet if any(name.startswith("output.1.") for name in params) else None
    # A bottleneck of MXNet's has biases, a thumbnail no first normalization.
    same = "features.1.gamma" in params and "features.4.0.body.0.bias" not in params
    return _resnet if "ResNetV1" in kinds and same else None


def renewed(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of a file of torchvision's under the names that it has today, without what only trains.

    Examples
    --------
    >>> renewed({"features.denseblock1.denselayer1.norm.1.weight": 0, "AuxLogits.fc.bias": 0})
    {'features.denseblock1.denselayer1.norm1.weight': 0}
    """
    kept = {name: value for name, value in arrays.items() if not name.startswith("AuxLogits.")}
    return {re.sub(r"(denselayer\d+\.(?:norm|conv))\.(?=[12]\.)", r"\1", name): kept[name] for name in kept}


def names_of(net: Any) -> dict[str, str]:
    """Return the map from torchvision's names of a net's parameters to ours.

    Parameters
    ----------
    net : Block
        A model of the zoo.

    Raises
    ------
    ValueError
        If torchvision has no network that computes the same.

    Examples
    --------
    >>> from gluonx.model_zoo.vision import resnet18_v1
    >>> names_of(resnet18_v1())["layer1.0.conv2.weight"]
    'features.4.0.body.3.weight'
    """
    params = net.collect_params()
    name = _names(net, params)
    if name is None:
        raise ValueError(
            f"torchvision has no network that computes what this {type(net).__name__} does, so its weights are not "
            "taken. There are names for AlexNet, VGG, SqueezeNet, DenseNet, Inception v3, ResNet V1 and MobileNetV2; "
            "the deep ResNets and MobileNetV2 are torchvision's networks if made so, as in "
            "resnet50_v1(torchvision=True)."
        )
    result = {}
    for ours in params:
        stem, _, leaf = ours.rpartition(".")
        result[f"{name(stem)}.{_LEAVES.get(leaf, leaf)}"] = ours
    return result
