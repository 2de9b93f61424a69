"""Proposals and pooled regions: inputs by number, for `make.py` (with MXNet) and for the test alike."""

import numpy as np

_FEW = {"rpn_pre_nms_top_n": 50, "rpn_post_nms_top_n": 6, "rpn_min_size": 4}
_RPN = [
    (1, 12, {**_FEW}),
    (1, 12, {**_FEW, "threshold": 0.3, "output_score": True}),
    (1, 12, {**_FEW, "rpn_min_size": 40, "output_score": True}),
    (1, 4, {**_FEW, "scales": (2, 4), "ratios": (1, 2), "feature_stride": 8, "rpn_pre_nms_top_n": 0}),
    (1, 12, {**_FEW, "iou_loss": True, "rpn_post_nms_top_n": 40, "threshold": 0.1}),
    (2, 12, {**_FEW}),
    (3, 12, {**_FEW, "output_score": True}),
]
_POOL = [
    (8, {"spatial_scale": 0.1, "output_dim": 2, "pooled_size": 2, "group_size": 2}),
    (18, {"spatial_scale": 0.25, "output_dim": 2, "pooled_size": 3}),
    (8, {"spatial_scale": 0.125, "output_dim": 2, "pooled_size": 4, "group_size": 2}),
]
CASES = [("Proposal" if n == 1 else "MultiProposal", (n, a), attrs) for n, a, attrs in _RPN]
CASES += [("PSROIPooling", (channels,), attrs) for channels, attrs in _POOL]


def arrays_of(index):
    name, sizes, _ = CASES[index]
    rng = np.random.RandomState(index)
    if name == "PSROIPooling":
        corners = rng.uniform(-5, 45, (5, 4))
        corners[:, 2:] = corners[:, :2] + rng.uniform(0, 40, (5, 2))
        rois = np.concatenate([rng.randint(0, 2, (5, 1)), corners], 1)
        return [rng.uniform(-1, 1, (2, sizes[0], 6, 7)).astype("float32"), rois.astype("float32")]
    batch, anchors = sizes
    most = 4 * CASES[index][2].get("feature_stride", 16)
    sides = rng.randint(most * 5 // 8, most + 1, (batch, 2))
    info = np.concatenate([sides, rng.uniform(0.5, 1.5, (batch, 1))], 1)
    return [
        rng.permutation(batch * 2 * anchors * 16).reshape(batch, 2 * anchors, 4, 4).astype("float32") / 1000,
        rng.uniform(-0.3, 0.3, (batch, 4 * anchors, 4, 4)).astype("float32"),
        info.astype("float32"),
    ]
