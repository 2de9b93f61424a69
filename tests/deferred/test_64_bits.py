"""64-bit types without a switch for the process: values, gradients, every mode, files, and what stays 32 bits.

JAX's own switch is off in the whole of this file, which the fixture below holds every test to.
"""

import copy
import importlib.util
import pathlib
import pickle
import threading

import jax
import jax.numpy as jnp
import numpy as onp
import pytest
from np import test_np

import gluonx
from gluonx import autograd, engine, metric, nd, nn, np, npx, ops, rnn
from gluonx.common import policy
from gluonx.compat import operator as legacy_operator
from gluonx.compat import util
from gluonx.data import ArrayDataset, DataLoader
from gluonx.deferred import invoke
from gluonx.errors import ShapeError
from gluonx.export.stablehlo import load_artifact
from gluonx.loss import L2Loss, SoftmaxCrossEntropyLoss
from gluonx.np import table
from lib.sweep import churn  # noqa: F401 - a fixture
from ops.test_ops_gradients import SMOOTH

BIG = 1_700_000_000_000
MODES = ("eager", "bulk", "naive", "recorded")


@pytest.fixture(autouse=True)
def the_switch_is_left_alone():
    assert not jax.config.jax_enable_x64
    yield
    assert not jax.config.jax_enable_x64 and jnp.ones(3).dtype == jnp.asarray([1.0]).dtype == "float32"


def run(mode, fn):
    if mode == "bulk":
        with engine.bulk(1000):
            return fn()
    if mode == "naive":
        with engine.mode("naive"):
            return fn()
    if mode == "recorded":
        with autograd.record():
            return fn()
    return fn()


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_integers_beyond_32_bits(mode):
    x = np.array(onp.array([BIG, -5]), dtype="int64")
    results = run(
        mode,
        lambda: {
            "same": x * 1,
            "sum": x + BIG,
            "product": x * 3 - 1,
            "floor": x // 7,
            "rest": x % 7,
            "larger": np.maximum(x, BIG + 1),
            "clipped": np.clip(x, 0, BIG - 1),
            "total": x.sum(),
            "running": np.cumsum(x),
            "equal": x == BIG,
            "less": x < BIG + 1,
            "where": np.where(x > 0, x, -BIG),
            "operand": x + onp.array([1, BIG]),
        },
    )
    y = onp.array([BIG, -5])
    wanted = {
        "same": y,
        "sum": y + BIG,
        "product": y * 3 - 1,
        "floor": y // 7,
        "rest": y % 7,
        "larger": onp.maximum(y, BIG + 1),
        "clipped": onp.clip(y, 0, BIG - 1),
        "total": y.sum(),
        "running": onp.cumsum(y),
        "equal": y == BIG,
        "less": y < BIG + 1,
        "where": onp.where(y > 0, y, -BIG),
        "operand": y + [1, BIG],
    }
    for name, want in wanted.items():
        got = results[name].asnumpy()
        assert got.dtype == want.dtype and got.tolist() == want.tolist(), name


def test_creation():
    assert np.array([2**40], dtype="int64").tolist() == [2**40]
    assert np.array(onp.int64(BIG)).item() == BIG and np.array(onp.float64(1 / 3)).item() == 1 / 3
    assert np.array([2**63 + 5], dtype="uint64").item() == 2**63 + 5
    assert (np.array([2**63 + 5], dtype="uint64") + 1).item() == 2**63 + 6
    assert np.arange(2**33, 2**33 + 3, dtype="int64").tolist() == [2**33, 2**33 + 1, 2**33 + 2]
    assert np.arange(2**31 - 2, 2**31 + 2, dtype="int64").tolist() == list(range(2**31 - 2, 2**31 + 2))
    assert np.full((2,), 0.1, dtype="float64").tolist() == [0.1, 0.1]
    assert np.full((2,), BIG).tolist() == [BIG, BIG]
    assert np.full_like(np.ones(2), 0.1, dtype="float64").tolist() == [0.1, 0.1]
    assert np.ones(2, dtype=float).dtype == "float64" and np.ones(2).dtype == "float32"
    onp.testing.assert_allclose(np.arange(0, 1, 0.1, dtype="float64").asnumpy(), onp.arange(0, 1, 0.1), rtol=1e-15)
    onp.testing.assert_allclose(np.linspace(0, 0.7, 7, dtype="float64").asnumpy(), onp.linspace(0, 0.7, 7), rtol=1e-15)
    with pytest.raises(OverflowError, match="out of bounds for int64"):
        np.array([1], dtype="int64") + 2**70


