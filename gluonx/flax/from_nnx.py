"""A module of Flax NNX as a Gluon block.

The module is split once: its structure is kept, in training and in evaluation mode, and each of its variables becomes a
parameter called by its path. A call merges the structure with the parameters' values, runs the module, and takes out
what it has written. Streams of random numbers begin anew at each call, from a key of Gluon's own stream, so that
``mx.random.seed`` decides.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from gluonx.block.abstract import put
from gluonx.block.block import Block
from gluonx.deferred.values.core import Tracer
from gluonx.errors import ArgumentError, TracedValueError
from gluonx.flax.flax_block import FlaxBlock, MadeOfNet, NeedsKey, parameter_for

Path = tuple[Any, ...]

_NO_MODULE = "from_nnx takes an nnx.Module, such as nnx.Linear(2, 3, rngs=nnx.Rngs(0)); got a {kind}. {hint}"
_LINEN = "For a module of flax.linen there is from_linen(module, variables)."
_NO_ARRAY = (
    "variable '{name}' ({kind}) of {cls} holds {what}, which no parameter of a Gluon block can hold: that is one array "
    "of numbers"
)
_SAME_NAME = "two variables of {cls} would be called '{name}' in Gluon, where a path is written with dots"
_NEW_VARIABLES = (
    "{cls} has made or removed variables in its call: {names}. A Gluon block has the variables that the module had "
    "when it was converted; call the module once before from_nnx where it makes them in its first call"
)
_NEW_STRUCTURE = (
    "{cls} has changed attributes of its own in its call that are no variables. Each call of a Gluon block begins with "
    "the attributes that the module had when it was converted: keep what changes in an nnx.Variable"
)


class NNXBlock(FlaxBlock):
    """A module of NNX as a :class:`~gluonx.HybridBlock`. Made by :func:`from_nnx`.

    Its parameters are the module's variables, called by their paths with dots (``'layers.0.kernel'``): those of
    ``nnx.Param`` are trained, those of other kinds (``BatchStat``) are not, and are written where the module does.

    Examples
    --------
    >>> from flax import nnx
    >>> net = from_nnx(nnx.Linear(3, 2, rngs=nnx.Rngs(0)))
    >>> isinstance(net, NNXBlock), net.variable("kernel").get_value().shape
    (True, (3, 2))
    """

    _template: _Template

    def __init__(self, module: nnx.Module) -> None:
        super().__init__()
        self.__dict__["_template"] = template = _Template(module)
        self.__dict__["called"] = template.name
        for name, variable in template.variables.items():
            param = parameter_for(name, variable.get_raw_value(), isinstance(variable, nnx.Param))
            self._register_parameter(param, name)
            put(param, variable.get_raw_value())

    def apply_module(
        self, key: Any, values: dict[str, Any], train: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return the module's result and the variables that it has written; see :class:`FlaxBlock`."""
        return self._template.run(key, values, train, args, kwargs)

    def variable(self, name: str) -> nnx.Variable:
        """Return the variable that the parameter of that name came from, with its type and metadata."""
        return self._template.variables[name]

    def to_module(self, values: dict[str, Any]) -> nnx.Module:
        """Return a module of the class that this one was made of, with these values."""
        return self._template.module(values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.called})"


