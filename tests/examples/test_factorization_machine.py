"""The example examples/factorization_machine.py learns from csr batches, and soon recompiles nothing."""

import pytest

from examples import factorization_machine as fm
from gluonx import autograd, engine, sparse


@pytest.mark.dear
def test_it_learns_what_a_linear_model_cannot(tmp_path):
    path, held = fm.make_data(tmp_path, 4000)
    batch = next(fm.read(path))
    assert isinstance(batch.data[0], sparse.CSRNDArray) and batch.data[0].data.shape == (3 * fm.BATCH,)
    net = fm.FactorizationMachine(fm.FEATURES, 4)
    fm.train(net, path, 3)
    before = engine.stats()["programs_compiled"]
    trail = fm.train_on(net, path, 12)
    assert engine.stats()["programs_compiled"] == before
    assert trail[-1] < trail[0] and trail[-1] < 0.3
    assert fm.accuracy(net, held) > 0.8
    with autograd.record():
        net(batch.data[0]).sum().backward()
    assert net.factors.grad().stype == net.weight.grad().stype == "row_sparse"


@pytest.mark.dear
def test_the_program_tells_its_accuracy(capsys):
    assert fm.main(["--epochs", "1", "--rows", "1000"]) == 0
    out = capsys.readouterr().out
    assert "accuracy on rows held out" in out and float(out.split()[-1]) > 0.3


def test_a_score_is_the_sum_over_pairs():
    net = fm.FactorizationMachine(5, 2)
    net.initialize(init="normal")
    x = sparse.csr_matrix(([1, 2, 3], [0, 2, 4], [0, 3]), shape=(1, 5))
    v, values = net.factors.data().asnumpy(), {0: 1, 2: 2, 4: 3}
    pairs = [(i, j) for i in values for j in values if i < j]
    wanted = sum(values[i] * values[j] * (v[i] * v[j]).sum() for i, j in pairs)
    wanted += sum(n * net.weight.data().asnumpy()[i, 0] for i, n in values.items())
    assert net(x).item() == pytest.approx(float(wanted + net.bias.data().item()), rel=1e-4, abs=1e-6)
