"""Warnings point at the user's line: NumPy's, which arise where gluonx computes on the host, and gluonx's own."""

import ast
import inspect
import sys
import types
import warnings

import numpy as onp
import pytest

import gluonx as mx
from gluonx import autograd, engine, gluon, np, npx
from gluonx.deferred.values import source_location
from gluonx.gluon import nn
from lib import ROOT
from lib.sources import every_source

ROOT = ROOT
BIG = onp.array([1e300, 1.0, 1.0])
LARGE = iter([1e300, 2e300, 3e300])


def x():
    return np.ones((3,))


def recorded(line):
    a = x()
    a.attach_grad()
    with autograd.record():
        b = line(a)
        c = b + 1
    c.asnumpy()


def traced(line):
    class Net(nn.HybridBlock):
        def forward(self, a):
            return line(a)

    net = Net()
    net.hybridize()
    net(x())


def stepped(rate):
    net = nn.Dense(2, in_units=2)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate})
    with autograd.record():
        loss = net(np.ones((1, 2))).sum()
    loss.backward()
    trainer.step(1)  # the line of a step


def initialized(law):
    nn.Dense(2, in_units=2, weight_initializer=law).initialize()  # the line of an initialization


# Each is one line, the last of the function's source unless `LINES` says where it is.
OVERFLOWS = {
    "a number, at once": lambda: x() * 1e300,
    "a number on the left": lambda: 1e300 + x(),
    "a number beside float16": lambda: np.ones((3,), dtype="float16") * 1e5,
    "in place": lambda: x().__iadd__(1e300),
    "a function": lambda: np.maximum(x(), 1e300),
    "two numbers": lambda: np.clip(x(), -1e300, 1e300),
    # told of when it is traced, for each number; alone it may be NumPy's work, which is quiet
    "an attribute": lambda: traced(lambda a: npx.leaky_relu(a, slope=next(LARGE))),
    "an array of NumPy": lambda: x() + BIG,
    "an array of NumPy on the left": lambda: BIG + x(),
    "recorded": lambda: recorded(lambda a: a * 1e300),
    "recorded beside an array of NumPy": lambda: recorded(lambda a: a + BIG),
    "traced": lambda: traced(lambda a: a * 1e300),
    "traced beside an array of NumPy": lambda: traced(lambda a: a + BIG),
    "an element": lambda: x().__setitem__(0, 1e300),
    "a whole array": lambda: x().__setitem__(slice(None), BIG),
    "made of NumPy's": lambda: np.array(BIG),
    "made of a list": lambda: np.array([1e300]),
    "full": lambda: np.full((2,), 1e300),
    "nd": lambda: mx.nd.array([1e300]),
    "a draw": lambda: np.random.uniform(0, 1e300, (2,)),
    "numbers alone": lambda: np.exp(1000.0),
    "a parameter": lambda: gluon.Parameter(shape=(3,), init=mx.init.Constant(1e300)).initialize(),
    "data of a parameter": lambda: data(),
    "a step": lambda: stepped(1e300),
    "an initializer": lambda: initialized(mx.init.Constant(1e300)),
    "another initializer": lambda: initialized(mx.init.Normal(1e300)),
}


def data():
    parameter = gluon.Parameter(shape=(3,))
    parameter.initialize()
    parameter.set_data(BIG)  # the line of set_data


ELSEWHERE = {
    "a step": (stepped, "# the line of a step"),
    "an initializer": (initialized, "# the line of an initialization"),
    "another initializer": (initialized, "# the line of an initialization"),
    "data of a parameter": (data, "# the line of set_data"),
}


def line_of(function, mark):
    lines, first = inspect.getsourcelines(function)
    (at,) = [i for i, line in enumerate(lines) if line.rstrip().endswith(mark)]
    return first + at


