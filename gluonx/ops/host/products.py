"""Matrix products and convolutions, both by NumPy's ``matmul``: BLAS for floats.

A convolution is one product of its unrolled windows ("im2col": Chellapilla et al., 2006) with the kernel. Two kinds are
computed otherwise, because unrolling takes longer than the product (`_other_way`). Products of float32 are added in
float32, as in XLA; those of 16-bit floats in float32, those of 8-bit integers in float64, exactly.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence

import numpy as np

from gluonx.ops.host.moves import padded, strided
from gluonx.ops.host.primitives import LOW, Call, Fn, rule

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_BAND = 1 << 20  # so many elements of products are held before they are added


def _worker(call: Call, terms: int) -> np.dtype:
    """Return the dtype in which to multiply."""
    one, other, out = call.ins[0].dtype, call.ins[1].dtype, call.dtype
    if {one, other, out} & LOW and out.kind not in "iuc" and out != _F64:
        return _F32 if out in LOW else out
    if one.kind in "iub" and other.kind in "iub" and one.itemsize == other.itemsize == 1 and terms < 1 << 36:
        return _F64
    return out


def _rounded(dtype: np.dtype, worker: np.dtype) -> Fn | None:
    """Return a function that converts a product to the result's dtype; None if it has that dtype."""
    if dtype == worker:
        return None
    if dtype.kind in "iu":
        return lambda x: x.astype(np.int64).astype(dtype)  # wraps
    return lambda x: x.astype(dtype)


