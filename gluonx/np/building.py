"""Make documented functions from the records of operators, for `gluonx.np.functions`, ``linalg`` and ``fft``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gluonx.deferred.values.core import Index
from gluonx.np import table
from gluonx.np.calling import general
from gluonx.np.differing import computes
from gluonx.np.documentation import page
from gluonx.np.wrapping import Param, binary, operator, ordered, read, unary
from gluonx.ops.common import aligned
from gluonx.ops.host import algebra, kernels
from gluonx.ops.registry import BROADCAST, OPS, SAME, Front, Op, Record

if TYPE_CHECKING:
    import jax

    from gluonx.np.handle import ndarray


def document(
    front: Callable[..., Any],
    op: Op,
    name: str,
    params: Sequence[Param],
    module: str = "gluonx.np",
    shown: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """Give the front of an operator its name, its signature and its documentation.

    Its attribute ``arrays`` names the parameters that are arrays, which the signature does not show.
    """
    front.__name__ = front.__qualname__ = name
    front.__module__ = module
    front.__doc__ = page(op, name, [p for p in params if p.role != "dropped"], module, shown)
    if shown:
        params = [p._replace(name=shown.get(p.name, p.name)) for p in params]
    front.arrays = tuple([p.name for p in params if p.role in ("array", "sequence", "star")])  # type: ignore[attr-defined]
    kinds = tuple([type(p.default) for p in params])  # 0 and False are equal, but signatures show them
    front.__signature__ = _signature(tuple(params), kinds)  # type: ignore[attr-defined]
    return front


@functools.cache
def _signature(params: tuple[Param, ...], kinds: tuple[type, ...]) -> inspect.Signature:
    """Return the signature that callers see and may call; half of all functions share two signatures."""
    del kinds
    Kind = inspect.Parameter
    rows: list[inspect.Parameter] = []
    kind = Kind.POSITIONAL_OR_KEYWORD
    stars = [p for p in params if p.role == "star"]  # a call passes all of them by position: choose(a, *choices)
    for p in params:
        if p.role == "dropped" and p.name not in table.TAKEN:
            kind = Kind.KEYWORD_ONLY  # the dropped parameter itself is not shown
        elif p.role == "star":
            rows.append(Kind(p.name, Kind.VAR_POSITIONAL if p is stars[-1] else Kind.POSITIONAL_ONLY))
            kind = Kind.KEYWORD_ONLY
        else:
            if (
                kind is Kind.POSITIONAL_OR_KEYWORD
                and p.default is Kind.empty
                and any(r.default is not r.empty for r in rows)
            ):
                kind = Kind.KEYWORD_ONLY
            rows.append(Kind(p.name, kind, default=p.default))
    if all(p.name != "out" for p in rows):
        rows.append(Kind("out", Kind.KEYWORD_ONLY, default=None))
    return inspect.Signature(rows)


def make(
    name: str, fn: Callable[..., Any], record: Record, *, module: str = "gluonx.np", register_as: str = ""
) -> Callable[..., Any]:
    """Turn the pure function `fn` into an operator and the function `name` on ndarrays (see `gluonx.np.wrapping`).

    Examples
    --------
    >>> from jax import Array
    >>> from gluonx import np
    >>> def twice(x: Array):
    ...     return 2 * x
    >>> twice = make("twice", twice, Record(doc="Twice the input."))
    >>> twice(np.array([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    params = read(name, fn)
    called = record.get("np") or Front()
    op = operator(register_as or called.operator or name, fn, params, **record)
    return _called(name, op, params, called, module)


def _called(name: str, op: Op, params: Sequence[Param], called: Front, module: str = "gluonx.np") -> Callable[..., Any]:
    """Return the documented function `name` of an operator, called as its record says."""
    renamed = {**called.also, **{theirs: ours for ours, theirs in called.shown.items()}}
    path = f"{module.removeprefix('gluonx.')}.{name}"
    front = general(op, path, params, renamed=renamed, shown=called.shown, listed=called.listed)
    return document(front, op, name, params, module, called.shown)


_UFUNC_KEYWORDS = (
    Param("", "dropped", None),  # the parameters after it are keyword-only
    Param("where", "static", True),
    Param("casting", "static", "same_kind"),
    Param("order", "static", "K"),
    Param("dtype", "static", None),
    Param("subok", "static", True),
)


def _ufunc(name: str, record: Record, names: Sequence[str], front: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the documented function `name` of each element; None if neither an operator nor this JAX computes it."""
    params = [Param(n, "array", positional_only=True) for n in names]
    op, pure = OPS.get(name), computes(name)
    if op is None:
        if pure is None:
            return None
        shape = SAME if len(names) == 1 else BROADCAST
        op = operator(name, _broadcasting(pure), params, **{"ufunc": True, "shape": shape, **record})
    keywords = [Param("out", "out", None), *_UFUNC_KEYWORDS]
    called = op.np or Front()
    return document(front(op, name), op, name, [*params, *keywords], shown=called.shown)


def _broadcasting(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fn` for arrays of one rank, because JAX may be told to refuse others (``jax_numpy_rank_promotion``)."""

    def elementwise(*arrays: jax.Array) -> jax.Array | tuple[jax.Array, ...]:
        return fn(*arrays) if len(arrays) == 1 else fn(*aligned(*arrays))

    return elementwise


def _in_range(front: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the front of a quantile or percentile, which refuses a number `q` out of range; arrays are not checked."""
    top = 1 if "quantile" in name else 100

    @functools.wraps(front)
    def checked(*args: object, **kwargs: object) -> ndarray:
        q = args[1] if len(args) > 1 else kwargs.get("q")
        if isinstance(q, (int, float, list, tuple)):
            parts = q if isinstance(q, (list, tuple)) else [q]
            bad = [p for p in parts if isinstance(p, (int, float)) and not 0 <= p <= top]
            if bad:
                raise ValueError(f"np.{name}: q must be between 0 and {top}, got {bad[0]}.")
        return front(*args, **kwargs)

    return checked


def _by_positions(front: Callable[..., Any]) -> Callable[..., Any]:
    """Return the front of `roll`: a shift is an integer, whatever the array's dtype is."""

    @functools.wraps(front)
    def rolled(*args: object, **kwargs: Any) -> ndarray:
        if len(args) > 1 and type(args[1]) is int:
            args = (args[0], Index(args[1]), *args[2:])
        elif type(kwargs.get("shift")) is int:
            kwargs["shift"] = Index(kwargs["shift"])
        return front(*args, **kwargs)

    return rolled


def fill(namespace: dict[str, Any]) -> list[str]:
    """Put the functions of ``np`` into `namespace`, except those that neither an operator nor jax.numpy computes."""
    made: dict[str, Any] = {}
    for names, rows, front in ((("x",), table.UNARY, unary), (("x1", "x2"), table.BINARY, binary)):
        made.update({n: made_one for n in rows if (made_one := _ufunc(n, rows[n], names, front)) is not None})
    for name, op in table.CORE.items():
        assert op.np is not None
        params = [p._replace(role="sequence") if p.role == "star" else p for p in ordered(op, op.np.order)]
        made[name] = _called(name, op, params, op.np)
    for name, record in table.GENERAL.items():
        pure = computes(name)
        if pure is not None:
            made[name] = make(name, pure, record)
    for name, (numpy_kernel, work) in algebra.MORE.items():
        kernels.numpy_kernel(name, work)(numpy_kernel)
    made.update({n: _in_range(f, n) for n, f in made.items() if n.endswith(("percentile", "quantile"))})
    made["roll"] = _by_positions(made["roll"])
    namespace.update(made)
    return list(made)
