"""Module names that stand for others: one module under two names, however it is imported."""

import importlib
import pathlib
import pickle
import pkgutil
import subprocess
import sys
import warnings

import numpy as onp
import pytest

import gluonx
from gluonx import aliases, gluon

GLUON = sorted(part.name for part in pkgutil.iter_modules(gluon.__path__))


@pytest.mark.parametrize("name", [*(f"gluon.{name}" for name in GLUON), *aliases.SHORT])
def test_an_alias_is_the_module_that_it_stands_for(name):
    real = name.removeprefix("gluon.") if name.startswith("gluon.") else aliases.SHORT[name].removeprefix("gluonx.")
    module = importlib.import_module(f"gluonx.{real}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a name of gluonx 0.1.0
        assert importlib.import_module(f"gluonx.{name}") is module
    holder, _, last = name.rpartition(".")
    assert getattr(gluon if holder else gluonx, last) is module
    start = f"{module.__name__}."  # packages are imported by their own names on the way
    walked = pkgutil.walk_packages(getattr(module, "__path__", ()), start)
    parts = [part.name.removeprefix(start) for part in walked]
    for part in parts:
        if not part.endswith("__main__"):
            one = importlib.import_module(f"gluonx.{name}.{part}")
            assert one is importlib.import_module(f"gluonx.{real}.{part}"), part


def test_every_alias_has_its_file():
    names = importlib.import_module("gluonx._names")
    assert {part.name for part in pkgutil.iter_modules(names.__path__)} == {*aliases.SHORT, "exchange"}


FORMER = [("serialize", "gluonx.files"), ("exchange.stablehlo", "gluonx.export.stablehlo")]


@pytest.mark.parametrize(("old", "new"), FORMER)
@pytest.mark.parametrize("way", ["import gluonx.{old} as m", "import gluonx; m = gluonx.{old}"])
def test_names_of_0_1_0_work_and_are_deprecated(old, new, way):
    """The warning comes once, at the user's line, and so is shown by Python's own filters."""
    line = way.format(old=old)
    code = f"{line}\n{line}\nprint(m.__name__, all(hasattr(m, n) for n in m.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == [new, "True"], done.stderr
    told = [row for row in done.stderr.splitlines() if "DeprecationWarning" in row]
    assert len(told) == 1
    assert told[0].startswith(f"<string>:1: DeprecationWarning: gluonx.{old} is called {new} now")


PICKLES = sorted((pathlib.Path(__file__).parent / "data" / "pickles").glob("*/*.pickle"))


@pytest.mark.parametrize("path", PICKLES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_pickles_of_every_release_are_read(path):
    thing = pickle.loads(path.read_bytes())
    if path.stem in ("net", "lstm"):
        assert all(onp.isfinite(p.data().asnumpy()).all() for p in thing.collect_params().values())
        x = gluonx.np.ones((2, 3) if path.stem == "net" else (4, 1, 2))
        assert onp.isfinite(thing(x).asnumpy()).all()
    elif path.stem == "array":
        assert thing.tolist() == [[1, 2]] and thing.grad is not None
    elif path.stem == "parameter":
        assert thing.data().shape == (4, 3)
    else:
        assert type(thing).__name__ in ("Adam", "Accuracy")


def by_a_pickle(name):
    """A pickle of the first class or function of a module of 0.1.0, and the module that defines it now."""
    module = importlib.import_module(aliases.MOVED[name])
    found = next(n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__)
    return f"c{name}\n{found}\n.".encode(), module.__name__


@pytest.mark.parametrize("name", aliases.MOVED)
def test_a_pickle_finds_what_has_moved(name):
    pickled, module = by_a_pickle(name)
    assert pickle.loads(pickled).__module__ == module


@pytest.mark.parametrize("name", ["gluonx.forms", "gluonx.deferred.fusion"])
def test_a_pickle_finds_it_in_a_process_that_has_imported_nothing(name):
    pickled, module = by_a_pickle(name)
    code = f"import pickle, sys; assert 'gluonx' not in sys.modules; print(pickle.loads({pickled}).__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == module, done.stderr


def test_nobody_who_looks_at_all_modules_imports_what_has_moved():
    code = (
        "import sys, inspect, gluonx; before = {*sys.modules}\n"
        "[hasattr(m, '__file__') or hasattr(m, '__path__') for m in list(sys.modules.values())]\n"
        "inspect.getmodule(gluonx.__getattr__); print(len({*sys.modules} - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "0", done.stderr


IMPORTS = [
    "import gluonx.gluon.nn as nn; assert nn is gluonx.nn",
    "import gluonx.gluon.data; assert gluonx.gluon.data is gluonx.data",
    "from gluonx.gluon import nn, rnn, loss; assert rnn is gluonx.rnn and nn is gluonx.nn and loss is gluonx.loss",
    "from gluonx.gluon.nn import Dense; assert Dense is gluonx.nn.Dense",
    "from gluonx.gluon.nn.basic import Dense; assert Dense is gluonx.nn.Dense",
    "from gluonx.gluon.data.dataloader import DataLoader; assert DataLoader is gluonx.data.DataLoader",
    "from gluonx.gluon.model_zoo import vision; assert vision is gluonx.model_zoo.vision",
    "from gluonx.gluon.model_zoo.vision import resnet18_v1",
    "from gluonx.gluon import *; assert Trainer is gluonx.Trainer and nn is gluonx.nn",
    "import gluonx.init; assert gluonx.init is gluonx.initializer",
    "from gluonx import gluon; assert gluon.Trainer is gluonx.Trainer and gluon.nn is gluonx.nn",
    "import gluonx.nd.random; import gluonx.compat.nd.random as r; assert gluonx.nd.random is r",
    "from gluonx.numpy import random; assert random is gluonx.np.random",
]


@pytest.mark.parametrize("line", IMPORTS)
def test_imports_in_a_fresh_process(line):
    code = f"import sys; before = list(sys.meta_path); import gluonx\n{line}\nassert sys.meta_path == before"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_what_is_not_there():
    with pytest.raises(AttributeError, match="module 'gluonx' has no attribute 'nonsense'"):
        _ = gluon.nonsense
    with pytest.raises(ModuleNotFoundError, match=r"gluonx\.gluon\.nonsense"):
        importlib.import_module("gluonx.gluon.nonsense")
