# ruff: noqa
"""A small residual net on pictures over several devices, as GluonCV's scripts for CIFAR-10 train."""

import numpy as onp
from mxnet import autograd, gluon, init, lr_scheduler, np, npx
from mxnet.gluon import nn

npx.set_np()
draw = onp.random.RandomState(7)
PICTURES = draw.normal(size=(64, 3, 8, 8)).astype("float32")
KINDS = (PICTURES[:, 0].mean(axis=(1, 2)) > 0).astype("int32") + (PICTURES[:, 1].mean(axis=(1, 2)) > 0).astype("int32")
PICTURES += KINDS.reshape(-1, 1, 1, 1) * 0.5
SHARE = 8  # pictures a device and batch where there are two


def group_norm():
    return nn.GroupNorm(num_groups=2)


class Residual(gluon.HybridBlock):
    def __init__(self, channels, stride, norm):
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(nn.Conv2D(channels, 3, stride, 1, use_bias=False), norm(), nn.Activation("relu"))
        self.body.add(nn.Conv2D(channels, 3, 1, 1, use_bias=False), norm())
        self.shortcut = nn.Conv2D(channels, 1, stride, use_bias=False) if stride > 1 else None

    def forward(self, x):
        kept = x if self.shortcut is None else self.shortcut(x)
        return npx.relu(self.body(x) + kept)


def build(devices, norm):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, padding=1), Residual(4, 1, norm), Residual(8, 2, norm), nn.GlobalAvgPool2D(), nn.Dense(3))
    net.initialize(init.Xavier(magnitude=2), ctx=devices)
    net(np.zeros((1, 3, 8, 8), ctx=devices[0]))
    values = onp.random.RandomState(11)
    for name, p in sorted(net.collect_params().items()):
        if name.endswith("weight"):
            p.set_data(np.array(values.normal(scale=0.25, size=p.shape)))
    net.hybridize()
    return net


def loaders(size):
    data = gluon.data.ArrayDataset(PICTURES, KINDS)
    return [gluon.data.DataLoader(data, batch_size=size, shuffle=False, last_batch="discard") for _ in range(2)]


def evaluate(net, loader, devices):
    metric = gluon.metric.Accuracy()
    for batch in loader:
        data, label = (gluon.utils.split_and_load(part, ctx_list=devices, batch_axis=0) for part in batch)
        metric.update(label, [net(x) for x in data])
    return metric.get()


def train(devices, epochs=3, norm=group_norm, tell=print):
    """The losses of all steps, and the net."""
    size, losses = 2 * SHARE, []
    net = build(devices, norm)
    training, validation = loaders(size)
    rate = lr_scheduler.MultiFactorScheduler(step=[4, 8], factor=0.5, base_lr=0.2, warmup_steps=2, warmup_begin_lr=0.1)
    settings = {"learning_rate": 0.2, "wd": 1e-4, "momentum": 0.9, "lr_scheduler": rate}
    trainer = gluon.Trainer(net.collect_params(), "nag", settings)
    loss_of, metric = gluon.loss.SoftmaxCrossEntropyLoss(), gluon.metric.Accuracy()
    for epoch in range(epochs):
        metric.reset()
        for batch in training:
            data = gluon.utils.split_and_load(batch[0], ctx_list=devices, batch_axis=0)
            label = gluon.utils.split_and_load(batch[1], ctx_list=devices, batch_axis=0)
            with autograd.record():
                output = [net(x) for x in data]
                loss = [loss_of(yhat, y) for yhat, y in zip(output, label)]
            for l in loss:
                l.backward()
            trainer.step(size)
            losses.append(sum(float(l.sum()) for l in loss) / size)
            metric.update(label, output)
        name, found = metric.get()
        tell("epoch %d rate %.4f loss %.4f train %s %.3f" % (epoch, trainer.learning_rate, losses[-1], name, found))
        tell("validation %s %.3f" % evaluate(net, validation, devices))
    return losses, net


if __name__ == "__main__":
    one, _ = train([npx.cpu(0)])
    two, _ = train([npx.cpu(0), npx.cpu(1)])
    print("the same", bool(onp.allclose(one, two, rtol=0, atol=1e-5)))
