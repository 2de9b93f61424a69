"""The operator rnn: its numbers and hand-written gradients against the formulas left to autodiff, and its errors."""

from __future__ import annotations

import itertools
import math

import jax
import jax.export
import jax.numpy as jnp
import numpy as onp
import pytest
from jax.test_util import check_grads

from gluonx import autograd, engine, np, npx
from gluonx.errors import ShapeError
from gluonx.ops import cudnn, get
from gluonx.ops.cpu.convolution import native_operations
from gluonx.ops.recurrence import StepLayout, step_layout
from gluonx.ops.rnn import GATES, input_size_of, packing
from lib.meshes import on

TIME, BATCH, INPUTS, SIZE = 4, 3, 2, 3
LENGTHS = [4, 2, 1]


def uniform(seed, *shape):
    return jnp.asarray(onp.random.RandomState(seed).uniform(-1, 1, shape), jnp.float32)


def pieces_of(flat, form):
    found, start = {}, 0
    for name, shape in form:
        size = math.prod(shape)
        found[name] = flat[start : start + size].reshape(shape)
        start += size
    return found


def one_step(mode, gx, gh, h, c, project):
    sigmoid = jax.nn.sigmoid
    if mode == "lstm":
        i, f, g, o = jnp.split(gx + gh, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return h if project is None else h @ project.T, c
    if mode == "gru":
        (xr, xz, xn), (hr, hz, hn) = jnp.split(gx, 3, 1), jnp.split(gh, 3, 1)
        z = sigmoid(xz + hz)
        return (1 - z) * jnp.tanh(xn + sigmoid(xr + hr) * hn) + z * h, c
    return (jnp.tanh if mode == "rnn_tanh" else jax.nn.relu)(gx + gh), c


def reference(x, flat, h0, c0, mode, layers, both, projection, lengths):
    """The nets as their formulas say, step by step."""
    piece = pieces_of(flat, packing(mode, x.shape[2], SIZE, layers, both, projection))
    last_h, last_c, sides = [], [], "lr" if both else "l"
    for layer, outs in ((n, []) for n in range(layers)):
        for side in sides:
            name, at = f"{side}{layer}", len(last_h)
            h, c, ys = h0[at], c0[at], [None] * len(x)
            for t in range(len(x)) if side == "l" else reversed(range(len(x))):
                gx = x[t] @ piece[f"{name}_i2h_weight"].T + piece[f"{name}_i2h_bias"][None]
                gh = h @ piece[f"{name}_h2h_weight"].T + piece[f"{name}_h2h_bias"][None]
                new, cell = one_step(mode, gx, gh, h, c, piece.get(f"{name}_h2r_weight"))
                going = jnp.asarray([t < n for n in lengths])[:, None]
                ys[t] = jnp.where(going, new, 0)
                h, c = jnp.where(going, new, h), jnp.where(going, cell, c)
            outs.append(jnp.stack(ys))
            last_h.append(h)
            last_c.append(c)
        x = jnp.concatenate(outs, 2)
    return (x, jnp.stack(last_h), jnp.stack(last_c)) if mode == "lstm" else (x, jnp.stack(last_h))


FORMS = [
    *[(mode, 1, False, None, False) for mode in GATES],
    *[(mode, 2, True, None, True) for mode in GATES],
    ("lstm", 1, False, 2, True),
    ("lstm", 2, True, 2, False),
]


def use_form(monkeypatch, columns):
    """Fix the layout of a step's arrays, whatever the shapes."""
    monkeypatch.setattr("gluonx.ops.rnn.step_layout", lambda batch, size: StepLayout(columns))


# Columns where something differs: each mode, masks, both directions, the projection.
COLUMNS = [*FORMS[:4], ("gru", 1, True, None, True), ("rnn_tanh", 1, False, None, True), ("lstm", 1, True, 2, True)]


@pytest.mark.dear
@pytest.mark.parametrize(
    ("columns", "mode", "layers", "both", "projection", "ragged"),
    [*((False, *form) for form in FORMS), *((True, *form) for form in COLUMNS)],
)
def test_numbers_and_gradients(monkeypatch, columns, mode, layers, both, projection, ragged):
    use_form(monkeypatch, columns)
    count = layers * (2 if both else 1)
    size = sum(math.prod(shape) for _, shape in packing(mode, INPUTS, SIZE, layers, both, projection))
    arrays = (
        uniform(0, TIME, BATCH, INPUTS),
        uniform(1, size),
        uniform(2, count, BATCH, projection or SIZE),
        uniform(3, count, BATCH, SIZE),
    )
    lengths = jnp.asarray(LENGTHS if ragged else [TIME] * BATCH)
    attrs = {"mode": mode, "state_size": SIZE, "num_layers": layers, "bidirectional": both}
    op = get("rnn").bind(**attrs, projection_size=projection, use_sequence_length=ragged, state_outputs=True)

    def ours(x, flat, h, c):
        return op(x, flat, h, c if mode == "lstm" else None, lengths if ragged else None)

    def theirs(x, flat, h, c):
        return reference(x, flat, h, c, mode, layers, both, projection, lengths.tolist())

    def weighed(fn):
        def total(*arrays):
            outs = fn(*arrays)
            return sum((y * uniform(9 + k, *y.shape)).sum() for k, y in enumerate(outs)), outs

        return jax.grad(total, (0, 1, 2, 3), has_aux=True)

    found, wanted = jax.jit(weighed(ours))(*arrays), jax.jit(weighed(theirs))(*arrays)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert a.shape == b.shape
        onp.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("columns", "mode"), [(False, "rnn_tanh"), (False, "lstm"), (False, "gru"), (True, "lstm"), (True, "gru")]
)
def test_gradient_of_the_gradient(monkeypatch, columns, mode):
    """Reverse over reverse; and under vmap and in another dtype."""
    use_form(monkeypatch, columns)
    size = sum(math.prod(shape) for _, shape in packing(mode, 2, 2, 1))
    op = get("rnn").bind(mode=mode, state_size=2, num_layers=1)
    check_grads(lambda x, flat: op(x, flat), (uniform(0, 2, 1, 2), uniform(1, size)), 2, ["rev"], atol=0.02, rtol=0.02)
    many = jax.vmap(op, (0, None))(uniform(2, 3, 4, 2, 2), uniform(1, size))
    onp.testing.assert_allclose(many[1], op(uniform(2, 3, 4, 2, 2)[1], uniform(1, size)), rtol=1e-5)
    half = op(uniform(0, 3, 2, 2).astype("bfloat16"), uniform(1, size).astype("bfloat16"))
    assert half.dtype == "bfloat16"
    onp.testing.assert_allclose(half.astype("float32"), op(uniform(0, 3, 2, 2), uniform(1, size)), atol=0.03)


