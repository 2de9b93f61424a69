"""Transforms of images: the host's form gives what the device's gives, and the loader takes it."""

import numpy as onp
import pytest

from gluonx import HybridBlock, autograd, nn, np, random
from gluonx.data import ArrayDataset, DataLoader, batchify
from gluonx.data.vision import functional
from gluonx.data.vision import transforms as T
from gluonx.errors import ShapeError
from lib.data_samples import XLAStarted


def picture(*shape):
    return onp.random.default_rng(3).integers(0, 256, shape).astype("uint8")


IMAGE, BATCH = picture(37, 53, 3), picture(2, 20, 24, 3)
GRAY = picture(20, 24, 1)
TENSOR = functional.to_tensor(IMAGE)

# What draws nothing, or draws from bounds that are equal.
FIXED = [
    (T.ToTensor(), IMAGE, 1e-6),
    (T.ToTensor(), BATCH, 1e-6),
    (T.ToTensor(), IMAGE.astype("float32"), 1e-6),
    (T.Normalize((0.1, 0.2, 0.3), (0.5, 0.6, 0.7)), TENSOR, 1e-6),
    (T.Normalize(0.5, 0.25), TENSOR[None], 1e-6),
    (T.Rotate(30), TENSOR, 1e-5),
    (T.Rotate(-100, zoom_in=True), TENSOR, 1e-5),
    (T.Rotate(60, zoom_out=True), TENSOR[None], 1e-5),
    (T.RandomRotation((-30, 30), rotate_with_proba=0), TENSOR, 0),
    (T.CropResize(1, 2, 20, 30), IMAGE, 0),
    (T.CropResize(1, 2, 20, 12, (10, 11), 2), BATCH, 1),
    (T.CenterCrop(20), IMAGE, 0),
    (T.CenterCrop((80, 20)), IMAGE, 1),
    (T.CenterCrop(60), BATCH, 1),
    *[(T.Resize((20, 30), interpolation=i), IMAGE, 1) for i in range(5)],
    *[(T.Resize(70, True, i), GRAY, 1) for i in range(5)],
    (T.Resize(16), BATCH, 1),
    (T.Resize(30), IMAGE.astype("float32"), 1e-2),
    (T.RandomCrop((53, 37)), IMAGE, 0),
    (T.RandomResizedCrop((53, 37), (1, 1), (53 / 37, 53 / 37)), IMAGE, 0),
    *[(flip(p), IMAGE, 0) for flip in (T.RandomFlipLeftRight, T.RandomFlipTopBottom) for p in (0, 1)],
    *[(T.RandomGray(p), IMAGE, 1e-3) for p in (0, 1)],
    (T.RandomBrightness(0), IMAGE, 0),
    (T.RandomContrast(0), IMAGE, 1),
    (T.RandomSaturation(0), IMAGE, 1),
    (T.RandomHue(0), IMAGE, 1),
    (T.RandomColorJitter(0, 0, 0, 0), IMAGE, 0),
    (T.RandomLighting(0), IMAGE, 0),
    (T.Cast("float16"), IMAGE, 0),
    (T.RandomApply(T.ToTensor(), 1.0), IMAGE, 1e-6),
    (T.RandomApply(T.ToTensor(), 0.0), IMAGE, 0),
    (T.HybridRandomApply(T.RandomFlipLeftRight(1), 1.0), IMAGE, 0),
    (T.HybridRandomApply(T.RandomFlipLeftRight(1), 0.0), IMAGE, 0),
    (T.Compose([T.Resize(30), T.CenterCrop(20), T.ToTensor(), T.Rotate(10), T.Normalize(0.5, 0.5)]), IMAGE, 0.02),
    (T.HybridCompose([T.CenterCrop(20), T.ToTensor()]), IMAGE, 1e-6),
]


@pytest.mark.parametrize(
    ("transform", "image", "by"), FIXED, ids=[f"{type(t).__name__}{i}" for i, (t, _, _) in enumerate(FIXED)]
)
def test_the_host_gives_what_the_device_gives(transform, image, by):
    before = image.copy()
    host, device = transform(image), transform(np.array(image, dtype=image.dtype))
    assert type(host) is onp.ndarray and isinstance(device, type(np.ones(1)))
    assert host.dtype == device.dtype and host.shape == device.shape
    onp.testing.assert_allclose(host.astype("float64"), device.asnumpy().astype("float64"), rtol=1e-5, atol=by)
    onp.testing.assert_array_equal(image, before)


# Of each, `outcomes` of an image of noise must vary, and lie where those of the device lie.
RANDOM = [
    T.RandomCrop(20),
    T.RandomCrop(40, pad=4, pad_value=9),
    T.RandomResizedCrop(20),
    T.RandomFlipLeftRight(),
    T.RandomFlipTopBottom(0.3),
    T.RandomBrightness(0.5),
    T.RandomContrast(0.5),
    T.RandomSaturation(0.5),
    T.RandomHue(0.3),
    T.RandomColorJitter(0.3, 0.3, 0.3, 0.2),
    T.RandomLighting(0.5),
    T.RandomGray(),
    T.RandomApply(T.RandomFlipLeftRight(1)),
]


