"""The loops over time of recurrent nets, with hand-written gradients: `lstm_loop`, `gru_loop` and `simple_loop`.

A loop takes what the inputs contribute to the gates at every step (one product outside) and walks over time with
``lax.scan``. Four things make it faster than the same scan left to autodiff, and each was measured on a CPU:

- Gates pass through one tanh: ``sigmoid(x) = tanh(x / 2) / 2 + 1 / 2``, so a step is one pass over contiguous memory in
  place of three functions on slices.
- No step holds a tanh of a tanh in one fusion, which would not be vectorized: the loop of the GRU is turned for that.
- The recurrent weight is transposed once, before the loop. A product that transposes its operand packs it at each step.
- The backward loop carries the gradient of the state only. The weight's gradient is one product of all steps' gate
  gradients with all steps' states afterwards, in place of one small product and one addition over the weight a step.

What the backward needs (the gates after their functions, and the states) is saved by the forward; the tanh of an LSTM's
cell is computed again.

A loop runs backwards in time if `reverse`. Where `mask` (time, batch, 1) is False, a step leaves the state as it was.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

__all__ = ["gru_loop", "lstm_loop", "simple_loop"]


def _dot(a: Array, b: Array, i: int, j: int) -> Array:
    """The product of two matrices along axis `i` of the one and axis `j` of the other."""
    return lax.dot_general(a, b, (((i,), (j,)), ((), ())))


def _row(values: list[tuple[int, float]], dtype: Any) -> Array:
    """A row to be broadcast over the batch: each value so many times."""
    return jnp.asarray(np.concatenate([np.full(n, v) for n, v in values])[None], dtype)


def _before(first: Array, all_states: Array, reverse: bool) -> Array:
    """The state that each step began with."""
    if reverse:
        return jnp.concatenate([all_states[1:], first[None]])
    return jnp.concatenate([first[None], all_states[:-1]])


def _weight_gradient(gates: Array, states: Array) -> Array:
    """The sum over time and batch of gates x states, of shape (gates, states)."""
    return _dot(states.reshape(-1, states.shape[-1]), gates.reshape(-1, gates.shape[-1]), 0, 0).T


def _split(x: Array, parts: int) -> list[Array]:
    size = x.shape[-1] // parts
    return [x[..., k * size : (k + 1) * size] for k in range(parts)]


def _held(mask: Array | None, new: Array, old: Array) -> Array:
    return new if mask is None else jnp.where(mask, new, old)


def _parted(mask: Array | None, gradient: Array) -> tuple[Array, Array | float]:
    """A state's gradient as what goes into the step, and what passes it by."""
    if mask is None:
        return gradient, 0.0
    return jnp.where(mask, gradient, 0), jnp.where(mask, 0, gradient)


# ---------------------------------------------------------------- LSTM


def _clipped(c: Array, clip: tuple[float | None, float | None, bool]) -> Array:
    low, high, catch_nan = clip
    if catch_nan and low is not None:
        c = jnp.where(jnp.isnan(c), jnp.asarray(low, c.dtype), c)
    return c if low is None and high is None else jnp.clip(c, low, high)


def _clip_passes(c: Array, gradient: Array, clip: tuple[float | None, float | None, bool]) -> Array:
    """The gradient of what was clipped to `c`: none where `c` is at a bound."""
    low, high, _ = clip
    if low is not None:
        gradient = jnp.where(c > low, gradient, 0)
    return gradient if high is None else jnp.where(c < high, gradient, 0)


