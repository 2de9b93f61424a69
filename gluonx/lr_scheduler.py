"""Learning-rate schedules: functions of the update count.

A schedule is called with the number of updates done so far and gives a plain float; the optimizer hands it to the
compiled step as data, so a changing rate never compiles anything. All of them can begin with a warm-up of
``warmup_steps`` updates: ``linear`` climbs from ``warmup_begin_lr`` to ``base_lr``, ``constant`` stays at the former.

As in MXNet the counts are expected to grow: a schedule that has decayed does not climb back when called with a smaller
count, and ``base_lr`` is the rate that was reached last.
"""

from __future__ import annotations

import itertools
import logging
import math
import numbers
from collections.abc import Sequence

from gluonx.common.arguments import Checked

__all__ = [
    "CosineScheduler",
    "FactorScheduler",
    "LRScheduler",
    "MultiFactorScheduler",
    "OneCycleScheduler",
    "PolyScheduler",
    "create",
]


class LRScheduler(Checked):
    """Base of schedules; a subclass defines ``__call__(num_update) -> float``.

    Parameters
    ----------
    base_lr : float
        The rate at the end of the warm-up.
    warmup_steps : int
        Updates of warm-up.
    warmup_begin_lr : float
        The rate at the start of the warm-up.
    warmup_mode : {'linear', 'constant'}
        How the warm-up goes.

    Raises
    ------
    ValueError
        If the warm-up begins above ``base_lr``, is negative, or has an unknown mode.
    TypeError
        If ``warmup_steps`` is no integer.

    Examples
    --------
    >>> class Halving(LRScheduler):
    ...     def __call__(self, num_update):
    ...         if num_update < self.warmup_steps:
    ...             return self.get_warmup_lr(num_update)
    ...         return self.base_lr * 0.5 ** (num_update - self.warmup_steps)
    >>> rate = Halving(base_lr=1.0, warmup_steps=2)
    >>> [rate(n) for n in range(5)]
    [0.0, 0.5, 1.0, 0.5, 0.25]
    """

    def __init__(
        self, base_lr: float = 0.01, warmup_steps: int = 0, warmup_begin_lr: float = 0, warmup_mode: str = "linear"
    ) -> None:
        _need_int("warmup_steps", warmup_steps)
        if warmup_begin_lr > base_lr:
            raise ValueError(f"A warm-up climbs: warmup_begin_lr={warmup_begin_lr} is above base_lr={base_lr}.")
        if warmup_steps < 0:
            raise ValueError(f"warmup_steps must not be negative, but is {warmup_steps}.")
        if warmup_mode not in ("linear", "constant"):
            raise ValueError(f"warmup_mode is 'linear' or 'constant', not {warmup_mode!r}.")
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_final_lr = base_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update: int) -> float:
        """Give the rate of the warm-up at an update count below ``warmup_steps``."""
        assert num_update < self.warmup_steps, f"the warm-up is over after {self.warmup_steps} updates"
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        climb = (self.warmup_final_lr - self.warmup_begin_lr) * float(num_update) / float(self.warmup_steps)
        return self.warmup_begin_lr + climb

    def _main_lr(self, num_update: int) -> float:
        """Give the rate after the warm-up."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(num_update), which returns the rate.")

    def __call__(self, num_update: int) -> float:
        """Give the learning rate after ``num_update`` updates."""
        return self.get_warmup_lr(num_update) if num_update < self.warmup_steps else self._main_lr(num_update)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_lr={self.base_lr})"


def _need_int(name: str, value: int) -> None:
    if not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an int, but is {value!r}.")


def _need_factor(factor: float) -> None:
    if factor > 1.0:
        raise ValueError(f"factor must not be above 1, or the rate would grow; it is {factor}.")


def _tell(num_update: int, rate: float, for_good: bool = False) -> None:
    """Log a change of the rate, in MXNet's line, which tools that read logs look for."""
    # Of the root logger, as in MXNet, but not by `logging.info`, which also gives that a handler if it has none.
    log = logging.getLogger().info
    if for_good:
        log("Update[%d]: now learning rate arrived at %0.5e, will not change in the future", num_update, rate)
    else:
        log("Update[%d]: Change learning rate to %0.5e", num_update, rate)


