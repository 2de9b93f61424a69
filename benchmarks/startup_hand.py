"""One fresh process of `benchmarks.startup`, written by hand in JAX with optax; it does not import gluonx.

``python startup_hand.py MODEL WHAT`` does the work of ``startup_gluon.py`` and prints the same times. The compilation
cache is where ``JAX_COMPILATION_CACHE_DIR`` says, with JAX's own settings. Parameters are drawn on the host by NumPy,
which takes less time than drawing them with ``jax.random``, and the optimizer's state is made by one program.

Some nets stand in ``zoo/byhand.py`` as well. They are written out here, for each module that a starting process imports
is part of what is measured, and that one brings what no script of a user would: the workloads, their data, weights by
name. What a script may have, gluonx's example of layers by hand, is shared.
"""

import importlib.util
import math
import pathlib
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

imported = time.perf_counter()
WORDS, LENGTH, UNITS, HIDDEN, HEADS, DROPOUT = 2000, 32, 128, 512, 4, 0.1


def load_by_hand():
    """Return the module of gluonx's examples that has layers by hand, without importing gluonx."""
    path = pathlib.Path(__file__).parents[1] / "examples/by_hand.py"
    spec = importlib.util.spec_from_file_location("by_hand", path)
    assert spec is not None and spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hand = load_by_hand()


class Weights:
    """Makes parameters: ``weights(name, shape)`` by Xavier's law, biases of zeros."""

    def __init__(self):
        self.rng, self.params, self.state = np.random.Generator(np.random.Philox(0)), {}, {}

    def add(self, name, shape, bias=True):
        """Make a dense or convolutional layer with a weight of this shape."""
        positions = math.prod(shape[2:])
        scale = math.sqrt(6 / ((shape[0] + shape[1]) * positions))
        weight = (2 * self.rng.random(shape, np.float32) - 1) * np.float32(scale)
        self.params[name] = {"weight": jax.device_put(weight)}
        if bias:
            self.params[name]["bias"] = jax.device_put(np.zeros(shape[0], np.float32))

    def norm(self, name, width, moving=True):
        """Make a normalization."""
        one, zero = np.ones(width, np.float32), np.zeros(width, np.float32)
        self.params[name] = {"gamma": jax.device_put(one), "beta": jax.device_put(zero)}
        if moving:
            self.state[name] = {"mean": jax.device_put(zero), "var": jax.device_put(one)}


def mlp_weights(weights):
    """784 to 512 to 512 to 512 to 10."""
    for name, inputs, units in (("0", 784, 512), ("1", 512, 512), ("2", 512, 512), ("3", 512, 10)):
        weights.add(name, (units, inputs))


def mlp(params, state, key, x, train):
    """Rows to scores."""
    for name in "012":
        x = jax.nn.relu(hand.dense(params[name], x))
    return hand.dense(params["3"], x), state


def lenet_weights(weights):
    """Two convolutions, two dense layers."""
    weights.add("conv1", (20, 1, 5, 5))
    weights.add("conv2", (50, 20, 5, 5))
    weights.add("dense", (500, 800))
    weights.add("output", (10, 500))


def lenet(params, state, key, x, train):
    """Images to scores."""
    for name in ("conv1", "conv2"):
        x = hand.max_pool(jax.nn.relu(hand.conv(params[name], x, pad=0)))
    return hand.dense(params["output"], jax.nn.relu(hand.dense(params["dense"], x))), state


def resnet_blocks(depth):
    """(name, inputs, kernels of its convolutions with their channels and strides, whether it has a shortcut)."""
    counts, wide = {18: ((2, 2, 2, 2), 1), 50: ((3, 4, 6, 3), 4)}[depth]
    inputs = 64
    for stage, count in enumerate(counts):
        for block in range(count):
            narrow, stride = 64 << stage, 2 if stage and not block else 1
            first = ((1, narrow, stride), (3, narrow, 1), (1, narrow * wide, 1))
            convs = first if wide > 1 else ((3, narrow, stride), (3, narrow, 1))
            yield f"{stage}.{block}", inputs, convs, stride, inputs != narrow * wide
            inputs = narrow * wide


def resnet_weights(weights, depth):
    """Make the stem, the blocks, the output layer."""
    weights.add("stem", (64, 3, 7, 7), bias=False)
    weights.norm("stem.norm", 64)
    last = 64
    for name, inputs, convs, _, shortcut in resnet_blocks(depth):
        last = inputs
        for i, (kernel, channels, _) in enumerate(convs):
            weights.add(f"{name}.conv{i}", (channels, last, kernel, kernel), bias=kernel == 1)
            weights.norm(f"{name}.norm{i}", channels)
            last = channels
        if shortcut:
            weights.add(f"{name}.shortcut", (last, inputs, 1, 1), bias=False)
            weights.norm(f"{name}.norm", last)
    weights.add("output", (10, last))


