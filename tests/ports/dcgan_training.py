"""A DCGAN on 16x16 pictures: two hybridized nets, two Trainers, each discriminator step before a generator step."""

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()


def generator(channels):
    net = nn.HybridSequential()
    net.add(nn.Conv2DTranspose(channels * 4, 4, strides=1, padding=0, use_bias=False), nn.BatchNorm())
    net.add(nn.Activation("relu"))
    net.add(nn.Conv2DTranspose(channels * 2, 4, strides=2, padding=1, use_bias=False), nn.BatchNorm())
    net.add(nn.Activation("relu"))
    net.add(nn.Conv2DTranspose(1, 4, strides=2, padding=1, use_bias=False), nn.Activation("tanh"))
    return net


def discriminator(channels):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(channels * 2, 4, strides=2, padding=1, use_bias=False), nn.LeakyReLU(0.2))
    net.add(nn.Conv2D(channels * 4, 4, strides=2, padding=1, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.2))
    net.add(nn.Conv2D(1, 4, use_bias=False), nn.Flatten())
    return net


class Training:
    def __init__(self, rng, channels=4, latent=6, batch=8, hybridize=True):
        self.rng, self.latent, self.batch = rng, latent, batch
        self.net_g, self.net_d = generator(channels), discriminator(channels)
        for net, x in ((self.net_g, self.noise()), (self.net_d, self.pictures())):
            net.initialize(init.Normal(0.02))
            net(x)
            for name, param in net.collect_params().items():
                if name.endswith("weight"):
                    param.set_data(np.array(rng.normal(0, 0.1, param.shape)))
            if hybridize:
                net.hybridize()
        settings = {"learning_rate": 0.002, "beta1": 0.5}
        self.trainer_g = gluon.Trainer(self.net_g.collect_params(), "adam", settings)
        self.trainer_d = gluon.Trainer(self.net_d.collect_params(), "adam", settings)
        self.loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
        self.real, self.fake = np.ones((batch,)), np.zeros((batch,))

    def noise(self):
        return np.array(self.rng.normal(0, 1, (self.batch, self.latent, 1, 1)))

    def pictures(self):
        """Smooth pictures with values from -1 to 1."""
        rough = self.rng.normal(0, 1, (self.batch, 1, 4, 4))
        return np.array(onp.tanh(onp.kron(rough, onp.ones((4, 4)))))

    def step(self):
        """One step of the discriminator on real and generated pictures, then one of the generator."""
        noise = self.noise()
        fake = self.net_g(noise)
        with autograd.record():
            errors_real = self.loss(self.net_d(self.pictures()), self.real)
            errors_fake = self.loss(self.net_d(fake.detach()), self.fake)
            error_d = errors_real + errors_fake
        error_d.backward()
        self.trainer_d.step(self.batch)
        with autograd.record():
            error_g = self.loss(self.net_d(self.net_g(noise)), self.real)
        error_g.backward()
        self.trainer_g.step(self.batch)
        return error_d.mean(), error_g.mean()


if __name__ == "__main__":
    training = Training(onp.random.RandomState(35))
    for i in range(6):
        loss_d, loss_g = training.step()
        print(f"step {i} discriminator {float(loss_d):.6f} generator {float(loss_g):.6f}")
    print(training.net_g(training.noise()).shape)
