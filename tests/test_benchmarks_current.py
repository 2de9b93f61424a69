"""Models of today, as benchmarks/zoo compares them: the sides begin with the same weights and do the same."""

import importlib.util

import numpy as np
import pytest

from benchmarks import generating, generating_sides
from benchmarks.zoo import report
from benchmarks.zoo.cases import CASES, CURRENT, data
from benchmarks.zoo.host import Measured, apart
from benchmarks.zoo.lines import lines_of
from lib import ROOT

SMALL = {
    "gpt": ((2, 8), 7, {"layers": 1, "units": 8, "hidden": 12, "heads": 4}),
    "vit_lora": ((4, 1, 8, 8), 3, {"layers": 1, "units": 8, "hidden": 12, "heads": 2, "rank": 2}),
    "diffusion": ((2, 1, 8, 8), 10, {"channels": 4}),
    "masked_packed": ((2, 16), 9, {"layers": 1, "units": 8, "hidden": 12, "heads": 2}),
    "graph": ((20, 4), 3, {"layers": 2, "units": 8, "degree": 3}),
}


@pytest.mark.dear
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n != "graph")) for n in CURRENT])
def test_the_sides_of_a_model_of_today_do_the_same(name, tmp_path):
    shape, classes, size = SMALL[name]
    case = CASES[name]._replace(shape=shape, classes=classes, rate=0.01, size=CASES[name].size | size)
    gluonx = importlib.import_module("benchmarks.zoo.current_gluon").make("gluonx", case, data(case), None, "float32")
    assert gluonx.save(tmp_path / "weights.npz") > 0
    weights = dict(np.load(tmp_path / "weights.npz"))
    own = [gluonx.number(gluonx.step()) for _ in range(4)]
    assert len(set(own)) == 4
    compared = 0
    for side, needs in (("nnx", "flax"), ("torches", "torch")):
        if importlib.util.find_spec(needs) is None:
            continue
        module = importlib.import_module(f"benchmarks.zoo.current_{side}")
        job = module.make(side, case, data(case), weights, "float32")
        assert apart(own, [job.number(job.step()) for _ in range(4)], "float32") < 0.02
        assert lines_of(module.WRITTEN[name]) > 20
        compared += 1
    if not compared:
        pytest.skip("neither Flax nor PyTorch is here")


def test_lines_are_those_of_code():
    assert lines_of([_three]) == 3


def _three(x):
    """Return two more.

    This is a docstring.
    """
    # a comment

    y = x + 1
    return y + 1


def test_lengths_are_a_table_of_their_own():
    found = {"gpt": Measured(lines={"gluonx": 15, "flax": 56}), "lenet": Measured(lines={"gluonx": 0})}
    _, table = report.lengths(found)
    assert table.splitlines()[2:] == ["| gpt | 15 | 56 |  |"]
    assert report.lengths({"lenet": found["lenet"]}) == []
    assert report.bounds_of(CASES["gpt"], "torch", "float32") == (None, None, None)


@pytest.mark.parametrize(
    ("column", "side", "needs"), [(1, "gluon", "gluonx"), (2, "nnx", "flax"), (3, "torches", "torch")]
)
def test_the_page_has_the_lines_that_there_are(column, side, needs):
    pytest.importorskip(needs)
    written = importlib.import_module(f"benchmarks.zoo.current_{side}").WRITTEN
    page = (ROOT / "docs/names.md").read_text().partition("## Five programs")[2]
    rows = [line.strip("|").split("|") for line in page.splitlines() if "](../examples/" in line]
    found = {row[0].partition("examples/")[2].partition(".py")[0]: int(row[column]) for row in rows}
    assert found == {name: lines_of(objects) for name, objects in written.items()}


@pytest.mark.dear
def test_all_sides_write_the_same_text(tmp_path):
    size = {
        "words": 11,
        "layers": 2,
        "units": 16,
        "hidden": 24,
        "heads": 4,
        "shared": 2,
        "batch": 2,
        "prompt": 3,
        "new": 6,
    }
    sides = [
        name
        for name, needs in (("gluonx", "jax"), ("jax", "jax"), ("torch", "torch"))
        if importlib.util.find_spec(needs)
    ]
    texts = [getattr(generating_sides, side)(str(tmp_path / "weights.npz"), size)() for side in sides]
    assert len(texts) >= 2 and all(text == texts[0] for text in texts)
    assert [len(row) for row in texts[0]] == [6, 6]


def test_the_table_of_generating_has_rates_and_ratios():
    wall = {"gluonx": [2.0, 2.0], "jax": [1.0, 1.0]}
    ours, by_hand = generating.lines(wall, {"gluonx": [1.0, 1.0], "jax": [1.0, 1.0]}, 10)
    assert ours == "| gluonx.generate | 5 | 10 |  |  |  |"
    assert by_hand == "| JAX by hand | 10 | 10 | 2.00 (2.00 to 2.00; cpu 1.00) | 1.1 | NO |"
