"""Data sets of images: files in MXNet's forms, made here, and what is wrong with others."""

import gzip
import hashlib
import io
import struct
import tarfile

import numpy as onp
import pytest

from gluonx import gluon, np, recordio
from gluonx.data import DataLoader
from gluonx.data.vision import functional
from gluonx.data.vision import transforms as T
from gluonx.errors import ArgumentError, FormatError, GluonxError

vision = gluon.data.vision
RNG = onp.random.default_rng(0)


def sha1(data):
    return hashlib.sha1(data).hexdigest()


def idx(array):
    head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return gzip.compress(head + array.tobytes(), mtime=0)


@pytest.fixture
def digits(tmp_path, monkeypatch):
    """A folder with MNIST's files, of 20 images each, and their hashes where MXNet's are."""
    images, labels = RNG.integers(0, 256, (20, 28, 28), dtype="uint8"), onp.arange(20, dtype="uint8") % 10
    for attribute, stem in (("_train_files", "train"), ("_test_files", "t10k")):
        files = []
        for name, array in ((f"{stem}-images-idx3-ubyte.gz", images), (f"{stem}-labels-idx1-ubyte.gz", labels)):
            (tmp_path / name).write_bytes(idx(array))
            files.append((name, sha1(idx(array))))
        monkeypatch.setattr(vision.MNIST, attribute, tuple(files))
    return tmp_path, images, labels


def rows_of(count, labels, seed):
    return onp.random.default_rng(seed).integers(0, 256, (count, labels + 3072), dtype="uint8")


@pytest.fixture
def cifar(tmp_path, monkeypatch):
    """A folder with CIFAR's archives, of few images."""
    wanted = {}
    for klass, count in ((vision.CIFAR10, 1), (vision.CIFAR100, 2)):
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w:gz") as archive:
            for attribute in ("_train_files", "_test_files"):
                files = []
                for seed, (name, _) in enumerate(getattr(klass, attribute)):
                    rows = wanted[name] = rows_of(4, count, seed)
                    files.append((name, sha1(rows.tobytes())))
                    info = tarfile.TarInfo("../elsewhere/" + name)
                    info.size = rows.nbytes
                    archive.addfile(info, io.BytesIO(rows.tobytes()))
                monkeypatch.setattr(klass, attribute, tuple(files))
        name = klass._archive[0]
        (tmp_path / name).write_bytes(tar.getvalue())
        monkeypatch.setattr(klass, "_archive", (name, sha1(tar.getvalue())))
    return tmp_path, wanted


def test_mnist(digits):
    root, images, _ = digits
    data = vision.MNIST(root)
    image, label = data[3]
    assert isinstance(image, type(np.ones(1))) and image.dtype == "uint8" and image.shape == (28, 28, 1)
    assert type(label) is onp.int32 and label == 3 and len(data) == 20
    onp.testing.assert_array_equal(image.asnumpy()[..., 0], images[3])
    some, which = data[2:5]
    assert some.shape == (3, 28, 28, 1) and which.tolist() == [2, 3, 4]
    assert data._data.shape == (20, 28, 28, 1)
    (batch,) = DataLoader(data, 20)
    assert batch[0].dtype == "uint8" and batch[1].dtype == "int32"
    onp.testing.assert_array_equal(batch[0].asnumpy()[..., 0], images)
    (batch,) = DataLoader(vision.MNIST(root, train=False).transform_first(T.ToTensor()), 20)
    onp.testing.assert_allclose(batch[0].asnumpy()[:, 0], images / 255, rtol=1e-6)


def test_what_is_written_into_a_sample_stays_there(digits):
    data = vision.MNIST(digits[0])
    image, _ = data[0]
    image[:] = 0
    assert data[0][0].asnumpy().any()
    (batch,) = DataLoader(data.transform_first(T.CenterCrop(28)), 20)
    batch[0][:] = 0
    assert data[0][0].asnumpy().any()


