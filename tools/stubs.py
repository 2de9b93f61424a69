"""``python -m tools.stubs --write``: the ``.pyi`` files of what is made from tables when gluonx is imported.

Editors and type checkers do not run a module, so they see nothing of ``np.exp``, ``npx.relu``, ``nd.Concat``,
``sym.Concat`` and ``x.sum``. Here the live modules are asked, and what they have is written down beside them: names,
parameters with their defaults, the first paragraph of each docstring. Annotations say no more than is known: what takes
arrays takes ``ArrayLike``, what gives one array gives ``ndarray`` (or ``NDArray``), and the rest is ``Any``.

Signatures of ``np`` follow those of ``jax.numpy``, so a file names the JAX that it was made with.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import math
import pathlib
import re
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as onp

import gluonx
from gluonx import np, npx, sym
from gluonx.common import aliases
from gluonx.compat import nd
from gluonx.compat.nd import creation, sparse, updates
from gluonx.compat.nd import names as nd_names
from gluonx.compat.operators.table import TABLE
from gluonx.compat.symbol import front
from gluonx.compat.symbol.methods import Methods
from gluonx.np import differing, methods, table
from gluonx.np.arithmetic import Arithmetic
from gluonx.ops import OPS

__all__ = ["STUBS", "made_with", "text"]

ROOT = pathlib.Path(__file__).resolve().parents[1]
_EMPTY = inspect.Parameter.empty
_HEAD = """# Made by `python -m tools.stubs --write` with JAX {jax}; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.common.arguments import Size
from gluonx.device import DeviceLike
from gluonx.dtype import DTypeLike

"""
_KNOWN = frozenset(re.findall(r"\w+", _HEAD)) | {
    *("None", "bool", "dict", "float", "int", "list", "str", "tuple", "ndarray", "NDArray")
}


def made_with() -> str:
    """Return the version of JAX, without its last part."""
    return ".".join(jax.__version__.split(".")[:2])


class Front(NamedTuple):
    """A function to write: its parameters with their annotations, what it gives, and what it says of itself."""

    name: str
    params: list[inspect.Parameter]
    returns: str = "Any"
    doc: str = ""


# -- text -------------------------------------------------------------------------------------------------------------


def _default(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "..."
    plain = value is None or type(value) in (bool, int, float, str)
    return repr(value) if plain or (type(value) is tuple and "..." not in map(_default, value)) else "..."


def _annotation(said: Any) -> str:
    """Return an annotation as text, if all of its names stand at the head of a stub."""
    return said if isinstance(said, str) and _KNOWN.issuperset(re.findall(r"\w+", said)) else "Any"


def _parameter(p: inspect.Parameter) -> str:
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    said = _annotation(p.annotation)
    if p.default is _EMPTY:
        return f"{stars}{p.name}: {said}"
    return f"{p.name}: {said}{' | None' if p.default is None and said == 'ArrayLike' else ''} = {_default(p.default)}"


def _parameters(params: Iterable[inspect.Parameter]) -> str:
    words: list[str] = []
    before: Any = None
    for p in params:
        if before is p.POSITIONAL_ONLY and p.kind is not p.POSITIONAL_ONLY:
            words.append("/")
        if p.kind is p.KEYWORD_ONLY and before not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            words.append("*")
        words.append(_parameter(p))
        before = p.kind
    return ", ".join([*words, "/"] if before is inspect.Parameter.POSITIONAL_ONLY else words)


def _written(front: Front, indent: str = "") -> str:
    head = f"{indent}def {front.name}({_parameters(front.params)}) -> {front.returns}:"
    paragraph = inspect.cleandoc(front.doc or "").split("\n\n")[0]
    if not paragraph:
        return f"{head} ..."
    lines = paragraph.replace('"""', "'''").replace("\n", f"\n{indent}    ")
    space = " " if lines.endswith('"') else ""
    return f'{head}\n{indent}    {"r" if chr(92) in lines else ""}"""{lines}{space}"""'


def _alias(home: str, inner: str, name: str) -> str:
    """Import something under a name; a stub hands on only what keeps its own."""
    plain = f"from {home} import {inner} as "
    return plain + inner if inner == name else f"{plain}_{name}\n{name} = _{name}"


def _imported(name: str, value: Any) -> str | None:
    """Import a module, a class, or a function that another module defines; None for what has to be written here."""
    if isinstance(value, types.ModuleType):
        home, _, inner = value.__name__.rpartition(".")
        return _alias(home, inner, name)
    home, inner = getattr(value, "__module__", None) or "", getattr(value, "__qualname__", "")
    found = getattr(sys.modules.get(home), inner, None)
    defined = isinstance(value, type) or inspect.isfunction(value)
    if not defined or home in _MADE or inspect.unwrap(value) is not (found and inspect.unwrap(found)):
        return None
    return _alias(home, inner, name)


def _constant(name: str, value: Any) -> str:
    if isinstance(value, onp.dtype):
        return f"{name}: _dtype[Any]"
    return f"{name}: {type(value).__name__ if type(value) in (float, int, str) else 'Any'}"


