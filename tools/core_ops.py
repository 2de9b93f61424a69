"""The core operator set, written down: the page ``docs/core_ops.md``, made from the registry.

What the registry does not hold stands in three tables: the shape of the result, what is particular about the gradient,
and the operation of NumPy or StableHLO that an operator stands for. ``python -m tools.parity --write`` writes the
page; tests compare it with the registry, and what it claims (`SAME`, `BROADCAST` and `REDUCED` shapes, gradients) with
what operators do.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from gluonx.ops.registry import Op

__all__ = ["BROADCAST", "REDUCED", "SAME", "gradient", "page", "shape_rule", "stands_for"]

SAME, BROADCAST, REDUCED = "as the first input", "broadcast of all inputs", "`x` without `axis` (1 with `keepdims`)"
_UPDATED = "as `weight`; then the states"
LEVELS = {
    1: "fully connected nets",
    2: "convolution",
    3: "tensors",
    4: "broadcast and reduction",
    5: "vision",
    6: "sequence",
}


def _each(names: str, fact: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), fact)


_SHAPES: Mapping[str, str] = {
    **_each(
        "softmax log_softmax softmin masked_softmax masked_log_softmax l2_normalization rms_norm lrn dropout", SAME
    ),
    **_each("cast zeros_like ones_like full_like flip roll tril triu sort around integer_power index_add", SAME),
    **_each("index_update index_copy sequence_mask sequence_reverse activation leaky_relu elu gelu swish", SAME),
    **_each("hard_sigmoid smooth_l1 add_n instance_norm make_loss softmax_output svm_output", SAME),
    **_each("linear_regression_output logistic_regression_output mae_regression_output random_permutation", SAME),
    **_each("where clip", BROADCAST),
    **_each("sum mean prod max min all any var std argmax argmin norm logsumexp", REDUCED),
    **_each("cumsum cumprod argsort", SAME + "; flat where `axis` is None"),
    **_each("l2_loss l1_loss huber_loss hinge_loss squared_hinge_loss logistic_loss sigmoid_bce_loss", "(batch,)"),
    **_each("kl_div_loss softmax_cross_entropy_loss cosine_embedding_loss triplet_loss sdml_loss", "(batch,)"),
    **_each("ctc_batch_loss", "(batch,)"),
    **_each("poisson_nll_loss", "()"),
    **_each("batch_norm layer_norm group_norm", SAME + "; then, if asked, mean and deviation"),
    **_each("metric_accuracy metric_top_k metric_binary_accuracy metric_error metric_distance metric_cosine", SAME),
    **_each("metric_cross_entropy metric_sum metric_counts metric_confusion metric_pearson", SAME),
    **_each("image.adjust_lighting image.random_brightness image.random_color_jitter image.random_contrast", SAME),
    **_each("image.random_hue image.random_lighting image.random_saturation image.flip_left_right box_nms", SAME),
    **_each("image.flip_top_bottom image.normalize image.random_flip_left_right image.random_flip_top_bottom", SAME),
    **_each("sldwin_atten_mask_like", SAME),
    **_each("proposal", "(batch * `rpn_post_nms_top_n`, 5); then, if asked, the scores"),
    **_each("sgd_update signsgd_update lamb_update_phase2 multi_lars", SAME),
    **_each("sgd_mom_update nag_mom_update signum_update adam_update adamw_update adabelief_update", _UPDATED),
    **_each("ftml_update ftrl_update rmsprop_update rmspropalex_update lamb_update_phase1 lans_update", _UPDATED),
    "quantized_flatten": "that of `batch_flatten`; then the ends of its range",
    "dequantize": SAME,
    "intgemm_fully_connected": "that of `fully_connected`",
    "intgemm_maxabsolute": "(1,)",
    "intgemm_prepare_data": SAME,
    "intgemm_prepare_weight": SAME,
    "intgemm_take_weight": "(indices, weight.shape[1])",
    **_each("quantized_act", SAME + "; then the ends of its range"),
    **_each("quantized_conv", "that of `convolution`; then the ends of its range"),
    "int8_convolution": "that of `convolution`",
    "int8_fully_connected": "that of `fully_connected`",
    **_each("quantized_elemwise_add quantized_elemwise_mul", SAME + "; then the ends of its range"),
    **_each("contrib_quantize contrib_quantize_v2 requantize", SAME + "; then the ends of its range"),
    **_each("image.crop image.random_crop image.random_resized_crop", "`data` with `height` and `width`"),
    **_each("image.resize", "`data` with `size`"),
    "cached_attention": "(batch, queries, heads, width), then the keys and values with the new ones",
    "col2im": "(n, c, *output_size)",
    "merge_heads": "(..., heads * width)",
    "modulated_deformable_convolution": "(n, num_filter, o...), as `convolution`",
    "adaptive_avg_pooling": "(n, c, *output_size)",
    "arange_like": "as `x`, or (x.shape[axis],)",
    "batch_dot": "(b, n, k) of (b, n, m) and (b, m, k)",
    "batch_flatten": "(x.shape[0], the product of the others)",
    "broadcast_like": "as `like`, or as `x` with the lengths of `like` in `lhs_axes`",
    "broadcast_to": "`shape`",
    "concatenate": "as the inputs, their lengths along `axis` added up",
    "convolution": "(n, num_filter, o...), o = (w + 2 pad - dilate (kernel - 1) - 1) // stride + 1",
    "deconvolution": "(n, num_filter, o...), o = stride (w - 1) + dilate (kernel - 1) + 1 - 2 pad + adj",
    "depth_to_space": "(n, c / b**2, b h, b w)",
    "dot": "x1.shape[:-1] + x2.shape without its last axis but one",
    "einsum": "as the subscripts say",
    "embedding": "x.shape + weight.shape[1:]",
    "expand_dims": "`x` with 1 at each of `axis`",
    "fully_connected": "(x.shape[0], num_hidden); x.shape[:-1] + (num_hidden,) without `flatten`",
    "gather_nd": "indices.shape[1:] + x.shape[m:], m = indices.shape[0]",
    "matmul": "broadcast leading axes + (n, k) of (n, m) and (m, k)",
    "moveaxis": "`x` with axes moved",
    "one_hot": "indices.shape + (depth,)",
    "pad": "`x` with the margins added",
    "pick": "`x` without `axis`, or with length 1 there",
    "pixel_shuffle": "(n, c / product of f, f1 w1, f2 w2, ...)",
    "pooling": "(n, c, o...), o = (w + 2 pad - kernel) // stride + 1 (rounded up with 'full')",
    "repeat": "`x` with the length of `axis` times `repeats`",
    "reshape": "`newshape`, -1 worked out (-2 to -6 as MXNet reads them)",
    "reshape_like": "`like`, or `x` with the axes of `like` in a range",
    "rnn": "(time, batch, directions * state_size), then the states if asked",
    "scatter_nd": "`shape`",
    "sequence_last": "`x` without the axis of time",
    "shape_array": "(x.ndim,)",
    "slice": "(end - begin) / step along the first axes",
    "slice_axis": "`x` with the length end - begin along `axis`",
    "slice_channel": "num_outputs parts of `x` along `axis`",
    "slice_like": "`x` cut to the lengths of `shape_like`",
    "space_to_depth": "(n, c b**2, h / b, w / b)",
    "split": "parts of `x` along `axis`",
    "squeeze": "`x` without axes of length 1",
    "stack": "the inputs' shape with their number at `axis`",
    "swapaxes": "`x` with two axes exchanged",
    "take": "`x` with the axes of `indices` in place of `axis`",
    "take_along_axis": "as `indices`",
    "tensordot": "the axes of both that are not summed over",
    "tile": "the lengths of `x` times `reps`",
    "topk": "`x` with length k along `axis`; a mask as `x`; two of them for 'both'",
    "transpose": "`x` with its axes in the order of `axes`",
    "random_categorical": "p.shape[:-1] + size",
    "random_choice": "size + a.shape[1:]",
    "random_multinomial": "size + pvals.shape",
    "random_multivariate_normal": "size + mean.shape",
}

_NONE, _FLAT = "none: the result is no smooth function", "zero"
_GRADIENTS: Mapping[str, str] = {
    **_each(
        "logical_not isnan isinf isfinite isposinf isneginf equal not_equal greater greater_equal less less_equal",
        _NONE,
    ),
    **_each("logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not left_shift", _NONE),
    **_each("right_shift gcd lcm all any argmax argmin argsort shape_array one_hot stop_gradient", _NONE),
    **_each("random_poisson random_negative_binomial random_binomial random_bernoulli random_randint", _NONE),
    **_each("random_categorical random_multinomial", _NONE),
    **_each("metric_accuracy metric_top_k metric_binary_accuracy metric_error metric_distance metric_cosine", _NONE),
    **_each("metric_cross_entropy metric_sum metric_counts metric_confusion metric_pearson", _NONE),
    **_each("sign floor ceil trunc rint around zeros_like ones_like arange_like floor_divide", _FLAT),
    **_each("round_ste sign_ste", "as if it were the identity"),
    **_each(
        "box_iou bipartite_matching box_decode box_encode multibox_prior multibox_target multibox_detection", _NONE
    ),
    **_each("sldwin_atten_mask_like quantized_act quantized_flatten quantized_conv quantized_elemwise_add", _NONE),
    **_each("quantized_elemwise_mul quantized_fully_connected quantized_pooling quantized_reshape", _NONE),
    **_each("intgemm_maxabsolute intgemm_prepare_data intgemm_prepare_weight intgemm_take_weight", _NONE),
    "intgemm_fully_connected": "through `data`, if of floats, `scaling`, `bias`",
    **_each("quantized_transpose quantized_embedding contrib_quantize contrib_quantize_v2 requantize", _NONE),
    **_each("int8_convolution int8_fully_connected", _NONE),
    **_each("roi_pooling roi_align image.crop image.random_flip_left_right", "through `data`"),
    **_each("image.random_flip_top_bottom", "through `data`"),
    "box_nms": "through `data`, of the boxes that are kept",
    "modulated_deformable_convolution": "through `data`, `offset`, `mask`, `weight`, `bias`",
    **_each("max min", "through `x`, ties share it"),
    "absolute": "through `x`, 0 at 0",
    "relu": "through `x`, 0 at 0",
    "std": "through `x`, 0 where it is 0",
    "norm": "through `x`, 0 where it is 0",
    "cast": "through `x`, from floats to floats",
    "copysign": "through `x1`",
    "maximum": "through `x1`, `x2`; a tie goes to `x1`",
    "minimum": "through `x1`, `x2`; a tie goes to `x1`",
    "topk": "through the values, none through indices and masks",
    "batch_norm": "through `x`, `gamma`, `beta`; of the first output only",
    "softmax_output": "to `x` that of the cross-entropy to `label`, whatever comes from above",
    "linear_regression_output": "to `x` that of half the squared distance, whatever comes from above",
    "logistic_regression_output": "to `x` that of the cross-entropy, whatever comes from above",
    "mae_regression_output": "to `x` that of the absolute distance, whatever comes from above",
    "svm_output": "to `x` that of the hinge loss, whatever comes from above",
    "make_loss": "to `x` grad_scale, whatever comes from above",
}
"""Particulars of gradients; elsewhere a gradient flows through all inputs but those of `_WHOLE`."""

_WHOLE = frozenset(
    ["indices", "index", "ind", "condition", "mask", "length", "sequence_length", "pred_lengths", "label_lengths",
     "like", "shape_like", "dilation", "valid_length", "position"]
)  # fmt: skip

_STANDS_FOR: Mapping[str, str] = {
    **_each("relu", "`stablehlo.maximum` with 0"),
    **_each("sigmoid", "`stablehlo.logistic`"),
    **_each("rsqrt", "`stablehlo.rsqrt`"),
    **_each("cast", "`stablehlo.convert`"),
    **_each("convolution deconvolution", "`stablehlo.convolution`"),
    **_each("pooling adaptive_avg_pooling", "`stablehlo.reduce_window`"),
    **_each("batch_norm", "`stablehlo.batch_norm_training`, `batch_norm_inference`"),
    **_each("fully_connected batch_dot", "`stablehlo.dot_general`"),
    **_each("interleaved_matmul_selfatt_qk interleaved_matmul_selfatt_valatt", "`stablehlo.dot_general`"),
    **_each("interleaved_matmul_encdec_qk interleaved_matmul_encdec_valatt", "`stablehlo.dot_general`"),
    **_each("split_heads merge_heads", "`stablehlo.reshape`"),
    **_each("image.crop image.random_crop", "`stablehlo.dynamic_slice`"),
    **_each("image.flip_left_right image.flip_top_bottom", "`numpy.flip`"),
    **_each("embedding take gather_nd pick", "`stablehlo.gather`"),
    **_each("scatter_nd index_add index_update index_copy", "`stablehlo.scatter`"),
    **_each("slice slice_axis slice_like", "`stablehlo.slice`"),
    **_each("slice_channel", "`numpy.split`"),
    **_each("topk", "`chlo.top_k`"),
    **_each("erf erfinv", "`chlo.erf`, `erf_inv`"),
    **_each("gammaln", "`chlo.lgamma`"),
    **_each("digamma", "`chlo.digamma`"),
    **_each("batch_flatten reshape_like", "`stablehlo.reshape`"),
    **_each("depth_to_space space_to_depth pixel_shuffle", "`stablehlo.reshape`, `transpose`"),
    **_each("broadcast_like", "`stablehlo.broadcast_in_dim`"),
    **_each("stop_gradient copy make_loss", "the identity"),
    **_each("sequence_mask", "`stablehlo.select`"),
    **_each("norm", "`numpy.linalg.norm`"),
    **_each("logsumexp", "`scipy.special.logsumexp`"),
    **_each("random_permutation", "`numpy.random.permutation`"),
    **_each("random_bernoulli", "`numpy.random.binomial` with n = 1"),
    **_each("random_categorical", "`numpy.random.choice` a row"),
    **_each("rnn", "`stablehlo.while`"),
    **_each("concatenate", "`numpy.concatenate`"),
    **_each("row_stack", "`numpy.vstack`"),
    **_each("alltrue", "`numpy.all`"),
    **_each("sometrue", "`numpy.any`"),
    **_each("all_close", "`numpy.allclose`"),
    **_each("all_equal", "`numpy.array_equal`"),
    **_each("all_equivalent", "`numpy.array_equiv`"),
    **_each("in1d", "`numpy.isin`"),
    **_each("msort", "`numpy.sort`"),
    **_each("product", "`numpy.prod`"),
    **_each("round_", "`numpy.round`"),
    **_each("trapz", "`numpy.trapezoid`"),
}


def shape_rule(op: Op) -> str:
    """Return the shape of the result."""
    if op.name in _SHAPES:
        return _SHAPES[op.name]
    if op.name.startswith("random_"):
        return "`size`, or that of the parameters' broadcast"
    if op.name.startswith("quantized_") and op.name.removeprefix("quantized_") in _SHAPES:
        return f"that of `{op.name.removeprefix('quantized_')}`; then the ends of its range"
    family = op.__module__.rpartition(".")[2]
    if family == "elementwise":
        return SAME if len(op.inputs) == 1 else BROADCAST
    found = re.search(r"Returns\n-+\n.*?shape (.*)", op.doc)
    return found.group(1).strip() if found else "see its docstring"


def gradient(op: Op) -> str:
    """Through which inputs gradients flow, and what is particular about them."""
    if op.name in _GRADIENTS:
        return _GRADIENTS[op.name]
    inputs = [f"`{name}`" for name in op.inputs if name not in _WHOLE]
    return f"through {', '.join(inputs)}" if inputs else "none: no inputs"


def stands_for(op: Op) -> str:
    """Return the operation of NumPy or StableHLO that it is, or what it is composed of."""
    if op.name in _STANDS_FOR:
        return _STANDS_FOR[op.name]
    if op.name.startswith("random_") and hasattr(np.random, op.name.removeprefix("random_")):
        return f"`numpy.random.{op.name.removeprefix('random_')}`"
    for name in (op.name.removeprefix("np."), *op.aliases):
        if hasattr(np, name):
            return f"`numpy.{name}`"
    for family in ("linalg", "fft"):
        name = op.name.removeprefix(f"{family}_")
        if hasattr(getattr(np, family), name):
            return f"`numpy.{family}.{name}`"
    return "composed"


def _attributes(op: Op) -> str:
    names = [p for p in inspect.signature(op.fn).parameters if p in op.attr_names]
    return ", ".join([f"`{n}`" if n not in op.defaults else f"`{n}={_shown(op.defaults[n])}`" for n in names])


def _shown(value: Any) -> str:
    return value.name if isinstance(value, np.dtype) else repr(value)


def _inputs(op: Op) -> str:
    if op.variadic:
        return f"`*{op.inputs[0]}`"
    return ", ".join([f"`{n}`" + ("?" if n in op.optional else "") for n in op.inputs])


def _names(op: Op) -> str:
    also = f" ({', '.join(op.aliases)})" if op.aliases else ""
    marks = " ᴿ" if op.random else ""
    return f"`{op.name}`{also}{marks}"


_HEAD = """# Core operators

