# ruff: noqa
"""A DCGAN and a small GAN: two trainers that take turns, metrics inside of record()."""

import mxnet as mx, numpy as np, logging
from datetime import datetime
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

rs = np.random.RandomState(0)
ctx = mx.cpu()
nz, ngf, ndf, nc, B = (10, 4, 4, 3, 8)
netG = nn.Sequential()
with netG.name_scope():
    netG.add(nn.Conv2DTranspose(ngf * 4, 4, 1, 0, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    netG.add(nn.Conv2DTranspose(ngf * 2, 4, 2, 1, use_bias=False))
    netG.add(nn.BatchNorm())
    netG.add(nn.Activation("relu"))
    netG.add(nn.Conv2DTranspose(nc, 4, 2, 1, use_bias=False))
    netG.add(nn.Activation("tanh"))
netD = nn.Sequential()
with netD.name_scope():
    netD.add(nn.Conv2D(ndf, 4, 2, 1, use_bias=False))
    netD.add(nn.LeakyReLU(0.2))
    netD.add(nn.Conv2D(ndf * 2, 4, 2, 1, use_bias=False))
    netD.add(nn.BatchNorm())
    netD.add(nn.LeakyReLU(0.2))
    netD.add(nn.Conv2D(1, 4, 1, 0, use_bias=False))
loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
netG.initialize(mx.init.Normal(0.02), ctx=ctx)
netD.initialize(mx.init.Normal(0.02), ctx=ctx)
netD(netG(nd.zeros((1, nz, 1, 1))))
for net in (netG, netD):
    for i, (k, p) in enumerate(net.collect_params(".*conv.*").items()):
        p.set_data(nd.array(np.random.RandomState(i).normal(0, 0.1, p.shape)))
    net.collect_params(".*running_mean").setattr("lr_mult", 1)
trainerG = gluon.Trainer(netG.collect_params(), "adam", {"learning_rate": 0.002, "beta1": 0.5})
trainerD = gluon.Trainer(netD.collect_params(), "adam", {"learning_rate": 0.002, "beta1": 0.5})
real_label = nd.ones((B,), ctx=ctx)
fake_label = nd.zeros((B,), ctx=ctx)


def facc(label, pred):
    pred = pred.ravel()
    label = label.ravel()
    return ((pred > 0.5) == label).mean()


metric = mx.metric.CustomMetric(facc)
for epoch in range(2):
    for it in range(3):
        data = nd.array(rs.uniform(-1, 1, (B, 3, 16, 16))).as_in_context(ctx)
        latent_z = nd.array(rs.normal(size=(B, nz, 1, 1)), ctx=ctx)
        with autograd.record():
            output = netD(data).reshape((-1, 1))
            errD_real = loss(output, real_label)
            metric.update([real_label], [output])
            fake = netG(latent_z)
            output = netD(fake.detach()).reshape((-1, 1))
            errD_fake = loss(output, fake_label)
            errD = errD_real + errD_fake
            errD.backward()
            metric.update([fake_label], [output])
        trainerD.step(B)
        with autograd.record():
            fake = netG(latent_z)
            output = netD(fake).reshape((-1, 1))
            errG = loss(output, real_label)
            errG.backward()
        trainerG.step(B)
        print("%.5f %.5f" % (nd.mean(errD).asscalar(), nd.mean(errG).asscalar()))
    name, acc = metric.get()
    metric.reset()
    print("epoch", epoch, name, "%.4f" % acc)
print(netD)


def update_D(X, Z, net_D, net_G, loss, trainer_D):
    batch_size = X.shape[0]
    ones = nd.ones((batch_size,), ctx=X.context)
    zeros = nd.zeros((batch_size,), ctx=X.context)
    with autograd.record():
        real_Y = net_D(X)
        fake_X = net_G(Z)
        fake_Y = net_D(fake_X.detach())
        loss_D = (loss(real_Y, ones) + loss(fake_Y, zeros)) / 2
    loss_D.backward()
    trainer_D.step(batch_size)
    return float(loss_D.sum().asscalar())


def update_G(Z, net_D, net_G, loss, trainer_G):
    ones = nd.ones((Z.shape[0],), ctx=Z.context)
    with autograd.record():
        loss_G = loss(net_D(net_G(Z)), ones)
    loss_G.backward()
    trainer_G.step(Z.shape[0])
    return loss_G.sum().asscalar()


net_G = nn.Sequential()
net_G.add(nn.Dense(2))
net_D = nn.Sequential()
net_D.add(nn.Dense(5, activation="tanh"), nn.Dense(3, activation="tanh"), nn.Dense(1))
net_D.initialize(init=mx.init.Normal(0.02), force_reinit=True)
net_G.initialize(init=mx.init.Normal(0.02), force_reinit=True)
net_D(net_G(nd.zeros((1, 2))))
for net in (net_G, net_D):
    for i, p in enumerate(net.collect_params().values()):
        p.set_data(nd.array(np.random.RandomState(i).normal(0, 0.3, p.shape)))
tD, tG = (
    gluon.Trainer(net_D.collect_params(), "adam", {"learning_rate": 0.05}),
    gluon.Trainer(net_G.collect_params(), "adam", {"learning_rate": 0.005}),
)
A = nd.array([[1, 2], [-0.1, 0.5]])
b = nd.array([1, 2])
data = nd.dot(nd.array(rs.normal(size=(64, 2))), A) + b
for X in gluon.data.DataLoader(data, 16):
    Z = nd.array(rs.normal(size=(16, 2)))
    print("%.5f %.5f" % (update_D(X, Z, net_D, net_G, loss, tD), update_G(Z, net_D, net_G, loss, tG)))
