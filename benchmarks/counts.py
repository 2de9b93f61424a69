"""Counts in place of times: dispatches, compilations, live memory. No machine changes these numbers."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import jax

import gluonx as mx
from benchmarks.models import CASES
from gluonx import autograd, gluon, npx

__all__ = ["LOOPS", "Loop", "compiled_after_second_step", "dispatches", "live_memory_growth"]


_FIRST = 20  # steps; NumPy runs the first dozen of a net that is not hybridized, operator by operator


class Loop:
    """A training loop to be driven step by step, with what users put between ``backward`` and ``step``."""

    def __init__(self, extra: str = "plain", hybridize: bool = True) -> None:
        case = CASES["tiny"]
        self.extra = extra
        self.net = case.make_net(hybridize)
        self.trainer = case.make_trainer(self.net)
        self.loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
        self.metric = gluon.metric.Accuracy()
        self.x, self.y = (mx.np.array(part) for part in case.data())
        self.weights = [p for p in self.net.collect_params().values() if p.grad_req != "null"]

    def step(self, batch: int | None = None) -> None:
        """One step, on the first `batch` rows."""
        x, y = (self.x, self.y) if batch is None else (self.x[:batch], self.y[:batch])
        with autograd.record():
            scores = self.net(x)
            loss = self.loss_fn(scores, y)
            if self.extra == "two losses":
                other = (scores**2).mean()
        if self.extra == "two losses":
            autograd.backward([loss, other])
        else:
            loss.backward()
        if self.extra == "metric.update":
            self.metric.update(y, scores)
        elif self.extra == "clip_global_norm":
            gluon.utils.clip_global_norm([p.grad() for p in self.weights], 1.0, check_isfinite=False)
        self.trainer.step(x.shape[0])


LOOPS = ("plain", "metric.update", "clip_global_norm", "two losses")


def dispatches(extra: str, hybridize: bool, steps: int = 50) -> float:
    """Programs dispatched a step of a steady loop."""
    loop = Loop(extra, hybridize)
    for _ in range(_FIRST):
        loop.step()
    npx.waitall()
    before = mx.engine.stats()["dispatches"]
    for _ in range(steps):
        loop.step()
    npx.waitall()
    return (mx.engine.stats()["dispatches"] - before) / steps


class XlaCompilations:
    """Counts what jax itself reports as compiled, whoever asked for it; a check on the engine's own count."""

    def __init__(self) -> None:
        self.count = 0
        jax.monitoring.register_event_duration_secs_listener(self._heard)

    def _heard(self, event: str, duration_secs: float, **details: Any) -> None:
        del duration_secs, details
        self.count += event.endswith("backend_compile_duration")


XLA = XlaCompilations()


def compiled_after_second_step(hybridize: bool, epochs: int = 3) -> tuple[int, int, int]:
    """Programs compiled after step two of a loop whose learning rate changes each step.

    Returns
    -------
    full, xla, last : int
        For the batches of full size, the same by jax's own count, and for the smaller batch that ends each epoch.
    """
    loop = Loop("plain", hybridize)

    def compiled(run: Callable[[], Any]) -> int:
        before = mx.engine.stats()["programs_compiled"]
        run()
        npx.waitall()
        return mx.engine.stats()["programs_compiled"] - before

    for _ in range(2):
        loop.step()
    full = xla = last = 0
    for epoch in range(epochs):
        for index in range(10):
            loop.trainer.set_learning_rate(0.1 / (1 + epoch * 10 + index))
            before = XLA.count
            full += compiled(loop.step)
            xla += XLA.count - before
        last += compiled(lambda: loop.step(batch=5))
    return full, xla, last


def live_bytes() -> int:
    """Bytes of all live jax arrays of the process."""
    gc.collect()
    return sum(array.nbytes for array in jax.live_arrays())


def live_memory_growth(hybridize: bool, early: int = 10, late: int = 1000) -> float:
    """Live device memory after `late` steps over that after `early`."""
    loop = Loop("metric.update", hybridize)
    for _ in range(early):
        loop.step()
    npx.waitall()
    first = live_bytes()
    for _ in range(late - early):
        loop.step()
    npx.waitall()
    return live_bytes() / first
