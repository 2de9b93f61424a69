"""Writes states.npz: files of trainer states of MXNet 2.0 as bytes, and the weights before and after going on.

/tmp/oracle/bin/python tests/oracle/states/make.py
"""

import pathlib
import sys
import tempfile

import numpy as onp
from mxnet import autograd, gluon, lr_scheduler, np, npx

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from cases import AFTER, BEFORE, CASES, GRADS, SCHEDULERS, WEIGHTS, parameters  # noqa: E402

npx.set_np()


def run(case):
    name, settings, dtype = CASES[case]
    settings = dict(settings)
    if case in SCHEDULERS:
        kind, words = SCHEDULERS[case]
        settings["lr_scheduler"] = getattr(lr_scheduler, kind)(**words)
    params = {}
    for key in parameters(case):
        params[key] = p = gluon.Parameter(key, shape=WEIGHTS[key].shape, dtype=dtype)
        p.initialize()
        p.set_data(np.array(WEIGHTS[key], dtype=dtype))
    trainer = gluon.Trainer(params, name, settings)
    found = {}
    for step in range(BEFORE + AFTER):
        if step == BEFORE:
            with tempfile.TemporaryDirectory() as folder:
                trainer.save_states(f"{folder}/states")
                found[f"{case}/file"] = onp.frombuffer(pathlib.Path(folder, "states").read_bytes(), "uint8")
            found.update({f"{case}/{k}/before": p.data().asnumpy() for k, p in params.items()})
        with autograd.record():
            loss = sum((p.data() * np.array(GRADS[step][k], dtype=dtype)).sum() for k, p in params.items())
        loss.backward()
        trainer.step(2)
    found.update({f"{case}/{k}/after": p.data().asnumpy() for k, p in params.items()})
    return found


def main():
    golden = {}
    for case in CASES:
        try:
            golden.update(run(case))
        except Exception as error:
            print("NOT", case, str(error).strip().splitlines()[-1][:200])
    onp.savez_compressed(HERE / "states.npz", **golden)


main()
