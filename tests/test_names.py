"""Module names that stand for others: one module under two names, however it is imported."""

import importlib
import pickle
import pkgutil
import subprocess
import sys

import numpy as onp
import pytest

import gluonx
from gluonx import gluon
from gluonx.common import aliases
from lib import ROOT


@pytest.mark.parametrize("name", [*(f"gluon.{name}" for name in aliases.GLUON), *aliases.SHORT])
def test_an_alias_is_the_module_that_it_stands_for(name):
    real = name.removeprefix("gluon.") if name.startswith("gluon.") else aliases.SHORT[name].removeprefix("gluonx.")
    module = importlib.import_module(f"gluonx.{real}")
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


def test_no_alias_has_a_file_and_all_are_listed():
    names = {part.name for part in pkgutil.iter_modules(gluonx.__path__)}
    assert names >= {*aliases.SHORT} and not (ROOT / "gluonx" / "nd").exists()
    assert {part.name for part in pkgutil.iter_modules(gluon.__path__)} == {*aliases.GLUON}


PICKLES = sorted((ROOT / "tests" / "data" / "pickles").glob("*/*.pickle"))


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
    "import importlib; importlib.invalidate_caches(); import gluonx.nd as nd; assert nd is gluonx.compat.nd",
    "from gluonx.gluon import contrib; assert contrib is gluonx.compat.contrib",
]


@pytest.mark.dear
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
