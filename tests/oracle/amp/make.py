"""Record how MXNet's loss scaler moves, for a pattern of overflows, and where it puts casts into a symbol.

Run it with the oracle's Python:

    /tmp/oracle/bin/python tests/oracle/amp/make.py

No operator is cast, since MXNet has no half-precision matrix products on a CPU; the scaler does not care.
"""

import json
import pathlib

import mxnet as mx
import numpy as onp
from mxnet import amp, autograd, gluon, np, npx
from mxnet.gluon import nn

npx.set_np()
PATTERN = "ggggbggbbgggggggggggbgggggg"  # good and bad steps
INTERVAL = 4


def symbol():
    data = mx.sym.Variable("data")
    conv = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
    act = mx.sym.Activation(mx.sym.BatchNorm(conv, name="bn"), act_type="relu", name="act")
    fc = mx.sym.FullyConnected(mx.sym.Flatten(act, name="flat"), num_hidden=3, name="fc")
    return mx.sym.elemwise_add(fc, mx.sym.softmax(fc, name="sm"), name="add")


def nodes(sym):
    found = json.loads(sym.tojson(remove_amp_cast=False))["nodes"]
    return [[n["op"], n["name"], [found[i[0]]["name"] for i in n["inputs"]]] for n in found]


def symbols():
    found = {"plain": nodes(symbol())}
    found["float16"] = nodes(amp.convert_symbol(symbol()))
    found["conv in float32"] = nodes(amp.convert_symbol(symbol(), excluded_sym_names=["conv"]))
    pathlib.Path(__file__).with_name("symbols.json").write_text(json.dumps(found) + "\n")


def main():
    symbols()
    amp.init(target_precision_ops=["dot"])
    net = nn.Dense(1, in_units=1, use_bias=False)
    net.initialize()
    net.weight.set_data(np.ones((1, 1)))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.125})
    amp.init_trainer(trainer)
    trainer._amp_loss_scaler._scale_seq_len = INTERVAL
    trainer._amp_loss_scaler._max_loss_scale = 2.0**18
    steps = []
    for kind in PATTERN:
        with autograd.record():
            loss = net(np.ones((1, 1))) ** 2
            if kind == "b":
                loss = loss * onp.inf
            with amp.scale_loss(loss, trainer) as scaled:
                scaled.backward()
        used = trainer.amp_loss_scale
        trainer.step(1)
        steps.append([used, net.weight.data().item()])
    found = {"pattern": PATTERN, "interval": INTERVAL, "max_scale": 2.0**18, "steps": steps}
    found["updates"] = trainer._optimizer.num_update
    pathlib.Path(__file__).with_name("scaler.json").write_text(json.dumps(found) + "\n")


main()
