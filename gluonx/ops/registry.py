"""The registry of core operators.

A *core operator* is a pure function on JAX arrays: its positional parameters are arrays, its keyword-only parameters
static attributes. Registering such a function makes an `Op`; fixing the attributes makes a `BoundOp`, which takes
arrays only. The module has three operations and one invariant:

- ``register`` puts a function into ``OPS`` under its name and aliases,
- ``get`` finds it again; the error for an unknown name suggests the nearest one,
- ``Op.bind`` fixes the static attributes.

The invariant: binding is *interned*. The same attributes always give the same object, however they were spelled (lists
or tuples, dtype names or dtypes, defaults written out or left away). The engine can therefore use the identity of a
`BoundOp` as its cache key, and a user who writes ``kernel=[2, 2]`` in a loop never causes a recompile.

Values that hash alike but are not the same to XLA (``1``, ``1.0`` and ``True``) stay apart.

Attributes that a loop may change (a slope, a margin, a rate) are registered as ``moving``. Their first `STEADY` values
are constants of the program like every attribute. With the next value they become operands: ``bind`` returns a `Moved`,
which the engine runs as one `Lifted` operator on the arrays and the numbers. So no loop compiles for a changed number.
The trace of a block has the numbers as constants (`Moved.fixed`), since files are written from it too.
"""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import jax
import ml_dtypes
import numpy as np

from gluonx.common.arguments import did_you_mean
from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.ops.checks import Index, MatrixCheck

Shape = tuple[int, ...]
Precision = Literal["", "low", "float32", "widest"] | tuple[str, tuple[Any, ...]]
Layout = Literal["", "each", "axis", "layout"]
Gives = Literal["", "input", "float", "bool", "int64", "asked"]
Flops = Callable[[Mapping[str, Any], Sequence[Shape | None], Shape], float]
InferRule = Callable[[list[Shape | None], Mapping[str, Any]], list[Shape | None]]

OPS: dict[str, Op] = {}
"""Every core operator by its name and by each of its aliases."""

HINTS = frozenset({
    "cudnn_off", "cudnn_tune", "forward_stype", "max_calib_range", "min_calib_range", "num_args", "sparse_grad",
    "workspace",
})  # fmt: skip
"""Attributes that only advise MXNet's own kernels. Front ends drop them if the core operator has no such attribute."""

SAME, BROADCAST, REDUCED = (
    "as the first input",
    "broadcast of all inputs",
    "as the input without `axis` (1 with `keepdims`)",
)
"""The text of many records about the shape of their results."""

NONE, FLAT = "none: the result is no smooth function", "zero"
"""The usual text about the gradient of an operator that has none, and of a step function."""

STEADY = 2
"""So many values of a moving attribute are constants of their programs; further ones are operands of one program."""

_NAN = float("nan")
_SCALARS = frozenset({int, float, bool, str, type(None), complex})
_DTYPE_NAMES = frozenset({"dtype", "out_dtype", "index_dtype"})
_AXES = frozenset({"axis", "axes", "axis1", "axis2", "batch_axis"})


class Front(NamedTuple):
    """The signature of MXNet's ``np`` or ``npx`` function of an operator, if it differs from the operator's.

    Attributes
    ----------
    order : str
        The parameters in MXNet's order, by the operator's names; ``name=value`` is another default. Names that no
        operator has (``workspace``) are taken and ignored. In ``npx`` it counts for the operator's own name only, and
        what it does not name follows it; a function of ``np`` has these parameters and no others.
    shown : dict of str to str
        MXNet's names of parameters: the ones that signatures show, and that callers may use. In ``npx``, where nothing
        is said, ``x`` is ``data``.
    also : dict of str to str
        Further names of parameters. ``data``, ``x`` and ``a`` are understood everywhere for the first one.
    unset : str
        Static attributes for which None means the default, although the operator's default is another value.
    hidden : str
        Parameters that ``npx``'s function does not have, because NumPy has them and MXNet's operator does not.
    listed : bool
        Whether several results are returned as a list, as in NumPy; else they are a tuple.
    operator : str
        The name of the core operator, if it is not the function's.
    """

    order: str = ""
    shown: Mapping[str, str] = {}
    also: Mapping[str, str] = {}
    unset: str = ""
    hidden: str = ""
    listed: bool = False
    operator: str = ""


