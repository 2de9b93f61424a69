"""Programs of the engine: one a step, nothing compiled in a steady loop, and the explanation of it."""

import os
import subprocess
import sys
import textwrap

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, gluon, loss, metric, nn, np, npx
from gluonx.common import policy
from gluonx.deferred.run import flushing
from gluonx.deferred.values import source_location
from gluonx.deferred.values.core import ROOT


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    """Every test has its own sites, warnings and known traces: they are kept for the life of the process."""
    monkeypatch.setattr(ROOT, "children", {})
    monkeypatch.setattr(flushing, "_sites", {})
    monkeypatch.setattr(source_location, "_told", set())
    engine.reset_stats()


def mlp(*layers, out=3):
    net = nn.Sequential()
    net.add(nn.Dense(8, activation="relu", in_units=5), *layers, nn.Dense(out))
    net.initialize()
    net(np.ones((4, 5)))
    return net


def batch(n=4, seed=0):
    rng = onp.random.RandomState(seed)
    return np.array(rng.rand(n, 5)), np.array(rng.randint(0, 3, n))


def counted(step, times=3, warm=2):
    """(programs compiled, dispatches) of `times` runs of `step` after `warm` ones. No block is traced in them."""
    for _ in range(warm):
        step()
    engine.waitall()
    engine.reset_stats()
    for _ in range(times):
        step()
    found = engine.stats()
    assert found["traces"] == 0
    return found["programs_compiled"], found["dispatches"]


# -- steady loops: each function makes a step --------------------------------------------------------------------------


def _trained(net, optimizer="sgd", **settings):
    return Trainer(net.collect_params(), optimizer, settings or {"learning_rate": 0.1})


def _simple(net, optimizer="sgd", before_step=None, after_loss=None):
    trainer, ce, (x, y) = _trained(net, optimizer), loss.SoftmaxCELoss(), batch()

    def step():
        with autograd.record():
            out = net(x)
            value = ce(out, y)
        value.backward()
        if before_step is not None:
            before_step(trainer, out, y, value)
        trainer.step(4)

    return step


def _hybrid():
    net = nn.HybridSequential()
    net.add(nn.Dense(8, in_units=5), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(3))
    net.initialize()
    net.hybridize()
    return _simple(net)


def _with_metric():
    accuracy = metric.Accuracy()
    return _simple(mlp(), before_step=lambda trainer, out, y, value: accuracy.update(y, out))


def _with_mean_loss_metric():
    mean = metric.Loss()
    return _simple(mlp(), before_step=lambda trainer, out, y, value: mean.update(None, value))


def _with_clipping():
    net = mlp()
    params = list(net.collect_params().values())
    return _simple(
        net,
        "adam",
        before_step=lambda *_: gluonx.utils.clip_global_norm([p.grad() for p in params], 0.1, check_isfinite=False),
    )


def _with_changing_rate():
    rates = iter(onp.linspace(0.1, 0.01, 20))
    return _simple(mlp(), before_step=lambda trainer, *_: trainer.set_learning_rate(float(next(rates))))


def _with_changing_numbers():
    net, numbers = mlp(), iter(range(100))
    trainer, ce, (x, y) = _trained(net, "adam"), loss.SoftmaxCELoss(), batch()

    def step():
        i = next(numbers)
        with autograd.record():
            value = (ce(net(x * (1.0 + i)), y) * (0.5**i) / onp.float64(i + 2)).sum() + i
        value.backward()
        trainer.step(i + 1)

    return step


def _two_losses():
    net = mlp()
    trainer, ce, l2, (x, y) = _trained(net), loss.SoftmaxCELoss(), loss.L2Loss(), batch()

    def step():
        with autograd.record():
            out = net(x)
            first, second = ce(out, y), l2(out, out * 0.0)
        autograd.backward([first, second])
        trainer.step(4)

    return step


def _accumulating():
    net = mlp()
    for p in net.collect_params().values():
        p.grad_req = "add"
    trainer, ce = _trained(net), loss.SoftmaxCELoss()
    batches = [batch(seed=s) for s in range(3)]

    def step():
        for x, y in batches:
            with autograd.record():
                value = ce(net(x), y)
            value.backward()
        trainer.step(12)
        net.zero_grad()

    return step


