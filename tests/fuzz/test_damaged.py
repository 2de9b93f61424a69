"""Files that are cut, changed or of another kind (`files`): what reads them raises a GluonxError or is right.

`tests/files/test_fuzz_files.py` does it to what MXNet wrote; here are the files of all of gluonx's own ways.
"""

from __future__ import annotations

import pathlib
import tempfile
from typing import Any

import numpy
import pytest

from fuzz import files
from fuzz.harness import counts, sweep
from gluonx import nn
from gluonx.errors import FormatError


@pytest.fixture(scope="module")
def fuzz() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        yield files.Fuzz(pathlib.Path(folder))


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore")  # of numbers that are not finite any more
@pytest.mark.parametrize("name", files.READERS)
@counts(few=40, many=20_000 // len(files.READERS) + 1)  # of all kinds some hundreds, and 20,000
def test_what_is_damaged_is_told(fuzz: files.Fuzz, name: str, count: int) -> None:
    with files.bounded():
        sweep(lambda numbers: fuzz.check(name, numbers), count)


@pytest.mark.dear
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert files.main(["30", "--only", "n.npy", "r.rec"]) == 0
    assert "30 files in" in capsys.readouterr().out


def test_a_reader_that_does_not_look_is_found(fuzz: files.Fuzz, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness finds what takes memory for a size that is only told, and what answers something else."""
    monkeypatch.setitem(files.READERS, "r.rec", lambda files, path: len(bytearray(50 << 20)))
    monkeypatch.setitem(files.READERS, "c.npz", lambda files, path: {"a": files.x})
    for name in ("r.rec", "c.npz"):
        monkeypatch.setitem(fuzz.usual, name, 1000)
    monkeypatch.setitem(fuzz.right, "r.rec", [])
    with pytest.raises(AssertionError, match="bytes for a file of"):
        fuzz.check("r.rec", numpy.random.RandomState(0))
    monkeypatch.setitem(fuzz.right, "c.npz", {"a": fuzz.files.x + 1})
    with pytest.raises(AssertionError, match="not what was written"):
        fuzz.check("c.npz", numpy.random.RandomState(0))


def test_a_list_of_numbers_is_no_description_of_a_checkpoint(tmp_path: pathlib.Path) -> None:
    checkpoint = pytest.importorskip("gluonx.checkpoint")
    net = nn.Dense(1, in_units=2)
    net.initialize()
    with checkpoint.Checkpoints(tmp_path / "kept", net) as kept:
        kept.save(3)
    (tmp_path / "kept" / "3" / "_CHECKPOINT_METADATA").write_text("[1]")
    with pytest.raises(FormatError, match="kept: the checkpoints there cannot be read"):
        checkpoint.Checkpoints(tmp_path / "kept", net)
