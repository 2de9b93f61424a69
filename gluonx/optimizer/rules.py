"""Update rules: pure functions that turn gradients into changes of weights.

A rule is what optax calls a ``GradientTransformationExtraArgs``: two functions, ``init(params) -> state`` and
``update(grads, state, params, *, lr, wd, t, rescale) -> (updates, state)``, where ``updates`` are *added* to the
parameters. So a rule of gluonx goes wherever one of optax goes (``optax.chain``, ``optax.masked``), and the reverse.
In rules of gluonx everything that changes from step to step is an argument and not a constant:

``lr``, ``wd``
    Learning rate and weight decay, each one number for all parameters or one per parameter.
``t``
    The update count that bias corrections use; one number or one per parameter.
``rescale``
    The factor that gradients are multiplied with first: ``scale / batch_size``.

Three things lie between a program and a formula, and all of them are here. `per_parameter` lifts a formula for one
weight to a rule for many. `FlatRule` fixes a rule to a list of weights and speaks only flat tuples of arrays. `Update`
stands at the border of the one program of a step, and gives the rule the units that it works on
(`gluonx.optimizer.units`) and the numbers of the step, which travel as one vector (`gluonx.optimizer.numbers`).

The invariant: a formula computes in float32 or wider whatever the weights are stored in, and stores each state in the
type in which it began.

optax is imported when a program uses one of its rules, or asks for a rule as an object of optax; training does not need
it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gluonx.common.packing import Groups
from gluonx.deferred import DerivedOp
from gluonx.deferred.values import interrupts
from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.ops import prng
from gluonx.ops.cpu.convolution import on_gpu
from gluonx.optimizer.lazily import RowGradient, gathered, paired, put_back, widened
from gluonx.optimizer.numbers import Hyper, advanced, unpack
from gluonx.optimizer.units import Units

if TYPE_CHECKING:
    import optax

    from gluonx.common.packing import Layout
    from gluonx.deferred.values.contracts import HasDType, Shaped
    from gluonx.dtype import DTypeLike


Leaves = tuple[Any, ...]


class At(NamedTuple):
    """One parameter's part of a step: its learning rate, weight decay, update count and (static) own index.

    For a fused array the numbers are arrays that broadcast against it, ``index`` holds one index for each piece, and
    ``layout`` has the positions of the pieces. ``key`` is a random key of the parameter and step, for formulas that
    draw.
    """

    lr: Any
    wd: Any
    t: Any
    index: Any
    layout: Any = None
    key: Any = None

    def norm(self, array: jax.Array) -> jax.Array:
        """Return the Euclidean norm; for a fused array that of each piece, broadcasting against it."""
        return jnp.sqrt(jnp.sum(jnp.square(array))) if self.layout is None else self.layout.norm(array)


Step = Callable[[Any, Any, Leaves, At], tuple[Any, Leaves]]


# ----------------------------------------------------------------- pieces that formulas share


def preprocess(weight: jax.Array, grad: jax.Array, wd: jax.Array | float, clip: float | None) -> jax.Array:
    """Clip the rescaled gradient to ``[-clip, clip]``, then add the weight decay, the usual order in MXNet."""
    return decayed(clipped(grad, clip), wd, weight)


def decayed(change: jax.Array, wd: jax.Array | float, weight: jax.Array, factor: jax.Array | float = 1.0) -> jax.Array:
    """Return ``change + factor * wd * weight``; without any decay the weight is not read."""
    return change if type(wd) is float and wd == 0.0 else change + factor * wd * weight


def clipped(grad: jax.Array, clip: float | None) -> jax.Array:
    """Clip to ``[-clip, clip]``; None, 0 and negative numbers do not clip."""
    return grad if clip is None or clip <= 0 else jnp.clip(grad, -clip, clip)


def _pick(number: Any, index: int) -> jax.Array | float:
    if type(number) is tuple:
        return number[index]
    return number if jnp.ndim(number) == 0 else number[index]


def _apart(numbers: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the numbers of a step; on a GPU each scalar is in its own buffer.

    If updates read one vector, XLA for GPUs makes one kernel of them, which waits for the last gradient and keeps all
    of them until then. A common scalar is no reason for XLA to join them.
    """
    scalars = [x for x in numbers if isinstance(x, jax.Array) and x.ndim == 0]
    if not scalars:
        return numbers
    found = iter(on_gpu(lax.optimization_barrier, lambda scalars: scalars, scalars))
    return tuple(next(found) if isinstance(x, jax.Array) and x.ndim == 0 else x for x in numbers)


