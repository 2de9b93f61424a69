"""The threshold of least information lost, against MXNet's (tests/oracle/calibration)."""

import numpy as onp
import pytest

from gluonx import nd, np, npx
from gluonx.errors import ShapeError
from gluonx.gluon import nn
from lib import TESTS

GOLDEN = onp.load(TESTS / "oracle" / "calibration" / "calibration.npz")
CASES = sorted({name.split("/")[0] for name in GOLDEN.files}, key=int)


@pytest.mark.parametrize("case", CASES)
def test_as_mxnet(case):
    counts, edges, steps, wanted = (GOLDEN[f"{case}/{what}"] for what in ("hist", "edges", "steps", "out"))
    threshold, divergence = npx.contrib_calibrate_entropy(np.array(counts), np.array(edges), int(steps))
    assert threshold.shape == divergence.shape == (1,)
    assert threshold.item() == onp.float32(wanted[0])
    onp.testing.assert_allclose(divergence.item(), wanted[1], rtol=5e-5, atol=1e-6)  # MXNet adds float32 numbers
    legacy = nd.contrib.calibrate_entropy(nd.array(counts), nd.array(edges), num_quantized_bins=int(steps))
    assert [x.asscalar() for x in legacy] == [threshold.item(), divergence.item()]


def test_out_and_what_is_refused():
    counts, edges = np.ones(5), np.array(onp.linspace(-1, 1, 6))
    out = [np.zeros(1), np.zeros(1)]
    assert npx.contrib_calibrate_entropy(counts, edges, 3, out=out) is out and out[0].item() != 0
    for bad in ((np.ones(4), np.ones(5), 3), (counts, edges, 7), (counts, counts, 3), (np.ones((5, 1)), edges, 3)):
        with pytest.raises(ShapeError, match="an odd number of bins"):
            npx.contrib_calibrate_entropy(*bad)


def test_inside_a_traced_block_it_says_so():
    net = nn.HybridLambda(lambda x: npx.contrib_calibrate_entropy(x, x, 3)[0])
    net.hybridize()
    with pytest.raises(Exception, match="value"):
        net(np.ones(5))
