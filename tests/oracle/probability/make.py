"""Record what MXNet's gluon.probability gives for the expressions of cases.py.

Run it with the oracle's Python:

    /tmp/oracle/bin/python tests/oracle/probability/make.py
"""

import json
import pathlib
import sys

import mxnet as mx
from mxnet import np, npx

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cases

npx.set_np()
P = mx.gluon.probability
C = sys.modules["mxnet.gluon.probability.distributions.constraint"]
signatures = {name: cases.signatures(getattr(module, name)) for module in (P, C) for name in cases.public(module)}
results = {e: cases.result(e, {"P": P, "C": C, "np": np}) for e in cases.expressions()}
here = pathlib.Path(__file__)
for name, found in (("signatures", signatures), ("results", results)):
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
    here.with_name(f"{name}.json").write_text("{\n" + lines + "\n}\n")
