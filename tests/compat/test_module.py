"""``mx.mod`` and what it reads batches from: as MXNet 1, on its files, and as the same training in Gluon."""

import logging
import pathlib

import numpy as onp
import pytest

import gluonx as mx
from gluonx import autograd, gluon, nd, sym
from gluonx.compat.io import DataBatch, DataDesc, DataIter, NDArrayIter
from gluonx.compat.module import BucketingModule, Module
from gluonx.errors import FormatError, GluonxError, GraphError, ShapeError
from lib import TESTS
from lib.golden import load_cases

SAMPLES = TESTS / "samples" / "mxnet-1.9.1"
RNG = onp.random.RandomState(3)
X = RNG.uniform(-1, 1, (20, 6)).astype("float32")
Y = (X[:, 0] > X[:, 1]).astype("float32")


def mlp(batch_norm=False):
    net = sym.FullyConnected(sym.var("data"), num_hidden=8, name="fc1")
    net = sym.BatchNorm(net, name="bn") if batch_norm else net
    net = sym.Activation(net, act_type="relu", name="relu1")
    return sym.SoftmaxOutput(sym.FullyConnected(net, num_hidden=2, name="fc2"), name="softmax")


def data(**kwargs):
    return NDArrayIter(X, Y, batch_size=5, **kwargs)


def ready(symbol=None, **kwargs):
    module = Module(mlp() if symbol is None else symbol)
    module.bind(data().provide_data, data().provide_label, **kwargs)
    mx.random.seed(1)
    module.init_params(mx.init.Xavier())
    return module


# ------------------------------------------------------------------------------------------------------------ training


def trained_over(devices, size, early=False):
    """Outputs of all steps, how the last one ran, the accuracy, and the module."""
    net = sym.FullyConnected(sym.var("data"), num_hidden=8, name="fc1")
    net = sym.Activation(sym.BatchNorm(net, name="bn", fix_gamma=False), act_type="relu")
    net = sym.FullyConnected(sym.Dropout(net, p=0.3), num_hidden=2, name="fc2")
    module, outputs, metric = Module(sym.SoftmaxOutput(net, name="softmax"), context=devices), [], mx.metric.Accuracy()
    batches = NDArrayIter(X, Y, batch_size=size)
    module.bind(batches.provide_data, batches.provide_label)
    mx.random.seed(1)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    for _ in range(20 * size // len(X)):
        batches.reset()
        for batch in batches:
            mx.engine.reset_stats()
            module.forward(batch, is_train=True)
            if early:
                module.get_outputs()
            module.backward()
            module.update()
            mx.waitall()
            stats = mx.engine.stats()
            module.update_metric(metric, batch.label)
            outputs.append(module.get_outputs()[0].asnumpy())
    return onp.array(outputs), stats, metric.get()[1], module


@pytest.mark.dear
@pytest.mark.parametrize(
    ("ids", "size", "early"),
    [((0, 1), 4, False), ((1, 2, 3, 4), 4, True), ((0, 1), 5, False), ((0, 8), 4, False), ((0, 1, 8), 4, False)],
    ids=["two", "four-read-early", "uneven", "folded", "some-folded"],
)
def test_several_devices_have_the_numbers_of_one(ids, size, early):
    """Statistics and random masks too are those of the whole batch; a step is one program."""
    devices = [mx.cpu(i) for i in ids]
    alone, _, score, one = trained_over(mx.cpu(0), size)
    outputs, stats, its_score, module = trained_over(devices, size, early)
    onp.testing.assert_allclose(outputs, alone, rtol=0, atol=1e-5)
    assert its_score == score and stats["programs_compiled"] == 0
    assert early or stats["dispatches"] == 1
    for mine, theirs in zip(one.get_params(), module.get_params(), strict=True):
        for name, value in mine.items():
            assert theirs[name].context == devices[0]
            onp.testing.assert_allclose(theirs[name].asnumpy(), value.asnumpy(), rtol=0, atol=1e-5, err_msg=name)
    (parts,) = module.get_outputs(merge_multi_context=False)
    assert [part.context for part in parts] == devices
    assert onp.array_equal(onp.concatenate([part.asnumpy() for part in parts]), outputs[-1])
    one.set_params(*module.get_params())
    assert one.score(data(), "acc") == module.score(data(), "acc")


@pytest.mark.dear
def test_fit_learns_and_tells(caplog):
    module, seen = Module(mlp(batch_norm=True)), []
    with caplog.at_level(logging.INFO):
        module.fit(
            data(shuffle=True),
            eval_data=data(),
            num_epoch=30,
            optimizer="adam",
            optimizer_params={"learning_rate": 0.05},
            initializer=mx.init.Xavier(),
            batch_end_callback=[lambda param: seen.append(param.nbatch)],
            epoch_end_callback=lambda epoch, symbol, args, aux: seen.append((epoch, sorted(args), sorted(aux))),
        )
    assert module.score(data(), "acc")[0][1] >= 0.95
    assert seen[:5] == [0, 1, 2, 3, (0, sorted(module.get_params()[0]), ["bn_moving_mean", "bn_moving_var"])]
    assert "Epoch[0] Train-accuracy=" in caplog.text and "Epoch[29] Validation-accuracy=" in caplog.text


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_the_same_as_the_loop_in_gluon(name):
    module = ready()
    settings = {"learning_rate": 0.1, "wd": 0.05}
    module.init_optimizer(optimizer=name, optimizer_params=settings)
    args, _ = module.get_params()
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8, activation="relu", in_units=6), gluon.nn.Dense(2, in_units=8))
    net.initialize()
    for layer, key in ((net[0], "fc1"), (net[1], "fc2")):
        layer.weight.set_data(args[f"{key}_weight"])
        layer.bias.set_data(args[f"{key}_bias"])
        layer.bias.wd_mult = 0  # a module decays weights only
    trainer = gluon.Trainer(net.collect_params(), name, settings)
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    for batch in data():
        module.forward_backward(batch)
        module.update()
        with autograd.record():
            loss = loss_fn(net(batch.data[0].as_np_ndarray()), batch.label[0].as_np_ndarray())
        loss.backward()
        trainer.step(5)
    args, _ = module.get_params()
    onp.testing.assert_allclose(args["fc1_weight"].asnumpy(), net[0].weight.data().asnumpy(), 1e-5, 1e-6)
    onp.testing.assert_allclose(args["fc2_bias"].asnumpy(), net[1].bias.data().asnumpy(), 1e-5, 1e-6)


