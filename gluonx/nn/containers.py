"""Blocks that hold other blocks, or functions: sequences, lists and dicts, concatenated branches, lambdas."""

from __future__ import annotations

import inspect
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any, Self

from gluonx import np, npx
from gluonx.block.block import Block, HybridBlock
from gluonx.block.tools import unfailing
from gluonx.common.extensions import LAMBDAS
from gluonx.common.frames import warn
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError
from gluonx.np import ndarray
from gluonx.ops import get

__all__ = [
    "BlockDict",
    "BlockList",
    "Concatenate",
    "HybridBlockDict",
    "HybridBlockList",
    "HybridConcatenate",
    "HybridLambda",
    "HybridSequential",
    "Identity",
    "Lambda",
    "Sequential",
]


class _Held:
    """Base of what can exchange the blocks that it holds."""

    _children: Any

    def _renamed(self, blocks: Mapping[str, Any]) -> None:
        """Hold these in place of what is held, or raise and hold what was there."""
        before = dict(self._children)
        self._children.clear()
        try:
            for name, block in blocks.items():
                self.register_child(block, name)  # type: ignore[attr-defined]
        except BaseException:
            self._children.clear()
            self._children.update(before)
            raise
        finally:
            self._refresh()  # type: ignore[attr-defined]


class _Stack(_Held):
    """Base of all containers: blocks are added in order, counted, indexed and sliced."""

    _children: Any

    def add(self, *blocks: Block) -> None:
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

    def append(self, block: Block) -> Self:
        """Append a block; the container itself comes back, so that calls can be chained."""
        self.add(block)
        return self

    def extend(self, blocks: Iterable[Block]) -> Self:
        """Append all blocks of a list or of another container; the container itself comes back."""
        self.add(*blocks)
        return self

    def _like(self) -> Self:
        """Return an empty container of this kind."""
        return type(self)()

    def __getitem__(self, key: int | slice) -> Any:
        """Return the block at a place, or a container of the blocks in a slice (the blocks themselves, not copies)."""
        layers = list(self._children.values())[key]
        if not isinstance(layers, list):
            return layers
        part = self._like()
        part.add(*layers)
        return part

    def _place(self, index: int) -> int:
        """Return the index counted from the beginning."""
        try:
            return range(len(self))[index]
        except IndexError:
            raise IndexError(f"{type(self).__name__} has {len(self)} blocks, none at {index}.") from None

    def __setitem__(self, index: int, block: Block) -> None:
        self._renamed({**self._children, list(self._children)[self._place(index)]: block})  # type: ignore[attr-defined]

    def __delitem__(self, index: int | slice) -> None:
        blocks = list(self)
        del blocks[index if isinstance(index, slice) else self._place(index)]
        self._renamed({str(i): block for i, block in enumerate(blocks)})

    def insert(self, index: int, block: Block) -> None:
        """Insert a block before that at `index`, as ``list.insert``; those behind it move on, and their names too."""
        blocks = list(self)
        blocks.insert(index, block)
        self._renamed({str(i): b for i, b in enumerate(blocks)})

    def pop(self, index: int = -1) -> Any:
        """Take out the block at `index`, the last by default, and return it."""
        block = list(self)[self._place(index)]
        del self[index]
        return block

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._children.values()))

    def _chain(self, x: Any, args: Sequence[Any]) -> Any:
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

    def forward(self, x: Any, *args: Any) -> ndarray:
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

    def forward(self, x: Any, *args: Any) -> ndarray:
        """Run all blocks."""
        plain = not self._scan and self._remat is None
        return self._chain(x, args) if args or plain else self.chained(self, x)


