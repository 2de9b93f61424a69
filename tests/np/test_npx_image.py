"""``npx.image``: against MXNet 2.0, and what is drawn at random by its distribution and its bounds."""

from __future__ import annotations

import colorsys
import itertools

import numpy as onp
import pytest

import gluonx
from gluonx import autograd, engine, gluon, np, npx
from gluonx.errors import ShapeError
from lib.called import agrees, answer, cases, sampled
from lib.sweep import churn  # noqa: F401 - a fixture

image = npx.image
ROWS = list(cases.images())
NAMES = {
    "adjust_lighting", "crop", "flip_left_right", "flip_top_bottom", "normalize", "random_brightness",
    "random_color_jitter", "random_contrast", "random_crop", "random_flip_left_right", "random_flip_top_bottom",
    "random_hue", "random_lighting", "random_resized_crop", "random_saturation", "resize", "to_tensor",
}  # fmt: skip


def picture(*shape, dtype="float32", seed=0):
    return np.array(onp.random.RandomState(seed).randint(0, 256, shape), dtype=dtype)


@sampled(ROWS, 6)
def test_golden(row):
    found = answer(row)
    agrees(row, found)


def test_names():
    assert set(image.__all__) == NAMES
    assert image.resize.__name__ == "resize"
    with pytest.raises(AttributeError):
        _ = image.bogus


RANDOM = {
    "random_brightness": (0.5, 1.5),
    "random_contrast": (0.5, 1.5),
    "random_saturation": (0.5, 1.5),
    "random_hue": (0.1, 0.4),
    "random_color_jitter": (0.3, 0.3, 0.3, 0.2),
    "random_lighting": (),
    "random_flip_left_right": (),
    "random_flip_top_bottom": (0.4,),
    "random_crop": ((0, 1), (0, 1), 3, 2),
    "random_resized_crop": (4, 5),
}


@pytest.mark.dear
@pytest.mark.parametrize("name", RANDOM)
def test_draws_repeat_with_the_seed(name):
    x, draw = picture(6, 7, 3), getattr(image, name)

    def sample(seed, mode):
        gluonx.random.seed(seed)
        with engine.mode(mode):
            return [draw(x, *RANDOM[name]).asnumpy() for _ in range(6)]

    first = sample(3, "deferred")
    for other in (sample(3, "deferred"), sample(3, "naive")):
        onp.testing.assert_allclose(other, first, rtol=1e-4, atol=1e-2)
    assert any((a != b).any() for a, b in itertools.pairwise(first))
    assert (onp.array(sample(4, "deferred")) != onp.array(first)).any()


def test_a_hybridized_block_draws_anew():
    class Augment(gluon.HybridBlock):
        def forward(self, x):
            return image.random_brightness(image.random_flip_left_right(x), 0.5, 1.5)

    net, x = Augment(), picture(4, 4, 3)
    net.hybridize()
    assert len({net(x).sum().item() for _ in range(5)}) == 5


@pytest.mark.parametrize("name, axis", [("random_flip_left_right", 1), ("random_flip_top_bottom", 0)])
def test_flips_come_as_often_as_told(name, axis):
    x = picture(2, 3, 1)
    flip, turned = getattr(image, name), onp.flip(x.asnumpy(), axis)
    assert flip(x, 0.0).tolist() == x.tolist()
    assert flip(x, 1.0).tolist() == turned.tolist()
    count = sum(int((flip(x, 0.25).asnumpy() == turned).all()) for _ in range(200))
    assert 25 <= count <= 80


def test_factors_lie_between_their_bounds():
    x = np.full((2, 2, 3), 100.0)
    found = onp.array([image.random_brightness(x, 0.8, 1.2)[0, 0, 0].item() for _ in range(200)])
    assert 80 <= found.min() < 84
    assert 116 < found.max() <= 120
    lit = onp.array([image.random_lighting(x, 0.1)[0, 0].asnumpy() for _ in range(200)]) - 100
    onp.testing.assert_allclose(lit.std(0), [3.17, 3.26, 3.30], rtol=0.2)


