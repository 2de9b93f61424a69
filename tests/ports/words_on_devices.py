# ruff: noqa
"""A small classifier of sentences over several devices, with gradients added up, as GluonNLP's scripts fine-tune."""

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
draw = onp.random.RandomState(5)
WORDS, UNITS, LENGTH, ACCUMULATE, CLIP = 20, 8, 6, 3, 0.5
SENTENCES = draw.randint(1, WORDS, (72, LENGTH))
LENGTHS = draw.randint(2, LENGTH + 1, 72)
KINDS = (SENTENCES[:, 0] > WORDS // 2).astype("int32")


class Classifier(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, UNITS)
        self.project = nn.Dense(3 * UNITS, flatten=False, in_units=UNITS)
        self.norm = nn.LayerNorm(in_channels=UNITS)
        self.pool = nn.Dense(UNITS, activation="tanh", in_units=UNITS)
        self.out = nn.Dense(2, in_units=UNITS)

    def forward(self, words, lengths):
        x = self.embed(words)
        query, key, value = np.split(self.project(x), 3, axis=-1)
        scores = npx.batch_dot(query, key, transpose_b=True) / UNITS**0.5
        there = np.expand_dims(npx.arange_like(words, axis=1), 0) < np.expand_dims(lengths, 1)
        weights = npx.masked_softmax(scores, np.expand_dims(there, 1), axis=-1)
        x = self.norm(x + npx.batch_dot(weights, value))
        return self.out(self.pool(x[:, 0]))


def build(devices):
    net = Classifier()
    net.initialize(init.Normal(0.02), ctx=devices)
    values = onp.random.RandomState(3)
    for name, p in sorted(net.collect_params().items()):
        if "norm" not in name:
            p.set_data(np.array(values.normal(scale=0.3, size=p.shape)))
    net.hybridize()
    return net


def clip(params, bound):
    """Scale the gradients on every device so that their norm is at most `bound`; return what it was."""
    norms = []
    for k in range(len(params[0].list_ctx())):
        grads = [p.list_grad()[k] for p in params]
        norms.append(gluon.utils.clip_global_norm(grads, bound, check_isfinite=True))
    return norms[0]


def train(devices, epochs=2, size=8, tell=print):
    """The losses of all batches, the norms of all updates, and the net."""
    net, losses, norms = build(devices), [], []
    settings = {"learning_rate": 0.05, "wd": 0.01, "epsilon": 1e-6}
    trainer = gluon.Trainer(net.collect_params(), "adam", settings, update_on_kvstore=False)
    params = [p for p in net.collect_params().values() if p.grad_req != "null"]
    for p in params:
        p.grad_req = "add"
    loss_of = gluon.loss.SoftmaxCELoss()
    for epoch in range(epochs):
        for k in range(len(KINDS) // size):
            rows = slice(k * size, (k + 1) * size)
            parts = [gluon.utils.split_and_load(np.array(part[rows]), devices) for part in (SENTENCES, LENGTHS, KINDS)]
            if k % ACCUMULATE == 0:
                net.zero_grad()
            with autograd.record():
                loss = [loss_of(net(w, n), y).sum() / size / ACCUMULATE for w, n, y in zip(*parts)]
            for l in loss:
                l.backward()
            losses.append(sum(float(l) for l in loss) * ACCUMULATE)
            if (k + 1) % ACCUMULATE == 0:
                trainer.allreduce_grads()
                norms.append(float(clip(params, CLIP)))
                trainer.update(1)
                tell("epoch %d loss %.4f norm %.4f" % (epoch, losses[-1], norms[-1]))
    return losses, norms, net


if __name__ == "__main__":
    one, norms, _ = train([npx.cpu(0)])
    two, others, _ = train([npx.cpu(0), npx.cpu(1)])
    print("the same", bool(onp.allclose(one, two, rtol=0, atol=1e-5)), bool(onp.allclose(norms, others, rtol=1e-5)))
