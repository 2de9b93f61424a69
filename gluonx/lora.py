"""Low-rank adaptation: train a small addition to the weights of chosen dense layers, and nothing else.

"LoRA: Low-Rank Adaptation of Large Language Models", https://arxiv.org/abs/2106.09685. A layer's weight ``W`` acts as
``W + alpha / rank * B @ A``, where ``A`` and ``B`` have `rank` rows and columns. ``W`` keeps its name, so that files of
the net are read as before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from gluonx import files, np
from gluonx.block.block import Block
from gluonx.block.fusion.blocks import pieces_of_block
from gluonx.block.parameter import Parameter
from gluonx.block.tools import unfailing
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError, FormatError
from gluonx.initializer import Uniform
from gluonx.nn.attention import MultiHeadAttention
from gluonx.nn.basic import Dense
from gluonx.ops import get

__all__ = ["LoRADense", "inject", "load", "merge", "parameters", "save"]


class LoRADense(Dense):
    """A dense layer with a low-rank addition to its weight. Made by :func:`inject`.

    Parameters
    ----------
    dense : Dense
        Whose parameters this layer takes over; their shapes are known.
    rank : int
    alpha : float
        The addition is scaled by ``alpha / rank``.

    Examples
    --------
    >>> from gluonx import nn
    >>> dense = nn.Dense(3, in_units=4)
    >>> dense.initialize()
    >>> sorted(LoRADense(dense, 2).collect_params())
    ['bias', 'lora_a', 'lora_b', 'weight']
    """

    def __init__(self, dense: Dense, rank: int = 8, alpha: float = 16.0) -> None:
        shape = dense.weight.shape
        if shape is None or any(n < 1 for n in shape):
            raise ArgumentError(f"LoRA needs layers whose shapes are known, but {dense!r} has seen no batch yet.")
        if rank < 1:
            raise ArgumentError(f"The rank of LoRA must be at least 1, got {rank}.")
        units, size = shape
        super().__init__(units, use_bias=dense.bias is not None, flatten=dense._flatten, in_units=size)
        self.weight, self.bias, self.act = dense.weight, dense.bias, dense.act
        self._rank, self._scale = rank, float(alpha) / rank
        self._was_fused = False  # whether the layer around had its weight in one product with others
        dtype = dense.weight.dtype
        self.lora_a = Parameter("lora_a", shape=(rank, size), init=Uniform(size**-0.5), dtype=dtype)
        self.lora_b = Parameter("lora_b", shape=(units, rank), init="zeros", dtype=dtype)
        project = get("fully_connected")
        self._down = project.bind(num_hidden=rank, no_bias=True, flatten=dense._flatten)
        self._up = project.bind(num_hidden=units, no_bias=True, flatten=False)

    def forward(self, x: Any) -> Any:
        """Map an array as the dense layer does, with the addition."""
        arrays = (x, self.weight.data()) if self.bias is None else (x, self.weight.data(), self.bias.data())
        small = invoke(self._down, (x, self.lora_a.data()))
        y = invoke(self._op, arrays) + invoke(self._up, (small, self.lora_b.data())) * self._scale
        return y if self.act is None else self.act(y)

    def merged(self) -> Dense:
        """Add the addition to the weight, and return a dense layer of the same parameters."""
        change = np.dot(self.lora_b.data(), self.lora_a.data()) * self._scale
        self.weight.set_data(self.weight.data() + change)
        dense = Dense(self._units, use_bias=self.bias is not None, flatten=self._flatten, in_units=self._in_units)
        dense.weight, dense.bias, dense.act = self.weight, self.bias, self.act
        return dense

    @unfailing
    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, rank={self._rank})"


def _replace(parent: Block, name: str, block: Block) -> None:
    parent.register_child(block, name)
    if name in parent.__dict__:  # an assignment would refuse a layer of a wider class
        object.__setattr__(parent, name, block)


def _exchange(net: Block, wanted: Callable[..., Any]) -> list[str]:
    """Put ``wanted(path, child)`` in place of each child for which it is not None; return the paths."""
    made: dict[int, Any] = {}  # a layer that stands in two places stays one
    found: list[tuple[Block, str, Block, str]] = []
    for prefix, parent in list(net._walk()):
        for name, child in list(parent._children.items()):
            new = made[id(child)] if id(child) in made else wanted(f"{prefix}{name}", child, parent, name)
            if new is not None:
                found.append((parent, name, new, f"{prefix}{name}"))
                made[id(child)] = new
    for parent, name, new, _ in found:
        _replace(parent, name, new)
    return [path for *_, path in found]


def inject(net: Block, select: str = ".*", rank: int = 8, alpha: float = 16.0) -> list[str]:
    """Add low-rank parameters to dense layers, and freeze all others of the net.

    Parameters
    ----------
    net : Block
        With values.
    select : str
        A regular expression that the whole path of a layer matches (``'layers[.]0[.]attention[.](query|value)'``).
    rank, alpha : int, float
        As of :class:`LoRADense`.

    Returns
    -------
    list of str
        The paths of the layers.

    Raises
    ------
    ArgumentError
        If no dense layer matches, a shape is not known yet, or a layer's weight is used by its parent in one product
        with others, which would pass the addition by. (``nn.MultiHeadAttention`` multiplies by query, key and value
        apart as soon as one of them has an addition.)

    Examples
    --------
    >>> from gluonx import nn
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(4, in_units=3), nn.Dense(2, in_units=4))
    >>> net.initialize()
    >>> inject(net, "0", rank=2)
    ['0']
    >>> list(parameters(net))
    ['0.lora_a', '0.lora_b']
    """
    pattern = re.compile(select)
    fused = {id(piece) for _, block in net._walk() for piece in pieces_of_block(block)}
    attentions: list[Block] = []

    def wanted(path: str, child: Block, parent: Block, name: str) -> Any:
        if type(child) is not Dense or not pattern.fullmatch(path):
            return None
        layer = LoRADense(child, rank, alpha)
        if id(child.weight) not in fused:
            return layer
        if not isinstance(parent, MultiHeadAttention):
            raise ArgumentError(
                f"LoRA cannot stand in '{path}': {type(parent).__name__} multiplies by its weight together with others "
                "and does not call the layer."
            )
        layer._was_fused = True
        attentions.append(parent)
        return layer

    paths = _exchange(net, wanted)
    if not paths:
        raise ArgumentError(f"{type(net).__name__} has no dense layer whose path matches {select!r}.")
    for attention in attentions:
        attention.unfuse()
    added = parameters(net)
    for name, param in net.collect_params().items():
        if name not in added:
            param.grad_req = "null"
    for path in paths:
        layer = _at(net, path)
        for param in (layer.lora_a, layer.lora_b):
            if param._handle is None:
                param.initialize(device=layer.weight.list_device())
    return paths


def _at(net: Block, path: str) -> Any:
    return next(block for prefix, block in net._walk() if prefix == f"{path}.")


def parameters(net: Block) -> dict[str, Parameter]:
    """Return the low-rank parameters by structured name: what a Trainer is given.

    Examples
    --------
    >>> from gluonx import nn
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(4, in_units=3))
    >>> net.initialize()
    >>> inject(net, "0", rank=2)
    ['0']
    >>> {name: param.shape for name, param in parameters(net).items()}
    {'0.lora_a': (2, 3), '0.lora_b': (4, 2)}
    """
    return {n: p for n, p in net.collect_params().items() if n.rpartition(".")[2] in ("lora_a", "lora_b")}


def merge(net: Block) -> list[str]:
    """Add all additions to the weights, put dense layers back, and return their paths.

    The net computes what it did before, as fast as without LoRA. What was frozen stays frozen.

    Examples
    --------
    >>> from gluonx import nn
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(4, in_units=3))
    >>> net.initialize()
    >>> inject(net, "0", rank=2)
    ['0']
    >>> merge(net)
    ['0']
    >>> list(net.collect_params())
    ['0.weight', '0.bias']
    """
    attentions: list[Block] = []

    def wanted(path: str, child: Block, parent: Block, name: str) -> Dense | None:
        if not isinstance(child, LoRADense):
            return None
        if child._was_fused:
            attentions.append(parent)
        return child.merged()

    paths = _exchange(net, wanted)
    for attention in dict.fromkeys(attentions):
        attention.fuse()
    return paths


def save(net: Block, filename: str | os.PathLike[str]) -> None:
    """Write the low-rank parameters, and nothing else, to a file; its ending tells the format.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import nn
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(4, in_units=3))
    >>> net.initialize()
    >>> inject(net, "0", rank=2)
    ['0']
    >>> path = tempfile.mkdtemp() + "/lora.safetensors"
    >>> save(net, path)
    >>> sorted(files.load_arrays(path))
    ['0.lora_a', '0.lora_b']
    """
    files.save_arrays(filename, {name: param.data().asnumpy() for name, param in parameters(net).items()})


def load(net: Block, filename: str | os.PathLike[str]) -> None:
    """Read what :func:`save` wrote into a net that :func:`inject` has prepared in the same way.

    Raises
    ------
    FormatError
        If names or shapes are others; nothing is changed then.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import nn
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(4, in_units=3))
    >>> net.initialize()
    >>> inject(net, "0", rank=2)
    ['0']
    >>> path = tempfile.mkdtemp() + "/lora.safetensors"
    >>> save(net, path)
    >>> before = net[0].lora_a.data().tolist()
    >>> net[0].lora_a.set_data(np.zeros((2, 3)))
    >>> load(net, path)
    >>> net[0].lora_a.data().tolist() == before
    True
    """
    arrays, params = files.load_arrays(filename), parameters(net)
    wrong = sorted(arrays.keys() ^ params.keys())
    wrong = wrong or [name for name, array in arrays.items() if array.shape != params[name].shape]
    if wrong:
        raise FormatError(
            f"'{os.fspath(filename)}' does not fit: {wrong[:5]} are missing, unexpected or of another shape. Call "
            "gluonx.lora.inject with the same select and rank first."
        )
    for name, array in arrays.items():
        params[name].set_data(np.array(array, dtype=array.dtype))


def __dir__() -> list[str]:
    return sorted(__all__)
