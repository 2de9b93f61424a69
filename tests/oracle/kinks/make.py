"""Values and gradients of MXNet 2.0 at kinks, for tests/test_kinks.py; run with MXNet 2.0.0b1."""

import json
import pathlib

import mxnet as mx
from cases import ND, NP, gradients
from mxnet import autograd, gluon, nd, np, npx

HERE = pathlib.Path(__file__).parent

if __name__ == "__main__":
    scope = {"nd": nd, "np": np, "npx": npx, "gluon": gluon}
    golden = {text: gradients(text, names, scope, nd.array, autograd) for text, names in ND}
    npx.set_np()
    golden.update({text: gradients(text, names, scope, np.array, autograd) for text, names in NP})
    (HERE / "golden.json").write_text(json.dumps(golden, indent=0) + "\n", encoding="utf-8")
    print(mx.__version__, len(golden))
