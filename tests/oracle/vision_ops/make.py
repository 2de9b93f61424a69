"""Write golden.npz: what MXNet 2.0.0b1 answers to each row of ``cases.py``, outputs and gradients.

/tmp/oracle/bin/python tests/oracle/vision_ops/make.py        # a venv made by shared/tools/oracle.sh
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
    root, *path = there.split(".")
    found = {"npx": npx, "nd": mx.nd}[root]
    for name in path:
        found = getattr(found, name)
    return found, root == "nd"


def answer(row):
    fn, legacy = find(row.there)
    arrays = [np.array(x, dtype="float32" if x.dtype == "float64" else x.dtype) for x in row.arrays()]
    given = [a.as_nd_ndarray() for a in arrays] if legacy else arrays
    for place in row.grad:
        given[place].attach_grad()
    with autograd.record():
        out = fn(*given, **row.attrs)
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    result = {f"{row.name}/out{k}": o.asnumpy() for k, o in enumerate(outs)}
    if row.grad:
        head = np.array(row.head(0, outs[0].shape))
        outs[0].backward(head.as_nd_ndarray() if legacy else head)
        result.update({f"{row.name}/grad{place}": given[place].grad.asnumpy() for place in row.grad})
    npx.waitall()
    return result


if __name__ == "__main__":
    golden = {}
    for row in cases.rows():
        golden.update(answer(row))
    onp.savez_compressed(pathlib.Path(__file__).with_name("golden.npz"), **golden)
    print(len(golden), "arrays")
