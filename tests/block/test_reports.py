"""What users of MXNet asked for and never got. Each test is named after the report's number in apache/mxnet."""

import contextlib
import io
import os
import random
import subprocess
import sys
import zipfile
from typing import ClassVar

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, data, engine, gluon, init, loss, metric, nn, np, parallel, rnn
from gluonx import symbol as sym
from gluonx.errors import ArgumentError, FormatError, GraphError, ShapeError, UninitializedError
from gluonx.model_zoo import vision


def dense(*units, in_units=3):
    net = nn.HybridSequential()
    for n in units:
        net.add(nn.Dense(n, in_units=in_units))
        in_units = n
    net.initialize()
    return net


def values(net):
    return {name: param.data().asnumpy() for name, param in net.collect_params().items()}


# -- 10638: fine-tuning with other classes ---------------------------------------------------------------------------


def test_10638_a_file_with_other_classes(tmp_path):
    old, new = dense(4, 10), dense(4, 7)
    old.save_parameters(tmp_path / "old.params")
    with pytest.raises(FormatError, match=r"'1.weight' has shape \(10, 4\), .* \(ignore_mismatch=True keeps"):
        new.load_parameters(tmp_path / "old.params")
    before = values(new)
    with pytest.warns(UserWarning, match=r"keeps its own: '1.weight' has shape \(10, 4\).*; '1.bias' has shape"):
        new.load_parameters(tmp_path / "old.params", ignore_mismatch=True)
    after, file = values(new), values(old)
    assert all((after[name] == (file if name[0] == "0" else before)[name]).all() for name in after)


def test_10638_only_what_is_named_may_differ(tmp_path):
    dense(4, 10).save_parameters(tmp_path / "old.params")
    before = values(new := dense(5, 7, in_units=3))
    with pytest.raises(FormatError, match=r"'0.weight' has shape \(4, 3\)"):
        new.load_parameters(tmp_path / "old.params", ignore_mismatch=r"1\.")
    assert all((values(new)[name] == before[name]).all() for name in before)


@pytest.mark.dear
@pytest.mark.parametrize("name", ["squeezenet1.1", "mobilenetv2_0.25"])
def test_10638_reset_output(name):
    net = vision.get_model(name)
    net.hybridize()
    net.features.initialize()
    net.reset_output(7, init.Constant(0.0))
    assert net(np.ones((1, 3, 224, 224))).shape == (1, 7)
    with pytest.raises(ArgumentError, match="classes must be at least 1"):
        net.reset_output(0)


def test_10638_pretrained_weights_for_other_classes(tmp_path, monkeypatch):
    import hashlib

    from gluonx.model_zoo import model_store

    net = vision.mobilenet0_25()
    net.initialize()
    net(np.ones((1, 3, 32, 32)))
    net.save_parameters(tmp_path / "made.params")
    sha1 = hashlib.sha1((tmp_path / "made.params").read_bytes()).hexdigest()
    (tmp_path / "made.params").rename(tmp_path / f"mobilenet0.25-{sha1[:8]}.params")
    monkeypatch.setitem(model_store._SHA1, "mobilenet0.25", sha1)
    with pytest.warns(UserWarning, match=r"'output.weight' has shape \(1000, 256\), the block's parameter \(5, -1\)"):
        other = vision.mobilenet0_25(pretrained=True, root=tmp_path, classes=5)
    other.output.initialize()
    assert other(np.ones((1, 3, 32, 32))).shape == (1, 5)
    first = next(iter(net.collect_params()))
    assert (values(other)[first] == values(net)[first]).all()
    with pytest.raises(FormatError, match="features"), pytest.MonkeyPatch.context() as patch:
        patch.setitem(model_store._SHA1, "mobilenet0.5", sha1)
        (tmp_path / f"mobilenet0.25-{sha1[:8]}.params").rename(tmp_path / f"mobilenet0.5-{sha1[:8]}.params")
        vision.mobilenet0_5(pretrained=True, root=tmp_path)


# -- 7858, 9264, 14284: lists and dicts of blocks --------------------------------------------------------------------


