"""Handlers that write to files and services, rates in the bar, and checkpoints that keep the best."""

import csv
import importlib
import math
import pathlib
import struct

import numpy as onp
import pytest
from test_estimator import fitter, loader  # noqa: F401 - the fixture

from gluonx import autograd, estimator, nn, np, sparse
from gluonx.compat import nd
from gluonx.errors import ArgumentError, FormatError

COMMON = {"epoch", "learning rate", "samples per second", "memory in MB"}


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.dear
def test_a_csv_file_has_a_row_for_each_time(loader, tmp_path):  # noqa: F811
    path = tmp_path / "log.csv"
    est = fitter()
    est.fit(loader, loader, epochs=2, event_handlers=estimator.CSVHandler(path, batch_period=2))
    rows = rows_of(path)
    assert [row["step"] for row in rows] == ["2", "4", "5", "6", "8", "10", "10"]
    assert [float(row["epoch"]) for row in rows] == [0, 0, 1, 1, 1, 1, 2]
    assert float(rows[-1]["validation accuracy"]) == est.val_metrics[0].get()[1]
    assert float(rows[-1]["learning rate"]) == 0.02
    assert float(rows[0]["samples per second"]) > 0 and float(rows[0]["memory in MB"]) > 1
    est.fit(loader, loader, epochs=1, event_handlers=estimator.CSVHandler(path))
    assert len(rows_of(path)) == 8
    with pytest.raises(FormatError, match="has the columns"):
        est.fit(loader, epochs=1, event_handlers=estimator.CSVHandler(path, est.train_metrics[:1]))


@pytest.mark.dear
def test_the_folder_of_a_csv_file_is_made(loader, tmp_path):  # noqa: F811
    path = tmp_path / "runs" / "first" / "log.csv"
    fitter().fit(loader, epochs=1, event_handlers=estimator.CSVHandler(path))
    assert len(rows_of(path)) == 1


@pytest.mark.parametrize("period", [0, -1, 1.5, "2"])
def test_a_period_is_a_number_of_batches(period):
    with pytest.raises(ArgumentError, match=r"CSVHandler: batch_period must be a whole number of batches above 0, got"):
        estimator.CSVHandler("log.csv", batch_period=period)


def test_tensorboard_takes_a_folder_or_a_writer():
    with pytest.raises(ArgumentError, match="takes a folder, or a SummaryWriter, got a int"):
        estimator.TensorBoardHandler(5)


class Writer:
    """Takes what a SummaryWriter takes."""

    def __init__(self):
        self.scalars, self.calls = [], []

    def add_scalar(self, name, value, step):
        assert type(value) is float
        self.scalars.append((name, value, step))

    def flush(self):
        self.calls.append("flush")


@pytest.mark.dear
def test_a_writer_of_tensorboard_is_given_scalars(loader):  # noqa: F811
    writer = Writer()
    fitter().fit(loader, loader, epochs=2, event_handlers=estimator.TensorBoardHandler(writer))
    names = {"training accuracy", "validation accuracy"}
    assert {name for name, _, _ in writer.scalars} >= names | COMMON
    assert {step for _, _, step in writer.scalars} == {5, 10}
    assert writer.calls == ["flush"]


def test_tensorboard_files_are_written(loader, tmp_path):  # noqa: F811
    pytest.importorskip("tensorboardX")
    fitter().fit(loader, epochs=1, event_handlers=estimator.TensorBoardHandler(tmp_path / "runs"))
    (file,) = pathlib.Path(tmp_path / "runs").iterdir()
    content = file.read_bytes()
    assert b"training accuracy" in content or b"training_accuracy" in content


def _arrays():
    with autograd.record():
        weight = np.arange(6.0).reshape(2, 3)
    net = nn.MultiHeadAttention(4, 2)
    net.initialize()
    net(np.ones((1, 2, 4)))
    piece = net.collect_params(fused=False)["query.weight"].data()
    rows = sparse.row_sparse_array((np.ones((1, 3)), [1]), shape=(2, 3))
    return [weight, weight[1:], weight.detach(), weight.astype("bfloat16"), piece, rows, nd.ones((2, 3))]


@pytest.mark.parametrize("array", _arrays(), ids=lambda array: type(array).__name__)
def test_writers_that_look_for_the_library_in_the_class_find_it(array):
    assert "jax" in str(type(array))  # all that tensorboardX looks at, and then it takes numpy.array(x)
    assert onp.array_equal(onp.array(array), array.asnumpy())