@pytest.mark.dear
def test_a_steady_loop_compiles_nothing():
    module = ready()
    module.init_optimizer(
        optimizer_params={"learning_rate": 0.1, "lr_scheduler": mx.lr_scheduler.FactorScheduler(1, base_lr=0.1)}
    )
    for _ in range(2):
        for batch in data():
            module.forward_backward(batch)
            module.update()
            module.get_outputs()[0].asnumpy()
    before = mx.engine.stats()["programs_compiled"]
    for batch in data():
        module.forward_backward(batch)
        module.update()
        module.get_outputs()[0].asnumpy()
    assert mx.engine.stats()["programs_compiled"] == before


@pytest.mark.dear
def test_multipliers_and_fixed_parameters():
    weight = sym.var("w_weight", lr_mult=0.0)
    net = sym.FullyConnected(sym.var("data"), weight=weight, num_hidden=2, name="fc")
    net = sym.FullyConnected(net, num_hidden=2, name="top")
    module = Module(sym.SoftmaxOutput(net, name="softmax"), fixed_param_names=["top_weight"])
    module.bind(data().provide_data, data().provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    before, _ = module.get_params()
    module.forward_backward(next(data()))
    module.update()
    after, _ = module.get_params()
    changed = {name for name in before if (before[name].asnumpy() != after[name].asnumpy()).any()}
    assert changed == {"fc_bias", "top_bias"}


def test_gradients_of_inputs_and_outputs():
    net = sym.FullyConnected(sym.var("data"), num_hidden=3, no_bias=True, name="fc")
    module = Module(net, label_names=None)
    module.bind([("data", (2, 6))], inputs_need_grad=True, grad_req="add")
    module.init_params(mx.init.One())
    for _ in range(2):
        module.forward(DataBatch([nd.array(X[:2])]), is_train=True)
        module.backward([nd.ones((2, 3))])
    assert (module.get_input_grads()[0].asnumpy() == 3).all()
    onp.testing.assert_allclose(module._executor.grad_dict["fc_weight"].asnumpy()[0], 2 * X[:2].sum(0), 1e-5)
    assert module.output_shapes == [("fc_output", (2, 3))]


# ------------------------------------------------------------------------------------------------- prediction, shapes


def test_predictions_leave_out_what_only_fills_up():
    module = ready()
    whole = module.predict(data())
    odd = module.predict(NDArrayIter(X, Y, batch_size=8))
    assert whole.shape == odd.shape == (20, 2)
    onp.testing.assert_allclose(whole.asnumpy(), odd.asnumpy(), 1e-5)
    assert type(whole).__name__ == "NDArray"
    parts = module.predict(data(), num_batch=2, merge_batches=False)
    assert [part[0].shape for part in parts] == [(5, 2), (5, 2)]
    assert module.predict(X[:4]).shape == (4, 2)
    assert len(module.predict(data(), always_output_list=True)) == 1
    assert module.score(data(), "acc", num_batch=1)[0][0] == "accuracy"


def test_batches_of_other_shapes_share_parameters_and_gradients():
    module = ready()
    module.init_optimizer()
    module.forward_backward(DataBatch([nd.array(X[:3])], [nd.array(Y[:3])]))
    module.update()
    assert module.get_outputs()[0].shape == (3, 2)
    module.forward(DataBatch([nd.array(X[:7])]), is_train=False)
    assert module.get_outputs()[0].shape == (7, 2)
    module.forward_backward(next(data()))
    module.update()
    module.reshape([("data", (4, 6))], [("softmax_label", (4,))])
    assert module.data_shapes[0].shape == (4, 6)


# --------------------------------------------------------------------------------------------------------------- files


def test_a_checkpoint_of_mxnet():
    files = onp.load(SAMPLES / "module_mlp-io.npz")
    inputs = files[next(name for name in files.files if "in" in name or "data" in name)]
    wanted = files[next(name for name in files.files if "out" in name)]
    module = Module.load(str(SAMPLES / "module_mlp"), 3)
    module.bind([("data", inputs.shape)], for_training=False)
    module.forward(DataBatch([nd.array(inputs)]))
    onp.testing.assert_allclose(module.get_outputs()[0].asnumpy(), wanted, 1e-5, 1e-6)


@pytest.mark.dear
def test_checkpoints_go_on_where_they_stopped(tmp_path):
    def train(module, rounds):
        for _ in range(rounds):
            for batch in data():
                module.forward_backward(batch)
                module.update()
        return module.get_params()[0]

    momentum = {"learning_rate": 0.1, "momentum": 0.9}
    module = ready()
    module.init_optimizer(optimizer_params=momentum)
    train(module, 1)
    module.save_checkpoint(str(tmp_path / "net"), 1, save_optimizer_states=True)
    wanted = train(module, 1)
    other = Module.load(str(tmp_path / "net"), 1, load_optimizer_states=True)
    other.bind(data().provide_data, data().provide_label)
    other.init_optimizer(optimizer_params=momentum)
    found = train(other, 1)
    for name, value in wanted.items():
        onp.testing.assert_allclose(found[name].asnumpy(), value.asnumpy(), 1e-6, 1e-7, err_msg=name)
    module.save_params(str(tmp_path / "only.params"))
    third = ready()
    third.load_params(str(tmp_path / "only.params"))
    assert (third.get_params()[0]["fc1_weight"].asnumpy() == module.get_params()[0]["fc1_weight"].asnumpy()).all()


@pytest.mark.parametrize(
    ("kind", "settings", "wanted"),  # a row of the weight after each of two further steps, by MXNet 1.9.1
    [("sgd", {"momentum": 0.9}, [3.1128228, 3.1578932]), ("adam", {}, [3.4900625, 3.4646182])],
)
def test_training_goes_on_with_the_rate_that_init_optimizer_is_given(tmp_path, kind, settings, wanted):
    def steps(module, rate):
        module.init_optimizer(optimizer=kind, optimizer_params={"learning_rate": rate, **settings})
        for batch in batches:
            module.forward_backward(batch)
            module.update()
            yield float(module.get_params()[0]["fc_weight"].asnumpy()[0].sum())

    out = sym.SoftmaxOutput(sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc"), name="softmax")
    x = onp.random.RandomState(0).rand(8, 3).astype("float32")
    batches = list(NDArrayIter(x, onp.array([0, 1] * 4, "float32"), 4))
    shapes = [("data", (4, 3))], [("softmax_label", (4,))]
    module = Module(out)
    module.bind(*shapes)
    module.init_params(initializer=mx.init.One())
    list(steps(module, 0.2))
    module.save_checkpoint(str(tmp_path / "m"), 1, save_optimizer_states=True)
    again = Module.load(str(tmp_path / "m"), 1, load_optimizer_states=True)
    again.bind(*shapes)
    assert list(steps(again, 0.05)) == pytest.approx(wanted, rel=1e-5)


def test_states_of_another_optimizer_are_refused(tmp_path):
    module = ready()
    module.init_optimizer(optimizer="adam")
    states = load_cases("states")
    golden = onp.load(pathlib.Path(states.__file__).parent / "states.npz")
    (tmp_path / "sgd.states").write_bytes(golden["sgd/file"].tobytes())
    with pytest.raises(FormatError, match="has states of SGD"):
        module.load_optimizer_states(str(tmp_path / "sgd.states"))


# ----------------------------------------------------------------------------------------------------------- bucketing


def by_length(length):
    net = sym.Embedding(sym.var("data"), input_dim=7, output_dim=4, name="embed")
    net = sym.mean(net, axis=1)
    net = sym.FullyConnected(net, num_hidden=3, name="fc")
    return sym.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]


def bucket(length, rows=4):
    words = RNG.randint(0, 7, (rows, length)).astype("float32")
    labels = words[:, 0] % 3
    return DataBatch(
        [nd.array(words)],
        [nd.array(labels)],
        bucket_key=length,
        provide_data=[DataDesc("data", (rows, length))],
        provide_label=[DataDesc("softmax_label", (rows,))],
    )


@pytest.mark.dear
def test_buckets_share_parameters_and_states():
    mx.random.seed(7)  # how much smaller the loss becomes is a matter of chance otherwise
    module = BucketingModule(by_length, default_bucket_key=6)
    first = bucket(6)
    module.bind(first.provide_data, first.provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.05})
    metric = mx.metric.create("ce")
    batches = [bucket(n) for n in (6, 3, 4, 3, 6)]
    losses = []
    for _ in range(25):
        metric.reset()
        for batch in batches:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        losses.append(metric.get()[1])
    assert losses[-1] < 0.5 * losses[0]
    assert len({id(m._updater) for m in module._buckets.values()}) == 1
    whole, short = module._buckets[6], module._buckets[3]
    assert whole._executor.arg_dict["fc_weight"] is short._executor.arg_dict["fc_weight"]
    assert module._buckets[6]._updater.optimizer.num_update == 25 * len(batches)
    assert module.get_outputs()[0].shape == (4, 3)


