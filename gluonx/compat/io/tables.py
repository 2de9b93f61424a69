"""Iterators over files of numbers: CSV, LibSVM, and the files of MNIST."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as onp

from gluonx.compat.io import parameters as par
from gluonx.compat.io.batches import DataDesc
from gluonx.compat.io.native import COMMON, HostBatch, MXDataIter, Streaming, need_part, taken
from gluonx.data.vision.datasets import read_idx
from gluonx.errors import ArgumentError, FormatError, ShapeError
from gluonx.sparse import CSRNDArray

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


_LINES = 1024  # of a CSV file that are read at once
_NO_FILE = ("", "NULL")  # MXNet's default for a file of labels is the second


class _Row(NamedTuple):
    number: int
    data: Any
    label: Any


def _rows_of(batch: Sequence[onp.ndarray], size: int, shape: tuple[int, ...], dtype: DTypeLike) -> onp.ndarray:
    """Stack rows; zeros where there are fewer than `size`."""
    found = onp.zeros((size, *shape), dtype)
    for place, row in enumerate(batch):
        found[place] = row.reshape(shape)
    return found


def _label_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """One label a row has no axis of its own."""
    return () if shape == (1,) else shape


class _CSV(NamedTuple):
    """The rows of a CSV file, and of one with their labels."""

    path: str
    shape: tuple[int, ...]
    labels: str
    label_shape: tuple[int, ...]
    dtype: onp.dtype

    def read(self) -> Iterator[_Row]:
        data = self._lines(self.path, math.prod(self.shape))
        if not self.labels:
            label = onp.zeros(self.label_shape, self.dtype)
            yield from (_Row(place, row, label) for place, row in enumerate(data))
            return
        labels, found = self._lines(self.labels, math.prod(self.label_shape)), False
        for place, row in enumerate(data):
            label = next(labels, None)
            if label is None:
                raise FormatError(
                    f"CSVIter: '{self.labels}' has {place} rows of labels, but '{self.path}' has more rows"
                )
            yield _Row(place, row, label)
            found = True
        if found and next(labels, None) is not None:
            raise FormatError(f"CSVIter: '{self.labels}' has more rows of labels than '{self.path}' has rows")

    def _lines(self, path: str, width: int) -> Iterator[onp.ndarray]:
        start = 1
        with open(path, encoding="utf-8-sig", errors="backslashreplace") as file:  # what is no text is no number either
            while lines := [line for line, _ in zip(file, range(_LINES), strict=False)]:
                yield from self._parsed(path, start, lines, width)
                start += len(lines)

    def _parsed(self, path: str, start: int, lines: list[str], width: int) -> Iterator[onp.ndarray]:
        kept = [(start + place, line) for place, line in enumerate(lines) if line.strip()]
        if not kept:
            return iter(())
        try:
            rows = onp.loadtxt([line for _, line in kept], self.dtype, comments=None, delimiter=",", ndmin=2)
        except ValueError:
            rows = None
        if rows is None or rows.shape[1] != width:
            for place, line in kept:  # which one is it?
                self._refuse(path, place, line, width)
        return iter(rows if rows is not None else ())

    def _refuse(self, path: str, place: int, line: str, width: int) -> None:
        where = f"CSVIter: '{path}', line {place}"
        fields = line.strip().split(",")
        if len(fields) != width:
            raise FormatError(f"{where}: {width} numbers were expected, got {len(fields)}: {line.strip()[:60]!r}")
        for field in fields:
            try:
                onp.dtype(self.dtype).type(field.strip())
            except ValueError:
                raise FormatError(f"{where}: a number of {self.dtype} was expected, got {field[:60]!r}") from None


class CSVIter(Streaming):
    r"""Batches of the rows of a CSV file, and of a second one with the labels.

    The files are read while they are needed, and never held as a whole.

    Parameters
    ----------
    data_csv : str
        The file; a line is a row of numbers with commas between them.
    data_shape : tuple of int
        The shape of a row.
    label_csv : str, optional
        The file of labels; without it they are zeros.
    label_shape : tuple of int, default (1,)
        The shape of a row of labels; with the default, a batch of labels has one axis.
    batch_size : int
    round_batch : bool, default True
        Whether the last batch is filled up from the begin of the file, and the next epoch begins after these rows;
        else it is filled up with zeros. In both cases its `pad` counts these rows.
    dtype : {None, 'float32', 'int32', 'int64'}
        Of both arrays; None is float32.
    prefetch_buffer : int, default 4
        How many batches are read ahead.
    data_name, label_name : str
        The names of the two arrays, ``'data'`` and ``'softmax_label'``.
    **kwargs
        `ctx` and `device_id` are taken and mean nothing here.

    Raises
    ------
    FormatError
        While a line is read that is no row of numbers of this shape, or has no labels; names the file and the line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("1,2\n3,4\n5,6\n")
    >>> rows = CSVIter(data_csv=path, data_shape=(2,), batch_size=2)
    >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in rows]
    [([[1.0, 2.0], [3.0, 4.0]], 0), ([[5.0, 6.0], [1.0, 2.0]], 1)]
    """

    def __init__(self, data_name: str = "data", label_name: str = "softmax_label", **kwargs: Any) -> None:
        of = taken("CSVIter", _OF_CSV, kwargs)
        dtype = onp.dtype(of.dtype or "float32")
        if dtype.name not in ("float32", "int32", "int64"):
            raise ArgumentError(f"CSVIter: dtype must be float32, int32 or int64, got {of.dtype!r}")
        labels = "" if of.label_csv in _NO_FILE else of.label_csv
        for path in filter(None, (of.data_csv, labels)):
            _need_file("CSVIter", path)
        self._rows = _CSV(of.data_csv, of.data_shape, labels, of.label_shape, dtype)
        data = DataDesc(data_name, (of.batch_size, *of.data_shape), dtype.type)
        label = DataDesc(label_name, (of.batch_size, *_label_shape(of.label_shape)), dtype.type)
        super().__init__(of.batch_size, data, label, of.round_batch, of.prefetch_buffer)

    def _where(self) -> str:
        return f"'{self._rows.path}'"

    def _pass(self, number: int) -> Iterator[_Row]:
        return self._rows.read()

    def _make(self, samples: list[_Row]) -> tuple[Any, Any, Any, list[Future[Any]]]:
        size, of = self.batch_size, self._rows
        data = _rows_of([row.data for row in samples], size, of.shape, of.dtype)
        label = _rows_of([row.label for row in samples], size, _label_shape(of.label_shape), of.dtype)
        return data, label, _numbers(samples, size), []


_OF_CSV: par.Table = {
    "data_csv": (par.text, par.REQUIRED),
    "data_shape": (par.shape(), par.REQUIRED),
    "label_csv": (par.text, ""),
    "label_shape": (par.shape(), (1,)),
    **COMMON,
}


def _numbers(samples: list[_Row], size: int) -> onp.ndarray:
    found = onp.zeros(size, onp.uint64)
    found[: len(samples)] = [row.number for row in samples]
    return found


def _need_file(owner: str, path: str) -> None:
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{owner}: there is no file '{path}'")


class _LibSVM(NamedTuple):
    """The rows of a part of a LibSVM file, and of one with their labels."""

    path: str
    width: int
    labels: str
    label_width: int
    part: tuple[int, int]

    def read(self) -> Iterator[_Row]:
        data = self._lines(self.path, self.width, self.part)
        labels = self._labels_of_part() if self.labels else None
        for place, (first, row) in enumerate(data):
            label: Any = onp.float32(first)
            if labels is not None:
                found = next(labels, None)
                if found is None:
                    raise FormatError(f"LibSVMIter: '{self.labels}' has fewer rows than '{self.path}', {place} of them")
                label = found[1]
            yield _Row(place, row, label)

    def _labels_of_part(self) -> Iterator[tuple[float, _Sparse]]:
        """Get the labels from that of the part's first row on: equal parts of two files are not the same rows."""
        with open(self.path, "rb") as file:
            start, _ = _lines_of_part(file, *self.part)
            file.seek(0)
            before = 0
            while file.tell() < start:
                before += bool(_fields(file.readline()))
        return itertools.islice(self._lines(self.labels, self.label_width, (1, 0)), before, None)

    def _lines(self, path: str, width: int, part: tuple[int, int]) -> Iterator[tuple[float, _Sparse]]:
        with open(path, "rb") as file:
            start, end = _lines_of_part(file, *part)
            file.seek(start)
            while file.tell() < end:
                at = file.tell()
                fields = _fields(file.readline())
                if not fields:
                    continue
                try:
                    pairs = [field.split(b":") for field in fields[1:]]
                    indices = onp.array([int(index) for index, _ in pairs], onp.int64)
                    values = onp.array([float(value) for _, value in pairs], onp.float32)
                    label = float(fields[0])
                except ValueError:
                    told = b" ".join(fields)[:80].decode(errors="replace")
                    expected = "'label index:value index:value ...' was expected"
                    raise FormatError(f"LibSVMIter: '{path}', byte {at}: {expected}, got {told!r}") from None
                if len(indices) and not 0 <= indices.min() <= indices.max() < width:
                    beyond = int(indices.max() if indices.max() >= width else indices.min())
                    raise FormatError(f"LibSVMIter: '{path}', byte {at}: index {beyond} does not fit a row of {width}")
                if len(indices) > 1 and not (indices[1:] > indices[:-1]).all():
                    found, counts = onp.unique(indices, return_counts=True)
                    if counts.max() > 1:
                        twice = int(found[counts.argmax()])
                        raise FormatError(f"LibSVMIter: '{path}', byte {at}: index {twice} stands there more than once")
                yield label, _Sparse(indices, values)


