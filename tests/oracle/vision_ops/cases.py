"""The table of calls that gluonx and MXNet 2.0.0b1 must answer alike: vision, attention, images, and others' edges.

Read by ``make.py`` (in the oracle's Python, which has no gluonx) and by ``tests/called.py``, which runs the rows for
``tests/test_vision_ops.py``, ``test_attention_ops.py``, ``test_npx_image.py`` and ``test_ops_edges.py``. A row names
the function (of ``npx``, or as the oracle calls it under ``there``), its arrays, its attributes, and the arrays whose
gradients are compared. Arrays come from the row's name alone; the golden file holds results only.
"""

import zlib

import numpy as np


def rng_of(*words):
    return np.random.RandomState(zlib.crc32("/".join(map(str, words)).encode()) & 0x7FFFFFFF)


class Row:
    """A call: ``arrays`` are functions of a random state, or arrays."""

    def __init__(self, name, op, arrays, attrs=None, grad=(), there=None, tol=1e-5):
        self.name, self.op, self.specs, self.attrs = name, op, arrays, attrs or {}
        self.grad, self.there, self.tol = grad, there or "npx." + op, tol

    def arrays(self):
        rng = rng_of(self.name)
        return [spec(rng) if callable(spec) else np.asarray(spec) for spec in self.specs]

    def head(self, which, shape):
        """The gradient that output `which` is given."""
        return rng_of(self.name, which).standard_normal(shape).astype("float32")


# -- arrays -----------------------------------------------------------------------------------------------------------


def real(*shape):
    return lambda rng: rng.standard_normal(shape).astype("float32")


def unit(*shape):
    return lambda rng: rng.random_sample(shape).astype("float32")


def whole(high, *shape, dtype="int32"):
    return lambda rng: rng.randint(0, high, shape).astype(dtype)


def tied(*shape):
    """Numbers of which many are equal."""
    return lambda rng: (rng.randint(0, 5, shape) / 5).astype("float32")


def boxes(*shape, scale=1.0):
    """Boxes in corner form."""

    def make(rng):
        low = rng.random_sample((*shape, 2)) * scale
        return np.concatenate([low, low + rng.random_sample((*shape, 2)) * scale * 0.6], -1).astype("float32")

    return make


def detections(*shape, classes=3, ties=False):
    """Rows of class (-1 now and then), score and box."""

    def make(rng):
        kind = rng.randint(-1, classes, (*shape, 1))
        score = rng.randint(0, 6, (*shape, 1)) / 5 if ties else rng.random_sample((*shape, 1))
        return np.concatenate([kind, score, boxes(*shape)(rng)], -1).astype("float32")

    return make


def labels(batch, count, classes=3, width=5):
    """Rows of class and box, ended by -1 somewhere."""

    def make(rng):
        kind = rng.randint(0, classes, (batch, count, 1))
        rows = np.concatenate([kind, boxes(batch, count)(rng), rng.random_sample((batch, count, width - 5))], -1)
        for i in range(batch):
            rows[i, rng.randint(0, count + 1) :] = -1
        return rows.astype("float32")

    return make


def probabilities(*shape, axis=1):
    def make(rng):
        x = np.exp(2 * rng.standard_normal(shape))
        return (x / x.sum(axis, keepdims=True)).astype("float32")

    return make


def regions(count, batch, size):
    """Rows of image and corners, some turned round, some reaching out of the image."""

    def make(rng):
        corners = rng.random_sample((count, 4)) * size * 1.3 - 0.15 * size
        return np.concatenate([rng.randint(0, batch, (count, 1)), corners], 1).astype("float32")

    return make


def picture(*shape, dtype="uint8"):
    return lambda rng: rng.randint(0, 256, shape).astype(dtype)


# -- rows -------------------------------------------------------------------------------------------------------------


