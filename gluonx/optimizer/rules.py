"""Update rules: pure functions that turn gradients into changes of weights.

A rule is what optax calls a ``GradientTransformationExtraArgs``: two functions, ``init(params) -> state`` and
``update(grads, state, params, *, lr, wd, t, rescale) -> (updates, state)``, where ``updates`` are *added* to the
parameters. So a rule of gluonx goes wherever one of optax goes (``optax.chain``, ``optax.masked``), and the reverse.
What distinguishes ours is that everything which changes from step to step is an argument and not a constant:

``lr``, ``wd``
    Learning rate and weight decay, each one number for all parameters or one per parameter.
``t``
    The update count that bias corrections use; one number or one per parameter.
``rescale``
    What the gradients are multiplied with first, that is, ``scale / batch_size``.

Two things are built here. `per_parameter` lifts a formula for one weight to a rule for many. `FlatRule` fixes a rule to
a list of weights and speaks only flat tuples of arrays, because that is what crosses a ``jit`` border cheaply: the
Trainer puts ``FlatRule.apply`` into the one program of a training step. Its per-step numbers travel as **one** float32
vector (see `pack`), since every array that crosses costs microseconds.

The invariant: a formula computes in float32 or wider whatever the weights are stored in, and stores each state in the
type in which it began.

optax is imported when somebody asks for a rule as optax knows it, or gives one; training imports it not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.common.frames import telling
from gluonx.deferred import DerivedOp
from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.ops import prng
from gluonx.optimizer.lazily import RowGradient, gathered, paired, put_back, widened

if TYPE_CHECKING:
    import optax


Leaves = tuple[Any, ...]


class Hyper(NamedTuple):
    """The numbers of one step: each a scalar, or (but for ``rescale``) a vector with one entry per parameter."""

    lr: Any
    wd: Any
    t: Any
    rescale: Any


class At(NamedTuple):
    """One parameter's view of a step: its learning rate, weight decay, update count and (static) own index.

    For a fused array the numbers are arrays that broadcast against it, ``index`` holds one index a piece, and
    ``layout`` knows where the pieces lie. ``key`` is a random key of the parameter and step, for formulas that draw.
    """

    lr: Any
    wd: Any
    t: Any
    index: Any
    layout: Any = None
    key: Any = None

    def norm(self, array: Any) -> Any:
        """Return the Euclidean norm; of a fused array that of each piece, broadcasting against it."""
        return jnp.sqrt(jnp.sum(jnp.square(array))) if self.layout is None else self.layout.norm(array)


Step = Callable[[Any, Any, Leaves, At], tuple[Any, Leaves]]


# ----------------------------------------------------------------- the numbers of a step, as one vector


def pack(
    lr: Sequence[float], wd: Sequence[float], t: Sequence[int], rescale: float, uniform: bool, decays: bool = True
) -> np.ndarray:
    """Put the numbers of a step into one float32 vector.

    Parameters
    ----------
    lr, wd, t
        One entry per parameter; with ``uniform`` only the first entry of each is read.
    rescale
        Factor of every gradient.
    uniform
        Whether all parameters share ``lr``, ``wd`` and ``t``.
    decays
        Whether there is weight decay at all. Without, the update does not have to read the weights for it.

    Returns
    -------
    numpy.ndarray
        ``[rescale, t, lr, wd]`` if uniform, else ``[rescale, *t, *lr, *wd]``; float32; without ``wd`` where nothing
        decays. A count beyond 2**24 is rounded, by when bias corrections have long been 1.

    Examples
    --------
    >>> pack([0.5], [0.0], [3], 0.25, True).tolist()
    [0.25, 3.0, 0.5, 0.0]
    """
    if not decays:
        wd = ()
    with telling():
        if uniform:
            return np.array((rescale, t[0], lr[0], *wd[:1]), np.float32)
        return np.array((rescale, *t, *lr, *wd), np.float32)


class Rates(NamedTuple):
    """The numbers of a step that mostly stay from one to the next, as `pack` takes them."""

    lr: list[float]
    wd: list[float]
    rescale: float
    uniform: bool
    decays: bool


class StepNumbers(NamedTuple):
    """The numbers of a step on the host: the counts, which move on, and the rates."""

    t: list[int]
    rates: Rates

    def vector(self) -> np.ndarray:
        """Return the vector of `pack`."""
        lr, wd, rescale, uniform, decays = self.rates
        return pack(lr, wd, self.t, rescale, uniform, decays)

    def follows(self, before: StepNumbers) -> bool:
        """Return whether nothing but the counts differs from the step `before`, and these by one: see `advanced`."""
        t, rates = self
        t_before, rates_before = before
        return rates == rates_before and t == list(map(_one_more, t_before)) and max(t) < _EXACT


_one_more = (1).__add__
_EXACT = 1 << 24  # float32 has no odd numbers beyond


def unpack(vector: Any, count: int) -> Hyper:
    """Unpack what `pack` made for ``count`` parameters; works on arrays and on tracers.

    Raises
    ------
    ValueError
        If the length fits neither layout.
    """
    size = vector.shape[0]
    if size in (3, 4):
        return Hyper(rescale=vector[0], t=vector[1], lr=vector[2], wd=vector[3] if size == 4 else 0.0)
    if size not in (1 + 2 * count, 1 + 3 * count):
        raise ValueError(
            f"The step vector of {count} parameters has 3, 4, {1 + 2 * count} or {1 + 3 * count} entries "
            f"(see gluonx.optimizer.rules.pack), but this one has {size}."
        )
    t, lr, wd = (vector[1 + k * count : 1 + (k + 1) * count] for k in range(3))
    return Hyper(rescale=vector[0], t=t, lr=lr, wd=wd if wd.shape[0] else 0.0)


def for_arrays(numbers: Hyper, members: Sequence[Sequence[int | None]], layouts: Sequence[Any]) -> dict[str, Any]:
    """Return the numbers of a step for arrays that hold several parameters each, as `per_parameter` takes them.

    Parameters
    ----------
    numbers : Hyper
        Of the parameters.
    members : sequence
        For each array the numbers of its parameters, None for one that is not trained.
    layouts : sequence
        For each array the `gluonx.common.packing.Layout` of its parameters; None for one that holds a single one.
    """

    def spread(number: Any) -> Any:
        if jnp.ndim(number) == 0:
            return number
        return tuple(
            number[own[0]]
            if layout is None
            else layout.spread([jnp.float32(1) if k is None else number[k] for k in own])
            for own, layout in zip(members, layouts, strict=True)
        )

    each = {name: spread(getattr(numbers, name)) for name in ("lr", "wd", "t")}
    return {**each, "rescale": numbers.rescale, "layouts": layouts}


def moved_back(vector: Any, count: int, steps: Any) -> Any:
    """Return the step vector of ``count`` parameters as it was ``steps`` updates ago: its counts are lower by that."""
    return vector - _counts(vector, count) * steps.astype(vector.dtype)


def advanced(vector: Any, count: int) -> Any:
    """Give the step vector of ``count`` parameters for the step that comes next, if nothing but the counts changes."""
    return vector + _counts(vector, count)


def _counts(vector: Any, count: int) -> np.ndarray:
    """1 where a step vector of ``count`` parameters has a count, else 0."""
    size = vector.shape[0]
    end = 2 if size in (3, 4) else 1 + count
    return np.array([1 <= i < end for i in range(size)], vector.dtype)


# ----------------------------------------------------------------- pieces that formulas share


def preprocess(weight: Any, grad: Any, wd: Any, clip: float | None) -> Any:
    """Clip the rescaled gradient to ``[-clip, clip]``, then add the weight decay: the usual order in MXNet."""
    return decayed(clipped(grad, clip), wd, weight)


def decayed(change: Any, wd: Any, weight: Any, factor: Any = 1.0) -> Any:
    """Compute ``change + factor * wd * weight``; without reading the weight where there is no decay at all."""
    return change if type(wd) is float and wd == 0.0 else change + factor * wd * weight


def clipped(grad: Any, clip: float | None) -> Any:
    """Clip to ``[-clip, clip]``; None, 0 and what is negative mean no clipping."""
    return grad if clip is None or clip <= 0 else jnp.clip(grad, -clip, clip)


def _pick(number: Any, index: int) -> Any:
    if type(number) is tuple:
        return number[index]
    return number if jnp.ndim(number) == 0 else number[index]


def wide(dtype: Any) -> Any:
    """Return the type in which a formula computes: float32 at least."""
    return jnp.promote_types(dtype, jnp.float32)


def _widen(leaf: Any, dtype: Any) -> Any:
    return leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf


# ----------------------------------------------------------------- from one weight to many


def zeros_like_weight(dtype: Any = None) -> Callable[[Any], np.ndarray]:
    """Make a state initializer: host-made zeros of the weight's shape (no program per shape)."""

    def make(weight: Any) -> np.ndarray:
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
        """Return the same as optax knows it."""
        import optax

        return optax.GradientTransformationExtraArgs(self.init, self.update)  # pyright: ignore[reportArgumentType]


