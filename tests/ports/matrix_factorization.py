"""Ratings by matrix factorization: user and item embeddings and biases, RMSE over a test set."""

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(20)


class MF(nn.Block):
    def __init__(self, num_factors, num_users, num_items, **kwargs):
        super().__init__(**kwargs)
        self.P = nn.Embedding(input_dim=num_users, output_dim=num_factors)
        self.Q = nn.Embedding(input_dim=num_items, output_dim=num_factors)
        self.user_bias = nn.Embedding(num_users, 1)
        self.item_bias = nn.Embedding(num_items, 1)

    def forward(self, user_id, item_id):
        P_u = self.P(user_id)
        Q_i = self.Q(item_id)
        b_u = self.user_bias(user_id)
        b_i = self.item_bias(item_id)
        outputs = (P_u * Q_i).sum(axis=1) + np.squeeze(b_u) + np.squeeze(b_i)
        return outputs.flatten()


num_users, num_items = 10, 12
users, items = rng.randint(0, num_users, 90), rng.randint(0, num_items, 90)
ratings = onp.clip(rng.normal(3, 1, 90), 1, 5).astype("float32")
train_set = gluon.data.ArrayDataset(users[:70], items[:70], ratings[:70])
test_set = gluon.data.ArrayDataset(users[70:], items[70:], ratings[70:])
train_iter = gluon.data.DataLoader(train_set, shuffle=False, last_batch="rollover", batch_size=16)
test_iter = gluon.data.DataLoader(test_set, shuffle=False, last_batch="keep", batch_size=16)


def evaluator(net, test_iter, ctx):
    rmse = gluon.metric.RMSE()
    rmse_list = []
    for idx, (users, items, ratings) in enumerate(test_iter):
        u = gluon.utils.split_and_load(users, ctx, even_split=False)
        i = gluon.utils.split_and_load(items, ctx, even_split=False)
        r_ui = gluon.utils.split_and_load(ratings, ctx, even_split=False)
        r_hat = [net(u, i) for u, i in zip(u, i)]
        rmse.update(labels=r_ui, preds=r_hat)
        rmse_list.append(rmse.get()[1])
    return float(np.mean(np.array(rmse_list)))


ctx = [mx.cpu()]
net = MF(5, num_users, num_items)
net.initialize(ctx=ctx, force_reinit=True, init=mx.init.Normal(0.01))
for param in net.collect_params().values():
    param.set_data(np.array(rng.normal(0, 0.1, param.shape)))
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02, "wd": 1e-5})
loss = gluon.loss.L2Loss()
for epoch in range(4):
    total = 0.0
    for values in train_iter:
        input_data = [gluon.utils.split_and_load(v, ctx) for v in values]
        train_feat = input_data[:-1]
        train_label = input_data[-1]
        with autograd.record():
            preds = [net(*t) for t in zip(*train_feat)]
            ls = [loss(p, s) for p, s in zip(preds, train_label)]
        [l.backward() for l in ls]
        total += sum([l.asnumpy() for l in ls]).mean() / len(ctx)
        trainer.step(values[0].shape[0])
    print(f"epoch {epoch} train loss {total:.5f} test RMSE {evaluator(net, test_iter, ctx):.5f}")
scores = net(np.array([3], dtype="int"), np.array([4], dtype="int"))
print(scores.shape)
