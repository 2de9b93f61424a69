"""Operators as single equations of the trace of a block.

While a block is traced for NumPy's first runs, each operator is one equation, of the primitive ``operator``. Only the
shapes of its results are needed, and one trace gives them for all lengths (`derived.any_shapes`). So tracing a forward
takes only the time of its Python code. `gluonx.deferred.operators.linking` makes a program for NumPy from such a trace;
`expanded` returns a function in which JAX traces the operators, for the compiler.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.core import ShapedArray

from gluonx.deferred.operators import untraced
from gluonx.deferred.operators.derived import any_shapes, has_any_length, needs_64_bits, strong
from gluonx.deferred.values.contracts import ClosedJaxpr, Equation, Operator, Shaped
from gluonx.deferred.values.core import Tracer
from gluonx.ops.cpu.convolution import native_only, native_operations
from gluonx.ops.cpu.natively import natively

__all__ = ["bind", "expanded", "is_one", "may_be_one"]


@functools.cache
def _primitive() -> Any:
    from jax.extend.core import Primitive  # imports much that a process without blocks does not need

    primitive = Primitive("operator")
    primitive.multiple_results = True
    primitive.def_abstract_eval(_shapes)
    return primitive


def _shapes(*avals: Shaped, op: Operator, present: tuple[bool, ...], scope: str) -> list[Any]:
    given = iter(avals)
    found = _results(op, [next(given) if there else None for there in present])
    return [ShapedArray(out.shape, out.dtype) for out in (found if type(found) is tuple else (found,))]


def _results(op: Operator, inputs: Sequence[Shaped | None]) -> Any:
    """Return the shapes and dtypes of an operator's results: a tuple if it returns a tuple."""
    structs = [None if a is None else jax.ShapeDtypeStruct(a.shape, a.dtype) for a in inputs]
    found = untraced.results(op, structs)
    if found is not None:
        return found
    with native_operations():
        return any_shapes(op, structs)


def may_be_one(op: Operator, values: Sequence[Any], tracer: type) -> bool:
    """Return whether an operator on these values is one equation: none belongs to another JAX trace inside this one."""
    return (
        has_any_length(op)
        and not needs_64_bits(op, values)
        and not any(isinstance(v, Tracer) and type(v) is not tracer for v in values)
    )


def bind(op: Operator, values: Sequence[Any], scope: str) -> Any:
    """Make an operator on these values one equation of the current trace; return its results."""
    present = tuple([v is not None for v in values])
    outs = _primitive().bind(*[v for v in values if v is not None], op=op, present=present, scope=scope)
    # A single result may be bare or in a tuple of one; only then is that looked up again.
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
    """Return the trace of a block as a function of arrays; None if none of its equations is an operator."""
    if not any(map(is_one, closed.jaxpr.eqns)):
        return None
    functions = {
        native: functools.cache(functools.partial(natively, closed, _function_of, native)) for native in (True, False)
    }
    return lambda *values: functions[native_only()]()(*values)
