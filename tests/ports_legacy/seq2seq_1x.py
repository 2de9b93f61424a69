# ruff: noqa: UP031
"""A GRU encoder and an attending decoder as MXNet 1 code wrote them: they learn to turn a sequence round."""

import math
import time
import zlib

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

PAD, BOS, EOS, VOCAB = 0, 1, 2, 12


class Cell(gluon.HybridBlock):
    """A GRU cell by hand, its parameters made as 1.x code makes them."""

    def __init__(self, hidden, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._hidden = hidden
        with self.name_scope():
            self.i2h_weight = self.params.get("i2h_weight", shape=(3 * hidden, 0), allow_deferred_init=True)
            self.h2h_weight = self.params.get("h2h_weight", shape=(3 * hidden, hidden), init="orthogonal")
            self.i2h_bias = self.params.get("i2h_bias", shape=(3 * hidden,), init="zeros")
            self.h2h_bias = self.params.get("h2h_bias", shape=(3 * hidden,), init="zeros")

    def hybrid_forward(self, F, x, state, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        i2h = F.FullyConnected(x, weight=i2h_weight, bias=i2h_bias, num_hidden=3 * self._hidden)
        h2h = F.FullyConnected(state, weight=h2h_weight, bias=h2h_bias, num_hidden=3 * self._hidden)
        i2h_r, i2h_z, i2h_n = F.SliceChannel(i2h, num_outputs=3, axis=1)
        h2h_r, h2h_z, h2h_n = F.SliceChannel(h2h, num_outputs=3, axis=1)
        reset = F.Activation(i2h_r + h2h_r, act_type="sigmoid")
        update = F.Activation(i2h_z + h2h_z, act_type="sigmoid")
        fresh = F.Activation(i2h_n + reset * h2h_n, act_type="tanh")
        return (1.0 - update) * fresh + update * state


class Encoder(gluon.Block):
    def __init__(self, hidden, embedding, **kwargs):
        super().__init__(**kwargs)
        self.hidden = hidden
        with self.name_scope():
            self.embedding = embedding
            self.cell = Cell(hidden, prefix="gru_")

    def forward(self, inputs, lengths):
        steps = self.embedding(inputs.T)  # time, batch, embed
        state = self.begin_state(inputs.shape[0], inputs.context)
        outputs = []
        for step in steps:
            state = self.cell(step, state)
            outputs.append(state)
        outputs = nd.stack(*outputs, axis=0)
        masked = nd.SequenceMask(outputs, sequence_length=lengths, use_sequence_length=True)
        last = nd.SequenceLast(outputs, sequence_length=lengths, use_sequence_length=True)
        return masked, last

    def begin_state(self, batch_size, ctx):
        return nd.zeros((batch_size, self.hidden), ctx=ctx)


class Attention(gluon.HybridBlock):
    """Additive attention; the weight of the query and of the memory share nothing but the layer below."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.query = nn.Dense(units, use_bias=False, flatten=False)
            self.key = nn.Dense(units, use_bias=False, flatten=False)
            self.score = nn.Dense(1, use_bias=False, flatten=False)

    def hybrid_forward(self, F, state, memory, lengths):
        query = F.expand_dims(self.query(state), axis=0)  # 1, batch, units
        scores = self.score(F.tanh(F.broadcast_add(self.key(memory), query)))  # time, batch, 1
        scores = F.SequenceMask(scores, sequence_length=lengths, use_sequence_length=True, value=-1e6)
        weights = F.softmax(scores, axis=0)
        return F.sum(F.broadcast_mul(weights, memory), axis=0), weights.reshape((0, 0))


class Decoder(gluon.Block):
    def __init__(self, hidden, embedding, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embedding = embedding
            self.attention = Attention(hidden)
            self.cell = Cell(hidden, prefix="gru_")
            self.dropout = nn.Dropout(0.0)
            self.out = nn.Dense(VOCAB)

    def forward(self, token, state, memory, lengths):
        context, _ = self.attention(state, memory, lengths)
        x = nd.concat(self.embedding(token), context, dim=1)
        state = self.cell(x, state)
        return self.out(self.dropout(state)), state


def batch(size, ctx):
    lengths = np.random.randint(3, 6, size)
    source = np.zeros((size, 5))
    target = np.full((size, 6), PAD)
    for row, (n, line) in enumerate(zip(lengths, source)):
        line[:n] = np.random.randint(3, VOCAB, n)
        target[row, :n] = line[:n][::-1]
        target[row, n] = EOS
    return nd.array(source, ctx=ctx), nd.array(lengths, ctx=ctx), nd.array(target, ctx=ctx)


def grad_clipping(params, theta, ctx):
    norm = nd.array([0.0], ctx=ctx)
    for param in params:
        norm += (param.grad() ** 2).sum()
    norm = norm.sqrt().asscalar()
    if norm > theta:
        for param in params:
            param.grad()[:] *= theta / norm


def translate(encoder, decoder, source, length, ctx):
    memory, state = encoder(source, length)
    token, tokens = nd.array([BOS], ctx=ctx), []
    for _ in range(6):
        scores, state = decoder(token, state, memory, length)
        token = scores.argmax(axis=1)
        word = int(token.asscalar())
        if word == EOS:
            break
        tokens.append(word)
    return tokens


def set_weights(params):
    """The same first weights everywhere, by the end of their names."""
    for name, param in params.items():
        if name.endswith("weight"):
            seed = zlib.crc32(name.encode())
            scale = (2 / np.prod(param.shape[1:])) ** 0.5
            param.set_data(nd.array(np.random.RandomState(seed).normal(0, scale, param.shape)))


def main(steps=60, size=32, hidden=32):
    np.random.seed(3)
    mx.random.seed(3)
    ctx = mx.cpu()
    embedding = nn.Embedding(VOCAB, 16, prefix="shared_embedding_")
    encoder, decoder = Encoder(hidden, embedding, prefix="encoder_"), Decoder(hidden, embedding, prefix="decoder_")
    for net in (encoder, decoder):
        net.initialize(init=mx.init.Xavier(), ctx=ctx, force_reinit=True)
        net.hybridize()
    params = gluon.ParameterDict()
    params.update(encoder.collect_params())
    params.update(decoder.collect_params())
    source, lengths, _ = batch(size, ctx)
    memory, state = encoder(source, lengths)
    decoder(nd.full((size,), BOS, ctx=ctx), state, memory, lengths)
    set_weights(params)
    trainer = gluon.Trainer(params, "adam", {"learning_rate": 0.02})
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    losses, start = [], time.time()
    for step in range(steps):
        source, lengths, target = batch(size, ctx)
        with autograd.record():
            memory, state = encoder(source, lengths)
            token, mask = nd.full((size,), BOS, ctx=ctx), nd.ones((size,), ctx=ctx)
            total, count = nd.array([0], ctx=ctx), nd.array([0], ctx=ctx)
            for wanted in target.T:
                scores, state = decoder(token, state, memory, lengths)
                total = total + (mask * loss_fn(scores, wanted)).sum()
                count = count + mask.sum()
                token, mask = wanted, mask * (wanted != EOS)
            loss = total / count
        loss.backward()
        grad_clipping([p for p in params.values() if p.grad_req != "null"], 5, ctx)
        trainer.step(1)
        losses.append(loss.asscalar())
        if step < 10:
            print("step %d: %.5f" % (step, losses[-1]))
    assert math.isfinite(losses[-1])
    assert losses[-1] < 0.75 * losses[0], losses
    print(sorted(p.name for p in params.values())[:3], len(params.keys()))
    source, lengths, target = batch(1, ctx)
    words = translate(encoder, decoder, source, lengths, ctx)
    print("translated", len(words) > 0)
    nd.waitall()
    assert encoder.cell.prefix == "encoder_gru_" and decoder.attention.query.weight.shape == (hidden, hidden)
    print("seconds", time.time() - start > 0)


if __name__ == "__main__":
    main()