def test_saturation_mixes_with_gray():
    x = picture(3, 4, 3)
    gray = (x.asnumpy() @ onp.array([0.299, 0.587, 0.114], "float32"))[..., None]
    found = image.random_saturation(x, 0.25, 0.25).asnumpy()
    onp.testing.assert_allclose(found, 0.25 * x.asnumpy() + 0.75 * gray, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("turn", [0.0, 0.1, 0.5, 0.9])
def test_hue_turns_the_circle(turn):
    x = picture(4, 5, 3).asnumpy()
    x[0, 0] = 7  # a gray has no colour to turn
    found = image.random_hue(np.array(x), turn, turn).asnumpy()
    wanted = onp.empty_like(x)
    for place in onp.ndindex(4, 5):
        h, light, s = colorsys.rgb_to_hls(*(x[place] / 255))
        wanted[place] = onp.array(colorsys.hls_to_rgb((h + turn) % 1, light, s)) * 255
    onp.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-2)


def test_jitter_of_nothing_changes_nothing():
    x = picture(3, 4, 3, dtype="uint8")
    assert image.random_color_jitter(x, 0.0, 0.0, 0.0, 0.0).tolist() == x.tolist()
    found = [image.random_color_jitter(np.full((1, 1, 1), 100.0), 0.3, 0, 0, 0).item() for _ in range(100)]
    assert 70 <= min(found) < 80 < 120 < max(found) <= 130


def test_gray_images_keep_their_colour():
    x = picture(3, 4, 1, dtype="uint8")
    for found in (image.random_saturation(x, 0.5, 0.5), image.random_hue(x, 0.3, 0.3), image.random_lighting(x)):
        assert found.tolist() == x.tolist()


def test_random_crops_are_parts():
    x = np.array(onp.arange(20 * 30).reshape(20, 30, 1))
    corners = set()
    for _ in range(30):
        found = image.random_crop(x, width=5, height=4).asnumpy()[..., 0]
        top, left = divmod(int(found[0, 0]), 30)
        corners.add((top, left))
        onp.testing.assert_array_equal(found, x.asnumpy()[top : top + 4, left : left + 5, 0])
    assert len(corners) > 20
    whole = image.random_crop(x, width=30, height=20)
    assert whole.tolist() == x.tolist()


def test_random_resized_crops_lie_within_their_bounds():
    """On a ramp in both directions a crop tells where it was cut."""
    rows, columns = onp.mgrid[:40, :60].astype("float32")
    x, sizes = np.array(onp.stack([rows, columns, rows], -1)), []
    for _ in range(60):
        found = image.random_resized_crop(x, width=8, height=8, area=(0.1, 0.5), ratio=(0.5, 2.0)).asnumpy()
        high, broad = (onp.ptp(found[..., i]) * 8 / 7 for i in (0, 1))
        assert found[..., 0].min() >= 0 and found[..., 0].max() <= 39
        assert found[..., 1].min() >= 0 and found[..., 1].max() <= 59
        sizes.append((high * broad / 2400, broad / high))
    area, form = onp.array(sizes).T
    assert 0.09 < area.min() < 0.2
    assert 0.4 < area.max() < 0.52
    assert 0.45 < form.min() < 0.8
    assert 1.3 < form.max() < 2.1


@pytest.mark.parametrize("interp", range(5))
def test_random_resized_crop_of_everything_is_a_resize(interp):
    x = picture(12, 8, 3, dtype="uint8")
    found = image.random_resized_crop(x, 5, 7, area=(1.0, 1.0), ratio=(8 / 12, 8 / 12), interp=interp)
    wanted = image.resize(x, (5, 7), interp=interp)
    assert abs(found.astype("int32") - wanted.astype("int32")).max().item() <= 1


def test_random_resized_crop_falls_back_to_the_middle():
    x = np.array(onp.arange(6 * 20).reshape(6, 20, 1))
    found = image.random_resized_crop(x, 6, 6, area=(1.0, 1.0), ratio=(1.0, 1.0)).asnumpy()
    onp.testing.assert_allclose(found, x.asnumpy()[:, 7:13], atol=1e-3)


