"""Iterators over files, `mx.io`: against MXNet's results, and what they do with bad files, threads and memory."""

import gzip
import itertools
import json
import pathlib
import threading

import numpy as onp
import pytest

import gluonx as mx
from gluonx import recordio
from gluonx.data.vision import functional
from gluonx.errors import FormatError, GluonxError
from lib.golden import load_cases

TESTS = pathlib.Path(__file__).parents[1]
HERE = TESTS / "oracle" / "records"
GOLDEN = json.loads((HERE / "golden.json").read_text(encoding="utf-8"))["iterators"]
DATA = onp.load(HERE / "data.npz")


CASES = load_cases("records")
# OpenCV 3.4, which MXNet is built with, rounds otherwise than OpenCV 5 when it warps, and by cubic interpolation.
BOUNDS = dict.fromkeys(("rotate", "random_scale", "image_size", "aspect"), 3) | {"cubic": 1, "by_sizes": 1}
BOUNDS["mean_img"] = 1e-4  # a mean of sums in another order
# MXNet's second implementation fills no index in, and the first one does.
NO_INDEX = {
    name for name, (kind, _, _) in CASES.ITERATORS.items() if kind in ("ImageRecordIter", "ImageRecordUInt8Iter")
}
NO_INDEX |= {"int8", *(name for name, (kind, _, _) in CASES.ITERATORS.items() if kind == "MNISTIter")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("io")
    CASES.write_inputs(path, HERE / "images", recordio)
    return path


def made(folder, name, **more):
    kind, given, _ = CASES.ITERATORS[name]
    return getattr(mx.io, kind)(**{**CASES.parameters(given, folder), **more})


def labels(iterator):
    return [batch.label[0].asnumpy().tolist() for batch in iterator]


def all_labels(iterator):
    return [label for batch in labels(iterator) for label in batch]


@pytest.mark.parametrize("name", CASES.ITERATORS)
def test_as_mxnet(name, folder):
    kind, given, epochs = CASES.ITERATORS[name]
    golden = GOLDEN[name]
    iterator = getattr(mx.io, kind)(**CASES.parameters(given, folder))
    for expected, found in (("data", iterator.provide_data), ("label", iterator.provide_label)):
        assert [[d.name, list(d.shape), onp.dtype(d.dtype).name] for d in found] == golden[expected]
    first = None
    for epoch in golden["epochs"]:
        batches = list(iterator)
        assert [batch.pad for batch in batches] == [pad for _, pad, _, _ in epoch]
        for batch, (label, pad, index, dtype) in zip(batches, epoch, strict=True):
            data = batch.data[0].asnumpy()
            first = data if first is None else first
            assert str(data.dtype) == dtype
            rows = len(data) - pad if "no_rounds" in name else len(data)  # MXNet leaves old rows there
            assert batch.label[0].asnumpy()[:rows].tolist() == label[:rows]
            if name not in NO_INDEX:
                assert batch.index[:rows].tolist() == index[:rows]
        iterator.reset()
    assert len(golden["epochs"]) == epochs
    onp.testing.assert_allclose(first, DATA[name], rtol=1e-6, atol=BOUNDS.get(name, 1e-6))


@pytest.mark.parametrize("name", ["rotate", "random_scale", "image_size", "aspect"])
def test_warping_without_opencv_is_mxnets_to_the_last_bit(name, folder, monkeypatch):
    monkeypatch.setattr(functional, "opencv", lambda: None)
    assert (next(made(folder, name)).data[0].asnumpy() == DATA[name]).all()
    with pytest.raises(ImportError, match="inter_method=2 needs OpenCV"):
        next(made(folder, name, inter_method=2))


def test_index_is_of_the_records(folder):
    assert next(made(folder, "rounds")).index.tolist() == [100, 101, 102, 103]


def test_rest_of_a_batch_without_rounds_is_zeros(folder):
    last = list(made(folder, "rounds", round_batch=False))[-1]
    assert last.pad == 2 and not last.data[0].asnumpy()[2:].any() and last.label[0].asnumpy().tolist() == [8, 9, 0, 0]


def test_reset_within_an_epoch_begins_at_the_first_sample(folder):
    iterator = made(folder, "rounds")
    next(iterator)
    iterator.reset()
    assert labels(iterator)[0] == [0, 1, 2, 3]
    with pytest.raises(StopIteration):
        iterator.next()
    iterator.reset()
    iterator.reset()  # nothing was read in between
    assert labels(iterator)[0] == [2, 3, 4, 5]
    for _ in range(3):  # all batches, but the end was not met
        iterator.reset()
        taken = [next(iterator).label[0].asnumpy()[0] for _ in range(1)]
    assert taken == [0]


def test_steps_by_hand(folder):
    iterator = made(folder, "rounds")
    with pytest.raises(ValueError, match="no batch at present"):
        iterator.getdata()
    found = []
    while iterator.iter_next():
        data, label = iterator.getitems()
        assert data is iterator.getdata() and data.shape == (4, 3, 8, 8)
        found.append((label.asnumpy().tolist(), iterator.getpad(), iterator.getindex().tolist()[0]))
    assert found[1:] == [([4, 5, 6, 7], 0, 104), ([8, 9, 0, 1], 2, 108)]


def test_debug_skip_load_repeats_a_batch(folder):
    iterator = made(folder, "rounds")
    iterator.debug_skip_load()
    assert next(iterator).data[0] is next(iterator).data[0]


def test_arrays_are_of_the_programs_kind(folder):
    from gluonx.compat.nd import NDArray

    assert type(next(made(folder, "mnist")).data[0]) is mx.np.ndarray
    mx.compat.install_as_mxnet(1)
    try:
        assert isinstance(next(made(folder, "mnist")).data[0], NDArray)
    finally:
        mx.compat.uninstall()


@pytest.mark.parametrize("index", [False, True])
def test_shuffling_is_seeded_and_each_epoch_another(folder, index):
    more = {"path_imgidx": str(folder / "images.idx")} if index else {}
    one, same, other = (made(folder, "exact", shuffle=True, seed=seed, **more) for seed in (3, 3, 4))
    first = all_labels(one)
    assert first == all_labels(same) != all_labels(other)
    assert sorted(first) == list(range(10)) != first
    one.reset()
    second = all_labels(one)
    assert second != first and sorted(second) == list(range(10))


def test_pieces_of_a_file_are_shuffled_and_complete(folder, monkeypatch):
    from gluonx.compat.io import records

    monkeypatch.setattr(records, "_MEGABYTE", 600)  # some records a piece
    iterator = made(folder, "exact", shuffle=True, shuffle_chunk_size=1)
    assert len(iterator._records.pieces) > 5
    assert sorted(all_labels(iterator)) == list(range(10))
    parts = [all_labels(made(folder, f"part_{i}_of_3", batch_size=1)) for i in range(3)]
    assert [label for part in parts for label in part] == list(range(10))


def test_several_files_and_folders(folder, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.rec").write_bytes((folder / "images.rec").read_bytes())
    several = made(folder, "exact", path_imgrec=f"{tmp_path / 'a.rec'};{tmp_path / 'b.rec'}")
    assert all_labels(several) == 2 * list(range(10))
    assert all_labels(made(folder, "exact", path_imgrec=str(tmp_path))) == 2 * list(range(10))
    halves = [made(folder, "exact", path_imgrec=str(tmp_path), num_parts=2, part_index=i) for i in range(2)]
    assert [all_labels(half) for half in halves] == 2 * [list(range(10))]


def test_augmentation_depends_on_the_seed_and_not_on_threads(folder):
    chance = {"rand_crop": True, "rand_mirror": True, "max_random_contrast": 0.2, "resize": 14}
    chance |= {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "pca_noise": 0.1, "max_random_illumination": 5}

    def pixels(**more):
        return next(made(folder, "larger_batch", **{**chance, **more})).data[0].asnumpy()

    base = pixels(seed_aug=7, preprocess_threads=1)
    assert (base == pixels(seed_aug=7, preprocess_threads=4)).all()
    assert (base != pixels(seed_aug=8)).any()
    iterator = made(folder, "exact", seed_aug=7, **chance)
    epochs = []
    for _ in range(2):
        epochs.append(next(iterator).data[0].asnumpy())
        iterator.reset()
    assert (epochs[0] != epochs[1]).any()


@pytest.mark.parametrize("rounds", [True, False])
def test_what_was_read_ahead_does_not_matter(folder, rounds):
    found = []
    for ahead in (1, 9):
        iterator = made(
            folder, "rounds", shuffle=True, rand_crop=True, rand_mirror=True, prefetch_buffer=ahead, round_batch=rounds
        )
        found.append([])
        for taken in (1, 3, 2, 4, 1, 9):
            for batch in itertools.islice(iterator, taken):
                found[-1].append((batch.label[0].asnumpy().tolist(), batch.data[0].asnumpy().tobytes()))
            iterator._reader.submit(int).result()  # all is read that will be
            iterator.reset()
    assert found[0] == found[1]


def test_random_crops_are_parts_of_the_image_and_mirrors_are_half(folder):
    whole = next(made(folder, "larger_batch", data_shape=(3, 12, 10))).data[0].asnumpy()
    iterator = made(folder, "larger_batch", data_shape=(3, 12, 10), rand_mirror=True, batch_size=10)
    flipped = []
    for _ in range(12):
        for batch in iterator:
            data = batch.data[0].asnumpy()
            same = (data == whole[:10]).all((1, 2, 3))
            assert (same | (data == whole[:10, :, :, ::-1]).all((1, 2, 3))).all()
            flipped.append(1 - same.mean())
        iterator.reset()
    assert 0.3 < onp.mean(flipped) < 0.7
    crops = made(folder, "exact", rand_crop=True)
    image = next(made(folder, "larger_batch", data_shape=(3, 12, 10), batch_size=1)).data[0].asnumpy()[0]
    windows = {image[:, y : y + 8, x : x + 8].tobytes(): (y, x) for y in range(5) for x in range(3)}
    places = set()
    for _ in range(20):
        places.add(windows[next(crops).data[0].asnumpy()[0].tobytes()])
        crops.reset()
    assert len(places) > 6


@pytest.mark.parametrize(
    "chance",
    [
        {"random_resized_crop": True, "min_random_area": 0.2, "min_aspect_ratio": 0.75, "max_aspect_ratio": 1.33},
        {"random_h": 36, "random_s": 50, "random_l": 50},
        {"max_rotate_angle": 10, "max_shear_ratio": 0.1},
        {"max_random_scale": 0.7},
    ],
)
def test_other_augmentation_changes_images(folder, chance):
    if "random_h" in chance:
        pytest.importorskip("cv2")
    base, data = (next(made(folder, "exact", **more)).data[0].asnumpy() for more in ({}, chance))
    assert (base != data).any() and data.min() >= 0 and data.max() <= 255


def test_boxes_follow_crops_and_pads(folder):
    """An object that is one white rectangle: where its box is after the augmentation, there the white is."""
    path = folder / "white.rec"
    with recordio.MXRecordIO(path, "w") as record:
        image = onp.zeros((120, 180, 3), "uint8")
        image[30:90, 45:135] = 255
        for i in range(24):
            label = [2, 5, i, 0.25, 0.25, 0.75, 0.75]
            record.write(recordio.pack_img((0, label, i, 0), image, img_fmt=".png", quality=1))
    ways = (
        {"rand_crop_prob": 1.0, "min_crop_scales": 0.5, "max_crop_scales": 0.9, "min_crop_object_coverages": 0.5},
        {"rand_pad_prob": 1.0, "max_pad_scale": 2.5, "fill_value": 0},
        {
            "rand_mirror_prob": 0.5,
            "rand_crop_prob": 0.7,
            "crop_emit_mode": "overlap",
            "rand_pad_prob": 0.5,
            "max_pad_scale": 2,
        },
    )
    for more in ways:
        batch = next(made(folder, "boxes", path_imgrec=str(path), data_shape=(3, 80, 120), batch_size=24, **more))
        boxes, pictures = batch.label[0].asnumpy()[:, 7:11], batch.data[0].asnumpy()[:, 0] > 128
        assert len({tuple(box) for box in boxes}) > 12
        for box, picture in zip(boxes, pictures, strict=True):
            rows, columns = onp.nonzero(picture)
            seen = [columns.min() / 120, rows.min() / 80, (columns.max() + 1) / 120, (rows.max() + 1) / 80]
            assert onp.abs(onp.array(seen) - box).max() < 0.03, (more, seen, box)


def test_texts_and_unknown_parameters(folder):
    with pytest.raises(TypeError, match="unexpected keyword argument 'rand_miror'; did you mean 'rand_mirror'"):
        made(folder, "rounds", rand_miror=True)
    with pytest.warns(UserWarning, match="input_shape=.* is ignored, as in MXNet"):
        made(folder, "mnist", input_shape=(1, 5, 4))
    for name in ("ImageRecordUInt8Iter", "ImageRecordUInt8Iter_v1"):
        with pytest.warns(UserWarning, match="mean_r ignored, as in MXNet"):
            getattr(mx.io, name)(**CASES.parameters(CASES.ITERATORS["uint8"][1], folder), mean_r=3)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("rounds", {"batch_size": 0}, "batch_size=0: a whole number of at least 1 was expected"),
        ("rounds", {"batch_size": "many"}, "batch_size='many'"),
        ("rounds", {"data_shape": (8, 8)}, "data_shape=.*: 3 sizes of at least 1 were expected"),
        ("rounds", {"data_shape": (2, 8, 8)}, "1, 3 or 4 channels"),
        ("rounds", {"shuffle": "maybe"}, "True or False was expected"),
        ("rounds", {"resize": 9.5}, "a whole number was expected"),
        ("rounds", {"part_index": 1}, "part_index must be from 0 to num_parts - 1"),
        ("rounds", {"path_imgrec": ""}, "needs path_imgrec"),
        ("rounds", {"dtype": "float16"}, "dtype must be float32"),
        ("rounds", {"random_resized_crop": True, "rand_crop": True}, "goes with none of"),
        ("rounds", {"max_crop_size": 8}, "go together"),
        ("rounds", {"inter_method": 7}, "inter_method must be"),
        ("rounds", {"min_random_area": 2}, "at most max_random_area"),
        ("rounds", {"min_random_scale": 0}, "must be positive"),
        ("rounds", {"aug_seq": "mine"}, "aug_seq='mine' is unknown"),
        ("boxes", {"label_pad_width": 5}, "smaller than the longest labels, 12 numbers"),
        ("boxes", {"label_width": 12}, "7 labels, but label_width is 12"),
        ("boxes", {"rand_crop_prob": 1, "num_crop_sampler": 3, "min_crop_scales": (0.1, 0.2)}, "one for each sampler"),
        ("csv", {"dtype": "float64"}, "dtype must be float32, int32 or int64"),
        ("svm", {"round_batch": False}, "not supported, as in MXNet"),
        ("svm", {"label_shape": (2,)}, "needs label_libsvm"),
    ],
)
def test_wrong_parameters_are_named(folder, name, wrong, message):
    with pytest.raises(ValueError, match=message):
        made(folder, name, **wrong)


