"""The import hook: modules called ``mxnet``, whose names are looked up in gluonx when they are first used."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any, ClassVar

from gluonx.common.extensions import forget_in_workers, set_up_workers
from gluonx.common.frames import user_frame
from gluonx.common.process import hush_jax
from gluonx.compat import modes, nd
from gluonx.compat.alias.absent import Absent
from gluonx.compat.alias.own import LIVE, OWN
from gluonx.compat.alias.where import (
    PARTS,
    SAME,
    canonical,
    hidden_home,
    known_modules,
    known_names,
    star_home,
    star_names,
    target,
)
from gluonx.compat.kinds import of_numpy
from gluonx.compat.nd.ndarray import uses_nd_arrays

VERSION = modes.NUMBERS[2]
_Saved = tuple[tuple[Any, ...], dict[str, ModuleType], dict[str, Any]]

# Modules of mxnet.ndarray, which is `gluonx.compat.nd` itself.
_IN_ND = ("_internal", "contrib", "image", "linalg", "ndarray", "numpy", "numpy_extension", "op", "random")
_IN_ND += ("sparse", "utils")

# Modules that only one version of MXNet has. Who looks into one has written for that version.
_ONLY_IN = {
    1: "contrib.amp contrib.autograd executor_manager gluon.contrib.cnn gluon.contrib.nn gluon.contrib.rnn metric mod "
    "module mon monitor rnn",
    2: "amp container device gluon.data.batchify gluon.metric gluon.probability",
}
_OF_ONE_VERSION = {f"mxnet.{name}": version for version, names in _ONLY_IN.items() for name in names.split()}


# What programs for MXNet import beside it: ours in its place. A package without a module is empty.
_BESIDE = {
    "horovod": "",
    "horovod.mxnet": "gluonx.compat.horovod",
    "byteps": "",
    "byteps.mxnet": "gluonx.compat.horovod",
}


class _Module(ModuleType):
    """A module of MXNet. What it holds is looked up when asked for, and then kept."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return starred(self.__name__)
        if name == "__file__" and self.__name__ == "mxnet":
            return sys.modules["gluonx"].__file__
        if name == "__version__" and self.__name__ == "mxnet":
            return modes.Version.number(user_frame().f_globals.get("__name__") or "")
        if name.startswith("__") and name != "__version__" and f"{self.__name__}.{name}" not in OWN:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        self._show_version()
        live = LIVE.get(f"{self.__name__}.{name}")
        if live is not None:
            return live()
        found = _look_up(self.__name__, name)
        self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; but importing a module leaves the function that the package has by its name."""
        if not (isinstance(value, ModuleType) and _hides_a_module(self.__name__, name)):
            super().__setattr__(name, value)

    def _show_version(self) -> None:
        """Tell which version has this module alone, at its first use; that `import *` took it says nothing."""
        version = self.__dict__.pop("_shows", None)
        if version is not None:
            modes.Version.saw(version, f"it uses {self.__name__}")

    def __dir__(self) -> list[str]:
        real = _real(self.__name__)
        names = {*(dir(real) if real is not None else ()), *known_names().get(self.__name__, ())}
        return sorted(n for n in names if not n.startswith("_"))


class _Later(ModuleType):
    """Stands in ``sys.modules`` for a module that MXNet has imported with itself, until somebody asks it for a name.

    Libraries look there whether a program uses MXNet's arrays.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        return getattr(_import(self.__name__), name)


_AT_ONCE = ("autograd", "context", "gluon", "initializer", "io", "ndarray", "optimizer", "random", "symbol")


def _import(module: str) -> ModuleType:
    """Import a module of MXNet, also one that something stands for."""
    if isinstance(sys.modules.get(module), _Later):
        del sys.modules[module]
    return importlib.import_module(module)


