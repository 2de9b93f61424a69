"""One array that many parameters share: the fused parameter, and the handles that are views into it.

The invariant of :mod:`gluonx.parameter` still holds: a parameter has one handle for its whole life. When it becomes a
piece of a :class:`FusedParameter`, its handle, the same object, becomes a :class:`Piece`, which reads from the fused
array and writes through to it. So code that held the array of a query's weight before still holds it, and sees what
training does.

A piece keeps its own settings for optimizers (``lr_mult``, ``wd_mult``, ``grad_req``); the fused parameter passes them
on. Properties of a whole array (dtype, device) belong to the fused one: casting or moving a piece casts or moves all of
them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.block.fusion.layout import Fused, Layout, keeper, reader, writer
from gluonx.block.parameter import Parameter
from gluonx.block.structure import Shape, Text, as_shape, is_complete, merge, placement
from gluonx.common.frames import door
from gluonx.deferred.record.engine import invoke
from gluonx.deferred.record.graph import current_graph, settle
from gluonx.deferred.values.core import (
    Handle,
    Pending,
    Tracer,
    current_state,
    handle_class,
    intern_aval,
    new_handle,
    record_scope,
    set_variable,
)
from gluonx.deferred.values.shapes import Zeros
from gluonx.device import Device, DeviceLike
from gluonx.dtype import WIDE, DTypeLike, keeping_64_bits, on_device
from gluonx.errors import FusionError, GraphError, NotInitializedYet, ShapeError, UninitializedError
from gluonx.np.handle import ndarray
from gluonx.sharding import layout_of

if TYPE_CHECKING:
    from gluonx.initializer import Initializer


__all__ = ["FusedParameter", "Piece", "check_alike", "dissolve", "is_in_use"]

_MIXED = (
    "The pieces of '{path}' share one gradient, so those that are trained must have the same grad_req; '{piece}' would "
    "be {new!r} beside {old!r}. Set it on all at once: net.collect_params()['{name}'].grad_req = {new!r}."
)
_TWO_REQS = "{path}: pieces with grad_req 'write' and 'add' cannot share one gradient; '{piece}' has {req!r}."
_NOT_NOW = (
    "Parameter '{path}' cannot be fused here, in a trace or between a forward and its backward. Its pieces are there: "
    "collect_params(fused=False) lists them."
)
_DISSOLVED = "Parameter '{path}' is no more: it was unfused. Call collect_params() for the parameters there are now."

_get: Any = Handle.value.__get__  # type: ignore[attr-defined]
_set: Any = Handle.value.__set__  # type: ignore[attr-defined]


class _Link:
    """The value slot of a Piece: the fused array that it is cut from, and the value seen there last."""

    __slots__ = ("base", "cached", "layout", "number", "owner", "seen", "seen_in")

    def __init__(self, base: ndarray, layout: Layout, number: int, owner: FusedParameter | None) -> None:
        self.base, self.layout, self.number, self.owner = base, layout, number, owner
        self.cached: Any = None
        self.seen: Any = None  # weak: a reference to a buffer would keep a step from reusing it
        self.seen_in: Any = None


class Piece(ndarray):
    """A part of a fused array: it reads from it, and writes through to it. See the module's docstring."""

    __slots__ = ()

    derived = True

    def is_current(self) -> bool:
        """Return whether the cached value still belongs to the fused array's, and was recorded if it must be now."""
        link = _get(self)
        state = current_state()
        if state.trace is not None or (state.recording and link.seen_in is not record_scope.get()):
            return False
        base = link.base
        if link.seen is None or (base.derived and not base.is_current()):
            return False
        current, seen = base.value, link.seen()
        if seen is None:
            return False
        return current is seen or (type(seen) is Pending and seen.value is not None and seen.value is current)

    @property
    def value(self) -> Any:  # type: ignore[override]
        """The piece's value, cut out again if the fused array has changed since."""
        link = _get(self)
        if self.is_current():
            return link.cached
        state = current_state()
        taken = invoke(reader(link.layout, link.number), (link.base,))
        if state.trace is not None or isinstance(taken.value, Tracer):
            return taken.value  # it belongs to a trace and must not be cached beyond it
        link.cached, link.seen = taken.value, ref(link.base.value)
        link.seen_in = record_scope.get() if state.recording else None
        self.tape = taken.tape
        self.aval = taken.aval if taken.aval is not None else self.aval
        return taken.value

    @value.setter
    def value(self, value: object) -> None:
        _get(self).cached = value

    @property
    def device(self) -> Device:
        """The device of the fused array."""
        return _get(self).base.device

    ctx = context = device

    @property
    def grad(self) -> ndarray | None:
        """The piece of the fused array's gradient; None if the piece is not trained."""
        link = _get(self)
        variable, owner = link.base.variable, link.owner
        if variable is None or owner is None or owner.pieces[link.number]._grad_req == "null":
            return None
        return _become_piece(new_handle(None), variable.grad, link.layout, link.number, None)

    def whole(self) -> ndarray:
        """Return the fused array."""
        return _get(self).base

    def part_of(self, other: Any) -> ndarray:
        """Return the part of an array shaped like the fused one at the position of this piece."""
        link = _get(self)
        return invoke(reader(link.layout, link.number), (other,))

    def zero_grad(self) -> None:
        """Set this piece of the gradient to zeros."""
        grad: Any = self.grad
        if grad is not None and not isinstance(_get(grad).base.value, Zeros):
            grad[...] = 0

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Raise: the gradient of a piece is the fused array's."""
        raise GraphError(
            "a fused parameter's piece has its gradient from the fused array; set the Parameter's grad_req"
        )

    def _drop_grad(self) -> None:
        raise AssertionError("FusedParameter decides about gradients of its pieces")

    def asnumpy(self) -> np.ndarray:
        """Return a NumPy copy, which may be written to."""
        link = _get(self)
        if current_state().trace is not None:
            return super().asnumpy()
        return np.array(link.layout.part(np.asarray(link.base._read()), link.number))

    def _assign(self, new: Handle) -> None:
        self._check_write()
        self._put(new)

    def _check_write(self) -> None:
        _get(self).base._check_write()

    def _put(self, new: Handle, written: bool = True) -> None:
        link = _get(self)
        link.base._put(invoke(writer(link.layout, link.number), (link.base, new)))

    def _assign_host(self, value: np.ndarray, device: DeviceLike = None, copy: bool | None = None) -> None:
        link = _get(self)
        with jax.ensure_compile_time_eval():
            whole = np.asarray(settle(link.base))
            new = link.layout.replace(whole, link.number, np.asarray(value, whole.dtype))
        link.base._assign_host(np.asarray(new), device)