def vision():
    nms = {"id_index": 0, "overlap_thresh": 0.3}
    for label, attrs in {
        "plain": {},
        "class": nms,
        "force": {**nms, "force_suppress": True},
        "valid": {**nms, "valid_thresh": 0.4},
        "topk": {**nms, "topk": 4},
        "background": {**nms, "background_id": 1},
        "center": {**nms, "in_format": "center", "out_format": "center"},
        "to-corner": {**nms, "in_format": "center"},
        "to-center": {**nms, "out_format": "center"},
        "strict": {"overlap_thresh": 0.0},
    }.items():
        yield Row(f"box_nms:{label}", "box_nms", [detections(2, 12)], attrs, grad=(0,))
    yield Row("box_nms:ties", "box_nms", [detections(20, ties=True)], nms, grad=(0,))
    yield Row("box_nms:columns", "box_nms", [real(2, 3, 7, 8)], {"coord_start": 3, "score_index": 7, "id_index": -1})
    yield Row("box_nms:equal", "box_nms", [[[0.0, 0.9, 0, 0, 2, 1], [0, 0.8, 0, 0, 1, 1]]], {"overlap_thresh": 0.5})
    nan = float("nan")
    yield Row("box_nms:nan", "box_nms", [[[0.0, nan, 0, 0, 2, 1], [0, 0.8, 0, 0, 1, 1]]], {"valid_thresh": -9})
    yield Row("box_iou:corner", "box_iou", [boxes(2, 3), boxes(4)])
    yield Row("box_iou:center", "box_iou", [boxes(3), boxes(4)], {"format": "center"})
    yield Row("box_iou:turned", "box_iou", [real(5, 4), real(6, 4)])
    for label, attrs in {"down": {}, "up": {"is_ascend": True}, "topk": {"topk": 2}}.items():
        attrs = {"threshold": 0.4, **attrs}
        yield Row(f"bipartite_matching:{label}", "bipartite_matching", [unit(2, 5, 4)], attrs)
        yield Row(f"bipartite_matching:{label}-ties", "bipartite_matching", [tied(4, 6)], attrs)
    coding = [[[1.0, 0, -1, 1], [0.6, 0.5, 1, 0]], [[1.0, 0, 0, 2], [2, 1, 1, 0]], boxes(2, 4), boxes(2, 3)]
    coding = [np.array(c, "float32") if isinstance(c, list) else c for c in coding]
    scale = [np.array([0, 0.1, 0.2, 0.3], "float32"), np.array([0.1, 0.1, 0.2, 0.2], "float32")]
    yield Row("box_encode", "box_encode", coding + scale)
    stds = {"std0": 0.1, "std1": 0.2, "std2": 0.3, "std3": 0.4}
    yield Row("box_decode:center", "box_decode", [real(2, 5, 4), boxes(1, 5)], stds)
    yield Row("box_decode:corner", "box_decode", [real(2, 5, 4), boxes(1, 5)], {"format": "corner"})
    yield Row("box_decode:clip", "box_decode", [real(2, 5, 4), boxes(1, 5)], {"clip": 0.3})
    yield from _multibox()
    yield from _regions()
    yield from _deformable()


def _multibox():
    for label, attrs in {
        "default": {},
        "many": {"sizes": (0.5, 0.25, 0.1), "ratios": (2.0, 0.5)},
        "clip": {"sizes": (0.9,), "clip": True},
        "steps": {"sizes": (0.4,), "steps": (0.1, 0.2), "offsets": (0.1, 0.7)},
    }.items():
        yield Row(f"multibox_prior:{label}", "multibox_prior", [real(2, 3, 3, 4)], attrs)
    mine = {"negative_mining_ratio": 1.0, "negative_mining_thresh": 0.6}
    for label, attrs in {
        "plain": {},
        "low": {"overlap_threshold": 0.1, "ignore_label": -7.0},
        "mine": {**mine, "overlap_threshold": 0.3},
        "mine-more": {**mine, "minimum_negative_samples": 4, "ignore_label": 9.0},
        "variances": {"variances": (1.0, 2.0, 3.0, 4.0)},
    }.items():
        yield Row(f"multibox_target:{label}", "multibox_target", [boxes(1, 14), labels(5, 3), real(5, 4, 14)], attrs)
    yield Row("multibox_target:wide", "multibox_target", [boxes(1, 6), labels(2, 8, width=7), real(2, 4, 6)])
    for label, attrs in {
        "plain": {},
        "threshold": {"threshold": 0.4},
        "nms": {"nms_threshold": 0.1, "clip": False},
        "force": {"force_suppress": True, "nms_threshold": 0.2},
        "topk": {"nms_topk": 5, "threshold": 0.3},
        "off": {"nms_threshold": -1.0, "background_id": 1},
        "above": {"nms_threshold": 1.5, "threshold": 0.4},
        "variances": {"variances": (0.3, 0.2, 0.1, 0.4)},
    }.items():
        arrays = [probabilities(3, 3, 10), real(3, 40), boxes(1, 10)]
        yield Row(f"multibox_detection:{label}", "multibox_detection", arrays, attrs)
    still = np.zeros((1, 8), "float32")
    same = [[[[0.2, 0.3], [0.8, 0.7]]], still, [[[0, 0, 1, 0.5], [0, 0, 0.5, 0.5]]]]
    same = [np.array(x, "float32") for x in same]
    yield Row("multibox_detection:equal", "multibox_detection", same, {"nms_threshold": 0.5})


