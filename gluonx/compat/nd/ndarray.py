"""NDArray: the array with MXNet 1's meaning of its methods and operators.

It is the same handle as ``gluonx.np.ndarray``, with the same values, gradients and laziness; the class says only what
``x.sum()``, ``x == y`` or ``x.reshape(0, -1)`` mean:

- there are no arrays without axes: reductions and single elements have shape ``(1,)``;
- comparisons give ones and zeros in the array's own dtype;
- ``reshape`` knows the codes 0 and -1 to -4, ``flatten`` keeps the batch, places (``argmax``, ``topk``) are float32;
- integers stay integers in arithmetic with scalars.

Functions of ``mx.nd`` give NDArrays. What ``gluonx.np`` and layers give is of the class that `use_nd_arrays` chose.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import sparse
from gluonx.common.extensions import NAMES
from gluonx.common.host import copied
from gluonx.compat.mode import Mode
from gluonx.compat.nd.scalar_types import scalar_type
from gluonx.compat.operators.table import TABLE
from gluonx.deferred.values import core as engine
from gluonx.deferred.values.core import Handle, new_handle, set_handle_class, twin_of
from gluonx.dtype import on_device
from gluonx.errors import ShapeError
from gluonx.np.handle import Detached, Kind, View, is_readable, make_kinds, ndarray, write_through
from gluonx.sparse import BaseSparseNDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from gluonx.common.arguments import Size
    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike


class _Kind(Kind):
    """Makes every array an instance of NDArray, as every ``mx.np.ndarray`` was one of MXNet's."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, ndarray) if cls is NDArray else type.__instancecheck__(cls, instance)


def _scalar(value: object) -> bool:
    return isinstance(value, (bool, int, float, onp.generic))


NUMPY_KINDS: set[type] = set()  # classes of np arrays in a program whose arrays are NDArrays; filled by `kinds`


def _numpy_wins(other: ndarray) -> bool:
    """Return whether an operator of an NDArray and `other` is np's, as in MXNet 2 (MXNet 1 refuses both)."""
    kind = type(other)
    return kind in NUMPY_KINDS or (Mode.numpy and kind in _SWITCH)


def _binary(numpys: Callable[[Any, Any], Any], both: str, scalar: str, reflected: str = "") -> Any:
    """Return methods that are MXNet 1's operators; with an np array that wins they are `numpys`, Python's operator."""
    arrays, right, left = TABLE[both], TABLE[scalar], TABLE[reflected or scalar]

    def direct(self: NDArray, other: Any) -> ndarray:
        if _scalar(other):
            return as_nd(right.rule(right.parse({"scalar": other}), self))
        if isinstance(other, onp.ndarray):
            other = from_host(other, self.dtype)
        elif _numpy_wins(other):
            return numpys(as_np(self), as_np(other))
        return as_nd(arrays.rule(arrays.parse({}), self, other)) if isinstance(other, Handle) else NotImplemented

    def reflection(self: NDArray, other: Any) -> ndarray:
        if _scalar(other):
            return as_nd(left.rule(left.parse({"scalar": other}), self))
        if isinstance(other, onp.ndarray):
            other = from_host(other, self.dtype)
        elif _numpy_wins(other):
            return numpys(as_np(other), as_np(self))
        return as_nd(arrays.rule(arrays.parse({}), other, self)) if isinstance(other, Handle) else NotImplemented

    def in_place(self: Any, other: Any) -> Any:
        return self._become(direct(self, twin_of(other, NDArray) if _numpy_wins(other) else other))

    return direct, reflection, in_place


def from_host(value: onp.ndarray, dtype: DTypeLike) -> ndarray:
    """Return an array of a NumPy array's values in `dtype`."""
    from gluonx import np

    return np.array(value, dtype=dtype)


def _compare(numpys: Callable[[Any, Any], Any], name: str) -> Any:
    direct = _binary(numpys, f"broadcast_{name}", f"_{name}_scalar")[0]
    missing = {"equal": False, "not_equal": True}.get(name, NotImplemented)

    def compare(self: NDArray, other: object) -> Any:
        found = direct(self, other)
        return missing if found is NotImplemented else found

    return compare


