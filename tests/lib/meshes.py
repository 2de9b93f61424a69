"""What the tests of gluonx.parallel share: nets that train, and a look at what was compiled."""

import contextlib
import math
import re
from collections import Counter

import jax
import numpy as onp
from jax import monitoring

import gluonx
from gluonx import Trainer, autograd, engine, loss, nn, np, parallel, rnn
from gluonx.deferred.run import flushing

__all__ = ["NETS", "STRATEGIES", "Experts", "collectives", "compilations", "kinds", "on", "ran", "train"]

COMPILED = [0]  # programs that XLA compiled in this process
monitoring.register_event_duration_secs_listener(
    lambda name, _, **__: COMPILED.__setitem__(0, COMPILED[0] + name.endswith("backend_compile_duration"))
)


def compilations():
    """How many programs XLA has compiled so far."""
    return COMPILED[0]


def on(count, **axes):
    """A mesh of the first `count` devices."""
    return parallel.mesh(devices=jax.devices()[:count], **axes)


@contextlib.contextmanager
def ran():
    """A list of the text of each program that runs within, as XLA compiled it."""
    texts = []

    def watch(program, args):
        structs = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=_place(a)) for a in args]
        texts.append(program.call.lower(*structs).compile().as_text())

    flushing.watchers.append(watch)
    try:
        yield texts
    finally:
        flushing.watchers.remove(watch)


def _place(array):
    return array.sharding if isinstance(array, jax.Array) and len(array.devices()) > 1 else None


_KINDS = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute"


def collectives(text):
    """By kind: the number of elements of the results of each collective in a compiled program."""
    found = {}
    for shapes, kind in re.findall(rf"= (.*?) ({_KINDS})(?:-start)?\(", text):
        sizes = [math.prod(map(int, filter(None, dims.split(",")))) for dims in re.findall(r"\w\[([\d,]*)\]", shapes)]
        found.setdefault(kind, []).append(sum(sizes))
    return found


def kinds(text):
    """How many collectives of each kind a compiled program has."""
    return Counter({kind: len(sizes) for kind, sizes in collectives(text).items()})


# ---------------------------------------------------------------------------------------------------------- nets


def mlp():
    net = nn.HybridSequential()
    net.add(nn.Dense(32, activation="relu"), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(16, activation="relu"))
    net.add(nn.Dense(8))
    return net


def lenet():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, activation="relu"), nn.MaxPool2D(), nn.Conv2D(16, 3, activation="relu"), nn.MaxPool2D())
    net.add(nn.Dense(32, activation="relu"), nn.Dense(8))
    return net


class Tagger(gluonx.HybridBlock):
    """Words, an LSTM, one class for the whole."""

    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.out = nn.Embedding(24, 16), rnn.LSTM(16, 2, layout="NTC"), nn.Dense(8)

    def forward(self, x):
        return self.out(self.lstm(self.embed(x))[:, -1])


class Bert(gluonx.HybridBlock):
    """Two encoder layers over words."""

    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(24, 32), nn.Dense(8)
        self.encoder = nn.TransformerEncoder(num_layers=2, units=32, hidden_size=64, num_heads=8, activation="gelu")

    def forward(self, x):
        return self.out(self.encoder(self.embed(x))[:, 0])


class Experts(gluonx.HybridBlock):
    """A mixture of experts: each sample goes to the two that a gate likes best."""

    def __init__(self, count=8, units=16, hidden=24):
        super().__init__()
        self.gate = nn.Dense(count, in_units=units)
        self.expert_up = gluonx.Parameter("expert_up", shape=(count, units, hidden))
        self.expert_down = gluonx.Parameter("expert_down", shape=(count, hidden, units))

    def forward(self, x):
        scores = self.gate(x)
        best = gluonx.npx.topk(scores, k=2, ret_typ="mask", axis=-1)
        share = gluonx.npx.softmax(scores + (best - 1) * 1e4)
        up = parallel.constrain(np.einsum("bi,eih->ebh", x, self.expert_up.data()), *self.along)
        out = np.einsum("ebh,ehi->ebi", gluonx.npx.relu(up), self.expert_down.data())
        return np.einsum("be,ebi->bi", share, out)

    along = (None,)


class Mixture(gluonx.HybridBlock):
    def __init__(self):
        super().__init__()
        self.inner, self.moe, self.out = nn.Dense(16, activation="tanh"), Experts(), nn.Dense(8)

    def forward(self, x):
        x = self.inner(x)
        return self.out(x + self.moe(x))


def resnet():
    return gluonx.model_zoo.vision.ResNetV1(
        gluonx.model_zoo.vision.BasicBlockV1, [2, 2, 2, 2], [8, 8, 12, 16, 24], classes=8, thumbnail=True
    )


def _images(*shape):
    return lambda rng, n: rng.standard_normal((n, *shape)).astype("float32")


def _words(rng, n):
    return rng.integers(0, 24, (n, 6)).astype("int32")


NETS = {
    "mlp": (mlp, _images(12)),
    "lenet": (lenet, _images(1, 12, 12)),
    "lstm": (Tagger, _words),
    "bert": (Bert, _words),
    "mixture": (Mixture, _images(12)),
    "resnet": (resnet, _images(3, 16, 16)),
}

# Small enough that no relu changes its mind within twenty steps because a sum was taken in another order.
RATES = {"resnet": 0.005}

STRATEGIES = {
    "data": (lambda n: {"data": n}, []),
    "fsdp": (lambda n: {"data": n}, [parallel.fsdp(min_size=64)]),
    "tensor": (lambda n: {"data": 1, "model": n}, [parallel.tensor()]),
    "both": (lambda n: {"data": n // 2 or 1, "model": min(n, 2)}, [parallel.tensor(), parallel.fsdp(min_size=64)]),
}


def train(key, mesh=None, rules=(), steps=5, hybridize=True, optimizer="sgd", settings=None, batch=16, look=None):
    """Losses of some steps of a net, each a scalar.

    `look` is called with net, trainer and a function that does one more step before the losses are returned.
    """
    make, data = NETS[key]
    gluonx.random.seed(11)
    rng = onp.random.default_rng(5)
    x, y = data(rng, batch), rng.integers(0, 8, batch).astype("int32")
    with parallel.use(mesh):
        net = make()
        net.initialize(gluonx.init.Xavier())
        if mesh is not None:
            net.shard(*rules)
        if hybridize:
            net.hybridize()
        if settings is None:
            settings = {"learning_rate": RATES.get(key, 0.05), "momentum": 0.9}
        trainer = Trainer(net.collect_params(), optimizer, settings)
        x, y = parallel.split(x), parallel.split(y)
        loss_fn = loss.SoftmaxCrossEntropyLoss()

        def step():
            with autograd.record():
                value = loss_fn(net(x), y).mean()
            value.backward()
            trainer.step(1)
            return value

        losses, counts = [], []
        for _ in range(steps):
            before = engine.stats()["dispatches"], engine.stats()["programs_compiled"], compilations()
            losses.append(step())
            after = engine.stats()["dispatches"], engine.stats()["programs_compiled"], compilations()
            counts.append(tuple(b - a for a, b in zip(before, after, strict=True)))
        found = [value.item() for value in losses]
        if look is not None:
            look(net, trainer, step, counts)
        return found
