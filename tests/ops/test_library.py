"""Which of XLA's libraries computes the convolutions of a program for one CPU."""

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import Trainer, autograd, engine, loss, nn, np
from gluonx.ops.cpu import library

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
    monkeypatch.setattr(library, "cores", lambda: 2)
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
    assert (library.compiler_options(program(*shapes, of_weight=of_weight)) is not None) is expected


def test_a_program_with_one_core_or_a_flag_of_the_users_is_left_alone(monkeypatch):
    assert library.compiler_options(program(*WIDE))
    monkeypatch.setattr(library, "cores", lambda: 1)
    assert library.compiler_options(program(*WIDE)) is None
    monkeypatch.setattr(library, "cores", lambda: 2)
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_experimental_ynn_fusion_type=-reduce")
    assert library.compiler_options(program(*WIDE)) is None


def test_an_xla_without_the_option_computes_by_its_default(monkeypatch):
    monkeypatch.setattr(library, "_OPTION", "xla_cpu_no_such_option")
    assert library.compiler_options(program(*WIDE)) is None


def test_the_option_takes_convolutions_from_the_default_and_nothing_else():
    """The option's kinds are XLA's default ones but for convolutions, in the version that runs here."""

    def run(x, w, a):
        images = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=D)
        return images, jax.nn.softmax(a @ a.T) @ a, ((a - a.mean(0)) ** 2).mean(0), jnp.tanh(a @ a + 1)

    args = jnp.zeros(WIDE[0]), jnp.zeros(WIDE[1]), jnp.zeros((256, 256))
    both = None, library.compiler_options(program(*WIDE))
    texts = [jax.jit(run, compiler_options=options).lower(*args).compile().as_text() for options in both]
    fusions = [text.count('"kind":"__ynn_fusion"') for text in texts]
    assert fusions[0] > fusions[1] > 1
    assert fusions[0] - fusions[1] == 1


def test_a_step_of_a_wide_net_is_the_same_and_asks_for_the_option(monkeypatch):
    asked, find = [], library.compiler_options

    def watched(jaxpr):
        asked.append(find(jaxpr))
        return asked[-1]

    numbers = onp.random.default_rng(0).normal(size=(4, 16, 16, 16)).astype("float32")
    results = []
    for found in (watched, lambda jaxpr: None):
        monkeypatch.setattr(library, "compiler_options", found)
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
