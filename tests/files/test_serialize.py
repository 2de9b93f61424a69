"""Parameter files: what is written comes back, what others wrote is read, and nothing on disk can hurt the reader."""

import io
import json
import os
import pathlib
import stat
import struct
import tracemalloc
import zipfile
import zlib

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gluonx.errors import FormatError
from gluonx.files import atomic_directory, atomic_write, load_arrays, load_metadata, save_arrays
from lib import TESTS

DATA = TESTS / "data" / "serialize"
BF16 = np.dtype(ml_dtypes.bfloat16)
PLAIN_DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", BF16]


def same(actual, expected):
    assert list(actual) == list(expected)
    for name, array in expected.items():
        array = np.asarray(array)
        assert actual[name].shape == array.shape, name
        assert actual[name].dtype == array.dtype.newbyteorder("="), name
        assert actual[name].flags.c_contiguous and actual[name].flags.writeable, name
        np.testing.assert_array_equal(actual[name], array, err_msg=name)


def sample_arrays():
    arrays = {f"of.{np.dtype(d).name}": np.arange(6).reshape(2, 3).astype(d) for d in PLAIN_DTYPES}
    return arrays | {
        "scalar": np.float32(2.5),
        "empty": np.zeros((0, 3), np.int64),
        "strided": np.arange(24, dtype=np.float32).reshape(2, 3, 4)[:, ::-1, ::2],
        "fortran": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        "big endian": np.arange(3, dtype=">i4"),
        "größe/Δ": np.ones(1, np.float32),
        "x.npy": np.ones(2, np.float32),
    }


# ------------------------------------------------------------------------------------------------------- round trips


@pytest.mark.parametrize("name", ["net.params", "net.safetensors"])
def test_round_trip(tmp_path, name):
    save_arrays(tmp_path / name, sample_arrays(), metadata={"epoch": "3", "größe": "Δ"})
    same(load_arrays(tmp_path / name), sample_arrays())
    same(load_arrays((tmp_path / name).read_bytes()), sample_arrays())
    assert load_metadata(tmp_path / name) == {"epoch": "3", "größe": "Δ"}
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_format_argument_wins_over_the_extension_and_content_over_both(tmp_path):
    arrays = {"w": np.ones(2, np.float32)}
    save_arrays(tmp_path / "a.params", arrays, format="safetensors")
    save_arrays(tmp_path / "a.safetensors", arrays, format="npz")
    assert (tmp_path / "a.safetensors").read_bytes()[:2] == b"PK"
    same(load_arrays(tmp_path / "a.params"), arrays)
    same(load_arrays(tmp_path / "a.safetensors"), arrays)


def test_no_arrays_and_no_metadata(tmp_path):
    for name in ("none.params", "none.safetensors"):
        save_arrays(tmp_path / name, {})
        assert load_arrays(tmp_path / name) == {}
        assert load_metadata(tmp_path / name) == {}


def test_single_npy(tmp_path):
    save_arrays(tmp_path / "x.npy", {"x": np.arange(3.0)}, format="npy")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.arange(3.0))
    same(load_arrays(tmp_path / "x.npy"), {"arr_0": np.arange(3.0)})
    with pytest.raises(ValueError, match="exactly one array and no metadata, got 2 arrays"):
        save_arrays(tmp_path / "x.npy", {"x": np.ones(1), "y": np.ones(1)}, format="npy")


def test_equal_parameters_make_equal_files(tmp_path):
    for name in ("a.params", "b.params"):
        save_arrays(tmp_path / name, sample_arrays())
    assert (tmp_path / "a.params").read_bytes() == (tmp_path / "b.params").read_bytes()


