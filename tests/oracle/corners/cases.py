"""Names of MXNet that programs reach for though no page shows them, in both versions; gluonx runs it under compat."""

import json
import os
import pickle
import tempfile

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn, rnn

ONE = mx.__version__.startswith("1")
if not ONE:
    mx.npx.set_np()


def _array(values):
    return mx.nd.array(values) if ONE else mx.np.array(values, dtype="float32")


def _listed(array):
    return np.asarray(array.asnumpy(), "float64").round(5).ravel().tolist()


def structured_parameters():
    """What conversion tools walk over, and how nested the arrays of a hybridized call were."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3), nn.BatchNorm(), nn.Dense(2))
    cells = rnn.SequentialRNNCell()
    cells.add(rnn.LSTMCell(2))
    cells.add(rnn.ResidualCell(rnn.LSTMCell(2)))
    both = rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2))
    found = [list(block._collect_params_with_prefix()) for block in (net, cells, both)]
    found.append(list(net._collect_params_with_prefix("x")))
    dense = nn.Dense(3)
    dense.initialize()
    formats = [dense._in_format, dense._out_format]
    dense.hybridize()
    dense(_array(np.ones((2, 4))))
    formats += [dense._in_format, dense._out_format]
    layer = rnn.LSTM(3)
    layer.initialize()
    layer.hybridize()
    layer(_array(np.ones((5, 2, 4))), layer.begin_state(batch_size=2))
    return [*found, [*formats, layer._in_format, layer._out_format]]


def activations_of_cells():
    cell = rnn.LSTMCell(3)
    x = _array([[-1.0, 2.0]])
    kinds = ("tanh", "relu", "sigmoid", "softsign", "softrelu", nn.LeakyReLU(0.1), lambda t: t * 2)
    return [_listed(cell._get_activation(*((mx.nd, x, a) if ONE else (x, a)))) for a in kinds]


def fresh_gradients():
    x = _array([1.0, 2.0])
    found = [x._fresh_grad]
    x.attach_grad()
    found.append(x._fresh_grad)
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    found.append(x._fresh_grad)
    x._fresh_grad = False
    net = nn.Dense(1, in_units=2)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with autograd.record():
        y = net(_array([[1.0, 2.0]]))
    y.backward()
    found += [x._fresh_grad, net.weight.data()._fresh_grad]
    trainer.step(1)
    return [bool(f) for f in (*found, net.weight.data()._fresh_grad)]


def kinds_of_devices():
    kind = mx.Context if ONE else mx.Device
    numbers = {str(key): value for key, value in kind.devtype2str.items()}
    return [numbers, kind.devstr2type, [d.device_typeid for d in (mx.cpu(), mx.gpu(1), mx.cpu_pinned())]]


def unrolled():
    """``dynamic_unroll`` over both layouts, with and without lengths."""
    from mxnet.gluon.contrib.rnn.rnn_cell import dynamic_unroll

    found = []
    for layout, shape in (("TNC", (3, 2, 4)), ("NTC", (2, 3, 4))):
        for lengths in (None, [1, 3]):
            cell = rnn.LSTMCell(2)
            cell.initialize(mx.init.Constant(0.1))
            x = _array(np.arange(24).reshape(shape) / 10.0)
            given = None if lengths is None else _array(lengths)
            outs, states = dynamic_unroll(cell, x, cell.begin_state(batch_size=2), layout=layout, valid_length=given)
            found.append([list(outs.shape), _listed(outs), [_listed(s) for s in states]])
    return found


# ------------------------------------------------------------------------------------------------ modules of MXNet 1

_RNG = np.random.RandomState(0)
X = _RNG.rand(20, 6).astype("float32")
LABEL = (X.sum(1) > 3).astype("float32")
TARGET = (X @ np.arange(6)).astype("float32")
WEIGHTS = {"one_weight": _RNG.rand(5, 6) - 0.5, "one_bias": np.zeros(5), "two_weight": _RNG.rand(2, 5) - 0.5}
WEIGHTS["two_bias"] = np.zeros(2)


def _batches():
    return mx.io.NDArrayIter(X, LABEL, batch_size=4)


def chains():
    """A SequentialModule that ends in a SoftmaxOutput, and one that ends in a PythonLossModule."""
    one = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="one")
    one = mx.sym.Activation(one, act_type="tanh", name="act")
    two = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="two")
    found = []
    for kind in ("softmax", "python"):
        chain = mx.mod.SequentialModule()
        chain.add(mx.mod.Module(one, label_names=None))
        if kind == "softmax":
            head = mx.sym.SoftmaxOutput(two, name="softmax")
            chain.add(mx.mod.Module(head), take_labels=True, auto_wiring=True)
        else:
            loss = mx.mod.PythonLossModule(grad_func=lambda s, label: s.softmax() - label.one_hot(2))
            chain.add(mx.mod.Module(two, label_names=None), auto_wiring=True)
            chain.add(loss, take_labels=True, auto_wiring=True)
        given = {name: mx.nd.array(value) for name, value in WEIGHTS.items()}
        chain.fit(
            _batches(), arg_params=given, aux_params={}, allow_missing=True, num_epoch=3,
            optimizer_params={"learning_rate": 0.5, "momentum": 0.9},
        )  # fmt: skip
        names = [chain.data_names, chain.output_names, [list(shape) for _, shape in chain.output_shapes]]
        weights = [_listed(chain.get_params()[0][name]) for name in sorted(WEIGHTS)]
        found.append([names, weights, chain.score(_batches(), "acc"), list(chain.predict(_batches()).shape)])
    return found


def variance_reduced():
    from mxnet.contrib.svrg_optimization.svrg_module import SVRGModule

    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(net, name="lro", label=mx.sym.var("lab"))
    found = []
    for size, momentum in ((4, 0.0), (4, 0.9), (6, 0.0)):
        data = mx.io.NDArrayIter(X, TARGET, batch_size=size, label_name="lab")
        module = SVRGModule(net, label_names=["lab"], update_freq=2)
        begin = {"fc_weight": mx.nd.zeros((1, 6)), "fc_bias": mx.nd.zeros((1,))}
        module.fit(
            data, eval_metric="mse", optimizer_params=(("learning_rate", 0.025), ("momentum", momentum)),
            num_epoch=4, arg_params=begin, aux_params={},
        )  # fmt: skip
        found.append([_listed(module.get_params()[0]["fc_weight"]), module.score(data, "mse")[0][1]])
    return found


def _stepped(make, count=2):
    optimizer = make()
    update = mx.optimizer.get_updater(optimizer)
    rng = np.random.RandomState(3)
    weights = [mx.nd.array(rng.rand(3, 2)) for _ in range(count)]
    for _ in range(9):
        for i, weight in enumerate(weights):
            update(i, mx.nd.array(rng.rand(3, 2) - 0.3), weight)
    return [_listed(weight) for weight in weights]


def large_batches():
    """LBSGD by all of its strategies, and ``ccSGD``."""
    opt = mx.optimizer
    common = {"learning_rate": 0.1, "wd": 0.01, "rescale_grad": 0.5, "clip_gradient": 0.1}
    found = [
        _stepped(lambda k=k, n=n: opt.LBSGD(0.9 if n == 1 else 0.0, warmup_strategy=k, batch_scale=n,
                                            warmup_epochs=2, updates_per_epoch=3, **common))
        for k in ("linear", "power2", "sqrt", "lars", "other") for n in (1, 3)
    ]  # fmt: skip
    found.append(_stepped(lambda: opt.create("lbsgd", batch_scale=2, learning_rate=0.1, begin_epoch=1)))
    return [*found, _stepped(lambda: opt.ccSGD(learning_rate=0.1)), _stepped(lambda: opt.create("ccSGD"))]


def optimizers_by_position():
    """The order of their arguments is another one in MXNet 2."""
    opt = mx.optimizer
    makes = [
        lambda: opt.SGD(0.9), lambda: opt.FTML(0.5), lambda: opt.Ftrl(0.02, 0.2, 2), lambda: opt.DCASGD(0.0, 0.05),
        lambda: opt.NAG(0.9), lambda: opt.LARS(0.9), lambda: opt.AdaGrad(1e-3), lambda: opt.RMSProp(0.1, 0.8, 0.7),
        lambda: opt.AdaDelta(0.8, 1e-3), lambda: opt.contrib.GroupAdaGrad(1e-2), lambda: opt.Signum(0.1, 0.8, 0.01),
        lambda: opt.LAMB(0.1, 0.8), lambda: opt.Adamax(0.1, 0.8), lambda: opt.RMSProp(gamma1=0.8, centered=True),
    ]  # fmt: skip
    return [_stepped(make) for make in makes] + [_stepped(lambda: opt.Nadam(0.1, 0.8), count=1)]


def slices_of_batches():
    from mxnet.executor_manager import _split_input_slice

    found = []
    for size, loads in ((5, [1, 1]), (10, [1, 2, 1]), (7, [1, 1, 1]), (3, [0.5, 0.5]), (8, [3, 1]), (1, [1, 1])):
        try:
            found.append([[s.start, s.stop] for s in _split_input_slice(size, loads)])
        except ValueError:
            found.append("ValueError")
    return found


def corpora():
    from mxnet.gluon.contrib.data import text

    text.check_sha1 = lambda *_: True  # so that MXNet takes the file that is there
    text_of_wiki = " \n = A Title = \n \n the cat sat on the mat . the dog \n ran off the <unk> road . \n"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "wiki.train.tokens"), "w", encoding="utf8") as file:
            file.write(text_of_wiki)
        first = text.WikiText2(folder, seq_len=5)
        second = text.WikiText103(folder, "train", first.vocabulary, 3)
        found = [len(first), first.vocabulary.idx_to_token, dict(first.frequencies), len(second)]
        return [*found, [[_listed(part) for part in data[1]] for data in (first, second)]]


def zipfian():
    """What does not hang on the draws: shapes, types, a whole range, and the share of small numbers."""
    draw = mx.nd._internal._sample_unique_zipfian
    samples, tries = draw(range_max=100, shape=(2, 5))
    whole = sorted(draw(8, shape=(1, 8))[0].asnumpy()[0].tolist())
    return [list(samples.shape), list(tries.shape), [np.dtype(x.dtype).name for x in (samples, tries)], whole]


def matrices():
    test_utils = mx.test_utils
    return [_listed(test_utils.get_identity_mat(3)), list(test_utils.get_identity_mat_batch(2).shape)]


def own_iterators():
    from multiprocessing.pool import ThreadPool

    from mxnet.gluon.data.dataloader import _MultiWorkerIter, _thread_worker_fn, default_batchify_fn

    data = gluon.data.ArrayDataset(np.arange(10).astype("float32"))
    batches = gluon.data.BatchSampler(gluon.data.SequentialSampler(10), 4, "keep")
    with ThreadPool(2) as pool:
        loader = _MultiWorkerIter(
            pool, default_batchify_fn, batches, worker_fn=_thread_worker_fn, dataset=data, prefetch=2
        )
        return [len(loader), [_listed(batch) for batch in loader]]


def sparse_activations():
    """``IdentityAttachKLSparseReg``: its gradient, its state, and a Module with it."""
    target = {"sparseness_target": 0.2, "penalty": 0.1, "momentum": 0.8}
    alone = mx.sym.IdentityAttachKLSparseReg(mx.sym.var("data"), name="kl", **target)
    bound = alone.simple_bind(mx.cpu(), data=(3, 2))
    bound.arg_dict["data"][:] = np.array([[0.2, 0.5], [0.3, 0.9], [0.4, 0.1]])
    found = [alone.list_arguments(), alone.list_auxiliary_states()]
    for _ in range(2):
        bound.forward(is_train=True)
        bound.backward(mx.nd.ones((3, 2)) * 2)
        arrays = (bound.outputs[0], bound.grad_dict["data"], bound.aux_dict["kl_moving_avg"])
        found.append([_listed(array) for array in arrays])
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="enc")
    hidden = mx.sym.Activation(hidden, act_type="sigmoid", name="act")
    hidden = mx.sym.IdentityAttachKLSparseReg(hidden, name="sparse", **target)
    net = mx.sym.FullyConnected(hidden, num_hidden=6, name="dec")
    module = mx.mod.Module(mx.sym.LinearRegressionOutput(net, mx.sym.var("lab"), name="lro"), label_names=["lab"])
    data = mx.io.NDArrayIter(X, X, 4, label_name="lab")
    given = {"optimizer_params": {"learning_rate": 0.1}, "initializer": mx.init.Constant(0.3)}
    module.fit(data, num_epoch=3, eval_metric="mse", **given)
    params, states = module.get_params()
    return [*found, _listed(params["enc_weight"]), _listed(states["sparse_moving_avg"])]


def gradients_of_integers():
    """Of functions of MXNet 2; those of MXNet 1 are the program whole_numbers of tests/ports_legacy."""
    np, functions = mx.np, {
        "square": lambda x: x * x,
        "scaled": lambda x: x * 2,
        "sum": lambda x: np.sum(x, axis=1, keepdims=True) * 3,
        "cumsum": lambda x: np.cumsum(x, axis=0),
        "transpose": lambda x: x.T * 2,
        "abs": lambda x: np.abs(x),
        "cast": lambda x: x.astype("float32") * 2.7,
        "slice": lambda x: x[1:] * 3,
        "mean": lambda x: np.mean(x),
        "tile": lambda x: np.tile(x, (2, 1)),
        "flip": lambda x: np.flip(x, 0),
        "roll": lambda x: np.roll(x, 1),
        "pad": lambda x: np.pad(x, ((1, 1), (0, 0))),
        "clip": lambda x: np.clip(x, 0, 4),
        "tril": lambda x: np.tril(x),
        "trace": lambda x: np.trace(x),
        "max": lambda x: np.max(x, axis=1),
        "prod": lambda x: np.prod(x, axis=1),
        "split": lambda x: np.split(x, 3, axis=1)[1] * 2,
        "power": lambda x: x**2,
        "broadcast": lambda x: np.broadcast_to(x, (2, 2, 3)),
        "relu": lambda x: mx.npx.relu(x),
        "einsum": lambda x: np.einsum("ij->i", x),
        "stack": lambda x: np.stack([x, x]),
        "concatenate": lambda x: np.concatenate([x, x], axis=1),
        "beside a float": lambda x: x * np.array([[0.5], [1.5]], dtype="float32"),
    }  # fmt: skip
    found = {}
    for dtype in ("int32", "int64", "int8"):
        for name, function in functions.items():
            x = np.array([[1, -2, 3], [4, 5, -6]], dtype=dtype)
            x.attach_grad()
            with autograd.record():
                y = function(x)
            y.backward()
            found[f"{name} of {dtype}"] = [str(x.grad.dtype), x.grad.asnumpy().tolist()]
    return found


def floats_beside_integers():
    """What comes of integers and a Python float in MXNet 2: also recorded and hybridized."""
    np = mx.np

    class Halved(gluon.HybridBlock):
        def forward(self, x):
            return (x * 0.5 + np.ones(3, dtype="float32")) ** 2

    found = {}
    halved = Halved()
    halved.hybridize()
    for dtype in ("int8", "int32", "int64", "bool"):
        x = np.array([1, 0, 3], dtype=dtype)
        with autograd.record():
            recorded = x * 2.5 + 1
        row = [
            x + 1.5, 1.5 - x, x * 2.5, x / 2.5, x**0.5, 2.5**x, x % 2.5, x // 2.5, recorded, halved(x),
            np.maximum(x, 1.5), np.hypot(x, 1.5), np.arctan2(x, 1.5), np.multiply(x, 0.1), np.power(x, 0.5),
            x > 1.5, x + np.array([0.5], dtype="float32"), x * 0.1 * np.array([0.5], dtype="float32"),
        ]  # fmt: skip
        found[dtype] = [[str(y.dtype), _listed(y)] for y in row]
    return found


def graphs_of_blocks():
    """The graph of a hybridized block, which loggers and converters take from it."""
    net = nn.HybridSequential(prefix="n_")
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    net.initialize()

    class Both(nn.HybridBlock):
        def hybrid_forward(self, F, a, rest):
            return a + rest[0], a * rest[0]

    both = Both()
    found = [list(net._cached_graph)]
    net.hybridize()
    both.hybridize()
    x = mx.nd.ones((1, 3))
    net(x)
    both(x, [x])
    for block in (net, both):
        inputs, out = block._cached_graph
        names = [i.name for i in (inputs if isinstance(inputs, list) else [inputs])]
        found.append([names, out.list_arguments(), len(out.list_outputs())])
    return found


def order_of_initialization():
    """A module gives its parameters values in the order of their names, a FeedForward as the symbol lists them."""
    seen = []

    class Seen(mx.init.Initializer):
        def _init_weight(self, name, arr):
            seen.append(str(name))
            arr[:] = len(seen)

        _init_bias = _init_gamma = _init_beta = _init_weight

    hidden = mx.sym.BatchNorm(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="z"), name="b")
    module = mx.mod.Module(mx.sym.FullyConnected(hidden, num_hidden=2, name="a"), label_names=None)
    module.bind([("data", (2, 4))])
    module.init_params(Seen())
    by_module, seen[:] = list(seen), []
    loss = mx.sym.SoftmaxOutput(module.symbol, name="softmax")
    model = mx.model.FeedForward(loss, num_epoch=1, initializer=Seen(), numpy_batch_size=2)
    model.fit(np.ones((4, 4), "float32"), np.zeros(4, "float32"))
    return by_module, seen


def whole_numbers_rounded():
    """Integers cut off, not rounded."""
    found = []
    for name in ("around", "round", *(() if ONE else ("round_",))):
        for dtype in ("int8", "int32", "int64", "uint8"):
            x = mx.np.array([5, 15, 25, 27, 127], dtype=dtype)
            y = [getattr(mx.np, name)(x, decimals) for decimals in (0, 1, -1, -2)]
            found.append([np.dtype(y[2].dtype).name, *map(_listed, y)])
        found.append(_listed(getattr(mx.np, name)(mx.np.array([-15, -27], dtype="int32"), -1)))
        found.append(_listed(getattr(mx.np, name)(mx.np.array([-15.0, 27.0]), -1)))
    return found


def printed():
    """What a net is shown as before its sizes are known."""
    layers = (
        nn.Dense(6),
        nn.Conv2D(4, 3),
        nn.BatchNorm(),
        rnn.LSTMCell(4),
        rnn.GRUCell(4),
        rnn.LSTM(4),
        nn.Dense(6, in_units=2),
    )
    return [repr(layer) for layer in layers]


def counts():
    """The element type of counts is that of the numbers."""
    found = []
    for dtype in ("int32", "int64"):
        x = mx.np.array([0, 2, 2, 1], dtype=dtype)
        for y in (mx.np.bincount(x), mx.np.bincount(x, minlength=5), mx.np.bincount(x, weights=mx.np.ones(4))):
            found.append([np.dtype(y.dtype).name, _listed(y)])
    return found


def pools_of_caffe():
    """More numbers than there are spatial axes."""
    x = mx.np.arange(16.0).reshape(1, 1, 4, 4)
    pads = (1, 1, 1, 1), (1, 0, 0, 0)
    return [_listed(mx.npx.pooling(x, kernel=(2, 2), stride=(2, 2), pad=pad)) for pad in pads]


def places_of_outputs():
    """How many outputs a graph's JSON says that its operators have, also those that nobody sees."""
    x, found = mx.sym.var("x"), []
    ones = [mx.sym.Dropout(x), mx.sym.BatchNorm(x), mx.sym.LayerNorm(x), mx.sym.Pooling(x, kernel=(2, 2))]
    ones += [mx.sym.LRN(x, nsize=3), mx.sym.split(x, num_outputs=3), mx.sym.L2Normalization(x), mx.sym.softmax(x)]
    ones += [mx.sym.RNN(x, state_size=3, num_layers=1, mode="lstm", state_outputs=True), mx.sym.topk(x, ret_typ="both")]
    for one in (*ones, mx.sym.sort(x), mx.sym.CTCLoss(x)):
        graph = json.loads(one.tojson())
        found.append([node["op"] for node in graph["nodes"]] + graph["node_row_ptr"])
    return found


