# ruff: noqa
"""The key-value store of MXNet 1: sums over devices, updaters, optimizers, rows, a Trainer over it."""

import atexit, shutil, tempfile
import numpy as onp
import mxnet as mx
from mxnet import nd, gluon, autograd


def folder():
    made = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, made, True)
    return made


def prog(run):
    print("###", run.__name__)
    run()


shape = (2, 3)


@prog
def init_pull():
    kv = mx.kv.create("local")
    kv.init(3, nd.ones(shape) * 2)
    a = nd.zeros(shape)
    kv.pull(3, out=a)
    print(a.asnumpy(), kv.type, kv.rank, kv.num_workers)
    kv.push(3, nd.ones(shape) * 8)
    kv.pull(3, out=a)
    print(a.asnumpy())


@prog
def aggregate():
    kv = mx.kv.create("device")
    kv.init(3, nd.ones(shape))
    ctx = [mx.cpu(i) for i in range(4)]
    b = [nd.ones(shape, c) * (k + 1) for k, c in enumerate(ctx)]
    kv.push(3, b)
    a = nd.zeros(shape)
    kv.pull(3, out=a)
    print(a.asnumpy())
    outs = [nd.zeros(shape, c) for c in ctx]
    kv.pull(3, out=outs)
    print([(o.context, float(o.asnumpy().sum())) for o in outs])


@prog
def updater():
    kv = mx.kv.create()
    kv.init(3, nd.ones(shape))

    def update(key, input, stored):
        print("update on key:", key, type(key).__name__)
        stored += input * 2

    kv._set_updater(update)
    kv.push(3, nd.ones(shape))
    a = nd.zeros(shape)
    kv.pull(3, out=a)
    print(a.asnumpy())
    kv.push(3, [nd.ones(shape), nd.ones(shape)])
    kv.pull(3, out=a)
    print(a.asnumpy())


@prog
def lists():
    kv = mx.kv.create()
    keys = [5, 7, 9]
    kv.init(keys, [nd.ones(shape)] * 3)
    kv.push(keys, [nd.ones(shape) * k for k in keys])
    b = [nd.zeros(shape)] * 3
    kv.pull(keys, out=b)
    print(b[1].asnumpy())
    b = [[nd.ones(shape), nd.ones(shape)]] * 3
    kv.push(keys, b)
    o = [nd.zeros(shape) for _ in keys]
    kv.pull(keys, out=o)
    print([float(x.asnumpy().sum()) for x in o])


@prog
def strings():
    kv = mx.kv.create()
    kv.init("w", nd.ones(shape))
    kv.init(["a", "b"], [nd.ones(2), nd.zeros(2)])

    def up(k, g, w):
        w -= 0.5 * g

    kv.set_updater(up) if hasattr(kv, "set_updater") else kv._set_updater(up)
    kv.push("w", nd.ones(shape))
    kv.push(["a", "b"], [nd.ones(2), nd.ones(2)])
    o = nd.zeros(2)
    kv.pull("b", out=o)
    print(o.asnumpy())
    for f in (lambda: kv.init("w", nd.ones(shape)), lambda: kv.push("zz", nd.ones(2)), lambda: kv.push(1, nd.ones(2))):
        try:
            f()
            print("no error")
        except Exception as e:
            print("error")


@prog
def optimizer():
    kv = mx.kv.create("local")
    kv.init(0, nd.ones(shape))
    kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9))
    a = nd.zeros(shape)
    for k in range(3):
        kv.push(0, nd.ones(shape))
        kv.pull(0, out=a)
        print(a.asnumpy()[0])
    d = folder()
    kv.save_optimizer_states(d + "/s")
    kv.load_optimizer_states(d + "/s")
    kv.push(0, nd.ones(shape))
    kv.pull(0, out=a)
    print(a.asnumpy()[0])
    kv = mx.kv.create()
    kv.init("x", nd.zeros(3))
    kv.set_optimizer(mx.optimizer.create("test", rescale_grad=2))
    kv.push("x", [nd.ones(3), nd.ones(3)])
    b = nd.zeros(3)
    kv.pull("x", out=b)
    print(b.asnumpy())


@prog
def row_sparse():
    kv = mx.kv.create()
    w = nd.sparse.row_sparse_array((nd.array([[1, 2], [3, 4]]), nd.array([0, 2], dtype="int64")), shape=(4, 2))
    kv.init("w", w)
    out = nd.sparse.zeros("row_sparse", (4, 2))
    kv.row_sparse_pull("w", out=out, row_ids=nd.array([0, 3], dtype="int64"))
    print(out.asnumpy(), out.indices.asnumpy())
    kv.push("w", nd.sparse.row_sparse_array((nd.array([[1, 1]]), nd.array([1], dtype="int64")), shape=(4, 2)))
    kv.row_sparse_pull("w", out=out, row_ids=nd.array([0, 1, 2, 3], dtype="int64"))
    print(out.asnumpy())


@prog
def pushpull():
    kv = mx.kv.create("device")
    kv.init("1", nd.zeros(2))
    a = [nd.ones(2, mx.cpu(0)), nd.ones(2, mx.cpu(1)) * 3]
    kv.pushpull("1", a)
    print([x.asnumpy() for x in a])
    o = nd.zeros(2)
    kv.pushpull("1", nd.ones(2) * 5, out=o)
    print(o.asnumpy())
    kv.broadcast("2", nd.ones(2) * 4, [o])
    print(o.asnumpy())


@prog
def trainer_kv():
    for kvs in ("local", "device", None):
        for up in (None, False):
            net = gluon.nn.Dense(1, in_units=2)
            net.initialize(mx.init.One())
            try:
                t = gluon.Trainer(
                    net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=kvs, update_on_kvstore=up
                )
            except ValueError as e:
                print("ValueError")
                continue
            with autograd.record():
                l = net(nd.array([[1.0, 2.0]])).sum()
            l.backward()
            try:
                t.step(1)
                print(net.weight.data().asnumpy())
            except Exception as e:
                print(type(e).__name__)


@prog
def two_devices():
    ctx = [mx.cpu(0), mx.cpu(1)]
    net = gluon.nn.Dense(1, in_units=2)
    net.initialize(mx.init.One(), ctx=ctx)
    t = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore="device", update_on_kvstore=False)
    xs = gluon.utils.split_and_load(nd.array([[1.0, 2.0], [3.0, 4.0]]), ctx)
    with autograd.record():
        ls = [net(x).sum() for x in xs]
    for l in ls:
        l.backward()
    t.allreduce_grads()
    print([g.asnumpy() for g in net.weight.list_grad()])
    t.update(2)
    print([w.asnumpy() for w in net.weight.list_data()])
