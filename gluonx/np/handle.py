"""The array that users compute with: a mutable handle on immutable values.

:class:`ndarray` looks like NumPy's. What it holds (a device array, a tracer, or a pending value) is up to the engine;
see :mod:`gluonx.deferred.values.core`. Operators record or run, in-place operators rebind the handle, and a basic slice
is a :class:`_View` that reads from its base on demand and writes through to it.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary, getweakrefcount, getweakrefs, ref

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from gluonx import device as _device
from gluonx.common import forked
from gluonx.common.arguments import Size
from gluonx.common.extensions import NAMES
from gluonx.common.frames import door, shorten
from gluonx.common.host import copied
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.operators.segments import add_mark
from gluonx.deferred.record import integers
from gluonx.deferred.record.engine import invoke, stripped
from gluonx.deferred.record.graph import settle, source_of
from gluonx.deferred.record.placing import at_home, kept, moved
from gluonx.deferred.record.rows import RowVariable
from gluonx.deferred.record.tape import backward
from gluonx.deferred.run.host import host_array, stays_on_host
from gluonx.deferred.trace.tracing import READ_IN_TRACE
from gluonx.deferred.values import interrupts, source_location
from gluonx.deferred.values.contracts import Rebound
from gluonx.deferred.values.core import (
    Aval,
    Handle,
    HostArray,
    Packed,
    Pending,
    Placeholder,
    Tracer,
    Variable,
    aval_of,
    current_state,
    intern_aval,
    is_still,
    new_handle,
    record_scope,
    set_handle_class,
    set_state,
    set_variable,
    state_with,
    twin_of,
)
from gluonx.deferred.values.program_cache import once
from gluonx.deferred.values.shapes import Unknown, Zeros
from gluonx.device import DeviceLike
from gluonx.dtype import WIDE, DTypeLike, canonical, is_inexact, keeping_64_bits, on_device, refuse_cut
from gluonx.errors import ArgumentError, DeviceError, DynamicShapeError, GraphError, ShapeError, TracedValueError
from gluonx.np import indexing
from gluonx.np.arithmetic import OPERANDS, Arithmetic
from gluonx.ops.common import converted
from gluonx.ops.host import kernels
from gluonx.sharding import is_spread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from gluonx.block.parameter import Parameter
    from gluonx.deferred.values.contracts import Placement
    from gluonx.np.methods import Methods  # from methods.pyi; `gluonx.np.methods` adds them to the class
else:
    Methods = object


def _leaf_written(array: Any) -> str:
    """Return the error of a write to `array`, which has a gradient, while autograd is recording."""
    owner = f"parameter '{array.variable.owner}'" if array.variable.owner else f"an array of shape {array.shape}"
    return (
        f"{owner} was written to inside record(), but it has a gradient (attach_grad), which is taken with respect to "
        "the value that would be replaced. Write before record(), or in `with autograd.pause():`, after which the "
        "array goes on as a leaf with the new value; or write to a copy(), whose gradient flows back here."
    )


_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

RAW_ON_TAPE = (
    "a raw JAX function was given an array that autograd is recording, so its gradient would be lost. Use the "
    "function of the "
    "same name in gluonx.np or gluonx.npx, wrap yours with gluonx.from_jax(fn), pass x.detach() if no gradient "
    "is wanted, or "
    "call it inside the forward of a hybridized block."
)


def _methods() -> ModuleType:
    """Import the module of methods that are functions of ``gluonx.np``; it needs ndarrays, so it is imported late."""
    return NAMES["gluonx.np.methods"]


@once
def _cast_op(dtype: np.dtype) -> DerivedOp:
    return DerivedOp(
        f"cast({dtype})",
        lambda x: converted(x, dtype),
        extra=("cast", dtype),
        wide=dtype in WIDE,
        numpy_kernel=lambda x: kernels.converted(x, dtype),
        any_length=True,
    )


_ELSEWHERE = (
    "this array of shape {shape} lies on several processes, of which each has a part ({spec}), so one alone cannot "
    "read it. Call gluonx.parallel.gather(x) in all of them; gluonx.checkpoint saves parameters as they lie."
)
_WRITE_UNDER_JIT = (
    "an array from outside was written to under jax.jit or another transformation of JAX, where only a tracer "
    "exists; use "
    "gluonx.functional(net).apply, which returns what a forward writes, or hybridize the net instead of jitting it."
)
_ON_HOST = (
    "{operator} needs the values of its input, which a traced forward does not have: the shape of its result depends "
    "on them, or it runs on the host. A block with it can be called un-hybridized, which hybridized ones do by "
    "themselves; under jax.jit, in an export or in the body of a loop, write the same with a mask, as in "
    "np.where(condition, x, 0). The line is {line}."
)
_FILL = DerivedOp(
    "fill", lambda x, value: jnp.broadcast_to(jnp.asarray(value).astype(x.dtype), x.shape), numpy_kernel=kernels.filled
)


class _Kind(type):
    """The metaclass of array classes, whose ``str`` says that they are JAX's.

    tensorboardX accepts an array only if ``str(type(x))`` contains ``jax``. The class of a slice equals that of the
    array that it is taken of, since programs ask ``type(x) == np.ndarray``; as a key of a dict it is one of its own.
    """

    def __repr__(cls) -> str:
        return f"{super().__repr__()[:-1]} on jax>"

    def __eq__(cls, other: object) -> bool:
        return cls is other or (isinstance(other, _Kind) and _whole(cls) is _whole(other))

    __hash__ = type.__hash__


def _whole(kind: type) -> type:
    """Return the class of whole arrays to which this one belongs."""
    return vars(kind).get("whole_class", kind)


class ndarray(Arithmetic, Handle, Methods, metaclass=_Kind):
    """An n-dimensional array on a device.

    Made by :func:`gluonx.np.array` and its like. Arithmetic, comparison and indexing follow NumPy; ``x += y`` and
    ``x[i] = y`` change this array (and all basic slices taken of it).

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    grad : ndarray or None
        The gradient, after :meth:`attach_grad`.

    Examples
    --------
    >>> from gluonx import autograd, np
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad.tolist()
    [2.0, 4.0, 6.0]
    """

    __slots__ = ()
    __array_priority__ = 1000.0
    lent_class: type[_Lent]  # the class of an array whose memory others may write to, see `lend`
    view_class: type[_View]  # the class of basic slices of this array, and of the result of detach(); set below
    detached_class: type[_Detached]
    integers_move = False  # whether integers with attach_grad have gradients
    cuts_when_attached = False  # whether attach_grad cuts a recorded value off from its inputs

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _methods().NAMES:
                return getattr(self, name)  # importing the module of methods has added them to this class
            raise AttributeError(f"an ndarray has no attribute {name!r}")

    def __array_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: object, kwargs: object
    ) -> object:
        return _methods().array_function(func, args, kwargs)

    def __array_ufunc__(self, ufunc: Callable[..., object], method: str, *inputs: object, **kwargs: object) -> ndarray:
        return _methods().array_ufunc(ufunc, method, inputs, kwargs)

    def __array_namespace__(self, api_version: str | None = None) -> ModuleType:
        """Return the module whose functions work on this array: ``gluonx.np``.

        Raises
        ------
        ValueError
            For a version of the array API standard that is not known.
        """
        if api_version is not None and api_version not in _API_VERSIONS:
            raise ValueError(f"unrecognized array API version {api_version!r}; there are {', '.join(_API_VERSIONS)}")
        return _methods().namespace()

    # -- properties that need no computation -----------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape; assigning one of the same size reshapes in place."""
        aval = self.aval
        return aval.shape if aval is not None else self._looked_at().shape

    @shape.setter
    def shape(self, shape: Size) -> None:
        self._become(self.reshape(shape), reshaped=True)  # type: ignore[attr-defined]

    @property
    def dtype(self) -> np.dtype:
        """The dtype."""
        aval = self.aval
        return aval.dtype if aval is not None else np.dtype(self._looked_at().dtype)

    def _looked_at(self) -> Any:
        """Return an object with the shape and dtype, for an array without an aval; reading its value may make one."""
        value = self.value
        return self.aval or value

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def stype(self) -> str:
        """Storage type: always ``'default'``."""
        return "default"

    @property
    def device(self) -> _device.Device:
        """The device that the array is, or will be, on."""
        value = self.value
        if isinstance(value, Pending) and value.value is not None:
            value = value.value
        if type(value) is Packed:
            value = value.vector.sample
        if type(value) is HostArray:
            return _device.device_of(jax.local_devices()[0])
        if isinstance(value, Zeros) and value.sharding is not None:
            return _device.place_device(value.sharding)
        if isinstance(value, jax.Array) and not isinstance(value, Tracer):
            return _device.place_device(value.sharding)
        aval = self.aval
        if aval is not None and aval.sharding is not None:
            return _device.place_device(aval.sharding)
        return _device.current_device()

    ctx = context = device

    # -- values ----------------------------------------------------------------------------------------------------

    def _read(self) -> jax.Array:
        """Return the device array, computed if it is pending."""
        value = self.value
        if isinstance(value, Tracer) or _in_trace():
            raise TracedValueError(f"{READ_IN_TRACE} The line is {source_location.user_line()}.")
        if type(value) is Pending or type(value) is Packed or isinstance(value, Placeholder):
            value = settle(self)
            if isinstance(value, Tracer):
                raise TracedValueError(f"{READ_IN_TRACE} The line is {source_location.user_line()}.")
        return value

    def _on_host(self) -> np.ndarray:
        """Return the value as a read-only NumPy array, computing it if it is pending."""
        value = self._in_child() if forked.in_child() else self.value
        if type(value) is HostArray and (current_state().trace is None or not _in_trace()):
            return value.array
        array = self._read()
        try:
            return np.asarray(array)
        except RuntimeError:
            if array.is_fully_addressable or array.is_fully_replicated:
                raise
            raise DeviceError(_ELSEWHERE.format(shape=array.shape, spec=array.sharding)) from None

    def _in_child(self) -> Any:
        """Return the value in a forked child, where nothing may wait for the device."""
        value = self.value
        if isinstance(value, Placeholder) and value.known and type(value) is not HostArray:
            value = self.value = value.make(self)
        if isinstance(value, jax.Array) and not isinstance(value, Tracer) and not forked.is_computed(value):
            forked.check("an array that was not computed before the fork")
        return value

    @door
    def asnumpy(self) -> np.ndarray:
        """Return a NumPy copy, which may be written to."""
        return np.array(self._on_host())

    @door
    def item(self, *args: Any) -> Any:
        """Return the one element (or the element at `args`) as a Python scalar."""
        return self._on_host().item(*args)

    asscalar = item

    @door
    def tolist(self) -> Any:
        """Return nested lists of Python scalars."""
        return self._on_host().tolist()

    @door
    def wait_to_read(self) -> None:
        """Compute the value if it is pending and wait for the device."""
        value = self.value
        if type(value) is not HostArray:
            jax.block_until_ready(value.vector.sample if type(value) is Packed else self._read())

    wait_to_write = wait_to_read

    @door
    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray:
        out = np.asarray(self._on_host(), dtype=dtype)
        return out.copy() if copy else out

    def _raw(self) -> jax.Array:
        """Return the value for raw JAX code; raise if that would lose a gradient."""
        state = current_state()
        if state.trace is not None:
            return state.trace.value(self)
        if state.recording and is_inexact(self.dtype) and (source_of(self) is not None or self._is_live()):
            raise GraphError(RAW_ON_TAPE)
        return settle(self)

    def _is_live(self) -> bool:
        value = self.value
        return type(value) is Pending and value.value is None and value.graph.is_live(value.slot)

    @property
    def leaf(self) -> ndarray:
        """The array that has the gradient: this one, or the own array of a slice on which `attach_grad` was called."""
        return self

    @property
    def _itself(self) -> ndarray:
        """The array that holds the value: this one, or another one if this object is only a temporary wrapper."""
        return self

    def _is_recorded(self) -> bool:
        """Return whether autograd has recorded the value; it may be pending, or computed by reading another one."""
        value = self.value
        if type(value) is Pending and value.value is not None:
            settle(self)  # finds its entry on the tape
        return self.tape is not None or self._is_live()

    def __jax_array__(self) -> jax.Array:
        return self._raw()

    def __dlpack__(self, **kwargs: object) -> object:
        return self._read().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        array: Any = self._read()  # jax.Array's annotations leave the method out
        return array.__dlpack_device__()

    @door
    def __float__(self) -> float:
        return float(self._one("float"))

    @door
    def __int__(self) -> int:
        return int(self._one("int"))

    def __complex__(self) -> complex:
        return complex(self._one("complex"))

    def _one(self, kind: str) -> Any:
        if self.size != 1:
            raise ArgumentError(f"{kind}() takes an array of one element; this one has shape {self.shape}.")
        return self.item()

    @door
    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self.item())
        if self.size == 0:  # as in MXNet, and in NumPy before 2.2
            return False
        raise ValueError(
            "The truth value of an ndarray with more than one element is ambiguous. Use x.any() or x.all()."
        )

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError("only integer scalar arrays can be used as an index")
        return int(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[ndarray]:
        for i in range(len(self)):
            yield self[i]

    def __contains__(self, item: object) -> bool:
        return bool((self._on_host() == np.asarray(item)).any())

    def __hash__(self) -> int:
        return id(self) >> 4

    def __repr__(self) -> str:
        value = self.value
        if _unreadable(value):
            kind = "no value yet" if isinstance(value, Placeholder) and not value.known else "traced"
            return f"array(<{kind}>, shape={self.shape}, dtype={self.dtype})"
        try:
            text = np.array2string(self._on_host(), separator=", ", prefix="array(", threshold=1000)
            return f"array({text}, shape={self.shape}, dtype={self.dtype}, device={self.device})"
        except Exception as error:  # computing it failed; using it will raise the full error
            reason = str(error).strip().partition("\n")[0]
            return f"array(<no value: {type(error).__name__}: {reason}>, shape={self.shape}, dtype={self.dtype})"

    def _repr_html_(self) -> str:
        """Show in a notebook what kind of array it is, how its numbers are spread, and the numbers."""
        from gluonx.np.display import as_html  # imported only in notebooks

        return as_html(self)

    def __treescope_repr__(self, path: str | None, subtree_renderer: Callable[..., Any]) -> object:
        """Return the array for treescope, without its numbers; nothing is computed."""
        from gluonx.np.display import as_part

        return as_part(self, path)

    def __str__(self) -> str:
        if _unreadable(self.value):
            return repr(self)
        return str(self._on_host())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if not self.shape and spec else format(str(self), spec)

    # -- copies and moves ------------------------------------------------------------------------------------------

    def copy(self, order: str = "C") -> ndarray:
        """Return a new array with the same value; later writes to one do not affect the other.

        Gradients flow through.
        """
        state = current_state()
        recorded = state.deferring or state.recording or state.trace is not None or type(self.value) is Pending
        return invoke(_COPY, (self,)) if recorded else self._again()

    def _again(self) -> ndarray:
        """Return a new handle on the value, which is computed already."""
        value = self.value
        return new_handle(value if type(value) is HostArray else self._read(), self.aval)

    def copyto(self, other: ndarray | DeviceLike) -> ndarray:
        """Write this value into `other` (an array of the same shape), or make a copy on the device `other`."""
        if isinstance(other, ndarray):
            if other is not self:
                other[...] = self
            return other
        return self.to_device(other)

    def to_device(self, device: DeviceLike) -> ndarray:
        """Return the array on another device; itself if it is there already. Gradients flow through."""
        target = _device.resolve(device)
        if target is None:
            return self
        if (trace := current_state().trace) is not None:
            return trace.moved(self, target)  # type: ignore[return-value]
        return self if self._is_at(target) else moved(self, target)

    def _is_at(self, placement: Any) -> bool:
        """Return whether this array is, or will be, on a device, or has a sharding."""
        value = self.value
        default = placement == jax.local_devices()[0]
        if type(value) is HostArray:
            return default
        if type(value) is Pending and value.value is None and not value.aval.spread:  # without computing it
            sharding = value.aval.sharding
            if sharding is None:
                return default
        else:
            sharding = settle(self).sharding
        return sharding == placement or (sharding.device_set == {placement} and not _device.is_folded(sharding))

    def as_in_context(self, context: DeviceLike) -> ndarray:
        """Call `to_device`; this is its older name."""
        return self.to_device(context)

    def as_in_ctx(self, ctx: DeviceLike) -> ndarray:
        """Call `to_device`; this is its older name."""
        return self.to_device(ctx)

    @door
    def astype(
        self, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> ndarray:
        """Return the array with another dtype; gradients flow through between floats."""
        target = canonical(dtype)
        if target == self.dtype and not copy:
            return self
        return invoke(_cast_op(target), (self,))

    def as_np_ndarray(self) -> ndarray:
        """Return the array itself."""
        return self

    def as_nd_ndarray(self) -> Any:
        """Return the same array as an NDArray of MXNet 1; writes to one are visible in the other."""
        return NAMES["gluonx.np.ndarray.as_nd_ndarray"](self)

    @property
    def _fresh_grad(self) -> int:
        """True if a backward has written here since the last step; MXNet programs that update by hand also set it."""
        return int(self.variable is not None and self.variable.fresh)

    @_fresh_grad.setter
    def _fresh_grad(self, state: int) -> None:
        if self.variable is not None:
            self.variable.fresh = bool(state)

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> ndarray:
        twin = self._again()
        if self.variable is not None:
            twin.attach_grad(self.variable.req, _grad_stype(self))
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        req = None if self.variable is None else self.variable.req
        return _unpickle_np, (self.asnumpy(), req, _grad_stype(self))

    # -- gradients -------------------------------------------------------------------------------------------------

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make this array the end point of gradients.

        Parameters
        ----------
        grad_req : {'write', 'add', 'null'}
            Whether a backward replaces the gradient, adds to it, or leaves this array out.
        stype : {'default', 'row_sparse'}, optional
            Whether the gradient holds only the rows that were looked up; see docs/sparse.md.

        Notes
        -----
        A recorded value can have a gradient too, and so can its inputs. Arrays of MXNet 1 (``mx.nd``) are cut off from
        their inputs, as they are there. The gradient of integers is zero, except under the ``mxnet`` alias.
        """
        if grad_req not in ("write", "add", "null"):
            raise ValueError(f"grad_req must be 'write', 'add' or 'null', got {grad_req!r}")
        if self.cuts_when_attached and self._is_recorded():
            set_variable(self, None)
            self._put(stripped(self), written=False)
        if stype == "row_sparse":
            return NAMES["gluonx.sparse.attach_rows"](self, grad_req)
        if stype not in (None, "default"):
            raise ValueError(f"a gradient has stype 'default' or 'row_sparse', got {stype!r}")
        variable = None
        if grad_req != "null":
            if self.integers_move and self.dtype.kind in "iu":
                integers.arm()
            variable = Variable(grad_req, self._belonging(Zeros(self.shape, self.dtype, self._placed())))
        self._lead_to(variable)

    def _belonging(self, value: object) -> ndarray:
        """Return a new array of the same class as this one."""
        new = new_handle(value)
        kind = self.plain_class
        return new if kind is None or kind is type(new) else twin_of(new, kind)

    def _lead_to(self, variable: Variable | None) -> None:
        """Make `variable` the end point of this array's gradient, without cutting the array off from its inputs."""
        old = self.variable
        set_variable(self, variable)
        if not self._is_recorded():
            return
        if self.tape is not None:
            add_mark(self.tape.segment.marks, self.tape.slot, old, variable)
        else:
            add_mark(self.value.graph.marks, self.value.slot, old, variable)

    def _placed(self) -> Placement | None:
        """Return the sharding of this array, if it is not on JAX's default device; else None."""
        value = self.value
        if self.aval is None and isinstance(value, jax.Array) and not isinstance(value, Tracer):
            self.aval = aval_of(value)
        return None if self.aval is None else self.aval.sharding

    def _drop_grad(self) -> None:
        set_variable(self, None)

    @property
    def grad(self) -> ndarray | None:
        """The gradient that the last backward wrote; zeros before the first one; None without :meth:`attach_grad`."""
        return None if self.variable is None else self.variable.grad  # type: ignore[return-value]

    def detach(self) -> ndarray:
        """Return the same array without a gradient: writes to one are visible in the other.

        Writes to the result are not recorded, as under ``autograd.pause()``. Inside a hybridized forward the two are
        independent.
        """
        return stripped(self) if current_state().trace is not None else _detached(self)  # type: ignore[return-value]

    def backward(
        self, out_grad: ndarray | Sequence[ndarray] | None = None, retain_graph: bool = False, train_mode: bool = True
    ) -> None:
        """Compute the gradients of this array (its sum, or weighted with `out_grad`); see ``autograd.backward``."""
        try:
            backward(self, out_grad, retain_graph)
        except Exception as error:
            shorten(error)
            raise

    def zero_grad(self) -> None:
        """Set the gradient to zeros."""
        if type(self.variable) is RowVariable:
            self.variable.clear()
        elif self.variable is not None:
            grad = self.variable.grad
            grad.value, grad.aval, grad.tape = Zeros(self.shape, self.dtype, self._placed()), None, None

    # -- writing ---------------------------------------------------------------------------------------------------

    def _assign(self, new: Handle) -> None:
        """Rebind this handle to the value of `new`, sharing it."""
        self._check_write()
        self._put(new)

    def _check_write(self) -> None:
        """Raise GraphError for a leaf while autograd is recording, since gradients end in the value to be replaced."""
        if self.variable is not None and current_state().recording:
            raise GraphError(_leaf_written(self))

    def _put(self, new: Handle, written: bool = True) -> None:
        """Rebind as `_assign` does, for a write that a trace has checked, or for the same value without its tape."""
        state = current_state()
        if state.trace is not None and state.trace.rebind(self, new):
            return
        aval = self.aval
        if aval is not None and aval.spread:
            new = kept(self, new)
        elif _device.Replicas.on or (aval is not None and aval.sharding is not None):
            new = at_home(self, new)
        value, old = new.value, self.value
        if isinstance(value, Tracer) and not isinstance(old, Tracer):
            raise TracedValueError(_WRITE_UNDER_JIT)
        if type(value) is Pending and value.value is None and not (type(old) is Pending and old.graph is value.graph):
            value.graph.journal.append(Rebound(self, old, self.aval, self.tape, record_scope.get()))
        self.value, self.aval, self.tape = value, new.aval, new.tape
        if getweakrefcount(self) and state.trace is None:
            _tell_detached(self, written, old)

    def _become(self, new: ndarray, reshaped: bool = False) -> ndarray:
        """Rebind this handle for an in-place operator.

        `new` needs this array's shape, and its dtype or one that casts to it.
        """
        if new is NotImplemented:
            return new
        if new.shape != self.shape and not reshaped:
            raise ShapeError(f"an in-place operation cannot change the shape: {self.shape} expected, {new.shape} came")
        if new.dtype != self.dtype:
            refuse_cut("an in-place operation: the array", self.dtype, new.dtype)
            new = new.astype(self.dtype)
        self._assign(new)
        return self

    def _assign_copy(self, value: ndarray) -> None:
        """Rebind this handle to a new buffer with the value of `value`."""
        if isinstance(value, Handle):
            if current_state().trace is not None or type(value.value) is Pending:
                self._assign(invoke(_COPY, (value,)))
                return
            value = settle(value)
        with keeping_64_bits(value.dtype in WIDE):
            self._assign(new_handle(jnp.array(copied(value), copy=True)))

    def _assign_host(self, value: np.ndarray, device: DeviceLike = None, copy: bool | None = True) -> None:
        """Rebind this handle to a device copy of a NumPy array, even while something is traced.

        With ``copy=None`` the handle becomes the owner of the array.
        """
        with jax.ensure_compile_time_eval():
            self.value = on_device(np.array(value, copy=copy), _device.resolve(device))
        self.aval, self.tape = None, None

    @classmethod
    def _unknown(cls, param: Parameter) -> ndarray:
        """Return a handle for a parameter whose shape is not known."""
        return new_handle(Unknown(param))

    @door
    def __getitem__(self, key: object) -> ndarray:
        region = indexing.basic(key, self.shape)
        if region is not None:
            return _view(self, region)
        pattern, arrays = indexing.advanced(key, self.shape, _mask_value)
        return invoke(indexing.gather_op(pattern), (self, *arrays))

    @door
    def __setitem__(self, key: object, value: Any) -> None:
        if isinstance(value, (list, tuple)):
            value = np.asarray(value, self.dtype)
        elif not isinstance(value, OPERANDS):
            raise TypeError(f"an array or number was expected as the value to assign, got {type(value).__name__}")
        region = indexing.basic(key, self.shape)
        if region is not None:
            self._write(region, value)
            return
        value = self._brought(value)
        mask = indexing.mask_of(key)
        if mask is not None:
            indexing.check_mask(mask, self.shape)
            if indexing.spreads(mask, value, self.shape):
                self._assign(invoke(indexing.mask_write_op(), (self, mask, value)))
                return
        pattern, arrays = indexing.advanced(key, self.shape, _mask_value)
        self._assign(invoke(indexing.scatter_op(pattern), (self, value, *arrays)))

    def _brought(self, value: object) -> Any:
        """Return a value to be written on this array's device, since a write does not move the array."""
        if not isinstance(value, Handle):
            return value
        on_host = type(value.value) is HostArray and type(self.value) is HostArray
        if on_host or current_state().trace is not None:
            return value
        theirs, mine = _place_of(value), _place_of(self)
        if theirs is mine or theirs == mine or is_spread(theirs) or is_spread(mine):
            return value
        if theirs is None and type(value.value) is not Pending and value.tape is None and value.variable is None:
            return value  # a value on the default device that is not recorded is moved by the engine
        return moved(value, jax.local_devices()[0] if mine is None else mine)

    def _write(self, region: indexing.Region, value: Any, checked: bool = False) -> None:
        if isinstance(value, _View) and value.base is self and value.region is region:
            return
        if not checked:
            self._check_write()
        value = self._brought(value)
        if region.whole:
            if not (isinstance(value, Handle) and value.shape == self.shape and value.dtype == self.dtype):
                self._put(invoke(_FILL, (self, value)))
            elif not current_state().recording and current_state().trace is None:
                # Without recording the value is a constant, and sharing it must not share its gradient.
                self._put(stripped(value))
            else:
                # The gradient of a variable belongs to its handle, so sharing only the value would lose it.
                self._put(value if value.variable is None else invoke(_COPY, (value,)))
            return
        self._put(invoke(indexing.region_write(region), (self, value, *region.starts)))

    @property
    def T(self) -> ndarray:
        """The array with its axes reversed."""
        return self.transpose()  # type: ignore[attr-defined]


def cut_when_attached(on: bool) -> None:
    """Choose whether ``attach_grad`` cuts recorded values off from their inputs, as in MXNet 1."""
    ndarray.cuts_when_attached = on


def move_integers(on: bool) -> None:
    """Choose whether integers with ``attach_grad`` have gradients, as in MXNet; by default these are zero."""
    ndarray.integers_move = on
    if not on:
        integers.disarm()


def is_readable(array: ndarray) -> bool:
    """Return whether an array has numbers to show, or numbers that can be computed."""
    return not _unreadable(array.value)


def _unreadable(value: object) -> bool:
    """Return whether a value has no numbers to show, here or at all."""
    if isinstance(value, Placeholder) and not value.known:
        return True
    return isinstance(value, Tracer) or _in_trace()


def _in_trace() -> bool:
    """Return whether the caller is being traced, so that there are no values."""
    trace = current_state().trace
    return trace is not None and not trace.transparent and not interrupts.on_top(trace)


_COPY = DerivedOp("copy", jnp.copy, numpy_kernel=lambda x: x, any_length=True)
_get_value = Handle.value.__get__  # type: ignore[attr-defined]
_set_value = Handle.value.__set__  # type: ignore[attr-defined]


class _View(ndarray):
    """A basic slice: reads from its base, and writes through to it."""

    __slots__ = ("base", "own", "reader", "region", "seen", "seen_in")

    derived = True

    def is_current(self) -> bool:
        """Return whether the cached value still belongs to the base's, and was recorded if it must be now."""
        state = current_state()
        if state.trace is not None or (state.recording and self.seen_in is not record_scope.get()):
            return False
        base, seen = self.base, self.seen
        if base.derived and not base.is_current():
            return False
        current = base.value
        return current is seen or (type(seen) is Pending and seen.value is not None and seen.value is current)

    @property
    def value(self) -> Any:  # type: ignore[override]
        """The sliced value, taken again if the base has changed since."""
        if self.is_current():
            return _get_value(self)
        state = current_state()
        taken = invoke(self.reader, (self.base, *self.region.starts))
        if state.trace is not None or isinstance(taken.value, Tracer):
            return taken.value  # it belongs to a trace and must not be cached beyond it
        _set_value(self, taken.value)
        self.tape, self.seen = taken.tape, self.base.value
        self.seen_in = record_scope.get() if state.recording else None
        if taken.aval is not None:
            self.aval = taken.aval
        return taken.value

    @value.setter
    def value(self, value: object) -> None:
        _set_value(self, value)

    def _assign(self, new: Handle) -> None:
        self.base._write(self.region, new)

    def _check_write(self) -> None:
        self.base._check_write()

    def _put(self, new: Handle, written: bool = True) -> None:
        self.base._write(self.region, new, checked=True)

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make this slice an independent array, and the end point of gradients."""
        own = invoke(_COPY, (self,))
        kind = self.plain_class
        own = own if kind is None or kind is type(own) else twin_of(own, kind)
        own.attach_grad(grad_req, stype)
        region = indexing.basic(..., self.shape)
        assert region is not None, "an ellipsis is a basic index"
        self.base, self.region, self.reader, self.seen, self.own = own, region, indexing.region_read(region), self, True

    @property
    def leaf(self) -> ndarray:
        """The array whose gradient this slice has: after `attach_grad` its own array."""
        return self.base if self.own else self

    def _drop_grad(self) -> None:
        if self.own:
            self.base._drop_grad()

    @property
    def grad(self) -> ndarray | None:
        """The gradient of a slice that has one, see `attach_grad`."""
        return self.base.grad if self.own else None


View = _View


def _view(base: ndarray, region: indexing.Region) -> _View:
    kind, state = base.view_class, current_state()
    if type(base) is kind and not base.own and not state.recording and state.trace is None:  # type: ignore[attr-defined]
        joined = indexing.composed(base.region, region, base.base.shape)  # type: ignore[attr-defined]
        if joined is not None:
            base, region = base.base, joined  # type: ignore[attr-defined]
    view: _View = object.__new__(kind)
    view.base, view.region, view.reader = base, region, indexing.region_read(region)
    view.seen, view.seen_in, view.own = view, None, False
    view.tape = view.variable = None
    aval = base.aval
    view.aval = intern_aval(region.shape, base.dtype, aval.sharding if isinstance(aval, Aval) else _place_of(base))
    _set_value(view, None)
    if state.deferring or (state.recording and state.trace is None):
        # The slice is recorded now, even if it is first used after record().
        _ = view.value
    return view


@jax.custom_jvp
def _overwritten(x: ArrayLike, value: object) -> Any:
    return value


_overwritten.defjvp(lambda primals, tangents: (primals[1], tangents[0]))
_OVERWRITE = DerivedOp("overwrite", _overwritten)


class _Detached(ndarray):
    """An array, or a slice, without its gradient: it reads from the original and writes to it, without recording.

    A slice such as ``x[:2]`` of ``x[:2].detach()`` has no other holder, so it is found through the array that it was
    taken from. A recorded array is held weakly, so that its graph is not kept alive only because a number was taken
    from it; when it is gone, this array is independent, with the value that was written last.
    """

    __slots__ = ("held", "regions", "seen", "weak")

    derived = True

    @property
    def root(self) -> ndarray:
        """The whole array with which this one shares its value, or of which it is a slice; None if it is gone."""
        return self.weak() if self.held is None else self.held

    @property
    def base(self) -> ndarray:
        """The array with which this one shares its value, a new slice for a slice; None if it is gone."""
        base = self.root
        if base is not None:
            for region in self.regions:
                base = _view(base, region)
        return base

    def is_current(self) -> bool:
        """Return whether the cached value still belongs to the base's."""
        if current_state().trace is not None:
            return False
        root, seen = self.root, self.seen
        if root is None:
            return True
        if root.derived and not root.is_current():
            return False
        current = root.value
        return current is seen or (type(seen) is Pending and seen.value is not None and seen.value is current)

    @property
    def value(self) -> Any:  # type: ignore[override]
        """The base's value, without its tape entry."""
        root = self.root
        if root is None or self.is_current():
            return _get_value(self)
        taken = stripped(self.base)
        if current_state().trace is not None or isinstance(taken.value, Tracer):
            return taken.value
        _set_value(self, taken.value)
        self.aval = None if type(taken.value) is HostArray else taken.aval or aval_of(taken.value)
        self.seen = root.value
        return taken.value

    @value.setter
    def value(self, value: object) -> None:
        _set_value(self, value)

    def _put(self, new: Handle, written: bool = True) -> None:
        root, base, before = self.root, self.base, current_state()
        if base is None:
            super()._put(new, written)
        elif before.recording and root.variable is None and root._is_recorded():
            base._put(invoke(_OVERWRITE, (base, stripped(new))))  # the numbers change, the graph does not
        else:
            set_state(state_with(recording=False))
            try:
                base._put(stripped(new))
            finally:
                set_state(before)


Detached = _Detached


class _Memory:
    """Memory that others may write to, and the value made of its contents when they were last read."""

    __slots__ = ("__weakref__", "array", "seen", "value")
    at: ClassVar[WeakValueDictionary[int, _Memory]] = WeakValueDictionary()  # by their addresses

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.at[array.ctypes.data] = self
        self.seen: bytes | None = None
        self.value: Any = None

    def now(self) -> HostArray | jax.Array:
        """Return the value of the current contents; the same object as long as they are the same."""
        held = self.array.tobytes()
        if held != self.seen:
            self.seen, copy = held, self.array.copy()
            self.value = host_array(copy) if stays_on_host() else on_device(copy)
        return self.value


class _Lent(ndarray):
    """An array in memory that another library may write to; each read returns the current contents.

    Its value slot holds the memory, a `_Memory`.
    """

    __slots__ = ()

    @property
    def value(self) -> Any:  # type: ignore[override]
        """The numbers that are in the memory now."""
        return _get_value(self).now()

    @value.setter
    def value(self, value: object) -> None:
        np.copyto(_get_value(self).array, np.asarray(value.array if type(value) is HostArray else value))

    def _put(self, new: Handle, written: bool = True) -> None:
        np.copyto(_get_value(self).array, new._on_host())  # type: ignore[attr-defined]


for _kind in (_View, _Detached, _Lent):
    _kind.__name__ = _kind.__qualname__ = "ndarray"  # a user sees one name
    _kind.whole_class = ndarray  # type: ignore[attr-defined]
Kind, Lent = _Kind, _Lent


def make_kinds(cls: type[ndarray]) -> tuple[type, ...]:
    """Make, for a class of whole arrays, the classes of its slices, its detached arrays and its lent arrays."""
    cls.plain_class = cls
    cls.view_class, cls.detached_class, cls.lent_class = [placed(cls, place) for place in (View, Detached, Lent)]
    return cls, cls.view_class, cls.detached_class, cls.lent_class


def placed(cls: type[ndarray], place: type[ndarray]) -> Any:
    """Return the class of the arrays of the kind `cls` whose value is at a `place`; a user sees one name."""
    names = {
        "__doc__": place.__doc__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__slots__": (),
        "whole_class": _whole(cls),
    }
    kind: Any = type(cls)
    return kind(cls.__name__, (place, cls), names)


def lend(array: ndarray) -> object:
    """Return a DLPack capsule of this array's memory, which others may then write to.

    Raises
    ------
    ArgumentError
        For a slice, or a result of `detach`, whose value belongs to another array.
    """
    if type(array) is not array.lent_class:
        if array.derived or array._is_recorded():
            raise ArgumentError(
                "to_dlpack_for_write takes a whole array that autograd has not recorded, for its memory is to be "
                "written to; a slice, or what detach() gave, has none of its own. Take a copy() of it."
            )
        memory = array.asnumpy()
        array.__class__ = array.lent_class
        _set_value(array, _Memory(memory))
        array.aval = intern_aval(memory.shape, memory.dtype)
    return _get_value(array).array.__dlpack__()


class _Tensor(ctypes.Structure):
    """The tensor of a DLPack capsule, which begins it."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]

    def is_of(self, array: np.ndarray) -> bool:
        """Return whether these are the elements of `array`, in its order."""
        n, size = self.ndim, array.itemsize
        return (
            not self.byte_offset
            and tuple(self.shape[:n]) == array.shape
            and (not self.strides or tuple([size * step for step in self.strides[:n]]) == array.strides)
            and tuple(self.dtype[:2]) == (_CODES.get(array.dtype.kind), 8 * size)
        )


_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # of DLPack, by NumPy's kinds


def borrow(capsule: object, kind: type[ndarray] | None = None) -> ndarray | None:
    """Return an array in the memory that a capsule of `lend` is of; None for any other object.

    Its writes are seen in the array that was lent, and the other way round. It is of a `kind` of arrays, by default of
    that which functions give.
    """
    if type(capsule).__name__ != "PyCapsule" or not _Memory.at:
        return None
    find = ctypes.pythonapi.PyCapsule_GetPointer
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    try:
        tensor = _Tensor.from_address(find(capsule, b"dltensor"))
    except ValueError:  # somebody has taken it, or it is of a later form
        return None
    memory = _Memory.at.get(tensor.data) if tensor.data else None
    if memory is None or not tensor.is_of(memory.array):
        return None
    array = new_handle(memory.now())
    array.__class__ = (kind or type(array)).lent_class
    _set_value(array, memory)
    array.aval = intern_aval(memory.array.shape, memory.array.dtype)
    return array


class _Link(ref):
    """A weak reference to an array, through which arrays that were detached from it find it."""

    __slots__ = ("twin",)


class _Base(ref):
    """A weak reference to the array that another one was made from, and the value that this array had.

    It holds (``held``) a slice that has no other holder. ``origin`` tells the other array, and ``place`` the slice of
    this one that it was made of, if it was one.
    """

    __slots__ = ("held", "origin", "place", "seen")

    def hand_down(self, base: ndarray, old: object) -> None:
        """Write the value of `base`, which was `old`, into the array that was made of it."""
        origin, state = self.origin, current_state()
        array = None if origin is None or origin.busy else origin()
        if array is None or not is_still(self.seen, old):
            return
        if state.recording and (array.variable is not None or array._is_recorded()):
            return
        source = base if self.place is None else self.place()
        if source is not None:
            with origin.alone():
                _write_reshaped(array, source)
            self.seen = base.value
            if self.place is not None:
                self.place.seen = source.value


def _forget_seen(base: _Base) -> None:
    base.seen = None


def _base_of(array: ndarray, seen: Any, held: ndarray | None, origin: _Origin, place: _Base | None = None) -> _Base:
    base = _Base(array, _forget_seen)
    base.seen, base.held, base.origin, base.place = seen, held, origin, place
    return base


def _write_reshaped(target: ndarray, source: ndarray) -> None:
    """Write the elements of an array into one of another shape; recorded if `source` is, and autograd records."""
    state = current_state()
    flows = state.recording and source._is_recorded()
    set_state(state if flows else state_with(recording=False))
    try:
        values: Any = source if flows else stripped(source)
        target._put(ndarray.reshape(values, target.shape))
    finally:
        set_state(state)


class _Origin(ref):
    """A weak reference to a reshaped array; it passes writes to that array on to the array that it was made from.

    ``places`` lists that array and those that it was made of in turn, each of which hands on what is written to it.
    """

    __slots__ = ("busy", "places")
    kept: ClassVar[dict[int, _Origin]] = {}

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Pass nothing on to or from the array, to which or from which a value is being written."""
        self.busy = True
        try:
            yield
        finally:
            self.busy = False

    def pass_on(self) -> None:
        """Write the reshaped array's value into the first array that still exists, if that has not changed."""
        array, state = self(), current_state()
        found = [(place, base) for place in self.places if place.place is None and (base := place()) is not None]
        if array is None or not found or self.busy:
            return
        place, base = found[0]
        if not is_still(place.seen, base.value) or (state.recording and base.variable is not None):
            return
        with self.alone():
            _write_reshaped(base, array)
        for place in self.places:
            if (there := place()) is not None:
                place.seen = there.value


def write_through(array: ndarray, base: ndarray) -> None:
    """Have what is written to `array` or `base` written to the other too, whose elements it has in another shape.

    It ends when one of them gets a value that the other does not, as in a trace.
    """
    if array is base or current_state().trace is not None:
        return
    link = _Origin(array, _forget_origin)
    link.busy = False
    # A slice that nobody else may hold is held, but not while recording, because held values are computed.
    held = isinstance(base, _View) and not current_state().recording
    link.places = [_base_of(base, base.value, base if held else None, link)]
    if held:
        whole = base
        while isinstance(whole, _View):
            whole = whole.base
        link.places.append(_base_of(whole, whole.value, None, link, link.places[0]))
    for known in getweakrefs(base) if getweakrefcount(base) else ():
        if type(known) is _Origin:
            link.places += [
                _base_of(there, place.seen, place.held, link, place.place)
                for place in known.places
                if (there := place()) is not None
            ]
    _Origin.kept[id(link)] = link


def _forget_origin(link: _Origin) -> None:
    _Origin.kept.pop(id(link), None)
    for place in link.places:
        place.origin = None


def _place_of(handle: Any) -> Placement | None:
    """Return the sharding of an array, if it is not on JAX's default device; computes nothing."""
    value = handle.value
    if type(value) is Pending:
        return value.aval.sharding
    return value.sharding if isinstance(value, Zeros) else handle._placed()


def _tell_detached(root: ndarray, written: bool, old: object) -> None:
    """Let arrays that refer to `root` weakly read its value now, since `root` may be gone later.

    Arrays that `root` was made of by `write_through`, and those made of it, are written to, if that value was
    `written` over the `old` one.
    """
    for link in getweakrefs(root):
        if written and type(link) is _Origin:
            link.pass_on()
        elif written and type(link) is _Base:
            link.hand_down(root, old)
        twin = link.twin() if type(link) is _Link else None
        if twin is not None:
            _ = twin.value


def _detached(array: ndarray) -> ndarray:
    root, regions = array._itself, ()
    while isinstance(root, _View):
        root, regions = root.base._itself, (root.region, *regions)
    if isinstance(root, _Detached) and root.root is not None:
        root, regions = root.root, (*root.regions, *regions)
    recorded = type(root.value) is Pending or root.tape is not None
    twin: _Detached = object.__new__(array.detached_class)
    twin.held, twin.weak = (None, _Link(root)) if recorded else (root, None)
    if twin.weak is not None:
        twin.weak.twin = ref(twin)
    twin.regions, twin.seen, twin.tape, twin.variable, twin.aval = regions, twin, None, None, array.aval
    _set_value(twin, None)
    _ = twin.value  # reads the current value, without recording
    return twin


def _mask_value(mask: ArrayLike) -> np.ndarray:
    return np.asarray(host_value(mask, "x[mask]") if isinstance(mask, ndarray) else mask)


def host_value(array: ndarray, operator: str) -> np.ndarray:
    """Return the value of an array for an operator that runs on the host.

    Raises
    ------
    DynamicShapeError
        Inside a traced forward, where there are no values.
    """
    try:
        return array._on_host()
    except TracedValueError as error:
        line, block = str(source_location.user_line()), source_location.block_path()
        at = f"{line}, in block {block}" if block else line
        raise DynamicShapeError(_ON_HOST.format(operator=operator, line=line), operator, at) from error


def _grad_stype(array: ndarray) -> str:
    """Return the storage type of an array's gradient."""
    return "row_sparse" if type(array.variable) is RowVariable else "default"


def _unpickle_np(value: np.ndarray, grad_req: str | None, stype: str) -> ndarray:
    """Return the array of a pickle as an array of `np`, even if `gluonx.compat` makes every new array an NDArray."""
    array = twin_of(
        new_handle(on_device(copied(value))), ndarray
    )  # copied because a pickle's buffers may belong to others
    if grad_req is not None:
        array.attach_grad(grad_req, stype)
    return array


ndarray.view_class, ndarray.detached_class, ndarray.lent_class = _View, _Detached, _Lent
set_handle_class(ndarray)
for _kind in (ndarray, _Detached, _View, _Lent):
    jax.tree_util.register_pytree_node(
        _kind, lambda x: ((x._raw(),), None), lambda _, children: new_handle(children[0])
    )