@pytest.mark.parametrize("columns", [False, True])
def test_clipped_cell(monkeypatch, columns):
    use_form(monkeypatch, columns)
    size = sum(math.prod(shape) for _, shape in packing("lstm", 2, 3, 1))
    attrs = {"mode": "lstm", "state_size": 3, "num_layers": 1, "state_outputs": True}
    x, flat = uniform(0, 5, 2, 2), jnp.full((size,), 0.9)
    free = get("rnn").bind(**attrs)(x + 2, flat)
    clipped = get("rnn").bind(**attrs, lstm_state_clip_min=-0.5, lstm_state_clip_max=0.5)(x + 2, flat)
    assert float(free[2].max()) > 0.5 and float(clipped[2].max()) == 0.5
    bad = x.at[0, 0, 0].set(jnp.nan)
    caught = get("rnn").bind(**attrs, lstm_state_clip_min=-0.5, lstm_state_clip_max=0.5, lstm_state_clip_nan=True)
    plain = get("rnn").bind(**attrs, lstm_state_clip_min=-0.5, lstm_state_clip_max=0.5)
    assert jnp.isnan(plain(bad, flat)[2]).any() and not jnp.isnan(caught(bad, flat)[2]).any()
    gradient = jax.grad(lambda flat: get("rnn").bind(**attrs, lstm_state_clip_max=0.0)(x + 2, flat)[2].sum())(flat)
    assert not gradient.any(), "no gradient flows through what was clipped"


