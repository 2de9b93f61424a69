"""The numbers of a step, where the program is.

From step to step the counts grow by one and mostly nothing else changes. So the program of a step gives the vector of
the next one too, and only numbers that did not follow are sent: an array from the host costs a small step a third of
its time, because its program has to wait for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax.sharding import NamedSharding

from gluonx.deferred.core import aval_of, intern_aval, new_handle
from gluonx.dtype import on_device
from gluonx.optimizer.rules import StepNumbers


class StepVector:
    """A Trainer's step vector; ``handle`` is what goes into the operator and takes what comes out."""

    __slots__ = ("coming", "done", "handle", "place")

    def __init__(self) -> None:
        self.place: Any = None  # the sharding that it comes out with where the weights are on a mesh
        self.handle = new_handle(np.zeros(0, np.float32))
        self.coming: StepNumbers | None = None
        self.done: StepNumbers | None = None

    def move(self, place: Any) -> None:
        """Have the next vector lie with weights that lie at `place`; one that came out elsewhere is made again."""
        if place != self.place:
            self.place, self.done = place, None

    def renewed(self, numbers: StepNumbers) -> Any:
        """Return the handle with these numbers in it."""
        if self.done is None or not numbers.follows(self.done):
            self.done = None  # until a step has come to its end, nobody knows what is in the handle
            vector, handle = numbers.vector(), self.handle
            if isinstance(self.place, NamedSharding):
                vector = on_device(vector, self.place)
                handle.value, handle.aval, handle.tape = vector, aval_of(vector), None
            else:
                handle.value, handle.aval, handle.tape = vector, intern_aval(vector.shape, vector.dtype), None
        self.coming = numbers
        return self.handle

    def stepped(self) -> None:
        """Note that the step was made: the handle has the next vector."""
        self.done = self.coming
