"""``x.dtype`` of MXNet's NDArray: NumPy's type rather than its dtype.

``x.dtype(3)`` makes a number and ``{np.float32: ...}[x.dtype]`` finds it in programs for MXNet. The rest of gluonx
reads ``x.dtype.kind`` and the like. So what `scalar_type` gives is NumPy's type in every comparison, as the key of a
dict, called, printed and handed to NumPy, and answers for the attributes of the dtype.
"""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as onp


class _Meta(type):
    """Equal to the type of NumPy that it stands for; other attributes are those of the dtype."""

    _dtype: Any
    _type: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._type(*args, **kwargs)

    def __eq__(cls, other: object) -> bool:
        if isinstance(other, _Meta):
            return cls._dtype == other._dtype
        if isinstance(other, type):
            return cls._type is other
        try:
            return bool(cls._dtype == other)
        except TypeError:
            return False

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __hash__(cls) -> int:
        return hash(cls._type)

    def __repr__(cls) -> str:
        return repr(cls._type)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls._type)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls._type)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(cls._dtype, name)


# Attributes of a dtype that NumPy's types have too, as descriptors of their instances.
_OF_DTYPE = (
    "kind itemsize name type char num str byteorder names fields isnative alignment subdtype shape base ndim flags "
    "hasobject isalignedstruct metadata descr newbyteorder isbuiltin"
)
_made: dict[onp.dtype, Any] = {}


def scalar_type(dtype: onp.dtype) -> type:
    """NumPy's type of a dtype, with the dtype's attributes; a dtype that NumPy has no number of its own for, as it is.

    Examples
    --------
    >>> found = scalar_type(onp.dtype("float32"))
    >>> found == onp.float32, found(3), found.itemsize, found.__name__, {onp.float32: "it"}[found]
    (True, np.float32(3.0), 4, 'float32', 'it')
    """
    found = _made.get(dtype)
    if found is None:
        found = _made[dtype] = _make(dtype)
    return found


def _make(dtype: onp.dtype) -> Any:
    if dtype.kind not in "biufc":  # bfloat16 is no number type of NumPy's, and MXNet gives its dtype too
        return dtype
    body = {name: getattr(dtype, name) for name in _OF_DTYPE.split() if hasattr(dtype, name)}
    scalar: Any = dtype.type
    # NumPy's bool cannot be derived from; `dtype` tells NumPy what any other class stands for.
    bases, body = ((object,), {**body, "dtype": dtype}) if scalar is onp.bool_ else ((scalar,), body)
    return _Meta(scalar.__name__, bases, {**body, "_dtype": dtype, "_type": scalar, "__module__": "numpy"})


# pickle looks classes up by their names, unless it is told how to make them.
copyreg.pickle(_Meta, lambda made: (scalar_type, (made._dtype,)))  # pyright: ignore[reportArgumentType]
