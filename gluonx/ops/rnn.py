"""The operator `rnn`: stacked recurrent layers on one flat vector of parameters, laid out as MXNet and cuDNN do.

The vector holds, for each layer and in it for each direction, the weights of the inputs, of the state and of the
projection if there is one; after all weights, in the same order, the two biases. `packing` lists the pieces by their
names in MXNet 1: ``l0_i2h_weight`` is the input weight of the first layer, ``r0_h2h_bias`` the recurrent bias of its
backward direction. The rows of a weight are the gates: i, f, g, o of an LSTM, r, z, n of a GRU.

The loops over time are in `gluonx.ops.recurrence`.
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
from gluonx.ops.common import choose, filled, float_dtype, narrow, wide
from gluonx.ops.recurrence import gru_loop, lstm_loop, simple_loop, step_layout
from gluonx.ops.registry import Shape, register

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
"""The modes, and how many gates each has."""

Pieces = tuple[tuple[str, Shape], ...]


def packing(
    mode: str,
    input_size: int,
    state_size: int,
    num_layers: int,
    bidirectional: bool = False,
    projection_size: int | None = None,
) -> Pieces:
    """Return the pieces of the flat vector in its order, each with its shape.

    Parameters
    ----------
    mode : {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'}
    input_size : int
        Zero or less if unknown; the shapes of the first layer's input weights then contain -1.
    state_size, num_layers : int
    bidirectional : bool
    projection_size : int or None
        The size of an LSTM's projected state.

    Returns
    -------
    tuple of (str, tuple of int)

    Examples
    --------
    >>> packing("gru", 3, 2, 1)[:2]
    (('l0_i2h_weight', (6, 3)), ('l0_h2h_weight', (6, 2)))
    """
    rows = GATES[mode] * state_size
    out = projection_size or state_size
    sides = "lr" if bidirectional else "l"
    weights, biases = [], []
    for layer in range(num_layers):
        inputs = (input_size if input_size > 0 else -1) if layer == 0 else out * len(sides)
        for side in sides:
            weights += [(f"{side}{layer}_i2h_weight", (rows, inputs)), (f"{side}{layer}_h2h_weight", (rows, out))]
            if projection_size:
                weights.append((f"{side}{layer}_h2r_weight", (out, state_size)))
            biases += [(f"{side}{layer}_i2h_bias", (rows,)), (f"{side}{layer}_h2h_bias", (rows,))]
    return (*weights, *biases)


def input_size_of(
    size: int, mode: str, state_size: int, num_layers: int, bidirectional: bool, projection_size: int | None
) -> int | None:
    """Return the input size for which the flat vector has `size` elements; None if there is none."""
    fixed, rows = 0, 0
    for _, shape in packing(mode, 0, state_size, num_layers, bidirectional, projection_size):
        if -1 in shape:
            rows += shape[0]
        else:
            fixed += math.prod(shape)
    found, rest = divmod(size - fixed, rows)
    return found if rest == 0 and found > 0 else None


def _layout(attrs: Mapping[str, Any], input_size: int) -> Pieces:
    names = ("state_size", "num_layers", "bidirectional", "projection_size")
    return packing(attrs["mode"], input_size, *(attrs[name] for name in names))


def _state_shapes(attrs: Mapping[str, Any], batch: int) -> list[Shape]:
    """Return the shapes of the initial states."""
    count = attrs["num_layers"] * (2 if attrs["bidirectional"] else 1)
    shapes = [(count, batch, attrs["projection_size"] or attrs["state_size"])]
    return [*shapes, (count, batch, attrs["state_size"])] if attrs["mode"] == "lstm" else shapes


def _shapes(shapes: list[Shape | None], attrs: Mapping[str, Any]) -> list[Shape | None]:
    data, flat, *rest = shapes
    if data is None or len(data) != 3 or data[2] <= 0 or attrs["mode"] not in GATES:
        return shapes
    size = sum(math.prod(shape) for _, shape in _layout(attrs, data[2]))
    reason = f"data of shape {data} with mode='{attrs['mode']}' and state_size={attrs['state_size']}"
    flat = filled(flat, (size,), "rnn: parameters", reason)
    wanted = _state_shapes(attrs, data[1])
    rest = [s and filled(s, w, "rnn: a state", reason) for s, w in zip(rest, wanted)] + rest[len(wanted) :]
    return [data, flat, *rest]


def _drops(attrs: Mapping[str, Any]) -> bool:
    return attrs["p"] > 0 and attrs["num_layers"] > 1 and attrs["training"] is not False


def _heeds_mode(attrs: Mapping[str, Any]) -> bool:
    return attrs["p"] > 0 and attrs["num_layers"] > 1


def _outputs(attrs: Mapping[str, Any]) -> int:
    return 1 if not attrs["state_outputs"] else 3 if attrs["mode"] == "lstm" else 2


def _check(data: Array, parameters: Array, states: list[Array | None], attrs: Mapping[str, Any]) -> Pieces:
    """Return the pieces, after checking all shapes."""
    if data.ndim != 3:
        raise ShapeError(f"rnn: data has shape {data.shape}, but (time, batch, features) is needed.")
    pieces = _layout(attrs, data.shape[2])
    size = sum(math.prod(shape) for _, shape in pieces)
    if parameters.shape != (size,):
        raise ShapeError(
            f"rnn: parameters has shape {parameters.shape}, but mode='{attrs['mode']}' with state_size="
            f"{attrs['state_size']}, num_layers={attrs['num_layers']}, bidirectional={attrs['bidirectional']} and "
            f"data of shape {data.shape} needs ({size},)."
        )
    for name, state, shape in zip(("state", "state_cell"), states, _state_shapes(attrs, data.shape[1])):
        if states[0] is None:
            continue
        if state is None:
            raise ValueError(f"rnn: mode='{attrs['mode']}' needs {name}, of shape {shape}.")
        if state.shape != shape:
            raise ShapeError(f"rnn: {name} has shape {state.shape}, but data of shape {data.shape} needs {shape}.")
    return pieces


def _attributes(attrs: Mapping[str, Any], clip: tuple[Any, ...]) -> None:
    choose(GATES, attrs["mode"], "rnn", "mode")
    for name in ("state_size", "num_layers"):
        if attrs[name] < 1:
            raise ValueError(f"rnn: {name} is {attrs[name]}, but must be at least 1.")
    if not 0 <= attrs["p"] <= 1:
        raise ValueError(f"rnn: p is {attrs['p']!r}, but must be a probability, from 0 to 1.")
    if attrs["mode"] != "lstm":
        for name, value in (("projection_size", attrs["projection_size"]), ("lstm_state_clip", clip[0] or clip[1])):
            if value is not None:
                raise ValueError(f"rnn: {name} is for mode='lstm' alone, but the mode is '{attrs['mode']}'.")


def _mask(data: Array, lengths: Array | None) -> Array | None:
    if lengths is None:
        return None
    if lengths.shape != (data.shape[1],):
        raise ShapeError(f"rnn: sequence_length has shape {lengths.shape}, but a batch of {data.shape[1]} came.")
    times = lax.broadcasted_iota(jnp.int32, (*data.shape[:2], 1), 0)
    return times < lengths.astype(jnp.int32)[None, :, None]


def _one(
    x: Array, piece: Mapping[str, Array], name: str, states: list[Array], mask: jax.Array | None, attrs: Any
) -> list[Array]:
    """Run one layer in one direction; return all outputs, and the last cell of an LSTM."""
    walk, mode = (step_layout(x.shape[1], attrs["state_size"]), name[0] == "r"), attrs["mode"]
    wx, wh = piece[f"{name}_i2h_weight"], piece[f"{name}_h2h_weight"]
    bx, bh = piece[f"{name}_i2h_bias"], piece[f"{name}_h2h_bias"]
    if mode == "gru":
        two = 2 * attrs["state_size"]
        both = bx + jnp.where(lax.iota(jnp.int32, len(bh)) < two, bh, 0)
        return [gru_loop(walk, (x, wx, both, wh, bh[two:]), states[0], mask)]
    if mode == "lstm":
        arrays = (x, wx, bx + bh, wh, piece.get(f"{name}_h2r_weight"))
        return list(lstm_loop((*walk, attrs["clip"]), arrays, states[0], states[1], mask))
    return [simple_loop((*walk, mode[4:]), (x, wx, bx + bh, wh), states[0], mask)]


def _unpacked(flat: Array, pieces: Pieces) -> dict[str, Array]:
    parts = lax.split(flat, [math.prod(shape) for _, shape in pieces])
    return {name: part.reshape(shape) for (name, shape), part in zip(pieces, parts, strict=True)}


def _dropped(key: Any, layer: int, x: Array, attrs: Any) -> Array:
    """Return a layer's input: the output of the layer before it, with dropout in training."""
    if not layer or key is None:
        return x
    keep = jax.random.bernoulli(jax.random.fold_in(key, layer), 1 - attrs["p"], x.shape)
    return jnp.where(keep, x / (1 - attrs["p"]) if attrs["p"] < 1 else 0, 0)


def _stacked(key: Any, x: Array, piece: dict[str, Array], states: list[Array], mask: Any, attrs: Any) -> list[Array]:
    """Run all layers; return the output, and the last states."""
    sides = "lr" if attrs["bidirectional"] else "l"
    last: list[list[Array]] = [[] for _ in states]
    for layer in range(attrs["num_layers"]):
        x = _dropped(key, layer, x, attrs)
        outs = []
        for side, letter in enumerate(sides):
            at = layer * len(sides) + side
            y, *cell = _one(x, piece, f"{letter}{layer}", [s[at] for s in states], mask, attrs)
            for kept, value in zip(last, [y[0 if letter == "r" else -1], *cell]):
                kept.append(value)
            outs.append(y if mask is None else jnp.where(mask, y, 0))
        x = outs[0] if len(outs) == 1 else jnp.concatenate(outs, 2)
    return [x, *(jnp.stack(values) for values in last)]


def _scanned(
    key: Any, data: Array, flat: Array, begin: Any, lengths: Any, pieces: Pieces, attrs: Any
) -> tuple[Array, ...]:
    """Run all layers by `gluonx.ops.recurrence`."""
    piece, mask = _unpacked(wide(flat), pieces), _mask(data, lengths)
    return tuple(_stacked(key, wide(data), piece, list(begin), mask, attrs))


def _by_cudnn(
    key: Any, x: Array, flat: Array, begin: Any, lengths: Any, pieces: Pieces, attrs: Any
) -> tuple[Array, ...]:
    """Run an LSTM by cuDNN: all layers at once, or one by one if something is dropped between them.

    cuDNN's own dropout draws the same numbers in every step, because JAX gives it a fixed seed.
    """
    count, sides = attrs["num_layers"], 2 if attrs["bidirectional"] else 1
    each = count if key is None else 1
    mine = {**attrs, "num_layers": each}
    sizes = {"size": attrs["state_size"], "layers": each, "both": attrs["bidirectional"]}
    parts = _unpacked(flat, pieces)
    last = []
    for first in range(0, count, each):
        x = _dropped(key, first, x, attrs)
        own = _layout(mine, x.shape[2])
        if each < count:  # the same order, of one layer
            of_it = [parts[name] for name, _ in pieces if int(name[1 : name.index("_")]) == first]
            flat = jnp.concatenate([part.ravel() for part in of_it])

        def usual(x: Array, flat: Array, h: Array, c: Array, lengths: Any, own: Pieces = own) -> Any:
            return _scanned(None, x, flat, (h, c), lengths, own, mine)

        h, c = (state[first * sides : (first + each) * sides] for state in begin)
        x, *states = cudnn.lstm(x, flat, h, c, lengths, **sizes, usual=usual)
        last.append(states)
    return x, *[jnp.concatenate(states) for states in zip(*last, strict=True)]


_NAMES = ("mode", "state_size", "num_layers", "bidirectional", "p", "projection_size")


def _run(key: Any, data: Array, flat: Array, states: Any, lengths: Any, clip: Any, attrs: dict[str, Any]) -> Any:
    """Return the output and the last states; arguments are checked already."""
    _attributes(attrs, clip)
    shapes = _state_shapes(attrs, data.shape[1] if data.ndim == 3 else 0)
    given = states[: len(shapes)]
    pieces = _check(data, flat, given, attrs)
    inner = wide(flat).dtype
    begin = [jnp.zeros(shape, inner) if s is None else wide(s) for s, shape in zip(given, shapes)]
    attrs = {**attrs, "clip": clip}
    run = _by_cudnn if cudnn.fits(data, flat, begin, attrs) else _scanned
    return tuple(narrow(a, float_dtype(data)) for a in run(key, data, flat, begin, lengths, pieces, attrs))


@register(
    aliases=("RNN",),
    random=_drops,
    mode=_heeds_mode,
    infer=_shapes,
    batched=("state", "state_cell"),
    nout=_outputs,
    amp="low",
    shape="(time, batch, directions * state_size), then the states if asked",
    stands_for="`stablehlo.while`",
)
def rnn(
    key: Array | None,
    data: Array,
    parameters: Array,
    state: Array | None = None,
    state_cell: Array | None = None,
    sequence_length: Array | None = None,
    *,
    mode: str,
    state_size: int,
    num_layers: int,
    bidirectional: bool = False,
    state_outputs: bool = False,
    p: float = 0.0,
    use_sequence_length: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool | None = False,
    training: bool | None = None,
) -> Array | tuple[Array, ...]:
    """Recurrent layers over a sequence (time, batch, features): plain, LSTM or GRU; stacked, in one or both directions.

    Parameters
    ----------
    parameters : array, shape (size,)
        All weights, then all biases; see `packing`.
    state, state_cell : array, shape (layers * directions, batch, state_size), optional
        Zeros by default. The `state` of a projected LSTM has `projection_size` elements; only an LSTM has a
        `state_cell`.
    sequence_length : array, shape (batch,)
        Used with `use_sequence_length`: outputs beyond a sequence's length are 0, its last states are those at that
        length, and the backward direction begins there.
    p : float
        The share of the inputs of all layers but the first that is dropped in training.
    lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan
        The bounds of the cell at each step; with the third, NaN becomes the lower bound.
    mode
        'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
    state_size
        The number of units.
    num_layers
        How many layers are stacked.
    bidirectional
        Whether each layer has a second direction, backwards in time.
    state_outputs
        Whether to return the last states too.
    projection_size
        The size of an LSTM's projected state; None: no projection.

    Returns
    -------
    array, shape (time, batch, directions * state), or under `state_outputs` a tuple of it and the last states

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.rnn(
    ...     np.ones((5, 2, 3)),
    ...     np.zeros(36),
    ...     np.zeros((1, 2, 4)),
    ...     mode="rnn_tanh",
    ...     state_size=4,
    ...     num_layers=1,
    ... ).shape
    (5, 2, 4)
    """
    attrs: dict[str, Any] = dict(
        zip(_NAMES, (mode, state_size, num_layers, bidirectional, p, projection_size), strict=True)
    )
    clip = lstm_state_clip_min, lstm_state_clip_max, bool(lstm_state_clip_nan)
    lengths = sequence_length if use_sequence_length else None
    if use_sequence_length and lengths is None:
        raise ValueError("rnn: use_sequence_length=True needs sequence_length, of shape (batch,).")
    outs = _run(key if p > 0 and training else None, data, parameters, [state, state_cell], lengths, clip, attrs)
    return outs if state_outputs else outs[0]
