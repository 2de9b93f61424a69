"""Recomputing in the backward instead of keeping values (``jax.checkpoint``).

A layer's forward is traced by itself, and that trace under ``jax.checkpoint`` is one operator. Its backward gets the
layer's inputs and, depending on the policy, some of the computed values. Random draws are the same again, since their
index is an input.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import jax

from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.trace.tracing import trace_function
from gluonx.deferred.values.core import Handle
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
    """Return the policy of ``jax.checkpoint`` with this name; None for ``'layer'``, JAX's own default.

    Raises
    ------
    ArgumentError
        If there is no policy of this name.
    """
    if name is None or name == "layer":
        return None
    if name not in POLICIES:
        raise ArgumentError(f"remat must be 'none', 'layer' or a policy ({', '.join(POLICIES)}), got {name!r}")
    return getattr(jax.checkpoint_policies, name)


def checkpointed(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function on arrays that is recomputed in its backward; for the body of a loop."""
    return jax.checkpoint(fn, policy=policy_of(name), prevent_cse=False)  # pyright: ignore[reportPrivateImportUsage]


def again(
    layer: Callable[..., Any], params: list[Handle], structs: list[Any], inputs: list[Handle], name: str | None
) -> Any:
    """Call a layer so that its backward recomputes it; call it plainly inside of another such layer.

    Parameters
    ----------
    layer : callable
        Takes handles.
    params : list of Handle
        The handles that it is expected to read.
    structs : list of jax.ShapeDtypeStruct
        The inputs' shapes and dtypes.
    inputs : list of Handle
    name : str
        A name for :func:`policy_of`.
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
