"""The networks of the zoo: MXNet's outputs and parameters (tests/oracle/model_zoo), layouts, weights files, errors."""

import hashlib
import json
import math
import zipfile

import jax
import numpy as onp
import pytest

import gluonx as mx
from gluonx import autograd, gluon, np
from gluonx.block.summary import summarize
from gluonx.errors import FormatError, GluonxError, ShapeError
from gluonx.model_zoo import model_store, vision
from gluonx.model_zoo.model_store import load_weights
from lib import ROOT, TESTS
from lib.golden import load_cases

HERE = TESTS / "oracle" / "model_zoo"
SAMPLES = ROOT.parent / "shared" / "samples"
cases = load_cases("model_zoo")
GOLDEN = dict(onp.load(HERE / "outputs.npz"))
FACTS = json.loads((HERE / "facts.json").read_text())

QUICK = ("alexnet", "squeezenet1.1", "mobilenet0.25", "mobilenetv2_0.25", "resnet18_v1", "resnet18_v2")
EVERY = [
    *cases.CASES,
    *[pytest.param(key, marks=() if key in QUICK else pytest.mark.slow, id=key) for key in cases.MODELS],
]


def weights(net):
    """Return the parameters' values in the golden run, for a net that knows its shapes."""
    found = {}
    for name, param in net.collect_params().items():
        shape = param.shape
        if net.layout == "NHWC" and len(shape) == 4:
            found[name] = cases.weight(name, (shape[0], shape[3], *shape[1:3])).transpose(0, 2, 3, 1)
        else:
            found[name] = cases.weight(name, shape)
    return found


def filled(key, layout="NCHW"):
    """The net of a key with the golden run's weights, and its image."""
    net, size = cases.make(vision, key, layout=layout)
    x = cases.image(size)
    x = np.array(x if layout == "NCHW" else x.transpose(0, 2, 3, 1))
    net.initialize()
    net.infer_shape(x)
    net.load_dict(weights(net))
    net.hybridize()
    return net, x


def close(found, key):
    wanted = GOLDEN[key]
    assert found.shape == wanted.shape
    onp.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * max(1.0, float(abs(wanted).max())))


@pytest.mark.dear
@pytest.mark.parametrize("key", EVERY)
def test_outputs_are_those_of_mxnet(key):
    net, x = filled(key)
    close(net(x).asnumpy(), key)


@pytest.mark.parametrize(
    "key",
    [
        *cases.CASES,
        *[
            pytest.param(key, marks=() if key == "alexnet" else pytest.mark.slow)
            for key in ("alexnet", "squeezenet1.1", "inceptionv3", "densenet121", "resnet50_v1", "resnet50_v2", "vgg11")
        ],
    ],
)
def test_channels_last_gives_the_same(key):
    net, x = filled(key, "NHWC")
    close(net(x).asnumpy(), key)


@pytest.mark.dear
@pytest.mark.parametrize("key", [key for key in cases.CASES if f"{key}/grad" in GOLDEN])
def test_training_agrees_with_mxnet(key):
    net, x = filled(key)
    x.attach_grad()
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    onp.testing.assert_allclose(float(loss), GOLDEN[f"{key}/loss"], rtol=1e-3)
    wanted = GOLDEN[f"{key}/grad"]
    onp.testing.assert_allclose(x.grad.asnumpy()[:, :, ::5, ::5], wanted, rtol=1e-3, atol=1e-4 * abs(wanted).max())


@pytest.mark.dear
@pytest.mark.parametrize("key", [*cases.CASES, *cases.MODELS])
def test_parameters_are_those_of_mxnet(key):
    net, size = cases.make(vision, key)
    net.initialize("zeros")
    net.infer_shape(jax.ShapeDtypeStruct((1, 3, size, size), onp.float32))
    params = net.collect_params()
    described = json.dumps([[name, list(p.shape), p.grad_req] for name, p in params.items()])
    assert FACTS[key] == {
        "count": len(params),
        "total": sum(math.prod(p.shape) for p in params.values()),
        "digest": hashlib.sha1(described.encode()).hexdigest(),
    }


