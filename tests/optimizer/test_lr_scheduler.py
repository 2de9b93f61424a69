"""Schedules: MXNet's numbers step by step, and errors."""

import json
import logging

import pytest

from gluonx import lr_scheduler
from lib import TESTS
from lib.golden import load_cases

ORACLE = TESTS / "oracle" / "optimizer"
cases = load_cases("optimizer")
SCHEDULERS = cases.SCHEDULERS
GOLDEN = json.loads((ORACLE / "lr_scheduler.json").read_text())


@pytest.mark.parametrize("case", SCHEDULERS)
def test_equals_mxnet(case):
    name, kwargs, last = SCHEDULERS[case]
    schedule = getattr(lr_scheduler, name)(**kwargs)
    assert [schedule(t) for t in range(last)] == pytest.approx(GOLDEN[case], rel=1e-12)


@pytest.mark.parametrize("case", SCHEDULERS)
def test_asking_twice_changes_nothing(case):
    name, kwargs, last = SCHEDULERS[case]
    schedule = getattr(lr_scheduler, name)(**kwargs)
    assert all(schedule(t) == schedule(t) for t in range(last))


def test_own_schedule():
    class Half(lr_scheduler.LRScheduler):
        def __call__(self, num_update):
            return self.base_lr * 0.5**num_update

    assert Half(base_lr=0.8)(2) == 0.2


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: lr_scheduler.FactorScheduler(0), ValueError, "step must be at least 1, but is 0"),
        (lambda: lr_scheduler.FactorScheduler(1, factor=2), ValueError, "factor must not be above 1"),
        (lambda: lr_scheduler.MultiFactorScheduler([]), TypeError, "at least one entry"),
        (lambda: lr_scheduler.MultiFactorScheduler([3, 3]), ValueError, "must grow"),
        (lambda: lr_scheduler.MultiFactorScheduler([0, 3]), ValueError, "begin at 1"),
        (lambda: lr_scheduler.PolyScheduler(0), ValueError, "max_update must be at least 1"),
        (lambda: lr_scheduler.CosineScheduler(2.5), TypeError, "max_update must be an int, but is 2.5"),
        (lambda: lr_scheduler.LRScheduler(warmup_steps=-1), ValueError, "warmup_steps must not be negative"),
        (lambda: lr_scheduler.LRScheduler(warmup_steps=1.5), TypeError, "warmup_steps must be an int"),
        (
            lambda: lr_scheduler.LRScheduler(warmup_begin_lr=1.0),
            ValueError,
            "warmup_begin_lr=1.0 is above base_lr=0.01",
        ),
        (lambda: lr_scheduler.LRScheduler(warmup_mode="slow"), ValueError, "not 'slow'"),
        (lambda: lr_scheduler.LRScheduler()(3), NotImplementedError, "must define __call__"),
    ],
)
def test_errors(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_warmup_as_long_as_the_schedule_ends_at_the_base_rate():
    schedule = lr_scheduler.CosineScheduler(5, base_lr=0.4, warmup_steps=5)
    assert [schedule(t) for t in (0, 5, 6)] == [0.0, 0.4, 0.4]


def test_telling_of_a_rate_configures_no_logging(monkeypatch):
    """``logging.info`` would give the root logger a handler, and the user's ``basicConfig`` would do nothing then."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    assert lr_scheduler.FactorScheduler(1, 0.5, base_lr=1.0)(3) == 0.25
    assert logging.getLogger().handlers == []
