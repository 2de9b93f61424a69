"""A vision transformer: patches by a strided convolution, a class token, learned positions, pre-norm encoder blocks."""

import math

import numpy as onp
from mxnet import autograd, gluon, init, lr_scheduler, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(34)


class SelfAttention(nn.HybridBlock):
    def __init__(self, units, heads, dropout, **kwargs):
        super().__init__(**kwargs)
        self.heads = heads
        self.qkv = nn.Dense(3 * units, flatten=False, in_units=units)
        self.out = nn.Dense(units, flatten=False, in_units=units)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, units = x.shape
        qkv = self.qkv(x).reshape(batch, length, 3, self.heads, -1).transpose(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        scores = np.matmul(q, k.swapaxes(2, 3)) / math.sqrt(units // self.heads)
        mixed = np.matmul(self.dropout(npx.softmax(scores, axis=-1)), v)
        return self.out(mixed.transpose(0, 2, 1, 3).reshape(batch, length, units))


class EncoderBlock(nn.HybridBlock):
    def __init__(self, units, heads, hidden, dropout, **kwargs):
        super().__init__(**kwargs)
        self.norm1 = nn.LayerNorm(in_channels=units)
        self.attention = SelfAttention(units, heads, dropout)
        self.norm2 = nn.LayerNorm(in_channels=units)
        self.mlp = nn.HybridSequential()
        self.mlp.add(nn.Dense(hidden, flatten=False, in_units=units), nn.GELU(), nn.Dropout(dropout))
        self.mlp.add(nn.Dense(units, flatten=False, in_units=hidden), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.HybridBlock):
    def __init__(self, image, patch, units, heads, hidden, layers, classes, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        count = (image // patch) ** 2
        self.embed = nn.Conv2D(units, kernel_size=patch, strides=patch, in_channels=3)
        self.token = gluon.Parameter("token", shape=(1, 1, units), init=init.Zero())
        self.positions = gluon.Parameter("positions", shape=(1, count + 1, units), init=init.Normal(0.02))
        self.blocks = nn.HybridSequential()
        for _ in range(layers):
            self.blocks.add(EncoderBlock(units, heads, hidden, dropout))
        self.norm = nn.LayerNorm(in_channels=units)
        self.head = nn.Dense(classes, in_units=units)

    def forward(self, x):
        patches = npx.reshape(self.embed(x), (-2, -2, -1)).swapaxes(1, 2)
        token = np.broadcast_to(self.token.data(), (x.shape[0], 1, patches.shape[2]))
        x = np.concatenate([token, patches], axis=1) + self.positions.data()
        return self.head(self.norm(self.blocks(x))[:, 0])


net = VisionTransformer(image=16, patch=4, units=16, heads=4, hidden=32, layers=2, classes=4)
net.initialize(init.Xavier())
X = np.array(rng.normal(0, 1, (12, 3, 16, 16)))
Y = np.array(rng.randint(0, 4, 12), dtype="int32")
print(net(X).shape)
for name, param in net.collect_params().items():
    if name.endswith(("weight", "positions", "token")):
        scale = 0.02 if param.shape[0] == 1 else onp.prod(param.shape[1:]) ** -0.5
        param.set_data(np.array(rng.normal(0, scale, param.shape)))
print(sum(onp.prod(p.shape) for p in net.collect_params().values()), "parameters")
net.hybridize()
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
schedule = lr_scheduler.CosineScheduler(10, base_lr=0.01, final_lr=0.0, warmup_steps=2)
trainer = gluon.Trainer(
    net.collect_params(), "adamw", {"lr_scheduler": schedule, "learning_rate": 0.01, "wd": 0.05, "epsilon": 1e-6}
)
for step in range(8):
    with autograd.record():
        loss = loss_fn(net(X), Y)
    loss.backward()
    gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], 12.0)
    trainer.step(X.shape[0])
    print(f"step {step} loss {float(loss.mean()):.6f} rate {trainer.learning_rate:.5f}")
print("right", int((net(X).argmax(axis=1) == Y).sum()))
