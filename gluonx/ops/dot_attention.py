"""Scaled dot-product attention, by ``jax.nn.dot_product_attention``, and attention over a cache of earlier tokens.

Arrays are (batch, length, heads, width). A mask (True: may look), the number of valid keys of each sample, and
`causal`, alone or together, say which keys a query may look at. A query that may look at no key gives zeros, and its
gradient is zero.

:func:`cached_attention` serves decoding token by token: keys and values are written into buffers of fixed length at a
position that is an array, so that each step runs the same program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops import cudnn
from gluonx.ops.cpu.convolution import on_one_cpu
from gluonx.ops.cpu.reductions import softmax
from gluonx.ops.registry import SAME, register


def _drops(attrs: Mapping[str, Any]) -> bool:
    return attrs["p"] > 0 and attrs["training"] is not False


def _heeds_mode(attrs: Mapping[str, Any]) -> bool:
    return attrs["p"] > 0


def _check(name: str, query: Array, key: Array, value: Array) -> None:
    shapes = f"query {query.shape}, key {key.shape}, value {value.shape}"
    if query.ndim != 4 or key.ndim != 4 or key.shape != value.shape:
        raise ShapeError(
            f"{name}: query must be (batch, queries, heads, width), key and value both (batch, keys, heads, width); "
            f"got {shapes}."
        )
    if query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3] or query.shape[2] % key.shape[2]:
        raise ShapeError(
            f"{name}: batch and width of query and key must be equal, and the heads of query a multiple of those of "
            f"key; got {shapes}.{_OTHER_ORDER if _fits_turned(query, key) else ''}"
        )


_OTHER_ORDER = (
    " They would fit as (batch, heads, length, width), the order of PyTorch's scaled_dot_product_attention: exchange "
    "axes 1 and 2 of each first."
)


def _fits_turned(query: Array, key: Array, mask: Array | None = None) -> bool:
    """Return whether shapes that do not fit would fit with their axes in PyTorch's order."""
    batch, heads, queries, width = query.shape
    if key.shape[0] != batch or key.shape[3] != width or heads % key.shape[1]:
        return False
    whole = (batch, heads, queries, key.shape[2])
    return mask is None or all(m in (1, n) for m, n in zip(mask.shape[::-1], whole[::-1], strict=False))


def _full_mask(name: str, mask: Array, query: Array, key: Array) -> Array:
    """Return the mask as (batch or 1, heads or 1, queries or 1, keys or 1)."""
    if mask.dtype != jnp.bool_:
        mask = mask != 0
    if mask.ndim == 3:
        mask = mask[:, None]
    elif mask.ndim == 2:
        mask = mask[None, None]
    whole = (query.shape[0], query.shape[2], query.shape[1], key.shape[1])
    if mask.ndim != 4 or any(m not in (1, n) for m, n in zip(mask.shape, whole, strict=True)):
        raise ShapeError(
            f"{name}: mask must broadcast to (batch, heads, queries, keys) = {whole}, or be (batch, queries, keys) or "
            f"(queries, keys); got {mask.shape}.{_OTHER_ORDER if _fits_turned(query, key, mask) else ''}"
        )
    return mask


def _allowed(
    name: str,
    query: Array,
    key: Array,
    mask: Array | None,
    valid: Array | None,
    causal: bool,
    start: jax.Array | None = None,
) -> Array | None:
    """Combine all masks into one that is True where queries may look; None if they may look everywhere."""
    found = None if mask is None else _full_mask(name, mask, query, key)
    positions = jnp.arange(key.shape[1])
    if valid is not None:
        if valid.shape != (query.shape[0],):
            raise ShapeError(
                f"{name}: valid_length must have shape ({query.shape[0]},), one number a sample, not {valid.shape}."
            )
        inside = (positions < valid[:, None])[:, None, None]
        found = inside if found is None else found & inside
    if causal:
        rows = jnp.arange(query.shape[1]) + (key.shape[1] - query.shape[1] if start is None else start)
        before = (positions <= rows[:, None])[None, None]
        found = before if found is None else found & before
    return found


