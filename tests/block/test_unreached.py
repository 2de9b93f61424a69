"""Layers that a forward does not call: they stay out of the program and keep waiting for their shapes."""

import numpy as onp
import pytest

import gluonx
from gluonx import HybridBlock, Parameter, SymbolBlock, Trainer, autograd, nn, np, npx, rnn
from gluonx.errors import DeferredInitializationError
from gluonx.export import stablehlo

HYBRID = pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybrid"])


class Headed(HybridBlock):
    """A head that only training calls, or that nothing calls."""

    def __init__(self, head, never=False):
        super().__init__()
        self.body = nn.Dense(4)
        self.head = head
        self.never = never

    def forward(self, x):
        x = self.body(x)
        return self.head(x) if autograd.is_training() and not self.never else x


def made(head, hybrid, **kwargs):
    net = Headed(head, **kwargs)
    net.initialize()
    if hybrid:
        net.hybridize()
    return net


def step(net, trainer, x, **kwargs):
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    trainer.step(1, **kwargs)


X = np.array(onp.linspace(-1, 1, 10).reshape(2, 5))


@pytest.mark.dear
@HYBRID
def test_predict_first_and_train_later(hybrid):
    net = made(nn.Dense(3), hybrid)
    assert net(X).shape == (2, 4)
    assert net.head.weight.shape == (3, -1)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(3):
        with autograd.record():
            out = net(X)
        assert out.shape == (2, 3)
        before = net.head.weight.data().asnumpy()
        step(net, trainer, X)
        assert abs(net.head.weight.data().asnumpy() - before).max() > 0
    assert net.head.weight.shape == (3, 4)
    assert net(X).shape == (2, 4)


@pytest.mark.dear
@HYBRID
@pytest.mark.parametrize(
    "head", [lambda: nn.Dense(3), lambda: rnn.LSTM(3), lambda: nn.MultiHeadAttention(4, 2), nn.BatchNorm]
)
def test_a_step_names_the_block_and_may_leave_it(hybrid, head):
    net = made(head(), hybrid, never=True)
    trainer = Trainer(net.collect_params(), "adam")
    with pytest.raises(DeferredInitializationError, match=r"'Headed\.head[.\w]*' was never called in forward"):
        step(net, trainer, X)
    before = net.body.weight.data().asnumpy()
    step(net, trainer, X, ignore_stale_grad=True)
    assert abs(net.body.weight.data().asnumpy() - before).max() > 0
    with pytest.raises(DeferredInitializationError, match="never called"):  # with the plan of the step before, too
        step(net, trainer, X)


@pytest.mark.dear
def test_a_head_joins_the_trainer_when_it_has_a_value(tmp_path):
    net = made(nn.Dense(3), True, never=True)
    trainer = Trainer(net.collect_params(), "adam")
    step(net, trainer, X, ignore_stale_grad=True)
    trainer.save_states(tmp_path / "states")
    for _ in range(2):
        step(lambda x: net.head(net(x)), trainer, X)
    twin = made(nn.Dense(3), True, never=True)
    twin.load_dict({name: p.data() for name, p in net.collect_params().items()})
    assert onp.allclose(twin.head(twin(X)).asnumpy(), net.head(net(X)).asnumpy())


def test_files_shapes_and_copies(tmp_path):
    net = made(nn.Dense(3), True, never=True)
    net.infer_shape(X)
    assert (net.body.weight.shape, net.head.weight.shape) == ((4, 5), (3, -1))
    net(X)
    with pytest.raises(DeferredInitializationError, match=r"Headed\.head\.weight"):  # as in MXNet
        net.save_parameters(tmp_path / "net.params")
    ready = {name: p.data() for name, p in net.collect_params().items() if p.shape == (4, 5)}
    other = made(nn.Dense(3), True, never=True)
    other.load_dict(ready, allow_missing=True)
    assert (other(X) == net(X)).all()
    net.cast("float16")
    assert net(X.astype("float16")).dtype == onp.float16


def test_summary_counts_what_is_known(capsys):
    net = made(nn.Dense(3), True, never=True)
    net.summary(X)
    assert "Parameters: 27 (" in capsys.readouterr().out  # 20 + 4 of the body, the head's bias