def _unary(name: str) -> Any:
    op = TABLE[name]
    none = op.parse({})
    return lambda self: as_nd(op.rule(none, self))


_NEGATIVE = _unary("negative")


class NDArray(ndarray, metaclass=_Kind):
    """MXNet 1's array; made by ``mx.nd.array`` and its like."""

    if TYPE_CHECKING:  # of the methods that `gluonx.compat.nd.names` adds, what np's arrays do not have
        _SliceChannel: Any
        _expand_dims: Any
        _squeeze: Any
        argmax_channel: Any
        batch_dot: Any
        broadcast_axes: Any
        depth_to_space: Any
        nanprod: Any
        nansum: Any
        shape_array: Any
        size_array: Any
        space_to_depth: Any
        split_v2: Any

    __slots__ = ()
    cuts_when_attached = True

    __add__, __radd__, __iadd__ = _binary(operator.add, "broadcast_add", "_plus_scalar")
    __sub__, __rsub__, __isub__ = _binary(operator.sub, "broadcast_sub", "_minus_scalar", "_rminus_scalar")
    __mul__, __rmul__, __imul__ = _binary(operator.mul, "broadcast_mul", "_mul_scalar")
    __truediv__, __rtruediv__, __itruediv__ = _binary(operator.truediv, "broadcast_div", "_div_scalar", "_rdiv_scalar")
    __mod__, __rmod__, __imod__ = _binary(operator.mod, "broadcast_mod", "_mod_scalar", "_rmod_scalar")
    __pow__, __rpow__, _ipow = _binary(operator.pow, "broadcast_power", "_power_scalar", "_rpower_scalar")
    __eq__ = _compare(operator.eq, "equal")  # type: ignore[assignment]
    __ne__ = _compare(operator.ne, "not_equal")  # type: ignore[assignment]
    __lt__, __le__ = _compare(operator.lt, "lesser"), _compare(operator.le, "lesser_equal")
    __gt__, __ge__ = _compare(operator.gt, "greater"), _compare(operator.ge, "greater_equal")
    __abs__ = _unary("abs")
    __div__, __rdiv__ = __truediv__, __rtruediv__

    def __neg__(self) -> Any:
        return self * -1 if self.dtype == bool else _NEGATIVE(self)

    def __floordiv__(self, other: Any) -> NDArray:
        return as_nd(super().__floordiv__(other))

    def __hash__(self) -> int:
        return id(self) >> 4

    def __bool__(self) -> bool:
        if self.size == 0:
            return False
        if self.size == 1:
            return bool(self.item())
        raise ValueError("The truth value of an NDArray with multiple elements is ambiguous.")

    def __repr__(self) -> str:
        text = onp.array2string(self._on_host()) if is_readable(self) else "<no value here>"
        return f"\n{text}\n<NDArray {'x'.join(map(str, self.shape))} @{self.context}>"

    __str__ = __repr__

    def __getitem__(self, key: object) -> NDArray:
        return as_nd(super().__getitem__(_legacy_key(key, self.shape)))

    def __setitem__(self, key: object, value: ArrayLike) -> None:
        super().__setitem__(_legacy_key(key, self.shape), value)

    # -- shapes --------------------------------------------------------------------------------------------------------

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """Return the same elements in another shape, by MXNet 1's codes (0, -1 to -4).

        What is written to the result is written to this array too, as long as that has the value of now.
        """
        codes = kwargs.pop("shape", None)
        codes = (shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape) if shape else codes
        found = _call("Reshape", self, shape=codes, reverse=kwargs.pop("reverse", False), **kwargs)
        write_through(found, self)
        return found

    reshape_view = reshape

    def transpose(self, *axes: int | Sequence[int] | None, **kwargs: Any) -> NDArray:
        """Return the array with its axes permuted (reversed, if none are given)."""
        axes = kwargs.pop("axes", axes)
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        return _call("transpose", self, axes=tuple(order))

    def squeeze(self, axis: Any = None, inplace: bool = False, **kwargs: Any) -> NDArray:
        """Return the array without axes of length 1; with `inplace` a view, which writes through, as MXNet 1's."""
        if not inplace:
            return self._squeeze(axis, **kwargs)
        ndim = len(self.shape)
        wanted = range(ndim) if axis is None else [axis] if _is_int(axis) else axis
        gone = {a % ndim for a in wanted if axis is not None or self.shape[a] == 1}
        if any(self.shape[a] != 1 for a in gone):
            raise ShapeError(f"squeeze: an axis of {axis} has another length than 1 in {self.shape}.")
        gone = gone if len(gone) < ndim else gone - {0}
        key = tuple([0 if a in gone else slice(None) for a in range(ndim)])
        return as_nd(ndarray.__getitem__(self, key))

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: object) -> NDArray:
        """Return the array with a new axis of length 1; with `inplace` a view, which writes through, as MXNet 1's."""
        if not inplace:
            return self._expand_dims(axis, **kwargs)
        place = axis % (len(self.shape) + 1)
        return as_nd(ndarray.__getitem__(self, (*[slice(None)] * place, None)))

    def flatten(self, **kwargs: object) -> NDArray:
        """All axes but the first as one."""
        return _call("Flatten", self)

    def split(self, *args: object, **kwargs: object) -> NDArray | list[NDArray]:
        """``num_outputs`` parts along `axis`."""
        return self._SliceChannel(*args, **kwargs)

    def broadcast_to(self, *shape: int | Sequence[int], **kwargs: Any) -> NDArray:
        """Return the array repeated to `shape`."""
        target = kwargs.get("shape", shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
        return _call("broadcast_to", self, shape=target)

    def tile(self, reps: Size, **kwargs: object) -> NDArray:
        """Return the array repeated as a tile."""
        return _call("tile", self, reps=reps)

    @property
    def dtype(self) -> Any:
        """The dtype: a ``numpy.dtype``, or on `gluonx.compat` NumPy's type, which can be called, as in MXNet."""
        found = super().dtype
        return scalar_type(found) if Mode.aliased else found

    # -- what it is ----------------------------------------------------------------------------------------------------

    def asscalar(self) -> Any:
        """Return the one element, as a NumPy scalar; ValueError if there are more."""
        if self.size != 1:
            raise ValueError("The current array is not a scalar")
        return self.asnumpy().reshape(-1)[0]

    def tostype(self, stype: str) -> ndarray:
        """Return the array in another storage, ``'csr'`` or ``'row_sparse'``; a copy as ``'default'``."""
        return self.copy() if stype == "default" else kept_nd(sparse.cast_storage(self, stype))

    def as_np_ndarray(self) -> ndarray:
        """Return the same array as a ``gluonx.np.ndarray``: what is written to one is seen in the other."""
        return NAMES["gluonx.nd.NDArray.as_np_ndarray"](self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle_nd, super().__reduce__()[1]

    def as_nd_ndarray(self) -> NDArray:
        """Itself."""
        return self

    def astype(self, dtype: DTypeLike, copy: bool = True, **kwargs: object) -> NDArray:
        """Return the array with another dtype."""
        return as_nd(super().astype(dtype, copy=copy))

    def copy(self, order: str = "C") -> NDArray:
        """Return a new array of the same value."""
        return as_nd(super().copy())

    def copyto(self, other: ndarray | DeviceLike) -> ndarray:
        """Write this value into an array, and return that, or make a copy on a device."""
        return super().copyto(other) if isinstance(other, Handle) else as_nd(super().copy().to_device(other))

    def to_device(self, device: DeviceLike) -> NDArray:
        """Return the array on another device; itself where it is there already."""
        return as_nd(super().to_device(device))

    def as_in_context(self, context: DeviceLike) -> NDArray:
        """`to_device`, by its name in MXNet 1."""
        return as_nd(super().to_device(context))

    def as_in_ctx(self, ctx: DeviceLike) -> NDArray:
        """`to_device`, by its name in MXNet 1.6."""
        return as_nd(super().to_device(ctx))

    def detach(self) -> NDArray:
        """Return the same value, through which no gradient flows."""
        return as_nd(super().detach())

    @property
    def T(self) -> NDArray:
        """The array with its axes reversed; one of less than two axes itself, so that writing to it writes here."""
        return self if self.ndim < 2 else self.transpose()

    @property
    def grad(self) -> ndarray | None:
        """The gradient that the last backward left here."""
        return held_as_nd(super().grad)


def _unpickle_nd(value: onp.ndarray, grad_req: str | None, stype: str) -> NDArray:
    array = as_nd(new_handle(on_device(copied(value))))
    if grad_req is not None:
        array.attach_grad(grad_req, stype)
    return array


_SWITCH = frozenset({ndarray, View, Detached})
ND_KINDS: set[type] = {*make_kinds(NDArray)}


def as_nd(value: Any) -> Any:
    """Results (in lists and tuples too) as NDArrays.

    For what nobody else holds yet: an array of another kind gives a new one on its value, which later writes do not
    reach. An array that somebody holds is `kinds.shared_nd`'s matter. While arrays are NDArrays, operators give such,
    and this has nothing to do.
    """
    kind = type(value)
    if kind in _SWITCH:
        return twin_of(value, NDArray)
    return kind([as_nd(item) for item in value]) if kind is list or kind is tuple else value


def as_np(value: Any) -> Any:
    """Twins of arrays (in lists, tuples and dicts too) as ``gluonx.np.ndarray``, on the same values and gradients."""
    if isinstance(value, (list, tuple)):
        return type(value)([as_np(v) for v in value])
    if isinstance(value, dict):
        return {k: as_np(v) for k, v in value.items()}
    return twin_of(value, ndarray) if type(value) in ND_KINDS else value


def nd_twin(value: Any) -> Any:
    """Return the converse of `as_np`: twins of arrays as NDArray; NDArrays as they are."""
    if isinstance(value, (list, tuple)):
        return type(value)([nd_twin(v) for v in value])
    return twin_of(value, NDArray) if type(value) in _SWITCH else value


def use_nd_arrays(active: bool = True) -> bool:
    """Choose the class of the arrays that layers and ``gluonx.np`` give, for the whole process.

    Returns
    -------
    bool
        What was chosen before.

    Examples
    --------
    >>> before = use_nd_arrays(True)
    >>> from gluonx import np
    >>> np.ones(3).sum().shape
    (1,)
    >>> use_nd_arrays(before)
    True
    """
    before = uses_nd_arrays()
    set_handle_class(NDArray if active else ndarray)
    return before


def uses_nd_arrays() -> bool:
    """Return whether the arrays that layers give are NDArrays."""
    return engine.array_class is NDArray


def _legacy_key(key: Any, shape: tuple[int, ...]) -> Any:
    """Return an index that leaves at least one axis, with positions as arrays of NumPy's kind."""
    items = key if isinstance(key, tuple) else (key,)
    items = tuple([_positions(item) for item in items])
    if len(items) == len(shape) and items and not Mode.shape and all(_is_int(item) for item in items):
        n, last = shape[-1], int(items[-1])
        if -n <= last < n:
            last = last % n
            items = (*items[:-1], slice(last, last + 1))
    return items if isinstance(key, tuple) else items[0]


def held_as_nd(array: Any) -> Any:
    """Return an array that is there already as an NDArray: what is written to one is the other's."""
    if array is None or type(array) in ND_KINDS or array.stype != "default":
        return array
    return NAMES["gluonx.np.ndarray.as_nd_ndarray"](array)


def _is_int(item: object) -> bool:
    return isinstance(item, (int, onp.integer)) and not isinstance(item, (bool, onp.bool_))


def _positions(item: object) -> Any:
    return as_np(item) if isinstance(item, ndarray) else item


def _call(name: str, *inputs: NDArray, **attrs: object) -> NDArray:
    op = TABLE[name]
    return as_nd(op.rule(op.parse(attrs), *inputs))


def kept_nd(value: ndarray) -> ndarray:
    """Return a result with NDArrays in it: a sparse array whose values are one, or an NDArray."""
    if isinstance(value, BaseSparseNDArray):
        value._values = as_nd(value._handle)
        return value
    return as_nd(value)
