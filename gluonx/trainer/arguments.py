"""The arguments of a Trainer, checked and completed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from gluonx import lr_scheduler
from gluonx.block.fusion.files import apart, pieces_of
from gluonx.block.parameter import Parameter
from gluonx.common.extensions import NAMES
from gluonx.errors import ArgumentError
from gluonx.optimizer import Optimizer
from gluonx.optimizer.gradients import Gradients

_OWN_STORES = ("local", "device", "nccl")


def listed(params: Any) -> tuple[list[str], list[Parameter]]:
    """Return names and parameters, each once, with pieces instead of fused ones; those of a dict sorted by name."""
    if isinstance(params, Mapping):
        params = apart(params) if all(isinstance(p, Parameter) for p in params.values()) else params
        pairs = [(name, params[name]) for name in sorted(params)]
    elif isinstance(params, (list, tuple)):
        single = [piece for p in params for piece in pieces_of(p)]
        pairs = [(getattr(p, "_path", "") or f"{i}", p) for i, p in enumerate(single)]
    else:
        raise ValueError(
            f"params must be a dict or list of Parameter, such as net.collect_params(), got {type(params).__name__}"
        )
    names: list[str] = []
    unique: list[Parameter] = []
    seen: set[int] = set()
    for name, p in pairs:
        if not isinstance(p, Parameter):
            raise ValueError(f"params must hold Parameters, but {name!r} is a {type(p).__name__}")
        if id(p) not in seen:
            seen.add(id(p))
            names.append(name)
            unique.append(p)
    often = Counter(names)
    return [f"{name}#{i}" if often[name] > 1 else name for i, name in enumerate(names)], unique


def scheduled(
    optimizer: Optimizer, name: str | None, total_steps: int | None, warmup_steps: int | None
) -> lr_scheduler.LRScheduler:
    """Return the schedule called `name`; raise ArgumentError if the optimizer has no rate or already a schedule."""
    if name is None or total_steps is None:
        raise ArgumentError(
            f"A schedule has a name and a length: schedule='cosine', total_steps=1000; got schedule={name!r}, "
            f"total_steps={total_steps!r}, warmup_steps={warmup_steps!r}."
        )
    if optimizer.lr_scheduler is not None or optimizer.lr is None:
        raise ArgumentError(
            "schedule needs the optimizer's learning rate as a number from outside, but it has "
            + ("an lr_scheduler already." if optimizer.lr_scheduler is not None else "its own inside.")
        )
    return lr_scheduler.create(name, optimizer.lr, total_steps, warmup_steps)


def alteration(optimizer: Optimizer, accumulate: int, clip_norm: float | None) -> Gradients:
    """Return how gradients are averaged and clipped; raise ArgumentError where that is not possible."""
    if type(accumulate) is not int or accumulate < 1:
        raise ArgumentError(f"accumulate must be a whole number of steps, at least 1, got {accumulate!r}.")
    if clip_norm is not None and not clip_norm > 0:
        raise ArgumentError(f"clip_norm must be above 0, got {clip_norm!r}.")
    found = Gradients(accumulate, None if clip_norm is None else float(clip_norm))
    if found != Gradients() and (optimizer._is_imperative() or type(optimizer).rule is not Optimizer.rule):
        raise ArgumentError(
            f"accumulate and clip_norm are for optimizers with a formula; {type(optimizer).__name__} has an update "
            "written by hand, which can do it itself."
        )
    return found


def store_of(kvstore: Any) -> Any:
    """Return the user's store that `kvstore` names or is; None for the names of MXNet's own stores."""
    if kvstore is None or (isinstance(kvstore, str) and kvstore.lower() in _OWN_STORES):
        return None
    found = NAMES["gluonx.kvstore"](kvstore)
    if found is not None and not (
        callable(getattr(found, "broadcast", None)) and callable(getattr(found, "pushpull", None))
    ):
        raise ValueError(f"kvstore must be a name, or an object with broadcast and pushpull, got {found!r}")
    return found


class _Sizes:
    any = False


def take_any_size(on: bool) -> None:
    """Say whether batch sizes may be negative, infinite or NaN, as a loss scaler of MXNet's time gives them."""
    _Sizes.any = on


def positive(batch_size: float) -> float:
    """Return the batch size as a float; raise ValueError unless it is finite and positive (or `take_any_size`)."""
    try:
        size = float(batch_size)
    except (TypeError, ValueError):
        size = math.nan
    else:
        if _Sizes.any and size:
            return size
    if not 0 < size < math.inf:
        raise ValueError(f"batch_size must be a positive number, got {batch_size!r}")
    return size
