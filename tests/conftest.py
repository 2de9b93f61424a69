"""Fixtures of the tests under tests/; the process-wide settings are in ../conftest.py."""

import gc
import os

import jax
import numpy
import pytest

from gluonx.common import policy
from lib.sample import DEAR, EXAMPLES, SAMPLED, TURNS, WHOLE, chosen


@pytest.fixture
def rng(seed):
    """A NumPy generator tied to the run's seed."""
    return numpy.random.default_rng(seed)


BY_NUMPY = os.environ.get("GLUONX_TEST_TIER") == "numpy"


@pytest.fixture(autouse=True)
def _tier(request):
    """Have programs compiled at once: a test is a few steps, which NumPy would run (`gluonx.common.policy`).

    Tests marked ``first_runs`` are about these, and so is every test under ``GLUONX_TEST_TIER=numpy``.
    """
    runs = policy.limits["runs"]
    if not BY_NUMPY and request.node.get_closest_marker("first_runs") is None:
        policy.limits["runs"] = 0
    yield
    policy.limits["runs"] = runs


@pytest.fixture(params=["by XLA", "by NumPy"])
def each_tier(request, _tier):
    """Run a test with programs compiled at once, and with NumPy running all of them."""
    policy.limits["runs"] = 0 if request.param == "by XLA" else 1000


@pytest.fixture
def leak_check():
    """Fail if a tracer outlives its trace. Slow (jax re-traces everything), so asked for by name."""
    with jax.checking_leaks():
        yield


@pytest.fixture(scope="module")
def collected():
    """Collect garbage at the end of a module that has Orbax fail, whose tasks are told of when they are collected.

    The telling parses lines of code, and Python 3.11 fails where a file is being parsed just then ("AST constructor
    recursion depth mismatch").
    """
    yield
    gc.collect()


@pytest.fixture(scope="module")
def young_heap():
    """Let gc.collect() look only at what this module makes: a process late in a run holds millions of objects.

    Garbage of before stays until the end of the module; to collect it first would take the second that this saves.
    """
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def strict_ranks():
    """Fail where jax promotes ranks on its own: for tests of operators that are to broadcast in the open."""
    with jax.numpy_rank_promotion("raise"):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for no examples in docstrings under tests/, which has none: every worker would look through all of it."""
    found = yield
    return [node for node in found if type(node) is pytest.Module]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Marks what is not in the sample as slow; a test that is asked for by its name runs in any case.

    Where slow tests are left out, these are so here: four plugins would each go through thirty thousand tests.
    """
    if any("::" in arg for arg in config.args):
        return
    drop = config.option.markexpr == "not slow"
    names, kept, left_out = {}, [], []
    for item in items:
        path = item.path
        name = names.get(path) or names.setdefault(path, path.name)
        share = (SAMPLED if hasattr(item, "callspec") else TURNS).get(name, 1)
        if isinstance(item, pytest.DoctestItem):
            share = EXAMPLES
        if "dear" in item.keywords:
            share = max(DEAR, 3 * share)
        whole = (name, getattr(item, "originalname", "")) in WHOLE
        if share == 1 or whole or chosen(item.nodeid, share):
            kept.append(item)
        elif drop:
            left_out.append(item)
        else:
            item.add_marker(pytest.mark.slow)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept
