"""Optimizers, metrics and losses as MXNet 1 had them, where MXNet 2 changed a default or what is averaged.

While a program runs on `gluonx.compat` and has not called ``set_np()``, these stand in the registries (so that
``Trainer(params, 'nag')`` and ``metric.create('rmse')`` find them) and under ``mx.optimizer`` and ``mx.metric``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as onp

from gluonx import loss, metric, ops, optimizer
from gluonx.metric import base
from gluonx.ops.updates import average, bias_correction
from gluonx.optimizer.optimizer import as_in_mxnet_1, declared
from gluonx.optimizer.rules import clipped, decayed, preprocess

if TYPE_CHECKING:
    import jax

    from gluonx.np.handle import ndarray
    from gluonx.optimizer.rules import At


# -- optimizers -------------------------------------------------------------------------------------------------------


def _optimizer(
    klass: type, defaults: dict[str, Any] | None = None, renamed: dict[str, str] | None = None, order: str = ""
) -> type:
    """`klass` with MXNet 1's defaults, names and order of keywords. A rate of None is 0.01, or a scheduler's."""
    first = order.split()

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if first:
            if len(args) > len(first):
                raise TypeError(
                    f"{klass.__name__} takes at most {len(first)} arguments by position: {', '.join(first)}"
                )
            args, kwargs = (), {**dict(zip(first, args, strict=False)), **kwargs}
        for old, new in (renamed or {}).items():
            if old in kwargs:
                kwargs[new] = kwargs.pop(old)
        super(made, self).__init__(*args, **{**(defaults or {}), **kwargs})

    docs = f"`gluonx.optimizer.{klass.__name__}` with the defaults of MXNet 1: {defaults or 'the same'}."
    made = type(klass.__name__, (klass,), {"__init__": __init__, "__doc__": docs})
    return made


def _clips_decay(klass: type) -> type:
    """`klass` as MXNet 1 computed it: the gradient is clipped when the weight decay has been added."""

    def formula(
        cls: type, settings: Any, weight: jax.Array, grad: jax.Array, leaves: Sequence[jax.Array], at: At
    ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        grad = clipped(decayed(grad, at.wd, weight), settings.clip_gradient)
        return super(made, cls).formula(
            settings._replace(clip_gradient=None), weight, grad, leaves, at._replace(wd=0.0)
        )

    docs = f"`gluonx.optimizer.{klass.__name__}`; it clips gradients with the weight decay in them, as in MXNet 1."
    made: Any = type(klass.__name__, (klass,), {"formula": classmethod(formula), "__doc__": docs})
    return made


class _NAG(optimizer.NAG):
    """NAG by MXNet 1's defaults; its momentum remembers the decay of the weight that the step has made already."""

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(momentum=momentum, **{"learning_rate": None, **kwargs})

    @classmethod
    def formula(cls, settings: Any, weight: jax.Array, grad: jax.Array, leaves: Any, at: At) -> Any:
        change, new = super().formula(settings, weight, grad, leaves, at)
        if leaves:
            descent = at.lr * preprocess(weight + change, grad, at.wd, settings.clip_gradient)
            new = (settings.momentum * leaves[0] - descent,)
        return change, new


