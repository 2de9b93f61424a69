"""Probability distributions, transformations of random variables, and divergences, as MXNet's ``gluon.probability``.

A distribution holds parameters and computes densities, draws and statistics of them, as any code on ndarrays does: at
once, recorded, in hybridized blocks and in functional views. `gluonx.probability.distribution` says what they share.

Which names there are is what the modules list in their ``__all__``.
"""

from gluonx.probability import (
    block,
    combined,
    constraint,
    continuous,
    discrete,
    distribution,
    kl,
    multivariate,
    transformation,
    transformed,
    utils,
)
from gluonx.probability.block import *  # noqa: F403
from gluonx.probability.combined import *  # noqa: F403
from gluonx.probability.continuous import *  # noqa: F403
from gluonx.probability.discrete import *  # noqa: F403
from gluonx.probability.distribution import *  # noqa: F403
from gluonx.probability.kl import *  # noqa: F403
from gluonx.probability.multivariate import *  # noqa: F403
from gluonx.probability.transformation import *  # noqa: F403
from gluonx.probability.transformed import *  # noqa: F403
from gluonx.probability.utils import *  # noqa: F403

__all__ = ["constraint"]
__all__ += block.__all__
__all__ += combined.__all__
__all__ += continuous.__all__
__all__ += discrete.__all__
__all__ += distribution.__all__
__all__ += kl.__all__
__all__ += multivariate.__all__
__all__ += transformation.__all__
__all__ += transformed.__all__
__all__ += utils.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
