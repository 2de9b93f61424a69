"""A Gluon net as a module of Flax Linen, and its variables.

Linen's modules are descriptions, and their variables stand apart: parameters in ``params``, moving averages in
``batch_stats``, what is not trained in ``frozen``, each under the net's own names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flax import linen

from gluonx.block.abstract import abstract, filled, ready_params
from gluonx.block.block import Block
from gluonx.block.functional import PureForward
from gluonx.errors import ArgumentError
from gluonx.flax.flax_block import MadeOfNet
from gluonx.flax.from_linen import LinenBlock
from gluonx.flax.names import COLLECTIONS, flat, kind_of, nested, steps


class _Template:
    """The net without values, where each parameter is, and the values that the module begins with."""

    def __init__(self, net: Block) -> None:
        params = ready_params(net)
        initial = {name: param.data()._read() for name, param in params.items()}
        self.net = abstract(net)
        self.forward = PureForward(self.net, {n: p._handle for n, p in ready_params(self.net).items()})
        self.collections = {name: COLLECTIONS[kind_of(param)] for name, param in params.items()}
        self.initial = self.variables(initial)

    def variables(self, values: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            found.setdefault(self.collections[name], {})[name] = value
        return {collection: nested(own) for collection, own in found.items()}

    def by_name(self, variables: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the values by structured name; those that the module began with by default."""
        tree = self.initial if variables is None else variables
        found = {".".join(path): x for part in tree.values() for path, x in flat(part).items()}
        wrong = sorted(set(found) ^ set(self.collections))
        if wrong:
            raise ArgumentError(f"these variables are missing, or are not the net's: {wrong[:5]}")
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> _Template:
        return self


class GluonLinen(MadeOfNet, linen.Module):
    """A Gluon net as a ``flax.linen.Module``. Made by :func:`to_linen`.

    Examples
    --------
    >>> import numpy
    >>> from gluonx import flax, nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> module, variables = flax.to_linen(net)
    >>> isinstance(module, GluonLinen), module.apply(variables, numpy.ones((4, 3), "float32")).shape
    (True, (4, 2))
    """

    template: Any

    @linen.nowrap
    def as_net(self, variables: Any) -> Any:
        """Return the net with the arrays of `variables`."""
        return filled(self.template.net, self.template.by_name(variables))

    @linen.compact
    def __call__(self, *args: Any, train: bool = False, **kwargs: Any) -> Any:
        """Run the net.

        Parameters
        ----------
        *args, **kwargs
            What the net's forward takes.
        train : bool
            Whether layers behave as in training: dropout draws from the stream ``dropout``, and moving averages move,
            for which ``mutable=['batch_stats']`` is given to ``apply``.
        """
        template: _Template = self.template
        trees: dict[str, dict[str, Any]] = {}
        holders: dict[tuple[str, str], Any] = {}
        for collection, tree in template.initial.items():
            own = trees[collection] = {}
            for name, part in tree.items():
                if collection == "params":
                    own[name] = self.param(name, lambda _, part=part: part)
                else:
                    holder = holders[collection, name] = self.variable(collection, name, lambda part=part: part)
                    own[name] = holder.value
        values = template.by_name(trees)
        out, new = template.forward(values, lambda: self.make_rng("dropout"), args, kwargs, train)
        written = {steps(name)[0] for name, value in new.items() if value is not values[name]}
        if written and not self.is_initializing():
            after = template.variables(new)
            for (collection, name), holder in holders.items():
                if name in written and name in after[collection]:
                    holder.value = after[collection][name]
        return out


def to_linen(net: Block) -> tuple[linen.Module, dict[str, Any]]:
    """Return `net` as a module of Linen, and its variables.

    Parameters
    ----------
    net : Block
        With values; run a batch first where shapes wait for one.

    Returns
    -------
    flax.linen.Module, dict
        A :class:`GluonLinen` and its variables, the net's arrays without a copy. ``module.init`` gives the same ones,
        whatever the key. Of a block that `from_linen` made, the module that it was made of.

    Raises
    ------
    UninitializedError, DeferredInitializationError
        If a parameter has no value.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from gluonx import nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> module, variables = to_linen(net)
    >>> sorted(variables["params"])
    ['bias', 'weight']
    >>> module.apply(variables, jnp.ones((4, 3))).shape
    (4, 2)
    """
    ready_params(net)
    if isinstance(net, LinenBlock):
        return net.module, net.variables()
    template = _Template(net)
    return GluonLinen(template), template.initial
