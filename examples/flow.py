"""A normalizing flow: a density of two half moons, learned from points (RealNVP; Dinh, Sohl-Dickstein, Bengio 2017).

Run it by ``python -m examples.flow``. Each layer is a :class:`~gluonx.probability.TransformBlock` that moves one
coordinate by a scale and a shift that it computes from the other; the flow is a ``TransformedDistribution``, of which
``log_prob`` trains it and ``sample`` draws new points.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

import numpy as onp

import gluonx as mx
from gluonx import autograd, gluon, np
from gluonx.gluon import nn
from gluonx.gluon import probability as mgp

__all__ = ["Coupling", "Flow", "main", "moons", "train"]

BATCH = 256


def moons(count: int, seed: int = 0) -> Any:
    """Points on two half circles, with noise."""
    rng = onp.random.default_rng(seed)
    angle, upper = rng.uniform(0, math.pi, count), rng.integers(0, 2, count) * 2 - 1
    points = onp.stack([upper * onp.cos(angle) - upper / 2, upper * (onp.sin(angle) - 0.25)], 1)
    return (points + rng.normal(0, 0.1, (count, 2))).astype("float32")


class Coupling(mgp.TransformBlock):
    """Scale and shift one coordinate by functions of the other."""

    bijective = True
    event_dim = 1

    def __init__(self, moved: int, hidden: int) -> None:
        super().__init__()
        self.moved = moved
        self.net = nn.HybridSequential()
        self.net.add(nn.Dense(hidden, activation="tanh"), nn.Dense(hidden, activation="tanh"), nn.Dense(2))

    def _affine(self, x: Any) -> tuple[Any, Any]:
        """Give the logarithm of the scale, which is bounded, and the shift: functions of the coordinate that stays."""
        stays = 1 - self.moved
        log_scale, shift = np.split(self.net(x[:, stays : stays + 1]), 2, axis=-1)
        return 2 * np.tanh(log_scale / 2), shift

    def _with(self, x: Any, moved: Any) -> Any:
        columns = [x[:, :1], x[:, 1:]]
        columns[self.moved] = moved
        return np.concatenate(columns, axis=-1)

    def _forward_compute(self, x: Any) -> Any:
        log_scale, shift = self._affine(x)
        return self._with(x, x[:, self.moved : self.moved + 1] * np.exp(log_scale) + shift)

    def _inverse_compute(self, y: Any) -> Any:
        log_scale, shift = self._affine(y)  # the coordinate that it is computed from is the same in x and y
        return self._with(y, (y[:, self.moved : self.moved + 1] - shift) * np.exp(-log_scale))

    def log_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the logarithm of the scale."""
        return self._affine(y)[0][:, 0]


class Flow(nn.HybridBlock):
    """The flow as a block: points to their negative log-probability."""

    def __init__(self, layers: int = 6, hidden: int = 32) -> None:
        super().__init__()
        self.couplings = [Coupling(index % 2, hidden) for index in range(layers)]
        for index, coupling in enumerate(self.couplings):
            self.register_child(coupling, f"coupling{index}")

    @property
    def distribution(self) -> Any:
        """The distribution of the points."""
        return mgp.TransformedDistribution(mgp.Normal(np.zeros(2), 1.0), self.couplings)

    def forward(self, x: Any) -> Any:
        """Return the loss of each point."""
        return -self.distribution.log_prob(x)


def train(net: Any, points: Any, steps: int, seed: int = 0) -> list[float]:
    """Return the plain Gluon loop; returns the loss, in nats a point, of each step."""
    mx.random.seed(seed)
    net.initialize(mx.init.Xavier(magnitude=0.5))
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 5e-3})
    rng = onp.random.default_rng(seed)
    trail = []
    for _ in range(steps):
        batch = np.array(points[rng.integers(0, len(points), BATCH)])
        with autograd.record():
            loss = net(batch)
        loss.backward()
        trainer.step(BATCH)
        trail.append(loss.mean())
    return [float(loss) for loss in trail]


def main(argv: list[str] | None = None) -> int:
    """Train, evaluate, draw; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m examples.flow", description="A normalizing flow on two moons.")
    parser.add_argument("--steps", type=int, default=1500)
    args = parser.parse_args(argv)
    points, held = moons(5000), moons(2000, seed=1)
    net = Flow()
    trail = train(net, points, args.steps)
    gaussian = mgp.MultivariateNormal(np.array(held.mean(0)), cov=np.array(onp.cov(held.T)))
    drawn = net.distribution.sample_n(2000).asnumpy()
    # A point is on a moon if it is near a half circle of radius 1.
    lower = onp.where(drawn[:, 1] < 0, 1, -1)
    apart = onp.hypot(drawn[:, 0] - lower / 2, drawn[:, 1] - lower * 0.25)
    print(f"nats a point at the first and last step  {trail[0]:.3f}, {trail[-1]:.3f}")
    print(f"held-out points                          {float(net(np.array(held)).mean()):.3f}")
    print(f"a normal distribution fitted to them     {-float(gaussian.log_prob(np.array(held)).mean()):.3f}")
    print(f"median distance of draws from the moons' centres  {float(onp.median(apart)):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
