"""Gradients of integers, as MXNet's own tests ask for them: computed in the integers' type, operator by operator."""

from mxnet import autograd, nd


def show(label, *arrays):
    print(label, [(str(a.dtype), a.asnumpy().tolist()) for a in arrays])


def gradients(label, function, *values, dtype="int32", head=None):
    arrays = [nd.array(v, dtype=dtype) for v in values]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        out = function(*arrays)
    out.backward(head)
    show(label, out, *[array.grad for array in arrays])


one, two, square = [1, 2, 3], [2, 3, 4], [[1, -2, 3], [4, 5, -6]]
for dtype in ("int32", "int64", "int8", "uint8"):
    gradients("x*x", lambda x: x * x, one, dtype=dtype)
    gradients("x*y", lambda x, y: x * y, one, two, dtype=dtype)
    gradients("x*2.5", lambda x: x * 2.5, one, dtype=dtype)
    gradients("x/2", lambda x: x / 2, one, dtype=dtype)
    gradients("sum", lambda x: x.sum(), one, dtype=dtype)
    gradients("exp", lambda x: nd.exp(x), one, dtype=dtype)
    gradients("maximum", lambda x, y: nd.maximum(x, y), one, two, dtype=dtype)
    gradients("cast", lambda x: x.astype("float32") * 2.7, one, dtype=dtype)
    gradients("slice", lambda x: x[1:] * 3, one, dtype=dtype)
    gradients("mean", lambda x: nd.mean(x), one, dtype=dtype)
gradients("chain", lambda x: 3 * nd.square(x) - nd.abs(x), square)
gradients("slopes", lambda x: 10 * nd.cos(x), one)
gradients("root", lambda x: 4 * nd.sqrt(x), [1, 4, 9])
gradients("head", lambda x: x * x, one, head=nd.array([1, 10, 100], dtype="int32"))
gradients("transpose", lambda x: nd.transpose(x) * 2, square)
gradients("concat", lambda x, y: nd.concat(x, y, dim=0) * 5, one, two)
gradients("stack", lambda x, y: nd.stack(x, y, axis=1), one, two)
gradients("tile", lambda x: nd.tile(x, reps=(2, 2)), one)
gradients("repeat", lambda x: nd.repeat(x, repeats=3), one)
gradients("flip", lambda x: nd.flip(x, axis=1) * 2, square)
gradients("clip", lambda x: nd.clip(x, 0, 4), square)
gradients("sum of axis", lambda x: nd.sum(x, axis=1), square)
gradients("max", lambda x: nd.max(x, axis=1), square)
gradients("broadcast", lambda x, y: nd.broadcast_mul(x, y), square, [[1, 2, 3]])
gradients("where", lambda x, y: nd.where(nd.array([1, 0, 1]), x, y), one, two)
gradients("take", lambda x: nd.take(x, nd.array([0, 2, 2])), one)
gradients("expand", lambda x: nd.expand_dims(x, 0).reshape((3, 1)), one)
gradients("relu", lambda x: nd.relu(x) * 2, square)

# what a cast cuts off hands its gradient on once integers move
x = nd.array([1.5, 2.5])
x.attach_grad()
n = nd.array([1, 2], dtype="int32")
n.attach_grad(grad_req="add")
for _ in range(2):
    with autograd.record():
        y = (n.astype("float32") * x).astype("int32") * 2
        z = n * n
    autograd.backward([y, z])
show("added", n.grad, x.grad)
