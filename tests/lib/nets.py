"""Nets that tests of several rooms use."""

from gluonx import nn

__all__ = ["make"]


def make(dropout=0.0):
    """A net with weights, statistics and, unless `dropout` is 0, draws: from 3 units to 2."""
    net = nn.HybridSequential()
    net.add(
        nn.Dense(4, in_units=3, activation="tanh"),
        nn.BatchNorm(in_channels=4),
        nn.Dropout(dropout),
        nn.Dense(2, in_units=4),
    )
    net.initialize()
    return net
