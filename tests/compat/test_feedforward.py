"""``mx.model.FeedForward`` under gluonx.compat, against MXNet 1.9.1."""

import json

import jax
import numpy
import pytest

from gluonx import compat
from lib import TESTS
from lib.golden import load_cases

GOLDEN = json.loads((TESTS / "oracle" / "feedforward" / "golden.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def cases():
    compat.install_as_mxnet()
    try:
        yield load_cases("feedforward")
    finally:
        compat.uninstall()


@pytest.mark.dear
def test_as_mxnet(cases):
    found = json.loads(json.dumps(cases.run(), default=float))
    assert found.keys() == GOLDEN.keys()
    for key in ("seen", "ends", "returned"):
        assert found[key] == GOLDEN[key]
    mine, wanted = (jax.tree.leaves_with_path({k: v for k, v in run.items() if k != "seen"}) for run in (found, GOLDEN))
    assert [path for path, _ in mine] == [path for path, _ in wanted]
    numpy.testing.assert_allclose([x for _, x in mine], [x for _, x in wanted], rtol=1e-4, atol=2e-6)


@pytest.mark.dear
def test_arrays(cases):
    mx, model = cases.mx, cases.mx.model.FeedForward
    trained = model.create(
        cases.network(), cases.DATA, cases.LABEL, num_epoch=30, learning_rate=0.5, numpy_batch_size=10,
        eval_data=(cases.DATA, cases.LABEL),
    )  # fmt: skip
    assert trained.score(cases.batches()) > 0.9
    found = trained.predict(cases.DATA[:13])
    assert isinstance(found, numpy.ndarray)
    assert found.shape == (13, 2)
    graph = cases.network()
    both = mx.sym.Group([graph, graph.get_internals()["fc1_output"]])
    outs = model(both, arg_params=trained.arg_params, aux_params=trained.aux_params).predict(cases.DATA)
    assert [out.shape for out in outs] == [(32, 2), (32, 8)]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda new, c: new(num_epoch=1).fit(c.DATA), "y must be given where X is an array"),
        (lambda new, c: new(num_epoch=1).fit(c.DATA, c.LABEL[:3]), "32 rows of X and 3 of y"),
        (lambda new, c: new().fit(c.DATA, c.LABEL), "num_epoch must say"),
        (lambda new, c: new().predict(c.DATA), "there are no parameters"),
        (lambda new, c: new().save("x"), "which epoch"),
        (lambda new, c: new(arg_params={"zz": 1}), "the symbol has no 'zz'"),
    ],
    ids=range(6),
)
def test_what_is_wrong_is_told(cases, ask, message):
    with pytest.raises(ValueError, match=message):
        ask(lambda **kwargs: cases.mx.model.FeedForward(cases.network(), **kwargs), cases)