def _regions():
    half = {"pooled_size": (2, 3), "spatial_scale": 0.5}
    yield Row("roi_pooling:half", "roi_pooling", [real(2, 3, 7, 6), regions(8, 2, 12)], half, grad=(0, 1))
    full = {"pooled_size": (3, 2), "spatial_scale": 1.0}
    yield Row("roi_pooling:ties", "roi_pooling", [tied(2, 2, 6, 6), regions(8, 2, 6)], full, grad=(0,))
    yield Row("roi_pooling:stray", "roi_pooling", [real(2, 2, 4, 4), [[5.0, 0, 0, 3, 3], [-1, 0, 0, 3, 3]]], full)
    x = [[[[float("nan"), 1, 2], [3, float("nan"), float("nan")], [-float("inf")] * 3]]]
    yield Row("roi_pooling:nan", "roi_pooling", [x, [[0.0, 0, 0, 2, 2]]], {"pooled_size": (3, 3), "spatial_scale": 1.0})
    align = "nd.contrib.ROIAlign"
    turned = regions(6, 2, 12)
    for label, attrs in {
        "adaptive": {},
        "two": {"sample_ratio": 2},
        "scaled": {"sample_ratio": 3, "spatial_scale": 0.7},
    }.items():
        arrays = [real(2, 3, 7, 6), turned]
        yield Row(f"roi_align:{label}", "roi_align", arrays, {**half, **attrs}, grad=(0, 1), there=align)

    def ahead(rng):
        rows = turned(rng)
        rows[:, 3:] = rows[:, 1:3] + np.abs(rows[:, 3:]) + 1
        return rows

    aligned = {**half, "aligned": True}
    yield Row("roi_align:aligned", "roi_align", [real(2, 3, 7, 6), ahead], aligned, grad=(0,), there=align)
    apart = {**half, "position_sensitive": True}
    yield Row("roi_align:apart", "roi_align", [real(2, 12, 7, 6), turned], apart, grad=(0,), there=align)


def _deformable():
    base = {"kernel": (3, 3), "num_filter": 4}
    first = "deformable_convolution"
    yield Row(
        f"{first}:plain",
        first,
        [real(2, 4, 5, 6), real(2, 18, 3, 4), real(4, 4, 3, 3), real(4)],
        base,
        grad=(0, 1, 2, 3),
        tol=1e-4,
    )
    yield Row(
        f"{first}:groups",
        first,
        [real(2, 4, 6, 5), real(2, 24, 6, 2), real(4, 2, 3, 2)],
        {
            "kernel": (3, 2),
            "num_filter": 4,
            "num_group": 2,
            "num_deformable_group": 2,
            "stride": (1, 2),
            "pad": (1, 0),
            "dilate": (1, 1),
            "no_bias": True,
        },
        grad=(0, 1, 2),
        tol=1e-4,
    )
    yield Row(
        f"{first}:dilate",
        first,
        [real(1, 2, 6, 6), lambda rng: rng.standard_normal((1, 18, 6, 6)).astype("float32") * 4, real(4, 2, 3, 3)],
        {**base, "pad": (2, 2), "dilate": (2, 2), "no_bias": True},
        grad=(0, 1, 2),
        tol=1e-4,
    )
    second = "modulated_deformable_convolution"  # of which MXNet has no gradient on a CPU
    yield Row(
        f"{second}:plain",
        second,
        [real(2, 4, 5, 6), real(2, 18, 5, 6), unit(2, 9, 5, 6), real(4, 4, 3, 3), real(4)],
        {**base, "pad": (1, 1)},
        tol=1e-4,
    )
    yield Row(
        f"{second}:groups",
        second,
        [real(2, 4, 5, 6), real(2, 36, 3, 4), unit(2, 18, 3, 4), real(4, 2, 3, 3)],
        {**base, "num_group": 2, "num_deformable_group": 2, "no_bias": True},
        tol=1e-4,
    )