class Onnx(NamedTuple):
    """The ONNX operator that is the same as an operator of one or two inputs; used to write and to read it.

    A comparison takes operands of one element type, a function that gives ``bool`` otherwise takes booleans.

    Attributes
    ----------
    name : str
        ONNX's name.
    attrs : dict of str to str
        ONNX's name of each attribute. They are numbers, and their defaults in ONNX are those of this operator.
    floats : bool
        Whether ONNX's operator takes floating-point numbers alone; here it changes no integer.
    """

    name: str
    attrs: Mapping[str, str] = {}
    floats: bool = False


class Record(TypedDict, total=False):
    """The declaration of an operator besides its function: keywords of `register`, and attributes of its `Op`.

    An omitted field has the default that `Op` shows.

    Attributes
    ----------
    doc : str
        The text for the documentation, if the function has no docstring.
    aliases : tuple of str
        The other names in ``OPS`` and in ``npx``.
    random : bool or callable
        Whether the function takes a key; a callable decides from the bound attributes.
    mode : bool or callable
        Whether the function uses the attribute ``training``, which the engine supplies when it is None.
    infer : callable or None
        ``infer(shapes, attrs) -> shapes`` completes the input shapes (None: unknown; 0 or -1: an unknown dimension).
    batched : tuple of str
        Inputs whose shape `infer` takes from the data's, the batch included: operands, labels, states. That completes
        the shapes of a symbol, but never those of a parameter.
    nout : int or callable
        The number of outputs, or a function of the attributes that tells it.
    n_live : int or None
        Gradients flow through so many outputs, the first ones (None: through all); the others are states.
    moving : tuple of str
        Attributes, numbers, that the function also takes as scalar arrays.
    wide : bool or callable
        Whether the function computes in 64-bit types whatever its inputs are (positions are int64); a callable decides
        from the bound attributes. With 64-bit inputs and with a 64-bit dtype among its attributes every one does.
    amp : {'', 'low', 'float32', 'widest'} or (str, tuple)
        The type under mixed precision: that of the inputs; the low precision (for products of matrices); float32 (for
        operators that need its range or precision); the widest type among the inputs; or float32 if the attribute of
        this name has one of these values.
    ufunc : bool
        Whether it is a function of ``np`` by its name and aliases, with the keywords of NumPy's ufuncs.
    methods : tuple of str
        The names of array methods that call it: by ``np``'s function of the same name, or else by ``npx``'s.
    np : Front or None
        The signature of the functions of ``np`` with this name and with each alias in lower case; None without one.
    npx : Front
        The signature of ``npx``'s function of this name, as in MXNet.
    channels_last : {'', 'each', 'axis', 'layout'}
        The conversion to images with their channels last: none; unchanged, because it is elementwise; with another
        ``axis`` (other inputs are vectors along it); or with another ``layout`` (also of a ``weight``).
    index : Index or None
        Which input holds indices, and their bounds; indices with known values are checked before it runs.
    matrix : callable or None
        Returns why a result is not finite: the reason why the function cannot take a matrix (`gluonx.ops.checks`).
    onnx : Onnx or None
        The same ONNX operator; operators without one have rules in ``export/onnx`` and ``importing/onnx``.
    flops : callable or None
        ``flops(attrs, inputs, output)`` counts the floating-point operations of a call from its attributes and shapes;
        without it XLA is asked.
    light : bool
        Whether NumPy takes as little time for an element as for an addition, and not as for ``exp``.
    number : {'', 'compared', 'second'}
        The treatment of a Python number beside an array. 'compared': an integer beyond the array's dtype becomes
        infinity. 'second': the number becomes the second operand, so that at a tie the array gets the gradient.
    composed : callable or None
        ``composed(run, *arrays, **attrs)`` computes the result by other operators, as in ``run("clip", x, 0.0, 6.0)``;
        NotImplemented where these attributes make it an operator that other formats have.
        ONNX's and MXNet's files contain these if the formats lack the operator itself.
    example : tuple of str
        A call and its result, for the documentation of a function whose docstring has no example.
    meaning : dict of str to str
        For the documentation: the meaning of parameters, by name, for a function without a docstring that says it.
    gives : {'', 'input', 'float', 'bool', 'int64', 'asked'}
        For the documentation: the dtype of the results. 'input' is the dtype of the inputs, promoted where they
        differ; 'float' is that too, but float32 if the inputs are integers; '' says nothing.
    shape, gradient, stands_for : str
        For the documentation and ``docs/core_ops.md``: the shape of the result, special properties of the gradient
        (above all at kinks), and the same operation in NumPy or StableHLO. If they are empty, ``tools/core_ops.py``
        finds them by rule: from names that NumPy has, and docstrings that say the shape of the result.
    """

    doc: str
    aliases: tuple[str, ...]
    random: bool | Callable[[Mapping[str, Any]], bool]
    mode: bool | Callable[[Mapping[str, Any]], bool]
    infer: InferRule | None
    batched: tuple[str, ...]
    nout: int | Callable[[Mapping[str, Any]], int]
    n_live: int | None
    moving: tuple[str, ...]
    wide: bool | Callable[[Mapping[str, Any]], bool]
    amp: Precision
    ufunc: bool
    methods: tuple[str, ...]
    np: Front | None
    npx: Front
    channels_last: Layout
    index: Index | None
    matrix: MatrixCheck | None
    onnx: Onnx | None
    flops: Flops | None
    light: bool
    number: Literal["", "compared", "second"]
    composed: Callable[..., Any] | None
    example: tuple[str, str] | None
    meaning: Mapping[str, str]
    gives: Gives
    shape: str
    gradient: str
    stands_for: str


