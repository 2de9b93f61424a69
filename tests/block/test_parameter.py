"""Parameter and Constant: states, one handle for life, what oracle MXNet 2.0 does, and the sentences of errors."""

import copy
import pickle

import jax
import numpy as onp
import pytest

from gluonx import autograd, initializer
from gluonx.block.parameter import Constant, Parameter
from gluonx.deferred import invoke
from gluonx.deferred.values.core import new_handle
from gluonx.device import cpu, gpu
from gluonx.errors import (
    DeferredInitializationError,
    DeviceError,
    GluonxError,
    GraphError,
    ShapeError,
    UninitializedError,
)
from gluonx.ops import get


def array(value, dtype="float32"):
    return new_handle(jax.numpy.asarray(onp.asarray(value, dtype)))


def ready(name="w", shape=(2, 3), init="ones", **kwargs):
    param = Parameter(name, shape=shape, init=init, **kwargs)
    param.initialize()
    return param


def waiting(shape=(2, -1), **kwargs):
    param = Parameter("w", shape=shape, allow_deferred_init=True, **kwargs)
    param.initialize()
    return param


# ------------------------------------------------------------------ states


def test_the_handle_is_the_same_for_life():
    param = waiting(init="ones")
    handle = param.data()
    param.shape = (2, 3)
    param.set_data(onp.zeros((2, 3)))
    param.initialize(initializer.One(), force_reinit=True)
    param.cast("float16")
    param.grad_req = "add"
    param.reset_device(cpu(0))
    assert param.data() is handle is param.list_data()[0]
    assert handle.asnumpy().tolist() == [[1, 1, 1], [1, 1, 1]]
    assert handle.dtype == onp.float16


UNINITIALIZED = (
    "Parameter 'weight' has not been initialized. Call initialize() on the block that holds it, as in "
    "net.initialize(), before its first use; a block added after that call needs a call of its own."
)


@pytest.mark.parametrize(
    "use",
    [
        lambda p: p.data(),
        lambda p: p.grad(),
        lambda p: p.list_data(),
        lambda p: p.list_grad(),
        lambda p: p.list_ctx(),
        lambda p: p.list_device(),
        lambda p: p.set_data(onp.ones((2, 3))),
        lambda p: p.reset_ctx(ctx=cpu()),
    ],
)
def test_use_before_initialize(use):
    with pytest.raises(UninitializedError) as caught:
        use(Parameter("weight", shape=(2, 3)))
    assert str(caught.value) == UNINITIALIZED


def test_harmless_before_initialize():
    param = Parameter("weight", shape=(2, 3))
    param.zero_grad()
    param.cast("float16")
    assert param.dtype == "float16"
    assert repr(param) == "Parameter (shape=(2, 3), dtype=float16)"


@pytest.mark.parametrize("use", [lambda p: p.grad(), lambda p: p.list_data(), lambda p: p.list_grad()])
def test_reading_while_the_shape_is_unknown(use):
    param = waiting()
    with pytest.raises(DeferredInitializationError) as caught:
        use(param)
    assert str(caught.value) == (
        "Parameter 'w' has no value yet: part of its shape (2, -1) is unknown. Run one batch through the net, call "
        "net.infer_shape(x), or give the whole shape when you make the layer (in_units, in_channels, ...)."
    )
    assert param.list_ctx() == [cpu(0)]


def test_initialize_twice_warns_and_keeps():
    param = ready()
    with pytest.warns(UserWarning, match=r"Parameter 'w' is already initialized and kept\. Set force_reinit=True"):
        param.initialize(initializer.Zero())
    assert param.data().asnumpy().sum() == 6
    param.initialize(initializer.Zero(), force_reinit=True)
    assert param.data().asnumpy().sum() == 0


def test_initialize_again_while_waiting_takes_the_newer_initializer():
    param = waiting()
    param.initialize(initializer.Constant(3.0))
    param.shape = (2, 2)
    assert param.data().asnumpy().tolist() == [[3, 3], [3, 3]]


@pytest.mark.parametrize("shape", [(2, 0), (2, -1), (2, None), None])
def test_unknown_shape_needs_permission(shape):
    param = Parameter("w", shape=shape)
    with pytest.raises(ShapeError, match=r"Cannot initialize parameter 'w': its shape .* is not fully known\."):
        param.initialize()
    with pytest.raises(ValueError):  # as MXNet has it
        param.initialize()
    with pytest.raises(UninitializedError):
        param.data()