def test_npx_rnn_drops_between_layers_only_in_training():
    form = packing("lstm", 2, 3, 2)
    flat = np.array(onp.asarray(uniform(1, sum(math.prod(s) for _, s in form))))
    x, h = np.array(onp.asarray(uniform(0, 5, 2, 2))), np.zeros((2, 2, 3))
    attrs = {"mode": "lstm", "state_size": 3, "num_layers": 2}
    plain = npx.rnn(x, flat, h, h, **attrs).asnumpy()
    onp.testing.assert_array_equal(npx.rnn(x, flat, h, h, **attrs, p=0.5).asnumpy(), plain)
    with autograd.train_mode():
        first, second = (npx.rnn(x, flat, h, h, **attrs, p=0.5).asnumpy() for _ in range(2))
        nothing = npx.rnn(x, flat, h, h, **attrs, p=1.0).asnumpy()
    assert (first != plain).any() and (first != second).any()
    assert (nothing[:, 0] == nothing[:, 1]).all(), "with p=1 the second layer sees nothing of the batch"
    y, *last = npx.rnn(x, flat, h, h, **attrs, state_outputs=True)
    assert len(last) == 2
    onp.testing.assert_array_equal(last[0][1].asnumpy(), y[-1].asnumpy())


def test_which_form():
    (batch,) = jax.export.symbolic_shape("b")
    found = [step_layout(*sizes).columns for sizes in ((32, 650), (16, 64), (4, 650), (batch, 650))]
    assert found == [True, False, False, False]


def test_input_size_of_a_flat_vector():
    for mode, inputs, both in itertools.product(GATES, (1, 7), (False, True)):
        size = sum(math.prod(shape) for _, shape in packing(mode, inputs, 5, 2, both))
        assert input_size_of(size, mode, 5, 2, both, None) == inputs
        assert input_size_of(size + 1, mode, 5, 2, both, None) is None


X, FLAT, H = onp.zeros((4, 2, 3), "float32"), onp.zeros(96, "float32"), onp.zeros((1, 2, 3), "float32")
FINE = {"mode": "lstm", "state_size": 3, "num_layers": 1}


@pytest.mark.parametrize(
    ("arrays", "attrs", "error", "words"),
    [
        ((X, FLAT, H, H), {"mode": "lsmt"}, ValueError, "mode is 'lsmt'"),
        ((X[0], FLAT, H, H), {}, ShapeError, r"data has shape \(2, 3\)"),
        ((X, FLAT[1:], H, H), {}, ShapeError, r"parameters has shape \(95,\).*\(96,\)"),
        ((X, FLAT, H[:, :1], H), {}, ShapeError, r"state has shape \(1, 1, 3\).*\(1, 2, 3\)"),
        ((X, FLAT, H), {}, ValueError, "needs state_cell"),
        ((X, FLAT, H, H), {"p": 2.0}, ValueError, "p is 2.0"),
        ((X, FLAT, H, H), {"num_layers": 0}, ValueError, "num_layers is 0"),
        ((X, FLAT, H, H), {"use_sequence_length": True}, ValueError, "needs sequence_length"),
        ((X, FLAT, H), {"mode": "gru", "projection_size": 2}, ValueError, "projection_size is for mode='lstm'"),
    ],
)
def test_mistakes(arrays, attrs, error, words):
    with pytest.raises(error, match=words):
        npx.rnn(*[np.array(a) for a in arrays], **{**FINE, **attrs})


