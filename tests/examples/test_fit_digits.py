"""The example examples/fit_digits.py: it learns, and goes on from a checkpoint to the same bits."""

import pytest

from examples import fit_digits as example


@pytest.mark.slow  # three nets are compiled
def test_it_learns_and_resumes(tmp_path):
    pytest.importorskip("sklearn")
    whole = example.fit(str(tmp_path / "whole"), epochs=6)
    assert whole.val_metrics[0].get()[1] > 0.9
    assert (tmp_path / "whole" / "model-best.params").exists()
    example.fit(str(tmp_path / "parts"), epochs=5)
    again = example.fit(str(tmp_path / "parts"), epochs=6)
    assert again.val_metrics[0].get() == whole.val_metrics[0].get()
    one, other = [fitter.net.output.weight.data().asnumpy() for fitter in (whole, again)]
    assert one.tobytes() == other.tobytes()
