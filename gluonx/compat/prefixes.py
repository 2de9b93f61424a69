"""Names of blocks as MXNet 1 made them: prefixes, name scopes, and parameters that blocks share by name.

A block's *prefix* begins the names of its parameters: ``'dense0_weight'``. It is given (``prefix='fc_'``), or made of
the class's hint and a number, counted within the name scope in which the block is made. Blocks of gluonx are named by
their attributes and know nothing of this until somebody asks: while `Naming.active`, or inside a ``with
block.name_scope():``, every new block gets its prefix at once; so does one with a ``hybrid_forward``; any other gets
it when ``prefix`` or ``name_scope`` is first used.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import functools
import inspect
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from gluonx import rnn
from gluonx.block.block import Block, name_blocks_by
from gluonx.block.names import Names
from gluonx.block.parameter import Parameter
from gluonx.common.frames import shorten
from gluonx.compat import hybrid_forward, zoo
from gluonx.compat.mode import Mode
from gluonx.compat.parameter_dict import ParameterDict
from gluonx.files import cell_name


class Naming:
    """The process-wide switch and counters: whether all blocks get prefixes, and how often each hint was used.

    Attributes
    ----------
    active : bool
        Whether all blocks get their prefix when they are made, and names of parameters begin with it.
    undecided : bool
        Whether blocks only reserve a prefix, since the program may be one for MXNet 1 or for 2: names are
        structured, until a feature of MXNet 1 is used.
    assumed : bool
        Whether all blocks get prefixes only because nothing has shown yet which version the program is for.
    assumed_blocks : set
        The blocks that got theirs so, which lose it if the program turns out to be for MXNet 2.
    used : callable
        Called when a feature of MXNet 1 is used (a prefix, a name scope, ``params.get``, a ``hybrid_forward``).
    structured : callable
        Called when a feature of MXNet 2 is used (a structured name, ``share_parameters``).
    """

    active = False
    undecided = False
    assumed = False
    assumed_blocks: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()
    counters: ClassVar[dict[str, int]] = {}
    used: ClassVar[Any] = staticmethod(lambda: None)
    structured: ClassVar[Any] = staticmethod(lambda: None)


_current: contextvars.ContextVar[Scope | None] = contextvars.ContextVar("gluonx_name_scope", default=None)
_HINTS = (
    (re.compile(r"^Conv[123]D(Transpose)?$"), "conv"),
    (re.compile(r"^(Global)?(Max|Avg)Pool[123]D$"), "pool"),
    (re.compile(r"^(Modulated)?DeformableConvolution$"), r"\1_deformable_conv"),
    (re.compile(r"^Conv[123]D(RNN|LSTM|GRU)Cell$"), r"conv_\1"),
    (re.compile(r"^(RNN|LSTM|GRU|LSTMP|Dropout|Zoneout)Cell$"), r"\1"),
    (re.compile(r"^VariationalDropoutCell$"), "vardrop"),
    (re.compile(r"^(Hybrid)?Concatenate$"), r"\1concurrent"),
)


def reset_names() -> None:
    """Count from 0 again outside of name scopes."""
    Naming.counters.clear()


class Scope:
    """The name scope of one block; ``with block.name_scope():`` enters it.

    Attributes
    ----------
    prefix : str
    params : ParameterDict
        The block's own parameters by full name.
    """

    def __init__(self, prefix: str, params: ParameterDict, empty: bool) -> None:
        self.prefix, self.params, self.empty = prefix, params, empty
        self.counters: dict[str, int] = {}
        self.renamed: list[tuple[Parameter, str]] = []  # with the name before
        self._tokens: list[Any] = []

    def __enter__(self) -> Scope:
        if Naming.assumed:
            Naming.used()
        self._tokens.append(None if self.empty else _current.set(self))
        return self

    def __exit__(self, *exc: object) -> None:
        token = self._tokens.pop()
        if token is not None:
            _current.reset(token)

    def __deepcopy__(self, memo: dict[int, Any]) -> Scope:
        twin = Scope(self.prefix, copy.deepcopy(self.params, memo), self.empty)
        twin.counters = dict(self.counters)
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        return Scope, (self.prefix, self.params, self.empty)


def hint_of(block: object) -> str:
    """Return what a block is called after, where it is given no prefix."""
    alias = getattr(block, "_alias", None)
    if callable(alias):
        return str(alias())
    for kind in type(block).__mro__:  # a class of the user's is called as the layer that it extends
        if not kind.__module__.startswith("gluonx."):
            continue
        if kind.__name__ == "Activation":  # named by what it computes
            return str(block.__dict__.get("_act_type", "activation"))
        for pattern, hint in _HINTS:
            if pattern.match(kind.__name__):
                return pattern.sub(hint, kind.__name__).lower().lstrip("_")
    return type(block).__name__.lower()


def _numbered(counters: dict[str, int], hint: str) -> str:
    count = counters.get(hint, 0)
    counters[hint] = count + 1
    return f"{hint}{count}_"


def _own_prefix(block: Block, counters: dict[str, int]) -> str:
    """Return the prefix of a block that was given none: a cell that modifies another one goes by that one's."""
    base = block.__dict__.pop("_base", None)
    if base is None:
        return _numbered(counters, hint_of(block))
    reserved = None if "_scope" in base.__dict__ else base.__dict__.get("_reserved")
    return (reserved or scope_of(base).prefix) + hint_of(block)