@pytest.mark.parametrize(("layers", "both"), [(1, False), (2, True)])
def test_the_flat_vector_is_cudnns(layers, both):
    """The same flat vector is the same LSTM in jax.experimental.rnn, the door to cuDNN."""
    from jax.experimental import rnn as cudnn

    size = sum(math.prod(shape) for _, shape in packing("lstm", INPUTS, SIZE, layers, both))
    assert size == cudnn.get_num_params_in_lstm(INPUTS, SIZE, layers, both)
    count = layers * (2 if both else 1)
    x, flat = uniform(0, TIME, BATCH, INPUTS), uniform(1, size)
    h, c = (uniform(seed, count, BATCH, SIZE) for seed in (2, 3))
    op = get("rnn").bind(mode="lstm", state_size=SIZE, num_layers=layers, bidirectional=both, state_outputs=True)
    weights = cudnn.unpack_lstm_weights(flat, INPUTS, SIZE, layers, both)
    lengths = jnp.full((BATCH,), TIME, jnp.int32)
    y, *last = cudnn.lstm_ref(x.swapaxes(0, 1), h, c, *weights, lengths, INPUTS, SIZE, layers, 0.0, both)
    for a, b in zip(op(x, flat, h, c), [y.swapaxes(0, 1), *last], strict=True):
        onp.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------- cuDNN


def stand_in(x, h, c, flat, lengths, inputs, size, layers, dropout, both):
    """Compute `jax.experimental.rnn.lstm` by its own reference; the sinh of an arcsinh marks it in a program."""
    from jax.experimental import rnn as cudnn

    assert dropout == 0 and lengths.dtype == "int32" and x.dtype == flat.dtype == "float32"
    weights = cudnn.unpack_lstm_weights(flat, inputs, size, layers, both)
    y, *last = cudnn.lstm_ref(x, h, c, *weights, lengths, inputs, size, layers, 0.0, both)
    return jnp.sinh(jnp.arcsinh(y)), *last


@pytest.fixture
def cudnn_stand_in(monkeypatch):
    monkeypatch.delenv("GLUONX_CUDNN", raising=False)
    monkeypatch.setattr("gluonx.ops.cudnn._devices", lambda: 1)
    monkeypatch.setattr("jax.experimental.rnn.lstm", stand_in)


def for_cuda(*arrays, default, cuda=None, **_):
    """Choose as `lax.platform_dependent` does for CUDA."""
    return (cuda or default)(*arrays)


def lstm_arrays(layers, both):
    size = sum(math.prod(shape) for _, shape in packing("lstm", INPUTS, SIZE, layers, both))
    states = [uniform(seed, layers * (2 if both else 1), BATCH, SIZE) for seed in (2, 3)]
    return uniform(0, TIME, BATCH, INPUTS), uniform(1, size), *states


@pytest.mark.usefixtures("cudnn_stand_in")
@pytest.mark.parametrize(
    ("layers", "both", "lengths", "dtype"),
    [
        (1, False, None, "float32"),
        pytest.param(2, True, None, "float32", marks=pytest.mark.slow),
        pytest.param(2, True, [4, 0, 2], "float32", marks=pytest.mark.slow),
        pytest.param(1, True, [4, 0, 2], "bfloat16", marks=pytest.mark.slow),
    ],
)
def test_cudnn_is_given_what_it_wants(layers, both, lengths, dtype, monkeypatch):
    """The way in and out, and derivatives, with JAX's reference in cuDNN's place; lengths of 0 too."""
    arrays, lengths = lstm_arrays(layers, both), None if lengths is None else jnp.asarray(lengths)
    arrays = [a.astype(dtype) for a in arrays]
    attrs = {"mode": "lstm", "state_size": SIZE, "num_layers": layers, "bidirectional": both, "state_outputs": True}
    op = get("rnn").bind(**attrs, use_sequence_length=lengths is not None)

    def total(*arrays):
        outs = op(*arrays, lengths)
        return sum((y * uniform(9 + k, *y.shape)).sum() for k, y in enumerate(outs)), outs

    slopes = jax.grad(total, (0, 1, 2, 3), has_aux=True)

    def bends(*arrays):
        return jax.grad(lambda *arrays: sum((x.astype("float32") ** 2).sum() for x in slopes(*arrays)[0]), 1)(*arrays)

    several = [jnp.stack([x, -x]) for x in arrays]
    fns = {"slopes": slopes, "bends": bends, "many": lambda *arrays: jax.vmap(slopes)(*several)}

    def answers():
        return {name: of_program(jax.jit(fn).trace(*arrays)) for name, fn in fns.items()}

    def of_program(traced):
        return "sinh" in str(traced.jaxpr), traced.lower().compile()(*arrays)

    with monkeypatch.context() as patch:
        patch.setattr("jax.lax.platform_dependent", for_cuda)
        mine = answers()
    with native_operations():
        theirs = answers()
    assert {name: used for name, (used, _) in mine.items()} == {"slopes": True, "bends": False, "many": False}
    exact = dtype == "float32"
    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
        if not isinstance(a, bool):
            tolerance = {"rtol": 2e-5, "atol": 4e-6} if exact else {"rtol": 0.02, "atol": 0.02}
            onp.testing.assert_allclose(a.astype("float32"), b.astype("float32"), **tolerance)


