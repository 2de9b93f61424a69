"""Ask MXNet 2.0 for the edge cases of ``tests/contract_edges.py``: writes ``golden.npz`` and ``errors.json``.

/tmp/oracle/bin/python tests/oracle/edges/make_golden.py
"""

import contextlib
import json
import os
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))
os.environ["MXNET_ONEDNN_ENABLED"] = "0"
os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"

import numpy as onp  # noqa: E402
from contract_edges import INPUTS, ROWS, helpers  # noqa: E402
from mxnet import autograd, np, npx  # noqa: E402
from mxnet.gluon import loss, metric, nn  # noqa: E402

npx.set_np()
warnings.simplefilter("ignore")


def evaluate(row):
    """The value of a row, and the gradient of the sum of its squares' halves."""
    given = {name: np.array(INPUTS[key], dtype=INPUTS[key].dtype) for name, key in zip("xyz", row.inputs)}
    names = {"np": np, "npx": npx, "nn": nn, "loss": loss, "metric": metric, **helpers(np), **given}
    if not row.grad:
        return [eval(row.expression, names).asnumpy()]
    given["x"].attach_grad()
    with autograd.record():
        out = eval(row.expression, names)
    out.backward()
    return [out.asnumpy(), given["x"].grad.asnumpy()]


def main():
    found, errors = {}, {}
    for row in ROWS:
        try:
            for name, value in zip(("out", "grad"), evaluate(row)):
                found[f"{row.mark}/{name}"] = value
        except Exception as error:
            errors[row.key] = f"{type(error).__name__}: {str(error).strip().splitlines()[-1][:120]}"
            print(row.key, errors[row.key])
            with contextlib.suppress(Exception):  # what else failed in the background is not the next row's
                npx.waitall()
    onp.savez_compressed(HERE / "golden.npz", **found)
    (HERE / "errors.json").write_text(json.dumps(errors, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
