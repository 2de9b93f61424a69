"""Iterators over record files of images: `ImageRecordIter` and its kind, and `ImageDetRecordIter` for detection."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, NamedTuple

import numpy as onp

from gluonx.common.frames import warn
from gluonx.compat.io import parameters as par
from gluonx.compat.io.augment import AUGMENT, NORMALIZE, Augmenter, Normalizer
from gluonx.compat.io.batches import DataDesc
from gluonx.compat.io.native import COMMON, Streaming, need_part, taken
from gluonx.data.recordio import MAGIC, read_index, read_record, unpack_of
from gluonx.data.vision.datasets import read_image_list
from gluonx.data.vision.functional import decode
from gluonx.errors import ArgumentError, FormatError, ShapeError

_MEGABYTE = 1 << 20
_CHUNK = 64  # megabytes of a file without an index that are shuffled at once
_FLAGS = {1: 0, 3: 1, 4: -1}  # of the decoder, by the number of channels

RECORDS: par.Table = {
    "path_imgrec": (par.text, ""),
    "path_imglist": (par.text, ""),
    "path_imgidx": (par.text, ""),
    "data_shape": (par.shape(3), par.REQUIRED),
    "label_width": (par.integer, 1),
    "preprocess_threads": (par.positive, 4),
    "verbose": (par.flag, True),
    "num_parts": (par.positive, 1),
    "part_index": (par.integer, 0),
    "shuffle": (par.flag, False),
    "seed": (par.integer, 0),
    "shuffle_chunk_size": (par.integer, 0),
    "shuffle_chunk_seed": (par.integer, 0),
    "seed_aug": (par.maybe(par.integer), None),
    **COMMON,
}


class Sample(NamedTuple):
    """A record, the file and the offset that it came from, the pass and its place in that."""

    turn: int
    place: int
    data: bytes
    path: str
    offset: int

    def __str__(self) -> str:
        return f"the record at offset {self.offset} of '{self.path}'"


class _Piece(NamedTuple):
    """A part of a file: from the begin of one record to that of another one."""

    path: str
    start: int
    end: int


class Records:
    """A part of the records of one or several files, which are read in their order or shuffled.

    With an index the parts are of equal numbers of records, and shuffling goes over all of them. Without it they are
    of equal numbers of bytes, cut as MXNet cuts them; shuffling puts pieces of `_CHUNK` megabytes in a random order,
    and the records within each.
    """

    def __init__(self, owner: str, of: SimpleNamespace) -> None:
        if not of.path_imgrec:
            raise ArgumentError(f"{owner} needs path_imgrec")
        need_part(owner, of.num_parts, of.part_index)
        self.files = _files(owner, of.path_imgrec)
        self.seed = [abs(of.seed), abs(of.shuffle_chunk_seed)] if of.shuffle else None
        self.offsets = self._indexed(owner, of) if of.path_imgidx else None
        step = (of.shuffle_chunk_size or _CHUNK) * _MEGABYTE if of.shuffle else None
        self.pieces = [] if self.offsets is not None else self._cut(of.num_parts, of.part_index, step)

    def __str__(self) -> str:
        return "this part of " + ", ".join(f"'{path}'" for path, _ in self.files)

    def _indexed(self, owner: str, of: SimpleNamespace) -> onp.ndarray:
        if len(self.files) > 1:
            raise ArgumentError(
                f"{owner}: path_imgidx goes with one record file, got {len(self.files)}: {of.path_imgrec!r}"
            )
        self._index = of.path_imgidx
        offsets = onp.array(sorted(offset for _, offset in read_index(of.path_imgidx, str)), onp.int64)
        if len(offsets) and offsets[-1] >= self.files[0][1]:
            path, size = self.files[0]
            raise FormatError(f"{self._entry(offsets[-1])}, but '{path}' has {size} bytes")
        step = -(-len(offsets) // of.num_parts)
        return offsets[step * of.part_index : step * (of.part_index + 1)]

    def _entry(self, offset: int) -> str:
        """Return the entry of the index that leads to an offset, in words."""
        key = next(key for key, at in read_index(self._index, str) if at == offset)
        return f"'{self._index}' has a record at offset {offset}, of key {key}"

    def _cut(self, parts: int, part: int, step: int | None) -> list[_Piece]:
        total = sum(size for _, size in self.files)
        share = (math.ceil(total / parts) + 3) // 4 * 4
        start, end = min(share * part, total), min(share * (part + 1), total)
        marks = [start, *(range(start, end, step)[1:] if step else ()), end]
        pieces: list[_Piece] = []
        for left, right in itertools.pairwise(marks):
            before = 0
            for path, size in self.files:
                low, high = max(left - before, 0), min(right - before, size)
                before += size
                if low < high:
                    pieces.append(_Piece(path, _head_from(path, low), _head_from(path, high)))
        return pieces

    def read(self, number: int) -> Iterator[tuple[bytes, str, int]]:
        """Yield the records of a pass, with the file and the offset of each."""
        rng = onp.random.default_rng([*self.seed, number]) if self.seed is not None else None
        if self.offsets is not None:
            offsets = self.offsets if rng is None else rng.permutation(self.offsets)
            path = self.files[0][0]
            with open(path, "rb") as file:
                yield from ((self._record_at(file, path, int(offset)), path, int(offset)) for offset in offsets)
            return
        for place in range(len(self.pieces)) if rng is None else rng.permutation(len(self.pieces)):
            found = _records_of(self.pieces[place])
            if rng is None:
                yield from found
            else:
                kept = list(found)
                order = rng.permutation(len(kept))
                yield from (kept[at] for at in order)
                del kept, order

    def _record_at(self, file: BinaryIO, path: str, offset: int) -> bytes:
        if file.tell() != offset:
            file.seek(offset)
        try:
            found = read_record(file, path)
        except FormatError as error:
            raise FormatError(f"{error} ({self._entry(offset)}: does this index belong to this file?)") from None
        if found is None:
            raise FormatError(f"'{path}' ends at offset {file.tell()}, but {self._entry(offset)}")
        return found


def _files(owner: str, uri: str) -> list[tuple[str, int]]:
    """Return the files and their sizes: one, several with semicolons between, or all of a folder."""
    found = []
    for path in uri.split(";"):
        inside = sorted(str(one) for one in Path(path).iterdir() if one.is_file()) if os.path.isdir(path) else [path]
        for one in inside:
            if not os.path.isfile(one):
                raise FileNotFoundError(f"{owner}: there is no record file '{one}'")
            if size := os.path.getsize(one):
                found.append((one, size))
    if not found:
        raise FormatError(f"{owner}: there is no record in '{uri}', which is empty")
    return found


def _head_from(path: str, offset: int) -> int:
    """Return the offset of the first record that begins at `offset`, a multiple of 4, or later; else the file's end."""
    size = os.path.getsize(path)
    if offset in (0, size):
        return offset
    with open(path, "rb") as file:
        while offset < size:
            file.seek(offset)
            block = file.read(_MEGABYTE + 4)
            at = block.find(MAGIC)
            while at >= 0 and (at % 4 or len(block) < at + 8 or block[at + 7] >> 5 > 1):
                if at % 4 == 0 and len(block) < at + 8 and offset + at + 8 <= size:
                    break  # the length is beyond this block
                at = block.find(MAGIC, at + 1)
            if at >= 0 and len(block) >= at + 8:
                return offset + at
            offset += at if at > 0 else _MEGABYTE
    return size


