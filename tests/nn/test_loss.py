"""Every loss of the contract table: against MXNet 2.0 and in every mode; and what is wrong with bad input."""

from __future__ import annotations

import inspect
import json

import numpy as onp
import pytest

from gluonx import autograd, engine, loss, np
from gluonx.errors import ShapeError
from lib import TESTS
from lib.contract import LOSSES, Row
from lib.sweep import agree, build, churn, facts_of, golden, predict, train  # noqa: F401 - churn is a fixture

ROWS = pytest.mark.parametrize("row", LOSSES, ids=lambda row: row.key)


@ROWS
def test_golden(row: Row) -> None:
    """Values and gradients are those of MXNet, and so is the repr."""
    block = build(row, loss)
    assert repr(block) == facts_of("losses", row.key)["repr"]
    agree({"predict": predict(row, block), **train(row, block)}, golden("losses", row.key), row.tol, row.key)


@ROWS
@pytest.mark.parametrize("mode", ["naive", "hybrid", pytest.param("naive-hybrid", marks=pytest.mark.slow)])
def test_modes(row: Row, mode: str) -> None:
    agree(train(row, build(row, loss, mode), mode), train(row, build(row, loss)), 2e-6, f"{row.key} {mode}")


@ROWS
def test_is_one_node(row: Row) -> None:
    """A loss is one node of the graph, and the third call compiles nothing."""
    block = build(row, loss)
    inputs = [np.array(x, dtype=x.dtype) for x in row.inputs()]
    for _ in range(2):
        train(row, block)
    before = engine.stats()
    train(row, block)
    assert engine.stats()["programs_compiled"] == before["programs_compiled"], engine.explain()
    with autograd.record():
        first = engine.stats()["nodes_recorded"]
        block(*inputs)
        assert engine.stats()["nodes_recorded"] == first + 1


def test_signatures() -> None:
    path = TESTS / "oracle" / "layers" / "signatures.json"
    for name, wanted in json.loads(path.read_text()).items():
        if name.startswith("loss."):
            ours = list(inspect.signature(getattr(loss, name[5:]).__init__).parameters.values())[1:]
            ours = [p for p in ours if p.kind is not p.KEYWORD_ONLY]  # what is ours alone is given by keyword
            assert {p.name: repr(p.default) for p in ours} == wanted, name
            assert [p.name for p in ours] == list(wanted), name


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype: str) -> None:
    """A large vocabulary in half precision keeps its type and is summed in single precision."""
    logits = onp.random.RandomState(0).normal(size=(4, 5000)).astype("float32")
    label = np.array([1, 2, 3, 4999], dtype="int32")
    pred = np.array(logits).astype(dtype)
    wide = loss.SoftmaxCELoss()(pred.astype("float32"), label).asnumpy()
    y = loss.SoftmaxCELoss()(pred, label)
    assert str(y.dtype) == dtype
    onp.testing.assert_allclose(y.astype("float32").asnumpy(), wide, rtol=1e-2)


def test_extreme_logits_stay_finite() -> None:
    pred = np.array([[1000.0, -1000.0], [-1000.0, 1000.0]])
    assert loss.SoftmaxCELoss()(pred, np.array([0, 0])).tolist() == [0, 2000]
    assert loss.SigmoidBCELoss()(pred, np.array([[1.0, 0.0], [1.0, 0.0]])).tolist() == [0, 1000]
    zero = np.zeros((1, 3))
    zero.attach_grad()
    with autograd.record():
        y = loss.CosineEmbeddingLoss()(zero, np.ones((1, 3)), np.array([1]))
    y.backward()
    assert onp.isfinite(zero.grad.asnumpy()).all()


def test_infinite_logits_mask_a_class() -> None:
    pred = np.array([[0.0, 0.0, -onp.inf]])
    pred.attach_grad()
    with autograd.record():
        y = loss.SoftmaxCELoss()(pred, np.array([0]))
    y.backward()
    onp.testing.assert_allclose(y.asnumpy(), [onp.log(2)], rtol=1e-6)
    onp.testing.assert_allclose(pred.grad.asnumpy(), [[-0.5, 0.5, 0]], rtol=1e-6)


