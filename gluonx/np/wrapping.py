"""Functions on ndarrays, made from pure functions on JAX arrays.

Three steps, each done once, at import: *read* the signature into `Param` rows (array, sequence of arrays, static,
...), *register* an operator whose positional parameters are the arrays and whose keywords are the statics, and
*front* it with a function that sorts a call's arguments into the two and hands them to ``invoke``.

The invariant: an argument of an array parameter, even a number, is passed to the engine as a leaf and is not part of
the program's key; an argument of a static parameter is made hashable and selects one interned `BoundOp`. So
``np.clip(x, 0, t)`` with a new ``t`` each step compiles once, and ``np.sum(x, axis=[0, 1])`` and ``np.sum(x, (0, 1))``
are one operator.

A front is a closure. Its fast path is a call with the arrays first and static arguments spelled as in an earlier call:
it takes one dict look-up.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import jax
import numpy as onp
from numpy.typing import ArrayLike

from gluonx.common.arguments import Size, unexpected
from gluonx.common.extensions import NAMES
from gluonx.common.frames import shorten, telling
from gluonx.deferred import invoke
from gluonx.dtype import canonical, refuse_cut
from gluonx.errors import ShapeError, UnsupportedArgumentError
from gluonx.np import table
from gluonx.np.arithmetic import comparable
from gluonx.np.handle import ndarray
from gluonx.ops.registry import BoundOp, Op, Record, register

Front = Callable[..., Any]

SEQUENCE_TYPES = frozenset({list, tuple})
_PLAIN_NUMBERS = frozenset({int, float})
_NUMBERS = (bool, int, float, complex, onp.generic)
DTYPES = frozenset({"dtype", "out_dtype", "preferred_element_type"})
_UFUNC_DEFAULTS = {
    "where": (None, True),
    "casting": ("same_kind",),
    "order": ("K", "C"),
    "dtype": (None,),
    "subok": (True,),
}
_MISSING: Any = inspect.Parameter.empty
SPELLINGS = 2048  # the most spellings of a function's static arguments that are cached


class Param(NamedTuple):
    """One parameter of a function as the front reads it: its name, its role and its default."""

    name: str
    role: str  # array, sequence, star, static, out or dropped
    default: Any = _MISSING
    positional_only: bool = False


_ARRAY = re.compile(r"\b(Array|ndarray)")
_SEQUENCE = re.compile(r"\bSequence\[[^]]*\b(Array|ndarray)")


def _role(function: str, p: inspect.Parameter) -> str:
    """Return the role of a parameter by its annotation, ours or ``jax.numpy``'s."""
    if p.name == "out":
        return "out"
    if p.name in table.DROPPED:
        return "dropped"
    if p.kind is p.VAR_POSITIONAL:
        return "star"
    if p.annotation is p.empty and p.default is p.empty:  # a later JAX may add one with a default
        raise TypeError(f"np.{function}: an annotation must say whether the parameter '{p.name}' is an array.")
    said = str(p.annotation)
    return "sequence" if _SEQUENCE.search(said) else "array" if _ARRAY.search(said) else "static"


def read(name: str, fn: Callable[..., Any]) -> tuple[Param, ...]:
    """Return the parameters of the function `name` on JAX arrays, with their roles; ``**kwargs`` is left out."""
    rows = [p for p in inspect.signature(fn).parameters.values() if p.kind is not p.VAR_KEYWORD]
    return tuple([Param(p.name, _role(name, p), p.default, p.kind is p.POSITIONAL_ONLY) for p in rows])


def declared(op: Op) -> dict[str, Param]:
    """Return an operator's own parameters, in the order of declaration."""
    rows: dict[str, Param] = {}
    for p in inspect.signature(op.fn).parameters.values():
        if p.name in op.inputs:
            default = None if p.name in op.optional else _MISSING
            rows[p.name] = Param(p.name, "star" if op.variadic else "array", default)
        elif p.name in op.attr_names:
            rows[p.name] = Param(p.name, "static", op.defaults.get(p.name, _MISSING))
    return rows


def ordered(op: Op, order: str) -> tuple[Param, ...]:
    """Return the parameters that a record's `Front` names, in its order.

    Raises
    ------
    KeyError
        If it names a parameter that the operator lacks and that is not one of the ignored ones.
    """
    own = declared(op)
    rows: list[Param] = []
    for word in order.split():
        name, _, default = word.partition("=")
        if name == "out":
            param = Param(name, "out", None)
        elif name in table.IGNORED and name not in own:
            param = Param(name, "dropped", None)
        else:
            param = own[name]
        rows.append(param._replace(default=_value(default)) if "=" in word else param)
    return tuple(rows)


