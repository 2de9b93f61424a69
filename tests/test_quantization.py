"""quantize_net: the numbers of int8, folding, calibration, exports, and what is refused with which name."""

import jax
import numpy as onp
import onnx
import pytest

import gluonx as mx
from gluonx import autograd, nn, np, npx
from gluonx.contrib import quantization
from gluonx.contrib.quantization import CalibrationCollector, quantize_net
from gluonx.gluon.data import ArrayDataset, DataLoader
from gluonx.nn import HybridSequential
from gluonx.ops import get
from lib.onnx_served import saturates, served

IMAGES = onp.random.default_rng(0).normal(size=(32, 3, 8, 8)).astype("float32")
EXACT = (True,) if saturates() else (True, False)  # onnxruntime from real numbers, and by its kernels of bytes


class Net(nn.HybridBlock):
    """Everything that matters once: folding, a norm that must stay, relu, pooling, dense, and a layer in two places."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(8, 3, padding=1, use_bias=False)
        self.norm = nn.BatchNorm()
        self.again = nn.Conv2D(8, 3, padding=1)  # its output is used twice
        self.kept = nn.BatchNorm()
        self.body = HybridSequential()
        self.body.add(nn.MaxPool2D(), nn.Conv2D(8, 3, groups=2, activation="relu"), nn.Dense(16, activation="relu"))
        self.out = nn.Dense(4)

    def forward(self, x):
        x = npx.relu(self.norm(self.conv(x)))
        y = self.again(x)
        return self.out(self.body(npx.relu(self.kept(y)) + y))


@pytest.fixture(scope="module")
def net():
    made = Net()
    made.initialize(mx.init.Xavier())
    with autograd.record():  # moves the averages away from 0 and 1
        for _ in range(3):
            made(np.array(IMAGES * 2 + 1))
    return made


def loader(batch=16):
    return DataLoader(ArrayDataset(IMAGES, onp.zeros(len(IMAGES))), batch_size=batch)


def distance(one, other):
    a, b = (x if isinstance(x, onp.ndarray) else x.asnumpy() for x in (one, other))
    return abs(a - b).max() / abs(b).max()


@pytest.mark.dear
@pytest.mark.parametrize("layout", ["NCW", "NCHW", "NHWC", "NCDHW"])
@pytest.mark.parametrize(("groups", "filters"), [(1, 5), (2, 6), (4, 4)])
def test_products_are_exact(layout, groups, filters):
    """The operator is the convolution of the rounded numbers, padding and zero points included."""
    count, channel = len(layout) - 2, layout.index("C")
    numbers = onp.random.default_rng(0)
    x = abs(numbers.normal(size=(2, 4, *[7] * count))).astype("float32")
    weight = numbers.integers(-127, 128, (filters, 4 // groups, *[3] * count)).astype("int8")
    scale, bias = numbers.uniform(0.01, 0.02, filters).astype("float32"), numbers.normal(size=filters).astype("float32")
    x, weight = onp.moveaxis(x, 1, channel), onp.moveaxis(weight, 1, channel)
    attrs = {"stride": (2,) * count, "pad": (1,) * count, "num_group": groups, "layout": layout}
    for unsigned, step in ((False, 0.03), (True, 0.01)):
        given = x if unsigned else x - 1
        bounds = (0, 255) if unsigned else (-128, 127)
        rounded = onp.clip(onp.rint(given / onp.float32(step)), *bounds) * onp.float32(step)
        real = weight * scale.reshape(-1, *[1] * (count + 1))
        steps = onp.array([step], "float32")
        with jax.numpy_rank_promotion("raise"):
            found = get("int8_convolution").bind(unsigned=unsigned, **attrs).fn(given, weight, scale, steps, bias)
        wanted = get("convolution").bind(**attrs).fn(rounded, real, bias)
        onp.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_products_are_of_int8():
    """What XLA is given multiplies bytes and sums int32; no float of a weight's size is in the program."""
    op = get("int8_fully_connected").bind()
    text = str(jax.make_jaxpr(op.fn)(*[onp.ones(s, d) for s, d in (((2, 8), "f"), ((4, 8), "i1"), (4, "f"), (1, "f"))]))
    assert "preferred_element_type=int32" in text and "f32[4,8]" not in text


@pytest.mark.parametrize("mode", ["none", "naive", "entropy"])
@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
def test_near_the_net_itself(net, mode, granularity):
    small = quantize_net(net, calib_data=loader(), calib_mode=mode, quantize_granularity=granularity)
    x = np.array(IMAGES)
    # Entropy clips what is rare; of 32 random images that is a part of what counts.
    assert distance(small(x), net(x)) < (0.3 if mode == "entropy" else 0.05)
    assert type(small) is Net and isinstance(small.norm, nn.Identity)
    assert isinstance(small.kept, nn.BatchNorm), "its input is read by somebody else"
    assert small.conv.weight.shape == net.conv.weight.shape and small.conv.weight.dtype == "int8"
    assert small.conv.weight_scale.shape == ((8,) if granularity == "channel-wise" else (1,))
    assert isinstance(net.conv, nn.Conv2D) and net.norm.gamma.data().dtype == "float32", "the net stays as it was"
    if mode != "none":
        kinds = [layer._op.attrs["unsigned"] for layer in (small.conv, small.again, small.out)]
        assert kinds == [False, True, True]


