"""``gluon.contrib.nn``: names of MXNet 1 for layers of `gluonx.nn`."""

from __future__ import annotations

from typing import Any

from gluonx import nn
from gluonx._absent import instead_of
from gluonx.nn import Concatenate as Concurrent
from gluonx.nn import HybridConcatenate as HybridConcurrent
from gluonx.nn import Identity, PixelShuffle1D, PixelShuffle2D, PixelShuffle3D, SyncBatchNorm

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SyncBatchNorm",
]


def __getattr__(name: str) -> Any:
    if name == "SparseEmbedding":
        way = instead_of("mxnet.gluon.contrib.nn.SparseEmbedding")
        raise AttributeError(f"gluon.contrib.nn.SparseEmbedding is not in gluonx: {way}")
    return getattr(nn, name)
