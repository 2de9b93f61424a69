"""Programs as they are changed for a CPU: the same numbers, chains that do not grow, draws of one shape at once."""

import re

import jax
import jax.numpy as jnp
import numpy as onp
import pytest
from jax import lax

import gluonx
from gluonx import autograd, engine, gluon, np, npx
from gluonx.gluon import nn
from gluonx.ops import get, prng
from gluonx.ops.cpu import rewriting
from gluonx.ops.cpu.convolution import for_cpu, native_operations
from gluonx.ops.cpu.rewriting import rewritten

on_cpu = pytest.mark.skipif(jax.default_backend() != "cpu", reason="what is done for CPUs")
R = onp.random.RandomState(5)
X = R.normal(size=(4, 6)).astype("float32")
W = R.normal(size=(6, 6)).astype("float32") / 3


def flat(fn, *args):
    """Return a function, and the same rewritten, each from the leaves of `args` to a list."""
    closed = jax.make_jaxpr(fn)(*args)
    run = rewritten(closed)
    return jax.jit(lambda *leaves: jax.tree.leaves(fn(*jax.tree.unflatten(jax.tree.structure(args), leaves)))), run


def states(x, w, steps):
    """The states of a recurrence that never ends in a matrix product, and outputs that do."""
    outs, state = [], x
    for _ in range(steps):
        state = jax.nn.sigmoid(state @ w) * state + jnp.tanh(x)
        outs.append(jnp.tanh(state) @ w)
    return outs


@on_cpu
def test_a_recurrence_grows_with_its_length():
    def instructions(steps, change):
        def loss(x, w):
            return sum([(out**2).sum() for out in states(x, w, steps)])

        usual, run = flat(jax.grad(loss, argnums=(0, 1)), X, W)
        assert run is not None
        return jax.jit(run if change else usual).lower(X, W).compile().as_text().count(" = ")

    assert instructions(32, False) > 3 * instructions(16, False)  # as XLA has it
    assert instructions(32, True) < 2.5 * instructions(16, True)


def test_what_has_no_long_chain_stays_as_it_is():
    assert flat(lambda x, w: states(x, w, 2), X, W)[1] is None
    assert flat(lambda x: x, X)[1] is None
    assert flat(lambda: 1.0)[1] is None


def test_images_are_joined_and_split_before_they_are_transposed():
    def net(a, b, c):
        a, b, c = (jnp.moveaxis(jnp.tanh(x), -1, 1) for x in (a, b, c))
        joined = jnp.concatenate([jax.jit(lambda a, b: jnp.concatenate([a, b], 1))(a, b), c], 1)
        one, other = jnp.split(joined, [4], 1)
        return jnp.moveaxis(joined, 1, -1), one, jnp.sin(other), jnp.concatenate([joined, joined], 2)

    images = [R.normal(size=(2, 3, 4, n)).astype("float32") for n in (5, 6, 2)]
    usual, run = flat(net, *images)
    for a, b in zip(usual(*images), run(*images), strict=True):
        assert onp.array_equal(a, b)
    shapes = [
        (eqn.primitive.name, eqn.outvars[0].aval.shape)
        for eqn in jax.make_jaxpr(run)(*images).eqns
        if eqn.primitive.name in ("concatenate", "split")
    ]
    assert shapes == [
        ("concatenate", (2, 3, 4, 11)),
        ("concatenate", (2, 3, 4, 13)),
        ("split", (2, 3, 4, 4)),
        ("concatenate", (2, 6, 4, 13)),
    ]


def test_only_what_joins_images_of_one_kind_is_moved():
    a, b = (R.normal(size=(2, 3, 4, 5)).astype("float32") for _ in range(2))
    assert (
        flat(lambda a, b: jnp.concatenate([jnp.moveaxis(a, -1, 1), b[..., :3].reshape(2, 3, 3, 4)], 1), a, b)[1] is None
    )
    assert flat(lambda a, b: jnp.concatenate([jnp.swapaxes(a, 1, 2), jnp.swapaxes(b, 1, 2)], 1), a, b)[1] is None
    assert flat(lambda a: jnp.split(a, 2, 0), a)[1] is None


