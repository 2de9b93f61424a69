"""Discrete Fourier transforms: ``gluonx.np.fft``, with NumPy's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as onp

from gluonx.device import DeviceLike
from gluonx.dtype import DTypeLike
from gluonx.np.building import make
from gluonx.np.creation import array
from gluonx.np.table import FFT

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


__all__ = ["fftfreq", "rfftfreq"]

for _name, _record in FFT.items():
    globals()[_name] = make(_name, getattr(jnp.fft, _name), _record, module="gluonx.np.fft", register_as=f"fft_{_name}")
    __all__ += [_name]  # noqa: PLE0604


def fftfreq(n: int, d: float = 1.0, dtype: DTypeLike = None, device: DeviceLike = None) -> ndarray:
    """Return the frequencies of the elements of `fft`'s result; float32 by default.

    Returns
    -------
    ndarray
        Of shape ``(n,)``.

    Examples
    --------
    >>> from gluonx import np
    >>> np.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    return array(onp.fft.fftfreq(n, d), dtype, device)


def rfftfreq(n: int, d: float = 1.0, dtype: DTypeLike = None, device: DeviceLike = None) -> ndarray:
    """Return the frequencies of the elements of `rfft`'s result; float32 by default.

    Returns
    -------
    ndarray
        Of shape ``(n // 2 + 1,)``.

    Examples
    --------
    >>> from gluonx import np
    >>> np.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    return array(onp.fft.rfftfreq(n, d), dtype, device)


del _name, _record


def __dir__() -> list[str]:
    return sorted(__all__)
