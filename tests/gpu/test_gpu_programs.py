"""Layers, losses and models compile for a GPU, forward and backward, and what it would run is looked at; without a GPU.

Needs the extra ``gpu-plan``; ``make test-gpu`` installs it, and compiles all of these, models in bfloat16 as well. Any
other run takes a sample.
"""

import os
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import amp, init, loss, nn, optimizer, parallel, rnn
from gluonx.errors import DeviceError
from gluonx.model_zoo.vision import get_model
from gluonx.ops import get, recurrence
from gluonx.ops.recurrence import StepLayout
from gluonx.parallel import hlo, planning, topologies
from lib.contract import LAYERS, LOSSES
from lib.golden import load_cases
from lib.meshes import on
from lib.sweep import build


def _is_there():
    try:
        topologies.single("h100")
    except DeviceError:
        return False
    return True


pytestmark = pytest.mark.slow
MODELS = load_cases("model_zoo").MODELS
SAMPLE = ("mobilenet0.25", "resnet18_v1")
everything = os.environ.get("GLUONX_TEST_GPU") == "all"
beyond = pytest.mark.skipif(not everything, reason="make test-gpu compiles all of them")
HOST = re.compile(r"callback|host_compute|SendToHost|infeed|outfeed")


@pytest.fixture(scope="module")
def chip():
    if not _is_there():
        pytest.skip("the extra gpu-plan is not installed")
    return topologies.single("h100")


def compile_for(chip, fn, *args):
    structs = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=chip), args)
    lowered = jax.jit(fn).lower(*structs)
    with topologies.quietly():
        text = lowered.compile().as_text()
    assert not HOST.search(text)
    assert "f64[" not in text
    return text


def gradient(block, arrays, chip, dtype="float32"):
    """Compile the sum of squares of a block's outputs in training with its gradient, and return the program's text."""
    arrays = [onp.asarray(a) for a in arrays]
    arrays = [a.astype(jnp.dtype(dtype)) if a.dtype == "float32" else a for a in arrays]
    pure = gluonx.functional(block)

    def value(params, inputs, state, key, rest):
        given = [inputs.get(i, x) for i, x in enumerate(rest)]
        out, new = pure.apply(params, state, key, *given, train=True)
        leaves = [x for x in jax.tree.leaves(out) if jnp.issubdtype(x.dtype, jnp.floating)]
        return sum((x.astype(jnp.float32) ** 2).sum() for x in leaves), new

    given = {i: a for i, a in enumerate(arrays) if jnp.issubdtype(a.dtype, jnp.floating)}
    fn = jax.value_and_grad(value, argnums=(0, 1), has_aux=True)
    return compile_for(chip, fn, pure.params, given, pure.state, jax.random.key(0), arrays)


NO_TILES = pytest.mark.xfail(strict=True, reason="jax 0.10.2: XLA finds no tiles for products of so few numbers")
TOO_FEW = ("attention-cross", "encoder-layer", "decoder-layer")


def in_sample(rows):
    return [
        pytest.param(row, id=row.key, marks=[beyond] * (i % 12 > 0) + [NO_TILES] * (row.key in TOO_FEW))
        for i, row in enumerate(rows)
    ]


@pytest.mark.parametrize("row", in_sample(LAYERS))
def test_layers(row, chip):
    gradient(build(row, nn), row.inputs(), chip)


@beyond
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.key, marks=NO_TILES if row.key in TOO_FEW else ()) for row in LAYERS]
)
def test_layers_in_16_bits(row, dtype, chip):
    block = build(row, nn)
    block.cast(dtype)
    gradient(block, row.inputs(), chip, dtype)


@pytest.mark.parametrize("row", in_sample(LOSSES))
def test_losses(row, chip):
    gradient(build(row, gluonx.loss), row.inputs(), chip)


@beyond
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("row", [pytest.param(row, id=row.key) for row in LOSSES])
def test_losses_in_16_bits(row, dtype, chip):
    gradient(build(row, gluonx.loss), row.inputs(), chip, dtype)


