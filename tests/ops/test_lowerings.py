"""The forms that convolutions take on a CPU: which is chosen, that its numbers are the native ones, and where it ends.

The choice is read from the lowered program, never from a clock; `benchmarks/ops.py` holds the clock.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxpr_as_fun
from jax.test_util import check_grads

import gluonx as mx
from gluonx import autograd, nn
from gluonx.errors import ShapeError
from gluonx.ops import elementwise, get
from gluonx.ops.cpu import cells, depthwise
from gluonx.ops.cpu import convolution as lowering
from gluonx.ops.cpu import weight_gradient as products
from gluonx.ops.cpu.convolution import _parts, _widens, algorithm_of, for_cpu, native_operations
from gluonx.ops.cpu.natively import natively
from gluonx.ops.cpu.transposed import transposed_algorithm_of
from gluonx.ops.geometry import Geometry

# Operator, data, weight, attributes, form.
CASES = {
    "tiny image": ("convolution", (3, 4, 2, 2), (5, 4, 3, 3), {"pad": (1, 1)}, "patches"),
    "tiny result": ("convolution", (1, 18, 8, 8), (5, 18, 3, 3), {"pad": (1, 1), "stride": (2, 2)}, "patches"),
    "one place": ("convolution", (2, 4, 5, 5), (3, 4, 5, 5), {}, "patches"),
    "wider than the image": ("convolution", (2, 3, 6, 5), (4, 3, 7, 1), {"pad": (3, 0)}, "patches"),
    "dilated": ("convolution", (2, 3, 5, 6), (4, 3, 3, 3), {"pad": (3, 3), "dilate": (3, 3)}, "patches"),
    "1x1": ("convolution", (2, 3, 16, 17), (4, 3, 1, 1), {}, "product"),
    "1x1, strided": ("convolution", (2, 3, 31, 32), (4, 3, 1, 1), {"stride": (2, 2), "pad": (1, 0)}, "product"),
    "1x1, small": ("convolution", (2, 3, 5, 4), (4, 3, 1, 1), {}, "rows"),
    "1x1, a line": ("convolution", (2, 3, 9), (4, 3, 1), {"stride": (2,), "pad": (1,)}, "rows"),
    "1x1 last": ("convolution", (1, 2, 2, 3), (4, 1, 1, 3), {"layout": "NHWC"}, "rows"),
    "1x1 last, strided": (
        "convolution",
        (2, 31, 32, 3),
        (4, 1, 1, 3),
        {"layout": "NHWC", "stride": (2, 2), "pad": (1, 0)},
        "rows",
    ),
    "a line": ("convolution", (1, 4, 4), (3, 4, 3), {"pad": (1,)}, "patches"),
    "a volume": ("convolution", (1, 2, 2, 2, 3), (3, 2, 2, 3, 2), {"pad": (1, 1, 1)}, "patches"),
    "channels last": ("convolution", (2, 2, 3, 4), (5, 3, 2, 4), {"pad": (1, 1), "layout": "NHWC"}, "patches"),
    "groups": ("convolution", (2, 6, 6, 6), (4, 3, 3, 3), {"pad": (1, 1), "num_group": 2}, "patches"),
    "groups, 1x1": ("convolution", (2, 6, 5, 5), (9, 2, 1, 1), {"num_group": 3}, "patches"),
    "groups last": (
        "convolution",
        (2, 6, 5, 6),
        (4, 3, 2, 3),
        {"stride": (2, 1), "num_group": 2, "layout": "NHWC"},
        "patches",
    ),
    "depthwise": ("convolution", (2, 6, 6, 5), (6, 1, 3, 3), {"pad": (1, 1), "num_group": 6}, "shifts"),
    "depthwise, strided": (
        "convolution",
        (2, 4, 7, 6),
        (4, 1, 3, 2),
        {"pad": (1, 0), "stride": (2, 3), "num_group": 4},
        "shifts",
    ),
    "depthwise, twice": ("convolution", (2, 3, 6, 6), (6, 1, 3, 3), {"dilate": (2, 2), "num_group": 3}, "shifts"),
    "depthwise last": (
        "convolution",
        (2, 5, 5, 4),
        (8, 3, 3, 1),
        {"pad": (1, 1), "num_group": 4, "layout": "NHWC"},
        "shifts",
    ),
    "depthwise line": ("convolution", (2, 3, 9), (3, 1, 4), {"stride": (2,), "num_group": 3}, "shifts"),
    "deconvolution": ("deconvolution", (2, 4, 5, 5), (4, 3, 4, 4), {"pad": (1, 1), "stride": (2, 2)}, "transpose"),
    "deconvolution, dilated": (
        "deconvolution",
        (2, 4, 6, 5),
        (4, 3, 3, 2),
        {"pad": (2, 1), "stride": (2, 1), "dilate": (1, 2), "adj": (1, 0)},
        "transpose",
    ),
    "deconvolution, transposed last": (
        "deconvolution",
        (2, 5, 4, 3),
        (3, 4, 4, 2),
        {"pad": (2, 1), "stride": (2, 2), "layout": "NHWC"},
        "transpose",
    ),
    "deconvolution, a large kernel": ("deconvolution", (1, 3, 5, 5), (3, 4, 9, 9), {}, "transpose"),
    "deconvolution, few": ("deconvolution", (2, 4, 3, 4), (4, 3, 4, 4), {"pad": (1, 1), "stride": (2, 2)}, "phases"),
    "deconvolution, longer": (
        "deconvolution",
        (2, 4, 3, 4),
        (4, 3, 3, 2),
        {"stride": (3, 2), "adj": (2, 1), "pad": (1, 0)},
        "phases",
    ),
    "deconvolution, groups": (
        "deconvolution",
        (2, 4, 3, 3),
        (4, 3, 3, 3),
        {"stride": (2, 2), "num_group": 2},
        "patches",
    ),
    "deconvolution, depthwise": (
        "deconvolution",
        (2, 4, 3, 3),
        (4, 1, 4, 4),
        {"stride": (2, 2), "pad": (1, 1), "num_group": 4},
        "shifts",
    ),
    "deconvolution, 1x1": ("deconvolution", (1, 3, 5, 5), (3, 4, 1, 1), {}, "rows"),
    "deconvolution, phases without taps": (
        "deconvolution",
        (2, 3, 3, 3),
        (3, 4, 2, 2),
        {"stride": (3, 3), "pad": (1, 0)},
        "phases",
    ),
    "deconvolution, few last": (
        "deconvolution",
        (2, 4, 3, 4),
        (4, 3, 4, 2),
        {"pad": (0, 1), "stride": (2, 2), "adj": (1, 0), "layout": "NHWC"},
        "phases",
    ),
    "deconvolution, a volume": (
        "deconvolution",
        (1, 2, 2, 2, 3),
        (2, 3, 2, 2, 3),
        {"stride": (2, 2, 2), "pad": (1, 1, 0)},
        "phases",
    ),
    "deconvolution, much padding": ("deconvolution", (1, 3, 2, 2), (3, 4, 5, 5), {}, "patches"),
    "deconvolution, apart": (
        "deconvolution",
        (2, 3, 5, 4),
        (3, 4, 2, 3),
        {"stride": (2, 3), "adj": (1, 0)},
        "blocks",
    ),
    "deconvolution, one place": ("deconvolution", (2, 3, 1, 1), (3, 4, 4, 3), {}, "blocks"),
    "deconvolution last": (
        "deconvolution",
        (2, 3, 3, 4),
        (4, 2, 2, 3),
        {"stride": (2, 2), "layout": "NHWC"},
        "blocks",
    ),
}
NATIVE = {
    "plain": ("convolution", (1, 3, 9, 9), (4, 3, 3, 3), {"pad": (1, 1)}),
    "tiny results of many images": ("convolution", (2, 18, 8, 8), (5, 18, 3, 3), {"pad": (1, 1), "stride": (2, 2)}),
    "strided": ("convolution", (1, 3, 16, 16), (4, 3, 3, 3), {"pad": (1, 1), "stride": (2, 2)}),
    "a large kernel": ("convolution", (1, 3, 12, 12), (4, 3, 11, 11), {"stride": (4, 4)}),
    "a long line": ("convolution", (1, 3, 200), (3, 1, 100), {"num_group": 3}),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
QUICK = ("tiny image", "1x1", "groups", "depthwise, strided", "deconvolution, longer")
few_cases = pytest.mark.parametrize(
    "case", [pytest.param(c, id=name, marks=() if name in QUICK else pytest.mark.slow) for name, c in CASES.items()]
)


def arrays(case, dtype=np.float32):
    rng = np.random.default_rng(len(str(case)))
    return [jnp.asarray(rng.uniform(-1, 1, shape), dtype) for shape in case[1:3]]


def chosen(case):
    return get(case[0]).bind(**case[3], no_bias=True).fn


def native(case):
    fn = chosen(case)

    def run(*args):
        with native_operations():
            return fn(*args)

    return run


def wave(fn):
    """A scalar that is curved in both inputs."""
    return lambda x, w: jnp.sum(jnp.sin(fn(x, w)))


def close(found, wanted, rtol=1e-4):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, float(abs(b).max())))


@pytest.mark.dear
@every_case
def test_numbers_and_gradients_are_the_native_ones(case):
    args = arrays(case)
    close(jax.jit(chosen(case))(*args), jax.jit(native(case))(*args))
    both = [jax.jit(jax.grad(wave(fn(case)), (0, 1)))(*args) for fn in (chosen, native)]
    close(*both)


@few_cases
def test_second_derivatives(case):
    args = arrays(case)

    def norm(fn):
        def total(x, w):
            gx, gw = jax.grad(wave(fn), (0, 1))(x, w)
            return jnp.sum(gx**2) + jnp.sum(gw**2)

        return jax.jit(jax.grad(total, (0, 1)))

    close(norm(chosen(case))(*args), norm(native(case))(*args), 1e-3)


@pytest.mark.dear
@few_cases
def test_forward_mode_and_vmap(case):
    x, w = arrays(case)
    tangents = jnp.cos(x), jnp.cos(w)
    fns = chosen(case), native(case)
    close(*[jax.jit(lambda x, w, fn=fn: jax.jvp(fn, (x, w), tangents))(x, w) for fn in fns])
    for axes, args in (((0, None), (jnp.stack([x, -x]), w)), ((None, 0), (x, jnp.stack([w, 2 * w])))):
        close(*[jax.jit(jax.vmap(jax.grad(wave(fn), (0, 1)), axes))(*args) for fn in fns])


@pytest.mark.dear
@every_case
def test_the_form_is_what_the_program_holds(case):
    """On a CPU no convolution is left but a transposed one; other platforms, and native_operations, have no other."""
    args = arrays(case)

    def count(text):
        return text.count("stablehlo.convolution")

    grad = jax.jit(jax.grad(wave(chosen(case)), (0, 1)))
    assert count(grad.lower(*args).as_text()) == (3 if case[4] == "transpose" else 0)
    assert count(jax.jit(jax.grad(wave(native(case)), (0, 1))).lower(*args).as_text()) == 3
    abroad = jax.export.export(jax.jit(chosen(case)), platforms=["cuda"])(*args).mlir_module()
    at_home = jax.export.export(jax.jit(native(case)), platforms=["cuda"])(*args).mlir_module()
    assert count(abroad) == count(at_home) == 1
    assert "dot_general" not in abroad


@pytest.mark.parametrize("case", NATIVE.values(), ids=NATIVE)
def test_what_stays_native(case):
    text = jax.jit(chosen(case)).lower(*arrays(case)).as_text()
    assert text.count("stablehlo.convolution") == 1
    assert "case" not in text


def test_forms_by_name():
    for name, (op, x, w, attrs, form) in CASES.items():
        space = len(x) - 2
        layout = attrs.get("layout", {1: "NCW", 2: "NCHW", 3: "NCDHW"}[space])
        ones = (1,) * space
        parts = [attrs.get(k, d) for k, d in (("stride", ones), ("dilate", ones), ("pad", (0,) * space))]
        geometry = Geometry(layout, *parts, attrs.get("num_group", 1))
        x, w = (jax.ShapeDtypeStruct(shape, np.float32) for shape in (x, w))
        if op == "convolution":
            assert algorithm_of(x, w, geometry) == form, name
            assert algorithm_of(x.update(dtype=np.int32), w, geometry) == "native"
        else:
            out = jax.eval_shape(get(op).bind(**attrs, no_bias=True).fn, x, w).shape
            assert transposed_algorithm_of(x, w, geometry, out) == form, name


def test_patches_that_would_be_too_large():
    geometry = Geometry("NCHW", (1, 1), (1, 1), (1, 1), 2)
    x, w = (jax.ShapeDtypeStruct(s, np.float32) for s in ((64, 64, 112, 112), (64, 32, 3, 3)))
    assert algorithm_of(x, w, geometry) == "taps"
    assert algorithm_of(x, w, geometry._replace(groups=1)) == "native"


@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_the_narrower_operand_is_turned_for_a_weights_gradient(monkeypatch, layout, wide):
    monkeypatch.setattr("gluonx.ops.cpu.convolution._WIDE_RESULT", 0)
    filters = 8 if wide else 5
    x, w = ((2, 3, 5, 7), (filters, 3, 1, 1)) if layout == "NCHW" else ((2, 5, 7, 3), (filters, 1, 1, 3))
    case = ("convolution", x, w, {"layout": layout, "stride": (1, 2)})  # an operator that no other test has traced
    args = arrays(case)
    gradients = jax.grad(wave(chosen(case)), (0, 1))
    with for_cpu():
        lowered = jax.jit(gradients).lower(*args)
    close(lowered.compile()(*args), jax.jit(jax.grad(wave(native(case)), (0, 1)))(*args))
    each = jax.jit(jax.vmap(gradients, (0, None))).lower(args[0][None], args[1])
    assert " convolution(" not in each.compile().as_text()  # which it would be in groups, and slow
    assert lowered.as_text().count("stablehlo.convolution") == (3 if wide else 0)
    assert " convolution(" not in lowered.compile().as_text()  # XLA makes products of them


def test_a_product_of_few_rows_keeps_its_order():
    assert _widens(12544, 64, 256) and _widens(16384, 16, 96) and _widens(1024, 96, 576)
    assert not _widens(12544, 256, 64) and not _widens(512, 768, 3072) and not _widens(256, 160, 960)


@pytest.mark.parametrize("name", ["groups", "groups last"])
def test_taps_give_the_same(monkeypatch, name):
    monkeypatch.setattr("gluonx.ops.cpu.convolution._LARGE", 0)
    case = (*CASES[name][:3], {**CASES[name][3], "dilate": (1, 1)})  # an operator that no other test has traced
    args = arrays(case)
    assert str(jax.make_jaxpr(chosen(case))(*args)).count("dot_general[") > 1
    close(*[jax.jit(jax.grad(wave(fn(case)), (0, 1)))(*args) for fn in (chosen, native)])


@pytest.mark.parametrize("several", [False, True], ids=["one CPU", "several CPUs"])
@pytest.mark.parametrize("groups", [6, 8, 32])
@pytest.mark.parametrize("op", ["convolution", "deconvolution"])
def test_groups_are_joined_to_wide_ones(op, groups, several):
    """To 16 channels at least, where there are as many, and in four parts at most."""
    case = (op, (2, 4 * groups, 9, 8), (4 * groups, 4, 3, 3), {"pad": (1, 0), "num_group": groups})
    args = arrays(case)
    gradients = jax.jit(jax.value_and_grad(wave(chosen(case)), (0, 1)))
    parts = {6: 1, 8: 2, 32: 4}[groups]
    assert _parts(groups, 4) == parts
    with for_cpu(several=several):
        lowered = gradients.lower(*args)
    assert lowered.as_text().count("stablehlo.convolution") == 3 * parts
    close(lowered.compile()(*args), jax.jit(jax.value_and_grad(wave(native(case)), (0, 1)))(*args))


JOINED = {
    "1x1": ("convolution", (2, 6, 5, 5), (9, 2, 1, 1), {"num_group": 3}),
    "a line": ("convolution", (2, 6, 12), (4, 3, 4), {"num_group": 2, "stride": (2,)}),
    "a large kernel": ("convolution", (2, 6, 20, 2), (4, 3, 13, 5), {"pad": (0, 2), "num_group": 2}),
    "last, strided": ("convolution", (2, 9, 5, 6), (4, 3, 2, 3), {"stride": (2, 1), "num_group": 2, "layout": "NHWC"}),
    "a volume": ("convolution", (2, 4, 5, 4, 6), (6, 2, 3, 2, 3), {"num_group": 2, "pad": (1, 0, 1)}),
    "transposed": ("deconvolution", (2, 4, 6, 3), (4, 3, 3, 3), {"stride": (2, 2), "num_group": 2, "adj": (1, 0)}),
    "transposed, 1x1": ("deconvolution", (2, 4, 6, 3), (4, 3, 1, 1), {"num_group": 2}),
    "few places": ("convolution", (1, 18, 4, 5), (6, 9, 3, 3), {"num_group": 2}),
    "few places, transposed": ("deconvolution", (1, 4, 2, 2), (4, 9, 3, 3), {"stride": (2, 2), "num_group": 2}),
}


@pytest.mark.parametrize("case", JOINED.values(), ids=JOINED)
def test_groups_in_programs_for_cpus_have_the_native_numbers(case):
    args = arrays(case)
    with for_cpu():
        lowered = jax.jit(jax.value_and_grad(wave(chosen(case)), (0, 1))).lower(*args)
    text = lowered.as_text()
    assert text.count("feature_group_count = 1") == text.count("stablehlo.convolution")
    close(lowered.compile()(*args), jax.jit(jax.value_and_grad(wave(native(case)), (0, 1)))(*args))


def test_numbers_of_groups_that_are_not_joined_do_not_mix():
    case = ("convolution", (1, 32, 9, 9), (32, 16, 3, 3), {"num_group": 2, "pad": (1, 1)})
    x, w = arrays(case)
    with for_cpu():
        found = jax.jit(chosen(case))(x.at[0, 3, 4, 4].set(jnp.nan), w)
    assert np.isnan(found[:, :16]).any()
    assert not np.isnan(found[:, 16:]).any()


def test_groups_of_wide_channels_are_not_joined():
    assert [_parts(groups, 16) for groups in (2, 3, 4, 5, 8)] == [2, 3, 4, 1, 4]


@pytest.mark.parametrize("name", ["tiny image", "depthwise", "groups", "deconvolution"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(name, dtype):
    case = CASES[name]
    args = arrays(case, dtype)
    close(jax.jit(chosen(case))(*args), jax.jit(native(case))(*args), 2e-2)


@pytest.mark.parametrize("name", ["tiny image", "depthwise, strided", "deconvolution, longer"])
def test_gradients_by_differences(name):
    case = CASES[name]
    with jax.enable_x64():
        check_grads(chosen(case), arrays(case, np.float64), order=2, modes=["fwd", "rev"], rtol=1e-5)


@pytest.mark.dear
@pytest.mark.parametrize("name", ["tiny image", "depthwise", "groups"])
def test_only_the_inputs_are_kept_for_the_gradient(name):
    case = CASES[name]
    x, w = arrays(case)
    _, pull = jax.vjp(chosen(case), x, w)
    kept = sorted(leaf.size for leaf in jax.tree.leaves(pull) if leaf.ndim)
    assert kept == sorted([x.size, w.size])


@pytest.mark.parametrize("name", ["deconvolution", "deconvolution, dilated", "deconvolution, transposed last"])
def test_the_weight_gradient_of_a_transpose_is_that_of_a_convolution(name):
    """The data is a kernel with holes; autodiff of the usual form gives an image with holes, which is slow."""
    case = CASES[name]
    x, w = arrays(case)
    g = jnp.cos(chosen(case)(x, w))

    def holes(fn):
        text = jax.jit(lambda x, w, g: jax.vjp(lambda w: fn(x, w), w)[1](g)).lower(x, w, g).as_text()
        return [text.split(f"{side}_dilate = [")[1].split("]")[0] for side in ("lhs", "rhs")]

    stride = ", ".join(map(str, case[3]["stride"]))
    assert holes(chosen(case))[1] == stride
    assert holes(native(case))[0] == stride


@pytest.mark.parametrize("name", ["deconvolution, few", "deconvolution, apart"])
def test_the_weight_is_not_turned_round(name):
    """Every product has the weight, or its gradient, as a matrix of its own rows."""
    case = CASES[name]
    x, w = arrays(case)
    grad = jax.jit(jax.grad(wave(chosen(case)), (0, 1)))
    rows, columns = w.shape[0], w.size // w.shape[0]
    text = grad.lower(x, w).compile().as_text()
    assert f"f32[{rows},{columns}]" in text
    assert f"f32[{columns},{rows}]" not in text


def pads_and_slices(fn, *args):
    text = jax.jit(fn).lower(*args).compile().as_text()
    return text.count(" pad("), text.count(" slice(")


@pytest.mark.dear
@pytest.mark.parametrize(
    ("stride", "dilate", "pad", "kernel"),
    [(1, 1, 1, (3, 3)), (2, 1, 1, (3, 3)), (1, 2, 2, (3, 3)), (3, 1, 0, (2, 3)), (2, 2, 3, (1, 4)), (2, 1, 0, (2, 2))],
)
def test_a_depthwise_weights_gradient_by_rows(stride, dilate, pad, kernel):
    attrs = {"stride": (stride,) * 2, "dilate": (dilate,) * 2, "pad": (pad,) * 2, "num_group": 4, "layout": "NHWC"}
    case = ("convolution", (3, 7, 8, 4), (4, *kernel, 1), attrs, "shifts")
    x, w = arrays(case)
    geometry = Geometry("NHWC", attrs["stride"], attrs["dilate"], attrs["pad"], 4)
    assert depthwise.rows_pay(x, w, geometry)
    assert "while" in jax.jit(jax.grad(lambda w: (chosen(case)(x, w) ** 2).sum())).lower(w).as_text()
    y, pull = jax.vjp(lambda x, w: lowering.native(x, w, geometry), x, w)
    found, ours = jax.vjp(chosen(case), x, w)
    np.testing.assert_allclose(found, y, rtol=1e-5, atol=1e-5)
    for mine, other in zip(ours(y), pull(y), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-4)
    with jax.enable_x64():
        check_grads(chosen(case), arrays(case, np.float64), order=2, modes=["fwd", "rev"], rtol=1e-5)


@pytest.mark.dear
def test_where_a_depthwise_weights_gradient_is_by_rows():
    def pay(x, w, layout="NHWC", groups=8):
        return depthwise.rows_pay(jnp.ones(x), jnp.ones(w), Geometry(layout, (1, 1), (1, 1), (1, 1), groups))

    assert pay((2, 16, 16, 8), (8, 3, 3, 1))
    assert not pay((2, 16, 17, 8), (8, 3, 3, 1))  # a long row
    assert not pay((2, 16, 16, 8), (16, 3, 3, 1))  # several filters a channel
    assert not pay((2, 16, 16, 8), (8, 4, 4, 1))  # many sums
    assert not pay((2, 8, 16, 16), (8, 1, 3, 3), "NCHW")


@pytest.mark.parametrize("name", ["depthwise", "depthwise, twice", "depthwise last"])
def test_a_loop_over_channels_finds_the_weights_side_by_side(name):
    """XLA makes them once, all of a place after each other; it would have the loop do a transposition."""
    case = CASES[name]
    x, w = arrays(case)
    for fn in (chosen(case), lambda x, w: jax.vjp(lambda x: chosen(case)(x, w), x)[1](chosen(case)(x, w))[0]):
        text = jax.jit(fn).lower(x, w).compile().as_text()
        made = [line for line in text.splitlines() if f" f32[{w.size}]" in line and "concatenate" in line]
        assert made, text
    assert "concatenate" not in jax.jit(native(case)).lower(x, w).compile().as_text()


@pytest.mark.dear
@pytest.mark.parametrize("name", ["depthwise", "depthwise, strided", "depthwise, twice", "depthwise last"])
def test_the_gradient_of_shifted_images_is_a_sum_of_slices(name):
    """One padded image for all places of the kernel, where a transposed slice would be a pad for each."""
    case = CASES[name]
    x, w = arrays(case)
    g = jnp.cos(chosen(case)(x, w))
    places = int(np.prod(w.shape[1:3] if case[3].get("layout") == "NHWC" else w.shape[2:]))
    pads, slices = pads_and_slices(lambda x, w, g: jax.vjp(lambda x: chosen(case)(x, w), x)[1](g), x, w, g)
    assert pads <= 2 < places <= slices


@pytest.mark.dear
@pytest.mark.parametrize("pad", [0, 1, 2, 4])
@pytest.mark.parametrize("dilate", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_shifts_where_the_padding_is_short_or_long(pad, dilate, stride):
    attrs = {"pad": (pad, 0), "dilate": (dilate, 1), "stride": (stride, 2), "num_group": 2}
    case = ("convolution", (2, 2, 7, 6), (4, 1, 3, 2), attrs, "shifts")
    args = arrays(case)
    close(*[jax.jit(jax.grad(wave(fn(case)), (0, 1)))(*args) for fn in (chosen, native)])
    only = [jax.jit(jax.grad(wave(fn(case))))(*args) for fn in (chosen, native)]
    close(*only)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_of_shifts_in_half_precision(dtype):
    case = CASES["depthwise, strided"]
    args = arrays(case, dtype)
    close(*[jax.jit(jax.grad(wave(fn(case)), (0, 1)))(*args) for fn in (chosen, native)], 5e-2)


@pytest.mark.dear
@pytest.mark.parametrize("layer", ["Conv2D", "Conv2DTranspose"])
def test_layers_and_create_graph(layer):
    """Through the engine: plain, hybridized and naive agree, also in a gradient's gradient."""
    found = []
    x = mx.np.array(arrays(CASES["tiny image"])[0])
    for mode in ("plain", "hybrid", "naive"):
        net = getattr(nn, layer)(3, 3, strides=1, padding=1, in_channels=4, weight_initializer=mx.init.Constant(0.3))
        net.initialize()
        net.hybridize(mode == "hybrid")
        with mx.engine.mode("naive" if mode == "naive" else "deferred"):
            x.attach_grad()
            with autograd.record():
                y = (net(x) ** 3).sum()
                (dx,) = autograd.grad(y, [x], create_graph=True, retain_graph=True)
                z = (dx**2).sum()
            z.backward()
            found.append((x.grad.asnumpy(), net.weight.grad().asnumpy()))
    for other in found[1:]:
        close(other, found[0])
    assert abs(found[0][1]).max() > 0


