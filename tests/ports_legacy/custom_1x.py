# ruff: noqa
"""Operators in Python of MXNet 1: CustomOp in NDArray code, blocks, modules and executors; autograd.Function."""

import numpy as onp
import mxnet as mx
from mxnet import nd, autograd, gluon
from mxnet.gluon import nn


def prog(run):
    print("###", run.__name__)
    run()


class Sigmoid(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = 1.0 / (1.0 + mx.nd.exp(-in_data[0]))
        self.assign(out_data[0], req[0], y)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0]
        self.assign(in_grad[0], req[0], out_grad[0] * y * (1 - y))


@mx.operator.register("sigmoid_c")
class SigmoidProp(mx.operator.CustomOpProp):
    def __init__(self):
        super(SigmoidProp, self).__init__(True)

    def list_arguments(self):
        return ["data"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shapes):
        return (in_shapes[0],), (in_shapes[0],), ()

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Sigmoid()


class Softmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = onp.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
        y /= y.sum(axis=1).reshape((x.shape[0], 1))
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        l = in_data[1].asnumpy().ravel().astype(onp.int64)
        y = out_data[0].asnumpy().copy()
        y[onp.arange(l.shape[0]), l] -= 1.0
        self.assign(in_grad[0], req[0], mx.nd.array(y))


