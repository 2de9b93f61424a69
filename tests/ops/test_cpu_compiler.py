"""What XLA's compiler is told of a program for one CPU: who computes its convolutions, in what blocks its memory is."""

import functools
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import Trainer, autograd, engine, loss, nn, np
from gluonx.ops.cpu import compiler

D = ("NHWC", "HWIO", "NHWC")


def program(x, w, of_weight=False):
    """Return the jaxpr of a convolution, or of the pull-back to its weight."""

    def run(w):
        return jax.lax.conv_general_dilated(zeros, w, (1, 1), "SAME", dimension_numbers=D)

    zeros, w = jnp.zeros(x), jnp.zeros(w)
    if not of_weight:
        return jax.make_jaxpr(jax.jit(run))(w)
    pull = jax.linear_transpose(run, w)
    return jax.make_jaxpr(pull)(jax.eval_shape(run, w))


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(compiler, "cores", lambda: 2)
    monkeypatch.delenv("XLA_FLAGS")


WIDE = (2, 32, 32, 64), (3, 3, 64, 64)
NARROW = (32, 28, 28, 1), (5, 5, 1, 20)


@pytest.mark.parametrize(
    ("shapes", "of_weight", "expected"),
    [
        (WIDE, False, True),
        (NARROW, False, False),
        (NARROW, True, True),
        (((1, 8, 8, 32), (3, 3, 32, 32)), False, False),
        (((2, 32, 32, 64), (3, 3, 64, 3)), False, False),
    ],
    ids=["wide", "narrow", "weight", "small", "few-out"],
)
def test_eigen_has_what_it_computes_sooner(shapes, of_weight, expected):
    assert (compiler.options_of(program(*shapes, of_weight=of_weight)) is not None) is expected


@pytest.mark.parametrize(("images", "expected"), [(32, True), (2, False)])
def test_the_weights_gradient_of_several_images_outweighs_narrow_convolutions(images, expected):
    def loss(w, x):
        y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=D)
        return (y**2).sum()

    x, w = (images, 112, 112, 1), (5, 5, 1, 20)
    gradients = jax.make_jaxpr(jax.value_and_grad(loss, (0, 1)))(jnp.zeros(w), jnp.zeros(x))
    library = (compiler.options_of(gradients) or {}).get(compiler._LIBRARY)
    assert (library is not None) is expected


def test_a_program_with_one_core_or_a_flag_of_the_users_is_left_alone(monkeypatch):
    assert compiler.options_of(program(*WIDE))
    monkeypatch.setattr(compiler, "cores", lambda: 1)
    assert compiler.options_of(program(*WIDE)) is None
    monkeypatch.setattr(compiler, "cores", lambda: 2)
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_experimental_ynn_fusion_type=-reduce")
    assert compiler.options_of(program(*WIDE)) is None


def test_an_xla_without_the_option_computes_by_its_default(monkeypatch):
    monkeypatch.setattr(compiler, "_LIBRARY", "xla_cpu_no_such_option")
    assert compiler.options_of(program(*WIDE)) is None


def test_the_option_takes_convolutions_from_the_default_and_nothing_else():
    """The option's kinds are XLA's default ones but for convolutions, in the version that runs here."""

    def run(x, w, a):
        images = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=D)
        return images, jax.nn.softmax(a @ a.T) @ a, ((a - a.mean(0)) ** 2).mean(0), jnp.tanh(a @ a + 1)

    args = jnp.zeros(WIDE[0]), jnp.zeros(WIDE[1]), jnp.zeros((256, 256))
    both = None, compiler.options_of(program(*WIDE))
    texts = [jax.jit(run, compiler_options=options).lower(*args).compile().as_text() for options in both]
    fusions = [text.count('"kind":"__ynn_fusion"') for text in texts]
    assert fusions[0] > fusions[1] > 1
    assert fusions[0] - fusions[1] == 1


def test_a_step_of_a_wide_net_is_the_same_and_asks_for_the_option(monkeypatch):
    asked, find = [], compiler.options_of

    def watched(jaxpr):
        asked.append(find(jaxpr))
        return asked[-1]

    numbers = onp.random.default_rng(0).normal(size=(4, 16, 16, 16)).astype("float32")
    results = []
    for found in (watched, lambda jaxpr: None):
        monkeypatch.setattr(compiler, "options_of", found)
        net = nn.HybridSequential()
        net.add(nn.Conv2D(32, 3, padding=1, in_channels=16), nn.Conv2D(16, 3, padding=1, in_channels=32))
        net.initialize()
        for i, p in enumerate(net.collect_params().values()):
            p.set_data(onp.random.default_rng(i).normal(size=p.shape) / 10)
        net.hybridize()
        trainer, x = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}), np.array(numbers)
        engine.reset_stats()
        for _ in range(2):
            with autograd.record():
                value = loss.L2Loss()(net(x), x)
            value.backward()
            trainer.step(2)
        results.append([value.asnumpy(), *[p.data().asnumpy() for p in net.collect_params().values()]])
        assert engine.stats()["programs_compiled"] == 1
    assert any(asked)
    for one, other in zip(*results, strict=True):
        onp.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


# ----------------------------------------------------------------- temporary arrays in several blocks

