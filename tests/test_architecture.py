"""The rules of docs/design/architecture.md, kept by reading the sources.

A *room* is a top-level module or package of gluonx; FLOORS says on which floor each one lies. A room may import from
floors below its own, and from its neighbours on the same floor as long as they do not import in a circle. Imports in
functions count as much as those at the top; those under ``if TYPE_CHECKING`` do not, for they never run.
"""

import ast
import functools
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = ROOT / "gluonx"

FLOORS = {
    0: {"errors", "arguments", "device", "dtype", "random", "threefry", "serialize", "cache", "late", "aliases",
        "exchange.serve", "convert", "emitter", "name", "attribute", "uncollected"},
    1: {"ops", "exchange.stablehlo"},
    2: {"deferred"},
    3: {"ndarray", "arithmetic", "indexing", "np", "npx", "methods", "autograd", "engine"},
    4: {
        "initializer", "fused_initializer", "parameter", "parameterdict", "naming", "declared", "pieces", "forms",
        "fused", "block", "blockbase", "blocktools", "calls", "checkpoint", "summary", "bridge", "export", "channels",
    },
    5: {"nn", "rnn", "loss", "metric", "optimizer", "lr_scheduler", "trainer", "data", "callback", "runtime", "util",
        "utils", "probability"},
    6: {"model_zoo", "estimator", "parallel", "contrib", "profiler"},
    7: {"amp", "symbol", "symbol_block", "exchange", "legacy", "compat", "onnx", "io", "module"},
    8: {"__init__", "gluon"},
    9: {"examples", "parity", "__main__"},
}  # fmt: skip
FLOOR_OF = {room: floor for floor, rooms in FLOORS.items() for room in rooms}

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

SOURCES = sorted(PACKAGE.rglob("*.py"))
every_source = pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))


@functools.cache
def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def module_name(path):
    """`gluonx/nn/dense.py` as ("nn", "dense"); a package's __init__ is the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


def room_of(parts):
    """The room a module (as a tuple of names below gluonx) belongs to."""
    two = ".".join(parts[:2])
    return two if two in FLOOR_OF else parts[0]


def is_type_checking(node):
    test = node.test
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def running_nodes(tree):
    """All nodes but those of `if TYPE_CHECKING:` bodies."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.If) and is_type_checking(node):
            stack.extend(node.orelse)
        else:
            stack.extend(ast.iter_child_nodes(node))


def from_target(path, node):
    """The module that `from X import ...` names, as an absolute dotted name."""
    if not node.level:
        return node.module or ""
    package = ("gluonx", *path.relative_to(PACKAGE).parent.parts)
    base = package[: len(package) - (node.level - 1)]
    return ".".join((*base, node.module) if node.module else base)


def is_module(dotted):
    place = ROOT.joinpath(*dotted.split("."))
    return place.is_dir() or place.with_suffix(".py").exists()


def imports(path):
    """(line, dotted module, imported name or None) of every import that can run, import_module("...") included."""
    for node in running_nodes(parse(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            target = from_target(path, node)
            for alias in node.names:
                inner = f"{target}.{alias.name}"
                if target.split(".")[0] == "gluonx" and is_module(inner):
                    yield node.lineno, inner, None
                else:
                    yield node.lineno, target, alias.name
        elif isinstance(node, ast.Call) and dotted_name(node.func).endswith("import_module") and node.args:
            if isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                yield node.lineno, node.args[0].value, None


def dotted_name(node):
    if isinstance(node, ast.Attribute):
        return f"{dotted_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def own_imports(path):
    """Imports of gluonx itself: (line, parts below gluonx, name); `import gluonx` is the top room."""
    for line, target, name in imports(path):
        first, *rest = target.split(".")
        if first == "gluonx":
            yield line, tuple(rest) or ("__init__",), name


@every_source
def test_every_module_has_a_floor(path):
    assert room_of(module_name(path)) in FLOOR_OF, f"give {path.relative_to(ROOT)} a floor in {__file__}"


@every_source
def test_imports_go_down(path):
    room = room_of(module_name(path))
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {room} (floor {FLOOR_OF[room]}) imports {'.'.join(parts)} "
        f"(floor {FLOOR_OF[room_of(parts)]})"
        for line, parts, _ in own_imports(path)
        if FLOOR_OF[room_of(parts)] > FLOOR_OF[room]
    ]
    assert not wrong, "\n".join(wrong)


def test_rooms_of_one_floor_import_in_no_circle():
    edges = {}
    for path in SOURCES:
        room = room_of(module_name(path))
        for _, parts, _ in own_imports(path):
            other = room_of(parts)
            if other != room and FLOOR_OF[other] == FLOOR_OF[room]:
                edges.setdefault(room, set()).add(other)

    while edges:  # take away rooms that import no neighbour that is left; a circle never goes
        free = [room for room, others in edges.items() if not others & edges.keys()]
        assert free, f"these rooms of one floor import each other in a circle: {edges}"
        for room in free:
            del edges[room]


@every_source
def test_underscored_names_stay_in_their_package(path):
    room = room_of(module_name(path))
    wrong = []
    for line, parts, name in own_imports(path):
        hidden = [p for p in (*parts, name or "") if p.startswith("_") and not p.startswith("__")]
        if hidden and room_of(parts) != room and parts[0] != module_name(path)[0]:
            wrong.append(f"{path.relative_to(ROOT)}:{line}: {'.'.join(parts)} {name or ''}")
    assert not wrong, "\n".join(wrong)


@every_source
def test_every_module_says_what_is_public(path):
    if path.name == "__main__.py":
        return
    names = {
        t.id
        for node in parse(path).body
        if isinstance(node, ast.Assign)
        for t in node.targets
        if isinstance(t, ast.Name)
    }
    names |= {
        node.target.id
        for node in parse(path).body
        if isinstance(node, (ast.AnnAssign, ast.AugAssign)) and isinstance(node.target, ast.Name)
    }
    if path.name == "__init__.py" and "__all__" not in names:
        # A package that only hands names on may say `from x import f as f` in place of a list.
        aliases = [
            a
            for node in parse(path).body
            if isinstance(node, ast.ImportFrom) and node.module != "__future__"
            for a in node.names
        ]
        assert all(a.asname is not None for a in aliases), f"{path}: no __all__, and names without `as`"
        return
    assert "__all__" in names, f"{path.relative_to(ROOT)} has no __all__"


@every_source
def test_public_names_have_docstrings(path):
    tree = parse(path)
    public = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            if isinstance(node.value, (ast.List, ast.Tuple)):
                public = {e.value for e in node.value.elts if isinstance(e, ast.Constant)}
    missing = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for node in tree.body
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node.name in public and not ast.get_docstring(node)
    ]
    assert ast.get_docstring(tree), f"{path.relative_to(ROOT)}: a module's docstring is its essay"
    assert not missing, "\n".join(missing)


