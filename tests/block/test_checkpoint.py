"""Parameters on their way: shared, saved, loaded whole or not at all; the summary."""

import json
import warnings

import jax
import numpy as onp
import pytest

from gluonx import autograd, initializer, nn, np
from gluonx.block.block import HybridBlock
from gluonx.block.parameter import Constant, Parameter
from gluonx.device import cpu
from gluonx.errors import (
    DeferredInitializationError,
    DeviceError,
    FormatError,
    GluonxError,
    ShapeError,
    UninitializedError,
)
from lib.blocks import Net, made, ones, same, values

# ------------------------------------------------------------------ sharing


def test_share_parameters():
    a, b = made(), made()
    assert b.share_parameters(a.collect_params()) is b
    assert b.features[0].weight is a.features[0].weight
    x = ones(2, 5)
    assert onp.array_equal(a(x).asnumpy(), b(x).asnumpy())
    assert b.share_parameters(None) is b


def test_share_parameters_refuses():
    net = made()
    params = net.collect_params()
    for wrong in ([1], {"w": 3}):
        with pytest.raises(ValueError, match=r"takes a dict of parameters, as from collect_params\(\)"):
            net.share_parameters(wrong)
    with pytest.raises(ShapeError) as caught:
        net.share_parameters({"w": Parameter("w", shape=(3,)), "features.0.weight": Parameter("v", shape=(9, 9))})
    assert str(caught.value) == (
        "Cannot share 'features.0.weight': the block's parameter has shape (4, 5), the given one (9, 9)."
    )
    assert net.collect_params() == params
    with pytest.warns(UserWarning, match=r"Net has no parameter 'zz': not shared\."):
        net.share_parameters({"zz": params["w"]})


# ------------------------------------------------------------------ files


@pytest.fixture
def path(tmp_path):
    return tmp_path / "net.params"


@pytest.mark.parametrize("hybrid", [False, True])
def test_save_and_load(path, hybrid):
    net = made()
    net.hybridize(hybrid)
    net.save_parameters(path)
    twin = Net()  # not initialized, shapes unknown
    twin.hybridize(hybrid)
    twin.load_parameters(str(path))
    x = ones(2, 5)
    assert onp.allclose(net(x).asnumpy(), twin(x).asnumpy(), atol=1e-6)
    assert same(values(net), values(twin))
    with autograd.record():
        y = twin(x)
    y.backward()
    assert twin.features[1].bias.grad().asnumpy().any()
    handle = twin.w.data()
    net.w.set_data(onp.full(3, 5.0))
    net.save_parameters(path)
    twin.load_parameters(path)
    assert handle is twin.w.data()
    assert handle.asnumpy().tolist() == [5, 5, 5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin.initialize()
    assert same(values(net), values(twin))


def test_save_before_there_are_values(path):
    with pytest.raises(UninitializedError):
        Net().save_parameters(path)
    net = Net()
    net.initialize()
    with pytest.raises(DeferredInitializationError, match=r"Net\.features\.0\.weight"):
        net.save_parameters(path)
    assert not path.exists()


def fresh(units=3, in_units=4, dtype="float32"):
    net = nn.HybridSequential()
    net.add(nn.Dense(units, in_units=in_units, dtype=dtype))
    net.initialize("ones")
    return net


def test_load_tells_all_that_is_wrong(path):
    saved = {"0.weight": onp.zeros((2, 4), "float32"), "0.bias": onp.zeros(3, "float16"), "1.x": onp.zeros(1)}
    net = fresh()
    net.add(nn.Dense(2))
    before = net[0].weight.data().asnumpy()
    with pytest.raises(FormatError) as caught:
        net.load_dict(saved)
    assert str(caught.value) == (
        "Cannot load the given dict into HybridSequential: "
        "it lacks '1.weight', '1.bias' (allow_missing=True leaves them as they are);\n"
        "  it holds '1.x', which the block does not have (ignore_extra=True skips them);\n"
        "  '0.weight' has shape (2, 4), the block's parameter (3, 4) (ignore_mismatch=True keeps the block's);\n"
        "  '0.bias' is float16, the block's parameter float32 (cast_dtype=True converts)."
    )
    assert onp.array_equal(net[0].weight.data().asnumpy(), before)
    net.load_dict({"0.weight": onp.zeros((3, 4)), "1.x": 1}, allow_missing=True, ignore_extra=True)
    assert net[0].weight.data().asnumpy().sum() == 0
    with pytest.raises(FormatError, match="holds <U1, not numbers"):
        net.load_dict({"1.bias": ["a", "b"]}, allow_missing=True)


def test_load_names_the_file(path):
    made().save_parameters(path)
    with pytest.raises(FormatError, match=f"Cannot load file '{path}' into HybridSequential"):
        fresh().load_parameters(path)


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b"hello", lambda b: b[: len(b) // 2], lambda b: b[:-5]])
def test_damaged_files(path, damage):
    net = made()
    net.save_parameters(path)
    before = values(net)
    net.w.set_data(before["w"] + 1)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FormatError, match=str(path)):
        net.load_parameters(path)
    assert net.w.data().asnumpy().tolist() == [2, 2, 2]
    with pytest.raises(FileNotFoundError):
        net.load_parameters(path.with_name("none"))


def test_a_load_that_runs_out_of_memory_changes_nothing(path, monkeypatch):
    net = made()
    net.save_parameters(path)
    net.initialize("zeros", force_reinit=True)
    before, count = values(net), []
    stage = Parameter._staged

    def failing(self, *args):
        count.append(self)
        if len(count) == 3:
            raise MemoryError
        return stage(self, *args)

    monkeypatch.setattr(Parameter, "_staged", failing)
    with pytest.raises(MemoryError):
        net.load_parameters(path)
    assert same(before, values(net))


def test_dtypes_in_files(path):
    fresh().save_parameters(path)
    half = fresh(dtype="float16")
    with pytest.raises(FormatError, match=r"'0\.weight' is float32, the block's parameter float16"):
        half.load_parameters(path)
    half.load_parameters(path, cast_dtype=True)
    assert half[0].weight.data().dtype == onp.float16
    half.load_parameters(path, cast_dtype=True, dtype_source="saved")
    assert half[0].weight.dtype == half[0].weight.data().dtype == half[0].weight.grad().dtype == onp.float32
    with pytest.raises(ValueError, match="dtype_source must be 'current' or 'saved', got 'z'"):
        half.load_parameters(path, cast_dtype=True, dtype_source="z")
    bf = fresh(dtype="bfloat16")
    bf.save_parameters(path)
    bf.load_parameters(path)
    assert bf[0].weight.data().dtype == "bfloat16"


def test_names_of_exported_symbols():
    net = fresh()
    net.load_dict({"arg:0.weight": onp.full((3, 4), 2.0), "aux:0.bias": np.zeros((3,))})
    assert net[0].weight.data().asnumpy().min() == 2


@pytest.mark.skipif(len(jax.devices()) < 2, reason="needs two devices")
def test_devices_of_loading(path):
    fresh().save_parameters(path)
    net = nn.HybridSequential()
    net.add(nn.Dense(3))
    net.load_parameters(path, ctx=cpu(1))
    assert net[0].weight.list_device() == [cpu(1)] == [net[0].weight.data().device]
    net.load_parameters(path)
    assert net[0].weight.data().device == cpu(1)
    with pytest.raises(DeviceError, match=r"lives on cpu\(1\), not on cpu\(0\)"):
        net.load_parameters(path, device=cpu(0))


def tied():
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=3), nn.Dense(3, in_units=3), nn.Dense(3, in_units=3))
    net[1].share_parameters({"weight": net[0].weight})
    return net


