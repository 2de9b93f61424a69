"""A number that changes from step to step compiles nothing, whatever operator has it: a sweep of the registry."""

import copy
import inspect
import pickle

import numpy as onp
import pytest

from gluonx import amp, autograd, engine, gluon, nn, np, npx, ops
from gluonx import loss as losses
from gluonx.deferred import invoke
from gluonx.ops.registry import OPS, BoundOp, Lifted, Moved
from lib.golden import load_cases
from lib.sweep import churn  # noqa: F401 - a fixture

# Numbers that are not moving, and why. All others of the registry are.
FIXED = {
    "box_decode.clip": "0 and less mean none",
    "cached_attention.scale": "of the model",
    "contrib_quantize_v2.max_calib_range": "of the calibrated model",
    "contrib_quantize_v2.min_calib_range": "of the calibrated model",
    "dot_product_attention.p": "decides between two ways to compute",
    "dot_product_attention.scale": "of the model",
    "histogram.range": "decides where the bins are, which are made once",
    "histogram_bin_edges.range": "decides where the bins are, which are made once",
    "softmax_cross_entropy_loss.label_smoothing": "0 means none, which is another computation",
    "image.normalize.mean": "of the data set; one or one a channel",
    "image.normalize.std": "of the data set; one or one a channel",
    "image.random_color_jitter.brightness": "of the pipeline; 0 means none",
    "image.random_color_jitter.contrast": "of the pipeline; 0 means none",
    "image.random_color_jitter.hue": "of the pipeline; 0 means none",
    "image.random_color_jitter.saturation": "of the pipeline; 0 means none",
    "image.random_crop.xrange": "pairs",
    "image.random_crop.yrange": "pairs",
    "image.random_resized_crop.area": "pairs",
    "image.random_resized_crop.ratio": "pairs",
    "linear_regression_output.grad_scale": "of MXNet 1's graphs",
    "logistic_regression_output.grad_scale": "of MXNet 1's graphs",
    "mae_regression_output.grad_scale": "of MXNet 1's graphs",
    "make_loss.grad_scale": "of MXNet 1's graphs",
    "make_loss.valid_thresh": "of MXNet 1's graphs",
    "multibox_detection.nms_threshold": "0 and less mean none",
    "multibox_target.negative_mining_ratio": "0 and less mean none",
    "multibox_target.overlap_threshold": "0 and less mean none",
    "proposal.ratios": "of the model; one a box",
    "proposal.scales": "of the model; one a box",
    "quantized_elemwise_add.max_calib_range": "of the calibrated model",
    "quantized_elemwise_add.min_calib_range": "of the calibrated model",
    "quantized_elemwise_mul.max_calib_range": "of the calibrated model",
    "quantized_elemwise_mul.min_calib_range": "of the calibrated model",
    "requantize.max_calib_range": "of the calibrated model",
    "requantize.min_calib_range": "of the calibrated model",
    "rnn.lstm_state_clip_max": "None means none",
    "rnn.lstm_state_clip_min": "None means none",
    "rnn.p": "0 means none",
    "softmax_output.grad_scale": "of MXNet 1's graphs",
    "softmax_output.ignore_label": "of MXNet 1's graphs",
    "softmax_output.smooth_alpha": "of MXNet 1's graphs",
    "svm_output.margin": "of MXNet 1's graphs",
    "svm_output.regularization_coefficient": "of MXNet 1's graphs",
    "rotary_embedding.base": "of the model",
    "sigmoid_bce_loss.ignore_label": "of the data set",
    "std.ddof": "a count",
    "var.ddof": "a count",
}