# -------------------------------------------------------------------------------------------------------------- errors


def test_what_must_come_first():
    module = Module(mlp())
    for call, told in (
        (lambda: module.init_params(), r"call bind\(\) first"),
        (lambda: module.forward(next(data())), r"call bind\(\) and init_params\(\) first"),
        (lambda: module.update(), r"call init_optimizer\(\) first"),
        (lambda: module.get_input_grads(), "inputs_need_grad=True"),
    ):
        with pytest.raises(GraphError, match=told):
            call()


def test_wrong_names_and_shapes():
    with pytest.raises(ValueError, match="data_names has 'image'"):
        Module(mlp(), data_names=["image"])
    module = ready()
    with pytest.raises(ValueError, match="has no parameter 'other'"):
        module.set_params({"other": nd.ones((1,))}, {}, allow_missing=True)
    args, _ = module.get_params()
    with pytest.raises(ValueError, match="no value for 'fc2_bias'"):
        module.set_params({n: a for n, a in args.items() if n != "fc2_bias"}, {})
    with pytest.raises(ShapeError, match=r"'fc1_bias' has shape \(9,\)"):
        module.set_params({**args, "fc1_bias": nd.ones((9,))}, {})
    with pytest.raises(ShapeError, match="1 arrays were bound, but 2 came"):
        module.forward(DataBatch([nd.ones((5, 6)), nd.ones((5, 6))]))
    with pytest.raises(ValueError, match="num_epoch must say"):
        module.fit(data())
    with pytest.raises(TypeError, match="label must be a list"):
        DataBatch([nd.ones((1,))], nd.ones((1,)))
    with pytest.raises(ShapeError, match="same number of rows"):
        NDArrayIter(X, Y[:3])
    with pytest.raises(ValueError, match="last_batch_handle must be one of"):
        NDArrayIter(X, last_batch_handle="drop")


