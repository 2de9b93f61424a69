"""The layers of current language models: rotary positions, gated feed-forward nets, heads that share keys and values.

Arrays are (batch, length, units). :class:`CausalDecoder` puts them together to a net that ``gluonx.generate`` takes.
"""

from __future__ import annotations

from typing import Any

from gluonx import np
from gluonx.block.block import HybridBlock
from gluonx.block.tools import unfailing
from gluonx.deferred import invoke
from gluonx.dtype import DTypeLike
from gluonx.initializer import InitLike
from gluonx.nn.activations import activation_op
from gluonx.nn.attention import Cache
from gluonx.nn.basic import Dense, Embedding
from gluonx.nn.containers import HybridBlockList
from gluonx.nn.norm import RMSNorm
from gluonx.np import ndarray
from gluonx.ops import get

__all__ = ["CausalDecoder", "GatedFFN", "GroupedQueryAttention", "RotaryEmbedding"]


class RotaryEmbedding(HybridBlock):
    """Turns pairs of features of queries or keys by their position; see ``npx.rotary_embedding``.

    Parameters
    ----------
    base : float
        The longest wave is about ``2 * pi * base`` tokens long.

    Examples
    --------
    >>> RotaryEmbedding()(np.ones((1, 2, 1, 2))).reshape((2, 2)).tolist()
    [[1.0, 1.0], [-0.3012, 1.382]]
    """

    def __init__(self, base: float = 10000.0) -> None:
        super().__init__()
        self._base = float(base)
        self._op = get("rotary_embedding").bind(base=self._base)

    def forward(self, x: ndarray, position: ndarray | None = None) -> ndarray:
        """Turn an array of shape (batch, length, heads, width); the first token is at `position`, 0 by default."""
        return invoke(self._op, (x, position))

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}(base={self._base:g})"


class GatedFFN(HybridBlock):
    """``down(activation(gate(x)) * up(x))``: SwiGLU with ``'silu'``, GEGLU with ``'gelu'``.

    Parameters
    ----------
    units : int
        The size of input and output.
    hidden_size : int
        The size between.
    activation : str
        The name of an :class:`Activation`.
    use_bias : bool
        Whether the three dense layers have one.
    dtype, weight_initializer
        As of :class:`Dense`.

    Examples
    --------
    >>> layer = GatedFFN(4, 8)
    >>> layer.initialize()
    >>> layer(np.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def __init__(
        self,
        units: int,
        hidden_size: int,
        activation: str = "silu",
        use_bias: bool = False,
        dtype: DTypeLike = "float32",
        weight_initializer: InitLike = None,
    ) -> None:
        super().__init__()
        more: dict[str, Any] = {"use_bias": use_bias, "flatten": False, "dtype": dtype}
        more["weight_initializer"] = weight_initializer
        self._op = activation_op(activation)
        self.gate = Dense(hidden_size, in_units=units, **more)
        self.up = Dense(hidden_size, in_units=units, **more)
        self.down = Dense(units, in_units=hidden_size, **more)

    def forward(self, x: ndarray) -> ndarray:
        """Map an array of shape (batch, length, units) to one like it."""
        return self.down(invoke(self._op, (self.gate(x),)) * self.up(x))


class GroupedQueryAttention(HybridBlock):
    """Causal self attention in which groups of heads share keys and values, with rotary positions and a cache.

    "GQA: Training Generalized Multi-Query Transformer Models", https://arxiv.org/abs/2305.13245.

    Parameters
    ----------
    units : int
        The size of input and output, and of all heads together.
    num_heads : int
        Divides `units`.
    num_kv_heads : int, optional
        How many heads keys and values have; divides `num_heads`, which it is by default. 1 is multi-query attention.
    rotary_base : float, optional
        As of :class:`RotaryEmbedding`; None for no positions.
    use_bias : bool
        Whether the four projections have a bias.
    dtype, weight_initializer
        As of :class:`Dense`.

    Raises
    ------
    ValueError
        If the numbers of heads do not divide what they should.

    Examples
    --------
    >>> layer = GroupedQueryAttention(8, 4, 2)
    >>> layer.initialize()
    >>> layer(np.ones((3, 5, 8))).shape
    (3, 5, 8)
    >>> out, cache = layer(np.ones((3, 1, 8)), cache=layer.init_cache(3, 16))
    >>> cache[0].shape
    (3, 16, 2, 2)
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        rotary_base: float | None = 10000.0,
        use_bias: bool = False,
        dtype: DTypeLike = "float32",
        weight_initializer: InitLike = None,
    ) -> None:
        super().__init__()
        shared = num_heads if num_kv_heads is None else num_kv_heads
        if num_heads < 1 or units % num_heads:
            raise ValueError(f"GroupedQueryAttention: {num_heads} heads do not divide {units} units.")
        if shared < 1 or num_heads % shared:
            raise ValueError(f"GroupedQueryAttention: {shared} heads of keys do not divide {num_heads} heads.")
        self._units, self._heads, self._shared = units, num_heads, shared
        self._width = units // num_heads
        more: dict[str, Any] = {"use_bias": use_bias, "flatten": False, "dtype": dtype, "in_units": units}
        more["weight_initializer"] = weight_initializer
        self.query = Dense(units, **more)
        self.key = Dense(shared * self._width, **more)
        self.value = Dense(shared * self._width, **more)
        self.proj = Dense(units, **more)
        self.rotary = None if rotary_base is None else RotaryEmbedding(rotary_base)
        split = get("split_heads")
        self._split, self._split_shared = split.bind(heads=num_heads), split.bind(heads=shared)
        self._attend = get("dot_product_attention").bind(causal=True)
        self._attend_cached = get("cached_attention").bind()
        self._merge = get("merge_heads").bind()

    def forward(self, x: ndarray, mask: ndarray | None = None, cache: Cache | None = None) -> Any:
        """Attend.

        Parameters
        ----------
        x : ndarray, shape (batch, length, units)
        mask : ndarray, optional
            As of :class:`MultiHeadAttention`.
        cache : tuple, optional
            Of :meth:`init_cache`, or as the call before returned it: `x` holds the tokens that follow those in the
            cache. The mask is then over the length of the cache.

        Returns
        -------
        ndarray, shape (batch, length, units)
            With a cache ``(ndarray, cache)``.
        """
        q = invoke(self._split, (self.query(x),))
        k, v = (invoke(self._split_shared, (layer(x),)) for layer in (self.key, self.value))
        if self.rotary is not None:
            start = None if cache is None else cache[2]
            q, k = self.rotary(q, start), self.rotary(k, start)
        if cache is None:
            return self.proj(invoke(self._merge, (invoke(self._attend, (q, k, v, mask)),)))
        out, *after = invoke(self._attend_cached, (q, k, v, *cache, mask))
        return self.proj(invoke(self._merge, (out,))), tuple(after)

    def init_cache(self, batch_size: int, length: int, dtype: DTypeLike = None) -> Cache:
        """Return an empty cache for `length` tokens; see :meth:`MultiHeadAttention.init_cache`."""
        shape = (batch_size, length, self._shared, self._width)
        dtype = self.query.weight.dtype if dtype is None else dtype
        return np.zeros(shape, dtype=dtype), np.zeros(shape, dtype=dtype), np.zeros((), dtype="int32")

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._units}, heads={self._heads}, kv_heads={self._shared})"


