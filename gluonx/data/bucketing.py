"""Inputs whose size varies, padded into few sizes: each shape has a program of its own, so there must be few."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as onp

from gluonx import autograd, np
from gluonx.data.batchify import bucket_of, bucket_sizes
from gluonx.deferred.values.core import Handle, Tracer
from gluonx.errors import ArgumentError, ShapeError


def _padded(array: onp.ndarray, shape: Sequence[int], value: float) -> onp.ndarray:
    full = onp.full(tuple(shape), value, array.dtype)
    full[tuple(slice(n) for n in array.shape)] = array
    return full


class Bucketed:
    """A net that is called with inputs of any size and sees those of a few: its inputs are padded before they go in.

    Parameters
    ----------
    block : callable
        Called as ``block(padded, mask, *others)``; the mask is of booleans, of the input's first axes to the last that
        is padded. Without a mask where `mask` is False.
    sizes : dict of int to list of int
        For axes of the input, the sizes that they may have. ``{0: [32], 1: [16, 32, 64]}`` also fills up the last,
        smaller batch.
    val : number
        What fills the rest.
    mask : bool
        Whether the block takes a mask.

    Notes
    -----
    The output is that of the padded input; cutting it inside ``record()`` would be a program for each size again. Use
    the mask in the loss, and :meth:`pad` for labels. Padding is done on the host, outside of the recorded program, so
    gradients do not reach the input: it goes around a whole net.

    Examples
    --------
    >>> from gluonx import np
    >>> def mean(x, mask):
    ...     return (x * mask).sum(axis=1) / mask.sum(axis=1)
    >>> Bucketed(mean, {1: [4, 8]})(np.array([[1.0, 2.0, 6.0]])).tolist()
    [3.0]
    """

    def __init__(
        self, block: Callable[..., Any], sizes: Mapping[int, Sequence[int]], val: float = 0, mask: bool = True
    ) -> None:
        self.block, self.sizes, self.val, self.takes_mask = block, bucket_sizes(sizes), val, mask

    def __call__(self, x: Any, *others: Any) -> Any:
        """Call the block on the padded `x`."""
        padded, mask = self.pad(x)
        return self.block(padded, mask, *others) if self.takes_mask else self.block(padded, *others)

    def pad(self, x: Any, val: float | None = None) -> tuple[Any, Any]:
        """Return an array padded to its bucket, and the mask of what was there before.

        Raises
        ------
        ArgumentError
            If `x` was computed inside ``record()`` or a hybridized forward, or has ``attach_grad()``: its gradient
            would be lost.
        ShapeError
            If it fits into no bucket, or has too few axes.
        """
        if isinstance(x, Handle) and (isinstance(x.value, Tracer) or (autograd.is_recording() and _has_gradient(x))):
            raise ArgumentError(
                "Bucketed pads what comes from outside; this array was computed by a recorded or traced forward, or "
                "has attach_grad(), and its gradient would be lost. Put Bucketed around the whole net."
            )
        array = x.asnumpy() if isinstance(x, np.ndarray) else onp.asarray(x)
        if max(self.sizes) >= array.ndim:
            raise ShapeError(
                f"Bucketed pads axis {max(self.sizes)}, which an array of shape {array.shape} does not have"
            )
        shape = list(array.shape)
        for axis, sizes in self.sizes.items():
            shape[axis] = bucket_of(shape[axis], sizes)
        kept = onp.ones(array.shape[: max(self.sizes) + 1], bool)
        mask = _padded(kept, shape[: kept.ndim], False)
        dtype = x.dtype if isinstance(x, (np.ndarray, jax.Array)) else None
        filled = _padded(array, shape, self.val if val is None else val)
        return np.array(filled, dtype=dtype), np.array(mask, dtype=bool)

    def __repr__(self) -> str:
        return f"Bucketed({self.block!r}, {self.sizes!r})"


def _has_gradient(x: Any) -> bool:
    return x.variable is not None or x._is_recorded()
