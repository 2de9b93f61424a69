"""A stretch in which Python does not look for garbage.

Tracing and importing make hundreds of thousands of objects that stay, and the collector of cycles goes through all of
them again and again: it took a tenth of a warm start. It is switched off for such stretches alone, and only where it
was on. What a long one leaves is put among the old objects, unseen, where it is looked at when they are.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["uncollected"]

_MANY = 20_000  # new objects; going through them takes some milliseconds


@contextmanager
def uncollected() -> Generator[None]:
    """Within, cycles of objects that nobody holds any more stay where they are.

    Examples
    --------
    >>> with uncollected():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > _MANY and gc.get_freeze_count() == 0:
            gc.freeze()
            gc.unfreeze()  # to the oldest generation
        gc.enable()
