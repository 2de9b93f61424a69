"""Parameter fusion: several parameters stored as one array, and still visible one by one.

`layout` is pure: how pieces are arranged in a fused array, and ``fuse`` and ``unfuse`` of trees. `pieces` has the fused
parameter and the handles that are views into it, `blocks` the fusion state of a Block, `files` how fused arrays are
saved, loaded and shared by the names of their pieces.
"""

from gluonx.block.fusion.layout import Fused as Fused

__all__ = ["Fused"]
