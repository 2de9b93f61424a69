"""gluonx's operators, each as a program of gluonx that consists of it alone: so the engine compiles it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import jaxpr_as_fun

import gluonx
from benchmarks.sweep.cases import Case
from benchmarks.sweep.plain import made
from gluonx.ops import get
from gluonx.ops.cpu.compiler import options_of
from gluonx.ops.cpu.convolution import for_cpu
from gluonx.ops.cpu.rewriting import rewritten

__all__ = ["make", "versions"]


def versions() -> dict[str, str]:
    """Of gluonx."""
    return {"gluonx": gluonx.__version__}


def make(case: Case, gradient: bool) -> Any:
    """Return the case as a compiled function of its arrays."""
    bound = get(case.op).bind(**case.attrs).in_mode(True)
    job = made(bound.fn, case, gradient, bound.random)
    if jax.default_backend() == "cpu":
        job.fn = for_one_cpu(job.fn, job.inputs)
    return job


def for_one_cpu(fn: Callable[..., Any], inputs: list[Any]) -> Callable[..., Any]:
    """Return a function compiled as `gluonx.deferred.run.program.Program` compiles one for a single CPU."""
    with for_cpu():
        closed, out = jax.make_jaxpr(fn, return_shape=True)(*inputs)
    run = rewritten(closed) or jaxpr_as_fun(closed)

    def compute(*inputs: Any) -> Any:
        return jax.tree.unflatten(jax.tree.structure(out), run(*inputs))

    return jax.jit(compute, compiler_options=options_of(closed))
