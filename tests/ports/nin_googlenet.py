"""A network-in-network block built by a function, and GoogLeNet's Inception block as a Block."""

import numpy as onp
from mxnet import init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(9)


def fill(net):
    for param in net.collect_params().values():
        fan_in = max(1, int(onp.prod(param.shape[1:])))
        param.set_data(np.array(rng.normal(0, fan_in**-0.5, param.shape)))


def nin_block(num_channels, kernel_size, strides, padding):
    blk = nn.Sequential()
    blk.add(
        nn.Conv2D(num_channels, kernel_size, strides, padding, activation="relu"),
        nn.Conv2D(num_channels, kernel_size=1, activation="relu"),
        nn.Conv2D(num_channels, kernel_size=1, activation="relu"),
    )
    return blk


nin = nn.Sequential()
nin.add(
    nin_block(8, kernel_size=5, strides=2, padding=0),
    nn.MaxPool2D(pool_size=3, strides=2),
    nin_block(6, kernel_size=3, strides=1, padding=1),
    nn.GlobalAvgPool2D(),
    nn.Flatten(),
)
X = np.array(rng.uniform(size=(2, 1, 24, 24)))
nin.initialize()
nin(X)
fill(nin)
print(nin(X))
print(list(nin.collect_params()))


class Inception(nn.Block):
    """Four paths beside each other, joined along the channels."""

    def __init__(self, c1, c2, c3, c4, **kwargs):
        super().__init__(**kwargs)
        self.p1_1 = nn.Conv2D(c1, kernel_size=1, activation="relu")
        self.p2_1 = nn.Conv2D(c2[0], kernel_size=1, activation="relu")
        self.p2_2 = nn.Conv2D(c2[1], kernel_size=3, padding=1, activation="relu")
        self.p3_1 = nn.Conv2D(c3[0], kernel_size=1, activation="relu")
        self.p3_2 = nn.Conv2D(c3[1], kernel_size=5, padding=2, activation="relu")
        self.p4_1 = nn.MaxPool2D(pool_size=3, strides=1, padding=1)
        self.p4_2 = nn.Conv2D(c4, kernel_size=1, activation="relu")

    def forward(self, x):
        p1 = self.p1_1(x)
        p2 = self.p2_2(self.p2_1(x))
        p3 = self.p3_2(self.p3_1(x))
        p4 = self.p4_2(self.p4_1(x))
        return np.concatenate((p1, p2, p3, p4), axis=1)


b1 = nn.Sequential()
b1.add(nn.Conv2D(4, kernel_size=7, strides=2, padding=3, activation="relu"))
b1.add(nn.MaxPool2D(pool_size=3, strides=2, padding=1))
b2 = nn.Sequential()
b2.add(Inception(4, (6, 8), (2, 4), 4), Inception(3, (2, 3), (2, 3), 3))
b2.add(nn.GlobalAvgPool2D(layout="NCHW"))
net = nn.Sequential()
net.add(b1, b2, nn.Dense(5))
net.initialize(init.Xavier())
Y = X
for layer in net:
    Y = layer(Y)
    print(type(layer).__name__, "output shape:", Y.shape)
fill(net)
print(net(X))
for name, param in list(net.collect_params().items())[:6]:
    print(name, param.shape, onp.dtype(param.dtype))
