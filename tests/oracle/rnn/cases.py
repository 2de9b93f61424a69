"""Recurrent layers and cells: how to make each, and what goes in. Read by the tests, and by the oracle's Python 3.11.

Inputs, weights and the gradient of the outputs are functions of a row's key, so the golden file holds results only.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

TIME, BATCH, SIZE = 4, 3, 5
LENGTHS = [4, 2, 1]


class Row(NamedTuple):
    key: str
    make: Any  # of the namespace
    states: bool = True  # whether states are given
    lengths: bool = False  # of a cell: valid_length
    layout: str = "TNC"
    shape: tuple = (SIZE,)  # of one step of one sample
    grads: bool = True  # whether the oracle has a backward


def stack(rnn, name, *cells):
    box = getattr(rnn, name)()
    for cell in cells:
        box.add(cell)
    return box


LAYERS = [
    Row("rnn-relu", lambda rnn: rnn.RNN(6, input_size=SIZE)),
    Row("rnn-tanh", lambda rnn: rnn.RNN(6, 2, "tanh", bidirectional=True, input_size=SIZE)),
    Row("rnn-deferred", lambda rnn: rnn.RNN(6, activation="tanh"), states=False),
    Row("lstm", lambda rnn: rnn.LSTM(6, input_size=SIZE)),
    Row("lstm-default", lambda rnn: rnn.LSTM(6), states=False),
    Row("lstm-ntc", lambda rnn: rnn.LSTM(6, layout="NTC"), layout="NTC"),
    Row("lstm-both", lambda rnn: rnn.LSTM(4, bidirectional=True)),
    Row("lstm-deep", lambda rnn: rnn.LSTM(4, 3, layout="NTC", bidirectional=True), layout="NTC"),
    Row("lstm-projected", lambda rnn: rnn.LSTM(6, 2, projection_size=3), grads=False),
    Row("lstm-projected-both", lambda rnn: rnn.LSTM(4, 2, bidirectional=True, projection_size=3), grads=False),
    Row("gru", lambda rnn: rnn.GRU(6)),
    Row("gru-default", lambda rnn: rnn.GRU(6, layout="NTC"), states=False, layout="NTC"),
    Row("gru-deep", lambda rnn: rnn.GRU(4, 2, bidirectional=True)),
]

_LEFT, _RIGHT = {"input_size": SIZE}, {"input_size": 4}
CELLS = [
    Row("rnn-cell", lambda rnn: rnn.RNNCell(4, **_LEFT)),
    Row("rnn-cell-relu", lambda rnn: rnn.RNNCell(4, activation="relu", **_LEFT), lengths=True),
    Row("lstm-cell", lambda rnn: rnn.LSTMCell(4, **_LEFT), layout="NTC"),
    Row("lstm-cell-lengths", lambda rnn: rnn.LSTMCell(4, **_LEFT), lengths=True),
    Row(
        "lstm-cell-other",
        lambda rnn: rnn.LSTMCell(4, activation="softsign", recurrent_activation="tanh", **_LEFT),
        states=False,
    ),
    Row("lstmp-cell", lambda rnn: rnn.LSTMPCell(6, 3, **_LEFT)),
    Row("lstmp-cell-lengths", lambda rnn: rnn.LSTMPCell(6, 3, **_LEFT), lengths=True, layout="NTC"),
    Row("gru-cell", lambda rnn: rnn.GRUCell(4, **_LEFT), states=False),
    Row("gru-cell-lengths", lambda rnn: rnn.GRUCell(4, **_LEFT), lengths=True),
    Row("sequential", lambda rnn: stack(rnn, "SequentialRNNCell", rnn.LSTMCell(4, **_LEFT), rnn.GRUCell(3, **_RIGHT))),
    Row(
        "hybrid-sequential",
        lambda rnn: stack(
            rnn, "HybridSequentialRNNCell", rnn.RNNCell(4, **_LEFT), rnn.DropoutCell(0.0), rnn.LSTMCell(3, **_RIGHT)
        ),
        lengths=True,
    ),
    Row("both", lambda rnn: rnn.BidirectionalCell(rnn.LSTMCell(4, **_LEFT), rnn.GRUCell(3, **_LEFT))),
    Row(
        "both-lengths",
        lambda rnn: rnn.BidirectionalCell(rnn.GRUCell(4, **_LEFT), rnn.RNNCell(3, **_LEFT)),
        lengths=True,
        layout="NTC",
    ),
    Row("residual", lambda rnn: rnn.ResidualCell(rnn.GRUCell(SIZE, **_LEFT)), lengths=True),
    Row(
        "residual-both",
        lambda rnn: rnn.ResidualCell(rnn.BidirectionalCell(rnn.RNNCell(2, **_LEFT), rnn.RNNCell(3, **_LEFT))),
    ),
    Row("variational", lambda rnn: rnn.VariationalDropoutCell(rnn.LSTMCell(4, **_LEFT), 0.0, 0.0, 0.0)),
    Row("zoneout", lambda rnn: rnn.ZoneoutCell(rnn.LSTMCell(4, **_LEFT), 0.0, 0.0)),
    Row("dropout-cell", lambda rnn: rnn.DropoutCell(0.0)),
    Row("conv1d-rnn", lambda rnn: rnn.Conv1DRNNCell((2, 6), 2, 3, 3, i2h_pad=1), shape=(2, 6)),
    Row("conv1d-lstm", lambda rnn: rnn.Conv1DLSTMCell((2, 6), 2, 3, 3, i2h_dilate=2, h2h_dilate=2), shape=(2, 6)),
    Row("conv1d-gru", lambda rnn: rnn.Conv1DGRUCell((2, 6), 2, 2, 5), shape=(2, 6), lengths=True),
    Row("conv2d-rnn", lambda rnn: rnn.Conv2DRNNCell((2, 4, 5), 2, 3, 3, activation="relu"), shape=(2, 4, 5)),
    Row("conv2d-lstm", lambda rnn: rnn.Conv2DLSTMCell((2, 4, 5), 2, (3, 2), (1, 3), i2h_pad=(1, 0)), shape=(2, 4, 5)),
    Row("conv2d-gru", lambda rnn: rnn.Conv2DGRUCell((2, 4, 4), 2, 3, 3), shape=(2, 4, 4), states=False),
    Row("conv3d-rnn", lambda rnn: rnn.Conv3DRNNCell((2, 3, 3, 3), 1, 2, 3), shape=(2, 3, 3, 3)),
    Row("conv3d-lstm", lambda rnn: rnn.Conv3DLSTMCell((1, 3, 3, 3), 1, 3, 1), shape=(1, 3, 3, 3)),
    Row("conv3d-gru", lambda rnn: rnn.Conv3DGRUCell((2, 3, 3, 3), 1, 2, 1), shape=(2, 3, 3, 3)),
]


def numbers(shape, *words):
    """Numbers between -1 and 1, a function of the words."""
    seed = zlib.crc32("/".join(map(str, words)).encode())
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


def inputs(row):
    lead = (TIME, BATCH) if row.layout == "TNC" else (BATCH, TIME)
    return numbers((*lead, *row.shape), row.key, "input")


def weight(key, name, shape):
    return 0.6 * numbers(shape, key, name)


def states(row, block):
    """The states that are given, as arrays."""
    return [numbers(info["shape"], row.key, "state", i) for i, info in enumerate(block.state_info(BATCH))]


def run(row, block, lib, is_layer):
    """Outputs, states and gradients by name; the block has its weights already."""
    np_, autograd = lib.np, lib.autograd
    x = np_.array(inputs(row))
    first = [np_.array(s) for s in states(row, block)] if row.states else None
    watched = {"x": x, **{f"state{i}": s for i, s in enumerate(first or [])}}
    for array in watched.values() if row.grads else ():
        array.attach_grad()

    def forward():
        if is_layer:
            return block(x, first) if row.states else (block(x), [])
        lengths = np_.array(LENGTHS, dtype="int32") if row.lengths else None
        return block.unroll(TIME, x, begin_state=first, layout=row.layout, merge_outputs=True, valid_length=lengths)

    if not row.grads:
        outs, last = forward()
        return {"out": outs.asnumpy(), **{f"last{i}": s.asnumpy() for i, s in enumerate(last)}}
    with autograd.record():
        outs, last = forward()
        heads = [outs, *last]
        total = sum((y * np_.array(numbers(y.shape, row.key, "head", i))).sum() for i, y in enumerate(heads))
    total.backward()
    found = {"out": outs.asnumpy(), **{f"last{i}": s.asnumpy() for i, s in enumerate(last)}}
    found.update({f"grad/{name}": array.grad.asnumpy() for name, array in watched.items()})
    found.update({f"grad/{name}": p.grad().asnumpy() for name, p in block.collect_params().items()})
    return found