# -- functions of np, npx ---------------------------------------------------------------------------------------------


def _front(name: str, function: Any, returns: str) -> Front:
    arrays = getattr(function, "arrays", ())  # of a function made of an operator
    rows = [
        p.replace(annotation="ArrayLike" if p.name in arrays else p.annotation)
        for p in inspect.signature(function).parameters.values()
    ]
    return Front(name, rows, returns, function.__doc__ or "")


def _one_array(pure: Any) -> str:
    """Return what the function on ndarrays gives whose pure function is `pure`."""
    try:
        found = inspect.signature(pure).return_annotation
    except (TypeError, ValueError):
        return "Any"
    return "ndarray" if found in ("Array", jax.Array) else "Any"


def _of_np(name: str) -> str:
    if name not in np.functions.__all__:
        return "Any"
    if name in table.UNARY or name in table.BINARY:
        return "ndarray"
    return _one_array(differing.computes(name))


def _of_linalg(name: str) -> str:
    from gluonx.np import linalg

    return _one_array(linalg._RULES.get(name) or getattr(jnp.linalg, name, None))


def _of_npx(name: str) -> str:
    op = OPS.get(name)
    return _one_array(op.fn) if op is not None and op.nout == 1 else "Any"


def _module(module: types.ModuleType, names: Iterable[str], returns: Callable[[str], str]) -> str:
    imports, fronts = ["from gluonx.np.handle import ndarray"], []
    for name in sorted(names):
        value = getattr(module, name)
        line = _imported(name, value)
        if line is not None:
            imports.append(line)
        elif callable(value):
            own = _annotation(inspect.signature(value).return_annotation)
            fronts.append(_written(_front(name, value, returns(name) if own == "Any" else own)))
        else:
            fronts.append(_constant(name, value))
    if "ndarray" in names:
        imports[0] += " as ndarray"
    return "\n".join(imports) + "\n\n" + "\n".join(fronts) + "\n"


# -- functions of nd --------------------------------------------------------------------------------------------------


def _legacy(name: str, part: str) -> Front | None:
    """Return the function of ``mx.nd`` that a row of MXNet 1's operators is."""
    op = TABLE.get(nd_names.PREFIXES[part] + name) or (TABLE.get(f"linalg_{name}") if part == "linalg" else None)
    if op is None:
        return None
    rows = list(op.signature().parameters.values())
    several = op._nout != 1 or name in sparse.RULES or op.name in ("Embedding", "_contrib_SparseEmbedding")
    return Front(name, rows, "Any" if several else "NDArray", nd_names.lookup(name, part).__doc__ or "")


def _nd_module(module: types.ModuleType, part: str, more: Iterable[str] = ()) -> str:
    imports = ["from gluonx.compat.nd.ndarray import NDArray as NDArray", "from gluonx.np.handle import ndarray"]
    fronts = []
    names = {*getattr(module, "__all__", ()), *nd_names.public_names(part), *more} - {"NDArray"}
    if module is nd:  # whose operators stand in `op`
        imports.insert(0, "from gluonx.compat.nd.op import *")
        names -= {name for name in nd_names.public_names(part) if name not in creation.__all__}
    for name in sorted(names):
        value = getattr(module, name)
        line = _imported(name, value)
        front = _legacy(name, part) if getattr(value, "__module__", "") == "gluonx.nd" else None
        if line is not None:
            imports.append(line)
        elif callable(value):
            own = _annotation(inspect.signature(value).return_annotation)
            fronts.append(_written(front or _front(name, value, own)))
        else:
            fronts.append(_constant(name, value))
    return "\n".join(imports) + "\n\n" + "\n".join(fronts) + "\n"


# -- methods of arrays ------------------------------------------------------------------------------------------------


def _methods() -> str:
    lines = ["class Methods:", '    """The methods of ndarray that are functions."""', ""]
    for name in sorted(methods.NAMES - {"mT", "drop_grad"}):
        function = getattr(np.ndarray, name)
        home = _of_np if name in np.functions.__all__ else _of_npx
        returns = "Self" if name in methods._OWN or home(name) == "ndarray" else "Any"
        own, *rest = _front(name, function, returns).params
        said = [p.replace(annotation=re.sub(r"\bndarray\b", "Self", _annotation(p.annotation) or "Any")) for p in rest]
        lines.append(_written(Front(name, [own.replace(annotation="Self"), *said], returns, function.__doc__), "    "))
    lines += ["    @property", "    def mT(self) -> Self: ...", "    def drop_grad(self) -> None: ...", ""]
    lines += ["def __getattr__(name: str) -> Any: ...  # what the module has besides, for ndarray alone", ""]
    return "\n".join(lines)


def _operators_on(owner: Any) -> list[str]:
    """Return Python's operators that a class has from a table."""
    lines = []
    for name, value in vars(owner).items():
        if name.startswith("__") and inspect.isfunction(value):
            other = "" if len(inspect.signature(value).parameters) == 1 else ", other: Any"
            gives = "tuple[Self, Self]" if name == "__divmod__" else "Self"
            ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            lines.append(f"    def {name}(self{other}) -> {gives}: ...{ignored}")
    return lines


