"""The layers of a transformer, by the names that GluonNLP gave to their settings.

Arrays are (batch, length, units). Every layer is a few layers with residual connections around them; where the
normalizations stand is said by ``pre_norm``. Query, key and value of each attention are fused when the layer is first
used, see :mod:`gluonx.nn.attention`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gluonx.block.block import Block, HybridBlock
from gluonx.dtype import DTypeLike
from gluonx.initializer import InitLike
from gluonx.nn.activations import Activation
from gluonx.nn.attention import Cache, MultiHeadAttention
from gluonx.nn.basic import Dense, Dropout
from gluonx.nn.containers import HybridSequential
from gluonx.nn.norm import LayerNorm
from gluonx.np import ndarray

__all__ = [
    "PositionwiseFFN",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


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
        The name of an :class:`Activation`.
    layer_norm_eps : float
        Epsilon of the normalization.
    pre_norm : bool
        Whether to normalize the input in place of the output.
    dtype, weight_initializer, bias_initializer
        As of :class:`Dense`.

    Examples
    --------
    >>> from gluonx import np
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
        weight_initializer: InitLike = None,
        bias_initializer: InitLike = "zeros",
        activation: str = "relu",
        layer_norm_eps: float = 1e-5,
        pre_norm: bool = False,
        dtype: DTypeLike = "float32",
    ) -> None:
        super().__init__()
        self._pre_norm = pre_norm
        more = {"weight_initializer": weight_initializer, "bias_initializer": bias_initializer, "dtype": dtype}
        self.ffn_1 = Dense(hidden_size, flatten=False, in_units=units, **more)
        self.activation = Activation(activation)
        self.activation_dropout_layer = Dropout(activation_dropout)
        self.ffn_2 = Dense(units, flatten=False, in_units=hidden_size, **more)
        self.dropout_layer = Dropout(dropout)
        self.layer_norm = _norm(units, layer_norm_eps, dtype)

    def forward(self, data: ndarray) -> ndarray:
        """Map an array of shape (batch, length, units) to one like it."""
        x = self.layer_norm(data) if self._pre_norm else data
        x = self.ffn_2(self.activation_dropout_layer(self.activation(self.ffn_1(x))))
        x = self.dropout_layer(x) + data
        return x if self._pre_norm else self.layer_norm(x)


def _norm(units: int, epsilon: float, dtype: DTypeLike) -> LayerNorm:
    layer = LayerNorm(epsilon=epsilon, in_channels=units)
    layer.cast(dtype)
    return layer


class _TransformerLayer(HybridBlock):
    """Base of the encoder's and the decoder's layers."""

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
        weight_initializer: InitLike = None,
        bias_initializer: InitLike = "zeros",
        activation: str = "relu",
        dtype: DTypeLike = "float32",
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

    def _around(self, norm: Block, data: ndarray, attend: Callable[[ndarray], ndarray]) -> ndarray:
        """Return an attention with its normalization and the residual connection."""
        out = self.dropout_layer(attend(norm(data) if self._pre_norm else data)) + data
        return out if self._pre_norm else norm(out)

    def _cached(self, data: ndarray, states: Cache, attn_mask: ndarray | None = None) -> tuple[ndarray, Cache]:
        """Return self attention with what is around it, by a cache, and the cache after it."""
        kept: list[Cache] = []

        def attend(x: ndarray) -> ndarray:
            out, cache = self.self_attention(x, None, None, attn_mask, None, states)
            kept.append(cache)
            return out

        return self._around(self.layer_norm, data, attend), kept[0]

    def init_states(self, batch_size: int, length: int, dtype: DTypeLike | None = None) -> Cache:
        """Return the empty states of decoding; see :meth:`MultiHeadAttention.init_cache`."""
        return self.self_attention.init_cache(batch_size, length, dtype)


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
        The name of an :class:`Activation`.
    fuse, causal : bool
        See :class:`MultiHeadAttention`.
    dtype, weight_initializer, bias_initializer
        As of :class:`Dense`.

    Examples
    --------
    >>> from gluonx import np
    >>> layer = TransformerEncoderLayer(8, 16, 2)
    >>> layer.initialize()
    >>> layer(np.ones((3, 5, 8)), np.array([5, 2, 1])).shape
    (3, 5, 8)
    """

    def forward(self, data: ndarray, valid_length: ndarray | None = None, attn_mask: ndarray | None = None) -> ndarray:
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

    def incremental_decode(self, data: Any, states: Cache, attn_mask: Any = None) -> tuple[Any, Cache]:
        """Decode the next tokens; for layers that were made with ``causal=True``.

        Parameters
        ----------
        data : ndarray, shape (batch, new, units)
        states : tuple
            Of :meth:`init_states`, or as the call before returned them.
        attn_mask : ndarray, optional
            Over the length of the cache.

        Returns
        -------
        ndarray, tuple
            The output for the new tokens, shape (batch, new, units), and the states after them.
        """
        out, after = self._cached(data, states, attn_mask)
        return self.ffn(out), after


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
    >>> from gluonx import np
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
        self,
        data: ndarray,
        mem: ndarray,
        mem_valid_length: ndarray | None = None,
        attn_mask: ndarray | None = None,
        mem_mask: ndarray | None = None,
    ) -> ndarray:
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

    def _after(
        self, data: ndarray, mem: ndarray, mem_valid_length: ndarray | None, mem_mask: ndarray | None
    ) -> ndarray:
        return self.ffn(
            self._around(
                self.mem_layer_norm, data, lambda x: self.mem_attention(x, mem, None, mem_mask, mem_valid_length, None)
            )
        )

    def incremental_decode(
        self, data: ndarray, states: Cache, mem: Any, mem_valid_length: Any = None, mem_mask: Any = None
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
        out, after = self._cached(data, states)
        return self._after(out, mem, mem_valid_length, mem_mask), after


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

    def _last(self, x: ndarray) -> ndarray:
        return x if self.layer_norm is None else self.layer_norm(x)

    def init_states(self, batch_size: int, length: int, dtype: DTypeLike | None = None) -> list[Cache]:
        """Return the empty states of decoding, one of each layer."""
        return [layer.init_states(batch_size, length, dtype) for layer in self.layers]

    def _decoded(self, data: ndarray, states: list[Cache], *more: ndarray) -> tuple[Any, list[Cache]]:
        after = []
        for layer, state in zip(self.layers, states, strict=True):
            data, state = layer.incremental_decode(data, state, *more)
            after.append(state)
        return self._last(data), after


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
    >>> from gluonx import np
    >>> net = TransformerEncoder(2, 8, 16, 2)
    >>> net.initialize()
    >>> net(np.ones((3, 5, 8))).shape
    (3, 5, 8)
    """

    _layer = TransformerEncoderLayer

    def forward(self, data: ndarray, valid_length: ndarray | None = None, attn_mask: ndarray | None = None) -> ndarray:
        """Encode; arguments as of the layer."""
        return self._last(self.chained(self.layers, data, valid_length, attn_mask))

    def incremental_decode(self, data: Any, states: list[Cache], attn_mask: Any = None) -> tuple[Any, list[Cache]]:
        """Decode the next tokens; see :meth:`TransformerEncoderLayer.incremental_decode`."""
        return self._decoded(data, states, attn_mask)


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
    >>> from gluonx import np
    >>> net = TransformerDecoder(2, 8, 16, 2)
    >>> net.initialize()
    >>> out, states = net.incremental_decode(np.ones((3, 1, 8)), net.init_states(3, 10), np.ones((3, 4, 8)))
    >>> out.shape
    (3, 1, 8)
    """

    _layer = TransformerDecoderLayer

    def forward(
        self,
        data: ndarray,
        mem: ndarray,
        mem_valid_length: ndarray | None = None,
        attn_mask: ndarray | None = None,
        mem_mask: ndarray | None = None,
    ) -> ndarray:
        """Decode all tokens at once; arguments as of the layer."""
        return self._last(self.chained(self.layers, data, mem, mem_valid_length, attn_mask, mem_mask))

    def incremental_decode(
        self, data: ndarray, states: list[Cache], mem: Any, mem_valid_length: Any = None, mem_mask: Any = None
    ) -> tuple[Any, list[Cache]]:
        """Decode the next tokens; see :meth:`TransformerDecoderLayer.incremental_decode`."""
        return self._decoded(data, states, mem, mem_valid_length, mem_mask)
