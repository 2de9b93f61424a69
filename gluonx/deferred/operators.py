"""Operators as single equations of the trace of a block.

While a block is traced for NumPy's first runs, each operator is one equation, of the primitive ``operator``: nothing is
needed of it but the shapes of its results, which one trace tells for all lengths (`derived.any_shapes`). So a forward
is traced in the time that its Python takes. `gluonx.deferred.linking` makes a program for NumPy of such a trace, and
`expanded` a function in which operators are what JAX traces, when it is to be compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.core import ShapedArray

from gluonx.deferred.contracts import ClosedJaxpr, Equation, Operator, Shaped
from gluonx.deferred.core import Tracer
from gluonx.deferred.derived import any_shapes, has_any_length, needs_64_bits, strong
from gluonx.ops.cpu.convolution import native_forms, native_only
from gluonx.ops.cpu.natively import natively

__all__ = ["bind", "expanded", "is_one", "may_be_one"]


@functools.cache
def _primitive() -> Any:
    from jax.extend.core import Primitive  # brings much along that a process without blocks does not need

    primitive = Primitive("operator")
    primitive.multiple_results = True
    primitive.def_abstract_eval(_shapes)
    return primitive


def _shapes(*avals: Shaped, op: Operator, present: tuple[bool, ...], scope: str) -> list[Any]:
    given = iter(avals)
    found = _results(op, [next(given) if there else None for there in present])
    return [ShapedArray(out.shape, out.dtype) for out in (found if type(found) is tuple else (found,))]


def _results(op: Operator, inputs: Sequence[Shaped | None]) -> Any:
    """Return the shapes and dtypes of an operator's results: a tuple where it gives a tuple."""
    structs = [None if a is None else jax.ShapeDtypeStruct(a.shape, a.dtype) for a in inputs]
    with native_forms():
        return any_shapes(op, structs)


def may_be_one(op: Operator, values: Sequence[Any], tracer: type) -> bool:
    """Return whether an operator on these values is one equation: none of them is of another trace of JAX within."""
    return (
        has_any_length(op)
        and not needs_64_bits(op, values)
        and not any(isinstance(v, Tracer) and type(v) is not tracer for v in values)
    )


def bind(op: Operator, values: Sequence[Any], scope: str) -> Any:
    """Make an operator on these values one equation of the trace that is being made; return its results."""
    present = tuple([v is not None for v in values])
    outs = _primitive().bind(*[v for v in values if v is not None], op=op, present=present, scope=scope)
    # Only a single result may stand alone or in a tuple of one, which is asked again; that costs a look-up.
    return tuple(outs) if len(outs) > 1 or type(_results(op, values)) is tuple else outs[0]


def is_one(eqn: Equation) -> bool:
    """Return whether an equation of a jaxpr is an operator."""
    return eqn.primitive is _primitive()


def _function_of(eqn: Equation) -> Callable[..., Any] | None:
    if not is_one(eqn):
        return None
    op, present, scope = eqn.params["op"], eqn.params["present"], eqn.params["scope"]

    def run(*values: jax.Array) -> Any:
        given = iter(values)
        with jax.named_scope(scope):
            out = strong(op)(*[next(given) if there else None for there in present])
        return out if type(out) is tuple else (out,)

    return run


def expanded(closed: ClosedJaxpr) -> Callable[..., Any] | None:
    """Return the trace of a block as a function of arrays; None where none of its equations is an operator."""
    if not any(map(is_one, closed.jaxpr.eqns)):
        return None
    functions = {
        native: functools.cache(functools.partial(natively, closed, _function_of, native)) for native in (True, False)
    }
    return lambda *values: functions[native_only()]()(*values)
