"""Artifacts as blocks and predictors; artifacts of every release, for ever."""

import json
import re
import shutil
import subprocess
import sys
import threading

import jax
import numpy as np
import pytest

import gluonx
from gluonx import autograd, gluon, nn, npx
from gluonx import np as gnp
from gluonx.errors import FormatError, ShapeError
from gluonx.export import InputSpec, save_artifact, stablehlo
from gluonx.files import checksum_of
from lib import ROOT, TESTS


def of_later_jax(folder):
    """Whether a later minor version of jax wrote it: those are promised for three weeks only."""
    minor = folder.name.partition("-jax")[2]
    return bool(minor) and tuple(map(int, minor.split("."))) > jax.__version_info__[:2]


RELEASES = sorted(p for p in (TESTS / "data" / "artifacts").iterdir() if p.is_dir() and not of_later_jax(p))


def images(count=2):
    return np.random.default_rng(count).normal(size=(count, 1, 6, 6)).astype("float32")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A net and the folder of its artifact, which can be differentiated once."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3), nn.BatchNorm(), nn.Flatten(), nn.Dense(3))
    net.initialize()
    net.hybridize()
    with autograd.train_mode():
        net(gnp.array(images()))
    net(gnp.array(images()))
    folder = net.export(tmp_path_factory.mktemp("artifact") / "net", vjp_order=1, constraints=["b <= 64"])
    return net, folder


# ------------------------------------------------------------------------------------------------------------- releases


@pytest.mark.parametrize("folder", RELEASES, ids=lambda p: p.name)
def test_the_artifact_of_every_release_still_runs(folder):
    with np.load(folder / "io.npz") as io:
        given, expected = io["images"], io["outputs"]
    net = gluonx.load(folder / "net")
    np.testing.assert_allclose(net(gnp.array(given)).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert net.artifact.model["platforms"] == ["cpu", "cuda", "tpu"]


@pytest.mark.parametrize("folder", RELEASES, ids=lambda p: p.name)
def test_the_raw_module_of_every_release_runs_where_jax_refuses_the_rest(folder, monkeypatch):
    def refuse(*_):
        raise ValueError("too old")

    with np.load(folder / "io.npz") as io:
        given, expected = io["images"], io["outputs"]
    monkeypatch.setattr(stablehlo.serve.export, "deserialize", refuse)
    found = stablehlo.load_artifact(folder / "net")(given)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_this_version_has_its_artifact():
    assert gluonx.__version__ in [p.name for p in RELEASES]


# -------------------------------------------------------------------------------------------------------------- a block


@pytest.mark.dear
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_loaded_block_gives_what_the_net_gave(exported, hybridized):
    net, folder = exported
    loaded = gluonx.load(folder)
    loaded.hybridize(hybridized)
    for count in (1, 5):
        x = gnp.array(images(count))
        np.testing.assert_allclose(loaded(x).asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-6)
    assert sorted(loaded.collect_params()) == sorted(net.collect_params())
    assert repr(loaded).startswith("LoadedBlock(") and str(loaded.signature).startswith("(data: float32[b, 1, 6, 6])")


@pytest.mark.dear
def test_fine_tuning_a_loaded_block(exported):
    _, folder = exported
    net = gluonx.load(folder)
    params = net.collect_params()
    assert params["1.running_mean"].grad_req == "null" and params["0.weight"].grad_req == "write"
    net.hybridize()
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.05})
    x, y, losses = gnp.array(images(8)), gnp.ones((8, 3)), []
    for _ in range(4):
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(x), y).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


def test_as_a_part_of_another_net_with_other_parameters(exported, tmp_path):
    net, folder = exported
    head = nn.HybridSequential()
    head.add(gluonx.load(folder), nn.Dense(2))
    head[1].initialize()
    head.hybridize()
    assert head(gnp.array(images())).shape == (2, 2)
    loaded = gluonx.load(folder)
    net.save_parameters(tmp_path / "p.params")
    loaded.collect_params()["3.bias"].set_data(np.full(3, 9.0))
    loaded.load_parameters(tmp_path / "p.params")
    np.testing.assert_allclose(
        loaded(gnp.array(images())).asnumpy(), net(gnp.array(images())).asnumpy(), rtol=1e-5, atol=1e-6
    )