def shapes_known_in_part():
    """What is known of a result tells the shapes of inputs; an open size is 0, or -1 after ``set_np_shape()``."""
    var, found = mx.sym.var, []
    for numpy_shapes in (False, True):
        with mx.util.np_shape(numpy_shapes):
            u = -1 if numpy_shapes else 0
            x = var("x", shape=(u, 10))
            images = var("x", shape=(u, 10, u, u))
            conv = mx.sym.Convolution(images, num_filter=21, kernel=(3, 3), dilate=(1, 1), pad=(1, 1), name="c")
            parts = mx.sym.SliceChannel(var("x", shape=(u, 15, u)), num_outputs=3)
            dense = mx.sym.FullyConnected(var("x", shape=(u, 10, 3)), flatten=False, num_hidden=21, name="f")
            for one in (
                mx.sym.FullyConnected(x, num_hidden=21, name="f") + var("y", shape=(5, u)),
                dense + var("y", shape=(5, u, u)),
                mx.sym.SliceChannel(x, num_outputs=10, squeeze_axis=True)[1] + var("y", shape=(5,)),
                parts[1] + var("y", shape=(3, 5, 2)),
                conv + var("y", shape=(5, 21, 32, 32)),
                var("y", shape=(2, u)) + mx.sym.Concat(x, var("z", shape=(u, 5)), dim=1),
                x + var("y", shape=(12, u)),
            ):
                found.append([list(map(list, part)) for part in one.infer_shape()[:2]])
            for one, known in (
                (mx.sym.sin(var("x")), {}),
                (mx.sym.dot(var("x"), var("y")), {"x": (u, 3, 4), "y": (4, 5)}),
                (mx.sym.batch_dot(var("x"), var("y")), {"x": (u, 3, 4), "y": (u, u, 5)}),
                (mx.sym.transpose(var("x"), axes=(0, 3, 2, 1)), {"x": (u, 3, 224, 224)}),
                (mx.sym.pick(var("x"), var("y"), axis=1), {"x": (u, 3, 3), "y": (u, 3)}),
            ):
                parts = one.infer_shape_partial(**known)[:2]
                found.append([[None if shape is None else list(shape) for shape in part] for part in parts])
    return found


