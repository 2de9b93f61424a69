"""Arrays of which only a part is stored.

A `CSRNDArray` is a matrix kept by rows: ``data``, the elements that are there, ``indices``, their columns, and
``indptr``, where each row begins. A `RowSparseNDArray` keeps some rows of an array, ``data``, and their numbers,
``indices``; it is what the gradient of an embedding is. Both have MXNet's interface.

Where they are, and what that is good for:

- *Values* are a handle as any other, on the device: gradients flow through them, and they may be pending.
- *Numbers of rows and columns* are NumPy arrays on the host, since the shapes of all that follows depend on them. Only
  the rows of a gradient are a handle too: a program computes them (`gluonx.deferred.record.rows`), in as many places as
  there may be rows, and the number of rows stands where there is none. They are read, and cut to those that are there,
  when somebody asks for ``indices`` or ``data``; the update of a weight takes them as they are.

A sparse array is an ndarray too. What has no rule for its storage (see `gluonx.sparse.functions`) takes it as a dense
array, which is made then, as MXNet does: a warning tells of it, once for each storage and line, unless the variable
``MXNET_STORAGE_FALLBACK_LOG_VERBOSE`` is 0.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Self

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.common.frames import door, warn
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.record import rows as by_row
from gluonx.deferred.record.engine import invoke, stripped
from gluonx.deferred.record.graph import settle, source_of
from gluonx.deferred.values import program_cache
from gluonx.deferred.values.core import (
    Handle,
    Pending,
    Tracer,
    at_once,
    current_state,
    intern_aval,
    is_still,
    new_handle,
    record_scope,
    set_state,
    set_variable,
    state_with,
    twin_of,
)
from gluonx.deferred.values.shapes import Zeros
from gluonx.dtype import canonical, on_device
from gluonx.errors import ArgumentError, GluonxError, ShapeError
from gluonx.np.handle import ndarray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from gluonx.deferred.record.rows import RowVariable
    from gluonx.device import Device, DeviceLike
    from gluonx.dtype import DTypeLike


__all__ = ["BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray"]

_FALLBACK = (
    "an operator without a rule for {stype} storage was given a {kind} of shape {shape}, which is made dense for it. "
    "tostype('default') says so in the program; MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0 silences this."
)
_get_value = Handle.value.__get__  # type: ignore[attr-defined]
_set_value = Handle.value.__set__  # type: ignore[attr-defined]
Index = np.ndarray
COMPUTED: dict[str, Callable[..., Any]] = {}
"""What methods call that is computed with arrays of this module: ``cast_storage``, ``mapped``, ``operate``, ``retain``,
``slice_csr``.