def test_without_gradients_parameters_are_not_trainable(tmp_path):
    net = nn.Dense(2, in_units=3)
    net.initialize()
    loaded = gluonx.load(net.export(tmp_path / "net", inputs=[gnp.ones((1, 3))]))
    assert {p.grad_req for p in loaded.collect_params().values()} == {"null"}


def test_inputs_are_checked_before_anything_runs(exported):
    _, folder = exported
    net = gluonx.load(folder)
    for bad, message in [
        ([gnp.ones((2, 1, 6, 7))], "axis 3 of 'data' must be 6"),
        ([gnp.ones((2, 1, 6, 6), dtype="float16")], "wrong dtype"),
        ([gnp.ones((2, 6, 6))], "wrong number of dimensions"),
        ([gnp.ones((65, 1, 6, 6))], "'b' is 65 by axis 0 of 'data', outside of 1 to 64"),
        ([gnp.ones((2, 1, 6, 6))] * 2, r"expected inputs \(data\)"),
    ]:
        with pytest.raises(ShapeError, match=message):
            net(*bad)


def test_nested_inputs_and_outputs(tmp_path):
    spec = {"a": InputSpec("a", ("b", 2), "float32"), "c": (InputSpec("c", ("b",), "float32"),)}

    def fn(params, x):
        return {"sum": x["a"] * params["w"], "rest": [x["c"][0] + 1]}

    net = gluonx.load(save_artifact(tmp_path / "net", fn, {"w": np.float32([2, 3])}, [spec]))
    out = net({"a": gnp.ones((2, 2)), "c": (gnp.ones((2,)),)})
    assert out["sum"].tolist() == [[2, 3], [2, 3]] and out["rest"][0].tolist() == [2, 2]
    found = net.predictor([4])({"a": np.ones((2, 2), "f"), "c": (np.ones(2, "f"),)})
    assert found["sum"].tolist() == [[2, 3], [2, 3]] and found["rest"][0].tolist() == [2, 2]


class Branches(nn.HybridBlock):
    """A net with a residual, a join, and things that only work with the channels first."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm = nn.Conv2D(4, 3, padding=1), nn.Conv2D(4, 1, groups=2), nn.BatchNorm()
        self.pool, self.out = nn.MaxPool2D(2), nn.Dense(3)

    def forward(self, x):
        y = npx.relu(self.norm(self.a(x)))
        y = gnp.concatenate([y + self.b(y) * 2, y], axis=1)
        y = self.pool(y)
        return self.out(y), npx.softmax(y, axis=1)


@pytest.mark.dear
def test_channels_last_on_request(tmp_path):
    net = Branches()
    net.initialize()
    x = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype("float32")
    scores, maps = net(gnp.array(x))
    net.export(tmp_path / "net", inputs=[gnp.array(x)], layout="NHWC")
    loaded = gluonx.load(tmp_path / "net")
    assert str(loaded.signature) == "(data: float32[b, 8, 8, 3]) -> (float32[b, 3], float32[b, 4, 4, 8])"
    found, found_maps = loaded(gnp.array(x.transpose(0, 2, 3, 1)))
    np.testing.assert_allclose(found.asnumpy(), scores.asnumpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found_maps.asnumpy().transpose(0, 3, 1, 2), maps.asnumpy(), rtol=1e-5, atol=1e-6)
    text = loaded.artifact.exported.mlir_module()
    assert text.count("dim_numbers = [b, 0, 1, f]") == 2 and "[b, f, 0, 1]" not in text
    with pytest.raises(ValueError, match="layout must be 'NHWC'"):
        net.export(tmp_path / "net", inputs=[gnp.array(x)], layout="NCHW")


class Waves(nn.HybridBlock):
    """Element by element between two convolutions."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2D(4, 3, in_channels=3), nn.Conv2D(2, 1, in_channels=4)

    def forward(self, x):
        y = self.first(x)
        return self.second(gnp.hypot(gnp.sin(y), gnp.arctan(y)))


