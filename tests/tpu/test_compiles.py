"""Every layer, loss and zoo model compiles for a TPU, forward and backward: by XLA's own compiler, without a TPU.

Needs the extra ``tpu-plan``; ``make test-tpu`` installs it, and compiles every model of the zoo. Any other run takes a
sample of these. What is lowered has no number of 64 bits that nobody asked for, and calls nothing on the host.
"""

import importlib.util
import os

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import init, nn
from gluonx.model_zoo.vision import get_model
from gluonx.parallel import topologies
from lib.contract import LAYERS, LOSSES
from lib.golden import load_cases
from lib.sweep import build

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="the extra tpu-plan is not installed"),
]
# Every model that has a name, and the smallest image that its layers allow: what takes an image of 224 compiles for
# a minute or two, and a smaller one meets the same operators.
MODELS = load_cases("model_zoo").MODELS
SAMPLE = ("mobilenet0.25", "mobilenetv2_0.25", "resnet18_v1", "resnet18_v2", "vgg11_bn")
beyond = pytest.mark.skipif(os.environ.get("GLUONX_TEST_TPU") != "all", reason="make test-tpu compiles every model")


@pytest.fixture(scope="module")
def chip():
    return topologies.single("v5e")


def compile_for(chip, fn, *args):
    structs = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=chip), args)
    lowered = jax.jit(fn).lower(*structs)
    text = lowered.as_text()
    assert "f64" not in text
    assert "callback" not in text
    with topologies.quietly():
        return lowered.compile()


def gradient_of(block):
    """The sum of squares of a block's outputs in training, and its gradient by parameters and inputs."""
    pure = gluonx.functional(block)

    def loss(params, inputs, state, key, rest):
        given = [inputs.get(i, x) for i, x in enumerate(rest)]
        out, new = pure.apply(params, state, key, *given, train=True)
        leaves = [x for x in jax.tree.leaves(out) if jnp.issubdtype(x.dtype, jnp.floating)]
        return sum((x.astype(jnp.float32) ** 2).sum() for x in leaves), new

    return pure, jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)


def check(block, arrays, chip):
    arrays = [onp.asarray(a) for a in arrays]
    pure, fn = gradient_of(block)
    given = {i: a for i, a in enumerate(arrays) if a.dtype.kind == "f"}
    compile_for(chip, fn, pure.params, given, pure.state, jax.random.key(0), arrays)


@pytest.mark.parametrize("row", LAYERS, ids=lambda row: row.key)
def test_layers(row, chip):
    block = build(row, nn)
    check(block, row.inputs(), chip)


@pytest.mark.parametrize("row", LOSSES, ids=lambda row: row.key)
def test_losses(row, chip):
    block = build(row, gluonx.loss)
    check(block, row.inputs(), chip)


@pytest.mark.parametrize(
    ("name", "size"),
    [pytest.param(*row, marks=() if row[0] in SAMPLE else beyond, id=row[0]) for row in MODELS.items()],
)
def test_models(name, size, chip):
    net = get_model(name, classes=10)
    net.initialize(init.Zero())  # no number is looked at
    net.infer_shape(gluonx.np.zeros((1, 3, size, size)))
    pure = gluonx.functional(net)
    x = onp.zeros((2, 3, size, size), "float32")
    compile_for(chip, lambda params, state, x: pure.apply(params, state, None, x)[0], pure.params, pure.state, x)
    check(net, [x], chip)
