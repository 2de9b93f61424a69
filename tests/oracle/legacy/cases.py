"""Cases of the legacy operators: one line a case, for `make.py` (with MXNet) and for the test alike.

A case is (operator, inputs, attributes). An input is a letter and a shape: ``n`` numbers around 0, ``p`` positive ones,
``u`` between -0.9 and 0.9, ``b`` zeros and ones, ``k5`` whole numbers below 5 as floats, ``j5`` the same as int32,
``x`` boxes (corners), ``d`` a positive definite matrix, ``s`` a state (positive, without a gradient), ``c`` an image of
bytes, ``t`` truth values; ``y``, ``l`` and ``r`` are detections, labels and regions.
"""

import zlib

import numpy as np


def _make(spec, rng):
    kind, _, rest = spec.partition(":")
    shape = tuple(int(n) for n in rest.split(",") if n)
    if kind == "n":
        return rng.uniform(-2, 2, shape).astype("float32")
    if kind in "ps":
        return rng.uniform(0.3, 2, shape).astype("float32")
    if kind == "u":
        return rng.uniform(-0.9, 0.9, shape).astype("float32")
    if kind == "b":
        return rng.randint(0, 2, shape).astype("float32")
    if kind == "t":
        return rng.randint(0, 2, shape).astype(bool)
    if kind[0] in "kj":
        return rng.randint(0, int(kind[1:]), shape).astype("float32" if kind[0] == "k" else "int32")
    if kind == "c":
        return rng.randint(0, 256, shape).astype("uint8")
    if kind == "x":
        low = rng.uniform(0, 0.5, (*shape[:-1], 2))
        return np.concatenate([low, low + rng.uniform(0.1, 0.5, low.shape)], -1).astype("float32")
    if kind == "d":
        a = rng.uniform(-1, 1, shape)
        return (a @ np.swapaxes(a, -1, -2) + 2 * np.eye(shape[-1])).astype("float32")
    if kind == "y":  # detections: class, score, box
        rows = np.concatenate([rng.randint(0, 2, (*shape[:-1], 1)), rng.uniform(0, 1, (*shape[:-1], 1))], -1)
        return np.concatenate([rows, _make(f"x:{rest[: rest.rindex(',')]},4", rng)], -1).astype("float32")
    if kind == "l":  # labels: class, box
        rows = rng.randint(0, 2, (*shape[:-1], 1))
        return np.concatenate([rows, _make(f"x:{rest[: rest.rindex(',')]},4", rng)], -1).astype("float32")
    if kind == "r":  # regions: the first image, boxes in pixels
        return np.concatenate([np.zeros((shape[0], 1)), 8 * _make(f"x:{shape[0]},4", rng)], -1).astype("float32")
    raise ValueError(spec)


def inputs_of(index, case):
    name, specs, _ = case
    rng = np.random.RandomState(zlib.crc32(f"{name}{index}".encode()) & 0x7FFFFFFF)
    return [_make(spec, rng) for spec in specs]


def differentiable(case):
    """The numbers of the inputs that gradients are compared of."""
    return [i for i, spec in enumerate(case[1]) if spec[0] in "npud"]


def heads_of(index, outs):
    rng = np.random.RandomState(1000 + index)
    return [rng.uniform(0.5, 1.5, o.shape).astype("float32") for o in outs]


CASES = []


def words(text):
    return text.split()


def case(name, *inputs, **attrs):
    CASES.append((name, list(inputs), attrs))


for _name in words(
    """
    abs sign ceil floor trunc fix round rint exp expm1 sin cos tan sinh cosh tanh arctan arcsinh degrees
    radians sigmoid relu softsign erf square negative logical_not log_sigmoid mish hard_sigmoid BlockGrad
    _copy zeros_like ones_like make_loss shape_array size_array Flatten argmax_channel _contrib_isnan
    _contrib_isinf _contrib_isfinite _contrib_div_sqrt_dim
    """
):
    case(_name, "n:3,4")
