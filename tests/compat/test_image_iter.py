"""``mx.image.ImageIter``, ``ImageDetIter`` and ``gluon.contrib.data.vision``."""

import random

import numpy as onp
import pytest

import gluonx as mx
from gluonx import gluon, image, np, recordio
from gluonx.data.vision import functional
from gluonx.errors import ArgumentError, FormatError, GluonxError, ShapeError

RNG = onp.random.default_rng(0)
IMAGES = [RNG.integers(0, 256, (26 + i, 32, 3), dtype="uint8") for i in range(7)]
ARRAY = type(np.ones(1))


def write(path, labels, images=IMAGES):
    with recordio.MXIndexedRecordIO(str(path.with_suffix(".idx")), str(path), "w") as file:
        for place, (picture, label) in enumerate(zip(images, labels, strict=True)):
            file.write_idx(place, recordio.pack_img((0, label, place, 0), picture[..., ::-1], 3, ".png"))
    return str(path)


@pytest.fixture
def records(tmp_path):
    return write(tmp_path / "a.rec", [float(i) for i in range(7)])


@pytest.fixture
def boxes(tmp_path):
    more = [2, 0.2, 0.3, 0.5, 0.6]
    return write(tmp_path / "d.rec", [[2, 5, 1, 0.1, 0.1, 0.6, 0.7, *(more if i % 2 else [])] for i in range(7)])


@pytest.fixture
def files(tmp_path):
    for place, picture in enumerate(IMAGES):
        (tmp_path / f"{place}.png").write_bytes(functional.encode(picture, fmt=".png"))
    return tmp_path


def labels_of(batches):
    return [(batch.label[0].asnumpy().tolist(), batch.pad) for batch in batches]


def sources(records, files):
    (files / "some.lst").write_text("".join(f"{i}\t{i}\t{i}.png\n" for i in range(7)))
    return {
        "records": {"path_imgrec": records},
        "index": {"path_imgrec": records, "path_imgidx": records[:-4] + ".idx"},
        "list": {"path_imglist": str(files / "some.lst"), "path_root": str(files)},
        "entries": {"imglist": [[i, f"{i}.png"] for i in range(7)], "path_root": str(files)},
    }


