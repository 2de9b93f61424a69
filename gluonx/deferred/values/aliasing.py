"""References to an array from elsewhere, which decide whether a program may reuse its buffer.

A step donates buffers of parameters and states. It must not donate one that somebody else holds as well (a raw array
that was taken out of a handle, a NumPy view); Python's reference counts tell. How many references are the engine's own
depends on the interpreter: 3.14 counts fewer of those on its stack than 3.11 does. So these numbers are not constants.
They are measured when this module is imported, with the very functions that use them afterwards; and they are trusted
only if, by them, an array with one more reference, of any kind, counts as held.

If counts cannot be trusted (they fail that test, or there is no GIL, so that other threads change counts meanwhile),
the limits are 0, which no count is below: everything counts as held by somebody. Then a step donates only what is
provably unshared, namely copies that it makes itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from gluonx.deferred.values.core import Handle, Packed

__all__ = ["Limits", "Trusted", "any_piece_held", "held_arguments", "is_alone", "measure"]

_count: Callable[[Any], int] = sys.getrefcount


class Limits(NamedTuple):
    """The largest reference counts that come from the engine alone when it asks; 0 if counts cannot be trusted."""

    argument: int = 0
    vector: int = 0
    piece: int = 0
    alone: int = 0


class Trusted:
    """Limits of this interpreter, as :func:`measure` found them when this module was imported."""

    limits: Limits = Limits()


def held_arguments(
    args: list[Any],
    leaves: list[Any],
    numbers: Sequence[int],
    at: Sequence[int] | Mapping[int, int],
    vectors: Sequence[int] = (),
) -> list[int]:
    """Return those arguments in `numbers` and `vectors` that somebody besides the engine holds.

    The engine's own references are the list of leaves (not for vectors), `args`, the name here, and the list of what
    was taken out of handles and vectors.

    Parameters
    ----------
    args : list of jax.Array
        A program's arguments.
    leaves : list
        The leaves of its graph.
    numbers : sequence of int
        The numbers of the arguments that are to be donated.
    at : sequence or mapping of int
        For each argument the number of its leaf. An argument that differs from its leaf was made for this call, from
        something that others may hold.
    vectors : sequence of int
        The numbers of the arguments to be donated that are vectors of small arrays.
    """
    count, limit = _count, Trusted.limits.argument
    found: list[int] = []
    for i in numbers:
        array = args[i]
        if count(array) > limit or array is not leaves[at[i]]:
            found.append(i)
    limit = Trusted.limits.vector
    for i in vectors:
        array = args[i]
        if count(array) > limit:
            found.append(i)
    return found


def any_piece_held(pieces: tuple[Any, ...]) -> bool:
    """Return whether somebody holds one of these pieces of a vector, besides its handle, the leaves and `pieces`."""
    return max(map(_count, pieces)) > Trusted.limits.piece


def is_alone(thing: object) -> bool:
    """Return whether nothing holds `thing` except one variable of the caller."""
    return _count(thing) <= Trusted.limits.alone


# -- measuring --------------------------------------------------------------------------------------------------------


def _ask_for_argument(holders: list[Any]) -> bool:
    leaves = [object()]
    before = list(leaves)
    args = list(leaves)
    _hold(before[0], holders)
    return bool(held_arguments(args, leaves, (0,), (0,)))


def _ask_for_vector(holders: list[Any]) -> bool:
    before = [object()]
    args = list(before)
    _hold(before[0], holders)
    return bool(held_arguments(args, [], (), (), (0,)))


def _ask_for_piece(holders: list[Any]) -> bool:
    handles = [Handle(), Handle()]
    for handle in handles:
        handle.value = Packed(None, 0)  # type: ignore[arg-type] - a vector plays no part
    leaves = [handle.value for handle in handles]
    pieces = itemgetter(0, 1)(leaves)
    _hold(handles[1].value, holders)
    return any_piece_held(pieces)


def _ask_for_one(holders: list[Any]) -> bool:
    thing = {0: object()}.pop(0)
    _hold(thing, holders)
    return not is_alone(thing)


def _hold(thing: object, holders: list[Any]) -> None:
    """Let each of `holders`, which are lists, handles or functions, hold `thing`."""
    for holder in holders:
        if isinstance(holder, list):
            holder.append(thing)
        elif isinstance(holder, Handle):
            holder.value = thing
        else:
            holder(thing)


def _variable() -> Callable[[Any], None]:
    """Return a function that puts an object into a local variable of a suspended generator."""

    def wait() -> Any:
        held = yield
        while True:
            yield held

    waiting = wait()
    next(waiting)
    return lambda thing: waiting.send(thing) and None


def _limit(ask: Callable[[list[Any]], bool], field: str) -> int:
    """Return the smallest limit with which `ask` finds no holder where there is none.

    0 if it then misses a real one.
    """
    for limit in range(1, 16):
        Trusted.limits = Trusted.limits._replace(**{field: limit})
        if not ask([]):
            return limit if ask([[]]) and ask([Handle()]) and ask([_variable()]) else 0
    return 0


def measure() -> Limits:
    """Measure the limits on this interpreter."""
    before = Trusted.limits
    try:
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            return Limits()
        asked = {
            "argument": _ask_for_argument,
            "vector": _ask_for_vector,
            "piece": _ask_for_piece,
            "alone": _ask_for_one,
        }
        return Limits(**{field: _limit(ask, field) for field, ask in asked.items()})
    finally:
        Trusted.limits = before


Trusted.limits = measure()