@pytest.mark.parametrize("name", ["DeformableConvolution", "ModulatedDeformableConvolution"])
@pytest.mark.parametrize("filters", [4, 64])
def test_deformable_convolutions(name, filters, chip):
    """Their gradient with few filters is one for which XLA found no tiles."""
    layer = getattr(nn, name)(filters, kernel_size=(3, 3), in_channels=4)
    layer.initialize()
    gradient(layer, [onp.zeros((2, 4, 8, 8), "float32")], chip)


@pytest.mark.parametrize("dtype", ["float32", *[pytest.param(d, marks=beyond) for d in ("bfloat16", "float16")]])
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_recurrent_layers(kind, dtype, chip):
    """The whole of the time is one loop forward and one backward, which tell how often they run."""
    layer = getattr(rnn, kind)(16, 1, layout="NTC", input_size=8)
    layer.initialize()
    layer.cast(dtype)
    found = hlo.read(gradient(layer, [onp.zeros((4, 7, 8), "float32")], chip, dtype), on(1, data=1))
    assert found.loops == 2 and found.unknown == 0


@pytest.mark.parametrize(
    ("mesh", "dropout", "batch"),
    [("h100:1", 0.0, 4), ("h100:1", 0.5, 4), ("h100:2", 0.0, 4), ("h100:2", 0.5, 6)],
)
def test_a_step_with_an_lstm_of_cudnn(mesh, dropout, batch, chip, monkeypatch):
    """One call a direction where nothing is dropped between layers, else one for each layer; a device has its part.

    JAX asks a device how much memory cuDNN needs. There is none, so the sizes are made up.
    """
    monkeypatch.setattr("gluonx.ops.cudnn._devices", lambda: 1)
    monkeypatch.setattr("jaxlib.gpu_rnn.compute_rnn_workspace_reserve_space_sizes", lambda *_: (4096, 8192))
    net = nn.HybridSequential()
    net.add(rnn.LSTM(24, 2, layout="NTC", input_size=12, dropout=dropout), nn.Dense(8, in_units=5 * 24))
    net.hybridize()
    struct = jax.ShapeDtypeStruct
    given = (net, struct((batch, 5, 12), "float32"), loss.SoftmaxCrossEntropyLoss(), "sgd", None)
    recorded = planning._recorded(*given, struct((batch,), "int32"), mesh, None, (), False)
    text = recorded.compile().as_text()
    found = hlo.read(text, recorded.mesh)
    count = 2 if dropout else 1
    assert {name: n for name, n in found.calls.items() if "rnn" in name} == {
        "cudnn_rnn_ffi": count, "cudnn_rnn_bwd_ffi": count
    }  # fmt: skip
    assert found.loops == 0 and not HOST.search(text)
    assert {c["kind"] for c in found.collectives} == ({"all-reduce"} if mesh == "h100:2" else set())
    outputs = re.findall(r"= \((f32\[[\d,]+\])[^=]*custom_call_target=\"cudnn_rnn_ffi\"", text)
    assert outputs == [f"f32[{batch // recorded.mesh.size},5,24]"] * count


def test_a_planned_recurrent_layer_has_no_form_of_cpus(chip, monkeypatch):
    """On a CPU states of such a batch lie as columns; a plan for a GPU leaves their layout to XLA."""
    asked = []
    monkeypatch.setattr(recurrence, "StepLayout", lambda columns: asked.append(columns) or StepLayout(columns))
    layer = rnn.GRU(64, 1, layout="NTC", input_size=8)
    layer.hybridize()
    struct = jax.ShapeDtypeStruct
    parallel.plan(
        layer, struct((8, 5, 8), "float32"), loss.L2Loss(), labels=struct((8, 5, 64), "float32"), mesh="h100:1"
    )
    assert asked and not any(asked)
    assert StepLayout is not recurrence.StepLayout and recurrence.step_layout(8, 64).columns


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_convolutions_are_those_of_cudnn(dtype, layout, chip):
    """Forward and both gradients: none is a loop, or one of the forms that gluonx has for CPUs."""
    layer = nn.Conv2D(64, 3, padding=1, in_channels=64, layout=layout, use_bias=False)
    layer.initialize()
    layer.cast(dtype)
    shape = (8, 64, 28, 28) if layout == "NCHW" else (8, 28, 28, 64)
    found = hlo.read(gradient(layer, [onp.zeros(shape, "float32")], chip, dtype), on(1, data=1))
    assert sum(n for name, n in found.calls.items() if "cudnn$conv" in name) == 3
    assert found.loops == 0
    assert found.flops == 3 * 2 * 8 * 64 * 64 * (3 * 28 - 2) ** 2  # what meets padding is not computed


