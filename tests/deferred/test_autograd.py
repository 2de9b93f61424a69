"""Gradients: of every order, through segments, into every kind of end point, and the errors about them."""

import contextlib
import gc
import os
import subprocess
import sys
import weakref

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import Parameter, autograd, engine, gluon, nd, nn, np, npx
from gluonx.common import policy
from gluonx.deferred.operators.derived import PLAIN, DerivedOp
from gluonx.deferred.record import integers
from gluonx.errors import GraphError, ShapeError, TracedValueError


@pytest.fixture(autouse=True)
def _many_programs(monkeypatch):
    """All of them come from a few lines of this file, which is not what is under test."""
    monkeypatch.setitem(policy.limits, "many", 10**6)


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


@pytest.mark.dear
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


def test_attach_grad_again_makes_a_new_end_point(mode):
    x = variable(2.0)
    old = x.grad
    with autograd.record():
        y = x * 3
        x.attach_grad()
        z = y * x
    z.backward()
    close(x.grad, [6.0]), close(old, [6.0])


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


@pytest.mark.dear
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


@pytest.mark.dear
@pytest.mark.parametrize("order", [2, 3, 4])
def test_higher_derivatives(order, mode):
    x = variable(0.3, -0.7)
    with autograd.record():
        y = np.tanh(x) * x
        cut(mode, y)
        for _ in range(order - 1):
            (y,) = autograd.grad(y, x, create_graph=True)
            cut(mode, y)
    y.backward()

    def f(x):
        return jnp.tanh(x) * x

    for _ in range(order):
        f = jax.grad(f)
    close(x.grad, jax.vmap(f)(jnp.array([0.3, -0.7])), 1e-4)


@pytest.mark.dear
def test_a_gradient_penalty(mode):
    x, w = variable(0.5, 1.5), variable(2.0, -1.0)

    def loss(np, x, w, gradient):
        g = gradient(lambda x: np.tanh(x * w).sum(), x)
        return ((g * g).sum() - 1.0) ** 2

    with autograd.record():
        y = np.tanh(x * w).sum()
        cut(mode, y)
        (g,) = autograd.grad(y, x, create_graph=True)
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
        (g,) = autograd.grad(y, x, head_grads=h, create_graph=True)
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


def _write_whole(x):
    x[:] = np.array([4.0, 5.0, 6.0])


def _write_through_a_view(x):
    view = x[:2]
    view[1] = 7.0


def _write_by_mask(x):
    x[onp.array([True, False, True])] = 7.0


def _write_by_places(x):
    x[onp.array([0, 2])] = np.array([7.0, 8.0])


def _write_out(x):
    np.add(x, 1.0, out=x)


def _add_in_place(x):
    x += 1.0


LEAF_WRITES = [_write_whole, _write_through_a_view, _write_by_mask, _write_by_places, _write_out, _add_in_place]


@pytest.mark.parametrize("write", LEAF_WRITES)
def test_a_leaf_is_not_written_to_while_recording(mode, write):
    """As in MXNet: gradients end in the value that would be replaced, so there is no right one to give."""
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        y = (x * x).sum()
        with pytest.raises(GraphError, match=r"inside record\(\).*pause"):
            write(x)
    close(x, [1.0, 2.0, 3.0])
    y.backward()
    close(x.grad, [2.0, 4.0, 6.0])


@pytest.mark.parametrize("write", LEAF_WRITES)
def test_a_leaf_written_under_pause_goes_on_as_a_leaf(mode, write):
    x, kept = variable(1.0, 2.0, 3.0), variable(1.0, 2.0, 3.0)
    with autograd.record():
        y = (x * x).sum()
        with autograd.pause():
            write(x)
        y = y + 10 * (x * x).sum()
    with autograd.pause():
        write(kept)
    cut(mode, y)
    y.backward()
    close(x, kept.asnumpy()), close(x.grad, [2.0, 4.0, 6.0] + 20 * kept.asnumpy())
    with autograd.record():  # and in the next graph, whatever backward passed
        y = (x * x).sum()
    y.backward()
    close(x.grad, 2 * kept.asnumpy())


