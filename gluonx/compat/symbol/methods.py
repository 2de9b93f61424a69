"""Methods of symbols that are operators, and Python's operators on them; for editors `tools.stubs` writes them down."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.compat.operators.table import METHODS
from gluonx.compat.symbol.compose import create, function
from gluonx.compat.symbol.table import get
from gluonx.errors import GluonxError

if TYPE_CHECKING:
    from gluonx.compat.symbol.symbol import Symbol


class Methods:
    """Attributes of :class:`gluonx.symbol.Symbol` that tables give."""

    __slots__ = ()


# operator of Python: (with a symbol, with a number, with the number first), and what MXNet calls the results
_ARITHMETIC = {
    "add": (("elemwise_add", "_plus"), ("_plus_scalar", "_plusscalar"), ("_plus_scalar", "_plusscalar")),
    "sub": (("elemwise_sub", "_minus"), ("_minus_scalar", "_minusscalar"), ("_rminus_scalar", "_rminusscalar")),
    "mul": (("elemwise_mul", "_mul"), ("_mul_scalar", "_mulscalar"), ("_mul_scalar", "_mulscalar")),
    "truediv": (("elemwise_div", "_div"), ("_div_scalar", "_divscalar"), ("_rdiv_scalar", "_rdivscalar")),
    "mod": (("_mod", "_mod"), ("_mod_scalar", "_modscalar"), ("_rmod_scalar", "_rmodscalar")),
    "pow": (("_power", "_power"), ("_power_scalar", "_powerscalar"), ("_rpower_scalar", "_rpowerscalar")),
    "eq": (("_equal", "_equal"), ("_equal_scalar", "_equal_scalar"), None),
    "ne": (("_not_equal", "_not_equal"), ("_not_equal_scalar", "_not_equal_scalar"), None),
    "gt": (("_greater", "_greater"), ("_greater_scalar", "_greater_scalar"), None),
    "ge": (("_greater_equal", "_greater_equal"), ("_greater_equal_scalar", "_greater_equal_scalar"), None),
    "lt": (("_lesser", "_lesser"), ("_lesser_scalar", "_lesser_scalar"), None),
    "le": (("_lesser_equal", "_lesser_equal"), ("_lesser_equal_scalar", "_lesser_equal_scalar"), None),
}
_METHODS = (
    *METHODS, "astype", "broadcast_to", "expand_dims", "flatten", "reshape", "split", "squeeze", "tile", "transpose",
)  # fmt: skip
_CALLED = {"astype": "Cast", "split_v2": "_split_v2"}
_OF_SIZES = frozenset(["broadcast_to", "reshape", "tile", "transpose"])  # x.reshape(2, 3) means the tuple
_INPLACE = {"expand_dims": 1, "flatten": 0, "squeeze": 1}
"""How many arguments stand before `inplace`, which means nothing here, as in MXNet."""
_OF_ARRAYS = ("as_in_context", "asnumpy", "asscalar", "backward", "copy", "detach", "wait_to_read")


def _operation(kind: str, swap: bool) -> Callable[[Any, Any], Any]:
    both, scalar, reflected = _ARITHMETIC[kind]
    with_number = reflected if swap and reflected else scalar

    def operate(self: Symbol, other: Any) -> Symbol:
        if isinstance(other, Methods):
            name, hint = both
            return type(self)(create(get(name), hint, (other, self) if swap else (self, other), {}))
        if not isinstance(other, int | float | np.number):
            return NotImplemented
        name, hint = with_number
        return type(self)(create(get(name), hint, (self,), {"scalar": float(other)}))

    return operate


def _fluent(name: str) -> Callable[..., Any]:
    op, before = _CALLED.get(name, name), _INPLACE.get(name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in _OF_SIZES and args and all(isinstance(a, int) for a in args):
            args = (args,)
        if before is not None:
            kwargs.pop("inplace", None)
            args = (*args[:before], *args[before + 1 :])
        return function(op, name)(self, *args, **kwargs)

    method.__doc__ = f"The operator `{name}` of the symbol."
    method.__signature__ = _signature(name, get(op).signature(symbols=True, method=True))  # type: ignore[attr-defined]
    return method


def _signature(name: str, of_op: inspect.Signature) -> inspect.Signature:
    """Return the signature of a method, from that of its operator."""
    kind = inspect.Parameter
    own, *rows = of_op.parameters.values()
    if name in _OF_SIZES:
        return inspect.Signature([own, kind(rows[0].name, kind.VAR_POSITIONAL), kind("kwargs", kind.VAR_KEYWORD)])
    if name in _INPLACE:
        rows.insert(_INPLACE[name], kind("inplace", kind.POSITIONAL_OR_KEYWORD, default=False))
    return inspect.Signature([own, *rows])


def _refusing(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise GluonxError(f"a Symbol has no {name}, which is of arrays: it has no values before bind or eval")

    method.__doc__ = "Refuse: it is of arrays."
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = inspect.Signature([own])  # type: ignore[attr-defined]
    return method


def _install() -> None:
    found = {name: make(name) for names, make in ((_METHODS, _fluent), (_OF_ARRAYS, _refusing)) for name in names}
    for kind, (_, _, reflected) in _ARITHMETIC.items():
        found[f"__{kind}__"] = _operation(kind, False)
        if reflected is not None:
            found[f"__r{kind}__"] = _operation(kind, True)
    for name, method in found.items():
        method.__name__, method.__qualname__ = name, f"Symbol.{name}"
        setattr(Methods, name, method)


_install()