def test_pooling_keeps_two_masks_for_its_gradient(chip):
    """As many bytes as half of the elements that it takes; XLA would keep four masks, twice as much."""
    conv, pool = get("convolution").bind(kernel=(3, 3), pad=(1, 1), num_filter=32).fn, get("pooling")
    pool = pool.bind(kernel=(2, 2), stride=(2, 2)).fn

    def value(x, first, second):
        seen = jax.nn.relu(conv(x, first))
        back = jax.image.resize(pool(seen), seen.shape, "nearest")
        return (conv(jnp.concatenate([seen, back], 1), second).astype(jnp.float32) ** 2).sum()

    arrays = [onp.zeros(shape, jnp.bfloat16) for shape in ((8, 32, 64, 64), (32, 32, 3, 3), (32, 64, 3, 3))]
    text = compile_for(chip, jax.grad(value, (1, 2)), *arrays)
    lines = [line for lines in hlo._computations(text)[0].values() for line in lines if line.op == "fusion"]
    assert max(line.shape.count("pred[") for line in lines) == 2


@pytest.mark.parametrize("count", [1, 2])
def test_batch_norm_reads_its_input_once_for_its_statistics(count, chip):
    """And once for the result. Where the batch is split over two GPUs they send each other a number a channel."""
    mesh = topologies.abstract_mesh(f"h100:{count}")[0]
    split, whole = jax.NamedSharding(mesh, jax.P("data")), jax.NamedSharding(mesh, jax.P())
    given = [jax.ShapeDtypeStruct((8, 64, 28, 28), "bfloat16", sharding=split)]
    given += [jax.ShapeDtypeStruct((64,), "float32", sharding=whole)] * 4
    fn = get("batch_norm").bind(training=True).fn
    with topologies.quietly():
        found = hlo.read(jax.jit(fn).lower(*given).compile().as_text(), mesh)
    size = 2 * 8 * 64 * 28 * 28 / count
    assert 3 * size <= found.bytes < 3.2 * size
    assert {entry["kind"] for entry in found.collectives} == ({"all-reduce"} if count > 1 else set())
    assert sum(entry["bytes"] for entry in found.collectives) < 2048


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_products_of_16_bits_are_computed_in_16_bits(dtype, chip):
    """Their operands stay as narrow as they came; only the sums are wide."""
    layer = nn.Dense(256, in_units=512, use_bias=False, dtype=dtype)
    layer.initialize()
    text = gradient(layer, [onp.zeros((128, 512), "float32")], chip, dtype)
    short = {"bfloat16": "bf16", "float16": "f16"}[dtype]
    kinds = {line.name: line.shape for lines in hlo._computations(text)[0].values() for line in lines}
    products = [
        line
        for lines in hlo._computations(text)[0].values()
        for line in lines
        if line.op == "dot" or "cublas$" in line.rest
    ]
    assert len(products) == 3
    for product in products:
        assert all(kinds[name].startswith(f"{short}[") for name in hlo._operands(product)[:2]), product


def cudnn_calls(text):
    return sorted(re.findall(r'custom_call_target="__cudnn\$(fmha\w+)"', text))


