"""What the examples of docstrings and pages run in."""

import contextlib
import multiprocessing.util
import sys
import tempfile
from unittest import mock

__all__ = ["alone"]


@contextlib.contextmanager
def alone():
    """Within, what is registered and what temporary folders are made is gone afterwards."""
    multiprocessing.util.get_temp_dir()  # the process has one as long as it lives, which must not be among these
    tables = [("gluonx.ops.registry", "OPS"), ("gluonx.probability.kl", "_FORMULAS")]
    found = [vars(sys.modules[module])[name] for module, name in tables if module in sys.modules]
    before = [set(table) for table in found]
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
        yield
    for table, was in zip(found, before, strict=True):
        for key in set(table) - was:
            del table[key]
