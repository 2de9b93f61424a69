"""The map between names and kinds of parameters: the structured name of Gluon is the path in Flax, ``.`` for each step.

==============================  ============================  =======================================
Gluon                           NNX                           Linen
==============================  ============================  =======================================
``features.0.weight``           ``features``, ``0``,          ``params``, ``features``, ``0``,
                                ``weight``                    ``weight``
``grad_req='write'``, ``'add'``  ``nnx.Param``                 collection ``params``
``differentiable=False``        ``nnx.BatchStat``             collection ``batch_stats``
``Constant``, and               :class:`Frozen`               collection ``frozen``
``grad_req='null'`` of others
==============================  ============================  =======================================

Names, layouts and axes stay those of the side that the layers come from: a ``Dense`` has a ``weight`` of shape (units,
inputs) in Flax too, and an ``nnx.Linear`` a ``kernel`` of shape (inputs, units) in Gluon.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flax import nnx

from gluonx.block.parameter import Constant, Parameter
from gluonx.errors import ArgumentError


class Frozen(nnx.Variable):
    """A parameter of Gluon that is not trained: a constant, or one with ``grad_req='null'``.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from flax import nnx
    >>> issubclass(Frozen, nnx.Param), Frozen(jnp.ones(2)).shape
    (False, (2,))
    """


COLLECTIONS: dict[type[nnx.Variable], str] = {nnx.Param: "params", nnx.BatchStat: "batch_stats", Frozen: "frozen"}


def kind_of(param: Parameter) -> type[nnx.Variable]:
    """Return the type of the variable that a parameter of Gluon becomes."""
    if param.grad_req != "null":
        return nnx.Param
    return nnx.BatchStat if not param._differentiable and not isinstance(param, Constant) else Frozen


def steps(name: str) -> tuple[str, ...]:
    """Return the path of a structured name."""
    return tuple(name.split("."))


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dict of dicts, by the steps of the structured names.

    Raises
    ------
    ArgumentError
        If a name is also the beginning of another one.

    Examples
    --------
    >>> nested({"0.weight": 1, "0.bias": 2})
    {'0': {'weight': 1, 'bias': 2}}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        place, path = found, steps(name)
        for step in path[:-1]:
            place = place.setdefault(step, {})
            if not isinstance(place, dict):
                raise ArgumentError(f"'{name}' lies below another parameter, '{step}'")
        if path[-1] in place:
            raise ArgumentError(f"two parameters are called '{name}', or one lies below it")
        place[path[-1]] = value
    return found


def flat(tree: Mapping[Any, Any], before: Iterable[Any] = ()) -> dict[tuple[Any, ...], Any]:
    """Return the leaves of a dict of dicts by path.

    Examples
    --------
    >>> flat({"0": {"weight": 1}})
    {('0', 'weight'): 1}
    """
    found: dict[tuple[Any, ...], Any] = {}
    for key, value in tree.items():
        path = (*before, key)
        if isinstance(value, Mapping):
            found.update(flat(value, path))
        else:
            found[path] = value
    return found