_LARGE = 1 << 18  # elements: for a larger gradient it pays to copy its weight's own numbers into separate buffers


def wide(dtype: jax.typing.DTypeLike) -> np.dtype:
    """Return the type in which a formula computes: float32 at least."""
    return jnp.promote_types(dtype, jnp.float32)


def _widen(leaf: jax.Array, dtype: DTypeLike) -> jax.Array:
    return leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf


# ----------------------------------------------------------------- from one weight to many


def zeros_like_weight(dtype: DTypeLike = None) -> Callable[[Any], np.ndarray]:
    """Return a state initializer: zeros of the weight's shape, made on the host (no program per shape)."""

    def make(weight: Shaped) -> np.ndarray:
        return np.zeros(weight.shape, dtype or weight.dtype)

    return make


class Rule(NamedTuple):
    """A rule of gluonx: the two functions of ``optax.GradientTransformationExtraArgs``, without optax.

    Examples
    --------
    >>> import gluonx.optimizer as opt
    >>> sgd = opt.SGD()
    >>> sgd.own_rule() == sgd.rule()
    True
    """

    init: Callable[..., Any]
    update: Callable[..., Any]

    def as_optax(self) -> optax.GradientTransformationExtraArgs:
        """Return the same rule as an optax transformation."""
        import optax

        return optax.GradientTransformationExtraArgs(self.init, self.update)  # pyright: ignore[reportArgumentType]


def _taking_more(tx: Rule | optax.GradientTransformation) -> Rule | optax.GradientTransformationExtraArgs:
    """Return a rule whose ``update`` accepts more arguments than it needs."""
    if type(tx) is Rule:
        return tx
    import optax

    return optax.with_extra_args_support(tx)  # pyright: ignore[reportArgumentType]


def _of_one_weight(names: tuple[str, ...], step: Step) -> Callable[..., Any]:
    """Return a formula as a function of one weight and its named states; the weight decay is None where there is none.

    The formula then gets 0.0, which it can test, in place of an array.
    """

    def optimizer_rule(
        weight: jax.Array,
        grad: jax.Array,
        slot: Mapping[str, Any],
        rescale: jax.Array | float,
        lr: jax.Array | float,
        wd: jax.Array | float | None,
        t: jax.Array | float,
        *more: Any,
    ) -> tuple[Any, dict[str, Any]]:
        at = At(lr, 0.0 if wd is None else wd, t, *(more or (None,)))
        dtype = wide(weight.dtype)
        leaves = tuple(_widen(slot[name], dtype) for name in names)
        if dtype == jnp.float64:  # corrections of the first steps are small differences: not in the vector's float32
            at = at._replace(lr=jnp.asarray(at.lr, dtype), t=jnp.asarray(at.t, dtype))
        change, new = step(weight.astype(dtype), grad.astype(dtype) * rescale, leaves, at)
        return change, {n: leaf.astype(slot[n].dtype) for n, leaf in zip(names, new, strict=True)}

    return optimizer_rule


