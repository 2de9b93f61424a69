"""Gradients by rows: a large table's gradient is kept as the rows that were looked up.

The gradient of ``table[index]`` is zero in all rows except those of `index`. XLA has no type for such an array, so the
tape carries another one. A look-up adds a *tap* to the rows that it returns: an array of zeros with their shape. The
gradient of the tap is the gradient of the rows, which is all there is to know about the table's gradient. So the table
itself is a constant of the look-up (:class:`Bare`: the same array, cut off from the tape), no array of the table's size
is ever made, and the engine's usual handling of leaves does the rest: segments, naive mode, hybridized blocks.

When ``backward`` ends in taps, :func:`deliver` records one more operator, which sums the gradients of all taps by row.
It returns the unique row numbers in ascending order. Their array has as many elements as there were numbers (or as the
table has rows, if that is less); unused elements hold the number of rows, which is no row. The size depends on shapes
alone, so a steady loop compiles nothing.

A table may be used in other ways too, such as a tied output layer. Then a gradient of the table's shape arrives as for
any leaf. The rows are added to it, the result has all rows, and a warning says so. No gradient is lost.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import ref

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.common import policy
from gluonx.common.recent import recall
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.record import engine
from gluonx.deferred.record.engine import invoke
from gluonx.deferred.record.graph import settle
from gluonx.deferred.values import index_checks, program_cache, source_location
from gluonx.deferred.values.contracts import Args, Operand
from gluonx.deferred.values.core import Aval, Handle, Tracer, Variable, aval_of, current_state, new_handle
from gluonx.dtype import keeping_64_bits

__all__ = [
    "Bare",
    "RowVariable",
    "Tap",
    "deliver",
    "even",
    "gathers",
    "look_up",
    "shared_zeros",
    "spread",
    "sum_over_devices",
    "sum_rows",
]


class Bare(Handle):
    """The array of another handle as a constant: writes to that handle are visible here, gradients do not pass."""

    __slots__ = ("_of",)

    def __init__(self, of: Handle) -> None:
        self._of = ref(of)  # a weak reference: the other handle's variable holds this object

    @property
    def of(self) -> Any:
        """The other handle."""
        return self._of()

    @property
    def shape(self) -> tuple[int, ...]:
        """The other handle's shape."""
        return self.of.shape

    @property
    def dtype(self) -> np.dtype:
        """The other handle's dtype."""
        return self.of.dtype


def _forwarded(name: str) -> Any:
    return property(lambda self: getattr(self.of, name), lambda self, value: setattr(self.of, name, value))


def _absent(name: str) -> Any:
    return property(lambda self: None, lambda self, value: setattr(self.of, name, value))


for _name in ("value", "aval"):
    setattr(Bare, _name, _forwarded(_name))
for _name in ("tape", "variable"):
    setattr(Bare, _name, _absent(_name))


class RowVariable(Variable):
    """The end point of a gradient that is kept by rows.

    ``grad`` is what users read. It shows ``rows`` (row numbers, ascending; an unused element holds the table's number
    of rows) and ``values`` (a row for each). ``bare`` is the table as a constant.
    """

    __slots__ = ("bare", "rows", "values")

    def __init__(self, req: str, of: Handle, owner: str = "") -> None:
        self.rows, self.values = new_handle(None), new_handle(None)
        self.bare = Bare(of)
        super().__init__(req, self.values, owner)
        self.clear()

    def clear(self) -> None:
        """Set the gradient to zeros, that is, to no rows."""
        table = self.bare
        with keeping_64_bits(np.dtype(table.dtype).itemsize == 8), jax.ensure_compile_time_eval():
            sharding = aval.sharding if (aval := table.aval) is not None and not aval.spread else None
            _put(self.rows, np.zeros((0,), np.int32), sharding)
            _put(self.values, np.zeros((0, *table.shape[1:]), table.dtype), sharding)

    def put(self, rows: Handle, values: Handle) -> None:
        """Make the values of two handles the gradient."""
        for handle, new in ((self.rows, rows), (self.values, values)):
            handle.value, handle.aval, handle.tape = new.value, new.aval, None


def _put(handle: Handle, value: np.ndarray, sharding: Any) -> None:
    handle.value, handle.aval, handle.tape = jnp.asarray(value, device=sharding), None, None


class Tap(Variable):
    """The end point of the gradient of looked-up rows: those numbered `index` in the table of `home`."""

    __slots__ = ("home", "index")

    def __init__(self, home: RowVariable, index: Operand = None) -> None:
        super().__init__("write", home.values, home.owner)
        self.home, self.index = home, index


def _numbers(index: jax.Array, count: int) -> Any:
    """Return row numbers as the look-up takes them: integers, with the nearest row for one out of range."""
    whole = index if jnp.issubdtype(index.dtype, jnp.integer) else index.astype(jnp.int32)
    return jnp.clip(whole, 0, count - 1).astype(jnp.int32)


def _gathered(index: jax.Array, table: jax.Array) -> Any:
    return jnp.take(table, _numbers(index, table.shape[0]), axis=0, mode="clip")


