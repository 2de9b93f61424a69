"""Writes calibration.npz: histograms, and the thresholds that MXNet chooses for them. In the oracle's venv."""

import pathlib

import mxnet as mx
import numpy as np

RNG = np.random.RandomState(0)
DRAWS = [  # values, bins, steps
    (RNG.normal(0, 1, 20000), 1001, 255),
    (RNG.uniform(-2, 2, 5000), 1001, 255),
    (RNG.normal(0, 1, 20000), 101, 15),
    (np.maximum(RNG.normal(0, 1, 3000), 0), 101, 15),
    (RNG.normal(0, 1, 20000), 11, 3),
    (RNG.normal(0, 1, 20000), 301, 255),
    (RNG.normal(0, 1, 20000), 257, 255),
    (np.concatenate([RNG.normal(0, 0.1, 5000), [5.0, -4.0]]), 101, 31),
]
COUNTS = [
    [10, 1, 2, 3, 10],
    [1, 2, 3, 4, 5],
    [10, 10, 1, 1, 1],
    [3, 5, 1, 9, 1, 4, 8],
    [0] * 3 + [5, 1, 1, 1, 4, 7, 9] + [0] * 3,
    [0] * 9,
    *[RNG.randint(0, top, bins).tolist() for top, bins in ((9, 31), (3, 63), (200, 99))],
]


def main():
    cases = []
    for values, bins, steps in DRAWS:
        end = np.abs(values).max()
        cases.append((*np.histogram(values, bins=bins, range=(-end, end)), steps))
    cases += [(np.array(c), np.linspace(-2, 2, len(c) + 1), 3 if len(c) < 20 else 15) for c in COUNTS]
    found = {}
    for i, (counts, edges, steps) in enumerate(cases):
        both = mx.nd.contrib.calibrate_entropy(mx.nd.array(counts), mx.nd.array(edges), num_quantized_bins=steps)
        found[f"{i}/hist"], found[f"{i}/edges"] = counts.astype("float32"), edges.astype("float32")
        found[f"{i}/steps"], found[f"{i}/out"] = np.array(steps), np.array([x.asscalar() for x in both])
    np.savez_compressed(pathlib.Path(__file__).parent / "calibration.npz", **found)


main()