def test_missing_files_are_named(folder):
    for name, key in (("rounds", "path_imgrec"), ("csv", "data_csv"), ("svm", "data_libsvm"), ("mnist", "image")):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            made(folder, name, **{key: str(folder / "nowhere")})


@pytest.mark.parametrize("threads", [1, 3])
def test_a_damaged_image_is_an_error_that_names_it_and_the_iterator_lives_on(folder, tmp_path, threads):
    path = tmp_path / "damaged.rec"
    with recordio.MXRecordIO(path, "w") as record:
        for i in range(6):
            good = recordio.pack_img((0, i, 70 + i, 0), onp.full((9, 9, 3), i, "uint8"))
            record.write(good if i != 3 else recordio.pack((0, i, 70 + i, 0), b"no image"))
    iterator = made(folder, "rounds", path_imgrec=str(path), batch_size=2, preprocess_threads=threads)
    assert next(iterator).pad == 0
    with pytest.raises(FormatError, match=r"offset \d+ of '.*damaged.rec', image 73 cannot be decoded"):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)
    iterator.reset()
    assert next(iterator).index.tolist() == [70, 71]


def test_a_cut_record_file_is_an_error_with_its_offset(folder, tmp_path):
    whole = (folder / "images.rec").read_bytes()
    (tmp_path / "cut.rec").write_bytes(whole[:-40])
    iterator = made(folder, "rounds", path_imgrec=str(tmp_path / "cut.rec"))
    with pytest.raises(FormatError, match=r"cut.rec' ends within the record at offset \d+"):
        list(iterator)
    with pytest.raises(FormatError, match="has a record at offset"):
        (tmp_path / "short.rec").write_bytes(whole[:400])
        made(folder, "rounds_index", path_imgrec=str(tmp_path / "short.rec"))
    (tmp_path / "none.rec").write_bytes(b"")
    with pytest.raises(FormatError, match="which is empty"):
        made(folder, "rounds", path_imgrec=str(tmp_path / "none.rec"))
    (tmp_path / "text.rec").write_text("no records at all here\n" * 3)
    with pytest.raises(FormatError, match="a record should be at offset 0"):
        next(made(folder, "rounds", path_imgrec=str(tmp_path / "text.rec")))


