"""Torchvision's names for the parameters of the zoo's models.

Of AlexNet, VGG, SqueezeNet, DenseNet and the ResNets of basic blocks (18 and 34, V1) torchvision has the same network.
It has no such network for the others: its ResNet-50, 101 and 152 stride in the 3x3 convolution where MXNet's stride in
the first 1x1, its MobileNetV2 has no expansion in the first block. Their weights would load and compute something else,
so they are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_LEAVES = {"gamma": "weight", "beta": "bias"}
_NORMS = {0: "norm1", 2: "conv1", 3: "norm2", 5: "conv2"}
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
    # A bottleneck has a third convolution, a thumbnail no first normalization.
    same = "features.1.gamma" in params and "features.4.0.body.6.weight" not in params
    return _resnet if "ResNetV1" in kinds and same else None


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
            "taken. There are names for AlexNet, VGG, SqueezeNet, DenseNet, and ResNet-18 and 34 of V1."
        )
    result = {}
    for ours in params:
        stem, _, leaf = ours.rpartition(".")
        result[f"{name(stem)}.{_LEAVES.get(leaf, leaf)}"] = ours
    return result