`gluonx.sparse.functions`, which builds on this module, enters them.
"""


def bucket(count: int) -> int:
    """Return the size to which `count` elements are padded: one of four in each power of two.

    Examples
    --------
    >>> bucket(3), bucket(8), bucket(9), bucket(1000)
    (4, 8, 10, 1024)
    """
    if count <= 4:
        return max(1, 1 << (count - 1).bit_length()) if count else 1
    step = 1 << (count.bit_length() - 3)
    return -(-count // step) * step


def plain(value: ArrayLike) -> Any:
    """Return a handle for values on the host, in the kind of array of the program, as any result is."""
    return value if isinstance(value, Handle) else new_handle(on_device(np.array(value)))


def _part(slot: str) -> Any:
    """Return a property for one of the parts that are stored; an array that shows another takes its."""

    def get(self: Any) -> Any:
        return getattr(self if self._home is None else self._stored(), slot)

    return property(get, lambda self, part: setattr(self, slot, part))


class BaseSparseNDArray(ndarray):
    """The base of `CSRNDArray` and `RowSparseNDArray`; see the module.

    Examples
    --------
    >>> from gluonx import np, sparse
    >>> x = sparse.csr_matrix(np.array([[0.0, 2.0], [0.0, 0.0]]))
    >>> isinstance(x, sparse.BaseSparseNDArray), x.stype
    (True, 'csr')
    """

    __slots__ = ("_home", "_own_values", "_seen", "_seen_in", "_shown", "_whole", "_whole_of")

    derived = True
    stype_name = ""
    _own_values: Any
    _values = _part("_own_values")
    _home: Any  # of the gradient of a leaf: the dense array that it shows
    _whole: Any  # the same array as a dense one, where gradients flow through it: a leaf, or what was recorded
    _whole_of: Any  # the stored values that it was made of
    _shown: Any  # the gradient of a leaf, in its storage

    def __init__(self, values: Handle | np.ndarray, shape: tuple[int, ...], dtype: DTypeLike = None) -> None:
        self._home = None
        self._values = values
        self.tape = self.variable = None
        self._seen = self._seen_in = self._whole = self._whole_of = self._shown = None
        self._renew(shape, dtype)
        _set_value(self, None)

    def _renew(self, shape: tuple[int, ...] | None = None, dtype: DTypeLike = None) -> None:
        kind = np.dtype(self._values.dtype if dtype is None else dtype)
        self.aval = intern_aval(tuple(shape or self.shape), kind)
        self._seen = None

    # -- the same values as a dense array, for operators that know no other -------------------------------------------

    def is_current(self) -> bool:
        """Return whether the dense array made last still is of the values of now."""
        state = current_state()
        if state.recording and self.tracked() is not None:
            return True
        if self._seen is None or state.trace is not None:
            return False
        if state.recording and self._seen_in is not record_scope.get():
            return False
        return is_still(self._seen, self._handle.value)

    @property
    def value(self) -> Any:  # type: ignore[override]
        """The values as a dense array, with a warning."""
        if current_state().recording and (whole := self.tracked()) is not None:
            if type(whole.value) is Pending and whole.value.value is not None:
                settle(whole)
            self.tape = whole.tape
            if self.variable is not whole.variable:
                set_variable(self, whole.variable)
            return whole.value
        if self.is_current():
            return _get_value(self)
        if os.environ.get("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "1") != "0":
            warn(_FALLBACK.format(stype=self.stype_name, kind=type(self).__name__, shape=self.shape))
        taken, state = self._dense(), current_state()
        if state.trace is not None or isinstance(taken.value, Tracer):
            return taken.value
        _set_value(self, taken.value)
        self.tape, self._seen = taken.tape, self._handle.value
        self._seen_in = record_scope.get() if state.recording else None
        return taken.value

    @value.setter
    def value(self, value: Any) -> None:
        _set_value(self, value)

    def _read(self) -> jax.Array | np.ndarray:
        return self._dense()._read()

    def tracked(self) -> Any:
        """Return the dense array through which gradients flow, up to date with the stored values; None without one."""
        whole = None if self._home is not None else self._whole
        if whole is None or is_still(self._whole_of, self._handle.value):
            return whole
        if whole.variable is None:  # recorded values, which were written over
            self._whole = self._whole_of = None
            return None
        before = current_state()
        set_state(state_with(recording=False))
        try:
            whole[...] = self._dense()
        finally:
            set_state(before)
        self._whole_of = self._handle.value
        return whole

    def through(self, whole: Any) -> Any:
        """Let gradients flow through `whole`, a dense array of the same elements; return the array itself."""
        self._whole, self._whole_of = whole, self._handle.value
        return self

    @property
    def leaf(self) -> Any:
        """The array at which gradients of this one begin and end: a dense one."""
        whole = self.tracked()
        if whole is not None:
            return whole
        before = current_state()
        set_state(state_with(recording=True))
        try:
            return self._dense()
        finally:
            set_state(before)

    @property
    def _handle(self) -> Any:
        """The stored values as a handle."""
        if not isinstance(self._values, Handle):
            self._values = plain(self._values)
        return self._values

    def _recorded_values(self, values: Any, *places: np.ndarray) -> Any:
        """Return the stored `values`, while recording as those `places` of a dense array that was recorded."""
        whole = self.tracked() if current_state().recording else None
        if whole is None or whole.variable is not None:
            return values
        return self._kin(COMPUTED["picked"](whole, *places))

    def _dense(self) -> ndarray:
        raise NotImplementedError

    def _with(self, values: Any) -> Self:
        """Return an array with the same places and other values."""
        raise NotImplementedError

    def _by_values(self, function: Callable[[Any], Any]) -> Any:
        """Return an array with the same places, whose values a function that keeps zeros gives."""
        return COMPUTED["mapped"](self, function)

    def _kin(self, handle: ndarray) -> ndarray:
        """Return a result as an array of the kind of this one's values."""
        own = self._values
        kind = (own.plain_class or ndarray) if isinstance(own, ndarray) else type(handle)
        return handle if type(handle) is kind else twin_of(handle, kind)

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def stype(self) -> str:
        """The storage type, ``'csr'`` or ``'row_sparse'``."""
        return self.stype_name

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""
        assert self.aval is not None, "set when the array is made"
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def device(self) -> Device:
        """The device of the values."""
        return self._handle.device

    ctx = context = device

    def __repr__(self) -> str:
        return f"\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self.context}>"

    __str__ = __repr__

    @door
    def asnumpy(self) -> np.ndarray:
        """Return the whole array as a NumPy array."""
        raise NotImplementedError

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray:
        found = self.asnumpy()
        return found if dtype is None else found.astype(dtype)

    def item(self, *args: int) -> Any:
        """Return the one element (or the element at `args`) as a Python scalar."""
        return self.asnumpy().item(*args)

    def tolist(self) -> Any:
        """Nested lists of Python scalars, zeros included."""
        return self.asnumpy().tolist()

    @door
    def wait_to_read(self) -> None:
        """Compute the values if they are pending, and wait for the device."""
        self._handle.wait_to_read()

    wait_to_write = wait_to_read

    def detach(self) -> Self:
        """Return the same array without a gradient."""
        return self._with(stripped(self._handle))

    def reshape(self, *args: object, **kwargs: object) -> NoReturn:
        """Not for sparse arrays, as in MXNet."""
        raise GluonxError("reshape is not for sparse arrays: call tostype('default') first")

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make the array the end point of gradients.

        Parameters
        ----------
        grad_req : {'write', 'add', 'null'}
        stype : str, optional
            Taken for MXNet's sake: the gradient has the storage of the array.

        Notes
        -----
        The gradient is that of the whole array, with elements also where nothing is stored, as MXNet's is. While it is
        computed, array and gradient are dense.
        """
        before = current_state()
        set_state(state_with(recording=False))
        try:
            whole = self._kin(self._dense())
        finally:
            set_state(before)
        whole.attach_grad(grad_req)
        set_variable(self, whole.variable)
        self._shown = None
        self.through(whole if grad_req != "null" else None)

    def attach_to(self, grad: BaseSparseNDArray, grad_req: str = "write") -> None:
        """Do `attach_grad`, and let `grad`, an array of this storage, show the gradient from now on."""
        self.attach_grad(grad_req)
        if self._whole is not None:
            grad._home, self._shown = self._whole.grad, grad

    @property
    def grad(self) -> Self | None:
        """The gradient of the whole array in its storage; None without `attach_grad`."""
        home = None if self._whole is None else self._whole.grad
        if home is None:
            return None
        if self._shown is None or self._shown._home is not home:
            self._shown = self._with(self._values)
            self._shown._home = home
        return self._shown

    def _stored(self) -> Any:
        """Return what the array shows, a dense one, in this storage; it is kept until that has another value."""
        now = settled(self._home)
        if self._whole_of is not now:
            before = current_state()
            set_state(state_with(recording=False))
            try:
                self._whole = COMPUTED["cast_storage"](self._home, self.stype_name)
            finally:
                set_state(before)
            self._whole_of = now
        return self._whole

    def backward(self, out_grad: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Compute the gradients of this array; see ``autograd.backward``."""
        weight = out_grad.tostype("default") if isinstance(out_grad, BaseSparseNDArray) else out_grad
        self.leaf.backward(weight, retain_graph, train_mode)

    def zero_grad(self) -> None:
        """Set the gradient to zeros."""
        if self._whole is not None:
            self._whole.zero_grad()

    # -- copies --------------------------------------------------------------------------------------------------------

    def copy(self, order: str = "C") -> Self:
        """Return a copy of the same storage."""
        return self._by_values(lambda values: values.copy())

    def astype(
        self, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Self:
        """Return the array with another dtype, of the same storage."""
        target = canonical(dtype)
        return self if not copy and target == self.dtype else self._by_values(lambda values: values.astype(target))

    def to_device(self, device: DeviceLike) -> Self:
        """Return the array on another device; itself where it is there already."""
        moved = self._handle.to_device(device)
        return self if moved is self._values else self._with(moved)

    def as_in_context(self, context: DeviceLike) -> Self:
        """Do `to_device`, by its older name."""
        return self.to_device(context)

    def as_in_ctx(self, ctx: DeviceLike) -> Self:
        """Do `to_device`, by its older name."""
        return self.to_device(ctx)

    def copyto(self, other: ndarray | DeviceLike) -> ndarray:
        """Write the values into `other`, dense or of the same storage, or return a copy on the device `other`.

        Raises
        ------
        TypeError
            If `other` has another sparse storage.
        """
        if not isinstance(other, ndarray):
            return self.copy().to_device(other)
        if other is self:
            return other
        if isinstance(other, BaseSparseNDArray):
            if other.stype != self.stype:
                raise TypeError(f"copyto does not support destination NDArray stype {other.stype}")
            other[:] = self
        else:
            other[:] = self.tostype("default")
        return other

    def tostype(self, stype: str) -> ndarray:
        """Return the array in another storage: ``'default'``, or a copy in its own.

        Raises
        ------
        ValueError
            For another one.
        """
        if stype == self.stype:
            return self.copy()
        if stype != "default":
            raise ArgumentError(f"cast_storage from {self.stype} to {stype} is not supported")
        whole = self.tracked() if current_state().recording else None
        return self._kin(self._dense() if whole is None else whole.copy())

    def as_np_ndarray(self) -> ndarray:
        """Return the values as a dense ``gluonx.np.ndarray``; np arrays have one storage."""
        return twin_of(self._dense(), ndarray)

    def as_nd_ndarray(self) -> Self:
        """Itself."""
        return self

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy().detach()

    def __setitem__(self, key: object, value: Any) -> None:
        if key is not Ellipsis and not (isinstance(key, slice) and key == slice(None)):
            raise TypeError(f"{type(self).__name__} only supports [:] for assignment, as in x[:] = y")
        cast_storage = COMPUTED["cast_storage"]
        if isinstance(value, BaseSparseNDArray):
            if value.stype != self.stype:
                raise TypeError(f"an array of stype {value.stype} cannot be assigned to one of stype {self.stype}")
        elif isinstance(value, Handle):
            value = cast_storage(value, self.stype)
        else:
            value = cast_storage(
                new_handle(on_device(np.broadcast_to(np.asarray(value, self.dtype), self.shape))), self.stype
            )
        if value.shape != self.shape:
            raise ShapeError(f"x[:] = y keeps the shape: {self.shape} expected, {value.shape} came")
        values = value._handle
        whole = value.tracked() if current_state().recording and self._home is None else None
        self._take(value, values if values.dtype == self.dtype else values.astype(self.dtype))
        if whole is not None and (self._whole is None or self._whole.variable is None):
            self.through(whole.astype(self.dtype))  # recorded, so that gradients go on through what was written

    def _take(self, other: Any, values: ndarray) -> None:
        """Become `other`, with these values."""
        if self._home is not None:
            self._home[...] = other._dense()
            return
        self._values = values
        self._renew()

    # -- arithmetic ----------------------------------------------------------------------------------------------------

    def __hash__(self) -> int:
        return id(self) >> 4

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self.item())
        raise ValueError("The truth value of an NDArray with multiple elements is ambiguous.")


