# ruff: noqa
"""The profiler of MXNet 1: runs, tasks, frames, events, counters, markers, pauses, tables."""

import atexit, os, shutil, tempfile
import numpy as onp
import json
import mxnet as mx
from mxnet import nd, gluon, autograd, profiler


def folder():
    made = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, made, True)
    return made


def read(path):
    with open(path) as file:
        return file.read()


def prog(run):
    print("###", run.__name__)
    run()


FOLDER = folder()


def work():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    t = gluon.Trainer(net.collect_params(), "sgd")
    for k in range(2):
        with autograd.record():
            l = net(nd.ones((3, 5))).sum()
        l.backward()
        t.step(3)
    nd.waitall()


@prog
def config_run():
    profiler.set_config(profile_all=True, aggregate_stats=True, filename=FOLDER + "/profile_output.json")
    profiler.set_state("run")
    work()
    profiler.set_state("stop")
    s = profiler.dumps()
    print(type(s).__name__, len(s) > 0)
    profiler.dump()
    print(os.path.exists(FOLDER + "/profile_output.json"), "traceEvents" in read(FOLDER + "/profile_output.json"))


@prog
def domain_task():
    domain = profiler.Domain("my")
    print(str(domain))
    task = profiler.Task(domain, "compute")
    print(str(task))
    task.start()
    work()
    task.stop()
    d2 = domain.new_task("other")
    print(str(d2))
    f = profiler.Frame(domain, "f")
    print(f)
    f.start()
    f.stop()


@prog
def events():
    e = profiler.Event("ev")
    print(str(e))
    e.start()
    work()
    e.stop()


@prog
def counters():
    d = profiler.Domain("dom")
    c = profiler.Counter(d, "items", 3)
    c.set_value(5)
    c += 4
    c.increment(2)
    c -= 1
    c.decrement(3)
    print(str(c))
    c2 = d.new_counter("z", 0)
    print(c2)


@prog
def markers():
    d = profiler.Domain("dm")
    m = profiler.Marker(d, "here")
    m.mark("process")
    d.new_marker("b").mark("thread")


@prog
def pause_resume():
    profiler.set_state("run")
    work()
    profiler.pause()
    work()
    profiler.resume()
    work()
    profiler.set_state("stop")
    print(len(profiler.dumps(reset=True)) > 0)


@prog
def dumps_formats():
    profiler.set_state("run")
    work()
    profiler.set_state("stop")
    for kw in (dict(format="table"), dict(format="json"), dict(sort_by="avg", ascending=True), dict(reset=True)):
        s = profiler.dumps(**kw)
        print(sorted(kw), isinstance(s, str))
        if kw.get("format") == "json":
            print(len(json.loads(s)) > 0)
    for bad in (dict(format="xml"), dict(sort_by="nonsense")):
        try:
            profiler.dumps(**bad)
            print("no error")
        except Exception:
            print("error")


@prog
def gluon_loop():
    profiler.set_state("run")
    with autograd.record():
        y = nd.dot(nd.ones((4, 4)), nd.ones((4, 4))).sum()
    print(y.asscalar())
    nd.waitall()
    profiler.set_state("stop")
    s = profiler.dumps()
    print("Time Count" in s or "Total Count" in s, "dot" in s)


@prog
def an_executor():
    profiler.set_state("run", profile_process="worker")
    x = mx.sym.Variable("x")
    e = mx.sym.tanh(x * 2, name="twice").simple_bind(mx.cpu(), x=(3,))
    e.arg_dict["x"][:] = nd.array([0.0, 0.5, 1.0])
    frame = profiler.Frame(profiler.Domain("passes"), "one pass")
    frame.start()
    e.forward(is_train=True)
    e.backward(nd.ones(3))
    frame.stop()
    nd.waitall()
    profiler.set_state("stop", profile_process="worker")
    print(e.outputs[0].asnumpy().round(4).tolist(), e.grad_dict["x"].asnumpy().round(4).tolist())
    print(len(profiler.dumps(reset=True)) > 0)


@prog
def a_module():
    d = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2), name="softmax")
    it = mx.io.NDArrayIter(onp.ones((4, 3)), onp.zeros(4), 2)
    profiler.set_state("run")
    m = mx.mod.Module(d)
    m.fit(it, num_epoch=1, initializer=mx.init.One(), optimizer_params={"learning_rate": 0.1})
    nd.waitall()
    profiler.set_state("stop")
    table = profiler.dumps(reset=True)
    print(len(table) > 0, m.get_outputs()[0].asnumpy().round(4).tolist())
