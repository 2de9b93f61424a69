"""The operators of arrays: ``x + y``, ``-x``, ``x < y``, ``x += y``.

:class:`Arithmetic` is the part of ndarray that Python's operators call. Each is one core operator, recorded or run as
the engine decides; the in-place ones compute and rebind.
"""

from __future__ import annotations

from types import NotImplementedType
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx import ops
from gluonx.common.arguments import from_elsewhere
from gluonx.common.frames import shorten
from gluonx.deferred.operators.amp_policy import adaptable
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.record.engine import invoke
from gluonx.deferred.values import program_cache
from gluonx.deferred.values.core import Handle
from gluonx.ops.host import kernels
from gluonx.ops.host.pullbacks import power_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from gluonx.np.handle import ndarray


OPERANDS: tuple[type[Any], ...] = (Handle, bool, int, float, np.generic, np.ndarray, jax.Array)
_POWERS: dict[int, DerivedOp] = program_cache.memo()


def _unknown(other: object, name: str) -> NotImplementedType:
    """Return NotImplemented, so that Python asks the class of the other operand; raise for PyTorch's tensors.

    Raises
    ------
    TypeError
        For a tensor of PyTorch; the message names the call that makes an array of it.
    """
    if type(other).__module__.partition(".")[0] == "torch":
        raise TypeError(f"{name}: an array or a number was expected, got {type(other).__name__}{from_elsewhere(other)}")
    return NotImplemented


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    op = ops.get(name).bind()

    def operator(self: ndarray, other: Any) -> ndarray:
        try:
            return invoke(op, (self, other)) if isinstance(other, OPERANDS) else _unknown(other, name)
        except Exception as error:
            shorten(error)
            raise

    def reflected(self: ndarray, other: float | ndarray) -> ndarray:
        try:
            return invoke(op, (other, self)) if isinstance(other, OPERANDS) else _unknown(other, name)
        except Exception as error:
            shorten(error)
            raise

    def in_place(self: ndarray, other: object) -> ndarray:
        try:
            return self._become(operator(self, other))
        except Exception as error:
            shorten(error)
            raise

    return operator, reflected, in_place


def _unary(name: str) -> Callable[[ndarray], ndarray]:
    op = ops.get(name).bind()

    def operator(self: ndarray) -> ndarray:
        try:
            return invoke(op, (self,))
        except Exception as error:
            shorten(error)
            raise

    return operator


def comparable(number: object, array: ndarray) -> Any:
    """Return a Python integer that is beyond the array's dtype as the infinity that compares in the same way."""
    if type(number) is not int or 0 <= number < 128:
        return number
    dtype = array.dtype
    if dtype.kind not in "iu":
        return number
    limits = np.iinfo(dtype)
    return float("inf") if number > limits.max else -float("inf") if number < limits.min else number


def _compare(name: str) -> Callable[[ndarray, object], ndarray]:
    op = ops.get(name).bind()

    def operator(self: ndarray, other: object) -> ndarray:
        try:
            return invoke(op, (self, comparable(other, self))) if isinstance(other, OPERANDS) else NotImplemented
        except Exception as error:
            shorten(error)
            raise

    return operator


def _raised(x: jax.Array, exponent: int) -> jax.Array:
    whole = exponent < 0 and not jnp.issubdtype(x.dtype, jnp.inexact)  # jax.numpy takes no inverse of integers
    return ops.integer_power(x, exponent=exponent) if whole else jnp.power(x, exponent)


def _power(self: ndarray, exponent: object) -> ndarray:
    try:
        if type(exponent) is int and abs(exponent) <= 64:
            op = _POWERS.get(exponent)
            if op is None:
                made = DerivedOp(
                    f"power({exponent})",
                    lambda x: _raised(x, exponent),
                    extra=("power", exponent),
                    numpy_kernel=kernels.raised(exponent),
                    any_length=True,
                    pullback=power_rule(exponent),
                )
                op = _POWERS[exponent] = adaptable(made)
            return invoke(op, (self,))
        return _pow(self, exponent)
    except Exception as error:
        shorten(error)
        raise


_pow, _rpow, _ = _binary("power")


class Arithmetic:
    """Python's operators on arrays."""

    __slots__ = ()

    __add__, __radd__, __iadd__ = _binary("add")
    __sub__, __rsub__, __isub__ = _binary("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _binary("true_divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("mod")
    __matmul__, __rmatmul__, __imatmul__ = _binary("matmul")
    __and__, __rand__, __iand__ = _binary("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _binary("bitwise_left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("bitwise_right_shift")
    __pow__, __rpow__ = _power, _rpow
    __eq__ = _compare("equal")  # type: ignore[assignment]
    __ne__ = _compare("not_equal")  # type: ignore[assignment]
    __lt__, __le__ = _compare("less"), _compare("less_equal")
    __gt__, __ge__ = _compare("greater"), _compare("greater_equal")
    __neg__, __abs__, __invert__ = _unary("negative"), _unary("abs"), _unary("bitwise_not")

    def __ipow__(self, exponent: object) -> ndarray:
        return self._become(self**exponent)  # type: ignore[attr-defined]

    def __pos__(self) -> ndarray:
        return self.copy()  # type: ignore[attr-defined]

    def __divmod__(self, other: object) -> tuple[Any, Any]:
        return self // other, self % other
