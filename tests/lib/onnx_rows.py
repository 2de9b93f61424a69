"""Core operators that are written in ONNX, as rows: a name, attributes, and inputs.

The tests of `test_onnx.py` run each row here and in onnxruntime. They also sweep the contract tables, so here stand
only those operators that no other table reaches, and forms that need a look of their own.
"""

from __future__ import annotations

import numpy as np

from gluonx.ops.elementwise import ACTIVATIONS

__all__ = ["BRACKETS", "ROWS", "Row"]

_RNG = np.random.RandomState(5)


def real(*shape):
    return _RNG.uniform(-1, 1, shape).astype("float32")


def positive(*shape):
    return _RNG.uniform(0.2, 1, shape).astype("float32")


def whole(bound, *shape, dtype="int32"):
    return _RNG.randint(0, bound, shape).astype(dtype)


def bits(*shape):
    return _RNG.uniform(size=shape) > 0.4


class Row:
    """An operator with attributes, on arrays (None: left out)."""

    def __init__(self, op, *arrays, tol=1e-5, **attrs):
        self.op, self.arrays, self.attrs, self.tol = op, arrays, attrs, tol
        shown = ", ".join(
            [*[str(None if a is None else a.shape) for a in arrays], *[f"{k}={v}" for k, v in attrs.items()]]
        )
        self.key = f"{op}({shown})"


def _each(names, *arrays, **attrs):
    return [Row(name, *arrays, **attrs) for name in names.split()]


_X, _BATCH = real(2, 3, 4), real(2, 3, 8, 7)
_BOXES = np.array([[0.1, 0.1, 0.5, 0.6], [0.2, 0.0, 0.9, 0.4], [0.3, 0.3, 0.3, 0.3]], "float32")

_ELEMENTWISE = [
    *_each(
        "copy stop_gradient numpy.copy positive make_loss exp2 rcbrt rsqrt mish selu log_sigmoid softrelu",
        positive(2, 3),
    ),
    *_each(
        "hard_sigmoid elu isposinf isneginf round_ round_ste", np.array([[1.5, -np.inf], [np.inf, -0.2]], "float32")
    ),
    Row("relu6", np.array([-1, 0, 2, 6, 8], "float32")),
    Row("logit", np.array([0, 0.25, 0.5, 1], "float32")),
    Row("xlogy", np.array([[0, 0.5, 2]], "float32"), np.array([[0], [0.5]], "float32")),
    Row("thresholded_relu", np.array([-1, 0, 0.5, 0.75, 3], "float32"), alpha=0.5),
    Row("shrink", np.array([-4, -0.5, 0, 0.25, 3], "float32"), lambd=0.5, bias=0.25),
    Row("celu", np.array([-4, -1, 0, 0.5, 3], "float32"), alpha=1.5),
    Row("quick_gelu", real(3, 4)),
    Row("hard_tanh", np.array([-4, -1, 0, 0.5, 1, 3], "float32")),
    *[Row("activation", real(3, 4), act_type=name) for name in ACTIVATIONS],
    Row("hard_swish", np.array([-4, -3, -1, 0, 1, 3, 4], "float32")),
    Row("add_n", real(2, 3), real(2, 3), real(2, 3)),
    Row("add_n", real(2, 3)),
    Row("bitwise_or", whole(9, 4), whole(9, 4)),
    Row("bitwise_not", whole(9, 4)),
    Row("cast", real(2, 3) * 300, dtype="int8"),
    Row("cast", real(2, 3), dtype="bool"),
    Row("swiglu", real(2, 3), real(2, 3)),
    Row("clip", whole(9, 4), np.array(2, "int32"), np.array(5, "int32")),
    *_each("add subtract multiply", whole(200, 4, dtype="uint8"), whole(200, 4, dtype="uint8")),
    *_each("add multiply", bits(4), bits(4)),
    Row("arctan2", real(3, 4), real(3, 4)),
    Row("arctan2", np.array([0.0, 1, -1, 0], "float32"), np.array([-1.0, 0, 0, 0], "float32")),
    *_each("softmin", real(2, 3)),
    *[Row("leaky_relu", real(2, 4), act_type=kind) for kind in ("rrelu", "gelu_tanh", "selu")],
    Row("leaky_relu", real(2, 4, 3), real(4), act_type="prelu"),
    Row("softmax_output", real(2, 3), whole(3, 2)),
    Row("softmax_output", real(2, 3, 4), whole(3, 2, 4), multi_output=True),
    Row("softmax_output", real(2, 3, 4), whole(3, 2, 3), preserve_shape=True),
    Row("softmax_output", real(2, 3, 4), whole(3, 2)),
    *_each("linear_regression_output logistic_regression_output mae_regression_output", real(2, 3), real(2, 3)),
    Row("svm_output", real(2, 3), whole(3, 2)),
    Row("select_first", bits(2, 3), bits(3), real(2, 3), real(2, 1), real(3)),
]

