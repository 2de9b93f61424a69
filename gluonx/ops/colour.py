"""Operators that change an image's colours, by factors drawn at random or given; part of ``gluonx.npx.image``.

An image is (height, width, channels) with 1 or 3 channels. The element type is kept: colours are computed in float32,
truncated towards zero and clipped to the element type, as in MXNet. Factors are operands: another one recompiles
nothing.

`changed` and `lit` also compute this on the host, for images that are NumPy arrays.
"""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import wide
from gluonx.ops.image import need_image
from gluonx.ops.registry import SAME, register

_GRAY = np.array([0.299, 0.587, 0.114], np.float32)
# ImageNet's colours (Krizhevsky and others, 2012): standard deviations of the principal components, and the components.
EIGENVALUES = np.array([55.46, 4.794, 1.148])
EIGENVECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
_LIGHT = (EIGENVECTORS * EIGENVALUES).astype(np.float32)
_RED, _GREEN, _BLUE = range(3)


def _need(name: str, data: jax.Array | np.ndarray) -> None:
    need_image(f"image.{name}", data)
    if data.shape[2] not in (1, 3):
        raise ShapeError(f"image.{name}: the last axis must hold 1 or 3 channels, but the image has {data.shape}.")


def _kept(x: jax.Array | np.ndarray, dtype: np.dtype) -> Any:
    """Return the values in an element type; integers are truncated towards zero and clipped to its bounds."""
    if jnp.issubdtype(dtype, jnp.floating):
        return x.astype(dtype)
    own, bounds = x.__array_namespace__(), jnp.iinfo(dtype)
    return own.clip(own.trunc(x), bounds.min, bounds.max).astype(dtype)


def _gray(x: jax.Array | np.ndarray) -> Any:
    """Return the brightness of each pixel, (height, width, 1)."""
    return x if x.shape[2] == 1 else x.__array_namespace__().sum(x * _GRAY[None, None], axis=2, keepdims=True)


def _contrast(x: jax.Array | np.ndarray, factor: Any) -> Any:
    return x * factor + x.__array_namespace__().mean(_gray(x)) * (1 - factor)


def _saturation(x: jax.Array | np.ndarray, factor: Any) -> Any:
    return x if x.shape[2] == 1 else x * factor + _gray(x) * (1 - factor)


def _hue(x: np.ndarray, turn: Any) -> np.ndarray:
    """Return the colours with the hue rotated by a part of the circle; lightness and saturation (of HLS) stay."""
    if x.shape[2] == 1:
        return x
    own = x.__array_namespace__()
    high, low = own.max(x, axis=2), own.min(x, axis=2)
    span = high - low
    gap = own.where(span > 0, span, 1)
    red, green, blue = x[..., _RED], x[..., _GREEN], x[..., _BLUE]
    by_green = own.where(high == green, 2 + (blue - red) / gap, 4 + (red - green) / gap)
    hue = own.where(high == red, (green - blue) / gap, by_green) + 6 * turn
    # Around the circle a channel is flat at the top, falls, is flat at the bottom and rises again.
    away = [own.abs(own.remainder(hue - position + 3, 6) - 3) for position in (0, 2, 4)]
    level = own.clip(2 - own.stack(away, axis=2), 0, 1)
    return low[..., None] + span[..., None] * level


_CHANGES = {"brightness": operator.mul, "contrast": _contrast, "saturation": _saturation, "hue": _hue}


def changed(name: str, data: Any, factor: Any) -> Any:
    """Return an image with another brightness, contrast, saturation or hue, in its own element type.

    Parameters
    ----------
    name : {'brightness', 'contrast', 'saturation', 'hue'}
    data : array of JAX or NumPy, shape (height, width, channels), of 1 or 3 channels
    factor : float32 scalar
        The image's own weight, where 1 changes nothing; for the hue, the part of the circle by which it is rotated.

    Raises
    ------
    ShapeError
        If `data` is no such image.
    """
    _need(name, data)
    return _kept(_CHANGES[name](wide(data), factor), data.dtype)


def _drawn(key: Array, low: Array | float, high: Array | float) -> Array:
    start, stop = jnp.asarray(low, jnp.float32), jnp.asarray(high, jnp.float32)
    return start + (stop - start) * jax.random.uniform(key)


@register("image.random_brightness", random=True, shape=SAME)
def random_brightness(key: Array, data: Array, min_factor: Array, max_factor: Array) -> Array:
    """Return an image times a random factor between `min_factor` and `max_factor`.

    Parameters
    ----------
    data : array, shape (height, width, channels), of 1 or 3 channels
    min_factor, max_factor : float
        The bounds of the factor.

    Returns
    -------
    array of the shape and element type of `data`

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.random_brightness(np.full((1, 1, 1), 8.0), 0.5, 0.5).item()
    4.0
    """
    return changed("brightness", data, _drawn(key, min_factor, max_factor))


