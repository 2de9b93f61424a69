"""Cases: updates of a weight, and metrics of three batches. Needs a module called mxnet."""

import numpy as np

_NAMED = [
    ("sgd", {"learning_rate": 0.05}),
    ("sgd", {}),
    ("sgd", {"learning_rate": 0.05, "momentum": 0.9}),
    ("ccsgd", {"learning_rate": 0.05}),
    ("nag", {"learning_rate": 0.05}),
    ("nag", {"learning_rate": 0.05, "momentum": 0.9}),
    ("adam", {}),
    ("adagrad", {}),
    ("adagrad", {"eps": 0.1}),
    ("adadelta", {"learning_rate": 7.0}),
    ("adadelta", {"rho": 0.8, "epsilon": 1e-4}),
    ("rmsprop", {}),
    ("rmsprop", {"learning_rate": 0.05, "centered": True}),
    ("rmsprop", {"gamma1": 0.8, "gamma2": 0.7, "centered": True, "clip_weights": 1.0}),
    ("ftrl", {}),
    ("ftml", {}),
    ("signum", {}),
    ("adamax", {}),
    ("nadam", {}),
    ("lamb", {}),
    ("lars", {"momentum": 0.9}),
    ("dcasgd", {}),
]
OPTIMIZERS = {
    f"{name} {settings} {scale} {wd} {clip}": (name, settings, scale, wd, clip)
    for name, settings in _NAMED
    for scale, wd, clip in ((1.0, 0.01, 0.3), (1e-4, 0.0, None), (1.0, 0.01, None))
}
METRICS = {
    "mae": ("mae", {}, "values"),
    "mse": ("mse", {}, "values"),
    "rmse": ("rmse", {}, "values"),
    "rmse of columns": ("rmse", {}, "columns"),
    "f1": ("f1", {}, "classes"),
    "f1 micro": ("f1", {"average": "micro"}, "classes"),
    "mcc": ("mcc", {}, "classes"),
    "mcc micro": ("mcc", {"average": "micro"}, "classes"),
    "pearsonr": ("pearsonr", {}, "values"),
    "pearsonr micro": ("pearsonr", {"average": "micro"}, "values"),
    "nll_loss": ("nll_loss", {}, "classes"),
    "ce": ("ce", {}, "classes"),
    "acc": ("acc", {}, "classes"),
    "perplexity": ("perplexity", {"ignore_label": None}, "classes"),
    "caffe": ("caffe", {}, "values"),
}


def updated(name, settings, scale, wd, clip):
    """A weight after five updates with one gradient after the other."""
    import mxnet as mx

    draw = np.random.RandomState(0)
    weight = mx.nd.array(draw.normal(size=(2, 3)))
    optimizer = mx.optimizer.create(name, wd=wd, clip_gradient=clip, rescale_grad=0.5, **settings)
    update = mx.optimizer.get_updater(optimizer)
    for _ in range(5):
        update(0, mx.nd.array(draw.normal(size=(2, 3)) * scale), weight)
    return weight.asnumpy().ravel().tolist()


def measured(name, settings, kind):
    """A metric of three batches, the last of which is smaller."""
    import mxnet as mx

    draw = np.random.RandomState(1)
    metric = mx.metric.create(name, **settings)
    for size in (8, 8, 3):
        if kind == "classes":
            scores = draw.uniform(0.1, 1, (size, 2))
            label, pred = draw.randint(0, 2, size), scores / scores.sum(1, keepdims=True)
        else:
            shape = (size, 2) if kind == "columns" else (size,)
            label, pred = draw.normal(size=shape), draw.normal(size=shape)
        metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
    found, value = metric.get()
    return [found, float(value)]
