"""Cases of the benchmark: operators, their attributes, and inputs of the shapes that real networks have."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

__all__ = ["CASES", "Case", "arrays", "trained"]


class Case(NamedTuple):
    """An operator of gluonx, its attributes, and its inputs as `array_of` reads them.

    `gradient` is False where there is none to speak of: whole numbers, or data that is moved and moved back. `random`
    results are not compared.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    attrs: dict[str, Any]
    gradient: bool = True
    random: bool = False


INPUT = re.compile(r"(?P<shape>\d+(x\d+)*)?(?P<kind> (fixed|positive|small|bool|boxes|<\d+)|#\S+)?$")


def array_of(text: str, rng: Any) -> Any:
    """Return an input.

    ``"8x16"`` are normal numbers of this shape, ``"8x16 fixed"`` such without a gradient, ``"8x16 small"`` such as
    small as weights. ``"8x16 positive"`` lie between 0.5 and 1.5, ``"8x16 <9"`` are whole numbers from 0 to 8, ``"8x16
    bool"`` truths, ``"8x6 boxes"`` boxes (class, score, corners; of 4 numbers the corners alone). ``"#0.1"`` is this
    number.
    """
    found = INPUT.match(text)
    assert found, text
    if text.startswith("#"):
        return np.asarray(float(text[1:]), np.float32)
    shape = tuple(int(n) for n in found.group("shape").split("x"))
    kind = (found.group("kind") or "").strip()
    if kind.startswith("<"):
        return rng.integers(0, int(kind[1:]), shape).astype(np.int32)
    if kind == "small":
        return rng.standard_normal(shape, np.float32) * np.float32(0.05)
    if kind == "bool":
        return rng.random(shape) < 0.5
    if kind == "positive":
        return rng.random(shape, np.float32) + np.float32(0.5)
    if kind == "boxes":
        corner, size = rng.random((*shape[:-1], 2)), rng.random((*shape[:-1], 2)) * 0.2
        parts = [corner, corner + size]
        if shape[-1] == 6:
            parts = [rng.integers(0, 20, (*shape[:-1], 1)), rng.random((*shape[:-1], 1)), *parts]
        return np.concatenate(parts, -1).astype(np.float32)
    return rng.standard_normal(shape, np.float32)


def arrays(case: Case) -> list[Any]:
    """Return the inputs, the same in every process."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    return [array_of(text, rng) for text in case.inputs]


def trained(case: Case) -> list[int]:
    """Return the positions of the inputs that have gradients."""
    return [i for i, text in enumerate(case.inputs) if re.match(r"[\dx]+( positive| small)?$", text)]


def row(op: str, *inputs: str, title: str = "", gradient: bool = True, random: bool = False, **attrs: Any) -> Case:
    """Return a case named by its operator, or its title, and its inputs."""
    many = len(inputs) > 4 and len(set(inputs)) == 1
    told = f"{len(inputs)} of {inputs[0]}" if many else ", ".join(inputs)
    return Case(f"{title or op}: {told}", op, inputs, attrs, gradient, random)


def conv(net: str, n: int, inner: int, size: int, out: int, k: int, s: int = 1, groups: int = 1, d: int = 1) -> Case:
    """Return a square convolution padded to keep its size, but for the stride; not padded where that is the kernel."""
    pad = 0 if k == s else d * ((k - 1) // 2)
    attrs: dict[str, Any] = {"kernel": (k, k), "stride": (s, s), "pad": (pad, pad), "num_filter": out}
    attrs.update(num_group=groups, dilate=(d, d), no_bias=True)
    more = f", {groups} groups" * (groups > 1) + f", dilated {d}" * (d > 1)
    name = f"{net}: {n}x{inner}x{size}x{size}, {k}x{k} to {out}, stride {s}{more}"
    return Case(name, "convolution", (f"{n}x{inner}x{size}x{size}", f"{out}x{inner // groups}x{k}x{k}"), attrs)


def of_weight(case: Case) -> Case:
    """Return a convolution of which the weight's gradient alone is asked for."""
    data, weight = case.inputs
    return case._replace(inputs=(f"{data} fixed", weight))