# ----------------------------------------------------------------------------------------------------------- iterators


@pytest.mark.parametrize(
    ("last", "epochs"),
    [  # rows and pads of three epochs over 7 rows by 3, as MXNet 2.0 gives them
        ("pad", [[((0, 1, 2), 0), ((3, 4, 5), 0), ((6, 0, 1), 2)]] * 3),
        ("discard", [[((0, 1, 2), 0), ((3, 4, 5), 0)]] * 3),
        (
            "roll_over",
            [
                [((0, 1, 2), 0), ((3, 4, 5), 0)],
                [((6, 0, 1), 1), ((2, 3, 4), 0)],
                [((5, 6, 0), 2), ((1, 2, 3), 0), ((4, 5, 6), 0)],
            ],
        ),
    ],
)
def test_rows_of_batches(last, epochs):
    batches = NDArrayIter({"b": onp.arange(7), "a": onp.arange(14).reshape(7, 2)}, batch_size=3, last_batch_handle=last)
    assert [(d.name, d.shape) for d in batches.provide_data] == [("a", (3, 2)), ("b", (3,))]
    for epoch in epochs:
        assert [(tuple(b.data[1].asnumpy().astype(int).tolist()), b.pad) for b in batches] == epoch
        batches.reset()
    batches.hard_reset()
    assert next(batches).data[1].asnumpy().tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("rows", "size", "last", "epochs"),
    [  # as MXNet 2.0 gives them; 1.9 does the same, but fails where rows roll over
        (3, 5, "pad", [[((0, 1, 2, 0, 1), 2)]] * 2),
        (2, 5, "pad", [[((0, 1, 0, 1, 0), 3)]] * 2),
        (1, 4, "pad", [[((0, 0, 0, 0), 3)]] * 2),
        (2, 7, "pad", [[((0, 1, 0, 1, 0, 1, 0), 5)]] * 2),
        (3, 5, "discard", [[], []]),
        (3, 5, "roll_over", [[], [((0, 1, 2, 0, 1), 3)], [], [((2, 0, 1, 2, 0), 4)]]),
        (2, 5, "roll_over", [[], [], [((0, 1, 0, 1, 0), 4)], []]),
        (1, 4, "roll_over", [[], [], [], [((0, 0, 0, 0), 3)]]),
    ],
)
def test_fewer_rows_than_a_batch(rows, size, last, epochs):
    batches = NDArrayIter(onp.arange(rows), onp.arange(rows), batch_size=size, last_batch_handle=last)
    for epoch in epochs:
        batches.reset()
        assert [(tuple(b.data[0].asnumpy().astype(int).tolist()), b.pad) for b in batches] == epoch


