"""``mx.rnn`` of MXNet 1: recurrent cells that make symbols, and batches of sentences by their lengths.

A cell turns the symbols of an input and of its states into those of an output and of the next states; ``unroll`` does
so for a sequence. New models use `gluonx.rnn`, whose cells are blocks.
"""

from gluonx.compat.rnn.bucketing import BucketSentenceIter as BucketSentenceIter
from gluonx.compat.rnn.bucketing import encode_sentences as encode_sentences
from gluonx.compat.rnn.cells import BaseRNNCell as BaseRNNCell
from gluonx.compat.rnn.cells import BidirectionalCell as BidirectionalCell
from gluonx.compat.rnn.cells import DropoutCell as DropoutCell
from gluonx.compat.rnn.cells import FusedRNNCell as FusedRNNCell
from gluonx.compat.rnn.cells import GRUCell as GRUCell
from gluonx.compat.rnn.cells import LSTMCell as LSTMCell
from gluonx.compat.rnn.cells import ModifierCell as ModifierCell
from gluonx.compat.rnn.cells import ResidualCell as ResidualCell
from gluonx.compat.rnn.cells import RNNCell as RNNCell
from gluonx.compat.rnn.cells import RNNParams as RNNParams
from gluonx.compat.rnn.cells import SequentialRNNCell as SequentialRNNCell
from gluonx.compat.rnn.cells import ZoneoutCell as ZoneoutCell
from gluonx.compat.rnn.files import do_rnn_checkpoint as do_rnn_checkpoint
from gluonx.compat.rnn.files import load_rnn_checkpoint as load_rnn_checkpoint
from gluonx.compat.rnn.files import save_rnn_checkpoint as save_rnn_checkpoint

__all__ = [
    "BaseRNNCell",
    "BidirectionalCell",
    "BucketSentenceIter",
    "DropoutCell",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
    "do_rnn_checkpoint",
    "encode_sentences",
    "load_rnn_checkpoint",
    "save_rnn_checkpoint",
]
