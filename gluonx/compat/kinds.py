"""Arrays of ``mx.np`` in a program whose arrays are MXNet 1's.

In a program that runs on `gluonx.compat` and has not called ``set_np()``, what operators give is an NDArray. What
``mx.np`` makes is an np array all the same, and so is all that comes of it: such an array is of a class whose
operators and methods run as if ``set_np()`` held, and what they give is of that class again. Functions of ``mx.np``
are wrapped to do the same (`of_numpy`), and so is the call of a block that is given such an array. No other program
meets any of this.

`shared_np` and `shared_nd` give an array of the other kind that is the same array: what is written to one, and the
gradient of one, is the other's.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from gluonx.block.block import wrap_calls
from gluonx.compat.mode import Mode
from gluonx.compat.nd.ndarray import ND_KINDS, NUMPY_KINDS, NDArray, as_np, held_as_nd, use_nd_arrays, uses_nd_arrays
from gluonx.deferred.values.core import Handle, twin_of
from gluonx.np.handle import View, make_kinds, ndarray, placed
from gluonx.np.methods import NAMES as METHODS


def set_array_semantics(numpy: bool) -> bool:
    """Choose the arrays that layers and operators give: np arrays, or NDArrays. Returns what was chosen before."""
    before, Mode.numpy = Mode.numpy, numpy
    use_nd_arrays(not numpy)
    return before


@contextlib.contextmanager
def array_semantics(numpy: bool) -> Iterator[None]:
    """Open a scope with :func:`set_array_semantics`."""
    before = set_array_semantics(numpy)
    try:
        yield
    finally:
        set_array_semantics(before)


def of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function` of ``mx.np`` for a program whose arrays are NDArrays: it takes and gives np arrays."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not uses_nd_arrays():
            return function(*args, **kwargs)
        with array_semantics(True):
            out = kwargs.pop("out", None)
            options = {**as_np(kwargs), **({} if out is None else {"out": out})}
            return kept_np(function(*as_np(args), **options))

    return call


def kept_np(value: Any) -> Any:
    """Results, in lists, tuples and dicts too, as np arrays that stay so while arrays are NDArrays.

    It is for results that nobody else holds: an array becomes a new one on the same value. A slice stays one.
    """
    return _keep(value, lambda array: twin_of(array, _Numpy) if type(array) is ndarray else _share(array, _SharedNumpy))


def held_np(value: Any) -> Any:
    """Return the same for what somebody may hold: writes and gradients are those of both.

    Lists and dicts stay the objects that they are.
    """
    return _keep(value, lambda array: _share(array, _SharedNumpy))


def _keep(value: Any, keep: Callable[[Any], Any]) -> Any:
    kind = type(value)
    if kind in _KEPT:
        wrap_calls(_by_kind)
        return keep(value)
    if isinstance(value, (list, dict)):
        for key in range(len(value)) if isinstance(value, list) else list(value):
            kept = _keep(value[key], keep)
            if kept is not value[key]:
                value[key] = kept
    elif isinstance(value, tuple):
        items = [_keep(item, keep) for item in value]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            return value._make(items) if hasattr(value, "_make") else kind(items)  # type: ignore[attr-defined]
    return value


# -- the class --------------------------------------------------------------------------------------------------------


class _Numpy(ndarray):
    """``mx.np.ndarray`` while arrays are NDArrays."""

    __slots__ = ()

    def as_np_ndarray(self) -> ndarray:
        """Itself."""
        return self

    def as_nd_ndarray(self) -> NDArray:
        """Return the same array as an NDArray."""
        return shared_nd(self)

    @property
    def grad(self) -> Any:
        """The gradient that the last backward left here."""
        return held_np(super().grad)

    @property
    def T(self) -> ndarray:
        """The array with its axes reversed."""
        return self.transpose()  # type: ignore[attr-defined]

    @property
    def mT(self) -> Any:
        """The array with its last two axes swapped."""
        return self.swapaxes(-1, -2)  # type: ignore[attr-defined]


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        if not uses_nd_arrays():
            return function(self, *args, **kwargs)
        with array_semantics(True):
            return kept_np(function(self, *[as_np(a) if isinstance(a, Handle) else a for a in args], **kwargs))

    return method


def _fill() -> None:
    """Give the class every method of ndarray that may give an array."""
    methods = {name for name in METHODS if callable(getattr(ndarray, name))}
    for name in {*dir(ndarray), *methods}:
        function = getattr(ndarray, name)
        if isinstance(function, types.FunctionType) and name not in vars(_Numpy) and _gives_arrays(name):
            setattr(_Numpy, name, _method(function))


_NOT = {"__getattr__", "__hash__", "__repr__", "__str__", "__format__", "__reduce__", "__array__", "__init__", "copyto"}


def _gives_arrays(name: str) -> bool:
    return name not in _NOT and (name.startswith("__") or not name.startswith("_"))


_fill()


class _Shared(ndarray):
    """An array that is another one, of the other kind.

    The other one may be a slice or a piece, which write in ways of their own: it is asked for all that writes, and for
    all of `_OF_THE_OTHER`.
    """

    __slots__ = ("of",)
    of: Any

    @property
    def _itself(self) -> ndarray:
        return self.of

    @property
    def grad(self) -> Any:
        """The gradient that the last backward left here."""
        grad = self.of.grad
        return held_as_nd(grad) if NDArray in type(self).__mro__ else shared_np(held_np(grad))


def _forwarded(name: str) -> Any:
    def write(self: Any, value: Any) -> None:
        setattr(self.of, name, value)

    return property(lambda self: getattr(self.of, name), write)


_OF_THE_OTHER = (
    "value", "aval", "tape", "variable", "derived", "is_current", "attach_grad", "zero_grad", "_assign",
    "_assign_host", "_check_write", "_put",
)  # fmt: skip
for _name in _OF_THE_OTHER:
    setattr(_Shared, _name, _forwarded(_name))

_Numpy.__name__ = _Numpy.__qualname__ = ndarray.__name__  # a user sees one kind of array
_Numpy.__module__ = ndarray.__module__
_Numpy.whole_class = ndarray  # type: ignore[attr-defined]
_SharedNumpy, _SharedND = placed(_Numpy, _Shared), placed(NDArray, _Shared)
_KEPT = frozenset({ndarray, View})
NUMPY_KINDS.update((*make_kinds(_Numpy), _SharedNumpy))
ND_KINDS.add(_SharedND)


def _share(array: ndarray, cls: type) -> ndarray:
    if isinstance(array, _Shared):
        return array.of  # which is of the other kind
    twin = object.__new__(cls)
    twin.of = array
    return twin


def shared_np(array: Any) -> ndarray:
    """Return an array as a np array; the very array, so that writes and gradients are those of both."""
    return _share(array, _SharedNumpy) if NDArray in type(array).__mro__ else array


def shared_nd(array: Any) -> Any:
    """Return an array as an NDArray; the very array, so that writes and gradients are those of both."""
    return array if NDArray in type(array).__mro__ else _share(array, _SharedND)


# -- blocks -----------------------------------------------------------------------------------------------------------


def _holds_np(args: Any) -> bool:
    return any(type(a) in NUMPY_KINDS or (isinstance(a, (list, tuple)) and _holds_np(a)) for a in args)


def _by_kind(call: Callable[..., Any]) -> Callable[..., Any]:
    """Call blocks with np arrays with the semantics of np arrays, which is MXNet 2's answer (1 refuses them)."""

    @functools.wraps(call)
    def call_by_kind(self: Any, *args: ndarray, **kwargs: Any) -> Any:
        if uses_nd_arrays() and (_holds_np(args) or _holds_np(kwargs.values())):
            Mode.met_numpy()
            with array_semantics(True):
                return held_np(call(self, *args, **kwargs))
        return call(self, *args, **kwargs)

    return call_by_kind


def forget_calls() -> None:
    """Let blocks be called without a look at their inputs again; for when the program that needed it is over."""
    wrap_calls(None)