_FIELDS = frozenset(Record.__annotations__)


class Op:
    """A core operator: a pure function on arrays, with all that the rest of gluonx must know about it.

    The fields of its `Record` are attributes too.

    Attributes
    ----------
    name : str
        The canonical name; ``aliases`` holds the other spellings.
    fn : callable
        The function itself. With ``random`` its first parameter is a typed JAX PRNG key.
    inputs : tuple of str
        The names of the array parameters, the key left out. One name if ``variadic``.
    attr_names : frozenset of str
        The names of the static attributes; ``defaults`` holds the default of each that has one.
    """

    aliases: tuple[str, ...] = ()
    random: bool | Callable[[Mapping[str, Any]], bool] = False
    mode: bool | Callable[[Mapping[str, Any]], bool] = False
    infer: InferRule | None = None
    batched: tuple[str, ...] = ()
    nout: int | Callable[[Mapping[str, Any]], int] = 1
    n_live: int | None = None
    moving: tuple[str, ...] = ()
    wide: bool | Callable[[Mapping[str, Any]], bool] = False
    amp: Precision = ""
    ufunc: bool = False
    methods: tuple[str, ...] = ()
    np: Front | None = None
    npx: Front = Front()
    channels_last: Layout = ""
    index: Index | None = None
    matrix: MatrixCheck | None = None
    onnx: Onnx | None = None
    flops: Flops | None = None
    light: bool = False
    number: Literal["", "compared", "second"] = ""
    composed: Callable[..., Any] | None = None
    example: tuple[str, str] | None = None
    meaning: Mapping[str, str] = MappingProxyType({})
    gives: Gives = ""
    shape: str = ""
    gradient: str = ""
    stands_for: str = ""

    def __init__(self, fn: Callable[..., Any], name: str, **record: Unpack[Record]) -> None:
        if not _FIELDS.issuperset(record):
            raise TypeError(f"operator {name}: a record has no field {_quoted(sorted(record.keys() - _FIELDS))}")
        self.fn, self.name, self.doc = fn, name, inspect.getdoc(fn) or ""
        vars(self).update(record)
        # Lets help(), doctest and tracebacks find the function of an Op.
        self.__wrapped__, self.__doc__, self.__module__, self.__name__ = fn, fn.__doc__, fn.__module__, name
        self._read_signature()
        self._bound: dict[tuple[Any, ...], BoundOp] = {}
        self._spellings: dict[tuple[Any, ...], BoundOp] = {}
        self._families: dict[Any, Lifted] = {}
        self._fixed: weakref.WeakValueDictionary[Any, BoundOp] = weakref.WeakValueDictionary()
        self._seen: dict[Any, int] = {}  # how often a family was asked for before it was made
        self._lock = threading.RLock()  # reentrant: a signal handler or finalizer on the same thread may bind

    def _read_signature(self) -> None:
        parameters = list(inspect.signature(self.fn).parameters.values())
        arrays = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        statics = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        if self.random:
            assert arrays and arrays[0].name == "key", f"{self.name}: a random operator's first parameter is 'key'"
            arrays = arrays[1:]
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in arrays)
        self.inputs = tuple(p.name for p in arrays)
        self.optional = frozenset(p.name for p in arrays if p.default is not p.empty)
        self.attr_names = frozenset(p.name for p in statics)
        self.defaults = {p.name: _canonical(p.name, p.default) for p in statics if p.default is not p.empty}
        self._order = sorted(self.attr_names)
        self.required = tuple(p.name for p in statics if p.default is p.empty)
        assert not self.mode or "training" in self.attr_names, f"{self.name}: mode=True needs the keyword 'training'"

    def bind(self, **attrs: Any) -> BoundOp:
        """Fix the static attributes; equal attributes give the identical object.

        Raises
        ------
        TypeError
            If an attribute is unknown, missing or not a value (an array, a function).

        Examples
        --------
        >>> softmax = get("softmax")
        >>> softmax.bind(axis=-1) is softmax.bind()
        True
        >>> softmax.bind(axis=0)
        softmax(axis=0)
        """
        spelling = (*attrs, *attrs.values(), *map(_kind, attrs.values()))
        try:
            return self._spellings[spelling]
        except KeyError:
            return self._intern(attrs, spelling)
        except TypeError:  # an unhashable value, such as a list
            return self._intern(attrs, None)

    def _intern(self, attrs: dict[str, Any], spelling: tuple[Any, ...] | None) -> BoundOp:
        if not self.attr_names.issuperset(attrs):
            raise TypeError(self._unknown_attribute(sorted(set(attrs) - self.attr_names)))
        missing = [name for name in self.required if name not in attrs]
        if missing:
            raise TypeError(f"operator {self.name} needs the attribute {_quoted(missing)}, which was not given.")
        full = dict(self.defaults)
        for name, value in attrs.items():
            try:
                full[name] = _canonical(name, value)
                hash(full[name])
                if name in _AXES and not _names_axes(full[name]):
                    raise TypeError("axes are whole numbers")
            except TypeError as error:
                message = f"operator {self.name}: attribute '{name}' is static and cannot be {value!r} ({error})."
                raise TypeError(message) from None
        values = [full[n] for n in self._order]
        key = (*values, *map(_kind, values))
        with self._lock:
            bound = self._bound.get(key)
            if bound is None:
                lifted = self._lifted(full) if self.moving else None
                if lifted is not None:
                    return Moved(self, full, lifted)
                bound = self._bound.setdefault(key, BoundOp(self, full))  # made meanwhile by who interrupted this
            # Each NaN is a new key, since it is not equal to itself: caching it would grow without bound.
            if spelling is not None and _NAN not in full.values():
                self._spellings[spelling] = bound
        return bound

    def _lifted(self, attrs: dict[str, Any]) -> Lifted | None:
        """Return the operator that takes the numbers among `attrs` as operands.

        None as long as constants are cheaper.
        """
        lifted_names = tuple([n for n in self.moving if _moves(attrs[n])])
        if not lifted_names:
            return None
        rest = [attrs[n] for n in self._order if n not in lifted_names]
        family = (lifted_names, *rest, *map(_kind, rest), *self.traits(attrs))
        found = self._families.get(family)
        if found is not None:
            return found
        seen = self._seen.get(family, 0)
        if seen < STEADY:
            self._seen[family] = seen + 1
            return None
        return self._families.setdefault(family, Lifted(BoundOp(self, attrs), lifted_names))

    def fixed(self, attrs: dict[str, Any]) -> BoundOp:
        """Return the operator with all these attributes as constants, while somebody holds it the same one."""
        values = [attrs[n] for n in self._order]
        key = (*values, *map(_kind, values))
        with self._lock:
            return self._fixed.setdefault(key, BoundOp(self, attrs))

    def _unknown_attribute(self, unknown: list[str]) -> str:
        message = f"operator {self.name} has no attribute {_quoted(unknown)}{did_you_mean(unknown[0], self.attr_names)}"
        valid = ", ".join(sorted(self.attr_names)) or "none"
        arrays = ", ".join(self.inputs) or "none"
        return f"{message} (its attributes: {valid}; its arrays: {arrays})"

    def bound(self) -> list[BoundOp]:
        """Every existing `BoundOp` of this operator, those with numbers as operands too."""
        with self._lock:
            return [*self._bound.values(), *self._families.values(), *self._fixed.values()]

    def traits(self, attrs: Mapping[str, Any]) -> tuple[bool, bool]:
        """Return whether the operator draws random numbers with these attributes, and whether it needs the mode."""
        random = bool(self.random(attrs)) if callable(self.random) else self.random
        mode = self.mode(attrs) if callable(self.mode) else self.mode
        return random, bool(mode) and attrs["training"] is None

    def is_wide(self, attrs: Mapping[str, Any]) -> bool:
        """Return whether the operator needs 64-bit types with these attributes, whatever its inputs are."""
        wide = self.wide(attrs) if callable(self.wide) else self.wide
        return wide or any(isinstance(value, np.dtype) and value in WIDE for value in attrs.values())

    def num_outputs(self, attrs: Mapping[str, Any]) -> int:
        """Return the number of outputs with these attributes."""
        return self.nout(attrs) if callable(self.nout) else self.nout

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        """Call the function itself."""
        return self.fn(*args, **attrs)

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return get, (self.name,)


