"""The networks that most weights on the Hugging Face Hub are of, and transformers' names for their parameters.

:class:`BERT`, :class:`GPT2`, :class:`ViT` and, for the models like Llama, :class:`gluonx.nn.CausalDecoder` are built of
the layers of `gluonx.nn`, and compute what transformers' models of their kinds do. `of_config` makes one of the content
of a ``config.json``, and `names_of` is the map of names, which `gluonx.weights.from_pretrained` puts together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gluonx import np
from gluonx.block.block import Block, HybridBlock
from gluonx.block.naming import Map, Part, Target, Turned
from gluonx.block.parameter import Parameter
from gluonx.dtype import DTypeLike
from gluonx.errors import ArgumentError
from gluonx.nn import (
    CausalDecoder,
    Dense,
    Dropout,
    Embedding,
    LayerNorm,
    PatchEmbedding,
    TransformerEncoder,
)
from gluonx.nn.attention import Cache
from gluonx.np import ndarray

__all__ = ["BERT", "GPT2", "ViT", "names_of", "of_config", "saved_names"]


class BERT(HybridBlock):
    """The encoder of "BERT", https://arxiv.org/abs/1810.04805, with its pooled first token or its scores of words.

    Parameters
    ----------
    vocab_size, num_layers, units, hidden_size, num_heads : int
        How many tokens there are, and the sizes of the encoder.
    max_length, types : int
        How many positions and how many kinds of tokens there are.
    head : {'pooler', 'words', None}
        What comes after the encoder: a dense layer on the first token, or the scores of the word in each place, whose
        weight is the table of words.
    dropout, epsilon : float
        Of the encoder, and of its normalizations.
    activation : str
        Of the encoder.

    Examples
    --------
    >>> net = BERT(vocab_size=10, num_layers=1, units=8, hidden_size=16, num_heads=2)
    >>> net.initialize()
    >>> sequence, pooled = net(np.array([[1, 2, 3]]))
    >>> sequence.shape, pooled.shape
    ((1, 3, 8), (1, 8))
    """

    def __init__(
        self,
        vocab_size: int,
        num_layers: int,
        units: int,
        hidden_size: int,
        num_heads: int,
        max_length: int = 512,
        types: int = 2,
        head: str | None = "pooler",
        dropout: float = 0.1,
        epsilon: float = 1e-12,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        if head not in ("pooler", "words", None):
            raise ArgumentError(f"head must be 'pooler', 'words' or None, got {head!r}.")
        self.max_length = max_length
        self.words = Embedding(vocab_size, units)
        self.places = Embedding(max_length, units)
        self.types = Embedding(types, units)
        self.norm = LayerNorm(epsilon=epsilon, in_channels=units)
        self.dropout = Dropout(dropout)
        self.encoder = TransformerEncoder(
            num_layers, units, hidden_size, num_heads, dropout, dropout, 0.0, epsilon, activation=activation
        )
        self.pooler = Dense(units, activation="tanh", in_units=units) if head == "pooler" else None
        self.scores = _Scores(self.words, vocab_size, units, epsilon, activation) if head == "words" else None

    def forward(
        self,
        tokens: ndarray,
        types: ndarray | None = None,
        valid_length: ndarray | None = None,
        mask: ndarray | None = None,
        positions: ndarray | None = None,
    ) -> Any:
        """Encode.

        Parameters
        ----------
        tokens : ndarray of int, shape (batch, length)
        types : ndarray of int, shape (batch, length), optional
            0 by default.
        valid_length : ndarray, shape (batch,), optional
            The length of each sample; the rest is padding that is not looked at.
        mask : ndarray, optional
            As `mask` of :class:`gluonx.nn.MultiHeadAttention`.
        positions : ndarray of int, shape (batch, length), optional
            Of rows of several texts, as `gluonx.data.pack` makes them; 0, 1, 2 ... by default.

        Returns
        -------
        ndarray
            The encoded tokens (batch, length, units), with a pooler ``(encoded, pooled)``; or scores (batch, length,
            vocab_size).
        """
        if positions is None:
            _check_length(self, tokens.shape[1])
            positions = np.arange(tokens.shape[1], dtype="int32")
        x = self.words(tokens) + self.places(positions)
        x = x + self.types(np.zeros_like(tokens) if types is None else types)
        x = self.encoder(self.dropout(self.norm(x)), valid_length, mask)
        if self.pooler is not None:
            return x, self.pooler(x[:, 0])
        return x if self.scores is None else self.scores(x)


class _Scores(HybridBlock):
    """Scores of words, whose table is the last weight too."""

    def __init__(self, words: Embedding, size: int, units: int, epsilon: float, activation: str) -> None:
        super().__init__()
        self.change = Dense(units, activation=activation, flatten=False, in_units=units)
        self.norm = LayerNorm(epsilon=epsilon, in_channels=units)
        self.output = Dense(size, flatten=False, in_units=units)
        self.output.weight = words.weight

    def forward(self, x: ndarray) -> ndarray:
        """Map (batch, length, units) to (batch, length, words)."""
        return self.output(self.norm(self.change(x)))


class GPT2(HybridBlock):
    """The language model of "Language Models are Unsupervised Multitask Learners", for `gluonx.generate` too.

    Parameters
    ----------
    vocab_size, num_layers, units, num_heads : int
        How many tokens there are, and the sizes of the net.
    hidden_size : int, optional
        Four times `units` by default.
    max_length : int
        How many positions there are.
    dropout, epsilon, activation
        As of :class:`BERT`.

    Examples
    --------
    >>> import gluonx
    >>> net = GPT2(vocab_size=10, num_layers=1, units=8, num_heads=2, max_length=16)
    >>> net.initialize()
    >>> net(np.array([[1, 2, 3]])).shape
    (1, 3, 10)
    >>> len(gluonx.generate(net, [1, 2, 3], max_new_tokens=4)[0])
    4
    """

    def __init__(
        self,
        vocab_size: int,
        num_layers: int,
        units: int,
        num_heads: int,
        hidden_size: int | None = None,
        max_length: int = 1024,
        dropout: float = 0.1,
        epsilon: float = 1e-5,
        activation: str = "gelu_tanh",
    ) -> None:
        super().__init__()
        self.max_length, self.vocab_size = max_length, vocab_size
        self.words = Embedding(vocab_size, units)
        self.places = Embedding(max_length, units)
        self.dropout = Dropout(dropout)
        self.decoder = TransformerEncoder(
            num_layers,
            units,
            hidden_size or 4 * units,
            num_heads,
            dropout,
            dropout,
            0.0,
            epsilon,
            pre_norm=True,
            activation=activation,
            causal=True,
        )
        self.head = Dense(vocab_size, use_bias=False, flatten=False, in_units=units)
        self.head.weight = self.words.weight

    def forward(self, tokens: ndarray, mask: ndarray | None = None) -> ndarray:
        """Return logits (batch, length, vocab_size) of tokens (batch, length)."""
        _check_length(self, tokens.shape[1])
        x = self.words(tokens) + self.places(np.arange(tokens.shape[1], dtype="int32"))
        return self.head(self.decoder(self.dropout(x), None, mask))

    def init_states(self, batch_size: int, length: int, dtype: DTypeLike = None) -> list[Cache]:
        """Return empty caches for `length` tokens, one of each layer."""
        return self.decoder.init_states(batch_size, length, dtype)

    def incremental_decode(
        self, tokens: ndarray, states: list[Cache], mask: ndarray | None = None
    ) -> tuple[ndarray, list[Cache]]:
        """Return the logits of the tokens that follow those in the caches, and the caches after them.

        Where a mask (batch, new, length) hides columns, as those before a prompt that is padded on the left, they have
        no position: a token's position is how many columns before it may be looked at.
        """
        new = tokens.shape[1]
        place = np.arange(new, dtype="int32") + states[0][2]
        if mask is not None:
            columns = np.arange(mask.shape[2], dtype="int32").reshape((1, 1, -1))
            seen = np.logical_and(mask, columns < place.reshape((1, -1, 1)))
            place = seen.sum(axis=2).astype("int32")
        x = self.dropout(self.words(tokens) + self.places(place))
        x, after = self.decoder.incremental_decode(x, states, mask)
        return self.head(x), after


class ViT(HybridBlock):
    """The network of "An Image is Worth 16x16 Words", https://arxiv.org/abs/2010.11929.

    Parameters
    ----------
    classes : int
        How many outputs there are; 0 for the encoded patches.
    image_size, patch_size, in_channels : int
        Of the (square) images.
    num_layers, units, hidden_size, num_heads : int
        The sizes of the encoder.
    dropout, epsilon, activation
        As of :class:`BERT`.

    Examples
    --------
    >>> net = ViT(3, image_size=8, patch_size=4, num_layers=1, units=8, hidden_size=16, num_heads=2)
    >>> net.initialize()
    >>> net(np.ones((2, 3, 8, 8))).shape
    (2, 3)
    """

    def __init__(
        self,
        classes: int = 1000,
        image_size: int = 224,
        patch_size: int = 16,
        in_channels: int = 3,
        num_layers: int = 12,
        units: int = 768,
        hidden_size: int = 3072,
        num_heads: int = 12,
        dropout: float = 0.0,
        epsilon: float = 1e-12,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        self.patches = PatchEmbedding(units, patch_size, in_channels)
        self.token = Parameter("token", shape=(1, 1, units), init="zeros")
        self.places = Parameter("places", shape=(1, 1 + (image_size // patch_size) ** 2, units), init="zeros")
        self.dropout = Dropout(dropout)
        self.encoder = TransformerEncoder(
            num_layers,
            units,
            hidden_size,
            num_heads,
            dropout,
            dropout,
            0.0,
            epsilon,
            pre_norm=True,
            activation=activation,
        )
        self.output = Dense(classes, in_units=units) if classes else None

    def forward(self, images: ndarray) -> ndarray:
        """Map images (batch, channel, height, width) to scores (batch, classes)."""
        x = self.patches(images)
        first = np.broadcast_to(self.token.data(), (x.shape[0], 1, x.shape[2]))
        x = self.encoder(self.dropout(np.concatenate([first, x], axis=1) + self.places.data()))
        return x if self.output is None else self.output(x[:, 0])


def _check_length(net: Any, length: int) -> None:
    if length > net.max_length:
        raise ArgumentError(
            f"{type(net).__name__} has {net.max_length} positions (max_length), but the text has {length} tokens."
        )


def _parts(theirs: str, ours: str) -> list[tuple[str, Any]]:
    """Return rules for query, key and value, three layers there and one parameter here."""
    return [
        (theirs.format(word) + rf"\.{kind}", Part(rf"{ours}.qkv_{kind}", i, 3))
        for kind in ("weight", "bias")
        for i, word in enumerate(("query", "key", "value"))
    ]


_LAYER, _OURS = r"encoder\.layer\.(\d+)\.", r"encoder.layers.\1."
_COMMON = [
    (_LAYER + r"attention\.output\.dense\.(.*)", _OURS + r"self_attention.proj.\2"),
    (_LAYER + r"intermediate\.dense\.(.*)", _OURS + r"ffn.ffn_1.\2"),
    (_LAYER + r"output\.dense\.(.*)", _OURS + r"ffn.ffn_2.\2"),
]
_BERT = [
    *_parts(_LAYER + r"attention\.self\.{}", _OURS + "self_attention"),
    *_COMMON,
    (_LAYER + r"attention\.output\.LayerNorm\.(.*)", _OURS + r"layer_norm.\2"),
    (_LAYER + r"output\.LayerNorm\.(.*)", _OURS + r"ffn.layer_norm.\2"),
    (r"embeddings\.word_embeddings\.weight", "words.weight"),
    (r"embeddings\.position_embeddings\.weight", "places.weight"),
    (r"embeddings\.token_type_embeddings\.weight", "types.weight"),
    (r"embeddings\.LayerNorm\.(.*)", r"norm.\1"),
    (r"pooler\.dense\.(.*)", r"pooler.\1"),
    (r"cls\.predictions\.transform\.dense\.(.*)", r"scores.change.\1"),
    (r"cls\.predictions\.transform\.LayerNorm\.(.*)", r"scores.norm.\1"),
    (r"cls\.predictions\.bias", "scores.output.bias"),
    (r"cls\.predictions\.decoder\.weight", "scores.output.weight"),
]
_VIT = [
    *_parts(_LAYER + r"attention\.attention\.{}", _OURS + "self_attention"),
    *_COMMON,
    (_LAYER + r"layernorm_before\.(.*)", _OURS + r"layer_norm.\2"),
    (_LAYER + r"layernorm_after\.(.*)", _OURS + r"ffn.layer_norm.\2"),
    (r"embeddings\.cls_token", "token"),
    (r"embeddings\.position_embeddings", "places"),
    (r"embeddings\.patch_embeddings\.projection\.(.*)", r"patches.proj.\1"),
    (r"layernorm\.(.*)", r"encoder.layer_norm.\1"),
    (r"classifier\.(.*)", r"output.\1"),
]
_GPT2 = [
    (r"h\.(\d+)\.attn\.c_attn\.weight", Turned(r"decoder.layers.\1.self_attention.qkv_weight")),
    (r"h\.(\d+)\.attn\.c_attn\.bias", r"decoder.layers.\1.self_attention.qkv_bias"),
    (r"h\.(\d+)\.attn\.c_proj\.weight", Turned(r"decoder.layers.\1.self_attention.proj.weight")),
    (r"h\.(\d+)\.attn\.c_proj\.bias", r"decoder.layers.\1.self_attention.proj.bias"),
    (r"h\.(\d+)\.ln_1\.(.*)", r"decoder.layers.\1.layer_norm.\2"),
    (r"h\.(\d+)\.ln_2\.(.*)", r"decoder.layers.\1.ffn.layer_norm.\2"),
    (r"h\.(\d+)\.mlp\.c_fc\.weight", Turned(r"decoder.layers.\1.ffn.ffn_1.weight")),
    (r"h\.(\d+)\.mlp\.c_fc\.bias", r"decoder.layers.\1.ffn.ffn_1.bias"),
    (r"h\.(\d+)\.mlp\.c_proj\.weight", Turned(r"decoder.layers.\1.ffn.ffn_2.weight")),
    (r"h\.(\d+)\.mlp\.c_proj\.bias", r"decoder.layers.\1.ffn.ffn_2.bias"),
    (r"wte\.weight", "words.weight"),
    (r"wpe\.weight", "places.weight"),
    (r"ln_f\.(.*)", r"decoder.layer_norm.\1"),
    (r"lm_head\.weight", "head.weight"),
]
_LLAMA = [
    *(
        (rf"layers\.(\d+)\.self_attn\.{letter}_proj\.(.*)", rf"layers.\1.attention.{word}.\2")
        for letter, word in (("q", "query"), ("k", "key"), ("v", "value"), ("o", "proj"))
    ),
    (r"layers\.(\d+)\.mlp\.(gate|up|down)_proj\.(.*)", r"layers.\1.ffn.\2.\3"),
    (r"layers\.(\d+)\.input_layernorm\.weight", r"layers.\1.attention_norm.gamma"),
    (r"layers\.(\d+)\.post_attention_layernorm\.weight", r"layers.\1.ffn_norm.gamma"),
    (r"embed_tokens\.weight", "embedding.weight"),
    (r"norm\.weight", "norm.gamma"),
    (r"lm_head\.weight", "head.weight"),
]
_RULES: dict[type, tuple[str, list[tuple[str, Any]]]] = {
    BERT: ("bert", _BERT),
    GPT2: ("transformer", _GPT2),
    ViT: ("vit", _VIT),
    CausalDecoder: ("model", _LLAMA),
}
"""Of each net the name that transformers' models with a head have for the model within, and the rules."""


