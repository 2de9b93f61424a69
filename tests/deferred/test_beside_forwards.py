"""The prediction of a hybridized net is compiled beside NumPy's runs; XLA takes over at a run known beforehand."""

import os
import subprocess
import sys
import threading

import numpy as onp
import pytest

from gluonx import autograd, engine, nn, np
from gluonx.common import policy
from gluonx.deferred.run import beside, host
from lib.compiling import Gate, compilations, compiling_threads, interrupted_waits

pytestmark = [pytest.mark.first_runs, pytest.mark.skipif(not host.is_on(), reason="the default device is no CPU")]
BEGINS, TAKES_OVER = 3, 6


@pytest.fixture(autouse=True)
def gate(monkeypatch):
    """Have forwards compiled beside the work after a few runs, as without a folder for programs."""
    found, lower, made = Gate(), host.lowered_alone, policy.Account.__init__
    found.open.set()

    def small(self, elements, operations, nbytes):
        made(self, elements, operations, nbytes)
        self.waits = self.begins = BEGINS
        self.takes_over = TAKES_OVER

    monkeypatch.setattr(beside, "is_possible", lambda: True)
    monkeypatch.setattr(policy.Account, "__init__", small)
    monkeypatch.setattr(host, "lowered_alone", lambda *args: found.held(lower(*args)))
    engine.clear()
    engine.reset_stats()
    yield found
    found.open.set()
    engine.set_takeover("planned")
    for thread in compiling_threads():
        thread.join()


def _net(units):
    net = nn.HybridSequential()
    net.add(*[nn.Dense(units, in_units=units, activation="tanh") for _ in range(6)])
    net.initialize()
    net.hybridize()
    return net


def ways(net, x, runs):
    """By run: whether NumPy did it. Each result is compared with the naive mode's."""
    with engine.mode("naive"):
        wanted = net(x).asnumpy()
    found = []
    for _ in range(runs):
        before = engine.stats()["dispatches"]
        onp.testing.assert_allclose(net(x).asnumpy(), wanted, rtol=1e-4, atol=1e-6)
        found.append(engine.stats()["dispatches"] == before)
    return found


def test_it_takes_over_at_the_planned_run_and_is_compiled_once(gate):
    net, x = _net(33), np.ones((40, 33))
    with compilations() as compiled:
        found = [net(x) for _ in range(TAKES_OVER + 3)]
    assert compiled == ["gluonx-compile"]
    for y in found:
        onp.testing.assert_allclose(y.asnumpy(), found[0].asnumpy(), rtol=1e-5)
    assert gate.names == ["gluonx-compile"]


def test_each_kind_of_input_is_counted_by_itself(gate):
    net = _net(34)
    assert ways(net, np.ones((40, 34)), TAKES_OVER + 2) == [True] * TAKES_OVER + [False] * 2
    assert ways(net, np.ones((50, 34)), TAKES_OVER + 1) == [True] * TAKES_OVER + [False]
    assert gate.names == ["gluonx-compile"] * 2


@pytest.mark.dear
def test_runs_go_on_while_a_thread_compiles(gate):
    net, x = _net(35), np.ones((40, 35))
    gate.open.clear()
    assert ways(net, x, TAKES_OVER) == [True] * TAKES_OVER
    assert gate.names == ["gluonx-compile"]
    threading.Timer(0.2, gate.open.set).start()
    assert ways(net, x, 1) == [False]  # it waited
    assert gate.open.is_set() and len(gate.threads) == 1


def test_it_takes_over_when_it_is_ready(gate):
    engine.set_takeover("ready")
    net, x = _net(36), np.ones((40, 36))
    gate.open.clear()
    assert ways(net, x, TAKES_OVER + 4) == [True] * (TAKES_OVER + 4)
    gate.open.set()
    for thread in compiling_threads():
        thread.join()
    assert ways(net, x, 2) == [False] * 2


def test_an_error_of_the_compiler_is_raised_by_the_usual_way(gate):
    net, x = _net(37), np.ones((40, 37))
    gate.error = RuntimeError("RESOURCE_EXHAUSTED: out of memory")
    assert ways(net, x, TAKES_OVER) == [True] * TAKES_OVER
    assert ways(net, x, 2) == [False] * 2  # compiled again without the thread, where it is no error
    assert len(gate.threads) == 1


