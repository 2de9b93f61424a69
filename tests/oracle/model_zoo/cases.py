"""Networks that are compared with MXNet, their images and their weights.

Weights are a function of the parameter's name and shape, images of their size, so golden files hold outputs only. This
file is read by the oracle's Python too (NumPy 1.23, no JAX).
"""

import math
import zlib

import numpy as onp

__all__ = ["CASES", "MODELS", "image", "make", "weight"]

# Every model that has a name, and an image it takes; where the last pooling has a fixed window that is not a small one.
MODELS = {
    "alexnet": 67,
    **{f"densenet{n}": 224 for n in (121, 161, 169, 201)},
    "inceptionv3": 299,
    **{f"{kind}{width}": 32 for kind in ("mobilenet", "mobilenetv2_") for width in ("0.25", "0.5", "0.75", "1.0")},
    **{f"resnet{n}_v{version}": 32 for n in (18, 34, 50, 101, 152) for version in (1, 2)},
    "squeezenet1.0": 224,
    "squeezenet1.1": 224,
    **{f"vgg{n}{tail}": 32 for n in (11, 13, 16, 19) for tail in ("", "_bn")},
}

# Networks that no name has: the families' own parameters, small.
CASES = {
    "densenet-small": (64, lambda v, **kw: v.DenseNet(8, 4, [2, 3], bn_size=2, dropout=0.2, classes=7, **kw)),
    "resnet-v1-thumbnail": (
        16,
        lambda v, **kw: v.ResNetV1(v.BasicBlockV1, [1, 2], [8, 8, 16], classes=7, thumbnail=True, **kw),
    ),
    "resnet-v1-bottleneck": (33, lambda v, **kw: v.ResNetV1(v.BottleneckV1, [1, 1], [8, 16, 32], classes=7, **kw)),
    "resnet-v2-thumbnail": (
        16,
        lambda v, **kw: v.ResNetV2(v.BottleneckV2, [1, 2], [8, 16, 32], classes=7, thumbnail=True, **kw),
    ),
    "vgg-small": (20, lambda v, **kw: v.VGG([1, 2], [4, 8], classes=7, **kw)),
    "vgg-small-bn": (20, lambda v, **kw: v.VGG([1, 2], [4, 8], classes=7, batch_norm=True, **kw)),
    "mobilenet-thin": (33, lambda v, **kw: v.MobileNet(0.125, classes=7, **kw)),
    "mobilenetv2-thin": (33, lambda v, **kw: v.MobileNetV2(0.25, classes=7, **kw)),
}


def make(vision, key, **kwargs):
    """The network of a key, and the size of its image."""
    if key in CASES:
        size, build = CASES[key]
        return build(vision, **kwargs), size
    return vision.get_model(key, classes=7, **kwargs), MODELS[key]


def _rng(words):
    return onp.random.RandomState(zlib.crc32(words.encode()))


def weight(name, shape):
    """The value of a parameter, such that signals neither grow nor die; `shape` is that of NCHW."""
    rng, kind = _rng(name), name.rpartition(".")[2]
    if kind in ("gamma", "running_var"):
        return rng.uniform(0.8, 1.2, shape).astype("float32")
    if kind != "weight":
        return rng.uniform(-0.2, 0.2, shape).astype("float32")
    bound = math.sqrt(6 / max(1, math.prod(shape[1:])))
    return (bound * (2 * rng.random_sample(shape) - 1)).astype("float32")


def image(size):
    """One image, NCHW."""
    return _rng(f"image {size}").uniform(-1, 1, (1, 3, size, size)).astype("float32")
