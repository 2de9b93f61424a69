# ruff: noqa
"""Ten short programs on sparse arrays, as tutorials of MXNet 1 write them."""

import mxnet as mx, numpy as np
from mxnet import autograd, gluon, nd

rs = np.random.RandomState(0)


def show(name, *values):
    print(
        name,
        *[
            np.round(np.asarray(v.asnumpy() if hasattr(v, "asnumpy") else v, "float64"), 5).ravel()[:8].tolist()
            for v in values
        ],
    )


# 1: csr from parts, and from a dense array
a = nd.sparse.csr_matrix(([7, 8, 9], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4))
b = nd.sparse.csr_matrix(np.array([[0, 1, 0], [2, 0, 3]]))
print(a.stype, a.shape, b.dtype)
show("csr", a, a.data, a.indices, a.indptr, b.data)
# 2: row_sparse from parts, and storage casts
r = nd.sparse.row_sparse_array((np.arange(4.0, dtype="float32").reshape(2, 2), [1, 4]), shape=(6, 2))
d = r.tostype("default")
print(r.stype, d.stype, d.tostype("csr").stype, nd.cast_storage(d, "row_sparse").stype)
show("rsp", r, r.data, r.indices, nd.cast_storage(d, "row_sparse").indices)
# 3: slices, copies and assignments
show("slice", a[1:3], a[0], a.copy())
z = nd.sparse.zeros("row_sparse", (6, 2))
r.copyto(z)
z[:] = r * 2
show("copied", z, z.indices)
# 4: arithmetic and what it makes of storage
w = nd.ones((4, 2))
for e in (
    a * 2,
    a + a,
    nd.abs(a),
    nd.sparse.dot(a, w),
    nd.dot(a, nd.array(rs.uniform(size=(3, 2))), transpose_a=True),
    nd.sparse.square(a),
    nd.sparse.add(r, r),
    nd.sparse.elemwise_mul(r, r),
    a * a,
    a / 2,
):
    print(e.stype, end=" ")
    show("is", e)
# 5: retain
show("retain", nd.sparse.retain(r, nd.array([4])))
# 6: gradient of an embedding by rows
emb = gluon.nn.Embedding(6, 2, sparse_grad=True, weight_initializer=mx.init.One())
emb.initialize()
tr = gluon.Trainer(emb.collect_params(), "adam", {"learning_rate": 0.1, "lazy_update": True}, kvstore=None)
for idx in ([1, 2], [2, 5], [2, 2]):
    with autograd.record():
        loss = (emb(nd.array(idx)) * nd.array([[1, 2], [3, 4]])).sum()
    loss.backward()
    g = emb.weight.grad()
    print(g.stype)
    show("grad", g.indices, g.data)
    tr.step(1)
show("weight", emb.weight.data(), *emb.weight.data().asnumpy()[2:])
# 7: an optimizer by hand on a row_sparse gradient
weight = nd.ones((6, 2)).tostype("row_sparse")
grad = nd.sparse.row_sparse_array(([[1, 1], [2, 2]], [0, 3]), shape=(6, 2))
mom = nd.zeros((6, 2)).tostype("row_sparse")
nd.sparse.sgd_mom_update(weight, grad, mom, out=weight, lr=0.5, momentum=0.9, wd=0.0)
show("updated", weight, mom)
opt = mx.optimizer.create("ftrl", learning_rate=0.1)

mx.optimizer.get_updater(opt)(0, grad, weight)
show("ftrl", weight)
# 8: linear regression on csr with attach_grad
x = nd.array(rs.uniform(size=(8, 5)) * (rs.uniform(size=(8, 5)) > 0.5)).tostype("csr")
wt, y = nd.zeros((5, 1)), nd.array(rs.uniform(size=(8, 1)))
wt.attach_grad(stype="row_sparse")
for step in range(3):
    with autograd.record():
        l = ((nd.sparse.dot(x, wt) - y) ** 2).mean()
    l.backward()
    wt -= 0.5 * wt.grad.tostype("default")
    show("loss", l)
# 9: kvstore with row_sparse_pull
kv = mx.kv.create("local")
kv.init("e", nd.ones((4, 2)).tostype("row_sparse"))
kv.push("e", nd.sparse.row_sparse_array(([[5, 6]], [2]), shape=(4, 2)))
out = nd.sparse.zeros("row_sparse", (4, 2))
kv.row_sparse_pull("e", out=out, row_ids=nd.array([1, 2]))
show("pulled", out, out.indices)
# 10: a symbol of csr data with Module
data, label = mx.sym.var("data", stype="csr"), mx.sym.var("softmax_label")
wv, bv = mx.sym.var("weight", shape=(9, 2), stype="row_sparse"), mx.sym.var("bias", shape=(2,))
pred = mx.sym.SoftmaxOutput(mx.sym.broadcast_add(mx.sym.sparse.dot(data, wv), bv), label, name="softmax")
feats = rs.uniform(size=(12, 9)) * (rs.uniform(size=(12, 9)) > 0.6)
it = mx.io.NDArrayIter(nd.array(feats).tostype("csr"), (feats.sum(1) > 1.5) * 1.0, 4, last_batch_handle="discard")
mod = mx.mod.Module(pred)
mod.bind(it.provide_data, it.provide_label)
mod.init_params(mx.init.Zero())
mod.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
metric = mx.metric.create(["nll_loss"])
for epoch in range(3):
    it.reset(), metric.reset()
    for batch in it:
        mod.forward_backward(batch)
        mod.update()
        mod.update_metric(metric, batch.label)
    print(metric.get()[0], np.round(metric.get()[1], 5))
show("trained", *[mod.get_params()[0][k] for k in ("weight", "bias")])
# 11: tables of embeddings in a Module: the rows of a batch are what moves
for stype in ("row_sparse", "default"):
    for name, more in (("sgd", {"momentum": 0.9}), ("adam", {})):
        users = mx.sym.Embedding(
            mx.sym.Variable("user"),
            weight=mx.sym.Variable("user_weight", stype=stype),
            sparse_grad=True,
            input_dim=6,
            output_dim=2,
            name="users",
        )
        items = mx.sym.Embedding(mx.sym.Variable("item"), input_dim=5, output_dim=2, name="items")
        out = mx.sym.LinearRegressionOutput(mx.sym.sum(users * items, axis=1), mx.sym.Variable("score"))
        mod = mx.mod.Module(out, data_names=["user", "item"], label_names=["score"])
        mod.bind([("user", (2,)), ("item", (2,))], [("score", (2,))])
        mod.init_params(mx.init.One())
        mod.init_optimizer(optimizer=name, optimizer_params={"learning_rate": 0.1, **more})
        for x in ([0, 1], [1, 2], [3, 3]):
            batch = mx.io.DataBatch([nd.array(x), nd.array(x)], [nd.array([0, 1])])
            mod.prepare(batch, sparse_row_id_fn=lambda b: {"user_weight": b.data[0].astype("int64")})
            mod.forward(batch, is_train=True)
            mod.backward()
            mod.update()
        args = mod.get_params()[0]
        mod.set_params(*mod.get_params())
        print(name, args["user_weight"].stype, args["items_weight"].stype)
        show("moved", args["user_weight"], args["user_weight"].asnumpy()[3:], args["items_weight"])