BLOCKS = "xla_multiheap_size_constraint_per_heap"


def waves(x, arrays):
    """Return a number for which as many arrays of the size of `x` exist at once, for XLA too."""
    found = [jnp.sin(x * i) for i in range(arrays)]
    return sum((a @ b).sum() for a, b in zip(found, reversed(found), strict=True))


def of_shape(*shape):
    return jax.ShapeDtypeStruct(shape, "float32")


def of_size(mib):
    return of_shape(mib, 512, 512)


def options_of_waves(mib, arrays):
    return compiler.options_of(jax.make_jaxpr(functools.partial(waves, arrays=arrays))(of_size(mib))) or {}


@pytest.mark.parametrize(
    ("mib", "arrays", "block"),
    [(1, 8, 0), (4, 16, 4.5), (2, 32, 4), (16, 8, 18), (25, 8, 0), (16, 64, 0)],
    ids=["fits-in-one", "arrays", "small-arrays", "large-arrays", "larger-than-glibc-keeps", "too-much-to-keep"],
)
def test_temporary_arrays_are_kept_in_blocks(mib, arrays, block):
    assert options_of_waves(mib, arrays).get(BLOCKS, 0) == block * (1 << 20)


def test_more_threads_keep_less_each_and_flags_of_the_users_stay(monkeypatch):
    assert BLOCKS in options_of_waves(16, 8)
    monkeypatch.setattr(compiler, "cores", lambda: 16)
    assert BLOCKS not in options_of_waves(16, 8)
    monkeypatch.setattr(compiler, "cores", lambda: 1)
    assert BLOCKS in options_of_waves(16, 8)
    monkeypatch.setenv("XLA_FLAGS", f"--{BLOCKS}=-1")
    assert BLOCKS not in options_of_waves(16, 8)


def test_another_c_library_has_its_own_ways(monkeypatch):
    monkeypatch.setattr(compiler.platform, "libc_ver", lambda: ("musl", "1.2"))
    assert options_of_waves(16, 8) == {}


def test_arrays_of_a_loop_count_and_parameters_and_results_do_not():
    def loop(x):
        return jax.lax.fori_loop(0, 3, lambda _, x: jnp.sin(x) @ jnp.cos(x), x)

    most, largest = compiler._needed(jax.make_jaxpr(loop)(jnp.zeros((8, 8))))
    assert (most, largest) == (2 * 8 * 8 * 4, 8 * 8 * 4)
    assert compiler._needed(jax.make_jaxpr(lambda x: x)(jnp.zeros(8))) == (0, 0)
    assert compiler._needed(jax.make_jaxpr(jnp.sin)(jnp.zeros(8))) == (0, 32)


def test_the_system_clears_no_page_in_a_steady_call_and_the_result_is_the_same():
    """A process of its own, with two threads at most, counts the page faults of calls: with one block 16,000 each."""
    program = """
import functools, os, resource
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
import jax
from gluonx.ops.cpu import compiler
from tests.ops.test_cpu_compiler import of_size, waves
run = functools.partial(waves, arrays=16)
x = jax.random.normal(jax.random.key(0), of_size(4).shape) / 100
options = compiler.options_of(jax.make_jaxpr(run)(x))
for options in options, None:
    call = jax.jit(run, compiler_options=options)
    for _ in range(8):
        result = call(x).block_until_ready()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(8):
        call(x).block_until_ready()
    print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 8, repr(float(result)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    (faults, result), (faults_of_one, result_of_one) = (line.split() for line in done.stdout.splitlines())
    assert int(faults) < int(faults_of_one) / 2 and int(faults_of_one) > 10_000
    assert result == result_of_one


# ----------------------------------------------------------------- copies of what is overwritten


def step(x, weights):
    """Return weights after a step; the gradient of one layer reads the next one's old weight."""

    def run(weights):
        y = x
        for weight in weights:
            y = jnp.tanh(y @ weight)
        return (y**2).sum()

    return [w - 0.1 * g for w, g in zip(weights, jax.grad(run)(weights), strict=True)]


def asked_of_step(rows, units):
    weights = [of_shape(units, units)] * 3
    return "True" in (compiler.options_of(jax.make_jaxpr(step)(of_shape(rows, units), weights)) or {}).values()


def test_weights_are_overwritten_without_a_copy_where_they_are_much_of_a_program(monkeypatch):
    assert asked_of_step(8, 2048)
    assert not asked_of_step(1 << 15, 2048)  # much is computed from them
    assert not asked_of_step(8, 256)  # a copy is little
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_copy_insertion_use_region_analysis=false")
    assert not asked_of_step(8, 2048)


def test_a_step_copies_no_weight_and_its_result_is_the_same():
    x, make = jnp.ones((8, 2048)) / 8, lambda: [jnp.full((2048, 2048), i / 4096) for i in range(1, 4)]
    found = compiler.options_of(jax.make_jaxpr(step)(x, make()))
    usual, without = (
        jax.jit(step, donate_argnums=1, compiler_options=options).lower(x, make()).compile()
        for options in (None, found)
    )
    assert " copy(%weights" in usual.as_text()
    assert " copy(" not in without.as_text()
    for one, other in zip(without(x, make()), usual(x, make()), strict=True):
        onp.testing.assert_array_equal(one, other)
