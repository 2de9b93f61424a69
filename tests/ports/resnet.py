"""A ResNet of residual HybridBlocks with batch normalization, trained for some steps, hybridized."""

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(10)


class Residual(nn.HybridBlock):
    def __init__(self, num_channels, use_1x1conv=False, strides=1, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = nn.Conv2D(num_channels, kernel_size=3, padding=1, strides=strides)
        self.conv2 = nn.Conv2D(num_channels, kernel_size=3, padding=1)
        if use_1x1conv:
            self.conv3 = nn.Conv2D(num_channels, kernel_size=1, strides=strides)
        else:
            self.conv3 = None
        self.bn1 = nn.BatchNorm()
        self.bn2 = nn.BatchNorm()

    def forward(self, X):
        Y = npx.relu(self.bn1(self.conv1(X)))
        Y = self.bn2(self.conv2(Y))
        if self.conv3:
            X = self.conv3(X)
        return npx.relu(Y + X)


def resnet_block(num_channels, num_residuals, first_block=False):
    blk = nn.HybridSequential()
    for i in range(num_residuals):
        if i == 0 and not first_block:
            blk.add(Residual(num_channels, use_1x1conv=True, strides=2))
        else:
            blk.add(Residual(num_channels))
    return blk


net = nn.HybridSequential()
net.add(nn.Conv2D(4, kernel_size=3, strides=1, padding=1), nn.BatchNorm(), nn.Activation("relu"))
net.add(resnet_block(4, 1, first_block=True), resnet_block(8, 2))
net.add(nn.GlobalAvgPool2D(), nn.Dense(3))
net.initialize(init.Xavier())
X = np.array(rng.normal(size=(8, 1, 12, 12)))
y = np.array(rng.randint(0, 3, (8,)))
print(net(X).shape)
for name, param in net.collect_params().items():
    if name.endswith(("weight", "bias")):
        fan_in = max(1, int(onp.prod(param.shape[1:])))
        param.set_data(np.array(rng.normal(0, fan_in**-0.5, param.shape)))
    print(name, param.shape, param.grad_req)
net.hybridize()
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05, "momentum": 0.9, "wd": 1e-4})
for _ in range(4):
    with autograd.record():
        l = loss_fn(net(X), y)
    l.backward()
    trainer.step(X.shape[0])
    print(f"{l.mean().item():.5f}")
print(net[1].running_mean.data())
print(net[1].running_var.data())
print(net(X).argmax(axis=1))