class _DecoderLayer(HybridBlock):
    """Attention and a gated feed-forward net, each behind a normalization and with a residual connection."""

    def __init__(
        self,
        units: int,
        hidden_size: int,
        num_heads: int,
        num_kv_heads: int | None,
        rotary_base: float,
        epsilon: float,
        use_bias: bool,
        activation: str,
    ) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(in_channels=units, epsilon=epsilon)
        self.attention = GroupedQueryAttention(units, num_heads, num_kv_heads, rotary_base, use_bias)
        self.ffn_norm = RMSNorm(in_channels=units, epsilon=epsilon)
        self.ffn = GatedFFN(units, hidden_size, activation, use_bias)

    def forward(self, x: ndarray, mask: ndarray | None = None, cache: Cache | None = None) -> Any:
        """Map (batch, length, units) to the same; with a cache, return the cache too."""
        out = self.attention(self.attention_norm(x), mask, cache)
        out, after = (out, None) if cache is None else out
        x = x + out
        x = x + self.ffn(self.ffn_norm(x))
        return x if cache is None else (x, after)


class CausalDecoder(HybridBlock):
    """A language model as of Llama: tokens in, for each position the logits of the next token out.

    Parameters
    ----------
    vocab_size, num_layers, units, hidden_size, num_heads : int
        How many tokens there are, and the sizes of the net.
    num_kv_heads : int, optional
        As of :class:`GroupedQueryAttention`.
    rotary_base : float
        As of :class:`RotaryEmbedding`.
    epsilon : float
        As of :class:`RMSNorm`.
    use_bias : bool
        Whether the dense layers within have a bias.
    activation : str
        As of :class:`GatedFFN`.
    tied : bool
        Whether the table of tokens is the weight of the last layer too.

    Examples
    --------
    >>> net = CausalDecoder(vocab_size=10, num_layers=2, units=8, hidden_size=16, num_heads=4, num_kv_heads=2)
    >>> net.initialize()
    >>> net(np.array([[1, 2, 3]])).shape
    (1, 3, 10)
    """

    def __init__(
        self,
        vocab_size: int,
        num_layers: int,
        units: int,
        hidden_size: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        rotary_base: float = 10000.0,
        epsilon: float = 1e-6,
        use_bias: bool = False,
        activation: str = "silu",
        tied: bool = False,
    ) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.embedding = Embedding(vocab_size, units)
        self.layers = HybridBlockList(
            _DecoderLayer(units, hidden_size, num_heads, num_kv_heads, rotary_base, epsilon, use_bias, activation)
            for _ in range(num_layers)
        )
        self.norm = RMSNorm(in_channels=units, epsilon=epsilon)
        self.head = Dense(vocab_size, use_bias=False, flatten=False, in_units=units)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, tokens: ndarray, mask: ndarray | None = None) -> ndarray:
        """Return logits (batch, length, vocab_size) of tokens (batch, length)."""
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.norm(x))

    def init_states(self, batch_size: int, length: int, dtype: DTypeLike = None) -> list[Cache]:
        """Return empty caches for `length` tokens, one of each layer."""
        return [layer.attention.init_cache(batch_size, length, dtype) for layer in self.layers]

    def incremental_decode(
        self, tokens: ndarray, states: list[Cache], mask: ndarray | None = None
    ) -> tuple[ndarray, list[Cache]]:
        """Return the logits of the tokens that follow those in the caches, and the caches after them."""
        x, after = self.embedding(tokens), []
        for layer, state in zip(self.layers, states, strict=True):
            x, state = layer(x, mask, state)
            after.append(state)
        return self.head(self.norm(x)), after
