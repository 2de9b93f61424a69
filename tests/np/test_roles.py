"""What a function of `np` takes as an array is said by annotations; a function that says nothing is refused."""

import pytest

from gluonx.np import table, wrapping
from gluonx.np.table import Row


def roles(fn, name="f", row=None):
    row = row or Row("")
    return {p.name: p.role for p in wrapping.read(name, fn, row)}


def test_roles_are_read_from_annotations():
    def f(a: "Array", tup: "Sequence[Array]", *xi: "Array", n: "int | Sequence[int]" = 1, where: "Array | None" = None):  # noqa: F821
        return a, tup, xi, n, where

    assert roles(f) == {"a": "array", "tup": "sequence", "xi": "star", "n": "static", "where": "array"}


def test_a_parameter_of_no_role_is_refused():
    with pytest.raises(TypeError, match=r"np\.f: an annotation must say whether the parameter 'x' is an array"):
        roles(lambda x: x)


def test_a_parameter_that_a_later_jax_adds_is_static():
    def f(x: "Array", more=None):  # noqa: F821
        return x, more

    assert roles(f) == {"x": "array", "more": "static"}


def test_rows_with_parameters_take_the_roles_of_their_operator():
    found = roles(None, "take", table.GENERAL["take"])
    assert found == {"a": "array", "indices": "array", "axis": "static", "mode": "static", "out": "out"}
