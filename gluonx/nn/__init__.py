"""Layers: thin blocks over core operators. A layer binds its operator once, and its forward is one call of it."""

from typing import Any as _Any

from gluonx import extensions as _extensions
from gluonx.block.block import Block as Block
from gluonx.block.block import HybridBlock as HybridBlock
from gluonx.nn.activations import ELU as ELU
from gluonx.nn.activations import GELU as GELU
from gluonx.nn.activations import SELU as SELU
from gluonx.nn.activations import Activation as Activation
from gluonx.nn.activations import LeakyReLU as LeakyReLU
from gluonx.nn.activations import PReLU as PReLU
from gluonx.nn.activations import SiLU as SiLU
from gluonx.nn.activations import Swish as Swish
from gluonx.nn.attention import MultiHeadAttention as MultiHeadAttention
from gluonx.nn.attention import gen_mem_attn_mask as gen_mem_attn_mask
from gluonx.nn.attention import gen_self_attn_mask as gen_self_attn_mask
from gluonx.nn.basic import Dense as Dense
from gluonx.nn.basic import Dropout as Dropout
from gluonx.nn.basic import Embedding as Embedding
from gluonx.nn.basic import Flatten as Flatten
from gluonx.nn.containers import BlockDict as BlockDict
from gluonx.nn.containers import BlockList as BlockList
from gluonx.nn.containers import Concatenate as Concatenate
from gluonx.nn.containers import HybridBlockDict as HybridBlockDict
from gluonx.nn.containers import HybridBlockList as HybridBlockList
from gluonx.nn.containers import HybridConcatenate as HybridConcatenate
from gluonx.nn.containers import HybridLambda as HybridLambda
from gluonx.nn.containers import HybridSequential as HybridSequential
from gluonx.nn.containers import Identity as Identity
from gluonx.nn.containers import Lambda as Lambda
from gluonx.nn.containers import Sequential as Sequential
from gluonx.nn.conv import Conv1D as Conv1D
from gluonx.nn.conv import Conv1DTranspose as Conv1DTranspose
from gluonx.nn.conv import Conv2D as Conv2D
from gluonx.nn.conv import Conv2DTranspose as Conv2DTranspose
from gluonx.nn.conv import Conv3D as Conv3D
from gluonx.nn.conv import Conv3DTranspose as Conv3DTranspose
from gluonx.nn.deformable import DeformableConvolution as DeformableConvolution
from gluonx.nn.deformable import ModulatedDeformableConvolution as ModulatedDeformableConvolution
from gluonx.nn.norm import BatchNorm as BatchNorm
from gluonx.nn.norm import BatchNormReLU as BatchNormReLU
from gluonx.nn.norm import GroupNorm as GroupNorm
from gluonx.nn.norm import InstanceNorm as InstanceNorm
from gluonx.nn.norm import LayerNorm as LayerNorm
from gluonx.nn.norm import SyncBatchNorm as SyncBatchNorm
from gluonx.nn.pool import AvgPool1D as AvgPool1D
from gluonx.nn.pool import AvgPool2D as AvgPool2D
from gluonx.nn.pool import AvgPool3D as AvgPool3D
from gluonx.nn.pool import GlobalAvgPool1D as GlobalAvgPool1D
from gluonx.nn.pool import GlobalAvgPool2D as GlobalAvgPool2D
from gluonx.nn.pool import GlobalAvgPool3D as GlobalAvgPool3D
from gluonx.nn.pool import GlobalMaxPool1D as GlobalMaxPool1D
from gluonx.nn.pool import GlobalMaxPool2D as GlobalMaxPool2D
from gluonx.nn.pool import GlobalMaxPool3D as GlobalMaxPool3D
from gluonx.nn.pool import MaxPool1D as MaxPool1D
from gluonx.nn.pool import MaxPool2D as MaxPool2D
from gluonx.nn.pool import MaxPool3D as MaxPool3D
from gluonx.nn.spatial import PixelShuffle1D as PixelShuffle1D
from gluonx.nn.spatial import PixelShuffle2D as PixelShuffle2D
from gluonx.nn.spatial import PixelShuffle3D as PixelShuffle3D
from gluonx.nn.spatial import ReflectionPad2D as ReflectionPad2D
from gluonx.nn.transformer import PositionwiseFFN as PositionwiseFFN
from gluonx.nn.transformer import TransformerDecoder as TransformerDecoder
from gluonx.nn.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from gluonx.nn.transformer import TransformerEncoder as TransformerEncoder
from gluonx.nn.transformer import TransformerEncoderLayer as TransformerEncoderLayer

__all__ = [
    "Activation",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BatchNorm",
    "BatchNormReLU",
    "Block",
    "BlockDict",
    "BlockList",
    "Concatenate",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "DeformableConvolution",
    "Dense",
    "Dropout",
    "ELU",
    "Embedding",
    "Flatten",
    "GELU",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GroupNorm",
    "HybridBlock",
    "HybridBlockDict",
    "HybridBlockList",
    "HybridConcatenate",
    "HybridLambda",
    "HybridSequential",
    "Identity",
    "InstanceNorm",
    "Lambda",
    "LayerNorm",
    "LeakyReLU",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "ModulatedDeformableConvolution",
    "MultiHeadAttention",
    "PReLU",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "PositionwiseFFN",
    "ReflectionPad2D",
    "SELU",
    "Sequential",
    "SiLU",
    "Swish",
    "SymbolBlock",
    "SyncBatchNorm",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "gen_mem_attn_mask",
    "gen_self_attn_mask",
]


def __getattr__(name: str) -> _Any:
    if name == "SymbolBlock":  # imports nn
        return _extensions.NAMES["gluonx.nn.SymbolBlock"]
    raise AttributeError(f"module 'gluonx.nn' has no attribute {name!r}")
