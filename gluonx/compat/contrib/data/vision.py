"""``gluon.contrib.data.vision``: loaders of images, of images with boxes, and the transforms that they make up.

They read a record file or a list of images through a `gluonx.data.DataLoader`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx.block.block import Block, HybridBlock
from gluonx.compat.contrib.data.boxes import (
    BboxLabelTransform,
    ImageBboxCrop,
    ImageBboxRandomCropWithConstraints,
    ImageBboxRandomExpand,
    ImageBboxRandomFlipLeftRight,
    ImageBboxResize,
)
from gluonx.compat.io.image_iter import made_or_given
from gluonx.data import DataLoader, batchify
from gluonx.data.vision import ImageListDataset, ImageRecordDataset, transforms
from gluonx.errors import ArgumentError
from gluonx.image.augmenters import MEAN, STD
from gluonx.nn.containers import HybridSequential, Sequential

if TYPE_CHECKING:
    from gluonx.data.dataset import Dataset


__all__ = [
    "ImageBboxCrop",
    "ImageBboxDataLoader",
    "ImageBboxRandomCropWithConstraints",
    "ImageBboxRandomFlipLeftRight",
    "ImageBboxResize",
    "ImageDataLoader",
    "create_image_augment",
]


_OF_LOADER = set(inspect.signature(DataLoader).parameters) - {"dataset", "auto_reload"}
_OF_DATA = {"path_imgrec", "path_imglist", "path_root", "part_index", "num_parts", "imglist", "dtype"}


def create_image_augment(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
    dtype: str = "float32",
) -> HybridSequential:
    """Return a block of transforms for classification, from an image to a tensor.

    Parameters
    ----------
    data_shape : (int, int, int)
        Channels, height and width of what comes out.
    resize, rand_crop, rand_resize, rand_mirror, brightness, contrast, saturation, hue, pca_noise, rand_gray
        As of `gluonx.image.CreateAugmenter`.
    mean, std : sequence of float, or True
        What is subtracted, and divided by, after values were brought to 0 to 1; True stands for ImageNet's.
    inter_method : int
        0 to 4, or 10 for one that is drawn now.
    dtype : str
        Of the tensor.

    Raises
    ------
    ArgumentError
        If `rand_resize` is set without `rand_crop`, or `mean` or `std` is no sequence.

    Examples
    --------
    >>> augment = create_image_augment((3, 24, 24), rand_mirror=True)
    >>> augment[0](onp.zeros((30, 40, 3), "uint8")).shape
    (24, 24, 3)
    """
    interp = _drawn(inter_method)
    size = (data_shape[2], data_shape[1])
    block = HybridSequential()
    if resize > 0:
        block.add(transforms.Resize(resize, interpolation=interp))
    if rand_resize:
        if not rand_crop:
            raise ArgumentError("create_image_augment: rand_resize needs rand_crop")
        block.add(transforms.RandomResizedCrop(size, interpolation=interp))
    else:
        block.add((transforms.RandomCrop if rand_crop else transforms.CenterCrop)(size, interpolation=interp))
    if rand_mirror:
        block.add(transforms.RandomFlipLeftRight(0.5))
    block.add(transforms.Cast())
    _add_colours(block, brightness, contrast, saturation, hue, pca_noise, rand_gray)
    _add_tensor(block, mean, std, dtype)
    return block


def create_bbox_augment(
    data_shape: Sequence[int],
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    max_aspect_ratio: float = 2,
    area_range: Sequence[float] = (0.3, 3.0),
    max_attempts: int = 50,
    pad_val: Any = (127, 127, 127),
    dtype: str = "float32",
) -> Sequential:
    """Return a block of transforms for detection, from image and boxes to tensor and boxes."""
    block = Sequential()
    if rand_crop > 0:
        block.add(
            ImageBboxRandomCropWithConstraints(
                p=rand_crop,
                min_scale=area_range[0],
                max_scale=1.0,
                max_aspect_ratio=max_aspect_ratio,
                max_trial=max_attempts,
            )
        )
    if rand_mirror:
        block.add(ImageBboxRandomFlipLeftRight(0.5))
    if rand_pad > 0:
        block.add(ImageBboxRandomExpand(p=rand_pad, max_ratio=area_range[1], fill=pad_val))
    block.add(ImageBboxResize(data_shape[2], data_shape[1], interp=_drawn(inter_method)))
    _add_colours(block, brightness, contrast, saturation, hue, pca_noise, rand_gray)
    _add_tensor(block, mean, std, dtype)
    return block


def _drawn(interp: int) -> int:
    return int(onp.random.randint(0, 5)) if interp == 10 else interp


def _add_colours(
    block: Any, brightness: float, contrast: float, saturation: float, hue: float, noise: float, gray: float
) -> None:
    if brightness or contrast or saturation or hue:
        block.add(transforms.RandomColorJitter(brightness, contrast, saturation, hue))
    if noise > 0:
        block.add(transforms.RandomLighting(noise))
    if gray > 0:
        block.add(transforms.RandomGray(gray))


def _add_tensor(block: Any, mean: Any, std: Any, dtype: str) -> None:
    block.add(transforms.ToTensor())
    if mean is not None or std is not None:
        # MXNet takes ImageNet's numbers for values up to 255 here, after ToTensor has brought them to 0 to 1.
        shift = [part / 255 for part in MEAN] if mean is True else _sequence("mean", mean, 0.0)
        scale = [part / 255 for part in STD] if std is True else _sequence("std", std, 1.0)
        block.add(transforms.Normalize(shift, scale))
    block.add(transforms.Cast(dtype))


def _sequence(what: str, value: Any, default: float) -> Any:
    if value is None:
        return default
    if not isinstance(value, (tuple, list)):
        raise ArgumentError(f"{what} must be True or a tuple or list of numbers, got {value!r}")
    return value


class ImageDataLoader:
    """A loader of images and labels: a record file or a list of images, transforms, and a `DataLoader`.

    Parameters
    ----------
    batch_size : int
    data_shape : (int, int, int)
        Channels, height and width.
    path_imgrec : str, optional
        A record file, with its index beside it.
    path_imglist : str, optional
        A list of images, a file in `path_root`.
    path_root : str
        The folder to which files are relative.
    part_index, num_parts : int
        Which of how many parts is read.
    aug_list : Block or list of Block, optional
        The transforms; made by `create_image_augment` of the remaining keywords unless given.
    imglist : list, optional
        A list of ``[label, ..., file]`` in place of `path_imglist`.
    dtype : {'float32', 'int32', 'int64', 'float64'}
    shuffle, sampler, last_batch, batch_sampler, batchify_fn, num_workers, pin_memory, pin_device_id, prefetch, thread_pool, timeout, try_nopython
        As of `DataLoader`.

    Raises
    ------
    ArgumentError
        If there is no source of images, or `aug_list` holds no blocks.
    """  # noqa: E501

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str = ".",
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Block | None = None,
        imglist: list[Any] | None = None,
        dtype: str = "float32",
        shuffle: bool = False,
        sampler: Any = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Any = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        try_nopython: bool | None = None,
        **kwargs: Any,
    ) -> None:
        given = dict(locals())
        of_loader = {name: given[name] for name in _OF_LOADER}
        dataset = _dataset(type(self).__name__, path_imgrec, path_imglist, path_root, imglist, dtype)
        if num_parts > 1:
            dataset = dataset.shard(num_parts, part_index)
        augmenter = _block(made_or_given(type(self).__name__, create_image_augment, data_shape, kwargs, aug_list))
        augmenter.hybridize()
        self._iter = DataLoader(self._transformed(dataset, augmenter), **of_loader)

    def _transformed(self, dataset: Any, augmenter: Any) -> Any:
        return dataset.transform_first(augmenter)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._iter)

    def __len__(self) -> int:
        return len(self._iter)


class ImageBboxDataLoader(ImageDataLoader):
    """A loader of images and boxes: (batch, objects, 5 or more), filled up with -1; see `ImageDataLoader`.

    An object is left, top, right, bottom in pixels, its class, and what else the record holds.

    Parameters
    ----------
    batch_size, data_shape, path_imgrec, path_imglist, path_root, part_index, num_parts, aug_list, imglist
        As of `ImageDataLoader`; transforms take and give ``(image, boxes)``.
    coord_normalized : bool
        Whether the coordinates in the file are parts of width and height.
    dtype, shuffle, sampler, last_batch, batch_sampler, batchify_fn, num_workers, pin_memory, pin_device_id, prefetch, thread_pool, timeout, try_nopython
        As of `ImageDataLoader`.
    """  # noqa: E501

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str = ".",
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Any = None,
        imglist: list[Any] | None = None,
        coord_normalized: bool = True,
        dtype: str = "float32",
        shuffle: bool = False,
        sampler: Any = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Any = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        try_nopython: bool | None = None,
        **kwargs: Any,
    ) -> None:
        given = dict(locals())
        of_base = {name: given[name] for name in (*_OF_LOADER, *_OF_DATA)}
        self._coord_normalized = coord_normalized
        of_base["aug_list"] = made_or_given(type(self).__name__, create_bbox_augment, data_shape, kwargs, aug_list)
        if batchify_fn is None:
            of_base["batchify_fn"] = batchify.Group(batchify.Stack(), batchify.Pad(val=-1))
        super().__init__(data_shape=data_shape, **of_base)

    def _transformed(self, dataset: Any, augmenter: Any) -> Any:
        chain = Sequential()
        chain.add(BboxLabelTransform(self._coord_normalized), augmenter)
        return dataset.transform(chain)


def _dataset(
    name: str, path_imgrec: str | None, path_imglist: str | None, path_root: str, imglist: Any, dtype: str
) -> Dataset:
    if dtype not in ("int32", "float32", "int64", "float64"):
        raise ArgumentError(f"{name}: {dtype} label not supported")
    if path_imgrec:
        return ImageRecordDataset(path_imgrec, flag=1)
    if path_imglist or isinstance(imglist, list):
        return ImageListDataset(path_root, path_imglist or imglist, flag=1)
    raise ArgumentError(f"{name}: one of path_imgrec, path_imglist and imglist is needed")


def _block(aug_list: Block) -> Block:
    if isinstance(aug_list, Block):
        return aug_list
    if not isinstance(aug_list, list) or not all(isinstance(one, Block) for one in aug_list):
        raise ArgumentError(f"aug_list must be a list of Blocks or Block, got {aug_list!r}")
    block = HybridSequential() if all(isinstance(one, HybridBlock) for one in aug_list) else Sequential()
    block.add(*aug_list)
    return block
