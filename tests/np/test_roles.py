"""What a function of `np` takes as an array is said by annotations; a function that says nothing is refused."""

import inspect

import pytest

from gluonx import ops
from gluonx.np import wrapping


def roles(fn, name="f"):
    return {p.name: p.role for p in wrapping.read(name, fn)}


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


def test_the_order_of_a_record_takes_the_roles_of_its_operator():
    take = ops.get("take")
    found = {p.name: (p.role, p.default) for p in wrapping.ordered(take, take.np.order)}
    needed = inspect.Parameter.empty
    wanted = {"x": ("array", needed), "indices": ("array", needed)}
    assert found == {**wanted, "axis": ("static", None), "mode": ("static", "raise"), "out": ("out", None)}


def test_an_order_of_parameters_that_are_not_there_is_refused():
    with pytest.raises(KeyError, match="axes"):
        wrapping.ordered(ops.get("take"), "x indices axes")