def _gan():
    maker, judge = mlp(out=5), mlp(out=1)
    bce = loss.SigmoidBCELoss()
    t_maker, t_judge = _trained(maker, "adam"), _trained(judge, "adam")
    x, _ = batch()
    one, zero = np.ones((4, 1)), np.zeros((4, 1))

    def step():
        with autograd.record():
            fake = maker(x)
            value = bce(judge(x), one) + bce(judge(fake.detach()), zero)
        value.backward()
        t_judge.step(4)
        with autograd.record():
            value = bce(judge(maker(x)), one)
        value.backward()
        t_maker.step(4)

    return step


STEADY = {
    "sgd": (lambda: _simple(mlp()), 1),
    "adam": (lambda: _simple(mlp(), "adam"), 1),
    "dropout": (lambda: _simple(mlp(nn.Dropout(0.5))), 1),
    "batch-norm": (lambda: _simple(mlp(nn.BatchNorm())), 1),
    "hybridized": (_hybrid, 1),
    "metric": (_with_metric, 1),
    "loss-metric": (_with_mean_loss_metric, 1),
    "clip": (_with_clipping, 1),
    "changing-rate": (_with_changing_rate, 1),
    "changing-numbers": (_with_changing_numbers, 1),
    "two-losses": (_two_losses, 1),
    "gan": (_gan, 2),
}


@pytest.mark.parametrize("name", STEADY)
def test_a_steady_loop_is_one_dispatch_a_step_and_compiles_nothing(name):
    make, dispatches = STEADY[name]
    assert counted(make()) == (0, 3 * dispatches)


@pytest.mark.dear
def test_accumulated_gradients_compile_nothing_and_add_up():
    step = _accumulating()
    compiled, _ = counted(step)
    assert compiled == 0


