"""Random training runs: deferred, hybridized or not, against naive, operator by operator, in float64.

A run is a net, a loss, an optimizer and what happens between the steps. A compilation takes longer than a hundred
steps, so net, loss and optimizer come in 20 combinations whose nets are kept; data, weights and events differ from run
to run. `test_training` runs it with 64-bit types on: the two runs have the same numbers up to the rounding of float64,
and what differs is what the engine gets wrong. It also runs it in float32, "linked": a program with 64-bit types is
never linked of NumPy's kernels and pull-backs, which run the first steps of every other training.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import numpy as onp

from fuzz.harness import sweep
from gluonx import Trainer, autograd, engine, loss, nn, np, npx
from gluonx.common import policy

DTYPE = "float64" if os.environ.get("GLUONX_X64") == "1" else "float32"
_OPTIMIZERS = [
    ("sgd", {"learning_rate": 0.1}),
    ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}),
    ("adam", {"learning_rate": 0.05}),
    ("rmsprop", {"learning_rate": 0.02}),
    ("adagrad", {"learning_rate": 0.1}),
]
_LOSSES = [loss.L2Loss(), loss.L1Loss(), loss.HuberLoss()]
_EVENTS = [
    "read loss", "read gradient", "read weight", "write weight", "scale gradient", "zero gradient", "skip", "rate",
    "evaluate", "twice", "detached", "buffer",
]  # fmt: skip


class _Net(nn.HybridBlock):
    def __init__(self, kind: int) -> None:
        super().__init__()
        self.kind = kind
        self.a = nn.Dense(4, in_units=3)
        self.b = nn.Dense(4, in_units=4)
        self.norm = nn.BatchNorm(in_channels=4)
        self.out = nn.Dense(2, in_units=4)

    def forward(self, x: Any) -> Any:
        h = np.tanh(self.a(x))
        if self.kind == 1:
            h = self.norm(h)
        if self.kind == 2:
            h = self.b(h) * h[:, ::-1] + h
        if self.kind == 3:
            h[:, 1:3] = npx.relu(self.b(h))[:, :2]
        if self.kind == 4:
            h = h + self.b(h).detach()
        return self.out(h)


_COMBINATIONS = [
    {
        "net": i % 5,
        "optimizer": (i + i // 5) % len(_OPTIMIZERS),
        "loss": (i + i // 5) % len(_LOSSES),
        "add": i % 4 == 3,
        "hybrid": i // 5 % 2 == 1,
    }
    for i in range(20)
]
_nets: dict[Any, _Net] = {}
_ROUNDING = {"float64": {"rtol": 1e-7, "atol": 1e-9}, "float32": {"rtol": 2e-3, "atol": 2e-4}}


def compare(x: onp.ndarray, y: onp.ndarray, what: object) -> None:
    """Assert that two readings agree up to rounding, in the type that the process computes in."""
    assert x.shape == y.shape and x.dtype == y.dtype == DTYPE, (x.shape, x.dtype, y.shape, y.dtype, what)
    onp.testing.assert_allclose(x, y, err_msg=str(what), **_ROUNDING[DTYPE])


def _net(plan: dict[str, Any], naive: bool) -> _Net:
    """The net of a combination, which naive and deferred runs have each for themselves."""
    key = (plan["combination"], naive)
    net = _nets.get(key)
    if net is None:
        net = _nets[key] = _Net(plan["net"])
        net.initialize()
        net.cast(DTYPE)
        if plan["add"]:
            net.a.weight.grad_req = "add"
        net.hybridize(plan["hybrid"] and not naive)
    return net


def _run(plan: dict[str, Any], naive: bool) -> list[Any]:
    numbers = onp.random.RandomState(plan["numbers"])
    net = _net(plan, naive)
    for p in net.collect_params().values():
        p.set_data(numbers.uniform(0.1, 1, p.shape))
    net.zero_grad()
    name, settings = _OPTIMIZERS[plan["optimizer"]]
    trainer = Trainer(net.collect_params(), name, dict(settings))
    log: list[Any] = []
    x = onp.empty((5, 3), DTYPE)
    for event, place in plan["events"]:
        x[:] = numbers.randn(5, 3)
        y = numbers.randn(5, 2).astype(DTYPE)
        params = [p for p in net.collect_params().values() if p.grad_req != "null"]
        chosen = params[place % len(params)]
        with autograd.record():
            value = _LOSSES[plan["loss"]](net(x), y)
            if event == "read loss":
                log.append(value.asnumpy())
            if event == "detached":
                value = value * value.detach()
        value.backward()
        if event == "twice":
            with autograd.record():
                value = (net(x) ** 2).mean()
            value.backward()
        if event == "read gradient":
            log.append(chosen.grad().asnumpy())
        elif event == "scale gradient":
            chosen.grad()[:] *= 0.5
        elif event == "zero gradient":
            chosen.zero_grad()
        elif event == "rate":
            trainer.set_learning_rate(0.05)
        if event != "skip":
            trainer.step(5, ignore_stale_grad=True)
        if event == "read weight":
            log.append(chosen.data().asnumpy())
        elif event == "write weight":
            chosen.set_data(chosen.data() * 0.5)
        elif event == "buffer":
            chosen.data()[:] = (buffer := chosen.data().asnumpy() * 0.75)
            buffer[:] = 7
        elif event == "evaluate":
            log.append(net(x).asnumpy())
    log += [p.data().asnumpy() for p in net.collect_params().values()]
    return log + [p.grad().asnumpy() for p in net.collect_params().values() if p.grad_req != "null"]


def _is_rounding(plan: dict[str, Any]) -> bool:
    """Return whether an optimizer divides gradients by their size that batch norm has left next to nothing of."""
    return DTYPE == "float32" and plan["net"] == 1 and plan["optimizer"] > 1


def _check(numbers: Any) -> None:
    combination = int(numbers.randint(len(_COMBINATIONS)))
    if _is_rounding(_COMBINATIONS[combination]):
        return
    plan = {
        "numbers": int(numbers.randint(2**31)),
        "combination": combination,
        **_COMBINATIONS[combination],
        "events": [
            (_EVENTS[numbers.randint(len(_EVENTS))], int(numbers.randint(8))) for _ in range(numbers.randint(2, 6))
        ],
    }
    with engine.mode("naive"):
        wanted = _run(plan, True)
    found = _run(plan, False)
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        compare(x, y, plan)


def prepare(how: str) -> None:
    """Choose what runs a program: XLA ("compiled"), NumPy's tier ("linked"), or its operators one by one at first."""
    policy.limits["many"] = 0 if how == "interpreted" else 10**6
    if how == "linked":
        policy.limits.update(runs=10**6, compile=10**12)
    warnings.simplefilter("ignore")


def main(count: int, how: str) -> None:
    """Run `count` plans."""
    prepare(how)
    sweep(_check, count)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
