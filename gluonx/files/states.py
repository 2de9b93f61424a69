"""Trainer states of MXNet, which are pickles, read without a pickle machine that could run anything: `pickles`."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonx.errors import FormatError
from gluonx.files.files import Readable, opened
from gluonx.files.mxnet_list import read_one
from gluonx.files.pickles import Machine, Record
from gluonx.files.source import Source

_MAX_BYTES = 1 << 33
_MAX_ITEMS = 1 << 16
_CLASSES = {
    "mxnet.optimizer": frozenset(
        [
            *("AdaBelief", "AdaDelta", "AdaGrad", "Adam", "AdamW", "Adamax", "DCASGD", "FTML", "Ftrl", "GroupAdaGrad"),
            *("LAMB", "LANS", "LARS", "LBSGD", "NAG", "Nadam", "RMSProp", "SGD", "SGLD", "Signum", "Test", "ccSGD"),
        ]
    ),
    "mxnet.lr_scheduler": frozenset(
        ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]
    ),
}
_SLOTS = {
    **dict.fromkeys(("SGD", "NAG", "Signum", "LARS"), ("momentum",)),
    **dict.fromkeys(("Adam", "AdamW", "LAMB", "LANS", "Adamax", "AdaBelief", "Nadam"), ("mean", "var")),
    **dict.fromkeys(("AdaGrad", "GroupAdaGrad"), ("history",)),
    "AdaDelta": ("mean_square_grad", "mean_square_change"),
    "DCASGD": ("momentum", "previous_weight"),
    "FTML": ("d", "v", "z"),
    "Ftrl": ("z", "n"),
    "RMSProp": ("var",),
    "SGLD": (),
    "Test": ("zeros",),
}
"""The names of an optimizer's states of each parameter, in MXNet's order."""
_CENTERED = {True: ("var", "mean", "momentum"), False: ("mean", "var", "momentum")}
"""The names of a centered RMSProp's states: in MXNet 1, and in MXNet 2."""
_MASTER_LAST = ("SGD", "NAG", "LARS")  # in MXNet 1, where the others have the float32 copy of the weight first
_NAMES = frozenset(
    [
        ("mxnet.ndarray.ndarray", "NDArray"),
        ("mxnet.numpy.multiarray", "ndarray"),
        ("builtins", "bytearray"),
        ("builtins", "set"),
        ("collections", "defaultdict"),
        ("collections", "OrderedDict"),
        ("numpy.core.multiarray", "scalar"),
        ("numpy", "dtype"),
    ]
)


@dataclasses.dataclass
class TrainerStates:
    """The content of a file of trainer states of MXNet.

    Attributes
    ----------
    states : dict of int to (numpy.ndarray or None or tuple of them)
        The optimizer's state of each parameter, by the parameter's number: MXNet numbers them by sorted name and does
        not keep the names.
    optimizer : str
        The class of the optimizer, ``"Adam"``; empty where the file does not say.
    settings : dict of str to object
        The optimizer's attributes, as far as they are numbers, strings, None, or lists, tuples and dicts of these.
    scheduler : tuple of (str, dict), or None
        The class of its learning rate scheduler, and that one's attributes.
    older : bool
        Whether MXNet 1 wrote the file.

    Examples
    --------
    >>> states = TrainerStates({0: (np.zeros(2), np.zeros(2))}, "Adam", {"lr": 0.1})
    >>> arrays, _ = states.by_name(["weight"])
    >>> sorted(arrays)
    ['weight/mean', 'weight/var']
    """

    states: dict[int, Any]
    optimizer: str
    settings: dict[str, Any]
    scheduler: tuple[str, dict[str, Any]] | None = None
    older: bool = False

    def by_name(self, names: Sequence[str], masters: bool = False) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the states as a Trainer of gluonx keeps them.

        Parameters
        ----------
        names : sequence of str
            Of the parameters, sorted: MXNet's numbers are places in this list.
        masters : bool
            Whether the optimizer of the Trainer has ``multi_precision``.

        Returns
        -------
        arrays : dict of str to numpy.ndarray
            By the parameter's name and the state's: ``'0.weight/mean'``.
        meta : dict
            The optimizer's class, its learning rate, and how often it has updated what.

        Raises
        ------
        FormatError
            If the states are of another number of parameters, or of an optimizer whose states have no names here.
        """
        if self.optimizer not in _SLOTS:
            raise FormatError(f"the trainer states are of the optimizer '{self.optimizer}', which cannot be taken over")
        strange = [i for i in self.states if not 0 <= i < len(names)]
        if strange:
            raise FormatError(f"the trainer states have a parameter number {strange[0]}, but there are {len(names)}")
        arrays: dict[str, np.ndarray] = {}
        for number, state in self.states.items():
            master, parts = self._apart(number, state)
            inner = "inner/" if masters else ""
            arrays.update({f"{names[number]}/{inner}{word}": part for word, part in parts.items()})
            if master is not None:
                arrays[f"{names[number]}/master"] = master
        counts = self.settings.get("_index_update_count")
        counts = counts if isinstance(counts, dict) else {}
        known = {names[i]: c for i, c in counts.items() if type(i) is int and 0 <= i < len(names) and type(c) is int}
        update, rate = (self.settings.get(key) for key in ("num_update", "lr"))
        update = update if type(update) is int and update >= 0 else max(known.values(), default=0)
        rate = rate if type(rate) in (int, float) else None
        return arrays, {"optimizer": self.optimizer, "num_update": update, "counts": known, "learning_rate": rate}

    def _apart(self, number: int, state: Any) -> tuple[np.ndarray | None, dict[str, np.ndarray]]:
        """Get the float32 copy of a weight, where there is one, and the optimizer's states, by its words."""
        words: tuple[str, ...] = _SLOTS[self.optimizer]
        master: Any = None
        if isinstance(state, tuple) and len(state) == 2:
            inner = next((i for i, part in enumerate(state) if isinstance(part, tuple)), None)
            if inner is None and len(words) == 1:  # two where one is kept: that one, and a copy of the weight
                inner = 0 if self.older and self.optimizer in _MASTER_LAST else 1
            if inner is not None:
                state, master = state[inner], state[1 - inner]
        parts = () if state is None else state if isinstance(state, tuple) else (state,)
        if self.optimizer == "RMSProp" and len(parts) == 3:
            words = _CENTERED[self.older]
        found: dict[str, Any] = dict(zip(words, parts, strict=True)) if len(parts) == len(words) else {}
        if self.optimizer == "DCASGD" and found.get("momentum", ()) is None:  # no momentum
            del found["momentum"]
        if (parts and not found) or any(not isinstance(p, np.ndarray) for p in (*found.values(), *_there(master))):
            raise FormatError(f"the trainer states of parameter {number} are not {', '.join(words) or 'none'}")
        if self.optimizer == "Nadam" and found:
            found["schedule"] = self._schedule()
        return master, found

    def _schedule(self) -> np.ndarray:
        """Nadam's product of momenta, of one parameter: MXNet multiplies one number once for each of them."""
        product, count = self.settings.get("m_schedule"), len(self.states)
        if not isinstance(product, (int, float)) or not 0 <= product <= 1:
            raise FormatError("the trainer states of Nadam have no m_schedule between 0 and 1")
        return np.array(product ** (1 / count), np.float32)


