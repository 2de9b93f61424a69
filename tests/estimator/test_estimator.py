"""The estimator against MXNet's (tests/oracle/estimator), its programs, and checkpoints that resume to the bit."""

import json
import logging
import pickle
import random
import types

import numpy as onp
import pytest

import gluonx as mx
from gluonx import data, engine, estimator, loss, lr_scheduler, metric, nn
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("estimator")
GOLDEN = json.loads((TESTS / "oracle" / "estimator" / "golden.json").read_text())
NS = types.SimpleNamespace(
    E=estimator, nn=nn, loss=loss, metric=metric, data=data, Trainer=mx.Trainer, array=mx.np.array
)


@pytest.mark.dear
@pytest.mark.parametrize("name", [name for name in cases.CASES if name != "stopping"])
def test_as_mxnet(name):
    found, expected = cases.CASES[name](NS), GOLDEN[name]
    weights = found.pop("weights", None), expected.get("weights")
    values = found.pop("values", None), expected.get("values")
    for mine, theirs in (weights, values):
        assert mine is theirs is None or onp.allclose(mine, theirs, rtol=2e-5, atol=2e-6)
    assert found == {key: value for key, value in expected.items() if key not in ("weights", "values")}


@pytest.mark.dear
@pytest.mark.parametrize("name", cases.STOPS)
def test_early_stopping_as_mxnet(name, monkeypatch):
    monkeypatch.setattr(cases, "STOPS", {name: cases.STOPS[name]})
    assert cases.stopping(NS)[name] == GOLDEN["stopping"][name]


@pytest.fixture
def loader():
    rng = onp.random.RandomState(0)
    x, y = rng.randn(40, 5).astype("float32"), rng.randint(0, 3, 40)
    return data.DataLoader(data.ArrayDataset(x, y), batch_size=8, shuffle=True)


def fitter(metrics=None, optimizer="adam", hybridize=True, **settings):
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.BatchNorm(), nn.Dropout(0.3), nn.Dense(3))
    net.initialize()
    if hybridize:
        net.hybridize()
    trainer = mx.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.02, **settings})
    est = estimator.Estimator(net, loss.SoftmaxCrossEntropyLoss(), metrics, trainer=trainer)
    est.logger.handlers.clear()
    est.logger.addHandler(logging.NullHandler())
    return est


class Dispatches(estimator.BatchEnd):
    priority = 5000

    def __init__(self):
        self.seen = []

    def batch_end(self, estimator, *args, **kwargs):
        self.seen.append((engine.stats()["dispatches"], engine.stats()["programs_compiled"]))


@pytest.mark.dear
@pytest.mark.parametrize("hybridize", [True, False])
def test_a_batch_is_one_program(loader, hybridize):
    est, counts = fitter(hybridize=hybridize), Dispatches()
    est.fit(loader, batches=2)
    est.fit(loader, epochs=2, event_handlers=counts)
    first = counts.seen[0]
    # Five batches an epoch. Between two epochs the log reads two metrics, which begin anew.
    assert [b[0] - a[0] for a, b in zip(counts.seen[:5], counts.seen[1:5])] == [1] * 4
    assert [b[0] - a[0] for a, b in zip(counts.seen[5:], counts.seen[6:])] == [1] * 4
    assert {seen[1] for seen in counts.seen} == {first[1]}, "nothing compiles in a steady loop"


@pytest.mark.dear
def test_a_metric_that_reads_does_not_tear_the_step(loader):
    """It runs behind the step, as in MXNet."""
    est = fitter([metric.np(lambda label, pred: float((pred.argmax(1) == label).mean()))])
    est.fit(loader, batches=2)
    order = estimator.estimator._batch_ends(est.event_handlers)
    assert [type(h).__name__ for h in order[:2]] == ["GradientUpdateHandler", "MetricHandler"]


