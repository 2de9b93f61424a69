"""Machines that are not there: TPUs and GPUs as XLA's compilers know them, and what they can do."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
from jax.sharding import Mesh

from gluonx import sharding
from gluonx.errors import DeviceError
from gluonx.parallel.gpus import GPUS, Chip

# https://cloud.google.com/tpu/docs/{v4,v5e,v5p,v6e}: peak compute, HBM bandwidth, HBM, interchip interconnect.
CHIPS = {
    "v4": Chip(275e12, 1228e9, 32 << 30, 300e9),
    "v5e": Chip(197e12, 819e9, 16 << 30, 200e9),
    "v5p": Chip(459e12, 2765e9, 95 << 30, 600e9),
    "v6e": Chip(918e12, 1640e9, 32 << 30, 448e9),
}
_ENVIRONMENT = {
    # libtpu asks the cloud's metadata server and its own environment about the machine, and waits where there is none.
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # several processes compile at once; no chip is taken
    # JAX's plugin for CUDA looks for a GPU where it is begun, and is not to be had where there is none.
    "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
}
_NO_COMPILER = (
    "{name}: XLA's {kind} compiler is not here; it needs no {kind}, only {machine} with Linux: "
    "pip install 'gluonx[{extra}]' ({error})"
)
_CUDA = ("jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13")


@contextmanager
def quietly() -> Generator[None]:
    """Within, the environment tells libtpu and JAX's plugin that this machine has no TPU or GPU; then it is as it was.

    Variables that the user has set stay. Both read them once, when they are loaded.
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


def _devices(name: str) -> tuple[list[Any], Chip, int]:
    """Return the devices of a topology, what one can do, and how many of them talk without a network between."""
    kind, _, arrangement = name.partition(":")
    parts = arrangement.split("x")
    if kind not in (*CHIPS, *GPUS) or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise DeviceError(
            f"{name!r} is no topology: give a kind of TPUs ({', '.join(CHIPS)}) or GPUs ({', '.join(GPUS)}), and how "
            "they are arranged, as in 'v5e:16x16' or 'v5p:4x4x4', 'h100:8', or 'h100:2x8' for two hosts of eight"
        )
    if kind in GPUS:
        return _gpus(name, kind, [int(part) for part in parts])
    from jax.experimental import topologies

    try:
        with quietly():
            found = topologies.get_topology_desc(platform="tpu", topology_name=name)
    except (NotImplementedError, RuntimeError, ValueError) as error:
        told = str(error).strip().partition("\n")[0]
        if importlib.util.find_spec("libtpu") is None:
            raise _missing(name, "TPU", "an x86 machine", "tpu-plan", told) from error
        raise DeviceError(f"{name!r} is no topology of TPUs that can be had: {told}") from error
    return list(found.devices), CHIPS[kind], len(found.devices)


def _missing(name: str, kind: str, machine: str, extra: str, error: str) -> DeviceError:
    return DeviceError(_NO_COMPILER.format(name=name, kind=kind, machine=machine, extra=extra, error=error))


def _gpus(name: str, kind: str, parts: list[int]) -> tuple[list[Any], Chip, int]:
    chip = GPUS[kind]
    hosts, each = parts if len(parts) == 2 else (1, parts[0])
    if len(parts) > 2 or each > chip.of_host:
        raise DeviceError(
            f"{name!r} is no topology of GPUs: a host has at most {chip.of_host} of {kind}; give their number, as in "
            f"'{kind}:{chip.of_host}', or hosts and the GPUs of each, as in '{kind}:2x{chip.of_host}'"
        )
    from jax.experimental import topologies

    asked = {"platform": "cuda", "topology_name": "", "target_config": chip.text(), "topology": f"1x{hosts}x{each}"}
    try:
        with quietly():
            jax.local_devices()  # JAX begins its plugins here, unless it has before
            try:
                found = topologies.get_topology_desc(**asked)
            except NotImplementedError as error:  # the plugin was begun without the variable, and gave up
                if not _begin_plugin():
                    raise _missing(name, "GPU", "a machine", "gpu-plan", str(error)) from error
                found = topologies.get_topology_desc(**asked)
    except DeviceError:
        raise
    except (NotImplementedError, RuntimeError, ValueError) as error:
        told = str(error).strip().partition("\n")[0]
        raise DeviceError(f"{name!r} is no topology of GPUs that can be had: {told}") from error
    return list(found.devices), chip, each


def _begin_plugin() -> bool:
    """Begin JAX's plugin for CUDA, in the environment that lets it be; False where it is not installed."""
    for module in _CUDA:
        try:
            importlib.import_module(module).initialize()
        except ImportError:
            continue
        return True
    return False


def abstract_mesh(name: str, axes: Mapping[str, int] | None = None) -> tuple[Mesh, Chip, int]:
    """Return a mesh of devices that are not there, all along ``data`` unless `axes` say otherwise.

    With it go what a device can do, and how many in a row of the mesh's devices need no network to one another.

    Parameters
    ----------
    name : str
        As ``"v5e:16x16"`` or ``"h100:2x8"``.
    axes : mapping of str to int, optional
        The sizes of the axes; one may be -1.

    Raises
    ------
    DeviceError
        If there is no such topology, the axes do not fit it, or the compiler is not installed.
    """
    devices, chip, near = _devices(name)
    wanted = dict(axes or {"data": -1})
    # The two cores of a chip of v4 and v5p work as one device, which is how they are counted.
    count = len(devices)
    known = math.prod(size for size in wanted.values() if size != -1)
    if known < 1 or count % known or (-1 not in wanted.values() and known != count):
        told = ", ".join(f"{axis}={size}" for axis, size in wanted.items())
        raise DeviceError(
            f"the topology {name} has {count} devices, which the axes {told} do not divide into: their sizes multiply "
            f"to {count}, where one that is -1 takes what is left"
        )
    return sharding.make_mesh(devices, **wanted), chip, near


def single(kind: str = "v5e") -> Any:
    """Return the sharding of one device, for programs of one."""
    arrangement = "1" if kind in GPUS else "2x2" if kind in ("v5e", "v6e") else "2x2x1"
    return jax.sharding.SingleDeviceSharding(_devices(f"{kind}:{arrangement}")[0][0])
