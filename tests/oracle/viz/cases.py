"""A symbol to print and draw, written once for both libraries."""


def net(sym):
    x = sym.Variable("data")
    x = sym.Convolution(x, kernel=(3, 3), num_filter=8, name="conv1", pad=(1, 1), stride=(2, 2))
    x = sym.Activation(sym.BatchNorm(x, name="bn1"), act_type="relu", name="relu1")
    x = sym.Flatten(sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool1"), name="flat")
    y = sym.FullyConnected(x, num_hidden=4, name="fc1")
    x = sym.Concat(y, sym.LeakyReLU(y, act_type="leaky", name="lr"), name="cat")
    return sym.SoftmaxOutput(sym.FullyConnected(x, num_hidden=10, name="fc2", no_bias=True), name="softmax")
