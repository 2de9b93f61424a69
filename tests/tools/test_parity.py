"""MXNet's public names: ``docs/parity.md`` is true, and no name that was here vanishes without a reason."""

import functools
import re

import pytest

from gluonx.common.absent import ABSENT
from tools import parity
from tools.parity import inventory, reasons
from tools.parity.__main__ import main
from tools.parity.signatures import difference, parse

MODULES = list(parity.load())
# What a model and its training loop are written with: here every name is present, or has a reason.
WHOLE = [
    "mxnet", "mxnet.autograd", "mxnet.callback", "mxnet.context", "mxnet.device", "mxnet.engine", "mxnet.gluon.loss",
    "mxnet.gluon.metric", "mxnet.gluon.parameter", "mxnet.gluon.trainer", "mxnet.gluon.utils", "mxnet.initializer",
    "mxnet.lr_scheduler", "mxnet.np", "mxnet.np.linalg", "mxnet.np.random", "mxnet.npx.random", "mxnet.optimizer",
    "mxnet.random", "mxnet.runtime", "mxnet.util",
]  # fmt: skip


@functools.cache
def every_row():
    return [row for module in MODULES for row in parity.rows(module)]


def test_the_page_names_every_module():
    page = parity.page()
    assert not [module for module in MODULES if f"| `{module}` |" not in page]


@pytest.mark.parametrize("module", WHOLE)
def test_nothing_is_missing_without_a_reason(module):
    assert not [row.name for row in parity.rows(module) if not row.present and not row.reason]


def test_other_signatures_have_a_reason():
    assert not [f"{row.module}.{row.name}: {row.differs}" for row in every_row() if row.differs and not row.why]


@pytest.mark.parametrize("module", ["mxnet.gluon.nn", "mxnet.gluon.loss", "mxnet.gluon.metric", "mxnet.optimizer",
                                    "mxnet.initializer", "mxnet.lr_scheduler", "mxnet.np", "mxnet.np.linalg",
                                    "mxnet.np.random", "mxnet.npx", "mxnet.npx.image", "mxnet.npx.random"])  # fmt: skip
def test_every_name_has_a_row_in_the_tables(module):
    lacking = {row.name for row in parity.rows(module) if row.present and not row.contract and "." not in row.name}
    assert lacking <= NOT_IN_TABLES.get(module, set())


@pytest.mark.parametrize(
    ("module", "name"),
    [("mxnet.gluon.nn", "PixelShuffle3D"), ("mxnet.gluon.loss", "SDMLLoss"), ("mxnet.gluon.metric", "PCC"),
     ("mxnet.optimizer", "FTML"), ("mxnet.initializer", "MSRAPrelu"), ("mxnet.lr_scheduler", "PolyScheduler"),
     ("mxnet.np.linalg", "tensorinv"), ("mxnet.npx", "box_decode")],
)  # fmt: skip
def test_a_row_that_goes_is_missed(module, name, monkeypatch):
    """Nothing else in the tables, no pattern above all, passes for a row of this name."""
    mentioned = inventory._mentioned
    monkeypatch.setattr(inventory, "_mentioned", lambda path: mentioned(path) - {name, name.lower()})
    inventory.tables.cache_clear()
    try:
        assert next(row for row in parity.rows(module) if row.name == name).contract is False
    finally:
        inventory.tables.cache_clear()


NOT_IN_TABLES = {  # bases, registries and what is told apart from its class by its own tests
    "mxnet.gluon.nn": {"Block", "HybridBlock", "SymbolBlock"},
    "mxnet.gluon.loss": {"Loss"},
    "mxnet.gluon.metric": {"EvalMetric", "CompositeEvalMetric", "CustomMetric", "create", "check_label_shapes",
                           "check_label_shape", "predict_with_threshold", "one_hot", "register", "Torch", "np"},
    "mxnet.optimizer": {"Optimizer", "Updater", "create", "register", "get_updater", "SGLD", "Test"},
    "mxnet.initializer": {"Initializer", "InitDesc", "Load", "Mixed", "RNNFused", "create", "register"},
    "mxnet.lr_scheduler": {"LRScheduler"},
    "mxnet.np": {"from_dlpack", "set_printoptions"},
    "mxnet.npx": {"cpu_pinned", "get_cuda_compute_capability", "gpu", "gpu_memory_info", "intgemm_prepare_weight",
                  "intgemm_take_weight", "set_np_default_dtype"},
    "mxnet.npx.random": {"normal_n", "uniform_n"},
}  # fmt: skip


def test_no_reason_is_out_of_date():
    """A name that has come needs no reason any more, nor does a signature that agrees."""
    absent = {f"{row.module}.{row.name}" for row in every_row() if not row.present}
    said = {name for name, (why, _) in ABSENT.items() if why and name not in MODULES}
    assert said <= absent, sorted(said - absent)
    assert set(reasons.DIFFERENT) <= {
        f"{row.module}.{row.name}" for row in every_row() if row.differs or not row.present
    }


@pytest.mark.parametrize(
    ("theirs", "ours", "said"),
    [
        ("(x, axis=-1)", "(x, axis=-1, out=None)", ""),
        ("(x, axis=-1)", "(x, out=None, axis=-1)", "parameter 2 is 'out'"),
        ("(x, axis=-1)", "(x, axis=0)", "'axis' is 0 by default"),
        ("(x, axis=-1)", "(x)", "has no 'axis'"),
        ("(x, *, axis=-1)", "(x, axis=-1)", ""),
        ("(x, axis=-1)", "(x, *, axis=-1)", "'axis' is not taken by position"),
        ("(x)", "(x, y)", "'y' is required"),
        ("(*args, **kwargs)", "(x, y=1)", ""),
        ("(*args)", "(*arrays, out=None)", ""),
        ("(data=None, alpha=_Null, out=None, name=None, **kwargs)", "(data, alpha=0.5, *, out=None)", ""),
        ("(x, dtype='float32')", "(x, dtype=dtype('float32'))", ""),
        ("(x, shape=(1, 1), s='a, b')", "(x, shape=(1, 1), s='a, b')", ""),
        ("(x, init=<mxnet.initializer.Uniform object>)", "(x, init=<gluonx.initializer.Uniform object>)", ""),
        ("(x, keepdims=None)", "(x, keepdims=False)", ""),
    ],
)
def test_what_counts_as_the_same_signature(theirs, ours, said):
    found = difference(parse(theirs), parse(ours))
    assert found.startswith(said) and bool(found) == bool(said)


def test_command_line(capsys):
    assert main(["mxnet.engine"]) == 0
    assert "mxnet.engine.bulk: same signature" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["mxnet.bogus"])
    assert "MXNet has no module mxnet.bogus" in capsys.readouterr().err
    assert main([]) == 0
    assert re.search(r"\| `mxnet.np` \| 334 \|", capsys.readouterr().out)
