# ruff: noqa
"""Several devices: by hand, as the book first does it; with Gluon; with a store; with an Estimator."""

import numpy as onp
from mxnet import autograd, gluon, init, kv, np, npx
from mxnet.gluon import nn

npx.set_np()
draw = onp.random.RandomState(0)
X = draw.normal(size=(48, 1, 8, 8)).astype("float32")
Y = draw.randint(0, 3, 48)
devices = [npx.cpu(0), npx.cpu(1), npx.cpu(2)]
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()


# By hand: copies of the parameters, a sum over devices, slices.
def get_params(params, ctx):
    new = [p.copyto(ctx) for p in params]
    for p in new:
        p.attach_grad()
    return new


def allreduce(data):
    for i in range(1, len(data)):
        data[0][:] += data[i].copyto(data[0].ctx)
    for i in range(1, len(data)):
        data[0].copyto(data[i])


def split_batch(X, y, ctx_list):
    assert X.shape[0] == y.shape[0]
    return gluon.utils.split_and_load(X, ctx_list), gluon.utils.split_and_load(y, ctx_list)


def lenet(X, params):
    h = npx.convolution(data=X, weight=params[0], bias=params[1], kernel=(3, 3), num_filter=4)
    h = npx.pooling(data=npx.relu(h), pool_type="avg", kernel=(2, 2), stride=(2, 2))
    h = h.reshape(h.shape[0], -1)
    return np.dot(h, params[2]) + params[3]


def sgd(params, lr, batch_size):
    for param in params:
        param[:] = param - lr * param.grad / batch_size


start = [
    np.array(draw.normal(scale=0.1, size=shape).astype("float32")) for shape in [(4, 1, 3, 3), (4,), (36, 3), (3,)]
]
params = [get_params(start, d) for d in devices]
for epoch in range(3):
    for k in range(0, 48, 12):
        xs, ys = split_batch(np.array(X[k : k + 12]), np.array(Y[k : k + 12]), devices)
        with autograd.record():
            losses = [loss_fn(lenet(x, w), y) for x, y, w in zip(xs, ys, params)]
        for l in losses:
            l.backward()
        for i in range(len(params[0])):
            allreduce([params[c][i].grad for c in range(len(devices))])
        for param in params:
            sgd(param, 0.5, 12)
    print("by hand %.4f" % float(sum(l.sum().asnumpy() for l in losses) / 12))
print("copies", [p[2].ctx for p in params], bool((params[0][2].asnumpy() == params[1][2].asnumpy()).all()))


# With Gluon.
def build(ctx):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Dense(3))
    net.initialize(init=init.Normal(sigma=0.01), ctx=ctx)
    net(np.array(X[:2], ctx=ctx[0]))
    values = onp.random.RandomState(5)
    for name, p in sorted(net.collect_params().items()):
        if p.grad_req != "null":
            p.set_data(np.array(values.normal(scale=0.3, size=p.shape)))
    return net


net = build(devices)
try:
    net[4].weight.data(npx.cpu(7))
except Exception as e:
    print("not on", type(e).__name__ in ("RuntimeError", "DeviceError"))
print(net[4].weight.list_ctx(), len(net[4].weight.list_data()), net[4].weight.data(devices[1])[0].ctx)
for hybrid in (True,):
    net = build(devices)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2, "momentum": 0.9})
    for epoch in range(3):
        total = 0
        for k in range(0, 48, 16):
            xs, ys = (
                gluon.utils.split_and_load(np.array(part[k : k + 16]), devices, even_split=False) for part in (X, Y)
            )
            with autograd.record():
                losses = [loss_fn(net(x), y) for x, y in zip(xs, ys)]
            for l in losses:
                l.backward()
            trainer.step(16)
            total += sum([float(l.sum()) for l in losses])
        print("gluon %.4f" % (total / 48))
    mean = net[1].running_mean.data(
        devices[0]
    )  # MXNet 2.0.0b1 has others on further devices than what their slices give
    print(mean.ctx, ["%.3f" % v for v in mean.asnumpy()])

# Clipped between the sum and the update.
net = build(devices)
trainer = gluon.Trainer(
    net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore="device", update_on_kvstore=False
)
for k in range(0, 48, 12):
    xs, ys = (gluon.utils.split_and_load(np.array(part[k : k + 12]), devices) for part in (X, Y))
    with autograd.record():
        losses = [loss_fn(net(x), y) for x, y in zip(xs, ys)]
    autograd.backward(losses)
    trainer.allreduce_grads()
    for d in devices:
        grads = [p.grad(d) for p in net.collect_params().values() if p.grad_req != "null"]
        norm = gluon.utils.clip_global_norm(grads, 1.5)
    trainer.update(12)
    print("clipped %.3f %.4f" % (norm, sum(float(l.mean()) for l in losses) / 3))

# A store.
store = kv.create("device")
store.init(3, np.ones((2, 3)))
a = np.zeros((2, 3))
store.pull(3, out=a)
print(a.tolist(), store.rank, store.num_workers)
store.push(3, [np.ones((2, 3), ctx=d) for d in devices])
copies = [np.zeros((2, 3), ctx=d) for d in devices]
store.pull(3, out=copies)
print([c.tolist() for c in copies], [c.ctx for c in copies])
