"""Writes the artifact of this release: ``python tests/data/artifacts/make.py``, once before each release.

The folder is named by the version and never written again; tests/test_load_artifact.py loads all of them for ever.
``python tests/data/artifacts/make.py jax`` adds one of this minor version of jax, such as 0.1.0-jax0.12, with a program
for a batch of two; whichever jax runs the tests must read those of its own and of earlier ones.
"""

import pathlib
import sys

import jax
import numpy as np

import gluonx
from gluonx import nn


def main():
    of_jax = sys.argv[1:] == ["jax"]
    minor = "-jax" + ".".join(jax.__version__.split(".")[:2]) if of_jax else ""
    folder = pathlib.Path(__file__).parent / (gluonx.__version__ + minor)
    if folder.exists():
        raise SystemExit(f"{folder} is there already, and is what users of that version have")
    gluonx.random.seed(0)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3, padding=1, activation="relu"), nn.BatchNorm(), nn.GlobalAvgPool2D(), nn.Dense(3))
    net.initialize(gluonx.init.Xavier())
    images = np.random.default_rng(0).normal(size=(2, 1, 6, 6)).astype("float32")
    net.hybridize()
    outputs = net(gluonx.np.array(images)).asnumpy()
    folder.mkdir()
    more = {"buckets": [2]} if of_jax else {}
    net.export(folder / "net", vjp_order=1, platforms=("cpu", "cuda", "tpu"), constraints=["b <= 64"], **more)
    np.savez(folder / "io.npz", images=images, outputs=outputs)


if __name__ == "__main__":
    main()
