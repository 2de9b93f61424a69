# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.compat.nd.op import *
from gluonx.compat.nd.ndarray import NDArray as NDArray
from gluonx.compat.nd.creation import add as add
from gluonx.compat.nd.creation import arange as arange
from gluonx.compat.nd.creation import array as array
from gluonx.compat.nd.creation import cast as cast
from gluonx.compat.nd.creation import concatenate as concatenate
from gluonx.compat.nd import contrib as contrib
from gluonx.compat.nd.creation import divide as divide
from gluonx.compat.nd.creation import empty as empty
from gluonx.compat.nd.creation import equal as equal
from gluonx.compat.nd.creation import eye as eye
from gluonx.compat.nd.creation import from_dlpack as from_dlpack
from gluonx.compat.nd.creation import from_numpy as from_numpy
from gluonx.compat.nd.creation import full as full
from gluonx.compat.nd.creation import greater as greater
from gluonx.compat.nd.creation import greater_equal as greater_equal
from gluonx.compat.nd.creation import histogram as histogram
from gluonx.compat.nd import image as image
from gluonx.compat.nd.creation import lesser as lesser
from gluonx.compat.nd.creation import lesser_equal as lesser_equal
from gluonx.compat.nd import linalg as linalg
from gluonx.compat.nd.creation import linspace as linspace
from gluonx.compat.nd.creation import load as load
from gluonx.compat.nd.creation import load_frombuffer as load_frombuffer
from gluonx.compat.nd.creation import logical_and as logical_and
from gluonx.compat.nd.creation import logical_or as logical_or
from gluonx.compat.nd.creation import logical_xor as logical_xor
from gluonx.compat.nd.creation import maximum as maximum
from gluonx.compat.nd.creation import minimum as minimum
from gluonx.compat.nd.creation import modulo as modulo
from gluonx.compat.nd.creation import moveaxis as moveaxis
from gluonx.compat.nd.creation import multiply as multiply
from gluonx.compat.nd.creation import not_equal as not_equal
from gluonx.compat.nd.creation import onehot_encode as onehot_encode
from gluonx.compat.nd.creation import ones as ones
from gluonx.compat.nd import op as op
from gluonx.compat.nd.creation import power as power
from gluonx.compat.nd import random as random
from gluonx.compat.nd.creation import save as save
from gluonx.compat.nd import sparse as sparse
from gluonx.compat.nd.creation import split_v2 as split_v2
from gluonx.compat.nd.creation import subtract as subtract
from gluonx.compat.nd.creation import to_dlpack_for_read as to_dlpack_for_read
from gluonx.compat.nd.creation import to_dlpack_for_write as to_dlpack_for_write
from gluonx.compat.nd.creation import divide as _true_divide
true_divide = _true_divide
from gluonx.compat.nd.creation import waitall as waitall
from gluonx.compat.nd.creation import zeros as zeros


