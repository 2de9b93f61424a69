"""Names of blocks as MXNet 1 made them: prefixes, name scopes, and parameters that blocks share by name.

A block's *prefix* begins the names of its parameters: ``'dense0_weight'``. It is given (``prefix='fc_'``), or made of
the class's hint and a number, counted within the name scope in which the block is made. Blocks of gluonx are named by
their attributes and know nothing of this until somebody asks: while `Naming.active`, or inside a ``with
block.name_scope():``, every new block gets its prefix at once; so does one with a ``hybrid_forward``; any other gets
it when ``prefix`` or ``name_scope`` is first used.
"""

from __future__ import annotations

import contextvars
import copy
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from gluonx.parameter import Parameter
from gluonx.parameterdict import ParameterDict

__all__ = [
    "Default",
    "Naming",
    "Scope",
    "adopt",
    "collect",
    "enter",
    "is_named",
    "prepare_class",
    "reset_names",
    "structured_names",
    "wants_scope",
]


class Default:
    """A property that an attribute of the same name takes the place of."""

    def __init__(self, get: Callable[[Any], Any]) -> None:
        self.get, self.__doc__ = get, get.__doc__

    def __get__(self, owner: Any, cls: type | None = None) -> Any:
        return self if owner is None else self.get(owner)


class Naming:
    """The process-wide switch and counters: whether all blocks get prefixes, and how often each hint was used."""

    active = False
    counters: ClassVar[dict[str, int]] = {}


_current: contextvars.ContextVar[Scope | None] = contextvars.ContextVar("gluonx_name_scope", default=None)
_HINTS = (
    (re.compile(r"^Conv[123]D(Transpose)?$"), "conv"),
    (re.compile(r"^(Global)?(Max|Avg)Pool[123]D$"), "pool"),
    (re.compile(r"^Conv[123]D(RNN|LSTM|GRU)Cell$"), r"conv_\1"),
    (re.compile(r"^(RNN|LSTM|GRU|Dropout|Zoneout|Modifier)Cell$"), r"\1"),
)


def reset_names() -> None:
    """Count anew from 0 outside of name scopes."""
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
        self._tokens: list[Any] = []

    def __enter__(self) -> Scope:
        self._tokens.append(None if self.empty else _current.set(self))
        return self

    def __exit__(self, *exc: object) -> None:
        token = self._tokens.pop()
        if token is not None:
            _current.reset(token)

    def __deepcopy__(self, memo: Any) -> Scope:
        twin = Scope(self.prefix, copy.deepcopy(self.params, memo), self.empty)
        twin.counters = dict(self.counters)
        return twin

    def __reduce__(self) -> Any:
        return Scope, (self.prefix, self.params, self.empty)


def _hint(block: Any) -> str:
    alias = getattr(block, "_alias", None)
    if callable(alias):
        return str(alias())
    name = type(block).__name__
    if name == "Activation":  # named by what it computes
        return str(block.__dict__.get("_act_type", "activation"))
    for pattern, hint in _HINTS:
        if pattern.match(name):
            return pattern.sub(hint, name).lower()
    return name.lower()


def _numbered(counters: dict[str, int], hint: str) -> str:
    count = counters.get(hint, 0)
    counters[hint] = count + 1
    return f"{hint}{count}_"


def enter(block: Any, prefix: str | None = None, params: Any = None) -> Scope:
    """Gives a block its scope: its prefix, and the dict of its own parameters."""
    outer = _current.get()
    given = prefix
    if prefix is None:
        prefix = _numbered(Naming.counters if outer is None else outer.counters, _hint(block))
    if outer is not None:
        prefix_full, shared = outer.prefix + prefix, outer.params._shared
    else:
        prefix_full, shared = prefix, None
    own = ParameterDict(prefix_full, shared)
    if params is not None:
        if not isinstance(params, ParameterDict):
            raise TypeError(f"params= takes the .params of another block, got {type(params).__name__}.")
        own = ParameterDict(params.prefix, params)
    scope = block.__dict__["_scope"] = Scope(prefix_full, own, given == "")
    for name, param in block._reg_params.items():
        adopt(block, param, name)
    return scope


def wants_scope() -> bool:
    """Whether a block that is made now gets its prefix at once."""
    return Naming.active or _current.get() is not None


def is_named(block: Any) -> bool:
    """Whether names of this block's parameters are MXNet 1's."""
    return Naming.active or "_scope" in block.__dict__


def adopt(block: Any, param: Parameter, name: str) -> Parameter:
    """The parameter that an attribute of `block` is to hold: `param` under its full name, or the shared one."""
    scope: Scope | None = block.__dict__.get("_scope")
    if scope is None or any(param is own for own in scope.params.values()):
        return param
    full = scope.params.prefix + param.name
    found = scope.params.find(full)
    if found is None:
        scope.params[full] = param
        if param.name in (name, "weight", "const") or not param.name.startswith(scope.params.prefix):
            param._name, param._prefixed = full, True
        return param
    if param.shape is not None:
        found.shape = param.shape
    return found


def collect(block: Any, select: str | None) -> ParameterDict:
    """All parameters of `block` and those below, by full names."""
    scope = block.__dict__.get("_scope") or enter(block)
    found = ParameterDict(scope.params.prefix)
    found.update(scope.params if select is None else scope.params.select(select))
    for child in block._children.values():
        found.update(collect(child, select))
    return found


def structured_names(block: Any, arrays: dict[str, Any], params: Mapping[str, Parameter]) -> dict[str, Any]:
    """The arrays of a file that MXNet 1 wrote under full names, with or without the block's prefix, by structured name.

    Arrays under other names, and those for a block without a prefix, come back as they are.
    """
    if "_scope" not in block.__dict__ or any("." in name or name in params for name in arrays):
        return arrays
    prefix = block.__dict__["_scope"].prefix
    known = {param.name.removeprefix(prefix): name for name, param in params.items()}
    known.update({param.name: name for name, param in params.items()})
    return {known.get(name, name): value for name, value in arrays.items()}


# -- classes ----------------------------------------------------------------------------------------------------------


def prepare_class(cls: type, forward: Callable[..., Any]) -> None:
    """Makes a new class of blocks take ``prefix`` and ``params``, and run its ``hybrid_forward`` if it has one."""
    own = cls.__dict__
    init: Any = cls.__init__
    if not hasattr(init, "takes_scope"):  # of this class, or of a mixin that is no block
        kinds = inspect.signature(init).parameters
        if "prefix" not in kinds and not any(p.kind is p.VAR_KEYWORD for p in kinds.values()):
            type.__setattr__(cls, "__init__", _taking_scope(init, cls.__name__ == "Activation"))
    if "hybrid_forward" in own and "forward" not in own:
        type.__setattr__(cls, "forward", forward)
        type.__setattr__(cls, "_runs_hybrid_forward", True)


def _taking_scope(init: Callable[..., None], named_by_argument: bool) -> Callable[..., None]:
    """``__init__`` that takes ``prefix`` and ``params`` beside what it takes."""

    @functools.wraps(init)
    def taking(self: Any, *args: Any, **kwargs: Any) -> None:
        if "prefix" in kwargs or "params" in kwargs:
            self.__dict__["_asked"] = (kwargs.pop("prefix", None), kwargs.pop("params", None))
        if named_by_argument and (args or "activation" in kwargs):
            self.__dict__["_act_type"] = args[0] if args else kwargs["activation"]
        init(self, *args, **kwargs)

    taking.takes_scope = True  # type: ignore[attr-defined]
    return taking
