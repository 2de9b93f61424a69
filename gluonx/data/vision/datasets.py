"""Data sets of images: those that one fetches, and those that lie in folders, lists and record files.

A sample is an image, (height, width, channels) of uint8 in the order RGB, and its label. Reading one outside of a
DataLoader gives the image as an ndarray, as in MXNet; inside, images stay NumPy arrays until a batch is complete.

MNIST, FashionMNIST, CIFAR10 and CIFAR100 are read from the files in `root` if they are there, and else fetched from
MXNet's server or the one in ``MXNET_GLUON_REPO``. `root` is a folder below ``~/.mxnet/datasets``, or below
``$MXNET_HOME/datasets``, unless given. All files are checked by their SHA-1: one that is there and has another one is
an error, and is not replaced.
"""

from __future__ import annotations

import contextlib
import gzip
import math
import os
import shutil
import struct
import tarfile
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.common.frames import warn
from gluonx.data._host import OnHost, as_host, call_on_host, device_batch, device_sample, gather
from gluonx.data.dataset import Dataset, RecordFileDataset
from gluonx.data.recordio import numbered_lines, unpack_of
from gluonx.data.vision.functional import decode
from gluonx.errors import ArgumentError, FormatError, GluonxError
from gluonx.files.atomic import PathLike, atomic_write
from gluonx.np.handle import ndarray
from gluonx.utils import check_sha1, download, repo_file_url

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.dtype import DTypeLike


_MOST_DEFLATED = 1032  # bytes that one can stand for

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageListDataset",
    "ImageRecordDataset",
]

_File = tuple[str, str]  # its name and its SHA-1


class _ImageDataset(Dataset[list[ndarray]]):
    """Samples of an image and its label: subclasses read one on the host, the image marked as an ndarray to be."""

    _transform: Callable[..., Any] | None = None
    _root = ""

    def _told(self) -> str:
        return repr(self._root) if self._root else super()._told()

    def __getitem__(self, idx: int) -> Any:
        return device_sample(self._host_item(idx))

    def _host_item(self, idx: int) -> Any:
        sample = self._read(idx)
        return sample if self._transform is None else call_on_host(self._transform, *sample)

    def _read(self, idx: int) -> tuple[Any, Any]:
        raise NotImplementedError(f"{type(self).__name__} must define _read")


# -- fetched ----------------------------------------------------------------------------------------------------------


class _DownloadedDataset(_ImageDataset):
    """Images and labels in memory, of files that are fetched.

    Programs for MXNet derive from it: theirs define ``_get_data``, which sets ``_data`` and ``_label``.
    """

    _namespace: str

    def __init__(self, root: PathLike, transform: Callable[..., Any] | None) -> None:
        self._transform = transform
        self._root = _folder(root)
        os.makedirs(self._root, exist_ok=True)
        self._get_data()

    def _get_data(self) -> None:
        self._images, self._label = self._load()

    @property
    def _data(self) -> ndarray:
        return device_batch(OnHost(self._images.copy()))

    @_data.setter
    def _data(self, images: ArrayLike) -> None:
        self._images = np.asarray(as_host(images))

    def __len__(self) -> int:
        return len(self._label)

    def _load(self) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError(f"{type(self).__name__} must define _load")

    def _read(self, idx: int) -> tuple[Any, Any]:
        return OnHost(self._images[idx].copy()), self._label[idx]  # a transform may write into it

    def _gather(self, indices: Sequence[int]) -> Any:
        """Return the host batch of these samples, or None when they have to be read one by one."""
        if self._transform is not None or type(self).__getitem__ is not _ImageDataset.__getitem__:
            return None
        batches = [gather(self._images, indices), gather(self._label, indices)]
        return None if None in batches else batches

    def _file(self, name: str, sha1: str) -> str:
        """Return the path of a file in the folder, fetched if it is not there."""
        path = os.path.join(self._root, name)
        if os.path.exists(path):
            return _checked(path, sha1)
        try:
            return download(repo_file_url(f"gluon/dataset/{self._namespace}", name), path=path, sha1_hash=sha1)
        except GluonxError as error:
            raise type(error)(f"{error}. Put {name} into {self._root}, or a server into MXNET_GLUON_REPO.") from error


