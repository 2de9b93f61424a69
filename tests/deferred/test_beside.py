"""A program is compiled beside the work, and takes over at a step that is known beforehand."""

import os
import subprocess
import sys
import threading
import time

import jax
import numpy as onp
import pytest

from gluonx import Trainer, autograd, engine, nn, np
from gluonx.common import policy, process
from gluonx.common.process import cores
from gluonx.deferred.run import beside, flushing, host
from lib import ROOT
from lib.compiling import Gate, compiling_threads, interrupted_waits

pytestmark = [pytest.mark.first_runs, pytest.mark.skipif(not host.is_on(), reason="the default device is no CPU")]
BEGINS, TAKES_OVER = 3, 6


@pytest.fixture(autouse=True)
def _beside(monkeypatch):
    """Have programs of a few runs compiled beside the work, as without a folder for programs."""
    monkeypatch.setattr(beside, "is_possible", lambda: True)
    monkeypatch.setitem(policy.limits, "runs", BEGINS)
    made = policy.Account.__init__

    def small(self, elements, operations, nbytes):
        made(self, elements, operations, nbytes)
        self.begins, self.takes_over = BEGINS, TAKES_OVER

    monkeypatch.setattr(policy.Account, "__init__", small)
    engine.clear()
    engine.reset_stats()
    yield
    engine.set_takeover("planned")
    for thread in compiling_threads():
        thread.join()


@pytest.fixture
def gate(monkeypatch):
    found, lower = Gate(), flushing.Program.lower
    monkeypatch.setattr(flushing.Program, "lower", lambda self, args: found.held(lower(self, args)))
    yield found
    found.open.set()


class Loop:
    def __init__(self, units, seed=0, **settings):
        self.net = nn.HybridSequential()
        self.net.add(nn.Dense(units, in_units=3, activation="tanh"), nn.Dense(2, in_units=units))
        self.net.initialize()
        numbers = onp.random.RandomState(seed)
        for p in self.net.collect_params().values():
            p.set_data(numbers.uniform(-1, 1, p.shape))
        self.trainer = Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}, **settings)
        self.x = onp.random.RandomState(1).randn(5, 3).astype("float32")

    def step(self):
        with autograd.record():
            loss = (self.net(np.array(self.x)) ** 2).mean()
        loss.backward()
        self.trainer.step(1)
        return float(loss)

    def ways(self, steps):
        """By step: whether NumPy ran it."""
        found = []
        for _ in range(steps):
            self.step()
            found.append("by NumPy" in engine.explain())
        return found

    def values(self):
        return [p.data().asnumpy() for p in self.net.collect_params().values()]


def _compiled():
    return engine.stats()["programs_compiled"]


def check(loop, twin, steps):
    """Compare a loop with its twin after so many steps of the naive mode."""
    with engine.mode("naive"):
        for _ in range(steps):
            twin.step()
    for one, two in zip(loop.values(), twin.values(), strict=True):
        onp.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)


@pytest.mark.dear
def test_it_takes_over_at_the_planned_step_and_counts_once():
    loop = Loop(21)
    assert loop.ways(TAKES_OVER + 3) == [True] * TAKES_OVER + [False] * 3
    assert _compiled() == 1
    twin = Loop(21)
    check(loop, twin, TAKES_OVER + 3)


def test_steps_go_on_while_a_thread_compiles(gate):
    loop = Loop(22)
    assert loop.ways(TAKES_OVER) == [True] * TAKES_OVER
    assert gate.names == ["gluonx-compile"]
    assert _compiled() == 0
    assert f"from run {BEGINS + 1} on, and takes over at run {TAKES_OVER + 1}" in engine.explain()
    timer = threading.Timer(0.2, gate.open.set)
    timer.start()
    assert loop.ways(1) == [False]  # it waited
    assert gate.open.is_set() and _compiled() == 1
    assert len(gate.threads) == 1