def conv_of(net: str, data: str, weight: str) -> Case:
    """Return a convolution along one or three axes, padded to keep its size."""
    out, _, *kernel = (int(n) for n in weight.split("x"))
    ones, pad = (1,) * len(kernel), tuple(k // 2 for k in kernel)
    attrs = {"kernel": tuple(kernel), "stride": ones, "pad": pad, "dilate": ones, "num_filter": out}
    return row("convolution", data, weight, title=net, num_group=1, no_bias=True, **attrs)


def deconv(net: str, n: int, inner: int, size: int, out: int, k: int, s: int, p: int) -> Case:
    """Return a square transposed convolution."""
    attrs: dict[str, Any] = {"kernel": (k, k), "stride": (s, s), "pad": (p, p), "num_filter": out, "no_bias": True}
    name = f"{net}: {n}x{inner}x{size}x{size}, transposed {k}x{k} to {out}, stride {s}"
    return Case(name, "deconvolution", (f"{n}x{inner}x{size}x{size}", f"{inner}x{out}x{k}x{k}"), attrs)


def pool(kind: str, data: str, k: int, s: int, p: int) -> Case:
    """Return a pooling with windows of `k` along every spatial axis."""
    axes = data.count("x") - 1
    attrs = {"kernel": (k,) * axes, "stride": (s,) * axes, "pad": (p,) * axes, "pool_type": kind}
    return row("pooling", data, title=f"{kind} pooling, {k} wide, stride {s}", **attrs)


def rnn(mode: str, parameters: int, states: int) -> Case:
    """Return a recurrent layer of 256 units."""
    inputs = ("35x32x256", f"{parameters} small", *["1x32x256"] * states)
    return row("rnn", *inputs, title=mode, mode=mode, state_size=256, num_layers=1)


WEIGHTS = [
    *((2, 32, 128, 32, 3), (2, 64, 64, 64, 3), (2, 64, 128, 32, 3), (16, 64, 56, 64, 3), (16, 256, 4, 256, 3)),
    *((4, 128, 56, 128, 3), (2, 16, 112, 16, 3), (1, 64, 224, 16, 3), (1, 3, 224, 64, 3), (1, 64, 224, 64, 3)),
    *((16, 64, 8, 64, 3), (16, 512, 4, 512, 3), (16, 128, 8, 128, 3), (8, 256, 14, 256, 3), (8, 128, 28, 128, 3)),
    *((8, 64, 28, 256, 3), (4, 16, 56, 64, 3), (8, 512, 14, 512, 3)),
    *((4, 64, 56, 256, 1), (4, 256, 56, 64, 1), (8, 512, 14, 512, 1), (16, 512, 4, 512, 1)),
    *((4, 64, 56, 64, 5), (8, 32, 28, 32, 5), (4, 16, 56, 16, 7), (8, 64, 14, 64, 7)),
    *((4, 3, 224, 64, 7, 2), (16, 3, 64, 64, 7, 2), (2, 3, 224, 32, 3, 2), (4, 64, 56, 128, 3, 2)),
    *((8, 256, 14, 512, 3, 2), (2, 32, 224, 64, 3, 2), (4, 256, 56, 512, 1, 2)),
    *((8, 64, 28, 64, 3, 1, 1, 2), (2, 256, 14, 256, 3, 1, 1, 4)),
    *((4, 128, 56, 128, 3, 1, 32), (8, 64, 28, 64, 3, 1, 4), (4, 96, 56, 96, 3, 1, 96), (4, 144, 56, 144, 3, 2, 144)),
    *((16, 192, 8, 192, 3, 1, 192), (4, 96, 56, 96, 7, 1, 96)),
]
"""Batch, channels, size, filters, kernel, stride, groups and dilation of a grid that asks for weights' gradients."""

CONVOLUTIONS = [
    conv("ResNet-18", 16, 3, 64, 64, 7, 2),
    conv("ResNet-18", 16, 64, 16, 64, 3),
    conv("ResNet-18", 16, 64, 16, 128, 3, 2),
    conv("ResNet-18", 16, 64, 16, 128, 1, 2),
    conv("ResNet-18", 16, 128, 8, 128, 3),
    conv("ResNet-18", 16, 128, 8, 256, 3, 2),
    conv("ResNet-18", 16, 256, 4, 256, 3),
    conv("ResNet-18", 16, 256, 4, 512, 3, 2),
    conv("ResNet-18", 16, 512, 2, 512, 3),
    conv("ResNet-50", 2, 64, 56, 256, 1),
    conv("ResNet-50", 2, 256, 56, 64, 1),
    conv("ResNet-50", 2, 128, 28, 128, 3),
    conv("ResNet-50", 2, 512, 28, 128, 1),
    conv("ResNet-50", 2, 1024, 14, 256, 1),
    conv("ResNet-50", 2, 512, 7, 512, 3),
    conv("ResNet-50", 2, 512, 7, 2048, 1),
    conv("ResNeXt-50", 2, 128, 56, 128, 3, 1, 32),
    conv("VGG", 4, 64, 64, 64, 3),
    conv("VGG", 4, 256, 16, 256, 3),
    conv("VGG", 4, 512, 4, 512, 3),
    conv("MobileNet", 16, 96, 32, 96, 3, 2, 96),
    conv("MobileNet", 16, 144, 16, 144, 3, 1, 144),
    conv("MobileNet", 16, 144, 16, 144, 3, 2, 144),
    conv("MobileNet", 16, 192, 8, 192, 3, 1, 192),
    conv("MobileNet", 16, 576, 4, 576, 3, 1, 576),
    conv("MobileNet", 16, 960, 2, 960, 3, 1, 960),
    conv("MobileNet", 2, 32, 112, 32, 3, 1, 32),
    conv("MobileNet", 16, 96, 4, 576, 1),
    conv("ConvNeXt", 2, 96, 56, 96, 7, 1, 96),
    conv("DeepLab", 2, 256, 14, 256, 3, 1, 1, 2),
    conv("7 on 6", 16, 64, 6, 64, 7),
    conv("stem", 4, 3, 224, 64, 7, 2),
    conv("ViT", 2, 3, 224, 768, 16, 16),
    conv("ConvNeXt", 4, 3, 224, 96, 4, 4),
    conv("ConvNeXt", 8, 192, 28, 384, 2, 2),
    *(of_weight(conv("weights", *sizes)) for sizes in WEIGHTS),
    conv_of("text CNN", "32x128x50", "100x128x5"),
    conv_of("video", "1x16x8x28x28", "32x16x3x3x3"),
    conv("DCGAN", 8, 64, 32, 128, 4, 2),
    conv("DCGAN", 8, 128, 16, 256, 4, 2),
    conv("DCGAN", 8, 256, 8, 512, 4, 2),
    deconv("DCGAN", 8, 512, 4, 256, 4, 2, 1),
    deconv("DCGAN", 8, 256, 8, 128, 4, 2, 1),
    deconv("DCGAN", 8, 128, 16, 64, 4, 2, 1),
    deconv("DCGAN", 8, 64, 32, 3, 4, 2, 1),
    deconv("DCGAN", 32, 100, 1, 256, 4, 1, 0),
    deconv("DCGAN", 32, 256, 4, 128, 4, 2, 1),
    deconv("DCGAN", 32, 128, 8, 64, 4, 2, 1),
    deconv("U-Net", 4, 64, 32, 32, 2, 2, 0),
]

POOLING = [
    pool("max", "16x64x32x32", 3, 2, 1),
    pool("max", "2x64x112x112", 3, 2, 1),
    pool("max", "16x64x32x32", 2, 2, 0),
    pool("max", "4x192x28x28", 3, 1, 1),
    pool("avg", "16x64x32x32", 3, 2, 1),
    pool("avg", "16x64x32x32", 2, 2, 0),
    pool("avg", "4x192x28x28", 3, 1, 1),
    pool("max", "32x100x50", 2, 2, 0),
    pool("max", "2x32x8x28x28", 2, 2, 0),
    row("pooling", "8x2048x7x7", title="global avg pooling", pool_type="avg", global_pool=True),
    row("pooling", "8x2048x7x7", title="global max pooling", pool_type="max", global_pool=True),
    row("pooling", "32x100x46", title="max over time", pool_type="max", global_pool=True),
    row("adaptive_avg_pooling", "4x256x13x13", output_size=(6, 6)),
    row("pixel_shuffle", "2x256x32x32", factors=(2, 2)),
]


def normalizations() -> Iterator[Case]:
    """Yield normalizations and softmax."""
    for data, c in (("16x64x32x32", 64), ("16x512x2x2", 512), ("4x256x28x28", 256)):
        moments = [f"{c} fixed", f"{c} positive"]
        yield row("batch_norm", data, str(c), str(c), *moments, title="batch norm", eps=1e-5, fix_gamma=False)
    for data in ("1024x768", "64x128x64", "8x128x768"):
        width = data.rpartition("x")[2]
        yield row("layer_norm", data, width, width, axis=-1)
    yield row("layer_norm", "2x96x56x56", "96", "96", title="layer norm of channels", axis=1)
    yield row("rms_norm", "1024x768", "768")
    yield row("group_norm", "2x64x56x56", "64", "64", num_groups=32)
    yield row("instance_norm", "2x64x64x64", "64", "64")
    yield row("lrn", "4x96x27x27", nsize=5)
    yield row("l2_normalization", "256x512")
    for data in ("64x1000", "96x128x128", "700x4000"):
        yield row("softmax", data, axis=-1)
        yield row("log_softmax", data, axis=-1)
    yield row("softmax", "8x21x64x64", title="softmax over channels", axis=1)
    yield row("log_softmax", "8x21x64x64", title="log_softmax over channels", axis=1)
    yield row("masked_softmax", "96x128x128", "96x128x128 bool", axis=-1)


LOSSES = [
    row("softmax_cross_entropy_loss", "64x1000", "64 <1000", title="cross-entropy"),
    row("softmax_cross_entropy_loss", "700x4000", "700 <4000", title="cross-entropy"),
    row("softmax_cross_entropy_loss", "160x30522", "160 <30522", title="cross-entropy"),
    row("softmax_cross_entropy_loss", "4x21x64x64", "4x64x64 <21", title="cross-entropy over channels", axis=1),
    row("softmax_cross_entropy_loss", "64x1000", "64x1000 fixed", title="cross-entropy of weights", sparse_label=False),
    row("softmax_output", "64x1000", "64 <1000", gradient=False),
    row("sigmoid_bce_loss", "8x1x128x128", "8x1x128x128 <2", title="sigmoid cross-entropy"),
    row("l2_loss", "16x4096", "16x4096 fixed"),
    row("huber_loss", "16x4096", "16x4096 fixed"),
    row("kl_div_loss", "64x1000", "64x1000 positive", from_logits=True),
    row("ctc_batch_loss", "8x100x40", "8x20 <39", title="CTC"),
]


def elementwise() -> Iterator[Case]:
    """One array, two arrays, and arrays that broadcast."""
    data = "16x64x32x32"
    for op in "relu sigmoid tanh exp softrelu softsign silu mish gelu elu selu hard_sigmoid erf sin square".split():
        yield row(op, data)
    for op in "log log1p sqrt rsqrt reciprocal gammaln cbrt".split():
        yield row(op, f"{data} positive")
    for op in "absolute sign floor".split():
        yield row(op, data, gradient=op == "absolute")
    yield row("gelu", data, title="gelu by tanh", approximate=True)
    yield row("leaky_relu", data, slope=0.1)
    yield row("leaky_relu", data, "64", title="prelu", act_type="prelu")
    yield row("clip", data, "#-1", "#1")
    yield row("dropout", "8x128x768", p=0.1, random=True)
    yield row("cast", data, dtype="int32", gradient=False)
    for op in "add multiply true_divide maximum".split():
        yield row(op, data, f"{data} positive")
        yield row(op, data, "1x64x1x1 positive")
    yield row("add", "1024x768", "768", title="bias")
    yield row("multiply", "64x128x64", "64x128x1", title="scale of rows")
    yield row("power", "1024x768 positive", "1024x768")
    yield row("arctan2", "1024x768", "1024x768 positive")
    yield row("logaddexp", "1024x768", "1024x768")
    yield row("mod", "1024x768", "1024x768 positive", gradient=False)
    yield row("greater", data, f"{data} positive", gradient=False)
    yield row("equal", "1024x768 <9", "1024x768 <9", gradient=False)
    yield row("where", "1024x768 bool", "1024x768", "1024x768")
    yield row("add_n", *["1024x768"] * 4)


def reductions() -> Iterator[Case]:
    """Along each axis, along several, along all."""
    data = "64x128x256"
    for axis in (0, 1, 2, None):
        for op in "sum mean max".split():
            yield row(op, data, title=f"{op} over {axis}", axis=axis)
    for axis in (0, 1, 2):
        for op in "var logsumexp cumsum argmax".split():
            yield row(op, data, title=f"{op} over {axis}", axis=axis, gradient=op != "argmax")
    for op in "sum mean var max".split():
        yield row(op, "16x64x32x32", title=f"{op} over (0, 2, 3)", axis=(0, 2, 3))
        yield row(op, "16x64x32x32", title=f"{op} over (2, 3)", axis=(2, 3))
    yield row("sum", "16x64x32x32", title="sum over (1, 3)", axis=(1, 3))
    yield row("std", data, title="std over 2", axis=2)
    yield row("prod", "1024x768 positive", title="prod over 1", axis=1)
    yield row("cumprod", "256x512 positive", title="cumprod over 1", axis=1)
    yield row("norm", "2048x1024", title="norm over all", axis=None)
    yield row("norm", "2048x1024", title="norm over 1", axis=1)
    yield row("any", f"{data} bool", title="any over 2", axis=2, gradient=False)
    yield row("argmax", "64x1000", title="argmax over 1", axis=1, gradient=False)
    yield row("argmax", "700x30522", title="argmax over 1", axis=1, gradient=False)


INDEXING = [
    row("embedding", "1024 <10000", "10000x256", input_dim=10000, output_dim=256),
    row("embedding", "8x128 <30522", "30522x768", input_dim=30522, output_dim=768),
    row("embedding", "4096 <1000", "1000x64", input_dim=1000, output_dim=64),
    row("take", "10000x256", "1024 <10000", title="take of rows", axis=0),
    row("take", "512x2048", "256 <2048", title="take of columns", axis=1),
    row("take", "8x128x768", "20 <128", title="take of places", axis=1),
    row("take_along_axis", "64x128x256", "64x20x256 <128", axis=1),
    row("take_along_axis", "700x4000", "700x1 <4000", axis=-1),
    row("gather_nd", "64x128x256", "2x1280 <64"),
    row("scatter_nd", "1280x256", "2x1280 <64", shape=(64, 64, 256), random=True),  # which of two wins is open
    row("index_add", "64x128x256", "2x1280 <64", "1280x256"),
    row("index_update", "64x128x256", "2x1280 <64", "1280x256", gradient=False),
    row("pick", "700x4000", "700 <4000", axis=-1),
    row("one_hot", "700 <4000", depth=4000, gradient=False),
    row("one_hot", "32x128 <30", depth=30, gradient=False),
    row("topk", "64x1000", title="top 5", k=5, ret_typ="value"),
    row("topk", "64x1000", title="indices of top 5", k=5, ret_typ="indices", gradient=False),
    row("topk", "8x20000", title="top 200", k=200, ret_typ="value"),
    row("topk", "700x30522", title="top 5", k=5, ret_typ="value"),
    row("sort", "64x1000"),
    row("sort", "8x20000"),
    row("sort", "300000"),
    row("argsort", "64x1000", gradient=False),
    row("argsort", "8x20000", gradient=False),
    row("sort", "2000x64", title="sort over 0", axis=0),
]

MOVEMENT = [
    row("transpose", "8x128x12x64", title="transpose to heads", axes=(0, 2, 1, 3), gradient=False),
    row("transpose", "16x64x32x32", title="transpose to channels last", axes=(0, 2, 3, 1), gradient=False),
    row("transpose", "16x32x32x64", title="transpose to channels first", axes=(0, 3, 1, 2), gradient=False),
    row("transpose", "1024x2048", title="transpose of a matrix", axes=(1, 0), gradient=False),
    row("transpose", "64x128x256", title="transpose of axes 0 and 2", axes=(2, 1, 0), gradient=False),
    row("swapaxes", "64x128x256", axis1=0, axis2=1, gradient=False),
    row("concatenate", "8x128x28x28", "8x32x28x28", title="concatenate channels", axis=1),
    row("concatenate", "1024x768", "1024x256", title="concatenate columns", axis=-1),
    row("concatenate", "512x768", "512x768", title="concatenate rows", axis=0),
    row("stack", *["32x256"] * 35, title="stack", axis=0),
    row("stack", *["1024x256"] * 3, title="stack last", axis=-1),
    row("split", "8x128x2304", title="split in 3", indices_or_sections=3, axis=-1),
    row("slice", "16x64x32x32", begin=(0, 0, 1, 1), end=(16, 64, 31, 31)),
    row("slice", "16x64x32x32", title="slice with steps", begin=(0, 0, 0, 0), end=(16, 64, 32, 32), step=(1, 1, 2, 2)),
    row("slice_axis", "8x128x768", axis=1, begin=0, end=1),
    row("pad", "4x64x56x56", title="pad with zeros", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)),
    row("pad", "4x64x56x56", title="pad by reflection", mode="reflect", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)),
    row("tile", "1024x128", reps=(2, 2)),
    row("repeat", "4x64x32x32", title="repeat of rows", repeats=2, axis=2),
    row("repeat", "4x64x32x32", title="repeat of columns", repeats=2, axis=3),
    row("flip", "16x3x128x128", axis=(3,), gradient=False),
    row("roll", "8x56x56x96", shift=(3, 3), axis=(1, 2), gradient=False),
    row("broadcast_to", "64x1x256", shape=(64, 128, 256)),
    row("tril", "96x128x128", gradient=False),
]