@pytest.mark.parametrize(
    "dtype, causal, beside, name",
    [
        ("bfloat16", False, (), "Softmax"),
        ("float16", True, (), "Softmax"),
        ("bfloat16", True, ("valid_length",), "Softmax"),
        ("bfloat16", False, ("mask",), "ScaleBiasSoftmax"),
    ],
)
def test_attention_of_16_bits_is_cudnns(dtype, causal, beside, name, chip):
    """One call forward and one backward: the forward pass is not computed again for the gradient."""
    layer = nn.MultiHeadAttention(64, 2, causal=causal, in_units=64, dtype=dtype)
    layer.initialize()
    given = {"mask": onp.ones((2, 8, 8), "bool"), "valid_length": onp.array([8, 0], "int32")}
    arrays = [onp.zeros((2, 8, 64), "float32"), None, None, *[given[n] if n in beside else None for n in given]]
    pure = gluonx.functional(layer)
    there = {
        i: a.astype(jnp.dtype(dtype)) if a.dtype == "float32" else a for i, a in enumerate(arrays) if a is not None
    }

    def value(params, there):
        out, _ = pure.apply(params, pure.state, None, *[there.get(i) for i in range(5)], train=True)
        return (out.astype(jnp.float32) ** 2).sum()

    assert cudnn_calls(compile_for(chip, value, pure.params, there)) == [f"fmha{name}"]
    text = compile_for(chip, jax.grad(value), pure.params, there)
    assert cudnn_calls(text) == [f"fmha{name}", f"fmha{name}Backward"]


def attention_of(**attrs):
    fn = get("dot_product_attention")
    return lambda query, keys, values, *beside: fn(None, query, keys, values, *beside, **attrs)


@pytest.mark.parametrize(
    "dtype, query, keys, beside, attrs",
    [
        ("float32", (2, 8, 2, 16), (2, 8, 2, 16), (), {}),
        ("bfloat16", (2, 8, 2, 12), (2, 8, 2, 12), (), {}),
        ("bfloat16", (2, 8, 2, 136), (2, 8, 2, 136), (), {}),
        ("bfloat16", (2, 7, 2, 16), (2, 7, 2, 16), ((2, 7, 7),), {}),
        ("bfloat16", (2, 4, 2, 16), (2, 8, 2, 16), (), {"causal": True}),
    ],
)
def test_attention_that_cudnn_does_not_compute_is_xlas(dtype, query, keys, beside, attrs, chip):
    arrays = [onp.zeros(shape, jnp.dtype(dtype)) for shape in (query, keys, keys)]
    arrays += [onp.ones(shape, "bool") for shape in beside]
    fn = attention_of(**attrs)
    text = compile_for(chip, jax.grad(lambda *a: fn(*a).astype(jnp.float32).sum()), *arrays)
    assert not cudnn_calls(text)


def test_attention_is_xlas_where_it_is_asked_for(chip, monkeypatch):
    monkeypatch.setenv("GLUONX_CUDNN", "0")
    arrays = [onp.zeros((2, 8, 2, 16), jnp.bfloat16)] * 3
    assert not cudnn_calls(compile_for(chip, attention_of(), *arrays))


def test_attention_written_out_is_not_cudnns(chip):
    """As d2l has it: weights are an output, and a query that sees nothing gets the mean of the values, not zeros."""
    dot, softmax = get("batch_dot"), get("softmax")

    def written(query, keys, values, seen):
        scores = dot.bind(transpose_b=True)(query, keys) / onp.sqrt(query.shape[-1]).astype(query.dtype)
        weights = softmax.bind(axis=-1)(jnp.where(seen, scores, jnp.asarray(-1e6, scores.dtype)))
        return dot.bind()(weights, values), weights

    arrays = [onp.random.RandomState(k).standard_normal((2, 8, 16)).astype(jnp.bfloat16) for k in range(3)]
    seen = onp.ones((2, 8, 8), "bool")
    seen[0, 3] = False
    text = compile_for(chip, jax.grad(lambda *a: (written(*a)[0].astype(jnp.float32) ** 2).sum()), *arrays, seen)
    assert not cudnn_calls(text)
    mean = arrays[2][0].astype("float32").mean(0)
    onp.testing.assert_allclose(written(*arrays, seen)[0][0, 3].astype("float32"), mean, atol=0.01)
    fused = attention_of()(*[a[:, :, None] for a in arrays], seen[:, None])
    assert not onp.asarray(fused)[0, 3].any() and abs(mean).max() > 0.1


