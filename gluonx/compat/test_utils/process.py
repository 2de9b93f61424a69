"""Devices, environment variables and the standard error of a process that tests."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from gluonx.compat.util import setenv
from gluonx.device import Device, current_device, num_gpus

__all__ = [
    "default_context",
    "default_device",
    "discard_stderr",
    "environment",
    "has_tvm_ops",
    "is_cd_run",
    "is_op_runnable",
    "list_gpus",
    "set_default_context",
    "set_default_device",
]


def default_device() -> Any:
    """Return where new arrays go."""
    return current_device()


default_context = default_device


def set_default_device(device: Any) -> None:
    """Have new arrays go to `device` from now on, in this thread."""
    Device(device).__enter__()


set_default_context = set_default_device


def list_gpus() -> range:
    """Return the numbers of the GPUs."""
    return range(num_gpus())


@contextlib.contextmanager
def environment(*args: Any) -> Iterator[None]:
    """Set environment variables within a ``with`` block: ``environment(name, value)``, or a dict; None unsets one.

    Examples
    --------
    >>> with environment({"GLUONX_A": "1", "GLUONX_B": None}):
    ...     os.environ["GLUONX_A"], os.environ.get("GLUONX_B")
    ('1', None)
    >>> "GLUONX_A" in os.environ
    False
    """
    pairs = args[0] if len(args) == 1 else dict([args]) if len(args) == 2 else None
    if not isinstance(pairs, Mapping):
        raise ValueError(f"environment takes a name and a value, or a dict of them; got {args!r}")
    before = {name: os.environ.get(name) for name in pairs}
    try:
        _assign(pairs)
        yield
    finally:
        _assign(before)


def _assign(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setenv(name, None if value is None else str(value))


@contextlib.contextmanager
def discard_stderr() -> Iterator[None]:
    """Throw away what the process writes to its standard error, C code included, within a ``with`` block."""
    with open(os.devnull, "w") as nowhere:
        kept = os.dup(2)
        try:
            os.dup2(nowhere.fileno(), 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def has_tvm_ops() -> bool:
    """Return False: no operator is compiled by TVM."""
    return False


def is_op_runnable() -> bool:
    """Return True: every operator runs on every device."""
    return True


def is_cd_run() -> bool:
    """Return whether the variable ``CD_JOB`` says that this is a run of continuous delivery."""
    return os.environ.get("CD_JOB", "0") == "1"
