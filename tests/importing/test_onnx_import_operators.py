"""Single nodes of an ONNX file, in the opsets in which they are written differently, against onnxruntime.

The newest form of each operator is in the tests of the package onnx, which `python -m tools.onnx_report` runs.
"""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from gluonx.onnx import import_model
from lib.onnx_served import handles, numbers, same
from tools import onnx_report

RNG = np.random.default_rng(0)


def real(*shape):
    return RNG.uniform(-1, 1, shape).astype("float32")


def ints(*values):
    return np.array(values, np.int64)


F = np.float32
CASES = [
    # operator, opset, data, constants behind them, attributes
    ("Clip", 6, [real(3, 4)], [], {"min": -0.5, "max": 0.25}),
    ("Clip", 11, [real(3, 4)], [None, F(0.25)], {}),
    ("Clip", 13, [real(3, 4)], [F(-0.5), F(0.25)], {}),
    ("Squeeze", 11, [real(1, 3, 1)], [], {"axes": [0, -1]}),
    ("Squeeze", 13, [real(1, 3, 1)], [ints(0, -1)], {}),
    ("Unsqueeze", 11, [real(3, 4)], [], {"axes": [0, 3]}),
    ("Unsqueeze", 13, [real(3, 4)], [ints(-1, 1)], {}),
    ("ReduceSum", 11, [real(2, 3, 4)], [], {"axes": [1], "keepdims": 0}),
    ("ReduceSum", 13, [real(2, 3, 4)], [ints(-1)], {}),
    ("ReduceMax", 13, [real(2, 3, 4)], [], {"axes": [0, 2]}),
    ("ReduceMax", 18, [real(2, 3, 4)], [ints(0, 2)], {"keepdims": 0}),
    ("ReduceMean", 18, [real(2, 3)], [], {"noop_with_empty_axes": 1}),
    ("ReduceLogSumExp", 13, [real(2, 3, 4)], [], {"axes": [-1]}),
    ("Slice", 9, [real(5, 6)], [], {"starts": [1, -3], "ends": [4, 1 << 40], "axes": [0, 1]}),
    ("Slice", 11, [real(5, 6)], [ints(4, 0), ints(-(1 << 40), 5), ints(0, 1), ints(-2, 2)], {}),
    ("Slice", 13, [real(5, 6)], [ints(-1), ints(0), ints(1), ints(-1)], {}),
    ("Pad", 10, [real(2, 3)], [], {"pads": [0, 1, 2, 0], "value": 0.5}),
    ("Pad", 11, [real(2, 3)], [ints(0, 1, 2, -1), F(0.5)], {}),
    ("Pad", 13, [real(4, 5)], [ints(1, 2, 3, 1)], {"mode": "reflect"}),
    ("Pad", 18, [real(4, 5)], [ints(2, 1), F(1), ints(1)], {"mode": "edge"}),
    ("Split", 11, [real(5, 4)], [], {"split": [2, 3], "axis": 0}),
    ("Split", 13, [real(5, 4)], [ints(1, 4)], {}),
    ("Split", 18, [real(5, 4)], [], {"num_outputs": 2}),
    ("Softmax", 11, [real(2, 3, 4)], [], {"axis": 1}),
    ("LogSoftmax", 11, [real(2, 3, 4)], [], {}),
    ("Softmax", 13, [real(2, 3, 4)], [], {"axis": 1}),
    ("Dropout", 7, [real(2, 3)], [], {"ratio": 0.4}),
    ("Dropout", 13, [real(2, 3)], [F(0.4)], {}),
    ("TopK", 9, [real(3, 6)], [], {"k": 2}),
    ("TopK", 11, [real(3, 6)], [ints(2)], {"axis": 0, "largest": 0}),
    ("Upsample", 9, [real(1, 2, 3, 3)], [np.array([1, 1, 2, 3], F)], {"mode": "nearest"}),
    ("Resize", 10, [real(1, 2, 3, 4)], [np.array([1, 1, 2, 0.5], F)], {"mode": "linear"}),
    ("Resize", 11, [real(1, 2, 4, 4)], [np.zeros(0, F), np.zeros(0, F), ints(1, 2, 7, 3)],
     {"mode": "cubic", "coordinate_transformation_mode": "align_corners"}),
    ("Resize", 13, [real(1, 2, 4, 4)], [None, np.array([1, 1, 2, 1.5], F)],
     {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}),
    ("Resize", 18, [real(1, 2, 4, 4)], [None, None, ints(8, 6)], {"axes": [2, 3], "nearest_mode": "floor"}),
    ("BatchNormalization", 9, [real(2, 3, 4)], [real(3), real(3), real(3), real(3) + 2], {"epsilon": 1e-3}),
    ("BatchNormalization", 15, [real(2, 3)], [real(3), real(3), real(3), real(3) + 2], {}),
    ("GroupNormalization", 18, [real(2, 4, 3)], [real(2), real(2)], {"num_groups": 2}),
    ("GroupNormalization", 21, [real(2, 4, 3)], [real(4), real(4)], {"num_groups": 2}),
    ("LayerNormalization", 17, [real(2, 3, 4)], [real(3, 4), real(3, 4)], {"axis": 1}),
    ("Gemm", 11, [real(3, 2)], [real(4, 3), real(2, 1)], {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    ("Gemm", 13, [real(2, 3)], [real(4, 3), real(4)], {"transB": 1}),
    ("Div", 14, [np.array([7, -7, 7, -7], np.int32), np.array([2, 2, -2, -2], np.int32)], [], {}),
    ("Conv", 11, [real(2, 4, 7, 6)], [real(6, 2, 3, 2), real(6)],
     {"group": 2, "pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]}),
    ("Conv", 11, [real(1, 2, 7)], [real(3, 2, 4)], {"auto_pad": "SAME_UPPER", "strides": [2]}),
    ("Conv", 11, [real(1, 2, 7)], [real(3, 2, 4)], {"auto_pad": "SAME_LOWER", "strides": [2]}),
    ("ConvTranspose", 11, [real(1, 4, 5, 4)], [real(4, 3, 3, 3), real(6)],
     {"group": 2, "strides": [2, 2], "pads": [1, 0, 0, 1], "output_padding": [1, 0]}),
    ("ConvTranspose", 11, [real(1, 2, 5)], [real(2, 3, 3)], {"strides": [2], "output_shape": [10]}),
    ("ConvTranspose", 11, [real(1, 2, 5)], [real(2, 3, 3)], {"strides": [2], "auto_pad": "SAME_UPPER"}),
    ("MaxPool", 12, [real(1, 2, 7, 8)], [], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    ("MaxPool", 12, [real(1, 2, 9)], [], {"kernel_shape": [3], "dilations": [2], "pads": [1, 2]}),
    ("AveragePool", 11, [real(1, 2, 7, 8)], [], {"kernel_shape": [3, 2], "pads": [1, 0, 0, 1], "strides": [2, 2]}),
    ("AveragePool", 19, [real(1, 2, 7)], [],
     {"kernel_shape": [3], "strides": [2], "ceil_mode": 1, "count_include_pad": 1, "pads": [1, 0]}),
    ("LSTM", 14, [real(4, 2, 3)], [real(2, 20, 3), real(2, 20, 5), real(2, 40), np.array([4, 2], np.int32),
     real(2, 2, 5), real(2, 2, 5), real(2, 15)], {"hidden_size": 5, "direction": "bidirectional"}),
    ("LSTM", 14, [real(4, 2, 3)], [real(1, 20, 3), real(1, 20, 5), real(1, 40), np.array([4, 2], np.int32)],
     {"hidden_size": 5, "direction": "reverse"}),
    ("GRU", 14, [real(4, 2, 3)], [real(2, 15, 3), real(2, 15, 5), real(2, 30)],
     {"hidden_size": 5, "direction": "bidirectional"}),
    ("GRU", 14, [real(4, 2, 3)], [real(1, 15, 3), real(1, 15, 5), real(1, 30), None, real(1, 2, 5)],
     {"hidden_size": 5, "linear_before_reset": 1}),
    ("RNN", 14, [real(4, 2, 3)], [real(1, 5, 3), real(1, 5, 5)],
     {"hidden_size": 5, "activations": ["Relu"], "clip": 0.3}),
    ("Gather", 11, [real(4, 3)], [ints(-1, 0, 2)], {"axis": 0}),
    ("GatherND", 12, [real(2, 3, 4), ints(1, 2)[:, None]], [], {"batch_dims": 1}),
    ("ScatterElements", 13, [real(3, 4), ints(1, 0)[None], real(1, 2)], [], {"axis": 1}),
    ("ScatterND", 16, [real(4, 2), ints(1, 3, 1)[:, None], real(3, 2)], [], {"reduction": "add"}),
    ("OneHot", 11, [ints(1, -1, 3)], [ints(4), np.array([2, 5], F)], {"axis": 0}),
    ("QuantizeLinear", 13, [real(2, 3) * 100], [np.array([0.5, 1, 2], F), np.zeros(3, np.int8)], {"axis": 1}),
    ("DequantizeLinear", 13, [np.array([[1, 200], [3, 4]], np.uint8)], [F(0.1), np.uint8(7)], {}),
]  # fmt: skip
COUNTS = {"Split": 2, "TopK": 2, "LSTM": 3, "GRU": 2, "RNN": 2}


def graph_of(kind, opset, data, constants, attrs):
    names = [f"x{i}" for i in range(len(data))]
    put = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, data)
    ]
    known = [numpy_helper.from_array(np.asarray(a), f"c{i}") for i, a in enumerate(constants) if a is not None]
    inputs = names + [f"c{i}" if a is not None else "" for i, a in enumerate(constants)]
    outputs = [f"y{i}" for i in range(COUNTS.get(kind, 1))]
    node = helper.make_node(kind, inputs, outputs, **attrs)
    infos = [onnx.ValueInfoProto(name=n) for n in outputs]
    graph = helper.make_graph([node], "g", put, infos, known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{c[0]}-{c[1]}" for i, c in enumerate(CASES)])
def test_as_onnxruntime(case):
    proto, data = graph_of(*case), case[2]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = session.run(None, {f"x{i}": a for i, a in enumerate(data)})
    net = import_model(proto)
    for hybrid in (False, True):
        net.hybridize(hybrid)
        found = net(*handles(data))
        same(numbers(found), wanted)


@pytest.mark.dear
def test_models_that_pytorch_wrote_run_as_they_say():
    wrong = {}
    for case in onnx_report.cases(["simple", "operator"]):
        told = onnx_report.outcome(case)
        if told.startswith("wrong"):
            wrong[case.name] = told
    assert wrong == {}


@pytest.mark.slow
def test_the_tests_of_the_package_onnx():
    outcomes = {case.name: onnx_report.outcome(case) for case in onnx_report.cases()}
    assert {name: told for name, told in outcomes.items() if told.startswith("wrong")} == {}
    refused = [told for told in outcomes.values() if told != "right"]
    assert len(refused) < 0.16 * len(outcomes), onnx_report.summary(outcomes)
