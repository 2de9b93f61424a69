"""The table of operator calls that gluonx and MXNet 2.0.0b1 must answer alike.

Read by ``make_golden.py`` (in the oracle's Python, which has no gluonx) and by ``tests/test_ops_golden.py``. A row
names the operator here and there, its inputs and its attributes. Inputs are literals, or recipes for `make`:
``F(shape)`` normal floats, ``P(shape)`` positive ones, ``U(shape)`` from -0.8 to 0.8, ``I(high, shape)`` integers from
0. The weights of the sum whose gradient is taken are made the same way, so the golden file holds only outputs and
gradients.
"""

import zlib

import numpy as np


def F(*shape):
    return ("normal", shape)


def P(*shape):
    return ("positive", shape)


def U(*shape):
    return ("unit", shape)


def I(high, *shape):  # noqa: E743
    return ("integer", high, shape)


def case(name, op, inputs, attrs=None, there=None, attrs_there=None, grad=None, pack=False, train=True, label=""):
    """A row. `grad` counts the inputs, from the first, whose gradients are compared (default: all of floats)."""
    there = there or "npx." + op
    return {
        "name": f"{name}{':' + label if label else ''}",
        "op": op,
        "inputs": inputs,
        "attrs": attrs or {},
        "there": there,
        "attrs_there": attrs_there if attrs_there is not None else attrs or {},
        "grad": grad,
        "pack": pack,
        "train": train,
    }


def make(row):
    """The row's inputs as NumPy arrays (None stays)."""
    rng = np.random.RandomState(zlib.crc32(row["name"].encode()) & 0x7FFFFFFF)
    return [_make(spec, rng) for spec in row["inputs"]]


def _make(spec, rng):
    if not (isinstance(spec, tuple) and spec and isinstance(spec[0], str)):
        return spec if spec is None else np.array(spec)
    kind, shape = spec[0], spec[-1]
    if kind == "normal":
        return rng.standard_normal(shape).astype(np.float32)
    if kind == "positive":
        return (rng.random_sample(shape) * 2 + 0.3).astype(np.float32)
    if kind == "unit":
        return (rng.random_sample(shape) * 1.6 - 0.8).astype(np.float32)
    return rng.randint(0, spec[1], shape).astype(np.int32)


def weights(row, shape, which):
    """The weights that make a number of output `which`, so that its gradient can be compared."""
    rng = np.random.RandomState(zlib.crc32(f"{row['name']}/{which}".encode()) & 0x7FFFFFFF)
    return rng.standard_normal(shape).astype(np.float32)


def differentiated(row, inputs):
    """The places of the inputs whose gradients are compared."""
    floats = [i for i, x in enumerate(inputs) if x is not None and x.dtype == np.float32]
    return floats if row["grad"] is None else [i for i in floats if i < row["grad"]]


def rows():
    """All rows."""
    return [
        *_unary(),
        *_binary(),
        *_activations(),
        *_dense(),
        *_softmax(),
        *_picking(),
        *_convolutions(),
        *_pools(),
        *_norms(),
        *_shapes(),
        *_indexing(),
        *_sequences(),
        *_reductions(),
    ]


def _unary():
    signed = (
        "exp sin cos arctan sinh cosh arcsinh tanh square negative absolute sign floor ceil trunc "
        "expm1 cbrt degrees radians"
    )
    positive = "log log2 log10 log1p sqrt reciprocal"
    unit = "arcsin arccos arctanh tan"
    for name in signed.split():
        yield case(name, name, [F(3, 4)], there="np." + name)
    for name in positive.split():
        yield case(name, name, [P(3, 4)], there="np." + name)
    for name in unit.split():
        yield case(name, name, [U(3, 4)], there="np." + name)
    yield case("arccosh", "arccosh", [[1.5, 2.0, 3.0]], there="np.arccosh")
    for name in ("relu", "sigmoid", "erf", "softsign", "round_ste", "sign_ste", "stop_gradient"):
        yield case(name, name, [F(3, 4)])
    yield case("erfinv", "erfinv", [U(3, 4)])
    for name in ("gamma", "gammaln", "digamma"):
        yield case(name, name, [P(3, 4)], grad=0 if name == "digamma" else None)
    for name in ("rsqrt", "rcbrt", "softmin", "hard_sigmoid"):
        yield case(name, name, [P(3, 4)], there="nd." + name)
    for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "logical_not"):
        yield case(name, name, [[1.0, 0.0, float("nan"), float("inf"), -float("inf")]], there="np." + name, grad=0)
    yield case("around", "around", [F(3, 4)], {"decimals": 1}, there="np.around", grad=0)