@pytest.mark.parametrize("mode", ["deferred", "naive"])
@pytest.mark.parametrize("name", OVERFLOWS)
def test_overflow_is_told_of_at_the_line(name, mode):
    engine.clear()  # what another line recorded before, alike in all but the numbers, is told of at that line
    with warnings.catch_warnings(record=True) as told, engine.mode(mode):
        warnings.simplefilter("always")
        OVERFLOWS[name]()
    assert told
    where = line_of(*ELSEWHERE[name]) if name in ELSEWHERE else OVERFLOWS[name].__code__.co_firstlineno
    for one in told:
        assert one.category is RuntimeWarning and str(one.message).startswith("overflow encountered in ")
        assert (one.filename, one.lineno) == (__file__, where)


def test_numpys_settings_are_the_users():
    with onp.errstate(over="ignore"):
        x() * 1e300
        recorded(lambda a: a * 1e300)
        np.array(BIG)
    with onp.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        np.array(BIG)
    assert onp.geterr()["over"] == "warn" and onp.geterrcall() is None


def test_the_line_of_the_number_among_others():
    a = x()
    a.attach_grad()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with autograd.record():
            b = a * 2.5 + 1.5
            b = b * 1e300 + 3.5  # the number
            b = b * 0.5
        b.backward()
        a.grad.asnumpy()
    where = line_of(test_the_line_of_the_number_among_others, "# the number")
    assert told and {(one.filename, one.lineno) for one in told} == {(__file__, where)}


def again(net):
    net.initialize()


OWN = {
    "initialize": lambda: again(dense()),
    "optimize_for": lambda: dense().optimize_for(np.ones((1, 2)), backend="tvm"),
    "hybridize": lambda: sequential().hybridize(),
    "grad_req": lambda: setattr(gluon.Constant(onp.ones(2)), "grad_req", "write"),
    "share": lambda: dense().share_parameters({"nothing": gluon.Parameter("p", shape=(1,))}),
    "collect": lambda: Loose().collect_params(),
    "base_lr": lambda: mx.optimizer.SGD(learning_rate=0.5, lr_scheduler=mx.lr_scheduler.FactorScheduler(1, base_lr=1)),
    "clip": lambda: gluon.utils.clip_global_norm([np.array([onp.inf])], 1.0),
    "symbol": lambda: (mx.sym.var("a") + mx.sym.var("b")).infer_shape(),
    "create_state": lambda: mx.optimizer.SGD().create_state_multi_precision(0, np.ones((2,), dtype="float16")),
}


class Loose(nn.Block):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Dense(2)]


def dense():
    net = nn.Dense(2, in_units=2)
    net.initialize()
    return net


def sequential():
    net = nn.Sequential()
    net.add(nn.Dense(2, in_units=2))
    return net


@pytest.mark.parametrize("name", OWN)
def test_our_own_warnings_point_there_too(name):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        OWN[name]()
    assert told
    where = again.__code__.co_firstlineno + 1 if name == "initialize" else OWN[name].__code__.co_firstlineno
    assert {(one.filename, one.lineno) for one in told} == {(__file__, where)}


def test_a_line_is_told_once_by_default():
    with warnings.catch_warnings(record=True) as told:
        warnings.resetwarnings()
        warnings.simplefilter("default")
        for _ in range(3):
            np.array(BIG)
    assert len(told) == 1


@pytest.mark.dear
@every_source
def test_nothing_else_warns(path):
    """All warnings go through gluonx.common.frames, which finds the line."""
    if path.name == "frames.py":
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in ("warn", "warn_explicit")]
    assert [n.lineno for n in calls if ast.unparse(n) != "source_location.warn"] == []


def test_a_cell_of_ipython_is_named_as_ipython_names_it(monkeypatch):
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name={"/tmp/1.py": ("Cell", "In[3]")}.get))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert str(source_location.Line("/tmp/1.py", 5, "<module>")) == "Cell In[3], line 5"
    assert str(source_location.Line("/tmp/1.py", 5, "forward")) == "Cell In[3], line 5 in forward"
    assert str(source_location.Line("/tmp/2.py", 5, "<module>")) == "/tmp/2.py:5 in <module>"
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert str(source_location.Line("/tmp/1.py", 5, "forward")) == "/tmp/1.py:5 in forward"
