# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.np.handle import ndarray

def adjust_lighting(data: ArrayLike, alpha: ArrayLike, *, out: Any = None) -> ndarray:
    """Return an image with its light changed along the principal components of ImageNet's colours."""
def crop(data: ArrayLike, x: ArrayLike, y: ArrayLike, width: Any, height: Any, *, out: Any = None) -> ndarray:
    """Return the rectangle of an image, or of each image of a batch, whose left upper corner is at (x, y)."""
def flip_left_right(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Return an image, (height, width, channels), with left and right exchanged."""
def flip_top_bottom(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Return an image, (height, width, channels), with top and bottom exchanged."""
def normalize(data: ArrayLike, mean: Any = 0.0, std: Any = 1.0, *, out: Any = None) -> ndarray:
    """Compute ``(data - mean) / std`` for each channel of a tensor, or a batch, with channels first."""
def random_brightness(data: ArrayLike, min_factor: ArrayLike, max_factor: ArrayLike, *, out: Any = None) -> ndarray:
    """Return an image times a random factor between `min_factor` and `max_factor`."""
def random_color_jitter(data: ArrayLike, brightness: Any, contrast: Any, saturation: Any, hue: Any, *, out: Any = None) -> ndarray:
    """Return an image with random brightness, contrast, saturation and hue, one after the other in a random order."""
def random_contrast(data: ArrayLike, min_factor: ArrayLike, max_factor: ArrayLike, *, out: Any = None) -> ndarray:
    """Give an image mixed with its mean brightness; a random factor between the two given is the image's own share."""
def random_crop(data: ArrayLike, xrange: Any = (0.0, 1.0), yrange: Any = (0.0, 1.0), *, width: Any, height: Any, interp: Any = 1, out: Any = None) -> ndarray:
    """Return a rectangle of an image, or of a batch, at a random place."""
def random_flip_left_right(data: ArrayLike, p: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """Exchange left and right of an image, (height, width, channels), with a probability of `p`, 0.5 by default."""
def random_flip_top_bottom(data: ArrayLike, p: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """Exchange top and bottom of an image, (height, width, channels), with a probability of `p`, 0.5 by default."""
def random_hue(data: ArrayLike, min_factor: ArrayLike, max_factor: ArrayLike, *, out: Any = None) -> ndarray:
    """Return an image with its colours turned by a random part of the circle between `min_factor` and `max_factor`."""
def random_lighting(data: ArrayLike, alpha_std: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """`adjust_lighting` by normal random numbers of standard deviation `alpha_std`, 0.05 by default."""
def random_resized_crop(data: ArrayLike, width: Any, height: Any, area: Any = (0.08, 1.0), ratio: Any = (0.75, 1.3333333333333333), interp: Any = 1, max_trial: Any = 10, *, out: Any = None) -> ndarray:
    """Return a random rectangle of an image, or of a batch, in a given size: the augmentation of Inception nets."""
def random_saturation(data: ArrayLike, min_factor: ArrayLike, max_factor: ArrayLike, *, out: Any = None) -> ndarray:
    """Return an image mixed with its gray copy; a random factor between the two given is the image's own share."""
def resize(data: ArrayLike, size: Any, keep_ratio: Any = False, interp: Any = 1, *, out: Any = None) -> ndarray:
    """Return an image, or a batch, in another size."""
def to_tensor(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Give an image, or a batch, with values from 0 to 255 as a float32 tensor with values from 0 to 1, channels first."""