# Data, weight, attributes, and the most places of a band, of which a step of the loop is made.
PRODUCTS = {
    "an image a step": ((2, 4, 6, 5), (5, 4, 3, 3), {"pad": (1, 1)}, 30),
    "images together": ((4, 4, 6, 5), (5, 4, 3, 3), {"pad": (1, 1)}, 60),
    "bands": ((2, 3, 8, 7), (4, 3, 3, 3), {"pad": (1, 1)}, 14),
    "bands of single rows": ((1, 3, 7, 9), (4, 3, 3, 3), {"pad": (1, 1)}, 9),
    "bands too short for the kernel": ((2, 3, 7, 7), (4, 3, 5, 5), {"pad": (2, 2)}, 7),
    "bands, dilated": ((1, 3, 12, 8), (4, 3, 3, 3), {"pad": (2, 2), "dilate": (2, 2)}, 32),
    "no margins": ((2, 3, 7, 8), (4, 3, 2, 3), {}, 20),
    "wide margins": ((2, 3, 5, 6), (4, 3, 4, 4), {"pad": (3, 3)}, 8),
    "margins beyond the kernel": ((2, 3, 6, 6), (4, 3, 2, 2), {"pad": (2, 3)}, 64),
    "a row": ((2, 3, 6, 8), (4, 3, 1, 5), {"pad": (0, 2)}, 16),
    "a column": ((2, 3, 8, 6), (4, 3, 5, 1), {"pad": (2, 0)}, 24),
    "uneven": ((3, 3, 10, 9), (4, 3, 3, 2), {"pad": (2, 0), "dilate": (2, 3)}, 500),
    "channels last": ((2, 6, 5, 4), (5, 3, 3, 4), {"pad": (1, 1), "layout": "NHWC"}, 15),
}
every_product = pytest.mark.parametrize("name", PRODUCTS)


