"""ndarray's methods that are functions of ``gluonx.np`` and ``gluonx.npx``, and NumPy's protocols.

``x.sum(axis=0)`` is ``np.sum(x, axis=0)``: the records of operators say which functions are methods. Only methods whose
signature differs from the function's are written out.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from gluonx import np, npx
from gluonx.common.arguments import Size
from gluonx.common.frames import door, shorten
from gluonx.np.handle import ndarray
from gluonx.ops.registry import OPS

if TYPE_CHECKING:
    from types import ModuleType


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    # The method shares the function's code; a wrapper would add a tenth to the time of a small sum.
    method = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    method.__kwdefaults__ = function.__kwdefaults__
    method.__qualname__ = f"ndarray.{name}"
    method.__signature__ = _bound_signature(function)  # type: ignore[attr-defined]
    method.__doc__ = getattr(function, "__doc__", None)
    method.arrays = getattr(function, "arrays", ())  # type: ignore[attr-defined]
    return method


def _bound_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the function's signature, its first parameter called self."""
    first, *rest = inspect.signature(function).parameters.values()
    return inspect.Signature([first.replace(name="self", default=first.empty), *rest])


def _reshape(self: ndarray, *shape: Size, order: str = "C", newshape: Size | None = None, **kwargs: object) -> ndarray:
    """Return the same elements in another shape; one dimension may be -1."""
    try:
        if newshape is not None:
            shape = (newshape,)
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)
    except Exception as error:
        shorten(error)
        raise


def _transpose(self: ndarray, *axes: int | Sequence[int] | None) -> ndarray:
    """Return the array with its axes permuted (reversed, if none are given)."""
    try:
        if not axes or axes[0] is None:
            return np.transpose(self)
        return np.transpose(self, axes[0] if isinstance(axes[0], (tuple, list)) else axes)
    except Exception as error:
        shorten(error)
        raise


@door
def _flatten(self: ndarray, order: str = "C") -> ndarray:
    """Return a one-dimensional copy."""
    return np.reshape(self, (-1,), order=order)


@door
def _clip(self: ndarray, min: object = None, max: object = None, out: ndarray | None = None, **bounds: Any) -> ndarray:
    """Return the array with its elements kept between `min` and `max`."""
    return np.clip(self, bounds.get("a_min", min), bounds.get("a_max", max), out=out)


def _ranges(begin: Sequence[int], end: Sequence[int], step: Any) -> tuple[slice, ...]:
    steps = step or (None,) * len(begin)
    return tuple([slice(*ends) for ends in zip(begin, end, steps, strict=True)])


def _slice_assign(self: ndarray, rhs: object, begin: Sequence[int], end: Sequence[int], step: object) -> ndarray:
    """Return the array, after the part from `begin` to `end` was overwritten with `rhs`."""
    self[_ranges(begin, end, step)] = rhs
    return self


def _slice_assign_scalar(
    self: ndarray, value: object, begin: Sequence[int], end: Sequence[int], step: object
) -> ndarray:
    """Return the array, after the part from `begin` to `end` was filled with a number."""
    self[_ranges(begin, end, step)] = value
    return self


def namespace() -> ModuleType:
    """Return the module of functions on ndarrays."""
    return np


@door
def array_function(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> object:
    """Return the result of the gluonx function of the same name, for NumPy's ``__array_function__``."""
    ours = _counterpart(func)
    return NotImplemented if ours is None else ours(*args, **kwargs)


@door
def array_ufunc(ufunc: Callable[..., object], method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> ndarray:
    """Return the result of the gluonx function of the same name, for NumPy's ``__array_ufunc__``."""
    ours = _counterpart(ufunc) if method == "__call__" else None
    if ours is None:
        return NotImplemented
    out = kwargs.pop("out", None)
    result = ours(*inputs, **kwargs)
    if out is None:
        return result
    target = out[0]
    target[...] = result if isinstance(target, ndarray) else result.asnumpy()
    return target


def _counterpart(func: Callable[..., Any]) -> Callable[..., Any] | None:
    home: Any = np
    module = (func.__module__ or "") if hasattr(func, "__module__") else ""
    if module.startswith("numpy.linalg"):
        home = np.linalg
    given: str = func.__name__
    name = {"divide": "true_divide", "conjugate": "conj", "absolute": "abs", "amax": "max", "amin": "min"}.get(
        given, given
    )
    return getattr(home, name, None) or getattr(np, given, None)


_OWN = {
    "reshape": _reshape,
    "reshape_view": _reshape,
    "transpose": _transpose,
    "flatten": _flatten,
    "clip": _clip,
    "slice_assign": _slice_assign,
    "slice_assign_scalar": _slice_assign_scalar,
}
_FUNCTIONS = frozenset([
    *[name for op in OPS.values() for name in op.methods],
    *["nonzero", "to_dlpack_for_read", "to_dlpack_for_write"],
])  # fmt: skip
NAMES = _FUNCTIONS | {*_OWN, "mT", "drop_grad"}


def _install() -> None:
    for name in _FUNCTIONS:
        setattr(ndarray, name, _method(name, getattr(np, name, None) or getattr(npx, name)))
    for name, function in _OWN.items():
        setattr(ndarray, name, function)
    ndarray.mT = property(lambda self: np.swapaxes(self, -1, -2), doc="The array with its last two axes swapped.")  # type: ignore[attr-defined]
    ndarray.drop_grad = ndarray._drop_grad  # type: ignore[attr-defined]
    # From here on the method could only raise. Without it Python's specialized bytecode reads the slots of arrays, in a
    # tenth of the time; the engine reads some hundred of them in each step.
    del ndarray.__getattr__  # type: ignore[attr-defined]


_install()
module = sys.modules[__name__]  # as `gluonx.common.extensions.NAMES` says
