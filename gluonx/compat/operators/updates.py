"""Legacy operators that update a weight as an optimizer does.

They give the new weight, which ``out=weight`` puts where it belongs, and write the new states into the arrays that
hold them. Those called ``mp_`` work on a float32 copy of a weight of half precision, which is a state too; those called
``multi_`` take the arrays of several weights in turns. Nothing of it is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gluonx import autograd
from gluonx.compat.operators.elementwise import kept
from gluonx.compat.operators.row import core, row
from gluonx.deferred.growth import dtype_of
from gluonx.errors import ShapeError

_COMMON = "wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0"
_NUMBERS = ("wd", "rescale_grad", "clip_gradient")
_BETAS = "beta1: float=0.9, beta2: float=0.999"
_TRUST = "lower_bound: float=-1.0, upper_bound: float=-1.0"


def _step(via: str, weight: Any, grad: Any, states: Sequence[Any], numbers: Sequence[Any], **attrs: Any) -> Any:
    """Return the new weight; the new states are in their arrays."""
    with autograd.pause():
        out = core(via, weight, grad, *states, *numbers, **attrs)
        out, *news = out if isinstance(out, (tuple, list)) else (out,)
        for state, new in zip(states, news, strict=True):
            state[...] = kept(new, state)
        return kept(out, weight)


def _masterly(via: str, weight: Any, grad: Any, states: Sequence[Any], numbers: Sequence[Any], **attrs: Any) -> Any:
    """As `_step` on the last of the states, which is the weight in float32."""
    *states, master = states
    with autograd.pause():
        new = _step(via, master, kept(grad, master), states, numbers, **attrs)
        master[...] = new
        return kept(new, weight)


def _rule(via: str, words: Sequence[str], step: Callable[..., Any] = _step) -> Callable[..., Any]:
    def rule(a: Any, weight: Any, grad: Any, *states: Any) -> Any:
        return step(via, weight, grad, states, [a[word] for word in words])

    return rule


def _rows(name: str, states: str, attrs: str, halves: str = "") -> None:
    """Enter an update in the table and, if `halves` names one, its twin for half precision with float32 weights."""
    words = [part.split(":")[0].strip() for part in attrs.split(",")]
    numbers = [word for word in words if word != "lazy_update"]
    row(f"{name}(weight, grad{states}; {attrs})", _rule(name, numbers), via=name)
    if halves:
        row(f"{halves}(weight, grad{states}, weight32!; {attrs})", _rule(name, numbers, _masterly), via=f"{name} cast")


_LAZY = "lazy_update: bool=True"
_MOMENTUM = f"lr: float, momentum: float=0.0, {_COMMON}"
_rows("sgd_update", "", f"lr: float, {_COMMON}, {_LAZY}", "mp_sgd_update")
_rows("sgd_mom_update", ", mom!", f"{_MOMENTUM}, {_LAZY}", "mp_sgd_mom_update")
_rows("nag_mom_update", ", mom!", _MOMENTUM, "mp_nag_mom_update")
_rows("signsgd_update", "", f"lr: float, {_COMMON}")
_rows("signum_update", ", mom!", f"{_MOMENTUM}, wd_lh: float=0.0")
_rows("adam_update", ", mean!, var!", f"lr: float, {_BETAS}, epsilon: float=1e-08, {_COMMON}, {_LAZY}")
_rows("ftrl_update", ", z!, n!", f"lr: float, lamda1: float=0.01, beta: float=1.0, {_COMMON}")


_RMS = f"epsilon: float=1e-08, {_COMMON}, clip_weights: float=-1.0"


@row(f"rmsprop_update(weight, grad, n!; lr: float, gamma1: float=0.95, {_RMS}, rho: float?=None)", via="rmsprop_update")
def _rmsprop(a: Any, weight: Any, grad: Any, n: Any) -> Any:
    rho = a.gamma1 if a.rho is None else a.rho
    return _step("rmsprop_update", weight, grad, (n,), (a.lr, rho, a.epsilon, *_of(a), a.clip_weights))


@row(
    f"rmspropalex_update(weight, grad, n!, g!, delta!; lr: float, gamma1: float=0.95, gamma2: float=0.9, {_RMS}, "
    "rho: float?=None, momentum: float?=None)",
    via="rmspropalex_update",
)
def _rmspropalex(a: Any, weight: Any, grad: Any, n: Any, g: Any, delta: Any) -> Any:
    # MXNet 2 renamed gamma1 and gamma2 and took the mean before the mean square; so who uses its names has its order.
    modern = a.rho is not None or a.momentum is not None
    states = (g, n, delta) if modern else (n, g, delta)
    decays = (a.gamma1 if a.rho is None else a.rho, a.gamma2 if a.momentum is None else a.momentum)
    return _step("rmspropalex_update", weight, grad, states, (a.lr, *decays, a.epsilon, *_of(a), a.clip_weights))


def _of(a: Any) -> list[float]:
    return [a[word] for word in _NUMBERS]


@row(
    "ftml_update(weight, grad, d!, v!, z!; lr: float, beta1: float=0.6, beta2: float=0.999, epsilon: float=1e-08, "
    "t: int, wd: float=0.0, rescale_grad: float=1.0, clip_grad: float=-1.0)",
    via="ftml_update",
)
def _ftml(a: Any, weight: Any, grad: Any, *states: Any) -> Any:
    numbers = (a.lr, float(a.t), a.beta1, a.beta2, a.epsilon, a.wd, a.rescale_grad, a.clip_grad)
    return _step("ftml_update", weight, grad, states, numbers)


# -- LAMB in two halves -----------------------------------------------------------------------------------------------

_PHASE1 = (
    f"{_BETAS}, epsilon: float=1e-06, t: int, bias_correction: bool=True, wd: float, rescale_grad: float=1.0, "
    "clip_gradient: float=-1.0"
)


def _direction(a: Any, weight: Any, grad: Any, states: Sequence[Any], t: float, wd: float) -> Any:
    numbers = (t, wd, a.beta1, a.beta2, a.epsilon, a.rescale_grad, a.clip_gradient)
    correction = a.get("bias_correction", True)
    return _step("lamb_update_phase1", weight, grad, states, numbers, bias_correction=correction)


@row(f"lamb_update_phase1(weight, grad, mean!, var!; {_PHASE1})", via="lamb_update_phase1")
def _phase1(a: Any, weight: Any, grad: Any, *states: Any) -> Any:
    return _direction(a, weight, grad, states, float(a.t), a.wd)


@row(f"mp_lamb_update_phase1(weight, grad, mean!, var!, weight32!; {_PHASE1})", via="lamb_update_phase1")
def _mp_phase1(a: Any, weight: Any, grad: Any, mean: Any, var: Any, weight32: Any) -> Any:
    return _direction(a, weight32, kept(grad, weight32), (mean, var), float(a.t), a.wd)


@row(f"lamb_update_phase2(weight, g, r1, r2; lr: float, {_TRUST})", via="lamb_update_phase2")
def _phase2(a: Any, weight: Any, g: Any, r1: Any, r2: Any) -> Any:
    return _step("lamb_update_phase2", weight, g, (), (r1, r2, a.lr, a.lower_bound, a.upper_bound))


@row(f"mp_lamb_update_phase2(weight, g, r1, r2, weight32!; lr: float, {_TRUST})", via="lamb_update_phase2 cast")
def _mp_phase2(a: Any, weight: Any, g: Any, r1: Any, r2: Any, weight32: Any) -> Any:
    return _masterly("lamb_update_phase2", weight, g, (weight32,), (r1, r2, a.lr, a.lower_bound, a.upper_bound))


# -- decoupled decay, whose scale is an array -------------------------------------------------------------------------

_DECOUPLED = ("beta1", "beta2", "epsilon", "wd", "clip_gradient")
_DECOUPLED_ATTRS = f"lr: float, {_BETAS}, epsilon: float=1e-08, wd: float=0.0, eta: float, clip_gradient: float=-1.0"


def _decoupled(via: str) -> None:
    def numbers(a: Any, scale: Any) -> list[Any]:
        return [scale, a.lr, a.eta, *[a[word] for word in _DECOUPLED]]

    def plain(a: Any, weight: Any, grad: Any, mean: Any, var: Any, scale: Any) -> Any:
        return _step(via, weight, grad, (mean, var), numbers(a, scale))

    def half(a: Any, weight: Any, grad: Any, mean: Any, var: Any, weight32: Any, scale: Any) -> Any:
        return _masterly(via, weight, grad, (mean, var, weight32), numbers(a, scale))

    row(f"_{via}(weight, grad, mean!, var!, rescale_grad; {_DECOUPLED_ATTRS})", plain, via=via)
    row(f"_mp_{via}(weight, grad, mean!, var!, weight32!, rescale_grad; {_DECOUPLED_ATTRS})", half, via=f"{via} cast")


_decoupled("adamw_update")
_decoupled("adabelief_update")

# -- several weights --------------------------------------------------------------------------------------------------

Each = Callable[[Any, int, Sequence[Any]], Sequence[Any]]  # attributes, number of the weight, last arrays -> numbers


def _groups(name: str, arrays: Sequence[Any], count: int, size: int, last: int = 0) -> list[Sequence[Any]]:
    if len(arrays) != count * size + last:
        told = f"{count} weights need {count * size + last} arrays ({size} each), but {len(arrays)} came"
        raise ShapeError(f"{name}: {told}.")
    return [arrays[i * size : (i + 1) * size] for i in range(count)]


def _several(name: str, via: str, states: int, attrs: str, numbers: Each, half: bool, last: int = 0) -> None:
    """Enter a row for several weights: weight, gradient, `states`, and with `half` the float32 copy, of each.

    Behind them come as many arrays as `last` says, which belong to all.
    """
    size, step = 2 + states + half, _masterly if half else _step
    count = "num_tensors" if "num_tensors" in attrs else "num_weights"

    def rule(a: Any, *data: Any) -> Any:
        groups, of_all = _groups(name, data, a[count], size, last), data[len(data) - last :]
        found = [step(via, w, g, rest, numbers(a, i, of_all)) for i, (w, g, *rest) in enumerate(groups)]
        return tuple(found) if len(found) > 1 else found[0]

    row(f"{name}(*data; {attrs})", rule, via=via, nout=lambda a: a[count])


_LRS = "lrs: floats, wds: floats"
_SCALES = "rescale_grad: float=1.0, clip_gradient: float=-1.0, num_weights: int=1"


def _sgd(a: Any, i: int, rates_and_decays: Sequence[Any]) -> Sequence[Any]:
    lr, wd = [_at(numbers, i) for numbers in rates_and_decays] or (a.lrs[i], a.wds[i])
    momentum = (a.momentum,) if "momentum" in a else ()
    return (lr, *momentum, wd, a.rescale_grad, a.clip_gradient)


def _at(numbers: Any, i: int) -> Any:
    return core("reshape", core("slice_axis", numbers, axis=0, begin=i, end=i + 1), newshape=())


def _several_decoupled(a: Any, i: int, scale: Sequence[Any]) -> Sequence[Any]:
    return (*scale, a.lrs[i], a.etas[i], a.beta1, a.beta2, a.epsilon, a.wds[i], a.clip_gradient)


def _several_lans(a: Any, i: int, _: Any) -> Sequence[Any]:
    rest = [a[w] for w in ("beta1", "beta2", "epsilon", "rescale_grad", "clip_gradient", "lower_bound", "upper_bound")]
    return (float(a.step_count[i]), a.learning_rates[i], a.wds[i], *rest)


_MOMENTUM_TOO = "momentum: float=0.0, "
_DECOUPLED_MANY = (
    f"lrs: floats, {_BETAS}, epsilon: float=1e-08, wds: floats, etas: floats, clip_gradient: float=-1.0, "
    "num_weights: int=1"
)
_TENSORS = (
    f"learning_rates: floats, {_BETAS}, epsilon: float=1e-06, wds: floats, rescale_grad: float=1.0, {_TRUST}, "
    "clip_gradient: float=-1.0, {extra}step_count: shape, num_tensors: int=1"
)
for _half, _mp in ((False, ""), (True, "mp_")):
    _several(f"multi_{_mp}sgd_update", "sgd_update", 0, f"{_LRS}, {_SCALES}", _sgd, _half)
    _several(f"multi_{_mp}sgd_mom_update", "sgd_mom_update", 1, f"{_LRS}, {_MOMENTUM_TOO}{_SCALES}", _sgd, _half)
    _several(f"preloaded_multi_{_mp}sgd_update", "sgd_update", 0, _SCALES, _sgd, _half, last=2)
    _several(f"preloaded_multi_{_mp}sgd_mom_update", "sgd_mom_update", 1, _MOMENTUM_TOO + _SCALES, _sgd, _half, last=2)
    for _via in ("adamw_update", "adabelief_update"):
        _several(f"_multi_{_mp}{_via}", _via, 2, _DECOUPLED_MANY, _several_decoupled, _half, last=1)
    _several(f"_multi_{_mp}lans_update", "lans_update", 2, _TENSORS.format(extra=""), _several_lans, _half)


def _lamb_of_many(name: str, half: bool) -> None:
    """Both halves of LAMB, and the norms between them."""

    def rule(a: Any, *data: Any) -> Any:
        found = []
        for i, (weight, grad, *states) in enumerate(_groups(name, data, a.num_tensors, 4 + half)):
            master = states.pop() if half else weight
            t, wd, lr = float(a.step_count[i]), a.wds[i], a.learning_rates[i]
            with autograd.pause():
                g = _direction(a, master, kept(grad, master), states, t, wd)
                norms = [core("norm", x) for x in (master, g)]
            new = _step("lamb_update_phase2", master, g, (), (*norms, lr, a.lower_bound, a.upper_bound))
            if half:
                master[...] = new
            found.append(kept(new, weight))
        return tuple(found) if len(found) > 1 else found[0]

    attrs = _TENSORS.format(extra="bias_correction: bool=True, ")
    row(f"{name}(*data; {attrs})", rule, via="lamb_update_phase1 norm lamb_update_phase2", nout=lambda a: a.num_tensors)


_lamb_of_many("_multi_lamb_update", False)
_lamb_of_many("_multi_mp_lamb_update", True)


@row("multi_sum_sq(*data; num_arrays: int)", via="square sum stack")
def _multi_sum_sq(a: Any, *data: Any) -> Any:
    wide = [x if dtype_of(x).itemsize > 2 else core("cast", x, dtype="float32") for x in data]
    return core("stack", *[core("sum", core("square", x)) for x in wide])


row(
    "multi_lars(lrs, weights_sum_sq, grads_sum_sq, wds; eta: float, eps: float, rescale_grad: float=1.0)",
    lambda a, *arrays: core("multi_lars", *arrays, a.eta, a.eps, a.rescale_grad),
    via="multi_lars",
)


@row("reset_arrays(*data; num_arrays: int)", via="zeros_like", nout=lambda a: 1)
def _reset_arrays(a: Any, *data: Any) -> None:
    with autograd.pause():
        for x in data:
            x[...] = 0
