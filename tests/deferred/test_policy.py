"""The first runs of a program are NumPy's, and nobody notices but the clock; then it is compiled."""

import contextlib
import copy
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as onp
import pytest
from threadpoolctl import threadpool_info

import gluonx
from gluonx import Trainer, autograd, engine, nn, np, npx
from gluonx.common import policy, process
from gluonx.common.process import one_blas_thread
from gluonx.deferred import invoke
from gluonx.deferred.operators import linking
from gluonx.deferred.operators.derived import pullback_of
from gluonx.deferred.run import flushing, host, program, repeats
from gluonx.deferred.values.core import HostArray
from gluonx.gluon.utils import clip_global_norm
from gluonx.loss import SoftmaxCELoss
from gluonx.ops.host import jaxprs
from gluonx.ops.registry import OPS, get

pytestmark = pytest.mark.first_runs
RUNS = policy.limits["runs"]


def _count(name="programs_compiled"):
    return engine.stats()[name]


def _dense(units, seed=0, **kwargs):
    net = nn.HybridSequential()
    net.add(nn.Dense(units, in_units=3, activation="tanh"), nn.Dense(2, in_units=units))
    net.initialize()
    numbers = onp.random.RandomState(seed)
    for p in net.collect_params().values():
        p.set_data(numbers.uniform(-1, 1, p.shape))
    return net, Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}, **kwargs)


X = onp.random.RandomState(1).randn(5, 3).astype("float32")


def _step(net, trainer, x=X):
    with autograd.record():
        loss = (net(np.array(x)) ** 2).mean()
    loss.backward()
    trainer.step(1)
    return loss


@pytest.fixture
def as_a_program(monkeypatch):
    """Let NumPy run a whole trace, also one whose operators it could run one by one, all of them being known."""
    monkeypatch.setattr(repeats, "runs_in_pieces", lambda graph: False)


def _values(net):
    return {name: p.data().asnumpy() for name, p in net.collect_params().items()}


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_step_is_compiled_when_it_has_come_often(hybrid):
    net, trainer = _dense(6 + hybrid)
    net.hybridize(hybrid)
    compiled = []
    for _ in range(RUNS + 4):
        before = _count()
        _step(net, trainer)
        compiled.append(_count() - before)
        assert ("by NumPy" in engine.explain()) == (len(compiled) <= RUNS)
    assert compiled == [0] * RUNS + [1, 0, 0, 0]


