"""Which of MXNet's two kinds of arrays a ported program works with."""

from __future__ import annotations

__all__ = ["Mode"]


class Mode:
    """Process-wide.

    Attributes
    ----------
    numpy : bool
        Whether ``npx.set_np()`` was called in a program that runs on `gluonx.compat`: a ``hybrid_forward`` is then
        given ``np.ndarray`` as it comes.
    """

    numpy = False
