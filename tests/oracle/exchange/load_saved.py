"""Builds the nets of plans in the real MXNet 2.0.0b1, loads what gluonx saved of them and writes what they compute.

``python tests/oracle/exchange/load_saved.py FOLDER``: for every ``NAME-plan.json`` there, with ``NAME.params`` and the
inputs ``arr_0``, ``arr_1`` ... of ``NAME-io.npz``, writes ``NAME-saved.npz``; failures go to ``not-loaded.json``.
"""

import json
import pathlib
import sys
import types
import warnings

import numpy as onp
from mxnet import gluon, np, npx

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / "lib"))
from random_nets import net_class

warnings.simplefilter("ignore")
npx.set_np()
made = net_class(
    types.SimpleNamespace(
        nn=gluon.nn, rnn=gluon.rnn, np=np, npx=npx, Parameter=gluon.Parameter, Constant=gluon.Constant
    )
)
folder, failed = pathlib.Path(sys.argv[1]), {}
for path in sorted(folder.glob("*-plan.json")):
    name = path.name[: -len("-plan.json")]
    try:
        with onp.load(folder / f"{name}-io.npz") as io:
            inputs = [np.array(io[f"arr_{i}"], dtype=io[f"arr_{i}"].dtype) for i in range(len(io.files))]
        net = made(json.loads(path.read_text()))
        net.load_parameters(str(folder / f"{name}.params"))
        out = net(*inputs)
        outs = [o.asnumpy() for o in (out if isinstance(out, (list, tuple)) else [out])]
        onp.savez(folder / f"{name}-saved.npz", *outs)
    except Exception as error:  # whatever MXNet finds wrong
        failed[name] = f"{type(error).__name__}: {str(error)[-1500:]}"
(folder / "not-loaded.json").write_text(json.dumps(failed, indent=1))
