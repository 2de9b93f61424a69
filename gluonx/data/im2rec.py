"""``python -m gluonx.data.im2rec``: lists of images, and record files made from them.

It takes the arguments of MXNet's tool of that name. First a list is made of a folder, then record files of the list::

    python -m gluonx.data.im2rec --list --recursive --train-ratio 0.9 data/birds photos
    python -m gluonx.data.im2rec --resize 256 --num-thread 4 data/birds photos

A line of a list is ``number TAB label TAB path``, or has several labels. From each list ``PREFIX*.lst`` come
``PREFIX*.rec`` and its index ``PREFIX*.idx``, which appear when they are complete. Records are in the order of the
list, with any number of threads. An image that cannot be read is left out: a message says which, and the last line how
many.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from gluonx.data._codec import decode, encode
from gluonx.data.recordio import IRHeader, frame, pack
from gluonx.data.vision import functional
from gluonx.files.atomic import atomic_write

_EXTENSIONS = (".jpeg", ".jpg", ".png")
_SWITCHES = ("--list", "--recursive", "--shuffle", "--pass-through", "--center-crop", "--pack-label")


class Item(NamedTuple):
    """A line of a list."""

    number: int
    labels: list[float]
    path: str


class _Unread(Exception):
    """An image cannot be put into a record."""


def _found(root: Path, recursive: bool, extensions: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield images by their path within `root`, and the number of the folder that each lies in."""
    known: dict[str, int] = {}
    for folder, inside, names in os.walk(root, followlinks=True):
        inside.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix.lower() in extensions and path.is_file():
                label = os.path.relpath(folder, root)
                yield path.relative_to(root).as_posix(), known.setdefault(label, len(known)) if recursive else 0
        if not recursive:
            break
    for label, number in known.items():
        print(label, number)


