"""MXNet 1's optimizers and metrics under gluonx.compat, against numbers of MXNet 1.9.1."""

import importlib.util
import json
import subprocess
import sys

import numpy
import pytest

import gluonx
from gluonx import compat
from gluonx.compat.operators.training import METRICS, OPTIMIZERS
from gluonx.errors import FormatError
from lib import TESTS

HERE = TESTS / "oracle" / "legacy_training"
GOLDEN = json.loads((HERE / "golden.json").read_text(encoding="utf-8"))
_spec = importlib.util.spec_from_file_location("legacy_training_cases", HERE / "cases.py")
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)


@pytest.fixture
def mx():
    compat.install_as_mxnet()
    try:
        import mxnet

        yield mxnet
    finally:
        compat.uninstall()


@pytest.mark.parametrize("case", list(cases.OPTIMIZERS))
def test_updates(mx, case):
    found = cases.updated(*cases.OPTIMIZERS[case])
    numpy.testing.assert_allclose(found, GOLDEN["optimizers"][case], rtol=2e-6, atol=3e-7)


@pytest.mark.parametrize("case", list(cases.METRICS))
def test_metrics(mx, case):
    name, value = cases.measured(*cases.METRICS[case])
    assert [name, value] == [GOLDEN["metrics"][case][0], pytest.approx(GOLDEN["metrics"][case][1], rel=1e-5)]


@pytest.mark.parametrize(("name", "value"), [("mse", 0.25), ("mae", 0.5), ("rmse", 0.5)])
def test_an_error_broadcasts_numbers_of_classes(mx, name, value):
    """``score(iterator, ["mse", "acc"])`` of a classifier, whose labels are numbers of classes."""
    metric = mx.metric.create(name)
    metric.update([mx.nd.array([0, 1])], [mx.nd.full((2, 3), 0.5)])
    assert metric.get()[1] == pytest.approx(value)
    with pytest.raises(ValueError, match="must have the same shape"):
        metric.update([mx.nd.array([0, 1])], [mx.nd.ones((3, 3))])


def test_the_trainer_takes_them(mx):
    """`Trainer` computes in one program the updates that the optimizer makes array by array."""
    net = mx.gluon.nn.Dense(1, in_units=3, use_bias=False)
    net.initialize(mx.init.One())
    weight = mx.nd.ones((1, 3))
    trainer = mx.gluon.Trainer(net.collect_params(), "nag", {"momentum": 0.9, "wd": 0.1, "learning_rate": 0.1})
    update = mx.optimizer.get_updater(mx.optimizer.NAG(momentum=0.9, wd=0.1, learning_rate=0.1))
    for _ in range(3):
        with mx.autograd.record():
            loss = net(mx.nd.array([[1, 2, 3]])).sum()
        loss.backward()
        update(0, net.weight.grad(), weight)
        trainer.step(1)
    numpy.testing.assert_allclose(net.weight.data().asnumpy(), weight.asnumpy(), rtol=1e-6)


def test_the_names_are_gluonx_again_after_set_np(mx):
    assert mx.optimizer.create("nag").momentum == mx.optimizer.NAG().momentum == 0.0
    mx.npx.set_np()
    assert mx.optimizer.create("nag").momentum == mx.optimizer.NAG().momentum == 0.9
    assert type(gluonx.metric.create("rmse")) is gluonx.metric.RMSE
    mx.npx.reset_np()
    assert type(mx.metric.create("rmse")) is not gluonx.metric.RMSE


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_a_class_by_name_is_the_one_of_the_registry(mx, name):
    assert type(mx.optimizer.create(name)) is getattr(mx.optimizer, name) is OPTIMIZERS[name]


@pytest.mark.parametrize("name", [name for name in METRICS if name != "CustomMetric"])
def test_a_metric_by_name_is_the_one_of_the_registry(mx, name):
    assert type(mx.metric.create(name)) is getattr(mx.metric, name) is METRICS[name]


def test_group_adagrad_lies_where_mxnet_has_it(mx):
    assert type(mx.optimizer.create("groupadagrad")) is mx.optimizer.contrib.GroupAdaGrad


def test_an_optimizer_that_updates_one_weight(mx):
    seen = []

    class Mine(mx.optimizer.Optimizer):
        def create_state(self, index, weight):
            return mx.nd.zeros(weight.shape)

        def update(self, index, weight, grad, state):
            self._update_count(index)
            seen.append(index)
            weight[:] = weight - self._get_lr(index) * grad * self.rescale_grad

    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize(mx.init.One())
    trainer = mx.gluon.Trainer(net.collect_params(), Mine(learning_rate=0.5))
    with mx.autograd.record():
        loss = net(mx.nd.ones((1, 2))).sum()
    loss.backward()
    trainer.step(1)
    assert seen == [0, 1]
    assert net.weight.data().asnumpy().tolist() == [[0.5, 0.5], [0.5, 0.5]]