def attention():
    for heads in (1, 3):
        attrs = {"heads": heads}
        qkv, kv = real(4, 2, heads * 6), real(5, 2, heads * 4)
        name = "interleaved_matmul_"
        yield Row(f"{name}selfatt_qk:{heads}", f"{name}selfatt_qk", [qkv], attrs, grad=(0,))
        yield Row(
            f"{name}selfatt_valatt:{heads}",
            f"{name}selfatt_valatt",
            [qkv, real(2 * heads, 4, 4)],
            attrs,
            grad=(0, 1),
        )
        yield Row(f"{name}encdec_qk:{heads}", f"{name}encdec_qk", [real(3, 2, heads * 2), kv], attrs, grad=(0, 1))
        yield Row(
            f"{name}encdec_valatt:{heads}", f"{name}encdec_valatt", [kv, real(2 * heads, 3, 5)], attrs, grad=(0, 1)
        )
    for w, symmetric in ((1, True), (2, False), (3, True), (0, True)):
        attrs = {"w": w, "symmetric": symmetric}
        places = 2 * w + 1 if symmetric else w + 1
        dilation = np.array([1, 2, 3], "int32")
        sequence, score = real(2, 7, 3, 4), real(2, 7, 3, places)
        label = f"{w}{'-both' if symmetric else ''}"
        yield Row(
            f"sldwin_atten_score:{label}", "sldwin_atten_score", [sequence, sequence, dilation], attrs, grad=(0, 1)
        )
        yield Row(
            f"sldwin_atten_context:{label}", "sldwin_atten_context", [score, sequence, dilation], attrs, grad=(0, 1)
        )
        yield Row(
            f"sldwin_atten_mask_like:{label}",
            "sldwin_atten_mask_like",
            [score, dilation, np.array([4, 7], "int32")],
            attrs,
        )


def images():
    """Deterministic ones, and random ones whose factors leave no choice."""
    for dtype in ("uint8", "float32"):
        for interp in range(5):
            for height, width in ((4, 3), (9, 11), (5, 12), (6, 4)):
                yield Row(
                    f"resize:{interp}:{height}x{width}:{dtype}",
                    "image.resize",
                    [picture(12, 8, 3, dtype=dtype)],
                    {"size": (width, height), "interp": interp},
                    tol=1e-5 if dtype == "float32" else 1,
                )
        flat = picture(4, 5, 3, dtype=dtype)
        small = 1e-4 if dtype == "float32" else 1
        for name in ("brightness", "contrast", "hue"):
            factors = {"min_factor": 0.4, "max_factor": 0.4}
            yield Row(f"{name}:{dtype}", f"image.random_{name}", [flat], factors, tol=small)
        yield Row(f"bright:{dtype}", "image.random_brightness", [flat], {"min_factor": 3.0, "max_factor": 3.0})
        yield Row(
            f"gray-contrast:{dtype}",
            "image.random_contrast",
            [picture(4, 5, 1, dtype=dtype)],
            {"min_factor": 0.4, "max_factor": 0.4},
            tol=small,
        )
        yield Row(f"lighting:{dtype}", "image.adjust_lighting", [flat], {"alpha": (0.5, -0.2, 0.3)}, tol=small)
        yield Row(f"flip:{dtype}", "image.flip_left_right", [flat])
        yield Row(f"flop:{dtype}", "image.flip_top_bottom", [flat])
        yield Row(f"crop:{dtype}", "image.crop", [flat], {"x": 1, "y": 2, "width": 3, "height": 2})
        yield Row(f"tensor:{dtype}", "image.to_tensor", [flat])
        yield Row(f"tensors:{dtype}", "image.to_tensor", [picture(2, 4, 5, 1, dtype=dtype)])
        fixed = {"xrange": (0.5, 0.5), "yrange": (0.75, 0.75), "width": 3, "height": 2}
        yield Row(f"cut:{dtype}", "image.random_crop", [picture(2, 7, 8, 3, dtype=dtype)], fixed)
        tall = {**fixed, "width": 12}
        yield Row(f"cut-grow:{dtype}", "image.random_crop", [picture(7, 8, 3, dtype=dtype)], tall, tol=small)
    yield Row("crops", "image.crop", [picture(2, 4, 5, 3)], {"x": 0, "y": 0, "width": 5, "height": 4})
    yield Row("resize:one", "image.resize", [picture(2, 5, 7, 3)], {"size": 3})
    yield Row("resize:short", "image.resize", [picture(5, 7, 3)], {"size": 3, "keep_ratio": True})
    yield Row("resize:short-tall", "image.resize", [picture(7, 5, 3)], {"size": (3,), "keep_ratio": True})
    tensor = lambda rng: rng.random_sample((3, 4, 5)).astype("float32")  # noqa: E731
    yield Row("normalize:one", "image.normalize", [tensor], {"mean": 0.5, "std": 0.25}, grad=(0,))
    three = {"mean": (0.1, 0.2, 0.3), "std": (1.0, 2.0, 4.0)}
    yield Row("normalize:three", "image.normalize", [tensor], three, grad=(0,))
    yield Row("normalize:batch", "image.normalize", [unit(2, 3, 2, 2)], three, grad=(0,))