def _attend(
    query: Array, key: Array, value: Array, allowed: Array | None, causal: bool, scale: float | None, drop: Any
) -> Array:
    """Compute attention; `causal` alone, without a mask, is left to the kernel."""
    if drop is not None or query.dtype == jnp.float64:  # jax.nn's function computes a 64-bit softmax in 32 bits
        return _attend_by_hand(query, key, value, allowed, scale, drop)

    def kernel(query: Array, key: Array, value: Array) -> Array:
        return _zeroed(_by_kernel(query, key, value, allowed, causal, scale), allowed)

    def products(query: Array, key: Array, value: Array) -> Array:
        seen = _allowed("attention", query, key, None, None, True) if causal and allowed is None else allowed
        return _attend_by_hand(query, key, value, seen, scale, None)

    # The kernel's gradient divides, and keeps three arrays of all scores: here ours takes 0.6 to 0.8 of its time.
    return on_one_cpu(products, kernel, query, key, value) if query.dtype == jnp.float32 else kernel(query, key, value)


def _zeroed(out: Array, allowed: Array | None) -> Array:
    """Zero the result of queries that may look at no key."""
    if allowed is None:
        return out
    some = jnp.swapaxes(allowed.any(-1, keepdims=True), 1, 2)  # (batch, queries, heads, 1)
    return jnp.where(some, out, jnp.zeros((), out.dtype))


def _by_kernel(
    query: Array, key: Array, value: Array, allowed: Array | None, causal: bool, scale: float | None
) -> Array:
    causal = causal and allowed is None

    def kernel(*arrays: Array) -> Array:
        return jax.nn.dot_product_attention(*arrays, mask=allowed, scale=scale, is_causal=causal)

    def wide(*arrays: Array) -> Array:
        return kernel(*[a.astype(jnp.float32) for a in arrays]).astype(query.dtype)

    if query.dtype == jnp.float16:  # XLA's CPU backend lacks the product that the kernel uses
        return lax.platform_dependent(query, key, value, cpu=wide, default=kernel)
    return kernel(query, key, value)


def _attend_by_hand(
    query: Array, key: Array, value: Array, allowed: Array | None, scale: float | None, drop: tuple[Array, float] | None
) -> Array:
    wide = jnp.promote_types(query.dtype, jnp.float32)
    groups = query.shape[2] // key.shape[2]
    if groups > 1:
        key, value = jnp.repeat(key, groups, 2), jnp.repeat(value, groups, 2)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=wide) * scale
    if allowed is not None:
        scores = jnp.where(allowed, scores, jnp.finfo(scores.dtype).min)
    weights = softmax(scores, scores.ndim - 1)
    if allowed is not None:
        weights = jnp.where(allowed, weights, 0.0)
    if drop is not None:
        random, p = drop
        keep = jax.random.bernoulli(random, 1 - p, weights.shape)
        weights = jnp.where(keep, weights * (1 / (1 - p)), 0.0)
    return jnp.einsum("bnts,bsnh->btnh", weights.astype(value.dtype), value)