PRODUCTS = [
    row("fully_connected", "32x784", "128x784", num_hidden=128, no_bias=True),
    row("fully_connected", "256x512", "512x512", num_hidden=512, no_bias=True),
    row("fully_connected", "8x4096", "4096x4096", num_hidden=4096, no_bias=True),
    row("fully_connected", "8x128x768", "3072x768", "3072", num_hidden=3072, flatten=False),
    row("dot", "512x512", "512x512"),
    row("matmul", "8x12x128x64", "8x12x64x128"),
    row("batch_dot", "96x128x64", "96x64x128"),
    row("batch_dot", "96x128x64", "96x128x64", title="batch_dot, second transposed", transpose_b=True),
    row("batch_dot", "96x128x128", "96x128x64", title="batch_dot, first transposed", transpose_a=True),
    row("batch_dot", "96x64x128", "96x128x64", title="batch_dot, both transposed", transpose_a=True, transpose_b=True),
    row("batch_dot", "512x1x64", "512x64x50", title="batch_dot of single rows"),
    row("einsum", "8x128x12x64", "8x128x12x64", title="scores by einsum", subscripts="blhd,bmhd->bhlm"),
    row("einsum", "8x12x128x128", "8x128x12x64", title="context by einsum", subscripts="bhlm,bmhd->blhd"),
    row("tensordot", "32x16x64", "16x64x128", axes=2),
]

