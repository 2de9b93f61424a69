# ruff: noqa
"""MXNet 1's Module: fit, checkpoints, features, fine-tuning, gradients of inputs, schedules, monitors."""

import atexit, os, shutil, tempfile
import numpy as onp
import logging
import mxnet as mx
from mxnet import nd


def folder():
    made = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, made, True)
    return made


def prog(run):
    print("###", run.__name__)
    run()


class Keep(logging.Handler):
    def __init__(self):
        logging.Handler.__init__(self)
        self.lines = []

    def emit(self, r):
        self.lines.append(r.getMessage())


keep = Keep()
log = logging.getLogger("mod")
log.addHandler(keep)
log.setLevel(logging.INFO)
log.propagate = False
root = logging.getLogger()
rk = Keep()
root.addHandler(rk)
root.setLevel(logging.INFO)
rs = onp.random.RandomState(0)
X = rs.normal(size=(24, 6)).astype("float32")
Y = rs.randint(0, 3, 24).astype("float32")


def mlp(n=3):
    d = mx.sym.Variable("data")
    h = mx.sym.Activation(mx.sym.FullyConnected(d, num_hidden=8, name="fc1"), act_type="relu", name="relu1")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(h, num_hidden=n, name="fc2"), name="softmax")


class Fixed(mx.init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = onp.random.RandomState(arr.size).uniform(-0.5, 0.5, arr.shape)


def clean(lines):
    import re

    return [re.sub(r"(Time cost=|Speed: )[\d.]+", r"\1T", l) for l in lines]


@prog
def fit():
    it = mx.io.NDArrayIter(X, Y, 8)
    val = mx.io.NDArrayIter(X[:8], Y[:8], 8)
    mod = mx.mod.Module(mlp(), logger=log)
    mod.fit(
        it,
        eval_data=val,
        eval_metric=["acc", "ce"],
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
        initializer=Fixed(),
        num_epoch=3,
        batch_end_callback=mx.callback.Speedometer(8, 1),
        epoch_end_callback=lambda e, s, a, x: print("epoch", e, sorted(a), a["fc2_bias"].asnumpy().round(4)),
    )
    print(clean(keep.lines))
    print(clean([l for l in rk.lines if "acc" in l]))
    root.removeHandler(rk)
    root.setLevel(logging.WARNING)
    print(mod.score(val, "acc"), mod.predict(val).asnumpy().round(4)[:2])


@prog
def intermediate():
    mod = mx.mod.Module(mlp())
    it = mx.io.NDArrayIter(X, Y, 8)
    mod.bind(data_shapes=it.provide_data, label_shapes=it.provide_label)
    mod.init_params(Fixed())
    mod.init_optimizer(optimizer="adam", optimizer_params=(("learning_rate", 0.01),))
    m = mx.metric.create("acc")
    for e in range(2):
        it.reset()
        m.reset()
        for b in it:
            mod.forward(b, is_train=True)
            mod.update_metric(m, b.label)
            mod.backward()
            mod.update()
        print(e, m.get())
    print(mod.data_names, mod.label_names, mod.output_names, mod.data_shapes, mod.label_shapes, mod.output_shapes)
    print({k: float(v.asnumpy().sum().round(4)) for k, v in sorted(mod.get_params()[0].items())})


@prog
def checkpoints():
    d = folder()
    it = mx.io.NDArrayIter(X, Y, 8)
    mod = mx.mod.Module(mlp())
    mod.fit(it, num_epoch=2, initializer=Fixed(), epoch_end_callback=mx.callback.do_checkpoint(d + "/m"))
    print(sorted(os.listdir(d)))
    sym, arg, aux = mx.model.load_checkpoint(d + "/m", 2)
    m2 = mx.mod.Module(sym)
    m2.bind(it.provide_data, it.provide_label, for_training=False)
    m2.set_params(arg, aux)
    it.reset()
    print(m2.score(it, ["acc", "ce"]))
    it.reset()
    m3 = mx.mod.Module.load(d + "/m", 1)
    m3.fit(it, num_epoch=2, begin_epoch=1)
    print(abs(m3.get_params()[0]["fc1_weight"] - arg["fc1_weight"]).sum().asscalar() < 1e-4)
    mod.save_checkpoint(d + "/s", 7, save_optimizer_states=True)
    print(sorted(os.listdir(d)))
    m4 = mx.mod.Module.load(d + "/s", 7, load_optimizer_states=True)
    m4.bind(it.provide_data, it.provide_label)
    m4.init_optimizer()
    it.reset()
    print(m4.score(it, "acc"))
    mod.save_params(d + "/p")
    print(sorted(nd.load(d + "/p")))


@prog
def feature_extract():
    net = mlp()
    internals = net.get_internals()
    print(internals.list_outputs())
    feat = internals["relu1_output"]
    mod = mx.mod.Module(feat, label_names=None)
    mod.bind([("data", (4, 6))], for_training=False)
    full = mx.mod.Module(net)
    full.bind([("data", (4, 6))], [("softmax_label", (4,))])
    full.init_params(Fixed())
    arg, aux = full.get_params()
    mod.set_params(arg, aux, allow_extra=True) if 0 else mod.set_params(
        {k: v for k, v in arg.items() if "fc1" in k}, aux
    )
    mod.forward(mx.io.DataBatch([nd.array(X[:4])]))
    print(mod.get_outputs()[0].asnumpy().round(4)[0])


@prog
def fine_tune():
    full = mx.mod.Module(mlp())
    full.bind([("data", (8, 6))], [("softmax_label", (8,))])
    full.init_params(Fixed())
    arg, aux = full.get_params()
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mlp().get_internals()["relu1_output"], num_hidden=2, name="new"), name="softmax"
    )
    mod = mx.mod.Module(net, fixed_param_names=["fc1_weight", "fc1_bias"])
    it = mx.io.NDArrayIter(X, Y % 2, 8)
    mod.fit(
        it,
        num_epoch=2,
        arg_params=arg,
        aux_params=aux,
        allow_missing=True,
        initializer=Fixed(),
        optimizer_params={"learning_rate": 0.1},
    )
    a = mod.get_params()[0]
    print((a["fc1_weight"] == arg["fc1_weight"]).asnumpy().all(), a["new_weight"].asnumpy().round(4)[0, :4])


