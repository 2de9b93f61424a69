"""Every layer, loss and zoo model compiles for a TPU, forward and backward: by XLA's own compiler, without a TPU.

Needs the extra ``tpu-plan``; ``make test-tpu`` installs it. What is lowered has no number of 64 bits that nobody asked
for, and calls nothing on the host.
"""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import model_zoo, nn
from gluonx.parallel import topologies
from lib.contract import LAYERS, LOSSES
from lib.sweep import build

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="the extra tpu-plan is not installed"),
]
MODELS = ["resnet18_v1", "mobilenet_v2_0_25", "squeezenet1_1", "vgg11", "alexnet", "densenet121", "inception_v3"]


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


@pytest.mark.parametrize("name", MODELS)
def test_models(name, chip):
    net = getattr(model_zoo.vision, name)(classes=10)
    net.initialize()
    size = 299 if name == "inception_v3" else 224
    net.infer_shape(gluonx.np.zeros((1, 3, size, size)))
    check(net, [onp.zeros((2, 3, size, size), "float32")], chip)
