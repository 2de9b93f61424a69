"""``python -m gluonx.data.im2rec``: lists and records as MXNet's tool makes them of the same folder."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from gluonx import recordio
from gluonx.data import im2rec
from gluonx.data._codec import decode, encode

HERE = pathlib.Path(__file__).parents[1] / "oracle" / "records"
GOLDEN = json.loads((HERE / "golden.json").read_text(encoding="utf-8"))["im2rec"]
PATHS = ("b/4.png", "a/1.png", "a/sub/3.PNG", "a/2.png", "b/5.png", "6.png")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The folder that make.py gave to MXNet's tool: the same pictures, however they are encoded."""
    folder = tmp_path_factory.mktemp("im2rec") / "root"
    with recordio.MXIndexedRecordIO(HERE / "images.idx", HERE / "images.rec", "r") as source:
        for place, path in enumerate(PATHS):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            _, image = recordio.unpack_img(source.read_idx(place))
            (folder / path).write_bytes(encode(image[:, :8], 9, ".png", to_rgb=False))
    (folder / "b" / "note.txt").write_text("no image")
    return folder


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("plain", "--recursive --no-shuffle"),
        ("flat", "--no-shuffle"),
        ("shuffled", "--recursive"),
        ("shuffled", "--recursive=1 --shuffle=True"),
        ("plain", "--recursive=1 --shuffle=0"),
        ("split", "--recursive --no-shuffle --train-ratio 0.5 --test-ratio 0.25"),
        ("chunks", "--recursive --no-shuffle --chunks 2 --train-ratio 0.7"),
    ],
)
def test_lists_are_mxnets(name, options, root, tmp_path, capsys):
    assert im2rec.main([str(tmp_path / name), str(root), "--list", *options.split()]) == 0
    assert {path.name: path.read_text() for path in sorted(tmp_path.iterdir())} == GOLDEN[name]
    if "recursive" in options:
        assert capsys.readouterr().out.startswith(". 0\na 1\na/sub 2\nb 3\n")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pass", "--pass-through"),
        ("small", "--resize 10 --encoding .png --quality 9"),
        ("square", "--center-crop --encoding .png --quality 9"),
        ("gray", "--color 0 --encoding .png --quality 9"),
    ],
)
def test_records_are_mxnets(name, options, root, tmp_path, threads):
    (tmp_path / f"{name}.lst").write_text(GOLDEN["plain"]["plain.lst"])
    assert im2rec.main([str(tmp_path / name), str(root), *options.split(), "--num-thread", str(threads)]) == 0
    rows = []
    with recordio.MXIndexedRecordIO(tmp_path / f"{name}.idx", tmp_path / f"{name}.rec", "r") as record:
        for key in record.keys:
            header, content = recordio.unpack(record.read_idx(key))
            image = decode(content, -1)
            shape = image.shape if image.shape[2] > 1 else image.shape[:2]
            rows.append([key, header.label, header.id, list(shape), int(image.astype(int).sum())])
    assert rows == GOLDEN[f"packed {name}"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}.idx", f"{name}.lst", f"{name}.rec"]


def test_labels(root, tmp_path):
    (tmp_path / "some.lst").write_text("5\t1.5\t2\t6.png\n6\t3\t4\ta/1.png\n")
    for options, labels in (([], [1.5, 3.0]), (["--pack-label"], [[1.5, 2.0], [3.0, 4.0]])):
        assert im2rec.main([str(tmp_path / "some"), str(root), *options]) == 0
        with recordio.MXIndexedRecordIO(tmp_path / "some.idx", tmp_path / "some.rec", "r") as record:
            found = [recordio.unpack(record.read_idx(key))[0].label for key in record.keys]
            assert record.keys == [5, 6] and [np.asarray(label).tolist() for label in found] == labels


def test_what_cannot_be_read_is_left_out_told_and_counted(root, tmp_path, capsys):
    (tmp_path / "bad.png").write_bytes(b"broken")
    (tmp_path / "empty.png").touch()
    lines = ("0\t1\t6.png", f"1\t1\t{tmp_path}/bad.png", "2\t1", "x\t1\t6.png", "", f"3\t1\t{tmp_path}/empty.png")
    (tmp_path / "some.lst").write_text("\n".join((*lines, "4\t1\tnowhere.png", "5\t1\ta/1.png")) + "\n")
    for options in ([], ["--num-thread", "3"]):
        assert im2rec.main([str(tmp_path / "some"), str(root), *options]) == 0
        told = capsys.readouterr()
        assert told.out.rstrip().endswith("some.rec: 2 records, 5 left out")
        for part in ("bad.png' (number 1) is left out", "line 3:", "line 4:", "empty.png' (number 3)", "nowhere.png'"):
            assert part in told.err
        with recordio.MXIndexedRecordIO(tmp_path / "some.idx", tmp_path / "some.rec", "r") as record:
            assert record.keys == [0, 5]


def test_an_older_file_stays_until_the_new_one_is_complete(root, tmp_path, monkeypatch):
    (tmp_path / "some.lst").write_text("0\t1\t6.png\n")
    (tmp_path / "some.rec").write_bytes(b"old")

    def fails(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(im2rec, "frame", fails)
    with pytest.raises(KeyboardInterrupt):
        im2rec.main([str(tmp_path / "some"), str(root)])
    assert (tmp_path / "some.rec").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["some.lst", "some.rec"]


def test_wrong_folders_and_numbers_are_errors(root, tmp_path, capsys):
    for arguments, message in (
        (["--list", str(tmp_path / "a"), str(tmp_path / "nowhere")], "there is no folder"),
        (["--list", str(tmp_path / "a"), str(tmp_path)], "there is no image (.jpeg, .jpg, .png)"),
        (["--list", "--chunks", "0", str(tmp_path / "a"), str(root)], "at least one chunk"),
        (
            ["--list", "--train-ratio", "0.9", "--test-ratio", "0.2", str(tmp_path / "a"), str(root)],
            "shares from 0 to 1",
        ),
        ([str(tmp_path / "a"), str(root)], "make one with --list"),
    ):
        assert im2rec.main(arguments) == 1
        assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_list_of_another_folder_is_an_error(root, tmp_path, capsys):
    (tmp_path / "some.lst").write_text("0\t1\tnowhere.png\n1\t1\tnor_here.png\n")
    assert im2rec.main([str(tmp_path / "some"), str(root)]) == 1
    assert capsys.readouterr().out.rstrip().endswith("some.rec: 0 records, 2 left out")


@pytest.mark.dear
def test_as_a_program(root, tmp_path):
    command = [sys.executable, "-m", "gluonx.data.im2rec", "--list", "--recursive", str(tmp_path / "some"), str(root)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.rstrip().endswith("some.lst")
