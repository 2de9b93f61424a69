"""The doors between gluonx and JAX: ``functional`` and ``from_jax``."""

import contextlib
import copy
import functools
import pickle
import types

import jax
import jax.numpy as jnp
import numpy as onp
import optax
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, loss, nn, np
from gluonx.errors import DeferredInitializationError, ShapeError, UninitializedError
from lib.nets import make

X = onp.random.RandomState(0).rand(6, 3).astype("float32")


def same(a, b, tol=1e-5):
    assert a.keys() == b.keys()
    for name in a:
        onp.testing.assert_allclose(onp.asarray(a[name]), onp.asarray(b[name]), rtol=tol, atol=tol, err_msg=name)


# -- functional --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybrid"])
@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
def test_apply_is_the_net(hybrid, jit):
    net = make()
    if hybrid:
        net.hybridize()
    pure = gluonx.functional(net)
    assert set(pure.state) == {"1.running_mean", "1.running_var"} and len(pure.params) == 6
    apply = jax.jit(pure.apply, static_argnames="train") if jit else pure.apply
    out, state = apply(pure.params, pure.state, None, X)
    assert isinstance(out, jax.Array)
    onp.testing.assert_allclose(out, net(np.array(X)).asnumpy(), rtol=1e-5, atol=1e-6)
    same(state, pure.state)


@pytest.mark.dear
def test_training_moves_the_state_that_is_returned_and_not_the_net():
    net = make()
    pure = gluonx.functional(net)
    before = net[1].running_mean.data().asnumpy()
    _, state = pure.apply(pure.params, pure.state, jax.random.key(0), X, train=True)
    onp.testing.assert_array_equal(net[1].running_mean.data().asnumpy(), before)
    with autograd.record():
        net(np.array(X))
    onp.testing.assert_allclose(state["1.running_mean"], net[1].running_mean.data().asnumpy(), rtol=1e-5)


@pytest.mark.dear
def test_a_jitted_functional_draws_for_64_bits():
    net = nn.Dropout(0.5)
    pure, x = gluonx.functional(net), np.ones((4, 5), dtype="float64")._read()

    def run(x):
        return pure(x, key=jax.random.key(3), train=True)[0]

    out = jax.jit(run)(x)
    assert out.dtype == onp.float64 and set(onp.unique(out)) == {0.0, 2.0}
    onp.testing.assert_array_equal(out, run(x))


@pytest.mark.dear
def test_gradients_equal_those_of_the_tape():
    net = make()
    pure = gluonx.functional(net)

    def value(params):
        out, _ = pure.apply(params, pure.state, jax.random.key(0), X, train=True)
        return (out**2).mean()

    grads = jax.jit(jax.grad(value))(pure.params)
    with autograd.record():
        y = (net(np.array(X)) ** 2).mean()
    y.backward()
    same({n: p.grad().asnumpy() for n, p in net.collect_params().items() if p.grad_req != "null"}, grads)


@pytest.mark.dear
def test_a_loop_of_optax_is_the_trainers():
    net = make()
    pure = gluonx.functional(net)
    tx, l2 = optax.sgd(0.1), loss.L2Loss()
    params, state = pure.params, pure.state
    opt = tx.init(params)

    @jax.jit
    def step(params, state, opt):
        def value(params):
            out, new = pure.apply(params, state, None, X, train=True)
            return (0.5 * (out - 1) ** 2).mean(axis=1).sum() / 6, new

        grads, new = jax.grad(value, has_aux=True)(params)
        updates, opt = tx.update(grads, opt)
        return optax.apply_updates(params, updates), new, opt

    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(3):
        params, state, opt = step(params, state, opt)
        with autograd.record():
            y = l2(net(np.array(X)), np.ones((6, 2)))
        y.backward()
        trainer.step(6)
    same({n: p.data().asnumpy() for n, p in net.collect_params().items()}, {**params, **state}, 1e-4)


@pytest.mark.dear
def test_params_are_copies_and_survive_steps():
    net = make()
    pure = gluonx.functional(net)
    before = {n: onp.array(v) for n, v in pure.params.items()}
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    for _ in range(2):
        with autograd.record():
            y = net(np.array(X)).sum()
        y.backward()
        trainer.step(1)
    same(pure.params, before)
    assert not any(v.is_deleted() for v in pure.params.values())
    pure.update_from(pure.params)
    same({n: net.collect_params()[n].data().asnumpy() for n in before}, before)
    with autograd.record():
        y = net(np.array(X)).sum()
    y.backward()
    trainer.step(1)
    same(pure.params, before)


