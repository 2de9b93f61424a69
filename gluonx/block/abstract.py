"""Blocks without values: the structure of a net apart from its arrays.

A net that becomes a module of another library is stored there as an *abstract* copy: the same blocks, of the same
classes and with the same attributes, whose parameters have shape and dtype but no arrays. Changes to the net afterwards
(casting, adding layers, training) do not reach the copy. In each call the other library's arrays are used as the
parameters' values (:class:`~gluonx.block.functional.PureForward`). :func:`filled` makes a net of it again.

The copy is not fused: its parameters are the pieces, under the names that they have in files. A net made from it is
fused again like the original.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import jax

from gluonx.block.parameter import Parameter
from gluonx.block.structure import is_complete
from gluonx.common.host import to_jax
from gluonx.common.instances import with_own_dict
from gluonx.deferred.values.core import Tracer, at_once, current_state, new_handle, set_state
from gluonx.deferred.values.shapes import Zeros
from gluonx.device import device_of
from gluonx.errors import DeferredInitializationError, ShapeError, TracedValueError, UninitializedError

if TYPE_CHECKING:
    from gluonx.block.block import Block


_NOT_READY = "; run the net once on real input, or call net.infer_shape(x), first"


def ready_params(block: Block) -> dict[str, Parameter]:
    """Return the parameters by structured name, pieces of fused ones apart, each once under its first name.

    Raises
    ------
    UninitializedError, DeferredInitializationError
        If one of them has no value.
    """
    found: dict[int, tuple[str, Parameter]] = {}
    for name, param in block._params_apart().items():
        found.setdefault(id(param), (name, param))
    for _, param in found.values():
        if param._handle is None:
            raise UninitializedError(f"Parameter '{param._path}' has not been initialized; call net.initialize() first")
        if not param._is_ready:
            raise DeferredInitializationError(f"Parameter '{param._path}' has no shape yet{_NOT_READY}")
    return dict(found.values())


def abstract(block: Block, *inputs: object) -> Block:
    """Return a copy of `block` whose parameters have shapes and hold no arrays.

    Parameters
    ----------
    block : Block
    *inputs : object with shape and dtype
        Inputs of the forward, needed if some parameters have no value yet: their shapes are inferred from them.

    Raises
    ------
    UninitializedError, DeferredInitializationError
        Without `inputs`, if a parameter has no value; with them, if they do not determine its shape.
    """
    params = list((block._params_apart() if inputs else ready_params(block)).values())
    memo: dict[int, Any] = {id(param): _bare(param) for param in params}
    twins = [memo[id(param)] for param in params]
    if not inputs:  # code of the block that runs while it is copied may read the arrays
        for twin in twins:
            _empty(twin)
    new = copy.deepcopy(block, memo)
    new.__dict__["_was_fused"] = block.is_fused or getattr(block, "_was_fused", False)
    new.unfuse()  # a copy is fused like the block; only the pieces have the same names everywhere
    if inputs:
        new.infer_shape(*inputs)  # type: ignore[attr-defined] - a block that is given inputs is a HybridBlock
    for twin in twins:
        if not is_complete(twin.shape):
            raise DeferredInitializationError(f"Parameter '{twin._path}' has the shape {twin.shape}, as the inputs go")
        _empty(twin)
    return new


def _bare(param: Parameter) -> Parameter:
    twin = with_own_dict(object.__new__(type(param)))
    kept = {name: value for name, value in param.__dict__.items() if name not in ("_plan", "_own_uuid", "_structure")}
    twin.__dict__.update({**kept, "_home": None, "_handle": None, "_awaiting": None})
    return twin


def _empty(param: Parameter) -> None:
    assert param.shape is not None, "only parameters that have values are emptied"
    param._handle = new_handle(Zeros(param.shape, param.dtype))


def filled(template: Block, values: dict[str, Any]) -> Block:
    """Return a net like the abstract block `template` with these values, which are not copied.

    Parameters
    ----------
    template : Block
        A result of :func:`abstract`.
    values : dict of str to array
        By structured name; each parameter once.
    """
    new = abstract(template)
    for name, param in ready_params(new).items():
        param._handle = None
        put(param, values[name])
    if new.__dict__.pop("_was_fused"):
        new.fuse()
    return new


def put(param: Parameter, value: Any) -> None:
    """Make `value` the parameter's array, without copying it if it is a JAX array.

    Other holders of the array keep it: a training step donates no buffer that others hold.

    Raises
    ------
    ShapeError
        If the parameter has another shape.
    TracedValueError
        Under a transformation of JAX, where there is no value.
    """
    if isinstance(value, Tracer):
        raise TracedValueError(
            f"parameter '{param._path}' cannot take an array that is being traced: convert the module outside of "
            "jax.jit and other transformations"
        )
    if not param._admits(value.shape):
        raise ShapeError(f"parameter '{param._path}' has shape {param.shape}, the given array {tuple(value.shape)}")
    array: jax.Array = to_jax(value)
    before = current_state()  # perhaps the state of a trace for shapes; here the value is needed at once
    set_state(at_once())
    try:
        param._adopt(new_handle(array), [device_of(next(iter(array.devices())))])
    finally:
        set_state(before)
