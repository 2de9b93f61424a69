# ruff: noqa
"""Data in MXNet 1: iterators, csv and libsvm files, loaders, samplers, records."""

import atexit, shutil, tempfile
import numpy as onp
import mxnet as mx
from mxnet import gluon, nd, autograd
from mxnet.gluon.data import DataLoader, ArrayDataset, SimpleDataset, SequentialSampler, RandomSampler, BatchSampler
from mxnet.gluon.data.vision import transforms


def folder():
    made = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, made, True)
    return made


def write(path, what, mode):
    with open(path, mode) as file:
        file.write(what)


def prog(run):
    print("###", run.__name__)
    run()


@prog
def ndarrayiter_dict():
    data = {"data1": onp.arange(20).reshape(10, 2), "data2": onp.arange(30).reshape(10, 3)}
    label = {"label1": onp.arange(10), "label2": onp.arange(10) * 2}
    it = mx.io.NDArrayIter(data, label, 3, last_batch_handle="discard")
    print(it.provide_data, it.provide_label)
    for b in it:
        print([d.asnumpy().tolist() for d in b.data], [l.asnumpy().tolist() for l in b.label], b.pad, b.index)
    it.reset()
    print(len(list(it)))


@prog
def pad_and_roll():
    for h in ("pad", "discard", "roll_over"):
        it = mx.io.NDArrayIter(onp.arange(10).reshape(10, 1), onp.arange(10), 4, False, h)
        for e in range(3):
            print(h, [(b.data[0].asnumpy().ravel().tolist(), b.label[0].asnumpy().tolist(), b.pad) for b in it])
            it.reset()
    it = mx.io.NDArrayIter(onp.arange(10), batch_size=4)
    print(it.getpad() if it.iter_next() else None, it.getdata()[0].shape, it.getlabel(), it.getindex())
    it.hard_reset()
    print(it.next().data[0].asnumpy())


@prog
def custom_iter():
    class SimpleIter(mx.io.DataIter):
        def __init__(self, data_names, data_shapes, data_gen, label_names, label_shapes, label_gen, num_batches=4):
            super(SimpleIter, self).__init__()
            self._provide_data = list(zip(data_names, data_shapes))
            self._provide_label = list(zip(label_names, label_shapes))
            self.num_batches = num_batches
            self.data_gen = data_gen
            self.label_gen = label_gen
            self.cur_batch = 0

        def __iter__(self):
            return self

        def reset(self):
            self.cur_batch = 0

        def __next__(self):
            return self.next()

        @property
        def provide_data(self):
            return self._provide_data

        @property
        def provide_label(self):
            return self._provide_label

        def next(self):
            if self.cur_batch < self.num_batches:
                self.cur_batch += 1
                data = [mx.nd.array(g(d[1])) for d, g in zip(self._provide_data, self.data_gen)]
                label = [mx.nd.array(g(d[1])) for d, g in zip(self._provide_label, self.label_gen)]
                return mx.io.DataBatch(data, label)
            raise StopIteration

    rs = onp.random.RandomState(0)
    it = SimpleIter(
        ["data"], [(4, 6)], [lambda s: rs.uniform(-1, 1, s)], ["softmax_label"], [(4,)], [lambda s: rs.randint(0, 3, s)]
    )
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc1", num_hidden=3), name="softmax")
    mod = mx.mod.Module(symbol=net)
    mod.fit(it, num_epoch=3, initializer=mx.init.One(), optimizer_params={"learning_rate": 0.1})
    print(mod.get_params()[0]["fc1_weight"].asnumpy().round(4))
    print(mod.score(it, ["acc", "ce"]))


@prog
def resize_prefetch():
    it = mx.io.NDArrayIter(onp.arange(10).reshape(5, 2), batch_size=2)
    r = mx.io.ResizeIter(it, 5)
    print([b.data[0].asnumpy().tolist() for b in r])
    r.reset()
    print(len(list(r)))
    p = mx.io.PrefetchingIter(
        [mx.io.NDArrayIter(onp.arange(4), batch_size=2), mx.io.NDArrayIter(onp.arange(4) * 2, batch_size=2)],
        rename_data=[{"data": "a"}, {"data": "b"}],
    )
    print(p.provide_data)
    print([[d.asnumpy().tolist() for d in b.data] for b in p])
    p.reset()
    print(len(list(p)))


@prog
def csviter():
    d = folder()
    onp.savetxt(d + "/data.csv", onp.arange(24).reshape(8, 3), delimiter=",")
    onp.savetxt(d + "/label.csv", onp.arange(8) % 3, delimiter=",")
    it = mx.io.CSVIter(
        data_csv=d + "/data.csv",
        data_shape=(3,),
        label_csv=d + "/label.csv",
        label_shape=(1,),
        batch_size=3,
        round_batch=True,
    )
    print(it.provide_data, it.provide_label)
    for e in range(2):
        print([(b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist(), b.pad) for b in it])
        it.reset()


@prog
def libsvm():
    d = folder()
    write(d + "/a.t", "1.0 0:0.5 2:1.2\n-2.0\n-3.0 0:0.6 1:2.4 2:1.2\n4 2:-1.2\n", "w")
    it = mx.io.LibSVMIter(data_libsvm=d + "/a.t", data_shape=(3,), batch_size=3)
    for b in it:
        print(
            b.data[0].stype,
            b.data[0].asnumpy().tolist(),
            b.label[0].asnumpy().tolist(),
            b.pad,
            b.data[0].indices.asnumpy(),
            b.data[0].indptr.asnumpy(),
        )


