"""What type checkers know of a small user's program: what a net, an index, a loss and a data loader give."""

import json
import subprocess
import sys

import pytest

from lib import ROOT

PROGRAM = """
from typing import Any, assert_type

import numpy as onp

import gluonx as mx
from gluonx import autograd, gluon, np, npx
from gluonx.gluon import nn


class Net(gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(nn.Dense(8, activation="relu"), nn.Dropout(0.5))
        self.head = nn.Dense(3)

    def forward(self, x: np.ndarray) -> np.ndarray:
        assert_type(self.body(x), np.ndarray)
        return self.head(self.body(x))


class Two(gluon.Block):
    def forward(self, x: np.ndarray, scale: float = 1.0) -> tuple[np.ndarray, int]:
        return x * scale, 1


class Scaled(gluon.HybridBlock):
    weight: gluon.Parameter

    def infer_shape(self, query: np.ndarray) -> None:
        self.weight.shape = (query.shape[-1],)

    def forward(self, query: np.ndarray, key: np.ndarray, *, causal: bool = False) -> np.ndarray:
        return query + key


class Double(autograd.Function):
    def forward(self, x: np.ndarray) -> np.ndarray:
        return 2 * x

    def backward(self, dy: np.ndarray) -> np.ndarray:
        return 2 * dy


class Distance(gluon.loss.Loss):
    def forward(self, pred: np.ndarray, label: np.ndarray) -> np.ndarray:
        return np.abs(pred - label)


net = Net()
x = np.ones((4, 2))
assert_type(Scaled()(x, x, causal=True), np.ndarray)
assert_type(Distance(None, 0)(x, x), np.ndarray)
assert_type(net(x), np.ndarray)
assert_type(x[0] + 1, np.ndarray)
assert_type(x[:, None].sum(axis=1), np.ndarray)
assert_type(Two()(x, scale=2.0), tuple[np.ndarray, int])
assert_type(net.head.weight.data(), np.ndarray)
assert_type(net.head.weight.grad(), np.ndarray)
assert_type(npx.relu(x) @ x.T, np.ndarray)
assert_type(npx.cond(True, net.forward, net.forward, [x]), np.ndarray)
assert_type(float(x.sum()), float)
assert_type(gluon.rnn.LSTMCell(3)(x, []), tuple[np.ndarray, list[np.ndarray]])
assert_type(mx.nd.ones((2,))[0], mx.nd.NDArray)

loss_function = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "adam")
data = gluon.data.ArrayDataset(x, np.zeros(4))
for image, label in gluon.data.DataLoader(data.transform_first(lambda each: each), batch_size=2, shuffle=True):
    with autograd.record():
        loss = loss_function(net(image), label)
    assert_type(image, np.ndarray)
    assert_type(loss, np.ndarray)
    loss.backward()
    trainer.step(2)
for batch in gluon.data.DataLoader(gluon.data.ArrayDataset(x), 2):
    assert_type(batch, np.ndarray)
for pair in gluon.data.DataLoader(gluon.data.vision.MNIST(), 2):
    assert_type(pair, list[np.ndarray])
def lengths(samples: list[Any]) -> int:
    return len(samples)


for count in gluon.data.DataLoader(data, 2, batchify_fn=lengths):
    assert_type(count, int)

Two()(x, scal=2.0)  # wrong
net(x, x)  # wrong
Scaled()(x)  # wrong
nn.Dense("3")  # wrong
"""
WRONG = [n for n, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")]


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.mark.slow
def test_pyright_knows_a_users_types(program):
    pytest.importorskip("pyright", reason="pyright is in the extra 'lint'")
    (program.parent / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", program.parent]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, check=False)
    errors = [d for d in json.loads(done.stdout)["generalDiagnostics"] if d["severity"] == "error"]
    assert [d["range"]["start"]["line"] + 1 for d in errors] == WRONG, "\n".join(d["message"] for d in errors)


@pytest.mark.slow
def test_mypy_knows_a_users_types(program):
    pytest.importorskip("mypy", reason="mypy is not installed")
    command = [sys.executable, "-m", "mypy", "--follow-imports", "silent", "--cache-dir", program.parent, program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = [line for line in done.stdout.splitlines() if line.startswith(str(program)) and " error:" in line]
    assert sorted({int(line.split(":")[1]) for line in told}) == WRONG, done.stdout + done.stderr