def starred(module: str) -> list[str]:
    """Return the names that ``from module import *`` takes: those that it takes in MXNet, in both versions if need be.

    Of a module that is not in the table these are its public names.
    """
    names = star_names(module, modes.Version.told)
    if names is None:
        real = _real(module)
        public = {*getattr(real, "__all__", dir(real)), *known_names().get(module, ()), *names_of_modules(module)}
        return sorted(n for n in public if not n.startswith("_"))
    for name in names:
        if f"{module}.{name}" in _OF_ONE_VERSION:
            _import_unseen(f"{module}.{name}")
    return names


def _import_unseen(module: str) -> None:
    """Import a module that only one version has, and let that show when it is used."""
    _Finder.unseen = True
    try:
        importlib.import_module(module)
    finally:
        _Finder.unseen = False


def _hides_a_module(package: str, name: str) -> bool:
    """Return whether a package of MXNet has a function or class by the name of a module in it."""
    if f"{package}.{name}" not in known_modules():
        return False
    home = star_home(package, name, modes.Version.taken())
    return home is not None and (":" in home or not home) and _of_real(package, name) is not None


def _of_real(module: str, name: str) -> Any:
    """Return what the module of gluonx behind one of MXNet has by a name; None for nothing, or for a module."""
    found = getattr(_real(module), name, None)
    return None if isinstance(found, ModuleType) else found


def names_of_modules(package: str) -> set[str]:
    """Return the public modules right in a package of MXNet."""
    inside = {m.removeprefix(package + ".") for m in known_modules() if m.startswith(package + ".")}
    return {name for name in inside if "." not in name and not name.startswith("_")}


def _look_up(module: str, name: str) -> Any:
    """Look `name` up in the module of MXNet called `module`.

    Raises
    ------
    AttributeError
        If MXNet had no such name either.
    """
    dotted = f"{module}.{name}"
    if dotted in OWN:
        return OWN[dotted]()
    if dotted in known_modules() and not _hides_a_module(module, name):
        return _import(dotted)
    home = star_home(module, name, modes.Version.taken())
    if home and ":" not in home and not home.startswith(("mxnet", "=")):  # a module of Python's that it imports
        return _hidden(home, dotted)
    real = _real(module)
    why: AttributeError | None = None
    if real is not None:
        try:
            return _of_its_kind(real, getattr(real, name))
        except AttributeError as error:
            why = error
    if name in known_names().get(module, ()):
        return _hidden(home or "", dotted)
    if module in PARTS:
        with contextlib.suppress(AttributeError):
            return _look_up(PARTS[module], name)
    home = home or hidden_home(module, name) if home != "" else home
    if home is not None:
        return _hidden(home, dotted)
    raise AttributeError(str(why) if why is not None else f"module '{module}' has no attribute '{name}'")


def _of_its_kind(real: ModuleType, found: Callable[..., Any] | type) -> Any:
    """Return `found`; a function of ``mx.np`` such that it gives np arrays while others are NDArrays."""
    if uses_nd_arrays() and isinstance(found, FunctionType) and real.__name__.startswith(_OF_NUMPY):
        return of_numpy(found)
    return found


_OF_NUMPY = ("gluonx.np", "gluonx.npx")


def _lend(real: ModuleType, module: str) -> None:
    """Have a module of gluonx itself be `module` of MXNet until `uninstall`: with all of its names, and its ``*``."""
    if real.__name__ in _Installed.lent:
        return
    own = vars(real)["__getattr__"]
    _Installed.lent[real.__name__] = {name: vars(real).get(name) for name in ("__all__", "__getattr__")}

    def found(name: str) -> Any:
        if name == "__all__":
            return starred(module)
        if real is nd and name in _IN_ND:
            return importlib.import_module(f"{module}.{name}")
        try:
            return own(name)
        except AttributeError:
            if name.startswith("__"):
                raise
            return _beyond(module, name)  # not kept: it goes with the alias

    vars(real).pop("__all__", None)
    vars(real)["__getattr__"] = found


