"""``mx.operator``: operators that users write in Python, and ``mx.nd.Custom``, which runs them.

The operator's ``forward`` and ``backward`` run as they stand, on NDArrays, so they may compute with NumPy as well. They
are given the caller's own arrays: what they write to inputs, states or outputs is seen outside, as in MXNet, and
gradients pass an input that was computed as if nothing had been written to it. A hybridized block, or a symbol, that
has such an operator runs line by line, while blocks within it stay hybridized. A program that calls back to Python
would save time there, and give wrong answers in silence: a recorded call is computed when its step is, so the operator
would read a global, or an attribute of its own, as the script has left it by then and not as it was at the call. A
write of ``backward`` would be found within a program that has no way to hand it on, and the step cannot be done again,
since the operator's Python has run.

In a function of arrays (`gluonx.functional`, an export, the body of a loop) the program that XLA runs calls back to
them (``jax.pure_callback``), with shapes from ``infer_shape`` and element types from ``infer_type``. Auxiliary states
are outputs of the call and are written back; a write to anything else would be lost there, and is an error. What the
operator does beside computing (printing, counting) may then happen more or less often. A call back costs some 0.1 ms
and XLA cannot see through it: an operator that is hot is better written in JAX, with ``gluonx.from_jax``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as onp

from gluonx import autograd, np
from gluonx.block.functional import from_jax
from gluonx.common.extensions import NAMES
from gluonx.compat.mode import Mode
from gluonx.compat.nd.ndarray import NDArray as _NDArray
from gluonx.compat.nd.ndarray import as_nd
from gluonx.deferred.record.interceptor import Interceptor
from gluonx.deferred.trace.custom import on_host
from gluonx.deferred.trace.tracing import Trace
from gluonx.deferred.values.core import Handle, current_state, is_still, twin_of
from gluonx.deferred.values.shapes import Unknown
from gluonx.device import current_device
from gluonx.dtype import canonical
from gluonx.errors import GraphError, ShapeError

if TYPE_CHECKING:
    from gluonx.compat.nd.ndarray import NDArray

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "NDArrayOp",
    "NumpyOp",
    "OperatorArguments",
    "PythonOp",
    "custom",
    "get_all_registered_operators",
    "get_all_registered_operators_grouped",
    "get_operator_arguments",
    "prop_of",
    "register",
    "run",
]

_REGISTRY: dict[str, type[CustomOpProp]] = {}


class CustomOp:
    """The computation of a custom operator; `CustomOpProp.create_operator` makes one for each call."""

    def forward(
        self, is_train: bool, req: Sequence[str], in_data: Sequence[Any], out_data: Sequence[Any], aux: Sequence[Any]
    ) -> None:
        """Write the outputs into `out_data`, with `assign`."""
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
        """Write the gradients of the inputs into `in_grad`; leave them zero by default."""

    def assign(self, dst: Any, req: str, src: Any) -> None:
        """Write `src` into `dst` as `req` says: ``'write'``, ``'inplace'``, ``'add'`` or ``'null'``."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src


