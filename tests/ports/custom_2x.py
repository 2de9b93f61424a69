# ruff: noqa
"""Operators in Python of MXNet 2: CustomOp on np arrays, in blocks; autograd.Function."""

import numpy as onp
import mxnet as mx
from mxnet import np, npx, autograd, gluon, nd

npx.set_np()
from mxnet.gluon import nn


def prog(run):
    print("###", run.__name__)
    run()


def Custom(*a, **k):
    r = nd.Custom(*[x.as_nd_ndarray() for x in a], **k)
    return r.as_np_ndarray() if not isinstance(r, (list, tuple)) else [x.as_np_ndarray() for x in r]


class Sigmoid(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = 1.0 / (1.0 + np.exp(-in_data[0]))
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
        self.assign(out_data[0], req[0], np.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        l = in_data[1].asnumpy().ravel().astype(onp.int64)
        y = out_data[0].asnumpy().copy()
        y[onp.arange(l.shape[0]), l] -= 1.0
        self.assign(in_grad[0], req[0], np.array(y))


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
    x = np.array([0, 1, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = Custom(x, op_type="sigmoid_c")
    y.backward()
    print(y, x.grad)
    x.grad[:] = 0
    with autograd.record():
        z = (Custom(x * 2, op_type="sigmoid_c", name="s") ** 2).sum()
    z.backward()
    print(z.item(), x.grad.asnumpy())


@prog
def softmax():
    x, l = np.array([[1.0, 2, 3], [3, 2, 1]]), np.array([0, 1])
    x.attach_grad()
    with autograd.record():
        y = Custom(x, l, op_type="softmax_c")
    y.backward()
    print(y, x.grad)
    kinds = []

    class K(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            kinds.append((bool(is_train), req[0]))
            self.assign(out_data[0], req[0], in_data[0].sum(axis=1, keepdims=True) * np.ones((1, 3)))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            kinds.append(req[0])
            self.assign(in_grad[0], req[0], np.ones_like(in_data[0]))

    @mx.operator.register("kind_c")
    class KP(mx.operator.CustomOpProp):
        def create_operator(self, ctx, s, t):
            return K()

    with autograd.record():
        y = Custom(x, op_type="kind_c")
    y.backward()
    print(y, x.grad, kinds)


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
        def forward(self, x):
            return Custom(npx.relu(x), op_type="sigmoid_c")

    for h in (0, 1):
        net = nn.HybridSequential()
        net.add(nn.Dense(3), B(), nn.Dense(2))
        net.initialize(mx.init.One())
        if h:
            net.hybridize()
        t = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        for k in range(2):
            with autograd.record():
                l = net(np.array([[0.1, 0.2], [0.3, -0.4]])).sum()
            l.backward()
            t.step(2)
        print(l.item(), net[0].weight.data().asnumpy().round(5))


@prog
def function():
    class Sig(autograd.Function):
        def forward(self, x):
            y = 1 / (1 + np.exp(-x))
            self.save_for_backward(y)
            return y

        def backward(self, dy):
            (y,) = self.saved_tensors
            return dy * y * (1 - y)

    x = np.array([0.0, 1.0])
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

    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        u, v = Two()(a, b)
        w = (u * v).sum()
    w.backward()
    print(a.grad.asnumpy(), b.grad.asnumpy())


@prog
def req_add():
    x = np.array([1.0, 2.0])
    x.attach_grad("add")
    for k in range(3):
        with autograd.record():
            y = Custom(x, op_type="sigmoid_c")
        y.backward(np.array([1.0, 10.0]))
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
        lambda: Custom(np.ones(2), op_type="nope"),
        lambda: Custom(np.ones(2), np.ones(2), op_type="sigmoid_c").asnumpy(),
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
            self.assign(out_data[0], req[0], np.array(in_data[0].asnumpy().argmax(1), dtype="int32"))

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

    y = Custom(np.array([[1, 3, 2], [9, 1, 1]]), op_type="arg_c")
    print(y, y.dtype)


@prog
def storage():
    class P(mx.operator.CustomOpProp):
        def infer_storage_type(self, s):
            return ["default"], ["default"], []

        def create_operator(self, ctx, s, t):
            return Sigmoid()

    mx.operator.register("st_c")(P)
    print(Custom(np.ones((2, 2)), op_type="st_c").asnumpy(), "Custom" in mx.operator.get_all_registered_operators())


@prog
def two_inputs_two_outputs():
    class Polar(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            a, b = in_data
            self.assign(out_data[0], req[0], a * a + b * b)
            self.assign(out_data[1], req[1], a * b)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            a, b = in_data
            self.assign(in_grad[0], req[0], 2 * a * out_grad[0] + b * out_grad[1])
            self.assign(in_grad[1], req[1], 2 * b * out_grad[0] + a * out_grad[1])

    @mx.operator.register("polar_c")
    class PolarProp(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["a", "b"]

        def list_outputs(self):
            return ["square", "product"]

        def infer_shape(self, s):
            return s, [s[0], s[0]], []

        def create_operator(self, ctx, s, t):
            return Polar()

    a, b = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        square, product = Custom(a, b, op_type="polar_c")
        total = (square * product).sum()
    total.backward()
    print(square, product, a.grad, b.grad)


@prog
def training_with_a_loss():
    net = nn.Dense(2, in_units=3)
    net.initialize(mx.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x, y = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]), np.array([0.0, 1.0])
    for _ in range(3):
        with autograd.record():
            out = Custom(net(x), y, op_type="softmax_c")
        out.backward()
        trainer.step(2)
        print(out)
    print(net.weight.data(), net.bias.data())
