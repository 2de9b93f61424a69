"""foreach, while_loop and cond against the Python loops that they stand for: values, gradients, programs."""

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, nn, np, npx
from gluonx.errors import TracedValueError
from lib.derivatives import doubling


@pytest.fixture(params=["deferred", "naive", "hybrid"])
def mode(request):
    with engine.mode("naive" if request.param == "naive" else "deferred"):
        yield request.param


def wrapped(mode, fn, params=()):
    """`fn`, or a hybridized block whose forward it is."""
    if mode != "hybrid":
        return fn

    class Net(nn.HybridBlock):
        def forward(self, *xs):
            return fn(*xs)

    net = Net()
    net.hybridize()
    return net


def close(a, b):
    onp.testing.assert_allclose(onp.asarray(a), onp.asarray(b), rtol=1e-5, atol=1e-6)


def gradients(fn, *values):
    arrays = [np.array(v) for v in values]
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        y = fn(*arrays)
    y.backward()
    return y.asnumpy(), [a.grad.asnumpy() for a in arrays]


def python_foreach(body, data, states):
    outs = []
    for row in data:
        out, states = body(row, states)
        outs.append(out)
    return np.stack(outs), states


def python_while(cond, func, loop_vars, max_iterations):
    outs = []
    while len(outs) < max_iterations and bool(cond(*loop_vars)):
        out, loop_vars = func(*loop_vars)
        outs.append(out)
    shape = outs[0].shape
    return np.stack(outs + [np.zeros(shape)] * (max_iterations - len(outs))), loop_vars


X, S, W = onp.linspace(-1, 1, 8).reshape(4, 2).astype("float32"), onp.array([0.5, -0.5], "float32"), onp.float32(0.7)


# -- foreach -----------------------------------------------------------------------------------------------------------


@pytest.mark.dear
def test_foreach_is_the_python_loop(mode):
    def program(loop):
        def f(x, s, w):
            outs, last = loop(lambda row, s: (np.tanh(row * w) + s, s * row + w), x, s)
            return (outs * outs).sum() + (last * 2).sum()

        return f

    wanted = gradients(program(python_foreach), X, S, W)
    found = gradients(wrapped(mode, program(npx.foreach)), X, S, W)
    close(found[0], wanted[0])
    for a, b in zip(found[1], wanted[1]):
        close(a, b)


def test_foreach_keeps_the_nesting():
    def body(item, states):
        (a, b), (s, (t,)) = item, states
        return {"sum": a + b, "pair": [s, t]}, (s + a.sum(), [t * 2])

    outs, (s, (t,)) = npx.foreach(body, [np.ones((3, 2)), np.arange(3)], (np.array(0.0), [np.array(1.0)]))
    assert outs["sum"].tolist() == [[1, 1], [2, 2], [3, 3]] and outs["pair"][1].tolist() == [1, 2, 4]
    assert s.item() == 6.0 and t.item() == 8.0
    outs, states = npx.foreach(lambda x, s: (x * 2, s), np.arange(2), [])
    assert outs.tolist() == [0.0, 2.0] and states == []


def test_foreach_keeps_the_dtype_of_its_states():
    _, last = npx.foreach(lambda x, s: (x, s + x), np.ones((3,)), np.array(0, dtype="int32"))
    assert last.dtype == onp.int32 and last.item() == 3


def test_foreach_over_nothing():
    outs, last = npx.foreach(lambda x, s: (x * 2, s + 1), np.zeros((0, 2)), np.array(4.0))
    assert outs.shape == (0, 2) and last.item() == 4.0


@pytest.mark.parametrize("body", [lambda x, s: (x, [s, s]), lambda x, s: (x, [])], ids=["more", "fewer"])
def test_foreach_needs_as_many_states_as_it_got(body):
    with pytest.raises(ValueError, match=r"as many states as it got \(1\)"):
        npx.foreach(body, np.ones((2,)), np.array(0.0))


# -- while_loop --------------------------------------------------------------------------------------------------------