class Inverted(T.Cast):
    def on_host(self, x):
        return onp.subtract(255, x, out=x)


def test_what_a_transform_writes_into_an_image_stays_there(cifar):
    data = vision.CIFAR10(cifar[0])
    for _ in range(2):
        (batch,) = DataLoader(data.transform_first(Inverted()), len(data))
        onp.testing.assert_array_equal(255 - batch[0].asnumpy(), data[:][0].asnumpy())


def test_a_transform_in_the_constructor_takes_both(digits):
    data = vision.MNIST(digits[0], transform=lambda image, label: (image.astype("float32") / 255, label + 1))
    assert isinstance(data[3][0], type(np.ones(1))) and data[3][1] == 4
    (batch,) = DataLoader(data, 20)
    assert float(batch[0].max()) <= 1 and batch[1].tolist()[3] == 4


def test_a_users_function_is_given_what_mxnet_gives(digits):
    data = vision.MNIST(digits[0]).transform(lambda image, label: (image.asnumpy().astype("float32"), int(label)))
    (batch,) = DataLoader(data, 20)
    assert batch[0].shape == (20, 28, 28, 1) and batch[1].tolist()[:3] == [0, 1, 2]


class Brighter(vision.MNIST):
    def __getitem__(self, idx):
        image, label = super().__getitem__(idx)
        return image.astype("float32") * 2, label


def test_an_overridden_item_is_not_passed_over(digits):
    (batch,) = DataLoader(Brighter(digits[0]), 20)
    onp.testing.assert_allclose(batch[0].asnumpy()[..., 0], digits[1] * 2.0)


class OfMXNet(vision.datasets._DownloadedDataset):
    """A data set that a program for MXNet derives."""

    def _get_data(self):
        self._data, self._label = np.ones((4, 2, 3, 1), dtype="uint8"), onp.arange(4)


def test_a_derived_data_set(tmp_path):
    data = OfMXNet(tmp_path / "new", None)
    assert len(data) == 4 and data[3][0].shape == (2, 3, 1) and data[3][1] == 3 and (tmp_path / "new").is_dir()
    (batch,) = DataLoader(data, 4)
    assert batch[0].dtype == "uint8" and batch[1].tolist() == [0, 1, 2, 3]


def test_fashion_mnist_is_in_its_own_folder(digits, monkeypatch):
    monkeypatch.setattr(vision.FashionMNIST, "_train_files", vision.MNIST._train_files)
    monkeypatch.setenv("MXNET_HOME", str(digits[0] / "home"))
    (digits[0] / "home" / "datasets").mkdir(parents=True)
    (digits[0] / "home" / "datasets" / "fashion-mnist").symlink_to(digits[0])
    assert len(vision.FashionMNIST()) == 20


def test_files_are_fetched_from_the_repository(digits, tmp_path, monkeypatch):
    there = tmp_path / "repository" / "gluon" / "dataset" / "mnist"
    there.mkdir(parents=True)
    for name, _ in vision.MNIST._train_files:
        (tmp_path / name).rename(there / name)
    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "repository").as_uri())
    assert len(vision.MNIST(tmp_path / "new")) == 20
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [name for name, _ in vision.MNIST._train_files]
    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "nothing").as_uri())
    with pytest.raises(GluonxError, match=r"cannot be fetched: .* Put train-\S+gz into \S+newer, or a server"):
        vision.MNIST(tmp_path / "newer")


@pytest.mark.parametrize("cut", ["bytes", "rows", "gzip", "kind"])
def test_damaged_mnist(digits, cut, monkeypatch):
    root, images, _ = digits
    (name, wanted), _ = vision.MNIST._train_files
    data = {
        "bytes": idx(images)[:-9] + bytes(9),
        "gzip": idx(images)[:500],
        "rows": idx(images[:-1]),
        "kind": gzip.compress(b"hello, world"),
    }[cut]
    (root / name).write_bytes(data)
    with pytest.raises(FormatError, match=f"{name} is damaged, or another file: its SHA-1 is not {wanted}"):
        vision.MNIST(root)
    monkeypatch.setattr(vision.MNIST, "_train_files", ((name, sha1(data)), vision.MNIST._train_files[1]))
    with pytest.raises(FormatError, match=name):  # also where the hash is right
        vision.MNIST(root)