@prog
def gluon_loader():
    X, y = onp.arange(20).reshape(10, 2).astype("float32"), onp.arange(10).astype("int32")
    ds = ArrayDataset(nd.array(X), y)
    print(len(ds), ds[3][0], int(ds[3][1]))
    for lb in ("keep", "discard", "rollover"):
        dl = DataLoader(ds, batch_size=4, last_batch=lb)
        for e in range(2):
            print(lb, len(dl), [(a.asnumpy()[:, 0].tolist(), b.asnumpy().tolist(), b.dtype) for a, b in dl])
    ds2 = ds.transform_first(lambda x: x * 2).transform(lambda x, y: (x + 1, y * 10))
    print(ds2[1][0], int(ds2[1][1]))
    for a, b in DataLoader(ds2, batch_size=5):
        print(a.asnumpy().sum(), b.asnumpy().tolist())


@prog
def samplers():
    print(
        list(SequentialSampler(4)),
        sorted(RandomSampler(5)),
        list(BatchSampler(SequentialSampler(7), 3, "keep")),
        list(BatchSampler(SequentialSampler(7), 3, "discard")),
    )
    b = BatchSampler(SequentialSampler(7), 3, "rollover")
    print(list(b), list(b), len(b))
    print(
        list(gluon.contrib.data.IntervalSampler(13, interval=3)),
        list(gluon.contrib.data.IntervalSampler(13, 3, rollover=False)),
    )
    fs = gluon.data.FilterSampler(lambda x: x % 2 == 0, SimpleDataset(list(range(7))))
    print(list(fs), len(fs))

    class S(gluon.data.Sampler):
        def __iter__(self):
            return iter([3, 1, 2])

        def __len__(self):
            return 3

    print(
        [
            x.asnumpy().tolist()
            for x in DataLoader(SimpleDataset(onp.arange(5).astype("float32")), batch_size=2, sampler=S())
        ]
    )
    print(
        [
            x.asnumpy().tolist()
            for x in DataLoader(SimpleDataset(onp.arange(5).astype("float32")), batch_sampler=[[0, 1], [4], [2, 3]])
        ]
    )


@prog
def batchify():
    def pad(batch):
        n = max(len(b) for b in batch)
        return nd.array([list(b) + [0] * (n - len(b)) for b in batch]), nd.array([len(b) for b in batch])

    seqs = SimpleDataset([[1, 2, 3], [4], [5, 6], [7, 8, 9, 10]])
    for a, l in DataLoader(seqs, 2, batchify_fn=pad):
        print(a.asnumpy().tolist(), l.asnumpy())
    from mxnet.gluon.data.dataloader import default_batchify_fn

    print(default_batchify_fn([(nd.ones(2), 1), (nd.zeros(2), 2)]))
    print(default_batchify_fn([onp.array([1, 2]), onp.array([3, 4])]))
    print(default_batchify_fn([1, 2]).dtype)


@prog
def dataset_ops():
    ds = SimpleDataset(list(range(10)))
    print(
        list(ds.filter(lambda x: x % 3 == 0)),
        list(ds.shard(3, 0)),
        list(ds.shard(3, 2)),
        list(ds.take(4)),
        list(ds.sample(SequentialSampler(3))),
    )
    lazy = ds.transform(lambda x: x**2, lazy=False)
    print(lazy[3], type(lazy).__name__)

    class My(gluon.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return nd.ones((2,)) * i, i

    print([(a.asnumpy().tolist(), b.asnumpy().tolist()) for a, b in DataLoader(My(), 2)])
    try:
        ArrayDataset(onp.ones(3), onp.ones(4))
    except Exception as e:
        print("error")


@prog
def recordio():
    d = folder()
    r = mx.recordio.MXRecordIO(d + "/a.rec", "w")
    for i in range(4):
        r.write(b"record%d" % i)
    r.close()
    r = mx.recordio.MXRecordIO(d + "/a.rec", "r")
    while True:
        x = r.read()
        if x is None:
            break
        print(x)
    r.reset()
    print(r.read(), r.tell() if hasattr(r, "tell") else None)
    w = mx.recordio.MXIndexedRecordIO(d + "/b.idx", d + "/b.rec", "w")
    for i in range(4):
        w.write_idx(i, mx.recordio.pack(mx.recordio.IRHeader(0, [i, i * 2.5], i, 0), b"img%d" % i))
    w.close()
    w = mx.recordio.MXIndexedRecordIO(d + "/b.idx", d + "/b.rec", "r")
    h, s = mx.recordio.unpack(w.read_idx(2))
    print(*h, s, w.keys)
    ds = gluon.data.RecordFileDataset(d + "/b.rec")
    print(len(ds), ds[1][-4:])
    h, s = mx.recordio.unpack(mx.recordio.pack((0, 3.0, 7, 0), b"x"))
    print(*h, s)


@prog
def split_load():
    x = nd.array(onp.arange(12).reshape(6, 2))
    print(
        [p.asnumpy().tolist() for p in gluon.utils.split_data(x, 3)],
        [p.shape for p in gluon.utils.split_data(x, 4, even_split=False)],
        [p.shape for p in gluon.utils.split_data(x, 2, batch_axis=1)],
    )
    print([p.context for p in gluon.utils.split_and_load(x, [mx.cpu(0), mx.cpu(1)])])
    try:
        gluon.utils.split_data(x, 4)
    except ValueError as e:
        print("ValueError")
    a = [nd.array([3.0, 4.0]), nd.array([1.0])]
    print(gluon.utils.clip_global_norm(a, 1.0), a)
