"""Attention: scores and weighted sums over interleaved projections, and over a window that slides along the sequence.

The interleaved operators take the projections of all heads in one array, laid out head by head: for self attention
query, key and value of head 0, then of head 1, and so on; for attention of a decoder key and value. They are
Apache MXNet's ``interleaved_matmul_*``, written for transformers whose projections are one matrix product.

The sliding-window operators are those of the Longformer (https://arxiv.org/abs/2004.05150). They go through the
positions of the window one by one and never hold more than one shifted copy of the keys, forward or backward; a
sequence of length n with a window of w costs n * w products and n * w scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.registry import NONE, SAME, register


def _heads_of(name: str, what: str, x: Array, heads: int, parts: int) -> tuple[Array, ...]:
    """Return the parts of an interleaved projection, each (batch * heads, length, width of a head)."""
    if x.ndim != 3 or heads < 1 or x.shape[2] % (heads * parts):
        raise ShapeError(
            f"{name}: {what} must have three axes, (length, batch, {parts} * heads * width), where heads={heads}, but "
            f"has shape {x.shape}."
        )
    length, batch, _ = x.shape
    split = x.reshape(length, batch * heads, parts, x.shape[2] // (heads * parts))
    return tuple(split[:, :, part].swapaxes(0, 1) for part in range(parts))


def _scores(query: Array, key: Array) -> Array:
    return jnp.einsum("bqd,bkd->bqk", query / math.sqrt(query.shape[-1]), key)


def _attended(name: str, value: Array, attention: Array, batch: int) -> Array:
    if attention.ndim != 3 or attention.shape[0] != value.shape[0] or attention.shape[2] != value.shape[1]:
        raise ShapeError(
            f"{name}: attention has shape {attention.shape}, but the values need ({value.shape[0]}, queries, "
            f"{value.shape[1]}), which is (batch * heads, queries, keys)."
        )
    out = jnp.einsum("bqk,bkd->qbd", attention, value)
    return out.reshape(out.shape[0], batch, -1)


@register(amp="widest", stands_for="`stablehlo.dot_general`", gives="float")
def interleaved_matmul_selfatt_qk(queries_keys_values: Array, *, heads: int) -> Array:
    """Return the scores of self attention, ``q @ k.T / sqrt(width)`` for each head.

    Parameters
    ----------
    queries_keys_values : array, shape (length, batch, heads * 3 * width)
        For each head its query, key and value, one behind the other.
    heads : int

    Returns
    -------
    array, shape (batch * heads, length, length)

    Raises
    ------
    ShapeError
        If the last axis is not a multiple of ``3 * heads``.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.interleaved_matmul_selfatt_qk(np.ones((5, 2, 18)), heads=3).shape
    (6, 5, 5)
    """
    query, key, _ = _heads_of("interleaved_matmul_selfatt_qk", "queries_keys_values", queries_keys_values, heads, 3)
    return _scores(query, key)


@register(amp="widest", stands_for="`stablehlo.dot_general`")
def interleaved_matmul_selfatt_valatt(queries_keys_values: Array, attention: Array, *, heads: int) -> Array:
    """Return the values of self attention, summed with the weights `attention`.

    Parameters
    ----------
    queries_keys_values : array, shape (length, batch, heads * 3 * width)
    attention : array, shape (batch * heads, length, length)
    heads : int

    Returns
    -------
    array, shape (length, batch, heads * width)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.interleaved_matmul_selfatt_valatt(np.ones((5, 2, 18)), np.ones((6, 5, 5)), heads=3).shape
    (5, 2, 6)
    """
    name = "interleaved_matmul_selfatt_valatt"
    *_, value = _heads_of(name, "queries_keys_values", queries_keys_values, heads, 3)
    return _attended(name, value, attention, queries_keys_values.shape[1])


@register(amp="widest", stands_for="`stablehlo.dot_general`")
def interleaved_matmul_encdec_qk(queries: Array, keys_values: Array, *, heads: int) -> Array:
    """Return the scores of a decoder's attention to an encoder, ``q @ k.T / sqrt(width)`` for each head.

    Parameters
    ----------
    queries : array, shape (queries, batch, heads * width)
    keys_values : array, shape (keys, batch, heads * 2 * width)
        For each head its key and value, one behind the other.
    heads : int

    Returns
    -------
    array, shape (batch * heads, queries, keys)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.interleaved_matmul_encdec_qk(np.ones((4, 2, 6)), np.ones((5, 2, 12)), heads=3).shape
    (6, 4, 5)
    """
    name = "interleaved_matmul_encdec_qk"
    (query,) = _heads_of(name, "queries", queries, heads, 1)
    key, _ = _heads_of(name, "keys_values", keys_values, heads, 2)
    if query.shape[0] != key.shape[0] or query.shape[2] != key.shape[2]:
        raise ShapeError(
            f"{name}: queries of shape {queries.shape} need keys_values of shape (keys, {queries.shape[1]}, "
            f"{2 * queries.shape[2]}), not {keys_values.shape}."
        )
    return _scores(query, key)


@register(amp="widest", stands_for="`stablehlo.dot_general`")
def interleaved_matmul_encdec_valatt(keys_values: Array, attention: Array, *, heads: int) -> Array:
    """Return the values of a decoder's attention to an encoder, summed with the weights `attention`.

    Parameters
    ----------
    keys_values : array, shape (keys, batch, heads * 2 * width)
    attention : array, shape (batch * heads, queries, keys)
    heads : int

    Returns
    -------
    array, shape (queries, batch, heads * width)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.interleaved_matmul_encdec_valatt(np.ones((5, 2, 12)), np.ones((6, 4, 5)), heads=3).shape
    (4, 2, 6)
    """
    name = "interleaved_matmul_encdec_valatt"
    _, value = _heads_of(name, "keys_values", keys_values, heads, 2)
    return _attended(name, value, attention, keys_values.shape[1])


# -- a window that slides -------------------------------------------------------------------------------------------


def _width(w: int, symmetric: bool) -> int:
    return 2 * w + 1 if symmetric else w + 1


def _check_window(name: str, first: Array, what: str, dilation: Array, w: int) -> None:
    if first.ndim != 4:
        raise ShapeError(f"{name}: {what} must have four axes, (batch, length, heads, ...), not {first.shape}.")
    if dilation.shape != (first.shape[2],) or not jnp.issubdtype(dilation.dtype, jnp.integer):
        raise ShapeError(
            f"{name}: dilation must be integers of shape ({first.shape[2]},), one for each head of {what}, but is "
            f"{dilation.dtype} of shape {dilation.shape}."
        )
    if w < 0:
        raise ValueError(f"{name}: w is {w}, but the reach of the window cannot be negative.")


def _positions(length: int, dilation: Array, step: Array, w: int) -> Array:
    """Return the sequence position of step `step` of the window for each query and head, shape (length, heads)."""
    return lax.broadcasted_iota(jnp.int32, (length, 1), 0) + (dilation.astype(jnp.int32) * (step - w))[None]


def _shifted(x: Array, positions: Array) -> Array:
    """Return the rows of `x` (batch, length, heads, width) at `positions`; zeros beyond the ends of the sequence."""
    return jnp.take_along_axis(x, positions[None, :, :, None], 1, mode="fill", fill_value=0)


def _inside(positions: Array, length: int) -> Array:
    """Return positions to read from; negative ones, which would count from the end, are made out of range too."""
    return jnp.where(positions < 0, length, positions)


def _each_step(fn: Callable[[Array], Array], width: int) -> Array:
    """Apply `fn` to each step of the window, along a last axis; it is recomputed for the gradient."""
    return jnp.moveaxis(lax.map(jax.checkpoint(fn), jnp.arange(width)), 0, -1)


@register(amp="float32")
def sldwin_atten_score(query: Array, key: Array, dilation: Array, *, w: int, symmetric: bool) -> Array:
    """Return the products of each query with the keys of the window around it.

    Parameters
    ----------
    query, key : array, shape (batch, length, heads, width)
    dilation : integer array, shape (heads,)
        The distance of neighbours in the window, for each head.
    w : int
        How many positions the window reaches to one side.
    symmetric : bool
        Whether it reaches to both sides: it has ``2 * w + 1`` positions, else ``w + 1``, the last at the query itself.

    Returns
    -------
    array, shape (batch, length, heads, positions)
        0 where the window leaves the sequence.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or `dilation` is not of integers.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.sldwin_atten_score(
    ...     np.ones((1, 6, 2, 4)),
    ...     np.ones((1, 6, 2, 4)),
    ...     np.array([1, 1], dtype="int32"),
    ...     w=1,
    ...     symmetric=True,
    ... ).shape
    (1, 6, 2, 3)
    """
    _check_window("sldwin_atten_score", query, "query", dilation, w)
    if query.shape != key.shape:
        raise ShapeError(f"sldwin_atten_score: query and key must have one shape, not {query.shape} and {key.shape}.")
    length = query.shape[1]

    def products(step: Array) -> Array:
        positions = _inside(_positions(length, dilation, step, w), length)
        return jnp.sum(query * _shifted(key, positions), -1)

    return _each_step(products, _width(w, symmetric))


@register(amp="float32", shape=SAME, gradient=NONE)
def sldwin_atten_mask_like(score: Array, dilation: Array, valid_length: Array, *, w: int, symmetric: bool) -> Array:
    """One where a score of `sldwin_atten_score` is of two valid positions, else zero; it has no gradient.

    Parameters
    ----------
    score : array, shape (batch, length, heads, positions)
    dilation : integer array, shape (heads,)
    valid_length : integer array, shape (batch,)
    w, symmetric
        As for `sldwin_atten_score`.

    Returns
    -------
    array of the shape and element type of `score`

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.sldwin_atten_mask_like(
    ...     np.ones((1, 4, 1, 3)),
    ...     np.array([1], dtype="int32"),
    ...     np.array([4], dtype="int32"),
    ...     w=1,
    ...     symmetric=True,
    ... )[0, :, 0].tolist()
    [[0.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
    """
    name = "sldwin_atten_mask_like"
    _check_window(name, score, "score", dilation, w)
    _check_scores(name, score, w, symmetric)
    if valid_length.shape != score.shape[:1] or not jnp.issubdtype(valid_length.dtype, jnp.integer):
        raise ShapeError(
            f"{name}: valid_length must be integers of shape ({score.shape[0]},), but is {valid_length.dtype} of "
            f"shape {valid_length.shape}."
        )
    length, width = score.shape[1], score.shape[3]
    steps = jnp.arange(width, dtype=jnp.int32) - w
    query = lax.broadcasted_iota(jnp.int32, (1, length, 1, 1), 1)
    key = query + (dilation.astype(jnp.int32)[:, None] * steps[None])[None, None]
    valid = valid_length.astype(jnp.int32)[:, None, None, None]
    return ((query < valid) & (key >= 0) & (key < valid)).astype(score.dtype)


def _check_scores(name: str, score: Array, w: int, symmetric: bool) -> None:
    if score.shape[3] != _width(w, symmetric):
        raise ShapeError(
            f"{name}: score has shape {score.shape}, but a window of w={w}, symmetric={symmetric} has "
            f"{_width(w, symmetric)} positions."
        )


@register(amp="float32")
def sldwin_atten_context(score: Array, value: Array, dilation: Array, *, w: int, symmetric: bool) -> Array:
    """Return the sum of the values in the window around each query, weighted by `score`.

    Parameters
    ----------
    score : array, shape (batch, length, heads, positions)
    value : array, shape (batch, length, heads, width)
    dilation : integer array, shape (heads,)
    w, symmetric
        As for `sldwin_atten_score`.

    Returns
    -------
    array, shape (batch, length, heads, width)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.sldwin_atten_context(
    ...     np.ones((1, 6, 2, 3)),
    ...     np.ones((1, 6, 2, 4)),
    ...     np.array([1, 1], dtype="int32"),
    ...     w=1,
    ...     symmetric=True,
    ... ).shape
    (1, 6, 2, 4)
    """
    name = "sldwin_atten_context"
    _check_window(name, value, "value", dilation, w)
    if score.ndim != 4 or score.shape[:3] != value.shape[:3]:
        raise ShapeError(f"{name}: score of shape {score.shape} does not fit value of shape {value.shape}.")
    _check_scores(name, score, w, symmetric)
    length = value.shape[1]

    @jax.checkpoint
    def add(total: Array, step: tuple[Array, Array]) -> tuple[Array, None]:
        weights, position = step
        shifted = _shifted(value, _inside(_positions(length, dilation, position, w), length))
        return total + weights[..., None] * shifted, None

    steps = (jnp.moveaxis(score, -1, 0), jnp.arange(score.shape[3]))
    return lax.scan(add, jnp.zeros(value.shape, jnp.result_type(score, value)), steps)[0]