@pytest.mark.dear
def test_evaluation_is_one_program_a_batch(loader):
    est = fitter()
    est.fit(loader, loader, epochs=1)
    before = engine.stats()
    est.evaluate(loader)
    after = engine.stats()
    assert after["dispatches"] - before["dispatches"] <= 5 + 1
    assert after["programs_compiled"] == before["programs_compiled"]


@pytest.mark.dear
def test_metrics_are_those_of_a_loop_by_hand(loader):
    est, hand = fitter(), metric.Accuracy()
    seen = []

    class Keep(estimator.BatchEnd):
        def batch_end(self, estimator, *args, **kwargs):
            seen.append((kwargs["label"][0].asnumpy(), kwargs["pred"][0].asnumpy()))

    est.fit(loader, epochs=1, event_handlers=Keep())
    for label, pred in seen:
        hand.update(mx.np.array(label), mx.np.array(pred))
    assert est.train_metrics[0].get()[1] == hand.get()[1]


# ------------------------------------------------------------------------------------------------ checkpoints


def state(est, folder):
    est.trainer.save_states(f"{folder}/compared.states")
    states = mx.files.load_arrays(f"{folder}/compared.states")
    values = {name: p.data().asnumpy() for name, p in est.net.collect_params().items()}
    streams = mx.random.get_state(), onp.random.get_state()[1].tolist(), random.getstate()
    return values, states, streams, [m.get() for m in est.train_metrics]


def assert_same_bits(one, other):
    for mine, theirs in zip(one[:2], other[:2]):
        assert mine.keys() == theirs.keys()
        assert all(mine[name].tobytes() == theirs[name].tobytes() for name in mine)
    assert one[2:] == other[2:]


class Interrupted(Exception):
    pass


class Interrupt(estimator.BatchEnd):
    """Raises before the given batch; draws numbers as a careless user does."""

    def __init__(self, batch=None):
        self.batch = batch

    def batch_end(self, estimator, *args, **kwargs):
        onp.random.rand(), random.random()
        if estimator.progress.batch == self.batch:
            raise Interrupted


def seeded(number):
    mx.random.seed(number), onp.random.seed(number), random.seed(number)


# 5 batches an epoch: at the end of an epoch, in the middle of one, and at the very end of one.
PERIODS = [((1, None), 12), ((None, 3), 8), ((None, 5), 7), ((1, 2), 13)]
LENGTHS = [{"epochs": 4}, {"batches": 17}]
QUICK = {(0, 0), (1, 1)}


@pytest.mark.dear
@pytest.mark.parametrize(
    ("periods", "at", "length"),
    [
        pytest.param(*period, length, marks=() if (i, j) in QUICK else pytest.mark.slow)
        for i, length in enumerate(LENGTHS)
        for j, period in enumerate(PERIODS)
    ],
    ids=str,
)
def test_resumes_to_the_bit(loader, tmp_path, periods, at, length):
    def train(folder, stop=None, resume=False):
        schedule = lr_scheduler.FactorScheduler(3, 0.9, base_lr=0.02)
        est = fitter(lr_scheduler=schedule)
        handlers = [
            estimator.CheckpointHandler(
                folder,
                epoch_period=periods[0],
                batch_period=periods[1],
                resume_from_checkpoint=resume,
                max_checkpoints=3,
            ),
            Interrupt(stop),
            estimator.EarlyStoppingHandler(est.train_metrics[1], patience=50, mode="min"),
        ]
        est.fit(loader, loader, event_handlers=handlers, **length)
        return est, handlers

    seeded(7)
    whole, told = train(tmp_path / "whole")
    expected = state(whole, tmp_path)
    names = sorted(p.name for p in (tmp_path / "whole").iterdir())

    seeded(7)
    with pytest.raises(Interrupted):
        train(tmp_path / "parts", stop=at)
    seeded(8)
    onp.random.rand(17)
    again, handlers = train(tmp_path / "parts", resume=True)
    assert_same_bits(state(again, tmp_path), expected)
    assert sorted(p.name for p in (tmp_path / "parts").iterdir()) == names
    assert [h.state_dict() for h in handlers] == [h.state_dict() for h in told]


