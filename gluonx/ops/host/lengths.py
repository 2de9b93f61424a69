"""Numbers for the symbolic lengths of a jaxpr.

``jax.export.symbolic_shape`` makes symbols; what JAX computes of them while it traces are expressions (``2*n + 1``,
``floordiv(n, 2)``), which appear in the shapes and parameters of the jaxpr. Their text is Python, except for the sign
of a power. `Lengths` has a number for each symbol, and computes each expression.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gluonx.ops.host.primitives import Spec, Unsupported

__all__ = ["Lengths", "has_symbols"]

_OPERATIONS: dict[Any, Callable[..., int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
}


def _number(text: str, known: Mapping[str, int]) -> int:
    """Return the value of an expression, given its symbols."""

    def computed(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as number):
                return number
            case ast.Name(id=name):
                return known[name]
            case ast.UnaryOp(op=ast.USub(), operand=of):
                return -computed(of)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
                return _OPERATIONS[type(op)](computed(left), computed(right))
            case ast.Call(func=ast.Name(id=name), args=args) if name in _OPERATIONS:
                return _OPERATIONS[name](*map(computed, args))
        raise Unsupported(f"the length {text}")

    return computed(ast.parse(text.replace("^", "**"), mode="eval").body)


def has_symbols(value: Any) -> bool:
    """Return whether a shape, a parameter or a jaxpr has a symbolic length."""
    if isinstance(value, (tuple, list)):
        return any(map(has_symbols, value))
    if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
        jaxpr = getattr(value, "jaxpr", value)
        eqns = jaxpr.eqns
        variables = [*jaxpr.invars, *jaxpr.constvars, *[v for eqn in eqns for v in eqn.outvars]]
        return any(has_symbols(getattr(v.aval, "shape", ())) for v in variables) or any(
            has_symbols(p) for eqn in eqns for p in eqn.params.values()
        )
    return not isinstance(value, _NO_SYMBOLS) and _is_symbol(value)


_NO_SYMBOLS = (int, str, float, bool, type(None), type)


def _is_symbol(value: Any) -> bool:
    from jax import export  # imports much that a process without symbols does not need

    return export.is_symbolic_dim(value)


class Lengths:
    """The values of symbols.

    Parameters
    ----------
    names : sequence of str
        The names of the symbols.
    numbers : sequence of int

    Examples
    --------
    >>> from jax import export
    >>> (n,) = export.symbolic_shape("n")
    >>> Lengths(["n"], [7]).shape((2 * n, n // 2, 3))
    (14, 3, 3)
    """

    __slots__ = ("_found", "_known")

    def __init__(self, names: Sequence[str], numbers: Sequence[int]) -> None:
        self._known = dict(zip(names, numbers, strict=True))
        self._found: dict[str, int] = {**self._known}

    def number(self, length: Any) -> Any:
        """Return the value of a length."""
        if isinstance(length, _NO_SYMBOLS) or not _is_symbol(length):
            return length
        text = str(length)
        found = self._found.get(text)
        if found is None:
            found = self._found[text] = _number(text, self._known)
        return found

    def shape(self, shape: Sequence[Any]) -> tuple[int, ...]:
        """Return a shape in numbers."""
        return tuple(map(self.number, shape))

    def spec(self, spec: Spec) -> Spec:
        """Return the spec with its lengths in numbers."""
        found = self.shape(spec.shape)
        return Spec(found[:-1] if spec.key else found, spec.dtype, spec.key)

    def params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a primitive as numbers; jaxprs among them are unchanged."""
        return {name: self._parameter(value) for name, value in params.items()}

    def _parameter(self, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            parts = [self._parameter(v) for v in value]
            if all(one is two for one, two in zip(parts, value, strict=True)):
                return value
            if hasattr(value, "_fields"):
                return type(value)(*parts)
            return type(value)(parts)
        return self.number(value)