def test_writes_views_and_copies():
    x = np.zeros(3, dtype="int64")
    x[:] = BIG
    x[1] = 5
    x[0:1] += 1
    assert x.tolist() == [BIG + 1, 5, BIG]
    x[x > 6] = 0
    assert x.tolist() == [0, 5, 0]
    v = np.array([1 / 3, 2 / 3], dtype="float64")
    v += 1e-12
    assert v.tolist() == [1 / 3 + 1e-12, 2 / 3 + 1e-12]
    v[:] = onp.array([0.1, 0.2])
    v[0] = 0.7
    assert v.tolist() == [0.7, 0.2] and onp.asarray(v).dtype == "float64"
    for twin in (copy.deepcopy(v), v.copy(), pickle.loads(pickle.dumps(v)), v.as_in_ctx(gluonx.cpu()), np.array(v)):
        assert twin.dtype == "float64" and twin.tolist() == [0.7, 0.2]
    assert np.from_dlpack(onp.array([BIG])).tolist() == [BIG]
    assert np.array([BIG, 1], dtype="int64")[np.array([0], dtype="int64")].tolist() == [BIG]


def test_float64_of_numpy_is_float32_unless_float64_is_beside_it():
    tenth = onp.array([0.1])
    assert (np.ones(1) + tenth).dtype == np.array(tenth).dtype == "float32"
    assert (np.ones(1, dtype="float64") * tenth).item() == 0.1
    assert np.array(tenth, dtype="float64").item() == 0.1
    assert (np.ones(1) + onp.float64(2.5)).dtype == "float32"
    with util.np_default_dtype():
        assert (np.ones(1) * tenth).item() == 0.1 and np.ones(1).dtype == "float64" and np.arange(2).dtype == "int64"
    assert np.ones(1).dtype == "float32"


# what MXNet 2.0.0b1 gives, with set_np()
@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda i: np.array([1, 2, 3]), "float32"),
        (lambda i: np.array(onp.array([1, 2])), "float32"),
        (lambda i: np.array(onp.int64(5)), "int64"),
        (lambda i: np.full(3, 7), "int64"),
        (lambda i: i / i, "float32"),
        (lambda i: i / 2, "float32"),
        (lambda i: 2 / i, "float32"),
        (lambda i: i * 2, "int64"),
        (lambda i: i**2, "int64"),
        (lambda i: i + np.ones(2), "float32"),
        (lambda i: i + np.ones(2, dtype="float16"), "float16"),
        (lambda i: i == 1.5, "bool"),
        (lambda i: np.ones(2, dtype="float64") + np.ones(2), "float64"),
        (lambda i: i.astype("int32") + onp.array([2]), "int64"),
        (lambda i: i.sum(), "int64"),
        (lambda i: i.astype("int32").sum(), "int32"),
        (lambda i: i.mean(), "float32"),
        (lambda i: i.astype("int32").mean(), "float32"),
        (lambda i: np.exp(i), "float32"),
        (lambda i: np.ones(3).argmax(), "int64"),
        (lambda i: np.argmin(np.ones(3)), "int64"),
        (lambda i: np.argsort(np.ones(3)), "int64"),
        (lambda i: npx.topk(np.ones(3)), "float32"),
        (lambda i: npx.topk(np.ones(3), dtype="int64"), "int64"),
        (lambda i: np.nonzero(np.ones(3))[0], "int64"),
        (lambda i: npx.shape_array(np.ones(3)), "int64"),
        (lambda i: nd.size_array(nd.ones((3,))), "int64"),
        (lambda i: nd.argmax(nd.ones((3,)), axis=0), "float32"),
        (lambda i: np.unique(i, return_counts=True)[1], "int64"),
        (lambda i: np.random.randint(0, 5, size=3), "int64"),
        (lambda i: np.random.multinomial(5, [0.5, 0.5]), "int64"),
        (lambda i: np.random.choice(5, 3), "int64"),
        (lambda i: np.random.uniform(size=3), "float32"),
        (lambda i: npx.one_hot(i, 3), "float32"),
        (lambda i: npx.pick(np.ones((2, 3)), i), "float32"),
        (lambda i: np.take(np.ones(3), i), "float32"),
        (lambda i: np.indices((2, 2)), "int64"),
        (lambda i: np.result_type(i, np.ones(2)), "float32"),
        (lambda i: np.result_type(i, np.ones(2, dtype="float64")), "float64"),
    ],
)
def test_dtypes_of_mxnet(make, wanted):
    i = np.array([1, 2], dtype="int64")
    for mode in ("eager", "bulk"):
        found = run(mode, lambda: make(i))
        assert str(getattr(found, "dtype", found)) == wanted


