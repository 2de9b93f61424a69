"""float16: the net cast, a multi-precision trainer, a loss scale by hand."""

import numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(25)
net = nn.HybridSequential()
net.add(nn.Dense(16, activation="relu", in_units=8), nn.LayerNorm(in_channels=16), nn.Dense(4, in_units=16))
net.initialize()
for name, param in net.collect_params().items():
    if name.endswith("weight"):
        param.set_data(np.array(rng.normal(0, 0.3, param.shape)))
net.cast("float16")
net.hybridize()
X = np.array(rng.normal(size=(16, 8)), dtype="float16")
y = np.array(rng.randint(0, 4, 16), dtype="int32")
print([str(onp.dtype(p.dtype)) for p in net.collect_params().values()])
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
scale = 8.0
trainer = gluon.Trainer(
    net.collect_params(),
    "sgd",
    {"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True, "rescale_grad": 1.0},
)
for _ in range(5):
    with autograd.record():
        out = net(X)
        loss = loss_fn(out.astype("float32"), y)
        scaled = loss.mean() * scale
    scaled.backward()
    trainer.step(scale)
    print(out.dtype, loss.dtype, round(loss.mean().item(), 2))
print(net[0].weight.data().dtype, net[0].weight.grad().dtype, npx.softmax(out).dtype)
x = np.arange(6, dtype=np.float16)
print(x, (x / 4).dtype, (x + 1.5).dtype, x.astype("int32").dtype, x.mean().dtype, x.sum())
net.cast(onp.float32)
print(net(X.astype(onp.float32)).dtype)
