"""Files that are cut, changed or of another kind: what reads them raises a GluonxError, and leaves its net as it was.

`tests/files/test_fuzz_files.py` does it to what MXNet wrote; here are the files of all of gluonx's own ways. Where a
format has no checksum, a changed number is a number.
"""

from __future__ import annotations

import contextlib
import pathlib
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import gluonx
from fuzz.harness import counts, sweep
from gluonx import Trainer, autograd, nn, np, npx, recordio
from gluonx.errors import FormatError, GluonxError

_OTHER_KINDS = [b"", b"{}", b"[1]", b"hello\n", bytes(500), b"\xff" * 500, b"\x89PNG\r\n\x1a\n" + bytes(90)]


class _Files:
    """A net and its files, of every kind, in a folder; and how each is read."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.net, self.trainer = self._made()
        self.x = np.array(onp.random.RandomState(0).rand(2, 3), dtype="float32")
        with autograd.record():
            loss = (self.net(self.x) ** 2).sum()
        loss.backward()
        self.trainer.step(1)
        self.other, self.others = self._made()
        self.other(self.x)
        for name, form in (("a.params", None), ("l.params", "mxnet"), ("s.safetensors", None)):
            self.net.save_parameters(folder / name, format=form)
        self.trainer.save_states(folder / "t.states")
        self.net.save(folder / "whole")
        npx.savez(folder / "c.npz", a=np.ones((3, 4)), b=np.arange(5))
        self.net.export(folder / "m", format="mxnet", inputs=[self.x])
        self.net.export(folder / "o", format="onnx", inputs=[self.x])
        self.net.export(folder / "artifact", inputs=[self.x])
        with recordio.MXIndexedRecordIO(folder / "r.idx", folder / "r.rec", "w") as record:
            for i in range(6):
                record.write_idx(i, bytes([i]) * (5 + 3 * i))

    def _made(self) -> tuple[Any, Trainer]:
        net = nn.HybridSequential()
        net.add(nn.Dense(4, in_units=3, activation="tanh"), nn.BatchNorm(in_channels=4), nn.Dense(2, in_units=4))
        net.initialize()
        return net, Trainer(net.collect_params(), "adam")

    def symbols(self) -> Any:
        parts = self.folder / "m-symbol.json", ["data"], self.folder / "m-0000.params"
        return gluonx.SymbolBlock.imports(*parts)(self.x).asnumpy()

    def records(self) -> Any:
        with recordio.MXIndexedRecordIO(self.folder / "r.idx", self.folder / "r.rec", "r") as record:
            return [record.read_idx(key) for key in record.keys]

    def kept(self) -> list[bytes]:
        """Return what a load that fails may not change."""
        values = [p.data().asnumpy() for p in self.other.collect_params(fused=False).values()]
        values += [onp.asarray(state) for state in self.others._states().values()]
        return [v.tobytes() for v in values]


_READERS: dict[str, Callable[[_Files, pathlib.Path], Any]] = {
    "a.params": lambda files, path: files.other.load_parameters(path),
    "l.params": lambda files, path: files.other.load_parameters(path),
    "s.safetensors": lambda files, path: files.other.load_parameters(path),
    "t.states": lambda files, path: files.others.load_states(path),
    "whole-model.json": lambda files, path: files.other.load(files.folder / "whole"),
    "whole-model.params": lambda files, path: files.other.load(files.folder / "whole"),
    "c.npz": lambda files, path: npx.load(path),
    "m-symbol.json": lambda files, path: files.symbols(),
    "m-0000.params": lambda files, path: files.symbols(),
    "o.onnx": lambda files, path: gluonx.onnx.import_model(path)(files.x).asnumpy(),
    "artifact/model.json": lambda files, path: gluonx.load(files.folder / "artifact"),
    "artifact/model.jaxexport": lambda files, path: gluonx.load(files.folder / "artifact"),
    "artifact/params.safetensors": lambda files, path: gluonx.load(files.folder / "artifact"),
    "r.rec": lambda files, path: files.records(),
    "r.idx": lambda files, path: files.records(),
}


def _damaged(data: bytes, numbers: Any) -> bytes:
    changed, at, size = bytearray(data), int(numbers.randint(len(data))), len(data)
    way = numbers.randint(7)
    if way == 0:
        return data[:at]
    if way == 1:
        for _ in range(numbers.randint(1, 4)):
            changed[numbers.randint(size)] ^= 1 << numbers.randint(8)
    elif way == 2:  # a count or a length
        word = [0, 1, 2**31 - 1, 2**32 - 1, 2**40, 2**62][numbers.randint(6)]
        changed[at : at + 8] = word.to_bytes(8, "little")
    elif way == 3:
        changed += numbers.bytes(20)
    elif way == 4:
        changed[at:] = bytes(size - at)
    elif way == 5:
        del changed[at : at + numbers.randint(1, 30)]
    else:
        return _OTHER_KINDS[numbers.randint(len(_OTHER_KINDS))]
    return bytes(changed)


@pytest.fixture(scope="module")
def files() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        yield _Files(pathlib.Path(folder))


@pytest.mark.filterwarnings("ignore")  # of numbers that are not finite any more
@pytest.mark.parametrize("name", _READERS)
@counts(few=15, many=1000)
def test_what_is_damaged_is_told(files: _Files, name: str, count: int) -> None:
    path = files.folder / name
    data = path.read_bytes()

    def check(numbers: Any) -> None:
        path.write_bytes(_damaged(data, numbers))
        before, began = files.kept(), time.process_time()
        tracemalloc.start()
        try:
            _READERS[name](files, path)
        except GluonxError as error:
            assert str(files.folder) in str(error), f"does not name the file: {error}"
            assert files.kept() == before, "half loaded"
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 32 << 20 and time.process_time() - began < 10

    with contextlib.ExitStack() as stack:
        stack.callback(path.write_bytes, data)
        sweep(check, count)


def test_a_list_of_numbers_is_no_description_of_a_checkpoint(tmp_path: pathlib.Path) -> None:
    checkpoint = pytest.importorskip("gluonx.checkpoint")
    net = nn.Dense(1, in_units=2)
    net.initialize()
    with checkpoint.Checkpoints(tmp_path / "kept", net) as kept:
        kept.save(3)
    (tmp_path / "kept" / "3" / "_CHECKPOINT_METADATA").write_text("[1]")
    with pytest.raises(FormatError, match="kept: the checkpoints there cannot be read"):
        checkpoint.Checkpoints(tmp_path / "kept", net)
