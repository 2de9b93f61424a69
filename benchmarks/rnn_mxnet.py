"""The MXNet side of `benchmarks.rnn`, in a process of its own: ``python -m benchmarks.rnn_mxnet``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mxnet as mx  # pyright: ignore[reportMissingImports] - in its own environment
import numpy as onp

from benchmarks.serve import serve, timed

__all__ = ["Server"]


class Server:
    """Orders of MXNet's side; each method returns the answer."""

    def __init__(self) -> None:
        mx.npx.set_np()

    def make(self, kind: str, sizes: list[int], training: bool, rate: float) -> None:
        """Prepare a layer, and its step if it trains."""
        time, batch, size = sizes
        layer = getattr(mx.gluon.rnn, kind)(size, input_size=size)
        layer.initialize()
        layer.hybridize()
        x = mx.np.array(onp.random.RandomState(0).uniform(-1, 1, (time, batch, size)).astype("float32"))
        layer(x).wait_to_read()
        self.once = self.step(layer, x, rate) if training else lambda: layer(x)

    def step(self, layer: Any, x: Any, rate: float) -> Callable[[], Any]:
        """Return a training step."""
        trainer = mx.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": rate})

        def once() -> None:
            with mx.autograd.record():
                loss = (layer(x) ** 2).mean()
            loss.backward()
            trainer.step(1)

        return once

    def run(self, count: int) -> Any:
        """Call it `count` times; wall and processor seconds."""

        def calls() -> None:
            for _ in range(count):
                self.once()
            mx.npx.waitall()

        return timed(calls)


if __name__ == "__main__":
    serve(Server)