class Branches(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.layers = nn.HybridBlockList(nn.Dense(4, in_units=4) for _ in range(2))
        self.heads = nn.HybridBlockDict({"a": nn.Dense(1, in_units=4), "b": nn.Dense(2, in_units=4)})

    def forward(self, x, head="a"):
        for layer in self.layers:
            x = layer(x)
        return self.heads[head](x)


@pytest.mark.parametrize("hybrid", [False, True])
def test_7858_lists_of_blocks_train_and_change(hybrid, tmp_path):
    net = Branches()
    net.initialize()
    net.hybridize(hybrid)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    before = values(net)
    with autograd.record():
        out = net(np.ones((2, 4))).sum()
    out.backward()
    trainer.step(2, ignore_stale_grad=True)
    moved = [name for name, value in values(net).items() if (value != before[name]).any()]
    assert [name for name in before if name.endswith("weight") and "b" not in name.split(".")] == [
        name for name in moved if name.endswith("weight")
    ]
    net.save_parameters(tmp_path / "net.params")
    twin = Branches()
    twin.load_parameters(tmp_path / "net.params")
    x = np.array(onp.linspace(-1, 1, 8, dtype="float32").reshape(2, 4))
    assert (net(x).asnumpy() == twin(x).asnumpy()).all()
    net.layers.append(nn.Dense(4, in_units=4)).insert(0, nn.Dense(4, in_units=4))
    net.layers[0].initialize("zeros")
    net.layers[-1].initialize("zeros")
    assert list(net.layers._children) == ["0", "1", "2", "3"]
    assert (net(x).asnumpy() == net.heads["a"].bias.data().asnumpy()).all()
    assert net.layers.pop() is not net.layers.pop(0)
    assert (net(x).asnumpy() == twin(x).asnumpy()).all()
    net.heads["a"] = nn.Dense(3, in_units=4)
    net.heads["a"].initialize()
    assert net(x).shape == (2, 3)


def test_9264_containers_are_like_those_of_python():
    a, b, c = (nn.Dense(1) for _ in range(3))
    held = nn.BlockList([a])
    held.extend([b, c])
    assert list(held[1:]) == [b, c] and held[-1] is c and b in held and len(held) == 3
    del held[0:2]
    assert list(held) == [c] and list(held._children) == ["0"]
    with pytest.raises(IndexError, match="BlockList has 1 blocks, none at 5"):
        held[5] = a
    with pytest.raises(TypeError, match="must be a Block"):
        held.insert(0, 1)
    assert list(held) == [c]  # as it was
    with pytest.raises(NotImplementedError, match="holds blocks and has no forward"):
        held(1)
    named = nn.BlockDict([("x", a)])
    named.update({"y": b})
    assert dict(named.items()) == {"x": a, "y": b} and list(named) == ["x", "y"] and "x" in named
    assert named.pop("x") is a and len(named) == 1
    with pytest.raises(KeyError, match="no block 'x'; there are 'y'"):
        named["x"]
    with pytest.raises(ArgumentError, match="without dots"):
        named["a.b"] = c


def test_14284_what_is_no_hybrid_block_is_refused():
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.blocks = nn.BlockList([nn.Dense(1)])

    with pytest.raises(ValueError, match="HybridBlockList"):
        Net()
    with pytest.raises(ValueError, match="must be HybridBlocks too"):
        nn.HybridBlockDict({"a": nn.Sequential()})


# -- 8404, 10799, 8634: ignored labels -------------------------------------------------------------------------------

_LABELS = onp.array([[0, 1, -1, -1, 2], [-1] * 5, [3, 3, 3, 3, -1]])


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_8404_ignored_labels_are_out_of_the_mean(rng, hybrid, dtype):
    pred = np.array(rng.standard_normal((3, 5, 4)).astype(dtype))
    pred.attach_grad()
    ignoring, plain = loss.SoftmaxCELoss(ignore_label=-1), loss.SoftmaxCELoss()
    ignoring.hybridize(hybrid)
    with autograd.record():
        found = ignoring(pred, np.array(_LABELS))
    found.backward()
    kept = _LABELS != -1
    for i in range(3):
        rows = [plain(pred[i : i + 1, j], np.array(_LABELS[i : i + 1, j])).item() for j in onp.flatnonzero(kept[i])]
        assert found[i].item() == pytest.approx(onp.mean(rows) if rows else 0, rel=2e-3 if dtype == "float16" else 1e-5)
    assert (pred.grad.asnumpy()[~kept] == 0).all()
    assert (pred.grad.asnumpy()[kept] != 0).any(-1).all()


def test_10799_of_binary_labels():
    pred, label = np.array([[1.0, -2.0, 3.0]]), np.array([[1.0, 255.0, 0.0]])
    found = loss.SigmoidBCELoss(ignore_label=255)(pred, label).item()
    assert found == pytest.approx(loss.SigmoidBCELoss()(pred[:, ::2], label[:, ::2]).item(), rel=1e-6)


def test_10799_a_label_out_of_range_is_still_told():
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        loss.SoftmaxCELoss(ignore_label=-1)(np.zeros((2, 4)), onp.array([-1, 7]))
    with pytest.raises(ArgumentError, match="sparse_label=True"):
        loss.SoftmaxCELoss(ignore_label=0, sparse_label=False)


def test_8634_metrics_leave_them_out(rng):
    pred = rng.random((3, 5, 4)).astype("float32")
    kept = _LABELS != -1
    accuracy, top = metric.Accuracy(axis=2, ignore_label=-1), metric.TopKAccuracy(2, ignore_label=-1)
    for _ in range(2):
        accuracy.update(np.array(_LABELS), np.array(pred))
        top.update(np.array(_LABELS.ravel()), np.array(pred.reshape(-1, 4)))
    assert accuracy.get()[1] == pytest.approx((pred.argmax(-1) == _LABELS)[kept].mean())
    best = onp.argsort(pred, -1)[..., -2:]
    assert top.get()[1] == pytest.approx((best == _LABELS[..., None]).any(-1)[kept].mean())
    assert accuracy.num_inst == top.num_inst == 2 * kept.sum()
    again = metric.create(accuracy.get_config().pop("metric"), axis=2, ignore_label=-1)
    again.load_state_dict(accuracy.state_dict())
    assert again.get() == accuracy.get()
    again.num_inst = 2 * accuracy.num_inst
    assert again.get()[1] == pytest.approx(accuracy.get()[1] / 2)


# -- 14490, 9376, 5677, 11334: initializers that reach biases --------------------------------------------------------


class Mine(init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = 0.5

    def _init_bias(self, name, arr):
        arr[:] = 1

    def _init_gamma(self, name, arr):
        arr[:] = 2


def begun(initializer, **kwargs):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2), nn.BatchNorm(in_channels=3))
    net.initialize(initializer, **kwargs)
    return [p.data().asnumpy().ravel()[0].item() for p in net.collect_params().values()]


def test_14490_methods_of_a_class():
    with pytest.warns(UserWarning, match=r"says how '.*0.bias', '.*1.gamma' begin.*override=True") as told:
        assert begun(Mine()) == [0.5, 0, 1, 0, 0, 1]
    assert len(told) == 1
    assert begun(Mine(), override=True) == [0.5, 1, 2, 0, 0, 1]


def test_9376_patterns_of_mixed():
    mixed = init.Mixed([".*bias", ".*"], [init.Constant(0.25), init.One()])
    with pytest.warns(UserWarning, match=r"says how '.*0.bias' begin"):
        assert begun(mixed)[1] == 0
    assert begun(mixed, override=True) == [1, 0.25, 1, 1, 0, 1]


def test_5677_a_constant_reaches_all_but_averages():
    assert begun(init.Constant(3.0), override=True) == [3, 3, 3, 3, 0, 1]