def attributes_of_scopes():
    """Names stay as they were given; those that MXNet knows are listed under two."""
    with mx.AttrScope(group="4", data="great"):
        own = mx.sym.var("data", attr={"dtype": "data", "group": "1", "force_mirroring": "True"}, lr_mult=1)
        other = mx.sym.var("other")
    with mx.AttrScope(__group__="4", ctx_group="dev1"):
        conv = mx.sym.Convolution(own, name="conv", kernel=(1, 1), num_filter=1, attr={"wd_mult": "2"})
    again = pickle.loads(pickle.dumps(conv))
    found = [sorted(one.list_attr().items()) for one in (own, other, conv, again, pickle.loads(pickle.dumps(own)))]
    return [*found, again.list_arguments(), again.tojson() == conv.tojson()]


def graph_of_what_was_recorded():
    """``autograd.get_symbol``."""
    x, z = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 4.0])
    for one in (x, z):
        one.attach_grad()
    with autograd.record():
        y = x * x + 2 * z - mx.nd.exp(x)
    graph = autograd.get_symbol(y)
    bound = graph.bind(mx.cpu(), [mx.nd.array([3.0, 1.0])] * len(graph.list_arguments()))
    return [len(graph.list_arguments()), len(graph.list_outputs()), _listed(bound.forward()[0])]


