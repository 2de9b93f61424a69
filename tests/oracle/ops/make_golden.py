"""Write golden.npz: what MXNet 2.0.0b1 answers to each row of ``cases.py``, outputs and gradients.

/tmp/oracle/bin/python tests/oracle/ops/make_golden.py        # a venv made by shared/tools/oracle.sh
"""

import pathlib
import sys
import warnings

import mxnet as mx
import numpy as onp
from mxnet import autograd, np, npx

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cases

npx.set_np()
warnings.simplefilter("ignore")


def find(there):
    """The oracle's function, and whether it takes legacy arrays."""
    if there == "np.clip1":
        return (lambda x, low, high, a_min, a_max: np.clip(x, a_min, a_max)), False
    if there == "np.einsum":
        return (lambda *arrays, subscripts: np.einsum(subscripts, *arrays)), False
    root, *path = there.split(".")
    found = {"np": np, "npx": npx, "nd": mx.nd}[root]
    for name in path:
        found = getattr(found, name)
    return found, root == "nd"


def smooth(out):
    return out.dtype == onp.float32


def call(row, arrays):
    """The outputs as a list of np.ndarray."""
    fn, legacy = find(row["there"])
    attrs = dict(row["attrs_there"])
    if (row["op"] == "softmax" and "temperature" in attrs) or (row["op"] == "pad" and len(arrays) > 1):
        arrays = arrays[:1]
    given = [None if a is None else a.as_nd_ndarray() for a in arrays] if legacy else arrays
    out = fn(given, **attrs) if row["pack"] else fn(*given, **attrs)
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    return [o.as_np_ndarray() if legacy else o for o in outs]


def answer(row):
    inputs = cases.make(row)
    arrays = [None if x is None else np.array(x, dtype=x.dtype) for x in inputs]
    places = cases.differentiated(row, inputs)
    for i in places:
        arrays[i].attach_grad()
    result = {}
    with autograd.record(train_mode=row["train"]):
        outs = call(row, arrays)
        heads = [
            (o * np.array(cases.weights(row, o.shape, k))).sum() for k, o in enumerate(outs) if places and smooth(o)
        ]
        total = sum(heads[1:], heads[0]) if places else None
    if places:
        total.backward()
    if row["op"] == "batch_norm" and row["train"]:
        outs = [outs[0], arrays[3], arrays[4]]  # the moving statistics change during the backward
    for k, o in enumerate(outs):
        result[f"{row['name']}/out{k}"] = o.asnumpy()
    for i in places:
        result[f"{row['name']}/grad{i}"] = arrays[i].grad.asnumpy()
    npx.waitall()
    return result


if __name__ == "__main__":
    golden = {}
    for row in cases.rows():
        try:
            golden.update(answer(row))
        except Exception as error:
            print(row["name"], type(error).__name__, [s for s in str(error).splitlines() if s.strip()][-1][:200])
            if "-x" in sys.argv:
                raise
    onp.savez_compressed(pathlib.Path(__file__).with_name("golden.npz"), **golden)
    print(len(golden), "arrays")