def enter(block: Block, prefix: str | None = None, params: Any = None) -> Scope:
    """Give a block its scope: its prefix, and the dict of its own parameters."""
    outer = _current.get()
    given = prefix
    reserved = block.__dict__.pop("_reserved", None)
    said = outer is not None or prefix is not None or params is not None
    if not Naming.active or (Naming.assumed and (said or getattr(block, "_runs_hybrid_forward", False))):
        Naming.used()
    if Naming.assumed:
        Naming.assumed_blocks.add(block)
    if prefix is None:
        counters = Naming.counters if outer is None else outer.counters
        prefix = str(reserved) if reserved else _own_prefix(block, counters)
    if outer is not None:  # whose parameters may go by the prefix of those that it shares
        prefix_full, own = outer.prefix + prefix, ParameterDict(outer.params.prefix + prefix, outer.params._shared)
    else:
        prefix_full, own = prefix, ParameterDict(prefix)
    if params is not None:
        if not isinstance(params, ParameterDict):
            raise TypeError(f"params= takes the .params of another block, got {type(params).__name__}.")
        own = ParameterDict(params.prefix, params)
    scope = block.__dict__["_scope"] = Scope(prefix_full, own, given == "")
    for name, param in block._reg_params.items():
        adopt(block, param, name)
    return scope


def name_by_structure() -> None:
    """Take the prefixes back that blocks got without asking: the program is one for MXNet 2."""
    for block in list(Naming.assumed_blocks):
        scope: Scope | None = block.__dict__.pop("_scope", None)
        if scope is not None:
            block.__dict__["_reserved"] = scope.prefix
            for param, name in scope.renamed:
                param._name, param._prefixed = name, False
    Naming.assumed_blocks.clear()


def reserve(block: Block) -> None:
    """Count a block whose prefix may be asked for later."""
    block.__dict__["_reserved"] = _own_prefix(block, Naming.counters)