def _lstm_scan(static: Any, x: Array, w: Array, wr: Array | None, h: Array, c: Array, mask: Any, save: bool) -> Any:
    reverse, clip = static
    n = c.shape[1]
    scale = _row([(2 * n, 0.5), (n, 1), (n, 0.5)], x.dtype)
    shift = _row([(2 * n, 0.5), (n, 0), (n, 0.5)], x.dtype)
    wt, wrt = w.T, None if wr is None else wr.T

    def step(state: Any, given: Any) -> Any:
        (h, c), (xt, m) = state, given
        gates = jnp.tanh((xt + _dot(h, wt, 1, 0)) * scale) * scale + shift
        i, f, g, o = _split(gates, 4)
        c = _held(m, _clipped(f * c + i * g, clip), c)
        new = o * jnp.tanh(c)
        h = _held(m, new if wrt is None else _dot(new, wrt, 1, 0), h)
        return (h, c), (h, c, gates) if save else h

    return lax.scan(step, (h, c), (x, mask), reverse=reverse)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def lstm_loop(
    static: tuple[bool, tuple[float | None, float | None, bool]],
    x: Array,
    w: Array,
    wr: Array | None,
    h: Array,
    c: Array,
    mask: Array | None,
) -> tuple[Array, Array]:
    """An LSTM, also one with a projected state (LSTMP).

    Parameters
    ----------
    static : tuple
        ``(reverse, (clip_min, clip_max, clip_nan))``; the clips are of the cell's state.
    x : array, shape (time, batch, 4 * size)
        The inputs' part of the gates i, f, g, o, biases included.
    w : array, shape (4 * size, state)
    wr : array, shape (state, size), or None
        The projection.
    h : array, shape (batch, state)
    c : array, shape (batch, size)
    mask : bool array, shape (time, batch, 1), or None

    Returns
    -------
    (all h, last c)
        Shapes (time, batch, state) and (batch, size).
    """
    (_, last), hs = _lstm_scan(static, x, w, wr, h, c, mask, False)
    return hs, last


def _lstm_forward(static: Any, x: Any, w: Any, wr: Any, h: Any, c: Any, mask: Any) -> Any:
    (_, last), (hs, cs, gates) = _lstm_scan(static, x, w, wr, h, c, mask, True)
    return (hs, last), (w, wr, h, c, mask, hs, cs, gates)


def _lstm_backward(static: Any, kept: Any, given: Any) -> Any:
    reverse, clip = static
    w, wr, h0, c0, mask, hs, cs, gates = kept
    d_hs, d_last = given

    def step(state: Any, given: Any) -> Any:
        (dh, dc), (dy, c, before, gates, m) = state, given
        i, f, g, o = _split(gates, 4)
        dh, past_h = _parted(m, dh + dy)
        dr = dh
        if wr is not None:
            dh = _dot(dr, wr, 1, 0)
        dc, past_c = _parted(m, dc)
        t = jnp.tanh(c)
        dc = _clip_passes(c, dc + dh * o * (1 - t * t), clip)
        dz = jnp.concatenate(
            [dc * g * i * (1 - i), dc * before * f * (1 - f), dc * i * (1 - g * g), dh * t * o * (1 - o)], 1
        )
        return (_dot(dz, w, 1, 0) + past_h, dc * f + past_c), (dz, None if wr is None else dr)

    along = (d_hs, cs, _before(c0, cs, reverse), gates, mask)
    (dh, dc), (dz, dr) = lax.scan(step, (jnp.zeros_like(h0), d_last), along, reverse=not reverse)
    d_wr = None if wr is None else _weight_gradient(dr, _split(gates, 4)[3] * jnp.tanh(cs))
    return dz, _weight_gradient(dz, _before(h0, hs, reverse)), d_wr, dh, dc, None


lstm_loop.defvjp(_lstm_forward, _lstm_backward)


# ---------------------------------------------------------------- GRU


def _gru_scan(reverse: bool, x: Array, w: Array, bn: Array, h: Array, mask: Any) -> Any:
    """All states, the states that the steps began with, and r and z, the inner product, what n is the tanh of.

    The loop is turned: a step begins with the second half of the step before. In one piece XLA would fuse the tanh of n
    with those of r and z that it depends on, and such a loop is not vectorized (2.5 times slower on a CPU).
    """
    n = h.shape[1]
    wt, bias = w.T, bn[None]

    def finished(h: Array, z: Array, arg: Array) -> Array:
        return (1 - z) * jnp.tanh(arg) + z * h

    def step(state: Any, given: Any) -> Any:
        xt, m = given
        h = finished(*state)
        rec = _dot(h, wt, 1, 0)
        rz = jnp.tanh((xt[:, : 2 * n] + rec[:, : 2 * n]) * 0.5) * 0.5 + 0.5
        inner = rec[:, 2 * n :] + bias
        arg = xt[:, 2 * n :] + rz[:, :n] * inner
        z = _held(m, rz[:, n:], jnp.ones_like(h))  # z = 1 leaves the state as it is
        return (h, z, arg), (h, rz, inner, arg)

    first = (h, jnp.ones_like(h), jnp.zeros_like(h))
    last, (starts, rz, inner, arg) = lax.scan(step, first, (x, mask), reverse=reverse)
    end = finished(*last)[None]
    hs = jnp.concatenate([end, starts[:-1]] if reverse else [starts[1:], end])
    return hs, (starts, rz, inner, arg)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def gru_loop(reverse: bool, x: Array, w: Array, bn: Array, h: Array, mask: Array | None) -> Array:
    """A GRU whose reset gate acts after the recurrent product, as cuDNN's does.

    Parameters
    ----------
    reverse : bool
    x : array, shape (time, batch, 3 * size)
        The inputs' part of the gates r, z, n: their biases, and the recurrent biases of r and z, included.
    w : array, shape (3 * size, size)
    bn : array, shape (size,)
        The recurrent bias of n.
    h : array, shape (batch, size)
    mask : bool array, shape (time, batch, 1), or None

    Returns
    -------
    array, shape (time, batch, size)
    """
    return _gru_scan(reverse, x, w, bn, h, mask)[0]


