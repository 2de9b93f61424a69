"""Train a small BERT for twenty steps with MXNet 2.0, and write its losses.

/tmp/oracle/bin/python tests/oracle/bert/make_golden.py
"""

import json
import math
import os
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"
warnings.simplefilter("ignore")

import cases  # noqa: E402
import mxnet as mx  # noqa: E402
from mxnet.gluon import nn  # noqa: E402

mx.npx.set_np()


def dense(units, size):
    return nn.Dense(units, flatten=False, in_units=size)


class Attention(nn.HybridBlock):
    def __init__(self, units, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.proj = (dense(units, units) for _ in range(4))

    def forward(self, x):
        batch, length, units = x.shape

        def split(y):
            return y.reshape(batch, length, self.heads, units // self.heads).transpose(0, 2, 1, 3)

        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = mx.np.matmul(q, k.transpose(0, 1, 3, 2)) / math.sqrt(units // self.heads)
        out = mx.np.matmul(mx.npx.softmax(scores, axis=-1), v)
        return self.proj(out.transpose(0, 2, 1, 3).reshape(batch, length, units))


class FeedForward(nn.HybridBlock):
    def __init__(self, units, hidden):
        super().__init__()
        self.ffn_1, self.activation, self.ffn_2 = dense(hidden, units), nn.GELU(), dense(units, hidden)
        self.layer_norm = nn.LayerNorm(epsilon=1e-12, in_channels=units)

    def forward(self, x):
        return self.layer_norm(self.ffn_2(self.activation(self.ffn_1(x))) + x)


class Layer(nn.HybridBlock):
    def __init__(self, units, hidden, heads):
        super().__init__()
        self.self_attention = Attention(units, heads)
        self.layer_norm = nn.LayerNorm(epsilon=1e-12, in_channels=units)
        self.ffn = FeedForward(units, hidden)

    def forward(self, x):
        return self.ffn(self.layer_norm(self.self_attention(x) + x))


class Encoder(nn.HybridBlock):
    def __init__(self, layers, units, hidden, heads):
        super().__init__()
        self.layers = nn.HybridSequential()
        for _ in range(layers):
            self.layers.add(Layer(units, hidden, heads))

    def forward(self, x):
        return self.layers(x)


class BERT(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        units = cases.UNITS
        self.words, self.places = nn.Embedding(cases.WORDS, units), nn.Embedding(cases.LENGTH, units)
        self.norm = nn.LayerNorm(in_channels=units)
        self.encoder = Encoder(cases.LAYERS, units, cases.HIDDEN, cases.HEADS)
        self.change, self.activation = dense(units, units), nn.GELU()
        self.change_norm = nn.LayerNorm(in_channels=units)
        self.output = dense(cases.WORDS, units)
        self.output.weight = self.words.weight

    def forward(self, words):
        places = mx.np.arange(words.shape[1], dtype="int32")
        x = self.encoder(self.norm(self.words(words) + self.places(places)))
        return self.output(self.change_norm(self.activation(self.change(x))))


def main():
    net = BERT()
    net.initialize()
    net(mx.np.zeros((1, cases.LENGTH), dtype="int32"))
    for name, param in net.collect_params().items():
        if name != "output.weight":
            param.set_data(mx.np.array(cases.value(name, param.shape)))
    found = cases.losses(mx, net)
    print(found)
    (HERE / "losses.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
