"""ONNX rules of elementwise operators, comparisons and casts. See `gluonx.export.onnx.emit`.

ONNX's operators want operands of one element type, and their kernels exist for a few types: numbers adapt to arrays,
narrow integers are computed in int32, which wraps round in the same way when it is cast back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from gluonx.errors import GraphError
from gluonx.export.onnx.emit import RULES, Emit, Rule, rule
from gluonx.export.onnx.graph import Value, is_float
from gluonx.export.record import Step, number
from gluonx.ops.registry import OPS, Onnx, Op

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


_BOOL = np.dtype(bool)
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
_WIDER = {"int8": _INT32, "int16": _INT32, "uint8": _INT32, "uint16": _INT32, "bool": _INT32, "uint32": _INT64}


def wider(dtype: DTypeLike) -> np.dtype:
    """Return the element type to compute in."""
    return _WIDER.get(np.dtype(dtype).name, np.dtype(dtype))


def boolean(emit: Emit, value: Value) -> Value:
    """Cast to bool: whether elements are not zero."""
    return emit.cast(value, _BOOL)


def where(emit: Emit, condition: Value, x: Value, y: Value) -> Value:
    """Elements of `x` or `y`, of one element type."""
    dtype = x.dtype
    return emit.node("Where", condition, emit.cast(x, wider(dtype)), emit.cast(y, wider(dtype)), dtype=wider(dtype))


# -- one argument -----------------------------------------------------------------------------------------------------


def _operand(emit: Emit, step: Step) -> Value:
    """Return the only argument, in the element type that the result is computed in."""
    return emit.value(step.args[0], wider(step.outs[0].dtype))


def _operands(emit: Emit, step: Step) -> list[Value]:
    return [emit.value(arg, wider(step.outs[0].dtype)) for arg in step.args]


def _recorded(op: Op, onnx: Onnx) -> Rule:
    """Return the rule of an operator whose record names that of ONNX."""

    def one(emit: Emit, step: Step) -> Any:
        x = _operand(emit, step)
        if onnx.floats and x.dtype.kind in "iu":
            return x
        attrs: dict[str, Any] = {theirs: float(step.op.attrs[ours]) for ours, theirs in onnx.attrs.items()}
        return emit.node(onnx.name, x, **attrs)

    def arithmetic(emit: Emit, step: Step) -> Any:
        if step.outs[0].dtype == _BOOL:
            return emit.node(_ON_BOOLS[onnx.name], *[emit.value(arg, _BOOL) for arg in step.args])
        return emit.node(onnx.name, *_operands(emit, step))

    def compared(emit: Emit, step: Step) -> Any:
        return _comparison(emit, step, onnx.name)

    def logical(emit: Emit, step: Step) -> Any:
        return emit.node(onnx.name, *[boolean(emit, emit.value(arg)) for arg in step.args])

    if op.gives == "bool":
        return compared if op.number == "compared" else logical
    return arithmetic if len(op.inputs) == 2 else one


_ON_BOOLS = {"Add": "Or", "Mul": "And"}
RULES.update({op.name: _recorded(op, op.onnx) for op in OPS.values() if op.onnx is not None})
RULES["sign_ste"] = RULES["sign"]
RULES["selu"] = lambda emit, step: emit.node("Selu", _operand(emit, step))

for _name in ("copy", "stop_gradient", "numpy.copy", "positive", "make_loss", "linear_regression_output",
              "mae_regression_output", "svm_output"):  # fmt: skip
    RULES[_name] = lambda emit, step: emit.value(step.args[0])
RULES["logistic_regression_output"] = RULES["sigmoid"]


def scaled(emit: Emit, x: Value, by: float) -> Value:
    """Return the value times a number."""
    return emit.node("Mul", x, emit.constant(by, x.dtype))


class _Nodes:
    """Nodes by ONNX's names: ``n.Log(n.Add(x, 1))``. Numbers are constants in the element type of the operands."""

    def __init__(self, emit: Emit, dtype: DTypeLike) -> None:
        self.emit, self.dtype = emit, dtype

    def __getattr__(self, kind: str) -> Callable[..., Value]:
        return lambda *inputs: self.emit.node(kind, *[self.value(x) for x in inputs])

    def value(self, x: Value | float) -> Value:
        return x if isinstance(x, Value) else self.emit.constant(x, self.dtype)


