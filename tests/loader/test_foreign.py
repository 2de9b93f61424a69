"""Loaders of other libraries, with the real packages where they are installed; packed rows, batches by length."""

import numpy
import pytest

import gluonx as mx
from gluonx import autograd, data, engine, estimator, loss, metric, nn, np, random
from gluonx.data import batchify
from gluonx.errors import ArgumentError

X = numpy.random.RandomState(0).randn(20, 3).astype("float32")
Y = numpy.arange(20) % 4


def check(loader, dtype="int64"):
    """Two epochs: the arrays are all of the data set's, on the device, in their types."""
    for _ in range(2):
        batches = list(loader)
        assert all(isinstance(part, mx.np.ndarray) for batch in batches for part in batch)
        x, y = (numpy.concatenate([batch[i].asnumpy() for batch in batches]) for i in (0, 1))
        order = numpy.argsort(x[:, 0])
        numpy.testing.assert_array_equal(x[order], X[numpy.argsort(X[:, 0])])
        numpy.testing.assert_array_equal(y[order], Y[numpy.argsort(X[:, 0])])
        assert x.dtype == "float32" and y.dtype == dtype and len(batches) == 4


def trains(loader):
    """A training on it is one program a step."""
    net = nn.Dense(4, in_units=3)
    net.initialize()
    trainer = mx.Trainer(net.collect_params(), "sgd")
    counts = []
    for _ in range(3):
        for x, y in loader:
            with autograd.record():
                value = loss.SoftmaxCrossEntropyLoss()(net(x), y)
            value.backward()
            trainer.step(5)
            counts.append(engine.stats()["dispatches"])
    assert set(numpy.diff(counts[-5:])) == {1}


def test_a_loader_of_pytorch():
    torch = pytest.importorskip("torch")
    pairs = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    loader = data.Prefetched(torch.utils.data.DataLoader(pairs, batch_size=5, shuffle=True))
    check(loader)
    trains(loader)
    assert len(loader) == 4


def test_a_loader_of_grain():
    grain = pytest.importorskip("grain.python")
    source = grain.MapDataset.source(list(zip(X, Y))).shuffle(seed=0).batch(5)
    loader = data.Prefetched(source.to_iter_dataset())
    check(loader)
    trains(loader)


@pytest.mark.filterwarnings("default")
def test_a_dataset_of_hugging_face():
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_dict({"x": X, "y": Y}).with_format("numpy")
    loader = data.Prefetched(table.iter(batch_size=5))
    batches = [(batch["x"], batch["y"]) for batch in loader]
    numpy.testing.assert_array_equal(numpy.concatenate([x.asnumpy() for x, _ in batches]), X)
    assert [y.dtype for _, y in batches] == ["int64"] * 4
    own = data.DataLoader(table, batch_size=5)  # it has __getitem__ and __len__
    numpy.testing.assert_array_equal(numpy.concatenate([batch["x"].asnumpy() for batch in own]), X)


@pytest.mark.filterwarnings("default")
def test_a_dataset_of_tensorflow():
    tensorflow = pytest.importorskip("tensorflow")
    loader = data.Prefetched(tensorflow.data.Dataset.from_tensor_slices((X, Y)).shuffle(20).batch(5))
    check(loader)
    trains(loader)


@pytest.mark.parametrize("size", [0, 1, 2, 9])
def test_batches_are_on_the_device_ahead(size):
    taken = []

    def batches():
        for i in range(6):
            taken.append(i)
            yield X[i : i + 2], {"y": Y[i], "name": "a", "more": [None, 1.5]}

    for i, (x, rest) in enumerate(data.Prefetched(batches(), size)):
        assert len(taken) == min(6, i + 1 + size)
        numpy.testing.assert_array_equal(x.asnumpy(), X[i : i + 2])
        assert int(rest["y"]) == Y[i] and rest["name"] == "a" and rest["more"][0] is None
        assert rest["more"][1].dtype == "float32"
    with pytest.raises(ArgumentError, match="must not be negative"):
        data.Prefetched([], -1)
    with pytest.raises(TypeError):
        len(data.Prefetched(batches()))


def test_a_batch_that_its_loader_writes_over_is_kept():
    def batches():
        array = numpy.zeros(3, "float32")
        for i in range(4):
            array[:] = i
            yield array

    assert [x.tolist() for x in data.Prefetched(batches())] == [[float(i)] * 3 for i in range(4)]


