"""StableHLO artifacts: what is saved runs elsewhere, at every size, and nothing damaged or misfitting runs at all."""

import hashlib
import json
import os
import pathlib
import runpy
import subprocess
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import export, lax

import gluonx
import gluonx.export.stablehlo as stablehlo
from gluonx import nn
from gluonx.errors import FormatError, ShapeError
from gluonx.export import serve
from gluonx.export.stablehlo import InputSpec, Signature, load_artifact, save_artifact
from gluonx.files import load_arrays

FILES = ["model.jaxexport", "model.json", "model.stablehlo", "params.safetensors", "serve.py"]
NEEDED = ["model.jaxexport", "model.stablehlo", "params.safetensors"]
IMAGES = InputSpec("images", ("b", 1, 8, 8), "float32")


def convnet(params, x):
    x = lax.conv_general_dilated(x, params["0.weight"], (2, 2), "SAME") + params["0.bias"][:, None, None]
    x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return x.reshape(x.shape[0], -1) @ params["1.weight"].T


@pytest.fixture
def params(rng):
    shapes = {"0.weight": (4, 1, 3, 3), "0.bias": (4,), "1.weight": (10, 16), "unused": (2,)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture
def images(rng):
    return rng.standard_normal((7, 1, 8, 8)).astype(np.float32)


@pytest.fixture
def digits(tmp_path, params):
    return save_artifact(tmp_path / "digits", convnet, params, [IMAGES], metadata={"accuracy": "0.98"})


def close(actual, expected):
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-5, atol=1e-5)


# ------------------------------------------------------------------------------------------------------ what is written


def test_the_folder_describes_itself(digits, params):
    assert sorted(p.name for p in digits.iterdir()) == FILES
    model = json.loads((digits / "model.json").read_text())
    assert model["format"] == "gluonx-artifact" and model["format_version"] == 1
    assert model["inputs"] == [{"name": "images", "shape": ["b", 1, 8, 8], "dtype": "float32"}]
    assert model["outputs"] == [{"name": "output0", "shape": ["b", 10], "dtype": "float32"}]
    assert model["dimensions"] == {"b": {"min": 1, "max": None}}
    assert [p["name"] for p in model["parameters"]] == sorted(params)
    assert model["platforms"] == ["cpu"] and model["metadata"] == {"accuracy": "0.98"} and model["x64"] is False
    assert model["versions"]["jax"] == jax.__version__ and set(model["versions"]) == {
        "gluonx",
        "jax",
        "jaxlib",
        "python",
    }
    for name in NEEDED:
        data = (digits / name).read_bytes()
        assert model["files"][name] == {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    stored = load_arrays(digits / "params.safetensors")
    for name in params:
        np.testing.assert_array_equal(stored[name], params[name])


def test_the_raw_module_takes_parameters_in_order_and_then_the_inputs(digits):
    exported = export.deserialize(bytearray((digits / "model.jaxexport").read_bytes()))
    assert exported.mlir_module_serialized == (digits / "model.stablehlo").read_bytes()
    shapes = [str(aval.shape) for aval in exported.in_avals]
    assert shapes == ["(4,)", "(4, 1, 3, 3)", "(10, 16)", "(2,)", "(b, 1, 8, 8)"]
    assert exported.module_kept_var_idx == tuple(range(5))  # the unused parameter too


def test_parameters_are_not_baked_into_the_program(tmp_path):
    big = {"w": np.ones((500, 500), np.float32)}
    folder = save_artifact(tmp_path / "big", lambda p, x: x @ p["w"], big, [InputSpec("x", ("b", 500), "float32")])
    assert (folder / "model.jaxexport").stat().st_size < 20_000
    assert (folder / "params.safetensors").stat().st_size > 1_000_000


# ------------------------------------------------------------------------------------------------------- what it gives


@pytest.mark.dear
def test_a_loaded_artifact_gives_what_the_function_gave(digits, params, images):
    artifact = load_artifact(digits)
    for size in (1, 2, 7):
        close(artifact(images[:size]), convnet(params, images[:size]))
    assert set(artifact.params) == set(params)
    assert str(artifact.signature) == "(images: float32[b, 1, 8, 8]) -> (float32[b, 10])"
    assert isinstance(artifact.signature, Signature) and artifact.signature.dimensions == {"b": (1, None)}
    assert repr(artifact) == f"Artifact('{digits}', {artifact.signature}, 4 parameters)"


ALONE = """
import builtins, sys
sys.path[:] = [p for p in sys.path if p != {root!r}]
plain = builtins.__import__
def guarded(name, *rest, **names):
    assert name.split(".")[0] not in ("gluonx", "safetensors", "optax"), name
    return plain(name, *rest, **names)
builtins.__import__ = guarded
sys.path.insert(0, {folder!r})
import numpy as np, serve
assert serve.__file__.startswith({folder!r})
net = serve.load()
images = np.load({images!r})
np.savez({out!r}, *[np.asarray(net(images[:size])) for size in (1, 3, 7)])
assert "gluonx" not in sys.modules
"""


def run_alone(code, cwd):
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "XLA_FLAGS")}
    result = subprocess.run(
        [sys.executable, "-W", "error", *code],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result


@pytest.mark.dear
def test_a_fresh_process_without_gluonx_runs_it_at_several_sizes(tmp_path, digits, params, images):
    np.save(tmp_path / "in.npy", images)
    names = {"folder": str(digits), "images": str(tmp_path / "in.npy"), "out": str(tmp_path / "out.npz")}
    root = os.path.dirname(os.path.dirname(os.path.dirname(stablehlo.__file__)))
    run_alone(["-c", ALONE.format(root=root, **names)], tmp_path)
    with np.load(tmp_path / "out.npz") as out:
        for i, size in enumerate((1, 3, 7)):
            close(out[f"arr_{i}"], convnet(params, images[:size]))


@pytest.mark.dear
def test_serve_as_a_command(tmp_path, digits, params, images):
    np.save(tmp_path / "in.npy", images)
    run_alone([str(digits / "serve.py"), str(tmp_path / "in.npy"), str(tmp_path / "out.npz")], tmp_path)
    with np.load(tmp_path / "out.npz") as out:
        close(out["output0"], convnet(params, images))


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]], ids=str)
def test_serve_as_a_command_says_how(words, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["serve.py", *words])
    with pytest.raises(SystemExit, match=r"python serve.py IN.npy OUT.npz"):
        runpy.run_path(serve.__file__, run_name="__main__")


