"""Ask MXNet 2.0 for the numbers of the recurrent layers and cells.

    /tmp/oracle/bin/python tests/oracle/rnn/make_golden.py

It writes ``golden.npz`` (outputs, last states, gradients), ``facts.json`` (reprs, names and shapes of parameters,
states, constructors' signatures) and ``lstm.params``, a file of MXNet 2.0's that holds one flat parameter.
"""

import inspect
import json
import os
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"
warnings.simplefilter("ignore")

import cases  # noqa: E402
import mxnet as mx  # noqa: E402
import numpy as onp  # noqa: E402
from mxnet.gluon import rnn  # noqa: E402

mx.npx.set_np()


def one(row, is_layer):
    block = row.make(rnn)
    facts = {"repr": repr(block)}
    block.initialize()
    if is_layer:
        block(mx.np.array(cases.inputs(row)))
    params = block.collect_params()
    for name, param in params.items():
        param.set_data(mx.np.array(cases.weight(row.key, name, param.shape)))
    facts["params"] = {name: list(p.shape) for name, p in params.items()}
    facts["repr_after"] = repr(block)
    facts["states"] = [{k: v for k, v in info.items() if k != "dtype"} for info in block.state_info(2)]
    return cases.run(row, block, mx, is_layer), facts


def main():
    arrays, facts = {}, {"signatures": {}}
    for rows, is_layer in ((cases.LAYERS, True), (cases.CELLS, False)):
        for row in rows:
            try:
                found, facts[row.key] = one(row, is_layer)
            except Exception as error:
                print("NOT", row.key, str(error)[-300:])
                continue
            arrays.update({f"{row.key}/{name}": value for name, value in found.items()})
    for name, thing in vars(rnn).items():
        if inspect.isclass(thing):
            params = list(inspect.signature(thing.__init__).parameters.values())[1:]
            facts["signatures"][name] = [[p.name, repr(p.default)] for p in params if p.kind is not p.VAR_KEYWORD]
    onp.savez_compressed(HERE / "golden.npz", **arrays)
    (HERE / "facts.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
    net = mx.gluon.nn.HybridSequential()
    net.add(rnn.LSTM(3, 2, bidirectional=True, input_size=2))
    net.initialize()
    net(mx.np.ones((1, 1, 2)))
    param = net[0].rnn_param
    param.set_data(mx.np.array(cases.weight("file", "rnn_param", param.shape)))
    net.save_parameters(str(HERE / "lstm.params"))


if __name__ == "__main__":
    main()
