# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.np.handle import ndarray

def fft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> ndarray:
    """The discrete Fourier transform along an axis."""
def fft2(a: ArrayLike, s: Any = None, axes: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> ndarray:
    """The discrete Fourier transform over two axes."""
def fftfreq(n: int, d: float = 1.0, dtype: Any = None, device: Any = None) -> ndarray:
    """Return the frequencies that the elements of `fft` stand for; float32 by default."""
def fftn(a: ArrayLike, s: Any = None, axes: Any = None, norm: Any = None, *, out: Any = None) -> ndarray:
    """The discrete Fourier transform over several axes."""
def fftshift(x: ArrayLike, axes: Any = None, *, out: Any = None) -> ndarray:
    """The zero frequency moved to the middle."""
def hfft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> ndarray:
    """The transform of a signal whose spectrum is real."""
def ifft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> ndarray:
    """The inverse of `fft`."""
def ifft2(a: ArrayLike, s: Any = None, axes: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> ndarray:
    """The inverse of `fft2`."""
def ifftn(a: ArrayLike, s: Any = None, axes: Any = None, norm: Any = None, *, out: Any = None) -> ndarray:
    """The inverse of `fftn`."""
def ifftshift(x: ArrayLike, axes: Any = None, *, out: Any = None) -> ndarray:
    """The inverse of `fftshift`."""
def ihfft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> ndarray:
    """The inverse of `hfft`."""
def irfft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> ndarray:
    """The inverse of `rfft`."""
def irfft2(a: ArrayLike, s: Any = None, axes: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> ndarray:
    """The inverse of `rfft2`."""
def irfftn(a: ArrayLike, s: Any = None, axes: Any = None, norm: Any = None, *, out: Any = None) -> ndarray:
    """The inverse of `rfftn`."""
def rfft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> ndarray:
    """The discrete Fourier transform of real input."""
def rfft2(a: ArrayLike, s: Any = None, axes: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> ndarray:
    """The discrete Fourier transform of real input over two axes."""
def rfftfreq(n: int, d: float = 1.0, dtype: Any = None, device: Any = None) -> ndarray:
    """Return the frequencies that the elements of `rfft` stand for; float32 by default."""
def rfftn(a: ArrayLike, s: Any = None, axes: Any = None, norm: Any = None, *, out: Any = None) -> ndarray:
    """The discrete Fourier transform of real input over several axes."""
