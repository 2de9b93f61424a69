"""Writes ops.npz: what MXNet's legacy operators make of `cases`, and their gradients. Runs in the oracle's venv."""

import os
import pathlib
import subprocess
import sys
import tempfile

import mxnet as mx
import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from cases import CASES, differentiable, heads_of, inputs_of  # noqa: E402

GROUP = 25
PARTS = {"_contrib_": mx.nd.contrib, "_linalg_": mx.nd.linalg, "_image_": mx.nd.image}


def function(name):
    for prefix, home in PARTS.items():
        if name.startswith(prefix):
            return getattr(home, name[len(prefix) :])
    if name == "_npi_cumsum":
        return mx.nd.cumsum
    return getattr(mx.nd.op, name, None) or getattr(mx.nd._internal, name)


def run(index, case):
    name, _, attrs = case
    arrays = [mx.nd.array(a, dtype=a.dtype) for a in inputs_of(index, case)]
    wanted = differentiable(case)
    for i in wanted:
        arrays[i].attach_grad()
    found = {}
    with mx.autograd.record(train_mode=False):
        outs = function(name)(*arrays, **attrs)
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
    for i, out in enumerate(outs):
        found[f"{index}/out{i}"] = out.asnumpy()
    if not wanted:
        return found
    try:
        heads = [mx.nd.array(h) for h in heads_of(index, outs)]
        mx.autograd.backward(outs, heads, train_mode=False)
        for i in wanted:
            found[f"{index}/grad{i}"] = arrays[i].grad.asnumpy()
    except Exception as error:  # an operator without a gradient
        print(name, "has no gradient:", str(error).strip().splitlines()[-1][:90])
    return found


def main():
    """Groups of cases in processes of their own: some operators of MXNet write beyond their arrays, and crash."""
    table = {}
    if len(sys.argv) == 3:
        start, path = int(sys.argv[1]), sys.argv[2]
        for index in range(start, min(start + GROUP, len(CASES))):
            try:
                table.update(run(index, CASES[index]))
            except Exception as error:
                print("FAILED", CASES[index], str(error).strip().splitlines()[-1][:200])
        np.savez(path, **table)
        sys.stdout.flush()
        os._exit(0)
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(CASES), GROUP):
            path = f"{folder}/{start}.npz"
            for _attempt in range(5):
                if not subprocess.run([sys.executable, __file__, str(start), path], check=False).returncode:
                    break
            table.update(np.load(path))
    np.savez_compressed(HERE / "ops.npz", **table)


main()