def _binary():
    for name in (
        "add",
        "subtract",
        "multiply",
        "true_divide",
        "maximum",
        "minimum",
        "arctan2",
        "hypot",
        "copysign",
        "logaddexp",
        "fmax",
        "fmin",
    ):
        yield case(name, name, [F(3, 4), F(3, 4)], there="np." + name)
    for name in ("add", "multiply", "true_divide", "maximum"):
        yield case(name, name, [F(2, 1, 4), F(3, 1)], there="np." + name, label="broadcast")
    yield case("power", "power", [P(3, 4), F(3, 4)], there="np.power")
    yield case("mod", "mod", [F(3, 4), P(3, 4)], there="np.mod", grad=1)
    yield case("fmod", "fmod", [F(3, 4), P(3, 4)], there="np.fmod", grad=1)
    yield case("floor_divide", "floor_divide", [F(3, 4), P(3, 4)], there="np.floor_divide", grad=0)
    for name in (
        "equal",
        "not_equal",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "logical_and",
        "logical_or",
        "logical_xor",
    ):
        yield case(name, name, [I(3, 4, 5), I(3, 4, 5)], there="np." + name)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"):
        yield case(name, name, [I(9, 4, 5), I(9, 4, 5)], there="np." + name)
    tied = [[1.0, 3.0, 2.0], [1.0, 2.0, 3.0]]
    yield case("maximum", "maximum", [np.float32(t) for t in tied], there="np.maximum", label="tie")
    yield case("minimum", "minimum", [np.float32(t) for t in tied], there="np.minimum", label="tie")
    yield case("add_n", "add_n", [F(3, 4)] * 3)


def _activations():
    for kind in ["log_sigmoid", "mish", "relu", "sigmoid", "softrelu", "softsign", "tanh"]:
        yield case("activation", "activation", [F(3, 4)], {"act_type": kind}, label=kind)
    for kind in ["leaky", "elu", "selu", "gelu"]:  # MXNet's gradient of selu is not the derivative of its selu
        yield case(
            "leaky_relu", "leaky_relu", [F(3, 4)], {"act_type": kind}, grad=0 if kind == "selu" else None, label=kind
        )
    yield case("leaky_relu", "leaky_relu", [F(3, 4)], {"act_type": "elu", "slope": 0.5}, label="elu-slope")
    yield case("leaky_relu", "leaky_relu", [F(2, 3, 4), P(3)], {"act_type": "prelu"}, label="prelu")
    yield case("leaky_relu", "leaky_relu", [F(2, 3), P(1)], {"act_type": "prelu"}, label="prelu-one")
    yield case("smooth_l1", "smooth_l1", [F(3, 4)], {"scalar": 1.0}, label="1")
    yield case("smooth_l1", "smooth_l1", [F(3, 4)], {"scalar": 2.0}, label="2")
    on_bounds = np.float32([0.0, 1.0, 0.5, -1.0, 2.0])
    there = {"a_min": 0.0, "a_max": 1.0}
    yield case("clip", "clip", [on_bounds, np.float32(0), np.float32(1)], there="np.clip1", attrs_there=there, grad=1)


def _dense():
    fc = "fully_connected"
    yield case(fc, fc, [F(2, 3, 4), F(5, 12), F(5)], {"num_hidden": 5, "no_bias": False}, label="flat")
    yield case(fc, fc, [F(2, 3, 4), F(5, 4), F(5)], {"num_hidden": 5, "no_bias": False, "flatten": False}, label="last")
    yield case(fc, fc, [F(2, 4), F(5, 4)], {"num_hidden": 5, "no_bias": True}, label="no-bias")
    sizes = {"input_dim": 3, "output_dim": 2}
    yield case("embedding", "embedding", [[[0, 2], [5, -1]], F(3, 2)], sizes)
    for mode in ("instance", "channel", "spatial"):
        yield case("l2", "l2_normalization", [F(2, 3, 4, 2)], {"mode": mode}, there="nd.L2Normalization", label=mode)


