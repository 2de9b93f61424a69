"""``mx.contrib.text`` against MXNet 1.9.1 (tests/oracle/text), and ``mx.contrib.tensorboard``."""

import json
import sys
import types

import pytest

import gluonx as mx
from gluonx import compat, metric
from gluonx.compat.callback import BatchEndParam
from gluonx.compat.contrib import tensorboard, text
from gluonx.errors import FormatError
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("text")
GOLDEN = json.loads((TESTS / "oracle" / "text" / "golden.json").read_text())


def test_as_mxnet():
    found = json.loads(json.dumps(cases.run(text)))
    assert found == GOLDEN


def test_files(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text(cases.FILE)
    with pytest.warns(UserWarning, match=r"line 1: token '3' with 1 numbers|line 5: token 'a' has a vector already"):
        found = text.embedding.CustomEmbedding(path)
    assert found.vec_len == 3
    for wrong, told in (("a 1 2\nb 1 2 3\n", "line 2: 2 numbers"), ("a 1 x\n", "line 1: numbers"), ("", "no vector")):
        path.write_text(wrong)
        with pytest.raises(FormatError, match=told):
            text.embedding.CustomEmbedding(path)
    with pytest.raises(FileNotFoundError, match="nothing is fetched"):
        text.embedding.create("glove", embedding_root=tmp_path)
    with pytest.raises(KeyError, match=r"has no file 'v\.txt', but glove\.42B"):
        text.embedding.GloVe("v.txt")
    with pytest.raises(ValueError, match="'zz' is unknown"):
        found.update_token_vectors("zz", mx.np.ones(3))
    with pytest.raises(ValueError, match=r"\(1, 3\) were expected"):
        found.update_token_vectors("a", mx.np.ones(2))
    with pytest.raises(ValueError, match="no token 77"):
        found.to_tokens(77)
    with pytest.raises(ValueError, match="distinct"):
        text.vocab.Vocabulary(reserved_tokens=["a", "a"])
    assert {"fasttext", "glove"} <= set(text.embedding.get_pretrained_file_names())

    @text.embedding.register
    class Mine(text.embedding.CustomEmbedding):
        pass

    path.write_text("a 1 2\nb 3 4\n")
    mine = text.embedding.create("mine", pretrained_file_path=path)
    assert isinstance(mine, Mine) and mine.get_vecs_by_tokens("b").asnumpy().tolist() == [3, 4]
    assert text.embedding.get_pretrained_file_names("mine") == []


@pytest.mark.parametrize(("kind", "name"), [("glove", "glove.6B.50d.txt"), ("fasttext", "wiki.simple.vec")])
def test_vectors_that_lie_where_mxnet_puts_them(kind, name, tmp_path):
    (tmp_path / kind).mkdir()
    (tmp_path / kind / name).write_text("the 0.5 1.5\ncat 1 2\n")
    vocabulary = text.vocab.Vocabulary(text.utils.count_tokens_from_str("cat dog"))
    whole = text.embedding.create(kind, pretrained_file_name=name, embedding_root=tmp_path)
    part = text.embedding.create(kind, pretrained_file_name=name, embedding_root=tmp_path, vocabulary=vocabulary)
    assert (len(whole), whole.vec_len, len(part)) == (3, 2, 3)
    for found in (whole, part):
        assert found.get_vecs_by_tokens(["cat", "dog"]).asnumpy().tolist() == [[1, 2], [0, 0]]


def test_tensorboard(monkeypatch):
    written = []

    class SummaryWriter:
        def __init__(self, folder):
            self.folder = folder

        def add_scalar(self, *args):
            written.append((self.folder, *args))

    monkeypatch.setitem(sys.modules, "mxboard", types.SimpleNamespace(SummaryWriter=SummaryWriter))
    told, accuracy = tensorboard.LogMetricsCallback("runs", "train"), metric.MAE()
    accuracy.update(mx.np.zeros((2, 1)), mx.np.ones((2, 1)))
    for _ in range(2):
        told(BatchEndParam(0, 0, accuracy))
    assert written == [("runs", "train-mae", 1.0, 1), ("runs", "train-mae", 1.0, 2)]
    for name in tensorboard._WRITERS:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="mxboard, tensorboardX"):
        tensorboard.LogMetricsCallback("runs")


def test_names():
    compat.install_as_mxnet()
    try:
        from mxnet.contrib.tensorboard import LogMetricsCallback
        from mxnet.contrib.text import embedding
        from mxnet.contrib.text.vocab import Vocabulary

        assert LogMetricsCallback is tensorboard.LogMetricsCallback and Vocabulary is text.vocab.Vocabulary
        assert embedding.CustomEmbedding is text.embedding.CustomEmbedding
    finally:
        compat.uninstall()