def test_an_index_of_another_file_is_named(folder, tmp_path):
    with recordio.MXIndexedRecordIO(str(tmp_path / "other.idx"), str(tmp_path / "other.rec"), "w") as other:
        for key in (5, 6):
            other.write_idx(key, bytes(33))
    with pytest.raises(FormatError, match=r"images.rec' is damaged.*'.*other.idx' has a record at offset 44, of key 6"):
        list(made(folder, "rounds_index", path_imgidx=str(tmp_path / "other.idx")))
    (tmp_path / "none.idx").write_text("7\t9999999\n")
    with pytest.raises(
        FormatError, match=r"none.idx' has a record at offset 9999999, of key 7, but '.*images.rec' has"
    ):
        made(folder, "rounds_index", path_imgidx=str(tmp_path / "none.idx"))


def test_labels_that_do_not_fit_are_named(folder, tmp_path):
    told = r"offset 0 of '.*several.rec', image \d+, has 3 labels, but label_width is 1"
    with pytest.raises(GluonxError, match=told):
        next(made(folder, "several_labels", label_width=1))
    (tmp_path / "few.lst").write_text("100\t1\ta\n101\t2\tb\n")
    with pytest.raises(FormatError, match=r"few.lst' has no labels for image 102"):
        next(made(folder, "rounds", path_imglist=str(tmp_path / "few.lst")))
    (tmp_path / "bad.lst").write_text("100\t1\ta\nx\t2\tb\n")
    with pytest.raises(FormatError, match=r"bad.lst', line 2"):
        made(folder, "rounds", path_imglist=str(tmp_path / "bad.lst"))
    with pytest.raises(FormatError, match="labels of detection are"):
        next(made(folder, "boxes", path_imgrec=str(folder / "images.rec")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3,x\n", "line 2: a number of float32 was expected, got 'x'"),
        (b"1,2\n\xff3,4\n", "line 2: a number of float32 was expected, got .*xff3"),
        ("1,2\n\n3\n", "line 3: 2 numbers were expected, got 1"),
    ],
)
def test_bad_rows_of_csv_are_named(tmp_path, text, message):
    (tmp_path / "bad.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(FormatError, match=f"bad.csv', {message}"):
        list(mx.io.CSVIter(data_csv=tmp_path / "bad.csv", data_shape=(2,), batch_size=1))


def test_csv_files_of_other_lengths(folder, tmp_path):
    (tmp_path / "few.csv").write_text("1\n2\n")
    with pytest.raises(FormatError, match=r"few.csv' has 2 rows of labels, but '.*rows.csv' has more"):
        list(made(folder, "csv", label_csv=str(tmp_path / "few.csv")))
    (tmp_path / "many.csv").write_text("1\n" * 99)
    with pytest.raises(FormatError, match=r"many.csv' has more rows of labels than '.*rows.csv' has rows"):
        list(made(folder, "csv", label_csv=str(tmp_path / "many.csv")))
    (tmp_path / "none.csv").write_text("\n")
    with pytest.raises(FormatError, match=r"no sample in '.*none.csv'"):
        next(made(folder, "csv", data_csv=str(tmp_path / "none.csv")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0:1\n2 0:x\n", "byte 6: 'label index:value"),
        ("1 0:1 3:2\n", "index 3 does not fit a row of 3"),
        ("1 0\n", "byte 0"),
        ("1 0:1\n2 2:1 0:3 2:1\n", "byte 6: index 2 stands there more than once"),
    ],
)
def test_bad_rows_of_libsvm_are_named(tmp_path, text, message):
    (tmp_path / "bad.svm").write_text(text)
    with pytest.raises(FormatError, match=f"bad.svm', .*{message}"):
        list(mx.io.LibSVMIter(data_libsvm=tmp_path / "bad.svm", data_shape=(3,), batch_size=1))


def test_parts_of_libsvm_have_the_labels_of_their_rows(tmp_path):
    (tmp_path / "rows.svm").write_text("# head\n" + "".join(f"0 0:{i}\n" for i in range(20)))
    (tmp_path / "labels.svm").write_text("".join(f"0 0:{i}{'.000' * (i > 12)}\n" for i in range(20)))
    found = []
    for part in range(3):
        batches = mx.io.LibSVMIter(
            data_libsvm=tmp_path / "rows.svm",
            label_libsvm=tmp_path / "labels.svm",
            data_shape=(1,),
            batch_size=1,
            num_parts=3,
            part_index=part,
        )
        found += [(batch.data[0].item(), batch.label[0].item()) for batch in batches]
    assert found == [(i, i) for i in range(20)]


def test_libsvm_gives_csr_matrices(folder):
    for batch in made(folder, "svm"):
        assert isinstance(batch.data[0], mx.nd.sparse.CSRNDArray) and batch.label[0].stype == "default"
        batch.data[0].check_format()
    assert next(made(folder, "svm_labels")).label[0].stype == "csr"


def test_mnist_compressed_shuffled_and_damaged(folder, tmp_path):
    for name in ("images-idx3", "labels-idx1"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    files = {"image": str(tmp_path / "images-idx3"), "label": str(tmp_path / "labels-idx1")}
    plain, packed = next(made(folder, "mnist")), next(made(folder, "mnist", **files))
    assert (plain.data[0].asnumpy() == packed.data[0].asnumpy()).all()
    shuffled = made(folder, "mnist", shuffle=True, seed=5, batch_size=1)
    order = labels(shuffled)
    shuffled.reset()
    assert labels(shuffled) == order != sorted(order) and sorted(order) == [[i] for i in range(7)]
    assert labels(made(folder, "mnist", shuffle=True, seed=-5, batch_size=1)) == order
    content = (folder / "images-idx3").read_bytes()
    for wrong, message in (
        (content[:-1], "should have 156 bytes"),
        (b"\x1f\x8b" + content, "is damaged"),
        (b"abc", "has 3 bytes"),
    ):
        (tmp_path / "wrong").write_bytes(wrong)
        with pytest.raises(FormatError, match=f"wrong'.*{message}"):
            made(folder, "mnist", image=str(tmp_path / "wrong"))
    with pytest.raises(FormatError, match="no such file"):
        made(folder, "mnist", image=str(folder / "images.rec"))
    with pytest.raises(GluonxError, match=r"20 images, but .* 7 labels"):
        (tmp_path / "more").write_bytes(CASES.idx(20, 5, 4))
        made(folder, "mnist", image=str(tmp_path / "more"))


def of_io():
    return [thread for thread in threading.enumerate() if thread.name.startswith("gluonx.io")]


def test_threads_end_with_the_iterator(folder):
    before = set(of_io())
    iterator = made(folder, "rounds", preprocess_threads=3)
    for _ in range(5):
        next(iterator)
        iterator.reset()
    assert 0 < len(set(of_io()) - before) <= 4  # one that reads, three that decode
    iterator.close()
    assert not set(of_io()) - before
    iterator.reset()
    assert labels(iterator)[0] == [0, 1, 2, 3]
    threads = set(of_io()) - before
    del iterator
    for thread in threads:
        thread.join(10)
    assert not set(of_io()) & threads


def test_at_most_so_many_batches_are_ahead(folder):
    iterator = made(folder, "rounds", batch_size=1, prefetch_buffer=2)
    made_so_far = []
    make = iterator._make
    iterator._make = lambda samples: made_so_far.append(len(samples)) or make(samples)
    next(iterator)
    iterator._reader.submit(int).result()  # all that was asked for is done
    assert len(made_so_far) == 2
    next(iterator)
    iterator._reader.submit(int).result()
    assert len(made_so_far) == 3


@pytest.mark.slow
def test_memory_is_flat_over_epochs(folder):
    import psutil

    process = psutil.Process()
    iterator = made(folder, "rounds", data_shape=(3, 200, 200), batch_size=10, shuffle=True)
    sizes = []
    for _ in range(80):  # of 4.8 MB a batch
        for batch in iterator:
            batch.data[0].asnumpy()
        iterator.reset()
        sizes.append(process.memory_info().rss)
    assert max(sizes[40:]) < max(sizes[:40]) + 30 * 2**20, sizes


def test_module_is_trained_from_a_file(folder):
    rows = made(folder, "csv", label_csv=str(folder / "labels.csv"))
    net = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1), name="softmax")
    module = mx.mod.Module(net)
    module.fit(rows, num_epoch=2, eval_metric="mse")
    assert onp.isfinite(module.score(rows, "mse")[0][1])


