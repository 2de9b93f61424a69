"""The base of blocks that are modules of Flax: a pure function on named arrays, as one operator of Gluon.

A module is asked once for each kind of input what it gives, on shapes alone: how its result is nested, which of its
variables it writes, and whether it draws random numbers. From then on a call is one operator that is recorded,
deferred and differentiated as any other: the parameters and the inputs go in, the results come out, and behind them
the new values of what was written.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from gluonx.autograd import is_training
from gluonx.block.block import HybridBlock
from gluonx.block.parameter import Parameter
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.record.engine import as_handle, invoke, random_inputs
from gluonx.deferred.trace.tracing import is_handle
from gluonx.deferred.values.core import Handle, current_state
from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.errors import ArgumentError
from gluonx.ops import prng

_MOST = 64  # kinds of calls of one block
_UNHASHABLE = (
    "{name}: an argument of a module of Flax must be an array, a nested list, tuple or dict of arrays, or a hashable "
    "value; got a {kind}"
)
_OTHER_KIND = (
    "{name} writes {new} into its variable '{variable}', which is {old}; in a Gluon block a variable keeps its shape "
    "and dtype"
)


class NeedsKey(Exception):
    """A module drew random numbers, and there was no key."""


class MadeOfNet:
    """A module of Flax that was made of a net of Gluon, which `from_linen` and `from_nnx` give back."""

    def as_net(self, variables: Any) -> Any:
        """Return the net with the arrays of `variables`; a module that holds its arrays itself takes None."""
        raise NotImplementedError


class FlaxBlock(HybridBlock):
    """A module of Flax as a block. Its parameters have the paths of the module's variables as names."""

    called: str  # how messages name the module
    _operators: dict[Any, _Call]

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["_operators"] = {}

    def apply_module(
        self, key: Any, values: dict[str, Any], train: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return the module's result and the variables that it has written, by name; pure.

        Raises
        ------
        NeedsKey
            If `key` is None and the module draws.
        """
        raise NotImplementedError

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module: arrays of any kind, and anything hashable, go in; its result has ndarrays in it."""
        leaves, tree = jax.tree.flatten((args, kwargs), is_leaf=is_handle)
        moving = [i for i, leaf in enumerate(leaves) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
        arrays = [leaves[i] if isinstance(leaves[i], Handle) else as_handle(leaves[i]) for i in moving]
        # Values that compare equal but trace apart, such as 1, 1.0 and True, have different types or texts.
        statics = [
            None if i in moving else (type(x), repr(x) if isinstance(x, float) else x) for i, x in enumerate(leaves)
        ]
        params = [param.data() for param in self._reg_params.values()]
        kinds = tuple([(tuple(h.shape), np.dtype(h.dtype)) for h in (*params, *arrays)])
        key = (is_training(), tree, tuple(statics), kinds)
        try:
            call = self._operators.get(key)
        except TypeError:
            bad = next(type(x).__name__ for x in leaves if getattr(type(x), "__hash__", None) is None)
            raise ArgumentError(_UNHASHABLE.format(name=type(self).__name__, kind=bad)) from None
        if call is None:
            if len(self._operators) >= _MOST:
                self._operators.pop(next(iter(self._operators)))
            rest = [None if i in moving else x for i, x in enumerate(leaves)]
            call = self._operators[key] = _Call(self, is_training(), tree, moving, rest, kinds)
        return call(params, arrays)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the operators, which belong to this very object."""
        return {**super().__getstate__(), "_operators": {}}


class _Call:
    """The operator of one kind of call."""

    def __init__(
        self, block: FlaxBlock, train: bool, tree: Any, moving: list[int], rest: list[Any], kinds: tuple[Any, ...]
    ) -> None:
        self.names = list(block._reg_params)
        self.out_tree: Any = None
        self.written: list[str] = []
        self.draws = False
        apply_module, names, count = block.apply_module, self.names, len(self.names)

        def run(key: Any, *given: Any) -> tuple[Any, ...]:
            values = dict(zip(names, given[:count]))
            full = list(rest)
            for i, value in zip(moving, given[count:], strict=True):
                full[i] = value
            args, kwargs = jax.tree.unflatten(tree, full)
            out, new = apply_module(key, values, train, args, kwargs)
            flat, self.out_tree = jax.tree.flatten(out)
            self.written = list(new)
            return (*flat, *map(jax.lax.stop_gradient, new.values()))

        structs = [jax.ShapeDtypeStruct(*kind) for kind in kinds]
        with keeping_64_bits(any(struct.dtype in WIDE for struct in structs)):
            try:
                outs = jax.eval_shape(lambda *given: run(None, *given), *structs)
            except NeedsKey:
                self.draws = True
                outs = jax.eval_shape(lambda *given: run(jax.random.key(0), *given), *structs)
        self.n_out = len(outs) - len(self.written)
        self._check(type(block).__name__, structs, outs)

        def drawing(root: Any, index: Any, *given: Any) -> Any:
            return run(prng.wrap(root, index), *given)

        def plain(*given: Any) -> Any:
            return run(None, *given)

        self.op = DerivedOp(block.called, drawing if self.draws else plain)
        self.op.steady = True

    def _check(self, name: str, structs: list[Any], outs: Any) -> None:
        for variable, new in zip(self.written, outs[self.n_out :], strict=True):
            old = structs[self.names.index(variable)]
            if (new.shape, new.dtype) != (old.shape, old.dtype):
                kinds = {"new": f"{new.dtype}{new.shape}", "old": f"{old.dtype}{old.shape}"}
                raise ArgumentError(_OTHER_KIND.format(name=name, variable=variable, **kinds))

    def __call__(self, params: list[Any], arrays: list[Any]) -> Any:
        """Use the operator: parameters are written, results come out."""
        head = random_inputs(current_state()) if self.draws else ()
        outs = invoke(self.op, (*head, *params, *arrays))
        for variable, new in zip(self.written, outs[self.n_out :], strict=True):
            params[self.names.index(variable)]._assign(new)
        return jax.tree.unflatten(self.out_tree, outs[: self.n_out])


def parameter_for(name: str, value: Any, trained: bool) -> Parameter:
    """Return a parameter for a variable of a module, without a value."""
    return Parameter(
        name.rpartition(".")[2],
        grad_req="write" if trained else "null",
        shape=value.shape,
        dtype=value.dtype,
        differentiable=trained,
    )