def _taking_more(tx: Rule | optax.GradientTransformation) -> Any:
    """Return a rule whose ``update`` takes more arguments than it needs."""
    if type(tx) is Rule:
        return tx
    import optax

    return optax.with_extra_args_support(tx)  # pyright: ignore[reportArgumentType]


class _OneWeight(NamedTuple):
    """A formula on one weight and its named states: as it is, and traced once for all weights of a shape.

    That is for formulas that do not look at the index, and lowered once too; XLA inlines it. Without weight decay the
    number is no array but 0.0, which the formula sees.
    """

    plain: Callable[..., Any]
    once: Callable[..., Any]
    once_without_decay: Callable[..., Any]

    def for_numbers(self, wd: Any) -> Callable[..., Any]:
        """Return the one that is traced once, for this weight decay."""
        return self.once_without_decay if type(wd) is float else self.once


def _of_one_weight(names: tuple[str, ...], step: Step) -> _OneWeight:
    def optimizer_rule(
        weight: Any, grad: Any, slot: Any, rescale: Any, lr: Any, wd: Any, t: Any, *more: Any
    ) -> tuple[Any, dict[str, Any]]:
        at = At(lr, wd, t, *(more or (None,)))
        dtype = wide(weight.dtype)
        leaves = tuple(_widen(slot[name], dtype) for name in names)
        if dtype == jnp.float64:  # corrections of the first steps are small differences: not in the vector's float32
            at = at._replace(lr=jnp.asarray(at.lr, dtype), t=jnp.asarray(at.t, dtype))
        change, new = step(weight.astype(dtype), grad.astype(dtype) * rescale, leaves, at)
        return change, {n: leaf.astype(slot[n].dtype) for n, leaf in zip(names, new, strict=True)}

    return _OneWeight(optimizer_rule, jax.jit(optimizer_rule), jax.jit(optimizer_rule, static_argnums=5))


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

    rule = _of_one_weight(names, step)

    def init(params: Any) -> tuple[dict[str, Any], ...]:
        return tuple({name: states[name](w) for name in names} for w in jax.tree.leaves(params))

    init.by_parameter = True  # the last number in a state's path is the parameter's
    init.draws = draws
    init.lazy = lazy

    def update(
        updates: Any,
        state: Any,
        params: Any = None,
        *,
        lr: Any,
        wd: Any,
        t: Any,
        rescale: Any = 1.0,
        layouts: Any = None,
        key: Any = None,
        **_: Any,
    ) -> tuple[Any, Any]:
        if draws and key is None:
            raise ValueError("This rule draws random numbers: give its update a JAX key, key=jax.random.key(...).")
        if params is None:
            raise ValueError("A rule of gluonx needs the parameters: call update(grads, state, params, lr=..., ...).")
        grads, treedef = jax.tree.flatten(updates)
        changes, new_state = [], []
        for i, (weight, grad, slot) in enumerate(zip(jax.tree.leaves(params), grads, state, strict=True)):
            index, layout = indices[i] if indices else i, layouts[i] if layouts else None
            own = jax.random.fold_in(key, i) if draws else None
            numbers = _pick(lr, i), _pick(wd, i), _pick(t, i)
            alone = by_index or draws or layout is not None
            if not alone and all(isinstance(x, jax.Array) for x in (weight, numbers[0], numbers[2])):
                change, new = rule.for_numbers(numbers[1])(weight, grad, slot, rescale, *numbers)
            else:
                change, new = rule.plain(weight, grad, slot, rescale, *numbers, index, layout, own)
            changes.append(change)
            new_state.append(new)
        return jax.tree.unflatten(treedef, changes), tuple(new_state)

    return Rule(init, update)


