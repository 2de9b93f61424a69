"""A block that computes in mixed precision whatever the process does."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gluonx import nn
from gluonx.amp.state import policy_for
from gluonx.block.block import HybridBlock
from gluonx.deferred.operators import amp_policy

if TYPE_CHECKING:
    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike


_scoped_classes: dict[type, type] = {}


def _scoped_class(cls: type) -> type:
    """`cls` with a forward that runs under the policy of its object."""
    found = _scoped_classes.get(cls)
    if found is None:

        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            with amp_policy.scope(self.__dict__["_precision"]):
                return cls.forward(self, *args, **kwargs)  # type: ignore[attr-defined]

        made = type(cls.__name__, (cls,), {"forward": forward, "__module__": cls.__module__, "__doc__": cls.__doc__})
        found = _scoped_classes[cls] = made
    return found


def _under(block: Any, policy: amp_policy.Policy | None) -> None:
    block.__class__ = _scoped_class(type(block))
    block.__dict__["_precision"] = policy


def _named(block: HybridBlock, excluded: Iterable[str] | None) -> tuple[dict[str, Any], list[str]]:
    """Return the blocks in `block` by their structured names, and the names among them that are to be left out."""
    below = {prefix.removesuffix("."): inner for prefix, inner in block._walk()}
    names = list(excluded or ())
    unknown = [name for name in names if name not in below or not name]
    if unknown:
        raise ValueError(f"amp.convert_hybrid_block: no block is called {unknown[0]!r}; there are {sorted(below)[1:]}")
    return below, names


def _cast_weights(below: dict[str, Any], excluded: list[str], policy: amp_policy.Policy) -> None:
    stay = {id(inner) for name in excluded for _, inner in below[name]._walk()}
    for inner in below.values():
        if isinstance(inner, _HEAVY) and id(inner) not in stay:
            inner.cast(policy.target)


def convert_hybrid_block(
    block: HybridBlock,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Iterable[tuple[str, str, Iterable[Any]]] | None = None,
    excluded_sym_names: Iterable[str] | None = None,
    device: DeviceLike = None,
    cast_optional_params: bool = False,
) -> HybridBlock:
    """Get a copy of a block that computes in mixed precision, for prediction above all.

    The block itself stays as it is.

    Parameters
    ----------
    block : HybridBlock
        Initialized, its shapes known.
    target_dtype : {'float16', 'bfloat16'}
    target_dtype_ops, fp32_ops, conditional_fp32_ops
        As for :func:`gluonx.amp.init`.
    excluded_sym_names : list of str, optional
        Blocks that stay in float32, by their structured names (``'features.0'``).
    device : Device, optional
        Where to put the copy's parameters; None leaves them where the block's are.
    cast_optional_params : bool
        Whether weights of dense and convolution layers are stored in `target_dtype` too, which halves them.

    Returns
    -------
    HybridBlock
        Of a subclass of the block's class, with the same parameter names.

    Raises
    ------
    TypeError
        If `block` is no HybridBlock.
    ValueError
        For an unknown operator or block.

    Examples
    --------
    >>> from gluonx import amp, np
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> fast = amp.convert_hybrid_block(net, "bfloat16", cast_optional_params=True)
    >>> fast(np.ones((1, 3))).dtype, fast.weight.dtype, net.weight.dtype
    (dtype(bfloat16), dtype(bfloat16), dtype('float32'))
    """
    if not isinstance(block, HybridBlock):
        raise TypeError(f"amp.convert_hybrid_block: a HybridBlock was expected, got {type(block).__name__}")
    policy = policy_for(target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    converted = copy.deepcopy(block)
    below, excluded = _named(converted, excluded_sym_names)
    if cast_optional_params:
        _cast_weights(below, excluded, policy)
    for name in excluded:
        _under(below[name], None)
    _under(converted, policy)
    if device is not None:
        converted.reset_device(device)
    return converted


_HEAVY = (nn.Dense, nn.Conv1D, nn.Conv2D, nn.Conv3D, nn.Conv1DTranspose, nn.Conv2DTranspose, nn.Conv3DTranspose)
