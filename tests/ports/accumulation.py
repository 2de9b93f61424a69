"""Gradient accumulation with grad_req='add', clipping by global norm and by value, learning-rate schedulers."""

import numpy as onp
from mxnet import autograd, gluon, lr_scheduler, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(23)
X = np.array(rng.normal(size=(32, 6)))
y = np.array(rng.normal(size=(32, 1)))


def build():
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="tanh", in_units=6), nn.Dense(1, in_units=8))
    net.initialize()
    weights = onp.random.RandomState(1)
    for param in net.collect_params().values():
        param.set_data(np.array(weights.normal(0, 0.4, param.shape)))
    return net


loss_fn = gluon.loss.L2Loss()
net = build()
net.hybridize()
net.setattr("grad_req", "add")
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2}, update_on_kvstore=False)
accumulate = 4
for step in range(8):
    i = (step % accumulate) * 8
    with autograd.record():
        loss = loss_fn(net(X[i : i + 8]), y[i : i + 8])
    loss.backward()
    if (step + 1) % accumulate == 0:
        trainer.step(8 * accumulate)
        net.zero_grad()
        print("accumulated", float(loss_fn(net(X), y).mean()))

net = build()
params = [p for p in net.collect_params().values() if p.grad_req != "null"]
trainer = gluon.Trainer(net.collect_params(), "nag", {"learning_rate": 0.1, "momentum": 0.9}, update_on_kvstore=False)
for _ in range(3):
    with autograd.record():
        loss = loss_fn(net(X), y).sum()
    loss.backward()
    trainer.allreduce_grads()
    norm = gluon.utils.clip_global_norm([p.grad() for p in params], 1.0)
    trainer.update(1)
    print("norm", float(norm), float(loss))

net = build()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "clip_gradient": 0.05})
for _ in range(3):
    with autograd.record():
        loss = loss_fn(net(X), y).mean()
    loss.backward()
    trainer.step(1)
    print("clipped", loss)

schedulers = {
    "factor": lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0, stop_factor_lr=1e-2),
    "multi": lr_scheduler.MultiFactorScheduler(step=[3, 6], factor=0.1, base_lr=0.5, warmup_steps=2),
    "poly": lr_scheduler.PolyScheduler(max_update=8, base_lr=0.3, pwr=2),
    "cosine": lr_scheduler.CosineScheduler(
        max_update=8, base_lr=0.3, final_lr=0.01, warmup_steps=3, warmup_begin_lr=0.1
    ),
}
for name, scheduler in schedulers.items():
    print(name, [round(scheduler(t), 5) for t in range(1, 10)])


class SquareRootScheduler:
    def __init__(self, lr=0.1):
        self.lr = lr

    def __call__(self, num_update):
        return self.lr * pow(num_update + 1.0, -0.5)


for scheduler in (SquareRootScheduler(0.3), lr_scheduler.CosineScheduler(6, base_lr=0.3)):
    net = build()
    params = {"learning_rate": 0.3}
    if isinstance(scheduler, lr_scheduler.LRScheduler):
        params["lr_scheduler"] = scheduler
    trainer = gluon.Trainer(net.collect_params(), "sgd", params)
    for epoch in range(6):
        if not isinstance(scheduler, lr_scheduler.LRScheduler):
            trainer.set_learning_rate(scheduler(epoch))
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(32)
        print("scheduled", round(trainer.learning_rate, 6), loss.mean().item())