@every_source
def test_files_and_functions_stay_small(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_FILE_LINES, f"{path.relative_to(ROOT)} has {lines} lines"
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(parse(path))
        if isinstance(node, FUNCTIONS) and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert not long, "\n".join(long)


@every_source
def test_only_public_jax(path):
    wrong = []
    for line, target, name in imports(path):
        parts = [*target.split("."), name or ""]
        if parts[0] in ("jax", "jaxlib") and (parts[0] == "jaxlib" or any(p.startswith("_") for p in parts)):
            wrong.append(f"{path.relative_to(ROOT)}:{line}: {target} {name or ''}")
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Attribute):
            dotted = dotted_name(node).split(".")
            if dotted[0] == "jax" and any(p.startswith("_") and not p.startswith("__") for p in dotted[1:]):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {'.'.join(dotted)}")
    assert not wrong, "\n".join(wrong)


@every_source
def test_nothing_runs_what_a_file_or_a_user_gives(path):
    wrong = []
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Call):
            called = dotted_name(node.func)
            # `DataLoader` workers and `copy` use pickle through the standard library; nothing here loads one itself.
            if called in ("eval", "exec", "compile") or called.split(".")[0] in ("pickle", "marshal", "shelve"):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {called}")
            allowed = [k.value for k in node.keywords if k.arg == "allow_pickle"]
            if any(not (isinstance(value, ast.Constant) and value.value is False) for value in allowed):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: allow_pickle")
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.name for a in node.names] + [getattr(node, "module", None) or ""]
            wrong.extend(
                f"{path.relative_to(ROOT)}:{node.lineno}: {n}"
                for n in names
                if n.split(".")[0] in ("marshal", "shelve", "dill", "cloudpickle")
            )
    assert not wrong, "\n".join(wrong)


@functools.cache
def delivered_methods():
    """Names of functions anywhere in the library that do more than refuse."""
    nodes = (node for path in SOURCES for node in ast.walk(parse(path)) if isinstance(node, FUNCTIONS))
    return {node.name for node in nodes if not only_refuses(node)}


def only_refuses(node):
    body = [b for b in node.body if not (isinstance(b, ast.Expr) and isinstance(b.value, ast.Constant))]
    return len(body) == 1 and isinstance(body[0], ast.Raise) and "NotImplementedError" in ast.dump(body[0])


@every_source
def test_nothing_is_a_stub(path):
    """A function may raise NotImplementedError only if it is an interface's, and somebody delivers it."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for node in ast.walk(parse(path))
        if isinstance(node, FUNCTIONS) and only_refuses(node) and node.name not in delivered_methods()
    ]
    assert not wrong, "\n".join(wrong)


@every_source
def test_package_inits_only_hand_names_on(path):
    if path.name != "__init__.py":
        return
    definitions = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for node in parse(path).body
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node.name not in ("__getattr__", "__dir__")
    ]
    assert not definitions, "\n".join(definitions)


OPTIONAL = ("flax", "tqdm", "sklearn", "PIL", "matplotlib", "orbax", "IPython", "torch", "tensorflow", "mxnet")
LAZY = ("optax", "safetensors", "flatbuffers", "jax.export", "multiprocessing.pool")


def modules_after(code):
    """The modules a fresh interpreter holds after `code`."""
    script = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import gluonx", "from gluonx import gluon, np, npx, autograd, init"])
def test_import_is_light(code):
    """What `import gluonx` brings in beyond jax: a count, for a time would flicker (`make bench` measures the time)."""
    extra = modules_after(code) - modules_after("import jax, jax.numpy")
    assert not [m for m in extra if m.split(".")[0] in OPTIONAL]
    assert not [m for m in extra if m in LAZY]
    own = {m for m in extra if m.split(".")[0] == "gluonx"}
    assert len(extra - own) < 60, sorted(extra - own)


def test_import_touches_no_device():
    """Importing must not start a backend: a user may still set flags, or call jax.distributed.initialize."""
    code = "import gluonx, jax; jax.config.update('jax_platforms', 'nonexistent'); print('fine')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    code = (
        "import gluonx, jax\n"
        "jax.config.update('jax_platforms', 'nonexistent')\n"
        "try: jax.devices()\n"
        "except RuntimeError: print('not started before')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert "not started before" in done.stdout, done.stdout + done.stderr
