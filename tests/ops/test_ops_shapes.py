"""Shape rules complete what is unknown, and errors name the operator and both shapes."""

import jax.numpy as jnp
import numpy as np
import pytest

from gluonx import ops
from gluonx.errors import ShapeError

CONV = {"kernel": (3, 3), "num_filter": 8}
V = (5,)

RULES = [
    ("fully_connected", {"num_hidden": 4}, [(2, 3, 5), None, None], [(2, 3, 5), (4, 15), (4,)]),
    ("fully_connected", {"num_hidden": 4, "flatten": False}, [(2, 3, 5), (4, -1), (0,)], [(2, 3, 5), (4, 5), (4,)]),
    ("fully_connected", {}, [(2, 5), (4, 0), None], [(2, 5), (4, 5), (4,)]),
    ("fully_connected", {"num_hidden": 4}, [(-1, 5), None], [(-1, 5), (4, 5)]),
    ("fully_connected", {"num_hidden": 4}, [None, None], [None, (4, -1)]),
    ("embedding", {"input_dim": 10, "output_dim": 4}, [(2, 3), None], [(2, 3), (10, 4)]),
    ("convolution", CONV, [(2, 3, 9, 9), None, None], [(2, 3, 9, 9), (8, 3, 3, 3), (8,)]),
    ("convolution", CONV, [(2, 3, 9, 9), (8, 0, 3, 3)], [(2, 3, 9, 9), (8, 3, 3, 3)]),
    ("convolution", {**CONV, "layout": "NHWC"}, [(2, 9, 9, 3), None], [(2, 9, 9, 3), (8, 3, 3, 3)]),
    ("convolution", {**CONV, "num_group": 2}, [(2, 6, 9, 9), None], [(2, 6, 9, 9), (8, 3, 3, 3)]),
    ("convolution", {"kernel": (2,), "num_filter": 4}, [(2, 3, 9), None], [(2, 3, 9), (4, 3, 2)]),
    ("deconvolution", {**CONV, "num_group": 2}, [(2, 6, 9, 9), None, None], [(2, 6, 9, 9), (6, 4, 3, 3), (8,)]),
    ("deconvolution", {**CONV, "layout": "NHWC"}, [(2, 9, 9, 5), None], [(2, 9, 9, 5), (5, 3, 3, 8)]),
    ("batch_norm", {}, [(2, 5, 3), None, (0,), (-1,), None], [(2, 5, 3), V, V, V, V]),
    ("batch_norm", {"axis": -1}, [(2, 3, 5), None, None, None, None], [(2, 3, 5), V, V, V, V]),
    ("layer_norm", {}, [(2, 3, 5), None, None], [(2, 3, 5), V, V]),
    ("group_norm", {"num_groups": 5}, [(2, 5, 3), None, None], [(2, 5, 3), V, V]),
    ("instance_norm", {}, [(2, 5, 3), None, None], [(2, 5, 3), V, V]),
    ("rms_norm", {}, [(2, 5), None], [(2, 5), V]),
    ("leaky_relu", {"act_type": "prelu"}, [(2, 5, 3), None], [(2, 5, 3), V]),
    ("leaky_relu", {"act_type": "prelu"}, [(2, 5, 3), (1,)], [(2, 5, 3), (1,)]),
]


@pytest.mark.parametrize("name, attrs, given, wanted", RULES)
def test_inference(name, attrs, given, wanted):
    assert ops.get(name).bind(**attrs).infer(given) == wanted


CLASHES = [
    (
        "fully_connected",
        {"num_hidden": 4},
        [(2, 5), (4, 6)],
        "fully_connected: weight has shape (4, 6), but data of shape (2, 5) with num_hidden=4 needs (4, 5)",
    ),
    (
        "convolution",
        CONV,
        [(2, 3, 9, 9), (8, 4, 3, 3)],
        "convolution: weight has shape (8, 4, 3, 3), but data of shape (2, 3, 9, 9) with kernel=(3, 3), num_filter=8, "
        "num_group=1 needs (8, 3, 3, 3)",
    ),
    ("convolution", {**CONV, "num_group": 2}, [(2, 3, 9, 9), None], "which num_group=2 does not divide"),
    ("layer_norm", {}, [(2, 5), (4,), None], "has shape (4,), but data of shape (2, 5) needs (5,)"),
]


@pytest.mark.parametrize("name, attrs, given, message", CLASHES)
def test_contradictions(name, attrs, given, message):
    with pytest.raises(ShapeError) as error:
        ops.get(name).bind(**attrs).infer(given)
    assert message in str(error.value)


def Z(*shape):
    return jnp.zeros(shape)


