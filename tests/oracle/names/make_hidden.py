"""Writes gluonx/compat/hidden.txt: names of MXNet's modules that are not in names.txt, and where they come from.

MXNET1_PYTHON make_hidden.py dump one.json
MXNET2_PYTHON make_hidden.py dump two.json
python make_hidden.py write one.json two.json       # with gluonx installed
"""

import importlib
import json
import pathlib
import pkgutil
import sys
import types
import warnings
from collections import Counter, defaultdict

TARGET = pathlib.Path(__file__).parents[3] / "gluonx" / "compat" / "hidden.txt"


def every_module(name, found):
    try:
        module = importlib.import_module(name)
    except BaseException:
        return
    found[name] = module
    for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
        every_module(f"{name}.{inner.name}", found)


def home(module, name, value):
    """Return the place of a value's definition, as 'package.module' or 'package.module:name'; '' for here."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    where = getattr(value, "__module__", None)
    if isinstance(value, (type, types.FunctionType)) and where and where != module:
        return f"{where}:{getattr(value, '__qualname__', name)}"
    return ""


def dump(path):
    warnings.simplefilter("ignore")
    modules = {}
    every_module("mxnet", modules)
    for name, module in list(sys.modules.items()):
        if name.startswith("mxnet.") and module is not None:
            modules.setdefault(name, module)
    table = {
        name: {n: home(name, n, v) for n, v in vars(module).items() if not (n.startswith("__") and n.endswith("__"))}
        for name, module in modules.items()
    }
    pathlib.Path(path).write_text(json.dumps(table))


def generated(module, name):
    """Return whether a name is a registered operator's, made when MXNet is loaded."""
    return ".gen_" in module or name.startswith(("_backward_", "gen_")) or module.endswith(("._op", "._register"))


# Modules of which nobody outside of MXNet uses single names.
MACHINERY = ("_ffi", "_ctypes", "_cy3", ".cython", "onnx2mx.", "mx2onnx.", "._api_internal", ".tvmop", "_op_doc")
MACHINERY += ("symbol_doc", "ndarray_doc", ".numpy._internal", ".distributions.", ".transformation.", "_op_signature")
MACHINERY += ("numpy_op_fallback", ".fallback", ".notebook", ".dlpack", ".nvtx", ".svrg_", "executor_", "symbol.numpy")
OUTSIDE = {"numpy", "requests", "scipy", "h5py", "cv2", "graphviz"}


def serves(where):
    """Return whether an import of a home can succeed without MXNet: the standard library, NumPy and our own names."""
    top = where.partition(":")[0].partition(".")[0]
    return top in sys.stdlib_module_names or top in OUTSIDE or top == "mxnet"


def write(*paths):
    TARGET.write_text("")  # what was written before does not count as there
    from gluonx import compat
    from gluonx.compat.alias import where as places

    names = defaultdict(dict)
    for path in paths:
        for module, found in json.loads(pathlib.Path(path).read_text()).items():
            for name, origin in found.items():
                names[module].setdefault(name, origin)
            names[module] = names[module]
    compat.install_as_mxnet()
    known = places.known_modules()
    lines, homes = {}, defaultdict(Counter)
    for module, found in sorted(names.items()):
        if ".gen_" in module or module.endswith(("._op", "._register")):
            continue
        if any(part in module for part in MACHINERY):
            lines[module] = ["*"]
            continue
        try:
            here = importlib.import_module(module)
        except ModuleNotFoundError:
            here = None
        missing = [n for n in sorted(found) if not generated(module, n) and (here is None or not public(here, n))]
        if missing or here is None:
            lines[module] = missing
        for name in missing:
            origin = found[name]
            if (
                origin
                and "<" not in origin
                and serves(origin)
                and origin != f"{module}:{name}"
                and origin != f"{module}.{name}"
            ):
                homes[name][origin] += 1
    compat.uninstall()
    usual = {name: counts.most_common(1)[0][0] for name, counts in homes.items()}
    text = [
        "# Made by tests/oracle/names/make_hidden.py: names of MXNet's modules beyond names.txt, public or not.",
        "",
    ]
    text += ["# name=home: a name that modules import from elsewhere."]
    text += [f"{name}={origin}" for name, origin in sorted(usual.items())]
    text += ["", "# module: names"]
    text += wrapped(lines)
    TARGET.write_text("\n".join(text) + "\n", encoding="utf-8")
    print(len(lines), "modules", sum(map(len, lines.values())), "names", TARGET.stat().st_size, "bytes", len(known))


def public(module, name):
    try:
        return hasattr(module, name) and not repr(getattr(module, name)).startswith("<mxnet.hidden")
    except Exception:
        return False


def wrapped(lines):
    for module, found in lines.items():
        line = f"{module}:"
        for name in found:
            if len(line) + len(name) > 118:
                yield line
                line = "   "
            line += " " + name
        yield line


if __name__ == "__main__":
    {"dump": dump, "write": write}[sys.argv[1]](*sys.argv[2:])