def sparse_leaves():
    """``attach_grad`` of sparse arrays: the gradient of the whole array, in their storage."""
    dense = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 4]], "float32")
    left = mx.nd.array([[0, 1, 2], [3, 0, 0]]).tostype("csr")
    nd, found = mx.nd, []
    functions = {
        "both": [
            lambda x: x * 2, nd.exp, nd.abs, lambda x: x + x, lambda x: x * x, nd.sum, lambda x: nd.square(x * 2) * 3,
            lambda x: x * nd.ones((3, 3)), nd.norm, lambda x: x.tostype("default") * 2, lambda x: x - 1,
        ],
        "row_sparse": [lambda x: nd.dot(left, x), lambda x: nd.sparse.retain(x, nd.array([0, 1]))],
        "csr": [lambda x: x[0:2], lambda x: nd.concat(x, x, dim=0), lambda x: nd.dot(x, nd.ones((3, 2)))],
    }  # fmt: skip
    for stype in ("row_sparse", "csr"):
        for function in (*functions["both"], *functions[stype]):
            x = nd.array(dense).tostype(stype)
            x.attach_grad()
            with autograd.record():
                y = function(x)
            y.backward(nd.ones(y.shape) * 2)
            found.append([y.stype, x.grad.stype, _listed(y), _listed(x.grad)])
        x = nd.array(dense).tostype(stype)
        gradient = nd.zeros_like(x)
        autograd.mark_variables([x], [gradient])
        for _ in range(2):
            with autograd.record():
                y = nd.square(x)
            autograd.backward([y])
            found.append([gradient.stype, _listed(gradient)])
            x[:] = x * 2
        x.grad[:] = nd.zeros((3, 3)).tostype(stype)
        found.append(_listed(x.grad))
    return found