@pytest.mark.slow
@pytest.mark.parametrize("transform", RANDOM, ids=lambda t: type(t).__name__)
def test_draws_of_the_host_are_distributed_as_those_of_the_device(transform):
    image = onp.zeros((37, 53, 3), "uint8")
    image[:, :26] = [[[200, 100, 50]]]
    image[20:] //= 2

    def statistics(x):
        return [float(f(transform(x).astype("float32").mean((0, 1)))) for f in (onp.sum, lambda m: float(m[0]))]

    random.seed(5)
    on_device = np.array(image, dtype="uint8")
    host = onp.array([statistics(image) for _ in range(60)])
    device = onp.array(
        [
            [float(m.sum()), float(m[0])]
            for m in (transform(on_device).astype("float32").asnumpy().mean((0, 1)) for _ in range(60))
        ]
    )
    spread = device.std(0) + 1e-6
    assert (abs(host.mean(0) - device.mean(0)) < 5 * spread * (2 / 60) ** 0.5 + 1).all()
    flips = isinstance(transform, (T.RandomFlipLeftRight, T.RandomFlipTopBottom, T.RandomApply))
    assert flips or (host.std(0).max() > 0 and abs(onp.log(host.std(0).max() / spread.max())) < 1)


def test_draws_repeat_with_the_seed():
    def draw():
        return [t(IMAGE).tobytes() for t in RANDOM]

    random.seed(3)
    first = draw()
    assert draw() != first
    random.seed(3)
    assert draw() == first


def test_random_flips_happen_as_often_as_told():
    flips = [T.RandomFlipLeftRight(0.25)(IMAGE)[0, 0, 0] == IMAGE[0, -1, 0] for _ in range(400)]
    assert 60 < sum(flips) < 140


def test_random_crops_are_parts_at_all_places():
    ramp = onp.arange(6 * 5, dtype="uint8").reshape(5, 6, 1)
    seen = set()
    for _ in range(200):
        part = T.RandomCrop(3)(ramp)
        assert (onp.diff(part[..., 0], axis=1) == 1).all() and part.shape == (3, 3, 1)
        seen.add(int(part[0, 0, 0]))
    assert len(seen) >= 6


@pytest.mark.parametrize("interp", range(5))
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "int16"])
def test_resizing_without_opencv_is_the_same(interp, dtype, monkeypatch):
    cases = [(w, h) for w in (11, 26, 53, 106, 130) for h in (9, 18, 37, 74, 90)]
    image = IMAGE.astype(dtype)
    with_it = [functional.resize(image, w, h, interp) for w, h in cases]
    monkeypatch.setattr(functional, "opencv", lambda: None)
    for (w, h), one in zip(cases, with_it, strict=True):
        other = functional.resize(image, w, h, interp)
        assert other.dtype == one.dtype == dtype
        onp.testing.assert_allclose(other.astype(float), one.astype(float), atol=1e-2 if dtype[0] == "f" else 1)


def test_resizing_of_what_opencv_does_not_take():
    for image in (picture(10, 12, 6), picture(10, 12, 3).astype("int64"), picture(10, 12, 3).astype("float16")):
        out = functional.resize(image, 6, 5, 3)
        assert out.dtype == image.dtype and out.shape == (5, 6, image.shape[2])
        mean = image.astype(float).reshape(5, 2, 6, 2, -1).mean((1, 3))
        onp.testing.assert_allclose(out.astype(float), mean, atol=0.6)


class Halved(HybridBlock):
    """A user's own transform, written for ndarrays."""

    def forward(self, x):
        return npx_half(x)


def npx_half(x):
    assert isinstance(x, type(np.ones(1))), type(x)
    return x.astype("float32") * 0.5


def test_a_users_transform_is_given_ndarrays():
    chain = T.Compose([T.CenterCrop(20), Halved(), T.Cast("float16")])
    assert chain(IMAGE).dtype == "float16"
    onp.testing.assert_array_equal(chain(IMAGE), T.CenterCrop(20)(IMAGE).astype("float16") / 2)


class Third(T.Resize):
    """A transform of ours with a forward of the user's, which counts."""

    def forward(self, x):
        return npx_half(x)


def in_a_set(transform):
    images = ArrayDataset([IMAGE, IMAGE], [1, 2])
    return images.transform_first(transform)


def sequence(*blocks, hybrid=False):
    out = nn.HybridSequential() if hybrid else nn.Sequential()
    out.add(*blocks)
    return out


CHAINS = [
    T.Compose([T.CenterCrop(20), T.ToTensor()]),
    sequence(T.CenterCrop(20), T.ToTensor()),
    sequence(T.CenterCrop(20), T.ToTensor(), hybrid=True),
    sequence(sequence(T.CenterCrop(20)), T.ToTensor()),
]