_REDUCED = [
    *_each("sum mean prod max min product", _X, axis=(0, 2)),
    *_each("sum std var mean", _X, axis=1, keepdims=True),
    Row("var", _X, axis=1, ddof=1),
    Row("std", _X, axis=(1, 2), ddof=1),
    *_each("all any alltrue sometrue", bits(3, 4), axis=1),
    Row("ptp", _X, axis=1),
    *_each("logsumexp", _X, axis=(1, 2)),
    Row("norm", _X, ord=1, axis=1),
    Row("linalg_vector_norm", _X, ord=1, axis=1),
    Row("linalg_norm", real(3, 4)),
    Row("linalg_norm", _X, ord=1, axis=2),
    Row("average", _X, positive(3), axis=1),
    Row("sort", _X, axis=1),
    Row("argsort", _X, axis=-1, descending=True),
    Row("msort", real(4, 3)),
    Row("argmax", _X, keepdims=True),
    *[Row("topk", _X, k=2, ret_typ=kind, axis=1) for kind in ("mask", "both", "value")],
    Row("topk", _X, k=2, ret_typ="mask", is_ascend=True, axis=None),
    Row("sum", bits(3, 4), axis=1),
    Row("cumsum", _X),
]

_PRODUCTS = [
    *_each("matmul linalg_matmul dot", real(2, 3), real(3, 4)),
    Row("dot", real(2, 3), real(4, 3, 2)),
    Row("linalg_det", real(2, 3, 3)),
    Row("inner", real(2, 3), real(4, 3)),
    Row("matvec", real(2, 3, 4), real(4)),
    Row("vecmat", real(3), real(2, 3, 4)),
    *_each("outer linalg_outer", real(2), real(3)),
    Row("vdot", real(2, 3), real(2, 3)),
    *_each("vecdot linalg_vecdot", real(2, 3), real(2, 3)),
    Row("tensordot", real(2, 3, 4), real(4, 3, 5), axes=((1, 2), (1, 0))),
    Row("linalg_tensordot", real(2, 3), real(3, 4), axes=1),
    Row("einsum", real(2, 3), real(3, 4), subscripts="ij, jk -> ki"),
    Row("linalg_multi_dot", real(2, 3), real(3, 4), real(4, 2)),
    Row("linalg_cross", real(2, 3), real(2, 3)),
    Row("batch_dot", real(2, 4, 3), real(2, 5, 4), transpose_a=True, transpose_b=True),
    Row("interleaved_matmul_selfatt_qk", real(5, 2, 24), heads=2),
    Row("interleaved_matmul_selfatt_valatt", real(5, 2, 24), real(4, 5, 5), heads=2),
    Row("interleaved_matmul_encdec_qk", real(4, 2, 8), real(5, 2, 16), heads=2),
    Row("interleaved_matmul_encdec_valatt", real(5, 2, 16), real(4, 4, 5), heads=2),
    Row("split_heads", real(2, 3, 24), heads=2, parts=3),
]