def test_tensorboards_writer_takes_arrays(tmp_path):
    tensorboard = pytest.importorskip("tensorboardX")
    with tensorboard.SummaryWriter(str(tmp_path)) as writer:
        x = np.array([1.0, 3.0])
        x.attach_grad()
        with autograd.record():
            loss = (x * x).mean()
            writer.add_scalar("loss while it is recorded", loss, 1)
        loss.backward()
        for array in _arrays():
            writer.add_histogram(type(array).__name__, array, 1)
        writer.add_scalar("a place", x[1], 1)
        writer.add_scalars("several", {"loss": loss, "gradient": x.grad[0]}, 1)
        writer.add_image("a picture", np.random.uniform(size=(3, 8, 8)), 1)
    content = b"".join(file.read_bytes() for file in tmp_path.rglob("events*"))
    assert b"a_picture" in content or b"a picture" in content
    assert struct.pack("<f", 5.0) in content and x.grad.tolist() == [1.0, 3.0]


class Run:
    def __init__(self):
        self.logged, self.finished = [], False

    def log(self, values, step):
        assert all(math.isfinite(value) for value in values.values())
        self.logged.append((step, values))

    def finish(self):
        self.finished = True


@pytest.mark.dear
def test_a_run_of_wandb_is_given_numbers(loader, monkeypatch):  # noqa: F811
    run = Run()
    fitter().fit(loader, epochs=2, event_handlers=estimator.WandbHandler(run))
    assert [step for step, _ in run.logged] == [5, 10] and not run.finished
    assert set(run.logged[0][1]) >= {"training accuracy", *COMMON}
    begun = []

    class Package:
        @staticmethod
        def init(**options):
            begun.append((options, Run()))
            return begun[0][1]

    real = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", lambda name, *a: Package if name == "wandb" else real(name, *a))
    fitter().fit(loader, epochs=1, event_handlers=estimator.WandbHandler(project="digits"))
    assert begun[0][0] == {"project": "digits"} and begun[0][1].finished and len(begun[0][1].logged) == 1


@pytest.mark.dear
def test_a_recorder_of_ones_own(loader):  # noqa: F811
    class Mine(estimator.RecordingHandler):
        seen: list

        def begin(self, estimator):
            self.seen = []

        def write(self, step, values):
            self.seen.append((step, set(values)))

    mine = Mine(batch_period=5)
    fitter().fit(loader, epochs=1, event_handlers=mine)
    assert [step for step, _ in mine.seen] == [5, 5]
    assert mine.seen[0][1] >= COMMON and "samples per second" not in mine.seen[1][1]
    with pytest.raises(NotImplementedError, match="must define write"):
        fitter().fit(loader, epochs=1, event_handlers=estimator.RecordingHandler())


def test_extras_are_named(loader, monkeypatch, tmp_path):  # noqa: F811
    real = importlib.import_module

    def missing(name, *args):
        if name in ("tensorboardX", "wandb"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", missing)
    for handler, extra in (
        (estimator.TensorBoardHandler(tmp_path), "tensorboard"),
        (estimator.WandbHandler(), "wandb"),
    ):
        with pytest.raises(ImportError, match=rf"gluonx\[{extra}\]"):
            fitter().fit(loader, epochs=1, event_handlers=handler)


@pytest.mark.dear
def test_the_bar_shows_rates(loader):  # noqa: F811
    pytest.importorskip("tqdm")
    import io

    out = io.StringIO()
    bar = estimator.ProgressHandler(rates=True, file=out, ascii=True, mininterval=0)
    fitter().fit(loader, epochs=1, event_handlers=bar)
    assert "samples/s=" in out.getvalue() and "MB=" in out.getvalue()


class Scores(estimator.EpochEnd):
    """Gives the monitored metric the values of a list."""

    priority = -10

    def __init__(self, metric, values):
        self.metric, self.values = metric, list(values)

    def epoch_end(self, estimator, *args, **kwargs):
        value = self.values.pop(0)
        self.metric.get = lambda: ("training accuracy", value)


def names_in(folder):
    return sorted(path.stem for path in folder.glob("*.params"))


@pytest.mark.dear
def test_the_best_checkpoints_are_kept_also_when_a_training_goes_on(loader, tmp_path):  # noqa: F811
    def saving(est):
        return estimator.CheckpointHandler(
            tmp_path, monitor=est.train_metrics[0], mode="max", max_checkpoints=1, keep_best=2,
            resume_from_checkpoint=True,
        )  # fmt: skip

    est = fitter()
    est.fit(loader, epochs=4, event_handlers=[Scores(est.train_metrics[0], [0.5, 0.9, 0.1, 0.2]), saving(est)])
    assert names_in(tmp_path) == ["model-epoch0batch5", "model-epoch1batch10", "model-epoch3batch20"]
    est = fitter()
    est.fit(loader, epochs=6, event_handlers=[Scores(est.train_metrics[0], [0.7, 0.3]), saving(est)])
    assert names_in(tmp_path) == ["model-epoch1batch10", "model-epoch4batch25", "model-epoch5batch30"]
    with pytest.raises(ValueError, match="keep_best must not be negative"):
        estimator.CheckpointHandler(tmp_path, keep_best=-1)
    with pytest.raises(ValueError, match=r"CheckpointHandler\(keep_best=1\): monitor must be a metric"):
        estimator.CheckpointHandler(tmp_path, keep_best=1)