def _fields(line: bytes) -> list[bytes]:
    """Return the words of a line of a LibSVM file, without its comment."""
    return line.partition(b"#")[0].split()


class LibSVMIter(Streaming):
    r"""Batches of rows that a LibSVM file holds sparse: ``label index:value index:value ...``, indices from 0.

    The data, and labels of a file of their own, are `CSRNDArray`: what a batch takes is what the file has.

    Parameters
    ----------
    data_libsvm : str
        The file.
    data_shape : tuple of one int
        The length of a row.
    label_libsvm : str, optional
        A file with labels in the same format, instead of the one number before each row.
    label_shape : tuple of int, default (1,)
        The length of a row of labels.
    batch_size : int
    num_parts, part_index : int
        Read one of so many parts of the file, by its bytes, as MXNet cuts it. Labels of a file of their own are those
        of the same rows; MXNet takes the same part of its bytes, which may be those of other rows.
    round_batch : True
        As in `CSVIter`; MXNet has no other way for sparse rows.
    prefetch_buffer : int, default 4
        How many batches are read ahead.
    data_name, label_name : str
    **kwargs
        `ctx`, `device_id` are taken and mean nothing here.

    Raises
    ------
    FormatError
        While a line is read that is none of this format, or has an index beyond the shape or twice; names the file and
        where the line begins.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.txt"
    >>> _ = path.write_text("1 0:0.5 2:1.5\n-1 1:2\n")
    >>> batch = next(LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=2))
    >>> batch.data[0].indices.asnumpy().tolist(), batch.data[0].data.asnumpy().tolist()
    ([0, 2, 1], [0.5, 1.5, 2.0])
    >>> batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist()
    ([[0.5, 0.0, 1.5], [0.0, 2.0, 0.0]], [1.0, -1.0])
    """

    def __init__(self, data_name: str = "data", label_name: str = "softmax_label", **kwargs: Any) -> None:
        of = taken("LibSVMIter", _OF_LIBSVM, kwargs)
        labels, width = "" if of.label_libsvm in _NO_FILE else of.label_libsvm, math.prod(of.label_shape)
        if not labels and width != 1:
            raise ArgumentError(f"LibSVMIter: label_shape={of.label_shape} needs label_libsvm; a row has one label")
        if not of.round_batch:
            raise ArgumentError("LibSVMIter: round_batch=False is not supported, as in MXNet")
        if of.dtype not in (None, "float32"):
            raise ArgumentError(f"LibSVMIter: dtype must be float32, as in MXNet, got {of.dtype!r}")
        for path in filter(None, (of.data_libsvm, labels)):
            _need_file("LibSVMIter", path)
        self._rows = _LibSVM(
            of.data_libsvm, of.data_shape[0], labels, width, need_part("LibSVMIter", of.num_parts, of.part_index)
        )
        data = DataDesc(data_name, (of.batch_size, *of.data_shape))
        label = DataDesc(label_name, (of.batch_size, *_label_shape((width,))))
        super().__init__(of.batch_size, data, label, True, of.prefetch_buffer)

    def _where(self) -> str:
        return f"part {self._rows.part[1]} of {self._rows.part[0]} of '{self._rows.path}'"

    def _pass(self, number: int) -> Iterator[_Row]:
        return self._rows.read()

    def _make(self, samples: list[_Row]) -> tuple[Any, Any, Any, list[Future[Any]]]:
        of = self._rows
        data = _stored([row.data for row in samples], of.width)
        if of.labels and of.label_width > 1:
            label: Any = _stored([row.label for row in samples], of.label_width)
        elif of.labels:
            label = onp.array([row.label.values.sum() for row in samples], onp.float32)
        else:
            label = onp.array([row.label for row in samples], onp.float32)
        return data, label, _numbers(samples, self.batch_size), []