def test_shuffled_rows_stay_together():
    batches = NDArrayIter(X, X[:, 0], batch_size=5, shuffle=True)
    first = [b.data[0].asnumpy() for b in batches]
    assert sorted(onp.concatenate(first)[:, 0].tolist()) == sorted(X[:, 0].tolist())
    batches.reset()
    for batch in batches:
        assert (batch.data[0].asnumpy()[:, 0] == batch.label[0].asnumpy()).all()


def test_an_iterator_of_ones_own():
    class Twice(DataIter):
        provide_data, provide_label = [DataDesc("data", (5, 6))], [DataDesc("softmax_label", (5,))]
        at = 0

        def reset(self):
            self.at = 0

        def iter_next(self):
            self.at += 1
            return self.at <= 2

        def getdata(self):
            return [nd.array(X[:5])]

        def getlabel(self):
            return [nd.array(Y[:5])]

    assert [str(batch) for batch in Twice(5)] == ["DataBatch: data shapes: [(5, 6)] label shapes: [(5,)]"] * 2
    assert ready().predict(Twice(5)).shape == (10, 2)


def test_under_compat():
    from gluonx import compat

    compat.install_as_mxnet()
    try:
        import mxnet

        assert mxnet.mod.Module is Module and mxnet.module.BucketingModule is BucketingModule
        assert mxnet.io.NDArrayIter is NDArrayIter
        module = mxnet.mod.Module(mlp(), context=mxnet.cpu())
        module.fit(mxnet.io.NDArrayIter(X, Y, 5), num_epoch=1)
        assert isinstance(module.get_outputs()[0], mxnet.nd.NDArray)
    finally:
        compat.uninstall()


