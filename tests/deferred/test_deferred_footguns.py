"""Every way in which deferral could surprise, as a test: what is lost, what is wrong, what is slow; the worst first."""

import asyncio
import copy
import gc
import signal
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, loss, nn, np
from gluonx.deferred.run import flushing
from gluonx.deferred.run.program import Program

pytestmark = pytest.mark.usefixtures("young_heap")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(flushing, "_sites", {})
    gc.collect()
    engine.waitall()
    engine.reset_stats()


class Setup:
    """A small net with moving averages, its trainer, and a step."""

    def __init__(self, optimizer="adam", hybrid=False, keep_grads=True, width=4):
        self.net = nn.HybridSequential()
        self.net.add(nn.Dense(width, in_units=3), nn.BatchNorm(in_channels=width), nn.Dense(2, in_units=width))
        self.net.initialize()
        if hybrid:
            self.net.hybridize()
        self.trainer = Trainer(self.net.collect_params(), optimizer, {"learning_rate": 0.1}, keep_grads=keep_grads)
        self.x = np.array(onp.random.RandomState(0).rand(5, 3))
        self.loss = loss.L2Loss()

    @property
    def weight(self):
        return self.net[0].weight.data()

    def forward(self):
        self.last = None
        with autograd.record():
            out = self.net(self.x)
            self.last = self.loss(out, out * 0 + 1)
        return self.last

    def step(self):
        self.forward().backward()
        self.trainer.step(5)
        self.last = None

    def steps(self, n):
        for _ in range(n):
            self.step()

    def values(self):
        return {n: p.data().asnumpy() for n, p in self.net.collect_params().items()}


def same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        onp.testing.assert_array_equal(a[name], b[name], err_msg=name)


# == wrong or lost values: what users hold is never donated, deleted or changed ========================================

HOLDERS = {
    "jax.Array": lambda w: jnp.asarray(w),
    "numpy view": lambda w: onp.asarray(w),
    "dlpack": lambda w: jax.dlpack.from_dlpack(w),
    "numpy from dlpack": lambda w: onp.from_dlpack(w),
    "copy": lambda w: w.copy(),
    "deepcopy": lambda w: copy.deepcopy(w),
    "pytree": lambda w: jax.tree.leaves({"w": w})[0],
}
FOLLOWERS = {"detach": lambda w: w.detach(), "slice": lambda w: w.detach()[:]}  # they share memory, as in MXNet


WIDE = 2000
"""Wide enough for the first weight to travel on its own and not in a vector of small ones."""


@pytest.mark.dear
@pytest.mark.parametrize("width", [4, WIDE])
@pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybrid"])
def test_what_a_user_took_of_a_parameter_survives_steps(hybrid, width):
    setup = Setup(hybrid=hybrid, width=width)
    setup.steps(2)
    held = {}
    engine.reset_stats()
    for name, take in HOLDERS.items():
        taken = take(setup.weight)
        held[name] = (taken, onp.array(taken, copy=True))
        setup.step()
    following = {name: take(setup.weight) for name, take in FOLLOWERS.items()}
    setup.step()
    for name, taken in following.items():
        onp.testing.assert_array_equal(taken.asnumpy(), setup.weight.asnumpy(), err_msg=name)
    for name, (taken, before) in held.items():
        onp.testing.assert_array_equal(onp.asarray(taken), before, err_msg=name)
        assert not onp.array_equal(setup.weight.asnumpy(), before)
    assert engine.stats()["programs_compiled"] == 0


@pytest.mark.dear
def test_a_held_buffer_is_copied_once_and_counted():
    setup = Setup(width=WIDE)
    setup.steps(2)
    held = jnp.asarray(setup.weight)
    engine.reset_stats()
    setup.step()
    assert engine.stats()["copies"] == 1
    setup.step()
    assert engine.stats()["copies"] == 1
    assert not held.is_deleted()


@pytest.mark.dear
def test_nothing_is_copied_where_nobody_holds_anything():
    setup = Setup()
    setup.steps(2)
    engine.reset_stats()
    setup.steps(3)
    assert engine.stats()["copies"] == 0


