"""Block: registration, names, initialization, unknown shapes, calls and hooks; as oracle MXNet 2.0 where it speaks."""

import inspect
import sys

import jax
import numpy as onp
import pytest

from gluonx import autograd, initializer, nn, np
from gluonx.block.block import Block, HybridBlock
from gluonx.block.parameter import Parameter
from gluonx.device import cpu
from gluonx.errors import (
    DeferredInitializationError,
    DeviceError,
    ShapeError,
    UninitializedError,
)
from lib.blocks import NAMES, ByOperator, Inferring, Net, made, ones, same, values

# ------------------------------------------------------------------ registration and names


def test_looking_at_every_attribute_of_a_block_gives_it_no_prefix():
    net = Net()
    assert not {"name", "prefix", "name_scope"} & set(dir(net))
    inspect.getmembers(net)
    assert list(net.collect_params()) == NAMES


def test_a_mixin_may_have_the_name_of_an_attribute_of_mxnet_1():
    class Named:
        prefix = "of the mixin"

        @property
        def name(self):
            return f"{type(self).__name__} by a mixin"

    class Both(Block, Named):
        def forward(self, x):
            return x

    class Own(Block):
        def __init__(self):
            super().__init__()
            self.name = "its own"

    assert (Both().name, Both().prefix) == ("Both by a mixin", "of the mixin")
    assert Own().name == "its own" and "name" in dir(Own())


def test_structured_names():
    net = Net()
    assert list(net.collect_params()) == NAMES
    assert list(net.params) == ["w"]
    assert list(net.collect_params(".*weight|.*bias")) == NAMES[1:]
    assert list(net.collect_params("features.0")) == NAMES[1:3]
    assert list(net.collect_params("weight")) == []
    assert type(net.collect_params()) is dict


def test_collect_params_sees_every_change():
    net = Net()
    net.collect_params()["w"] = None
    assert list(net.collect_params()) == NAMES
    net.features.add(nn.Dense(2, use_bias=False))
    assert list(net.collect_params())[-1] == "features.2.weight"
    net.w = Parameter("other", shape=(3,))
    assert net.collect_params()["w"].name == "other"
    net.features._children.popitem()
    net.features._children.pop("1")
    del net.w
    assert list(net.collect_params()) == NAMES[1:3]


def test_one_child_in_two_places():
    dense = nn.Dense(3, in_units=3)
    net = nn.Sequential()
    net.add(dense, dense)
    assert list(net.collect_params()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    other = nn.Dense(3, in_units=3)
    other.weight = dense.weight
    net.add(other)
    params = net.collect_params()
    assert params["0.weight"] is params["1.weight"] is params["2.weight"]
    net.initialize()  # each once: no warning
    assert net(ones(1, 3)).shape == (1, 3)


def test_register_child():
    block = Block()
    block.register_child(nn.Dense(1))
    block.register_child(nn.Dense(1), "head")
    assert list(block.collect_params()) == ["0.weight", "0.bias", "head.weight", "head.bias"]
    with pytest.raises(TypeError, match="A child of Block must be a Block, got 3"):
        block.register_child(3)


def test_attributes_keep_their_type():
    net = Net()
    with pytest.raises(TypeError) as caught:
        net.features = 3
    assert str(caught.value) == (
        "Attribute 'features' of Net is a HybridSequential and cannot become a int. "
        "Delete it first, del block.features, if that is what you want."
    )
    with pytest.raises(TypeError):
        net.w = None
    with pytest.raises(TypeError):
        net.features = nn.Dense(2)
    del net.features
    net.features = nn.Dense(2)
    assert list(net.collect_params()) == ["w", "features.weight", "features.bias"]
    net.later = None
    net.later = nn.Dense(1, use_bias=False)
    assert "later.weight" in net.collect_params()


@pytest.mark.parametrize(("value", "what"), [(Parameter("w"), "parameter"), (nn.Dense(1), "block")])
def test_forgotten_super_init(value, what):
    class Careless(HybridBlock):
        def __init__(self):
            self.thing = value

    with pytest.raises(AttributeError) as caught:
        Careless()
    assert str(caught.value) == (
        f"Careless has no room for the {what} 'thing' yet. Call super().__init__() at the beginning of "
        "Careless.__init__, before anything is assigned."
    )


def test_children_of_a_hybrid_block():
    class Plain(Block):
        pass

    for give in (lambda n: setattr(n, "child", Plain()), lambda n: n.register_child(Plain(), "child")):
        with pytest.raises(ValueError) as caught:
            give(Net())
        assert str(caught.value) == (
            "Net is a HybridBlock, whose children must be HybridBlocks too, but 'child' is a Plain. Derive Plain from "
            "HybridBlock (nn.HybridSequential instead of nn.Sequential, nn.HybridBlockList of nn.BlockList), or Net "
            "from Block."
        )


@pytest.mark.parametrize(
    ("container", "kind", "what"),
    [
        (lambda: [nn.Dense(1)], "list", "blocks"),
        (lambda: (1, [nn.Dense(1)]), "tuple", "blocks"),
        (lambda: {"a": {"b": nn.Dense(1)}}, "dict", "blocks"),
        (lambda: [Parameter("w")], "list", "parameters"),
    ],
)
def test_plain_containers_are_warned_of(container, kind, what):
    net = Net()
    net.things = container()
    text = f"'Net.things' is a {kind} that holds {what}\\. What is in a plain Python container is not part of the block"
    with pytest.warns(UserWarning, match=text) as caught:
        assert list(net.collect_params()) == NAMES
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=text):
        net.initialize()


