"""The import hook: modules called ``mxnet``, whose names are looked up in gluonx when they are first used."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from gluonx.compat.absent import Absent
from gluonx.compat.own import OWN
from gluonx.compat.where import PARTS, known_modules, known_names, target
from gluonx.export import Format
from gluonx.legacy.array import use_nd_arrays
from gluonx.legacy.mode import Mode
from gluonx.legacy.training import use_legacy_registries
from gluonx.naming import Naming, reset_names

__all__ = ["VERSION", "install_as_mxnet", "installed", "uninstall"]

VERSION = "2.0.0+gluonx"

_Saved = tuple[bool, bool, bool, dict[str, ModuleType]]


class _Module(ModuleType):
    """A module of MXNet. What it holds is looked up when asked for, and then kept."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        found = _look_up(self.__name__, name)
        self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        real = _real(self.__name__)
        names = {*(dir(real) if real is not None else ()), *known_names().get(self.__name__, ())}
        return sorted(n for n in names if not n.startswith("_"))


def _look_up(module: str, name: str) -> Any:
    """What `name` is in the module of MXNet called `module`.

    Raises
    ------
    AttributeError
        If MXNet had no such name either.
    """
    dotted = f"{module}.{name}"
    if dotted in OWN:
        return OWN[dotted]()
    if dotted in known_modules():
        return importlib.import_module(dotted)
    real = _real(module)
    why: AttributeError | None = None
    if real is not None:
        try:
            return getattr(real, name)
        except AttributeError as error:
            why = error
    if name in known_names().get(module, ()):
        return Absent(dotted)
    if module in PARTS:
        return _look_up(PARTS[module], name)
    raise AttributeError(str(why) if why is not None else f"module '{module}' has no attribute '{name}'")


def _real(dotted: str) -> ModuleType | None:
    """The module of gluonx behind a module of MXNet, if there is one."""
    name = target(dotted)
    if not name:
        return None
    with contextlib.suppress(ModuleNotFoundError):
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    return None


class _Finder(MetaPathFinder, Loader):
    """Finds ``mxnet`` and what lies in it."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != "mxnet" and not fullname.startswith("mxnet."):
            return None
        if fullname in known_modules() or _real(fullname) is not None:
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        real = _real(spec.name)
        # F of a hybrid_forward is this module: `F is mx.nd` holds.
        if real is not None and real.__name__.startswith("gluonx.legacy.nd") and spec.name != "mxnet.random":
            return _Same(spec.name, real)
        module = _Module(spec.name, None if real is None else real.__doc__)
        if spec.name == "mxnet":
            module.__dict__["__version__"] = VERSION
        return module

    def exec_module(self, module: ModuleType) -> None:
        if isinstance(module, _Same):
            sys.modules[module.__name__] = module.real


class _Same(ModuleType):
    """Gives way to a module of gluonx, which is then imported under both names."""

    def __init__(self, name: str, real: ModuleType) -> None:
        super().__init__(name)
        self.real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


_finder: _Finder | None = None
_saved: _Saved | None = None


def installed() -> bool:
    """Whether ``import mxnet`` gives gluonx."""
    return _finder is not None


def install_as_mxnet() -> None:
    """From now on ``import mxnet`` gives gluonx, for the whole process.

    Arrays are then MXNet 1's (`gluonx.legacy.array.NDArray`) until ``npx.set_np()`` is called, and blocks have
    prefixes. What gluonx does not have can be imported, and raises `AbsentError` when it is used. Calling it twice does
    nothing more. Undone by `uninstall`.

    Examples
    --------
    >>> install_as_mxnet()
    >>> import mxnet as mx
    >>> mx.nd.ones((2, 3)).sum().asscalar()
    np.float32(6.0)
    >>> uninstall()
    """
    global _finder, _saved
    if _finder is not None:
        return
    others = {name: module for name, module in sys.modules.items() if name == "mxnet" or name.startswith("mxnet.")}
    for name in others:
        del sys.modules[name]
    _saved = (use_nd_arrays(True), Naming.active, Mode.numpy, others)
    Naming.active, Mode.numpy = True, False
    reset_names()
    _legacy_defaults(True)
    _finder = _Finder()
    sys.meta_path.insert(0, _finder)


def _legacy_defaults(on: bool) -> None:
    """What MXNet 1 made of a name, or of an argument left out, where gluonx makes something else of it."""
    use_legacy_registries(on)
    Format.default = "mxnet" if on else "stablehlo"


def uninstall() -> None:
    """Takes `install_as_mxnet` back; a real mxnet that was imported before is there again."""
    global _finder, _saved
    if _finder is None or _saved is None:
        return
    sys.meta_path.remove(_finder)
    for name in [n for n in sys.modules if n == "mxnet" or n.startswith("mxnet.")]:
        del sys.modules[name]
    nd_arrays, Naming.active, Mode.numpy, others = _saved
    use_nd_arrays(nd_arrays)
    sys.modules.update(others)
    _legacy_defaults(False)
    _finder = _saved = None


def modules() -> Iterator[str]:
    """The names of the modules that can be imported."""
    yield from sorted(known_modules())
