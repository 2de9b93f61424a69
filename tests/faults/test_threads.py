"""One thread trains; others read, save, predict and copy: each gets the values before or after a step."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager

import numpy as onp
import pytest
from test_interrupts import LARGE, SMALL, Loop

import gluonx as mx
from gluonx import init, np, npx
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
    errors = run(loop, {f.__name__: lambda f=f: f(loop, path) for f in (read, save, predict, copy, gradients)}, seconds)
    assert not errors, (len(errors), errors[:3])
    loop.check()


@pytest.mark.parametrize("kind", LOOPS)
def test_readers_beside_a_training_thread(kind, tmp_path):
    trains_beside(kind, tmp_path, 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOOPS)
def test_readers_beside_a_training_thread_for_minutes(kind, tmp_path):
    trains_beside(kind, tmp_path, 200)


def test_two_threads_train_two_nets():
    other = Loop(shapes=(SMALL, LARGE, SMALL, SMALL))
    loop = LOOPS["both"]()
    assert not run(loop, {"other": other.step}, 1)
    loop.check()
    other.check()


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
