"""Trainings by an estimator, written once for both libraries; nothing here imports either.

A case is given a namespace with ``E`` (the estimator's module), ``nn``, ``loss``, ``metric``, ``data``, ``Trainer`` and
``array``, and gives what has to be equal: events in order, lines of the log, files, values.
"""

import logging
import os
import re
import tempfile
import warnings

import numpy as onp

EVENTS = ("train_begin", "epoch_begin", "batch_begin", "batch_end", "epoch_end", "train_end")


def samples(n=12):
    rng = onp.random.RandomState(3)
    return rng.randn(n, 4).astype("float32"), rng.randint(0, 3, n).astype("float32")


def loader(ns, batch=4, n=12):
    x, y = samples(n)
    return ns.data.DataLoader(ns.data.ArrayDataset(x, y), batch_size=batch)


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def fitter(ns, metrics=None, **options):
    net = ns.nn.HybridSequential()
    net.add(ns.nn.Dense(5, activation="tanh", in_units=4), ns.nn.Dense(3, in_units=5))
    net.initialize()
    rng = onp.random.RandomState(5)
    for _, param in sorted(net.collect_params().items()):
        param.set_data(ns.array(rng.uniform(-0.5, 0.5, param.shape).astype("float32")))
    net.hybridize()
    trainer = ns.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    est = ns.E.Estimator(net, ns.loss.SoftmaxCrossEntropyLoss(), metrics, trainer=trainer, **options)
    est.logger.handlers.clear()
    est.lines = Lines()
    est.logger.addHandler(est.lines)
    return est


def timeless(lines):
    lines = [re.sub(r"\d+\.\d{3}s", "0.000s", re.sub(r"total \d+s", "total 0s", line)) for line in lines]
    return [re.sub(r"(?<=: )\d\.\d{4}(?=,|$| )", "#", line) for line in lines]


def recorder(ns, name, priority, into, values=False):
    def method(event):
        def call(self, estimator, *args, **kwargs):
            found = f"{name}.{event}({','.join(sorted(kwargs))})"
            if values and event == "batch_end":
                found += f" {estimator.train_metrics[-1].get()[1]:.4f}"
            into.append(found)

        return call

    bases = (ns.E.TrainBegin, ns.E.EpochBegin, ns.E.BatchBegin, ns.E.BatchEnd, ns.E.EpochEnd, ns.E.TrainEnd)
    handler = type("Recorder", bases, {event: method(event) for event in EVENTS})()
    handler.priority = priority
    return handler


def weights(est):
    return [float(onp.abs(p.data().asnumpy()).sum()) for _, p in sorted(est.net.collect_params().items())]


def events(ns, values=False, **options):
    est, into = fitter(ns), []
    priorities = {"first": -3000, "between": -1500, "second": -1000, "user": 0, "user2": 0, "last": float("inf")}
    handlers = [recorder(ns, name, at, into, values and at > -1000) for name, at in priorities.items()]
    validation = loader(ns, n=8)
    est.fit(loader(ns), validation, event_handlers=handlers, **options)
    return {"events": into, "lines": timeless(est.lines.lines), "weights": weights(est)}


def plain(ns, **options):
    est = fitter(ns)
    est.fit(loader(ns), loader(ns, n=8), **options)
    names = [m.name for m in [*est.train_metrics, *est.val_metrics]]
    values = [float(m.get()[1]) for m in [*est.train_metrics, *est.val_metrics]]
    return {"lines": timeless(est.lines.lines), "weights": weights(est), "names": names, "values": values}


def by_batches(ns):
    return events(ns, batches=5)


def by_epochs(ns):
    return events(ns, values=True, epochs=2)


def logged_by_batch(ns):
    est = fitter(ns)
    est.fit(loader(ns), epochs=2, event_handlers=[ns.E.LoggingHandler(2, metrics=est.train_metrics)])
    return {"lines": timeless(est.lines.lines)}


def given_metrics(ns):
    mine = [ns.metric.Accuracy(), ns.metric.TopKAccuracy(2)]
    est = fitter(ns, mine)
    est.fit(loader(ns), loader(ns, n=8), epochs=1)
    return {"names": [m.name for m in [*est.train_metrics, *est.val_metrics]]}


