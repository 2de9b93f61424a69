"""What stands in front of the engine and lets operators pass: hooks on operators, and MXNet 1's `hybrid_forward`."""

import pytest

import gluonx
from gluonx import autograd, engine, nn, np, npx
from gluonx.deferred.record.interceptor import Interceptor, is_traced_around
from gluonx.deferred.values.core import current_state, set_state


def looped(x, state):
    outs, last = npx.foreach(lambda a, s: (a + s, a * s), x, state)
    return npx.cond(lambda a: a.sum() > 0, lambda a: a * 2, lambda a: a * 3, [outs]) + last


class Loops(nn.HybridBlock):
    def forward(self, x):
        return looped(x, np.ones((2,)))


@pytest.fixture
def net():
    block = Loops()
    block.initialize()
    return block


X = [[1.0, 2.0], [3.0, 4.0], [-5.0, 6.0]]


def test_loops_and_branches_run_in_a_block_with_operator_hooks(net):
    wanted = net(np.array(X)).tolist()
    seen = []
    handle = net.register_op_hook(lambda name, op, array: seen.append(op))
    assert net(np.array(X)).tolist() == wanted
    assert {"foreach", "cond"} <= {op.partition("(")[0] for op in seen}
    handle.detach()
    assert net(np.array(X)).tolist() == wanted


def test_a_loop_behind_a_passage_is_compiled_once(net):
    net.register_op_hook(lambda *args: None)
    x = np.array(X)
    with engine.host(False):
        for _ in range(2):
            net(x).wait_to_read()
        before = engine.stats()["programs_mb"]
        for _ in range(3):
            net(x).wait_to_read()
        assert engine.stats()["programs_mb"] == before


def test_checked_indices_unroll_loops_behind_a_passage_too(net):
    seen = []
    net.register_op_hook(lambda name, op, array: seen.append(op))
    wanted = looped(np.array(X), np.ones((2,))).tolist()
    with engine.check():
        assert net(np.array(X)).tolist() == wanted
    assert not any(op.startswith("foreach") for op in seen)


def test_pause_holds_behind_a_passage():
    class Paused(nn.Block):
        def forward(self, x):
            with autograd.pause():
                y = x * 2
            return y + x

    block = Paused()
    block.register_op_hook(lambda *args: None)
    x = np.ones((2,))
    x.attach_grad()
    with autograd.record():
        out = block(x).sum()
    out.backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_loops_in_hybrid_forward():
    from gluonx.compat import nd

    class Old(gluonx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            outs, last = F.contrib.foreach(lambda a, s: (a + s[0], [a * s[0]]), x, [F.ones((2,))])
            _, (total,) = F.contrib.while_loop(
                lambda i: i < 3, lambda i: (i, [i + 1]), [F.zeros((1,))], max_iterations=5
            )
            return F.contrib.cond(F.sum(x) > 0, lambda: outs * 2, lambda: outs * 3) + last[0] + total

    net = Old()
    net.initialize()
    out = net(nd.array(X))
    assert isinstance(out, nd.NDArray)
    wanted = (looped(np.array(X), np.ones((2,))) + 3).tolist()
    assert out.asnumpy().tolist() == wanted
    net.hybridize()
    assert net(nd.array(X)).asnumpy().tolist() == wanted


def test_a_trace_behind_a_passage_is_one():
    before = current_state()
    assert not is_traced_around()
    try:
        set_state(Interceptor(before).state())
        assert not is_traced_around() and current_state().trace.transparent
    finally:
        set_state(before)
    inside = []

    class Asks(nn.HybridBlock):
        def forward(self, x):
            now = current_state()
            set_state(Interceptor(now).state())
            inside.append(is_traced_around())
            set_state(now)
            return x + 1

    net = Asks()
    net.hybridize()
    assert net(np.ones((1,))).tolist() == [2.0] and inside == [True]
