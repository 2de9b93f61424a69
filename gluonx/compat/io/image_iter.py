"""``mx.image.ImageIter`` and ``ImageDetIter``: batches of images out of a record file, or of files in a list.

Images are read, decoded and augmented on the host, one after the other in the thread that asks for the batch; where
that takes too long, `gluonx.data.DataLoader` has workers. A subclass may override what MXNet's allows, `next_sample`,
`read_image`, `imdecode`, `check_valid_image`, `augmentation_transform` and `postprocess_data`; such a method is given
ndarrays, as is an augmenter that a user has derived.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx.common.frames import warn
from gluonx.compat.io.batches import DataBatch, DataDesc, DataIter
from gluonx.compat.io.native import need_part
from gluonx.data import recordio
from gluonx.data.vision import functional
from gluonx.data.vision.datasets import image_list_entry, read_image_list
from gluonx.errors import ArgumentError, FormatError, GluonxError, ShapeError
from gluonx.image.augmenters import MEAN, STD, CreateAugmenter, augmented, per_channel
from gluonx.image.detection import CreateDetAugmenter, augmented_with_label
from gluonx.image.functions import to_device, to_host

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


_LABEL_TYPES = ("int32", "float32", "int64", "float64")
_ENDS = ("pad", "discard", "roll_over")


def made_or_given(owner: str, make: Callable[..., Any], data_shape: Sequence[int], kwargs: Any, given: Any) -> Any:
    """Return the augmenters that keywords make, or those that are given; a warning says which keywords do nothing."""
    if given is None:
        return make(data_shape, **kwargs)
    if kwargs:
        warn(f"{owner}: {', '.join(kwargs)} ignored, as in MXNet: aug_list is given")
    return given


class ImageIter(DataIter):
    """Batches of images and labels.

    Parameters
    ----------
    batch_size : int
    data_shape : (int, int, int)
        Channels, height and width: (3, 224, 224).
    label_width : int
        How many labels an image has.
    path_imgrec : str, optional
        A record file; with `path_imgidx`, its index, it can be shuffled and cut in parts.
    path_imglist : str, optional
        A file with a line ``number TAB label TAB ... TAB file`` for each image. Beside `path_imgrec` it has the labels,
        by the keys of `path_imgidx` or, without that (where MXNet does not look at it), by the numbers in the records.
    path_root : str, optional
        The folder to which files of the list are relative.
    shuffle : bool
        Whether each epoch has a new order, which Python's ``random`` draws.
    part_index, num_parts : int
        Which of how many parts of equal size is read.
    aug_list : list of Augmenter, optional
        Made by `CreateAugmenter` of the remaining keywords unless given.
    imglist : list, optional
        A list of ``[label, ..., file]`` in place of `path_imglist`.
    data_name, label_name : str
    dtype : {'float32', 'int32', 'int64', 'float64'}
        Of labels in the list.
    last_batch_handle : {'pad', 'discard', 'roll_over'}
        What becomes of images that do not fill the last batch: filled up with the first ones, dropped, or kept for the
        first batch of the next epoch.

    Raises
    ------
    ArgumentError
        If there is no source of images, or one that cannot be shuffled is to be.
    ShapeError
        If `data_shape` is none of images in colour, or an image has other labels than `label_width` says.
    FormatError
        If a record, a line of the list or an image is damaged: names the file and the entry.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gluonx import image, np, recordio
    >>> packed = recordio.pack_img((0, 0, 0, 0), np.zeros((8, 6, 3), dtype="uint8"), img_fmt=".png")
    >>> _, picture = recordio.unpack(packed)
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (root / "some.png").write_bytes(picture)
    >>> batches = image.ImageIter(2, (3, 4, 4), imglist=[[0, "some.png"], [1, "some.png"]], path_root=str(root))
    >>> batch = batches.next()
    >>> batch.data[0].shape, batch.label[0].tolist()
    ((2, 3, 4, 4), [0.0, 1.0])
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: list[Any] | None = None,
        imglist: list[Any] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(batch_size)
        name = type(self).__name__
        if not (path_imgrec or path_imglist or isinstance(imglist, list)):
            raise ArgumentError(f"{name}: one of path_imgrec, path_imglist and imglist is needed")
        if dtype not in _LABEL_TYPES:
            raise ArgumentError(f"{name}: {dtype} label not supported; dtype is one of {', '.join(_LABEL_TYPES)}")
        if last_batch_handle not in _ENDS:
            raise ArgumentError(f"{name}: last_batch_handle is one of {', '.join(_ENDS)}, got {last_batch_handle!r}")
        self.check_data_shape(data_shape)
        self.path_root = path_root
        self.data_shape, self.label_width = tuple(data_shape), label_width
        self.provide_data = [DataDesc(data_name, (batch_size, *data_shape))]
        self.provide_label = [DataDesc(label_name, (batch_size, label_width) if label_width > 1 else (batch_size,))]
        self.imgrec: Any = None
        self.imglist: dict[Any, tuple[onp.ndarray, str]] | None = None
        if path_imglist:
            self.imglist = dict(read_image_list(path_imglist, dtype))
        elif isinstance(imglist, list):
            entries = (image_list_entry(entry, place, dtype) for place, entry in enumerate(imglist))
            self.imglist = {str(place): entry for place, entry in enumerate(entries, 1)}
        self.seq = self._order(path_imgrec, path_imgidx, shuffle, part_index, num_parts)
        self.shuffle, self.last_batch_handle = shuffle, last_batch_handle
        self.num_image = None if self.seq is None else len(self.seq)
        self.auglist = made_or_given(name, CreateAugmenter, data_shape, kwargs, aug_list)
        self.cur = 0
        self._allow_read = True
        self._entry = ""  # where the present sample comes from, for messages
        self._left_over: tuple[list[onp.ndarray], list[onp.ndarray]] | None = None
        self.reset()

    def _order(
        self, path_imgrec: str | None, path_imgidx: str | None, shuffle: bool, part_index: int, num_parts: int
    ) -> list[Any] | None:
        """Open the source of images; the keys of its samples, or None if they are read one after the other."""
        if path_imgrec and path_imgidx:
            self.imgrec = recordio.MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
            seq: list[Any] | None = list(self.imgrec.keys)
        elif path_imgrec:
            self.imgrec = recordio.MXRecordIO(path_imgrec, "r")
            seq = None
        else:
            seq = list(self.imglist or ())
        if seq is None and (shuffle or num_parts > 1):
            raise ArgumentError(
                f"{type(self).__name__}: shuffle and num_parts need path_imgidx, the index of the records"
            )
        if seq is None or num_parts <= 1:
            return seq
        need_part(type(self).__name__, num_parts, part_index)
        size = len(seq) // num_parts
        return seq[part_index * size : (part_index + 1) * size]

    # -- epochs -------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Begin the next epoch; what 'roll_over' has kept is its first batch's."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.last_batch_handle != "roll_over" or self._left_over is None:
            self._rewind()

    def hard_reset(self) -> None:
        """Begin anew, and drop what 'roll_over' has kept."""
        self._left_over = None
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        self._rewind()

    def _rewind(self) -> None:
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._allow_read = True

    def next(self) -> DataBatch:
        """Return the next batch; StopIteration after the last."""
        kept, self._left_over = self._left_over, None
        images, labels = kept if kept is not None else ([], [])
        self._fill(images, labels)
        if not images:
            raise StopIteration
        pad = self.batch_size - len(images)
        if pad and self.last_batch_handle == "discard":
            raise StopIteration
        if pad and self.last_batch_handle == "roll_over" and kept is None:
            self._left_over = images, labels
            raise StopIteration
        while len(images) < self.batch_size:  # with the first ones, several times if there are too few
            self._fill(images, labels)
        if pad and self.last_batch_handle == "pad":
            self._allow_read = False
        return self._batch(images, labels, pad)

    def _fill(self, images: list[onp.ndarray], labels: list[onp.ndarray]) -> None:
        """Read until the batch is full or the epoch over."""
        try:
            while len(images) < self.batch_size:
                self._append(images, labels)
        except StopIteration:
            if not images:
                raise

    def _append(self, images: list[onp.ndarray], labels: list[onp.ndarray]) -> None:
        """Read one sample, and keep it unless its image is not valid."""
        label, coded = self.next_sample()
        image = self._decoded(coded)
        try:
            self.check_valid_image(image)
        except RuntimeError as error:
            return logging.debug("Invalid image, skipping:  %s", error)
        label = onp.asarray(to_host(label)).reshape(-1)
        if label.size != self.label_width:
            raise ShapeError(f"{self._entry} has {label.size} labels, but label_width is {self.label_width}")
        images.append(self._tensor(self._changed(image)))
        labels.append(label)
        return None

    def _batch(self, images: list[onp.ndarray], labels: list[onp.ndarray], pad: int) -> DataBatch:
        data = to_device(onp.stack(images).astype(onp.float32, copy=False))
        label = onp.stack(labels).astype(onp.float32).reshape(self.provide_label[0].shape)
        return DataBatch([data], [to_device(label)], pad=pad)

    # -- samples ------------------------------------------------------------------------------------------------------

    def next_sample(self) -> tuple[Any, Any]:
        """Return label and encoded image of the next sample; StopIteration after the last."""
        if not self._allow_read:
            raise StopIteration
        if self.seq is None:
            return self._next_record()
        if self.cur >= len(self.seq):
            if self.last_batch_handle != "discard":
                self.cur = 0
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            label, name = self._listed(key)
            self._entry = f"image {name!r} (entry {key} of the list)"
            return label, self.read_image(name)
        self._entry = f"record {key} of {self.imgrec.uri}"
        header, image = self._unpacked(self.imgrec.read_idx(key))
        return (header.label if self.imglist is None else self._listed(key)[0]), image

    def _unpacked(self, record: bytes) -> tuple[recordio.IRHeader, bytes]:
        return recordio.unpack_of(self._entry, record)

    def _next_record(self) -> tuple[Any, Any]:
        record = self.imgrec.read()
        if record is None:
            if self.last_batch_handle != "discard":
                self.imgrec.reset()
                self.cur = 0
            raise StopIteration
        self.cur += 1
        self._entry = f"record number {self.cur} of {self.imgrec.uri}"
        header, image = self._unpacked(record)
        return (header.label if self.imglist is None else self._listed(header.id)[0]), image

    def _listed(self, key: Any) -> tuple[onp.ndarray, str]:
        if self.imglist is None or key not in self.imglist:
            raise FormatError(f"record {key} of {self.imgrec.uri} is not in the list of images")
        return self.imglist[key]

    def read_image(self, fname: str) -> bytes:
        """Return the bytes of an image file, relative to `path_root`."""
        with open(os.path.join(self.path_root or "", fname), "rb") as file:
            return file.read()

    def imdecode(self, s: Any) -> ndarray:
        """Return the image in bytes, as an ndarray; a FormatError names the sample if it is damaged."""
        return to_device(self._host_imdecode(s))

    def _host_imdecode(self, s: Any) -> onp.ndarray:
        try:
            return functional.decode(to_host(s))
        except GluonxError as error:
            raise FormatError(f"Broken image: {self._entry}: {error}") from error

    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        """Raise a ShapeError unless it is (3, height, width)."""
        if len(data_shape) != 3:
            raise ShapeError(f"data_shape should have length 3, with dimensions CxHxW, got {data_shape}")
        if data_shape[0] != 3:
            raise ShapeError(f"This iterator expects inputs to have 3 channels, got data_shape={data_shape}")

    def check_valid_image(self, data: Any) -> None:
        """Raise a RuntimeError for an image that is to be left out."""
        if len(data[0].shape) == 0:
            raise RuntimeError("Data shape is wrong")

    def augmentation_transform(self, data: Any) -> ndarray:
        """Return an image as the augmenters change it."""
        return to_device(self._host_augmentation(data).copy())

    def _host_augmentation(self, data: ndarray | onp.ndarray) -> onp.ndarray:
        for augmenter in self.auglist:
            data = augmented(augmenter, data)
        return to_host(data)

    def postprocess_data(self, datum: Any) -> ndarray:
        """Return an image with the channels first."""
        return datum.transpose((2, 0, 1))

    def _overrides(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(ImageIter, method)

    def _decoded(self, coded: Any) -> Any:
        return self.imdecode(coded) if self._overrides("imdecode") else self._host_imdecode(coded)

    def _changed(self, image: Any) -> Any:
        if self._overrides("augmentation_transform"):
            return self.augmentation_transform(_array(image))
        return self._host_augmentation(image)

    def _tensor(self, image: Any) -> onp.ndarray:
        if self._overrides("postprocess_data"):
            tensor = to_host(self.postprocess_data(_array(image)))
        else:
            tensor = to_host(image).transpose(2, 0, 1)
        if tensor.shape != self.data_shape:
            raise ShapeError(
                f"{self._entry} has shape {tensor.shape} behind the augmenters, but data_shape is {self.data_shape}"
            )
        return tensor


class ImageDetIter(ImageIter):
    """Batches of images and boxes: labels are (batch, objects, numbers of an object), filled up with -1.

    The label of an image in the file is flat: the length of its head, the length of an object, the rest of the head,
    and the objects: class, left, top, right, bottom as parts of width and height, and what else there is.

    Parameters
    ----------
    batch_size, data_shape, path_imgrec, path_imglist, path_root, path_imgidx, shuffle, part_index, num_parts, imglist
        As of `ImageIter`.
    aug_list : list of DetAugmenter, optional
        Made by `CreateDetAugmenter` of the remaining keywords unless given.
    data_name, label_name, last_batch_handle
        As of `ImageIter`.

    Attributes
    ----------
    skipped : int
        How many samples were left out because no valid box was left in them; MXNet leaves them out silently.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gluonx import image, np, recordio
    >>> packed = recordio.pack_img((0, 0, 0, 0), np.zeros((8, 6, 3), dtype="uint8"), img_fmt=".png")
    >>> _, picture = recordio.unpack(packed)
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (root / "some.png").write_bytes(picture)
    >>> rows = [[2, 5, 7, 0.25, 0.25, 0.5, 0.5, "some.png"]]  # lengths of head and object; class and box
    >>> image.ImageDetIter(1, (3, 4, 4), imglist=rows, path_root=str(root)).next().label[0].tolist()
    [[[7.0, 0.25, 0.25, 0.5, 0.5]]]
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: list[Any] | None = None,
        imglist: list[Any] | None = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "kwargs", "__class__")}
        self.skipped = 0
        super().__init__(**{**given, "aug_list": []})
        self.auglist = made_or_given(type(self).__name__, CreateDetAugmenter, data_shape, kwargs, aug_list)
        self.label_shape = self._estimate_label_shape()
        self.provide_label = [DataDesc(label_name, (batch_size, *self.label_shape))]

    def _estimate_label_shape(self) -> tuple[int, int]:
        """Return the most objects of an image, and the numbers of an object; reads every label."""
        count, width = 0, 5
        for label in self._labels():
            objects = self._parse_label(label)
            count, width = max(count, len(objects)), objects.shape[1]
        return count, width

    def _labels(self) -> Iterator[Any]:
        if self.imgrec is None:
            for key in self.seq or ():
                self._entry = f"entry {key} of the list"
                yield self._listed(key)[0]
            return
        self.reset()
        try:
            while True:
                yield self.next_sample()[0]
        except StopIteration:
            self.reset()

    def _parse_label(self, label: onp.ndarray) -> onp.ndarray:
        """Return the valid objects of a label."""
        flat = onp.asarray(to_host(label), onp.float32).ravel()
        if flat.size < 7:
            raise ShapeError(f"Label shape is invalid: {self._entry} has {flat.size} numbers, but 7 are the fewest")
        head, width = int(flat[0]), int(flat[1])
        if head < 2 or width < 5 or (flat.size - head) % width:
            raise ShapeError(
                f"{self._entry}: Label shape {flat.shape} inconsistent with annotation width {width}, head {head}"
            )
        objects = flat[head:].reshape(-1, width)
        objects = objects[(objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])]
        if not len(objects):
            raise _NoObjectError(f"Encounter sample with no valid label: {self._entry}")
        return objects

    def _append(self, images: list[onp.ndarray], labels: list[onp.ndarray]) -> None:
        label, coded = self.next_sample()
        image = self._decoded(coded)
        try:
            self.check_valid_image([image])
            image, label = self._changed_with_label(image, self._parse_label(label))
            self._check_valid_label(label)
        except _NoObjectError as error:
            self.skipped += 1
            return logging.debug("Invalid image, skipping:  %s", error)
        if len(label) > self.label_shape[0] or label.shape[1] != self.label_shape[1]:
            raise ShapeError(f"{self._entry} has objects of shape {label.shape}, but label_shape is {self.label_shape}")
        images.append(self._tensor(image))
        filled = onp.full(self.label_shape, -1, onp.float32)
        filled[: len(label)] = label
        labels.append(filled)
        return None

    def _changed_with_label(self, image: Any, label: onp.ndarray) -> tuple[Any, onp.ndarray]:
        if type(self).augmentation_transform is not ImageDetIter.augmentation_transform:
            image, label = self.augmentation_transform(_array(image), label)
            return image, to_host(label)
        for augmenter in self.auglist:
            image, label = augmented_with_label(augmenter, image, label)
        return image, to_host(label)

    def augmentation_transform(self, data: Any, label: Any = None) -> Any:
        """Return an image and its label as the augmenters change them."""
        for augmenter in self.auglist:
            data, label = augmented_with_label(augmenter, data, label)
        return _array(data), label

    def _check_valid_label(self, label: onp.ndarray) -> None:
        if label.ndim != 2 or label.shape[1] < 5:
            raise ShapeError(f"{self._entry}: Label with shape (1+, 5+) required, {label.shape} received.")
        if not ((label[:, 0] >= 0) & (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])).any():
            raise _NoObjectError(f"Invalid label occurs: {self._entry}")

    def reshape(self, data_shape: Sequence[int] | None = None, label_shape: Sequence[int] | None = None) -> None:
        """Change `data_shape` (the augmenters stay as they are), or make room for more objects."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.provide_data = [DataDesc(self.provide_data[0].name, (self.batch_size, *data_shape))]
            self.data_shape = tuple(data_shape)
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.provide_label = [DataDesc(self.provide_label[0].name, (self.batch_size, *label_shape))]
            self.label_shape = (label_shape[0], label_shape[1])

    def check_label_shape(self, label_shape: Sequence[int]) -> None:
        """Raise a ShapeError unless there is room for as many objects as before, of the same numbers."""
        if len(label_shape) != 2:
            raise ShapeError(f"label_shape should have length 2, got {label_shape}")
        if label_shape[0] < self.label_shape[0]:
            raise ShapeError(
                f"Attempts to reduce label count from {self.label_shape[0]} to {label_shape[0]}, not allowed."
            )
        if label_shape[1] != self.label_shape[1]:
            raise ShapeError(f"label_shape object width inconsistent: {self.label_shape[1]} vs {label_shape[1]}.")

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Give this iterator and another one room for the same number of objects; returns the other one."""
        if not isinstance(it, ImageDetIter):
            raise ArgumentError(f"Synchronize with invalid iterator: {type(it).__name__}")
        if self.label_shape[1] != it.label_shape[1]:
            raise ShapeError(f"object width mismatch: {self.label_shape[1]} and {it.label_shape[1]}")
        count = max(self.label_shape[0], it.label_shape[0])
        if verbose and self.label_shape[0] != it.label_shape[0]:
            logging.info("Resized label_shape to (%d, %d).", count, self.label_shape[1])
        for one in (self, it):
            if one.label_shape[0] < count:
                one.reshape(None, (count, one.label_shape[1]))
        return it

    def draw_next(
        self,
        color: Any = None,
        thickness: int = 2,
        mean: Any = None,
        std: Any = None,
        clip: bool = True,
        waitKey: int | None = None,
        window_name: str = "draw_next",
        id2labels: dict[int, str] | None = None,
    ) -> Iterator[onp.ndarray]:
        """Yield the augmented images of the epoch with their boxes drawn in, as NumPy arrays of uint8 in BGR.

        Parameters
        ----------
        color : (int, int, int), optional
            Of the boxes, in RGB; drawn at random unless given.
        thickness : int
            Of the lines.
        mean, std : array or True, optional
            What the augmenters have subtracted and divided by; True stands for ImageNet's.
        clip : bool
            Keep values between 0 and 255.
        waitKey : int, optional
            Show each image in a window for so many milliseconds.
        window_name : str
        id2labels : dict, optional
            Names of classes, to be written into the boxes.
        """
        cv2 = functional.opencv()
        if cv2 is None:
            warn("Unable to import cv2, skip drawing: pip install opencv-python-headless")
            return
        shift, scale = (
            onp.array(known) if given is True else per_channel("draw_next", what, given)
            for what, given, known in (("mean", mean, MEAN), ("std", std, STD))
        )
        while True:
            try:
                label, coded = self.next_sample()
                image, label = self._changed_with_label(self._decoded(coded), self._parse_label(label))
            except StopIteration:
                return
            except _NoObjectError as error:
                logging.debug("Invalid image, skipping:  %s", error)
                continue
            picture = to_host(image) * (1 if scale is None else scale) + (0 if shift is None else shift)
            picture = onp.ascontiguousarray(picture[..., ::-1])
            picture = (onp.clip(picture, 0, 255) if clip else picture).astype(onp.uint8)
            for box in label:
                _draw(cv2, picture, box, color, thickness, (id2labels or {}).get(int(box[0])))
            if waitKey is not None:
                cv2.imshow(window_name, picture)
                cv2.waitKey(waitKey)
            yield picture


class _NoObjectError(GluonxError):
    """A sample has no valid box: it is left out."""


def _array(image: ndarray) -> ndarray:
    return to_device(image.copy()) if isinstance(image, onp.ndarray) else image


def _draw(cv2: Any, picture: onp.ndarray, box: onp.ndarray, color: Any, thickness: int, name: str | None) -> None:
    if box[1] < 0:
        return
    height, width = picture.shape[:2]
    left, top, right, bottom = (int(part * size) for part, size in zip(box[1:5], (width, height) * 2, strict=True))
    shade = tuple(color[::-1]) if color else tuple(onp.random.rand(3) * 255)
    cv2.rectangle(picture, (left, top), (right, bottom), shade, thickness)
    if name is not None:
        font, scale = cv2.FONT_HERSHEY_SIMPLEX, 0.5
        below = top + cv2.getTextSize(name, font, scale, 2)[0][1]
        cv2.putText(picture, name, (left + 5, below + 5), font, scale, (255, 255, 255), 2)