def test_a_failing_initializer_leaves_the_parameter_as_it_was():
    class Broken(initializer.Initializer):
        def _init_weight(self, name, arr):
            raise ZeroDivisionError

    param = Parameter("w", shape=(2,))
    with pytest.raises(ZeroDivisionError):
        param.initialize(Broken())
    with pytest.raises(UninitializedError):
        param.data()
    param = ready()
    with pytest.raises(ZeroDivisionError):
        param.initialize(Broken(), force_reinit=True)
    assert param.data().asnumpy().sum() == 6


@pytest.mark.parametrize(
    ("own", "init", "default", "expected"),
    [
        ("ones", None, None, 1),
        ("ones", "zeros", None, 0),
        ("ones", None, "zeros", 1),
        (None, None, "zeros", 0),
        (None, "zeros", "ones", 0),
    ],
)
def test_which_initializer_wins(own, init, default, expected):
    param = Parameter("w", shape=(2,), init=own)
    param.initialize(init, default_init=default)
    assert param.data().asnumpy().tolist() == [expected, expected]


@pytest.mark.parametrize("name", ["weight", "bias", "gamma", "running_mean", "foo"])
def test_the_name_does_not_choose_the_initializer(name):
    param = Parameter(name, shape=(100,))
    param.initialize()
    values = param.data().asnumpy()
    assert 0 < abs(values).max() <= 0.07


def test_unknown_initializer():
    with pytest.raises(ValueError, match="nope"):
        Parameter("w", shape=(2,), init="nope").initialize()


# ------------------------------------------------------------------ shapes


def test_spellings_of_unknown():
    assert Parameter("w", shape=(2, 0, None, -1)).shape == (2, -1, -1, -1)
    assert Parameter("w", shape=3).shape == (3,)
    assert Parameter("w").shape is None
    assert Parameter("w", shape=()).shape == ()
    scalar = ready(shape=())
    assert scalar.data().shape == ()


def test_shape_can_be_completed_step_by_step():
    param = Parameter("w", shape=(2, 0, 0), allow_deferred_init=True)
    param.shape = (0, 3, 0)
    assert param.shape == (2, 3, -1)
    param.initialize("ones")
    param.shape = (2, 3, 4)
    assert param.data().asnumpy().sum() == 24
    param.shape = (2, 3, 4)


@pytest.mark.parametrize("shape", [(3, 4), (2,), (2, 3, 4), ()])
def test_shape_cannot_contradict(shape):
    param = waiting()
    with pytest.raises(ShapeError) as caught:
        param.shape = shape
    assert str(caught.value) == f"Parameter 'w' has shape (2, -1), which does not fit the assigned shape {shape}."
    assert param.shape == (2, -1)


def test_shape_of_a_ready_parameter_is_fixed():
    param = ready()
    with pytest.raises(ShapeError):
        param.shape = (2, 4)
    assert param.shape == (2, 3)


def test_rank_unknown():
    param = Parameter("w", allow_deferred_init=True)
    param.initialize("ones")
    assert repr(param) == "Parameter (shape=None, dtype=float32)"
    param.shape = 2
    assert param.data().asnumpy().tolist() == [1, 1]


def test_an_operator_finds_the_shape():
    param = waiting(init="ones")
    op = get("fully_connected").bind(num_hidden=2, no_bias=True)
    y = invoke(op, (array(onp.ones((4, 5))), param.data(), None))
    assert param.shape == (2, 5)
    assert y.asnumpy().tolist() == [[5, 5]] * 4
    with autograd.record():
        y = invoke(op, (array(onp.ones((4, 5))), param.data(), None))
    y.backward()
    assert param.grad().asnumpy().tolist() == [[4] * 5] * 2


def test_an_operator_finds_the_shape_while_recording():
    param = waiting(init="ones")
    op = get("fully_connected").bind(num_hidden=2, no_bias=True)
    with autograd.record():
        y = invoke(op, (array(onp.ones((4, 5))), param.data(), None))
    y.backward()
    assert param.grad().asnumpy().tolist() == [[4] * 5] * 2