class BoundOp:
    """An operator with its static attributes fixed: ``fn`` takes arrays only (a key first, if ``random``).

    Hashable by identity, which is sound because `Op.bind` interns. ``attrs`` holds every attribute, defaults included,
    and must not be changed. The engine keeps what it derives (executables, gradients, shapes) in the slots ``eager``,
    ``families``, ``traced``, ``vjp``, ``shapes``, ``host``, ``usage`` and ``cache``.

    ``needs_mode`` is true if the engine must supply ``training``, because the function uses it and the caller has not
    given it. ``nout`` is the number of outputs, ``wide`` whether it needs 64-bit types (see `Op.is_wide`), ``exact``
    whether such a type was asked for by name, so that no number enters as float32. If ``random`` of the operator is a
    function of the attributes (dropout), a `BoundOp` that needs no randomness has ``random`` False and a ``fn`` without
    the key.
    """

    promotes = True  # operands of several types are promoted to one

    __slots__ = (
        "__weakref__",
        "_modes",
        "attrs",
        "cache",
        "eager",
        "exact",
        "families",
        "fn",
        "host",
        "index",
        "usage",
        "matrix",
        "n_live",
        "name",
        "needs_mode",
        "nout",
        "op",
        "random",
        "shapes",
        "traced",
        "vjp",
        "wide",
    )

    def __init__(self, op: Op, attrs: dict[str, Any]) -> None:
        self.op, self.attrs, self.name = op, attrs, op.name
        self.wide = op.is_wide(attrs)
        self.exact = self.wide and attrs.get("dtype") is not None
        self.random, self.needs_mode = op.traits(attrs)
        self.nout = op.num_outputs(attrs)
        self.n_live = op.n_live
        self.index, self.matrix = op.index, op.matrix
        keyless = (None,) if op.random and not self.random else ()
        self.fn = functools.partial(op.fn, *keyless, **attrs)
        self.eager = self.traced = self.vjp = self.shapes = self.host = self.usage = self.cache = self.families = None
        self._modes: tuple[BoundOp, BoundOp] | None = None

    def in_mode(self, training: bool) -> BoundOp:
        """Return the same operator in training or predict mode; itself if the mode is fixed or does not matter."""
        modes = self._modes
        if modes is None:
            modes = self._modes = self._make_modes()
        return modes[bool(training)]

    def _make_modes(self) -> tuple[BoundOp, BoundOp]:
        if not self.needs_mode:
            return self, self
        others = {name: value for name, value in self.attrs.items() if name != "training"}
        return self.op.bind(**others, training=False), self.op.bind(**others, training=True)

    def infer(self, shapes: Sequence[Shape | None]) -> list[Shape | None]:
        """Return the input shapes, completed by the operator's rule as far as possible."""
        shapes = list(shapes)
        return shapes if self.op.infer is None else self.op.infer(shapes, self.attrs)

    def infer_weights(self, shapes: Sequence[Shape | None]) -> list[Shape | None]:
        """Return what `infer` does, without completing inputs whose shape depends on the batch."""
        if self.op.infer is None or set(self.op.inputs) <= set(self.op.batched):
            return list(shapes)
        kept = [name in self.op.batched for name in self.op.inputs]
        found = self.infer(shapes)
        return [own if i < len(kept) and kept[i] else new for i, (own, new) in enumerate(zip(shapes, found))]

    def __call__(self, *arrays: Any) -> Any:
        """Call ``fn``, in 64-bit types if it needs them."""
        with keeping_64_bits(self.wide):
            return self.fn(*arrays)

    def __repr__(self) -> str:
        defaults = self.op.defaults
        given = {n: v for n, v in self.attrs.items() if n not in defaults or not _same(v, defaults[n])}
        return f"{self.name}({', '.join(f'{name}={_shown(value)}' for name, value in given.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebind, (self.name, self.attrs)