def _records_of(piece: _Piece) -> Iterator[tuple[bytes, str, int]]:
    with open(piece.path, "rb") as file:
        file.seek(piece.start)
        while (offset := file.tell()) < piece.end:
            found = read_record(file, piece.path)
            if found is None:
                return
            yield found, piece.path, offset


def _labels_of_list(path: str, width: int) -> dict[int, onp.ndarray]:
    """Return the labels in a list of images, by the numbers of these; as many as `width`, or all for -1."""
    found = {number: labels for number, (labels, _) in read_image_list(path).items()}
    for number, labels in found.items():
        if len(labels) < width:
            raise FormatError(f"'{path}', image {number}: {width} labels were expected, got {len(labels)}")
    return found if width < 0 else {number: labels[:width] for number, labels in found.items()}


class ImageRecords(Streaming):
    """Base of iterators over record files of images: reading, decoding in threads, labels, random numbers.

    A subclass makes of a decoded image a row of a batch.
    """

    _dtype = onp.dtype("float32")

    def __init__(self, of: SimpleNamespace, data_name: str, label_name: str, label_shape: tuple[int, ...]) -> None:
        owner = type(self).__name__
        self._channels = of.data_shape[0]
        if self._channels not in _FLAGS:
            raise ArgumentError(f"{owner}: data_shape must have 1, 3 or 4 channels first, got {of.data_shape}")
        self._of, self._shape, self._label_shape = of, of.data_shape, label_shape
        self._records = Records(owner, of)
        self._labels = _labels_of_list(of.path_imglist, of.label_width) if of.path_imglist else None
        data = DataDesc(data_name, (of.batch_size, *self._shape), self._dtype.type)
        label = DataDesc(label_name, (of.batch_size, *label_shape))
        super().__init__(of.batch_size, data, label, of.round_batch, of.prefetch_buffer, of.preprocess_threads)
        self._draws = False
        self._seed = abs(of.seed_aug or 0)

    def _where(self) -> str:
        return str(self._records)

    def _pass(self, number: int) -> Iterator[Sample]:
        # Nothing of this refers to the iterator, which therefore ends, with its threads, when its user drops it.
        return (Sample(number, place, *found) for place, found in enumerate(self._records.read(number)))

    def _make(self, samples: list[Sample]) -> tuple[Any, Any, Any, list[Future[Any]]]:
        size = self.batch_size
        make = onp.empty if len(samples) == size else onp.zeros
        data, index = make((size, *self._shape), self._dtype), onp.zeros(size, onp.uint64)
        label = self._empty_labels(size)
        parts = [self._submit(self._fill, sample, data, label, index, row) for row, sample in enumerate(samples)]
        return data, label, index, parts

    def _empty_labels(self, size: int) -> onp.ndarray:
        return onp.zeros((size, *self._label_shape), onp.float32)

    def _fill(self, sample: Sample, data: onp.ndarray, label: onp.ndarray, index: onp.ndarray, row: int) -> None:
        """Decode a record into a row; runs in one of the threads."""
        labels, number, image = self._parsed(sample)
        rng = onp.random.default_rng([self._seed, sample.turn, sample.place]) if self._draws else None
        try:
            self._transform(image, labels, data[row], label[row : row + 1], rng)
        except (ShapeError, ValueError) as error:
            error.add_note(f"{type(self).__name__}: raised for {sample}, image {number}")
            raise
        index[row] = number

    def _parsed(self, sample: Sample) -> tuple[onp.ndarray, int, onp.ndarray]:
        """Return the labels, the number and the pixels of a record."""
        header, encoded = unpack_of(str(sample), sample.data)
        labels = self._labels_of(sample, header)
        image = decode(encoded, _FLAGS[self._channels], source=f"{sample}, image {header.id}")
        if image.shape[2] != self._channels:
            told = f"{self._channels} channels were expected, got {image.shape[2]}"
            raise ShapeError(f"{sample}, image {header.id}: {told}")
        return labels, header.id, image

    def _labels_of(self, sample: Sample, header: Any) -> onp.ndarray:
        if self._labels is None:
            return onp.atleast_1d(onp.asarray(header.label, onp.float32))
        found = self._labels.get(header.id)
        if found is None:
            raise FormatError(f"'{self._of.path_imglist}' has no labels for image {header.id}, {sample}")
        return found

    def _transform(self, image: Any, labels: onp.ndarray, data: onp.ndarray, label: onp.ndarray, rng: Any) -> None:
        """Write a decoded image and its labels to their row of a batch."""
        raise NotImplementedError(f"{type(self).__name__} must define _transform(image, labels, data, label, rng)")