def _operators() -> str:
    lines = ["OPERANDS: tuple[type[Any], ...]", ""]
    lines += ["def comparable(number: Any, array: Any) -> Any: ...", "", "class Arithmetic:"]
    lines += ['    """Python\'s operators on arrays."""', ""]
    return "\n".join([*lines, *_operators_on(Arithmetic)]) + "\n"


# -- symbols ----------------------------------------------------------------------------------------------------------


def _symbols() -> str:
    """Write the functions of ``mx.sym``: those of the module, and the operators of MXNet 1."""
    names = {*sym.__all__, *nd_names.public_names("nd"), *front.FUNCTIONS, "Custom", "_internal"}
    return _module(sym, names, lambda _: "Symbol")


def _symbol_methods() -> str:
    lines = ["class Methods:", '    """The operators on symbols."""', "", *_operators_on(Methods)]
    lines.append("    def __hash__(self) -> int: ...")
    for name in sorted(name for name in vars(Methods) if not name.startswith("__")):
        method = getattr(Methods, name)
        own, *rest = inspect.signature(method).parameters.values()
        gives = "Self" if rest else "Any"  # what is of arrays alone takes nothing, and raises
        params = [own.replace(annotation="Self"), *rest]
        lines.append(_written(Front(name, params, gives, method.__doc__), "    "))
    return "\n".join(lines) + "\n"


# -- gluonx and gluonx.gluon ------------------------------------------------------------------------------------------


def _top() -> str:
    lines = ["__version__: str"]
    for name in sorted({*gluonx.__all__, *gluonx._EXTRAS} - {"__version__"}):
        home = gluonx._WHERE.get(name)
        if home is None:
            home, _, inner = aliases.SHORT.get(name, f"gluonx.{name}").rpartition(".")
        else:
            inner = name
        lines.append(_alias(home, inner, name))
    return "\n".join(lines) + "\n"


def _gluon() -> str:
    names = sorted(set(gluonx.__all__) - {"__version__", "gluon"})
    return "\n".join(f"from gluonx import {name} as {name}" for name in names) + "\n"


def _part(real: str) -> str:
    return f"from {real} import *\n"


STUBS: dict[str, Callable[[], str]] = {
    "gluonx/__init__.pyi": _top,
    "gluonx/gluon/__init__.pyi": _gluon,
    "gluonx/np/__init__.pyi": lambda: _module(np, np.__all__, _of_np),
    "gluonx/np/arithmetic.pyi": _operators,
    "gluonx/np/fft.pyi": lambda: _module(np.fft, np.fft.__all__, lambda name: _one_array(getattr(jnp.fft, name))),
    "gluonx/np/linalg.pyi": lambda: _module(np.linalg, np.linalg.__all__, _of_linalg),
    "gluonx/np/methods.pyi": _methods,
    "gluonx/npx/__init__.pyi": lambda: _module(
        npx, {*npx.__all__, *[n for n in OPS if "." not in n and not n.startswith("_")]}, _of_npx
    ),
    "gluonx/npx/image.pyi": lambda: _module(npx.image, npx.image.__all__, lambda name: _of_npx(f"image.{name}")),
    **{f"gluonx/gluon/{name}.pyi": functools.partial(_part, real) for name, real in aliases.GLUON.items()},
    "gluonx/compat/nd/__init__.pyi": lambda: _nd_module(nd, "nd", nd._MODULES[:-1]),
    "gluonx/compat/nd/contrib.pyi": lambda: _nd_module(nd.contrib, "contrib", updates.MADE),
    "gluonx/compat/nd/image.pyi": lambda: _nd_module(nd.image, "image"),
    "gluonx/compat/nd/linalg.pyi": lambda: _nd_module(nd.linalg, "linalg"),
    "gluonx/compat/nd/op.pyi": lambda: _nd_module(nd.op, "nd"),
    "gluonx/compat/nd/random.pyi": lambda: _nd_module(nd.random, "random"),
    "gluonx/compat/symbol/__init__.pyi": _symbols,
    "gluonx/compat/symbol/methods.pyi": _symbol_methods,
}
"""What to write, by the path of the file."""

# Modules whose functions are written where they are asked for: those of the files, and the names that made ones bear.
_MADE = frozenset(path.removesuffix(".pyi").removesuffix("/__init__").replace("/", ".") for path in STUBS) | {
    "gluonx.nd"
}


def text(path: str) -> str:
    """Return the stub that belongs at `path`, one of `STUBS`."""
    return _HEAD.format(jax=made_with()) + STUBS[path]()


def main(given: list[str] | None = None) -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tools.stubs", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files; else say which are stale")
    write = parser.parse_args(given).write
    stale = [path for path in STUBS if not (ROOT / path).exists() or (ROOT / path).read_text("utf-8") != text(path)]
    for path in stale:
        if write:
            (ROOT / path).write_text(text(path), encoding="utf-8")
        print(path)
    return int(bool(stale) and not write)


if __name__ == "__main__":
    sys.exit(main())
