"""Optimizers: classes with MXNet's names, defaults and numbers over pure update rules with optax's interface."""

from gluonx.optimizer import adam, adaptive, layerwise, momentum
from gluonx.optimizer.adam import *  # noqa: F403
from gluonx.optimizer.adaptive import *  # noqa: F403
from gluonx.optimizer.layerwise import *  # noqa: F403
from gluonx.optimizer.momentum import *  # noqa: F403
from gluonx.optimizer.optimizer import (
    OptaxOptimizer,
    Optimizer,
    create,
    declared,
    from_optax,
    register,
)
from gluonx.optimizer.rules import FlatRule
from gluonx.optimizer.updater import Updater, get_updater

__all__ = [
    "FlatRule",
    "OptaxOptimizer",
    "Optimizer",
    "Updater",
    "create",
    "declared",
    "from_optax",
    "get_updater",
    "register",
]
__all__ += adam.__all__
__all__ += adaptive.__all__
__all__ += layerwise.__all__
__all__ += momentum.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
