"""Attention of several heads, the masks for it, and a cache for decoding.

Arrays are (batch, length, units). Query, key and value are three Dense layers with weights of their own, as one thinks
of them; they are fused into one matrix product as soon as shapes are known (``fuse=False`` leaves them apart), and
files hold the three either way. What may be looked at is said by ``mask`` (True: it may), by ``valid_length`` and by
``causal``.

Decoding token by token keeps keys and values in a cache of fixed length. The place in it is an array, so every step is
the same program.
"""

from __future__ import annotations

from typing import Any

from gluonx import np
from gluonx.block.block import HybridBlock
from gluonx.block.fusion.layout import Fused
from gluonx.block.tools import unfailing
from gluonx.deferred import invoke
from gluonx.dtype import DTypeLike
from gluonx.errors import ShapeError
from gluonx.initializer import InitLike
from gluonx.nn.basic import Dense
from gluonx.np import ndarray
from gluonx.ops import get

__all__ = [
    "MultiHeadAttention",
    "gen_mem_attn_mask",
    "gen_packed_attn_mask",
    "gen_self_attn_mask",
]

Cache = tuple[Any, Any, Any]


def gen_self_attn_mask(data: ndarray, valid_length: ndarray | None = None, attn_type: str = "full") -> ndarray:
    """Return the mask of self attention: which token may look at which.

    Parameters
    ----------
    data : ndarray, shape (batch, length, ...)
    valid_length : ndarray, shape (batch,), optional
        The length of each sample. Padding is not looked at, and looks at nothing.
    attn_type : {'full', 'causal'}
        Whether a token may look at those after it.

    Returns
    -------
    ndarray of bool, shape (batch, length, length)

    Raises
    ------
    ValueError
        If `attn_type` is neither.

    Examples
    --------
    >>> gen_self_attn_mask(np.zeros((1, 3)), np.array([2]), "causal").astype("int32").tolist()
    [[[1, 0, 0], [1, 1, 0], [0, 0, 0]]]
    """
    if attn_type not in ("full", "causal"):
        raise ValueError(f"attn_type must be 'full' or 'causal', got {attn_type!r}")
    batch, length = data.shape[:2]
    places = np.arange(length)
    mask = np.ones((batch, length, length), dtype="bool")
    if attn_type == "causal":
        mask = np.logical_and(mask, places.reshape((1, 1, -1)) <= places.reshape((1, -1, 1)))
    if valid_length is None:
        return mask
    inside = places.reshape((1, -1)) < valid_length.reshape((-1, 1))
    return np.logical_and(mask, np.logical_and(inside.expand_dims(1), inside.expand_dims(2)))


def gen_mem_attn_mask(
    mem: ndarray, mem_valid_length: ndarray, data: ndarray, data_valid_length: ndarray | None = None
) -> ndarray:
    """Return the mask of attention to a memory: which token of `data` may look at which of `mem`.

    Parameters
    ----------
    mem : ndarray, shape (batch, mem_length, ...)
    mem_valid_length : ndarray, shape (batch,)
    data : ndarray, shape (batch, length, ...)
    data_valid_length : ndarray, shape (batch,), optional

    Returns
    -------
    ndarray of bool, shape (batch, length, mem_length)

    Examples
    --------
    >>> gen_mem_attn_mask(np.zeros((1, 3)), np.array([2]), np.zeros((1, 2))).astype("int32").tolist()
    [[[1, 1, 0], [1, 1, 0]]]
    """
    batch, length = data.shape[:2]
    seen = np.arange(mem.shape[1]).reshape((1, 1, -1)) < mem_valid_length.reshape((-1, 1, 1))
    mask = np.logical_and(np.ones((batch, length, mem.shape[1]), dtype="bool"), seen)
    if data_valid_length is None:
        return mask
    return np.logical_and(mask, np.arange(length).reshape((1, -1, 1)) < data_valid_length.reshape((-1, 1, 1)))


