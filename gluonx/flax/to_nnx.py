"""A Gluon net as a module of Flax NNX.

Every block becomes a :class:`GluonModule` with the same children, and every parameter a variable in its module. A call
runs the block's own forward on the variables' values, purely, and writes back what it has changed (moving averages).
So the layers' arithmetic is Gluon's, and everything around it is Flax's: ``nnx.jit``, ``nnx.grad``, ``nnx.Optimizer``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flax import nnx

from gluonx.block.abstract import abstract, filled, ready_params
from gluonx.block.block import Block
from gluonx.block.functional import PureForward
from gluonx.block.parameter import Parameter
from gluonx.errors import ArgumentError, UninitializedError
from gluonx.flax.flax_block import MadeOfNet
from gluonx.flax.from_nnx import NNXBlock
from gluonx.flax.names import kind_of, steps

_NO_RNGS = (
    "{name} draws random numbers (dropout, say), and this module has no stream to draw from. Give it one, "
    "to_nnx(net, rngs=nnx.Rngs(0)), or give one to the call, module(x, rngs=...), or turn dropout off with "
    "module.eval()"
)
_TAKEN = (
    "'{name}' of {block} cannot be an attribute of an nnx.Module, where that name means something else; rename the "
    "attribute of the block"
)
_MIXED = (
    "module.{path} is in {inner} mode and the module that is called in {outer} mode. The layers of a Gluon net are all "
    "in one mode: call eval() or train() on the whole of it, or convert the two parts apart"
)


class _Scope(nnx.Module):
    """Holds variables that a block of Gluon has under a path, as those of a module of Flax do."""


class GluonModule(MadeOfNet, nnx.Module):
    """A block of Gluon as an ``nnx.Module``. Made by :func:`to_nnx`; its children are the block's.

    Attributes
    ----------
    deterministic : bool
        Whether it predicts; ``train()`` and ``eval()`` set it.

    Examples
    --------
    >>> import numpy
    >>> from gluonx import flax, nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> module = flax.to_nnx(net)
    >>> isinstance(module, GluonModule), module(numpy.ones((4, 3), "float32")).shape
    (True, (4, 2))
    """

    def __init__(self, block: Block, make: Callable[[Parameter], nnx.Variable], rngs: nnx.Rngs | None = None) -> None:
        params = ready_params(block)
        self.deterministic = False
        self.rngs = nnx.data(rngs)
        # Static: compared by identity, and shared by all copies that nnx makes of this module.
        self.forward = PureForward(block, {name: _handle(param) for name, param in params.items()})
        for name, param in block._reg_params.items():
            home: Any = self
            *scopes, last = steps(name)
            for scope in scopes:
                if not hasattr(home, scope):
                    setattr(home, scope, _Scope())
                home = getattr(home, scope)
            self._add(home, last, make(param), block)
        for name, child in block._children.items():
            self._add(self, name, GluonModule(child, make), block)

    def as_net(self, variables: Any = None) -> Block:
        """Return the net with the arrays that this module holds."""
        del variables
        values = {name: self.variable(name).get_raw_value() for name in self.forward.handles}
        return filled(self.forward.net, values)

    @staticmethod
    def _add(home: Any, name: str, part: Any, block: Block) -> None:
        if hasattr(home, name):
            raise ArgumentError(_TAKEN.format(name=name, block=type(block).__name__))
        setattr(home, name, part)

    def __call__(
        self, *args: Any, deterministic: bool | None = None, rngs: nnx.Rngs | nnx.RngStream | None = None, **kwargs: Any
    ) -> Any:
        """Run the block.

        Parameters
        ----------
        *args, **kwargs
            What the block's forward takes: arrays of JAX, and whatever else, as it is.
        deterministic : bool, optional
            Whether to predict; what `train` or `eval` set last by default.
        rngs : nnx.Rngs or nnx.RngStream, optional
            Where random numbers come from in this call. A key is drawn (of the stream ``dropout``) only where the
            forward needs one.

        Returns
        -------
        pytree of jax.Array

        Raises
        ------
        UninitializedError
            If the block draws, and there is no stream.
        ArgumentError
            If parts of the module are in other modes than the whole.
        """
        predicts = self.deterministic if deterministic is None else deterministic
        if deterministic is None:
            self._check_mode()
        variables = {name: self.variable(name) for name in self.forward.handles}
        values = {name: variable.get_raw_value() for name, variable in variables.items()}

        def draw() -> Any:
            source = self.rngs if rngs is None else rngs
            if source is None:
                raise UninitializedError(_NO_RNGS.format(name=type(self.forward.net).__name__))
            return source.dropout() if isinstance(source, nnx.Rngs) else source()

        out, new = self.forward(values, draw, args, kwargs, not predicts)
        for name, value in new.items():
            if value is not values[name]:
                variables[name].set_value(value)
        return out

    def __getitem__(self, name: int | str) -> Any:
        """Return the child, variable or part of that name; of a sequence by number."""
        return getattr(self, str(name))

    def set_view(self, deterministic: bool | None = None, **kwargs: Any) -> dict[str, Any]:
        """Set the mode of a view; called by ``nnx.view``.

        Parameters
        ----------
        deterministic : bool, optional
            Whether the view predicts.
        **kwargs
            For modules of other kinds; returned.
        """
        if deterministic is not None:
            self.deterministic = deterministic
        return kwargs

    def variable(self, name: str) -> nnx.Variable:
        """Return the variable of the parameter with that structured name."""
        found: Any = self
        for step in steps(name):
            found = getattr(found, step)
        return found

    def _check_mode(self) -> None:
        for path, module in nnx.iter_modules(self):
            if isinstance(module, GluonModule) and module.deterministic != self.deterministic:
                inner, outer = ("eval" if m.deterministic else "train" for m in (module, self))
                raise ArgumentError(_MIXED.format(path=".".join(map(str, path)), inner=inner, outer=outer))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.forward.net!r})"


def _handle(param: Parameter) -> Any:
    return param._handle


def to_nnx(net: Block, rngs: nnx.Rngs | None = None) -> nnx.Module:
    """Return `net` as an ``nnx.Module`` with the same weights.

    Parameters
    ----------
    net : Block
        With values; run a batch first where shapes wait for one. It is left as it is: the module has the structure
        that the net has now, and variables of its own, which hold the net's arrays without a copy.
    rngs : nnx.Rngs, optional
        Where dropout draws from; a fork of it is kept.

    Returns
    -------
    nnx.Module
        A :class:`GluonModule`, in training mode, as modules of NNX begin. Of a block that `from_nnx` made, a module
        of the class that it was made of.

    Raises
    ------
    UninitializedError, DeferredInitializationError
        If a parameter has no value.
    ArgumentError
        If a block or parameter has a name that an ``nnx.Module`` cannot use.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from flax import nnx
    >>> from gluonx import nn
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(4, in_units=3, activation="relu"), nn.Dense(2, in_units=4))
    >>> net.initialize()
    >>> module = to_nnx(net)
    >>> sorted(".".join(path) for path, _ in nnx.to_flat_state(nnx.state(module, nnx.Param)))
    ['0.bias', '0.weight', '1.bias', '1.weight']
    >>> module(jnp.ones((5, 3))).shape
    (5, 2)
    """
    values = {name: param.data()._read() for name, param in ready_params(net).items()}
    if type(net) is NNXBlock:
        return net.to_module(values)
    twin = abstract(net)
    kinds = {id(param): (name, _like(net, name)) for name, param in ready_params(twin).items()}
    made: dict[int, nnx.Variable] = {}

    def make(param: Parameter) -> nnx.Variable:
        if id(param) not in made:
            name, like = kinds[id(param)]
            made[id(param)] = kind_of(param)(values[name]) if like is None else like.copy(values[name])
        return made[id(param)]

    return GluonModule(twin, make, None if rngs is None else rngs.fork())


def _like(net: Block, name: str) -> nnx.Variable | None:
    """Return the variable that the parameter came from, where a block below `net` is a module of NNX."""
    for prefix, block in net._walk():
        if isinstance(block, NNXBlock) and name.startswith(prefix) and name[len(prefix) :] in block._reg_params:
            return block.variable(name[len(prefix) :])
    return None
