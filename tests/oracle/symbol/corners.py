"""Lines of MXNet 1 on symbols, which run on MXNet and on gluonx."""

LINES = [
    # The weight that a bilinear UpSampling makes for itself.
    "sym.UpSampling(sym.var('d'), scale=2, sample_type='bilinear', num_filter=3, name='up').list_arguments()",
    "sym.UpSampling(sym.var('d'), scale=2, sample_type='bilinear', num_filter=3).infer_shape(d=(1, 3, 4, 4))",
    "sym.UpSampling(sym.var('d'), scale=2, sample_type='bilinear', num_filter=3, name='up').attr_dict()",
    "sym.UpSampling(sym.var('d'), sym.var('w'), scale=2, sample_type='bilinear', num_filter=3, num_args=2)"
    ".list_arguments()",
    # What may be given to any operator.
    "sym.FullyConnected(sym.var('d'), num_hidden=3, name='fc', lr_mult=2.0, wd_mult=0, ctx_group='dev1').attr_dict()",
    "sym.Convolution(sym.var('d'), num_filter=3, kernel=(1, 1), name='cv', lr_mult=0.1, force_mirroring=True)"
    ".attr_dict()",
    "sym.relu(sym.var('d'), lr_mult='0.5', name='r').list_attr()",
    "sym.BatchNorm(sym.var('d'), name='bn', attr={'__foo__': '1'}).attr_dict()",
    "sym.Convolution(sym.var('d'), num_filter=2, kernel=(1, 1), attr={'__init__': 'x'}, name='c').attr_dict()",
    "sym.var('w', init=mx.init.Xavier(magnitude=2)).attr('__init__')",
    # Operators given a dict.
    "sym.SoftmaxOutput(**{'data': sym.var('d'), 'name': 'sm', 'use_ignore': True, 'ignore_label': 0}).list_arguments()",
    # Arrays of parameters.
    "sym.sample_uniform(sym.var('a'), sym.var('b'), shape=(2, 3)).infer_shape(a=(2,))",
    "sym.sample_normal(sym.var('a'), sym.var('b'), shape=(2, 3)).infer_shape(b=(2, 4))",
    "sym.sample_gamma(sym.var('a'), sym.var('b')).infer_shape(a=(2,))",
    "sym.sample_multinomial(sym.var('a'), shape=(2, 3)).infer_shape(a=(2,))",
    "sym.random.normal(sym.var('a'), sym.var('b'), shape=3).infer_shape(a=(2,))",
    "sym.random.gamma(alpha=sym.var('a'), beta=sym.var('b'), shape=(3,)).infer_shape(a=(2,))",
    "sym.random.exponential(scale=sym.var('a'), shape=(3,)).infer_shape(a=(2,))",
    "sym.random.negative_binomial(k=sym.var('a'), p=sym.var('b'), shape=(3,)).infer_shape(a=(2,))",
    "sym.random.uniform(0, 2, shape=(3, 2)).infer_shape()",
    "sym.random.exponential(2.0, shape=(3, 2)).list_attr()",
    # NumPy's numbers in shapes.
    "sym.reshape(sym.var('d'), shape=(np.int64(2), np.int32(-1))).attr('shape')",
    "sym.zeros(shape=(np.int64(2), 3)).infer_shape()",
    "sym.var('x', shape=(np.int64(2), np.int64(3))).attr('__shape__')",
    "sym.Convolution(sym.var('d'), kernel=(np.int64(3), 3), num_filter=np.int64(4)).infer_shape(d=(1, 2, 5, 5))",
    "(sym.var('d') * np.float32(2)).list_attr()",
    # States of a recurrence.
    "sym.RNN(sym.var('d'), state_size=4, num_layers=1, mode='gru', name='r').infer_shape(d=(5, 2, 3))",
    "sym.RNN(sym.var('d'), state_size=4, num_layers=2, mode='lstm', state_outputs=True).infer_shape(d=(5, 2, 3))",
    # Outputs that are there, and are written to.
    "[o.shape for o in (sym.var('a') * 2).simple_bind(mx.cpu(), a=(2, 3)).outputs]",
    "[(e.outputs[0], e.forward(a=mx.nd.ones(2) * k), e.forward(a=mx.nd.ones(2)))[0].asnumpy().tolist()"
    " for k in (1, 2) for e in [(sym.var('a') * 2).simple_bind(mx.cpu(), a=(2,))]]",
    # Gradients of the first outputs.
    "[(e.forward(is_train=True), e.backward([mx.nd.ones(2)] * 2), e.grad_dict['a'].asnumpy().tolist())[2]"
    " for a in [sym.var('a')] for e in [sym.Group([a * 2, a * 3, sym.BlockGrad(a)]).simple_bind(mx.cpu(), a=(2,))]]",
    "[(e.forward(is_train=True), e.backward([mx.nd.ones(2)]), e.grad_dict['a'].asnumpy().tolist())[2]"
    " for a in [sym.var('a')] for e in [sym.Group([a * 2, sym.make_loss(a * 3)]).simple_bind(mx.cpu(), a=(2,))]]",
    "[(e.forward(is_train=True), e.backward([mx.nd.ones(2)] * 2), e.grad_dict['a'].asnumpy().tolist())[2]"
    " for e in [(sym.var('a') * 2).simple_bind(mx.cpu(), a=(2,))]]",
    # A backward after a forward that is no training, and a second one.
    "[[(e.backward([mx.nd.ones(2) * k]), e.grad_dict['a'].asnumpy().tolist())[1] for k in (1, 3)]"
    " for train in (False, True) for e in [sym.square(sym.var('a')).bind(mx.cpu(), {'a': mx.nd.array([1, 2])},"
    " {'a': mx.nd.zeros(2)})] for _ in [e.forward(is_train=train)]]",
    "[(e.backward([mx.nd.array([1, 2])]), e.backward([mx.nd.array([2, 0])]), e.grad_dict['a'].asnumpy().tolist())[2]"
    " for e in [sym.square(sym.var('a')).bind(mx.cpu(), {'a': mx.nd.array([1, 2])}, {'a': mx.nd.zeros(2)}, 'add')]"
    " for _ in [e.forward(is_train=True)]]",
]

