"""Legacy operators of nets: layers, softmax and its kin, losses as outputs, dropout."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import autograd, np, npx
from gluonx.compat.operators.reduce import at_least_1d
from gluonx.compat.operators.row import TABLE, core, given, row, same
from gluonx.compat.operators.shapes import of_convolution, of_dense
from gluonx.errors import ShapeError

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


_HAS_BIAS = {"bias": lambda a: not a.no_bias}
_CONV = (
    "kernel: shape, stride: shape=(), dilate: shape=(), pad: shape=(), {extra}num_filter: int, num_group: int=1, "
    "workspace: int={workspace}, no_bias: bool={no_bias}, cudnn_tune: str?=None, cudnn_off: bool=False, "
    "layout: str?=None"
)
_FORWARD = _CONV.format(extra="", workspace=1024, no_bias=False)
_BACKWARD = _CONV.format(extra="adj: shape=(), target_shape: shape=(), ", workspace=512, no_bias=True)
_DENSE = "num_hidden: int, no_bias: bool=False, flatten: bool=True"


def _layer(signature: str, via: str, **traits: Any) -> None:
    def rule(a: Attrs, data: ndarray, weight: ndarray, bias: ndarray | None = None) -> ndarray:
        return core(via, data, weight, None if a.no_bias else bias, **given(a))

    row(signature, rule, via=via, needs=_HAS_BIAS, **traits)


_layer(f"Convolution(data, weight, bias?; {_FORWARD})", "convolution", colour=1, shapes_told=of_convolution)
_layer(f"Convolution_v1(data, weight, bias?; {_FORWARD})", "convolution")
_layer(f"Deconvolution(data, weight, bias?; {_BACKWARD})", "deconvolution", colour=1)
_layer(f"FullyConnected(data, weight, bias?; {_DENSE})", "fully_connected", colour=1, shapes_told=of_dense)

for _name in ("Embedding", "_contrib_SparseEmbedding"):
    row(
        f"{_name}(data, weight; input_dim: int, output_dim: int, dtype: dtype=float32, sparse_grad: bool=False)",
        lambda a, data, weight: core("embedding", data, weight, input_dim=a.input_dim, output_dim=a.output_dim),
        via="embedding",
    )

_POOL = (
    "kernel: shape=(), pool_type: {avg lp max sum}=max, global_pool: bool=False, cudnn_off: bool=False, "
    "pooling_convention: {full same valid}=valid, stride: shape=(), pad: shape=(), p_value: int?=None, "
    "count_include_pad: bool?=None, layout: str?=None"
)


def _pooling(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    attrs, axes = given(a), data.ndim - 2
    # MXNet reads as many numbers as there are spatial axes: ports of Caffe write pad=(1, 1, 1, 1).
    attrs.update({name: attrs[name][:axes] for name in ("stride", "pad") if attrs.get(name)})
    return core("pooling", data, **attrs)


row(f"Pooling(data; {_POOL})", _pooling, via="pooling", counted=2, colour=4)
row(f"Pooling_v1(data; {_POOL})", _pooling, via="pooling")
# MXNet 2 registered it with the attributes of Pooling, which mean nothing to it.
row(
    f"_contrib_AdaptiveAvgPooling2D(data; output_size: shape?=(), {_POOL})",
    lambda a, data: core("adaptive_avg_pooling", data, output_size=a.output_size or 1, layout=a.layout),
    via="adaptive_avg_pooling",
)

# -- normalization ----------------------------------------------------------------------------------------------------

_BN = (
    "eps: float=0.001, momentum: float=0.9, fix_gamma: bool=True, use_global_stats: bool=False, "
    "output_mean_var: bool=False"
)
_STATES = "data, gamma, beta, moving_mean!, moving_var!"
_CALIB = "axis: int=1, cudnn_off: bool=False, min_calib_range: float?=None, max_calib_range: float?=None"


def _batch_norm(a: Any, *inputs: Any) -> ndarray | Sequence[ndarray]:
    attrs = {name: a[name] for name in ("eps", "momentum", "fix_gamma", "use_global_stats", "output_mean_var")}
    ndev = a.get("ndev", 1)
    if ndev > 1:
        out = npx.sync_batch_norm(*inputs, **attrs, ndev=ndev)
    else:
        out = npx.batch_norm(*inputs, **attrs, axis=a.get("axis", 1))
    return tuple(out) if isinstance(out, (list, tuple)) else out


def _three(a: Attrs) -> int:
    return 3 if a.output_mean_var else 1


row(
    f"BatchNorm({_STATES}; {_BN}, {_CALIB})",
    _batch_norm,
    via="batch_norm",
    nout=_three,
    outputs="output mean var",
    counted=3,
    colour=3,
)
row(f"BatchNorm_v1({_STATES}; {_BN})", _batch_norm, via="batch_norm", nout=_three, counted=3)
row(f"_contrib_SyncBatchNorm({_STATES}; {_BN}, ndev: int=1, key: str='')", _batch_norm, via="batch_norm", nout=_three)


@row(f"_contrib_BatchNormWithReLU({_STATES}; {_BN}, {_CALIB})", via="batch_norm relu", nout=_three)
def _batch_norm_relu(a: Attrs, *inputs: ndarray) -> ndarray | Sequence[ndarray]:
    out = _batch_norm(a, *inputs)
    return (core("relu", out[0]), *out[1:]) if isinstance(out, tuple) else core("relu", out)


same(
    "LayerNorm(data, gamma, beta; axis: int=-1, eps: float=1e-05, output_mean_var: bool=False)",
    "layer_norm",
    nout=_three,
    outputs="output mean std",
    counted=3,
)
same("InstanceNorm(data, gamma, beta; eps: float=0.001)", "instance_norm", counted=3)
same(
    "GroupNorm(data, gamma, beta; num_groups: int=1, eps: float=1e-05, output_mean_var: bool=False)",
    "group_norm",
    nout=_three,
    counted=3,
)
same(
    "L2Normalization(data; eps: float=1e-10, mode: {channel instance spatial}=instance)",
    "l2_normalization",
    counted=2,
)
same("LRN(data; alpha: float=0.0001, beta: float=0.75, knorm: float=2.0, nsize: int)", "lrn", counted=2)

# -- activations ------------------------------------------------------------------------------------------------------

same("Activation(data; act_type: {relu sigmoid softrelu softsign tanh log_sigmoid mish})", "activation", colour=2)


@row(
    "LeakyReLU(data, gamma?; act_type: {elu gelu gelu_erf gelu_tanh leaky prelu rrelu selu}=leaky, slope: float=0.25, "
    "lower_bound: float=0.125, upper_bound: float=0.334)",
    via="leaky_relu",
    needs={"gamma": lambda a: a.act_type == "prelu"},
    colour=2,
)
def _leaky_relu(a: Attrs, data: ndarray, gamma: ndarray | None = None) -> ndarray | Sequence[ndarray]:
    return core("leaky_relu", data, gamma, **a)


row(
    "Dropout(data; p: float=0.5, mode: {always training}=training, axes: shape=(), cudnn_off: bool?=False)",
    lambda a, data: core("dropout", data, p=a.p, mode=a.mode, axes=a.axes),
    via="dropout",
    counted=2,
)

_SOFT = "axis: int=-1, temperature: float?=None, dtype: dtype?=None, use_length: bool?=False"


def _softmax_row(name: str) -> None:
    def rule(a: Attrs, data: ndarray, length: ndarray | None = None) -> ndarray | Sequence[ndarray]:
        use = bool(a.use_length)
        if length is not None and not use:
            raise TypeError(
                f"operator {name}: a second array is `length`, which is for use_length=True only; see `out=`."
            )
        return core(name, data, length if use else None, a.temperature, axis=a.axis, dtype=a.dtype, use_length=use)

    row(f"{name}(data, length?; {_SOFT})", rule, via=name, needs={"length": lambda a: bool(a.use_length)})


_softmax_row("softmax")
_softmax_row("log_softmax")
row(
    f"softmin(data; {_SOFT})",
    lambda a, data: core("softmin", data, a.temperature, axis=a.axis, dtype=a.dtype),
    via="softmin",
)
for _name in ("masked_softmax", "masked_log_softmax"):
    row(
        f"{_name}(data, mask; axis: int=-1, temperature: float?=None, normalize: bool?=True)",
        lambda a, data, mask, name=_name: core(
            name, data, mask, 1.0 if a.temperature is None else a.temperature, axis=a.axis
        ),
        via=_name,
    )


@row("SoftmaxActivation(data; mode: {channel instance}=instance)", via="softmax")
def _softmax_activation(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    return core("softmax", data, axis=1 if a.mode == "channel" else -1)


# -- losses as outputs ------------------------------------------------------------------------------------------------

same(
    "SoftmaxOutput(data, label; grad_scale: float=1.0, ignore_label: float=-1.0, multi_output: bool=False, "
    "use_ignore: bool=False, preserve_shape: bool=False, normalization: {batch null valid}=null, "
    "out_grad: bool=False, smooth_alpha: float=0.0)",
    "softmax_output",
    alias="Softmax",
    label=1,
)
for _name, _via in (
    ("LinearRegressionOutput", "linear_regression_output"),
    ("LogisticRegressionOutput", "logistic_regression_output"),
    ("MAERegressionOutput", "mae_regression_output"),
):
    same(f"{_name}(data, label; grad_scale: float=1.0)", _via, label=1)
same(
    "SVMOutput(data, label; margin: float=1.0, regularization_coefficient: float=1.0, use_linear: bool=False)",
    "svm_output",
    label=1,
)
same(
    "MakeLoss(data; grad_scale: float=1.0, valid_thresh: float=0.0, normalization: {batch null valid}=null)",
    "make_loss",
    loss=True,
)


@row(
    "IdentityAttachKLSparseReg(data, moving_avg!; sparseness_target: float=0.1, penalty: float=0.001, "
    "momentum: float=0.9)",
    via="make_loss stop_gradient mean",
    loss=True,
)
def _identity_with_sparseness(a: Attrs, data: ndarray, moving_avg: ndarray) -> ndarray | Sequence[ndarray]:
    """Return the data, whose gradient pulls the mean activation of each unit towards `sparseness_target`."""
    if data.ndim != 2:
        raise ShapeError(f"IdentityAttachKLSparseReg: data of shape (batch, units) were expected, got {data.shape}")
    mean = core("stop_gradient", core("mean", data, axis=0))
    held = core("stop_gradient", mean + (moving_avg - mean) * a.momentum)  # which tells the state's shape too
    if not autograd.is_training():
        return core("identity", data)
    with autograd.pause(train_mode=True):
        moving_avg[...] = held
    pull = a.penalty * ((1 - a.sparseness_target) / (1 - held) - a.sparseness_target / held)
    loss = core("make_loss", data * core("reshape", pull, newshape=(1, -1)))
    return data + (loss - core("stop_gradient", loss))


@row("softmax_cross_entropy(data, label)", via="log_softmax pick sum")
def _softmax_cross_entropy(a: Attrs, data: ndarray, label: ndarray) -> ndarray | Sequence[ndarray]:
    picked = core("pick", core("log_softmax", data), label)
    return core("reshape", core("negative", core("sum", picked)), newshape=(1,))


@row(
    "CTCLoss(data, label, data_lengths?, label_lengths?; use_data_lengths: bool=False, use_label_lengths: bool=False, "
    "blank_label: {first last}=first)",
    via="ctc_batch_loss",
    alias="ctc_loss _contrib_CTCLoss _contrib_ctc_loss",
    needs={"data_lengths": lambda a: a.use_data_lengths, "label_lengths": lambda a: a.use_label_lengths},
    counted=2,
)
def _ctc_loss(a: Attrs, data: ndarray, label: ndarray, *lengths: ndarray) -> ndarray | Sequence[ndarray]:
    given = [length for length in lengths if length is not None]
    data_lengths = given.pop(0) if a.use_data_lengths else None
    label_lengths = given.pop(0) if a.use_label_lengths else None
    return npx.ctc_loss(data, label, data_lengths, label_lengths, **a)


# -- resizing by convolution ------------------------------------------------------------------------------------------


@row(
    "UpSampling(*data; scale: int, num_filter: int=0, sample_type: {bilinear nearest}, "
    "multi_input_mode: {concat sum}=concat, workspace: int=512)",
    via="repeat deconvolution concatenate add_n",
)
def _up_sampling(a: Attrs, data: ndarray, *others: ndarray) -> ndarray | Sequence[ndarray]:
    if a.sample_type == "bilinear":
        if len(others) != 1:
            raise ShapeError("UpSampling: sample_type='bilinear' takes two inputs, the data and the weight.")
        filters = a.num_filter or data.shape[1]
        kernel, pad = 2 * a.scale - a.scale % 2, (a.scale - 1 + 1) // 2
        return core(
            "deconvolution",
            data,
            others[0],
            kernel=(kernel, kernel),
            stride=(a.scale, a.scale),
            pad=(pad, pad),
            num_filter=filters,
            num_group=filters,
            no_bias=True,
        )
    height = data.shape[2] * a.scale
    grown = [_nearest(x, height // x.shape[2]) for x in (data, *others)]
    if len(grown) == 1:
        return grown[0]
    return core("add_n", *grown) if a.multi_input_mode == "sum" else core("concatenate", *grown, axis=1)


def _nearest(x: Any, scale: int) -> Any:
    return core("repeat", core("repeat", x, repeats=scale, axis=2), repeats=scale, axis=3)


# -- attention over interleaved projections ---------------------------------------------------------------------------


@row("_contrib_div_sqrt_dim(data)", via="multiply")
def _div_sqrt_dim(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    return core("multiply", data, float(data.shape[-1]) ** -0.5)


for _name, _inputs in (
    ("selfatt_qk", "queries_keys_values"),
    ("selfatt_valatt", "queries_keys_values, attention"),
    ("encdec_qk", "queries, keys_values"),
    ("encdec_valatt", "keys_values, attention"),
):
    same(f"_contrib_interleaved_matmul_{_name}({_inputs}; heads: int)", f"interleaved_matmul_{_name}")
for _name, _inputs in (
    ("score", "query, key, dilation"),
    ("mask_like", "score, dilation, valid_length"),
    ("context", "score, value, dilation"),
):
    same(f"_contrib_sldwin_atten_{_name}({_inputs}; w: int, symmetric: bool)", f"sldwin_atten_{_name}")


@row("_contrib_allclose(a, b; rtol: float=1e-05, atol: float=1e-08, equal_nan: bool=True)", via="isclose all")
def _allclose(attrs: Attrs, a: ndarray, b: ndarray) -> ndarray | Sequence[ndarray]:
    close = core("all", np.isclose(a, b, rtol=attrs.rtol, atol=attrs.atol, equal_nan=attrs.equal_nan))
    return core("cast", at_least_1d(close), dtype="uint8")


# -- bytes for real numbers --------------------------------------------------------------------------------------------

_CALIBRATED = "min_calib_range: float?=None, max_calib_range: float?=None"
_TYPES = f"out_type: {{auto int8 uint8}}=int8, {_CALIBRATED}"
same("_contrib_quantize(data, min_range, max_range; out_type: {int8 uint8}=uint8)", "contrib_quantize", nout=3)
same(f"_contrib_quantize_v2(data; {_TYPES})", "contrib_quantize_v2", nout=3)
same(f"_contrib_requantize(data, min_range, max_range; {_TYPES})", "requantize", nout=3)
same("_contrib_dequantize(data, min_range, max_range; out_type: {float32}=float32)", "dequantize")

_RANGES = "min_data, max_data, min_weight, max_weight, min_bias?, max_bias?"
_HAS_QUANTIZED_BIAS = dict.fromkeys(("bias", "min_bias", "max_bias"), _HAS_BIAS["bias"])


def _quantized_layer(via: str, attrs: str) -> None:
    """Enter a layer of bytes; without a bias there is no range of it either."""

    def layer(a: Attrs, data: ndarray, weight: ndarray, *others: Any) -> ndarray | Sequence[ndarray]:
        if a.no_bias:  # whoever calls by keyword leaves places of a bias and its range
            bias, others = None, tuple([x for x in others if x is not None])
        else:
            bias, others = others[0], others[1:]
        return core(via, data, weight, bias, *others, **given(a))

    signature = f"_contrib_{via}(data, weight, bias?, {_RANGES}; {attrs})"
    row(signature, layer, via=via, needs=_HAS_QUANTIZED_BIAS, nout=3, gives="int32")


_quantized_layer("quantized_conv", _FORWARD)
_quantized_layer("quantized_fully_connected", _DENSE)
row(
    f"_contrib_quantized_pooling(data, min_data, max_data; {_POOL})",
    lambda a, *x: core("quantized_pooling", *x, **given(a)),
    via="quantized_pooling",
    nout=3,
)
same(
    "_contrib_quantized_act(data, min_data, max_data; "
    "act_type: {relu sigmoid softrelu softsign tanh log_sigmoid mish})",
    "quantized_act",
    nout=3,
)
same("_contrib_quantized_flatten(data, min_data, max_data)", "quantized_flatten", nout=3)
row(
    "_contrib_quantized_embedding(data, weight, min_weight, max_weight; "
    "input_dim: int, output_dim: int, dtype: dtype=float32, sparse_grad: bool=False)",
    lambda a, *x: core("quantized_embedding", *x, input_dim=a.input_dim, output_dim=a.output_dim),
    via="quantized_embedding",
    nout=3,
)
_TWO = "lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max"
same(f"_contrib_quantized_elemwise_add({_TWO}; {_CALIBRATED})", "quantized_elemwise_add", nout=3)
same(
    f"_contrib_quantized_elemwise_mul({_TWO}; {_CALIBRATED}, enable_float_output: bool=False)",
    "quantized_elemwise_mul",
    nout=lambda a: 1 if a.enable_float_output else 3,
)


@row("_contrib_quantized_concat(*data; num_args: int=0, dim: int=1)", via="multiply concatenate rint cast", nout=3)
def _quantized_concat(a: Attrs, *arrays: ndarray) -> ndarray | Sequence[ndarray]:
    """Join arrays in the widest of their ranges, which follow all arrays in pairs."""
    count = len(arrays) // 3
    ends = [(arrays[count + 2 * i], arrays[count + 2 * i + 1]) for i in range(count)]
    low, high = [
        functools.reduce(functools.partial(core, name), [end[i] for end in ends])
        for i, name in enumerate(("minimum", "maximum"))
    ]
    limits = {"uint8": 255.0, "int8": 127.0}
    kinds = [onp.dtype(array.dtype).name for array in arrays[:count]]
    kind = "int8" if "int8" in kinds else "uint8"

    def step(end: Any, kind: str) -> Any:
        reach = core("maximum", core("absolute", end[0]), core("absolute", end[1]))
        return core("true_divide", reach, limits[kind])

    whole = step((low, high), kind)
    data = [
        core("multiply", array, core("true_divide", step(end, own), whole))
        for array, end, own in zip(arrays[:count], ends, kinds, strict=True)
    ]
    return core("cast", core("rint", core("concatenate", *data, axis=a.dim)), dtype=kind), low, high


@row(
    "_contrib_quantized_batch_norm(data, gamma, beta, moving_mean, moving_var, min_data, max_data; "
    "eps: float=0.001, momentum: float=0.9, fix_gamma: bool=True, use_global_stats: bool=False, "
    f"output_mean_var: bool=False, axis: int=1, cudnn_off: bool=False, {_CALIBRATED})",
    via="dequantize multiply add contrib_quantize_v2",
    nout=3,
)
def _quantized_batch_norm(
    a: Attrs, data: ndarray, gamma: ndarray, beta: ndarray, mean: ndarray, var: ndarray, low: ndarray, high: ndarray
) -> ndarray | Sequence[ndarray]:
    if a.min_calib_range is None or a.max_calib_range is None:
        raise ValueError("quantized_batch_norm: min_calib_range and max_calib_range must be given")
    shape = [-1 if i == a.axis % data.ndim else 1 for i in range(data.ndim)]
    scale = core("true_divide", gamma, core("sqrt", core("add", var, a.eps)))
    shift = core("subtract", beta, core("multiply", mean, scale))
    real = core("multiply", core("dequantize", data, low, high), core("reshape", scale, newshape=shape))
    real = core("add", real, core("reshape", shift, newshape=shape))
    ends = {"min_calib_range": a.min_calib_range, "max_calib_range": a.max_calib_range}
    out, low, high = core("contrib_quantize_v2", real, out_type="int8", **ends)
    return out, core("full_like", low, a.min_calib_range), core("full_like", high, a.max_calib_range)


def _quantized_reshape(a: Attrs, data: ndarray, low: ndarray, high: ndarray) -> ndarray | Sequence[ndarray]:
    shaped = TABLE["Reshape"].run((data,), a)
    return (shaped, *core("quantized_flatten", data, low, high)[1:])


row(
    "_contrib_quantized_reshape(data, min_data, max_data; "
    "shape: shape=(), reverse: bool=False, target_shape: shape=(), keep_highest: bool=False)",
    _quantized_reshape,
    via="reshape quantized_flatten",
    alias="quantized_reshape",
    nout=3,
)
row(
    "_contrib_quantized_transpose(data, min_data, max_data; axes: shape=())",
    lambda a, *x: core("quantized_transpose", *x, axes=tuple(a.axes) or None),
    via="quantized_transpose",
    alias="quantized_transpose",
    nout=3,
)
for _name, _words in (
    ("maxabsolute", "data"),
    ("prepare_data", "data, maxabs"),
    ("prepare_weight", "weight, maxabs?; already_quantized: bool=False"),
    ("take_weight", "weight, indices"),
):
    same(f"_contrib_intgemm_{_name}({_words})", f"intgemm_{_name}")


@row(
    "_contrib_intgemm_fully_connected(data, weight, scaling?, bias?; num_hidden: int, no_bias: bool=False, "
    "flatten: bool=True, out_type: {float32 int32}=float32)",
    via="intgemm_fully_connected",
    needs={"scaling": lambda a: a.out_type == "float32", **_HAS_BIAS},
)
def _intgemm_fully_connected(a: Attrs, data: ndarray, weight: ndarray, *others: ndarray) -> ndarray | Sequence[ndarray]:
    scaling, bias = (*others, None, None)[:2] if a.out_type == "float32" else (None, (*others, None)[0])
    return core("intgemm_fully_connected", data, weight, scaling, bias, **a)


@row("all_finite(data; init_output: bool=True)", via="isfinite all")
def _all_finite(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    return core("cast", at_least_1d(core("all", core("isfinite", data))), dtype="float32")


@row("multi_all_finite(*data; num_arrays: int=1, init_output: bool=True)", via="isfinite all")
def _multi_all_finite(a: Attrs, *data: ndarray) -> ndarray | Sequence[ndarray]:
    each = [at_least_1d(core("all", core("isfinite", d))) for d in data]
    return core("cast", core("all", core("concatenate", *each, axis=0), keepdims=True), dtype="float32")
