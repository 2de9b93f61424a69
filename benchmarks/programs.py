"""Small whole programs of many kinds, which run with gluonx and with MXNet 2.0: most are over before a compiler pays.

`PROGRAMS` has each by name: a function of the package, ``gluonx`` or ``mxnet``, that makes nets and gives a function
which runs the program. ``python -m benchmarks.cold`` times them in fresh processes, and tests count what they compile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

__all__ = ["PROGRAMS"]

Program = Callable[[], Any]


def _dense(mx: Any, *units: int, activation: str = "relu", inputs: int = 0) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    for i, count in enumerate(units):
        last = i == len(units) - 1
        net.add(nn.Dense(count, activation=None if last else activation, in_units=inputs, flatten=False))
        inputs = count
    return net


def _ready(net: Any, hybridize: bool = True) -> Any:
    net.initialize()
    if hybridize:
        net.hybridize()
    return net


def _trainer(mx: Any, *nets: Any, rate: float = 1e-3) -> Any:
    weights = {f"{i}.{name}": p for i, net in enumerate(nets) for name, p in net.collect_params().items()}
    return mx.gluon.Trainer(weights, "adam", {"learning_rate": rate})


def _learn(mx: Any, trainer: Any, loss_of: Callable[[], Any]) -> float:
    """Make one step on what `loss_of` gives, and read the loss."""
    with mx.autograd.record():
        loss = loss_of()
    loss.backward()
    trainer.step(1)
    return loss.item()


# -- images -----------------------------------------------------------------------------------------------------------


def _gan(mx: Any, steps: int = 20) -> Program:
    nn, np = mx.gluon.nn, mx.np
    draws, real = nn.HybridSequential(), nn.HybridSequential()
    draws.add(nn.Dense(16 * 16), nn.HybridLambda(lambda x: x.reshape(-1, 16, 4, 4)), nn.BatchNorm())
    draws.add(nn.Activation("relu"), nn.Conv2DTranspose(8, 4, 2, 1), nn.BatchNorm(), nn.Activation("relu"))
    draws.add(nn.Conv2DTranspose(1, 4, 2, 1, activation="tanh"))
    real.add(nn.Conv2D(8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2D(16, 4, 2, 1), nn.BatchNorm(), nn.LeakyReLU(0.2))
    real.add(nn.Dense(1))
    draws, real = _ready(draws), _ready(real)
    entropy = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
    images = np.array(onp.random.RandomState(0).rand(16, 1, 16, 16).astype("f"))
    ones, zeros = np.ones((16, 1)), np.zeros((16, 1))

    def run() -> None:
        of_real, of_draws = None, None
        for _ in range(steps):
            noise = np.random.normal(size=(16, 8))
            if of_real is None:
                real(draws(noise))
                of_real, of_draws = _trainer(mx, real), _trainer(mx, draws)
            fake = draws(noise)
            _learn(mx, of_real, lambda f=fake: (entropy(real(images), ones) + entropy(real(f), zeros)).mean())
            _learn(mx, of_draws, lambda z=noise: entropy(real(draws(z)), ones).mean())

    return run


def _detector(mx: Any, steps: int = 8) -> Program:
    nn, np, npx = mx.gluon.nn, mx.np, mx.npx
    classes, anchors = 3, 4

    class Detector(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.stages, self.kinds, self.boxes = (nn.HybridSequential() for _ in range(3))
            for channels in (8, 16):
                stage = nn.HybridSequential()
                stage.add(nn.Conv2D(channels, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D())
                self.stages.add(stage)
                self.kinds.add(nn.Conv2D(anchors * (classes + 1), 3, padding=1))
                self.boxes.add(nn.Conv2D(anchors * 4, 3, padding=1))

        def forward(self, x: Any) -> Any:
            places, kinds, boxes = [], [], []
            for i in range(2):
                x = self.stages[i](x)
                places.append(npx.multibox_prior(x, sizes=(0.2, 0.4), ratios=(1, 2, 0.5)))
                kinds.append(np.transpose(self.kinds[i](x), (0, 2, 3, 1)).reshape(x.shape[0], -1, classes + 1))
                boxes.append(np.transpose(self.boxes[i](x), (0, 2, 3, 1)).reshape(x.shape[0], -1))
            return np.concatenate(places, 1), np.concatenate(kinds, 1), np.concatenate(boxes, 1)

    net = _ready(Detector(), hybridize=False)
    images = np.array(onp.random.RandomState(0).rand(2, 3, 16, 16).astype("f"))
    labels = np.array([[[0, 0.1, 0.1, 0.5, 0.6]], [[2, 0.3, 0.2, 0.9, 0.8]]])
    entropy, distance = mx.gluon.loss.SoftmaxCrossEntropyLoss(), mx.gluon.loss.L1Loss()

    def loss() -> Any:
        places, kinds, boxes = net(images)
        goal, mask, kind = npx.multibox_target(places, labels, np.swapaxes(kinds, 1, 2))
        return (entropy(kinds, kind) + distance(boxes * mask, goal * mask)).mean()

    def run() -> None:
        net(images)
        trainer = _trainer(mx, net)
        for _ in range(steps):
            _learn(mx, trainer, loss)
        for count in (1, 2, 1):
            places, kinds, boxes = net(images[:count])
            chances = npx.softmax(np.swapaxes(kinds, 1, 2), axis=1)
            npx.multibox_detection(chances, boxes, places, nms_threshold=0.5).asnumpy()

    return run


def _families(mx: Any) -> Program:
    np, zoo = mx.np, mx.gluon.model_zoo.vision
    x, y = np.array(onp.random.RandomState(0).rand(2, 3, 224, 224).astype("f")), np.array([1, 2])
    entropy = mx.gluon.loss.SoftmaxCrossEntropyLoss()

    def run() -> None:
        for name in ("squeezenet1.1", "mobilenet0.25", "resnet18_v2"):
            net = _ready(zoo.get_model(name, classes=10))
            net(x)
            trainer = _trainer(mx, net)
            _learn(mx, trainer, lambda n=net: entropy(n(x), y).mean())
            net(x).asnumpy()

    return run


def _epochs(mx: Any, count: int = 2) -> Program:
    """Epochs as scripts for images have them: batches of a loader, a smaller last one, a metric, validation."""
    nn, np, gluon = mx.gluon.nn, mx.np, mx.gluon
    net = nn.HybridSequential()
    for channels, stride in ((8, 1), (16, 2), (16, 1)):
        net.add(nn.Conv2D(channels, 3, stride, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.GlobalAvgPool2D(), nn.Dense(10))
    net = _ready(net)
    numbers = onp.random.RandomState(0)
    data = gluon.data.ArrayDataset(numbers.rand(90, 3, 16, 16).astype("f"), numbers.randint(0, 10, 90).astype("i"))
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()

    def run() -> None:
        metric = gluon.metric.Accuracy()
        trainer = None
        for epoch in range(count):
            metric.reset()
            for x, y in gluon.data.DataLoader(data, 16, shuffle=True, last_batch="keep"):
                if trainer is None:
                    net(x)
                    trainer = gluon.Trainer(net.collect_params(), "nag", {"learning_rate": 0.01, "momentum": 0.9})
                trainer.set_learning_rate(0.01 / (1 + epoch))
                with mx.autograd.record():
                    out = net(x)
                    loss = entropy(out, y).mean()
                loss.backward()
                trainer.step(1)
                metric.update(y, out)
            metric.get()
            for x, y in gluon.data.DataLoader(data, 20, last_batch="keep"):
                metric.update(y, net(x))
            metric.get()
        np.array([0]).asnumpy()

    return run


# -- words ------------------------------------------------------------------------------------------------------------


def _attention(mx: Any, units: int) -> Any:
    nn, np, npx = mx.gluon.nn, mx.np, mx.npx

    class Attention(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (
                nn.Dense(units, flatten=False, in_units=units) for _ in range(4)
            )
            self.norm = nn.LayerNorm(in_channels=units)

        def forward(self, x: Any, memory: Any) -> Any:
            scores = np.matmul(self.query(x), np.swapaxes(self.key(memory), 1, 2)) / units**0.5
            return self.norm(x + self.out(np.matmul(npx.softmax(scores), self.value(memory))))

    return Attention()


def _translator(mx: Any, units: int, words: int) -> tuple[Any, Any]:
    """Return the encoder and the decoder of a transformer of two layers."""
    nn, npx = mx.gluon.nn, mx.npx

    class Half(nn.HybridBlock):
        def __init__(self, reads: bool) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, units), nn.Embedding(64, units)
            self.own, self.other, self.wide, self.norms = (nn.HybridSequential() for _ in range(4))
            for _ in range(2):
                self.own.add(_attention(mx, units))
                self.wide.add(_dense(mx, 2 * units, units, inputs=units))
                self.norms.add(nn.LayerNorm(in_channels=units))
                if reads:
                    self.other.add(_attention(mx, units))
            self.out = nn.Dense(words, flatten=False, in_units=units) if reads else None

        def forward(self, x: Any, memory: Any = None) -> Any:
            h = self.words(x) + self.places(npx.arange_like(x, axis=1))
            for i in range(2):
                h = self.own[i](h, h)
                if memory is not None:
                    h = self.other[i](h, memory)
                h = self.norms[i](h + self.wide[i](h))
            return h if self.out is None else self.out(h)

    return Half(False), Half(True)


def _translating(mx: Any, sentences: int = 20, hybridize: bool = False) -> Program:
    """Translate sentences of 3 to 12 words, each of up to 15 words written one by one, the likeliest each time."""
    np, numbers = mx.np, onp.random.RandomState(0)
    encoder, decoder = (_ready(half, hybridize) for half in _translator(mx, 32, 100))

    def run() -> None:
        for _ in range(sentences):
            memory = encoder(np.array(numbers.randint(0, 100, (1, numbers.randint(3, 13))).astype("i")))
            found = [1]
            for _ in range(numbers.randint(5, 16)):
                scores = decoder(np.array([found], dtype="i"), memory)
                found.append(int(np.argmax(scores[0, -1]).item()))

    return run


def _with_memory(mx: Any, steps: int = 12) -> Program:
    """Train on segments of a text, each of which looks at what the layers gave for the one before."""
    nn, np = mx.gluon.nn, mx.np
    units, words = 32, 100

    class Net(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.out = nn.Embedding(words, units), nn.Dense(words, flatten=False, in_units=units)
            self.layers = nn.HybridSequential()
            self.layers.add(*[_attention(mx, units) for _ in range(2)])

        def forward(self, x: Any, memories: Any) -> Any:
            h, kept = self.words(x), []
            for layer, memory in zip(self.layers, memories):
                kept.append(h)
                h = layer(h, np.concatenate([memory, h], axis=1))
            return self.out(h), kept

    net, numbers = _ready(Net(), hybridize=False), onp.random.RandomState(0)
    entropy = mx.gluon.loss.SoftmaxCrossEntropyLoss()

    def run() -> None:
        memories = [np.zeros((2, 0, units)) for _ in range(2)]
        trainer = _trainer(mx, net)
        for step in range(steps):
            text = numbers.randint(0, words, (2, 9 - step % 2))
            x, y = np.array(text[:, :-1].astype("i")), np.array(text[:, 1:])
            with mx.autograd.record():
                out, kept = net(x, memories)
                loss = entropy(out, y).mean()
            loss.backward()
            trainer.step(1)
            loss.item()
            memories = [np.concatenate([m, k.detach()], axis=1)[:, -16:] for m, k in zip(memories, kept)]

    return run


def _trees(mx: Any, pairs: int = 30) -> Program:
    """Train a tree-LSTM on pairs of sentences of 3 to 7 words, each of them a tree of its own."""
    nn, np = mx.gluon.nn, mx.np
    units, words = 16, 50

    class Cell(nn.Block):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, units)
            self.gates, self.forget = nn.Dense(3 * units, in_units=2 * units), nn.Dense(units, in_units=2 * units)

        def forward(self, tree: Any) -> Any:
            word, children = tree
            x = self.words(word)
            below = [self.forward(child) for child in children]
            h = sum([h for h, _ in below], np.zeros((1, units)))
            gates = self.gates(np.concatenate([x, h], axis=1))
            i, o, u = (gates[:, k * units : (k + 1) * units] for k in range(3))
            c = mx.npx.sigmoid(i) * np.tanh(u)
            for hidden, cell in below:
                c = c + mx.npx.sigmoid(self.forget(np.concatenate([x, hidden], axis=1))) * cell
            return mx.npx.sigmoid(o) * np.tanh(c), c

    numbers = onp.random.RandomState(0)

    def tree() -> Any:
        count = numbers.randint(3, 8)
        nodes: list[tuple[Any, list[Any]]] = []
        for k in range(count):
            nodes.append((np.array(numbers.randint(0, words, 1).astype("i")), []))
            if k:
                nodes[numbers.randint(k)][1].append(nodes[k])
        return nodes[0]

    cell, head = _ready(Cell(), hybridize=False), _ready(_dense(mx, 16, 5, inputs=2 * units), hybridize=False)
    entropy = mx.gluon.loss.SoftmaxCrossEntropyLoss()

    def run() -> list[float]:
        trainer, losses = _trainer(mx, cell, head), []
        for _ in range(pairs):
            left, right, label = tree(), tree(), np.array([numbers.randint(5)])

            def loss(left: Any = left, right: Any = right, label: Any = label) -> Any:
                a, b = cell(left)[0], cell(right)[0]
                return entropy(head(np.concatenate([a * b, np.abs(a - b)], axis=1)), label).mean()

            losses.append(_learn(mx, trainer, loss))
        return losses

    return run


def _unrolled(mx: Any, length: int = 600, steps: int = 2) -> Program:
    """Train an LSTM cell that is unrolled in Python."""
    np = mx.np
    cell, head = _ready(mx.gluon.rnn.LSTMCell(16, input_size=8)), _ready(_dense(mx, 4, inputs=16))
    data = np.array(onp.random.RandomState(0).rand(2, length, 8).astype("f"))

    def loss() -> Any:
        outs, _ = cell.unroll(length, data, layout="NTC", merge_outputs=False)
        return (head(outs[-1]) ** 2).mean()

    def run() -> None:
        trainer = _trainer(mx, cell, head)
        for _ in range(steps):
            _learn(mx, trainer, loss)

    return run


# -- others -----------------------------------------------------------------------------------------------------------


def _probabilistic(mx: Any, steps: int = 15) -> Program:
    """Train a variational autoencoder."""
    np, p = mx.np, mx.gluon.probability
    encoder, decoder = _ready(_dense(mx, 32, 8, inputs=20)), _ready(_dense(mx, 32, 20, inputs=4))
    data = np.array((onp.random.RandomState(0).rand(16, 20) > 0.5).astype("f"))

    def loss() -> Any:
        found = encoder(data)
        mean, spread = found[:, :4], np.exp(found[:, 4:])
        hidden = p.Normal(mean, spread)
        z = mean + spread * np.random.normal(size=(16, 4))
        seen = p.Bernoulli(logit=decoder(z)).log_prob(data).sum(axis=1)
        prior = p.kl_divergence(hidden, p.Normal(np.zeros((16, 4)), np.ones((16, 4)))).sum(axis=1)
        return (prior - seen).mean()

    def run() -> None:
        trainer = _trainer(mx, encoder, decoder)
        for _ in range(steps):
            _learn(mx, trainer, loss)

    return run


def _actor(mx: Any, episodes: int = 10) -> Program:
    """Train an actor and a critic on episodes of 5 to 24 steps, each step a batch of one."""
    np, npx = mx.np, mx.npx
    body, policy, value = (_ready(_dense(mx, *units)) for units in ((32, 32), (2,), (1,)))
    numbers = onp.random.RandomState(0)
    body(np.zeros((1, 4)))
    for head in (policy, value):
        head(np.zeros((1, 32)))

    def run() -> None:
        trainer = _trainer(mx, body, policy, value)
        for _ in range(episodes):
            state, losses = onp.zeros(4, "f"), []
            with mx.autograd.record():
                for _ in range(numbers.randint(5, 25)):
                    h = np.tanh(body(np.array(state[None])))
                    chances = npx.log_softmax(policy(h))
                    action = int(numbers.rand() > np.exp(chances)[0, 0].item())
                    reward = float(numbers.rand())
                    gain = reward - value(h)[0, 0]
                    losses.append(gain**2 - chances[0, action] * gain.detach())
                    state = (0.9 * state + numbers.randn(4)).astype("f")
                loss: Any = sum(losses)
            loss.backward()
            trainer.step(len(losses))

    return run


def _graphs(mx: Any, count: int = 20) -> Program:
    """Train a graph network on graphs of 5 to 24 nodes."""
    np, npx = mx.np, mx.npx
    first, second, head = (_ready(_dense(mx, units, inputs=inputs)) for units, inputs in ((16, 8), (16, 16), (3, 16)))
    entropy, numbers = mx.gluon.loss.SoftmaxCrossEntropyLoss(), onp.random.RandomState(0)

    def run() -> None:
        trainer = _trainer(mx, first, second, head)
        for _ in range(count):
            n = numbers.randint(5, 25)
            near = (numbers.rand(n, n) > 0.7) + onp.eye(n)
            edges = np.array((near / near.sum(1, keepdims=True)).astype("f"))
            nodes, label = np.array(numbers.rand(n, 8).astype("f")), np.array([numbers.randint(3)])

            def loss(edges: Any = edges, nodes: Any = nodes, label: Any = label) -> Any:
                h = npx.relu(np.matmul(edges, first(nodes)))
                h = npx.relu(np.matmul(edges, second(h)))
                return entropy(head(h.mean(axis=0, keepdims=True)), label).mean()

            _learn(mx, trainer, loss)

    return run


def _notebook(mx: Any, cells: int = 100) -> Program:
    """Run a hundred small cells that are all different, as somebody does who tries things out."""
    np, npx, autograd = mx.np, mx.npx, mx.autograd
    numbers = onp.random.RandomState(0)

    def array(*shape: int) -> Any:
        return np.array(numbers.rand(*shape).astype("f"))

    def gradient(x: Any, f: Callable[[Any], Any]) -> Any:
        x.attach_grad()
        with autograd.record():
            y = f(x)
        y.backward()
        return x.grad

    kinds: list[Callable[[int], Any]] = [
        lambda n: np.linalg.solve(array(n, n) + n * np.eye(n), array(n)),
        lambda n: np.linalg.norm(array(n, 3), axis=1),
        lambda n: np.linalg.inv(array(n, n) + n * np.eye(n)),
        lambda n: np.linalg.svd(array(n, n + 1))[1],
        lambda n: np.pad(array(n, 2), ((1, 1), (0, n))),
        lambda n: np.einsum("ij,kj->ik", array(n, 3), array(2, 3)),
        lambda n: np.tensordot(array(n, 3), array(3, n), axes=1),
        lambda n: np.percentile(array(n, 4), 30.0, axis=0),
        lambda n: np.cumsum(array(n, 4), axis=0) / array(4),
        lambda n: np.random.gamma(2.0, 1.0, size=(n, 2)),
        lambda n: np.random.multinomial(n, [0.2, 0.3, 0.5]),
        lambda n: np.take(array(n, 4), np.array([0, 1]), axis=0, mode="wrap"),
        lambda n: npx.topk(array(2, n + 3), k=2, ret_typ="value"),
        lambda n: np.where(array(n) > 0.5, array(n), np.zeros(n)).std(),
        lambda n: np.diff(np.sort(array(n, 3), axis=0), axis=0),
        lambda n: gradient(array(n), lambda x: (np.exp(x) * x).sum()),
        lambda n: gradient(array(n, 3), lambda x: np.log(np.matmul(x, np.transpose(x)) + 1).mean()),
        lambda n: gradient(array(n), lambda x: npx.softmax(x)[0]),
        lambda n: gradient(array(n, 2), lambda x: np.linalg.norm(x)),
        lambda n: gradient(array(2, n), lambda x: np.tanh(x).reshape(-1).max()),
    ]

    def run() -> None:
        for i in range(cells):
            kinds[i % len(kinds)](2 + i // len(kinds)).asnumpy()

    return run


PROGRAMS: dict[str, Callable[..., Program]] = {
    "GAN": _gan,
    "detector with NMS": _detector,
    "translating word by word": _translating,
    "translating, hybridized": lambda mx, sentences=20: _translating(mx, sentences, True),
    "transformer with memory": _with_memory,
    "tree-LSTM": _trees,
    "LSTM cell, 600 steps": _unrolled,
    "variational autoencoder": _probabilistic,
    "actor and critic": _actor,
    "graph network": _graphs,
    "notebook, 100 cells": _notebook,
    "zoo, three families": _families,
    "one epoch": lambda mx: _epochs(mx, 1),
    "two epochs": _epochs,
}
"""Programs by name."""