jax.tree_util.register_pytree_node(Piece, lambda x: ((x._raw(),), None), lambda _, children: new_handle(children[0]))


def _become_piece(handle: ndarray, base: ndarray, layout: Any, number: int, owner: FusedParameter | None) -> ndarray:
    """Turn a plain handle into a view of `base`; this cannot fail."""
    value = base.value
    sharding = base.aval.sharding if base.aval is not None else value.sharding if isinstance(value, Zeros) else None
    handle.tape = None
    handle.aval = intern_aval(tuple(layout.shapes[number]), base.dtype, sharding)
    handle.value = _Link(base, layout, number, owner)
    handle.__class__ = Piece
    set_variable(handle, None)
    return handle


def _become_plain(handle: Handle, value: object) -> None:
    """Turn a Piece into an array of its own again."""
    handle.__class__ = handle_class()
    handle.value, handle.aval, handle.tape = value, None, None
    set_variable(handle, None)


def _of_pieces(attribute: str, what: str) -> property:
    """Return a property with the value that all pieces have, or a tuple if they differ; assignment sets it on all."""

    def get(self: FusedParameter) -> Any:
        values = [getattr(p, attribute) for p in self.pieces]
        return values[0] if values.count(values[0]) == len(values) else tuple(values)

    def put(self: FusedParameter, value: object) -> None:
        for piece in self.pieces:
            setattr(piece, attribute, value)

    return property(get, put, doc=f"The pieces' {what}; a tuple where they differ.")