_Q, _K, _V = real(2, 4, 4, 3), real(2, 5, 4, 3), real(2, 5, 4, 3)
_ATTENTION = [
    Row("dot_product_attention", _Q, _K, _V),
    Row("dot_product_attention", _Q, _K, _V, scale=0.3, causal=True),
    Row("dot_product_attention", _Q, _K, _V, bits(2, 4, 5)),
    Row("dot_product_attention", _Q, _K, _V, bits(2, 4, 4, 5), whole(6, 2)),
    Row("dot_product_attention", _Q, _K, _V, None, np.array([0, 3], "int32"), causal=True),
    Row("dot_product_attention", _Q, real(2, 5, 2, 3), real(2, 5, 2, 3)),
    Row("dot_product_attention", _Q, real(2, 5, 2, 3), real(2, 5, 2, 3), bits(2, 4, 4, 5), causal=True),
    Row("dot_product_attention", _Q, real(2, 5, 1, 3), real(2, 5, 1, 3), bits(4, 5), np.array([2, 4], "int32")),
]

_SHAPES = [
    *_each("concatenate append", real(2, 3), real(2, 4), axis=1),
    Row("stack", real(2, 3), real(2, 3), axis=-1),
    *_each("vstack dstack column_stack row_stack", real(3), real(3)),
    *_each("atleast_1d atleast_3d", np.array(2.0, "float32"), real(2)),
    Row("dsplit", real(2, 3, 4), indices_or_sections=2),
    Row("split", real(2, 7), indices_or_sections=(2, 5), axis=1),
    Row("unstack", real(2, 3), axis=1),
    Row("slice_channel", real(2, 6), num_outputs=3),
    Row("slice_channel", real(2, 3, 4), num_outputs=3, squeeze_axis=True),
    *_each("broadcast_arrays meshgrid", real(3), real(3)),
    Row("meshgrid", real(2), real(3), indexing="ij"),
    Row("broadcast_like", real(2, 1), real(2, 3)),
    *_each("fliplr flipud ravel", real(2, 3)),
    *_each("matrix_transpose linalg_matrix_transpose", real(2, 3, 4)),
    Row("permute_dims", real(2, 3, 4), axes=(2, 0, 1)),
    Row("reshape", real(2, 3, 4), newshape=(4, -1), order="F"),
    Row("reshape", real(2, 3, 4), newshape=(-2, -5)),
    Row("reshape_like", real(2, 6), real(4, 3)),
    *_each("linalg_diagonal linalg_trace", real(2, 3, 3)),
    Row("diagonal", real(3, 4, 2), offset=1),
    Row("roll", real(3, 4), shift=(1, -2), axis=(0, 1)),
    Row("roll", real(3, 4), shift=5),
    Row("tile", real(2, 3), reps=(2, 1, 2)),
    Row("repeat", real(2, 3), repeats=2),
    Row("repeat", real(2, 3), repeats=(1, 0, 2), axis=1),
    *_each("depth_to_space space_to_depth", real(2, 4, 4, 6), block_size=2),
    Row("pad", real(2, 3), np.array(0.5, "float32"), pad_width=((0, 0), (1, 2))),
    Row("numpy.pad", real(2, 3), pad_width=((0, 0), (1, 2)), mode="edge"),
    Row("zeros", shape=(2, 3), dtype="float32"),
    Row("ones", shape=(200, 3), dtype="int32"),
    Row("full", np.array(2.5, "float32"), shape=(2, 3), dtype="float32"),
    Row("arange", np.array(1.0, "float32"), np.array(0.5, "float32"), num=4, dtype="float32"),
    Row("arange_like", real(2, 3), start=2.0, step=0.5),
    Row("arange_like", real(2, 3), axis=1, repeat=2),
    Row("shape_array", real(2, 3)),
]

