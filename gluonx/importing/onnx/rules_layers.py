"""Convolutions, products, normalizations and Dropout. See `gluonx.importing.onnx.rules`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx import autograd, npx
from gluonx import np as gnp
from gluonx.errors import GraphError, ShapeError
from gluonx.importing.onnx.rules import Call, one_of, rule
from gluonx.importing.onnx.rules_shape import padded

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


auto_pad_check = one_of("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def margins(
    call: Call, sizes: Sequence[Any], kernel: Sequence[int], stride: Sequence[int], dilate: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the margins of each spatial axis of a window operator."""
    auto = call.attr("auto_pad", "NOTSET")
    space = len(kernel)
    if auto in ("NOTSET", ""):
        pads = call.attr("pads") or [0] * 2 * space
        return list(zip(pads[:space], pads[space:], strict=True))
    if auto == "VALID":
        return [(0, 0)] * space
    found = []
    for size, k, s, d in zip(sizes, kernel, stride, dilate, strict=True):
        reach = d * (k - 1) + 1
        if s == 1:
            total = reach - 1
        elif isinstance(size, int):
            total = max((-(-size // s) - 1) * s + reach - size, 0)
        else:
            raise ShapeError(f"{call.node}: auto_pad '{auto}' with stride {s} needs a size that is known, not {size}")
        low = total // 2 if auto == "SAME_UPPER" else total - total // 2
        found.append((low, total - low))
    return found


def convolved(call: Call, x: Any, weight: Any, bias: Any) -> ndarray:
    """Return a convolution by the attributes of a node."""
    kernel = tuple(weight.shape[2:])
    space = len(kernel)
    stride = tuple(call.attr("strides") or [1] * space)
    dilate = tuple(call.attr("dilations") or [1] * space)
    pads = margins(call, x.shape[2:], kernel, stride, dilate)
    if any(low != high for low, high in pads) or any(low < 0 for low, _ in pads):
        x = padded(x, [(0, 0), (0, 0), *pads])
        pads = [(0, 0)] * space
    return npx.convolution(
        x, weight, bias, kernel=kernel, stride=stride, dilate=dilate, pad=tuple([low for low, _ in pads]),
        num_filter=weight.shape[0], num_group=call.attr("group", 1), no_bias=bias is None,
    )  # fmt: skip


def _spatial(call: Call, x: ndarray) -> None:
    if not 3 <= x.ndim <= 5:
        raise GraphError(f"{call.node}: data of {x.ndim} axes; one to three spatial ones are known here")


@rule("Conv", check=auto_pad_check)
def _conv(call: Call) -> ndarray:
    _spatial(call, call[0])
    return convolved(call, call[0], call[1], call[2])


@rule("ConvTranspose", check=auto_pad_check)
def _conv_transpose(call: Call) -> Any:
    x, weight, bias = call[0], call[1], call[2]
    _spatial(call, x)
    kernel, groups = tuple(weight.shape[2:]), call.attr("group", 1)
    space = len(kernel)
    stride = tuple(call.attr("strides") or [1] * space)
    dilate = tuple(call.attr("dilations") or [1] * space)
    extra = tuple(call.attr("output_padding") or [0] * space)
    reach = [d * (k - 1) + 1 for d, k in zip(dilate, kernel, strict=True)]
    pads = _transposed_margins(call, x.shape[2:], stride, reach, extra)
    how: dict[str, Any] = {
        "kernel": kernel, "stride": stride, "dilate": dilate, "num_filter": weight.shape[1] * groups,
        "num_group": groups,
    }  # fmt: skip
    plain = all(low == high >= 0 for low, high in pads) and all(e < s for e, s in zip(extra, stride, strict=True))
    if plain:
        low = tuple([low for low, _ in pads])
        return npx.deconvolution(x, weight, bias, pad=low, adj=extra, no_bias=bias is None, **how)
    whole = npx.deconvolution(x, weight, None, no_bias=True, **how)  # of which the margins are cut off
    cut = [(-low, e - high) for (low, high), e in zip(pads, extra, strict=True)]
    whole = padded(whole, [(0, 0), (0, 0), *cut])
    return whole if bias is None else gnp.add(whole, gnp.reshape(bias, (1, -1, *[1] * space)))


def _transposed_margins(
    call: Call, sizes: Sequence[Any], stride: Sequence[int], reach: Sequence[int], extra: Sequence[int]
) -> list[tuple[int, int]]:
    shape, auto = call.attr("output_shape"), call.attr("auto_pad", "NOTSET")
    space = len(reach)
    if not shape and auto in ("NOTSET", "", "VALID"):
        pads = call.attr("pads") if auto != "VALID" else None
        pads = pads or [0] * 2 * space
        return list(zip(pads[:space], pads[space:], strict=True))
    wanted = list(shape)[-space:] if shape else [n * s for n, s in zip(sizes, stride, strict=True)]
    found = []
    for size, s, r, e, w in zip(sizes, stride, reach, extra, wanted, strict=True):
        total = s * (size - 1) + e + r - w
        low = total // 2 if auto == "SAME_UPPER" else total - total // 2
        found.append((low, total - low))
    return found


# -- products ---------------------------------------------------------------------------------------------------------


rule("MatMul")(lambda call: gnp.matmul(call[0], call[1]).astype(call[0].dtype))


@rule("Gemm")
def _gemm(call: Call) -> ndarray:
    a, b, c = call[0], call[1], call[2]
    alpha, beta = call.attr("alpha", 1.0), call.attr("beta", 1.0)
    if call.attr("transA", 0):
        a = gnp.transpose(a)
    if call.attr("transB", 0):
        fits = c is not None and c.ndim == 1 and c.shape[0] == b.shape[0] and alpha == beta == 1
        if fits or (c is None and alpha == 1):
            return npx.fully_connected(a, b, c, num_hidden=b.shape[0], no_bias=c is None, flatten=False)
        b = gnp.transpose(b)
    out = gnp.matmul(a, b)
    if alpha != 1:
        out = gnp.multiply(out, alpha)
    if c is None or beta == 0:
        return out.astype(a.dtype)
    return gnp.add(out, c if beta == 1 else gnp.multiply(c, beta)).astype(a.dtype)


# -- normalizations ---------------------------------------------------------------------------------------------------


@rule("BatchNormalization")
def _batch_normalization(call: Call) -> ndarray:
    x, scale, shift, mean, var = call[0], call[1], call[2], call[3], call[4]
    eps, momentum = call.attr("epsilon", 1e-5), call.attr("momentum", 0.9)
    if call.attr("spatial", 1) == 0:
        raise GraphError(f"{call.node}: statistics of each place (spatial=0) are not known here")
    always = bool(call.attr("training_mode", 0)) or (call.opset < 14 and call.wants(1))
    own = call.is_state(call.node.inputs[3]) and call.is_state(call.node.inputs[4])
    if always:
        return _batch_statistics(x, scale, shift, mean, var, eps, momentum)
    if x.ndim == 1:
        x, flat = gnp.expand_dims(x, 1), True
    else:
        flat = False
    out = npx.batch_norm(
        x, scale, shift, mean, var, eps=eps, momentum=momentum, fix_gamma=False, use_global_stats=not own, axis=1
    )
    return gnp.squeeze(out, 1) if flat else out.astype(x.dtype)


def _batch_statistics(x: ndarray, scale: Any, shift: Any, mean: Any, var: Any, eps: float, momentum: float) -> Any:
    """Normalize by the batch's own statistics, as a file says that was written in training mode."""
    axes = tuple([axis for axis in range(x.ndim) if axis != 1])
    shape = (1, -1, *[1] * (x.ndim - 2))
    own_mean, own_var = gnp.mean(x, axis=axes), gnp.var(x, axis=axes)
    scaled = gnp.divide(gnp.subtract(x, own_mean.reshape(shape)), gnp.sqrt(gnp.add(own_var, eps)).reshape(shape))
    out = gnp.add(gnp.multiply(scaled, scale.reshape(shape)), shift.reshape(shape))
    means = gnp.add(gnp.multiply(mean, momentum), gnp.multiply(own_mean, 1 - momentum))
    return out, means, gnp.add(gnp.multiply(var, momentum), gnp.multiply(own_var, 1 - momentum))


rule("InstanceNormalization")(lambda call: npx.instance_norm(call[0], call[1], call[2], eps=call.attr("epsilon", 1e-5)))


@rule("LayerNormalization")
def _layer_normalization(call: Call) -> Any:
    x, scale, shift = call[0], call[1], call[2]
    axis, eps = call.attr("axis", -1) % x.ndim, call.attr("epsilon", 1e-5)
    moments = call.wants(1) or call.wants(2)
    if axis == x.ndim - 1 and scale.ndim == 1 and shift is not None and shift.ndim == 1 and not moments:
        return npx.layer_norm(x, scale, shift, axis=-1, eps=eps)
    axes = tuple(range(axis, x.ndim))
    wide = x.astype("float32") if x.dtype.itemsize < 4 else x
    mean = gnp.mean(wide, axis=axes, keepdims=True)
    centered = gnp.subtract(wide, mean)
    inverse = gnp.reciprocal(gnp.sqrt(gnp.add(gnp.mean(gnp.square(centered), axis=axes, keepdims=True), eps)))
    out = gnp.multiply(gnp.multiply(centered, inverse).astype(x.dtype), scale)
    return (out if shift is None else gnp.add(out, shift)), mean, inverse


@rule("RMSNormalization")
def _rms_normalization(call: Call) -> Any:
    x, scale = call[0], call[1]
    axis, eps = call.attr("axis", -1) % x.ndim, call.attr("epsilon", 1e-5)
    if axis == x.ndim - 1 and scale.ndim == 1:
        return npx.rms_norm(x, scale, axis=-1, eps=eps)
    axes = tuple(range(axis, x.ndim))
    wide = x.astype("float32") if x.dtype.itemsize < 4 else x
    mean = gnp.mean(gnp.square(wide), axis=axes, keepdims=True)
    return gnp.multiply(gnp.divide(wide, gnp.sqrt(gnp.add(mean, eps))).astype(x.dtype), scale)


@rule("GroupNormalization")
def _group_normalization(call: Call) -> Any:
    x, scale, shift, groups = call[0], call[1], call[2], call.attr("num_groups")
    if scale.shape[0] != x.shape[1]:  # opset 18: one number a group
        size = x.shape[1] // groups
        scale, shift = gnp.repeat(scale, size), gnp.repeat(shift, size)
    return npx.group_norm(x, scale, shift, num_groups=groups, eps=call.attr("epsilon", 1e-5))


@rule("MeanVarianceNormalization")
def _mean_variance(call: Call) -> Any:
    x, axes = call[0], tuple(call.attr("axes") or (0, 2, 3))
    centered = gnp.subtract(x, gnp.mean(x, axis=axes, keepdims=True))
    return gnp.divide(centered, gnp.add(gnp.sqrt(gnp.mean(gnp.square(centered), axis=axes, keepdims=True)), 1e-9))


@rule("LRN")
def _lrn(call: Call) -> Any:
    size = call.attr("size")
    how = {"alpha": call.attr("alpha", 1e-4), "beta": call.attr("beta", 0.75), "knorm": call.attr("bias", 1.0)}
    if size % 2:
        return npx.lrn(call[0], nsize=size, **how)
    x = call[0]
    low = (size - 1) // 2
    squares = padded(gnp.square(x), [(0, 0), (low, size - 1 - low), *[(0, 0)] * (x.ndim - 2)])
    count = x.shape[1]
    total = squares[:, :count]
    for i in range(1, size):
        total = gnp.add(total, squares[:, i : i + count])
    return gnp.divide(x, gnp.power(gnp.add(gnp.multiply(total, how["alpha"] / size), how["knorm"]), how["beta"]))


@rule("LpNormalization")
def _lp_normalization(call: Call) -> Any:
    x, axis, p = call[0], call.attr("axis", -1), call.attr("p", 2)
    if p == 1:
        size = gnp.sum(gnp.abs(x), axis=axis, keepdims=True)
    else:
        size = gnp.sqrt(gnp.sum(gnp.square(x), axis=axis, keepdims=True))
    none = gnp.equal(size, 0)
    return gnp.where(none, gnp.zeros_like(x), gnp.divide(x, gnp.where(none, gnp.ones_like(size), size)))


@rule("Dropout", known=(1, 2), lazy=True)
def _dropout(call: Call) -> Any:
    x = call.raw(0)
    if call.opset < 12:
        ratio, always = call.attr("ratio", 0.5), False
    else:
        given, mode = call.known(1), call.known(2)
        ratio, always = 0.5 if given is None else float(given.reshape(())), mode is not None and bool(mode)
    if not (always or autograd.is_training()) or ratio == 0 or isinstance(x, np.ndarray):
        ones = gnp.ones(x.shape, dtype="bool") if call.wants(1) else None
        return x, ones
    kept = npx.dropout(gnp.ones_like(x), p=ratio, mode="always")
    return gnp.multiply(x, kept), gnp.greater(kept, 0)


# -- losses -----------------------------------------------------------------------------------------------------------


rule("NegativeLogLikelihoodLoss")(lambda call: _likelihood(call, call[0], call[1], call[2]))


@rule("SoftmaxCrossEntropyLoss")
def _softmax_cross_entropy(call: Call) -> Any:
    scores = npx.log_softmax(call[0], axis=1)
    return _likelihood(call, scores, call[1], call[2]), scores


def _likelihood(call: Call, scores: Any, labels: Any, weight: Any) -> Any:
    """Return minus the score of the label, weighted by its class, and reduced."""
    ignored, kind = call.attr("ignore_index"), call.attr("reduction", "mean")
    kept = None if ignored is None else gnp.not_equal(labels, ignored)
    safe = labels if kept is None else gnp.where(kept, labels, gnp.zeros_like(labels))
    loss = gnp.negative(npx.pick(scores, safe, axis=1))
    weights = None if weight is None else gnp.take(weight, safe)
    if kept is not None:
        ones = gnp.ones(loss.shape, dtype=loss.dtype) if weights is None else weights
        weights = gnp.where(kept, ones, gnp.zeros_like(ones))
    if weights is not None:
        loss = gnp.multiply(loss, weights)
    if kind == "none":
        return loss
    total = gnp.sum(loss)
    if kind == "sum":
        return total
    return gnp.divide(total, gnp.sum(weights) if weights is not None else math.prod(loss.shape))