def test_a_program_takes_over_when_it_is_ready(gate):
    assert engine.set_takeover("ready") == "planned"
    loop = Loop(23)
    assert loop.ways(TAKES_OVER + 4) == [True] * (TAKES_OVER + 4)
    assert "takes over when it is ready" in engine.explain()
    gate.open.set()
    gate.threads[0].join()
    assert loop.ways(2) == [False] * 2
    with pytest.raises(ValueError, match="'planned' or 'ready', got 'soon'"):
        engine.set_takeover("soon")


@pytest.mark.parametrize(("long", "times"), [(0.0, 1), (3600.0, 0)])
def test_memory_goes_back_after_a_long_compilation_alone(long, times, monkeypatch):
    returned, trim = [], process._return_memory

    def told():
        trim()
        returned.append(threading.current_thread().name)

    monkeypatch.setattr(process, "_LONG", long)
    monkeypatch.setattr(process, "_return_memory", told)
    Loop(24).ways(TAKES_OVER + 1)
    assert returned == ["gluonx-compile"] * times


def test_two_runs_give_the_same_bits():
    def losses():
        engine.clear()
        loop = Loop(24)
        return [loop.step() for _ in range(TAKES_OVER + 4)]

    assert losses() == losses()


@pytest.mark.dear
def test_what_cannot_be_compiled_numpy_goes_on_with_and_says_so_once(gate):
    loop, twin = Loop(25), Loop(25)
    gate.error = RuntimeError("RESOURCE_EXHAUSTED: out of memory")
    gate.open.set()
    assert loop.ways(TAKES_OVER) == [True] * TAKES_OVER
    with pytest.warns(UserWarning, match="NumPy goes on running it. RuntimeError: RESOURCE_EXHAUSTED"):
        loop.step()
    assert loop.ways(3) == [True] * 3
    assert len(gate.threads) == 1
    with engine.mode("naive"):
        for _ in range(TAKES_OVER + 4):
            twin.step()
    for one, two in zip(loop.values(), twin.values(), strict=True):
        onp.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)


def test_what_cannot_be_lowered_numpy_goes_on_with(monkeypatch):
    def fails(self, args):
        raise NotImplementedError("no rule")

    monkeypatch.setattr(flushing.Program, "lower", fails)
    loop = Loop(26)
    assert loop.ways(BEGINS) == [True] * BEGINS
    with pytest.warns(UserWarning, match="NumPy goes on running it. NotImplementedError: no rule"):
        loop.step()
    assert loop.ways(TAKES_OVER) == [True] * TAKES_OVER


def test_without_numpy_an_error_of_the_compiler_is_raised_and_nothing_is_lost(gate):
    loop = Loop(27)
    loop.ways(BEGINS + 1)
    gate.error = RuntimeError("no")
    gate.open.set()
    before = loop.values()
    with engine.host(False), pytest.raises(RuntimeError, match="no"):
        loop.step()
    for one, two in zip(loop.values(), before, strict=True):
        onp.testing.assert_array_equal(one, two)
    gate.error = None
    with engine.host(False):
        loop.step()
    assert _compiled() == 1


@pytest.mark.dear
def test_an_interrupted_wait_loses_no_step_and_the_next_waits_again(gate, monkeypatch):
    loop, twin = Loop(28), Loop(28)
    loop.ways(TAKES_OVER)
    before = loop.values()
    with interrupted_waits(monkeypatch), pytest.raises(KeyboardInterrupt):
        loop.step()
    for one, two in zip(loop.values(), before, strict=True):
        onp.testing.assert_array_equal(one, two)
    gate.open.set()
    assert loop.ways(1) == [False]
    assert len(gate.threads) == 1
    check(loop, twin, TAKES_OVER + 1)


def test_an_interrupt_of_who_is_about_to_lower_leaves_it_to_the_next():
    class Interrupted(beside.Candidate):
        @property
        def is_compiled(self):
            raise KeyboardInterrupt

    candidate = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        candidate.lowered(lambda: None)
    assert candidate.compilation is None