def _logaddexp(n: _Nodes, x: Value, y: Value) -> Value:
    distance = n.Neg(n.Abs(n.Sub(x, y)))
    more = n.Log(n.Add(n.Exp(distance), 1))
    return n.Add(n.Max(x, y), more)


def _cube_root(n: _Nodes, x: Value) -> Value:
    return n.Mul(n.Sign(x), n.Pow(n.Abs(x), 1 / 3))


_COMPOSED: dict[str, Callable[..., Value]] = {
    "degrees": lambda n, x: n.Mul(x, 180 / math.pi),
    "radians": lambda n, x: n.Mul(x, math.pi / 180),
    "log2": lambda n, x: n.Mul(n.Log(x), 1 / math.log(2)),
    "log10": lambda n, x: n.Mul(n.Log(x), 1 / math.log(10)),
    "log1p": lambda n, x: n.Log(n.Add(x, 1)),
    "expm1": lambda n, x: n.Sub(n.Exp(x), 1),
    "exp2": lambda n, x: n.Pow(2, x),
    "square": lambda n, x: n.Mul(x, x),
    "cbrt": _cube_root,
    "rcbrt": lambda n, x: n.Reciprocal(_cube_root(n, x)),
    "rsqrt": lambda n, x: n.Reciprocal(n.Sqrt(x)),
    "maximum": lambda n, x, y: n.Max(x, y),
    "minimum": lambda n, x, y: n.Min(x, y),
    "hypot": lambda n, x, y: n.Sqrt(n.Add(n.Mul(x, x), n.Mul(y, y))),
    "logaddexp": _logaddexp,
    "ldexp": lambda n, x, y: n.Mul(x, n.Pow(2, y)),
}
"""What ONNX has no operator for, but several."""


def _composed(formula: Callable[..., Value]) -> Rule:
    def made(emit: Emit, step: Step) -> Any:
        operands = _operands(emit, step)
        return formula(_Nodes(emit, operands[0].dtype), *operands)

    return made


for _name, _formula in _COMPOSED.items():
    RULES[_name] = _composed(_formula)


@rule("trunc", "round_ste")
def _trunc(emit: Emit, step: Step) -> Any:
    x = _operand(emit, step)
    if x.dtype.kind in "iu":
        return x
    size = emit.node("Abs", x)
    if step.op.name == "round_ste":
        size = emit.node("Add", size, emit.constant(0.5, x.dtype))
    return emit.node("Mul", emit.node("Sign", x), emit.node("Floor", size))


@rule("around", "round_")
def _around(emit: Emit, step: Step) -> Any:
    x, decimals = _operand(emit, step), step.op.attrs["decimals"]
    if x.dtype.kind in "iu":
        if decimals < 0:
            raise GraphError("integers are rounded to whole numbers only")
        return x
    if not decimals:
        return emit.node("Round", x)
    unit = emit.constant(10.0**decimals, x.dtype)
    return emit.node("Div", emit.node("Round", emit.node("Mul", x, unit)), unit)


@rule("bitwise_not")
def _bitwise_not(emit: Emit, step: Step) -> Any:
    x = emit.value(step.args[0])
    return emit.node("Not" if x.dtype == _BOOL else "BitwiseNot", x)


_SIGNS = {"isinf": (1, 1), "isposinf": (1, 0), "isneginf": (0, 1)}


@rule("isnan", *_SIGNS)
def _kind_of_float(emit: Emit, step: Step) -> Any:
    x = emit.value(step.args[0])
    if x.dtype.kind in "iub":
        return emit.node("Less", emit.cast(x, np.float32), emit.constant(-np.inf, np.float32), dtype=_BOOL)
    if step.op.name == "isnan":
        return emit.node("IsNaN", x, dtype=_BOOL)
    above, below = _SIGNS[step.op.name]
    return emit.node("IsInf", x, dtype=_BOOL, detect_positive=above, detect_negative=below)


