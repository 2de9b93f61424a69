"""Initializers: what a parameter holds before training.

An initializer makes values on the host with NumPy, from the one seeded generator `gluonx.random.host_rng`, so that
initializing a model runs no device program and is the same on every platform. There are two ways to use one:

``init.make(desc, shape, dtype)``
    Gives a NumPy array. This is what Parameter calls; it copies the result to its device.
``init(desc, array)``
    MXNet's way: writes into an array (``array[:] = ...``), a gluonx ndarray or a NumPy one.

``desc`` is the parameter's name, or an `InitDesc`, which is a name with attributes. Its attribute ``__init__`` (an
initializer, its name, or the JSON of ``dumps``) decides if it is there; else the end of the name does: ``weight`` is
made by the initializer's own law, ``bias``, ``beta``, ``running_mean`` and the like are zero, ``gamma`` and
``running_var`` one.

A new initializer is a subclass that either overrides ``_init_weight(self, name, arr)`` and writes into ``arr``, which
is then a gluonx ndarray, or (shorter, without any device work) ``_values(self, name, shape)``, which returns an array.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from gluonx.common.arguments import Checked
from gluonx.common.frames import telling
from gluonx.dtype import canonical
from gluonx.errors import ArgumentError
from gluonx.ops import prng
from gluonx.ops.rnn import input_size_of, packing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.block.parameter import Parameter
    from gluonx.dtype import DTypeLike
    from gluonx.np.handle import ndarray


__all__ = [
    "Bilinear",
    "Constant",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "RNNFused",
    "TruncNorm",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "register",
]

_REGISTRY: dict[str, type[Initializer]] = {}
Class = TypeVar("Class", bound="type[Initializer]")

# Which method makes a parameter whose name ends so; the first that fits.
_RULES = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
    ("running_mean", "_init_zero"),
    ("running_var", "_init_one"),
    ("moving_mean", "_init_zero"),
    ("moving_inv_var", "_init_zero"),
    ("moving_var", "_init_one"),
    ("moving_avg", "_init_zero"),
    ("weight_quantize", "_init_quantized_weight"),
    ("bias_quantize", "_init_quantized_bias"),
)
_BY_NAMES = ("_legacy_init", "_init_bilinear", "_init_loc_bias", "_init_quantized_weight", "_init_quantized_bias")
_WRITERS = ("__call__", "_init_default", *dict.fromkeys(method for _, method in _RULES), *_BY_NAMES)
_NO_RULE = (
    "No rule says how to initialize the parameter {name!r}: its name ends in none of {ends}. "
    "Give it an initializer of its own: Parameter(init=...), or InitDesc({name!r}, {{'__init__': ...}})."
)


class InitDesc(str):
    """The name of a parameter, with attributes.

    Parameters
    ----------
    name : str
        Name of the parameter; its end decides how it is initialized unless an attribute does.
    attrs : dict, optional
        ``{'__init__': initializer}`` decides instead of the name.
    global_init : Initializer, optional
        The initializer that was asked for the whole model.

    Examples
    --------
    >>> desc = InitDesc("fc.weight", {"__init__": "zeros"})
    >>> desc, desc.attrs
    ('fc.weight', {'__init__': 'zeros'})
    >>> One().make(desc, (2,)).tolist()
    [0.0, 0.0]
    """

    attrs: dict[str, Any]
    global_init: Initializer | None

    def __new__(
        cls, name: str, attrs: dict[str, Any] | None = None, global_init: Initializer | None = None
    ) -> InitDesc:
        """Make the string and hang the attributes on it."""
        self = super().__new__(cls, name)
        self.attrs, self.global_init = attrs or {}, global_init
        return self


class Initializer(Checked):
    """Base of initializers.

    Parameters
    ----------
    **kwargs
        The settings, which `dumps` writes and which decide about equality.

    Examples
    --------
    >>> class Counting(Initializer):
    ...     def _init_weight(self, name, arr):
    ...         arr[:] = np.arange(arr.size).reshape(arr.shape)
    >>> Counting().make("fc.weight", (2, 2)).tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """

    _kwargs: Mapping[str, Any] = {}
    _verbose = False
    _print_func: Callable[[Any], str] | None = None
    _axes = 0  # a parameter needs at least so many

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def make(self, desc: str, shape: Sequence[int], dtype: DTypeLike = None) -> np.ndarray:
        """Make the values of a parameter on the host: a new NumPy array.

        Parameters
        ----------
        desc : str or InitDesc
            Name of the parameter.
        shape : sequence of int
            Its shape, all known.
        dtype : dtype, optional
            Its dtype; float32 by default.

        Examples
        --------
        >>> Xavier().make("fc.bias", (3,)).tolist()
        [0.0, 0.0, 0.0]
        >>> Zero().make(InitDesc("fc.bias", {"__init__": "ones"}), (2,), "float16")
        array([1., 1.], dtype=float16)
        """
        shape, dtype = tuple(int(n) for n in shape), canonical(dtype)
        desc = desc if isinstance(desc, InitDesc) else InitDesc(desc)
        chosen = desc.attrs.get("__init__")
        if self._works_on_host() and (not chosen or create(chosen)._works_on_host()):
            buffer = np.empty(shape, dtype)
            self(desc, buffer)
            return buffer
        # A user's own _init_weight may use any method of an ndarray, so it is given one.
        from gluonx import np as gnp

        array = gnp.zeros(shape, dtype=dtype)
        self(desc, array)
        return np.array(array.asnumpy())

    def __call__(self, desc: str, arr: ndarray | np.ndarray) -> None:
        """Write the values of a parameter into an array.

        Raises
        ------
        ValueError
            If neither an attribute nor the name says what they are, or if the shape does not suit this initializer.
        """
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        chosen = desc.attrs.get("__init__")
        if chosen:
            create(chosen)._init_weight(desc, arr)
            self._verbose_print(desc, chosen, arr)
        else:
            self._by_rule(desc, arr)

    def _by_rule(self, name: str, arr: ndarray | np.ndarray) -> None:
        method = next((method for end, method in _RULES if name.endswith(end)), "_init_default")
        getattr(self, method)(name, arr)
        self._verbose_print(name, self, arr)

    def _legacy_init(self, name: str, arr: ndarray | np.ndarray) -> None:
        """Write the values of a parameter that is known by its name alone."""
        if not isinstance(name, str):
            raise TypeError(f"an initializer takes a name or an InitDesc, got {name!r}")
        name = InitDesc(name, global_init=self)
        if name.startswith("upsampling"):
            self._init_bilinear(name, arr)
        elif name.startswith("stn_loc") and name.endswith("bias"):
            self._init_loc_bias(name, arr)
        elif name.startswith("stn_loc") and name.endswith("weight"):
            self._init_zero(name, arr)
        else:
            self._by_rule(name, arr)

    def _verbose_print(self, desc: str, init: object, arr: ndarray | np.ndarray) -> None:
        if self._verbose and self._print_func:
            logging.info("Initialized %s by %s: %s", desc, init, self._print_func(arr))

    def _works_on_host(self) -> bool:
        """Return whether only methods of this module write, so that a NumPy buffer will do."""
        return all(getattr(type(self), name) in _ON_HOST for name in _WRITERS)

    def _told(self, name: str, axes: int, explicitly: bool) -> Initializer | None:
        """Return what this says a parameter of `axes` axes begins with, which has an initializer of its own.

        None where it says nothing: this one is for weights of two axes at least, or a class of the user's has no method
        for such names. What a pattern or a method does not name is not said `explicitly`.
        """
        if not self._works_on_host():
            method = next((method for end, method in _RULES if name.endswith(end)), "_init_default")
            own = getattr(type(self), method) not in _ON_HOST
            return _ByName(self) if own and (method != "_init_weight" or not explicitly) else None
        return None if explicitly or axes < self._axes else self

    def _values(self, name: str, shape: tuple[int, ...]) -> ArrayLike:
        """Give the values of a weight, as an array or number; dtype conversion is the caller's."""
        raise NotImplementedError(f"{type(self).__name__} must define _init_weight(self, name, arr).")

    def _init_weight(self, name: str, arr: ndarray | np.ndarray) -> None:
        with telling():
            arr[...] = self._values(name, tuple(arr.shape))

    def _init_zero(self, name: str, arr: ndarray | np.ndarray) -> None:
        arr[...] = 0.0

    def _init_one(self, name: str, arr: ndarray | np.ndarray) -> None:
        arr[...] = 1.0

    # Methods of their own, and none another's name: who overrides `_init_zero` leaves biases alone, as in MXNet.
    def _init_bias(self, name: str, arr: ndarray) -> None:
        arr[...] = 0.0

    def _init_beta(self, name: str, arr: ndarray) -> None:
        arr[...] = 0.0

    def _init_gamma(self, name: str, arr: ndarray) -> None:
        arr[...] = 1.0

    def _init_bilinear(self, name: str, arr: ndarray | np.ndarray) -> None:
        Bilinear()._init_weight(name, arr)

    def _init_loc_bias(self, name: str, arr: ndarray | np.ndarray) -> None:
        arr[...] = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])  # the transformation that leaves an image as it is

    def _init_quantized_weight(self, name: str, arr: ndarray | np.ndarray) -> None:
        arr[...] = prng.host_rng().integers(-127, 127, tuple(arr.shape)).astype("int8")

    def _init_quantized_bias(self, name: str, arr: ndarray | np.ndarray) -> None:
        arr[...] = 0

    def _init_default(self, name: str, arr: ndarray | np.ndarray) -> None:
        ends = ", ".join(end for end, _ in _RULES)
        raise ValueError(_NO_RULE.format(name=str(name), ends=ends))

    def set_verbosity(self, verbose: bool = False, print_func: Callable[[Any], str] | None = None) -> Initializer:
        """Log each initialization with a statistic of the array, by default its root mean square."""
        self._verbose = verbose
        self._print_func = print_func or _root_mean_square
        return self

    def dumps(self) -> str:
        """Write this initializer as JSON, which `create` reads.

        Examples
        --------
        >>> Uniform(0.1).dumps()
        '["uniform", {"scale": 0.1}]'
        """
        settings = {key: _plain(value) for key, value in self._kwargs.items()}
        return json.dumps([type(self).__name__.lower(), settings])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self.dumps() == other.dumps()

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._kwargs.items())})"


