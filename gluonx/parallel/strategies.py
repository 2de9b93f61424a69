"""Strategies: how the parameters of a net are split, without naming each.

A strategy is data for ``net.shard``: an object whose ``rules(net, mesh)`` give, for parameters by name, a function from
a shape and what strategies before it split to what is split then (:mod:`gluonx.block.sharding`). What cannot be split
evenly is left whole, and the report that ``net.shard`` returns says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jax.sharding import Mesh

from gluonx import nn
from gluonx.block.sharding import Entries, Rule
from gluonx.errors import DeviceError
from gluonx.sharding import check_axis, divides

__all__ = ["data_parallel", "expert", "fsdp", "tensor"]


@dataclass(frozen=True)
class data_parallel:
    """Every parameter whole on every device: each takes its part of the batch, and gradients are summed.

    This is also what ``net.shard()`` does without rules, and what ``net.initialize()`` does while a mesh is in use.

    Examples
    --------
    >>> data_parallel()
    data_parallel()
    """

    def rules(self, net: Any, mesh: Mesh) -> Mapping[str, Rule]:
        """No parameter is split."""
        return {}


@dataclass(frozen=True)
class fsdp:
    """Every large parameter split over the axis that the batch is split over, and so its optimizer's states.

    Each layer's weights are gathered where they are used, and their gradients are summed into shards. "ZeRO: Memory
    Optimizations Toward Training Trillion Parameter Models", https://arxiv.org/abs/1910.02054, stage 3.

    Parameters
    ----------
    axis : str
        Of the mesh.
    min_size : int
        Parameters of fewer elements stay whole.

    Examples
    --------
    >>> fsdp("data").rules
    <bound method fsdp.rules of fsdp(axis='data', min_size=4096)>
    """

    axis: str = "data"
    min_size: int = 4096

    def rules(self, net: Any, mesh: Mesh) -> Mapping[str, Rule]:
        """Split the largest axis that is whole and can be split evenly."""
        if _is_single(mesh, self.axis, "fsdp()"):
            return {}

        def rule(shape: tuple[int, ...], spec: Entries) -> Entries:
            size = 1
            for n in shape:
                size *= n
            free = [k for k, entry in enumerate(spec) if entry is None and divides(mesh, self.axis, shape[k])]
            if size < self.min_size or not free:
                return spec
            return _split(spec, max(free, key=lambda k: shape[k]), self.axis)

        return dict.fromkeys(net._params_apart(), rule)


@dataclass(frozen=True)
class tensor:
    """Every layer's weights split over an axis of their own: each device computes a part of the units.

    Of two dense layers in a row, in a container or in the layers of a transformer, the first is split by its outputs
    and the second by its inputs, so that nothing has to be sent between them; so are the projections of attention, by
    heads. Embeddings are split by their vocabulary, convolutions by their channels, recurrent layers by their units.
    "Megatron-LM", https://arxiv.org/abs/1909.08053.

    Parameters
    ----------
    axis : str
        Of the mesh.

    Examples
    --------
    >>> tensor("model")
    tensor(axis='model')
    """

    axis: str = "model"

    def rules(self, net: Any, mesh: Mesh) -> Mapping[str, Rule]:
        """Split weights by outputs, or where such a layer feeds another by the inputs of that."""
        if _is_single(mesh, self.axis, "tensor()"):
            return {}
        rows = _second_layers(net)
        found: dict[str, Rule] = {}
        for prefix, block in net._walk():
            for name in block._reg_params:
                axis = _axis_of(block, name, block in rows)
                if axis is not None:
                    found[prefix + name] = self._at(mesh, axis)
        return found

    def _at(self, mesh: Mesh, axis: int) -> Rule:
        def rule(shape: tuple[int, ...], spec: Entries) -> Entries:
            if len(shape) <= axis or spec[axis] is not None or not divides(mesh, self.axis, shape[axis]):
                return spec
            return _split(spec, axis, self.axis)

        return rule


@dataclass(frozen=True)
class expert:
    """The experts of a mixture dealt out: the first axis of parameters that hold something for each expert is split.

    Parameters
    ----------
    axis : str
        Of the mesh.
    select : str
        A regular expression that matches the names of such parameters in full.

    Examples
    --------
    >>> expert(select=".*moe_.*")
    expert(axis='expert', select='.*moe_.*')
    """

    axis: str = "expert"
    select: str = r".*expert.*"

    def rules(self, net: Any, mesh: Mesh) -> Mapping[str, Rule]:
        """Split the first axis of what is selected."""
        single = _is_single(mesh, self.axis, "expert()")
        names = [n for n in net._params_apart() if re.fullmatch(self.select, n)]
        if not names:
            raise DeviceError(f"expert(): no parameter of this {type(net).__name__} has a name like {self.select!r}")

        def rule(shape: tuple[int, ...], spec: Entries) -> Entries:
            return _split(spec, 0, self.axis) if not single and divides(mesh, self.axis, shape[0]) else spec

        return dict.fromkeys(names, rule)


def _is_single(mesh: Mesh, axis: str, what: str) -> bool:
    """Return whether nothing is to be split over an axis of the mesh, of which there is one device; `what` asks."""
    check_axis(mesh, axis, what)
    return mesh.shape[axis] == 1


def _split(spec: Entries, k: int, axis: str) -> Entries:
    return (*spec[:k], axis, *spec[k + 1 :])


_BETWEEN = (nn.Activation, nn.Dropout, nn.GELU, nn.SiLU, nn.Swish, nn.LeakyReLU, nn.ELU, nn.SELU, nn.Identity)


_TRANSPOSED = (nn.Conv1DTranspose, nn.Conv2DTranspose, nn.Conv3DTranspose)  # weights begin with the inputs


def _second_layers(net: Any) -> set[Any]:
    """Return the dense layers whose input is the output of another, which is split by its units."""
    found: set[Any] = set()
    for _, block in net._walk():
        if isinstance(block, nn.PositionwiseFFN):
            found.add(block.ffn_2)
        elif isinstance(block, nn.MultiHeadAttention):
            found.add(block.proj)
        elif isinstance(block, (nn.Sequential, nn.HybridSequential)):
            split = False  # whether what comes in is split
            for child in block._children.values():
                if isinstance(child, nn.Dense):
                    if split:
                        found.add(child)
                    split = not split
                elif not isinstance(child, _BETWEEN):
                    split = False
    return found


def _axis_of(block: Any, name: str, second: bool) -> int | None:
    """Return the axis by which a parameter is split; None for one that stays whole."""
    if name.endswith("weight"):
        return 1 if second or isinstance(block, _TRANSPOSED) else 0
    return 0 if name.endswith("bias") and not second else None
