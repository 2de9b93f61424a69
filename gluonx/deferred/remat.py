"""Computing again what a backward needs, in place of keeping it (``jax.checkpoint``).

A layer's forward is traced on its own, and that trace under ``jax.checkpoint`` is one operator: what flows back
through it finds the layer's inputs and, by the policy, some of what it computed. Random draws are the same, since their
index is an input.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import jax

from gluonx.deferred.core import Handle
from gluonx.deferred.derived import DerivedOp
from gluonx.deferred.tracing import trace_function
from gluonx.errors import ArgumentError

__all__ = ["POLICIES", "again", "checkpointed", "policy_of"]

POLICIES = (
    "checkpoint_dots",
    "checkpoint_dots_with_no_batch_dims",
    "dots_saveable",
    "dots_with_no_batch_dims_saveable",
    "everything_saveable",
    "nothing_saveable",
)
_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("gluonx_remat", default=False)


def policy_of(name: str | None) -> Any:
    """Return the policy of ``jax.checkpoint`` that a name means; None for ``'layer'``, JAX's own default.

    Raises
    ------
    ArgumentError
        If it means none.
    """
    if name is None or name == "layer":
        return None
    if name not in POLICIES:
        raise ArgumentError(f"remat must be 'none', 'layer' or a policy ({', '.join(POLICIES)}), got {name!r}")
    return getattr(jax.checkpoint_policies, name)


def checkpointed(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function on arrays whose backward computes it again; for the body of a loop."""
    return jax.checkpoint(fn, policy=policy_of(name), prevent_cse=False)  # pyright: ignore[reportPrivateImportUsage]


def again(
    layer: Callable[..., Any], params: list[Handle], structs: list[Any], inputs: list[Handle], name: str | None
) -> Any:
    """Give `inputs` to a layer, which a backward computes again; as it is, inside of another such layer.

    Parameters
    ----------
    layer : callable
        Of handles.
    params : list of Handle
        What it is expected to read.
    structs : list of jax.ShapeDtypeStruct
        Of the inputs.
    inputs : list of Handle
    name : str
        Of :func:`policy_of`.
    """
    if name is None or _inside.get():
        return layer(*inputs)
    token = _inside.set(True)
    try:
        traced = trace_function(layer, "layer", structs, params, changes=True)
    finally:
        _inside.reset(token)
    run = jax.checkpoint(traced.op.fn, policy=policy_of(name))  # pyright: ignore[reportPrivateImportUsage]
    gathers = traced.op.gathers
    traced.op = DerivedOp("layer", run, n_live=traced.op.n_live, wide=traced.op.wide)
    traced.op.gathers = gathers
    return traced(inputs)