def _root_mean_square(array: ArrayLike) -> str:
    return str(np.sqrt(np.mean(np.square(np.asarray(array, np.float64)))))


def _plain(value: object) -> object:
    """Give an array as a nested list, for JSON."""
    return np.asarray(value).tolist() if hasattr(value, "__array__") else value


def register(klass: Class, name: str | None = None) -> Class:
    """Make an initializer class known to `create` under its name in lower case; a decorator.

    Returns
    -------
    type
        The class itself.

    Examples
    --------
    >>> @register
    ... class Threes(Constant):
    ...     def __init__(self):
    ...         super().__init__(3)
    >>> create("threes").make("fc.weight", (2,)).tolist()
    [3.0, 3.0]
    """
    if not (isinstance(klass, type) and issubclass(klass, Initializer)):
        raise TypeError(f"register takes a subclass of Initializer, not {klass!r}.")
    _REGISTRY[(name or klass.__name__).lower()] = klass
    return klass


def alias(*names: str) -> Callable[[Class], Class]:
    """Make an initializer class known under further names; a decorator.

    Returns
    -------
    callable
        A decorator, which returns the class itself.

    Examples
    --------
    >>> @alias("threes", "all_threes")
    ... class Threes(Constant):
    ...     def __init__(self):
    ...         super().__init__(3)
    >>> create("all_threes").make("fc.weight", (2,)).tolist()
    [3.0, 3.0]
    """

    def add(klass: Class) -> Class:
        for name in names:
            register(klass, name)
        return klass

    return add