def made(mx, prefix=None, units=2):
    net = mx.gluon.nn.Dense(units, in_units=2, prefix=prefix)
    net.initialize(mx.init.One())
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    return net, trainer


def step(mx, net, trainer):
    with mx.autograd.record():
        loss = (net(mx.nd.array([[1, 2]])) ** 2).sum()
    loss.backward()
    trainer.step(1)
    return net.weight.data().asnumpy().tolist()


def test_states_go_to_a_net_of_other_names(mx, tmp_path):
    net, trainer = made(mx)
    step(mx, net, trainer)
    net.save_parameters(str(tmp_path / "net.params"))
    trainer.save_states(str(tmp_path / "trainer.states"))
    again, other = made(mx)
    assert again.weight.name != net.weight.name
    again.load_parameters(str(tmp_path / "net.params"))
    other.load_states(str(tmp_path / "trainer.states"))
    assert step(mx, again, other) == step(mx, net, trainer)
    with pytest.raises(FormatError, match="do not fit"):
        made(mx, units=3)[1].load_states(str(tmp_path / "trainer.states"))


def test_names_of_parameters(mx):
    names = []

    class Noted(mx.init.Initializer):
        def _init_weight(self, name, arr):
            names.append(str(name))
            arr[:] = 1

    net = mx.gluon.nn.Dense(2, in_units=2, prefix="fc_")
    net.initialize(Noted())
    assert names == ["fc_weight"]
    assert repr(net.weight).startswith("Parameter fc_weight (shape=(2, 2), dtype=")
    assert repr(gluonx.Parameter("weight", shape=(2,))).startswith("Parameter (shape=")


def test_export_writes_what_imports_reads(mx, tmp_path):
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(3, activation="relu"), mx.gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    x = mx.nd.array([[1, 2]])
    out = net(x)
    path = str(tmp_path / "net")
    net.export(path, 7)
    again = mx.gluon.SymbolBlock.imports(f"{path}-symbol.json", ["data"], f"{path}-0007.params")
    assert again(x).asnumpy().tolist() == out.asnumpy().tolist()
    graph, args, aux = mx.model.load_checkpoint(path, 7)
    assert sorted(args) == ["net_dense0_bias", "net_dense0_weight", "net_dense1_bias", "net_dense1_weight"] and not aux
    inner = graph.get_internals()["net_dense0_fwd_output"]
    cut = mx.gluon.SymbolBlock(inner, mx.sym.var("data"))
    cut.collect_params().load(f"{path}-0007.params", ignore_extra=True)
    assert cut(x).shape == (1, 3)
    mx.model.save_checkpoint(path, 8, graph, args, aux)
    assert sorted(mx.model.load_params(path, 8)[0]) == sorted(args)
    net.save_parameters(f"{path}-0009.params")
    with pytest.raises(FormatError, match="neither arg: nor aux:"):
        mx.model.load_params(path, 9)


def test_modules_that_mxnet_cut_its_packages_into(mx):
    scope = {}
    exec(
        "from mxnet.gluon.nn.basic_layers import Dense\n"
        "from mxnet.gluon.rnn.rnn_cell import LSTMCell\n"
        "from mxnet.gluon.data.dataloader import DataLoader\n"
        "from mxnet.gluon.loss import _apply_weighting, _reshape_like\n"
        "from mxnet.gluon.data.vision.datasets import CIFAR10\n"
        "from mxnet.ndarray.ndarray import NDArray\n"
        "from mxnet.symbol.symbol import Symbol\n"
        "from mxnet import viz\n",
        scope,
    )
    assert scope["Dense"] is gluonx.nn.Dense
    loss, weight = mx.nd.array([1, 2]), mx.nd.array([[0], [3]])
    shaped = scope["_reshape_like"](mx.nd, weight, loss)
    assert scope["_apply_weighting"](mx.nd, loss, 2.0, shaped).asnumpy().tolist() == [0, 12]


@pytest.mark.dear
def test_compat_is_light():
    code = "import sys, gluonx.compat; print('optax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "False"


KL = ([0.370347, 0.2120543], [[-0.2, -0.3, -0.5], [-0.6, -0.3, -0.1]])
POISSON = ([0.7995834], [[0.0677551, 0.0113132, -0.0607775], [0.0508062, -0.0417022, 0.0205217]])


