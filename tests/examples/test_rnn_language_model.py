"""The example examples/word_language_model.py: it learns, resumes exactly, and trains as MXNet 2.0 does."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace

import numpy as onp
import pytest

import gluonx
from examples import word_language_model as example
from gluonx import engine
from lib import TESTS

HERE = TESTS / "oracle" / "rnn"
LOSSES = json.loads((HERE / "lm_losses.json").read_text())
_spec = importlib.util.spec_from_file_location("lm_cases", HERE / "lm_cases.py")
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)

SMALL = example.Settings(size=16, layers=2, dropout=0.2, batch=8, bptt=8, epochs=3, rate=1e-2)


@pytest.fixture(scope="module")
def corpus():
    return example.read_corpus(vocabulary=60, limit=1500)


def test_the_corpus_is_text(corpus):
    assert corpus.words[0] == "<rare>" and "the" in corpus.words and len(corpus.words) == 60
    assert len(corpus.training) == 1350 and len(corpus.held_out) == 150
    (words, following), *_ = example.pieces(corpus.training, 8, 5)
    onp.testing.assert_array_equal(words[1:], following[:-1])
    onp.testing.assert_array_equal(words[:, 0], corpus.training[:5])


@pytest.mark.dear
@pytest.mark.parametrize("hybridize", [True, False])
@pytest.mark.parametrize("optimizer", sorted(LOSSES))
def test_twenty_steps_as_mxnet(optimizer, hybridize):
    """From the same weights, the losses of twenty steps are MXNet 2.0's to 1e-4."""
    net = example.LanguageModel(cases.WORDS, cases.SIZE, cases.LAYERS)
    net.initialize()
    net(gluonx.np.zeros((1, cases.BATCH), dtype="int32"), net.begin_state(cases.BATCH))
    for name, param in sorted(net.collect_params().items()):
        param.set_data(cases.value(name, param.shape))
    if hybridize:
        net.hybridize()
    found = cases.losses(gluonx, net, optimizer)
    onp.testing.assert_allclose(found, LOSSES[optimizer], atol=1e-4)


@pytest.mark.dear
def test_each_step_is_one_program(corpus):
    net, trainer = example.make(corpus, SMALL)
    for _ in range(2):  # the first step of an epoch has no states to let go of: a program of its own
        example.train_epoch(net, trainer, corpus, SMALL)
    before = engine.stats()
    _, losses = example.train_epoch(net, trainer, corpus, SMALL)
    after = engine.stats()
    assert after["programs_compiled"] == before["programs_compiled"], engine.explain()
    # The two states before the first word are made at once.
    assert after["dispatches"] - before["dispatches"] <= len(losses) + 2
    assert list(net.collect_params()) == ["embedding.weight", "rnn.rnn_param", "output.weight", "output.bias"]


@pytest.mark.dear
def test_it_learns_and_resumes_exactly(corpus, tmp_path, capsys):
    """A run cut after two epochs goes on to the very numbers of an uninterrupted one."""
    whole, trail = example.train(corpus, SMALL)
    assert onp.mean(trail[-15:]) < 0.85 * onp.mean(trail[:5])
    first = replace(SMALL, epochs=SMALL.epochs)
    net, trainer = example.make(corpus, first)
    cut: list[float] = []
    for epoch in range(2):
        gluonx.random.seed(first.seed + 1 + epoch)
        trainer.set_learning_rate(first.rate * min(1.0, 2 * (1 - epoch / first.epochs)))
        cut += [float(loss) for loss in example.train_epoch(net, trainer, corpus, first)[1]]
        example.save(tmp_path, net, trainer, epoch + 1)
    again, rest = example.train(corpus, SMALL, tmp_path)
    assert cut + rest == trail
    for name, param in whole.collect_params().items():
        onp.testing.assert_array_equal(again.collect_params()[name].data().asnumpy(), param.data().asnumpy(), name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["epoch-0001", "epoch-0002", "epoch-0003"]
    assert "perplexity" in capsys.readouterr().out
    assert example.evaluate(again, corpus.held_out, SMALL) < 60


@pytest.mark.slow
def test_the_real_run(capsys, monkeypatch):
    """On the whole text the perplexity falls below the stated bound."""
    monkeypatch.setattr(engine, "tune", lambda: None)  # it is for the whole process, which has other tests to run
    assert example.main([]) == 0
    assert "perplexity on the held-out text" in capsys.readouterr().out
