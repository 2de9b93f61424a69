# ruff: noqa
"""BERT pretraining as GluonNLP code is written: interleaved attention, masked positions, tied embeddings."""

import math
import mxnet as mx, numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, HybridBlock, Block


def _masked_softmax(F, att_score, mask, dtype):
    if mask is not None:
        neg = -10000.0 if np.dtype(dtype) == np.float16 else -1e18
        att_score = F.where(mask, att_score, neg * F.ones_like(att_score))
        att_weights = F.softmax(att_score, axis=-1) * mask
    else:
        att_weights = F.softmax(att_score, axis=-1)
    return att_weights


class PositionwiseFFN(HybridBlock):
    def __init__(
        self,
        units=16,
        hidden_size=32,
        dropout=0.0,
        use_residual=True,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._use_residual = use_residual
        with self.name_scope():
            self.ffn_1 = nn.Dense(
                units=hidden_size,
                flatten=False,
                weight_initializer=weight_initializer,
                bias_initializer=bias_initializer,
                prefix="ffn_1_",
            )
            self.activation = nn.GELU()
            self.ffn_2 = nn.Dense(
                units=units,
                flatten=False,
                weight_initializer=weight_initializer,
                bias_initializer=bias_initializer,
                prefix="ffn_2_",
            )
            self.dropout_layer = nn.Dropout(rate=dropout)
            self.layer_norm = nn.LayerNorm(in_channels=units, epsilon=1e-12)

    def hybrid_forward(self, F, inputs):
        outputs = self.ffn_2(self.activation(self.ffn_1(inputs)))
        outputs = self.dropout_layer(outputs)
        if self._use_residual:
            outputs = outputs + inputs
        return self.layer_norm(outputs)


class DotProductSelfAttentionCell(HybridBlock):
    def __init__(
        self,
        units,
        num_heads,
        dropout=0.0,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._num_heads, self._units, self._use_bias = (num_heads, units, use_bias)
        with self.name_scope():
            if self._use_bias:
                self.query_bias = self.params.get("query_bias", shape=(units,), init=bias_initializer)
                self.key_bias = self.params.get("key_bias", shape=(units,), init=bias_initializer)
                self.value_bias = self.params.get("value_bias", shape=(units,), init=bias_initializer)
            w = self.params.get
            self.query_weight = w(
                "query_weight", shape=(units, units), init=weight_initializer, allow_deferred_init=True
            )
            self.key_weight = w("key_weight", shape=(units, units), init=weight_initializer, allow_deferred_init=True)
            self.value_weight = w(
                "value_weight", shape=(units, units), init=weight_initializer, allow_deferred_init=True
            )
            self.dropout_layer = nn.Dropout(dropout)

    def _collect_params_with_prefix(self, prefix=""):
        ret = super()._collect_params_with_prefix(prefix=prefix)
        return ret

    def hybrid_forward(
        self, F, qkv, valid_len, query_bias, key_bias, value_bias, query_weight, key_weight, value_weight
    ):
        in_bias = F.concat(query_bias, key_bias, value_bias, dim=0)
        in_weight = F.concat(query_weight, key_weight, value_weight, dim=0)
        in_weight = F.concat(
            in_weight.slice_axis(axis=0, begin=0, end=self._units).reshape(
                shape=(self._num_heads, -1, 0), reverse=True
            ),
            in_weight.slice_axis(axis=0, begin=self._units, end=2 * self._units).reshape(
                shape=(self._num_heads, -1, 0), reverse=True
            ),
            in_weight.slice_axis(axis=0, begin=2 * self._units, end=None).reshape(
                shape=(self._num_heads, -1, 0), reverse=True
            ),
            dim=-2,
        )
        in_weight = in_weight.reshape(shape=(-1, 0), reverse=True)
        in_bias = in_bias.reshape(shape=(3, self._num_heads, -1)).swapaxes(0, 1).reshape(shape=(-1,), reverse=True)
        qkv_proj = F.FullyConnected(
            data=qkv, weight=in_weight, bias=in_bias, num_hidden=3 * self._units, no_bias=False, flatten=False
        )
        att_score = F.contrib.interleaved_matmul_selfatt_qk(qkv_proj, heads=self._num_heads)
        if valid_len is not None:
            att_score = F.where(valid_len, att_score, F.ones_like(att_score) * -1000000.0)
        att_weights = self.dropout_layer(F.softmax(att_score, axis=-1))
        context = F.contrib.interleaved_matmul_selfatt_valatt(qkv_proj, att_weights, heads=self._num_heads)
        return (context, att_weights)


class BERTCell(HybridBlock):
    def __init__(self, units, hidden_size, num_heads, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        with self.name_scope():
            self.attention_cell = DotProductSelfAttentionCell(units, num_heads)
            self.proj = nn.Dense(units=units, flatten=False, use_bias=True, prefix="proj_")
            self.ffn = PositionwiseFFN(units, hidden_size)
            self.layer_norm = nn.LayerNorm(in_channels=units, epsilon=1e-12)

    def hybrid_forward(self, F, inputs, mask=None):
        outputs, att = self.attention_cell(inputs, mask)
        outputs = self.layer_norm(self.proj(outputs) + inputs)
        return (self.ffn(outputs), att)


class BERTEncoder(HybridBlock):
    def __init__(self, units=16, hidden=32, heads=4, layers=2, max_length=20, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._max_length, self._units = (max_length, units)
        with self.name_scope():
            self.dropout_layer = nn.Dropout(0.0)
            self.layer_norm = nn.LayerNorm(in_channels=units, epsilon=1e-12)
            self.position_weight = self.params.get("position_weight", shape=(max_length, units), init=None)
            self.transformer_cells = nn.HybridSequential()
            for i in range(layers):
                self.transformer_cells.add(BERTCell(units, hidden, heads, prefix="transformer%d_" % i))

    def __call__(self, inputs, states=None, valid_length=None):
        return super().__call__(inputs, states, valid_length)

    def hybrid_forward(self, F, inputs, states=None, valid_length=None, position_weight=None):
        steps = F.contrib.arange_like(inputs, axis=0)
        mask = None
        if valid_length is not None:
            zeros = F.zeros_like(steps)
            ones = F.broadcast_like(
                F.ones_like(steps).expand_dims(0), valid_length.expand_dims(1), lhs_axes=(0,), rhs_axes=(0,)
            )
            mask = F.broadcast_lesser(F.reshape(steps, shape=(1, -1)), F.reshape(valid_length, shape=(-1, 1)))
            mask = F.broadcast_mul(
                F.expand_dims(mask, axis=1), F.broadcast_mul(ones.expand_dims(2), F.ones_like(ones).expand_dims(2))
            )
            mask = F.broadcast_axis(F.expand_dims(mask, axis=1), axis=1, size=4).reshape((-3, 0, 0))
        pos = F.Embedding(steps, position_weight, self._max_length, self._units)
        inputs = F.broadcast_add(inputs, F.expand_dims(pos, axis=1))
        outputs = self.layer_norm(self.dropout_layer(inputs))
        for cell in self.transformer_cells:
            outputs, att = cell(outputs, mask)
        return outputs


class BERTModel(HybridBlock):
    def __init__(self, vocab, units, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        with self.name_scope():
            self.word_embed = nn.HybridSequential(prefix="word_embed_")
            with self.word_embed.name_scope():
                self.word_embed.add(
                    nn.Embedding(vocab, units, weight_initializer=mx.init.Normal(0.02)), nn.Dropout(0.0)
                )
            self.token_type_embed = nn.Embedding(2, units, prefix="token_type_embed_")
            self.encoder = BERTEncoder(units)
            self.pooler = nn.Dense(units=units, flatten=False, activation="tanh", prefix="pooler_")
            self.decoder = self._get_decoder(units, vocab, self.word_embed[0], "decoder_")
            self.classifier = nn.Dense(2, flatten=False, prefix="cls_")

    def _get_decoder(self, units, vocab_size, embed, prefix):
        decoder = nn.HybridSequential(prefix=prefix)
        with decoder.name_scope():
            decoder.add(nn.Dense(units, flatten=False), nn.GELU(), nn.LayerNorm(in_channels=units, epsilon=1e-12))
            decoder.add(nn.Dense(vocab_size, flatten=False, params=embed.collect_params()))
        assert decoder[3].weight == list(embed.collect_params().values())[0], (
            "The weights of word embedding are not tied with those of decoder"
        )
        return decoder

    def hybrid_forward(self, F, inputs, token_types, valid_length=None, masked_positions=None):
        embedding = self.word_embed(inputs) + self.token_type_embed(token_types)
        seq = self.encoder(F.transpose(embedding, axes=(1, 0, 2)), None, valid_length)
        seq = F.transpose(seq, axes=(1, 0, 2))
        pooled = self.pooler(F.squeeze(F.slice_axis(seq, axis=1, begin=0, end=1), axis=1))
        return (pooled, self.classifier(pooled), self._decode(F, seq, masked_positions))

    def _decode(self, F, sequence, masked_positions):
        masked_positions = masked_positions.astype("int32")
        mask_shape = masked_positions.shape_array()
        num_masked = mask_shape.slice_axis(axis=0, begin=1, end=2).astype("int32")
        idx_arange = F.contrib.arange_like(masked_positions.reshape((-1,)), axis=0)
        batch_idx = F.broadcast_div(idx_arange.astype("float32"), num_masked.astype("float32"))
        batch_idx = F.floor(batch_idx).reshape((1, -1)).astype("int32")
        positions = masked_positions.reshape((1, -1))
        position_idx = F.Concat(batch_idx, positions, dim=0)
        encoded = F.gather_nd(sequence, position_idx)
        encoded = encoded.reshape((-1, 3, sequence.shape[-1])) if F is mx.nd else encoded
        return self.decoder(encoded)


V = 23
net = BERTModel(V, 16, prefix="bert_")
net.initialize(mx.init.TruncNorm(stdev=0.02) if hasattr(mx.init, "TruncNorm") else mx.init.Normal(0.02))
rs = np.random.RandomState(0)
ids = nd.array(rs.randint(0, V, (4, 10)))
tt = nd.array(rs.randint(0, 2, (4, 10)))
vl = nd.array([10, 7, 5, 8])
mp = nd.array(rs.randint(0, 5, (4, 3)))
labels, nsp = (nd.array(rs.randint(0, V, (4, 3))), nd.array([0, 1, 1, 0]))
mw = nd.array([[1, 1, 0]] * 4)
net(ids, tt, vl, mp)
for i, (k, p) in enumerate(net.collect_params().items()):
    if not k.endswith(("gamma", "beta")):
        p.set_data(nd.array(np.random.RandomState(i).normal(0, 0.1, p.shape)))
net.collect_params(".*beta|.*gamma|.*bias").setattr("wd_mult", 0)
print(sorted(net.collect_params())[:12], len(net.collect_params().keys()))
trainer = gluon.Trainer(
    net.collect_params(), "adam", {"learning_rate": 0.005, "wd": 0.01, "epsilon": 1e-06}, update_on_kvstore=False
)
mlm_loss, nsp_loss = (gluon.loss.SoftmaxCELoss(), gluon.loss.SoftmaxCELoss())
params = [p for p in net.collect_params().values() if p.grad_req != "null"]
for step in range(6):
    lr = 0.005 * min(1, (step + 1) / 3)
    trainer.set_learning_rate(lr)
    with autograd.record():
        pooled, cls, dec = net(ids, tt, vl, mp)
        l1 = mlm_loss(dec.reshape((-1, V)), labels.reshape((-1,)), mw.reshape((-1, 1))).sum() / (mw.sum() + 1e-08)
        l2 = nsp_loss(cls, nsp).mean()
        ls = l1 + l2
    ls.backward()
    trainer.allreduce_grads()
    gluon.utils.clip_global_norm([p.grad() for p in params], 1)
    trainer.update(1)
    print("%.5f %.5f" % (l1.asscalar(), l2.asscalar()))
