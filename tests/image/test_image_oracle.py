"""``mx.image`` and vision transforms against MXNet 2.0.0b1, whose answers are in tests/oracle/image/golden.npz."""

import json

import numpy as np
import pytest

import gluonx as mx
from lib import TESTS
from lib.golden import load_cases

CASES = load_cases("image")
GOLDEN = np.load(TESTS / "oracle" / "image" / "golden.npz")


def as_array(array):
    return mx.np.array(array, dtype=array.dtype)


def same(found, wanted, bytes_by, floats_by):
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    by = bytes_by if wanted.dtype == np.uint8 else floats_by
    np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=1e-5, atol=by)


# Of 255. OpenCV may round a pixel of a resized image the other way; what is computed from such pixels follows.
BY = {"imresize": (1, 0), "resize_short": (1, 0), "chain": (1, 3), "chain of boxes": (1, 3), "augmenters": (1, 2e-2)}


@pytest.mark.parametrize("host", [False, True], ids=["ndarray", "numpy"])
@pytest.mark.parametrize("name", CASES.CASES)
def test_answers_are_mxnets(name, host):
    found = CASES.answers(mx, (lambda a: a.copy()) if host else as_array, name)
    wanted = [GOLDEN[f"{name}|{place}"] for place in range(len(found))]
    assert f"{name}|{len(found)}" not in GOLDEN
    for one, other in zip(found, wanted, strict=True):
        same(one, other, *BY.get(name.split("/")[0], (1, 1e-4)))


def test_augmenters_tell_of_themselves_as_mxnets_do():
    assert CASES.dumps(mx) == json.loads(bytes(GOLDEN["dumps"]))
