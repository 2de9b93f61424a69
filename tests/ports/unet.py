"""A U-Net: down with pooling, up with transposed convolutions, skips joined by concatenation, a loss for each pixel."""

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(33)


def double_conv(channels):
    block = nn.HybridSequential()
    for _ in range(2):
        block.add(nn.Conv2D(channels, kernel_size=3, padding=1, use_bias=False))
        block.add(nn.BatchNorm())
        block.add(nn.Activation("relu"))
    return block


class Up(nn.HybridBlock):
    def __init__(self, channels, **kwargs):
        super().__init__(**kwargs)
        self.up = nn.Conv2DTranspose(channels, kernel_size=2, strides=2)
        self.conv = double_conv(channels)

    def forward(self, x, skip):
        return self.conv(np.concatenate([skip, self.up(x)], axis=1))


class UNet(nn.HybridBlock):
    def __init__(self, base, depth, classes, **kwargs):
        super().__init__(**kwargs)
        self.pool = nn.MaxPool2D(2)
        self.downs = nn.HybridSequential()
        self.ups = nn.HybridSequential()
        for level in range(depth + 1):
            self.downs.add(double_conv(base * 2**level))
        for level in reversed(range(depth)):
            self.ups.add(Up(base * 2**level))
        self.classify = nn.Conv2D(classes, kernel_size=1)

    def forward(self, x):
        skips = []
        for i in range(len(self.downs)):
            if i:
                x = self.pool(x)
            x = self.downs[i](x)
            skips.append(x)
        skips.pop()
        for i in range(len(self.ups)):
            x = self.ups[i](x, skips.pop())
        return self.classify(x)


def disks(count, size):
    """Noisy pictures of a disk, and which pixels it covers."""
    pictures, masks = onp.zeros((count, 2, size, size), "float32"), onp.zeros((count, size, size), "float32")
    at = onp.arange(size)
    for i in range(count):
        x, y, r = rng.uniform(4, size - 4), rng.uniform(4, size - 4), rng.uniform(2, 5)
        masks[i] = (at[:, None] - x) ** 2 + (at[None] - y) ** 2 < r * r
        pictures[i] = masks[i] * rng.uniform(0.5, 1.5) + rng.normal(0, 0.3, (2, size, size))
    return np.array(pictures), np.array(masks)


net = UNet(base=4, depth=2, classes=2)
net.initialize(init.Xavier())
X, Y = disks(8, 16)
print(net(X).shape)
for name, param in net.collect_params().items():
    if name.endswith("weight"):
        fan_in = onp.prod(param.shape[1:])
        param.set_data(np.array(rng.normal(0, (2 / fan_in) ** 0.5, param.shape)))
net.hybridize()
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss(axis=1)
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-4})
for step in range(8):
    with autograd.record():
        loss = loss_fn(net(X), Y)
    loss.backward()
    trainer.step(X.shape[0])
    print(f"step {step} loss {float(loss.mean()):.6f}")
mask = net(X).argmax(axis=1)
print("covered", round(float((mask == Y).mean()), 2))