@rule("dot_general")
def _dot_general(call: Call) -> Fn:
    (left_sum, right_sum), (left_batch, right_batch) = call.params["dimension_numbers"]
    left, right = (spec.shape for spec in call.ins)
    left_free = [a for a in range(len(left)) if a not in left_sum and a not in left_batch]
    right_free = [a for a in range(len(right)) if a not in right_sum and a not in right_batch]
    terms = math.prod(left[a] for a in left_sum)
    rows, columns = math.prod(left[a] for a in left_free), math.prod(right[a] for a in right_free)
    batch = [left[a] for a in left_batch]
    count = math.prod(batch)
    call.cost = count * rows * columns * max(terms, 1) / 16 + call.ins[0].size + call.ins[1].size
    worker, out_shape = _worker(call, terms), call.shape
    casts = [spec.dtype != worker for spec in call.ins]
    rounded = _rounded(call.dtype, worker)
    first = _arranged(left, (*left_batch, *left_free, *left_sum), (*batch, rows, terms))
    second = _arranged(right, (*right_batch, *right_sum, *right_free), (*batch, terms, columns))
    product_shape = (*batch, rows, columns)

    def run(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if casts[0]:
            x = x.astype(worker)
        if casts[1]:
            y = y.astype(worker)
        if first is not None:
            x = first(x)
        if second is not None:
            y = second(y)
        out = np.matmul(x, y)
        if rounded is not None:
            out = rounded(out)
        return out if product_shape == out_shape else out.reshape(out_shape)

    return run


def _arranged(before: tuple[int, ...], order: tuple[int, ...], shape: tuple[int, ...]) -> Fn | None:
    moved = order != tuple(range(len(order)))
    reshaped = tuple(before[a] for a in order) != shape
    if moved and reshaped:
        return lambda x: x.transpose(order).reshape(shape)
    if moved:
        return lambda x: x.transpose(order)
    return (lambda x: x.reshape(shape)) if reshaped else None


@rule("conv_general_dilated")
def _conv_general_dilated(call: Call) -> Fn:
    params = call.params
    numbers = params["dimension_numbers"]
    left_order, right_order = tuple(numbers.lhs_spec), tuple(numbers.rhs_spec)
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    batch, channels, *spatial = (call.ins[0].shape[a] for a in left_order)
    filters, depth, *kernel = (call.ins[1].shape[a] for a in right_order)
    rank, out_order = len(spatial), tuple(numbers.out_spec)
    strides = tuple(map(int, params["window_strides"]))
    left_dilation, right_dilation = (
        tuple(map(int, params[side] or (1,) * rank)) for side in ("lhs_dilation", "rhs_dilation")
    )
    padding = [(int(low), int(high)) for low, high in params["padding"]]
    spread = [(n - 1) * d + 1 if n else 0 for n, d in zip(spatial, left_dilation, strict=True)]
    full = [max(n + low + high, 0) for n, (low, high) in zip(spread, padding, strict=True)]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, right_dilation, strict=True)]
    outs = [max((n - r) // s + 1, 0) if n >= r else 0 for n, r, s in zip(full, reach, strides, strict=True)]
    terms = depth * math.prod(kernel)
    worker = _worker(call, terms)
    casts = [spec.dtype != worker for spec in call.ins]
    plain = full == spread == spatial and not any(low for low, _ in padding)
    config = [(0, 0, 0), (0, 0, 0), *[(lo, hi, d - 1) for (lo, hi), d in zip(padding, left_dilation, strict=True)]]
    pad = padded((channels, batch, *full), worker, config, (channels, batch, *spatial))
    # Groups of features or of batches: (group, batch, channels, ...) by (group, filters, channels, ...).
    total = groups * batch_groups
    per_batch, per_group = batch // batch_groups, filters // total
    positions = math.prod(outs)
    zero = np.zeros((), worker)
    # The product has (group, filter, batch, position), the result (batch, group, filter, position) in any order.
    back = [0] * len(out_order)
    for position, axis in enumerate(out_order):
        back[axis] = position
    back_order = tuple(back)
    rounded = _rounded(call.dtype, worker)
    columns = (total, terms, per_batch * positions)
    other = None if total > 1 else _other_way(per_group, depth, per_batch, kernel, outs, strides)
    call.cost = call.outs[0].size * max(terms, 1) / 16 + per_batch * positions * terms * total + call.ins[0].size

    def run(x: np.ndarray, kernel_array: np.ndarray) -> np.ndarray:
        x, w = x.transpose(left_order), kernel_array.transpose(right_order)
        if casts[0]:
            x = x.astype(worker)
        if casts[1]:
            w = w.astype(worker)
        if not plain:
            x = pad(x.swapaxes(0, 1), zero).swapaxes(0, 1)
        if other is not None:
            out = other(x.swapaxes(0, 1), w, outs, strides, right_dilation)
            if rounded is not None:
                out = rounded(out)
            return out.swapaxes(0, 1).transpose(back_order)
        steps = x.strides
        if batch_groups == 1:
            outer = (steps[1] * depth, steps[1])
        else:
            outer = (steps[0] * per_batch, steps[1])
        shape = (total, depth, *kernel, per_batch, *outs)
        view = strided(
            x,
            shape,
            (
                *outer,
                *[step * d for step, d in zip(steps[2:], right_dilation, strict=True)],
                steps[0],
                *[step * s for step, s in zip(steps[2:], strides, strict=True)],
            ),
        )
        out = np.matmul(w.reshape(total, per_group, terms), view.reshape(columns))
        out = out.reshape(total * per_group, per_batch, *outs)
        if rounded is not None:
            out = rounded(out)
        return out.swapaxes(0, 1).transpose(back_order)

    if call.outs[0].size == 0 or terms == 0:
        shape, dtype = call.shape, call.dtype
        return lambda x, w: np.zeros(shape, dtype)
    return run


def _other_way(
    filters: int, channels: int, images: int, kernel: Sequence[int], outs: Sequence[int], strides: Sequence[int]
) -> Fn | None:
    """Return `_by_position`, `_by_sums`, or None where unrolled windows are as fast."""
    taps, positions = math.prod(kernel), math.prod(outs)
    if taps >= 16 * positions and images >= positions:
        return _by_position
    if 1 < taps <= positions and 2 * filters <= channels and set(strides) <= {1}:
        return _by_sums
    return None


def _by_position(
    x: np.ndarray, w: np.ndarray, outs: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> np.ndarray:
    """Return the sums over windows by one product for each position of the result.

    A gradient of weights has few positions, and a kernel as large as the image, so that what a position sees is copied
    in long rows (unrolled windows have rows as short as the weights).

    Parameters
    ----------
    x : array, shape (channels, images, *space)
    w : array, shape (filters, channels, *kernel)

    Returns
    -------
    array, shape (filters, images, *outs)
    """
    images, filters, kernel = x.shape[1], w.shape[0], w.shape[2:]
    flat = w.reshape(filters, w[0].size)
    turned = images > filters  # BLAS is faster with the larger one in front
    found = np.empty((math.prod(outs), *((images, filters) if turned else (filters, images))), x.dtype)
    for at, product in zip(itertools.product(*map(range, outs)), found, strict=True):
        steps = zip(at, strides, kernel, dilation, strict=True)
        seen = x[(..., *[slice(i * s, i * s + (k - 1) * d + 1, d) for i, s, k, d in steps])].swapaxes(0, 1)
        seen = np.ascontiguousarray(seen).reshape(images, flat.shape[1])
        np.matmul(*((seen, flat.T) if turned else (flat, seen.T)), out=product)
    order = (2, 1, 0) if turned else (1, 2, 0)
    return np.ascontiguousarray(found.transpose(order)).reshape(filters, images, *outs)


def _by_sums(
    x: np.ndarray, w: np.ndarray, outs: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> np.ndarray:
    """Return the sums over windows `strides` of 1 apart: one product with all images, whose rows are shifted and added.

    As Vasudevan et al. ("Parallel Multi Channel Convolution using General Matrix Multiplication", 2017) do it: where
    the filters are fewer than the channels, there is less to add than windows would have to be unrolled. Parameters and
    result are those of `_by_position`.
    """
    channels, images, *space = x.shape
    filters, kernel = w.shape[0], w.shape[2:]
    taps, length = math.prod(kernel), images * math.prod(space)
    flat = w.reshape(filters, channels, taps).transpose(2, 0, 1).reshape(taps * filters, channels)
    x = x.reshape(channels, length)
    apart = [d * math.prod(space[axis + 1 :]) for axis, d in enumerate(dilation)]
    shifts = [sum(map(operator.mul, at, apart)) for at in itertools.product(*map(range, kernel))]
    sums = np.empty((filters, length), x.dtype)
    last, band = length - shifts[-1], max(_BAND // len(flat), 4 * shifts[-1], 1)
    for start in range(0, last, band):
        end = min(start + band, last)
        products = np.matmul(flat, x[:, start : end + shifts[-1]]).reshape(taps, filters, -1)
        parts = [part[:, shift : shift + end - start] for part, shift in zip(products, shifts, strict=True)]
        total = np.add(parts[0], parts[1], out=sums[:, start:end])
        for part in parts[2:]:
            total += part
    inside = sums.reshape(filters, images, *space)[(..., *map(slice, outs))]
    return np.ascontiguousarray(inside)
