# ruff: noqa
"""Data in MXNet 2: loaders, batchify functions, samplers, records, a training loop."""

import atexit, shutil, tempfile
import numpy as onp
import mxnet as mx
from mxnet import gluon, np, npx, autograd
from mxnet.gluon.data import (
    DataLoader,
    ArrayDataset,
    SimpleDataset,
    SequentialSampler,
    RandomSampler,
    BatchSampler,
    batchify,
)

npx.set_np()


def folder():
    made = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, made, True)
    return made


def prog(run):
    print("###", run.__name__)
    run()


X, y = onp.arange(20).reshape(10, 2).astype("float32"), onp.arange(10).astype("int32")


@prog
def loader():
    ds = ArrayDataset(np.array(X), np.array(y))
    print(len(ds), ds[3][0].shape, type(ds[3][1]).__name__)
    for lb in ("keep", "discard", "rollover"):
        dl = DataLoader(ds, batch_size=4, last_batch=lb)
        for e in range(2):
            print(lb, len(dl), [(a[:, 0].tolist(), b.tolist(), str(b.dtype)) for a, b in dl])
    for a, b in DataLoader(ArrayDataset(X, y), batch_size=5, num_workers=2):
        print(a.sum(), b, type(a).__name__)
    for a, b in DataLoader(ArrayDataset(X, y), batch_size=5, try_nopython=False):
        print(a.shape, b.dtype)


@prog
def transforms_chain():
    ds = ArrayDataset(X, y).transform_first(lambda x: x * 2).transform(lambda x, y: (x + 1, y * 10))
    print(ds[1][0], int(ds[1][1]))
    print([b.tolist() for a, b in DataLoader(ds, 4)])
    print(SimpleDataset([1, 2, 3]).transform(lambda x: x**2, lazy=False)[1])


@prog
def batchify_stack():
    print(batchify.Stack()([np.array([1, 2]), np.array([3, 4])]))
    print(batchify.Stack(use_shared_mem=True)([onp.ones((2, 2)), onp.zeros((2, 2))]).shape)
    print(batchify.Pad(val=-1)([[1, 2, 3], [4], [5, 6]]))
    print(batchify.Pad(val=0, dtype="int32")([onp.array([1, 2]), onp.array([3])]).dtype)
    print(batchify.Pad(round_to=4)([[1, 2, 3], [4]]).shape)
    f = batchify.Group(batchify.Stack(), batchify.Pad(val=0))
    r = f([(1, [1, 2]), (2, [3])])
    print(r[0], r[1])
    print(batchify.AsList()([1, "a"]))


@prog
def samplers():
    print(list(SequentialSampler(4, 2)), sorted(RandomSampler(5)), list(BatchSampler(SequentialSampler(7), 3, "keep")))
    b = BatchSampler(SequentialSampler(7), 3, "rollover")
    print(list(b), list(b), len(b))
    print(list(gluon.data.IntervalSampler(13, interval=3)), list(gluon.data.IntervalSampler(13, 3, rollover=False)))
    fs = gluon.data.FilterSampler(lambda x: x % 2 == 0, SimpleDataset(list(range(7))))
    print(list(fs), len(fs))


@prog
def dataset_ops():
    ds = SimpleDataset(list(range(10)))
    print(
        list(ds.filter(lambda x: x % 3 == 0)),
        list(ds.shard(3, 0)),
        list(ds.shard(3, 2)),
        list(ds.take(4)),
        list(ds.sample(SequentialSampler(3))),
        list(ds.take(None)) == list(range(10)),
    )

    class My(gluon.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return np.ones((2,)) * i, i

    print([(a.tolist(), b.tolist()) for a, b in DataLoader(My(), 2)])


@prog
def own_batchify():
    def pad(batch):
        n = max(len(b) for b in batch)
        return np.array([list(b) + [0] * (n - len(b)) for b in batch]), np.array([len(b) for b in batch])

    for a, l in DataLoader(SimpleDataset([[1, 2, 3], [4], [5, 6], [7, 8, 9, 10]]), 2, batchify_fn=pad):
        print(a.tolist(), l)


@prog
def iters():
    it = mx.io.NDArrayIter({"a": X}, {"b": y}, 4, last_batch_handle="pad")
    print(it.provide_data[0].name, it.provide_data[0].shape)
    for b in it:
        print(b.data[0].asnumpy()[:, 0].tolist(), b.label[0].asnumpy().tolist(), b.pad)


@prog
def recordio():
    d = folder()
    w = mx.recordio.MXIndexedRecordIO(d + "/b.idx", d + "/b.rec", "w")
    for i in range(4):
        w.write_idx(i, mx.recordio.pack(mx.recordio.IRHeader(0, [i, i * 2.5], i, 0), b"img%d" % i))
    w.close()
    ds = gluon.data.RecordFileDataset(d + "/b.rec")
    print(len(ds), mx.recordio.unpack(ds[2])[1], mx.recordio.unpack(ds[2])[0].label)


@prog
def training_loop():
    rs = onp.random.RandomState(0)
    A = rs.normal(size=(32, 3)).astype("float32")
    b = (A @ onp.array([1, -2, 0.5], "float32") + 0.3).astype("float32")
    net = gluon.nn.Dense(1)
    net.initialize(mx.init.Zero())
    t = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = gluon.loss.L2Loss()
    for e in range(3):
        tot = 0
        for xb, yb in DataLoader(ArrayDataset(A, b), batch_size=8):
            with autograd.record():
                l = loss(net(xb), yb)
            l.backward()
            t.step(xb.shape[0])
            tot += float(l.mean())
        print(e, round(tot, 4))
    print(net.weight.data(), net.bias.data())


@prog
def split():
    x = np.arange(12).reshape(6, 2)
    print(
        [p.tolist() for p in gluon.utils.split_data(x, 3)],
        [p.shape for p in gluon.utils.split_data(x, 4, even_split=False)],
    )
    print([p.device for p in gluon.utils.split_and_load(x, [mx.cpu(0), mx.cpu(1)])])
    a = [np.array([3.0, 4.0]), np.array([1.0])]
    print(round(float(gluon.utils.clip_global_norm(a, 1.0)), 4), *a)
