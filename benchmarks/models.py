"""The models that are timed, each twice: as a Gluon HybridBlock and by hand on a dict of jax arrays.

The hand-written forward starts from the very numbers of the Gluon net, so that both sides do the same work, also where
work depends on values (denormals after a long time of training, say).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import gluonx as mx
from examples.by_hand import batch_norm, conv, dense, max_pool
from gluonx import gluon, init, npx
from gluonx.gluon import nn

__all__ = ["CASES", "Case", "by_hand_params"]


@dataclass(frozen=True)
class Case:
    """A model, its data and its optimizer on both sides."""

    name: str
    net: Callable[[], Any]
    forward: Callable[..., Any]
    input_shape: tuple[int, ...]
    classes: int
    optimizer: str
    options: dict[str, float]
    optax: Callable[[], optax.GradientTransformation]

    def data(self, seed: int = 0) -> tuple[Any, Any]:
        """Return a fixed batch: inputs and labels (float32, as Gluon's loaders give them)."""
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(self.input_shape, np.float32)
        return x, rng.integers(0, self.classes, self.input_shape[0]).astype(np.float32)

    def make_net(self, hybridize: bool) -> Any:
        """Return the Gluon net, initialized from a fixed seed, its shapes known."""
        mx.random.seed(1)
        net = self.net()
        net.initialize(init.Xavier())
        if hybridize:
            net.hybridize()
        net(mx.np.array(self.data()[0][:2]))
        return net

    def make_trainer(self, net: Any, **kwargs: Any) -> Any:
        """Return the Gluon trainer of `net`."""
        return gluon.Trainer(net.collect_params(), self.optimizer, dict(self.options), **kwargs)


def by_hand_params(net: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(params, moving averages) of a Gluon net: ``{"stem.conv": {"weight": array}}``, fresh buffers."""
    params: dict[str, Any] = {}
    state: dict[str, Any] = {}
    for name, parameter in net.collect_params().items():
        layer, _, kind = name.rpartition(".")
        moving = kind.startswith("running_")
        (state if moving else params).setdefault(layer, {})[kind.removeprefix("running_")] = jnp.array(
            parameter.data().asnumpy()
        )
    return params, state


class MLP(nn.HybridBlock):
    """Dense layers of equal width and an output layer."""

    def __init__(self, width: int, depth: int, classes: int = 10) -> None:
        super().__init__()
        self.body = nn.HybridSequential()
        for _ in range(depth):
            self.body.add(nn.Dense(width, activation="relu"))
        self.output = nn.Dense(classes)

    def forward(self, x: Any) -> Any:
        """Rows to scores."""
        return self.output(self.body(x))


def mlp_by_hand(depth: int) -> Callable[..., Any]:
    """Return the forward of `MLP`."""

    def forward(params: Any, state: Any, key: Any, x: Any) -> Any:
        for index in range(depth):
            x = jax.nn.relu(dense(params[f"body.{index}"], x))
        return dense(params["output"], x), state

    return forward


class LeNet(nn.HybridBlock):
    """The classic: two convolutions with pooling, two dense layers."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(20, kernel_size=5, activation="relu")
        self.conv2 = nn.Conv2D(50, kernel_size=5, activation="relu")
        self.pool = nn.MaxPool2D()
        self.dense = nn.Dense(500, activation="relu")
        self.output = nn.Dense(classes)

    def forward(self, x: Any) -> Any:
        """Images (batch, 1, 28, 28) to scores."""
        return self.output(self.dense(self.pool(self.conv2(self.pool(self.conv1(x))))))


def lenet_by_hand(params: Any, state: Any, key: Any, x: Any) -> Any:
    """Return the forward of `LeNet`."""
    x = max_pool(jax.nn.relu(conv(params["conv1"], x, pad=0)))
    x = max_pool(jax.nn.relu(conv(params["conv2"], x, pad=0)))
    return dense(params["output"], jax.nn.relu(dense(params["dense"], x))), state


class Residual(nn.HybridBlock):
    """Two 3x3 convolutions with batch normalization around a shortcut."""

    def __init__(self, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(channels, 3, strides=stride, padding=1, use_bias=False)
        self.norm1 = nn.BatchNorm()
        self.conv2 = nn.Conv2D(channels, 3, padding=1, use_bias=False)
        self.norm2 = nn.BatchNorm()
        self.shortcut = nn.Conv2D(channels, 1, strides=stride, use_bias=False) if stride > 1 else nn.Identity()

    def forward(self, x: Any) -> Any:
        """Images to images."""
        y = npx.relu(self.norm1(self.conv1(x)))
        return npx.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.HybridBlock):
    """A small residual net: a stem, `blocks` residual blocks a stage, three stages."""

    def __init__(self, blocks: int = 2, width: int = 16, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2D(width, 3, padding=1, use_bias=False)
        self.norm = nn.BatchNorm()
        self.stages = nn.HybridSequential()
        for stage in range(3):
            for block in range(blocks):
                self.stages.add(Residual(width << stage, 2 if stage and not block else 1))
        self.pool = nn.GlobalAvgPool2D()
        self.output = nn.Dense(classes)

    def forward(self, x: Any) -> Any:
        """Images (batch, 3, 32, 32) to scores."""
        return self.output(self.pool(self.stages(npx.relu(self.norm(self.stem(x))))))


def residual_by_hand(params: Any, state: Any, moved: Any, name: str, x: Any) -> Any:
    """Return the forward of `Residual`; writes moving averages into `moved`."""

    def norm(layer: str, y: Any) -> Any:
        y, moved[layer] = batch_norm(params[layer], state[layer], y)
        return y

    stride = 2 if f"{name}.shortcut" in params else 1
    y = jax.nn.relu(norm(f"{name}.norm1", conv(params[f"{name}.conv1"], x, stride)))
    y = norm(f"{name}.norm2", conv(params[f"{name}.conv2"], y))
    return jax.nn.relu(y + (conv(params[f"{name}.shortcut"], x, 2, 0) if stride > 1 else x))


def resnet_by_hand(params: Any, state: Any, key: Any, x: Any) -> Any:
    """Return the forward of `ResNet`."""
    moved: dict[str, Any] = {}
    x, moved["norm"] = batch_norm(params["norm"], state["norm"], conv(params["stem"], x))
    x = jax.nn.relu(x)
    for index in range(6):
        x = residual_by_hand(params, state, moved, f"stages.{index}", x)
    return dense(params["output"], x.mean((2, 3))), moved


ADAM: dict[str, Any] = {
    "optimizer": "adam",
    "options": {"learning_rate": 1e-3},
    "optax": lambda: optax.adam(1e-3),
}
MOMENTUM: dict[str, Any] = {
    "optimizer": "sgd",
    "options": {"learning_rate": 1e-3, "momentum": 0.9},
    "optax": lambda: optax.sgd(1e-3, momentum=0.9),
}

CASES = {
    case.name: case
    for case in (
        Case("mlp", lambda: MLP(512, 3), mlp_by_hand(3), (256, 784), 10, **ADAM),
        Case("lenet", LeNet, lenet_by_hand, (32, 1, 28, 28), 10, **MOMENTUM),
        Case("resnet", ResNet, resnet_by_hand, (8, 3, 32, 32), 10, **MOMENTUM),
        Case("tiny", lambda: MLP(64, 2), mlp_by_hand(2), (32, 64), 10, **MOMENTUM),
        Case("deep", lambda: MLP(32, 11, 32), mlp_by_hand(11), (8, 32), 32, **ADAM),
    )
}
