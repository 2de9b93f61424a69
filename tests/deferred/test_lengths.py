"""One trace of an operator for all lengths, and programs for NumPy that are linked of such traces.

What is linked is compared with what JAX makes of the same program as a whole, which other tests compare with XLA.
"""

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import autograd, gluon, np, npx
from gluonx.common import policy
from gluonx.deferred.operators import lengths, linking
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.run import repeats
from gluonx.gluon import nn, rnn
from lib import sentences

pytestmark = pytest.mark.first_runs

LENGTHS = (6, 9, 7, 12, 1, 8, 3, 25)
"""Those of a loop; among them such as stay numbers, and even and odd ones."""


def conv(x, w, b, **attrs):
    return npx.convolution(x, w, b, num_filter=w.shape[0], kernel=w.shape[2:], **attrs)


def pool(x, **attrs):
    return npx.pooling(x, **attrs)


# name: function of arrays, and their shapes for a length
CASES = {
    "dense": (lambda x, w, b: npx.fully_connected(x, w, b, num_hidden=5), lambda n: [(n, 7), (5, 7), (5,)]),
    "dense of words": (
        lambda x, w, b: npx.fully_connected(x, w, b, num_hidden=5, flatten=False),
        lambda n: [(2, n, 7), (5, 7), (5,)],
    ),
    "dense of a changing depth": (
        lambda x, w: npx.fully_connected(x, w, num_hidden=5, no_bias=True),
        lambda n: [(2, n), (5, n)],
    ),
    "relu": (npx.relu, lambda n: [(n, 3)]),
    "gelu": (lambda x: npx.leaky_relu(x, act_type="gelu"), lambda n: [(n, 3)]),
    "sigmoid": (npx.sigmoid, lambda n: [(3, n)]),
    "tanh": (np.tanh, lambda n: [(n,)]),
    "softmax": (lambda x: npx.softmax(x, axis=-1), lambda n: [(2, n, n)]),
    "log_softmax": (lambda x: npx.log_softmax(x, axis=1), lambda n: [(2, n, 3)]),
    "masked softmax": (
        lambda x: npx.masked_softmax(x, np.tril(np.ones((x.shape[1], x.shape[1]))).astype(bool)),
        lambda n: [(2, n, n)],
    ),
    "layer_norm": (lambda x, g, b: npx.layer_norm(x, g, b), lambda n: [(2, n, 6), (6,), (6,)]),
    "layer_norm of a changing axis": (lambda x, g, b: npx.layer_norm(x, g, b), lambda n: [(2, n), (n,), (n,)]),
    "group_norm": (lambda x, g, b: npx.group_norm(x, g, b, num_groups=2), lambda n: [(2, 4, n), (4,), (4,)]),
    "instance_norm": (lambda x, g, b: npx.instance_norm(x, g, b), lambda n: [(2, 4, n, n), (4,), (4,)]),
    "l2_normalization": (npx.l2_normalization, lambda n: [(n, 5)]),
    "mean": (lambda x: x.mean(), lambda n: [(n, 3)]),
    "mean of an axis": (lambda x: x.mean(axis=0), lambda n: [(n, 3)]),
    "var": (lambda x: x.var(axis=1), lambda n: [(2, n)]),
    "std": (lambda x: x.std(), lambda n: [(n, n)]),
    "sum": (lambda x: x.sum(axis=(0, 2), keepdims=True), lambda n: [(n, 2, n)]),
    "prod": (lambda x: x.prod(axis=0), lambda n: [(n, 2)]),
    "max": (lambda x: x.max(axis=1), lambda n: [(2, n)]),
    "norm": (np.linalg.norm, lambda n: [(n, 2)]),
    "logsumexp": (lambda x: np.log(np.exp(x).sum(-1)), lambda n: [(n, n)]),
    "cumsum": (lambda x: np.cumsum(x, axis=0), lambda n: [(n, 2)]),
    "add": (lambda x, y: x + y, lambda n: [(n, 4), (4,)]),
    "add, both broadcast": (lambda x, y: x + y, lambda n: [(n, 1), (1, n)]),
    "arithmetic": (lambda x, y: (x * y - 2) / (y * y + 1) + x**2 - x**3, lambda n: [(n, 4), (n, 4)]),
    "divided by its length": (lambda x: x / x.shape[0], lambda n: [(n, 4)]),
    "maximum": (lambda x, y: np.maximum(x, y), lambda n: [(n, 4), (n, 1)]),
    "where": (lambda x, y: np.where(x > 0, x, y), lambda n: [(n, 4), (n, 4)]),
    "clip": (lambda x: np.clip(x, -0.5, 0.5), lambda n: [(n, 4)]),
    "matmul": (np.matmul, lambda n: [(2, n, 6), (2, 6, n)]),
    "matmul, square": (np.matmul, lambda n: [(n, n), (n, n)]),
    "dot": (np.dot, lambda n: [(n, 6), (6, 3)]),
    "batch_dot": (lambda x, y: npx.batch_dot(x, y, transpose_b=True), lambda n: [(2, n, 6), (2, n, 6)]),
    "einsum": (lambda x, y: np.einsum("bij,bkj->bik", x, y), lambda n: [(2, n, 6), (2, n, 6)]),
    "tensordot": (lambda x, y: np.tensordot(x, y, 1), lambda n: [(2, n), (n, 3)]),
    "transpose": (lambda x: x.transpose(1, 0, 2) * 2, lambda n: [(n, 2, 3)]),
    "swapaxes": (lambda x: np.swapaxes(x, 0, 1) * x.mean(), lambda n: [(n, 2)]),
    "reshape": (lambda x: x.reshape(-1, 4) ** 2, lambda n: [(n, 8)]),
    "reshape by its shape": (lambda x: x.reshape(x.shape[0], 2, 4).sum(1) ** 2, lambda n: [(n, 8)]),
    "heads": (lambda x: npx.reshape(x, (-2, -2, 2, -1)).sum(1) ** 2, lambda n: [(2, n, 6)]),
    "expand_dims": (lambda x: np.expand_dims(x, 1) * x.mean(), lambda n: [(n, 2)]),
    "squeeze": (lambda x: np.squeeze(x) ** 2, lambda n: [(n, 1, 6)]),
    "concatenate": (lambda x, y: np.concatenate([x, y, x], axis=0) ** 2, lambda n: [(n, 2), (3, 2)]),
    "stack": (lambda x, y: np.stack([x, y], axis=1) ** 2, lambda n: [(n, 2), (n, 2)]),
    "split": (lambda x: np.split(x, 2, axis=1)[1] ** 2, lambda n: [(n, 8)]),
    "repeat": (lambda x: np.repeat(x, 3, axis=0) ** 2, lambda n: [(n, 2)]),
    "tile": (lambda x: np.tile(x, (2, 1)) ** 2, lambda n: [(n, 2)]),
    "flip": (lambda x: np.flip(x, 0) * x, lambda n: [(n, 2)]),
    "roll": (lambda x: np.roll(x, 2, axis=0) * x, lambda n: [(n, 2)]),
    "first": (lambda x: x[0] ** 2, lambda n: [(n, 2)]),
    "last": (lambda x: x[-1] ** 2, lambda n: [(n, 2)]),
    "all but the first": (lambda x: x[:, 1:].sum(1) ** 2, lambda n: [(2, n)]),
    "all but the last": (lambda x: x[:-1].sum(0) ** 2, lambda n: [(n, 2)]),
    "every second": (lambda x: x[::2] ** 2, lambda n: [(n, 2)]),
    "pad": (lambda x: np.pad(x, ((1, 2), (0, 0))) ** 2, lambda n: [(n, 2)]),
    "tril": (lambda x: np.tril(x) ** 2, lambda n: [(n, n)]),
    "diag": (lambda x: np.diag(x) ** 2, lambda n: [(n, n)]),
    "trace": (lambda x: np.trace(x) * x, lambda n: [(n, n)]),
    "arange": (lambda x: x * np.arange(x.shape[0]).reshape(-1, 1), lambda n: [(n, 2)]),
    "arange_like": (lambda x: x + npx.arange_like(x, axis=0).reshape(-1, 1), lambda n: [(n, 2)]),
    "sequence_mask": (
        lambda x: npx.sequence_mask(x, np.array([1.0, 2.0]), use_sequence_length=True) ** 2,
        lambda n: [(n, 2, 3)],
    ),
    "sequence_reverse": (npx.sequence_reverse, lambda n: [(n, 2, 3)]),
    "sort": (lambda x: np.sort(x, axis=0) * x, lambda n: [(n, 2)]),
    "one_hot": (lambda x: npx.one_hot(np.rint(np.abs(x[:, 0]) * 3).astype("int32"), 4) * x.mean(), lambda n: [(n, 4)]),
    "pick": (lambda x: npx.pick(x, np.rint(np.abs(x[:, 0]) * 3), axis=1) ** 2, lambda n: [(n, 4)]),
    "take": (
        lambda w, x: npx.embedding((np.abs(x) * 2).astype("int32"), w, input_dim=10, output_dim=3),
        lambda n: [(10, 3), (n, 2)],
    ),
    "convolution": (lambda x, w, b: conv(x, w, b, pad=(1, 1)), lambda n: [(2, 3, n + 2, n + 2), (8, 3, 3, 3), (8,)]),
    "convolution of stride 2": (
        lambda x, w, b: conv(x, w, b, stride=(2, 2)),
        lambda n: [(2, 3, n + 4, n + 5), (8, 3, 3, 3), (8,)],
    ),
    "convolution, dilated": (
        lambda x, w, b: conv(x, w, b, dilate=(2, 2)),
        lambda n: [(n, 3, 12, 10), (8, 3, 3, 3), (8,)],
    ),
    "convolution of changing channels": (conv, lambda n: [(2, n, 9, 9), (8, n, 3, 3), (8,)]),
    "convolution in groups": (
        lambda x, w, b: conv(x, w, b, num_group=2, pad=(1, 1)),
        lambda n: [(1, 4, n, n), (6, 2, 3, 3), (6,)],
    ),
    "convolution along a line": (lambda x, w, b: conv(x, w, b, pad=(2,)), lambda n: [(2, 3, n), (6, 3, 5), (6,)]),
    "deconvolution": (
        lambda x, w: npx.deconvolution(x, w, kernel=(2, 2), stride=(2, 2), num_filter=4),
        lambda n: [(2, 3, n, n), (3, 4, 2, 2)],
    ),
    "max pooling": (lambda x: pool(x, kernel=(2, 2), stride=(2, 2)), lambda n: [(2, 3, n + 1, n + 1)]),
    "max pooling, full": (
        lambda x: pool(x, kernel=(3, 3), stride=(2, 2), pooling_convention="full"),
        lambda n: [(2, 3, n + 3, n + 3)],
    ),
    "average pooling": (
        lambda x: pool(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg"),
        lambda n: [(2, 3, n, n)],
    ),
    "global pooling": (lambda x: pool(x, global_pool=True, pool_type="avg"), lambda n: [(2, 3, n, n)]),
    "global max pooling": (lambda x: pool(x, global_pool=True, pool_type="max"), lambda n: [(2, 3, n, n)]),
    "batch_norm": (
        lambda x, g, b: npx.batch_norm(x, g, b, np.zeros(4), np.ones(4), fix_gamma=False),
        lambda n: [(n + 1, 4, n, n), (4,), (4,)],
    ),
    "dropout": (lambda x: npx.dropout(x, p=0.5) ** 2, lambda n: [(n, 5)]),
    "smooth_l1": (lambda x: npx.smooth_l1(x, scalar=1.0), lambda n: [(n, 2)]),
    "cross entropy": (
        lambda x: gluon.loss.SoftmaxCrossEntropyLoss()(x, np.rint(np.abs(x[:, :, 0]) * 5)),
        lambda n: [(n, 3, 6)],
    ),
    "l2 loss": (lambda x, y: gluon.loss.L2Loss()(x, y), lambda n: [(n, 3), (n, 3)]),
    "huber loss": (lambda x, y: gluon.loss.HuberLoss()(x, y), lambda n: [(n, 3), (n, 3)]),
    "kl loss": (lambda x, y: gluon.loss.KLDivLoss(from_logits=False)(x, npx.softmax(y)), lambda n: [(n, 3), (n, 3)]),
    "interleaved attention": (
        lambda x: npx.interleaved_matmul_selfatt_qk(x, heads=2),
        lambda n: [(n, 2, 12)],
    ),
    "meshgrid": (lambda x, y: np.meshgrid(x, y)[0] ** 2, lambda n: [(n,), (4,)]),
    "outer": (np.outer, lambda n: [(n,), (n,)]),
    "product with its transpose": (lambda x: (x @ x.T) @ x, lambda n: [(n, 4)]),
}


def computed(fn, shapes, n, dtype="float32"):
    """The result of `fn`, and the gradients of its weighted sum, by NumPy."""
    numbers = onp.random.RandomState(n)
    scale = 5 if "int" in dtype else 1
    handles = [np.array(numbers.uniform(-scale, scale, shape).astype("f")).astype(dtype) for shape in shapes(n)]
    if "int" not in dtype:
        for h in handles:
            h.attach_grad()
    one = np.ones((1,))
    one.attach_grad()
    np.random.seed(5)
    with autograd.record():
        y = fn(*handles)
        weights = np.array((onp.arange(y.size).reshape(y.shape) % 7 + 1).astype("f"))
        (y.astype("float32") * weights * one).sum().backward()
    return [y.asnumpy(), *[h.grad.asnumpy() for h in handles if h.grad is not None]]


@pytest.fixture
def by_numpy(monkeypatch):
    """Have NumPy run every program, linked and not operator by operator, and nothing known from before."""
    gluonx.engine.clear()
    policy.limits["runs"] = 1000
    monkeypatch.setattr(repeats, "runs_in_pieces", lambda graph: False)
    yield
    gluonx.engine.clear()


@pytest.fixture
def counts(monkeypatch):
    """How many programs were linked and how many not, and how many operators were traced, with symbols or without."""
    found = {"linked": 0, "whole": 0, "numbers": 0, "symbols": 0}
    link, pair, alone = linking.linked, linking._pair, linking._alone

    def linked(program, args):
        made = link(program, args)
        found["linked" if made is not None else "whole"] += 1
        return made

    def counted(trace):
        def traced(*args):
            found["symbols" if args[-1].names else "numbers"] += 1
            return trace(*args)

        return traced

    monkeypatch.setattr(linking, "linked", linked)
    monkeypatch.setattr(linking, "_pair", counted(pair))
    monkeypatch.setattr(linking, "_alone", counted(alone))
    return found


@pytest.mark.dear
@pytest.mark.parametrize("name", CASES)
def test_what_is_linked_is_what_jax_traces_as_a_whole(name, by_numpy, counts, monkeypatch):
    """Results and gradients, for lengths that the traces have symbols for and such that they have not."""
    fn, shapes = CASES[name]
    ours = [computed(fn, shapes, n) for n in LENGTHS]
    assert counts["linked"] and not counts["whole"]
    gluonx.engine.clear()
    monkeypatch.setattr(linking, "linked", lambda program, args: None)
    for n, one in zip(LENGTHS, ours, strict=True):
        for a, b in zip(one, computed(fn, shapes, n), strict=True):
            onp.testing.assert_allclose(a, b, 2e-5, 2e-5, err_msg=f"{name}, {n}")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32"])
@pytest.mark.parametrize("name", CASES)
def test_what_is_linked_of_other_types_and_empty_lengths(name, dtype, by_numpy, monkeypatch):
    fn, shapes = CASES[name]

    def results():
        gluonx.engine.clear()
        for n in (6, 9, 0, 7, 12, 0, 8, 3, 16):
            try:
                yield computed(fn, shapes, n, dtype)
            except (ValueError, TypeError, IndexError) as error:  # nothing to reduce, or no such dtype
                yield type(error)

    ours = list(results())
    monkeypatch.setattr(linking, "linked", lambda program, args: None)
    error = {"float16": 4e-3, "bfloat16": 3e-2, "int32": 2e-5}[dtype]
    for one, two in zip(ours, results(), strict=True):
        if isinstance(two, type):
            assert one is two
            continue
        for a, b in zip(one, two, strict=True):
            assert a.dtype == b.dtype
            a, b = a.astype("f8"), b.astype("f8")
            onp.testing.assert_allclose(a, b, error, error * max(1, onp.abs(b).max(initial=0)), err_msg=name)


TRACED_ONCE = [
    "dense", "dense of words", "relu", "sigmoid", "softmax", "log_softmax", "layer_norm", "mean", "sum", "add",
    "arithmetic", "matmul", "batch_dot", "transpose", "concatenate", "take", "convolution", "batch_norm", "dropout",
    "cumsum", "where", "max pooling, full", "global pooling", "sequence_reverse",
]  # fmt: skip


@pytest.mark.parametrize("name", TRACED_ONCE)
def test_a_new_length_traces_no_operator_again(name, by_numpy, counts):
    fn, shapes = CASES[name]
    for n in (13, 9, 15):
        computed(fn, shapes, n)
    before = dict(counts)
    for n in (14, 11, 21, 18):
        computed(fn, shapes, n)
    assert counts["linked"] > before["linked"]
    assert (counts["numbers"], counts["symbols"]) == (before["numbers"], before["symbols"])


class Asks(nn.HybridBlock):
    """A forward that does something else for one length, and for each."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, flatten=False, in_units=3)

    def forward(self, x):
        y = self.dense(x)
        if x.shape[1] == 8:
            y = y * 10
        if x.shape[1] % 3 == 0:
            y = y[:, 1:]
        return y / x.shape[1]


def trained(net, lengths, hybridize, loss=lambda out: (out**2).mean(), make=lambda n: (2, n, 3)):
    gluonx.random.seed(3)
    net.initialize(force_reinit=True)
    net.hybridize(hybridize)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    losses = []
    for i, n in enumerate(lengths):
        x = np.array(onp.random.RandomState(i).uniform(-1, 1, make(n)).astype("f"))
        with autograd.record():
            value = loss(net(x))
        value.backward()
        trainer.step(1)
        losses.append(value.item())
    return [*losses, *[p.data().asnumpy() for p in net.collect_params().values()]]


class Several(nn.HybridBlock):
    """Two results, dropout, moving averages, a weight that is used twice and one that only one result needs."""

    def __init__(self):
        super().__init__()
        # Without a bias: its gradient is 0 before a batch normalization, and rounding errors would be compared.
        self.up = nn.Dense(3, flatten=False, in_units=3, use_bias=False)
        self.norm, self.own = nn.BatchNorm(axis=-1), nn.Dense(2)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        y = self.drop(self.norm(self.up(self.up(x))))
        return (y**2).mean(), (self.own(y[:, 0]) ** 3).mean()


def read_before(net, lengths, hybridize, way):
    """Train with losses that are read before the gradient, and give all that can be seen."""
    gluonx.random.seed(3)
    net.initialize(gluonx.init.Uniform(0.3), force_reinit=True)  # by small weights the norm would enlarge all rounding
    net.hybridize(hybridize)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.02, "momentum": 0.9})
    seen = []
    for i, n in enumerate(lengths):
        x = np.array(onp.random.RandomState(i).uniform(-1, 1, (2, n, 3)).astype("f"))
        x.attach_grad()
        with autograd.record():
            one, two = net(x)
            seen += [one.item(), two.item()]
            if way == "inside":
                (one + two).backward()
        if way == "one":
            one.backward()
        elif way == "twice":
            one.backward(retain_graph=True)
            two.backward()
        elif way == "weighted":
            autograd.backward([one, two], [np.array(2.0), np.array(-0.5)])
        elif way == "both":
            with autograd.record():
                both = one * 3 + two
            both.backward()
        seen.append(x.grad.asnumpy())
        trainer.step(1, ignore_stale_grad=True)
    return [*seen, *[p.data().asnumpy() for p in net.collect_params().values()]]


READ = [(True, "twice"), (False, "both"), (True, "inside")]
REST = [(h, way) for way in ("one", "twice", "weighted", "both", "inside") for h in (False, True)]
READ += [pytest.param(*each, marks=pytest.mark.slow) for each in REST if each not in READ]


@pytest.mark.dear
@pytest.mark.parametrize(("hybridize", "way"), READ)
def test_a_loss_that_is_read_before_the_gradient(hybridize, way, by_numpy, counts, monkeypatch):
    """The forward is linked, and so is its gradient, which computes it again; no length is traced as a whole."""
    net, steps = Several(), [6, 9, 7, 12, 5, 9]
    ours = read_before(net, steps, hybridize, way)
    assert counts["linked"] and not counts["whole"]
    gluonx.engine.clear()
    monkeypatch.setattr(linking, "linked", lambda program, args: None)
    monkeypatch.setattr(linking, "linked_operator", lambda op, structs: None)
    same(ours, read_before(net, steps, hybridize, way))
    gluonx.engine.clear()
    with gluonx.engine.host(False):
        same(ours, read_before(net, steps, hybridize, way), 1e-4)


def test_a_dropout_rate_that_has_moved_is_still_one_operator_of_a_hybridized_net(by_numpy, counts):
    """Rates are constants at first and operands later; either way no length is traced as a whole."""
    for rate in (0.11, 0.12, 0.13, 0.14):
        npx.dropout(np.ones((2, 3)), p=rate)
    net = Several()
    net.drop = gluon.nn.Dropout(0.37)
    read_before(net, [6, 9, 7, 12], True, "one")
    assert counts["linked"] and not counts["whole"]


def test_a_new_length_of_a_loss_that_is_read_traces_no_operator_again(by_numpy, counts):
    net = Several()
    read_before(net, [13, 9, 15], True, "one")
    before = dict(counts)
    read_before(net, [14, 11, 21, 18], True, "one")
    assert (counts["numbers"], counts["symbols"]) == (before["numbers"], before["symbols"])


@pytest.mark.dear
def test_the_gradient_of_a_gradient_through_what_was_read(by_numpy):
    def second(n):
        x = np.array(onp.linspace(-1, 1, n).astype("f"))
        x.attach_grad()
        with autograd.record():
            y = (np.tanh(x) * x.mean()).sum()
            y.item()
            slope = autograd.grad(y, [x], create_graph=True)[0]
            (slope**2).sum().backward()
        return x.grad.asnumpy()

    ours = [second(n) for n in (6, 9, 7)]
    gluonx.engine.clear()
    with gluonx.engine.host(False):
        same(ours, [second(n) for n in (6, 9, 7)])


def same(one, two, error=2e-5):
    for a, b in zip(one, two, strict=True):
        onp.testing.assert_allclose(a, b, error, error)


@pytest.mark.dear
def test_a_forward_may_ask_for_a_length(by_numpy, counts, monkeypatch):
    net, steps = Asks(), [5, 6, 7, 8, 9, 10, 8, 11]
    ours = trained(net, steps, True)
    assert counts["linked"] and not counts["whole"]
    monkeypatch.setattr(linking, "linked", lambda program, args: None)
    same(ours, trained(net, steps, False))


@pytest.mark.dear
@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn"])
def test_recurrent_layers_of_changing_length(kind, by_numpy, counts, monkeypatch):
    layer = {"lstm": rnn.LSTM, "gru": rnn.GRU, "rnn": rnn.RNN}[kind]
    net = nn.HybridSequential()
    net.add(layer(6, num_layers=2, input_size=3), nn.Dense(2, flatten=False, in_units=6))
    steps = [6, 9, 7, 12, 2, 25]
    ours = trained(net, steps, True, make=lambda n: (n, 2, 3))
    assert counts["linked"] and not counts["whole"]
    monkeypatch.setattr(linking, "linked", lambda program, args: None)
    same(ours, trained(net, steps, True, make=lambda n: (n, 2, 3)))


@pytest.mark.dear
def test_moving_averages_and_a_tied_weight(by_numpy, counts, monkeypatch):
    class Tied(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.up, self.norm, self.down = (
                nn.Dense(3, flatten=False, in_units=3),
                nn.BatchNorm(axis=-1),
                nn.Dropout(0.5),
            )

        def forward(self, x):
            return self.down(self.norm(self.up(self.up(x)))), x

    net, steps = Tied(), [6, 9, 7, 12, 5, 25]
    ours = trained(net, steps, True, lambda out: (out[0] ** 2 + out[1]).mean())
    monkeypatch.setattr(linking, "linked", lambda program, args: None)
    same(ours, trained(net, steps, True, lambda out: (out[0] ** 2 + out[1]).mean()))


def test_raw_jax_in_a_forward_is_traced_as_a_whole(by_numpy, counts):
    """A gradient through it is not known operator by operator; the numbers are those of a plain net."""

    class Raw(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(4, flatten=False, in_units=3)

        def forward(self, x):
            return gluonx.from_jax(lambda v: jnp.sin(v) * 2)(self.dense(x))

    net = Raw()
    same(trained(net, [6, 9, 7], True), trained(net, [6, 9, 7], False))


def test_an_operator_that_asks_is_not_believed(by_numpy):
    """What a trace with symbols gives is compared with the trace for the lengths that were there before."""
    op = DerivedOp("asks", lambda x: x * 2 if x.shape[0] == 6 else x, any_length=True)
    made = {}
    for n in (6, 9, 7, 6):
        x = onp.ones((n, 2), "f")
        fragment, numbers = linking._traced(
            op, [jax.ShapeDtypeStruct(x.shape, x.dtype)], "alone", lambda k: linking._alone(op, k)
        )
        made[n] = linking._sampled(fragment, numbers, [x])[0][0, 0], numbers
    assert made == {6: (2, ()), 9: (1, ()), 7: (1, ())}


def test_lengths_that_are_attributes_or_small_stay_numbers():
    kind = lengths.Kind([], ("n0", "n1"), [(0,), 4, (1,), (0,)], [4, 64])
    assert kind.numbers((7, 4, 9, 7)) == (7, 9)
    assert kind.numbers((7, 4, 7, 7)) is None, "two symbols are two numbers"
    assert kind.numbers((64, 4, 9, 64)) is None, "an attribute"
    assert kind.numbers((3, 4, 9, 3)) is None, "small"
    assert kind.numbers((7, 5, 9, 7)) is None, "another length"
    assert kind.numbers((7, 4, 9, 8)) is None, "one symbol is one number"


def agree(plan, wanted):
    for (name, a), (_, b) in zip(sentences.run(plan), wanted, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype, (name, plan)
        size = max(1e-2, onp.abs(b[onp.isfinite(b)]).max(initial=0))
        onp.testing.assert_allclose(a, b, 2e-3, 2e-3 * size, err_msg=f"{name} of {plan}")


@pytest.mark.dear
@pytest.mark.parametrize("number", range(4))
def test_random_nets_over_random_lengths(number, by_numpy, monkeypatch):
    plan = sentences.drawn(number)
    linked = sentences.run(plan)
    gluonx.engine.clear()
    monkeypatch.setattr(linking, "linked", lambda program, args: None)
    agree(plan, linked)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the line .* has compiled")
@pytest.mark.parametrize("number", range(100, 130))
def test_random_nets_over_random_lengths_by_xla(number):
    """Linked, operator by operator and compiled in turns, as users have it."""
    plan = sentences.drawn(number)
    with gluonx.engine.host(False):
        wanted = sentences.run(plan)
    gluonx.engine.clear()
    agree(plan, wanted)
