"""Fine-tuning: the body shared from a trained net, the head ten times faster, the first layer frozen."""

import os
import tempfile

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(22)


class Net(nn.HybridBlock):
    def __init__(self, classes, **kwargs):
        super().__init__(**kwargs)
        self.features = nn.HybridSequential()
        self.features.add(nn.Dense(8, activation="relu"), nn.BatchNorm(), nn.Dense(6, activation="relu"))
        self.output = nn.Dense(classes)

    def forward(self, x):
        x = self.features(x)
        return self.output(x)


X = np.array(rng.normal(size=(12, 5)))
y = np.array(rng.randint(0, 3, 12))
pretrained = Net(10)
pretrained.initialize(init.Xavier())
pretrained(X)
for name, param in pretrained.collect_params().items():
    if name.endswith("weight"):
        param.set_data(np.array(rng.normal(0, 0.5, param.shape)))
path = os.path.join(tempfile.mkdtemp(), "body.params")
pretrained.features.save_parameters(path)

finetune_net = Net(3)
finetune_net.features = pretrained.features
finetune_net.output.initialize(init.Constant(0.1))
for param in finetune_net.output.collect_params().values():
    param.lr_mult = 10
frozen = finetune_net.features[0]
for param in frozen.collect_params().values():
    param.grad_req = "null"
old = frozen.weight.data().copy()
finetune_net.hybridize()

loss = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(finetune_net.collect_params(), "sgd", {"learning_rate": 0.01, "wd": 0.001})
for epoch in range(5):
    with autograd.record():
        l = loss(finetune_net(X), y)
    l.backward()
    trainer.step(12)
    print(epoch, l.mean().item())
print("frozen:", (frozen.weight.data() == old).all())
print("head:", finetune_net.output.weight.data()[0])
print("body:", finetune_net.features[2].weight.data()[0])

other = Net(4)
other.features.load_parameters(path)
other.output.initialize(init.Zero())
print(other(X).shape, np.abs(other.features[0].weight.data() - old).max())
body = nn.HybridSequential()
for layer in pretrained.features[:2]:
    body.add(layer)
print(body(X).shape, len(body), [name for name in body.collect_params()])
trainer.set_learning_rate(0.1)
print(trainer.learning_rate, trainer.optimizer.learning_rate)