# ----------------------------------------------------------------- float32 copies of narrow weights


class MasterState(NamedTuple):
    """State of `with_master_weights`: a float32 copy per narrow weight (None for others), and the rule's own state."""

    master: tuple[Any, ...]
    inner: Any


def _is_narrow(weight: Any) -> bool:
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

    def init(params: Any) -> MasterState:
        weights, treedef = jax.tree.flatten(params)
        narrow = iter(_to_float32(tuple(w for w in weights if _is_narrow(w))))
        master = tuple(next(narrow) if _is_narrow(w) else None for w in weights)
        return MasterState(master, inner.init(jax.tree.unflatten(treedef, _first(master, weights))))

    init.by_parameter = getattr(inner.init, "by_parameter", False)
    init.draws = getattr(inner.init, "draws", False)
    init.lazy = getattr(inner.init, "lazy", False)

    def update(updates: Any, state: MasterState, params: Any = None, **extra: Any) -> tuple[Any, MasterState]:
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


def _key_name(key: Any) -> str:
    for attribute in ("name", "key", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


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
        Per state leaf the weight whose shape and placement it shares, None where it belongs to no one.
    keys : tuple
        Per state leaf that is a random key of JAX how its words are one (``impl``), else None. As leaves keys are
        their words.
    places : tuple of (int or None)
        Per state leaf the weight that it is a state of, of its shape or not; None where nobody can tell.
    draws : bool
        Whether `apply` needs a random key, ``key=``.
    lazy : bool
        Whether gradients by rows update these rows alone.
    form : callable or None
        The rule on NumPy arrays (`gluonx.optimizer.byhand`), where it has such a form.

    Examples
    --------
    >>> import jax.numpy as jnp, gluonx.optimizer as opt
    >>> rule = FlatRule(opt.SGD(momentum=0.9).rule(), (jnp.ones(2),))
    >>> state = rule.init((jnp.ones(2),))
    >>> weights, state = rule.apply((jnp.ones(2),), (jnp.ones(2),), state, pack([0.5], [0.0], [1], 1.0, True))
    >>> weights[0].tolist(), rule.leaf_names
    ([0.5, 0.5], ('0/momentum',))
    """

    __slots__ = (
        "__weakref__", "_bound", "_by_row", "count", "draws", "form", "keys", "lazy", "leaf_names", "owners", "places",
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

        with keeping_64_bits(any(w.dtype in WIDE for w in weights)):
            state = jax.eval_shape(begin, abstract)
        self.keys = tuple(kinds)
        paths, self.treedef = jax.tree_util.tree_flatten_with_path(state)
        self.leaf_names = tuple("/".join(_key_name(k) for k in path) for path, _ in paths)
        last = tuple(next((key.idx for key in reversed(path) if hasattr(key, "idx")), None) for path, _ in paths)
        by_parameter = getattr(self.tx.init, "by_parameter", False)
        numbers = last if by_parameter else _numbers_of_parameters(state, self.count)
        self.owners = tuple(_owner(n, leaf, abstract) for n, (_, leaf) in zip(numbers, paths, strict=True))
        self.places = last if by_parameter else self.owners
        self.draws = getattr(self.tx.init, "draws", False)
        self.lazy = by_parameter and getattr(self.tx.init, "lazy", False)
        self.form: Callable[..., Any] | None = None
        self._bound: DerivedOp | None = None
        self._by_row: dict[frozenset[int], DerivedOp] = {}

    def bound_by_row(self, by_row: frozenset[int]) -> DerivedOp:
        """Make the rule an operator for weights of which some have a gradient by rows: two arrays, not one."""
        found = self._by_row.get(by_row)
        if found is None:

            def update(*arrays: Any) -> Leaves:
                n, m = self.count, self.count + len(by_row)
                grads = paired(iter(arrays[n : n + m]), (True,) * n, by_row, arrays[:n])
                weights, state = self.apply(arrays[:n], grads, arrays[n + m : -1], arrays[-1])
                return weights + state

            found = self._by_row[by_row] = DerivedOp("optimizer_update", update)
        return found

    @property
    def pieces(self) -> int:
        """The number of parameters with numbers in the step vector."""
        return self.count

    @property
    def bound(self) -> DerivedOp:
        """The rule as an operator for `gluonx.deferred.invoke`: arrays in and out as in calling the rule.

        One that draws takes what `gluonx.deferred.engine.random_inputs` gives behind them.
        """
        if self._bound is None:
            update = Update(self, draws=True) if self.draws else self
            self._bound = DerivedOp("optimizer_update", update, form=self.form, work=_total)
        return self._bound

    def init(self, weights: Sequence[Any]) -> Leaves:
        """Make the state leaves of concrete weights: NumPy arrays where they begin as zeros, else new JAX arrays.

        None of them shares a buffer with a weight, so weights and state can be donated together.
        """
        leaves = self._words(jax.tree.leaves(self.tx.init(tuple(weights))))
        given = {id(w) for w in weights}
        return tuple(jnp.array(leaf, copy=True) if id(leaf) in given else leaf for leaf in leaves)

    def apply(
        self, weights: Sequence[Any], grads: Sequence[Any], state: Sequence[Any], hyper: Any, **extra: Any
    ) -> tuple[Leaves, Leaves]:
        """Do one update; pure, to be traced.

        Parameters
        ----------
        weights, grads, state
            Flat sequences of arrays; ``state`` as `init` gave it. A gradient may be a
            :class:`~gluonx.optimizer.lazily.RowGradient`.
        hyper
            The vector of `pack`, or a `Hyper`, or a mapping with ``lr``, ``wd``, ``t`` and ``rescale``.
        **extra
            More for the rule's ``update``: ``value`` and ``value_fn``, the loss and how it follows from the weights;
            ``key`` for a rule that draws.

        Returns
        -------
        tuple, tuple
            New weights (each in its own dtype) and new state leaves.
        """
        numbers = self._numbers(hyper)
        leaves = [x if kind is None else jax.random.wrap_key_data(x, impl=kind) for x, kind in zip(state, self.keys)]
        by_row = any(type(g) is RowGradient for g in grads)
        given, own = grads, weights
        if by_row and self.lazy:
            given, own, leaves = gathered(grads, weights, leaves, self.places)
        elif by_row:
            given = [widened(g, w) for g, w in zip(grads, weights, strict=True)]
        tree = jax.tree.unflatten(self.treedef, leaves)
        changes: Any
        changes, tree = self.tx.update(tuple(given), tree, tuple(own), **numbers, **extra)
        one = _one(numbers["rescale"])
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
        """State leaves with the words of random keys in place of the keys."""
        return [x if kind is None else jax.random.key_data(x) for x, kind in zip(leaves, self.keys, strict=True)]

    def _numbers(self, hyper: Any) -> dict[str, Any]:
        if isinstance(hyper, Hyper):
            return hyper._asdict()
        if isinstance(hyper, dict):
            return hyper
        return unpack(hyper, self.count)._asdict()

    def __call__(self, *arrays: Any, **extra: Any) -> Leaves:
        """Do `apply` on one flat list: weights, gradients, state, step vector in, weights and state out."""
        n = self.count
        weights, state = self.apply(arrays[:n], arrays[n : 2 * n], arrays[2 * n : -1], arrays[-1], **extra)
        return weights + state

    def __repr__(self) -> str:
        return f"FlatRule({self.count} weights, {len(self.leaf_names)} state arrays)"


def _total(*arrays: Any) -> int:
    return sum([a.size for a in arrays])


class Update:
    """A rule at the border of a program, where more crosses than its own arrays.

    Parameters
    ----------
    rule : callable
        ``rule(*arrays, **extra)``: (weights, gradients, states, step vector) -> (weights, states).
    advances : bool
        Whether the next step's vector comes out behind the results.
    draws : bool
        Whether a root key's words and the number of the draw come in behind the rule's arrays.
    told : bool
        Whether the loss comes in behind all of these; the rule is told its sum.
    """

    __slots__ = ("advances", "draws", "plain", "rule", "told")

    def __init__(self, rule: Any, advances: bool = False, draws: bool = False, told: bool = False) -> None:
        self.rule, self.advances, self.draws, self.told = rule, advances, draws, told
        self.plain = getattr(rule, "together", None) or rule  # without extras

    def __call__(self, *arrays: Any, **extra: Any) -> tuple[Any, ...]:
        """Return the update."""
        if self.told:
            *arrays, loss = arrays  # type: ignore[assignment]
            extra["value"] = jnp.sum(loss.astype(jnp.promote_types(loss.dtype, jnp.float32)))
        if self.draws:
            *arrays, words, number = arrays  # type: ignore[assignment]
            extra["key"] = prng.wrap(words, number)
        new = self.rule(*arrays, **extra) if extra else self.plain(*arrays)
        return (*new, advanced(arrays[-1], self.rule.pieces)) if self.advances else new


def _one(number: Any) -> Any:
    """Make a 1 out of a number of the step, so that XLA cannot know it (NaN where the number is NaN)."""
    return jnp.where(number == number, jnp.float32(1), jnp.float32(np.nan))


def _add(weight: Any, change: Any, one: Any) -> Any:
    """Add the change to a weight.

    A change that is a state too (SGD's momentum) is an array of its own, and the sum of two arrays a loop of one
    operation. On a CPU XLA writes such a loop tile by tile, and over the small last axes of a convolution's weights its
    tiles take 4 times as long (see `gluonx.common.process`). A loop of two operations is written plainly, and the
    product with 1 is exact.
    """
    dtype = jnp.promote_types(weight.dtype, change.dtype)
    change = change.astype(dtype)
    if weight.ndim > 2:
        change = change * one.astype(dtype)
    return (weight.astype(dtype) + change).astype(weight.dtype)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _numbers_of_parameters(state: Any, count: int) -> tuple[int | None, ...]:
    """Per leaf of a state of optax its place in a tuple that is like that of the `count` parameters, else None.

    Not any number in a leaf's path is a parameter's: a chain's state is a tuple too.
    """

    def like(node: Any) -> bool:
        leaves = [jax.tree.leaves(item) for item in node] if type(node) is tuple and len(node) == count else []
        # A masked one has no leaf.
        return bool(leaves) and all(not own or own[0] is item for own, item in zip(leaves, node, strict=True))

    found: list[int | None] = []
    for part in jax.tree.leaves(state, is_leaf=like):
        if like(part):
            found.extend(i for i, item in enumerate(part) if jax.tree.leaves(item))
        else:
            found.append(None)
    return tuple(found)


def _owner(number: int | None, leaf: Any, weights: Sequence[Any]) -> int | None:
    """Return the weight to which a state leaf belongs: the one of its number, if the shapes agree."""
    if number is None or number >= len(weights) or weights[number].shape != leaf.shape or _is_key(leaf):
        return None
    return number