@pytest.mark.parametrize("hidden", [pytest.param((), marks=beyond), ("mask", "length")], ids=["plain", "hidden"])
def test_derivatives_of_fused_attention(hidden, chip, monkeypatch):
    """Second derivatives are XLA's, ``vmap`` is a larger batch, and hidden rows are zeros; on a CPU as without it."""
    random = onp.random.RandomState(0)
    arrays = [jnp.asarray(random.standard_normal((2, 4, 2, 8)), jnp.bfloat16) for _ in range(3)]
    mask = jnp.asarray(random.rand(2, 4, 4) > 0.4).at[0, 1].set(False) if "mask" in hidden else None
    beside = [mask, jnp.array([3, 0], jnp.int32)] if "length" in hidden else [mask]

    def value(*arrays):
        return (attention_of()(*arrays, *beside).astype(jnp.float32) ** 2).sum()

    slopes = jax.grad(value, (0, 1, 2))

    def bend(*arrays):
        return sum((x.astype(jnp.float32) ** 2).sum() for x in slopes(*arrays))

    several = [jnp.stack([x, 2 * x, -x]) for x in arrays]
    bends = jax.grad(bend, (0, 1, 2))

    def answers():
        found = (attention_of()(*arrays, *beside), slopes(*arrays), bends(*arrays), jax.vmap(slopes)(*several))
        forward = jax.jvp(lambda x: slopes(x, *arrays[1:]), arrays[:1], arrays[:1])
        return [onp.asarray(x, "float32") for x in jax.tree.leaves((found, forward))]

    mine = answers()
    if mask is not None:
        assert not mine[0][0, 1].any() and not mine[1][0, 1].any()  # sees nothing, and its slope
    assert len(cudnn_calls(compile_for(chip, jax.vmap(slopes), *several))) == 2
    assert not cudnn_calls(compile_for(chip, bends, *arrays))
    monkeypatch.setenv("GLUONX_CUDNN", "0")
    for x, y in zip(mine, answers(), strict=True):
        onp.testing.assert_allclose(x, y, rtol=0.05, atol=0.02 * max(abs(y).max(), 1e-3))


@pytest.mark.parametrize("mesh", ["h100:1", "h100:2"])
def test_a_step_has_fused_attention(mesh, chip):
    """As it is recorded and compiled for training, on one GPU and with the batch on two."""
    net = nn.HybridSequential()
    net.add(nn.MultiHeadAttention(64, 2, causal=True, in_units=64), nn.Dense(8, in_units=64, flatten=False))
    net.initialize()
    net.cast("bfloat16")
    net.hybridize()
    struct = jax.ShapeDtypeStruct
    given = (net, struct((4, 8, 64), "bfloat16"), loss.L2Loss(), "adam", None, struct((4, 8, 8), "bfloat16"), mesh)
    text = planning._recorded(*given, None, (), False).compile().as_text()
    assert cudnn_calls(text) == ["fmhaSoftmax", "fmhaSoftmaxBackward"]


@pytest.mark.parametrize("axes", [{"data": 3}, {"data": 16}, {"data": -1, "model": 0}])
def test_axes_that_do_not_fit_are_told(axes, chip):
    before = dict(os.environ)
    with pytest.raises(DeviceError, match=r"^the topology h100:8 has 8 devices, .* one that is -1 takes what is left$"):
        topologies.abstract_mesh("h100:8", axes)
    assert dict(os.environ) == before


FRESH = """
import sys, jax
from gluonx import loss, nn, parallel
if "began" in sys.argv:
    jax.local_devices()
net = nn.MultiHeadAttention(64, 2, causal=True, in_units=64, dtype="bfloat16")
x = jax.ShapeDtypeStruct((4, 8, 64), "bfloat16")
print(parallel.plan(net, x, loss.L2Loss(), labels=x, mesh="h100:2").flops)
"""