def test_containers_of_registered_things_are_fine():
    net = Net()
    net.layers = [net.features, net.w, [net.features[0]]]
    net.layers.append(net.layers)
    net.collect_params()


def test_repr():
    assert repr(Net()) == (
        "Net(\n"
        "  (features): HybridSequential(\n"
        "    (0): Dense(-1 -> 4, Activation(relu))\n"
        "    (1): Dense(-1 -> 3, linear)\n"
        "  )\n"
        ")"
    )
    assert repr(made()).count("Dense(5 -> 4") == 1
    assert repr(Block()) == "Block()"
    assert repr(object.__new__(Block)) == "Block()"


# ------------------------------------------------------------------ initialization


def test_before_initialize():
    with pytest.raises(UninitializedError) as caught:
        Net()(ones(2, 5))
    text = str(caught.value)
    assert "weight'" in text
    assert "block Net.features.0" in text
    assert "net.initialize()" in text


def test_initialize_warns_once_and_keeps():
    net = made()
    before = values(net)
    with pytest.warns(
        UserWarning, match=r"Already initialized, and kept: parameters 'Net\.w', .*Set force_reinit"
    ) as caught:
        net.initialize("zeros")
    assert len(caught) == 1
    assert same(before, values(net))
    net.initialize(init="zeros", force_reinit=True)
    assert values(net)["features.0.weight"].sum() == 0
    assert values(net)["w"].sum() == 3  # its own initializer


def test_initialize_completes_what_is_new():
    net = made()
    before = values(net)
    net.features.add(nn.Dense(2))
    with pytest.warns(UserWarning, match="kept"):
        net.initialize()
    after = (
        values(made(Net)) if False else {k: v.data().asnumpy() for k, v in net.collect_params().items() if k in before}
    )
    assert same(before, after)


def test_mixed_initializer_sees_structured_names():
    net = Net()
    with pytest.warns(UserWarning, match="says how 'Net.features.0.bias' begin"):
        net.initialize(initializer.Mixed(["features.0", ".*"], [initializer.Constant(2.0), initializer.Constant(5.0)]))
    net(ones(2, 5))
    held = values(net)
    assert held["features.0.weight"].min() == 2
    assert held["features.1.weight"].min() == 5


def test_initialize_fails_as_a_whole():
    net = Net()
    net.bad = Parameter("bad", shape=(0,))
    with pytest.raises(ShapeError, match=r"Cannot initialize parameter 'Net\.bad'"):
        net.initialize()
    with pytest.raises(UninitializedError):
        net.w.data()
    net.bad.shape = 2
    with pytest.raises(ValueError, match="matches no pattern"):
        net.initialize(initializer.Mixed(["w"], [initializer.One()]))
    with pytest.raises(UninitializedError):
        net.w.data()
    net.initialize()
    assert net(ones(2, 5)).shape == (2, 3)