class _DCASGD(optimizer.DCASGD):
    """DCASGD as MXNet 1 computed it: the compensation does not see the weight decay."""

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(momentum=momentum, lamda=lamda, **{"learning_rate": None, **kwargs})

    @classmethod
    def formula(
        cls, settings: Any, weight: jax.Array, grad: jax.Array, leaves: Any, at: At
    ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        if len(leaves) > 1:
            return super().formula(settings, weight, grad, leaves, at)  # MXNet 1 refuses a momentum here
        change, new = super().formula(settings, weight, grad, leaves, at._replace(wd=0.0))
        return decayed(change, at.wd, weight, -at.lr), new


@_clips_decay
class _Adamax(optimizer.Adamax):
    """Adamax as MXNet 1 computed it: nothing is added to the maximum that it divides by."""

    @classmethod
    def formula(
        cls, settings: Any, weight: jax.Array, grad: jax.Array, leaves: Sequence[jax.Array], at: At
    ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        mean = average(leaves[0], grad, settings.beta1)
        top = jnp.maximum(settings.beta2 * leaves[1], jnp.abs(grad))
        return -(at.lr / bias_correction(settings.beta1, at.t)) * mean / top, (mean, top)


class _AdaGrad(optimizer.AdaGrad):
    """AdaGrad as MXNet 1 computed it: `eps` under the root, the weight decay outside of the sum of squares."""

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(epsilon=kwargs.pop("epsilon", eps), **{"learning_rate": None, **kwargs})

    @classmethod
    def formula(
        cls, settings: Any, weight: jax.Array, grad: jax.Array, leaves: Sequence[jax.Array], at: At
    ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        grad = preprocess(weight, grad, jnp.zeros_like(at.wd), settings.clip_gradient)
        history = leaves[0] + jnp.square(grad)
        return -at.lr * (grad / jnp.sqrt(history + settings.epsilon) + weight * at.wd), (history,)


class _GroupAdaGrad(optimizer.GroupAdaGrad):
    """GroupAdaGrad as MXNet 1 computed it: `eps` under the root."""

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(epsilon=kwargs.pop("epsilon", eps), **{"learning_rate": None, **kwargs})

    @classmethod
    def formula(
        cls, settings: Any, weight: jax.Array, grad: jax.Array, leaves: Sequence[jax.Array], at: At
    ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        grad = clipped(grad, settings.clip_gradient)
        history = leaves[0] + jnp.mean(jnp.square(grad), axis=tuple(range(1, grad.ndim)), keepdims=True)
        return -at.lr * grad / jnp.sqrt(history + settings.epsilon), (history,)


class _AdaDelta(optimizer.AdaDelta):
    """AdaDelta as MXNet 1 computed it: no learning rate, the weight decay beside the step."""

    def __init__(self, rho: float = 0.9, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(rho=rho, epsilon=epsilon, **{"learning_rate": None, **kwargs})

    @classmethod
    def formula(
        cls, settings: Any, weight: jax.Array, grad: jax.Array, leaves: Sequence[jax.Array], at: At
    ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        rho, epsilon = settings.rho, settings.epsilon
        grad = preprocess(weight, grad, jnp.zeros_like(at.wd), settings.clip_gradient)
        of_grad = average(leaves[0], jnp.square(grad), rho)
        change = jnp.sqrt(leaves[1] + epsilon) / jnp.sqrt(of_grad + epsilon) * grad
        of_change = average(leaves[1], jnp.square(change), rho)
        return -(change + at.wd * weight), (of_grad, of_change)


@_clips_decay
class _RMSProp(optimizer.RMSProp):
    """RMSProp by its former keywords, `epsilon` under the root."""

    gamma1 = property(attrgetter("rho"), doc="The share of the average of squares that stays.")
    gamma2 = property(attrgetter("momentum"), doc="The momentum, where it is centered.")

    def __init__(self, learning_rate: float = 0.001, gamma1: float = 0.9, gamma2: float = 0.9, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **{"rho": gamma1, "momentum": gamma2, **kwargs})

    @staticmethod
    def _plain(grad: Any, states: Any, rate: Any, rho: Any, epsilon: Any) -> Any:
        var = average(states[0], jnp.square(grad), rho)
        return rate * grad / jnp.sqrt(var + epsilon), (var,)


class _Test(optimizer.Test):
    """MXNet 1's optimizer for tests: it adds the gradient, and its state is the weight afterwards."""

    @classmethod
    def formula(
        cls, settings: Any, weight: jax.Array, grad: jax.Array, leaves: Sequence[jax.Array], at: At
    ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        return grad, (weight + grad,)


class LBSGD(optimizer.Optimizer):
    """SGD of large batches, as MXNet 1 had it: gradients of several batches make one step, and the rate warms up.

    Parameters
    ----------
    momentum : float
    multi_precision : bool
    warmup_strategy : {'linear', 'power2', 'sqrt', 'lars'}
        How the factor of the rate grows to `batch_scale`; or the ratio of the norms of weight and gradient.
    warmup_epochs, updates_per_epoch : int
        How long that takes.
    batch_scale : int
        The number of batches whose gradients make a step.
    begin_epoch, num_epochs : int
    """

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(multi_precision=multi_precision, **{"use_fused_step": False, **kwargs})
        self.momentum, self.warmup_strategy, self.warmup_epochs = momentum, warmup_strategy, warmup_epochs
        self.batch_scale, self.updates_per_epoch, self.num_epochs = batch_scale, updates_per_epoch, num_epochs
        self.init_updates = begin_epoch * updates_per_epoch
        self._sums: dict[Any, tuple[Any, int]] = {}

    def create_state(self, index: Any, weight: Any) -> Any:
        """Return zeros for the momentum; None without one."""
        return None if self.momentum == 0.0 else weight.zeros_like()

    def _factor(self, count: int, weight: Any, grad: Any, wd: float) -> float:
        if self.warmup_strategy == "lars":
            ours, theirs = (float((x.asnumpy().astype("float64") ** 2).sum()) for x in (weight, grad))
            return min(max(math.sqrt(ours / (theirs + wd * ours + 1e-18)), 0.01), 100.0)
        steps, top = self.warmup_epochs * self.updates_per_epoch, float(self.batch_scale)
        if count >= steps:
            return top
        grown = {"linear": 1.0, "power2": 2.0, "sqrt": 0.5}.get(self.warmup_strategy)
        return 1.0 if grown is None or steps <= 1 else 1.0 + (top - 1) * (count / steps) ** grown

    def step(self, indices: Any, weights: Any, grads: Any, states: Any) -> None:
        """Add up gradients, and update by those of `batch_scale` batches."""
        for index, weight, grad, state in zip(indices, weights, grads, states, strict=True):
            lr, wd = self._get_lr(index), self._get_wd(index)
            self._update_count(index)
            before, count = self._sums.get(index, (None, self.init_updates))
            total, count = grad.copy() if before is None else before + grad, count + 1
            self._sums[index] = (None if count % self.batch_scale == 0 else total), count
            if count % self.batch_scale:
                continue
            mean = total / self.batch_scale
            lr *= self._factor(count, weight, mean, wd)
            change = mean * self.rescale_grad
            if self.clip_gradient:
                change = change.clip(-self.clip_gradient, self.clip_gradient)
            change = -lr * (change + wd * weight)
            if state is not None:
                state[:] = change = self.momentum * state + change
            weight[:] = weight + change


for _klass in (_AdaGrad, _GroupAdaGrad, _AdaDelta, _RMSProp, _Adamax, _NAG, _DCASGD, _Test):
    _klass.__name__ = _klass.__name__.removeprefix("_")
_NO_RATE = {"learning_rate": None}
_LAZY = {"lazy_update": True}  # only gradients by rows tell
OPTIMIZERS: dict[str, type] = {
    "SGD": _optimizer(optimizer.SGD, {**_NO_RATE, **_LAZY}, order="momentum lazy_update"),
    "NAG": _NAG,
    "SGLD": _optimizer(optimizer.SGLD, _NO_RATE),
    "DCASGD": _DCASGD,
    "FTML": _clips_decay(_optimizer(optimizer.FTML, _NO_RATE, order="beta1 beta2 epsilon")),
    "Ftrl": _optimizer(optimizer.Ftrl, order="lamda1 learning_rate beta"),
    "Adam": _clips_decay(_optimizer(optimizer.Adam, _LAZY)),
    "Adamax": _Adamax,
    "Nadam": _clips_decay(optimizer.Nadam),
    "LARS": _optimizer(
        optimizer.LARS, {**_NO_RATE, "epsilon": 0.0}, {"eps": "epsilon"}, order="momentum lazy_update eta eps"
    ),
    "AdaDelta": _AdaDelta,
    "RMSProp": _RMSProp,
    "AdaGrad": _AdaGrad,
    "Test": _Test,
    "GroupAdaGrad": _GroupAdaGrad,
}
ONLY_IN_1: dict[str, type] = {"LBSGD": LBSGD, "ccSGD": type("ccSGD", (OPTIMIZERS["SGD"],), {"__doc__": "`SGD`."})}
OPTIMIZERS.update(ONLY_IN_1)
_KEYWORDS_OF_1 = {"RMSProp": ("gamma1", "gamma2"), "AdaGrad": ("eps",), "GroupAdaGrad": ("eps",), "LARS": ("eps",)}


def _by_keyword(name: str) -> type:
    """Return MXNet 2's optimizer, of which MXNet 1's keywords make MXNet 1's."""
    klass: Any = getattr(optimizer, name)

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls is made and not kwargs.keys().isdisjoint(_KEYWORDS_OF_1[name]):
            return OPTIMIZERS[name](*args, **kwargs)
        return klass.__new__(cls)

    made: Any = type(name, (klass,), {"__new__": __new__, "__doc__": klass.__doc__})
    made.__qualname__ = f"either_{name}"
    return made


BY_KEYWORD = {name: _by_keyword(name) for name in _KEYWORDS_OF_1}
"""Optimizers of a program that may be one for MXNet 1 or for 2: the keywords tell which is meant."""


def __getattr__(name: str) -> Any:
    """Return a class that was made here, for pickles of its instances."""
    for name_of_table, table in (("either_", BY_KEYWORD), ("", OPTIMIZERS)):
        found = table.get(name.removeprefix(name_of_table)) if name.startswith(name_of_table) else None
        if found is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


for _klass in OPTIMIZERS.values():
    declared(_klass)

# -- metrics ----------------------------------------------------------------------------------------------------------


def _error(klass: type, power: int, root: bool) -> type:
    """Return an error that is averaged over calls of ``update``, not over samples."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super(made, self).__init__(*args, **kwargs)
        self._op = ops.metric_error.bind(power=power, whole=True, root=root)

    body = {
        "__init__": __init__,
        "__doc__": f"`gluonx.metric.{klass.__name__}`, averaged over calls of ``update`` as in MXNet 1.",
        "_count": lambda self, label, pred: 1,
        "get": lambda self: base.EvalMetric.get(self),
    }
    made = type(klass.__name__, (klass,), body)
    return made


def _averaged(klass: type) -> type:
    """Return a score of MXNet 1: by default (``average='macro'``) the mean of the scores of single batches."""

    def __init__(self: Any, *args: Any, average: str = "macro", **kwargs: Any) -> None:
        self._batches = []
        if len(args) > 3:  # after name, output_names and label_names
            args, (average,) = args[:3], args[3:]
        super(made, self).__init__(*args, **kwargs)
        self._by_batch = average == "macro"
        self._kwargs["average"] = average

    def reset(self: Any) -> None:
        self._batches = []
        klass.reset(self)

    def update(self: Any, labels: Sequence[ndarray], preds: Sequence[ndarray]) -> None:
        if not self._by_batch:
            return klass.update(self, labels, preds)
        self._batches.append(klass())
        self._batches[-1].update(labels, preds)
        self._num += 1

    def get(self: Any) -> tuple[str, float]:
        if not self._by_batch:
            return klass.get(self)
        scores = [batch.get()[1] for batch in self._batches]
        return self.name, math.fsum(scores) / len(scores) if scores else math.nan

    doc = f"`gluonx.metric.{klass.__name__}`; with ``average='macro'`` the mean over batches, as in MXNet 1."
    body = {"__init__": __init__, "reset": reset, "update": update, "get": get, "__doc__": doc}
    made = type(klass.__name__, (klass,), body)
    return made


class _CustomMetric(metric.CustomMetric):
    """The mean of what a function of NumPy arrays says about each batch."""

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = ([onp.asarray(x) for x in base.as_list(xs)] for xs in (labels, preds))
        super().update(labels, preds)


_NAMES = ("output_names", "label_names")


class _CrossEntropy(metric.CrossEntropy):
    """CrossEntropy by MXNet 1's order of arguments: the name comes second."""

    def __init__(self, eps: float = 1e-12, name: str = "cross-entropy", *args: Any, **kwargs: Any) -> None:
        super().__init__(eps, name=name, **dict(zip(_NAMES, args, strict=False)), **kwargs)


class _Perplexity(metric.Perplexity):
    """Perplexity by MXNet 1's order of arguments: the label to leave out comes first."""

    def __init__(
        self, ignore_label: int | None = None, axis: int = -1, name: str = "perplexity", *args: Any, **kwargs: Any
    ) -> None:
        named = dict(zip(_NAMES, args, strict=False))
        super().__init__(ignore_label=ignore_label, axis=axis, name=name, **named, **{"eps": 1e-10, **kwargs})


class NegativeLogLikelihood(metric.CrossEntropy):
    """The mean negative log-likelihood of the labels; `CrossEntropy` by another name."""

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "nll-loss",
        output_names: Any = None,
        label_names: Any = None,
    ):
        super().__init__(eps=eps, name=name, output_names=output_names, label_names=label_names)


class Caffe(metric.Loss):
    """`Loss` by an older name."""

    def __init__(
        self,
        name: str = "caffe",
        output_names: str | Sequence[str] | None = None,
        label_names: str | Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)


for _klass in (_CustomMetric, _CrossEntropy, _Perplexity):
    _klass.__name__ = _klass.__name__.removeprefix("_")
METRICS: dict[str, type] = {
    "CrossEntropy": _CrossEntropy,
    "Perplexity": _Perplexity,
    "MAE": _error(metric.MAE, 1, False),
    "MSE": _error(metric.MSE, 2, False),
    "RMSE": _error(metric.RMSE, 2, True),
    "F1": _averaged(metric.F1),
    "MCC": _averaged(metric.MCC),
    "PearsonCorrelation": _averaged(metric.PearsonCorrelation),
    "CustomMetric": _CustomMetric,
    "NegativeLogLikelihood": NegativeLogLikelihood,
    "Caffe": Caffe,
}
# -- losses -----------------------------------------------------------------------------------------------------------


class _KLDivLoss(loss.KLDivLoss):
    """The Kullback-Leibler divergence, summed over a sample, where MXNet 2 takes the mean."""

    def __init__(
        self, from_logits: bool = True, axis: int = -1, weight: float | None = None, batch_axis: int = 0
    ) -> None:
        super().__init__(from_logits, axis, weight, batch_axis)
        self._bind(ops.losses.kl_div_loss, from_logits=from_logits, axis=axis, summed=True)


class _PoissonNLLLoss(loss.PoissonNLLLoss):
    """The negative log-likelihood of a Poisson distribution; one number for the whole batch."""

    def forward(self, pred: Any, target: Any, sample_weight: Any = None, epsilon: float = 1e-8) -> Any:
        return super().forward(pred, target, sample_weight, epsilon).mean()


LOSSES: dict[str, type] = {"KLDivLoss": _KLDivLoss, "PoissonNLLLoss": _PoissonNLLLoss}
for _name, _klass in LOSSES.items():
    _klass.__name__ = _name

_FURTHER_NAMES = {
    "pearsonr": "PearsonCorrelation",
    "nll_loss": "NegativeLogLikelihood",
    "ce": "CrossEntropy",
    "cross-entropy": "CrossEntropy",
}


def direct_base(cls: type) -> type:
    """Return `Optimizer` for each optimizer of the library, as in MXNet, whichever classes lie between the two here."""
    own = cls.__module__.partition(".")[0] == "gluonx" and cls is not optimizer.Optimizer
    return optimizer.Optimizer if own else cls.__bases__[0]


_before: list[tuple[dict[str, Any], dict[str, Any]]] = []


def use_legacy_registries(on: bool, by_keyword: bool = False) -> None:
    """Make names of optimizers and metrics, and a user's ``update``, mean MXNet 1's, or (False) gluonx's own.

    Parameters
    ----------
    on : bool
    by_keyword : bool
        Whether, of gluonx's own, keywords of MXNet 1 mean MXNet 1's.

    Examples
    --------
    >>> use_legacy_registries(True)
    >>> optimizer.create("nag").momentum
    0.0
    >>> use_legacy_registries(False)
    >>> optimizer.create("nag").momentum
    0.9
    """
    optimizers, metrics = optimizer.Optimizer.opt_registry, base._REGISTRY
    as_in_mxnet_1(on)
    if _before:
        for table, old in zip((optimizers, metrics), _before.pop(), strict=True):
            for name, klass in old.items():
                if klass is None:
                    table.pop(name, None)
                else:
                    table[name] = klass
    mine = {name.lower(): klass for name, klass in (OPTIMIZERS if on else BY_KEYWORD if by_keyword else {}).items()}
    theirs = {name.lower(): klass for name, klass in (METRICS if on else {}).items()}
    theirs.update({other: METRICS[name] for other, name in _FURTHER_NAMES.items() if on})
    _before.append(({n: optimizers.get(n) for n in mine}, {n: metrics.get(n) for n in theirs}))
    optimizers.update(mine)
    metrics.update(theirs)