def _softmax():
    for name in ("softmax", "log_softmax"):
        for axis in (-1, 0, 1):
            yield case(name, name, [F(2, 3, 4)], {"axis": axis}, label=f"axis{axis}")
    there = {"temperature": 2.5, "axis": 1}
    yield case(
        "softmax", "softmax", [F(2, 3), None, np.float32(2.5)], {"axis": 1}, attrs_there=there, grad=1, label="t"
    )
    lengths = np.int32([[4, 2, 1], [3, 1, 4]])
    yield case("softmax", "softmax", [F(2, 3, 4), lengths], {"use_length": True}, label="length")
    lengths = np.int32([[2, 1, 1, 2], [1, 3, 3, 2]])
    yield case("softmax", "softmax", [F(2, 3, 4), lengths], {"use_length": True, "axis": 1}, label="length1")
    mask = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]], bool)
    for name in ("masked_softmax", "masked_log_softmax"):
        yield case(name, name, [F(3, 4), mask], grad=None if name == "masked_softmax" else 0)
        yield case(name, name, [F(2, 3, 4), mask[:1, :, None].transpose(0, 2, 1)], grad=0, label="broadcast")


def _picking():
    yield case("one_hot", "one_hot", [[0, 2, 5, -1]], {"depth": 3, "on_value": 2, "off_value": -1, "dtype": "int32"})
    for mode in ("clip", "wrap"):
        yield case("pick", "pick", [F(3, 4), np.int32([0, 5, -1])], {"mode": mode}, label=mode)
    yield case("pick", "pick", [F(3, 4), I(3, 4)], {"axis": 0, "keepdims": True}, label="keep")
    yield case("pick", "pick", [F(2, 3, 4), I(3, 2, 4)], {"axis": 1}, label="axis1")
    for kind in ("indices", "value", "mask", "both"):
        yield case("topk", "topk", [F(3, 5)], {"k": 2, "ret_typ": kind}, grad=0, label=kind)
        yield case(
            "topk", "topk", [F(3, 5)], {"k": 3, "ret_typ": kind, "is_ascend": True, "axis": 0}, grad=0, label=kind + "0"
        )
    yield case("topk", "topk", [F(3, 5)], {"k": 2, "axis": None}, label="flat", grad=0)
    yield case("topk", "topk", [F(3, 5)], {"k": 0, "ret_typ": "value"}, label="all", grad=0)


def _convolutions():
    conv, deconv = "convolution", "deconvolution"

    def conv_case(label, x, w, b=None, op=conv, grad=None, **attrs):
        attrs.setdefault("no_bias", b is None)
        return case(op, op, [x, w] + ([b] if b else []), attrs, label=label, grad=grad)

    forward = {"grad": 0}  # where the oracle's CPU library has no backward

    yield conv_case("1d", F(2, 3, 7), F(4, 3, 3), F(4), kernel=(3,), num_filter=4, stride=(2,), pad=(1,))
    yield conv_case("2d", F(2, 3, 7, 6), F(4, 3, 3, 2), F(4), kernel=(3, 2), num_filter=4)
    yield conv_case(
        "2d-all",
        F(2, 4, 9, 8),
        F(6, 2, 3, 2),
        F(6),
        kernel=(3, 2),
        num_filter=6,
        num_group=2,
        stride=(2, 1),
        dilate=(2, 1),
        pad=(2, 1),
    )
    yield conv_case("depthwise", F(2, 4, 6, 6), F(4, 1, 3, 3), kernel=(3, 3), num_filter=4, num_group=4, pad=(1, 1))
    yield conv_case("3d", F(1, 2, 5, 4, 4), F(3, 2, 2, 2, 3), F(3), kernel=(2, 2, 3), num_filter=3, pad=(0, 1, 1))
    yield conv_case(
        "1d",
        F(2, 2, 4),
        F(2, 3, 3),
        F(3),
        op=deconv,
        kernel=(3,),
        num_filter=3,
        stride=(2,),
        pad=(1,),
        adj=(1,),
        **forward,
    )
    yield conv_case(
        "2d", F(2, 3, 4, 3), F(3, 2, 3, 2), F(2), op=deconv, kernel=(3, 2), num_filter=2, stride=(2, 3), pad=(1, 0)
    )
    yield conv_case(
        "group",
        F(2, 4, 4, 4),
        F(4, 3, 3, 3),
        op=deconv,
        kernel=(3, 3),
        num_filter=6,
        num_group=2,
        stride=(2, 2),
        pad=(1, 1),
    )
    sizes = {"kernel": (3,), "num_filter": 2, "stride": (2,), "target_shape": (6,), "pad": (1,)}
    yield conv_case("target", F(1, 2, 3), F(2, 2, 3), op=deconv, **sizes, **forward)
    yield conv_case(
        "dilate", F(1, 2, 4, 4), F(2, 2, 3, 3), op=deconv, kernel=(3, 3), num_filter=2, dilate=(2, 2), stride=(2, 2)
    )
    yield conv_case(
        "3d", F(1, 2, 3, 3, 2), F(2, 1, 2, 2, 2), op=deconv, kernel=(2, 2, 2), num_filter=1, stride=(2, 1, 2)
    )


