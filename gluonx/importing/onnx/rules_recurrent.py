"""Recurrent layers. See `gluonx.importing.onnx.rules`.

Layers with the usual activations become the operator `rnn`, whose vector of weights is concatenated of the file's
arrays with the gates in another order. Peepholes, bounds, other activations, and a GRU whose reset gate is applied
before the product are loops (`npx.foreach`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gluonx import np as gnp
from gluonx import npx
from gluonx.errors import ShapeError
from gluonx.importing.onnx.rules import Call, Node, rule

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


# ONNX has the gates i, o, f, g and z, r, n; gluonx i, f, g, o and r, z, n.
_ORDER = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
_USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sigmoid": npx.sigmoid,
    "tanh": gnp.tanh,
    "relu": npx.relu,
    "softsign": npx.softsign,
    "softplus": npx.softrelu,
    "hardsigmoid": npx.hard_sigmoid,
    "elu": npx.elu,
    "leakyrelu": lambda x: npx.leaky_relu(x, act_type="leaky", slope=0.01),
}


def _activations(node: Node) -> list[str]:
    usual = _USUAL[node.op] * (2 if node.attrs.get("direction") == "bidirectional" else 1)
    return [name.lower() for name in node.attrs.get("activations") or usual]


def _check(node: Node) -> str | None:
    wrong = [name for name in _activations(node) if name not in _FUNCTIONS]
    if wrong:
        return f"activation '{wrong[0]}'"
    return "activation_alpha or activation_beta" if {"activation_alpha", "activation_beta"} & set(node.attrs) else None


@rule("LSTM", "GRU", "RNN", check=_check)
def _recurrent(call: Call) -> Any:
    kind, direction = call.node.op, call.attr("direction", "forward")
    x, lengths, batch_first = call[0], call[4], bool(call.attr("layout", 0))
    states = [call[5], call[6]] if kind == "LSTM" else [call[5]]
    if batch_first:
        x = gnp.swapaxes(x, 0, 1)
        states = [None if s is None else gnp.swapaxes(s, 0, 1) for s in states]
    if x.ndim != 3:
        raise ShapeError(f"{call.node}: data has shape {tuple(x.shape)}, but (time, batch, features) is needed")
    if direction == "reverse":
        x = _backward(x, lengths)
    run = _fused if _is_usual(call) else _looped
    out, *last = run(call, x, lengths, states)  # (time, batch, directions, size), (directions, batch, size)
    if direction == "reverse":
        out = _backward(out, lengths)
    if batch_first:
        return gnp.swapaxes(out, 0, 1), *[gnp.swapaxes(s, 0, 1) for s in last]
    return gnp.transpose(out, (0, 2, 1, 3)), *last


def _backward(x: ndarray, lengths: Any) -> ndarray:
    if lengths is None:
        return gnp.flip(x, 0)
    return npx.sequence_reverse(x, lengths, use_sequence_length=True)


def _is_usual(call: Call) -> bool:
    """Return whether the operator `rnn` computes this."""
    kind, names = call.node.op, _activations(call.node)
    plain = names == [name.lower() for name in _USUAL[kind]] * (len(names) // len(_USUAL[kind]))
    if kind == "RNN":
        plain = plain or set(names) == {"relu"}
    if kind == "GRU":
        plain = plain and bool(call.attr("linear_before_reset", 0))
    return plain and not call.attr("clip") and not call.attr("input_forget", 0) and call.raw(7) is None


def _reordered(array: Any, order: Sequence[int], size: int) -> Any:
    """Return the rows of the gates in another order."""
    if len(order) == 1:
        return array
    return gnp.concatenate([array[i * size : (i + 1) * size] for i in order], axis=0)


def _fused(call: Call, x: ndarray, lengths: Any, states: list[Any]) -> list[Any]:
    kind, size = call.node.op, call.attr("hidden_size")
    weight, inner, bias = call[1], call[2], call[3]
    sides, order = weight.shape[0], _ORDER[kind]
    pieces, biases = [], []
    for side in range(sides):
        pieces += [gnp.reshape(_reordered(w[side], order, size), (-1,)) for w in (weight, inner)]
        if bias is None:
            biases.append(gnp.zeros((2 * len(order) * size,), dtype=x.dtype))
        else:
            rows = len(order) * size
            biases += [_reordered(bias[side][begin : begin + rows], order, size) for begin in (0, rows)]
    mode = {"LSTM": "lstm", "GRU": "gru", "RNN": f"rnn_{_activations(call.node)[0]}"}[kind]
    if any(s is not None for s in states):
        zeros = gnp.zeros((sides, x.shape[1], size), dtype=x.dtype)
        states = [zeros if s is None else s for s in states]
    cell = {"state_cell": states[1]} if kind == "LSTM" else {}
    out, *last = npx.rnn(
        x, gnp.concatenate([*pieces, *biases], axis=0), states[0], **cell,
        sequence_length=None if lengths is None else lengths.astype("int32"),
        use_sequence_length=lengths is not None, mode=mode, state_size=size, num_layers=1,
        bidirectional=sides == 2, state_outputs=True,
    )  # fmt: skip
    return [gnp.reshape(out, (*out.shape[:2], sides, size)), *last]


# -- loops ------------------------------------------------------------------------------------------------------------


def _looped(call: Call, x: Any, lengths: Any, states: list[Any]) -> list[Any]:
    sides, outs, lasts = call[1].shape[0], [], []
    for side in range(sides):
        data = _backward(x, lengths) if side else x
        out, last = _one_side(call, data, lengths, [None if s is None else s[side] for s in states], side, sides)
        outs.append(_backward(out, lengths) if side else out)
        lasts.append(last)
    ends = [gnp.stack([last[i] for last in lasts]) for i in range(len(states))]
    return [gnp.stack(outs, axis=2), *ends]


def _one_side(call: Call, x: ndarray, lengths: Any, states: list[Any], side: int, sides: int) -> tuple[Any, list[Any]]:
    kind, size, gates = call.node.op, call.attr("hidden_size"), len(_ORDER[call.node.op])
    weight, inner = call[1][side], call[2][side]
    both = gnp.zeros((2 * gates * size,), dtype=x.dtype) if call[3] is None else call[3][side]
    names = _activations(call.node)
    count = len(names) // sides
    functions = [_FUNCTIONS[name] for name in names[side * count : (side + 1) * count]]
    bound = call.attr("clip")

    def clipped(value: ndarray) -> ndarray:
        return gnp.clip(value, -bound, bound) if bound else value

    parts = {
        "inner": inner, "bias": both[gates * size :], "functions": functions, "clipped": clipped, "size": size,
        "peepholes": None if call[7] is None else call[7][side],
        "coupled": bool(call.attr("input_forget", 0)), "linear": bool(call.attr("linear_before_reset", 0)),
    }  # fmt: skip
    zeros = gnp.zeros((x.shape[1], size), dtype=x.dtype)
    begin = [zeros if s is None else s for s in states]
    ahead = gnp.add(gnp.matmul(x, gnp.transpose(weight)), both[: gates * size])
    step = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}[kind]
    if lengths is None:
        return npx.foreach(lambda row, old: _twice(step(row, old, parts)), ahead, begin)
    times = gnp.reshape(gnp.arange(x.shape[0], dtype="int32"), (-1, 1, 1))
    inside = gnp.less(times, gnp.reshape(lengths.astype("int32"), (1, -1, 1)))

    def masked(items: Any, old: Any) -> Any:
        row, keep = items
        new = step(row, old, parts)
        return gnp.where(keep, new[0], gnp.zeros_like(new[0])), [gnp.where(keep, a, b) for a, b in zip(new, old)]

    return npx.foreach(masked, [ahead, inside], begin)


def _twice(states: list[Any]) -> tuple[Any, list[Any]]:
    return states[0], states


def _rows(row: ndarray, h: ndarray, parts: dict[str, Any], first: int, last: int) -> list[Any]:
    """Return what the gates `first` to `last` get, of this step and of the state."""
    size = parts["size"]
    cut = slice(first * size, last * size)
    total = gnp.add(gnp.matmul(h, gnp.transpose(parts["inner"][cut])), parts["bias"][cut])
    total = gnp.add(row[:, cut], total)
    return [total[:, i * size : (i + 1) * size] for i in range(last - first)]


def _lstm(row: Any, old: list[Any], parts: dict[str, Any]) -> list[Any]:
    (h, c), (gate, inner, outer), clipped, size = old, parts["functions"], parts["clipped"], parts["size"]
    i, o, f, g = _rows(row, h, parts, 0, 4)
    peeps = parts["peepholes"]
    if peeps is not None:
        i, f = gnp.add(i, gnp.multiply(c, peeps[:size])), gnp.add(f, gnp.multiply(c, peeps[2 * size :]))
    i = gate(clipped(i))
    f = gnp.subtract(1, i) if parts["coupled"] else gate(clipped(f))
    cell = gnp.add(gnp.multiply(f, c), gnp.multiply(i, inner(clipped(g))))
    if peeps is not None:
        o = gnp.add(o, gnp.multiply(cell, peeps[size : 2 * size]))
    return [gnp.multiply(gate(clipped(o)), outer(cell)), cell]


def _gru(row: ndarray, old: list[Any], parts: dict[str, Any]) -> list[Any]:
    (h,), (gate, inner), clipped, size = old, parts["functions"], parts["clipped"], parts["size"]
    z, r = [gate(clipped(value)) for value in _rows(row, h, parts, 0, 2)]
    rows, bias = gnp.transpose(parts["inner"][2 * size :]), parts["bias"][2 * size :]
    if parts["linear"]:
        back = gnp.multiply(r, gnp.add(gnp.matmul(h, rows), bias))
    else:
        back = gnp.add(gnp.matmul(gnp.multiply(r, h), rows), bias)
    new = inner(clipped(gnp.add(row[:, 2 * size :], back)))
    return [gnp.add(gnp.multiply(gnp.subtract(1, z), new), gnp.multiply(z, h))]


def _rnn(row: Any, old: list[Any], parts: dict[str, Any]) -> list[Any]:
    (total,) = _rows(row, old[0], parts, 0, 1)
    return [parts["functions"][0](parts["clipped"](total))]
