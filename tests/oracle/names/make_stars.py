"""Writes gluonx/compat/alias/stars.txt: what ``from mxnet.X import *`` binds, in both versions, and where it is from.

MXNET1_PYTHON make_stars.py dump star_mxnet_1.9.1.json one.json
MXNET2_PYTHON make_stars.py dump star_mxnet_2.0.0b1.json two.json
python make_stars.py write one.json two.json

The first two read the lists of names that `import *` binds in a fresh process, a module each.
"""

import importlib
import json
import pathlib
import sys
import types
import warnings
from collections import Counter, defaultdict

TARGET = pathlib.Path(__file__).parents[3] / "gluonx" / "compat" / "alias" / "stars.txt"
PUBLIC = {"_ctypes": "ctypes", "_thread:allocate_lock": "threading:Lock", "_struct": "struct", "_warnings": "warnings"}
OPTIONAL = ("cv2", "h5py")  # None without the package


def home(module, name, value):
    """Return 'package.module' for a module, 'package.module:name' for what is from elsewhere, '' for the rest.

    A plain value is '=' and how it is written.
    """
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, (bool, float, int, str)) or name in OPTIONAL:
        written = repr(value)
        return "" if " " in written or name == "__version__" else f"={written}"
    where = getattr(value, "__module__", None)
    base = sys.modules["mxnet.base"]
    if module != "mxnet.base" and getattr(base, name, base) is value and where in (None, "mxnet.base"):
        return f"mxnet.base:{name}"
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) or not where or where == module:
        return ""
    full = f"{where}:{getattr(value, '__qualname__', name)}"
    if where in ("ndarray", "symbol"):  # an operator, made when MXNet is loaded in the module that has it
        return "" if ".ndarray" in module or ".symbol" in module else f"mxnet.{full}"
    inside = where.startswith(f"{module}.") and full.endswith(f":{name}")  # a part of this package
    if inside or "<" in full or where.startswith("importlib"):
        return ""
    return PUBLIC.get(full) or f"{PUBLIC.get(where, where)}:{full.partition(':')[2]}"


def dump(lists, path):
    warnings.simplefilter("ignore")
    stars = json.loads(pathlib.Path(lists).read_text())
    modules = {name: importlib.import_module(name) for name in stars}  # some names are there once all are imported
    table = {
        module: {name: home(module, name, getattr(modules[module], name, None)) for name in names}
        for module, names in stars.items()
    }
    pathlib.Path(path).write_text(json.dumps(table))


def write(one, two):
    versions = [json.loads(pathlib.Path(path).read_text()) for path in (one, two)]
    homes = defaultdict(Counter)
    for found in versions:
        for names in found.values():
            for name, where in names.items():
                homes[name][where] += 1
    usual = {name: counts.most_common(1)[0][0] for name, counts in homes.items()}
    lines = [
        "# Made by tests/oracle/names/make_stars.py: what `from module import *` binds, a module of MXNet a paragraph.",
        "# 1.name, 2.name: in this version alone. name=home: from there. A name before all modules: its usual home.",
        *(f"{name}={where}" for name, where in sorted(usual.items()) if where),
    ]
    for module in sorted({*versions[0], *versions[1]}):
        entries = []
        one, two = ({n: _entry(n, h, usual[n]) for n, h in v.get(module, {}).items()} for v in versions)
        for name in sorted({*one, *two}):
            if one.get(name) == two.get(name):
                entries.append(one[name])
            else:
                entries += [f"{n}.{found[name]}" for n, found in ((1, one), (2, two)) if name in found]
        lines += wrapped(module, entries)
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(len(lines), "lines", TARGET.stat().st_size, "bytes")


def _entry(name, where, usual):
    return name if where == usual else f"{name}={where}"


def wrapped(module, entries):
    line = f"{module}:"
    for entry in entries:
        if len(line) + len(entry) > 118:
            yield line
            line = "   "
        line += " " + entry
    yield line


if __name__ == "__main__":
    {"dump": dump, "write": write}[sys.argv[1]](*sys.argv[2:])
