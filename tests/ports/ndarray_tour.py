"""Arrays: the tour that opens every tutorial - creation, arithmetic, indexing, saving memory, linear algebra."""

import numpy as onp
from mxnet import autograd, np, npx

npx.set_np()

x = np.arange(12)
print(x, x.shape, x.size, x.dtype)
X = x.reshape(3, 4)
print(np.zeros((2, 3, 4)).sum(), np.ones((2, 3)).mean(), np.array([[2, 1], [1, 2]]))
x, y = np.array([1, 2, 4, 8]), np.array([2, 2, 2, 2])
print(x + y, x - y, x * y, x / y, x**y, np.exp(x))
Y = np.array([[2, 1, 4, 3], [1, 2, 3, 4], [4, 3, 2, 1]])
print(np.concatenate([X, Y], axis=0).shape, np.concatenate([X, Y], axis=1).shape)
print(X == Y, X.sum(), X[-1], X[1:3], sep="\n")
X[1, 2] = 9
X[0:2, :] = 12
print(X)
Z = np.zeros_like(Y)
before = id(Z)
Z[:] = X + Y
print(id(Z) == before)
before = id(X)
X += Y
print(id(X) == before)
A = X.asnumpy()
B = np.array(A)
print(type(A).__name__, type(B).__name__)
a = np.array([3.5])
print(a, a.item(), float(a), int(a))

A = np.arange(20).reshape(5, 4)
print(A.T[0], A.sum(axis=0), A.sum(axis=[0, 1]), A.mean(axis=0), A.cumsum(axis=0)[-1])
print(A / A.sum(axis=1, keepdims=True))
u = np.array([3, -4])
print(np.linalg.norm(u), np.abs(u).sum(), np.linalg.norm(np.ones((4, 9))))
print(np.dot(A, np.ones(4)), np.dot(np.ones((2, 5)), A), np.dot(u, u))
print(A.max(), A.argmax(), A.argmin(axis=1), A.std().item(), A.var(axis=0))
print(A[A > 16], np.where(A > 10, A, -1)[2], A[[0, 2], [1, 3]], A[::2, 1::2])
print(np.stack([u, u]), [part.tolist() for part in np.split(np.arange(6), 3)], np.tile(u, 2), np.flip(u))
print(np.expand_dims(u, 0).shape, u[None].shape, np.squeeze(np.ones((1, 2, 1))).shape)
print(np.broadcast_to(u, (3, 2)), np.clip(A[0], 1, 2), A[0].clip(1, 2), np.sort(u), np.argsort(u))
print(np.linspace(0, 1, 5), np.eye(2), np.full((2,), 7), np.meshgrid(np.arange(2), np.arange(3))[0].shape)
print(npx.pick(A, np.array([0, 1, 2, 3, 0])), npx.topk(A, k=2)[0], npx.one_hot(np.array([1, 0]), 3))
print(np.einsum("ij,kj->ik", A[:2], A[:2]), np.unique(np.array([1, 2, 2])), np.prod(np.array([2, 3, 4])))
print(A.tolist()[0], A.astype("int32").dtype, A.astype(bool)[0], len(A), 3 in np.arange(4).tolist())
x = np.arange(4.0)
x.attach_grad()
print(x.grad)
with autograd.record():
    y = 2 * np.dot(x, x)
y.backward()
print(y, x.grad, x.grad == 4 * x)
with autograd.record():
    y = x * x
y.backward(np.array([1.0, 0.5, 0, 2]))
print(x.grad)
with autograd.record():
    z = npx.sigmoid(x)
    (first,) = autograd.grad(z, [x], create_graph=True, retain_graph=True)
first.backward()
print(x.grad, autograd.is_recording())
print(
    np.random.normal(0, 1, size=(3, 4)).shape, np.random.uniform(size=(2,)).dtype, np.random.randint(0, 5, (3,)).shape
)
print(onp.asarray(A).sum(), (A > 3).sum(), -A[0], abs(u), 1 / u, 2 - u, 2**u, u @ u, A % 3 == 0)