for _name in words(
    """
    log log2 log10 log1p sqrt rsqrt cbrt rcbrt reciprocal gamma gammaln digamma
    """
):
    case(_name, "p:3,4")
for _name in words(
    """
    arcsin arccos arctanh erfinv
    """
):
    case(_name, "u:3,4")
case("arccosh", "p:3,4")
for _name in words(
    """
    elemwise_add elemwise_sub elemwise_mul elemwise_div _grad_add _maximum _minimum _hypot _mod
    """
):
    case(_name, "n:2,3", "p:2,3")
case("_power", "p:2,3", "n:2,3")
for _name in words(
    """
    add sub mul div mod maximum minimum hypot
    """
):
    case(f"broadcast_{_name}", "n:2,3", "p:1,3")
case("broadcast_power", "p:2,1", "n:2,3")
for _name in words(
    """
    equal not_equal greater greater_equal lesser lesser_equal logical_and logical_or logical_xor
    """
):
    case(f"broadcast_{_name}", "k3:3,4", "k3:3,1")
    case(f"_{_name}", "k3:3,4", "k3:3,4")
    case(f"_{_name}_scalar", "k3:3,4", scalar=1.0)
for _name in words(
    """
    plus minus rminus mul div rdiv mod rmod maximum minimum hypot power rpower
    """
):
    case(f"_{_name}_scalar", "p:2,3", scalar=1.5)
case("_power_scalar", "n:2,3", scalar=2.0)
case("_plus_scalar", "j9:2,3", scalar=2.0)
case("add_n", "n:2,3", "n:2,3", "n:2,3")
case("smooth_l1", "n:3,4", scalar=1.0)
case("smooth_l1", "n:3,4", scalar=3.0)
case("clip", "n:3,4", a_min=-0.5, a_max=0.7)
case("Cast", "n:2,3", dtype="int32")
case("Cast", "n:2,3", dtype="float16")
case("amp_cast", "n:2,3", dtype="float16")
case("_contrib_quadratic", "n:2,3", a=2.0, b=-1.0, c=0.5)
case("_contrib_gradientmultiplier", "n:2,3", scalar=0.25)
case("where", "b:2,3", "n:2,3", "n:2,3")
case("where", "b:2", "n:2,3", "n:2,3")
# shapes
for _shape in ((0, -1), (-1,), (6, 4), (-2,), (-3, 4), (-4, 1, 2, -2), (0, 0, -1), (2, -1, 2), (0, -4, -1, 3, 0)):
    case("Reshape", "n:2,3,4", shape=_shape)
for _shape in ((-1, 0), (0, -3), (-1, 4)):
    case("Reshape", "n:2,3,4", shape=_shape, reverse=True)