def test_numpy_and_safetensors_read_what_we_write(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays = {k: v for k, v in sample_arrays().items() if v.dtype != BF16 and k != "x.npy"}
    save_arrays(tmp_path / "a.params", arrays)
    with np.load(tmp_path / "a.params") as theirs:
        same({k: theirs[k] for k in theirs.files}, arrays)
    save_arrays(tmp_path / "a.safetensors", sample_arrays())
    theirs = safetensors.load_file(tmp_path / "a.safetensors")
    same({k: theirs[k] for k in sample_arrays()}, sample_arrays())


def test_we_read_what_numpy_and_safetensors_write(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays = {k: np.array(v, order="C") for k, v in sample_arrays().items() if v.dtype.isnative}
    safetensors.save_file(arrays, tmp_path / "a.safetensors", metadata={"k": "v"})
    mine = load_arrays(tmp_path / "a.safetensors")
    same({k: mine[k] for k in arrays}, arrays)
    assert load_metadata(tmp_path / "a.safetensors") == {"k": "v"}
    arrays = {k: v for k, v in sample_arrays().items() if v.dtype != BF16 and k != "x.npy"}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        same(load_arrays(tmp_path / "a.npz"), arrays)


def test_float8_lives_in_safetensors_only(tmp_path):
    arrays = {"w": np.arange(3).astype(ml_dtypes.float8_e4m3fn), "v": np.arange(3).astype(ml_dtypes.float8_e5m2)}
    save_arrays(tmp_path / "a.safetensors", arrays)
    same(load_arrays(tmp_path / "a.safetensors"), arrays)
    with pytest.raises(FormatError, match="cannot hold float8_e4m3fn arrays; save as safetensors"):
        save_arrays(tmp_path / "a.params", arrays)
    with pytest.raises(FormatError, match="'c' of type complex128"):
        save_arrays(tmp_path / "b.safetensors", {"c": np.ones(1, complex)})
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"": np.ones(1)}, "non-empty string, got ''"),
        ({3: np.ones(1)}, "non-empty string, got 3"),
        ({"w": np.array([object()])}, "'w' has the type object"),
        ({"w": np.array(["text"])}, "'w' has the type <U4"),
        ({"w": np.zeros(1, [("a", "i4")])}, "only booleans and numbers"),
    ],
)
def test_what_cannot_be_saved(tmp_path, arrays, message):
    with pytest.raises(TypeError, match=message):
        save_arrays(tmp_path / "a.params", arrays)
    assert not list(tmp_path.iterdir())


def test_bad_arguments_of_save(tmp_path):
    with pytest.raises(ValueError, match=r"format must be .* got 'hdf5'"):
        save_arrays(tmp_path / "a", {}, format="hdf5")
    with pytest.raises(TypeError, match="metadata must map strings to strings"):
        save_arrays(tmp_path / "a", {}, metadata={"epoch": 3})
    with pytest.raises(FormatError, match="65535 bytes of metadata"):
        save_arrays(tmp_path / "a", {}, metadata={"k": "v" * 70_000})
    with pytest.raises(FormatError, match="NUL"):
        save_arrays(tmp_path / "a", {"a\0b": np.ones(1)})
    assert not list(tmp_path.iterdir())


# --------------------------------------------------------------------------------------------- what MXNet reads, wrote


@pytest.mark.parametrize("ndim", [0, 1, 4, 21, 23, 24, 32])
def test_npz_headers_are_within_what_mxnet_2_reads(tmp_path, ndim):
    # Measured on 2.0.0b1: members stored, and a header length that is positive as a signed byte.
    shape = (1,) * ndim
    save_arrays(tmp_path / "a.params", {"w": np.ones(shape, np.float32)})
    with zipfile.ZipFile(tmp_path / "a.params") as archive:
        (info,) = archive.infolist()
        data = archive.read(info)
    assert info.compress_type == zipfile.ZIP_STORED and info.flag_bits == 0
    assert data[:8] == b"\x93NUMPY\x01\x00" and data[10 + int.from_bytes(data[8:10], "little") - 1 :][:1] == b"\n"
    if ndim <= 23:
        assert int.from_bytes(data[8:10], "little") <= 127
    assert len(data) == {0: 132, 1: 132, 4: 132, 21: 132}.get(ndim, len(data))
    same(load_arrays(tmp_path / "a.params"), {"w": np.ones(shape, np.float32)})