class _Template:
    """The structure of a module, and its variables as they were; nothing in it changes."""

    def __init__(self, module: nnx.Module) -> None:
        self.name = type(module).__name__
        graph, leaves = nnx.split(module)
        self.original = graph
        self.variables: dict[str, nnx.Variable] = {}
        self.paths: dict[str, Path] = {}
        self.streams: dict[Path, nnx.Variable] = {}
        self.arrays: dict[Path, Any] = {}  # those that are no variables: constants
        for path, leaf in nnx.to_flat_state(leaves):
            if not isinstance(leaf, nnx.Variable):
                self.arrays[path] = leaf
            elif isinstance(leaf, nnx.RngState):
                self.streams[path] = leaf.copy()
            else:
                name = ".".join(map(str, path))
                self._check(name, leaf)
                self.variables[name], self.paths[name] = leaf.copy(), path
        self.graphs: dict[bool, Any] = {}
        for train in (True, False):
            module = self.module({name: v.get_raw_value() for name, v in self.variables.items()})
            module.train() if train else module.eval()
            self.graphs[train] = nnx.split(module)[0]

    def _check(self, name: str, variable: nnx.Variable) -> None:
        value, kind = variable.get_raw_value(), type(variable).__name__
        if isinstance(value, Tracer):
            raise TracedValueError(f"from_nnx: '{name}' of {self.name} is being traced; convert it outside of nnx.jit")
        numbers = hasattr(value, "shape") and not jnp.issubdtype(value.dtype, jax.dtypes.extended)
        if not numbers:
            what = f"an array of {value.dtype}" if hasattr(value, "dtype") else f"a {type(value).__name__}"
            raise ArgumentError(_NO_ARRAY.format(name=name, kind=kind, cls=self.name, what=what))
        if name in self.variables:
            raise ArgumentError(_SAME_NAME.format(cls=self.name, name=name))

    def module(self, values: dict[str, Any]) -> nnx.Module:
        """Return a module as it was converted, with these values; its streams go on where they were."""
        streams = {path: stream.copy() for path, stream in self.streams.items()}
        return self._merged(self.original, values, streams)

    def _merged(self, graph: Any, values: dict[str, Any], streams: dict[Path, Any]) -> Any:
        state = {self.paths[name]: self.variables[name].copy(value) for name, value in values.items()}
        return nnx.merge(graph, nnx.from_flat_state({**state, **streams, **self.arrays}))

    def run(
        self, key: Any, values: dict[str, Any], train: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Run the module on these values; NeedsKey where it draws and there is no key."""
        graph, streams = self.graphs[train], self._seeded(key)
        counts = {path: s.get_raw_value() for path, s in streams.items() if isinstance(s, nnx.RngCount)}
        module = self._merged(graph, values, streams)
        out = module(*args, **kwargs)
        graph_after, leaves = nnx.split(module)
        after = dict(nnx.to_flat_state(leaves))
        before = {*self.paths.values(), *self.streams, *self.arrays}
        if set(after) != before:
            names = sorted(".".join(map(str, path)) for path in set(after) ^ before)
            raise ArgumentError(_NEW_VARIABLES.format(cls=self.name, names=names))
        if graph_after != graph:
            raise ArgumentError(_NEW_STRUCTURE.format(cls=self.name))
        if key is None and any(after[path].get_raw_value() is not count for path, count in counts.items()):
            raise NeedsKey
        new = {name: after[path].get_raw_value() for name, path in self.paths.items()}
        return out, {name: value for name, value in new.items() if value is not values[name]}

    def _seeded(self, key: Any) -> dict[Path, Any]:
        """Return the module's streams, each with a key of its own derived from `key`, and no draw counted."""
        root = jax.random.key(0) if key is None else key
        found: dict[Path, Any] = {}
        number = 0
        for path, stream in self.streams.items():
            value = stream.get_raw_value()
            if isinstance(stream, nnx.RngKey):
                own = jax.random.fold_in(root, number)
                found[path] = stream.copy(jax.random.split(own, value.shape) if value.shape else own)
                number += 1
            else:
                found[path] = stream.copy(jnp.zeros_like(value))
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> _Template:
        return self


def from_nnx(module: nnx.Module) -> Block:
    """Return `module` as a block of Gluon with the same weights.

    Parameters
    ----------
    module : nnx.Module
        It is left as it is; the block's parameters hold its arrays without a copy, and go their own way from there.

    Returns
    -------
    Block
        An :class:`NNXBlock`; of a module that `to_nnx` made, a net of the classes that it was made of, with the
        module's weights. ``module.train()`` is called where Gluon trains (``autograd.record()``), ``module.eval()``
        where it predicts, on copies.

    Raises
    ------
    TypeError
        If it is no ``nnx.Module``.
    ArgumentError
        If a variable holds something else than an array of numbers. In the first call, if that makes variables.

    Examples
    --------
    >>> from flax import nnx
    >>> from gluonx import np
    >>> net = from_nnx(nnx.Linear(3, 2, rngs=nnx.Rngs(0)))
    >>> net.collect_params()
    {'bias': Parameter (shape=(2,), dtype=float32), 'kernel': Parameter (shape=(3, 2), dtype=float32)}
    >>> net(np.ones((4, 3))).shape
    (4, 2)
    """
    if not isinstance(module, nnx.Module):
        hint = _LINEN if type(module).__module__.startswith("flax.linen") or hasattr(module, "init") else ""
        raise ArgumentError(_NO_MODULE.format(kind=type(module).__name__, hint=hint).rstrip())
    if isinstance(module, MadeOfNet):
        return module.as_net(None)
    return NNXBlock(module)