def blocks_of_convolutions():
    """Yield nets of convolutions and normalizations, each with the shapes of its weights, for images of 8 channels."""
    norm = get("batch_norm").bind(training=True, fix_gamma=False).fn
    relu = get("relu").fn

    def layer(x, weight, groups=1):
        size = weight.shape[2]
        sizes = {"kernel": (size, size), "pad": (size // 2, size // 2), "num_filter": len(weight), "num_group": groups}
        one = jnp.ones(len(weight))
        return norm(get("convolution").bind(no_bias=True, **sizes).fn(x, weight), one, one, one, one)[0]

    def separable(weights, x):
        for weight, groups in zip(weights, (1, 24, 1), strict=True):
            x = jnp.clip(layer(x, weight, groups), 0, 6)
        return x

    def residual(groups):
        def net(weights, x):
            x = relu(layer(x, weights[0]))
            for wide, across, narrow in (weights[1:4], weights[4:]):
                y = relu(layer(relu(layer(x, wide)), across, groups))
                x = relu(layer(y, narrow) + x)
            return x.mean((2, 3))

        return net

    shapes = (24, 8, 1, 1), (24, 24, 3, 3), (8, 24, 1, 1)
    yield pytest.param(separable, [shapes[0], (24, 1, 3, 3), shapes[2]], id="separable")
    stem = 8, 8, 1, 1
    yield pytest.param(residual(1), [stem, *shapes, *shapes], id="residual", marks=pytest.mark.dear)
    in_groups = [shapes[0], (24, 12, 3, 3), shapes[2]]
    yield pytest.param(residual(2), [stem, *in_groups, *in_groups], id="groups")


@on_cpu
@pytest.mark.parametrize(("net", "shapes"), list(blocks_of_convolutions()))
def test_a_block_has_its_channels_last_throughout(net, shapes):
    weights = [R.normal(size=s).astype("float32") / onp.sqrt(s[1]) for s in shapes]
    x = R.normal(size=(2, 8, 20, 20)).astype("float32")  # large enough to be stored
    gradients = jax.value_and_grad(lambda weights, x: (net(weights, x) ** 2).sum(), argnums=(0, 1))
    with for_cpu():
        usual, run = flat(gradients, weights, x)
        found = run(*jax.tree.leaves((weights, x)))
        changed = jax.jit(run).lower(*jax.tree.leaves((weights, x))).compile().as_text()
        unchanged = usual.lower(*jax.tree.leaves((weights, x))).compile().as_text()
    with native_operations():
        wanted = jax.tree.leaves(gradients(weights, x))
    for a, b in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)

    def images_turned(text):
        return len(re.findall(r"f32\[2,(?:20,20,\d+|\d+,20,20)\]\S* transpose\(", text))

    assert images_turned(changed) <= 2  # the data and its gradient
    assert images_turned(unchanged) > 2


def test_images_are_cut_padded_and_reversed_before_they_are_transposed():
    def net(image, at):
        image = jnp.moveaxis(jnp.tanh(image), -1, 1)
        reflected = jnp.pad(image, ((0, 0), (0, 0), (2, 1), (1, 2)), mode="reflect")
        strided = lax.pad(image[:, 1:, ::2], 0.5, ((0, 0, 0), (1, 0, 0), (0, 1, 1), (-1, 2, 0)))
        window = lax.dynamic_slice(image, (0, at, 1, 0), (2, 2, 2, 4))
        written = lax.dynamic_update_slice(jnp.zeros((2, 5, 4, 6)), window, (0, 1, at, 1))
        outs = reflected, strided, window, written, image[:, ::-1, ::-1]
        return [jnp.moveaxis(out, 1, -1) for out in outs]

    args = R.normal(size=(2, 3, 4, 5)).astype("float32"), onp.int32(1)
    gradients = jax.grad(lambda *args: sum([(jnp.cos(out) ** 2).sum() for out in net(*args)]))
    for fn in (net, gradients):
        usual, run = flat(fn, *args)
        for a, b in zip(usual(*args), run(*args), strict=True):
            assert onp.allclose(a, b, rtol=1e-6, atol=1e-6)
    eqns = jax.make_jaxpr(flat(net, *args)[1])(*args).eqns
    first = {v for e in eqns for v in e.outvars if e.params.get("permutation") == (0, 3, 1, 2)}
    assert first
    read = {e.primitive.name for e in eqns for v in e.invars if not hasattr(v, "val") and v in first}
    assert read == {"transpose"}


@pytest.mark.parametrize("apart", [False, True], ids=["joined", "apart"])
def test_what_a_checkpoint_computes_is_moved_unless_xla_is_to_keep_it_apart(apart):
    def net(x):
        image = jnp.moveaxis(jnp.tanh(x), -1, 1)
        return jnp.moveaxis(jax.checkpoint(lambda image: jnp.sin(image) * 2, prevent_cse=apart)(image), 1, -1)

    images = R.normal(size=(2, 3, 4, 5)).astype("float32")
    usual, run = flat(net, images)
    assert (run is None) == apart
    if run is not None:
        assert onp.array_equal(*run(images), *usual(images))
        sines = [e.outvars[0].aval.shape for e in jax.make_jaxpr(run)(images).eqns if e.primitive.name == "sin"]
        assert sines == [images.shape]


def test_images_are_computed_by_element_before_they_are_transposed():
    def net(image, scale, bias, other):
        image = jnp.moveaxis(jnp.tanh(image), -1, 1)
        image = jnp.clip(image * scale[:, None, None] + 2, 0.5, 2.5)  # a smaller operand is repeated
        image = jax.jit(lambda a, b: jax.nn.relu(a - b))(image, jnp.broadcast_to(bias, image.shape))
        pooled = image.mean((2, 3), keepdims=True)
        gated = jnp.where(image > 0.3, image * jax.nn.sigmoid(pooled), image**3)
        return jnp.moveaxis(gated, 1, -1), gated.sum((0, 2, 3)), gated.max(1), gated.max(0), gated + other

    def read_with_channels_first(fn, args):
        """Return how many images something reads after their channels were put first, of those that were made so."""
        eqns = jax.make_jaxpr(fn)(*args).eqns
        read = {v for eqn in eqns for v in eqn.invars if not hasattr(v, "val")}
        made = [e for e in eqns if e.primitive.name == "transpose" and e.params["permutation"] == (0, 3, 1, 2)]
        return sum(eqn.outvars[0] in read for eqn in made), len(made)

    args = [R.normal(size=shape).astype("float32") for shape in ((2, 3, 4, 5), (5,), (), (2, 5, 3, 4))]
    usual, run = flat(net, *args)
    for a, b in zip(usual(*args), run(*args), strict=True):
        onp.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    # The result alone: a reduction reads it whose axes would lie in another order, and a sum with an image that has its
    # channels first.
    read, made = read_with_channels_first(run, args)
    assert read == 1
    assert made > 10

    def loss(*args):
        return sum([(jnp.cos(out) ** 2).sum() for out in net(*args)])

    usual, run = flat(jax.grad(loss, argnums=(0, 1, 2, 3)), *args)
    for a, b in zip(usual(*args), run(*args), strict=True):
        onp.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.dear
@on_cpu
def test_equal_draws_are_made_by_one_loop_and_are_the_same_bits():
    def masks(count):
        def fn(root, index, x):
            outs = []
            for i in range(count):
                key = prng.wrap(root, index + i)
                x = jnp.where(jax.random.bernoulli(key, 0.5, (4, 6)), x, -x) @ W
                outs.append(x)
            return outs, jax.random.normal(prng.wrap(root, index + count), (3,))

        return fn

    root, index = onp.array([0, 9], onp.uint32), onp.int32(4)
    assert flat(masks(5), root, index, X)[1] is None
    usual, run = flat(masks(30), root, index, X)
    for a, b in zip(usual(root, index, X), run(root, index, X), strict=True):
        assert onp.array_equal(a, b)
    loops = [jax.jit(fn).lower(root, index, X).compile().as_text().count(" while(") for fn in (usual, run)]
    assert loops == [31, 2]  # the normal ones have a shape of their own


@on_cpu
@pytest.mark.parametrize("kind", ["slices", "unstack"])
def test_where_many_parts_are_taken_of_one_array_equal_loops_are_equal(kind, monkeypatch):
    def fn(parts, x):
        taken = [parts[i * 24 : i * 24 + 24].reshape(4, 6) for i in range(20)]
        if kind == "unstack":
            taken = jnp.unstack(parts.reshape(20, 4, 6) * 2)
        for part in taken:
            x = jnp.tanh(x @ W + part)
        return x

    parts = R.normal(size=480).astype("float32")
    assert flat(fn, parts, X)[1] is None  # it is short
    monkeypatch.setattr(rewriting, "_LONG", 0)
    usual, run = flat(fn, parts, X)
    onp.testing.assert_allclose(run(parts, X)[0], usual(parts, X)[0], rtol=1e-6, atol=1e-6)  # of numbers up to 1

    def offsets(fn):
        """Count the slices that stand in loops with something else."""
        text = jax.jit(fn).lower(parts, X).compile().as_text()
        loops = [block for block in text.split("\n\n") if "tanh(" in block]
        return sum([block.count(" slice(") for block in loops])

    assert offsets(usual) == 20
    assert offsets(run) == 0


def test_a_draw_whose_key_is_computed_late_stays_where_it_is():
    def fn(root, x):
        for _ in range(30):
            words = root + lax_sum(x)
            x = jnp.where(jax.random.bernoulli(prng.wrap(words, onp.int32(1)), 0.5, (4, 6)), x, -x) @ W
        return x

    def lax_sum(x):
        return (x.sum() * 1000).astype(onp.uint32)

    root = onp.array([0, 9], onp.uint32)
    _, run = flat(fn, root, X)
    if run is not None:
        assert onp.array_equal(run(root, X)[0], fn(root, X))


def drawn_program(seed):
    """Return a random program of small functions, functions that call functions, branches, loops and constants."""
    draw = onp.random.RandomState(seed)

    @jax.custom_jvp
    def own(x):
        return x * 0.5

    own.defjvp(lambda p, t: (own(*p), t[0] * 0.5))
    constant = draw.normal(size=(4, 6)).astype("float32")

    def inner(x, y):
        return x * 0.9 + y * constant, x

    shared = jax.jit(inner)
    nested = jax.jit(lambda x: own(shared(x, x)[0]) + shared(x, own(x))[1])
    looped = jax.jit(lambda x: jax.lax.fori_loop(0, 2, lambda i, v: v * 0.9 + 0.1, x))
    kinds = [
        lambda v: v[-1] * 0.9 + v[-2] * 0.1,
        lambda v: shared(v[-1], v[0])[0],
        lambda v: nested(v[-1]),
        lambda v: looped(v[-1]),
        lambda v: v[-1] @ W,
        lambda v: jax.lax.cond(v[-1].sum() > 0, lambda a: a * 0.5, lambda a: a + 0.1, v[-1]),
        lambda v: jnp.split(v[-1], 2, axis=1)[0].repeat(2, axis=1),
        lambda v: jnp.concatenate([v[-1][:2], v[-2][2:]]),
        lambda v: own(jnp.tanh(v[-1])),
    ]
    way = draw.randint(len(kinds), size=40)

    def program(x):
        values = [x, x * 0.5]
        for kind in way:
            values.append(kinds[kind](values))
        return [*values[::3], x, 2.0, constant]

    return program


@pytest.mark.dear
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gradient", [False, True])
def test_random_programs_compute_the_same(seed, gradient, monkeypatch):
    monkeypatch.setattr(rewriting, "_LONGEST", 2)
    program = drawn_program(seed)
    if gradient:
        fn = jax.value_and_grad(lambda x: sum([jnp.sum(jnp.tanh(out)) for out in program(x)]))
    else:
        fn = program
    usual, run = flat(fn, X)
    assert run is not None
    for a, b in zip(usual(X), run(X), strict=True):
        assert jnp.shape(a) == jnp.shape(b)
        onp.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_64_bits_and_half_precision_stay(monkeypatch):
    monkeypatch.setattr(rewriting, "_LONGEST", 2)

    def fn(x, h):
        for _ in range(6):
            x = x * 0.5 + jnp.tanh(x)
            h = h * onp.float16(0.5) + jnp.tanh(h)
        return x @ x.T, x, h @ h.T, h, (x * 3).astype(jnp.int64)

    with jax.enable_x64(True):
        args = X.astype("float64"), X.astype("float16")
        usual, run = flat(fn, *args)
        for a, b in zip(usual(*args), jax.jit(run)(*args), strict=True):
            assert a.dtype == b.dtype
            onp.testing.assert_allclose(a, b, rtol=1e-14 if a.dtype == "float64" else 2e-3)


class ByHand(nn.HybridBlock):
    """A recurrent net as books write it: a Python loop over the steps, with a mask at each."""

    def __init__(self, units, steps):
        super().__init__()
        self.units, self.steps = units, steps
        self.of_input, self.of_state = nn.Dense(4 * units), nn.Dense(4 * units)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        state = cell = np.zeros((len(x), self.units))
        outs = []
        for t in range(self.steps):
            i, f, g, o = np.split(self.of_input(x[:, t]) + self.of_state(state), 4, axis=1)
            cell = npx.sigmoid(f) * cell + npx.sigmoid(i) * np.tanh(g)
            state = self.drop(npx.sigmoid(o) * np.tanh(cell))
            outs.append(state)
        return np.stack(outs, axis=1)


def losses_of(mode, steps, reads):
    gluonx.random.seed(11)
    net = ByHand(5, steps)
    net.initialize()
    if mode == "hybridized":
        net.hybridize()
    x = np.array(onp.random.RandomState(2).normal(size=(3, steps, 4)).astype("float32"))
    trainer = gluon.Trainer(net.collect_params(), "adam")
    found = []
    with engine.mode("naive" if mode == "naive" else "deferred"):
        for _ in range(4):
            with autograd.record():
                loss = (net(x) ** 2).sum()
                if reads:
                    found.append(loss.item())
            loss.backward()
            trainer.step(3)
            found.append(loss.item())
    return onp.array(found), engine.stats()["programs_compiled"]


@pytest.mark.parametrize("reads", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_loop_by_hand_trains_alike_in_every_mode(reads):
    naive, *others = [losses_of(mode, 26, reads)[0] for mode in ("naive", "deferred", "hybridized")]
    for other in others:
        onp.testing.assert_allclose(other, naive, rtol=2e-5)


def test_a_long_loop_whose_loss_is_read_within_record_first_runs_operator_by_operator():
    engine.clear()
    before = engine.stats()["programs_compiled"]
    _, after = losses_of("deferred", 30, True)
    assert after - before <= 1  # the update; never the 600 operations of the loop
