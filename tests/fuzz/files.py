"""Files of every kind that gluonx reads, changed by bytes: what reads them says so, or gives what was there.

A file is cut, bits of it are flipped, bytes put in, taken out, repeated or brought from another file, counts, lengths
are changed. Its reader has to raise a GluonxError that names the file and leave its net as it was, or to answer; where
the format has checksums, with what was written. It takes no more memory than the file's size allows, and comes to an
end.

``test_damaged`` runs some of each kind. ``make fuzz ARGS=1000000`` (``python -m fuzz.files``) runs as many as it is
told and prints what came of them.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gzip
import hashlib
import json
import pathlib
import re
import resource
import struct
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as onp

import gluonx
from fuzz.harness import SEED
from gluonx import Trainer, autograd, engine, estimator, gluon, io, metric, nd, nn, np, npx, recordio, sym
from gluonx.errors import GluonxError
from gluonx.files import checksum_of, load_arrays, load_trainer_states
from lib.params_samples import all_files

_OTHER_KINDS = [b"", b"{}", b"[1]", b"hello\n", bytes(500), b"\xff" * 500, b"\x89PNG\r\n\x1a\n" + bytes(90)]
_EXPANDED = 1 << 20
_SECONDS = 10
_ALLOWED = 2 << 30  # of address space beside what the process has: XLA's threads take some

Numbers = Any  # a RandomState


class Files:
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
        self._arrays()
        self.net.export(folder / "m", format="mxnet", inputs=[self.x])
        self.net.export(folder / "o", format="onnx", inputs=[self.x])
        self.net.export(folder / "artifact", inputs=[self.x], buckets=[2])
        with recordio.MXIndexedRecordIO(folder / "r.idx", folder / "r.rec", "w") as record:
            for i in range(6):
                record.write_idx(i, bytes([i]) * (5 + 3 * i))
        self._trained()

    def _made(self) -> tuple[Any, Trainer]:
        net = nn.HybridSequential()
        net.add(nn.Dense(4, in_units=3, activation="tanh"), nn.BatchNorm(in_channels=4), nn.Dense(2, in_units=4))
        net.initialize()
        return net, Trainer(net.collect_params(), "adam")

    def _arrays(self) -> None:
        values = onp.arange(12, dtype="float32").reshape(3, 4)
        npx.savez(self.folder / "c.npz", a=np.ones((3, 4)), b=np.arange(5))
        onp.savez_compressed(self.folder / "z.npz", a=values, b=onp.arange(5))
        np.save(self.folder / "n.npy", np.array(values))
        sparse = nd.array(values).tostype("csr")
        nd.save(str(self.folder / "sparse.nd"), {"a": sparse, "b": nd.ones((2, 2))})
        (self.folder / "mx.states").write_bytes(all_files()["mxnet-2.0.0b1/trainer_adam.states"].read_bytes())
        pixels = onp.arange(2 * 28 * 28, dtype="uint8").tobytes()
        images = struct.pack(">4B3I", 0, 0, 8, 3, 2, 28, 28) + pixels
        (self.folder / "images-idx3-ubyte").write_bytes(images)
        (self.folder / "images-idx3-ubyte.gz").write_bytes(gzip.compress(images, mtime=0))
        (self.folder / "labels-idx1-ubyte").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, 2) + b"\1\2")

    def _trained(self) -> None:
        """Leave the checkpoint of an estimator."""
        (self.folder / "trained").mkdir()
        self._fitted(epochs=1, resume=False)
        self.steps = sorted(path.name for path in (self.folder / "trained").iterdir())

    def _fitted(self, epochs: int, resume: bool) -> Any:
        net, trainer = self._made()
        fitter = estimator.Estimator(net, gluon.loss.L2Loss(), train_metrics=metric.Loss(), trainer=trainer)
        keeper = estimator.CheckpointHandler(
            self.folder / "trained", epoch_period=None if resume else 1, resume_from_checkpoint=resume
        )
        loader = gluon.data.DataLoader(gluon.data.ArrayDataset(self.x, self.x[:, :2]), batch_size=1)
        fitter.logger.disabled = True
        fitter.fit(loader, epochs=epochs, event_handlers=[keeper])
        return [value.asnumpy() for value in (p.data() for p in net.collect_params(fused=False).values())]

    def fitted(self) -> Any:
        return self._fitted(epochs=2, resume=True)

    def symbols(self) -> Any:
        parts = self.folder / "m-symbol.json", ["data"], self.folder / "m-0000.params"
        return _run(gluonx.SymbolBlock.imports(*parts), self.x)

    def records(self) -> Any:
        with recordio.MXIndexedRecordIO(self.folder / "r.idx", self.folder / "r.rec", "r") as record:
            return [record.read_idx(key) for key in record.keys]

    def digits(self, images: str) -> Any:
        parts = {"image": str(self.folder / images), "label": str(self.folder / "labels-idx1-ubyte")}
        found = io.MNISTIter(**parts, batch_size=1, shuffle=False)
        return [batch.data[0].asnumpy() for batch in found]

    def predicted(self) -> Any:
        loaded = gluonx.load(self.folder / "artifact")
        return [loaded(self.x).asnumpy(), loaded.predictor(buckets=[2])(self.x.asnumpy())]

    def resealed(self, name: str, read: Callable[[], Any]) -> Any:
        """Read a folder or checkpoint whose checksums somebody has made anew, as an attacker would."""
        described = self.folder / name
        before = described.read_bytes()
        with contextlib.suppress(ValueError, RecursionError, AttributeError, TypeError, KeyError, OSError):
            content = json.loads(before)
            for file, entry in content.get("files", {}).items():
                data = (described.parent / file).read_bytes()
                entry.update(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
            content["checksum"] = checksum_of(content)
            described.write_text(json.dumps(content))
        try:
            return read()
        finally:
            described.write_bytes(before)

    def taken(self, read: Callable[..., Any], place: Any) -> list[bytes]:
        """Read into the other net or trainer, and return what it has then."""
        read(place)
        return self.states() if read == self.others.load_states else self.weights()

    def weights(self) -> list[bytes]:
        return [p.data().asnumpy().tobytes() for p in self.other.collect_params(fused=False).values()]

    def states(self) -> list[bytes]:
        return [onp.asarray(state).tobytes() for state in self.others._states().values()]

    def kept(self) -> list[bytes]:
        """Return what a load that fails may not change."""
        return self.weights() + self.states()


def _shown(path: pathlib.Path) -> Any:
    """Load a graph and look at it: what happens before one is run."""
    graph = sym.load(str(path))
    with contextlib.suppress(GluonxError):  # of shapes that do not fit
        graph.infer_shape_partial(data=(2, 3))
    return graph.list_arguments(), graph.list_outputs(), graph.tojson()


def _run(net: Any, x: Any) -> None:
    with contextlib.suppress(GluonxError):  # of operators whose shapes do not fit
        net(x).asnumpy()


READERS: dict[str, Callable[[Files, pathlib.Path], Any]] = {
    "a.params": lambda files, path: files.taken(files.other.load_parameters, path),
    "l.params": lambda files, path: files.taken(files.other.load_parameters, path),
    "s.safetensors": lambda files, path: files.taken(files.other.load_parameters, path),
    "t.states": lambda files, path: files.taken(files.others.load_states, path),
    "mx.states": lambda files, path: load_trainer_states(path).states,
    "whole-model.json": lambda files, path: files.taken(files.other.load, files.folder / "whole"),
    "whole-model.params": lambda files, path: files.taken(files.other.load, files.folder / "whole"),
    "c.npz": lambda files, path: npx.load(path),
    "c.npz by np.load": lambda files, path: np.load(path),
    "z.npz": lambda files, path: load_arrays(path, max_expanded_bytes=_EXPANDED),
    "z.npz by np.load": lambda files, path: np.load(path),
    "n.npy": lambda files, path: npx.load(path),
    "n.npy by np.load": lambda files, path: np.load(path),
    "sparse.nd": lambda files, path: {k: v.asnumpy() for k, v in nd.load(str(path)).items() if v.size <= _EXPANDED},
    "m-symbol.json": lambda files, path: files.symbols(),
    "m-symbol.json by sym.load": lambda files, path: _shown(path),
    "m-0000.params": lambda files, path: files.symbols(),
    "o.onnx": lambda files, path: _run(gluonx.onnx.import_model(path), files.x),
    "artifact/model.json": lambda files, path: files.predicted(),
    "artifact/model.jaxexport": lambda files, path: files.predicted(),
    "artifact/model.stablehlo": lambda files, path: files.predicted(),
    "artifact/params.safetensors": lambda files, path: files.predicted(),
    "artifact/model.json sealed again": lambda files, path: files.resealed("artifact/model.json", files.predicted),
    "artifact/params.safetensors sealed again": lambda files, path: files.resealed(
        "artifact/model.json", files.predicted
    ),
    "trained/model-epoch0batch2.resume sealed again": lambda files, path: files.resealed(
        "trained/model-epoch0batch2.resume", files.fitted
    ),
    "r.rec": lambda files, path: files.records(),
    "r.idx": lambda files, path: files.records(),
    "images-idx3-ubyte": lambda files, path: files.digits("images-idx3-ubyte"),
    "images-idx3-ubyte.gz": lambda files, path: files.digits("images-idx3-ubyte.gz"),
    "labels-idx1-ubyte": lambda files, path: files.digits("images-idx3-ubyte"),
    "trained/model-epoch0batch2.resume": lambda files, path: files.fitted(),
    "trained/model-epoch0batch2.params": lambda files, path: files.fitted(),
    "trained/model-epoch0batch2.states": lambda files, path: files.fitted(),
}
"""By file, how it is read."""
SEALED = {
    name
    for name in READERS
    if "again" not in name and name.startswith(("artifact", "a.params", "whole-model.params", "c.npz", "z.npz"))
}
"""Of formats with checksums: what is read is what was written."""


_SLOW = ("artifact", "trained", "o.onnx", "m-symbol")  # a millisecond and more, each


_WORDS = re.compile(rb'("[^"]*"|-?\d+(?:\.\d+)?)')
_TOKENS = [b"null", b"0", b"-1", b"1", b"9999999999", b"1e999", b"1.5", b'""', b"[]", b"{}", b'"(0, -1)"', b"true"]
_SIZES = [0, 1, 3, 127, 128, 255, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**64 - 1]


def _token(data: bytes, numbers: Numbers) -> bytes:
    """Put another value in the place of a number or text of JSON; of other files too, where digits stand."""
    words = _WORDS.split(data)
    if len(words) < 3:
        return data
    at = 2 * int(numbers.randint(len(words) // 2)) + 1
    words[at] = _TOKENS[numbers.randint(len(_TOKENS))]
    return b"".join(words)


def _once(data: bytes, numbers: Numbers, others: list[bytes]) -> bytes:
    changed, size = bytearray(data), len(data)
    at = int(numbers.randint(size + 1))
    way = numbers.randint(11)
    if way == 0:
        del changed[at:]
    elif way in (1, 2) and size:
        for _ in range(numbers.randint(1, 4)):
            changed[numbers.randint(size)] ^= 1 << numbers.randint(8)
    elif way == 3:  # a count or a length, of some width and order of bytes
        width = (1, 2, 4, 8)[numbers.randint(4)]
        word = _SIZES[numbers.randint(len(_SIZES))] % (1 << 8 * width)
        changed[at : at + width] = word.to_bytes(width, ("little", "big")[numbers.randint(2)])
    elif way == 4:  # the same by a little more or less
        width = (1, 2, 4, 8)[numbers.randint(4)]
        order: Any = ("little", "big")[numbers.randint(2)]
        found = int.from_bytes(changed[at : at + width], order) + int(numbers.randint(-3, 4))
        changed[at : at + width] = (found % (1 << 8 * width)).to_bytes(width, order)
    elif way == 5:
        changed[at:at] = numbers.bytes(numbers.randint(1, 20))
    elif way == 6:
        del changed[at : at + numbers.randint(1, 30)]
    elif way == 7:
        changed[at:at] = data[at : at + numbers.randint(1, 60)]
    elif way == 8:  # from another file
        other = others[numbers.randint(len(others))]
        begin = int(numbers.randint(len(other) + 1))
        piece = other[begin : begin + numbers.randint(1, 80)]
        changed[at : at + len(piece) * numbers.randint(2)] = piece
    elif way == 9:
        end = at + int(numbers.randint(1, 200))
        changed[at:end] = bytes(len(changed[at:end]))
    else:
        return _token(data, numbers)
    return bytes(changed)


def damaged(data: bytes, numbers: Numbers, others: list[bytes]) -> bytes:
    """Return the bytes changed once to three times, or now and then something else altogether."""
    if numbers.randint(60) == 0:
        return _OTHER_KINDS[numbers.randint(len(_OTHER_KINDS))]
    for _ in range(numbers.randint(1, 4)):
        data = _once(data, numbers, others)
    return data


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Within, the process gets no more address space than it has, and `_ALLOWED`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    now = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + _ALLOWED, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


class Fuzz:
    """The files, what is read of them where nothing is changed, and what came of those that were.

    Parameters
    ----------
    folder : path
        Where the files are written.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.files = Files(folder)
        self.data = {name: (folder / name.partition(" ")[0]).read_bytes() for name in READERS}
        self.others = list(self.data.values())
        self.before: list[bytes] | None = None
        self.right: dict[str, Any] = {}
        self.usual: dict[str, int] = {}
        self.came: dict[str, Counter[str]] = {name: Counter() for name in READERS}
        self.worst: dict[str, float] = dict.fromkeys(READERS, 0.0)
        self.peak: dict[str, int] = dict.fromkeys(READERS, 0)

    def _known(self, name: str) -> None:
        """Read the file as it is, twice: what the first time compiles and imports is not the file's."""
        if name not in self.right:
            path = self.files.folder / name.partition(" ")[0]
            self.before = None
            READERS[name](self.files, path)
            tracemalloc.start()
            self.right[name] = READERS[name](self.files, path)
            self.usual[name] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()

    def check(self, name: str, numbers: Numbers) -> None:
        """Change a file, read it, and put it back."""
        self._known(name)
        files, path = self.files, self.files.folder / name.partition(" ")[0]
        data = damaged(self.data[name], numbers, self.others)
        before = self.before or files.kept()
        path.write_bytes(data)
        began = time.process_time()
        tracemalloc.start()
        try:
            found = READERS[name](files, path)
        except GluonxError as error:
            found, told = error, "refused"
        except ValueError as error:
            if type(error) is not ValueError or "behind it, and fit() was asked for" not in str(error):
                raise
            found, told = error, "refused"  # an estimator's checkpoint of a training that is complete
        else:
            told = "read"
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            path.write_bytes(self.data[name])
        spent = time.process_time() - began
        self.worst[name], self.peak[name] = max(self.worst[name], spent), max(self.peak[name], peak)
        self.came[name][told] += 1
        allowed = 2 * self.usual[name] + 40 * len(data) + (4 << 20)
        assert peak < allowed, f"{name}: {peak} bytes for a file of {len(data)}, {self.usual[name]} usually"
        assert spent < _SECONDS, f"{name}: {spent:.1f} s"
        if told == "refused":
            assert str(files.folder) in str(found), f"{name}: does not name the file: {found}"
            self.before = files.kept()
            assert self.before == before, f"{name}: half loaded"
            return
        self.before = None
        if name in SEALED:
            assert _is_right(found, self.right[name]), f"{name}: is not what was written"


