"""Blocks with ``hybrid_forward(self, F, x, *args, **params)``: MXNet 1's way to write a HybridBlock.

F is always ``mx.nd``: a hybridized block is traced, so there is no second namespace of symbols. Parameters come as
keywords by the names of their attributes. Inputs and outputs are NDArrays inside; a caller who works with
``gluonx.np.ndarray`` gets these back.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gluonx.block.block import HybridBlock
from gluonx.compat import nd
from gluonx.compat.mode import Mode
from gluonx.compat.nd.ndarray import as_nd, as_np, nd_twin, uses_nd_arrays
from gluonx.deferred.record.interceptor import Interceptor
from gluonx.deferred.values.core import current_state, set_state
from gluonx.np.handle import ndarray

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.compat.nd.ndarray import NDArray
    from gluonx.ops.registry import BoundOp


def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Run ``hybrid_forward(F, *args, **params)`` of a block, with its parameters as keywords.

    Raises
    ------
    TypeError
        If a keyword of the call is the name of a parameter.
    """
    count_call(self)
    params = {name: param.data() for name, param in self._reg_params.items()}
    if kwargs:
        twice = sorted(set(kwargs) & set(params))
        if twice:
            raise TypeError(f"{type(self).__name__} got the argument '{twice[0]}', which is its parameter's name.")
        params.update(kwargs)
    return _in_scope(lambda *arrays: self.hybrid_forward(nd, *arrays, **params), args)


def forward_of_super(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Run the ``hybrid_forward`` of a class for its own ``super().forward(x)``; NotImplementedError without one."""
    if getattr(type(self), "_has_hybrid_forward", False) or "hybrid_forward" in vars(self):
        return forward(self, *args, **kwargs)
    raise NotImplementedError(f"{type(self).__name__} does not define forward().")


def hybrid_forward_of_super(self: Any, F: Any, *args: Any, **params: Any) -> Any:
    """Run ``forward`` for ``super().hybrid_forward(F, x, weight, bias)`` of a class derived from a layer.

    Parameters
    ----------
    F : module
        ``mx.nd``; read by nobody.
    *args, **params
        What the forward takes, by position or name, and then the block's parameters in the order of their attributes,
        or by name. They stand in for the block's own while it runs.

    Raises
    ------
    NotImplementedError
        If the block has no forward of its own.
    """
    forwards = [vars(cls)["forward"] for cls in type(self).__mro__ if "forward" in vars(cls)]
    layer = next((f for f in forwards if f.__module__.startswith(_LAYERS)), None)
    if layer is None:
        raise NotImplementedError(f"{type(self).__name__} does not define hybrid_forward().")
    names = list(self._reg_params)
    count = _inputs_of(layer)
    given = {**dict(zip(names, args[count:])), **params}
    arrays = [name for name in inspect.signature(layer).parameters if name in given and name not in names]
    named = {name: given.pop(name) for name in arrays}
    swapped = {name: self._reg_params[name]._handle for name, value in given.items() if value is not None}
    try:
        for name in swapped:
            self._reg_params[name]._handle = given[name]
        return layer(self, *args[:count], **named)
    finally:
        for name, handle in swapped.items():
            self._reg_params[name]._handle = handle


_LAYERS = ("gluonx.nn", "gluonx.rnn", "gluonx.loss")


class Between(HybridBlock):
    """Stands between a layer and a class that extends it by a ``forward`` and a ``hybrid_forward``.

    ``super().forward(x)`` of that class runs its ``hybrid_forward``, as MXNet 1's HybridBlock does.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the ``hybrid_forward``."""
        return forward(self, *args, **kwargs)


def stand_between(cls: type) -> None:
    """Put :class:`Between` behind a class with both methods, if the next ``forward`` is that of a layer."""
    following = next((vars(base)["forward"] for base in cls.__mro__[1:] if "forward" in vars(base)), None)
    if getattr(following, "__module__", "").startswith(_LAYERS):
        cls.__bases__ = (Between, *cls.__bases__)


def _inputs_of(forward: Any) -> int:
    """Return the number of arrays that a layer's forward takes at most."""
    kinds = list(inspect.signature(forward).parameters.values())[1:]
    return len([p for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)])


def function_of_name(name: str) -> Any:
    """Return the function of ``mx.nd`` that a Lambda layer means by `name`; None if there is none."""
    return getattr(nd, name, None) if name.isidentifier() else None


def with_namespace(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function(F, x, ...)``, as MXNet 1's HybridLambda took it, as a function of arrays."""
    return lambda *args: _in_scope(lambda *arrays: function(nd, *arrays), args)


def count_call(block: Block) -> None:
    """Count the steps of a recurrent cell, by which a ``hybrid_forward`` names what it computes: ``t0_i2h``."""
    if "_kept" in block.__dict__:
        block.__dict__["_counter"] = block.__dict__.get("_counter", -1) + 1


def _in_scope(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """``function(*args)`` on NDArrays; who gives ``np.ndarray`` gets that back."""
    if uses_nd_arrays() or Mode.numpy or isinstance(current_state().trace, _Scope):
        return function(*args)
    plain = any(type(a) is ndarray for a in _leaves(args))
    with _Scope():
        out = function(*[nd_twin(a) for a in args])
    return as_np(out) if plain else out


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


class _Scope(Interceptor):
    """Has what operators give that pass come out as NDArrays."""

    def __init__(self) -> None:
        super().__init__(current_state())

    def __enter__(self) -> None:
        set_state(self.state())

    def __exit__(self, *exc: object) -> None:
        set_state(self.outer)

    def invoke(self, op: BoundOp, args: Any) -> NDArray:
        """Run `op` outside."""
        return as_nd(super().invoke(op, args))