def test_serve_refuses_what_does_not_fit(digits, images):
    net = serve.load(digits)
    with pytest.raises(ValueError, match=r"'images' must be float32\[b, 1, 8, 8\], got int32\[7, 1, 8, 8\]"):
        net(images.astype(np.int32))
    with pytest.raises(ValueError, match=r"got float32\[7, 1, 8\]"):
        net(images[..., 0])
    with pytest.raises(TypeError, match="the inputs must be structured as"):
        net(images, images)
    data = bytearray((digits / "model.jaxexport").read_bytes())
    data[len(data) // 2] ^= 1
    (digits / "model.jaxexport").write_bytes(data)
    with pytest.raises(ValueError, match=r"model.jaxexport is not the file that was exported"):
        serve.load(digits)


def refuse(_):
    raise ValueError("this jax is too new for the file")


@pytest.mark.dear
@pytest.mark.parametrize("platforms", [["cpu"], ["cpu", "cuda", "tpu"]])
def test_the_raw_stablehlo_runs_when_jax_refuses_the_serialized_form(tmp_path, monkeypatch, platforms, rng):
    def fn(params, x, scale):
        total = jnp.cumsum(x * params["w"], axis=1)
        return {"half": total[:, ::2], "mean": total.mean(), "scaled": (total * scale, x.reshape(-1))}

    inputs = [InputSpec("x", ("b", "2*h"), "float32"), InputSpec("scale", (), "float32")]
    weights = {"w": np.float32([2.0])}
    folder = save_artifact(tmp_path / "net", fn, weights, inputs, platforms=platforms, constraints=["b <= 64"])
    shapes = [entry["shape"] for entry in json.loads((folder / "model.json").read_text())["outputs"]]
    assert shapes == [["b", "h"], [], ["b", "2*h"], ["2*b*h"]]
    x = rng.standard_normal((3, 8)).astype(np.float32)
    expected = fn({"w": 2.0}, x, 3.0)
    monkeypatch.setattr(serve.export, "deserialize", refuse)
    for net in (load_artifact(folder), serve.load(folder)):
        jax.tree.map(close, net(x, np.float32(3)), expected)
        jax.tree.map(close, net(x[:1, :2], 3.0), fn({"w": 2.0}, x[:1, :2], 3.0))


def test_nested_inputs_and_outputs(tmp_path):
    def step(params, x, states):
        h, c = states["h"], states["c"]
        return x @ params["w"] + h, [{"c": c + 1, "h": h}, None]

    spec = InputSpec("state", ("b", 3), "float32")
    inputs = [InputSpec("x", ("b", 2), "float32"), {"h": spec, "c": spec}]
    folder = save_artifact(tmp_path / "cell", step, {"w": np.ones((2, 3), np.float32)}, inputs)
    x, state = np.ones((4, 2), np.float32), np.zeros((4, 3), np.float32)
    for net in (load_artifact(folder), serve.load(folder)):
        y, states = net(x, {"h": state, "c": state})
        assert isinstance(states, list) and states[1] is None
        close(y, np.full((4, 3), 2.0))
        close(states[0]["c"], np.ones((4, 3)))
    with pytest.raises(ShapeError, match="nested as"):
        load_artifact(folder)(x, state, state)


def test_no_parameters_integers_and_narrow_floats(tmp_path):
    inputs = [InputSpec("i", ("n",), "int32"), InputSpec("m", ("n",), "bool"), InputSpec("h", ("n",), "bfloat16")]
    folder = save_artifact(tmp_path / "f", lambda p, i, m, h: (jnp.where(m, i, 0), h * 2), {}, inputs)
    i, m = np.int32([1, 2, 3]), np.array([True, False, True])
    got = load_artifact(folder)(i, m, np.float32([1, 2, 3]).astype(ml_dtypes.bfloat16))
    assert np.asarray(got[0]).tolist() == [1, 0, 3] and got[1].dtype == jnp.bfloat16


def test_parameters_of_every_kind(tmp_path):
    params = {
        "bf": jnp.arange(3, dtype=jnp.bfloat16),
        "wide": np.arange(3, dtype=np.float64),  # jax computes with 32 bits here, so that is what is exported
        "strided": np.arange(6, dtype=np.float32)[::2],
        "scalar": np.float32(2),
        "python": 1.5,
    }

    def fn(p, x):
        return p["bf"] + p["wide"] + p["strided"] + p["scalar"] + p["python"] + x

    folder = save_artifact(tmp_path / "net", fn, params, [InputSpec("x", (3,), "float32")])
    assert json.loads((folder / "model.json").read_text())["x64"] is False
    for net in (load_artifact(folder), serve.load(folder)):
        close(net(np.ones(3)), np.arange(3) * 4 + 4.5)


@pytest.mark.dear
def test_sixty_four_bits_are_asked_for(tmp_path):
    with jax.enable_x64(True):
        spec = InputSpec("x", ("n",), "float64")
        folder = save_artifact(tmp_path / "net", lambda p, x: x * p["w"], {"w": np.float64(1 / 3)}, [spec])
        for net in (load_artifact(folder), serve.load(folder)):
            assert np.asarray(net(np.ones(2))).tolist() == [1 / 3, 1 / 3]
    for net in (load_artifact(folder), serve.load(folder)):  # and nobody needs JAX's switch to load it
        assert np.asarray(net(np.ones(2))).tolist() == [1 / 3, 1 / 3]
    assert not jax.config.jax_enable_x64


@pytest.mark.dear
def test_gradients_where_asked_for(tmp_path, params, images):
    folder = save_artifact(tmp_path / "net", convnet, params, [IMAGES], vjp_order=1)
    artifact = load_artifact(folder)
    expected = jax.grad(lambda p: convnet(p, images).sum())(params)
    got = jax.grad(lambda p: artifact.apply(p, images).sum())(artifact.params)
    for name in params:
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-3, atol=1e-3)