def test_verbose(capsys):
    Net().initialize(verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("Net.w: ")


@pytest.mark.dear
def test_setattr_cast_zero_grad():
    net = made()
    with autograd.record():
        y = net(ones(2, 5))
    y.backward()
    assert any(p.grad().asnumpy().any() for p in net.collect_params().values())
    net.zero_grad()
    assert not any(p.grad().asnumpy().any() for p in net.collect_params().values())
    net.setattr("lr_mult", 0.5)
    net.setattr("grad_req", "null")
    assert {(p.lr_mult, p.grad_req) for p in net.collect_params().values()} == {(0.5, "null")}
    net.cast("float16")
    assert {str(p.data().dtype) for p in net.collect_params().values()} == {"float16"}
    assert net(ones(2, 5).astype("float16")).dtype == onp.float16


@pytest.mark.skipif(len(jax.devices()) < 2, reason="needs two devices")
def test_reset_device():
    net = made()
    net.reset_device(cpu(1))
    assert {p.data().device for p in net.collect_params().values()} == {cpu(1)}
    with pytest.raises(DeviceError, match=r"Parameter 'Net\.features\.0\.weight' lives on cpu\(1\), not on cpu\(0\)"):
        net.features[0].weight.data(cpu(0))
    net.reset_ctx(cpu(0))
    assert net(ones(2, 5)).device == cpu(0)


def test_apply():
    seen = []
    net = Net()
    assert net.apply(lambda block: seen.append(type(block).__name__)) is net
    assert seen == ["Activation", "Dense", "Dense", "HybridSequential", "Net"]


# ------------------------------------------------------------------ unknown shapes


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("recording", [False, True])
@pytest.mark.parametrize("cls", [ByOperator, Inferring])
def test_the_first_call_finds_the_shapes(cls, hybrid, recording):
    net = cls()
    net.initialize()
    if hybrid:
        net.hybridize()
    with autograd.record() if recording else autograd.pause():
        y = net(ones(2, 5))
    assert y.asnumpy().sum() == 10
    assert net.factor.shape[-1] == 5
    if recording:
        y.backward()
        assert net.factor.grad().asnumpy().ravel().tolist() == [2] * 5


def test_infer_shape_is_asked_once():
    net = made(Inferring)
    net(ones(3, 5))
    net(ones(3, 5))
    assert net.calls == 1


def test_a_parameter_added_later():
    net = made()
    net.features.add(Inferring())
    net.features[2].initialize()
    assert net(ones(2, 5)).shape == (2, 3)
    assert net.features[2].factor.shape == (3,)
    net.features[2].factor = Parameter("factor", shape=(0,), allow_deferred_init=True)
    net.features[2].factor.initialize("ones")
    assert net(ones(2, 5)).shape == (2, 3)
    assert net.features[2].calls == 2


def test_infer_shape_of_a_net_runs_nothing():
    net = Net()
    net.initialize()
    net.infer_shape(jax.ShapeDtypeStruct((2, 5), "float32"))
    assert [p.shape for p in net.collect_params().values()] == [(3,), (4, 5), (4,), (3, 4), (3,)]
    other = Net()
    other.initialize()
    other.hybridize()
    other.infer_shape(ones(2, 7))
    assert other.features[0].weight.data().asnumpy().shape == (4, 7)


def test_infer_shape_contradicts_the_declaration():
    class Wrong(Inferring):
        def infer_shape(self, x):
            self.factor.shape = (1, 2)

    class Outer(HybridBlock):
        def __init__(self):
            super().__init__()
            self.inner = Wrong()

        def forward(self, x):
            return self.inner(x)

    net = Outer()
    net.initialize()
    with pytest.raises(
        ShapeError, match=r"Parameter 'Outer\.inner\.factor' has shape \(-1,\), .* assigned shape \(1, 2\)"
    ):
        net(ones(2, 5))


def test_nobody_can_tell_the_shape():
    class Lonely(HybridBlock):
        def __init__(self):
            super().__init__()
            self.w = Parameter("w", shape=(2, 0), allow_deferred_init=True)

        def forward(self, x):
            return np.sum(self.w.data())

    net = Lonely()
    net.initialize()
    with pytest.raises(DeferredInitializationError) as caught:
        net(ones(1))
    assert "infer_shape" in str(caught.value)
    assert "(2, -1)" in str(caught.value)


def test_infer_type():
    net = Net()
    net.infer_type(ones(2, 5).astype("float16"))
    assert {str(p.dtype) for p in net.collect_params().values()} == {"float16"}


# ------------------------------------------------------------------ calls and hooks


def test_forward_must_be_defined():
    with pytest.raises(NotImplementedError, match=r"HybridBlock does not define forward\(\)\."):
        HybridBlock()(ones(1))


@pytest.mark.parametrize("hybrid", [False, True])
def test_keyword_arguments(hybrid):
    class Keyed(HybridBlock):
        def forward(self, x, y=None, times=1):
            return x * times if y is None else x * times + y

    net = Keyed()
    net.hybridize(hybrid)
    assert net(ones(2), times=3).asnumpy().tolist() == [3, 3]
    assert net(ones(2), times=4).asnumpy().tolist() == [4, 4]
    assert net(ones(2), y=ones(2)).asnumpy().tolist() == [2, 2]
    assert net(ones(2), None).asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("hybrid", [False, True])
def test_nested_inputs_and_outputs(hybrid):
    class Nested(HybridBlock):
        def forward(self, x, pair):
            return x + 1.0, [pair[0], {"b": pair[1][0] * 2.0}]

    net = Nested()
    net.hybridize(hybrid)
    first, (second, third) = net(ones(2), [ones(1), (ones(3),)])
    assert first.asnumpy().tolist() == [2, 2]
    assert second.shape == (1,)
    assert third["b"].asnumpy().tolist() == [2, 2, 2]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda net: net(ones(2, 6)), ShapeError, "Net.features.0"),
        (lambda net: net(ones(2, 5), ones(2, 5)), TypeError, "takes 2 positional arguments but 3 were given"),
        (lambda net: net(), TypeError, "missing 1 required positional argument: 'x'"),
    ],
)
def test_wrong_calls(call, error, text, hybrid):
    net = made()
    net.hybridize(hybrid)
    before = values(net)
    with pytest.raises(error, match=text):
        call(net)
    assert same(before, values(net))
    assert net(ones(2, 5)).shape == (2, 3)