def test_a_leaf_is_not_written_to_by_a_hybridized_forward(mode):
    class Doubles(nn.HybridBlock):
        def __init__(self, pauses):
            super().__init__()
            self.pauses = pauses

        def forward(self, x):
            with autograd.pause() if self.pauses else contextlib.nullcontext():
                x *= 2
            return x * 3

    for hybrid in (False, True):
        for pauses in (False, True):
            net = Doubles(pauses)
            net.hybridize(hybrid)
            for _ in range(2):
                x = variable(1.0, 2.0)
                with autograd.record():
                    if not pauses:
                        with pytest.raises(GraphError, match="pause"):
                            net(x)
                        continue
                    y = net(x)
                y.backward()
                close(x, [2.0, 4.0])
            z = np.array([1.0, 2.0])
            net(z)
            close(z, [2.0, 4.0])


def test_set_data_of_a_parameter_while_recording(mode):
    p = Parameter("w", shape=(3,))
    p.initialize(init="ones")
    with autograd.record():
        y = (p.data() * p.data()).sum()
        with pytest.raises(GraphError, match="parameter 'w' was written to"):
            p.set_data(np.array([4.0, 5.0, 6.0]))
    y.backward()
    close(p.grad(), [2.0, 2.0, 2.0])


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


def test_a_slice_with_a_gradient_is_an_array_of_its_own(mode):
    x = np.array([1.0, 2.0, 3.0])
    y = x[1:]
    y.attach_grad()
    assert x[1:].grad is None and y.grad.tolist() == [0.0, 0.0]
    for _ in range(2):
        with autograd.record():
            z = (y * y).sum()
        cut(mode, z)
        z.backward()
        close(y.grad, [2 * v for v in y.tolist()])
        y -= 0.25 * y.grad
    close(y, [0.5, 0.75])
    assert x.tolist() == [1.0, 2.0, 3.0]
    y[0] = 7.0
    assert y.tolist()[0] == 7.0 and x.tolist() == [1.0, 2.0, 3.0]


def test_a_recorded_slice_gets_its_gradient_and_so_does_its_base(mode):
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        y = x[:2]
        y.attach_grad()
        z = (y * y).sum()
    cut(mode, z)
    z.backward()
    close(y.grad, [2.0, 4.0])
    close(x.grad, [2.0, 4.0, 0.0])


def test_functions_of_autograd_take_slices(mode):
    x, gradient = np.array([[1.0, 2.0], [3.0, 4.0]])[1], np.zeros((2,))
    autograd.mark_variables([x], [gradient], "add")
    with autograd.record():
        z = (x * x).sum()
    cut(mode, z)
    z.backward(retain_graph=True)
    z.backward()
    close(gradient, [12.0, 16.0])
    assert x.grad is gradient
    with autograd.record():
        z = (x * x).sum()
    (found,) = autograd.grad(z, [x])
    close(found, [6.0, 8.0])


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
        (g,) = autograd.grad(y, x, create_graph=True)
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


@pytest.mark.dear
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_integers_take_part_but_have_no_gradient(dtype, mode):
    n = np.array([1, 0, 1], dtype=dtype)
    n.attach_grad()
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        y = (x * n.astype("float32") + np.where(n > 0, x, 0.0)).sum()
    cut(mode, y)
    y.backward()
    close(x.grad, [2.0, 0.0, 2.0]), close(n.grad, [0.0, 0.0, 0.0])


def test_an_integer_result_is_off_the_tape(mode):
    x = variable(1.0, 3.0, 2.0)
    with autograd.record():
        best = x.argmax()
        y = (npx.one_hot(best, 3) * x).sum()
    cut(mode, best)
    best.backward()
    close(x.grad, [0.0, 0.0, 0.0])
    y.backward()
    close(x.grad, [0.0, 1.0, 0.0])


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


@pytest.mark.parametrize("by_name", [True, False])
def test_a_function_forgets_what_it_kept(by_name, mode):
    class Square(autograd.Function):
        def forward(self, x):
            if by_name:
                self.saved_tensors = (x,)
            else:
                self.save_for_backward(x)
            return x * x

        def backward(self, dy):
            (x,) = self.saved_tensors
            self.saved_tensors = None
            return 2 * x * dy

    x, function = variable(3.0), Square()
    with autograd.record():
        y = function(x)
    cut(mode, y)
    y.backward()
    close(x.grad, [6.0])
    assert function.saved_tensors is None


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
        (g,) = autograd.grad(Cube()(x), x, create_graph=True)
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