class Factor(float):
    """The value of a moving attribute as an operand, which enters a program as float32 or wider."""

    __slots__ = ()


class Lifted(BoundOp):
    """A `BoundOp` that takes the attributes in ``lifted_names`` as further operands, after the others.

    Results have the same dtypes as with constants.
    """

    __slots__ = ("constant", "lifted_names")

    def __init__(self, bound: BoundOp, lifted_names: tuple[str, ...]) -> None:
        super().__init__(bound.op, bound.attrs)
        self.lifted_names, self.constant = lifted_names, bound
        self.attrs = {n: v for n, v in bound.attrs.items() if n not in lifted_names}
        self.fn = self._run

    def _run(self, *args: jax.Array) -> Any:
        arrays, numbers = args[: -len(self.lifted_names)], args[-len(self.lifted_names) :]
        keyless = (None,) if self.op.random and not self.random else ()
        out = self.op.fn(*keyless, *arrays, **self.attrs, **dict(zip(self.lifted_names, numbers, strict=True)))
        like = jax.eval_shape(self.constant.fn, *arrays)
        return jax.tree.map(lambda o, wanted: o if o.dtype == wanted.dtype else o.astype(wanted.dtype), out, like)

    def infer(self, shapes: Sequence[Shape | None]) -> list[Shape | None]:
        """Infer the shapes of the arrays, as the operator with constants does."""
        count = len(shapes) - len(self.lifted_names)
        return [*self.constant.infer(shapes[:count]), *shapes[count:]]


