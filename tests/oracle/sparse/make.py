"""What MXNet 2.0 makes of `cases`: golden.json, trained.npz, and files of sparse arrays beside it.

Runs in the oracle's venv: ``MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0 python make.py``. Each case has a process of its own,
for MXNet dies of some.
"""

import json
import os
import pathlib
import pickle
import tempfile

import cases
import mxnet as mx
import numpy as np

HERE = pathlib.Path(__file__).parent
mx.npx.reset_np()


def forked(function, *args):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result"
        child = os.fork()
        if child == 0:
            try:
                found = function(*args)
            except Exception as error:
                found = {"error": type(error).__name__}
            path.write_bytes(pickle.dumps(found))
            os._exit(0)
        code = os.waitpid(child, 0)[1]
        return {"error": "died"} if code else pickle.loads(path.read_bytes())


def evaluated(text):
    nd = mx.nd
    found = eval(text, {"nd": nd, "sp": nd.sparse, **cases.inputs(nd)})
    told = {"stype": found.stype, "dtype": np.dtype(found.dtype).name, "values": found.asnumpy().tolist()}
    if found.stype != "default":
        told["indices"] = found.indices.asnumpy().tolist()
        told["data"] = found.data.asnumpy().tolist()
    if found.stype == "csr":
        told["indptr"] = found.indptr.asnumpy().tolist()
        if told["indptr"][-1] != len(told["indices"]):  # sums of csr: what is beyond was never written
            del told["indptr"], told["indices"], told["data"]
    return told


def files():
    own = cases.inputs(mx.nd)
    mx.nd.save(str(HERE / "named.nd"), {"c": own["c"], "r": own["r"], "d": own["d"]})
    mx.nd.save(str(HERE / "listed.nd"), [own["k"], own["s"]])
    mx.nd.save(str(HERE / "zeros.nd"), [mx.nd.sparse.zeros("csr", (2, 3)), mx.nd.sparse.zeros("row_sparse", (2, 3))])


golden = {text: forked(evaluated, text) for text in cases.expressions()}
(HERE / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
steps = {name: forked(cases.trained, mx, name) for name in cases.OPTIMIZERS}
steps |= {f"{name}_rows": forked(cases.trained_by_rows, mx, name) for name in cases.OPTIMIZERS}
print({name: value for name, value in steps.items() if isinstance(value, dict)})
np.savez(HERE / "trained.npz", **{name: value for name, value in steps.items() if not isinstance(value, dict)})
print(forked(files))
print({text: value for text, value in golden.items() if "error" in value})
