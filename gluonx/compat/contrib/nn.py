"""``gluon.contrib.nn``: names of MXNet 1 for layers of `gluonx.nn`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gluonx import nn
from gluonx.nn import Concatenate as Concurrent
from gluonx.nn import HybridConcatenate as HybridConcurrent
from gluonx.nn import Identity, PixelShuffle1D, PixelShuffle2D, PixelShuffle3D, SyncBatchNorm

__all__ = [
    "SparseEmbedding",
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SyncBatchNorm",
]


class SparseEmbedding(nn.Embedding):
    """A table of vectors whose gradient is kept by the rows that were looked up.

    Parameters
    ----------
    input_dim, output_dim, dtype, weight_initializer
        As of `gluonx.nn.Embedding`, which does the same with ``sparse_grad=True``. The weight gives single rows too, by
        ``row_sparse_data``.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: InitLike = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, dtype, weight_initializer, sparse_grad=True, **kwargs)
        self.weight._stype = "row_sparse"


if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike
    from gluonx.initializer import InitLike
    from gluonx.nn import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        return getattr(nn, name)
