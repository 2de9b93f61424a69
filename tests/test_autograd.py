"""Gradients: of every order, through segments, into every kind of end point, and the errors about them."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import autograd, engine, np, npx
from gluonx.deferred import flushing
from gluonx.errors import GraphError, ShapeError, TracedValueError


@pytest.fixture(autouse=True)
def _many_programs(monkeypatch):
    """All of them come from a few lines of this file, which is not what is under test."""
    monkeypatch.setitem(flushing.limits_of_churn, "programs", 10**6)


@pytest.fixture(params=["deferred", "naive", "split"])
def mode(request):
    """Whole graphs, operator by operator, and (with `split`) graphs computed before their backward."""
    with engine.mode("naive" if request.param == "naive" else "deferred"):
        yield request.param


def cut(mode, *arrays):
    if mode == "split":
        for a in arrays:
            a.wait_to_read()


def variable(*values, req="write", dtype="float32"):
    x = np.array(values, dtype=dtype)
    x.attach_grad(req)
    return x


def close(found, wanted, tol=1e-5):
    onp.testing.assert_allclose(onp.asarray(found, onp.float32), onp.asarray(wanted, onp.float32), rtol=tol, atol=tol)


# -- against jax.grad --------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "product": (lambda np, x, w: (x * w).sum(), (3,), (3,)),
    "matmul": (lambda np, x, w: np.tanh(x @ w).sum(), (2, 3), (3, 4)),
    "broadcast": (lambda np, x, w: (x + w * x).mean(), (2, 3), (1, 3)),
    "powers": (lambda np, x, w: (x**3 + 2**w + x**-1 + (x * x) ** 0.5).sum(), (3,), (3,)),
    "slices": (lambda np, x, w: (x[1:, ::-1] * w[None, 0] + x[0, 0]).sum(), (3, 2), (1, 2)),
    "gather": (lambda np, x, w: (x[onp.array([0, 2, 0])] * w).sum(), (3, 2), (3, 2)),
    "reductions": (lambda np, x, w: x.max() * w.min() + x.std() + np.prod(w), (4,), (3,)),
    "shapes": (lambda np, x, w: (x.reshape(2, 3).T @ w.reshape((2, 2)).transpose()).sum(), (6,), (4,)),
    "concatenate": (lambda np, x, w: (np.concatenate([x, w, x]) ** 2).sum(), (2,), (3,)),
    "where": (lambda np, x, w: np.where(x > 0.5, x * w, w * w).sum(), (4,), (4,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_equal_those_of_jax(name, mode, rng):
    fn, *shapes = FUNCTIONS[name]
    values = [rng.uniform(0.2, 1.5, s).astype("float32") for s in shapes]
    arrays = [np.array(v) for v in values]
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        y = fn(np, *arrays)
    cut(mode, y)
    y.backward()
    wanted = jax.grad(lambda *v: fn(jnp, *v).sum(), argnums=(0, 1))(*map(jnp.asarray, values))
    for a, w in zip(arrays, wanted):
        close(a.grad, w, 1e-4)


# -- end points --------------------------------------------------------------------------------------------------------


def test_write_replaces_add_accumulates_null_takes_none(mode):
    w, a, n = variable(2.0), variable(2.0, req="add"), variable(2.0)
    n.attach_grad("null")
    assert n.grad is None
    for _ in range(3):
        with autograd.record():
            y = w * a * 3 + n
        cut(mode, y)
        y.backward()
    close(w.grad, [6.0]), close(a.grad, [18.0])
    a.zero_grad()
    close(a.grad, [0.0])


def test_a_gradient_handle_stays_the_same_object(mode):
    x = variable(1.0)
    held = x.grad
    close(held, [0.0])
    with autograd.record():
        y = x * 5
    y.backward()
    assert x.grad is held and held.tolist() == [5.0]


def test_a_variable_not_reached_keeps_its_gradient(mode):
    x, z = variable(1.0), variable(1.0)
    with autograd.record():
        y = x * z
    y.backward()
    with autograd.record():
        y = x * 7
    y.backward()
    close(x.grad, [7.0]), close(z.grad, [1.0])


def test_two_variables_on_one_buffer(mode):
    x = variable(1.0, 2.0)
    z = x.copy()
    z.attach_grad()
    with autograd.record():
        y = (x * 3 + z * x).sum()
    cut(mode, y)
    y.backward()
    close(x.grad, [4.0, 5.0]), close(z.grad, [1.0, 2.0])


def test_mark_variables(mode):
    x, g = np.array([1.0, 2.0]), np.array([9.0, 9.0])
    autograd.mark_variables([x], [g], "add")
    with autograd.record():
        y = x * x
    cut(mode, y)
    y.backward()
    assert x.grad is g
    close(g, [11.0, 13.0])
    autograd.mark_variables(x, g)
    with autograd.record():
        y = x * x
    y.backward()
    close(g, [2.0, 4.0])


def test_attach_grad_again_makes_a_new_end_point_and_cuts(mode):
    x = variable(2.0)
    with autograd.record():
        y = x * 3
        y.attach_grad()
        z = y * y
    z.backward()
    close(y.grad, [12.0]), close(x.grad, [0.0])


# -- heads -------------------------------------------------------------------------------------------------------------


def test_several_heads_with_head_gradients(mode):
    x = variable(1.0, 2.0)
    with autograd.record():
        a, b = x * 2, x * x
    cut(mode, a)
    autograd.backward([a, b], [np.array([1.0, 10.0]), None])
    close(x.grad, [4.0, 24.0])


def test_one_head_twice(mode):
    x = variable(3.0)
    with autograd.record():
        y = x * x
    autograd.backward([y, y])
    close(x.grad, [12.0])


@pytest.mark.parametrize("given, error", [(np.ones((3,)), ShapeError), ([np.ones((2,))] * 2, ValueError)])
def test_head_gradients_that_do_not_fit(given, error):
    x = variable(1.0, 2.0)
    with autograd.record():
        y = x * 2
    with pytest.raises(error, match=r"\(2,\) expected, \(3,\) came|1 heads need 1 head gradients, got 2"):
        autograd.backward([y], given if isinstance(given, list) else [given])
    y.backward()
    close(x.grad, [2.0, 2.0])


@pytest.mark.parametrize("heads, error", [([], GraphError), ([1.0], TypeError)])
def test_what_is_no_head(heads, error):
    with pytest.raises(error):
        autograd.backward(heads)


def test_what_was_not_recorded_has_no_gradient(mode):
    x = variable(1.0)
    for y in (x * 2, np.ones((1,))):
        with pytest.raises(GraphError, match="no recorded operation computed"):
            y.backward()
    with autograd.record():
        y = np.ones((1,)) * 2
    with pytest.raises(GraphError, match="no recorded operation computed"):
        y.backward()


# -- keeping and freeing -----------------------------------------------------------------------------------------------


def test_a_second_backward_needs_retain_graph(mode):
    x = variable(2.0)
    with autograd.record():
        y = x * x
    cut(mode, y)
    y.backward(retain_graph=True)
    y.backward()
    close(x.grad, [4.0])
    with pytest.raises(GraphError, match="freed by an earlier backward"):
        y.backward()
    close(x.grad, [4.0])


def test_a_part_that_was_freed_is_found(mode):
    x = variable(2.0)
    with autograd.record():
        h = x * x
        a, b = h * 2, h * 3
    cut(mode, a, b)
    a.backward()
    with pytest.raises(GraphError, match="freed"):
        b.backward()


def test_losses_of_separate_parts_go_back_one_by_one(mode):
    x, z = variable(2.0), variable(3.0)
    with autograd.record():
        a, b = x * x, z * z
    if mode != "split":
        a.backward(), b.backward()
        close(x.grad, [4.0]), close(z.grad, [6.0])


def test_the_graph_dies_with_its_handles(mode):
    x = variable(1.0, 2.0)
    with autograd.record():
        y = x * 2
    y.wait_to_read()
    if y.tape is not None:
        held = weakref.ref(y.tape.segment)
        del y
        gc.collect()
        assert held() is None


# -- grad --------------------------------------------------------------------------------------------------------------


def test_grad_returns_and_stores_nothing(mode):
    x = variable(3.0)
    with autograd.record():
        y = x * x
    cut(mode, y)
    (g,) = autograd.grad(y, [x])
    close(g, [6.0]), close(x.grad, [0.0])
    assert autograd.grad.__module__ == "gluonx.autograd"


def test_grad_with_respect_to_what_lies_between(mode):
    x = variable(3.0)
    with autograd.record():
        h = x * 2
        k = np.tanh(h * 0.1)
        y = h * k
    cut(mode, y)
    gh, gx = autograd.grad(y, [h, x])
    t = onp.tanh(0.6)
    wanted = t + 6 * 0.1 * (1 - t**2)
    close(gh, [wanted]), close(gx, [2 * wanted])


def test_grad_needs_a_variable_that_the_head_depends_on(mode):
    x, z = variable(1.0), variable(1.0)
    with autograd.record():
        y = x * 2
    with pytest.raises(GraphError, match="do not depend"):
        autograd.grad(y, z)
    with pytest.raises(GraphError, match=r"shape \(1,\) that has neither"):
        autograd.grad(y, np.ones((1,)))


@pytest.mark.parametrize("order", [2, 3, 4])
def test_higher_derivatives(order, mode):
    x = variable(0.3, -0.7)
    with autograd.record():
        y = np.tanh(x) * x
        cut(mode, y)
        for _ in range(order - 1):
            y = autograd.grad(y, x, create_graph=True)
            cut(mode, y)
    y.backward()

    def f(x):
        return jnp.tanh(x) * x

    for _ in range(order):
        f = jax.grad(f)
    close(x.grad, jax.vmap(f)(jnp.array([0.3, -0.7])), 1e-4)


def test_a_gradient_penalty(mode):
    x, w = variable(0.5, 1.5), variable(2.0, -1.0)

    def loss(np, x, w, gradient):
        g = gradient(lambda x: np.tanh(x * w).sum(), x)
        return ((g * g).sum() - 1.0) ** 2

    with autograd.record():
        y = np.tanh(x * w).sum()
        cut(mode, y)
        g = autograd.grad(y, x, create_graph=True)
        value = ((g * g).sum() - 1.0) ** 2
    cut(mode, value)
    value.backward()
    wanted = jax.grad(lambda w: loss(jnp, jnp.array([0.5, 1.5]), w, lambda f, x: jax.grad(f)(x)))(
        jnp.array([2.0, -1.0])
    )
    close(w.grad, wanted, 1e-4)


def test_mixed_second_derivatives_with_head_gradients(mode):
    x, z, h = variable(1.0, 2.0), variable(3.0, 4.0), variable(1.0, 0.5)
    with autograd.record():
        y = x * x * z
        g = autograd.grad(y, x, head_grads=h, create_graph=True)
        total = g.sum()
    total.backward()
    close(z.grad, [2.0, 2.0]), close(h.grad, [6.0, 16.0])


# -- in place, views ---------------------------------------------------------------------------------------------------


def test_in_place_code_is_differentiated_as_it_ran(mode):
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        y = x * 2
        z = y * y
        y[0] = 10.0
        y[1:] *= 3
        total = (z + y).sum()
    cut(mode, total)
    total.backward()
    close(x.grad, [8.0, 22.0, 30.0])


def test_in_place_on_a_variable_goes_through_to_its_start(mode):
    x = variable(2.0)
    with autograd.record():
        x *= 3
        y = x * x
    y.backward()
    close(x, [6.0]), close(x.grad, [36.0])


def test_gradients_through_views_of_views(mode):
    x = variable(*range(1, 7))
    v = x[1:]
    w = v[::2]
    with autograd.record():
        y = (w * w).sum() + v[0] * x[1]
    cut(mode, y)
    y.backward()
    close(x.grad, [0.0, 8.0, 0.0, 8.0, 0.0, 12.0])


def test_writes_through_a_view_are_recorded(mode):
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        h = x * 1.0
        v = h[1:]
        v *= x[0]
        v[0] = 5.0
        y = h.sum()
    y.backward()
    close(x.grad, [1.0 + 3.0, 0.0, 1.0])


def test_a_slice_has_no_gradient_of_its_own():
    with pytest.raises(GraphError, match="shares its base's value"):
        np.ones((3,))[1:].attach_grad()


def test_writing_a_variable_into_an_array(mode):
    w, x = variable(1.0, 2.0), np.zeros((2,))
    with autograd.record():
        x[:] = w
        y = (x * x).sum()
    cut(mode, y)
    y.backward()
    close(w.grad, [2.0, 4.0])


def test_what_pause_computes_is_a_constant_also_where_the_graph_was_computed_before(mode):
    x = variable(1.0, 2.0)
    with autograd.record():
        h = x * 2
        with autograd.pause():
            p = h * 5
        y = (h * p).sum()
        cut(mode, y)
        g = autograd.grad(y, x, create_graph=True)
        z = (g * x).sum()
    z.backward()
    close(g, [20.0, 40.0]), close(x.grad, [20.0, 40.0])


def test_pause_and_detach_cut(mode):
    x, s = variable(1.0, 2.0), np.zeros((2,))
    with autograd.record():
        h = x * 2
        with autograd.pause():
            p = h * 5
            s[:] = h
        y = (h * p + h.detach() * x + s * x).sum()
    cut(mode, y)
    y.backward()
    close(x.grad, [2 * 10.0 + 2.0 + 2.0, 2 * 20.0 + 4.0 + 4.0])


def test_detached_first_then_whole_as_in_a_gan(mode):
    x, w = variable(1.0, 2.0), variable(1.0, 2.0)
    with autograd.record():
        y = x * 2
        first, second = (y.detach() * w).sum(), (y * w).sum()
    first.backward()
    close(w.grad, [2.0, 4.0]), close(x.grad, [0.0, 0.0])
    if mode != "split":
        second.backward()
        close(x.grad, [2.0, 4.0])


# -- dtypes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_floats_keep_their_dtype(dtype, mode):
    x = variable(1.0, 2.0, dtype=dtype)
    with autograd.record():
        y = (x * 2.5 + 1) ** 2 / 3
    assert y.dtype == x.dtype
    cut(mode, y)
    y.backward()
    assert x.grad.dtype == x.dtype
    close(x.grad, [2 * 3.5 * 2.5 / 3, 2 * 6 * 2.5 / 3], 2e-2)


def test_gradients_through_a_cast(mode):
    x = variable(1.0, 2.0)
    with autograd.record():
        y = (x.astype("float16") * 2).astype("float32") * x
    y.backward()
    assert x.grad.dtype == onp.float32
    close(x.grad, [4.0, 8.0])


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_integers_take_part_but_have_no_gradient(dtype, mode):
    n = np.array([1, 0, 1], dtype=dtype)
    with pytest.raises(TypeError, match="has no gradient"):
        n.attach_grad()
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        y = (x * n.astype("float32") + np.where(n > 0, x, 0.0)).sum()
    cut(mode, y)
    y.backward()
    close(x.grad, [2.0, 0.0, 2.0])


def test_an_integer_result_is_off_the_tape(mode):
    x = variable(1.0, 3.0, 2.0)
    with autograd.record():
        best = x.argmax()
        y = npx.one_hot(best, 3).sum() * 1.0
    with pytest.raises(GraphError, match="no recorded operation"):
        best.backward()
    with pytest.raises(GraphError, match="no recorded operation"):
        y.backward()


# -- Function ----------------------------------------------------------------------------------------------------------


class Scaled(autograd.Function):
    """x * y with gradients that tell it was asked."""

    def forward(self, x, y):
        assert not autograd.is_recording()
        self.save_for_backward(x, y)
        return x * y, x + y

    def backward(self, dp, ds):
        x, y = self.saved_tensors
        return dp * y * 10 + ds, dp * x * 100 + ds


def test_a_function_uses_its_own_backward(mode):
    x, y = variable(2.0), variable(3.0)
    with autograd.record():
        product, total = Scaled()(x * 1.0, y)
        z = product * 2 + total
    cut(mode, z)
    z.backward()
    close(x.grad, [61.0]), close(y.grad, [401.0])


def test_a_function_with_one_output_used(mode):
    x, y = variable(2.0), variable(3.0)
    with autograd.record():
        z = Scaled()(x, y)[0] * 1.0
    z.backward()
    close(x.grad, [30.0]), close(y.grad, [200.0])


def test_a_function_is_differentiated_twice(mode):
    class Cube(autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x**3

        def backward(self, dy):
            (x,) = self.saved_tensors
            return 3 * x * x * dy

    x = variable(2.0)
    with autograd.record():
        g = autograd.grad(Cube()(x), x, create_graph=True)
    g.backward()
    close(x.grad, [12.0])


def test_a_function_serves_once_and_outside_of_record_only_computes():
    f = Scaled()
    assert f(np.array([2.0]), np.array([3.0]))[0].item() == 6.0
    with pytest.raises(GraphError, match="serves one call"):
        f(np.array([2.0]), np.array([3.0]))
    with pytest.raises(TypeError, match="must define backward"):
        autograd.Function().backward()


# -- scopes ------------------------------------------------------------------------------------------------------------


def test_scopes_nest_and_restore():
    def states():
        return autograd.is_recording(), autograd.is_training()

    seen = [states()]
    with autograd.record(train_mode=False):
        seen.append(states())
        with autograd.train_mode():
            seen.append(states())
            with autograd.pause():
                seen.append(states())
        with autograd.predict_mode(), autograd.record():
            seen.append(states())
        seen.append(states())
    assert seen == [(False, False), (True, False), (True, True), (False, False), (True, True), (True, False)]
    assert states() == (False, False)

    @autograd.record()
    def recorded():
        return states()

    assert recorded() == (True, True) and states() == (False, False)
    assert autograd.set_recording(True) is False and autograd.set_recording(False) is True
    assert autograd.set_training(True) is False and autograd.set_training(False) is True


def test_backward_inside_a_trace_is_refused():
    from gluonx import nn

    class Net(nn.HybridBlock):
        def forward(self, x):
            x.backward()
            return x

    net = Net()
    net.hybridize()
    with pytest.raises(TracedValueError, match="cannot be called inside a hybridized forward"):
        net(np.ones((2,)))


def test_backward_inside_record(mode):
    x = variable(2.0)
    with autograd.record():
        y = x * x
        y.backward()
        z = x * x * x
    close(x.grad, [4.0])
    z.backward()
    close(x.grad, [12.0])
