"""A character RNN from scratch: one-hot inputs, a state that is detached between batches, clipping by hand."""

import math

import numpy as onp
from mxnet import autograd, gluon, np, npx

npx.set_np()
rng = onp.random.RandomState(17)

text = "the time traveller for so it will be convenient to speak of him was expounding a recondite matter to us"
vocab = sorted(set(text))
index = {c: i for i, c in enumerate(vocab)}
corpus = [index[c] for c in text]
batch_size, num_steps, num_hiddens, V = 2, 5, 16, len(vocab)


def seq_data_iter_sequential(corpus, batch_size, num_steps):
    num_tokens = ((len(corpus) - 1) // batch_size) * batch_size
    Xs = np.array(corpus[:num_tokens]).reshape(batch_size, -1)
    Ys = np.array(corpus[1 : num_tokens + 1]).reshape(batch_size, -1)
    for i in range(0, num_steps * (Xs.shape[1] // num_steps), num_steps):
        yield Xs[:, i : i + num_steps], Ys[:, i : i + num_steps]


def get_params(vocab_size, num_hiddens, ctx):
    def normal(shape):
        return np.array(rng.normal(scale=0.1, size=shape), ctx=ctx)

    W_xh, W_hh, b_h = (
        normal((vocab_size, num_hiddens)),
        normal((num_hiddens, num_hiddens)),
        np.zeros(num_hiddens, ctx=ctx),
    )
    W_hq, b_q = normal((num_hiddens, vocab_size)), np.zeros(vocab_size, ctx=ctx)
    params = [W_xh, W_hh, b_h, W_hq, b_q]
    for param in params:
        param.attach_grad()
    return params


def rnn(inputs, state, params):
    W_xh, W_hh, b_h, W_hq, b_q = params
    (H,) = state
    outputs = []
    for X in inputs:
        H = np.tanh(np.dot(X, W_xh) + np.dot(H, W_hh) + b_h)
        outputs.append(np.dot(H, W_hq) + b_q)
    return np.concatenate(outputs, axis=0), (H,)


def grad_clipping(params, theta):
    norm = math.sqrt(sum((p.grad**2).sum() for p in params))
    if norm > theta:
        for param in params:
            param.grad[:] *= theta / norm
    return norm


params = get_params(V, num_hiddens, npx.cpu())
loss = gluon.loss.SoftmaxCrossEntropyLoss()
for epoch in range(4):
    state, total, n = None, 0.0, 0
    for X, Y in seq_data_iter_sequential(corpus, batch_size, num_steps):
        if state is None:
            state = (np.zeros((batch_size, num_hiddens)),)
        else:
            for s in state:
                s.detach()
            state = tuple(s.detach() for s in state)
        y = Y.T.reshape(-1)
        with autograd.record():
            y_hat, state = rnn(npx.one_hot(X.T, V), state, params)
            l = loss(y_hat, y).mean()
        l.backward()
        norm = grad_clipping(params, 0.5)
        for p in params:
            p[:] -= 1.0 * p.grad
        total += float(l) * y.size
        n += y.size
    print(f"epoch {epoch} perplexity {math.exp(total / n):.4f} norm {norm:.4f}")

prefix, state = "time ", (np.zeros((1, num_hiddens)),)
for c in prefix:
    y, state = rnn(npx.one_hot(np.array([index[c]]), V).reshape(1, 1, V), state, params)
print(int(y.argmax(axis=1).reshape(1)[0]) < V, state[0].shape)