@register(random=_drops, mode=_heeds_mode, amp="low")
def dot_product_attention(
    key: Array | None,
    query: Array,
    keys: Array,
    values: Array,
    mask: Array | None = None,
    valid_length: Array | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    p: float = 0.0,
    training: bool | None = None,
) -> Array:
    """Attention of queries to keys: ``softmax(query @ key.T * scale) @ value`` for each head.

    Parameters
    ----------
    query : array, shape (batch, queries, heads, width)
    keys, values : array, shape (batch, keys, key_heads, width)
        ``heads`` is a multiple of ``key_heads``; several heads then share keys and values.
    mask : array, optional
        True, or not zero, where a query may look: broadcasts to (batch, heads, queries, keys); (batch, queries, keys)
        and (queries, keys) are taken too.
    valid_length : array of int, shape (batch,), optional
        How many keys of each sample there are; the rest is padding.
    causal : bool
        Whether the last query looks at all keys, the one before at all but the last, and so on.
    scale : float, optional
        ``1 / sqrt(width)`` by default.
    p : float
        The share of weights that is dropped while training.

    Returns
    -------
    array, shape (batch, queries, heads, width)
        Zeros for a query that may look at nothing.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If `p` is not in [0, 1).

    Notes
    -----
    Axis 1 is the length and axis 2 the heads, as in `jax.nn.dot_product_attention`. In PyTorch's
    ``scaled_dot_product_attention`` axis 1 is the heads: exchange the two first (``np.swapaxes(x, 1, 2)``). A mask, or
    keys of another length than the queries, may show that they are in PyTorch's order; then an error says so. Nothing
    shows it for arrays of one length without a mask.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.dot_product_attention(
    ...     np.ones((2, 5, 4, 8)), np.ones((2, 7, 4, 8)), np.ones((2, 7, 4, 8))
    ... ).shape
    (2, 5, 4, 8)
    """
    name = "dot_product_attention"
    _check(name, query, keys, values)
    if not 0 <= p < 1:
        raise ValueError(f"{name}: p is {p!r}, but must be at least 0 and below 1.")
    drop = (key, p) if p > 0 and training and key is not None else None
    square = query.shape[1] == keys.shape[1]
    by_kernel = drop is None and query.dtype != jnp.float64
    plain = by_kernel and mask is None and valid_length is None and (square or not causal)
    allowed = None if plain else _allowed(name, query, keys, mask, valid_length, causal)
    if cudnn.attends(query, keys, mask, causal, drop is not None):

        def usual(query: Array, keys: Array, values: Array, mask: Array | None, valid: Array | None) -> Array:
            hidden = None if plain else _allowed(name, query, keys, mask, valid, causal)
            return _by_kernel(query, keys, values, hidden, causal, scale)

        full = None if mask is None else _full_mask(name, mask, query, keys)
        out = cudnn.attention(query, keys, values, full, valid_length, causal=causal, scale=scale, usual=usual)
        return _zeroed(out, allowed)
    return _attend(query, keys, values, allowed, causal, scale, drop)


