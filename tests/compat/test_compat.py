"""Programs written for MXNet, run unmodified: the import hook, names that are absent, and scripts of 1.x."""

import json
import logging
import re
import subprocess
import sys

import pytest

import gluonx
from gluonx import compat, np
from gluonx.compat.__main__ import main
from gluonx.compat.alias.absent import AbsentError
from gluonx.compat.alias.where import known_modules, known_names
from gluonx.compat.nd.ndarray import NDArray, uses_nd_arrays
from gluonx.compat.prefixes import Naming
from gluonx.errors import GluonxError
from gluonx.np.handle import ndarray
from lib import TESTS

SCRIPTS = TESTS / "ports_legacy"
AS_MXNET_WARNS = "ignore:Parameters already initialized:UserWarning"


@pytest.fixture
def mx():
    compat.install_as_mxnet()
    try:
        import mxnet

        yield mxnet
    finally:
        compat.uninstall()


def test_everything_that_the_issue_names_can_be_imported(mx):
    scope = {}
    exec(
        "import mxnet as mx\n"
        "from mxnet import gluon, nd, sym, np, npx, autograd, init, metric, lr_scheduler, image, io, recordio\n"
        "from mxnet import kvstore, random, context, base, util, test_utils, callback, name, attribute\n"
        "from mxnet.gluon import nn, rnn, loss, data, utils, model_zoo, contrib\n"
        "from mxnet.gluon.contrib import nn as cnn, rnn as crnn, estimator\n"
        "import mxnet.ndarray as F\n",
        scope,
    )
    assert scope["F"] is scope["nd"] is gluonx.nd
    assert mx.gluon.contrib.nn.HybridConcurrent is gluonx.nn.HybridConcatenate
    assert mx.__version__.startswith("2.0.0+")
    assert mx.cpu() == gluonx.cpu()
    assert mx.gluon.nn.Dense is gluonx.nn.Dense
    assert not hasattr(mx, "no_such_name")
    with pytest.raises(ImportError):
        exec("from mxnet.gluon import NoSuchThing")
    with pytest.raises(ModuleNotFoundError):
        exec("import mxnet.no_such_module")


def test_every_public_name_of_mxnet_is_there(mx):
    import importlib

    missing = []
    for module, names in known_names().items():
        home = importlib.import_module(module)
        missing += [f"{module}.{name}" for name in names if not hasattr(home, name)]
    assert not missing
    assert "mxnet.gluon.contrib" in known_modules()


def test_what_is_absent_raises_on_use_only(mx):
    from mxnet.contrib.quantization import quantize_graph
    from mxnet.executor import Executor

    assert "not in gluonx" in repr(Executor)
    assert not isinstance(3, Executor)
    with pytest.raises(
        AbsentError,
        match=r"mxnet.contrib.quantization.quantize_graph is not in gluonx: ",
    ):
        quantize_graph()

    class Mine(Executor):  # deriving is no use yet
        pass

    with pytest.raises(GluonxError, match=r"mxnet.executor.Executor is not in gluonx: call the symbol's bind"):
        Mine()
    for use in (lambda: Executor.thing, lambda: Executor[0], lambda: list(Executor)):
        with pytest.raises(NotImplementedError, match="is not in gluonx"):
            use()


def test_test_utils(mx):
    from mxnet.test_utils import almost_equal, assert_almost_equal, default_context, rand_ndarray, same

    x = rand_ndarray((2, 3))
    assert_almost_equal(x, x + 1e-6, rtol=1e-4)
    assert almost_equal(x.asnumpy(), x)
    assert same(x, x)
    assert default_context() == mx.cpu()
    with pytest.raises(AssertionError, match="x and y"):
        assert_almost_equal(x, x + 1, names=("x", "y"))


def test_arrays_follow_set_np(mx):
    assert type(mx.nd.ones((2,))) is NDArray
    assert type(np.ones(2)) is NDArray
    assert not mx.util.is_np_array()
    mx.npx.set_np()
    assert mx.npx.is_np_array()
    assert type(np.ones(2)) is ndarray
    assert not Naming.active
    mx.npx.reset_np()
    assert type(np.ones(2)) is NDArray


