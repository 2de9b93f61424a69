"""The way of `x` through an operator, a hybridized call and a step is the one that docs/design/engine.md tells."""

import copy
import json
import os
import pickle
import re
import subprocess
import sys

import numpy as onp
import pytest

import gluonx as mx
from gluonx import autograd, gluon, nn, np
from gluonx.common import policy
from gluonx.optimizer import momentum
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


def test_a_gradient_passes_few_functions_on_its_way_to_the_formula(monkeypatch):
    """While the update is traced: the functions on the stack are those of the page, and no others."""
    stacks = []
    formula, package = momentum.SGD.formula.__func__, mx.__path__[0] + "/"

    def watched(cls, *args):
        found, frame = [], sys._getframe()
        while frame is not None:
            path = frame.f_code.co_filename
            if path.startswith(package):
                module = path.removeprefix(package).removesuffix(".py").replace("/", ".")
                found.append((module, frame.f_code.co_qualname))
            frame = frame.f_back
        stacks.append(found[::-1])
        return formula(cls, *args)

    monkeypatch.setattr(momentum.SGD, "formula", classmethod(watched))
    net = nn.HybridSequential()
    net.add(nn.Dense(5, in_units=7, activation="relu"), nn.Dense(3, in_units=5))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.75})
    with autograd.record():
        loss = net(np.ones((2, 7))).sum()
    loss.backward()
    trainer.step(2)
    hops = WAYS[3][3:-1]  # those before run the program's nodes
    assert len(stacks) == 1
    assert stacks[0][-len(hops) :] == hops
    assert stacks[0][-len(hops) - 1][1] in ("_shapes_of", "_apply")
    only_hand_on = re.search(r"four do nothing to it \(([\d, ]+)\)", PAGE)
    assert only_hand_on is not None
    assert len(only_hand_on[1].split(",")) == 4


def test_a_steady_step_goes_no_other_way(loop):
    _, record, finish = loop
    before = mx.engine.stats()["programs_compiled"]
    finish(record())
    assert mx.engine.stats()["programs_compiled"] == before


SMALL = ["exp", "sigmoid", "mean", "sum", "max", "argmax", "softmax"]


def counted():
    """How many functions of gluonx steps and small operators call."""
    found = {}
    policy.limits["runs"] = 0  # a steady step is compiled
    for layers, hybridize in [(2, True), (9, True), (2, False), (4, False)]:
        _, record, finish = steady_loop(layers, hybridize)
        found[f"{layers} {hybridize}"] = len(called(lambda: finish(record())))  # noqa: B023 - called at once
    x = np.ones((8, 8))
    for name in SMALL:
        fn = getattr(np, name, None) or getattr(mx.npx, name)
        method = getattr(x, name, lambda: fn(x))  # noqa: B023
        for _ in range(2):
            fn(x)
        found[name] = [len(called(lambda: fn(x))), len(called(method))]  # noqa: B023
    return found


@pytest.fixture(scope="module")
def counts():
    """From a process of its own: where amp has cast once, or a profiler looked, operators ask for it ever after."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", "import json, test_the_way; print(json.dumps(test_the_way.counted()))"],
        cwd=ROOT / "tests/deferred",
        env=os.environ | {"PYTHONPATH": paths},
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(done.stdout)


@pytest.mark.dear
def test_a_hybridized_step_calls_at_most_one_function_for_each_parameter(counts):
    few, many = counts["2 True"], counts["9 True"]
    assert few <= 105
    assert many - few <= 7 * 2


@pytest.mark.dear
def test_a_layer_that_is_not_hybridized_adds_few_calls(counts):
    few, many = counts["2 False"], counts["4 False"]
    assert many - few <= 2 * 18  # Dense and its activation: two blocks, two operators, two parameters


@pytest.mark.dear
@pytest.mark.parametrize("name", SMALL)
def test_a_small_operator_calls_few_functions(name, counts):
    function, method = counts[name]
    assert method == function <= 16


@pytest.mark.parametrize("made", [lambda: np.ones(3), lambda: mx.nd.ones(3), lambda: nn.Dense(3)])
def test_attributes_are_read_as_python_specializes_it(made):
    """A ``__getattr__`` on a class sends each read of an attribute the slow way, in Python 3.11 to 3.13."""
    cls = type(made())
    assert not hasattr(cls, "__getattr__")
    assert cls.__getattribute__ is object.__getattribute__


@pytest.mark.parametrize("copied", [lambda x: x, copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_dict_that_shares_no_keys_is_read_fast(copied):
    """Python 3.11 and 3.12 read attributes slowly from a ``__dict__`` whose keys are those of other objects too."""
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=3))
    net.initialize()
    for made in (net, net[0].weight, gluon.Trainer(net.collect_params(), "sgd")):
        own = vars(copied(made))
        assert sys.getsizeof(own) >= sys.getsizeof({**own}), type(made)  # which counts no keys of others


def test_a_small_operator_leaves_numpys_errors_as_the_user_has_them():
    with onp.errstate(all="raise"):
        assert np.exp(np.full((2, 2), 1000.0)).tolist() == [[float("inf")] * 2] * 2
        assert onp.geterr()["over"] == "raise"
        with pytest.raises(FloatingPointError):
            onp.exp(onp.full((2, 2), 1e6))
