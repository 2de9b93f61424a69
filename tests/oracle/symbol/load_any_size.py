"""Loads what gluonx exported with the real MXNet, and writes what it computes from inputs of several sizes.

``python tests/oracle/symbol/load_any_size.py FOLDER``, in MXNet 2.0.0b1 and 1.9.1: for every ``NUMBER-symbol.json``
there, with ``NUMBER-0000.params``, and the inputs ``arr_0``, ``arr_1`` ... of ``inputs.npz``, writes ``NUMBER-out.npz``
with ``I_J``, the output J for the input I; failures go to ``failed.json``.
"""

import json
import pathlib
import sys
import warnings

import mxnet as mx
import numpy as onp
from mxnet import gluon, npx

warnings.simplefilter("ignore")
folder, failed = pathlib.Path(sys.argv[1]), {}
second = mx.__version__ >= "2"
if second:
    npx.set_np()
array = mx.np.array if second else mx.nd.array
given = onp.load(folder / "inputs.npz")
inputs = [array(given[f"arr_{i}"]) for i in range(len(given.files))]
for path in sorted(folder.glob("*-symbol.json")):
    name, found = path.name[: -len("-symbol.json")], {}
    try:
        net = gluon.SymbolBlock.imports(str(path), ["data"], str(folder / f"{name}-0000.params"))
    except Exception as error:  # whatever MXNet finds wrong
        failed[name] = str(error)[-400:]
        continue
    for i, x in enumerate(inputs):
        try:
            out = net(x)
            for j, o in enumerate(out if isinstance(out, (list, tuple)) else [out]):
                found[f"{i}_{j}"] = o.asnumpy()
        except Exception as error:
            failed[f"{name} of input {i}"] = str(error)[-400:]
    onp.savez(folder / f"{name}-out.npz", **found)
(folder / "failed.json").write_text(json.dumps({"mxnet": mx.__version__, "failed": failed}, indent=1))
