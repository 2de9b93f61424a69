"""Displays in notebooks: what they show, that they escape, and that looking at a net runs nothing."""

import re
import sys
import types
from html.parser import HTMLParser

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import Constant, Parameter, autograd, engine, nn, np
from gluonx import symbol as sym
from gluonx.block import display
from gluonx.common import html
from gluonx.np.display import at_hand, spread

# treescope looks at all modules that some test has imported.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Checked(HTMLParser):
    """Finds out whether tags are closed in turn, and what text and scripts there are."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(page)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("br", "meta", "link", "input", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(params=["plain", "treescope"])
def way(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(display.importlib.util, "find_spec", lambda name: None)
    else:
        pytest.importorskip("treescope")
    return request.param


def make():
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3), nn.BatchNorm(in_channels=4), nn.Dense(2))
    return net


def shown(value, way):
    """The text of a display; of treescope's only whether it has come about at all, since it is packed."""
    page = value._repr_html_()
    if way == "treescope":
        import treescope

        assert "<treescope" in page or "treescope" in page
        return treescope.render_to_text(value)
    return " ".join(Checked(page).text)


@pytest.mark.dear
def test_a_net_is_a_tree_with_shapes_counts_bytes_and_values(way):
    net = make()
    text = shown(net, way)
    assert "not initialized" in text or way == "treescope"
    net.initialize()
    net[0].weight.set_data(onp.arange(12.0).reshape(4, 3))
    if way == "plain":
        text = shown(net, way)
        assert "HybridSequential · 34 parameters · 136 B · 1 without a value" in text
        assert "0: Dense · 16 parameters · 64 B" in text and "(4, 3)" in text and "0 █" in text and "11" in text
        assert "(2, ?)" in text and "shape unknown" in text and "not trained" in text
        page = Checked(net._repr_html_())
        assert page.tags.count("details") == 4 and page.tags.count("summary") == 4
        net[2].weight = net[0].weight
        assert "shared" in shown(net, way)
    else:
        import treescope

        with treescope.using_expansion_strategy(max_height=None):
            text = treescope.render_to_text(net)
        assert "HybridSequential · 34 parameters" in text and "(4, 3)" in text and "0 █" in text
        assert len(net._repr_html_()) > 1000


@pytest.mark.dear
def test_looking_at_a_net_runs_nothing(way):
    net = make()
    net.initialize()
    x = np.ones((2, 3))
    net(x)
    trainer = gluonx.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(3):
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(1)
    with autograd.record():
        y = net(x)  # pending, and so are the moving averages
        engine.reset_stats()
        before = engine.stats()
        for value in (net, net[1].running_mean, net[0].weight):
            repr(value), str(value), value._repr_html_()
        repr(trainer)
        assert way == "treescope" or "pending" in shown(net, way)
    assert at_hand(y) == "pending"
    assert engine.stats() == before
    loss = (y**2).sum()
    engine.reset_stats()
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    trainer.step(1)
    copies = engine.stats()["copies"]
    net._repr_html_()
    engine.reset_stats()
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    trainer.step(1)
    assert engine.stats()["copies"] <= copies  # no buffer was held
    assert engine.stats()["dispatches"] == 1


def test_what_an_array_has_at_hand():
    x = np.array([1.0, 2.0, 4.0])
    assert at_hand(x).tolist() == [1, 2, 4]
    param = Parameter("w", shape=(3, 0), allow_deferred_init=True)
    assert spread(param._handle) == "not initialized"
    param.initialize()
    assert spread(param._handle) == "shape unknown"
    with autograd.record():
        y = x * 2
        assert at_hand(y) == "pending" and spread(y) == "pending"
    assert y.sum().item() == 14 and at_hand(y).tolist() == [2, 4, 8]
    x.attach_grad()
    assert at_hand(x.grad) == "zeros"
    gone = np.array(jnp.ones(3) + 1)
    gone._read().delete()
    assert spread(gone) == "deleted" and "no value" in repr(gone)
    assert jax.jit(lambda v: (repr(np.array(v)), spread(np.array(v)))[1] and v)(jnp.ones(3)).shape == (3,)
    for dtype in ("bool", "int8", "float16", "bfloat16", "uint8", "int64"):
        assert at_hand(np.ones((3,), dtype=dtype)).tolist() == [1, 1, 1]
        assert spread(np.ones((3,), dtype=dtype)) == "all 1"


