"""One thread trains; others read, save, predict and copy: each gets the values before or after a step."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager

import jax
import numpy as onp
import pytest
from test_interrupts import LARGE, SMALL, Loop, Sums

import gluonx as mx
from gluonx import gluon, init, np, npx
from gluonx.deferred.record import engine
from gluonx.deferred.run import flushing
from gluonx.gluon import nn


@contextmanager
def switching_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def read(loop, path):
    for param in loop.params:
        low = loop.made
        value = param.data().asnumpy()
        high = loop.made
        assert (value == value.flat[0]).all()
        assert low - 1 <= -value.flat[0] <= high + 1


def save(loop, path):
    """One file never mixes two steps."""
    loop.net.save_parameters(str(path / "w.params"))
    arrays = npx.load(str(path / "w.params"))
    assert len({float(a.asnumpy().flat[0]) for name, a in arrays.items() if "count" not in name}) == 1


def predict(loop, path):
    assert loop.net(loop.x).shape == ()
    float(loop.net(loop.x))


def copy(loop, path):
    weight = loop.params[1].data()
    twin, double, seen = weight.copy(), (weight * 2).asnumpy(), weight.detach()
    assert (double == double.flat[0]).all()
    assert (twin.asnumpy() == twin.asnumpy().flat[0]).all()
    seen.asnumpy()


def gradients(loop, path):
    for param in loop.params:
        assert set(param.grad().asnumpy().flat) <= {0.0, 1.0}


def export(loop, path):
    """What is exported is of one step, whatever was trained meanwhile."""
    loop.net.export(str(path / "exported"), format="mxnet")
    arrays = npx.load(str(path / "exported-0000.params"))
    assert len({float(a.asnumpy().flat[0]) for name, a in arrays.items() if "count" not in name}) == 1
    pure = mx.functional(loop.net)
    assert len({float(onp.asarray(a).flat[0]) for a in pure.params.values()}) == 1


def initialize(loop, path):
    net = nn.Dense(3)
    net.initialize(init.Constant(2.0))
    onp.testing.assert_array_equal(net(np.ones((1, 4))).asnumpy(), [[8.0, 8.0, 8.0]])


def load(loop, path):
    """Another net takes up what one moment of the training net was."""
    arrays = {name: p.data().copy() for name, p in loop.net.collect_params().items()}
    twin = Sums([p.shape for p in loop.params])
    twin.load_dict(arrays)
    for name, array in arrays.items():
        onp.testing.assert_array_equal(twin.collect_params()[name].data().asnumpy(), array.asnumpy())


def feed(loop, path):
    """A DataLoader makes arrays in threads of its own."""
    values = onp.arange(12, dtype="float32")
    for workers in (0, 2):
        loader = gluon.data.DataLoader(gluon.data.ArrayDataset(values), 4, num_workers=workers, thread_pool=True)
        onp.testing.assert_array_equal(onp.concatenate([b.asnumpy() for b in loader]), values)


def run(loop, tasks, seconds):
    """Train for so long beside `tasks`, each in a thread of its own; return what they raised."""
    stop, errors, done = threading.Event(), [], dict.fromkeys(tasks, 0)

    def work(name):
        while not stop.is_set():
            try:
                tasks[name]()
            except Exception as error:
                errors.append(f"{name}: {type(error).__name__}: {error}")
            done[name] += 1

    threads = [threading.Thread(target=work, args=(name,)) for name in tasks]
    with switching_often():
        for thread in threads:
            thread.start()
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end or min(done.values()) < 2:
                loop.step()
        finally:
            stop.set()
            for thread in threads:
                thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    return errors


LOOPS = {
    "small": lambda: Loop(shapes=(SMALL,) * 4),
    "large": lambda: Loop(shapes=(LARGE,) * 3, hybridize=True),
    "both": lambda: Loop(shapes=(SMALL, LARGE, SMALL, SMALL), momentum=0.0),
}


def trains_beside(kind, path, seconds):
    loop = LOOPS[kind]()
    for _ in range(4):
        loop.step()
    tasks = [read, save, predict, copy, gradients, initialize, load, feed]
    if loop.net._active:
        tasks.append(export)
    errors = run(loop, {f.__name__: lambda f=f: f(loop, path) for f in tasks}, seconds)
    assert not errors, (len(errors), errors[:3])
    loop.check()


@pytest.mark.dear
@pytest.mark.parametrize("kind", LOOPS)
def test_readers_beside_a_training_thread(kind, tmp_path):
    trains_beside(kind, tmp_path, 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOOPS)
def test_readers_beside_a_training_thread_for_minutes(kind, tmp_path):
    trains_beside(kind, tmp_path, 200)


@pytest.mark.dear
def test_two_threads_train_two_nets():
    other = Loop(shapes=(SMALL, LARGE, SMALL, SMALL))
    loop = LOOPS["both"]()
    assert not run(loop, {"other": other.step}, 1)
    loop.check()
    other.check()


@pytest.mark.dear
def test_a_write_from_another_thread_is_kept():
    """What a thread writes while a step is under way comes before it or after it, and is not lost."""
    loop = Loop(shapes=(LARGE, LARGE))
    for _ in range(4):
        loop.step()
    writes = [0]

    def write():
        writes[0] += 1
        loop.params[0].set_data(np.full(LARGE, 1e6))
        value = loop.params[0].data().asnumpy()
        assert (value == value.flat[0]).all()
        assert value.flat[0] > 5e5, "the write was lost"

    assert not run(loop, {"write": write}, 1)
    onp.testing.assert_array_equal(loop.params[1].data().asnumpy(), -float(loop.made))


@pytest.mark.dear
def test_a_write_during_a_step_that_runs_operator_by_operator_is_kept(monkeypatch, request):
    request.addfinalizer(lambda: jax.config.update("jax_debug_nans", False))
    jax.config.update("jax_debug_nans", True)
    loop = Loop(shapes=(LARGE, LARGE))
    loop.step()
    placed, writers = flushing.host.placed, []

    def beside(values):
        writers.append(threading.Thread(target=lambda: loop.params[0].set_data(np.full(LARGE, 1e6))))
        writers[-1].start()
        writers[-1].join(0.5)  # it may wait for the step
        return placed(values)

    with monkeypatch.context() as patch:
        patch.setattr(flushing.host, "placed", beside)
        loop.step()
    for writer in writers:
        writer.join()
    assert writers
    assert flushing.LAST["how"] == "interpreted"
    assert loop.params[0].data().asnumpy().flat[0] > 5e5, "the write was lost"
    onp.testing.assert_array_equal(loop.params[1].data().asnumpy(), -float(loop.made))


@pytest.mark.dear
def test_a_write_during_a_step_of_the_naive_mode_is_kept(monkeypatch):
    with mx.engine.mode("naive"):
        loop = Loop(shapes=(LARGE, LARGE))
        loop.step()
        run_now, written = engine.run_now, []

        def beside(op, args, state):
            outs = run_now(op, args, state)
            if op.name == "update" and not written:  # which has read its weights
                written.append(True)
                loop.params[0].set_data(np.full(LARGE, 1e6))
            return outs

        with monkeypatch.context() as patch:
            patch.setattr(engine, "run_now", beside)
            loop.step()
        assert written
        assert loop.params[0].data().asnumpy().flat[0] > 5e5, "the write was lost"
        onp.testing.assert_array_equal(loop.params[1].data().asnumpy(), -float(loop.made))


@pytest.mark.dear
@pytest.mark.parametrize("hybridize", [False, True])
def test_first_calls_of_a_net_from_eight_threads(hybridize):
    with switching_often():
        for _ in range(4):
            net = nn.HybridSequential()
            net.add(nn.Dense(5, activation="relu"), nn.BatchNorm(), nn.Dense(6), nn.LayerNorm(), nn.Dense(2))
            net.initialize(init.Constant(0.5))
            net.hybridize(hybridize)
            x, gate = np.ones((3, 4)), threading.Barrier(8)
            outs, errors = [], []

            def call(net=net, x=x, gate=gate, outs=outs, errors=errors):
                gate.wait()
                try:
                    outs.append(net(x).asnumpy())
                except Exception as error:
                    errors.append(f"{type(error).__name__}: {error}")

            threads = [threading.Thread(target=call) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
            assert not errors
            for out in outs:
                onp.testing.assert_allclose(out, net(x).asnumpy(), atol=1e-6)
    mx.waitall()