def _pools():
    for kind in ("max", "avg", "sum", "lp"):
        for convention in ("valid", "full"):
            attrs = {
                "kernel": (3, 2),
                "stride": (2, 2),
                "pad": (1, 0),
                "pool_type": kind,
                "pooling_convention": convention,
            }
            if kind == "lp":
                attrs["p_value"] = 2
            yield case("pooling", "pooling", [F(2, 3, 6, 5)], attrs, label=f"{kind}-{convention}")
    even = {"kernel": (2, 2), "stride": (2, 2)}
    yield case("pooling", "pooling", [F(2, 3, 6, 4)], {**even, "pool_type": "max"}, label="max-even")
    yield case("pooling", "pooling", [F(2, 3, 6, 4)], {**even, "pool_type": "avg"}, label="avg-even")
    yield case(
        "pooling", "pooling", [np.ones((1, 1, 4, 4), np.float32)], {"kernel": (2, 2), "pool_type": "max"}, label="tie"
    )
    padless = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "avg", "count_include_pad": False}
    yield case("pooling", "pooling", [F(2, 3, 6, 5)], padless, label="avg-no-pad")
    yield case(
        "pooling", "pooling", [F(2, 3, 6, 5)], {**padless, "pooling_convention": "full"}, label="avg-no-pad-full"
    )
    for kind in ("max", "avg"):
        yield case(
            "pooling",
            "pooling",
            [F(2, 3, 6, 5)],
            {"kernel": (1, 1), "global_pool": True, "pool_type": kind},
            label=f"global-{kind}",
        )
    yield case("pooling", "pooling", [F(2, 3, 7)], {"kernel": (3,), "stride": (2,), "pool_type": "max"}, label="1d")
    yield case(
        "pooling",
        "pooling",
        [F(1, 2, 4, 5, 4)],
        {"kernel": (2, 2, 2), "stride": (2, 2, 2), "pool_type": "avg"},
        label="3d",
    )
    yield case("pooling", "pooling", [F(2, 6, 5, 3)], {**even, "pool_type": "max", "layout": "NHWC"}, label="nhwc")
    for size in ((2, 2), (3, 1), (1, 1), (5, 4)):
        yield case(
            "adaptive",
            "adaptive_avg_pooling",
            [F(2, 3, 6, 7)],
            {"output_size": size},
            there="nd.contrib.AdaptiveAvgPooling2D",
            label=f"{size[0]}x{size[1]}",
        )