def reshaped_arrays():
    """What is written to a reshaped array shows in the array that it was made of."""

    def all_of_it(x):
        x.reshape((2, 3))[:] = 7

    def parts(x):
        y = x.reshape((2, 3))
        y[0] = 5
        y[1, 1] = 9

    def in_place(x):
        y = x.reshape((2, 3))
        y += 1
        y *= 2
        mx.nd.exp(y * 0.1, out=y)

    def numpy_values(x):
        x.reshape((-1, 1))[:] = np.arange(6, 0, -1).reshape(6, 1)

    def twice(x):
        y = x.reshape((2, 3))
        z = y.reshape((3, 2))
        z[:] = 4
        y[1] = z[0, 0] * 2
        x.reshape((3, 2)).reshape((2, 3))[0] = 3

    def slices(x):
        x[2:].reshape((2, 2))[0] = 1

    found = []
    for write in (all_of_it, parts, in_place, numpy_values, twice, slices):
        x = mx.nd.arange(6)
        write(x)
        found.append(_listed(x))
    averages, weight = mx.nd.zeros(3), mx.nd.array([[1, 2, 3], [4, 5, 6]])
    weight.attach_grad()
    with autograd.record():
        mean = weight.mean(axis=0, keepdims=True)
        moving = averages.reshape((1, 3))
        moving[:] = 0.9 * moving + 0.1 * mean
        loss = ((weight - mean) ** 2 * mx.nd.array([[1], [2]])).sum()
    loss.backward()
    found += [_listed(averages), _listed(weight.grad)]
    weight.reshape((-1,))[:] = mx.nd.arange(6)
    with autograd.record():
        loss = (weight * weight).sum()
    loss.backward()
    return [*found, _listed(weight), _listed(weight.grad)]