def names_of(net: Block) -> Map:
    r"""Return the rules from transformers' names of a net's parameters to ours.

    Parameters
    ----------
    net : BERT, GPT2, ViT or gluonx.nn.CausalDecoder

    Raises
    ------
    ArgumentError
        If it is another net.

    Examples
    --------
    >>> rules = names_of(GPT2(vocab_size=10, num_layers=1, units=8, num_heads=2))
    >>> rules[-1]
    ('(?:transformer\\.)?lm_head\\.weight', 'head.weight')
    """
    for kind, (prefix, rules) in _RULES.items():
        if isinstance(net, kind):
            return [(rf"(?:{prefix}\.)?{theirs}", ours) for theirs, ours in rules]
    known = ", ".join(kind.__name__ for kind in _RULES)
    raise ArgumentError(f"There are names of transformers for {known}, not for {type(net).__name__}.")


def saved_names(net: Block) -> dict[str, Target]:
    """Return the map from the names that transformers' model with the same head has: for `gluonx.weights.save`.

    Parameters
    ----------
    net : BERT, GPT2, ViT or gluonx.nn.CausalDecoder

    Examples
    --------
    >>> saved_names(GPT2(vocab_size=10, num_layers=1, units=8, num_heads=2))["transformer.wte.weight"]
    'words.weight'
    """
    names_of(net)  # raises for another net
    prefix, rules = next(found for kind, found in _RULES.items() if isinstance(net, kind))
    with_head = getattr(net, "scores" if isinstance(net, BERT) else "output", True) is not None
    found: dict[str, Target] = {}
    known: set[int] = set()
    params = net.collect_params()
    for theirs, to in rules:
        groups = re.findall(r"\(.*?\)", theirs)
        ours = to if isinstance(to, str) else to.name
        pattern = re.sub(r"\\(\d)", lambda hit: groups[int(hit[1]) - 1], ours.replace(".", "[.]"))  # noqa: B023
        for name, param in params.items():
            hit = re.fullmatch(pattern, name)
            if hit is None or (id(param) in known and isinstance(to, str)):  # a tied weight is written once
                continue
            known.add(id(param))
            parts = iter([_LEAVES.get(part, part) for part in hit.groups()])
            full = re.sub(r"\(.*?\)", lambda _: next(parts), theirs).replace(r"\.", ".")  # noqa: B023
            of_head = full.startswith(("cls.", "classifier.", "lm_head."))
            found[full if of_head or not with_head else f"{prefix}.{full}"] = _renamed(to, name)
    return found