case("reshape_like", "n:2,6", "n:3,4")
case("reshape_like", "n:30,7", "n:15,2,4", lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)
case("expand_dims", "n:2,3", axis=1)
case("expand_dims", "n:2,3", axis=-1)
case("squeeze", "n:1,3,1")
case("squeeze", "n:1,3,1", axis=(0,))
case("squeeze", "n:1,1")
case("transpose", "n:2,3,4")
case("transpose", "n:2,3,4", axes=(1, 0, 2))
case("SwapAxis", "n:2,3,4", dim1=0, dim2=2)
case("depth_to_space", "n:1,8,2,3", block_size=2)
case("space_to_depth", "n:1,2,4,6", block_size=2)
case("broadcast_to", "n:1,3", shape=(2, 3))
case("broadcast_to", "n:1,3", shape=(2, 0))
case("broadcast_axis", "n:1,3,1", axis=(0, 2), size=(2, 4))
case("broadcast_like", "n:1,3", "n:4,3")
case("broadcast_like", "n:1,3", "n:5,4", lhs_axes=(0,), rhs_axes=(-1,))
case("Concat", "n:2,3", "n:2,4", dim=1)
case("Concat", "n:2,3", "n:1,3", dim=0)
case("stack", "n:2,3", "n:2,3", axis=1)
case("SliceChannel", "n:2,6", num_outputs=3, axis=1)
case("SliceChannel", "n:2,3", num_outputs=3, axis=1, squeeze_axis=True)
case("_split_v2", "n:6,2", indices=(0, 2, 3), axis=0)
case("_split_v2", "n:6,2", indices=(), axis=0, sections=3)
case("repeat", "n:2,3", repeats=2, axis=1)
case("repeat", "n:2,3", repeats=2)
case("tile", "n:2,3", reps=(2, 1))
case("reverse", "n:2,3", axis=(1,))
case("Pad", "n:1,2,3,4", mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 2, 1), constant_value=3.0)
case("Pad", "n:1,2,3,4", mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 2, 1))
case("Pad", "n:1,2,3,4", mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 2, 1))
case("slice", "n:4,5", begin=(1, None), end=(3, -1))
case("slice", "n:4,5", begin=(3, 0), end=(None, 4), step=(-1, 2))
case("slice_axis", "n:4,5", axis=1, begin=1, end=-1)
case("slice_axis", "n:4,5", axis=-1, begin=-3, end=None)
case("slice_like", "n:4,5", "n:2,3")
case("slice_like", "n:4,5", "n:2,3", axes=(1,))
case("_slice_assign", "n:4,5", "n:2,5", begin=(1, 0), end=(3, 5))
case("_slice_assign_scalar", "n:4,5", scalar=7.0, begin=(1, 0), end=(3, 2))
case("Crop", "n:1,2,6,5", "n:1,2,3,3", offset=(1, 1))
case("Crop", "n:1,2,6,5", h_w=(4, 3), center_crop=True)
case("_contrib_arange_like", "n:2,3", start=1.0, step=2.0)
case("_contrib_arange_like", "n:2,3", axis=1)
case("_contrib_index_array", "n:2,3")
case("_contrib_index_array", "n:2,3", axes=(1,))
case("diag", "n:3")
case("diag", "n:3,4", k=1)
case("_zeros", shape=(2, 3), dtype="float32")
case("_ones", shape=(2, 3), dtype="int32")
case("_full", shape=(2, 3), value=1.5, dtype="float32")
case("_eye", N=3, M=4, k=1, dtype="float32")
case("_arange", start=0.0, stop=5.0, step=2.0, repeat=2, dtype="float32")
# reductions, order, products
for _name in words(
    """
    sum mean prod max min nansum nanprod
    """
):
    case(_name, "p:2,3,4")
    case(_name, "p:2,3,4", axis=(1,))
    case(_name, "p:2,3,4", axis=(0, 2), keepdims=True)
    case(_name, "p:2,3,4", axis=(1,), exclude=True)
case("sum", "p:3", axis=(0,))
case("norm", "n:2,3,4")
case("norm", "n:2,3,4", axis=(1,), ord=1)
case("norm", "n:2,3,4", axis=(1, 2), keepdims=True)
case("moments", "n:2,3,4", axes=(0, 2))
case("argmax", "n:3,4")
case("argmax", "n:3,4", axis=1)
case("argmin", "n:3,4", axis=0, keepdims=True)
case("sort", "n:3,4", axis=1, is_ascend=False)
case("argsort", "n:3,4", axis=0)
case("argsort", "n:3,4", is_ascend=False, dtype="int32")
for _ret in ["indices", "value", "mask", "both"]:
    case("topk", "n:3,5", k=2, ret_typ=_ret)