@pytest.mark.dear
def test_a_step_on_accumulated_gradients_equals_one_on_the_whole_batch():
    ends = []
    for parts in (1, 3):
        gluonx.random.seed(1)
        net = mlp()
        for p in net.collect_params().values():
            p.grad_req = "add"
        trainer, ce, (x, y) = _trained(net), loss.SoftmaxCELoss(), batch(12)
        for _ in range(2):
            net.zero_grad()
            for i in range(parts):
                rows = slice(i * 12 // parts, (i + 1) * 12 // parts)
                with autograd.record():
                    value = ce(net(x[rows]), y[rows])
                value.backward()
            trainer.step(12)
        ends.append([p.data().asnumpy() for p in net.collect_params().values()])
    for a, b in zip(*ends):
        onp.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_smaller_last_batch_compiles_one_more_program():
    net = mlp()
    trainer, ce = _trained(net), loss.SoftmaxCELoss()
    sizes = [batch(4), batch(4), batch(3)]

    def epoch():
        for x, y in sizes:
            with autograd.record():
                value = ce(net(x), y)
            value.backward()
            trainer.step(len(x))

    epoch()
    assert engine.stats()["programs_compiled"] == 2
    assert counted(epoch, warm=1) == (0, 9)


@pytest.mark.dear
def test_reading_the_loss_before_backward_splits_the_program_and_does_not_recompile():
    def run(read):
        gluonx.random.seed(2)
        net = mlp(nn.Dropout(0.3), nn.BatchNorm())
        trainer, ce, (x, y) = _trained(net, "sgd"), loss.SoftmaxCELoss(), batch()
        seen = []

        def step():
            with autograd.record():
                value = ce(net(x), y).mean()
                if read:
                    seen.append(float(value))
            value.backward()
            trainer.step(1)
            if not read:
                seen.append(float(value))

        counts = counted(step)
        return counts, seen, [p.data().asnumpy() for p in net.collect_params().values()]

    (split, seen, end), (whole, seen2, end2) = run(True), run(False)
    assert split[0] == whole[0] == 0 and split[1] > whole[1]
    onp.testing.assert_allclose(seen, seen2, rtol=1e-4)
    for a, b in zip(end, end2):
        onp.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.dear
def test_a_loop_of_changing_length_that_reads_each_step_compiles_each_piece_once():
    w = np.array([0.5, 0.25])
    w.attach_grad()

    def episode(length):
        with autograd.record():
            state, losses = np.ones((2,)), []
            for _ in range(length):
                state = np.tanh(state * w)
                losses.append(state.sum())
                float(losses[-1])  # an action is chosen
            total = losses[0]
            for value in losses[1:]:
                total = total + value
        total.backward()
        return w.grad.asnumpy()

    def wanted(length):
        def f(w):
            state, total = jax.numpy.ones(2), 0.0
            for _ in range(length):
                state = jax.numpy.tanh(state * w)
                total = total + state.sum()
            return total

        return jax.grad(f)(jax.numpy.array([0.5, 0.25]))

    for length in (2, 3, 5):
        onp.testing.assert_allclose(episode(length), wanted(length), rtol=1e-5)
    engine.reset_stats()
    for length in (5, 2, 3, 5):
        episode(length)
    assert engine.stats()["programs_compiled"] == 0


# -- many different programs -------------------------------------------------------------------------------------------


def test_a_line_that_keeps_making_new_programs_is_told_once_and_then_interpreted(monkeypatch):
    monkeypatch.setitem(policy.limits, "many", 3)
    x = np.ones((17,))  # the trie is one for the process: a shape of its own keeps other tests out
    x.attach_grad()

    def run(n):
        with autograd.record():
            y = x * 1.0
            for _ in range(n):
                y = y * 2.0
        y.backward()
        return x.grad.tolist()[:2]  # the line that flushes

    for n in range(3):
        assert run(n) == [2.0**n] * 2
    with pytest.warns(UserWarning, match="did not come again.*explain"):
        assert run(3) == [8.0, 8.0]
    before = engine.stats()["programs_compiled"]
    assert [run(n) for n in (4, 5, 6)] == [[16.0] * 2, [32.0] * 2, [64.0] * 2]
    assert engine.stats()["programs_compiled"] == before
    assert run(5) == [32.0, 32.0] and engine.stats()["programs_compiled"] == before + 1  # the second time


@pytest.mark.dear
@pytest.mark.first_runs
@pytest.mark.parametrize("hybridized", [False, True])
def test_new_shapes_of_a_small_net_train_without_a_compiler(hybridized):
    """NumPy runs each step, also that of a shape that comes again."""
    nets = [nn.HybridSequential() for _ in range(2)]
    for net in nets:
        net.add(nn.Dense(8, activation="relu"), nn.BatchNorm(), nn.Dropout(0.2), nn.Dense(3))
        net.initialize()
        net(np.ones((2, 4)))
    nets[1].load_dict({name: p.data().copy() for name, p in nets[0].collect_params().items()})
    if hybridized:
        nets[0].hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainers = [gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}) for net in nets]
    random = onp.random.RandomState(4)

    def step(net, trainer, x, y):
        npx.random.seed(len(x))
        with autograd.record():
            out = loss(net(np.array(x)), np.array(y))
        out.backward()
        trainer.step(len(x))
        return out.mean().item()

    compiled = []
    for n in (2, 3, 4, 5, 5, 5):
        x, y = random.normal(size=(n, 4)).astype("float32"), random.randint(0, 3, n)
        before = engine.stats()["programs_compiled"]
        ours = step(nets[0], trainers[0], x, y)
        compiled.append(engine.stats()["programs_compiled"] - before)
        with engine.mode("naive"):
            onp.testing.assert_allclose(ours, step(nets[1], trainers[1], x, y), rtol=1e-5)
    assert not any(compiled)
    for ours, theirs in zip(*[net.collect_params().values() for net in nets], strict=True):
        onp.testing.assert_allclose(ours.data().asnumpy(), theirs.data().asnumpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind, bound", [("nodes", 10), ("bytes", 1150)])
def test_the_bound_on_what_is_pending_flushes_with_one_warning(kind, bound, monkeypatch):
    monkeypatch.setattr(policy, "PENDING", bound) if kind == "nodes" else monkeypatch.setitem(
        policy.limits, "pending", bound
    )
    x = np.full((23 if kind == "nodes" else 29,), 0.5)
    x.attach_grad()

    def run():
        with autograd.record():
            y = x
            for _ in range(25):
                y = y * 1.5
        return y

    with pytest.warns(UserWarning, match="operations are pending at") as caught:
        y = run()
    assert len(caught) == 1 and "test_engine.py" in str(caught[0].message)
    y.backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), onp.full(x.shape, 1.5**25), rtol=1e-5)
    assert engine.stats()["flushes"]["the bound on pending nodes"] >= 2
    run()  # no second warning


