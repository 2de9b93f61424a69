"""Options of XLA's compiler for a program for one CPU: the library for convolutions, blocks of memory, fewer copies.

Two libraries compute the convolutions that a program leaves to XLA: YNNPACK, the default (jax 0.10 to 0.12), and Eigen.
YNNPACK shares a convolution among threads by its output channels, a thread for 64 of them or so: one with 64 channels
or fewer runs on one core, however many there are. Eigen shares it by places. XLA chooses for a whole program, by an
option of its compiler.

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

In the weight's gradient the images are what the library takes for channels. With several of them YNNPACK is far behind,
however few channels they have: 4x3x224x224 with 7x7 to 64 and stride 2 took 164 and 32 (an AMD EPYC, AVX2). Time of a
step with Eigen over that with YNNPACK there, of nets with narrow convolutions: that stem alone 0.16, 32x3x32x32 (5x5 to
32 and 32) 0.31, 128x1x28x28 (3x3 to 8 and 16) 0.73, 64x1x28x28 (5x5 to 6 and 16) 0.82, 4x3x128x128 (3x3 to 12) 0.98.

On one core YNNPACK is level or ahead, so it stays.

XLA asks for the memory of all of a program's temporary arrays as one block at each call, and gives it back at the end.
glibc maps a block of more than 32 MiB anew each time, and the system clears each of its pages when it is first written:
34,000 page faults in a step of MobileNetV2. Smaller blocks it keeps, and the smaller they are, the fewer of them it
gives back after all (a U-Net: 12,300 to 17,000 faults a step with blocks of 24 or 31 MiB, 4,000 with 8, 28,300 with one
block). So a program's largest array tells the size. Processor time over that with one block (two cores, rounds in
turns, others working): MobileNetV2 (16x3x64x64) 0.70, LSTM (35x20) 0.86, ResNet-18 (16x3x64x64) 0.89, U-Net
(2x3x128x128) 0.91, DCGAN 0.96; wall 0.69, 1.00, 0.94, 0.97 and 0.97.

But XLA calls programs in several threads, and glibc keeps memory for each of them: between steps the U-Net's process
has 600 to 700 MB for 382. So what all threads may keep has a bound. ResNet-50 (8x3x224x224), which it leaves out, would
take 0.82 of the time and 3.0 GB for 1.8; ``engine.tune()`` gives it that without a second copy.

A step writes each new weight over the old one. XLA copies the old one first unless it can tell that all that reads it
is done by then, which its default for CPUs often cannot (21 copies, one for each kernel, in a ResNet-18); with the
analysis that it has for GPUs there are none. Processor time of a step with it, and of the compilation: ResNet-18 0.92
and 1.0, DCGAN 0.94 and 0.9, two layers of BERT 0.94 and 1.0, LSTM 1.0 and 1.1, MobileNetV2 0.97 and 1.0, U-Net 1.0 and
1.2. So it is used where the arguments, which are the weights and the optimizer's states, are at least half as large as
what the program computes from them.
"""

from __future__ import annotations

import math
import os
import platform
from collections import Counter
from collections.abc import Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr, Literal

from gluonx.common.process import cores
from gluonx.ops.common import equations
from gluonx.sharding import option_of_cpus

__all__ = ["options_of"]

_LIBRARY = "xla_cpu_experimental_ynn_fusion_type"
_WITHOUT_CONVOLUTIONS = ",".join(f"LIBRARY_FUSION_TYPE_{kind}" for kind in ("DOT", "REDUCE", "INDIVIDUAL_DOT"))
"""What YNNPACK computes by default, but for INDIVIDUAL_CONVOLUTION."""

_WIDE = 16  # channels, in and out, from which Eigen is ahead
_WORTH = 2e7  # operations of a program's wide convolutions from which on it is worth the option
_MAJORITY = 4  # so many times the operations of those that are not wide, which Eigen takes up to twice as long for
_SEVERAL = 4  # images, from which on Eigen takes a fraction of YNNPACK's time for the weight's gradient
_FAR_AHEAD = 16  # so many times the operations of such a gradient count

_BLOCKS = "xla_multiheap_size_constraint_per_heap"
_SMALLEST = 4 << 20  # bytes of a block; the larger they are, the more of them glibc gives back after all
_LARGEST = 24 << 20  # bytes of an array; glibc keeps at most 32 MiB, and XLA warns of an array larger than its block
_AS_ONE = 32 << 20  # bytes; glibc keeps these as one block
_KEPT = 1 << 30  # bytes that the threads of all cores may keep, by `_needed`: about half of it in fact

_COPIES = "xla_cpu_copy_insertion_use_region_analysis"
_LARGE = 32 << 20  # bytes of arguments from which on a copy of each is worth an analysis


