"""A single-shot detector (Liu and others, 2016) on a record file of images with boxes.

``python -m examples.ssd`` draws shapes on noisy backgrounds, writes them to record files as ``im2rec`` writes
photographs, trains on one file and prints the mean average precision on the other. ``--records FOLDER`` takes
``train.rec`` and ``val.rec`` of your own instead, with their indexes beside them. Decoding needs the extra ``vision``.
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile
import time
from typing import Any

import numpy as onp

import gluonx as mx
from gluonx import autograd, gluon, init, np, npx, recordio
from gluonx.gluon import nn

__all__ = [
    "CLASSES",
    "SSD",
    "MultiBoxLoss",
    "batches",
    "evaluate",
    "main",
    "make_records",
    "mean_average_precision",
    "train",
]

CLASSES = ("disk", "square", "triangle")
SIZE = 64
SCALES = ((0.2, 0.27), (0.37, 0.45), (0.54, 0.62))
"""Sizes of the default boxes of each feature map, in parts of the image."""
RATIOS = (1.0, 2.0, 0.5)


# -- data --------------------------------------------------------------------------------------------------------------


def draw(rng: onp.random.Generator) -> tuple[onp.ndarray, list[float]]:
    """Draw one to three shapes that do not overlap.

    Returns
    -------
    (numpy.ndarray of uint8, list of float)
        The image, (SIZE, SIZE, 3), and its label as `mx.image.ImageDetIter` reads it: the length of the head, the
        length of an object, and for each object its class and left, top, right, bottom in parts of the image.
    """
    down, right = onp.mgrid[:SIZE, :SIZE] + 0.5
    slope = rng.uniform(-1, 1, (2, 3)) * 40 / SIZE
    image = rng.uniform(60, 200, 3) + down[..., None] * slope[0] + right[..., None] * slope[1]
    taken = onp.zeros((SIZE, SIZE), bool)
    label = [2.0, 5.0]
    for _ in range(rng.integers(1, 4)):
        kind, radius = int(rng.integers(len(CLASSES))), rng.uniform(0.09, 0.28) * SIZE
        x, y = rng.uniform(radius, SIZE - radius, 2)
        across, up = (right - x) / radius, (y - down) / radius
        inside = {
            "disk": across**2 + up**2 < 1,
            "square": onp.maximum(abs(across), abs(up)) < 1,
            "triangle": (up > -1) & (up < 1 - 2 * abs(across)),
        }[CLASSES[kind]]
        if (inside & taken).any():
            continue
        taken |= inside
        image[inside] = rng.uniform(0, 255, 3)
        label += [kind, (x - radius) / SIZE, (y - radius) / SIZE, (x + radius) / SIZE, (y + radius) / SIZE]
    image += rng.normal(0, 12, image.shape)
    return onp.clip(image, 0, 255).astype("uint8"), label


def make_records(folder: pathlib.Path, images: int, held_out: int, seed: int = 0) -> None:
    """Write ``train.rec`` and ``val.rec`` of so many drawn images, and their indexes, to a folder."""
    rng = onp.random.default_rng(seed)
    for name, count in (("train", images), ("val", held_out)):
        with recordio.MXIndexedRecordIO(str(folder / f"{name}.idx"), str(folder / f"{name}.rec"), "w") as file:
            for number in range(count):
                image, label = draw(rng)
                header = recordio.IRHeader(0, label, number, 0)
                # pack_img takes OpenCV's order of colours: blue first
                file.write_idx(number, recordio.pack_img(header, image[..., ::-1], quality=95, img_fmt=".jpg"))


def batches(path: pathlib.Path, size: int, training: bool) -> Any:
    """Return an iterator over a record file: images, (batch, 3, SIZE, SIZE), and objects, (batch, most, 5)."""
    changed = {"rand_mirror": True, "brightness": 0.1, "contrast": 0.1} if training else {}
    return mx.image.ImageDetIter(
        batch_size=size,
        data_shape=(3, SIZE, SIZE),
        path_imgrec=str(path),
        path_imgidx=str(path.with_suffix(".idx")),
        shuffle=training,
        mean=True,
        std=True,
        **changed,
    )


# -- model -------------------------------------------------------------------------------------------------------------


def convolutions(channels: int, count: int) -> Any:
    """Return convolutions of 3 x 3 with batch normalization, then a pooling that halves height and width."""
    stage = nn.HybridSequential()
    for _ in range(count):
        stage.add(nn.Conv2D(channels, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    stage.add(nn.MaxPool2D(2))
    return stage


class SSD(nn.HybridBlock):
    """Default boxes, class scores and box offsets from feature maps of three scales.

    Parameters
    ----------
    classes : int
        Without the background.
    width : int
        Channels of the first convolutions.
    """

    def __init__(self, classes: int, width: int = 16) -> None:
        super().__init__()
        self.classes = classes
        boxes = len(SCALES[0]) + len(RATIOS) - 1  # at each place
        self.stages, self.class_heads, self.box_heads = (nn.HybridSequential() for _ in range(3))
        first = nn.HybridSequential()
        first.add(convolutions(width, 1), convolutions(2 * width, 2))
        for stage in (first, convolutions(4 * width, 2), convolutions(4 * width, 2)):
            self.stages.add(stage)
            self.class_heads.add(nn.Conv2D(boxes * (classes + 1), 3, padding=1))
            self.box_heads.add(nn.Conv2D(boxes * 4, 3, padding=1))

    def forward(self, x: Any) -> tuple[Any, Any, Any]:
        """Return default boxes (1, n, 4), scores (batch, n, classes + 1) and offsets (batch, n * 4)."""
        anchors, scores, offsets = [], [], []
        for scales, stage, class_head, box_head in zip(
            SCALES, self.stages, self.class_heads, self.box_heads, strict=True
        ):
            x = stage(x)
            anchors.append(npx.multibox_prior(x, sizes=scales, ratios=RATIOS))
            # channels last: the numbers of one place side by side
            scores.append(class_head(x).transpose(0, 2, 3, 1).reshape(len(x), -1, self.classes + 1))
            offsets.append(box_head(x).transpose(0, 2, 3, 1).reshape(len(x), -1))
        return np.concatenate(anchors, axis=1), np.concatenate(scores, axis=1), np.concatenate(offsets, axis=1)


class MultiBoxLoss(nn.HybridBlock):
    """Cross entropy of classes and smooth L1 of offsets, over the number of default boxes that hold an object.

    Of the boxes that hold none, the three hardest for each that does take part, chosen by their scores.
    """

    def forward(self, anchors: Any, scores: Any, offsets: Any, objects: Any) -> Any:
        """Return the loss of a batch, one number."""
        wanted, mask, classes = npx.multibox_target(
            anchors, objects, scores.transpose(0, 2, 1), negative_mining_ratio=3.0, overlap_threshold=0.5
        )
        chosen = classes >= 0  # the others are -1
        log_likelihood = npx.pick(npx.log_softmax(scores, axis=-1), np.maximum(classes, 0), axis=-1)
        positives = np.maximum((classes > 0).sum(), 1)
        return (npx.smooth_l1((offsets - wanted) * mask).sum() - (log_likelihood * chosen).sum()) / positives


def train(net: Any, data: Any, epochs: int, rate: float = 4e-3) -> None:
    """Train by Adam, the learning rate falling with a cosine; an epoch a line."""
    loss_fn = MultiBoxLoss()
    loss_fn.hybridize()
    steps = -(-data.num_image // data.batch_size) * epochs
    schedule = mx.lr_scheduler.CosineScheduler(steps, base_lr=rate, final_lr=0, warmup_steps=steps // 20)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": rate, "lr_scheduler": schedule})
    for epoch in range(epochs):
        start, losses = time.perf_counter(), gluon.metric.Loss()
        data.reset()
        for batch in data:
            images, objects = batch.data[0], batch.label[0]
            with autograd.record():
                anchors, scores, offsets = net(images)
                loss = loss_fn(anchors, scores, offsets, objects)
            loss.backward()
            trainer.step(1)  # the loss is a mean already
            losses.update(None, loss)
        print(f"epoch {epoch + 1}: loss {losses.get()[1]:.3f}, {time.perf_counter() - start:.1f} s")


# -- evaluation --------------------------------------------------------------------------------------------------------


def evaluate(net: Any, data: Any) -> tuple[list[onp.ndarray], list[onp.ndarray]]:
    """Return for each image the detections (m, 6) and the true objects (k, 5)."""
    found: list[onp.ndarray] = []
    true: list[onp.ndarray] = []
    data.reset()
    for batch in data:
        anchors, scores, offsets = net(batch.data[0])
        probabilities = npx.softmax(scores, axis=-1).transpose(0, 2, 1)
        boxes = npx.multibox_detection(probabilities, offsets, anchors, nms_threshold=0.45, nms_topk=100)
        count = len(boxes) - batch.pad  # the rest fills the last batch up
        found += [rows[rows[:, 0] >= 0] for rows in boxes.asnumpy()[:count]]
        true += [rows[rows[:, 0] >= 0] for rows in batch.label[0].asnumpy()[:count]]
    return found, true


def overlaps(box: onp.ndarray, others: onp.ndarray) -> onp.ndarray:
    """Return the intersection over union of a box with each of others, all as left, top, right, bottom."""
    low, high = onp.maximum(box[:2], others[:, :2]), onp.minimum(box[2:], others[:, 2:])
    shared = onp.prod(onp.clip(high - low, 0, None), axis=1)
    return shared / (onp.prod(box[2:] - box[:2]) + onp.prod(others[:, 2:] - others[:, :2], axis=1) - shared)


def mean_average_precision(found: list[onp.ndarray], true: list[onp.ndarray], threshold: float = 0.5) -> float:
    """Return the mean over classes of the area under the curve of precision by recall (Everingham and others, 2010).

    A detection is right if it overlaps an object of its class by `threshold` that no more probable one has taken.

    Parameters
    ----------
    found : list of numpy.ndarray, shape (m, 6)
        Of each image: class, probability, left, top, right, bottom.
    true : list of numpy.ndarray, shape (k, 5)
        Of each image: class, left, top, right, bottom.
    """
    areas = []
    for kind in sorted({row[0] for rows in true for row in rows}):
        objects = [rows[rows[:, 0] == kind, 1:] for rows in true]
        rows = [(row[1], i, row[2:]) for i, boxes in enumerate(found) for row in boxes if row[0] == kind]
        taken: set[tuple[int, int]] = set()
        right = []
        for _, image, box in sorted(rows, key=lambda row: -row[0]):
            shared = overlaps(box, objects[image]) if len(objects[image]) else onp.zeros(1)
            best = (image, int(shared.argmax()))
            right.append(bool(shared.max() >= threshold and best not in taken))
            if right[-1]:
                taken.add(best)
        hits = onp.cumsum(right)
        precision = hits / onp.arange(1, len(hits) + 1)
        # the best precision that is left at this recall or a higher one
        envelope = onp.maximum.accumulate(precision[::-1])[::-1]
        areas.append(float(envelope[onp.array(right, bool)].sum() / sum(map(len, objects))) if right else 0.0)
    return float(onp.mean(areas))


def main(argv: list[str] | None = None) -> float:
    """Train, test and return the mean average precision."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=pathlib.Path, help="a folder with train.rec and val.rec; drawn unless given")
    parser.add_argument("--classes", type=int, default=len(CLASSES))
    parser.add_argument(
        "--images", type=int, default=1024, help="drawn images for training; an eighth as many for tests"
    )
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=16)
    args = parser.parse_args(argv)
    mx.random.seed(0)
    with tempfile.TemporaryDirectory() as made:
        folder = args.records or pathlib.Path(made)
        if args.records is None:
            make_records(folder, args.images, args.images // 8)
        net = SSD(args.classes, args.width)
        net.initialize(init.Xavier())
        net.hybridize()
        train(net, batches(folder / "train.rec", args.batch, training=True), args.epochs)
        precision = mean_average_precision(*evaluate(net, batches(folder / "val.rec", args.batch, training=False)))
    print(f"mean average precision on held-out images: {precision:.3f}")
    return precision


if __name__ == "__main__":
    main()
