"""Record files: MXNet's bytes both ways, damaged and hostile files, processes and threads; `RecordFileDataset`."""

import importlib.util
import json
import os
import pathlib
import pickle
import struct
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gluonx as mx
from gluonx import recordio
from gluonx.data import DataLoader, RecordFileDataset
from gluonx.data import recordio as module
from gluonx.errors import ArgumentError, FormatError, GluonxError

HERE = pathlib.Path(__file__).parents[1] / "oracle" / "records"
GOLDEN = json.loads((HERE / "golden.json").read_text(encoding="utf-8"))


def _cases():
    spec = importlib.util.spec_from_file_location("cases_of_record_files", HERE / "cases.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


CASES = _cases()


def written(path, records):
    with recordio.MXRecordIO(path, "w") as record:
        for one in records:
            record.write(one)
    return path


def read(path):
    with recordio.MXRecordIO(path, "r") as record:
        return list(iter(record.read, None))


def indexed(folder, records, name="some"):
    path = folder / f"{name}.rec"
    with recordio.MXIndexedRecordIO(folder / f"{name}.idx", path, "w") as record:
        for key, one in enumerate(records):
            record.write_idx(key, one)
    return path


# -- the format -----------------------------------------------------------------------------------------------------


def test_files_are_mxnets_byte_for_byte(tmp_path):
    path = written(tmp_path / "some.rec", CASES.RECORDS)
    assert path.read_bytes().hex() == GOLDEN["framed"]
    assert read(path) == CASES.RECORDS


def test_a_file_of_mxnet_is_read_and_written_again(tmp_path):
    with recordio.MXIndexedRecordIO(HERE / "images.idx", HERE / "images.rec", "r") as source:
        records = [source.read_idx(key) for key in source.keys]
    indexed(tmp_path, records)
    assert (tmp_path / "some.rec").read_bytes() == (HERE / "images.rec").read_bytes()
    assert (tmp_path / "some.idx").read_bytes() == (HERE / "images.idx").read_bytes()


def test_any_bytes_come_back(tmp_path):
    chance = np.random.default_rng(0)
    parts = (CASES.MAGIC, b"\0", b"ab", CASES.MAGIC[:2], CASES.MAGIC[2:])
    records = [b"".join(parts[i] for i in chance.integers(0, 5, n)) for n in chance.integers(0, 30, 300)]
    path = written(tmp_path / "some.rec", records)
    assert read(path) == records
    content = path.read_bytes()  # the magic number stands at heads alone, so anyone can find one
    heads = sum(content[at : at + 4] == CASES.MAGIC for at in range(0, len(content), 4))
    assert heads == sum(1 + len(cuts(record)) for record in records)


def cuts(record):
    return [at for at in range(0, len(record) - 3, 4) if record[at : at + 4] == CASES.MAGIC]


def test_too_long_a_record_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LIMIT", 1 << 10)
    with recordio.MXRecordIO(tmp_path / "some.rec", "w") as record:
        record.write(bytes(1023))
        with pytest.raises(ArgumentError, match=r"shorter than 2\*\*29 bytes, .* got 1024 bytes"):
            record.write(bytes(1024))


def test_what_can_be_written(tmp_path):
    with recordio.MXRecordIO(str(tmp_path / "some.rec"), "w") as record:
        for one in (b"ab", bytearray(b"ab"), memoryview(b"ab"), np.array([97, 98], np.uint8)):
            record.write(one)
        with pytest.raises(TypeError, match="got str: encode it"):
            record.write("ab")
        with pytest.raises(TypeError, match="bytes were expected, got int"):
            record.write(3)
    assert read(tmp_path / "some.rec") == 4 * [b"ab"]


# -- reading and writing ----------------------------------------------------------------------------------------------


def test_reset_and_closing(tmp_path):
    path = written(tmp_path / "some.rec", [b"one", b"two"])
    record = recordio.MXRecordIO(path, "r")
    assert record.read() == b"one"
    record.reset()
    assert (record.read(), record.read(), record.read(), record.read()) == (b"one", b"two", None, None)
    record.close()
    record.close()
    assert not record.is_open
    assert record.read() == b"one"  # as in MXNet, it opens again
    record.close()
    record = recordio.MXRecordIO(path, "w")
    record.write(b"three")
    record.reset()  # as in MXNet, what was written is gone
    record.close()
    assert read(path) == []
    with pytest.raises(GluonxError, match=r"some.rec' is closed"):
        record.write(b"four")


def test_wrong_ways_are_refused(tmp_path):
    path = indexed(tmp_path, [b"one"])
    for flag in ("x", "a", "rb"):
        with pytest.raises(ValueError, match=f"Invalid flag '{flag}'"):
            recordio.MXRecordIO(path, flag)
    with pytest.raises(FileNotFoundError, match=r"nowhere.rec"):
        recordio.MXRecordIO(tmp_path / "nowhere.rec", "r")
    with pytest.raises(FileNotFoundError, match=r"nowhere.idx"):
        recordio.MXIndexedRecordIO(tmp_path / "nowhere.idx", path, "r")
    reader = recordio.MXIndexedRecordIO(tmp_path / "some.idx", path, "r")
    for call in (lambda: reader.write(b""), lambda: reader.write_idx(1, b""), reader.tell):
        with pytest.raises(GluonxError, match="opened to be read"):
            call()
    reader.close()
    writer = recordio.MXIndexedRecordIO(tmp_path / "new.idx", tmp_path / "new.rec", "w")
    for call in (writer.read, lambda: writer.read_idx(1), lambda: writer.seek(1)):
        with pytest.raises(GluonxError, match="opened to be written"):
            call()
    with pytest.raises(ArgumentError, match="no tabulator"):
        recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w", str).write_idx("a\tb", b"")
    writer.close()


def test_keys(tmp_path):
    with recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w") as record:
        record.write_idx(3, b"three")
        assert record.tell() == 16
        record.write_idx("7", b"seven")
        record.write_idx(3, b"again")
        assert (record.keys, record.idx) == ([3, 7, 3], {3: 32, 7: 16})
    with recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r") as record:
        assert (record.keys, record.idx) == ([3, 7, 3], {3: 32, 7: 16})
        assert record.read_idx(7) == b"seven" and record.read_idx(3) == b"again"
        record.seek(7)
        assert record.read() == b"seven"
        with pytest.raises(KeyError, match=r"a.idx' has no key 99 \(it has 2 keys\)"):
            record.read_idx(99)
    with recordio.MXIndexedRecordIO(tmp_path / "b.idx", tmp_path / "b.rec", "w", str) as record:
        record.write_idx("a cat", b"meow")
    with recordio.MXIndexedRecordIO(tmp_path / "b.idx", tmp_path / "b.rec", "r", str) as record:
        assert record.read_idx("a cat") == b"meow"


# -- damaged files ----------------------------------------------------------------------------------------------------


def test_a_file_cut_anywhere_gives_whole_records_or_an_error(tmp_path):
    whole = written(tmp_path / "some.rec", CASES.RECORDS).read_bytes()
    (tmp_path / "cut.rec").touch()
    for length in range(200):
        (tmp_path / "cut.rec").write_bytes(whole[:length])
        record = recordio.MXRecordIO(tmp_path / "cut.rec", "r")
        found = []
        try:
            found += iter(record.read, None)
        except FormatError as error:
            assert "cut.rec' ends within the record at offset " in str(error)
        assert found == CASES.RECORDS[: len(found)]
        record.close()


def test_offsets_of_damage_are_told(tmp_path):
    path = written(tmp_path / "some.rec", [b"one", b"abcd" + CASES.MAGIC + b"ef"])
    content = bytearray(path.read_bytes())
    for at, byte, message in (
        (0, 0, r"should be at offset 0, but found 0023d7ce"),
        (12, 9, r"should be at offset 12, but found 0923d7ce"),
        (19, 0x40, r"should be at offset 12, but found piece 2 of a record"),
        (31, 0x20, r"should be at offset 24, but found piece 1 of a record"),
        (18, 0xFF, r"ends within the record at offset 12: \d+ more bytes were expected"),
        (19, 0xFF, r"should be at offset 12, but found piece 7"),
    ):
        damaged = content.copy()
        damaged[at] = byte
        (tmp_path / "bad.rec").write_bytes(damaged)
        with pytest.raises(FormatError, match=rf"bad.rec' .*{message}"):
            read(tmp_path / "bad.rec")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0\n", r"line 1: an index has lines"),
        ("0\t0\n1\tx\n", r"line 2: .* got '1\\tx\\n'"),
        ("x\t0\n", r"line 1"),
        ("0\t-8\n", r"line 1: an offset cannot be negative"),
        (f"0\t{1 << 63}\n", r"line 1: an offset is below 2\*\*63"),
    ],
)
def test_bad_lines_of_an_index_are_named(tmp_path, text, message):
    path = indexed(tmp_path, [b"one"])
    (tmp_path / "bad.idx").write_text(text)
    with pytest.raises(FormatError, match=f"bad.idx', {message}"):
        recordio.MXIndexedRecordIO(tmp_path / "bad.idx", path, "r")


