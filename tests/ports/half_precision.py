"""float16: the body of the net cast, the head in float32, a multi-precision trainer, a loss scale by hand."""

import numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(25)


class Net(nn.HybridBlock):
    def __init__(self, vocab_size, units, classes):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, units)
        self.norm = nn.LayerNorm(in_channels=units)
        self.head = nn.Dense(classes, in_units=units)

    def forward(self, tokens):
        x = npx.relu(self.norm(self.embed(tokens).sum(axis=1)))
        return self.head(x.astype("float32"))


net = Net(10, 8, 4)
net.initialize()
for name, param in net.collect_params().items():
    if name.endswith("weight"):
        param.set_data(np.array(rng.normal(0, 0.3, param.shape)))
net.embed.cast("float16")
net.norm.cast("float16")
net.hybridize()
X = np.array(rng.randint(0, 10, (16, 5)), dtype="int32")
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
        loss = loss_fn(out, y)
        scaled = loss.mean() * scale
    scaled.backward()
    trainer.step(scale)
    print(out.dtype, loss.dtype, round(loss.mean().item(), 3))
weight = net.embed.weight
print(weight.data().dtype, weight.grad().dtype, npx.softmax(weight.data()).dtype, net.head.weight.data().dtype)
bn = nn.BatchNorm(in_channels=3)
bn.initialize()
bn.cast("float16")
print(onp.dtype(bn.gamma.dtype), bn(np.ones((2, 3), dtype="float16")).dtype)
x = np.arange(6, dtype=np.float16)
print(x, (x / 4).dtype, (x + 1.5).dtype, x.astype("int32").dtype, x.mean(), x.sum())
net.cast(onp.float32)
print(net(X).dtype, weight.data().dtype)