def test_what_the_operator_needs_contradicts_the_declaration():
    param = waiting(shape=(3, -1))
    with pytest.raises(ShapeError) as caught:
        param._resolve_shape((2, 5))
    assert str(caught.value) == "Parameter 'w' has shape (3, -1), which does not fit what its operator needs: (2, 5)."


# ------------------------------------------------------------------ gradients


def test_grad_req_is_checked():
    with pytest.raises(ValueError, match=r"grad_req of parameter 'w' must be one of .* got 'zz'"):
        Parameter("w", grad_req="zz")
    param = ready()
    with pytest.raises(ValueError):
        param.grad_req = "zz"
    assert param.grad_req == "write"


def test_grad_follows_grad_req():
    param = ready(shape=(2,))

    def backward():
        with autograd.record():
            y = param.data() * 3.0
        y.backward()

    assert param.grad().asnumpy().tolist() == [0, 0]
    backward()
    backward()
    assert param.grad().asnumpy().tolist() == [3, 3]
    param.zero_grad()
    assert param.grad().asnumpy().tolist() == [0, 0]
    param.grad_req = "add"
    backward()
    backward()
    assert param.list_grad()[0].asnumpy().tolist() == [6, 6]
    param.grad_req = "null"
    with pytest.raises(GluonxError, match="Parameter 'w' has no gradient, because its grad_req is 'null'"):
        param.grad()
    with pytest.raises(GluonxError):
        param.list_grad()
    param.zero_grad()


def test_setting_the_same_grad_req_keeps_the_gradient():
    param = ready(shape=(2,))
    with autograd.record():
        y = param.data() * 3.0
    y.backward()
    param.grad_req = "write"
    assert param.grad().asnumpy().tolist() == [3, 3]


def test_grad_req_before_initialize():
    param = Parameter("w", shape=(2,))
    param.grad_req = "null"
    param.initialize()
    assert param.data().grad is None


def test_not_differentiable():
    param = Parameter("w", shape=(2,), differentiable=False)
    param.grad_req = "write"
    assert param.grad_req == "null"


def test_integers_have_no_gradient():
    param = ready(shape=(2,), dtype="int32")
    assert param.data().dtype == onp.int32
    with pytest.raises(GluonxError, match="because it is of dtype int32"):
        param.grad()


def test_gradients_take_no_memory_before_they_are_read():
    param = ready(shape=(1000,))
    before = len(jax.live_arrays())
    param.grad_req = "add"
    other = ready(shape=(1000,), init="zeros")
    assert len(jax.live_arrays()) == before + 1
    assert other.grad().shape == (1000,)


def test_storage_types():
    for bad in ({"stype": "zz"}, {"grad_stype": "zz"}):
        with pytest.raises(ValueError, match="must be one of"):
            Parameter("w", **bad)
    param = ready(grad_stype="row_sparse")
    for call in (param.row_sparse_data, param.list_row_sparse_data):
        with pytest.raises(GluonxError, match="Cannot return rows of parameter 'w'"):
            call(array([0]))
    with pytest.raises(GluonxError, match="Parameter 'w' has no symbol"):
        param.var()


# ------------------------------------------------------------------ writing


@pytest.mark.parametrize("make", [array, onp.asarray, jax.numpy.asarray, lambda v: v])
def test_set_data_takes_any_array(make):
    param = ready(shape=(2, 2))
    param.set_data(make([[1.0, 2.0], [3.0, 4.0]]))
    assert param.data().asnumpy().tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("make", [array, onp.asarray, jax.numpy.asarray])
def test_set_data_copies(make):
    param = ready(shape=(2,))
    source = make(onp.array([1.0, 2.0], "float32"))
    param.set_data(source)
    if isinstance(source, onp.ndarray):
        source[:] = 7
    held = source.value if hasattr(source, "value") else source
    assert param.data().value is not held
    param.data()[:] = 9.0
    assert onp.asarray(source).tolist() in ([1, 2], [7, 7])
    param.set_data(make(onp.array([1.0, 2.0], "float32")))
    assert param.data().asnumpy().tolist() == [1, 2]


@pytest.mark.parametrize("make", [array, onp.asarray])
def test_set_data_casts(make):
    param = ready(shape=(2,), dtype="float16")
    param.set_data(make([1.5, 2.5]))
    assert param.data().dtype == onp.float16
    assert param.data().asnumpy().tolist() == [1.5, 2.5]


