"""Every sample file with its bytes changed: the readers answer, or raise the library's own error, in bounded memory."""

import json
import re
import struct
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gluonx.compat import symbol as sym
from gluonx.errors import GluonxError
from gluonx.files import load_arrays, load_ndarrays, load_trainer_states
from lib.params_samples import HERE, all_files

SMALL = {name: path.read_bytes() for name, path in all_files().items() if path.stat().st_size < 6000}
PARAMETERS = sorted(n for n in SMALL if n.endswith((".params", ".nd", ".npy", ".npz", ".v0")))
GRAPHS = sorted(n for n in SMALL if n.endswith("-symbol.json"))
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
    began = time.process_time()
    try:
        return read(data)
    except GluonxError:
        return None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16 << 20
        assert time.process_time() - began < 5


@pytest.mark.dear
@settings(max_examples=800, deadline=None)
@given(st.sampled_from(PARAMETERS), changes)
def test_parameter_files(name, edits):
    data = mutated(SMALL[name], edits)
    arrays = bounded(lambda d: load_arrays(d, max_expanded_bytes=EXPANDED), data)
    if arrays is not None:
        assert sum(a.nbytes for a in arrays.values()) <= len(data) + EXPANDED


@pytest.mark.dear
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PARAMETERS), changes)
def test_mapped_parameter_files(tmp_path_factory, name, edits):
    path = tmp_path_factory.mktemp("fuzz") / "a.params"
    path.write_bytes(mutated(SMALL[name], edits))
    for array in (bounded(lambda p: load_arrays(p, max_expanded_bytes=EXPANDED, mapped=True), path) or {}).values():
        array.tobytes()  # reads all that the array claims to be, be it numbers or not


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([n for n in PARAMETERS if n.endswith((".nd", ".v0"))]), changes)
def test_lists(name, edits):
    bounded(lambda d: load_ndarrays(d, max_expanded_bytes=EXPANDED), mutated(SMALL[name], edits))


@pytest.mark.dear
@settings(max_examples=500, deadline=None)
@given(st.sampled_from(STATES), changes)
def test_trainer_states(name, edits):
    bounded(load_trainer_states, mutated(SMALL[name], edits))


def use(data):
    """Load a graph, look at it, and find its shapes: all that happens before one is run."""
    graph = sym.fromjson(data)
    graph.list_arguments(), graph.list_outputs(), graph.list_auxiliary_states(), graph.tojson()
    inputs = [n for n in graph.list_arguments() if n.startswith("data")]
    return graph.infer_shape_partial(**dict.fromkeys(inputs, (2, 5)))


@pytest.mark.dear
@settings(max_examples=400, deadline=None)
@given(st.sampled_from(GRAPHS), changes)
def test_graphs(name, edits):
    bounded(sym.fromjson, mutated(SMALL[name], edits))


TOKENS = [b"null", b"0", b"-1", b"1", b"9999999999", b"1e999", b'""', b"[]", b"{}", b'"(0, -1)"', b'"1e9"', b"true"]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([n for n in GRAPHS if "mlp" in n]),
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from(TOKENS)), min_size=1, max_size=4),
)
def test_graphs_with_other_values(name, edits):
    words = re.split(rb'("[^"]*"|-?\d+)', SMALL[name])
    for at, token in edits:
        words[(2 * at + 1) % (len(words) - 1)] = token
    bounded(use, b"".join(words))


VALUES = ["-1", "0", "1", "7", "(0,)", "(1000000000000, 3)", "(-1, -1)", "None", "nan", "inf", "99999999999", "()", "x"]


@pytest.mark.dear
@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(GRAPHS), st.lists(st.tuples(st.integers(0, 300), st.sampled_from(VALUES)), min_size=1, max_size=3)
)
def test_graphs_with_other_attributes(name, edits):
    content = json.loads(SMALL[name])
    places = [(n["attrs"], key) for n in content["nodes"] for key in n.get("attrs", {})]
    for at, value in edits:
        attrs, key = places[at % len(places)]
        attrs[key] = value
    bounded(use, json.dumps(content).encode())


@pytest.mark.dear
@pytest.mark.parametrize("name", PARAMETERS[::4] + STATES[:2])
def test_every_single_bit_of_a_head(name):
    read = load_trainer_states if name in STATES else load_arrays
    data = SMALL[name]
    for at in range(min(len(data), 120)):
        for bit in range(8):
            bounded(read, mutated(data, [(at, "flip", bit)]))


@pytest.mark.dear
@pytest.mark.parametrize("name", STATES)
def test_trainer_states_cut_anywhere(name):
    data = (HERE / name).read_bytes()
    for size in range(len(data)):
        assert bounded(load_trainer_states, data[:size]) is None
