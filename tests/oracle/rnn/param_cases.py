"""Uses of a recurrent layer's ``rnn_param`` before and after the first call; no line names a library.

Each step is a function of ``(gluon, np, autograd, layer)``, run in this order on one layer of size 3 with inputs of 2.
"""

LAYERS = {
    "LSTM": lambda rnn: rnn.LSTM(3),
    "GRU": lambda rnn: rnn.GRU(3, num_layers=2),
    "RNN": lambda rnn: rnn.RNN(3, bidirectional=True),
}
MADE = (4, 1, 2)


def listed(layer):
    """The layer's parameters by name, with their shapes."""
    return {name: list(param.shape) for name, param in layer.collect_params().items()}


def _step(gluon, np, autograd, layer):
    kept = layer.collect_params()["rnn_param"]
    trainer = gluon.Trainer({"rnn_param": kept}, "sgd", {"learning_rate": 1.0})
    with autograd.record():
        loss = layer(np.ones(MADE)).sum()
    loss.backward()
    before = kept.data().asnumpy().copy()
    trainer.step(1)
    moved = bool((before != kept.data().asnumpy()).any())
    return [kept is layer.rnn_param, moved, list(kept.grad().shape) == list(kept.shape)]


STEPS = {
    "listed": lambda gluon, np, autograd, layer: listed(layer),
    "facts": lambda gluon, np, autograd, layer: [layer.rnn_param.name, layer.rnn_param.grad_req],
    "data of the uninitialized": lambda gluon, np, autograd, layer: layer.rnn_param.data() and None,
    "initialize": lambda gluon, np, autograd, layer: layer.initialize(),
    "listed then": lambda gluon, np, autograd, layer: listed(layer),
    "data before the first call": lambda gluon, np, autograd, layer: layer.rnn_param.data() and None,
    "grad before the first call": lambda gluon, np, autograd, layer: layer.rnn_param.grad() and None,
    "device": lambda gluon, np, autograd, layer: len(layer.rnn_param.list_device()),
    "frozen": lambda gluon, np, autograd, layer: [layer.setattr("grad_req", "null"), layer.rnn_param.grad_req],
    "thawed": lambda gluon, np, autograd, layer: [layer.setattr("grad_req", "write"), layer.rnn_param.grad_req],
    "zeroed": lambda gluon, np, autograd, layer: layer.zero_grad(),
    "cast": lambda gluon, np, autograd, layer: [layer.cast("float64"), str(layer.rnn_param.dtype)[-7:]],
    "cast back": lambda gluon, np, autograd, layer: [layer.cast("float32"), str(layer.rnn_param.dtype)[-7:]],
    "trained from before the first call": _step,
    "listed at last": lambda gluon, np, autograd, layer: listed(layer),
}


def outcome(step, *args):
    """Return the result of a step, or "raises"."""
    try:
        return step(*args)
    except Exception:  # each library has classes of its own
        return "raises"


def run(gluon, np, autograd):
    """All that all steps give, by layer."""
    found = {}
    for name, make in LAYERS.items():
        layer = make(gluon.rnn)
        found[name] = {step: outcome(fn, gluon, np, autograd, layer) for step, fn in STEPS.items()}
        bare = make(gluon.rnn)  # MXNet's keeps the shape that it was given in vain
        found[name]["set_data of the uninitialized"] = outcome(lambda bare=bare: bare.rnn_param.set_data(np.ones(3)))
        size = found[name]["listed at last"]["rnn_param"][0]
        for how in ("set_data", "shape"):
            late = make(gluon.rnn)
            late.initialize()
            if how == "shape":
                late.rnn_param.shape = (size,)
            else:
                late.rnn_param.set_data(np.arange(size) / size)
            shown = listed(late)
            out = late(np.ones(MADE))
            values = [] if how == "shape" else [round(float(v), 5) for v in out.asnumpy().ravel()]
            found[name][how] = [shown, list(out.shape), values]
    first, second = gluon.rnn.GRU(3), gluon.rnn.GRU(3)
    second.share_parameters(first.collect_params())
    found["shared"] = second.rnn_param is first.rnn_param
    return found