@pytest.mark.dear
def test_elementwise_functions_keep_channels_last(tmp_path):
    net = Waves()
    net.initialize()
    x = np.random.default_rng(0).normal(size=(2, 3, 6, 6)).astype("float32")
    net.export(tmp_path / "net", inputs=[gnp.array(x)], layout="NHWC")
    loaded = gluonx.load(tmp_path / "net")
    found = loaded(gnp.array(x.transpose(0, 2, 3, 1))).asnumpy().transpose(0, 3, 1, 2)
    np.testing.assert_allclose(found, net(gnp.array(x)).asnumpy(), rtol=1e-5, atol=1e-6)
    turns = [line for line in loaded.artifact.exported.mlir_module().splitlines() if "stablehlo.transpose" in line]
    assert len(turns) == 2, "only the two weights are transposed"


# ---------------------------------------------------------------------------------------------------------- a predictor


def test_a_predictor_pads_to_buckets_and_splits_what_is_bigger(exported):
    net, folder = exported
    predict = gluonx.load(folder).predictor(buckets=[2, 8])
    for count in (1, 2, 3, 8, 9, 20):
        expected = net(gnp.array(images(count))).asnumpy()
        np.testing.assert_allclose(predict(images(count)), expected, rtol=1e-5, atol=1e-6)
    assert len(predict._compiled) == 2


def test_a_warm_predictor_compiles_nothing_more(exported):
    _, folder = exported
    predict = gluonx.load(folder).predictor(buckets=[1, 4], warm_up=True)
    before = dict(predict._compiled)
    for count in (1, 3, 4, 6):
        predict(images(count))
    assert predict._compiled == before and len(before) == 2


def test_a_predictor_serves_threads(exported):
    net, folder = exported
    predict = gluonx.load(folder).predictor(buckets=[4])
    results = {}

    def work(count):
        results[count] = predict(images(count))

    threads = [threading.Thread(target=work, args=(count,)) for count in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(predict._compiled) == 1
    for count, found in results.items():
        np.testing.assert_allclose(found, net(gnp.array(images(count))).asnumpy(), rtol=1e-5, atol=1e-6)


def test_a_predictor_keeps_the_parameters_of_its_making(exported):
    _, folder = exported
    net = gluonx.load(folder)
    predict = net.predictor([2])
    before = predict(images())
    net.collect_params()["3.bias"].set_data(np.full(3, 9.0))
    np.testing.assert_array_equal(predict(images()), before)
    assert not np.allclose(net.predictor([2])(images()), before)


@pytest.mark.dear
def test_what_a_predictor_refuses(exported, tmp_path):
    _, folder = exported
    net = gluonx.load(folder)
    for buckets in ([0], [65], []):
        with pytest.raises(ShapeError, match="buckets must be sizes from 1 to 64"):
            net.predictor(buckets)
    with pytest.raises(ShapeError, match="axis 3 of 'data' must be 6"):
        net.predictor()(np.ones((2, 1, 6, 7), "f"))
    with pytest.raises(ShapeError, match="at least one sample"):
        net.predictor()(np.ones((0, 1, 6, 6), "f"))
    assert net.predictor([64])(images(70)).shape == (70, 3)  # the bound is on what runs at once
    dense = nn.Dense(2, in_units=3)
    dense.initialize()
    fixed = gluonx.load(dense.export(tmp_path / "fixed", inputs=[gnp.ones((1, 3))], dynamic_batch=False))
    with pytest.raises(ShapeError, match="a predictor needs a symbolic batch"):
        fixed.predictor()
    spec = [InputSpec("x", ("b", "n"), "float32")]
    free = gluonx.load(save_artifact(tmp_path / "free", lambda p, x: x * 2, {}, spec))
    assert free.predictor([4])(np.ones((3, 5), "f")).shape == (3, 5)
    with pytest.raises(ShapeError, match="sizes of 'x' beside the batch are symbolic"):
        free.predictor([4], warm_up=True)


# ------------------------------------------------------------------------------------------------------------- the page


@pytest.mark.dear
def test_the_page_on_export_runs_as_it_stands(tmp_path):
    """All Python of docs/export.md before its second chapter on files, in one process, from top to bottom."""
    page = (ROOT / "docs" / "export.md").read_text()
    code = re.findall(r"```python\n(.*?)```", page.split("# Parameter files")[0], re.DOTALL)
    assert len(code) == 4
    lines = [
        "print(model(np.zeros((3, 64), 'float32')).shape)",
        "print(predict(np.zeros((3, 64), 'float32'))[0].shape)",
        "print(session.run(None, {'data': np.zeros((3, 4), 'float32')})[0].shape)",
    ]
    script = "\n".join([*code[:2], lines[0], code[2], lines[1], code[3], lines[2]])
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:3] == ["(3, 10)", "(3, 10)", "(3, 2)"], done.stderr
    plain = subprocess.run(
        [sys.executable, "-c", f"{code[2]}\nimport sys; print('gluonx' in sys.modules)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert plain.stdout == "False\n"


# --------------------------------------------------------------------------------------------------------- what changed


def changed(folder, target, change):
    """A copy with another model.json under a checksum that fits."""
    shutil.copytree(folder, target)
    model = json.loads((target / "model.json").read_text())
    change(model)
    model["checksum"] = checksum_of(model)
    (target / "model.json").write_text(json.dumps(model))
    return target


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["inputs"][0].update(dtype="float16"), "does not have the signature"),
        (lambda m: m["outputs"].pop(), "does not have the signature"),
        (lambda m: m["inputs"].append(m["inputs"][0]), "does not have the signature"),
        (lambda m: m["parameters"][0].update(shape=[1]), "parameters of the artifact|does not have the signature"),
        (lambda m: m["parameters"][0].update(name="other"), "parameters of the artifact"),
        (lambda m: m.update(platforms=["tpu"]), "is for"),
    ],
    ids=range(6),
)
def test_a_signature_that_is_not_the_programs_is_refused(exported, tmp_path, change, message):
    with pytest.raises(FormatError, match=message):
        gluonx.load(changed(exported[1], tmp_path / "net", change))