# -- operators in float64 ----------------------------------------------------------------------------------------------

XD, YD = test_np.X.astype("float64"), test_np.Y.astype("float64")


def close(got, want, name):
    assert got.dtype == want.dtype, (name, got.dtype, want.dtype)
    onp.testing.assert_allclose(got.asnumpy(), want, rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", sorted(table.UNARY))
def test_unary_in_float64(name):
    x = test_np.UNARY_INPUT.get(name, XD)
    if x.dtype.kind != "f":
        pytest.skip("not of floats")
    x = x.astype("float64")
    want = test_np.reference(name)(x)
    got = getattr(np, name)(np.array(x, dtype="float64"))
    for g, w in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        close(g, w, name)


@pytest.mark.parametrize("name", sorted(set(table.BINARY) - set(test_np.INTEGER_PAIRS) - {"ldexp", "divmod"}))
def test_binary_in_float64(name):
    want = test_np.reference(name)(XD, YD)
    close(getattr(np, name)(np.array(XD, dtype="float64"), np.array(YD, dtype="float64")), want, name)
    got = run("bulk", lambda: getattr(np, name)(np.array(XD, dtype="float64"), YD))
    close(got, want, name)


REDUCTIONS = [
    *[(n, {"axis": 1}) for n in ("sum", "mean", "prod", "max", "min", "std", "var", "cumsum", "median", "sort", "ptp")],
    *[(n, {}) for n in ("sum", "mean", "std", "var", "average", "cumsum", "trace", "diff", "nansum", "nanmean")],
    ("percentile", {"q": 30}),
    ("quantile", {"q": 0.3, "axis": 0}),
]


@pytest.mark.parametrize(("name", "options"), REDUCTIONS)
def test_reductions_in_float64(name, options):
    want = onp.asarray(test_np.reference(name)(XD, **options))
    close(getattr(np, name)(np.array(XD, dtype="float64"), **options), want, name)


@pytest.mark.parametrize("name", ["dot", "matmul", "inner", "outer", "tensordot", "kron", "vdot"])
def test_products_in_float64(name):
    a, b = onp.random.default_rng(1).normal(size=(2, 3, 3))
    want = onp.asarray(test_np.reference(name)(a, b))
    close(getattr(np, name)(np.array(a, dtype="float64"), np.array(b, dtype="float64")), want, name)


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "eigvalsh", "norm", "pinv"])
def test_linalg_in_float64(name):
    a = onp.random.default_rng(1).normal(size=(3, 3))
    a = a @ a.T + onp.eye(3)
    close(getattr(np.linalg, name)(np.array(a, dtype="float64")), onp.asarray(getattr(onp.linalg, name)(a)), name)


