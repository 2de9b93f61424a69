"""``Custom``: operators of users in blocks, hybridized blocks, symbols and modules, against MXNet 1.9.1."""

import json
import re

import jax
import numpy
import pytest

import gluonx
from gluonx import autograd, compat, engine, gluon, nd, np
from gluonx.compat import operator
from gluonx.compat import symbol as sym
from gluonx.errors import DeferredInitializationError, FormatError, ShapeError
from lib import TESTS
from lib.golden import load_cases

GOLDEN = json.loads((TESTS / "oracle" / "custom" / "golden.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def cases():
    compat.install_as_mxnet()
    try:
        yield load_cases("custom")
    finally:
        compat.uninstall()


@pytest.mark.parametrize("key", list(GOLDEN))
def test_as_mxnet(cases, key):
    for found, wanted in zip(cases.CASES[key](), GOLDEN[key], strict=True):
        numpy.testing.assert_allclose(found.asnumpy(), wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.dear
@pytest.mark.parametrize("key", ["trained, hybrid", "counted, hybrid", "writing in a block, computed, True, True"])
def test_in_naive_mode(cases, key):
    with engine.mode("naive"):
        for found, wanted in zip(cases.CASES[key](), GOLDEN[key], strict=True):
            numpy.testing.assert_allclose(found.asnumpy(), wanted, rtol=2e-5, atol=1e-6)


class Rounded(operator.CustomOp):
    """Takes whole numbers beside others, gives both; fails if it is told to."""

    def forward(self, is_train, req, in_data, out_data, aux):
        if in_data[1].asnumpy().max() > 100:
            raise RuntimeError("more than a hundred")
        self.assign(out_data[0], req[0], in_data[0] * in_data[1].astype("float32"))
        self.assign(out_data[1], req[1], in_data[1] + 1)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * in_data[1].astype("float32"))


@operator.register("test_rounded")
class RoundedProp(operator.CustomOpProp):
    def list_arguments(self):
        return ["data", "count"]

    def list_outputs(self):
        return ["product", "next"]

    def infer_shape(self, in_shape):
        return in_shape, in_shape, []

    def infer_type(self, in_type):
        return in_type, in_type, []

    def create_operator(self, ctx, shapes, dtypes):
        return Rounded()


class Net(gluon.HybridBlock):
    def forward(self, x, n):
        product, after = nd.Custom(x * 2, n, op_type="test_rounded")
        return product.as_np_ndarray() + 1, after.as_np_ndarray()


@pytest.fixture
def net():
    made = Net()
    made.hybridize()
    return made


@pytest.mark.dear
def test_whole_numbers_among_floats(net):
    x, n = np.array([1.0, 2.0]), np.array([3, 4], dtype="int32")
    x.attach_grad()
    with autograd.record():
        product, after = net(x, n)
    product.backward()
    assert product.tolist() == [7, 17]
    assert (after.tolist(), after.dtype) == ([4, 5], numpy.int32)
    assert x.grad.tolist() == [6, 8]


def test_a_steady_loop_traces_and_compiles_once(net):
    x, n = np.array([1.0, 2.0]), np.array([3, 4], dtype="int32")
    x.attach_grad()
    before = []
    for _ in range(4):
        with autograd.record():
            loss = net(x, n)[0].sum()
        loss.backward()
        float(loss)
        before.append((engine.stats()["traces"], engine.stats()["programs_compiled"]))
    assert before[1] == before[-1]


WRITES = {  # ways of the operator "users_writing" among the cases
    "function": "in_data[1]",
    "backward, input": "in_data[1]",
    "backward, output": "out_data[0]",
    "backward, state": "aux[0]",
}


class WritingNet(gluon.HybridBlock):
    def __init__(self, how):
        super().__init__()
        self.how, self.scale = how, gluon.Parameter("scale", shape=(2,), init="ones")
        self.state = gluon.Parameter("state", shape=(2,), init="zeros", grad_req="null")

    def forward(self, x):
        arrays = (self.scale.data(), self.state.data())
        return nd.Custom(x, *arrays, op_type="users_writing", how=self.how).as_np_ndarray()


@pytest.mark.usefixtures("cases")
@pytest.mark.parametrize("how", [*WRITES, "state"])
def test_a_function_of_arrays_refuses_a_write_that_nobody_would_see(how):
    net = WritingNet(how)
    net.initialize()
    pure, x = gluonx.functional(net), jax.numpy.ones(2)

    def loss(params):
        out, after = pure.apply(params, pure.state, None, x)
        return out.sum(), after

    if how == "state":
        (_, after), _ = jax.value_and_grad(loss, has_aux=True)(pure.params)
        assert [array.tolist() for array in after.values()] == [[7, 7]]
        return
    where = "backward" if how.startswith("backward") else "forward"
    with pytest.raises(Exception, match=rf"Writing.{where}.* writes to {re.escape(WRITES[how])}"):
        jax.block_until_ready(jax.value_and_grad(loss, has_aux=True)(pure.params))


@pytest.mark.usefixtures("cases")
@pytest.mark.parametrize("how", WRITES)
def test_the_same_net_hands_the_write_on(how):
    """Its parameters are np arrays, which the operator is given as NDArrays: the same arrays."""
    net = WritingNet(how)
    net.initialize()
    net.hybridize()
    x = np.array([2.0, 2.0])
    with autograd.record():
        out = net(x)
    out.backward()
    found = {"in_data[0]": x, "in_data[1]": net.scale.data(), "out_data[0]": out, "aux[0]": net.state.data()}
    assert [name for name, array in found.items() if array.tolist() in ([7, 7], [5, 5])] == [WRITES[how]]
    assert net.scale.grad().tolist() == [2, 2]


def test_an_operator_reads_what_python_holds_at_the_call():
    """A program that calls back, computed with the whole step, would read the last factor for both."""

    class Times(operator.CustomOp):
        factor = 1

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * self.factor)

    @operator.register("test_times")
    class TimesProp(operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Times()

    class Block(gluon.HybridBlock):
        def forward(self, x):
            return nd.Custom(x, op_type="test_times")

    block, x, found = Block(), nd.ones(2), []
    block.hybridize()
    x.attach_grad()
    with autograd.record():
        for Times.factor in (2, 3):
            found.append(block(x))
    assert [out.asnumpy().tolist() for out in found] == [[2, 2], [3, 3]]


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_weights_survive_what_an_operator_raises_in_training(where):
    class Fails(operator.CustomOp):
        armed = ""

        def forward(self, is_train, req, in_data, out_data, aux):
            assert self.armed != "forward", "refused"
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            assert self.armed != "backward", "refused"
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @operator.register("test_fails")
    class FailsProp(operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Fails()

    class Trained(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = gluon.nn.Dense(3, in_units=4)

        def forward(self, x):
            return nd.Custom(self.dense(x), op_type="test_fails").as_np_ndarray()

    net = Trained()
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})

    def step():
        with autograd.record():
            loss = net(np.ones((2, 4))).sum()
        loss.backward()
        trainer.step(2)
        return float(loss)

    for _ in range(3):
        step()
    before = net.dense.weight.data().asnumpy()
    Fails.armed = where
    with pytest.raises(Exception, match="refused"):
        step()
    Fails.armed = ""
    numpy.testing.assert_array_equal(net.dense.weight.data().asnumpy(), before)
    assert step() > step()


def test_what_an_operator_raises_is_told(net):
    with pytest.raises(Exception, match="more than a hundred"):
        net(np.array([1.0]), np.array([101], dtype="int32"))[0].wait_to_read()
    assert net(np.array([1.0]), np.array([1], dtype="int32"))[0].tolist() == [3]


def test_an_operator_that_uses_a_hybridized_net(net):
    class Nested(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            found, _ = net(in_data[0].as_np_ndarray(), np.array([2, 2], dtype="int32"))
            self.assign(out_data[0], req[0], found.as_nd_ndarray())

    @operator.register("test_nested")
    class NestedProp(operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Nested()

    class Outer(gluon.HybridBlock):
        def forward(self, x):
            return nd.Custom(x, op_type="test_nested").as_np_ndarray()

    outer = Outer()
    outer.hybridize()
    assert outer(np.array([1.0, 2.0])).tolist() == [5, 9]


@pytest.mark.dear
def test_large_arrays_and_computing_inside(cases):
    """The operator computes with gluonx in the program's call back: nothing waits for itself."""
    net = cases.Counted()
    net.initialize()
    net.hybridize()
    with autograd.record():
        gram = net(nd.ones((700, 700)))
    assert gram[0, 0].asscalar() == 4 * 700 * 0.5


def test_symbols_name_what_is_missing():
    with pytest.raises(TypeError, match="needs the attribute 'op_type'"):
        sym.Custom(sym.var("x"))
    with pytest.raises(ValueError, match="no operator is registered as op_type='nope'"):
        sym.Custom(sym.var("x"), op_type="nope")
    graph = sym.Custom(sym.var("x"), op_type="test_rounded", name="r")
    assert graph.list_arguments() == ["x", "r_count"]
    assert graph.list_outputs() == ["r_product", "r_next"]
    with pytest.raises(FormatError, match="'r': Custom: no operator is registered as op_type='test_other'"):
        sym.fromjson(graph.tojson().replace("test_rounded", "test_other"))
    with pytest.raises(ShapeError, match="needs 'count' of shape"):
        sym.Custom(sym.var("x"), op_type="test_square", name="s").eval(x=nd.ones(2), s_count=nd.ones(3))


@operator.register("test_square")
class SquareProp(RoundedProp):
    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0]], [in_shape[0], in_shape[0]], []


def test_a_monitor_sees_past_it(net):
    net.hybridize(False)
    seen = []
    net.register_op_hook(lambda name, op, array: seen.append(op))
    assert net(np.array([1.0]), np.array([1], dtype="int32"))[0].tolist() == [3]
    assert len(seen) > 1


@pytest.mark.parametrize("switched", [False, True])
def test_the_arrays_that_an_operator_is_given(switched):
    """NDArrays; and np arrays in a program that has called ``set_np()``, as in MXNet 2."""
    seen = []
    compat.install_as_mxnet()
    try:
        import mxnet as mx

        if switched:
            mx.npx.set_np()

        class Seen(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                seen.extend([*in_data, *out_data, *aux])
                aux[0][:] += 1
                self.assign(out_data[0], req[0], in_data[0] * 2)

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                seen.extend([*out_grad, *in_data, *out_data, *in_grad, *aux])
                self.assign(in_grad[0], req[0], out_grad[0] * 2)

        @mx.operator.register("test_seen")
        class SeenProp(mx.operator.CustomOpProp):
            def list_auxiliary_states(self):
                return ["count"]

            def infer_shape(self, in_shape):
                return in_shape, in_shape, [(1,)]

            def create_operator(self, ctx, shapes, dtypes):
                return Seen()

        x, count = mx.nd.ones((2, 2)), mx.nd.zeros((1,))
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.Custom(x, count, op_type="test_seen")
        y.backward()
        assert isinstance(y, mx.nd.NDArray) and y.asnumpy().tolist() == x.grad.asnumpy().tolist() == [[2, 2], [2, 2]]
        assert count.asnumpy().tolist() == [1]
        assert {tuple(array.sum().shape) for array in seen} == ({()} if switched else {(1,)})
        assert {type(array).__name__ for array in seen} == ({"ndarray"} if switched else {"NDArray"})
    finally:
        compat.uninstall()


def test_a_shape_that_no_infer_shape_tells_is_an_error():
    """The parameter names itself, where ``infer_shape`` leaves its shape open."""

    @operator.register("test_open")
    class Open(operator.CustomOpProp):
        def list_arguments(self):
            return ["data", "weight"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]], []

    class Layer(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = gluon.Parameter("weight", shape=(3, 0), allow_deferred_init=True)

        def forward(self, x):
            return nd.Custom(x, self.weight.data(), op_type="test_open")

    layer = Layer()
    layer.initialize()
    with pytest.raises(DeferredInitializationError, match=r"'Layer.weight' .*Custom 'test_open' cannot tell them"):
        layer(nd.ones((2, 2)))