@pytest.mark.dear
def test_update_from_is_all_or_nothing():
    net = make()
    pure = gluonx.functional(net)
    before = {n: p.data().asnumpy() for n, p in net.collect_params().items()}
    wrong = {**{n: v + 1 for n, v in pure.params.items()}, "3.bias": jnp.ones(7)}
    with pytest.raises(ShapeError, match=r"'3.bias' has shape \(2,\), the given array \(7,\)"):
        pure.update_from(wrong)
    with pytest.raises(ShapeError, match="no parameter 'other'"):
        pure.update_from({"other": jnp.ones(1)})
    same({n: p.data().asnumpy() for n, p in net.collect_params().items()}, before)
    with pytest.raises(ShapeError, match="missing or unexpected"):
        pure.apply({}, {}, None, X)


@pytest.mark.dear
def test_keys_decide_dropout():
    net = make(dropout=0.5)
    pure = gluonx.functional(net)

    def run(key):
        return onp.asarray(pure.apply(pure.params, pure.state, key, X, train=True)[0])

    a, b, c = run(jax.random.key(1)), run(jax.random.key(1)), run(jax.random.key(2))
    assert (a == b).all() and (a != c).any()
    assert run(jax.random.PRNGKey(1)).shape == (6, 2)
    with pytest.raises(gluonx.errors.TracedValueError, match="no key was given"):
        run(None)


@pytest.mark.dear
def test_vmap_over_an_ensemble():
    net = make()
    pure = gluonx.functional(net)
    many = jax.tree.map(lambda v: jnp.stack([v, v * 2, v * 0]), pure.params)
    out = jax.vmap(lambda p: pure.apply(p, pure.state, None, X)[0])(many)
    assert out.shape == (3, 6, 2)
    onp.testing.assert_allclose(out[0], net(np.array(X)).asnumpy(), rtol=1e-4, atol=1e-5)


def test_functional_needs_values():
    net = nn.Dense(2)
    with pytest.raises(UninitializedError, match="initialize"):
        gluonx.functional(net)
    net.initialize()
    with pytest.raises(DeferredInitializationError, match="infer_shape"):
        gluonx.functional(net)
    net.infer_shape(np.ones((1, 5)))
    assert gluonx.functional(net).params["weight"].shape == (2, 5)


def test_tied_parameters_are_one_and_inputs_may_be_nested():
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Dense(3, in_units=3, use_bias=False), nn.Dense(3, in_units=3, use_bias=False)
            self.b.weight = self.a.weight

        def forward(self, xs):
            return {"y": self.b(self.a(xs["x"])) + xs["more"][0]}

    net = Net()
    net.initialize()
    pure = gluonx.functional(net)
    assert len(pure.params) == 1
    out, _ = pure.apply(pure.params, {}, None, {"x": X, "more": [X]})
    w = net.a.weight.data().asnumpy()
    onp.testing.assert_allclose(out["y"], X @ w.T @ w.T + X, rtol=1e-5, atol=1e-6)


@pytest.mark.dear
def test_apply_leaks_no_tracer_and_leaves_handles_alone(leak_check):
    net = make()
    pure = gluonx.functional(net)
    jax.jit(lambda p: pure.apply(p, pure.state, None, X, train=True)[0])(pure.params)
    assert net(np.array(X)).asnumpy().shape == (6, 2)


def test_apply_fails_cleanly():
    net = make()
    pure = gluonx.functional(net)
    with pytest.raises(gluonx.errors.GluonxError):
        pure.apply(pure.params, pure.state, None, onp.ones((6, 9), "float32"))
    assert not autograd.is_training() and net(np.array(X)).shape == (6, 2)


# -- from_jax ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["deferred", "naive"])
def test_from_jax_is_recorded_and_differentiated(name):
    @gluonx.from_jax
    def f(x, *, scale, extra):
        return {"y": jnp.sin(x) * scale, "z": [extra[0] * 2]}

    x, w = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    x.attach_grad(), w.attach_grad()
    with engine.mode(name):
        with autograd.record():
            out = f(x, scale=2.5, extra=(w,))
            total = (out["y"] * out["z"][0]).sum()
        total.backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), onp.cos([1, 2]) * 2.5 * onp.array([6, 8]), rtol=1e-5)
    onp.testing.assert_allclose(w.grad.asnumpy(), onp.sin([1, 2]) * 5.0, rtol=1e-5)


@pytest.mark.dear
def test_from_jax_with_statics_and_no_recompile():
    calls = []

    @gluonx.from_jax(static_argnums=1, static_argnames="mode")
    def f(x, axis, mode="sum"):
        calls.append(axis)
        return getattr(jnp, mode)(x, axis)

    x = np.ones((2, 3))
    x.attach_grad()

    def step(axis, mode):
        with autograd.record():
            y = f(x * 2, axis, mode=mode)
        y.backward()
        return x.grad.asnumpy(), y.shape

    assert step(0, "sum")[1] == (3,) and step(1, "mean")[1] == (2,)
    step(0, "sum"), step(1, "mean")
    engine.reset_stats()
    before = len(calls)
    for _ in range(3):
        onp.testing.assert_allclose(step(0, "sum")[0], 2.0)
        onp.testing.assert_allclose(step(1, "mean")[0], 2 / 3, rtol=1e-6)
    assert engine.stats()["programs_compiled"] == 0 and len(calls) == before


