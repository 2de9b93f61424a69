"""An encoder and a decoder that hand on a list of states: trained, exported, imported, decoded step by step."""

import os
import tempfile

import numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn, rnn

npx.set_np()
onp.random.seed(3)


class Encoder(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 6)
        self.lstm = rnn.LSTM(8, num_layers=2, layout="NTC", input_size=6)

    def forward(self, tokens, states):
        return self.lstm(self.embed(tokens), states)


class Decoder(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 6)
        self.lstm = rnn.LSTM(8, num_layers=2, layout="NTC", input_size=6)
        self.out = nn.Dense(12, flatten=False, in_units=8)

    def forward(self, tokens, states):
        hidden, states = self.lstm(self.embed(tokens), states)
        return self.out(hidden), states


def fill(net, seed):
    draw = onp.random.RandomState(seed)
    for name in sorted(net.collect_params()):
        param = net.collect_params()[name]
        param.set_data(np.array(draw.uniform(-0.3, 0.3, param.shape)))


encoder, decoder = Encoder(), Decoder()
for seed, net in enumerate((encoder, decoder)):
    net.initialize()
    net(np.zeros((1, 2)), net.lstm.begin_state(1))
    fill(net, seed)
    net.hybridize()

params = {"e." + k: v for k, v in encoder.collect_params().items()}
params.update({"d." + k: v for k, v in decoder.collect_params().items()})
trainer = gluon.Trainer(params, "adam", {"learning_rate": 0.02})
loss = gluon.loss.SoftmaxCrossEntropyLoss()
source = np.array(onp.random.randint(1, 12, (4, 5)))
target = source[:, ::-1]
begin = np.concatenate([np.zeros((4, 1)), target[:, :-1]], axis=1)
for step in range(6):
    with autograd.record():
        _, states = encoder(source, encoder.lstm.begin_state(4))
        scores, _ = decoder(begin, states)
        value = loss(scores, target).mean()
    value.backward()
    trainer.step(1)
    print(f"step {step}: {float(value):.4f}")

with tempfile.TemporaryDirectory() as folder:
    files = decoder.export(os.path.join(folder, "decoder"))
    print([os.path.basename(name) for name in files])
    block = gluon.SymbolBlock.imports(files[0], ["data0", "data1", "data2"], files[1])

_, states = encoder(source, encoder.lstm.begin_state(4))
first, (h, c) = decoder(np.zeros((4, 5)), states)
again = block(np.zeros((4, 5)), *states)
print(len(again), [a.shape for a in again], float(abs(again[0] - first).max()) < 1e-5)
print(float(abs(again[1] - h).max()) < 1e-5, float(abs(again[2] - c).max()) < 1e-5)
print(onp.round(again[0].asnumpy()[0, :2, :4], 3).tolist())

# hooks on the layers of a net that is not hybridized
shapes = []
encoder.hybridize(False)


def note(block, inputs, out):
    shapes.append(type(block).__name__)


handles = [layer.register_forward_hook(note) for layer in (encoder.embed, encoder.lstm)]
for _ in range(2):
    encoder(source, encoder.lstm.begin_state(4))
handles[0].detach()
encoder(source, encoder.lstm.begin_state(4))
print(shapes)

cell = rnn.SequentialRNNCell()
for size in (4, 4):
    cell.add(rnn.LSTMCell(size))
cell.infer_shape(0, np.ones((2, 7, 3)), False)
print({name: p.shape for name, p in cell.collect_params().items()})
for wrong in (lambda: decoder.load_dict({}), lambda: decoder.out.weight.set_data(np.ones((2, 2)))):
    try:
        wrong()
    except AssertionError:
        print("AssertionError")
