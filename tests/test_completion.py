"""What tab completion shows: the public names of a module, and not what it imports or is made of."""

import importlib
import inspect

import pytest

import gluonx
from gluonx.ops import OPS
from tools.api_pages import PAGES

MODULES = sorted({page.module for page in PAGES} - {"gluonx", "gluonx.npx", "gluonx.profiler"})


@pytest.mark.parametrize("name", MODULES)
def test_dir_shows_public_names(name):
    module = importlib.import_module(name)
    shown = {n for n in dir(module) if not n.startswith("_")}
    assert {n for n in module.__all__ if not n.startswith("_")} <= shown
    lazy = getattr(module, "_OF_SYMBOLS", ())  # names of MXNet 1 that are imported when they are asked for
    assert shown <= {*module.__all__, *lazy}
    assert not [
        n
        for n in shown
        if inspect.ismodule(getattr(module, n)) and not getattr(module, n).__name__.startswith("gluonx")
    ]


@pytest.mark.parametrize("name", [n for n in gluonx.__all__ if inspect.ismodule(getattr(gluonx, n))])
def test_dir_of_each_module_that_gluonx_has(name):
    """Also of those without a page: `Any`, what is imported and what is private are not shown."""
    module = getattr(gluonx, name)
    shown = [n for n in dir(module) if not n.startswith("__")]
    foreign = [n for n in shown if inspect.ismodule(f := getattr(module, n)) and not f.__name__.startswith("gluonx")]
    assert not foreign
    assert not [n for n in shown if n in ("Any", "Callable", "Mapping", "TYPE_CHECKING", "annotations", "NamedTuple")]
    assert not [n for n in shown if n.startswith("_") and n not in module.__all__ and n not in OPS]


def test_dir_of_gluonx():
    shown = set(dir(gluonx))
    assert {"nn", "np", "npx", "autograd", "Trainer", "optimizer"} <= shown
    assert not shown & {"Any", "annotations", "os", "importlib", "html", "extensions", "deferred"}


def test_dir_of_npx():
    shown = set(dir(gluonx.npx))
    assert {"softmax", "Convolution", "set_np"} <= shown
    assert shown <= {*gluonx.npx.__all__, *OPS}