@pytest.mark.parametrize("hybrid", [False, True])
def test_any_error_names_the_block(hybrid):
    class Failing(HybridBlock):
        def forward(self, x):
            raise KeyError("mine")

    net = Net()
    net.features.add(Failing())
    net.initialize()
    net.hybridize(hybrid)
    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            net(ones(2, 5))
        notes = [note for note in caught.value.__notes__ if note.startswith("In block")]
        assert notes == ["In block Net.features.2 (a Failing)."]
    with pytest.raises(TypeError) as caught:
        net.features[1](ones(2, 4), 1, 2)
    assert "Dense.forward() takes 2 positional arguments but 4 were given" in str(caught.value)


def test_a_called_block_that_is_no_child_is_named_by_its_class():
    class Failing(Block):
        def forward(self):
            raise KeyError

    class Outer(Block):
        def forward(self):
            return Failing()()

    with pytest.raises(KeyError) as caught:
        Outer()()
    assert caught.value.__notes__ == ["In block Outer.<Failing> (a Failing)."]


@pytest.mark.parametrize("hybrid", [False, True])
def test_hooks(hybrid):
    net, log = made(), []
    net.hybridize(hybrid)
    before = net.register_forward_pre_hook(lambda block, inputs: log.append((block, inputs)))
    after = net.register_forward_hook(lambda block, inputs, out: log.append((block, inputs, out)) or out * 0.0)
    x = ones(2, 5)
    y = net(x)
    net(x)
    assert len(log) == 4
    assert log[0] == (net, (x,))
    assert log[1][2] is y  # what a hook returns is ignored
    before.detach()
    before.detach()
    with after:
        net(x)
    net(x)
    assert len(log) == 5


def test_the_parameters_settle_under_a_pre_hook():
    net = Inferring()
    net.initialize()
    shapes = []
    net.register_forward_pre_hook(lambda block, inputs: shapes.append(block.factor.shape))
    net(ones(2, 5))
    net(ones(2, 5))
    assert shapes == [(-1,), (5,)]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("monitor_all", [False, True])
def test_op_hooks(hybrid, monitor_all):
    net, log = made(), []
    net.hybridize(hybrid)
    handle = net.register_op_hook(lambda *args: log.append(args), monitor_all)
    with autograd.record():
        y = net(ones(2, 5))
    y.backward()
    assert net.w.grad().shape == (3,)
    outputs = [(name, op) for name, op, _ in log if name.endswith("output")]
    assert outputs[0] == ("node_1_output", "fully_connected")
    assert [op for _, op in outputs].count("fully_connected") == 2
    assert onp.array_equal(log[-1][2].asnumpy(), y.asnumpy())
    assert (("node_1_input0", "fully_connected") in [entry[:2] for entry in log]) == monitor_all
    count = len(log)
    handle.detach()
    net(ones(2, 5))
    assert len(log) == count


def test_a_call_goes_straight_to_forward():
    class Nothing(HybridBlock):
        def forward(self, x):
            return x

    block, x, called = Nothing(), ones(1), []
    block(x)
    sys.setprofile(lambda frame, event, arg: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        block(x)
    finally:
        sys.setprofile(None)
    assert called == ["__call__", "forward"]