# -- iterators over iterators ---------------------------------------------------------------------------------------


def test_resize_iter():
    rows = mx.io.NDArrayIter(onp.arange(4.0), onp.zeros(4), 2)
    longer = mx.io.ResizeIter(rows, 3)
    assert [b.data[0].asnumpy().tolist() for b in longer] == [[0, 1], [2, 3], [0, 1]]
    longer.reset()
    assert next(longer).data[0].asnumpy().tolist() == [0, 1]
    goes_on = mx.io.ResizeIter(mx.io.NDArrayIter(onp.arange(6.0), batch_size=2), 1, reset_internal=False)
    found = []
    for _ in range(4):
        found += [b.data[0].asnumpy()[0] for b in goes_on]
        goes_on.reset()
    assert found == [0, 2, 4, 0]
    assert longer.provide_data == rows.provide_data and longer.batch_size == 2 and longer.getpad() == 0


def test_prefetching_iter():
    rows = mx.io.PrefetchingIter(mx.io.NDArrayIter(onp.arange(5.0), onp.arange(5.0), 2))
    for _ in range(2):
        found = [(b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist(), b.pad) for b in rows]
        assert found == [([0, 1], [0, 1], 0), ([2, 3], [2, 3], 0), ([4, 0], [4, 0], 1)]
        rows.reset()
    next(rows)
    rows.reset()
    assert next(rows).data[0].asnumpy().tolist() == [0, 1]
    assert rows.batch_size == 2 and rows.current_batch.provide_data == rows.provide_data