@pytest.mark.dear
@pytest.mark.usefixtures("cudnn_stand_in")
def test_cudnn_is_chosen_when_a_program_is_lowered():
    op = get("rnn").bind(mode="lstm", state_size=SIZE, num_layers=1, state_outputs=True)
    traced = jax.jit(jax.grad(lambda *arrays: op(*arrays)[0].sum())).trace(*lstm_arrays(1, False))
    texts = {name: traced.lower(lowering_platforms=(name,)).as_text() for name in ("cpu", "cuda", "tpu")}
    assert {name: "sinh" in text for name, text in texts.items()} == {"cpu": False, "cuda": True, "tpu": False}


@pytest.mark.usefixtures("cudnn_stand_in")
def test_where_cudnn_does_not_fit(monkeypatch):
    x, flat, h, c = lstm_arrays(1, False)
    fine = {"mode": "lstm", "projection_size": None, "clip": (None, None, False), "num_layers": 1, "state_size": SIZE}
    (batch,) = jax.export.symbolic_shape("b")
    symbolic = jax.ShapeDtypeStruct((TIME, batch, INPUTS), jnp.float32)
    assert cudnn.fits(x, flat, [h, c], fine)
    assert cudnn.fits(x.astype("bfloat16"), flat, [h, c], fine)
    told = []

    def why(data=x, **other):
        assert not cudnn.fits(data, flat, [h, c], {**fine, **other})
        told.append(cudnn.choices()[-1])
        return told[-1].partition(": ")[2]

    assert why(symbolic) == "its sizes are not known, or it is empty"
    assert why(jax.ShapeDtypeStruct(x.shape, "float64")) == "cuDNN takes float32, bfloat16 and float16"
    assert why(mode="gru") == "JAX has a way to cuDNN for LSTMs only"
    assert why(projection_size=2) == "its state is projected"
    assert why(clip=(None, 1.0, False)) == "its cell has bounds"
    with native_operations():
        assert not cudnn.fits(x, flat, [h, c], fine)
    with jax.default_matmul_precision("bfloat16"):
        assert why() == "cuDNN has no products of the precision bfloat16"
    monkeypatch.setenv("GLUONX_CUDNN", "0")
    assert why() == "GLUONX_CUDNN is 0"
    monkeypatch.delenv("GLUONX_CUDNN")
    monkeypatch.setattr("gluonx.ops.cudnn._devices", lambda: 0)
    assert why() == "there is no GPU here that runs cuDNN"
    assert told[2] == "gru of float32 (4, 3, 2), 1 layer(s) of 3, is a scan: JAX has a way to cuDNN for LSTMs only"
    assert told[-1] in engine.explain().splitlines()