class ImageRecordIter(ImageRecords):
    """Batches of the images in a record file, decoded and augmented in threads.

    A batch of data is float32, (batch, channels, height, width).

    Parameters
    ----------
    path_imgrec : str
        The record file; several with semicolons between them; or a folder of them.
    path_imgidx : str, optional
        The index of the record file. With it, all records are shuffled, not pieces of the file, and parts have equal
        numbers of records.
    path_imglist : str, optional
        A list of images, whose labels are taken instead of those in the records.
    data_shape : (int, int, int)
        Channels (1, 3 or 4), height and width.
    batch_size : int
    label_width : int, default 1
        How many labels an image has; with 1, a batch of labels has one axis.
    shuffle : bool, default False
    seed : int, default 0
        Of the order. The same in each run; each epoch has another order.
    shuffle_chunk_size, shuffle_chunk_seed : int
        Without an index: the size in megabytes of the pieces that are shuffled, 64 by default, and more for the seed.
    seed_aug : int, optional
        Of the augmentation. What becomes of an image does not depend on the number of threads.
    num_parts, part_index : int
        Read one of so many parts.
    round_batch : bool, default True
        Whether the last batch of an epoch is filled up with the first images of the next pass, after which the next
        epoch begins; else the rest is zeros. In both cases its `pad` counts these rows.
    preprocess_threads : int, default 4
    prefetch_buffer : int, default 4
        How many batches are made ahead.
    dtype : {None, 'float32', 'uint8', 'int8'}
        With the latter two it is an `ImageRecordUInt8Iter` or `ImageRecordInt8Iter`.
    resize : int
        Scale the shorter edge to this size first.
    rand_crop : bool
        Whether to crop at random rather than in the middle. Images that are smaller are enlarged before.
    random_resized_crop, min_random_area, max_random_area, min_aspect_ratio, max_aspect_ratio
        Crop a part of random area and ratio, and scale that.
    min_crop_size, max_crop_size : int
        Crop a square of random size, and scale that.
    max_rotate_angle, rotate, max_shear_ratio, min_random_scale, max_random_scale, min_img_size, max_img_size
        Warp the image; needs OpenCV, but for linear interpolation.
    pad, fill_value : int
        A border, and its colour.
    brightness, contrast, saturation, pca_noise, random_h, random_s, random_l
        Change colours at random.
    inter_method : int, default 1
        How to interpolate: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 by the sizes, 10 at random.
    mirror, rand_mirror : bool
        Exchange left and right: always, or of half the images.
    mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a, scale : float
        Pixels become (pixel - mean) * scale / std.
    mean_img : str
        A file with an image of means, which is subtracted instead. If it is missing, it is made of all images
        and saved.
    max_random_contrast, max_random_illumination : float
        Multiply with a number near 1, and add a number, at random.
    data_name, label_name : str
        The names of the two arrays, ``'data'`` and ``'softmax_label'``.
    **kwargs
        `aug_seq`, `verbose`, `ctx` and `device_id` are taken and mean nothing here.

    Raises
    ------
    FormatError
        While a record is read that is damaged, or whose image is; names the file, the offset and the image's number.
    ShapeError
        If an image has another number of labels than `label_width`.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import recordio
    >>> path = tempfile.mkdtemp() + "/some.rec"
    >>> with recordio.MXRecordIO(path, "w") as record:
    ...     for i in range(3):
    ...         record.write(recordio.pack_img((0, i, i, 0), onp.full((10, 12, 3), i, "uint8")))
    >>> images = ImageRecordIter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=2)
    >>> [(batch.data[0].shape, batch.label[0].asnumpy().tolist(), batch.pad) for batch in images]
    [((2, 3, 8, 8), [0.0, 1.0], 0), ((2, 3, 8, 8), [2.0, 0.0], 1)]
    """

    _normalizes = True

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return the class by the dtype that is asked for."""
        other = _OF_DTYPE.get(kwargs.get("dtype", ""))
        return super().__new__(cls if other is None or not cls._normalizes else other())

    def __init__(self, data_name: str = "data", label_name: str = "softmax_label", **kwargs: Any) -> None:
        owner = type(self).__name__
        of = taken(owner, {**RECORDS, **AUGMENT, **NORMALIZE}, kwargs)
        if of.dtype not in (None, self._dtype.name):
            raise ArgumentError(f"{owner}: dtype must be {self._dtype}, got {of.dtype!r}; or float32, uint8, int8")
        if of.label_width < 1:
            raise ArgumentError(f"{owner}: label_width must be at least 1, got {of.label_width}")
        super().__init__(of, data_name, label_name, () if of.label_width == 1 else (of.label_width,))
        self._augment = Augmenter(owner, of, of.data_shape)
        self._normalize = Normalizer(of, self._channels)
        self._draws = self._augment.draws or (self._normalizes and self._normalize.draws)
        unread = [name for name in NORMALIZE if name in kwargs]
        if unread and not self._normalizes:
            told = (
                f"{', '.join(unread)} ignored, as in MXNet: images of {self._dtype} are neither normalized nor mirrored"
            )
            warn(f"{owner}: {told}")
        if of.mean_img and self._normalizes:
            self._normalize.mean = self._mean_image(of.mean_img)

    def _labels_of(self, sample: Sample, header: Any) -> onp.ndarray:
        labels, width = super()._labels_of(sample, header), self._of.label_width
        if len(labels) != width:
            raise ShapeError(f"{sample}, image {header.id}, has {len(labels)} labels, but label_width is {width}")
        return labels

    def _transform(
        self, image: onp.ndarray, labels: onp.ndarray, data: onp.ndarray, label: onp.ndarray, rng: Any
    ) -> None:
        label[0] = labels if self._of.label_width > 1 else labels[0]
        self._write(self._augment(image, rng), data, rng)

    def _write(self, image: onp.ndarray, row: onp.ndarray, rng: onp.random.Generator) -> None:
        self._normalize(image, row, rng)

    def _mean_image(self, path: str) -> onp.ndarray:
        """Return the image in a file, or the mean of all images, which is then saved there."""
        from gluonx.compat import nd

        if not os.path.exists(path):
            total, count = onp.zeros(self._shape), 0
            for sample in self._pass(0):
                _, _, image = self._parsed(sample)
                rng = onp.random.default_rng([self._seed, 0, sample.place]) if self._augment.draws else None
                total += self._augment(image, rng).transpose(2, 0, 1)
                count += 1
            if not count:
                raise FormatError(f"{type(self).__name__}: there is no sample in {self._where()}")
            nd.save(path, {"mean_img": nd.array(total / count)})
        found: Any = nd.load(path)
        image = (found["mean_img"] if isinstance(found, dict) else found[0]).asnumpy()
        if image.shape != self._shape:
            raise ShapeError(f"mean_img '{path}' has shape {image.shape}, but data_shape is {self._shape}")
        return image.astype(onp.float32)


class ImageRecordIter_v1(ImageRecordIter):
    """`ImageRecordIter`, by the name of an older implementation of MXNet's."""


class ImageRecordUInt8Iter(ImageRecordIter):
    """`ImageRecordIter` without normalization and mirroring, whose batches are uint8: the pixels themselves."""

    _dtype = onp.dtype("uint8")
    _normalizes = False

    def _write(self, image: onp.ndarray, row: onp.ndarray, rng: onp.random.Generator) -> None:
        row[...] = image.transpose(2, 0, 1)


class ImageRecordUInt8Iter_v1(ImageRecordUInt8Iter):
    """`ImageRecordUInt8Iter`, by the name of an older implementation of MXNet's."""


class ImageRecordInt8Iter(ImageRecordUInt8Iter):
    """As `ImageRecordUInt8Iter`, but int8: pixels above 127 are 127."""

    _dtype = onp.dtype("int8")

    def _write(self, image: onp.ndarray, row: onp.ndarray, rng: onp.random.Generator) -> None:
        row[...] = onp.minimum(image, 127).transpose(2, 0, 1)


_OF_DTYPE = {"uint8": lambda: ImageRecordUInt8Iter, "int8": lambda: ImageRecordInt8Iter}