def test_11334_xavier_leaves_vectors_alone(recwarn):
    assert begun(init.Xavier(), override=True)[1:] == [0, 1, 0, 0, 1]
    assert begun(init.Mixed([".*bias", ".*"], [init.Zero(), init.Xavier()]))[1:] == [0, 1, 0, 0, 1]  # says the same
    assert not recwarn.list


# -- 15411: intermediate outputs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("hybrid", [False, True])
def test_15411_intermediate_outputs(hybrid, recwarn):
    net = dense(4, 3, 2)
    net.hybridize(hybrid)
    x = np.ones((2, 3))
    wanted = net(x).asnumpy()
    with autograd.record():
        out, found = net.intermediates(x, names=["1", "0"])
        value = (found["0"] ** 2).sum()
    value.backward()
    assert (out.asnumpy() == wanted).all() or onp.allclose(out.asnumpy(), wanted, rtol=1e-6)
    assert [found[name].shape for name in ("0", "1")] == [(2, 4), (2, 3)]
    assert net[0].weight.grad().asnumpy().any()
    assert list(net.intermediates(x, names="[12]")[1]) == ["1", "2"]
    with pytest.raises(ArgumentError, match="has no block '7'; it has '0', '1', '2'"):
        net.intermediates(x, names=["7"])
    assert not recwarn.list
    assert not net[0]._post_hooks
    if hybrid:
        net[0].register_forward_hook(lambda *_: None)
        with pytest.warns(UserWarning, match="has a Dense with hooks"):  # of a hook of one's own it is still told
            net(x)


def test_15411_a_block_that_is_called_twice_or_never():
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.twice, self.never = nn.Dense(3, in_units=3), nn.Dense(3, in_units=3)

        def forward(self, x):
            return self.twice(self.twice(x))

    net = Net()
    net.initialize()
    out, found = net.intermediates(np.ones((1, 3)), names=["twice"])
    assert (found["twice"][1].asnumpy() == out.asnumpy()).all()
    with pytest.raises(ArgumentError, match="did not call 'never'"):
        net.intermediates(np.ones((1, 3)), names=["never"])


# -- 20225: files in memory ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["npz", "safetensors", "mxnet"])
def test_20225_file_objects(format):
    net, file = dense(2), io.BytesIO()
    net.save_parameters(file, format=format)
    file.seek(0)
    twin = dense(2)
    twin.load_parameters(file)
    assert all((values(net)[name] == values(twin)[name]).all() for name in values(net))


def test_20225_trainer_states():
    def trained(steps, states=None):
        net = dense(2)
        for param in net.collect_params().values():
            param.set_data(np.ones(param.shape))
        trainer = Trainer(net.collect_params(), "adam")
        for _ in range(steps):
            with autograd.record():
                out = (net(np.ones((1, 3))) ** 2).sum()
            out.backward()
            trainer.step(1)
        return net, trainer

    _, trainer = trained(3)
    file = io.BytesIO()
    trainer.save_states(file)
    file.seek(0)
    _, other = trained(1)
    other.load_states(file)
    again = io.BytesIO()
    other.save_states(again)
    assert again.getvalue() == file.getvalue()


def test_20225_addresses():
    pytest.importorskip("fsspec")
    net, twin = dense(2), dense(2)
    net.save_parameters("memory://gluonx/net.safetensors")
    twin.load_parameters("memory://gluonx/net.safetensors")
    assert all((values(net)[name] == values(twin)[name]).all() for name in values(net))
    with pytest.raises(FileNotFoundError):
        net.load_parameters("memory://gluonx/absent.params")


def test_20225_nothing_is_half_written():
    class Full(io.BytesIO):
        def write(self, data):
            written.append(len(data))
            return super().write(data)

    written, net = [], dense(2)
    net.save_parameters(Full())
    assert len(written) == 1
    with pytest.raises(TypeError, match="open it in mode 'wb'"):
        net.save_parameters(io.StringIO())
    with pytest.raises(TypeError, match="open it in mode 'rb'"):
        net.load_parameters(io.StringIO("x"))
    with pytest.raises(FormatError, match="<file object>"):
        net.load_parameters(io.BytesIO(b"no parameters"))


# -- 18669: Zoneout that agrees with itself --------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [rnn.LSTMCell, rnn.GRUCell, rnn.RNNCell])
@pytest.mark.parametrize("hybrid", [False, True])
def test_18669_the_output_is_the_state(cell, hybrid):
    zoneout = rnn.ZoneoutCell(cell(64, input_size=4), 0.5, 0.2, consistent=True)
    zoneout.initialize()
    zoneout.hybridize(hybrid)
    states = [np.ones((2, 64)) for _ in zoneout.state_info(2)]
    with autograd.record():
        output, new = zoneout(np.ones((2, 4)), states)
    kept = [(state.asnumpy() == 1).mean() for state in new]
    assert (output.asnumpy() == new[0].asnumpy()).all()
    assert 0.25 < kept[0] < 0.75  # of 128 with 0.5: off by 5.6 standard deviations, below 1e-7
    assert all(0 < k < 0.45 for k in kept[1:])  # of 128 with 0.2: below 1e-9, and 4e-13 for none
    predicted = zoneout(np.ones((2, 4)), states)[0].asnumpy()
    assert (predicted == zoneout.base_cell(np.ones((2, 4)), states)[0].asnumpy()).all()


def test_18669_cells_without_such_a_state_are_refused():
    cell = rnn.ZoneoutCell(rnn.ResidualCell(rnn.RNNCell(3, input_size=3)), 0.5, consistent=True)
    cell.initialize()
    with pytest.raises(ValueError, match="output is one of its states"):
        cell(np.ones((1, 3)), cell.begin_state(1))


# -- 15411, 12857, 15614: hooks on gradients -------------------------------------------------------------------------