def per_parameter(
    states: dict[str, Callable[[Any], Any]],
    step: Step,
    indices: Sequence[Any] | None = None,
    by_index: bool = False,
    draws: bool = False,
    lazy: bool = False,
) -> Rule:
    """Lift a formula for one weight to a rule for a pytree of weights.

    Parameters
    ----------
    states
        Name of each state array of a weight, and how it begins (a function of the weight).
    step
        ``step(weight, grad, leaves, at) -> (change, new_leaves)``. Weight, gradient (already rescaled) and leaves come
        in float32 or wider; leaves in the order of ``states``; ``at`` is an `At`.
    indices
        The parameters' indices, for formulas that look at ``at.index``; by default their positions.
    by_index
        Whether the formula looks at ``at.index``. If not, weights of one shape share a trace.
    draws
        Whether the formula draws with ``at.key``. The rule's ``update`` then takes a random key, ``key=``.
    lazy
        Whether a gradient by rows (`gluonx.optimizer.lazily`) updates these rows alone.

    Returns
    -------
    Rule
        Its state is a tuple with one dict per parameter, in the order in which JAX flattens the parameters.
    """
    names = tuple(states)
    plain = _of_one_weight(names, step)
    once = jax.jit(plain)  # for formulas that ask for no index: traced and lowered once for all weights of a shape

    def init(params: object) -> tuple[dict[str, Any], ...]:
        return tuple({name: states[name](w) for name in names} for w in jax.tree.leaves(params))

    init.by_parameter = True  # the last number in a state's path is the parameter's
    init.draws = draws
    init.lazy = lazy

    def update(
        updates: object,
        state: Sequence[Mapping[str, Any]],
        params: object = None,
        *,
        lr: jax.Array | float,
        wd: jax.Array | float,
        t: jax.Array | float,
        rescale: jax.Array | float = 1.0,
        layouts: Sequence[Layout | None] | None = None,
        key: Any = None,
        **_: object,
    ) -> tuple[Any, Any]:
        if draws and key is None:
            raise ValueError("This rule draws random numbers: give its update a JAX key, key=jax.random.key(...).")
        if params is None:
            raise ValueError("A rule of gluonx needs the parameters: call update(grads, state, params, lr=..., ...).")
        grads, treedef = jax.tree.flatten(updates)
        changes, new_state = [], []
        lr, wd, t, rescale = _apart((lr, wd, t, rescale))
        for i, (weight, grad, slot) in enumerate(zip(jax.tree.leaves(params), grads, state, strict=True)):
            index, layout = indices[i] if indices else i, layouts[i] if layouts else None
            own = jax.random.fold_in(key, i) if draws else None
            numbers = _pick(lr, i), None if type(wd) is float and wd == 0.0 else _pick(wd, i), _pick(t, i)
            if numbers[0] is not lr and layout is None and weight.size >= _LARGE:
                numbers = _apart(numbers)
            alone = by_index or draws or layout is not None
            if not alone and all(isinstance(x, jax.Array) for x in (weight, numbers[0], numbers[2])):
                change, new = once(weight, grad, slot, rescale, *numbers)
            else:
                change, new = plain(weight, grad, slot, rescale, *numbers, index, layout, own)
            changes.append(change)
            new_state.append(new)
        return jax.tree.unflatten(treedef, changes), tuple(new_state)

    return Rule(init, update)


# ----------------------------------------------------------------- float32 copies of narrow weights


class MasterState(NamedTuple):
    """The state of `with_master_weights`: a float32 copy per narrow weight (None for others), and the inner state."""

    master: tuple[Any, ...]
    inner: Any


def _is_narrow(weight: jax.Array | np.ndarray) -> bool:
    return jnp.issubdtype(weight.dtype, jnp.floating) and jnp.finfo(weight.dtype).bits < 32


@jax.jit
def _to_float32(weights: Leaves) -> Leaves:
    return tuple(w.astype(jnp.float32) for w in weights)


def with_master_weights(tx: Rule | optax.GradientTransformation) -> Rule:
    """Let a rule update float32 copies of the float16 and bfloat16 weights (``multi_precision=True``).

    The copies live in the state. What is added to the stored weight is the exact difference from the copy, so the
    stored weight is the rounded copy after every step and small changes are never lost.
    """
    inner = _taking_more(tx)

    @functools.wraps(inner.init)  # with what `per_parameter` has noted of the rule
    def init(params: object) -> MasterState:
        weights, treedef = jax.tree.flatten(params)
        narrow = iter(_to_float32(tuple(w for w in weights if _is_narrow(w))))
        master = tuple(next(narrow) if _is_narrow(w) else None for w in weights)
        return MasterState(master, inner.init(jax.tree.unflatten(treedef, _first(master, weights))))

    def update(updates: object, state: MasterState, params: object = None, **extra: object) -> tuple[Any, MasterState]:
        weights, treedef = jax.tree.flatten(params)
        grads = [g.astype(jnp.float32) if _is_narrow(w) else g for g, w in zip(treedef.flatten_up_to(updates), weights)]
        full = _first(state.master, weights)
        changes, new_inner = inner.update(
            jax.tree.unflatten(treedef, grads), state.inner, jax.tree.unflatten(treedef, full), **extra
        )
        changes = treedef.flatten_up_to(changes)
        master = tuple(None if m is None else m + c for m, c in zip(state.master, changes))
        changes = [c if m is None else m - w.astype(m.dtype) for m, c, w in zip(master, changes, weights)]
        return jax.tree.unflatten(treedef, changes), MasterState(master, new_inner)

    return Rule(init, update)


