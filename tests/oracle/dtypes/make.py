"""Record the result dtypes of MXNet's operators on every pair of dtypes, and on arrays beside Python numbers.

Run it with the oracle's Python:

    /tmp/oracle/bin/python tests/oracle/dtypes/make.py

The answer is promotion.json: operator -> left -> right -> the result's dtype, or "raises".
"""

import itertools
import json
import operator
import pathlib

import numpy as onp
from mxnet import np, npx

npx.set_np()
WHOLE = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = (*WHOLE, "float16", "float32", "float64")
NUMBERS = {"True": True, "2": 2, "2.5": 2.5}
NUMBERS.update({f"numpy.{d}": onp.dtype(d).type(1) for d in ("uint32", "int64", "float32", "float64")})
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "==": operator.eq,
    "<": operator.lt,
    "maximum": np.maximum,
    "&": operator.and_,
    "fmod": np.fmod,
    "arctan2": np.arctan2,
    "lcm": np.lcm,
    "left_shift": np.bitwise_left_shift,
}
UNARY = ("sqrt", "exp", "sin", "abs", "negative", "square", "sign", "floor", "rint", "logical_not", "isnan")
REDUCE = ("sum", "mean", "prod", "max", "std", "var", "cumsum", "argmax", "argsort", "sort", "all")


def result(function, *args):
    try:
        out = function(*args)
        out.asnumpy()  # many mixtures are refused only here
        return str(onp.dtype(out.dtype))
    except Exception:
        return "raises"


def main():
    arrays = {d: np.array([1, 1], dtype=d) for d in DTYPES}
    found = {}
    for name, function in OPERATORS.items():
        table = found[name] = {}
        for a, b in itertools.product(DTYPES, repeat=2):
            table[f"{a} {b}"] = result(function, arrays[a], arrays[b])
        for a, (spelling, number) in itertools.product(DTYPES, NUMBERS.items()):
            if name.endswith("shift") and isinstance(number, (float, onp.floating)):
                continue  # it kills MXNet
            table[f"{a} {spelling}"] = result(function, arrays[a], number)
            table[f"{spelling} {a}"] = result(function, number, arrays[a])
    for name in (*UNARY, *REDUCE):
        function = getattr(np, name)
        found[name] = {d: result(function, arrays[d]) for d in DTYPES}
    path = pathlib.Path(__file__).with_name("promotion.json")
    path.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")


main()
