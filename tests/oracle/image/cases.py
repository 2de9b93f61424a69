"""Calls of ``mx.image`` and of vision transforms that gluonx and MXNet 2.0.0b1 must answer alike.

Read by ``make.py`` (in the oracle's Python, which has no gluonx) and by ``tests/image/test_image_oracle.py``. A case is
a function of ``mx`` and of ``x``, which makes an array of it; before each, the random streams of Python and NumPy are
begun anew. What it gives is a tree of arrays and numbers.
"""

import os
import random

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = ("colour.jpg", "gray.jpg", "colour.png", "alpha.png")


def picture(height, width, channels=3):
    """A picture with smooth parts and edges."""
    y, x = np.mgrid[:height, :width]
    waves = [127 + 120 * np.sin(x / (3 + c) + c) * np.cos(y / (5 - c)) for c in range(channels)]
    image = np.stack(waves, -1)
    image[height // 4 : height // 2, width // 3 : width // 2] = 250
    return image.astype(np.uint8)


PICTURE = picture(37, 53)
TENSOR = (PICTURE.transpose(2, 0, 1) / 255).astype(np.float32)
MEAN, STD = np.array([123.0, 116.0, 103.0], np.float32), np.array([58.0, 57.0, 57.5], np.float32)
BOXES = np.array([[1, 0.1, 0.1, 0.6, 0.7], [2, 0.4, 0.3, 0.9, 0.8], [0, 0.7, 0.1, 0.8, 0.3]], np.float32)

SIZES = [(20, 30), (106, 74), (80, 20), (53, 20), (26, 18)]
CASES = {}


def case(name):
    def add(function):
        CASES[name] = function
        return function

    return add


for _w, _h in SIZES:
    for _interp in range(5):
        CASES[f"imresize/{_w}x{_h}/{_interp}"] = lambda mx, x, w=_w, h=_h, i=_interp: mx.image.imresize(
            x(PICTURE), w, h, i
        )
for _interp in (2, 9, 10):
    CASES[f"resize_short/{_interp}"] = lambda mx, x, i=_interp: mx.image.resize_short(x(PICTURE), 24, i)
    CASES[f"resize_short/more/{_interp}"] = lambda mx, x, i=_interp: mx.image.resize_short(x(PICTURE), 60, i)
for _file in FILES:
    for _flag in (0, 1):
        CASES[f"imread/{_file}/{_flag}"] = lambda mx, x, f=_file, g=_flag: mx.image.imread(os.path.join(HERE, f), g)
CASES["imread/bgr"] = lambda mx, x: mx.image.imread(os.path.join(HERE, "colour.png"), to_rgb=False)


@case("imdecode")
def _imdecode(mx, x):
    with open(os.path.join(HERE, "colour.jpg"), "rb") as file:
        return mx.image.imdecode(file.read())


@case("crops")
def _crops(mx, x):
    image, p = mx.image, x(PICTURE)
    return [
        image.fixed_crop(p, 3, 5, 20, 11),
        image.fixed_crop(p, 3, 5, 20, 11, (10, 12), 1),
        image.fixed_crop(p, 40, 30, 20, 11),
        image.fixed_crop(p, 40, 30, 20, 11, (10, 12), 1),
        [image.random_crop(p, size) for size in ((20, 10), (80, 60), (60, 10))],
        [image.center_crop(p, size, 1) for size in ((20, 10), (80, 60), (21, 12))],
        [image.random_size_crop(p, (16, 12), (0.1, 1.0), (0.75, 1.33), 1) for _ in range(4)],
        image.random_size_crop(p, (16, 12), 0.9, (4.0, 5.0)),
        [image.scale_down(s, (720, 120)) for s in ((640, 480), (100, 100), (1000, 1000), (1000, 50))],
    ]


@case("borders")
def _borders(mx, x):
    border, p = mx.image.copyMakeBorder, x(PICTURE)
    return [
        *[border(p, 2, 3, 4, 5, type=kind) for kind in range(5)],
        border(p, 1, 0, 0, 2, 0, 9),
        border(p, 1, 0, 0, 2, type=0, values=(1, 2, 3)),
        border(p.astype("float32"), 1, 2, 3, 4, type=0, value=0.5),
    ]


@case("rotations")
def _rotations(mx, x):
    rotate, t = mx.image.imrotate, x(TENSOR)
    return [
        *[rotate(t, degrees) for degrees in (0, 30, -130, 90.0)],
        rotate(t, 30, zoom_in=True),
        rotate(t, -50, zoom_out=True),
        mx.image.random_rotate(t, (-30, 30)),
        mx.image.random_rotate(x(np.stack([TENSOR, TENSOR])), (-30, 30), zoom_out=True),
    ]


@case("color_normalize")
def _color_normalize(mx, x):
    p = x(PICTURE.astype(np.float32))
    return [
        mx.image.color_normalize(p.copy(), x(MEAN), x(STD)),
        mx.image.color_normalize(p.copy(), x(MEAN)),
        mx.image.color_normalize(p.copy(), None, x(STD)),
    ]


@case("augmenters")
def _augmenters(mx, x):
    image = mx.image
    light = (0.5, np.array([55.46, 4.794, 1.148]), np.eye(3) * 0.5)
    augs = [
        image.ResizeAug(20),
        image.ForceResizeAug((20, 30), 1),
        image.RandomCropAug((20, 10)),
        image.CenterCropAug((20, 10)),
        image.RandomSizedCropAug((12, 10), 0.3, (0.75, 1.33)),
        *[image.HorizontalFlipAug(0.5) for _ in range(4)],
        image.CastAug(),
        image.BrightnessJitterAug(0.4),
        image.ContrastJitterAug(0.4),
        image.SaturationJitterAug(0.4),
        image.HueJitterAug(0.4),
        image.ColorJitterAug(0.1, 0.2, 0.3),
        image.ColorJitterAug(0.1, 0.2, 0.3),
        image.LightingAug(*light),
        image.RandomGrayAug(0.5),
        image.RandomGrayAug(0.5),
        image.ColorNormalizeAug(x(MEAN), x(STD)),
        image.RandomOrderAug([image.BrightnessJitterAug(0.4), image.ContrastJitterAug(0.4)]),
        image.SequentialAug([image.ForceResizeAug((9, 8)), image.BrightnessJitterAug(0.4)]),
    ]
    return [aug(x(PICTURE.astype(np.float32))) for aug in augs]


@case("chain")
def _chain(mx, x):
    steps = mx.image.CreateAugmenter(
        (3, 24, 28), 40, True, True, True, True, True, 0.1, 0.1, 0.1, 0.1, pca_noise=0.1, rand_gray=0.3
    )
    out = []
    for _ in range(3):
        image = x(PICTURE)
        for step in steps:
            image = step(image)
        out.append(image)
    return out


@case("boxes")
def _boxes(mx, x):
    image = mx.image
    augs = [
        *[image.DetHorizontalFlipAug(0.5) for _ in range(4)],
        *[image.DetRandomCropAug() for _ in range(3)],
        *[image.DetRandomCropAug(0.5, 1.0, 0.4) for _ in range(3)],
        image.DetRandomCropAug(0.9, (0.5, 2.0), (0.3, 0.9), 0.5, 10),
        *[image.DetRandomPadAug() for _ in range(3)],
        image.DetBorrowAug(image.ResizeAug(20)),
        image.CreateMultiRandCropAugmenter([0.1, 0.5], skip_prob=0.2),
    ]
    return [aug(x(PICTURE), BOXES.copy()) for aug in augs]


@case("chain of boxes")
def _chain_of_boxes(mx, x):
    steps = mx.image.CreateDetAugmenter((3, 24, 28), 40, 0.5, 0.5, 0.3, True, True, True, 0.1, 0.1, 0.1, 0.1, 0.1)
    out = []
    for _ in range(3):
        image, label = x(PICTURE), BOXES.copy()
        for step in steps:
            image, label = step(image, label)
        out.append((image, label))
    return out


def dumps(mx):
    """Return the `dumps()` of augmenters."""
    image = mx.image
    more = {"rand_crop": 1, "rand_mirror": True, "mean": True, "std": True, "brightness": 0.1, "pca_noise": 0.1}
    return [
        [one.dumps() for one in image.CreateAugmenter((3, 24, 28))],
        [one.dumps() for one in image.CreateAugmenter((3, 24, 28), resize=40, hue=0.1, rand_gray=0.2, **more)],
        [one.dumps() for one in image.CreateAugmenter((3, 24, 28), rand_crop=True, rand_resize=True, mean=MEAN)],
        [one.dumps() for one in image.CreateDetAugmenter((3, 24, 28))],
        [one.dumps() for one in image.CreateDetAugmenter((3, 24, 28), rand_pad=0.5, resize=30, **more)],
        image.CreateMultiRandCropAugmenter([0.1, 0.5]).dumps(),
        image.SequentialAug([image.CastAug("float16")]).dumps(),
        image.LightingAug(0.1, np.ones(3), np.eye(3)).dumps(),
    ]


@case("transforms")
def _transforms(mx, x):
    t = mx.gluon.data.vision.transforms
    p, f = x(PICTURE), x(TENSOR)
    return [
        t.ToTensor()(p),
        t.Normalize((0.1, 0.2, 0.3), 0.5)(f),
        t.Rotate(30)(f),
        t.CropResize(1, 2, 20, 30)(p),
        t.CropResize(1, 2, 20, 30, (9, 8), 1)(p),
        t.CenterCrop((21, 12))(p),
        *[t.CenterCrop(size)(p) for size in (60, (60, 20), (20, 60), (53, 60))],
        t.Resize(20)(p),
        t.Resize(20, True, 2)(p),
        t.Resize((20, 30), False, 3)(p),
        t.RandomFlipLeftRight(1)(p),
        t.RandomFlipTopBottom(1)(p),
        t.RandomFlipTopBottom(0)(p),
        t.Compose([t.Resize(30), t.CenterCrop(20), t.ToTensor(), t.Normalize(0.5, 0.5)])(p),
        t.RandomCrop((53, 37))(p),
        t.RandomApply(t.ToTensor(), 1.0)(p),
    ]


@case("transforms with boxes")
def _transforms_with_boxes(mx, x):
    v = mx.gluon.contrib.data.vision
    boxes = np.array([[5, 4, 30, 25, 1], [22, 10, 48, 30, 2], [1, 1, 6, 6, 3]], np.float32)
    return [
        block(x(PICTURE), x(boxes))
        for block in (
            v.ImageBboxRandomFlipLeftRight(1),
            v.ImageBboxRandomFlipLeftRight(0),
            v.ImageBboxCrop((4, 3, 30, 20)),
            v.ImageBboxCrop((4, 3, 30, 20), True),
            v.ImageBboxCrop((4, 3, 60, 20)),
            v.ImageBboxResize(20, 30),
            *[v.ImageBboxRandomCropWithConstraints(1) for _ in range(3)],
            v.ImageBboxRandomCropWithConstraints(0.5, 0.5, 0.9, 1.5, [(0.1, None), (None, 0.9)], 10),
        )
    ]


def leaves(tree):
    """The arrays and numbers of a tree, as NumPy arrays."""
    if isinstance(tree, (list, tuple)):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree.asnumpy() if hasattr(tree, "asnumpy") else np.asarray(tree)]


def answers(mx, x, name):
    random.seed(7)
    np.random.seed(7)
    return leaves(CASES[name](mx, x))
