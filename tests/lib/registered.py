"""What tests and examples register is theirs alone."""

import contextlib
import inspect
import sys

from lib import TESTS

__all__ = ["alone"]

# Tables of the process, by module; the last may be an attribute of a class.
TABLES = [
    ("gluonx.ops.registry", "OPS"),
    ("gluonx.probability.kl", "_FORMULAS"),
    ("gluonx.initializer", "_REGISTRY"),
    ("gluonx.metric.base", "_REGISTRY"),
    ("gluonx.optimizer.optimizer", "Optimizer.opt_registry"),
    ("gluonx.compat.operator", "_REGISTRY"),
    ("gluonx.compat.kvstore", "KVStoreBase.kv_registry"),
]


def _tables():
    """Yield the tables that there are by now, with their place."""
    for place in TABLES:
        module, names = place
        found = sys.modules.get(module)
        if found is not None:
            for name in names.split("."):
                found = getattr(found, name)
            yield place, found


def _stays(value):
    """Return whether a module registered this while it was imported, which happens once in a process."""
    module = sys.modules.get(getattr(value, "__module__", None))
    if getattr(module, getattr(value, "__name__", ""), None) is value:
        return True
    files = {code.co_filename for code in _codes(getattr(value, "fn", value))}
    return bool(files) and not any(file.startswith(("<", str(TESTS))) for file in files)


def _codes(function):
    """Yield the code of a function, and of what it wraps."""
    if hasattr(function, "__code__"):
        yield function.__code__
        for value in inspect.getclosurevars(function).nonlocals.values():
            if hasattr(value, "__code__"):
                yield value.__code__


@contextlib.contextmanager
def alone():
    """Within, what is registered, or registered anew under a name, is as before afterwards.

    What gluonx itself has changed stays: code for MXNet 1 has another NAG under that name, until it calls ``set_np``.
    """
    before = {place: dict(table) for place, table in _tables()}
    try:
        yield
    finally:
        for place, table in _tables():
            was = before.get(place, {})
            for key, value in list(table.items()):
                if value is not was.get(key) and not _stays(value):
                    if key in was:
                        table[key] = was[key]
                    else:
                        del table[key]
