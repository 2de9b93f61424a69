# ruff: noqa
"""Skip-gram with negative sampling, nearest words, and a text CNN with a frozen embedding."""

import collections, math, random, sys, time
import mxnet as mx, numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import data as gdata, loss as gloss, nn

random.seed(0)
text = [("the quick brown fox jumps over the lazy dog %d" % (i % 7)).split() for i in range(60)]
counter = collections.Counter([tk for st in text for tk in st])
idx_to_token = [tk for tk, _ in counter.items()]
token_to_idx = {tk: i for i, tk in enumerate(idx_to_token)}
dataset = [[token_to_idx[tk] for tk in st] for st in text]
num_tokens = sum((len(st) for st in dataset))


def discard(idx):
    return random.uniform(0, 1) < 1 - math.sqrt(0.1 / counter[idx_to_token[idx]] * num_tokens)


subsampled = [[tk for tk in st if not discard(tk)] for st in dataset]


def get_centers_and_contexts(dataset, max_window_size):
    centers, contexts = ([], [])
    for st in dataset:
        if len(st) < 2:
            continue
        centers += st
        for c in range(len(st)):
            w = random.randint(1, max_window_size)
            idx = list(range(max(0, c - w), min(len(st), c + 1 + w)))
            idx.remove(c)
            contexts.append([st[i] for i in idx])
    return (centers, contexts)


all_centers, all_contexts = get_centers_and_contexts(subsampled, 3)


def get_negatives(all_contexts, sampling_weights, K):
    all_negatives, cand, i = ([], [], 0)
    population = list(range(len(sampling_weights)))
    for contexts in all_contexts:
        negatives = []
        while len(negatives) < len(contexts) * K:
            if i == len(cand):
                i, cand = (0, random.choices(population, sampling_weights, k=int(10000.0)))
            neg, i = (cand[i], i + 1)
            if neg not in set(contexts):
                negatives.append(neg)
        all_negatives.append(negatives)
    return all_negatives


all_negatives = get_negatives(all_contexts, [counter[w] ** 0.75 for w in idx_to_token], 3)


def batchify(data):
    max_len = max((len(c) + len(n) for _, c, n in data))
    centers, cn, masks, labels = ([], [], [], [])
    for center, context, negative in data:
        cur = len(context) + len(negative)
        centers += [center]
        cn += [context + negative + [0] * (max_len - cur)]
        masks += [[1] * cur + [0] * (max_len - cur)]
        labels += [[1] * len(context) + [0] * (max_len - len(context))]
    return (nd.array(centers).reshape((-1, 1)), nd.array(cn), nd.array(masks), nd.array(labels))


ds = gdata.ArrayDataset(all_centers, all_contexts, all_negatives)
data_iter = gdata.DataLoader(ds, 64, shuffle=False, batchify_fn=batchify, num_workers=0)
for batch in data_iter:
    for name, d in zip(["centers", "contexts_negatives", "masks", "labels"], batch):
        print(name, "shape:", d.shape)
    break
embed = nn.Embedding(input_dim=20, output_dim=4)
embed.initialize()
print(embed.weight)
x = nd.array([[1, 2, 3], [4, 5, 6]])
print(embed(x).shape)


def skip_gram(center, contexts_and_negatives, embed_v, embed_u):
    v = embed_v(center)
    u = embed_u(contexts_and_negatives)
    return nd.batch_dot(v, u.swapaxes(1, 2))