def _norms():
    stats = [P(3), F(3), F(3), P(3)]
    bn = "batch_norm"
    for label, attrs in {
        "plain": {"fix_gamma": False},
        "fixed": {"fix_gamma": True},
        "global": {"fix_gamma": False, "use_global_stats": True},
        "momentum": {"fix_gamma": False, "momentum": 0.4, "eps": 1e-2},
    }.items():
        here = {**attrs, "training": True}
        yield case(bn, bn, [F(4, 3, 5), *stats], here, attrs_there=attrs, grad=3, label=label)
    yield case(
        bn,
        bn,
        [F(4, 3), *stats],
        {"fix_gamma": False, "training": True},
        attrs_there={"fix_gamma": False},
        grad=3,
        label="2d",
    )
    last = {"fix_gamma": False, "axis": 3}
    yield case(bn, bn, [F(2, 4, 4, 3), *stats], {**last, "training": True}, attrs_there=last, grad=3, label="last")
    yield case(
        bn,
        bn,
        [F(4, 3, 5), *stats],
        {"fix_gamma": False, "training": False},
        attrs_there={"fix_gamma": False},
        grad=0,
        train=False,
        label="predict",
    )
    yield case("layer_norm", "layer_norm", [F(2, 3, 4), F(4), F(4)], {"axis": -1, "eps": 1e-5}, label="last")
    yield case("layer_norm", "layer_norm", [F(2, 3, 4), F(3), F(3)], {"axis": 1, "eps": 1e-3}, label="axis1")
    both = {"axis": -1, "eps": 1e-5, "output_mean_var": True}
    yield case("layer_norm", "layer_norm", [F(2, 3, 4), F(4), F(4)], both, grad=0, label="three")
    yield case("group_norm", "group_norm", [F(2, 4, 3, 2), F(4), F(4)], {"num_groups": 2, "eps": 1e-5}, label="2")
    both = {"num_groups": 2, "eps": 1e-5, "output_mean_var": True}
    yield case("group_norm", "group_norm", [F(2, 4, 3), F(4), F(4)], both, grad=0, label="three")
    yield case("instance_norm", "instance_norm", [F(2, 3, 4), F(3), F(3)], {"eps": 1e-3})
    yield case("lrn", "lrn", [F(2, 5, 3, 2)], {"nsize": 3, "alpha": 0.1}, there="nd.LRN")


def _shapes():
    for old, new in (
        ((2, 3, 8), (-2, -2, 2, -1)),
        ((4, 5, 6), (-2, -4)),
        ((8, 3, 3, 3, 4, 4), (-6, 2, -1, -4)),
        ((1, 8, 3), (-3, -1)),
        ((8, 3, 3), (-2, -5)),
        ((2, 3, 4), (-4, 1)),
        ((2, 3, 4), (4, 6)),
    ):
        yield case("reshape", "reshape", [F(*old)], {"newshape": new}, grad=0, label=str(new))
    for old, new in (((8, 3, 3, 3, 4, 8), (-4, -1, 2, -6)), ((8, 3, 4), (-1, -2)), ((2, 3, 4, 5), (-5, -1, 2))):
        yield case("reshape", "reshape", [F(*old)], {"newshape": new, "reverse": True}, grad=0, label=f"r{new}")
    for attrs in ({}, {"axis": 1, "start": 1.0, "step": 2.0}, {"repeat": 2}, {"axis": -1, "repeat": 3}):
        yield case("arange_like", "arange_like", [F(2, 6)], attrs, grad=0, label=str(attrs))
    yield case("broadcast_like", "broadcast_like", [F(1, 3), F(5, 3)], label="all", grad=1)
    yield case(
        "broadcast_like",
        "broadcast_like",
        [F(1, 3), F(5, 6)],
        {"lhs_axes": (0,), "rhs_axes": (1,)},
        label="axes",
        grad=1,
    )
    yield case("reshape_like", "reshape_like", [F(6), F(2, 3)], grad=0, label="all")
    part = {"lhs_begin": 0, "lhs_end": 1, "rhs_begin": 0, "rhs_end": 2}
    yield case("reshape_like", "reshape_like", [F(30, 7), F(15, 2, 4)], part, grad=0, label="part")
    part = {"lhs_begin": -1, "rhs_begin": 1}
    yield case("reshape_like", "reshape_like", [F(30, 12), F(4, 2, 2, 3)], part, grad=0, label="negative")
    yield case("slice_like", "slice_like", [F(4, 5), F(2, 3)], grad=1, label="all")
    yield case("slice_like", "slice_like", [F(4, 5), F(2, 3, 4)], {"axes": (0,)}, grad=1, label="axes")
    yield case("slice", "slice", [F(2, 3)], {"begin": (None, 2), "end": (None, 0), "step": (1, -1)}, label="back")
    yield case("slice", "slice", [F(2, 3)], {"begin": (0, -2), "end": (9, None)}, label="open")
    yield case("slice_axis", "slice_axis", [F(2, 5)], {"axis": 1, "begin": -3, "end": -1}, there="nd.slice_axis")
    yield case("batch_flatten", "batch_flatten", [F(2, 3, 4)], grad=0)
    yield case("concatenate", "concatenate", [F(2, 3), F(2, 4)], {"axis": 1}, there="np.concatenate", pack=True)
    yield case("stack", "stack", [F(2, 3), F(2, 3)], {"axis": -1}, there="np.stack", pack=True)
    yield case("split", "split", [F(6, 2)], {"indices_or_sections": 3}, there="np.split", label="3")
    yield case("split", "split", [F(6, 2)], {"indices_or_sections": (1, 4)}, there="np.split", label="at")
    squeezed = {"num_outputs": 3, "axis": 1, "squeeze_axis": True}
    yield case("slice_channel", "slice_channel", [F(4, 3)], squeezed)
    yield case("tile", "tile", [F(2, 3)], {"reps": (2, 1, 2)}, there="np.tile")
    # MXNet's gradient of repeat along an axis is 0.
    yield case("repeat", "repeat", [F(2, 3)], {"repeats": 2, "axis": 1}, there="np.repeat", grad=0)
    yield case("flip", "flip", [F(2, 3)], {"axis": 1}, there="np.flip")
    yield case("roll", "roll", [F(2, 3)], {"shift": 2, "axis": 1}, there="np.roll")
    yield case("tril", "tril", [F(4, 4)], {"k": 1}, there="np.tril")
    yield case("transpose", "transpose", [F(2, 3, 4)], {"axes": (2, 0, 1)}, there="np.transpose")
    for mode in ("reflect", "edge"):
        width = {"mode": mode, "pad_width": (0, 0, 0, 0, 1, 0, 1, 1)}
        yield case("pad", "pad", [F(1, 1, 2, 3)], width, label=mode)
    constant = {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 0, 1, 1)}
    yield case(
        "pad",
        "pad",
        [F(1, 1, 2, 3), np.float32(2)],
        constant,
        attrs_there={**constant, "constant_value": 2.0},
        grad=1,
        label="constant",
    )
    yield case("depth_to_space", "depth_to_space", [F(1, 8, 2, 3)], {"block_size": 2}, there="nd.depth_to_space")
    yield case("space_to_depth", "space_to_depth", [F(1, 2, 4, 6)], {"block_size": 2}, there="nd.space_to_depth")
    yield case("cast", "cast", [np.float32([1.7, -1.7, 300.0])], {"dtype": "uint8"}, there="nd.cast", grad=0)


def _indexing():
    rows = np.int32([0, 5, -1, -5])
    for mode in ("clip", "wrap"):
        yield case("take", "take", [F(3, 2), rows], {"axis": 0, "mode": mode}, there="np.take", label=mode)
    yield case("take", "take", [F(3, 2), I(2, 2, 2)], {"axis": 1, "mode": "clip"}, there="np.take", label="axis1")
    yield case("take", "take", [F(3, 2), I(6, 4)], {"axis": None, "mode": "clip"}, there="np.take", label="flat")
    # MXNet's gradient of gather_nd puts negative indices elsewhere.
    yield case("gather_nd", "gather_nd", [F(2, 3), [[0, 1], [2, -1]]], label="negative", grad=0)
    yield case("gather_nd", "gather_nd", [F(2, 3), [[0, 1], [2, 1]]], label="both")
    yield case("gather_nd", "gather_nd", [F(2, 3), [[1, 0]]], label="rows")
    yield case("scatter_nd", "scatter_nd", [F(3), [[0, 1, 1], [0, 1, 0]]], {"shape": (2, 2)}, there="nd.scatter_nd")
    twice = np.int32([[0, 0], [1, 1]])
    yield case("index_add", "index_add", [F(2, 3), twice, F(2)], label="repeated")
    yield case("index_add", "index_add", [F(2, 3), np.int32([[0, 1]]), F(3)], label="rows", grad=1)
    yield case("index_add", "index_add", [F(2, 3), np.int32([[0, 1]]), F(2, 1)], label="broadcast", grad=1)
    yield case("index_update", "index_update", [F(2, 3), np.int32([[0, 1], [1, 2]]), F(2)])
    condition = np.array([[1, 0, 1], [0, 1, 0]], bool)
    yield case("where", "where", [condition, F(2, 3), F(2, 3)], there="np.where")