_INDEXED = [
    Row("scatter_nd", real(3), whole(2, 2, 3), shape=(2, 2)),
    Row("index_add", real(4, 3), np.array([[0, 2, 0]], "int32"), real(3, 3)),
    Row("index_copy", real(4, 3), np.array([1, 3], "int32"), real(2, 3)),
    Row("gather_nd", real(3, 4), np.array([[0, 2, -1], [1, 2, 3]], "int32")),
    Row("take_along_axis", real(3, 4), whole(4, 3, 2), axis=1),
    Row("take_along_axis", real(3, 4), whole(4, 3, 2), axis=1),
    *[Row("take", real(4, 3), np.array([-5, 0, 9], "int32"), mode=mode) for mode in ("clip", "wrap")],
    Row("take", real(4, 3), np.array([-1, 0, 2], "int32"), mode="raise"),
    Row("pick", real(3, 4), np.array([0.0, 5.0, 2.0], "float32"), keepdims=True),
    Row("pick", real(3, 4), np.array([0, 5, -2], "int32"), mode="wrap"),
    Row("one_hot", np.array([0, -1, 2, 5], "int32"), depth=3, on_value=2.0, off_value=-1.0),
    Row("slice_axis", real(3, 4), axis=1, begin=-3, end=None),
    Row("slice_like", real(3, 4), real(2, 9), axes=(0,)),
    Row("slice", real(4, 5), begin=(None, 4), end=(None, 0), step=(2, -2)),
]

_POOLED = [
    Row("pooling", _BATCH, kernel=(3, 2), stride=(2, 2), pad=(1, 1), pool_type=kind, pooling_convention=rule)
    for kind in ("max", "avg", "sum", "lp")
    for rule in ("valid", "full", "same")
]
_POOLED += [
    Row(
        "pooling",
        _BATCH,
        kernel=(3, 3),
        stride=(2, 2),
        pool_type="avg",
        pooling_convention="full",
        count_include_pad=False,
    ),
    Row("pooling", _BATCH, kernel=(2, 2), stride=(3, 3), pad=(1, 1), pool_type="max", pooling_convention="full"),
    *[Row("pooling", _BATCH, pool_type=kind, global_pool=True) for kind in ("sum", "lp")],
    *[Row("pooling", real(1, 2, 9), kernel=(3,), pool_type="lp", p_value=power) for power in (1, 4)],
    *[Row("adaptive_avg_pooling", _BATCH, output_size=size) for size in (1, (4, 7), (3, 2))],
    Row("adaptive_avg_pooling", real(2, 6, 8, 3), output_size=3, layout="NHWC"),
    *[Row("adaptive_max_pooling", _BATCH, output_size=size) for size in (1, (4, 7), (3, 2))],
    Row("adaptive_max_pooling", real(2, 6, 8, 3), output_size=3, layout="NHWC"),
    Row("pooling", real(1, 2, 9), kernel=(3,), stride=(2,), pool_type="avg", pooling_convention="full"),
]

_LAYERS = [
    Row("lrn", real(2, 6, 3, 3), nsize=3),
    Row("rms_norm", real(2, 3, 4), real(3), axis=1),
    Row("layer_norm", real(2, 3, 4), real(3), real(3), axis=1, output_mean_var=True),
    *[Row("l2_normalization", real(2, 3, 4), mode=mode) for mode in ("instance", "channel", "spatial")],
    Row("instance_norm", real(2, 3), real(3), real(3)),
    Row("batch_norm", real(2, 3), real(3), real(3), real(3), positive(3), training=False, output_mean_var=True),
    Row("deconvolution", real(1, 2, 5, 6), real(2, 3, 3, 3), stride=(2, 2), target_shape=(10, 11), no_bias=True),
    Row("deconvolution", real(1, 2, 5), real(2, 3, 3), stride=(3,), adj=(2,), no_bias=True),
    Row("deconvolution", real(1, 2, 5), real(2, 3, 3), stride=(3,), pad=(1,), adj=(2,), dilate=(2,), no_bias=True),
    Row("fully_connected", real(2, 3, 4), real(5, 12), real(5), flatten=True),
    Row("embedding", np.array([[-3, 1], [9, 2]], "int32"), real(4, 3)),
]

