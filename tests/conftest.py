"""Fixtures of the tests under tests/; the process-wide settings are in ../conftest.py."""

import gc

import jax
import numpy
import pytest

from lib.sample import SAMPLED, TURNS, WHOLE, chosen


@pytest.fixture
def rng(seed):
    """A NumPy generator tied to the run's seed."""
    return numpy.random.default_rng(seed)


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
    """Let gc.collect() look only at what this module makes: a process late in a run holds millions of objects."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def strict_ranks():
    """Fail where jax promotes ranks on its own: for tests of operators that are to broadcast in the open."""
    with jax.numpy_rank_promotion("raise"):
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks what is not in the sample as slow; a test that is asked for by its name runs in any case."""
    for item in items:
        share = (SAMPLED if hasattr(item, "callspec") else TURNS).get(item.path.name)
        asked = any("::" in arg for arg in item.config.args)
        whole = (item.path.name, getattr(item, "originalname", "")) in WHOLE
        if share and not asked and not whole and not chosen(item.nodeid, share):
            item.add_marker(pytest.mark.slow)