def _sequences():
    lengths = np.float32([1, 3])
    on = {"use_sequence_length": True}
    yield case("sequence_mask", "sequence_mask", [F(3, 2, 2), lengths], {**on, "value": -1.0}, grad=1, label="time")
    yield case("sequence_mask", "sequence_mask", [F(2, 3), lengths], {**on, "axis": 1}, grad=1, label="batch")
    yield case("sequence_mask", "sequence_mask", [F(3, 2, 2)], label="none")
    yield case("sequence_last", "sequence_last", [F(3, 2, 2), lengths], on, grad=1, label="time")
    yield case("sequence_last", "sequence_last", [F(2, 3, 2), lengths], {**on, "axis": 1}, grad=1, label="batch")
    yield case("sequence_last", "sequence_last", [F(3, 2, 2)], label="none")
    yield case("sequence_reverse", "sequence_reverse", [F(3, 2, 2), lengths], on, grad=1, label="time")
    yield case("sequence_reverse", "sequence_reverse", [F(3, 2, 2)], label="none")


def _reductions():
    for name in ("sum", "mean", "max", "min", "prod"):
        for axis in (None, 1, (0, 2)):
            yield case(name, name, [F(2, 3, 4)], {"axis": axis}, there="np." + name, label=str(axis))
        yield case(name, name, [F(2, 3)], {"axis": 0, "keepdims": True}, there="np." + name, label="keep")
    for name in ("sum", "prod", "max"):
        yield case(name, name, [I(5, 2, 3)], {"axis": 1}, there="np." + name, label="int")
    yield case("mean", "mean", [I(5, 2, 3)], {"axis": 1}, there="np.mean", label="int")
    for name in ("std", "var"):
        yield case(name, name, [F(2, 3, 4)], {"axis": 1}, there="np." + name, grad=0)
        yield case(
            name,
            name,
            [F(2, 3, 4)],
            {"axis": 1, "ddof": 1},
            attrs_there={"axis": 1, "correction": 1},
            there="np." + name,
            grad=0,
            label="ddof",
        )
    for name in ("argmax", "argmin"):
        yield case(name, name, [F(3, 4)], {"axis": 1}, there="np." + name, grad=0, label="1")
        yield case(name, name, [F(3, 4)], there="np." + name, grad=0, label="all")
    yield case("norm", "norm", [F(2, 3)], {"axis": 1}, label="2")
    yield case("norm", "norm", [F(2, 3)], {"axis": 0, "ord": 1, "keepdims": True}, label="1")
    yield case("cumsum", "cumsum", [F(2, 3)], {"axis": 1}, there="np.cumsum", label="1")
    yield case("cumsum", "cumsum", [F(2, 3)], there="np.cumsum", label="all")
    yield case("sort", "sort", [F(3, 4)], {"axis": 0}, there="np.sort", grad=0)
    yield case("sort", "sort", [F(3, 4)], {"descending": True}, there="np.sort", grad=0, label="down")
    yield case("argsort", "argsort", [F(3, 4)], {"axis": 1}, there="np.argsort", grad=0)
    yield case("dot", "dot", [F(2, 3), F(4, 3, 5)], there="np.dot")
    yield case("matmul", "matmul", [F(2, 2, 3), F(3, 4)], there="np.matmul")
    yield case("batch_dot", "batch_dot", [F(2, 3, 4), F(2, 5, 4)], {"transpose_b": True}, label="b")
    yield case("batch_dot", "batch_dot", [F(2, 4, 3), F(2, 4, 5)], {"transpose_a": True}, label="a")
    yield case("tensordot", "tensordot", [F(2, 3, 4), F(4, 3, 5)], {"axes": ((1, 2), (1, 0))}, there="np.tensordot")
    there = {"subscripts": "ij,jk->ik"}
    yield case("einsum", "einsum", [F(2, 3), F(3, 4)], there, there="np.einsum", attrs_there=there)