def test_a_step_whose_runs_cost_more_is_compiled_sooner(monkeypatch, as_a_program):
    """What NumPy may spend is what a compilation takes."""
    net, trainer = _dense(9)
    _step(net, trainer)
    program = flushing.LAST["program"].by_host.program
    once = policy.running(program.cost, program.steps)
    monkeypatch.setitem(policy.limits, "base", 0)
    monkeypatch.setitem(policy.limits, "training", 1)
    monkeypatch.setitem(policy.limits, "compile", 3.5 * once / program.steps)
    net, trainer = _dense(10)
    compiled = []
    for _ in range(6):
        before = _count()
        _step(net, trainer)
        compiled.append(_count() - before)
    assert compiled == [0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("why", ["memory", "off", "profiled"])
def test_what_is_compiled_at_once(why, monkeypatch, as_a_program):
    net, trainer = _dense({"memory": 11, "off": 12, "profiled": 13}[why])
    if why == "memory":
        monkeypatch.setitem(policy.limits, "values", 1000)
    if why == "profiled":
        monkeypatch.setattr(flushing, "watchers", [lambda program, args: None])
    before = _count()
    with engine.host(why != "off"):
        _step(net, trainer)
    assert _count() == before + 1


def test_what_has_no_form_in_numpy_is_compiled():
    seen = []

    def told(x):
        jax.debug.callback(lambda value: seen.append(float(value)), x.sum())
        return x * 2

    w = np.array([1.0, 2.0])
    w.attach_grad()
    double = gluonx.from_jax(told)
    before = _count()
    with autograd.record():
        loss = double(w).sum()
    loss.backward()
    assert w.grad.tolist() == [2.0, 2.0]
    jax.effects_barrier()
    assert seen == [3.0] and _count() == before + 1
    assert host.whole(jax.make_jaxpr(told)(jnp.ones(2))) is None


@pytest.mark.dear
def test_what_fails_on_the_host_is_compiled(monkeypatch, as_a_program):
    net, trainer = _dense(14)
    twin, other = _dense(14)
    with engine.mode("naive"):
        _step(twin, other)

    def fails(self, *arrays):
        raise MemoryError

    monkeypatch.setattr(jaxprs.HostProgram, "__call__", fails)
    before = _count()
    _step(net, trainer)
    assert _count() == before + 1
    for name, value in _values(net).items():
        onp.testing.assert_allclose(value, _values(twin)[name], rtol=1e-5)


def test_an_interrupted_run_leaves_everything_as_it_was(monkeypatch):
    net, trainer = _dense(15)
    _step(net, trainer)
    before, run = _values(net), jaxprs.HostProgram.__call__

    def interrupted(self, *arrays):
        run(self, *arrays)
        raise KeyboardInterrupt

    monkeypatch.setattr(jaxprs.HostProgram, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _step(net, trainer)
    monkeypatch.setattr(jaxprs.HostProgram, "__call__", run)
    for name, value in _values(net).items():
        onp.testing.assert_array_equal(value, before[name])
    _step(net, trainer)
    assert not onp.array_equal(_values(net)["0.weight"], before["0.weight"])


@pytest.mark.dear
def test_what_users_hold_is_never_written_to():
    """Raw arrays and views of NumPy, taken before and after the change-over, keep their numbers."""
    net, trainer = _dense(16)
    big = nn.Dense(80, in_units=80)
    big.initialize()
    other = Trainer(big.collect_params(), "adam")
    held = []
    for _ in range(RUNS + 3):
        for p in (*net.collect_params().values(), *big.collect_params().values()):
            raw = p.data().value
            view = onp.asarray(p.data())
            held.append((view, view.copy()))
            if isinstance(raw, jax.Array):
                held.append((raw, onp.array(raw)))
        _step(net, trainer)
        _step(big, other, onp.ones((2, 80), "float32"))
    for now, then in held:
        onp.testing.assert_array_equal(onp.asarray(now), then)


@pytest.mark.dear
def test_gradients_are_readable_after_a_step():
    net, trainer = _dense(17)
    for _ in range(RUNS + 2):
        w, b, v, c = [p.data().asnumpy() for p in net.collect_params().values()]
        _step(net, trainer)

        def pure(w, b, v, c):
            return ((jnp.tanh(X @ w.T + b) @ v.T + c) ** 2).mean()

        wanted = jax.grad(pure, (0, 1, 2, 3))(w, b, v, c)
        for p, grad in zip(net.collect_params().values(), wanted, strict=True):
            onp.testing.assert_allclose(p.grad().asnumpy(), grad, rtol=1e-4, atol=1e-6)


class _Noisy(nn.HybridBlock):
    """Layers that draw and keep statistics."""

    def __init__(self, units):
        super().__init__()
        self.layers = nn.HybridSequential()
        for _ in range(4):
            self.layers.add(nn.Dense(units, in_units=units), nn.BatchNorm(in_channels=units), nn.Dropout(0.3))

    def forward(self, x):
        x = self.layers(x)
        return x, (x**2).mean()


def _noisy_steps(units, hybrid, read):
    gluonx.random.seed(5)
    net, data = _Noisy(units), onp.random.RandomState(1).rand(2, 8, units)
    net.initialize()
    net.cast("float64")  # the last bits of float32 grow through the layers' statistics
    net.hybridize(hybrid)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    log = []
    for i in range(5):
        with autograd.record():
            out, loss = net(np.array(data[i % 2]))
            if read:
                log.append(loss.asnumpy())
        loss.backward()
        if i % 2:
            clip_global_norm([p.grad() for p in net.collect_params().values() if p.grad_req != "null"], 0.5)
        trainer.step(1)
        log += [out.asnumpy(), loss.asnumpy(), net(np.array(data[0]))[0].asnumpy()]
    params = net.collect_params().values()
    return log, [p.data().asnumpy() for p in params] + [p.grad().asnumpy() for p in params if p.grad_req != "null"]


@pytest.mark.dear
@pytest.mark.parametrize("read", [False, True], ids=["", "loss read first"])
@pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybrid"])
def test_numpy_draws_the_masks_and_keeps_the_statistics_of_the_compiled_program(hybrid, read):
    before = _count()
    found = _noisy_steps(6, hybrid, read)
    assert _count() == before
    with engine.host(False):
        wanted = _noisy_steps(6, hybrid, read)
    assert _count() > before
    for x, y in zip([*found[0], *found[1]], [*wanted[0], *wanted[1]], strict=True):
        onp.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-10)
    masks = [[(x == 0).tolist() for x in log if x.ndim == 2] for log in (found[0], wanted[0])]
    assert masks[0] == masks[1]


class _Images(nn.HybridBlock):
    """Convolutions of each form for a CPU, and what is between them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.HybridSequential()
        self.layers.add(
            nn.Conv2D(4, 3, padding=1, in_channels=3),
            nn.BatchNorm(in_channels=4),
            nn.Conv2D(4, 3, groups=4, in_channels=4),
            nn.Conv2D(8, 1, in_channels=4),
            nn.Conv2D(8, 3, strides=2, groups=2, in_channels=8),
            nn.Conv2DTranspose(4, 3, strides=2, in_channels=8),
            nn.MaxPool2D(),
        )

    def forward(self, x):
        return self.layers(x).mean(axis=(2, 3))


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybrid"])
def test_numpy_is_given_native_operations_and_xla_the_forms_for_a_cpu(hybrid, monkeypatch):
    given, lowered, rewritten = [], [], program.rewritten

    class Told(linking.Fragment):
        def __init__(self, jaxpr, names=()):
            given.append(str(jaxpr))
            super().__init__(jaxpr, names)

    monkeypatch.setattr(linking, "Fragment", Told)
    monkeypatch.setattr(program, "rewritten", lambda jaxpr: lowered.append(str(jaxpr)) or rewritten(jaxpr))
    x = onp.random.RandomState(2).rand(2, 3, 9, 9).astype("float32")
    engine.clear()  # what is traced already is not traced again

    def run():
        net = _Images()
        net.initialize()
        net.hybridize(hybrid)
        numbers = onp.random.RandomState(3)
        for p in net.collect_params().values():
            p.set_data(numbers.uniform(0.5, 1, p.shape))
        trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        for _ in range(RUNS + 1):
            _step(net, trainer, x)
        return _values(net)

    found = run()
    texts = "".join(given)
    assert "platform_index" not in texts and "feature_group_count=4" in texts
    assert len(lowered) == 1 and "platform_index" not in lowered[0] and "feature_group_count=4" not in lowered[0]
    with engine.host(False):
        wanted = run()
    for name, value in wanted.items():
        onp.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-5, err_msg=name)


def test_to_clear_the_engine_forgets_what_numpy_has_spent_and_knows():
    """Also of operators for which nothing was compiled or traced, which have no program to forget."""
    x = np.array(onp.ones(1 << 18, "float32"))

    def runs():
        engine.clear()
        for i in range(1, 100):
            y = np.exp(x)
            if not isinstance(y.value, HostArray):
                return i
        return None

    often = runs()
    engine.clear()
    for _ in range(3):
        np.exp(x)
    assert often is not None and often > 3 and runs() == often


@pytest.mark.dear
def test_to_clear_the_engine_forgets_all_that_is_remembered_of_operators():
    """Shapes, and which kernels stand in for a trace, are remembered also where nothing is compiled or traced."""
    net, trainer = _dense(19)
    for n in (5, 6, 7, 5):
        _step(net, trainer, onp.resize(X, (n, 3)))
    engine.clear()
    bound = [op for each in OPS.values() for op in each.bound()]
    assert [op for op in bound if op.shapes or op.traced or op.families or (op.host and op.host.seen)] == []


@pytest.mark.dear
def test_gradients_that_are_added_up(monkeypatch):
    def run(on):
        net, trainer = _dense(18)
        for p in net.collect_params().values():
            p.grad_req = "add"
        with engine.host(on):
            for i in range(3):
                for k in range(2):
                    with autograd.record():
                        loss = (net(np.array(X * (i + k))) ** 2).mean()
                    loss.backward()
                trainer.step(2)
                for p in net.collect_params().values():
                    p.zero_grad()
        return _values(net)

    before = _count()
    found = run(True)
    assert _count() == before
    for name, value in run(False).items():
        onp.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-7)


def test_half_precision_with_weights_in_float32():
    def run(on):
        net, _ = _dense(19)
        net.cast("float16")
        trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True})
        with engine.host(on):
            for _ in range(3):
                _step(net, trainer, X.astype("float16"))
        return _values(net)

    found, wanted = run(True), run(False)
    for name, value in wanted.items():
        onp.testing.assert_allclose(found[name], value, rtol=4e-3, atol=2e-3)


def test_second_derivatives_by_numpy():
    x = np.array([0.5, -1.0, 2.0])
    x.attach_grad()
    before = _count()
    with autograd.record():
        y = (x**3).sum()
        (first,) = autograd.grad(y, [x], create_graph=True)
        z = (first**2).sum()
    z.backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), 36 * x.asnumpy() ** 3, rtol=1e-5)
    assert _count() == before


@pytest.mark.parametrize("hybrid", [False, True])
def test_predicting_after_training_compiles_nothing(hybrid):
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(8, 3, in_channels=2),
        nn.BatchNorm(in_channels=8),
        nn.Activation("relu"),
        nn.Conv2D(7 + hybrid, 1, in_channels=8),
        nn.GlobalAvgPool2D(),
    )
    net.initialize()
    net.hybridize(hybrid)
    trainer, x = Trainer(net.collect_params(), "adam"), onp.random.RandomState(0).randn(2, 2, 9, 9).astype("float32")
    for _ in range(2):
        with autograd.record():
            loss = (net(np.array(x)) ** 2).mean()
        loss.backward()
        trainer.step(1)
    engine.reset_stats()
    net(np.array(x)).asnumpy()
    assert _count() == 0 and _count("dispatches") <= 1  # the small weights are taken out of their vector


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True])
def test_new_lengths_are_never_compiled(hybrid):
    net = nn.HybridSequential()
    net.add(nn.Embedding(20, 8), gluonx.rnn.LSTM(8, layout="NTC"), nn.Dense(20, flatten=False))
    net.initialize()
    net.hybridize(hybrid)
    trainer, ce = Trainer(net.collect_params(), "adam"), SoftmaxCELoss()
    engine.reset_stats()
    for length in range(3, 25):
        x = onp.random.RandomState(length).randint(0, 20, (2, length))
        with autograd.record():
            loss = ce(net(np.array(x[:, :-1])), np.array(x[:, 1:])).mean()
        loss.backward()
        trainer.step(1)
    assert _count() == 0 and onp.isfinite(loss.item())


def test_a_long_record_of_few_kinds_goes_operator_by_operator():
    w = np.array([0.5, 0.25])
    w.attach_grad()
    engine.reset_stats()
    with autograd.record():
        y = np.ones(2)
        for _ in range(policy.limits["long"]):
            y = np.tanh(y * w)
        y = y.sum()
    y.backward()

    def pure(w):
        return jax.lax.fori_loop(0, policy.limits["long"], lambda i, y: jnp.tanh(y * w), jnp.ones(2)).sum()

    onp.testing.assert_allclose(w.grad.asnumpy(), jax.jacfwd(pure)(jnp.array([0.5, 0.25])), rtol=1e-4)
    assert _count() == 0


def test_a_copy_of_a_net_goes_its_own_way_from_numpy_to_xla():
    net, trainer = _dense(21)
    twin, other = _dense(21)
    for _ in range(RUNS - 2):
        _step(net, trainer)
        _step(twin, other)
    kept = copy.deepcopy(net)
    before = _values(kept)
    for _ in range(4):
        _step(net, trainer)
    for name, value in _values(kept).items():
        onp.testing.assert_array_equal(value, before[name])
        onp.testing.assert_array_equal(value, _values(twin)[name])


def test_a_mask_is_the_same_in_both_tiers():
    x = np.array([1.0, 2.0])
    x.attach_grad()
    npx.random.seed(0)
    with autograd.record():
        y = npx.dropout(x * 1.0, p=0.5).sum()
    y.backward()
    kept = x.grad.asnumpy()
    npx.random.seed(0)
    with engine.host(False), autograd.record():
        y = npx.dropout(x * 1.0, p=0.5).sum()
    with engine.host(False):
        y.backward()
        onp.testing.assert_array_equal(kept, x.grad.asnumpy())


def _blas_threads():
    """The threads of each library of BLAS, by its file."""
    return {lib["filepath"]: lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def _for_products(file):
    """Whether NumPy, or SciPy's linear algebra, multiplies by a library; OpenCV and scipy.special have others."""
    return "opencv" not in file and ("scipy.libs" not in file or "scipy.linalg" in sys.modules)


def test_a_step_by_numpy_has_one_thread_of_blas_and_gives_the_others_back(monkeypatch):
    parts = _dense(23)  # before the watch, since a single operator keeps all threads
    before, seen, run = _blas_threads(), [], jaxprs.HostProgram.__call__

    def watched(self, *args):
        seen.append(_blas_threads())
        return run(self, *args)

    monkeypatch.setattr(jaxprs.HostProgram, "__call__", watched)
    _step(*parts)
    assert seen
    for counts in seen:
        used = {file: count for file, count in counts.items() if _for_products(file)}
        assert used
        assert set(used.values()) == {1}, used
    assert _blas_threads() == before


@pytest.mark.parametrize("layer", ["convolution", "dense"])
@pytest.mark.parametrize("size", [4, 64])
def test_an_operator_that_blas_would_share_has_one_thread_for_numpy(layer, size, monkeypatch):
    """A thread that waits for its part of a small product spins, which took ten times as long as the product."""
    seen, multiply = [], onp.matmul

    def watched(*args, **kwargs):
        seen.append(process._Blas.asked)
        return multiply(*args, **kwargs)

    x, w = np.ones((size, size, 8, 8)), np.ones((size, size, 3, 3))
    a, b = np.ones((2 * size, 4 * size)), np.ones((4 * size, 4 * size))
    monkeypatch.setattr(onp, "matmul", watched)
    if layer == "convolution":
        npx.convolution(x, w, kernel=(3, 3), num_filter=size, no_bias=True)
    else:
        npx.fully_connected(a, b, num_hidden=4 * size, no_bias=True)
    assert seen == [int(size == 64)]
    assert process._Blas.asked == 0


def test_what_multiplies_no_matrices_leaves_the_threads_of_blas_alone(monkeypatch):
    """Setting them costs as much as a small operator; a pull-back sets them if its operator would."""
    held = []
    monkeypatch.setattr(process._Blas, "hold", lambda: held.append(True))
    monkeypatch.setattr(process._Blas, "give_back", lambda: None)
    x = np.array(onp.linspace(0.1, 1, 70 * 71, dtype="float32").reshape(70, 71))
    (x**2).asnumpy(), (-x).asnumpy(), x.sum().asnumpy(), x[1:, 2:].asnumpy()
    x[1] = 0
    assert not held
    w = np.array(onp.ones((70, 70), "float32"))
    for value, product in ((x, False), (w, True)):
        op = get("matmul").bind() if product else get("exp").bind()
        inputs = (value, value) if product else (value,)
        (gradient,) = invoke(pullback_of(op, (0,), len(inputs), (True,)), (*inputs, value))
        assert gradient.shape == value.shape
        assert bool(held) is product


def test_threads_of_blas_come_back_when_the_last_of_several_is_done():
    before, gate = _blas_threads(), threading.Barrier(2)

    def work():
        with one_blas_thread():
            gate.wait()
        gate.wait()
        with contextlib.suppress(KeyError), one_blas_thread():
            raise KeyError

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert _blas_threads() == before


class _Library:
    """A library of BLAS that, when its threads are set, is interrupted by someone who wants one thread as well."""

    def __init__(self, threads, interrupted=None):
        self.threads, self.interrupted = threads, interrupted

    def get_num_threads(self):
        return self.threads

    def set_num_threads(self, threads):
        interrupted, self.interrupted = self.interrupted, None
        if interrupted is not None:
            interrupted()
        self.threads = threads
        if interrupted is not None:
            self.interrupted = interrupted


def _with_libraries(monkeypatch, libraries):
    monkeypatch.setattr(process._Blas, "libraries", libraries)
    monkeypatch.setattr(process._Blas, "of_scipy", True)
    assert process._Blas.asked == 0
    assert process._Blas.before == []


def test_who_interrupts_the_change_of_threads_may_ask_for_one(monkeypatch):
    """A signal handler runs on the thread that it interrupts, which may hold the lock."""
    seen = []

    def handler():
        with one_blas_thread():
            seen.append([library.threads for library in libraries])

    libraries = [_Library(4), _Library(3, handler), _Library(2)]
    _with_libraries(monkeypatch, libraries)

    def work():
        with one_blas_thread():
            seen.append([library.threads for library in libraries])

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert seen == [[1, 3, 2], [1, 1, 1], [4, 1, 1]]
    assert [library.threads for library in libraries] == [4, 3, 2]
    assert process._Blas.asked == 0


@pytest.mark.parametrize("at", [1, 2])
def test_an_exception_while_threads_change_loses_none(monkeypatch, at):
    """Ctrl-C before the threads are one, or before they are given back: the next who is done gives all back."""
    left = [at]

    def interrupt():
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    libraries = [_Library(4), _Library(3, interrupt), _Library(2)]
    _with_libraries(monkeypatch, libraries)
    with pytest.raises(KeyboardInterrupt), one_blas_thread():
        pass
    assert process._Blas.asked == 0
    libraries[1].interrupted = None
    with one_blas_thread():
        assert [library.threads for library in libraries] == [1, 1, 1]
    assert [library.threads for library in libraries] == [4, 3, 2]