case("topk", "n:3,5", k=3, axis=0, is_ascend=True)
case("_npi_cumsum", "n:3,4", axis=1)
case("dot", "n:2,3", "n:3,4")
case("dot", "n:3", "n:3")
case("dot", "n:2,3,4", "n:4,5")
case("dot", "n:3,2", "n:3,4", transpose_a=True)
case("dot", "n:2,3", "n:4,3", transpose_b=True)
case("batch_dot", "n:2,3,4", "n:2,4,5")
case("batch_dot", "n:2,4,3", "n:2,5,4", transpose_a=True, transpose_b=True)
case("khatri_rao", "n:2,3", "n:4,3")
# indexing and sequences
case("take", "n:4,3", "k4:2,2")
case("take", "n:4,3", "k3:2", axis=1, mode="wrap")
case("batch_take", "n:3,4", "j4:3")
case("pick", "n:3,4", "k4:3")
case("pick", "n:3,4", "k3:4", axis=0, keepdims=True)
case("one_hot", "k4:3", depth=4, on_value=2.0, off_value=-1.0)
case("gather_nd", "n:3,4", "k3:2,5")
case("scatter_nd", "n:3", "k2:1,3", shape=(4,))
case("_contrib_index_copy", "n:4,3", "j4:1", "n:1,3")
case("_contrib_boolean_mask", "n:4,3", "b:4")
case("_ravel_multi_index", "k3:2,5", shape=(4, 3))
case("_unravel_index", "k9:5", shape=(4, 3))
case("SequenceMask", "n:4,3,2", "k4:3", use_sequence_length=True, value=-1.0)
case("SequenceMask", "n:3,4,2", "k4:3", use_sequence_length=True, axis=1)
case("SequenceLast", "n:4,3,2")
case("SequenceReverse", "n:4,3,2", "k4:3", use_sequence_length=True)
case("SequenceReverse", "n:4,3,2")
# nets
case("FullyConnected", "n:2,3,4", "n:5,12", "n:5", num_hidden=5)
case("FullyConnected", "n:2,3,4", "n:5,4", num_hidden=5, no_bias=True, flatten=False)
case(
    "Convolution", "n:1,4,5,5", "n:6,2,3,3", "n:6", kernel=(3, 3), num_filter=6, num_group=2, pad=(1, 1), stride=(2, 2)
)
case("Convolution", "n:1,2,7", "n:3,2,3", kernel=(3,), num_filter=3, no_bias=True, dilate=(2,))
case("Deconvolution", "n:1,2,3,3", "n:2,3,3,3", kernel=(3, 3), num_filter=3, stride=(2, 2), pad=(1, 1), adj=(1, 1))
case("Pooling", "n:1,2,5,5", kernel=(2, 2), stride=(2, 2), pool_type="max", pooling_convention="full")
case("Pooling", "n:1,2,5,5", kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg")
case("Pooling", "n:1,2,5,5", kernel=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False)
case("Pooling", "n:1,2,5,5", global_pool=True, pool_type="sum", kernel=(1, 1))
case("Pooling", "p:1,2,4,4", kernel=(2, 2), pool_type="lp", p_value=2)
case("_contrib_AdaptiveAvgPooling2D", "n:1,2,5,7", output_size=(3, 2))
case("Embedding", "k5:2,3", "n:5,4", input_dim=5, output_dim=4)
case("BatchNorm", "n:2,3,4", "p:3", "n:3", "s:3", "s:3", fix_gamma=False)
case("BatchNorm", "n:2,3,4", "p:3", "n:3", "s:3", "s:3", fix_gamma=False, use_global_stats=True, axis=1, eps=0.01)
case("LayerNorm", "n:2,3,4", "p:4", "n:4")
case("LayerNorm", "n:2,3,4", "p:3", "n:3", axis=1, eps=0.1)
case("InstanceNorm", "n:2,3,4", "p:3", "n:3")
case("GroupNorm", "n:2,4,3", "p:4", "n:4", num_groups=2)
case("L2Normalization", "n:2,3,4")
case("L2Normalization", "n:2,3,4", mode="channel")
case("L2Normalization", "n:2,3,4", mode="spatial")
case("LRN", "n:1,5,2,2", nsize=3, alpha=0.1)
for _act in ["relu", "sigmoid", "softrelu", "softsign", "tanh"]:
    case("Activation", "n:3,4", act_type=_act)
for _act in ["elu", "gelu", "leaky", "selu"]:
    case("LeakyReLU", "n:3,4", act_type=_act, slope=0.3)
case("LeakyReLU", "n:2,3,4", "p:3", act_type="prelu")
case("Dropout", "n:3,4", p=0.5)
case("softmax", "n:3,4", axis=0, temperature=2.0)
case("softmax", "n:3,4", "j4:3", use_length=True)
case("log_softmax", "n:3,4")
case("softmin", "n:3,4", axis=1)
case("SoftmaxActivation", "n:3,4")
case("SoftmaxActivation", "n:2,3,4", mode="channel")
case("UpSampling", "n:1,2,3,3", scale=2, sample_type="nearest")
case("UpSampling", "n:1,2,2,2", "n:1,1,4,4", scale=4, sample_type="nearest")
case("UpSampling", "n:1,2,3,3", "p:2,1,4,4", scale=2, sample_type="bilinear", num_filter=2)
case("CTCLoss", "n:4,2,5", "k4:2,2")
case("softmax_cross_entropy", "n:3,4", "k4:3")
# losses as outputs
case("SoftmaxOutput", "n:3,4", "k4:3")
case("SoftmaxOutput", "n:3,4", "k4:3", grad_scale=0.5, normalization="batch")
case("SoftmaxOutput", "n:3,4", "k4:3", use_ignore=True, ignore_label=1.0, normalization="valid")
case("SoftmaxOutput", "n:2,3,4", "k3:2,4", multi_output=True)
case("SoftmaxOutput", "n:2,3,4", "k3:2,4", multi_output=True, normalization="valid", use_ignore=True, ignore_label=0.0)
case("SoftmaxOutput", "n:2,3,4", "k3:2,4", multi_output=True, normalization="batch")
case("SoftmaxOutput", "n:2,3,4", "k4:2,3", preserve_shape=True)
case("SoftmaxOutput", "n:3,4", "p:3,4")
case("SoftmaxOutput", "n:3,4", "k4:3", smooth_alpha=0.1)
for _name in words(
    """
    Linear Logistic MAE
    """
):
    case(f"{_name}RegressionOutput", "n:3,4", "n:3,4", grad_scale=2.0)
    case(f"{_name}RegressionOutput", "n:3,1", "n:3")
case("SVMOutput", "n:3,4", "k4:3", margin=0.5, regularization_coefficient=0.7)
case("SVMOutput", "n:3,4", "k4:3", use_linear=True)
case("MakeLoss", "p:3,4", grad_scale=2.0)
case("MakeLoss", "p:3,4", grad_scale=2.0, normalization="batch")
case("MakeLoss", "n:3,4", valid_thresh=0.2, normalization="valid")
# vision
case("_contrib_box_iou", "x:3,4", "x:2,4", format="corner")
case("_contrib_MultiBoxPrior", "n:1,2,3,3", sizes=(0.5, 0.25), ratios=(1.0, 2.0))
case("_contrib_BilinearResize2D", "n:1,2,3,4", height=5, width=6)
case("_contrib_BilinearResize2D", "n:1,2,3,4", height=5, width=6, align_corners=False)
case("_contrib_BilinearResize2D", "n:1,2,4,4", scale_height=2.0, scale_width=1.5)
case("_contrib_BilinearResize2D", "n:1,2,3,4", "n:1,1,6,2", mode="like")
case("_contrib_BilinearResize2D", "n:1,2,3,4", mode="odd_scale", scale_height=2.0, scale_width=2.0)
case("_contrib_BilinearResize2D", "n:1,2,5,4", mode="to_even_up")
case("GridGenerator", "n:2,6", transform_type="affine", target_shape=(3, 4))
case("GridGenerator", "n:1,2,3,4", transform_type="warp")
case("BilinearSampler", "n:1,2,4,5", "u:1,2,3,3")
case("BilinearSampler", "n:1,2,4,5", "n:1,2,3,3")
case("SpatialTransformer", "n:2,2,4,4", "u:2,6", target_shape=(3, 3), transform_type="affine", sampler_type="bilinear")
case("Correlation", "n:1,2,5,6", "n:1,2,5,6", max_displacement=2, pad_size=2)
case("Correlation", "n:1,2,7,6", "n:1,2,7,6", kernel_size=3, max_displacement=2, stride1=2, stride2=2, pad_size=3)
case("Correlation", "n:1,2,5,6", "n:1,2,5,6", max_displacement=1, pad_size=1, is_multiply=False)
case("im2col", "n:1,2,4,4", kernel=(3, 3), pad=(1, 1), stride=(2, 2))
case("col2im", "n:1,18,4", output_size=(4, 4), kernel=(3, 3), pad=(1, 1), stride=(2, 2))
case("_contrib_interleaved_matmul_selfatt_qk", "n:3,2,12", heads=2)
case("_contrib_interleaved_matmul_selfatt_valatt", "n:3,2,12", "p:4,3,3", heads=2)
case("_contrib_interleaved_matmul_encdec_qk", "n:3,2,4", "n:5,2,8", heads=2)
case("_contrib_interleaved_matmul_encdec_valatt", "n:5,2,8", "p:4,3,5", heads=2)
case("_image_to_tensor", "c:3,4,3")
case("_image_normalize", "p:3,2,2", mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7))
case("_image_flip_left_right", "c:3,4,3")
case("_image_flip_top_bottom", "c:3,4,3")
case("_image_crop", "c:5,6,3", x=1, y=2, width=3, height=2)
# linear algebra
case("_linalg_gemm", "n:2,3", "n:3,4", "n:2,4", alpha=2.0, beta=0.5)
case("_linalg_gemm2", "n:2,3,2", "n:2,3,4", transpose_a=True, alpha=0.5)
case("_linalg_potrf", "d:3,3")
case("_linalg_potri", "d:3,3")
case("_linalg_trmm", "d:3,3", "n:3,4")
case("_linalg_trmm", "d:3,3", "n:4,3", rightside=True, transpose=True, alpha=2.0)
case("_linalg_trsm", "d:3,3", "n:3,4")
case("_linalg_trsm", "d:3,3", "n:4,3", rightside=True, lower=False)
case("_linalg_sumlogdiag", "d:2,3,3")
case("_linalg_extractdiag", "n:3,3", offset=1)
case("_linalg_makediag", "n:3", offset=-1)
case("_linalg_extracttrian", "n:3,3")
case("_linalg_extracttrian", "n:3,3", offset=1, lower=False)
case("_linalg_maketrian", "n:6")
case("_linalg_maketrian", "n:2,3", offset=-1)
case("_linalg_syrk", "n:2,3", transpose=True, alpha=2.0)
case("_linalg_gelqf", "n:2,3")
case("_linalg_inverse", "d:3,3")
case("_linalg_det", "d:3,3")
case("_linalg_slogdet", "d:3,3")
case("_contrib_allclose", "n:2,3", "n:2,3")
case("all_finite", "n:2,3")
# what came later: new cases go to the end, where they leave the numbers of the others as they are
case("_contrib_box_nms", "y:1,6,6", overlap_thresh=0.3, coord_start=2, score_index=1, id_index=0, topk=4)
case("_contrib_box_nms", "y:1,6,6", overlap_thresh=0.3, valid_thresh=0.2, force_suppress=True, out_format="center")
case("_contrib_bipartite_matching", "p:1,3,4", threshold=0.5)
case("_contrib_box_decode", "n:1,3,4", "x:1,3,4", std0=0.1, std1=0.1, std2=0.2, std3=0.2, format="corner")
case("_contrib_box_encode", "b:1,3", "k2:1,3", "x:1,3,4", "x:1,2,4", "k1:4", "b:4")
case("_contrib_MultiBoxTarget", "x:1,4,4", "l:1,2,5", "p:1,3,4")
case("_contrib_MultiBoxTarget", "x:1,4,4", "l:1,2,5", "p:1,3,4", negative_mining_ratio=2.0, overlap_threshold=0.3)
case("_contrib_MultiBoxDetection", "p:1,3,4", "u:1,16", "x:1,4,4", nms_threshold=0.3)
case("ROIPooling", "n:1,2,8,8", "r:3,5", pooled_size=(2, 2), spatial_scale=1.0)
case("_contrib_ROIAlign", "n:1,2,8,8", "r:3,5", pooled_size=(2, 2), spatial_scale=1.0, sample_ratio=2)
case("_contrib_ROIAlign", "n:1,2,8,8", "r:3,5", pooled_size=(2, 3), spatial_scale=0.5, aligned=True)
case("RNN", "n:3,2,4", "u:55", "n:1,2,5", state_size=5, num_layers=1, mode="rnn_tanh", state_outputs=True)
case("RNN", "n:3,2,4", "u:220", "n:1,2,5", "n:1,2,5", state_size=5, num_layers=1, mode="lstm", state_outputs=True)
case("RNN", "n:3,2,4", "u:330", "n:2,2,5", state_size=5, num_layers=1, mode="gru", bidirectional=True)
case("_contrib_round_ste", "n:2,3")
case("_contrib_sign_ste", "n:2,3")
case("masked_softmax", "n:2,4", "t:2,4")
case("masked_log_softmax", "n:2,4", "t:2,4")
case("amp_multicast", "n:2,3", "n:3", num_outputs=2)
case("cast_storage", "n:2,3", stype="default")
case("multi_all_finite", "n:2,3", "n:3", num_arrays=2)
case("_identity_with_attr_like_rhs", "n:2,3", "n:2,3")
case("_copyto", "n:2,3")
case("_rnn_param_concat", "n:3", "n:4", dim=0)
case("_linalg_syevd", "d:3,3")
case("_histogram", "u:8", bin_cnt=4, range=(-1.0, 1.0))
case("_contrib_SyncBatchNorm", "n:2,3,4", "p:3", "n:3", "s:3", "s:3", fix_gamma=False, key="bn")
case("_contrib_BatchNormWithReLU", "n:2,3,4", "p:3", "n:3", "s:3", "s:3", fix_gamma=False)
case("_image_resize", "c:4,4,3", size=(2, 2))
for log in (False, True):
    case("_random_pdf_uniform", "n:2,3", "k1:2", "p:2", is_log=log)
    case("_random_pdf_normal", "n:2,3", "n:2", "p:2", is_log=log)
    case("_random_pdf_gamma", "p:2,3", "p:2", "p:2", is_log=log)
    case("_random_pdf_exponential", "p:2,3", "p:2", is_log=log)
    case("_random_pdf_poisson", "k5:2,3", "p:2", is_log=log)
    case("_random_pdf_generalized_negative_binomial", "k5:2,3", "p:2", "p:2", is_log=log)
    case("_random_pdf_dirichlet", "p:2,2,3", "p:2,3", is_log=log)
case("_contrib_intgemm_maxabsolute", "n:8,8")
case("_contrib_intgemm_prepare_data", "n:8,8", "p:1")
case("SoftmaxOutput", "n:2,3,4", "k3:2,4", multi_output=True, smooth_alpha=0.3)
case("SoftmaxOutput", "n:2,3,4", "k3:2,4", multi_output=True, smooth_alpha=0.3, use_ignore=True, ignore_label=1.0)
case("SoftmaxOutput", "n:2,3,4", "k4:2,3", preserve_shape=True, smooth_alpha=0.3)
