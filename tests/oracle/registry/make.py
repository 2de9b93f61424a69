"""Writes registry.json: the inputs and attributes, with their defaults, of every operator of MXNet 1.9.1 and 2.0.0b1.

Facts of the two libraries' own registries, which ``/work/shared/api`` keeps; gradients, and what is made for NumPy's
names, are left out. Run with any Python: ``python tests/oracle/registry/make.py FOLDER``.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent


def facts(ops):
    """name: [inputs, {attribute: type as registered}]."""
    found = {}
    for name, op in ops.items():
        if name.startswith(("_backward", "_np", "_contrib_backward")):
            continue
        inputs = [n for n, kind in op["args"] if kind.startswith(("NDArray", "ndarray", "Symbol"))]
        attrs = {n: kind for n, kind in op["args"] if not kind.startswith(("NDArray", "ndarray", "Symbol"))}
        found[name] = [inputs, attrs]
    return found


def main(folder):
    one, two = (
        facts(json.loads(pathlib.Path(folder, f"op_registry_mxnet_{version}.json").read_text(encoding="utf-8")))
        for version in ("1.9.1", "2.0.0b1")
    )
    added = {name: two[name] for name in two if name not in one}
    both = json.dumps({"1.9.1": one, "2.0.0b1": added}, separators=(",", ":"))
    (HERE / "registry.json").write_text(both.replace(',"', ',\n"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "/work/shared/api")