def test_from_jax_outside_of_record_in_a_trace_and_custom_gradients():
    @jax.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))
    f = gluonx.from_jax(clipped)
    assert f(np.array([2.0])).tolist() == [2.0]

    class Net(nn.HybridBlock):
        def forward(self, x):
            return f(x) * 10

    for hybrid in (False, True):
        net = Net()
        if hybrid:
            net.hybridize()
        x = np.array([2.0])
        x.attach_grad()
        with autograd.record():
            y = net(x)
        y.backward()
        assert (y.tolist(), x.grad.tolist()) == ([20.0], [1.0])


def test_from_jax_of_second_order_and_of_a_failing_function():
    f = gluonx.from_jax(lambda x: jnp.sin(x) * x)
    x = np.array([0.5])
    x.attach_grad()
    with autograd.record():
        (g,) = autograd.grad(f(x), x, create_graph=True)
    g.backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), 2 * onp.cos(0.5) - 0.5 * onp.sin(0.5), rtol=1e-5)
    with pytest.raises(ShapeError, match=r"float32\[2\].*float32\[3\]"):
        gluonx.from_jax(jnp.add)(np.ones((2,)), np.ones((3,)))


def test_raw_jax_in_a_hybridized_forward():
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(2, in_units=3)

        def forward(self, x):
            return np.sin(self.dense(x)) + np.array(jnp.cos(jnp.asarray(x)).sum())

    net = Net()
    net.initialize()
    net.hybridize()
    x = np.array(X)
    x.attach_grad()
    with autograd.record():
        y = net(x).sum()
    y.backward()
    w = net.dense.weight.data().asnumpy()
    wanted = onp.cos(X @ w.T) @ w - 12 * onp.sin(X)
    onp.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


# -- what functions see beside their arguments ----------------------------------------------------------------------

FACTOR = 2.0
TABLE = [1.0, 2.0]


def by_global(x):
    return x * FACTOR + sum(TABLE)


def by_helper(x):
    return by_global(x) + 1


class Scaled:
    def __init__(self, k):
        self.k = k
        self.w = jnp.ones(3) * k

    def times(self, x):
        return x * self.k + self.w

    def __call__(self, x):
        return x * self.k - self.w


def by_variable(value):
    """A function of a variable, and how to set that."""
    k = value

    def put(value):
        nonlocal k
        k = value

    return (lambda x: x * jnp.asarray(k).sum()), put


def by_default(value):
    def fn(x, k=value):
        return x * k

    def put(value):
        fn.__defaults__ = (value,)

    return fn, put


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(
    "make, values",
    [
        *[
            (make, values)
            for make in (by_variable, by_default)
            for values in [(2, 3, 2), (2.0, -0.0, 3.5), (True, 0, 3)]
        ],
        *[(by_variable, values) for values in [([1, 2], [1, 3], [1, 2]), ((1.0,), (4.0,), (1.0,))]],
    ],
)
def test_from_jax_sees_numbers_as_they_are_at_each_call(make, values, recorded):
    fn, put = make(values[0])
    f = gluonx.from_jax(fn)
    x = np.array([1.0, 2.0])
    found = []
    with autograd.record() if recorded else contextlib.nullcontext():
        for value in values:
            put(value)
            found.append(f(x))
        put(1000)  # later, before anything is computed
    for value, y in zip(values, found, strict=True):
        onp.testing.assert_allclose(y.asnumpy(), onp.array([1.0, 2.0]) * onp.sum(value))


def test_from_jax_changes_a_list_in_place_and_reads_globals(monkeypatch):
    ks = [1.0, 2.0]
    f, g, h = (gluonx.from_jax(fn) for fn in (lambda x: x * sum(ks), by_global, by_helper))
    x = np.ones(2)
    assert f(x).tolist() == [3, 3] and g(x).tolist() == [5, 5] and h(x).tolist() == [6, 6]
    ks[0] = 5.0
    monkeypatch.setitem(globals(), "FACTOR", 10.0)
    TABLE[0] = 4.0
    try:
        assert f(x).tolist() == [7, 7] and g(x).tolist() == [16, 16] and h(x).tolist() == [17, 17]
    finally:
        TABLE[0] = 1.0