@pytest.mark.dear
def test_while_loop_is_the_python_loop(mode):
    def program(loop):
        def f(x, s, w):
            outs, (i, last) = loop(
                lambda i, s: i < 3, lambda i, s: (s * w, [i + 1, np.tanh(s + w) * x[0]]), [np.array(0.0), s], 5
            )
            return (outs**2).sum() + last.sum() * i

        return f

    wanted = gradients(program(python_while), X, S, W)
    found = gradients(wrapped(mode, program(npx.while_loop)), X, S, W)
    close(found[0], wanted[0])
    for a, b in zip(found[1], wanted[1]):
        close(a, b)


@pytest.mark.parametrize("start, steps", [(0.0, 4), (3.0, 1), (9.0, 0)])
def test_while_loop_pads_with_zeros_and_stops(start, steps):
    outs, (i,) = npx.while_loop(lambda i: i < 4, lambda i: (i + 10, [i + 1]), [np.array(start)], max_iterations=6)
    assert outs.tolist() == [start + 10 + k for k in range(steps)] + [0.0] * (6 - steps)
    assert i.item() == start + steps


def test_while_loop_stops_at_its_bound_and_needs_one():
    _, (i,) = npx.while_loop(lambda i: i < 100, lambda i: ([], [i + 1]), [np.array(0.0)], max_iterations=3)
    assert i.item() == 3
    with pytest.raises(ValueError, match="max_iterations"):
        npx.while_loop(lambda i: i < 1, lambda i: (i, [i]), [np.array(0.0)])
    with pytest.raises(ValueError, match="must return 1 loop variables, returned 2"):
        npx.while_loop(lambda i: i < 1, lambda i: (i, [i, i]), [np.array(0.0)], max_iterations=2)


def test_gradients_do_not_come_from_steps_that_did_not_run():
    x = np.array(2.0)
    x.attach_grad()
    with autograd.record():  # 1 / (i - 3) would be infinite in the fourth step
        _, (_, y) = npx.while_loop(
            lambda i, s: i < 3, lambda i, s: ([], [i + 1, s * x / (3.0 - i)]), [np.array(0.0), np.array(1.0)], 6
        )
    y.backward()
    close(y, 8 / 6), close(x.grad, 3 * 4 / 6)


# -- cond --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [2.0, -2.0])
def test_cond_takes_one_branch(value, mode):
    def program(x, w):
        return npx.cond(lambda x: x.sum() > 0, lambda x: x * w + 1, lambda x: np.tanh(x) * x, [x]).sum()

    def python(x, w):
        return (x * w + 1 if float(x.sum()) > 0 else np.tanh(x) * x).sum() + w * 0

    start = onp.array([value, 1.0], "float32")
    found, wanted = gradients(wrapped(mode, program), start, W), gradients(python, start, W)
    close(found[0], wanted[0])
    for a, b in zip(found[1], wanted[1]):
        close(a, b)


def test_cond_on_an_array_without_inputs_and_with_nests():
    a, b = np.array([1.0]), np.array([2.0])
    picked = npx.cond(np.array(0), lambda: {"x": a, "y": [b]}, lambda: {"x": b, "y": [a * 5]})
    assert picked["x"].tolist() == [2.0] and picked["y"][0].tolist() == [5.0]
    with pytest.raises(ValueError, match="same nesting"):
        npx.cond(np.array(1), lambda: [a], lambda: (a, b))


def test_cond_refuses_branches_of_different_shapes():
    with pytest.raises((TypeError, ValueError)):
        npx.cond(np.array(1), lambda: np.ones((2,)), lambda: np.ones((3,))).asnumpy()


# -- parameters, randomness, programs ----------------------------------------------------------------------------------


class Cell(nn.HybridBlock):
    """A recurrent net whose step is a block: its parameters are captured by the loop."""

    def __init__(self, loop):
        super().__init__()
        self.inner, self.drop, self._loop = nn.Dense(2, in_units=4, activation="tanh"), nn.Dropout(0.5), loop

    def forward(self, x, s):
        def body(row, s):
            s = self.drop(self.inner(np.concatenate([row, s], axis=1)))
            return s, s

        outs, last = self._loop(body, x, s)
        return (outs * outs).mean() + last.sum()