class _TwoParts(_DownloadedDataset):
    """A set of files for training and files for tests."""

    _train_files: tuple[_File, ...]
    _test_files: tuple[_File, ...]

    def __init__(self, root: PathLike, train: bool, transform: Callable[..., Any] | None) -> None:
        self._train = train
        super().__init__(root, transform)

    @property
    def _files(self) -> tuple[_File, ...]:
        return self._train_files if self._train else self._test_files


class MNIST(_TwoParts):
    """Handwritten digits (LeCun and others, 1998): 60,000 images for training and 10,000 for tests.

    Each sample is an image of shape (28, 28, 1) of uint8 and its label, an int32 from 0 to 9.

    Parameters
    ----------
    root : str or os.PathLike
        The folder with the four files of the set, or where they are put.
    train : bool
        Which part.
    transform : callable, optional
        ``transform(image, label)`` gives the sample; new programs call `Dataset.transform`.

    Raises
    ------
    GluonxError
        If a file is not there and cannot be fetched.
    FormatError
        If a file is there and damaged.

    Examples
    --------
    >>> from gluonx import data
    >>> digits = data.vision.MNIST(train=False)  # fetched at the first time  # doctest: +SKIP
    >>> image, label = digits[0]  # doctest: +SKIP
    >>> image.shape, label  # doctest: +SKIP
    ((28, 28, 1), 7)
    """

    _namespace = "mnist"
    _train_files = (
        ("train-images-idx3-ubyte.gz", "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d"),
        ("train-labels-idx1-ubyte.gz", "2a80914081dc54586dbdf242f9805a6b8d2a15fc"),
    )
    _test_files = (
        ("t10k-images-idx3-ubyte.gz", "c3a25af1f52dad7f726cce8cacb138654b760d48"),
        ("t10k-labels-idx1-ubyte.gz", "763e7fa3757d93b0cdec073cef058b2004252c17"),
    )

    def __init__(
        self,
        root: PathLike = "~/.mxnet/datasets/mnist",
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, train, transform)

    def _load(self) -> tuple[np.ndarray, np.ndarray]:
        files = self._files
        images, labels = (read_idx(self._file(*file), axes) for file, axes in zip(files, (3, 1), strict=True))
        if len(images) != len(labels):
            raise FormatError(
                f"{files[0][0]} and {files[1][0]} in {self._root} do not fit: they hold arrays of shapes "
                f"{images.shape} and {labels.shape}"
            )
        return images[..., None], labels.astype(np.int32)


class FashionMNIST(MNIST):
    """Articles of clothing (Xiao and others, 2017), in the form of `MNIST`.

    Examples
    --------
    >>> from gluonx import data
    >>> len(data.vision.FashionMNIST(train=True))  # fetched at the first time  # doctest: +SKIP
    60000
    """

    _namespace = "fashion-mnist"
    _train_files = (
        ("train-images-idx3-ubyte.gz", "0cf37b0d40ed5169c6b3aba31069a9770ac9043d"),
        ("train-labels-idx1-ubyte.gz", "236021d52f1e40852b06a4c3008d8de8aef1e40b"),
    )
    _test_files = (
        ("t10k-images-idx3-ubyte.gz", "626ed6a7c06dd17c0eec72fa3be1740f146a2863"),
        ("t10k-labels-idx1-ubyte.gz", "17f9ab60e7257a1620f4ad76bbbaf857c3920701"),
    )

    def __init__(
        self,
        root: PathLike = "~/.mxnet/datasets/fashion-mnist",
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, train, transform)


