"""Three small trainings, written once for both libraries: nets, batches and settings.

``make_golden.py`` runs them in MXNet 2.0, ``tests/test_training_oracle.py`` in gluonx. Nothing here imports either;
a net is made from the ``nn`` that it is given. Batches come from a fixed generator and are not stored.
"""

import numpy as onp

STEPS = 10
BATCHES = (8, 8, 5)  # the last batch of each round is smaller


def mlp(nn):
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dense(6, activation="tanh"), nn.Dense(3))
    return net


def lenet(nn):
    # No bias or shift directly before a batch norm: its gradient is zero but for rounding, which Adam makes large.
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, kernel_size=3, activation="relu"),
        nn.BatchNorm(),
        nn.Activation("tanh"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Conv2D(6, kernel_size=2, use_bias=False),
        nn.BatchNorm(momentum=0.7),
        nn.Activation("relu"),
        nn.Flatten(),
        nn.Dropout(0.0),
        nn.Dense(7, activation="relu"),
        nn.Dense(3),
    )
    return net


def bag(nn):
    net = nn.HybridSequential()
    net.add(nn.Embedding(11, 4), nn.HybridLambda(lambda *x: x[-1].mean(axis=1)), nn.Dense(3))
    return net


def _real(*shape):
    return lambda rng, n: rng.uniform(-1, 1, (n, *shape)).astype("float32")


def _words(rng, n):
    return rng.randint(0, 11, (n, 6)).astype("float32")


# name: (net, batch, optimizer, its settings)
CASES = {
    "mlp": (mlp, _real(5), "sgd", {"learning_rate": 0.2, "momentum": 0.9, "wd": 0.01}),
    "lenet": (lenet, _real(1, 8, 8), "adam", {"learning_rate": 0.02}),
    "bag": (bag, _words, "adagrad", {"learning_rate": 0.3}),
}


def batches(name):
    """The batches and labels of one training."""
    rng = onp.random.RandomState(sum(map(ord, name)))
    for step in range(STEPS):
        n = BATCHES[step % len(BATCHES)]
        yield CASES[name][1](rng, n), rng.randint(0, 3, n).astype("float32")


def rate(step, start):
    """The learning rate of a step: it changes now and then."""
    return start * (1.0, 0.5, 0.8)[step // 4]


def train(name, net, trainer, loss, autograd, array):
    """Run the training; give the loss of each batch."""
    start, losses = CASES[name][3]["learning_rate"], []
    for step, (x, y) in enumerate(batches(name)):
        trainer.set_learning_rate(rate(step, start))
        with autograd.record():
            value = loss(net(array(x)), array(y))
        value.backward()
        trainer.step(len(x))
        losses.append(value.mean().item())
    return losses
