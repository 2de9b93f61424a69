"""Legacy operators that update a weight as an optimizer does.

They give the new weight, which ``out=weight`` puts where it belongs, and write the new states into the arrays that
hold them. Those called ``mp_`` work on a float32 copy of a weight of half precision, which is a state too; those called
``multi_`` take the arrays of several weights in turns. Nothing of it is recorded. States, numbers and defaults are
those of the core operators (`gluonx.ops.updates.UPDATES`); here stand MXNet 1's names and order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gluonx import autograd
from gluonx.compat.operators.elementwise import kept
from gluonx.compat.operators.row import core, row
from gluonx.deferred.operators.growth import dtype_of
from gluonx.errors import ShapeError
from gluonx.ops.updates import UPDATES

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


def _step(
    via: str, weight: ndarray, grad: ndarray, states: Sequence[Any], numbers: Sequence[Any], **attrs: Any
) -> ndarray:
    """Return the new weight; the new states are in their arrays."""
    with autograd.pause():
        out = core(via, weight, grad, *states, *numbers, **attrs)
        out, *news = out if isinstance(out, (tuple, list)) else (out,)
        for state, new in zip(states, news, strict=True):
            state[...] = kept(new, state)
        return kept(out, weight)


def _masterly(
    via: str, weight: ndarray, grad: ndarray, states: Sequence[Any], numbers: Sequence[Any], **attrs: Any
) -> ndarray:
    """As `_step` on the last of the states, which is the weight in float32."""
    *states, master = states
    with autograd.pause():
        new = _step(via, master, kept(grad, master), states, numbers, **attrs)
        master[...] = new
        return kept(new, weight)


def _attrs(via: str, order: str = "", **kinds: str) -> str:
    """Return numbers of an update operator as attributes of a row, all in their order or those of `order`."""
    numbers = UPDATES[via].numbers
    words = [(word, numbers[word]) for word in order.split() or numbers]
    return ", ".join([f"{w}: {kinds.get(w, 'float')}" + ("" if d is None else f"={d!r}") for w, d in words])


def _numbers(via: str, a: Attrs, **own: Any) -> list[Any]:
    """Return the numbers of an update operator: `own` ones, and the attributes of their names."""
    return [own[word] if word in own else a[word] for word in UPDATES[via].numbers]


Own = Callable[[Any, int, Sequence[Any]], dict[str, Any]]  # attributes, number of the weight, last arrays -> numbers


def _of_attributes(a: Attrs, i: int, last: Sequence[Any]) -> dict[str, Any]:
    return {}


def _single(name: str, via: str, attrs: str, half: bool = False, own: Own = _of_attributes, last: str = "") -> None:
    """Enter an update of one weight, with `half` that of one of half precision, whose last state is it in float32."""
    step, count = _masterly if half else _step, 2 + len(UPDATES[via].states) + half
    states = "".join([f", {state}!" for state in UPDATES[via].states]) + ", weight32!" * half

    def rule(a: Attrs, *data: ndarray) -> ndarray:
        weight, grad, *rest = data[:count]
        return step(via, weight, grad, rest, _numbers(via, a, **own(a, 0, data[count:])))

    row(f"{name}(weight, grad{states}{last}; {attrs})", rule, via=f"{via} cast" if half else via)


_LAZY = ", lazy_update: bool=True"
for _via, _more in (
    ("sgd_update", _LAZY), ("sgd_mom_update", _LAZY), ("nag_mom_update", ""), ("signsgd_update", ""),
    ("signum_update", ""), ("adam_update", _LAZY), ("ftrl_update", ""),
):  # fmt: skip
    _single(_via, _via, _attrs(_via) + _more)
    if _via in ("sgd_update", "sgd_mom_update", "nag_mom_update"):
        _single(f"mp_{_via}", _via, _attrs(_via) + _more, half=True)

_single(
    "rmsprop_update", "rmsprop_update", _attrs("rmsprop_update") + ", rho: float?=None",
    own=lambda a, i, last: {"gamma1": a.gamma1 if a.rho is None else a.rho},
)  # fmt: skip
_single(
    "ftml_update", "ftml_update",
    _attrs("ftml_update", "lr beta1 beta2 epsilon t wd rescale_grad clip_grad", t="int"),
    own=lambda a, i, last: {"t": float(a.t)},
)  # fmt: skip


@row(
    f"rmspropalex_update(weight, grad, n!, g!, delta!; {_attrs('rmspropalex_update')}, rho: float?=None, "
    "momentum: float?=None)",
    via="rmspropalex_update",
)
def _rmspropalex(
    a: Attrs, weight: ndarray, grad: ndarray, n: ndarray, g: ndarray, delta: ndarray
) -> ndarray | Sequence[ndarray]:
    # MXNet 2 renamed gamma1 and gamma2 and took the mean before the mean square; so who uses its names has its order.
    modern = a.rho is not None or a.momentum is not None
    states = (g, n, delta) if modern else (n, g, delta)
    decays = {"gamma1": a.gamma1 if a.rho is None else a.rho, "gamma2": a.gamma2 if a.momentum is None else a.momentum}
    return _step("rmspropalex_update", weight, grad, states, _numbers("rmspropalex_update", a, **decays))


# -- LAMB in two halves -----------------------------------------------------------------------------------------------

_LAMB, _TRUST = "lamb_update_phase1", _attrs("lans_update", "lower_bound upper_bound")
_PHASE1 = (
    f"{_attrs(_LAMB, 'beta1 beta2 epsilon t', t='int')}, bias_correction: bool=True, "
    f"{_attrs(_LAMB, 'wd rescale_grad clip_gradient')}"
)


def _direction(a: Attrs, weight: ndarray, grad: ndarray, states: Sequence[Any], t: float, wd: float) -> ndarray:
    numbers = _numbers(_LAMB, a, t=t, wd=wd)
    return _step(_LAMB, weight, grad, states, numbers, bias_correction=a.get("bias_correction", True))


@row(f"lamb_update_phase1(weight, grad, mean!, var!; {_PHASE1})", via=_LAMB)
def _phase1(a: Attrs, weight: ndarray, grad: ndarray, *states: ndarray) -> ndarray:
    return _direction(a, weight, grad, states, float(a.t), a.wd)


@row(f"mp_lamb_update_phase1(weight, grad, mean!, var!, weight32!; {_PHASE1})", via=_LAMB)
def _mp_phase1(
    a: Attrs, weight: ndarray, grad: ndarray, mean: ndarray, var: ndarray, weight32: ndarray
) -> ndarray | Sequence[ndarray]:
    return _direction(a, weight32, kept(grad, weight32), (mean, var), float(a.t), a.wd)


@row(f"lamb_update_phase2(weight, g, r1, r2; lr: float, {_TRUST})", via="lamb_update_phase2")
def _phase2(a: Attrs, weight: ndarray, g: ndarray, r1: ndarray, r2: ndarray) -> ndarray:
    return _step("lamb_update_phase2", weight, g, (), (r1, r2, a.lr, a.lower_bound, a.upper_bound))


@row(f"mp_lamb_update_phase2(weight, g, r1, r2, weight32!; lr: float, {_TRUST})", via="lamb_update_phase2 cast")
def _mp_phase2(
    a: Attrs, weight: ndarray, g: ndarray, r1: ndarray, r2: ndarray, weight32: ndarray
) -> ndarray | Sequence[ndarray]:
    return _masterly("lamb_update_phase2", weight, g, (weight32,), (r1, r2, a.lr, a.lower_bound, a.upper_bound))


# -- several weights --------------------------------------------------------------------------------------------------


def _groups(name: str, arrays: Sequence[Any], count: int, size: int, last: int = 0) -> list[Sequence[Any]]:
    if len(arrays) != count * size + last:
        told = f"{count} weights need {count * size + last} arrays ({size} each), but {len(arrays)} came"
        raise ShapeError(f"{name}: {told}.")
    return [arrays[i * size : (i + 1) * size] for i in range(count)]


def _several(name: str, via: str, attrs: str, own: Own, half: bool, last: int = 0) -> None:
    """Enter a row for several weights: weight, gradient, states, and with `half` the float32 copy, of each.

    Behind them come as many arrays as `last` says, which belong to all.
    """
    size, step = 2 + len(UPDATES[via].states) + half, _masterly if half else _step
    count = "num_tensors" if "num_tensors" in attrs else "num_weights"

    def rule(a: Attrs, *data: ndarray) -> ndarray | Sequence[ndarray]:
        groups, of_all = _groups(name, data, a[count], size, last), data[len(data) - last :]
        found = [step(via, w, g, rest, _numbers(via, a, **own(a, i, of_all))) for i, (w, g, *rest) in enumerate(groups)]
        return tuple(found) if len(found) > 1 else found[0]

    row(f"{name}(*data; {attrs})", rule, via=via, nout=lambda a: a[count])


def _listed(a: Attrs, i: int, last: Sequence[Any]) -> dict[str, Any]:
    return {"lr": a.lrs[i], "wd": a.wds[i]}


def _preloaded(a: Attrs, i: int, last: Sequence[Any]) -> dict[str, Any]:
    lr, wd = [core("reshape", core("slice_axis", x, axis=0, begin=i, end=i + 1), newshape=()) for x in last]
    return {"lr": lr, "wd": wd}


def _scaled_by(a: Attrs, i: int, last: Sequence[Any]) -> dict[str, Any]:
    return {"rescale_grad": last[0]}


def _decoupled(a: Attrs, i: int, last: Sequence[Any]) -> dict[str, Any]:
    return {**_listed(a, i, last), **_scaled_by(a, i, last), "eta": a.etas[i]}


def _numbered(a: Attrs, i: int, last: Sequence[Any]) -> dict[str, Any]:
    return {"t": float(a.step_count[i]), "lr": a.learning_rates[i], "wd": a.wds[i]}


_ADAMW = ("adamw_update", "adabelief_update")
_START = _attrs("adamw_update", "beta1 beta2 epsilon")
_ONE = f"lr: float, {_START}, {_attrs('adamw_update', 'wd eta clip_gradient')}"
_MANY = (
    f"lrs: floats, {_START}, wds: floats, etas: floats, {_attrs('adamw_update', 'clip_gradient')}, num_weights: int=1"
)
_TENSORS = (
    f"learning_rates: floats, {_attrs('lans_update', 'beta1 beta2 epsilon')}, wds: floats, "
    f"{_attrs('lans_update', 'rescale_grad lower_bound upper_bound clip_gradient')}, "
    "{extra}step_count: shape, num_tensors: int=1"
)
for _half, _mp in ((False, ""), (True, "mp_")):
    for _via in ("sgd_update", "sgd_mom_update"):
        _own = [word for word in UPDATES[_via].numbers if word not in ("lr", "wd")]
        _shared = f"{_attrs(_via, ' '.join(_own))}, num_weights: int=1"
        _several(f"multi_{_mp}{_via}", _via, f"lrs: floats, wds: floats, {_shared}", _listed, _half)
        _several(f"preloaded_multi_{_mp}{_via}", _via, _shared, _preloaded, _half, last=2)
    for _via in _ADAMW:  # decoupled decay, whose scale is an array
        _single(f"_{_mp}{_via}", _via, _ONE, _half, _scaled_by, ", rescale_grad")
        _several(f"_multi_{_mp}{_via}", _via, _MANY, _decoupled, _half, last=1)
    _several(f"_multi_{_mp}lans_update", "lans_update", _TENSORS.format(extra=""), _numbered, _half)


def _lamb_of_many(name: str, half: bool) -> None:
    """Both halves of LAMB, and the norms between them."""

    def rule(a: Attrs, *data: ndarray) -> ndarray | Sequence[ndarray]:
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
def _multi_sum_sq(a: Attrs, *data: ndarray) -> ndarray | Sequence[ndarray]:
    wide = [x if dtype_of(x).itemsize > 2 else core("cast", x, dtype="float32") for x in data]
    return core("stack", *[core("sum", core("square", x)) for x in wide])


row(
    "multi_lars(lrs, weights_sum_sq, grads_sum_sq, wds; eta: float, eps: float, rescale_grad: float=1.0)",
    lambda a, *arrays: core("multi_lars", *arrays, a.eta, a.eps, a.rescale_grad),
    via="multi_lars",
)


@row("reset_arrays(*data; num_arrays: int)", via="zeros_like", nout=lambda a: 1)
def _reset_arrays(a: Attrs, *data: ndarray) -> None:
    with autograd.pause():
        for x in data:
            x[...] = 0
