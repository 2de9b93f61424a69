"""Blocks that hold other blocks, or functions: sequences, branches that are concatenated, lambdas."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from gluonx import np, npx
from gluonx._frames import warn
from gluonx.block.block import Block, HybridBlock
from gluonx.block.tools import unfailing
from gluonx.deferred import invoke
from gluonx.extensions import LAMBDAS
from gluonx.ops import get

__all__ = [
    "Concatenate",
    "HybridConcatenate",
    "HybridLambda",
    "HybridSequential",
    "Identity",
    "Lambda",
    "Sequential",
]


class _Stack:
    """Base of all containers: blocks are added in order, counted, indexed and sliced."""

    _children: Any

    def add(self, *blocks: Any) -> None:
        """Append blocks.

        Raises
        ------
        TypeError
            If one is no Block.
        ValueError
            If this is a hybrid container and one is no HybridBlock.
        """
        for block in blocks:
            self.register_child(block)  # type: ignore[attr-defined]

    def _like(self) -> Any:
        """An empty container of this kind."""
        return type(self)()

    def __getitem__(self, key: int | slice) -> Any:
        """The block at a place, or a container of the blocks in a slice (the blocks themselves, not copies)."""
        layers = list(self._children.values())[key]
        if not isinstance(layers, list):
            return layers
        part = self._like()
        part.add(*layers)
        return part

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._children.values()))

    def _chain(self, x: Any, args: Any) -> Any:
        """Give the output of each block to the next; several outputs become several arguments."""
        for block in self._children.values():
            x = block(x, *args)
            if isinstance(x, (tuple, list)):
                x, *args = x
            else:
                args = ()
        return (x, *args) if args else x


class Sequential(_Stack, Block):
    """Blocks that are run one after the other. `HybridSequential` is the same for blocks that can be hybridized.

    Examples
    --------
    >>> net = Sequential()
    >>> net.add(Identity(), Lambda("tanh"))
    >>> len(net), net[1]
    (2, Lambda(tanh))
    """

    def forward(self, x: Any, *args: Any) -> Any:
        """Run all blocks."""
        return self._chain(x, args)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize the blocks, each for itself."""
        if active and len(self) and all(isinstance(block, HybridBlock) for block in self):
            warn(
                "All blocks of this Sequential are HybridBlocks, but it hybridizes each for itself. "
                "A HybridSequential (or HybridConcatenate) becomes one program.",
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Stack, HybridBlock):
    """HybridBlocks that are run one after the other.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    >>> net.initialize()
    >>> net(np.ones((3, 5))).shape
    (3, 2)
    >>> net
    HybridSequential(
      (0): Dense(5 -> 4, Activation(relu))
      (1): Dense(4 -> 2, linear)
    )
    """

    def forward(self, x: Any, *args: Any) -> Any:
        """Run all blocks."""
        plain = not self._scan and self._remat is None
        return self._chain(x, args) if args or plain else self.chained(self, x)


class _Branches(_Stack):
    """Blocks that all get the same input, and whose outputs are concatenated along ``axis``."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis
        self._op = get("concatenate").bind(axis=axis)

    def _like(self) -> Any:
        return type(self)(self.axis)

    def forward(self, x: Any) -> Any:
        """Run all blocks on ``x`` and concatenate what they give."""
        return invoke(self._op, tuple([block(x) for block in self._children.values()]))


class Concatenate(_Branches, Sequential):
    """Blocks that get the same input; their outputs are concatenated.

    Parameters
    ----------
    axis : int
        The axis along which.

    Examples
    --------
    >>> from gluonx import np
    >>> net = Concatenate(axis=1)
    >>> net.add(Identity(), Identity())
    >>> net(np.ones((2, 3))).shape
    (2, 6)
    """


class HybridConcatenate(_Branches, HybridSequential):
    """HybridBlocks that get the same input; their outputs are concatenated along ``axis``."""


class Identity(HybridBlock):
    """Gives back its input. For a place in a net where a block may or may not be."""

    def forward(self, x: Any) -> Any:
        """The input."""
        return x


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters; none where Python cannot tell."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def _find(function: str | Callable[..., Any]) -> tuple[Callable[..., Any], str]:
    """The function meant, and its name."""
    if isinstance(function, str):
        for module in (np, npx):
            if hasattr(module, function):
                return getattr(module, function), function
        found = LAMBDAS["name"](function) if "name" in LAMBDAS else None
        if found is not None:
            return found, function
        raise ValueError(f"There is no function '{function}' in gluonx.np or gluonx.npx.")
    if callable(function):
        first = next(iter(_parameters(function)), "")
        if first in LAMBDAS:
            return LAMBDAS[first](function), getattr(function, "__name__", first)
        return function, getattr(function, "__name__", type(function).__name__)
    raise ValueError(
        f"A lambda needs a function or the name of one, got {function!r} of type {type(function).__name__}."
    )


class Lambda(Block):
    """A function as a block.

    Parameters
    ----------
    function : str or callable
        A function of arrays, or the name of one in ``np`` or ``npx``.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> Lambda("tanh")
    Lambda(tanh)
    """

    def __init__(self, function: str | Callable[..., Any]) -> None:
        super().__init__()
        self._func_impl, self._func_name = _find(function)

    def forward(self, *args: Any) -> Any:
        """Call the function."""
        return self._func_impl(*args)

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """A function as a HybridBlock; see `Lambda`."""

    def __init__(self, function: str | Callable[..., Any]) -> None:
        super().__init__()
        self._func, self._func_name = _find(function)

    def forward(self, x: Any, *args: Any) -> Any:
        """Call the function."""
        return self._func(x, *args)

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"