class _Branches(_Stack):
    """Blocks that all get the same input, and whose outputs are concatenated along ``axis``."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def _like(self) -> Self:
        return type(self)(self.axis)

    def forward(self, x: ndarray) -> ndarray:
        """Run all blocks on ``x`` and concatenate what they give."""
        return invoke(get("concatenate").bind(axis=self.axis), tuple([block(x) for block in self._children.values()]))


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
    """HybridBlocks that get the same input; their outputs are concatenated along ``axis``.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> net = nn.HybridConcatenate(axis=-1)
    >>> net.add(nn.Identity(), nn.Identity())
    >>> net(np.ones((1, 2))).shape
    (1, 4)
    """


class _Silent(_Held):
    """Base of the containers that compute nothing: they hold blocks for the block that they belong to."""

    _children: Any

    def forward(self, *args: Any) -> Any:
        """Raise: the forward of the block that has this container says how its blocks are called."""
        kind = type(self).__name__
        raise NotImplementedError(
            f"A {kind} holds blocks and has no forward: call them, as in `for block in self.blocks: x = block(x)`. "
            "What runs its blocks one after the other is a Sequential."
        )


class _List(_Silent, _Stack):
    def __init__(self, blocks: Iterable[Any] = ()) -> None:
        super().__init__()
        self.extend(blocks)

    def __contains__(self, block: object) -> bool:
        return any(block is own for own in self)


class BlockList(_List, Block):
    """A list of blocks, which are children as if each were assigned to an attribute; it computes nothing by itself.

    A plain Python list hides its blocks: their parameters are neither initialized nor trained nor saved.
    `HybridBlockList` is the same for the attributes of a HybridBlock.

    Parameters
    ----------
    blocks : iterable of Block

    Raises
    ------
    TypeError
        If one is no Block.

    Examples
    --------
    >>> from gluonx import nn
    >>> class Heads(nn.HybridBlock):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.heads = nn.HybridBlockList(nn.Dense(n, in_units=3) for n in (1, 2))
    ...
    ...     def forward(self, x):
    ...         return [head(x) for head in self.heads]
    >>> list(Heads().collect_params())
    ['heads.0.weight', 'heads.0.bias', 'heads.1.weight', 'heads.1.bias']
    """


class HybridBlockList(_List, HybridBlock):
    """A list of HybridBlocks; see `BlockList`. ValueError if one is no HybridBlock.

    Examples
    --------
    >>> from gluonx import nn
    >>> layers = nn.HybridBlockList([nn.Dense(2), nn.Dense(3)])
    >>> len(layers)
    2
    """


class _Dict(_Silent):
    def __init__(self, blocks: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__()
        self.update(blocks)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._children[name]
        except KeyError:
            there = ", ".join(map(repr, self._children)) or "none"
            raise KeyError(f"{type(self).__name__} has no block {name!r}; there are {there}.") from None

    def __setitem__(self, name: str, block: Block) -> None:
        if not isinstance(name, str) or not name or "." in name:
            raise ArgumentError(
                f"A name in {type(self).__name__} must be a text without dots, for it becomes a part of the names of "
                f"parameters; got {name!r}."
            )
        self.register_child(block, name)  # type: ignore[attr-defined]

    def __delitem__(self, name: str) -> None:
        self[name]  # raises where there is none
        self._renamed({key: block for key, block in self._children.items() if key != name})

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._children))

    def __contains__(self, name: object) -> bool:
        return name in self._children

    def keys(self) -> KeysView[str]:
        """Return the names, in the order in which they came."""
        return self._children.keys()

    def values(self) -> ValuesView[Any]:
        """Return the blocks."""
        return self._children.values()

    def items(self) -> ItemsView[str, Any]:
        """Pairs of name and block."""
        return self._children.items()

    def update(self, blocks: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Take over the blocks of a dict, of another container like this, or of pairs of name and block."""
        for name, block in dict(blocks).items():  # type: ignore[arg-type]
            self[name] = block

    def pop(self, name: str) -> Any:
        """Take out the block of that name, and return it."""
        block = self[name]
        del self[name]
        return block


class BlockDict(_Dict, Block):
    """Blocks by name, which are children as if each were assigned to an attribute; it computes nothing by itself.

    `HybridBlockDict` is the same for the attributes of a HybridBlock.

    Parameters
    ----------
    blocks : dict of str to Block, or pairs

    Raises
    ------
    TypeError
        If one is no Block.
    ArgumentError
        If a name is no text, or has a dot in it.

    Examples
    --------
    >>> branches = BlockDict({"left": Identity(), "right": Lambda("tanh")})
    >>> branches["right"], list(branches)
    (Lambda(tanh), ['left', 'right'])
    """


class HybridBlockDict(_Dict, HybridBlock):
    """HybridBlocks by name; see `BlockDict`. ValueError if one is no HybridBlock.

    Examples
    --------
    >>> from gluonx import nn
    >>> layers = nn.HybridBlockDict({"one": nn.Dense(2)})
    >>> list(layers)
    ['one']
    """


class Identity(HybridBlock):
    """Gives back its input. For a place in a net where a block may or may not be.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.Identity()(np.ones(2)).tolist()
    [1.0, 1.0]
    """

    def forward(self, x: ndarray) -> ndarray:
        """Return the input."""
        return x


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters; none where Python cannot tell."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def _find(function: str | Callable[..., Any]) -> tuple[Callable[..., Any], str]:
    """Return the function meant, and its name."""
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

    def forward(self, *args: Any) -> ndarray:
        """Call the function."""
        return self._func_impl(*args)

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """A function as a HybridBlock; see `Lambda`.

    Examples
    --------
    >>> from gluonx import nn, np, npx
    >>> nn.HybridLambda(lambda x: npx.relu(x) * 2)(np.array([-1.0, 2.0])).tolist()
    [0.0, 4.0]
    """

    def __init__(self, function: str | Callable[..., Any]) -> None:
        super().__init__()
        self._func, self._func_name = _find(function)

    def forward(self, x: Any, *args: Any) -> ndarray:
        """Call the function."""
        return self._func(x, *args)

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"