def test_uninstall_leaves_nothing():
    before = uses_nd_arrays(), Naming.active, list(sys.meta_path)
    real = sys.modules["mxnet"] = type(sys)("mxnet")
    try:
        compat.install_as_mxnet()
        compat.install_as_mxnet()
        import mxnet

        assert mxnet is not real
        assert compat.installed()
        compat.uninstall()
        compat.uninstall()
        assert sys.modules["mxnet"] is real
    finally:
        del sys.modules["mxnet"]
    assert (uses_nd_arrays(), Naming.active, sys.meta_path) == before
    assert not any(name.startswith("mxnet") for name in sys.modules)


def test_the_command_says_what_it_needs(capsys):
    assert main([]) == 2
    assert main(["-m"]) == 2
    assert main(["no_such_file.py"]) == 2
    assert "there is no file 'no_such_file.py'" in capsys.readouterr().err


@pytest.mark.dear
def test_a_script_gets_its_arguments(tmp_path):
    script = tmp_path / "show.py"
    (tmp_path / "beside.py").write_text("word = 'beside'\n")
    script.write_text("import sys, beside\nimport mxnet as mx\nprint(mx.nd.ones(2).sum(), sys.argv[1:], beside.word)\n")
    command = [sys.executable, "-m", "gluonx.compat", str(script), "--a", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["[2.]", "<NDArray", "1", "@cpu(0)>", "['--a',", "'1']", "beside"]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name for path in SCRIPTS.glob("*_1x.py")))
def test_scripts_of_mxnet_1_run_unmodified(name, tmp_path):
    arguments = ["--params", str(tmp_path / "net.params")] if name.startswith("ssd") else []
    command = [
        sys.executable,
        "-W",
        "error::UserWarning",
        "-W",
        AS_MXNET_WARNS,
        "-m",
        "gluonx.compat",
        str(SCRIPTS / name),
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "mxnet" in (SCRIPTS / name).read_text(encoding="utf-8")


PORTS = TESTS / "ports"
UNDER_THE_ALIAS = (
    "names_and_modes",
    "mlp_scratch",
    "parameters",
    "custom_layers",
    "accumulation",
    "evaluation",
    "lenet",
)


@pytest.mark.dear
@pytest.mark.parametrize("version", [[], ["--version", "2"]], ids=["version not told", "version 2"])
@pytest.mark.parametrize("name", UNDER_THE_ALIAS)
def test_programs_for_mxnet_2_run_unmodified(name, version, capsys):
    """Those of tests/ports, with no import line changed, print what MXNet 2.0 prints."""
    assert main([*version, str(PORTS / f"{name}.py")]) == 0
    number = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
    printed = capsys.readouterr().out
    expected = "\n".join(json.loads((PORTS / "expected.json").read_text(encoding="utf-8"))[name])
    assert ["".join(p.split()) for p in number.split(printed)] == ["".join(p.split()) for p in number.split(expected)]
    ours, theirs = [[float(n) for n in number.findall(text)] for text in (printed, expected)]
    assert ours == pytest.approx(theirs, rel=2e-3, abs=1e-4, nan_ok=True)


def test_the_version_is_that_which_the_program_is_said_to_be_written_for():
    for told, number in ((1, "1.9.1"), (2, "2.0.0"), (None, "2.0.0")):
        gluonx.compat.install_as_mxnet(version=told)
        try:
            import mxnet as mx

            assert mx.__version__.partition("+")[0] == mx.libinfo.__version__.partition("+")[0] == number
        finally:
            gluonx.compat.uninstall()


LOGS = """
import logging
logging.basicConfig(level=logging.DEBUG)
import mxnet as mx
net = mx.gluon.nn.Dense(2)
net.initialize()
net.hybridize()
net(mx.nd.ones((2, 3))).wait_to_read()
logging.debug("mine")
"""


@pytest.mark.dear
def test_a_program_that_logs_at_debug_sees_its_own_records(tmp_path):
    script = tmp_path / "logs.py"
    script.write_text(LOGS)
    command = [sys.executable, "-m", "gluonx.compat", "--version", "1", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "DEBUG:root:mine\n"


def test_a_level_that_was_chosen_for_jax_stays():
    logger = logging.getLogger("jax")
    before = logger.level
    try:
        for chosen in (logging.NOTSET, logging.DEBUG):
            logger.setLevel(chosen)
            compat.install_as_mxnet()
            assert logger.level == (chosen or logging.WARNING)
            compat.uninstall()
            assert logger.level == chosen
    finally:
        logger.setLevel(before)