def test_a_program_that_is_forgotten_while_it_is_compiled_begins_again(gate):
    loop = Loop(29)
    loop.ways(BEGINS + 1)
    assert len(gate.threads) == 1
    engine.clear()
    gate.open.set()
    assert loop.ways(TAKES_OVER + 1) == [True] * TAKES_OVER + [False]
    assert len(gate.threads) == 2


@pytest.mark.parametrize("why", ["off", "profiled"])
def test_what_wants_the_program_now_waits_for_it(why, gate, monkeypatch):
    loop = Loop({"off": 30, "profiled": 31}[why])
    loop.ways(BEGINS + 1)
    threading.Timer(0.2, gate.open.set).start()
    if why == "profiled":
        monkeypatch.setattr(flushing, "watchers", [lambda program, args: None])
    with engine.host(why != "off"):
        assert loop.ways(1) == [False]
    assert len(gate.threads) == 1 and _compiled() == 1
    assert loop.ways(1) == [False]


def test_where_no_thread_can_be_had_it_is_compiled_here(gate, monkeypatch):
    start = threading.Thread.start

    def fails(self):
        if self.name == "gluonx-compile":
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", fails)
    gate.open.set()
    assert Loop(32).ways(TAKES_OVER + 1) == [True] * TAKES_OVER + [False]
    assert gate.threads == [threading.main_thread()]


@pytest.mark.dear
def test_who_needs_it_before_the_thread_begins_compiles_it_alone():
    gate = Gate()
    compilation = beside.Compilation(wide=False)
    compilation.lowered = gate.held(jax.jit(lambda x: x + 1).lower(1.0))
    waiting = threading.Thread(target=compilation.finish, name="waiting")
    waiting.start()
    while not gate.names:
        time.sleep(0.001)
    compilation.begin()
    for thread in compiling_threads():
        thread.join()
    gate.open.set()
    waiting.join()
    compilation.finish()
    assert gate.names == ["waiting"]


