"""Recurrent layers and cells, as ``mxnet.gluon.rnn`` has them. See docs/rnn.md."""

from gluonx.rnn.base import HybridRecurrentCell as HybridRecurrentCell
from gluonx.rnn.base import RecurrentCell as RecurrentCell
from gluonx.rnn.cells import GRUCell as GRUCell
from gluonx.rnn.cells import LSTMCell as LSTMCell
from gluonx.rnn.cells import LSTMPCell as LSTMPCell
from gluonx.rnn.cells import RNNCell as RNNCell
from gluonx.rnn.containers import BidirectionalCell as BidirectionalCell
from gluonx.rnn.containers import HybridSequentialRNNCell as HybridSequentialRNNCell
from gluonx.rnn.containers import SequentialRNNCell as SequentialRNNCell
from gluonx.rnn.conv import Conv1DGRUCell as Conv1DGRUCell
from gluonx.rnn.conv import Conv1DLSTMCell as Conv1DLSTMCell
from gluonx.rnn.conv import Conv1DRNNCell as Conv1DRNNCell
from gluonx.rnn.conv import Conv2DGRUCell as Conv2DGRUCell
from gluonx.rnn.conv import Conv2DLSTMCell as Conv2DLSTMCell
from gluonx.rnn.conv import Conv2DRNNCell as Conv2DRNNCell
from gluonx.rnn.conv import Conv3DGRUCell as Conv3DGRUCell
from gluonx.rnn.conv import Conv3DLSTMCell as Conv3DLSTMCell
from gluonx.rnn.conv import Conv3DRNNCell as Conv3DRNNCell
from gluonx.rnn.layers import GRU as GRU
from gluonx.rnn.layers import LSTM as LSTM
from gluonx.rnn.layers import RNN as RNN
from gluonx.rnn.modifiers import DropoutCell as DropoutCell
from gluonx.rnn.modifiers import ModifierCell as ModifierCell
from gluonx.rnn.modifiers import ResidualCell as ResidualCell
from gluonx.rnn.modifiers import VariationalDropoutCell as VariationalDropoutCell
from gluonx.rnn.modifiers import ZoneoutCell as ZoneoutCell

__all__ = [
    "BidirectionalCell",
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
    "DropoutCell",
    "GRU",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTM",
    "LSTMCell",
    "LSTMPCell",
    "ModifierCell",
    "RNN",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "VariationalDropoutCell",
    "ZoneoutCell",
]