def executors_reshaped():
    """An executor for fewer rows shares the memory of inputs without gradients, and of outputs."""
    graph = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="f")
    whole = graph.simple_bind(mx.cpu(), x=(4, 3), grad_req="null")
    whole.arg_dict["x"][:] = mx.nd.arange(12).reshape((4, 3))
    whole.arg_dict["f_weight"][:] = 1
    whole.arg_dict["f_bias"][:] = 0
    whole.forward()
    part = whole.reshape(x=(2, 3))
    found = [_listed(part.arg_dict["x"])]
    part.arg_dict["x"][:] = 100
    part.forward()
    found += [_listed(a) for a in (whole.arg_dict["x"], whole.outputs[0], part.outputs[0])]
    whole.forward()
    return [*found, _listed(whole.outputs[0])]


def scores_by_batch():
    """How much F1 and MCC count, which are means over calls of ``update``."""
    found = []
    for kind in (mx.metric.F1, mx.metric.MCC):
        metric = kind()
        for label, pred in (([1, 0, 1], [[0.3, 0.7], [0.2, 0.8], [0.6, 0.4]]), ([1, 0], [[0.3, 0.7], [0.2, 0.8]])):
            metric.update([_array(label)], [_array(pred)])
            found.append([float(metric.num_inst), float(metric.sum_metric), float(metric.get()[1])])
        metric.reset()
        found.append(float(metric.num_inst))
    return found