# ------------------------------------------------------------------------------------------------------ what is refused

MISFITS = [
    ((1,), "float32", "wrong number of dimensions: expected float32[b, 3, 8*h, w], got float32[1]"),
    ((2, 3, 8, 1), "int32", "wrong dtype: expected float32[b, 3, 8*h, w], got int32[2, 3, 8, 1]"),
    ((2, 4, 8, 1), "float32", "axis 1 of 'x' must be 3"),
    ((2, 3, 9, 1), "float32", "axis 2 of 'x' must be a multiple of 8"),
    ((9, 3, 8, 1), "float32", "'b' is 9 by axis 0 of 'x', outside of 2 to 8"),
    ((1, 3, 8, 1), "float32", "'b' is 1 by axis 0 of 'x', outside of 2 to 8"),
    ((2, 3, 0, 1), "float32", "'h' is 0 by axis 2 of 'x', outside of 1 to any size"),
]


@pytest.mark.dear
def test_inputs_that_do_not_fit_are_named_before_anything_runs(tmp_path):
    inputs = [InputSpec("x", ("b", 3, "8*h", "w"), "float32"), InputSpec("y", ("b",), "float32")]
    folder = save_artifact(
        tmp_path / "net", lambda p, x, y: x.sum((1, 2, 3)) + y, {}, inputs, constraints=["b <= 8", "b >= 2"]
    )
    net, y = load_artifact(folder), np.ones(2, np.float32)
    assert net(np.ones((2, 3, 16, 5), np.float32), y).shape == (2,)
    for shape, dtype, message in MISFITS:
        with pytest.raises(ShapeError) as caught:
            net(np.ones(shape, dtype), y)
        assert message in str(caught.value)
    with pytest.raises(ShapeError, match="'b' is 2 by axis 0 of 'y' but 3 by axis 0 of 'x'"):
        net(np.ones((3, 3, 8, 1), np.float32), y)
    with pytest.raises(ShapeError, match=r"expected inputs \(x, y\)"):
        net(y)
    assert net(np.ones((2, 3, 8, 1), np.float32), y).shape == (2,)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (("b", -1), "empty or negative dimension"),
        (("",), "empty or negative dimension"),
        ("b", "must be integers and strings"),
        ((2.5,), "must be integers and strings"),
        ((True,), "must be integers and strings"),
    ],
)
def test_bad_input_specs(shape, message):
    with pytest.raises(ShapeError, match=message):
        InputSpec("x", shape, "float32")


