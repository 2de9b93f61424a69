"""Programs written for MXNet 1 run on gluonx.compat as they are, and print what MXNet 1.9.1 prints.

tests/ports_legacy holds the programs; expected.json there was made with MXNet 1.9.1 by
tests/oracle/ports_legacy/make_golden.py. Each sets its first weights from names or places, so losses agree.
"""

import json
import re

import pytest

import gluonx
from gluonx.compat.__main__ import main
from lib import TESTS

PORTS = TESTS / "ports_legacy"
EXPECTED = json.loads((PORTS / "expected.json").read_text(encoding="utf-8"))
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
QUICK = {"training", "word2vec", "seq2seq_1x", "book_np", "library_header", "modes"}
QUICK |= {"data_1x", "images_1x", "module_1x", "custom_1x", "kvstore_1x", "profiler_1x"}
QUICK |= {"symbols_idioms", "sparse_idioms", "loops_idioms", "int8_idioms"}
QUICK |= {"corners_training", "whole_numbers", "first_api", "seeded_numpy"}
# What gluonx says in other words: an element type's class, and MXNet's notice of an overwritten rate (a warning here).
OTHERWISE = ("<class 'numpy.float32'>", "float32"), ("HybridConcatenate", "HybridConcurrent")
NOTICE = "learning rate from ``lr_scheduler`` has been overwritten"


def told(lines):
    text = "\n".join(line for line in lines if not line.startswith(NOTICE))
    for theirs, ours in OTHERWISE:
        text = text.replace(theirs, ours)
    return text


def test_every_program_is_recorded():
    written = {path.stem for path in PORTS.glob("*.py")} - {"conftest"}
    assert sorted(EXPECTED) == sorted(written)


@pytest.mark.dear
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in sorted(EXPECTED)]
)
@pytest.mark.filterwarnings("ignore:The scheduler's base_lr:UserWarning")
@pytest.mark.filterwarnings("ignore:Parameters already initialized:UserWarning")  # as MXNet warns
@pytest.mark.filterwarnings("ignore:initialize\\(MyInit.*says how:UserWarning")  # what MXNet leaves unsaid
def test_program(name, capsys):
    assert "mxnet" in (PORTS / f"{name}.py").read_text(encoding="utf-8")
    assert main([str(PORTS / f"{name}.py")]) == 0
    printed, expected = told(capsys.readouterr().out.splitlines()), told(EXPECTED[name])
    assert ["".join(p.split()) for p in NUMBER.split(printed)] == ["".join(p.split()) for p in NUMBER.split(expected)]
    ours, theirs = [[float(n) for n in NUMBER.findall(text)] for text in (printed, expected)]
    # The detector's first two steps agree to 1e-5; then rounding turns single units of its ReLU on or off.
    assert ours == pytest.approx(theirs, rel=1e-3 if name == "ssd_1x" else 2e-4, abs=2e-5, nan_ok=True)
    assert not gluonx.compat.installed()
