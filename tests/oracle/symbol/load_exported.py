"""Loads what gluonx exported with the real MXNet 2.0.0b1 and writes what it computes.

``python tests/oracle/symbol/load_exported.py FOLDER``: for every ``NAME-symbol.json`` there, with ``NAME-0000.params``
and the inputs ``arr_0``, ``arr_1`` ... of ``NAME-io.npz``, writes ``NAME-mxnet.npz``; failures go to ``failed.json``.
"""

import json
import pathlib
import sys
import warnings

import numpy as onp
from mxnet import gluon, np, npx

warnings.simplefilter("ignore")
npx.set_np()
folder, failed = pathlib.Path(sys.argv[1]), {}
for path in sorted(folder.glob("*-symbol.json")):
    name = path.name[: -len("-symbol.json")]
    io = onp.load(folder / f"{name}-io.npz")
    inputs = [np.array(io[f"arr_{i}"], dtype=io[f"arr_{i}"].dtype) for i in range(len(io.files))]
    names = ["data"] if len(inputs) == 1 else [f"data{i}" for i in range(len(inputs))]
    try:
        net = gluon.SymbolBlock.imports(str(path), names, str(folder / f"{name}-0000.params"))
        out = net(*inputs)
        onp.savez(
            folder / f"{name}-mxnet.npz", *[o.asnumpy() for o in (out if isinstance(out, (list, tuple)) else [out])]
        )
    except Exception as error:  # whatever MXNet finds wrong
        failed[name] = str(error)[-400:]
(folder / "failed.json").write_text(json.dumps(failed, indent=1))
print(f"{len(failed)} failed")
