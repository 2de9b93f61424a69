"""The contract table: every layer and every loss stands here once, as a row: how to make it and what to feed it.

The tests sweep the rows (`test_layers.py`, `test_loss.py`, `test_metric.py`), and so does the script that asks MXNet
2.0 for golden numbers (`oracle/layers/make_golden.py`). A row therefore names no library: its ``make`` is given the
namespace to build from. Inputs and weights come from the row's key alone, so that golden files hold results only. A new
layer is one row, and one run of the script.

This file must stay importable by the oracle's Python, which has NumPy 1.23 and no JAX.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as onp

__all__ = ["LAYERS", "LOSSES", "METRICS", "Feed", "Metric", "Row", "head", "weight"]


def _rng(*words: Any) -> onp.random.RandomState:
    return onp.random.RandomState(zlib.crc32("/".join(map(str, words)).encode()))


@dataclass(frozen=True)
class Feed:
    """One input array: its shape and what kind of numbers it holds."""

    shape: tuple[int, ...]
    kind: str = "real"
    bound: int = 2
    dtype: str = "float32"

    @property
    def differentiable(self) -> bool:
        return self.kind in ("real", "positive", "unit")

    def array(self, *words: Any) -> onp.ndarray:
        """The numbers, a function of the words."""
        rng = _rng(*words)
        if self.kind == "index":
            x = rng.randint(0, self.bound, self.shape)
        elif self.kind == "padded":  # sequences of indices that end before a -1
            x = rng.randint(0, self.bound, self.shape)
            x[..., -1] = -1
        elif self.kind == "stray":  # an index that may lie out of range
            x = rng.randint(-2, self.bound + 2, self.shape)
        elif self.kind == "sign":
            x = rng.randint(0, 2, self.shape) * 2 - 1
        elif self.kind == "count":
            x = rng.poisson(2.0, self.shape)
        elif self.kind == "simplex":  # a distribution along the last axis
            x = rng.uniform(0.1, 1.0, self.shape)
            x = x / x.sum(-1, keepdims=True)
        elif self.kind in ("positive", "unit"):
            x = rng.uniform(0.1, 0.9, self.shape)
        else:
            x = rng.uniform(-2.0, 2.0, self.shape)
        return x.astype(self.dtype)


@dataclass(frozen=True)
class Row:
    """A layer or a loss: how to make it from a namespace, and its inputs.

    ``random`` says that its output in training cannot be compared number by number; ``golden`` that MXNet has it.
    ``known`` names the numbers that MXNet gets wrong, or that differ on purpose, with the reason. ``rounding`` is what
    the gradients of two ways of computing it in float32 may differ by.
    """

    key: str
    make: Callable[[Any], Any]
    feeds: tuple[Feed, ...]
    random: bool = False
    golden: bool = True
    tol: float = 1e-5
    rounding: float = 2e-6
    known: dict[str, str] = field(default_factory=dict)

    def inputs(self) -> list[onp.ndarray]:
        return [feed.array(self.key, "input", i) for i, feed in enumerate(self.feeds)]


@dataclass(frozen=True)
class Metric:
    """A metric: how to make it, and the batches (label, prediction) of an epoch."""

    key: str
    make: Callable[[Any], Any]
    batches: tuple[tuple[Feed, Feed], ...]
    golden: bool = True

    def epoch(self) -> list[tuple[onp.ndarray, onp.ndarray]]:
        return [
            (label.array(self.key, "label", i), pred.array(self.key, "pred", i))
            for i, (label, pred) in enumerate(self.batches)
        ]


def weight(key: str, name: str, shape: tuple[int, ...]) -> onp.ndarray:
    """The value of a parameter in every test of a row: positive for scales and variances."""
    low = 0.5 if name.split(".")[-1] in ("gamma", "running_var", "alpha") else -1.0
    return _rng(key, name).uniform(low, 1.5, shape).astype("float32")


def head(key: str, shape: tuple[int, ...]) -> onp.ndarray:
    """The gradient that the output is given."""
    return _rng(key, "head").uniform(-1.0, 1.0, shape).astype("float32")


def real(*shape: int) -> Feed:
    return Feed(shape)


def index(bound: int, *shape: int, kind: str = "index", dtype: str = "float32") -> Feed:
    return Feed(shape, kind, bound, dtype)


def _row(key: str, make: Callable[[Any], Any], *feeds: Feed, **more: Any) -> Row:
    return Row(key, make, feeds, **more)


def _stack(nn: Any, name: str, *blocks: Any) -> Any:
    """A container of blocks, filled with ``add``."""
    box = getattr(nn, name)()
    box.add(*blocks)
    return box


_BASIC = [
    _row("dense", lambda nn: nn.Dense(3), real(4, 5)),
    _row("dense-known", lambda nn: nn.Dense(3, in_units=5), real(4, 5)),
    _row("dense-flatten", lambda nn: nn.Dense(3), real(2, 3, 4)),
    _row("dense-keep", lambda nn: nn.Dense(3, flatten=False), real(2, 3, 4)),
    _row("dense-no-bias", lambda nn: nn.Dense(3, use_bias=False), real(4, 5)),
    _row("dense-relu", lambda nn: nn.Dense(6, activation="relu"), real(4, 5)),
    _row("dense-vector", lambda nn: nn.Dense(3), real(4)),
    _row("dropout", lambda nn: nn.Dropout(0.5), real(4, 5), random=True),
    _row("dropout-axes", lambda nn: nn.Dropout(0.5, axes=(1,)), real(4, 5, 2), random=True),
    _row("drop-path", lambda nn: nn.DropPath(0.5), real(4, 5), random=True, golden=False),
    _row("dropout-none", lambda nn: nn.Dropout(0.0), real(4, 5)),
    _row("embedding", lambda nn: nn.Embedding(5, 3), index(5, 2, 4)),
    _row("embedding-int", lambda nn: nn.Embedding(5, 3), index(5, 4, dtype="int32")),
    _row("embedding-stray", lambda nn: nn.Embedding(5, 3), index(5, 12, kind="stray")),
    _row("flatten", lambda nn: nn.Flatten(), real(2, 3, 4)),
    _row("flatten-vector", lambda nn: nn.Flatten(), real(4)),
    _row("identity", lambda nn: nn.Identity(), real(2, 3)),
    _row("lambda", lambda nn: nn.Lambda("tanh"), real(2, 3)),
    _row("lambda-fn", lambda nn: nn.Lambda(lambda x: x * 2), real(2, 3)),
    _row("hybrid-lambda", lambda nn: nn.HybridLambda("relu"), real(2, 3)),
    _row("hybrid-lambda-fn", lambda nn: nn.HybridLambda(lambda x: x * x + 1), real(2, 3)),
    _row("sequential", lambda nn: _stack(nn, "Sequential", nn.Dense(4, activation="tanh"), nn.Dense(2)), real(3, 5)),
    _row(
        "hybrid-sequential", lambda nn: _stack(nn, "HybridSequential", nn.Dense(4), nn.ELU(), nn.Dense(2)), real(3, 5)
    ),
    _row("hybrid-sequential-empty", lambda nn: nn.HybridSequential(), real(3, 5)),
    _row("concatenate", lambda nn: _stack(nn, "Concatenate", nn.Dense(4), nn.Identity()), real(3, 5)),
    _row("hybrid-concatenate", lambda nn: _stack(nn, "HybridConcatenate", nn.Dense(4), nn.Dense(2)), real(3, 5)),
]

_ACTIVATIONS = [
    *[
        _row(f"activation-{name}", lambda nn, name=name: nn.Activation(name), real(4, 5))
        for name in ("relu", "sigmoid", "tanh", "softrelu", "softsign", "mish", "log_sigmoid")
    ],
    _row("leaky-relu", lambda nn: nn.LeakyReLU(0.1), real(4, 5)),
    _row("prelu", lambda nn: nn.PReLU(), real(4, 5)),
    _row("prelu-channels", lambda nn: nn.PReLU(in_channels=3), real(2, 3, 4)),
    _row("elu", lambda nn: nn.ELU(), real(4, 5)),
    _row("elu-alpha", lambda nn: nn.ELU(0.5), real(4, 5)),
    _row("selu", lambda nn: nn.SELU(), real(4, 5), known={"grad/0": "MXNet multiplies by the scale twice below zero"}),
    _row("gelu", lambda nn: nn.GELU(), real(4, 5)),
    _row("swish", lambda nn: nn.Swish(), real(4, 5)),
    _row("swish-beta", lambda nn: nn.Swish(2.0), real(4, 5)),
    _row("silu", lambda nn: nn.SiLU(), real(4, 5)),
    _row("dense-prelu", lambda nn: nn.Dense(3, activation=nn.PReLU()), real(4, 5), golden=False),
    _row("activation-quick-gelu", lambda nn: nn.Activation("quick_gelu"), real(4, 5), golden=False),
    _row("activation-hard-tanh", lambda nn: nn.Activation("hard_tanh"), real(4, 5), golden=False),
]

_NORM = [
    _row("batchnorm", lambda nn: nn.BatchNorm(), real(4, 3, 5, 5)),
    _row("batchnorm-2d", lambda nn: nn.BatchNorm(in_channels=3), real(8, 3)),
    _row("batchnorm-last", lambda nn: nn.BatchNorm(axis=-1, momentum=0.5, epsilon=1e-3), real(4, 5, 3)),
    _row(
        "batchnorm-no-scale",
        lambda nn: nn.BatchNorm(scale=False),
        real(4, 3, 5),
        known={"state/gamma": "MXNet overwrites a fixed gamma by 1"},
    ),
    _row("batchnorm-no-center", lambda nn: nn.BatchNorm(center=False), real(4, 3, 5)),
    _row("batchnorm-global", lambda nn: nn.BatchNorm(use_global_stats=True), real(4, 3, 5)),
    _row("batchnorm-relu", lambda nn: nn.BatchNormReLU(), real(4, 3, 5, 5), golden=False),
    _row("sync-batchnorm", lambda nn: nn.SyncBatchNorm(num_devices=1), real(4, 3, 5, 5)),
    _row("layernorm", lambda nn: nn.LayerNorm(), real(4, 6)),
    _row("layernorm-axis", lambda nn: nn.LayerNorm(axis=1, epsilon=1e-3), real(4, 6, 5)),
    _row("layernorm-plain", lambda nn: nn.LayerNorm(center=False, scale=False), real(4, 6)),
    _row("rmsnorm", lambda nn: nn.RMSNorm(), real(4, 6), golden=False),
    _row("groupnorm", lambda nn: nn.GroupNorm(), real(3, 4, 5)),
    _row("groupnorm-groups", lambda nn: nn.GroupNorm(num_groups=2, in_channels=4), real(3, 4, 5, 5)),
    _row("instancenorm", lambda nn: nn.InstanceNorm(), real(3, 4, 5)),
    _row("instancenorm-scale", lambda nn: nn.InstanceNorm(scale=True, epsilon=1e-3), real(3, 4, 5, 5)),
    _row("instancenorm-last", lambda nn: nn.InstanceNorm(axis=2, scale=True), real(3, 5, 4), golden=False),
]

_CONV = [
    _row("conv1d", lambda nn: nn.Conv1D(4, 3), real(2, 3, 8)),
    _row("conv1d-dilate", lambda nn: nn.Conv1D(4, 3, 2, 1, dilation=2), real(2, 3, 9)),
    _row("conv2d", lambda nn: nn.Conv2D(4, 3), real(2, 3, 6, 6)),
    _row("conv2d-stride", lambda nn: nn.Conv2D(4, (3, 2), (2, 1), (1, 0), activation="relu"), real(2, 3, 6, 7)),
    _row("conv2d-groups", lambda nn: nn.Conv2D(4, 3, groups=2, use_bias=False), real(2, 6, 5, 5)),
    _row("conv2d-depthwise", lambda nn: nn.Conv2D(6, 3, padding=1, groups=3), real(2, 3, 5, 5)),
    _row("conv2d-dilate", lambda nn: nn.Conv2D(4, 3, padding=2, dilation=2), real(2, 3, 6, 6)),
    _row("conv2d-nhwc", lambda nn: nn.Conv2D(4, 3, layout="NHWC"), real(2, 6, 6, 3), golden=False),
    _row("conv3d", lambda nn: nn.Conv3D(4, 2, padding=1), real(2, 3, 4, 4, 4)),
    _row("conv1d-transpose", lambda nn: nn.Conv1DTranspose(4, 3, strides=2, output_padding=1), real(2, 3, 5)),
    _row("conv2d-transpose", lambda nn: nn.Conv2DTranspose(4, 3), real(2, 3, 5, 5)),
    _row(
        "conv2d-transpose-stride",
        lambda nn: nn.Conv2DTranspose(4, (3, 2), (2, 3), (1, 0), output_padding=(1, 2), activation="relu"),
        real(2, 3, 4, 5),
    ),
    _row("conv2d-transpose-groups", lambda nn: nn.Conv2DTranspose(4, 3, groups=2, use_bias=False), real(2, 6, 4, 4)),
    _row(
        "conv2d-transpose-nhwc", lambda nn: nn.Conv2DTranspose(4, 3, 2, layout="NHWC"), real(2, 4, 4, 3), golden=False
    ),
    _row("conv3d-transpose", lambda nn: nn.Conv3DTranspose(2, 2, 2), real(2, 3, 3, 3, 3)),
    _row("deformable", lambda nn: nn.DeformableConvolution(4), real(2, 3, 4, 5)),
    _row(
        "deformable-groups",
        lambda nn: nn.DeformableConvolution(
            4, (3, 2), (1, 2), (1, 0), groups=2, num_deformable_group=2, use_bias=False, activation="relu"
        ),
        real(2, 4, 5, 6),
    ),
    _row(
        "deformable-dilate",
        lambda nn: nn.DeformableConvolution(
            3, kernel_size=(3, 3), padding=(2, 2), dilation=(2, 2), offset_use_bias=False
        ),
        real(1, 2, 6, 6),
    ),
    _row(
        "deformable-modulated",  # MXNet's own fails: it calls a function that is not there
        lambda nn: nn.ModulatedDeformableConvolution(4, kernel_size=(3, 3), padding=(1, 1), num_deformable_group=2),
        real(2, 4, 5, 5),
        golden=False,
    ),
]

_POOL = [
    _row("maxpool1d", lambda nn: nn.MaxPool1D(), real(2, 3, 8)),
    _row("maxpool2d", lambda nn: nn.MaxPool2D(), real(2, 3, 6, 6)),
    _row("maxpool2d-overlap", lambda nn: nn.MaxPool2D(3, 2, 1), real(2, 3, 7, 6)),
    _row("maxpool2d-ceil", lambda nn: nn.MaxPool2D(3, 2, 1, ceil_mode=True), real(2, 3, 6, 8)),
    _row("maxpool2d-nhwc", lambda nn: nn.MaxPool2D((3, 2), layout="NHWC"), real(2, 6, 7, 3)),
    _row("maxpool3d", lambda nn: nn.MaxPool3D(), real(2, 3, 4, 4, 5)),
    _row("avgpool1d", lambda nn: nn.AvgPool1D(3, 1, 1), real(2, 3, 8)),
    _row("avgpool2d", lambda nn: nn.AvgPool2D(), real(2, 3, 6, 7)),
    _row("avgpool2d-ceil", lambda nn: nn.AvgPool2D(3, 2, 1, ceil_mode=True), real(2, 3, 6, 6)),
    _row("avgpool2d-exclude", lambda nn: nn.AvgPool2D(3, 2, 1, count_include_pad=False), real(2, 3, 6, 6)),
    _row("avgpool3d", lambda nn: nn.AvgPool3D(2, 1), real(2, 3, 4, 4, 3)),
    *[
        _row(
            f"global-{kind.lower()}pool{n}d",
            lambda nn, k=kind, n=n: getattr(nn, f"Global{k}Pool{n}D")(),
            real(2, 3, *size),
        )
        for kind in ("Max", "Avg")
        for n, size in ((1, (5,)), (2, (4, 5)), (3, (3, 4, 2)))
    ],
    _row("global-avgpool2d-nhwc", lambda nn: nn.GlobalAvgPool2D(layout="NHWC"), real(2, 4, 5, 3)),
    _row("adaptive-avgpool1d", lambda nn: nn.AdaptiveAvgPool1D(2), real(2, 3, 5), golden=False),
    _row("adaptive-avgpool2d", lambda nn: nn.AdaptiveAvgPool2D((2, 3)), real(2, 3, 5, 6), golden=False),
    _row("adaptive-maxpool1d", lambda nn: nn.AdaptiveMaxPool1D(2), real(2, 3, 5), golden=False),
    _row("adaptive-maxpool2d", lambda nn: nn.AdaptiveMaxPool2D((2, 3)), real(2, 3, 5, 6), golden=False),
    _row("adaptive-maxpool3d", lambda nn: nn.AdaptiveMaxPool3D(2), real(2, 3, 4, 2, 4), golden=False),
    _row("adaptive-avgpool3d", lambda nn: nn.AdaptiveAvgPool3D(2), real(2, 3, 4, 2, 4), golden=False),
    _row("upsample", lambda nn: nn.Upsample(2), real(2, 3, 2, 3), golden=False),
    _row("upsample-bilinear", lambda nn: nn.Upsample((2, 3), "bilinear"), real(2, 3, 2, 3), golden=False),
    _row("patch-embedding", lambda nn: nn.PatchEmbedding(4, 2), real(2, 3, 4, 6), golden=False),
    _row("reflection-pad", lambda nn: nn.ReflectionPad2D(2), real(2, 3, 4, 5)),
    _row("reflection-pad-sides", lambda nn: nn.ReflectionPad2D((0, 0, 0, 0, 1, 2, 3, 1)), real(2, 3, 4, 5)),
    _row("pixel-shuffle1d", lambda nn: nn.PixelShuffle1D(2), real(2, 6, 4)),
    _row("pixel-shuffle2d", lambda nn: nn.PixelShuffle2D((2, 3)), real(2, 12, 4, 5)),
    _row("pixel-shuffle3d", lambda nn: nn.PixelShuffle3D(2), real(2, 16, 2, 3, 4)),
]

_TRANSFORMER = [
    # The gradient of the key's bias is 0: what is found is the sum of the others' rounding errors, up to 7e-6.
    _row("attention", lambda nn: nn.MultiHeadAttention(6, 2), real(2, 4, 5), golden=False, rounding=4e-6),
    _row(
        "attention-cross",
        lambda nn: nn.MultiHeadAttention(6, 2, cross=True, use_bias=False),
        real(2, 4, 5),
        real(2, 3, 4),
        golden=False,
    ),
    _row("rotary", lambda nn: nn.RotaryEmbedding(), real(2, 3, 2, 4), golden=False),
    _row("gated-ffn", lambda nn: nn.GatedFFN(4, 6), real(2, 3, 4), golden=False),
    _row("geglu-ffn", lambda nn: nn.GatedFFN(4, 6, "gelu", use_bias=True), real(2, 3, 4), golden=False),
    _row("grouped-attention", lambda nn: nn.GroupedQueryAttention(8, 4, 2), real(2, 3, 8), golden=False),
    _row("causal-decoder", lambda nn: nn.CausalDecoder(5, 1, 8, 6, 4, 2), index(5, 2, 3), golden=False),
    _row("encoder-layer", lambda nn: nn.TransformerEncoderLayer(4, 6, 2, 0.0, 0.0), real(2, 3, 4), golden=False),
    _row(
        "decoder-layer",
        # Normalizations of few numbers blow rounding up: eight units, not four. The gradient of `mem_attention.query`
        # is still 4e-6 from float64 when recorded and 7e-6 when computed at once, with opposite signs.
        lambda nn: nn.TransformerDecoderLayer(8, 6, 2, 0.0, 0.0, mem_units=5, pre_norm=True),
        real(2, 3, 8),
        real(2, 4, 5),
        golden=False,
        rounding=1e-5,
    ),
]

LAYERS = [*_BASIC, *_ACTIVATIONS, *_NORM, *_CONV, *_POOL, *_TRANSFORMER]

_P, _L = real(4, 3), real(4, 3)
_ONE, _UNIT = Feed((4, 1), "positive"), Feed((4, 3), "unit")
_SIGN, _BIT, _COUNT = Feed((4, 3), "sign"), Feed((4, 3), "index"), Feed((4, 3), "count")

LOSSES = [
    _row("l2", lambda loss: loss.L2Loss(), _P, _L),
    _row("l2-weight", lambda loss: loss.L2Loss(weight=3.0), _P, _L, _ONE),
    _row("l2-reshape", lambda loss: loss.L2Loss(), real(4, 1), real(4)),
    _row("l2-axis", lambda loss: loss.L2Loss(batch_axis=1), real(4, 3, 2), real(4, 3, 2)),
    _row("l1", lambda loss: loss.L1Loss(), _P, _L),
    _row("l1-weight", lambda loss: loss.L1Loss(weight=0.5, batch_axis=1), _P, _L, Feed((1, 3), "positive")),
    _row("bce", lambda loss: loss.SigmoidBinaryCrossEntropyLoss(), _P, _BIT),
    _row("bce-weight", lambda loss: loss.SigmoidBCELoss(weight=2.0), _P, _BIT, _ONE),
    _row("bce-pos", lambda loss: loss.SigmoidBCELoss(), _P, _BIT, _ONE, Feed((1, 3), "positive")),
    _row("bce-sigmoid", lambda loss: loss.SigmoidBCELoss(from_sigmoid=True), _UNIT, _BIT),
    _row(
        "bce-sigmoid-pos",
        lambda loss: loss.SigmoidBCELoss(from_sigmoid=True),
        _UNIT,
        _BIT,
        _ONE,
        Feed((1, 3), "positive"),
    ),
    _row("ce", lambda loss: loss.SoftmaxCrossEntropyLoss(), _P, index(3, 4)),
    _row("ce-int", lambda loss: loss.SoftmaxCELoss(), _P, index(3, 4, dtype="int32")),
    _row("ce-weight", lambda loss: loss.SoftmaxCELoss(weight=2.0), _P, index(3, 4), _ONE),
    _row("ce-stray", lambda loss: loss.SoftmaxCELoss(), real(12, 3), index(3, 12, kind="stray")),
    _row("ce-axis", lambda loss: loss.SoftmaxCELoss(axis=1), real(2, 3, 4, 5), index(3, 2, 4, 5)),
    _row("ce-dense", lambda loss: loss.SoftmaxCELoss(sparse_label=False), _P, Feed((4, 3), "simplex")),
    _row("ce-logits", lambda loss: loss.SoftmaxCELoss(from_logits=True), _P, index(3, 4)),
    _row(
        "ce-dense-logits",
        lambda loss: loss.SoftmaxCELoss(sparse_label=False, from_logits=True),
        _P,
        Feed((4, 3), "simplex"),
    ),
    _row("kl", lambda loss: loss.KLDivLoss(), _P, Feed((4, 3), "simplex")),
    _row("kl-raw", lambda loss: loss.KLDivLoss(from_logits=False, weight=2.0), _P, Feed((4, 3), "simplex"), _ONE),
    _row("kl-axis", lambda loss: loss.KLDivLoss(from_logits=False, axis=1), real(2, 3, 4), Feed((2, 3, 4), "simplex")),
    _row("huber", lambda loss: loss.HuberLoss(), _P, _L),
    _row("huber-rho", lambda loss: loss.HuberLoss(rho=0.3, weight=2.0), _P, _L, _ONE),
    _row("hinge", lambda loss: loss.HingeLoss(), _P, _SIGN),
    _row("hinge-margin", lambda loss: loss.HingeLoss(margin=2, weight=0.5), _P, _SIGN, _ONE),
    _row("squared-hinge", lambda loss: loss.SquaredHingeLoss(), _P, _SIGN),
    _row("logistic", lambda loss: loss.LogisticLoss(), _P, _SIGN),
    _row("logistic-binary", lambda loss: loss.LogisticLoss(label_format="binary", weight=2.0), _P, _BIT, _ONE),
    _row("triplet", lambda loss: loss.TripletLoss(), _P, _L, real(4, 3)),
    _row("triplet-margin", lambda loss: loss.TripletLoss(margin=3, weight=2.0), _P, _L, real(4, 3)),
    _row("poisson", lambda loss: loss.PoissonNLLLoss(), _P, _COUNT),
    _row("poisson-rate", lambda loss: loss.PoissonNLLLoss(from_logits=False, weight=2.0), _UNIT, _COUNT, _ONE),
    _row("poisson-full", lambda loss: loss.PoissonNLLLoss(compute_full=True), _P, Feed((4, 3), "positive")),
    _row("cosine", lambda loss: loss.CosineEmbeddingLoss(), _P, real(4, 3), Feed((4,), "sign")),
    _row("cosine-margin", lambda loss: loss.CosineEmbeddingLoss(margin=0.2), _P, real(4, 3), Feed((4,), "sign"), _ONE),
    _row("ctc", lambda loss: loss.CTCLoss(), real(2, 8, 4), index(3, 2, 3)),
    _row("ctc-padded", lambda loss: loss.CTCLoss(), real(3, 8, 5), index(4, 3, 4, kind="padded")),
    _row("ctc-layout", lambda loss: loss.CTCLoss("TNC", "TN", weight=2.0), real(8, 2, 4), index(3, 3, 2)),
    _row("sdml", lambda loss: loss.SDMLLoss(), _P, real(4, 3)),
]


def _epoch(label: Feed, pred: Feed, last: tuple[Feed, Feed] | None = None) -> tuple[tuple[Feed, Feed], ...]:
    return ((label, pred), (label, pred), last or (label, pred))


_CLASS = _epoch(index(3, 8), real(8, 3), (index(3, 5), real(5, 3)))
_BINARY = _epoch(index(2, 8), Feed((8, 1), "unit"))
_PROB = _epoch(index(3, 8), Feed((8, 3), "simplex"), (index(3, 5), Feed((5, 3), "simplex")))
_REAL = _epoch(real(8, 3), real(8, 3), (real(5, 3), real(5, 3)))

METRICS = [
    Metric("accuracy", lambda m: m.Accuracy(), _CLASS),
    Metric("accuracy-axis", lambda m: m.Accuracy(axis=2), _epoch(index(3, 2, 4), real(2, 4, 3))),
    Metric("accuracy-same", lambda m: m.create("acc"), _epoch(index(3, 8), index(3, 8))),
    Metric("top-k", lambda m: m.TopKAccuracy(top_k=2), _epoch(index(5, 8), real(8, 5))),
    Metric("binary", lambda m: m.BinaryAccuracy(threshold=0.4), _epoch(index(2, 8), Feed((8,), "unit"))),
    Metric("mae", lambda m: m.MAE(), _REAL),
    Metric("mse", lambda m: m.create("mse"), _REAL),
    Metric("rmse", lambda m: m.RMSE(), _REAL),
    Metric("cross-entropy", lambda m: m.CrossEntropy(), _PROB),
    Metric("cross-entropy-logits", lambda m: m.CrossEntropy(from_logits=True, ignore_label=1), _CLASS),
    Metric("perplexity", lambda m: m.Perplexity(ignore_label=0), _PROB),
    Metric("loss", lambda m: m.Loss(), _REAL),
    Metric("f1", lambda m: m.F1(), _BINARY),
    Metric("f1-macro", lambda m: m.F1(class_type="multiclass", average="macro"), _CLASS),
    Metric("f1-micro", lambda m: m.F1(class_type="multiclass", average="micro"), _CLASS),
    Metric("fbeta", lambda m: m.Fbeta(beta=2, threshold=0.3), _BINARY),
    Metric(
        "fbeta-multilabel",
        lambda m: m.Fbeta(class_type="multilabel", beta=2, average="macro"),
        _epoch(index(2, 8, 3), Feed((8, 3), "unit")),
    ),
    Metric("mcc", lambda m: m.MCC(), _BINARY),
    Metric("mpd", lambda m: m.MeanPairwiseDistance(), _REAL),
    Metric("cos-sim", lambda m: m.MeanCosineSimilarity(), _REAL),
    Metric("pearson", lambda m: m.PearsonCorrelation(), _epoch(real(8), real(8))),
    Metric("pcc", lambda m: m.PCC(), _CLASS),
    Metric("custom", lambda m: m.np(lambda label, pred: float(abs(label - pred).sum())), _REAL),
]