@contextlib.contextmanager
def outside_scopes() -> Iterator[None]:
    """Make blocks as outside of all name scopes, whose prefixes theirs then do not begin with."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def wants_scope() -> bool:
    """Return whether a block that is made now gets its prefix at once."""
    return Naming.active or _current.get() is not None


def is_named(block: Block) -> bool:
    """Return whether names of this block's parameters are MXNet 1's."""
    return Naming.active or "_scope" in block.__dict__


def adopt(block: Block, param: Parameter, name: str) -> Parameter:
    """Return the parameter that an attribute of `block` is to hold: `param` under its full name, or the shared one."""
    scope: Scope | None = block.__dict__.get("_scope")
    if scope is None or any(param is own for own in scope.params.values()):
        return param
    full = scope.params.prefix + param.name
    found = scope.params.find(full)
    if found is None:
        scope.params[full] = param
        if param.name in (name, "weight", "const") or not param.name.startswith(scope.params.prefix):
            scope.renamed.append((param, param._name))
            param._name, param._prefixed = full, True
        return param
    if param.shape is not None:
        found.shape = param.shape
    return found


def collect(block: Block, select: str | None) -> ParameterDict:
    """All parameters of `block` and those below, by full names."""
    scope = block.__dict__.get("_scope") or enter(block)
    found = ParameterDict(scope.params.prefix)
    found.update(scope.params if select is None else scope.params.select(select))
    for child in block._children.values():
        found.update(collect(child, select))
    found._by_structure = functools.partial(_structured, weakref.ref(block), True)
    return found


def _structured(block: Callable[[], Any], below: bool) -> Mapping[str, Parameter]:
    """Return the parameters of a block, or of all below it too, by structured name: only MXNet 2 has them so."""
    Naming.structured()
    return block()._structured_params(None, True) if below else block()._reg_params


class Undecided(ParameterDict):
    """The parameters of a block, by structured name, in a program that may be one for MXNet 1 or for 2.

    What only MXNet 1's dict has says that the program is one for MXNet 1 (`Naming.used`), and works. So do names with
    a prefix.

    Parameters
    ----------
    block : Block
    params : dict of str to Parameter
        What is in it.
    named : callable
        Gives the same of MXNet 1, by full names.
    """

    def __init__(
        self, block: Callable[[], Any], params: Mapping[str, Parameter], named: Callable[[], ParameterDict]
    ) -> None:
        super().__init__()
        dict.update(self, params)
        self._block, self._named = block, named

    @property
    def prefix(self) -> str:
        """Return the prefix of the names that `get` is given."""
        return self._named().prefix

    def __repr__(self) -> str:
        return dict.__repr__(self)

    def __missing__(self, name: str) -> Any:
        if not any(name.startswith(child) for child in _prefixes(self._block)):
            raise KeyError(name)
        return self._named()[name]

    def get(self, name: str, default: Any = None, **kwargs: Any) -> Any:
        """Get the parameter of this name, or `default`.

        With options, or without `default` in ``__init__``, a new one.
        """
        if name in self and not kwargs:
            return self[name]
        if kwargs or (default is None and not self):
            return self._named().get(name, default, **kwargs)
        with contextlib.suppress(KeyError):
            return self.__missing__(name)
        return default

    def get_constant(self, name: str, value: Any = None) -> Any:
        """Return the constant of this name, made of `value` if there is none."""
        return self._named().get_constant(name, value)

    def find(self, full: str) -> Any:
        """Return the parameter of this full name."""
        return self[full] if full in self else self._named().find(full)

    def update(self, other: Any = (), **kwargs: Any) -> None:
        """Take over parameters. Where two have one structured name, all go by the full names of MXNet 1."""
        new = dict(other, **kwargs)
        if any(name in self and self[name] is not param for name, param in new.items()):
            dict.clear(self)
            dict.update(self, self._named())
            new = dict(other._named() if isinstance(other, Undecided) else other, **kwargs)
        dict.update(self, new)

    def __getattribute__(self, name: str) -> Any:
        if name in _OF_MXNET_1:
            Naming.used()
        return super().__getattribute__(name)


Undecided.__name__ = Undecided.__qualname__ = "ParameterDict"  # which it is, as far as a program can see
_OF_MXNET_1 = frozenset(["initialize", "zero_grad", "reset_ctx", "list_ctx", "setattr", "save", "load", "get_constant"])


def _prefixes(block: Any) -> list[str]:
    found = block.__dict__.get("_reserved")
    own = [found] if found else [block.__dict__["_scope"].prefix] if "_scope" in block.__dict__ else []
    return [*own, *[prefix for child in block._children.values() for prefix in _prefixes(child)]]


# -- what blocks ask ---------------------------------------------------------------------------------------------------


class Prefixes(Names):
    """MXNet 1's way, in the place of ``Block._block_names``; see :func:`activate`."""

    def defined(self, cls: type) -> None:
        """Have a new class take ``prefix`` and ``params``, and run its ``hybrid_forward`` if it has one."""
        _take_keywords(cls)
        if "hybrid_forward" not in vars(cls):
            return
        type.__setattr__(cls, "_has_hybrid_forward", True)
        if "forward" not in vars(cls):
            if not _has_forward_of_its_own(cls):
                type.__setattr__(cls, "forward", hybrid_forward.forward)
            type.__setattr__(cls, "_runs_hybrid_forward", True)
        else:
            hybrid_forward.stand_between(cls)

    def begin(self, block: Block, prefix: str | None, params: Any) -> None:
        """Give a block its scope at once, reserve a prefix, or do nothing."""
        if zoo.building.get():
            return
        if "_asked" in block.__dict__:
            prefix, params = block.__dict__.pop("_asked")
        if prefix is not None or params is not None or wants_scope() or getattr(block, "_runs_hybrid_forward", False):
            enter(block, prefix, params)
        elif Naming.undecided:
            reserve(block)

    def adopt(self, block: Block, param: Parameter, name: str) -> Parameter:
        """Return the parameter that an attribute is to hold; see :func:`adopt`."""
        return adopt(block, param, name)

    def own(self, block: Block) -> Any:
        """Return a block's own parameters, where they are made: ``self.params.get('weight', shape=...)``."""
        block = block.__dict__.get("_modifies", block)
        if is_named(block):
            params = scope_of(block).params
            params._by_structure = functools.partial(_structured, weakref.ref(block), False)
            return params
        if Naming.undecided:
            return Undecided(block, block._reg_params, lambda: scope_of(block).params)
        return block._reg_params

    def collected(self, block: Block, select: str | None) -> Any:
        """Return all parameters by full name, or those of a program that may be of either version."""
        if is_named(block):
            return collect(block, select)
        if Naming.undecided:
            return Undecided(block, block._structured_params(select, True), lambda: collect(block, select))
        return None

    def shared(self, block: Block, params: Any) -> Any:
        """Return by structured name what ``share_parameters``, which only MXNet 2 has, was given."""
        Naming.structured()
        named = getattr(params, "_by_structure", None)
        return params if named is None else named()

    def structured(self, block: Block, arrays: dict[str, Any], params: Mapping[str, Parameter]) -> dict[str, Any]:
        """Give the arrays of a file of MXNet 1, full names with or without the block's prefix, by structured name.

        Arrays under other names, and those for a block without a prefix, come back as they are.
        """
        if "_scope" not in block.__dict__ or any("." in name for name in arrays) or arrays.keys() <= params.keys():
            return arrays
        prefix = block.__dict__["_scope"].prefix
        known = {param.name.removeprefix(prefix): name for name, param in params.items()}
        known.update({param.name: name for name, param in params.items()})
        return {known.get(name, name): value for name, value in arrays.items()}

    def saved(self, block: Block, arrays: dict[str, Any]) -> dict[str, Any]:
        """Give the parameters of recurrent layers the names of cells, as MXNet 1 does."""
        new: dict[str, str] = {}
        for prefix, owner in block._walk():
            if isinstance(owner, (rnn.RNN, rnn.LSTM, rnn.GRU)):
                own = owner._reg_params
                new.update({prefix + name: prefix + cell_name(name, owner._bidirectional) for name in own})
        return {new.get(name, name): value for name, value in arrays.items()}

    def size(self, known: int) -> int | None:
        """Return None for an open size, as MXNet 1 says it unless ``set_np_shape()`` holds."""
        return None if known < 0 and Naming.active and not Mode.shape else known

    def file_format(self) -> str:
        """Return MXNet 1's list for a program of MXNet 1, which reads nothing else."""
        return "mxnet" if Naming.active else "npz"

    def export_format(self) -> str:
        """Return MXNet's for a program that runs on `gluonx.compat`, as such a one reads the files that it wrote."""
        return "mxnet" if Mode.aliased else "stablehlo"


