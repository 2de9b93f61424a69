"""Optimizers: classes with MXNet's names, defaults and numbers over pure update rules in optax's form."""

from gluonx.optimizer.adam import AdaBelief, Adam, Adamax, AdamW, Nadam
from gluonx.optimizer.adaptive import FTML, AdaDelta, AdaGrad, Ftrl, GroupAdaGrad, RMSProp
from gluonx.optimizer.layerwise import LAMB, LANS, LARS
from gluonx.optimizer.momentum import DCASGD, NAG, SGD, SGLD, Signum, Test
from gluonx.optimizer.optimizer import (
    OptaxOptimizer,
    Optimizer,
    Updater,
    create,
    declared,
    from_optax,
    get_updater,
    register,
)
from gluonx.optimizer.rules import FlatRule

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LANS",
    "LARS",
    "NAG",
    "SGD",
    "SGLD",
    "AdaBelief",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "AdamW",
    "Adamax",
    "FlatRule",
    "Ftrl",
    "GroupAdaGrad",
    "Nadam",
    "OptaxOptimizer",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Test",
    "Updater",
    "create",
    "declared",
    "from_optax",
    "get_updater",
    "register",
]
