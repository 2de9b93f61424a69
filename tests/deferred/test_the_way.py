"""The way of `x` through an operator, a hybridized call and a step is the one that docs/design/engine.md tells."""

import re
import sys

import numpy as onp
import pytest

import gluonx
from gluonx import autograd, gluon, nn, np
from lib import ROOT

PAGE = (
    (ROOT / "docs/design/engine.md").read_text(encoding="utf-8").partition("## The way of `x`")[2].partition("\n## ")[0]
)
WAYS = [
    [tuple(hop) for hop in re.findall(r"^\d+\. `([\w.]+):([\w.<>]+)`", part, re.M)]
    for part in re.split(r"^Through ", PAGE, flags=re.M)[1:]
]


@pytest.fixture
def loop():
    return steady_loop(1, hybridize=True)


def steady_loop(layers, hybridize):
    """Return a net's input after some steps, what records its loss, and what finishes the step."""
    net = nn.HybridSequential()
    for _ in range(layers):
        net.add(nn.Dense(3, in_units=3, activation="relu"))
    net.add(nn.Dense(1, in_units=3))
    net.initialize()
    net.hybridize(hybridize)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = np.ones((8, 3))

    def record():
        with autograd.record():
            return net(x).sum()

    def finish(loss):
        loss.backward()
        trainer.step(8)

    for _ in range(4):
        finish(record())
    np.exp(x)
    return x, record, finish


def called(fn):
    """The functions of gluonx that `fn` calls, in order."""
    found = []

    def watch(frame, event, arg):
        _, inside, path = frame.f_code.co_filename.rpartition("/gluonx/")
        if event == "call" and inside:
            found.append((path.removesuffix(".py").replace("/", "."), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        fn()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("number", range(3), ids=["operator", "call", "step"])
def test_the_page_tells_the_way(number, loop):
    x, record, finish = loop
    loss = record() if number == 2 else None
    todo = [lambda: np.exp(x), record, lambda: finish(loss)][number]
    hops, found = WAYS[number], called(todo)
    assert 8 <= len(hops) <= 12
    rest = iter(found)
    for hop in hops:
        assert hop in rest, f"{':'.join(hop)} is not called, or not in this order"


def test_a_steady_step_goes_no_other_way(loop):
    _, record, finish = loop
    before = gluonx.engine.stats()["programs_compiled"]
    finish(record())
    assert gluonx.engine.stats()["programs_compiled"] == before


def calls_of_a_step(layers, hybridize):
    _, record, finish = steady_loop(layers, hybridize)
    return len(called(lambda: finish(record())))


def test_a_hybridized_step_calls_at_most_one_function_for_each_parameter():
    few, many = (calls_of_a_step(layers, hybridize=True) for layers in (2, 9))
    assert few <= 105
    assert many - few <= 7 * 2


def test_a_layer_that_is_not_hybridized_adds_few_calls():
    few, many = (calls_of_a_step(layers, hybridize=False) for layers in (2, 4))
    assert many - few <= 2 * 18  # Dense and its activation: two blocks, two operators, two parameters


@pytest.mark.parametrize("name", ["exp", "sigmoid", "mean", "sum", "max", "argmax", "softmax"])
def test_a_small_operator_calls_few_functions(name):
    x = np.ones((8, 8))
    fn = getattr(np, name, None) or getattr(gluonx.npx, name)
    for _ in range(2):
        fn(x)
    assert len(called(lambda: fn(x))) <= 16
    if hasattr(x, name):
        assert len(called(lambda: getattr(x, name)())) == len(called(lambda: fn(x)))


def test_a_small_operator_leaves_numpys_errors_as_the_user_has_them():
    with onp.errstate(all="raise"):
        assert np.exp(np.full((2, 2), 1000.0)).tolist() == [[float("inf")] * 2] * 2
        assert onp.geterr()["over"] == "raise"
        with pytest.raises(FloatingPointError):
            onp.exp(onp.full((2, 2), 1e6))
