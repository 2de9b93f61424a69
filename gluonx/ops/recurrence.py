"""The loops over time of recurrent nets, with hand-written gradients: `lstm_loop`, `gru_loop` and `simple_loop`.

A loop walks over time with ``lax.scan``. Several changes make it faster than the same scan differentiated by autodiff;
each was measured on a CPU (docs/rnn.md has the numbers):

- All gates use one tanh: ``sigmoid(x) = tanh(x / 2) / 2 + 1 / 2``, so a step is one pass over contiguous memory instead
  of three functions on slices.
- No fusion contains a tanh of a tanh, which XLA would not vectorize: the loop of the GRU is rotated to avoid that.
- The backward loop carries only the gradient of the state. A weight's gradient is one product of all steps' gate
  gradients with all steps' states afterwards, instead of a small product and an addition to the weight in each step.
- XLA's product on a CPU packs its second operand at each call and reads the first one in place. So a large weight is
  the first operand, and the states are columns, (features, batch); then the product with the inputs is cheaper inside
  of the loop, where its result is still in the cache. With a small weight, or few samples, the states are rows, (batch,
  features), the weight is transposed once before the loop, and one product before the loop serves the inputs of all
  steps.
- XLA replaces the transpose of a product by the product with its operands exchanged, which is the slower one for the
  gradient of a weight. A barrier prevents that.

The forward saves what the backward needs (the activated gates, and the states); the tanh of an LSTM's cell is computed
again.

With `reverse` a loop runs backwards in time. Where `mask` (time, batch, 1) is False, a step does not change the state.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonx.device import default_platform

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


_FEWEST, _SHARE = 8, 6  # columns pay from so many samples on, and if units are so many times as many as samples


def _dot(a: Array, b: Array, i: int, j: int) -> Array:
    """Return the product of two matrices along axis `i` of the one and axis `j` of the other."""
    return lax.dot_general(a, b, (((i,), (j,)), ((), ())))


class StepLayout(NamedTuple):
    """The layout of the arrays of a step: rows, (batch, features), or columns, (features, batch)."""

    columns: bool

    def seq(self, x: Any) -> Any:
        """Convert an array of all steps, or None, between (time, batch, features) and the loop's layout."""
        return jnp.swapaxes(x, 1, 2) if self.columns and x is not None else x

    def state(self, x: Array) -> Array:
        """Convert a state between (batch, features) and this layout."""
        return x.T if self.columns else x

    def ahead(self, weight: Array) -> Array:
        """Return a weight (out, in) arranged for `product`."""
        return weight if self.columns else weight.T

    def back(self, weight: Array) -> Array:
        """Return the weight arranged for the transposed `product`, from an output's gradient to an input's gradient."""
        return weight.T if self.columns else weight

    def product(self, weight: Array, x: Array) -> Array:
        """Return a step's product with an arranged weight."""
        return _dot(weight, x, 1, 0) if self.columns else _dot(x, weight, 1, 0)

    def row(self, values: Array) -> Array:
        """Return one number for each feature, to be broadcast over the batch."""
        return values[:, None] if self.columns else values[None]

    def cut(self, x: Array, start: int, stop: int) -> Array:
        """Return the features from `start` to `stop`."""
        return lax.slice_in_dim(x, start, stop, axis=x.ndim - (2 if self.columns else 1))

    def split(self, x: Array, parts: int) -> list[Array]:
        """Return the single gates."""
        size = x.shape[x.ndim - (2 if self.columns else 1)] // parts
        return [self.cut(x, k * size, (k + 1) * size) for k in range(parts)]

    def cat(self, gates: list[Array]) -> Array:
        """Return the gates of a step joined."""
        return jnp.concatenate(gates, 0 if self.columns else 1)

    def inputs(self, x: Array, weight: Array, bias: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Return the part of the inputs for each step, and the function that maps it to its part of the gates."""
        if self.columns:
            column = bias[:, None]
            return self.seq(x), lambda xt: _dot(weight, xt, 1, 0) + column
        time, batch, size = x.shape
        y = _dot(x.reshape(time * batch, size), weight, 1, 1) + bias[None]
        return y.reshape(time, batch, -1), lambda xt: xt

    def rows(self, dz: Array) -> Array:
        """Return the gradients of all steps as (time * batch, features)."""
        if self.columns:
            dz = lax.optimization_barrier(jnp.swapaxes(dz, 1, 2))
        return dz.reshape(-1, dz.shape[-1])


def step_layout(batch: Any, size: Any) -> StepLayout:
    """Return the layout for states (batch, size), which may be symbolic; it matters for CPUs.

    On other platforms XLA chooses the layout.
    """
    known = isinstance(batch, int) and isinstance(size, int)
    return StepLayout(known and batch >= _FEWEST and size >= _SHARE * batch and default_platform() == "cpu")


def _before(first: Array, all_states: Array, reverse: bool) -> Array:
    """Return the state at the beginning of each step."""
    if reverse:
        return jnp.concatenate([all_states[1:], first[None]])
    return jnp.concatenate([first[None], all_states[:-1]])


def _weight_gradient(z: Array, states: Array) -> Array:
    """Return the sum over time and batch of gates (time * batch, gates) x states, of shape (gates, states)."""
    return lax.optimization_barrier(_dot(states.reshape(-1, states.shape[-1]), z, 0, 0)).T


def _input_gradients(z: Array, x: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return the gradients of inputs, input weight and bias."""
    return _dot(z, weight, 1, 0).reshape(x.shape), _weight_gradient(z, x), z.sum(0)


def _held(mask: Array | None, new: Array, old: Array) -> Array:
    return new if mask is None else jnp.where(mask, new, old)


def _parted(mask: Array | None, gradient: Array) -> tuple[Array, Array | float]:
    """Return the parts of a state's gradient that go into the step and past it."""
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
    """Return the gradient through clipping to `c`: zero where `c` is at a bound."""
    low, high, _ = clip
    if low is not None:
        gradient = jnp.where(c > low, gradient, 0)
    return gradient if high is None else jnp.where(c < high, gradient, 0)


def _each(values: list[tuple[int, float]], dtype: DTypeLike) -> Array:
    """Return each value repeated so many times."""
    return jnp.asarray(np.concatenate([np.full(n, v) for n, v in values]), dtype)


def _lstm_scan(static: Any, arrays: Any, h: Array, c: Array, mask: Any, save: bool) -> Any:
    """Run all steps; return the last cell, the states (time, batch, state), and cells and gates for the backward."""
    layout, reverse, clip = static
    x, wx, bias, w, wr = arrays
    n = c.shape[1]
    scale = layout.row(_each([(2 * n, 0.5), (n, 1), (n, 0.5)], x.dtype))
    shift = layout.row(_each([(2 * n, 0.5), (n, 0), (n, 0.5)], x.dtype))
    wt, wrt = layout.ahead(w), None if wr is None else layout.ahead(wr)
    along, contribute = layout.inputs(x, wx, bias)

    def step(state: Any, given: Any) -> Any:
        (h, c), (xt, m) = state, given
        gates = jnp.tanh((contribute(xt) + layout.product(wt, h)) * scale) * scale + shift
        i, f, g, o = layout.split(gates, 4)
        c = _held(m, _clipped(f * c + i * g, clip), c)
        new = o * jnp.tanh(c)
        h = _held(m, new if wrt is None else layout.product(wrt, new), h)
        return (h, c), (h, c, gates) if save else h

    (_, last), found = lax.scan(step, (layout.state(h), layout.state(c)), (along, layout.seq(mask)), reverse=reverse)
    hs, *saved = found if save else (found,)
    return layout.state(last), layout.seq(hs), saved


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def lstm_loop(
    static: tuple[StepLayout, bool, tuple[float | None, float | None, bool]],
    arrays: tuple[Array, Array, Array, Array, Array | None],
    h: Array,
    c: Array,
    mask: Array | None,
) -> tuple[Array, Array]:
    """Return an LSTM, also one with a projected state (LSTMP).

    Parameters
    ----------
    static : tuple
        ``(layout, reverse, (clip_min, clip_max, clip_nan))``; the clips are of the cell's state.
    arrays : tuple of array
        The inputs, shape (time, batch, inputs); their weight, (4 * size, inputs), whose rows are the gates i, f, g, o;
        both biases together, (4 * size,); the recurrent weight, (4 * size, state); and the projection, (state, size),
        or None.
    h : array, shape (batch, state)
    c : array, shape (batch, size)
    mask : bool array, shape (time, batch, 1), or None

    Returns
    -------
    (all h, last c)
        Shapes (time, batch, state) and (batch, size).
    """
    last, hs, _ = _lstm_scan(static, arrays, h, c, mask, False)
    return hs, last


def _lstm_forward(static: Any, arrays: Any, h: Any, c: Any, mask: Any) -> Any:
    last, hs, saved = _lstm_scan(static, arrays, h, c, mask, True)
    return (hs, last), (arrays, h, c, mask, hs, *saved)


def _lstm_backward(static: Any, kept: Any, given: Any) -> Any:
    layout, reverse, clip = static
    (x, wx, _, w, wr), h0, c0, mask, hs, cs, gates = kept
    d_hs, d_last = given
    wt, wrt = layout.back(w), None if wr is None else layout.back(wr)

    def step(state: Any, given: Any) -> Any:
        (dh, dc), (dy, c, before, gates, m) = state, given
        i, f, g, o = layout.split(gates, 4)
        dh, past_h = _parted(m, dh + dy)
        dr = dh
        if wrt is not None:
            dh = layout.product(wrt, dr)
        dc, past_c = _parted(m, dc)
        t = jnp.tanh(c)
        dc = _clip_passes(c, dc + dh * o * (1 - t * t), clip)
        dz = layout.cat([dc * g * i * (1 - i), dc * before * f * (1 - f), dc * i * (1 - g * g), dh * t * o * (1 - o)])
        return (layout.product(wt, dz) + past_h, dc * f + past_c), (dz, None if wr is None else dr)

    along = (layout.seq(d_hs), cs, _before(layout.state(c0), cs, reverse), gates, layout.seq(mask))
    first = (layout.state(jnp.zeros_like(h0)), layout.state(d_last))
    (dh, dc), (dz, dr) = lax.scan(step, first, along, reverse=not reverse)
    z = layout.rows(dz)
    d_wr = None
    if wr is not None:
        d_wr = _weight_gradient(layout.rows(dr), layout.seq(layout.split(gates, 4)[3] * jnp.tanh(cs)))
    dx, d_wx, d_bias = _input_gradients(z, x, wx)
    d_w = _weight_gradient(z, _before(h0, hs, reverse))
    return (dx, d_wx, d_bias, d_w, d_wr), layout.state(dh), layout.state(dc), None


lstm_loop.defvjp(_lstm_forward, _lstm_backward)


# ---------------------------------------------------------------- GRU


def _gru_scan(static: tuple[StepLayout, bool], arrays: Sequence[jax.Array], h: Array, mask: Any) -> Any:
    """Run all steps; return all states, (time, batch, size), and in the loop's layout what the backward needs.

    That is the states at the beginning of the steps, r and z, the inner product, and the argument of the tanh of n.

    The loop is rotated: a step begins with the second half of the step before. Otherwise XLA would fuse the tanh of n
    with those of r and z on which it depends, and such a loop is not vectorized (2.5 times slower on a CPU).
    """
    x, wx, bias, w, bn = arrays
    (layout, reverse), n = static, h.shape[1]
    wt, inner_bias = layout.ahead(w), layout.row(bn)
    along, contribute = layout.inputs(x, wx, bias)

    def finished(h: Array, z: Array, arg: Array) -> Array:
        return (1 - z) * jnp.tanh(arg) + z * h

    def step(state: Any, given: Any) -> Any:
        xt, m = given
        h = finished(*state)
        x, rec = contribute(xt), layout.product(wt, h)
        rz = jnp.tanh((layout.cut(x, 0, 2 * n) + layout.cut(rec, 0, 2 * n)) * 0.5) * 0.5 + 0.5
        r, z = layout.split(rz, 2)
        inner = layout.cut(rec, 2 * n, 3 * n) + inner_bias
        arg = layout.cut(x, 2 * n, 3 * n) + r * inner
        z = _held(m, z, jnp.ones_like(h))  # z = 1 does not change the state
        return (h, z, arg), (h, rz, inner, arg)

    start = layout.state(h)
    first = (start, jnp.ones_like(start), jnp.zeros_like(start))
    last, (starts, rz, inner, arg) = lax.scan(step, first, (along, layout.seq(mask)), reverse=reverse)
    end = finished(*last)[None]
    hs = jnp.concatenate([end, starts[:-1]] if reverse else [starts[1:], end])
    return layout.seq(hs), (starts, rz, inner, arg)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def gru_loop(
    static: tuple[StepLayout, bool], arrays: tuple[Array, Array, Array, Array, Array], h: Array, mask: Array | None
) -> Array:
    """Return a GRU whose reset gate acts after the recurrent product, as cuDNN's does.

    Parameters
    ----------
    static : tuple
        ``(layout, reverse)``.
    arrays : tuple of array
        The inputs, shape (time, batch, inputs); their weight, (3 * size, inputs), whose rows are the gates r, z, n; the
        biases, (3 * size,), with the recurrent ones of r and z; the recurrent weight, (3 * size, size); and the
        recurrent bias of n, (size,).
    h : array, shape (batch, size)
    mask : bool array, shape (time, batch, 1), or None

    Returns
    -------
    array, shape (time, batch, size)
    """
    return _gru_scan(static, arrays, h, mask)[0]


def _gru_forward(static: Any, arrays: Any, h: jax.Array, mask: Any) -> Any:
    hs, saved = _gru_scan(static, arrays, h, mask)
    return hs, (arrays, h, mask, *saved)


def _gru_backward(static: Any, kept: Any, d_hs: Any) -> Any:
    (x, wx, _, w, _), h0, mask, starts, rz, inner, arg = kept
    layout, reverse = static
    wt = layout.back(w)

    def step(dh: Any, given: Any) -> Any:
        dy, before, rz, inner, new, m = given
        r, z = layout.split(rz, 2)
        z = _held(m, z, jnp.ones_like(dh))
        dh = dh + dy
        dn = dh * (1 - z) * (1 - new * new)
        d_inner = dn * r
        dz = layout.cat([dn * inner * r * (1 - r), dh * (before - new) * z * (1 - z), d_inner])
        return layout.product(wt, dz) + dh * z, (dz, dn)

    along = (layout.seq(d_hs), starts, rz, inner, jnp.tanh(arg), layout.seq(mask))
    dh, (dz, dn) = lax.scan(step, jnp.zeros_like(starts[0]), along, reverse=not reverse)
    z, two = layout.rows(dz), 2 * h0.shape[1]
    dx, d_wx, d_bias = _input_gradients(jnp.concatenate([z[:, :two], layout.rows(dn)], 1), x, wx)
    d_w, d_bn = _weight_gradient(z, layout.seq(starts)), z[:, two:].sum(0)
    return (dx, d_wx, d_bias, d_w, d_bn), layout.state(dh), None


gru_loop.defvjp(_gru_forward, _gru_backward)


# ---------------------------------------------------------------- one tanh or relu


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def simple_loop(
    static: tuple[StepLayout, bool, str], arrays: tuple[Array, Array, Array, Array], h: Array, mask: Array | None
) -> Array:
    """Return the net ``h = act(x + w h)``.

    Parameters
    ----------
    static : tuple
        ``(layout, reverse, 'tanh' or 'relu')``.
    arrays : tuple of array
        The inputs, shape (time, batch, inputs); their weight, (size, inputs); both biases together, (size,); and the
        recurrent weight, (size, size).
    h : array, shape (batch, size)
    mask : bool array, shape (time, batch, 1), or None

    Returns
    -------
    array, shape (time, batch, size)
    """
    layout, reverse, act = static
    x, wx, bias, w = arrays
    wt = layout.ahead(w)
    along, contribute = layout.inputs(x, wx, bias)

    def step(h: Array, given: Any) -> Any:
        xt, m = given
        new = contribute(xt) + layout.product(wt, h)
        h = _held(m, jnp.tanh(new) if act == "tanh" else jnp.maximum(new, 0), h)
        return h, h

    return layout.seq(lax.scan(step, layout.state(h), (along, layout.seq(mask)), reverse=reverse)[1])


def _simple_forward(static: Any, arrays: Any, h: Any, mask: Any) -> Any:
    hs = simple_loop(static, arrays, h, mask)
    return hs, (arrays, h, mask, hs)


def _simple_backward(static: Any, kept: Any, d_hs: Any) -> Any:
    layout, reverse, act = static
    (x, wx, _, w), h0, mask, hs = kept
    wt = layout.back(w)

    def step(dh: Any, given: Any) -> Any:
        dy, h, m = given
        dh, past = _parted(m, dh + dy)
        dz = dh * (1 - h * h) if act == "tanh" else jnp.where(h > 0, dh, 0)
        return layout.product(wt, dz) + past, dz

    along = (layout.seq(d_hs), layout.seq(hs), layout.seq(mask))
    dh, dz = lax.scan(step, layout.state(jnp.zeros_like(h0)), along, reverse=not reverse)
    z = layout.rows(dz)
    dx, d_wx, d_bias = _input_gradients(z, x, wx)
    return (dx, d_wx, d_bias, _weight_gradient(z, _before(h0, hs, reverse))), layout.state(dh), None


simple_loop.defvjp(_simple_forward, _simple_backward)