def test_an_interrupted_wait_waits_again(gate, monkeypatch):
    net, x = _net(38), np.ones((40, 38))
    gate.open.clear()
    ways(net, x, TAKES_OVER)
    with interrupted_waits(monkeypatch), pytest.raises(KeyboardInterrupt):
        net(x)
    gate.open.set()
    assert ways(net, x, 1) == [False]
    assert len(gate.threads) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize("by_numpy", [True, False])
def test_an_interrupted_lowering_is_not_repeated_at_each_run(by_numpy, error):
    """JAX keeps no result for what it was lowering when a signal came; the net is compiled once all the same."""
    net, x, interrupted = _net(44), np.ones((400, 44)), 0
    with engine.host(by_numpy), compilations(interrupt_with=error) as compiled:
        for _ in range(60):
            try:
                net(x).asnumpy()
            except error:
                interrupted += 1
    assert interrupted == len(compiled) == 1


def test_weights_that_change_meanwhile_are_read(gate):
    net, x = _net(39), np.ones((40, 39))
    gate.open.clear()
    ways(net, x, BEGINS + 1)
    for p in net.collect_params().values():
        p.set_data(p.data() * 0.5)
    gate.open.set()
    assert ways(net, x, 3)[-1] is False


def test_two_threads_predict_with_one_compilation(gate):
    net, x, found = _net(40), np.ones((40, 40)), [None, None]
    net(x)
    barrier = threading.Barrier(2)

    def predict(k):
        barrier.wait()
        found[k] = [net(x).asnumpy() for _ in range(2 * TAKES_OVER)]

    threads = [threading.Thread(target=predict, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(gate.names) == 1  # by the thread that was begun for it, or by one that needs it before that is known
    first = found[0][0]
    for each in found:  # an element is a sum of terms of all sizes, whose rounding may be more than 1e-5 of itself
        onp.testing.assert_allclose(each, [first] * len(each), rtol=1e-5, atol=1e-5 * abs(first).max())


def test_training_after_predictions_is_counted_by_itself(gate):
    net, x = _net(41), np.ones((40, 41))
    assert ways(net, x, TAKES_OVER + 1) == [True] * TAKES_OVER + [False]
    with autograd.record():
        loss = (net(x) ** 2).mean()
    loss.backward()
    assert onp.isfinite(float(loss))
    assert "by NumPy" in engine.explain()


def test_types_of_64_bits_are_compiled_as_such(gate):
    net = _net(42)
    net.cast("float64")
    x = np.ones((40, 42), dtype="float64")
    assert ways(net, x, TAKES_OVER + 2) == [True] * TAKES_OVER + [False] * 2
    assert net(x).dtype == onp.dtype("float64")
    assert gate.names == ["gluonx-compile"]


def test_one_core_compiles_in_the_foreground(gate, monkeypatch):
    monkeypatch.setattr(beside, "is_possible", lambda: False)
    net, x = _net(43), np.ones((40, 43))
    assert ways(net, x, TAKES_OVER + 1) == [True] * (TAKES_OVER + 1)  # as before: NumPy's work decides
    assert gate.names == []


FORKED = """
import os, signal, sys
from gluonx import engine, nn, np

net = nn.HybridSequential()
net.add(*[nn.Dense(33, in_units=33, activation="tanh") for _ in range(6)])
net.initialize()
net.hybridize()
x = np.ones((40, 33))
wanted, before = net(x).asnumpy(), None
for _ in range(2000):
    before = engine.stats()["dispatches"]
    net(x).asnumpy()
    if engine.stats()["dispatches"] > before:
        break
else:
    sys.exit("XLA has not taken over")
child = os.fork()
if not child:
    signal.alarm(60)
    os._exit(0 if abs(net(x).asnumpy() - wanted).max() < 1e-5 else 1)
sys.exit(os.waitpid(child, 0)[1] != 0)
"""


@pytest.mark.dear
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_predicts_by_numpy_after_xla_took_over():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