@mx.operator.register("softmax_c")
class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super(SoftmaxProp, self).__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def infer_type(self, in_type):
        return in_type, [in_type[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


@prog
def sigmoid():
    x = nd.array([0, 1, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="sigmoid_c")
    y.backward()
    print(y, x.grad)
    x.grad[:] = 0
    with autograd.record():
        z = (nd.Custom(x * 2, op_type="sigmoid_c", name="s") ** 2).sum()
    z.backward()
    print(z.asscalar(), x.grad.asnumpy())


@prog
def softmax_module():
    d = mx.sym.Variable("data")
    fc = mx.sym.FullyConnected(d, name="fc", num_hidden=3)
    out = mx.sym.Custom(data=fc, name="softmax", op_type="softmax_c")
    print(out.list_arguments(), out.list_outputs(), out.infer_shape(data=(4, 5)))
    mod = mx.mod.Module(out)
    rs = onp.random.RandomState(0)
    X, Y = rs.normal(size=(12, 5)), rs.randint(0, 3, 12)
    it = mx.io.NDArrayIter(X, Y, 4)
    mod.fit(it, num_epoch=3, initializer=mx.init.One(), optimizer_params={"learning_rate": 0.1}, eval_metric="ce")
    print(mod.get_params()[0]["fc_weight"].asnumpy().round(4))
    print(mod.score(it, ["acc", "ce"]))


class Aux(mx.operator.CustomOp):
    def __init__(self, scale):
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        if is_train:
            aux[0][:] = aux[0] + 1
        self.assign(out_data[0], req[0], in_data[0] * self.scale)
        self.assign(out_data[1], req[1], in_data[0] + aux[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.scale + out_grad[1])


@mx.operator.register("aux_c")
class AuxProp(mx.operator.CustomOpProp):
    def __init__(self, scale="1.0", name="x"):
        super(AuxProp, self).__init__()
        self.scale = float(scale)
        print("made with", repr(scale), repr(name))

    def list_arguments(self):
        return ["data"]

    def list_outputs(self):
        return ["scaled", "moved"]

    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, s):
        return s, [s[0], s[0]], [(1,)]

    def create_operator(self, ctx, shapes, dtypes):
        return Aux(self.scale)


@prog
def hybrid_block():
    class B(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.Custom(F.relu(x), op_type="sigmoid_c")

    for h in (0, 1):
        net = nn.HybridSequential()
        net.add(nn.Dense(3), B(), nn.Dense(2))
        net.initialize(mx.init.One())
        if h:
            net.hybridize()
        t = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        for k in range(2):
            with autograd.record():
                l = net(nd.array([[0.1, 0.2], [0.3, -0.4]])).sum()
            l.backward()
            t.step(2)
        print(l.asscalar(), net[0].weight.data().asnumpy().round(5))


@prog
def function():
    class Sig(autograd.Function):
        def forward(self, x):
            y = 1 / (1 + nd.exp(-x))
            self.save_for_backward(y)
            return y

        def backward(self, dy):
            (y,) = self.saved_tensors
            return dy * y * (1 - y)

    x = nd.array([0.0, 1.0])
    x.attach_grad()
    f = Sig()
    with autograd.record():
        y = f(x)
        z = y * 2
    z.backward()
    print(y.asnumpy(), x.grad.asnumpy())

    class Two(autograd.Function):
        def forward(self, a, b):
            self.save_for_backward(a, b)
            return a * b, a + b

        def backward(self, d1, d2):
            a, b = self.saved_tensors
            return d1 * b + d2, d1 * a + d2

    a, b = nd.array([1.0, 2.0]), nd.array([3.0, 4.0])
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        u, v = Two()(a, b)
        w = (u * v).sum()
    w.backward()
    print(a.grad.asnumpy(), b.grad.asnumpy())


@prog
def req_add():
    x = nd.array([1.0, 2.0])
    x.attach_grad("add")
    for k in range(3):
        with autograd.record():
            y = nd.Custom(x, op_type="sigmoid_c")
        y.backward(nd.array([1.0, 10.0]))
    print(x.grad.asnumpy())


@prog
def errors():
    class Bad(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            raise ValueError("on purpose")

    @mx.operator.register("bad_c")
    class BadProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, s, t):
            return Bad()

    for f in (
        lambda: nd.Custom(nd.ones(2), op_type="nope"),
        lambda: nd.Custom(nd.ones(2), nd.ones(2), op_type="sigmoid_c").asnumpy(),
    ):
        try:
            f()
            print("no error")
        except Exception:
            print("error")


@prog
def int_types():
    class Arg(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], mx.nd.array(in_data[0].asnumpy().argmax(1), dtype="int32"))

        def backward(self, req, og, i, o, ig, aux):
            self.assign(ig[0], req[0], 0)

    @mx.operator.register("arg_c")
    class ArgProp(mx.operator.CustomOpProp):
        def __init__(self):
            super(ArgProp, self).__init__(need_top_grad=False)

        def infer_shape(self, s):
            return s, [(s[0][0],)], []

        def infer_type(self, t):
            return t, [onp.int32], []

        def create_operator(self, ctx, s, t):
            return Arg()

    y = nd.Custom(nd.array([[1, 3, 2], [9, 1, 1]]), op_type="arg_c")
    print(y, y.dtype)


@prog
def executor():
    s = mx.sym.Custom(mx.sym.Variable("data"), op_type="sigmoid_c", name="s") * 3
    e = s.simple_bind(mx.cpu(), data=(3,))
    e.arg_dict["data"][:] = nd.array([0, 1, 2])
    e.forward(is_train=True)
    e.backward(nd.ones(3))
    print(e.outputs[0].asnumpy(), e.grad_dict["data"].asnumpy())
    print(
        s.list_arguments(),
        s.tojson().count("sigmoid_c"),
        mx.sym.load_json(s.tojson()).eval(data=nd.zeros(2))[0].asnumpy(),
    )


@prog
def storage():
    class P(mx.operator.CustomOpProp):
        def infer_storage_type(self, s):
            return ["default"], ["default"], []

        def create_operator(self, ctx, s, t):
            return Sigmoid()

    mx.operator.register("st_c")(P)
    print(nd.Custom(nd.ones((2, 2)), op_type="st_c").asnumpy(), "Custom" in mx.operator.get_all_registered_operators())


@prog
def running_state():
    class Centre(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            if is_train:
                aux[0][:] = 0.5 * aux[0] + 0.5 * in_data[0].mean(axis=0)
            self.assign(out_data[0], req[0], nd.broadcast_sub(in_data[0], aux[0].reshape((1, -1))))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0])

    @mx.operator.register("centre_c")
    class CentreProp(mx.operator.CustomOpProp):
        def list_auxiliary_states(self):
            return ["running_mean"]

        def infer_shape(self, s):
            return s, [s[0]], [[s[0][1]]]

        def create_operator(self, ctx, s, t):
            return Centre()

    d = mx.sym.Custom(mx.sym.Variable("data"), op_type="centre_c", name="centre")
    d = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(d, num_hidden=1, name="fc"), name="lro")
    m = mx.mod.Module(d, label_names=["lro_label"])
    it = mx.io.NDArrayIter(onp.arange(12.0).reshape(6, 2), onp.arange(6.0), 2, label_name="lro_label")
    m.bind(it.provide_data, it.provide_label)
    m.init_params(mx.init.One(), aux_params={"centre_running_mean": nd.zeros(2)}, allow_missing=True)
    m.init_optimizer(optimizer_params={"learning_rate": 0.01})
    for batch in it:
        m.forward_backward(batch)
        m.update()
    args, _ = m.get_params()  # whose states MXNet leaves as they were given
    print(d.list_auxiliary_states(), args["fc_weight"].asnumpy(), args["fc_bias"].asnumpy())