@pytest.mark.parametrize("source", ["records", "index", "list", "entries"])
def test_epochs(records, files, source):
    """Batches are the oracle's, but one that the next epoch completes is not padded (MXNet says 2)."""
    given = sources(records, files)[source]
    wanted = {
        "pad": [[([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)]] * 2,
        "discard": [[([0, 1, 2], 0), ([3, 4, 5], 0)]] * 2,
        "roll_over": [[([0, 1, 2], 0), ([3, 4, 5], 0)], [([6, 0, 1], 0), ([2, 3, 4], 0)]],
    }
    for handle, epochs in wanted.items():
        batches = image.ImageIter(3, (3, 24, 28), last_batch_handle=handle, **given)
        assert batches.provide_data == [("data", (3, 3, 24, 28))] and batches.provide_label == [("softmax_label", (3,))]
        for epoch in epochs:
            assert labels_of(batches) == epoch
            batches.reset()
    batches.hard_reset()
    first = next(batches).data[0]
    assert isinstance(first, ARRAY) and first.dtype == "float32"
    onp.testing.assert_array_equal(first[0].asnumpy(), IMAGES[0][1:25, 2:30].transpose(2, 0, 1).astype("float32"))


def test_shuffling_and_parts(records):
    index = {"path_imgrec": records, "path_imgidx": records[:-4] + ".idx"}
    random.seed(3)
    batches = image.ImageIter(7, (3, 8, 8), shuffle=True, **index)
    first = labels_of(batches)
    batches.reset()
    assert labels_of(batches) != first and sorted(first[0][0]) == list(range(7))
    parts = [labels_of(image.ImageIter(3, (3, 8, 8), num_parts=2, part_index=i, **index)) for i in range(2)]
    assert parts == [[([0, 1, 2], 0)], [([3, 4, 5], 0)]]


def test_labels_of_a_list_take_the_place_of_those_of_records(records, tmp_path):
    (tmp_path / "some.lst").write_text("".join(f"{i}\t{i + 10}\t{i}\tx\n" for i in range(7)))
    batches = image.ImageIter(7, (3, 8, 8), 2, records, str(tmp_path / "some.lst"), path_imgidx=records[:-4] + ".idx")
    assert next(batches).label[0].tolist() == [[i + 10, i] for i in range(7)]
    batches = image.ImageIter(7, (3, 8, 8), 2, records, str(tmp_path / "some.lst"))  # by the numbers in the records
    assert next(batches).label[0].tolist() == [[i + 10, i] for i in range(7)]
    (tmp_path / "few.lst").write_text("0\t1\tx\n")
    with pytest.raises(FormatError, match=r"record 1 of .*a.rec is not in the list"):
        next(image.ImageIter(7, (3, 8, 8), path_imgrec=records, path_imglist=str(tmp_path / "few.lst")))


def test_a_record_that_is_none_is_named(tmp_path):
    with recordio.MXRecordIO(str(tmp_path / "a.rec"), "w") as file:
        file.write(b"no header")
    with pytest.raises(FormatError, match=r"record number 1 of .*a.rec: unpack"):
        next(image.ImageIter(1, (3, 8, 8), path_imgrec=str(tmp_path / "a.rec")))


class Inverted(image.Augmenter):
    """A user's augmenter."""

    def __call__(self, src):
        assert isinstance(src, ARRAY)
        return 255 - src


class Own(image.ImageIter):
    """An iterator with methods of a user's, as MXNet allows."""

    def imdecode(self, s):
        return super().imdecode(s)[:20, :20]

    def check_valid_image(self, data):
        if data.shape[2] != 3 or int(data[0, 0, 0]) == int(IMAGES[2][0, 0, 0]):
            raise RuntimeError("not wanted")

    def augmentation_transform(self, data):
        assert isinstance(data, ARRAY)
        return super().augmentation_transform(data)

    def postprocess_data(self, datum):
        assert isinstance(datum, ARRAY)
        return super().postprocess_data(datum) / 2


def test_methods_and_augmenters_of_users(records):
    batches = Own(6, (3, 20, 20), path_imgrec=records, aug_list=[image.CastAug(), Inverted(), image.CastAug()])
    batch = next(batches)
    assert batch.label[0].tolist() == [0, 1, 3, 4, 5, 6]
    onp.testing.assert_array_equal(batch.data[0][2].asnumpy(), (255.0 - IMAGES[3][:20, :20].transpose(2, 0, 1)) / 2)


def test_boxes(boxes):
    batches = image.ImageDetIter(3, (3, 16, 20), path_imgrec=boxes)
    assert batches.label_shape == (2, 5) and batches.provide_label == [("label", (3, 2, 5))]
    batch = next(batches)
    assert batch.data[0].shape == (3, 3, 16, 20)
    onp.testing.assert_allclose(batch.label[0][0], [[1, 0.1, 0.1, 0.6, 0.7], [-1] * 5])
    onp.testing.assert_allclose(batch.label[0][1], [[1, 0.1, 0.1, 0.6, 0.7], [2, 0.2, 0.3, 0.5, 0.6]])
    other = image.ImageDetIter(3, (3, 16, 20), imglist=[[[2, 5, *[1, 0.1, 0.2, 0.3, 0.4] * 3], "a"]])
    assert batches.sync_label_shape(other) is other and batches.label_shape == other.label_shape == (3, 5)
    assert next(batches).label[0].shape == (3, 3, 5)
    batches.reshape((3, 8, 8), (5, 5))
    assert batches.provide_data == [("data", (3, 3, 8, 8))] and batches.label_shape == (5, 5)
    with pytest.raises(ShapeError, match="Attempts to reduce label count from 5 to 2"):
        batches.reshape(None, (2, 5))


def test_boxes_are_drawn(boxes):
    pytest.importorskip("cv2")
    batches = image.ImageDetIter(3, (3, 16, 20), path_imgrec=boxes, mean=True, std=True)
    pictures = list(batches.draw_next((255, 0, 0), 1, True, True, id2labels={1: "a"}))
    assert len(pictures) == 7 and all(p.shape == (16, 20, 3) and p.dtype == "uint8" for p in pictures)
    assert pictures[0][5, 2].tolist() == [0, 0, 255]  # in BGR, on the left side of the box


def test_samples_without_boxes_are_left_out_and_counted(tmp_path):
    path = write(
        tmp_path / "d.rec", [[2, 5, *([1, 0.1, 0.1, 0.6, 0.7] if i % 3 else [-1, 0, 0, 1, 1])] for i in range(7)]
    )
    batches = image.ImageDetIter(2, (3, 8, 8), path_imgrec=path, last_batch_handle="discard")
    assert len(list(batches)) == 2 and batches.skipped == 3


@pytest.mark.parametrize(
    ("kwargs", "error", "says"),
    [
        ({}, ArgumentError, "one of path_imgrec, path_imglist and imglist is needed"),
        ({"path_imgrec": "REC", "shuffle": True}, ArgumentError, "shuffle and num_parts need path_imgidx"),
        ({"path_imgrec": "REC", "dtype": "uint8"}, ArgumentError, "uint8 label not supported"),
        ({"path_imgrec": "REC", "last_batch_handle": "keep"}, ArgumentError, "last_batch_handle is one of pad"),
        ({"path_imgrec": "REC", "data_shape": (1, 8, 8)}, ShapeError, "expects inputs to have 3 channels"),
        ({"path_imgrec": "REC", "data_shape": (8, 8)}, ShapeError, "should have length 3"),
        ({"path_imgrec": "nothing.rec"}, FileNotFoundError, "nothing.rec"),
        ({"imglist": [[0, "nothing.png"]], "path_root": "."}, FileNotFoundError, "nothing.png"),
        (
            {"path_imgrec": "REC", "label_width": 2},
            ShapeError,
            "record number 1 of .*a.rec has 1 labels, but label_width is 2",
        ),
        ({"path_imgrec": "REC", "aug_list": []}, ShapeError, r"has shape \(3, 26, 32\) behind the augmenters"),
        ({"path_imgrec": "REC", "rand_resize": True}, ArgumentError, "rand_resize needs rand_crop"),
        ({"path_imgrec": "REC", "mean": [1, 2]}, ArgumentError, "mean must be True or an array of 1 or 3 numbers"),
    ],
)
def test_bad_input(records, kwargs, error, says):
    kwargs = {"data_shape": (3, 8, 8), **{k: records if v == "REC" else v for k, v in kwargs.items()}}
    with pytest.raises(error, match=says):
        next(image.ImageIter(2, **kwargs))


def test_keywords_beside_augmenters_are_told_of(records, boxes):
    for kind, path in ((image.ImageIter, records), (image.ImageDetIter, boxes)):
        with pytest.warns(
            UserWarning, match=f"{kind.__name__}: rand_crop, shufle ignored, as in MXNet: aug_list is given"
        ):
            kind(2, (3, 8, 8), path_imgrec=path, aug_list=[], rand_crop=True, shufle=True)
    with pytest.warns(UserWarning, match="ImageDataLoader: rand_mirror ignored"):
        gluon.contrib.data.vision.ImageDataLoader(2, (3, 8, 8), path_imgrec=records, aug_list=[], rand_mirror=True)


def test_augmenters_take_no_other_keywords():
    for kind in (image.CenterCropAug, image.RandomCropAug, image.ForceResizeAug):
        with pytest.raises(TypeError, match="interpolation"):
            kind((3, 4), interpolation=1)


def test_a_damaged_image_in_the_middle_of_an_epoch(files):
    (files / "4.png").write_bytes((files / "4.png").read_bytes()[:50])
    batches = image.ImageIter(1, (3, 8, 8), imglist=[[i, f"{i}.png"] for i in range(7)], path_root=str(files))
    seen = []
    with pytest.raises(FormatError, match=r"Broken image: image '4.png' \(entry 5 of the list\)"):
        seen.extend(batch.label[0].item() for batch in batches)
    assert len(list(batches)) == 2  # the rest of the epoch


def test_labels_of_boxes_that_are_none(tmp_path):
    for label, says in (
        ([2, 5, 1, 0.1, 0.1, 0.6], "has 6 numbers, but 7 are the fewest"),
        ([2, 5, 1, 0.1, 0.1, 0.6, 0.7, 3], "record number 1 of .*inconsistent with annotation width 5, head 2"),
    ):
        path = write(tmp_path / "d.rec", [label] * 7)
        with pytest.raises(ShapeError, match=says):
            image.ImageDetIter(2, (3, 8, 8), path_imgrec=path)


# -- gluon.contrib.data.vision ----------------------------------------------------------------------------------------


@pytest.mark.dear
@pytest.mark.parametrize("workers", [0, 1])
def test_the_contributed_loaders(records, boxes, workers):
    vision = gluon.contrib.data.vision
    loader = vision.ImageDataLoader(4, (3, 16, 20), path_imgrec=records, resize=30, std=True, num_workers=workers)
    (one, two) = loader
    assert len(loader) == 2 and one[0].shape == (4, 3, 16, 20) and two[1].tolist() == [4, 5, 6]
    jittered = vision.ImageDataLoader(
        7, (3, 16, 20), path_imgrec=records, rand_crop=True, rand_resize=True, rand_mirror=True, mean=True, std=True,
        brightness=0.1, contrast=0.1, saturation=0.1, hue=0.1, pca_noise=0.1, rand_gray=0.3, num_workers=workers,
    )  # fmt: skip
    (batch,) = jittered
    assert abs(float(batch[0].mean())) < 1.5 and batch[0].dtype == "float32"
    loader = vision.ImageBboxDataLoader(7, (3, 52, 64), path_imgrec=boxes, num_workers=workers)
    (batch,) = loader
    assert batch[0].shape == (7, 3, 52, 64) and batch[1].shape == (7, 2, 5)
    onp.testing.assert_allclose(
        batch[1][1].asnumpy(), [[6.4, 5.2, 38.4, 36.4, 1], [12.8, 15.6, 32, 31.2, 2]], rtol=1e-5
    )
    assert batch[1][0, 1].tolist() == [-1] * 5
    (batch,) = vision.ImageBboxDataLoader(
        7, (3, 16, 20), path_imgrec=boxes, rand_crop=0.9, rand_pad=0.9, rand_mirror=True, brightness=0.1, mean=True
    )
    assert batch[0].shape == (7, 3, 16, 20) and batch[1].shape[2] == 5


def test_bad_input_of_the_contributed_loaders(records):
    vision = gluon.contrib.data.vision
    for make, says in (
        (lambda: vision.ImageDataLoader(2, (3, 8, 8)), "one of path_imgrec"),
        (lambda: vision.ImageDataLoader(2, (3, 8, 8), path_imgrec=records, aug_list=[3]), "must be a list of Blocks"),
        (lambda: vision.create_image_augment((3, 8, 8), mean=3), "mean must be True or a tuple"),
        (lambda: vision.ImageBboxCrop((0, 0, 0, 3)), r"\(left, top, width, height\)"),
        (lambda: vision.ImageBboxResize(3, 3)(np.ones((3, 3, 3)), np.ones((3, 2))), r"requires shape of \(N, 4\+\)"),
        (lambda: next(iter(vision.ImageBboxDataLoader(2, (3, 8, 8), path_imgrec=records))), "Expected label length"),
    ):
        with pytest.raises(GluonxError, match=says):
            make()


def test_names():
    for name in image.__all__:
        assert callable(getattr(mx.image, name))
    assert mx.img is mx.image and mx.image.Number is not None
    with pytest.raises(AttributeError, match="no attribute 'imwrite'"):
        _ = mx.image.imwrite
    with pytest.raises(AttributeError, match=r"gluonx\.contrib\.data"):
        _ = gluon.contrib.data.nothing


def test_an_augmenter_without_a_call_names_its_class():
    class Mine(image.Augmenter):
        pass

    class Boxed(image.DetAugmenter):
        pass

    with pytest.raises(NotImplementedError, match="Mine must define __call__"):
        Mine()(IMAGES[0])
    with pytest.raises(NotImplementedError, match="Boxed must define __call__"):
        Boxed()(IMAGES[0], onp.zeros((1, 5)))
