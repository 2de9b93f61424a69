"""What the core operators of layers become in a symbol of MXNet 2. See `gluonx.symbol.emit`."""

from __future__ import annotations

from typing import Any

from gluonx.errors import GraphError
from gluonx.symbol.emit import RULES, Emit, rule
from gluonx.symbol.record import Step, number
from gluonx.symbol.rules import _arrays

__all__: list[str] = []


def _given(step: Step, *names: str) -> dict[str, Any]:
    """These attributes, those left away that are None."""
    return {name: step.op.attrs[name] for name in names if step.op.attrs[name] is not None}


def _number_of(value: Any, default: float, what: str) -> float:
    if value is None:
        return default
    if not number(value):
        raise GraphError(f"MXNet takes a number for {what}")
    return float(value)


@rule("fully_connected")
def _fully_connected(emit: Emit, step: Step) -> Any:
    units, given = step.shapes[1].shape[0], _arrays(emit, step)
    return emit.node(
        "FullyConnected", *given, num_hidden=units, no_bias=len(given) == 2, flatten=step.op.attrs["flatten"]
    )


_CONV = ("kernel", "stride", "dilate", "pad", "num_group", "layout")


def _spatial(step: Step) -> dict[str, Any]:
    """Attributes as MXNet wants them: tuples, and the kernel spelled out."""
    given = _given(step, *_CONV)
    ndim = len(step.shapes[0].shape) - 2
    layout = given.get("layout") or "NCHW"
    weight = step.shapes[1].shape
    given.setdefault("kernel", weight[1:-1] if layout[-1] == "C" else weight[2:])
    return {n: (v,) * ndim if isinstance(v, int) and n != "num_group" else v for n, v in given.items()}


@rule("convolution")
def _convolution(emit: Emit, step: Step) -> Any:
    inputs = _arrays(emit, step)
    filters = step.shapes[1].shape[0]
    return emit.node("Convolution", *inputs, num_filter=filters, no_bias=len(inputs) == 2, **_spatial(step))


@rule("deconvolution")
def _deconvolution(emit: Emit, step: Step) -> Any:
    inputs = _arrays(emit, step)
    attrs: Any = _spatial(step) | _given(step, "adj", "target_shape")
    channel = -1 if (attrs.get("layout") or "NCHW")[-1] == "C" else 1
    filters = step.shapes[1].shape[channel] * attrs["num_group"]
    return emit.node("Deconvolution", *inputs, num_filter=filters, no_bias=len(inputs) == 2, **attrs)


@rule("pooling")
def _pooling(emit: Emit, step: Step) -> Any:
    names = ("kernel", "stride", "pad", "pool_type", "pooling_convention", "global_pool", "p_value", "layout")
    ndim = len(step.shapes[0].shape) - 2
    given: Any = _given(step, *names, "count_include_pad")
    given = {n: (v,) * ndim if type(v) is int and n in ("kernel", "stride", "pad") else v for n, v in given.items()}
    return emit.node("Pooling", emit.array(step.args[0]), **given)


