"""Parameters: the named, trainable state of a block.

A :class:`Parameter` is in one of three states.

- *uninitialized*: nobody has called ``initialize``; there is no array.
- *deferred*: ``initialize`` was called, but part of the shape is unknown. The handle exists and holds a placeholder.
  The state ends as soon as one of these tells the shape: a block's ``infer_shape``, the first operator that uses the
  placeholder, an assignment to ``shape``, ``set_data``, or a file that is loaded.
- *ready*: the handle holds a value.

The invariant: a parameter has ONE array handle for each of its devices, made by the first ``initialize`` and never
replaced. Nearly always there is one device. (After ``initialize(ctx=[gpu(0), gpu(1)])`` the handles hold *replicas*: a
Trainer sums their gradients and keeps them equal, and ``data()`` returns the one on the current device.) Writing
(``set_data``, ``cast``, ``load_parameters``, an optimizer's step) puts another value into the same handle, so every
holder of it (a layer, a trainer, a traced program) sees the write. So ``data()`` is only one attribute look-up.

A parameter always copies an array that a user gives it. It is then the only owner of its buffer, so that a training
step may donate it.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.core import eval_context
from jax.sharding import NamedSharding
from numpy.typing import ArrayLike

from gluonx import initializer
from gluonx.block.structure import (
    Shape,
    Structure,
    Text,
    as_shape,
    device_list,
    is_complete,
    merge,
    one_device,
    placement,
)
from gluonx.common.extensions import NAMES
from gluonx.common.frames import cast, door, warn
from gluonx.common.instances import with_own_dict
from gluonx.deferred.record.placing import placed
from gluonx.deferred.values import source_location
from gluonx.deferred.values.core import (
    Attached,
    at_once,
    current_state,
    finds_shapes,
    new_handle,
    set_state,
    state_with,
)
from gluonx.device import Device, DeviceLike, DevicesLike, Replicas, current_device
from gluonx.dtype import DTypeLike, canonical, is_inexact, on_device
from gluonx.errors import (
    ArgumentError,
    DeferredInitializationError,
    DeviceError,
    GluonxError,
    MismatchError,
    NotInitializedYet,
    ShapeError,
    UninitializedError,
)
from gluonx.np.creation import array
from gluonx.np.handle import ndarray
from gluonx.ops import prng
from gluonx.sharding import Layout, Layouts, Spec, current_mesh, layout_of, replicated

if TYPE_CHECKING:
    from gluonx.initializer import InitLike


__all__ = ["Constant", "DeferredInitializationError", "Parameter"]

_finishing = threading.RLock()  # held while a parameter gets its first value

_GRAD_REQS = ("write", "add", "null")
_STORAGE = ("default", "row_sparse", "csr")


class Parameter:
    """A named array that a block owns, with its gradient and what an optimizer should know about it.

    Parameters
    ----------
    name : str
        The name in its block. Outer blocks prepend the names of their children: ``'features.0.weight'``.
    grad_req : {'write', 'add', 'null'}
        Whether a backward pass overwrites the gradient, adds to it, or leaves it out.
    shape : int, tuple of int or None
        A dimension of 0, -1 or None is not known yet. None alone means that nothing is known.
    dtype : dtype-like
        Float32 by default.
    lr_mult, wd_mult : float
        Factors on the trainer's learning rate and weight decay.
    init : Initializer, str or None
        Takes precedence over the ``init`` that a block's ``initialize`` is given.
    allow_deferred_init : bool
        Whether ``initialize`` may come before the shape is known.
    differentiable : bool
        If False, ``grad_req`` is always ``'null'``.
    stype, grad_stype : {'default', 'row_sparse', 'csr'}
        With `grad_stype` ``'row_sparse'`` the gradient holds only the rows that were looked up (see docs/sparse.md).
        The array itself always has all rows; with `stype` ``'row_sparse'``, `row_sparse_data` returns some of them.

    Raises
    ------
    ValueError
        If `grad_req`, `stype` or `grad_stype` is none of the above.

    Examples
    --------
    >>> weight = Parameter("weight", shape=(2, 3), init="ones")
    >>> weight.initialize()
    >>> weight.data().tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    >>> weight
    Parameter (shape=(2, 3), dtype=float32)
    """

    _layout: Layout | None = None  # maps a shape to the sharding of an array of that shape on a mesh
    _repeated: list[Device] | None = (
        None  # the user's list of devices, if it names one twice; a device has one handle in any case
    )
    _replicas: dict[Device, Any] | None = None  # the handles by device, if there are several; the first is _handle
    _plan: Any = None  # the FusedParameter that will be made of this and others
    _pulling: Any = None  # a weak reference to a Trainer whose class overrides `_row_sparse_pull`
    _structure: Structure | None = None  # of the blocks that hold it
    _stream = (0, 0)  # its stream of random numbers, see gluonx.prng.next_stream

    _vector_init: str | None = None  # the initializer for a parameter with fewer axes than the given initializer needs

    def __init__(
        self,
        name: str = "weight",
        grad_req: str = "write",
        shape: int | Sequence[int | None] | None = None,
        dtype: DTypeLike = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: InitLike = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        for what, storage in (("stype", stype), ("grad_stype", grad_stype)):
            if storage not in _STORAGE:
                raise ArgumentError(f"{what} of parameter '{name}' must be one of {_STORAGE}, got {storage!r}")
        with_own_dict(self)
        self._name = name
        self._path = name
        self._shape = as_shape(shape)
        self._dtype = canonical(dtype)
        self._device: Device | None = None
        self._handle: Any = None
        self._awaiting: Any = None  # in the deferred state: the initializer to run once the shape is known
        self._home: Any = None  # the FusedParameter of which this is a piece
        self._prefixed = False  # whether its name is unique in a program
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        self._stype, self._grad_stype = stype, grad_stype
        self._grad_req = "null"
        self.grad_req = grad_req
        self.lr_mult, self.wd_mult, self.init = lr_mult, wd_mult, init

    def __repr__(self) -> str:
        own = self.__dict__
        if "_dtype" not in own:
            return f"{type(self).__name__} (not made yet)"
        kind = f"{type(self).__name__} {self._name}" if own.get("_prefixed") else type(self).__name__
        return f"{kind} (shape={self.shape}, dtype={self.dtype})"

    def _repr_html_(self) -> str:
        """Show the parameter and the spread of its values in a notebook, without computing anything."""
        from gluonx.block.display import parameter_html  # imported only in notebooks

        return parameter_html(self)

    def __treescope_repr__(self, path: str | None, subtree_renderer: Callable[..., Any]) -> object:
        """Return the parameter for treescope, which calls this method to render it."""
        from gluonx.block.display import parameter_part

        return parameter_part(self, path, subtree_renderer)

    # ---------------------------------------------------------------- properties

    @property
    def name(self) -> str:
        """The name in the block that owns it."""
        return self._name

    @property
    def dtype(self) -> np.dtype:
        """The ``numpy.dtype``; assigning it is the same as :meth:`cast`."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> Shape | None:
        """The shape, with -1 where it is unknown; None while nothing is known.

        It can be assigned where it is unknown. If that completes the shape of an initialized parameter, the array is
        made at once. A shape that contradicts what is known raises :class:`~gluonx.errors.ShapeError`.
        """
        return self._shape

    @shape.setter
    def shape(self, shape: int | Sequence[int | None] | None) -> None:
        self._learn_shape(as_shape(shape), "the assigned shape")
        self._finish_deferred_init()

    @property
    def grad_req(self) -> str:
        """``'write'``, ``'add'`` or ``'null'``; changing it starts a new gradient of zeros."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, grad_req: str) -> None:
        self._check_grad_req(grad_req)
        if not self._differentiable:
            grad_req = "null"
        if grad_req == self._grad_req:
            return
        if self._home is not None:
            self._home._admit(self, grad_req)
        self._grad_req = grad_req
        Attached.changed()  # also for a parameter in the deferred state
        if self._is_ready and grad_req == "null":
            self._attach()
        elif self._is_ready:
            self._init_grad()

    def _check_grad_req(self, grad_req: str) -> None:
        if grad_req not in _GRAD_REQS:
            raise ArgumentError(f"grad_req of parameter '{self._path}' must be one of {_GRAD_REQS}, got {grad_req!r}")

    @property
    def _whole(self) -> Parameter:
        """The parameter that owns the array: the fused parameter of which this is a piece, or itself."""
        return self if self._home is None else self._home

    @property
    def _is_ready(self) -> bool:
        return self._handle is not None and self._awaiting is None

    # ---------------------------------------------------------------- initialization

    @door
    def initialize(
        self,
        init: InitLike = None,
        device: DevicesLike = None,
        default_init: InitLike = None,
        force_reinit: bool = False,
        ctx: DevicesLike = None,
    ) -> None:
        """Make the array, or let it be made as soon as the shape is known.

        Parameters
        ----------
        init : Initializer or str, optional
            Takes precedence over the parameter's own ``init``.
        device : Device or list of Device, optional
            Where the array lives, or a replica on each; the current device by default. ``ctx`` is its older name.
        default_init : Initializer or str, optional
            The initializer if neither `init` nor the parameter's own is given: ``Uniform(0.07)`` if None.
        force_reinit : bool
            Whether to initialize a parameter again that has an array already; otherwise it keeps it, with a warning.

        Raises
        ------
        ShapeError
            If the shape is unknown and the parameter does not allow that.
        DeviceError
            If one of the devices does not exist, or several are given while a mesh is in use.
        """
        if self._is_ready and not force_reinit:
            warn(Text.KEPT.format(path=self._path))
            return
        self._check_initializable()
        devices = self._checked_devices(ctx if device is None else device)
        first = devices[0]
        chosen = init if init is not None else self.init if self.init is not None else default_init
        chosen = initializer.create(initializer.Uniform() if chosen is None else chosen)
        chosen = initializer.asked(default_init, chosen)
        self._stream = prng.next_stream()
        complete = is_complete(self._shape)
        if not complete or self._overrides("_finish_deferred_init"):
            self._device, self._awaiting = first, chosen
            self._replicate(devices)
            self._make_handle()
            if complete:
                self._finish_deferred_init()
            return
        value = self._initial_value(chosen)
        if self._home is not None and first != self._device:
            self._home.reset_device(first)
        self._device, self._awaiting = first, None
        self._replicate(devices)
        self._begin_with(value, chosen)

    def _checked_devices(self, device: DevicesLike) -> list[Device]:
        """Return the devices that a user gave; raise, before any change, if this machine lacks one of them."""
        devices = device_list(device, self._path)
        for each in devices:
            each.jax_device  # noqa: B018 - raises
        several = len(set(devices)) > 1
        if several and (self._layout is not None or current_mesh() is not None):
            raise DeviceError(
                f"Parameter '{self._path}': a mesh is in use, and {len(devices)} devices were given: {devices}. Leave "
                "the devices out, for the mesh says where parameters lie, or call parallel.use(None) before."
            )
        if several and self._home is not None:
            raise DeviceError(
                f"Parameter '{self._path}' is a piece of '{self._home._path}', which is on one device. Call unfuse() "
                "on the block before it gets several."
            )
        return devices

    def _distinct(self, devices: list[Device]) -> list[Device]:
        """Return each device once, and note whether one was named twice."""
        distinct = list(dict.fromkeys(devices))
        self._repeated = None if len(distinct) == len(devices) else devices
        return distinct

    def _replicate(self, devices: list[Device]) -> None:
        """Make a handle for each of these devices; the first one is the parameter's own."""
        Replicas.version += 1
        devices = self._distinct(devices)
        if len(devices) == 1:
            self._replicas = None
            Attached.changed()
            return
        Replicas.on = True
        old = self._replicas or {}
        self._replicas = {d: old[d] if d in old else ndarray._unknown(self) for d in devices}
        self._replicas[devices[0]] = self._make_handle()
        Attached.changed()

    def _every(self) -> list[Any]:
        """Return the handles of all devices."""
        return [self._handle] if self._replicas is None else list(self._replicas.values())

    def _shardings(self) -> list[Any]:
        """Return the placement of each handle, in the order of `_every`."""
        return [self._sharding(d) for d in ([self._device] if self._replicas is None else self._replicas)]

    def _reduced(self, read: Callable[[Any], np.ndarray] = methodcaller("asnumpy")) -> np.ndarray:
        """Return the value for a file, by applying `read` to each array: the mean of replicas that differ.

        Running statistics differ between replicas.
        """
        self._require_ready()
        value, *rest = map(read, self._every())
        if all(np.array_equal(value, other) for other in rest):
            return value
        return np.mean(np.stack([value, *rest]).astype(np.float64), 0).astype(value.dtype)

    def _check_initializable(self) -> None:
        if not is_complete(self._shape) and not self._allow_deferred_init:
            raise ShapeError(
                f"Cannot initialize parameter '{self._path}': its shape {self._shape} is not fully known. "
                "Give the whole shape, or allow_deferred_init=True to have it found by the first batch."
            )

    def _initial_value(self, init: Any) -> np.ndarray:
        """Return the host array that `init` makes. A ``Mixed`` initializer chooses by the structured name."""
        assert self._shape is not None, "only a known shape can be filled"
        if self._vector_init is not None and len(self._shape) < init._axes:
            init = initializer.create(self._vector_init)
        # As in MXNet, the parameter's own initializer fills it like a weight, whatever its name is.
        desc = initializer.InitDesc(self._structured_name, {"__init__": init})
        before = current_state()  # a user's initializer may compute with arrays; it runs at once, even inside record()
        set_state(at_once())
        try:
            with eval_context(), prng.drawing_from(self._stream):
                return init.make(desc, self._shape, self._dtype)
        finally:
            set_state(before)

    @property
    def _structured_name(self) -> str:
        """The path without the outermost block's class; the plain name if names are unique in this program."""
        return self._name if self._prefixed else self._path.partition(".")[2] or self._name

    # ---------------------------------------------------------------- placement on a mesh

    @property
    def sharding(self) -> NamedSharding | None:
        """The sharding of the array on a mesh; None for one device, and while the shape is unknown.

        Assign a spec on the mesh in use (an entry for each axis: a name of a mesh axis, several, or None), or a
        ``jax.sharding.NamedSharding``. An existing array moves at once, and its gradient becomes zero. An optimizer's
        states follow. See :mod:`gluonx.parallel`.

        Raises
        ------
        DeviceError
            If no mesh is in use, if it has no such axis, or if the sharding is of another type.
        ShapeError
            If an axis cannot be split evenly. If the shape is unknown, this is raised as soon as it is known.
        """
        if self._layout is None or self._shape is None or not is_complete(self._shape):
            return None
        return self._layout(self._shape)

    @sharding.setter
    def sharding(self, sharding: NamedSharding | Spec | None) -> None:
        self._set_layout(layout_of(sharding, f"parameter '{self._path}'"))

    def _set_layout(self, layout: Layout | None) -> None:
        if self._replicas is not None:
            raise DeviceError(
                f"Parameter '{self._path}' has a replica on each of {list(self._replicas)}; to lay it out on a mesh "
                "instead, call reset_device() with one device before."
            )
        if self._home is not None:
            raise DeviceError(
                f"Parameter '{self._path}' is a piece of '{self._home._path}' and lies where that does. "
                "Set the sharding of the fused parameter, or call unfuse() on the block first."
            )
        if layout is not None and self._shape is not None and is_complete(self._shape):
            layout(self._shape)  # raises before anything has changed
        self._layout = layout
        Layouts.version += 1
        if self._is_ready:
            self._handle._put(placed(self._handle.detach(), self._sharding(self._device) or jax.local_devices()[0]))
            self._attach()

    def _sharding(self, device: Device | None, shape: Shape | None = None) -> Any:
        """Return where the array goes: the mesh that it was laid out on or that is in use, else a device."""
        found = placement(device)
        if self._replicas is not None:
            return device
        if self._layout is None and found is None and (mesh := current_mesh()) is not None:
            whole = replicated(mesh)
            self._layout = lambda _: whole
        shape = self._shape if shape is None else shape
        if self._layout is None:
            return found
        assert shape is not None, "only an array of a known shape is put anywhere"
        return self._layout(shape)

    def _make_handle(self) -> ndarray:
        if self._handle is None:
            self._handle = ndarray._unknown(self)
        return self._handle

    def _fill(self, value: np.ndarray, init: InitLike = None) -> None:
        """Put a host array, which `init` may have made, into the handle, and make the gradient."""
        handle = self._make_handle()
        own = (
            getattr(type(init), "make", None) is initializer.Initializer.make
        )  # a user's initializer might keep a reference to the array
        handle._assign_host(value, self._sharding(self._device), copy=None if own else True)
        if self._replicas is not None:
            for other, sharding in zip(self._every()[1:], self._shardings()[1:], strict=True):
                other._assign_host(value, sharding)
        self._init_grad()

    def _forget(self) -> None:
        """Go back to the uninitialized state, after an initialization that failed before anybody saw the handle."""
        self._handle = self._awaiting = self._device = self._replicas = None
        Attached.changed()

    def _attach(self) -> None:
        if self._home is not None:
            self._home._reattach(self)
            return
        for handle in self._every():
            if self._grad_req == "null" or not is_inexact(self._dtype):
                handle._drop_grad()
            else:
                handle.attach_grad(self._grad_req, self._grad_stype)
                handle.variable.owner = self._path

    def _admits(self, shape: Sequence[int]) -> bool:
        """Return whether an array of this shape could be the value."""
        try:
            merge(self._shape, tuple(shape))
        except ValueError:
            return False
        return True

    def _learn_shape(self, shape: Shape | None, what: str) -> None:
        try:
            self._shape = merge(self._shape, shape)
        except ValueError:
            told = Text.CONFLICT.format(path=self._path, declared=self._shape, what=what, other=shape)
            raise ShapeError(told) from None

    def _finish_deferred_init(self) -> None:
        """End the deferred state if the shape is known by now; a subclass may override it, as in MXNet.

        If several threads find the shape, only one of them acts.
        """
        with _finishing:
            if self._awaiting is not None and is_complete(self._shape):
                self._begin_with(self._initial_value(self._awaiting), self._awaiting)
                self._awaiting = None

    def _begin_with(self, value: np.ndarray, init: InitLike) -> None:
        """Give the parameter its first value, which `init` made."""
        if self._overrides("_init_impl"):
            devices = [self._device] if self._replicas is None else list(self._replicas)
            self._init_impl(new_handle(on_device(value)), [Device(d) for d in devices if d is not None])
        else:
            self._fill(value, init)

    def _overrides(self, name: str) -> bool:
        """Return whether the user's class, or this object alone, replaces one of the methods below."""
        return name in self.__dict__ or getattr(type(self), name) is not getattr(Parameter, name)

    # ---------------------------------------------------------------- methods that MXNet programs override

    def _set_trainer(self, trainer: object) -> None:
        """Do nothing: a Trainer that begins to train the parameter calls it, and a class may override it."""

    def _init_impl(self, data: Any, device_list: Sequence[Device]) -> None:
        """Copy `data` to each device, and make a gradient of zeros. A class may override it, a program wrap it."""
        devices = self._checked_devices(list(device_list))
        self._device, self._awaiting = devices[0], None
        self._replicate(devices)
        self._learn_shape(tuple(data.shape), "the data's shape")
        self._fill(np.asarray(data.asnumpy(), self._dtype))

    def _init_grad(self) -> None:
        """Make a gradient of zeros for each device. A class may override it."""
        self._attach()

    def _load_init(
        self,
        data: Any,
        device: DevicesLike = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        ctx: DevicesLike = None,
    ) -> None:
        """Take a loaded value, whether or not there is an array already."""
        host = data.asnumpy()
        if not self._admits(host.shape):
            raise ShapeError(f"Failed to load parameter '{self._path}' of shape {self._shape}: {host.shape} was saved")
        if host.dtype != self._dtype and not cast_dtype:
            raise MismatchError(f"Failed to load parameter '{self._path}' of {self._dtype}: {host.dtype} was saved")
        devices = self._devices_for(ctx if device is None else device)
        self._load(self._staged(host, host.dtype if dtype_source == "saved" else self._dtype, devices), devices)

    def _load_as(self, fresh: ndarray, devices: list[Device], options: Any) -> None:
        """Take over a loaded value, with the class's own `_load_init` if it has one."""
        if self._overrides("_load_init"):
            self._load_init(fresh, devices, options.cast_dtype, options.dtype_source)
        else:
            self._load(fresh, devices)

    def _load(self, fresh: ndarray, devices: list[Device]) -> None:
        """Take over a loaded value as `_adopt` does, but through overridden methods."""
        if not self._is_ready and self._overrides("_init_impl"):
            self._shape, self._dtype = fresh.shape, fresh.dtype
            self._init_impl(fresh, devices)
        elif self._is_ready and self._overrides("set_data"):
            self.set_data(fresh)
        else:
            self._adopt(fresh, devices)

    def _reduce(self) -> ndarray:
        """Return the value on the host, the mean of replicas that differ."""
        if self._stype == "row_sparse" and self._pulling is not None and (trainer := self._pulling()) is not None:
            out, every = self._rows([]), new_handle(on_device(np.arange(self._handle.shape[0])))
            trainer._row_sparse_pull(self, out, every, full_idx=True)
            return out
        return new_handle(on_device(self._reduced()))

    def _check_and_get(self, arr_list: Sequence[Any] | None, device: DeviceLike) -> Any:
        """Return the array on a device from `_data` or `_grad`; the list itself if `device` is ``list``."""
        if arr_list is None:
            raise self._uninitialized_error() if self._handle is None else self._deferred_error()
        if device is list:
            return arr_list
        if device is None and len(arr_list) == 1:
            return arr_list[0]
        wanted = one_device(current_device() if device is None else device, self._path)
        if wanted not in self.list_device():
            raise DeviceError(f"Parameter '{self._path}' is not on {wanted}, but on {self.list_device()}")
        return arr_list[self.list_device().index(wanted)]

    @property
    def _deferred_init(self) -> tuple[Any, ...]:
        """The initialization that waits for the shape: initializer, devices, default, and no data; () if none waits."""
        return () if self._awaiting is None else (self._awaiting, self.list_device(), self._awaiting, None)

    @property
    def _device_list(self) -> list[Device] | None:
        """The devices, or None before there are any."""
        return None if self._data is None else self.list_device()

    @property
    def _device_map(self) -> list[list[int | None]]:
        """The index of each device in the list of arrays, by whether it is a CPU and by its number."""
        found: list[list[int | None]] = [[], []]
        for k, device in enumerate(self._device_list or ()):
            row = found[device.device_type.startswith("cpu")]
            row += [None] * (device.device_id + 1 - len(row))
            row[device.device_id] = k
        return found

    _ctx_list, _ctx_map = _device_list, _device_map

    def _resolve_shape(self, shape: Sequence[int | None]) -> None:
        """Take the shape that an operator infers; the engine calls it when an operator uses the placeholder."""
        self._learn_shape(as_shape(shape), f"what its operator{source_location.in_block()} needs:")
        self._finish_deferred_init()

    def _deferred_error(self) -> DeferredInitializationError:
        """Return the error that reading the placeholder raises."""
        return DeferredInitializationError(
            Text.DEFERRED.format(path=self._path, where=source_location.in_block(), shape=self.shape)
        )

    def _uninitialized_error(self, kind: type[UninitializedError] = UninitializedError) -> UninitializedError:
        return kind(Text.UNINITIALIZED.format(path=self._path, where=source_location.in_block()))

    # ---------------------------------------------------------------- loading

    def _devices_for(self, device: DevicesLike) -> list[Device]:
        """Return the devices of a loaded value: the parameter's, else `device`."""
        if self._device is None:
            return self._checked_devices(device)
        mine = self.list_device()
        wanted = mine if device is None else device_list(device, self._path)
        if list(dict.fromkeys(wanted)) != list(dict.fromkeys(mine)):
            if len(mine) == 1:
                self._check_device(device)
            raise DeviceError(
                f"Parameter '{self._path}' lives on {mine}, not on {wanted}; move it by net.reset_device()."
            )
        return mine

    def _staged(self, value: np.ndarray, dtype: np.dtype, devices: list[Device]) -> ndarray:
        """Return a handle on the value, ready for :meth:`_adopt`; nothing has changed yet."""
        fresh = ndarray._unknown(self)
        fresh._assign_host(value.astype(dtype, copy=False), self._sharding(devices[0], value.shape))
        return fresh

    def _adopt(self, fresh: ndarray, devices: list[Device]) -> None:
        """Take over the value of a handle that nobody else uses."""
        if self._home is not None:
            self._home.cast(fresh.dtype)
        keeps_grad = self._is_ready and fresh.dtype == self._dtype
        handle = self._make_handle()
        if fresh.dtype != self._dtype:
            self._changed()
        self._shape, self._dtype, self._device, self._awaiting = fresh.shape, fresh.dtype, devices[0], None
        self._replicate(devices)
        handle._put(fresh)
        for other, sharding in zip(self._every()[1:], self._shardings()[1:], strict=True):
            other._assign_host(fresh.asnumpy(), sharding)
        if not keeps_grad:
            self._attach()

    # ---------------------------------------------------------------- values and gradients

    def data(self, device: DeviceLike = None, ctx: DeviceLike = None) -> ndarray:
        """Return the array: the same handle for the whole life of the parameter.

        Parameters
        ----------
        device : Device, optional
            The device of the wanted replica, if there are several; the current device by default, which in a block is
            the device of its first input. With one device it is only checked. ``ctx`` is its older name.

        Returns
        -------
        gluonx.np.ndarray
            An array of the parameter's shape and dtype. While the shape is unknown, it can be given to operators, which
            infer the shape; reading it raises :class:`~gluonx.errors.DeferredInitializationError`.

        Raises
        ------
        UninitializedError
            Before ``initialize``.
        DeviceError
            If the parameter lives on another device.
        """
        handle = self._handle
        if device is None:
            device = ctx
        if handle is not None and self._replicas is None and (device is None or device == self._device):
            return handle
        if self._replicas is not None:
            return self._replica(device)
        if handle is None:
            if finds_shapes():
                return self._stand_in()
            raise self._uninitialized_error()
        self._check_device(device)
        return handle

    def _replica(self, device: DevicesLike) -> ndarray:
        """Return the handle for a device, the current one if None. In a trace, which serves all devices, the first."""
        assert self._replicas is not None, "asked of parameters on several devices"
        if current_state().trace is not None:
            return self._handle
        found = self._replicas.get(one_device(device, self._path))
        if found is None:
            where_now = f"not on {device}" if device is not None else f"and the current device is {current_device()}"
            raise DeviceError(
                f"Parameter '{self._path}' lives on {list(self._replicas)}, {where_now}. Say which is meant, as in "
                f"data({next(iter(self._replicas))}), or take list_data(); in a block it is that of the first input."
            )
        return found

    def _stand_in(self) -> ndarray:
        """Return an array for an uninitialized parameter while only shapes are inferred."""
        if is_complete(self.shape):
            return new_handle(jax.numpy.zeros(self.shape, self.dtype))
        return ndarray._unknown(self)

    def _check_device(self, device: DevicesLike) -> None:
        wanted = one_device(device, self._path)
        if wanted != self._device and current_state().trace is None:  # a traced input has no device yet
            raise DeviceError(
                f"Parameter '{self._path}' lives on {self._device}, not on {wanted}. "
                f"Bring the data there, x.to_device({self._device}), or move the net, net.reset_device({wanted})."
            )

    def _require_ready(self) -> ndarray:
        if self._handle is None:
            raise self._uninitialized_error()
        if self._awaiting is not None:
            raise self._deferred_error()
        return self._handle

    def list_data(self) -> list[ndarray]:
        """Return the arrays in a list, one for each device."""
        self._require_ready()
        return self._every() if self._repeated is None else [self.data(device) for device in self._repeated]

    @door
    def set_data(self, data: ArrayLike) -> None:
        """Write a copy of `data` into the parameter.

        Works at any time: outside ``record``, inside it (gradients of what was recorded before keep the old value), and
        in the forward of a hybridized block (the write becomes an output of its program).

        Parameters
        ----------
        data : ndarray or array_like
            Has the parameter's shape, if that is known; it is cast to the parameter's dtype.

        Raises
        ------
        ShapeError
            If the shapes differ.
        TypeError
            If `data` is not numeric.
        UninitializedError
            Before ``initialize``.
        """
        if self._handle is None:
            raise self._uninitialized_error(NotInitializedYet)
        if not isinstance(data, (ndarray, jax.Array)):
            data = np.asarray(data)
        if isinstance(data, np.ndarray) and data.dtype.kind in "OSU":
            raise TypeError(f"Parameter '{self._path}' cannot hold data of type {data.dtype}; numbers were expected.")
        shape = tuple(data.shape)
        if shape != self._shape:
            self._learn_shape(shape, "the data's shape")
        self._write(data)
        if self._awaiting is not None:
            self._awaiting = None
            self._init_grad()

    def _write(self, data: Any) -> None:
        """Assign a copy of `data`, without recording it."""
        before = current_state()
        handles = [self._handle] if before.trace is not None else self._every()
        for handle in handles:
            handle._check_write()
        if isinstance(data, np.ndarray) and before.trace is None:
            data = data if data.dtype == self._dtype else cast(data, self._dtype)
            for handle, sharding in zip(handles, self._shardings(), strict=True):
                handle._assign_host(data, sharding)
            return
        set_state(state_with(recording=False))
        try:
            if data.dtype != self._dtype:
                data = data.astype(self._dtype)
            if self._replicas is not None and before.trace is None:
                for handle, replica in zip(handles, self._replicas, strict=True):
                    handle._assign_copy((data if isinstance(data, ndarray) else new_handle(data)).to_device(replica))
                return
            self._handle._assign_copy(data if before.trace is not None else self._brought(data))
        finally:
            set_state(before)

    def _brought(self, data: Any) -> ndarray:
        """Return `data` on this parameter's device, or with its sharding."""
        if self._layout is not None:
            return placed(data if isinstance(data, ndarray) else new_handle(data), self._sharding(self._device))
        if isinstance(data, ndarray) and data.aval is not None and self._handle.aval is not None:
            if data.aval.sharding is self._handle.aval.sharding:
                return data
        elif not isinstance(data, ndarray):
            data = new_handle(data)
        return data.to_device(self._device)

    @door
    def grad(self, device: DeviceLike = None, ctx: DeviceLike = None) -> ndarray:
        """Return the gradient of the last backward pass, zeros before the first.

        Returns
        -------
        gluonx.np.ndarray
            Of the parameter's shape and dtype.

        Raises
        ------
        UninitializedError, DeferredInitializationError
            While there is no array.
        GluonxError
            If ``grad_req`` is ``'null'``.
        """
        handle = self._require_ready()
        if self._replicas is not None:
            handle = self._replica(ctx if device is None else device)
        grad = handle.grad
        if grad is None:
            why = "its grad_req is 'null'" if self._grad_req == "null" else f"it is of dtype {self._dtype}"
            raise GluonxError(Text.NO_GRAD.format(path=self._path, why=why))
        if self._replicas is None and (device is not None or ctx is not None):
            self._check_device(ctx if device is None else device)
        return grad

    @property
    def _data(self) -> list[Any] | None:
        """The arrays in a list, or None; MXNet programs read it to see whether there is a value."""
        return _Arrays(self._every()) if self._is_ready else None

    @_data.setter
    def _data(self, arrays: object) -> None:
        """Refuse other arrays: a parameter keeps its own, and whoever holds the list would see them written to."""
        raise GluonxError(
            f"Parameter '{self._path}': _data cannot be replaced. Give values with set_data(value), and keep "
            "data().copy() of what you want to put back later."
        )

    @property
    def _grad(self) -> list[Any] | None:
        """The gradients in a list, or None."""
        return _Arrays([h.grad for h in self._every()]) if self._is_ready and self._handle.grad is not None else None

    @property
    def _uuid(self) -> str:
        """A name that no other parameter has."""
        return self.__dict__.setdefault("_own_uuid", str(uuid.uuid4()))

    def list_grad(self) -> list[ndarray]:
        """Return the gradients in a list, one for each device.

        For a device that was named twice, all but its last entry are zeros.
        """
        if (devices := self._repeated) is not None:
            found = [self.grad(device) for device in devices]
            zeros = [new_handle(jax.numpy.zeros(g.shape, g.dtype)) for g in found]
            return [zeros[k] if d in devices[k + 1 :] else found[k] for k, d in enumerate(devices)]
        return [self.grad()] if self._replicas is None else [self.grad(device) for device in self._replicas]

    def zero_grad(self) -> None:
        """Set the gradient to zero, if there is one."""
        if self._is_ready:
            for handle in self._every():
                handle.zero_grad()

    # ---------------------------------------------------------------- device and dtype

    def list_device(self) -> list[Device]:
        """Return the devices, usually one. Raises :class:`~gluonx.errors.UninitializedError` before ``initialize``."""
        if self._handle is None or self._device is None:
            raise self._uninitialized_error()
        devices = self._repeated or ([self._device] if self._replicas is None else self._replicas)
        return [Device(each) for each in devices]

    def list_ctx(self) -> list[Device]:
        """Return the devices: the older name of `list_device`."""
        return self.list_device()

    def reset_device(self, device: DevicesLike) -> None:
        """Move the array to another device, or make a replica on each of several; its gradient becomes zero.

        Replicas that differ, as running statistics do, are replaced by their mean.

        Raises
        ------
        UninitializedError
            Before ``initialize``.
        DeviceError
            If one of the devices does not exist.
        """
        if self._handle is None:
            raise self._uninitialized_error(NotInitializedYet)
        devices = self._checked_devices(device)
        if self._home is not None:
            return self._home.reset_device(self._distinct(devices)[0])
        changes = devices != self.list_device() or self._layout is not None
        value = self._reduced() if changes and self._is_ready else None
        self._device = devices[0]
        self._replicate(devices)
        if value is not None:
            self._layout = None
            Layouts.version += 1
            self._fill(value)

    def reset_ctx(self, ctx: DevicesLike) -> None:
        """Call :meth:`reset_device`; this is its older name."""
        self.reset_device(ctx)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype. The handle stays the same; its gradient becomes zero."""
        dtype = canonical(dtype)
        if dtype == self._dtype:
            return
        if self._home is not None:
            return self._home.cast(dtype)
        if self._is_ready:
            fresh = [handle.detach().astype(dtype) for handle in self._every()]
            self._dtype = dtype
            for handle, value in zip(self._every(), fresh, strict=True):
                handle._put(value)
            self._attach()
        self._dtype = dtype
        self._changed()

    def _changed(self) -> None:
        """Tell the blocks that hold this parameter that it has changed."""
        if self._structure is not None:
            self._structure.changed()

    # ---------------------------------------------------------------- rows, and symbols

    def row_sparse_data(self, row_id: ArrayLike) -> ndarray:
        """Return some rows of the array as a row_sparse array; their gradient is the parameter's.

        Parameters
        ----------
        row_id : array_like
            Row numbers, in any order; repeats are allowed. If the parameter is on several devices, the rows are taken
            from the replica on the device of this ndarray.

        Raises
        ------
        GluonxError
            If the parameter was not made with ``stype='row_sparse'``.
        """
        if self._stype != "row_sparse":
            raise GluonxError(Text.NOT_SPARSE.format(path=self._path, stype=self._stype))
        if self._overrides("_get_row_sparse"):
            return self._get_row_sparse(self._data, row_id.device if isinstance(row_id, ndarray) else None, row_id)
        return self._get_row_sparse(None, None, row_id)

    def _get_row_sparse(self, arr_list: object, device: object, row_id: ArrayLike) -> ndarray:
        """Return rows; a class may override it, with MXNet's arguments, of which the last says all."""
        trainer = None if self._pulling is None else self._pulling()
        if trainer is None:
            return self._rows(row_id)
        out = self._rows([])
        trainer._row_sparse_pull(self, out, row_id)
        return out

    def _rows(self, row_id: ArrayLike) -> ndarray:
        """Return some rows of the array as a row_sparse array."""
        from gluonx.sparse.functions import rows_of

        table = self._require_ready()
        if self._replicas is not None:
            table = self._replica(row_id.device if isinstance(row_id, ndarray) else None)
        return rows_of(table, row_id)

    def list_row_sparse_data(self, row_id: ArrayLike) -> list[Any]:
        """Return the results of `row_sparse_data` in a list, one for each device."""
        if self._replicas is None:
            return [self.row_sparse_data(row_id)]
        found = []
        for device in self._replicas:
            with device:
                found.append(self.row_sparse_data(np.asarray(row_id)))
        return found

    def var(self) -> Any:
        """Return the symbol with the parameter's name, in a program that runs as MXNet; the same one at each call.

        Raises
        ------
        GluonxError
            In other programs, which have no symbols.
        """
        found = NAMES["gluonx.gluon.Parameter.var"](self)
        if found is None:
            raise GluonxError(Text.NO_SYMBOL.format(path=self._path))
        return found

    # ---------------------------------------------------------------- copying

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the array on the host; the gradient is left out."""
        state = {**self.__dict__, "_home": None}
        state.pop("_plan", None)
        state.pop("_structure", None)
        state.pop("_pulling", None)  # the Trainer says it again
        state.pop("_layout", None)  # devices belong to this process
        handle = state.pop("_handle")
        state["_device"] = None if self._device is None else Device(self._device)
        if self._replicas is not None or self._repeated is not None:
            state["_replicas"] = self.list_device()
        return {
            **state,
            "_host": (self._reduced() if self._home is None else handle.asnumpy()) if self._is_ready else None,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        value = state.pop("_host")
        devices = state.pop("_replicas", None)
        vars(with_own_dict(self)).update(state, _handle=None)
        if devices is not None:
            self._replicate(devices)
        if value is not None:
            self._fill(value)
        elif self._awaiting is not None:
            self._make_handle()


class _Arrays(list[Any]):
    """The arrays of a parameter. Assigning an item writes into the array that is there."""

    def __setitem__(self, index: Any, value: Any) -> None:
        for held, new in zip(self[index], value, strict=True) if isinstance(index, slice) else [(self[index], value)]:
            held[...] = new


class Constant(Parameter):
    """A parameter that is not trained and that starts with a given value.

    Parameters
    ----------
    value : array_like
        An ndarray keeps its dtype; anything else becomes float32, as in ``np.array``.

    Examples
    --------
    >>> c = Constant([[1, 2], [3, 4]])
    >>> c.initialize()
    >>> c
    Constant (shape=(2, 2), dtype=float32)
    """

    def __init__(self, value: object) -> None:
        host = value.asnumpy() if isinstance(value, ndarray) else np.asarray(value, np.float32)
        self._value = np.array(host)
        super().__init__(
            name="const", grad_req="null", shape=host.shape, dtype=host.dtype, init=initializer.Constant(self._value)
        )

    @property
    def value(self) -> ndarray:
        """The initial value, as a new array."""
        return array(self._value, dtype=self._value.dtype)

    @property
    def grad_req(self) -> str:
        """Always ``'null'``; assigning anything else only warns."""
        return "null"

    @grad_req.setter
    def grad_req(self, grad_req: str) -> None:
        if grad_req != "null":
            warn(f"Constant parameter '{self._path}' is never trained: grad_req={grad_req!r} is ignored.")


def __dir__() -> list[str]:
    return sorted(__all__)