class Moved(BoundOp):
    """A `BoundOp` with moving attributes, which the engine replaces by ``lifted`` on its arrays and ``numbers``."""

    __slots__ = ("lifted", "numbers")

    def __init__(self, op: Op, attrs: dict[str, Any], lifted: Lifted) -> None:
        super().__init__(op, attrs)
        self.lifted, self.numbers = lifted, tuple([Factor(attrs[n]) for n in lifted.lifted_names])
        self.cache = "special"  # makes the engine treat it specially

    def fixed(self) -> BoundOp:
        """Return the operator with its numbers as constants, as a trace of a block has it; the same for equal ones."""
        return self.op.fixed(self.attrs)


def get(name: str) -> Op:
    """Return the core operator with this name or alias.

    Raises
    ------
    KeyError
        If there is none; the message suggests the nearest name.
    """
    try:
        return OPS[name]
    except KeyError:
        raise KeyError(f"there is no core operator '{name}'{did_you_mean(name, OPS)}") from None


def register(name: str | None = None, **record: Unpack[Record]) -> Callable[[Callable[..., Any]], Op]:
    """Make a core operator of the decorated function and add it to `OPS`.

    Parameters
    ----------
    name : str, optional
        The canonical name; the function's own name by default.
    **record
        The fields of `Record`.

    Returns
    -------
    callable
        A decorator that returns the `Op`, which is called like the function.

    Raises
    ------
    ValueError
        If the name or an alias is taken.
    TypeError
        If a record has no such field.
    """

    def decorate(fn: Callable[..., Any]) -> Op:
        op = Op(fn, name or fn.__name__, **record)
        for spelling in (op.name, *op.aliases):
            if spelling in OPS:
                raise ValueError(f"there already is a core operator '{spelling}' ({OPS[spelling]!r})")
            OPS[spelling] = op
        return op

    return decorate