def _cell(loop, hybrid=False):
    net = Cell(loop)
    net.initialize()
    net.inner.weight.set_data(onp.linspace(-1, 1, 8).reshape(2, 4))
    if hybrid:
        net.hybridize()
    return net


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybrid"])
def test_captured_parameters_are_trained_and_nothing_compiles_anew(hybrid):
    net = _cell(npx.foreach, hybrid)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x, s = np.array(onp.random.RandomState(0).rand(5, 3, 2)), np.zeros((3, 2))

    def step():
        with autograd.record():
            value = net(x, s)
        value.backward()
        trainer.step(1)
        return value

    first = net.inner.weight.data().asnumpy()
    step(), step()
    engine.reset_stats()
    for _ in range(3):
        step()
    found = engine.stats()
    assert (found["programs_compiled"], found["dispatches"]) == (0, 3)
    assert not onp.allclose(net.inner.weight.data().asnumpy(), first)


@pytest.mark.dear
def test_gradients_of_captured_parameters_equal_those_of_the_python_loop(mode):
    ends = []
    for loop in (python_foreach, npx.foreach):
        net = _cell(loop, mode == "hybrid" and loop is npx.foreach)
        x, s = np.array(onp.random.RandomState(0).rand(5, 3, 2)), np.zeros((3, 2))
        with autograd.record(train_mode=False):
            value = net(x, s)
        value.backward()
        ends.append((value.asnumpy(), net.inner.weight.grad().asnumpy(), net.inner.bias.grad().asnumpy()))
    for a, b in zip(*ends):
        close(a, b)


@pytest.mark.parametrize("loop", ["foreach", "while_loop", "cond"])
def test_random_numbers_inside_differ_by_step_and_call_and_follow_the_seed(loop):
    def draw():
        if loop == "foreach":
            return npx.foreach(lambda x, s: (np.random.uniform(0, 1, (2,)), s), np.ones((3,)), [])[0].asnumpy()
        if loop == "while_loop":
            return npx.while_loop(
                lambda i: i < 3, lambda i: (np.random.uniform(0, 1, (2,)), [i + 1]), [np.array(0.0)], max_iterations=3
            )[0].asnumpy()
        return npx.cond(np.array(1), lambda: np.random.uniform(0, 1, (6,)), lambda: np.zeros((6,))).asnumpy()

    gluonx.random.seed(4)
    first, second = draw(), draw()
    gluonx.random.seed(4)
    again = draw()
    onp.testing.assert_array_equal(first, again)
    numbers = onp.concatenate([first.ravel(), second.ravel()])
    assert len(set(numbers.tolist())) == 12


@pytest.mark.parametrize("loop", ["foreach", "while_loop", "cond"])
def test_a_steady_loop_of_loops_compiles_once(loop):
    w = np.array([0.5, 0.5])
    w.attach_grad()

    def step(k):
        with autograd.record():
            x = np.ones((3, 2)) * k
            if loop == "foreach":
                y = npx.foreach(lambda row, s: (row * w, s + row * w), x, w * 0)[1]
            elif loop == "while_loop":
                y = npx.while_loop(lambda i, s: i < 2, lambda i, s: ([], [i + 1, s * w + x[0]]), [x[0, 0], w * 1], 4)[
                    1
                ][1]
            else:
                y = npx.cond(w.sum() > k - 2, lambda: w * 2, lambda: w * w)
            total = y.sum()
        total.backward()
        return w.grad.asnumpy()

    step(1.0), step(2.0)
    engine.reset_stats()
    for k in (1.0, 2.0, 3.0):
        step(k)
    assert engine.stats()["programs_compiled"] == 0


_hidden = None


def _through(x, *_):
    return _hidden(x)