@pytest.mark.dear
def test_one_program_and_no_gradient(net):
    small = quantize_net(net, calib_data=loader(), calib_mode="naive")
    x = np.array(IMAGES)
    x.attach_grad()
    with autograd.record():
        loss = small(x).sum()
    loss.backward()
    assert not x.grad.asnumpy().any() and not any(p.grad_req != "null" for p in small.conv.collect_params().values())
    small.cast("float16")
    assert small.conv.weight.dtype == "int8" and small.out.weight_scale.dtype == "float32"


def test_shapes_that_are_not_known_yet_and_one_layer_in_two_places():
    layer = nn.Dense(6, flatten=False)
    net = HybridSequential()
    net.add(layer, nn.Activation("relu"), layer)
    net.initialize()
    data = onp.random.default_rng(0).normal(size=(16, 6)).astype("float32")
    small = quantize_net(net, calib_data=[data], calib_mode="naive")
    assert small[0] is small[2] and distance(small(np.array(data)), net(np.array(data))) < 0.1
    single = quantize_net(nn_dense := net[0], data_shapes=[(2, 6)])
    assert type(single).__name__ == "QuantizedDense" and nn_dense is net[0]


def test_exclusions(net):
    def stay(**said):
        small = quantize_net(net, data_shapes=[(1, 3, 8, 8)], **said)
        places = {
            "conv": small.conv,
            "again": small.again,
            "body.1": small.body[1],
            "body.2": small.body[2],
            "out": small.out,
        }
        return [place for place, layer in places.items() if not type(layer).__name__.startswith("Quantized")]

    assert stay() == []
    assert stay(exclude_layers=["conv", "body.2"]) == ["conv", "body.2"]
    assert stay(exclude_layers=["body"]) == ["body.1", "body.2"]
    assert stay(exclude_layers_match=["a*", "ou"]) == ["again", "out"]
    assert stay(exclude_operators=["Convolution"]) == ["conv", "again", "body.1"]
    assert stay(exclude_operators=["fully_connected"]) == ["body.2", "out"]


class Fixed(CalibrationCollector):
    ranges = None

    def collect(self, name, op_name, arr):
        assert name in self.include_layers and op_name in ("convolution", "fully_connected") and arr.ndim >= 2
        self.min_max_dict[name] = (np.array([-1.0]), np.array([1.0]))

    def post_collect(self):
        return self.min_max_dict if self.ranges is None else self.ranges


def test_a_collector_of_ones_own(net):
    small = quantize_net(net, "int8", calib_data=loader(), calib_mode="custom", LayerOutputCollector=Fixed())
    assert small.conv.data_scale.data().item() == pytest.approx(1 / 127)


def of(ranges):
    made = Fixed()
    made.ranges = ranges
    return {"calib_mode": "custom", "LayerOutputCollector": made, "calib_data": loader()}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "calib_data or data_shapes is needed"),
        ({"calib_mode": "naive"}, "needs calib_data"),
        ({"calib_mode": "naive", "calib_data": []}, "gave no batch"),
        ({"calib_mode": "naive", "calib_data": 3}, "must be a DataLoader"),
        ({"calib_mode": "naive", "calib_data": [IMAGES * onp.nan]}, "range of layer 'conv' is nan"),
        ({"calib_mode": "entropy", "calib_data": [IMAGES * onp.inf]}, "range of layer 'conv'"),
        ({"calib_mode": "naive", "calib_data": [[]]}, "takes 1 inputs, but batch 1"),
        ({"calib_mode": "naive", "calib_data": loader(), "num_calib_batches": 0}, "at least 1"),
        ({"calib_mode": "magic"}, "calib_mode is 'magic'"),
        ({"quantized_dtype": "int4"}, "quantized_dtype is 'int4'"),
        ({"quantize_mode": "x"}, "quantize_mode is 'x'"),
        ({"quantize_granularity": "row"}, "quantize_granularity is 'row'"),
        ({"quantized_dtype": "uint8", "data_shapes": [(1, 3, 8, 8)]}, "it must be known that data have none"),
        (
            {"quantized_dtype": "uint8", "calib_mode": "naive", "calib_data": loader()},
            "input of layer 'conv' goes down to",
        ),
        (
            {"exclude_layers": ["conv9"], "data_shapes": [(1, 3, 8, 8)]},
            "'conv9', which is no layer; there are 'conv', 'ag",
        ),
        ({"exclude_layers_match": ["zzz"], "data_shapes": [(1, 3, 8, 8)]}, "'zzz', which fits no layer"),
        ({"exclude_operators": ["Conv9"], "data_shapes": [(1, 3, 8, 8)]}, "'Conv9', which is no operator"),
        ({"exclude_layers_match": ["*"], "data_shapes": [(1, 3, 8, 8)]}, "Net has no Dense or Conv layer"),
        ({"calib_mode": "custom", "calib_data": loader()}, "belong together"),
        (of({}), "gave no range for layer 'conv'"),
        (
            of(dict.fromkeys(["conv", "again", "body.1", "body.2", "out"], 3)),
            "range of layer 'conv' is 3, not two numbers",
        ),
        (
            of(dict.fromkeys(["conv", "again", "body.1", "body.2", "out"], (2, 1))),
            "range of layer 'conv' is 2.0 to 1.0",
        ),
    ],
)
def test_refused(net, said, message):
    with pytest.raises((ValueError, TypeError), match=message):
        quantize_net(net, **said)