def create(initializer: Any, *args: Any, **kwargs: Any) -> Initializer:
    """Make an initializer from its name, from the JSON of `Initializer.dumps`, from a dict, or from itself.

    Returns
    -------
    Initializer

    Raises
    ------
    ValueError
        If no initializer has that name.
    TypeError
        If it is none of these, or if settings come with an instance.

    Examples
    --------
    >>> create("normal", sigma=0.5), create('["xavier", {"magnitude": 2}]').magnitude
    (Normal(sigma=0.5), 2.0)
    """
    if isinstance(initializer, Initializer):
        if args or kwargs:
            raise TypeError(f"{initializer!r} has its settings already; give no others.")
        return initializer
    if isinstance(initializer, Mapping):
        return create(**initializer)
    if not isinstance(initializer, str):
        number = f" A number is init.Constant({initializer!r})." if isinstance(initializer, int | float) else ""
        told = f"An initializer is one, its name such as 'xavier', or its JSON; this is {initializer!r}."
        raise ArgumentError(told + number)
    if initializer.startswith("["):
        name, settings = json.loads(initializer)
        return create(name, *args, **settings, **kwargs)
    if initializer.startswith("{"):
        return create(**json.loads(initializer))
    klass = _REGISTRY.get(initializer.lower())
    if klass is None:
        raise ArgumentError(f"No initializer is called {initializer!r}; there are {', '.join(sorted(_REGISTRY))}.")
    return klass(*args, **kwargs)


