"""Operators of a first step that need no trace: kernels of forward and pull-back, and what they refuse."""

import numpy as onp
import pytest
from threadpoolctl import threadpool_info

import gluonx
from gluonx import autograd, engine, gluon, np, npx
from gluonx.common import policy
from gluonx.deferred.operators import linking, untraced
from gluonx.deferred.run import repeats
from gluonx.gluon import nn


@pytest.fixture(autouse=True)
def _by_numpy(monkeypatch):
    monkeypatch.setitem(policy.limits, "runs", 12)
    monkeypatch.setattr(repeats, "runs_in_pieces", lambda graph: False)
    gluonx.engine.clear()
    yield
    gluonx.engine.clear()


def gradients(fn, *arrays):
    """The result and the gradients of a function of arrays, hybridized, so that it is one program."""

    class Net(nn.HybridBlock):
        def forward(self, *inputs):
            return fn(*inputs)

    net = Net()
    net.hybridize()
    handles = [np.array(a) for a in arrays]
    for h in handles:
        if h.ndim > 1 or len(arrays) == 3:
            h.attach_grad()
    with autograd.record():
        out = net(*handles)
        (out * out).sum().backward()
    return [out.asnumpy(), *[h.grad.asnumpy() for h in handles if h.grad is not None]]


def both(fn, *arrays):
    """The same by NumPy and by XLA."""
    gluonx.engine.clear()
    ours = gradients(fn, *arrays)
    gluonx.engine.clear()
    with engine.host(False):
        theirs = gradients(fn, *arrays)
    for a, b in zip(ours, theirs, strict=True):
        onp.testing.assert_allclose(a, b, 2e-5, 2e-5)


NUMBERS = onp.random.RandomState(0)


def numbers(*shape):
    return NUMBERS.randn(*shape).astype("f")


def test_a_net_of_usual_layers_is_not_traced(monkeypatch):
    """Its first step, and those of other lengths."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(), nn.Conv2DTranspose(3, 2, strides=2))
    net.add(nn.Flatten(), nn.Dense(6, activation="tanh"), nn.GELU(), nn.LayerNorm(), nn.Dense(3))
    net.initialize()
    net.hybridize()
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    monkeypatch.setattr(linking, "_pair", lambda op, *args: pytest.fail(f"{op.name} was traced"))
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    for batch in (2, 3, 5):
        x, y = np.array(numbers(batch, 2, 8, 8)), np.array(onp.arange(batch) % 3)
        with autograd.record():
            loss = loss_fn(net(x), y).mean()
        loss.backward()
        trainer.step(1)
        assert onp.isfinite(loss.item())


def test_kernels_are_tried_with_one_thread_of_blas(monkeypatch):
    """A second thread would wait for products for 30 ms at each new length, where a whole step takes 10."""
    threads = []

    def watched(found):
        def run(*args):
            threads.extend(lib["num_threads"] for lib in threadpool_info() if "numpy" in lib["filepath"])
            return found[0](*args)

        return found and (run, found[1])

    kernel_of, pullback_kernel = untraced.kernel_of, untraced.pullback_kernel
    monkeypatch.setattr(untraced, "kernel_of", lambda op: watched(kernel_of(op)))
    monkeypatch.setattr(untraced, "pullback_kernel", lambda *args: watched(pullback_kernel(*args)))
    gradients(lambda x, y: x.T @ y, numbers(4, 6), numbers(4, 6))
    assert len(threads) > 2
    assert set(threads) == {1}


@pytest.mark.dear
def test_values_that_a_kernel_refuses_are_traced(monkeypatch):
    """Labels that are no whole numbers: an operator is linked by its kernels, and its run asks for the trace."""
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    asked = []
    chosen = untraced.chosen
    monkeypatch.setattr(
        linking,
        "chosen",
        lambda kernel, present, instead: chosen(kernel, present, lambda: asked.append(1) or instead()),
    )
    logits = numbers(4, 5)
    both(lambda x, y: loss(x, y), logits, onp.array([onp.nan, 3, 4, 1], "f"))
    assert asked
    asked.clear()
    both(lambda x, y: loss(x, y), logits, onp.array([0, 3, 4, 1], "f"))
    assert not asked


@pytest.mark.parametrize(
    ("fn", "shapes"),
    [
        (lambda x, w, b: npx.fully_connected(x, w, b, num_hidden=5), [(3, 4), (5, 4), (5,)]),  # without the bias
        (lambda x, w, b: npx.fully_connected(x, w, b, num_hidden=5, no_bias=False), [(3, 4), (5, 4), (5,)]),
        (lambda x, y: np.concatenate([x, y * 2], axis=1).T @ x, [(3, 4), (3, 4)]),
        (lambda x: npx.leaky_relu(x, act_type="gelu"), [(40, 500)]),
        (lambda x: npx.relu(x), [(300, 200)]),
        (lambda x: npx.softmax(np.swapaxes(x, 0, 1)) * x.mean(), [(3, 4)]),
    ],
)  # fmt: skip
def test_programs_of_kernels_are_what_xla_computes(fn, shapes):
    both(fn, *[numbers(*shape) for shape in shapes])


def test_relu_passes_what_is_not_finite():
    x = numbers(80, 80)
    x[0, :3] = onp.inf, onp.nan, -onp.inf
    with onp.errstate(invalid="ignore"):
        both(lambda x: npx.relu(x), x)


def test_an_array_of_another_type_is_traced():
    class Net(nn.HybridBlock):
        def forward(self, x):
            return npx.softmax(x * 2)

    net = Net()
    net.hybridize()
    x = np.array(numbers(3, 4)).astype("float16")
    x.attach_grad()
    with autograd.record():
        y = net(x)
        y[:, 0].sum().backward()
    assert y.dtype == x.grad.dtype == onp.float16