@pytest.mark.parametrize("data", [onp.ones((2, 4)), 2.0, [1.0, 2.0]])
def test_set_data_checks_the_shape(data):
    param = ready()
    with pytest.raises(ShapeError) as caught:
        param.set_data(data)
    shape = onp.shape(data)
    assert str(caught.value) == f"Parameter 'w' has shape (2, 3), which does not fit the data's shape {shape}."
    assert param.data().asnumpy().sum() == 6


def test_set_data_checks_the_type():
    with pytest.raises(TypeError, match="Parameter 'w' cannot hold data of type <U1; numbers were expected"):
        ready(shape=(1,)).set_data(["a"])


def test_set_data_ends_the_waiting():
    param = waiting()
    param.set_data(array(onp.ones((2, 5))))
    assert param.shape == (2, 5)
    assert param.grad().asnumpy().sum() == 0
    with pytest.raises(ShapeError):
        waiting().set_data(onp.ones((3, 5)))


def test_set_data_keeps_the_gradient():
    param = ready(shape=(2,))
    with autograd.record():
        y = param.data() * 3.0
    y.backward()
    param.set_data(onp.zeros(2))
    assert param.grad().asnumpy().tolist() == [3, 3]


@pytest.mark.parametrize("pending", [False, True])
def test_set_data_while_recording(pending):
    """As in MXNet, a parameter is not written to inside record(); under pause() it goes on with the new value."""
    param = ready(shape=(2,))
    with autograd.record():
        y = param.data() * param.data() * 3.0
        new = param.data() * 5.0 if pending else onp.array([5.0, 5.0])
        with pytest.raises(GraphError, match="was written to inside record"):
            param.set_data(new)
        with autograd.pause():
            param.set_data(new)
        z = y + param.data()
    z.backward()
    # The square was recorded with the old value, 3 * 2 * 1; the sum takes the new one, whose gradient is 1.
    assert param.data().asnumpy().tolist() == [5, 5]
    assert param.grad().asnumpy().tolist() == [7, 7]


def test_a_statistic_is_written_outside_the_tape():
    mean = ready("running_mean", shape=(2,), init="zeros", grad_req="null")
    x = array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = x * 2.0
        mean.set_data(mean.data() * 0.5 + y * 0.5)
        y = y + mean.data() * 100.0
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 2]
    assert mean.data().asnumpy().tolist() == [1, 2]


# ------------------------------------------------------------------ dtype and device


def test_cast():
    param = ready()
    with autograd.record():
        y = param.data() * 3.0
    y.backward()
    param.cast("bfloat16")
    assert param.dtype == param.data().dtype == param.grad().dtype == "bfloat16"
    assert param.grad().asnumpy().astype("float32").sum() == 0
    param.dtype = "float32"
    assert param.data().dtype == onp.float32
    assert param.data().asnumpy().sum() == 6
    deferred = waiting(init="ones")
    deferred.cast("float16")
    deferred.shape = (2, 2)
    assert deferred.data().dtype == onp.float16


def test_dtype_spellings():
    assert Parameter("w", dtype="float16").dtype == "float16" == Parameter("w", dtype=onp.float16).dtype
    assert Parameter("w", dtype=None).dtype == onp.float32


many_devices = pytest.mark.skipif(len(jax.devices()) < 2, reason="needs two devices")


@many_devices
def test_devices():
    param = Parameter("w", shape=(2,), init="ones")
    param.initialize(device=cpu(1))
    assert param.list_device() == [cpu(1)]
    assert param.data(cpu(1)) is param.data()
    assert param.data().device == cpu(1)
    param.set_data(array([1.0, 2.0]))
    assert param.data().device == cpu(1)
    param.set_data(onp.array([3.0, 4.0]))
    assert param.data().device == cpu(1)
    param.reset_device([cpu(0)])
    assert param.data().device == cpu(0) == param.list_ctx()[0]
    assert param.data().asnumpy().tolist() == [3, 4]
    with cpu(1):
        param.initialize(force_reinit=True)
        assert param.data().device == cpu(1)
        param.reset_device(cpu(0))
        param.set_data(onp.array([3.0, 4.0]))
        assert param.data().device == cpu(0)