class CustomOpProp:
    """The description of a custom operator: its arguments, outputs and shapes.

    Parameters
    ----------
    need_top_grad : bool
        Accepted for ported code.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """Return the names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the states, which come after the inputs."""
        return []

    def infer_shape(self, in_shape: list[Any]) -> Any:
        """Shapes of inputs, outputs and states; all outputs have the first input's by default."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[Any]) -> Any:
        """Element types of inputs, outputs and states; the first input's by default."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: list[str]) -> Any:
        """Storage of inputs, outputs and states: all dense, which is how a custom operator is given its arrays."""
        dense = ["default"]
        return in_stype, dense * len(self.list_outputs()), dense * len(self.list_auxiliary_states())

    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> Any:
        """Storage of what backward sees and gives: all dense."""
        given = (ograd_stype, in_stype, out_stype, igrad_stype, aux_stype)
        return tuple([["default"] * len(stypes) for stypes in given])

    def create_operator(self, ctx: Any, in_shapes: list[Any], in_dtypes: list[Any]) -> CustomOp:
        """Return the `CustomOp` that computes."""
        return CustomOp()

    def declare_backward_dependency(self, out_grad: Any, in_data: Any, out_data: Any) -> list[Any]:
        """Do nothing, for ported code: backward always sees everything."""
        return [*out_grad, *in_data, *out_data]


class PythonOp:
    """An operator of MXNet's first years, whose instance is called with symbols; base of `NumpyOp` and `NDArrayOp`.

    Parameters
    ----------
    need_top_grad : bool
        Whether `backward` is given the gradients of the outputs; a loss does without.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the operator on symbols; see `get_symbol`."""
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """Return a symbol of the operator on the symbols `args`, which may also be named; `name` is its own."""
        key = f"_{type(self).__name__}_{id(self)}"
        _REGISTRY[key] = lambda **_: _OfInstance(self)  # type: ignore[assignment]  # it lives as long as its symbols may
        return NAMES["gluonx.operator.on_symbols"](*args, op_type=key, **kwargs)

    def forward(self, in_data: Sequence[Any], out_data: Sequence[Any]) -> None:
        """Write the outputs; the first input by default."""
        out_data[0][:] = in_data[0]

    def backward(
        self, out_grad: Sequence[Any], in_data: Sequence[Any], out_data: Sequence[Any], in_grad: Sequence[Any]
    ) -> None:
        """Write the gradients of the inputs; ones by default."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[Any]) -> Any:
        """Return shapes of inputs and outputs: by default those of the first input."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Return the names of the inputs."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Return whether `backward` is given the gradients of the outputs."""
        return self.need_top_grad_

    def _arrays(self, arrays: Sequence[Any]) -> list[Any]:
        return list(arrays)


class NDArrayOp(PythonOp):
    """A `PythonOp` that computes on NDArrays."""

    def declare_backward_dependency(self, out_grad: Any, in_data: Any, out_data: Any) -> list[Any]:
        """Do nothing, for ported code: backward always sees everything."""
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]


class NumpyOp(PythonOp):
    """A `PythonOp` that computes on NumPy arrays."""

    def _arrays(self, arrays: Sequence[Any]) -> list[Any]:
        return [onp.array(array.asnumpy()) for array in arrays]


class _OfInstance(CustomOpProp, CustomOp):
    """A `PythonOp` as a custom operator."""

    def __init__(self, op: PythonOp) -> None:
        super().__init__(op.need_top_grad())
        self._op = op

    def list_arguments(self) -> list[str]:
        return self._op.list_arguments()

    def list_outputs(self) -> list[str]:
        return self._op.list_outputs()

    def infer_shape(self, in_shape: list[Any]) -> Any:
        return (*self._op.infer_shape(in_shape), [])

    def create_operator(self, ctx: Any, in_shapes: list[Any], in_dtypes: list[Any]) -> CustomOp:
        return self

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        outs = self._op._arrays(out_data)
        self._op.forward(in_data=self._op._arrays(in_data), out_data=outs)
        self._write(out_data, outs)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        arrays = self._op._arrays
        given = arrays(out_grad) if self._op.need_top_grad() else []
        grads = arrays(in_grad)
        self._op.backward(out_grad=given, in_data=arrays(in_data), out_data=arrays(out_data), in_grad=grads)
        self._write(in_grad, grads)

    def _write(self, arrays: Sequence[Any], written: Sequence[Any]) -> None:
        for array, value in zip(arrays, written, strict=True):
            if value is not array:
                array[:] = value


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """Return a decorator that makes a `CustomOpProp` known as ``op_type=reg_name``."""

    def decorate(prop: type[CustomOpProp]) -> type[CustomOpProp]:
        _REGISTRY[reg_name] = prop
        return prop

    return decorate