@pytest.mark.parametrize("row", SMOOTH, ids=lambda row: f"{row[0]}-{'-'.join(map(str, row[1].values()))}")
def test_gradients_in_float64(row):
    """Along a direction, by the engine, against central differences: eight digits, where float32 gives three."""
    name, attrs, shapes, *fixed = row
    draw = onp.random.default_rng(3)
    bound = ops.get(name).bind(**attrs)
    hosts = [draw.permutation(onp.linspace(0.5, 2.5, int(onp.prod(s)))).reshape(s) for s in shapes]
    ways = [draw.normal(size=s) for s in shapes]
    fixed = [np.array(onp.asarray(f), dtype=f.dtype) for f in (fixed[0] if fixed else [])]
    head = None

    def value(step):
        nonlocal head
        at = [np.array(h + step * w, dtype="float64") for h, w in zip(hosts, ways, strict=True)]
        for a in at:
            a.attach_grad()
        order = [*fixed, *at] if name == "embedding" else [*at, *fixed]
        with autograd.record():
            out = invoke(bound, order)
            out = out[0] if isinstance(out, tuple) else out
            assert out.dtype == "float64"
            if head is None:
                head = np.array(draw.normal(size=out.shape), dtype="float64")
            total = (out * head).sum()
        total.backward()
        return total.item(), at

    _, at = value(0.0)
    assert all(a.grad.dtype == "float64" for a in at)
    slope = sum(float((a.grad.asnumpy() * w).sum()) for a, w in zip(at, ways, strict=True))
    step = 1e-5
    measured = (value(step)[0] - value(-step)[0]) / (2 * step)
    assert slope == pytest.approx(measured, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("mode", ["recorded", "naive"])
def test_gradients_keep_their_types(mode):
    with engine.mode("naive" if mode == "naive" else "deferred"):
        a, b = np.array([0.3, 0.7], dtype="float64"), np.array([0.5, 0.25])
        a.attach_grad("add")
        b.attach_grad()
        for _ in range(2):
            with autograd.record():
                y = (b.astype("float64") * np.exp(a)).astype("float32").sum() + b.sum()
            y.backward()
        assert y.dtype == b.grad.dtype == "float32" and a.grad.dtype == "float64"
        onp.testing.assert_allclose(b.grad.asnumpy(), 1 + onp.exp([0.3, 0.7]), rtol=1e-6)
        onp.testing.assert_allclose(a.grad.asnumpy(), 2 * onp.exp([0.3, 0.7]) * [0.5, 0.25], rtol=1e-7)


def test_gradients_through_what_was_read_and_of_gradients():
    a = np.array([0.3, 0.7], dtype="float64")
    a.attach_grad()
    x = a.asnumpy()
    with autograd.record():
        y = np.sin(a)
        y.asnumpy()
        z = (y * y).sum()
    z.backward()
    onp.testing.assert_allclose(a.grad.asnumpy(), onp.sin(2 * x), rtol=1e-14)
    with autograd.record():
        y = np.sin(a) * a
        (first,) = autograd.grad(y, [a], create_graph=True, retain_graph=True)
        first.sum().backward()
    onp.testing.assert_allclose(a.grad.asnumpy(), 2 * onp.cos(x) - x * onp.sin(x), rtol=1e-14)
    with autograd.record():
        y = a * 3
    y.backward(np.array([1e-9, 1.0], dtype="float64"))
    assert a.grad.tolist() == [3 * 1e-9, 3.0]


# -- integers do not pass through float32 ------------------------------------------------------------------------------

N = 2**24


def test_int32_is_exact_beyond_2_to_the_24():
    x = np.array([N + 1, N + 3, -N - 5], dtype="int32")
    y = x.asnumpy()
    for name in (
        "sum",
        "max",
        "min",
        "prod",
        "cumsum",
        "abs",
        "sign",
        "floor",
        "ceil",
        "trunc",
        "fix",
        "round",
        "diff",
    ):
        assert getattr(np, name)(x).tolist() == test_np.reference(name)(y).astype("int32").tolist(), name
    assert np.clip(x, -N - 3, N + 2).tolist() == [N + 1, N + 2, -N - 3]
    assert np.maximum(x, N + 2).tolist() == [N + 2, N + 3, N + 2]
    assert np.dot(x, np.ones(3, dtype="int32")).item() == N - 1
    for name in ("round", "rint", "floor", "ceil", "trunc", "fix", "abs"):
        found = getattr(nd, name)(nd.array(y, dtype="int32"))
        assert found.asnumpy().tolist() == test_np.reference(name)(y).tolist(), name
    assert np.mean(x).item() == np.average(x).item() == (N - 1) / 3
    pair = np.array([N + 1, N + 3], dtype="int32")
    assert np.var(pair).item() == np.std(pair).item() == 1.0 and pair.mean().item() == N + 2
    many = np.full((1000, 1000), N + 2, dtype="int32")
    assert many.mean().item() == N + 2 and many.mean(axis=0)[3].item() == N + 2


def test_nd_round_of_floats():
    """Halves go away from zero, or down with rint, as in MXNet; what is next to a half or has no fraction is exact."""
    x = nd.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609.0, -8388609.0, float("inf")])
    assert nd.round(x).asnumpy().tolist() == [1, -1, 2, 3, -3, 0, 8388609, -8388609, float("inf")]
    assert nd.rint(x).asnumpy().tolist() == [0, -1, 1, 2, -3, 0, 8388609, -8388609, float("inf")]


