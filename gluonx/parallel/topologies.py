"""Machines that are not there: TPU topologies as XLA's compiler knows them, and what their chips can do."""

from __future__ import annotations

import importlib.util
import math
import os
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh

from gluonx import sharding
from gluonx.errors import DeviceError


@dataclass(frozen=True)
class Chip:
    """A kind of TPU chip.

    Parameters
    ----------
    flops : float
        Of bfloat16 matrix products in a second.
    bandwidth : float
        Bytes in a second from its memory.
    memory : int
        Bytes that it has.
    links : float
        Bytes in a second over all its links to neighbours.
    """

    flops: float
    bandwidth: float
    memory: int
    links: float


# https://cloud.google.com/tpu/docs/{v4,v5e,v5p,v6e}: peak compute, HBM bandwidth, HBM, interchip interconnect.
CHIPS = {
    "v4": Chip(275e12, 1228e9, 32 << 30, 300e9),
    "v5e": Chip(197e12, 819e9, 16 << 30, 200e9),
    "v5p": Chip(459e12, 2765e9, 95 << 30, 600e9),
    "v6e": Chip(918e12, 1640e9, 32 << 30, 448e9),
}
# libtpu asks the cloud's metadata server and its own environment about the machine, and waits where there is none.
_ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # several processes compile at once; no chip is taken
}
_NO_COMPILER = (
    "{name}: XLA's TPU compiler is not here; it needs no TPU, only an x86 machine with Linux: "
    "pip install 'gluonx[tpu-plan]' ({error})"
)


@contextmanager
def quietly() -> Generator[None]:
    """Within, the environment tells libtpu that this machine is no TPU; afterwards it is as it was.

    Variables that the user has set stay. libtpu reads them once, when it is loaded.
    """
    added = [name for name in _ENVIRONMENT if name not in os.environ]
    os.environ.update({name: _ENVIRONMENT[name] for name in added})
    try:
        with warnings.catch_warnings():
            # A program for a machine that is not there can be written to JAX's cache, but not read from it.
            warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache")
            yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _devices(name: str) -> tuple[list[Any], Chip]:
    kind, _, arrangement = name.partition(":")
    if kind not in CHIPS or not all(part.isdigit() and int(part) > 0 for part in arrangement.split("x")):
        raise DeviceError(
            f"{name!r} is no topology of TPUs: give a kind of {', '.join(CHIPS)} and how its chips are arranged, as in "
            "'v5e:16x16' or 'v5p:4x4x4'"
        )
    from jax.experimental import topologies

    try:
        with quietly():
            found = topologies.get_topology_desc(platform="tpu", topology_name=name)
    except (NotImplementedError, RuntimeError, ValueError) as error:
        told = str(error).strip().partition("\n")[0]
        if importlib.util.find_spec("libtpu") is None:
            raise DeviceError(_NO_COMPILER.format(name=name, error=told)) from error
        raise DeviceError(f"{name!r} is no topology of TPUs that can be had: {told}") from error
    return list(found.devices), CHIPS[kind]


def abstract_mesh(name: str, axes: Mapping[str, int] | None = None) -> tuple[Mesh, Chip]:
    """Return a mesh of devices that are not there, all along ``data`` unless `axes` say otherwise.

    Parameters
    ----------
    name : str
        As ``"v5e:16x16"``.
    axes : mapping of str to int, optional
        The sizes of the axes; one may be -1.

    Raises
    ------
    DeviceError
        If there is no such topology, the axes do not fit it, or the compiler is not installed.
    """
    devices, chip = _devices(name)
    wanted = dict(axes or {"data": -1})
    # The two cores of a chip of v4 and v5p work as one device, which is how they are counted.
    count = len(devices)
    known = math.prod(size for size in wanted.values() if size != -1)
    if count % known or (-1 not in wanted.values() and known != count):
        told = ", ".join(f"{axis}={size}" for axis, size in wanted.items())
        raise DeviceError(f"the topology {name} has {count} devices, which the axes {told} do not divide into")
    return sharding.make_mesh(devices, **wanted), chip


def single(kind: str = "v5e") -> Any:
    """Return the sharding of one chip, for programs of one device."""
    devices, _ = _devices(f"{kind}:2x2" if kind in ("v5e", "v6e") else f"{kind}:2x2x1")
    return jax.sharding.SingleDeviceSharding(devices[0])