@rule("batch_norm")
def _batch_norm(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    if attrs["training"]:
        raise GraphError("it runs in training mode; a symbol decides that when it runs")
    given = {n: attrs[n] for n in ("eps", "momentum", "fix_gamma", "use_global_stats", "axis")}
    if attrs["output_mean_var"]:
        outs = emit.node("BatchNorm", *_arrays(emit, step), nout=3, output_mean_var=True, **given)
        return [*outs, emit.array(step.args[3]), emit.array(step.args[4])]
    return emit.node("BatchNorm", *_arrays(emit, step), **given)


@rule("layer_norm")
def _layer_norm(emit: Emit, step: Step) -> Any:
    nout = 3 if step.op.attrs["output_mean_var"] else None
    return emit.node("LayerNorm", *_arrays(emit, step), nout=nout, **_given(step, "axis", "eps", "output_mean_var"))


@rule("group_norm")
def _group_norm(emit: Emit, step: Step) -> Any:
    if step.op.attrs["output_mean_var"]:
        raise GraphError("output_mean_var is not supported here")
    return emit.node("GroupNorm", *_arrays(emit, step), **_given(step, "num_groups", "eps"))


@rule("instance_norm")
def _instance_norm(emit: Emit, step: Step) -> Any:
    return emit.node("InstanceNorm", *_arrays(emit, step), eps=step.op.attrs["eps"])


@rule("rms_norm")
def _rms_norm(emit: Emit, step: Step) -> Any:
    x, gamma = step.args
    axis = step.op.attrs["axis"] % len(step.shapes[0].shape)
    if axis != len(step.shapes[0].shape) - 1:
        raise GraphError("its axis must be the last one")
    data = emit.array(x)
    mean = emit.node("_npi_mean", emit.node("_npi_square", data), axis=(axis,), keepdims=True)
    scale = emit.node("_npi_sqrt", emit.node("_npi_add_scalar", mean, scalar=step.op.attrs["eps"], is_int=False))
    out = emit.node("_npi_true_divide", data, scale)
    return out if gamma is None else emit.node("_npi_multiply", out, emit.array(gamma))


@rule("l2_normalization")
def _l2_normalization(emit: Emit, step: Step) -> Any:
    return emit.node("L2Normalization", emit.array(step.args[0]), **_given(step, "eps", "mode"))


@rule("lrn")
def _lrn(emit: Emit, step: Step) -> Any:
    return emit.node("LRN", emit.array(step.args[0]), **_given(step, "alpha", "beta", "knorm", "nsize"))


@rule("activation")
def _activation(emit: Emit, step: Step) -> Any:
    return emit.node("Activation", emit.array(step.args[0]), act_type=step.op.attrs["act_type"])


@rule("softrelu")
def _softrelu(emit: Emit, step: Step) -> Any:
    return emit.node("Activation", emit.array(step.args[0]), act_type="softrelu")


@rule("hard_sigmoid")
def _hard_sigmoid(emit: Emit, step: Step) -> Any:
    return emit.node("hard_sigmoid", emit.array(step.args[0]), **_given(step, "alpha", "beta"))


@rule("leaky_relu")
def _leaky_relu(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    kind = attrs["act_type"]
    if kind == "gelu_tanh":
        return _tanh_gelu(emit, emit.array(step.args[0]))
    inputs = _arrays(emit, step)[: 2 if kind == "prelu" else 1]
    given = _given(step, "slope", "lower_bound", "upper_bound")
    return emit.node("LeakyReLU", *inputs, act_type="gelu" if kind == "gelu_erf" else kind, **given)


@rule("elu")
def _elu(emit: Emit, step: Step) -> Any:
    return emit.node("LeakyReLU", emit.array(step.args[0]), act_type="elu", slope=step.op.attrs["alpha"])


@rule("selu")
def _selu(emit: Emit, step: Step) -> Any:
    return emit.node("LeakyReLU", emit.array(step.args[0]), act_type="selu")


@rule("gelu")
def _gelu(emit: Emit, step: Step) -> Any:
    x = emit.array(step.args[0])
    return _tanh_gelu(emit, x) if step.op.attrs["approximate"] else emit.node("LeakyReLU", x, act_type="gelu")


def _tanh_gelu(emit: Emit, x: Any) -> Any:
    """MXNet 2.0.0b1 has the exact function only."""

    def scaled(value: Any, by: float) -> Any:
        return emit.node("_npi_multiply_scalar", value, scalar=by, is_int=False)

    cubed = scaled(emit.node("_npi_power_scalar", x, scalar=3.0, is_int=False), 0.044715)
    inner = emit.node("_npi_tanh", scaled(emit.node("_npi_add", x, cubed), 0.7978845608028654))
    return scaled(emit.node("_npi_multiply", x, emit.node("_npi_add_scalar", inner, scalar=1.0, is_int=False)), 0.5)


@rule("silu", "swish")
def _swish(emit: Emit, step: Step) -> Any:
    x, beta = emit.array(step.args[0]), step.op.attrs.get("beta", 1.0)
    inner = x if beta == 1 else emit.node("_npi_multiply_scalar", x, scalar=float(beta), is_int=False)
    return emit.node("_npi_multiply", x, emit.node("_npx_sigmoid", inner))


@rule("swiglu")
def _swiglu(emit: Emit, step: Step) -> Any:
    x, gate = _arrays(emit, step)
    return emit.node("_npi_multiply", emit.node("_npi_multiply", x, emit.node("_npx_sigmoid", x)), gate)


@rule("dropout")
def _dropout(emit: Emit, step: Step) -> Any:
    return emit.node("Dropout", emit.array(step.args[0]), **_given(step, "p", "mode", "axes"))


@rule("embedding")
def _embedding(emit: Emit, step: Step) -> Any:
    rows, width = step.shapes[1].shape
    dtype = step.shapes[1].dtype.name
    return emit.node("Embedding", *_arrays(emit, step), input_dim=rows, output_dim=width, dtype=dtype)


@rule("softmax", "log_softmax")
def _softmax(emit: Emit, step: Step) -> Any:
    x, length, temperature = (*step.args, None, None)[:3]
    attrs = step.op.attrs
    inputs = [emit.array(x)] + ([] if length is None else [emit.array(length)])
    given: dict[str, Any] = {"axis": attrs["axis"], "use_length": length is not None}
    if temperature is not None:
        given["temperature"] = _number_of(temperature, 1.0, "temperature")
    if attrs["dtype"] is not None:
        given["dtype"] = attrs["dtype"].name
    return emit.node(step.op.name, *inputs, **given)


@rule("softmin")
def _softmin(emit: Emit, step: Step) -> Any:
    x, temperature = (*step.args, None)[:2]
    negative = emit.node("_npi_negative", emit.array(x))
    warmth = None if temperature is None else _number_of(temperature, 1.0, "temperature")
    return emit.node("softmax", negative, axis=step.op.attrs["axis"], temperature=warmth)


@rule("masked_softmax", "masked_log_softmax")
def _masked(emit: Emit, step: Step) -> Any:
    x, mask, temperature = (*step.args, None)[:3]
    given = {"axis": step.op.attrs["axis"], "temperature": _number_of(temperature, 1.0, "temperature")}
    return emit.node(step.op.name, emit.array(x), emit.array(mask), **given)


@rule("smooth_l1")
def _smooth_l1(emit: Emit, step: Step) -> Any:
    return emit.node("smooth_l1", emit.array(step.args[0]), scalar=step.op.attrs["scalar"])


_SEQUENCE = {"sequence_mask": "SequenceMask", "sequence_last": "SequenceLast", "sequence_reverse": "SequenceReverse"}


@rule(*_SEQUENCE)
def _sequence(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    given = {n: attrs[n] for n in ("use_sequence_length", "axis", "value") if n in attrs}
    return emit.node(_SEQUENCE[step.op.name], *_arrays(emit, step), **given)


def _state(emit: Emit, step: Step, state: Any) -> Any:
    """The begin state; zeros where none is given, of the batch size that was traced."""
    if state is not None:
        return emit.array(state)
    attrs, data = step.op.attrs, step.shapes[0]
    shape = (attrs["num_layers"] * (2 if attrs["bidirectional"] else 1), data.shape[1], attrs["state_size"])
    return emit.node("_npi_zeros", shape=shape, dtype=data.dtype.name)


@rule("rnn")
def _rnn(emit: Emit, step: Step) -> Any:
    names = ("state_size", "num_layers", "bidirectional", "mode", "p", "state_outputs", "use_sequence_length")
    clips = ("projection_size", "lstm_state_clip_min", "lstm_state_clip_max", "lstm_state_clip_nan")
    nout = len(step.outs) if len(step.outs) > 1 else None
    data, parameters, state, cell, lengths = (*step.args, None, None, None)[:5]
    states = [state, cell] if step.op.attrs["mode"] == "lstm" else [state]
    inputs = [emit.array(data), emit.array(parameters), *[_state(emit, step, s) for s in states]]
    if step.op.attrs["use_sequence_length"]:
        inputs.append(emit.array(lengths))
    return emit.node("RNN", *inputs, nout=nout, **_given(step, *names, *clips))


@rule("adaptive_avg_pooling")
def _adaptive(emit: Emit, step: Step) -> Any:
    size = step.op.attrs["output_size"] or 1
    size = (size, size) if isinstance(size, int) else size
    return emit.node("_contrib_AdaptiveAvgPooling2D", emit.array(step.args[0]), output_size=size)


@rule("bilinear_resize")
def _resize(emit: Emit, step: Step) -> Any:
    given = _given(step, "height", "width", "align_corners")
    return emit.node("_contrib_BilinearResize2D", emit.array(step.args[0]), mode="size", **given)


@rule("roi_align")
def _roi_align(emit: Emit, step: Step) -> Any:
    given = _given(step, "pooled_size", "spatial_scale", "sample_ratio", "position_sensitive", "aligned")
    return emit.node("_contrib_ROIAlign", *_arrays(emit, step), **given)


@rule("box_nms")
def _box_nms(emit: Emit, step: Step) -> Any:
    return emit.node("_contrib_box_nms", *_arrays(emit, step), **dict(step.op.attrs))


@rule("multibox_prior")
def _multibox_prior(emit: Emit, step: Step) -> Any:
    given = _given(step, "sizes", "ratios", "clip", "steps", "offsets")
    return emit.node("_contrib_MultiBoxPrior", *_arrays(emit, step), **given)


@rule("multibox_detection")
def _multibox_detection(emit: Emit, step: Step) -> Any:
    return emit.node("_contrib_MultiBoxDetection", *_arrays(emit, step), **dict(step.op.attrs))


for _name in ("selfatt_qk", "selfatt_valatt", "encdec_qk", "encdec_valatt"):
    RULES[f"interleaved_matmul_{_name}"] = lambda emit, step, name=_name: emit.node(
        f"_contrib_interleaved_matmul_{name}", *_arrays(emit, step), heads=step.op.attrs["heads"]
    )