_OF_LIBSVM: par.Table = {
    "data_libsvm": (par.text, par.REQUIRED),
    "data_shape": (par.shape(1), par.REQUIRED),
    "label_libsvm": (par.text, ""),
    "label_shape": (par.shape(), (1,)),
    "num_parts": (par.positive, 1),
    "part_index": (par.integer, 0),
    **COMMON,
}


class _Sparse(NamedTuple):
    indices: onp.ndarray
    values: onp.ndarray


def _stored(rows: list[_Sparse], width: int) -> CSRNDArray:
    """Rows as a csr matrix, on the host."""
    starts = onp.cumsum([0, *[len(row.indices) for row in rows]])
    orders = [row.indices.argsort() for row in rows]
    columns = onp.concatenate([row.indices[order] for row, order in zip(rows, orders, strict=True)])
    values = onp.concatenate([row.values[order] for row, order in zip(rows, orders, strict=True)])
    return CSRNDArray(values, columns, starts, (len(rows), width))


def _lines_of_part(file: Any, parts: int, part: int) -> tuple[int, int]:
    """Return the bounds in bytes of a part of a file of lines: equal counts, each up to the end of a line."""
    size = os.fstat(file.fileno()).st_size
    step = -(-size // parts)

    def line_after(offset: int) -> int:
        if offset in (0, size):
            return offset
        file.seek(offset)
        file.readline()
        return file.tell()

    return line_after(min(step * part, size)), line_after(min(step * (part + 1), size))


class MNISTIter(MXDataIter):
    """Batches of the images of MNIST, from its files of images and labels, compressed by gzip or not.

    Pixels are divided by 256. Rows that do not fill a batch are left out. If the images are shuffled, all epochs have
    the same order.

    Parameters
    ----------
    image, label : str
        The files, ``'./train-images-idx3-ubyte'`` and ``'./train-labels-idx1-ubyte'`` by default. Each is taken
        with the ending ``.gz`` as well.
    batch_size : int, default 128
    shuffle : bool, default True
    seed : int, default 0
        Of the order.
    flat : bool, default False
        Whether an image is a row, (batch, height x width), instead of (batch, 1, height, width).
    num_parts, part_index : int
        Read one of so many parts.
    silent : bool, default False
        Whether to print nothing; nothing is printed anyway.
    data_name, label_name : str
    **kwargs
        `ctx`, `device_id`, `prefetch_buffer` are taken and mean nothing here.

    Raises
    ------
    FormatError
        If a file is none of this format, is cut off, or the two have other counts; names the file.
    """

    def __init__(self, data_name: str = "data", label_name: str = "softmax_label", **kwargs: Any) -> None:
        of = taken("MNISTIter", _OF_MNIST, kwargs)
        if of.dtype not in (None, "float32"):
            raise ArgumentError(f"MNISTIter: dtype must be float32, as in MXNet, got {of.dtype!r}")
        parts, part = need_part("MNISTIter", of.num_parts, of.part_index)
        images, labels = _idx_file(of.image, 3), _idx_file(of.label, 1)
        if len(images) != len(labels):
            told = f"'{of.image}' has {len(images)} images, but '{of.label}' {len(labels)} labels"
            raise ShapeError(f"MNISTIter: {told}")
        rows = onp.arange(len(images) * part // parts, len(images) * (part + 1) // parts)
        if of.shuffle:
            onp.random.default_rng(abs(of.seed)).shuffle(rows)
        self._rows, self._images, self._labels, self._flat = rows, images, labels, of.flat
        self._place = 0
        _, height, width = images.shape
        self._shape = (height * width,) if of.flat else (1, height, width)
        data = DataDesc(data_name, (of.batch_size, *self._shape))
        super().__init__(of.batch_size, data, DataDesc(label_name, (of.batch_size,)))

    def reset(self) -> None:
        """Begin the next epoch."""
        self._place, self._current = 0, None

    def _next_host(self) -> HostBatch | None:
        rows = self._rows[self._place : self._place + self.batch_size]
        if len(rows) < self.batch_size:
            return None
        self._place += self.batch_size
        data = self._images[rows].astype(onp.float32)
        data *= onp.float32(1 / 256)
        data = data.reshape(self.batch_size, *self._shape)
        return HostBatch(data, self._labels[rows].astype(onp.float32), rows.astype(onp.uint64), [], 0, False)


_OF_MNIST: par.Table = {
    "image": (par.text, "./train-images-idx3-ubyte"),
    "label": (par.text, "./train-labels-idx1-ubyte"),
    **COMMON,
    "batch_size": (par.positive, 128),
    "shuffle": (par.flag, True),
    "flat": (par.flag, False),
    "seed": (par.integer, 0),
    "silent": (par.flag, False),
    "num_parts": (par.positive, 1),
    "part_index": (par.integer, 0),
}


def _idx_file(path: str, axes: int) -> onp.ndarray:
    if not os.path.exists(path) and os.path.exists(path + ".gz"):
        path += ".gz"
    _need_file("MNISTIter", path)
    return read_idx(path, axes)
