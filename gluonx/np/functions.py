"""The array functions of ``gluonx.np``, made from `gluonx.np.table` when this module is imported.

Every name of the table's rows ``UNARY``, ``BINARY`` and ``GENERAL`` becomes a function of this module: on ndarrays,
numbers and nested lists, with NumPy's parameters, recorded and differentiated like every operator. They are not written
out here, because the table and the signature say all about them.

Nothing else may be in this module: ``any``, ``sum``, ``max`` and others are not Python's here.
"""

from typing import Any

from gluonx.np.building import fill

__all__ = [*fill(globals())]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    raise AttributeError(f"gluonx.np has no function '{name}'")