def test_bfloat16_is_spelled_as_mxnet_spells_it(tmp_path):
    save_arrays(tmp_path / "a.params", {"w": np.ones(3, BF16)})
    assert b"'descr': '<b2'" in (tmp_path / "a.params").read_bytes()


def test_mxnet_files():
    grid = np.arange(6, dtype=np.float32).reshape(2, 3)
    v0 = load_arrays(DATA / "mxnet0_v0.nd")
    same(v0, {f"arr_{i}": np.arange(128, dtype=np.float32) for i in range(6)})
    same(load_arrays(DATA / "mxnet1_bool.nd"), {"arr_0": np.ones((2, 3), bool)})
    v3 = load_arrays(DATA / "mxnet1_v3.nd")
    same(v3, {"s": np.float32(3), "z": np.zeros((0, 3), np.float32), "w": np.ones((2, 3), np.float32)})
    named = load_arrays(DATA / "mxnet1_named.nd")
    same(named, {"arg:w": np.ones((2, 3), np.float32), "aux:m": np.zeros(2, np.float32)})
    assert load_metadata(DATA / "mxnet1_named.nd") == {}
    two = load_arrays(DATA / "mxnet2_named.npz")
    assert {k: v.shape for k, v in two.items()} == {"a.b": (2, 3), "scalar": (), "empty": (0, 3), "i64": (3,)}
    same(load_arrays(DATA / "mxnet2_float16.npy"), {"arr_0": grid.astype(np.float16)})


def test_sparse_arrays_of_mxnet_come_dense():
    one = load_arrays(DATA / "mxnet1_sparse.nd")
    same(
        one,
        {
            "r": np.array([[0, 0], [1, 2], [0, 0], [3, 4], [0, 0]], np.float32),
            "c": np.array([[0, 1, 0], [2, 0, 3]], np.float64),
        },
    )
    two = load_arrays(DATA / "mxnet2_sparse.npz")
    rows = np.zeros((6, 3), np.float32)
    rows[[0, 4]] = 1
    same(two, {"r": rows, "c": np.eye(4, dtype=np.float32)})


def nd_list(*records, names=()):
    head = struct.pack("<QQQ", 0x112, 0, len(records)) + b"".join(records) + struct.pack("<Q", len(names))
    return head + b"".join(struct.pack("<Q", len(n)) + n for n in names)


def nd_v2(shape, data, dtype=0, tag=0xF993FAC9, storage=0):
    return struct.pack(f"<Iii{len(shape)}qiii", tag, storage, len(shape), *shape, 1, 0, dtype) + data


def test_all_record_versions_agree():
    data = np.arange(6, dtype=np.float32)
    v0 = struct.pack("<IIIiii", 2, 2, 3, 2, 1, 0) + data.tobytes()
    v1 = struct.pack("<IIqqiii", 0xF993FAC8, 2, 2, 3, 2, 1, 0) + data.tobytes()
    v2, v3 = (nd_v2((2, 3), data.tobytes(), tag=tag) for tag in (0xF993FAC9, 0xF993FACA))
    arrays = load_arrays(nd_list(v0, v1, v2, v3, names=(b"v0", b"v1", b"v2", b"v3")))
    same(arrays, {f"v{i}": data.reshape(2, 3) for i in range(4)})


def test_every_dtype_number_of_mxnet():
    narrow = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"]
    for code, name in enumerate([*narrow, "int16", "uint16", "uint32", "uint64", "bfloat16"]):
        data = np.array([0, 1, 1]).astype(name)
        same(load_arrays(nd_list(nd_v2((3,), data.tobytes(), code))), {"arr_0": data})


def test_a_bool_byte_is_made_zero_or_one():
    (array,) = load_arrays(nd_list(nd_v2((3,), b"\x00\x01\xfe", 7))).values()
    assert array.tobytes() == b"\x00\x01\x01"


# ---------------------------------------------------------------------------------------------------- damaged, hostile


def npy(header, data=b"", version=b"\x01\x00"):
    text = header.encode("latin-1")
    return b"\x93NUMPY" + version + struct.pack("<H" if version[0] == 1 else "<I", len(text)) + text + data