@pytest.mark.parametrize("ends", [(0, 1, 7), (3, 100, 50), (-2, 9, 333)])
def test_linspace_rounds_once(ends):
    got = np.linspace(*ends, dtype="float16")
    assert got.dtype == "float16" and got.tolist() == onp.linspace(*ends, dtype="float16").tolist()
    last = 2**30 + 1
    assert np.linspace(1, last, 5, dtype="int32").tolist() == onp.linspace(1, last, 5, dtype="int32").tolist()


# -- blocks ------------------------------------------------------------------------------------------------------------


def steps(hybrid, optimizer="adam", dtype="float64", count=4):
    gluonx.random.seed(3)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(), nn.Flatten())
    net.add(nn.LayerNorm(), nn.Dense(8, activation="tanh"), nn.Dense(3))
    net.cast(dtype)
    net.initialize()
    if hybrid:
        net.hybridize()
    trainer = gluonx.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.01})
    draw = onp.random.default_rng(5)
    x, y = np.array(draw.normal(size=(6, 2, 4, 4)), dtype=dtype), np.array([0, 1, 2, 0, 1, 2], dtype="int64")
    found = []
    for _ in range(count):
        with autograd.record():
            value = SoftmaxCrossEntropyLoss()(net(x), y).mean()
        value.backward()
        trainer.step(1)
        found.append(value.item())
    return net, trainer, found


@pytest.mark.dear
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "lamb", "rmsprop", "adagrad"])
def test_training_in_float64(optimizer):
    net, trainer, found = steps(False, optimizer)
    for p in net.collect_params().values():
        assert p.data().dtype == "float64" or "running" in p.name or p.name in ("gamma", "beta")
        assert p.grad_req == "null" or p.grad().dtype == p.data().dtype
    assert all(s.dtype == "float64" for s in trainer._held.arrays if s.size > 1)
    onp.testing.assert_allclose(steps(True, optimizer)[2], found, rtol=1e-10)
    with engine.mode("naive"):
        onp.testing.assert_allclose(steps(False, optimizer)[2], found, rtol=1e-10)