# -- what is deferred --------------------------------------------------------------------------------------------------


def test_outside_record_an_operation_runs_at_once():
    with engine.host(False):
        x = np.ones((2,)) + 1
    assert engine.stats()["flushes"] == {} and engine.stats()["dispatches"] >= 1
    assert isinstance(x.value, jax.Array)


def test_what_depends_on_something_pending_is_pending_too():
    x = np.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = x * 2
    before = engine.stats()["dispatches"]
    z = y + 1
    assert z.shape == (2,) and z.dtype == onp.float32 and engine.stats()["dispatches"] == before
    assert z.tolist() == [3.0, 3.0]


def test_values_nobody_holds_are_not_computed():
    x = np.ones((2,))
    with autograd.record():
        y = x * 2
        z = y + 1
        del y
    z.wait_to_read()
    assert "1 outputs" in engine.explain() or "interpreted" in engine.explain()
    with autograd.record():
        x * 2
    engine.reset_stats()
    engine.waitall()
    assert engine.stats()["dispatches"] == 0


def test_bulk_defers_and_ends_with_a_flush():
    with engine.bulk(100):
        x = np.ones((2,)) * 3
        y = x + 1
        assert engine.stats()["dispatches"] == 0
    assert isinstance(y.value, jax.Array) or y.value.value is not None
    assert y.tolist() == [4.0, 4.0]
    assert engine.set_bulk_size(5) == 0 and engine.set_bulk_size(0) == 5


def test_modes_are_checked_and_restored():
    with pytest.raises(ValueError, match="'deferred' and 'naive', got 'lazy'"):
        engine.set_mode("lazy")
    x = np.ones((2,))
    with engine.mode("naive"), autograd.record():
        assert isinstance((x * 2).value, jax.Array)
    with autograd.record():
        assert not isinstance((x * 2).value, jax.Array)


@pytest.mark.dear
def test_the_same_random_numbers_in_every_mode():
    def draw():
        gluonx.random.seed(3)
        x = np.ones((6,))
        x.attach_grad()
        with autograd.record():
            y = npx.dropout(x, 0.5) + np.random.normal(0, 1, (6,))
        y.backward()
        return y.asnumpy(), x.grad.asnumpy()

    wanted = draw()
    with engine.mode("naive"):
        naive = draw()
    with engine.bulk(10):
        bulk = draw()
    onp.testing.assert_allclose(naive, wanted, rtol=1e-6)
    onp.testing.assert_allclose(bulk, wanted, rtol=1e-6)


