"""Programs that a Gluon step compiles to for a GPU, over those of the same step written in JAX; no GPU is needed.

Needs the extra ``gpu-plan``. Nothing is run: kernels, calls of libraries, products, bytes and temporaries are read off
the compiled programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from gluonx import loss, nn
from gluonx.block.block import HybridBlock
from gluonx.parallel import hlo, planning, topologies

MESH = "h100:1"
RATE, MOMENTUM = 0.1, 0.9
LAYERS, UNITS, HEADS, WORDS, LENGTH, BATCH = 2, 256, 4, 1024, 128, 8


class _Layer(HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(in_channels=UNITS), nn.LayerNorm(in_channels=UNITS)
        self.attention = nn.MultiHeadAttention(UNITS, HEADS, causal=True, in_units=UNITS)
        self.wide = nn.Dense(4 * UNITS, flatten=False, in_units=UNITS, activation="relu")
        self.narrow = nn.Dense(UNITS, flatten=False, in_units=4 * UNITS)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.first(x))
        return x + self.narrow(self.wide(self.second(x)))


def mlp() -> tuple[Any, ...]:
    """Three layers in float32: the net, its input, and the same by hand as (shapes, forward)."""
    sizes = (784, 512, 512, 10)
    net = nn.HybridSequential()
    for i in range(3):
        net.add(nn.Dense(sizes[i + 1], in_units=sizes[i], activation="relu" if i < 2 else None))
    shapes = [((sizes[i + 1], sizes[i]), (sizes[i + 1],)) for i in range(3)]

    def forward(params: Any, x: Any) -> Any:
        for i, (weight, bias) in enumerate(params):
            x = x @ weight.T + bias
            x = jax.nn.relu(x) if i < 2 else x
        return x

    return net, "float32", jax.ShapeDtypeStruct((128, 784), "float32"), (128,), shapes, forward


def gpt() -> tuple[Any, ...]:
    """Two layers of a causal Transformer in bfloat16, with fused attention by hand."""
    net = nn.HybridSequential()
    net.add(nn.Embedding(WORDS, UNITS), *[_Layer() for _ in range(LAYERS)])
    net.add(nn.LayerNorm(in_channels=UNITS), nn.Dense(WORDS, flatten=False, in_units=UNITS))
    norm, square = ((UNITS,), (UNITS,)), ((UNITS, UNITS), (UNITS,))
    wide, narrow = ((4 * UNITS, UNITS), (4 * UNITS,)), ((UNITS, 4 * UNITS), (UNITS,))
    layer = {"norms": [norm, norm], "qkv": [square] * 3, "out": square, "wide": wide, "narrow": narrow}
    shapes = {"words": (WORDS, UNITS), "layers": [layer] * LAYERS, "norm": norm, "head": ((WORDS, UNITS), (WORDS,))}

    def dense(x: Any, pair: Any) -> Any:
        return x @ pair[0].T + pair[1]

    def normal(x: Any, pair: Any) -> Any:
        far = x.astype(jnp.float32)
        far = (far - far.mean(-1, keepdims=True)) * jax.lax.rsqrt(far.var(-1, keepdims=True) + 1e-5)
        return (far * pair[0] + pair[1]).astype(x.dtype)

    def forward(params: Any, words: Any) -> Any:
        x = params["words"][words]
        for one in params["layers"]:
            y = normal(x, one["norms"][0])
            parts = [dense(y, pair).reshape(*x.shape[:2], HEADS, -1) for pair in one["qkv"]]
            seen = jax.nn.dot_product_attention(*parts, is_causal=True, implementation="cudnn")
            x = x + dense(seen.reshape(x.shape), one["out"])
            y = normal(x, one["norms"][1])
            x = x + dense(jax.nn.relu(dense(y, one["wide"])), one["narrow"])
        return dense(normal(x, params["norm"]), params["head"])

    return net, "bfloat16", jax.ShapeDtypeStruct((BATCH, LENGTH), "int32"), (BATCH, LENGTH), shapes, forward


def by_hand(dtype: str, x: Any, labels: Any, shapes: Any, forward: Callable[..., Any]) -> Any:
    """Compile one step with momentum, written in JAX, that writes weights and momenta in place."""
    place = topologies.single("h100")

    def of_shape(shape: Any, kind: str = dtype) -> Any:
        return jax.ShapeDtypeStruct(shape, kind, sharding=place)

    def is_shape(node: Any) -> bool:
        return isinstance(node, tuple) and all(isinstance(n, int) for n in node)

    params = jax.tree.map(of_shape, shapes, is_leaf=is_shape)

    def value(params: Any, x: Any, labels: Any) -> Any:
        chances = jax.nn.log_softmax(forward(params, x).astype(jnp.float32))
        return -jnp.take_along_axis(chances, labels[..., None], -1).mean()

    def step(params: Any, momenta: Any, x: Any, labels: Any) -> Any:
        found, slopes = jax.value_and_grad(value)(params, x, labels)
        momenta = jax.tree.map(lambda m, g: MOMENTUM * m - RATE * g, momenta, slopes)
        return jax.tree.map(jnp.add, params, momenta), momenta, found

    given = (params, params, of_shape(x.shape, x.dtype), of_shape(labels, "int32"))
    with topologies.quietly():
        return jax.jit(step, donate_argnums=(0, 1)).lower(*given).compile()


def by_gluon(net: Any, dtype: str, x: Any, labels: Any) -> Any:
    """Compile the step that a plain loop records."""
    net.cast(dtype)
    net.hybridize()
    how = {"learning_rate": RATE, "momentum": MOMENTUM}
    labels = jax.ShapeDtypeStruct(labels, "int32")
    given = (net, x, loss.SoftmaxCrossEntropyLoss(), "sgd", how, labels, MESH, None, (), False)
    return planning._recorded(*given).compile()


def row(name: str, compiled: Any) -> str:
    """Give a line of the table."""
    mesh = planning.abstract_mesh(MESH, None)[0]
    found = hlo.read(compiled.as_text(), mesh)
    calls = ", ".join(f"{n} {target.lstrip('_')}" for target, n in sorted(found.calls.items())) or "none"
    temporary = compiled.memory_analysis().temp_size_in_bytes
    numbers = f"{found.kernels} | {found.flops / 1e6:,.1f} | {found.bytes / 1e6:,.2f} | {temporary / 1e6:,.2f}"
    return f"| {name} | {numbers} | {calls} |"


def main() -> None:
    """Print the table."""
    print("| program | kernels | products, MFLOP | operands and results, MB | temporaries, MB | calls of libraries |")
    print("| --- | --- | --- | --- | --- | --- |")
    for title, case in (("MLP", mlp), ("small GPT", gpt)):
        net, dtype, x, labels, shapes, forward = case()
        print(row(f"{title}, by hand", by_hand(dtype, x, labels, shapes, forward)), flush=True)
        print(row(f"{title}, Gluon", by_gluon(net, dtype, x, labels)), flush=True)


if __name__ == "__main__":
    main()
