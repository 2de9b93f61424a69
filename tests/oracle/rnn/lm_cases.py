"""The language model of gluonx/examples as it is written for MXNet 2.0, and what both sides train on."""

import zlib

import numpy as np

WORDS, SIZE, LAYERS, BATCH, BPTT, STEPS = 12, 16, 2, 4, 7, 20
CLIP, RATE = 1.0, 2.0
OPTIMIZERS = {"sgd": {"learning_rate": RATE, "momentum": 0.5}, "adam": {"learning_rate": 0.02}}


def text():
    """Numbers of words in which there is something to learn: mostly, a word decides its successor."""
    rng = np.random.RandomState(3)
    after = rng.permutation(WORDS)
    found = [0]
    while len(found) < STEPS * BATCH * BPTT + BATCH * BPTT:
        found.append(int(after[found[-1]]) if rng.uniform() < 0.9 else int(rng.randint(WORDS)))
    return np.array(found, "int32")


def value(name, shape):
    seed = zlib.crc32(f"language model/{name}".encode())
    return np.random.RandomState(seed).uniform(-0.3, 0.3, shape).astype("float32")


def pieces():
    numbers = text()
    rows = (len(numbers) - 1) // BATCH
    columns = numbers[: rows * BATCH].reshape(BATCH, rows).T
    following = numbers[1 : rows * BATCH + 1].reshape(BATCH, rows).T
    for start in list(range(0, rows - BPTT + 1, BPTT))[:STEPS]:
        yield columns[start : start + BPTT], following[start : start + BPTT]


def losses(lib, net, optimizer):
    """The losses of all steps: states carried and detached, gradients clipped."""
    np_, gluon = lib.np, lib.gluon
    params = list({id(p): p for p in net.collect_params().values()}.values())
    trainer = gluon.Trainer(net.collect_params(), optimizer, dict(OPTIMIZERS[optimizer]))
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    states, trail = net.rnn.begin_state(BATCH), []
    for words, following in pieces():
        states = [s.detach() for s in states]
        with lib.autograd.record():
            scores, states = net(np_.array(words, dtype="int32"), states)
            loss = loss_fn(scores, np_.array(following, dtype="int32")).mean()
        loss.backward()
        gluon.utils.clip_global_norm([p.grad() for p in params], CLIP, check_isfinite=False)
        trainer.step(1)
        trail.append(float(loss))
    return trail