Written by `python -m tools.parity --write` from the registry; do not edit. An operator is a pure function of arrays
with static attributes. `?` marks an input that may be left out, `ᴿ` an operator that draws random numbers. Attributes
without a default must be given. Everything in `np`, `npx`, the layers and the older names is made of these.

"""
_COLUMNS = ("name", "inputs", "attributes", "shape of the result", "gradient", "stands for", "computes")


def _line(op: Op) -> str:
    summary = op.doc.split("\n\n", 1)[0].replace("\n", " ")
    summary = re.sub(r"^(Return|Give|Get|Compute) (.)", lambda m: m[2].upper(), summary)  # what the column is called
    cells = (_names(op), _inputs(op), _attributes(op), shape_rule(op), gradient(op), stands_for(op), summary)
    return "| " + " | ".join([cell.replace("|", "\\|") for cell in cells]) + " |\n"


def page(operators: Iterable[Op]) -> str:
    """Return the whole page.

    Parameters
    ----------
    operators : iterable of Op
        The registry's values; those that neither ``gluonx.ops`` nor ``gluonx.np`` defines are left out.
    """
    unique = sorted({op.name: op for op in operators}.values(), key=lambda op: (op.level, op.name))
    parts = [_HEAD]
    head = "| " + " | ".join(_COLUMNS) + " |\n" + "| --- " * len(_COLUMNS) + "|\n"
    own = [op for op in unique if op.__module__.startswith("gluonx.ops")]
    for level in sorted({op.level for op in own}):
        lines = [_line(op) for op in own if op.level == level]
        parts += [f"## Level {level}: {LEVELS.get(level, 'others')}\n\n", head, *lines, "\n"]
    made = [op for op in unique if op.__module__.startswith(("gluonx.np", "gluonx.npx"))]
    parts += ["## Made from `jax.numpy`\n\nAttributes, shapes and gradients are those of the NumPy function.\n\n"]
    parts += ["| name | inputs | stands for |\n| --- | --- | --- |\n"]
    parts += [f"| {_names(op)} | {_inputs(op)} | {stands_for(op)} |\n" for op in made]
    return "".join(parts)