def factorization_machine(**stypes):
    """As MXNet 1's example of sparse symbols has it; and the same of dense operators, without `stypes`."""
    ops = sym.sparse if stypes else sym
    x = sym.var("data", **({"stype": "csr"} if stypes else {}))
    v, w = (sym.var(name, shape=shape, **stypes) for name, shape in (("v", (6, 3)), ("w", (6, 1))))
    own = sym._internal._square_sum(data=v, axis=1, keepdims=True) if stypes else sym.sum(v * v, axis=1, keepdims=True)
    pairs = sym.sum(sym.square(ops.dot(x, v)), axis=1, keepdims=True) - ops.dot(sym.square(x), own)
    score = sym.broadcast_add(ops.dot(x, w) + 0.5 * pairs, sym.var("w0", shape=(1,)))
    return sym.LogisticRegressionOutput(data=score, label=sym.var("softmax_label"))


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore:an operator without a rule for csr storage")
def test_sparse_symbols_train_as_dense_ones():
    """Their storage is dense, see docs/sparse.md; their numbers are right."""
    shown = onp.maximum(X, 0)
    weights = [RNG.uniform(-1, 1, shape).astype("float32") for shape in ((6, 3), (6, 1), (1,))]
    trained = []
    for symbol, rows in (
        (factorization_machine(stype="row_sparse"), nd.sparse.csr_matrix(shown)),
        (factorization_machine(), shown),
    ):
        batches = NDArrayIter(rows, Y, batch_size=5, last_batch_handle="discard")
        module = Module(symbol)
        module.bind(batches.provide_data, batches.provide_label)
        module.init_params(arg_params=dict(zip(("v", "w", "w0"), map(nd.array, weights), strict=True)))
        module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.05})
        for batch in batches:
            module.prepare(batch, sparse_row_id_fn=lambda batch: {"w": batch.data[0].indices})
            module.forward_backward(batch)
            module.update()
        trained.append([value.asnumpy() for _, value in sorted(module.get_params()[0].items())])
        trained[-1].append(module.get_outputs()[0].asnumpy())
    v, w, w0 = weights
    for sparse, dense in zip(*trained, strict=True):
        onp.testing.assert_allclose(sparse, dense, 1e-5, 1e-6)
    assert abs(trained[0][0] - v).max() > 0.01  # it learned
    executor = factorization_machine(stype="row_sparse").bind(
        mx.cpu(),
        {"data": nd.array(shown), "v": nd.array(v), "w": nd.array(w), "w0": nd.array(w0), "softmax_label": nd.array(Y)},
    )
    score = (shown @ w)[:, 0] + 0.5 * ((shown @ v) ** 2 - shown**2 @ v**2).sum(1) + w0
    onp.testing.assert_allclose(executor.forward()[0].asnumpy()[:, 0], 1 / (1 + onp.exp(-score)), 1e-5, 1e-6)


def test_parts_of_a_model_take_theirs_from_one_file():
    # sockeye's encoder and decoder are modules that are given the parameters of both
    module = ready()
    args, aux = module.get_params()
    args = {**{n: a + 1 for n, a in args.items()}, "decoder_weight": nd.ones((1,))}
    module.init_params(arg_params=args, aux_params={**aux, "decoder_mean": nd.ones((1,))}, force_init=True)
    module.set_params(args, aux)
    module.set_params(args, aux, allow_missing=True, allow_extra=True)
    found, _ = module.get_params()
    assert "decoder_weight" not in found
    assert all((found[n].asnumpy() == args[n].asnumpy()).all() for n in found)


def test_names_that_programs_reach_for():
    # sockeye's gradient norms and counts of parameters, and the batch size that Keras compares
    module = BucketingModule(by_length, default_bucket_key=6, fixed_param_names=["embed_weight"])
    first = bucket(6)
    module.bind(first.provide_data, first.provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="sgd")
    module.forward_backward(bucket(3))
    assert module._fixed_param_names == ["embed_weight"]
    assert module._curr_bucket_key == 3
    current = module._curr_module
    group = current._exec_group
    assert isinstance(current._optimizer, mx.optimizer.SGD)
    assert group.batch_size == first.data[0].shape[0]
    (executor,) = group.execs
    with_grad = [n for n, g in zip(group.arg_names, executor.grad_arrays, strict=True) if g is not None]
    assert with_grad == [n for n in group.param_names if n != "embed_weight"]
    grads = dict(zip(group.param_names, group.grad_arrays, strict=True))
    assert grads["embed_weight"] == [None]
    assert all(float(abs(grads[n][0]).sum().asscalar()) > 0 for n in with_grad if n.endswith("weight"))
    assert [p[0].shape for p in group.param_arrays] == [executor.arg_dict[n].shape for n in group.param_names]
    assert group.aux_arrays == []