def counted(fn):
    before = engine.stats()
    out = fn()
    after = engine.stats()
    return out, {key: after[key] - before[key] for key in ("programs_compiled", "dispatches")}


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", ["no", "itself", "around"])
def test_15411_hooks_on_gradients(hybrid):
    net = dense(4, 3, 2)
    (net if hybrid == "around" else net[1]).hybridize(hybrid != "no")
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    seen, x = [], np.array([[1.0, 2.0, 3.0]])
    hook = net[1].register_full_backward_hook(lambda block, ins, outs: seen.append((block, ins, outs)))
    told = pytest.warns(UserWarning, match="has a Dense with hooks") if hybrid == "around" else contextlib.nullcontext()
    with told:
        for _ in range(3):

            def step():
                with autograd.record():
                    out = (net(x) ** 2).sum()
                out.backward()
                trainer.step(1)

            weight = net[2].weight.data().copy()
            out = net(x)
            _, counts = counted(step)
            block, (given,), (found,) = seen[-1]
            assert block is net[1] and counts["dispatches"] == 1
            onp.testing.assert_allclose(found.asnumpy(), (2 * np.dot(out, weight)).asnumpy(), rtol=1e-5)
            assert given.shape == (1, 4)
    assert counts == {"programs_compiled": 0, "dispatches": 1} and len(seen) == 3
    hook.detach()
    step()
    assert len(seen) == 3


@pytest.mark.dear
@pytest.mark.parametrize("naive", [False, True])
def test_12857_hooks_change_gradients(naive):
    def gradients(*hooks):
        net = dense(2, 1)
        for param in net.collect_params().values():
            param.set_data(np.ones(param.shape))
        for register, hook in hooks:
            getattr(net[1], register)(hook)
        with engine.mode("naive" if naive else "deferred"):
            with autograd.record():
                out = net(np.ones((1, 3))).sum() + 0
            out.backward()
            return [p.grad().asnumpy().ravel()[0] for p in net.collect_params().values()]

    assert gradients() == [1, 1, 4, 1]
    double = ("register_backward_hook", lambda block, ins, outs: (ins[0] * 2,))
    assert gradients(double) == [2, 2, 4, 1]
    assert gradients(double, double) == [4, 4, 4, 1]
    assert gradients(("register_full_backward_pre_hook", lambda block, outs: (outs[0] * 3,))) == [3, 3, 12, 3]
    read = ("register_full_backward_hook", lambda block, ins, outs: (np.array(ins[0].asnumpy() * 2),))
    assert gradients(read, double) == [4, 4, 4, 1]
    with pytest.raises(ArgumentError, match="returned 2 gradients; there are 1 inputs"):
        gradients(("register_full_backward_hook", lambda block, ins, outs: (ins[0], ins[0])))
    with pytest.raises(ArgumentError, match=r"returned a gradient of shape \(3,\)"):
        gradients(("register_full_backward_hook", lambda block, ins, outs: np.ones(3)))


def test_15614_hooks_of_a_first_layer_and_of_many_inputs():
    class Two(nn.HybridBlock):
        def forward(self, x, pair, scale):
            return x * pair[0] * scale, pair[1] + x

    block, seen = Two(), []
    block.register_full_backward_hook(lambda _, ins, outs: seen.append((ins, outs)))
    x, y, z = np.array([2.0]), np.array([3.0]), np.array([4.0])
    for array in (x, z):
        array.attach_grad()
    with autograd.record():
        first, _ = block(x, (y, z), 5.0)
    first.backward()
    (of_x, (of_y, of_z), of_scale), (of_first, of_second) = seen.pop()
    assert (of_x.item(), of_y, of_z.item(), of_scale, of_first.item(), of_second.item()) == (15, None, 0, None, 1, 0)
    with autograd.record():
        total = sum(nn.Lambda(lambda a: a)(out) for out in block(np.array([1.0]), (y, z), 1.0))
    total.backward()
    assert seen.pop()[0][0] is None
    with autograd.record():
        block(y, (y, y), 1.0)
    block(x, (y, z), 1.0)
    assert not seen


def test_15614_gradients_of_gradients_pass_hooks():
    block, seen = nn.HybridLambda("square"), []
    block.register_full_backward_hook(lambda _, ins, outs: seen.append(ins[0]))
    x = np.array([3.0])
    x.attach_grad()
    with autograd.record():
        (slope,) = autograd.grad(block(x).sum(), x, create_graph=True)
    slope.backward()
    assert seen[0].item() == 6 and x.grad.item() == 2


# -- 15844: own gradients in hybridized nets -------------------------------------------------------------------------


class Bent(autograd.Function):
    """Three times the square; the gradient is written to be 7 x, which tells whether it is used."""

    def __init__(self, times=3.0):
        super().__init__()
        self.times = times

    def forward(self, x):
        self.save_for_backward(x)
        return x * x * self.times

    def backward(self, given):
        (x,) = self.saved_tensors
        return 7 * x * given


class BentByNumPy(Bent):
    calls: ClassVar[list[str]] = []

    def forward(self, x):
        self.calls.append("forward")
        self.kept = x.asnumpy()
        return np.array(self.kept**2 * 3)

    def backward(self, given):
        self.calls.append("backward")
        return np.array(7 * self.kept * given.asnumpy())


class BentWithNumber(BentByNumPy):
    def forward(self, x):
        self.total = float(x.asnumpy().sum())
        return super().forward(x)

    def backward(self, given):
        return super().backward(given) + 0 * self.total


class Bends(nn.HybridBlock):
    def __init__(self, function):
        super().__init__()
        self.function, self.inner, self.outer = function, nn.Dense(3, in_units=3), nn.Dense(1, in_units=3)

    def forward(self, x):
        hidden = self.inner(x)
        return self.outer(self.function()(hidden) + hidden)


def bent_steps(function, hybrid, look=False):
    net = Bends(function)
    net.initialize(init.Constant(0.1))
    net.hybridize(hybrid)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]])

    def step():
        with autograd.record():
            out = net(x).sum()
        if look:
            out.item()
        out.backward()
        trainer.step(2)

    counts = [counted(step)[1] for _ in range(3)]
    return values(net), counts


