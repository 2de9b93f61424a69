"""Updating one array at a time, as in MXNet: states are ndarrays, by the number of a weight.

A Trainer updates in one program; an :class:`Updater` updates by hand. It keeps the states of the weights that it has
seen and calls the optimizer, which by default runs one recorded operator over all arrays of the call
(:func:`run_rule`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.deferred.values.core import Handle
from gluonx.dtype import canonical
from gluonx.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import jax

    from gluonx.device import DeviceLike
    from gluonx.np.handle import ndarray
    from gluonx.optimizer.optimizer import Optimizer


def make_state(optimizer: Optimizer, weight: ndarray) -> Any:
    """Make the first state of one weight: None, an ndarray, or a tuple of ndarrays in the order of `state_names`."""
    made = tuple(_handle(begin(weight)) for begin in optimizer._states().values())
    return made[0] if len(made) == 1 else made or None


def _handle(leaf: jax.Array | np.ndarray) -> ndarray:
    from gluonx import np as gnp

    return gnp.array(leaf, dtype=np.dtype(leaf.dtype))


def run_rule(
    optimizer: Optimizer, indices: Sequence[Any], weights: Sequence[Any], grads: Sequence[Any], states: Sequence[Any]
) -> None:
    """Count an update and apply the optimizer's rule in place, as one recorded operator over all the arrays."""
    from gluonx import autograd
    from gluonx.deferred import invoke
    from gluonx.deferred.record.engine import random_inputs
    from gluonx.deferred.values.core import current_state

    numbers = optimizer.counted(list(indices), indices).vector()
    rule = optimizer._rule_by_hand(indices, weights)
    names = tuple(optimizer._states())
    slots = [dict(zip(names, parts_of(state), strict=True)) for state in states]
    # JAX flattens a dict by sorted keys, so this is the order of the rule's state leaves.
    leaves = [slot[name] for slot in slots for name in sorted(slot)]
    with autograd.pause():
        head = random_inputs(current_state()) if rule.draws else ()
        by_row = frozenset(k for k, grad in enumerate(grads) if grad.stype == "row_sparse")
        op = rule.bound_by_row(by_row)
        grads = [part for k, g in enumerate(grads) for part in (g.places() if k in by_row else (g,))]
        own = [w if w.stype == "default" else w.tostype("default") for w in weights]
        out = invoke(op, (*own, *grads, *leaves, numbers, *head))
        for handle, new in zip((*weights, *leaves), out if isinstance(out, tuple) else (out,), strict=True):
            handle[...] = new


def parts_of(state: object) -> tuple[Any, ...]:
    """Return the arrays of the state of a weight."""
    return () if state is None else tuple(state) if isinstance(state, (tuple, list)) else (state,)