MISTAKES = [
    ("fully_connected", [Z(2, 5), Z(4, 6)], {}, "weight has shape (4, 6), but data of shape (2, 5) (flattened) needs "),
    ("fully_connected", [Z(2, 5), Z(4, 5), Z(3)], {}, "bias has shape (3,), but 4 units need (4,)"),
    ("convolution", [Z(1, 3, 5, 5), Z(2, 2, 3, 3)], {}, "does not fit data of shape (1, 3, 5, 5) (NCHW)"),
    ("convolution", [Z(1, 3, 5, 5), Z(2, 3, 3, 3), Z(3)], {}, "bias has shape (3,), but 2 filters need (2,)"),
    ("convolution", [Z(3, 5), Z(2, 3, 3)], {}, "data has 2 axes, but 3 to 5 axes"),
    ("convolution", [Z(1, 3, 5), Z(2, 3, 3)], {"layout": "NCHW"}, "data has 3 axes, but 4 axes (NCHW)"),
    ("convolution", [Z(1, 3, 5), Z(2, 3, 3)], {"stride": (1, 2)}, "expected 1 numbers"),
    (
        "deconvolution",
        [Z(1, 1, 3), Z(1, 1, 3)],
        {"target_shape": (9,)},
        "is larger than data of shape (1, 1, 3) can give",
    ),
    ("pooling", [Z(1, 1, 3, 3)], {"kernel": (4, 4)}, "a window of 4 with stride 1 and padding 0 does not fit"),
    ("batch_norm", [Z(2, 3), Z(2), Z(3), Z(3), Z(3)], {}, "gamma has shape (2,), but axis 1 of data of shape (2, 3)"),
    ("group_norm", [Z(2, 5, 3), Z(5), Z(5)], {"num_groups": 2}, "do not make 2 groups"),
    ("embedding", [Z(2), Z(3, 4)], {"input_dim": 5}, "weight has shape (3, 4)"),
    ("softmax", [Z(2, 3), Z(3)], {"use_length": True}, "length has shape (3,), but data of shape (2, 3)"),
    ("masked_softmax", [Z(2, 3), Z(2, 2)], {}, "mask has shape (2, 2) and does not broadcast"),
    ("pick", [Z(2, 3), Z(3)], {}, "index has shape (3,), but data of shape (2, 3) along axis 1"),
    ("topk", [Z(2, 3)], {"k": 4}, "k is 4, but axis 1 of data of shape (2, 3) has 3 elements"),
    ("reshape", [Z(2, 3)], {"newshape": (4, -1)}, "reshape of (2, 3) to (4, -1): 6 elements cannot fill (4, 1)"),
    ("reshape", [Z(2, 3)], {"newshape": (-3, -1)}, "-3 skips an axis of length 1 only"),
    ("concatenate", [Z(2, 3), Z(3, 3)], {"axis": 1}, "(2, 3), (3, 3), which may differ along axis 1 only"),
    ("split", [Z(5, 2)], {"indices_or_sections": 3}, "does not make 3 equal parts"),
    ("matmul", [Z(2, 3), Z(4, 5)], {}, "matmul: arrays of shapes (2, 3) and (4, 5) have no product"),
    ("softmax", [Z(2, 3)], {"axis": 2}, "axis 2 does not exist in an array of 2 axes"),
    ("sequence_mask", [Z(3, 2), Z(3)], {"use_sequence_length": True}, "sequence_length has shape (3,)"),
    ("leaky_relu", [Z(2, 3), Z(4)], {"act_type": "prelu"}, "gamma has shape (4,)"),
]


@pytest.mark.parametrize("name, arrays, attrs, message", MISTAKES)
def test_mistakes(name, arrays, attrs, message):
    with pytest.raises(ShapeError) as error:
        ops.get(name).bind(**attrs)(*arrays)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "name, attrs, message",
    [
        (
            "activation",
            {"act_type": "reluu"},
            "There is no activation 'reluu'; did you mean 'relu'?",
        ),
        ("pooling", {"kernel": (1,), "pool_type": "median"}, "pool_type is 'median'"),
        ("pooling", {}, "kernel, the size of the window, is needed"),
        ("topk", {"ret_typ": "all"}, "ret_typ is 'all'"),
        ("dropout", {"p": 1.5, "training": True}, "p is 1.5, but must be a probability"),
        ("leaky_relu", {"act_type": "prelu"}, "needs the slopes as a second array"),
        ("softmax", {"use_length": True}, "needs the lengths as a second array"),
        ("norm", {"ord": 3}, "ord is 3, but must be one of 1, 2"),
    ],
)
def test_unknown_modes(name, attrs, message):
    with pytest.raises(ValueError) as error:
        bound = ops.get(name).bind(**attrs)
        bound(*([None] if bound.random else []), np.zeros((1, 1, 3), np.float32))
    assert message in str(error.value)
