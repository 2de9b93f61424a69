"""Import lines and attribute names of public code: under the alias an import never fails, and star imports work."""

import hashlib
import importlib
import json
import logging
import os
import pkgutil
import subprocess
import sys
import warnings

import numpy as onp
import pytest

import gluonx
from gluonx import compat
from gluonx.compat.alias.absent import AbsentError
from gluonx.compat.alias.where import _stars, known_modules, star_names
from gluonx.compat.modes import Version
from lib import ROOT, TESTS

DATA = TESTS / "data"


def lines(name):
    text = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line.partition(" | ")[0] for line in text if line and not line.startswith("#")]


@pytest.fixture
def mx():
    compat.install_as_mxnet()
    try:
        import mxnet

        yield mxnet
    finally:
        compat.uninstall()


def failures(mx, statements):
    failed = []
    for statement in statements:
        try:
            exec(statement, {"mx": mx})
        except Exception as error:
            failed.append((statement, f"{type(error).__name__}: {error}"))
    return failed


def test_imports_of_public_code(mx):
    found = lines("imports_of_public_code.txt")
    assert len(found) > 100
    assert not failures(mx, found)


def test_attributes_of_public_code(mx):
    assert not failures(mx, lines("attributes_of_public_code.txt"))


LOOKED_UP = ["mx.ndarray.numpy._internal", "mx.ndarray.ndarray._STORAGE_TYPE_STR_TO_ID", "mx.nd.numpy_extension.relu"]
IMPORTED = [
    "import mxnet.ndarray.numpy._internal",
    "import mxnet.ndarray.ndarray",
    "import mxnet.ndarray.numpy_extension",
]


def test_names_do_not_depend_on_what_was_imported_before():
    """Looked up, or imported and looked up: the same objects. Afterwards `gluonx.nd` is what it was."""
    nd = importlib.import_module("gluonx.compat.nd")
    before = nd.ndarray, nd.numpy, nd.numpy_extension
    assert before == (importlib.import_module("gluonx.compat.nd.ndarray"), gluonx.np, gluonx.npx)
    for statements in ([], IMPORTED, []):
        compat.install_as_mxnet()
        try:
            import mxnet as mx

            first = [] if statements else [eval(name, {"mx": mx}) for name in LOOKED_UP]
            assert not failures(mx, statements)
            found = [eval(name, {"mx": mx}) for name in LOOKED_UP]
            assert all(a is b for a, b in zip(first, found)) and found[1]["row_sparse"] == 1
            assert not failures(mx, IMPORTED)
            assert all(eval(name, {"mx": mx}) is value for name, value in zip(LOOKED_UP, found, strict=True))
        finally:
            compat.uninstall()
        assert (nd.ndarray, nd.numpy, nd.numpy_extension) == before


def test_a_wrong_name_is_an_error_still(mx):
    wrong = ["from mxnet.gluon.block import _no_such_name", "import mxnet.gluon.no_such", "mx.gluon.no_such_name"]
    assert len(failures(mx, wrong)) == 3


LEFT_OUT = (
    "gluonx.export.runtime",  # MLServer imports it; its protobufs and its client's are not both for one process
    "gluonx.parallel.plan",  # a command; the name is the function's
)


def public_modules(package):
    yield package.__name__
    for found in pkgutil.iter_modules(getattr(package, "__path__", ())):
        name = f"{package.__name__}.{found.name}"
        if not found.name.startswith("_") and name not in LEFT_OUT:
            yield from public_modules(importlib.import_module(name))


def test_star_imports_of_every_module():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not failures(None, [f"from {name} import *" for name in public_modules(gluonx)])


@pytest.mark.dear
def test_star_imports_of_every_module_of_mxnet(mx):
    assert not failures(mx, [f"from {name} import *" for name in sorted(known_modules())])


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("gluon.nn", "Dense HybridSequential Block"),
        ("gluon", "Block Parameter Trainer nn loss utils data"),
        ("ndarray", "NDArray FullyConnected zeros array softmax concat"),
        ("symbol", "Symbol Variable FullyConnected Convolution Group"),
        ("gluon.data.dataloader", "DataLoader"),
        ("contrib.io", "DataLoaderIter"),
        ("initializer", "Initializer Xavier register"),
        ("test_utils", "assert_almost_equal same"),
        ("numpy", "array dot zeros random"),
    ],
)
def test_what_a_star_import_brings(mx, module, names):
    scope = {}
    exec(f"from mxnet.{module} import *", scope)
    assert [name for name in names.split() if name not in scope] == []


def test_second_names_of_modules_are_the_modules(mx):
    pairs = "sym symbol, nd ndarray, np numpy, npx numpy_extension, mod module, init initializer, kv kvstore, "
    pairs += "viz visualization, mon monitor, rnd random, img image"
    for short, full in [pair.split() for pair in pairs.split(", ")]:
        assert getattr(mx, short) is getattr(mx, full) is importlib.import_module(f"mxnet.{short}"), short