@pytest.mark.parametrize("hybrid", [False, True])
def test_arrays_that_a_function_sees_are_inputs(hybrid):
    """With gradients, without a new program, and no value that is given to them later is missed."""
    traces = []

    class Net(gluonx.HybridBlock):
        def __init__(self):
            super().__init__()
            self.w = gluonx.Parameter("w", shape=(3,), init="ones")

        def forward(self, x):
            w = self.w.data()

            def times(x):
                traces.append(1)
                return x * w

            return gluonx.from_jax(times)(x) if hybrid else call(x)

    net = Net()
    net.initialize()
    if hybrid:
        net.hybridize()
    w = net.w.data()
    call = gluonx.from_jax(lambda x: traces.append(1) or x * w)
    x = np.array([1.0, 2.0, 3.0])
    for k in (1.0, 2.0, 3.0):
        net.w.set_data(np.full((3,), k))
        with autograd.record():
            y = net(x)
        y.backward()
        assert y.tolist() == [k, 2 * k, 3 * k] and net.w.grad().tolist() == [1, 2, 3]
    j = jnp.ones(3)
    f = gluonx.from_jax(lambda x: x + j)
    assert f(x).tolist() == [2, 3, 4]
    j = jnp.zeros(3)
    assert f(x).tolist() == [1, 2, 3]
    buf = onp.ones(3, "float32")
    f = gluonx.from_jax(lambda x: x + buf)
    assert f(x).tolist() == [2, 3, 4]
    buf[1] = 10
    assert f(x).tolist() == [2, 12, 4]


def test_methods_partials_and_objects():
    scaled = Scaled(2)
    method, whole = gluonx.from_jax(scaled.times), gluonx.from_jax(scaled)
    part = gluonx.from_jax(functools.partial(lambda k, x, *, b: x * k + b, 3, b=scaled.w))
    x = np.ones(3)
    assert (method(x).tolist(), whole(x).tolist(), part(x).tolist()) == ([4] * 3, [0] * 3, [5] * 3)
    scaled.k, scaled.w = 5, jnp.zeros(3)
    assert (method(x).tolist(), whole(x).tolist(), part(x).tolist()) == ([5] * 3, [5] * 3, [5] * 3)
    settings = types.SimpleNamespace(k=2)
    f = gluonx.from_jax(lambda x: x * settings.k)
    assert f(x).tolist() == [2] * 3
    settings.k = 7
    assert f(x).tolist() == [7] * 3


def test_arrays_whose_values_a_trace_needs_are_constants():
    n = jnp.asarray(2)
    order = onp.array([1, 0])
    f = gluonx.from_jax(lambda x: jnp.transpose(x, order)[: int(n)])
    x = np.arange(12).reshape(4, 3)
    assert f(x).shape == (2, 4)
    n, order = jnp.asarray(1), onp.array([0, 1])
    assert f(x).shape == (1, 3)


def test_a_function_that_calls_itself_and_one_that_is_wrapped():
    k = 2

    def power(x, n):
        return x if n == 0 else k * power(x, n - 1)

    f = gluonx.from_jax(power, static_argnums=1)
    g = gluonx.from_jax(jax.grad(lambda x: (k * x**2).sum()))
    x = np.array([3.0])
    assert f(x, 3).tolist() == [24] and g(x).tolist() == [12]
    k = 3
    assert f(x, 3).tolist() == [81] and g(x).tolist() == [18]


def test_nothing_is_traced_twice_for_equal_values():
    traces = []
    k, ks, text = 2, [1, 2], "a"

    def fn(x):
        traces.append(x)
        return x * k + sum(ks) + len(text)

    f = gluonx.from_jax(fn)
    x = np.ones(2)
    f(x)
    count = len(traces)
    k, ks = int("2"), [1, 2]
    for _ in range(3):
        f(x)
    assert len(traces) == count


@pytest.mark.dear
def test_a_copy_of_a_functional_is_of_the_copied_net():
    pure = gluonx.functional(make())
    wanted, _ = pure.apply(pure.params, pure.state, None, X)
    for twin in (copy.deepcopy(pure), pickle.loads(pickle.dumps(pure))):
        out, _ = twin.apply(pure.params, pure.state, None, X)
        onp.testing.assert_array_equal(out, wanted)
        zero, _ = twin.apply(jax.tree.map(jnp.zeros_like, pure.params), pure.state, None, X)
        assert not zero.any()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))], ids=["copy", "pickle"])
def test_a_copy_of_a_functional_keeps_64_bits(copied):
    net = nn.Dense(1, in_units=2)
    net.initialize()
    net.cast("float64")
    net.weight.set_data(np.array([[1 / 3, 2 / 3]], dtype="float64"))
    net.bias.grad_req = "null"
    twin = copied(gluonx.functional(net))
    assert {a.dtype.name for a in (*twin.params.values(), *twin.state.values())} == {"float64"}
    onp.testing.assert_array_equal(twin.params["weight"], [[1 / 3, 2 / 3]])
    assert isinstance(twin.state["bias"], jax.Array)
