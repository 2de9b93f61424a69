"""Evaluation loops: many metrics over a validation set, a composite, a custom one, progress lines."""

import numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import metric as mtr
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(24)
data = rng.normal(size=(50, 4)).astype(onp.float32)
label = rng.randint(0, 6, 50).astype(onp.int32)
loader = gluon.data.DataLoader(gluon.data.ArrayDataset(data, label), batch_size=16, num_workers=0)

net = nn.HybridSequential()
net.add(nn.Dense(10, activation="relu", in_units=4), nn.Dense(6, in_units=10))
net.initialize()
net.hybridize()
for param in net.collect_params().values():
    param.set_data(np.array(rng.normal(0, 0.6, param.shape)))
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()


def test(net, loader):
    top1, top3, ce = mtr.Accuracy(), mtr.TopKAccuracy(top_k=3), mtr.CrossEntropy()
    perplexity, val_loss = mtr.Perplexity(ignore_label=None), mtr.Loss(name="val_loss")
    for X, y in loader:
        out = net(X)
        probs = npx.softmax(out)
        top1.update(y, out)
        top3.update([y], [probs])
        ce.update(y, probs)
        perplexity.update([y], [probs])
        val_loss.update(0, loss_fn(out, y))
    return [m.get() for m in (top1, top3, ce, perplexity, val_loss)]


for name, value in test(net, loader):
    print(f"{name}: {value:.6f}")

composite = mtr.CompositeEvalMetric()
composite.add(mtr.Accuracy())
composite.add("f1")
composite.add(mtr.create("mcc"))
scores = np.array(rng.uniform(size=(40, 2)))
binary = np.array(rng.randint(0, 2, 40))
composite.update([binary], [scores])
print(composite.get_name_value()[:2])
print(mtr.F1().get())

custom = mtr.CustomMetric(lambda y, p: float((y - p.argmax(axis=1)).mean()), name="bias")
custom.update(binary, scores)
print(custom.get())
mae, rmse = mtr.MAE(), mtr.RMSE()
for m in (mae, rmse):
    m.update(np.array([1.0, 2, 3]), np.array([1.5, 2, 1]))
    m.update(np.array([0.0]), np.array([4.0]))
print(mae.get(), rmse.get(), mae)
pearson = mtr.PearsonCorrelation()
pearson.update(np.array([[1.0], [2], [3]]), np.array([[0.1], [0.4], [0.3]]))
print(pearson.get())

trainer = gluon.Trainer(net.collect_params(), "rmsprop", {"learning_rate": 0.01})
best = 0.0
for epoch in range(3):
    train_metric = mtr.create(["acc", "ce"])
    btic = 0
    for i, batch in enumerate(loader):
        X, y = batch[0], batch[1]
        with autograd.record():
            out = net(X)
            l = loss_fn(out, y)
        autograd.backward([l])
        trainer.step(batch[0].shape[0])
        train_metric.update([y], [npx.softmax(out)])
        btic += 1
    names, values = train_metric.get()
    print(epoch, btic, names, [round(float(v), 4) for v in values])
    acc = test(net, loader)[0][1]
    best = max(best, acc)
print("best", best)
