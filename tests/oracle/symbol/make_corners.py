"""Makes corners.json: what MXNet 1.9.1 says of symbols, for tests/compat/test_symbol_corners.py.

``python tests/oracle/symbol/make_corners.py``, in MXNet 1.9.1. The lines are those of `LINES` in corners.py beside it.
"""

import hashlib
import json
import pathlib
import sys

import mxnet as mx
import numpy as onp

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from corners import LINES, PARTIAL, ZOO, plain  # noqa: E402 - it stands beside this file

if __name__ == "__main__":
    found = {line: plain(eval(line, {"mx": mx, "sym": mx.sym, "np": onp})) for line in LINES}
    partial = {
        line: plain(eval(line, {"sym": mx.sym, "d": mx.sym.var("d")}).infer_shape_partial(d=shape))
        for line, shape in PARTIAL
    }
    zoo = {}
    for name in ZOO:
        outputs = mx.gluon.model_zoo.vision.get_model(name, prefix="net_")(mx.sym.var("data")).get_internals()
        listed = outputs.list_outputs()
        zoo[name] = [len(listed), listed[-12:], hashlib.sha256("\n".join(listed).encode()).hexdigest()]
    content = {"mxnet": mx.__version__, "lines": found, "partial": partial, "zoo": zoo}
    (HERE / "corners.json").write_text(json.dumps(content, indent=1) + "\n")