def test_states_are_set_and_not_trained():
    """What `state_names` names is neither a parameter nor an input; other shapes of it are refused."""
    state = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc") + sym.var("state")
    module = Module(state, label_names=None, state_names=["state"])
    with pytest.raises(GraphError, match=r"set_states: call bind\(\)"):
        module.set_states(value=1)
    module.bind([("data", (2, 3))])
    module.init_params("ones")
    assert sorted(module.get_params()[0]) == ["fc_bias", "fc_weight"]
    module.set_states(value=2)
    assert module.get_states()[0].asnumpy().tolist() == [[2, 2], [2, 2]]
    module.set_states([nd.ones((2, 2)) * 3])
    assert module.get_states(merge_multi_context=False)[0][0].asnumpy().tolist() == [[3, 3], [3, 3]]
    for given in ({}, {"states": [nd.ones((2, 2))], "value": 1}, {"states": []}):
        with pytest.raises(ValueError, match="set_states: "):
            module.set_states(**given)
    with pytest.raises(ShapeError, match=r"'state' has shape \(2, 2\), but \(1, 2\) came"):
        module.set_states([nd.ones((1, 2))])
    with pytest.raises(ShapeError, match="reshape: the state 'state' has shape"):
        module.forward(DataBatch([nd.ones((1, 3))]))
    with pytest.raises(ValueError, match="state_names has 'begin'"):
        Module(state, state_names=["begin"])


def test_buckets_share_their_states():
    def sym_gen(length):
        total = sym.sum(sym.var("data"), axis=1, keepdims=True)
        return sym.FullyConnected(total, num_hidden=2, name="fc") + sym.var("state"), ["data"], []

    module = BucketingModule(sym_gen, default_bucket_key=3, state_names=["state"])
    module.bind([("data", (1, 3))], for_training=False)
    module.init_params("ones")
    module.set_states(value=10)
    for length in (3, 2, 4):
        batch = DataBatch([nd.ones((1, length))], bucket_key=length, provide_data=[("data", (1, length))])
        module.forward(batch)
        assert module.get_outputs()[0].asnumpy().tolist() == [[10.0 + length] * 2]
        module.set_states(module.get_outputs(merge_multi_context=False))
        assert module.get_states()[0].asnumpy().tolist() == [[10.0 + length] * 2]
        module.set_states(value=10)


def test_parameters_that_programs_set_and_read(tmp_path):
    """``_arg_params`` and its kin, which are set before ``bind``: MXNet 1.9.1 gives these numbers."""
    module = Module(sym.SoftmaxOutput(sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc"), name="softmax"))
    shapes, batch = ([("data", (2, 3))], [("softmax_label", (2,))]), DataBatch([nd.ones((2, 3))], [nd.zeros((2,))])
    assert module._arg_params is module._aux_params is module._preload_opt_states is None
    module._arg_params = {"fc_weight": nd.ones((2, 3)) * 2, "fc_bias": nd.zeros((2,))}
    module._aux_params, module.params_initialized = {}, True
    module.bind(*shapes)
    assert module.get_params()[0]["fc_weight"].asnumpy().tolist() == [[2, 2, 2], [2, 2, 2]]
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    module.forward_backward(batch)
    module.update()
    module._sync_params_from_devices()
    assert module._arg_params["fc_bias"].asnumpy().tolist() == [0.25, -0.25] and module._aux_params == {}
    module.save_checkpoint(str(tmp_path / "m"), 1, save_optimizer_states=True)
    again = Module.load(str(tmp_path / "m"), 1, load_optimizer_states=True)
    assert again.params_initialized and sorted(again._arg_params) == ["fc_bias", "fc_weight"]
    assert again._preload_opt_states == str(tmp_path / "m-0001.states")
    assert again.get_params()[0]["fc_bias"].asnumpy().tolist() == [0.25, -0.25]  # as MXNet, before bind too
    with pytest.raises(GluonxError, match="bind"):
        again.init_optimizer()
    again.bind(*shapes)
    again._arg_params = {"fc_bias": nd.array([1.0, 2.0])}
    assert again._arg_params["fc_bias"].asnumpy().tolist() == [1, 2]
    again.init_optimizer()
    assert again._preload_opt_states is None
