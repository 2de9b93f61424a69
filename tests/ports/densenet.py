"""A DenseNet: blocks that concatenate, transitions that shrink."""

import numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(11)


def conv_block(num_channels):
    blk = nn.HybridSequential()
    blk.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(num_channels, kernel_size=3, padding=1))
    return blk


class DenseBlock(nn.HybridBlock):
    def __init__(self, num_convs, num_channels):
        super().__init__()
        self.net = nn.HybridSequential()
        for _ in range(num_convs):
            self.net.add(conv_block(num_channels))

    def forward(self, X):
        for blk in self.net:
            Y = blk(X)
            X = np.concatenate((X, Y), axis=1)
        return X


def transition_block(num_channels):
    blk = nn.HybridSequential()
    blk.add(
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2D(num_channels, kernel_size=1),
        nn.AvgPool2D(pool_size=2, strides=2),
    )
    return blk


net = nn.HybridSequential()
net.add(nn.Conv2D(4, kernel_size=3, padding=1))
num_channels, growth_rate = 4, 3
for i, num_convs in enumerate([2, 2]):
    net.add(DenseBlock(num_convs, growth_rate))
    num_channels += num_convs * growth_rate
    if i != 1:
        num_channels //= 2
        net.add(transition_block(num_channels))
net.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Dense(4))

X = np.array(rng.normal(size=(4, 3, 8, 8)))
y = np.array([0, 1, 2, 3], dtype="int32")
net.initialize()
print(net(X).shape)
for name, param in net.collect_params().items():
    if "weight" in name:
        fan_in = max(1, int(onp.prod(param.shape[1:])))
        param.set_data(np.array(rng.normal(0, fan_in**-0.5, param.shape)))
print(list(net.collect_params(".*0.*weight")))
net.hybridize()
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "sgd", dict(learning_rate=0.1))
for _ in range(3):
    with autograd.record():
        out = net(X)
        l = loss_fn(out, y)
    l.backward()
    trainer.step(len(y))
    print(float(l.mean()), out.argmax(axis=-1))
