"""Layers and losses against PyTorch's numbers, from the rows of `tests/oracle/torch_layers`."""

import importlib.util

import numpy as onp
import pytest

from gluonx import autograd, loss, nn, np, npx
from lib import TESTS

FOLDER = TESTS / "oracle" / "torch_layers"
_SPEC = importlib.util.spec_from_file_location("torch_layer_rows", FOLDER / "rows.py")
rows = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(rows)
GOLDEN = onp.load(FOLDER / "golden.npz")


@pytest.mark.parametrize("name", rows.ROWS)
def test_what_is_said_to_be_pytorchs_is(name):
    _, here, _, weights = rows.ROWS[name]
    layer = eval(here, {"nn": nn, "np": np, "npx": npx, "loss": loss})
    arrays = [np.array(a, dtype=a.dtype) for a in rows.inputs(name)]
    if isinstance(layer, nn.HybridBlock):
        layer.initialize()
    for ours in weights:
        getattr(layer, ours).set_data(GOLDEN[f"{name}/{ours}"])
    differs = f"{name}/grad" in GOLDEN
    if differs:
        arrays[0].attach_grad()
    with autograd.record(train_mode=False):
        out = layer(*arrays)
        if name.partition("-")[0].endswith("Loss"):
            out = out.mean()  # PyTorch's are of the batch
        square = (out * out).sum()
    onp.testing.assert_allclose(out.asnumpy(), GOLDEN[f"{name}/out"], rtol=2e-5, atol=1e-5)
    if differs:
        square.backward()
        wanted = GOLDEN[f"{name}/grad"]
        onp.testing.assert_allclose(arrays[0].grad.asnumpy(), wanted, rtol=1e-4, atol=1e-5 * (1 + abs(wanted).max()))
