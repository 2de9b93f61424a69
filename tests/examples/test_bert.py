"""The example examples/bert_pretrain.py: it learns, in one program a step, and trains as MXNet 2.0 does."""

from __future__ import annotations

import json
import pathlib
from dataclasses import replace

import numpy as onp
import pytest

import gluonx
from examples import bert_pretrain as example
from gluonx import engine
from lib.golden import load_cases

cases = load_cases("bert")
LOSSES = json.loads((pathlib.Path(cases.__file__).with_name("losses.json")).read_text())
SMALL = example.Settings(units=32, hidden=64, layers=2, heads=4, length=8, batch=4, epochs=90, rate=0.01, dropout=0.0)


def text(words=10, rows=40):
    """Numbers of words, each one more than the last: easily learned."""
    rng = onp.random.default_rng(0)
    return ((rng.integers(0, words, (rows, 1)) + onp.arange(SMALL.length)) % words).astype("int32").ravel()


@pytest.mark.dear
@pytest.mark.parametrize("fused", [True, False])
def test_twenty_steps_as_mxnet(fused):
    """From the same weights, the losses of twenty steps of LAMB are MXNet 2.0's to 1e-4."""
    settings = replace(
        SMALL, units=cases.UNITS, hidden=cases.HIDDEN, layers=cases.LAYERS, heads=cases.HEADS, dropout=0.0
    )
    net = example.BERT(cases.WORDS, settings)
    net.initialize()
    net.hybridize()
    net(gluonx.np.zeros((1, cases.LENGTH), dtype="int32"))
    for name, param in net.collect_params(fused=False).items():
        if name != "output.weight":
            param.set_data(cases.value(name, param.shape))
    if not fused:
        net.unfuse()
    onp.testing.assert_allclose(cases.losses(gluonx, net), LOSSES, atol=1e-4)


@pytest.mark.dear
def test_it_learns_in_one_program_a_step(capsys):
    numbers = text()
    example.train(numbers, 10, replace(SMALL, epochs=1))
    engine.reset_stats()
    net, trail = example.train(numbers, 10, SMALL)
    counts = engine.stats()
    assert len(trail) == 90 * 10 and counts["programs_compiled"] <= 1  # a net made anew compiles anew
    assert counts["dispatches"] <= len(trail) + 10 + len(net.collect_params())
    assert onp.mean(trail[-50:]) < 0.4 * onp.mean(trail[:5])
    assert example.evaluate(net, numbers, 10, SMALL) < 2.5


def test_masks():
    seen, asked = example.masked(onp.full((100, 100), 3), 50, onp.random.default_rng(0))
    assert 0.13 < asked.mean() < 0.17 and set(onp.unique(asked)) == {0, 1}
    assert (seen[asked == 0] == 3).all()
    changed = seen[asked == 1]
    assert 0.77 < (changed == 50).mean() < 0.83 and 0.07 < (changed == 3).mean() < 0.13