_LEAVES = {"gamma": "weight", "beta": "bias"}


def _renamed(to: Any, name: str) -> Target:
    return name if isinstance(to, str) else replace(to, name=name)


_ACTIVATIONS = {
    "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu_fast": "gelu_tanh", "hardswish": "hard_swish",
    **{name: name for name in ("gelu", "mish", "quick_gelu", "relu", "relu6", "sigmoid", "silu", "swish", "tanh")},
}  # fmt: skip
"""Names of activations in transformers that have the same numbers here; its leaky_relu, for one, has another slope."""


def _bert(config: Mapping[str, Any], kind: str) -> Block:
    _refuse(config, position_embedding_type=("absolute",))
    return BERT(
        config["vocab_size"],
        config["num_hidden_layers"],
        config["hidden_size"],
        config["intermediate_size"],
        config["num_attention_heads"],
        config["max_position_embeddings"],
        config["type_vocab_size"],
        "pooler" if kind == "BertModel" else "words",
        config.get("hidden_dropout_prob", 0.1),
        config.get("layer_norm_eps", 1e-12),
        _activation(config["hidden_act"]),
    )


def _gpt2(config: Mapping[str, Any], kind: str) -> Block:
    _refuse(config, scale_attn_weights=(True,), scale_attn_by_inverse_layer_idx=(False,), tie_word_embeddings=(True,))
    return GPT2(
        config["vocab_size"],
        config["n_layer"],
        config["n_embd"],
        config["n_head"],
        config.get("n_inner"),
        config["n_positions"],
        config.get("resid_pdrop", 0.1),
        config.get("layer_norm_epsilon", 1e-5),
        _activation(config.get("activation_function", "gelu_new")),
    )


