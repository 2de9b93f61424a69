# ruff: noqa
"""The key-value store of MXNet 2: sums over devices, updaters, optimizers, a Trainer over it."""

import atexit, shutil, tempfile
import numpy as onp
import mxnet as mx
from mxnet import np, npx, gluon, autograd

npx.set_np()


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
    kv.init(3, np.ones(shape) * 2)
    a = np.zeros(shape)
    kv.pull(3, out=a)
    print(a.asnumpy(), kv.type, kv.rank, kv.num_workers)
    kv.push(3, np.ones(shape) * 8)
    kv.pull(3, out=a)
    print(a.asnumpy())


@prog
def aggregate():
    kv = mx.kv.create("device")
    kv.init(3, np.ones(shape))
    ctx = [mx.cpu(i) for i in range(4)]
    b = [np.ones(shape, device=c) * (k + 1) for k, c in enumerate(ctx)]
    kv.push(3, b)
    a = np.zeros(shape)
    kv.pull(3, out=a)
    print(a.asnumpy())
    outs = [np.zeros(shape, device=c) for c in ctx]
    kv.pull(3, out=outs)
    print([(o.device, float(o.asnumpy().sum())) for o in outs])


@prog
def updater():
    kv = mx.kv.create()
    kv.init(3, np.ones(shape))

    def update(key, input, stored):
        print("update on key:", key, type(key).__name__)
        stored += input * 2

    kv._set_updater(update)
    kv.push(3, np.ones(shape))
    a = np.zeros(shape)
    kv.pull(3, out=a)
    print(a.asnumpy())
    kv.push(3, [np.ones(shape), np.ones(shape)])
    kv.pull(3, out=a)
    print(a.asnumpy())


@prog
def lists():
    kv = mx.kv.create()
    keys = [5, 7, 9]
    kv.init(keys, [np.ones(shape)] * 3)
    kv.push(keys, [np.ones(shape) * k for k in keys])
    b = [np.zeros(shape)] * 3
    kv.pull(keys, out=b)
    print(b[1].asnumpy())
    b = [[np.ones(shape), np.ones(shape)]] * 3
    kv.push(keys, b)
    o = [np.zeros(shape) for _ in keys]
    kv.pull(keys, out=o)
    print([float(x.asnumpy().sum()) for x in o])


@prog
def strings():
    kv = mx.kv.create()
    kv.init("w", np.ones(shape))
    kv.init(["a", "b"], [np.ones(2), np.zeros(2)])

    def up(k, g, w):
        w -= 0.5 * g

    kv.set_updater(up) if hasattr(kv, "set_updater") else kv._set_updater(up)
    kv.push("w", np.ones(shape))
    kv.push(["a", "b"], [np.ones(2), np.ones(2)])
    o = np.zeros(2)
    kv.pull("b", out=o)
    print(o.asnumpy())
    for f in (lambda: kv.init("w", np.ones(shape)), lambda: kv.push("zz", np.ones(2)), lambda: kv.push(1, np.ones(2))):
        try:
            f()
            print("no error")
        except Exception as e:
            print("error")


@prog
def optimizer():
    kv = mx.kv.create("local")
    kv.init(0, np.ones(shape))
    kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9))
    a = np.zeros(shape)
    for k in range(3):
        kv.push(0, np.ones(shape))
        kv.pull(0, out=a)
        print(a.asnumpy()[0])
    d = folder()
    kv.save_optimizer_states(d + "/s")
    kv.load_optimizer_states(d + "/s")
    kv.push(0, np.ones(shape))
    kv.pull(0, out=a)
    print(a.asnumpy()[0])
    kv = mx.kv.create()
    kv.init("x", np.zeros(3))
    kv.set_optimizer(mx.optimizer.create("test", rescale_grad=2))
    kv.push("x", [np.ones(3), np.ones(3)])
    b = np.zeros(3)
    kv.pull("x", out=b)
    print(b.asnumpy())


@prog
def pushpull():
    kv = mx.kv.create("device")
    kv.init("1", np.zeros(2))
    a = [np.ones(2, device=mx.cpu(0)), np.ones(2, device=mx.cpu(1)) * 3]
    kv.pushpull("1", a)
    print([x.asnumpy() for x in a])
    o = np.zeros(2)
    kv.pushpull("1", np.ones(2) * 5, out=o)
    print(o.asnumpy())
    kv.broadcast("2", np.ones(2) * 4, [o])
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
                l = net(np.array([[1.0, 2.0]])).sum()
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
    xs = gluon.utils.split_and_load(np.array([[1.0, 2.0], [3.0, 4.0]]), ctx)
    with autograd.record():
        ls = [net(x).sum() for x in xs]
    for l in ls:
        l.backward()
    t.allreduce_grads()
    print([g.asnumpy() for g in net.weight.list_grad()])
    t.update(2)
    print([w.asnumpy() for w in net.weight.list_data()])


@prog
def own_store():
    @mx.kv.KVStoreBase.register
    class Averaging(mx.kv.KVStoreBase):
        def __init__(self):
            self.calls = 0

        def broadcast(self, key, value, out, priority=0):
            for o in out if isinstance(out, list) else [out]:
                o[:] = value[0] if isinstance(value, list) else value

        def pushpull(self, key, value, out=None, priority=0):
            self.calls += 1
            mean = sum(v.copyto(value[0].ctx) for v in value) / len(value)
            for o in value if out is None else out:
                o[:] = mean

        @staticmethod
        def is_capable(capability):
            return False

        @property
        def type(self):
            return "averaging"

        @property
        def rank(self):
            return 0

        @property
        def num_workers(self):
            return 1

    ctx = [mx.cpu(0), mx.cpu(1)]
    net = gluon.nn.Dense(1, in_units=2)
    net.initialize(mx.init.One(), ctx=ctx)
    store = mx.kv.create("averaging")
    t = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=store)
    for _ in range(2):
        xs = gluon.utils.split_and_load(np.array([[1.0, 2.0], [3.0, 5.0]]), ctx)
        with autograd.record():
            ls = [net(x).sum() for x in xs]
        autograd.backward(ls)
        t.step(2)
    print(store.calls, [w.asnumpy() for w in net.weight.list_data()], [b.asnumpy() for b in net.bias.list_data()])