@pytest.mark.dear
def test_states_keep_float64(tmp_path):
    _, trainer, _ = steps(False)
    before = [s.asnumpy() for s in trainer._held.arrays]
    trainer.save_states(str(tmp_path / "states"))
    trainer.load_states(str(tmp_path / "states"))
    for was, now in zip(before, trainer._held.arrays, strict=True):
        assert now.dtype == was.dtype and now.asnumpy().tolist() == was.tolist()


def test_two_types_in_one_trainer():
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3), nn.Dense(2, in_units=4))
    net.initialize()
    net[1].cast("float64")
    trainer = gluonx.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    for _ in range(4):
        with autograd.record():
            value = L2Loss()(net[1](net[0](np.ones((2, 3))).astype("float64")), np.ones((2, 2), dtype="float64"))
        value.backward()
        trainer.step(2)
    assert value.dtype == "float64"
    assert [str(p.data().dtype) for p in net.collect_params().values()] == ["float32"] * 2 + ["float64"] * 2


@pytest.mark.dear
def test_a_program_of_32_bits_is_what_it_was():
    """Labels of 64 bits change no other type, and what has none is traced with the switch off."""
    seen = []
    note = gluonx.from_jax(lambda x: (seen.append(jax.config.jax_enable_x64), x)[1])
    _, _, found = steps(False, dtype="float32")
    for dtype, on in (("float32", False), ("float64", True)):
        seen.clear()
        x = np.ones(3, dtype=dtype)
        x.attach_grad()
        with autograd.record():
            y = note(x * 2) + np.array([2], dtype="int64")
        y.backward()
        y.asnumpy()
        assert set(seen) == {on} and y.dtype == x.grad.dtype == dtype
    assert onp.isfinite(found).all()


def test_recurrent_layers_loops_and_dropout():
    layer = rnn.LSTM(4)
    layer.cast("float64")
    layer.initialize()
    layer.hybridize()
    assert layer(np.ones((3, 2, 5), dtype="float64")).dtype == "float64"
    with autograd.record():
        assert nn.Dropout(0.5)(np.ones(30, dtype="float64")).dtype == "float64"
    x = np.array([1 / 3, 2 / 3], dtype="float64")

    class Loops(nn.HybridBlock):
        def forward(self, x):
            outs, _ = npx.foreach(lambda d, s: (d + s, d + s), x, np.zeros((), dtype="float64"))
            chosen = npx.cond(lambda v: v.sum() > 0, lambda v: v * 2, lambda v: v, [x])
            _, last = npx.while_loop(
                lambda i, v: i < 3,
                lambda i, v: ([v], [i + 1, v * 2]),
                [np.array(0, dtype="int64"), x],
                max_iterations=4,
            )
            return outs, chosen, last[1]

    for hybrid in (False, True):
        loops = Loops()
        loops.hybridize(hybrid)
        outs, chosen, last = loops(x)
        assert outs.tolist() == [1 / 3, 1 / 3 + 2 / 3] and chosen.tolist() == [2 / 3, 4 / 3]
        assert last.tolist() == [8 / 3, 16 / 3]


def test_functional_under_a_users_jit():
    class Mixed(nn.HybridBlock):
        def forward(self, x):
            y = x.astype("float64") / 3 + 1e-12
            return y, npx.softmax(y), x.argmax(axis=1), np.sort(y, axis=0), x * 2

    net = Mixed()
    pure = gluonx.functional(net)
    x = onp.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    found = jax.jit(lambda x: pure.apply({}, {}, None, x)[0])(jnp.asarray(x))
    for got, want in zip(found, net(np.array(x)), strict=True):
        assert got.dtype == want.dtype
        onp.testing.assert_allclose(onp.asarray(got), want.asnumpy(), rtol=1e-14)


