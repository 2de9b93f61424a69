"""Hooks see values at every call: plain, hybridized, on blocks at any depth."""

import warnings

import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import HybridBlock, Trainer, autograd, engine, nn, np, npx

HYBRID = pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybrid"])
X = np.array(onp.linspace(-1, 1, 10).reshape(2, 5))
TOLD = "is hybridized, but has a Dense with hooks"


class Net(HybridBlock):
    def __init__(self):
        super().__init__()
        self.stage = nn.HybridSequential()
        self.stage.add(nn.Dense(4, activation="relu"), nn.Dense(3))
        self.out = nn.Dense(2)

    def forward(self, x):
        return self.out(self.stage(x))


def made(hybrid):
    net = Net()
    net.initialize("xavier")
    if hybrid:
        net.hybridize()
    return net


def quiet():
    return warnings.catch_warnings(record=True)


@HYBRID
@pytest.mark.parametrize("recording", [False, True])
def test_hooks_run_at_each_call_on_values(hybrid, recording):
    net, seen = made(hybrid), []
    net(X)  # a trace that there is already does not keep hooks from running
    with quiet() as told:
        warnings.simplefilter("always")
        before = net.stage[1].register_forward_pre_hook(lambda block, inputs: seen.append(("before", inputs[0])))
        after = net.stage[1].register_forward_hook(lambda block, inputs, out: seen.append(("after", out)))
        for k in range(3):
            scope = autograd.record() if recording else autograd.pause()
            with scope:
                net(X * (k + 1))
    assert [str(w.message).count(TOLD) for w in told] == [1] * hybrid  # once, whatever lies in between
    assert [what for what, _ in seen] == ["before", "after"] * 3
    for k in range(3):
        given, out = seen[2 * k][1].asnumpy(), seen[2 * k + 1][1].asnumpy()
        weight, bias = net.stage[1].weight.data().asnumpy(), net.stage[1].bias.data().asnumpy()
        onp.testing.assert_allclose(out, given @ weight.T + bias, rtol=1e-5, atol=1e-6)
    assert abs(seen[0][1].asnumpy() * 2 - seen[2][1].asnumpy()).max() < 1e-5
    before.detach()
    net(X)
    assert len(seen) == 7
    after.detach()
    net(X)
    assert len(seen) == 7


def test_the_trace_comes_back_when_hooks_go():
    net = made(True)
    first = net(X).asnumpy()
    traces = engine.stats()["traces"]
    with pytest.warns(UserWarning, match=TOLD), net.out.register_forward_hook(lambda *args: None):
        assert onp.allclose(net(X).asnumpy(), first)
    assert engine.stats()["traces"] == traces + 2  # net.stage and net.out have no hooks below them
    assert onp.allclose(net(X).asnumpy(), first)
    assert engine.stats()["traces"] == traces + 2


def test_what_a_hook_returns_is_ignored():
    net = made(True)
    expected = net(X).asnumpy()
    with quiet():
        warnings.simplefilter("ignore")
        net.out.register_forward_hook(lambda block, inputs, out: out * 0)
        net.out.register_forward_pre_hook(lambda block, inputs: (inputs[0] * 0,))
        assert onp.allclose(net(X).asnumpy(), expected)


@HYBRID
def test_gradients_flow_through_what_a_hook_keeps(hybrid):
    net, kept = made(hybrid), []
    with quiet():
        warnings.simplefilter("ignore")
        net.stage[0].register_forward_hook(lambda block, inputs, out: kept.append(out))
        net(X)
        grads = []
        for _ in range(2):
            kept.clear()
            with autograd.record():
                loss = net(X).sum() + (kept[0] if kept else net.stage[0](X)).sum()
            loss.backward()
            grads.append(net.stage[0].weight.grad().asnumpy())
    twin = made(False)
    twin(X)
    twin.load_dict({name: p.data() for name, p in net.collect_params().items()})
    with autograd.record():
        hidden = twin.stage[0](X)
        loss = twin.out(twin.stage[1](hidden)).sum() + hidden.sum()
    loss.backward()
    for grad in grads:
        onp.testing.assert_allclose(grad, twin.stage[0].weight.grad().asnumpy(), rtol=1e-5, atol=1e-6)


def test_one_program_a_step_with_hooks_that_read_later():
    net, kept = made(True), []
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with quiet():
        warnings.simplefilter("ignore")
        net.stage[0].register_forward_hook(lambda block, inputs, out: kept.append(out))
        net(X)
        runs = []
        for _ in range(5):
            before = engine.stats()["dispatches"]
            with autograd.record():
                loss = net(X).sum()
            loss.backward()
            trainer.step(2)
            runs.append(engine.stats()["dispatches"] - before)
    assert runs[-1] == 1
    assert all(h.asnumpy().shape == (2, 4) for h in kept)


@HYBRID
def test_operator_hooks_see_each_operator_of_their_block(hybrid):
    net, seen = made(hybrid), []
    with quiet():
        warnings.simplefilter("ignore")
        net(X)
        handle = net.stage.register_op_hook(lambda name, op, array: seen.append((name, op, array.asnumpy())))
        out = net(X)
        net(X)
    assert [op for _, op, _ in seen] == ["fully_connected", "activation", "fully_connected"] * 2
    assert onp.allclose(net.out(np.array(seen[-1][2])).asnumpy(), out.asnumpy(), atol=1e-5)
    handle.detach()
    net(X)
    assert len(seen) == 6


def test_hooks_do_not_run_where_only_shapes_are_found(tmp_path):
    net, seen = made(True), []
    net.out.register_forward_hook(lambda block, inputs, out: seen.append(out.asnumpy()))
    net.infer_shape(X)
    assert seen == []
    with pytest.warns(UserWarning, match=TOLD):
        expected = net(X)
    assert len(seen) == 1
    files = net.export(tmp_path / "net", format="mxnet")  # knows what went in, though nothing was traced as a whole
    net.export(tmp_path / "artifact", format="stablehlo")
    assert len(seen) == 1
    again = gluonx.SymbolBlock.imports(str(files[0]), ["data"], str(files[1]))
    assert onp.allclose(again(X).asnumpy(), expected.asnumpy(), atol=1e-6)


def test_a_hook_within_a_loop_is_missed_aloud():
    layer, seen = nn.Dense(5, in_units=5, flatten=False), []
    layer.initialize()
    layer.register_forward_hook(lambda block, inputs, out: seen.append(out))
    with pytest.warns(UserWarning, match="The hooks of Dense do not run"):
        npx.foreach(lambda x, s: (layer(x), s), np.ones((3, 2, 5)), np.zeros(()))
    assert seen == []


class Raw(HybridBlock):
    """Uses JAX itself in its forward."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4)

    def forward(self, x):
        h = self.dense(x)
        return h * jnp.cos(h)


@HYBRID
def test_watching_a_forward_that_uses_raw_jax(hybrid, capsys):
    net, seen = Raw(), []
    net.initialize()
    if hybrid:
        net.hybridize()
    expected = net(X).asnumpy()
    net.summary(X)
    assert "dense (Dense)" in capsys.readouterr().out
    net.register_op_hook(lambda name, op, array: seen.append(op))
    assert onp.allclose(net(X).asnumpy(), expected, atol=1e-6)
    assert seen == ["fully_connected", "multiply"]


def test_summary_of_a_hybridized_net_leaves_it_so(capsys):
    net = made(True)
    net(X)
    traces = engine.stats()["traces"]
    net.summary(X)
    assert "stage.0 (Dense)" in capsys.readouterr().out
    net(X)
    assert engine.stats()["traces"] == traces
