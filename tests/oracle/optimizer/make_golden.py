"""Make the golden numbers of MXNet 2.0 for optimizers, schedulers and initializers.

Run with the oracle's Python (see ``shared/tools/oracle.sh``)::

    /tmp/oracle/bin/python tests/oracle/optimizer/make_golden.py

It writes ``optimizer.npz``, ``lr_scheduler.json`` and ``initializer.json`` beside itself. The cases live in
``cases.py``, which the tests read too, so that both sides are driven by the same table.
"""

import json
import pathlib

import numpy as onp
from cases import GRADS, INITIALIZERS, LR_MULT, OPTIMIZERS, SCHEDULERS, SHAPES, STEPS, WD_MULT, WEIGHTS, plan
from mxnet import initializer, lr_scheduler, np, npx, optimizer

npx.set_np()
HERE = pathlib.Path(__file__).parent


def run_one(name, kwargs, dtype, i):
    """Drive one optimizer with one parameter through the plan; give the weight after each step.

    Each parameter has an optimizer of its own, since MXNet's Nadam mixes up the parameters of one.
    """
    opt = optimizer.create(name, **kwargs)
    opt.set_lr_mult(LR_MULT)
    opt.set_wd_mult(WD_MULT)
    updater = optimizer.get_updater(opt)
    weight, trail = np.array(WEIGHTS[i], dtype=dtype), []
    for step in range(STEPS):
        plan(opt, step)
        updater(i, np.array(GRADS[step][i], dtype=dtype), weight)
        trail.append(weight.asnumpy().copy())
    return onp.stack(trail)


def initial_values():
    """Give the values of fixed laws, and standard deviation and bound of random ones."""
    golden = {}
    for case, (name, kwargs, shape) in INITIALIZERS.items():
        array = np.zeros(shape)
        initializer.create(name, **kwargs)(initializer.InitDesc("weight"), array)
        values = array.asnumpy()
        fixed = values.size < 500
        golden[case] = values.tolist() if fixed else {"std": float(values.std()), "max": float(abs(values).max())}
    return golden


def main():
    """Write both golden files."""
    golden = {}
    for case, (name, kwargs, dtype) in OPTIMIZERS.items():
        # GroupAdaGrad takes matrices only.
        for i in (0,) if name == "groupadagrad" else range(len(SHAPES)):
            golden[f"{case}/{i}"] = run_one(name, kwargs, dtype, i)
    onp.savez_compressed(HERE / "optimizer.npz", **golden)
    rates = {}
    for case, (name, kwargs, last) in SCHEDULERS.items():
        schedule = getattr(lr_scheduler, name)(**kwargs)
        rates[case] = [schedule(t) for t in range(last)]
    (HERE / "lr_scheduler.json").write_text(json.dumps(rates, indent=0) + "\n")
    (HERE / "initializer.json").write_text(json.dumps(initial_values(), indent=0) + "\n")


if __name__ == "__main__":
    main()
