"""SymbolBlock: the files of MXNet 1.9.1 and 2.0.0b1 run with their numbers, and go on as blocks."""

import json

import jax
import numpy as np
import pytest

import gluonx
from gluonx import autograd, gluon, nn
from gluonx import np as gnp
from gluonx.compat import symbol as sym
from gluonx.errors import FormatError, ShapeError
from gluonx.files import load_arrays, save_arrays
from gluonx.gluon import SymbolBlock
from lib.params_samples import HERE, networks

NETWORKS = networks()
LARGE = ("mobilenet0.25", "squeezenet1.1")


def imported(version, name, folder):
    """The block, its inputs and the outputs that MXNet computed."""
    io = load_arrays(folder / f"{name}-io.npz")
    inputs = [gnp.array(v, dtype=v.dtype) for k, v in io.items() if k.startswith(("in", "data"))]
    outputs = [v for k, v in io.items() if k.startswith("out")]
    names = ["data"]
    if name == "gru":  # a bare layer: its begin state is an input
        names, inputs = ["data0", "data1"], [*inputs, gnp.zeros((1, 2, 12))]
    (params,) = folder.glob(f"{name}-0*.params")
    return SymbolBlock.imports(folder / f"{name}-symbol.json", names, params), inputs, outputs


def mlp(version="mxnet-2.0.0b1"):
    return imported(version, "mlp", HERE / version)


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize(("version", "name", "folder"), NETWORKS, ids=[f"{v}-{n}" for v, n, _ in NETWORKS])
def test_every_exported_network_gives_mxnets_outputs(version, name, folder, hybridized):
    if name in LARGE and not hybridized and version == "mxnet-1.9.1":
        pytest.skip("the same graph runs hybridized, and its twin of 2.0 operator by operator")
    net, inputs, outputs = imported(version, name, folder)
    net.hybridize(hybridized)
    found = net(*inputs)
    found = found if isinstance(found, list) else [found]
    scale = np.abs(outputs[0]).max()
    np.testing.assert_allclose(found[0].asnumpy() / scale, outputs[0] / scale, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("version", ["mxnet-1.9.1", "mxnet-2.0.0b1"])
def test_recurrent_networks_take_any_batch(version):
    net, inputs, outputs = imported(version, "lstm_lm", HERE / version)
    one = net(gnp.array(inputs[0].asnumpy()[:, :1], dtype=inputs[0].dtype))
    many = net(gnp.array(np.repeat(inputs[0].asnumpy(), 3, axis=1), dtype=inputs[0].dtype))
    np.testing.assert_allclose(one.asnumpy(), outputs[0][:, :1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(many.asnumpy()[:, ::3], outputs[0], rtol=1e-4, atol=1e-5)


def test_parameters_have_the_names_of_the_file():
    net, _, _ = mlp()
    assert sorted(net.collect_params()) == ["a.bias", "a.weight", "b.bias", "b.weight"]
    old, _, _ = imported("mxnet-1.9.1", "lstmcell_unroll", HERE / "mxnet-1.9.1")
    assert all("." not in name for name in old.collect_params())


@pytest.mark.parametrize("hybridized", [False, True])
def test_fine_tuning(hybridized):
    net, (x,), _ = mlp()
    net.hybridize(hybridized)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    target, losses = gnp.ones((2, 2)), []
    for _ in range(5):
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(x), target).sum()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0] * 0.9


def test_cutting_at_an_inner_layer_shares_the_parameters():
    net, (x,), _ = mlp()
    inner = net.symbol.get_internals()["node_278_output"]
    features = SymbolBlock(inner, sym.var("data"), params=net.collect_params())
    assert features(x).shape == (2, 8)
    assert features.collect_params()["a.weight"] is net.collect_params()["a.weight"]
    both = SymbolBlock([inner, net.symbol], [sym.var("data")], net.collect_params())
    hidden, out = both(x)
    np.testing.assert_allclose(hidden.asnumpy(), features(x).asnumpy())
    np.testing.assert_allclose(out.asnumpy(), net(x).asnumpy())

    head = nn.HybridSequential()
    head.add(features, nn.Dense(3))
    head[1].initialize()
    head.hybridize()
    assert head(x).shape == (2, 3)
    assert "0.a.weight" in head.collect_params()


def test_shapes_of_new_parameters_come_from_the_data():
    data = sym.var("data")
    net = sym.Convolution(data, kernel=(3, 3), num_filter=4, name="c")
    net = sym.BatchNorm(net, name="bn", fix_gamma=False)
    block = SymbolBlock(sym.FullyConnected(net, num_hidden=2, name="out"), data)
    block.initialize()
    assert block(gnp.ones((2, 3, 8, 8))).shape == (2, 2)
    params = block.collect_params()
    assert {n: p.shape for n, p in params.items()} == {
        "c_weight": (4, 3, 3, 3),
        "c_bias": (4,),
        "bn_gamma": (4,),
        "bn_beta": (4,),
        "bn_moving_mean": (4,),
        "bn_moving_var": (4,),
        "out_weight": (2, 144),
        "out_bias": (2,),
    }
    assert params["bn_moving_var"].grad_req == "null" and params["bn_moving_var"].data().tolist() == [1.0] * 4


def test_running_averages_move_in_training():
    data = sym.var("data")
    block = SymbolBlock(sym.BatchNorm(data, name="bn", momentum=0.5), data)
    block.initialize()
    block.hybridize()
    with autograd.record():
        block(gnp.array([[1.0, 2.0], [3.0, 4.0]]))
    assert block.collect_params()["bn_moving_mean"].data().tolist() == [1.0, 1.5]


def test_saving_loading_and_exporting_to_stablehlo(tmp_path):
    net, (x,), _ = mlp()
    net.save_parameters(tmp_path / "p.params")
    again = SymbolBlock.imports(HERE / "mxnet-2.0.0b1" / "mlp-symbol.json", ["data"])
    again.load_parameters(tmp_path / "p.params")
    np.testing.assert_array_equal(again(x).asnumpy(), net(x).asnumpy())
    net.hybridize()
    net(x)
    net.export(tmp_path / "artifact")
    from gluonx.export.stablehlo import load_artifact

    many = np.repeat(x.asnumpy(), 3, axis=0)
    np.testing.assert_allclose(load_artifact(tmp_path / "artifact")(many), net(gnp.array(many)).asnumpy(), rtol=1e-5)


@pytest.mark.dear
def test_the_pure_view_differentiates():
    net, (x,), _ = mlp()
    pure = gluonx.functional(net)
    grads = jax.grad(lambda p: pure.apply(p, pure.state, None, x.asnumpy())[0].sum())(pure.params)
    np.testing.assert_allclose(grads["b.bias"], [2.0, 2.0])


def test_float16_parameters_stay_so(tmp_path):
    symbol, params = HERE / "mxnet-2.0.0b1" / "mlp-symbol.json", HERE / "mxnet-2.0.0b1" / "mlp-0000.params"
    save_arrays(tmp_path / "half", {k: v.astype("float16") for k, v in load_arrays(params).items()})
    net = SymbolBlock.imports(symbol, ["data"], tmp_path / "half")
    assert {p.dtype.name for p in net.collect_params().values()} == {"float16"}
    assert net(gnp.ones((1, 5), dtype="float16")).dtype == "float16"


# ------------------------------------------------------------------------------------------------------------ bad input


def test_missing_and_extra_parameters_are_all_listed(tmp_path):
    folder = HERE / "mxnet-2.0.0b1"
    arrays = load_arrays(folder / "mlp-0000.params")
    wrong = {k: v for k, v in arrays.items() if "bias" not in k} | {"arg:more": np.ones(1), "aux:most": np.ones(1)}
    save_arrays(tmp_path / "p", wrong)
    with pytest.raises(FormatError) as caught:
        SymbolBlock.imports(folder / "mlp-symbol.json", ["data"], tmp_path / "p")
    assert all(f"'{name}'" in str(caught.value) for name in ("a.bias", "b.bias", "more", "most"))
    files = folder / "mlp-symbol.json", ["data"], tmp_path / "p"
    net = SymbolBlock.imports(*files, allow_missing=True, ignore_extra=True)
    with pytest.warns(UserWarning, match="Already initialized, and kept"):
        net.initialize()
    assert net(gnp.ones((1, 5))).shape == (1, 2)


def test_wrong_shapes_and_twins(tmp_path):
    folder = HERE / "mxnet-2.0.0b1"
    arrays = load_arrays(folder / "mlp-0000.params")
    save_arrays(tmp_path / "p", {**arrays, "arg:a.bias": np.ones(9, "float32")})
    with pytest.raises(FormatError, match=r"'a.bias' has shape \(9,\) in the file of parameters, but \(8,\)"):
        SymbolBlock.imports(folder / "mlp-symbol.json", ["data"], tmp_path / "p")
    save_arrays(tmp_path / "p", {**arrays, "aux:a.bias": np.ones(8, "float32")})
    with pytest.raises(FormatError, match="an 'arg:' and an 'aux:' of one name"):
        SymbolBlock.imports(folder / "mlp-symbol.json", ["data"], tmp_path / "p")


def test_inputs_that_are_not_there_and_calls_that_do_not_fit():
    folder = HERE / "mxnet-2.0.0b1"
    with pytest.raises(ValueError, match="no variable 'date'; its variables are 'data', 'a"):
        SymbolBlock.imports(folder / "mlp-symbol.json", ["date"], folder / "mlp-0000.params")
    net, (x,), _ = mlp()
    with pytest.raises(TypeError, match=r"takes 1 inputs \(data\), got 2"):
        net(x, x)
    with pytest.raises(ShapeError):
        net(gnp.ones((2, 6)))


def test_parameters_of_another_network():
    folder = HERE / "mxnet-2.0.0b1"
    with pytest.raises(FormatError, match=r"(?s)gru-0000.params.* it lacks 'a"):
        SymbolBlock.imports(folder / "mlp-symbol.json", ["data"], folder / "gru-0000.params")
    with pytest.raises(FormatError, match="JSON text"):
        SymbolBlock.imports(folder / "mlp-symbol.json", ["data"], folder / "gru-symbol.json")
    with pytest.raises(FormatError, match="not proper JSON"):
        SymbolBlock.imports(folder / "mlp-0000.params", ["data"])


def test_hostile_marks_on_variables():
    content = json.loads((HERE / "mxnet-2.0.0b1" / "mlp-symbol.json").read_text())
    for key, value, error in [
        ("__shape__", "__import__('os')", ShapeError),
        ("__dtype__", "99", gluonx.GluonxError),
        ("__dtype__", "object", gluonx.GluonxError),
        ("__lr_mult__", "x", FormatError),
    ]:
        changed = json.loads(json.dumps(content))
        changed["nodes"][1]["attrs"][key] = value
        with pytest.raises(error):
            SymbolBlock(sym.fromjson(json.dumps(changed)), sym.var("data"))
