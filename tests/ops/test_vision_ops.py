"""Operators of object detection: against MXNet 2.0 in every mode, against plain Python, and their edges."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as onp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.test_util import check_grads

from gluonx import autograd, np, npx, ops
from gluonx.errors import ShapeError
from lib.called import MODES, agrees, answer, cases, sampled
from lib.sweep import churn  # noqa: F401 - a fixture

ROWS = list(cases.vision())
FIRST = list({row.op: row for row in reversed(ROWS)}.values())


def by_name(rows):
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.name)


@pytest.mark.dear
@sampled(ROWS)
def test_golden(row):
    agrees(row, answer(row))


@by_name(FIRST)
@pytest.mark.parametrize("mode", MODES[1:])
def test_modes(row, mode):
    agrees(row, answer(row, mode))


# -- against plain Python -------------------------------------------------------------------------------------------


def overlap(a, b):
    low, high = onp.maximum(a[:2], b[:2]), onp.minimum(a[2:], b[2:])
    common = onp.prod(onp.maximum(high - low, 0))
    union = onp.prod(onp.maximum(a[2:] - a[:2], 0)) + onp.prod(onp.maximum(b[2:] - b[:2], 0)) - common
    return common / union if union > 0 else 0.0


def plain_nms(rows, threshold, topk):
    order = [i for i in onp.argsort(-rows[:, 1], kind="stable") if rows[i, 1] > 0]
    kept = []
    for i in order[: topk if topk > 0 else None]:
        rivals = [j for j in kept if rows[j, 0] == rows[i, 0]]
        if all(overlap(rows[j, 2:], rows[i, 2:]) <= threshold for j in rivals):
            kept.append(i)
    out = onp.full_like(rows, -1)
    out[: len(kept)] = rows[kept]
    return out


@functools.cache
def compiled(op, **attrs):
    return jax.jit(ops.get(op).bind(**attrs))


@pytest.mark.dear
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), threshold=st.sampled_from([0.1, 0.4]), topk=st.sampled_from([-1, 3]))
def test_box_nms_is_the_plain_algorithm(seed, threshold, topk):
    rng = onp.random.RandomState(seed)
    rows = cases.detections(16, ties=bool(seed % 2))(rng)
    rows[:, 0] = abs(rows[:, 0])
    found = compiled("box_nms", overlap_thresh=threshold, topk=topk, id_index=0)(rows)
    onp.testing.assert_array_equal(found, plain_nms(rows, threshold, topk))


@pytest.mark.dear
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), is_ascend=st.booleans())
def test_bipartite_matching_is_greedy(seed, is_ascend):
    scores = onp.random.RandomState(seed).randint(0, 9, (5, 4)) / 9
    by_row, by_column = onp.full(5, -1), onp.full(4, -1)
    for place in onp.argsort((1 if is_ascend else -1) * scores, axis=None, kind="stable"):
        row, column = divmod(int(place), 4)
        good = scores[row, column] < 0.5 if is_ascend else scores[row, column] > 0.5
        if good and by_row[row] < 0 and by_column[column] < 0:
            by_row[row], by_column[column] = column, row
    found = compiled("bipartite_matching", threshold=0.5, is_ascend=is_ascend)(scores.astype("float32"))
    onp.testing.assert_array_equal(found[0], by_row)
    onp.testing.assert_array_equal(found[1], by_column)


def test_boxes_are_decoded_as_they_were_encoded():
    rng = onp.random.RandomState(0)
    anchors, boxes = (np.array(cases.boxes(1, 6)(rng) + onp.float32([0, 0, 0.1, 0.1])) for _ in range(2))
    matches = np.array([[0, 1, 2, 3, 4, 5]])
    targets, masks = npx.box_encode(
        np.ones((1, 6)), matches, anchors, boxes, np.zeros(4), np.array([0.1, 0.1, 0.2, 0.2])
    )
    found = npx.box_decode(targets, anchors, 0.1, 0.1, 0.2, 0.2, format="corner")
    onp.testing.assert_allclose(found.asnumpy(), boxes.asnumpy(), atol=1e-5)
    assert masks.sum().item() == 24


def test_roi_pooling_takes_the_largest():
    x = onp.random.RandomState(0).standard_normal((1, 2, 9, 9)).astype("float32")
    found = npx.roi_pooling(np.array(x), np.array([[0, 0, 0, 8, 8]]), (3, 3), 1.0).asnumpy()
    onp.testing.assert_array_equal(found[0], x[0].reshape(2, 3, 3, 3, 3).max((2, 4)))


# -- gradients ------------------------------------------------------------------------------------------------------


def gradients(op, arrays, attrs, which):
    bound = ops.get(op).bind(**attrs)
    arrays = [jnp.asarray(x) for x in arrays]

    @jax.jit
    def run(*chosen):
        for place, x in zip(which, chosen, strict=True):
            arrays[place] = x
        return bound(*arrays)

    check_grads(run, [arrays[i] for i in which], 1, modes=["rev"], rtol=2e-2, atol=2e-2)


@pytest.mark.dear
def test_gradients_of_roi_align():
    rois = onp.array([[0, 0.3, 0.4, 4.1, 3.2]], "float32")
    attrs = {"pooled_size": (2, 2), "spatial_scale": 1.0}
    gradients("roi_align", [onp.random.RandomState(0).rand(1, 4, 5, 5).astype("float32"), rois], attrs, [0])
    attrs = {**attrs, "position_sensitive": True, "sample_ratio": 2}
    gradients("roi_align", [onp.random.RandomState(0).rand(1, 4, 5, 5).astype("float32"), rois], attrs, [0])


@pytest.mark.dear
@pytest.mark.parametrize("fields, groups", [(1, 1), (2, 2)])
def test_gradients_of_modulated_deformable_convolution(fields, groups):
    """Of which MXNet has none on a CPU. Offsets stay away from whole numbers, where the gradient jumps."""
    rng = onp.random.RandomState(1)
    offset = rng.randint(-1, 2, (1, 8 * fields, 2, 2)) + rng.uniform(0.2, 0.8, (1, 8 * fields, 2, 2))
    arrays = [
        rng.standard_normal((1, 4, 4, 4)),
        offset,
        rng.uniform(0.5, 1, (1, 4 * fields, 2, 2)),
        rng.standard_normal((2, 4 // groups, 2, 2)),
        rng.standard_normal(2),
    ]
    attrs = {"kernel": (2, 2), "num_filter": 2, "stride": (2, 2), "pad": (0, 0)}
    attrs |= {"num_group": groups, "num_deformable_group": fields}
    gradients("modulated_deformable_convolution", [a.astype("float32") for a in arrays], attrs, [0, 1, 2, 3, 4])


def test_without_offsets_a_deformable_convolution_is_a_convolution():
    rng = onp.random.RandomState(0)
    x, w = np.array(rng.rand(2, 4, 6, 5)), np.array(rng.rand(6, 2, 3, 3))
    attrs = {"kernel": (3, 3), "num_filter": 6, "num_group": 2, "stride": (2, 1), "no_bias": True}
    wanted = npx.convolution(x, w, **attrs).asnumpy()
    still, whole = np.zeros((2, 18, 2, 3)), np.ones((2, 9, 2, 3))
    onp.testing.assert_allclose(npx.deformable_convolution(x, still, w, **attrs).asnumpy(), wanted, rtol=1e-5)
    found = npx.modulated_deformable_convolution(x, still, whole, w, **attrs)
    onp.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: npx.box_iou(x, x).sum(),
        lambda x: npx.bipartite_matching(x, threshold=0.1)[0].sum(),
        lambda x: npx.box_decode(x[None], np.ones((1, 5, 4))).sum(),
        lambda x: npx.multibox_target(x[None], np.zeros((1, 1, 5)), np.zeros((1, 2, 5)))[0].sum(),
        lambda x: npx.multibox_detection(np.ones((1, 2, 5)), x.reshape(1, 20), np.ones((1, 5, 4))).sum(),
    ],
    ids=["box_iou", "bipartite_matching", "box_decode", "multibox_target", "multibox_detection"],
)
def test_what_has_no_gradient(call):
    x = np.array(cases.boxes(5)(onp.random.RandomState(0)))
    x.attach_grad()
    with autograd.record():
        call(x).backward()
    assert not x.grad.asnumpy().any()


# -- edges ----------------------------------------------------------------------------------------------------------


def test_empty_arrays():
    assert npx.box_nms(np.zeros((2, 0, 6))).shape == (2, 0, 6)
    assert npx.box_nms(np.zeros((0, 3, 6))).shape == (0, 3, 6)
    assert npx.box_iou(np.zeros((0, 4)), np.zeros((3, 4))).shape == (0, 3)
    assert [y.tolist() for y in npx.bipartite_matching(np.zeros((0, 2)), threshold=0.1)] == [[], [-1, -1]]
    attrs = {"pooled_size": (2, 2), "spatial_scale": 1.0}
    assert npx.roi_pooling(np.zeros((1, 3, 4, 4)), np.zeros((0, 5)), **attrs).shape == (0, 3, 2, 2)
    assert npx.roi_align(np.zeros((1, 3, 4, 4)), np.zeros((0, 5)), **attrs).shape == (0, 3, 2, 2)
    offset, mask, cls = npx.multibox_target(np.zeros((1, 3, 4)), np.zeros((2, 0, 5)), np.zeros((2, 2, 3)))
    assert offset.shape == mask.shape == (2, 12)
    assert cls.tolist() == [[-1] * 3] * 2


@pytest.mark.dear
def test_regions_of_images_that_are_not_there_are_zeros():
    x, rois = np.ones((1, 4, 4, 4)), np.array([[-1, 0, 0, 3, 3], [1, 0, 0, 3, 3], [0, 0, 0, 3, 3]])
    for name in ("roi_align", "roi_pooling"):
        found = getattr(npx, name)(x, rois, pooled_size=(2, 2), spatial_scale=1.0).asnumpy()
        assert found.sum((1, 2, 3)).tolist() == [0, 0, 16]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_stays(dtype):
    x = np.array(onp.arange(16.0).reshape(1, 1, 4, 4), dtype=dtype)
    rois = np.array([[0, 0, 0, 3, 3]], dtype=dtype)
    assert npx.roi_pooling(x, rois, (2, 2), 1.0).astype("float32").tolist() == [[[[5, 7], [13, 15]]]]
    assert npx.roi_align(x, rois, pooled_size=(2, 2), spatial_scale=1.0).dtype == x.dtype
    assert npx.box_nms(x[0, 0].reshape(2, 8)).dtype == x.dtype
    w = np.ones((2, 1, 1, 1), dtype=dtype)
    still = np.zeros((1, 2, 4, 4), dtype=dtype)
    assert npx.deformable_convolution(x, still, w, kernel=(1, 1), num_filter=2, no_bias=True).dtype == x.dtype


def test_a_program_serves_all_values():
    """Shapes are static: one jit takes any boxes."""
    nms = jax.jit(ops.get("box_nms").bind(id_index=0))
    for seed in range(3):
        nms(jnp.asarray(cases.detections(2, 9)(onp.random.RandomState(seed))))
    assert nms._cache_size() == 1


WRONG = [
    ("box_nms", [(6,)], {}, ShapeError, r"box_nms: data must have two axes or more, .* not \(6,\)"),
    ("box_nms", [(5, 6)], {"coord_start": 3}, ShapeError, "coord_start=3 leaves no 4 coordinates in a row of 6"),
    ("box_nms", [(5, 6)], {"score_index": 7}, ShapeError, "score_index=7 or id_index=-1 is not a position"),
    ("box_nms", [(5, 6)], {"score_index": 3}, ShapeError, "share a column"),
    ("box_nms", [(5, 6)], {"id_index": 1}, ShapeError, "share a column"),
    (
        "box_nms",
        [(5, 6)],
        {"in_format": "edge"},
        ValueError,
        "in_format is 'edge', but must be one of 'center'",
    ),
    ("box_iou", [(4,), (2, 4)], {}, ShapeError, r"box_iou: lhs must have two axes or more"),
    ("box_iou", [(2, 4), (2, 3)], {}, ShapeError, r"box_iou: rhs must .* not \(2, 3\)"),
    ("bipartite_matching", [(3,)], {"threshold": 0.1}, ShapeError, "two axes or more"),
    ("bipartite_matching", [(3, 3)], {}, TypeError, "missing the argument 'threshold'"),
    ("box_decode", [(2, 3, 4), (1, 2, 4)], {}, ShapeError, "with one n"),
    ("multibox_prior", [(2, 3, 4)], {}, ShapeError, "four axes"),
    ("multibox_prior", [(1, 1, 2, 2)], {"steps": (1.0,)}, ValueError, "steps must be 2 numbers"),
    ("multibox_prior", [(1, 1, 2, 2)], {"sizes": ()}, ValueError, "sizes must be one or more numbers"),
    ("multibox_target", [(2, 3, 4), (1, 1, 5), (1, 2, 3)], {}, ShapeError, r"anchor must be \(1, n, 4\)"),
    ("multibox_target", [(1, 3, 4), (1, 1, 4), (1, 2, 3)], {}, ShapeError, "5 or more"),
    ("multibox_detection", [(1, 2, 3), (1, 8), (1, 3, 4)], {}, ShapeError, r"loc_pred \(batch, n \* 4\)"),
    ("roi_pooling", [(1, 2, 3, 3), (2, 4)], {"pooled_size": (2, 2), "spatial_scale": 1.0}, ShapeError, "rois"),
    ("roi_pooling", [(1, 2, 3, 3), (2, 5)], {"pooled_size": (2,), "spatial_scale": 1.0}, ValueError, "pooled_size"),
    ("roi_pooling", [(1, 2, 3, 3), (2, 5)], {"pooled_size": (2, 2)}, TypeError, "missing the argument 'spatial_scale'"),
    (
        "deformable_convolution",
        [(1, 2, 5, 5), (1, 18, 5, 5), (4, 2, 3, 3)],
        {"kernel": (3, 3), "num_filter": 4, "no_bias": True},
        ShapeError,
        r"offset has shape \(1, 18, 5, 5\), but data of \(1, 2, 5, 5\) needs \(1, 18, 3, 3\)",
    ),
    (
        "deformable_convolution",
        [(1, 3, 5, 5), (1, 18, 3, 3), (4, 3, 3, 3)],
        {"kernel": (3, 3), "num_filter": 4, "num_group": 2, "no_bias": True},
        ShapeError,
        "num_group=2",
    ),
    (
        "deformable_convolution",
        [(1, 3, 5, 5), (1, 18, 3, 3), (4, 3, 3, 3)],
        {"kernel": (3, 3), "num_filter": 4, "layout": "NHWC"},
        ValueError,
        "only 'NCHW' is known",
    ),
]


@pytest.mark.parametrize("op, shapes, attrs, error, message", WRONG, ids=lambda x: x if isinstance(x, str) else "")
def test_bad_input(op, shapes, attrs, error, message):
    with pytest.raises(error, match=message):
        getattr(npx, op)(*[np.zeros(shape) for shape in shapes], **attrs)
