"""Random trainings of two nets with three trainers, and all that a user may do to parameters in between.

As in `fuzz.training` a deferred run is compared with a naive one, in float64 or float32. Each run draws some of the
events, the methods of `_Machine`, and how often each comes: what is rare among fifty comes often in some runs.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile
from typing import Any

import numpy as onp

from fuzz.harness import sweep
from fuzz.training import DTYPE, compare, prepare
from gluonx import Trainer, autograd, engine, nn, np, random
from gluonx.deferred.run import flushing
from gluonx.errors import GluonxError

_OPTIMIZERS = [
    ("sgd", {"learning_rate": 0.1}),
    ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}),
    ("adam", {"learning_rate": 0.05}),
    ("rmsprop", {"learning_rate": 0.02}),
    ("adagrad", {"learning_rate": 0.1}),
]


class _Net(nn.HybridBlock):
    def __init__(self, kind: int, other: _Net | None = None) -> None:
        super().__init__()
        self.kind = kind
        self.a = nn.Dense(4, in_units=3)
        self.b = nn.Dense(4, in_units=4)
        if other is not None:
            self.b.share_parameters(other.b.collect_params())
        if kind == 1:
            self.norm = nn.BatchNorm(in_channels=4)
        if kind == 5:
            self.drop = nn.Dropout(0.5)
        self.out = nn.Dense(2, in_units=4)

    def forward(self, x: Any) -> Any:
        h = np.tanh(self.a(x))
        if self.kind == 1:
            h = self.norm(h)
        if self.kind == 2:
            h = self.b(h) * h
        if self.kind == 3:
            h = self.b(self.b(h))
        if self.kind == 4:
            h = h + self.b(h).detach()
        if self.kind == 5:
            h = self.drop(h)
        return self.out(np.tanh(self.b(h)))


class _Machine:
    """Nets, trainers, losses that wait for a backward, arrays that are held, and a method for each event."""

    def __init__(self, plan: dict[str, Any], naive: bool, folder: str) -> None:
        random.seed(plan["seed"] % 1000)
        self.plan, self.naive, self.folder = plan, naive, pathlib.Path(folder)
        self.numbers = onp.random.RandomState(plan["seed"])
        first = _Net(plan["kinds"][0])
        self.nets = [first, _Net(plan["kinds"][1], first if plan["shared"] else None)]
        for net, hybrid in zip(self.nets, plan["hybrid"], strict=True):
            net.initialize()
            net.cast(DTYPE)
            net.hybridize(hybrid and not naive)
        every = {id(p): p for net in self.nets for p in net.collect_params().values()}
        self.params = list(every.values())
        for p in self.params:
            p.set_data(np.array(self.numbers.uniform(-1, 1, p.shape), dtype=DTYPE))
        self.trainable = [p for p in self.params if "running" not in p.name]
        for i, req in enumerate(plan["reqs"]):
            self.trainable[i * 5 % len(self.trainable)].grad_req = req
        self.trainers = [self.trainer(i) for i in range(3)]
        self.losses: list[Any] = []
        self.held: list[Any] = []
        self.log: list[Any] = []

    def trainer(self, i: int) -> Trainer:
        both = self.params
        group = [both, list(self.nets[i % 2].collect_params().values()), both[i::3]][self.plan["groups"]]
        name, settings = _OPTIMIZERS[self.plan["optimizers"][i]]
        return Trainer({f"{k:03d}": p for k, p in enumerate(group)}, name, dict(settings))

    def drawn(self, *shape: int) -> Any:
        return np.array(self.numbers.uniform(-1, 1, shape), dtype=DTYPE)

    def x(self) -> Any:
        return self.drawn(5, 3)

    def see(self, *values: Any) -> None:
        self.log += [v.asnumpy() for v in values]

    def p(self, a: int) -> Any:
        return self.params[a % len(self.params)]

    def moving(self, a: int) -> list[Any]:
        """Return one parameter that has a gradient, if there is one."""
        found = [p for p in self.trainable if p.grad_req != "null"]
        return found[a % len(found) :][:1] if found else []

    # -- what is recorded ----------------------------------------------------------------------------------------------

    def forward(self, a: int, b: int) -> None:
        x, y = self.x(), self.drawn(5, 2)
        with autograd.record():
            self.losses.append(((self.nets[a % 2](x) - y) ** 2).mean())

    def two_nets(self, a: int, b: int) -> None:
        x = self.x()
        with autograd.record():
            self.losses.append((self.nets[0](x) * self.nets[1](x)).sum())
            if b % 2:
                self.losses.append(self.losses[-1] * self.nets[a % 2](x).mean())

    def pauses(self, a: int, b: int) -> None:
        x = self.x()
        with autograd.record():
            h = self.nets[a % 2](x)
            with autograd.pause(train_mode=bool(b % 2)):
                k = self.nets[(a + 1) % 2](x)
                if b % 3 == 0:
                    with autograd.record():
                        self.losses.append((self.nets[a % 2](x) ** 2).sum())
            self.losses.append((h * k).sum())

    def mixed_modes(self, a: int, b: int) -> None:
        x = self.x()
        with autograd.record(train_mode=bool(b % 2)):
            h = self.nets[a % 2](x)
            with autograd.predict_mode() if b % 3 else autograd.train_mode():
                k = self.nets[b % 2](x)
            self.losses.append((h * k).sum())

    def raises(self, a: int, b: int) -> None:
        x = self.x()
        try:
            with autograd.record(train_mode=False):  # what was written before an exception is undone in deferred mode
                h = self.nets[a % 2](x)
                if b % 3 == 0:
                    self.losses.append((h * 2).sum())
                if b % 4 == 0:
                    self.see(h)
                raise KeyError
        except KeyError:
            pass

    def reads_within(self, a: int, b: int) -> None:
        x = self.x()
        with autograd.record():
            h = self.nets[a % 2](x)
            self.see(h)
            value = (h**2).sum()
            self.losses.append(value * 0.5 if b % 2 and float(value) > 1 else value)

    def slices(self, a: int, b: int) -> None:
        x = self.x()
        with autograd.record():
            h = self.nets[a % 2](x)
            rows, column = h[1:3], h[:, 0]
            if b % 2:
                del h
            self.losses.append((rows.sum() * column).sum() + rows.mean())

    def writes_in_place(self, a: int, b: int) -> None:
        x = self.x()
        with autograd.record():
            h = self.nets[a % 2](x)
            rows = h[1:]
            h *= 2
            rows += 1
            if b % 2:
                h[0] = h[1] * h[2]
            if b % 3 == 0:
                np.add(h, h, out=h)
            self.losses.append((h * h).sum() + (h.detach() * h).mean())

    def infinite_slope(self, a: int, b: int) -> None:
        x = self.x()
        with autograd.record():
            h = self.nets[a % 2](x)
            self.losses.append((h * h).sum())
            distance = np.sqrt((h - h) ** 2).sum()
        if b % 2:
            self.see(distance)

    def input_gradient(self, a: int, b: int) -> None:
        x = self.x()
        x.attach_grad(("write", "add")[b % 2])
        with autograd.record():
            value = (self.nets[a % 2](x) ** 2).sum()
        value.backward()
        self.see(x.grad)

    # -- backward and steps --------------------------------------------------------------------------------------------

    def backward(self, a: int, b: int) -> None:
        if self.losses:
            self.losses.pop(-1 if b % 3 else a % len(self.losses)).backward()

    def backward_retained(self, a: int, b: int) -> None:
        if self.losses:
            self.losses[a % len(self.losses)].backward(retain_graph=True)

    def backward_of_two(self, a: int, b: int) -> None:
        if len(self.losses) > 1:
            autograd.backward([self.losses.pop(), self.losses.pop()])

    def gradient_returned(self, a: int, b: int) -> None:
        for p in self.moving(b):
            if self.losses:
                self.see(*autograd.grad(self.losses.pop(), [p.data()]))

    def step(self, a: int, b: int) -> None:
        self.trainers[a % 3].step(5, ignore_stale_grad=b % 3 > 0)

    def update(self, a: int, b: int) -> None:
        self.trainers[a % 3].allreduce_grads()
        self.trainers[a % 3].update(5, ignore_stale_grad=True)

    def new_trainer(self, a: int, b: int) -> None:
        self.trainers[a % 3] = self.trainer(a % 3)

    def rate(self, a: int, b: int) -> None:
        self.trainers[a % 3].set_learning_rate((0.01, 0.05, 0.2)[b % 3])

    def multipliers(self, a: int, b: int) -> None:
        self.p(a).lr_mult, self.p(b).wd_mult = (0.5, 1.0, 2.0)[b % 3], (0.0, 1.0, 2.0)[a % 3]

    def states_to_file_and_back(self, a: int, b: int) -> None:
        file = str(self.folder / "states")
        self.trainers[a % 3].save_states(file)
        self.trainers[a % 3].load_states(file)

    # -- parameters ----------------------------------------------------------------------------------------------------

    def set_data(self, a: int, b: int) -> None:
        p = self.p(a)
        value = self.numbers.uniform(0.2, 1, p.shape)
        p.set_data(value if b % 2 else p.data() * 0.5 + 0.1)
        value[...] = 7

    def set_data_of_another(self, a: int, b: int) -> None:
        alike = [q for q in self.params if q.shape == self.p(a).shape]
        self.p(a).set_data(alike[b % len(alike)].data())

    def write(self, a: int, b: int) -> None:
        data = self.p(a).data()
        if b % 2:
            data *= 0.9
        else:
            part = data[1:]
            part[:] = part * 0.5
            part += 0.1

    def write_gradient(self, a: int, b: int) -> None:
        for p in self.moving(a):
            grad = p.grad()
            if b % 3 == 0:
                grad[:] = 0.5
            elif b % 3 == 1:
                grad *= 0.5
            else:
                p.zero_grad()

    def zero_all(self, a: int, b: int) -> None:
        self.nets[a % 2].zero_grad()

    def grad_req(self, a: int, b: int) -> None:
        self.trainable[a % len(self.trainable)].grad_req = ("write", "add", "null")[b % 3]

    def cast(self, a: int, b: int) -> None:
        self.nets[a % 2].cast("float64" if DTYPE == "float32" else "float32")
        self.nets[a % 2].cast(DTYPE)

    def to_file_and_back(self, a: int, b: int) -> None:
        file = str(self.folder / f"{a % 2}.params")
        self.nets[a % 2].save_parameters(file)
        if b % 2:
            self.set_data(a, b)
        self.nets[a % 2].load_parameters(file)

    def hybridize(self, a: int, b: int) -> None:
        self.nets[a % 2].hybridize(bool(b % 2) and not self.naive)

    # -- reads, and arrays that are held -------------------------------------------------------------------------------

    def predict(self, a: int, b: int) -> None:
        with autograd.train_mode() if b % 2 else autograd.predict_mode():
            self.see(self.nets[a % 2](self.x()))

    def read(self, a: int, b: int) -> None:
        self.see(self.p(a).data(), *[p.grad() for p in self.moving(b)], *self.losses[:1])

    def hold(self, a: int, b: int) -> None:
        data = self.p(a).data()
        kept = (data, data[1:], data.detach(), data[1:].detach(), data.copy(), data * 1)
        self.held.append(kept[b % len(kept)])

    def hold_gradient(self, a: int, b: int) -> None:
        for p in self.moving(a):
            grad = p.grad()
            self.held.append((grad, grad[1:], grad.detach(), grad.copy())[b % 4])

    def read_held(self, a: int, b: int) -> None:
        self.see(*self.held[a % 3 :][:1])

    def write_held(self, a: int, b: int) -> None:
        for h in self.held[a % 3 :][:1]:
            h *= 0.7

    def drop(self, a: int, b: int) -> None:
        del self.held[a % 3 : a % 3 + 1], self.losses[b % 3 : b % 3 + 1]


_START = ("trainer", "drawn", "x", "see", "p", "moving")
_EVENTS = sorted(name for name in vars(_Machine) if not name.startswith("_") and name not in _START)


def _run(plan: dict[str, Any], naive: bool) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        machine = _Machine(plan, naive, folder)
        for event, a, b in plan["events"]:
            try:
                getattr(machine, event)(a, b)
            except GluonxError as error:  # a stale gradient, a graph that is freed: the same ones in both
                machine.log.append(type(error).__name__)
        for p in machine.params:
            machine.see(p.data(), *([p.grad()] if p in machine.trainable and p.grad_req != "null" else []))
        machine.see(*machine.held, *machine.losses)
    return machine.log


def _plan(numbers: Any) -> dict[str, Any]:
    kinds = numbers.randint(2, 14)
    chosen = [*numbers.choice(_EVENTS, kinds, replace=False), "forward", "backward", "step"]
    weights = numbers.exponential(size=len(chosen)) + 0.2
    events = numbers.choice(chosen, numbers.randint(4, 24), p=weights / weights.sum())
    return {
        "kinds": numbers.randint(6, size=2).tolist(),
        "shared": numbers.randint(3) == 0,
        "hybrid": numbers.randint(2, size=2).astype(bool).tolist(),
        "groups": int(numbers.randint(3)),
        "optimizers": numbers.randint(len(_OPTIMIZERS), size=3).tolist(),
        "reqs": numbers.choice(["write", "write", "write", "add", "null"], 3).tolist(),
        "seed": int(numbers.randint(2**31)),
        "events": [(str(event), int(numbers.randint(60)), int(numbers.randint(60))) for event in events],
    }


def _check(numbers: Any) -> None:
    plan = _plan(numbers)
    flushing._sites.clear()
    with engine.mode("naive"):
        wanted = _run(plan, True)
    found = _run(plan, False)
    assert len(found) == len(wanted), plan
    for x, y in zip(found, wanted, strict=True):
        if isinstance(x, str) or isinstance(y, str):
            assert isinstance(x, str) and isinstance(y, str) and x == y, (x, y, plan)
            continue
        compare(x, y, plan)


def main(count: int, how: str) -> None:
    """Run `count` plans."""
    prepare(how)
    sweep(_check, count)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