def _first(master: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    return [w if m is None else m for m, w in zip(master, weights)]


# ----------------------------------------------------------------- a rule for flat tuples


class FlatRule:
    """A rule fixed to a list of weights, with flat tuples of arrays in and out.

    Compared and hashed by identity, so it serves as the static part of a cache key.

    Parameters
    ----------
    tx
        A rule of gluonx or any optax transformation.
    weights
        The weights (arrays, or anything with ``shape`` and ``dtype``) in their order.

    Attributes
    ----------
    count : int
        Number of weights.
    leaf_names : tuple of str
        A name per state leaf, such as ``"0/mean"``, stable between processes: what to save a state under.
    owners : tuple of (int or None)
        Per state leaf the weight whose shape and placement it shares, None if there is no such weight.
    keys : tuple
        Per state leaf that is a random key of JAX its implementation (``impl``), else None. The leaf itself holds the
        key's words.
    places : tuple of (int or None)
        Per state leaf the weight to which it belongs, whatever its shape; None if that is not known.
    draws : bool
        Whether `apply` needs a random key, ``key=``.
    lazy : bool
        Whether a gradient by rows updates only these rows.
    form : callable or None
        The rule's NumPy kernel (`gluonx.optimizer.byhand`), if it has one.

    Examples
    --------
    >>> import jax.numpy as jnp, gluonx.optimizer as opt
    >>> from gluonx.optimizer.numbers import pack
    >>> rule = FlatRule(opt.SGD(momentum=0.9).rule(), (jnp.ones(2),))
    >>> state = rule.init((jnp.ones(2),))
    >>> weights, state = rule.apply((jnp.ones(2),), (jnp.ones(2),), state, pack([0.5], [0.0], [1], 1.0, True))
    >>> weights[0].tolist(), rule.leaf_names
    ([0.5, 0.5], ('0/momentum',))
    """

    __slots__ = (
        "__weakref__", "_operators", "count", "draws", "form", "keys", "lazy", "leaf_names", "owners", "places",
        "treedef", "tx",
    )  # fmt: skip

    def __init__(self, tx: Rule | optax.GradientTransformation, weights: Sequence[Any]) -> None:
        self.tx = _taking_more(tx)
        self.count = len(weights)
        abstract = tuple(jax.ShapeDtypeStruct(w.shape, w.dtype) for w in weights)
        kinds: list[Any] = []

        def begin(weights: Any) -> Any:
            state = self.tx.init(weights)
            kinds[:] = [jax.random.key_impl(x) if _is_key(x) else None for x in jax.tree.leaves(state)]
            return state

        with interrupts.held(), keeping_64_bits(any(w.dtype in WIDE for w in weights)):
            state = jax.eval_shape(begin, abstract)
        self.keys = tuple(kinds)
        paths, self.treedef = jax.tree_util.tree_flatten_with_path(state)
        self.leaf_names = tuple(jax.tree_util.keystr(path, simple=True, separator="/") for path, _ in paths)
        last = tuple(next((key.idx for key in reversed(path) if hasattr(key, "idx")), None) for path, _ in paths)
        by_parameter = getattr(self.tx.init, "by_parameter", False)
        numbers = last if by_parameter else _numbers_of_parameters(state, self.count)
        self.owners = tuple(_owner(n, leaf, abstract) for n, (_, leaf) in zip(numbers, paths, strict=True))
        self.places = last if by_parameter else self.owners
        self.draws = getattr(self.tx.init, "draws", False)
        self.lazy = by_parameter and getattr(self.tx.init, "lazy", False)
        self.form: Callable[..., Any] | None = None
        self._operators: dict[frozenset[int], DerivedOp] = {}

    @property
    def bound(self) -> DerivedOp:
        """The rule as an operator for `gluonx.deferred.invoke`, whose inputs and outputs are those of `__call__`.

        If it draws, the inputs end with those of `gluonx.deferred.record.engine.random_inputs`.
        """
        return self.bound_by_row(frozenset())

    def bound_by_row(self, by_row: frozenset[int]) -> DerivedOp:
        """Return `bound` for weights some of which have a gradient by rows, that is, two arrays."""
        found = self._operators.get(by_row)
        if found is None:
            update = Update(self, Units.plain(self.count), (True,) * self.count, by_row)
            form = None if by_row else self.form
            found = self._operators[by_row] = DerivedOp("optimizer_update", update, numpy_kernel=form, work=_total)
        return found

    def init(self, weights: Sequence[Any]) -> Leaves:
        """Return the state leaves for concrete weights: NumPy arrays if they begin as zeros, else new JAX arrays.

        None of them shares a buffer with a weight, so weights and state can be donated together.
        """
        leaves = self._words(jax.tree.leaves(self.tx.init(tuple(weights))))
        given = {id(w) for w in weights}
        return tuple(jnp.array(leaf, copy=True) if id(leaf) in given else leaf for leaf in leaves)

    def apply(
        self,
        weights: Sequence[Any],
        grads: Sequence[Any],
        state: Sequence[Any],
        hyper: jax.Array | np.ndarray | Hyper | dict[str, Any],
        **extra: object,
    ) -> tuple[Leaves, Leaves]:
        """Compute one update; pure, to be traced.

        Parameters
        ----------
        weights, grads, state
            Flat sequences of arrays; ``state`` as `init` gave it. A gradient may be a
            :class:`~gluonx.optimizer.lazily.RowGradient`.
        hyper
            The vector of `pack`, or a `Hyper`, or a mapping with ``lr``, ``wd``, ``t`` and ``rescale``.
        **extra
            Further arguments of the rule's ``update``: ``value`` and ``value_fn``, the loss and the loss as a function
            of the weights; ``key`` for a rule that draws.

        Returns
        -------
        tuple, tuple
            New weights (each in its own dtype) and new state leaves.
        """
        if not isinstance(hyper, dict):
            hyper = (hyper if isinstance(hyper, Hyper) else unpack(hyper, self.count))._asdict()
        leaves = [x if kind is None else jax.random.wrap_key_data(x, impl=kind) for x, kind in zip(state, self.keys)]
        by_row = any(type(g) is RowGradient for g in grads)
        given, own = grads, weights
        if by_row and self.lazy:
            given, own, leaves = gathered(grads, weights, leaves, self.places)
        elif by_row:
            given = [widened(g, w) for g, w in zip(grads, weights, strict=True)]
        tree = jax.tree.unflatten(self.treedef, leaves)
        changes: Any
        changes, tree = self.tx.update(tuple(given), tree, tuple(own), **hyper, **extra)
        one = _one(hyper["rescale"])
        added = tuple(_add(w, change, one) for w, change in zip(own, changes))
        after = tuple(self._words(jax.tree.leaves(tree)))
        if by_row and self.lazy:
            added = tuple(put_back(g, w, new) for g, w, new in zip(grads, weights, added, strict=True))
            after = tuple(
                new if k is None else put_back(grads[k], old, new)
                for k, old, new in zip(self.places, state, after, strict=True)
            )
        return added, after

    def _words(self, leaves: Sequence[Any]) -> list[Any]:
        """Return state leaves with the words of random keys instead of the keys."""
        return [x if kind is None else jax.random.key_data(x) for x, kind in zip(leaves, self.keys, strict=True)]

    def __call__(self, *arrays: jax.Array | np.ndarray, **extra: object) -> Leaves:
        """Run `apply` on one flat list: weights, gradients, state, step vector in, weights and state out."""
        n = self.count
        weights, state = self.apply(arrays[:n], arrays[n : 2 * n], arrays[2 * n : -1], arrays[-1], **extra)
        return weights + state

    def __repr__(self) -> str:
        return f"FlatRule({self.count} weights, {len(self.leaf_names)} state arrays)"


def _total(*arrays: np.ndarray) -> int:
    return sum([a.size for a in arrays])


@dataclass(frozen=True)
class Update:
    """A rule at the border of a program, with flat arrays as inputs and outputs.

    ``(weights, gradients of the fresh ones, packed states, step vector) -> (weights, packed states)``

    Parameters
    ----------
    rule : FlatRule
        The rule for the units.
    units : Units
        The units that the formula works on; see `gluonx.optimizer.units`.
    fresh : tuple of bool
        Which arrays have a new gradient; the others, and their states, come out as they went in.
    by_row : frozenset of int
        Arrays whose gradient comes by rows: two arrays, see `gluonx.optimizer.lazily`.
    together : Groups, optional
        Which states are stored as one array; by default each is one.
    advances : bool
        Whether the next step's vector is the last output.
    told : bool
        Whether the loss is the last input; the rule gets its sum.
    """

    rule: FlatRule
    units: Units
    fresh: tuple[bool, ...]
    by_row: frozenset[int] = frozenset()
    together: Groups | None = None
    advances: bool = False
    told: bool = False

    name: ClassVar[str] = "update"

    @property
    def common(self) -> int:
        """The number of inputs behind the states, which replicas on several devices have in common."""
        return 1 + 2 * self.rule.draws

    @property
    def given(self) -> int:
        """The number of arrays that hold the gradients."""
        return sum(self.fresh) + sum(self.fresh[k] for k in self.by_row)

    def __call__(self, *arrays: jax.Array) -> tuple[Any, ...]:
        """Return the update."""
        extra: dict[str, Any] = {}
        if self.told:
            *arrays, loss = arrays  # type: ignore[assignment]
            extra["value"] = total(loss)
        if self.rule.draws:
            *arrays, words, number = arrays  # type: ignore[assignment]
            extra["key"] = prng.wrap(words, number)
        n, m, vector = len(self.fresh), self.given, arrays[-1]
        new = self.apply(arrays[:n], arrays[n : n + m], arrays[n + m : -1], vector, **extra)
        return (*new, advanced(vector, self.units.count)) if self.advances else new

    def apply(
        self, weights: Sequence[Any], given: Sequence[Any], packed: Sequence[Any], vector: jax.Array, **extra: Any
    ) -> tuple[Any, ...]:
        """Return the new arrays and packed states; `extra` is as for :meth:`FlatRule.apply`."""
        units, rule, together = self.units, self.rule, self.together
        found = paired(iter(given), self.fresh, self.by_row, weights)
        grads = [jnp.zeros_like(w) if g is None else g for g, w in zip(found, weights, strict=True)]
        if "value_fn" in extra:
            loss = extra["value_fn"]
            extra["value_fn"] = lambda moving: loss(units.scatter(moving, weights))
        old, leaves = units.gather(weights), packed if together is None else together.split(packed)
        numbers = units.numbers(unpack(vector, units.count))
        new, after = rule.apply(old, units.gather(grads), leaves, numbers, **extra)
        masks = units.masks(self.fresh)
        new = list(map(_where, masks, new, old))
        after = [_where(k is None or masks[k], a, b) for k, a, b in zip(rule.owners, after, leaves, strict=True)]
        return (*units.scatter(new, weights), *(after if together is None else together.join(after)))


def total(loss: jax.Array) -> jax.Array:
    """Return the sum of a loss, in float32 at least."""
    return jnp.sum(loss.astype(wide(loss.dtype)))


def _where(mask: bool | jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    return (new if mask else old) if type(mask) is bool else jnp.where(mask, new, old)


def _one(number: jax.Array) -> jax.Array:
    """Return a 1 computed from a number of the step, so that XLA does not know it (NaN if the number is NaN)."""
    return jnp.where(number == number, jnp.float32(1), jnp.float32(np.nan))


def _add(weight: jax.Array, change: jax.Array, one: jax.Array) -> jax.Array:
    """Return the weight plus the change.

    A change that is a state too (SGD's momentum) is an array, and the sum of two arrays is a loop of one operation. On
    a CPU XLA writes such a loop tile by tile, and with the small last axes of a convolution's weights its tiles take 4
    times as long (see `gluonx.common.process`). A loop of two operations is written plainly, and the product with 1 is
    exact.
    """
    dtype = jnp.promote_types(weight.dtype, change.dtype)
    change = change.astype(dtype)
    if weight.ndim > 2:
        change = change * one.astype(dtype)
    return (weight.astype(dtype) + change).astype(weight.dtype)


def _is_key(leaf: HasDType) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _numbers_of_parameters(state: object, count: int) -> tuple[int | None, ...]:
    """Return for each leaf of an optax state its position in a tuple shaped like the `count` parameters, else None.

    Not every number in a leaf's path is a parameter's: a chain's state is a tuple too.
    """

    def like(node: Any) -> bool:
        leaves = [jax.tree.leaves(item) for item in node] if type(node) is tuple and len(node) == count else []
        # A weight that the transformation masks has no leaf.
        return bool(leaves) and all(not own or own[0] is item for own, item in zip(leaves, node, strict=True))

    found: list[int | None] = []
    for part in jax.tree.leaves(state, is_leaf=like):
        if like(part):
            found.extend(i for i, item in enumerate(part) if jax.tree.leaves(item))
        else:
            found.append(None)
    return tuple(found)


def _owner(number: int | None, leaf: jax.ShapeDtypeStruct, weights: Sequence[Any]) -> int | None:
    """Return the weight to which a state leaf belongs: the one with its number, if the shapes agree."""
    if number is None or number >= len(weights) or weights[number].shape != leaf.shape or _is_key(leaf):
        return None
    return number
