"""Every metric of the contract table: against MXNet 2.0, with every kind of array, and without reading in `update`."""

from __future__ import annotations

import inspect
import json
import math

import numpy as onp
import pytest

from gluonx import autograd, engine, metric, np
from lib import TESTS
from lib.contract import METRICS, Metric
from lib.sweep import FACTS, churn  # noqa: F401 - churn is a fixture

ROWS = pytest.mark.parametrize("row", METRICS, ids=lambda row: row.key)
ON_DEVICE = pytest.mark.parametrize("row", [row for row in METRICS if row.key != "custom"], ids=lambda row: row.key)


def wrap(x: onp.ndarray) -> np.ndarray:
    return np.array(x, dtype=x.dtype)


@ROWS
@pytest.mark.parametrize("how", ["arrays", "lists", "numpy"])
def test_golden(row: Metric, how: str) -> None:
    """Name and value after each batch are those of MXNet."""
    wanted, found = FACTS["metrics"][row.key], row.make(metric)
    for (label, pred), value in zip(row.epoch(), wanted["values"]):
        if how == "arrays":
            found.update(wrap(label), wrap(pred))
        elif how == "lists":
            found.update([wrap(label)], [wrap(pred)])
        else:
            found.update(label, pred)
        assert found.get()[0] == wanted["name"]
        assert found.get()[1] == pytest.approx(value, rel=1e-5, abs=1e-7)
    assert str(found).startswith(f"EvalMetric: {{'{wanted['name']}': ")


@ON_DEVICE
def test_update_reads_nothing(row: Metric) -> None:
    """On pending predictions an update is one more node; nothing is computed before `get`."""
    found = row.make(metric)
    label, pred = (wrap(x) for x in row.epoch()[0])
    pred.attach_grad()
    found.update(label, pred)
    found.get()
    found.reset()
    with autograd.record():
        doubled = pred * 1
        if label.shape == pred.shape and row.key in ("accuracy-same", "pcc"):
            return
        before = engine.stats()
        found.update(label, doubled)
        after = engine.stats()
    assert after["dispatches"] == before["dispatches"]
    assert after["nodes_recorded"] == before["nodes_recorded"] + 1
    assert found.get()[1] == pytest.approx(FACTS["metrics"][row.key]["values"][0], rel=1e-5, abs=1e-7)


@ON_DEVICE
def test_no_new_programs(row: Metric) -> None:
    """After an epoch, another one compiles nothing, though the metric is reset between."""
    found = row.make(metric)

    def epoch() -> None:
        found.reset()
        for label, pred in row.epoch():
            found.update(wrap(label), wrap(pred))
        found.get()

    epoch()
    before = engine.stats()["programs_compiled"]
    epoch()
    assert engine.stats()["programs_compiled"] == before


@ROWS
def test_reset_and_config(row: Metric) -> None:
    found = row.make(metric)
    assert math.isnan(found.get()[1])
    label, pred = row.epoch()[0]
    found.update(wrap(label), wrap(pred))
    value = found.get()[1]
    if row.key != "custom":
        other = metric.create(json.loads(json.dumps(found.get_config())))
        other.update(wrap(label), wrap(pred))
        assert other.get() == (found.name, pytest.approx(value, nan_ok=True))
        assert found.sum_metric / found.num_inst == pytest.approx(value) or row.key in ("rmse", "perplexity")
    found.reset()
    assert math.isnan(found.get()[1])


def test_signatures() -> None:
    path = TESTS / "oracle" / "layers" / "signatures.json"
    for name, wanted in json.loads(path.read_text()).items():
        if name.startswith("metric."):
            ours = list(inspect.signature(getattr(metric, name[7:]).__init__).parameters.values())[1:]
            # What is ours alone is given by keyword.
            found = {p.name: repr(p.default) for p in ours if p.kind not in (p.VAR_KEYWORD, p.KEYWORD_ONLY)}
            assert found == wanted and list(found) == list(wanted), name


def test_sums_do_not_drift() -> None:
    """A float32 sum of 0.1 stalls long before this; the totals do not."""
    found = metric.Loss()
    x = onp.full((1000,), 0.1, "float32")
    found.sum_metric, found.num_inst = 2e7, 1000
    for _ in range(300):
        found.update(None, x)
    assert found.sum_metric == pytest.approx(2e7 + 300 * float(x.astype("float64").sum()), rel=1e-9)
    counts = metric.Accuracy()
    counts.sum_metric = 2.0**30
    counts.update(np.array([1]), np.array([[0.0, 1.0]]))
    assert counts.sum_metric == 2**30 + 1