class Updater:
    """An optimizer together with the states of the weights that it has updated.

    Parameters
    ----------
    optimizer : Optimizer
        Decides how a weight is updated.

    Attributes
    ----------
    states : dict
        State by index.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([1.0, -1.0])
    >>> update = optimizer.Updater(optimizer.SGD(learning_rate=0.5))
    >>> update(0, np.array([1.0, 1.0]), weight)
    >>> weight.tolist()
    [0.5, -1.5]
    """

    _read: frozenset[Any] = frozenset()  # indices of states that came from bytes, and may lie on another device

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.aggregate_updates = optimizer.aggregate_num > 1

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        """Update one weight in place, or lists of them together; states are made at a weight's first update."""
        many = isinstance(index, (list, tuple))
        indices, grads, weights = (index, grad, weight) if many else ([index], [grad], [weight])
        states = self.states
        if weights:
            self.optimizer._set_current_device(self._device_of(weights[0]))
        for i, w in zip(indices, weights, strict=True):
            if i not in states:
                states[i] = self.optimizer.create_state_multi_precision(i, w)
            elif i in self._read:
                states[i] = self.sync_state_context(states[i], w.device)
        self._read = self._read.difference(indices)
        if not self.optimizer._is_imperative():
            self.optimizer.update_multi_precision(indices, weights, grads, [states[i] for i in indices])
            return
        for part in self._portions(weights):  # as many weights at once as in MXNet; a user's class may depend on it
            numbers = [indices[k] for k in part]
            self.optimizer.update_multi_precision(
                numbers, [weights[k] for k in part], [grads[k] for k in part], [states[i] for i in numbers]
            )

    def _device_of(self, weight: ndarray) -> int:
        """Return the number of the device whose counters the optimizer uses."""
        return weight.device.device_id

    def _portions(self, weights: Sequence[Any]) -> list[list[int]]:
        """Return the positions of weights to update together: one by one, or up to ``aggregate_num`` of a dtype."""
        if not self.aggregate_updates:
            return [[k] for k in range(len(weights))]
        by_dtype: dict[Any, list[int]] = {}
        for k, weight in enumerate(weights):
            by_dtype.setdefault(np.dtype(weight.dtype), []).append(k)
        most = int(min(self.optimizer.aggregate_num, len(weights)))
        return [same[k : k + most] for same in by_dtype.values() for k in range(0, len(same), most)]

    def sync_state_context(self, state: Any, context: DeviceLike) -> Any:
        """Return a state on a device: the same arrays if they are there, else copies."""
        if isinstance(state, (tuple, list)):
            return type(state)([self.sync_state_context(part, context) for part in state])
        if isinstance(state, dict):
            return {name: self.sync_state_context(part, context) for name, part in state.items()}
        return state.to_device(context) if isinstance(state, Handle) else state  # type: ignore[attr-defined]

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """Return the states as bytes; with ``dump_optimizer`` also its learning rate, weight decay and counts.

        What an optimizer written by hand keeps in attributes is in them then too. The format is NumPy's npz with a JSON
        description, not a pickle, so reading it can run no code.

        Raises
        ------
        ValueError
            If a state that an optimizer of the user's has made holds anything but arrays, numbers, texts, and tuples,
            lists and dicts by text of these.
        """
        return self._written(dump_optimizer, dump_optimizer)

    def _written(self, with_settings: bool, with_attributes: bool) -> bytes:
        """Return the states, with the optimizer's settings and counts and with its own attributes where asked."""
        arrays: dict[str, np.ndarray] = {}
        tree: dict[str, Any] = {"states": [[i, _describe(s, arrays)] for i, s in self.states.items()]}
        if with_attributes and self.optimizer._is_imperative():
            tree["own"] = _describe_own(self.optimizer, arrays)
        if with_settings:
            opt = self.optimizer
            counts = [[i, n] for i, n in opt._index_update_count.items()]
            tree["optimizer"] = {"lr": opt.lr, "wd": opt.wd, "num_update": opt.num_update, "counts": counts}
        buffer = io.BytesIO()
        arrays["tree"] = np.frombuffer(json.dumps(tree).encode(), np.uint8)
        np.savez(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    def set_states(self, states: bytes) -> None:
        """Restore the states that `get_states` returned.

        Raises
        ------
        FormatError
            If the bytes are not such states; nothing is changed then.
        """
        try:
            with np.load(io.BytesIO(states), allow_pickle=False) as arrays:
                tree = json.loads(arrays["tree"].tobytes())
                found = {i: _restore(node, arrays) for i, node in tree["states"]}
                kept = tree.get("optimizer")
                own = {name: _restore(node, arrays) for name, node in tree.get("own", {}).items()}
        except (ValueError, KeyError, OSError, EOFError) as error:
            raise FormatError(f"These bytes are no optimizer states of gluonx ({error}).") from error
        self.states, self._read = found, frozenset(found)
        if self.optimizer._is_imperative():
            vars(self.optimizer).update(own)
        if kept is not None:
            opt = self.optimizer
            opt.lr, opt.wd, opt.num_update = kept["lr"], kept["wd"], kept["num_update"]
            opt._index_update_count = dict(kept["counts"])


def _describe_own(optimizer: Optimizer, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return what a class of the user's holds besides an optimizer's own settings, as far as it can be written."""
    found: dict[str, Any] = {}
    for name, value in optimizer._own_attributes().items():
        with suppress(ValueError):
            found[name] = _describe(value, arrays)
    return found


def _describe(state: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return a state as JSON in which an array is its key and dtype; the arrays' bits go to ``arrays``."""
    if isinstance(state, tuple):
        return [_describe(part, arrays) for part in state]
    if isinstance(state, list):
        return {"list": [_describe(part, arrays) for part in state]}
    if isinstance(state, dict) and all(type(name) is str for name in state):
        return {"dict": {name: _describe(part, arrays) for name, part in state.items()}}
    if isinstance(state, dict) and all(type(name) in (int, str) for name in state):
        return {"pairs": [[name, _describe(part, arrays)] for name, part in state.items()]}
    if isinstance(state, (bool, int, float, str)):
        return {"plain": state}
    if state is None:
        return None
    hosted = isinstance(state, np.ndarray)
    if not hosted and not isinstance(state, Handle):
        raise ValueError(_NOT_KEPT.format(type(state).__name__))
    value: np.ndarray = state if hosted else state.asnumpy()  # type: ignore[attr-defined]
    key = f"a{len(arrays)}"
    arrays[key] = np.frombuffer(value.tobytes(), np.uint8)
    return {"key": key, "dtype": np.dtype(value.dtype).name, "shape": list(value.shape), "hosted": hosted}


_NOT_KEPT = (
    "an optimizer's states are saved as arrays, numbers, texts, and tuples, lists and dicts by text of these, so that "
    "reading them runs no code; a state holds a {}"
)


def _restore(node: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if node is None:
        return None
    if isinstance(node, list):
        return tuple(_restore(part, arrays) for part in node)
    if "list" in node:
        return [_restore(part, arrays) for part in node["list"]]
    if "dict" in node:
        return {name: _restore(part, arrays) for name, part in node["dict"].items()}
    if "pairs" in node:
        return {name: _restore(part, arrays) for name, part in node["pairs"]}
    if "plain" in node:
        return node["plain"]
    hosted, raw = node.get("hosted", False), arrays[node["key"]].tobytes()
    value = np.frombuffer(raw, np.dtype(node["dtype"]) if hosted else canonical(node["dtype"])).reshape(node["shape"])
    return value.copy() if hosted else _handle(value)


def get_updater(optimizer: Optimizer) -> Updater:
    """Return an `Updater` of an optimizer.

    Returns
    -------
    Updater

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([1.0, -1.0])
    >>> optimizer.get_updater(optimizer.SGD(learning_rate=0.5))(0, np.array([1.0, 1.0]), weight)
    >>> weight.tolist()
    [0.5, -1.5]
    """
    return Updater(optimizer)