def test_two_threads_train_equal_nets_with_one_program(gate):
    gate.open.set()
    loops, found = [Loop(33, seed=k) for k in range(2)], [None, None]
    barrier = threading.Barrier(2)

    def train(k):
        barrier.wait()
        found[k] = [loops[k].step() for _ in range(2 * TAKES_OVER)]

    threads = [threading.Thread(target=train, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(gate.threads) == 1 and _compiled() == 1
    for k in range(2):
        alone = Loop(33, seed=k)
        with engine.mode("naive"):
            wanted = [alone.step() for _ in range(2 * TAKES_OVER)]
        onp.testing.assert_allclose(found[k], wanted, rtol=1e-4)


def test_the_thread_compiles_with_the_types_of_the_program():
    loop = Loop(34)
    loop.net.cast("float64")
    loop.trainer = Trainer(loop.net.collect_params(), "adam")
    loop.x = loop.x.astype("float64")
    assert loop.ways(TAKES_OVER + 2) == [True] * TAKES_OVER + [False] * 2
    assert _compiled() == 1
    assert {p.data().dtype for p in loop.net.collect_params().values()} == {onp.dtype("float64")}


@pytest.mark.dear
def test_what_the_step_holds_is_not_written_to_at_the_takeover():
    loop, held = Loop(35), []
    for _ in range(TAKES_OVER + 3):
        for p in loop.net.collect_params().values():
            view = onp.asarray(p.data())
            held.append((view, view.copy()))
        loop.step()
    for now, then in held:
        onp.testing.assert_array_equal(now, then)


# -- the process -------------------------------------------------------------------------------------------------------

TRAINING = """
import os, signal, sys, threading, time
from gluonx import Trainer, autograd, engine, nn, np
from gluonx.common import policy, process
from gluonx.deferred.run import beside
policy.limits.update(runs=2, begun=10**9)
x = np.ones((4, 30))

def training():
    net = nn.HybridSequential()
    net.add(*[nn.Dense(30, in_units=30, activation="tanh") for _ in range(12)])
    net.initialize()
    net.hybridize()
    trainer = Trainer(net.collect_params(), "adam")

    def step():
        with autograd.record():
            loss = (net(x) ** 2).mean()
        loss.backward()
        trainer.step(1)
        return float(loss)

    return step

step = training()

def under_way():
    return [thread.name for thread in threading.enumerate()].count("gluonx-compile")

for _ in range(3):
    step()
"""


def _run(code, **env):
    gone = ("GLUONX_CACHE_DIR", "GLUONX_TUNE", "JAX_COMPILATION_CACHE_DIR", "XLA_FLAGS")
    given = {name: value for name, value in os.environ.items() if name not in gone}
    given |= {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **env}
    return subprocess.run(
        [sys.executable, "-c", TRAINING + code], env=given, capture_output=True, text=True, timeout=300
    )


several = pytest.mark.skipif(cores() < 2, reason="compiles at once on one core")


@pytest.mark.dear
@several
@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("assert under_way()", 0),
        pytest.param("assert under_way(); time.sleep(0.3)", 0, marks=pytest.mark.slow),
        pytest.param("assert under_way(); sys.exit(3)", 3, marks=pytest.mark.slow),
        ("assert under_way(); raise KeyboardInterrupt", -2),
        pytest.param("import atexit; atexit.register(step); assert under_way()", 0, marks=pytest.mark.slow),
        pytest.param(
            "threading.Thread(target=lambda: (time.sleep(0.2), [step() for _ in range(9)])).start()",
            0,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["at once", "later", "exit", "interrupt", "a step at exit", "a thread trains on"],
)  # fmt: skip
def test_a_process_that_ends_while_it_compiles_ends_in_order(code, status):
    done = _run(code)
    assert done.returncode == status, done.stderr


@pytest.mark.dear
@several
def test_a_child_that_is_forked_while_it_is_compiled_ends_and_the_parent_goes_on():
    done = _run("""
assert under_way()
child = os.fork()
if not child:
    print(float((np.ones((3,)) + 1).sum()), flush=True)
    os._exit(under_way())
assert os.waitpid(child, 0)[1] == 0
while engine.stats()["programs_compiled"] == 0:
    step()
""")
    assert (done.returncode, done.stdout) == (0, "6.0\n"), done.stderr


@several
@pytest.mark.slow
def test_a_signal_whose_handler_trains_while_it_is_compiled():
    done = _run("""
other = training()
left = list(range(20))

def handler(number, frame):
    other()
    if left:
        left.pop()
        signal.setitimer(signal.ITIMER_REAL, 0.02)

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.02)
while engine.stats()["programs_compiled"] == 0:
    step()
signal.signal(signal.SIGALRM, signal.SIG_IGN)
print(step() < 1, other() < 1)
""")
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr


@pytest.mark.dear
def test_on_one_core_and_with_a_folder_of_programs_it_is_waited_for(tmp_path):
    code = """
print(beside.is_possible(), under_way(), engine.stats()["programs_compiled"])
print("compiled" in engine.explain().splitlines()[0])
"""
    one_core = "os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])"
    if hasattr(os, "sched_setaffinity"):
        done = subprocess.run(
            [sys.executable, "-c", f"import os; {one_core}" + TRAINING + code],
            env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "GLUONX_CACHE_DIR": ""},
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.stdout == "False 0 1\nTrue\n", done.stderr
    done = _run(code, GLUONX_CACHE_DIR=str(tmp_path))
    assert done.stdout == "False 0 1\nTrue\n", done.stderr


def test_it_is_possible_without_a_folder_and_with_cores(monkeypatch):
    monkeypatch.undo()
    before = jax.config.jax_compilation_cache_dir
    try:
        jax.config.update("jax_compilation_cache_dir", None)
        for count in (1, 2):
            monkeypatch.setattr(beside, "cores", lambda n=count: n)
            assert beside.is_possible() == (count == 2)
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
