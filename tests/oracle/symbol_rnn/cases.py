"""Symbols of recurrent cells, written once for MXNet 1.9.1 and gluonx; nothing here imports either."""

import random

import numpy as onp

T, N, C, H = 3, 2, 4, 5

CELLS = {
    "rnn": lambda r: r.RNNCell(H),
    "rnn_relu": lambda r: r.RNNCell(H, activation="relu", prefix="a_"),
    "lstm": lambda r: r.LSTMCell(H),
    "gru": lambda r: r.GRUCell(H),
    "residual": lambda r: r.ResidualCell(r.GRUCell(C)),
    "zoneout": lambda r: r.ZoneoutCell(r.LSTMCell(H), 0.3, 0.2),
    "stack": lambda r: stacked(r.SequentialRNNCell(), r.LSTMCell(H, prefix="l0_"), r.DropoutCell(0.5), r.GRUCell(3)),
    "both": lambda r: r.BidirectionalCell(r.LSTMCell(H, prefix="l_"), r.GRUCell(3, prefix="r_")),
    "fused_lstm": lambda r: r.FusedRNNCell(H, num_layers=2, mode="lstm", prefix="f_"),
    "fused_gru": lambda r: r.FusedRNNCell(H, mode="gru", bidirectional=True, get_next_state=True),
    "fused_tanh": lambda r: r.FusedRNNCell(H, mode="rnn_tanh"),
    "unfused": lambda r: r.FusedRNNCell(H, num_layers=2, mode="lstm", bidirectional=True, dropout=0.5).unfuse(),
}
FORMS = {"merged": ("NTC", True), "time": ("TNC", True), "list": ("NTC", False), "none": ("NTC", None)}


def stacked(stack, *cells):
    for cell in cells:
        stack.add(cell)
    return stack


def values(shapes):
    return {name: onp.random.RandomState(len(name)).uniform(-0.6, 0.6, shape) for name, shape in shapes.items()}


def flat(states):
    """The last states; MXNet nests those of some cells."""
    return [x for state in states for x in flat(state)] if isinstance(states, (list, tuple)) else [states]


def unrolled(mx, rnn, name, form):
    layout, merge = FORMS[form]
    cell = CELLS[name](rnn)
    data = mx.sym.Variable("data")
    outputs, states = cell.unroll(T, data, layout=layout, merge_outputs=merge)
    outputs = list(outputs) if isinstance(outputs, list) else [outputs]
    net = mx.sym.Group([*outputs, *flat(states)])
    shape = (T, N, C) if layout == "TNC" else (N, T, C)
    found, _, _ = net.infer_shape(data=shape)
    shapes = dict(zip(net.list_arguments(), found))
    executor = net.simple_bind(mx.cpu(), data=shape, grad_req="null")
    for key, value in values(shapes).items():
        executor.arg_dict[key][:] = value
    out = executor.forward(is_train=False)
    return {
        "arguments": {key: list(value) for key, value in shapes.items()},
        "info": [list(shape) for shape in cell.state_shape],
        "outputs": [onp.round(o.asnumpy().astype("float64"), 6).tolist() for o in out],
    }


def packing(mx, rnn, name):
    """Names and sums of unpacked weights, and whether packing gives them back."""
    cell = CELLS[name](rnn)
    outputs, _ = cell.unroll(T, mx.sym.Variable("data"), merge_outputs=True)
    found, _, _ = outputs.infer_shape(data=(N, T, C))
    shapes = dict(zip(outputs.list_arguments(), found))
    args = {key: mx.nd.array(value) for key, value in values(shapes).items() if key != "data"}
    loose = cell.unpack_weights(args)
    packed = cell.pack_weights(loose)
    return {
        "loose": {key: [list(v.shape), round(float(v.asnumpy().sum()), 4)] for key, v in sorted(loose.items())},
        "back": sorted(packed) == sorted(args) and all((packed[k].asnumpy() == args[k].asnumpy()).all() for k in args),
    }


SENTENCES = ["the cat sat", "the dog", "a cat sat down on the dog", "dog cat", "a a a", "on the cat"]


def bucketing(mx, rnn):
    words = [line.split() for line in SENTENCES]
    coded, vocab = rnn.encode_sentences(words, start_label=1, invalid_label=0)
    again, _ = rnn.encode_sentences([["cat", "dog"]], vocab)
    skipping, skipped = rnn.encode_sentences([["a", "b", "c"]], start_label=0, invalid_label=1)
    found = {"coded": coded, "vocab": vocab, "again": again, "skipping": [skipping, skipped]}
    for layout in ("NT", "TN"):
        random.seed(3), onp.random.seed(3)
        it = rnn.BucketSentenceIter(coded, 2, buckets=[2, 3, 7], invalid_label=0, layout=layout)
        found[layout] = {
            "buckets": it.buckets,
            "default": it.default_bucket_key,
            "provide": [list(d.shape) for d in (*it.provide_data, *it.provide_label)],
            "batches": sorted(
                [
                    b.bucket_key,
                    b.data[0].asnumpy().tolist(),
                    b.label[0].asnumpy().tolist(),
                    list(b.provide_data[0].shape),
                ]
                for b in it
            ),
        }
    found["auto"] = rnn.BucketSentenceIter(coded, 2, invalid_label=0).buckets
    return found


def run(mx, rnn):
    return {
        "unrolled": {f"{n} {form}": unrolled(mx, rnn, n, form) for n in CELLS for form in FORMS},
        "packing": {name: packing(mx, rnn, name) for name in CELLS if name not in ("residual", "zoneout")},
        "bucketing": bucketing(mx, rnn),
    }