def classes_of_slices():
    """Programs ask ``type(x) == mx.nd.NDArray``, also of slices and of what detach() gives."""
    found = []
    for make, kind in ((mx.nd, mx.nd.NDArray), (mx.np, mx.np.ndarray)):
        x = make.ones((3, 2))
        each = [x, x[0], x[1:], x[1:][0], x.detach(), x[1:].detach(), x.T]
        kinds = [(type(y), type(x[2])) for y in each]
        found.append([[a == kind, a != kind, a == b, a.__name__] for a, b in kinds])
        found.append([a in given for a, _ in kinds for given in ((list, tuple), (list, kind))])
    return found


def attached_after_recording():
    """An array of ``mx.nd`` that gets its gradient after it was recorded: cut off in MXNet 1, and not in MXNet 2."""
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = x * 2
        y.attach_grad()
        z = (y * y).sum()
    z.backward()
    return [_listed(x.grad), _listed(y.grad)]


def recurrent_layers_of_symbols():
    """A layer of ``gluon.rnn`` in a graph of symbols, as networks that read text in images have it."""
    found = []
    for make in (rnn.LSTM, rnn.GRU, rnn.RNN):
        for settings in ({"layout": "NTC"}, {"bidirectional": True, "input_size": 4}):
            layer = make(3, 2, prefix="layer_", **settings)
            out = layer(mx.sym.var("data"))
            found.append([out.list_arguments(), out.list_outputs(), out.get_internals().list_outputs()])
            shapes, outs, _ = out.infer_shape(data=(2, 5, 4))
            found.append([[list(shape) for shape in shapes], [list(shape) for shape in outs]])
            executor = out.simple_bind(mx.cpu(), data=(2, 5, 4))
            for name, array in executor.arg_dict.items():
                array[:] = np.cos(np.arange(array.size) + len(name)).reshape(array.shape)
            executor.forward(is_train=True)
            executor.backward(executor.outputs)
            found.append(
                [_listed(executor.outputs[0]), *[_listed(executor.grad_dict[n]) for n in ("data", "layer_l1_i2h_bias")]]
            )
    states = [mx.sym.var("h"), mx.sym.var("c")]
    out, last = rnn.LSTM(3, prefix="layer_")(mx.sym.var("data") * 2, states)
    found.append([out.list_arguments(), [symbol.list_outputs() for symbol in (out, *last)]])
    return found


