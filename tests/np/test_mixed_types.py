"""Every pair of number types, by values: run at once, recorded and hybridized all give the exact result in one type.

Which type that is was asked of MXNet (tests/oracle/dtypes, test_dtypes.py). Where MXNet refuses a pair, it is NumPy's.
"""

import fractions
import itertools
import json
import math
import operator

import numpy as onp
import pytest

from gluonx import autograd, engine, np
from gluonx.dtype import bfloat16
from gluonx.nn import HybridBlock
from lib import TESTS

WHOLE = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
PAIRS = list(itertools.product((*WHOLE, *FLOATS), repeat=2))
MXNET = json.loads((TESTS / "oracle" / "dtypes" / "promotion.json").read_text())


def most(dtype):
    """A large number of the type, and one less than 0 where it has such."""
    if dtype == "bool":
        return [1, 0]
    if dtype not in WHOLE:
        return [96, -3]
    top = onp.iinfo(dtype).max
    return [top - 3, -7 if dtype[0] == "i" else 5]


LEFT = {d: most(d) for d in (*WHOLE, *FLOATS)}
RIGHT = {d: [1, 0 if d == "bool" else 2] for d in (*WHOLE, *FLOATS)}
DIVISORS = {d: [1, 1 if d == "bool" else 2] for d in (*WHOLE, *FLOATS)}
EXACT = {  # on Python's numbers
    "+": (operator.add, operator.add, RIGHT),
    "*": (operator.mul, operator.mul, RIGHT),
    "//": (operator.floordiv, operator.floordiv, DIVISORS),
    "%": (operator.mod, operator.mod, DIVISORS),
    "<": (operator.lt, operator.lt, LEFT),
    "==": (operator.eq, operator.eq, LEFT),
    "maximum": (np.maximum, max, LEFT),
    "minimum": (np.minimum, min, LEFT),
    "&": (operator.and_, operator.and_, LEFT),
    "/": (operator.truediv, fractions.Fraction, DIVISORS),
    "where": (lambda x, y: np.where(np.array([True, False]), x, y), None, LEFT),
    "concatenate": (lambda x, y: np.concatenate([x, y]), None, LEFT),
}


def wanted_dtype(name, a, b):
    """Return the type of the result, None where any will do, "raises" for none."""
    if name in ("<", "=="):
        return "bool"
    if name == "&" and {a, b} & set(FLOATS):
        return "raises"
    mxnet = MXNET.get(name if name in ("/", "&") else "+", {}).get(f"{a} {b}", "raises")
    if a == b == "bool":
        return None
    if mxnet != "raises":
        return mxnet
    if name == "/" and not {a, b} & set(FLOATS):
        return "float32"
    if "bfloat16" in (a, b):
        other = a if b == "bfloat16" else b
        return "bfloat16" if other in WHOLE or other == "bfloat16" else "float32" if other == "float16" else other
    if {a, b} & set(FLOATS):
        return max({a, b} & set(FLOATS), key=lambda d: onp.dtype(d).itemsize)
    return "raises" if name == "&" else str(onp.promote_types(a, b))  # uint64 beside a signed integer


def wanted_values(name, exact, x, y):
    if name == "where":
        return [x[0], y[1]]
    return [*x, *y] if name == "concatenate" else [exact(*pair) for pair in zip(x, y)]


def close(found, wanted, operands, dtype):
    """Whether the result is exact, or rounded to the type; what the type does not hold is not looked at."""
    kind = onp.dtype(dtype) if dtype != "bfloat16" else bfloat16
    for got, want, operand in zip(found, wanted, operands, strict=True):
        if dtype == "bool":
            if bool(got) != bool(want):
                return False
        elif kind.kind in "iu":
            bounds = onp.iinfo(kind)
            if bounds.min <= want <= bounds.max and got != want:
                return False
        elif max(abs(want), abs(operand)) < (6e4 if kind.itemsize == 2 else 1e30):
            bits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[dtype]
            if not math.isclose(got, want, rel_tol=2.0 ** -(bits - 1), abs_tol=1e-30):
                return False
    return True