@pytest.mark.parametrize("began", [False, True])
def test_a_plan_of_attention_on_two_gpus_in_a_fresh_process(began, chip):
    """How cuDNN's attention is split is told to JAX's plugin where JAX begins."""
    given = [sys.executable, "-c", FRESH, *["began"] * began]
    environment = {k: v for k, v in os.environ.items() if k not in ("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "JAX_PLATFORMS")}
    found = subprocess.run(given, capture_output=True, text=True, env=environment, timeout=300, check=False)
    if began:
        assert found.returncode == 1 and "DeviceError: plan(): JAX had begun without its plugin" in found.stderr
    else:
        assert found.returncode == 0 and float(found.stdout) > 0, found.stderr


class Counted(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(64, 16), nn.Embedding(8, 16)

    def forward(self, x):
        return self.words(x) + self.places(gluonx.np.arange(x.shape[1], dtype="int32"))


@pytest.mark.parametrize("mesh", ["h100:1", "h100:2"])
@pytest.mark.parametrize("hybridize", [False, True])
def test_a_planned_net_makes_arrays(hybridize, mesh, chip):
    """What it makes itself lies with the rest, though this machine's default device is another."""
    net = Counted()
    if hybridize:
        net.hybridize()
    struct = jax.ShapeDtypeStruct
    made = parallel.plan(net, struct((4, 8), "int32"), loss.L2Loss(), labels=struct((4, 8, 16), "float32"), mesh=mesh)
    assert made.fits


def test_the_random_bits_of_dropout_are_in_the_program(chip):
    net = nn.HybridSequential()
    net.add(nn.Dense(64, in_units=32), nn.Dropout(0.5), nn.Dense(8, in_units=64))
    net.initialize()
    gradient(net, [onp.zeros((16, 32), "float32")], chip)  # nothing of it is on the host


@pytest.mark.parametrize("mesh", ["h100:1", "h100:2", "a100-80:1"])
def test_a_step_is_one_program(mesh, chip):
    """Statistics, update and the next step's numbers are in it; weights and states are written in place."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3), nn.BatchNorm(), nn.Activation("relu"), nn.Dropout(0.3), nn.Dense(10))
    net.hybridize()
    struct = jax.ShapeDtypeStruct
    given = (net, struct((4, 3, 16, 16), "float32"), loss.SoftmaxCrossEntropyLoss(), "adam", None)
    recorded = planning._recorded(*given, struct((4,), "int32"), mesh, None, (), False)
    compiled = recorded.compile()
    assert not HOST.search(compiled.as_text())
    stats = compiled.memory_analysis()
    kept = recorded.base["weights"] + recorded.base["states"]
    assert kept * 0.9 < stats.alias_size_in_bytes <= kept * 1.1
    made = parallel.plan(*given, labels=struct((4,), "int32"), mesh=mesh)
    own = stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
    assert made.fits and made.needed == own + stats.temp_size_in_bytes + stats.generated_code_size_in_bytes
    assert any(c["kind"] == "all-reduce" for c in made.collectives) == (mesh == "h100:2")


@pytest.mark.parametrize("mesh", ["h100:1", "h100:2"])
def test_a_step_of_amp_is_one_program(mesh, chip):
    """Products in float16 of weights in float32; check of gradients, scale and counts are in the program."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, in_channels=8), nn.BatchNorm(in_channels=8), nn.Activation("relu"), nn.Dense(16))
    net.hybridize()
    struct = jax.ShapeDtypeStruct
    given = (net, struct((4, 8, 16, 16), "float32"), loss.SoftmaxCrossEntropyLoss(), "adam", None)
    amp.init("float16")
    try:
        recorded = planning._recorded(*given, struct((4,), "int32"), mesh, None, (), False, 65536.0)
        compiled = recorded.compile()
    finally:
        amp.reset()
    text = compiled.as_text()
    assert not HOST.search(text) and "is-finite" in text and "f64[" not in text
    assert {tuple(kinds) for _, *kinds in dtypes_of_products(text)} == {("f16", "f16")}
    kept = recorded.base["weights"] + recorded.base["states"]
    assert kept * 0.9 < compiled.memory_analysis().alias_size_in_bytes <= kept * 1.1


@pytest.mark.parametrize("uneven", [False, True])
def test_each_large_weight_is_updated_by_itself(uneven, chip):
    """XLA would make one kernel of updates that read the numbers of the step from one vector: see `rules._apart`."""
    net = nn.HybridSequential()
    net.add(*[nn.Dense(512, in_units=512) for _ in range(4)])
    net.hybridize()
    for layer in net:
        layer.bias.wd_mult = 0.0 if uneven else 1.0
    struct = jax.ShapeDtypeStruct((64, 512), "float32")
    given = (net, struct, loss.L2Loss(), "sgd", {"momentum": 0.9, "wd": 0.1}, struct, "h100:1", None, (), False)
    text = planning._recorded(*given).compile().as_text()
    bodies, entry = hlo._computations(text)
    written = [line.shape.count("f32[512,512]") for line in bodies[entry] if line.op == "fusion"]
    assert max(written) == 2 and written.count(2) == 4  # a weight and its momentum


OPTIMIZERS = ["adam", "sgd", "lamb"]
RULES = [n for n in sorted(optimizer.Optimizer.opt_registry) if n not in OPTIMIZERS and n != "test"]


@pytest.mark.parametrize("rule", [*OPTIMIZERS[:1], *[pytest.param(n, marks=beyond) for n in OPTIMIZERS[1:] + RULES]])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_optimizer_rules_are_in_the_step(rule, dtype, chip):
    """The update is in the one program, with nothing on the host, and writes the weights in place."""
    net = nn.Dense(8, in_units=16, dtype=dtype)
    net.hybridize()
    struct = jax.ShapeDtypeStruct
    given = (net, struct((4, 16), dtype), loss.L2Loss(), rule, None, struct((4, 8), dtype), "h100:1")
    compiled = planning._recorded(*given, None, (), False).compile()
    assert not HOST.search(compiled.as_text())
    assert compiled.memory_analysis().alias_size_in_bytes >= (16 * 8 + 8) * jnp.dtype(dtype).itemsize


def dtypes_of_products(text):
    """Give dtypes of the operands of each convolution and product that a program computes, by what computes it."""
    bodies = hlo._computations(text)[0]
    kinds = {line.name: line.shape for lines in bodies.values() for line in lines}
    found = set()
    for line in (line for lines in bodies.values() for line in lines):
        target = re.search(r'custom_call_target="__(cudnn\$conv|cublas\$)', line.rest)
        if target or line.op in ("dot", "convolution"):
            operands = [kinds[name] for name in hlo._operands(line)[:2]]
            found.add((target[1] if target else line.op, *(shape.partition("[")[0] for shape in operands)))
    return found


@pytest.mark.parametrize(
    ("name", "size", "dtype"),
    [
        pytest.param(name, size, dtype, marks=() if name in SAMPLE and dtype == "float32" else beyond)
        for dtype in ("float32", "bfloat16", "float16")
        for name, size in MODELS.items()
        if dtype != "float16" or name in SAMPLE
    ],
)
def test_models(name, size, dtype, chip):
    """Each convolution is cuDNN's, forward and both gradients; no loops; products in the type of the net."""
    net = get_model(name, classes=10)
    net.initialize(init.Zero())  # no number is looked at
    net.infer_shape(gluonx.np.zeros((1, 3, size, size)))
    net.cast(dtype)
    text = gradient(net, [onp.zeros((2, 3, size, size), "float32")], chip, dtype)
    found = hlo.read(text, on(1, data=1))
    layers = []
    net.apply(lambda block: layers.append(block) if isinstance(block, nn.Conv2D) else None)
    assert sum(n for target, n in found.calls.items() if "cudnn$conv" in target) == 3 * len(layers)
    assert found.loops == 0
    short = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}[dtype]
    products = dtypes_of_products(text)
    assert {tuple(operands) for _, *operands in products} == {(short, short)}
    assert "convolution" not in {by for by, *_ in products}


def planned(batch=32, mesh="h100:1", how=None, **rest):
    net = nn.TransformerEncoder(4, 64, 256, 2, 0.0, 0.0, activation="gelu")
    net.cast("bfloat16")
    net.hybridize(**(how or {}))
    x = jax.ShapeDtypeStruct((batch, 64, 64), "bfloat16")
    return parallel.plan(net, x, loss.L2Loss(), "adam", labels=x, mesh=mesh, **rest)


def test_the_memory_of_a_plan_follows_what_saves_it(chip):
    """Layers computed again, a part of the batch at a time (accumulation), and weights and states split over two."""
    plain = planned()
    kinds = plain.weights + plain.states + plain.batch
    assert plain.needed == kinds + plain.activations and plain.states == 2 * plain.weights == 2 * plain.gradients
    again = planned(how={"remat": "layer"})
    assert again.activations < 0.5 * plain.activations and again.flops > 1.2 * plain.flops
    assert planned(16).activations < 0.65 * plain.activations
    split = planned(mesh="h100:2", rules=[parallel.fsdp()])
    assert split.weights + split.states < 0.55 * (plain.weights + plain.states)
    assert {c["kind"] for c in split.collectives} >= {"all-gather"}


def test_equal_layers_with_fused_attention_are_one_loop(chip):
    net = nn.TransformerEncoder(4, 64, 256, 2, 0.0, 0.0, activation="gelu")
    net.cast("bfloat16")
    net.hybridize(scan=True)
    x = jax.ShapeDtypeStruct((4, 16, 64), "bfloat16")
    text = planning._recorded(net, x, loss.L2Loss(), "adam", None, x, "h100:1", None, (), False).compile().as_text()
    # The loops are apart, so the backward one computes the forward of a layer again.
    assert cudnn_calls(text) == ["fmhaSoftmax", "fmhaSoftmax", "fmhaSoftmaxBackward"]
    assert hlo.read(text, on(1, data=1)).loops == 2


POOLED = {"pooled_size": (2, 2), "spatial_scale": 1.0}
DETECTION = [
    ("multibox_prior", {"sizes": (0.5,), "ratios": (1.0, 2.0)}, [(1, 4, 8, 8)], False),
    ("multibox_target", {"negative_mining_ratio": 3.0}, [(1, 32, 4), (2, 3, 5), (2, 4, 32)], False),
    ("multibox_detection", {}, [(2, 4, 32), (2, 128), (1, 32, 4)], False),
    ("box_nms", {}, [(2, 32, 6)], True),
    ("box_iou", {}, [(8, 4), (16, 4)], False),
    ("bipartite_matching", {"threshold": 0.1}, [(2, 8, 16)], False),
    ("proposal", {"rpn_pre_nms_top_n": 64, "rpn_post_nms_top_n": 8}, [(1, 24, 8, 8), (1, 48, 8, 8), (1, 3)], False),
    ("roi_align", POOLED, [(2, 4, 16, 16), (6, 5)], True),
    ("roi_pooling", POOLED, [(2, 4, 16, 16), (6, 5)], True),
    ("rroi_align", POOLED, [(2, 4, 16, 16), (6, 6)], False),
    ("psroi_pooling", {"spatial_scale": 1.0, "output_dim": 2, "pooled_size": 2}, [(2, 8, 16, 16), (6, 5)], True),
]


@pytest.mark.parametrize("dtype", ["float32", *[pytest.param(d, marks=beyond) for d in ("bfloat16", "float16")]])
@pytest.mark.parametrize(("name", "attrs", "shapes", "differentiable"), DETECTION, ids=[row[0] for row in DETECTION])
def test_detection_operators(name, attrs, shapes, differentiable, dtype, chip):
    """With nothing on the host, those that have a gradient with it."""
    fn = get(name).bind(**attrs).fn

    def value(*arrays):
        return sum((x.astype(jnp.float32) ** 2).sum() for x in jax.tree.leaves(fn(*arrays)))

    arrays = [onp.zeros(shape, jnp.dtype(dtype)) for shape in shapes]
    text = compile_for(chip, jax.grad(value) if differentiable else fn, *arrays)
    assert ("fusion" in text) == (name != "multibox_prior")  # which is known before it runs
