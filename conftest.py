"""What every test and doctest of gluonx runs under; it must act before jax is imported."""

import ctypes
import gc
import importlib.metadata
import os
import pathlib
import random
import signal
import sys

_ROOT = pathlib.Path(__file__).parent

if "jax" in sys.modules:
    raise RuntimeError("jax was imported before conftest.py: the fake devices below would have no effect")

# A job in the background of a script begins with Ctrl-C ignored, and some tests are about it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The tests are about behaviour, so they run on the CPU unless told otherwise, with eight devices for what is sharded.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
_FLAGS = ["--xla_force_host_platform_device_count=8"]
# Tests compile tens of thousands of small programs that run once: without XLA's optimizations a program compiles in a
# quarter of the time. `make test-all` leaves them in, so what users run is tested there. A flag that XLA does not know
# ends the process, and later versions lack the one that gains most; the other takes a third off on 0.12.
_UNOPTIMIZED = {
    "0.10": ["backend_optimization_level=0", "cpu_use_fusion_emitters=false", "cpu_parallel_codegen_split_count=1"],
    "0.12": ["backend_optimization_level=0"],
}
if os.environ.get("GLUONX_TEST_XLA") != "optimized":
    _VERSION = ".".join(importlib.metadata.version("jaxlib").split(".")[:2])
    _FLAGS += [f"--xla_{flag}" for flag in _UNOPTIMIZED.get(_VERSION, [])]
_GIVEN = os.environ.get("XLA_FLAGS", "")
os.environ["XLA_FLAGS"] = " ".join([_GIVEN, *(flag for flag in _FLAGS if flag.split("=")[0] not in _GIVEN)]).strip()
# Never the user's own cache folder.
os.environ["GLUONX_CACHE_DIR"] = str(_ROOT / ".pytest_cache" / "gluonx-xla")
# JAX writes a program's file in place. Small programs, which all workers share, would be read while they are written.
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")

import pytest  # noqa: E402

from lib import registered  # noqa: E402
from lib.sample import ROUND, chosen  # noqa: E402

# Files that give way to the modules that they stand for (gluonx.common.aliases); they hold nothing to test.
collect_ignore_glob = ["gluonx/gluon/*.py", "gluonx/_names/*.py", "gluonx/parallel/plan.py"]
# MLServer's protobufs and those of the client that tests it have the same names: not both in one process.
collect_ignore = ["gluonx/export/runtime.py"]

# The same at every run, so that what fails here fails there; "draw" draws one, as `make test-all` does.
_WANTED = os.environ.get("GLUONX_TEST_SEED") or "20200601"
SEED = random.SystemRandom().randrange(1, 2**31) if _WANTED == "draw" else int(_WANTED)


def pytest_addoption(parser):
    parser.addoption("--sample", type=int, default=1, metavar="N", help="run one test in N, others with every commit")


def pytest_configure(config):
    """Let the worker processes of pytest-xdist share the controller's seed and sample."""
    del config
    os.environ["GLUONX_TEST_SEED"] = str(SEED)
    os.environ["GLUONX_TEST_ROUND"] = ROUND


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect without looking for garbage: what is made here stays, and would be looked through many times."""
    del session
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        # All that lives is looked through a tenth as often: what jax keeps of its programs grows all the time, and the
        # collector is a twentieth of a run.
        gc.set_threshold(*gc.get_threshold()[:2], 100)


def pytest_report_header(config):
    del config
    repeat = f"GLUONX_TEST_SEED={SEED} GLUONX_TEST_ROUND={ROUND}"
    return f"gluonx: repeat with {repeat}, XLA_FLAGS={os.environ['XLA_FLAGS']}"


def pytest_collection_modifyitems(config, items):
    """Keep what --sample asks for."""
    share = config.getoption("sample")
    left_out = [item for item in items if share > 1 and not chosen(item.nodeid, share)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if chosen(item.nodeid, share)]


@pytest.fixture(autouse=True)
def _alone(request):
    """Start every test from the seed of the run, and let it leave nothing to the next. One fixture: all pay for it."""
    import numpy

    from gluonx import random as gluonx_random

    random.seed(SEED)
    numpy.random.seed(SEED)
    gluonx_random.seed(SEED)
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("examples_alone")
    with registered.alone():
        yield
    if "gluonx.device" in sys.modules:  # no test works on several devices because another one before it did
        sys.modules["gluonx.device"].Replicas.on = False
    if "gluonx.deferred.run.flushing" in sys.modules:  # no line of a helper has compiled too many programs for others
        sys.modules["gluonx.deferred.run.flushing"]._sites.clear()


@pytest.fixture
def examples_alone(tmp_path_factory):
    """What the examples of a docstring or page register, and their temporary folders, they alone have."""
    from lib.examples import alone

    tmp_path_factory.getbasetemp()  # made where the other tests have it
    with alone():
        yield


@pytest.fixture(autouse=True, scope="module")
def _forgotten():
    """What one module recorded is of no use to the next; without this the programs of all modules pile up in memory."""
    yield
    if "gluonx.deferred.values.core" in sys.modules:
        sys.modules["gluonx.deferred.values.core"].ROOT.children.clear()
    if _resident() > _MOST:
        _give_back()


_MOST = 3 << 30  # bytes


def _resident():
    import psutil

    return psutil.Process().memory_info().rss


def _give_back():
    """Frees what jax compiled: a whole run compiles tens of thousands of programs, of a megabyte each."""
    import jax

    jax.clear_caches()
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture
def seed():
    """The seed of this run, for a test that makes its own generator."""
    return SEED
