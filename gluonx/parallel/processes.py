"""Several processes, as one machine: JAX's own distributed runtime, a seed in common, and a roll call.

``jax.distributed`` brings the processes together, finds Slurm, MPI, Kubernetes and TPU pods by itself, and ends them
all when one stops to answer. What it leaves open is done here: random streams begin at the same seed everywhere, and
processes that begin to do different things are told so (:mod:`gluonx.parallel.roll`).
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import sys
import threading
import time
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from gluonx.deferred.run import flushing
from gluonx.deferred.values import source_location
from gluonx.ops import prng
from gluonx.parallel import roll

_MOST = 1024  # bytes of what process 0 tells the others
_GRACE = 1.0  # seconds for a process to tell of its own error before it ends for another's


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    timeout: float = 300,
    **options: Any,
) -> None:
    """Take part in a run of several processes; before anything is computed.

    ``python -m gluonx.parallel.launch`` calls it before the script. A second call does nothing, so a script may
    call it as well.

    Parameters
    ----------
    coordinator_address : str, optional
        Where process 0 listens, as ``"10.0.0.1:1234"``. Together with the two that follow; without them JAX finds out
        about Slurm, Open MPI, Kubernetes and TPU pods.
    num_processes, process_id : int, optional
    timeout : float
        Seconds to wait for processes that do not come to where the others are, before they are named.
    **options
        Of ``jax.distributed.initialize``: ``heartbeat_timeout_seconds`` for one.

    Raises
    ------
    RuntimeError
        If JAX has computed already, or the processes do not find each other.

    Notes
    -----
    All processes get the seed that process 0 has, so that parameters begin alike everywhere.

    Examples
    --------
    >>> from gluonx import parallel
    >>> parallel.initialize("10.0.0.1:1234", num_processes=2, process_id=0)  # doctest: +SKIP
    """
    if roll.joined():
        return
    if not jax.distributed.is_initialized():
        jax.distributed.initialize(coordinator_address, num_processes, process_id, **options)
    if jax.process_count() == 1:
        return
    local = coordinator_address is not None and coordinator_address.split(":")[0] in ("localhost", "127.0.0.1")
    is_first = jax.process_index() == 0
    server = roll.Server(jax.process_count(), timeout, "127.0.0.1" if local else "") if is_first else None
    told: dict[str, Any] = {}
    if server is not None:
        hosts = ["127.0.0.1"] if local else _own_addresses()
        told = {"hosts": hosts, "port": server.port, "token": server.token, "seed": prng.get_state()["seed"]}
    words = np.zeros(_MOST, np.uint8)
    text = json.dumps(told).encode()
    words[: len(text)] = np.frombuffer(text, np.uint8)
    told = json.loads(bytes(np.asarray(multihost_utils.broadcast_one_to_all(words))).rstrip(b"\0"))
    prng.seed(told["seed"])
    try:
        hosts = ["127.0.0.1"] if is_first else told["hosts"]
        roll.join(roll.Member(hosts, told["port"], told["token"], jax.process_index(), _end_for_another))
    except OSError as error:
        roll.say(
            f"process {jax.process_index()} cannot reach process 0 beside the collectives ({error}). The run goes on "
            f"unwatched: open that port between the machines, or processes that differ will hang."
        )
        return
    flushing.agreements[:] = [_same_program]
    atexit.register(roll.leave)


def _own_addresses() -> list[str]:
    """Names and addresses by which the other machines may know this one."""
    name = socket.gethostname()
    found = [socket.getfqdn(), name]
    with contextlib.suppress(OSError):  # a machine that does not know its own name
        found += [str(info[4][0]) for info in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    return list(dict.fromkeys(host for host in found if not host.startswith("127.") and host != "localhost"))[:6]


def _same_program(lowered: Any, args: list[Any]) -> None:
    """Ask the others whether they, too, are about to compile this program."""
    if all(getattr(a, "is_fully_addressable", True) for a in args):
        return  # it is this process's own
    state = prng.get_state()
    random = state["seed"], state["counter"], state["streams"]
    shapes = [f"{a.dtype}{list(a.shape)}" for a in args if getattr(a, "shape", ())]
    some = ", ".join(shapes[:12]) + (f" and {len(shapes) - 12} more" if len(shapes) > 12 else "")
    code = roll.digest(lowered.as_text())
    line = source_location.user_line()
    roll.agree(
        (code, random),
        f"at {line}, a program ({code[:8]}) of {some}; random state: seed {random[0]}, {random[1]} draws, "
        f"{random[2]} streams",
    )


def _end_for_another(why: str) -> None:
    """End this process: another one is gone, and whatever is waited for from it will not come."""
    threading.current_thread().name = "gluonx-end"
    roll.say(f"{why}. Process {jax.process_index()} ends as well. Start all again from the last checkpoint.")
    time.sleep(_GRACE)
    end(1)


def end(status: int) -> None:
    """End this process at once: JAX would wait for processes that do not come to an end."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
