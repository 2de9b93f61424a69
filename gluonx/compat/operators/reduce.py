"""Legacy operators that reduce, sort and search.

MXNet 1 has no arrays without axes: what NumPy gives as a scalar has shape ``(1,)`` here. Places (``argmax``,
``argsort``, ``topk``) are float32 unless told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gluonx import np, npx
from gluonx.compat.operators.elementwise import kept
from gluonx.compat.operators.row import core, given, row, same

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


def at_least_1d(out: Any) -> ndarray:
    """`out`, or with one axis what has none."""
    return out if out.shape else core("reshape", out, newshape=(1,))


def reduced_axes(axis: Any, exclude: bool, ndim: int) -> tuple[int, ...] | None:
    """Return the axes to reduce: all where none is named, the others with `exclude`."""
    if axis is None or axis == ():
        return None
    named = tuple([n % ndim if -ndim <= n < ndim else n for n in axis])
    return tuple([n for n in range(ndim) if n not in named]) if exclude else named


def _reduction(name: str) -> Callable[..., Any]:
    def rule(a: Attrs, data: ndarray) -> ndarray:
        axes = reduced_axes(a.axis, a.exclude, len(data.shape))
        return at_least_1d(kept(core(name, data, axis=axes, keepdims=a.keepdims), data))

    return rule


_ATTRS = "axis: shape?=None, keepdims: bool=False, exclude: bool=False"
for _name, _alias in (("sum", "sum_axis"), ("mean", ""), ("prod", ""), ("max", "max_axis"), ("min", "min_axis")):
    row(f"{_name}(data; {_ATTRS})", _reduction(_name), via=_name, alias=_alias)


def _without_nan(name: str, neutral: int) -> Callable[..., Any]:
    reduce = _reduction(name)

    def rule(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
        return reduce(a, core("where", core("isnan", data), neutral, data))

    return rule


row(f"nansum(data; {_ATTRS})", _without_nan("sum", 0), via="where isnan sum")
row(f"nanprod(data; {_ATTRS})", _without_nan("prod", 1), via="where isnan prod")


@row(f"_square_sum(data; {_ATTRS})", via="square sum")
def _square_sum(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    return _reduction("sum")(a, core("square", data))


@row("norm(data; ord: int=2, axis: shape?=None, out_dtype: dtype?=None, keepdims: bool=False)", via="norm")
def _norm(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    out = core("norm", data, ord=a.ord, axis=a.axis or None, keepdims=a.keepdims, out_dtype=a.out_dtype)
    return at_least_1d(out)


@row("moments(data; axes: shape?=None, keepdims: bool=False)", via="mean var", nout=2)
def _moments(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    axes = a.axes or None
    both = [core(name, data, axis=axes, keepdims=a.keepdims) for name in ("mean", "var")]
    return tuple([at_least_1d(x) for x in both])


def _place(name: str) -> Callable[..., Any]:
    def rule(a: Attrs, data: ndarray) -> ndarray:
        return at_least_1d(core("cast", core(name, data, axis=a.axis, keepdims=a.keepdims), dtype="float32"))

    return rule


for _name in ("argmax", "argmin"):
    row(f"{_name}(data; axis: int?=None, keepdims: bool=False)", _place(_name), via=f"{_name} cast")
row(
    "argmax_channel(data)",
    lambda a, data: core("cast", core("argmax", data, axis=1), dtype="float32"),
    via="argmax cast",
)


@row("sort(data; axis: int?=-1, is_ascend: bool=True)", via="sort", counted=2)
def _sort(a: Attrs, data: ndarray) -> ndarray:
    return core("sort", data, axis=a.axis, descending=not a.is_ascend)


@row("argsort(data; axis: int?=-1, is_ascend: bool=True, dtype: dtype=float32)", via="argsort")
def _argsort(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    return core("argsort", data, axis=a.axis, descending=not a.is_ascend, dtype=a.dtype)


same(
    "topk(data; axis: int?=-1, k: int=1, ret_typ: {both indices mask value}=indices, is_ascend: bool=False, "
    "dtype: dtype=float32)",
    "topk",
    nout=lambda a: 2 if a.ret_typ == "both" else 1,
)


same("_npi_cumsum(a; axis: int?=None, dtype: dtype?=None)", "cumsum", alias="cumsum")


@row(
    "_histogram(data, bins?; bin_cnt: int?=None, range: floats?=None)",
    via="histogram",
    nout=2,
    needs={"bins": lambda a: a.bin_cnt is None},
)
def _histogram(a: Attrs, data: ndarray, bins: ndarray | None = None) -> ndarray | Sequence[ndarray]:
    if bins is not None:
        return tuple(np.histogram(data, bins))
    return tuple(np.histogram(data, a.bin_cnt, a.range))


row(
    "_contrib_calibrate_entropy(hist, hist_edges; num_quantized_bins: int=255)",
    lambda a, hist, edges: tuple(npx.contrib_calibrate_entropy(hist, edges, a.num_quantized_bins)),
    via="contrib_calibrate_entropy",
    nout=2,
)


# -- products ---------------------------------------------------------------------------------------------------------

_TRANSPOSED = "transpose_a: bool=False, transpose_b: bool=False, forward_stype: str?=None"


@row(f"dot(lhs, rhs; {_TRANSPOSED})", via="tensordot")
def _dot(a: Attrs, lhs: ndarray, rhs: ndarray) -> ndarray:
    left = 0 if a.transpose_a else len(lhs.shape) - 1
    right = len(rhs.shape) - 1 if a.transpose_b else 0
    return at_least_1d(core("tensordot", lhs, rhs, axes=((left,), (right,))))


row(f"batch_dot(lhs, rhs; {_TRANSPOSED})", lambda a, *x: core("batch_dot", *x, **given(a)), via="batch_dot")


@row("khatri_rao(*args)", via="expand_dims multiply reshape")
def _khatri_rao(a: Attrs, first: ndarray, *others: ndarray) -> ndarray | Sequence[ndarray]:
    out = first
    for other in others:
        pairs = core("multiply", core("expand_dims", out, axis=1), core("expand_dims", other, axis=0))
        out = core("reshape", pairs, newshape=(-1, pairs.shape[-1]))
    return out
