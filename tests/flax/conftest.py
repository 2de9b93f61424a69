"""The numbers of nets and of modules made of them are compared as XLA gives them."""

from collections.abc import Iterator

import pytest

from gluonx import engine


@pytest.fixture(autouse=True)
def compiled() -> Iterator[None]:
    """Compile everything: by NumPy the last bit of a float may be another one, and these tests compare it."""
    with engine.host(False):
        yield