def numbers(op):
    rows = [p for p in inspect.signature(op.fn).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return [p.name for p in rows if isinstance(p.default, float) or "float" in str(p.annotation)]


def own(name):
    """Return whether an operator is no update of an optimizer; those have their own rows."""
    return not name.endswith(("_update", "_update_phase1", "_update_phase2")) and "lars" not in name


def test_every_number_moves_or_has_a_reason():
    told = {f"{op.name}.{a}" for op in {id(o): o for o in OPS.values()}.values() if own(op.name) for a in numbers(op)}
    moving = {f"{op.name}.{a}" for op in OPS.values() for a in op.moving}
    assert not told - moving - set(FIXED), "register it as moving, or say here why not"
    assert set(FIXED) <= told and not set(FIXED) & moving


_RNG = onp.random.RandomState(0)
_X, _Y = _RNG.uniform(0.1, 0.9, (2, 4, 3)).astype("float32")
CASES = {
    **{f"{name}_loss": ([_X, _Y], {}) for name in ("l1", "l2", "huber", "hinge", "squared_hinge", "logistic",
                                                     "sigmoid_bce", "kl_div", "poisson_nll")},
    "softmax_cross_entropy_loss": ([_X, onp.array([0, 2, 1, 1], "int32")], {}),
    "triplet_loss": ([_X, _Y, _X[::-1].copy()], {}),
    "cosine_embedding_loss": ([_X, _Y, onp.array([1, -1, 1, -1], "float32")], {}),
    "ctc_batch_loss": ([_RNG.uniform(-1, 1, (2, 6, 4)).astype("float32"), onp.ones((2, 2), "float32")], {}),
    "sdml_loss": ([_X, _Y], {}),
    "celu": ([_X - 0.5], {}),
    "shrink": ([_X - 0.5], {}),
    "thresholded_relu": ([_X - 0.5], {}),
    "elu": ([_X - 0.5], {}),
    "swish": ([_X], {}),
    "rms_norm": ([_X, onp.ones(3, "float32")], {}),
    "proposal": ([_RNG.uniform(0, 1, (1, 2, 4, 4)).astype("float32"), onp.zeros((1, 4, 4, 4), "float32"),
                  onp.array([[64, 64, 1]], "float32")], {"scales": (2.0,), "ratios": (1.0,), "rpn_post_nms_top_n": 4}),
    "rroi_align": ([_RNG.uniform(0, 1, (1, 2, 6, 6)).astype("float32"), onp.array([[0, 3, 3, 4, 2, 30]], "float32")],
                   {"pooled_size": (2, 2), "spatial_scale": 1.0}),
    "deformable_psroi_pooling": (
        [_RNG.uniform(0, 1, (1, 8, 6, 6)).astype("float32"), onp.array([[0, 0, 0, 4, 4]], "float32"),
         _RNG.uniform(0, 1, (1, 2, 2, 2)).astype("float32")],
        {"spatial_scale": 1.0, "output_dim": 2, "group_size": 2, "pooled_size": 2, "trans_std": 0.1},
    ),
    "psroi_pooling": ([_RNG.uniform(0, 1, (1, 8, 6, 6)).astype("float32"), onp.array([[0, 0, 0, 4, 4]], "float32")],
                      {"spatial_scale": 1.0, "output_dim": 2, "pooled_size": 2}),
    "metric_distance": ([onp.zeros(2, "float32"), _X, _Y], {}),
    "metric_cosine": ([onp.zeros(2, "float32"), _X, _Y], {}),
    "metric_cross_entropy": ([onp.zeros((2, 2), "float32"), onp.array([0, 2, 1, 1], "int32"), _X], {}),
}  # fmt: skip
_OPS = load_cases("ops")
for _row in _OPS.rows():
    if ops.get(_row["op"]).name not in CASES:
        CASES[ops.get(_row["op"]).name] = (_OPS.make(_row), _row["attrs"])
for _row in load_cases("vision_ops").rows():
    if _row.op in OPS:
        CASES.setdefault(ops.get(_row.op).name, (_row.arrays(), _row.attrs))
MOVING = sorted({(op.name, a) for op in OPS.values() for a in op.moving if not op.random and op.name in CASES})
VALUES, FURTHER = (0.21, 0.32, 0.43, 0.54), (0.17, 0.41)


def arrays_of(name, kind=None):
    """The inputs of an operator's case: floats as float32, or as `kind`."""
    given = [None if a is None else onp.asarray(a) for a in CASES[name][0]]
    return [a.astype(kind or "float32") if a is not None and a.dtype.kind == "f" else a for a in given]


def run(name, attribute, value, kind=None):
    """The results with a value, their gradient taken too where there is one, and the bound operator."""
    op = ops.get(name)
    attrs = {**CASES[name][1], attribute: value, **({"training": True} if "training" in op.attr_names else {})}
    given = [None if a is None else np.array(a, dtype=a.dtype) for a in arrays_of(name, kind)]
    bound = op.bind(**attrs)
    with autograd.record():
        for a in given:
            if a is not None and a.dtype.kind == "f":
                a.attach_grad()
        out = invoke(bound, tuple(given))
    return (out if isinstance(out, tuple) else (out,)), bound


def test_every_moving_number_has_a_case():
    missing = {op.name for op in OPS.values() if op.moving and not op.random} - set(CASES)
    assert not missing


@pytest.mark.dear
@pytest.mark.parametrize("mode", ["deferred", pytest.param("naive", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "attribute"), MOVING)
def test_changing_it_compiles_nothing(name, attribute, mode):
    """After the first values one program serves all, and gives what constants give."""
    with engine.mode(mode):
        for value in VALUES:
            for out in run(name, attribute, value)[0]:
                out.wait_to_read()
        before = engine.stats()["programs_compiled"]
        for value in FURTHER:
            outs, bound = run(name, attribute, value)
            assert type(bound) is Moved
            wanted = bound.fn(*arrays_of(name))
            for ours, theirs in zip(outs, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
                assert ours.dtype == theirs.dtype
                onp.testing.assert_allclose(ours.asnumpy(), onp.asarray(theirs), rtol=1e-4, atol=1e-5)
        assert engine.stats()["programs_compiled"] == before, engine.explain()


@pytest.mark.parametrize(("name", "attribute"), [("layer_norm", "eps"), ("leaky_relu", "slope"), ("l2_loss", "weight"),
                                                 ("smooth_l1", "scalar"), ("batch_norm", "momentum")])  # fmt: skip
def test_half_types_stay(name, attribute):
    kinds = {tuple(str(o.dtype) for o in run(name, attribute, v, "float16")[0]) for v in VALUES}
    assert len(kinds) == 1


def test_gradients_flow_through_it():
    x = np.array([-2.0, 3.0])
    x.attach_grad()
    for slope in VALUES:
        with autograd.record():
            y = npx.leaky_relu(x, slope=slope) ** 2
        y.backward()
        onp.testing.assert_allclose(x.grad.asnumpy(), [2 * slope * slope * -2, 6], rtol=1e-5)
    with autograd.record():
        g = autograd.grad(npx.leaky_relu(x, slope=0.99) ** 2, x, create_graph=True)[0].sum()
    g.backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), [2 * 0.99**2, 2], rtol=1e-5)


def test_dropout_rates_of_a_schedule():
    x, seen = np.ones((100, 100)), []
    for p in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.0, 1.0):
        with autograd.train_mode():
            y = npx.dropout(x, p=p).asnumpy()
        assert abs((y == 0).mean() - p) < 0.03  # 6 standard deviations: a false alarm once in 10 ** 8
        assert p == 1 or y.max() == pytest.approx(1 / (1 - p), rel=1e-5)
        seen.append(engine.stats()["programs_compiled"])
    assert seen[6] == seen[3]
    with pytest.raises(ValueError, match=r"dropout: p is 1\.5"):
        npx.dropout(x, p=1.5)


