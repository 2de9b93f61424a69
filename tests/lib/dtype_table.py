"""Prints what gluonx gives for every entry of tests/oracle/dtypes/promotion.json, in a process with 64-bit types."""

import json
import operator
import pathlib
import sys

import numpy as onp

from gluonx import engine, np
from gluonx.compat import util

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
    "&": operator.and_,
}
WHOLE = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
NUMBERS = {"True": True, "2": 2, "2.5": 2.5}
NUMBERS.update({f"numpy.{d}": onp.dtype(d).type(1) for d in ("uint32", "int64", "float32", "float64")})


def result(function, *args):
    try:
        return str(function(*args).dtype)
    except (TypeError, ValueError):
        return "raises"


def main(path):
    assert util.is_x64(), "run with GLUONX_X64=1"
    arrays = dict(NUMBERS)
    for dtype in (*WHOLE, *FLOATS):
        arrays[dtype] = np.ones((2,), dtype=dtype)
    found = {}
    with engine.bulk(100_000):  # dtypes are known when an operator is recorded; nothing has to run
        for name, table in json.loads(pathlib.Path(path).read_text()).items():
            function = OPERATORS.get(name) or getattr(np, name)
            found[name] = {key: result(function, *[arrays[k] for k in key.split()]) for key in table}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
