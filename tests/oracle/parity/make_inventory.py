"""Make gluonx/parity/inventory.json of the list of MXNet's public names.

Run with any Python::

    python tests/oracle/parity/make_inventory.py .../mxnet_2.0.0b1.json

The list has every name with its signature; of each class also the methods. What a class merely inherits from one of the
bases below is left away here, since the base has its own entry, and so are addresses in memory.
"""

import json
import pathlib
import re
import sys

TARGET = pathlib.Path(__file__).parents[3] / "gluonx" / "parity" / "inventory.json"
BASES = [
    ("mxnet.gluon", "HybridBlock"),
    ("mxnet.gluon", "Block"),
    ("mxnet.gluon.rnn", "RecurrentCell"),
    ("mxnet.optimizer", "Optimizer"),
    ("mxnet.gluon.metric", "EvalMetric"),
    ("mxnet.initializer", "Initializer"),
    ("mxnet.gluon.data", "Dataset"),
    ("mxnet.gluon.probability", "Distribution"),
    ("mxnet.io", "DataIter"),
    ("mxnet.image", "Augmenter"),
    ("mxnet.image", "DetAugmenter"),
]


def clean(signature):
    return re.sub(r" at 0x[0-9a-f]+", "", signature).split(" -> ")[0]


def own_methods(methods, bases, me):
    """The methods that are not those of a base."""
    for base, inherited in bases.items():
        if base != me and set(inherited) <= set(methods):
            methods = {n: s for n, s in methods.items() if inherited.get(n) != s}
    return methods


def main(path):
    given = json.loads(pathlib.Path(path).read_text())
    methods_of = {b: {n: clean(s) for n, s in given[b[0]][b[1]]["methods"].items()} for b in BASES
                  if isinstance(given[b[0]].get(b[1], {}).get("methods"), dict)}  # fmt: skip
    lines = []
    for module, names in given.items():
        rows = []
        for name, facts in names.items():
            signature = clean(facts["signature"])
            methods = facts.get("methods")
            entry = signature
            if isinstance(methods, dict):
                kept = [
                    n for n in methods if len(n) > 1 and name != "InitDesc"
                ]  # which is a str, with all of its methods
                methods = {n: clean(methods[n]) for n in kept}
                entry = [signature, own_methods(methods, methods_of, (module, name))]
            elif facts["kind"] not in ("class", "function"):
                entry = None  # a constant or an object
            rows.append(f"  {json.dumps(name)}: {json.dumps(entry, sort_keys=True)}")
        lines.append(f" {json.dumps(module)}: {{\n" + ",\n".join(rows) + "\n }")
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
