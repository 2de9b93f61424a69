"""An exported model as one file for IREE's runtime: ``python -m examples.iree_compile FOLDER SIZE model.vmfb``.

Needs the extra ``iree``. The folder is an artifact with that bucket, ``net.export(folder, buckets=[1],
layout="NHWC")``; what comes out runs with ``iree-base-runtime`` and NumPy, without jax and gluonx, or in a C program.

Four things make it fast on a CPU, each measured with a ResNet-18 (docs/export.md): images with their channels last;
the program of ``bucket-1.jaxexport``, whose small convolutions are products of patches; the weights inside the module,
so that the compiler orders and tiles them; and, on a machine that does other work too, threads that are not pinned to
cores (`predictor`): a dispatch ends when its last thread does, and a pinned one waits while another core is free.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pathlib
import sys
from typing import Any

import jax
from jax import export

from gluonx.files import atomic_write, load_arrays

__all__ = ["FLAGS", "compiled", "main", "module", "predictor"]

FLAGS = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-data-tiling=true"]


def module(folder: pathlib.Path, size: int) -> str:
    """Return the StableHLO module of a bucket, with its weights as constants.

    Raises
    ------
    FileNotFoundError
        If the artifact has no bucket of that size.
    """
    exported = export.deserialize(bytearray((folder / f"bucket-{size}.jaxexport").read_bytes()))
    (_, *inputs), _ = jax.tree.unflatten(exported.in_tree, exported.in_avals)
    params = load_arrays(folder / "params.safetensors")
    predict = jax.jit(lambda *arrays: exported.call(params, *arrays))
    structs = jax.tree.map(lambda aval: jax.ShapeDtypeStruct(aval.shape, aval.dtype), inputs)
    return predict.trace(*structs).lower(lowering_platforms=("cpu",)).as_text()


def compiled(folder: pathlib.Path, size: int, flags: list[str] | None = None) -> bytes:
    """Compile a bucket for this machine's CPU, by IREE; `flags` in place of `FLAGS`."""
    compiler = importlib.import_module("iree.compiler")
    given = FLAGS if flags is None else flags
    text = module(folder, size)
    return compiler.compile_str(text, target_backends=["llvm-cpu"], input_type="stablehlo", extra_args=given)


def predictor(binary: bytes, threads: int | None = None) -> Any:
    """Return a function of NumPy arrays that runs the file's content by IREE.

    Parameters
    ----------
    binary : bytes
    threads : int, optional
        As many as there are cores for this process by default. The first predictor of a process decides.
    """
    runtime = importlib.import_module("iree.runtime")
    # Without the flag IREE pins its threads to cores.
    runtime.flags.parse_flags(f"--task_topology_group_count={threads or _cores()}")
    context = runtime.SystemContext(config=runtime.Config("local-task"))
    loaded = runtime.VmModule.copy_buffer(context.instance, binary)
    context.add_vm_module(loaded)
    run = context.modules[loaded.name]["main"]

    def predict(*arrays: Any) -> Any:
        out = run(*arrays)
        return tuple(x.to_host() for x in out) if isinstance(out, tuple) else out.to_host()

    return predict


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main(argv: list[str] | None = None) -> int:
    """Compile an artifact's bucket into a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("size", type=int)
    parser.add_argument("target", type=pathlib.Path)
    args = parser.parse_args(argv)
    binary = compiled(args.folder, args.size)
    with atomic_write(args.target) as file:
        file.write(binary)
    print(f"{args.target}: {len(binary):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
