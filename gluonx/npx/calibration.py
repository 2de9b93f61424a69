"""Choosing the range of a quantized layer from a histogram of what it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import np
from gluonx.errors import ShapeError
from gluonx.np.hosted import on_host

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_SMALL = 1e-4


def contrib_calibrate_entropy(
    hist: ArrayLike | None = None,
    hist_edges: ArrayLike | None = None,
    num_quantized_bins: int = 255,
    out: Any = None,
) -> list[Any]:
    """Return the threshold at which to clip before quantization, such that the least information is lost.

    Of the ranges around the middle of a histogram that one is chosen whose distribution, with what lies outside put
    into its ends, has the smallest Kullback-Leibler divergence from itself in `num_quantized_bins` steps (in float64).

    Parameters
    ----------
    hist, hist_edges : array, shape (bins,) and (bins + 1,)
        Counts, an odd number of them and symmetric around zero, and where the bins begin and end.
    num_quantized_bins : int
    out : list of two arrays, optional
        Where the result is put.

    Returns
    -------
    list of two arrays of shape (1,)
        The threshold, and its divergence.

    Raises
    ------
    ShapeError
        If the two do not belong together, or the number of bins is even or too small.
    TracedValueError
        Inside a hybridized block, which has no values.

    Notes
    -----
    S. Migacz, "8-bit inference with TensorRT", GTC 2017. As in MXNet's operator of the name, the first bin of each
    range does not count for the quantized distribution.

    Examples
    --------
    >>> import numpy
    >>> counts, edges = numpy.histogram(numpy.linspace(-1, 1, 999) ** 3, bins=101, range=(-1, 1))
    >>> threshold, divergence = contrib_calibrate_entropy(counts, edges, 15)
    >>> threshold.shape, float(threshold[0]) <= 1
    ((1,), True)
    """
    counts, edges = (onp.asarray(on_host("contrib_calibrate_entropy", x), onp.float64) for x in (hist, hist_edges))
    bins = counts.size
    if counts.ndim != 1 or edges.shape != (bins + 1,) or bins % 2 == 0 or not 2 <= num_quantized_bins <= bins:
        raise ShapeError(
            f"contrib_calibrate_entropy: an odd number of bins, not below num_quantized_bins={num_quantized_bins}, and "
            f"one edge more were expected, but hist has shape {counts.shape} and hist_edges {edges.shape}."
        )
    middle, least = bins // 2, num_quantized_bins // 2
    best, chosen = float(onp.finfo(onp.float32).max), middle + least + 1
    for reach in range(least, middle + 1):
        found = _divergence(counts, middle - reach, middle + reach + 1, num_quantized_bins)
        if found < best:
            best, chosen = found, middle + reach + 1
    results = [np.array([value], dtype="float32") for value in (edges[chosen], best)]
    if out is None:
        return results
    for target, value in zip(out, results, strict=True):
        target[...] = value
    return out


def _divergence(counts: onp.ndarray, start: int, stop: int, steps: int) -> float:
    """Of the counts from `start` to `stop`, those outside in the end bins, from the same in so many steps."""
    exact = counts[start:stop].copy()
    inside = exact.copy()
    exact[0] += counts[:start].sum()
    exact[-1] += counts[stop:].sum()
    inside[0] = 0
    width = len(inside) // steps
    begins = onp.arange(steps) * width
    sums = onp.add.reduceat(inside, begins)
    hits = onp.add.reduceat((inside != 0).astype(float), begins)
    levels = onp.divide(sums, hits, out=onp.zeros_like(sums), where=hits != 0)
    places = onp.minimum(onp.arange(len(inside)) // width, steps - 1)
    p, q = _smoothed(exact), _smoothed(onp.where(exact == 0, 0, levels[places]))
    if p is None or q is None:
        return onp.inf
    p, q = p / p.sum(), q / q.sum()
    return float((p * onp.log(p / q)).sum())


def _smoothed(counts: onp.ndarray) -> onp.ndarray | None:
    """Return a little of what there is where there is nothing; None where there is not enough."""
    empty = counts == 0
    zeros = int(empty.sum())
    if zeros == len(counts):
        return None
    taken = _SMALL * zeros / (len(counts) - zeros)
    return None if taken >= 1 else counts + onp.where(empty, _SMALL, -taken)