def test_an_index_that_is_no_text_is_named(tmp_path):
    path = indexed(tmp_path, [b"one"])
    (tmp_path / "bad.idx").write_bytes(b"0\t0\n\xff\xfe")
    with pytest.raises(FormatError, match=r"bad.idx' is no text in UTF-8"):
        recordio.MXIndexedRecordIO(tmp_path / "bad.idx", path, "r")


def test_an_index_of_another_file_is_an_error(tmp_path):
    path = indexed(tmp_path, [b"one", b"two"])
    (tmp_path / "other.idx").write_text("0\t0\n1\t5\n\n2\t1000\n")
    with recordio.MXIndexedRecordIO(tmp_path / "other.idx", path, "r") as record:
        assert record.read_idx(0) == b"one"
        with pytest.raises(FormatError, match=r"some.rec' .* at offset 5, .*key 1 in '.*other.idx'"):
            record.read_idx(1)
        with pytest.raises(FormatError, match=r"other.idx' has key 2 at offset 1000, but '.*some.rec' has 24 bytes"):
            record.read_idx(2)


# -- processes and threads --------------------------------------------------------------------------------------------


def test_pickles(tmp_path):
    path = indexed(tmp_path, [b"one", b"two"])
    for record in (recordio.MXRecordIO(path, "r"), recordio.MXIndexedRecordIO(tmp_path / "some.idx", path, "r")):
        record.read()
        copy = pickle.loads(pickle.dumps(record))
        assert copy.is_open and copy.read() == b"one"
        assert record.read() == b"two"
        record.close()
        assert not pickle.loads(pickle.dumps(record)).is_open
        copy.close()
    writer = recordio.MXRecordIO(tmp_path / "new.rec", "w")
    with pytest.raises(GluonxError, match=r"new.rec' is being written"):
        pickle.dumps(writer)
    writer.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning", "ignore:os.fork:RuntimeWarning")
