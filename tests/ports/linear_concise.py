"""Linear regression with Gluon's own parts."""

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import loss as gloss
from mxnet.gluon import nn

npx.set_np()

rng = onp.random.RandomState(2)
true_w, true_b = np.array([2, -3.4]), 4.2
features = np.array(rng.normal(size=(120, 2)))
labels = features.dot(true_w) + true_b


def load_array(data_arrays, batch_size, is_train=True):
    dataset = gluon.data.ArrayDataset(*data_arrays)
    return gluon.data.DataLoader(dataset, batch_size, shuffle=is_train)


data_iter = load_array((features, labels), 10, is_train=False)
X, y = next(iter(data_iter))
print(X.shape, y.shape, X.dtype)

net = nn.Sequential()
net.add(nn.Dense(1))
net.initialize(init.Normal(sigma=0.01))
loss = gloss.L2Loss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.03})
net(X)
net[0].weight.set_data(np.array([[0.01, -0.02]]))

num_epochs = 6
for epoch in range(1, num_epochs + 1):
    for X, y in data_iter:
        with autograd.record():
            l = loss(net(X), y)
        l.backward()
        trainer.step(10)
    l = loss(net(features), labels)
    print("epoch %d, loss: %f" % (epoch, l.mean().asnumpy()))

w = net[0].weight.data()
print(f"error in estimating w: {true_w - w.reshape(true_w.shape)}")
b = net[0].bias.data()
print(f"error in estimating b: {true_b - b}")
print("gradient:", net[0].weight.grad().shape, net[0].bias.grad().shape)
print(trainer.learning_rate)