@pytest.fixture
def by_products(monkeypatch):
    """Products make the gradient of every weight that they can, however few channels there are."""

    def set_band(places):
        monkeypatch.setattr(products, "_FEW", (1, 0))
        monkeypatch.setattr(products, "_MANY", (1, 0))
        monkeypatch.setattr(products, "_BAND", places)
        monkeypatch.setattr(products, "_FEW_POSITIONS", places)
        monkeypatch.setattr(lowering, "FEW_POSITIONS", 0)

    return set_band


def product_case(name, by_products):
    x, w, attrs, places = PRODUCTS[name]
    by_products(places)
    return ("convolution", x, w, attrs)


def has_products_in_place_of_the_weights_gradient(case):
    args = arrays(case)
    grads = [jax.jit(jax.value_and_grad(wave(fn), (0, 1))) for fn in (chosen(case), native(case))]
    close(*[grad(*args) for grad in grads])
    texts = [grad.lower(*args).as_text() for grad in grads]
    assert [text.count("stablehlo.convolution") for text in texts] == [2, 3]
    assert ["dot_general" in text for text in texts] == [True, False]


@every_product
def test_the_weight_gradient_by_products(by_products, name):
    has_products_in_place_of_the_weights_gradient(product_case(name, by_products))


def agrees_in_forward_mode_second_derivatives_and_vmap(case):
    x, w = arrays(case)
    fns = chosen(case), native(case)
    close(*[jax.jvp(fn, (x, w), (jnp.cos(x), jnp.sin(w))) for fn in fns])
    close(*[jax.jvp(lambda w, fn=fn: fn(x, w), (w,), (jnp.cos(w),)) for fn in fns])
    for axes, args in (((0, None), (jnp.stack([x, -x]), w)), ((None, 0), (x, jnp.stack([w, 2 * w])))):
        close(*[jax.jit(jax.vmap(jax.grad(wave(fn), (0, 1)), axes))(*args) for fn in fns])
    for at in (0, 1):
        seconds = [jax.grad(lambda x, w, fn=fn: jnp.sum(jax.grad(wave(fn), 1)(x, w) ** 2), at) for fn in fns]
        close(*[jax.jit(second)(x, w) for second in seconds], 1e-3)


