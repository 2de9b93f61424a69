"""``mx.mod``: MXNet 1's training loop over a symbol.

A module binds a symbol to arrays, and trains it by batches. Everything that it computes goes through
`gluonx.symbol.Executor`. New programs write the loop with ``autograd.record()`` and ``Trainer.step``.
"""

from gluonx.compat.module.base import BaseModule as BaseModule
from gluonx.compat.module.bucketing import BucketingModule as BucketingModule
from gluonx.compat.module.feedforward import FeedForward as FeedForward
from gluonx.compat.module.module import Module as Module
from gluonx.compat.module.python import PythonLossModule as PythonLossModule
from gluonx.compat.module.python import PythonModule as PythonModule
from gluonx.compat.module.sequential import SequentialModule as SequentialModule

__all__ = [
    "BaseModule",
    "BucketingModule",
    "FeedForward",
    "Module",
    "PythonLossModule",
    "PythonModule",
    "SequentialModule",
]
