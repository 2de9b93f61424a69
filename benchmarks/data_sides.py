"""The sides of `benchmarks.data`, each in a process of its own: ``python -m benchmarks.data_sides FRAMEWORK``.

It runs on the older Python that MXNet needs.
"""

from __future__ import annotations

import random
import struct
import sys
import time
from typing import Any

import numpy as onp

from benchmarks.serve import serve

__all__ = ["Gluonx", "MXNet", "Torch"]

SIZE = 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SCALED = {
    **{f"mean_{c}": 255 * m for c, m in zip("rgb", MEAN)},
    **{f"std_{c}": 255 * s for c, s in zip("rgb", STD)},
}


class _Server:
    """Orders of a side: open a loader, and read an epoch of it."""

    def open(self, kind: str, path: str, batch: int) -> None:
        """Make the loader."""
        self.batches: Any = getattr(self, kind.split(",")[0].lower())(path, batch, **self.options(kind))

    def options(self, kind: str) -> dict[str, Any]:
        """Return the options that a kind names behind its comma."""
        return {"thread_pool": True} if kind.endswith("threads") else {}

    def epoch(self) -> tuple[float, int]:
        """Seconds and images of an epoch, with every batch there as an array."""
        start, images = time.perf_counter(), 0
        if hasattr(self.batches, "reset"):
            self.batches.reset()  # in the time that counts: an iterator reads ahead from here on
        for batch in self.batches:
            images += self.count(batch)
        return time.perf_counter() - start, images

    def count(self, batch: Any) -> int:
        """Return the number of images of a batch, once it is computed."""
        raise NotImplementedError


class _Gluon(_Server):
    """Both libraries that have Gluon's names."""

    def __init__(self, mx: Any) -> None:
        self.mx = mx

    def dataloader(self, path: str, batch: int, **options: Any) -> Any:
        """``gluon.data.DataLoader`` with transforms."""
        data = self.mx.gluon.data
        t = data.vision.transforms
        chain = t.Compose([t.RandomCrop(SIZE), t.RandomFlipLeftRight(), t.ToTensor(), t.Normalize(MEAN, STD)])
        images = data.vision.ImageRecordDataset(path).transform_first(chain)
        return data.DataLoader(images, batch, shuffle=True, num_workers=2, last_batch="discard", **options)

    def imagerecorditer(self, path: str, batch: int) -> Any:
        """``io.ImageRecordIter``, with two threads."""
        return self.mx.io.ImageRecordIter(
            path_imgrec=path,
            path_imgidx=path[:-4] + ".idx",
            data_shape=(3, SIZE, SIZE),
            batch_size=batch,
            shuffle=True,
            rand_crop=True,
            rand_mirror=True,
            preprocess_threads=2,
            **SCALED,
        )

    def count(self, batch: Any) -> int:
        """Return the number of images of a batch, once it is computed."""
        data = batch.data[0] if hasattr(batch, "data") else batch[0]
        data.wait_to_read()
        assert data.shape[1:] == (3, SIZE, SIZE)
        return data.shape[0] - (getattr(batch, "pad", 0) or 0)


class Gluonx(_Gluon):
    """gluonx."""

    def __init__(self) -> None:
        import gluonx

        super().__init__(gluonx)


class MXNet(_Gluon):
    """MXNet 2.0."""

    def __init__(self) -> None:
        import mxnet  # pyright: ignore[reportMissingImports] - in its own environment

        super().__init__(mxnet)


class Records:
    """A data set for PyTorch: what its users write to read such files, with OpenCV."""

    def __init__(self, path: str) -> None:
        self.path, self.file = path, None
        with open(path[:-4] + ".idx") as index:
            self.offsets = [int(line.split("\t")[1]) for line in index]

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, place: int) -> Any:
        import cv2
        import torch  # pyright: ignore[reportMissingImports] - in its own environment

        if self.file is None:
            cv2.setNumThreads(0)
            self.file = open(self.path, "rb")  # noqa: SIM115 - for the life of the worker
        self.file.seek(self.offsets[place])
        _, length = struct.unpack("<II", self.file.read(8))
        record = self.file.read(length)
        label = struct.unpack_from("<If", record)[1]
        image = cv2.cvtColor(cv2.imdecode(onp.frombuffer(record, "uint8", offset=24), 1), cv2.COLOR_BGR2RGB)
        top, left = random.randint(0, image.shape[0] - SIZE), random.randint(0, image.shape[1] - SIZE)
        image = image[top : top + SIZE, left : left + SIZE]
        image = image[:, ::-1] if random.random() < 0.5 else image
        # As torchvision's ToTensor and Normalize do it.
        tensor = torch.from_numpy(image.transpose(2, 0, 1).copy()).float().div_(255)
        return tensor.sub_(self.mean(torch, MEAN)).div_(self.mean(torch, STD)), label

    def mean(self, torch: Any, values: Any) -> Any:
        """One number a channel."""
        return torch.tensor(values).view(3, 1, 1)


class Torch(_Server):
    """PyTorch's DataLoader."""

    def dataloader(self, path: str, batch: int) -> Any:
        """``torch.utils.data.DataLoader`` that keeps its workers."""
        import cv2  # noqa: F401 - says now if it is missing
        import torch  # pyright: ignore[reportMissingImports] - in its own environment

        return torch.utils.data.DataLoader(
            Records(path), batch, shuffle=True, num_workers=2, drop_last=True, persistent_workers=True
        )

    def count(self, batch: Any) -> int:
        """Return the number of images of a batch."""
        assert tuple(batch[0].shape[1:]) == (3, SIZE, SIZE)
        return len(batch[0])


if __name__ == "__main__":
    serve({"gluonx": Gluonx, "mxnet": MXNet, "torch": Torch}[sys.argv[1]])