# -- edges of other operators -----------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
TIES = [[3.0, 1, 3, 2, 1], [0, 0, 0, 0, 0], [-1, 5, 5, -1, 2]]
ODD = [[NAN, 1.0, INF, -INF, 2.0], [1.0, NAN, NAN, 0.0, -1.0]]


def edges():
    """Operators written before, over their attributes and at their edges."""
    yield from _topk()
    yield from _pick()
    yield from _sequences()
    yield from _softmaxes()
    yield from _indexing()
    yield from _shapes()


def _topk():
    for kind in ("value", "indices", "mask", "both"):
        for is_ascend in (False, True):
            attrs = {"ret_typ": kind, "is_ascend": is_ascend}
            grad = (0,) if kind in ("value", "both") else ()
            yield Row(f"topk:{kind}:{is_ascend}", "topk", [real(3, 5)], {**attrs, "k": 2}, grad=grad)
            yield Row(f"topk:{kind}:{is_ascend}:ties", "topk", [TIES], {**attrs, "k": 3}, grad=grad)
            yield Row(
                f"topk:{kind}:{is_ascend}:axis0", "topk", [real(3, 4, 2)], {**attrs, "k": 2, "axis": 0}, grad=grad
            )
            yield Row(f"topk:{kind}:{is_ascend}:flat", "topk", [real(3, 4)], {**attrs, "k": 5, "axis": None}, grad=grad)
            yield Row(f"topk:{kind}:{is_ascend}:all", "topk", [real(3, 4)], {**attrs, "k": 0, "axis": 1}, grad=grad)
        yield Row(f"topk:{kind}:one", "topk", [real(3, 1)], {"ret_typ": kind})
        yield Row(f"topk:{kind}:int", "topk", [whole(9, 3, 4)], {"ret_typ": kind, "k": 2})
        yield Row(f"topk:{kind}:dtype", "topk", [real(3, 4)], {"ret_typ": kind, "k": 2, "dtype": "int32"})
    yield Row("topk:empty", "topk", [real(0, 4)], {"ret_typ": "value", "k": 2})
    yield Row("topk:inf", "topk", [[[1.0, INF, -INF, 2.0]]], {"ret_typ": "both", "k": 4})


def _pick():
    index = [[-7.0, -1, 0, 1.9, 9], [4, 5, -5, 2, 1]]
    for mode in ("clip", "wrap"):
        yield Row(f"pick:{mode}", "pick", [real(2, 4, 5), index], {"axis": 1, "mode": mode}, grad=(0,))
        yield Row(f"pick:{mode}:last", "pick", [real(3, 4), [-1.0, 6, 2]], {"mode": mode, "keepdims": True}, grad=(0,))
        yield Row(f"pick:{mode}:kept", "pick", [real(3, 4), [[-1.0], [6], [2]]], {"mode": mode}, grad=(0,))
    yield Row("pick:int", "pick", [real(3, 4), whole(4, 3)], {})
    yield Row("pick:nan", "pick", [ODD, whole(5, 2)], {})
    yield Row("pick:zero-batch", "pick", [real(0, 4), whole(4, 0)], {})


