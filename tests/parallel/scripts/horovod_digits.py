# ruff: noqa
"""Digits by Gluon and Horovod, as Horovod's example for MXNet trains MNIST; the digits are drawn here."""

import argparse

import horovod.mxnet as hvd
import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=24, help="of all processes")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--momentum", type=float, default=0.9)
args = parser.parse_args()

hvd.init()
context = mx.cpu(hvd.local_rank())
share = args.batch_size // hvd.size()


def digits():
    draw = onp.random.RandomState(4)
    labels = draw.randint(0, 10, 120).astype("float32")
    places = draw.rand(10, 1, 16, 16) > 0.7
    return (places[labels.astype(int)] + 0.3 * draw.randn(120, 1, 16, 16)).astype("float32"), labels


def iterator(images, labels):
    """The batches of this process: its rows of each batch of all."""
    part = onp.arange(len(labels)).reshape(-1, hvd.size(), share)[:, hvd.rank()].reshape(-1)
    return mx.io.NDArrayIter(images[part], labels[part], batch_size=share, last_batch_handle="discard")


def conv_net():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(channels=6, kernel_size=5, activation="relu"))
    net.add(gluon.nn.MaxPool2D(pool_size=2, strides=2))
    net.add(gluon.nn.Conv2D(channels=10, kernel_size=3, activation="relu"))
    net.add(gluon.nn.MaxPool2D(pool_size=2, strides=2))
    net.add(gluon.nn.Flatten())
    net.add(gluon.nn.Dense(32, activation="relu"))
    net.add(gluon.nn.Dense(10))
    return net


mx.random.seed(42 + hvd.rank())  # each process begins with other weights: those of the first are to count
train_data = iterator(*digits())
model = conv_net()
model.hybridize()
model.initialize(mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2), ctx=context)
model.infer_shape(mx.np.zeros((1, 1, 16, 16)))
params = model.collect_params()
hvd.broadcast_parameters(params, root_rank=0)
sgd = mx.optimizer.create("sgd", learning_rate=args.lr, momentum=args.momentum, wd=1e-4)
trainer = hvd.DistributedTrainer(params, sgd)
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
metric = gluon.metric.Accuracy()

step = 0
for epoch in range(args.epochs):
    train_data.reset()
    metric.reset()
    for batch in train_data:
        data, label = batch.data[0].as_in_context(context), batch.label[0].as_in_context(context)
        with autograd.record():
            output = model(data)
            loss = loss_fn(output, label)
        loss.backward()
        trainer.step(share)
        metric.update([label], [output])
        mean = hvd.allreduce(loss.mean().reshape(1), average=True)
        print(f"step {step}: {float(mean.asnumpy()[0]):.7f}", flush=True)
        step += 1
    name, found = metric.get()
    print(f"epoch {epoch} {name} {found:.4f}", flush=True)