def activate() -> None:
    """Have blocks take prefixes from now on, those of classes that are there already too."""
    if isinstance(Block._block_names, Prefixes):
        return
    name_blocks_by(Prefixes())
    waiting: list[type] = [Block]
    while waiting:
        cls = waiting.pop()
        _take_keywords(cls)
        waiting += cls.__subclasses__()


def defines_hybrid_forward(cls: type) -> None:
    """Answer to a class that defines ``hybrid_forward``."""
    activate()
    Block._block_names.defined(cls)


def takes_keywords(cls: type) -> None:
    """Answer to a constructor that is given ``prefix`` or ``params``."""
    activate()
    _take_keywords(cls)


def attribute(block: Block, name: str) -> Any:
    """Answer to ``block.prefix``, ``block.name``, ``block.name_scope``, their private forms and a cell's counters."""
    if name in ("_counter", "_init_counter"):
        if "_kept" not in block.__dict__:
            raise AttributeError(f"'{type(block).__name__}' object has no attribute '{name}'")
        return -1  # no call yet, or none of a cell with a hybrid_forward
    activate()
    if name == "name_scope":
        return lambda: scope_of(block)
    if name == "_params":
        return block.params
    prefix = scope_of(block).prefix
    return prefix.removesuffix("_") if name == "name" else prefix