@rule("isfinite")
def _isfinite(emit: Emit, step: Step) -> Any:
    x = emit.value(step.args[0])
    x = x if is_float(x.dtype) else emit.cast(x, np.float32)
    return emit.node("Less", emit.node("Abs", x), emit.constant(np.inf, x.dtype), dtype=_BOOL)


@rule("nan_to_num")
def _nan_to_num(emit: Emit, step: Step) -> Any:
    x = emit.value(step.args[0])
    if not is_float(x.dtype):
        return x
    info = jnp.finfo(x.dtype)
    named = dict(zip(("nan", "high", "low"), step.args[1:], strict=False))
    nan, high, low = (named.get(n) for n in ("nan", "high", "low"))
    infinite = emit.node("IsInf", x, dtype=_BOOL)
    positive = emit.node("Greater", x, emit.constant(0, x.dtype), dtype=_BOOL)
    bounds = [emit.value(d if v is None else v, x.dtype) for v, d in ((high, info.max), (low, info.min))]
    out = where(emit, infinite, where(emit, positive, *bounds), x)
    return where(emit, emit.node("IsNaN", x, dtype=_BOOL), emit.value(0 if nan is None else nan, x.dtype), out)


# -- two arguments ----------------------------------------------------------------------------------------------------


@rule("true_divide", "power")
def _quotient(emit: Emit, step: Step) -> Any:
    return emit.node("Div" if step.op.name == "true_divide" else "Pow", *_operands(emit, step))


@rule("add_n")
def _add_n(emit: Emit, step: Step) -> Any:
    given = _operands(emit, step)
    if len(given) == 1:
        return given[0]
    if is_float(given[0].dtype):
        return emit.node("Sum", *given) if len(given) > 2 else emit.node("Add", *given)
    out = given[0]
    for value in given[1:]:
        out = emit.node("Add", out, value)
    return out


@rule("fmax", "fmin")
def _numbers_first(emit: Emit, step: Step) -> Any:
    x, y = _operands(emit, step)
    out = emit.node("Max" if step.op.name == "fmax" else "Min", x, y)
    if not is_float(x.dtype):
        return out
    out = where(emit, emit.node("IsNaN", y, dtype=_BOOL), x, out)
    return where(emit, emit.node("IsNaN", x, dtype=_BOOL), y, out)


def floor_mod(emit: Emit, x: Value, y: Value) -> Value:
    """Return the remainder with the sign of the divisor."""
    if not is_float(x.dtype):
        return emit.node("Mod", x, y)
    rest = emit.node("Mod", x, y, fmod=1)
    return emit.node("Mod", emit.node("Add", rest, y), y, fmod=1)


rule("mod")(lambda emit, step: floor_mod(emit, *_operands(emit, step)))
rule("fmod")(lambda emit, step: emit.node("Mod", *_operands(emit, step), fmod=1))


@rule("floor_divide")
def _floor_divide(emit: Emit, step: Step) -> Any:
    x, y = _operands(emit, step)
    if is_float(x.dtype):
        return emit.node("Floor", emit.node("Div", x, y))
    return emit.node("Div", emit.node("Sub", x, emit.node("Mod", x, y)), y)


@rule("arctan2")
def _arctan2(emit: Emit, step: Step) -> Any:
    y, x = _operands(emit, step)
    zero, pi = emit.constant(0, x.dtype), emit.constant(math.pi, x.dtype)
    left = emit.node("Less", x, zero, dtype=_BOOL)
    below = emit.node("Less", y, zero, dtype=_BOOL)
    turn = where(emit, left, where(emit, below, emit.node("Neg", pi), pi), zero)
    still = emit.node("And", *[emit.node("Equal", v, zero, dtype=_BOOL) for v in (x, y)])
    angle = emit.node("Atan", emit.node("Div", y, where(emit, still, emit.constant(1, x.dtype), x)))
    return emit.node("Add", angle, turn)