def _rebind(name: str, attrs: dict[str, Any]) -> BoundOp:
    return get(name).bind(**attrs)


def _moves(value: Any) -> bool:
    """Return whether a number may be an operand; not 0 and 1, for which functions leave out work."""
    return type(value) in (int, float) and value not in (0, 1, -1) and abs(value) < float("inf")


def _kind(value: Any) -> Any:
    """Return the types in a value, at any depth, to distinguish equal values such as 1, 1.0 and True."""
    return tuple(map(_kind, value)) if type(value) is tuple else type(value)


def _canonical(name: str, value: Any) -> Any:
    """Return one spelling for each attribute value: tuples, np.dtype for dtypes, Python scalars for NumPy's."""
    if name in _DTYPE_NAMES:
        return None if value is None else _dtype(value)
    kind = type(value)
    if kind is float:
        return _NAN if value != value else value
    if kind in _SCALARS:
        return value
    if isinstance(value, (tuple, list)):
        return tuple(_canonical("", item) for item in value)
    if isinstance(value, np.generic):
        return _canonical(name, value.item())
    if isinstance(value, np.ndarray):
        return _canonical(name, value.tolist())
    if isinstance(value, (slice, np.dtype)) or value is Ellipsis:
        return value
    if isinstance(value, type):
        return _dtype(value)
    if hasattr(value, "__array__") or callable(value):
        raise TypeError(f"a {kind.__name__} is not a static value")
    return value


def _dtype(value: Any) -> np.dtype:
    """Return the dtype as written."""
    return np.dtype(getattr(ml_dtypes, value, value) if isinstance(value, str) else value)


def _names_axes(value: Any) -> bool:
    """Return whether a value may be axes; JAX also takes strings, for axes of a mesh."""
    return all(map(_names_axes, value)) if isinstance(value, tuple) else type(value) is not str


def _same(a: Any, b: Any) -> bool:
    return a is b or (_kind(a) == _kind(b) and a == b)


def _shown(value: Any) -> str:
    return value.name if isinstance(value, np.dtype) else repr(value)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