# -- recorded values with attach_grad, heads without a gradient --------------------------------------------------------


def test_attach_grad_on_a_recorded_value_keeps_what_lies_before_it(mode):
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        h = x * 2
        y = (h * h).sum()
        h.attach_grad()  # what was computed from it before counts as well
        k = h * 3
        k.attach_grad("add")
        z = y + (k * k).sum()
    cut(mode, z)
    z.backward(retain_graph=True)
    for grads in ([1.0, 2.0], [2.0, 2.0]):
        close(x.grad, [80.0, 160.0, 240.0]), close(h.grad, [40.0, 80.0, 120.0])
        close(k.grad, onp.array([12.0, 24.0, 36.0]) * grads[0])
        if grads[0] == 1.0:
            z.backward()


def test_attach_grad_after_record_on_a_head_and_on_what_was_read(mode):
    x = variable(1.0, 2.0)
    with autograd.record():
        h = x * 2
        y = (h * h).sum()
    cut(mode, h, y)
    h.attach_grad()
    y.attach_grad()
    with autograd.record():
        z = y * 3 + h.sum()
    z.backward()
    close(y.grad, 3.0), close(h.grad, [13.0, 25.0]), close(x.grad, [26.0, 50.0])


def test_a_recorded_value_that_the_gradient_does_not_pass_keeps_its_own(mode):
    x = variable(1.0, 2.0)
    with autograd.record():
        h, other = x * 2, x * 5
        h.attach_grad(), other.attach_grad()
        other.grad[:] = 7
        y = (h * h).sum()
    cut(mode, y, other)
    y.backward()
    close(other.grad, [7.0, 7.0]), close(h.grad, [4.0, 8.0]), close(x.grad, [8.0, 16.0])


def test_a_recorded_value_without_a_gradient_of_its_own_stays_on_the_tape(mode):
    x = variable(1.0, 2.0)
    with autograd.record():
        h = x * 2
        h.attach_grad("null")
        y = (h * h).sum()
    y.backward()
    assert h.grad is None
    close(x.grad, [8.0, 16.0])


def test_arrays_of_mxnet_1_are_cut_by_attach_grad():
    x = nd.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        h = x * 2
        h.attach_grad()
        y = (h * h).sum()
    y.backward()
    close(x.grad, [0.0, 0.0, 0.0]), close(h.grad, [4.0, 8.0, 12.0])


@pytest.mark.parametrize("variables", ["one", "list", "tuple"])
def test_grad_gives_a_list(variables):
    x = variable(1.0, 2.0)
    with autograd.record():
        y = x * x
        asked = {"one": x, "list": [x], "tuple": (x,)}[variables]
        found = autograd.grad(y, asked, create_graph=True)
    assert type(found) is list
    close(found[0], [2.0, 4.0])


WITHOUT_GRADIENT = {
    "greater": lambda x: x > 1,
    "equal": lambda x: x == x,
    "argmax": lambda x: x.argmax(),
    "argsort": lambda x: x.argsort(),
    "isnan": np.isnan,
    "isfinite": np.isfinite,
    "logical_not": np.logical_not,
    "any": np.any,
    "to integers": lambda x: x.astype("int32"),
    "and back": lambda x: (x > 1).astype("float32") * 2,
    "sign": np.sign,
    "floor": np.floor,
    "one_hot": lambda x: npx.one_hot(x, 4),
    "stop_gradient": npx.stop_gradient,
    "a comparison of a recorded value": lambda x: (x * 2).sum() > 1,
}


@pytest.mark.parametrize("name", WITHOUT_GRADIENT)
def test_backward_of_what_has_no_slope_gives_zeros(name):
    x = variable(1.0, 2.0, 3.0)
    x.grad[:] = 5
    with autograd.record():
        y = WITHOUT_GRADIENT[name](x)
    y.backward()
    close(x.grad, [0.0, 0.0, 0.0])