def _is_right(found: Any, right: Any) -> bool:
    if isinstance(right, dict):  # names have no checksum
        return all(_is_right(value, right[key]) for key, value in found.items() if key in right)
    if isinstance(right, list):
        return len(found) == len(right) and all(map(_is_right, found, right))
    if isinstance(right, bytes):
        return found == right
    return found.dtype == right.dtype and onp.array_equal(onp.asarray(found), onp.asarray(right))


def main(arguments: list[str] | None = None) -> int:
    """Run `count` changed files of all kinds, more of those that are read fast, and print what came of them."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.files", description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=20_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so many, whatever was run")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", nargs="*", default=list(READERS), help="names of files")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # of numbers that are not finite any more
    failed: list[str] = []
    done, began = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder, bounded():
        fuzz = Fuzz(pathlib.Path(folder))
        fast = [name for name in options.only if not name.startswith(_SLOW)] or options.only
        numbers_of_turns = onp.random.RandomState(options.seed)
        while done < options.count and time.monotonic() - began < options.seconds and len(failed) < 50:
            # One in sixteen by turns, the others of those that are read fast.
            among = options.only if done % 16 == 0 else fast
            name = among[int(numbers_of_turns.randint(len(among)))]
            numbers = onp.random.RandomState([options.seed, done])
            faulthandler.dump_traceback_later(120, exit=True, file=sys.__stderr__)  # what never ends
            try:
                fuzz.check(name, numbers)
            except Exception as error:
                told = str(error).partition("\n")[0][:200]
                failed.append(f"{name}, seed {options.seed} {done}: {type(error).__name__}: {told}")
                print(failed[-1], flush=True)
            done += 1
            if done % 2000 == 0:
                engine.clear()  # of programs that graphs which were changed are
        faulthandler.cancel_dump_traceback_later()
    print(f"{done} files in {time.monotonic() - began:.0f} s, {len(failed)} failed; seed {options.seed}")
    print(f"| {'file':36} | {'changed':>8} | {'refused':>8} | {'read':>8} | {'most s':>6} | {'most MB':>7} |")
    print(f"| {'-' * 36} | {'-' * 8} | {'-' * 8} | {'-' * 8} | {'-' * 6} | {'-' * 7} |")
    for name in options.only:
        came = fuzz.came[name]
        row = f"{came.total():8} | {came['refused']:8} | {came['read']:8} | {fuzz.worst[name]:6.2f}"
        print(f"| {name:36} | {row} | {fuzz.peak[name] / 1e6:7.2f} |")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
