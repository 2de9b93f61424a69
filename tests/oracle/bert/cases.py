"""A small BERT as it is written for MXNet 2.0, and what both sides train on."""

import zlib

import numpy as np

WORDS, UNITS, HIDDEN, LAYERS, HEADS, LENGTH, BATCH, STEPS = 11, 16, 32, 2, 4, 8, 4, 20
RATE, WARMUP, WD = 0.02, 5, 0.01


def value(name, shape):
    rng = np.random.RandomState(zlib.crc32(f"bert/{name}".encode()))
    if name.endswith("gamma"):
        return rng.uniform(0.8, 1.2, shape).astype("float32")
    return rng.uniform(-0.4, 0.4, shape).astype("float32")


def batches():
    """(what is seen, the text, which places are asked for): a word mostly decides its neighbours."""
    rng = np.random.RandomState(7)
    for _ in range(STEPS):
        text = (rng.randint(0, WORDS - 1, (BATCH, 1)) + np.arange(LENGTH)) % (WORDS - 1)
        asked = rng.uniform(size=text.shape) < 0.3
        asked[:, 0] = True
        yield np.where(asked, WORDS - 1, text).astype("int32"), text.astype("int32"), asked.astype("float32")


def losses(lib, net):
    """The losses of all steps: LAMB with warm-up."""
    np_, gluon = lib.np, lib.gluon
    schedule = lib.lr_scheduler.PolyScheduler(STEPS, RATE, pwr=1, warmup_steps=WARMUP)
    settings = {"learning_rate": RATE, "lr_scheduler": schedule, "wd": WD}
    trainer = gluon.Trainer(net.collect_params(), "lamb", settings)
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    trail = []
    for seen, text, asked in batches():
        weight = np_.array(asked[:, :, None] * (asked.size / asked.sum()))
        with lib.autograd.record():
            scores = net(np_.array(seen, dtype="int32"))
            loss = loss_fn(scores, np_.array(text, dtype="int32"), weight).mean()
        loss.backward()
        trainer.step(1)
        trail.append(float(loss))
    return trail
