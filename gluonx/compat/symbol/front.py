"""The functions of ``mx.sym``: variables, groups, files, and every operator by its name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as _np

from gluonx.compat.symbol import control as control
from gluonx.compat.symbol import files, loops, table
from gluonx.compat.symbol.compose import function, init_text, marks_of
from gluonx.compat.symbol.graph import Node
from gluonx.compat.symbol.infer import DTYPE_NUMBERS
from gluonx.compat.symbol.symbol import Symbol
from gluonx.errors import FormatError

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


# What `gluonx.compat.symbol` hands on; it asks `find` for everything else.
__all__ = [
    "Group",
    "Variable",
    "contrib",
    "fromjson",
    "image",
    "linalg",
    "load",
    "load_json",
    "np",
    "npx",
    "random",
    "sparse",
    "var",
]


def var(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: Sequence[int] | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: DTypeLike = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: str,
) -> Symbol:
    """Return a variable.

    Parameters
    ----------
    name : str
    attr : dict of str to str, optional
        Attributes of the user's own, called ``__name__``; also as keywords.
    shape : tuple of int, optional
        0 for an unknown dimension.
    lr_mult, wd_mult : float, optional
        Multipliers for an optimizer.
    dtype : dtype-like, optional
    init : Initializer or str, optional
    stype : {'default', 'row_sparse', 'csr'}, optional

    Examples
    --------
    >>> var("x", shape=(2, 0)).list_attr()
    {'__shape__': '(2, 0)'}
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"a variable's name must be a non-empty string, got {name!r}")
    marks = marks_of({**(attr or {}), **kwargs}, operator=False)
    bad = [key for key in kwargs if not (key.startswith("__") and key.endswith("__"))]
    if bad:
        raise ValueError(f"var: further attributes must be called __name__, got '{bad[0]}'")
    if shape is not None:
        marks["__shape__"] = str(tuple(int(n) for n in shape))
    if lr_mult is not None:
        marks["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        marks["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        marks["__dtype__"] = str(DTYPE_NUMBERS.index(jnp.dtype(dtype).name))
    if init is not None:
        marks["__init__"] = init_text(init)
    if stype is not None:
        marks["__storage_type__"] = str({"default": 0, "row_sparse": 1, "csr": 2}[stype])
    return Symbol([(Node(name, None, (), marks), 0)])


Variable = var


def Group(symbols: Sequence[Symbol], create_fn: Any = None) -> Symbol:
    """Several symbols as one, with the outputs of all.

    Raises
    ------
    TypeError
        If `symbols` is empty or holds anything but symbols.

    Examples
    --------
    >>> a, b = var("a"), var("b")
    >>> Group([a + b, a]).list_outputs()[1:]
    ['a']
    """
    listed = list(symbols)
    if not listed or not all(isinstance(s, Symbol) for s in listed):
        raise TypeError(f"Group takes a list of symbols, got {symbols!r}")
    return Symbol([entry for s in listed for entry in s._entries], any(s._modern for s in listed))


def load(fname: str | os.PathLike[str]) -> Symbol:
    """Read a ``-symbol.json`` file of MXNet 1 or 2.

    Raises
    ------
    FormatError
        If it is none, or has operators or attributes that gluonx does not know; each is named with its node.
    OSError
        If the file cannot be opened.
    """
    if os.fspath(fname).lower().endswith(".onnx"):
        raise FormatError(
            f"'{os.fspath(fname)}' is an ONNX model; SymbolBlock.imports and symbol.load read MXNet's graphs, "
            "'-symbol.json' files. gluonx.onnx.import_model(file) gives a block of this one."
        )
    return Symbol(*files.read(fname))


def fromjson(json_str: str | bytes) -> Symbol:
    """Read a symbol from JSON text; see :func:`load`.

    Examples
    --------
    >>> net = var("a") + 1
    >>> fromjson(net.tojson()).list_arguments()
    ['a']
    """
    return Symbol(*files.parse(json_str))


load_json = fromjson


def _told(op: str, hint: str) -> Callable[..., Any]:
    """Return the function of an operator, which tells its parameters."""
    made: Any = function(op, hint)
    made.__signature__ = table.get(op).signature(symbols=True)
    return made


class Space:
    """Operators whose registered names share prefixes: ``contrib.box_nms`` is ``_contrib_box_nms``."""

    def __init__(self, name: str, *prefixes: str) -> None:
        self.__name__ = f"gluonx.symbol.{name}"
        self._prefixes = prefixes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for prefix in self._prefixes:
            try:
                made = _told(prefix + name, name.lower())
            except KeyError:
                continue
            setattr(self, name, made)
            return made
        raise AttributeError(f"{self.__name__} has no operator '{name}'")


contrib: Any = Space("contrib", "_contrib_", "")
contrib.foreach, contrib.while_loop, contrib.cond = loops.foreach, loops.while_loop, loops.cond
linalg = Space("linalg", "_linalg_")
random: Any = Space("random", "_random_", "_sample_", "_")
image = Space("image", "_image_")


def _randn(*shape: int, loc: float = 0, scale: float = 1, dtype: str | None = None, **kwargs: Any) -> Symbol:
    """Return a symbol of normally distributed numbers, of the shape that stands in the arguments."""
    return random.normal(loc=loc, scale=scale, shape=shape, dtype=dtype, **kwargs)


def _rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Class numbers, the small ones often, and how often these and `true_classes` are expected among them."""
    log_range = math.log(range_max + 1)
    drawn = find("exp")(random.uniform(low=0.0, high=log_range, shape=(num_sampled,)))
    sampled = (find("cast")(drawn, dtype="int32") - 1) % range_max

    def expected(classes: Symbol) -> Symbol:
        wide = find("cast")(classes, dtype="float32")
        return find("log")((wide + 2.0) / (wide + 1.0)) / log_range * num_sampled

    return sampled, expected(true_classes), expected(sampled)


def _drawn(name: str, **parameters: float) -> Callable[..., Any]:
    """Return the function that draws from a distribution, whose parameters are numbers, or all of them symbols."""
    of_numbers, of_symbols = (function(f"_{kind}_{name}", name) for kind in ("random", "sample"))

    def draw(*args: Any, **kwargs: Any) -> Symbol:
        given = dict(zip([*parameters, "shape", "dtype"], args, strict=False))
        given = {**parameters, **given, **kwargs}
        values = [given.pop(key) for key in parameters]
        given = {key: value for key, value in given.items() if value is not None and key not in ("ctx", "out")}
        if name == "exponential":
            values = [1.0 / values[0]]
        if not any(isinstance(value, Symbol) for value in values):
            return of_numbers(**dict(zip(table.get(f"_random_{name}").attrs, values, strict=False)), **given)
        if not all(isinstance(value, Symbol) for value in values):
            raise ValueError(f"random.{name}: its parameters must be all symbols or all numbers, got {values}")
        return of_symbols(*values, **given)

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = (
        f"Return a symbol of numbers drawn from the distribution {name} ({', '.join(parameters)}).\n\n"
        "Of symbols, `shape` numbers are drawn for each element of theirs."
    )
    return draw


for _draw in (
    _drawn("uniform", low=0.0, high=1.0),
    _drawn("normal", loc=0.0, scale=1.0),
    _drawn("gamma", alpha=1.0, beta=1.0),
    _drawn("exponential", scale=1.0),
    _drawn("poisson", lam=1.0),
    _drawn("negative_binomial", k=1.0, p=1.0),
    _drawn("generalized_negative_binomial", mu=1.0, alpha=1.0),
):
    setattr(random, _draw.__name__, _draw)
random.randn, contrib.rand_zipfian = _randn, _rand_zipfian
sparse = Space("sparse", "_sparse_", "")
np = Space("np", "_npi_", "_np_", "")
npx = Space("npx", "_npx_", "_npi_", "")
internal = Space("_internal", "")


def _made(op: str) -> Any:
    make = function(op, op.strip("_"))

    def from_nothing(shape: Any, dtype: DTypeLike = None, **kwargs: Any) -> Symbol:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        return make(shape=shape, dtype=dtype or "float32", **kwargs)

    from_nothing.__name__ = op.strip("_")
    from_nothing.__doc__ = f"A symbol of {op.strip('_')}, of a shape and a dtype (float32)."
    return from_nothing


# -- functions that MXNet has written beside operators of other arguments ----------------------------------------------


def _full(shape: Any, val: float, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol of one number throughout, float32 unless `dtype` says otherwise."""
    return _made("_full")(shape, dtype, value=float(val), **kwargs)


def _arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: DTypeLike = None,
) -> Symbol:
    """Return a symbol of equally spaced numbers, each `repeat` times."""
    given = {"start": start, "stop": stop, "step": step, "repeat": repeat, "infer_range": infer_range}
    return function("_arange", "arange")(**given, name=name, dtype=dtype or "float32")


