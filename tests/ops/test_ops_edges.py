"""Operators over their attributes and at their edges (ties, NaN, infinities, nothing at all), against MXNet 2.0."""

from __future__ import annotations

import warnings

import pytest

from gluonx import autograd, np, npx
from gluonx.errors import ShapeError
from lib.called import MODES, agrees, answer, cases, sampled
from lib.sweep import churn  # noqa: F401 - a fixture

ROWS = list(cases.edges())
FIRST = list({row.op: row for row in reversed(ROWS)}.values())


@sampled(ROWS, 8)
def test_golden(row):
    agrees(row, answer(row))


@pytest.mark.parametrize("row", FIRST, ids=lambda row: row.name)
@pytest.mark.parametrize("mode", MODES[1:])
def test_modes(row, mode):
    agrees(row, answer(row, mode))


def test_masked_infinities_do_not_spread():
    """MXNet gives NaN here."""
    x = np.array([[float("inf"), 1.0, 1.0]])
    mask = np.array([[False, True, True]], dtype="bool")
    assert npx.masked_softmax(x, mask).tolist() == [[0, 0.5, 0.5]]


def test_the_last_update_of_a_place_takes_the_gradient():
    """MXNet gives it to all of them."""
    val = np.array([1.0, 2.0, 3.0])
    val.attach_grad()
    with autograd.record():
        y = npx.index_update(np.zeros(3), np.array([[0, 1, 1]], dtype="int32"), val)
        y.sum().backward()
    assert val.grad.sum().item() == 2
    assert val.grad[0].item() == 1


WRONG = [
    ("pick", [(3, 4), (2,)], {}, ShapeError, r"index has shape \(2,\)"),
    ("pick", [(3, 4), (3,)], {"mode": "raise"}, ValueError, "mode is 'raise'"),
    ("topk", [(3, 4)], {"ret_typ": "indexes"}, ValueError, "ret_typ is 'indexes'"),
    ("topk", [(3, 4)], {"k": 9}, ShapeError, "k=9|k is 9"),
    ("topk", [(3, 4)], {"axis": 2}, ShapeError, "axis 2 does not exist"),
    ("sequence_mask", [(3, 4), (3,)], {"use_sequence_length": True}, ShapeError, "another batch"),
    ("sequence_last", [(3, 4)], {"use_sequence_length": True}, ValueError, "needs the lengths"),
    ("sequence_reverse", [(3, 4, 2)], {"axis": 2}, ShapeError, "must be 0 or 1"),
    ("masked_softmax", [(3, 4), (2, 4)], {}, ShapeError, "does not broadcast"),
    ("batch_dot", [(2, 3, 4), (2, 3, 4)], {}, ShapeError, "inner lengths differ"),
    ("gather_nd", [(3, 4), (3, 2)], {}, ShapeError, "name more axes"),
    ("reshape", [(3, 4)], {"newshape": (5, -1)}, ShapeError, "12 elements cannot fill"),
    ("arange_like", [(3, 4)], {"axis": 2}, ShapeError, "axis 2 does not exist"),
    ("slice_axis", [(4,)], {"axis": 0, "begin": -5, "end": None}, ShapeError, "before an axis of length 4"),
    ("slice_axis", [(1,)], {"axis": 0, "begin": -2, "end": 2}, ShapeError, "before an axis of length 1"),
]


@pytest.mark.parametrize("op, shapes, attrs, error, message", WRONG, ids=lambda x: x if isinstance(x, str) else "")
def test_bad_input(op, shapes, attrs, error, message):
    with pytest.raises(error, match=message):
        getattr(npx, op)(*[np.zeros(shape) for shape in shapes], **attrs)


@pytest.mark.parametrize("span", [(5, 1), (0, float("inf")), (float("nan"), 1)])
@pytest.mark.parametrize("function", [np.histogram, np.histogram_bin_edges])
def test_a_range_that_is_none(function, span):
    with pytest.raises(ValueError, match="a range goes from a finite number"):
        function(np.arange(5.0), bins=3, range=span)


def test_nothing_is_normalized_without_a_warning():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert npx.layer_norm(np.zeros((2, 0)), np.zeros(0), np.zeros(0)).shape == (2, 0)
    assert not told


def test_nothing_at_all():
    empty = np.zeros((0, 4))
    assert npx.topk(empty, k=2, ret_typ="value").shape == (0, 2)
    assert npx.softmax(empty).shape == npx.log_softmax(empty).shape == (0, 4)
    assert npx.sequence_mask(np.zeros((3, 0)), np.zeros((0,)), use_sequence_length=True).shape == (3, 0)
    assert npx.gather_nd(np.ones((2, 3)), np.zeros((2, 0), dtype="int32")).shape == (0,)
    assert npx.index_add(np.ones((2, 3)), np.zeros((2, 0), dtype="int32"), np.zeros(0)).tolist() == [[1] * 3] * 2
    assert npx.batch_dot(np.zeros((1, 2, 0)), np.zeros((1, 0, 1))).tolist() == [[[0], [0]]]