def test_bad_arguments_of_save(tmp_path):
    spec = InputSpec("x", ("b",), "float32")
    with pytest.raises(ShapeError, match=r"input 'x': .* is not a shape that jax understands"):
        save_artifact(tmp_path / "n", lambda p, x: x, {}, [InputSpec("x", ("b +",), "float32")])
    with pytest.raises(TypeError, match=r"inputs must be InputSpec, .* got 3"):
        save_artifact(tmp_path / "n", lambda p, x: x, {}, [3])
    with pytest.raises(TypeError, match="non-empty strings, got ''"):
        save_artifact(tmp_path / "n", lambda p, x: x, {"": np.ones(1)}, [spec])
    with pytest.raises(TypeError, match="strings for keys to be exported"):
        save_artifact(tmp_path / "n", lambda p, x: {0: x}, {}, [spec])
    with pytest.raises(TypeError, match="metadata must map strings"):
        save_artifact(tmp_path / "n", lambda p, x: x, {}, [spec], metadata={"a": 1})
    assert not list(tmp_path.iterdir())


def test_a_branch_on_a_symbolic_size_says_what_to_do(tmp_path):
    def fn(params, x):
        return x if x.shape[0] > 4 else x * 2

    with pytest.raises(Exception) as caught:
        save_artifact(tmp_path / "net", fn, {}, [InputSpec("x", ("b",), "float32")])
    notes = "\n".join(caught.value.__notes__)
    assert "while exporting a function of (x: float32[b]) for cpu" in notes and "declare a multiple such as" in notes
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------ tampering, accidents