@pytest.mark.dear
@pytest.mark.parametrize("function", [Bent, BentByNumPy, BentWithNumber])
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("look", [False, True])
def test_15844_own_gradients(function, hybrid, look):
    with engine.mode("naive"):
        wanted, _ = bent_steps(Bent, False)
    BentByNumPy.calls.clear()
    found, counts = bent_steps(function, hybrid, look)
    for name in wanted:
        onp.testing.assert_allclose(found[name], wanted[name], rtol=2e-5)
    if not look and (hybrid or function is Bent):
        assert counts[-1]["programs_compiled"] == 0
        assert counts[-1]["dispatches"] == 1 or function is BentWithNumber  # which adds in Python
    if function is BentByNumPy and not look:
        assert BentByNumPy.calls[-6:] == ["forward", "backward"] * 3


@pytest.mark.dear
def test_15844_a_residual_path_and_two_functions():
    def run(first, second, look, naive=False):
        # Not where tanh is nearly 1: there the last bit of it, in which NumPy and XLA differ, is 1e-4 of its slope.
        a, b = np.array([0.5, 1.0, 1.5]), np.array([0.5, 0.25, 0.5])
        a.attach_grad()
        b.attach_grad()
        with engine.mode("naive" if naive else "deferred"):
            with autograd.record():
                h = np.tanh(a * b)
                u = first()(h) + h * b
                w = Bent()(second()(u) * h + u + a)
                out = (w * w).sum()
            if look:
                out.item()
            out.backward()
            with pytest.raises(GraphError, match="freed"):
                out.backward()
            return onp.stack([a.grad.asnumpy(), b.grad.asnumpy()])

    wanted = run(Bent, Bent, False, naive=True)
    for first in (Bent, BentByNumPy):
        for second in (Bent, BentByNumPy):
            for look in (False, True):
                onp.testing.assert_allclose(run(first, second, look), wanted, rtol=1e-5)


def test_15844_gradients_are_checked():
    class Wrong(Bent):
        def backward(self, given):
            return given, given

    x = np.ones(2)
    x.attach_grad()
    with autograd.record():
        out = Wrong()(x)
    with pytest.raises(ArgumentError, match=r"Wrong\.backward gave 2 gradients; there are 1 inputs"):
        out.backward()
    net = nn.HybridLambda(lambda x: Wrong()(x))
    net.hybridize()
    with pytest.raises(ArgumentError, match=r"Wrong\.backward gave 2 gradients"), autograd.record():
        net(x)


@pytest.mark.parametrize("least", [0, 1])
def test_15844_shapes_that_depend_on_values_are_told(least):
    class Picked(Bent):
        def forward(self, x):
            return np.array(x.asnumpy()[x.asnumpy() >= least])

    net = nn.HybridLambda(lambda x: Picked()(x))
    net.hybridize()
    with pytest.raises(Exception, match="must not depend on values"):
        net(np.array([1.0, -1.0])).wait_to_read()


def test_15844_what_is_never_differentiated_leaves_nothing():
    x = np.ones(2)
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            out = Bent()(np.tanh(x))
        _, counts = counted(out.asnumpy)
    assert counts["programs_compiled"] == 0


# -- 7899: arrays from NumPy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("wanted", ["float32", "float64", "int32"])
@pytest.mark.parametrize("naive", [False, True])
def test_7899_an_array_is_copied_once_and_shared_with_nobody(dtype, wanted, naive):
    theirs = (onp.arange(40_000) % 7).astype(dtype).reshape(200, 200)
    with engine.mode("naive" if naive else "deferred"):
        for source in (theirs, theirs.T, theirs[::2]):
            kept = source.astype(wanted)
            ours = np.array(source, dtype=wanted)
            placed = ours.__jax_array__() if source is theirs else None
            if placed is not None:  # XLA took the copy as it was
                assert placed.unsafe_buffer_pointer() % 64 == 0
            before = source.copy()
            source[...] = 0
            assert (ours.asnumpy() == kept).all()
            source[...] = before


def test_7899_a_step_writes_to_no_memory_of_the_users():
    theirs = onp.ones((256, 256), "float32")
    ours = np.array(theirs)
    twin = ours.copy()
    net = nn.Dense(256, in_units=256, use_bias=False)
    net.initialize()
    net.weight.set_data(ours)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(3):
        with autograd.record():
            out = net(theirs).sum()
        theirs[...] = 0  # before it is computed
        out.backward()
        trainer.step(1)
        theirs[...] = 1
    assert (ours.asnumpy() == 1).all() and (twin.asnumpy() == 1).all()
    onp.testing.assert_allclose(net.weight.data().asnumpy(), 1 - 3 * 0.1 * 256, rtol=1e-6)


# -- 18627, 19659: masks of dynamic size -----------------------------------------------------------------------------

_PICKED = onp.array([[3.0, 0.0, 1.0], [0.0, 3.0, 2.0]], "float32")
_FITTING = {
    "nonzero": (lambda m, x, **k: m.nonzero(x, **k)),
    "argwhere": (lambda m, x, **k: m.argwhere(x, **k)),
    "flatnonzero": (lambda m, x, **k: m.flatnonzero(x, **k)),
    "unique": (lambda m, x, **k: m.unique(x, return_index=True, return_inverse=True, return_counts=True, **k)),
    "unique_rows": (lambda m, x, **k: m.unique(x, axis=0, **k)),
    "unique_values": (lambda m, x, **k: m.unique_values(x, **k)),
    "unique_counts": (lambda m, x, **k: m.unique_counts(x, **k)),
    "unique_inverse": (lambda m, x, **k: m.unique_inverse(x, **k)),
    "unique_all": (lambda m, x, **k: m.unique_all(x, **k)),
    "setdiff1d": (lambda m, x, **k: m.setdiff1d(x, x[0], **k)),
    "setxor1d": (lambda m, x, **k: m.setxor1d(x[0], x[1], **k)),
    "union1d": (lambda m, x, **k: m.union1d(x[0], x[1], **k)),
    "intersect1d": (lambda m, x, **k: m.intersect1d(x[0], x[1], **k)),
    "extract": (lambda m, x, **k: m.extract(x > 1, x, **k)),
    "compress": (lambda m, x, **k: m.compress(x[0] > 0, x, axis=1, **k)),
}