@register("image.random_contrast", random=True, shape=SAME)
def random_contrast(key: Array, data: Array, min_factor: Array, max_factor: Array) -> Array:
    """Return an image mixed with its mean brightness; its own share is a random factor between the two given.

    Parameters
    ----------
    min_factor
        The least share of the image itself.
    max_factor
        The largest share.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.random_contrast(np.ones((2, 2, 3)), 0.9, 1.1).shape
    (2, 2, 3)
    """
    return changed("contrast", data, _drawn(key, min_factor, max_factor))


@register("image.random_saturation", random=True, shape=SAME)
def random_saturation(key: Array, data: Array, min_factor: Array, max_factor: Array) -> Array:
    """Return an image mixed with its gray copy; its own share is a random factor between the two given.

    Parameters
    ----------
    min_factor
        The least share of the image itself.
    max_factor
        The largest share.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.random_saturation(np.ones((2, 2, 3)), 0.9, 1.1).shape
    (2, 2, 3)
    """
    return changed("saturation", data, _drawn(key, min_factor, max_factor))


@register("image.random_hue", random=True, shape=SAME)
def random_hue(key: Array, data: Array, min_factor: Array, max_factor: Array) -> Array:
    """Return an image with its colours turned by a random part of the circle between `min_factor` and `max_factor`.

    Parameters
    ----------
    min_factor
        The least turn, as a part of the circle.
    max_factor
        The largest turn.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.random_hue(np.ones((2, 2, 3)), 0.9, 1.1).shape
    (2, 2, 3)
    """
    return changed("hue", data, _drawn(key, min_factor, max_factor))


@register("image.random_color_jitter", random=True, shape=SAME)
def random_color_jitter(
    key: Array, data: Array, *, brightness: float, contrast: float, saturation: float, hue: float
) -> Array:
    """Return an image with random brightness, contrast, saturation and hue, one after the other in a random order.

    Parameters
    ----------
    data : array, shape (height, width, channels), of 1 or 3 channels
    brightness, contrast, saturation : float
        How far the factor may lie from 1.
    hue : float
        How far the colours may be turned, as a part of the circle.

    Raises
    ------
    ValueError
        If one is negative.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.random_color_jitter(np.ones((2, 2, 3)), 0.1, 0.1, 0.1, 0.1).shape
    (2, 2, 3)
    """
    name = "random_color_jitter"
    _need(name, data)
    bounds = {"brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue}
    for what, bound in bounds.items():
        if bound < 0:
            raise ValueError(f"image.{name}: {what} must not be negative, but is {bound}.")
    steps = [(what, (what != "hue") - bound, (what != "hue") + bound) for what, bound in bounds.items() if bound > 0]
    if not steps:
        return data
    order_key, *keys = jax.random.split(key, len(steps) + 1)
    factors = [_drawn(k, low, high) for k, (_, low, high) in zip(keys, steps, strict=True)]
    branches = [
        lambda x, what=what, factor=factor: changed(what, x, factor)
        for (what, _, _), factor in zip(steps, factors, strict=True)
    ]
    order = jax.random.permutation(order_key, len(steps))
    return lax.fori_loop(0, len(steps), lambda i, x: lax.switch(order[i], branches, x), data)


def lit(name: str, data: Any, alpha: jax.Array | np.ndarray) -> Any:
    """Return an image of JAX or NumPy with changed lighting; `name` is the operator's, for messages."""
    _need(name, data)
    if alpha.shape != (3,):
        raise ShapeError(f"image.{name}: alpha must be three numbers, but has shape {alpha.shape}.")
    if data.shape[2] == 1:
        return data
    shift = data.__array_namespace__().sum(_LIGHT * alpha.astype(np.float32)[None], axis=1)
    return _kept(wide(data) + shift[None, None], data.dtype)


@register("image.adjust_lighting", shape=SAME)
def adjust_lighting(data: Array, alpha: Array) -> Array:
    """Return an image with its light changed along the principal components of ImageNet's colours.

    Parameters
    ----------
    data : array, shape (height, width, channels)
        With values from 0 to 255; an image of one channel is returned unchanged.
    alpha : three floats
        How much of each component is added, in standard deviations.

    Raises
    ------
    ShapeError
        If `data` is no image of 1 or 3 channels, or `alpha` not of three numbers.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.adjust_lighting(np.zeros((2, 2, 3)), np.array([0.1, 0.0, 0.0])).shape
    (2, 2, 3)
    """
    return lit("adjust_lighting", data, jnp.asarray(alpha))


@register("image.random_lighting", random=True, shape=SAME)
def random_lighting(key: Array, data: Array, alpha_std: Array | None = None) -> Array:
    """Apply `adjust_lighting` with normal random numbers of standard deviation `alpha_std`, 0.05 by default.

    Parameters
    ----------
    alpha_std
        The standard deviation of the three random numbers.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.random_lighting(np.ones((2, 2, 3)), 0.05).shape
    (2, 2, 3)
    """
    scale = jnp.float32(0.05) if alpha_std is None else jnp.asarray(alpha_std, jnp.float32)
    return lit("random_lighting", data, jax.random.normal(key, (3,)) * scale)
