"""A loss and an operator with a state, written as users of MXNet 1 write them, in blocks, symbols and modules.

For MXNet 1.9.1 and, under gluonx.compat, for gluonx alike: import it once ``import mxnet`` gives the one meant.
"""

import functools

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, nd

__all__ = ["CASES"]


class Softmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = onp.exp(x - x.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], nd.array(y / y.sum(axis=1, keepdims=True)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().ravel().astype(int)
        y = out_data[0].asnumpy().copy()
        y[onp.arange(len(label)), label] -= 1.0
        self.assign(in_grad[0], req[0], nd.array(y))


@mx.operator.register("users_softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def infer_type(self, in_type):
        return in_type, [in_type[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


class Gram(mx.operator.CustomOp):
    """x x^T times how often it was called."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        if is_train:
            aux[0][:] = aux[0] + 1
        self.assign(out_data[0], req[0], nd.dot(in_data[0], in_data[0].T) * aux[0] * self.scale)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        both = nd.dot(out_grad[0] + out_grad[0].T, in_data[0]) * aux[0] * self.scale
        self.assign(in_grad[0], req[0], both)


@mx.operator.register("users_gram")
class GramProp(mx.operator.CustomOpProp):
    def __init__(self, scale="1"):
        super().__init__()
        self.scale = float(scale)

    def list_outputs(self):
        return ["gram"]

    def list_auxiliary_states(self):
        return ["calls"]

    def infer_shape(self, in_shape):
        n = in_shape[0][0]
        return in_shape, [(n, n)], [(1,)]

    def create_operator(self, ctx, shapes, dtypes):
        return Gram(self.scale)


X = onp.array([[0.1, -0.4, 0.3, 0.9], [0.5, 0.2, -0.7, 0.4], [-0.3, 0.8, 0.6, -0.1], [0.7, 0.7, 0.2, 0.1]], "float32")
LABEL = onp.array([0, 1, 2, 1], "float32")


class Classifier(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense = gluon.nn.Dense(3, in_units=4)

    def hybrid_forward(self, F, x, label):
        return F.Custom(self.dense(x), label, op_type="users_softmax")


class Counted(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.calls = self.params.get("calls", shape=(1,), grad_req="null", init="zeros")

    def hybrid_forward(self, F, x, calls):
        return F.relu(F.Custom(x * 2, calls, op_type="users_gram", scale=0.5))


def trained(hybrid):
    net = Classifier()
    net.initialize(mx.init.One())
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    for _ in range(4):
        with autograd.record():
            out = net(nd.array(X), nd.array(LABEL))
        out.backward()
        trainer.step(4)
    return [out, net.dense.weight.data(), net.dense.bias.data()]


def counted(hybrid):
    net = Counted()
    net.initialize()
    if hybrid:
        net.hybridize()
    x = nd.array(X)
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            gram = net(x)
        gram.backward()
    return [gram, x.grad, net.calls.data(), net(x)]


def fitted():
    data = mx.sym.var("data")
    dense = mx.sym.FullyConnected(data, num_hidden=3, name="fc")
    graph = mx.sym.load_json(mx.sym.Custom(data=dense, name="softmax", op_type="users_softmax").tojson())
    module = mx.mod.Module(graph, label_names=["softmax_label"], context=mx.cpu())
    batches = mx.io.NDArrayIter(X, LABEL, 2, label_name="softmax_label")
    module.fit(batches, num_epoch=5, optimizer_params={"learning_rate": 0.5}, initializer=mx.init.One())
    args, _ = module.get_params()
    return [args["fc_weight"], args["fc_bias"]]


def bound():
    x = mx.sym.var("x")
    graph = mx.sym.Custom(x * 2, name="g", op_type="users_gram", scale=0.5) * 3
    executor = graph.simple_bind(mx.cpu(), x=(4, 4))
    executor.arg_dict["x"][:] = X
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(nd.ones((4, 4)))
    return [executor.outputs[0], executor.grad_dict["x"], executor.aux_dict["g_calls"]]


class Bounded(mx.operator.CustomOp):
    """Cuts off at a bound that is learned, and kept between 0 and 2 by writing to it, as quantizing operators do."""

    def forward(self, is_train, req, in_data, out_data, aux):
        if in_data[1].asnumpy()[0] > 2:
            in_data[1][:] = 2
        bound = in_data[1]
        if bound.asnumpy()[0] < 0:
            bound[:] = 0
        self.assign(out_data[0], req[0], nd.minimum(in_data[0], bound.asscalar()))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        over = in_data[0] > in_data[1].asscalar()
        self.assign(in_grad[0], req[0], out_grad[0] * (1 - over))
        self.assign(in_grad[1], req[1], (out_grad[0] * over * in_data[1].asscalar()).sum().reshape((1,)))


@mx.operator.register("users_bounded")
class BoundedProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["data", "bound"]

    def infer_shape(self, in_shape):
        return [in_shape[0], [1]], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Bounded()


class BoundedBlock(gluon.HybridBlock):
    def __init__(self, first):
        super().__init__()
        with self.name_scope():
            self.bound = self.params.get("bound", shape=(1,), init=mx.init.Constant(first))

    def hybrid_forward(self, F, x, bound):
        y = x * 3
        return F.Custom(y, bound, op_type="users_bounded") + y


def written_by_hand(first):
    x, bound = nd.array(X), nd.array([first])
    found = [nd.Custom(x, bound, op_type="users_bounded"), bound]
    x.attach_grad()
    bound = nd.array([first])
    bound.attach_grad()
    with autograd.record():
        y = nd.Custom(x * 3, bound, op_type="users_bounded")
    y.backward()
    return [*found, y, bound, x.grad, bound.grad]


def written_in_a_block(first, hybrid):
    net = BoundedBlock(first)
    net.initialize()
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = nd.array(X)
    x.attach_grad()
    found = []
    for _ in range(3):
        with autograd.record():
            y = net(x)
        y.backward()
        found += [y, x.grad.copy(), net.bound.data().copy(), net.bound.grad().copy()]
        trainer.step(4)
    return [*found, net.bound.data()]


def written_in_a_symbol(first):
    graph = mx.sym.Custom(mx.sym.var("x") * 3, mx.sym.var("bound"), op_type="users_bounded")
    executor = graph.simple_bind(mx.cpu(), x=(4, 4))
    executor.arg_dict["x"][:] = X
    executor.arg_dict["bound"][:] = first
    executor.forward(is_train=True)
    executor.backward(nd.ones((4, 4)))
    return [*executor.outputs, executor.arg_dict["bound"], executor.grad_dict["x"], executor.grad_dict["bound"]]


class Writing(mx.operator.CustomOp):
    """Writes to what it is given by other ways than an index of the list: a function, an attribute, a loop."""

    def __init__(self, how):
        super().__init__()
        self.how = how

    def forward(self, is_train, req, in_data, out_data, aux):
        if self.how == "function":
            fill([in_data[1]], 7)
        elif self.how == "attribute":
            self.kept = in_data[1]
            self.kept[:] = 7
        elif self.how == "computed":
            fill([in_data[0]], 7)
        elif self.how == "state":
            fill([aux[0]], 7)
        self.assign(out_data[0], req[0], in_data[0] * in_data[1])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * in_data[1])
        self.assign(in_grad[1], req[1], out_grad[0] * in_data[0])
        places = {"backward, input": in_data[1], "backward, output": out_data[0], "backward, state": aux[0]}
        if self.how in places:
            fill([places[self.how]], 5)


def fill(arrays, value):
    for array in arrays:
        array[:] = value


@mx.operator.register("users_writing")
class WritingProp(mx.operator.CustomOpProp):
    def __init__(self, how):
        super().__init__()
        self.how = how

    def list_arguments(self):
        return ["data", "scale"]

    def list_auxiliary_states(self):
        return ["state"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [in_shape[0]]

    def create_operator(self, ctx, shapes, dtypes):
        return Writing(self.how)


class WritingBlock(gluon.HybridBlock):
    def __init__(self, how):
        super().__init__()
        self.how = how
        with self.name_scope():
            self.scale = self.params.get("scale", shape=(2,), init="ones")
            self.state = self.params.get("state", shape=(2,), init="zeros", grad_req="null")

    def hybrid_forward(self, F, x, scale, state):
        y = x * 3
        return F.Custom(y, scale, state, op_type="users_writing", how=self.how) + y


def writing_by_hand(how, record):
    x, scale, state = nd.array([1.0, 2.0]), nd.array([3.0, 4.0]), nd.zeros(2)
    x.attach_grad()
    scale.attach_grad()
    with autograd.record() if record else autograd.pause():
        y = x * 3
        out = nd.Custom(y, scale, state, op_type="users_writing", how=how)
        z = out + y
    if record:
        z.backward()
    mx.nd.waitall()  # MXNet does not know of these writes, and would read before them
    return [x, y, scale, state, out, z, x.grad, scale.grad]


def writing_in_a_block(how, hybrid, record):
    net = WritingBlock(how)
    net.initialize()
    if hybrid:
        net.hybridize()
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    found = []
    for _ in range(2):
        with autograd.record() if record else autograd.pause():
            z = net(x)
        if record:
            z.backward()
        mx.nd.waitall()
        found += [z, x.grad.copy(), net.scale.data().copy(), net.scale.grad().copy(), net.state.data().copy()]
    return found


WAYS = ("function", "attribute", "computed", "state", "backward, input", "backward, output", "backward, state")

CASES = {
    **{
        f"writing by hand, {how}, {record}": functools.partial(writing_by_hand, how, record)
        for how in WAYS
        for record in (True, False)
    },
    **{
        f"writing in a block, {how}, {hybrid}, {record}": functools.partial(writing_in_a_block, how, hybrid, record)
        for how in WAYS
        for hybrid in (False, True)
        for record in (True, False)
    },
    **{f"written by hand, {first}": functools.partial(written_by_hand, first) for first in (-1.0, 1.0, 7.0)},
    **{
        f"written in a block, {first}, {hybrid}": functools.partial(written_in_a_block, first, hybrid)
        for first in (-1.0, 7.0)
        for hybrid in (False, True)
    },
    **{f"written in a symbol, {first}": functools.partial(written_in_a_symbol, first) for first in (-1.0, 7.0)},
    "trained": lambda: trained(False),
    "trained, hybrid": lambda: trained(True),
    "counted": lambda: counted(False),
    "counted, hybrid": lambda: counted(True),
    "fitted": fitted,
    "bound": bound,
}
