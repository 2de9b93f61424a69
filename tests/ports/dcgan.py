"""A DCGAN: transposed convolutions, two trainers, the discriminator's update before the generator's."""

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(21)


class G_block(nn.Block):
    def __init__(self, channels, kernel_size=4, strides=2, padding=1, **kwargs):
        super().__init__(**kwargs)
        self.conv2d_trans = nn.Conv2DTranspose(channels, kernel_size, strides, padding, use_bias=False)
        self.batch_norm = nn.BatchNorm()
        self.activation = nn.Activation("relu")

    def forward(self, X):
        return self.activation(self.batch_norm(self.conv2d_trans(X)))


class D_block(nn.Block):
    def __init__(self, channels, kernel_size=4, strides=2, padding=1, alpha=0.2, **kwargs):
        super().__init__(**kwargs)
        self.conv2d = nn.Conv2D(channels, kernel_size, strides, padding, use_bias=False)
        self.batch_norm = nn.BatchNorm()
        self.activation = nn.LeakyReLU(alpha)

    def forward(self, X):
        return self.activation(self.batch_norm(self.conv2d(X)))


def update_D(X, Z, net_D, net_G, loss, trainer_D):
    batch_size = X.shape[0]
    ones = np.ones((batch_size,), ctx=X.ctx)
    zeros = np.zeros((batch_size,), ctx=X.ctx)
    with autograd.record():
        real_Y = net_D(X)
        fake_X = net_G(Z)
        fake_Y = net_D(fake_X.detach())
        loss_D = (loss(real_Y, ones) + loss(fake_Y, zeros)) / 2
    loss_D.backward()
    trainer_D.step(batch_size)
    return float(loss_D.sum())


def update_G(Z, net_D, net_G, loss, trainer_G):
    batch_size = Z.shape[0]
    ones = np.ones((batch_size,), ctx=Z.ctx)
    with autograd.record():
        fake_X = net_G(Z)
        fake_Y = net_D(fake_X)
        loss_G = loss(fake_Y, ones)
    loss_G.backward()
    trainer_G.step(batch_size)
    return float(loss_G.sum())


net_G = nn.Sequential()
net_G.add(G_block(8, strides=1, padding=0), G_block(4))
net_G.add(nn.Conv2DTranspose(1, kernel_size=4, strides=2, padding=1, use_bias=False, activation="tanh"))
net_D = nn.Sequential()
net_D.add(D_block(4), D_block(8), nn.Conv2D(1, kernel_size=4, use_bias=False))

loss = gluon.loss.SigmoidBCELoss()
X = np.array(rng.uniform(-1, 1, (6, 1, 16, 16)))
Z = np.array(rng.normal(0, 1, (6, 5, 1, 1)))
net_D.initialize(init=init.Normal(0.02), force_reinit=True)
net_G.initialize(init=init.Normal(0.02), force_reinit=True)
print(net_G(Z).shape, net_D(X).shape)
for net in (net_D, net_G):
    for name, param in net.collect_params().items():
        if name.endswith("weight"):
            param.set_data(np.array(rng.normal(0, 0.2, param.shape)))
        elif name.endswith(("running_mean", "running_var")):
            print(name, param.data().sum())
hp = {"learning_rate": 0.005, "beta1": 0.5}
trainer_D = gluon.Trainer(net_D.collect_params(), "adam", hp)
trainer_G = gluon.Trainer(net_G.collect_params(), "adam", hp)
for step in range(3):
    loss_D = update_D(X, Z, net_D, net_G, loss, trainer_D)
    loss_G = update_G(Z, net_D, net_G, loss, trainer_G)
    print(f"{step} loss_D {loss_D:.4f} loss_G {loss_G:.4f}")
with autograd.train_mode():
    print(net_G(Z)[0, 0, :2, :4])