def _tapped(index: jax.Array, table: jax.Array, tap: jax.Array) -> Any:
    return _gathered(index, jax.lax.stop_gradient(table)) + tap


_GATHER, _TAPPED = DerivedOp("look_up", _gathered), DerivedOp("look_up_rows", _tapped)
_GATHER.steady = _TAPPED.steady = True


def gathers(table: Any) -> bool:
    """Return whether the gradient of a look-up in `table` would be kept by rows, here and now."""
    if type(getattr(table, "variable", None)) is not RowVariable or table.tape is not None or index_checks.Switch.on:
        return False
    state = current_state()
    if not state.recording:
        return False
    if state.trace is not None:
        return state.trace.taps is not None and not isinstance(table.value, Tracer)
    sharding = table.aval.sharding if table.aval is not None else None
    return sharding is None or len(sharding.device_set) == 1


def look_up(table: Handle, index: Handle | np.ndarray) -> Any:
    """Return the rows of `table` numbered `index`, whose gradient is kept by rows if `table` asks for it.

    Parameters
    ----------
    table : Handle
        Shape (n, ...).
    index : Handle or numpy.ndarray
        Of any shape; a number out of range selects the nearest row.

    Returns
    -------
    Handle
        Shape ``index.shape + table.shape[1:]``.
    """
    if not gathers(table):
        return invoke(_GATHER, (index, table))
    home, state = table.variable, current_state()
    assert isinstance(home, RowVariable), "it gathers"
    if state.trace is not None:
        tap = state.trace.tap(home, index, (*index.shape, *table.shape[1:]))
    else:
        tap = tap_of(home, (*index.shape, *table.shape[1:]), index)
    return invoke(_TAPPED, (index, home.bare, tap))


def _embedding(args: Args) -> Any:
    """Return the rows of ``embedding(index, table)``; None if its gradient has the table's shape."""
    index, table = args[0], args[1]
    return look_up(table, index) if isinstance(index, Handle) and isinstance(table, Handle) and gathers(table) else None


engine.instead["embedding"] = _embedding
_zeros: dict[Any, jax.Array] = program_cache.memo()


def tap_of(home: RowVariable, shape: tuple[int, ...], index: Handle | np.ndarray | None = None) -> Handle:
    """Return a new tap: zeros of `shape`, whose array all taps of that shape share."""
    table = home.bare
    aval = table.aval or aval_of(settle(table))
    tap = new_handle(shared_zeros(shape, aval))
    tap.variable = Tap(home, index)
    return tap


def shared_zeros(shape: tuple[int, ...], like: Aval) -> jax.Array:
    """Return zeros of `shape` with the dtype and device of `like`; each call returns the same array."""
    key = shape, like.dtype, like.sharding

    def make() -> jax.Array:
        with keeping_64_bits(like.wide), jax.ensure_compile_time_eval():
            return jnp.zeros(shape, like.dtype, device=like.sharding)

    return recall(_zeros, key, policy.ZEROS, make)


# -- where gradients end -----------------------------------------------------------------------------------------------


def _summed(count: int, known: bool, *arrays: jax.Array) -> tuple[Any, Any]:
    """Return a function that sums by row: (row numbers..., values...) in two halves.

    If `known`, the first pair is a sum.
    """
    half = len(arrays) // 2
    numbers = [
        (index if known and k == 0 else _numbers(index, count)).astype(jnp.int32).reshape(-1)
        for k, index in enumerate(arrays[:half])
    ]
    values = [v.reshape(i.size, *v.shape[i.ndim :]) for i, v in zip(arrays[:half], arrays[half:], strict=True)]
    index, value = jnp.concatenate(numbers), jnp.concatenate(values)
    size = min(index.shape[0], count)
    rows, inverse = jnp.unique(index, return_inverse=True, size=size, fill_value=count)
    return rows, jax.ops.segment_sum(value, inverse.reshape(-1), num_segments=size)


_sums: dict[tuple[int, bool], DerivedOp] = program_cache.memo()


def sum_rows(count: int, pairs: list[tuple[Any, Any]], known: bool = False) -> tuple[Any, Any]:
    """Return the unique row numbers of a table of `count` rows, and the sum of the values of each.

    Parameters
    ----------
    count : int
    pairs : list of (Handle, Handle)
        Row numbers of any shape, and a row of values for each.
    known : bool
        Whether the first pair is such a sum already, in which the number `count` means no row.
    """
    op = _sums.get((count, known))
    if op is None:
        op = _sums[count, known] = DerivedOp("sum_rows", lambda *arrays: _summed(count, known, *arrays), n_live=2)
        op.steady = True
    return invoke(op, [*[index for index, _ in pairs], *[value for _, value in pairs]])


