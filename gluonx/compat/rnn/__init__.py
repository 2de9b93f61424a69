"""``mx.rnn`` of MXNet 1: recurrent cells that make symbols, and batches of sentences by their lengths.

A cell turns the symbols of an input and of its states into those of an output and of the next states; ``unroll`` does
so for a sequence. New models use `gluonx.rnn`, whose cells are blocks.
"""

from gluonx.compat.rnn import bucketing, cells, files
from gluonx.compat.rnn.bucketing import *  # noqa: F403
from gluonx.compat.rnn.cells import *  # noqa: F403
from gluonx.compat.rnn.files import *  # noqa: F403

__all__: list[str] = []
__all__ += bucketing.__all__
__all__ += cells.__all__
__all__ += files.__all__