def test_prefetching_iter_over_several():
    one, two = (
        mx.io.NDArrayIter({"a": onp.arange(4.0)}, None, 2),
        mx.io.NDArrayIter({"a": onp.arange(4.0)}, onp.ones(4), 2),
    )
    rows = mx.io.PrefetchingIter([one, two], [{"a": "x"}, {"a": "y"}], [{}, {"softmax_label": "z"}])
    assert [d.name for d in (*rows.provide_data, *rows.provide_label)] == ["x", "y", "z"]
    batch = next(rows)
    assert [x.asnumpy().tolist() for x in batch.data] == [[0, 1], [0, 1]] and len(batch.label) == 1
    shorter = mx.io.PrefetchingIter(
        [mx.io.NDArrayIter(onp.arange(2.0), None, 2), mx.io.NDArrayIter(onp.arange(4.0), None, 2)]
    )
    next(shorter)
    with pytest.raises(GluonxError, match="some iterators have ended"):
        next(shorter)


class Failing(mx.io.DataIter):
    provide_data = provide_label = (mx.io.DataDesc("data", (1,)),)

    def next(self):
        raise KeyError("the third shelf")


def test_errors_come_out_of_the_thread():
    rows = mx.io.PrefetchingIter(Failing())
    with pytest.raises(KeyError, match="third shelf"):
        next(rows)
    rows.reset()


def test_interface_says_that_it_is_one():
    with pytest.raises(NotImplementedError, match="use one of the iterators"):
        next(mx.io.MXDataIter(1, mx.io.DataDesc("data", (1,)), mx.io.DataDesc("label", (1,))))
