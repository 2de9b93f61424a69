# ruff: noqa
"""Recurrent nets from scratch with nd and autograd, and the same with gluon.rnn, as in a textbook."""

import math, time, random
import mxnet as mx, numpy as onp
from mxnet import autograd, gluon, nd
from mxnet.gluon import loss as gloss, nn, rnn

random.seed(0)
corpus_chars = ("want to have a helicopter, want to fly with you into the universe, " * 40).replace("\n", " ")
idx_to_char = sorted(set(corpus_chars))
char_to_idx = {c: i for i, c in enumerate(idx_to_char)}
vocab_size = len(char_to_idx)
corpus_indices = [char_to_idx[c] for c in corpus_chars]


def data_iter_random(corpus_indices, batch_size, num_steps, ctx=None):
    num_examples = (len(corpus_indices) - 1) // num_steps
    epoch_size = num_examples // batch_size
    example_indices = list(range(num_examples))
    random.shuffle(example_indices)

    def _data(pos):
        return corpus_indices[pos : pos + num_steps]

    for i in range(epoch_size):
        i = i * batch_size
        batch_indices = example_indices[i : i + batch_size]
        yield (
            nd.array([_data(j * num_steps) for j in batch_indices], ctx),
            nd.array([_data(j * num_steps + 1) for j in batch_indices], ctx),
        )


