"""``set_np()`` and its like, and which of MXNet's two versions a program is written for.

Arrays follow the switches of MXNet (``set_np``, ``np_array``, ``use_np`` ...) alone. Names of blocks and parameters,
what ``collect_params()`` gives, and what a metric, a loss or an optimizer means follow the version. That is the one
that ``install_as_mxnet(version=...)`` was told. Else it shows: a module, a prefix, a name scope or a block with a
``hybrid_forward`` (not the class alone), which only MXNet 1 had, make it 1, for good; modules that only MXNet 2 has,
``set_np()`` or ``reset_np()``, structured names of parameters, ``share_parameters``, and arrays of ``mx.np`` given to a
block without ``set_np()``, in a program that has shown nothing of 1, make it 2. Until then it is taken for 1, and a
block that got its prefix only so loses it if it turns out to be 2. A program that was taken for 2 because of
``set_np()`` alone may turn out to be for 1 (the books of 1.x call it): its blocks reserve their prefixes.

What MXNet keeps for each thread holds for the process here.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self, TypeVar

from gluonx.block.structure import repeat_devices
from gluonx.compat.kinds import array_semantics, forget_calls, held_np, set_array_semantics
from gluonx.compat.mode import Mode
from gluonx.compat.nd.ndarray import NDArray, use_nd_arrays, uses_nd_arrays
from gluonx.compat.operators.training import direct_base, use_legacy_registries
from gluonx.compat.prefixes import Naming, activate, name_by_structure, reset_names
from gluonx.deferred.operators.growth import widen_floats
from gluonx.np.handle import cut_when_attached, move_integers
from gluonx.npx import modes
from gluonx.ops.prng import draw_by_numpy
from gluonx.optimizer.optimizer import show_bases
from gluonx.trainer.arguments import take_any_size

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


NUMBERS = {1: "1.9.1+gluonx", 2: "2.0.0+gluonx"}
"""``mxnet.__version__`` by the version that a program was said to be written for; libraries of its time look."""


# Libraries for MXNet 1 that look at its version when they are imported.
_KNOW_ONLY_1 = frozenset(["autogluon", "d2lzh", "gluoncv", "gluonnlp", "gluonts", "insightface", "mxboard", "sockeye"])


class Version:
    """Facts known of the program.

    Attributes
    ----------
    told : int or None
        What ``install_as_mxnet(version=...)`` was given.
    shown : int or None
        What the program has shown to be written for.
    switched : bool
        Whether it has called ``set_np`` or ``reset_np``.
    tell : callable
        Given a sentence when it shows.
    """

    told: int | None = None
    shown: int | None = None
    switched = False
    tell: ClassVar[Callable[[str], None]] = staticmethod(lambda sentence: None)

    @classmethod
    def number(cls, asker: str = "") -> str:
        """Return ``mxnet.__version__`` for a module of this name; libraries that know MXNet 1 alone refuse another."""
        library = asker.partition(".")[0]
        if library not in _KNOW_ONLY_1:
            return NUMBERS[cls.told or 2]
        cls.saw(1, f"{library} is for it")
        return NUMBERS[cls.told or 1]

    @classmethod
    def taken(cls) -> int:
        """Return the version that the program is taken for."""
        return cls.told or cls.shown or 1

    @classmethod
    def saw(cls, version: int, why: str, beyond_doubt: bool = True) -> None:
        """Note that the program uses what only `version` has, or nearly: nothing takes a doubtless 1 back."""
        if cls.told is not None or cls.shown in (1, version):
            return
        cls.shown = version
        cls.tell(cls.sentence(why))
        assumed, Naming.assumed = Naming.assumed, False
        _name_as(version, undecided=version == 2)
        if version == 1:
            return
        nd = sys.modules["gluonx.compat.nd"]
        uses_nd = any(sys.modules.get(name) is nd for name in ("mxnet.nd", "mxnet.ndarray"))
        from_the_start = beyond_doubt and not cls.switched and not uses_nd
        if assumed:
            name_by_structure()
        if from_the_start:
            _use_numpy(True, True)

    @classmethod
    def sentence(cls, why: str = "nothing in it shows which") -> str:
        """Return what version the program is taken for, and how to choose."""
        return (
            f"gluonx.compat: taken for a program for MXNet {cls.taken()}, as {why}; "
            "--version 1 or 2, or install_as_mxnet(version=...), chooses."
        )


def _met_numpy() -> None:
    if Version.shown is None and not Version.switched:
        Version.saw(2, "a block is called with arrays of mx.np without set_np()")


def _name_as(version: int, undecided: bool = False) -> None:
    Naming.active, Naming.undecided = version == 1, undecided
    use_legacy_registries(version == 1, by_keyword=undecided)
    widen_floats(version == 2)
    _forget_lookups()


def begin(version: int | None) -> tuple[Any, ...]:
    """Begin a program for `version`; return what :func:`end` takes."""
    before = (uses_nd_arrays(), Mode.aliased, Mode.numpy, Mode.shape, Naming.active, Naming.undecided)
    Version.told, Version.shown, Version.switched = version, version, False
    Mode.aliased = True
    cut_when_attached(version == 1)
    NDArray.cuts_when_attached = version != 2
    move_integers(True)
    draw_by_numpy(True)
    show_bases(direct_base)
    repeat_devices(True)
    take_any_size(True)
    activate()
    reset_names()
    Naming.used = staticmethod(lambda: Version.saw(1, "its blocks have prefixes, or a hybrid_forward"))
    Naming.structured = staticmethod(lambda: Version.saw(2, "it names parameters by structure"))
    Naming.assumed = version is None
    Mode.met_numpy = staticmethod(_met_numpy)
    _name_as(version or 1)
    _use_numpy(version == 2, version == 2)
    return before


def end(before: tuple[Any, ...]) -> None:
    """Leave everything as it was before :func:`begin`."""
    Naming.used = Naming.structured = Mode.met_numpy = staticmethod(lambda: None)
    Naming.assumed = False
    Naming.assumed_blocks.clear()
    nd_arrays, Mode.aliased, Mode.numpy, Mode.shape, Naming.active, Naming.undecided = before
    repeat_devices(Mode.aliased)
    take_any_size(Mode.aliased)
    use_nd_arrays(nd_arrays)
    Version.told, Version.shown, Version.switched = None, None, False
    reset_names()
    cut_when_attached(False)
    NDArray.cuts_when_attached = True
    move_integers(False)
    draw_by_numpy(Mode.aliased)
    show_bases()
    widen_floats(False)
    use_legacy_registries(False)
    forget_calls()


_LOOKED_UP: list[Callable[[], None]] = []


def on_change(forget: Callable[[], None]) -> None:
    """Have `forget` called when names come to mean something else."""
    _LOOKED_UP.append(forget)


def _forget_lookups() -> None:
    for forget in _LOOKED_UP:
        forget()


def _use_numpy(array: bool, shape: bool) -> None:
    set_array_semantics(array)
    Mode.shape = shape
    _forget_lookups()


# -- the switches -----------------------------------------------------------------------------------------------------


def set_np(shape: bool = True, array: bool = True, dtype: bool = False) -> None:
    """From now on arrays are ``np.ndarray``, as in MXNet 2.

    Raises
    ------
    ValueError
        For arrays of NumPy's semantics without its shapes.
    """
    modes.set_np(shape, array, dtype)
    Version.switched = True
    _use_numpy(array, shape)
    Version.saw(2, "it calls set_np() or reset_np()", beyond_doubt=False)


def reset_np() -> None:
    """Back to NDArray."""
    set_np(False, False, False)


def set_np_shape(active: bool) -> bool:
    """Return whether shapes have NumPy's semantics. Returns the state before.

    Raises
    ------
    ValueError
        If arrays of NumPy's semantics are to be without its shapes.
    """
    if not active and Mode.numpy:
        raise ValueError("set_np_shape(False): np arrays need NumPy's shapes; call npx.reset_np() instead.")
    before, Mode.shape = Mode.shape, bool(active)
    return before


def is_np_array() -> bool:
    """Return whether ``set_np()`` holds."""
    return Mode.numpy


def is_np_shape() -> bool:
    """Return whether shapes have NumPy's semantics."""
    return Mode.shape