def resnet(params, state, key, x, train, depth):
    """Images to scores; moving averages where it trains."""
    moved = {}

    def norm(name, y):
        if not train:
            p, s = params[name], state[name]
            scale = p["gamma"] * jax.lax.rsqrt(s["var"] + 1e-5)
            return y * scale[:, None, None] + (p["beta"] - s["mean"] * scale)[:, None, None]
        y, moved[name] = hand.batch_norm(params[name], state[name], y)
        return y

    x = jax.nn.relu(norm("stem.norm", hand.conv(params["stem"], x, 2, 3)))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)])
    for name, _, convs, stride, shortcut in resnet_blocks(depth):
        y = x
        for i, (kernel, _, step) in enumerate(convs):
            y = jax.nn.relu(y) if i else y
            y = norm(f"{name}.norm{i}", hand.conv(params[f"{name}.conv{i}"], y, step, kernel // 2))
        if shortcut:
            x = norm(f"{name}.norm", hand.conv(params[f"{name}.shortcut"], x, stride, 0))
        x = jax.nn.relu(x + y)
    return hand.dense(params["output"], x.mean((2, 3))), moved if train else state


def bert_weights(weights, layers):
    """Words, places, the layers, the output layer."""
    weights.add("words", (WORDS, UNITS), bias=False)
    weights.add("places", (LENGTH, UNITS), bias=False)
    weights.norm("norm", UNITS, moving=False)
    for i in range(layers):
        weights.add(f"{i}.qkv", (3 * UNITS, UNITS))
        weights.add(f"{i}.proj", (UNITS, UNITS))
        weights.add(f"{i}.wide", (HIDDEN, UNITS))
        weights.add(f"{i}.narrow", (UNITS, HIDDEN))
        weights.norm(f"{i}.norm1", UNITS, moving=False)
        weights.norm(f"{i}.norm2", UNITS, moving=False)
    weights.add("output", (2, UNITS))


def bert(params, state, key, tokens, train, layers):
    """Numbers of words to scores of two classes."""
    keys = iter(jax.random.split(key, 3 * layers + 1) if train else ())

    def drop(x):
        return hand.dropout(next(keys), x, DROPOUT) if train else x

    def norm(name, x):
        centred = x - x.mean(-1, keepdims=True)
        scale = jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5)
        return centred * scale * params[name]["gamma"] + params[name]["beta"]

    def dense(name, x):
        return x @ params[name]["weight"].T + params[name]["bias"]

    x = drop(norm("norm", params["words"]["weight"][tokens] + params["places"]["weight"]))
    for i in range(layers):
        q, k, v = jnp.split(dense(f"{i}.qkv", x).reshape(*x.shape[:2], 3 * HEADS, -1), 3, 2)
        scores = jnp.einsum("blhd,bmhd->bhlm", q, k) / math.sqrt(UNITS // HEADS)
        y = jnp.einsum("bhlm,bmhd->blhd", drop(jax.nn.softmax(scores)), v).reshape(x.shape)
        x = norm(f"{i}.norm1", x + drop(dense(f"{i}.proj", y)))
        y = dense(f"{i}.narrow", jax.nn.gelu(dense(f"{i}.wide", x), approximate=False))
        x = norm(f"{i}.norm2", x + drop(y))
    return dense("output", x[:, 0]), state


def momentum():
    """Return the optimizer of the convolutional nets."""
    return optax.sgd(1e-3, momentum=0.9)


def adam():
    """Return the optimizer of the others."""
    return optax.adam(1e-3)


# name: (weights, forward, their further arguments, shape of a batch, classes, optimizer)
MODELS = {
    "mlp": (mlp_weights, mlp, (), (64, 784), 10, adam),
    "lenet": (lenet_weights, lenet, (), (32, 1, 28, 28), 10, momentum),
    "resnet18": (resnet_weights, resnet, (18,), (16, 3, 64, 64), 10, momentum),
    "resnet50": (resnet_weights, resnet, (50,), (2, 3, 64, 64), 10, momentum),
    "bert": (bert_weights, bert, (4,), (8, LENGTH), 2, adam),
    "bert12": (bert_weights, bert, (12,), (8, LENGTH), 2, adam),
}


def batch(shape, classes):
    """Random inputs, words where the shape is that of words, and labels."""
    rng = np.random.default_rng(0)
    words = shape == (8, LENGTH)
    x = rng.integers(0, WORDS, shape) if words else rng.standard_normal(shape, np.float32)
    return x.astype(np.int32 if words else np.float32), rng.integers(0, classes, shape[0]).astype(np.float32)


def main(name, what):
    """Make the parameters and do what is asked; gives the time after the initialization."""
    make, forward, more, shape, classes, optimizer = MODELS[name]
    weights = Weights()
    make(weights, *more)
    params, state = weights.params, weights.state
    x, y = (jax.device_put(part) for part in batch(shape, classes))
    initialized = time.perf_counter()
    if what == "predict":
        predict = jax.jit(lambda params, state, x: forward(params, state, None, x, False, *more)[0])
        np.asarray(predict(params, state, x))
        return initialized
    optimizer = optimizer()
    step = hand.make_step(lambda *args: forward(*args, True, *more), optimizer)
    held = [params, state, jax.jit(optimizer.init)(params)]
    *held, loss = step(*held, 0, x, y)
    float(loss)
    jax.block_until_ready(held)
    return initialized


if __name__ == "__main__":
    initialized = main(sys.argv[1], sys.argv[2])
    print(imported, initialized, time.perf_counter())
