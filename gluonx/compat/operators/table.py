"""The table of legacy operators: every operator of MXNet 1 that gluonx knows, as a canonicalization to core operators.

`TABLE` holds the rows by name and alias; `get_legacy` finds one with an error that a person can act on. The rows are
written in the files beside this one, a file a family; `gluonx.compat.operators.row` tells what a row is.
"""

from __future__ import annotations

from gluonx.common.arguments import did_you_mean
from gluonx.compat.operators import densities as densities
from gluonx.compat.operators import elementwise as elementwise
from gluonx.compat.operators import linalg as linalg
from gluonx.compat.operators import nn as nn
from gluonx.compat.operators import reduce as reduce
from gluonx.compat.operators import sampling as sampling
from gluonx.compat.operators import sequence as sequence
from gluonx.compat.operators import shape as shape
from gluonx.compat.operators import updates as updates
from gluonx.compat.operators import vision as vision
from gluonx.compat.operators.row import TABLE as TABLE
from gluonx.compat.operators.row import LegacyOp as LegacyOp

METHODS = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax", "argmax_channel", "argmin",
    "argsort", "broadcast_axes", "broadcast_like", "cbrt", "ceil", "clip", "cos", "cosh", "degrees",
    "depth_to_space", "diag", "exp", "expm1", "fix", "flip", "floor", "log", "log10", "log1p", "log2",
    "log_sigmoid", "log_softmax", "max", "mean", "min", "mish", "nanprod", "nansum", "norm", "one_hot", "ones_like",
    "pad", "pick", "prod", "radians", "rcbrt", "reciprocal", "relu", "repeat", "reshape_like", "rint", "round",
    "rsqrt", "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array", "slice", "slice_axis", "slice_like",
    "softmax", "softmin", "sort", "space_to_depth", "split_v2", "sqrt", "square", "sum", "swapaxes", "take", "tan",
    "tanh", "topk", "trunc", "zeros_like",
)  # fmt: skip
"""Methods of NDArrays and symbols: the function of the same name with the array in front."""


def get_legacy(name: str) -> LegacyOp:
    """Return the legacy operator of this name or alias.

    Raises
    ------
    KeyError
        If there is none; the message names the nearest spelling.

    Examples
    --------
    >>> get_legacy("concat")
    <legacy operator Concat>
    """
    found = TABLE.get(name)
    if found is None:
        raise KeyError(f"there is no legacy operator '{name}'{did_you_mean(name, TABLE)}")
    return found


def computed_by(name: str) -> str | None:
    """Return the first core operator by which a legacy operator is computed; None if `name` is none.

    Examples
    --------
    >>> computed_by("elemwise_sub")
    'subtract'
    """
    return TABLE[name].via[0] if name in TABLE and TABLE[name].via else None
