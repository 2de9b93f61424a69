"""``mx.operator``: operators that users write in Python, and ``mx.nd.Custom``, which runs them.

The operator's ``forward`` and ``backward`` run as they stand, on NDArrays, so they may compute with NumPy as well. A
hybridized block is traced and cannot run Python for values: there, write the operator with ``gluonx.from_jax``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gluonx import autograd, np
from gluonx.deferred.core import Handle, current_state
from gluonx.errors import ShapeError, TracedValueError
from gluonx.legacy.array import as_nd, nd_twin

__all__ = ["CustomOp", "CustomOpProp", "custom", "get_all_registered_operators", "register"]

_REGISTRY: dict[str, type[CustomOpProp]] = {}
_TRACED = (
    "Custom: '{}' runs Python on values, which a hybridized block has not. Leave the block that calls it, and those "
    "around it, un-hybridized, or write the operator in JAX, with gluonx.from_jax."
)


class CustomOp:
    """What computes; `CustomOpProp.create_operator` makes one for each call."""

    def forward(
        self, is_train: bool, req: Sequence[str], in_data: Sequence[Any], out_data: Sequence[Any], aux: Sequence[Any]
    ) -> None:
        """Writes the outputs into `out_data`, with `assign`."""
        raise TypeError(f"{type(self).__name__} must define forward(self, is_train, req, in_data, out_data, aux)")

    def backward(
        self,
        req: Sequence[str],
        out_grad: Sequence[Any],
        in_data: Sequence[Any],
        out_data: Sequence[Any],
        in_grad: Sequence[Any],
        aux: Sequence[Any],
    ) -> None:
        """Writes the gradients of the inputs into `in_grad`; leaves them zero by default."""

    def assign(self, dst: Any, req: str, src: Any) -> None:
        """Writes `src` into `dst` as `req` says: ``'write'``, ``'inplace'``, ``'add'`` or ``'null'``."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src


class CustomOpProp:
    """What an operator is like: its arguments, outputs and shapes.

    Parameters
    ----------
    need_top_grad : bool
        Accepted for ported code.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """The names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """The names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """The names of the states, which come after the inputs."""
        return []

    def infer_shape(self, in_shape: list[Any]) -> Any:
        """Shapes of inputs, outputs and states; all outputs have the first input's by default."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[Any]) -> Any:
        """Element types of inputs, outputs and states; the first input's by default."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def create_operator(self, ctx: Any, in_shapes: list[Any], in_dtypes: list[Any]) -> CustomOp:
        """What computes."""
        return CustomOp()

    def declare_backward_dependency(self, out_grad: Any, in_data: Any, out_data: Any) -> list[Any]:
        """Accepted for ported code: backward always sees everything."""
        return [*out_grad, *in_data, *out_data]


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """A decorator that makes a `CustomOpProp` known as ``op_type=reg_name``."""

    def decorate(prop: type[CustomOpProp]) -> type[CustomOpProp]:
        _REGISTRY[reg_name] = prop
        return prop

    return decorate


def get_all_registered_operators() -> list[str]:
    """The names of all legacy operators, those that users registered included."""
    from gluonx.legacy.table import TABLE

    return sorted({*TABLE, *_REGISTRY})


class _Call(autograd.Function):
    """One call of an operator on the tape."""

    def __init__(self, op: CustomOp, outs: list[tuple[Any, Any]], aux: list[Any]) -> None:
        super().__init__()
        self.op, self.outs, self.aux = op, outs, aux

    def forward(self, *inputs: Any) -> Any:
        self.inputs = [nd_twin(x) for x in inputs]
        self.results = [as_nd(np.zeros(shape, dtype=dtype)) for shape, dtype in self.outs]
        request = ["write"] * len(self.results)
        self.op.forward(autograd.is_training(), request, self.inputs, self.results, self.aux)
        return tuple(self.results)

    def backward(self, *output_grads: Any) -> Any:
        grads = [as_nd(np.zeros(x.shape, dtype=x.dtype)) for x in self.inputs]
        given = [nd_twin(g) for g in output_grads]
        self.op.backward(["write"] * len(grads), given, self.inputs, self.results, grads, self.aux)
        return tuple(grads)


def custom(*data: Any, op_type: str, name: Any = None, **kwargs: Any) -> Any:
    """``mx.nd.Custom``: runs the operator that was registered as `op_type`.

    Parameters
    ----------
    *data : NDArray
        Inputs, then states; they may also be named.
    **kwargs
        What the `CustomOpProp` takes, as strings.

    Raises
    ------
    KeyError
        If no operator has the name.
    TracedValueError
        Inside of a hybridized block.
    ShapeError
        If the inputs' number or shapes are not what the operator says.

    Examples
    --------
    >>> from gluonx import nd
    >>> class Twice(CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0] * 2)
    >>> @register("twice_in_the_docs")
    ... class TwiceProp(CustomOpProp):
    ...     def create_operator(self, ctx, shapes, dtypes):
    ...         return Twice()
    >>> nd.Custom(nd.ones((2,)), op_type="twice_in_the_docs").sum().asscalar()
    np.float32(4.0)
    """
    if op_type not in _REGISTRY:
        known = ", ".join(sorted(_REGISTRY)) or "none"
        raise KeyError(f"Custom: no operator is registered as op_type='{op_type}' (registered: {known}).")
    arrays = {key: value for key, value in kwargs.items() if isinstance(value, Handle)}
    make: Any = _REGISTRY[op_type]
    prop = make(**{key: str(value) for key, value in kwargs.items() if key not in arrays})
    names, states = list(prop.list_arguments()), list(prop.list_auxiliary_states())
    rest = [n for n in [*names, *states] if n not in arrays]
    if len(rest) != len(data):
        raise ShapeError(f"Custom: '{op_type}' takes the arrays {[*names, *states]}, but {len(data)} came for {rest}.")
    arrays.update(zip(rest, data, strict=True))
    inputs: list[Any] = [arrays[n] for n in names]
    aux = [nd_twin(arrays[n]) for n in states]
    in_shapes, out_shapes, *_ = prop.infer_shape([list(x.shape) for x in inputs])
    for given, wanted, key in zip(inputs, in_shapes, names, strict=True):
        if tuple(given.shape) != tuple(wanted):
            raise ShapeError(f"Custom: '{op_type}' needs '{key}' of shape {tuple(wanted)}, but {given.shape} came.")
    in_types, out_types, *_ = prop.infer_type([x.dtype for x in inputs])
    op = prop.create_operator(inputs[0].context if inputs else None, in_shapes, in_types)
    outs = [(tuple(s), d) for s, d in zip(out_shapes, out_types, strict=True)]
    trace = current_state().trace
    run = _Call(op, outs, aux)
    try:
        results = run(*inputs) if trace is None or not trace.transparent else trace.outside(run, *inputs)
    except TracedValueError:
        raise TracedValueError(_TRACED.format(op_type)) from None
    results = results if isinstance(results, (tuple, list)) else (results,)
    return as_nd(results[0] if len(results) == 1 else list(results))
