"""Fixtures of the tests over several devices."""

import pytest

from gluonx import engine


@pytest.fixture(autouse=True)
def nothing_pending():
    """Begin with nothing pending: tests count dispatches, and ``record()`` computes what a failed test left alive."""
    engine.waitall()
