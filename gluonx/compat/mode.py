"""The kind of arrays, of MXNet's two, that a ported program works with."""

from __future__ import annotations


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
    """

    aliased = False
    numpy = False
    shape = False