def test_two_parameters_on_one_buffer_each_get_their_own_update():
    a, b = (nn.Dense(2, in_units=2, use_bias=False) for _ in range(2))
    a.initialize(), b.initialize()
    b.weight.data()._assign(a.weight.data())
    start = a.weight.data().asnumpy()
    trainer = Trainer([a.weight, b.weight], "sgd", {"learning_rate": 1.0})
    x = np.ones((1, 2))
    for _ in range(2):
        with autograd.record():
            value = (a(x) * 1.0 + b(x) * 2.0).sum()
        value.backward()
        trainer.step(1)
    onp.testing.assert_allclose(a.weight.data().asnumpy(), start - 2, rtol=1e-6)
    onp.testing.assert_allclose(b.weight.data().asnumpy(), start - 4, rtol=1e-6)


def test_tied_weights_get_one_update_of_the_summed_gradient():
    a = nn.Dense(2, in_units=2, use_bias=False)
    b = nn.Dense(2, in_units=2, use_bias=False)
    b.weight = a.weight
    a.initialize()
    start = a.weight.data().asnumpy()
    trainer = Trainer({**a.collect_params(), **{f"b.{k}": v for k, v in b.collect_params().items()}}, "sgd")
    trainer.set_learning_rate(1.0)
    x = np.ones((1, 2))
    with autograd.record():
        value = (a(x) + b(x) * 2.0).sum()
    value.backward()
    trainer.step(1)
    onp.testing.assert_allclose(a.weight.data().asnumpy(), start - 3, rtol=1e-6)


def test_an_input_that_is_a_parameter_of_another_net_is_not_donated():
    setup = Setup()
    embedding = np.array(onp.random.RandomState(1).rand(5, 3))
    setup.x = embedding
    setup.steps(3)
    assert embedding.asnumpy().shape == (5, 3)


def test_saving_before_a_step_is_right_and_the_file_is_of_that_moment(tmp_path):
    setup = Setup()
    setup.step()
    file = tmp_path / "p.safetensors"
    setup.net.save_parameters(str(file))
    before = setup.values()
    setup.steps(2)
    other = Setup()
    other.net.load_parameters(str(file))
    same(other.values(), before)


def test_a_parameter_read_between_backward_and_step_is_the_old_one():
    setup = Setup("sgd")
    setup.step()
    before = setup.weight.asnumpy()
    setup.forward().backward()
    middle = setup.weight.asnumpy()
    setup.trainer.step(5)
    onp.testing.assert_array_equal(before, middle)
    assert not onp.array_equal(setup.weight.asnumpy(), before)


def test_a_numpy_array_changed_after_it_was_used_does_not_change_the_result():
    x, noise = np.ones((3,)), onp.ones(3, "float32")
    with autograd.record():
        y = x + noise
    noise[:] = 100
    assert y.tolist() == [2.0, 2.0, 2.0]
    z = np.array(noise)
    noise[:] = 7
    assert z.tolist() == [100.0] * 3


def test_gradients_stay_readable_after_the_step_and_the_next_backward():
    setup = Setup("sgd")
    setup.step()
    grad = setup.weight.grad
    first = grad.asnumpy()
    held = grad.copy()
    setup.step()
    assert grad is setup.weight.grad
    assert not onp.array_equal(grad.asnumpy(), first)
    onp.testing.assert_array_equal(held.asnumpy(), first)


def test_keep_grads_false_gives_them_up_with_a_clear_error():
    setup = Setup("sgd", keep_grads=False)
    setup.steps(2)
    with pytest.raises(gluonx.errors.GluonxError, match="given up when the step ended"):
        setup.weight.grad.asnumpy()
    plain = Setup("sgd")
    assert setup.values().keys() == plain.values().keys()


# == exceptions and Ctrl-C leave everything as it was ==================================================================


class Stop(Exception):
    pass


def _interrupted_where(setup, monkeypatch, where, error):
    """Arranges that the next step fails at `where`; returns what undoes it."""
    with monkeypatch.context() as patch:
        if where == "forward":

            def hook(*_):
                raise error

            handle = setup.net[2].register_forward_pre_hook(hook)
            with pytest.raises(type(error)):
                setup.step()
            handle.detach()
        elif where == "compile":
            setup.x = np.array(onp.random.RandomState(3).rand(7, 3))  # a new program

            def fail(self, args):
                raise error

            patch.setattr(Program, "_trace", fail)
            patch.setattr(Program, "put_on_host", fail)
            with pytest.raises(type(error)):
                setup.step()
        elif where == "run":

            def fail_run(*_args):
                raise error

            patch.setattr(flushing, "_call", fail_run)
            with pytest.raises(type(error)):
                setup.step()
        elif where == "update":

            def fail_step(*_args, **_kwargs):
                raise error

            patch.setattr(setup.trainer, "_plan", fail_step)
            with pytest.raises(type(error)):
                setup.step()


