"""Write golden.json: the values and dtypes of the programs of cases.py, by MXNet 2.0. In the oracle's venv.

/tmp/oracle/bin/python tests/oracle/fuzzed/make.py
"""

import json
import pathlib
import sys

import mxnet
import numpy

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from cases import BOUNDS, OPTIMIZERS, PROGRAMS  # noqa: E402


def slope(function, x):
    """Return the gradient of the sum of the outputs."""
    x.attach_grad()
    with mxnet.autograd.record():
        y = function(x)
    y.backward()
    return x.grad


def a(values, kind):
    return mxnet.np.array(numpy.array(values).astype(kind), dtype=kind)


def n(values, kind="float32"):
    return mxnet.nd.array(numpy.array(values).astype(kind), dtype=kind)


def trained(name, **words):
    """Return a weight after two steps along the same gradient."""
    p = mxnet.gluon.Parameter("weight", shape=(3,))
    p.initialize(init="ones")
    trainer = mxnet.gluon.Trainer({"weight": p}, name, {"learning_rate": 0.1, **words})
    for _ in range(2):
        with mxnet.autograd.record():
            y = (p.data() * mxnet.np.array([3.0, -2.0, 0.5])).sum()
        y.backward()
        trainer.step(1)
    return p.data()


def told(value):
    if isinstance(value, tuple):
        return list(value)
    value = value if isinstance(value, (numpy.ndarray, numpy.generic)) else value.asnumpy()
    return {"dtype": str(value.dtype), "value": value.tolist()}


def main():
    names = {"np": mxnet.np, "nd": mxnet.nd, "a": a, "n": n, "slope": slope}
    found = {program: told(eval(program, names)) for program in PROGRAMS}
    steps = [told(trained(name, clip_gradient=bound, **words)) for name, words in OPTIMIZERS for bound in BOUNDS]
    text = json.dumps({"programs": found, "steps": steps}, indent=1)
    (HERE / "golden.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
