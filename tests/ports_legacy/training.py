# ruff: noqa
"""Accumulated gradients, frozen layers, split batches, checkpoints, export and a cut symbol."""

import os, tempfile
import mxnet as mx, numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

rs = np.random.RandomState(0)


def build(prefix, ctx=mx.cpu()):
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, activation="relu"), nn.GlobalAvgPool2D(), nn.Dense(8, activation="relu"), nn.Dense(3))
    net.initialize(ctx=ctx)
    net(nd.zeros((1, 1, 8, 8), ctx=ctx[0] if isinstance(ctx, list) else ctx))
    for i, p in enumerate(net.collect_params().values()):
        p.set_data(nd.array(np.random.RandomState(i).normal(0, 0.4, p.shape)))
    return net


X, Y = (nd.array(rs.uniform(size=(32, 1, 8, 8))), nd.array(rs.randint(0, 3, 32)))
L = gluon.loss.SoftmaxCrossEntropyLoss()
net = build("acc_")
net.hybridize()
for p in net.collect_params().values():
    p.grad_req = "add"
tr = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2, "momentum": 0.9})
for step in range(4):
    tot = 0
    for k in range(4):
        with autograd.record():
            l = L(net(X[8 * k : 8 * k + 8]), Y[8 * k : 8 * k + 8])
        l.backward()
        tot += l.sum().asscalar()
    tr.step(32)
    net.collect_params().zero_grad()
    print("acc %.5f" % (tot / 32))
net = build("frz_")
net.collect_params(".*conv.*").setattr("grad_req", "null")
net[2].weight.lr_mult = 10
net[2].collect_params().setattr("wd_mult", 0)
before = net[0].weight.data().copy()
tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01, "wd": 0.01})
for step in range(4):
    with autograd.record():
        l = L(net(X), Y)
    l.backward()
    tr.step(32)
    print("frz %.5f" % l.mean().asscalar())
print((net[0].weight.data() - before).abs().sum().asscalar())
net.collect_params().setattr("grad_req", "write")
tr = gluon.Trainer(net.collect_params(".*conv.*|.*dense1.*"), "sgd", {"learning_rate": 0.1})
for step in range(2):
    with autograd.record():
        l = L(net(X), Y)
    l.backward()
    tr.step(32)
    print("part %.5f" % l.mean().asscalar())
ctx = [mx.cpu(0)]
try:
    net = build("multi_", ctx)
except Exception as e:
    print("several contexts:", type(e).__name__)
    ctx = [mx.cpu(0)]
    net = build("multi_", ctx)
tr = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2}, kvstore="device")
for step in range(3):
    data = gluon.utils.split_and_load(X, ctx_list=ctx, batch_axis=0)
    label = gluon.utils.split_and_load(Y, ctx_list=ctx, batch_axis=0, even_split=False)
    with autograd.record():
        losses = [L(net(a), b) for a, b in zip(data, label)]
    for l in losses:
        l.backward()
    tr.step(X.shape[0])
    nd.waitall()
    print("multi %.5f" % (sum((l.sum().asscalar() for l in losses)) / 32))
print([g.shape for g in net[0].weight.list_grad()][:1], gluon.utils.split_data(nd.arange(6), 2))
with tempfile.TemporaryDirectory() as d:
    net = build("ck_")
    net.hybridize()
    tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    path = os.path.join(d, "m.params")
    for step in range(6):
        if step == 3:
            net.save_parameters(path)
            tr.save_states(os.path.join(d, "m.states"))
            net.collect_params().save(os.path.join(d, "old.params"), strip_prefix="ck_")
        with autograd.record():
            l = L(net(X), Y)
        l.backward()
        tr.step(32)
        print("ck %.5f" % l.mean().asscalar())
    n2 = build("again_")
    n2.load_parameters(path, ctx=mx.cpu())
    tr = gluon.Trainer(n2.collect_params(), "adam", {"learning_rate": 0.5})
    tr.load_states(os.path.join(d, "m.states"))
    tr.set_learning_rate(0.02)
    for step in range(3):
        with autograd.record():
            l = L(n2(X), Y)
        l.backward()
        tr.step(32)
        print("resumed %.5f" % l.mean().asscalar())
    n3 = build("third_")
    n3.collect_params().load(os.path.join(d, "old.params"), mx.cpu(), restore_prefix="third_")
    print(
        sorted(nd.load(os.path.join(d, "old.params")))[:2],
        sorted(nd.load(path))[:2],
        (n3(X) - n2(X)).abs().max().asscalar() > 0,
    )
    try:
        nn.Dense(3).load_parameters(path)
    except Exception as e:
        print("refused", isinstance(e, (AssertionError, ValueError, KeyError)))
    n2.load_parameters(path, allow_missing=True, ignore_extra=True)
    nd.save(os.path.join(d, "l.nd"), [X[:1], Y])
    print([a.shape for a in nd.load(os.path.join(d, "l.nd"))])
    net.export(os.path.join(d, "net"), epoch=7)
    sb = gluon.SymbolBlock.imports(os.path.join(d, "net-symbol.json"), "data", os.path.join(d, "net-0007.params"))
    print((sb(X) - net(X)).abs().max().asscalar() < 1e-05)
    sym = mx.sym.load(os.path.join(d, "net-symbol.json"))
    print(sym.list_arguments())
    internals = sym.get_internals()
    print(
        [
            o
            for o in internals.list_outputs()
            if o.endswith("fwd_output") and ("conv" in o or "dense" in o) and "relu" not in o
        ]
    )
    feat = gluon.SymbolBlock(internals["ck_dense0_fwd_output"], mx.sym.var("data"))
    feat.load_parameters(os.path.join(d, "net-0007.params"), ignore_extra=True) if hasattr(
        feat, "load_parameters"
    ) else 0
    print(feat(X).shape)