def test_ctc_ends_a_label_at_a_negative_number() -> None:
    pred = np.array(onp.random.RandomState(0).normal(size=(2, 6, 4)))
    full, cut = np.array([[0, 1, 2], [2, 1, -1]]), np.array([[0, 1, 2], [2, 1, 0]])
    lengths = np.array([3, 2])
    onp.testing.assert_allclose(
        loss.CTCLoss()(pred, full).asnumpy(), loss.CTCLoss()(pred, cut, None, lengths).asnumpy(), rtol=1e-6
    )
    short = loss.CTCLoss()(pred[:, :4], full).asnumpy()
    onp.testing.assert_allclose(loss.CTCLoss()(pred, full, np.array([4, 4])).asnumpy(), short, rtol=1e-5)


def test_own_loss() -> None:
    class Cubic(loss.Loss):
        def __init__(self):
            super().__init__(None, 0)

        def forward(self, pred, label):
            return ((pred - label) ** 3).mean(axis=1)

    assert Cubic()(np.ones((2, 2)) * 3, np.ones((2, 2))).tolist() == [8, 8]
    with pytest.raises(NotImplementedError):
        loss.Loss(None, 0)(np.ones((2,)))


@pytest.mark.parametrize(
    ("make", "shapes", "words"),
    [
        (lambda: loss.L2Loss(), [(4, 3), (4, 2)], ["(4, 2)", "(4, 3)"]),
        (lambda: loss.SoftmaxCELoss(), [(4, 3), (4, 3)], ["(4, 3)", "sparse_label=False"]),
        (lambda: loss.SoftmaxCELoss(), [(4, 3), (4,), (5, 1)], ["sample_weight", "(5, 1)", "(4, 1)"]),
        (lambda: loss.L1Loss(batch_axis=2), [(4, 3), (4, 3)], ["batch_axis=2"]),
        (lambda: loss.KLDivLoss(), [(4, 3), (4,)], ["(4,)", "(4, 3)"]),
        (lambda: loss.SDMLLoss(), [(4, 3), (5, 3)], ["(4, 3)", "(5, 3)"]),
        (lambda: loss.SigmoidBCELoss(), [(4, 3), (4, 3), (4, 1), (2,)], ["pos_weight", "(2,)"]),
    ],
)
def test_mistakes(make, shapes, words) -> None:
    with pytest.raises(ShapeError) as caught:
        make()(*[np.ones(shape) for shape in shapes])
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: loss.L2Loss(weight="two"), TypeError, "must be a number or None, got 'two'"),
        (lambda: loss.LogisticLoss(label_format="text"), ValueError, "'signed' or 'binary'"),
        (lambda: loss.CTCLoss(layout="NCT"), ValueError, "'NTC' or 'TNC'"),
    ],
)
def test_mistakes_when_made(make, error, message) -> None:
    with pytest.raises(error, match=message):
        make()


WRITTEN = {  # the attribute that is written, and MXNet's answers before and after
    "L2Loss": ("_weight", 3.0, 11.25, 33.75),
    "HuberLoss": ("_rho", 0.1, 3.0, 3.45),
    "HingeLoss": ("_margin", 5.0, 6.0, 9.0),
    "KLDivLoss": ("_from_logits", False, 6.1084, 12.7628),
    "LogisticLoss": ("_label_format", "binary", 3.2517, 5.1267),
    "TripletLoss": ("_margin", 7.0, 61.0, 67.0),
}


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", WRITTEN)
def test_a_loss_computes_with_the_setting_that_was_written_last(name: str, hybrid: bool) -> None:
    """As programs write it that anneal a weight or a margin: ``loss._weight = 0.5``."""
    attribute, value, before, after = WRITTEN[name]
    made = getattr(loss, name)()
    x, y = np.array([[-1.0, 2.0, 3.0, -4.0]]), np.array([[1.0, 0.0, 2.0, 5.0]])
    args = (x, y, x * 2) if name == "TripletLoss" else (x, y)
    for wanted in (before, after):
        if hybrid:
            made.hybridize()
        assert made(*args).tolist() == pytest.approx([wanted], rel=1e-4)
        setattr(made, attribute, value)


def test_the_weight_of_a_loss_may_be_taken_away() -> None:
    made, x, y = loss.L1Loss(weight=2.0), np.ones((1, 2)), np.zeros((1, 2))
    assert made(x, y).tolist() == [2]
    made._weight = None
    assert made(x, y).tolist() == [1]
