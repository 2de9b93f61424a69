"""``mx.np.float32`` and its like: what names a dtype in MXNet 2, and makes numbers in MXNet 1.

MXNet 1.9's are NumPy's classes, which programs call; MXNet 2's are dtypes, which programs compare with ``x.dtype`` and
look up in dictionaries. A `NumberType` is both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["NUMBER_TYPES", "NumberType"]


class NumberType:
    """A dtype that can be called: it has all attributes of `dtype`, is equal to it and is found in its place.

    Examples
    --------
    >>> float32 = NumberType("float32")
    >>> float32(2), float32 == np.dtype("float32"), np.zeros(1, float32).dtype
    (np.float32(2.0), True, dtype('float32'))
    """

    def __init__(self, name: str) -> None:
        self.dtype = np.dtype(name)

    def __call__(self, *value: Any) -> Any:
        """Return a number of this type, or an array of NumPy's, as NumPy's class does."""
        return self.dtype.type(*value)

    def __getattr__(self, name: str) -> Any:
        if name == "dtype":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.dtype, name)

    def __eq__(self, other: object) -> bool:
        return self.dtype == (other.dtype if isinstance(other, NumberType) else other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return repr(self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return NumberType, (self.dtype.str,)


NUMBER_TYPES = {
    name: NumberType(name)
    for name in (
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    )
}
NUMBER_TYPES["bool"] = NUMBER_TYPES["bool_"] = NumberType("bool")