def test_every_name_of_mxnet_is_there():
    families = {"AlexNet", "DenseNet", "Inception3", "MobileNet", "MobileNetV2", "SqueezeNet", "VGG"}
    resnets = {f"{kind}V{version}" for kind in ("BasicBlock", "Bottleneck", "ResNet") for version in (1, 2)}
    assert len(vision.__all__) == 52
    assert {name for name in vision.__all__ if name[0].isupper()} == families | resnets
    assert gluon.model_zoo.vision is vision is mx.model_zoo.vision
    assert all(callable(getattr(vision, name)) for name in vision.__all__)
    assert vision.resnet18_v1.__name__ == "resnet18_v1"
    assert type(vision.get_model("ResNet18_V1")) is vision.ResNetV1
    assert vision.mobilenet_v2_0_5(classes=3).output[0].weight.shape[0] == 3


@pytest.mark.dear
def test_a_net_trains():
    np.random.seed(7)  # whether five steps make the loss smaller is a matter of chance otherwise
    net = vision.ResNetV2(vision.BasicBlockV2, [1], [4, 4], classes=3, thumbnail=True)
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x, y = np.random.uniform(size=(4, 3, 8, 8)), np.array([0, 1, 2, 0])
    losses = []
    for _ in range(5):
        with autograd.record():
            loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y)
        loss.backward()
        trainer.step(4)
        losses.append(float(loss.mean()))
    assert losses[-1] < losses[0]


# ------------------------------------------------------------------ weights files


@pytest.mark.dear
@pytest.mark.parametrize("version", ["1.9.1", "2.0.0b1"])
@pytest.mark.parametrize(("name", "kind"), [("mobilenet0.25", "gluon"), ("squeezenet1.1", "gluon")])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_files_of_mxnet(version, name, kind, layout):
    """A file that MXNet wrote, with the outputs that it computed from it."""
    folder = SAMPLES / f"mxnet-{version}"
    if not folder.exists():
        pytest.skip("the samples of MXNet's files are not here")
    io = onp.load(folder / f"{name}-io.npz")
    net = vision.get_model(name, classes=10, layout=layout)
    load_weights(net, folder / f"{name}.gluon.params")
    x = np.array(io["data"] if layout == "NCHW" else io["data"].transpose(0, 2, 3, 1))
    net.hybridize()
    onp.testing.assert_allclose(net(x).asnumpy(), io["output"], rtol=1e-4, atol=1e-5)
    if layout == "NCHW":
        again = vision.get_model(name, classes=10)
        again.load_parameters(folder / f"{name}.gluon.params")
        assert again.output.collect_params().keys() == net.output.collect_params().keys()


