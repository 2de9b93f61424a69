"""Ask MXNet 2.0 for the weights of fifty steps: writes ``long.npz`` beside itself.

/tmp/oracle/bin/python tests/oracle/optimizer_long/make_golden.py
"""

import pathlib

import numpy as onp
from cases import CASES, GRADS, KEPT, STEPS, WEIGHTS, parameters
from mxnet import np, npx, optimizer

npx.set_np()
HERE = pathlib.Path(__file__).parent


def run(name, kwargs, dtype, i):
    """The kept weights of parameter `i`, which has an optimizer of its own: MXNet's Nadam mixes up several."""
    updater = optimizer.get_updater(optimizer.create(name, **kwargs))
    weight, kept = np.array(WEIGHTS[i], dtype=dtype), []
    for step in range(STEPS):
        updater(i, np.array(GRADS[step][i], dtype=dtype), weight)
        if step + 1 in KEPT:
            kept.append(weight.asnumpy().copy())
    return onp.stack(kept)


def main():
    golden = {}
    for case, (name, kwargs, dtype) in CASES.items():
        for i in parameters(name):
            try:
                golden[f"{case}/{i}"] = run(name, kwargs, dtype, i)
            except Exception as error:
                print("NOT", case, i, str(error)[:200])
    onp.savez_compressed(HERE / "long.npz", **golden)


if __name__ == "__main__":
    main()
