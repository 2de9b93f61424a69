"""Names of the parameters of blocks: the attributes that lead to them, ``'features.0.weight'``.

A block calls its class's `Names` at the points below; by default these methods do nothing. MXNet 1 named parameters by
prefixes and name scopes, and let blocks share them by name. `gluonx.compat.prefixes` derives from `Names` and replaces
``Block._block_names`` as soon as a program uses any of that. `gluonx.common.extensions` lists what counts as use: a
class with a certain method (``hybrid_forward``), a keyword (``prefix=``), an attribute (``name_scope``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gluonx.common.extensions import BLOCK_KEYWORDS, BLOCK_MEMBERS

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.block.parameter import Parameter


class Names:
    """Names by structure. Another naming scheme derives from it and replaces ``Block._block_names``."""

    def defined(self, cls: type) -> None:
        """Process a class of blocks that was just defined."""
        for name in BLOCK_MEMBERS:
            if name in vars(cls):
                BLOCK_MEMBERS[name](cls)

    def begin(self, block: Block, prefix: str | None, params: Iterable[Parameter]) -> None:
        """Name a block that is being made, given its constructor's `prefix` and `params`."""
        if prefix is not None or params is not None:
            BLOCK_KEYWORDS["prefix"](type(block))
            type(block)._block_names.begin(block, prefix, params)

    def adopt(self, block: Block, param: Parameter, name: str) -> Parameter:
        """Return the parameter for the attribute `name` of `block`: `param`, or a shared one."""
        del block, name
        return param

    def own(self, block: Block) -> Mapping[str, Parameter]:
        """Return the dict of a block's own parameters."""
        return block._reg_params

    def collected(self, block: Block, select: str | None) -> Any:
        """Return the result of ``block.collect_params(select)``; None, as here, for the structured names."""
        del block, select

    def shared(self, block: Block, params: Mapping[str, Parameter]) -> Mapping[str, Parameter]:
        """Return by structured name the parameters that ``block.share_parameters`` was given."""
        del block
        return params

    def structured(self, block: Block, arrays: dict[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arrays of a file by structured name."""
        del block, params
        return arrays

    def saved(self, block: Block, arrays: dict[str, Any]) -> dict[str, Any]:
        """Return arrays by structured name under the names that a file in :meth:`file_format` uses."""
        del block
        return arrays

    def size(self, known: int) -> int | None:
        """Return what a layer's ``repr`` says of a size, which is -1 where it is open."""
        return known

    def file_format(self) -> str:
        """Return the format of a parameter file whose name does not tell it."""
        return "npz"

    def export_format(self) -> str:
        """Return the default format of ``HybridBlock.export``."""
        return "stablehlo"