def _gru_forward(reverse: bool, x: Any, w: Any, bn: Any, h: Any, mask: Any) -> Any:
    hs, saved = _gru_scan(reverse, x, w, bn, h, mask)
    return hs, (w, mask, *saved)


def _gru_backward(reverse: bool, kept: Any, d_hs: Any) -> Any:
    w, mask, starts, rz, inner, arg = kept

    def step(dh: Any, given: Any) -> Any:
        dy, before, rz, inner, new, m = given
        r, z = _split(rz, 2)
        z = _held(m, z, jnp.ones_like(dh))
        dh = dh + dy
        dn = dh * (1 - z) * (1 - new * new)
        d_inner = dn * r
        dz = jnp.concatenate([dn * inner * r * (1 - r), dh * (before - new) * z * (1 - z), d_inner], 1)
        return _dot(dz, w, 1, 0) + dh * z, (dz, dn)

    along = (d_hs, starts, rz, inner, jnp.tanh(arg), mask)
    dh, (dz, dn) = lax.scan(step, jnp.zeros_like(starts[0]), along, reverse=not reverse)
    two = 2 * dn.shape[2]
    d_bn = dz[:, :, two:].sum((0, 1))
    return jnp.concatenate([dz[:, :, :two], dn], 2), _weight_gradient(dz, starts), d_bn, dh, None


gru_loop.defvjp(_gru_forward, _gru_backward)


# ---------------------------------------------------------------- one tanh or relu


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def simple_loop(static: tuple[bool, str], x: Array, w: Array, h: Array, mask: Array | None) -> Array:
    """The net ``h = act(x + w h)``.

    Parameters
    ----------
    static : tuple
        ``(reverse, 'tanh' or 'relu')``.
    x : array, shape (time, batch, size)
        With all biases.
    w : array, shape (size, size)
    h : array, shape (batch, size)
    mask : bool array, shape (time, batch, 1), or None

    Returns
    -------
    array, shape (time, batch, size)
    """
    reverse, act = static
    wt = w.T

    def step(h: Array, given: Any) -> Any:
        xt, m = given
        new = xt + _dot(h, wt, 1, 0)
        h = _held(m, jnp.tanh(new) if act == "tanh" else jnp.maximum(new, 0), h)
        return h, h

    return lax.scan(step, h, (x, mask), reverse=reverse)[1]


def _simple_forward(static: Any, x: Any, w: Any, h: Any, mask: Any) -> Any:
    hs = simple_loop(static, x, w, h, mask)
    return hs, (w, h, mask, hs)


def _simple_backward(static: Any, kept: Any, d_hs: Any) -> Any:
    reverse, act = static
    w, h0, mask, hs = kept

    def step(dh: Any, given: Any) -> Any:
        dy, h, m = given
        dh, past = _parted(m, dh + dy)
        dz = dh * (1 - h * h) if act == "tanh" else jnp.where(h > 0, dh, 0)
        return _dot(dz, w, 1, 0) + past, dz

    dh, dz = lax.scan(step, jnp.zeros_like(h0), (d_hs, hs, mask), reverse=not reverse)
    return dz, _weight_gradient(dz, _before(h0, hs, reverse)), dh, None


simple_loop.defvjp(_simple_forward, _simple_backward)