class CIFAR10(_TwoParts):
    """Small photographs of ten classes (Krizhevsky, 2009): 50,000 for training and 10,000 for tests.

    Each sample is an image of shape (32, 32, 3) of uint8 and its label, an int32 from 0 to 9.

    Parameters
    ----------
    root : str or os.PathLike
        The folder with the ``.bin`` files of the set, or the archive that they come in; or where they are put.
    train : bool
        Which part.
    transform : callable, optional
        ``transform(image, label)`` gives the sample; new programs call `Dataset.transform`.

    Raises
    ------
    GluonxError
        If a file is not there and cannot be fetched.
    FormatError
        If a file is there and damaged.

    Examples
    --------
    >>> from gluonx import data
    >>> image, label = data.vision.CIFAR10(train=False)[0]  # fetched at the first time  # doctest: +SKIP
    >>> image.shape  # doctest: +SKIP
    (32, 32, 3)
    """

    _namespace = "cifar10"
    _archive: _File = ("cifar-10-binary.tar.gz", "fab780a1e191a7eda0f345501ccd62d20f7ed891")
    _train_files = (
        ("data_batch_1.bin", "aadd24acce27caa71bf4b10992e9e7b2d74c2540"),
        ("data_batch_2.bin", "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795"),
        ("data_batch_3.bin", "1dd00a74ab1d17a6e7d73e185b69dbf31242f295"),
        ("data_batch_4.bin", "aab85764eb3584312d3c7f65fd2fd016e36a258e"),
        ("data_batch_5.bin", "26e2849e66a845b7f1e4614ae70f4889ae604628"),
    )
    _test_files = (("test_batch.bin", "67eb016db431130d61cd03c7ad570b013799c88c"),)
    _labels, _label_at = 1, 0  # how many bytes of labels a row begins with, and which one is meant

    def __init__(
        self,
        root: PathLike = "~/.mxnet/datasets/cifar10",
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, train, transform)

    def _load(self) -> tuple[np.ndarray, np.ndarray]:
        files = self._files
        if not all(os.path.exists(os.path.join(self._root, name)) for name, _ in files):
            self._unpack([name for name, _ in files])
        parts = [self._rows(self._file(*file)) for file in files]
        rows = np.concatenate(parts)
        images = rows[:, self._labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(images), rows[:, self._label_at].astype(np.int32)

    def _rows(self, path: str) -> np.ndarray:
        data, width = np.fromfile(path, np.uint8), self._labels + 3072
        if not data.size or data.size % width:
            raise FormatError(f"{path} is damaged: {data.size} bytes are not a number of rows of {width} bytes")
        return data.reshape(-1, width)

    def _unpack(self, names: list[str]) -> None:
        """Take these files, and nothing else, out of the archive."""
        path = self._file(*self._archive)
        with tarfile.open(path) as archive:
            found = {os.path.basename(member.name): member for member in archive.getmembers() if member.isfile()}
            for name in names:
                source = archive.extractfile(found[name]) if name in found else None
                if source is None:
                    raise FormatError(f"{path} holds no file {name}")
                with source, atomic_write(os.path.join(self._root, name)) as file:
                    shutil.copyfileobj(source, file)


class CIFAR100(CIFAR10):
    """Small photographs of a hundred classes in twenty groups, in the form of `CIFAR10`.

    Parameters
    ----------
    root : str or os.PathLike
        As of `CIFAR10`.
    fine_label : bool
        Whether labels are the hundred classes, and not the twenty groups.
    train : bool
        Which part.
    transform : callable, optional
        As of `CIFAR10`.

    Examples
    --------
    >>> from gluonx import data
    >>> len(data.vision.CIFAR100(fine_label=True))  # fetched at the first time  # doctest: +SKIP
    50000
    """

    _namespace = "cifar100"
    _archive = ("cifar-100-binary.tar.gz", "a0bb982c76b83111308126cc779a992fa506b90b")
    _train_files = (("train.bin", "e207cd2e05b73b1393c74c7f5e7bea451d63e08e"),)
    _test_files = (("test.bin", "8fb6623e830365ff53cf14adec797474f5478006"),)
    _labels = 2

    def __init__(
        self,
        root: PathLike = "~/.mxnet/datasets/cifar100",
        fine_label: bool = False,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._label_at = int(fine_label)
        super().__init__(root, train, transform)


# -- of the user ------------------------------------------------------------------------------------------------------


class ImageRecordDataset(_ImageDataset, RecordFileDataset):
    """The images of a record file, which ``im2rec`` or ``recordio.pack_img`` has made.

    Parameters
    ----------
    filename : str or os.PathLike
        The record file. Its index lies beside it, with the ending ``.idx``.
    flag : {1, 0, -1}
        Images in colour, in gray, or as they are.
    transform : callable, optional
        ``transform(image, label)`` gives the sample; new programs call `Dataset.transform`.

    Raises
    ------
    FileNotFoundError
        If one of the two files is missing.
    FormatError
        On access, if the record or its image is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import data, recordio
    >>> folder = tempfile.mkdtemp()
    >>> with recordio.MXIndexedRecordIO(folder + "/some.idx", folder + "/some.rec", "w") as record:
    ...     record.write_idx(0, recordio.pack_img((0, 3.0, 0, 0), np.zeros((8, 6, 3), np.uint8), img_fmt=".png"))
    >>> image, label = data.vision.ImageRecordDataset(folder + "/some.rec")[0]
    >>> image.shape, label
    ((8, 6, 3), 3.0)
    """

    def __init__(self, filename: PathLike, flag: int = 1, transform: Callable[..., Any] | None = None) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def _read(self, idx: int) -> tuple[Any, Any]:
        source = f"record {self._record.keys[idx]} of {self.filename}"
        header, data = unpack_of(source, RecordFileDataset.__getitem__(self, idx))
        return OnHost(decode(data, self._flag, source=source)), header.label


class ImageFolderDataset(_ImageDataset):
    """Images in folders, of which each is a class.

    Parameters
    ----------
    root : str or os.PathLike
        The folder of the folders: ``root/car/0001.jpg``. In the order of their names they have the labels 0, 1, ...
    flag : {1, 0}
        Images in colour, or in gray.
    transform : callable, optional
        ``transform(image, label)`` gives the sample; new programs call `Dataset.transform`.

    Attributes
    ----------
    synsets : list of str
        The names of the classes.
    items : list of (str, int)
        File and label of each sample.

    Raises
    ------
    FileNotFoundError
        If `root` is no folder.
    FormatError
        On access, if a file is no image, or a damaged one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gluonx import data, recordio
    >>> _, picture = recordio.unpack(recordio.pack_img((0, 0, 0, 0), np.zeros((8, 6, 3), np.uint8), img_fmt=".png"))
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("car", "dog"):
    ...     (root / name).mkdir()
    ...     _ = (root / name / "1.png").write_bytes(picture)
    >>> found = data.vision.ImageFolderDataset(root)
    >>> found.synsets, len(found), found[1][0].shape, found[1][1]
    (['car', 'dog'], 2, (8, 6, 3), 1)
    """

    def __init__(self, root: PathLike, flag: int = 1, transform: Callable[..., Any] | None = None) -> None:
        self._root = os.path.expanduser(os.fspath(root))
        self._flag = flag
        self._transform = transform
        self._exts = [".jpg", ".jpeg", ".png"]
        self._list_images(self._root)

    def _list_images(self, root: str) -> None:
        if not os.path.isdir(root):
            raise FileNotFoundError(f"ImageFolderDataset: there is no folder {root!r}")
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for folder in sorted(os.listdir(root)):
            path = os.path.join(root, folder)
            if not os.path.isdir(path):
                warn(f"Ignoring {path}, which is not a directory.")
                continue
            label = len(self.synsets)
            self.synsets.append(folder)
            for name in sorted(os.listdir(path)):
                if os.path.splitext(name)[1].lower() in self._exts:
                    self.items.append((os.path.join(path, name), label))
                else:
                    warn(f"Ignoring {os.path.join(path, name)}. Only support {', '.join(self._exts)}")

    def __len__(self) -> int:
        return len(self.items)

    def _read(self, idx: int) -> tuple[Any, Any]:
        path, label = self.items[idx]
        return OnHost(_image(path, self._flag)), label


class ImageListDataset(_ImageDataset):
    """Images that a list names, with a label or several each.

    Parameters
    ----------
    root : str or os.PathLike
        The folder to which files are relative.
    imglist : str or list
        The name of a file in `root` with a line ``number TAB label TAB ... TAB file`` for each image, as ``im2rec``
        has it; or a list of ``[label, ..., file]``, in which a label may be a list too.
    flag : {1, 0}
        Images in colour, or in gray.

    Raises
    ------
    ArgumentError
        If `imglist` is something else, or an entry of it is.
    FormatError
        If a line of the file is none; on access, if a file is no image, or a damaged one.

    Examples
    --------
    >>> dataset = ImageListDataset("folder", [[3, "a.jpg"], [[1, 2], "b.jpg"]])
    >>> len(dataset)
    2
    """

    def __init__(self, root: PathLike = ".", imglist: Any = None, flag: int = 1) -> None:
        self._root = os.path.expanduser(os.fspath(root))
        self._flag = flag
        if isinstance(imglist, (str, os.PathLike)):
            entries = list(read_image_list(os.path.join(self._root, imglist)).values())
        elif isinstance(imglist, list):
            entries = [image_list_entry(entry, place) for place, entry in enumerate(imglist)]
        else:
            raise ArgumentError(f"imglist must be filename or list of valid entries, given {type(imglist)}")
        self._entries = [(label, os.path.join(self._root, name)) for label, name in entries]

    def __len__(self) -> int:
        return len(self._entries)

    def _read(self, idx: int) -> tuple[Any, Any]:
        label, path = self._entries[idx]
        return OnHost(_image(path, self._flag)), OnHost(label.copy())


def read_image_list(path: PathLike, dtype: DTypeLike = np.float32) -> dict[int, tuple[np.ndarray, str]]:
    """Read a list of images: labels and file by number, in the order of the lines.

    Raises
    ------
    FormatError
        If a line is not ``number TAB label TAB ... TAB file``, or has the number of another one.
    """
    entries: dict[int, tuple[np.ndarray, str]] = {}
    for place, line in numbered_lines(path):
        fields = line.strip().split("\t")
        if fields == [""]:
            continue
        try:
            number, label = int(fields[0]), np.array([float(field) for field in fields[1:-1]], dtype)
            if not len(label):
                raise ValueError("no label")
        except ValueError as error:
            raise FormatError(
                f"'{os.fspath(path)}', line {place}: 'number TAB label TAB ... TAB file' was expected, got "
                f"{line.strip()!r}"
            ) from error
        if number in entries:
            raise FormatError(f"'{os.fspath(path)}', line {place}: there is an image with the number {number} above")
        entries[number] = label, fields[-1]
    return entries


def image_list_entry(entry: Sequence[Any], place: int, dtype: DTypeLike = np.float32) -> tuple[np.ndarray, str]:
    """Return labels and file of an entry ``[label, ..., file]`` at a place of a list of images.

    Raises
    ------
    ArgumentError
        If it is no such entry.
    """
    try:
        *labels, name = entry
        label = np.array(as_host(labels[0]) if len(labels) == 1 else labels, dtype).reshape(-1)
        if not isinstance(name, (str, os.PathLike)) or not len(label):
            raise ValueError("no label, or no file")
    except (TypeError, ValueError, IndexError) as error:
        raise ArgumentError(f"imglist[{place}]: [label, ..., file] was expected, got {entry!r}") from error
    return label, os.fspath(name)


def _image(path: str, flag: int) -> np.ndarray:
    with open(path, "rb") as file:
        return decode(file.read(), flag, source=path)


def _folder(root: PathLike) -> str:
    """Return the folder meant; a default one lies below ``$MXNET_HOME`` if that is set."""
    root, home = os.fspath(root), os.environ.get("MXNET_HOME")
    if home and root.startswith("~/.mxnet/"):
        root = os.path.join(home, root.removeprefix("~/.mxnet/"))
    return os.path.expanduser(root)


def _checked(path: str, sha1: str) -> str:
    if not check_sha1(path, sha1):
        raise FormatError(
            f"{path} is damaged, or another file: its SHA-1 is not {sha1}. Remove it, and it will be fetched again"
        )
    return path


def read_idx(path: str, axes: int) -> np.ndarray:
    """Read a file of bytes in the IDX format of MNIST, compressed by gzip or not.

    Its head is two zeros, the type (8 for bytes), the number of axes, and their lengths.

    Raises
    ------
    FormatError
        If it is no such file, has another number of axes, or is cut off.
    """
    start = 4 + 4 * axes
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        most = file.seek(0, os.SEEK_END) * (_MOST_DEFLATED if packed else 1)
        file.seek(0)
        try:
            with gzip.open(file) if packed else contextlib.nullcontext(file) as source:
                head = source.read(start)
                if len(head) < start:
                    raise FormatError(f"'{path}' has {len(head)} bytes, fewer than the head of an IDX file, {start}")
                shape = struct.unpack_from(f">{axes}I", head, 4)
                count = math.prod(shape)
                data = source.read(min(count, most))
                longer = bool(source.read(1))
                while packed and source.read(1 << 20):  # its checksum comes at the end
                    pass
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(f"'{path}' is damaged: {error}") from error
    # MXNet does not look at the first four bytes, and programs wrote others; where all else fits, neither do we.
    if head[:4] != bytes((0, 0, 8, axes)) and (longer or len(data) < count):
        told = f"it begins with {head[:4].hex()}, an IDX file of bytes with {axes} axes with 0000080{axes}"
        raise FormatError(f"'{path}' is no such file: {told}")
    if len(data) < count:
        has = start + len(data)
        raise FormatError(f"'{path}' should have {start + count} bytes, as an IDX file of {shape}, but has {has}")
    return np.frombuffer(data, np.uint8).reshape(shape)
