"""Trains a small net on two devices, in one process or several; prints the losses and a mark of the weights.

Arguments as NAME=VALUE: steps, folder (of checkpoints), every, kill=RANK:STEP, at=PHASE of that step, fault=KIND.
"""

import hashlib
import os
import signal
import sys
import threading
import time

import jax
import numpy

import gluonx
from gluonx import Trainer, autograd, gluon, init, lr_scheduler, nn, parallel

ARGS = dict(argument.split("=", 1) for argument in sys.argv[1:])
RANK, COUNT = jax.process_index(), jax.process_count()


def die(step, phase):
    """Be killed, if it is the time for this process."""
    if ARGS.get("kill") == f"{RANK}:{step}" and ARGS.get("at", "backward") == phase:
        os.kill(os.getpid(), signal.SIGKILL)


def die_soon(step):
    """Be killed while the step is computed, or its checkpoint is written."""
    if ARGS.get("kill") != f"{RANK}:{step}":
        return
    at, folder = ARGS.get("at"), ARGS.get("folder", "")

    def watch():
        while True:
            names = os.listdir(folder) if os.path.isdir(folder) else []
            writing = any(name.startswith(f"{step}.") for name in names)
            if (at == "running") or (at == "writing" and writing) or (at == "written" and str(step) in names):
                os.kill(os.getpid(), signal.SIGKILL)

    if at in ("running", "writing", "written"):
        threading.Thread(target=watch, daemon=True).start()


def mark_of(net):
    """Return a few letters that stand for all bits of the weights."""
    mark = hashlib.sha256()
    for _, param in sorted(net.collect_params().items()):
        mark.update(parallel.gather(param.data()).tobytes())
    return mark.hexdigest()[:16]


class Data:
    """Samples that this process has read."""

    def __init__(self, size=64):
        rng = numpy.random.default_rng(0)
        self.x = rng.standard_normal((size, 12)).astype("float32")
        self.y = rng.integers(0, 8, size).astype("int32")
        self.read = 0

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        self.read += 1
        die(self.read // (16 // COUNT), "data")
        return self.x[index], self.y[index]


def make():
    net = nn.HybridSequential()
    net.add(nn.Dense(32, activation="relu"), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(8))
    net.initialize(init.Xavier())
    net.shard(parallel.fsdp(min_size=64))
    net.hybridize()
    rate = lr_scheduler.FactorScheduler(step=3, factor=0.9, base_lr=0.01)
    return net, Trainer(net.collect_params(), "adam", {"learning_rate": 0.01, "lr_scheduler": rate})


def shares(data, fault):
    """Global batches of what each process reads by itself; of 8 rows, but for those of process 1 where that differs."""
    count = len(data) // COUNT
    sizes = {"uneven": (9, 8), "uneven-last": (8, 3), "uneven-both": (8, 3)}.get(fault, (8, 8)) if RANK else (8, 8)
    if fault == "uneven-both" and RANK == 0:
        sizes = (8, 4)
    for k, size in enumerate(sizes):
        rows = slice(RANK * count + 8 * k, RANK * count + 8 * k + size)
        yield parallel.from_local((data.x[rows], data.y[rows]))


def main():
    fault = ARGS.get("fault", "")
    if "seed" in ARGS:
        gluonx.random.seed(int(ARGS["seed"]))
    if fault == "seed":
        gluonx.random.seed(RANK)
    parallel.use(parallel.mesh(data=-1))
    data = Data(64 - (16 if fault == "length" and RANK == 1 else 0))
    net, trainer = make()
    loader = gluon.data.DataLoader(data, batch_size=16, shuffle=True)
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    total, step = int(ARGS.get("steps", 6)), 0
    keeper = None
    if "folder" in ARGS:
        from gluonx import checkpoint

        keeper = checkpoint.Checkpoints(ARGS["folder"], net, trainer, loader, keep=2)
        step = keeper.restore() or 0
        print(f"begins at step {step}", flush=True)
        if step and "marks" in ARGS:
            print(f"restored {mark_of(net)}", flush=True)
    while step < total:
        for x, y in shares(data, fault) if "local" in ARGS else loader:
            step += 1
            if fault == "shape" and RANK == 1 and step == 3:
                x, y = x[:8], y[:8]
            die(step, "batch")
            with autograd.record():
                out = net(x)
                die(step, "forward")
                if fault == "code" and RANK == 1:
                    out = out * 2
                loss = loss_fn(out, y).mean()
            loss.backward()
            if fault == "raise" and RANK == 1 and step == 3:
                raise ValueError("of mine")
            die(step, "backward")
            die_soon(step)
            trainer.step(1)
            die(step, "step")
            print(f"step {step}: {float(loss)!r}", flush=True)
            if keeper is not None and step % int(ARGS.get("every", 2)) == 0:
                if "marks" in ARGS:
                    print(f"saved {step} {mark_of(net)}", flush=True)
                keeper.save(step)
                die(step, "saving")
                if ARGS.get("wait"):
                    keeper.wait()
            time.sleep(float(ARGS.get("pause", 0)))
            if step >= total:
                break
    if keeper is not None:
        keeper.close()
    read = data.read
    print(f"weights {mark_of(net)}, read {read}, rate {trainer.learning_rate:.6f}", flush=True)


if __name__ == "__main__":
    main()
