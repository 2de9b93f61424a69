"""Optimizer: the settings of an update rule, and the counts and rates that change from step to step.

An Optimizer holds no arrays. It has an update rule (`Optimizer.rule`, pure, see `gluonx.optimizer.rules`) and knows the
numbers of a step (`Optimizer.hyper`): the learning rate after scheduler and multipliers, the weight decays, the
gradient scale and how often each parameter was updated. Others hold weights and states: the Trainer in one compiled
program, an `Updater` one parameter at a time.

A class of optimizers is data: its fields are its settings (`declared`), `state_names` are its states, and its `formula`
is a function of both and of a gradient. A formula sees only the settings, which are the key of its programs, so no
setting can be missing from the key. A user's optimizer may instead override `create_state` and `step` with imperative
code on ndarrays, as in MXNet; then `rule` is None and the Trainer runs `step`.
"""

from __future__ import annotations

import collections
import functools
import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

import numpy as np

from gluonx.common import policy
from gluonx.common.arguments import refuse
from gluonx.common.frames import warn
from gluonx.common.recent import recall
from gluonx.deferred.values.program_cache import memo
from gluonx.optimizer.byhand import ByHand
from gluonx.optimizer.gradients import Gradients, altered
from gluonx.optimizer.numbers import Rates, StepNumbers
from gluonx.optimizer.rules import (
    At,
    FlatRule,
    Rule,
    Step,
    per_parameter,
    with_master_weights,
    zeros_like_weight,
)
from gluonx.optimizer.transformations import scaled
from gluonx.optimizer.updater import make_state, run_rule

if TYPE_CHECKING:
    import jax
    import optax

    from gluonx.lr_scheduler import LRScheduler
    from gluonx.np.handle import ndarray

    MadeRule = Rule | optax.GradientTransformationExtraArgs


Class = TypeVar("Class", bound="type[Optimizer]")

_MOST_OWN = 16 * policy.SHARED  # for one optimizer that shares no rules: by hand, LARS has three for each parameter
_multipliers = attrgetter("lr_mult", "wd_mult")
_made: dict[Any, Any] = memo()  # by the settings of declared optimizers: their rules and the operators of their steps

_OVERWRITES = (
    "The scheduler's base_lr of {old} was replaced by the optimizer's learning_rate of {new}, as MXNet does. Give "
    "{name}(learning_rate=None, lr_scheduler=...) to keep the scheduler's, or the same number in both places."
)
_NO_FORMULA = (
    "{name} has no update formula. Override step(indices, weights, grads, states), "
    "or use one of gluonx.optimizer.Optimizer.opt_registry."
)
_NARROW = (
    "The optimizer keeps its states in {dtype}, as the weights are, which loses small updates. "
    "Give multi_precision=True to update float32 copies of the weights."
)


def _settings(cls: type) -> list[str]:
    """Return the keywords of an optimizer's constructor and of those to which it passes the rest."""
    found: dict[str, None] = {}
    for base in cls.__mro__:
        if "__init__" in vars(base) and base is not object:
            rows = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
            found.update({p.name: None for p in rows if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)})
    return list(found)


@dataclass_transform(kw_only_default=False, eq_default=False)
def declared(cls: Class) -> Class:
    """Make the annotated fields of a class of optimizers its settings; a decorator.

    The constructor takes them in order, and everything that `Optimizer` takes as keywords. A method ``__post_init__``
    runs at its end, as in a dataclass. Fields of a declared base come first, and a class may change their defaults, as
    in dataclasses.

    The formula of such a class must not depend on the lengths of arrays: equal optimizers share an operator, even in
    different Trainers, and updates by hand share one program for all shapes. A class that is derived from it is not
    declared itself.

    Returns
    -------
    type
        The class itself.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> @declared
    ... class Sign(Optimizer):
    ...     learning_rate: float = 0.01
    ...     least: float = 0.0
    ...
    ...     @classmethod
    ...     def formula(cls, settings, weight, grad, leaves, at):
    ...         return -at.lr * jnp.sign(grad) * (abs(grad) > settings.least), ()
    >>> Sign(0.1, least=0.5, wd=0.01)
    Sign(learning_rate=0.1, least=0.5, wd=0.01)
    """
    kind = inspect.Parameter
    own = {
        name: kind(name, kind.POSITIONAL_OR_KEYWORD, default=vars(cls).get(name, kind.empty), annotation=annotation)
        for name, annotation in inspect.get_annotations(cls).items()
    }
    if own:
        cls._fields = fields = {**cls._fields, **own}
        cls.setting_names = tuple(name for name in fields if name not in _OF_ALL)
        cls.__init__ = _constructor(cls, fields)
        if "learning_rate" in own:
            del cls.learning_rate  # the base's property
    cls._declared = cls
    return cls


