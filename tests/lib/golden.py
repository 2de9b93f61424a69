"""The tables of cases under tests/oracle, each a module `cases` of its own, which the golden scripts read too."""

import importlib.util

from lib import TESTS

__all__ = ["load_cases"]


def load_cases(folder, name="cases"):
    """The module tests/oracle/FOLDER/NAME.py, under a name that no other has."""
    path = TESTS / "oracle" / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