def test_a_forward_of_any_number_of_inputs_is_told_how_many():
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(2, in_units=3)

        def forward(self, *inputs):
            return self.dense(inputs[0]) + inputs[1]

    net = Net()
    net.initialize()
    batch = [onp.ones((4, 3), "float32"), onp.ones((4, 2), "float32")]
    with pytest.raises(ValueError, match=r"any number of inputs.*2 items; data_shapes"):
        quantize_net(net, calib_data=[batch], calib_mode="naive")
    small = quantize_net(net, calib_data=[batch], data_shapes=[(4, 3), (4, 2)], calib_mode="naive")
    arrays = [np.array(x) for x in batch]
    assert distance(small(*arrays), net(*arrays)) < 0.05


def test_no_block_is_refused():
    with pytest.raises(TypeError, match="HybridBlock was expected"):
        quantize_net(lambda x: x)
    with pytest.raises(AttributeError, match="quantize_net"):
        quantization.quantize_model  # noqa: B018


@pytest.mark.dear
def test_artifact(net, tmp_path):
    small = quantize_net(net, calib_data=loader(), calib_mode="naive")
    x = np.array(IMAGES[:2])
    wanted = small(x)
    small.export(tmp_path / "small", buckets=[2])
    net(x)
    net.hybridize()
    net(x)
    net.export(tmp_path / "whole")
    net.hybridize(False)
    loaded = mx.load(tmp_path / "small")
    assert distance(loaded(x), wanted) < 1e-5 and distance(loaded.predictor()(IMAGES[:2]), wanted) < 1e-5
    assert {str(p.dtype) for name, p in loaded.collect_params().items() if name.endswith(".weight")} == {"int8"}
    weights = {name: p for name, p in small.collect_params().items() if name.endswith(".weight")}
    assert sum(p.data().nbytes for p in weights.values()) * 4 == sum(
        net.collect_params()[n].data().nbytes for n in weights
    )
    small.export(tmp_path / "last", layout="NHWC")
    assert distance(mx.load(tmp_path / "last")(x.transpose(0, 2, 3, 1)), wanted) < 1e-5


@pytest.mark.dear
@pytest.mark.parametrize(
    ("mode", "granularity"), [("naive", "channel-wise"), ("naive", "tensor-wise"), ("none", "channel-wise")]
)
def test_onnx(net, tmp_path, mode, granularity):
    small = quantize_net(net, calib_data=loader(), calib_mode=mode, quantize_granularity=granularity)
    small(np.array(IMAGES[:2]))
    path = small.export(tmp_path / "small", format="onnx")
    for exact in EXACT:
        found = served(path, [IMAGES], exact)[0]
        assert distance(found, small(np.array(IMAGES))) < 0.02  # a runtime may round a step the other way
    graph = onnx.load(path).graph
    kinds = [node.op_type for node in graph.node]
    assert kinds.count("Conv") == 3 and kinds.count("Gemm") == 2 and "QuantizeLinear" in kinds
    stored = {t.name: t.data_type for t in graph.initializer}
    assert stored["conv.weight"] == onnx.TensorProto.INT8


def test_onnx_of_sequences_and_channels_last(tmp_path):
    net = HybridSequential()
    net.add(nn.Conv2D(4, 3, layout="NHWC"), nn.Dense(3, flatten=False))
    net.initialize()
    x = onp.random.default_rng(0).normal(size=(2, 5, 6, 3)).astype("float32")
    small = quantize_net(net, calib_data=[x], calib_mode="naive")
    wanted = small(np.array(x))
    path = small.export(tmp_path / "a", format="onnx")
    for exact in EXACT:
        assert distance(served(path, [x], exact)[0], wanted) < 0.02