def npz(members, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def tensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n"
FOUR = bytes(4)

HOSTILE = [
    # not a parameter file at all
    (b"", "the file is empty"),
    (b"\x80\x04\x95", "never unpickles"),
    (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    (b"\x89HDF\r\n\x1a\n", "HDF5"),
    (b"\x1f\x8b\x08\x00", "gzip"),
    (b'{"nodes": []}', "JSON text"),
    (
        b"hello, world",
        "expected npz, npy, safetensors, a file of torch.save or an MXNet NDArray list, but the file starts with "
        "68 65 6c",
    ),
    # npy
    (b"\x93NUMPY\x01\x00", "ends inside the .npy header"),
    (npy(GOOD, b"abc"), r"says float32\(1,\), which is 4 bytes, but holds 3"),
    (npy(GOOD, b"abcdefgh"), "but holds 8"),
    (npy(GOOD, FOUR, b"\x09\x00"), "not a .npy array"),
    (npy(GOOD.replace("<f4", "|O"), FOUR), r"items of type '\|O'"),
    (npy(GOOD.replace("<f4", "<V2"), FOUR), "only booleans and numbers"),
    (npy(GOOD.replace("<f4", "<f3"), FOUR), "'<f3'"),
    (npy(GOOD.replace("(1,)", "(99999999999999999999999,)"), FOUR), "impossible shape"),
    (npy(GOOD.replace("(1,)", "(9223372036854775807, 0)"), b""), "impossible shape"),
    (npy(GOOD.replace("(1,)", "(4611686018427387904,)"), FOUR), "impossible shape"),
    (npy(GOOD.replace("(1,)", "(1000000000000,)"), FOUR), "4000000000000 bytes, but holds 4"),
    (npy(GOOD.replace("(1,)", "(-1,)"), FOUR), "bad .npy header"),
    (npy(GOOD.replace("(1,)", "(" + "1," * 65 + ")"), FOUR), "65 dimensions"),
    (npy(GOOD.replace("False", "__import__('os').abort()"), FOUR), "bad .npy header"),
    (npy(GOOD.replace("False", "(1,)"), FOUR), "bad .npy header"),
    (npy("(" * 9000, FOUR), "bad .npy header"),
    (npy(" " * 60000, FOUR), "bad .npy header"),
    (npy("", FOUR), "bad .npy header"),
    (npy(" " * 100_000, FOUR, b"\x02\x00"), ".npy header of 100000 bytes"),
    # zip
    (b"PK\x03\x04" + bytes(100), "damaged zip archive"),
    (npz([("w.npy", npy(GOOD, b"a"))]), "member 'w.npy' says"),
    (npz([("w.npy", b"xx")]), "member 'w.npy' ends inside"),
    (npz([("archive/data.pkl", b"\x80")]), "as PyTorch.s weights: it is damaged"),
    (npz([("w.npy", npy(GOOD, FOUR)), ("evil.sh", b"")]), "member 'evil.sh' is not an array"),
    (npz([("w.npy", npy(GOOD, FOUR))], zipfile.ZIP_BZIP2), "other than deflate"),
    (npz([("w.npy", npy(GOOD.replace("(1,)", "(600000,)"), bytes(2_400_000)))], zipfile.ZIP_DEFLATED), "max_expanded"),
    # safetensors
    (tensors(b'{"w": '), "not proper JSON"),
    (tensors(b'{"a": ' + b"[" * 200_000), "not proper JSON"),
    (tensors(b'{"w":1,"w":2}'), "stands twice"),
    (tensors({"w": []}), "array 'w' wrongly"),
    (tensors({"w": entry(shape=(-1,))}, FOUR), "wrongly"),
    (tensors({"w": entry(shape=(True,))}, FOUR), "wrongly"),
    (tensors({"w": entry(offsets=(0,))}, FOUR), "wrongly"),
    (tensors({"w": entry("F77")}, FOUR), "unknown type 'F77'"),
    (tensors({"w": entry(shape=(2,))}, FOUR), "needs 8 bytes, has 4"),
    (tensors({"w": entry(shape=(1 << 62, 0), offsets=(0, 0))}), "impossible shape"),
    (tensors({"w": entry(offsets=(4, 8))}, bytes(8)), "hole or an overlap before array 'w'"),
    (tensors({"a": entry(), "b": entry()}, FOUR), "hole or an overlap before array 'b'"),
    (tensors({"w": entry()}, b"abc"), "the arrays take"),
    (tensors({"w": entry()}, b"abcde"), "the arrays take"),
    (struct.pack("<Q", 10) + b"{", "starts with 0a 00"),
    # NDArray list
    (struct.pack("<QQ", 0x112, 0), "the number of arrays needs 8 bytes, 0 are left"),
    (struct.pack("<QQQ", 0x112, 0, 1 << 60), "it says it holds 1152921504606846976 arrays"),
    (nd_list(nd_v2((1,), b""))[:-8], "array 0 of shape .1,. needs 4 bytes"),
    (nd_list(nd_v2((1 << 40,), FOUR)), "needs 4398046511104 bytes"),
    (nd_list(nd_v2((1 << 62, 1 << 62), FOUR)), "impossible shape"),
    (nd_list(nd_v2((-5,), FOUR)), "impossible shape"),
    (nd_list(nd_v2((1,), FOUR, dtype=13)), "unknown type number 13"),
    (nd_list(nd_v2((1,), FOUR, dtype=-1)), "unknown type number -1"),
    (nd_list(nd_v2((1,), FOUR, storage=7)), "unknown storage type 7"),
    (nd_list(struct.pack("<Iii", 0xF993FAC9, 0, 99)), "array 0 has rank 99"),
    (nd_list(struct.pack("<Iii", 0xF993FAC9, 0, 0)), "before its shape was known"),
    (nd_list(struct.pack("<I", 0xDEADBEEF)), "unknown tag 0xdeadbeef"),
    (nd_list(nd_v2((1,), FOUR), names=(b"a", b"b")), "1 arrays but 2 names"),
    (nd_list(*[nd_v2((1,), FOUR)] * 2, names=(b"a", b"a")), "the same name"),
    (nd_list(nd_v2((1,), FOUR), names=(b"\xff",)), "not UTF-8"),
    (nd_list(nd_v2((1,), FOUR)) + b"!", "1 bytes follow"),
]


@pytest.mark.parametrize(("data", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_files_are_refused_with_a_reason(tmp_path, data, message):
    path = tmp_path / "evil.params"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=message) as caught:
            load_arrays(path, max_expanded_bytes=1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert "evil.params" in str(caught.value)
    with pytest.raises(FormatError, match="<bytes>"):
        load_arrays(data, max_expanded_bytes=1 << 20)


def sparse_record(kind, shape, storage_shape, aux, data):
    head = struct.pack("<Iii", 0xF993FAC9, kind, len(storage_shape)) + struct.pack(
        f"<{len(storage_shape)}q", *storage_shape
    )
    head += struct.pack(f"<i{len(shape)}qiii", len(shape), *shape, 1, 0, 0)
    for array in aux:
        head += struct.pack("<iiq", 6, 1, len(array))
    return head + data + b"".join(np.asarray(a, np.int64).tobytes() for a in aux)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (sparse_record(1, (3,), (1,), [[3]], FOUR), "does not fit its shape"),
        (sparse_record(1, (3,), (1,), [[-1]], FOUR), "does not fit its shape"),
        (sparse_record(1, (3,), (1,), [[0, 1]], FOUR), "does not fit its shape"),
        (sparse_record(1, (1 << 40,), (1,), [[0]], FOUR), "max_expanded_bytes"),
        (sparse_record(2, (2, 2), (1,), [[0, 0, 9], [0]], FOUR), "does not fit its shape"),
        (sparse_record(2, (2, 2), (1,), [[0, 1, 0], [0]], FOUR), "does not fit its shape"),
        (sparse_record(2, (2, 2), (1,), [[0, 1, 1], [2]], FOUR), "does not fit its shape"),
        (sparse_record(2, (2, 2, 2), (1,), [[0, 1, 1], [0]], FOUR), "does not fit its shape"),
        (sparse_record(1, (), (1,), [[0]], FOUR), "before its shape was known"),
    ],
    ids=range(9),
)
def test_hostile_sparse_arrays(record, message):
    with pytest.raises(FormatError, match=message):
        load_arrays(nd_list(record))


def test_overlapping_zip_members_are_refused():
    data = bytearray(npz([("a.npy", npy(GOOD.replace("(1,)", "(50,)"), bytes(200))), ("b.npy", npy(GOOD, FOUR))]))
    first, second = (i for i in range(len(data)) if data[i : i + 4] == b"PK\x01\x02")
    data[second + 16 : second + 28] = data[first + 16 : first + 28]  # crc and sizes
    data[second + 42 : second + 46] = data[first + 42 : first + 46]  # offset: the second member is the first one's data
    with pytest.raises(FormatError):
        load_arrays(bytes(data))


def test_a_checksum_finds_a_flipped_data_bit(tmp_path):
    save_arrays(tmp_path / "a.params", {"w": np.zeros(100, np.float32)})
    data = bytearray((tmp_path / "a.params").read_bytes())
    data[300] ^= 1
    with pytest.raises(FormatError, match=r"member .w\.npy. has another checksum"):
        load_arrays(bytes(data))


def seeds():
    arrays = {"a.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "flag": np.array([True, False])}
    for name in ("mxnet1_sparse.nd", "mxnet1_v3.nd", "mxnet2_sparse.npz", "mxnet2_float16.npy"):
        yield (DATA / name).read_bytes()
    yield npz([("w.npy", npy(GOOD, FOUR))], zipfile.ZIP_DEFLATED)
    yield tensors({"w": entry(), "v": entry("BOOL", (2,), (4, 6))}, bytes(6))
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    yield buffer.getvalue()


SEEDS = list(seeds())
mutations = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.sampled_from(["flip", "set", "cut", "insert", "word"]), st.integers(0, 255)),
    min_size=1,
    max_size=4,
)


def mutate(data, changes):
    data = bytearray(data)
    for where, kind, value in changes:
        where %= max(len(data), 1)
        if kind == "cut":
            del data[where:]
        elif kind == "insert":
            data[where:where] = bytes([value])
        elif kind == "word":  # what lengths turn into
            data[where : where + 4] = struct.pack("<I", (0, 1, 0x7FFFFFFF, 0xFFFFFFFF)[value % 4])
        elif data:
            data[where] = data[where] ^ (1 << value % 8) if kind == "flip" else value
    return bytes(data)


@pytest.mark.dear
@settings(max_examples=600, deadline=None)
@given(st.sampled_from(range(len(SEEDS))), mutations)
def test_mutated_files_give_arrays_or_a_format_error(which, changes):
    data = mutate(SEEDS[which], changes)
    tracemalloc.start()
    try:
        arrays = load_arrays(data, max_expanded_bytes=1 << 20)
    except FormatError as error:
        assert "<bytes>" in str(error)
    else:
        assert sum(a.nbytes for a in arrays.values()) <= len(data) + (1 << 20)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 8 << 20


@pytest.mark.parametrize("which", range(len(SEEDS)))
def test_every_truncation_is_refused(which):
    data = SEEDS[which]
    for size in range(0, len(data), 1 + len(data) // 200):
        with pytest.raises(FormatError):
            load_arrays(data[:size])


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=64), st.sampled_from([b"", b"PK\x03\x04", b"\x93NUMPY", struct.pack("<QQ", 0x112, 0)]))
def test_random_bytes(data, start):
    with pytest.raises(FormatError):
        load_arrays(start + data)