@pytest.mark.parametrize("name", ["mobilenet0.25", "squeezenet1.1"])
def test_files_of_mxnet_by_position(name):
    folder = SAMPLES / "mxnet-1.9.1"
    if not folder.exists():
        pytest.skip("the samples of MXNet's files are not here")
    old, new = (vision.get_model(name, classes=10) for _ in range(2))
    load_weights(old, folder / f"{name}-0000.params")
    new.load_parameters(folder / f"{name}.gluon.params")
    for a, b in zip(old.collect_params().values(), new.collect_params().values()):
        assert (a.data().asnumpy() == b.data().asnumpy()).all()


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A weights file as MXNet would have published it, and what its hash is said to be."""
    net = vision.mobilenet0_25()
    net.initialize()
    net.infer_shape(jax.ShapeDtypeStruct((1, 3, 32, 32), onp.float32))
    file = tmp_path / "made.params"
    net.save_parameters(file)
    sha1 = hashlib.sha1(file.read_bytes()).hexdigest()
    monkeypatch.setitem(model_store._SHA1, "mobilenet0.25", sha1)
    monkeypatch.delenv("MXNET_GLUON_REPO", raising=False)
    return net, file, f"mobilenet0.25-{sha1[:8]}"


def same(a, b):
    return all(
        (x.data().asnumpy() == y.data().asnumpy()).all()
        for x, y in zip(a.collect_params().values(), b.collect_params().values())
    )


@pytest.mark.dear
def test_pretrained_is_found_in_the_root(published, tmp_path, monkeypatch):
    net, file, stem = published
    root = tmp_path / "home" / "models"
    root.mkdir(parents=True)
    file.rename(root / f"{stem}.params")
    assert same(net, vision.mobilenet0_25(pretrained=True, root=root))
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    assert same(net, vision.get_model("mobilenet0.25", pretrained=True, ctx=mx.cpu()))
    assert same(net, vision.get_mobilenet(0.25, True, mx.cpu(), root))


@pytest.mark.dear
@pytest.mark.parametrize("kind", ["server", "zip", "params", "environment"])
def test_pretrained_is_fetched(published, tmp_path, kind, monkeypatch):
    net, file, stem = published
    server = tmp_path / "server"
    (server / "gluon" / "models").mkdir(parents=True)
    packed = server / "gluon" / "models" / f"{stem}.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(file, f"{stem}.params")
    url = {"server": server, "zip": packed, "params": file, "environment": server}[kind].as_uri()
    if kind == "environment":
        monkeypatch.setenv("MXNET_GLUON_REPO", url + "/")
        url = None
    root = tmp_path / "root"
    assert same(net, vision.mobilenet0_25(pretrained=True, root=root, url=url))
    assert [p.name for p in root.iterdir()] == [f"{stem}.params"]
    packed.unlink()
    file.unlink()
    assert same(net, vision.mobilenet0_25(pretrained=True, root=root, url=url))
    model_store.purge(root)
    assert not list(root.iterdir())


@pytest.mark.parametrize("what", ["wrong", "empty", "no zip"])
def test_what_came_is_checked(published, tmp_path, what):
    _, _, stem = published
    packed = tmp_path / "there.zip"
    if what == "no zip":
        packed.write_bytes(b"<html>not found</html>")
    else:
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{stem}.params" if what == "wrong" else "other", b"something else")
    root = tmp_path / "root"
    with pytest.raises(FormatError, match=f"Put the file {stem}.params .SHA-1 .*. into {root}, or give url="):
        vision.mobilenet0_25(pretrained=True, root=root, url=packed.as_uri())
    assert not list(root.iterdir())


@pytest.mark.dear
def test_pretrained_without_network_says_what_to_put_where(published, tmp_path):
    _, _, stem = published
    with pytest.raises(GluonxError, match=rf"Put the file {stem}.params \(SHA-1 \w{{40}}\) into {tmp_path}, or give"):
        vision.mobilenet0_25(pretrained=True, root=tmp_path)
    with pytest.raises(GluonxError, match=rf"cannot be fetched: .* Put the file {stem}.params"):
        vision.mobilenet0_25(pretrained=True, root=tmp_path, url="http://127.0.0.1:9/x.params")
    (tmp_path / f"{stem}.params").write_bytes(b"damaged")
    with pytest.raises(FormatError, match="its SHA-1 is another"):
        vision.mobilenet0_25(pretrained=True, root=tmp_path)
    with pytest.raises(ValueError, match=r"no pretrained weights for mobilenet0.3\. There are some for mobilenet"):
        vision.get_mobilenet(0.3, pretrained=True, root=tmp_path)


# ------------------------------------------------------------------ bad input


def test_unknown_names_list_near_ones():
    with pytest.raises(ValueError, match=r"no model 'resnet18'. Did you mean resnet18_v\d or resnet18_v\d or"):
        vision.get_model("resnet18")
    with pytest.raises(ValueError, match=r"get_resnet: num_layers=19 is not known; there are 18, 34, 50, 101, 152"):
        vision.get_resnet(1, 19)
    with pytest.raises(ValueError, match="get_resnet: version=3"):
        vision.get_resnet(3, 18)
    with pytest.raises(ValueError, match="get_vgg: num_layers=12"):
        vision.get_vgg(12)
    with pytest.raises(ValueError, match=r"SqueezeNet: version='1.2' is not known; there are '1.0', '1.1'"):
        vision.SqueezeNet("1.2")
    with pytest.raises(ValueError, match=r"2 stages .* need 3 numbers of channels"):
        vision.ResNetV1(vision.BasicBlockV1, [1, 1], [8, 8])
    with pytest.raises(ValueError, match="layers has 1 stages and filters 2"):
        vision.VGG([1], [4, 8])
    with pytest.raises(ValueError, match="layout must be 'NCHW' or 'NHWC', got 'NWHC'"):
        vision.get_model("vgg11", layout="NWHC")


@pytest.mark.dear
def test_a_file_of_another_net_says_which_arrays_differ(tmp_path):
    def small(layers=(1, 1), classes=3):
        net = vision.ResNetV1(vision.BasicBlockV1, layers, [4, 4, 8], classes=classes, thumbnail=True)
        net.initialize()
        net.infer_shape(jax.ShapeDtypeStruct((1, 3, 8, 8), onp.float32))
        return net

    file = tmp_path / "small.params"
    small().save_parameters(file)
    with pytest.raises(FormatError, match=r"lacks 'features.1.1.body.0.weight', .* and 5 more"):
        small(layers=(2, 1)).load_parameters(file)
    small(layers=(2, 1)).save_parameters(tmp_path / "deep.params")
    with pytest.raises(FormatError, match=r"holds 'features.1.1.body.0.weight', .* which the block does not have"):
        small().load_parameters(tmp_path / "deep.params")
    with pytest.raises(FormatError) as caught:
        small(classes=5).load_parameters(file)
    assert "'output.weight' has shape (3, 8), the block's parameter (5, 8)" in str(caught.value)
    assert "'output.bias' has shape (3,), the block's parameter (5,)" in str(caught.value)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize(
    ("name", "size", "path"),
    [
        ("alexnet", 40, "AlexNet.features.7 (a MaxPool2D)"),
        ("vgg11", 16, "VGG.features.20 (a MaxPool2D)"),
        ("squeezenet1.1", 100, "SqueezeNet.output.2 (a AvgPool2D)"),
    ],
)
def test_an_image_too_small_fails_where_it_breaks(name, size, path, layout):
    net = vision.get_model(name, classes=3, layout=layout)
    net.initialize("zeros")
    net.hybridize(name != "alexnet")
    shape = (1, 3, size, size) if layout == "NCHW" else (1, size, size, 3)
    with pytest.raises(ShapeError, match="does not fit") as caught:
        net(np.zeros(shape))
    assert f"In block {path}." in caught.value.__notes__


@pytest.mark.dear
def test_an_image_of_another_size_than_the_first():
    net = vision.VGG([1], [4], classes=3)
    net.initialize()
    net(np.zeros((1, 3, 4, 4)))
    with pytest.raises(ShapeError, match=r"\(4096, 16\), but data of shape \(1, 36\)") as caught:
        net(np.zeros((1, 3, 6, 6)))
    assert "In block VGG.features.3 (a Dense)." in caught.value.__notes__


@pytest.mark.dear
def test_summary_counts_operations():
    net = vision.MobileNet(0.25, classes=10)
    net.initialize()
    rows = [line.split() for line in summarize(net, np.zeros((2, 3, 32, 32))).splitlines()]
    flops = {row[0]: row[-2:] for row in rows if row}
    assert flops["features.0"] == ["221.2", "k"]  # 2 images, 16x16 places, 8 filters of 3x3x3, 2 each
    assert flops["features.3"] == ["73.7", "k"]  # depthwise: 8 filters of 3x3
    assert flops["output"] == ["10.3", "k"]  # 2 * (2 * 256 * 10 + 10)
    assert int(rows[-1][-1].replace(",", "")) > 3.4e6
