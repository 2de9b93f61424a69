"""The sides of `benchmarks.generating`, each in its own process: ``python -m benchmarks.generating_sides SIDE``."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks.serve import serve, timed

__all__ = ["Server"]


def prompts(size: dict[str, int]) -> Any:
    """Return numbers of words, (batch, length)."""
    return np.random.RandomState(0).randint(0, size["words"], (size["batch"], size["prompt"])).astype("int32")


def gluonx(weights: str, size: dict[str, int]) -> Any:
    """Return what writes; the weights are made here, and saved for the others."""
    import gluonx as mx
    from gluonx import nn

    mx.random.seed(0)
    sizes = (size[name] for name in ("words", "layers", "units", "hidden", "heads", "shared"))
    net = nn.CausalDecoder(*sizes)
    net.initialize(mx.init.Normal(0.2))  # large ones: no two words are nearly as likely
    net(mx.np.zeros((1, 2), dtype="int32"))
    np.savez(weights, **{name: p.data().asnumpy() for name, p in net.collect_params(fused=False).items()})
    prompt = prompts(size)
    return lambda: mx.generate(net, prompt, size["new"])


def jax(weights: str, size: dict[str, int]) -> Any:
    """Return the same by hand: one jitted step, whose caches are donated."""
    import jax
    import jax.numpy as jnp

    p = {name: jnp.asarray(value) for name, value in np.load(weights).items()}
    width, length = size["units"] // size["heads"], size["prompt"] + size["new"]
    rates = 10000.0 ** (-jnp.arange(width // 2) / (width // 2))

    def norm(x: Any, scale: Any) -> Any:
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale

    def turned(x: Any, places: Any) -> Any:
        angles = (places[:, None] * rates)[:, None]
        first, second = jnp.split(x, 2, -1)
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], -1)

    def step(p: Any, caches: Any, tokens: Any, start: Any) -> Any:
        x, after = p["embedding.weight"][tokens], []
        places = start + jnp.arange(tokens.shape[1])
        mask = (jnp.arange(length) <= places[:, None])[None, None]
        for i, (keys, values) in enumerate(caches):
            at = f"layers.{i}."
            y = norm(x, p[f"{at}attention_norm.gamma"])
            q, k, v = (
                (y @ p[f"{at}attention.{name}.weight"].T).reshape(*tokens.shape, -1, width)
                for name in ("query", "key", "value")
            )
            keys = jax.lax.dynamic_update_slice(keys, turned(k, places), (0, start, 0, 0))
            values = jax.lax.dynamic_update_slice(values, v, (0, start, 0, 0))
            after.append((keys, values))
            out = jax.nn.dot_product_attention(turned(q, places), keys, values, mask=mask)
            x = x + out.reshape(x.shape) @ p[f"{at}attention.proj.weight"].T
            y = norm(x, p[f"{at}ffn_norm.gamma"])
            gate, up, down = (p[f"{at}ffn.{name}.weight"].T for name in ("gate", "up", "down"))
            x = x + (jax.nn.silu(y @ gate) * (y @ up)) @ down
        scores = norm(x[:, -1], p["norm.gamma"]) @ p["head.weight"].T
        return scores.argmax(-1).astype("int32")[:, None], after

    jitted, prompt = jax.jit(step, donate_argnums=1), prompts(size)
    shape = (size["batch"], length, size["shared"], width)

    def write() -> Any:
        caches: Any = [(jnp.zeros(shape), jnp.zeros(shape)) for _ in range(size["layers"])]
        tokens, columns, start = prompt, [], 0
        for _ in range(size["new"]):
            before = tokens.shape[1]
            tokens, caches = jitted(p, caches, tokens, np.int32(start))
            start += before
            columns.append(tokens)
        return np.concatenate([np.asarray(column) for column in columns], 1).tolist()

    return write


def torch(weights: str, size: dict[str, int]) -> Any:
    """Return the same in PyTorch, on the modules of `benchmarks.zoo.current_torches`."""
    import torch
    from torch.nn import functional as F

    from benchmarks.zoo import current_torches as modules
    from benchmarks.zoo.cases import CASES
    from benchmarks.zoo.torches import versions

    versions("torch")  # as many threads as cores
    case = CASES["gpt"]._replace(classes=size["words"], size=CASES["gpt"].size | size)
    net = modules.GPT(case)
    loaded = {name.replace("gamma", "weight"): torch.from_numpy(x) for name, x in np.load(weights).items()}
    net.load_state_dict(loaded)
    width, length = size["units"] // size["heads"], size["prompt"] + size["new"]
    rates = 10000.0 ** (-torch.arange(width // 2) / (width // 2))
    angles = torch.arange(length)[:, None] * rates
    cosines, sines = angles.cos(), angles.sin()
    prompt = torch.from_numpy(prompts(size)).long()

    def turned(x: Any, start: int) -> Any:
        cos, sin = (table[start : start + x.shape[2]] for table in (cosines, sines))
        first, second = x.chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

    def step(tokens: Any, start: int, caches: Any) -> Any:
        x, stop = net.embedding(tokens), start + tokens.shape[1]
        for layer, (keys, values) in zip(net.layers, caches, strict=True):
            attention, y = layer.attention, layer.attention_norm(x)
            q = attention.query(y).unflatten(-1, (-1, width)).transpose(1, 2)
            k, v = (f(y).unflatten(-1, (-1, width)).transpose(1, 2) for f in (attention.key, attention.value))
            keys[:, :, start:stop], values[:, :, start:stop] = turned(k, start), v
            seen = keys[:, :, :stop], values[:, :, :stop]
            out = F.scaled_dot_product_attention(turned(q, start), *seen, is_causal=start == 0, enable_gqa=True)
            x = x + attention.proj(out.transpose(1, 2).flatten(2))
            x = x + layer.ffn(layer.ffn_norm(x))
        return net.head(net.norm(x[:, -1:])).argmax(-1)

    def write() -> Any:
        shape = (size["batch"], size["shared"], length, width)
        caches = [(torch.zeros(shape), torch.zeros(shape)) for _ in range(size["layers"])]
        tokens, columns, start = prompt, [], 0
        with torch.inference_mode():
            for _ in range(size["new"]):
                before = tokens.shape[1]
                tokens = step(tokens, start, caches)
                start += before
                columns.append(tokens)
            return torch.cat(columns, 1).tolist()

    return write


class Server:
    """Orders of a side; each method returns the answer."""

    def __init__(self, side: str) -> None:
        self.side = {"gluonx": gluonx, "jax": jax, "torch": torch}[side]

    def begin(self, weights: str, size: dict[str, int]) -> Any:
        """Make the side and let it write twice, which compiles; returns the text."""
        self.write_once = self.side(weights, size)
        self.write_once()
        return self.write_once()

    def write(self) -> Any:
        """Write a text; wall and processor seconds."""
        return timed(self.write_once)


if __name__ == "__main__":
    serve(lambda: Server(sys.argv[1]))