def _beyond(module: str, name: str) -> Any:
    """Return a name of a module in ``mxnet.ndarray`` that is none of gluonx's."""
    for place in (module, *(_NDARRAY if module == "mxnet.ndarray" else ())):
        dotted = f"{place}.{name}"
        if dotted in OWN:
            return OWN[dotted]()
        if dotted in known_modules():
            return _import(dotted)
        home = star_home(place, name, modes.Version.taken())
        home = hidden_home(place, name) if home is None else home
        if home is not None:
            return _hidden(home, dotted)
    raise AttributeError(f"module '{module}' has no attribute {name!r}")


_NDARRAY = ("mxnet.ndarray.ndarray", "mxnet.ndarray.utils", "mxnet.ndarray.op")  # whose names mxnet.ndarray has too


def _take_back() -> None:
    """Undo `_lend`."""
    for name, before in _Installed.lent.items():
        space = vars(sys.modules[name])
        space.update({key: value for key, value in before.items() if value is not None})
    _Installed.lent.clear()


def _hidden(home: str, dotted: str) -> Any:
    """Return what a name of MXNet's that is not public stands for: what it is elsewhere, or `Absent`."""
    if home.startswith("="):
        return ast.literal_eval(home[1:])
    module, _, name = home.partition(":")
    if not home or dotted in _asked:
        return Absent(dotted)
    _asked.append(dotted)
    try:
        found = _import(module)
        return getattr(found, name) if name else found
    except (ImportError, AttributeError):
        return Absent(dotted)
    finally:
        _asked.remove(dotted)


_asked: list[str] = []  # names being looked up, two of which may name each other as their home


def _forget() -> None:
    """Look the functions of ``mx.np`` up again."""
    for name, module in list(sys.modules.items()):
        if name.startswith("mxnet.n") and isinstance(module, _Module) and target(name).startswith(_OF_NUMPY):
            for key in [k for k, v in vars(module).items() if isinstance(v, FunctionType) and not k.startswith("__")]:
                del vars(module)[key]


modes.on_change(_forget)


def _real(dotted: str) -> ModuleType | None:
    """Return the module of gluonx behind a module of MXNet, if there is one."""
    name = target(dotted)
    if not name:
        return None
    with contextlib.suppress(ModuleNotFoundError):
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    parent, _, leaf = name.rpartition(".")
    space = vars(importlib.import_module(parent)).get(leaf) if parent == "gluonx.symbol" else None
    return space if getattr(space, "__name__", "") == name else None  # a namespace that is no module


def _is_nd(name: str, real: ModuleType) -> bool:
    """Return whether a module of MXNet is a module of gluonx itself: ``mx.nd`` and what lies in it."""
    head = name.removeprefix("mxnet.").partition(".")[0]
    inside = head in ("nd", "ndarray") and real.__name__.startswith("gluonx.compat.nd")
    return inside and (real is not nd or name == f"mxnet.{head}")


class _Finder(MetaPathFinder, Loader):
    """Finds ``mxnet`` and what lies in it."""

    unseen = False  # while `import *` takes modules that only one version has

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname in _BESIDE:
            return ModuleSpec(fullname, self, is_package=True)
        if fullname != "mxnet" and not fullname.startswith("mxnet."):
            return None
        if fullname in known_modules() or _real(fullname) is not None:
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name in _BESIDE:
            real = _BESIDE[spec.name]
            return _Same(spec.name, importlib.import_module(real)) if real else ModuleType(spec.name)
        version, unseen = _OF_ONE_VERSION.get(spec.name), _Finder.unseen
        if version is not None and not unseen:
            modes.Version.saw(version, f"it imports {spec.name}")
        if spec.name in SAME:
            return _Same(spec.name, _import(SAME[spec.name]))
        real = _real(spec.name)
        # F of a hybrid_forward is this module: `F is mx.nd` holds.
        if real is not None and _is_nd(spec.name, real):
            _lend(real, canonical(spec.name))
            return _Same(spec.name, real)
        module = _Module(spec.name, None if real is None else real.__doc__)
        if version is not None and unseen:
            module.__dict__["_shows"] = version
        if spec.name == "mxnet":
            importlib.import_module("multiprocessing.pool")  # which programs use having imported mxnet alone
        return module

    def exec_module(self, module: ModuleType) -> None:
        if isinstance(module, _Same):
            sys.modules[module.__name__] = module.real
        if module.__name__ == "mxnet":
            for name in _AT_ONCE:
                sys.modules.setdefault(f"mxnet.{name}", _Later(f"mxnet.{name}"))


