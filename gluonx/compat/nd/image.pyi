# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.compat.nd.ndarray import NDArray as NDArray

def adjust_lighting(data: Any, alpha: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_adjust_lighting(data; alpha: floats)``. Core operators: image.adjust_lighting."""
def crop(data: Any, x: Any, y: Any, width: Any, height: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_image_crop(data; x: int, y: int, width: int, height: int)``. Core operators: image.crop."""
def flip_left_right(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_flip_left_right(data)``. Core operators: image.flip_left_right."""
def flip_top_bottom(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_flip_top_bottom(data)``. Core operators: image.flip_top_bottom."""
def normalize(data: Any, mean: Any = (0.0, 0.0, 0.0, 0.0), std: Any = (1.0, 1.0, 1.0, 1.0), *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_normalize(data; mean: floats=(0.0, 0.0, 0.0, 0.0), std: floats=(1.0, 1.0, 1.0, 1.0))``. Core operators: image.normalize."""
def random_brightness(data: Any, min_factor: Any, max_factor: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_random_brightness(data; min_factor: float, max_factor: float)``. Core operators: image.random_brightness."""
def random_color_jitter(data: Any, brightness: Any, contrast: Any, saturation: Any, hue: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_random_color_jitter(data; brightness: float, contrast: float, saturation: float, hue: float)``. Core operators: image.random_color_jitter."""
def random_contrast(data: Any, min_factor: Any, max_factor: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_random_contrast(data; min_factor: float, max_factor: float)``. Core operators: image.random_contrast."""
def random_flip_left_right(data: Any, p: Any = 0.5, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_random_flip_left_right(data; p: float=0.5)``. Core operators: image.random_flip_left_right."""
def random_flip_top_bottom(data: Any, p: Any = 0.5, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_random_flip_top_bottom(data; p: float=0.5)``. Core operators: image.random_flip_top_bottom."""
def random_hue(data: Any, min_factor: Any, max_factor: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_random_hue(data; min_factor: float, max_factor: float)``. Core operators: image.random_hue."""
def random_lighting(data: Any, alpha_std: Any = 0.05, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_random_lighting(data; alpha_std: float=0.05)``. Core operators: image.random_lighting."""
def random_saturation(data: Any, min_factor: Any, max_factor: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_random_saturation(data; min_factor: float, max_factor: float)``. Core operators: image.random_saturation."""
def resize(data: Any, size: Any = (), keep_ratio: Any = False, interp: Any = 1, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_resize(data; size: shape=(), keep_ratio: bool=False, interp: int=1)``. Core operators: image.resize."""
def to_tensor(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_image_to_tensor(data)``. Core operators: image.to_tensor."""
