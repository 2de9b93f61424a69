"""What the examples of docstrings and pages run in."""

import contextlib
import multiprocessing.util
import tempfile
from unittest import mock

from lib import registered

__all__ = ["alone"]


@contextlib.contextmanager
def alone():
    """Within, what is registered and what temporary folders are made is gone afterwards."""
    multiprocessing.util.get_temp_dir()  # the process has one as long as it lives, which must not be among these
    with registered.alone(), tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
        yield