def _sequences():
    for axis in (0, 1):
        x = real(4, 3, 2) if axis == 0 else real(3, 4, 2)
        for label, lengths in {"some": [1.0, 4, 2], "none": [0.0, 4, 9]}.items():
            attrs = {"use_sequence_length": True, "axis": axis}
            name = f"{axis}:{label}"
            masked = {**attrs, "value": -2.5}
            yield Row(f"sequence_mask:{name}", "sequence_mask", [x, lengths], masked, grad=(0,))
            if label == "some":
                yield Row(f"sequence_last:{name}", "sequence_last", [x, lengths], attrs, grad=(0,))
        yield Row(f"sequence_last:{axis}", "sequence_last", [x], {"axis": axis})  # whose gradient crashes MXNet
        yield Row(f"sequence_mask:{axis}:off", "sequence_mask", [x], {"axis": axis}, grad=(0,))
    used = {"use_sequence_length": True}
    yield Row("sequence_reverse:0", "sequence_reverse", [real(4, 3, 2), [1.0, 4, 2]], used, grad=(0,))
    yield Row("sequence_reverse:off", "sequence_reverse", [real(4, 3, 2)], {}, grad=(0,))
    yield Row("sequence_mask:nan", "sequence_mask", [[[NAN, 1.0], [INF, 2.0]], [0.0, 1]], used)
    yield Row("sequence_mask:int", "sequence_mask", [real(4, 3), whole(5, 3)], used)
    for blank in ("first", "last"):
        label = np.array([[1, 2, 1], [3, 0, 0], [2, 2, 0]]) - (0 if blank == "first" else 1)
        base = {"blank_label": blank}
        arrays = [real(6, 3, 4), label.astype("float32")]
        yield Row(f"ctc_loss:{blank}", "ctc_loss", arrays, base, grad=(0,), tol=1e-4)
        lengths = [*arrays, np.array([6, 5, 4], "float32"), np.array([3, 1, 2], "float32")]
        both = {**base, "use_data_lengths": True, "use_label_lengths": True}
        yield Row(f"ctc_loss:{blank}:lengths", "ctc_loss", lengths, both, grad=(0,), tol=1e-4)
        data = {**base, "use_data_lengths": True}
        yield Row(f"ctc_loss:{blank}:data", "ctc_loss", lengths[:3], data, grad=(0,), tol=1e-4)
        short = [real(2, 1, 4), np.array([[2, 2]], "float32") - (blank == "last")]
        yield Row(f"ctc_loss:{blank}:impossible", "ctc_loss", short, base, tol=1e-4)


def _softmaxes():
    mask = lambda rng: rng.random_sample((3, 5)) < 0.6  # noqa: E731
    gone = np.array([[True, False, True], [False, False, False]])
    for name in ("masked_softmax", "masked_log_softmax"):
        for label, attrs in {
            "plain": {},
            "warm": {"temperature": 2.5},
            "rough": {"normalize": False},
            "axis": {"axis": 0, "temperature": 0.5},
        }.items():
            yield Row(f"{name}:{label}", name, [real(3, 5), mask], attrs, grad=(0,))
        yield Row(
            f"{name}:broadcast", name, [real(2, 3, 5), lambda rng: rng.random_sample((2, 1, 5)) < 0.6], {}, grad=(0,)
        )
        yield Row(f"{name}:gone", name, [real(2, 3), gone], {}, grad=(0,) if name == "masked_softmax" else ())
        yield Row(f"{name}:empty", name, [real(0, 3), np.zeros((0, 3), bool)], {})
    for name in ("softmax", "log_softmax"):
        yield Row(f"{name}:inf", name, [[[-INF, 1.0, 2.0], [-INF, -INF, -INF]]], {})
        yield Row(f"{name}:warm", name, [real(2, 3)], {"temperature": 0.25, "axis": 0}, grad=(0,))
        yield Row(f"{name}:one", name, [real(3, 1)], {}, grad=(0,))
    yield Row("softmax:lengths", "softmax", [real(2, 3, 4), whole(5, 2, 3)], {"use_length": True}, grad=(0,))