def sum_over_devices(
    counts: tuple[int | None, ...], replicas: int, axis: str | None, *arrays: jax.Array
) -> tuple[Any, ...]:
    """Return sums of gradients over devices (see `Joint`): by row for tables of `counts` rows, else as arrays.

    A gradient by rows is two arrays, row numbers and values. A device without some row gets elements that mean no row.
    """
    each = len(arrays) // replicas
    found: list[Any] = []
    whole: list[int] = []
    for count in counts:
        first = len(found)
        replica = [arrays[k * each + first] for k in range(replicas)]
        if count is None:
            whole.append(first)
            found.append(functools.reduce(operator.add, replica))
            continue
        numbers, values = (
            jnp.concatenate(replica),
            jnp.concatenate([arrays[k * each + first + 1] for k in range(replicas)]),
        )
        if axis is not None:
            numbers, values = (jax.lax.all_gather(x, axis, tiled=True) for x in (numbers, values))
        found += _summed(count, True, numbers, values)
    if axis is not None and whole:
        for first, sum_of_all in zip(whole, jax.lax.psum([found[k] for k in whole], axis), strict=True):
            found[first] = sum_of_all
    return (*found,) * replicas


def even(replicas: list[list[Handle]], counts: Sequence[int | None]) -> None:
    """Pad the gradients by rows of all devices to the same number of rows, in place, since one operator takes them all.

    Parameters
    ----------
    replicas : list of list of Handle
        The gradients of each device, of which those by rows are two arrays.
    counts : sequence of (int or None)
        How many rows the table of each gradient has; None for a gradient of its weight's shape.
    """
    first = 0
    for count in counts:
        if count is not None:
            size = max(replica[first].shape[0] for replica in replicas)
            for replica in replicas:
                if (missing := size - replica[first].shape[0]) > 0:
                    replica[first : first + 2] = invoke(_padded(missing, count), replica[first : first + 2])
        first += 1 if count is None else 2


_pads: dict[tuple[int, int], DerivedOp] = program_cache.memo()


def _padded(missing: int, count: int) -> DerivedOp:
    """Return the operator that adds so many numbers of no row, and zeros, to a gradient by rows."""
    found = _pads.get((missing, count))
    if found is None:

        def run(rows: jax.Array, values: jax.Array) -> tuple[Any, Any]:
            widths = [(0, missing)] + [(0, 0)] * (values.ndim - 1)
            return jnp.pad(rows, (0, missing), constant_values=count), jnp.pad(values, widths)

        found = _pads[missing, count] = DerivedOp("pad_rows", run)
        found.steady = True
    return found


def _spread(rows: jax.Array, values: jax.Array, like: jax.Array) -> Any:
    return like.at[rows].add(values.astype(like.dtype), mode="drop")


_SPREAD = DerivedOp("spread_rows", _spread)
_SPREAD.steady = True


def spread(rows: Handle, values: Handle, onto: Handle) -> Any:
    """Return the array `onto` with `values` added to its rows; a number beyond them is no row."""
    return invoke(_SPREAD, (rows, values, onto))


def fold(ends: Iterable[tuple[Any, Any]]) -> tuple[list[tuple[Any, Any]], list[tuple[RowVariable, list[Any], Any]]]:
    """Part the ends of a backward: those of plain variables, and for each table its taps and its dense gradient."""
    plain: list[tuple[Any, Any]] = []
    tables: dict[int, list[Any]] = {}
    for source, value in ends:
        home = source.home if type(source) is Tap else source
        if type(home) is not RowVariable:
            plain.append((source, value))
            continue
        table = tables.setdefault(id(home), [home, [], None])
        if type(source) is Tap:
            table[1].append((source.index, value))
        else:
            table[2] = value  # a source comes once
    return plain, [(home, taps, whole) for home, taps, whole in tables.values()]


def deliver(home: RowVariable, taps: list[Any], whole: Handle | None) -> None:
    """Write, or add, the gradient of a table: what came through its `taps`, and an array `whole` from other uses."""
    count = home.bare.shape[0]
    adds = home.req == "add" and home.rows.shape[0] > 0
    if whole is None:
        pairs = [(home.rows, home.values), *taps] if adds else taps
        home.put(*sum_rows(count, pairs, adds))
    else:
        name = home.owner or f"of shape {tuple(home.bare.shape)}"
        source_location.warn_once(
            ("whole", name),
            f"The gradient of '{name}' is to be kept by rows (grad_stype='row_sparse'), but the array is used in "
            "another way than by look-ups too, which needs a gradient of its whole shape: all rows are there.",
        )
        total = whole
        for index, value in [*([(home.rows, home.values)] if adds else []), *(sum_rows(count, [t]) for t in taps)]:
            total = spread(index, value, total)
        home.put(new_handle(jnp.arange(count, dtype=jnp.int32)), total)
    home.fresh = True


def dense_of(home: RowVariable, taps: list[Any], whole: Handle | None) -> Any:
    """Return the gradient of a table in the table's shape, for `autograd.grad`."""
    total: Handle = new_handle(jnp.zeros(home.bare.shape, home.bare.dtype)) if whole is None else whole
    for tap in taps:
        total = spread(*sum_rows(home.bare.shape[0], [tap]), total)
    return total
