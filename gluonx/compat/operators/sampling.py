"""Legacy operators that draw random numbers.

Without a shape one number is drawn, of shape ``(1,)``. The operators named ``_sample_*`` take arrays of parameters and
draw `shape` numbers for each element; the functions of ``mx.nd.random`` choose between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gluonx import np
from gluonx.compat.mode import Mode
from gluonx.compat.operators.row import core, row, same
from gluonx.deferred.operators.growth import dtype_of
from gluonx.np.limits import check_old

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.dtype import DTypeLike
    from gluonx.np.handle import ndarray


_SHAPE = "shape: shape?=None, ctx: str='', dtype: dtype?=None"
_EACH = "shape: shape=(), dtype: dtype?=None"

Draw = Callable[..., Any]


def _gamma(size: Any, dtype: DTypeLike, alpha: Any, beta: Any) -> Any:
    return core("random_gamma", alpha, beta, size=size, dtype=dtype)


def _exponential(size: Any, dtype: DTypeLike, lam: Any) -> ndarray:
    drawn = core("random_exponential", core("divide", 1.0, np.array(lam) if isinstance(lam, float) else lam), size=size)
    return drawn if dtype is None else core("cast", drawn, dtype=dtype)


def _direct(name: str) -> Draw:
    def draw(size: Any, dtype: DTypeLike, *parameters: Any) -> ndarray:
        return core(name, *parameters, size=size, dtype=dtype)

    return draw


# name: (what draws, parameters as (name, default), core operators)
_DISTRIBUTIONS: dict[str, tuple[Draw, Sequence[tuple[str, float]], str]] = {
    "uniform": (_direct("random_uniform"), (("low", 0.0), ("high", 1.0)), "random_uniform"),
    "normal": (_direct("random_normal"), (("loc", 0.0), ("scale", 1.0)), "random_normal"),
    "gamma": (_gamma, (("alpha", 1.0), ("beta", 1.0)), "random_gamma"),
    "exponential": (_exponential, (("lam", 1.0),), "divide random_exponential"),
    "poisson": (_direct("random_poisson"), (("lam", 1.0),), "random_poisson"),
    "binomial": (_direct("random_binomial"), (("n", 1.0), ("p", 1.0)), "random_binomial"),
    "negative_binomial": (_direct("random_negative_binomial"), (("k", 1.0), ("p", 1.0)), "random_negative_binomial"),
    "generalized_negative_binomial": (
        _direct("random_generalized_negative_binomial"),
        (("mu", 1.0), ("alpha", 1.0)),
        "random_generalized_negative_binomial",
    ),
}
_SAMPLE_NAMES = {"normal": ("mu", "sigma")}


def _shape(a: Attrs) -> tuple[int, ...]:
    """Return the shape that was asked for; ``()`` is one number without axes where NumPy's shapes are on."""
    return tuple(a.shape) if a.shape or (a.shape is not None and Mode.shape) else (1,)


def _distribution(name: str) -> None:
    draw, parameters, via = _DISTRIBUTIONS[name]
    names = [p for p, _ in parameters]
    declared = ", ".join([f"{p}: float={default}" for p, default in parameters])

    def scalar(a: Attrs) -> ndarray:
        check_old(f"random_{name}", name, [a[p] for p in names])
        return draw(_shape(a), a.dtype or "float32", *[a[p] for p in names])

    def like(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
        return draw(tuple(data.shape), dtype_of(data), *[a[p] for p in names])

    def sample(a: Attrs, *parameters: ndarray) -> ndarray:
        lengths = (1,) * len(a.shape)
        wide = [core("reshape", p, newshape=(*p.shape, *lengths)) for p in parameters]
        return draw((*parameters[0].shape, *a.shape), a.dtype or dtype_of(parameters[0]), *wide)

    short = {"uniform": " uniform", "normal": " normal"}.get(name, "")
    row(f"_random_{name}(; {declared}, {_SHAPE})", scalar, via=via, alias=f"random_{name}{short}")
    row(f"_random_{name}_like(data; {declared})", like, via=via)
    inputs = ", ".join(_SAMPLE_NAMES.get(name, names))
    row(f"_sample_{name}({inputs}; {_EACH})", sample, via=via, alias=f"sample_{name}")


for _name in _DISTRIBUTIONS:
    _distribution(_name)


@row(
    "_random_randint(; low: int, high: int, shape: shape?=None, ctx: str='', dtype: dtype?=None)",
    via="random_randint",
    alias="random_randint",
)
def _randint(a: Attrs) -> ndarray | Sequence[ndarray]:
    check_old("random_randint", "randint", (a.low, a.high))
    return core("random_randint", a.low, a.high, size=_shape(a), dtype=a.dtype or "int32")


same("_shuffle(data)", "random_permutation", alias="shuffle")


def _categorical(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    """Numbers of classes, one for each row of probabilities or `shape` for each, and their log-probabilities."""
    shape = tuple(a.shape) or (() if len(data.shape) > 1 else (1,))
    return core("random_categorical", data, size=shape, dtype=a.dtype, get_prob=a.get_prob)


for _name in ("multinomial", "categorical"):
    row(
        f"_sample_{_name}(data; shape: shape=(), get_prob: bool=False, dtype: dtype=int32)",
        _categorical,
        via="random_categorical",
        alias=f"sample_{_name}",
        nout=lambda a: 2 if a.get_prob else 1,
    )
