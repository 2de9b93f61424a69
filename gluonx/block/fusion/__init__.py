"""Parameter fusion: several parameters kept as one array, and still seen one by one.

`layout` is pure: how pieces lie in a fused array, and ``fuse`` and ``unfuse`` of trees. `pieces` holds the fused
parameter and the handle that looks into it, `blocks` the part that a Block has, `files` how fused arrays are saved,
loaded and shared by the names of their pieces.
"""

from gluonx.block.fusion.layout import Fused as Fused

__all__ = ["Fused"]