def test_backward_of_several_heads_one_of_which_has_no_slope():
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        y, z = (x * x).sum(), x > 1
    autograd.backward([y, z])
    close(x.grad, [2.0, 4.0, 6.0])


def test_a_comparison_of_constants_was_not_recorded():
    x = np.array([1.0, 2.0])
    with autograd.record():
        y = x > 1
    with pytest.raises(GraphError):
        y.backward()


def test_integers_can_have_attach_grad():
    x = np.array([1, 2, 3], dtype="int32")
    x.attach_grad()
    assert x.grad.dtype == "int32" and x.grad.tolist() == [0, 0, 0]
    w = variable(1.0, 2.0, 3.0)
    with autograd.record():
        y = (x * w).sum()
    y.backward()
    close(w.grad, [1.0, 2.0, 3.0])


# -- detach ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.array, nd.array])
def test_detach_shares_its_memory(mode, make):
    x = make([1.0, 2.0, 3.0])
    d = x.detach()
    x[:] = 9
    close(d, [9.0, 9.0, 9.0])
    d[1] = 5
    close(x, [9.0, 5.0, 9.0])
    d += 1
    x *= 2
    close(d, x.asnumpy()), close(x, [20.0, 12.0, 20.0])
    assert isinstance(d, type(x))


def test_detach_of_a_leaf_is_a_constant_that_follows_it(mode):
    w = variable(1.0, 2.0)
    d = w.detach()
    for _ in range(3):
        with autograd.record():
            y = (w * d).sum()
        y.backward()
        close(w.grad, w.asnumpy())
        with autograd.pause():
            w -= 0.5 * w.grad
    close(w, [0.125, 0.25]), close(d, [0.125, 0.25])


def test_a_write_through_detach_changes_numbers_and_not_the_graph(mode):
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        h = x * 2
        d = h.detach()
        d[1] = 5
        y = (h * h).sum()
    cut(mode, y)
    y.backward()
    close(h, [2.0, 5.0, 6.0]), close(x.grad, [8.0, 20.0, 24.0])


def test_detach_of_slices_and_of_what_is_gone(mode):
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    x[0].detach()[:] = 9
    close(x, [[9.0, 9.0], [3.0, 4.0]])
    leaf = variable(1.0, 2.0)
    with autograd.record():
        d = (leaf * 2).detach()
    d += 1
    close(d, [3.0, 5.0])


@pytest.mark.parametrize("keep", [True, False], ids=["slice-held", "slice-dropped"])
@pytest.mark.parametrize("of", ["leaf", "result"])
def test_detach_of_a_recorded_slice_shares_the_arrays_memory(mode, of, keep):
    x = variable(1.0, 2.0, 3.0, 4.0)
    with autograd.record():
        y = x if of == "leaf" else x * 2
        whole, part = y[1:], y[1:][::2]
        d = part.detach()
        if not keep:
            del whole, part
    y[:] = [5.0, 6.0, 7.0, 8.0]
    close(d, [6.0, 8.0])
    with autograd.record():
        d[0] = 9
    close(y, [5.0, 9.0, 7.0, 8.0])
    d.detach()[:1].detach()[:] = 3
    close(y, [5.0, 3.0, 7.0, 8.0]), close(d, [3.0, 8.0])


def test_a_write_through_a_detached_slice_changes_numbers_and_not_the_graph(mode):
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        h = x * 2
        d = h[1:].detach()
        d[0] = 5
        y = (h * h).sum()
    cut(mode, y)
    y.backward()
    close(h, [2.0, 5.0, 6.0]), close(x.grad, [8.0, 20.0, 24.0])


def test_a_write_through_detach_after_another_array_was_read(mode):
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        h, other = x * 2, x * 3
        d = h.detach()
        other.wait_to_read()  # computes h too
        d[1] = 5
        y = (h * h).sum()
    y.backward()
    close(h, [2.0, 5.0, 6.0]), close(x.grad, [8.0, 20.0, 24.0])