@rule("copysign")
def _copysign(emit: Emit, step: Step) -> Any:
    x, y = _operands(emit, step)
    zero, one = emit.constant(0, x.dtype), emit.constant(1, x.dtype)
    # 1 / -0 is minus infinity: that is how the sign of a zero shows.
    seen = where(emit, emit.node("Equal", y, zero, dtype=_BOOL), emit.node("Div", one, y), y)
    size = emit.node("Abs", x)
    return where(emit, emit.node("Less", seen, zero, dtype=_BOOL), emit.node("Neg", size), size)


_BITWISE = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}


@rule(*_BITWISE)
def _bitwise(emit: Emit, step: Step) -> Any:
    dtype = step.outs[0].dtype
    kind = _BITWISE[step.op.name]
    return emit.node(kind if dtype == _BOOL else f"Bitwise{kind}", *[emit.value(arg, dtype) for arg in step.args])


rule("integer_power")(lambda emit, step: _raised(emit, _operand(emit, step), step.op.attrs["exponent"]))
rule("derived power")(lambda emit, step: _raised(emit, _operand(emit, step), step.op.extra[1]))


def _raised(emit: Emit, x: Value, exponent: int) -> Value:
    if exponent == 1:
        return x
    if exponent == 2:
        return emit.node("Mul", x, x)
    if exponent == -1 and is_float(x.dtype):
        return emit.node("Reciprocal", x)
    return emit.node("Pow", x, emit.constant(exponent, x.dtype))


# -- comparisons, choices, types --------------------------------------------------------------------------------------


def _comparison(emit: Emit, step: Step, kind: str) -> Value:
    x, y = emit.meeting(*step.args)
    x, y = (emit.cast(v, wider(v.dtype)) for v in (x, y))
    return emit.node(kind, x, y, dtype=_BOOL)


rule("not_equal")(lambda emit, step: emit.node("Not", _comparison(emit, step, "Equal")))


@rule("where")
def _where(emit: Emit, step: Step) -> Any:
    condition, x, y = step.args
    dtype = step.outs[0].dtype
    return where(emit, emit.value(condition, _BOOL), emit.value(x, dtype), emit.value(y, dtype))


@rule("select_first")
def _select(emit: Emit, step: Step) -> Any:
    dtype, half = step.outs[0].dtype, len(step.args) // 2
    conditions, choices = step.args[:half], [emit.value(arg, dtype) for arg in step.args[half:]]
    out = choices.pop()
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        out = where(emit, emit.value(condition, _BOOL), choice, out)
    return out


@rule("derived mask_write")
def _mask_write(emit: Emit, step: Step) -> Any:
    x, mask, value = step.args
    chosen, x = emit.value(mask, _BOOL), emit.value(x)
    more = x.ndim - chosen.ndim
    chosen = emit.unsqueeze(chosen, *range(chosen.ndim, chosen.ndim + more))
    return where(emit, chosen, emit.value(value, x.dtype), x)


@rule("clip")
def _clip(emit: Emit, step: Step) -> Any:
    x, low, high = (*step.args, None, None)[:3]
    dtype = wider(step.outs[0].dtype)
    x = emit.value(x, dtype)
    if all(v is None or number(v) for v in (low, high)) and is_float(dtype):
        return emit.node("Clip", x, *[None if v is None else emit.value(v, dtype) for v in (low, high)])
    if low is not None:
        x = emit.node("Max", x, emit.value(low, dtype))
    return x if high is None else emit.node("Min", x, emit.value(high, dtype))


@rule("cast", "derived cast")
def _cast(emit: Emit, step: Step) -> Any:
    x, dtype = emit.value(step.args[0]), step.outs[0].dtype
    if is_float(x.dtype) and dtype.kind in "iu" and dtype.itemsize < 4:
        x = emit.cast(x, np.int32)  # from there on it wraps round
    return emit.cast(x, dtype)
