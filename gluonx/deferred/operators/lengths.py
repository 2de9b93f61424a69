"""One trace of an operator for all lengths.

JAX traces an operator for given shapes, which takes it 1 to 20 ms. Each sentence has a length of its own, so a training
loop over sentences would trace at every step. Therefore an operator that meets new lengths is traced with a symbol
(`jax.export.symbolic_shape`) for each length that has differed; the result then holds for all numbers. If JAX cannot
prove a step of the trace for all numbers, it raises, and the operator is traced for numbers as usual.

JAX does not prove one thing. A comparison of a symbol with a number, or with another expression, is False if JAX cannot
decide it, so that an operator which asks ``n == 3`` would be traced as for all other lengths. A `Kind` therefore serves
only numbers for which these answers are right, as far as that can be known: lengths below five stay numbers, and so
do lengths that occur among the operator's attributes; lengths that were equal are one symbol; two symbols, or a symbol
and a neighbouring length, must not be the same number. Before a trace with symbols is used, its result is compared with
the one for numbers (``check``).

Only operators are traced in this way, never the user's Python code, which may ask anything of a length.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np

from gluonx.common import policy
from gluonx.deferred.values import program_cache
from gluonx.deferred.values.contracts import BAD_CALLS, Operator

__all__ = ["Check", "Kind", "Numbers", "found"]

Numbers: TypeAlias = "tuple[int, ...]"
Check: TypeAlias = "Callable[[Any, Kind, Numbers, Any], bool] | None"


class Kind:
    """The inputs that one trace serves.

    Attributes
    ----------
    pattern : sequence
        For each length its number, or a tuple with the number of its symbol.
    names : tuple of str
        The symbols.
    made : dict
        What was made from such traces, by purpose.
    """

    __slots__ = ("pattern", "_structs", "_taken", "made", "names")

    def __init__(
        self,
        structs: Sequence[Any],
        names: tuple[str, ...] = (),
        pattern: Sequence[Any] = (),
        taken: Iterable[int] = (),
    ) -> None:
        self._structs, self.names, self.made = list(structs), names, dict[Any, Any]()
        self.pattern, self._taken = pattern, taken  # `_taken`: numbers that no symbol may be

    @property
    def structs(self) -> list[Any]:
        """Return the inputs; the symbols are made on the first call, and the same ones returned later."""
        return self._structs if not self.names else _symbolic(self._structs, self.pattern, self.names)

    def numbers(self, lengths: Numbers) -> Numbers | None:
        """Return the values of the symbols for these lengths; None if the lengths do not fit."""
        numbers: list[Any] = [None] * len(self.names)
        for length, part in zip(lengths, self.pattern, strict=True):
            if type(part) is int:
                if length != part:
                    return None
            elif numbers[part[0]] is None:
                numbers[part[0]] = length
            elif numbers[part[0]] != length:
                return None
        if len(set(numbers)) < len(numbers) or any(n < policy.limits["symbol"] or n in self._taken for n in numbers):
            return None
        return tuple(numbers)


class _Family:
    """The kinds whose inputs have the same numbers of axes."""

    __slots__ = ("exact", "seen", "symbolic")

    def __init__(self) -> None:
        self.exact: dict[Numbers, Kind] = {}
        self.symbolic: list[Kind] = []
        self.seen: list[Numbers] = []


def found(
    op: Operator,
    inputs: Sequence[Any],
    what: Hashable,
    make: Callable[[Kind], Any],
    check: Check,
) -> tuple[Any, Numbers]:
    """Return what was made for inputs of these lengths, and the values of its symbols.

    Parameters
    ----------
    op : Operator
    inputs : sequence of Aval, ScalarSlot, jax.ShapeDtypeStruct or None
    what : hashable
        Names what is made.
    make : callable
        Makes it from a `Kind`.
    check : callable, optional
        Takes the result with symbols, its kind, the values of the symbols for earlier lengths, and the result for those
        lengths; returns whether both agree. None: use no symbols.
    """
    structs = [None if a is None else getattr(a, "struct", a) for a in inputs]
    lengths = tuple([n for s in structs if s is not None for n in s.shape])
    if not all(isinstance(n, int) for n in lengths):  # somebody's own symbols, which compare with no number
        return make(Kind(structs, (), lengths)), ()
    families = op.families
    if families is None:
        families = op.families = {}
        program_cache.add_known(op)
    key = tuple([None if s is None else (len(s.shape), s.dtype) for s in structs])
    family = families.get(key)
    if family is None:
        family = families[key] = _Family()
    exact = family.exact.get(lengths)
    if exact is not None and what in exact.made:
        return exact.made[what], ()
    for kind in family.symbolic if check is not None else ():
        numbers = kind.numbers(lengths)
        if numbers is not None and (made := _of_kind(family, kind, what, make, check)) is not None:
            return made, numbers
    if exact is None:
        kind = _generalized(op, family, structs, lengths) if check is not None else None
        if kind is not None and (made := _of_kind(family, kind, what, make, check)) is not None:
            numbers = kind.numbers(lengths)
            assert numbers is not None, "a kind fits the lengths that it was made of"
            return made, numbers
        if len(family.exact) >= policy.KINDS:
            family.exact.pop(next(iter(family.exact)))
        exact = family.exact[lengths] = Kind(structs, (), lengths)
    made = exact.made[what] = make(exact)
    return made, ()


def _of_kind(
    family: _Family,
    kind: Kind,
    what: Hashable,
    make: Callable[[Kind], Any],
    check: Check,
) -> Any:
    """Return what is made with symbols; None if that fails, or if it does not agree with what was made for numbers."""
    if what in kind.made:
        return kind.made[what]
    assert check is not None, "what has no check is made without symbols"
    known = [(kind.numbers(lengths), exact) for lengths, exact in family.exact.items() if what in exact.made]
    known = [(numbers, exact) for numbers, exact in known if numbers is not None]
    if not known:  # there is nothing to compare with
        return None
    made: Any = None
    try:
        made = make(kind)
        if made is not None and not all(check(made, kind, numbers, exact.made[what]) for numbers, exact in known[:2]):
            made = None
    except (*inconclusive(), *BAD_CALLS):
        made = None
    kind.made[what] = made
    return made


def inconclusive() -> tuple[type[BaseException], ...]:
    """Return the errors that JAX raises if it cannot prove something about a symbol."""
    from jax.extend.core import InconclusiveDimensionOperation  # jax.errors of 0.10.0 lacks it

    return (InconclusiveDimensionOperation,)


def _generalized(op: Operator, family: _Family, structs: Sequence[Any], lengths: Numbers) -> Kind | None:
    """Return a new kind for these lengths and others that were seen before; None if there is none.

    All lengths that were seen are tried together first, then pairs, beginning with those that differ least, since an
    operator may be used in several roles, each with its own lengths.
    """
    if lengths in family.seen:
        return None
    before = family.seen[-policy.LENGTHS :]
    family.seen = [*before, lengths]
    if not before or len(family.symbolic) >= policy.LENGTHS:
        return None
    alike = sorted(before, key=lambda other: sum(map(operator.ne, other, lengths)))
    for seen in ([*before, lengths], *[[other, lengths] for other in alike]):
        kind = _kind(op, structs, seen)
        if kind is None or kind.numbers(lengths) is None or all(kind.numbers(other) is None for other in before):
            continue
        if any(kind.pattern == known.pattern for known in family.symbolic):
            return None
        family.symbolic.insert(0, kind)
        return kind
    return None


def _kind(op: Operator, structs: Sequence[Any], seen: Sequence[Numbers]) -> Kind | None:
    """Return a kind with a symbol for each length that differs within `seen`."""
    taken = set(_whole_numbers(op.attrs))
    symbols: dict[Any, int] = {}
    pattern: list[Any] = []
    for column in zip(*seen, strict=True):
        if len(set(column)) == 1 or column[-1] < policy.limits["symbol"] or column[-1] in taken:
            pattern.append(column[-1])
        else:
            pattern.append((symbols.setdefault(column, len(symbols)),))
    if not symbols:
        return None
    taken.update([part for part in pattern if type(part) is int])
    names = tuple([f"n{i}" for i in range(len(symbols))])
    return Kind(structs, names, pattern, taken)


def _symbolic(structs: Sequence[Any], pattern: Sequence[Any], names: tuple[str, ...]) -> list[Any]:
    symbols = _symbols(len(names))
    parts = iter(pattern)
    found: list[Any] = []
    for struct in structs:
        own = [next(parts) for _ in struct.shape] if struct is not None else []
        shape = tuple([part if type(part) is int else symbols[part[0]] for part in own])
        found.append(None if struct is None else jax.ShapeDtypeStruct(shape, struct.dtype))
    return found


@functools.cache
def _symbols(count: int) -> tuple[Any, ...]:
    """Return so many symbols; JAX identifies symbols by the identity of their scope."""
    from jax import export  # not needed by programs with one shape

    names = [f"n{i}" for i in range(count)]
    scope = export.SymbolicScope([f"{name} >= {policy.limits['symbol']}" for name in names])
    return tuple(export.symbolic_shape(",".join(names) + ",", scope=scope))


def _whole_numbers(value: object) -> Iterator[int]:
    if isinstance(value, dict):
        value = list(value.values())
    elif isinstance(value, slice):
        value = (value.start, value.stop, value.step)
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _whole_numbers(each)
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        yield int(value)