@pytest.mark.parametrize("where", ["forward", "compile", "run", "update"])
def test_a_failed_step_changes_nothing_and_the_next_one_works(where, monkeypatch):
    setup, twin = Setup(), Setup()
    for name, p in twin.net.collect_params().items():
        p.set_data(setup.net.collect_params()[name].data())
    setup.steps(2), twin.steps(2)
    x = setup.x
    for error in (Stop("no"), KeyboardInterrupt()):
        before = setup.values()
        _interrupted_where(setup, monkeypatch, where, error)
        setup.x, setup.last = x, None
        if where == "update":  # the backward is done and waits: the averages have moved, as in Gluon
            after = setup.values()
            same(
                {k: v for k, v in after.items() if "run" not in k}, {k: v for k, v in before.items() if "run" not in k}
            )
            continue
        same(setup.values(), before)
        engine.reset_stats()
        setup.step(), twin.step()
        assert engine.stats()["programs_compiled"] == 0
        for name, value in twin.values().items():
            onp.testing.assert_allclose(setup.values()[name], value, rtol=1e-6, err_msg=name)
    assert setup.trainer.optimizer.num_update == (2 if where == "update" else 4)


def test_an_exception_in_a_user_line_inside_record_restores_in_place_writes():
    x, total = np.ones((2,)), np.zeros((2,))
    x.attach_grad()
    with pytest.raises(Stop), autograd.record():
        total += x * 2
        raise Stop
    assert total.tolist() == [0.0, 0.0] and not autograd.is_recording()
    with autograd.record():
        y = x * 3
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_value_of_a_failed_program_says_so(monkeypatch):
    x = np.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = x * 2
    y.backward()
    with monkeypatch.context() as patch:
        patch.setattr(flushing, "_call", lambda *_: (_ for _ in ()).throw(Stop("device")))
        with pytest.raises(Stop):
            y.asnumpy()
    with pytest.raises(gluonx.errors.GraphError, match="failed or was interrupted"):
        y.asnumpy()
    assert x.asnumpy().tolist() == [1.0, 1.0]
    assert x.grad.shape == (2,)


@pytest.mark.dear
def test_ctrl_c_during_a_first_run_waits_until_the_results_are_in_place(monkeypatch):
    engine.clear()  # another test may have run this program
    setup = Setup("sgd")
    look = flushing._changed_avals

    def interrupted(*args):  # behind the first call of a program, where handlers still wait
        signal.raise_signal(signal.SIGINT)
        return look(*args)

    monkeypatch.setattr(flushing, "_changed_avals", interrupted)
    with pytest.raises(KeyboardInterrupt):
        setup.step()
    monkeypatch.undo()
    for value in setup.values().values():
        assert onp.isfinite(value).all()
    setup.step()


def test_a_stale_gradient_raises_before_anything_changes():
    setup = Setup("sgd")
    setup.step()
    before = setup.values()
    with pytest.raises(gluonx.errors.StaleGradientError, match="has not been renewed"):
        setup.trainer.step(5)
    same(setup.values(), before)


# == threads and tasks =================================================================================================


def in_thread(fn):
    box = {}

    def run():
        try:
            box["value"] = fn()
        except BaseException as error:
            box["error"] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "the thread hangs"
    if "error" in box:
        raise box["error"]
    return box["value"]


def test_a_pending_array_crosses_threads():
    x = np.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = x * 2
    assert in_thread(lambda: y.tolist()) == [2.0, 2.0]
    with autograd.record():
        y = x * 3

    def other():
        assert not autograd.is_recording()
        with autograd.record():
            z = y * 2
        return z

    z = in_thread(other)
    z.backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_backward_in_another_thread():
    x = np.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = x * 5
    in_thread(lambda: y.backward())
    assert x.grad.tolist() == [5.0, 5.0]


def test_two_threads_train_at_once():
    def train(seed):
        w = np.array([float(seed), 1.0])
        w.attach_grad()
        for _ in range(20):
            with autograd.record():
                y = (w * w).sum()
            y.backward()
            w -= 0.1 * w.grad
        return w.tolist()

    barrier, ends = threading.Barrier(2), {}

    def run(seed):
        barrier.wait()
        ends[seed] = train(seed)

    threads = [threading.Thread(target=run, args=(s,)) for s in (2, 3)]
    [t.start() for t in threads], [t.join(60) for t in threads]
    for seed in (2, 3):
        onp.testing.assert_allclose(ends[seed], [seed * 0.8**20, 0.8**20], rtol=1e-4)