class FactorScheduler(LRScheduler):
    """Multiply the rate by ``factor`` after every ``step`` updates.

    Parameters
    ----------
    step : int
        Updates between two changes, at least 1.
    factor : float
        At most 1.
    stop_factor_lr : float
        The rate never falls below it.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        See `LRScheduler`.

    Examples
    --------
    >>> rate = FactorScheduler(step=2, factor=0.5, base_lr=0.8)
    >>> [rate(t) for t in range(6)]
    [0.8, 0.8, 0.8, 0.4, 0.4, 0.2]
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ValueError(f"step must be at least 1, but is {step}.")
        _need_factor(factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def _main_lr(self, num_update: int) -> float:
        while num_update > self.count + self.step:
            self.count += self.step
            lowered = self.base_lr * self.factor
            self.base_lr = max(lowered, self.stop_factor_lr)
            _tell(num_update, self.base_lr, lowered < self.stop_factor_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiply the rate by ``factor`` after each of the given update counts.

    Parameters
    ----------
    step : list of int
        Growing update counts, each at least 1.
    factor : float
        At most 1.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        See `LRScheduler`.

    Examples
    --------
    >>> from gluonx import lr_scheduler
    >>> schedule = lr_scheduler.MultiFactorScheduler([2, 4], factor=0.5, base_lr=1.0)
    >>> [schedule(step) for step in (1, 3, 5)]
    [1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        step: Sequence[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, (list, tuple)) or not step:
            raise TypeError(f"step must be a list of update counts with at least one entry, but is {step!r}.")
        if step[0] < 1 or any(later <= earlier for earlier, later in itertools.pairwise(step)):
            raise ValueError(f"The update counts in step must grow and begin at 1 or later, but are {step}.")
        _need_factor(factor)
        self.step = step
        self.factor = factor
        self.cur_step_ind = 0
        self.count = 0

    def _main_lr(self, num_update: int) -> float:
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            _tell(num_update, self.base_lr)
        return self.base_lr


class _Descent(LRScheduler):
    """Schedules that go from ``base_lr`` to ``final_lr`` along a curve, and stay there."""

    def __init__(self, max_update: int, base_lr: float, final_lr: float, *warmup: object) -> None:
        super().__init__(base_lr, *warmup)  # type: ignore[arg-type]
        _need_int("max_update", max_update)
        if max_update < 1:
            raise ValueError(f"max_update must be at least 1, but is {max_update}.")
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - self.warmup_steps

    def _curve(self, part: float) -> float:
        """Give the share of the way that is left when ``part`` of the updates are done: 1 at 0, 0 at 1."""
        raise NotImplementedError

    def _main_lr(self, num_update: int) -> float:
        # A warm-up as long as the whole schedule leaves no way to go: the rate stays where it ended.
        if num_update <= self.max_update and self.max_steps > 0:
            left = self._curve(float(num_update - self.warmup_steps) / float(self.max_steps))
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * left
        return self.base_lr


class PolyScheduler(_Descent):
    """Go down to ``final_lr`` along a power: ``(1 - t / max_update) ** pwr``.

    Parameters
    ----------
    max_update : int
        Update count at which ``final_lr`` is reached.
    base_lr : float
        The rate to start from.
    pwr : float
        The power.
    final_lr : float
        The rate at the end.
    warmup_steps, warmup_begin_lr, warmup_mode
        See `LRScheduler`.

    Examples
    --------
    >>> from gluonx import lr_scheduler
    >>> schedule = lr_scheduler.PolyScheduler(max_update=10, base_lr=1.0, pwr=1)
    >>> [round(schedule(step), 2) for step in (0, 5, 10)]
    [1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _curve(self, part: float) -> float:
        return (1 - part) ** self.power


class CosineScheduler(_Descent):
    """Go down to ``final_lr`` along half a cosine.

    Parameters
    ----------
    max_update : int
        Update count at which ``final_lr`` is reached.
    base_lr : float
        The rate to start from.
    final_lr : float
        The rate at the end.
    warmup_steps, warmup_begin_lr, warmup_mode
        See `LRScheduler`.

    Examples
    --------
    >>> from gluonx import lr_scheduler
    >>> schedule = lr_scheduler.CosineScheduler(max_update=10, base_lr=1.0)
    >>> [round(schedule(step), 2) for step in (0, 5, 10)]
    [1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _curve(self, part: float) -> float:
        return (1 + math.cos(math.pi * part)) / 2


class OneCycleScheduler(LRScheduler):
    """Go up to ``base_lr`` and then down to nearly nothing, each along half a cosine.

    "Super-Convergence", https://arxiv.org/abs/1708.07120.

    Parameters
    ----------
    max_update : int
        Update count at which the rate is lowest.
    base_lr : float
        The highest rate.
    warmup_steps : int, optional
        Update count at which it is reached; three tenths of the way by default.
    div_factor, final_div_factor : float
        The first rate is ``base_lr / div_factor``, the last one the first over ``final_div_factor``.

    Examples
    --------
    >>> rate = OneCycleScheduler(10, base_lr=1.0, warmup_steps=2, div_factor=10.0)
    >>> rate(0), rate(2), rate(6)
    (0.1, 1.0, 0.500005)
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        warmup_steps: int | None = None,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
    ) -> None:
        _need_int("max_update", max_update)
        warmup_steps = int(0.3 * max_update) if warmup_steps is None else warmup_steps
        if not 0 <= warmup_steps < max_update or div_factor < 1 or final_div_factor < 1:
            raise ValueError(
                "The warm-up must end before max_update, and both factors are at least 1; got warmup_steps="
                f"{warmup_steps}, max_update={max_update}, div_factor={div_factor}, "
                f"final_div_factor={final_div_factor}."
            )
        super().__init__(base_lr, warmup_steps, base_lr / div_factor)
        self.max_update, self.final_lr = max_update, self.warmup_begin_lr / final_div_factor

    def get_warmup_lr(self, num_update: int) -> float:
        """Give the rate of the way up."""
        return _half_cosine(self.warmup_begin_lr, self.base_lr, num_update / self.warmup_steps)

    def _main_lr(self, num_update: int) -> float:
        part = (num_update - self.warmup_steps) / (self.max_update - self.warmup_steps)
        return _half_cosine(self.base_lr, self.final_lr, min(part, 1.0))