@pytest.mark.parametrize("name", list(_FITTING))
@pytest.mark.parametrize("hybrid", [False, True])
def test_18627_sizes_are_given(name, hybrid):
    call, x = _FITTING[name], np.array(_PICKED)
    plain = call(np, x)
    first = plain[0] if isinstance(plain, tuple) else plain
    size = first.shape[1] if name == "compress" else first.shape[0]
    net = nn.HybridLambda(lambda x: call(np, x, size=size + 1))
    net.hybridize(hybrid)
    before = dict(engine.stats()["unhybridized"])
    found = net(x)
    assert engine.stats()["unhybridized"] == before
    pairs = zip(found, plain, strict=True) if isinstance(plain, tuple) else [(found, plain)]
    for i, (one, other) in enumerate(pairs):
        one, other = one.asnumpy(), other.asnumpy()
        assert one.dtype == other.dtype
        if one.shape != other.shape:  # one place more
            one = one[:, :size] if name == "compress" else one[:size]
        assert (one == other).all(), i
    assert type(found) is type(plain)
    (cut,) = [call(np, x, size=1)] if not isinstance(plain, tuple) else [call(np, x, size=1)[0]]
    assert cut.shape[1 if name == "compress" else 0] == 1


def test_18627_what_fills_and_what_is_refused():
    x = np.array([0.0, 5.0])
    assert np.flatnonzero(x, size=3, fill_value=-1).tolist() == [1, -1, -1]
    assert np.nonzero(x, size=2, fill_value=7)[0].tolist() == [1, 7]
    with pytest.raises(ArgumentError, match="size must be a whole number"):
        np.argwhere(x, size=-1)
    with pytest.raises(ArgumentError, match="give size= too"):
        np.unique(x, fill_value=1)
    with pytest.raises(TypeError, match="axes"):
        np.unique(x, axes=0, size=2)


def test_19659_gradients_flow_through_masks_of_a_size():
    x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    x.attach_grad()
    net = nn.HybridLambda(lambda x: np.compress(x[:, 0] > 2, x, axis=0, size=3, fill_value=0))
    net.hybridize()
    with autograd.record():
        out = (net(x) ** 2).sum()
    out.backward()
    assert x.grad.tolist() == [[0, 0], [6, 8], [10, 12]]


# -- 16582: shared parameters are written once -----------------------------------------------------------------------


@pytest.mark.parametrize(("format", "count"), [("npz", 3), ("safetensors", 3), ("mxnet", 4)])
def test_16582_shared_parameters_are_written_once(format, count):
    from gluonx.files import load_arrays

    def tied():
        net = nn.HybridSequential()
        net.add(nn.Dense(3, in_units=3), nn.Dense(3, in_units=3))
        net[1].weight = net[0].weight
        return net

    net = tied()
    net.initialize(init.Uniform(1.0))
    for given, wanted in [({}, count), ({"deduplicate": True}, 3), ({"deduplicate": False}, 4)]:
        file, twin = io.BytesIO(), tied()
        net.save_parameters(file, format=format, **given)
        file.seek(0)
        assert len(load_arrays(file)) == wanted
        file.seek(0)
        twin.load_parameters(file)
        assert twin[1].weight is twin[0].weight
        assert all((values(net)[name] == values(twin)[name]).all() for name in values(net))


# -- 20225: exports in memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["file", "address"])
def test_20225_artifacts(where):
    if where == "address":
        pytest.importorskip("fsspec")
    net, x = dense(2), np.ones((1, 3))
    place = io.BytesIO() if where == "file" else "memory://gluonx/exported"
    assert net.export(place, inputs=[x]) is place
    if where == "file":
        again = io.BytesIO()
        net.export(again, inputs=[x])
        assert again.getvalue() == place.getvalue()
        place.seek(0)
    served = gluonx.load(place)
    assert (served(x).asnumpy() == net(x).asnumpy()).all()
    if where == "address":
        with pytest.raises(FormatError, match=r"model\.json"):
            gluonx.load("memory://gluonx/absent")


def test_20225_what_is_no_artifact():
    with pytest.raises(FormatError, match="<file object>: it is no zip archive"):
        gluonx.load(io.BytesIO(b"nothing"))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("../beside.txt", "x")
        archive.writestr("model/model.json", "{}")
    file.seek(0)
    with pytest.raises(FormatError, match="not one folder"):
        gluonx.load(file)
    full = io.BytesIO()
    with pytest.raises(UninitializedError):
        dense(2).export(full)
    assert not full.getvalue()


def test_20225_files_of_mxnet_and_onnx():
    fsspec = pytest.importorskip("fsspec")
    net, x = dense(2), np.ones((1, 3))
    net.export("memory://gluonx/old", inputs=[x], format="mxnet")
    names = {name.rpartition("/")[2] for name in fsspec.filesystem("memory").ls("/gluonx", detail=False)}
    assert {"old-symbol.json", "old-0000.params"} <= names
    onnx = pytest.importorskip("onnx")
    file = io.BytesIO()
    net.export(file, inputs=[x], format="onnx")
    assert onnx.load_from_string(file.getvalue()).graph.node


# -- 9410, 11840, 10831: reproducible runs ---------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def flags_as_they_were(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))


