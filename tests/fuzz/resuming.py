"""Random training runs that are saved, and gone on with by a new net and trainer: the bits of a run that was not.

A run is a net, an optimizer with its settings, a schedule and how the net is run. It is saved behind some steps, by
``save_parameters`` and ``save_states`` with the random state, or by ``gluonx.checkpoint``; a second net, of another
seed or in another process, takes the files and does the rest. It is run by `test_resuming`.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import numpy as onp

import gluonx
from fuzz.harness import sweep
from gluonx import Trainer, autograd, checkpoint, engine, lr_scheduler, nn, np, npx, rnn
from lib import ROOT, TESTS

OPTIMIZERS: dict[str, list[dict[str, Any]]] = {
    "sgd": [{}, {"momentum": 0.9}, {"momentum": 0.5, "lazy_update": False}],
    "nag": [{}, {"momentum": 0.9}],
    "signum": [{}, {"momentum": 0.0, "wd_lh": 0.01}],
    "adam": [{}, {"lazy_update": False}],
    "adamw": [{}, {"correct_bias": False}],
    "adabelief": [{}],
    "adamax": [{}],
    "nadam": [{}],
    "ftml": [{}],
    "adadelta": [{}],
    "adagrad": [{}],
    "groupadagrad": [{}],
    "ftrl": [{}],
    "rmsprop": [{}, {"centered": True}, {"momentum": 0.5}],
    "lamb": [{}, {"bias_correction": False}],
    "lans": [{}],
    "lars": [{}, {"momentum": 0.9}],
    "dcasgd": [{}, {"momentum": 0.5}],
    "sgld": [{}],
}
_SCHEDULES: dict[str, list[dict[str, Any]]] = {
    "FactorScheduler": [{"step": 2, "factor": 0.5}, {"step": 3, "factor": 0.7, "warmup_steps": 2}],
    "MultiFactorScheduler": [{"step": [2, 3, 6], "factor": 0.5}],
    "PolyScheduler": [{"max_update": 7, "pwr": 2, "final_lr": 0.001}],
    "CosineScheduler": [{"max_update": 6, "warmup_steps": 3, "warmup_mode": "linear"}],
}


class _Net(nn.HybridBlock):
    """A net of one of some kinds, which takes inputs of shape (batch, 4, 4)."""

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__()
        self.kind = plan["net"]
        if self.kind == "recurrent":
            self.first: Any = rnn.LSTM(3, 2, dropout=0.3, layout="NTC")
        elif self.kind == "convolution":
            self.first = nn.Conv1D(3, 2)
            self.norm = nn.BatchNorm()
        elif self.kind == "tied":
            self.first = nn.Dense(4, flatten=False, in_units=4)
            self.other = nn.Dense(4, flatten=False, in_units=4).share_parameters(self.first.collect_params())
        else:
            self.first = nn.Dense(6, activation="tanh")
            self.norm = nn.BatchNorm(momentum=0.5)
        self.drop = nn.Dropout(0.5)
        self.last = nn.Dense(2, use_bias=False)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        if self.kind in ("convolution", "dense"):
            x = npx.relu(self.norm(x))
        if self.kind == "tied":
            x = np.tanh(self.other(x))
        return self.last(self.drop(x))


def _drawn(numbers: Any) -> dict[str, Any]:
    def one(*choices: Any) -> Any:
        return choices[numbers.randint(len(choices))]

    optimizer = one(*OPTIMIZERS)
    schedule = one(None, *_SCHEDULES)
    return {
        "net": one("dense", "dense", "convolution", "recurrent", "tied"),
        "optimizer": optimizer,
        "settings": {
            "learning_rate": 0.05,
            "wd": 0.0 if optimizer == "groupadagrad" else one(0.0, 0.01),
            **({} if optimizer in ("adabelief", "lans", "lamb") else {"clip_gradient": one(None, 0.5)}),
            **one(*OPTIMIZERS[optimizer]),
        },
        "schedule": schedule,
        "schedule_settings": None if schedule is None else one(*_SCHEDULES[schedule]),
        "dtype": one("float32", "float32", "float16"),
        "multi_precision": one(True, False),
        "add": one(False, False, True),
        "mode": one("deferred", "deferred", "hybrid", "naive"),
        "fused": one(True, False),
        "way": one("files", "files", "checkpoint"),
        "lr_mult": one(1.0, 0.5),
        "before": int(numbers.randint(1, 5)),
        "after": int(numbers.randint(1, 5)),
        "seed": int(numbers.randint(2**31)),
    }


class _Training:
    """A net and its trainer; `done` steps have been made."""

    def __init__(self, plan: dict[str, Any], seed: int) -> None:
        gluonx.random.seed(seed)
        self.plan, self.done = plan, 0
        self.net = net = _Net(plan)
        net.initialize()
        if plan["dtype"] != "float32":
            net.cast(plan["dtype"])
        if plan["add"]:
            net.setattr("grad_req", "add")
        if plan["lr_mult"] != 1:
            net.last.weight.lr_mult = plan["lr_mult"]
        net.hybridize(plan["mode"] == "hybrid")
        if not plan["fused"]:
            net.unfuse()
        settings = dict(plan["settings"])
        if plan["schedule"] is not None:
            kind = getattr(lr_scheduler, plan["schedule"])
            settings["lr_scheduler"] = kind(base_lr=0.05, **plan["schedule_settings"])
        if plan["dtype"] == "float16":
            settings["multi_precision"] = plan["multi_precision"]
        self.trainer = Trainer(net.collect_params(), plan["optimizer"], settings)

    def steps(self, count: int) -> None:
        plan = self.plan
        for i in range(self.done, self.done + count):
            numbers = onp.random.RandomState([plan["seed"], i])
            for _ in range(2 if plan["add"] else 1):
                x = np.array(numbers.uniform(-1, 1, (3, 4, 4)), dtype=plan["dtype"])
                with autograd.record():
                    loss = (self.net(x) ** 2).sum()
                loss.backward()
            self.trainer.step(3)
            if plan["add"]:
                self.net.zero_grad()
        self.done += count

    def numbers(self) -> dict[str, onp.ndarray]:
        """Return the parameters, and what the optimizer keeps."""
        found = {name: p.data().asnumpy() for name, p in self.net.collect_params(fused=False).items()}
        found |= {f"state {name}": onp.asarray(s) for name, s in self.trainer._states().items()}
        found["rate"] = onp.array(self.trainer.learning_rate)
        found["updates"] = onp.array(self.trainer.optimizer.num_update)
        return found

    def save(self, folder: pathlib.Path) -> None:
        if self.plan["way"] == "checkpoint":
            with checkpoint.Checkpoints(folder / "kept", self.net, self.trainer) as kept:
                kept.save(self.done)
        else:
            self.net.save_parameters(folder / "net.params")
            self.trainer.save_states(folder / "net.states")
            (folder / "random.json").write_text(json.dumps(gluonx.random.get_state()))

    def load(self, folder: pathlib.Path) -> None:
        if self.plan["way"] == "checkpoint":
            with checkpoint.Checkpoints(folder / "kept", self.net, self.trainer) as kept:
                assert kept.restore() == self.plan["before"]
        else:
            self.net.load_parameters(folder / "net.params")
            self.trainer.load_states(folder / "net.states")
            gluonx.random.set_state(json.loads((folder / "random.json").read_text()))
        self.done = self.plan["before"]


def _mode(plan: dict[str, Any]) -> contextlib.AbstractContextManager[Any]:
    return engine.mode("naive") if plan["mode"] == "naive" else contextlib.nullcontext()


def go_on(folder: pathlib.Path) -> None:
    """Take what lies in a folder, do the rest and leave the numbers there."""
    plan = json.loads((folder / "plan.json").read_text())
    with _mode(plan):
        training = _Training(plan, seed=plan["seed"] % 1000 + 1)
        training.load(folder)
        training.steps(plan["after"])
        onp.savez(folder / "found.npz", **{k.replace("/", "|"): v for k, v in training.numbers().items()})


def usual(optimizer: str, way: str) -> dict[str, Any]:
    """Return the plan of a plain training."""
    return {
        **dict.fromkeys(["schedule", "schedule_settings"]),
        **dict.fromkeys(["multi_precision", "add"], False),
        "net": "dense",
        "optimizer": optimizer,
        "settings": {"learning_rate": 0.05, "wd": 0.0, **OPTIMIZERS[optimizer][0]},
        "dtype": "float32",
        "mode": "deferred",
        "fused": True,
        "way": way,
        "lr_mult": 1.0,
        "before": 3,
        "after": 3,
        "seed": 5,
    }


def check(plan: dict[str, Any], elsewhere: bool) -> None:
    """Run one plan with and without the interruption, and compare the bits.

    `elsewhere`, in a new process, both are without NumPy, which would run the first steps there (docs/reproducible.md).
    """
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "plan.json").write_text(json.dumps(plan))
        with _mode(plan), engine.host(not elsewhere):
            training = _Training(plan, seed=plan["seed"] % 1000)
            training.steps(plan["before"])
            training.save(folder)
            training.steps(plan["after"])
            wanted = training.numbers()
        if elsewhere:
            path = os.pathsep.join([str(ROOT), str(TESTS)])
            alone = {"PYTHONPATH": path, "GLUONX_HOST": "0"}
            command = [sys.executable, "-W", "ignore", "-m", "fuzz.resuming", name]
            done = subprocess.run(command, env={**os.environ, **alone}, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-4000:]
        else:
            go_on(folder)
        with onp.load(folder / "found.npz") as file:
            found = {key.replace("|", "/"): file[key] for key in file.files}
    assert found.keys() == wanted.keys(), (sorted(found), sorted(wanted), plan)
    other = [
        f"{key} by {onp.abs(found[key].astype('float64') - value.astype('float64')).max():.3g}"
        for key, value in wanted.items()
        if found[key].dtype != value.dtype or found[key].tobytes() != value.tobytes()
    ]
    assert not other, f"{', '.join(other)}: {plan}"


def main(count: int | range, elsewhere: bool) -> None:
    """Run `count` plans; `elsewhere`, the rest of each in a process of its own."""
    sweep(lambda numbers: check(_drawn(numbers), elsewhere), count)


if __name__ == "__main__":
    go_on(pathlib.Path(sys.argv[1]))
