"""Weights under other libraries' names. The files of ``torch.save`` here are written by hand, so that torch is not
needed; where it is installed, its own files are read too."""

import io
import json
import pickle
import re
import zipfile

import numpy
import pytest

import gluonx as mx
from gluonx import files, nn, np, npx, weights
from gluonx.errors import FormatError
from gluonx.gluon.model_zoo import vision

RULES = [(r"proj\.(.*)", r"0.\1"), (r"norm\.(.*)", r"1.\1")]


def a_net():
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2), nn.LayerNorm(in_channels=3))
    return net


def theirs():
    draw = numpy.random.default_rng(0).standard_normal
    shapes = {"proj.weight": (3, 2), "proj.bias": (3,), "norm.weight": (3,), "norm.bias": (3,)}
    return {name: draw(shape).astype("float32") for name, shape in shapes.items()}


class _Global:
    """Pickled as the global of a name, whether it is installed or not."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class _Call:
    def __init__(self, function, *args):
        self.function, self.args = function, args


class _Storage(tuple):
    __slots__ = ()


class _Writer(pickle._Pickler):
    """Writes the instructions that torch.save writes."""

    def persistent_id(self, obj):
        return tuple(obj) if isinstance(obj, _Storage) else None

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, _Global):
            self.write(b"c" + f"{obj.module}\n{obj.name}\n".encode())
        elif isinstance(obj, _Call):
            self.save(obj.function)
            self.save(obj.args)
            self.write(b"R")
        else:
            super().save(obj, save_persistent_id)


STORAGES = {"float32": "FloatStorage", "int64": "LongStorage", "bool": "BoolStorage", "float64": "DoubleStorage"}


def a_tensor(key, array, offset=0, shape=None, strides=None):
    strides = [n // array.itemsize for n in array.strides] if strides is None else strides
    kind = _Global("torch", STORAGES[str(array.dtype)])
    storage = _Storage(("storage", kind, key, "cpu", array.size))
    hooks = _Call(_Global("collections", "OrderedDict"))
    shape = array.shape if shape is None else shape
    return _Call(
        _Global("torch._utils", "_rebuild_tensor_v2"), storage, offset, tuple(shape), tuple(strides), False, hooks
    )


def torch_file(content, storages, byteorder="little"):
    body = io.BytesIO()
    _Writer(body, protocol=2).dump(content)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("net/data.pkl", body.getvalue())
        archive.writestr("net/byteorder", byteorder)
        for key, array in storages.items():
            archive.writestr(f"net/data/{key}", array.tobytes())
    return out.getvalue()


def saved(arrays, wrap=lambda state: state):
    keys = {name: str(i) for i, name in enumerate(arrays)}
    state = {name: a_tensor(keys[name], array) for name, array in arrays.items()}
    return torch_file(wrap(state), {keys[name]: array for name, array in arrays.items()})


def same(found, expected):
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        numpy.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("mapped", [False, True])
def test_a_state_dict_is_read_without_torch(mapped, tmp_path):
    arrays = {**theirs(), "count": numpy.array(7), "mask": numpy.array([True, False]), "none": numpy.empty((0, 4))}
    (tmp_path / "net.pt").write_bytes(saved(arrays))
    same(files.load_arrays(tmp_path / "net.pt", mapped=mapped), arrays)


@pytest.mark.parametrize("home", ["state_dict", "model_state_dict", "model"])
def test_the_state_dict_of_a_checkpoint_is_found(home):
    arrays = theirs()
    checkpoint = saved(arrays, lambda state: {"epoch": 3, home: state, "optimizer": {"lr": 0.1, "steps": [1, 2]}})
    same(files.load_arrays(checkpoint), arrays)


def test_views_of_a_storage_are_arrays():
    whole = numpy.arange(12, dtype="float32")
    state = {
        "turned": a_tensor("0", whole, 0, (4, 3), (1, 4)),
        "piece": a_tensor("0", whole, 5, (2, 2), (2, 1)),
    }
    found = files.load_arrays(torch_file(state, {"0": whole}))
    numpy.testing.assert_array_equal(found["turned"], whole.reshape(3, 4).T)
    numpy.testing.assert_array_equal(found["piece"], whole[5:9].reshape(2, 2))
    assert found["turned"].flags.c_contiguous


WHOLE = numpy.arange(6, dtype="float32")
HOSTILE = {
    "calls os.system": ({"a": _Call(_Global("os", "system"), "true")}, "it asks for os.system"),
    "asks for torch.load": ({"a": _Call(_Global("torch", "load"), "x")}, "it asks for torch.load"),
    "asks for eval": ({"a": _Call(_Global("builtins", "eval"), "1")}, "it asks for builtins.eval"),
    "reaches beyond": ({"a": a_tensor("0", WHOLE, 1)}, "reaches beyond its storage of 6"),
    "strides beyond": ({"a": a_tensor("0", WHOLE, 0, (2, 2), (9, 1))}, "reaches beyond its storage of 6"),
    "a negative offset": ({"a": a_tensor("0", WHOLE, -1)}, "has the offset -1"),
    "negative strides": ({"a": a_tensor("0", WHOLE, 5, (6,), (-1,))}, "the strides"),
    "repeats one number": ({"a": a_tensor("0", WHOLE, 0, (1 << 40,), (0,))}, "would expand to"),
    "an impossible shape": ({"a": a_tensor("0", WHOLE, 0, (1 << 40, 1 << 40), (0, 0))}, "impossible shape"),
    "another storage": ({"a": a_tensor("1", WHOLE)}, "the storage '1' is not in it"),
    "no dict": ([1, 2], "no dict of tensors"),
    "no tensors": ({"epoch": 3}, "which of its entries"),
    "two homes": ({"model": {}, "state_dict": {}}, "which of its entries"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused_and_nothing_runs(case):
    content, message = HOSTILE[case]
    with pytest.raises(FormatError, match=message):
        files.load_arrays(torch_file(content, {"0": WHOLE}))


def test_the_other_order_of_bytes_is_refused():
    with pytest.raises(FormatError, match="the other order of bytes"):
        files.load_arrays(torch_file({"a": a_tensor("0", WHOLE)}, {"0": WHOLE}, "big"))


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_a_file_is_loaded_under_rules_and_saved_back(suffix, tmp_path):
    arrays, net, path = theirs(), a_net(), tmp_path / f"net.{suffix}"
    path.write_bytes(saved(arrays)) if suffix == "pt" else files.save_arrays(path, arrays)
    report = weights.load(net, path, RULES)
    assert report.complete
    assert str(report) == "4 arrays match by name"
    numpy.testing.assert_array_equal(net[1].gamma.data().asnumpy(), arrays["norm.weight"])
    weights.save(net, tmp_path / "back.safetensors", report)
    same(files.load_arrays(tmp_path / "back.safetensors"), arrays)
    other = a_net()
    other.load_parameters(path, names=RULES)
    numpy.testing.assert_array_equal(other[0].weight.data().asnumpy(), arrays["proj.weight"])
    third = a_net()
    third.load_dict(arrays, names=dict(report.by_name))
    numpy.testing.assert_array_equal(third[1].beta.data().asnumpy(), arrays["norm.bias"])


def test_a_report_says_what_only_shapes_match_and_nothing_of_it_is_loaded():
    net, arrays = a_net(), theirs()
    report = weights.match(net, {**arrays, "head.weight": numpy.zeros((9, 9), "float32")})
    assert not report.complete
    assert report.by_shape == {
        "proj.weight": "0.weight",
        "proj.bias": "0.bias",
        "norm.weight": "1.gamma",
        "norm.bias": "1.beta",
    }
    assert "head.weight: no place here" in str(report)
    with pytest.raises(FormatError, match=r"it lacks '?0\.weight"):
        weights.load(net, arrays)
    assert weights.load(net, arrays, weights.suggest(net, arrays)).complete
    wrong = weights.match(net, {**arrays, "proj.bias": numpy.zeros(4, "float32")}, RULES)
    assert wrong.mismatched == {"0.bias": ((4,), (3,))}


def test_a_suggestion_keeps_the_order_and_skips_what_has_no_twin():
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=4), nn.Dense(4, in_units=4), nn.Dense(2, in_units=4))
    square, last = numpy.zeros((4, 4), "f"), numpy.zeros((2, 4), "f")
    found = weights.suggest(
        net, {"a.weight": square, "odd.weight": numpy.zeros((7, 7), "f"), "b.weight": square, "c.weight": last}
    )
    assert found == {"a.weight": "0.weight", "b.weight": "1.weight", "c.weight": "2.weight"}


def test_a_suggestion_counts_layers_as_the_file_does():
    """Where a number means another layer there and here, an equal name is no evidence."""
    net = nn.HybridSequential()
    net.add(*[layer for _ in range(4) for layer in (nn.Dense(4, in_units=4), nn.Activation("relu"))])  # 0, 2, 4, 6
    square = numpy.zeros((4, 4), "f")
    arrays = {
        f"{i}.{leaf}": square if leaf == "weight" else square[0] for i in (0, 3, 6, 9) for leaf in ("weight", "bias")
    }
    wanted = {f"{3 * i}.{leaf}": f"{2 * i}.{leaf}" for i in range(4) for leaf in ("weight", "bias")}
    assert weights.suggest(net, arrays) == wanted
    sizes = nn.HybridSequential()
    sizes.add(nn.Dense(3, in_units=2), nn.Activation("relu"), nn.Dense(4, in_units=3), nn.Dense(5, in_units=4))
    file = {"0.weight": square[:3, :2], "2.weight": numpy.zeros((5, 4), "f"), "1.weight": square[:, :3]}
    shapes_alone = {"0.weight": "0.weight", "1.weight": "2.weight", "2.weight": "3.weight"}
    assert weights.suggest(sizes, {name: file[name] for name in sorted(file)}) == shapes_alone


def test_a_suggestion_keeps_names_though_the_file_has_another_order_and_another_head():
    net = nn.HybridSequential()
    net.add(*[nn.Dense(4, in_units=4, use_bias=False) for _ in range(11)], nn.Dense(2, in_units=4, use_bias=False))
    arrays = {f"{i}.weight": numpy.zeros((4, 4), "f") for i in (0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9)}
    arrays["11.weight"] = numpy.zeros((7, 4), "f")
    found = weights.suggest(net, arrays)
    assert found == {name: name for name in arrays if name != "11.weight"}


def test_arrays_that_are_split_joined_or_turned_come_and_go():
    net = nn.HybridSequential()
    net.add(*(nn.Dense(2, in_units=3, use_bias=False) for _ in range(4)), nn.Dense(4, in_units=3, use_bias=False))
    draw = numpy.random.default_rng(1).standard_normal
    arrays = {name: draw(shape).astype("f") for name, shape in
              {"attn.qkv": (6, 3), "proj": (3, 2), "up.a": (2, 3), "up.b": (2, 3)}.items()}  # fmt: skip
    rules = [
        (r"attn\.qkv", weights.Split(["0.weight", "1.weight", "2.weight"])),
        ("proj", weights.Turned("3.weight")),
        (r"up\.a", weights.Part("4.weight", 0, 2)),
        (r"up\.b", weights.Part("4.weight", 1, 2)),
    ]
    report = weights.load(net, arrays, rules)
    assert report.complete
    got = [net[i].weight.data().asnumpy() for i in range(5)]
    numpy.testing.assert_array_equal(numpy.concatenate(got[:3]), arrays["attn.qkv"])
    numpy.testing.assert_array_equal(got[3], arrays["proj"].T)
    numpy.testing.assert_array_equal(got[4], numpy.concatenate([arrays["up.a"], arrays["up.b"]]))
    out = io.BytesIO()
    weights.save(net, out, report, format="safetensors")
    same(files.load_arrays(out.getvalue()), arrays)
    del arrays["up.b"]
    with pytest.raises(FormatError, match=r"is made of 2 arrays, but only parts \[0\]"):
        weights.load(net, arrays, rules)
    with pytest.raises(FormatError, match=r"both go to '3\.weight'"):
        weights.match(net, {"a": arrays["proj"], "b": arrays["proj"]}, [("[ab]", "3.weight")])
    with pytest.raises(FormatError, match=r"the map has no name for 0\.weight"):
        weights.save(net, out, {"x": "1.weight"})


def test_a_folder_of_several_files_is_read(tmp_path):
    arrays = theirs()
    parts = [dict(list(arrays.items())[:2]), dict(list(arrays.items())[2:])]
    where = {}
    for i, part in enumerate(parts):
        files.save_arrays(tmp_path / f"model-{i}.safetensors", part)
        where.update(dict.fromkeys(part, f"model-{i}.safetensors"))
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": where}))
    same(weights.read(tmp_path), arrays)
    index.write_text(json.dumps({"weight_map": {"a": "../secret"}}))
    with pytest.raises(FormatError, match="files beside it"):
        weights.read(tmp_path)
    with pytest.raises(FormatError, match="has none of"):
        weights.read(tmp_path / ".." / tmp_path.name / "..")


LISTED = {
    "resnet18_v1": (102, ["conv1.weight", "bn1.running_var", "layer3.0.downsample.1.bias", "layer4.1.conv2.weight",
                          "fc.bias"]),
    "vgg11": (22, ["features.0.weight", "features.18.bias", "classifier.0.weight", "classifier.6.bias"]),
    "vgg11_bn": (54, ["features.0.weight", "features.26.running_mean", "classifier.3.weight", "classifier.6.bias"]),
    "alexnet": (16, ["features.10.weight", "classifier.1.weight", "classifier.4.bias", "classifier.6.weight"]),
    "squeezenet1_0": (52, ["features.3.expand1x1.bias", "features.12.expand3x3.weight", "classifier.1.weight"]),
    "squeezenet1_1": (52, ["features.3.squeeze.weight", "features.12.expand3x3.weight", "classifier.1.bias"]),
    "densenet121": (606, ["features.conv0.weight", "features.denseblock4.denselayer16.norm2.running_var",
                          "features.transition3.conv.weight", "features.norm5.weight", "classifier.bias"]),
    "inception_v3": (472, ["Conv2d_1a_3x3.conv.weight", "Mixed_5b.branch5x5_2.bn.bias",
                           "Mixed_6e.branch7x7dbl_5.conv.weight", "Mixed_7c.branch3x3dbl_3b.bn.running_var",
                           "Mixed_7c.branch_pool.conv.weight", "fc.bias"]),
    "resnet50_v1": (267, ["conv1.weight", "layer1.0.downsample.0.weight", "layer4.2.conv3.weight", "fc.bias"]),
    "mobilenet_v2_1_0": (262, ["features.0.0.weight", "features.1.conv.0.0.weight", "features.1.conv.2.bias",
                               "features.2.conv.1.1.running_mean", "features.17.conv.3.bias", "features.18.1.weight",
                               "classifier.1.bias"]),
}  # fmt: skip
THEIRS = {"torchvision": True}  # where MXNet has another network of the name


def _as_torchvision_has_it(name, **options):
    return getattr(vision, name)(**options, **(THEIRS if name in ("resnet50_v1", "mobilenet_v2_1_0") else {}))


@pytest.mark.parametrize("name", LISTED)
def test_torchvisions_names_are_known(name):
    count, some = LISTED[name]
    net = _as_torchvision_has_it(name)
    found = weights.torchvision(net)
    assert len(found) == count == len(set(found.values()))
    assert set(some) <= set(found)
    assert set(found.values()) == set(net.collect_params())


@pytest.mark.parametrize("name", ["resnet50_v1", "resnet18_v2", "mobilenet_v2_1_0", "mobilenet1_0"])
def test_a_network_that_computes_something_else_is_refused(name):
    with pytest.raises(ValueError, match="torchvision has no network that computes what"):
        weights.torchvision(getattr(vision, name)())


def test_mxnets_files_are_not_taken_for_the_networks_of_torchvision():
    with pytest.raises(ValueError, match="no pretrained weights for resnet50_v1 as torchvision has it"):
        vision.resnet50_v1(torchvision=True, pretrained=True)
    with pytest.raises(ValueError, match=r"no pretrained weights for mobilenetv2_1\.0 as torchvision has it"):
        vision.mobilenet_v2_1_0(torchvision=True, pretrained=True)
    with pytest.raises(ValueError, match="ResNets of version 1 alone"):
        vision.resnet50_v2(torchvision=True)


@pytest.mark.dear
def test_files_that_torchvision_published_long_ago_are_read(tmp_path):
    """The DenseNets' have a dot where there is none today; Inception's has a part that only training uses."""
    for name, old in (("densenet121", r"norm\1.\2"), ("inception_v3", r"norm\1\2")):
        net = getattr(vision, name)(classes=2)
        net.initialize()
        net(mx.np.zeros((1, 3, 299, 299) if name == "inception_v3" else (1, 3, 224, 224)))
        arrays = {
            re.sub(r"norm()([12])", old, theirs): net.collect_params()[ours].data().asnumpy()
            for theirs, ours in weights.torchvision(net).items()
        }
        files.save_arrays(tmp_path / "net.safetensors", arrays | {"AuxLogits.fc.bias": numpy.zeros(2, "float32")})
        again = getattr(vision, name)(classes=2, pretrained=tmp_path / "net.safetensors")
        for ours, param in again.collect_params().items():
            numpy.testing.assert_array_equal(param.data().asnumpy(), net.collect_params()[ours].data().asnumpy())


@pytest.mark.dear
def test_pretrained_takes_a_file_of_torchvisions(tmp_path):
    source = vision.squeezenet1_1(classes=4)
    source.initialize()
    x = mx.np.random.normal(size=(1, 3, 224, 224))
    expected = source(x).asnumpy()
    weights.save(source, tmp_path / "squeezenet.safetensors", weights.torchvision(source))
    assert "classifier.1.weight" in files.load_arrays(tmp_path / "squeezenet.safetensors")
    net = vision.squeezenet1_1(classes=4, pretrained=tmp_path / "squeezenet.safetensors")
    numpy.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="torchvision has no network"):
        vision.resnet50_v1(pretrained=_with_fc(tmp_path))


def test_pretrained_takes_a_folder_with_a_file(tmp_path):
    net = vision.squeezenet1_1(classes=4)
    net.initialize()
    net(mx.np.zeros((1, 3, 224, 224)))
    with pytest.raises(FormatError, match="it holds none"):
        vision.squeezenet1_1(classes=4, pretrained=tmp_path)
    (tmp_path / "notes.txt").write_text("of the user's")
    weights.save(net, tmp_path / "model.safetensors", weights.torchvision(net))

    def loaded():
        again = vision.squeezenet1_1(classes=4, pretrained=str(tmp_path))
        for name, param in again.collect_params().items():
            numpy.testing.assert_array_equal(param.data().asnumpy(), net.collect_params()[name].data().asnumpy())

    loaded()
    files.save_arrays(tmp_path / "other.safetensors", {})
    with pytest.raises(
        FormatError, match=r"it holds model\.safetensors, other\.safetensors\. Give the path of the file"
    ):
        vision.squeezenet1_1(classes=4, pretrained=tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "squeezenet1.1-1234.safetensors")
    loaded()


def _with_fc(folder):
    files.save_arrays(folder / "resnet50.safetensors", {"fc.weight": numpy.zeros((1000, 2048), "float32")})
    return folder / "resnet50.safetensors"


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTED)
def test_the_zoo_computes_what_torchvision_does(name, tmp_path):
    torch, theirs = pytest.importorskip("torch"), pytest.importorskip("torchvision.models")
    torch.manual_seed(0)
    options = {"init_weights": False} if name == "inception_v3" else {}
    model = getattr(theirs, re.sub("_v1|_1_0$", "", name))(weights=None, **options).eval()
    for key, value in model.state_dict().items():
        if key.endswith("running_mean"):
            value.normal_(0, 0.1)
        elif key.endswith("running_var"):
            value.uniform_(0.5, 1.5)
    torch.save(model.state_dict(), tmp_path / "net.pth")
    net = _as_torchvision_has_it(name, pretrained=tmp_path / "net.pth")
    size = 299 if name == "inception_v3" else 224
    x = numpy.random.default_rng(0).standard_normal((1, 3, size, size)).astype("float32")
    with torch.no_grad():
        expected = model(torch.from_numpy(x)).numpy()
    numpy.testing.assert_allclose(net(mx.np.array(x)).asnumpy(), expected, rtol=1e-5, atol=1e-5 * abs(expected).max())


@pytest.mark.slow
def test_tensors_of_torch_go_in_where_arrays_do():
    torch = pytest.importorskip("torch")
    net, arrays = a_net(), theirs()
    tensors = {name: torch.from_numpy(value).requires_grad_() for name, value in arrays.items()}
    assert weights.load(net, tensors, RULES).complete
    numpy.testing.assert_array_equal(net[0].weight.data().asnumpy(), arrays["proj.weight"])
    halves = {name: tensor.detach().bfloat16() for name, tensor in tensors.items()}
    weights.load(net, halves, RULES, cast_dtype=True)
    numpy.testing.assert_array_equal(net[1].beta.data().asnumpy(), halves["norm.bias"].float().numpy())


def test_counters_of_pytorch_go_nowhere_under_a_new_name():
    net = nn.HybridSequential()
    net.add(nn.BatchNorm(in_channels=2))
    source = {f"bn.{name}": numpy.ones(2, "float32") for name in ("weight", "bias", "running_mean", "running_var")}
    source["bn.num_batches_tracked"] = numpy.array(3)
    report = weights.load(net, source, [(r"bn\.(.*)", r"0.\1")])
    assert report.complete
    assert len(report.by_name) == 4


def test_a_file_of_which_nothing_fits_tells_of_suggest():
    net = nn.Dense(2, in_units=2)
    with pytest.raises(FormatError, match=r"gluonx\.weights\.suggest\(net, file\) proposes a map"):
        net.load_dict({"fc.weight": numpy.ones((2, 2), "float32")})
    with pytest.raises(FormatError, match=r"it lacks 'bias' \(allow_missing=True leaves them as they are\)\.$"):
        net.load_dict({"weight": numpy.ones((2, 2), "float32")})


def test_a_name_of_the_hub_is_no_folder():
    with pytest.raises(FormatError, match="Nothing is downloaded: fetch the model's config"):
        weights.from_pretrained("bert-base-uncased")


def test_a_whole_model_of_pytorch_is_refused_with_what_to_save(tmp_path):
    path = tmp_path / "whole.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("whole/data.pkl", b"\x80\x02cmodels\nNet\n.")
        archive.writestr("whole/version", b"3\n")
    with pytest.raises(FormatError, match=r"asks for models\.Net, .* save its weights: torch\.save\(model\.state_dict"):
        weights.read(path)


class _Tensor:
    """A tensor that requires gradients, as far as arrays see it."""

    __module__ = "torch"

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def __dlpack__(self):
        raise AssertionError("nobody asks for it")


@pytest.mark.parametrize(
    "call",
    [
        lambda t: np.ones(2) + t, lambda t: t - np.ones(2), lambda t: np.exp(t), lambda t: npx.relu(t),
        lambda t: np.add(np.ones(2), t), lambda t: np.array(t),
    ],
)  # fmt: skip
def test_where_a_tensor_of_pytorch_is_not_taken_the_error_names_from_dlpack(call):
    with pytest.raises(TypeError, match=r"np\.from_dlpack\(x\)"):
        call(_Tensor())
