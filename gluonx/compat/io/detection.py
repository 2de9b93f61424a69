"""`ImageDetRecordIter`: batches of images with objects in boxes, and the augmentation that moves both."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from gluonx.compat.io import parameters as par
from gluonx.compat.io.augment import NORMALIZE, Normalizer, opencv, resized, saturated
from gluonx.compat.io.native import taken
from gluonx.compat.io.records import RECORDS, ImageRecords
from gluonx.data.recordio import unpack_of
from gluonx.data.vision import functional
from gluonx.errors import ArgumentError, FormatError

_RANGES = {"scales": (0.0, 1.0), "aspect_ratios": (1.0, 1.0), "overlaps": (0.0, 1.0), "sample_coverages": (0.0, 1.0)}
_RANGES["object_coverages"] = (0.0, 1.0)
_CHANCES = ("crop", "pad", "mirror")
_NO_MORE = {"mirror", "rand_mirror", "max_random_contrast", "max_random_illumination"}
DETECTION: par.Table = {
    **{name: row for name, row in RECORDS.items() if name not in ("path_imgidx", "seed_aug")},
    **{name: row for name, row in NORMALIZE.items() if name not in _NO_MORE},
    **{f"std_{channel}": (par.number, 0.0) for channel in "rgba"},
    "aug_seq": (par.text, "det_aug_default"),
    "label_width": (par.integer, -1),
    "label_pad_width": (par.integer, 0),
    "label_pad_value": (par.number, -1.0),
    "resize": (par.integer, -1),
    **{f"rand_{what}_prob": (par.number, 0.0) for what in _CHANCES},
    **{f"min_crop_{name}": (par.floats, (low,)) for name, (low, _) in _RANGES.items()},
    **{f"max_crop_{name}": (par.floats, (high,)) for name, (_, high) in _RANGES.items()},
    "num_crop_sampler": (par.integer, 1),
    "crop_emit_mode": (par.choice("center", "overlap"), "center"),
    "emit_overlap_thresh": (par.number, 0.3),
    "max_crop_trials": (par.shape(), (25,)),
    "max_pad_scale": (par.number, 1.0),
    "max_random_hue": (par.integer, 0),
    "max_random_saturation": (par.integer, 0),
    "max_random_illumination": (par.integer, 0),
    "max_random_contrast": (par.number, 0.0),
    **{f"random_{what}_prob": (par.number, 0.0) for what in ("hue", "saturation", "illumination", "contrast")},
    "fill_value": (par.integer, 127),
    "inter_method": (par.integer, 1),
    "resize_mode": (par.choice("fit", "force", "shrink"), "force"),
}


class _Objects(NamedTuple):
    """The labels of an image: some numbers first, then a row an object, ``[id, left, top, right, bottom, ...]``.

    Places are parts of the image's width and height, from 0 to 1.
    """

    head: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, labels: np.ndarray) -> _Objects:
        """Read ``[length of the head, length of a row, ...]``."""
        first, width = (int(labels[0]), int(labels[1])) if len(labels) >= 2 else (0, 0)
        if first < 2 or width < 5 or len(labels) < first + width or (len(labels) - first) % width:
            told = "labels of detection are [length of the head, length of an object, ..., then the objects, each"
            raise FormatError(
                f"{told} [id, left, top, right, bottom, ...]], got {labels[:8].tolist()} ({len(labels)} in all)"
            )
        return cls(labels[:first], labels[first:].reshape(-1, width).copy())

    @property
    def boxes(self) -> np.ndarray:
        """Left, top, right and bottom of each object."""
        return self.rows[:, 1:5]

    def placed(self, x: float, y: float, width: float, height: float) -> _Objects:
        """Return the same objects in a part of the image, or in a larger one."""
        rows = self.rows.copy()
        rows[:, 1:5] = np.clip((self.boxes - [x, y, x, y]) / [width, height, width, height], 0, 1)
        return _Objects(self.head, rows)

    def numbers(self) -> np.ndarray:
        """Return the labels again."""
        return np.concatenate([self.head, self.rows.ravel()])


class _Window(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    def covered(self, boxes: np.ndarray) -> np.ndarray:
        """Return the area of this window that each box covers."""
        low = np.maximum(boxes[:, :2], [self.x, self.y])
        high = np.minimum(boxes[:, 2:], [self.x + self.width, self.y + self.height])
        return np.prod(np.maximum(high - low, 0), axis=1)


class _Augmenter:
    """MXNet's default augmenter for detection.

    In this order: scale the shorter edge, change colours, mirror, pad, crop, and scale to the size of the data.
    """

    def __init__(self, owner: str, of: SimpleNamespace) -> None:
        self.of, self.owner = of, owner
        _, self.height, self.width = of.data_shape
        if of.aug_seq not in ("det_aug_default", ""):
            raise ArgumentError(f"{owner}: aug_seq={of.aug_seq!r} is unknown; there is only 'det_aug_default'")
        self.samplers = (
            [self._sampler(number) for number in range(of.num_crop_sampler)] if of.rand_crop_prob > 0 else []
        )
        turns = ("hue", of.max_random_hue), ("illumination", of.max_random_illumination)
        turns = (*turns, ("saturation", of.max_random_saturation))
        self.turns = [(getattr(of, f"random_{name}_prob"), most) for name, most in turns]
        if any(chance > 0 for chance, _ in self.turns):
            opencv(f"{owner}: max_random_hue, max_random_saturation and max_random_illumination")

    def _sampler(self, number: int) -> dict[str, tuple[float, float]]:
        """Return the ranges of one sampler of windows, by name; a single number holds for all samplers."""
        found = {}
        for name in _RANGES:
            low, high = (self._one_of(f"{side}_crop_{name}", number) for side in ("min", "max"))
            if low > high:
                raise ArgumentError(f"{self.owner}: min_crop_{name}={low} is above max_crop_{name}={high}")
            found[name] = (low, high)
        if found["aspect_ratios"][0] <= 0 or found["scales"][1] <= 0 or found["scales"][1] > 1:
            raise ArgumentError(f"{self.owner}: scales of windows lie in (0, 1], ratios are positive, got {found}")
        found["trials"] = (self._one_of("max_crop_trials", number),) * 2
        return found

    def _one_of(self, name: str, number: int) -> float:
        values = getattr(self.of, name)
        if len(values) not in (1, self.of.num_crop_sampler):
            told = f"got {len(values)} for num_crop_sampler={self.of.num_crop_sampler}"
            raise ArgumentError(f"{self.owner}: {name} needs one number, or one for each sampler, {told}")
        return values[number if len(values) > 1 else 0]

    def __call__(self, image: np.ndarray, objects: _Objects, rng: np.random.Generator) -> tuple[np.ndarray, _Objects]:
        """Augment an image (height, width, channels) of uint8, and its objects."""
        of = self.of
        if of.resize > 0:
            ratio = of.resize / min(image.shape[:2])
            image = self._sized(image, ratio * image.shape[1], ratio * image.shape[0], rng)
        if image.shape[2] == 3:
            image = self._coloured(image, rng)
        if of.rand_mirror_prob > 0 and rng.uniform() < of.rand_mirror_prob:
            image = image[:, ::-1]
            rows = objects.rows.copy()
            rows[:, [1, 3]] = 1 - rows[:, [3, 1]]
            objects = _Objects(objects.head, rows)
        if of.max_pad_scale > 1 and rng.uniform() < of.rand_pad_prob:
            image, objects = self._padded(image, objects, rng)
        if self.samplers and rng.uniform() < of.rand_crop_prob:
            image, objects = self._cropped(image, objects, rng)
        if of.resize_mode == "force":
            return self._sized(image, self.width, self.height, rng), objects
        ratio = min(self.width / image.shape[1], self.height / image.shape[0])
        if of.resize_mode == "fit" or ratio < 1:
            image = self._sized(image, ratio * image.shape[1], ratio * image.shape[0], rng)
        return image, objects

    def _sized(self, image: np.ndarray, width: float, height: float, rng: np.random.Generator) -> np.ndarray:
        size = max(int(width + 1e-4), 1), max(int(height + 1e-4), 1)
        return resized(np.ascontiguousarray(image), *size, self.of.inter_method, rng)

    def _coloured(self, image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        of = self.of
        add = [int(rng.uniform(-most, most)) if rng.uniform() < chance else 0 for chance, most in self.turns]
        if any(add):
            cv2 = opencv(self.owner)
            hls = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2HLS).astype(np.int32) + np.array(add)
            image = cv2.cvtColor(np.clip(hls, 0, [180, 255, 255]).astype(np.uint8), cv2.COLOR_HLS2RGB)
        if of.max_random_contrast > 0 and rng.uniform() < of.random_contrast_prob:
            image = saturated(image * np.float32(1 + rng.uniform(-1, 1) * of.max_random_contrast))
        return image

    def _padded(self, image: np.ndarray, objects: _Objects, rng: np.random.Generator) -> tuple[np.ndarray, _Objects]:
        height, width = image.shape[:2]
        scale = rng.uniform(1, self.of.max_pad_scale)
        left, top = (int(rng.uniform(0, (scale - 1) * size)) for size in (width, height))
        right, bottom = int((scale - 1) * width) - left, int((scale - 1) * height) - top
        image = functional.pad(image, top, max(bottom, 0), left, max(right, 0), value=self.of.fill_value)
        whole = image.shape[1] / width, image.shape[0] / height
        return image, objects.placed(-left / width, -top / height, *whole)

    def _cropped(self, image: np.ndarray, objects: _Objects, rng: np.random.Generator) -> tuple[np.ndarray, _Objects]:
        """Return the first window of the samplers, in a random order, that fits; the whole image if none does."""
        height, width = image.shape[:2]
        for place in rng.permutation(len(self.samplers)):
            sampler = self.samplers[place]
            for _ in range(int(sampler["trials"][0])):
                window = self._window(sampler, width / height, rng)
                kept = self._inside(sampler, window, objects)
                if kept is None:
                    continue
                x, y = int(window.x * width), int(window.y * height)
                wide, tall = max(int(window.width * width), 1), max(int(window.height * height), 1)
                exact = x / width, y / height, wide / width, tall / height
                return image[y : y + tall, x : x + wide], kept.placed(*exact)
        return image, objects

    def _window(
        self, sampler: dict[str, tuple[float, float]], ratio_of_image: float, rng: np.random.Generator
    ) -> _Window:
        scale = max(rng.uniform(*sampler["scales"]), 1e-3)
        low, high = (ratio / ratio_of_image for ratio in sampler["aspect_ratios"])
        ratio = rng.uniform(max(low, scale**2), max(min(high, 1 / scale**2), max(low, scale**2)))
        width, height = min(scale * math.sqrt(ratio), 1.0), min(scale / math.sqrt(ratio), 1.0)
        return _Window(rng.uniform(0, 1 - width), rng.uniform(0, 1 - height), width, height)

    def _inside(self, sampler: dict[str, tuple[float, float]], window: _Window, objects: _Objects) -> _Objects | None:
        """Return the objects that a window keeps; None if it keeps none, or no object is covered as it should be."""
        boxes = objects.boxes
        covered = window.covered(boxes)
        areas = np.maximum(np.prod(boxes[:, 2:] - boxes[:, :2], axis=1), 1e-12)
        area = window.width * window.height
        measures = {
            "overlaps": covered / (areas + area - covered),
            "sample_coverages": covered / area,
            "object_coverages": covered / areas,
        }
        for name, values in measures.items():
            low, high = sampler[name]
            if (low, high) != (0, 1) and not ((values >= low) & (values <= high)).any():
                return None
        if self.of.crop_emit_mode == "center":
            centers = (boxes[:, :2] + boxes[:, 2:]) / 2 - [window.x, window.y]
            kept = ((centers >= 0) & (centers <= [window.width, window.height])).all(1)
        else:
            kept = measures["object_coverages"] > self.of.emit_overlap_thresh
        return _Objects(objects.head, objects.rows[kept]) if kept.any() else None


class ImageDetRecordIter(ImageRecords):
    """Batches of the images in a record file of detection, with their objects.

    A batch of data is float32, (batch, channels, height, width). A row of labels is ``[channels, height, width, count,
    labels..., padding...]``: the size that the image has within the row of data; how many numbers its labels are; these
    labels, ``[length of the head, length of an object, ..., objects]``, where an object is ``[id, left, top, right,
    bottom, ...]`` in parts of the image; and `label_pad_value` up to the end.

    Parameters
    ----------
    path_imgrec, path_imglist, data_shape, batch_size, shuffle, seed, num_parts, part_index, round_batch
        As those of `ImageRecordIter`, as are `preprocess_threads`, `prefetch_buffer`, `shuffle_chunk_size`,
        `shuffle_chunk_seed`, `data_name` and `label_name`.
    label_width : int, default -1
        How many labels an image has; -1 for any number.
    label_pad_width : int, default 0
        How many labels a row has room for; at least as many as the longest ones.
    label_pad_value : float, default -1
    resize : int
        Scale the shorter edge to this size first.
    resize_mode : {'force', 'shrink', 'fit'}
        How the image gets the size of `data_shape` last: by changing its ratio; by shrinking it only where it is
        larger, or scaling it in any case, with its ratio kept. The rest is black then.
    rand_mirror_prob : float
        How often left and right are exchanged.
    rand_pad_prob, max_pad_scale, fill_value
        How often the image gets a border, up to which size, in which colour.
    rand_crop_prob, num_crop_sampler, max_crop_trials
        How often a part of the image is taken, by how many samplers, of which each tries how often.
    min_crop_scales, max_crop_scales, min_crop_aspect_ratios, max_crop_aspect_ratios : float or tuple of float
        The sizes and ratios of such parts, for each sampler.
    min_crop_overlaps, min_crop_sample_coverages, min_crop_object_coverages (and ``max_...``) : float or tuple of float
        How much of it and of at least one object must coincide: over the area of both, of the part, of the object.
    crop_emit_mode : {'center', 'overlap'}
        Which objects are kept: those whose center lies in the part, or of which `emit_overlap_thresh` does.
    max_random_hue, max_random_saturation, max_random_illumination, max_random_contrast
        How far colours change, and ``random_hue_prob`` and so on, how often.
    inter_method, mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a, scale
        As those of `ImageRecordIter`; a std of 0 is none.
    **kwargs
        `aug_seq`, `verbose`, `ctx` and `device_id` are taken and mean nothing here.

    Raises
    ------
    FormatError
        If labels are none of detection; while a record is read, if it is damaged, or its image is.
    ArgumentError
        If labels are longer than `label_pad_width`.
    """

    def __init__(self, data_name: str = "data", label_name: str = "softmax_label", **kwargs: Any) -> None:
        owner = type(self).__name__
        of = taken(owner, DETECTION, kwargs)
        if of.dtype not in (None, "float32"):
            raise ArgumentError(f"{owner}: dtype must be float32, got {of.dtype!r}")
        if of.mean_img:
            raise ArgumentError(f"{owner}: mean_img is not supported here; use mean_r, mean_g and mean_b")
        of.path_imgidx, of.seed_aug, of.path_imgrec = "", None, of.path_imgrec or "./data/imgrec.rec"
        super().__init__(of, data_name, label_name, (4,))
        longest = self._longest()
        if 0 < of.label_pad_width < longest:
            told = f"smaller than the longest labels, {longest} numbers"
            raise ArgumentError(f"{owner}: label_pad_width={of.label_pad_width} is {told}")
        self._label_shape = (4 + max(longest, of.label_pad_width),)
        self.provide_label = [type(self.provide_label[0])(label_name, (of.batch_size, *self._label_shape))]
        self._augment = _Augmenter(owner, of)
        plain = SimpleNamespace(**vars(of))
        plain.mirror = plain.rand_mirror = False
        plain.max_random_contrast = plain.max_random_illumination = 0.0  # are the augmenter's here
        self._normalize = Normalizer(plain, self._channels)
        self._draws = True

    def _longest(self) -> int:
        """Return the length of the longest labels; all records are read for it, as in MXNet."""
        longest = 0
        for sample in self._pass(0):
            labels = self._labels_of(sample, unpack_of(str(sample), sample.data)[0])
            if self._of.label_width not in (-1, len(labels)):
                told = f"{len(labels)} labels, but label_width is {self._of.label_width}"
                raise ArgumentError(f"{type(self).__name__}: {sample} has {told}")
            longest = max(longest, len(labels))
        return longest

    def _empty_labels(self, size: int) -> np.ndarray:
        return np.full((size, *self._label_shape), self._of.label_pad_value, np.float32)

    def _transform(
        self, image: np.ndarray, labels: np.ndarray, data: np.ndarray, label: np.ndarray, rng: np.random.Generator
    ) -> None:
        image, objects = self._augment(image, _Objects.of(labels), rng)
        height, width = image.shape[:2]
        if image.shape != (canvas := (*self._shape[1:], self._channels)):
            image, part = np.zeros(canvas, np.uint8), image
            image[:height, :width] = part
        self._normalize(image, data, rng)
        numbers = objects.numbers()
        label[0, :4] = self._channels, height, width, len(numbers)
        label[0, 4 : 4 + len(numbers)] = numbers