@pytest.mark.parametrize("make", [np.array, nd.array], ids=["np", "nd"])
def test_attach_grad_to_a_recorded_value_after_another_array_was_read(mode, make):
    x = make([1.0, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        h, other = x * 2, x * 3
        other.wait_to_read()  # computes h too
        h.attach_grad()
        y = (h * h).sum() + x.sum()
    y.backward()
    close(h.grad, [4.0, 8.0, 12.0])
    close(x.grad, [9.0, 17.0, 25.0] if make is np.array else [1.0, 1.0, 1.0])  # nd cuts, as in MXNet 1


@pytest.mark.parametrize("read", [True, False], ids=["read", "unread"])
@pytest.mark.parametrize("key", [None, slice(1, None)], ids=["whole", "slice"])
def test_what_was_detached_keeps_the_last_write_to_what_is_gone(mode, key, read):
    x = variable(1.0, 2.0, 3.0)
    with autograd.record():
        y = x * 2
        d = y.detach() if key is None else y[key].detach()
    key = key or ...
    if read:
        close(d, onp.array([2.0, 4.0, 6.0])[key])
    y += 1
    y[2] = 9
    gone = weakref.ref(y)
    del y
    engine.waitall()
    assert gone() is None
    close(d, onp.array([3.0, 5.0, 9.0])[key])


def test_detach_follows_a_parameter_through_steps():
    from gluonx import Trainer

    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(init="ones")
    held = net.weight.data().detach()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    for _ in range(3):
        with autograd.record():
            y = net(np.ones((1, 2))).sum()
        y.backward()
        trainer.step(1)
        close(held, net.weight.data().asnumpy())
    close(held, [[-0.5, -0.5]])


@pytest.mark.dear
@pytest.mark.parametrize("part", [False, True], ids=["whole", "slice"])
def test_detach_keeps_no_graph(part):
    x = variable(1.0, 2.0)
    with autograd.record():
        h = x * 2
        y = (h * h).sum(keepdims=True)
        d = y[0].detach() if part else y.detach()
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None
    close(d, 20.0 if part else [20.0])


def test_which_slices_share_memory():
    x = np.zeros((10, 4))
    shares = [
        (x, x, True), (x, x[2:], True), (x[:2], x[5:], False), (x[:5], x[4:], True), (x, x.copy(), False),
        (x, x.detach(), True), (x[::2], x[1::2], False), (x[:, 0], x[:, 1], False), (x[::-1], x[0], True),
        (x[3:0:-1], x[0], False), (x[2][None], x[2:3], True), (x[4], x[:, 1][4:5], True), (x[1:][0], x[0], False),
        (x[:0], x, False), (x.detach()[:2], x[1:], True), (x, onp.zeros(3), False),
        (x[:2].detach(), x[1:], True), (x[:2].detach(), x[2:], False), (x[1:][1:].detach(), x.detach()[2], True),
    ]  # fmt: skip
    for a, b, wanted in shares:
        assert np.shares_memory(a, b) is wanted
        assert np.shares_memory(b, a) is wanted
    assert np.may_share_memory(x[:, 0], x[:, 1]) and not np.may_share_memory(x[:2], x[5:])


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


class _CtrlC:
    """Raises KeyboardInterrupt at one event (a call, a line, a return) of a record scope, once."""

    def __init__(self, moment):
        self.left, self.hit = moment, False

    def trace(self, frame, event, arg):
        ours = frame.f_code.co_filename.endswith("autograd.py") and "gluonx" in frame.f_code.co_filename
        if not ours or frame.f_code.co_name not in ("__enter__", "__exit__", "_leave"):
            return None
        self.left -= 1
        if self.left == 0:
            sys.settrace(None)
            self.hit = True
            raise KeyboardInterrupt
        return self.trace


@pytest.mark.parametrize("scope", ["record", "pause", "train_mode"])
@pytest.mark.parametrize("fails", [False, True])
def test_ctrl_c_in_entering_and_leaving_a_scope(scope, fails):
    hits = 0
    for moment in range(1, 100):
        x, w = np.array([1.0, 2.0]), variable(3.0, 4.0)
        trace = _CtrlC(moment)
        before = sys.gettrace()
        try:
            sys.settrace(trace.trace)
            with getattr(autograd, scope)():
                x += w * 2
                if fails:
                    raise ValueError
        except (KeyboardInterrupt, ValueError):
            pass
        finally:
            sys.settrace(before)
        assert not autograd.is_recording() and not autograd.is_training(), moment
        if scope == "record" and (fails or not trace.hit):
            close(x, [1.0, 2.0] if fails else [7.0, 10.0])
        with autograd.record():  # and the next step is as ever
            y = (w * w).sum()
        y.backward()
        close(w.grad, [6.0, 8.0])
        hits += trace.hit
        if not trace.hit:
            break
    assert hits > 10


def test_a_scope_that_is_held_stays_open():
    scope = autograd.record()
    scope.__enter__()
    assert autograd.is_recording()
    scope.__exit__(None, None, None)
    assert not autograd.is_recording()
    with contextlib.ExitStack() as stack:
        stack.enter_context(autograd.record())
        assert autograd.is_recording()
    assert not autograd.is_recording()


# -- forked processes --------------------------------------------------------------------------------------------------

FORK = """
import os, pickle, signal, sys, warnings
import numpy as onp
from gluonx import autograd, cpu, engine, nd, nn, np, npx
warnings.simplefilter("ignore")
early = os.fork()
if early == 0:
    signal.alarm(60)
    os._exit(0 if (np.ones(3) + 1).sum().item() == 6 else 1)  # nothing has computed: a child may
x = np.array(onp.ones(100_000))
net = nn.Dense(3, in_units=4)
net.initialize()
wanted = net(np.ones((2, 4))).asnumpy()
net.hybridize()
far = x * 2
far.wait_to_read()
with engine.host(False):
    compiled = x + 2
    compiled.wait_to_read()
with autograd.record():
    pending = x * 2
pending = pending + 1
def padded():
    parts = [nd.array(onp.ones(n)) for n in (300, 500, 200)]
    batch = nd.full((3, 500), -1.0)
    for row, part in enumerate(parts):
        batch[row, : part.shape[0]] = part
    return pickle.loads(pickle.dumps(batch)).asnumpy().sum() == 1000 - 500
def read(): return x.asnumpy().sum() == 100_000 and onp.ones(3).sum() == 3 and far[3].item() == 2
def stacked():
    images = [npx.image.to_tensor(np.array(onp.full((64, 64, 3), 255), dtype="uint8")) for _ in range(8)]
    return np.stack(images).asnumpy().sum() == 8 * 3 * 64 * 64
def large(): return (np.array(onp.ones(10**6)) * 2).sum().item() == 2e6 and (compiled * x).asnumpy().max() == 3
def zeros(): return np.zeros(3).asnumpy().sum() == 0 and (np.zeros((1000, 1000)) + 1).sum().item() == 1e6
def drawn(): return 0.4 < np.random.uniform(size=(1000,)).mean().item() < 0.6
def through():
    found = net(np.ones((2, 4)).to_device(cpu()))
    return onp.allclose(found.asnumpy(), wanted) and "array([2., 2.]" in repr(np.ones(2) + 1)
def switched_off():
    with engine.host(False):
        return (np.ones(3) + 1).sum().item() == 6
def gradient():
    w = np.ones(3)
    w.attach_grad()
    with autograd.record():
        y = (w * w).sum()
    y.backward()
    return w.grad.asnumpy()
def refused(compute):
    try: compute()
    except RuntimeError as error: return "spawn" in str(error) and "needs XLA" in str(error)
computations = [read, padded, stacked, large, zeros, drawn, through, switched_off, *[lambda f=f: refused(f) for f in (
    pending.asnumpy, gradient, lambda: np.ones(3).to_device("gpu"), lambda: (x + 1).__dlpack__(),
    lambda: npx.quantized_relu(np.array([1], dtype="int8")) if hasattr(npx, "quantized_relu") else pending.asnumpy(),
)]]
for compute in computations:
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        os._exit(0 if compute() else 1)
    if os.waitpid(pid, 0)[1]: sys.exit(f"child {computations.index(compute)} failed")
if os.waitpid(early, 0)[1]: sys.exit("the early child failed")
assert pending.asnumpy().max() == 3 and (x + 1).asnumpy().max() == 2
"""


@pytest.mark.dear
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_computes_by_numpy():
    """As a loader's own worker does; what only XLA can do is refused, and nothing waits for ever."""
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.dear
def test_a_backward_through_many_segments_compiles_a_kind_once():
    """A value is read after each of 100 forwards: their pull-backs are equal, and no program holds them all."""
    w = variable(0.5, 0.25)
    with autograd.record():
        total = 0
        for i in range(100):
            y = (np.tanh(w * np.array([1.0, 2.0])) * np.array([i + 1.0, 1.0])).sum()
            y.wait_to_read()
            total = total + y
    total.backward()
    slope = [1 - onp.tanh(0.5) ** 2, 2 * (1 - onp.tanh(0.5) ** 2)]
    close(w.grad, [slope[0] * 5050, slope[1] * 100], tol=1e-4)
    x = variable(0.5, 0.25)
    with autograd.record():  # a chain, where each segment leads to the one before
        h = x
        for _ in range(100):
            h = h * 1.01
            h.wait_to_read()
    h.backward()
    close(x.grad, [1.01**100] * 2, tol=1e-4)


@pytest.mark.parametrize("taken", [lambda w: w[None], lambda w: w[1:], lambda w: w * 1, lambda w: w.reshape(2, 2)])
@pytest.mark.parametrize("naive", [False, True])
def test_what_was_taken_before_attach_grad_leads_to_the_gradient_of_then(taken, naive):
    """As in MXNet 2.0.0b1."""
    with engine.mode("naive") if naive else contextlib.nullcontext():
        w = np.array([1.0, 2.0, 3.0, 4.0])
        w.attach_grad()
        before = w.grad
        with autograd.record():
            v = taken(w)
            w.attach_grad()
            h = v * 1.5
        h.backward()
        assert w.grad.tolist() == [0, 0, 0, 0]
        assert before.tolist() == [0 if taken(w).size == 3 else 1.5, 1.5, 1.5, 1.5]


class _TwoLosses(nn.HybridBlock):
    """One loss whose slope at 0 is 0, and another whose slope there is infinite."""

    def forward(self, x):
        return (x * x).sum(), np.sqrt(x).sum()


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("after", ["nothing", "a read", "another backward", "create_graph"])
def test_the_slope_of_what_a_gradient_does_not_pass_may_be_infinite(mode, hybrid, after):
    """Zeros in the place of its cotangent would make NaN of it: 0 times infinity."""
    net = _TwoLosses()
    net.hybridize(hybrid)
    x = variable(0.0, 1.0)
    with autograd.record():
        y, root = net(x)
        if after == "create_graph":
            y = (autograd.grad(y, x, create_graph=True)[0] * x).sum() / 2
    cut(mode, y)
    if after == "a read":
        root.item()
    if after == "another backward":
        root.backward(retain_graph=True)
        assert x.grad.tolist() == [onp.inf, 0.5]
    y.backward()
    assert x.grad.tolist() == [0, 2]


def test_the_gradient_of_one_output_alone(mode):
    """That of the eigenvectors of the identity does not exist."""
    x = np.array(onp.eye(2, dtype="float32"))
    x.attach_grad()
    with autograd.record():
        y = np.linalg.eigh(x)[0].sum()
    y.backward()
    close(x.grad, onp.eye(2))


def test_a_gradient_inside_beside_an_infinite_slope(mode):
    x = variable(0.0, 1.0)
    with autograd.record():
        h = x * 1
        h.attach_grad()
        y, root = (h * h).sum(), np.sqrt(h).sum()
    root.item()
    y.backward()
    assert h.grad.tolist() == x.grad.tolist() == [0, 2]


def test_what_a_gradient_passes_is_not_run_again_for_it():
    """Only the outputs behind which there is more than the gradient passes have the forward run again."""
    x = variable(0.5, 1.0)
    with autograd.record():
        h = np.tanh(x)
        y = (h * h).sum()
    y.item()
    segment = y.tape.segment
    h.wait_to_read()
    assert set(segment.outs) == {h.tape.slot, y.tape.slot}
    assert not segment._strays({y.tape.slot: None}) and segment._strays({h.tape.slot: None})


@pytest.mark.dear
def test_max_pooling_of_what_xla_computes_twice():
    """XLA computed a window once more for the gradient, with another rounding, and no element was the largest one."""
    net = gluon.nn.HybridSequential()
    channels = 3
    for filters in (4, 5):
        net.add(gluon.nn.Conv2D(filters, 3, padding=1, in_channels=channels), gluon.nn.BatchNorm(in_channels=filters))
        net.add(gluon.nn.Activation("relu"), gluon.nn.MaxPool2D(2))
        channels = filters
    net.add(gluon.nn.GlobalAvgPool2D(), gluon.nn.Flatten(), gluon.nn.Dense(10, in_units=5))
    net.initialize()
    numbers = onp.random.RandomState(0)
    for parameter in net.collect_params().values():
        if parameter.grad_req != "null":
            parameter.set_data(np.array(numbers.uniform(-0.4, 0.4, parameter.shape).astype("f")))
    numbers = onp.random.RandomState(0)
    x, y = np.array(numbers.rand(4, 3, 8, 8).astype("f")), np.array(numbers.randint(0, 10, 4))

    def gradients():
        with autograd.record():
            loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y).mean()
        loss.item()
        loss.backward()
        return [net[i].weight.grad().asnumpy() for i in (0, 4, 10)] + [net[1].gamma.grad().asnumpy()]

    engine.clear()
    with engine.host(False):
        found = [gradients() for _ in range(3)]
    with engine.mode("naive"):
        wanted = gradients()
    for each in found:
        for one, other in zip(each, wanted, strict=True):
            onp.testing.assert_allclose(one, other, 1e-4, 1e-5 * onp.abs(other).max())


def test_gradients_of_integers_begin_for_operators_that_the_collector_does_not_list():
    """``gc.freeze()`` hides objects from ``gc.get_objects()``."""
    made = DerivedOp("twice", lambda a: a * 2)
    assert made.cache == PLAIN
    gc.freeze()
    try:
        integers.arm()
        assert made.cache is None
    finally:
        integers.disarm()
        gc.unfreeze()


def test_a_function_of_ones_own_gives_whole_numbers_beside_what_has_a_gradient():
    """They end the pending graph, which has to be computed while it still has what the gradient continues from."""

    class Counted(autograd.Function):
        def forward(self, x, n):
            self.n = n.astype("float32")
            return x * self.n, n + 1

        def backward(self, dx, dn):
            return dx * self.n, None

    x, n = np.array([1.0, 2.0]), np.array([3, 4], dtype="int32")
    x.attach_grad()
    for _ in range(2):
        with autograd.record():
            y, after = Counted()(x * 2, n)
            z = y.sum()
        z.backward()
        assert (y.tolist(), after.tolist(), x.grad.tolist()) == ([6, 16], [4, 5], [6, 8])


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_weights_survive_what_a_function_called_by_the_program_raises(where):
    """XLA would have their buffers by then, so a program that calls back to Python is given none away."""

    class Doubled(autograd.Function):
        armed = ""

        def forward(self, x):
            assert self.armed != "forward", "refused"
            return np.array(x.asnumpy() * 2)

        def backward(self, dy):
            assert self.armed != "backward", "refused"
            return np.array(dy.asnumpy() * 2)

    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.large, self.small = nn.Dense(80, in_units=70), nn.Dense(3, in_units=80)

        def forward(self, x):
            return Doubled()(self.small(self.large(x)))

    net = Net()
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-4, "momentum": 0.9})

    def step():
        with autograd.record():
            loss = net(np.ones((2, 70))).sum()
        loss.backward()
        trainer.step(2)
        return float(loss)

    def weights():
        return [p.data().asnumpy() for p in net.collect_params().values()]

    for _ in range(3):
        step()
    before = weights()
    Doubled.armed = where
    with pytest.raises(Exception, match="refused"):
        step()
    Doubled.armed = ""
    for found, wanted in zip(weights(), before, strict=True):
        onp.testing.assert_array_equal(found, wanted)
    first = step()
    assert step() < first
