"""Bad input and interrupts: one clear error, nothing changed, and the next step is the one that was to come.

Each test has a *rig* (net, trainer, batch) and its undisturbed twin. The fault happens to the rig only; then the
numbers of both must agree, before the next step and after it.
"""

import os
import pathlib
import pickle
import re
import sys

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, loss, nn, np, npx
from gluonx import files as serialize
from gluonx.block.block import HybridBlock
from gluonx.block.parameter import Parameter
from gluonx.deferred.record import tape
from gluonx.deferred.run import flushing
from gluonx.deferred.run.program import Program
from gluonx.errors import (
    DeferredInitializationError,
    DeviceError,
    FormatError,
    GluonxError,
    GraphError,
    ShapeError,
    StaleGradientError,
    TracedValueError,
    UninitializedError,
)
from gluonx.export import stablehlo

BOTH = pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybrid"])
ERRORS = pytest.mark.parametrize("error", [RuntimeError("spilt coffee"), KeyboardInterrupt()], ids=["error", "ctrl-c"])


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    """Many programs from one line are what these tests are about."""
    monkeypatch.setattr(flushing, "_sites", {})


class Fragile(HybridBlock):
    """A block in the middle of the net that does what a test tells it to."""

    act = None

    def forward(self, x):
        if self.act is not None:
            self.act(x)
        return x


class Net(HybridBlock):
    def __init__(self):
        super().__init__()
        self.features = nn.HybridSequential()
        # Not a bias right before a batch norm: its gradient is rounding only, which Adam makes large.
        first = nn.Dense(4, in_units=3, activation="tanh")
        self.features.add(first, nn.BatchNorm(in_channels=4), Fragile(), nn.Dense(2, in_units=4))

    def forward(self, x):
        return self.features(x)


class Rig:
    """A net with moving averages, a trainer with states, a batch."""

    def __init__(self, hybrid, optimizer="adam", steps=2, **settings):
        self.net = Net()
        self.net.initialize(gluonx.init.Uniform(0.5))
        rng = onp.random.RandomState(7)
        for p in self.net.collect_params().values():
            p.set_data(rng.uniform(0.2, 0.9, p.shape))
        if hybrid:
            self.net.hybridize()
        self.fragile = self.net.features[2]
        self.trainer = Trainer(self.net.collect_params(), optimizer, {"learning_rate": 0.1}, **settings)
        self.x = np.array(rng.rand(5, 3))
        self.loss = loss.L2Loss()
        for _ in range(steps):
            self.step()

    def forward(self, x=None):
        with autograd.record():
            return self.loss(self.net(self.x if x is None else x), np.ones((5, 2)))

    def backward(self):
        self.forward().backward()

    def step(self):
        self.backward()
        self.trainer.step(5)

    @property
    def weight(self):
        return self.net.features[0].weight.data()

    def state(self):
        """All numbers: parameters, moving averages, optimizer states, counts."""
        found = {name: p.data().asnumpy() for name, p in self.net.collect_params().items()}
        found |= {f"state of {name}": onp.asarray(a) for name, a in self.trainer._states().items()}
        optimizer = self.trainer.optimizer
        found["num_update"] = onp.array(optimizer.num_update)
        found["counts"] = onp.array(sorted(optimizer._index_update_count.items()))
        return found


def same(a, b, rtol=0.0):
    assert a.keys() == b.keys()
    for name in a:
        onp.testing.assert_allclose(a[name], b[name], rtol=rtol, atol=0, err_msg=name)


def told(error, *parts):
    """All that a user reads: the message and the notes below it."""
    text = "\n".join([str(error), *getattr(error, "__notes__", [])])
    for part in parts:
        assert part in text, f"{part!r} is not in: {text}"


_pairs = {}


def survives(hybrid, fault, error, *parts, pair=None):
    """The fault gives `error` that tells `parts`, changes nothing, and the next step is as if it had not been."""
    # A pair that came through a fault in step is as good as a new one, and needs no compiling.
    rig, twin = pair or _pairs.pop(hybrid, None) or (Rig(hybrid), Rig(hybrid))
    before = rig.state()
    with pytest.raises(error) as caught:
        fault(rig)
    told(caught.value, *parts)
    assert not autograd.is_recording() and not autograd.is_training()
    same(rig.state(), before)
    rig.step(), twin.step()
    same(rig.state(), twin.state(), rtol=1e-6)
    if pair is None and all(onp.array_equal(a, twin.state()[name]) for name, a in rig.state().items()):
        _pairs[hybrid] = rig, twin
    return caught.value