def test_compressed_beyond_the_limit_can_be_allowed():
    data = npz([("w.npy", npy(GOOD.replace("(1,)", "(600000,)"), bytes(2_400_000)))], zipfile.ZIP_DEFLATED)
    assert load_arrays(data)["w"].shape == (600_000,)
    with pytest.raises(FormatError, match="raise it if you trust the file"):
        load_arrays(data, max_expanded_bytes=2_000_000)


def test_a_member_that_lies_about_its_size_is_cut_off():
    raw = npy(GOOD, FOUR)
    data = bytearray(npz([("w.npy", raw + bytes(1 << 20))], zipfile.ZIP_DEFLATED))
    at = data.index(b"PK\x01\x02")
    data[at + 16 : at + 20] = struct.pack("<I", zlib.crc32(raw))
    data[at + 24 : at + 28] = struct.pack("<I", len(raw))
    same(load_arrays(bytes(data)), {"w": np.zeros(1, np.float32)})


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_arrays(tmp_path / "none.params")
    with pytest.raises(OSError):
        load_arrays(tmp_path)


# ---------------------------------------------------------------------------------------------------------- atomicity


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, SystemExit])
def test_an_interrupted_write_leaves_the_old_file_and_no_litter(tmp_path, error):
    path = tmp_path / "net.params"
    save_arrays(path, {"w": np.zeros(3)})
    old = path.read_bytes()

    with pytest.raises(error), atomic_write(path) as file:
        file.write(b"half")
        raise error
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["net.params"]