def test_metric_in_a_training_step() -> None:
    """The tape does not see a metric: the gradient is the same, and no graph grows from step to step."""
    found, x = metric.Loss(), np.array([1.0, 2.0])
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            y = (x * x).sum()
            found.update(None, y)
        y.backward()
    assert x.grad.tolist() == [2, 4]
    assert found.get() == ("loss", 5.0)


def test_lists_of_several_outputs() -> None:
    found = metric.MAE()
    found.update([np.zeros((2, 1)), np.zeros((2, 1))], [np.ones((2, 1)), np.ones((2, 1)) * 3])
    assert found.get() == ("mae", 2.0)
    with pytest.raises(ValueError, match="number of the labels, 1, does not match"):
        found.update([np.zeros((2, 1))], [np.ones((2, 1)), np.ones((2, 1))])


def test_composite() -> None:
    both = metric.create(["acc", metric.TopKAccuracy(top_k=2)])
    label, pred = np.array([0, 2]), np.array([[0.5, 0.3, 0.2], [0.5, 0.2, 0.3]])
    both.update([label], [pred])
    assert both.get() == (["accuracy", "top_k_accuracy_2"], [0.5, 1.0])
    assert both.get_name_value() == [("accuracy", 0.5), ("top_k_accuracy_2", 1.0)]
    assert both.get_metric(0).name == "accuracy"
    with pytest.raises(ValueError, match="out of range"):
        both.get_metric(2)
    both.reset()
    assert all(math.isnan(v) for v in both.get()[1])


def test_update_dict() -> None:
    found = metric.Accuracy(output_names=["softmax"], label_names=["class"])
    found.update_dict({"class": np.array([1]), "box": None}, {"other": None, "softmax": np.array([[0.0, 1.0]])})
    assert found.get() == ("accuracy", 1.0)


def test_create() -> None:
    assert isinstance(metric.create("ACC"), metric.Accuracy)
    assert isinstance(metric.create(metric.MAE), metric.MAE)
    assert metric.create('["top_k_accuracy", {"top_k": 3}]').top_k == 3
    assert metric.create("top_k_acc", top_k=3).name == "top_k_accuracy_3"
    assert metric.create(lambda label, pred: 1.0).name == "custom(<lambda>)"
    own = metric.MSE(name="own")
    assert metric.create(own) is own
    with pytest.raises(ValueError, match=r"There is no metric 'nothing'. Known: acc, accuracy"):
        metric.create("nothing")


def test_own_metrics() -> None:
    @metric.register
    class Sign(metric.EvalMetric):
        def update(self, labels, preds):
            for label, pred in zip(*metric.check_label_shapes(labels, preds, wrap=True)):
                self.sum_metric += ((pred > 0) == (label > 0)).sum()
                self.num_inst += label.size

    found = metric.create("sign", name="sign")
    found.update(np.array([1.0, -1.0]), np.array([2.0, 2.0]))
    assert found.get() == ("sign", 0.5)

    @metric.np
    def pair(label, pred):
        return onp.abs(label - pred).sum(), label.size

    pair.update(np.array([1.0, 2.0]), np.array([2.0, 4.0]))
    assert pair.get() == ("pair", 1.5)
    with pytest.raises(NotImplementedError, match="function"):
        pair.get_config()


def test_f1_of_each_class() -> None:
    found = metric.F1(class_type="multiclass", average=None)
    found.update(np.array([0, 1, 1]), np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.9, 0.1, 0.0]]))
    onp.testing.assert_allclose(found.get()[1], [2 / 3, 2 / 3, 0], rtol=1e-6)


def test_label_out_of_range_is_reported() -> None:
    found = metric.F1()
    found.update(np.array([0, 2]), np.array([0.1, 0.9]))
    with pytest.raises(ValueError, match="1 labels were above the last class of a binary task"):
        found.get()