def test_a_forked_child_reads_from_the_begin_and_does_not_write(tmp_path):
    path = indexed(tmp_path, [b"one", b"two", b"three"])
    record = recordio.MXIndexedRecordIO(tmp_path / "some.idx", path, "r")
    writer = recordio.MXRecordIO(tmp_path / "new.rec", "w")
    record.read()
    record._turn.acquire()  # as if a thread were reading
    child = os.fork()
    if child == 0:
        right = (record.read(), record.read_idx(2)) == (b"one", b"three")
        try:
            writer.write(b"")
        except GluonxError as error:
            right = right and "opened by another process" in str(error)
        else:
            right = False
        os._exit(0 if right else 1)
    record._turn.release()
    assert os.waitpid(child, 0)[1] == 0
    assert record.read() == b"two"  # the child moved nothing here
    writer.close()
    record.close()


def test_threads_share_a_reader(tmp_path):
    records = [bytes([key]) * (key * 37) for key in range(200)]
    path = indexed(tmp_path, records)
    with recordio.MXIndexedRecordIO(tmp_path / "some.idx", path, "r") as record, ThreadPoolExecutor(8) as pool:
        keys = np.random.default_rng(0).integers(0, 200, 2000).tolist()
        assert list(pool.map(record.read_idx, keys)) == [records[key] for key in keys]


# -- headers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("header", "packed"), list(zip(CASES.HEADERS, GOLDEN["packed"], strict=True)))
def test_pack_is_mxnets(header, packed):
    assert recordio.pack(header, b"payload").hex() == packed
    found, payload = recordio.unpack(bytes.fromhex(packed))
    assert payload == b"payload" and (found.id, found.id2) == header[2:]
    if isinstance(header[1], list) and header[1]:
        assert found.label.dtype == np.float32 and found.label.tolist() == header[1] and found.flag == len(header[1])
    elif not isinstance(header[1], list):
        assert (found.flag, found.label) == (0, header[1])