def test_crops_anywhere_are_one_program():
    x = picture(9, 9, 3)
    image.crop(x, 0, 0, 3, 3).asnumpy()
    image.crop(x, 1, 1, 3, 3).asnumpy()
    before = engine.stats()["programs_compiled"]
    for place in range(2, 6):
        found = image.crop(x, place, 1, 3, 3).asnumpy()
        onp.testing.assert_array_equal(found, x.asnumpy()[1:4, place : place + 3])
    assert engine.stats()["programs_compiled"] == before


@pytest.mark.dear
def test_gradients_are_true():
    """MXNet passes the head through as it came, or raises."""
    x = picture(4, 6, 3)
    for call, wanted in (
        (lambda: image.random_brightness(x, 0.5, 0.5), 0.5),
        (lambda: image.to_tensor(x), 1 / 255),
        (lambda: image.resize(x, (3, 2)), 0.25),
        (lambda: image.flip_left_right(x), 1.0),
    ):
        x.attach_grad()
        with autograd.record():
            call().sum().backward()
        onp.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-5)


JITTER = {"brightness": -0.1, "contrast": 0.0, "saturation": 0.0, "hue": 0.0}
WRONG = [
    ("to_tensor", [(3, 4)], {}, ShapeError, r"an image must be \(height, width, channels\) or"),
    ("flip_left_right", [(2, 3, 4, 3)], {}, ShapeError, r"has shape \(2, 3, 4, 3\)"),
    ("normalize", [(2, 4, 4)], {}, ShapeError, "1 or 3 channels"),
    ("normalize", [(3, 4, 4)], {"mean": (1.0, 2.0)}, ValueError, "mean must be 1 or 3 numbers"),
    ("resize", [(3, 4, 3)], {"size": 0}, ValueError, "size must be a whole number of at least 1"),
    ("resize", [(3, 4, 3)], {"size": (1, 2, 3)}, ValueError, r"one number or \(width, height\)"),
    ("resize", [(3, 4, 3)], {"size": 2, "interp": 9}, ValueError, "interp is 9"),
    ("resize", [(3, 4, 3)], {}, TypeError, "missing the argument 'size'"),
    ("crop", [(3, 4, 3)], {"x": 2, "y": 0, "width": 3, "height": 2}, ValueError, "room for 3 .* but 2 came"),
    ("crop", [(3, 4, 3)], {"x": 0, "y": -1, "width": 3, "height": 2}, ValueError, "y must leave room"),
    ("crop", [(3, 4, 3)], {"x": 0, "y": 0, "width": 5}, TypeError, "missing the argument 'height'"),
    ("random_brightness", [(3, 4, 2)], {"min_factor": 1, "max_factor": 1}, ShapeError, "1 or 3 channels"),
    ("random_contrast", [(3, 4, 3)], {"min_factor": -1, "max_factor": 1}, ValueError, "min_factor must not be"),
    ("random_color_jitter", [(3, 4, 3)], JITTER, ValueError, "brightness must not be negative"),
    ("random_flip_left_right", [(3, 4, 3)], {"p": 1.5}, ValueError, "p must be a probability"),
    ("adjust_lighting", [(3, 4, 3)], {"alpha": (0.1, 0.2)}, ShapeError, "alpha must be three numbers"),
    ("random_crop", [(3, 4, 3)], {"width": 0, "height": 2}, ValueError, "width must be a whole number"),
    ("random_resized_crop", [(3, 4, 3)], {"width": 2, "height": 2, "area": (0, 1)}, ValueError, "two positive numbers"),
    ("random_resized_crop", [(3, 4, 3)], {"width": 2, "height": 2, "xrange": (0, 1)}, TypeError, "xrange"),
]  # fmt: skip


@pytest.mark.parametrize("name, shapes, attrs, error, message", WRONG, ids=lambda x: x if isinstance(x, str) else "")
def test_bad_input(name, shapes, attrs, error, message):
    with pytest.raises(error, match=message):
        getattr(image, name)(*[np.zeros(shape) for shape in shapes], **attrs)
