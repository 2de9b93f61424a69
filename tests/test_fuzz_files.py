"""Every sample file with its bytes changed: the readers answer, or raise the library's own error, in bounded memory."""

import struct
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from params_samples import HERE, all_files

from gluonx.errors import GluonxError
from gluonx.serialize import load_arrays, load_ndarrays, load_trainer_states

SMALL = {name: path.read_bytes() for name, path in all_files().items() if path.stat().st_size < 6000}
PARAMETERS = sorted(n for n in SMALL if n.endswith((".params", ".nd", ".npy", ".npz", ".v0")))
STATES = sorted(n for n in SMALL if n.endswith(".states"))
EXPANDED = 1 << 20

# (position, what happens there, with which value): a bit flipped, a byte set, the rest cut off, a byte put in or taken
# out, four or eight bytes that lengths and counts turn into, the word there reversed as by a wrong-endian writer, or a
# stretch repeated.
changes = st.lists(
    st.tuples(
        st.integers(0, 1 << 16),
        st.sampled_from(["flip", "set", "cut", "insert", "remove", "word", "long", "swap", "repeat"]),
        st.integers(0, 255),
    ),
    min_size=1,
    max_size=6,
)
WORDS = (0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000)
LONGS = (0, 1, (1 << 63) - 1, (1 << 64) - 1, 1 << 40, 1 << 62)


def mutated(data, edits):
    data = bytearray(data)
    for place, kind, value in edits:
        at = place % max(len(data), 1)
        if kind == "flip" and data:
            data[at] ^= 1 << value % 8
        elif kind == "set" and data:
            data[at] = value
        elif kind == "cut":
            del data[at:]
        elif kind == "insert":
            data[at:at] = bytes([value])
        elif kind == "remove":
            del data[at : at + 1 + value % 16]
        elif kind == "word":
            data[at : at + 4] = struct.pack("<I", WORDS[value % len(WORDS)])
        elif kind == "long":
            data[at : at + 8] = struct.pack("<Q", LONGS[value % len(LONGS)])
        elif kind == "swap":
            data[at : at + 8] = data[at : at + 8][::-1]
        elif kind == "repeat":
            data[at:at] = data[at : at + value]
    return bytes(data)


def bounded(read, data):
    """Run a reader: what it gives, or None where it raises an error of gluonx; nothing else, and not for long."""
    tracemalloc.start()
    began = time.monotonic()
    try:
        return read(data)
    except GluonxError:
        return None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16 << 20
        assert time.monotonic() - began < 5


@settings(max_examples=800, deadline=None)
@given(st.sampled_from(PARAMETERS), changes)
def test_parameter_files(name, edits):
    data = mutated(SMALL[name], edits)
    arrays = bounded(lambda d: load_arrays(d, max_expanded_bytes=EXPANDED), data)
    if arrays is not None:
        assert sum(a.nbytes for a in arrays.values()) <= len(data) + EXPANDED


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PARAMETERS), changes)
def test_mapped_parameter_files(tmp_path_factory, name, edits):
    path = tmp_path_factory.mktemp("fuzz") / "a.params"
    path.write_bytes(mutated(SMALL[name], edits))
    for array in (bounded(lambda p: load_arrays(p, max_expanded_bytes=EXPANDED, mapped=True), path) or {}).values():
        array.sum()  # reads all that the array claims to be


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([n for n in PARAMETERS if n.endswith((".nd", ".v0"))]), changes)
def test_lists(name, edits):
    bounded(lambda d: load_ndarrays(d, max_expanded_bytes=EXPANDED), mutated(SMALL[name], edits))


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(STATES), changes)
def test_trainer_states(name, edits):
    bounded(load_trainer_states, mutated(SMALL[name], edits))


@pytest.mark.parametrize("name", PARAMETERS[::4] + STATES[:2])
def test_every_single_bit_of_a_head(name):
    read = load_trainer_states if name in STATES else load_arrays
    data = SMALL[name]
    for at in range(min(len(data), 120)):
        for bit in range(8):
            bounded(read, mutated(data, [(at, "flip", bit)]))


@pytest.mark.parametrize("name", STATES)
def test_trainer_states_cut_anywhere(name):
    data = (HERE / name).read_bytes()
    for size in range(len(data)):
        assert bounded(load_trainer_states, data[:size]) is None
