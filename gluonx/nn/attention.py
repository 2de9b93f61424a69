"""Attention and the layers of a transformer, by the names that GluonNLP gave to their settings.

Arrays are (batch, length, units). Query, key and value are three Dense layers with weights of their own, as one thinks
of them; they are fused into one matrix product when the layer is first used (``fuse=False`` leaves them apart), and
files hold the three either way. What may be looked at is said by ``mask`` (True: it may), by ``valid_length`` and by
``causal``.

Decoding token by token keeps keys and values in a cache of fixed length. The place in it is an array, so every step is
the same program.
"""

from __future__ import annotations

from typing import Any

from gluonx import np
from gluonx.block import HybridBlock
from gluonx.deferred import invoke
from gluonx.deferred.fusion import Fused
from gluonx.errors import ShapeError
from gluonx.nn.activations import GELU, Activation
from gluonx.nn.basic import Dense, Dropout
from gluonx.nn.containers import HybridSequential
from gluonx.nn.norm import LayerNorm
from gluonx.ops import get

__all__ = [
    "MultiHeadAttention",
    "PositionwiseFFN",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "gen_mem_attn_mask",
    "gen_self_attn_mask",
]

Cache = tuple[Any, Any, Any]


def gen_self_attn_mask(data: Any, valid_length: Any = None, attn_type: str = "full") -> Any:
    """The mask of self attention: which token may look at which.

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


def gen_mem_attn_mask(mem: Any, mem_valid_length: Any, data: Any, data_valid_length: Any = None) -> Any:
    """The mask of attention to a memory: which token of `data` may look at which of `mem`.

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
        dtype: Any = "float32",
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
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
        query: Any,
        key: Any = None,
        value: Any = None,
        mask: Any = None,
        valid_length: Any = None,
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

    def _projected(self, query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
        if self._cross and key is None:
            raise ShapeError("MultiHeadAttention(cross=True) attends to a memory: call it with layer(query, memory).")
        one = self._split_one
        if not self._cross and key is None and value is None:
            return invoke(self._split, (self._fused(query),))
        q = invoke(one, (self.query(query),))
        key = query if key is None else key
        if self._cross and value is None:
            return (q, *invoke(self._split, (self._fused(key),)))
        return q, invoke(one, (self.key(key),)), invoke(one, (self.value(key if value is None else value),))

    def _fused(self, x: Any) -> Any:
        weight = self.weights_of(f"{self._name}_weight")
        bias = self.weights_of(f"{self._name}_bias") if self._bias else None
        return invoke(self._project, (x, weight) if bias is None else (x, weight, bias))

    def infer_shape(self, query: Any, key: Any = None, value: Any = None, *args: Any, **kwargs: Any) -> None:
        """Learn the sizes of input and memory."""
        key = query if key is None else key
        for layer, x in ((self.query, query), (self.key, key), (self.value, key if value is None else value)):
            layer.weight.shape = (self._units, x.shape[-1])

    def init_cache(self, batch_size: int, length: int, dtype: Any = None) -> Cache:
        """An empty cache for decoding.

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

    def __repr__(self) -> str:
        said = [str(self._units), f"heads={self._heads}"]
        said += [word for word, yes in (("causal", self._causal), ("cross", self._cross)) if yes]
        return f"{type(self).__name__}({', '.join(said)})"


class PositionwiseFFN(HybridBlock):
    """Two dense layers for each token by itself, with a residual connection around them and a normalization.

    Parameters
    ----------
    units : int
        The size of input and output.
    hidden_size : int
        The size between the two layers.
    activation_dropout, dropout : float
        The shares that are dropped after the activation, and at the end.
    activation : str
        ``'gelu'``, or the name of an :class:`Activation`.
    layer_norm_eps : float
        Epsilon of the normalization.
    pre_norm : bool
        Whether to normalize the input in place of the output.
    dtype, weight_initializer, bias_initializer
        As of :class:`Dense`.

    Examples
    --------
    >>> layer = PositionwiseFFN(4, 8)
    >>> layer.initialize()
    >>> layer(np.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def __init__(
        self,
        units: int = 512,
        hidden_size: int = 2048,
        activation_dropout: float = 0.0,
        dropout: float = 0.1,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        activation: str = "relu",
        layer_norm_eps: float = 1e-5,
        pre_norm: bool = False,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self._pre_norm = pre_norm
        more = {"weight_initializer": weight_initializer, "bias_initializer": bias_initializer, "dtype": dtype}
        self.ffn_1 = Dense(hidden_size, flatten=False, in_units=units, **more)
        self.activation = GELU() if activation == "gelu" else Activation(activation)
        self.activation_dropout_layer = Dropout(activation_dropout)
        self.ffn_2 = Dense(units, flatten=False, in_units=hidden_size, **more)
        self.dropout_layer = Dropout(dropout)
        self.layer_norm = _norm(units, layer_norm_eps, dtype)

    def forward(self, data: Any) -> Any:
        """Map an array of shape (batch, length, units) to one like it."""
        x = self.layer_norm(data) if self._pre_norm else data
        x = self.ffn_2(self.activation_dropout_layer(self.activation(self.ffn_1(x))))
        x = self.dropout_layer(x) + data
        return x if self._pre_norm else self.layer_norm(x)


def _norm(units: int, epsilon: float, dtype: Any) -> LayerNorm:
    layer = LayerNorm(epsilon=epsilon, in_channels=units)
    layer.cast(dtype)
    return layer


class _TransformerLayer(HybridBlock):
    """What layers of encoder and decoder have in common."""

    def __init__(
        self,
        units: int = 512,
        hidden_size: int = 2048,
        num_heads: int = 8,
        attention_dropout_prob: float = 0.1,
        hidden_dropout_prob: float = 0.1,
        activation_dropout_prob: float = 0.0,
        layer_norm_eps: float = 1e-12,
        pre_norm: bool = False,
        use_qkv_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        activation: str = "relu",
        dtype: Any = "float32",
        fuse: bool = True,
        *,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self._pre_norm, self._units, self._eps, self._dtype = pre_norm, units, layer_norm_eps, dtype
        self._more: dict[str, Any] = {
            "weight_initializer": weight_initializer,
            "bias_initializer": bias_initializer,
            "dtype": dtype,
        }
        self._attention: dict[str, Any] = {
            "dropout": attention_dropout_prob,
            "use_bias": use_qkv_bias,
            "in_units": units,
            "fuse": fuse,
            **self._more,
        }
        self.self_attention = MultiHeadAttention(units, num_heads, causal=causal, **self._attention)
        self.layer_norm = _norm(units, layer_norm_eps, dtype)
        self.dropout_layer = Dropout(hidden_dropout_prob)
        self.ffn = PositionwiseFFN(
            units,
            hidden_size,
            activation_dropout_prob,
            hidden_dropout_prob,
            activation=activation,
            layer_norm_eps=layer_norm_eps,
            pre_norm=pre_norm,
            **self._more,
        )

    def _around(self, norm: Any, data: Any, attend: Any) -> Any:
        """An attention with its normalization and the residual connection."""
        out = self.dropout_layer(attend(norm(data) if self._pre_norm else data)) + data
        return out if self._pre_norm else norm(out)


class TransformerEncoderLayer(_TransformerLayer):
    """Self attention, then two dense layers, each with a residual connection and a normalization.

    Parameters
    ----------
    units : int
        The size of input and output.
    hidden_size : int
        The size between the dense layers.
    num_heads : int
        Divides `units`.
    attention_dropout_prob, hidden_dropout_prob, activation_dropout_prob : float
        The shares that are dropped of attention weights, of what is added to the residual, and after the activation.
    layer_norm_eps : float
        Epsilon of the normalizations.
    pre_norm : bool
        Whether to normalize inputs in place of outputs.
    use_qkv_bias : bool
        Whether the projections of attention have a bias.
    activation : str
        ``'gelu'``, or the name of an :class:`Activation`.
    fuse : bool
        See :class:`MultiHeadAttention`.
    dtype, weight_initializer, bias_initializer
        As of :class:`Dense`.

    Examples
    --------
    >>> layer = TransformerEncoderLayer(8, 16, 2)
    >>> layer.initialize()
    >>> layer(np.ones((3, 5, 8)), np.array([5, 2, 1])).shape
    (3, 5, 8)
    """

    def forward(self, data: Any, valid_length: Any = None, attn_mask: Any = None) -> Any:
        """Encode.

        Parameters
        ----------
        data : ndarray, shape (batch, length, units)
        valid_length : ndarray, shape (batch,), optional
            The length of each sample; the rest is padding that is not looked at.
        attn_mask : ndarray, optional
            As `mask` of :class:`MultiHeadAttention`.

        Returns
        -------
        ndarray, shape (batch, length, units)
        """
        return self.ffn(
            self._around(
                self.layer_norm, data, lambda x: self.self_attention(x, None, None, attn_mask, valid_length, None)
            )
        )


class TransformerDecoderLayer(_TransformerLayer):
    """Causal self attention, attention to a memory, and two dense layers, each with a residual and a normalization.

    Parameters
    ----------
    units, hidden_size, num_heads, ...
        As of :class:`TransformerEncoderLayer`.
    mem_units : int
        The size of the memory; `units` if 0.

    Examples
    --------
    >>> layer = TransformerDecoderLayer(8, 16, 2)
    >>> layer.initialize()
    >>> layer(np.ones((3, 5, 8)), np.ones((3, 4, 8)), np.array([4, 2, 1])).shape
    (3, 5, 8)
    """

    def __init__(self, *args: Any, mem_units: int = 0, **kwargs: Any) -> None:
        super().__init__(*args, causal=True, **kwargs)
        more = {**self._attention, "memory_units": mem_units or self._units}
        self.mem_attention = MultiHeadAttention(self._units, self.self_attention._heads, cross=True, **more)
        self.mem_layer_norm = _norm(self._units, self._eps, self._dtype)

    def forward(
        self, data: Any, mem: Any, mem_valid_length: Any = None, attn_mask: Any = None, mem_mask: Any = None
    ) -> Any:
        """Decode all tokens at once, as in training.

        Parameters
        ----------
        data : ndarray, shape (batch, length, units)
        mem : ndarray, shape (batch, mem_length, mem_units)
        mem_valid_length : ndarray, shape (batch,), optional
        attn_mask, mem_mask : ndarray, optional
            As `mask` of :class:`MultiHeadAttention`. Self attention is causal in any case.

        Returns
        -------
        ndarray, shape (batch, length, units)
        """
        out = self._around(self.layer_norm, data, lambda x: self.self_attention(x, None, None, attn_mask, None, None))
        return self._after(out, mem, mem_valid_length, mem_mask)

    def _after(self, data: Any, mem: Any, mem_valid_length: Any, mem_mask: Any) -> Any:
        return self.ffn(
            self._around(
                self.mem_layer_norm, data, lambda x: self.mem_attention(x, mem, None, mem_mask, mem_valid_length, None)
            )
        )

    def init_states(self, batch_size: int, length: int, dtype: Any = None) -> Cache:
        """The empty states of decoding; see :meth:`MultiHeadAttention.init_cache`."""
        return self.self_attention.init_cache(batch_size, length, dtype)

    def incremental_decode(
        self, data: Any, states: Cache, mem: Any, mem_valid_length: Any = None, mem_mask: Any = None
    ) -> tuple[Any, Cache]:
        """Decode the next tokens.

        Parameters
        ----------
        data : ndarray, shape (batch, new, units)
        states : tuple
            Of :meth:`init_states`, or as the call before returned them.
        mem, mem_valid_length, mem_mask
            As in :meth:`forward`.

        Returns
        -------
        ndarray, tuple
            The output for the new tokens, shape (batch, new, units), and the states after them.
        """
        kept: list[Cache] = []

        def attend(x: Any) -> Any:
            out, cache = self.self_attention(x, None, None, None, None, states)
            kept.append(cache)
            return out

        out = self._around(self.layer_norm, data, attend)
        return self._after(out, mem, mem_valid_length, mem_mask), kept[0]


class _Stack(HybridBlock):
    """Layers one after the other; the last output is normalized where the layers normalize their inputs."""

    _layer: Any

    def __init__(self, num_layers: int = 6, units: int = 512, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"{type(self).__name__} has {num_layers} layers; at least one was expected.")
        self.layers = HybridSequential()
        for _ in range(num_layers):
            self.layers.add(self._layer(units, *args, **kwargs))
        first = self.layers[0]
        self.layer_norm = _norm(units, first._eps, first._dtype) if first._pre_norm else None

    def _last(self, x: Any) -> Any:
        return x if self.layer_norm is None else self.layer_norm(x)


class TransformerEncoder(_Stack):
    """A stack of :class:`TransformerEncoderLayer`.

    Parameters
    ----------
    num_layers : int
        How many layers there are.
    units, hidden_size, num_heads, ...
        As of the layer.

    Examples
    --------
    >>> net = TransformerEncoder(2, 8, 16, 2)
    >>> net.initialize()
    >>> net(np.ones((3, 5, 8))).shape
    (3, 5, 8)
    """

    _layer = TransformerEncoderLayer

    def forward(self, data: Any, valid_length: Any = None, attn_mask: Any = None) -> Any:
        """Encode; arguments as of the layer."""
        for layer in self.layers:
            data = layer(data, valid_length, attn_mask)
        return self._last(data)


class TransformerDecoder(_Stack):
    """A stack of :class:`TransformerDecoderLayer`.

    Parameters
    ----------
    num_layers : int
        How many layers there are.
    units, hidden_size, num_heads, ...
        As of the layer.

    Examples
    --------
    >>> net = TransformerDecoder(2, 8, 16, 2)
    >>> net.initialize()
    >>> out, states = net.incremental_decode(np.ones((3, 1, 8)), net.init_states(3, 10), np.ones((3, 4, 8)))
    >>> out.shape
    (3, 1, 8)
    """

    _layer = TransformerDecoderLayer

    def forward(
        self, data: Any, mem: Any, mem_valid_length: Any = None, attn_mask: Any = None, mem_mask: Any = None
    ) -> Any:
        """Decode all tokens at once; arguments as of the layer."""
        for layer in self.layers:
            data = layer(data, mem, mem_valid_length, attn_mask, mem_mask)
        return self._last(data)

    def init_states(self, batch_size: int, length: int, dtype: Any = None) -> list[Cache]:
        """The empty states of decoding, one of each layer."""
        return [layer.init_states(batch_size, length, dtype) for layer in self.layers]

    def incremental_decode(
        self, data: Any, states: list[Cache], mem: Any, mem_valid_length: Any = None, mem_mask: Any = None
    ) -> tuple[Any, list[Cache]]:
        """Decode the next tokens; see :meth:`TransformerDecoderLayer.incremental_decode`."""
        after = []
        for layer, state in zip(self.layers, states, strict=True):
            data, state = layer.incremental_decode(data, state, mem, mem_valid_length, mem_mask)
            after.append(state)
        return self._last(data), after
