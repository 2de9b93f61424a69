"""A machine for pickles that runs nothing: it reads files of trainer states and of PyTorch's weights.

A pickle is a program for a small stack machine. This module is such a machine for the few instructions that these
files are made of. It cannot import, call or construct anything: the names that a subclass knows are the only ones, and
what stands under them are records of this module. Keys are strings and integers, so that no nest of tuples can be made
to hash for ever, and the whole file is read once, forwards.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from typing import Any

from gluonx.errors import FormatError
from gluonx.files.source import Source


class Name:
    """A global of the pickle: only ever compared, never looked up anywhere."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Record:
    """An object of the pickle: the name of its class, what it was made of, and its attributes."""

    def __init__(self, name: Name, args: tuple[Any, ...]) -> None:
        self.name, self.args, self.state = name, args, None


_MARK = object()


class Machine:
    """Runs the instructions; see the module's text. A subclass says which names it knows."""

    what = ""
    """The kind of file, as error messages name it."""

    instead = ""
    """The advice to who wrote something else into the file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def fail(self, reason: str) -> FormatError:
        """Make the error to raise."""
        return self.source.fail(f"as {self.what}: {reason}")

    def pop(self) -> Any:
        """Take the top of the stack."""
        if not self.stack or self.stack[-1] is _MARK:
            raise self.fail("an instruction finds nothing to work on")
        return self.stack.pop()

    def to_mark(self) -> list[Any]:
        """Take what lies above the last mark."""
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i] is _MARK:
                items = self.stack[i + 1 :]
                del self.stack[i:]
                return items
        raise self.fail("an instruction finds no mark")

    def run(self, data: bytes) -> tuple[Any, ...]:
        """Return what a pickle builds."""
        try:
            for opcode, arg, _ in pickletools.genops(io.BytesIO(data)):
                if opcode.name == "STOP":
                    return self.pop()
                self.step(opcode.name, arg)
        except FormatError:
            raise
        except Exception as error:  # pickletools raises ValueError, struct.error, UnicodeError and more
            raise self.fail(f"it is damaged ({error})") from error
        raise self.fail("it ends too early")

    def step(self, name: str, arg: Any) -> None:
        """Do one instruction."""
        plain = _PUSHES.get(name)
        if plain is not None:
            self.stack.append(plain(arg))
        elif name in _QUIET:
            return
        elif name == "MARK":
            self.stack.append(_MARK)
        elif name in ("MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT"):
            value = self.pop()
            self.memo[len(self.memo) if name == "MEMOIZE" else arg] = value
            self.stack.append(value)
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            if arg not in self.memo:
                raise self.fail(f"it refers to object {arg}, which it does not hold")
            self.stack.append(self.memo[arg])
        else:
            step = _STEPS.get(name)
            if step is None:
                raise self.fail(f"the instruction {name} is not one of those that {self.what} are made of")
            step(self, arg)

    def tuple_of(self, count: int) -> None:
        """Push a tuple of the last items."""
        items = [self.pop() for _ in range(count)]
        self.stack.append(tuple(items[::-1]))

    def knows(self, module: str, name: str) -> bool:
        """Return whether the files may ask for a name."""
        raise NotImplementedError

    def persistent(self, key: Any) -> Any:
        """Return what stands outside of the pickle under a key."""
        raise self.fail("it refers to something outside of the file")

    def named(self, module: Any, name: Any) -> None:
        """Push the record of a name."""
        if not isinstance(module, str) or not isinstance(name, str):
            raise self.fail("a name is not a string")
        module = "builtins" if module == "__builtin__" else module
        if not self.knows(module, name):
            raise self.fail(
                f"it asks for {module}.{name}, which is not one of the names that {self.what} have{self.instead}"
            )
        self.stack.append(Name(module, name))

    def reduce(self) -> None:
        """Push what a known name makes of its arguments: a container, or a record."""
        args, called = self.pop(), self.pop()
        if not isinstance(called, Name) or not isinstance(args, tuple):
            raise self.fail("it calls something that is not a class")
        if called.name == "bytearray":
            text = args[:1] if args[1:] == ("latin-1",) else ()  # as protocol 2 spells it
            args = tuple(t.encode("latin-1") for t in text if isinstance(t, str)) or args
            if len(args) > 1 or not all(isinstance(a, bytes) for a in args):
                raise self.fail("a bytearray is not made of bytes")
            self.stack.append(b"".join(args))
        elif called.name in ("defaultdict", "OrderedDict"):
            self.stack.append({})
        else:
            self.stack.append(Record(called, args))

    def build(self) -> None:
        """Set the attributes of a record."""
        state, target = self.pop(), self.pop()
        if not isinstance(target, Record) or target.state is not None:
            raise self.fail("it sets attributes of something that has none")
        target.state = state
        self.stack.append(target)

    def set_items(self, items: list[Any]) -> None:
        """Put keys and values into a dict."""
        target = self.pop()
        if not isinstance(target, dict) or len(items) % 2:
            raise self.fail("it puts keys into something that is not a dict")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) not in (str, int, bool):
                raise self.fail(f"a key is a {type(key).__name__}, not a string or an integer")
            target[key] = value
        self.stack.append(target)

    def append(self, items: list[Any]) -> None:
        """Put items behind those of a list."""
        target = self.pop()
        if not isinstance(target, list):
            raise self.fail("it appends to something that is not a list")
        target.extend(items)
        self.stack.append(target)


_QUIET = frozenset(["PROTO", "FRAME"])
_PUSHES: dict[str, Callable[[Any], Any]] = {
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    "EMPTY_DICT": lambda _: {},
    "EMPTY_LIST": lambda _: [],
    "EMPTY_TUPLE": lambda _: (),
    **dict.fromkeys(
        (
            *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
            *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
        ),
        lambda arg: arg,
    ),
    "BYTEARRAY8": bytes,
}
_STEPS: dict[str, Callable[[Machine, Any], None]] = {
    "TUPLE1": lambda m, _: m.tuple_of(1),
    "TUPLE2": lambda m, _: m.tuple_of(2),
    "TUPLE3": lambda m, _: m.tuple_of(3),
    "TUPLE": lambda m, _: m.stack.append(tuple(m.to_mark())),
    "SETITEM": lambda m, _: m.set_items([m.pop(), m.pop()][::-1]),
    "SETITEMS": lambda m, _: m.set_items(m.to_mark()),
    "APPEND": lambda m, _: m.append([m.pop()]),
    "APPENDS": lambda m, _: m.append(m.to_mark()),
    "BINPERSID": lambda m, _: m.stack.append(m.persistent(m.pop())),
    "REDUCE": lambda m, _: m.reduce(),
    "NEWOBJ": lambda m, _: m.reduce(),
    "BUILD": lambda m, _: m.build(),
    "GLOBAL": lambda m, arg: m.named(*arg.split(" ", 1)),
    "STACK_GLOBAL": lambda m, _: m.named(*[m.pop(), m.pop()][::-1]),
}
