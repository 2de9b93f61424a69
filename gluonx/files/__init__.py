"""Parameter files: named NumPy arrays on disk, written atomically and read without trust.

A parameter file is a mapping from names to arrays, nothing more. Two operations stand on it, :func:`save_arrays` and
:func:`load_arrays`; whoever writes any other file goes through :func:`atomic_write` or :func:`atomic_directory`.

Two invariants are kept here. *Writing*: at every moment the name on disk is either the complete old file or the
complete new one; a failure, a full disk or Ctrl-C in the middle leaves the old one and no litter. *Reading*: a file is
data from a stranger. The container is told by its first bytes, never by its extension; every length is compared with
the bytes that are really there before anything is allocated; nothing is ever unpickled or evaluated. What does not fit
raises :class:`~gluonx.errors.FormatError`, which names the file, the offset and the reason.

Containers read: npz and npy (numpy's, and MXNet 2's with its bfloat16 and sparse arrays), safetensors, PyTorch's state
dicts (a zip archive, whose pickle is read and not run), and MXNet's ``NDArray`` list in all of its record versions (0
to 3). Written: npz (so that MXNet 2.0 reads it), safetensors, npy, and the NDArray list (so that MXNet 1 reads it).
Trainer states of MXNet are pickles and go through :func:`load_trainer_states`, which runs nothing.
"""

from __future__ import annotations

from gluonx.files.atomic import atomic_directory as atomic_directory
from gluonx.files.atomic import atomic_write as atomic_write
from gluonx.files.files import LISTED as LISTED
from gluonx.files.files import arriving as arriving
from gluonx.files.files import load_arrays as load_arrays
from gluonx.files.files import load_metadata as load_metadata
from gluonx.files.files import load_ndarrays as load_ndarrays
from gluonx.files.files import load_npy as load_npy
from gluonx.files.files import save_arrays as save_arrays
from gluonx.files.files import save_ndarrays as save_ndarrays
from gluonx.files.names import cell_name as cell_name
from gluonx.files.names import recurrent_names as recurrent_names
from gluonx.files.places import Place as Place
from gluonx.files.places import at_hand as at_hand
from gluonx.files.places import name_of as name_of
from gluonx.files.source import checksum_of as checksum_of
from gluonx.files.sparse import Stored as Stored
from gluonx.files.states import TrainerStates as TrainerStates
from gluonx.files.states import is_pickle as is_pickle
from gluonx.files.states import load_trainer_states as load_trainer_states

__all__ = [
    "LISTED",
    "Place",
    "Stored",
    "TrainerStates",
    "arriving",
    "at_hand",
    "atomic_directory",
    "atomic_write",
    "cell_name",
    "checksum_of",
    "is_pickle",
    "load_arrays",
    "load_metadata",
    "load_ndarrays",
    "load_npy",
    "load_trainer_states",
    "name_of",
    "recurrent_names",
    "save_arrays",
    "save_ndarrays",
]


def __dir__() -> list[str]:
    return sorted(__all__)
