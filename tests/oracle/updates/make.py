"""Writes golden.npz: what MXNet's update operators give, and what they leave in their arrays. In the oracle's venv."""

import os
import pathlib
import subprocess
import sys
import tempfile

import mxnet as mx
import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from cases import CASES, arrays_of  # noqa: E402


def function(name):
    if name.startswith("_"):
        return getattr(mx.nd._internal, name)
    home = mx.nd
    for part in name.split("."):
        home = getattr(home, part)
    return home


def run(index):
    name, words, attrs = CASES[index]
    arrays = [mx.nd.array(a, dtype=a.dtype) for a in arrays_of(index)]
    found = {}
    for turn in range(2):
        # The operators of several weights write into arrays that are there.
        written = [i for i, word in enumerate(words.split()) if word[0] in "wh"] if "multi_" in name else []
        out = [mx.nd.zeros_like(arrays[i]) for i in written]
        outs = function(name)(*arrays, **attrs, **({"out": out} if out and "sum" not in name else {}))
        for i, out in enumerate(outs if isinstance(outs, (list, tuple)) else [outs]):
            found[f"{index}/{turn}/out{i}"] = out.asnumpy()
        for i, array in enumerate(arrays):
            found[f"{index}/{turn}/in{i}"] = array.asnumpy()
    return found


def main():
    table = {}
    if len(sys.argv) == 3:
        np.savez(sys.argv[2], **run(int(sys.argv[1])))
        sys.stdout.flush()
        os._exit(0)
    with tempfile.TemporaryDirectory() as folder:
        for index in range(len(CASES)):
            path = f"{folder}/{index}.npz"
            for _attempt in range(4):  # MXNet sometimes ends before it has begun
                command = [sys.executable, __file__, str(index), path]
                if not subprocess.run(command, check=False, capture_output=True).returncode:
                    table.update(np.load(path))
                    break
            else:
                print("FAILED", CASES[index][:2])
    np.savez_compressed(HERE / "golden.npz", **table)


main()
