"""What is computed with sparse arrays, by MXNet (make.py) and by gluonx (tests/sparse/test_against_oracle.py)."""

import numpy as np

DENSE = np.array([[0, 1, 0, -2], [0, 0, 0, 0], [3, 0, 0.5, 0]], "float32")
OTHER = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [2, -1, 0, 4]], "float32")
FULL = np.arange(1, 13, dtype="float32").reshape(3, 4)
RIGHT = np.arange(8, dtype="float32").reshape(4, 2) - 3
LEFT = np.arange(6, dtype="float32").reshape(3, 2) - 2
UNARY = [
    "abs",
    "arcsinh",
    "arctan",
    "cbrt",
    "ceil",
    "degrees",
    "expm1",
    "fix",
    "floor",
    "negative",
    "radians",
    "relu",
    "rint",
    "round",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "cos",
    "exp",
    "sigmoid",
    "stop_gradient",
    "make_loss",
    "zeros_like",
]


def inputs(nd):
    """Arrays by letter: c and k are csr, r and s row_sparse, d dense, w and v dense factors."""
    c, k, r, s = nd.array(DENSE), nd.array(OTHER), nd.array(DENSE), nd.array(OTHER)
    return {
        "c": c.tostype("csr"), "k": k.tostype("csr"), "r": r.tostype("row_sparse"), "s": s.tostype("row_sparse"),
        "d": nd.array(FULL), "w": nd.array(RIGHT), "v": nd.array(LEFT), "q": nd.array(RIGHT).tostype("row_sparse"),
    }  # fmt: skip


def expressions():
    """Text of an expression over the arrays of `inputs`, nd and sp (nd.sparse)."""
    found = [f"sp.{name}({letter})" for name in UNARY for letter in "cr" if (name, letter) != ("sqrt", "-")]
    for sign in "+-*/":
        found += [f"{x} {sign} {y}" for x in "cr" for y in ("k", "s", "d", "2.0") if (x, sign, y) != ("r", "/", "s")]
        found += [f"d {sign} {x}" for x in "cr" if sign != "/"]
    found += ["2.0 * c", "2.0 - r", "-c", "c > 1", "abs(r)", "sp.add(c, k)", "sp.subtract(r, s)", "sp.multiply(c, d)"]
    found += ["sp.divide(c, d)", "sp.elemwise_add(r, s)", "sp.elemwise_mul(c, k)", "sp.elemwise_sub(c, k)"]
    found += ["nd.dot(c, w)", "nd.dot(c, v, transpose_a=True)", "nd.dot(c, q)", "nd.dot(c, k, transpose_b=True)"]
    found += ["nd.dot(c, v, transpose_a=True, forward_stype='default')", "nd.dot(v, c, transpose_a=True)"]
    found += [
        "nd.dot(d, k, transpose_b=True)",
        "nd.dot(nd.ones((2, 3)), c)",
        "nd.dot(nd.ones((2, 4)), c, transpose_b=True)",
    ]
    found += ["nd.dot(nd.ones((2, 3)), c, forward_stype='default')", "nd.dot(r, w)", "nd.dot(c, nd.ones((4,)))"]
    found += ["sp.sum(c)", "sp.sum(c, axis=0)", "sp.sum(c, axis=1)", "sp.mean(c)", "sp.mean(c, axis=0)", "sp.norm(c)"]
    found += [
        "sp.sum(r, axis=1)",
        "sp.norm(r)",
        "sp.slice(c, begin=(0, 1), end=(2, 4))",
        "c[1:3]",
        "c[2]",
        "c[-2:]",
        "r[:]",
    ]
    found += ["sp.concat(c, k, dim=0)", "sp.add_n(r, s)", "sp.add_n(r, s, r)", "sp.retain(r, nd.array([1, 2]))"]
    found += ["r.retain(nd.array([0]))", "c.tostype('default')", "d.tostype('csr')", "d.tostype('row_sparse')"]
    found += ["sp.zeros('csr', (2, 3))", "nd.zeros((2, 3), stype='row_sparse')", "sp.cast_storage(d, stype='csr')"]
    found += ["sp.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 3))", "sp.csr_matrix([[1, 0], [0, 2]])"]
    found += ["sp.csr_matrix(([1, 2], ([1, 0], [2, 1])))", "sp.row_sparse_array(([[1, 2]], [1]), shape=(4, 2))"]
    found += ["sp.row_sparse_array(([[1, 2], [3, 4]], [1, 4]))", "sp.array(c)", "nd.array(r)", "c.astype('float64')"]
    found += [
        "sp.clip(c, -1, 1)",
        "sp.clip(r, 0, 2)",
        "c.copy()",
        "c * nd.ones((1, 4))",
        "sp.broadcast_mul(c, nd.ones((3, 1)))",
    ]
    return found


OPTIMIZERS = {
    "sgd": ("sgd", {"learning_rate": 0.5, "wd": 0.01}),
    "sgd_lazy": ("sgd", {"learning_rate": 0.5, "wd": 0.01, "lazy_update": True}),
    "momentum": ("sgd", {"learning_rate": 0.5, "momentum": 0.9}),
    "momentum_lazy": ("sgd", {"learning_rate": 0.5, "momentum": 0.9, "wd": 0.01, "lazy_update": True}),
    "adam": ("adam", {"learning_rate": 0.1}),
    "adam_lazy": ("adam", {"learning_rate": 0.1, "wd": 0.01, "lazy_update": True}),
    "adagrad": ("adagrad", {"learning_rate": 0.5}),
    "groupadagrad": ("groupadagrad", {"learning_rate": 0.5}),
    "ftrl": ("ftrl", {"learning_rate": 0.5, "wd": 0.01}),
}
ROWS = [[1, 3, 3], [0, 5, 1], [7, 7, 7], [3, 2, 0]]
TABLE = (np.arange(32).reshape(8, 4) % 7 / 7).astype("float32")


def trained(mx, name):
    """The table after each of some steps, on an embedding with a sparse gradient; Gluon 2.0 itself refuses those."""
    kind, settings = OPTIMIZERS[name]
    table = mx.nd.array(TABLE)
    table.attach_grad(stype="row_sparse")
    update = mx.optimizer.get_updater(mx.optimizer.create(kind, rescale_grad=1 / 3, **settings))
    found = []
    for k, rows in enumerate(ROWS):
        with mx.autograd.record():
            picked = mx.nd.Embedding(mx.nd.array(rows), table, input_dim=8, output_dim=4, sparse_grad=True)
            out = (picked * (k + 1)) ** 2
        out.backward()
        assert table.grad.stype == "row_sparse"
        update(0, table.grad, table)
        found.append(table.asnumpy().copy())
    return np.stack(found)


def trained_by_rows(mx, name):
    """The same by gradients that are given, on a table of row_sparse storage: what Ftrl needs to update lazily."""
    kind, settings = OPTIMIZERS[name]
    table = mx.nd.array(TABLE).tostype("row_sparse")
    update = mx.optimizer.get_updater(mx.optimizer.create(kind, rescale_grad=1 / 3, **settings))
    found = []
    for k, rows in enumerate(ROWS):
        numbers = sorted(set(rows))
        values = np.arange(4 * len(numbers), dtype="float32").reshape(-1, 4) / (k + 2) - 1
        update(0, mx.nd.sparse.row_sparse_array((values, numbers), shape=(8, 4)), table)
        found.append(table.asnumpy().copy())
    return np.stack(found)