def test_pcc_grows() -> None:
    found = metric.PCC()
    found.update(np.array([0, 1]), np.array([0, 1]))
    found.update(np.array([4, 3]), np.array([4, 3]))
    assert found.get() == ("pcc", 1.0)


@pytest.mark.parametrize(
    ("make", "label", "pred", "message"),
    [
        (lambda: metric.Accuracy(), (4,), (5, 3), "4 labels for 5 predictions"),
        (lambda: metric.Accuracy(axis=3), (4,), (4, 3), "axis=3"),
        (lambda: metric.TopKAccuracy(top_k=2), (4,), (4, 3, 2), "top-k"),
        (lambda: metric.MAE(), (4, 1), (4, 2), "same shape"),
        (lambda: metric.CrossEntropy(), (3,), (4, 2), "do not fit"),
        (lambda: metric.F1(), (4,), (4, 3), "not binary"),
        (lambda: metric.F1(class_type="multilabel"), (4,), (4, 3), "same shape"),
    ],
)
def test_mistakes(make, label, pred, message) -> None:
    found = make()
    with pytest.raises(ValueError, match=message):
        found.update(np.ones(label), np.ones(pred))
    assert math.isnan(found.get()[1]), "a batch that failed does not count"


def test_mistakes_when_made() -> None:
    with pytest.raises(ValueError, match="use Accuracy"):
        metric.TopKAccuracy(top_k=1)
    with pytest.raises(ValueError, match="class_type must be one of"):
        metric.F1(class_type="none")


@ROWS
def test_what_is_forgotten_locally_counts_globally(row: Metric) -> None:
    """`get` tells of the batches since `reset_local`, `get_global` of all, as if nothing had been forgotten."""
    found, whole, last = (row.make(metric) for _ in range(3))
    batches = [(wrap(label), wrap(pred)) for label, pred in row.epoch()]
    for k, batch in enumerate(batches):
        if k:
            found.reset_local()
            assert math.isnan(found.get()[1])
        last.reset()
        for each in (found, whole, last):
            each.update(*batch)
        assert found.get() == (found.name, pytest.approx(last.get()[1], nan_ok=True))
        assert found.get_global() == (found.name, pytest.approx(whole.get()[1], nan_ok=True))
        assert found.get_global_name_value() == [found.get_global()]
    assert found.global_num_inst == whole.num_inst
    found.reset()
    assert math.isnan(found.get()[1]) and math.isnan(found.get_global()[1])
    found.update(*batches[0])
    assert found.get_global() == found.get()


def test_global_values_of_ones_own_metrics() -> None:
    """A metric of one's own keeps them itself, and says so; else they are the local ones."""

    class Mean(metric.EvalMetric):
        def update(self, labels, preds) -> None:
            self.sum_metric, self.num_inst = self.sum_metric + preds.sum(), self.num_inst + preds.size
            self.global_sum_metric, self.global_num_inst = self.global_sum_metric + preds.sum(), 1

    for keeps, wanted in ((True, 10.0), (False, 3.5)):
        both = metric.CompositeEvalMetric([Mean("mean", has_global_stats=keeps), "mae"])
        both.update(onp.zeros((1, 2)), onp.array([[1.0, 2.0]]))
        both.reset_local()
        both.update(onp.zeros((1, 2)), onp.array([[3.0, 4.0]]))
        assert both.get() == (["mean", "mae"], [3.5, 3.5])
        assert both.get_global() == (["mean", "mae"], [wanted, 2.5])
        both.reset()
        assert math.isnan(both.get_global()[1][0])


def test_a_metric_computes_with_the_setting_that_was_written_last() -> None:
    """As in MXNet, which reads ``metric.top_k`` at each update."""
    top, labels, scores = metric.TopKAccuracy(top_k=2), np.array([0, 1]), np.array([[0.5, 0.4, 0.1], [0.5, 0.4, 0.1]])
    top.update([labels], [scores])
    assert top.get()[1] == 1
    top.reset()
    top.top_k = 1
    top.update([labels], [scores])
    assert top.get()[1] == 0.5

    accuracy, turned = metric.Accuracy(), np.array([[0.9, 0.1], [0.8, 0.7]])
    for axis, share in ((1, 0.5), (0, 1.0)):
        accuracy.reset()
        accuracy.axis = axis
        accuracy.update([np.array([0, 1])], [turned])
        assert accuracy.get()[1] == share