def trained_anew(kind, mode="deferred", hybrid=False, parts=1, split=False):
    """The initial weights, the outputs that dropout drew for in the first step, and the weights after four steps."""
    gluonx.random.deterministic(3)
    net, drops = nn.HybridSequential(), kind != "plain"
    if kind == "convolution":
        net.add(nn.Conv2D(8, 3, in_channels=1), nn.BatchNorm(in_channels=8), nn.Activation("relu"), nn.Flatten())
    else:
        net.add(nn.Dense(32, activation="relu", in_units=16))
    net.add(nn.Dropout(0.5 if drops else 0.0), nn.Dense(4, in_units=32))
    net.initialize(init.Xavier())
    net.hybridize(hybrid)
    params = net.collect_params()
    for param in params.values() if parts > 1 else ():
        param.grad_req = "add" if param.grad_req != "null" else "null"
    trainer = Trainer(params, "adam", {"learning_rate": 0.01})
    rng = onp.random.RandomState(0)
    images = rng.rand(8, *((1, 4, 4) if kind == "convolution" else (16,))).astype("float32")
    label = rng.randint(0, 4, 8)
    begun, draws = list(values(net).values()), []
    with engine.mode(mode):
        for _ in range(4):
            for part in onp.split(onp.arange(8), parts):
                x, y = np.array(images[part]), np.array(label[part])
                if split:
                    x, y = parallel.split(x), parallel.split(y)
                with autograd.record():
                    out = loss.SoftmaxCELoss()(net(x), y)
                out.backward()
                draws.append(out)
            trainer.step(8)
            net.zero_grad()
    return begun, draws[0].asnumpy(), list(values(net).values())


def equal(one, two):
    return all((a == b).all() for a, b in zip(one, two, strict=True))


def close(one, two):
    return all(onp.allclose(a, b, rtol=1e-2, atol=2e-3) for a, b in zip(one, two, strict=True))


@pytest.mark.dear
@pytest.mark.parametrize("kind", ["dropout", "convolution"])
def test_9410_runs_are_repeated_to_the_bit(kind):
    begun, draws, ended = trained_anew(kind)
    for hybrid in (False, True):
        again = trained_anew(kind, hybrid=hybrid)
        assert equal(again[0], begun) and equal(again[2], ended) and (again[1] == draws).all()


@pytest.mark.dear
def test_11840_modes_draw_alike():
    begun, draws, ended = trained_anew("dropout")
    naive = trained_anew("dropout", mode="naive")
    assert equal(naive[0], begun) and onp.allclose(naive[1], draws, rtol=1e-5) and close(naive[2], ended)


@pytest.mark.dear
def test_11840_meshes_draw_alike():
    begun, draws, ended = trained_anew("dropout")
    with parallel.use(parallel.mesh(data=2, devices=jax.devices()[:2])):
        spread = trained_anew("dropout", split=True)
    assert equal(spread[0], begun) and onp.allclose(spread[1], draws, rtol=1e-5) and close(spread[2], ended)


@pytest.mark.dear
def test_11840_halves_of_a_batch():
    begun, _, ended = trained_anew("plain")
    halves = trained_anew("plain", parts=2)
    assert equal(halves[0], begun) and close(halves[2], ended)
    assert not close(trained_anew("dropout", parts=2)[2], trained_anew("dropout")[2])


@pytest.mark.slow
def test_10831_processes_agree():
    code = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1]); import test_reports as t\n"
        "begun, draws, ended = t.trained_anew('convolution')\n"
        "print(hashlib.sha256(b''.join(a.tobytes() for a in [*begun, draws, *ended])).hexdigest())"
    )
    command = [sys.executable, "-c", code, os.path.dirname(__file__)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True, timeout=120) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout and len(runs[0].stdout) == 65


def test_10831_deterministic_seeds_what_others_draw_from():
    drawn = []
    for _ in range(2):
        gluonx.random.deterministic(5)
        drawn.append(
            (random.random(), onp.random.rand(), np.random.uniform().item(), gluonx.random.host_rng().random())
        )
    assert drawn[0] == drawn[1]


def test_10831_flags_of_xla(monkeypatch):
    from gluonx.common import process

    for given, wanted in [
        ("", process.DETERMINISTIC),
        ("--xla_dump_to=x", f"--xla_dump_to=x {process.DETERMINISTIC}"),
        ("--xla_gpu_deterministic_ops=false", "--xla_gpu_deterministic_ops=false"),
    ]:
        monkeypatch.setenv("XLA_FLAGS", given)
        process.deterministic_operations()
        assert os.environ["XLA_FLAGS"] == wanted


# -- 9914, 5014, 789: inputs whose size varies -----------------------------------------------------------------------


