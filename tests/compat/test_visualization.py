"""``mx.viz`` against MXNet 2.0 (tests/oracle/viz), and ``mx.mon`` on executors, modules and blocks."""

import json
import logging
import re

import numpy as onp
import pytest

import gluonx as mx
from gluonx import nn
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("viz")
GOLDEN = json.loads((TESTS / "oracle" / "viz" / "golden.json").read_text())


def test_summary(capsys):
    mx.viz.print_summary(cases.net(mx.sym), shape={"data": (2, 3, 16, 16)})
    mine, theirs = [
        [line.rstrip() for line in text.splitlines() if line.strip()]
        for text in (capsys.readouterr().out, GOLDEN["text"])
    ]
    assert mine == theirs


def test_summary_without_shapes(capsys):
    mx.viz.print_summary(cases.net(mx.sym))
    text = capsys.readouterr().out
    assert "fc2(FullyConnected)" in text and "Total params: unknown, since no shape was given" in text


def test_shared_weights_count_once(capsys):
    data, weight = mx.sym.var("data"), mx.sym.var("w_weight")
    one = mx.sym.FullyConnected(data, weight, num_hidden=4, no_bias=True, name="a")
    two = mx.sym.FullyConnected(one, weight, num_hidden=4, no_bias=True, name="b")
    mx.viz.print_summary(two, {"data": (1, 4)})
    assert "Total params: 16" in capsys.readouterr().out


def parts(source):
    """Nodes and edges of a graph in the dot language, whatever their order."""
    text = source.replace("\n", "|")
    return sorted(re.findall(r"\t(?:[^\[\t]+) \[[^\]]*\]", text))


@pytest.mark.parametrize("name", ["shapes", "weights"])
def test_plot(name):
    pytest.importorskip("graphviz")
    options = {"shape": {"data": (2, 3, 16, 16)}} if name == "shapes" else {"hide_weights": False}
    found = parts(mx.viz.plot_network(cases.net(mx.sym), **options).source)
    wanted = parts(GOLDEN[name])
    # MXNet leaves parameters without a node of their own, which dot then draws without a style.
    assert [part for part in found if not re.match(r"\t\w+_(weight|bias|gamma|beta|mean|var) \[", part)] == wanted


def test_plot_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "graphviz", None)
    with pytest.raises(ImportError, match=r"gluonx\[viz\]"):
        mx.viz.plot_network(mx.sym.var("x"))
    with pytest.raises(TypeError, match="summary"):
        mx.viz.print_summary(nn.Dense(1))


def module():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    net = mx.sym.Dropout(mx.sym.Activation(net, act_type="relu", name="act"), p=0.5, name="drop")
    made = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), logger=logging.getLogger("quiet"))
    made.bind([("data", (4, 5))], [("softmax_label", (4,))])
    made.init_params(mx.init.One())
    made.init_optimizer()
    return made


@pytest.mark.dear
def test_monitor_of_a_module():
    made, monitor = module(), mx.mon.Monitor(2, lambda x: x.sum(), sort=True)
    made.install_monitor(monitor)
    batch = mx.io.DataBatch([mx.nd.ones((4, 5))], [mx.nd.zeros((4,))])
    seen = []
    for _ in range(3):
        monitor.tic()
        made.forward(batch, is_train=True)
        made.backward()
        seen.append(monitor.toc())
    assert [step for step, _, _ in seen[0]] == [1] * len(seen[0]) and seen[1] == [] and seen[2][0][0] == 3
    names = [name for _, name, _ in seen[0]]
    outputs = ["act_output", "drop_output", "fc_output", "softmax_output"]
    backward = [f"fc_backward_output{i}" for i in range(3)] + [f"softmax_backward_output{i}" for i in range(2)]
    backward += ["act_backward_output", "drop_backward_output"]
    # MXNet 1.9.1 prints these and drop_mask, a hidden output, which is not shown here.
    assert names == sorted([*outputs, *backward, "data", "fc_bias", "fc_weight", "softmax_label"])
    values = {name: float(text) for _, name, text in seen[0]}
    assert values["fc_output"] == 60 == values["act_output"] and values["fc_weight"] == 15
    assert values["softmax_output"] == pytest.approx(4)


@pytest.mark.dear
def test_what_is_seen_is_what_was_computed():
    """Dropout draws once for the outputs and for what is shown; gradients are those without a monitor."""
    made, monitor, shown = (
        module(),
        mx.mon.Monitor(1, lambda x: shown.append(x.asnumpy()) or x.sum(), "drop_output"),
        [],
    )
    plain = module()
    made.install_monitor(monitor)
    batch = mx.io.DataBatch([mx.nd.ones((4, 5))], [mx.nd.zeros((4,))])
    grads = []
    for one in (made, plain):
        mx.random.seed(4)
        monitor.tic()
        one.forward(batch, is_train=True)
        one.backward()
        grads.append([one._executor.grad_dict[n].asnumpy().tolist() for n in ("fc_weight", "fc_bias")])
        if one is made:
            out = one.get_outputs()[0].asnumpy()
    exp = onp.exp(shown[0] - shown[0].max(1, keepdims=True))
    onp.testing.assert_allclose(out, exp / exp.sum(1, keepdims=True), rtol=1e-5)
    assert grads[0] == grads[1]


def test_monitor_in_fit(caplog):
    data = mx.io.NDArrayIter(onp.ones((8, 5), "float32"), onp.zeros(8, "float32"), 4)
    monitor = mx.mon.Monitor(2, pattern="fc_.*", sort=True)
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="softmax")
    with caplog.at_level(logging.INFO):
        mx.mod.Module(net).fit(data, num_epoch=1, monitor=monitor)
    lines = [line for line in caplog.messages if line.startswith("Batch:")]
    backward = [f"fc_backward_output{i}" for i in range(3)]  # as MXNet 1.9.1 prints them
    assert [line.split()[2] for line in lines] == [*backward, "fc_bias", "fc_output", "fc_weight"]


def test_monitor_of_a_block():
    net = nn.HybridSequential()
    net.add(nn.Dense(3, activation="relu"), nn.Dense(2))
    net.initialize(mx.init.One())
    net.hybridize()
    net(mx.np.ones((2, 4)))
    monitor = mx.monitor.Monitor(1, monitor_all=True)
    monitor.install(net)
    monitor.tic()
    out = net(mx.np.ones((2, 4)))
    seen = monitor.toc()
    assert len(seen) > 3 and {step for step, _, _ in seen} == {1}
    expected = float(onp.linalg.norm(out.asnumpy()) / onp.sqrt(out.size))
    assert any(abs(float(text) - expected) < 1e-5 for _, name, text in seen if name.endswith("output"))
    with pytest.raises(ValueError, match="interval"):
        mx.monitor.Monitor(0)


def test_logger(tmp_path):
    logger = mx.log.get_logger("gluonx-test", str(tmp_path / "log"), level=mx.log.INFO)
    logger.info("told")
    mx.log.getLogger("gluonx-test", str(tmp_path / "log")).warning("again")
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == 2 and lines[0].startswith("I") and lines[0].endswith("told") and lines[1].startswith("W")
    for handler in logger.handlers:
        handler.close()
