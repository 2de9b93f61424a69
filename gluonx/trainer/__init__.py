"""The Trainer: turns gradients into new weights, as the last node of the step's one program.

Begin with `gluonx.trainer.trainer`: what a step is, when its plan still fits, and what happens otherwise. `plan` makes
plans, `replicas` is for several devices, `held` has the states between two steps, and `states` what users do with these
(files, checkpoints, copies).
"""

from gluonx.trainer.trainer import Trainer

__all__ = ["Trainer"]


def __dir__() -> list[str]:
    return sorted(__all__)
