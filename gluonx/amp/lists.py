"""The lists of automatic mixed precision: the precision in which each operator runs, as its record (``amp``) says.

Operators go by the names of the core set; MXNet's names (``FullyConnected``, ``_npi_exp``) are understood where
a user gives a list. An operator whose record says nothing takes its inputs as they come.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from gluonx.common.arguments import did_you_mean
from gluonx.common.extensions import NAMES
from gluonx.dtype import bfloat16
from gluonx.ops.registry import OPS, Op

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


PARAMETERS_IN_FP32 = {"batch_norm": ["gamma", "beta", "running_mean", "running_var"]}

_PREFIXES = ("_npi_", "_npx_", "_np_", "_contrib_", "_linalg_", "broadcast_", "_")


def target_of(dtype: DTypeLike) -> np.dtype:
    """Return the low precision that `dtype` names.

    Raises
    ------
    ValueError
        If it is neither float16 nor bfloat16.
    """
    named = str(dtype) if not isinstance(dtype, type) else np.dtype(dtype).name
    if named not in ("float16", "bfloat16"):
        raise ValueError(f"target_dtype must be 'float16' or 'bfloat16', got {dtype!r}")
    return bfloat16 if named == "bfloat16" else np.dtype(np.float16)


def core_name(name: str) -> str:
    """Return the core operator that a user means by `name`, which may be MXNet's.

    Raises
    ------
    ValueError
        If there is none; the message names a near one.

    Examples
    --------
    >>> core_name("FullyConnected"), core_name("_npi_power_scalar"), core_name("elemwise_div")
    ('fully_connected', 'power', 'true_divide')
    """
    bare = name.removesuffix("_scalar")
    guesses = [name, bare, *[bare.removeprefix(p) for p in _PREFIXES if bare.startswith(p)]]
    for guess in guesses:
        if guess in OPS:
            return _plain(OPS[guess])
        if f"linalg_{guess}" in OPS:
            return f"linalg_{guess}"
    known = NAMES["gluonx.nd.computed_by"](name)
    if known is not None:
        return core_name(known)
    raise ValueError(f"amp: there is no operator '{name}'{did_you_mean(name, OPS)}")


def core_names(names: Iterable[str], argument: str) -> list[str]:
    """`core_name` of each; a TypeError if `names` is no list of strings."""
    if isinstance(names, str) or not all(isinstance(n, str) for n in names):
        raise TypeError(f"amp: {argument} must be a list of operator names, got {names!r}")
    return [core_name(n) for n in names]


def _plain(op: Op) -> str:
    return op.name.removeprefix("np.")


def _listed(amp: str) -> list[str]:
    return sorted({_plain(op) for op in OPS.values() if op.amp == amp})


def list_lp16_ops(target_dtype: DTypeLike) -> list[str]:
    """Operators that run in `target_dtype`.

    Examples
    --------
    >>> "fully_connected" in list_lp16_ops("bfloat16")
    True
    """
    target_of(target_dtype)
    return _listed("low")


def list_fp32_ops(target_dtype: DTypeLike) -> list[str]:
    """Operators that run in float32 whatever comes in.

    Examples
    --------
    >>> "log_softmax" in list_fp32_ops("bfloat16")
    True
    """
    target_of(target_dtype)
    return _listed("float32")


def list_conditional_fp32_ops(target_dtype: DTypeLike) -> list[tuple[str, str, list[str]]]:
    """Operators that run in float32 if an attribute has one of some values: (operator, attribute, values).

    Examples
    --------
    >>> [(name, attribute) for name, attribute, values in list_conditional_fp32_ops("float16")][:1]
    [('activation', 'act_type')]
    """
    target_of(target_dtype)
    given = sorted({(_plain(op), *op.amp) for op in OPS.values() if isinstance(op.amp, tuple)})
    return [(name, attribute, list(values)) for name, attribute, values in given]


def list_widest_type_cast(target_dtype: DTypeLike) -> list[str]:
    """Operators that run in the widest type among their inputs.

    Examples
    --------
    >>> "add" in list_widest_type_cast("float16")
    True
    """
    target_of(target_dtype)
    return _listed("widest")


def list_lp16_fp32_ops(target_dtype: DTypeLike) -> list[str]:
    """Operators that run in the type that comes in: all others of the registry.

    Examples
    --------
    >>> "relu" in list_lp16_fp32_ops("float16"), "fully_connected" in list_lp16_fp32_ops("float16")
    (True, False)
    """
    target_of(target_dtype)
    listed = {_plain(op) for op in OPS.values() if op.amp}
    return sorted({_plain(op) for op in OPS.values()} - listed)


def list_loss_output_functions(target_dtype: DTypeLike) -> list[str]:
    """Operators that are loss and output in one: they give the output, and have the gradient of the loss to a label.

    Examples
    --------
    >>> "softmax_output" in list_loss_output_functions("float16")
    True
    """
    target_of(target_dtype)
    found = {op.name for op in OPS.values() if op.name.endswith("_output") and "label" in op.inputs}
    return sorted(found - {"svm_output"})  # which MXNet's list leaves out


def list_lp16_use_fp32_params(target_dtype: DTypeLike) -> dict[str, list[str]]:
    """Operators that take data in `target_dtype` beside parameters in float32, and which parameters.

    Examples
    --------
    >>> "batch_norm" in list_lp16_use_fp32_params("float16")
    True
    """
    target_of(target_dtype)
    return {name: list(params) for name, params in PARAMETERS_IN_FP32.items()}