def _vit(config: Mapping[str, Any], kind: str) -> Block:
    _refuse(config, qkv_bias=(True,))
    classes = len(config.get("id2label", ())) or config.get("num_labels", 2)
    return ViT(
        classes if kind == "ViTForImageClassification" else 0,
        config["image_size"],
        config["patch_size"],
        config.get("num_channels", 3),
        config["num_hidden_layers"],
        config["hidden_size"],
        config["intermediate_size"],
        config["num_attention_heads"],
        config.get("hidden_dropout_prob", 0.0),
        config.get("layer_norm_eps", 1e-12),
        _activation(config["hidden_act"]),
    )


def _llama(config: Mapping[str, Any], kind: str) -> Block:
    units, heads = config["hidden_size"], config["num_attention_heads"]
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    rotation = rope.get("rope_type", rope.get("type", "default"))
    bias = config.get("attention_bias", False)
    _refuse({"rope_type": rotation}, rope_type=("default",))
    _refuse(config, head_dim=(None, units // heads), sliding_window=(None,), mlp_bias=(bias,), pretraining_tp=(1,))
    return CausalDecoder(
        config["vocab_size"],
        config["num_hidden_layers"],
        units,
        config["intermediate_size"],
        heads,
        config.get("num_key_value_heads"),
        rope.get("rope_theta", config.get("rope_theta", 10000.0)),
        config.get("rms_norm_eps", 1e-6),
        bias,
        _activation(config["hidden_act"]),
        config.get("tie_word_embeddings", False),
    )


_Maker = Callable[[Mapping[str, Any], str], Block]
_MADE: dict[str, tuple[_Maker, tuple[str, ...]]] = {
    "bert": (_bert, ("BertModel", "BertForMaskedLM", "BertForPreTraining")),
    "gpt2": (_gpt2, ("GPT2LMHeadModel", "GPT2Model")),
    "vit": (_vit, ("ViTForImageClassification", "ViTModel")),
    "llama": (_llama, ("LlamaForCausalLM",)),
    "mistral": (_llama, ("MistralForCausalLM",)),
}
"""By model type what makes the net, and the architectures whose outputs it has."""


def _activation(name: str) -> str:
    try:
        return _ACTIVATIONS[name]
    except KeyError:
        known = ", ".join(map(repr, sorted(_ACTIVATIONS)))
        raise ArgumentError(f"The activation {name!r} of transformers is not known here; known are {known}.") from None


def _refuse(config: Mapping[str, Any], **known: tuple[Any, ...]) -> None:
    for name, values in known.items():
        if name in config and config[name] not in values:
            raise ArgumentError(
                f"The configuration has {name}={config[name]!r}; what gluonx computes is that of "
                f"{' or '.join(map(repr, values))}."
            )


def of_config(config: Mapping[str, Any]) -> Block:
    """Return a net without values of a configuration, the content of a ``config.json`` of the Hub.

    Parameters
    ----------
    config : mapping
        Its ``model_type`` is 'bert', 'gpt2', 'vit', 'llama' or 'mistral', and ``architectures`` tells the head.

    Raises
    ------
    ArgumentError
        If it is another model, or has a setting that would compute something else.

    Examples
    --------
    >>> config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 10, "n_embd": 8}
    >>> config |= {"n_layer": 1, "n_head": 2, "n_positions": 16}
    >>> type(of_config(config)).__name__
    'GPT2'
    """
    kind = config.get("model_type")
    if kind not in _MADE:
        raise ArgumentError(f"There are nets for the model types {', '.join(map(repr, _MADE))}, not for {kind!r}.")
    make, architectures = _MADE[kind]
    wanted = [name for name in config.get("architectures") or () if name in architectures]
    if not wanted:
        raise ArgumentError(
            f"The configuration's architectures are {config.get('architectures')}; of a {kind!r} there are nets for "
            f"{', '.join(architectures)}."
        )
    try:
        return make(config, wanted[0])
    except KeyError as error:
        raise ArgumentError(f"The configuration of a {kind!r} lacks {error}.") from None


def __dir__() -> list[str]:
    return sorted(__all__)