@pytest.mark.dear
def test_the_environment_variable_chooses_naive():
    code = """
        import jax
        from gluonx import autograd, np
        x = np.ones((2,)); x.attach_grad()
        with autograd.record():
            y = x[0:1] * 2
        assert isinstance(y.value, jax.Array), type(y.value)
        y.backward()
        print(x.grad.tolist())
    """
    env = {**os.environ, "GLUONX_ENGINE": "naive", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "[2.0, 0.0]", done.stderr


# -- explanations ------------------------------------------------------------------------------------------------------


def test_explain_names_the_lines_of_the_user():
    x = np.ones((2, 3))
    x.attach_grad()
    with autograd.record():
        y = (x * 2).sum()  # a line of the user
    y.backward()
    x.grad.wait_to_read()
    text = engine.explain()
    assert "multiply" in text and "sum" in text and "backward" in text
    assert text.count("test_engine.py:") >= 3 and "gluonx/" not in text.replace(__file__, "")
    assert "a value was read" in text


def test_explain_names_the_block():
    net = mlp()
    step = _simple(net)
    step()
    text = engine.explain()
    assert "Sequential.0" in text and "trainer.step" in text and "update" in text
    assert "more" in engine.explain(limit=2).splitlines()[-1]


def test_explain_tells_what_made_a_program_new():
    x = np.ones((13, 13))
    x.attach_grad()

    def run(axis):
        with autograd.record():
            y = np.tanh(x)
            z = y.sum(axis=axis)  # the culprit
        z.backward()
        return x.grad.asnumpy()

    run(0), run(0)
    run(1)
    text = engine.explain()
    line = run.__code__.co_firstlineno + 3
    assert "compiled anew" in text and f"test_engine.py:{line} in run" in text.split("\n  the trace")[0]
    assert "known so far" in text
    run(1)
    assert "compiled anew" not in engine.explain()


def test_stats_count_what_happened():
    x = np.ones((19,))
    x.attach_grad()
    with autograd.record():
        y = x * 2 + 1
    y.backward()
    found = engine.stats()
    assert found["nodes_recorded"] == 3 and found["programs_compiled"] == 0
    x.grad.wait_to_read()
    found = engine.stats()
    assert (found["programs_compiled"], found["flushes"]) == (1, {"a value was read": 1})
    engine.reset_stats()
    assert engine.stats()["dispatches"] == 0


def test_a_wrong_shape_raises_at_the_line_that_wrote_it_and_leaves_the_graph_usable():
    x = np.ones((2, 3))
    x.attach_grad()
    with autograd.record():
        y = x * 2
        with pytest.raises(gluonx.errors.ShapeError, match=r"matmul.*\(2, 3\) and \(2, 3\)"):
            y @ y
        z = y.sum()
    z.backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2


@pytest.mark.dear
def test_hybridized_training_leaks_no_tracer(leak_check):
    step = _hybrid()
    for _ in range(2):
        step()


def test_an_output_on_the_tape_holds_only_the_weights_that_it_depends_on():
    """The step of a GAN's discriminator: what is generated stays on the tape, and no weight is copied for that."""
    generator, judge = nn.Dense(2, in_units=2), nn.Dense(1, in_units=2)
    for net in (generator, judge):
        net.initialize(gluonx.init.Constant(0.5))
    trainer = Trainer(judge.collect_params(), "adam", {"learning_rate": 0.1})
    x = np.array([[1.0, 2.0]])
    for _ in range(3):
        before = engine.stats()
        with autograd.record():
            made = generator(x)
            loss = judge(made.detach()).sum()
        loss.backward()
        trainer.step(1)
        after = engine.stats()
    assert after["copies"] == before["copies"]
    assert after["dispatches"] - before["dispatches"] == 1
    with autograd.record():
        value = (judge(made) ** 2).sum()
    first = autograd.grad(value, [generator.weight.data()], create_graph=True, retain_graph=True)[0]
    w = judge.weight.data()[0]
    expected = 2 * float(judge(made)) * float(w[0]) * x[0]
    assert onp.allclose(first.asnumpy()[0], expected.asnumpy(), rtol=1e-5)
    value.backward()
    assert onp.allclose(generator.weight.grad().asnumpy(), first.asnumpy(), rtol=1e-5)


@pytest.mark.dear
@pytest.mark.usefixtures("young_heap")
def test_what_runs_operator_by_operator_keeps_only_what_is_needed():
    import gc

    x = np.ones((64, 1024))
    x.wait_to_read()
    seen = []

    def looks(value):
        gc.collect()
        seen.append(sum(a.nbytes for a in jax.live_arrays()))
        return value

    run = executed(looks)
    try:
        with engine.host(False), engine.bulk(10_000):
            y = x * 1.5
            for i in range(10):
                y = np.tanh(y) + i / 16
            gc.collect()
            before = sum(a.nbytes for a in jax.live_arrays())
            y.wait_to_read()
    finally:
        run.undo()
    assert max(seen) - before <= 3 * x.nbytes


def executed(looks):
    """Has `looks` called after each operator that runs by itself."""
    from gluonx.deferred.run import program

    patch = pytest.MonkeyPatch()
    inner = program.run_alone
    patch.setattr(program, "run_alone", lambda *args: looks(inner(*args)))
    return patch