def test_cifar(cifar):
    root, wanted = cifar
    data = vision.CIFAR10(root)
    image, label = data[5]
    row = wanted["data_batch_2.bin"][1]
    assert len(data) == 20 and label == row[0] and label.dtype == "int32"
    onp.testing.assert_array_equal(image.asnumpy(), row[1:].reshape(3, 32, 32).transpose(1, 2, 0))
    assert len(vision.CIFAR10(root, train=False)) == 4
    row = wanted["train.bin"][2]
    assert vision.CIFAR100(root)[2][1] == row[0] and vision.CIFAR100(root, fine_label=True)[2][1] == row[1]
    assert not (root.parent / "elsewhere").exists()  # members of an archive are put where they belong


def test_damaged_cifar(cifar):
    root, _ = cifar
    vision.CIFAR10(root)
    (root / "data_batch_3.bin").write_bytes(b"short")
    with pytest.raises(FormatError, match=r"data_batch_3\.bin is damaged, or another file"):
        vision.CIFAR10(root)


# -- the user's own ---------------------------------------------------------------------------------------------------

IMAGES = [RNG.integers(0, 256, (10 + i, 12, 3), dtype="uint8") for i in range(4)]


@pytest.fixture
def folder(tmp_path):
    for place, image in enumerate(IMAGES):
        home = tmp_path / "root" / ("cat", "dog")[place % 2]
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{place}.PNG").write_bytes(functional.encode(image, fmt=".png"))
    return tmp_path / "root"


def test_folders(folder):
    data = vision.ImageFolderDataset(folder)
    assert data.synsets == ["cat", "dog"] and [label for _, label in data.items] == [0, 0, 1, 1] and len(data) == 4
    image, label = data[2]
    onp.testing.assert_array_equal(image.asnumpy(), IMAGES[1])
    assert label == 1
    assert vision.ImageFolderDataset(folder, flag=0)[0][0].shape == (10, 12, 1)
    chain = T.Compose([T.Resize(8), T.ToTensor()])
    batches = list(DataLoader(data.transform_first(chain), 2))
    assert [b[0].shape for b in batches] == [(2, 3, 8, 8)] * 2
    assert [b[1].tolist() for b in batches] == [[0, 0], [1, 1]]


def test_folders_with_other_things_in_them(folder):
    (folder / "notes.txt").write_text("a")
    (folder / "cat" / "notes.txt").write_text("a")
    with pytest.warns(UserWarning) as caught:
        assert len(vision.ImageFolderDataset(folder)) == 4
    assert [str(w.message).split("/")[-1].split(",")[0] for w in caught] == [
        "notes.txt. Only support .jpg",
        "notes.txt",
    ]
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*nothing'"):
        vision.ImageFolderDataset(folder / "nothing")


@pytest.mark.dear
@pytest.mark.parametrize("workers", [0, 2])
def test_a_damaged_image_in_the_middle_of_an_epoch(folder, workers):
    path = folder / "dog" / "1.PNG"
    path.write_bytes(path.read_bytes()[:40])
    data = vision.ImageFolderDataset(folder).transform_first(T.Compose([T.Resize(8), T.ToTensor()]))
    loader = DataLoader(data, 1, num_workers=workers)
    seen = []
    with pytest.raises(FormatError, match=r"dog/1.PNG cannot be decoded \(40 bytes\)") as caught:
        for images, _ in loader:
            seen.append(images.shape)
    assert len(seen) == 2
    assert any("dataset[2]" in note for note in caught.value.__notes__)


