"""The sides of `benchmarks.data`, each in a process of its own: ``python -m benchmarks.data_sides FRAMEWORK``.

It runs on the older Python that MXNet needs.
"""

from __future__ import annotations

import contextlib
import io
import os
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


def processor_seconds() -> float:
    """Seconds that processors have worked for this process and its workers, all of which live."""
    parents, spent = {}, {}
    for folder in os.listdir("/proc"):
        if folder.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{folder}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
                parents[int(folder)] = int(fields[1])
                spent[int(folder)] = int(fields[11]) + int(fields[12])

    def is_ours(process: int) -> bool:
        while process in parents and process != os.getpid():
            process = parents[process]
        return process == os.getpid()

    return sum(ticks for process, ticks in spent.items() if is_ours(process)) / os.sysconf("SC_CLK_TCK")


class _Server:
    """Orders of a side: open a loader, and read an epoch of it."""

    def open(self, kind: str, path: str, batch: int) -> None:
        """Make the loader."""
        self.batches: Any = getattr(self, kind.split(",")[0].lower())(path, batch, **self.options(kind))

    def options(self, kind: str) -> dict[str, Any]:
        """Return the options that a kind names behind its comma."""
        return {"thread_pool": True} if kind.endswith("threads") else {}

    def epoch(self) -> tuple[float, float, int]:
        """Seconds, seconds of processors, and images of an epoch, with every batch there as an array."""
        start, spent, images = time.perf_counter(), processor_seconds(), 0
        if hasattr(self.batches, "reset"):
            self.batches.reset()  # in the time that counts: an iterator reads ahead from here on
        for batch in self.batches:
            images += self.count(batch)
        return time.perf_counter() - start, processor_seconds() - spent, images

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

    def train(self, kind: str, path: str, batch: int, steps: int) -> tuple[float, float]:
        """Train a ResNet-18 on what a loader gives; returns seconds of all, and those spent waiting for a batch."""
        mx = self.mx
        self.open(kind, path, batch)
        net = mx.gluon.model_zoo.vision.resnet18_v1(classes=10)
        net.initialize()
        net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
        loss_fn = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        batches, start, waited, done = iter(self.batches), 0.0, 0.0, 0
        while done < steps:
            asked = time.perf_counter()
            found = next(batches, None)
            if found is None:  # the next epoch
                if hasattr(self.batches, "reset"):
                    self.batches.reset()
                batches = iter(self.batches)
                found = next(batches)
            waited += time.perf_counter() - asked if start else 0.0
            x, y = (found.data[0], found.label[0]) if hasattr(found, "data") else found
            with mx.autograd.record():
                loss = loss_fn(net(x), y)
            loss.backward()
            trainer.step(batch)
            loss.wait_to_read()
            if start:
                done += 1
            else:  # the first step compiles
                start = time.perf_counter()
        return time.perf_counter() - start, waited


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
        if self.file is None:
            self.file = open(self.path, "rb")  # noqa: SIM115 - for the life of the worker
        self.file.seek(self.offsets[place])
        _, length = struct.unpack("<II", self.file.read(8))
        record = self.file.read(length)
        return self.tensor(record[24:]), struct.unpack_from("<If", record)[1]

    def tensor(self, jpeg: bytes) -> Any:
        """Decode, crop, flip and normalize, in OpenCV, NumPy and PyTorch."""
        import cv2
        import torch  # pyright: ignore[reportMissingImports] - in its own environment

        cv2.setNumThreads(0)
        decoded: Any = cv2.imdecode(onp.frombuffer(jpeg, "uint8"), 1)
        image = cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB)
        top, left = random.randint(0, image.shape[0] - SIZE), random.randint(0, image.shape[1] - SIZE)
        image = image[top : top + SIZE, left : left + SIZE]
        image = image[:, ::-1] if random.random() < 0.5 else image
        # As torchvision's ToTensor and Normalize do it.
        tensor = torch.from_numpy(image.transpose(2, 0, 1).copy()).float().div_(255)
        return tensor.sub_(self.mean(torch, MEAN)).div_(self.mean(torch, STD))

    def mean(self, torch: Any, values: Any) -> Any:
        """One number a channel."""
        return torch.tensor(values).view(3, 1, 1)


class PillowRecords(Records):
    """The same with torchvision's transforms on images of Pillow, as the tutorials of PyTorch have it."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        from torchvision import transforms as t  # pyright: ignore[reportMissingImports] - in its own environment

        chain = [t.RandomCrop(SIZE), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(MEAN, STD)]
        self.transform = t.Compose(chain)

    def tensor(self, jpeg: bytes) -> Any:
        """Decode, crop, flip and normalize."""
        from PIL import Image

        return self.transform(Image.open(io.BytesIO(jpeg)).convert("RGB"))


class Torch(_Server):
    """PyTorch's DataLoader, which keeps its workers."""

    def options(self, kind: str) -> dict[str, Any]:
        """Return the data set that a kind names behind its comma."""
        return {"dataset": PillowRecords if kind.endswith("torchvision") else Records}

    def dataloader(self, path: str, batch: int, dataset: type[Records]) -> Any:
        """``torch.utils.data.DataLoader``."""
        import cv2  # noqa: F401 - says now if it is missing
        import torch  # pyright: ignore[reportMissingImports] - in its own environment

        return torch.utils.data.DataLoader(
            dataset(path), batch, shuffle=True, num_workers=2, drop_last=True, persistent_workers=True
        )

    def count(self, batch: Any) -> int:
        """Return the number of images of a batch."""
        assert tuple(batch[0].shape[1:]) == (3, SIZE, SIZE)
        return len(batch[0])


if __name__ == "__main__":
    serve({"gluonx": Gluonx, "mxnet": MXNet, "torch": Torch}[sys.argv[1]])