@pytest.mark.parametrize("name", ["images together", "bands", "channels last"])
def test_products_in_forward_mode_second_derivatives_and_vmap(by_products, name):
    agrees_in_forward_mode_second_derivatives_and_vmap(product_case(name, by_products))


@pytest.mark.dear
def test_products_by_differences(by_products):
    case = product_case("bands", by_products)
    with jax.enable_x64():
        check_grads(chosen(case), arrays(case, np.float64), order=2, modes=["fwd", "rev"], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_in_half_precision_are_summed_in_float32(by_products, dtype):
    """A sum of as many equal numbers as half precision cannot count to."""
    by_products(64)
    case = ("convolution", (64, 1, 8, 8), (1, 1, 3, 3), {"pad": (1, 1)})
    x, w = (jnp.ones(shape, dtype) for shape in case[1:3])
    found = jax.jit(jax.grad(lambda w: jnp.sum(chosen(case)(x, w))))(w)
    assert found.dtype == dtype
    rows = np.array([7, 8, 7])
    np.testing.assert_allclose(np.asarray(found[0, 0], np.float32), 64 * np.outer(rows, rows), rtol=4e-3)


@pytest.mark.parametrize("name", ["an image a step", "bands"])
def test_products_keep_only_the_inputs(by_products, name):
    """No shifted images of the whole batch are kept, nor handed from one loop to another."""
    case = product_case(name, by_products)
    x, w = arrays(case)
    _, pull = jax.vjp(chosen(case), x, w)
    assert sorted(leaf.size for leaf in jax.tree.leaves(pull) if leaf.ndim) == sorted([x.size, w.size])
    text = jax.jit(jax.grad(wave(chosen(case)), 1)).lower(x, w).as_text()
    assert text.count("stablehlo.while") == 1


@pytest.mark.dear
def test_products_are_there_for_xla_after_numpy_has_asked(by_products):
    """JAX keeps the derivative that it has made of a jaxpr, also of one that is called by both."""
    case = product_case("bands", by_products)
    args = arrays(case)
    closed = jax.make_jaxpr(jax.jit(chosen(case)))(*args)

    def gradient(fn):
        return jax.jit(jax.grad(lambda x, w: jnp.sum(fn(x, w)[0] ** 2), (0, 1))).lower(*args).as_text()

    with native_operations():
        assert "stablehlo.while" not in gradient(natively(closed))
    assert "stablehlo.while" in gradient(jaxpr_as_fun(closed))


def test_products_are_for_cpus_alone(by_products):
    case = product_case("bands", by_products)
    args = arrays(case)
    texts = [
        jax.export.export(jax.jit(jax.grad(wave(fn(case)), (0, 1))), platforms=[platform])(*args).mlir_module()
        for fn, platform in ((chosen, "cuda"), (chosen, "tpu"), (native, "cpu"))
    ]
    for text in texts:
        assert text.count("stablehlo.convolution") == 3
        assert "stablehlo.while" not in text and "dot_general" not in text


def test_where_products_pay():
    def pay(x, w, stride=(1, 1), groups=1, dtype=np.float32):
        geometry = Geometry("NCHW", stride, (1, 1), (1, 1), groups)
        return products.products_pay(*(jax.ShapeDtypeStruct(s, dtype) for s in (x, w)), geometry)

    assert pay((16, 64, 56, 56), (64, 64, 3, 3)) and pay((2, 64, 56, 56), (16, 64, 3, 3))
    assert pay((2, 32, 128, 128), (32, 32, 3, 3)) and pay((1, 64, 128, 128), (32, 64, 3, 3)), "few images"
    assert not pay((1, 64, 28, 28), (64, 64, 3, 3)), "little work"
    assert not pay((16, 32, 112, 112), (32, 32, 3, 3)), "few columns"
    assert not pay((16, 128, 56, 56), (64, 128, 3, 3)), "half as many filters"
    assert not pay((16, 64, 56, 56), (64, 64, 1, 1)), "a kernel of one place is a product as it is"
    assert not pay((64, 3, 56, 56), (64, 3, 3, 3)), "few channels"
    assert not pay((16, 64, 56, 56), (64, 64, 3, 3), stride=(2, 2))
    assert not pay((16, 64, 56, 56), (64, 32, 3, 3), groups=2)
    assert not pay((0, 64, 56, 56), (64, 64, 3, 3))
    assert not pay((16, 64, 56, 56), (64, 64, 3, 3), dtype=np.int32)


# Data, weight, attributes, places of a step, the arguments whose gradients are by cells.
CELLS = {
    "a stem": ((2, 3, 15, 16), (4, 3, 7, 7), {"stride": (2, 2), "pad": (3, 3)}, 1, [0]),
    "images together": ((4, 1, 10, 9), (2, 1, 4, 4), {"stride": (2, 2), "pad": (1, 2)}, 40, [0]),
    "three cells": ((3, 2, 29, 31), (3, 2, 8, 8), {"stride": (3, 3)}, 1, [0]),
    "stem, channels last": ((2, 14, 17, 3), (4, 7, 7, 3), {"stride": (2, 2), "pad": (3, 2), "layout": "NHWC"}, 1, [0]),
    "two strides": ((2, 2, 12, 24), (3, 2, 4, 6), {"stride": (2, 3)}, 1, [0]),
    "patches": ((2, 3, 16, 20), (5, 3, 4, 4), {"stride": (4, 4)}, 1, [0, 1]),
    "patches, more image": ((2, 3, 18, 21), (5, 3, 4, 4), {"stride": (4, 4)}, 1, [0, 1]),
    "patches, padded": ((2, 3, 9, 11), (5, 3, 3, 2), {"stride": (3, 2), "pad": (1, 1)}, 1, [0, 1]),
    "patches, last": ((2, 6, 9, 3), (5, 2, 3, 3), {"stride": (2, 3), "layout": "NHWC"}, 1, [0, 1]),
    "patches of a line": ((2, 3, 40), (5, 3, 4), {"stride": (4,)}, 1, [0, 1]),
    "patches of a volume": ((2, 1, 4, 9, 9), (2, 1, 2, 3, 3), {"stride": (2, 3, 3)}, 1, [0, 1]),
}
every_cells = pytest.mark.parametrize("name", CELLS)


@pytest.fixture
def by_cells(monkeypatch):
    """Cells make every gradient that they can, however little work it is."""

    def set_step(name):
        x, w, attrs, places, at = CELLS[name]
        monkeypatch.setattr(cells, "_LEAST", 0)
        monkeypatch.setattr(cells, "_STEP", places)
        monkeypatch.setattr(lowering, "FEW_POSITIONS", 0)
        return ("convolution", x, w, attrs), at

    return set_step


@pytest.mark.dear
@every_cells
def test_gradients_by_cells(by_cells, name):
    case, at = by_cells(name)
    args = arrays(case)
    grads = [jax.jit(jax.value_and_grad(wave(fn), (0, 1))) for fn in (chosen(case), native(case))]
    close(*[grad(*args) for grad in grads])
    texts = [grad.lower(*args).as_text() for grad in grads]
    assert [text.count("stablehlo.convolution") for text in texts] == [3 - len(at), 3]
    assert ["dot_general" in text for text in texts] == [True, False]
    assert texts[0].count("stablehlo.while") == (at == [0]), "windows that lie apart need no loop"


@pytest.mark.dear
@pytest.mark.parametrize("name", ["a stem", "images together", "patches, padded", "patches, last"])
def test_cells_in_forward_mode_second_derivatives_and_vmap(by_cells, name):
    case, _ = by_cells(name)
    x, w = arrays(case)
    fns = chosen(case), native(case)
    close(*[jax.jvp(fn, (x, w), (jnp.cos(x), jnp.sin(w))) for fn in fns])
    for axes, args in (((0, None), (jnp.stack([x, -x]), w)), ((None, 0), (x, jnp.stack([w, 2 * w])))):
        close(*[jax.jit(jax.vmap(jax.grad(wave(fn), (0, 1)), axes))(*args) for fn in fns])
    for at in (0, 1):  # as of a penalty of the image's gradient
        seconds = [jax.grad(lambda x, w, fn=fn: jnp.sum(jax.grad(wave(fn))(x, w) ** 2), at) for fn in fns]
        close(*[jax.jit(second)(x, w) for second in seconds], 1e-3)


# Data, weight, attributes, and the most places of a band.
PRODUCTS_OF_CELLS = {
    "an image a step": ((2, 3, 16, 16), (4, 3, 3, 3), {"stride": (2, 2), "pad": (1, 1)}, 100),
    "images together": ((2, 3, 9, 8), (4, 3, 3, 3), {"stride": (2, 2), "pad": (1, 1)}, 200),
    "bands": ((2, 3, 16, 14), (4, 3, 3, 3), {"stride": (2, 2), "pad": (1, 1)}, 14),
    "bands with margins": ((1, 3, 24, 18), (4, 3, 7, 7), {"stride": (2, 2), "pad": (3, 3)}, 36),
    "no padding": ((1, 3, 17, 15), (4, 3, 3, 3), {"stride": (2, 2)}, 20),
    "an even kernel": ((2, 3, 16, 18), (4, 3, 4, 4), {"stride": (2, 2), "pad": (1, 1)}, 20),
    "two strides": ((1, 3, 20, 23), (4, 3, 5, 4), {"stride": (2, 3), "pad": (2, 0)}, 20),
    "rows that no window reaches": ((1, 3, 23, 22), (4, 3, 5, 5), {"stride": (4, 4), "pad": (1, 2)}, 8),
    "channels last": ((2, 15, 16, 3), (4, 3, 3, 3), {"stride": (2, 2), "pad": (1, 1), "layout": "NHWC"}, 16),
}


@pytest.fixture
def by_products_of_cells(monkeypatch):
    """Products over cells make the gradient of every weight that they can, however small the images are."""

    def set_band(name):
        x, w, attrs, places = PRODUCTS_OF_CELLS[name]
        for limit in ("_LARGE_IMAGES", "_LEAST_CHANNELS", "_MANY_POSITIONS"):
            monkeypatch.setattr(cells, limit, 0)
        monkeypatch.setattr(products, "_BAND", places)
        monkeypatch.setattr(products, "_FEW_POSITIONS", places)
        monkeypatch.setattr(lowering, "FEW_POSITIONS", 0)
        return ("convolution", x, w, attrs)

    return set_band


@pytest.mark.parametrize("name", PRODUCTS_OF_CELLS)
def test_the_weight_gradient_by_products_of_cells(by_products_of_cells, name):
    has_products_in_place_of_the_weights_gradient(by_products_of_cells(name))


@pytest.mark.dear
@pytest.mark.parametrize("name", ["images together", "bands with margins"])
def test_products_of_cells_in_forward_mode_second_derivatives_and_vmap(by_products_of_cells, name):
    agrees_in_forward_mode_second_derivatives_and_vmap(by_products_of_cells(name))


@pytest.mark.dear
def test_products_of_cells_by_differences(by_products_of_cells):
    case = by_products_of_cells("bands")
    with jax.enable_x64():
        check_grads(chosen(case), arrays(case, np.float64), order=2, modes=["fwd", "rev"], rtol=1e-5)


def test_where_products_of_cells_pay():
    def pay(x, w, stride=2, groups=1, dilate=1, dtype=np.float32):
        geometry = Geometry("NCHW", (stride,) * 2, (dilate,) * 2, (1, 1), groups)
        return cells.products_of_cells_pay(*(jax.ShapeDtypeStruct(s, dtype) for s in (x, w)), geometry)

    assert pay((2, 32, 224, 224), (64, 32, 3, 3)) and pay((1, 64, 104, 104), (128, 64, 3, 3))
    assert not pay((4, 32, 224, 224), (64, 32, 3, 3)), "several images"
    assert not pay((1, 256, 52, 52), (512, 256, 3, 3)), "many channels"
    assert not pay((1, 3, 416, 416), (32, 3, 3, 3)), "few channels"
    assert not pay((2, 32, 56, 56), (64, 32, 3, 3)), "small images"
    assert not pay((2, 32, 224, 224), (64, 32, 3, 3), stride=1)
    assert not pay((2, 32, 224, 224), (64, 32, 2, 2)), "windows that do not overlap"
    assert not pay((2, 32, 224, 224), (64, 16, 3, 3), groups=2)
    assert not pay((2, 32, 224, 224), (64, 32, 3, 3), dilate=2)
    assert not pay((0, 32, 224, 224), (64, 32, 3, 3))
    assert not pay((2, 32, 224, 224), (64, 32, 3, 3), dtype=np.int32)


@pytest.mark.parametrize("name", ["a stem", "patches, more image"])
def test_cells_by_differences(by_cells, name):
    case, _ = by_cells(name)
    with jax.enable_x64():
        check_grads(chosen(case), arrays(case, np.float64), order=2, modes=["fwd", "rev"], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_cells_in_half_precision_are_summed_in_float32(by_cells, dtype):
    """A sum of as many equal numbers as half precision cannot count to."""
    by_cells("patches")
    case = ("convolution", (6000, 1, 2, 2), (1, 1, 2, 2), {"stride": (2, 2)})
    x, w = (jnp.ones(shape, dtype) for shape in case[1:3])
    found = jax.jit(jax.grad(lambda x, w: jnp.sum(chosen(case)(x, w)), (0, 1)))(x, w)
    assert {g.dtype for g in found} == {jnp.dtype(dtype)}
    np.testing.assert_allclose(np.asarray(found[1], np.float32), 6000, rtol=4e-3)


def test_cells_keep_only_the_inputs(by_cells):
    case, _ = by_cells("a stem")
    x, w = arrays(case)
    _, pull = jax.vjp(chosen(case), x, w)
    assert sorted(leaf.size for leaf in jax.tree.leaves(pull) if leaf.ndim) == sorted([x.size, w.size])


@pytest.mark.parametrize("name", ["a stem", "patches"])
def test_cells_are_for_cpus_alone(by_cells, name):
    case, _ = by_cells(name)
    args = arrays(case)
    for platform in ("cuda", "tpu"):
        exported = jax.export.export(jax.jit(jax.grad(wave(chosen(case)), (0, 1))), platforms=[platform])(*args)
        text = exported.mlir_module()
        assert text.count("stablehlo.convolution") == 3
        assert "stablehlo.while" not in text and "dot_general" not in text


def test_where_cells_pay():
    def tell(x, w, stride, groups=1, dilate=1, dtype=np.float32):
        geometry = Geometry("NCHW", (stride,) * 2, (dilate,) * 2, (0, 0), groups)
        given = [jax.ShapeDtypeStruct(s, dtype) for s in (x, w)]
        return cells.cells_pay(*given, geometry), cells.of_patches(*given, geometry)

    assert tell((4, 3, 230, 230), (64, 3, 7, 7), 2) == (True, False)
    assert tell((4, 3, 224, 224), (64, 3, 11, 11), 4) == (True, False)
    assert tell((2, 3, 224, 224), (768, 3, 16, 16), 16) == (True, True)
    assert tell((8, 192, 28, 28), (384, 192, 2, 2), 2) == (True, True)
    for shapes in (
        ((4, 3, 224, 224), (32, 3, 3, 3), 2),  # a kernel of whole cells is nearly twice as large
        ((4, 3, 230, 230), (128, 3, 7, 7), 2),
        ((4, 16, 230, 230), (64, 16, 7, 7), 2),
        ((1, 3, 64, 64), (64, 3, 7, 7), 2),  # little work
        ((1, 3, 64, 64), (64, 3, 4, 4), 4),
        ((16, 512, 56, 56), (512, 512, 1, 1), 1),
        ((16, 64, 56, 56), (64, 64, 3, 3), 1),
        ((0, 3, 224, 224), (768, 3, 16, 16), 16),
    ):
        assert tell(*shapes) == (False, False), shapes
    assert tell((8, 192, 28, 28), (384, 96, 2, 2), 2, groups=2) == (False, False)
    assert tell((8, 192, 28, 28), (384, 192, 2, 2), 2, dilate=2) == (False, False)
    assert tell((8, 192, 28, 28), (384, 192, 2, 2), 2, dtype=np.int32) == (False, False)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [("activation", {"act_type": "relu"}), ("batch_norm", {"training": True, "fix_gamma": False, "axis": 1})],
)
def test_what_stands_between_convolutions_has_its_channels_last(op, attrs):
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(2, 4, 5, 6)), np.float32)
    rest = [jnp.asarray(rng.uniform(1, 2, 4), np.float32) for _ in range(4 if op == "batch_norm" else 0)]
    fn = get(op).bind(**attrs).fn

    def first(*args):
        return jax.tree.leaves(fn(*args))[0]

    def plain(*args):
        with native_operations():
            return first(*args)

    both = [jax.jit(jax.value_and_grad(lambda *a, f=f: jnp.sum(jnp.sin(f(*a)) ** 2))) for f in (first, plain)]
    close(*[f(x, *rest) for f in both])
    close(*[jax.jvp(lambda x, f=f: f(x, *rest), (x,), (jnp.cos(x),)) for f in (first, plain)])
    assert jax.jit(first).lower(x, *rest).as_text().count("tensor<2x5x6x4xf32>") > 0
    assert "tensor<2x5x6x4xf32>" not in jax.jit(plain).lower(x, *rest).as_text()
    abroad = jax.export.export(jax.jit(first), platforms=["cuda"])(x, *rest).mlir_module()
    assert "tensor<2x5x6x4xf32>" not in abroad
    if op == "activation":
        assert "tensor<5x6x4xf32>" not in jax.jit(first).lower(x[0]).as_text()