@pytest.mark.usefixtures("cudnn_stand_in")
@pytest.mark.parametrize("both", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("lengths", [None, [4, 0, 2]])
def test_cudnn_with_dropout_between_layers(both, lengths, monkeypatch):
    """The masks are gluonx's, so numbers and gradients are the scan's, and cuDNN's own dropout is not asked for."""
    layers, key = 3, jax.random.key(5)
    arrays, lengths = lstm_arrays(layers, both), None if lengths is None else jnp.asarray(lengths)
    attrs = {"mode": "lstm", "state_size": SIZE, "num_layers": layers, "bidirectional": both, "state_outputs": True}
    op = get("rnn").bind(**attrs, p=0.4, training=True, use_sequence_length=lengths is not None)

    def total(*arrays):
        return sum((y * uniform(9 + k, *y.shape)).sum() for k, y in enumerate(op(key, *arrays, lengths)))

    traced = jax.jit(jax.value_and_grad(total, (0, 1, 2, 3))).trace(*arrays)
    with monkeypatch.context() as patch:
        patch.setattr("jax.lax.platform_dependent", for_cuda)
        traced = jax.jit(jax.value_and_grad(total, (0, 1, 2, 3))).trace(*arrays)
    assert str(traced.jaxpr).count("= sinh ") >= layers
    with native_operations():
        theirs = jax.jit(jax.value_and_grad(total, (0, 1, 2, 3)))(*arrays)
    for a, b in zip(jax.tree.leaves(traced.lower().compile()(*arrays)), jax.tree.leaves(theirs), strict=True):
        onp.testing.assert_allclose(a, b, rtol=2e-5, atol=4e-6)


@pytest.mark.usefixtures("cudnn_stand_in")
@pytest.mark.parametrize("batch", [4, 3])
@pytest.mark.parametrize("lengths", [False, True])
def test_cudnn_takes_each_devices_part_of_a_batch(batch, lengths, monkeypatch):
    """No device computes another one's samples; a batch that cannot be split is whole on each. Numbers are the same."""
    arrays = lstm_arrays(2, True)
    arrays = [uniform(0, TIME, batch, INPUTS), arrays[1], *(uniform(s, 4, batch, SIZE) for s in (2, 3))]
    count = jnp.asarray([4, 0, 2, 1][:batch]) if lengths else None
    attrs = {"mode": "lstm", "state_size": SIZE, "num_layers": 2, "bidirectional": True, "state_outputs": True}
    op = get("rnn").bind(**attrs, use_sequence_length=lengths)
    seen = []
    monkeypatch.setattr("jax.experimental.rnn.lstm", lambda x, *rest: seen.append(x.shape[0]) or stand_in(x, *rest))

    def total(*arrays):
        return sum((y * uniform(9 + k, *y.shape)).sum() for k, y in enumerate(op(*arrays)))

    mesh = on(2, data=2)
    split = jax.P(None, "data") if batch % 2 == 0 else jax.P()
    places = [jax.NamedSharding(mesh, spec) for spec in (split, jax.P(), split, split)]
    if lengths:
        arrays.append(count)
        places.append(jax.NamedSharding(mesh, jax.P(*split[1:])))
    slopes = jax.value_and_grad(total, (0, 1, 2, 3))
    theirs = jax.jit(slopes)(*arrays)
    monkeypatch.setattr("jax.lax.platform_dependent", for_cuda)
    seen.clear()
    program = jax.jit(slopes).lower(*map(jax.device_put, arrays, places)).compile()
    assert set(seen[-2:]) == {batch // 2 if batch % 2 == 0 else batch}
    assert "all-gather" not in program.as_text()
    for a, b in zip(jax.tree.leaves(program(*arrays)), jax.tree.leaves(theirs), strict=True):
        onp.testing.assert_allclose(a, b, rtol=2e-5, atol=4e-6)


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="needs a CUDA GPU")
@pytest.mark.parametrize(("layers", "both", "lengths"), [(1, False, None), (2, True, LENGTHS)])
def test_cudnn_itself(monkeypatch, layers, both, lengths):
    arrays = lstm_arrays(layers, both)
    lengths = None if lengths is None else jnp.asarray(lengths)
    attrs = {"mode": "lstm", "state_size": SIZE, "num_layers": layers, "bidirectional": both}
    op = get("rnn").bind(**attrs, use_sequence_length=lengths is not None)

    def gradients():
        return jax.jit(jax.value_and_grad(lambda *a: (op(*a, lengths) ** 2).sum(), (0, 1, 2, 3)))(*arrays)

    with jax.default_matmul_precision("highest"):
        monkeypatch.setenv("GLUONX_CUDNN", "0")
        scanned = gradients()
        monkeypatch.setenv("GLUONX_CUDNN", "1")
        for a, b in zip(jax.tree.leaves(gradients()), jax.tree.leaves(scanned), strict=True):
            onp.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
