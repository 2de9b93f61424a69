"""A module of Flax Linen as a Gluon block.

Linen keeps variables apart from modules, in collections. The collection ``params`` becomes the block's trained
parameters, the others its state; a parameter is called by its path in its collection. Without variables, the first
batch tells them, and the module's own initializers make them, as shapes are learned everywhere in Gluon.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from flax import linen
from flax.errors import InvalidRngError

from gluonx import initializer
from gluonx.block.abstract import put
from gluonx.block.block import Block
from gluonx.block.parameter import Parameter
from gluonx.deferred.trace.tracing import is_handle
from gluonx.errors import ArgumentError
from gluonx.flax.flax_block import FlaxBlock, MadeOfNet, NeedsKey, parameter_for
from gluonx.flax.names import flat
from gluonx.ops import prng

_WAITING = "unknown_until_the_first_batch"
_NO_MODULE = "from_linen takes a flax.linen.Module, such as nn.Dense(3); got a {kind}. {hint}"
_UNKNOWN = (
    "{cls} has the collection '{name}', and from_linen does not know what becomes of it. Collections beside 'params' "
    "that are kept, and written where the module writes them, are named: from_linen(module, variables, "
    "state={known!r}); leave out those that are not needed"
)
_SAME_NAME = "two variables of {cls} would be called '{name}' in Gluon, one of the collection '{one}', one of '{other}'"
_MODES = {"train": True, "training": True, "is_training": True, "deterministic": False, "use_running_average": False}


class LinenBlock(FlaxBlock):
    """A module of Linen as a :class:`~gluonx.HybridBlock`. Made by :func:`from_linen`.

    Examples
    --------
    >>> from flax import linen
    >>> net = from_linen(linen.Dense(2))
    >>> isinstance(net, LinenBlock), net.module.features
    (True, 2)
    """

    module: linen.Module
    _state: tuple[str, ...]
    _rngs: tuple[str, ...]
    _homes: dict[str, tuple[str, Any]]
    _modes: dict[str, Any]

    def __init__(
        self,
        module: linen.Module,
        variables: Mapping[str, Any] | None = None,
        state: Sequence[str] = ("batch_stats", "frozen"),
        rngs: Sequence[str] = ("dropout",),
    ) -> None:
        super().__init__()
        own = self.__dict__
        own["called"] = type(module).__name__
        own["module"] = module
        own["_state"], own["_rngs"] = tuple(state), tuple(rngs)
        own["_homes"] = {}  # of each parameter its collection and path
        taken = inspect.signature(type(module).__call__).parameters
        own["_modes"] = {name: wanted for name, wanted in _MODES.items() if name in taken}
        if variables is None:
            self._register_parameter(Parameter(_WAITING, shape=None, allow_deferred_init=True), _WAITING)
        else:
            self._take(linen.meta.unbox(variables))

    def _take(self, variables: Mapping[str, Any], initialized: bool = True) -> None:
        """Register a parameter for each variable, with its value, or one that ``initialize`` gives that value."""
        values: dict[str, Any] = {}
        for collection, tree in variables.items():
            if collection != "params" and collection not in self._state:
                known = (*self._state, collection)
                raise ArgumentError(_UNKNOWN.format(cls=self.called, name=collection, known=known))
            for path, value in flat(tree).items():
                name = ".".join(map(str, path))
                if name in values:
                    one = self._homes[name][0]
                    raise ArgumentError(_SAME_NAME.format(cls=self.called, name=name, one=one, other=collection))
                self._homes[name], values[name] = (collection, path), value
        for name, value in values.items():
            param = parameter_for(name, value, self._homes[name][0] == "params")
            self._register_parameter(param, name)
            if initialized:
                put(param, value)
            else:
                param.init = initializer.Constant(np.asarray(value))

    @property
    def is_waiting(self) -> bool:
        """True until the first batch has told what variables there are."""
        return _WAITING in self._reg_params

    def infer_shape(self, *args: Any) -> None:
        """Find the variables from example inputs; they get the values that the module's initializers give.

        Parameters
        ----------
        *args
            What the module takes; of arrays only shapes and dtypes are looked at.
        """
        if not self.is_waiting:
            return
        waiting = self._reg_params[_WAITING]
        leaves, tree = jax.tree.flatten(args, is_leaf=is_handle)
        arrays = [jax.ShapeDtypeStruct(tuple(x.shape), np.dtype(x.dtype)) if hasattr(x, "shape") else x for x in leaves]
        initialized = waiting._awaiting is not None
        with prng.drawing_from(waiting._stream if initialized else prng.next_stream()):
            seed = int(prng.host_rng().integers(1 << 31))
        with jax.ensure_compile_time_eval():
            key = jax.random.key(seed)
            rngs = {name: jax.random.fold_in(key, i) for i, name in enumerate(("params", *self._rngs))}
            made = linen.meta.unbox(self.module.lazy_init(rngs, *jax.tree.unflatten(tree, arrays), **self._mode(False)))
        self._reg_params.pop(_WAITING)
        self._take(made, initialized)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module; see :meth:`FlaxBlock.forward`."""
        if self.is_waiting:
            self._reg_params[_WAITING]._require_ready()
        return super().forward(*args, **kwargs)

    def _mode(self, train: bool) -> dict[str, Any]:
        return {name: train is wanted for name, wanted in self._modes.items()}

    def apply_module(
        self, key: Any, values: dict[str, Any], train: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return the module's result and the variables that it has written; see :class:`FlaxBlock`."""
        variables = self.variables(values)
        writable = [collection for collection in variables if collection != "params"]
        rngs = None
        if key is not None:
            rngs = {name: jax.random.fold_in(key, i) if i else key for i, name in enumerate(self._rngs)}
        kwargs = {**self._mode(train), **kwargs}
        try:
            if not writable:
                return self.module.apply(variables, *args, rngs=rngs, **kwargs), {}
            out, new = self.module.apply(variables, *args, rngs=rngs, mutable=writable, **kwargs)
        except InvalidRngError:
            if key is None:
                raise NeedsKey from None
            raise
        after = {(collection, path): x for collection, tree in new.items() for path, x in flat(tree).items()}
        names = {home: name for name, home in self._homes.items()}
        extra = sorted(f"{c}.{'.'.join(map(str, path))}" for c, path in set(after) - set(names))
        if extra:
            raise ArgumentError(
                f"{self.called} has made variables in its call: {extra}. Give from_linen the variables of a call of "
                "`module.init` that makes them too"
            )
        return out, {names[home]: x for home, x in after.items() if x is not values[names[home]]}

    def variables(self, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the variables as Linen keeps them, by collections.

        Parameters
        ----------
        values : dict of str to array, optional
            By structured name; the parameters' own arrays by default, not copied.
        """
        if values is None:
            values = {name: param.data()._read() for name, param in self._reg_params.items()}
        by_collection: dict[str, dict[str, Any]] = {}
        for name, (collection, path) in self._homes.items():
            place = by_collection.setdefault(collection, {})
            for step in path[:-1]:
                place = place.setdefault(step, {})
            place[path[-1]] = values[name]
        return by_collection

    def __deepcopy__(self, memo: dict[int, Any]) -> LinenBlock:
        memo[id(self.module)] = self.module  # modules of Linen do not change
        new = memo[id(self)] = object.__new__(type(self))
        new.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return new

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.called})"


def from_linen(
    module: linen.Module,
    variables: Mapping[str, Any] | None = None,
    *,
    state: Sequence[str] = ("batch_stats", "frozen"),
    rngs: Sequence[str] = ("dropout",),
) -> Block:
    """Return a module of Linen as a block of Gluon.

    Parameters
    ----------
    module : flax.linen.Module
        Where its ``__call__`` has an argument ``train``, ``training``, ``is_training``, ``deterministic`` or
        ``use_running_average``, that follows Gluon's mode.
    variables : dict, optional
        As ``module.init`` gives them; the block's parameters hold these arrays without a copy. Without, they are made
        by the first batch, with the module's own initializers, after ``initialize()``. A Trainer is made after that
        batch, or after ``infer_shape``.
    state : sequence of str
        The collections that are kept beside ``params``; what the module writes there is written.
    rngs : sequence of str
        The names of the streams of random numbers that the module draws from. Gluon's stream gives the keys: the
        first name has the key itself, the others are folded from it.

    Returns
    -------
    Block
        A :class:`LinenBlock`; of a module that `to_linen` made, a net of the classes that it was made of.

    Raises
    ------
    TypeError
        If it is no ``flax.linen.Module``.
    ArgumentError
        If there is a collection that `state` does not name, or two variables would have one name.

    Examples
    --------
    >>> from flax import linen
    >>> from gluonx import np
    >>> net = from_linen(linen.Dense(2))
    >>> net.initialize()
    >>> net(np.ones((4, 3))).shape
    (4, 2)
    >>> net.collect_params()
    {'bias': Parameter (shape=(2,), dtype=float32), 'kernel': Parameter (shape=(3, 2), dtype=float32)}
    """
    if not isinstance(module, linen.Module):
        hint = "For a module of flax.nnx there is from_nnx(module)." if hasattr(module, "iter_modules") else ""
        raise ArgumentError(_NO_MODULE.format(kind=type(module).__name__, hint=hint).rstrip())
    if isinstance(module, MadeOfNet):
        return module.as_net(variables)
    return LinenBlock(module, variables, state, rngs)