def _operator(name: str) -> Callable[..., Any]:
    def method(self: BaseSparseNDArray, other: ArrayLike) -> ndarray:
        found = COMPUTED["operate"](name, self, other)
        if found is not NotImplemented:
            return found
        if isinstance(other, BaseSparseNDArray):
            other = other.tostype("default")
        return getattr(self.tostype("default"), name)(other)

    method.__name__ = name
    return method


def _of_values(name: str) -> Callable[..., Any]:
    def method(self: BaseSparseNDArray) -> BaseSparseNDArray:
        return self._by_values(lambda values: getattr(values, name)())

    method.__name__ = name
    return method


def _in_place(name: str) -> Callable[..., Any]:
    def method(self: BaseSparseNDArray, other: ArrayLike) -> BaseSparseNDArray:
        self[:] = getattr(self, name)(other)
        return self

    return method


for _word in ("add", "sub", "mul", "truediv", "mod", "pow"):
    setattr(BaseSparseNDArray, f"__{_word}__", _operator(f"__{_word}__"))
    setattr(BaseSparseNDArray, f"__r{_word}__", _operator(f"__r{_word}__"))
    setattr(BaseSparseNDArray, f"__i{_word}__", _in_place(f"__{_word}__"))
for _word in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(BaseSparseNDArray, f"__{_word}__", _operator(f"__{_word}__"))
for _word in ("neg", "abs"):
    setattr(BaseSparseNDArray, f"__{_word}__", _of_values(f"__{_word}__"))