loss = gloss.SigmoidBinaryCrossEntropyLoss()
pred = nd.array([[1.5, 0.3, -1, 2], [1.1, -0.6, 2.2, 0.4]])
label = nd.array([[1, 0, 0, 0], [1, 1, 0, 0]])
mask = nd.array([[1, 1, 1, 1], [1, 1, 1, 0]])
print(loss(pred, label, mask) * mask.shape[1] / mask.sum(axis=1))
net = nn.Sequential()
net.add(
    nn.Embedding(input_dim=len(idx_to_token), output_dim=12), nn.Embedding(input_dim=len(idx_to_token), output_dim=12)
)
net.initialize(ctx=mx.cpu(), force_reinit=True)
for i, b in enumerate(net):
    b.weight.set_data(nd.array(np.random.RandomState(i).uniform(-0.3, 0.3, b.weight.shape)))
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
for epoch in range(3):
    l_sum, n = (0.0, 0)
    for batch in data_iter:
        center, cn, mask, label = [d.as_in_context(mx.cpu()) for d in batch]
        with autograd.record():
            pred = skip_gram(center, cn, net[0], net[1])
            l = loss(pred.reshape(label.shape), label, mask) * mask.shape[1] / mask.sum(axis=1)
        l.backward()
        trainer.step(64)
        l_sum += l.sum().asscalar()
        n += l.size
    print("epoch %d, loss %.4f" % (epoch + 1, l_sum / n))


def get_similar_tokens(query_token, k, embed):
    W = embed.weight.data()
    x = W[token_to_idx[query_token]]
    cos = nd.dot(W, x) / (nd.sum(W * W, axis=1) * nd.sum(x * x) + 1e-09).sqrt()
    topk = nd.topk(cos, k=k + 1, ret_typ="indices").asnumpy().astype("int32")
    for i in topk[1:]:
        print("cosine sim=%.3f: %s" % (cos[i].asscalar(), idx_to_token[i]))


get_similar_tokens("fox", 3, net[0])


def knn(W, x, k):
    cos = nd.dot(W, x.reshape((-1,))) / ((nd.sum(W * W, axis=1) + 1e-09).sqrt() * nd.sum(x * x).sqrt())
    topk = nd.topk(cos, k=k, ret_typ="indices").asnumpy().astype("int32")
    return (topk, [cos[i].asscalar() for i in topk])


near, cos = knn(net[0].weight.data(), net[0].weight.data()[3], 2)
print(near, ["%.4f" % c for c in cos])


class TextCNN(nn.Block):
    def __init__(self, vocab, embed_size, kernel_sizes, num_channels, **kwargs):
        super(TextCNN, self).__init__(**kwargs)
        self.embedding = nn.Embedding(vocab, embed_size)
        self.constant_embedding = nn.Embedding(vocab, embed_size)
        self.dropout = nn.Dropout(0.0)
        self.decoder = nn.Dense(2)
        self.pool = nn.GlobalMaxPool1D()
        self.convs = nn.Sequential()
        for c, k in zip(num_channels, kernel_sizes):
            self.convs.add(nn.Conv1D(c, k, activation="relu"))

    def forward(self, inputs):
        embeddings = nd.concat(self.embedding(inputs), self.constant_embedding(inputs), dim=2)
        embeddings = embeddings.transpose((0, 2, 1))
        encoding = nd.concat(*[nd.flatten(self.pool(conv(embeddings))) for conv in self.convs], dim=1)
        return self.decoder(self.dropout(encoding))


net = TextCNN(30, 6, [3, 4, 5], [4, 4, 4])
net.initialize(mx.init.Xavier())
rs = np.random.RandomState(0)
X = nd.array(rs.randint(0, 30, (16, 12)))
y = nd.array(rs.randint(0, 2, 16))
net(X)
for i, p in enumerate(net.collect_params().values()):
    p.set_data(nd.array(np.random.RandomState(i).uniform(-0.3, 0.3, p.shape)))
glove = nd.array(rs.normal(size=(30, 6)))
net.embedding.weight.set_data(glove)
net.constant_embedding.weight.set_data(glove)
net.constant_embedding.collect_params().setattr("grad_req", "null")
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
L = gloss.SoftmaxCrossEntropyLoss()
from mxnet.gluon.utils import split_and_load

for _ in range(4):
    Xs, ys = (split_and_load(X, [mx.cpu()]), split_and_load(y, [mx.cpu()]))
    with autograd.record():
        ls = [L(net(a), b) for a, b in zip(Xs, ys)]
    for l in ls:
        l.backward()
    trainer.step(16)
    print("%.5f" % sum([l.sum().asscalar() for l in ls]))
print((net.constant_embedding.weight.data() - glove).norm().asscalar())
