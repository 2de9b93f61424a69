"""Write the pickles of the version that runs: ``python tests/data/pickles/make.py FOLDER``; kept for each release."""

import pathlib
import pickle
import sys

import gluonx as mx
from gluonx import nn, np, rnn


def main(folder):
    """Write one file a thing."""
    mx.random.seed(0)
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3, activation="relu"), nn.BatchNorm(in_channels=4), nn.Dense(2, in_units=4))
    net.initialize()
    net.hybridize()
    net(np.ones((2, 3)))
    lstm = rnn.LSTM(3, input_size=2)
    lstm.initialize()
    lstm(np.ones((4, 1, 2)))
    x = np.array([[1.0, 2.0]])
    x.attach_grad()
    things = {
        "net": net,
        "lstm": lstm,
        "array": x,
        "parameter": net[0].weight,
        "optimizer": mx.optimizer.Adam(learning_rate=0.5),
        "metric": mx.metric.Accuracy(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, thing in things.items():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(thing))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