@pytest.mark.parametrize(
    ("op", "attrs", "shapes"),
    [
        ("pooling", {"kernel": (2, 2), "stride": (2, 2)}, [(2, 4, 5, 6)]),
        ("pooling", {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pooling_convention": "full"}, [(2, 4, 5, 6)]),
        ("pooling", {"kernel": (3, 2), "pool_type": "avg", "pad": (1, 0), "count_include_pad": False}, [(2, 4, 5, 6)]),
        ("convolution", {"kernel": (3, 3), "num_filter": 5, "pad": (1, 1)}, [(2, 4, 5, 6), (5, 4, 3, 3), (5,)]),
    ],
    ids=["two by two", "padded", "average", "bias"],
)
def test_pooling_and_a_bias_have_the_channels_last_within_programs_alone(op, attrs, shapes):
    rng = np.random.default_rng(0)
    args = [jnp.asarray(rng.integers(-2, 3, shape), np.float32) for shape in shapes]  # with ties
    fn = get(op).bind(**attrs).fn

    def within(*args):
        with for_cpu():
            return fn(*args)

    grad = [jax.jit(jax.value_and_grad(lambda *a, f=f: jnp.sum(jnp.sin(f(*a)) ** 2))) for f in (within, fn)]
    close(*[jax.jit(f)(*args) for f in (within, fn)])
    close(*[f(*args) for f in grad])
    last, first = [jax.jit(f).lower(*args).as_text() for f in (within, fn)]
    if op == "convolution":
        added = [[line for line in text.splitlines() if "stablehlo.add" in line] for text in (last, first)]
        assert [lines[0].rpartition(" ")[2] for lines in added] == ["tensor<2x5x6x5xf32>", "tensor<2x5x5x6xf32>"]
    else:
        assert "tensor<2x5x6x4xf32>" in last
        assert "tensor<2x5x6x4xf32>" not in first


def test_an_error_within_a_program_tells_the_shape_that_was_given():
    fn = get("pooling").bind(kernel=(7, 7)).fn
    with for_cpu(), pytest.raises(ShapeError, match=r"axis 3 of data of shape \(8, 16, 9, 3\)"):
        jax.eval_shape(fn, jax.ShapeDtypeStruct((8, 16, 9, 3), np.float32))


@pytest.mark.parametrize("how", [{"kernel": (2, 2)}, {"global_pool": True}])
def test_an_unknown_convention_of_pooling_is_refused_in_every_mode(how):
    for mode in ("deferred", "naive"):
        with mx.engine.mode(mode), pytest.raises(ValueError, match="pooling_convention is 'x'"):
            mx.npx.pooling(mx.np.ones((1, 1, 4, 4)), pooling_convention="x", **how).asnumpy()


def test_export_keeps_the_native_form(tmp_path):
    net = nn.Conv2D(4, 3, padding=1, groups=4, in_channels=4)
    net.initialize()
    net.hybridize()
    net(mx.np.ones((2, 4, 5, 5)))
    module = jax.export.deserialize((net.export(tmp_path / "net") / "model.jaxexport").read_bytes()).mlir_module()
    assert module.count("stablehlo.convolution") == 1
    assert "stablehlo.case" not in module


def test_a_gpu_computes_relu_again_for_the_gradient():
    """There it is fused into the kernel that needs it and not kept; the numbers are the same bits, NaN and all."""
    x = jnp.array([-jnp.inf, -1.0, -0.0, 0.0, 2.0, jnp.inf, jnp.nan])
    fn = get("relu").fn
    traced = jax.jit(jax.grad(lambda x: (fn(x) * jnp.arange(7.0)).sum())).trace(x)
    texts = {name: traced.lower(lowering_platforms=(name,)).as_text() for name in ("cpu", "cuda", "rocm", "tpu")}
    again = {name: "compare LE," in text for name, text in texts.items()}
    assert again == {"cpu": False, "cuda": True, "rocm": True, "tpu": False}
    y = jnp.maximum(x, 0)
    np.testing.assert_array_equal(elementwise._positive_part(x, y).view("int32") << 1, y.view("int32") << 1)