# -- csr ---------------------------------------------------------------------------------------------------------------


@program_cache.once
def scatter_op(shape: tuple[int, ...]) -> DerivedOp:
    def scattered(values: jax.Array, rows: jax.Array, columns: jax.Array) -> jax.Array:
        return jnp.zeros(shape, values.dtype).at[rows, columns].add(values, mode="drop")

    return DerivedOp("densify", scattered, extra=("densify", shape))


class CSRNDArray(BaseSparseNDArray):
    """A matrix kept by rows; made by `csr_matrix`, ``tostype('csr')``, LibSVMIter.

    Parameters
    ----------
    values : ndarray or numpy.ndarray
        Shape (nnz,).
    indices : numpy.ndarray
        Columns of the values, of one row after the other; shape (nnz,).
    indptr : numpy.ndarray
        Where each row begins among them, and the end; shape (rows + 1,).
    shape : (int, int)

    Examples
    --------
    >>> from gluonx.sparse import csr_matrix
    >>> x = csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 3))
    >>> x.asnumpy().tolist()
    [[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]]
    >>> x[0:1].indices.tolist()
    [0, 2]
    """

    __slots__ = ("_own_columns", "_own_indptr", "_own_padded")
    _columns, _indptr, _padded = map(_part, __slots__)

    stype_name = "csr"

    def __init__(self, values: Handle | np.ndarray, indices: Index, indptr: Index, shape: tuple[int, int]) -> None:
        self._home = None
        self._columns, self._indptr = np.asarray(indices, np.int64), np.asarray(indptr, np.int64)
        self._padded = None
        super().__init__(values, shape)

    def _with(self, values: ndarray | np.ndarray) -> CSRNDArray:
        return CSRNDArray(values, self._columns, self._indptr, self.shape)  # type: ignore[arg-type]

    def _take(self, other: CSRNDArray, values: ndarray) -> None:
        if self._home is None:
            self._columns, self._indptr, self._padded = other._columns, other._indptr, None
        super()._take(other, values)

    @property
    def data(self) -> ndarray:
        """The values that are there, shape (nnz,)."""
        return self._recorded_values(self._handle, self.row_numbers, self._columns)

    @property
    def indices(self) -> ndarray:
        """Their columns, int64, shape (nnz,)."""
        return self._kin(_whole(self._columns))

    @property
    def indptr(self) -> ndarray:
        """The position among them at which each row begins, int64, shape (rows + 1,)."""
        return self._kin(_whole(self._indptr))

    @property
    def row_numbers(self) -> np.ndarray:
        """The row of each value."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self._indptr))

    def _dense(self) -> ndarray:
        return invoke(scatter_op(self.shape), (self._handle, *map(_index, (self.row_numbers, self._columns))))

    @door
    def asnumpy(self) -> np.ndarray:
        """Return the whole matrix as a NumPy array."""
        found = np.zeros(self.shape, self.dtype)
        np.add.at(found, (self.row_numbers, self._columns), np.asarray(self._values))
        return found

    def asscipy(self) -> Any:
        """Return the matrix as a ``scipy.sparse.csr_matrix``."""
        import scipy.sparse

        return scipy.sparse.csr_matrix((self._handle.asnumpy(), self._columns, self._indptr), shape=self.shape)

    def padded(self) -> tuple[Any, Any, Any]:
        """Return values, rows and columns, padded to a `bucket`, so that other counts find a program that is there.

        A place that only fills up has the value 0 and a row beyond the last.
        """
        if self._padded is None:
            more = bucket(len(self._columns)) - len(self._columns)
            rows = np.pad(self.row_numbers, (0, more), constant_values=self.shape[0])
            self._padded = more, _index(rows), _index(np.pad(self._columns, (0, more))), None, None
        more, rows, columns, seen, whole = self._padded
        values = self._values
        if isinstance(values, Handle) and (_moves(values) or not more):
            return (invoke(_pad_op(more), (values,)) if more else values), rows, columns
        now = values.value if isinstance(values, Handle) else values
        if now is not seen:
            whole = new_handle(on_device(np.pad(np.asarray(now), (0, more))))
            self._padded = more, rows, columns, now, whole
        return whole, rows, columns

    def __getitem__(self, key: int | slice | tuple[int, ...]) -> CSRNDArray:
        """Return some rows: ``x[i]``, which has one row, or ``x[i:j]``.

        Raises
        ------
        ValueError
            For a step or several axes.
        """
        if isinstance(key, (int, np.integer)):
            if not -self.shape[0] <= key < self.shape[0]:
                raise IndexError(f"index {key} is out of bounds for axis 0 with size {self.shape[0]}")
            begin = int(key) % self.shape[0]
            end = begin + 1
        elif isinstance(key, slice):
            if key.step not in (None, 1):
                raise ValueError("CSRNDArray only supports continuous slicing on axis 0")
            begin, end, _ = key.indices(self.shape[0])
            end = max(begin, end)
        else:
            raise ValueError("Multi-dimension indexing is not supported")
        return COMPUTED["slice_csr"](self, (begin,), (end,))

    def _rows(self, begin: int, end: int) -> CSRNDArray:
        first, last = int(self._indptr[begin]), int(self._indptr[end])
        values: Any = self._values  # an array or a NumPy array
        values = values[first:last].copy()
        return CSRNDArray(
            values, self._columns[first:last], self._indptr[begin : end + 1] - first, (end - begin, self.shape[1])
        )

    def __iter__(self) -> Iterator[CSRNDArray]:
        for i in range(self.shape[0]):
            yield self[i]

    def check_format(self, full_check: bool = True) -> None:
        """Raise where the parts are no matrix.

        Raises
        ------
        ValueError
            With `full_check` also if columns of a row do not ascend.
        """
        indptr, columns = self._indptr, self._columns
        if (
            len(indptr) != self.shape[0] + 1
            or indptr[0] != 0
            or indptr[-1] != len(columns)
            or (np.diff(indptr) < 0).any()
        ):
            raise ArgumentError(f"the indptr of a csr array of shape {self.shape} must ascend from 0 to {len(columns)}")
        if self._values.shape != (len(columns),):
            raise ArgumentError(f"a csr array has {len(columns)} columns, but values of shape {self._values.shape}")
        if full_check and len(columns):
            ascends = (np.diff(columns) > 0) | (np.diff(self.row_numbers) > 0)
            if columns.min() < 0 or columns.max() >= self.shape[1] or not ascends.all():
                raise ArgumentError(
                    f"the columns of a csr array must ascend in each row, from 0 to less than {self.shape[1]}"
                )

    def __reduce__(self) -> tuple[Any, ...]:
        return CSRNDArray, (self._handle.asnumpy(), self._columns, self._indptr, self.shape)


def _moves(values: Handle) -> bool:
    """Return whether values are part of a trace, pending, or on the tape: anything but an array that is there."""
    value = values.value
    return not isinstance(value, jax.Array) or isinstance(value, Tracer) or source_of(values) is not None


@program_cache.once
def _pad_op(more: int) -> DerivedOp:
    return DerivedOp("pad_values", lambda v: jnp.pad(v, (0, more)), extra=("pad_values", more))


def _index(numbers: np.ndarray) -> ndarray:
    """Return row numbers as programs take them."""
    return new_handle(on_device(numbers.astype(np.int32)))


def _whole(numbers: np.ndarray) -> ndarray:
    return new_handle(on_device(numbers.astype(np.int64)))


# -- row_sparse --------------------------------------------------------------------------------------------------------


def _rebind(handle: Any, other: Any) -> None:
    """Give a handle what another one holds, without its gradient."""
    handle.value, handle.aval, handle.tape = other.value, other.aval, None


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which some rows are stored; made by `row_sparse_array`, ``tostype('row_sparse')``, gradients.

    Parameters
    ----------
    values : ndarray or numpy.ndarray
        Shape (stored rows, ...).
    indices : numpy.ndarray or ndarray
        Their numbers. As an ndarray they may hold the number of rows, which is none: what a program gives.
    shape : tuple of int

    Examples
    --------
    >>> from gluonx.sparse import row_sparse_array
    >>> x = row_sparse_array(([[1, 2], [3, 4]], [1, 3]), shape=(5, 2))
    >>> x.indices.tolist(), x.retain([3]).asnumpy()[3].tolist()
    ([1, 3], [3.0, 4.0])
    """

    __slots__ = ("_own_numbers",)
    _numbers = _part("_own_numbers")

    stype_name = "row_sparse"

    def __init__(self, values: Handle | np.ndarray, indices: Any, shape: tuple[int, ...]) -> None:
        self._home = None
        self._numbers = indices if isinstance(indices, Handle) else np.asarray(indices, np.int64)
        super().__init__(values, shape)

    def _with(self, values: ndarray | np.ndarray) -> RowSparseNDArray:
        numbers = self._numbers
        return RowSparseNDArray(values, numbers.copy() if isinstance(numbers, ndarray) else numbers, self.shape)

    def _take(self, other: RowSparseNDArray, values: ndarray) -> None:
        if self._home is None and isinstance(self._numbers, Handle):  # a gradient's own, which the engine writes to
            rows = other._numbers if isinstance(other._numbers, Handle) else _index(other._numbers)
            _rebind(self._numbers, rows)
            _rebind(self._values, values)
            self._renew()
            return
        if self._home is None:
            self._numbers = other._numbers
        super()._take(other, values)

    def places(self) -> tuple[Any, Any]:
        """Return row numbers and values as programs take them, which may hold more than is there."""
        return (self._numbers if isinstance(self._numbers, Handle) else _index(self._numbers)), self._handle

    @property
    def row_numbers(self) -> np.ndarray:
        """The numbers of the rows that are there, on the host."""
        if not isinstance(self._numbers, Handle):
            return self._numbers
        found = np.asarray(settled(self._numbers)).astype(np.int64)
        return found[found < self.shape[0]]

    def exact(self) -> RowSparseNDArray:
        """Return the array with just the rows that are there; itself if it is so."""
        if not isinstance(self._numbers, Handle):
            return self
        numbers = self.row_numbers
        if len(numbers) == self._numbers.shape[0]:
            return RowSparseNDArray(self._handle, numbers, self.shape)
        return RowSparseNDArray(self._handle[: len(numbers)].copy(), numbers, self.shape)

    @property
    def data(self) -> ndarray:
        """The rows that are there, shape (stored rows, ...)."""
        return self._recorded_values(self._kin(self.exact()._handle), self.row_numbers)

    @property
    def indices(self) -> ndarray:
        """Their numbers, int64, ascending."""
        return self._kin(_whole(self.row_numbers))

    def _dense(self) -> ndarray:
        return by_row.spread(*self.places(), new_handle(Zeros(self.shape, np.dtype(self.dtype))))

    @door
    def asnumpy(self) -> np.ndarray:
        """Return the whole array as a NumPy array."""
        found = np.zeros(self.shape, self.dtype)
        numbers = self.row_numbers
        values = np.asarray(self._values)[: len(numbers)]
        if isinstance(self._numbers, Handle):
            found[numbers] = values
        else:
            np.add.at(found, numbers, values)
        return found

    def retain(self, indices: ArrayLike) -> RowSparseNDArray:
        """Return the array with only the rows of these numbers; see `gluonx.sparse.retain`."""
        return COMPUTED["retain"](self, indices)

    def __getitem__(self, key: slice) -> RowSparseNDArray:
        """Return the array itself for ``x[:]``; a RowSparseNDArray has no other index."""
        if isinstance(key, slice) and key == slice(None):
            return self
        raise GluonxError("RowSparseNDArray only supports [:] for __getitem__; call retain(rows) or tostype('default')")

    def __iter__(self) -> Iterator[ndarray]:
        return iter(self.tostype("default"))

    def check_format(self, full_check: bool = True) -> None:
        """Raise where the parts are no such array.

        Raises
        ------
        ValueError
            With `full_check` also if the row numbers do not ascend.
        """
        numbers = self.row_numbers
        if self._values.shape[1:] != self.shape[1:] or self._values.shape[0] < len(numbers):
            raise ArgumentError(
                f"a row_sparse array of shape {self.shape} with {len(numbers)} rows cannot have values of shape "
                f"{self._values.shape}"
            )
        if (
            full_check
            and len(numbers)
            and (numbers[0] < 0 or numbers[-1] >= self.shape[0] or (np.diff(numbers) <= 0).any())
        ):
            raise ArgumentError(f"row numbers of a row_sparse array must ascend, from 0 to less than {self.shape[0]}")

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.exact()
        return RowSparseNDArray, (own._handle.asnumpy(), own._numbers, self.shape)