def test_functions_from_jax_and_of_users():
    x = np.array([1 / 3], dtype="float64")
    x.attach_grad()
    double = gluonx.from_jax(lambda x: jnp.sin(x) * 2.0)

    class Square(autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x * x

        def backward(self, g):
            (x,) = self.saved_tensors
            return 2 * x * g

    for fn, value, slope in ((double, onp.sin(1 / 3) * 2, onp.cos(1 / 3) * 2), (Square(), (1 / 3) ** 2, 2 / 3)):
        with autograd.record():
            y = fn(x)
        y.backward()
        assert y.item() == pytest.approx(value, rel=1e-15) and x.grad.item() == pytest.approx(slope, rel=1e-15)


@legacy_operator.register("square_of_64_bits")
class _SquareProp(legacy_operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        class Square(legacy_operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0] * in_data[0])

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])

        return Square()


def test_custom_operators_of_1x():
    x = nd.array([1 / 3, float(BIG)], dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="square_of_64_bits")
    y.backward()
    assert y.asnumpy().tolist() == [(1 / 3) ** 2, float(BIG) ** 2] and x.grad.asnumpy().tolist() == [2 / 3, 2.0 * BIG]


# -- random numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_draws_of_float64_have_its_digits(name):
    drawn = getattr(np.random, name)(size=200, dtype="float64")
    values = drawn.asnumpy()
    assert drawn.dtype == "float64" and (values.astype("float32") != values).mean() > 0.9


def test_draws_of_integers():
    drawn = np.random.randint(0, 2**40, size=200, dtype="int64")
    assert drawn.max().item() > 2**32 and drawn.min().item() >= 0
    gluonx.random.seed(7)
    wide = np.random.randint(0, 1000, size=20).tolist()
    gluonx.random.seed(7)
    assert np.random.randint(0, 1000, size=20, dtype="int32").tolist() == wide


# -- files, data, metrics ----------------------------------------------------------------------------------------------


def test_files_of_arrays(tmp_path):
    arrays = {"x": np.array([BIG], dtype="int64"), "y": np.array([1 / 3], dtype="float64")}
    for name in ("a.npz", "a.safetensors", "a.params"):
        npx.save(str(tmp_path / name), arrays)
        found = npx.load(str(tmp_path / name))
        assert found["x"].dtype == "int64" and found["x"].item() == BIG and found["y"].item() == 1 / 3
    net, twin = (nn.Dense(2, in_units=2, dtype="float64") for _ in range(2))
    net.initialize()
    net.save_parameters(str(tmp_path / "net"))
    twin.load_parameters(str(tmp_path / "net"))
    assert twin.weight.data().dtype == "float64" and twin.weight.data().tolist() == net.weight.data().tolist()


class Exported(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4, dtype="float64")
        self.head = nn.Dense(3, in_units=4, dtype="float64")

    def forward(self, words):
        out = self.head(self.embed(words).sum(axis=1))
        return out, out.argmax(axis=-1), words + 2**40


@pytest.mark.dear
def test_artifacts(tmp_path):
    net = Exported()
    net.initialize()
    net.hybridize()
    words = onp.array([[1, 2], [3, 4]])
    wanted = net(np.array(words, dtype="int64"))
    folder = net.export(str(tmp_path / "net"), inputs=[np.array(words, dtype="int64")])
    found = importlib.util.spec_from_file_location("served", pathlib.Path(folder) / "serve.py")
    served = importlib.util.module_from_spec(found)
    found.loader.exec_module(served)
    block = gluonx.load(folder)
    for results in (
        load_artifact(folder)(words),
        served.load(folder)(words),
        block(np.array(words, dtype="int64")),
        block.predictor(buckets=[2])(words),
    ):
        for got, want in zip(results, wanted, strict=True):
            assert got.dtype == want.dtype
            onp.testing.assert_allclose(onp.asarray(got), want.asnumpy(), rtol=1e-14)