def test_a_changed_file_is_refused(exported, tmp_path):
    shutil.copytree(exported[1], tmp_path / "net")
    data = bytearray((tmp_path / "net" / "model.jaxexport").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "net" / "model.jaxexport").write_bytes(bytes(data))
    with pytest.raises(FormatError, match="checksum differs"):
        gluonx.load(tmp_path / "net")


def test_an_artifact_for_other_machines(tmp_path):
    net = nn.Dense(2, in_units=3)
    net.initialize()
    folder = net.export(tmp_path / "net", inputs=[gnp.ones((1, 3))], platforms=["tpu"])
    if jax.default_backend() == "cpu":
        with pytest.raises(FormatError, match="is for tpu; this process runs on cpu"):
            gluonx.load(folder)


def test_a_net_that_takes_lists_exports_what_it_was_called_with(tmp_path):
    class Sums(nn.HybridBlock):
        def forward(self, x, others):
            return x + others[0] * others[1]

    net = Sums()
    net.hybridize()
    x = gnp.ones((2, 3))
    net(x, [x * 2, x * 3])
    net.export(tmp_path / "sums")
    loaded = gluonx.load(tmp_path / "sums")
    assert loaded(x, [x * 2, x * 3]).asnumpy().tolist() == [[7.0] * 3] * 2


# -------------------------------------------------------------------------------------------------------------- buckets