def test_files_of_tied_parameters(path):
    from gluonx.files import load_arrays

    net = tied()
    net.initialize()
    net.save_parameters(path, deduplicate=False)
    assert len(load_arrays(path)) == 6
    net.save_parameters(path)
    assert len(load_arrays(path)) == 5
    twin = tied()
    twin.load_parameters(path)
    assert same(values(net), values(twin))
    untied = nn.HybridSequential()
    untied.add(*(nn.Dense(3, in_units=3) for _ in range(3)))
    with pytest.raises(FormatError, match=r"it lacks '1\.weight' \(allow_missing"):
        untied.load_parameters(path)
    untied.initialize()
    untied.save_parameters(path)
    with pytest.warns(UserWarning, match=r"'0\.weight' and '1\.weight' share one parameter"):
        twin.load_parameters(path)


def test_save_and_load_the_structure(tmp_path):
    net = tied()
    net.initialize()
    net[1].hybridize()
    net.save(tmp_path / "m")
    described = json.loads((tmp_path / "m-model.json").read_text())["block"]
    assert described["children"]["1"]["parameters"] == {"weight": "0.weight", "bias": "1.bias"}
    other = nn.HybridSequential()
    other.add(*(nn.Dense(3, in_units=3) for _ in range(3)))
    other.load(tmp_path / "m")
    assert other[1].weight is other[0].weight
    assert [other._active, other[1]._active, other[2]._active] == [False, True, False]
    assert same(values(net), values(other))


class Inner(nn.HybridSequential):
    pass


class Named(nn.HybridBlock):
    def __init__(self, first, second):
        super().__init__()
        setattr(self, first, nn.Dense(3, in_units=2))
        inner = Inner()
        inner.add(nn.BatchNorm(in_channels=3), nn.Dense(1, in_units=3))
        setattr(self, second, inner)

    def forward(self, x):
        first, second = self._children.values()
        return second(first(x))


def same_by_place(one, other):
    pairs = zip(values(one).values(), values(other).values(), strict=True)
    return all(onp.array_equal(a, b) for a, b in pairs)