# == wrong inputs ======================================================================================================

BAD_INPUTS = {
    "shape": (
        lambda: np.ones((2, 5)),
        ShapeError,
        ["weight has shape (4, 3)", "data of shape (2, 5)", "In block Net.features.0 (a Dense)."],
    ),
    "text": (lambda: "abc", TypeError, ["an array or a number was expected", "got str: 'abc'", "Net.features.0"]),
    "list": (lambda: [1, 2], TypeError, ["an array or a number was expected", "got list", "Net.features.0"]),
}


@pytest.mark.dear
@BOTH
@pytest.mark.parametrize("recorded", [False, True], ids=["outside", "record"])
@pytest.mark.parametrize("name", BAD_INPUTS)
def test_a_wrong_input(name, recorded, hybrid):
    make, error, parts = BAD_INPUTS[name]

    def fault(rig):
        if recorded:
            rig.forward(make())
        else:
            rig.net(make())

    survives(hybrid, fault, error, *parts)


@BOTH
@pytest.mark.parametrize("make", [lambda: None, lambda: onp.array([[object()] * 3])], ids=["None", "objects"])
def test_an_input_that_is_no_array(make, hybrid):
    def fault(rig):
        with autograd.record():
            rig.net(make())

    survives(hybrid, fault, TypeError, "an array or a number was expected", "Net")


@pytest.mark.dear
@BOTH
@pytest.mark.parametrize("dtype", ["int32", "float16", "bool"])
def test_an_input_of_another_numeric_dtype_is_promoted(dtype, hybrid):
    """MXNet refuses it. Here it takes the parameters' dtype, as in NumPy and JAX, and nothing else changes."""
    rig = Rig(hybrid)
    before = rig.state()
    out = rig.net(np.ones((5, 3), dtype=dtype))
    assert out.dtype == onp.float32
    onp.testing.assert_allclose(out.asnumpy(), rig.net(np.ones((5, 3))).asnumpy(), rtol=1e-6)
    same(rig.state(), before)


def test_a_dtype_that_is_none():
    rig = Rig(False)
    before = rig.state()
    with pytest.raises(TypeError, match="numbers were expected"):
        np.array(["a", "b"])
    with pytest.raises(TypeError, match=r"'Net\.features\.0\.bias' cannot hold data of type <U1; numbers were exp"):
        rig.net.features[0].bias.set_data(["a", "b", "c", "d"])
    with pytest.raises(TypeError, match="'floaty' not understood"):
        rig.net.cast("floaty")
    same(rig.state(), before)


