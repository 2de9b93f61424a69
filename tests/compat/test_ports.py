"""Programs written for MXNet 2.0 run on gluonx with nothing but the name in their import lines changed.

tests/ports holds the programs, as people write them; what each prints on the real MXNet is in expected.json, made by
tests/oracle/ports/make_golden.py. The words must be the same, the numbers nearly.
"""

import json
import re
import runpy

import numpy
import pytest

import gluonx
from gluonx.compat.__main__ import main
from lib import TESTS

PORTS = TESTS / "ports"
EXPECTED = json.loads((PORTS / "expected.json").read_text(encoding="utf-8"))
IMPORT = re.compile(r"^(import|from) mxnet\b", re.MULTILINE)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")


def words(text):
    """The text around its numbers, without white space (MXNet and gluonx break long arrays at other places)."""
    return ["".join(part.split()) for part in NUMBER.split(text)]


def numbers(text):
    return [float(number) for number in NUMBER.findall(text)]


def test_every_port_is_recorded():
    written = {path.stem for path in PORTS.glob("*.py")} - {"conftest"}
    assert sorted(EXPECTED) == sorted(written)


def ported(name, folder):
    """The path of a port, its import lines changed and nothing else."""
    source, count = IMPORT.subn(r"\1 gluonx", (PORTS / f"{name}.py").read_text(encoding="utf-8"))
    assert count and "mxnet" not in source
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    return str(path)


EXPORTS = ("decoder_states",)  # they read MXNet's files again
WHOLE_MODELS = ("unet", "vision_transformer", "dcgan_training")  # their losses agree to 1e-4 step by step


IDIOMS = ("symbols_2x", "sparse_2x", "loops_2x", "int8_2x")  # of parts that are there under the alias


@pytest.mark.dear
@pytest.mark.parametrize("name", IDIOMS)
def test_idioms_under_the_alias(name, capsys):
    assert main(["--version", "2", str(PORTS / f"{name}.py")]) == 0
    printed, expected = capsys.readouterr().out, "\n".join(EXPECTED[name])
    assert words(printed) == words(expected)
    assert numbers(printed) == pytest.approx(numbers(expected), rel=2e-4, abs=2e-5, nan_ok=True)


@pytest.mark.dear
@pytest.mark.parametrize("name", sorted({*EXPECTED} - {*IDIOMS}))
def test_port(name, tmp_path, capsys, monkeypatch):
    if name in EXPORTS:  # as gluonx.compat does
        monkeypatch.setattr(type(gluonx.Block._block_names), "export_format", lambda self: "mxnet")
    runpy.run_path(ported(name, tmp_path), run_name="__main__")
    printed, expected = capsys.readouterr().out, "\n".join(EXPECTED[name])
    assert words(printed) == words(expected)
    near = {"rel": 1e-4, "abs": 1e-6} if name in WHOLE_MODELS else {"rel": 2e-3, "abs": 1e-4}
    assert numbers(printed) == pytest.approx(numbers(expected), **near, nan_ok=True)


@pytest.mark.dear
def test_a_step_of_two_trainers(tmp_path):
    """A step of the DCGAN is two training programs; after the first step nothing is compiled.

    The pictures that are generated outside of record(), and the averages of losses, are small enough for the host.
    """
    training = runpy.run_path(ported("dcgan_training", tmp_path))["Training"](numpy.random.RandomState(1))
    training.step()
    gluonx.engine.reset_stats()
    for _ in range(3):
        training.step()
    stats = gluonx.engine.stats()
    assert stats["programs_compiled"] == 0 and stats["copies"] == 0
    assert stats["flushes"] == {"trainer.step": 6} and stats["dispatches"] == 3 * 2


TWO = [gluonx.cpu(0), gluonx.cpu(1)]