@pytest.mark.parametrize("hybrid", [False, True])
def test_losses_that_mxnet_1_takes_together_otherwise(mx, hybrid):
    """The numbers are MXNet 1.9.1's."""
    pred = mx.nd.array([[-0.5, -1.0, -2.0], [-0.1, -3.0, -1.5]])
    label = mx.nd.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    for loss, wanted in ((mx.gluon.loss.KLDivLoss(), KL), (mx.gluon.loss.PoissonNLLLoss(), POISSON)):
        if hybrid:
            loss.hybridize()
        pred.attach_grad()
        with mx.autograd.record():
            out = loss(pred, label)
        out.backward()
        assert out.shape == (len(wanted[0]),)
        numpy.testing.assert_allclose(out.asnumpy(), wanted[0], rtol=1e-5)
        numpy.testing.assert_allclose(pred.grad.asnumpy(), wanted[1], rtol=1e-5)
    mx.npx.set_np()
    assert mx.gluon.loss.KLDivLoss is gluonx.loss.KLDivLoss
    mx.npx.reset_np()


def test_positional_arguments_of_metrics_mean_mxnet_1s(mx):
    labels, preds = (
        [mx.nd.array([0, 1, 2, 1])],
        [mx.nd.array([[0.2, 0.3, 0.5], [0.1, 0.9, 0], [1, 0, 0], [0.3, 0.3, 0.4]])],
    )
    scores = []
    for m in (mx.metric.Perplexity(None), mx.metric.Perplexity(1), mx.metric.create("Perplexity", 2)):
        m.update(labels, preds)
        scores.append(m.get()[1])
    numpy.testing.assert_allclose(scores, [655.99654, 223606.73024, 2.64567], rtol=1e-5)  # MXNet 1.9.1
    assert mx.metric.CrossEntropy(1e-8, "loss", ["out"]).get()[0] == "loss"
    f1 = mx.metric.F1("f", None, None, "micro")
    assert f1.name == "f" and f1.get_config()["average"] == "micro"