def test_an_array_shows_its_numbers():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    text = " ".join(Checked((x * 2)._repr_html_()).text)
    assert "(2, 2) float32 · 16 B · 2 " in text and "[2., 4.]" in text
    assert Checked(np.ones((100, 100))._repr_html_()).tags[0] == "details"
    with autograd.record():
        y = x.sum()
        assert "10" in y._repr_html_()
    for odd in (np.zeros((0, 3)), np.array(onp.nan), np.array([onp.inf, 1.0]), np.array(True)):
        Checked(odd._repr_html_())


def test_names_are_no_markup(way):
    class Evil(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            setattr(self, "<script>alert(1)</script>", Parameter("<b>", shape=(2,)))
            setattr(self, '"><img src=x>', nn.Dense(1, in_units=1))

    Evil.__name__ = "<i>Evil"
    net = Evil()
    net.initialize()
    param = net.collect_params()["<script>alert(1)</script>"]
    for page in (net._repr_html_(), param._repr_html_(), (param.data() * 1)._repr_html_()):
        if way == "plain":
            assert not {"script", "img", "b", "i"} & set(Checked(page).tags)
        assert "<script>alert" not in page and "<img src=x" not in page and "<i>Evil" not in page
    symbol = sym.var("<script>alert(1)</script>") + 1
    assert "script" not in Checked(symbol._repr_html_()).tags


def test_plain_html_where_treescope_fails(monkeypatch):
    treescope = pytest.importorskip("treescope")

    def fail(value):
        raise RuntimeError

    monkeypatch.setattr(treescope, "render_to_html", fail)
    Checked(make()._repr_html_())


def test_symbols_are_tables_of_nodes():
    net = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    page = Checked(sym.Activation(net, act_type="relu", name="act")._repr_html_())
    text = " ".join(page.text)
    assert "5 nodes · 3 variables · 1 outputs" in text
    assert {"fc", "FullyConnected", "num_hidden=3", "act_type=relu", "data, fc_weight, fc_bias"} <= set(page.text)


def test_a_summary_is_a_table_in_notebooks_and_text_elsewhere(capsys, monkeypatch):
    net = make()
    net.initialize()
    x = np.ones((2, 3))
    net.summary(x)
    printed = capsys.readouterr().out
    assert printed.splitlines()[1] == "=" * 106 and "0 (Dense)" in printed
    kernel, found = types.SimpleNamespace(kernel=object()), []
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: kernel
    module = types.ModuleType("IPython.display")
    module.display = found.append
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    assert net.summary(x) is None and capsys.readouterr().out == ""
    (table,) = found
    assert str(table) == printed.rstrip("\n")
    text = Checked(table._repr_html_()).text
    assert {"Layer", "FLOPs", "0 (Dense)", "(2, 4)"} <= set(text)
    del kernel.kernel  # IPython in a terminal
    net.summary(x)
    assert capsys.readouterr().out == printed


def test_repr_never_raises():
    assert repr(object.__new__(Parameter)) == "Parameter (not made yet)"
    for layer in (nn.Dense, nn.Conv2D, nn.BatchNorm, nn.Embedding, gluonx.rnn.LSTM, nn.MaxPool2D):
        assert repr(object.__new__(layer)) == f"{layer.__name__}(...)"

    class Odd(nn.HybridBlock):
        def __repr__(self):
            raise KeyError

    net = nn.HybridSequential()
    net.add(Odd())
    assert repr(net) == "HybridSequential(...)"
    assert repr(Constant([1.0])) == "Constant (shape=(1,), dtype=float32)"
    x = np.ones((2,))
    x._read().delete()
    assert re.match(r"array\(<no value: \w+: .*>, shape=\(2,\)", repr(x))
    with pytest.raises(RuntimeError, match="deleted"):
        x.asnumpy()


def test_sparklines():
    rng = onp.random.default_rng(0)
    bell = html.sparkline(rng.normal(size=100_000).astype("float32"))
    assert re.fullmatch(r"-[\d.]+ [▁-█]{12} [\d.]+", bell) and "█" in bell[6:14]
    assert html.sparkline(onp.array([])) == "empty" and html.sparkline(onp.full((3,), onp.inf)) == "3 not finite"
    assert html.sparkline(onp.array([-1e308, 1e308])).endswith("█ 1e+308")
    assert html.sparkline(onp.array([1 + 1j, 0])).startswith("0 ")


def test_plain_html_can_be_asked_for(monkeypatch):
    pytest.importorskip("treescope")
    net = make()
    assert "treescope" in net._repr_html_()
    monkeypatch.setenv("GLUONX_DISPLAY", "plain")
    assert "treescope" not in net._repr_html_() and "<details open>" in net._repr_html_()
    big = nn.HybridSequential()
    big.add(*(make() for _ in range(3)))
    assert net._repr_html_().count("<details open>") == 4 and big._repr_html_().count("<details open>") == 1