def _half_cosine(start: float, end: float, part: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2


def create(name: str, base_lr: float, total_steps: int, warmup_steps: int | None = None) -> LRScheduler:
    """Make a schedule by its name.

    Parameters
    ----------
    name : {'constant', 'linear', 'cosine', 'one_cycle'}
        What comes after a linear warm-up: the rate stays, or goes down to 0 along a line or half a cosine.
        'one_cycle' is :class:`OneCycleScheduler`.
    base_lr : float
        The rate at the end of the warm-up.
    total_steps : int
        Update count at which it ends.
    warmup_steps : int, optional
        Updates of warm-up; none by default, and three tenths of all for 'one_cycle'.

    Raises
    ------
    ValueError
        If there is no schedule of this name, or the warm-up is longer than the whole.

    Examples
    --------
    >>> rate = create("cosine", 0.1, total_steps=100, warmup_steps=10)
    >>> rate(5), rate(10), rate(55), rate(100)
    (0.05, 0.1, 0.05, 0.0)
    """
    if name == "one_cycle":
        return OneCycleScheduler(total_steps, base_lr, warmup_steps)
    _need_int("total_steps", total_steps)
    warmup = 0 if warmup_steps is None else warmup_steps
    if warmup > total_steps:
        raise ValueError(f"warmup_steps={warmup} is more than total_steps={total_steps}.")
    if name == "constant":
        return FactorScheduler(max(total_steps, 1), 1.0, base_lr=base_lr, warmup_steps=warmup)
    if name == "linear":
        return PolyScheduler(total_steps, base_lr, 1, warmup_steps=warmup)
    if name == "cosine":
        return CosineScheduler(total_steps, base_lr, warmup_steps=warmup)
    raise ValueError(f"There is no schedule {name!r}; the names are 'constant', 'linear', 'cosine' and 'one_cycle'.")


def __dir__() -> list[str]:
    return sorted(__all__)
