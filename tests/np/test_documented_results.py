"""The section Returns of an operator's page is made from its record: shapes and dtypes are those that it gives."""

import contextlib
import doctest
import re

import numpy as onp
import pytest

from gluonx import np, npx
from gluonx.ops.registry import BROADCAST, OPS, REDUCED, SAME
from lib.rows import every

CALL = re.compile(r"\b(npx?)\.((?:linalg\.|fft\.|random\.|image\.)?\w+)\(")


def example_of(op):
    """The call that the record or the docstring of an operator shows; None without one."""
    if op.example is not None:
        return op.example[0]
    shown = [e.source.strip() for e in doctest.DocTestParser().get_examples(op.doc) if e.want]
    return shown[0] if shown and CALL.search(shown[0]) else None


ROWS = {
    op.name: op
    for op in OPS.values()
    if example_of(op) is not None and (op.gives or op.shape in (SAME, BROADCAST, REDUCED))
}
NOT_TAKEN = (TypeError, ValueError)
NO_NUMBERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm", "bitwise_not"}


class Watched:
    """The namespace of an example: every array is made of one dtype, and the calls of one function are kept."""

    def __init__(self, home, name, dtype, calls):
        self.home, self.name, self.dtype, self.calls = home, name, dtype, calls

    def __getattr__(self, name):
        found = getattr(self.home, name)
        if name in ("linalg", "fft", "random", "image"):
            return Watched(found, self.name.removeprefix(f"{name}."), self.dtype, self.calls)
        if name == self.name:
            return self._watch(found)
        if name in ("array", "ones", "arange"):
            return lambda *args, dtype=None, **kwargs: found(*args, **kwargs).astype(dtype or self.dtype)
        return found

    def _watch(self, function):
        def called(*args, **kwargs):
            self.calls.append((args, kwargs, function(*args, **kwargs)))
            return self.calls[-1][2]

        return called


def calls_of(op, dtype):
    """The function that the example shows, with every array in `dtype`: its arguments and results."""
    source, calls = example_of(op), []
    made = {"array", "ones", "arange", "zeros"}
    home, name = next(found for found in CALL.findall(source) if found[1] not in made or made & {op.name, *op.aliases})
    spaces = {"np": Watched(np, name * (home == "np"), dtype, calls)}
    spaces["npx"] = Watched(npx, name * (home == "npx"), dtype, calls)
    with contextlib.suppress(
        *NOT_TAKEN
    ):  # by this function for this dtype, or by what the example does with the result
        eval(source, spaces)
    return calls


def parts(result):
    return result if isinstance(result, (list, tuple)) else [result]


def wanted(gives, dtype):
    whole = onp.dtype(dtype).kind in "iu"
    return {"input": dtype, "float": "float32" if whole else dtype, "asked": "float32"}.get(gives, gives)


def gives_the_dtype(op):
    tried = 0
    for dtype in ("float32", "float16", "int32"):
        for _, _, result in calls_of(op, dtype)[:1]:
            tried += 1
            found = {str(getattr(x, "dtype", type(x).__name__)) for x in parts(result)}
            assert found == {wanted(op.gives, dtype)}, f"{dtype}: {result!r}"
    assert tried or op.name in NO_NUMBERS


def has_the_shape(op):
    ((args, kwargs, result),) = calls_of(op, "float32")[:1] or calls_of(op, "int32")[:1]
    shapes = [x.shape for x in args if isinstance(x, np.ndarray)]
    for part in parts(result):
        if op.shape == REDUCED:
            axis = kwargs.get("axis", None if len(args) == 1 else 0)
            assert part.shape == (() if axis is None else shapes[0][:axis] + shapes[0][axis + 1 :])
        else:
            assert part.shape == (shapes[0] if op.shape == SAME else onp.broadcast_shapes(*shapes))


@pytest.mark.dear
def test_the_dtypes_are_those_of_the_page():
    every(gives_the_dtype, [op for op in ROWS.values() if op.gives])


def test_the_shapes_are_those_of_the_page():
    every(has_the_shape, [op for op in ROWS.values() if op.shape in (SAME, BROADCAST, REDUCED)])


@pytest.mark.parametrize("name", ["average", "nanmax", "count_nonzero", "ptp", "nanargmin", "median"])
def test_reductions_leave_the_axis_out(name):
    x = np.array([[[1.0, 2.0], [4.0, 8.0]]] * 3)
    assert OPS[name if name in OPS else f"np.{name}"].shape == REDUCED
    assert getattr(np, name)(x, axis=1).shape == (3, 2)
    assert getattr(np, name)(x).shape == ()


def test_a_page_says_what_comes_out():
    text = np.linalg.det.__doc__
    assert "Returns\n-------\nndarray\n    Shape: the batch's; () for one matrix.\n    Dtype: " in text
    assert "    Dtype: bool.\n" in np.isclose.__doc__
    for name in ("exp", "add", "median", "fft.rfft", "linalg.qr", "unstack", "clip"):
        function = np
        for word in name.split("."):
            function = getattr(function, word)
        assert "Returns\n-------\n" in function.__doc__, name


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_qr_of_half_precision_keeps_its_dtype(dtype):
    """Small matrices of bfloat16 came back as float64, all others were refused."""
    q, r = np.linalg.qr(np.array([[2.0, 1.0], [1.0, 3.0]], dtype=dtype))
    assert q.dtype == r.dtype == dtype
    assert onp.allclose((q @ r).astype("float32").asnumpy(), [[2, 1], [1, 3]], 0.05, 0.05)