def _indexing():
    yield Row("arange_like:all", "arange_like", [real(2, 3)], {"start": 2.0, "step": 0.5})
    yield Row("arange_like:axis", "arange_like", [real(2, 5)], {"axis": -1, "step": 2.0})
    yield Row("arange_like:repeat", "arange_like", [real(2, 6)], {"axis": 1, "repeat": 2})
    yield Row("arange_like:repeat-odd", "arange_like", [real(2, 5)], {"axis": 1, "repeat": 3, "step": 2.0})
    yield Row("arange_like:repeat-all", "arange_like", [real(2, 4)], {"repeat": 3})
    places = np.array([[0, 1, 1, 0], [2, 0, 0, 2]])
    yield Row("gather_nd:part", "gather_nd", [real(2, 3, 2), places], {}, grad=(0,))
    yield Row("gather_nd:full", "gather_nd", [real(2, 3), places], {}, grad=(0,))
    yield Row("gather_nd:deep", "gather_nd", [real(2, 3), places.reshape(2, 2, 2)], {}, grad=(0,))
    yield Row("gather_nd:float", "gather_nd", [real(2, 3), places.astype("float32")], {})
    apart = np.array([[0, 1, 1], [2, 0, 2]])
    yield Row("scatter_nd:full", "scatter_nd", [real(3), apart], {"shape": (2, 3)}, there="nd.scatter_nd")
    yield Row("scatter_nd:part", "scatter_nd", [real(3, 4), apart], {"shape": (2, 3, 4)}, there="nd.scatter_nd")
    for name in ("index_add", "index_update"):
        ind = places if name == "index_add" else apart
        count = ind.shape[1]
        yield Row(f"{name}:full", name, [real(2, 3), ind, real(count)], {}, grad=(0, 2))
        yield Row(f"{name}:part", name, [real(2, 3, 4), ind, real(count, 4)], {}, grad=(0, 2))
        yield Row(f"{name}:broadcast", name, [real(2, 3, 4), ind, real(count, 1)], {}, grad=(0, 2))
        yield Row(f"{name}:one", name, [real(2, 3, 4), [[1, 0]], real(3, 4)], {}, grad=(0, 2))
        yield Row(f"{name}:scalar", name, [real(2, 3), ind, real(1)], {}, grad=(0, 2))


def _shapes():
    for label, (shape, codes, reverse) in {
        "keep": ((2, 3, 4), (-2, -1), False),
        "skip": ((2, 1, 4), (-2, -3, -2), False),
        "rest": ((2, 3, 4), (-2, -4), False),
        "rest-all": ((2, 3, 4), (-4,), False),
        "merge": ((2, 3, 4), (-5, -2), False),
        "merge-rest": ((2, 3, 4), (-2, -5), False),
        "split": ((6, 4), (-6, 2, 3, -2), False),
        "split-open": ((6, 4), (-6, -1, 3, -4), False),
        "split-later": ((2, 6, 4), (-2, -6, 2, -1, -4), False),
        "open": ((2, 3, 4), (-1,), False),
        "reverse": ((8, 3, 4), (-1, -2), True),
        "reverse-merge": ((2, 3, 4), (-2, -5), True),
        "reverse-split": ((2, 3, 4), (-2, -2, 2, 2, -6), True),
        "reverse-rest": ((2, 3, 4, 5), (-4, -5), True),
        "zero": ((0, 3), (-2, 3), False),
        "zero-open": ((0, 3), (-5,), False),
    }.items():
        attrs = {"newshape": codes, "reverse": reverse}
        yield Row(f"reshape:{label}", "reshape", [real(*shape)], attrs)
    for a in (False, True):
        for b in (False, True):
            attrs = {"transpose_a": a, "transpose_b": b}
            left, right = real(2, *((4, 3) if a else (3, 4))), real(2, *((5, 4) if b else (4, 5)))
            yield Row(f"batch_dot:{a}:{b}", "batch_dot", [left, right], attrs, grad=(0, 1))
    yield Row("batch_dot:deep", "batch_dot", [real(2, 2, 3, 4), real(2, 2, 4, 5)], {}, grad=(0, 1))
    yield Row("batch_dot:zero-batch", "batch_dot", [real(0, 3, 4), real(0, 4, 5)], {})
    yield Row("batch_dot:zero-inner", "batch_dot", [real(2, 3, 0), real(2, 0, 5)], {})


# -- bytes that stand for numbers -------------------------------------------------------------------------------------


def signed(*shape):
    return lambda rng: rng.randint(-127, 128, shape).astype("int8")


def span(low, high):
    """A range, as two arrays."""
    return [np.array([low], "float32"), np.array([high], "float32")]


