"""The kind of arrays, of MXNet's two, that a ported program works with."""

from __future__ import annotations

from typing import Any, ClassVar


class Mode:
    """Process-wide; what MXNet keeps for each thread.

    Attributes
    ----------
    aliased : bool
        Whether a program runs on `gluonx.compat`.
    numpy : bool
        Whether ``npx.set_np()`` holds in such a program: a ``hybrid_forward`` is then given ``np.ndarray`` as it
        comes.
    shape : bool
        Whether ``set_np_shape()`` holds in such a program: single elements of an NDArray have no axes then.
    met_numpy : callable
        Called when a block is given ``np.ndarray`` and arrays are NDArrays, which MXNet 1 refuses.
    """

    met_numpy: ClassVar[Any] = staticmethod(lambda: None)
    aliased = False
    numpy = False
    shape = False