def test_layers_with_moved_numbers_are_layers():
    """They are hybridized, copied, pickled, cast by amp and written as graphs like others."""
    x = np.array([[-1.0, 2.0]])
    for slope in (0.11, 0.12, 0.13, 0.14, 0.15):
        net = nn.HybridSequential()
        net.add(nn.LeakyReLU(slope), nn.LayerNorm(epsilon=slope, in_channels=2))
        net.initialize()
        plain = net(x).asnumpy()
        net.hybridize()
        onp.testing.assert_allclose(net(x).asnumpy(), plain, rtol=1e-6)
        for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            onp.testing.assert_array_equal(other(x).asnumpy(), net(x).asnumpy())
    bound = ops.get("leaky_relu").bind(slope=0.77)
    assert repr(bound) == "leaky_relu(slope=0.77)" and isinstance(bound.lifted, Lifted)
    assert losses.HuberLoss(rho=0.123)(x, x).tolist() == [0.0]
    assert gluon.nn.ELU(0.37)(x).asnumpy()[0, 0] == pytest.approx(0.37 * (onp.exp(-1) - 1), rel=1e-5)
    amp.init("bfloat16")
    try:
        assert nn.LeakyReLU(0.31)(x).asnumpy()[0, 0] == pytest.approx(-0.31, rel=1e-2)
    finally:
        amp.reset()


def test_a_further_number_makes_one_object(monkeypatch):
    op = ops.get("smooth_l1")
    for scalar in (2.5, 3.5, 4.5):
        op.bind(scalar=scalar)
    made, real = [], BoundOp.__init__

    def counted(self, *args):
        made.append(type(self))
        real(self, *args)

    monkeypatch.setattr(BoundOp, "__init__", counted)
    assert op.bind(scalar=5.5).numbers == (5.5,)
    assert made == [Moved]
