"""Random programs over mutable arrays: how to draw one, one interpreter, and a reference to run it on.

An instruction is a tuple (name, a, b, c): `a` and `b` choose registers and indices modulo what there is, so every tuple
means something on every state, and hypothesis can shrink freely. :func:`run` plays a program on a *world*: gluonx
itself, or :class:`Reference`, a tape of NumPy float64 arrays short enough to be believed.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as onp
from hypothesis import strategies as st

from gluonx import autograd, engine, np
from gluonx.errors import GraphError

__all__ = ["GLUONX", "Reference", "assert_agree", "programs", "run"]

_UNARY = ("tanh", "arctan", "negative")
_CONSTANTS = (0.5, -1.25, 2.0, 0.75)
_BASIC = (0, -1, slice(0, 2), slice(1, None), slice(None, None, -1), slice(None, None, 2), None, ..., slice(2, 0, -1))
_BASIC2 = ((slice(None), 1), (0, slice(1, 3)), (..., None, slice(0, 2)), (slice(None), slice(None, None, -2)), (-1, -1))

_WEIGHTS = {
    "unary": 1,
    "binary": 3,
    "scalar": 1,
    "reflected": 1,
    "inplace": 2,
    "iscalar": 1,
    "view": 2,
    "setitem": 2,
    "setnumber": 1,
    "gather": 1,
    "gather_array": 1,
    "masked": 1,
    "scatter": 1,
    "scatter_from": 1,
    "maskset": 1,
    "sum": 1,
    "matmul": 1,
    "read": 2,
    "readgrad": 1,
    "detach": 1,
    "copy": 1,
    "pause_binary": 1,
    "pause_write": 1,
    "pause_inplace": 1,
    "attach": 1,
    "record": 4,
    "backward": 3,
    "sgd": 1,
    "leaf_write": 1,
    "overwrite": 1,
    "zero_grad": 1,
    "drop": 1,
    "where": 1,
    "waitall": 1,
    "take_whole": 1,
}
NAMES = [name for name, count in _WEIGHTS.items() for _ in range(count)]


def programs(max_size: int = 24) -> Any:
    """A strategy for programs; they begin by recording something."""
    number = st.integers(0, 59)
    step = st.tuples(st.sampled_from(NAMES), number, number, st.sampled_from(_CONSTANTS))
    return st.lists(step, min_size=4, max_size=max_size).map(lambda p: [("record", 0, 0, 0.5), *p])


# -- the reference -----------------------------------------------------------------------------------------------------


class _Node:
    """A recorded value: where its cotangent goes."""

    def __init__(self, parents: Any = (), variable: Any = None) -> None:
        self.parents = parents
        self.variables = [] if variable is None else [variable]


class _Variable:
    def __init__(self, req: str, shape: Any) -> None:
        self.req = req
        self.grad = _Array(onp.zeros(shape))


def _sum_to(x: Any, shape: Any) -> Any:
    while x.ndim > len(shape):
        x = x.sum(0)
    for axis, n in enumerate(shape):
        if n == 1 and x.shape[axis] != 1:
            x = x.sum(axis, keepdims=True)
    return x


class Reference:
    """A world of NumPy arrays with a tape."""

    recording = False
    scale = 1.0

    def array(self, value: Any) -> _Array:
        return _Array(onp.asarray(value, onp.float64))

    @contextlib.contextmanager
    def _switched(self, on: bool) -> Any:
        before, Reference.recording = Reference.recording, on
        try:
            yield
        finally:
            Reference.recording = before

    def record(self) -> Any:
        return self._switched(True)

    def pause(self) -> Any:
        return self._switched(False)

    def waitall(self) -> None:
        pass

    def unary(self, name: str, x: _Array) -> _Array:
        v = x.value
        slope = {"tanh": 1 - onp.tanh(v) ** 2, "arctan": 1 / (1 + v * v), "negative": -onp.ones_like(v)}[name]
        return _op(getattr(onp, name)(v), (x, lambda g: g * slope))

    def where(self, mask: Any, x: _Array, y: _Array) -> _Array:
        return _op(
            onp.where(mask, x.value, y.value),
            (x, lambda g: _sum_to(g * mask, x.shape)),
            (y, lambda g: _sum_to(g * ~mask, y.shape)),
        )

    def backward(self, heads: Any, given: Any, retain: bool) -> None:
        if any(h.node is None for h in heads):
            raise GraphError("not recorded")
        cotangents: dict[int, Any] = {}
        order: list[_Node] = []
        seen: set[int] = set()

        def visit(node: _Node) -> None:
            if id(node) not in seen:
                seen.add(id(node))
                for parent, _ in node.parents:
                    visit(parent)
                order.append(node)

        for head, g in zip(heads, given):
            visit(head.node)
            seed = onp.ones(head.shape) if g is None else g.value
            cotangents[id(head.node)] = cotangents.get(id(head.node), 0.0) + seed
        for node in reversed(order):
            value = cotangents.get(id(node))
            if value is None:
                continue
            Reference.scale = max(Reference.scale, float(onp.abs(value).max(initial=0.0)))
            for parent, pull in node.parents:
                cotangents[id(parent)] = cotangents.get(id(parent), 0.0) + pull(value)
        ends: dict[int, tuple[_Variable, Any]] = {}
        for node in order:
            for v in node.variables if id(node) in cotangents else ():
                ends[id(v)] = (v, ends[id(v)][1] + cotangents[id(node)] if id(v) in ends else cotangents[id(node)])
        for variable, value in ends.values():
            variable.grad.base = variable.grad.base + value if variable.req == "add" else onp.asarray(value) * 1.0


def _op(value: Any, *parents: tuple[_Array, Any]) -> _Array:
    out = _Array(onp.asarray(value, onp.float64))
    if out.base.size:
        Reference.scale = max(Reference.scale, float(onp.abs(out.base).max()))
    if Reference.recording:
        moving = [(p.source, pull) for p, pull in parents if p.source is not None]
        if moving:
            out.node = _Node(moving)
    return out


def _put(old: Any, key: Any, value: Any) -> Any:
    new = onp.array(old)
    new[key] = value
    return new


class _Array:
    """A mutable array; a view keeps its parent and its key, and reads and writes through them."""

    def __init__(self, base: Any, parent: _Array | None = None, key: Any = None) -> None:
        self.base, self.parent, self.key = base, parent, key
        self.node: _Node | None = None
        self.variable: _Variable | None = None

    @property
    def value(self) -> Any:
        return self.base if self.parent is None else onp.asarray(self.parent.value[self.key])

    @property
    def shape(self) -> Any:
        return self.value.shape

    @property
    def source(self) -> _Node | None:
        if self.parent is not None:
            return self._read().node
        if self.node is None and self.variable is not None:
            return _Node(variable=self.variable)
        return self.node

    def _read(self) -> _Array:
        parent, key = self.parent, self.key
        assert parent is not None
        shape = parent.shape
        return _op(self.value, (parent, lambda g: _put(onp.zeros(shape), key, g)))

    def _refuse(self) -> None:
        """A leaf cannot be written to while recording."""
        if self.parent is not None and not isinstance(self, _Detached):
            self.parent._refuse()
        elif self.variable is not None and Reference.recording:
            raise GraphError("a leaf was written to")

    def _assign(self, new: _Array) -> None:
        self._refuse()
        if self.parent is not None:
            self.parent[self.key] = new
            return
        self.base, self.node = new.value * 1.0, new.source if Reference.recording else None

    def _binary(self, other: Any, fn: Any, left: Any, right: Any) -> _Array:
        if not isinstance(other, _Array):
            other = onp.array(other)  # NumPy's operands may be written to before the gradient is taken
            return _op(fn(self.value, other), (self, lambda g: left(g, other)))
        a, b = self.value, other.value
        return _op(
            fn(a, b),
            (self, lambda g: _sum_to(left(g, b), a.shape)),
            (other, lambda g: _sum_to(right(g, a), b.shape)),
        )

    def __add__(self, other: Any) -> _Array:
        return self._binary(other, onp.add, lambda g, b: g, lambda g, a: g)

    def __sub__(self, other: Any) -> _Array:
        return self._binary(other, onp.subtract, lambda g, b: g, lambda g, a: -g)

    def __rsub__(self, other: float) -> _Array:
        return _op(other - self.value, (self, lambda g: -g))

    def __mul__(self, other: Any) -> _Array:
        return self._binary(other, onp.multiply, lambda g, b: g * b, lambda g, a: g * a)

    def __matmul__(self, other: _Array) -> _Array:
        a, b = self.value, other.value
        return _op(a @ b, (self, lambda g: g @ b.T), (other, lambda g: a.T @ g))

    def __iadd__(self, other: Any) -> _Array:
        self._assign(self + other)
        return self

    def __isub__(self, other: Any) -> _Array:
        self._assign(self - other)
        return self

    def __imul__(self, other: Any) -> _Array:
        self._assign(self * other)
        return self

    def __getitem__(self, key: Any) -> _Array:
        if isinstance(key, _Array):
            key = key.value.astype(int)
        advanced = isinstance(key, onp.ndarray)
        if not advanced:
            return _Array(None, self, key)
        shape = self.shape

        def pull(g: Any) -> Any:
            full = onp.zeros(shape)
            onp.add.at(full, key, g)
            return full

        return _op(self.value[key], (self, pull))

    def __setitem__(self, key: Any, value: Any) -> None:
        new = _put(self.value, key, value.value if isinstance(value, _Array) else value)
        parents = [(self, lambda g: _put(g, key, 0.0))]
        if isinstance(value, _Array):
            shape = value.shape
            parents.append((value, lambda g: _sum_to(g[key], shape).reshape(shape)))
        self._assign(_op(new, *parents))

    def sum(self, axis: Any = None) -> _Array:
        shape = self.shape
        return _op(
            self.value.sum(axis),
            (self, lambda g: onp.broadcast_to(g if axis is None else onp.expand_dims(g, axis), shape) * 1.0),
        )

    def copy(self) -> _Array:
        return _op(self.value * 1.0, (self, lambda g: g))

    def detach(self) -> _Array:
        return _Detached(None, self, ...)

    def attach_grad(self, req: str) -> None:
        old, self.variable = self.variable, _Variable(req, self.shape)
        if self.node is not None:
            self.node.variables = [*[v for v in self.node.variables if v is not old], self.variable]

    @property
    def grad(self) -> Any:
        return None if self.variable is None else self.variable.grad

    def zero_grad(self) -> None:
        if self.variable is not None:
            self.variable.grad.base = onp.zeros(self.shape)

    def asnumpy(self) -> Any:
        return self.value * 1.0


class _Detached(_Array):
    """The same numbers as those of `parent`, and no part of its graph."""

    @property
    def source(self) -> _Node | None:
        return None if self.variable is None else _Node(variable=self.variable)

    def detach(self) -> _Array:
        assert self.parent is not None
        return self.parent.detach()

    def _assign(self, new: _Array) -> None:
        self._refuse()
        parent = self.parent
        assert parent is not None
        root, before = parent, Reference.recording
        while root.parent is not None:
            root = root.parent
        source = parent.source if before and root.variable is None else None
        value = _Array(new.value * 1.0)
        value.node = None if source is None else _Node([(source, lambda g: g)])
        Reference.recording = value.node is not None
        try:
            parent._assign(value)
        finally:
            Reference.recording = before


class _Gluonx:
    """The same world, of gluonx arrays."""

    array = staticmethod(lambda value: np.array(value))
    record = staticmethod(autograd.record)
    pause = staticmethod(autograd.pause)
    backward = staticmethod(autograd.backward)
    waitall = staticmethod(engine.waitall)

    def unary(self, name: str, x: Any) -> Any:
        return getattr(np, name)(x)

    def where(self, mask: Any, x: Any, y: Any) -> Any:
        return np.where(np.array(mask, dtype=bool), x, y)


GLUONX = _Gluonx()


# -- the interpreter ---------------------------------------------------------------------------------------------------


class _Machine:
    """Registers, and one method for each instruction."""

    def __init__(self, world: Any) -> None:
        self.world = world
        numbers = onp.random.RandomState(7)
        shapes = ((3, 4), (3, 4), (4,), (4, 3), ())
        self.regs = [world.array(numbers.uniform(-1, 1, s).astype("float32")) for s in shapes]
        self.views: set[int] = set()
        self.interior: set[int] = set()  # recorded values that have attach_grad
        self.gone: list[Any] = []
        self.owner: dict[int, int] = {}
        self.dirty: set[int] = set()
        self.reqs: dict[int, str] = {}
        self.log: list[Any] = []
        self.scope: Any = None
        for i, req in ((0, "write"), (1, "add"), (2, "write")):
            self.regs[i].attach_grad(req)
            self.reqs[id(self.regs[i])] = req

    def reg(self, n: int, ok: Any = None) -> Any:
        fits = [r for r in self.regs if ok is None or ok(r)]
        return fits[n % len(fits)] if fits else None

    def new(self, value: Any) -> None:
        self.regs.append(value)

    def fitting(self, shape: Any, n: int) -> Any:
        """A register that broadcasts to `shape`."""

        def ok(r: Any) -> bool:
            s = tuple(r.shape)
            return len(s) <= len(shape) and all(x in (1, y) for x, y in zip(s[::-1], tuple(shape)[::-1]))

        return self.reg(n, ok)

    def written(self, x: Any) -> None:
        if self.scope is not None:
            self.dirty.add(self.owner.get(id(x), id(x)))

    def key(self, x: Any, n: int) -> Any:
        keys = [None, ...] if not x.shape else list(_BASIC)
        if len(x.shape) == 2:
            keys += _BASIC2
        key = keys[n % len(keys)]
        probe = onp.empty(x.shape)
        try:
            probe[key]
        except IndexError:
            return ...
        return key

    # instructions

    def unary(self, a: int, b: int, c: float) -> None:
        self.new(self.world.unary(_UNARY[b % 3], self.reg(a)))

    def binary(self, a: int, b: int, c: float) -> None:
        x = self.reg(a)
        y = self.fitting(x.shape, b)
        self.new(
            (x + y if c > 0.6 else x - y if c < 0 else self.world.unary("tanh", x) * y) if y is not None else x * c
        )

    def scalar(self, a: int, b: int, c: float) -> None:
        self.new(self.reg(a) * c)

    def reflected(self, a: int, b: int, c: float) -> None:
        self.new(c - self.reg(a))

    def may_write(self, x: Any) -> Any:
        """Return a pause where a leaf would be written to while recording, so that it goes on as a leaf."""
        self.written(x)
        leaf = self.owner.get(id(x), id(x)) in self.reqs
        return self.world.pause() if leaf and self.scope is not None else contextlib.nullcontext()

    def leaf_write(self, a: int, b: int, c: float) -> None:
        """Write without a pause; what happens to a leaf is part of the result."""
        x = self.reg(a)
        try:
            if b % 3:
                x[self.key(x, b)] = c
            else:
                x *= c
            self.written(x)
        except GraphError:
            self.log.append("GraphError")

    def overwrite(self, a: int, b: int, c: float) -> None:
        """Give a NumPy array to an operator or a write, and write to it at once."""
        x = self.reg(a)
        buf = onp.full(x.shape, c, "float32")
        if b % 3 == 0:
            self.new(x * buf)
        elif b % 3 == 1:
            with self.may_write(x):
                x[...] = buf
        else:
            self.new(x - buf)
        buf[...] = 7.0

    def inplace(self, a: int, b: int, c: float) -> None:
        x = self.reg(a)
        y = self.fitting(x.shape, b)
        if y is None:
            return
        with self.may_write(x):
            if c < 0.6:
                x += y
            else:
                x -= y

    def iscalar(self, a: int, b: int, c: float) -> None:
        x = self.reg(a)
        with self.may_write(x):
            x *= c

    def view(self, a: int, b: int, c: float) -> None:
        x = self.reg(a)
        key = self.key(x, b)
        v = x[key]
        self.views.add(id(v))
        self.owner[id(v)] = id(x) if id(x) not in self.owner else self.owner[id(x)]
        self.new(v)

    def setitem(self, a: int, b: int, c: float) -> None:
        x = self.reg(a)
        key = self.key(x, b)
        y = self.fitting(onp.empty(x.shape)[key].shape, a + b)
        if y is not None:
            with self.may_write(x):
                x[key] = y

    def setnumber(self, a: int, b: int, c: float) -> None:
        x = self.reg(a)
        with self.may_write(x):
            x[self.key(x, b)] = c

    def _rows(self, x: Any, b: int, unique: bool = False) -> Any:
        n = x.shape[0]
        rows = [onp.array([0, n - 1] if n > 1 else [0]), onp.array([n - 1, 0, n // 2]), onp.array([-1])]
        rows = [rows[0], rows[2]] if unique else rows
        if b % 5 == 0:
            return onp.arange(n) % 2 == 0
        return rows[b % len(rows)]

    def gather(self, a: int, b: int, c: float) -> None:
        x = self.reg(a, lambda r: len(r.shape) and r.shape[0])
        self.new(x[self._rows(x, b)])

    def gather_array(self, a: int, b: int, c: float) -> None:
        x = self.reg(a, lambda r: len(r.shape) and r.shape[0])
        rows = self._rows(x, b)
        if rows.dtype != bool:
            self.new(x[self.world.array(rows.astype("float32"))])

    def masked(self, a: int, b: int, c: float) -> None:
        x = self.reg(a, lambda r: len(r.shape))
        self.new(x[x.asnumpy() > 0.0371])

    def scatter(self, a: int, b: int, c: float) -> None:
        x = self.reg(a, lambda r: len(r.shape) and r.shape[0])
        with self.may_write(x):
            x[self._rows(x, b)] = c

    def scatter_from(self, a: int, b: int, c: float) -> None:
        x = self.reg(a, lambda r: len(r.shape) and r.shape[0])
        rows = self._rows(x, b, unique=True)
        y = self.fitting(onp.empty(x.shape)[rows].shape, b)
        if y is not None:
            with self.may_write(x):
                x[rows] = y

    def maskset(self, a: int, b: int, c: float) -> None:
        x = self.reg(a, lambda r: len(r.shape))
        mask = x.asnumpy() > 0.0371
        with self.may_write(x):
            x[mask] = c

    def where(self, a: int, b: int, c: float) -> None:
        x = self.reg(a)
        y = self.fitting(x.shape, b)
        if y is not None:
            self.new(self.world.where(onp.arange(onp.empty(x.shape).size).reshape(x.shape) % 2 == 0, x, y))

    def sum(self, a: int, b: int, c: float) -> None:
        x = self.reg(a, lambda r: len(r.shape))
        self.new(x.sum() if b % 2 else x.sum(axis=0))

    def matmul(self, a: int, b: int, c: float) -> None:
        x = self.reg(a, lambda r: tuple(r.shape) == (3, 4))
        y = self.reg(b, lambda r: tuple(r.shape) == (4, 3))
        if x is not None and y is not None:
            self.new(x @ y)

    def read(self, a: int, b: int, c: float) -> None:
        self.log.append(self.reg(a).asnumpy())

    def readgrad(self, a: int, b: int, c: float) -> None:
        x = self.reg(a)
        if x.grad is not None:
            self.log.append(x.grad.asnumpy())

    def detach(self, a: int, b: int, c: float) -> None:
        x = self.reg(a)
        twin = x.detach()
        self.views.add(id(twin))
        self.owner[id(twin)] = self.owner.get(id(x), id(x))
        self.new(twin)

    def copy(self, a: int, b: int, c: float) -> None:
        self.new(self.reg(a).copy())

    def take_whole(self, a: int, b: int, c: float) -> None:
        x = self.reg(a)
        y = self.reg(b, lambda r: tuple(r.shape) == tuple(x.shape))
        with self.may_write(x):
            x[...] = y

    def pause_binary(self, a: int, b: int, c: float) -> None:
        with self.world.pause():
            self.binary(a, b, c)

    def pause_write(self, a: int, b: int, c: float) -> None:
        with self.world.pause():
            self.setitem(a, b, c)

    def pause_inplace(self, a: int, b: int, c: float) -> None:
        with self.world.pause():
            self.inplace(a, b, c)

    def attach(self, a: int, b: int, c: float) -> None:
        # A slice taken before leads to the gradient of then; the reference, which reads through, knows one gradient.
        x = self.reg(a, lambda r: id(r) not in self.views and id(r) not in self.owner.values())
        if x is None:
            return
        self.interior.add(id(x))
        self.reqs[id(x)] = ("write", "add")[b % 2]
        x.attach_grad(self.reqs[id(x)])

    def zero_grad(self, a: int, b: int, c: float) -> None:
        self.reg(a).zero_grad()

    def record(self, a: int, b: int, c: float) -> None:
        if self.scope is None:
            self.scope = self.world.record()
            self.scope.__enter__()
        else:
            self.stop()

    def stop(self) -> None:
        if self.scope is not None:
            scope, self.scope = self.scope, None
            scope.__exit__(None, None, None)

    def backward(self, a: int, b: int, c: float) -> None:
        with self.world.record():
            heads = [self.reg(a) * 1.5]
            if b % 3 == 1:
                heads.append(self.world.unary("tanh", self.reg(b)))
        given = [
            None if (b + i) % 4 else self.world.array(onp.full(h.shape, c, "float32")) for i, h in enumerate(heads)
        ]
        self.world.backward(heads, given, retain := b % 5 == 0)
        if not retain:
            self.stop()
            self.cut()

    def cut(self) -> None:
        """After a backward the graph is gone: what was recorded is detached."""
        kept = []
        for r in self.regs:
            if id(r) in self.views:
                continue
            if id(r) in self.reqs and id(r) not in self.dirty | self.interior:
                kept.append(r)
                continue
            with self.world.pause():
                kept.append(r.copy())
            if id(r) in self.reqs:
                self.reqs[id(kept[-1])] = req = self.reqs.pop(id(r))
                kept[-1].attach_grad(req)
            self.gone.append(r)  # so that no id is used twice
        self.regs, self.dirty, self.views, self.owner, self.interior = kept, set(), set(), {}, set()

    def sgd(self, a: int, b: int, c: float) -> None:
        x = self.reg(a)
        if x.grad is not None:
            with self.world.pause():
                x -= x.grad * 0.1
            if self.scope is not None:
                self.written(x)

    def drop(self, a: int, b: int, c: float) -> None:
        loose = [i for i, r in enumerate(self.regs) if i >= 5 and id(r) not in self.owner.values()]
        if loose:
            gone = id(self.regs.pop(loose[a % len(loose)]))
            self.views.discard(gone), self.dirty.discard(gone), self.reqs.pop(gone, None), self.owner.pop(gone, None)

    def waitall(self, a: int, b: int, c: float) -> None:
        self.world.waitall()


def run(program: Any, world: Any) -> list[Any]:
    """Plays a program; what it read, all that is left at the end, or where it failed."""
    machine = _Machine(world)
    try:
        for name, a, b, c in program:
            getattr(machine, name)(a, b, c)
    except GraphError:
        machine.stop()
        return [*machine.log, "GraphError"]
    machine.stop()
    ends = [r.asnumpy() for r in machine.regs]
    return [*machine.log, *[r.grad.asnumpy() for r in machine.regs if r.grad is not None], *ends]


def assert_agree(found: list[Any], wanted: list[Any]) -> None:
    """The same readings, up to the rounding of float32 at the size of the program's numbers."""
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted):
        if isinstance(y, str) or isinstance(x, str):
            assert isinstance(x, str) and isinstance(y, str), (x, y)
            continue
        assert x.shape == y.shape
        onp.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5 * Reference.scale)