def _value(text: str) -> object:
    """Return the default that a record's `Front` writes; an empty text means that there is none."""
    words = {"": _MISSING, "True": True, "False": False, "None": None}
    try:
        return words[text] if text in words else float(text)
    except ValueError:
        return text


def operator(name: str, fn: Callable[..., Any], params: Sequence[Param], **record: Unpack[Record]) -> Op:
    """Register `fn` as the core operator `name` and return it.

    Parameters
    ----------
    name : str
        The operator's name in the registry.
    fn : callable
        A pure function on JAX arrays.
    params : sequence of Param
        The parameters of `fn`, from `read`.
    **record
        The fields of its `Record`.
    """
    adapter = _adapter(fn, params)
    adapter.__name__ = adapter.__qualname__ = name
    adapter.__doc__ = record.get("doc", "")
    return register(name, **record)(adapter)


def _adapter(fn: Callable[..., Any], params: Sequence[Param]) -> Callable[..., Any]:
    """Return `fn` as a core operator: arrays by position (None: not given), statics by keyword, results in a tuple."""
    arrays = [p for p in params if p.role == "array"]
    leading = sum(p.positional_only for p in arrays)
    names = [p.name for p in arrays[leading:]]
    collect = [p for p in params if p.role in ("sequence", "star")]

    def on_collected(*leaves: jax.Array, **attrs: object) -> Any:
        result = fn(*leaves, **attrs) if collect[0].role == "star" else fn(leaves, **attrs)
        return _plain(result)

    def on_arrays(*leaves: jax.Array, **attrs: object) -> Any:
        given = {n: leaf for n, leaf in zip(names, leaves[leading:], strict=False) if leaf is not None}
        return _plain(fn(*leaves[:leading], **given, **attrs))

    adapter = on_collected if collect else on_arrays
    adapter.__signature__ = _operator_signature(params, collect)  # type: ignore[attr-defined]
    return adapter


def _operator_signature(params: Sequence[Param], collect: Sequence[Param]) -> inspect.Signature:
    kind = inspect.Parameter
    if collect:
        rows = [kind("arrays", kind.VAR_POSITIONAL)]
    else:
        arrays = [p for p in params if p.role == "array"]
        rows = [
            kind(p.name, kind.POSITIONAL_OR_KEYWORD, default=_MISSING if p.default is _MISSING else None)
            for p in arrays
        ]
        rows.sort(key=lambda p: p.default is not _MISSING)
        assert [p.name for p in rows] == [p.name for p in arrays], f"a required array follows an optional one: {params}"
    rows += [kind(p.name, kind.KEYWORD_ONLY, default=p.default) for p in params if p.role == "static"]
    return inspect.Signature(rows)


def _plain(result: object) -> Any:
    """Turn lists and named tuples into tuples: an operator gives one array or a tuple of them."""
    return tuple(result) if isinstance(result, (list, tuple)) else result


# -- values -----------------------------------------------------------------------------------------------------------


def as_leaf(value: object) -> Any:
    """Return `value` as a leaf for the engine. Lists become arrays of MXNet's default dtype, the rest is unchanged."""
    if type(value) in SEQUENCE_TYPES:
        return NAMES["gluonx.np.array"](value)
    return value


def as_static(name: str, value: Any) -> Any:
    """Return a static argument in hashable form: tuples for lists, Python numbers for NumPy's and for small arrays."""
    if name in DTYPES:
        return None if value is None else canonical(value)
    if isinstance(value, (ndarray, jax.Array)):
        value = onp.asarray(value.asnumpy() if isinstance(value, ndarray) else value)
    if isinstance(value, onp.ndarray):
        # np.array([2, 3]) holds floats in MXNet; as an axis or a shape they are integers.
        whole = value.dtype.kind == "f" and bool(onp.all(value == onp.floor(value)))
        return as_static(name, (value.astype(onp.int64) if whole else value).tolist())
    if type(value) in SEQUENCE_TYPES:
        return tuple([as_static("", item) for item in value])
    return value.item() if isinstance(value, onp.generic) else value


def as_size(size: Size | None) -> tuple[int, ...] | None:
    """Return a size as a tuple; None is unchanged."""
    given = as_static("size", size)
    return given if given is None or isinstance(given, tuple) else (given,)