class FusedParameter(Parameter):
    """The parameter of which several others are pieces. ``Block.fuse`` makes it.

    It is what ``collect_params`` returns and a Trainer sees. Setting ``lr_mult``, ``wd_mult``, ``init`` or ``grad_req``
    sets it on all pieces; reading it returns their common value, or a tuple if they differ.

    If it is made from a declaration instead of a layout, it *waits*: it has no array yet, its pieces hold the values,
    and operations on it are applied to them. It becomes one array when all of them have values, and stays the same
    object.

    Attributes
    ----------
    pieces : tuple of Parameter
    names : tuple of str
        The pieces' names below the block that declared the fusion.
    layout : gluonx.common.packing.Layout or None
        The position of each piece; None while it waits.

    Raises
    ------
    FusionError
        If the pieces differ in dtype or device, or are trained with different ``grad_req``. Nothing has changed then.
    """

    layout: Any

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        pieces: Sequence[Parameter],
        layout: Any,
        path: str,
        complete: Callable[[int], dict[str, Shape]] | None = None,
    ) -> None:
        self.pieces, self.names, self.layout = tuple(pieces), tuple(names), None
        self._name, self._path, self._prefixed = name, path, False
        self.owners: WeakSet[Any] = WeakSet()  # the Fusions of the blocks whose fused parameter it is
        self._handle = self._awaiting = self._home = None
        self._shape, self._dtype, self._device = None, self.pieces[0]._dtype, None
        self._differentiable, self._allow_deferred_init = True, True
        self._stype = self._grad_stype = "default"
        self._complete = complete  # infers the shapes of the pieces from the size of the whole
        self._declared, self._waits = layout, isinstance(layout, Fused)
        if self._waits:
            for piece in self.pieces:
                piece._plan = self
        else:
            self.join(layout)

    def join(self, layout: Any) -> None:
        """Become one array of the pieces' values; called when it is new or waits."""
        check_alike(self._path, self.names, self.pieces)
        req = self._common_req()
        handle = new_handle(self._joined(layout, [p._handle for p in self.pieces]))
        grads = self._joined_grads(layout)
        # From here on nothing can fail.
        first = self.pieces[0]
        self.layout, self._handle, self._grad_req, self._waits, self._complete = layout, handle, req, False, None
        self._shape, self._dtype, self._device = tuple(layout.shape), first._dtype, first._device
        self._layout = None if first.sharding is None else layout_of(first.sharding, self._path)
        self._attach()
        for i, piece in enumerate(self.pieces):
            before = piece._handle.variable
            _become_piece(piece._handle, self._handle, layout, i, self)
            if before is not None and self._handle.variable is not None:
                _become_piece(before.grad, self._handle.variable.grad, layout, i, None)
            piece._home, piece._plan = self, None
        if grads is not None:
            variable: Any = self._handle.variable
            variable.grad.value, variable.grad.aval, variable.fresh = grads[0], None, grads[1]
        self._changed()

    def _changed(self) -> None:
        for piece in self.pieces:
            piece._changed()

    # ---------------------------------------------------------------- properties that all pieces share

    def _common_req(self) -> str:
        reqs = {p._grad_req: name for p, name in zip(self.pieces, self.names, strict=True) if p._grad_req != "null"}
        if len(reqs) > 1:
            raise FusionError(_TWO_REQS.format(path=self._path, piece=reqs["add"], req="add"))
        return next(iter(reqs), "null")

    def _joined(self, layout: Any, handles: Sequence[Any]) -> jax.Array:
        """Return the fused array of the handles' values."""
        with jax.ensure_compile_time_eval():
            values = [settle(h) for h in handles]
            if any(isinstance(v, Tracer) for v in values):
                raise FusionError(f"{self._path}: cannot fuse inside of a trace.")
            if any(len(v.devices()) > 1 for v in values):
                return jax.device_put(layout.join(values), values[0].sharding)
            whole = np.asarray(layout.join([np.asarray(v) for v in values]))
            made = new_handle(None)
            made._assign_host(whole, placement(self.pieces[0]._device))
            return made.value

    def _joined_grads(self, layout: Any) -> tuple[Any, bool] | None:
        """Return the existing gradients, joined, and whether they are fresh; usually None."""
        variables = [p._handle.variable for p in self.pieces]
        if all(v is None or isinstance(v.grad.value, Zeros) for v in variables):
            return None
        grads = [
            new_handle(on_device(np.zeros(p._shape or (), p._dtype))) if v is None else v.grad
            for p, v in zip(self.pieces, variables, strict=True)
        ]
        return self._joined(layout, grads), all(v is None or v.fresh for v in variables)

    # ---------------------------------------------------------------- before there is an array

    def settle(self) -> None:
        """Become one array, if all pieces have values by now. Raises FusionError if they cannot be fused."""
        if not self._waits or not all(p._is_ready for p in self.pieces):
            return
        for part in list(self.owners):
            part.settle(self)
        if not self.owners and current_state().trace is None:  # a copy, which belongs to no block
            self.join(self._declared.layout([p.shape for p in self.pieces]))

    def give_up(self) -> None:
        """Stop waiting: the pieces stay apart."""
        self._waits, self._complete = False, None
        for piece in self.pieces:
            piece._plan = None

    def is_plan(self, declared: Fused, pieces: Sequence[Any]) -> bool:
        """Return whether it waits to become what `declared` makes of `pieces`."""
        own = self._declared
        kinds = (own.how, own.axis, own.transposed) == (declared.how, declared.axis, declared.transposed)
        return self._waits and kinds and list(self.pieces) == list(pieces)

    def _uninitialized_error(self, kind: type[UninitializedError] = UninitializedError) -> Exception:
        if not self._waits:
            return kind(_DISSOLVED.format(path=self._path))
        if any(p._handle is None for p in self.pieces):
            return super()._uninitialized_error(kind)
        if any(p._awaiting is not None for p in self.pieces):
            return self._deferred_error()
        return FusionError(_NOT_NOW.format(path=self._path))

    @property
    def shape(self) -> Shape | None:
        """The shape, with -1 where it is unknown. Assigning it sets the shapes of the pieces as far as possible."""
        if not self._waits:
            return self._shape
        with contextlib.suppress(ValueError):  # incompatible shapes are reported when they are fused
            return self._declared.shape_of([p.shape for p in self.pieces])
        return None

    @shape.setter
    def shape(self, shape: int | Sequence[int | None] | None) -> None:
        told = as_shape(shape)
        if not self._waits:
            self._learn_shape(told, "the assigned shape")
        elif told is not None:
            for piece, found in zip(self.pieces, self._shapes_within(told, "the assigned shape"), strict=True):
                piece.shape = found
            self.settle()

    def _shapes_within(self, whole: Shape, what: str) -> list[Shape | None]:
        """Return the shapes of the pieces of a fused array with shape `whole`, as far as they are determined.

        Raises ShapeError if they are not compatible.
        """
        known = [p.shape for p in self.pieces]
        try:
            merge(self.shape, whole)
            found = self._declared.shapes_within(whole, known)
            if self._complete is not None and is_complete(whole):
                named = self._complete(math.prod(whole))
                found = [merge(s, named.get(name)) for s, name in zip(found, self.names, strict=True)]
                if not named:
                    raise ValueError
            merge(self._declared.shape_of(found), whole)
        except ValueError:
            told = Text.CONFLICT.format(path=self._path, declared=self.shape, what=what, other=whole)
            raise ShapeError(told) from None
        return found

    @property
    def dtype(self) -> np.dtype:
        """The ``numpy.dtype`` of all pieces; assigning is :meth:`cast`."""
        return self.pieces[0].dtype if self._waits else self._dtype

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        self.cast(dtype)

    def data(self, device: DeviceLike = None, ctx: DeviceLike = None) -> ndarray:
        """Return the array; see :meth:`Parameter.data`. While it waits, raise an error that says for what."""
        if self._waits:
            self.settle()
        return super().data(device, ctx)

    def _require_ready(self) -> ndarray:
        if self._waits:
            self.settle()
        return super()._require_ready()

    @door
    def set_data(self, data: Any) -> None:
        """Write a copy of `data`; see :meth:`Parameter.set_data`. If it waits, the pieces get their shapes from it."""
        self.settle()
        if not self._waits:
            super().set_data(data)
        elif any(p._handle is None for p in self.pieces):
            raise self._uninitialized_error(NotInitializedYet)
        else:
            value = (
                data._read() if isinstance(data, ndarray) else data if isinstance(data, jax.Array) else np.asarray(data)
            )
            shapes = self._shapes_within(tuple(value.shape), "the data's shape")
            if not all(map(is_complete, shapes)):
                raise self._deferred_error()
            with keeping_64_bits(value.dtype in WIDE):
                parts = self._declared.layout(shapes).split(value)
            for piece, part in zip(self.pieces, parts, strict=True):
                piece.set_data(part)
            self.settle()

    def zero_grad(self) -> None:
        """Set the gradient to zero, if there is one."""
        if not self._waits:
            return super().zero_grad()
        for piece in self.pieces:
            piece.zero_grad()

    def list_device(self) -> list[Any]:
        """Return the device, in a list of one."""
        return self.pieces[0].list_device() if self._waits else super().list_device()

    # ---------------------------------------------------------------- what the pieces decide

    lr_mult: Any = _of_pieces("lr_mult", "factor of the learning rate")
    wd_mult: Any = _of_pieces("wd_mult", "factor of the weight decay")
    init: Any = _of_pieces("init", "initializer")

    @property
    def grad_req(self) -> str:
        """``'null'`` if no piece is trained, else the common value of those that are."""
        if self._waits:
            return next((p._grad_req for p in self.pieces if p._grad_req != "null"), "null")
        return self._grad_req

    @grad_req.setter
    def grad_req(self, grad_req: str) -> None:
        self._check_grad_req(grad_req)
        if self._waits:
            for piece in self.pieces:
                if piece._differentiable:
                    piece.grad_req = grad_req
            return
        changes = [p for p in self.pieces if p._differentiable and p._grad_req != grad_req]
        for piece in changes:
            piece._grad_req = grad_req
        if changes:
            self._grad_req = self._common_req()
            self._attach()

    def _admit(self, piece: Parameter, grad_req: str) -> None:
        """Raise if `piece` cannot have that grad_req together with the others."""
        others = {p._grad_req for p in self.pieces if p is not piece} - {"null"}
        if grad_req != "null" and others - {grad_req}:
            name = self.names[self.pieces.index(piece)]
            raise FusionError(
                _MIXED.format(path=self._path, piece=name, new=grad_req, old=next(iter(others)), name=self._name)
            )

    def _attach(self) -> None:
        """Give the array its gradient, in which pieces that are not trained are zero."""
        super()._attach()
        variable = self._handle.variable
        keeps = tuple([p._grad_req != "null" for p in self.pieces])
        if variable is not None and not all(keeps):
            variable.keeps = keeper(self.layout, keeps)

    def _reattach(self, piece: Parameter) -> None:
        """Renew the gradient after `piece` got another grad_req: its part starts with zeros, the others' stay."""
        before = self._handle.variable
        self._grad_req = self._common_req()
        self._attach()
        now = self._handle.variable
        if before is not None and now is not None:
            now.grad, now.fresh = before.grad, before.fresh
            if piece._grad_req == "null":
                before.keeps = now.keeps  # the backward of what is already recorded ends there
            if not isinstance(now.grad.value, Zeros):
                part = _become_piece(new_handle(None), now.grad, self.layout, self.pieces.index(piece), None)
                part[...] = 0

    # ---------------------------------------------------------------- the array as a whole

    def initialize(
        self,
        init: Initializer | str | None = None,
        device: DeviceLike = None,
        default_init: Initializer | str | None = None,
        force_reinit: bool = False,
        ctx: DeviceLike = None,
    ) -> None:
        """Initialize each piece by its own initializer; see :meth:`Parameter.initialize`."""
        todo = [p for p in self.pieces if force_reinit or not p._is_ready]
        for piece in todo or self.pieces[:1]:  # if there is nothing to do, one piece warns of it
            piece.initialize(init, device, default_init, force_reinit, ctx)
        with contextlib.suppress(FusionError):  # the first call reports it
            self.settle()

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of all pieces."""
        if self._waits:
            for piece in self.pieces:
                piece.cast(dtype)
            return
        self._require_ready()
        super().cast(dtype)
        self._tell_pieces()

    def reset_device(self, device: DeviceLike) -> None:
        """Move all pieces."""
        if self._waits:
            for piece in self.pieces:
                piece.reset_device(device)
            return
        super().reset_device(device)
        self._tell_pieces()

    def _set_layout(self, layout: Any) -> None:
        super()._set_layout(layout)
        self._tell_pieces()

    def _load(self, fresh: Any, devices: Any) -> None:
        self._adopt(fresh, devices)

    def _adopt(self, fresh: Any, devices: Any) -> None:
        super()._adopt(fresh, devices)
        self._tell_pieces()

    def _tell_pieces(self) -> None:
        """Copy the dtype and the device of the whole to the pieces."""
        for piece, shape in zip(self.pieces, self.layout.shapes, strict=True):
            piece._dtype, piece._device, piece._layout = self._dtype, self._device, self._layout
            piece._handle.aval = intern_aval(tuple(shape), self._dtype, self._handle._placed())

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle as its pieces, which are then fused again."""
        layout = self._declared if self.layout is None else self.layout
        return FusedParameter, (self._name, self.names, self.pieces, layout, self._path)


