"""Blocks and what belongs to them: parameters, files, the functional view, parameter fusion.

`block` holds Block and HybridBlock, `parameter` what a parameter is, `checkpoint` how parameters come and go,
`functional` the pure view of a net, `summary` its table, and `fusion` how several parameters are kept as one array.
"""

import typing as _typing
from typing import Any as _Any

from gluonx.block.block import Block as Block
from gluonx.block.block import HookHandle as HookHandle
from gluonx.block.block import HybridBlock as HybridBlock
from gluonx.common import extensions as _extensions

__all__ = ["Block", "HookHandle", "HybridBlock"]

if _typing.TYPE_CHECKING:
    SymbolBlock: _Any
else:

    def __getattr__(name: str) -> _Any:
        if name == "SymbolBlock":  # MXNet has it in this module too
            return _extensions.NAMES["gluonx.nn.SymbolBlock"]
        raise AttributeError(f"module 'gluonx.block' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
