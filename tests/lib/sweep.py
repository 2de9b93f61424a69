"""Run a row of the contract table in one mode, to a dict of arrays named as in the golden files."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import numpy as onp
import pytest

from gluonx import autograd, engine, np
from gluonx.common import policy
from lib import TESTS
from lib.contract import Row, head, weight

__all__ = ["FACTS", "MODES", "agree", "build", "churn", "facts_of", "golden", "load", "predict", "train", "using"]

HERE = TESTS / "oracle" / "layers"
FACTS: dict[str, Any] = json.loads((HERE / "facts.json").read_text())
MODES = ("deferred", "naive", "hybrid", "naive-hybrid")
_FILES: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def churn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep compiles hundreds of programs from one line, which must not turn the compiler off."""
    monkeypatch.setitem(policy.limits, "many", 10**6)


def golden(kind: str, key: str) -> dict[str, onp.ndarray]:
    """The oracle's arrays of a row; empty if it has none."""
    if kind not in _FILES:
        with onp.load(HERE / f"{kind}.npz") as file:
            _FILES[kind] = dict(file)
    return {name[len(key) + 1 :]: x for name, x in _FILES[kind].items() if name.startswith(key + "/")}


def facts_of(kind: str, key: str) -> dict[str, Any]:
    return FACTS[kind][key]


def arrays(row: Row) -> list[Any]:
    return [np.array(x, dtype=x.dtype) for x in row.inputs()]


def load(block: Any, key: str) -> None:
    """Give every parameter the value that it has in the golden run."""
    for name, param in block.collect_params().items():
        param.set_data(weight(key, name, param.shape))


@contextlib.contextmanager
def using(mode: str) -> Any:
    with engine.mode("naive" if mode.startswith("naive") else "deferred"):
        yield


def build(row: Row, namespace: Any, mode: str = "deferred") -> Any:
    """The block of a row with its golden weights, hybridized if the mode says so."""
    block = row.make(namespace)
    block.initialize()
    block(*arrays(row))
    load(block, row.key)
    if mode.endswith("hybrid"):
        with contextlib.suppress(UserWarning):  # a Sequential of HybridBlocks says that it would rather be hybrid
            block.hybridize()
    return block


def predict(row: Row, block: Any, mode: str = "deferred") -> onp.ndarray:
    with using(mode):
        return block(*arrays(row)).asnumpy()


def train(row: Row, block: Any, mode: str = "deferred") -> dict[str, onp.ndarray]:
    """One forward and backward: the output, all gradients, and the parameters that are not trained."""
    with using(mode):
        inputs = arrays(row)
        for x, feed in zip(inputs, row.feeds):
            if feed.differentiable:
                x.attach_grad()
        with autograd.record():
            y = block(*inputs)
        y.backward(np.array(head(row.key, y.shape)))
        found = {"train": y.asnumpy()}
        for i, (x, feed) in enumerate(zip(inputs, row.feeds)):
            if feed.differentiable:
                found[f"grad/{i}"] = x.grad.asnumpy()
        for name, param in block.collect_params().items():
            trained = param.grad_req != "null"
            found[f"{'grad' if trained else 'state'}/{name}"] = (param.grad() if trained else param.data()).asnumpy()
    return found


def agree(found: dict[str, onp.ndarray], wanted: dict[str, onp.ndarray], tol: float, what: str) -> None:
    """The same arrays, in shape and value; sums of terms that cancel are as exact as their terms, not as they are."""
    assert sorted(found) == sorted(wanted), what
    for name, x in found.items():
        assert x.shape == wanted[name].shape, f"{what}: {name}"
        size = max(1.0, float(abs(wanted[name]).max(initial=0))) if name.startswith("grad/") else 1.0
        onp.testing.assert_allclose(x, wanted[name], rtol=tol, atol=tol * size, err_msg=f"{what}: {name}")