def test_an_interrupt_inside_save_arrays(tmp_path, monkeypatch):
    import gluonx.files.npz as module

    path = tmp_path / "net.params"
    save_arrays(path, {"w": np.zeros(3)})
    old, calls = path.read_bytes(), []

    def interrupted(file, array):
        calls.append(array)
        if len(calls) == 2:
            raise KeyboardInterrupt
        file.write(array.tobytes())

    monkeypatch.setattr(module, "write_data", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_arrays(path, {"w": np.ones(3), "v": np.ones(3)})
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["net.params"]


def test_a_new_file_obeys_the_umask_and_an_old_one_keeps_its_mode(tmp_path):
    previous = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "new") as file:
            file.write(b"1")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
        (tmp_path / "new").chmod(0o600)
        with atomic_write(tmp_path / "new", "w") as file:
            file.write("ü")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
        assert (tmp_path / "new").read_bytes() == "ü".encode()
    finally:
        os.umask(previous)


def test_a_link_keeps_pointing_to_its_file(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "net.params")
    save_arrays(tmp_path / "link", {"w": np.ones(1)})
    assert (tmp_path / "link").is_symlink()
    assert [p.name for p in (tmp_path / "real").iterdir()] == ["net.params"]


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder '.*missing' does not exist"):
        save_arrays(tmp_path / "missing" / "net.params", {})
    with pytest.raises(OSError, match="not a regular file"):
        save_arrays(tmp_path, {})
    with pytest.raises(OSError, match="not a regular file"):
        save_arrays("/dev/null", {})
    with pytest.raises(ValueError, match="mode must be"), atomic_write(tmp_path / "x", "a"):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError), atomic_directory(tmp_path / "file"):
        pass


def test_a_folder_is_replaced_whole(tmp_path):
    target = tmp_path / "model"
    for text in ("old", "new"):
        with atomic_directory(target) as folder:
            (folder / text).write_text(text)
            (folder / "sub").mkdir()
    assert sorted(p.name for p in target.iterdir()) == ["new", "sub"]
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("existing", [True, False])
def test_an_interrupted_folder_leaves_the_old_one(tmp_path, existing, monkeypatch):
    target = tmp_path / "model"
    if existing:
        target.mkdir()
        (target / "old").write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_directory(target) as folder:
        (folder / "half").write_text("half")
        raise KeyboardInterrupt
    assert [p.name for p in tmp_path.rglob("*")] == (["model", "old"] if existing else [])

    rename, calls = os.rename, []

    def failing(source, to):
        # Other threads may rename files of their own meanwhile, such as JAX's cache of programs.
        if tmp_path in pathlib.Path(to).parents:
            calls.append(to)
            if len(calls) == (2 if existing else 1):
                raise KeyboardInterrupt
        rename(source, to)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(KeyboardInterrupt), atomic_directory(target) as folder:
        (folder / "half").write_text("half")
    assert [p.name for p in tmp_path.rglob("*")] == (["model", "old"] if existing else [])