IMAGE, SEQUENCE = (0, 3, 8, 8), (0, 7, 3)
PARTIAL = [
    ("sym.FullyConnected(d, num_hidden=3)", (0, 5)),
    ("d + sym.var('e')", IMAGE),
    ("sym.Convolution(d, kernel=(3, 3), num_filter=4)", IMAGE),
    ("sym.Pooling(d, kernel=(2, 2), stride=(2, 2))", IMAGE),
    ("sym.reshape(d, shape=(-1, 0), reverse=True)", IMAGE),
    ("sym.transpose(d, axes=(1, 0, 2, 3))", IMAGE),
    ("sym.slice_axis(d, axis=1, begin=0, end=1)", IMAGE),
    ("sym.expand_dims(d, axis=1)", IMAGE),
    ("sym.relu(d)", IMAGE),
    ("sym.concat(d, d, dim=1)", IMAGE),
    ("sym.sum(d, axis=1)", IMAGE),
    ("sym.mean(d, axis=(2, 3))", IMAGE),
    ("sym.BatchNorm(d)", IMAGE),
    ("sym.Dropout(d)", IMAGE),
    ("sym.swapaxes(d, dim1=0, dim2=1)", IMAGE),
    ("sym.split(d, num_outputs=3, axis=1)", IMAGE),
    ("sym.softmax(d)", IMAGE),
    ("sym.repeat(d, repeats=2, axis=1)", IMAGE),
    ("sym.cast(d, dtype='float16')", IMAGE),
    ("sym.Embedding(d, input_dim=5, output_dim=4)", SEQUENCE),
    ("sym.FullyConnected(d, num_hidden=3, flatten=False)", SEQUENCE),
    ("sym.dot(d, sym.var('w', shape=(3, 4)))", SEQUENCE),
    ("sym.SequenceLast(d)", SEQUENCE),
    ("sym.take(d, sym.var('i', shape=(2,)))", SEQUENCE),
    ("sym.split(d, num_outputs=7, axis=1, squeeze_axis=1)", SEQUENCE),
    ("sym.reshape(d, shape=(-1, 3))", SEQUENCE),
    ("sym.reshape(d, shape=(-3, 0))", SEQUENCE),
    ("sym.zeros_like(d)", SEQUENCE),
    ("sym.RNN(d, state_size=4, num_layers=1, mode='gru')", SEQUENCE),
    ("sym.RNN(d, state_size=4, num_layers=1, mode='lstm', state_outputs=True)", (5, 0, 3)),
    # What the shape of a result tells of inputs.
    ("sym.transpose(sym.var('a'), axes=(1, 0, 2)) + d", SEQUENCE),
    ("d + sym.transpose(sym.var('a'), axes=(1, 0, 2))", (5, 7, 3)),
    ("sym.elemwise_mul(sym.expand_dims(sym.relu(sym.var('a')), axis=1), d)", (0, 1, 3)),
    ("sym.tanh(sym.transpose(2 - sym.var('a'), axes=(0, 2, 1))) * d", SEQUENCE),
    ("sym.add_n(sym.var('a'), d, sym.cast(sym.var('b'), dtype='float16'))", SEQUENCE),
    ("sym.softmax(sym.var('a')) + d", SEQUENCE),
    ("sym.broadcast_add(sym.var('a'), d)", SEQUENCE),
    ("sym.Group([sym.transpose(sym.var('a'), axes=(1, 0, 2)) + d, sym.sum(sym.var('a'), axis=0)])", (5, 7, 3)),
]

ZOO = [
    *("alexnet", "vgg11_bn", "resnet18_v1", "resnet18_v2", "resnet50_v1", "resnet50_v2", "squeezenet1.0"),
    *("densenet121", "mobilenet0.25", "mobilenetv2_0.25", "inceptionv3"),
]


def plain(value):
    """Nested lists of what came, without the classes of a library."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in sorted(value.items())}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