def test_pack_takes_arrays_and_refuses_what_does_not_fit():
    packed = recordio.pack(recordio.IRHeader(0, mx.np.array([1.0, 2.0]), 0, 0), b"")
    assert recordio.unpack(packed)[0].label.tolist() == [1, 2]
    assert recordio.unpack(recordio.pack((0, np.float32(3), 1, 2), b""))[0] == (0, 3.0, 1, 2)
    for header in ((0, 1, -2, 3), (0, 1, 2**64, 3), (0, 1j, 0, 0)):
        with pytest.raises(ArgumentError, match="two from 0 to 2"):
            recordio.pack(header, b"")
    with pytest.raises(TypeError, match="got str"):
        recordio.pack((0, 1, 2, 3), "text")


def test_unpack_refuses_what_is_too_short():
    with pytest.raises(FormatError, match="header of 24 bytes, got 5 bytes"):
        recordio.unpack(b"short")
    with pytest.raises(FormatError, match="5 labels, but only 4 bytes follow"):
        recordio.unpack(struct.pack("<IfQQ", 5, 0, 0, 0) + b"1234")
    with pytest.raises(FormatError, match="4294967295 labels"):
        recordio.unpack(struct.pack("<IfQQ", 2**32 - 1, 0, 0, 0))


def test_images_of_mxnet_are_unpacked_as_blue_green_red():
    with recordio.MXIndexedRecordIO(HERE / "images.idx", HERE / "images.rec", "r") as source:
        for key in source.keys:
            header, image = recordio.unpack_img(source.read_idx(key))
            assert header[1:] == (key, 100 + key, 0) and image.shape == (12 + key, 10 + 2 * key, 3)
            assert image[0, 0].tolist() == [key * 20, 255 - key * 20, key]
        assert recordio.unpack_img(source.read_idx(3), 0)[1].shape == (15, 16)


@pytest.mark.parametrize(
    ("fmt", "quality", "bound"), [(".png", 3, 0), (".PNG", 95, 0), (".jpg", 95, 12), (".bmp", 95, 0)]
)
def test_packed_images_come_back(fmt, quality, bound):
    rows, columns = np.mgrid[:20, :30]
    image = np.stack([rows * 10, columns * 8, rows + columns], -1).astype(np.uint8)
    for given in (image, image[:, :, 0]):
        header, found = recordio.unpack_img(recordio.pack_img((0, [1.0, 2.0], 3, 0), given, quality, fmt))
        assert header.label.tolist() == [1, 2] and found.shape == given.shape
        assert np.abs(found.astype(int) - given).max() <= bound


def test_a_packed_image_that_is_none_is_named():
    with pytest.raises(FormatError, match="from the record with id 17 cannot be decoded"):
        recordio.unpack_img(recordio.pack((0, 1, 17, 0), b"not an image"))


# -- the data set -------------------------------------------------------------------------------------------------


def as_number(record):
    return np.float32(int(record))


@pytest.mark.dear
def test_record_file_dataset(tmp_path):
    path = indexed(tmp_path, [b"%d" % i for i in range(10)])
    dataset = RecordFileDataset(path)
    assert len(dataset) == 10 and dataset[3] == b"3" and list(dataset.take(2)) == [b"0", b"1"]
    with pytest.raises(IndexError):
        dataset[10]
    numbers = dataset.transform(as_number)
    for workers, threads in ((0, False), (2, False), (2, True)):
        with_workers = DataLoader(numbers, 4, num_workers=workers, thread_pool=threads)
        assert [batch.tolist() for batch in with_workers] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    with pytest.raises(FileNotFoundError, match=r"images_without.idx"):
        (tmp_path / "images_without.rec").touch()
        RecordFileDataset(tmp_path / "images_without.rec")


def test_names():
    assert mx.gluon.data.RecordFileDataset is mx.gluon.data.dataset.RecordFileDataset is RecordFileDataset
    assert mx.recordio is recordio is module
    mx.compat.install_as_mxnet(1)
    try:
        import mxnet

        names = ("IRHeader", "MXIndexedRecordIO", "MXRecordIO", "pack", "pack_img", "unpack", "unpack_img")
        assert all(getattr(mxnet.recordio, name) is getattr(module, name) for name in names)
        assert mxnet.recordio._IR_FORMAT == "IfQQ" and mxnet.recordio._IR_SIZE == 24
        for name in ("RecordIOHandle", "current_process", "namedtuple", "cv2"):
            assert not repr(getattr(mxnet.recordio, name)).endswith("not in gluonx>"), name
    finally:
        mx.compat.uninstall()
