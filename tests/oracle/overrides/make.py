"""Write golden.json: run by the Python of MXNet 2.0."""

import json
import sys
from pathlib import Path

import cases
import mxnet
from mxnet import npx

npx.set_np()
tables = {
    name: getattr(cases, name) for name in ("TRAINER", "OPTIMIZER", "INITIALIZER", "PARAMETER", "BLOCK", "OTHERS")
}
found = {}
for name, table in tables.items():
    for key, function in table.items():
        try:
            found.setdefault(name, {})[key] = function(mxnet)
        except Exception as error:
            print(name, key, type(error), str(error)[:300], file=sys.stderr)
(Path(__file__).parent / "golden.json").write_text(json.dumps(found, indent=0) + "\n")
