"""Blocks that collect losses on their way forward, such as the divergence of a layer's posterior from its prior."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gluonx.block import HybridBlock

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.np.handle import ndarray


__all__ = ["StochasticBlock", "StochasticSequential"]


class StochasticBlock(HybridBlock):
    """A block whose forward adds losses beside its output.

    The forward is decorated with :meth:`collectLoss` and calls :meth:`add_loss`; `losses` holds what the last call
    added. Hybridized or not, they are recorded with the output and carry gradients.

    Raises
    ------
    ValueError
        When called, if the forward is not decorated.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> class Penalized(probability.StochasticBlock):
    ...     @probability.StochasticBlock.collectLoss
    ...     def forward(self, x):
    ...         self.add_loss((x ** 2).sum())
    ...         return 2 * x
    >>> net = Penalized()
    >>> net(np.array([1.0, 2.0])).tolist(), net.losses[0].item()
    ([2.0, 4.0], 5.0)
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._losses: list[Any] = []
        self._added: list[Any] = []

    def add_loss(self, loss: ndarray) -> None:
        """Add a loss, or a list of losses; to be called in a decorated forward."""
        self._added.append(loss)

    @staticmethod
    def collectLoss(func: Callable[..., Any]) -> Callable[..., Any]:
        """Make of a forward one that gives its losses too; a decorator."""

        @functools.wraps(func)
        def collected(self: StochasticBlock, *args: object, **kwargs: object) -> tuple[Any, ...]:
            before, self._added = self._added, []
            try:
                output = func(self, *args, **kwargs)
                return output, self._added
            finally:
                self._added = before

        collected._collects = True  # type: ignore[attr-defined]
        return collected

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the output of the forward; its losses are in `losses` then."""
        if not getattr(type(self).forward, "_collects", False):
            raise ValueError(f"{type(self).__name__}.forward should be decorated by StochasticBlock.collectLoss.")
        output, self._losses = super().__call__(*args, **kwargs)
        return output

    @property
    def losses(self) -> list[Any]:
        """The losses that the last call added, in their order."""
        return self._losses


class StochasticSequential(StochasticBlock):
    """Blocks one after the other; the losses of those that have some are its own, a list for each.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> from gluonx.gluon import nn
    >>> net = StochasticSequential()
    >>> net.add(nn.Dense(3), nn.Dense(2))
    >>> net.initialize()
    >>> net(np.zeros((4, 5))).shape, net.losses
    ((4, 2), [])
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._layers: list[Any] = []

    def add(self, *blocks: Block) -> None:
        """Add blocks at the end."""
        for block in blocks:
            self._layers.append(block)
            self.register_child(block)

    @StochasticBlock.collectLoss
    def forward(self, x: Any, *args: Any) -> Any:
        """Run the blocks; what one gives beyond the first array goes to the next one as further arguments."""
        for block in self._children.values():
            x = block(x, *args)
            args = ()
            if isinstance(x, (tuple, list)):
                x, args = x[0], tuple(x[1:])
        for block in self._children.values():
            if hasattr(block, "_losses"):
                self.add_loss(block._losses)
        return (x, *args) if args else x

    def __getitem__(self, key: Any) -> Any:
        layers = list(self._children.values())[key]
        if not isinstance(layers, list):
            return layers
        net = type(self)()
        net.add(*layers)
        return net

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._children.values())
