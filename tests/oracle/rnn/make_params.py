"""Write ``params.json`` with MXNet 2.0.0b1: ``/path/to/oracle/bin/python tests/oracle/rnn/make_params.py``."""

import json
import pathlib

import param_cases
from mxnet import autograd, gluon, np, npx

if __name__ == "__main__":
    npx.set_np()
    found = param_cases.run(gluon, np, autograd)
    pathlib.Path(__file__).with_name("params.json").write_text(json.dumps(found, indent=1) + "\n")
