"""The example examples/ssd.py: its records, its measure, and that it learns."""

import numpy as onp
import pytest

from examples import ssd as example
from gluonx import engine, recordio


def test_the_records_are_those_of_the_iterator(tmp_path):
    example.make_records(tmp_path, images=9, held_out=3)
    with recordio.MXIndexedRecordIO(str(tmp_path / "train.idx"), str(tmp_path / "train.rec"), "r") as file:
        header, image = recordio.unpack_img(file.read_idx(4))
    assert len(file.keys) == 9 and image.shape == (example.SIZE, example.SIZE, 3)
    assert header.label[:2].tolist() == [2, 5] and len(header.label) % 5 == 2
    data = example.batches(tmp_path / "train.rec", 4, training=False)
    sizes = [(batch.data[0].shape, batch.label[0].shape[2], batch.pad) for batch in data]
    assert sizes == [((4, 3, 64, 64), 5, 0)] * 2 + [((4, 3, 64, 64), 5, 3)]


def test_mean_average_precision():
    box = [0.1, 0.1, 0.5, 0.5]
    other = [0.6, 0.6, 0.9, 0.9]
    true = [onp.array([[0, *box], [1, *other]]), onp.array([[0, *other]])]
    perfect = [onp.array([[0, 0.9, *box], [1, 0.8, *other]]), onp.array([[0, 0.7, *other]])]
    assert example.mean_average_precision(perfect, true) == 1.0
    nothing = [onp.zeros((0, 6))] * 2
    assert example.mean_average_precision(nothing, true) == 0.0
    # Class 0: right, then twice the same object, then the second one at precision 2/3; class 1 is missed.
    twice = [onp.array([[0, 0.9, *box], [0, 0.8, *box]]), onp.array([[0, 0.7, *other]])]
    onp.testing.assert_allclose(example.mean_average_precision(twice, true), ((1 + 2 / 3) / 2 + 0) / 2)
    # A more probable mistake halves the precision; a box that is too far off is a mistake.
    shifted = [onp.array([[0, 0.9, *box], [1, 0.6, *other], [1, 0.8, *(onp.array(other) - 0.2)]]), perfect[1]]
    onp.testing.assert_allclose(example.mean_average_precision(shifted, true), (1 + 1 / 2) / 2)


@pytest.mark.dear
def test_a_step_is_one_program(tmp_path, capsys):
    example.make_records(tmp_path, images=16, held_out=1)
    net = example.SSD(3, width=2)
    net.initialize()
    net.hybridize()
    engine.reset_stats()
    example.train(net, example.batches(tmp_path / "train.rec", 4, training=True), epochs=3)
    stats = engine.stats()
    assert stats["programs_compiled"] == 1 and stats["flushes"] == {"trainer.step": 12}
    assert capsys.readouterr().out.count("loss") == 3


@pytest.mark.slow
def test_it_learns(capsys):
    assert example.main(["--images", "512", "--epochs", "8"]) > 0.3
    assert capsys.readouterr().out.count("loss") == 8