def scope_of(block: Block) -> Scope:
    """Return the scope of a block; one that has none gets it now."""
    return block.__dict__.get("_scope") or enter(block)


# -- classes ----------------------------------------------------------------------------------------------------------


def _take_keywords(cls: type) -> None:
    """Make a class of blocks take ``prefix`` and ``params``."""
    init: Any = cls.__init__
    if hasattr(init, "takes_scope"):  # of this class, or of a mixin that is no block
        return
    kinds = inspect.signature(init).parameters
    if "prefix" not in kinds and not any(p.kind is p.VAR_KEYWORD for p in kinds.values()):
        also, looks = _AT_INIT.get(cls.__name__, ((), None)) if cls.__module__.startswith("gluonx.") else ((), None)
        type.__setattr__(cls, "__init__", _taking_scope(init, also, looks))
        type.__setattr__(cls, "_also_takes", frozenset({"prefix", "params", *also}))


def _has_forward_of_its_own(cls: type) -> bool:
    """Return whether a class of the program above `cls` has a ``forward``, which may call ``super().forward``."""
    home = next((base for base in cls.__mro__ if "forward" in vars(base)), Block)
    written = vars(home)["forward"] is not hybrid_forward.forward
    return written and not home.__module__.startswith("gluonx.")


def _named_by_activation(block: Block, activation: str | None = None, **_: object) -> None:
    if activation is not None:
        block.__dict__["_act_type"] = activation


def _named_by_base(block: Block, base_cell: Block | None = None, *_: object, **__: object) -> None:
    if isinstance(base_cell, Block):
        block.__dict__["_base"] = block.__dict__["_modifies"] = base_cell


def _named_by_none(block: Block, *_: object, **__: object) -> None:
    if wants_scope():  # elsewhere to ask for a prefix is to be named by it
        block.__dict__.setdefault("_asked", ("", None))


_AT_INIT: dict[str, tuple[tuple[str, ...], Callable[..., None]]] = {
    "Activation": ((), _named_by_activation),
    "ModifierCell": ((), _named_by_base),
    "BidirectionalCell": (("output_prefix",), _named_by_none),
}
"""Layers that MXNet 1 names by what they are given: further keywords, and what is done with the arguments."""


def _taking_scope(
    init: Callable[..., None], also: Sequence[str], looks: Callable[..., None] | None
) -> Callable[..., None]:
    """``__init__`` that takes ``prefix`` and ``params`` beside what it takes, and the keywords `also`."""
    own = frozenset(inspect.signature(init).parameters)  # a constructor's own ``params`` is something else

    @functools.wraps(init)
    def taking(self: Block, *args: Any, **kwargs: Any) -> None:
        asked = [None if name in own else kwargs.pop(name, None) for name in ("prefix", "params")]
        if any(value is not None for value in asked):
            self.__dict__["_asked"] = tuple(asked)
        for keyword in also:
            kwargs.pop(keyword, None)
        if looks is not None:
            looks(self, *args, **kwargs)
        wanted = Naming.active or "_asked" in self.__dict__ or _current.get() is not None
        is_network = wanted and not zoo.building.get() and zoo.is_network(type(self))
        try:
            with zoo.unnamed() if is_network else contextlib.nullcontext():
                init(self, *args, **kwargs)
        except Exception as error:
            shorten(error)
            raise
        if is_network:
            zoo.named(self, enter, hint_of)

    taking.takes_scope = True  # type: ignore[attr-defined]
    return taking