def make_lists(
    prefix: str,
    root: str,
    *,
    recursive: bool = False,
    exts: Sequence[str] = _EXTENSIONS,
    shuffle: bool = True,
    chunks: int = 1,
    train_ratio: float = 1.0,
    test_ratio: float = 0.0,
) -> list[str]:
    """Write lists of the images in a folder.

    Parameters
    ----------
    prefix : str
        What the names of the lists begin with.
    root : str
        The folder.
    recursive : bool, default False
        Whether to look into folders within it too; the images of each folder have a label of their own. It is 0 for all
        of them otherwise.
    exts : sequence of str
        Endings of files that are images.
    shuffle : bool, default True
        Whether the order is random; it is the same each time.
    chunks : int, default 1
        Into how many lists to cut the whole.
    train_ratio, test_ratio : float
        The shares of ``_train.lst`` and ``_test.lst``; what is left goes into ``_val.lst``. One list has them all if
        `train_ratio` is 1.

    Returns
    -------
    list of str
        The lists that were written.

    Raises
    ------
    FileNotFoundError
        If there is no folder `root`, or no image in it.
    """
    if not os.path.isdir(root):
        raise FileNotFoundError(f"im2rec: there is no folder '{root}'")
    if chunks < 1 or min(train_ratio, test_ratio) < 0 or train_ratio + test_ratio > 1:
        told = f"got chunks={chunks}, {train_ratio} and {test_ratio}"
        raise ValueError(f"im2rec: at least one chunk, and shares from 0 to 1 together were expected, {told}")
    images = list(_found(Path(root), recursive, [ext.lower() for ext in exts]))
    if not images:
        raise FileNotFoundError(f"im2rec: there is no image ({', '.join(exts)}) in '{root}'")
    lines = [f"{number}\t{label:f}\t{path}\n" for number, (path, label) in enumerate(images)]
    if shuffle:
        random.Random(100).shuffle(lines)
    size = -(-len(lines) // chunks)
    written = []
    for number in range(chunks):
        chunk = lines[size * number : size * (number + 1)]
        name = f"{prefix}_{number}" if chunks > 1 else prefix
        tested = int(size * test_ratio)
        trained = tested + int(size * train_ratio)
        parts = {"_test": chunk[:tested], "_train": chunk[tested:trained], "_val": chunk[trained:]}
        for kind, part in {"": chunk}.items() if train_ratio == 1 else parts.items():
            if part or kind == "_train":
                with atomic_write(f"{name}{kind}.lst", "w") as file:
                    file.writelines(part)
                written.append(f"{name}{kind}.lst")
    return written


def _items(path: str) -> Iterator[Item | str]:
    """Yield the lines of a list; of one that is none a message."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = [field.strip() for field in line.strip().split("\t")]
            if fields == [""]:
                continue
            try:
                if len(fields) < 3:
                    raise ValueError("it has fewer than three")
                yield Item(int(fields[0]), [float(label) for label in fields[1:-1]], fields[-1])
            except ValueError as error:
                yield f"'{path}', line {number}: a number, labels and a path were expected: {error}"


class _Packing(NamedTuple):
    root: str
    pass_through: bool
    resize: int
    center_crop: bool
    quality: int
    color: int
    encoding: str
    pack_label: bool

    def record(self, item: Item) -> bytes:
        """Return the record of an image."""
        label = item.labels if self.pack_label and len(item.labels) > 1 else item.labels[0]
        path = os.path.join(self.root, item.path)
        try:
            with open(path, "rb") as file:
                content = file.read()
            if not content:
                raise ValueError("the file is empty")
            data = content if self.pass_through else self._changed(content, path)
            return pack(IRHeader(0, label, item.number, 0), data)
        except (OSError, ValueError) as error:
            raise _Unread(f"'{path}' (number {item.number}) is left out: {error}") from error

    def _changed(self, content: bytes, path: str) -> bytes:
        image = decode(content, self.color, source=f"'{path}'")
        if image.dtype != "uint8":
            image = (image >> 8).astype("uint8")
        height, width = image.shape[:2]
        if self.center_crop and height != width:
            size = min(height, width)
            image = functional.crop(image, (width - size) // 2, (height - size) // 2, size, size)
            height = width = size
        if self.resize > 0:
            size = self.resize
            new = (size, height * size // width) if height > width else (width * size // height, size)
            image = functional.resize(image, *new)
        return encode(image, self.quality, self.encoding)


def make_records(
    lst: str,
    root: str,
    *,
    pass_through: bool = False,
    resize: int = 0,
    center_crop: bool = False,
    quality: int = 95,
    num_thread: int = 1,
    color: int = 1,
    encoding: str = ".jpg",
    pack_label: bool = False,
) -> tuple[int, int]:
    """Write a record file, and its index, of the images in a list.

    Parameters
    ----------
    lst : str
        The list; the other files have its name with other endings.
    root : str
        The folder that its paths are in.
    pass_through : bool, default False
        Whether files are taken as they are, and not even looked at.
    resize : int, default 0
        The length that the shorter edge gets; 0 for none.
    center_crop : bool, default False
        Whether to crop a square in the middle first.
    quality : int, default 95
        Of JPEGs, 1 to 100; of PNGs how much they are compressed, 0 to 9.
    num_thread : int, default 1
    color : {1, 0, -1}
        Colours, gray, or what the file holds.
    encoding : {'.jpg', '.png'}
    pack_label : bool, default False
        Whether all labels of an image are stored, rather than the first.

    Returns
    -------
    (int, int)
        How many records were written, and how many lines of the list were left out. A message tells of each of these.
    """
    stem = os.path.splitext(lst)[0]
    packing = _Packing(root, pass_through, resize, center_crop, quality, color, encoding, pack_label)
    written = skipped = 0
    waiting: deque[tuple[Item, Future[bytes]]] = deque()
    with ExitStack() as stack:
        records = stack.enter_context(atomic_write(stem + ".rec"))
        index = stack.enter_context(atomic_write(stem + ".idx", "w"))
        pool = stack.enter_context(ThreadPoolExecutor(max(num_thread, 1), "im2rec"))

        def write() -> bool:
            item, record = waiting.popleft()
            try:
                framed = frame(record.result())
            except _Unread as error:
                print(error, file=sys.stderr)
                return False
            index.write(f"{item.number}\t{records.tell()}\n")
            records.write(framed)
            return True

        for item in _items(lst):
            if isinstance(item, str):
                print(item, file=sys.stderr)
                skipped += 1
                continue
            waiting.append((item, pool.submit(packing.record, item)))
            if len(waiting) > 4 * max(num_thread, 1):
                done = write()
                written, skipped = written + done, skipped + (not done)
        while waiting:
            done = write()
            written, skipped = written + done, skipped + (not done)
    return written, skipped


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gluonx.data.im2rec",
        description="Make a list of images, or record files from such lists.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("prefix", help="what the names of the lists and record files begin with")
    parser.add_argument("root", help="the folder of the images")
    lists = parser.add_argument_group("lists")
    lists.add_argument("--list", action="store_true", help="make lists, rather than record files from them")
    lists.add_argument("--exts", nargs="+", default=list(_EXTENSIONS), help="endings of images")
    lists.add_argument("--chunks", type=int, default=1, help="how many lists to make")
    lists.add_argument("--train-ratio", type=float, default=1.0, help="the share of images to train on")
    lists.add_argument("--test-ratio", type=float, default=0.0, help="the share of images to test on")
    lists.add_argument("--recursive", action="store_true", help="look into all folders; each has a label of its own")
    lists.add_argument("--shuffle", action="store_true", default=True, help="put the images in a random order")
    lists.add_argument("--no-shuffle", dest="shuffle", action="store_false", help="keep their order")
    records = parser.add_argument_group("record files")
    records.add_argument("--pass-through", action="store_true", help="take files as they are")
    records.add_argument("--resize", type=int, default=0, help="the length of the shorter edge; 0 keeps it")
    records.add_argument("--center-crop", action="store_true", help="crop a square in the middle first")
    records.add_argument("--quality", type=int, default=95, help="of JPEGs 1 to 100, of PNGs 0 to 9")
    records.add_argument("--num-thread", type=int, default=1, help="how many threads decode and encode")
    records.add_argument("--color", type=int, default=1, choices=[-1, 0, 1], help="1 colour, 0 gray, -1 as it is")
    records.add_argument("--encoding", default=".jpg", choices=[".jpg", ".png"], help="the format in the records")
    records.add_argument("--pack-label", action="store_true", help="store all labels of an image, not only the first")
    return parser


def _as_switches(argv: Sequence[str]) -> list[str]:
    """Turn ``--list=1`` of older versions of the tool into ``--list``, and leave out ``--list=0``."""
    found = []
    for word in argv:
        name, _, value = word.partition("=")
        if name not in _SWITCHES or not value:
            found.append(word)
        elif value.lower() in ("1", "true"):
            found.append(name)
        elif name == "--shuffle":
            found.append("--no-shuffle")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit status, 1 also where no image of a list could be read."""
    given = vars(_parser().parse_args(_as_switches(sys.argv[1:] if argv is None else argv)))
    prefix, root = os.path.abspath(given.pop("prefix")), os.path.abspath(given.pop("root"))
    of_lists = {
        name: given.pop(name) for name in ("recursive", "exts", "shuffle", "chunks", "train_ratio", "test_ratio")
    }
    try:
        if given.pop("list"):
            for name in make_lists(prefix, root, **of_lists):
                print(f"wrote {name}")
            return 0
        folder, begin = os.path.split(prefix)
        lists = sorted(n for n in os.listdir(folder) if n.startswith(begin) and n.endswith(".lst"))
        if not lists:
            raise FileNotFoundError(f"im2rec: there is no list '{prefix}*.lst'; make one with --list")
        failed = False
        for name in lists:
            path = os.path.join(folder, name)
            written, skipped = make_records(path, root, **given)
            print(f"wrote {os.path.splitext(path)[0]}.rec: {written} records, {skipped} left out")
            failed = failed or (skipped > 0 and not written)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