def data_iter_consecutive(corpus_indices, batch_size, num_steps, ctx=None):
    corpus_indices = nd.array(corpus_indices, ctx=ctx)
    data_len = len(corpus_indices)
    batch_len = data_len // batch_size
    indices = corpus_indices[0 : batch_size * batch_len].reshape((batch_size, batch_len))
    for i in range((batch_len - 1) // num_steps):
        i = i * num_steps
        yield (indices[:, i : i + num_steps], indices[:, i + 1 : i + num_steps + 1])


def to_onehot(X, size):
    return [nd.one_hot(x, size) for x in X.T]


num_inputs, num_hiddens, num_outputs = (vocab_size, 24, vocab_size)
ctx = mx.cpu()
rs = onp.random.RandomState(3)


def _one(shape):
    return nd.array(rs.normal(scale=0.1, size=shape), ctx=ctx)


def get_params(kind):

    def _three():
        return (_one((num_inputs, num_hiddens)), _one((num_hiddens, num_hiddens)), nd.zeros(num_hiddens, ctx=ctx))

    n = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    params = [p for _ in range(n) for p in _three()] + [
        _one((num_hiddens, num_outputs)),
        nd.zeros(num_outputs, ctx=ctx),
    ]
    for p in params:
        p.attach_grad()
    return params


def init_state(batch_size, num_hiddens, ctx):
    return (nd.zeros(shape=(batch_size, num_hiddens), ctx=ctx),)


def init_lstm(batch_size, num_hiddens, ctx):
    return (nd.zeros(shape=(batch_size, num_hiddens), ctx=ctx), nd.zeros(shape=(batch_size, num_hiddens), ctx=ctx))


def rnn_f(inputs, state, params):
    W_xh, W_hh, b_h, W_hq, b_q = params
    (H,) = state
    outputs = []
    for X in inputs:
        H = nd.tanh(nd.dot(X, W_xh) + nd.dot(H, W_hh) + b_h)
        outputs.append(nd.dot(H, W_hq) + b_q)
    return (outputs, (H,))


def gru_f(inputs, state, params):
    W_xz, W_hz, b_z, W_xr, W_hr, b_r, W_xh, W_hh, b_h, W_hq, b_q = params
    (H,) = state
    outputs = []
    for X in inputs:
        Z = nd.sigmoid(nd.dot(X, W_xz) + nd.dot(H, W_hz) + b_z)
        R = nd.sigmoid(nd.dot(X, W_xr) + nd.dot(H, W_hr) + b_r)
        H_tilda = nd.tanh(nd.dot(X, W_xh) + nd.dot(R * H, W_hh) + b_h)
        H = Z * H + (1 - Z) * H_tilda
        outputs.append(nd.dot(H, W_hq) + b_q)
    return (outputs, (H,))


def lstm_f(inputs, state, params):
    W_xi, W_hi, b_i, W_xf, W_hf, b_f, W_xo, W_ho, b_o, W_xc, W_hc, b_c, W_hq, b_q = params
    H, C = state
    outputs = []
    for X in inputs:
        I = nd.sigmoid(nd.dot(X, W_xi) + nd.dot(H, W_hi) + b_i)
        F = nd.sigmoid(nd.dot(X, W_xf) + nd.dot(H, W_hf) + b_f)
        O = nd.sigmoid(nd.dot(X, W_xo) + nd.dot(H, W_ho) + b_o)
        C_tilda = nd.tanh(nd.dot(X, W_xc) + nd.dot(H, W_hc) + b_c)
        C = F * C + I * C_tilda
        H = O * C.tanh()
        outputs.append(nd.dot(H, W_hq) + b_q)
    return (outputs, (H, C))


def grad_clipping(params, theta, ctx):
    norm = nd.array([0], ctx)
    for param in params:
        norm += (param.grad**2).sum()
    norm = norm.sqrt().asscalar()
    if norm > theta:
        for param in params:
            param.grad[:] *= theta / norm


def predict_rnn(prefix, num_chars, rnn, params, init_rnn_state):
    state = init_rnn_state(1, num_hiddens, ctx)
    output = [char_to_idx[prefix[0]]]
    for t in range(num_chars + len(prefix) - 1):
        X = to_onehot(nd.array([output[-1]], ctx=ctx), vocab_size)
        Y, state = rnn(X, state, params)
        if t < len(prefix) - 1:
            output.append(char_to_idx[prefix[t + 1]])
        else:
            output.append(int(Y[0].argmax(axis=1).asscalar()))
    return "".join([idx_to_char[i] for i in output])


def sgd(params, lr, batch_size):
    for p in params:
        p[:] = p - lr * p.grad / batch_size


def train(rnn, get_params, init_rnn_state, kind, is_random_iter, num_steps, lr, theta, batch_size):
    params = get_params(kind)
    loss = gloss.SoftmaxCrossEntropyLoss()
    for epoch in range(2):
        if not is_random_iter:
            state = init_rnn_state(batch_size, num_hiddens, ctx)
        l_sum, n = (0.0, 0)
        for X, Y in (data_iter_random if is_random_iter else data_iter_consecutive)(
            corpus_indices, batch_size, num_steps, ctx
        ):
            if is_random_iter:
                state = init_rnn_state(batch_size, num_hiddens, ctx)
            else:
                for s in state:
                    s.detach()
            with autograd.record():
                inputs = to_onehot(X, vocab_size)
                outputs, state = rnn(inputs, state, params)
                outputs = nd.concat(*outputs, dim=0)
                y = Y.T.reshape((-1,))
                l = loss(outputs, y).mean()
            l.backward()
            grad_clipping(params, theta, ctx)
            sgd(params, lr, 1)
            l_sum += l.asscalar() * y.size
            n += y.size
        print(kind, "epoch %d, perplexity %.4f" % (epoch + 1, math.exp(l_sum / n)))
    print(predict_rnn("want", 8, rnn, params, init_rnn_state))


train(rnn_f, get_params, init_state, "rnn", True, 6, 1.0, 0.5, 16)
train(gru_f, get_params, init_state, "gru", True, 6, 2.0, 0.5, 16)
train(lstm_f, get_params, init_lstm, "lstm", False, 6, 2.0, 0.5, 16)


class RNNModel(nn.Block):
    def __init__(self, rnn_layer, vocab_size, **kwargs):
        super(RNNModel, self).__init__(**kwargs)
        self.rnn = rnn_layer
        self.vocab_size = vocab_size
        self.dense = nn.Dense(vocab_size)

    def forward(self, inputs, state):
        X = nd.one_hot(inputs.T, self.vocab_size)
        Y, state = self.rnn(X, state)
        output = self.dense(Y.reshape((-1, Y.shape[-1])))
        return (output, state)

    def begin_state(self, *args, **kwargs):
        return self.rnn.begin_state(*args, **kwargs)


for layer in (rnn.RNN(num_hiddens), rnn.GRU(num_hiddens), rnn.LSTM(num_hiddens)):
    model = RNNModel(layer, vocab_size)
    model.initialize(force_reinit=True, ctx=ctx)
    model(nd.zeros((2, 3)), model.begin_state(batch_size=2, ctx=ctx))
    for i, p in enumerate(model.collect_params().values()):
        p.set_data(nd.array(onp.random.RandomState(i).uniform(-0.2, 0.2, p.shape)))
    trainer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0, "wd": 0})
    loss = gloss.SoftmaxCrossEntropyLoss()
    for epoch in range(2):
        l_sum, n = (0.0, 0)
        state = model.begin_state(batch_size=16, ctx=ctx)
        for X, Y in data_iter_consecutive(corpus_indices, 16, 6, ctx):
            for s in state:
                s.detach()
            with autograd.record():
                output, state = model(X, state)
                y = Y.T.reshape((-1,))
                l = loss(output, y).mean()
            l.backward()
            params = [p.data() for p in model.collect_params().values()]
            grad_clipping(params, 0.5, ctx)
            trainer.step(1)
            l_sum += l.asscalar() * y.size
            n += y.size
        print(layer.name, "epoch %d, perplexity %.4f" % (epoch + 1, math.exp(l_sum / n)))
    print(model)
