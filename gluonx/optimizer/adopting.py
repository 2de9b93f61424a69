"""Settings in MXNet's files of trainer states: MXNet continues with the optimizer that was saved.

No class or attribute is looked up by a name in a file. The attributes of optimizers and schedulers are listed here or
in the classes; a file only gives values for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gluonx import lr_scheduler
from gluonx.errors import FormatError
from gluonx.optimizer.optimizer import Optimizer

if TYPE_CHECKING:
    from gluonx.lr_scheduler import LRScheduler


_COMMON = ("wd", "clip_gradient", "multi_precision", "use_fused_step")
_OPTIONAL = ("clip_gradient", "clip_weights", "lower_bound", "upper_bound")
_OLDER = {
    "RMSProp": {"rho": "gamma1", "momentum": "gamma2"},
    "AdaGrad": {"epsilon": "float_stable_eps"},
}
"""MXNet 1's names of some settings."""
_RATES = ("base_lr", "warmup_steps", "warmup_begin_lr", "warmup_final_lr", "warmup_mode")
_DESCENT = ("base_lr_orig", "max_update", "final_lr", "max_steps")
_SCHEDULERS: Mapping[str, tuple[type, tuple[str, ...]]] = {
    "FactorScheduler": (lr_scheduler.FactorScheduler, ("step", "factor", "stop_factor_lr", "count")),
    "MultiFactorScheduler": (lr_scheduler.MultiFactorScheduler, ("step", "factor", "cur_step_ind", "count")),
    "PolyScheduler": (lr_scheduler.PolyScheduler, ("power", *_DESCENT)),
    "CosineScheduler": (lr_scheduler.CosineScheduler, _DESCENT),
}


def adopt(
    optimizer: Optimizer, settings: Mapping[str, Any], scheduler: tuple[str, Mapping[str, Any]] | None
) -> Callable[[], None]:
    """Give an optimizer the settings of a saved one of its class.

    Parameters
    ----------
    optimizer : Optimizer
    settings : mapping of str to object
        The saved optimizer's attributes; those that this optimizer lacks are ignored.
    scheduler : tuple of (str, mapping), or None
        The class and the attributes of its learning rate scheduler.

    Returns
    -------
    callable
        Undoes it.

    Raises
    ------
    FormatError
        If a setting's type differs from the optimizer's. Then nothing has changed.
    """
    older = _OLDER.get(type(optimizer).__name__, {})
    new: dict[str, Any] = {}
    for name in (*_COMMON, *optimizer.setting_names):
        word = name if name in settings else older.get(name, name)
        if word in settings:
            new[name] = _checked(name, settings[word], getattr(optimizer, name))
    for name in ("lr_mult", "wd_mult"):
        found = settings.get(name)
        if isinstance(found, dict) and all(_is_number(v) for v in found.values()):
            new[name] = dict(found)
    if scheduler is not None:
        new["lr_scheduler"] = _made(*scheduler)
    before = {name: getattr(optimizer, name) for name in new}
    _set(optimizer, new)
    return lambda: _set(optimizer, before)


def _set(optimizer: Optimizer, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(optimizer, name, value)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _checked(name: str, value: object, present: object) -> object:
    if type(present) is bool or type(value) is bool:
        good = type(value) in (bool, int) and type(present) in (bool, int)
        value = bool(value) if good else value
    else:
        good = _is_number(value) or (value is None and name in _OPTIONAL)
    if not good:
        raise FormatError(f"the trainer states say that the optimizer's {name} is {value!r:.80}")
    return value


def _made(kind: str, state: Mapping[str, Any]) -> LRScheduler:
    """Return a scheduler as it was saved."""
    if kind not in _SCHEDULERS:
        raise FormatError(f"the trainer states have a learning rate scheduler {kind!r:.80}, which is not known here")
    cls, names = _SCHEDULERS[kind]
    made = object.__new__(cls)
    for name in (*_RATES, *names):
        value: Any = state.get(name)
        steps = name == "step" and isinstance(value, (list, tuple)) and all(type(v) is int for v in value)
        if not (steps or _is_number(value) or (name == "warmup_mode" and value in ("linear", "constant"))):
            raise FormatError(f"the trainer states say that the {kind}'s {name} is {value!r:.80}")
        setattr(made, name, list(value) if steps else value)
    return made