SEQUENCES = [
    rnn("lstm", 526336, 2),
    rnn("gru", 394752, 1),
    rnn("rnn_tanh", 131584, 1),
    row("dot_product_attention", *["8x128x12x64"] * 3, title="attention"),
    row("dot_product_attention", *["8x128x12x64"] * 3, title="causal attention", causal=True),
    row("dot_product_attention", *["1x512x8x64"] * 3, title="attention"),
    row("interleaved_matmul_selfatt_qk", "128x8x2304", heads=12),
    row("interleaved_matmul_selfatt_valatt", "128x8x2304", "96x128x128", heads=12),
    row("sequence_mask", "35x32x256", "32 <35", use_sequence_length=True),
    row("sequence_last", "35x32x256", "32 <35", use_sequence_length=True),
    row("sequence_reverse", "35x32x256", "32 <35", use_sequence_length=True, gradient=False),
]

VISION = [
    row("bilinear_resize", "2x64x32x32", height=64, width=64, align_corners=False),
    row("box_iou", "1000x4 boxes", "100x4 boxes", gradient=False),
    row("box_nms", "1x1000x6 boxes", overlap_thresh=0.5, id_index=0, gradient=False),
    row("image.normalize", "8x3x224x224", mean=(0.5, 0.5, 0.5), std=(0.2, 0.2, 0.2), gradient=False),
]