InitLike: TypeAlias = "Initializer | str | Mapping[str, Any] | Callable[..., Any] | None"
"""The forms in which a layer takes an initializer: the object, its name or JSON, a function; None is the net's own."""


@alias("zeros")
@register
class Zero(Initializer):
    """All zeros.

    Examples
    --------
    >>> from gluonx import initializer, nn
    >>> net = nn.Dense(1, in_units=2)
    >>> net.initialize(initializer.Zero())
    >>> net.weight.data().tolist()
    [[0.0, 0.0]]
    """

    def _values(self, name: str, shape: tuple[int, ...]) -> float:
        return 0.0


@alias("ones")
@register
class One(Initializer):
    """All ones.

    Examples
    --------
    >>> from gluonx import initializer, nn
    >>> net = nn.Dense(1, in_units=2)
    >>> net.initialize(initializer.One())
    >>> net.weight.data().tolist()
    [[1.0, 1.0]]
    """

    def _values(self, name: str, shape: tuple[int, ...]) -> float:
        return 1.0


@register
class Constant(Initializer):
    """A given number or array.

    Parameters
    ----------
    value : float or array
        An array must have the parameter's shape, or one that broadcasts to it.

    Examples
    --------
    >>> from gluonx import initializer, nn
    >>> net = nn.Dense(1, in_units=2)
    >>> net.initialize(initializer.Constant(3.0))
    >>> net.weight.data().tolist()
    [[3.0, 3.0]]
    """

    def __init__(self, value: ArrayLike) -> None:
        super().__init__(value=value)
        self.value = value

    def _values(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        return np.asarray(self.value)


@register
class Bilinear(Initializer):
    """Weights of a transposed convolution that enlarges images by bilinear interpolation (4 dimensions).

    Examples
    --------
    >>> from gluonx import initializer, nn
    >>> net = nn.Conv2DTranspose(1, 4, strides=2, in_channels=1)
    >>> net.weight.initialize(initializer.Bilinear())
    >>> net.weight.data()[0, 0, 1].tolist()
    [0.1875, 0.5625, 0.5625, 0.1875]
    """

    _axes = 2

    def _values(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        if len(shape) != 4:
            raise ValueError(f"Bilinear initializes a weight of 4 dimensions, but {name!r} has shape {shape}.")
        # MXNet takes factor and center from the width alone; for square kernels there is no difference.
        factor = math.ceil(shape[3] / 2.0)
        center = (2 * factor - 1 - factor % 2) / (2.0 * factor)
        y, x = (1 - np.abs(np.arange(n) / factor - center) for n in shape[2:])
        return np.broadcast_to(np.outer(y, x), shape)


@register
class LSTMBias(Initializer):
    """Zero but for the forget gate, the second quarter, which is ``forget_bias``.

    Examples
    --------
    >>> from gluonx import Parameter, init
    >>> bias = Parameter("bias", shape=(8,), init=init.LSTMBias(2.0))
    >>> bias.initialize()
    >>> bias.data().tolist()
    [0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _values(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        values = np.zeros(shape, np.float32)
        hidden = shape[0] // 4
        values[hidden : 2 * hidden] = self.forget_bias
        return values


def _uniform(scale: float, shape: tuple[int, ...]) -> np.ndarray:
    draw = prng.host_rng().random(shape, dtype=np.float32)
    # In place: fresh memory for a large array costs as much as the draws.
    return np.multiply(np.subtract(np.multiply(draw, 2, out=draw), 1, out=draw), np.float32(scale), out=draw)


def _normal(sigma: float, shape: tuple[int, ...]) -> np.ndarray:
    return prng.host_rng().standard_normal(shape, dtype=np.float32) * np.float32(sigma)


@register
class Uniform(Initializer):
    """Uniform between ``-scale`` and ``scale``.

    Examples
    --------
    >>> from gluonx import initializer, nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize(initializer.Uniform(0.1))
    >>> bool(abs(net.weight.data()).max() <= 0.1)
    True
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _values(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        return _uniform(self.scale, shape)


@register
class Normal(Initializer):
    """Normal with mean 0 and standard deviation ``sigma``.

    Examples
    --------
    >>> from gluonx import initializer, nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize(initializer.Normal(0.02))
    >>> net.weight.data().shape
    (2, 3)
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _values(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        return _normal(self.sigma, shape)


@register
class TruncNorm(Initializer):
    """Normal, drawn again where it falls more than two standard deviations from the mean.

    Parameters
    ----------
    mean : float
        Mean.
    stdev : float
        Standard deviation before truncation.

    Examples
    --------
    >>> from gluonx import initializer, nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize(initializer.TruncNorm(stdev=0.1))
    >>> bool(abs(net.weight.data()).max() <= 0.2)
    True
    """

    def __init__(self, mean: float = 0.0, stdev: float = 0.01) -> None:
        super().__init__(mean=mean, stdev=stdev)
        self.mean, self.stdev = mean, stdev

    def _values(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        draw = _normal(1.0, (math.prod(shape),))
        outside = np.flatnonzero(np.abs(draw) > 2.0)
        while outside.size:
            draw[outside] = _normal(1.0, (outside.size,))
            outside = outside[np.abs(draw[outside]) > 2.0]
        return draw.reshape(shape) * np.float32(self.stdev) + np.float32(self.mean)


@register
class Orthogonal(Initializer):
    """Orthonormal rows (or columns, if there are more rows than columns) times a scale.

    Parameters
    ----------
    scale : float
        Factor.
    rand_type : {'uniform', 'normal'}
        Law of the matrix that is orthonormalized; its first axis is the rows, all others together the columns.

    Examples
    --------
    >>> from gluonx import initializer, nn
    >>> net = nn.Dense(2, in_units=2)
    >>> net.initialize(initializer.Orthogonal(scale=1.0))
    >>> w = net.weight.data()
    >>> bool(abs(w @ w.T).round(4)[0, 0] == 1)
    True
    """

    _axes = 2

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        if rand_type not in ("uniform", "normal"):
            raise ValueError(f"rand_type is 'uniform' or 'normal', not {rand_type!r}.")
        self.scale, self.rand_type = scale, rand_type

    def _values(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        rows, columns = shape[0], math.prod(shape[1:])
        draw = (_uniform if self.rand_type == "uniform" else _normal)(1.0, (max(rows, columns), min(rows, columns)))
        q, r = np.linalg.qr(draw.astype(np.float64))
        # QR leaves the signs to LAPACK; with the diagonal of r positive the law is unbiased.
        q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
        return self.scale * (q.T if rows < columns else q).reshape(shape)


@register
class Xavier(Initializer):
    """Scale by the number of inputs and outputs (Glorot and Bengio): ``sqrt(magnitude / factor)``.

    Parameters
    ----------
    rnd_type : {'uniform', 'gaussian'}
        The scale is the bound of a uniform law, or the standard deviation of a normal one.
    factor_type : {'avg', 'in', 'out'}
        Divide by the inputs, the outputs, or their mean; each counts the positions of a convolution kernel.
    magnitude : float
        Numerator.

    Examples
    --------
    >>> from gluonx import initializer, nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize(initializer.Xavier())
    >>> bool(abs(net.weight.data()).max() <= (3 / 2.5) ** 0.5)
    True
    """

    _axes = 2

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        if rnd_type not in ("uniform", "gaussian"):
            raise ValueError(f"rnd_type is 'uniform' or 'gaussian', not {rnd_type!r}.")
        if factor_type not in ("avg", "in", "out"):
            raise ValueError(f"factor_type is 'avg', 'in' or 'out', not {factor_type!r}.")
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _scale(self, name: str, shape: tuple[int, ...]) -> float:
        if len(shape) < 2:
            raise ValueError(
                f"{type(self).__name__} needs a weight of at least 2 dimensions, to tell inputs from outputs, "
                f"but {str(name)!r} has shape {shape}. Give it another initializer, such as 'zeros' or Uniform()."
            )
        positions = math.prod(shape[2:])
        inputs, outputs = shape[1] * positions, shape[0] * positions
        factor = {"avg": (inputs + outputs) / 2.0, "in": inputs, "out": outputs}[self.factor_type]
        return math.sqrt(self.magnitude / factor) if factor else 0.0

    def _values(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        return (_uniform if self.rnd_type == "uniform" else _normal)(self._scale(name, shape), shape)


@register
class MSRAPrelu(Xavier):
    """He's law for PReLU networks: normal, with magnitude ``2 / (1 + slope**2)``.

    Parameters
    ----------
    factor_type : {'avg', 'in', 'out'}
        See `Xavier`.
    slope : float
        Initial slope of the PReLU.

    Examples
    --------
    >>> from gluonx import initializer, nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize(initializer.MSRAPrelu())
    >>> net.weight.data().shape
    (2, 3)
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


class Mixed(Initializer):
    """One initializer out of several, by the first regular expression that matches the start of the name.

    Parameters
    ----------
    patterns : sequence of str
        Regular expressions, tried in order.
    initializers : sequence of Initializer
        As many.

    Examples
    --------
    >>> Mixed([".*bias", ".*"], [Zero(), One()]).make("fc.weight", (2,)).tolist()
    [1.0, 1.0]
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        super().__init__(patterns=list(patterns), initializers=list(initializers))
        if len(patterns) != len(initializers):
            raise ArgumentError(f"Mixed got {len(patterns)} patterns, but {len(initializers)} initializers.")
        self.map = [(re.compile(p), create(i)) for p, i in zip(patterns, initializers, strict=True)]

    def _find(self, name: str) -> Initializer:
        for pattern, initializer in self.map:
            if pattern.match(name):
                return initializer
        tried = ", ".join(repr(p.pattern) for p, _ in self.map)
        raise ValueError(f"The name {str(name)!r} matches no pattern of Mixed ({tried}). Add '.*' as the last one.")

    def _told(self, name: str, axes: int, explicitly: bool) -> Initializer | None:
        for pattern, initializer in self.map:
            if pattern.match(name):
                named = pattern.pattern not in ("", ".*", ".+")
                return initializer._told(name, axes, explicitly and not named)
        return None

    def __call__(self, desc: str, arr: ndarray | np.ndarray) -> None:
        """Let the initializer that the name selects write the values, unless an attribute decides."""
        if isinstance(desc, InitDesc) and desc.attrs.get("__init__"):
            super().__call__(desc, arr)
        else:
            self._find(desc)(InitDesc(desc), arr)

    def _init_weight(self, name: str, arr: ndarray | np.ndarray) -> None:
        self._find(name)._init_weight(name, arr)

    def _works_on_host(self) -> bool:
        return all(initializer._works_on_host() for _, initializer in self.map)

    def dumps(self) -> str:
        """Write the initializer as JSON, which decides about equality; `create` does not read it."""
        return json.dumps(["mixed", [[p.pattern, i.dumps()] for p, i in self.map]])


class _Asked(Initializer):
    """A parameter's own initializer, which the one of the whole model is told of, as in MXNet."""

    def __init__(self, default: Initializer, own: Initializer) -> None:
        super().__init__()
        self.default, self.own, self._axes = default, own, own._axes

    def _init_weight(self, name: str, arr: ndarray | np.ndarray) -> None:
        self.default(InitDesc(name, {"__init__": self.own}), arr)

    def _works_on_host(self) -> bool:
        return self.default._works_on_host() and self.own._works_on_host()

    def dumps(self) -> str:
        """Write the parameter's own."""
        return self.own.dumps()


def asked(default: InitLike, own: Initializer) -> Initializer:
    """Return what a parameter begins with whose initializer is `own`, where `default` is that of the whole model.

    It is `own`, unless a class of the user's must be heard: MXNet calls `default`, which asks the ``_init_weight`` of
    `own`. So a ``__call__`` of the one is called for each parameter, and one of the other for none.
    """
    if isinstance(default, Initializer) and (default._verbose or not _CALLS.issuperset(_calls(default))):
        return _Asked(default, own)
    if type(own).make is Initializer.make and not _CALLS.issuperset(_calls(own)):
        return _Asked(Uniform(), own)
    return own


def _calls(init: Initializer) -> tuple[Any, Any]:
    return type(init).__call__, type(init)._verbose_print


class _ByName(Initializer):
    """A class of the user's, whose method for the name writes, also where the parameter has its own initializer."""

    def __init__(self, chosen: Initializer) -> None:
        super().__init__()
        self.chosen = chosen

    def _init_weight(self, name: str, arr: ndarray | np.ndarray) -> None:
        self.chosen(InitDesc(name), arr)

    def _works_on_host(self) -> bool:
        return False

    def dumps(self) -> str:
        """Write what is chosen."""
        return self.chosen.dumps()


def told(init: Initializer, param: Parameter, explicitly: bool) -> Initializer | None:
    """Return what `init` says a parameter begins with whose own initializer says something else; None where nothing.

    Parameters
    ----------
    init : Initializer
        As given to ``Block.initialize``.
    param : Parameter
    explicitly : bool
        Whether to look only at what names parameters: patterns of `Mixed`, methods such as ``_init_bias`` of a class of
        the user's.
    """
    if param.init is None:
        return None
    explicitly = explicitly or not param._differentiable  # averages that a layer keeps are named, or left alone
    found = init._told(param._structured_name, len(param.shape or ()), explicitly)
    return None if found is None or found == create(param.init) else found


class Load(Initializer):
    """Take values from a dict of arrays, by name.

    Parameters
    ----------
    param : dict of str to array, or path
        The arrays; a prefix ``arg:`` or ``aux:`` of a name is dropped. A path is read with ``gluonx.np.load``.
    default_init : Initializer, optional
        For names that the dict has not.
    verbose : bool
        Log what came from where.

    Examples
    --------
    >>> init = Load({"arg:fc.weight": np.array([1.0, 2.0])}, default_init="ones")
    >>> init.make("fc.weight", (2,)).tolist(), init.make("out.weight", (2,)).tolist()
    ([1.0, 2.0], [1.0, 1.0])
    """

    def __init__(self, param: Any, default_init: InitLike = None, verbose: bool = False) -> None:
        super().__init__()
        if not isinstance(param, Mapping):
            from gluonx import np as gnp

            param = gnp.load(param)
        self.param = {re.sub("^(arg|aux):", "", name): array for name, array in param.items()}
        self.default_init = None if default_init is None else create(default_init)
        self.verbose = verbose

    def __call__(self, desc: str, arr: ndarray | np.ndarray) -> None:
        """Write the loaded values, or those of the default."""
        found = str(desc) in self.param
        if found:
            self._init_weight(desc, arr)
        elif self.default_init is not None:
            self.default_init(desc, arr)
        else:
            raise ValueError(f"Load has no array for {str(desc)!r} and no default_init; it has {_few(self.param)}.")
        if self.verbose:
            logging.info("Initialized %s by %s", desc, "loading" if found else "default")

    def _init_weight(self, name: str, arr: ndarray | np.ndarray) -> None:
        value = self.param.get(str(name))
        if value is None:
            self(InitDesc(name), arr)
            return
        if tuple(value.shape) != tuple(arr.shape):
            raise ValueError(f"{str(name)!r} has shape {tuple(arr.shape)}, but the loaded array {tuple(value.shape)}.")
        arr[...] = np.asarray(value)

    def _works_on_host(self) -> bool:
        return self.default_init is None or self.default_init._works_on_host()

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


def _few(names: Mapping[str, Any]) -> str:
    return ", ".join(list(names)[:8]) + (" ..." if len(names) > 8 else "")


_RNN_KINDS = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight")


@register
class RNNFused(Initializer):
    """Each weight and bias of a fused recurrent layer by an initializer of its kind.

    Parameters
    ----------
    mode : {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'}
    num_layers, state_size : int
    bidirectional : bool
    projection_size : int, optional
        The size of an LSTM's projected state.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, \
h2r_weight_initializer : str or Initializer, optional
        For the pieces of each kind. Without one it is the initializer of `set_initializer` (by default the one that the
        block is initialized with, or ``Uniform()``), by the rule of the piece's name: zeros for a bias.

    Raises
    ------
    ValueError
        When it is given an array whose size is that of no such vector.

    Examples
    --------
    >>> init = RNNFused("rnn_tanh", 1, 2, i2h_weight_initializer="ones", h2h_weight_initializer="zeros")
    >>> init.make("parameters_weight", (14,)).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        mode: str,
        num_layers: int,
        state_size: int,
        bidirectional: bool = False,
        projection_size: int | None = None,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = None,
        h2h_bias_initializer: Any = None,
        h2r_weight_initializer: Any = None,
    ) -> None:
        chosen = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        self._of_kind = {
            k: None if c is None else create(c) for k, c in zip(_RNN_KINDS, (*chosen, h2r_weight_initializer))
        }
        said = {f"{kind}_initializer": None if c is None else c.dumps() for kind, c in self._of_kind.items()}
        super().__init__(
            mode=mode, num_layers=num_layers, state_size=state_size, bidirectional=bidirectional,
            projection_size=projection_size, **said,
        )  # fmt: skip
        self._default: Initializer | None = None

    def set_initializer(self, init: InitLike) -> None:
        """Use `init` for the pieces that have no initializer of their own."""
        self._default = create(init)

    def _init_weight(self, name: str, arr: ndarray | np.ndarray) -> None:
        says = self._kwargs
        sizes = (says["state_size"], says["num_layers"], says["bidirectional"], says["projection_size"])
        inputs = input_size_of(math.prod(arr.shape), says["mode"], *sizes)
        if inputs is None:
            raise ValueError(f"{self!r} cannot initialize '{name}': no input size gives {arr.shape} parameters.")
        others = self._default or getattr(name, "global_init", None)
        others = Uniform() if others is None or isinstance(others, RNNFused) else others
        pieces = packing(says["mode"], inputs, *sizes)
        if type(self)._init_util is not RNNFused._init_util:
            parts = [self._by_util(piece, shape) for piece, shape in pieces]
        else:
            parts = [self._piece(f"{name}_{piece}", shape, others) for piece, shape in pieces]
        arr[...] = np.concatenate([part.ravel() for part in parts]).reshape(arr.shape)

    def _init_util(self, param: str, connect: str, arr: ndarray) -> None:
        """Fill ``'weight'`` or ``'bias'`` of ``'i2h'``, ``'h2h'`` or ``'h2r'``, flat; a class may override it."""
        arr[...] = self._piece(f"{connect}_{param}", tuple(arr.shape), self._default or Uniform())

    def _by_util(self, piece: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return a piece, such as ``'l0_i2h_weight'``, as the class's own `_init_util` fills it."""
        from gluonx import np as gnp

        _, connect, param = piece.split("_")
        filled = gnp.zeros(math.prod(shape))
        self._init_util(param, connect, filled)
        return filled.asnumpy()

    def _piece(self, name: str, shape: tuple[int, ...], others: Initializer) -> np.ndarray:
        own = next(init for kind, init in self._of_kind.items() if name.endswith(kind))
        return (others if own is None else own).make(
            InitDesc(name, {} if own is None else {"__init__": own.dumps()}), shape
        )


# The methods that fill a NumPy buffer as well as an array: those of the initializers above, which write nothing else.
_ON_HOST = {vars(cls)[n] for cls in (Initializer, *_REGISTRY.values()) for n in _WRITERS if n in vars(cls)}
_CALLS = {*_calls(Initializer()), Mixed.__call__, Load.__call__}


def __dir__() -> list[str]:
    return sorted(__all__)