def check_alike(path: str, names: Sequence[str], pieces: Sequence[Parameter]) -> None:
    """Raise if these pieces cannot be one array now."""
    first = pieces[0]
    for name, piece in zip(names, pieces, strict=True):
        if piece._dtype != first._dtype:
            raise FusionError(
                f"{path}: the piece '{name}' is {piece._dtype}, '{names[0]}' is {first._dtype}; the pieces of one "
                "array have one dtype. Cast them first."
            )
        if piece.sharding is not None and piece.sharding.spec:
            raise FusionError(
                f"{path}: the piece '{name}' is split over a mesh, {tuple(piece.sharding.spec)}, and fused arrays lie "
                "whole. Lay the net out by net.shard(), which keeps such pieces apart, or call unfuse() on the block."
            )
        if piece._device != first._device:
            there = f"'{name}' lives on {piece._device}, '{names[0]}' on {first._device}"
            raise FusionError(f"{path}: the pieces of one array lie on one device, but {there}.")
        if is_in_use(piece):
            raise FusionError(
                f"{path}: '{name}' has been used in this record(), whose backward is still to come; fuse before or "
                "after them."
            )


def dissolve(fused: FusedParameter) -> None:
    """Give each piece its own array again; values and gradients stay, and so do the handles that others hold."""
    pieces, handle, layout = fused.pieces, fused._handle, fused.layout
    with jax.ensure_compile_time_eval():
        whole = settle(handle)
        with keeping_64_bits(whole.dtype in WIDE):
            values = [jnp.array(part, copy=True) for part in layout.split(whole)]
        variable = handle.variable
        grads = None
        if variable is not None and not isinstance(variable.grad.value, Zeros):
            with keeping_64_bits(whole.dtype in WIDE):
                grads = [jnp.array(part, copy=True) for part in layout.split(settle(variable.grad))]
    fused._handle = None
    for i, piece in enumerate(pieces):
        piece._home, piece._layout = None, fused._layout
        _become_plain(piece._handle, values[i])
        piece._attach()
        own = piece._handle.variable
        if own is not None and variable is not None:
            own.fresh = variable.fresh
            if grads is not None:
                own.grad.value, own.grad.aval = grads[i], None
    fused._changed()


def is_in_use(param: Parameter) -> bool:
    """Return whether the current recording has used the parameter and its gradient is still to come."""
    variable, graph = param._handle.variable, current_graph()
    if variable is None or graph.backward_pending:
        return False
    return any(source is variable for source in graph.sources)
