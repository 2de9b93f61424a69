# ruff: noqa
"""Ten short programs on sparse arrays, as they are written for MXNet 2 (whose np has none: they are mx.nd's)."""

import os, tempfile
import mxnet as mx, numpy as onp
from mxnet import autograd, gluon, nd

rs = onp.random.RandomState(1)
mx.npx.reset_np()


def show(name, *values):
    print(
        name,
        *[
            onp.round(onp.asarray(v.asnumpy() if hasattr(v, "asnumpy") else v, "float64"), 5).ravel()[:8].tolist()
            for v in values
        ],
    )


# 1: csr from parts, and back
data, indices, indptr = [7.0, 8, 9], [0, 2, 1], [0, 2, 2, 3]
a = nd.sparse.csr_matrix((data, indices, indptr), shape=(3, 4))
print(a.stype, a.shape, a.dtype)
show("csr", a, a.data, a.indices, a.indptr)
# 2: row_sparse from parts
r = nd.sparse.row_sparse_array(([[1.0, 2], [3, 4]], [1, 4]), shape=(6, 2))
show("rsp", r, r.data, r.indices)
print(r.stype, r.tostype("default").stype, r.tostype("default").tostype("row_sparse").indices.asnumpy().tolist())
# 3: casts and slices
d = nd.array([[0, 1, 0], [2, 0, 3], [0, 0, 0], [4, 0, 0]])
c = d.tostype("csr")
show("slice", c[1:3], c[1], c[1:3].indptr)
show("cast", nd.cast_storage(c, "default"), c.astype("float64"))
# 4: dot
w = nd.array(rs.rand(3, 2))
show("dot", nd.sparse.dot(c, w), nd.dot(c, nd.ones((4, 2)), transpose_a=True))
print(nd.dot(c, nd.ones((4, 2)), transpose_a=True).stype)
# 5: arithmetic keeps what it can
print((c * 2).stype, (c + c).stype, (r * 3).stype, nd.sparse.add(r, r).stype, nd.sqrt(r).stype, (c / 2).stype)
show("arith", c * 2, nd.sparse.add(r, r), nd.sqrt(r), nd.sparse.subtract(c, c))
show("sums", nd.sum(c, axis=0), nd.sum(c, axis=1), nd.mean(c, axis=0), nd.norm(c))
# 6: retain and zeros
show("retain", nd.sparse.retain(r, nd.array([4])), nd.sparse.retain(r, nd.array([4])).indices)
z = nd.sparse.zeros("row_sparse", (3, 2))
print(z.stype, z.data.shape, nd.sparse.zeros("csr", (2, 2)).indptr.asnumpy().tolist())
# 7: optimizers' lazy updates
weight = nd.array(onp.ones((6, 2))).tostype("row_sparse")
for name in ("sgd", "adam", "adagrad", "ftrl"):
    opt = mx.optimizer.create(name, learning_rate=0.1)
    wt = nd.array(onp.ones((6, 2)))
    wt = wt.tostype("row_sparse") if name in ("adagrad", "ftrl") else wt
    updater = mx.optimizer.get_updater(opt)
    for _ in range(3):
        updater(0, r, wt)
    show(name, wt.tostype("default")[1:5])
# 8: what a row_sparse gradient of a look-up is
table = nd.array(onp.arange(24).reshape(8, 3) / 10)
table.attach_grad(stype="row_sparse")
for step in range(2):
    with autograd.record():
        loss = (nd.Embedding(nd.array([1, 3, 3]), table, input_dim=8, output_dim=3, sparse_grad=True) ** 2).sum()
    loss.backward()
    print(table.grad.stype, table.grad.indices.asnumpy().tolist())
    show("rows", loss, table.grad.data)
    mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=0.1))(0, table.grad, table)
show("table", table[1:4])
# 9: files
path = os.path.join(tempfile.mkdtemp(), "sparse.nd")
nd.save(path, {"c": c, "r": r, "d": d})
back = nd.load(path)
print({k: v.stype for k, v in sorted(back.items())})
show("loaded", back["c"], back["r"])
# 10: a factorization machine's linear part, trained on csr batches
X = (rs.rand(32, 20) * (rs.rand(32, 20) < 0.2)).astype("float32")
y = (X @ onp.arange(20) / 10 > 1).astype("float32")
wl, bl = nd.zeros((20, 1)), nd.zeros((1,))
wl.attach_grad()
bl.attach_grad()


def loss_fn(out, label):
    out = out.reshape((-1,))
    return nd.relu(out) - out * label + nd.log(1 + nd.exp(-nd.abs(out)))


batches = mx.io.NDArrayIter(nd.sparse.csr_matrix(X), y, 8, last_batch_handle="discard")
for epoch in range(2):
    batches.reset()
    total = 0
    for batch in batches:
        with autograd.record():
            out = nd.sparse.dot(batch.data[0], wl) + bl
            loss = loss_fn(out, batch.label[0])
        loss.backward()
        wl -= 0.5 * wl.grad / 8
        bl -= 0.5 * bl.grad / 8
        total += loss.sum().asscalar()
    show("epoch", total, wl, bl)
