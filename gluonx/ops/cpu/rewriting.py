"""Rewriting of traced programs before XLA compiles them for a CPU. The numbers stay the same, but for a sum's rounding.

*Chains are cut.* XLA computes an elementwise result of less than 16 KiB again in each loop that reads it, and what that
was computed from with it (:mod:`gluonx.ops.cpu.materialized`). The state of an unrolled recurrent net is a chain of
such values: that of step t is a product and a sum of that of step t - 1, and both the output and the next step read it.
So n steps are n * n / 2 operations: an LSTM of 40 units and 64 steps took 48 s to compile, and 20 ms to run, in plain
JAX as well; with its chain cut each 32 operations it takes 4.4 s and 3.2 ms (jax 0.10, two cores, in one run).

*Slices are taken first.* XLA compiles equal loops once, but a loop that contains the slicing of its own operand is
equal to no other: with the weights of six equal encoder layers in one vector, 367 loops were compiled in 8 s, but 67 in
2 s with each weight alone. So if many slices are taken of one array (of packed weights, of the numbers of a program, or
step by step of a sequence), each is taken by a separate loop, in a function that XLA is told not to inline.

*Equal draws are made at once.* Each mask that is drawn compiles for 0.1 s, and a net that is unrolled draws hundreds of
one shape. Their keys are known at the start, so one loop draws all.

*Images are computed as they lie.* Convolutions and normalizations leave their channels last, and a transposition
follows that puts them first (:mod:`gluonx.ops.cpu.channels_last`). Elementwise operations, reductions, joins, splits,
cuts and paddings of such images are done before the transposition, which is moved behind them, where it meets that of
the next convolution: a U-Net, which joins images, takes 0.96 of the time for a step, MobileNetV2 (16x3x64x64), whose
activation XLA stores with the channels first otherwise, 0.67 to 0.83 together with its convolutions.

All other equations stay as they were traced, and so do the functions that several calls share. What a `jax.checkpoint`
computes counts as the caller's, unless it is to be kept apart from what it repeats (``prevent_cse``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from gluonx.ops.cpu.materialized import is_recomputed, materialized
from gluonx.ops.cpu.natively import closed_over_nothing
from gluonx.ops.cpu.threefry import LARGE

if TYPE_CHECKING:
    import numpy

    ClosedJaxpr = Any  # JAX 0.12 has the class, but does not export it to type checkers

__all__ = ["rewritten"]

# Shown by `benchmarks.early`.
_LONGEST = 32  # operations that XLA may compute again in each loop of a CPU that reads their result
_TOGETHER = 24  # draws of one shape that are made at once
_PARTS = 16  # parts of one array that are taken by loops of their own
_LONG = 600  # operations of the shortest program where that is done
_BEFORE_KEY = 16  # the most operations between a program's inputs and the key of a draw

# Operations that XLA repeats in each loop that reads them, and those that it fuses only into a single reader.
_CHEAP = frozenset([
    "abs", "add", "add_any", "and", "bitcast_convert_type", "broadcast_in_dim", "ceil", "clamp",
    "concatenate", "convert_element_type", "copy", "dynamic_slice", "eq", "floor", "gather", "ge", "gt",
    "integer_pow", "iota", "is_finite", "le", "lt", "max", "min", "mul", "ne", "neg", "not", "or", "pad",
    "reduce_precision", "reshape", "rev", "round", "select_n", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "sign", "slice", "split", "square", "squeeze", "stop_gradient", "sub", "transpose",
    "xor",
])  # fmt: skip
_DEAR = frozenset([
    "acos", "asin", "atan", "atan2", "cbrt", "cos", "cosh", "digamma", "div", "erf", "erf_inv", "erfc", "exp",
    "exp2", "expm1", "lgamma", "log", "log1p", "log2", "logistic", "pow", "reduce_max", "reduce_min", "reduce_prod",
    "reduce_sum", "rem", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh",
])  # fmt: skip
_REDUCTIONS = frozenset(["reduce_max", "reduce_min", "reduce_prod", "reduce_sum"])
_ELEMENTWISE = (_CHEAP | _DEAR) - _REDUCTIONS - frozenset([
    "bitcast_convert_type", "broadcast_in_dim", "concatenate", "dynamic_slice", "gather", "iota", "pad", "reshape",
    "rev", "slice", "split", "squeeze", "transpose",
])  # fmt: skip
_ALONG = {"concatenate": "dimension", "split": "axis"}  # by operation: the parameter that names its axis
_BY_AXIS = {  # the parameters that have a number for each axis
    "dynamic_slice": ("slice_sizes",), "dynamic_update_slice": (), "pad": ("padding_config",),
    "slice": ("start_indices", "limit_indices", "strides"),
}  # fmt: skip
_ARRAYS = {"dynamic_slice": 1, "dynamic_update_slice": 2}  # operands that are arrays; the others are an index each axis
_OF_AXES = {**dict.fromkeys(_REDUCTIONS, "axes"), "rev": "dimensions"}  # the parameter that lists axes
_MOVABLE = _ELEMENTWISE | _ALONG.keys() | _BY_AXIS.keys() | {"rev"}
_CHANNELS_FIRST = (0, 3, 1, 2)  # the transposition of images that have them last
_CHANNELS_LAST = (0, 2, 3, 1)  # and its inverse
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}
_CALLS |= {"remat2": "jaxpr", "checkpoint": "jaxpr"}  # jax.checkpoint, by the version of JAX
_NOTHING: frozenset[int] = frozenset()


def rewritten(closed: ClosedJaxpr) -> Callable[..., list[Any]] | None:
    """Return a function that computes what a jaxpr does and that XLA compiles sooner for a CPU; None if there is none.

    Parameters
    ----------
    closed : jax.extend.core.ClosedJaxpr
        The program to be compiled, gradients included.

    Examples
    --------
    >>> def states(x, steps):
    ...     outs = []
    ...     for _ in range(steps):
    ...         x = x * 0.5 + 1
    ...         outs.append(x @ x)
    ...     return outs
    >>> x = jnp.ones((2, 2))
    >>> rewritten(jax.make_jaxpr(lambda x: states(x, 3))(x)) is None
    True
    >>> len(rewritten(jax.make_jaxpr(lambda x: states(x, 40))(x))(x))
    40
    """
    program = _Program(closed)
    draws = list(program.equal_draws())
    program.cut_chains()
    program.separate_parts()
    program.move_transpositions()
    return program.rebuilt(draws) if draws or program.cuts or program.apart or program.moved else None


class _Operation:
    """One equation at one call: ``ins`` and ``outs`` are the numbers of its values, None for a literal.

    ``body`` holds the operations of a function that it calls; `within` of each of them refers back to this one.
    """

    __slots__ = ("body", "eqn", "ins", "is_open", "outs", "within")

    def __init__(self, eqn: Any, ins: list[int | None], within: _Operation | None) -> None:
        self.eqn, self.ins, self.within = eqn, ins, within
        self.outs: list[int] = []
        self.body: list[_Operation] | None = None
        self.is_open = False  # whether its body is computed operation by operation


class _Moved(NamedTuple):
    """The values that an operation reads and makes where it is done before a transposition, by their numbers."""

    transposed: frozenset[int]  # smaller images, or repeated ones, that have their channels first and are transposed
    made: list[int]  # results with their channels last; none of a reduction, which leaves nothing to transpose


class _Program:
    """A jaxpr with its called functions expanded, and the planned changes."""

    def __init__(self, closed: ClosedJaxpr) -> None:
        self.avals: list[Any] = []  # of values, by their numbers
        self.known: dict[int, Any] = {}  # values of constants
        self.maker: dict[int, _Operation] = {}  # by value
        self.cuts: set[int] = set()  # values at which chains are cut
        self.apart: set[_Operation] = set()  # operations that run in a separate function
        self.moved: dict[_Operation, _Moved] = {}  # operations that are done before a transposition
        self.before: dict[_Operation, list[_Operation]] = {}  # by draw: the operations that compute its key, in order
        self.jaxpr = closed.jaxpr
        self.given = [self._new(v.aval) for v in closed.jaxpr.invars]
        self.body, self.results = self._laid_open(closed.jaxpr, closed.consts, self.given, None)

    def _new(self, aval: Any) -> int:
        self.avals.append(aval)
        return len(self.avals) - 1

    def _constant(self, aval: Any, value: Any) -> int:
        number = self._new(aval)
        self.known[number] = value
        return number

    def _laid_open(
        self, jaxpr: Any, consts: Sequence[Any], given: Sequence[int | None], within: _Operation | None
    ) -> tuple[list[_Operation], list[int]]:
        """Return the operations of a jaxpr on these values, and the values that it returns."""
        numbers: dict[Any, int | None] = dict(zip(jaxpr.invars, given, strict=True))
        for v, value in zip(jaxpr.constvars, consts, strict=True):
            numbers[v] = self._constant(v.aval, value)
        body: list[_Operation] = []
        for eqn in jaxpr.eqns:
            op = _Operation(eqn, [None if _is_literal(v) else numbers[v] for v in eqn.invars], within)
            called = _called(eqn)
            if called is None:
                op.outs = [self._new(v.aval) for v in eqn.outvars]
                self.maker.update(dict.fromkeys(op.outs, op))
            else:
                ins = [
                    self._constant(v.aval, v.val) if n is None else n for v, n in zip(eqn.invars, op.ins, strict=True)
                ]
                op.body, op.outs = self._laid_open(*called, ins, op)
            numbers.update(zip(eqn.outvars, op.outs, strict=True))
            body.append(op)
        found = [self._constant(v.aval, v.val) if _is_literal(v) else numbers[v] for v in jaxpr.outvars]
        return body, [n for n in found if n is not None]

    def _open(self, op: _Operation | None) -> None:
        while op is not None and not op.is_open:
            op.is_open = True
            op = op.within

    def equal_draws(self) -> Iterator[list[_Operation]]:
        """Yield groups of draws of one shape whose keys do not depend on what the program computes."""
        alike: dict[Any, list[_Operation]] = {}
        for op in _leaves(self.body):
            if op.eqn.primitive.name == "random_bits" and op.ins[0] is not None:
                (key,), shape = op.eqn.invars, op.eqn.params["shape"]
                before = self._key_of(op)
                # Only with this generator do many keys at once draw the same numbers as each alone.
                like_alone = "fry" in str(key.aval.dtype) and not key.aval.shape and 0 < math.prod(shape) < LARGE
                if like_alone and before is not None:
                    self.before[op] = before
                    alike.setdefault((key.aval.dtype, shape, op.eqn.params["bit_width"]), []).append(op)
        for (_, shape, _), draws in alike.items():
            each = max(_TOGETHER, LARGE // math.prod(shape))
            for start in range(0, len(draws), each):
                group = draws[start : start + each]
                if len(group) >= _TOGETHER:
                    for op in group:
                        for needed in (op, *self.before[op]):
                            self._open(needed.within)
                    yield group

    def _key_of(self, draw: _Operation) -> list[_Operation] | None:
        """Return the operations that compute a draw's key, in order; None if there are too many."""
        found: dict[int, _Operation] = {}
        waiting = [draw]
        while waiting:
            for n in waiting.pop().ins:
                op = None if n is None else self.maker.get(n)
                if op is not None and id(op) not in found:
                    found[id(op)] = op
                    waiting.append(op)
                    if len(found) > _BEFORE_KEY or op.eqn.primitive.name == "random_bits":
                        return None
        return sorted(found.values(), key=lambda op: op.outs[0])

    def cut_chains(self) -> None:
        """Find the values that end too long a chain and that several operations read."""
        reads: dict[int | None, int] = {}
        for op in _leaves(self.body):
            for n in op.ins:
                reads[n] = reads.get(n, 0) + 1
        for n in self.results:
            reads[n] = reads.get(n, 0) + 1
        again: dict[int | None, frozenset[int]] = {}  # by value: the operations that are repeated with it
        for number, op in enumerate(_leaves(self.body)):
            name, chain = op.eqn.primitive.name, _NOTHING
            if name in _CHEAP or (name in _DEAR and reads.get(op.outs[0], 0) <= 1):
                chain = _NOTHING.union({number}, *[again.get(n, _NOTHING) for n in op.ins])
            for n in op.outs:
                again[n] = chain
                if chain and reads.get(n, 0) > 1 and jnp.issubdtype(self.avals[n].dtype, jnp.floating):
                    if not is_recomputed(self.avals[n]):
                        again[n] = _NOTHING
                    elif len(chain) > _LONGEST:
                        again[n] = _NOTHING
                        self.cuts.add(n)
                        self._open(op.within)

    def separate_parts(self) -> None:
        """Find the arrays of which many slices are taken, if the program is long."""
        parts: dict[int | None, list[_Operation]] = {}
        leaves = list(_leaves(self.body))
        for op in leaves if len(leaves) >= _LONG else ():
            if op.eqn.primitive.name in ("slice", "split", "unstack"):
                parts.setdefault(op.ins[0], []).append(op)
        for number, taken in parts.items():
            if number is not None and sum([len(op.outs) for op in taken]) >= _PARTS:
                self.apart.update(taken)
                for op in taken:
                    self._open(op.within)

    def move_transpositions(self) -> None:
        """Find what reads images that were transposed to have their channels first, and let it read the others."""
        before: dict[int, int] = {}  # by image that was transposed: what it was made of
        for op in _leaves(self.body):
            name, ins = op.eqn.primitive.name, [n for n in op.ins if n is not None]
            if name == "transpose" and op.eqn.params["permutation"] == _CHANNELS_FIRST:
                before.update(zip(op.outs, ins, strict=False))
            elif (transposed := self._transposed_for(op, ins, before)) is not None:
                for opened in (op, *[self.maker[n] for n in ins if n in before]):
                    self._open(opened.within)
                made = [] if name in _REDUCTIONS else [self._new(self.avals[n]) for n in op.outs]
                self.moved[op] = _Moved(transposed, made)
                op.ins[:] = [n if n is None else before.get(n, n) for n in op.ins]
                before.update(zip(op.outs, made, strict=False))

    def _transposed_for(self, op: _Operation, ins: Sequence[int], before: Mapping[int, int]) -> frozenset[int] | None:
        """Return what is to be transposed for an operation that is done before a transposition; None if it is not."""
        if not any(n in before for n in ins) or not self.cuts.isdisjoint(op.outs):
            return None
        name, shape = op.eqn.primitive.name, self.avals[op.outs[0]].shape
        others = frozenset(n for n in ins if n not in before and len(self.avals[n].shape) == len(_CHANNELS_FIRST))
        if name in _REDUCTIONS:
            kept = [axis for axis in _CHANNELS_LAST if axis not in op.eqn.params["axes"]]
            can_precede = kept == sorted(kept)
        else:
            # What is smaller than the result of an elementwise operation is repeated there.
            large = [n for n in others if name not in _ELEMENTWISE or self.avals[n].shape == shape]
            can_precede = name in _MOVABLE and all(self._is_repeated(n) for n in large)
        return others if can_precede else None

    def _is_repeated(self, n: int) -> bool:
        """Return whether a value is a smaller one that is repeated, so that transposing it costs nothing."""
        maker = self.maker.get(n)
        return maker is not None and maker.eqn.primitive.name == "broadcast_in_dim"

    def rebuilt(self, draws: list[list[_Operation]]) -> Callable[..., list[Any]]:
        """Return the program as a function of its arguments, in which each group of `draws` is drawn at once."""
        left: dict[int | None, int] = {}  # by value: how many single operations read it
        for op in _steps(self.body):
            for n in op.ins:
                left[n] = left.get(n, 0) + 1
        for n in self.results:
            left[n] = left.get(n, 0) + 1

        def run(*args: jax.Array | numpy.ndarray) -> list[Any]:
            values = dict(zip(self.given, args, strict=True)) | self.known
            for group in draws:
                for op in [op for draw in group for op in self.before[draw]]:
                    if op.outs[0] not in values:
                        self._compute([op], values, None)
                drawn = self._drawn(group, values)
                values.update({op.outs[0]: lax.index_in_dim(drawn, i, 0, False) for i, op in enumerate(group)})
            self._run(self.body, values, dict(left))
            return [values[n] for n in self.results]

        return run

    def _drawn(self, group: list[_Operation], values: dict[int, Any]) -> jax.Array:
        """Return the bits of a group of draws, one after the other."""
        from jax.extend.core import jaxpr_as_fun

        eqn = group[0].eqn
        one = self.jaxpr.replace(eqns=[eqn], constvars=[], invars=eqn.invars, outvars=eqn.outvars)
        draw = jaxpr_as_fun(closed_over_nothing(one))
        return jax.vmap(lambda key: draw(key)[0])(
            jnp.stack([values[n] for op in group for n in op.ins if n is not None])
        )

    def _run(self, body: list[_Operation], values: dict[int, Any], left: dict[int | None, int]) -> None:
        waiting: list[_Operation] = []
        for op in body:
            if op.body is not None and op.is_open:
                self._compute(waiting, values, left)
                waiting = []
                with jax.named_scope(str(op.eqn.source_info.name_stack)):
                    self._run(op.body, values, left)
                continue
            if op.outs and all(n in values for n in op.outs):  # computed in advance
                continue
            if op in self.moved:
                self._compute(waiting, values, left)
                waiting = []
                self._compute_moved(op, values, left)
                continue
            if op in self.apart:
                self._compute(waiting, values, left)
                waiting = []
                self._compute([op], values, left, _not_inlined)
                continue
            waiting.append(op)
            if not self.cuts.isdisjoint(op.outs):
                self._compute(waiting, values, left)
                waiting = []
                for n in self.cuts.intersection(op.outs):
                    values[n] = materialized(values[n])
        self._compute(waiting, values, left)

    def _compute_moved(self, op: _Operation, values: dict[int, Any], left: dict[int | None, int]) -> None:
        """Compute an operation on images with their channels last, and transpose the results."""
        name, params, moved = op.eqn.primitive.name, dict(op.eqn.params), self.moved[op]
        given = []
        for v, n in zip(op.eqn.invars, op.ins, strict=True):
            left[n] -= 1
            value = v.val if n is None else values[n]
            given.append(lax.transpose(value, _CHANNELS_LAST) if n in moved.transposed else value)
        if name in _ALONG:
            params[_ALONG[name]] = _CHANNELS_FIRST[params[_ALONG[name]]]
        elif name in _OF_AXES:
            params[_OF_AXES[name]] = tuple(sorted(_CHANNELS_FIRST[axis] for axis in params[_OF_AXES[name]]))
        for key in _BY_AXIS.get(name, ()):
            params[key] = params[key] and tuple(params[key][axis] for axis in _CHANNELS_LAST)
        if name in _ARRAYS:
            arrays, numbers = given[: _ARRAYS[name]], given[_ARRAYS[name] :]
            given = [*arrays, *[numbers[axis] for axis in _CHANNELS_LAST]]
        with jax.named_scope(str(op.eqn.source_info.name_stack)):
            results = op.eqn.primitive.bind(*given, **params)
        found = results if op.eqn.primitive.multiple_results else [results]
        if not moved.made:
            values.update(zip(op.outs, found, strict=True))
            return
        values.update(zip(moved.made, found, strict=True))
        values.update({n: lax.transpose(y, _CHANNELS_FIRST) for n, y in zip(op.outs, found, strict=True)})

    def _compute(
        self,
        ops: list[_Operation],
        values: dict[int, Any],
        left: dict[int | None, int] | None,
        through: Callable[..., Any] = lambda fn: fn,
    ) -> None:
        """Compute the operations of one body, and store those results that others read; all of them without `left`."""
        if not ops:
            return
        from jax.extend.core import jaxpr_as_fun

        made: dict[Any, int] = {}
        taken: dict[Any, int] = {}
        for op in ops:
            for v, n in zip(op.eqn.invars, op.ins, strict=True):
                if left is not None:
                    left[n] -= 1
                if n is not None and v not in made:
                    taken[v] = n
            made.update(zip(op.eqn.outvars, op.outs, strict=True))
        outs = [v for v, n in made.items() if left is None or left.get(n, 0) > 0]
        part = self.jaxpr.replace(eqns=[op.eqn for op in ops], constvars=[], invars=list(taken), outvars=outs)
        found = through(jaxpr_as_fun(closed_over_nothing(part)))(*[values[n] for n in taken.values()])
        values.update(zip([made[v] for v in outs], found, strict=True))