@pytest.mark.dear
def test_the_estimator_takes_it():
    net = nn.Dense(4, in_units=3)
    net.initialize()
    trainer = mx.Trainer(net.collect_params(), "sgd")
    batches = [(X[i : i + 5], Y[i : i + 5]) for i in range(0, 20, 5)]
    fitter = estimator.Estimator(net, loss.SoftmaxCrossEntropyLoss(), metric.Accuracy(), trainer=trainer)
    fitter.logger.handlers.clear()
    fitter.fit(data.Prefetched(batches), epochs=2)
    assert fitter.progress.batch == 8
    with pytest.raises(ValueError, match=r"within gluon.data.Prefetched\(...\), got list"):
        fitter.fit(batches, epochs=1)


def test_batches_of_similar_lengths():
    lengths = numpy.random.RandomState(0).randint(1, 33, 101)
    sampler = data.LengthSampler(lengths, 8, sizes=[8, 16, 32])
    random.seed(0)
    first, second = list(sampler), list(sampler)
    assert sorted(i for batch in first for i in batch) == list(range(101)) and first != second
    assert len(first) == len(sampler)
    for batch in first:
        assert len({int(numpy.searchsorted([8, 16, 32], lengths[i])) for i in batch}) == 1
    texts = [numpy.full(n, 1, "int32") for n in lengths]
    loader = data.DataLoader(texts, batch_sampler=sampler, batchify_fn=batchify.PadToBucket({0: [8, 16, 32]}))
    shapes = {batch[0].shape if isinstance(batch, (list, tuple)) else batch.shape for batch in loader}
    assert {shape[1] for shape in shapes} == {8, 16, 32}
    with pytest.raises(ValueError, match="sample 0 has the length 9"):
        data.LengthSampler([9], 2, [8])


def test_packed_rows_hold_each_text_once():
    rng = numpy.random.RandomState(1)
    texts = [rng.randint(1, 50, n).tolist() for n in rng.randint(0, 11, 200)]
    found = data.pack(texts, 16)
    back = []
    for tokens, segments, positions in zip(*found):
        for number in range(1, segments.max() + 1):
            place = segments == number
            assert positions[place].tolist() == list(range(place.sum()))
            back.append(tokens[place].tolist())
    assert sorted(back) == sorted(text for text in texts if text)
    assert (found.tokens[found.segments == 0] == 0).all()
    assert (found.segments > 0).mean() > 0.97
    cut = data.pack([list(range(1, 11))], 4, val=-1, split=True)
    assert cut.tokens.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, -1, -1]]
    assert data.pack([], 4).tokens.shape == (0, 4)
    with pytest.raises(ArgumentError, match="longer than a row of 4"):
        data.pack([[1] * 5], 4)
    with pytest.raises(ArgumentError, match="at least 1"):
        data.pack([], 0)


@pytest.mark.dear
def test_a_net_sees_in_packed_rows_what_it_sees_in_each_text():
    from gluonx.model_zoo.transformers import BERT

    random.seed(0)
    net = BERT(20, 2, 8, 16, 2, max_length=8, dropout=0.0)
    net.initialize(init=mx.initializer.Normal(0.5))
    decoder = nn.CausalDecoder(20, 2, 8, 16, 2)
    decoder.initialize(init=mx.initializer.Normal(0.5))
    texts = [[3, 4, 5], [6, 7], [8, 9, 1, 2]]
    tokens, segments, positions = (np.array(part, dtype="int32") for part in data.pack(texts, 6))
    mask = nn.gen_packed_attn_mask(segments)
    packed, _ = net(tokens, None, None, mask, positions)
    causal = decoder(tokens, mask)
    rows = {tuple(t): (r, s) for r, row in enumerate(tokens.asnumpy()) for s in (1, 2) for t in texts
            if row[segments.asnumpy()[r] == s].tolist() == t}  # fmt: skip
    assert len(rows) == 3
    for text, (row, number) in rows.items():
        place = segments.asnumpy()[row] == number
        alone = np.array([text], dtype="int32")
        numpy.testing.assert_allclose(packed.asnumpy()[row][place], net(alone)[0].asnumpy()[0], rtol=1e-4, atol=1e-5)
        numpy.testing.assert_allclose(causal.asnumpy()[row][place], decoder(alone).asnumpy()[0], rtol=1e-4, atol=1e-5)


IMAGES = [(numpy.full((2, 6, 8), i, "float32"), i) for i in range(4)]


