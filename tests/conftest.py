"""Fixtures of the tests under tests/; the process-wide settings are in ../conftest.py."""

import zlib

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


# Sweeps of which `make test` runs one row in so many, always the same ones; `make test-all` runs them all.
SAMPLED = {
    "test_bad_arguments.py": 3,
    "test_benchmarks.py": 4,
    "test_contract_edges.py": 3,
    "test_cpu_forms.py": 3,
    "test_distributions.py": 24,
    "test_divergences.py": 4,
    "test_dtypes.py": 3,
    "test_export_mxnet.py": 6,
    "test_fusion_optimizer.py": 3,
    "test_layers.py": 3,
    "test_legacy_nd.py": 2,
    "test_legacy_ops.py": 6,
    "test_loss.py": 2,
    "test_lowerings.py": 5,
    "test_model_zoo.py": 6,
    "test_npx_image.py": 3,
    "test_ops_edges.py": 3,
    "test_optimizer_long.py": 4,
    "test_quantize_ops.py": 3,
    "test_random_distributions.py": 4,
    "test_rnn_golden.py": 4,
    "test_rnn_ops.py": 4,
    "test_sampling.py": 16,
    "test_symbol.py": 3,
    "test_vision_ops.py": 3,
}


WHOLE = {  # what nothing else would notice, or what says itself which rows are slow
    ("test_loss.py", "test_golden"),
    ("test_distributions.py", "test_every_mode"),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks what is not in the sample as slow; a test that is asked for by its name runs in any case."""
    for item in items:
        share = SAMPLED.get(item.path.name)
        asked = any("::" in arg for arg in item.config.args)
        whole = (item.path.name, getattr(item, "originalname", "")) in WHOLE
        if share and not asked and not whole and hasattr(item, "callspec") and zlib.crc32(item.nodeid.encode()) % share:
            item.add_marker(pytest.mark.slow)