@pytest.mark.dear
def test_lists(folder):
    entries = [[3, "cat/0.PNG"], [[1.5, 2], "dog/1.PNG"], [4, 5, "cat/2.PNG"]]
    data = vision.ImageListDataset(folder, entries)
    assert [label.tolist() for _, label in data] == [[3], [1.5, 2], [4, 5]] and data[1][1].dtype == "float32"
    onp.testing.assert_array_equal(data[1][0].asnumpy(), IMAGES[1])
    (folder / "some.lst").write_text("7\t3\tcat/0.PNG\n2\t1.5\t2\tdog/1.PNG\n")
    data = vision.ImageListDataset(folder, "some.lst", flag=0)
    assert [label.tolist() for _, label in data] == [[3], [1.5, 2]] and data[0][0].shape == (10, 12, 1)


@pytest.mark.parametrize(
    ("imglist", "error", "says"),
    [
        (None, ArgumentError, "imglist must be filename or list"),
        ([["cat/0.PNG"]], ArgumentError, r"imglist\[0\]: \[label, ..., file\] was expected, got"),
        ([[1, "cat/0.PNG"], [1, 2]], ArgumentError, r"imglist\[1\]"),
        ([["one", "cat/0.PNG"]], ArgumentError, r"imglist\[0\]"),
        ("bad.lst", FormatError, r"bad.lst', line 2: 'number TAB label TAB ... TAB file' was expected"),
        ("twice.lst", FormatError, r"twice.lst', line 3: there is an image with the number 4 above"),
        ("none.lst", FileNotFoundError, "none.lst"),
    ],
)
def test_lists_that_are_none(folder, imglist, error, says):
    (folder / "bad.lst").write_text("0\t3\tcat/0.PNG\n1 2 dog/1.PNG\n")
    (folder / "twice.lst").write_text("4\t3\tcat/0.PNG\n5\t1\tcat/0.PNG\n4\t2\tdog/1.PNG\n")
    with pytest.raises(error, match=says):
        vision.ImageListDataset(folder, imglist)


def test_labels_of_other_lengths_do_not_become_a_batch(folder):
    data = vision.ImageListDataset(folder, [[3, "cat/0.PNG"], [[1.5, 2], "cat/0.PNG"]])
    with pytest.raises(ValueError, match=r"samples of one shape are needed, got shapes \[\(1,\), \(2,\)\]") as caught:
        next(iter(DataLoader(data, 2)))
    assert "indices [0, 1] of ImageListDataset('" in caught.value.__notes__[0]


@pytest.fixture
def records(tmp_path):
    with recordio.MXIndexedRecordIO(str(tmp_path / "a.idx"), str(tmp_path / "a.rec"), "w") as file:
        for place, image in enumerate(IMAGES):
            label = float(place) if place % 2 else [1.0, 2.0]
            packed = recordio.pack_img((0, label, place, 0), image[..., ::-1], 9, ".png")
            file.write_idx(place, packed if place < 3 else packed[:60])
        file.write_idx(4, b"no header")
    return tmp_path / "a.rec"


@pytest.mark.dear
def test_records(records):
    data = vision.ImageRecordDataset(records)
    assert len(data) == 5 and data[1][1] == 1.0 and data[2][1].tolist() == [1, 2]
    onp.testing.assert_array_equal(data[2][0].asnumpy(), IMAGES[2])
    assert vision.ImageRecordDataset(records, 0)[0][0].shape == (10, 12, 1)
    with pytest.raises(FormatError, match=r"record 3 of .*a.rec cannot be decoded"):
        data[3]
    with pytest.raises(FormatError, match=r"record 4 of .*a.rec: unpack: a packed record begins with a header"):
        data[4]
    for workers in (0, 1):
        loader = DataLoader(data.take(3).transform_first(T.Resize(6)), 1, num_workers=workers)
        assert [images.shape for images, _ in loader] == [(1, 6, 6, 3)] * 3