def _each_loop(loop, fn, named=()):
    """``fn(x, named)`` where `loop` runs it once, on an array of one element; its function names both."""
    if loop == "foreach":
        return lambda x: npx.foreach(lambda row, s: (fn(row, named), s), x, [])[0].sum()
    if loop == "while_loop":
        return lambda x: npx.while_loop(lambda x: (x < 5).all(), lambda x: ([], [fn(x, named) + 6]), [x], 3)[1][0].sum()
    then, other = (lambda x: fn(x, named)), (lambda x: x * 1)
    if loop == "cond, else":
        then, other = other, then
    return lambda x: npx.cond(np.array(loop == "cond"), then, other, [x]).sum()


LOOPS = ["foreach", "while_loop", "cond", "cond, else"]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_derivative_that_a_body_hides_is_never_that_of_the_loop_before(loop, monkeypatch):
    """The values that a helper's custom_vjp closes over are neither in a trace's text nor in the body's own code."""
    run = _each_loop(loop, _through)
    values = []
    for slope in (3.0, 5.0, 3.0):
        monkeypatch.setitem(globals(), "_hidden", doubling(slope))
        value, (grad,) = gradients(run, [1.0])
        assert grad.tolist() == [slope]
        values.append(value.item())
    assert len(set(values)) == 1, "the loops differ in their derivatives alone"


@pytest.mark.parametrize("loop", LOOPS)
def test_a_body_that_names_a_list_compiles_once(loop, monkeypatch):
    monkeypatch.setitem(globals(), "_hidden", doubling(3.0))
    run = _each_loop(loop, lambda x, named: npx.relu(_through(x)) * named[1], [2.0, 1.0])
    for _ in range(2):
        assert gradients(run, [1.0])[1][0].tolist() == [3.0]
    engine.reset_stats()
    for _ in range(3):
        assert gradients(run, [1.0])[1][0].tolist() == [3.0]
    assert engine.stats()["programs_compiled"] == 0


@pytest.mark.dear
def test_loops_in_loops(mode):
    def f(x):
        def outer(row, s):
            inner, t = npx.foreach(lambda v, t: (v * t, t + v * s), row, s)
            picked = npx.cond(t > 0, lambda: t * 2, lambda: t * t)
            return inner, picked * 0.5

        outs, last = npx.foreach(outer, x, np.array(0.3))
        return outs.sum() + last

    def python(x):
        s, total = np.array(0.3), 0.0
        for row in x:
            t = s
            for v in row:
                total = total + v * t
                t = t + v * s
            s = (t * 2 if float(t) > 0 else t * t) * 0.5
        return total + s

    found, wanted = gradients(wrapped(mode, f), X), gradients(python, X)
    close(found[0], wanted[0]), close(found[1][0], wanted[1][0])


@pytest.mark.dear
def test_second_derivatives_through_foreach():
    x = np.array([0.5, -1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        _, y = npx.foreach(lambda v, s: ([], s * v + v * v * v), x, np.array(1.0))
        (g,) = autograd.grad(y, x, create_graph=True)
        total = (g * g).sum()
    total.backward()

    def f(x):
        s = 1.0
        for i in range(3):
            s = s * x[i] + x[i] ** 3
        return s

    wanted = jax.grad(lambda x: (jax.grad(f)(x) ** 2).sum())(jax.numpy.array([0.5, -1.0, 2.0]))
    close(x.grad, wanted)


def test_writes_to_outside_arrays_are_refused():
    outside = np.zeros((2,))

    def body(x, s):
        outside[:] = x
        return x, s

    with pytest.raises(TracedValueError, match="writes to an array from outside"):
        npx.foreach(body, np.ones((3, 2)), [])
    assert outside.tolist() == [0.0, 0.0]


def test_a_pending_input_is_not_computed_by_the_loop():
    x = np.ones((3,))
    x.attach_grad()
    with autograd.record():
        h = x * 2
        engine.reset_stats()
        outs, last = npx.foreach(lambda v, s: (v * h[0], s + v), h, np.array(0.0))
        before = engine.stats()["dispatches"]
        y = outs.sum() + last
    y.backward()
    assert before == 0
    close(x.grad, [2 + 4 * 2 + 2 * 4, 2 + 4, 2 + 4])