def write_out(name: str, out: ndarray | None, result: Any) -> Any:
    """Write `result` to the handle that the caller gave as ``out=``, and return that handle.

    Raises
    ------
    TypeError
        If `out` is not an ndarray (or a tuple of one for each result), or if a result would be truncated to fit: floats
        to integers, integers to booleans or to unsigned integers.
    ShapeError
        If the shapes differ.
    """
    if isinstance(result, (tuple, list)):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(
                f"{name} has {len(result)} results; `out` must be a tuple of as many ndarrays, got {out!r}."
            )
        return type(out)([write_out(name, o, r) for o, r in zip(out, result, strict=True)])
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if not isinstance(out, ndarray):
        raise TypeError(f"{name}: `out` must be an ndarray, got {type(out).__name__}.")
    if out.shape != result.shape:
        raise ShapeError(f"{name}: `out` has shape {out.shape}, but the result has shape {result.shape}.")
    refuse_cut(f"{name}: `out`", out.dtype, result.dtype)
    out[...] = result
    return out


def store(memory: dict[Any, Any], key: object, value: object) -> None:
    """Cache a spelling, in bounded memory."""
    if len(memory) >= SPELLINGS:
        memory.clear()
    memory[key] = value


# -- elementwise fronts -----------------------------------------------------------------------------------------------


def _check_ufunc_keywords(name: str, kwargs: Mapping[str, Any]) -> None:
    for key, value in kwargs.items():
        if key not in _UFUNC_DEFAULTS:
            raise unexpected(f"np.{name}", key, ("out", *_UFUNC_DEFAULTS))
        if not any(value is default or (type(value) is str and value == default) for default in _UFUNC_DEFAULTS[key]):
            hint = (
                "; use np.where on the result"
                if key == "where"
                else "; use .astype on the result"
                if key == "dtype"
                else ""
            )
            raise UnsupportedArgumentError(f"np.{name} does not support {key}={value!r}{hint}.")


def _elementwise(
    name: str,
    bound: BoundOp,
    host: Callable[..., Any] | None,
    args: tuple[Any, ...],
    out: ndarray | None,
    kwargs: dict[str, Any],
) -> Any:
    """Compute any call of a ufunc: keywords, numbers only (NumPy's result, as in MXNet), lists, ``out``."""
    if kwargs:
        _check_ufunc_keywords(name, kwargs)
    if out is None and host is not None and all(isinstance(a, _NUMBERS) for a in args):
        with telling(name):
            return host(*args)
    for a in args:
        if a is None or isinstance(a, str):
            raise TypeError(f"np.{name}: an array or a number was expected, got {a!r}.")
    result = invoke(bound, tuple([as_leaf(a) for a in args]))
    return result if out is None else write_out(f"np.{name}", out, result)


def unary(op: Op, name: str) -> Front:
    """Return the front of an elementwise function of one array."""
    bound, host = op.bind(), getattr(onp, name, None)

    def front(x: ArrayLike = _MISSING, out: ndarray | None = None, **kwargs: object) -> Any:
        try:
            if isinstance(x, ndarray) and out is None and not kwargs:
                return invoke(bound, (x,))
            if x is _MISSING:
                x = _by_name(name, kwargs, ("a", "z", "val"))
            return _elementwise(name, bound, host, (x,), out, kwargs)
        except Exception as error:
            shorten(error)
            raise

    return front


def binary(op: Op, name: str) -> Front:
    """Return the front of an elementwise function of two arrays."""
    bound, host = op.bind(), getattr(onp, name, None)
    compares, symmetric = op.number == "compared", op.number == "second"

    def front(x1: Any = _MISSING, x2: Any = _MISSING, out: ndarray | None = None, **kwargs: object) -> Any:
        try:
            if (isinstance(x1, ndarray) or isinstance(x2, ndarray)) and out is None and not kwargs:
                if compares:
                    x1, x2 = (comparable(x1, x2), x2) if isinstance(x2, ndarray) else (x1, comparable(x2, x1))
                elif symmetric and x1.__class__ in _PLAIN_NUMBERS:
                    x1, x2 = x2, x1  # at a tie with a number the array gets the whole gradient
                try:
                    return invoke(bound, (x1, x2))
                except TypeError:
                    if x1.__class__ not in SEQUENCE_TYPES and x2.__class__ not in SEQUENCE_TYPES:
                        raise
            if x1 is _MISSING:
                x1 = _by_name(name, kwargs, ("x", "a"))
            if x2 is _MISSING:
                x2 = _by_name(name, kwargs, ("y", "b"))
            return _elementwise(name, bound, host, (x1, x2), out, kwargs)
        except Exception as error:
            shorten(error)
            raise

    return front


def _by_name(name: str, kwargs: dict[str, Any], names: Iterable[str]) -> Any:
    for spelling in names:
        if spelling in kwargs:
            return kwargs.pop(spelling)
    raise TypeError(f"np.{name} is missing an array argument.")
