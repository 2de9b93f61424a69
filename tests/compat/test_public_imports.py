"""Import lines and attribute names of public code: under the alias an import never fails, and star imports work."""

import importlib
import pkgutil
import subprocess
import sys
import warnings

import pytest

import gluonx
from gluonx import compat
from gluonx.compat.alias.where import known_modules
from lib import TESTS

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
    *("gluonx.serialize", "gluonx.exchange"),  # deprecated names of 0.1.0, which warn
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


def test_the_import_loads_what_programs_lean_on():
    code = (
        "import gluonx.compat as c; c.install_as_mxnet(); import multiprocessing, mxnet; "
        "multiprocessing.pool.ThreadPool; print(mxnet.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "gluonx" in done.stdout