def quantized():
    """Ranges are such that MXNet's CPU operators have no overflow of their own."""
    known = {"min_calib_range": -1.5, "max_calib_range": 1.0}
    for kind in ("int8", "uint8"):
        attrs = {"out_type": kind}
        yield Row(f"quantize:{kind}", "contrib_quantize", [real(3, 40), *span(-1.0, 2.0)], attrs)
        yield Row(f"quantize_v2:{kind}", "contrib_quantize_v2", [real(3, 40)], attrs)
        yield Row(f"quantize_v2:{kind}:known", "contrib_quantize_v2", [real(3, 40)], {**attrs, **known})
        sums = lambda rng: rng.randint(-(2**28), 2**28, (3, 40)).astype("int32")  # noqa: E731
        yield Row(f"requantize:{kind}", "requantize", [sums, *span(-10.0, 10.0)], {**attrs, **known})
    positive = {"out_type": "auto", "min_calib_range": 0.0, "max_calib_range": 1.5}
    yield Row("quantize_v2:auto", "contrib_quantize_v2", [real(3, 4)], {"out_type": "auto", **known})
    yield Row("quantize_v2:positive", "contrib_quantize_v2", [unit(3, 4)], positive)
    for kind, x in (("int8", signed), ("uint8", picture)):
        ranges = [*span(-1.0, 2.0), *span(-0.5, 0.4)]
        arrays = [x(3, 6), signed(4, 6), signed(4), *ranges, *span(-0.7, 0.3)]
        tol = 1  # of a bias that is brought to the product's steps
        yield Row(f"quantized_fully_connected:{kind}", "quantized_fully_connected", arrays, {"num_hidden": 4}, tol=tol)
        for pool in ("max", "avg"):
            attrs = {"kernel": (2, 2), "stride": (2, 1), "pool_type": pool}
            arrays = [x(2, 3, 4, 5), *span(-1.0, 2.0)]
            yield Row(f"quantized_pooling:{pool}:{kind}", "quantized_pooling", arrays, attrs)
        pair = [x(3, 4), x(3, 4), *span(-1.0, 2.0), *span(-4.0, 2.0)]
        yield Row(f"quantized_elemwise_add:{kind}", "quantized_elemwise_add", pair, tol=512)
        one = [x(2, 3, 4), *span(-1.0, 2.0)]
        yield Row(f"quantized_flatten:{kind}", "quantized_flatten", one)
        yield Row(f"quantized_reshape:{kind}", "quantized_reshape", one, {"newshape": (-2, -1)})
        yield Row(f"quantized_transpose:{kind}", "quantized_transpose", one, {"axes": (2, 0, 1)})
    image = [signed(2, 3, 5, 4), signed(4, 3, 3, 2), signed(4), *span(-1.0, 2.0), *span(-0.5, 0.4), *span(-0.7, 0.3)]
    attrs = {"kernel": (3, 2), "num_filter": 4, "stride": (1, 2), "pad": (1, 0)}
    yield Row("quantized_conv", "quantized_conv", image, attrs)
    wide = {"min_calib_range": -9.0, "max_calib_range": 9.0}
    pair = [signed(3, 4), signed(3, 4), *span(-1.0, 2.0), *span(-4.0, 2.0)]
    yield Row("quantized_elemwise_add:known", "quantized_elemwise_add", pair, wide)
    yield Row("quantized_elemwise_mul:whole", "quantized_elemwise_mul", pair)
    yield Row("quantized_elemwise_mul:known", "quantized_elemwise_mul", pair, wide)
    yield Row("quantized_elemwise_mul:real", "quantized_elemwise_mul", pair, {"enable_float_output": True})
    yield Row("quantized_act", "quantized_act", [signed(3, 4), *span(-1.0, 2.0)], {"act_type": "relu"})
    table = [whole(5, 2, 3, dtype="float32"), signed(5, 4), *span(-1.0, 2.0)]
    yield Row("quantized_embedding", "quantized_embedding", table, {"input_dim": 5, "output_dim": 4})
    yield Row("intgemm_maxabsolute", "intgemm_maxabsolute", [real(3, 5)])
    yield Row("intgemm_prepare_data", "intgemm_prepare_data", [real(3, 64), [1.5]])
    data = [signed(3, 64), np.zeros((8, 64), "int8"), [0.01], real(8)]
    dense = "intgemm_fully_connected"  # of zeros: the order of a prepared weight is MXNet's own
    yield Row(f"{dense}:bias", dense, data, {"num_hidden": 8})
    yield Row(f"{dense}:whole", dense, data[:2], {"num_hidden": 8, "no_bias": True, "out_type": "int32"})


def rows():
    """All rows."""
    return [*vision(), *attention(), *images(), *edges(), *quantized()]