def _not_inlined(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fn` as a function that XLA does not fuse with other loops."""
    from jax.experimental.xla_metadata import set_xla_metadata

    def run(*args: Any) -> Any:
        with set_xla_metadata(inlineable="false"):
            return jax.jit(fn)(*args)

    return run


def _called(eqn: Any) -> tuple[Any, Sequence[Any]] | None:
    """Return the jaxpr of a function that an equation calls and XLA sees as part of the caller, and its constants."""
    called = eqn.params.get(_CALLS.get(eqn.primitive.name))
    if called is None or any(jax.tree.leaves(eqn.params.get("prevent_cse", False))):
        return None
    return getattr(called, "jaxpr", called), getattr(called, "consts", ())


def _is_literal(atom: Any) -> bool:
    return hasattr(atom, "val")


def _leaves(body: Iterable[_Operation]) -> Iterator[_Operation]:
    """Yield the operations that call no function, in order."""
    for op in body:
        if op.body is None:
            yield op
        else:
            yield from _leaves(op.body)


def _steps(body: Iterable[_Operation]) -> Iterator[_Operation]:
    """Yield what is computed one by one: operations, and calls that are not expanded."""
    for op in body:
        if op.body is not None and op.is_open:
            yield from _steps(op.body)
        else:
            yield op