def test_exports_leave_it_out(tmp_path):
    net = made(nn.Dense(3), True, never=True)
    expected = net(X).asnumpy()
    artifact = net.export(tmp_path / "artifact", format="stablehlo")
    assert onp.allclose(stablehlo.load_artifact(artifact)(X._read()), expected)
    symbol, params = net.export(tmp_path / "net", format="mxnet")
    again = SymbolBlock.imports(str(symbol), ["data"], str(params))
    assert onp.allclose(again(X).asnumpy(), expected)
    assert sorted(again.collect_params()) == ["body.bias", "body.weight"]


def test_an_export_still_asks_for_a_net_that_nothing_ran(tmp_path):
    net = nn.Dense(3)
    net.initialize()
    net.export(tmp_path / "artifact", inputs=[X], format="stablehlo")
    assert net.weight.shape == (3, 5)


def test_scan_finds_the_shapes_first():
    net = nn.HybridSequential()
    net.add(nn.Dense(4), nn.Dense(4), nn.Dense(4))
    net.initialize()
    net.hybridize(scan=True)
    scanned = net(X)
    net.hybridize(False)
    assert onp.allclose(scanned.asnumpy(), net(X).asnumpy())
    assert [layer.weight.shape for layer in net] == [(4, 5), (4, 4), (4, 4)]


# -- no axis of a parameter comes from the batch -----------------------------------------------------------------------


class Met(HybridBlock):
    """Its parameter meets the data in one operator."""

    def __init__(self, function, shape):
        super().__init__()
        self.w = Parameter("w", shape=shape, allow_deferred_init=True)
        self.function = function

    def forward(self, x):
        return self.function(x, self.w.data())


@HYBRID
@pytest.mark.parametrize("shape", [None, (0,), (0, 5), (-1, -1), (1, 0), (3, 0)], ids=str)
@pytest.mark.parametrize(
    "function",
    [lambda x, w: x + w, lambda x, w: w * x, np.maximum, lambda x, w: x.copy().__iadd__(w), lambda x, w: x > w],
    ids=["add", "multiply", "maximum", "iadd", "greater"],
)
def test_a_binary_operator_tells_no_shape(hybrid, shape, function):
    net = Met(function, shape)
    net.initialize()
    if hybrid:
        net.hybridize()
    with pytest.raises(DeferredInitializationError, match=r"'Met\.w'.*define infer_shape in its block"):
        net(X)
    with pytest.raises(RuntimeError):  # MXNet's class
        net(X)
    assert net.w.shape == gluonx.Parameter("w", shape=shape).shape


@HYBRID
def test_a_state_is_no_parameter_of_the_batchs_size(hybrid):
    def run(x, w):
        flat = np.ones(4 * 3 * (5 + 3) + 8 * 3)
        return npx.rnn(data=x.reshape(2, 1, 5), parameters=flat, state=w, mode="lstm", state_size=3, num_layers=1)

    net = Met(run, (1, 0, 3))
    net.initialize()
    if hybrid:
        net.hybridize()
    with pytest.raises(DeferredInitializationError, match="infer_shape"):
        net(X)


@HYBRID
def test_weights_are_still_found_by_their_operator(hybrid):
    net = Met(lambda x, w: npx.fully_connected(x, w, num_hidden=3, no_bias=True), (3, 0))
    net.initialize()
    if hybrid:
        net.hybridize()
    assert net(X).shape == (2, 3)
    assert net.w.shape == (3, 5)


@HYBRID
def test_infer_shape_of_the_block_decides(hybrid):
    class Scale(HybridBlock):
        def __init__(self):
            super().__init__()
            self.w = Parameter("w", shape=(0,), init="ones", allow_deferred_init=True)

        def forward(self, x):
            return x * self.w.data()

        def infer_shape(self, x):
            self.w.shape = (x.shape[-1],)

    net = Scale()
    net.initialize()
    if hybrid:
        net.hybridize()
    assert net(X).shape == (2, 5)
    assert net.w.shape == (5,)


def test_symbols_and_mixed_precision_keep_their_rules():
    both = gluonx.symbol.var("a") + gluonx.symbol.var("b")
    assert both.infer_shape(a=(2, 3)) == ([(2, 3), (2, 3)], [(2, 3)], [])
    gluonx.amp.init("bfloat16")
    try:
        net = nn.HybridSequential()
        net.add(nn.Conv2D(3, 3), nn.BatchNorm(), nn.Dense(4))
        net.initialize()
        assert net(np.ones((2, 2, 8, 8))).shape == (2, 4)
        wrong = Met(lambda x, w: x + w, (0,))
        wrong.initialize()
        with pytest.raises(DeferredInitializationError):
            wrong(X)
    finally:
        gluonx.amp.reset()