@many_devices
def test_wrong_device():
    param = ready()
    with pytest.raises(DeviceError) as caught:
        param.data(cpu(1))
    assert str(caught.value) == (
        "Parameter 'w' lives on cpu(0), not on cpu(1). Bring the data there, x.to_device(cpu(0)), or move the net, "
        "net.reset_device(cpu(1))."
    )
    for wrong in (lambda: param.grad(cpu(1)), lambda: param.grad(ctx=cpu(1)), lambda: param.data(ctx=cpu(1))):
        with pytest.raises(DeviceError):
            wrong()
    assert param.data(cpu(0)) is param.data("cpu:0") is param.data()


def test_a_list_of_one_device_and_devices_that_do_not_exist():
    param = Parameter("w", shape=(2,), init="ones")
    with pytest.raises(DeviceError, match=r"\[cpu\(0\), cpu\(1\), cpu\(0\)\] names cpu\(0\) twice"):
        param.initialize(device=[cpu(0), cpu(1), cpu(0)])
    param.initialize(device=[cpu(0)])
    assert param.list_device() == [cpu(0)]
    with pytest.raises(DeviceError, match="twice"):
        param.reset_device([cpu(0), cpu(0)])
    with pytest.raises(DeviceError, match="gpu\\(99\\)"):
        param.initialize(ctx=gpu(99), force_reinit=True)
    with pytest.raises(DeviceError):
        param.reset_device(gpu(99))
    with pytest.raises(DeviceError, match="empty list"):
        param.reset_device([])
    assert param.data().asnumpy().tolist() == [1, 1]


def test_a_device_in_use_as_a_context_is_not_kept():
    with cpu(0) as device:
        param = ready()
        copy.deepcopy(param)
        assert param.list_device()[0] is not device


# ------------------------------------------------------------------ copies


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies(clone):
    param = ready(grad_req="add", lr_mult=2.0)
    twin = clone(param)
    assert twin.data() is not param.data()
    twin.set_data(onp.zeros((2, 3)))
    assert param.data().asnumpy().sum() == 6
    assert (twin.grad_req, twin.lr_mult, twin.grad().shape) == ("add", 2.0, (2, 3))
    deferred = clone(waiting(init="ones"))
    deferred.shape = (2, 2)
    assert deferred.data().asnumpy().sum() == 4
    with pytest.raises(UninitializedError):
        clone(Parameter("w", shape=(2,))).data()
    half = ready(shape=(2,), dtype="bfloat16")
    assert clone(half).data().dtype == "bfloat16"


def test_attributes_of_ones_own():
    param = Parameter("w", shape=(2,))
    param.note = "mine"
    assert copy.deepcopy(param).note == "mine"
    assert {param: 1}[param] == 1


# ------------------------------------------------------------------ Constant


@pytest.mark.parametrize(
    ("value", "shape", "dtype"),
    [
        ([[1, 2], [3, 4]], (2, 2), "float32"),
        (onp.ones(2, "float16"), (2,), "float32"),
        (onp.arange(3), (3,), "float32"),
        (array([1, 2], "int32"), (2,), "int32"),
        (3.0, (), "float32"),
    ],
)
def test_constant(value, shape, dtype):
    constant = Constant(value)
    assert repr(constant) == f"Constant (shape={shape}, dtype={dtype})"
    assert constant.name == "const"
    with pytest.raises(UninitializedError):
        constant.data()
    constant.initialize(default_init="zeros")
    assert constant.data().dtype == dtype
    assert onp.array_equal(constant.data().asnumpy(), onp.asarray(value))
    with pytest.raises(GluonxError):
        constant.grad()


def test_constant_is_never_trained():
    constant = Constant([1.0])
    with pytest.warns(UserWarning, match="Constant parameter 'const' is never trained: grad_req='write' is ignored"):
        constant.grad_req = "write"
    assert constant.grad_req == "null"
    constant.grad_req = "null"


def test_constant_owns_its_value():
    value = onp.ones(2, "float32")
    constant = Constant(value)
    value[:] = 5
    constant.initialize()
    constant.set_data([7.0, 7.0])
    constant.cast("float16")
    constant.initialize(force_reinit=True)
    assert constant.data().asnumpy().tolist() == [1, 1]
    assert copy.deepcopy(constant).data().asnumpy().tolist() == [1, 1]