def _constructor(cls: type[Optimizer], fields: dict[str, inspect.Parameter]) -> Callable[..., None]:
    kind = inspect.Parameter
    signature = inspect.Signature(
        [kind("self", kind.POSITIONAL_OR_KEYWORD), *fields.values(), kind("kwargs", kind.VAR_KEYWORD)]
    )

    def __init__(self: Optimizer, *args: object, **kwargs: object) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        _, *values, more = bound.arguments.values()
        given = dict(zip(fields, values, strict=True))
        Optimizer.__init__(self, **{name: value for name, value in given.items() if name in _OF_ALL}, **more)
        for name in cls.setting_names:
            setattr(self, name, given[name])
        self.__post_init__()

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


if TYPE_CHECKING:

    @dataclass_transform(kw_only_default=True, eq_default=False)
    def _keywords(cls: type) -> type: ...

    @_keywords
    class _Keywords:
        """The keywords of every declared class, for editors and type checkers."""

        rescale_grad: float = 1.0
        param_idx2name: Any = None
        wd: float = 0.0
        clip_gradient: float | None = None
        learning_rate: Any = None
        lr_scheduler: LRScheduler | None = None
        begin_num_update: int = 0
        multi_precision: bool = False
        param_dict: Any = None
        aggregate_num: Any = None
        use_fused_step: bool | None = None

else:
    _Keywords = object


def _usual_base(cls: type) -> type:
    """Return the ``__base__`` of a class."""
    descriptor: Any = type.__dict__["__base__"]
    return descriptor.__get__(cls)


class _Kind(type):
    """The class of optimizer classes, whose ``__base__`` is what :func:`show_bases` was told."""

    base_of: ClassVar[Callable[[type], type]] = staticmethod(_usual_base)

    @property
    def __base__(cls) -> type:  # type: ignore[override]
        return _Kind.base_of(cls)