def settled(handle: Any) -> jax.Array:
    """Return the device array of a handle, computed if it is pending, outside of whatever is recorded."""
    before = current_state()
    set_state(at_once()) if before.trace is None else None
    try:
        return settle(handle)
    finally:
        set_state(before)


class RowGradient(RowSparseNDArray):
    """The gradient of an array that is kept by rows: it shows what the last backward left."""

    __slots__ = ("_variable",)

    def __init__(self, variable: RowVariable, shape: tuple[int, ...]) -> None:
        self._variable = variable
        super().__init__(variable.values, variable.rows, shape)


RowGradient.__name__ = RowGradient.__qualname__ = "RowSparseNDArray"


def attach_rows(
    handle: ndarray, grad_req: str = "write", owner: str = "", grad: RowSparseNDArray | None = None
) -> None:
    """Make an array the end point of gradients, which are kept by rows.

    Parameters
    ----------
    handle : ndarray
    grad_req : {'write', 'add', 'null'}
    owner : str
        The parameter's name, for messages.
    grad : RowSparseNDArray, optional
        The array that is to show the gradient from now on.
    """
    if grad_req not in ("write", "add", "null"):
        raise ArgumentError(f"grad_req must be 'write', 'add' or 'null', got {grad_req!r}")
    if grad_req == "null":
        set_variable(handle, None)
        return
    home = by_row.RowVariable(grad_req, handle, owner)
    home.rows, home.values = (twin_of(h, handle.plain_class or type(home.rows)) for h in (home.rows, home.values))
    if grad is None:
        home.grad = RowGradient(home, handle.shape)
    else:
        grad._numbers, grad._values, home.grad = home.rows, home.values, grad
        grad._renew()
    set_variable(handle, home)


for _kind in (CSRNDArray, RowSparseNDArray, RowGradient):
    jax.tree_util.register_pytree_node(
        _kind, lambda x: ((x._raw(),), None), lambda _, children: new_handle(children[0])
    )