def test_a_structure_is_loaded_by_place_where_names_are_others(tmp_path):
    net, other = Named("u", "w"), Named("p", "u")
    net.initialize(initializer.Uniform(1))
    net.w.hybridize()
    net.save(tmp_path / "m")
    other.load(tmp_path / "m")
    assert same_by_place(net, other) and other.u._active and not other._active
    assert next(iter(other.collect_params())) == "p.weight"
    wrong = nn.HybridSequential()
    wrong.add(Inner(), nn.Dense(3))
    with pytest.raises(FormatError, match=r"the block itself has the children \['0', '1'\], the file \['u', 'w'\]"):
        wrong.load(tmp_path / "m")


def test_a_structure_that_mxnet_1_wrote(tmp_path):
    dense, norm = ({"orig_name": name, "hybridized": False, "children": {}} for name in ("net0_dense0", "batchnorm0"))
    inner = {
        "orig_name": "inner0",
        "hybridized": True,
        "symbol": "{}",
        "inputs": [],
        "children": {},
        "batchnorm3": norm,
    }
    inner = {**inner, "children": {"batchnorm0": "0", "net0_dense1": "1"}, "dense4": dense}
    told = {"orig_name": "net0", "hybridized": False, "children": {"net0_dense0": "a", "inner0": "b"}}
    (tmp_path / "m-model.json").write_text(json.dumps({"named0": {**told, "dense1": dense, "inner2": inner}}))
    net, other = Named("a", "b"), Named("p", "q")
    net.initialize(initializer.Uniform(1))
    net.save_parameters(tmp_path / "m-model.params")
    other.load(tmp_path / "m")
    assert same_by_place(net, other) and other.q._active and not other._active


def test_loading_another_structure(tmp_path):
    net = tied()
    net.initialize()
    net.save(tmp_path / "m")
    two = nn.HybridSequential()
    two.add(nn.Dense(3), nn.Dense(3))
    with pytest.raises(
        FormatError, match=r"the block itself has the children \['0', '1'\], the file \['0', '1', '2'\]"
    ):
        two.load(tmp_path / "m")
    wide = nn.HybridSequential()
    wide.add(*(nn.Dense(3, in_units=4) for _ in range(3)))
    before = wide.collect_params()
    with pytest.raises(FormatError, match=r"has shape \(3, 3\), the block's parameter \(3, 4\)"):
        wide.load(tmp_path / "m")
    assert wide.collect_params() == before
    described = (tmp_path / "m-model.json").read_text()
    (tmp_path / "m-model.json").write_text(described.replace('"0.weight"', '"0.wight"'))
    with pytest.raises(FormatError, match=r"(?s)m-model.json' .*1.weight is that of '0.wight', which is not there"):
        net.load(tmp_path / "m")
    for text in ("{", "[]", '{"format": "gluonx-block-1"}', '{"format": "gluonx-block-1", "block": {"children": []}}'):
        (tmp_path / "m-model.json").write_text(text)
        with pytest.raises(FormatError, match=r"m-model\.json"):
            wide.load(tmp_path / "m")


# ------------------------------------------------------------------ summary


def test_summary(capsys):
    net = Net()
    net.initialize()
    net.hybridize()
    net.summary(ones(2, 5))
    assert capsys.readouterr().out.splitlines() == [
        "Layer                                       Output shape                Parameters      Memory       FLOPs",
        "=" * 106,
        "Input                                       (2, 5)                               0         0 B           0",
        "features.0.act (Activation)                 (2, 4)                               0         0 B           8",
        "features.0 (Dense)                          (2, 4)                              24        96 B          88",
        "features.1 (Dense)                          (2, 3)                              15        60 B          54",
        "features (HybridSequential)                 (2, 3)                               0         0 B           0",
        "Net                                         (2, 3)                               3        12 B           6",
        "=" * 106,
        "Parameters: 42 (168 B), each counted once",
        "  trained: 42",
        "  not trained: 0",
        "FLOPs: 156",
    ]
    assert net._active
    assert not net._post_hooks


def test_summary_counts_shared_and_unused(capsys):
    dense = nn.Dense(3, in_units=3)
    net = nn.HybridSequential()
    net.add(dense, nn.BatchNorm(in_channels=3), dense)
    net.unused = nn.Dense(500, in_units=500)
    net.unused.forward = None
    net.initialize()
    net._children.pop("unused")
    net.register_child(nn.Identity(), "last")
    net.summary(ones(2, 3))
    text = capsys.readouterr().out
    assert text.count("shared") == 1
    assert "  not trained: 6" in text


def test_summary_of_a_net_without_values():
    net = Net()
    with pytest.raises(UninitializedError):
        net.summary(ones(2, 5))
    assert not net.features._post_hooks


def test_constants_in_blocks():
    class Shift(HybridBlock):
        def __init__(self):
            super().__init__()
            self.by = Constant([1.0, 2.0])

        def forward(self, x):
            return x + self.by.data()

    for hybrid in (False, True):
        net = Shift()
        net.initialize(initializer.Zero())
        net.hybridize(hybrid)
        assert net(ones(1, 2)).asnumpy().tolist() == [[2, 3]]
    with pytest.raises(GluonxError):
        net.by.grad()
