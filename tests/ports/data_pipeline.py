"""Data: a user's Dataset, transforms, transform_first, samplers, batchify, workers, last batches."""

import numpy as onp
from mxnet import gluon, np, npx
from mxnet.gluon.data import batchify

npx.set_np()


class Squares(gluon.data.Dataset):
    def __init__(self, n):
        self.n = n

    def __getitem__(self, idx):
        if idx >= self.n:
            raise IndexError("out of range")
        image = onp.full((4, 4, 1), idx, dtype=onp.uint8)
        return image, onp.float32(idx**2)

    def __len__(self):
        return self.n


def to_tensor(image):
    return onp.asarray(image, dtype=onp.float32).transpose(2, 0, 1) / 255


def normalize(image, label):
    return image - 0.5, label


data = Squares(10)
print(len(data), data[3][1])
train = data.transform_first(to_tensor).transform(normalize)
for X, y in gluon.data.DataLoader(train, batch_size=4, shuffle=False, last_batch="keep"):
    print(X.shape, X.dtype, y, X[-1, 0, 0, 0])
print([len(b[1]) for b in gluon.data.DataLoader(train, 4, last_batch="discard")])
print(len(gluon.data.DataLoader(train, 4, last_batch="rollover")))
threaded = gluon.data.DataLoader(train, 5, num_workers=2, thread_pool=True, prefetch=2)
print([float(y.sum()) for _, y in threaded])
evens = data.filter(lambda sample: sample[1] % 2 == 0)
print(len(evens), [float(s[1]) for s in evens])
print([float(s[1]) for s in data.take(3)], len(data.shard(3, 0)))
shuffled = [float(v) for _, y in gluon.data.DataLoader(train, 3, shuffle=True) for v in y]
print(sorted(shuffled))

words = [onp.arange(n, dtype=onp.int32) for n in (3, 1, 2)]
pairs = gluon.data.SimpleDataset([(w, i) for i, w in enumerate(words)])
pad = batchify.Group(batchify.Pad(val=-1), batchify.Stack())
for tokens, ids in gluon.data.DataLoader(pairs, batch_size=3, batchify_fn=pad):
    print(tokens, ids)
sampler = gluon.data.BatchSampler(gluon.data.SequentialSampler(7), 3, "keep")
print(list(sampler))
custom = gluon.data.DataLoader(
    train, batch_sampler=gluon.data.BatchSampler(gluon.data.SequentialSampler(10), 5, "keep")
)
print([b[0].shape for b in custom])


class ReversedSampler(gluon.data.Sampler):
    def __init__(self, length):
        self._length = length

    def __iter__(self):
        return iter(range(self._length - 1, -1, -1))

    def __len__(self):
        return self._length


print([y.tolist() for _, y in gluon.data.DataLoader(train, 4, sampler=ReversedSampler(10))])
X, y = np.arange(12).reshape(6, 2), np.arange(6)
dataset = gluon.data.ArrayDataset(X, y)
features, label = dataset[2]
print(features.shape, features * 2, label, len(dataset))
print([(a.sum().item(), b.tolist()) for a, b in gluon.data.DataLoader(dataset, 4)])