class OperatorArguments(NamedTuple):
    """The arguments of an operator: how many, their names, and what each takes, in MXNet's words."""

    narg: int
    names: list[str]
    types: list[str]


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Return the arguments of a legacy operator, arrays first.

    Raises
    ------
    KeyError
        If there is none of this name.

    Examples
    --------
    >>> get_operator_arguments("Flatten")
    OperatorArguments(narg=1, names=['data'], types=['NDArray-or-Symbol'])
    """
    from gluonx.compat.operators.table import get_legacy

    op = get_legacy(op_name)
    arrays = "NDArray-or-Symbol[]" if op.variadic else "NDArray-or-Symbol"
    types = [arrays] * len(op.inputs)
    for attr in op.attrs.values():
        types.append(f"{attr.kind}, required" if attr.required else f"{attr.kind}, optional, default={attr.default!r}")
    return OperatorArguments(len(types), [*op.inputs, *op.attrs], types)


def get_all_registered_operators_grouped() -> dict[str, list[str]]:
    """Every legacy operator with all its names."""
    from gluonx.compat.operators.table import TABLE

    return {name: [name, *op.aliases] for name, op in sorted(TABLE.items()) if name == op.name}


def get_all_registered_operators() -> list[str]:
    """Return the names of all legacy operators, those that users registered included."""
    from gluonx.compat.operators.table import TABLE

    return sorted({*TABLE, *_REGISTRY, "Custom"})


def _shown(array: Any) -> Any:
    """Return an array as operators are given it, the same: an NDArray, or an np array where ``set_np()`` was called."""
    return array.as_np_ndarray() if Mode.numpy else array.as_nd_ndarray()


class _Apart:
    """Arrays that an operator is given in place of others, which take over what it has written, but not as its results.

    Parameters
    ----------
    places : dict
        The other arrays by their numbers in `shown`, or weak references to them.
    shown : list of arrays
    """

    def __init__(self, places: Mapping[int, Any], shown: Sequence[Any]) -> None:
        self.places, self.shown = places, shown
        self.seen = {i: shown[i].value for i in places}

    def hand_back(self) -> None:
        """Write what was written since; the graph that gradients take stays."""
        for i, place in self.places.items():
            array, now = place() if isinstance(place, weakref.ref) else place, self.shown[i].value
            if array is not None and not is_still(self.seen[i], now):
                array.detach()[...] = self.shown[i]
                self.seen[i] = self.shown[i].value


def _is_computed(array: Any) -> bool:
    """Return whether gradients pass an array, and do not end in it."""
    return autograd.is_recording() and array.variable is None and array._is_recorded()


class _Call(autograd.Function):
    """One call of an operator on the tape."""

    def __init__(self, op: CustomOp, outs: list[tuple[Any, Any]], inputs: list[Any], aux: list[Any]) -> None:
        super().__init__()
        self.op, self.outs, self.aux = op, outs, [_shown(x) for x in aux]
        places = {i: x for i, x in enumerate(inputs) if _is_computed(x)}
        self.inputs = [_shown(twin_of(x, _NDArray) if i in places else x) for i, x in enumerate(inputs)]
        self._computed = _Apart(places, self.inputs)

    def run(self, inputs: list[Any]) -> list[Any]:
        """Return the outputs, which keep what `backward` writes to them."""
        outs = list(self(*inputs))
        self._computed.hand_back()
        self._given = _Apart({i: weakref.ref(out) for i, out in enumerate(outs)}, self.results)
        return outs

    def forward(self, *inputs: NDArray) -> tuple[NDArray, ...]:
        self.results = _forward(self.op, autograd.is_training(), self.inputs, self.outs, self.aux)
        return tuple(self.results)

    def backward(self, *output_grads: NDArray) -> tuple[NDArray, ...]:
        given = [_shown(g) for g in output_grads]
        grads = _backward(self.op, given, self.inputs, self.results, self.aux)
        self._computed.hand_back()
        self._given.hand_back()
        return tuple(grads)


def _forward(op: CustomOp, training: bool, inputs: list[Any], outs: list[tuple[Any, Any]], aux: list[Any]) -> list[Any]:
    results = [_shown(np.zeros(shape, dtype=dtype)) for shape, dtype in outs]
    op.forward(training, ["write"] * len(results), inputs, results, aux)
    return results


def _backward(op: CustomOp, given: list[Any], inputs: list[Any], results: list[Any], aux: list[Any]) -> list[Any]:
    grads = [_shown(np.zeros(x.shape, dtype=x.dtype)) for x in inputs]
    op.backward(["write"] * len(grads), given, inputs, results, grads, aux)
    return grads


def _on_host(fn: Callable[..., list[Any]], arrays: Sequence[Any]) -> tuple[onp.ndarray, ...]:
    """Run ``fn(NDArrays)`` for a program."""
    return on_host(lambda handles: fn([_shown(h) for h in handles]), arrays)


def _checked(who: str, arrays: Mapping[str, list[Any]], compute: Callable[[], list[Any]]) -> list[Any]:
    """Return what `compute` gives, if it writes to none of the arrays, which are named by what they are."""
    before = {name: [x.value for x in some] for name, some in arrays.items()}
    found = compute()
    for name, some in arrays.items():
        for i, (x, seen) in enumerate(zip(some, before[name], strict=True)):
            if not is_still(seen, x.value):
                raise GraphError(_WRITES.format(who, f"{name}[{i}]"))
    return found


_WRITES = (
    "Custom: {0} writes to {1}, which nobody outside would see, since the net is a function of arrays here "
    "(gluonx.functional, an export, the body of a loop). Write to a copy, {1}.copy(), or make what is written an "
    "auxiliary state that forward writes to; called as it is, the net hands the write on."
)


def _in_program(op: CustomOp, training: bool, count: int, outs: list[tuple[Any, Any]]) -> Callable[..., Any]:
    """Return the operator as a JAX function: `count` inputs, then states, to the outputs, then the states."""
    who = type(op).__name__

    def forward(arrays: list[Any]) -> list[Any]:
        inputs, aux = arrays[:count], arrays[count:]
        compute = partial(_forward, op, training, inputs, outs, aux)
        return [*_checked(f"{who}.forward", {"in_data": inputs}, compute), *aux]

    def backward(arrays: list[Any]) -> list[Any]:
        inputs, rest = arrays[:count], arrays[count:]
        results, grads, aux = rest[: len(outs)], rest[len(outs) : 2 * len(outs)], rest[2 * len(outs) :]
        compute = partial(_backward, op, grads, inputs, results, aux)
        return _checked(f"{who}.backward", {"in_data": inputs, "out_data": results, "aux": aux}, compute)

    @jax.custom_vjp
    def run(*arrays: jax.Array) -> tuple[Any, ...]:
        wanted = [jax.ShapeDtypeStruct(shape, canonical(dtype)) for shape, dtype in outs]
        states = map(_struct, arrays[count:])
        return jax.pure_callback(lambda *xs: _on_host(forward, xs), (*wanted, *states), *arrays)

    def run_and_keep(*arrays: jax.Array) -> Any:
        results = run(*arrays)
        return results, (arrays[:count], results)

    def pull(kept: Any, given: Sequence[jax.Array]) -> Any:
        inputs, results = kept
        aux = results[len(outs) :]
        wanted = tuple(map(_struct, inputs))
        given = [jax.numpy.zeros_like(r) if _is_whole(r) else g for r, g in zip(results, given, strict=True)]
        grads = jax.pure_callback(
            lambda *xs: _on_host(backward, xs), wanted, *inputs, *results[: len(outs)], *given[: len(outs)], *aux
        )
        return tuple(
            [onp.zeros(x.shape, jax.dtypes.float0) if _is_whole(x) else g for x, g in zip(inputs, grads, strict=True)]
            + [onp.zeros(x.shape, jax.dtypes.float0) if _is_whole(x) else jax.numpy.zeros_like(x) for x in aux]
        )

    run.defvjp(run_and_keep, pull)
    return run


def _is_whole(x: jax.Array) -> bool:
    return not jax.numpy.issubdtype(x.dtype, jax.numpy.inexact)


def _struct(x: jax.Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def custom(*data: Any, op_type: str, name: str | None = None, **kwargs: Any) -> Any:
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
    arrays = {key: value for key, value in kwargs.items() if isinstance(value, Handle)}
    prop = prop_of(op_type, {key: value for key, value in kwargs.items() if key not in arrays})
    names, states = list(prop.list_arguments()), list(prop.list_auxiliary_states())
    rest = [n for n in [*names, *states] if n not in arrays]
    if len(rest) != len(data):
        raise ShapeError(f"Custom: '{op_type}' takes the arrays {[*names, *states]}, but {len(data)} came for {rest}.")
    arrays.update(zip(rest, data, strict=True))
    results = run(prop, op_type, [arrays[n] for n in names], [arrays[n] for n in states])
    return as_nd(results[0] if len(results) == 1 else results)


def prop_of(op_type: str, settings: Mapping[str, Any]) -> CustomOpProp:
    """Return the description of the operator that was registered as `op_type`, with these settings.

    Raises
    ------
    KeyError
        If no operator has the name.
    """
    if op_type not in _REGISTRY:
        known = ", ".join(sorted(_REGISTRY)) or "none"
        raise KeyError(f"Custom: no operator is registered as op_type='{op_type}' (registered: {known}).")
    make: Any = _REGISTRY[op_type]
    return make(**{key: str(value) for key, value in settings.items()})


class _Shapes:
    """The question that a parameter of unknown shape asks the operator that meets it."""

    random = False

    def __init__(self, prop: CustomOpProp, op_type: str) -> None:
        self.prop, self.op_type = prop, op_type

    def __str__(self) -> str:
        return f"Custom '{self.op_type}'"

    def infer_weights(self, known: Sequence[Any]) -> list[Any]:
        """Return the shapes of inputs and states, of which some are None or have unknown dimensions."""
        count = len(self.prop.list_arguments())
        given = [[max(n, 0) for n in shape or ()] for shape in known[:count]]
        inputs, _, *states = self.prop.infer_shape(given)
        return [*inputs, *(states[0] if states else ())]


def run(prop: CustomOpProp, op_type: str, inputs: list[Any], aux: list[Any]) -> list[Any]:
    """Compute what the operator `op_type` makes of arrays and auxiliary states."""
    trace = current_state().trace
    if isinstance(trace, Interceptor):
        return trace.outside(run, prop, op_type, inputs, aux)
    for handle in (*inputs, *aux):
        if isinstance(handle.value, Unknown):
            handle.value.resolve(handle, _Shapes(prop, op_type), [*inputs, *aux])  # type: ignore[arg-type]
    in_shapes, out_shapes, *_ = prop.infer_shape([list(x.shape) for x in inputs])
    for given, wanted, key in zip(inputs, in_shapes, prop.list_arguments(), strict=True):
        if tuple(given.shape) != tuple(wanted):
            raise ShapeError(f"Custom: '{op_type}' needs '{key}' of shape {tuple(wanted)}, but {given.shape} came.")
    in_types, out_types, *_ = prop.infer_type([onp.dtype(x.dtype).type for x in inputs])
    op = prop.create_operator(current_device(), in_shapes, in_types)
    outs = [(tuple(s), d) for s, d in zip(out_shapes, out_types, strict=True)]
    if trace is None:
        return _Call(op, outs, inputs, aux).run(inputs)
    if isinstance(trace, Trace):
        trace.run_by_line(f"the custom operator '{op_type}', which Python computes")
    found = from_jax(_in_program(op, autograd.is_training(), len(inputs), outs))(*inputs, *aux)
    for state, after in zip(aux, found[len(outs) :], strict=False):
        state[...] = after
    return list(found[: len(outs)])


def __dir__() -> list[str]:
    return sorted(__all__)