def test_threads_share_one_parameter_without_harm():
    setup = Setup("sgd")
    setup.steps(2)
    stop, seen = threading.Event(), []

    def watch():
        while not stop.is_set():
            seen.append(float(setup.weight.detach().sum()))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        setup.steps(10)
    finally:
        stop.set()
        thread.join(60)
    assert seen and onp.isfinite(seen).all()


def test_recording_in_one_asyncio_task_is_not_seen_in_another():
    async def trainer(values):
        x = np.array(values)
        x.attach_grad()
        with autograd.record():
            y = x * 2
            await asyncio.sleep(0)
            y = y * x
            await asyncio.sleep(0)
        y.backward()
        return x.grad.tolist()

    async def looker():
        seen = []
        for _ in range(4):
            seen.append(autograd.is_recording())
            await asyncio.sleep(0)
        return seen

    async def main():
        return await asyncio.gather(trainer([1.0]), looker(), trainer([2.0, 3.0]))

    first, seen, second = asyncio.run(main())
    assert (first, second) == ([4.0], [8.0, 12.0]) and not any(seen)


def test_an_exception_in_one_task_does_not_undo_the_writes_of_another():
    total = np.zeros((1,))

    async def good():
        x = np.ones((1,))
        x.attach_grad()
        with autograd.record():
            y = x * 2
            total[...] = y.detach()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            z = y * 3
        z.backward()
        return x.grad.tolist()

    async def bad():
        await asyncio.sleep(0)
        with autograd.record():
            raise Stop

    async def main():
        return await asyncio.gather(good(), bad(), return_exceptions=True)

    found, error = asyncio.run(main())
    assert isinstance(error, Stop) and found == [6.0]
    assert total.tolist() == [2.0]


# == memory ============================================================================================================


def live_bytes():
    gc.collect()
    return sum(a.nbytes for a in jax.live_arrays())


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybrid"])
def test_memory_after_many_steps_is_that_after_few(hybrid):
    setup = Setup(hybrid=hybrid)
    setup.steps(10)
    few = live_bytes()
    setup.steps(100)
    assert live_bytes() == few


@pytest.mark.dear
def test_memory_with_a_loss_read_each_step_stays(monkeypatch):
    setup = Setup()

    def step():
        value = setup.forward()
        float(value.mean())
        value.backward()
        setup.trainer.step(5)
        setup.last = None

    for _ in range(5):
        step()
    few = live_bytes()
    for _ in range(30):
        step()
    assert live_bytes() == few


@pytest.mark.dear
def test_a_running_sum_of_losses_holds_one_value():
    setup, total = Setup(), 0.0
    for i in range(30):
        value = setup.forward()
        value.backward()
        setup.trainer.step(5)
        total = total + value.mean()
        if i == 10:
            few = live_bytes()
    assert live_bytes() <= few + 16
    assert float(total) > 0


@pytest.mark.dear
def test_validation_without_record_holds_nothing_but_the_small_weights_cut_out():
    setup = Setup()
    setup.steps(2)
    few = live_bytes()
    trained = sum(p.data().nbytes for p in setup.net.collect_params().values() if p.grad_req != "null")
    for _ in range(20):
        setup.net(setup.x)
        assert live_bytes() == few + trained
    setup.step()
    assert live_bytes() == few


def test_recorded_but_never_used_is_let_go():
    setup = Setup()
    setup.steps(2)
    engine.reset_stats()
    for _ in range(50):
        setup.forward()
        setup.last = None
    assert engine.stats()["dispatches"] == 0


def test_a_forward_that_is_held_and_renewed_does_not_grow_the_graph():
    setup = Setup()
    setup.steps(2)
    for _ in range(5):
        setup.forward()
    recorded = engine.stats()["nodes_recorded"]
    for _ in range(20):
        setup.forward()  # no backward: an evaluation under record(), the last result held
    depth = gluonx.deferred.record.graph.current_graph().cursor.depth
    assert depth < 200, f"{depth} nodes pending after {recorded}"
    setup.last = None