def options_of(jaxpr: ClosedJaxpr) -> dict[str, Any] | None:
    """Return options of XLA for a program for one CPU, for ``jax.jit``; None for its defaults.

    Parameters
    ----------
    jaxpr : jax.extend.core.ClosedJaxpr
        The program, as XLA gets it.

    Examples
    --------
    >>> import jax
    >>> options_of(jax.make_jaxpr(abs)(1.0)) is None
    True
    """
    options: dict[str, Any] = {}
    given = os.environ.get("XLA_FLAGS", "")  # what the user has chosen stays
    if _LIBRARY not in given and cores() > 1 and _is_ahead(jaxpr):
        options |= option_of_cpus(_LIBRARY, _WITHOUT_CONVOLUTIONS) or {}
    needed, largest = _needed(jaxpr)
    block = 0 if _BLOCKS in given else _block(needed, largest)
    if block and option_of_cpus(_BLOCKS, "-1"):
        options[_BLOCKS] = block
    if _COPIES not in given and sum(map(_size, jaxpr.in_avals)) >= max(needed // 2, _LARGE):
        options |= option_of_cpus(_COPIES, "True") or {}
    return options or None


def _is_ahead(jaxpr: ClosedJaxpr) -> bool:
    """Return whether Eigen computes a program's convolutions sooner."""
    found = list(_convolutions(jaxpr))
    ahead = sum([count for advantage, count in found if advantage])
    behind = sum([count for advantage, count in found if not advantage])
    weighted = sum([advantage * count for advantage, count in found])
    return ahead > _WORTH and weighted > _MAJORITY * behind


def _convolutions(jaxpr: ClosedJaxpr) -> Iterator[tuple[int, float]]:
    """Yield for each convolution how far Eigen is ahead (0 if it is not), and its operations."""
    for eqn in equations(jaxpr):
        name = eqn.primitive.name
        if name == "conv_general_dilated":
            yield _of_primitive(eqn)
        elif name == "operator" and eqn.params["op"].name == "convolution":  # in a trace of a block
            yield _of_operator(eqn, eqn.params["op"].attrs)


def _of_primitive(eqn: Any) -> tuple[int, float]:
    """Return how far Eigen is ahead in a convolution of JAX, and its operations."""
    weight, out = eqn.invars[1].aval.shape, eqn.outvars[0].aval.shape
    of_out, of_in, *places = eqn.params["dimension_numbers"].rhs_spec
    channels = weight[of_in], weight[of_out] // eqn.params["feature_group_count"]
    kernel = math.prod(weight[axis] for axis in places)
    of_weight = kernel > math.prod(out[axis] for axis in eqn.params["dimension_numbers"].out_spec[2:])
    advantage = _FAR_AHEAD if of_weight and channels[0] >= _SEVERAL else int(of_weight or min(channels) >= _WIDE)
    return advantage, 2.0 * math.prod(out) * channels[0] * kernel


def _of_operator(eqn: Any, attrs: dict[str, Any]) -> tuple[int, float]:
    """Return the same of an operator `convolution`, whose weight has its filters first."""
    weight, out = eqn.invars[1].aval.shape, eqn.outvars[0].aval.shape
    channels = weight[-1 if (attrs["layout"] or "").endswith("C") else 1], weight[0] // attrs["num_group"]
    return int(min(channels) >= _WIDE), 2.0 * math.prod(out) * math.prod(weight) / weight[0]


def _block(needed: int, largest: int) -> int:
    """Return the bytes of the blocks that a program's temporary arrays are to lie in, 0 for one that has them all."""
    is_kept = _AS_ONE < needed <= _KEPT // cores() and largest <= _LARGEST
    if not is_kept or platform.libc_ver()[0] != "glibc":
        return 0
    return max(_SMALLEST, largest + largest // 8)  # room for an array that XLA pads


def _size(aval: Any) -> int:
    """Return the bytes of an array; 0 for what is none."""
    return math.prod(aval.shape) * aval.dtype.itemsize if hasattr(aval, "shape") else 0


def _needed(jaxpr: Any) -> tuple[int, int]:
    """Return the bytes that a program's temporary arrays need at once, operation by operation, and the largest's.

    XLA joins operations, and needs about half of it (0.45 to 0.52 for the steps above, 0.74 for the LSTM's).

    Examples
    --------
    >>> import jax
    >>> _needed(jax.make_jaxpr(lambda x: (x + 1) * (x - 1) + 1)(jax.numpy.ones(10)))
    (120, 40)
    """
    value: Any = getattr(jaxpr, "jaxpr", jaxpr)
    if isinstance(value, (tuple, list)):
        parts = [_needed(each) for each in value]
        return max((most for most, _ in parts), default=0), max((largest for _, largest in parts), default=0)
    eqns: Any = getattr(value, "eqns", ())
    outvars: Any = getattr(value, "outvars", ())
    read_last = {v: i for i, eqn in enumerate(eqns) for v in eqn.invars if not isinstance(v, Literal)}
    results = {v for v in outvars if not isinstance(v, Literal)}
    given_back: Counter[int] = Counter()  # bytes after each equation
    now = most = largest = 0
    for i, eqn in enumerate(eqns):
        within, of_within = _needed(list(eqn.params.values()))
        for v in eqn.outvars:
            size = _size(v.aval)
            largest = max(largest, size)
            if v in read_last and v not in results:
                now += size
                given_back[read_last[v]] += size
        most, largest = max(most, now + within), max(largest, of_within)
        now -= given_back[i]
    return most, largest