STOPS = {
    "min0": ([3, 2, 2.5, 1, 0], {"mode": "min"}),
    "min1": ([3, 2, 2.5, 1, 2, 3, 0], {"mode": "min", "patience": 1}),
    "min2": ([3, 2, 2.5, 2.6, 1, 2, 3, 4], {"mode": "min", "patience": 2}),
    "max0": ([1, 2, 3, 3, 5, 6], {"mode": "max"}),
    "max_delta": ([1, 2, 2.4, 4], {"mode": "max", "min_delta": 0.5}),
    "min_delta": ([4, 3, 2.6, 1], {"mode": "min", "min_delta": 0.5}),
    "baseline": ([3, 2, 1, 0], {"mode": "min", "baseline": 1.5}),
    "baseline2": ([3, 2, 1, 2, 3, 4], {"mode": "min", "baseline": 1.5, "patience": 2}),
    "nan": ([float("nan"), 2, float("nan"), 1, 2], {"mode": "min"}),
}


def stopping(ns):
    """Return the number of epochs, by the values that a metric has in turn."""
    found = {}
    for name, (values, options) in STOPS.items():
        est = fitter(ns)
        metric = est.train_metrics[0]
        turn = iter([*values, *[values[-1]] * 20])
        metric.get = lambda metric=metric, turn=turn: (metric.name, next(turn))
        handler = ns.E.EarlyStoppingHandler(metric, **options)
        quiet = ns.E.LoggingHandler(metrics=[est.train_metrics[1]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                est.fit(loader(ns, 12), epochs=9, event_handlers=[handler, quiet])
                found[name] = [handler.current_epoch, handler.stopped_epoch, handler.wait, handler.best]
            except TypeError:  # MXNet's warning about nan is a wrong call itself
                found[name] = "TypeError"
    return found


CHECKPOINTS = {
    "epochs": ({"epochs": 3}, {}),
    "each_second": ({"epochs": 5}, {"epoch_period": 2}),
    "kept": ({"epochs": 4}, {"max_checkpoints": 2}),
    "batches": ({"batches": 7}, {"epoch_period": None, "batch_period": 2}),
    "both": ({"epochs": 2}, {"batch_period": 2}),
}


def checkpoints(ns):
    """The files that there are at the end."""
    found = {}
    for name, (length, options) in CHECKPOINTS.items():
        with tempfile.TemporaryDirectory() as folder:
            est = fitter(ns)
            est.fit(loader(ns), event_handlers=ns.E.CheckpointHandler(folder, **options), **length)
            found[name] = sorted(f for f in os.listdir(folder) if not f.endswith(".resume"))
    return found


def resumed(ns):
    """Names and weights of a training of three epochs in two runs."""
    with tempfile.TemporaryDirectory() as folder:
        for epochs, resume in ((1, False), (3, True)):
            est = fitter(ns)
            handler = ns.E.CheckpointHandler(folder, "net", resume_from_checkpoint=resume)
            est.fit(loader(ns), epochs=epochs, event_handlers=handler)
        files = sorted(f for f in os.listdir(folder) if not f.endswith(".resume"))
        return {"files": files, "weights": weights(est)}


def best(ns):
    with tempfile.TemporaryDirectory() as folder:
        est = fitter(ns)
        metric, turn = est.train_metrics[0], iter([0.5, 0.7, 0.6, 0.8, 0.8, 0.8, 0.8])
        metric.get = lambda: (metric.name, next(turn))
        handler = ns.E.CheckpointHandler(folder, monitor=metric, save_best=True, mode="max", verbose=1)
        est.fit(loader(ns, 12), epochs=4, event_handlers=[handler, ns.E.LoggingHandler(metrics=[est.train_metrics[1]])])
        lines = [line.replace(folder, "DIR") for line in est.lines.lines if "CheckpointHandler" in line]
        # MXNet gives the number of the batch for that of the epoch here.
        lines = [re.sub(r"\[Epoch \d+\] (?=.*did not improve)", "", line) for line in lines]
        return {"files": sorted(f for f in os.listdir(folder) if not f.endswith(".resume")), "lines": lines}


CASES = {
    "plain": lambda ns: plain(ns, epochs=2),
    "plain_batches": lambda ns: plain(ns, batches=4),
    "by_batches": by_batches,
    "by_epochs": by_epochs,
    "logged_by_batch": logged_by_batch,
    "given_metrics": given_metrics,
    "stopping": stopping,
    "checkpoints": checkpoints,
    "resumed": resumed,
    "best": best,
}
