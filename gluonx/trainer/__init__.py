"""The Trainer: turns gradients into new weights, as the last node of the step's one program.

`gluonx.trainer.trainer` is the page on a step: what it is, when its plan still fits, and what happens where not. How a
plan is made stands in `plan`, several devices in `replicas`, the states between two steps in `held`, what one does with
them from outside (files, checkpoints, copies) in `states`, and what the constructor is given in `arguments`.
"""

from gluonx.trainer.trainer import Trainer

__all__ = ["Trainer"]


def __dir__() -> list[str]:
    return sorted(__all__)