@pytest.mark.dear
@pytest.mark.parametrize(("period", "at"), [((1, None), 5), ((None, 1), 5)], ids=str)
def test_what_a_loader_rolled_over_is_resumed_too(tmp_path, period, at):
    x = onp.random.default_rng(3).normal(size=(11, 4)).astype("float32")
    samples = data.ArrayDataset(x, onp.arange(11) % 3)

    def train(folder, stop=None):
        loader = data.DataLoader(samples, 4, shuffle=True, last_batch="rollover")  # epochs of 2, 3, 3, 2 batches
        saving = estimator.CheckpointHandler(
            folder, epoch_period=period[0], batch_period=period[1], resume_from_checkpoint=True
        )
        est = fitter()
        est.fit(loader, epochs=4, event_handlers=[saving, Interrupt(stop)])
        return state(est, tmp_path)

    seeded(7)
    expected = train(tmp_path / "whole")
    seeded(7)
    with pytest.raises(Interrupted):
        train(tmp_path / "parts", stop=at)
    assert_same_bits(train(tmp_path / "parts"), expected)


class Scaled(estimator.BatchProcessor):
    def fit_batch(self, estimator, train_batch, batch_axis=0):
        data, label = train_batch
        with mx.autograd.record():
            pred = estimator.net(data)
            value = estimator.loss(pred, label)
            with mx.amp.scale_loss(value, estimator.trainer) as scaled:
                mx.autograd.backward(scaled)
        return [data], [label], [pred], [value]


@pytest.mark.dear
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_resumes_with_a_loss_scale_and_workers(tmp_path, workers):
    rng = onp.random.RandomState(0)
    samples = data.ArrayDataset(rng.randn(24, 5).astype("float32"), rng.randint(0, 3, 24))

    def train(folder, batches, seed):
        mx.random.seed(seed)
        options = {"num_workers": workers, "thread_pool": True} if workers else {}
        with data.DataLoader(samples, batch_size=8, shuffle=True, **options) as loader:
            est = fitter()
            est.batch_processor = Scaled()
            est.trainer._attach_scaler(mx.amp.LossScaler(4.0, growth_interval=2))
            saving = {"epoch_period": None, "batch_period": 1, "resume_from_checkpoint": True}
            est.fit(loader, batches=batches, event_handlers=estimator.CheckpointHandler(folder, **saving))
        return state(est, tmp_path), est.trainer.amp_loss_scale

    whole = train(tmp_path / "whole", 7, 1)
    train(tmp_path / "parts", 5, 1)
    again = train(tmp_path / "parts", 7, 2)
    assert_same_bits(again[0], whole[0])
    assert again[1] == whole[1] > 4


@pytest.mark.dear
def test_no_checkpoint_starts_from_scratch(loader, tmp_path, caplog):
    est = fitter()
    lines = cases.Lines()
    est.logger.addHandler(lines)
    est.fit(loader, epochs=1, event_handlers=estimator.CheckpointHandler(tmp_path, resume_from_checkpoint=True))
    assert "CheckpointHandler: No checkpoint found, training from scratch for 1 epochs" in lines.lines
    with pytest.raises(ValueError, match="epoch0batch5 has 1 epochs behind it, and fit\\(\\) was asked for 1"):
        fitter().fit(
            loader, epochs=1, event_handlers=estimator.CheckpointHandler(tmp_path, resume_from_checkpoint=True)
        )


@pytest.mark.dear
@pytest.mark.parametrize("text", ["{", "[]", '{"format": 2}', '{"format": 1, "epoch": "x"}', "\x00"])
def test_a_damaged_checkpoint_is_an_error(loader, tmp_path, text):
    fitter().fit(loader, epochs=1, event_handlers=estimator.CheckpointHandler(tmp_path))
    (tmp_path / "model-epoch0batch5.resume").write_text(text)
    with pytest.raises(mx.errors.FormatError, match=r"model-epoch0batch5\.resume"):
        fitter().fit(
            loader, epochs=2, event_handlers=estimator.CheckpointHandler(tmp_path, resume_from_checkpoint=True)
        )