@pytest.fixture(scope="module")
def bucketed(tmp_path_factory):
    """A net whose convolution has forms of its own on a CPU, exported with programs for two batch sizes."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, padding=1, in_channels=1), nn.Flatten(), nn.Dense(3))
    net.initialize()
    x = np.random.default_rng(0).normal(size=(8, 1, 2, 2)).astype("float32")
    net(gnp.array(x))
    folder = tmp_path_factory.mktemp("buckets") / "net"
    specs = [InputSpec("data", ("b", 1, 2, 2), "float32")]
    net.export(folder, inputs=specs, buckets=[4, 1, 4], constraints=["b <= 64"], platforms=("cpu", "cuda", "tpu"))
    return net, folder, x


@pytest.mark.dear
def test_each_bucket_has_a_program_and_all_share_the_parameters(bucketed):
    net, folder, x = bucketed
    model = json.loads((folder / "model.json").read_text())
    names = {f"bucket-{size}.{kind}" for size in (1, 4) for kind in ("stablehlo", "jaxexport")}
    assert model["buckets"] == [1, 4] and names < set(model["files"]) and names < {p.name for p in folder.iterdir()}
    assert len(list(folder.glob("*.safetensors"))) == 1
    net = net(gnp.array(x)).asnumpy()
    loaded = gluonx.load(folder)
    predict = loaded.predictor(warm_up=True)
    assert predict.buckets == (1, 4)
    for size in (1, 3, 4, 8):
        np.testing.assert_allclose(predict(x[:size]), net[:size], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(loaded(gnp.array(x)).asnumpy(), net, rtol=1e-5, atol=1e-6)


@pytest.mark.dear
def test_a_program_of_one_size_has_the_forms_of_a_cpu_and_the_bare_module_the_operations(bucketed):
    _, folder, _ = bucketed
    artifact = stablehlo.load_artifact(folder)
    assert artifact.program(4).in_avals[-1].shape == (4, 1, 2, 2)
    assert artifact.program(5) is artifact.exported

    def of_the_cpu(exported):
        types = [
            jax.ShapeDtypeStruct((4, *a.shape[1:]) if i == len(artifact.params) else a.shape, a.dtype)
            for i, a in enumerate(exported.in_avals)
        ]
        run = jax.jit(lambda *v: exported.call(dict(zip(sorted(artifact.params), v)), v[-1]))
        return run.lower(*types).compile().as_text()

    assert "convolution(" not in of_the_cpu(artifact.program(4))
    assert "convolution(" in of_the_cpu(artifact.exported)


def test_a_bucket_that_jax_no_longer_reads_or_that_was_changed(bucketed, tmp_path, monkeypatch):
    net, folder, x = bucketed
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    artifact = stablehlo.load_artifact(copy)
    monkeypatch.setattr(stablehlo.export, "deserialize", lambda *_: 1 / 0)
    assert artifact.program(4) is artifact.exported
    monkeypatch.undo()
    (copy / "bucket-4.stablehlo").write_bytes(b"x")
    with pytest.raises(FormatError, match=r"bucket-4\.stablehlo' has 1 bytes"):
        gluonx.load(copy)
    net.export(copy, inputs=[gnp.array(x)])  # an artifact with buckets gives way to one without
    assert not list(copy.glob("bucket-*"))


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"buckets": [0]}, "sizes from 1 to any size"),
        ({"buckets": [8], "constraints": ["b <= 4"]}, "sizes from 1 to 4"),
        ({"buckets": [1], "dynamic_batch": False}, "symbolic batch"),
        ({"buckets": [1], "format": "onnx"}, "for format='stablehlo'"),
    ],
)
def test_buckets_that_cannot_be(tmp_path, how, told):
    net = nn.Dense(2, in_units=3)
    net.initialize()
    with pytest.raises(ValueError, match=told):
        net.export(tmp_path / "net", inputs=[gnp.ones((2, 3))], **how)


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_an_export_for_all_platforms_lowers_for_each(bucketed, platform):
    artifact = stablehlo.load_artifact(bucketed[1])
    for size in (1, 3):
        exported = artifact.program(size)
        assert exported.platforms == ("cpu", "cuda", "tpu")
        x = jax.ShapeDtypeStruct((size, 1, 2, 2), "float32")
        params = {name: jax.ShapeDtypeStruct(a.shape, a.dtype) for name, a in artifact.params.items()}
        traced = jax.jit(exported.call).trace(params, x)
        assert "stablehlo" in traced.lower(lowering_platforms=(platform,)).as_text()
