"""What cannot lie on a mesh as asked is said before anything runs, and changes nothing."""

import jax
import pytest

import gluonx
from gluonx import autograd, nn, np, parallel
from gluonx.errors import DeviceError, ShapeError
from lib.meshes import on


def dense():
    net = nn.Dense(6, in_units=4)
    net.initialize()
    return net


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({"data": 3}, r"mesh\(data=3\) takes 3 devices, and there are 8.*devices=jax.devices\(\)\[:3\]"),
        ({"data": -1, "model": 3}, "takes a multiple of 3 devices, and there are 8"),
        ({"data": -1, "model": -1}, "one may be -1"),
        ({"data": 0}, "sizes are positive"),
        ({"data": 2.0}, r"the size of the axis 'data' is a number of devices, got 2\.0"),
        ({"data": "2"}, "the size of the axis 'data' is a number of devices, got '2'"),
        ({"data": 16}, r"takes 16 devices, and there are 8\.$"),
        ({}, "a mesh needs an axis"),
    ],
)
def test_a_mesh_that_does_not_fit_the_devices(axes, said):
    with pytest.raises(DeviceError, match=said):
        parallel.mesh(**axes)


def test_a_mesh_takes_devices_by_their_names_too():
    named = parallel.mesh(data=2, devices=[gluonx.cpu(0), gluonx.cpu(1)])
    assert named == on(2, data=2)
    with pytest.raises(DeviceError, match="a device comes twice"):
        parallel.mesh(data=2, devices=[gluonx.cpu(0), gluonx.cpu(8)])


@pytest.mark.parametrize("axes", [{"data": 1}, {"data": -1}], ids=str)
@pytest.mark.parametrize("devices", [[], 2, "cpu", ["cpu:0", "cpu:1"]], ids=str)
def test_devices_of_a_mesh_are_devices(devices, axes):
    with pytest.raises(DeviceError, match=r"mesh\(\): devices are a list of devices, as in jax\.devices"):
        parallel.mesh(devices=devices, **axes)


def test_a_batch_is_split_over_an_axis_once():
    with pytest.raises(DeviceError, match="names an axis of the mesh twice"):
        parallel.use(on(2, data=2), batch=("data", "data"))
    with pytest.raises(DeviceError, match="no 3"):
        parallel.use(on(2, data=2), batch=3)
    assert parallel.current_mesh() is None


def test_a_batch_of_a_mesh_for_a_net_on_a_list_of_devices():
    net = nn.Dense(2, in_units=3)
    net.initialize(ctx=[gluonx.cpu(0), gluonx.cpu(1)])
    with parallel.use(on(4, data=4)):
        x = parallel.split(np.ones((4, 3)))
        with pytest.raises(DeviceError, match=r"on a mesh of 4 devices.*parameter 'Dense\.\w+' on cpu\(0\)"):
            net(x)


def test_a_mesh_without_a_batch_axis_wants_to_be_told():
    with pytest.raises(DeviceError, match=r"use\(mesh, batch='dp'\)"):
        parallel.use(on(2, dp=2))
    with parallel.use(on(2, dp=2), batch="dp"):
        assert tuple(parallel.split(np.zeros((4, 2)))._read().sharding.spec) == ("dp",)
    with parallel.use(on(2, tp=2), batch=()):
        assert parallel.split(np.zeros((4, 2)))._read().sharding.is_fully_replicated
    with pytest.raises(DeviceError, match="no 'dp'"):
        parallel.use(on(2, data=2), batch="dp")
    with pytest.raises(TypeError, match="takes a mesh"):
        parallel.use({"data": 2})
    assert parallel.current_mesh() is None


def test_explicit_axes_are_refused_with_the_right_call():
    explicit = jax.make_mesh((2,), ("data",), devices=jax.devices()[:2], axis_types=(jax.sharding.AxisType.Explicit,))
    with pytest.raises(DeviceError, match=r"parallel\.mesh\(data=2\), or by jax\.make_mesh"):
        parallel.use(explicit)
    x = jax.device_put(jax.numpy.ones((4, 2)), jax.NamedSharding(explicit, jax.P("data")))
    with pytest.raises(DeviceError, match="Explicit"), autograd.record():
        dense()(gluonx.np.array(x))
    with pytest.raises(DeviceError, match="Explicit"):
        dense().weight.set_data(np.array(jax.device_put(jax.numpy.ones((6, 4)), x.sharding)))
    with pytest.raises(DeviceError, match="Explicit"):
        np.ones((4, 2)).to_device(x.sharding)
    with jax.set_mesh(explicit), pytest.raises(DeviceError, match=r"Leave jax\.set_mesh out"):
        parallel.use(on(2, data=2))
    with jax.set_mesh(on(2, data=2)), parallel.use(on(2, data=2)):  # of the type Auto
        dense()(parallel.split(np.ones((4, 4))))


def test_a_parameter_is_not_put_over_several_devices_as_if_they_were_one():
    place = jax.NamedSharding(on(2, data=2), jax.P())
    net = dense()
    for put in (net.reset_ctx, lambda place: net.initialize(ctx=place, force_reinit=True)):
        with pytest.raises(DeviceError, match=r"'Dense.*placement over 2\. Assign it, parameter\.sharding"):
            put(place)
    net.weight.sharding = place
    assert net.weight.data()._read().sharding == place and net.weight.data().ctx == gluonx.cpu(0)