class _Same(ModuleType):
    """Gives way to a module of gluonx, which is then imported under both names."""

    def __init__(self, name: str, real: ModuleType) -> None:
        super().__init__(name)
        self.real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


_IN_WORKERS = f"{__name__}:install_as_mxnet"


class _Installed:
    """The finder while gluonx stands for mxnet, and what was there before."""

    finder: _Finder | None = None
    saved: _Saved | None = None
    lent: ClassVar[dict[str, dict[str, Any]]] = {}  # of modules of gluonx that are MXNet's, what `_lend` replaced


def installed() -> bool:
    """Return whether ``import mxnet`` gives gluonx."""
    return _Installed.finder is not None


def install_as_mxnet(version: int | None = None) -> None:
    """From now on ``import mxnet`` gives gluonx, for the whole process.

    What gluonx does not have can be imported, and raises `AbsentError` when it is used. Calling it twice does nothing
    more. Undone by `uninstall`.

    Parameters
    ----------
    version : {1, 2}, optional
        The version of MXNet that the program is written for. For 1, arrays are NDArrays until ``npx.set_np()`` is
        called, and blocks have prefixes; ``collect_params()`` gives a `ParameterDict`; ``mxnet.__version__`` is 1.9.1,
        which libraries of that time insist on. For 2, arrays are np arrays
        until ``npx.reset_np()`` is called, and parameters have structured names. By default it shows from what the
        program uses; see `gluonx.compat.modes`.

    Raises
    ------
    ValueError
        For another version.

    Examples
    --------
    >>> install_as_mxnet()
    >>> import mxnet as mx
    >>> mx.nd.ones((2, 3)).sum().asscalar()
    np.float32(6.0)
    >>> uninstall()
    """
    if version not in (None, 1, 2):
        raise ValueError(f"install_as_mxnet: version is 1, 2 or None, got {version!r}.")
    if _Installed.finder is not None:
        return
    others = {name: module for name, module in sys.modules.items() if _is_mxnets(name)}
    for name in others:
        del sys.modules[name]
    # What is not there is looked up as in MXNet, whether or not somebody has imported mxnet.ndarray.numpy before.
    shadowed = {name: nd.__dict__.pop(name) for name in _IN_ND if name in nd.__dict__}
    _Installed.saved = (modes.begin(version), others, shadowed)
    _lend(nd, "mxnet.ndarray")
    hush_jax(True)
    _Installed.finder = _Finder()
    sys.meta_path.insert(0, _Installed.finder)
    set_up_workers(_IN_WORKERS, version)


def _is_mxnets(name: str) -> bool:
    return name.partition(".")[0] in ("mxnet", "horovod", "byteps")


def uninstall() -> None:
    """Undo `install_as_mxnet`; a real mxnet that was imported before is there again."""
    if _Installed.finder is None or _Installed.saved is None:
        return
    sys.meta_path.remove(_Installed.finder)
    for name in [n for n in sys.modules if _is_mxnets(n)]:
        del sys.modules[name]
    forget_in_workers(_IN_WORKERS)
    before, others, shadowed = _Installed.saved
    _take_back()
    hush_jax(False)
    for name in _IN_ND:
        nd.__dict__.pop(name, None)  # the import system has put mxnet's module there
    nd.__dict__.update(shadowed)
    modes.end(before)
    sys.modules.update(others)
    _Installed.finder = _Installed.saved = None


def modules() -> Iterator[str]:
    """Yield the names of the modules that can be imported."""
    yield from sorted(known_modules())