@pytest.mark.parametrize("mixing", [batchify.MixUp(4, 1.0), batchify.CutMix(4)], ids=["mixup", "cutmix"])
def test_labels_are_the_shares_of_the_images(mixing):
    random.seed(3)
    mixed = 0
    for _ in range(20):
        images, labels = (part.asnumpy() for part in mixing(IMAGES))
        assert images.dtype == labels.dtype == "float32"
        numpy.testing.assert_allclose(labels.sum(1), 1, rtol=1e-6)
        # Images are of one colour, the number of their class: the mean colour is that of the label.
        numpy.testing.assert_allclose(images.mean((1, 2, 3)), labels @ numpy.arange(4), atol=1e-5)
        mixed += int((labels.max(1) < 0.99).sum())
        if isinstance(mixing, batchify.CutMix):
            assert (images == images.round()).all()
    assert mixed > 20
    loader = data.DataLoader(data.SimpleDataset(IMAGES), 2, batchify_fn=mixing, num_workers=2, thread_pool=True)
    soft = loss.SoftmaxCrossEntropyLoss(sparse_label=False)
    assert [soft(np.ones((2, 4)), labels).shape for _, labels in loader] == [(2,), (2,)]


def test_mixing_says_what_it_takes():
    with pytest.raises(ArgumentError, match="alpha above 0"):
        batchify.MixUp(3, 0.0)
    with pytest.raises(ArgumentError, match="number of its class, below 3"):
        batchify.CutMix(3)(IMAGES)
    whole = batchify.MixUp(4)([(numpy.zeros((2, 2), "uint8"), 1), (numpy.ones((2, 2), "uint8"), 1)])
    assert whole[0].dtype == "float32" and whole[1].tolist() == [[0, 1, 0, 0]] * 2


@pytest.mark.parametrize("from_logits", [False, True])
def test_smoothed_labels_are_distributions(from_logits):
    rng = numpy.random.RandomState(0)
    pred, label = rng.randn(5, 3, 4).astype("float32"), rng.randint(0, 4, (5, 3))
    if from_logits:
        pred = pred - numpy.log(numpy.exp(pred).sum(-1, keepdims=True))
    shares = 0.9 * numpy.eye(4, dtype="float32")[label] + 0.1 / 4
    pred, index = np.array(pred), np.array(label, dtype="int32")
    made = {"from_logits": from_logits}
    wanted = loss.SoftmaxCrossEntropyLoss(sparse_label=False, **made)(pred, np.array(shares)).asnumpy()
    for sparse in (True, False):
        given = index if sparse else np.array(numpy.eye(4)[label])
        smooth = loss.SoftmaxCrossEntropyLoss(sparse_label=sparse, label_smoothing=0.1, **made)
        numpy.testing.assert_allclose(smooth(pred, given).asnumpy(), wanted, rtol=1e-5)
    with pytest.raises(ArgumentError, match="label_smoothing must be"):
        loss.SoftmaxCrossEntropyLoss(label_smoothing=1.0)


class Endless:
    """A loader that cannot say how many batches it has, as Grain's that reads ahead."""

    def __iter__(self):
        return iter([(X[:10], Y[:10]), (X[10:], Y[10:])])


def fit(loader, **options):
    net = nn.Dense(4)
    net.initialize()
    trainer = mx.Trainer(net.collect_params(), "sgd")
    fitter = estimator.Estimator(net, loss.SoftmaxCrossEntropyLoss(), trainer=trainer, **options)
    fitter.logger.disabled = True
    fitter.fit(loader, epochs=2)
    return fitter


@pytest.mark.dear
def test_the_estimator_takes_a_loader_that_has_no_length():
    fitter = fit(data.Prefetched(Endless()))
    assert fitter.progress.batch == 4 and fitter.batches_per_epoch is None


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ({"x": X, "y": Y}, r"got a dict with the keys 'x', 'y'\. .*_get_data_and_label"),
        (X, "got a ndarray"),  # its first two rows are no data and labels
        ((X,), "got a tuple"),
    ],
)
def test_a_batch_of_another_form_is_refused_by_the_estimator(batch, said):
    with pytest.raises(ArgumentError, match=said):
        fit(data.Prefetched([batch]))


@pytest.mark.dear
def test_a_dict_is_trained_on_by_what_the_error_says():
    class Pairs(estimator.BatchProcessor):
        def _get_data_and_label(self, batch, device, axis=0):
            return [batch["x"]], [batch["y"]]

    fitter = fit(data.Prefetched([{"x": X, "y": Y}]), batch_processor=Pairs())
    assert fitter.progress.batch == 2


def test_prefetched_says_what_it_takes():
    for wrong in (3, None):
        with pytest.raises(ArgumentError, match="takes an iterable of batches"):
            data.Prefetched(wrong)
    for size in (-1, 1.5, "2"):
        with pytest.raises(ArgumentError, match="size must be a whole number, and must not be negative"):
            data.Prefetched([], size)