@register(
    nout=4,
    amp="low",
    shape="(batch, queries, heads, width), then the cache of keys, that of values, and the new position",
)
def cached_attention(
    query: Array,
    new_keys: Array,
    new_values: Array,
    keys: Array,
    values: Array,
    position: Array,
    mask: Array | None = None,
    valid_length: Array | None = None,
    *,
    scale: float | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Causal attention of new queries to the tokens in a cache and to the new tokens themselves.

    Parameters
    ----------
    query : array, shape (batch, new, heads, width)
    new_keys, new_values : array, shape (batch, new, key_heads, width)
    keys, values : array, shape (batch, length, key_heads, width)
        The cache; at most `length` tokens in all.
    position : array of int, shape ()
        How many tokens the cache holds.
    mask, valid_length : array, optional
        As for `dot_product_attention`, for the cache's `length` keys.
    scale : float, optional
        The factor of the scores; ``1 / sqrt(width)`` by default.

    Returns
    -------
    array, array, array, array
        The attention, shape as `query`; the cache with the new tokens; ``position + new``. Tokens for which there is no
        room overwrite the end of the cache.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     a.shape
    ...     for a in npx.cached_attention(
    ...         np.ones((2, 1, 4, 8)),
    ...         np.ones((2, 1, 4, 8)),
    ...         np.ones((2, 1, 4, 8)),
    ...         np.zeros((2, 16, 4, 8)),
    ...         np.zeros((2, 16, 4, 8)),
    ...         np.array(0, dtype="int32"),
    ...     )
    ... ]
    [(2, 1, 4, 8), (2, 16, 4, 8), (2, 16, 4, 8), ()]
    """
    _check("cached_attention", query, new_keys, new_values)
    if keys.shape != values.shape or keys.shape[::2] != new_keys.shape[::2] or keys.shape[3] != new_keys.shape[3]:
        raise ShapeError(
            f"cached_attention: the cache has shapes {keys.shape} and {values.shape}, new keys {new_keys.shape}; "
            "batch, heads and width must be equal."
        )
    if new_keys.shape[1] > keys.shape[1]:
        raise ShapeError(f"cached_attention: {new_keys.shape[1]} tokens do not fit into a cache of {keys.shape[1]}.")
    position = position.astype(jnp.int32).reshape(())
    zero = jnp.zeros((), jnp.int32)
    keys = lax.dynamic_update_slice(keys, new_keys.astype(keys.dtype), (zero, position, zero, zero))
    values = lax.dynamic_update_slice(values, new_values.astype(values.dtype), (zero, position, zero, zero))
    allowed = _allowed("cached_attention", query, keys, mask, valid_length, True, position)
    seen, held = keys.astype(query.dtype), values.astype(query.dtype)
    out = _attend(query, seen, held, allowed, True, scale, None)
    return out, keys, values, position + query.shape[1]


@register(amp="low", shape=SAME, gives="input")
def rotary_embedding(x: Array, position: Array | None = None, *, base: float = 10000.0) -> Array:
    """Turn pairs of features by angles that grow with the position, so that attention depends on distances.

    Feature ``i`` and feature ``i + width // 2`` are a pair, as in the Llama of Hugging Face's transformers; the pair
    turns by ``position * base ** (-2 * i / width)``. The angles are computed in float32 whatever the type of `x`.

    Parameters
    ----------
    x : array, shape (batch, length, heads, width)
        Queries or keys; `width` is even.
    position : array of int, optional
        The position of the first token, shape () or (batch,), 0 by default; or that of each token, shape (batch,
        length).
    base : float
        The base of the angles: larger ones turn more slowly.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.rotary_embedding(np.ones((1, 2, 1, 2))).reshape((2, 2)).tolist()
    [[1.0, 1.0], [-0.3012, 1.382]]
    """
    if x.ndim != 4 or x.shape[3] % 2:
        raise ShapeError(
            f"rotary_embedding takes an array of shape (batch, length, heads, width) with an even width, not {x.shape}."
        )
    batch, length, _, width = x.shape
    start = jnp.zeros((), jnp.float32) if position is None else position.astype(jnp.float32)
    if start.shape not in ((), (batch,), (batch, length)):
        raise ShapeError(
            f"rotary_embedding: position must have shape (), ({batch},) or ({batch}, {length}), not {start.shape}."
        )
    positions = start if start.ndim == 2 else start.reshape(-1, 1) + jnp.arange(length, dtype=jnp.float32)
    half = width // 2
    rates = base ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angles = (positions[:, :, None] * rates)[:, :, None]
    kind = jnp.promote_types(x.dtype, jnp.float32)
    cos, sin = jnp.cos(angles).astype(kind), jnp.sin(angles).astype(kind)
    first, second = x[..., :half].astype(kind), x[..., half:].astype(kind)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], -1).astype(x.dtype)


@register(nout=lambda attrs: attrs["parts"], stands_for="`stablehlo.reshape`", gives="input")
def split_heads(x: Array, *, heads: int, parts: int = 1) -> Any:
    """Return the heads of a projection, or of several projections that lie end to end in the last axis.

    Parameters
    ----------
    x : array, shape (..., parts * heads * width)
    heads : int
        The number of heads.
    parts : int
        The number of projections.

    Returns
    -------
    array or tuple of array, each of shape (..., heads, width)
        A tuple if there are several parts.

    Raises
    ------
    ShapeError
        If the last axis cannot be divided so.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.split_heads(np.ones((2, 5, 32)), heads=4).shape
    (2, 5, 4, 8)
    """
    if heads < 1 or parts < 1 or x.ndim < 1 or x.shape[-1] % (heads * parts):
        raise ShapeError(f"split_heads: the last axis of {x.shape} is no multiple of {parts} parts of {heads} heads.")
    # The gradient of a split is one concatenation; that of slices is a sum of as many padded arrays.
    split = lax.split(x, [x.shape[-1] // parts] * parts, axis=x.ndim - 1)
    found = tuple(part.reshape(*part.shape[:-1], heads, part.shape[-1] // heads) for part in split)
    return found if parts > 1 else found[0]


@register(shape="(..., heads * width)", stands_for="`stablehlo.reshape`", gives="input")
def merge_heads(x: Array) -> Array:
    """Join the heads of each token: (..., heads, width) becomes (..., heads * width).

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.merge_heads(np.ones((2, 5, 4, 8))).shape
    (2, 5, 32)
    """
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])