@prog
def input_grads():
    mod = mx.mod.Module(mlp())
    mod.bind([("data", (2, 6))], [("softmax_label", (2,))], inputs_need_grad=True)
    mod.init_params(Fixed())
    b = mx.io.DataBatch([nd.array(X[:2])], [nd.array(Y[:2])])
    mod.forward_backward(b)
    print(mod.get_input_grads()[0].asnumpy().round(4))
    print([float(g[0].asnumpy().sum().round(4)) for g in mod._exec_group.grad_arrays])


@prog
def two_inputs():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    out = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(mx.sym.Concat(a, b, dim=1), num_hidden=1, name="fc"), mx.sym.Variable("y"), name="lro"
    )
    it = mx.io.NDArrayIter({"a": X[:, :2], "b": X[:, 2:]}, {"y": Y}, 6)
    mod = mx.mod.Module(out, data_names=["a", "b"], label_names=["y"])
    mod.fit(it, num_epoch=2, eval_metric="mse", initializer=Fixed(), optimizer_params={"learning_rate": 0.05})
    print(mod.score(it, ["mse", "mae", "rmse"]))
    print(mod.get_params()[0]["fc_weight"].asnumpy().round(4))
    for preds, i, batch in mod.iter_predict(it):
        print(i, preds[0].shape, batch.pad)


@prog
def batchnorm_aux():
    d = mx.sym.Variable("data")
    s = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(
            mx.sym.BatchNorm(mx.sym.FullyConnected(d, num_hidden=4, name="fc1"), name="bn", fix_gamma=False),
            num_hidden=3,
            name="fc2",
        ),
        name="softmax",
    )
    mod = mx.mod.Module(s)
    it = mx.io.NDArrayIter(X, Y, 8)
    mod.fit(
        it,
        num_epoch=2,
        initializer=mx.init.Mixed([".*weight", ".*"], [Fixed(), mx.init.One()]) if 0 else Fixed(),
        optimizer_params={"learning_rate": 0.1},
    )
    arg, aux = mod.get_params()
    print(sorted(aux), {k: v.asnumpy().round(3) for k, v in sorted(aux.items())}, arg["bn_gamma"].asnumpy().round(3))


@prog
def schedule_monitor():
    sch = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=0.2)
    mod = mx.mod.Module(mlp())
    it = mx.io.NDArrayIter(X, Y, 8)
    mod.bind(it.provide_data, it.provide_label)
    mod.init_params(Fixed())
    mod.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.2, "lr_scheduler": sch, "wd": 0.01})
    mon = mx.mon.Monitor(
        1, lambda x: nd.norm(x) / x.size**0.5, pattern=".*weight|(fc1|fc2|relu1|softmax)_output", sort=True
    )
    mod.install_monitor(mon)
    for k, b in enumerate(it):
        mon.tic()
        mod.forward_backward(b)
        mod.update()
        for n, name, v in mon.toc():
            print(n, name, v) if k == 0 else None
        print(mod._optimizer.num_update, mod._optimizer.learning_rate)


@prog
def feedforward():
    model = mx.model.FeedForward(mlp(), num_epoch=2, learning_rate=0.1, numpy_batch_size=8, initializer=Fixed())
    it = mx.io.NDArrayIter(X, Y, 8)
    model.fit(it)
    print(model.predict(X[:4]).round(4), model.score(it))