@pytest.mark.parametrize("name", NEEDED)
def test_a_changed_truncated_or_missing_file_is_found(digits, name):
    data = (digits / name).read_bytes()
    for position in (0, len(data) // 2, len(data) - 1):
        changed = bytearray(data)
        changed[position] ^= 0x10
        (digits / name).write_bytes(changed)
        with pytest.raises(FormatError, match=f"{name}' is not the file that was exported"):
            load_artifact(digits)
    (digits / name).write_bytes(data[:-1])
    with pytest.raises(FormatError, match=f"{name}' has {len(data) - 1} bytes, not the {len(data)}"):
        load_artifact(digits)
    (digits / name).unlink()
    with pytest.raises(FormatError, match=f"incomplete: {name} is missing"):
        load_artifact(digits)


def test_a_changed_description_is_found(digits):
    path = digits / "model.json"
    text = path.read_text()
    path.write_text(text.replace('"float32"', '"float16"', 1))
    with pytest.raises(FormatError, match="changed after the export"):
        load_artifact(digits)
    path.write_text(text.replace('"format_version": 1', '"format_version": 2'))
    with pytest.raises(FormatError, match="format version 2, this gluonx reads 1"):
        load_artifact(digits)
    for other in ("{}", "[]", '{"format": "onnx"}'):
        path.write_text(other)
        with pytest.raises(FormatError, match="does not describe a gluonx artifact"):
            load_artifact(digits)
    for broken in (text[: len(text) // 2], "", "[" * 100_000):
        path.write_text(broken)
        with pytest.raises(FormatError, match="is damaged"):
            load_artifact(digits)


def test_what_is_no_artifact(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(FormatError, match=r"is not an artifact: it has no model.json"):
            load_artifact(path)


@pytest.mark.dear
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_export_leaves_the_old_artifact(tmp_path, digits, params, images, monkeypatch, error):
    before = {path.name: path.read_bytes() for path in digits.iterdir()}

    def interrupted(path):
        if path.name == "model.stablehlo":
            raise error
        return {}

    monkeypatch.setattr(stablehlo, "_file_entry", interrupted)
    other = {name: value + 1 for name, value in params.items()}
    with pytest.raises(error):
        save_artifact(digits, convnet, other, [IMAGES])
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in digits.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["digits"]
    close(load_artifact(digits)(images), convnet(params, images))

    save_artifact(digits, convnet, other, [IMAGES])
    close(load_artifact(digits)(images), convnet(other, images))
    assert [path.name for path in tmp_path.iterdir()] == ["digits"]


def test_only_an_artifact_is_replaced(tmp_path, digits, params):
    def save(path):
        save_artifact(path, lambda p, x: x, {}, [InputSpec("x", ("b",), "float32")])

    home = tmp_path / "home"
    home.mkdir()
    save(home)  # an empty folder is fine
    (digits / "__pycache__").mkdir()
    save(digits)
    (home / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match=r"holds 'thesis.tex', which is no part of an artifact"):
        save(home)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "params.safetensors").write_text("")
    with pytest.raises(FileExistsError, match="is not an artifact and would be replaced"):
        save(tmp_path / "other")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        save(tmp_path / "file")
    assert (home / "thesis.tex").read_text() == "years of work"


def test_a_fixed_state_and_any_batch_do_not_go_together(tmp_path):
    class Held(nn.HybridBlock):
        def forward(self, x):
            return x + self.state

    class States(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.lstm = gluonx.rnn.LSTM(3, input_size=5, layout="NTC")

        def forward(self, x, states):
            return self.lstm(x, states)

    held, states = Held(), States()
    held.state = gluonx.np.ones((2, 5))
    states.initialize()
    begin = [gluonx.np.zeros((1, 2, 3))] * 2
    for net, inputs in ((held, [gluonx.np.ones((2, 5))]), (states, [gluonx.np.ones((2, 4, 5)), begin])):
        net.hybridize()
        net(*inputs)
        with pytest.raises(ShapeError, match=r"cannot be exported for any size.*dynamic_batch=False.*InputSpec\("):
            net.export(tmp_path / "net", format="stablehlo")
        net.export(tmp_path / "net", format="stablehlo", dynamic_batch=False)


TWICE = """
import os, sys
import numpy
import gluonx as mx
from gluonx import gluon
from gluonx.gluon import nn

class Net(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.dense = nn.Conv2D(4, 3), nn.BatchNorm(), nn.Dense(3)
    def forward(self, x):
        return mx.npx.log_softmax(self.dense(mx.npx.gelu(self.norm(self.conv(x)))))

mx.random.seed(7)
net = Net()
net.initialize()
net.hybridize()
net(mx.np.ones((2, 1, 6, 6)))
net.export("net", vjp_order=1)
net.export("told", vjp_order=1, debug_info=True)
"""


@pytest.mark.dear
def test_an_artifact_says_nothing_of_the_machine_and_is_the_same_again(tmp_path):
    """Two processes in different folders, from different files."""
    made = []
    for name in ("one", "another_place"):
        here = tmp_path / name
        here.mkdir()
        (here / f"{name}.py").write_text("\n" * len(made) + TWICE)
        env = {**os.environ, "HOME": str(here), "PYTHONPATH": str(pathlib.Path(gluonx.__file__).parents[1])}
        subprocess.run([sys.executable, f"{name}.py"], cwd=here, env=env, check=True, timeout=300)
        made.append({p.name: p.read_bytes() for p in sorted((here / "net").iterdir())})
        paths = [str(here), str(tmp_path), os.path.expanduser("~") + "/", gluonx.__path__[0], f"{name}.py"]
        for file, content in made[-1].items():
            assert not [path for path in paths if path.encode() in content], file
            assert b"/site-packages/" not in content, file
        for file in ("model.stablehlo", "model.jaxexport"):
            assert str(here / f"{name}.py").encode() in (here / "told" / file).read_bytes()
        assert b'"created"' in (here / "told" / "model.json").read_bytes()
    assert made[0].keys() == made[1].keys() >= {"model.json", "model.stablehlo", "model.jaxexport"}
    assert made[0] == made[1]
    loaded = gluonx.load(tmp_path / "one" / "net")
    assert loaded(gluonx.np.ones((3, 1, 6, 6))).shape == (3, 3)
