"""The description in files of `Trainer.save_states`: the optimizer and the parameters of the arrays."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.deferred.values.core import new_handle
from gluonx.dtype import on_device
from gluonx.errors import FormatError
from gluonx.optimizer.updater import parts_of

if TYPE_CHECKING:
    from gluonx.deferred.values.core import Handle
    from gluonx.optimizer.optimizer import Optimizer


_FORMAT = "gluonx-trainer-1"


def description(optimizer: Any, names: Sequence[str]) -> np.ndarray:
    """Return the optimizer's name, rate and counts, and the parameters' names, as bytes."""
    meta = {
        "format": _FORMAT,
        "optimizer": type(optimizer).__name__,
        "num_update": optimizer.num_update,
        "counts": {names[i]: n for i, n in optimizer._index_update_count.items()},
        "learning_rate": optimizer.lr.item() if hasattr(optimizer.lr, "item") else optimizer.lr,
        "names": list(names),
    }
    return np.frombuffer(json.dumps(meta).encode(), np.uint8)


def described(raw: np.ndarray | bytes | None, fname: object) -> dict[str, Any]:
    """Parse what `description` wrote.

    Raises
    ------
    FormatError
        If the bytes are something else.
    """
    try:
        meta = json.loads(bytes(raw)) if raw is not None else {}
    except (ValueError, RecursionError):
        meta = {}
    if not _is_meta(meta):
        raise FormatError(f"{fname}: not a file of trainer states written by gluonx")
    return meta


def _is_meta(meta: object) -> bool:
    if not isinstance(meta, dict) or meta.get("format") != _FORMAT or not isinstance(meta.get("counts"), dict):
        return False
    counts, names = [meta.get("num_update"), *meta["counts"].values()], meta.get("names", [])
    rate = meta.get("learning_rate")
    return (
        isinstance(meta.get("optimizer"), str)
        and all(type(c) is int and c >= 0 for c in counts)
        and (rate is None or isinstance(rate, (int, float)))
        and isinstance(names, list)
        and all(isinstance(name, str) for name in names)
    )


def by_name(optimizer: Optimizer, name: str, state: Any) -> dict[str, Any]:
    """Return a state of `Optimizer.create_state_multi_precision` as NumPy arrays by their names in files."""
    found, names = {}, tuple(optimizer._states())
    if isinstance(state, tuple) and len(state) == 2 and (len(names) != 2 or isinstance(state[1], tuple)):
        master, state = state
        found[f"{name}/master"] = master.asnumpy()
        name = f"{name}/inner"
    return {**found, **{f"{name}/{kind}": part.asnumpy() for kind, part in zip(names, parts_of(state), strict=True)}}


def of_names(
    optimizer: Optimizer, name: str, arrays: Mapping[str, Any], sharding_of: Callable[[tuple[int, ...]], Any]
) -> Any:
    """Undo `by_name`; return None if the arrays hold no state of that name, or an empty one.

    `sharding_of` returns the placement for an array of a shape.
    """
    master = arrays.get(f"{name}/master")
    inner = name if master is None else f"{name}/inner"
    found = [arrays.get(f"{inner}/{kind}") for kind in optimizer._states()]
    if any(part is None for part in found):
        return None
    held = tuple([_held(part, sharding_of) for part in found])
    state = held[0] if len(held) == 1 else held or None
    return state if master is None else (_held(master, sharding_of), state)


def _held(array: Any, sharding_of: Callable[[tuple[int, ...]], Any]) -> Handle:
    return new_handle(on_device(np.asarray(array), sharding_of(array.shape)))


def by_position(
    arrays: dict[str, Any], meta: dict[str, Any], names: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return states under the names of another net of the same kind: the first parameter's for the first, and so on.

    MXNet 1 gives parameters new names in every net (``dense0_weight``, then ``dense1_weight``), and goes by their
    order.

    Examples
    --------
    >>> states, meta = {"dense0_bias/mean": 0}, {"names": ["dense0_bias"], "counts": {"dense0_bias": 3}}
    >>> by_position(states, meta, ["dense7_bias"])[0]
    {'dense7_bias/mean': 0}
    """
    written = meta.get("names", names)
    if len(written) != len(names) or set(written) & set(names):
        return arrays, meta
    now = dict(zip(written, names, strict=True))
    split = [(key.partition("/"), array) for key, array in arrays.items()]
    arrays = {f"{now.get(name, name)}{bar}{rest}": array for (name, bar, rest), array in split}
    return arrays, {**meta, "counts": {now.get(name, name): n for name, n in meta["counts"].items()}}


def simple_of(thing: object) -> dict[str, Any]:
    """Return the attributes of an object that are numbers, texts or lists of them, such as a schedule's counters.

    Examples
    --------
    >>> from gluonx.lr_scheduler import FactorScheduler
    >>> simple_of(FactorScheduler(10))["count"]
    0
    """

    def is_simple(value: object) -> bool:
        if isinstance(value, (list, tuple)):
            return all(map(is_simple, value))
        return value is None or isinstance(value, (bool, int, float, str))

    return {name: value for name, value in vars(thing).items() if is_simple(value)}
