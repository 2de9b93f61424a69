"""Recurrent layers and cells, as ``mxnet.gluon.rnn`` has them. See docs/rnn.md."""

from gluonx.rnn import containers, conv, layers, modifiers
from gluonx.rnn.base import HybridRecurrentCell as HybridRecurrentCell
from gluonx.rnn.base import RecurrentCell as RecurrentCell
from gluonx.rnn.cells import GRUCell as GRUCell
from gluonx.rnn.cells import LSTMCell as LSTMCell
from gluonx.rnn.cells import LSTMPCell as LSTMPCell
from gluonx.rnn.cells import RNNCell as RNNCell
from gluonx.rnn.containers import *  # noqa: F403
from gluonx.rnn.conv import *  # noqa: F403
from gluonx.rnn.layers import *  # noqa: F403
from gluonx.rnn.modifiers import *  # noqa: F403

__all__ = ["GRUCell", "HybridRecurrentCell", "LSTMCell", "LSTMPCell", "RNNCell", "RecurrentCell"]
__all__ += containers.__all__
__all__ += conv.__all__
__all__ += layers.__all__
__all__ += modifiers.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