class Averaging(nn.HybridBlock):
    """The mean over time of a dense layer's outputs, where there is something."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Dense(2, in_units=3, flatten=False)

    def forward(self, x, mask):
        kept = np.expand_dims(mask, -1).astype(x.dtype)
        return (self.inner(x) * kept).sum(axis=1) / np.maximum(kept.sum(axis=1), 1)


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True])
def test_9914_no_program_twice_for_one_size(hybrid, rng):
    net = Averaging()
    net.initialize()
    net.hybridize(hybrid)
    call = data.Bucketed(net, {0: [4], 1: [8, 16]})
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})

    def epoch(lengths):
        for n in lengths:
            x = np.array(rng.standard_normal((4 if n % 5 else 3, n, 3)))
            with autograd.record():
                out = (call(x) ** 2).sum()
            out.backward()
            trainer.step(4)

    assert counted(lambda: epoch(range(1, 17)))[1]["programs_compiled"] <= 2
    assert counted(lambda: epoch(range(16, 0, -1)))[1]["programs_compiled"] == 0
    x = np.array(rng.standard_normal((3, 5, 3)))
    onp.testing.assert_allclose(call(x)[:3].asnumpy(), net(x, np.ones((3, 5))).asnumpy(), rtol=1e-5, atol=1e-6)


def test_5014_batches_of_images_of_several_sizes():
    images = [onp.full((5, 7, 3), i, "uint8") for i in (1, 2)] + [onp.full((9, 4, 3), 3, "uint8")]
    pad = data.batchify.PadToBucket({0: [8, 16], 1: [8, 16]}, val=255)
    batch, mask = pad(images)
    assert batch.shape == (3, 16, 8, 3) and mask.shape == (3, 16, 8) and batch.dtype == onp.uint8 and mask.dtype == bool
    for image, row, kept in zip(images, batch.asnumpy(), mask.asnumpy(), strict=True):
        h, w, _ = image.shape
        assert kept[:h, :w].all() and kept.sum() == h * w and (row[:h, :w] == image).all() and (row[~kept] == 255).all()
    loader = data.DataLoader(images, batch_size=2, batchify_fn=pad)
    assert [batch.shape for batch, _ in loader] == [(2, 8, 8, 3), (1, 16, 8, 3)]


def test_789_what_fits_nowhere_is_told():
    with pytest.raises(ShapeError, match=r"a size of 9 fits into none of the buckets \[4, 8\]"):
        data.batchify.PadToBucket({0: [8, 4]})([onp.zeros(9)])
    with pytest.raises(ShapeError, match="one number of axes"):
        data.batchify.PadToBucket({1: [8]})([onp.zeros(9)])
    with pytest.raises(ArgumentError, match="sizes tells for each axis"):
        data.batchify.PadToBucket({0: []})
    call = data.Bucketed(lambda x: x, {0: [4]}, val=1, mask=False)
    assert call(onp.zeros(2, "int32")).tolist() == [0, 0, 1, 1]
    x = np.zeros(2)
    x.attach_grad()
    with autograd.record():
        assert call(np.ones(2)).tolist() == [1, 1, 1, 1]
    for make in (lambda: x, lambda: x * 2):
        with autograd.record(), pytest.raises(ArgumentError, match="gradient would be lost"):
            call(make())
    with autograd.record(), pytest.raises(ArgumentError, match="gradient would be lost"):
        recorded, other = x * 2, x * 3
        other.wait_to_read()  # computes both
        call(recorded)


# -- 15103: blocks out of symbols ------------------------------------------------------------------------------------


def of_symbols():
    data = sym.var("data")
    hidden = sym.Activation(sym.FullyConnected(data, num_hidden=4, name="stem/a"), act_type="relu", name="stem/r")
    block = gluon.SymbolBlock(sym.FullyConnected(hidden, num_hidden=2, name="b"), data)
    block.initialize(init.Xavier())
    return block


@pytest.mark.parametrize("hybrid", [False, True])
def test_15103_taps_of_a_graph(hybrid):
    block, x = of_symbols(), np.ones((3, 5))
    block.hybridize(hybrid)
    with autograd.record():
        out, found = block.intermediates(x, names=["stem/r_output", "stem/a_output"])
        total = found["stem/r_output"].sum()
    total.backward()
    assert (np.maximum(found["stem/a_output"], 0) == found["stem/r_output"]).all()
    onp.testing.assert_allclose(out.asnumpy(), block(x).asnumpy(), rtol=1e-6)
    assert block.collect_params()["stem/a_weight"].grad().shape == (4, 5)
    assert list(block.intermediates(x, names="stem/.*")[1]) == ["stem/a_output", "stem/r_output"]
    assert block.features(["stem/r_output"]) is block.features(["stem/r_output"])
    with pytest.raises(ArgumentError, match="SymbolBlock has no output 'c'; it has 'stem/a_output'"):
        block.intermediates(x, names=["c"])


def test_15103_a_graph_is_shown_as_a_tree():
    block = of_symbols()
    block(np.ones((3, 5)))
    assert repr(block) == (
        "SymbolBlock(data) -> b_output\n"
        "  (stem):\n"
        "    (a): FullyConnected(data)  # stem/a_weight (4, 5), stem/a_bias (4,)\n"
        "    (r): Activation(stem/a)\n"
        "  (b): FullyConnected(stem/r)  # b_weight (2, 4), b_bias (2,)"
    )


def test_11334_biases_of_a_graph_begin_with_zeros():
    block = of_symbols()
    block(np.ones((3, 5)))
    found = values(block)
    assert not found["b_bias"].any() and found["b_weight"].any()
    block.initialize(init.One(), force_reinit=True)  # which reaches them, as in MXNet 2.0
    assert all((value == 1).all() for value in values(block).values())


def test_11542_an_onnx_model_is_no_symbol(tmp_path):
    with pytest.raises(FormatError, match="is an ONNX model; SymbolBlock"):
        gluon.SymbolBlock.imports(tmp_path / "net.onnx", ["data"])
    with pytest.raises(FormatError, match=r"gluonx.onnx.import_model\(file\) gives a block"):
        sym.load(tmp_path / "net.onnx")
    (tmp_path / "net.onnx").write_bytes(b"")
    with pytest.raises(FormatError, match=r"is an ONNX model, not an artifact; gluonx.onnx.import_model"):
        gluonx.load(tmp_path / "net.onnx")


# -- 11542, 10605: ONNX in -------------------------------------------------------------------------------------------


@pytest.mark.dear
def test_11542_an_onnx_model_is_a_block_that_trains(tmp_path):
    onnx = pytest.importorskip("gluonx.onnx")
    net = dense(8, 2)
    x, y = np.random.normal(size=(16, 3)), np.random.normal(size=(16, 2))
    block = onnx.import_model(net.export(tmp_path / "net", format="onnx", inputs=[x]))
    assert (block(x) == net(x)).all() and set(block.collect_params()) == set(net.collect_params())
    block.hybridize()
    trainer, losses = Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1}), []
    for _ in range(5):
        with autograd.record():
            value = loss.L2Loss()(block(x), y).mean()
        value.backward()
        trainer.step(1)
        losses.append(float(value))
    assert losses[-1] < losses[0]


def test_10605_what_a_model_needs_and_gluonx_has_not_is_said_at_once():
    helper = pytest.importorskip("onnx.helper")
    infos = [helper.make_tensor_value_info(name, 1, (1,)) for name in "xz"]
    nodes = [helper.make_node("Wild", ["x"], ["y"], name="first"), helper.make_node("SequenceConstruct", ["y"], ["z"])]
    model = helper.make_model(helper.make_graph(nodes, "g", infos[:1], infos[1:]))
    with pytest.raises(GraphError, match=r"(?s)operator Wild, .*node first.*operator SequenceConstruct"):
        gluonx.onnx.import_model(model)