def gen_packed_attn_mask(segments: ndarray) -> ndarray:
    """Return the mask of self attention in rows of several texts, as ``gluonx.data.pack`` makes them.

    Parameters
    ----------
    segments : ndarray, shape (batch, length)
        The number of the text that each token is of; 0 for none.

    Returns
    -------
    ndarray of bool, shape (batch, length, length)
        True within a text.

    Examples
    --------
    >>> gen_packed_attn_mask(np.array([[1, 2, 0]])).astype("int32").tolist()
    [[[1, 0, 0], [0, 1, 0], [0, 0, 0]]]
    """
    same = segments.expand_dims(1) == segments.expand_dims(2)
    return np.logical_and(same, segments.expand_dims(1) > 0)


class MultiHeadAttention(HybridBlock):
    """Attention of several heads, from a projection of the queries, keys and values to one of the result.

    "Attention Is All You Need", https://arxiv.org/abs/1706.03762.

    Parameters
    ----------
    units : int
        The size of the output, and of all heads together.
    num_heads : int
        Divides `units`.
    dropout : float
        The share of attention weights that is dropped while training.
    use_bias : bool
        Whether the four projections have a bias.
    causal : bool
        Whether a token may look only at itself and at those before it.
    cross : bool
        Whether keys and values come from another sequence, a memory: then those two are fused, without the query.
    in_units, memory_units : int
        The size of the input, and of the memory; 0 leaves it to the first batch.
    fuse : bool
        Whether query, key and value become one matrix product at the first use.
    dtype, weight_initializer, bias_initializer
        As of :class:`Dense`.

    Raises
    ------
    ValueError
        If `num_heads` does not divide `units`.

    Examples
    --------
    >>> layer = MultiHeadAttention(8, 2, causal=True)
    >>> layer.initialize()
    >>> layer(np.ones((3, 5, 4))).shape
    (3, 5, 8)
    >>> sorted(layer.collect_params())
    ['proj.bias', 'proj.weight', 'qkv_bias', 'qkv_weight']
    >>> layer
    MultiHeadAttention(8, heads=2, causal)
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        dropout: float = 0.0,
        use_bias: bool = True,
        causal: bool = False,
        cross: bool = False,
        in_units: int = 0,
        memory_units: int = 0,
        fuse: bool = True,
        dtype: DTypeLike = "float32",
        weight_initializer: InitLike = None,
        bias_initializer: InitLike = "zeros",
    ) -> None:
        super().__init__()
        if num_heads < 1 or units % num_heads:
            raise ValueError(f"MultiHeadAttention: {num_heads} heads do not divide {units} units.")
        self._units, self._heads, self._causal, self._cross = units, num_heads, bool(causal), bool(cross)

        def dense(size: int) -> Dense:
            return Dense(
                units,
                use_bias=use_bias,
                flatten=False,
                dtype=dtype,
                in_units=size,
                weight_initializer=weight_initializer,
                bias_initializer=bias_initializer,
            )

        self.query, self.key, self.value = (dense(n) for n in (in_units, *[memory_units if cross else in_units] * 2))
        self.proj = dense(units)
        self._name = "kv" if cross else "qkv"
        parts = ("key", "value") if cross else ("query", "key", "value")
        self._bias = bool(use_bias)
        for kind in ("weight", "bias") if use_bias else ("weight",):
            self.declare_fusion(Fused(f"{self._name}_{kind}", tuple(f"{part}.{kind}" for part in parts)))
        dense_op, split = get("fully_connected"), get("split_heads")
        self._project = dense_op.bind(num_hidden=len(parts) * units, no_bias=not use_bias, flatten=False)
        self._split, self._split_one = split.bind(heads=num_heads, parts=len(parts)), split.bind(heads=num_heads)
        self._attend = get("dot_product_attention").bind(causal=self._causal, p=float(dropout))
        self._attend_cached = get("cached_attention").bind()
        self._merge = get("merge_heads").bind()
        if fuse:
            self.fuse()

    def forward(
        self,
        query: ndarray,
        key: ndarray | None = None,
        value: ndarray | None = None,
        mask: ndarray | None = None,
        valid_length: ndarray | None = None,
        cache: Cache | None = None,
    ) -> Any:
        """Attend.

        Parameters
        ----------
        query : ndarray, shape (batch, queries, in_units)
        key, value : ndarray, shape (batch, keys, memory_units), optional
            By default `query` (self attention); `value` by default `key`.
        mask : ndarray, optional
            True where a query may look: (batch, queries, keys), (queries, keys), or what broadcasts to
            (batch, heads, queries, keys).
        valid_length : ndarray, shape (batch,), optional
            How many keys of each sample are no padding.
        cache : tuple, optional
            Of :meth:`init_cache`, or as the call before returned it: `query` holds the tokens that follow those in the
            cache. Masks are then over the length of the cache. Only for self attention, and always causal.

        Returns
        -------
        ndarray, shape (batch, queries, units)
            With a cache ``(ndarray, cache)``.

        Raises
        ------
        ShapeError
            If a layer with ``cross=True`` is given no `key`, or a cache comes with one.
        """
        q, k, v = self._projected(query, key, value)
        if cache is None:
            out = invoke(self._attend, (q, k, v, mask, valid_length))
        else:
            if key is not None:
                raise ShapeError("MultiHeadAttention: a cache is for self attention, but a key was given too.")
            out, *cache = invoke(self._attend_cached, (q, k, v, *cache, mask, valid_length))  # type: ignore[assignment]
        out = self.proj(invoke(self._merge, (out,)))
        return out if cache is None else (out, tuple(cache))

    def _projected(
        self, query: ndarray, key: ndarray | None, value: ndarray | None
    ) -> tuple[ndarray, ndarray, ndarray]:
        if self._cross and key is None:
            raise ShapeError("MultiHeadAttention(cross=True) attends to a memory: call it with layer(query, memory).")
        one = self._split_one
        sharding = self.key.weight.sharding
        apart = sharding is not None and bool(sharding.spec)  # joined, parts would have to be sent around
        apart = apart or type(self.query) is not Dense or type(self.key) is not Dense or type(self.value) is not Dense
        if not self._cross and key is None and value is None and not apart:
            return invoke(self._split, (self._fused(query),))
        q = invoke(one, (self.query(query),))
        key = query if key is None else key
        if self._cross and value is None and not apart:
            return (q, *invoke(self._split, (self._fused(key),)))
        return q, invoke(one, (self.key(key),)), invoke(one, (self.value(key if value is None else value),))

    def _fused(self, x: ndarray) -> ndarray:
        weight = self.weights_of(f"{self._name}_weight")
        bias = self.weights_of(f"{self._name}_bias") if self._bias else None
        return invoke(self._project, (x, weight) if bias is None else (x, weight, bias))

    def infer_shape(
        self, query: ndarray, key: ndarray | None = None, value: ndarray | None = None, *args: Any, **kwargs: Any
    ) -> None:
        """Learn the sizes of input and memory."""
        key = query if key is None else key
        for layer, x in ((self.query, query), (self.key, key), (self.value, key if value is None else value)):
            layer.weight.shape = (self._units, x.shape[-1])

    def init_cache(self, batch_size: int, length: int, dtype: DTypeLike = None) -> Cache:
        """Return an empty cache for decoding.

        Parameters
        ----------
        batch_size : int
        length : int
            The most tokens that will be decoded. More of them overwrite the end.
        dtype : dtype-like, optional
            That of the parameters by default.

        Returns
        -------
        tuple of ndarray
            Keys and values of shape (batch_size, length, num_heads, width), and the number of tokens, zero.
        """
        shape = (batch_size, length, self._heads, self._units // self._heads)
        dtype = self.query.weight.dtype if dtype is None else dtype
        return np.zeros(shape, dtype=dtype), np.zeros(shape, dtype=dtype), np.zeros((), dtype="int32")

    @unfailing
    def __repr__(self) -> str:
        said = [str(self._units), f"heads={self._heads}"]
        said += [word for word, yes in (("causal", self._causal), ("cross", self._cross)) if yes]
        return f"{type(self).__name__}({', '.join(said)})"