def test_values_are_freed_with_their_handles():
    x = np.ones((3,))
    y = x * 2
    held = weakref.ref(y)
    array = weakref.ref(y.value)
    del y
    gc.collect()
    assert held() is None and array() is None


def test_a_long_chain_of_pending_operations_is_freed_without_recursion():
    x = np.ones((2,))
    with autograd.record():
        y = x
        for _ in range(5000):
            y = y + 1
    del y
    gc.collect()
    assert x.tolist() == [1.0, 1.0]


# == slow: what must not compile anew ==================================================================================


def test_a_held_output_costs_no_more_than_one_program():
    setup, underscore = Setup(), None
    setup.steps(2)
    engine.reset_stats()
    value = setup.forward()
    value.backward()
    setup.trainer.step(5)
    underscore, setup.last, value = value, None, None  # a notebook's `_` keeps it
    assert engine.stats()["programs_compiled"] <= 1
    engine.reset_stats()
    for held in (False, True, False, True):
        value = setup.forward()
        value.backward()
        setup.trainer.step(5)
        if held:
            underscore = value
        value = setup.last = None
    assert engine.stats()["programs_compiled"] == 0
    assert underscore.shape == (5,)


def test_holding_a_parameter_changes_no_program():
    setup = Setup()
    setup.steps(2)
    engine.reset_stats()
    held = []
    for i in range(4):
        if i % 2:
            held.append(jnp.asarray(setup.weight))
        setup.step()
    assert engine.stats()["programs_compiled"] == 0
    assert len({id(h) for h in held}) == 2 and not any(h.is_deleted() for h in held)


@pytest.mark.parametrize(
    "numbers",
    [[0.1, onp.float32(0.2), onp.float64(0.3), 1, onp.int64(2), True], [3, 4, 5, 100]],
    ids=["kinds", "integers"],
)
def test_numbers_of_any_kind_and_value_share_a_program(numbers):
    x = np.ones((2,))
    x.attach_grad()

    def run(n):
        with autograd.record():
            y = (x * n).sum()
        y.backward()
        return x.grad.tolist()

    run(1.5)
    engine.reset_stats()
    for n in numbers:
        onp.testing.assert_allclose(run(n), [float(n)] * 2, rtol=1e-6)
    assert engine.stats()["programs_compiled"] == 0


def test_moving_a_window_along_the_data_shares_a_program():
    data, w = np.arange(40).reshape(20, 2), np.ones((2,))
    w.attach_grad()

    def run(i):
        with autograd.record():
            y = (data[i * 4 : (i + 1) * 4] * w + data[i] + data[-1 - i]).sum()
        y.backward()
        return w.grad.tolist()

    run(0), run(1)
    engine.reset_stats()
    for i in range(5):
        assert run(i) == data.asnumpy()[i * 4 : (i + 1) * 4].sum(0).tolist()
    assert engine.stats()["programs_compiled"] == 0


def test_a_seed_set_anew_compiles_nothing():
    setup = Setup()
    setup.steps(2)
    engine.reset_stats()
    gluonx.random.seed(5)
    setup.steps(2)
    assert engine.stats()["programs_compiled"] == 0


def test_a_print_while_debugging_does_not_disturb_the_program_of_the_loop(capsys):
    setup = Setup()
    setup.steps(2)
    value = setup.forward()
    print(value, setup.weight.shape, repr(value))
    value.backward()
    setup.trainer.step(5)
    value = setup.last = None
    engine.reset_stats()
    setup.steps(2)
    assert engine.stats() | {"nodes_recorded": 0, "programs_mb": 0} == {
        "programs_compiled": 0,
        "programs_forgotten": 0,
        "programs_mb": 0,
        "dispatches": 2,
        "host": 0,
        "nodes_recorded": 0,
        "traces": 0,
        "copies": 0,
        "flushes": {"trainer.step": 2},
        "unhybridized": {},
    }
    assert "array" in capsys.readouterr().out


def test_side_effects_of_a_plain_forward_happen_once_a_call():
    calls = []

    class Net(nn.Block):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(1, in_units=2)

        def forward(self, x):
            calls.append(1)
            return self.dense(x)

    net = Net()
    net.initialize()
    trainer = Trainer(net.collect_params(), "sgd")
    for _ in range(3):
        with autograd.record():
            value = net(np.ones((1, 2)))
        value.backward()
        trainer.step(1)
    value.asnumpy(), engine.explain()
    assert len(calls) == 3