def _there(value: Any) -> tuple[Any, ...]:
    return () if value is None else (value,)


class _States(Machine):
    what = "trainer states"

    def knows(self, module: str, name: str) -> bool:
        return (module, name) in _NAMES or any(
            module.split(".")[: root.count(".") + 1] == root.split(".") and name in classes
            for root, classes in _CLASSES.items()
        )


def is_pickle(source: Readable) -> bool:
    """Return whether a file begins as pickles do, and so may be trainer states of MXNet.

    Examples
    --------
    >>> import pickle
    >>> is_pickle(pickle.dumps({})), is_pickle(b"PK")
    (True, False)
    """
    with opened(source, 0) as file:
        return file.read(1) == b"\x80"


def load_trainer_states(source: Readable) -> TrainerStates:
    """Read what ``Trainer.save_states`` of MXNet 1 or 2 wrote, without unpickling it.

    Parameters
    ----------
    source : str, os.PathLike or bytes-like
        The file, or its contents.

    Returns
    -------
    TrainerStates

    Raises
    ------
    FormatError
        If the file is damaged or holds anything but trainer states; the message names the class or function that it
        asked for.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> load_trainer_states(b"no pickle")
    Traceback (most recent call last):
        ...
    gluonx.errors.FormatError: ...
    """
    with opened(source, 0) as file:
        if file.size > _MAX_BYTES:
            raise file.fail(f"it has {file.size} bytes, more than trainer states can have")
        machine = _States(file)
        if file.read(1) != b"\x80":
            raise machine.fail("it is no pickle, which trainer states of MXNet are")
        file.seek(0)
        content = machine.run(file.read())
        return _interpret(machine, content)


def _interpret(machine: Machine, content: Any) -> TrainerStates:
    states, optimizer = content if isinstance(content, tuple) and len(content) == 2 else (content, None)
    if not isinstance(states, dict) or not all(type(key) is int for key in states):
        raise machine.fail("it does not hold a dict of states by the parameter's number")
    if optimizer is not None and not isinstance(optimizer, Record):
        raise machine.fail("what stands beside the states is no optimizer")
    arrays: dict[int, np.ndarray] = {}
    found = {key: _state(machine, value, arrays, 0) for key, value in states.items()}
    if optimizer is None:
        return TrainerStates(found, "", {})
    attributes = optimizer.state if isinstance(optimizer.state, dict) else {}
    scheduler = attributes.get("lr_scheduler")
    return TrainerStates(
        found,
        optimizer.name.name,
        _plain(attributes),
        (scheduler.name.name, _plain(scheduler.state)) if isinstance(scheduler, Record) else None,
        optimizer.name.module == "mxnet.optimizer.optimizer" and optimizer.name.name != "Test",
    )


def _plain(attributes: Any) -> dict[str, Any]:
    """Return the attributes that are numbers and texts."""
    items = attributes.items() if isinstance(attributes, dict) else ()
    return {str(key): value for key, value in items if _is_plain(value)}


def _state(machine: Machine, value: Any, arrays: dict[int, np.ndarray], depth: int) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple | list) and depth < 3 and len(value) < 100:
        return tuple(_state(machine, part, arrays, depth + 1) for part in value)
    if not (isinstance(value, Record) and value.name.name in ("NDArray", "ndarray") and isinstance(value.state, dict)):
        raise machine.fail("a state is neither None nor an array nor a tuple of these")
    if id(value) not in arrays:
        handle = value.state.get("handle")
        if not isinstance(handle, bytes):
            raise machine.fail("an array has no bytes")
        arrays[id(value)] = read_one(Source(io.BytesIO(handle), machine.source.name, 1 << 30))
    return arrays[id(value)]


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether a value is made of numbers and texts alone, at most three containers deep."""
    if isinstance(value, dict | list | tuple):
        parts = value.values() if isinstance(value, dict) else value
        return depth < 3 and len(value) <= _MAX_ITEMS and all(_is_plain(part, depth + 1) for part in parts)
    return value is None or isinstance(value, bool | int | float | str)