@pytest.mark.dear
def test_a_missing_file_is_an_error(loader, tmp_path):
    fitter().fit(loader, epochs=1, event_handlers=estimator.CheckpointHandler(tmp_path))
    (tmp_path / "model-epoch0batch5.states").unlink()
    with pytest.raises(mx.errors.FormatError, match=r"no file model-epoch0batch5\.states"):
        fitter().fit(
            loader, epochs=2, event_handlers=estimator.CheckpointHandler(tmp_path, resume_from_checkpoint=True)
        )


@pytest.mark.dear
def test_checkpoints_beside_ours_stay(loader, tmp_path):
    """epoch1batch5 does not take epoch1batch50 with it, as in MXNet."""
    other = tmp_path / "model-epoch0batch50.params"
    other.write_bytes(b"")
    handler = estimator.CheckpointHandler(tmp_path, max_checkpoints=1)
    fitter().fit(loader, epochs=2, event_handlers=handler)
    assert other.exists() and handler.saved_checkpoints == ["model-epoch1batch10"]


def test_best_is_by_name_where_no_mode_is_given(loader, tmp_path):
    est = fitter()
    accuracy, value = est.train_metrics
    compare = [
        estimator.CheckpointHandler(tmp_path, monitor=m, save_best=True).monitor_op(2, 1) for m in (accuracy, value)
    ]
    assert compare == [True, False]


def test_a_name_that_tells_nothing(tmp_path):
    """As in MXNet larger is better, but not in silence."""
    for name, larger in (("quality", True), ("accumulated loss", True)):
        with pytest.warns(UserWarning, match=f"{name}' does not tell .* mode='min' or mode='max'"):
            handler = estimator.EarlyStoppingHandler(metric.CustomMetric(lambda y, p: 0.0, name=name))
        assert handler.monitor_op(2, 1) == larger
    known = {metric.CustomMetric(lambda y, p: 0.0, name="mean IoU"): True, metric.Loss("dice"): False}
    for made in (metric.MAE(), metric.MSE(), metric.RMSE(), metric.CrossEntropy(), metric.Perplexity()):
        known[made] = False
    for made in (metric.Accuracy(), metric.TopKAccuracy(2), metric.F1(), metric.MCC(), metric.PCC()):
        known[made] = True
    for made, larger in known.items():
        assert estimator.EarlyStoppingHandler(made).monitor_op(2, 1) == larger, made


# ------------------------------------------------------------------------------------------------ random state


def test_random_state_goes_back():
    mx.random.seed(3)
    mx.np.random.normal(size=2), mx.random.host_rng().random(), mx.random.host_rng().spawn(2)
    kept = json.loads(json.dumps(mx.random.get_state()))
    host = mx.random.host_rng()
    one = mx.np.random.normal(size=4).tolist(), host.random(3).tolist(), host.spawn(1)[0].random()
    mx.random.set_state(kept)
    host = mx.random.host_rng()
    assert one == (mx.np.random.normal(size=4).tolist(), host.random(3).tolist(), host.spawn(1)[0].random())
    assert mx.random.get_state().keys() == kept.keys()


@pytest.mark.parametrize(
    "state", [{}, {"seed": 1}, None, {"seed": 1, "counter": 0, "streams": 0, "spawned": 0, "host": 3}]
)
def test_a_wrong_random_state_changes_nothing(state):
    before = mx.random.get_state()
    with pytest.raises(ValueError, match="set_state takes what"):
        mx.random.set_state(state)
    assert mx.random.get_state() == before