@pytest.mark.dear
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("pictures_on_devices", {"epochs": 5}),  # 20 steps
        ("pictures_on_devices", {"epochs": 5, "norm": gluonx.nn.SyncBatchNorm}),
        ("words_on_devices", {"epochs": 2}),
    ],
    ids=["groups", "synchronized", "words"],
)
def test_loops_over_devices_have_the_losses_of_one(name, how, tmp_path):
    """Those of libraries as people wrote them; a step over two devices is one program, which compiles once."""
    train = runpy.run_path(ported(name, tmp_path))["train"]
    one, *_, net = train(TWO[:1], tell=lambda said: None, **how)
    gluonx.engine.reset_stats()
    two, *_, other = train(TWO, tell=lambda said: None, **how)
    flushes = gluonx.engine.stats()["flushes"]
    assert numpy.abs(numpy.array(one) - two).max() < 1e-5 < abs(one[0] - one[-1])
    assert "devices that do not record the same" not in flushes
    if "norm" in how:
        assert flushes["trainer.step"] == len(two) == 20
    for name, param in net.collect_params().items():
        for replica in other.collect_params()[name].list_data():
            assert replica.asnumpy() == pytest.approx(param.data().asnumpy(), rel=1e-4, abs=1e-5), name


ALIASES = {
    "gluon": gluonx.gluon,  # a package of its own, whose modules are gluonx's
    "gluon.nn": gluonx.nn,
    "gluon.loss": gluonx.loss,
    "gluon.metric": gluonx.metric,
    "gluon.data": gluonx.data,
    "gluon.utils": gluonx.utils,
    "gluon.parameter": gluonx.parameter,
    "init": gluonx.initializer,
    "context": gluonx.device,
    "numpy": gluonx.np,
    "numpy.random": gluonx.np.random,
    "numpy_extension": gluonx.npx,
    "base": gluonx.errors,
    "error": gluonx.errors,
}


@pytest.mark.parametrize("name", ALIASES)
def test_modules_lie_where_mxnet_has_them(name):
    """As an attribute, and in an import statement, and the same module both times."""
    found = gluonx
    for part in name.split("."):
        found = getattr(found, part)
    assert found is ALIASES[name]
    scope = {}
    exec(f"import gluonx.{name} as module", scope)
    assert scope["module"] is found


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("library", "gluonx.from_jax"),
        ("rtc", "Pallas"),
    ],
)
def test_what_is_absent_says_so(name, hint):
    with pytest.raises(AttributeError, match=rf"^module 'gluonx' has no attribute '{name}': .*{hint}"):
        getattr(gluonx, name)
    assert not hasattr(gluonx, name)
    with pytest.raises(ImportError, match=f"cannot import name '{name}'"):
        exec(f"from gluonx import {name}")
    with pytest.raises(ModuleNotFoundError, match=f"gluonx.{name}"):
        exec(f"import gluonx.{name}")


class TestUtil:
    def test_decorators_give_back_what_they_get(self):
        class Net(gluonx.nn.HybridBlock):
            pass

        for decorate in (gluonx.use_np, gluonx.util.use_np, gluonx.util.use_np_array, gluonx.util.use_np_shape):
            assert decorate(Net) is Net
            assert decorate(len) is len

    def test_scopes_change_nothing(self):
        for active in (True, False):
            with gluonx.util.np_array(active), gluonx.util.np_shape(active), gluonx.util.np_default_dtype(False):
                assert gluonx.util.is_np_array() and gluonx.util.is_np_shape()
        assert not gluonx.util.is_np_default_dtype()
        assert gluonx.util.set_np_shape(True) is True
        gluonx.util.set_np()
        gluonx.util.reset_np()

    def test_float64_by_default_may_be_chosen_at_any_time(self):
        assert gluonx.np.ones(2).dtype == "float32"
        with gluonx.util.np_default_dtype():
            assert gluonx.np.ones(2).dtype == "float64" and (gluonx.np.ones(2) / 3).dtype == "float64"
        assert gluonx.np.ones(2).dtype == "float32"

    def test_the_rest(self):
        assert gluonx.util.default_array([1, 2]).tolist() == [1.0, 2.0]
        assert gluonx.util.get_gpu_count() == gluonx.num_gpus()


def test_a_scheduler_may_be_any_callable():
    """A function of the number of updates has no base_lr that could be replaced."""
    optimizer = gluonx.optimizer.SGD(learning_rate=0.3, lr_scheduler=lambda num_update: 0.5 / (num_update + 1))
    assert optimizer.learning_rate == 0.5
