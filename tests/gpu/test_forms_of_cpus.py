"""What gluonx does for CPUs is in no program for a GPU: it is the program without any of it, line by line.

CPU lowerings of operators (`gluonx/ops/cpu`) are compared with what `native_operations` gives, on shapes for which a
CPU has them; steps with what is recorded while nothing is known of CPUs.
"""

import collections
import re

import jax
import jax.numpy as jnp
import pytest

from gluonx import loss, nn, rnn
from gluonx.deferred.run import host
from gluonx.errors import DeviceError
from gluonx.ops import get
from gluonx.ops.cpu.convolution import native_operations
from gluonx.parallel import planning, topologies

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def chip():
    try:
        return topologies.single("h100")
    except DeviceError:
        pytest.skip("the extra gpu-plan is not installed")


def lines_of(compiled):
    """Count instructions by what they do, without names and what tells where they are from."""
    text = re.sub(r", (metadata|frontend_attributes|backend_config)=\{.*", "", compiled.as_text())
    lines = re.sub(r"(%|calls=|to_apply=)[\w.\-]+|, (metadata|sharding)=\{[^}]*\}", "", text).splitlines()
    return collections.Counter(line.strip() for line in lines if " = " in line)


# Operator, its attributes, shapes: each is one for which a CPU has a form of its own.
FORMS = [
    ("convolution", {"kernel": (3, 3), "pad": (1, 1), "num_filter": 16}, [(2, 16, 2, 2), (16, 16, 3, 3)]),  # patches
    ("convolution", {"kernel": (1, 1), "num_filter": 16}, [(2, 16, 16, 16), (16, 16, 1, 1)]),  # a product
    ("convolution", {"kernel": (3, 3), "pad": (1, 1), "num_filter": 8}, [(4, 8, 32, 32), (8, 8, 3, 3)]),  # bands
    ("convolution", {"kernel": (3, 3), "num_filter": 16, "num_group": 2}, [(2, 16, 8, 8), (16, 8, 3, 3)]),  # taps
    ("convolution", {"kernel": (3, 3), "num_filter": 16, "num_group": 16}, [(2, 16, 8, 8), (16, 1, 3, 3)]),  # shifts
    ("activation", {"act_type": "tanh"}, [(2, 8, 16, 16)]),  # channels last
    ("sum", {"axis": 0}, [(64, 20000)]),
    ("max", {"axis": 0}, [(64, 20000)]),
    ("argmax", {"axis": 0}, [(64, 20000)]),
    ("cumsum", {"axis": 0}, [(64, 20000)]),
    ("sort", {"axis": 0}, [(64, 20000)]),
    ("softmax", {"axis": 0}, [(64, 20000)]),
    ("add", {}, [(64, 20000), (20000,)]),
    ("softmax_cross_entropy_loss", {}, [(64, 1000), (64,)]),
]


@pytest.mark.parametrize(("name", "attrs", "shapes"), FORMS)
def test_operators_have_none(name, attrs, shapes, chip):
    arrays = [jax.ShapeDtypeStruct(shape, "float32", sharding=chip) for shape in shapes]

    def program():
        fn = get(name).bind(**attrs).fn  # a new one each time: traces are kept by function

        def value(*arrays):
            out = fn(*arrays)
            return (out.astype(jnp.float32) ** 2).sum() if name != "argmax" else out

        lowered = jax.jit(jax.grad(value) if name != "argmax" else value).lower(*arrays)
        with topologies.quietly():
            return lines_of(lowered.compile())

    mine = program()
    with native_operations():
        assert mine == program()


def test_a_transposed_convolution_is_three_of_cudnn(chip):
    """Forward and both gradients; on a CPU it is products and shifts."""
    fn = get("deconvolution").bind(kernel=(4, 4), stride=(2, 2), num_filter=8).fn
    arrays = [jax.ShapeDtypeStruct(shape, "float32", sharding=chip) for shape in ((2, 8, 8, 8), (8, 8, 4, 4))]
    with topologies.quietly():
        lines = lines_of(jax.jit(jax.grad(lambda *a: (fn(*a) ** 2).sum(), (0, 1))).lower(*arrays).compile())
    text = "\n".join(lines.elements())
    assert text.count("__cudnn$conv") == 3 and not re.search(r" (dot|while)\(", text)


def images():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, padding=1, in_channels=8), nn.BatchNorm(in_channels=16), nn.Activation("tanh"))
    net.add(nn.Conv2D(16, 3, groups=16, in_channels=16), nn.Conv2D(8, 1, in_channels=16), nn.MaxPool2D())
    net.add(nn.Dense(10, in_units=8 * 7 * 7))
    return net, (4, 8, 16, 16), "float32"


def words():
    net = nn.HybridSequential()
    net.add(nn.Embedding(64, 32), rnn.GRU(64, 1, layout="NTC", input_size=32), nn.Dense(10, in_units=5 * 64))
    return net, (8, 5), "int32"


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("case", [images, words])
def test_steps_have_none(case, hybridize, chip, monkeypatch):
    """Neither forms, nor NumPy, nor what is rewritten for a CPU, though the machine that plans is one."""
    # Forms for GPUs, which are not asked about: both programs have the update's, and neither has that of BatchNorm.
    monkeypatch.setattr("gluonx.optimizer.rules.lowering_in_force", lambda: (False, False))
    monkeypatch.setattr("gluonx.ops.normalization.lowering_in_force", lambda: (True, False))

    def program():
        net, shape, dtype = case()
        if hybridize:
            net.hybridize()
        x, y = jax.ShapeDtypeStruct(shape, dtype), jax.ShapeDtypeStruct(shape[:1], "int32")
        given = (net, x, loss.SoftmaxCrossEntropyLoss(), "adam", None, y, "h100:1", None, (), False)
        return lines_of(planning._recorded(*given).compile())

    mine = program()
    with native_operations(), host.switched(False):
        native = program()
    assert mine == native