@pytest.mark.parametrize(
    "make",
    [
        metric.Accuracy,
        lambda: metric.F1(class_type="multiclass", average="macro"),
        metric.PCC,
        metric.MCC,
        lambda: metric.create(["acc", "ce"]),
    ],
)
def test_metric_states(make, rng):
    pairs = [(rng.integers(0, 2, 6), rng.random((6, 2)).astype("float32")) for _ in range(4)]
    whole, first, second = make(), make(), make()
    for label, pred in pairs:
        whole.update(label, pred)
    for label, pred in pairs[:2]:
        first.update(label, pred)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for label, pred in pairs[2:]:
        second.update(label, pred)
    assert str(second.get()) == str(whole.get())


# ------------------------------------------------------------------------------------------------ bad input


def test_bad_arguments(loader):
    est = fitter()
    dense = nn.Dense(2)
    for call, text in [
        (lambda: estimator.Estimator(dense, "l2"), "loss must be a gluon.loss.Loss"),
        (lambda: estimator.Estimator(dense, loss.L2Loss(), "mae", trainer=est.trainer), "metrics must be"),
        (lambda: estimator.Estimator(dense, loss.L2Loss(), trainer="sgd"), "trainer must be a gluon.Trainer"),
        (lambda: estimator.Estimator(dense, loss.L2Loss(), trainer=est.trainer, batch_processor=3), "method fit_batch"),
        (lambda: est.fit([1], epochs=1), "train_data must be a gluon.data.DataLoader"),
        (lambda: est.fit(loader, [1], epochs=1), "val_data must be a gluon.data.DataLoader"),
        (lambda: est.evaluate(3), "val_data must be"),
        (lambda: est.fit(loader), "one of the two"),
        (lambda: est.fit(loader, epochs=1, batches=1), "one of the two"),
        (lambda: est.fit(loader, epochs=-1), "epochs must be an int above 0, got -1"),
        (lambda: est.fit(loader, batches=1.5), "batches must be an int above 0, got 1.5"),
        (lambda: estimator.CheckpointHandler("/tmp", max_checkpoints=-1), "max_checkpoints must not be negative"),
        (lambda: est.fit(loader, epochs=1, event_handlers=3), "must be an EventHandler"),
        (
            lambda: est.fit(loader, epochs=1, event_handlers=estimator.LoggingHandler(metrics=metric.MAE())),
            "none of this",
        ),
        (lambda: estimator.LoggingHandler(0), "log_interval"),
        (lambda: estimator.LoggingHandler("batch"), "log_interval"),
        (lambda: estimator.EarlyStoppingHandler("acc"), "monitor must be a metric"),
        (lambda: estimator.EarlyStoppingHandler(metric.create(["acc"])), "single metric"),
        (lambda: estimator.EarlyStoppingHandler(metric.MAE(), mode="least"), "mode must be"),
        (lambda: estimator.CheckpointHandler("/tmp", save_best=True), "monitor must be a metric"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    empty = data.DataLoader(data.ArrayDataset(onp.zeros((3, 2)), onp.zeros(3)), batch_size=4, last_batch="discard")
    with pytest.raises(ValueError, match="train_data has no batch"):
        est.fit(empty, epochs=1)


def test_what_is_left_out_is_said(loader):
    with pytest.warns(UserWarning, match="SGD with a learning rate of 0.001"):
        est = estimator.Estimator(nn.Dense(3), loss.SoftmaxCrossEntropyLoss())
    assert est.trainer.learning_rate == 0.001
    with pytest.warns(UserWarning, match="initialized already"):
        estimator.Estimator(est.net, est.loss, initializer="zeros", trainer=est.trainer)
    handler = estimator.EarlyStoppingHandler(metric.MAE())
    with pytest.warns(RuntimeWarning, match="mae is nan"):
        handler.epoch_end(est)


def test_names():
    assert mx.gluon.contrib.estimator.Estimator is estimator.Estimator is mx.estimator.Estimator
    assert pickle.loads(pickle.dumps(estimator.StoppingHandler(3))).max_epoch == 3
    mx.compat.install_as_mxnet()
    try:
        from mxnet.gluon.contrib.estimator import Estimator, event_handler
        from mxnet.gluon.contrib.estimator.batch_processor import BatchProcessor

        assert Estimator is estimator.Estimator and BatchProcessor is estimator.BatchProcessor
        assert event_handler.CheckpointHandler is estimator.CheckpointHandler
    finally:
        mx.compat.uninstall()


# ------------------------------------------------------------------------------------------------ shown


@pytest.mark.dear
def test_progress_bar(loader):
    pytest.importorskip("tqdm")
    import io

    out = io.StringIO()
    est = fitter()
    bar = estimator.ProgressHandler(metric_period=2, file=out, ascii=True, mininterval=0)
    est.fit(loader, loader, epochs=2, event_handlers=bar)
    text = out.getvalue()
    assert "Epoch 0: 100%" in text and "5/5" in text and "Epoch 1: 100%" in text
    assert f"training accuracy={est.train_metrics[0].get()[1]:.4f}" in text
    assert f"validation accuracy={est.val_metrics[0].get()[1]:.4f}" in text


@pytest.mark.dear
def test_live_curves(loader, tmp_path):
    pytest.importorskip("matplotlib")
    est = fitter()
    curves = estimator.LiveCurves(batch_period=2, path=tmp_path / "curves.png")
    est.fit(loader, loader, epochs=2, event_handlers=curves)
    assert [at for at, _ in curves.history["validation accuracy"]] == [1.0, 2.0]
    assert [at for at, _ in curves.history["training accuracy"]] == [0.4, 0.8, 1.0, 1.2, 1.6, 2.0, 2.0]
    assert curves.history["training accuracy"][-1][1] == est.train_metrics[0].get()[1]
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    lines = {line.get_label() for line in curves.figure.axes[0].lines}
    assert lines == set(curves.history)


def test_extras_are_named(loader, monkeypatch):
    import importlib

    real = importlib.import_module

    def missing(name, *args):
        if name.partition(".")[0] in ("tqdm", "matplotlib"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ImportError, match=r"gluonx\[progress\]"):
        fitter().fit(loader, epochs=1, event_handlers=estimator.ProgressHandler())
    with pytest.raises(ImportError, match=r"gluonx\[notebook\]"):
        fitter().fit(loader, epochs=1, event_handlers=estimator.LiveCurves())


@pytest.mark.parametrize("wrong", ["cpu", [mx.cpu(), "gpu"], [], 3])
def test_devices_are_devices(wrong):
    net = nn.Dense(2)
    for keyword in ("device", "context"):
        with pytest.raises(ValueError, match="device must be a Device or a list of them"):
            estimator.Estimator(net, loss.L2Loss(), **{keyword: wrong})


@pytest.mark.dear
@pytest.mark.parametrize(
    "changed",
    [
        {"metrics": "x"},
        {"metrics": ["a"]},
        {"loader": None},
        {"handlers": [["CheckpointHandler", 5]]},
        {"batch_in_epoch": 3},
    ],
    ids=str,
)
def test_a_part_of_a_checkpoint_that_is_something_else_is_an_error(loader, tmp_path, changed):
    """Its checksum is gone as well, as in files that older versions wrote."""
    fitter().fit(loader, epochs=1, event_handlers=estimator.CheckpointHandler(tmp_path))
    path = tmp_path / "model-epoch0batch5.resume"
    kept = {**json.loads(path.read_text()), **changed}
    del kept["checksum"]
    path.write_text(json.dumps(kept))
    with pytest.raises(mx.errors.FormatError, match=r"model-epoch0batch5\.resume: its states do not fit"):
        fitter().fit(
            loader, epochs=2, event_handlers=estimator.CheckpointHandler(tmp_path, resume_from_checkpoint=True)
        )
