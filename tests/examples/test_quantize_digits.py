"""The example examples/quantize_digits.py: int8 keeps the accuracy, and is a quarter of the size."""

import pytest

from examples import quantize_digits as example


@pytest.mark.slow  # a net is trained, and six are compiled
def test_it_keeps_its_accuracy(capsys):
    pytest.importorskip("sklearn")
    pytest.importorskip("onnxruntime")
    assert example.main(["--epochs", "8", "--repeats", "1"]) == 0
    sizes = [
        float(line.split("size ")[1].split()[0]) for line in capsys.readouterr().out.splitlines() if "size" in line
    ]
    assert len(sizes) == 4 and max(sizes) < 0.3
