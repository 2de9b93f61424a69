"""Constructors that only pass their arguments on: `declared` makes them from a list of parameters.

A family of layers has one base class that does the work, and members that differ in the names and defaults of their
parameters. A member lists these as a dataclass does, and needs no ``__init__``::

    @declared
    class Conv2D(_Plain):
        strides: InitVar[Size] = (1, 1)
        layout: InitVar[str] = "NCHW"
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

from gluonx.block.block import Block

Class = TypeVar("Class", bound=type[Block])


@dataclass_transform(eq_default=False)
def declared(cls: Class) -> Class:
    """Make the annotated names of a class the parameters of its constructor, which passes them to the base.

    A decorator.

    They are in the order of the class, after those of a declared base class. A name that the base has too keeps its
    position there and takes the default of the class. Names after ``_: KW_ONLY`` are keyword-only. The first base with
    a written constructor gets all arguments by name. They are annotated ``InitVar[...]``, because an instance has no
    attributes of these names: editors see the constructor as that of a dataclass.

    Examples
    --------
    >>> from dataclasses import InitVar
    >>> from gluonx.block import HybridBlock
    >>> class Window(HybridBlock):
    ...     def __init__(self, size, stride):
    ...         super().__init__()
    ...         self.space = size, stride
    >>> @declared
    ... class Small(Window):
    ...     size: InitVar[int]
    ...     stride: InitVar[int] = 1
    >>> @declared
    ... class Large(Small):
    ...     stride: InitVar[int] = 4
    >>> Small(3).space, Large(3).space, Large(size=3, stride=2).space
    ((3, 1), (3, 4), (3, 2))
    >>> Large()
    Traceback (most recent call last):
    ...
    TypeError: Large: missing a required argument: 'size'.
    """
    of_base = list(inspect.signature(cls.__init__).parameters.values()) if hasattr(cls.__init__, "declared") else []
    rows = {p.name: p for p in of_base[1:]}
    parameter_kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for name, annotation in inspect.get_annotations(cls).items():
        if annotation == "KW_ONLY":
            parameter_kind = inspect.Parameter.KEYWORD_ONLY
            continue
        default = vars(cls).get(name, inspect.Parameter.empty)
        if default is not inspect.Parameter.empty:
            delattr(cls, name)  # as a class attribute it would look like a value of every instance
        kind = annotation.removeprefix("InitVar[").removesuffix("]")
        rows[name] = inspect.Parameter(name, parameter_kind, default=default, annotation=kind)
    cls.__init__ = _constructor(cls, list(rows.values()))
    cls._block_names.defined(cls)
    return cls


def _constructor(cls: type[Block], rows: list[inspect.Parameter]) -> Callable[..., Any]:
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([own, *rows], return_annotation="None")

    def __init__(self: Any, *args: object, **kwargs: object) -> None:
        try:
            given = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}: {error}.") from None
        given.apply_defaults()
        given.arguments.pop("self")
        bases = type(self).__mro__
        written = [b.__init__ for b in bases[bases.index(cls) + 1 :] if not hasattr(b.__init__, "declared")]
        written[0](self, **given.arguments)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__module__, __init__.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    __init__.declared = True  # type: ignore[attr-defined]
    return __init__
