"""Train the language model of gluonx/examples for twenty steps with MXNet 2.0, and write its losses.

/tmp/oracle/bin/python tests/oracle/rnn/make_lm_golden.py
"""

import json
import os
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"
warnings.simplefilter("ignore")

import lm_cases as cases  # noqa: E402
import mxnet as mx  # noqa: E402
from mxnet.gluon import nn, rnn  # noqa: E402

mx.npx.set_np()


class LanguageModel(nn.HybridBlock):
    def __init__(self, words, size, layers):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.rnn = rnn.LSTM(size, layers, input_size=size)
        self.output = nn.Dense(words, flatten=False, in_units=size)
        self.output.weight = self.embedding.weight

    def forward(self, words, states):
        x, states = self.rnn(self.embedding(words), states)
        return self.output(x), states


def main():
    found = {}
    for optimizer in cases.OPTIMIZERS:
        net = LanguageModel(cases.WORDS, cases.SIZE, cases.LAYERS)
        net.initialize()
        net(mx.np.zeros((1, cases.BATCH)), net.rnn.begin_state(cases.BATCH))
        for name, param in sorted(net.collect_params().items()):
            param.set_data(mx.np.array(cases.value(name, param.shape)))
        found[optimizer] = cases.losses(mx, net, optimizer)
        print(optimizer, found[optimizer])
    (HERE / "lm_losses.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
