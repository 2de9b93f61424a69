"""One fresh process of `benchmarks.startup`, written in Gluon alone: it runs under gluonx and under MXNet 2.0.

``python startup_gluon.py LIBRARY MODEL WHAT HYBRIDIZE`` imports LIBRARY, makes MODEL, does one training step
(WHAT is ``step``) or one prediction (``predict``), reads its result, and prints ``time.perf_counter()`` after the
import, after the initialization and at the end: on Linux this clock is the same in every process.
"""

import importlib
import math
import sys
import time

import numpy as onp

mx = importlib.import_module(sys.argv[1])
autograd, gluon, np, npx, nn = mx.autograd, mx.gluon, mx.np, mx.npx, mx.gluon.nn
TRAINING = gluon.Trainer, gluon.loss.SoftmaxCrossEntropyLoss, mx.init.Xavier  # named, so loaded with the import
imported = time.perf_counter()
MOMENTUM = ("sgd", {"learning_rate": 1e-3, "momentum": 0.9})
ADAM = ("adam", {"learning_rate": 1e-3})
WORDS, LENGTH, UNITS, HIDDEN, HEADS, DROPOUT = 2000, 32, 128, 512, 4, 0.1


class EncoderLayer(nn.HybridBlock):
    """A layer of BERT: attention, two dense layers, a normalization after each."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Dense(3 * UNITS, flatten=False, in_units=UNITS)
        self.proj = nn.Dense(UNITS, flatten=False, in_units=UNITS)
        self.norm1, self.norm2 = nn.LayerNorm(in_channels=UNITS), nn.LayerNorm(in_channels=UNITS)
        self.wide = nn.Dense(HIDDEN, flatten=False, in_units=UNITS)
        self.gelu = nn.GELU()
        self.narrow = nn.Dense(UNITS, flatten=False, in_units=HIDDEN)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x):
        """Sequences (batch, length, units) to the same."""
        size = UNITS // HEADS
        q, k, v = (
            np.reshape(np.transpose(np.reshape(part, (-1, LENGTH, HEADS, size)), (0, 2, 1, 3)), (-1, LENGTH, size))
            for part in np.split(self.qkv(x), 3, axis=-1)
        )
        scores = npx.softmax(npx.batch_dot(q, k, transpose_b=True) / math.sqrt(size), axis=-1)
        y = npx.batch_dot(self.dropout(scores), v)
        y = np.reshape(np.transpose(np.reshape(y, (-1, HEADS, LENGTH, size)), (0, 2, 1, 3)), (-1, LENGTH, UNITS))
        x = self.norm1(x + self.dropout(self.proj(y)))
        return self.norm2(x + self.dropout(self.narrow(self.gelu(self.wide(x)))))


class BERT(nn.HybridBlock):
    """Words and positions, encoder layers, and scores of two classes from the first word's place."""

    def __init__(self, layers):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, UNITS), nn.Embedding(LENGTH, UNITS)
        self.norm, self.dropout = nn.LayerNorm(in_channels=UNITS), nn.Dropout(DROPOUT)
        self.layers = nn.HybridSequential()
        self.layers.add(*[EncoderLayer() for _ in range(layers)])
        self.output = nn.Dense(2, in_units=UNITS)

    def forward(self, tokens):
        """Numbers of words (batch, length) to scores."""
        x = self.words(tokens) + self.places(np.arange(LENGTH))
        return self.output(self.layers(self.dropout(self.norm(x)))[:, 0])


def mlp():
    """Three dense layers of 512 units."""
    net = nn.HybridSequential()
    net.add(*[nn.Dense(512, activation="relu") for _ in range(3)], nn.Dense(10))
    return net


def lenet():
    """Two convolutions with pooling, two dense layers."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(20, 5, activation="relu"), nn.MaxPool2D(), nn.Conv2D(50, 5, activation="relu"), nn.MaxPool2D())
    net.add(nn.Dense(500, activation="relu"), nn.Dense(10))
    return net


def resnet(depth):
    """Return the model zoo's."""
    return importlib.import_module(f"{mx.__name__}.gluon.model_zoo.vision").get_model(f"resnet{depth}_v1", classes=10)


# name: (net, shape of a batch, classes, optimizer)
MODELS = {
    "mlp": (mlp, (64, 784), 10, ADAM),
    "lenet": (lenet, (32, 1, 28, 28), 10, MOMENTUM),
    "resnet18": (lambda: resnet(18), (16, 3, 64, 64), 10, MOMENTUM),
    "resnet50": (lambda: resnet(50), (2, 3, 64, 64), 10, MOMENTUM),
    "bert": (lambda: BERT(4), (8, LENGTH), 2, ADAM),
    "bert12": (lambda: BERT(12), (8, LENGTH), 2, ADAM),
}


def batch(shape, classes):
    """Random inputs, words where the shape is that of words, and labels."""
    rng = onp.random.default_rng(0)
    words = shape == (8, LENGTH)
    x = rng.integers(0, WORDS, shape) if words else rng.standard_normal(shape, onp.float32)
    return x.astype(onp.int32 if words else onp.float32), rng.integers(0, classes, shape[0]).astype(onp.float32)


def main(name, what, hybridize):
    """Make the net and do what is asked; gives the time after the initialization."""
    if hasattr(npx, "set_np"):
        npx.set_np()
    make, shape, classes, (optimizer, options) = MODELS[name]
    net = make()
    _, loss_of_classes, law = TRAINING
    net.initialize(law())
    if hybridize:
        net.hybridize()
    x, y = batch(shape, classes)
    x, y = np.array(x, dtype=x.dtype), np.array(y)
    initialized = time.perf_counter()
    if what == "predict":
        net(x).asnumpy()
        return initialized
    trainer = gluon.Trainer(net.collect_params(), optimizer, options)
    loss_fn = loss_of_classes()
    with autograd.record():
        loss = loss_fn(net(x), y)
    loss.backward()
    trainer.step(shape[0])
    float(loss.mean())
    mx.waitall() if hasattr(mx, "waitall") else mx.nd.waitall()
    return initialized


if __name__ == "__main__":
    initialized = main(sys.argv[2], sys.argv[3], sys.argv[4] == "1")
    print(imported, initialized, time.perf_counter())
