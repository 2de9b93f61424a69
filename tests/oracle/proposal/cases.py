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
_PARTS = {"output_dim": 2, "group_size": 2, "pooled_size": 3}
_MOVED = [
    {"spatial_scale": 0.25, **_PARTS, "part_size": 3, "sample_per_part": 2, "trans_std": 0.3},
    {"spatial_scale": 0.125, **_PARTS, "sample_per_part": 3, "trans_std": 0.1},
    {"spatial_scale": 0.125, **_PARTS, "sample_per_part": 2, "no_trans": True},
]
_TURNED = [
    {"pooled_size": (2, 3), "spatial_scale": 0.25, "sampling_ratio": 2},
    {"pooled_size": (3, 2), "spatial_scale": 0.2},
]
CASES = [("Proposal" if n == 1 else "MultiProposal", (n, a), attrs) for n, a, attrs in _RPN]
CASES += [("PSROIPooling", (channels,), attrs) for channels, attrs in _POOL]
CASES += [("DeformablePSROIPooling", (8,), attrs) for attrs in _MOVED]
CASES += [("RROIAlign", (3,), attrs) for attrs in _TURNED]


def arrays_of(index):
    name, sizes, _ = CASES[index]
    rng = np.random.RandomState(index)
    if name == "RROIAlign":
        centres, sides = rng.uniform(-2, 30, (6, 2)), rng.uniform(0.2, 25, (6, 2))
        rois = np.concatenate([rng.randint(0, 2, (6, 1)), centres, sides, rng.uniform(-180, 180, (6, 1))], 1)
        return [rng.uniform(-1, 1, (2, sizes[0], 6, 7)).astype("float32"), rois.astype("float32")]
    if name.endswith("PSROIPooling"):
        corners = rng.uniform(-5, 45, (5, 4))
        corners[:, 2:] = corners[:, :2] + rng.uniform(0, 40, (5, 2))
        rois = np.concatenate([rng.randint(0, 2, (5, 1)), corners], 1)
        found = [rng.uniform(-1, 1, (2, sizes[0], 6, 7)), rois]
        if name != "PSROIPooling" and not CASES[index][2].get("no_trans"):
            found.append(rng.uniform(-1, 1, (5, 4, 3, 3)))
        return [x.astype("float32") for x in found]
    batch, anchors = sizes
    most = 4 * CASES[index][2].get("feature_stride", 16)
    sides = rng.randint(most * 5 // 8, most + 1, (batch, 2))
    info = np.concatenate([sides, rng.uniform(0.5, 1.5, (batch, 1))], 1)
    return [
        rng.permutation(batch * 2 * anchors * 16).reshape(batch, 2 * anchors, 4, 4).astype("float32") / 1000,
        rng.uniform(-0.3, 0.3, (batch, 4 * anchors, 4, 4)).astype("float32"),
        info.astype("float32"),
    ]
