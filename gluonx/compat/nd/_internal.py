"""``mx.nd._internal``: the operators under their registered names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import np
from gluonx.compat.nd.creation import array
from gluonx.compat.nd.names import module_of

if TYPE_CHECKING:
    from gluonx.common.arguments import Size
    from gluonx.np.handle import ndarray


__all__: list[str] = []

__getattr__, __dir__ = module_of(globals(), "nd")


def _sample_unique_zipfian(
    range_max: int, shape: Size | None = None, out: ndarray | None = None, name: str | None = None
) -> list[Any]:
    """Draw numbers below `range_max`, the small ones often, all of a row distinct.

    Parameters
    ----------
    range_max : int
    shape : tuple of int, or int
        ``(rows, numbers)``; one number by default.

    Returns
    -------
    list of NDArray
        The numbers, int64 of that shape, and how many draws each row took, int64 (rows,).

    Raises
    ------
    ValueError
        If a row is to have more numbers than there are.
    """
    rows, count = ((1, shape) if isinstance(shape, int) else shape) if shape else (1, 1)
    if count > range_max:
        raise ValueError(f"_sample_unique_zipfian: {count} distinct numbers below {range_max} do not exist")
    found, tries = onp.empty((rows, count), onp.int64), onp.zeros(rows, onp.int64)
    scale = math.log(range_max + 1)
    for row in range(rows):
        seen: dict[int, None] = {}
        while len(seen) < count:
            drawn = onp.rint(onp.exp(np.random.uniform(0, scale, size=(2 * count,)).asnumpy().astype(onp.float64)))
            for number in (drawn.astype(onp.int64) - 1) % range_max:
                if len(seen) == count:
                    break
                seen.setdefault(int(number))
                tries[row] += 1
        found[row] = list(seen)
    return [array(found, dtype="int64"), array(tries, dtype="int64")]