@BOTH
def test_wrong_numbers_of_inputs(hybrid):
    x = np.ones((5, 3))
    survives(
        hybrid, lambda rig: rig.net(x, x), TypeError, "Net.forward() takes 2 positional arguments but 3 were given"
    )
    survives(hybrid, lambda rig: rig.net(), TypeError, "Net.forward() missing 1 required positional argument: 'x'")

    class Inner(HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(2, in_units=3)

        def forward(self, x):
            return self.dense(x, x)

    net = Inner()
    net.initialize()
    net.hybridize(hybrid)
    with pytest.raises(TypeError) as caught:
        net(x)
    told(caught.value, "Dense.forward() takes 2 positional arguments but 3 were given", "In block Inner.dense")


def on_device(rig, n):
    """A step with the batch on another device than the net."""
    with autograd.record():
        value = rig.loss(rig.net(np.array(onp.ones((5, 3)), device=gluonx.cpu(n))), np.ones((5, 2)))
    value.backward()
    rig.trainer.step(5)


@pytest.mark.dear
@BOTH
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_batch_on_another_device(optimizer, hybrid):
    pair = Rig(hybrid, optimizer), Rig(hybrid, optimizer)
    parts = "Net", "features.0", "cpu(0)", "cpu(1)"
    survives(hybrid, lambda rig: on_device(rig, 1), DeviceError, *parts, pair=pair)


@BOTH
def test_a_net_moved_away_from_its_batch(hybrid):
    net = Net()
    net.initialize()
    net.reset_device(gluonx.cpu(2))
    net.hybridize(hybrid)
    for recorded in (False, True):
        with pytest.raises(DeviceError) as caught, autograd.record() if recorded else autograd.pause():
            net(np.array(onp.ones((5, 3)), device=gluonx.cpu(1)))
        told(caught.value, "Net", "cpu(1)", "cpu(2)")
    assert net.features[0].weight.data().device == gluonx.cpu(2)


def test_a_parameter_asked_for_on_another_device():
    def fault(rig):
        rig.net.features[0].weight.data(gluonx.cpu(1))

    survives(False, fault, DeviceError, "'Net.features.0.weight' lives on cpu(0), not on cpu(1)", "x.to_device(cpu(0))")
    with pytest.raises(DeviceError, match=r"gpu\(9\) asked for, but this machine has 0 device"):
        np.ones((2,), device=gluonx.gpu(9))


@BOTH
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_labels_of_another_shape(optimizer, hybrid):
    def fault(rig):
        with autograd.record():
            rig.loss(rig.net(rig.x), np.ones((4, 3))).backward()

    survives(hybrid, fault, ShapeError, "(4, 3)", "(5, 2)", "L2Loss")


# == parameters without values =========================================================================================


@BOTH
@pytest.mark.parametrize("recorded", [False, True], ids=["outside", "record"])
def test_use_before_initialize(recorded, hybrid):
    net = Net()
    net.hybridize(hybrid)
    x = np.ones((5, 3))
    with pytest.raises(UninitializedError) as caught, autograd.record() if recorded else autograd.pause():
        net(x)
    told(caught.value, "weight', used in block Net.features.0, has not been initialized", "net.initialize()")
    assert str(caught.value).count("\n") == 0
    net.initialize()
    assert net(x).shape == (5, 2)


class Unknowable(HybridBlock):
    def __init__(self):
        super().__init__()
        self.scale = Parameter("scale", shape=(0,), init="ones", allow_deferred_init=True)

    def forward(self, x):
        return np.where(x > 0, x, self.scale.data())


class Outer(HybridBlock):
    def __init__(self):
        super().__init__()
        self.inner = Unknowable()

    def forward(self, x):
        return self.inner(x)


@BOTH
@pytest.mark.parametrize("recorded", [False, True], ids=["outside", "record"])
def test_a_shape_that_nothing_tells(recorded, hybrid):
    net = Outer()
    net.initialize()
    net.hybridize(hybrid)
    x = np.ones((2, 3))
    with pytest.raises(DeferredInitializationError) as caught, autograd.record() if recorded else autograd.pause():
        net(x)
    told(caught.value, "Parameter 'Outer.inner.scale' of Outer.inner has unknown dimensions", "(2, 3)", "infer_shape")
    assert net.inner.scale.shape == (-1,)
    net.inner.scale.shape = (3,)
    assert net(x).tolist() == [[1.0] * 3] * 2


def test_a_step_before_there_are_values(tmp_path):
    net = nn.Dense(3)
    trainer = Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
    for initialize in (False, True):
        if initialize:
            net.initialize()
            told = (
                DeferredInitializationError,
                r"Parameter 'Dense\.weight' has no value yet: part of its shape \(3, -1\)",
            )
        else:
            told = UninitializedError, r"Parameter 'Dense\.\w+' has no value yet; initialize"
        # The bias has a value already, and so its states can be saved.
        faults = [lambda: trainer.step(1), lambda: trainer.save_states(tmp_path / "states")][: 1 if initialize else 2]
        for fault in faults:
            with pytest.raises(told[0], match=told[1]):
                fault()
    assert not os.listdir(tmp_path) and trainer.optimizer.num_update == 0
    with autograd.record():
        y = net(np.ones((2, 4))).sum()
    y.backward()
    trainer.step(1)
    assert trainer.optimizer.num_update == 1


# == backward ==========================================================================================================


@BOTH
def test_backward_without_record(hybrid):
    def fault(rig):
        rig.net(rig.x).sum().backward()

    survives(hybrid, fault, GraphError, "no recorded operation computed", "with autograd.record():")


@BOTH
@pytest.mark.parametrize("read", [False, True], ids=["pending", "read"])
def test_backward_twice(read, hybrid):
    rig, twin = Rig(hybrid), Rig(hybrid)
    for r in (rig, twin):
        r.y = r.forward()
        if read:
            r.y.asnumpy()
        r.y.backward()
    for _ in range(2):
        with pytest.raises(GraphError, match="freed by an earlier backward"):
            rig.y.backward()
    del rig.y, twin.y
    same(rig.state(), twin.state())
    rig.trainer.step(5), twin.trainer.step(5)
    same(rig.state(), twin.state())
    rig.step(), twin.step()
    same(rig.state(), twin.state())


@BOTH
def test_backward_on_nothing(hybrid):
    def constant(rig):
        with autograd.record():
            y = np.ones((2,)) * 2
        y.backward()

    survives(hybrid, lambda rig: autograd.backward([]), GraphError, "backward needs at least one array")
    survives(hybrid, lambda rig: np.ones((2,)).backward(), GraphError, "no recorded operation computed")
    survives(hybrid, constant, GraphError, "no recorded operation computed")
    survives(hybrid, lambda rig: autograd.backward([3.0]), TypeError, "backward works on ndarrays, got a float")


def test_backward_on_none():
    with pytest.raises(TypeError, match="backward works on ndarrays, got a NoneType"):
        autograd.backward(None)


@BOTH
def test_head_gradients_of_another_shape_or_number(hybrid):
    def fault(rig):
        rig.forward().backward(np.ones((3,)))

    rig, twin = Rig(hybrid), Rig(hybrid)
    averages = {n for n in rig.state() if "running" in n}
    before = rig.state()
    with pytest.raises(ShapeError, match=r"the shape of its head: \(5,\) expected, \(3,\) came"):
        fault(rig)
    with pytest.raises(ValueError, match="1 heads need 1 head gradients, got 2"):
        autograd.backward([rig.forward()], [np.ones((5,)), np.ones((5,))])
    now = rig.state()
    for name in before.keys() - averages:
        onp.testing.assert_array_equal(now[name], before[name])
    rig.step(), twin.step()
    after, expected = rig.state(), twin.state()
    for name in before.keys() - averages:
        onp.testing.assert_allclose(after[name], expected[name], rtol=1e-6)


# == trainer.step ======================================================================================================


@BOTH
def test_a_stale_gradient(hybrid):
    def fault(rig):
        rig.trainer.step(5)

    survives(hybrid, fault, StaleGradientError, "gradient of parameter 'Net.features.", "ignore_stale_grad=True")
    with pytest.raises(UserWarning, match="has not been renewed by backward"):  # MXNet's type
        Rig(hybrid).trainer.step(5)


@pytest.mark.parametrize("size", [0, -1, float("nan"), float("inf"), None, "many", [4]], ids=repr)
def test_a_batch_size_that_is_none(size):
    rig, twin = Rig(False), Rig(False)
    rig.backward(), twin.backward()
    with pytest.raises(ValueError, match=re.escape(f"batch_size must be a positive number, got {size!r}")):
        rig.trainer.step(size)
    rig.trainer.step(5), twin.trainer.step(5)  # the backward is still good
    same(rig.state(), twin.state())
    rig.step(), twin.step()
    same(rig.state(), twin.state())


# == raw JAX, and values inside a trace ================================================================================


@pytest.mark.dear
@BOTH
def test_raw_jax_on_a_taped_array(hybrid):
    def activation(rig):
        with autograd.record():
            jnp.sin(rig.net(rig.x))

    def parameter(rig):
        with autograd.record():
            jnp.sum(rig.weight)

    ways_out = "gluonx.np", "gluonx.from_jax(fn)", "x.detach()", "hybridized"
    survives(
        hybrid, activation, GraphError, "a raw JAX function was given an array that autograd is recording", *ways_out
    )
    survives(hybrid, parameter, GraphError, "its gradient would be lost", *ways_out)
    rig = Rig(hybrid)
    with autograd.record():
        assert jnp.sin(rig.net(rig.x).detach()).shape == (5, 2)
    assert jnp.sin(rig.weight).shape == (4, 3)


READS = {
    "float": lambda x: float(x.sum()),
    "int": lambda x: int(x.sum()),
    "if": lambda x: 1 if x.sum() > 0 else 2,
    "bool": lambda x: bool(x.sum()),
    "item": lambda x: x.sum().item(),
    "asnumpy": lambda x: x.asnumpy(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: onp.asarray(x),
    "range": lambda x: range(x.sum().astype("int32")),
    "wait": lambda x: x.wait_to_read(),
    "format": lambda x: f"{float(x[0, 0]):.2f}",
    "list": lambda x: list(x.tolist()),
}


@pytest.mark.dear
@pytest.mark.parametrize("recorded", [False, True], ids=["outside", "record"])
@pytest.mark.parametrize("name", READS)
def test_reading_a_value_inside_a_trace(name, recorded):
    def fault(rig):
        rig.fragile.act = READS[name]
        rig.net.hybridize()  # a new trace
        try:
            if recorded:
                rig.forward()
            else:
                rig.net(rig.x)
        finally:
            rig.fragile.act = None

    ways_out = "npx.cond, npx.while_loop or npx.foreach", "hybridize(False)"
    error = survives(True, fault, TracedValueError, *ways_out, "Net.features.2")
    assert isinstance(error, GluonxError) and isinstance(error, TypeError)
    plain = Rig(False)
    plain.fragile.act = READS[name]
    plain.step()  # not hybridized there is a value
    plain.fragile.act = None
    twin = Rig(False)
    twin.step()
    same(plain.state(), twin.state(), rtol=1e-5)


def test_reading_a_value_inside_a_trace_names_the_line():
    rig = Rig(True)
    rig.fragile.act = lambda x: bool(x.sum())
    rig.net.hybridize()
    with pytest.raises(TracedValueError) as caught:
        rig.net(rig.x)
    told(caught.value, "test_errors.py:")


@pytest.mark.dear
def test_printing_inside_a_trace_shows_what_there_is(capsys):
    rig, twin = Rig(True), Rig(True)
    rig.fragile.act = print
    rig.net.hybridize()
    rig.step(), twin.step()
    assert capsys.readouterr().out == "array(<traced>, shape=(5, 4), dtype=float32)\n"
    same(rig.state(), twin.state(), rtol=1e-6)


@pytest.mark.dear
def test_the_offered_ways_work():
    rig = Rig(True)
    rig.fragile.act = lambda x: npx.cond(x.sum() > 0, lambda: x * 2, lambda: x)
    rig.net.hybridize()
    rig.step()


# == files =============================================================================================================


@pytest.fixture
def saved(tmp_path):
    """Files of a rig: parameters and states."""
    rig = Rig(False)
    rig.net.save_parameters(tmp_path / "net.params")
    rig.trainer.save_states(tmp_path / "trainer.states")
    return tmp_path


def write(path, content):
    path.write_bytes(content)
    return path


def a_pickle(folder):
    return write(folder / "pickled", pickle.dumps({"weight": [1.0]}))


def text(folder):
    return write(folder / "text", b"weights: none, sorry. " * 9)


def empty(folder):
    return write(folder / "empty", b"")


def half(name):
    def make(folder):
        raw = (folder / name).read_bytes()
        return write(folder / "half", raw[: len(raw) // 2])

    return make


def short(name):
    def make(folder):
        return write(folder / "short", (folder / name).read_bytes()[:-1])

    return make


def flipped(name):
    def make(folder):
        raw = bytearray((folder / name).read_bytes())
        at = raw.index(b"NUMPY") + 150  # in the data of the first array
        raw[at] ^= 0xFF
        return write(folder / "flipped", bytes(raw))

    return make


def another_model(folder):
    net = nn.Dense(9, in_units=2)
    net.initialize()
    net.save_parameters(folder / "other")
    return folder / "other"


def another_shape(folder):
    arrays = serialize.load_arrays(folder / "net.params")
    arrays["features.3.weight"] = onp.zeros((2, 7), "float32")
    serialize.save_arrays(folder / "shape", arrays)
    return folder / "shape"


BAD_PARAMETERS = {
    "empty": (empty, ["empty'", "the file is empty"]),
    "half": (half("net.params"), ["half'", "damaged zip archive"]),
    "one byte short": (short("net.params"), ["short'", "damaged zip archive"]),
    "bits flipped": (flipped("net.params"), ["flipped'"]),
    "text": (text, ["text'", "expected npz, npy, safetensors, a file of torch.save or an MXNet NDArray list"]),
    "pickle": (a_pickle, ["pickled'", "it is a pickle", "never unpickles"]),
    "trainer states": (lambda folder: folder / "trainer.states", ["into Net", "it lacks 'features.0.weight'"]),
    "another model": (another_model, ["into Net", "it lacks 'features.0.weight'", "it holds 'weight', 'bias'"]),
    "another shape": (
        another_shape,
        ["into Net", "'features.3.weight' has shape (2, 7), the block's parameter (2, 4)"],
    ),
}


@BOTH
@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_a_bad_file_of_parameters(name, saved, hybrid):
    make, parts = BAD_PARAMETERS[name]
    path = make(saved)
    content = path.read_bytes()
    survives(hybrid, lambda rig: rig.net.load_parameters(path), FormatError, *parts)
    assert path.read_bytes() == content


def test_a_file_that_is_not_there(saved):
    survives(False, lambda rig: rig.net.load_parameters(saved / "nowhere"), FileNotFoundError, "nowhere")
    survives(False, lambda rig: rig.trainer.load_states(saved / "nowhere"), FileNotFoundError, "nowhere")


def states_of_adagrad(folder):
    rig = Rig(False, "adagrad")
    rig.trainer.save_states(folder / "adagrad")
    return folder / "adagrad"


def states_of_fewer(folder):
    rig = Rig(False)
    params = {n: p for n, p in rig.net.collect_params().items() if "features.3" not in n}
    trainer = Trainer(params, "adam")
    trainer.save_states(folder / "fewer")
    return folder / "fewer"


def with_meta(meta):
    def make(folder):
        arrays = serialize.load_arrays(folder / "trainer.states")
        arrays["__meta__"] = onp.frombuffer(meta, onp.uint8)
        serialize.save_arrays(folder / "meta", arrays)
        return folder / "meta"

    return make


FORMAT = b'{"format": "gluonx-trainer-1", "optimizer": "Adam", "counts": '
BAD_STATES = {
    "empty": (empty, ["the file is empty"]),
    "half": (half("trainer.states"), ["damaged zip archive"]),
    "one byte short": (short("trainer.states"), ["damaged zip archive"]),
    "pickle": (a_pickle, ["as trainer states", "it does not hold a dict of states"]),
    "parameters": (lambda folder: folder / "net.params", ["not a file of trainer states written by gluonx"]),
    "another optimizer": (states_of_adagrad, ["states of optimizer AdaGrad, but this Trainer uses Adam"]),
    "fewer parameters": (states_of_fewer, ["do not fit this Trainer", "features.3.weight/mean"]),
    "meta is a list": (with_meta(b"[1, 2]"), ["not a file of trainer states"]),
    "meta is no JSON": (with_meta(b"{{{"), ["not a file of trainer states"]),
    "no counts": (with_meta(FORMAT + b"3}"), ["not a file of trainer states"]),
    "no num_update": (with_meta(FORMAT + b"{}}"), ["not a file of trainer states"]),
    "counts of words": (with_meta(FORMAT + b'{"features.0.bias": "x"}, "num_update": 3}'), ["not a file of trainer"]),
    "a rate of words": (
        with_meta(FORMAT + b'{}, "num_update": 3, "learning_rate": "fast"}'),
        ["not a file of trainer states"],
    ),
}


@pytest.mark.parametrize("name", BAD_STATES)
def test_a_bad_file_of_trainer_states(name, saved):
    make, parts = BAD_STATES[name]
    path = make(saved)
    survives(False, lambda rig: rig.trainer.load_states(path), FormatError, path.name, *parts)


# == exceptions and Ctrl-C in the middle ===============================================================================


def raising(error, after=0):
    """A function that raises at its call number `after`; before that it does what `fn` does."""

    def wrap(fn):
        calls = [0]

        def wrapped(*args, **kwargs):
            calls[0] += 1
            if calls[0] > after:
                raise error
            return fn(*args, **kwargs)

        return wrapped

    return wrap


def in_record(rig, patch, error):
    with autograd.record():
        rig.net(rig.x)
        raise error


def in_forward(rig, patch, error):
    rig.fragile.act = lambda x: raising(error)(None)()
    try:
        rig.net.hybridize(rig.net._active)  # hybridized, it is the trace that is interrupted
        rig.forward()
    finally:
        rig.fragile.act = None


def in_compile(rig, patch, error):
    x, rig.x = rig.x, np.array(onp.random.RandomState(3).rand(5, 3))
    patch.setattr(Program, "_trace", raising(error)(None))
    engine.waitall()
    with patch.context() as inner:
        inner.setattr(rig.trainer.optimizer, "clip_gradient", 7.0)  # another update, so a new program
        try:
            rig.step()
        finally:
            rig.x = x


def in_run(rig, patch, error):
    patch.setattr(flushing, "_call", raising(error)(None))
    rig.step()


def in_backward(rig, patch, error):
    patch.setattr(tape, "_grad_op", raising(error)(None))
    y = rig.forward()
    try:
        y.backward()
    except BaseException:
        rig.drifted = True  # the forward was complete
        raise


def in_update(rig, patch, error):
    rig.drifted = True
    rig.backward()
    patch.setattr(rig.trainer.optimizer, "step_numbers", raising(error)(None))
    rig.trainer.step(5)


_FAULTS = (in_record, in_forward, in_compile, in_run, in_backward, in_update)
PLACES = {f.__name__.removeprefix("in_"): f for f in _FAULTS}


@BOTH
@ERRORS
@pytest.mark.parametrize("place", PLACES)
def test_an_exception_in_the_middle_of_a_step(place, error, hybrid, monkeypatch):
    rig, twin = Rig(hybrid), Rig(hybrid)
    rig.drifted = False
    before = rig.state()
    with pytest.raises(type(error)), monkeypatch.context() as patch:
        PLACES[place](rig, patch, error)
    assert not autograd.is_recording() and not autograd.is_training()
    if rig.drifted:  # a forward in training mode was complete; its moving averages count, as in MXNet
        twin.forward()
        twin.net.features[1].running_mean.data().asnumpy()
        for name in [n for n in before if "running" in n]:
            before[name] = twin.state()[name]
    same(rig.state(), before, rtol=1e-6)
    rig.step(), twin.step()
    same(rig.state(), twin.state(), rtol=1e-6)
    rig.step(), twin.step()
    same(rig.state(), twin.state(), rtol=1e-6)


@ERRORS
@pytest.mark.parametrize("what", ["parameters", "states"])
@pytest.mark.parametrize("exists", [False, True], ids=["new", "old"])
def test_an_exception_in_the_middle_of_a_save(what, exists, error, tmp_path, monkeypatch):
    path = tmp_path / "file"
    if exists:
        path.write_bytes(b"what was there")

    def fault(rig):
        for module, name in ((os, "replace"), (onp.lib.format, "write_array"), (os, "fsync")):
            with monkeypatch.context() as patch:
                patch.setattr(module, name, raising(error)(None))
                save = rig.net.save_parameters if what == "parameters" else rig.trainer.save_states
                if name == "replace":
                    last = save, path
                    continue
                try:
                    save(path)
                except type(error):
                    pass
                assert [f.name for f in tmp_path.iterdir()] in (["file"], []), "no scraps"
                if path.exists() and not exists:
                    path.unlink()
                elif exists:
                    path.write_bytes(b"what was there")
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", raising(error)(None))
            last[0](last[1])

    survives(False, fault, type(error))
    assert [f.name for f in tmp_path.iterdir()] == (["file"] if exists else [])
    if exists:
        assert path.read_bytes() == b"what was there"


def failing_rename(error, at, below):
    """`os.rename` that raises at its `at`-th call below a folder; JAX's cache of programs renames files of its own."""
    rename, calls = os.rename, [0]

    def wrapped(source, target):
        calls[0] += below in pathlib.Path(target).parents
        if calls[0] == at and below in pathlib.Path(target).parents:
            raise error
        rename(source, target)

    return wrapped


@pytest.mark.dear
def test_an_export_after_a_call_that_failed(tmp_path):
    rig = Rig(True)
    with pytest.raises(TypeError):
        rig.net()
    rig.net.export(tmp_path / "artifact")
    assert [i.shape for i in gluonx.load(tmp_path / "artifact").signature.inputs] == [("b", 3)]


@ERRORS
@pytest.mark.parametrize("exists", [False, True], ids=["new", "old"])
@pytest.mark.parametrize("where", ["arrays", "first rename", "last rename"])
def test_an_exception_in_the_middle_of_an_export(where, exists, error, tmp_path, monkeypatch):
    path = tmp_path / "artifact"
    pair = _pairs.pop(True, None) or (Rig(True), Rig(True))
    if exists:
        pair[1].net.export(path)
    before = {f.name: f.read_bytes() for f in path.iterdir()} if exists else None

    def fault(rig):
        with monkeypatch.context() as patch:
            if where == "arrays":
                patch.setattr(stablehlo, "save_arrays", raising(error)(None))
            else:
                at = 2 if where == "last rename" and exists else 1
                patch.setattr(os, "rename", failing_rename(error, at, tmp_path))
            rig.net.export(path)

    survives(True, fault, type(error), pair=pair)
    _pairs[True] = pair
    assert [f.name for f in tmp_path.iterdir()] == (["artifact"] if exists else [])
    if exists:
        assert {f.name: f.read_bytes() for f in path.iterdir()} == before


@ERRORS
@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_exception_in_the_middle_of_a_load(after, error, saved, monkeypatch):
    other = Rig(False, steps=4)
    other.net.save_parameters(saved / "later.params")
    other.trainer.save_states(saved / "later.states")

    def parameters(rig):
        with monkeypatch.context() as patch:
            patch.setattr(Parameter, "_adopt", raising(error, after)(Parameter._adopt))
            rig.net.load_parameters(saved / "later.params")

    def states(rig):
        with monkeypatch.context() as patch:
            patch.setattr(jax, "device_put", raising(error, min(after, 1))(jax.device_put))
            rig.trainer.load_states(saved / "later.states")

    survives(False, parameters, type(error))
    survives(False, states, type(error))


# == Ctrl-C at any line ================================================================================================


class CtrlC:
    """Raises KeyboardInterrupt at the n-th line of gluonx that runs inside the block, or the first good one after."""

    def __init__(self, n):
        self.left = n

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.enter)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def enter(self, frame, event, arg):
        ours = f"{os.sep}gluonx{os.sep}" in frame.f_code.co_filename
        return self.line if ours else None

    def line(self, frame, event, arg):
        if event == "line":
            self.left -= 1
            scope = frame.f_code.co_name in ("__enter__", "__exit__") and "autograd" not in frame.f_code.co_filename
            # In these few lines no other context manager written in Python is safe.
            if self.left <= 0 and not scope and not in_finalizer(frame):
                sys.settrace(None)
                self.at = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self.line


def in_finalizer(frame):
    """Python lets nothing out of a ``__del__``, an interrupt neither."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


def trained(state):
    return {name: value for name, value in state.items() if "running" not in name and name != "counts"}


@pytest.mark.dear
@BOTH
@pytest.mark.parametrize("keep_grads", [True, False], ids=["keep", "give up"])
def test_ctrl_c_at_any_line_of_a_step(hybrid, keep_grads, rng):
    """Weights, optimizer states and count are those after as many steps as the count says, whatever was interrupted."""
    straight, rig = Rig(hybrid, keep_grads=keep_grads), Rig(hybrid, keep_grads=keep_grads)
    path = {2: trained(straight.state())}
    lines = 10**6
    with CtrlC(lines) as counter:
        straight.step()
    total = lines - counter.left
    path[3] = trained(straight.state())
    interrupted = 0
    for n in sorted(rng.choice(total, size=min(total, 300), replace=False) + 1):
        moment = CtrlC(int(n))
        try:
            with moment:
                rig.step()
        except KeyboardInterrupt:
            interrupted += 1
        assert not autograd.is_recording() and not autograd.is_training()
        for _ in range(2):
            state = trained(rig.state())
            count = int(state["num_update"])
            while max(path) < count:
                straight.step()
                path[max(path) + 1] = trained(straight.state())
            try:
                same(state, path[count], rtol=1e-4)
            except AssertionError as error:
                at = getattr(moment, "at", "the end")
                raise AssertionError(f"after Ctrl-C at line {n} of {total}, {at}: {error}") from error
            rig.step()
    assert interrupted > 200


# -- classes that programs for MXNet catch ----------------------------------------------------------------------------


def test_errors_of_parameters_are_of_mxnets_classes(tmp_path):
    dense = gluonx.nn.Dense(3, in_units=4)
    dense.initialize()
    dense.save_parameters(tmp_path / "dense.params")
    stack = gluonx.nn.HybridSequential()
    stack.add(gluonx.nn.Dense(3, in_units=4))

    def load(block, **kwargs):
        return lambda: block.load_parameters(tmp_path / "dense.params", **kwargs)

    fresh = gluonx.nn.Dense(3)
    cases = [  # as MXNet 2.0.0b1 raises them
        (load(stack), AssertionError),
        (load(gluonx.nn.Dense(3, in_units=5)), AssertionError),
        (load(gluonx.nn.Dense(3, in_units=4, dtype="float16")), AssertionError),
        (load(gluonx.nn.Dense(3, in_units=4, use_bias=False)), ValueError),
        (load(stack, allow_missing=True), ValueError),
        (load(dense, dtype_source="other"), AssertionError),
        (lambda: dense.load_dict({"weight": dense.weight.data()}), AssertionError),
        (lambda: dense.weight.set_data(np.ones((2, 2))), AssertionError),
        (lambda: setattr(dense.weight, "shape", (3, 9)), AssertionError),
        (lambda: setattr(dense.bias, "grad_req", "other"), AssertionError),
        (lambda: gluonx.Parameter("w", shape=(2,), stype="other"), AssertionError),
        (lambda: fresh.weight.set_data(np.ones((3, 4))), AssertionError),
        (lambda: fresh.weight.reset_ctx(gluonx.cpu()), ValueError),
        (lambda: fresh.reset_ctx(gluonx.cpu()), ValueError),
        (fresh.weight.data, RuntimeError),
        (fresh.weight.grad, RuntimeError),
        (fresh.weight.list_ctx, RuntimeError),
        (lambda: gluonx.Parameter("w", shape=(0, 3)).initialize(), ValueError),
        (lambda: dense.weight.data(gluonx.cpu(3)), RuntimeError),
    ]
    for number, (wrong, kind) in enumerate(cases):
        with pytest.raises(kind) as caught:
            wrong()
        assert type(caught.value).__module__ == "gluonx.errors", number
    waiting = gluonx.nn.Dense(3)
    waiting.initialize()
    for wrong in (waiting.weight.grad, waiting.weight.list_data, waiting.weight.data().asnumpy):
        with pytest.raises(gluonx.errors.DeferredInitializationError):
            wrong()