_VISION = [
    Row("bilinear_resize", _BATCH, height=5, width=9),
    Row("bilinear_resize", _BATCH, height=16, width=4, align_corners=False),
    Row("bilinear_sampler", _BATCH, real(2, 2, 4, 5) * 1.3),
    Row("grid_generator", real(2, 6), transform_type="affine", target_shape=(4, 5)),
    Row("grid_generator", real(2, 2, 4, 5), transform_type="warp"),
    Row("roi_align", _BATCH, np.array([[0, 0, 0, 5, 6], [1, 1, 2, 4, 3]], "float32"), pooled_size=(2, 3),
        spatial_scale=1.0, sample_ratio=2),
    Row("roi_align", _BATCH, np.array([[1, 0, 0, 9, 12]], "float32"), pooled_size=(2, 2), spatial_scale=0.5,
        sample_ratio=2, aligned=True),
    *_each("image.flip_left_right image.flip_top_bottom image.to_tensor", whole(255, 4, 5, 3, dtype="uint8")),
    Row("image.normalize", real(3, 4, 5), mean=(0.1, 0.2, 0.3), std=(1.0, 2.0, 0.5)),
    Row("multibox_prior", _BATCH, sizes=(0.5, 0.25), ratios=(1.0, 2.0)),
    Row("box_decode", real(2, 3, 4), _BOXES[None], std0=0.1, std1=0.1, std2=0.2, std3=0.2),
    Row("box_decode", real(2, 3, 4), _BOXES[None], format="corner", clip=0.5),
    *[Row("box_iou", _BOXES, _BOXES[:2], format=form) for form in ("corner", "center")],
]  # fmt: skip

_LENGTHS = np.array([3, 1], "int32")
_SEQUENCES = [
    *[Row(f"sequence_{word}", real(4, 2, 3), _LENGTHS, use_sequence_length=True)
      for word in ("mask", "last", "reverse")],
    *[Row(f"sequence_{word}", real(2, 4, 3), _LENGTHS, use_sequence_length=True, axis=1)
      for word in ("mask", "last", "reverse")],
    *_each("sequence_mask sequence_last sequence_reverse", real(4, 2, 3)),
    *[Row(name, real(2, 4), whole(5, 2), use_length=True) for name in ("softmax", "log_softmax")],
    *_each("masked_softmax masked_log_softmax", real(2, 4), bits(2, 4)),
]  # fmt: skip

ROWS = [
    *(*_ELEMENTWISE, *_REDUCED, *_PRODUCTS, *_ATTENTION, *_SHAPES, *_INDEXED, *_POOLED, *_LAYERS, *_VISION, *_SEQUENCES)
]

BRACKETS = {
    "x[1]": 1, "x[-1, ..., 0]": 1, "x[:, None, 1:3]": 1, "x[::-1, 1::2]": 1, "x[i]": 2, "x[:, i]": 2, "x[i, i]": 2,
    "x[..., i, :]": 2, "x[1:, :, i]": 2, "x[0, i]": 2, "x[None, 1]": 1,
    "put(x, (0, slice(1, 3)), 2.0)": 1, "put(x, (slice(None), 1), x[0])": 1, "put(x, (slice(None), 1, 2), 7.0)": 1,
    "put(x, slice(1, None), x[:2])": 1, "put(x, (slice(None), slice(None, None, 2)), -1.0)": 1, "put(x, i, 0.5)": 2,
    "put(x, (i, i), 0.5)": 2, "put(x, x > 0, 0.0)": 1, "x ** 3 + 2 ** x - x ** -1": 1, "x.astype('int32')": 1,
}  # fmt: skip
"""Expressions of brackets and numbers, on x of shape (3, 3, 4) and i of indices; the number is that of the inputs."""
