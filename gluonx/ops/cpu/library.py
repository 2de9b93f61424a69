"""The library that computes the convolutions which a program leaves to XLA, of two that XLA has on a CPU.

They are YNNPACK, the default (jax 0.10 to 0.12), and Eigen. YNNPACK shares a convolution among threads by
its output channels, a thread for 64 of them or so: one with 64 channels or fewer runs on one core, however many there
are. Eigen shares it by places. XLA chooses for a whole program, by an option of its compiler.

Milliseconds on two cores of an Intel Xeon (AMX, jax 0.10.2), YNNPACK and Eigen; 3x3 where no kernel is named, as
(batch, height = width, channels in, channels out):

==================  ====== ======   ========================  ====== ======
2, 128, 32, 32         7.6    5.2   8, 7, 512, 512              16.8   10.1
1, 56, 64, 64          1.9    1.7   4, 32, 16, 16               0.44   0.47
4, 56, 64, 128 / 2     6.5    3.5   1, 8, 32, 32               0.029  0.044
2, 32, 64, 64, holes   1.9    1.4   32, 28, 1, 20 (5x5)         0.92    2.0
8, 28, 128, 128        8.5    8.1   4, 64, 64, 3                 1.8    3.2
8, 14, 256, 256       12.3    9.5   8, 224, 3, 64 (7x7 / 2)     20.4   20.7
==================  ====== ======   ========================  ====== ======

On one core YNNPACK is level or ahead, so it stays.
"""

from __future__ import annotations

import math
import os
from typing import Any

from gluonx.common.process import cores
from gluonx.ops.common import equations
from gluonx.sharding import option_of_cpus

__all__ = ["compiler_options"]

_OPTION = "xla_cpu_experimental_ynn_fusion_type"
_WITHOUT_CONVOLUTIONS = ",".join(f"LIBRARY_FUSION_TYPE_{kind}" for kind in ("DOT", "REDUCE", "INDIVIDUAL_DOT"))
"""What YNNPACK computes by default, but for INDIVIDUAL_CONVOLUTION."""

_WIDE = 16  # channels, in and out, from which Eigen is ahead
_WORTH = 2e7  # operations of a program's wide convolutions from which on it is worth the option
_MAJORITY = 4  # so many times the operations of those that are not wide, which Eigen takes up to twice as long for


def compiler_options(jaxpr: Any) -> dict[str, Any] | None:
    """Return options of XLA for a program for one CPU, for ``jax.jit``; None for its defaults.

    Parameters
    ----------
    jaxpr : jax.extend.core.ClosedJaxpr
        The program, as XLA gets it.

    Examples
    --------
    >>> import jax
    >>> compiler_options(jax.make_jaxpr(abs)(1.0)) is None
    True
    """
    if cores() == 1 or _OPTION in os.environ.get("XLA_FLAGS", ""):
        return None  # what the user has chosen stays
    operations = {True: 0.0, False: 0.0}
    for eqn in equations(jaxpr):
        name = eqn.primitive.name
        if name == "conv_general_dilated":
            is_ahead, count = _of_primitive(eqn)
            operations[is_ahead] += count
        elif name == "operator" and eqn.params["op"].name == "convolution":  # in a trace of a block
            is_ahead, count = _of_operator(eqn, eqn.params["op"].attrs)
            operations[is_ahead] += count
    is_worth_it = operations[True] > max(_WORTH, _MAJORITY * operations[False])
    return option_of_cpus(_OPTION, _WITHOUT_CONVOLUTIONS) if is_worth_it else None


def _of_primitive(eqn: Any) -> tuple[bool, float]:
    """Return whether Eigen is ahead in a convolution of JAX, and its operations."""
    weight, out = eqn.invars[1].aval.shape, eqn.outvars[0].aval.shape
    of_out, of_in, *places = eqn.params["dimension_numbers"].rhs_spec
    channels = weight[of_in], weight[of_out] // eqn.params["feature_group_count"]
    kernel = math.prod(weight[axis] for axis in places)
    of_weight = kernel > math.prod(out[axis] for axis in eqn.params["dimension_numbers"].out_spec[2:])
    return of_weight or min(channels) >= _WIDE, 2.0 * math.prod(out) * channels[0] * kernel


def _of_operator(eqn: Any, attrs: dict[str, Any]) -> tuple[bool, float]:
    """Return the same of an operator `convolution`, whose weight has its filters first."""
    weight, out = eqn.invars[1].aval.shape, eqn.outvars[0].aval.shape
    channels = weight[-1 if (attrs["layout"] or "").endswith("C") else 1], weight[0] // attrs["num_group"]
    return min(channels) >= _WIDE, 2.0 * math.prod(out) * math.prod(weight) / weight[0]