def test_data_and_metrics():
    data = ArrayDataset(onp.random.default_rng(0).normal(size=(4, 2)), onp.arange(4) + BIG)
    for x, y in DataLoader(data, 2):
        assert y.dtype == "int64" and y.min().item() >= BIG and x.dtype == "float32"
    accuracy = metric.Accuracy()
    chances = np.array([[0.1, 0.9], [0.9, 0.1], [0.8, 0.2]], dtype="float64")
    accuracy.update([np.array([1, 0, 1], dtype="int64")], [chances])
    assert accuracy.get()[1] == pytest.approx(2 / 3)
    error = metric.MSE()
    error.update([np.array([1.0, 2.0], dtype="float64")], [np.array([1.5, 2.0], dtype="float64")])
    assert error.get()[1] == pytest.approx(0.125)


def test_labels_of_64_bits_beside_float32():
    x = np.array([[0.1, 0.7], [0.2, 0.3]])
    x.attach_grad()
    for dtype in ("int32", "int64"):
        labels = np.array([1, 0], dtype=dtype)
        with autograd.record():
            value = SoftmaxCrossEntropyLoss()(x, labels).sum() + npx.pick(x, labels).sum()
        value.backward()
        assert value.dtype == x.grad.dtype == "float32"
        found = x.grad.asnumpy()
        if dtype == "int32":
            first = found
    onp.testing.assert_array_equal(first, found)


def test_errors_and_threads_leave_the_switch_alone():
    wide, longer = np.ones(2, dtype="float64"), np.ones(3, dtype="float64")
    for mode in MODES:
        with pytest.raises(ShapeError):
            run(mode, lambda: wide + longer)
        assert jnp.ones(2).dtype == "float32"
    wrong = []

    def work():
        for _ in range(20):
            x = np.array([BIG], dtype="int64") + 1
            if x.item() != BIG + 1 or jnp.ones(1).dtype != "float32":
                wrong.append(x)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_fused_and_chained_parameters():
    net = nn.HybridSequential()
    net.add(nn.MultiHeadAttention(8, 2))
    net.cast("float64")
    net.initialize()
    x = np.array(onp.random.default_rng(0).normal(size=(2, 3, 8)), dtype="float64")
    before = net(x).asnumpy()
    net.fuse()
    after = net(x)
    assert after.dtype == "float64"
    onp.testing.assert_allclose(after.asnumpy(), before, rtol=1e-12, atol=1e-14)
    deep = nn.HybridSequential()
    deep.add(*[nn.Dense(4, in_units=4) for _ in range(3)])
    deep.cast("float64")
    deep.initialize()
    deep.hybridize(scan=True)
    y = np.ones((2, 4), dtype="float64")
    y.attach_grad()
    with autograd.record():
        out = deep(y)
    out.backward()
    assert out.dtype == y.grad.dtype == "float64"


def test_files_in_the_format_of_mxnet(tmp_path):
    net = nn.Dense(3, in_units=2)
    net.initialize()
    net.cast("float64")
    net.hybridize()
    x = np.ones((1, 2), dtype="float64")
    want = net(x)
    net.export(str(tmp_path / "net"), format="mxnet")
    block = gluonx.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    assert block(x).dtype == "float64" and block(x).tolist() == want.tolist()


def test_what_runs_operator_by_operator(monkeypatch):
    """A line whose programs never come again: gradients of several uses are summed in float64 too."""
    npx.waitall()  # what an earlier test left pending would be warned of
    monkeypatch.setitem(policy.limits, "many", 0)
    x, y = np.array([1 / 3], dtype="float64"), np.array([1 / 3])
    x.attach_grad()
    y.attach_grad()
    with autograd.record():
        out = (x * 0.1 + np.sin(x) * x).sum() + (y * y).sum().astype("float64")
    with pytest.warns(UserWarning, match="did not come again"):
        out.backward()
        found = x.grad.item()
    assert found == pytest.approx(0.1 + onp.sin(1 / 3) + onp.cos(1 / 3) / 3, rel=1e-15)
    assert y.grad.dtype == "float32" and y.grad.item() == pytest.approx(2 / 3, rel=1e-6)