def test_a_symbol_block_in_a_name_scope_keeps_the_graphs_names(mx):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="base_fc")

    class Tuned(mx.gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.features = mx.gluon.SymbolBlock(net, mx.sym.var("data"))
                self.output = mx.gluon.nn.Dense(3)

    tuned = Tuned(prefix="ft_")
    assert sorted(tuned.collect_params()) == ["base_fc_bias", "base_fc_weight", "ft_dense0_bias", "ft_dense0_weight"]
    assert sorted(tuned.collect_params("base_.*")) == ["base_fc_bias", "base_fc_weight"]


@pytest.mark.dear
def test_module_checkpoint_saves_every_period(mx, tmp_path):
    it = mx.io.NDArrayIter(numpy.ones((4, 3), "float32"), numpy.zeros(4, "float32"), 2)
    out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="softmax")
    mod = mx.mod.Module(out)
    mod.fit(it, num_epoch=4, epoch_end_callback=mx.callback.module_checkpoint(mod, str(tmp_path / "m"), 2, True))
    kept = ["m-0002.params", "m-0002.states", "m-0004.params", "m-0004.states", "m-symbol.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept


@pytest.mark.parametrize(("size", "after"), [(numpy.inf, 0.8), (numpy.nan, numpy.nan), (-2.0, 0.88)])
def test_a_loss_scaler_may_give_batch_sizes_that_are_none(mx, size, after):
    weight = mx.gluon.Parameter("w", shape=(2,))
    weight.initialize(init=mx.init.One())
    trainer = mx.gluon.Trainer([weight], "sgd", {"learning_rate": 0.1}, update_on_kvstore=False)
    for each in (1, mx.nd.array([size])):
        with mx.autograd.record():
            loss = (weight.data() ** 2).sum()
        loss.backward()
        trainer.allreduce_grads()
        trainer.update(each)
    numpy.testing.assert_allclose(weight.data().asnumpy(), [after] * 2, rtol=1e-6)
    with pytest.raises(ValueError, match="batch_size must be a positive number"):
        trainer.update(0)


@pytest.mark.parametrize("name", ["adamw", "adabelief"])
@pytest.mark.parametrize("size", [numpy.inf, numpy.nan])
def test_an_update_of_no_finite_scale_is_left_out_and_counts(mx, name, size):
    weight = mx.gluon.Parameter("w", shape=(2,))
    weight.initialize(init=mx.init.One())
    trainer = mx.gluon.Trainer([weight], name, {"learning_rate": 0.1, "wd": 0.1})

    def step(size):
        with mx.autograd.record():
            loss = (weight.data() ** 2).sum()
        loss.backward()
        trainer.step(size)
        return weight.data().asnumpy().copy()

    before = step(1)
    numpy.testing.assert_array_equal(step(size), before)
    assert trainer.optimizer.num_update == 2
    # MXNet 2.0 too has counted the step that it left out
    third = {"adamw": 0.8095504, "adabelief": 0.78920335}
    assert step(1)[0] == pytest.approx(third[name], rel=1e-5)


def test_callbacks_see_fits_variables(mx):
    from mxnet import nd

    data, labels = nd.array(numpy.arange(12).reshape(6, 2)), nd.array([0, 1, 0, 1, 0, 1])
    batches = mx.io.NDArrayIter(data, labels, 2)
    symbol = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
    module, seen, scored = mx.mod.Module(symbol), [], []

    def watch(param):
        there = param.locals
        assert there["self"] is module and there["train_data"] is batches and there["eval_metric"] is param.eval_metric
        assert there["nbatch"] == param.nbatch and there["epoch"] == param.epoch
        seen.append((there["begin_epoch"], there["num_epoch"], there["end_of_batch"], len(there["data_batch"].data)))

    def score(param):
        scored.append((param.locals["nbatch"], param.locals["eval_batch"].pad, param.locals["eval_data"] is batches))

    module.fit(batches, batches, num_epoch=1, batch_end_callback=watch, eval_batch_end_callback=score)
    assert seen == [(0, 1, False, 1), (0, 1, False, 1), (0, 1, True, 1)]
    assert scored == [(0, 0, True), (1, 0, True), (2, 0, True)]


def test_what_programs_log(mx, caplog):
    caplog.set_level("INFO")
    rates = mx.lr_scheduler.FactorScheduler(2, 0.5, stop_factor_lr=0.2, base_lr=0.5)
    steps = mx.lr_scheduler.MultiFactorScheduler([1, 3], 0.1, base_lr=1.0)
    assert [rates(n) for n in range(1, 6)] == [0.5, 0.5, 0.25, 0.25, 0.2]
    steps(5)
    mx.callback.ProgressBar(4, length=8)(mx.model.BatchEndParam(0, 1, None, None))
    assert [record.getMessage() for record in caplog.records] == [
        "Update[3]: Change learning rate to 2.50000e-01",
        "Update[5]: now learning rate arrived at 2.00000e-01, will not change in the future",
        "Update[5]: Change learning rate to 1.00000e-01",
        "Update[5]: Change learning rate to 1.00000e-02",
        "[==------] 25%\r",
    ]


def test_a_parameter_keeps_its_arrays(mx):
    layer = mx.gluon.nn.Dense(2, in_units=1)
    layer.initialize()
    with pytest.raises(gluonx.GluonxError, match=r"set_data\(value\), and keep data\(\).copy\(\)"):
        layer.weight._data = [mx.nd.ones((2, 1))]


def test_states_hold_what_an_optimizer_by_hand_keeps_in_attributes(mx, tmp_path):
    from mxnet import autograd, nd

    class Momenta(mx.optimizer.Optimizer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.product, self.momenta, self.rule = 1.0, {}, print

        def update(self, index, weight, grad, state):
            self._update_count(index)
            self.product *= 0.5
            self.momenta[index] = grad + 0.9 * self.momenta.get(index, nd.zeros(grad.shape))
            weight[:] -= self._get_lr(index) * self.product * self.momenta[index]

    weight = mx.gluon.Parameter("w", shape=(2,))
    weight.initialize(init=mx.init.One())
    trainer = mx.gluon.Trainer([weight], Momenta(learning_rate=0.1))

    def steps(count):
        for _ in range(count):
            with autograd.record():
                loss = (weight.data() ** 2).sum()
            loss.backward()
            trainer.step(1)
        return weight.data().asnumpy().copy()

    at, file = steps(2), str(tmp_path / "states")
    trainer.save_states(file)
    onward = steps(2)
    weight.set_data(at)
    trainer.load_states(file)
    assert trainer.optimizer.product == 0.25
    numpy.testing.assert_array_equal(steps(2), onward)
    # As in MXNet, states alone, such as a Module writes, leave a new optimizer's settings alone.
    updater = mx.optimizer.get_updater(trainer.optimizer)
    alone, whole = updater.get_states(), updater.get_states(dump_optimizer=True)
    before, trainer.optimizer.product = trainer.optimizer.product, 3.0
    updater.set_states(alone)
    assert trainer.optimizer.product == 3.0
    updater.set_states(whole)
    assert trainer.optimizer.product == before