def test_what_mxnet_imports_with_itself_is_among_the_modules(mx):
    """Libraries such as einops look there before they ask whether an array is MXNet's."""
    assert "mxnet.ndarray" in sys.modules
    assert sys.modules["mxnet.ndarray"].NDArray is mx.nd.NDArray
    space = {}
    exec("import mxnet.symbol as a, mxnet.gluon.nn; from mxnet.gluon import *; from mxnet.ndarray import zeros", space)
    assert space["a"] is mx.sym
    assert space["nn"] is space["mxnet"].gluon.nn
    assert space["zeros"] is mx.nd.zeros


@pytest.mark.dear
def test_the_import_loads_what_programs_lean_on():
    code = (
        "import gluonx.compat as c; c.install_as_mxnet(); import multiprocessing, mxnet; "
        "multiprocessing.pool.ThreadPool; print(mxnet.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "gluonx" in done.stdout


# By version: modules, names, and the digest of all "module name" lines of shared/api/star_mxnet_*.json, sorted.
STARS = {
    1: ("1.9.1", 210, 5778, "89888decd7d8d2d58609797c8ae8b5423b1b7ab8fbf6442cce2a0ac8b9660a9f"),
    2: ("2.0.0b1", 261, 6405, "a356dd90bd780552a2b5368c5fc278563f27ca92ca95d61ec22869569fa6c170"),
}


@pytest.mark.dear
@pytest.mark.parametrize("version", [1, 2])
def test_star_imports_bind_what_they_bind_in_mxnet(version):
    number, n_modules, n_names, digest = STARS[version]
    modules = [m for m in _stars()[1] if star_names(m, version)]
    assert len(modules) == n_modules
    compat.install_as_mxnet(version)
    try:
        bound = []
        for module in modules:
            scope = {}
            exec(f"from {module} import *", scope)
            bound += [f"{module} {name}" for name in scope if name != "__builtins__"]
    finally:
        compat.uninstall()
    lists = ROOT.parent / "shared" / "api" / f"star_mxnet_{number}.json"
    if lists.exists():  # to see which
        found = json.loads(lists.read_text(encoding="utf-8"))
        assert {*bound} == {f"{module} {name}" for module, names in found.items() for name in names}
    assert len(bound) == n_names
    assert hashlib.sha256("\n".join(sorted(bound)).encode()).hexdigest() == digest


@pytest.mark.dear
def test_without_a_version_star_imports_bind_the_names_of_both(mx):
    for module in ("", ".gluon", ".optimizer", ".test_utils", ".ndarray", ".ndarray.contrib", ".symbol.numpy"):
        scope = {}
        exec(f"from mxnet{module} import *", scope)
        both = {*star_names(f"mxnet{module}", 1), *star_names(f"mxnet{module}", 2)}
        assert both == scope.keys() - {"__builtins__"}
    assert Version.shown is None  # though `mxnet` has modules of one version among them
    exec("from mxnet import *", scope)
    assert scope["amp"].lists is not None
    assert Version.shown == 2


def test_what_star_imports_bind_are_the_things_themselves(mx):
    scope = {}
    exec("from mxnet.test_utils import *\nfrom mxnet.gluon.data.sampler import *", scope)
    assert scope["os"] is os and scope["np"] is onp and scope["mx"] is mx and scope["json"] is json
    assert scope["use_np"] is mx.util.use_np and scope["array"] is mx.nd.array
    exec("from mxnet.lr_scheduler import *\nfrom mxnet.initializer import *", scope)
    assert scope["pi"] == 3.141592653589793 and scope["string_types"] == (str,) and scope["register"]
    exec("from mxnet.image import *\nfrom mxnet.metric import *", scope)
    assert scope["numeric_types"] == mx.base.numeric_types and scope["logging"] is logging
    assert scope["np"] is mx.metric.np
    with pytest.raises(AbsentError, match=r"mxnet.ndarray._internal._sg_mkldnn_conv is not in gluonx"):
        mx.nd._internal._sg_mkldnn_conv()


def test_a_function_hides_the_module_of_its_name(mx):
    from mxnet.gluon.model_zoo import vision

    net = vision.alexnet(classes=10)
    importlib.import_module("mxnet.gluon.model_zoo.vision.alexnet")
    assert vision.alexnet is mx.gluon.model_zoo.vision.alexnet
    assert type(net) is type(vision.alexnet(classes=10))
    assert sys.modules["mxnet.gluon.model_zoo.vision.alexnet"].AlexNet is vision.AlexNet
    assert vision.resnet.ResNetV1 is vision.ResNetV1  # which has no function of that name


def test_star_imports_leave_gluonx_as_it_was():
    from gluonx import nd

    before = nd.__all__, nd.contrib, vars(nd)["__getattr__"], set(vars(nd.contrib)), set(vars(nd.image))
    compat.install_as_mxnet()
    exec("from mxnet.nd import *\nfrom mxnet.ndarray.contrib import *\nfrom mxnet.ndarray.utils import *", {})
    compat.uninstall()
    assert (nd.__all__, nd.contrib, vars(nd)["__getattr__"]) == before[:3]
    assert "ThreadedDataLoader" not in vars(nd)
    with pytest.raises(AttributeError):
        nd._new_empty_handle  # noqa: B018