def test_rules():
    net = dense()
    before = net.weight.data()._read()
    with pytest.raises(DeviceError, match=r"Dense\.shard\(\): no mesh is in use"):
        net.shard()
    with pytest.raises(DeviceError, match=r"parameter 'Dense\.weight': no mesh is in use"):
        net.weight.sharding = ("data",)
    with parallel.use(on(4, data=2, model=2)):
        for rules, kind, said in [
            (
                {".*kernel": ("data",)},
                DeviceError,
                r"'\.\*kernel' matches no parameter of this Dense, which has weight, bias",
            ),
            ({"weight": ("data",), "w.*": (None, "data")}, DeviceError, "matched by two rules that differ"),
            ({"weight": ("rows",)}, DeviceError, "and no 'rows'"),
            ({"weight": ("data", "data")}, DeviceError, "names an axis of the mesh twice"),
            ({"weight": "data"}, DeviceError, r"the rule 'weight': a spec has an entry for each axis.*got 'data'"),
            ({"weight": 2}, DeviceError, "the rule 'weight': a spec has an entry for each axis.*got 2"),
            ({"weight": (2,)}, DeviceError, r"the rule 'weight': an entry of a spec is the name.*got 2 in \(2,\)"),
            ({"(": ("data",)}, DeviceError, r"the rule '\(' is no regular expression: missing \)"),
            (["weight"], DeviceError, r"Dense\.shard\(\) takes strategies.*got \['weight'\]"),
            (parallel.fsdp, DeviceError, r"Dense\.shard\(\) takes strategies.*got <class"),
            ({"bias": (None, "data")}, ShapeError, "speaks of 2 axes"),
            ({"weight": (("data", "model"),)}, ShapeError, r"axis 0 of the shape \(6, 4\) cannot be split evenly"),
        ]:
            with pytest.raises(kind, match=said):
                net.shard(rules)
        for strategy in (parallel.fsdp("zero"), parallel.tensor("zero"), parallel.expert("zero")):
            with pytest.raises(DeviceError, match="and no 'zero'"):
                net.shard(strategy)
        with pytest.raises(DeviceError, match="no parameter of this Dense has a name like"):
            net.shard(parallel.expert("data"))
        with pytest.raises(DeviceError, match="a spec has an entry for each axis"):
            net.weight.sharding = "data"
        with pytest.raises(ShapeError, match=r"split\(\): axis 0"):
            parallel.split(np.ones((3, 2)), "data")
        with pytest.raises(ShapeError, match=r"constrain\(\): axis 1"):
            parallel.constrain(np.ones((4, 3)), None, "data")
    assert net.weight.data()._read() is before and net.weight.sharding is None
    with parallel.use(on(4, data=2, model=2)):
        net.shard({"weight": ("data", None), "w.*": ("data", None)})  # two that say the same


def test_an_unknown_shape_is_checked_when_it_is_known():
    with parallel.use(on(4, data=4)):
        net = nn.Dense(6)
        net.shard({"weight": (None, "data")})
        net.initialize()
        assert net.weight.sharding is None
        with pytest.raises(ShapeError, match=r"parameter 'weight': axis 1 of the shape \(6, 5\)"):
            net(np.ones((2, 5)))


def test_arrays_on_other_meshes():
    with parallel.use(on(4, data=4)):
        net = dense()
    with parallel.use(on(2, data=2)):
        x = parallel.split(np.ones((4, 4)))
        said = r"an array on a mesh of 2 devices, parameter 'Dense\.weight' on a mesh of 4.*parallel\.split\(x\)"
        with pytest.raises(DeviceError, match=said), autograd.record():
            net(x)
        with pytest.raises(DeviceError, match=said):
            net(x)


def test_arrays_on_the_same_devices_in_another_order():
    with parallel.use(on(2, data=2)):
        x = parallel.split(np.ones((4, 4)))
    with parallel.use(parallel.mesh(data=2, devices=jax.devices()[1::-1])):
        net = dense()
        with pytest.raises(DeviceError, match=r"parameter 'Dense\.weight' on a mesh of 2 devices in the order 1, 0"):
            net(x)


def test_outputs_of_two_devices_of_a_list_do_not_meet():
    net = nn.Dense(2, in_units=3)
    net.initialize(ctx=[gluonx.cpu(0), gluonx.cpu(1)])
    parts = [np.ones((1, 3), device=gluonx.cpu(k)) for k in range(2)]
    said = r"add\(\) got inputs on different devices: an array on cpu\(0\), an array on cpu\(1\).*x\.to_device"
    with pytest.raises(DeviceError, match=said):
        net(parts[0]) + net(parts[1])
    with autograd.record():
        loss = (net(parts[0]) + net(parts[1])).sum()
    with pytest.raises(DeviceError, match=r"cpu:0.*cpu:1|cpu:1.*cpu:0"):
        loss.backward()
        net.weight.grad(gluonx.cpu(0)).wait_to_read()


def backward(net, x):
    with autograd.record():
        value = net(x).sum()
    value.backward()
    net.weight.grad().wait_to_read()


def test_an_array_that_was_put_on_one_device_by_name():
    with parallel.use(on(4, data=4)):
        net = dense()
        for device in (gluonx.cpu(0), gluonx.cpu(1)):
            x = np.array([[1.0] * 4] * 4, device=device)
            with pytest.raises(DeviceError, match=r"parallel\.split\(x\)"):
                backward(net, x)


@pytest.mark.dear
def test_pieces_that_are_split_stay_apart():
    with parallel.use(on(2, data=2)):
        net = nn.MultiHeadAttention(8, 2, in_units=8)
        net.initialize()
        net(np.ones((2, 3, 8)))
        with pytest.raises(DeviceError, match="is a piece of"):
            net.query.weight.sharding = ("data",)
        net.shard({"qkv_weight": ("data",)})
        assert not net.is_fused and tuple(net.value.weight.sharding.spec) == ("data",)
        net(np.ones((2, 3, 8)))
        assert not net.is_fused