@pytest.mark.parametrize("chain", CHAINS)
def test_the_loader_runs_chains_on_the_host(chain, monkeypatch):
    def never(*args):
        raise AssertionError("an operator of the device ran")

    monkeypatch.setattr(T.ToTensor, "_on_device", never)
    monkeypatch.setattr(T.CenterCrop, "_on_device", never)
    ((images, labels),) = DataLoader(in_a_set(chain), 2)
    assert images.shape == (2, 3, 20, 20) and labels.tolist() == [1, 2]
    onp.testing.assert_array_equal(images[0].asnumpy(), T.ToTensor()(T.CenterCrop(20)(IMAGE)))


def test_an_overridden_forward_is_not_passed_over():
    image, _ = in_a_set(T.Compose([T.ToTensor(), Third(3)]))[0]
    onp.testing.assert_allclose(image, TENSOR / 2)


def test_other_arguments_pass():
    image, label = T.ToTensor()(IMAGE, 3)
    assert label == 3 and image.shape == (3, 37, 53)
    image, label = T.Compose([T.CenterCrop(8), T.ToTensor()])(np.array(IMAGE, dtype="uint8"), 3)
    assert label == 3 and image.shape == (3, 8, 8)


@pytest.mark.dear
def test_gradients_flow_through_rotation():
    x = np.array(TENSOR)
    x.attach_grad()
    with autograd.record():
        y = T.Rotate(90)(x).sum()
    y.backward()
    assert float(x.grad.sum()) > 1000


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: T.RandomCrop(0), "size must be one positive number"),
        (lambda: T.RandomCrop(4, pad=(1, 2)), "pad must be one number, or four"),
        (lambda: T.RandomRotation((3, 2)), "ordered tuple"),
        (lambda: T.RandomRotation((2, 3), rotate_with_proba=2), "a probability between 0 and 1"),
        (lambda: T.RandomApply(T.ToTensor(), -1), "a probability between 0 and 1"),
        (lambda: T.HybridCompose([nn.Lambda("tanh")]), "not a HybridBlock, try use `Compose`"),
        (lambda: T.HybridRandomApply(nn.Lambda("tanh")), "takes a HybridBlock, got Lambda"),
        (lambda: T.RandomColorJitter(hue=-1), "hue must not be negative"),
        (lambda: T.RandomResizedCrop(4, scale=(0, 1)), "two positive numbers"),
        (lambda: T.Rotate(3)(IMAGE), "takes tensors of float32, got uint8: put it behind ToTensor"),
        (lambda: T.ToTensor()(IMAGE[0]), "must be (height, width, channels)"),
        (lambda: T.Resize(3)(IMAGE[0]), "Resize: an image must be (height, width, channels)"),
        (lambda: T.RandomCrop(3)(IMAGE[0]), "RandomCrop: an image must be (height, width, channels)"),
        (lambda: T.RandomResizedCrop(3)(IMAGE[0]), "RandomResizedCrop: an image must be (height, width, channels)"),
        (lambda: T.Normalize()(IMAGE), "see to_tensor"),
        (lambda: T.Normalize((1, 2))(TENSOR), "must be 1 or 3 numbers"),
        (
            lambda: T.CropResize(40, 0, 20, 20)(IMAGE),
            "20 x 20 at x=40, y=0 is not inside an image of shape (37, 53, 3)",
        ),
        (lambda: T.Resize(0)(IMAGE), "size must be a whole number of at least 1"),
        (lambda: T.Resize(3, interpolation=7)(IMAGE), "interp must be 0 (nearest)"),
    ],
)
def test_bad_input(make, says):
    with pytest.raises((ValueError, TypeError, ShapeError)) as caught:
        make()
    assert says in str(caught.value)


def test_batchify_functions_of_users_are_given_ndarrays(tmp_path):
    from gluonx.data.vision import ImageFolderDataset

    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.png").write_bytes(functional.encode(IMAGE, fmt=".png"))
    kinds = []

    def mine(samples):
        kinds.extend(type(part) for part in samples[0])
        return batchify.Stack()(samples)

    images = ImageFolderDataset(tmp_path).transform_first(T.ToTensor())
    (batch,) = DataLoader(images, 1, batchify_fn=mine)
    assert kinds == [type(np.ones(1)), int] and batch[0].shape == (1, 3, 37, 53)


@pytest.mark.dear
def test_a_seed_gives_one_epoch_whatever_the_workers():
    images = in_a_set(T.Compose([T.RandomResizedCrop(8), T.RandomFlipLeftRight(), T.RandomLighting(0.5)]))
    found = []
    for options in ({}, {"num_workers": 2, "thread_pool": True}, {"num_workers": 1}):
        random.seed(5)
        with DataLoader(images, 1, shuffle=True, **options) as loader:
            found.append([batch[0].asnumpy().tobytes() for _ in range(3) for batch in loader])
    assert found[0] == found[1] == found[2] and len(set(found[0])) == 6


@pytest.mark.dear
def test_workers_start_no_xla():
    images = in_a_set(T.Compose([T.RandomResizedCrop(8), T.RandomColorJitter(0.1, 0.1, 0.1, 0.1), T.ToTensor()]))
    ((started, _),) = DataLoader(images.transform_first(XLAStarted()), 2, num_workers=1)
    assert started.shape == (2, 1) and not started.any()