class Both(HybridBlock):
    def __init__(self, fn, pairs):
        super().__init__()
        self.fn, self.pairs = fn, pairs

    def forward(self, *arrays):
        half = len(arrays) // 2
        left = dict(zip(LEFT, arrays[:half], strict=True))
        right = dict(zip(LEFT, arrays[half:], strict=True))
        return [self.fn(left[a], right[b]) for a, b in self.pairs]


@pytest.mark.dear
@pytest.mark.parametrize("way", ["at once", "recorded", "bulk", "hybridized", "compiled"])
@pytest.mark.parametrize("name", sorted(EXACT))
def test_pairs(name, way):
    fn, exact, right = EXACT[name]
    pairs = [p for p in PAIRS if wanted_dtype(name, *p) != "raises"]
    if way == "compiled":  # one by one, so a part of them
        pairs = [p for p in pairs if {"uint32", "uint64"} & set(p)][:: 3 if name in ("+", "<", "where") else 9]
    block = Both(fn, pairs)
    if way == "hybridized":
        block.hybridize()
    arrays = [np.array(values, dtype=d) for side in (LEFT, right) for d, values in side.items()]
    if way == "recorded":
        with autograd.record():
            results = block(*arrays)
            dtypes = [str(r.dtype) for r in results]
    elif way == "bulk":
        with engine.bulk(1000):
            results = block(*arrays)
            dtypes = [str(r.dtype) for r in results]
    else:
        with engine.host(way == "at once"):
            results = block(*arrays)
        dtypes = [str(r.dtype) for r in results]
    wrong = {}
    for (a, b), found, dtype in zip(pairs, results, dtypes, strict=True):
        assert str(found.dtype) == dtype
        want, values = wanted_dtype(name, a, b), wanted_values(name, exact, LEFT[a], right[b])
        operands = LEFT[a] if len(values) == 2 else values
        if want not in (None, dtype) or not close(found.tolist(), values, operands, dtype):
            wrong[a, b] = (dtype, found.tolist(), want, values)
    assert not wrong


@pytest.mark.parametrize("signed", ["int8", "int16", "int32"])
def test_uint32_beside_signed_integers(signed):
    """All operators that bring operands to one type, not only those of pairs of elements."""
    x, y = np.array([1, -1], dtype=signed), np.array([4_000_000_000, 3], dtype="uint32")
    assert str(np.result_type(x, y)) == str(np.add(x, y).dtype) == "int64"
    assert np.add(x, y).tolist() == [4_000_000_001, 2] and np.dot(x, y).item() == (x @ y).item() == 3_999_999_997
    assert np.stack([x, y]).tolist() == [[1, -1], [4_000_000_000, 3]]
    assert np.outer(x, y).tolist() == [[4_000_000_000, 3], [-4_000_000_000, -3]]
    assert np.einsum("i,i->", x, y).item() == 3_999_999_997
    x += y.astype("int64")
    assert x.astype("int64").tolist() == onp.array([4_000_000_001, 2]).astype(signed).astype("int64").tolist()


@pytest.mark.dear
def test_comparisons_with_uint64_are_exact():
    large, signed = np.array([2**53 + 1, 2**63 + 5], dtype="uint64"), np.array([2**53, -1], dtype="int64")
    for on in (True, False):
        with engine.host(on):
            assert (large == signed).tolist() == [False, False] and (signed != large).tolist() == [True, True]
            assert (large > signed).tolist() == (signed < large).tolist() == [True, True]
            assert (large <= signed).tolist() == (signed >= large).tolist() == [False, False]


def test_pairs_that_have_no_type():
    with pytest.raises(ValueError, match="bitwise_and"):
        np.array([1], dtype="uint64") & np.array([1], dtype="int8")
    with pytest.raises(ValueError, match="bitwise_and"):
        np.array([1.5]) & np.array([1], dtype="int8")