class _Scope:
    """A scope in which a switch is on, or off; it may be entered again within itself."""

    _switch: Callable[[bool], bool]  # sets the switch, and returns what it was

    def __init__(self, active: bool = True) -> None:
        self._active, self._before = bool(active), []

    def __enter__(self) -> Self:
        self._before.append(self._switch(self._active))
        return self

    def __exit__(self, *exc: object) -> None:
        self._switch(self._before.pop())


class np_shape(_Scope):
    """A scope in which shapes have NumPy's semantics, or have not."""

    @staticmethod
    def _switch(active: bool) -> bool:
        before, Mode.shape = Mode.shape, active
        return before


class np_array(_Scope):
    """A scope in which arrays are ``np.ndarray``, or NDArrays."""

    _switch = staticmethod(set_array_semantics)


@contextmanager
def _both() -> Iterator[None]:
    with np_shape(True), array_semantics(True):
        yield


_INHERITED = ("__init__", "__call__", "initialize")  # of gluonx's own methods, those that make arrays


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield names and values that a class, and its bases within the program, define."""
    for name in dir(cls):
        home = next((base for base in cls.__mro__ if name in vars(base)), object)
        package = home.__module__.partition(".")[0]
        own = home is cls or package not in ("builtins", "gluonx", "abc", "typing")
        if own or (name in _INHERITED and home is not object):
            yield name, vars(home)[name]


def _decorator(name: str, scope: Callable[[], Any], holds: Callable[[], bool], what: str) -> Callable[..., Any]:
    def decorate(func: Decorated) -> Decorated:
        if inspect.isclass(func):
            for member, found in list(_members(func)):
                if inspect.isfunction(found):
                    setattr(func, member, decorate(found))
                elif isinstance(found, property):
                    parts: Any = [f and decorate(f) for f in (found.fget, found.fset, found.fdel)]
                    setattr(func, member, property(*parts))
                elif isinstance(found, (staticmethod, classmethod)) and inspect.isfunction(found.__func__):
                    setattr(func, member, type(found)(decorate(found.__func__)))
            return func  # type: ignore[return-value]
        if not callable(func):
            raise TypeError(f"{name} can only decorate classes and functions, not {type(func).__name__}.")

        @functools.wraps(func)
        def within(*args: Any, **kwargs: Any) -> Any:
            if holds():
                return func(*args, **kwargs)
            with scope():
                found = func(*args, **kwargs)
                return held_np(found) if Mode.numpy else found

        return within  # type: ignore[return-value]

    decorate.__name__ = decorate.__qualname__ = name
    decorate.__doc__ = f"Run a function, or every method of a class, with {what}."
    return decorate


use_np_shape = _decorator("use_np_shape", np_shape, lambda: Mode.shape, "NumPy's shapes")
use_np_array = _decorator("use_np_array", np_array, lambda: Mode.numpy, "np arrays")
use_np = _decorator("use_np", _both, lambda: Mode.numpy and Mode.shape, "NumPy's shapes and np arrays")

SWITCHES: dict[str, Any] = {
    switch.__name__: switch
    for switch in (
        *(set_np, reset_np, set_np_shape, is_np_array, is_np_shape),
        *(np_array, np_shape, use_np, use_np_array, use_np_shape),
    )
}