def draws() -> Iterator[Case]:
    """Random numbers, and steps of optimizers."""
    size = (1024, 1024)
    yield row("random_normal", "#0", "#1", size=size, gradient=False, random=True)
    yield row("random_uniform", "#0", "#1", size=size, gradient=False, random=True)
    yield row("random_exponential", "#1", size=size, gradient=False, random=True)
    yield row("random_gamma", "#2", "#1", size=size, gradient=False, random=True)
    yield row("random_permutation", "100000", gradient=False, random=True)
    one = "1000000"
    numbers = {"lr": "#0.1", "momentum": "#0.9", "wd": "#0.0001", "rescale": "#1", "clip": "#-1"}
    yield row("sgd_mom_update", one, one, one, *numbers.values(), gradient=False)
    adam = ["#0.001", "#0.9", "#0.999", "#1e-08", "#0", "#1", "#-1"]
    yield row("adam_update", one, one, one, f"{one} positive", *adam, gradient=False)


CASES = {
    case.name: case
    for case in (
        *CONVOLUTIONS,
        *POOLING,
        *normalizations(),
        *LOSSES,
        *elementwise(),
        *reductions(),
        *INDEXING,
        *MOVEMENT,
        *PRODUCTS,
        *SEQUENCES,
        *VISION,
        *draws(),
    )
}