def _linspace(
    start: float, stop: float, num: int, endpoint: bool = True, name: str | None = None, dtype: Any = None
) -> Symbol:
    """Return a symbol of `num` numbers from `start` to `stop`."""
    make = function("_linspace", "linspace")
    return make(start=start, stop=stop, num=num, endpoint=endpoint, name=name, dtype=dtype or "float32")


def _eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol of ones on a diagonal."""
    return function("_eye", "eye")(N=N, M=M, k=k, dtype=dtype or "float32", **kwargs)


def _histogram(a: Symbol, bins: Any = 10, range: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol of counts and of the edges between which they are: a number of bins within `range`, or edges."""
    make = function("_histogram", "histogram")
    if isinstance(bins, Symbol):
        return make(data=a, bins=bins, **kwargs)
    if range is None:
        raise ValueError(f"histogram of a symbol: {bins} bins need a range, for its values are not known yet")
    return make(data=a, bin_cnt=bins, range=range, **kwargs)


def _split_v2(ary: Symbol, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Symbol:
    """Return the parts of a symbol: so many equal ones, or those between the places of a tuple."""
    cuts = indices_or_sections
    # The first of the operator's indices is where the first part begins.
    given = {"indices": (), "sections": cuts} if isinstance(cuts, int) else {"indices": (0, *cuts), "sections": 0}
    return function("_split_v2", "split_v2")(ary, axis=axis, squeeze_axis=squeeze_axis, **given)


_WRITTEN = {
    function.__name__.strip("_"): function for function in (_arange, _eye, _full, _histogram, _linspace, _split_v2)
}
for _name, _function in _WRITTEN.items():
    _function.__name__ = _function.__qualname__ = _name


_EITHER = frozenset(["pow", "power", "maximum", "minimum", "hypot"])
"""Functions of two symbols, of a symbol and a number, or of a number and a symbol."""


def _with_numbers(name: str) -> Callable[..., Any]:
    op = "_power" if name == "pow" else f"_{name}"
    reflected = f"_r{op[1:]}_scalar" if table.find(f"_r{op[1:]}_scalar") is not None else f"{op}_scalar"
    both, right, left = (function(called, name) for called in (op, f"{op}_scalar", reflected))

    def call(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
        if isinstance(lhs, Symbol) and isinstance(rhs, Symbol):
            return both(lhs, rhs, **kwargs)
        if isinstance(lhs, Symbol):
            return right(lhs, scalar=float(rhs), **kwargs)
        return left(rhs, scalar=float(lhs), **kwargs) if isinstance(rhs, Symbol) else getattr(_np, name)(lhs, rhs)

    def of_power(base: Any, exp: Any, **kwargs: Any) -> Any:
        return call(base, exp, **kwargs)

    def of_two(left: Any, right: Any, **kwargs: Any) -> Any:
        return call(left, right, **kwargs)

    made = of_power if name in ("pow", "power") else of_two
    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"{both.__doc__}\n\nOne of the two may be a number."
    return made


FUNCTIONS = frozenset([*_WRITTEN, *_EITHER, "ones", "zeros"])
"""The functions that are more than an operator."""


def find(name: str) -> Callable[..., Any]:
    """Return the function that makes a symbol of the operator `name`.

    Raises
    ------
    AttributeError
        If there is none.
    """
    if name in ("zeros", "ones"):
        return _made(f"_{name}")
    if name in _EITHER:
        return _with_numbers(name)
    if name in _WRITTEN:
        return _WRITTEN[name]
    for spelling in (name, f"_{name}"):
        if table.find(spelling) is not None:
            return _told(spelling, name.lower())
    raise AttributeError(f"gluonx.symbol has no operator '{name}'")