def stores_of_trainers():
    """The store of a Trainer over two devices, and what a program pushes to it by hand between two steps."""
    devices = [mx.cpu(0), mx.cpu(1)]
    found = []
    for settings in ({}, {"kvstore": "local"}, {"kvstore": None}, {"update_on_kvstore": False}):
        net = nn.Dense(1, in_units=2, use_bias=False)
        net.initialize(mx.init.One(), devices)
        params = {"learning_rate": 0.1, "momentum": 0.9}
        trainer = gluon.Trainer(net.collect_params(), "sgd", params, **settings)
        found.append([trainer._kv_initialized, trainer._kvstore is None])

        def backward(net=net):
            with autograd.record():
                array = mx.nd.array if ONE else mx.np.array
                losses = [(net(array([[1.0, 2.0]]).copyto(d)) * (i + 1)).sum() for i, d in enumerate(devices)]
            autograd.backward(losses)

        for _ in range(2):
            backward()
            trainer.step(2)
        (param,) = net.collect_params().values()
        store = trainer._kvstore
        found.append([getattr(store, name, None) for name in ("type", "rank", "num_workers")])
        found.append([trainer._update_on_kvstore, len(trainer._updaters), store is trainer._kvstore])
        backward()
        if store is not None:
            arrays = param.list_data() if trainer._update_on_kvstore else param.list_grad()
            store.push(0, param.list_grad())
            trainer._kvstore.pull(0, arrays)
            found.append([_listed(array) for array in arrays])
            backward()
        trainer.step(2)
        found.append([_listed(array) for array in param.list_data()])
    return found


_BOTH = (
    structured_parameters, activations_of_cells, fresh_gradients, kinds_of_devices, whole_numbers_rounded, printed,
    counts, pools_of_caffe, classes_of_slices, attached_after_recording, stores_of_trainers,
)  # fmt: skip
_OF_1 = (
    unrolled, chains, variance_reduced, large_batches, optimizers_by_position, slices_of_batches, corpora, zipfian,
    matrices, own_iterators, sparse_activations, graphs_of_blocks, order_of_initialization,
    places_of_outputs, shapes_known_in_part, attributes_of_scopes,
    graph_of_what_was_recorded, sparse_leaves, reshaped_arrays, executors_reshaped, scores_by_batch,
    recurrent_layers_of_symbols,
)  # fmt: skip
CASES = {case.__name__: case for case in (*_BOTH, *(_OF_1 if ONE else (gradients_of_integers, floats_beside_integers)))}
