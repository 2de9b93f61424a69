"""The example examples/cifar10.py learns, and reads what it makes by the real loading code."""

import pytest

from examples import cifar10 as example
from gluonx.errors import FormatError


def test_the_files_have_the_real_format(tmp_path):
    example.make_files(tmp_path, images=3)
    assert {path.stat().st_size for path in tmp_path.iterdir()} == {3 * 3073} and len(list(tmp_path.iterdir())) == 6
    data = example.MadeCIFAR10(tmp_path)
    image, label = data[7]
    assert len(data) == 15 and image.shape == (32, 32, 3) and image.dtype == "uint8" and 0 <= label < 10
    with pytest.raises(FormatError, match=r"data_batch_1\.bin is damaged, or another file"):
        example.CIFAR10(tmp_path)


@pytest.mark.dear
def test_it_learns(capsys):
    accuracy = example.main(["--images", "64", "--epochs", "3", "--batch", "32", "--width", "8", "--workers", "0"])
    assert accuracy > 0.3
    assert capsys.readouterr().out.count("images/s") == 3