class Optimizer(_Keywords, metaclass=_Kind):
    """Base of all optimizers.

    Parameters
    ----------
    rescale_grad : float
        Factor of every gradient; the Trainer sets it to its scale over the batch size.
    param_idx2name : dict of int to str, optional
        Names of the parameters, by which multipliers may be given.
    wd : float
        Weight decay.
    clip_gradient : float, optional
        Clip each rescaled gradient to ``[-clip_gradient, clip_gradient]``. None, 0 and negative numbers do not clip.
    learning_rate : float, optional
        Learning rate; 0.01 if neither it nor a scheduler is given. With a scheduler it replaces the scheduler's base.
    lr_scheduler : LRScheduler, optional
        Gives the learning rate for an update count.
    begin_num_update : int
        Update count to start from.
    multi_precision : bool
        Update float32 copies of float16 and bfloat16 weights.
    param_dict : dict of int to Parameter, optional
        Parameters, whose ``lr_mult`` and ``wd_mult`` are obeyed.
    aggregate_num, use_fused_step, sym
        Accepted for compatibility; all parameters are always updated in one program. ``use_fused_step`` chooses between
        the two formulas of AdamW and LANS, and whether an override of ``step`` or ``fused_step`` is called.

    Examples
    --------
    >>> adam = create("adam", learning_rate=0.1)
    >>> adam.learning_rate, adam.state_names
    (0.1, ('mean', 'var'))
    """

    opt_registry: ClassVar[dict[str, type[Optimizer]]] = {}
    state_names: ClassVar[tuple[str, ...]] = ()
    setting_names: ClassVar[tuple[str, ...]] = ()  # the fields of a declared class
    _fields: ClassVar[dict[str, inspect.Parameter]] = {}  # the same fields, with their defaults
    derived_names: ClassVar[tuple[str, ...]] = ()  # properties that a formula reads besides the fields
    by_index: ClassVar[bool] = False
    rates_at_once: ClassVar[bool] = (
        False  # whether MXNet's fused step asks `_get_lrs` and `_get_wds` for several weights
    )
    guards: ClassVar[bool] = False  # whether a `rescale_grad` that is 0, infinite or NaN leaves out the update
    _declared: ClassVar[type | None] = None
    draws: ClassVar[bool] = False  # whether the formula draws random numbers, with `At.key`
    _gradients: Gradients = Gradients()  # how gradients are averaged and clipped first; the Trainer sets it
    by_element: ClassVar[bool] = True  # whether the formula treats each element by itself, except for `At.norm`

    _as_in_mxnet_1: ClassVar[bool] = False  # see `as_in_mxnet_1`

    # Names of methods that a class overrides: those that update ndarrays, and those that find the numbers of a step.
    _own_updates: ClassVar[tuple[str, ...]] = ()
    _own_numbers: ClassVar[tuple[str, ...]] = ()
    _own_devices: ClassVar[bool] = False  # whether a class overrides what is called before each device's update

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        updates = ("create_state", "step", "fused_step", "update")
        updates += ("create_state_multi_precision", "update_multi_precision")
        numbers = ("_update_count", "_get_lr", "_get_lrs", "_get_wd", "_get_wds")
        cls._own_updates = tuple([name for name in updates if getattr(cls, name) is not getattr(Optimizer, name)])
        cls._own_numbers = tuple([name for name in numbers if getattr(cls, name) is not getattr(Optimizer, name)])
        if "_set_current_context" in vars(cls) and "_set_current_device" not in vars(cls):  # its name in MXNet 1
            cls._set_current_device = cls._set_current_context  # type: ignore[method-assign]
        cls._own_devices = cls._set_current_device is not Optimizer._set_current_device

    @classmethod
    def is_declared(cls) -> bool:
        """Return whether this class itself was :func:`declared`."""
        return cls._declared is cls

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: dict[int, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: LRScheduler | None = None,
        sym: object = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: dict[Any, Any] | None = None,
        aggregate_num: int | None = None,
        use_fused_step: bool | None = None,
        **unknown: object,
    ) -> None:
        refuse(type(self).__name__, unknown, _settings(type(self)))
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        self.lr = 0.01 if lr_scheduler is None and learning_rate is None else learning_rate
        scheduler: Any = lr_scheduler  # any callable of a count; only some have a base_lr
        if learning_rate is not None and getattr(scheduler, "base_lr", learning_rate) != learning_rate:
            warn(_OVERWRITES.format(old=scheduler.base_lr, new=learning_rate, name=type(self).__name__))
            scheduler.base_lr = learning_rate
        self.wd = wd
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 1 if aggregate_num is None else aggregate_num
        self.use_fused_step = bool(use_fused_step)
        self.begin_num_update = self.num_update = begin_num_update
        self.idx2name = dict(param_idx2name or {})
        self.param_dict = param_dict or {}
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self._index_update_count: dict[Any, int] = {}
        self._all_index_update_counts: dict[int, dict[Any, int]] = {}  # those of the other devices
        self._current_device = 0
        self._uniform = True
        self._decays = False
        self._begin()
        self.set_lr_mult({})
        self.set_wd_mult({})

    def _begin(self) -> None:
        """Set up the caches, which copies and pickles do not contain."""
        self._own_rules: dict[Any, Any] = {}
        # While all counts are equal: the dict that has them, the indices that were counted together, and the count.
        self._in_step: tuple[dict[Any, int] | None, Any, int] = (None, None, 0)
        self._ordered: tuple[Any, list[Any]] = (None, [])
        self._steady: tuple[Any, Any] = (None, None)  # the inputs of the last step's rates, and these rates

    def __post_init__(self) -> None:
        """Check the settings after the constructor of a declared class has set them."""

    # ------------------------------------------------------------- registry

    @staticmethod
    def register(klass: Class) -> Class:
        """Make a class known to `create` by its name in lower case; a decorator.

        Examples
        --------
        >>> from gluonx import optimizer
        >>> @optimizer.register
        ... class Halved(optimizer.SGD):
        ...     pass
        >>> type(optimizer.create("halved")).__name__
        'Halved'
        >>> del optimizer.Optimizer.opt_registry["halved"]
        """
        Optimizer.opt_registry[klass.__name__.lower()] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str | Optimizer | optax.GradientTransformation, **kwargs: Any) -> Optimizer:
        """Return an optimizer for a name, an optimizer, or an optax transformation.

        Raises
        ------
        ValueError
            If no optimizer has that name.
        TypeError
            If settings come with an object that has its own.

        Examples
        --------
        >>> from gluonx import optimizer
        >>> optimizer.create("sgd", learning_rate=0.5).learning_rate
        0.5
        """
        if isinstance(name, str):
            klass = Optimizer.opt_registry.get(name.lower())
            if klass is None:
                raise ValueError(
                    f"No optimizer is called {name!r}; there are {', '.join(sorted(Optimizer.opt_registry))}."
                )
            return klass(**kwargs)
        if isinstance(name, Optimizer):
            if set(kwargs) - {"param_dict"}:
                raise TypeError(f"{name!r} has its settings already; give no others: {', '.join(sorted(kwargs))}.")
            name.param_dict = kwargs.get("param_dict", name.param_dict)
            return name
        return from_optax(name, **kwargs)

    # ------------------------------------------------------------- learning rate, multipliers

    if TYPE_CHECKING:
        learning_rate: Any  # the constructor takes a number
    else:

        @property
        def learning_rate(self) -> Any:
            """The current learning rate: the scheduler's for the present update count, else the one that was set."""
            return Optimizer._rate(self)

    def _rate(self) -> Any:
        """Return the learning rate of a rule, before multipliers."""
        # A schedule counts updates: one for `accumulate` steps.
        return (
            self.lr
            if self.lr_scheduler is None
            else self.lr_scheduler(-(-self.num_update // self._gradients.accumulate))
        )

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate.

        Raises
        ------
        UserWarning
            If a scheduler decides it.
        """
        if self.lr_scheduler is not None:
            raise UserWarning(
                "The learning rate of this optimizer comes from its lr_scheduler. "
                "Change the scheduler, or set optimizer.lr_scheduler to None first."
            )
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: dict[Any, float]) -> None:
        """Set factors of the learning rate by parameter index or name.

        A Parameter's own ``lr_mult`` takes precedence.
        """
        self.lr_mult = dict(args_lr_mult)

    def set_wd_mult(self, args_wd_mult: dict[Any, float]) -> None:
        """Set factors of the weight decay by parameter index or name.

        A Parameter's own ``wd_mult`` takes precedence.
        """
        spared = self.idx2name.values() if self._as_in_mxnet_1 else ()
        self.wd_mult = {name: 0.0 for name in spared if not name.endswith(("_weight", "_gamma"))}
        self.wd_mult.update(args_wd_mult)

    def _mults(self, indices: Iterable[Any], attribute: str) -> list[float]:
        params, table, names = self.param_dict, getattr(self, attribute), self.idx2name
        if type(indices) is list and all(i in params for i in indices):
            self._ordered = (indices, [params[i] for i in indices])
        return [
            getattr(params[i], attribute) if i in params
            else table[i] if i in table
            else table.get(names.get(i), 1.0)
            for i in indices
        ]  # fmt: skip

    def _get_lrs(self, indices: Sequence[Any]) -> list[float]:
        lr = self._rate()
        return [lr * m for m in self._mults(indices, "lr_mult")]

    def _get_lr(self, index: object) -> float:
        return self._get_lrs([index])[0]

    def _get_wds(self, indices: Sequence[Any]) -> list[float]:
        return [self.wd * m for m in self._mults(indices, "wd_mult")]

    def _get_wd(self, index: object) -> float:
        return self._get_wds([index])[0]

    def _update_count(self, index: Any) -> None:
        counts, same, count = self._in_step
        if counts is self._index_update_count and same is index:
            # All of them moved together so far, so they are written in one go.
            count += 1
            self._index_update_count = counts = dict.fromkeys(index, count)
            self._in_step = (counts, index, count)
            self.num_update = max(count, self.num_update)
            return
        counts = self._index_update_count = dict(self._index_update_count)
        for i in index if isinstance(index, (list, tuple)) else (index,):
            counts[i] = count = counts.get(i, self.begin_num_update) + 1
            self.num_update = max(count, self.num_update)
        if type(index) is list and len(counts) == len(index) and len(set(counts.values())) == 1:
            self._in_step = (counts, index, next(iter(counts.values())))

    # ------------------------------------------------------------- the rule and its numbers

    @classmethod
    def formula(
        cls, settings: Any, weight: jax.Array, grad: jax.Array, leaves: tuple[Any, ...], at: At
    ) -> tuple[Any, tuple[Any, ...]]:
        """Compute the change of one weight, and its new states.

        Parameters
        ----------
        settings : tuple with names
            The fields of the class, `derived_names`, and ``clip_gradient``, ``multi_precision``, ``use_fused_step``.
        weight, grad : jax.Array
            Of one shape, in float32 or wider; the gradient is rescaled.
        leaves : tuple of jax.Array
            The states, in the order of `state_names`.
        at : At
            The numbers of the step.

        Returns
        -------
        tuple of (jax.Array, tuple of jax.Array)
            What is to be added to the weight, and the states.
        """
        raise NotImplementedError(_NO_FORMULA.format(name=cls.__name__))

    def _formula(self) -> Step:
        """Return the formula for one weight with the present settings (see `per_parameter`)."""
        if type(self).formula.__func__ is Optimizer.formula.__func__:  # type: ignore[attr-defined]
            raise NotImplementedError(_NO_FORMULA.format(name=type(self).__name__))
        record = collections.namedtuple("Settings", self._names())
        return functools.partial(type(self).formula, record(*_reader(type(self))(self)))

    def _states(self) -> dict[str, Any]:
        """Return how each state of a weight begins: zeros like the weight, unless a class says otherwise."""
        return {name: zeros_like_weight() for name in self.state_names}

    def _updates_lazily(self) -> bool:
        """Return whether a gradient by rows updates only these rows (`gluonx.optimizer.lazily`)."""
        return False

    @property
    def alters_gradients(self) -> bool:
        """True if gradients are summed over steps, or clipped by their common norm, before the rule gets them."""
        return self._gradients != (1, None)

    @classmethod
    def _names(cls) -> tuple[str, ...]:
        return (*cls.setting_names, *cls.derived_names, *_OF_FORMULAS)

    def _settings(self) -> tuple[Any, ...]:
        """Return everything that a rule depends on; equal settings give the same rule."""
        return (*_reader(type(self))(self), self._updates_lazily(), self._gradients)

    def rule(self, indices: Sequence[Any] | None = None) -> optax.GradientTransformationExtraArgs | None:
        """Return the pure update rule for the present settings.

        Parameters
        ----------
        indices : sequence, optional
            The parameters' indices in order; only LARS, which goes by their names, looks at them.

        Returns
        -------
        optax.GradientTransformationExtraArgs or None
            The same object as long as no setting changed (``lr``, ``wd``, ``rescale_grad`` and counts are arguments of
            the rule, not settings). None if the class overrides ``step``: then `update` must run it on ndarrays.
        """
        found = None if self._is_imperative() else self._make_rule(indices)
        if type(found) is not Rule:
            return found
        return self._once_made(("optax", found), found.as_optax)

    def own_rule(self, indices: Sequence[Any] | None = None) -> Any:
        """Return `rule` without making it an object of optax, whose import takes a tenth of a second."""
        if type(self).rule is not Optimizer.rule:
            return self.rule(indices)
        return None if self._is_imperative() else self._make_rule(indices)

    def _make_rule(self, indices: Sequence[Any] | None, by_hand: bool = False) -> Any:
        """Return the rule of a Trainer's step; with `by_hand` without averaging, clipping and float32 copies."""
        order = tuple(indices) if indices is not None and self.by_index else None

        def make() -> Any:
            found = self._bare_rule(order, self._updates_lazily() and (by_hand or not self.alters_gradients))
            return found if by_hand else self._completed(found)

        return self._once_made((type(self), self._settings(), order, by_hand), make, by_hand and self.by_index)

    def _bare_rule(self, order: Sequence[Hashable] | None, lazily: bool) -> MadeRule:
        return per_parameter(self._states(), self._formula(), order, self.by_index, self.draws, lazily)

    def _once_made(self, key: Hashable, make: Callable[[], Any], own: bool = False) -> Any:
        """Return ``make()``, cached by `key`; equal optimizers of a declared class share the result.

        The key holds everything that a declared formula reads. A user's class may read more, so each of its objects has
        a cache of its own. Results for single parameters (`own`) go there too, because they would fill the common
        cache.
        """
        if own or not self.is_declared():
            return recall(self._own_rules, key, _MOST_OWN, make)
        return recall(_made, key, policy.SHARED, make)

    def _completed(self, rule: MadeRule) -> MadeRule:
        """Return a rule with the averaging, clipping and float32 copies of a Trainer's step around it."""
        if self.alters_gradients:
            rule = altered(rule, self._gradients)
        return with_master_weights(rule) if self.multi_precision else rule

    def flat_rule(self, weights: Sequence[Any], indices: Sequence[Any] | None = None) -> FlatRule | None:
        """Return `rule` for a list of weights, on flat tuples; cached by settings, shapes and dtypes."""
        tx = self.own_rule(indices)
        return None if tx is None else self._fix(tx, weights)

    def _fix(self, tx: Rule | optax.GradientTransformation, weights: Sequence[Any]) -> FlatRule:
        shapes = tuple((tuple(w.shape), np.dtype(w.dtype)) for w in weights)
        return self._once_made((tx, shapes), lambda: FlatRule(tx, weights))

    def _rule_by_hand(self, indices: Sequence[Any], weights: Sequence[Any]) -> FlatRule:
        """Return the rule for so many weights of any shapes, since formulas do not depend on shapes."""
        tx = self._make_rule(indices, by_hand=True)
        if not self.is_declared() or not getattr(tx.init, "by_parameter", False):
            return self._fix(tx, weights)

        def alone(index: object) -> FlatRule:
            one = self._make_rule((index,), by_hand=True) if self.by_index else tx
            return self._once_made(("alone", one), lambda: FlatRule(one, weights[:1]), self.by_index)

        def make() -> FlatRule:
            rule = FlatRule(tx, weights)
            rule.form = None if self.draws else ByHand([alone(i) for i in indices])
            return rule

        return self._once_made(("by hand", tx, len(weights)), make, self.by_index)

    def hyper(self, indices: Sequence[Any]) -> np.ndarray:
        """Return the numbers of the present step for `FlatRule.apply` as one float32 vector.

        Count the step first, as `counted` does. The vector has 4 entries while all parameters share rate, decay and
        count, else 1 + 3 entries per parameter, and none for the decay until there is one. Once it has been long it
        stays long, so that a program recompiles at most twice for this.
        """
        return self.step_numbers(indices).vector()

    def counted(self, updated: Sequence[Any], indices: Sequence[Any]) -> StepNumbers:
        """Count an update of some weights, and return the numbers of the step for all of `indices`, as `step_numbers`.

        If a class overrides ``_update_count``, ``_get_lr``, ``_get_lrs``, ``_get_wd`` or ``_get_wds``, these are called
        in MXNet's order: weight by weight, or for as many weights as MXNet's rule of that name updates together.
        """
        if self._own_numbers:
            return self._asked(updated, indices)
        self._update_count(updated)
        return self.step_numbers(indices)

    def _asked(self, updated: Sequence[Any], indices: Sequence[Any]) -> StepNumbers:
        rates, decays = dict.fromkeys(indices, 0.0), dict.fromkeys(indices, 0.0)
        at_once = self.rates_at_once and self.use_fused_step
        most = int(min(self.aggregate_num, len(updated))) if at_once else 1
        asked = self._own_numbers
        for k in range(0, len(updated), most):
            some = list(updated[k : k + most])
            self._update_count(some if at_once else some[0])
            for found, one, all_of_them in ((rates, "_get_lr", "_get_lrs"), (decays, "_get_wd", "_get_wds")):
                if at_once and (all_of_them in asked or one not in asked):
                    found.update(zip(some, map(_number, getattr(self, all_of_them)(some)), strict=True))
                else:
                    found.update({i: _number(getattr(self, one)(i)) for i in some})
        self._uniform, self._decays = False, self._decays or any(decays.values())
        counts = [self._index_update_count.get(i, self.begin_num_update) for i in indices]
        wanted = [rates[i] for i in indices], [decays[i] for i in indices]
        return StepNumbers(counts, Rates(*wanted, self.rescale_grad, False, self._decays))

    def step_numbers(self, indices: Sequence[Any]) -> StepNumbers:
        """Return the numbers that `hyper` puts into its vector."""
        common, moved, count = self._in_step
        together = common is self._index_update_count and moved == indices
        same, ordered = self._ordered
        if same is indices:
            mults = list(map(_multipliers, ordered))
        else:
            mults = list(zip(self._mults(indices, "lr_mult"), self._mults(indices, "wd_mult"), strict=True))
        made_of = (self._rate(), self.wd, self.rescale_grad, mults, self._uniform, self._decays)
        before, rates = self._steady
        if together and made_of == before:  # nothing but the count has changed since the last step
            return StepNumbers([count] * len(rates.lr), rates)
        counts = [count] if together else [self._index_update_count.get(i, self.begin_num_update) for i in indices]
        rate, decay, rescale = made_of[:3]
        lr, wd = list[Any](m for m, _ in mults), list[Any](m for _, m in mults)
        fixed = all(isinstance(x, (int, float, np.generic)) for x in (rate, decay, rescale, *lr, *wd))
        self._uniform = self._uniform and all(values.count(values[0]) == len(values) for values in (counts, lr, wd))
        self._decays = self._decays or decay != 0
        if self._uniform:
            counts, lr, wd = counts[:1], lr[:1], wd[:1]
        else:
            counts = counts * (len(lr) // len(counts))
        rates = Rates([rate * m for m in lr], [decay * m for m in wd], rescale, self._uniform, self._decays)
        # Remembered only if made of what nobody can change in place.
        self._steady = ((*made_of[:4], self._uniform, self._decays), rates) if fixed else (None, None)
        return StepNumbers(counts, rates)

    def is_refused(self) -> bool:
        """Return whether the update of a step is left out for its `rescale_grad` (`guards`); it counts all the same."""
        return self.guards and not 0 < abs(self.rescale_grad) < math.inf

    # ------------------------------------------------------------- imperative use, as in MXNet

    def _is_imperative(self) -> bool:
        """Return whether a subclass updates in its own way, so that it must be called array by array."""
        return bool(self._own_updates)

    def _own_attributes(self) -> dict[str, Any]:
        """Return what a class of the user's keeps in attributes: settings, a schedule's product, momenta.

        Files of states hold them, as MXNet's do, which are pickles of the whole optimizer.
        """
        known = vars(Optimizer())
        return {name: v for name, v in vars(self).items() if name not in known and not hasattr(Optimizer, name)}

    def create_state(self, index: Hashable, weight: ndarray) -> Any:
        """Make the state of one weight: None, an ndarray, or a tuple of ndarrays."""
        return make_state(self, weight)

    def create_state_multi_precision(self, index: Hashable, weight: ndarray) -> Any:
        """Make ``(float32 copy, its state)`` for a narrow weight with ``multi_precision``, else its state."""
        narrow = np.dtype(weight.dtype).name in ("float16", "bfloat16")
        if narrow and self.multi_precision:
            master = weight.astype("float32")
            return master, self.create_state(index, master)
        if narrow:
            warn(_NARROW.format(dtype=np.dtype(weight.dtype).name))
        return self.create_state(index, weight)

    def step(self, indices: Sequence[Any], weights: Sequence[Any], grads: Sequence[Any], states: Sequence[Any]) -> None:
        """Update ndarrays in place. A subclass may override it with its own imperative code."""
        run_rule(self, indices, weights, grads, states)

    def fused_step(
        self, indices: Sequence[Any], weights: Sequence[Any], grads: Sequence[Any], states: Sequence[Any]
    ) -> None:
        """Update like `step`, for ``use_fused_step``; a second method that a subclass may override."""
        if type(self).formula.__func__ is Optimizer.formula.__func__:  # type: ignore[attr-defined]
            self.step(indices, weights, grads, states)
        else:
            run_rule(self, indices, weights, grads, states)

    def update(
        self, indices: Sequence[Any], weights: Sequence[Any], grads: Sequence[Any], states: Sequence[Any]
    ) -> None:
        """Update weights and states in place; states are those of `create_state`.

        As in MXNet 1 it may be one weight: an index, its arrays and its state, none of them in a list.
        """
        if not isinstance(indices, (list, tuple)):
            indices, weights, grads, states = [indices], [weights], [grads], [states]
        (self.fused_step if self.use_fused_step else self.step)(indices, weights, grads, states)

    def update_multi_precision(
        self, indices: Sequence[Any], weights: Sequence[Any], grads: Sequence[Any], states: Sequence[Any]
    ) -> None:
        """Update weights and states in place, or one weight; states are those of `create_state_multi_precision`."""
        if not isinstance(indices, (list, tuple)):
            indices, weights, grads, states = [indices], [weights], [grads], [states]
        masters = [self._has_master(w) for w in weights]
        full = [s[0] if m else w for m, w, s in zip(masters, weights, states, strict=True)]
        grads = [g.astype("float32") if m else g for m, g in zip(masters, grads, strict=True)]
        inner = [s[1] if m else s for m, s in zip(masters, states, strict=True)]
        if self._updates_one():
            for one in zip(indices, full, grads, inner, strict=True):
                self.update(*one)
        else:
            self.update(indices, full, grads, inner)
        for has_master, weight, master in zip(masters, weights, full, strict=True):
            if has_master:
                weight[:] = master.astype(weight.dtype)

    def _updates_one(self) -> bool:
        """Return whether `update` is a user's, for one weight: ``update(self, index, weight, grad, state)``."""
        update = type(self).update
        if update is Optimizer.update:
            return False
        first = _first_parameter(update)
        return first == "index" or (first != "indices" and self._as_in_mxnet_1)

    def _has_master(self, weight: ndarray) -> bool:
        return self.multi_precision and np.dtype(weight.dtype).name in ("float16", "bfloat16")

    # ------------------------------------------------------------- copies and display

    def _set_current_device(self, device_id: int) -> None:
        """Count with the counters of another device, since each device updates all of its weights once a step."""
        if device_id != self._current_device:
            self._all_index_update_counts[self._current_device] = self._index_update_count
            self._index_update_count = self._all_index_update_counts.get(device_id, {})
            self._current_device = device_id

    _set_current_context = _set_current_device

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the parameters, which belong to others, and the rules, which are made again."""
        found_again = ("_own_rules", "_in_step", "_ordered", "_steady")
        return {**{k: v for k, v in self.__dict__.items() if k not in found_again}, "param_dict": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin()
        vars(self).update(state)

    def __repr__(self) -> str:
        rate = f"lr_scheduler={self.lr_scheduler!r}" if self.lr_scheduler is not None else f"learning_rate={self.lr}"
        own = [f"{name}={getattr(self, name)!r}" for name in self.setting_names]
        return f"{type(self).__name__}({', '.join([rate, *own, f'wd={self.wd}'])})"


def as_in_mxnet_1(on: bool) -> None:
    """Choose whether optimizers are those of MXNet 1.

    A user's ``update(self, anything, ...)`` is called for each weight there, and only weights and gammas decay, if an
    optimizer knows parameters by name.
    """
    Optimizer._as_in_mxnet_1 = on


def show_bases(base_of: Callable[[type], type] = _usual_base) -> None:
    """Choose what ``__base__`` of an optimizer's class is, by which programs of MXNet look for optimizers."""
    _Kind.base_of = staticmethod(base_of)


@functools.cache
def _first_parameter(method: Callable[..., Any]) -> str:
    """Return the name of the first parameter of a method after ``self``."""
    return [*inspect.signature(method).parameters, "", ""][1]


def _number(value: Any) -> float:
    """Return a rate as a number, because some programs store it as an array."""
    return float(value.item() if hasattr(value, "item") else value)


@functools.cache
def _reader(cls: type[Optimizer]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads the settings of an optimizer of this class; it runs at each step."""
    return attrgetter(*cls._names())


# Settings that all optimizers have and formulas may read.
_OF_FORMULAS = ("clip_gradient", "multi_precision", "use_fused_step")
_OF_ALL = frozenset(inspect.signature(Optimizer).parameters) - {"unknown"}


register = Optimizer.register
create = Optimizer.create_optimizer


# -------------------- optax

_NOT_OPTAX = (
    "An optimizer is the name of one (such as 'adam'), an Optimizer of gluonx, or an optax transformation "
    "(an object with init and update); this is a {kind}."
)
_OWN_RATE = (
    "The learning rate of this optimizer is inside the optax transformation. To set it from outside, leave it out of "
    "the transformation and give it here: from_optax(optax.scale_by_adam(), learning_rate=1e-3)."
)
_OWN_DECAY = "An optax transformation decays weights itself: put optax.add_decayed_weights into it instead of wd={wd}."


def from_optax(tx: optax.GradientTransformation, **settings: Any) -> OptaxOptimizer:
    """Wrap an optax transformation as an Optimizer.

    Parameters
    ----------
    tx : optax.GradientTransformation
        Such as ``optax.adam(1e-3)``, with its learning rate inside; or, if ``learning_rate`` or ``lr_scheduler`` is
        given, one without, such as ``optax.scale_by_adam()``, whose output is multiplied with minus the learning rate.
    **settings
        ``learning_rate``, ``lr_scheduler``, ``multi_precision`` and ``rescale_grad`` as of `Optimizer`. A parameter's
        ``lr_mult`` multiplies its change in either case; ``wd_mult`` is not used.

    Returns
    -------
    OptaxOptimizer

    Raises
    ------
    TypeError
        If ``tx`` is not an optax transformation.
    ValueError
        If ``wd`` or ``clip_gradient`` is given, which optax has its own pieces for.

    Examples
    --------
    >>> import optax
    >>> from_optax(optax.sgd(0.1)).learning_rate is None
    True
    >>> from_optax(optax.scale_by_adam(), learning_rate=0.01).learning_rate
    0.01
    """
    return OptaxOptimizer(tx, **settings)


@declared
class OptaxOptimizer(Optimizer):
    """An Optimizer whose rule is an optax transformation; see `from_optax`.

    Examples
    --------
    >>> import optax
    >>> OptaxOptimizer(optax.scale_by_adam(), learning_rate=0.01)
    OptaxOptimizer(learning_rate=0.01)
    >>> OptaxOptimizer(optax.adam(0.01))
    OptaxOptimizer(learning_rate=inside the transformation)
    """

    by_element = False

    def __init__(self, tx: optax.GradientTransformation, learning_rate: float | None = None, **settings: Any) -> None:
        if not (callable(getattr(tx, "init", None)) and callable(getattr(tx, "update", None))):
            raise TypeError(_NOT_OPTAX.format(kind=type(tx).__name__))
        if settings.get("wd"):
            raise ValueError(_OWN_DECAY.format(wd=settings["wd"]))
        if settings.get("clip_gradient"):
            raise ValueError("An optax transformation clips gradients itself: put optax.clip into it.")
        self._outer_rate = learning_rate is not None or settings.get("lr_scheduler") is not None
        super().__init__(learning_rate=learning_rate, **settings)
        if not self._outer_rate:
            self.lr = None
        self.tx = tx

    def set_learning_rate(self, lr: float) -> None:
        """Set the outer learning rate.

        Raises
        ------
        UserWarning
            If the learning rate is inside the transformation, or a scheduler decides it.
        """
        if not self._outer_rate:
            raise UserWarning(_OWN_RATE)
        super().set_learning_rate(lr)

    def _rate(self) -> float:
        return self.learning_rate if self._outer_rate else 1.0

    def _settings(self) -> tuple[Any, ...]:
        return (self.tx, self._outer_rate, self.multi_precision, self._gradients)

    def _bare_rule(self, order: Sequence[Hashable] | None, lazily: bool) -> MadeRule:
        return scaled(self.tx, -1.0 if self._outer_rate else 1.0)

    def __repr__(self) -> str:
        return f"OptaxOptimizer(learning_rate={self.lr if self._outer_rate else 'inside the transformation'})"
