"""Proposals, position-sensitive pooling, compact products: MXNet's numbers (tests/oracle/proposal), definitions."""

import numpy as onp
import pytest

from gluonx import autograd, engine, nd, np
from gluonx.errors import ShapeError
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("proposal")
GOLDEN = onp.load(TESTS / "oracle" / "proposal" / "golden.npz")


@pytest.mark.dear
@pytest.mark.parametrize(
    ("index", "mode"), [*[(i, "deferred") for i in range(len(cases.CASES))], (0, "naive"), (7, "naive")]
)
def test_as_mxnet(index, mode):
    name, _, attrs = cases.CASES[index]
    arrays = [nd.array(a) for a in cases.arrays_of(index)]
    for array in arrays:
        array.attach_grad()
    with engine.mode(mode), autograd.record():
        outs = getattr(nd.contrib, name)(*arrays, **attrs)
    outs = outs if isinstance(outs, list) else [outs]
    assert f"{index}/out{len(outs)}" not in GOLDEN
    for i, out in enumerate(outs):
        onp.testing.assert_allclose(out.asnumpy(), GOLDEN[f"{index}/out{i}"], 1e-4, 1e-4)
    if f"{index}/grad" in GOLDEN:
        with engine.mode(mode):
            outs[0].backward()
        onp.testing.assert_allclose(arrays[0].grad.asnumpy(), GOLDEN[f"{index}/grad"], 1e-4, 1e-5)
    if f"{index}/grad2" in GOLDEN:
        onp.testing.assert_allclose(arrays[2].grad.asnumpy(), GOLDEN[f"{index}/grad2"], 1e-4, 1e-5)


def test_shapes_that_do_not_fit():
    with pytest.raises(ShapeError, match="12 anchors need cls_prob"):
        nd.contrib.Proposal(nd.ones((1, 2, 2, 2)), nd.ones((1, 4, 2, 2)), nd.ones((1, 3)))
    with pytest.raises(ShapeError, match=r"trans \(regions, 2 \* classes, 2, 2\)"):
        nd.contrib.DeformablePSROIPooling(
            nd.ones((1, 8, 4, 4)), nd.ones((1, 5)), nd.ones((1, 2, 3, 3)), spatial_scale=1, output_dim=2, pooled_size=2,
            group_size=2,
        )  # fmt: skip
    with pytest.raises(ShapeError, match=r"rois \(regions, 6\)"):
        nd.contrib.RROIAlign(nd.ones((1, 3, 4, 4)), nd.ones((1, 5)), pooled_size=(2, 2), spatial_scale=1.0)
    with pytest.raises(ShapeError, match=r"data must be \(batch, 8"):
        nd.contrib.PSROIPooling(
            nd.ones((1, 3, 4, 4)), nd.ones((1, 5)), spatial_scale=1, output_dim=2, pooled_size=2, group_size=2
        )


def test_transforms_by_their_definition():
    x = onp.random.RandomState(0).rand(3, 8).astype("f4")
    found = nd.contrib.fft(nd.array(x)).asnumpy()
    wanted = onp.fft.fft(x)
    onp.testing.assert_allclose(found[:, ::2], wanted.real, 1e-4, 1e-5)
    onp.testing.assert_allclose(found[:, 1::2], wanted.imag, 1e-4, 1e-5)
    onp.testing.assert_allclose(nd.contrib.ifft(nd.array(found)).asnumpy(), 8 * x, 1e-4, 1e-5)


def test_the_count_sketch_and_its_gradient():
    x, h, s = np.array(onp.arange(8.0).reshape(2, 4)), nd.array([[0, 2, 2, 1]]), nd.array([[1, -1, 1, 1]])
    x.attach_grad()
    with autograd.record():
        out = nd.contrib.count_sketch(x, h, s, out_dim=3)
        loss = (out * nd.array([1, 10, 100])).sum()
    loss.backward()
    assert out.asnumpy().tolist() == [[0, 3, 1], [4, 7, 1]]
    assert x.grad.asnumpy().tolist() == [[1, -100, 100, 10]] * 2


def test_bytes_and_back():
    x = nd.array([[-1.0, 0.5, 1.0]])
    low, high = nd.array([-1.0]), nd.array([1.0])
    data, least, most = nd.contrib.quantize(x, low, high, out_type="int8")
    back = nd.contrib.dequantize(data, least, most)
    assert str(data.dtype) == "int8"
    onp.testing.assert_allclose(back.asnumpy(), x.asnumpy(), atol=0.01)
    assert nd.contrib.quantize_v2(x)[0].asnumpy().tolist() == [[-128, 64, 127]]
