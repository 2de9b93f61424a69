"""Names of the parameters of blocks: the attributes that lead to them, ``'features.0.weight'``.

A block asks its class's `Names` at the few points below, and by default they do nothing. MXNet 1 called parameters by
prefixes and name scopes, and let blocks share them by name: `gluonx.compat.prefixes` derives from `Names` and takes the
place of ``Block._block_names`` once a program uses any of it. What tells so is in `gluonx.common.extensions`: a class
with a method of its own name (``hybrid_forward``), a keyword (``prefix=``), an attribute (``name_scope``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gluonx.common.extensions import BLOCK_KEYWORDS, BLOCK_MEMBERS

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.block.parameter import Parameter


class Names:
    """Names by structure. Another way of naming derives from it and is put in ``Block._block_names``."""

    def defined(self, cls: type) -> None:
        """Look at a class of blocks that was just defined."""
        for name in BLOCK_MEMBERS:
            if name in vars(cls):
                BLOCK_MEMBERS[name](cls)

    def begin(self, block: Block, prefix: str | None, params: Iterable[Parameter]) -> None:
        """Name a block that is being made; `prefix` and `params` are what its constructor was given."""
        if prefix is not None or params is not None:
            BLOCK_KEYWORDS["prefix"](type(block))
            type(block)._block_names.begin(block, prefix, params)

    def adopt(self, block: Block, param: Parameter, name: str) -> Any:
        """Return the parameter that the attribute `name` of `block` is to hold: `param`, or one that is shared."""
        del block, name
        return param

    def own(self, block: Block) -> Any:
        """Return the dict of a block's own parameters."""
        return block._reg_params

    def collected(self, block: Block, select: str | None) -> Any:
        """Return the result of ``block.collect_params(select)``, or None (as here) if it has the structured names."""
        del block, select

    def shared(self, block: Block, params: Mapping[str, Parameter]) -> Mapping[str, Parameter]:
        """Return by structured name what ``block.share_parameters`` was given."""
        del block
        return params

    def structured(self, block: Block, arrays: dict[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arrays of a file by structured name."""
        del block, params
        return arrays

    def saved(self, block: Block, arrays: dict[str, Any]) -> dict[str, Any]:
        """Return arrays by structured name under the names that a file of :meth:`file_format` has for them."""
        del block
        return arrays

    def size(self, known: int) -> Any:
        """Return what a layer's ``repr`` says of a size, which is -1 where it is open."""
        return known

    def file_format(self) -> str:
        """Return the format of a file of parameters whose name does not tell it."""
        return "npz"

    def export_format(self) -> str:
        """Return the format that ``HybridBlock.export`` writes where it is not told."""
        return "stablehlo"
