"""Fixtures of the tests under tests/; the process-wide settings are in ../conftest.py."""

import jax
import numpy
import pytest


@pytest.fixture
def rng(seed):
    """A NumPy generator tied to the run's seed."""
    return numpy.random.default_rng(seed)


@pytest.fixture
def leak_check():
    """Fail if a tracer outlives its trace. Slow (jax re-traces everything), so asked for by name."""
    with jax.checking_leaks():
        yield


@pytest.fixture
def strict_ranks():
    """Fail where jax promotes ranks on its own: for tests of operators that are to broadcast in the open."""
    with jax.numpy_rank_promotion("raise"):
        yield
