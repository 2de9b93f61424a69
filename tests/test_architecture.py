"""The rules of docs/design/architecture.md, kept by reading the sources.

A *room* is a top-level module or package of gluonx. ROOMS names them from the ground up, and a room imports only from
rooms that stand before it, imports in functions included; those under ``if TYPE_CHECKING`` never run and do not count.
"""

import ast
import functools
import re
import subprocess
import sys

import pytest

from lib import ROOT, TESTS
from lib.sample import SAMPLED, TURNS, WHOLE, chosen
from lib.sources import SOURCES, every_source, nodes_of, parse, walk

ROOT = ROOT
PACKAGE = ROOT / "gluonx"

# Rooms in one row import each other: `np` gives arrays methods that `npx` holds, and the alias in `compat` presents all
# of gluonx.
ROOMS = [
    "errors", ("common", "device", "dtype"), "sharding", "files",
    "ops", "deferred", "engine", ("np", "npx"), "sparse", "autograd", "random", "export",
    "initializer", "block", "importing",
    "nn", "generation", "lora", "rnn", "loss", "metric", "lr_scheduler", "optimizer", "trainer", "ema", "utils",
    "parallel", "data", "checkpoint", "image", "estimator", "model_zoo", "weights", "probability", "profiler", "amp",
    "quantization", "flax",
    ("compat", "__init__", "gluon"),
]  # fmt: skip
FLOOR_OF = {room: floor for floor, row in enumerate(ROOMS) for room in ((row,) if isinstance(row, str) else row)}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def module_name(path):
    """`gluonx/nn/dense.py` as ("nn", "dense"); a package's __init__ is the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


def room_of(parts):
    """The room of a module (as a tuple of names below gluonx)."""
    return parts[0]


def is_type_checking(node):
    test = node.test
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def running_nodes(path):
    """All nodes but those of `if TYPE_CHECKING:` bodies."""
    nodes = nodes_of(path)
    bodies = [each for node in nodes if isinstance(node, ast.If) and is_type_checking(node) for each in node.body]
    left_out = {id(node) for body in bodies for node in walk(body)}
    return [node for node in nodes if id(node) not in left_out]


def from_target(path, node):
    """The module that `from X import ...` names, as an absolute dotted name."""
    if not node.level:
        return node.module or ""
    package = ("gluonx", *path.relative_to(PACKAGE).parent.parts)
    base = package[: len(package) - (node.level - 1)]
    return ".".join((*base, node.module) if node.module else base)


@functools.cache
def is_module(dotted):
    place = ROOT.joinpath(*dotted.split("."))
    return place.is_dir() or place.with_suffix(".py").exists()


@functools.cache
def imports(path):
    """(line, dotted module, imported name or None) of every import that can run, import_module("...") included."""
    return tuple(_imports(path))


def _imports(path):
    for node in running_nodes(path):
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


def test_the_rooms_are_those_that_there_are():
    assert set(FLOOR_OF) == {room_of(module_name(path)) for path in SOURCES}


def test_the_map_has_every_room():
    page = (ROOT / "docs" / "design" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("| rooms, from the ground up |")[1].split("\n\n")[0].splitlines()[2:]
    told = [name.rstrip("/") for line in table for name in re.findall("`([^`]+)`", line.split("|")[1])]
    assert sorted(told) == sorted(FLOOR_OF)


@every_source
def test_imports_go_down(path):
    room = room_of(module_name(path))
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {room} imports {'.'.join(parts)}, which stands above it"
        for line, parts, _ in own_imports(path)
        if FLOOR_OF.get(room_of(parts), -1) > FLOOR_OF[room]
    ]
    assert not wrong, "\n".join(wrong)


@functools.cache
def module_graph():
    """Which modules a module imports, wherever it does."""
    modules = {".".join(p for p in module_name(path) if p != "__init__") or "__init__": path for path in SOURCES}
    graph = {}
    for module, path in modules.items():
        reached = set()
        for _, parts, name in own_imports(path):
            parts = [p for p in (*parts, name or "") if p not in ("__init__", "")]
            while parts and ".".join(parts) not in modules:
                parts.pop()
            reached.add(".".join(parts) or "__init__")
        graph[module] = reached - {module}
    return graph


def circles(graph):
    """The groups of modules of which each leads to each (Tarjan's strongly connected components)."""
    order, low, stack, found = {}, {}, [], []

    def visit(module):
        order[module] = low[module] = len(order)
        stack.append(module)
        for other in graph[module]:
            if other not in order:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == order[module]:
            group = stack[stack.index(module) :]
            del stack[-len(group) :]
            if len(group) > 1:
                found.append(sorted(group))

    for module in graph:
        if module not in order:
            visit(module)
    return sorted(found)


# The engine's storeys from the ground up. `replicas` is one package beside two of them: `run` asks it for programs, and
# its calls record.
STOREYS = ["values", "operators", "run", "record", "trace"]
BESIDE = {"replicas": "run", "replicas.joining": "record"}


def storey_of(module):
    """The number of a module's storey: 0 for the ground, one above all for the door `deferred` itself."""
    *_, inner = module.split(".", 1)
    place = BESIDE.get(inner) or (BESIDE["replicas"] if inner.startswith("replicas.") else inner.split(".")[0])
    return STOREYS.index(place) if place in STOREYS else len(STOREYS)


def test_the_engine_stands_in_storeys():
    """A module of the engine imports from its own storey and from those below, so the room reads from top to bottom."""
    folders = {path.parent.name for path in (PACKAGE / "deferred").glob("*/__init__.py")}
    assert folders == {*STOREYS, "replicas"}
    inside = {
        m: {o for o in to if o.startswith("deferred")} for m, to in module_graph().items() if m.startswith("deferred.")
    }
    wrong = [f"{m} imports {o}" for m, to in sorted(inside.items()) for o in sorted(to) if storey_of(o) > storey_of(m)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("storey", STOREYS)
def test_the_page_of_a_storey_lists_its_modules_from_the_ground_up(storey):
    place = PACKAGE / "deferred" / storey
    modules = {path.stem for path in place.glob("*.py")} - {"__init__"}
    page = (place / "__init__.py").read_text(encoding="utf-8").partition("rom the ground up:")[2]
    listed = list(dict.fromkeys(name for name in re.findall(r"`(\w+)`", page) if name in modules))
    assert sorted(listed) == sorted(modules)
    graph, prefix = module_graph(), f"deferred.{storey}."
    for at, name in enumerate(listed):
        below = {other.removeprefix(prefix) for other in graph[prefix + name] if other.startswith(prefix)}
        assert below <= {*listed[:at]}, name


def test_imports_form_no_circle():
    """Whoever reads a module is to find what it builds on below it, also at run time."""
    assert circles({"a": {"b"}, "b": {"a", "c"}, "c": set()}) == [["a", "b"]]
    assert circles(module_graph()) == []


@every_source
def test_mxnet_1_is_asked_for_by_nobody(path):
    """Only the table of names says where `compat` is; it adds to the rooms below through `gluonx.common.extensions`."""
    if room_of(module_name(path)) != "compat" and path not in (
        PACKAGE / "__init__.py",
        PACKAGE / "common" / "aliases.py",
    ):
        assert "gluonx.compat." not in strings_and_imports(path)


@every_source
def test_mxnet_1_writes_to_nothing_of_the_core(path):
    """`compat` changes the core only through the points and functions that `gluonx.common.extensions` lists."""
    if room_of(module_name(path)) != "compat":
        return
    core = {name for _, parts, name in own_imports(path) if room_of(parts) != "compat"}
    changes = ("add", "append", "clear", "discard", "extend", "insert", "pop", "remove", "setdefault", "update")
    wrong = []
    for node in nodes_of(path):
        written = []
        if isinstance(node, (ast.Assign, ast.Delete)):
            written = [t for target in node.targets for t in ast.walk(target)]
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            written = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in changes:
            written = [node.func]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "delattr", "type.__setattr__"):
            written = [ast.Attribute(node.args[0], "")]
        for target in written:
            holder = target
            while isinstance(holder, (ast.Attribute, ast.Subscript)):
                holder = holder.value
            if holder is not target and isinstance(holder, ast.Name) and holder.id in core:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert not wrong, "\n".join(wrong)


# Of a parameter's piece; of a block that was just copied; of an array whose memory is lent to another library.
CLASS_CHANGES = {"block/fusion/pieces.py", "amp/convert.py", "np/handle.py"}


@every_source
def test_no_handle_changes_its_class(path):
    if path.relative_to(PACKAGE).as_posix() in CLASS_CHANGES:
        return
    targets = [t for node in nodes_of(path) if isinstance(node, ast.Assign) for t in node.targets]
    assert not [t.lineno for t in targets if isinstance(t, ast.Attribute) and t.attr == "__class__"]


# Module state that is no `program_cache.memo()` and no state object, and how long it lives. Weak ones need no reason.
REGISTERED = "filled when modules are imported, and by what users register"
NOUN = "interned: who holds one compares it by identity, so it lives as long as the process"
FACT = "found out once about this machine, or about a function or type"
MODULE_STATE = {
    "amp/convert.py _scoped_classes": NOUN,
    "amp/state.py _policies": NOUN,
    "compat/alias/hook.py _asked": "empty but within a look-up",
    "compat/modes.py _LOOKED_UP": REGISTERED,
    "compat/nd/scalar_types.py _made": NOUN,
    "compat/operator.py _REGISTRY": REGISTERED,
    "compat/operators/row.py TABLE": REGISTERED,
    "compat/operators/training.py _before": "while gluonx stands for mxnet: the names of before",
    "compat/registry.py _tables": REGISTERED,
    "compat/symbol/ops2.py TABLE": REGISTERED,
    "data/_wire.py _files": "an entry lives as long as its array",
    "deferred/values/core.py _avals": NOUN,
    "deferred/values/core.py _default_shardings": FACT,
    "deferred/values/core.py _scalar_slots": NOUN,
    "deferred/values/core.py _states": NOUN,
    "deferred/run/flushing.py LAST": "what explain() tells; engine.clear() empties it",
    "common/forked.py _hooks": REGISTERED,
    "ops/cudnn.py _choices": "what explain() tells of attention and recurrent layers; sixteen at most",
    "deferred/values/index_checks.py _ends": "an entry lives as long as its array",
    "deferred/values/index_checks.py _on_cpu": FACT,
    "deferred/values/source_location.py _told": "so a warning comes once in a process, also after engine.clear()",
    "device.py _folded": NOUN,
    "dtype.py _cache": NOUN,
    "common/extensions.py _worker_setup": REGISTERED,
    "importing/onnx/rules.py RULES": REGISTERED,
    "initializer.py _REGISTRY": REGISTERED,
    "metric/base.py _REGISTRY": REGISTERED,
    "ops/host/kernels.py _KERNELS": REGISTERED,
    "ops/host/kernels.py _RESULTS": REGISTERED,
    "ops/host/pullbacks.py PULLBACKS": REGISTERED,
    "ops/host/primitives.py RULES": REGISTERED,
    "ops/registry.py OPS": REGISTERED,
    "ops/updates.py UPDATES": REGISTERED,
    "parallel/batches.py _last": "a line of user code has one entry",
    "parallel/roll.py _mine": "this process's end of the roll call",
    "probability/kl.py _FORMULAS": REGISTERED,
    "sharding.py _batch_of": "a mesh has one entry",
}
CACHED = {
    "ops/host/layers.py _product": "the last 256 geometries of convolutions",
    "ops/host/layers.py _product_for_image": "the same",
    "ops/host/layers.py _product_for_weight": "the same",
    "common/arguments.py _keywords": FACT,
    "block/captured.py _names": FACT,
    "block/summary.py _cost": "the last 1,024 numbers",
    "compat/alias/where.py _hidden": FACT,
    "compat/alias/where.py _stars": FACT,
    "compat/alias/where.py known_modules": FACT,
    "compat/alias/where.py known_names": FACT,
    "data/_codec.py _codec": FACT,
    "data/vision/functional.py opencv": FACT,
    "deferred/trace/custom.py _thread": "one thread for the life of the process",
    "deferred/operators/lengths.py _symbols": FACT,
    "deferred/operators/primitive.py _primitive": FACT,
    "files/npz.py _crc32": FACT,
    "np/building.py _signature": FACT,
    "ops/cpu/threefry.py implementation": FACT,
    "ops/cudnn.py _has_attention": FACT,
    "ops/cudnn.py _devices": FACT,
    "ops/host/kernels.py _promoted_dtype": FACT,
    "optimizer/optimizer.py _first_parameter": FACT,
    "optimizer/optimizer.py _reader": FACT,
    "sharding.py option_of_cpus": FACT,
}
GLOBALS = {
    "deferred/values/core.py set_handle_class": "called once, while `np` is imported; each operator reads the class"
}
CONTAINERS = ("dict", "list", "set", "deque", "defaultdict", "OrderedDict", "Counter")
GROWS = ("add", "append", "appendleft", "extend", "insert", "setdefault", "update")


def is_container(value):
    """Whether an expression makes something that can grow; weak ones and `program_cache.memo()` have an end."""
    if isinstance(value, (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)):
        return True
    return isinstance(value, ast.Call) and dotted_name(value.func).split(".")[-1] in CONTAINERS


def grown_in_functions(path):
    """The names that functions of a module put something into."""
    if not grown(nodes_of(path)):
        return set()
    return grown(node for f in nodes_of(path) if isinstance(f, (*FUNCTIONS, ast.Lambda)) for node in walk(f)[1:])


def grown(nodes):
    """The names that nodes put something into."""
    found = set()
    for node in nodes:
        written = []
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            written = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GROWS:
            written = [node.func.value]
        found.update(w.id for w in written if isinstance(w, ast.Name))
    return found


@functools.cache
def module_state():
    """What lives in modules and changes: containers, caches of functions, and functions with a `global`."""
    containers, caches, rebound = set(), set(), set()
    for path in SOURCES:
        tree, name = parse(path), path.relative_to(PACKAGE).as_posix()
        changed = grown_in_functions(path)
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and is_container(node.value):
                containers |= {f"{name} {t.id}" for t in targets if isinstance(t, ast.Name) and t.id in changed}
            value = getattr(node, "value", None)
            if isinstance(value, ast.Call) and dotted_name(value.func) in ("functools.cache", "functools.lru_cache"):
                caches |= {f"{name} {t.id}" for t in targets if isinstance(t, ast.Name)}
        with_global = any(isinstance(node, ast.Global) for node in nodes_of(path))
        for node in nodes_of(path):
            if isinstance(node, FUNCTIONS):
                names = {ast.unparse(d).partition("(")[0].removeprefix("functools.") for d in node.decorator_list}
                caches |= {f"{name} {node.name}"} if names & {"cache", "lru_cache"} else set()
                if with_global and any(isinstance(n, ast.Global) for n in ast.walk(node)):
                    rebound.add(f"{name} {node.name}")
    return containers, caches, rebound


def test_module_state_has_a_documented_life():
    """What is made once belongs into `memo()` or `once` of `program_cache`, so `engine.clear()` empties it."""
    containers, caches, rebound = module_state()
    assert sorted(containers ^ set(MODULE_STATE)) == []
    assert sorted(caches ^ set(CACHED)) == []
    assert sorted(rebound ^ set(GLOBALS)) == []


# What makes handles that nobody knows yet.
NEW_HANDLES = {"new_handle", "new_pending", "twin_of", "tap_of", "__init__", "_view", "_detached"}


@every_source
def test_variables_are_exchanged_in_one_place(path):
    """A Trainer's plan asks `core.Attached` whether one was; so nothing but `core.set_variable` may."""
    if not any(isinstance(node, ast.Attribute) and node.attr == "variable" for node in nodes_of(path)):
        return
    wrong = []
    for function in nodes_of(path):
        if not isinstance(function, FUNCTIONS) or function.name in {"set_variable", *NEW_HANDLES}:
            continue
        for node in ast.walk(function):
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in [t for each in targets for t in ast.walk(each) if isinstance(t, ast.Attribute)]:
                if target.attr == "variable" and isinstance(target.ctx, ast.Store):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {function.name}")
    assert not wrong, "\n".join(wrong)


def strings_and_imports(path):
    """Return the imports of a module, and its strings that are no docstrings."""
    docs = {id(node.body[0].value) for node in nodes_of(path) if ast_has_docstring(node)}
    texts = [
        node.value
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]
    return "\n".join([*texts, *(f"{target}." for _, target, _ in imports(path))])


def ast_has_docstring(node):
    return isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node, clean=False) is not None


@every_source
def test_underscored_names_stay_in_their_package(path):
    room = room_of(module_name(path))
    wrong = []
    for line, parts, name in own_imports(path):
        # A hidden room, such as `_process`, is the whole of gluonx's; what is hidden in a room is the room's.
        hidden = [p for p in (*parts[1:], name or "") if p.startswith("_") and not p.startswith("__")]
        if hidden and room_of(parts) != room and parts[0] != module_name(path)[0]:
            wrong.append(f"{path.relative_to(ROOT)}:{line}: {'.'.join(parts)} {name or ''}")
    assert not wrong, "\n".join(wrong)


@functools.cache
def collected():
    """The modules of which a package takes all that is public."""
    texts = [path.read_text() for path in PACKAGE.rglob("*.py")]
    return {name for text in texts for name in re.findall(r"^ *from (gluonx[\w.]*) import \*", text, re.MULTILINE)}


@every_source
def test_every_module_says_what_is_public(path):
    """By `__all__` where users look: rooms, packages and what these collect. Elsewhere the underscore says it."""
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
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    if path.parent == PACKAGE or path.name == "__init__.py" or module in collected():
        assert "__all__" in names, f"{path.relative_to(ROOT)} has no __all__"


@every_source
def test_public_names_have_docstrings(path):
    tree = parse(path)
    public = {node.name for node in tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node.name[0] != "_"}
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


def first_line(node):
    """The first line of a docstring, without taking the indentation off the others, which takes long for all."""
    return (ast.get_docstring(node, clean=False) or "").lstrip().partition("\n")[0]


@every_source
def test_a_docstring_that_says_yield_or_return_is_true(path):
    wrong = []
    for function in (node for node in nodes_of(path) if isinstance(node, FUNCTIONS)):
        verb = first_line(function).partition(" ")[0]
        if verb not in ("Yield", "Return"):
            continue
        nodes = list(own_nodes(function))
        yields = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes)
        gives = yields or any(isinstance(node, (ast.Return, ast.Raise)) for node in nodes)
        inner = function.body[1:]  # an interface's is empty
        interface = all(isinstance(b, (ast.Pass, ast.Delete)) or ast.unparse(b) == "..." for b in inner)
        if (verb == "Yield" and not yields) or (verb == "Return" and not gives and not interface):
            wrong.append(f"{path.relative_to(ROOT)}:{function.lineno}: {function.name}")
    assert not wrong, "\n".join(wrong)


QUESTIONS = frozenset({"What", "Where", "Whether", "How", "That", "Who", "Which", "When", "Why"})


@every_source
def test_a_docstring_begins_with_the_thing_or_a_verb(path):
    """Not with a question: "The number of ...", "Return whether ...", and not "How many ..." or "Whether ..."."""
    documented = (node for node in nodes_of(path) if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)))
    texts = [(node, first_line(node)) for node in documented]
    wrong = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}: {text}"
        for node, text in texts
        if text.partition(" ")[0] in QUESTIONS
    ]
    assert not wrong, "\n".join(wrong)


def own_nodes(function):
    """All nodes of a function's body but those of functions and classes in it."""
    stack = list(function.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))


@every_source
def test_only_public_jax(path):
    wrong = []
    for line, target, name in imports(path):
        parts = [*target.split("."), name or ""]
        if parts[0] in ("jax", "jaxlib") and (parts[0] == "jaxlib" or any(p.startswith("_") for p in parts)):
            wrong.append(f"{path.relative_to(ROOT)}:{line}: {target} {name or ''}")
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute):
            dotted = dotted_name(node).split(".")
            if dotted[0] == "jax" and any(p.startswith("_") and not p.startswith("__") for p in dotted[1:]):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {'.'.join(dotted)}")
    assert not wrong, "\n".join(wrong)


def unsaid(room):
    """The shares of parameters and of results in a room that are annotated as `Any`, of those annotated at all."""
    paths = (PACKAGE / room).rglob("*.py") if (PACKAGE / room).is_dir() else [PACKAGE / f"{room}.py"]
    functions = [n for p in paths for n in nodes_of(p) if isinstance(n, FUNCTIONS)]
    given = [a.annotation for n in functions for a in ast.walk(n.args) if isinstance(a, ast.arg) and a.annotation]
    results = [n.returns for n in functions if n.returns is not None]
    return [sum(isinstance(a, ast.Name) and a.id == "Any" for a in some) / len(some) for some in (given, results)]


UNSAID = {
    "deferred": (0.035, 0.195), "nn": (0.085, 0.07), "loss": (0.085, 0.105), "rnn": (0.07, 0.1),
    "block": (0.085, 0.09), "trainer": (0.1, 0.055), "optimizer": (0.085, 0.09), "data": (0.075, 0.155),
    "np": (0.04, 0.1), "npx": (0.055, 0.095), "ops": (0.1, 0.11), "compat": (0.245, 0.155),
    "probability": (0.115, 0.105), "estimator": (0.235, 0.04), ".": (0.135, 0.145),
}  # fmt: skip
"""The shares of parameters and of results that may be `Any`, by room; "." is all of gluonx. They only go down."""


@pytest.mark.parametrize("room", UNSAID)
def test_a_room_says_what_it_takes_and_gives(room):
    """What the engine's functions expect is in `deferred/values/contracts.py`; pyright checks it."""
    given, results = UNSAID[room]
    assert unsaid(room)[0] < given
    assert unsaid(room)[1] < results


KERNEL = "NumPy kernels, which register themselves"
ROWS = "the rows of operators themselves"
RULES = "rules of a format, where it has no operator that is the same"
PYTHON = "names that Python programs call, and not operators"
# Facts about operators that stand outside of their records: each is a place to remember when an operator is added.
TABLES = {
    "compat/operators/table.py METHODS": PYTHON,
    "compat/symbol/front.py _EITHER": ROWS,
    "compat/symbol/methods.py _METHODS": PYTHON,
    "compat/symbol/methods.py _OF_SIZES": PYTHON,
    "compat/symbol/run.py _MADE": "operators that make an array of a batch's length",
    "export/onnx/rules_elementwise.py _COMPOSED": RULES,
    "importing/onnx/rules_recurrent.py _FUNCTIONS": RULES,
    "model_zoo/transformers.py _ACTIVATIONS": "transformers' names of activations",
    "np/table.py BINARY": ROWS,
    "np/table.py GENERAL": ROWS,
    "np/table.py UNARY": ROWS,
    "ops/cpu/rewriting.py _DEAR": "primitives of JAX",
    "ops/elementwise.py ACTIVATIONS": "the names of activations",
    "ops/elementwise.py _ACTIVATIONS": "values of an attribute",
    "ops/host/algebra.py MORE": KERNEL,
    "ops/host/elementwise.py _WIDE": "primitives of JAX",
    "ops/host/kernels.py _BINARY": KERNEL,
    "ops/host/kernels.py _UNARY": KERNEL,
    "ops/host/pullbacks.py _SLOPES": KERNEL,
}


def words_of(value):
    """Return the texts that an expression lists: keys of a dict, elements of another display, words of a text."""
    if isinstance(value, ast.Dict):
        own = [k.value for k in value.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
        inner = [v for k, v in zip(value.keys, value.values, strict=True) if k is None]
        return own + [w for v in inner for w in words_of(v.generators[0].iter if isinstance(v, ast.DictComp) else v)]
    if isinstance(value, (ast.Set, ast.Tuple, ast.List)):
        return [e.value for e in value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    if isinstance(value, ast.Call):
        text = getattr(value.func, "value", None)
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and dotted_name(value.func).endswith("split"):
            return text.value.split()
        return words_of(value.args[0]) if value.args else []
    return []


def test_what_is_known_of_an_operator_is_in_its_record():
    """Find the tables of a module whose keys are mostly operators' names; the list of them only gets shorter."""
    from gluonx.compat.operators.table import TABLE
    from gluonx.compat.symbol.ops2 import TABLE as MODERN
    from gluonx.dtype import canonical
    from gluonx.ops.registry import OPS

    assert words_of(ast.parse("{'a': 1, **dict.fromkeys(('b', 'c'), 2)}", mode="eval").body) == ["a", "b", "c"]
    names = {name.removeprefix("np.").removeprefix("numpy.") for name in OPS} | {*OPS, *TABLE, *MODERN}

    def is_dtype(name):
        try:
            return canonical(name) is not None
        except (TypeError, ValueError):
            return False

    found = set()
    for path in SOURCES:
        for node in parse(path).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(targets[0], ast.Name):
                words = words_of(node.value) if node.value is not None else []
                known = [word for word in words if word in names and not is_dtype(word)]
                if targets[0].id != "__all__" and len(known) >= 4 and len(known) > 0.6 * len(words):
                    found.add(f"{path.relative_to(PACKAGE).as_posix()} {targets[0].id}")
    assert found == set(TABLES)


@every_source
def test_nothing_runs_what_a_file_or_a_user_gives(path):
    wrong = []
    for node in nodes_of(path):
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
    nodes = (node for path in SOURCES for node in nodes_of(path) if isinstance(node, FUNCTIONS))
    return {node.name for node in nodes if not only_refuses(node)}


def only_refuses(node):
    body = [b for b in node.body if not (isinstance(b, ast.Expr) and isinstance(b.value, ast.Constant))]
    return len(body) == 1 and isinstance(body[0], ast.Raise) and "NotImplementedError" in ast.dump(body[0])


@every_source
def test_nothing_is_a_stub(path):
    """A function may raise NotImplementedError only if it is an interface's, and somebody delivers it."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for node in nodes_of(path)
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


OPTIONAL = ("flax", "tqdm", "sklearn", "PIL", "cv2", "matplotlib", "orbax", "IPython", "torch", "tensorflow", "mxnet")
LAZY = ("optax", "safetensors", "flatbuffers", "jax.export", "multiprocessing.pool")


def modules_at(*stages):
    """The modules a fresh interpreter holds after each of several pieces of code, one after the other."""
    script = "import sys\n" + "\n".join(f"{code}\nprint(*sorted(sys.modules))" for code in stages)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    return [set(line.split()) for line in done.stdout.splitlines()]


# A loop with two weights, as a first program is.
TRAINING = """
from gluonx import Trainer, autograd, nn, np; net = nn.Dense(2, in_units=3); net.initialize()
trainer = Trainer(net.collect_params(), 'sgd', {'momentum': 0.9, 'multi_precision': True})
with autograd.record(): loss = (net(np.ones((1, 3))) ** 2).sum()
loss.backward(); trainer.step(1); loss.item()
"""


@functools.cache
def one_session():
    """The modules of one interpreter after what the next three tests are about, which start none each."""
    names = "from gluonx import gluon, np, npx, autograd, init"
    shown = "from gluonx import *; import gluonx.nn; repr(gluonx.nn.Dense(2))"
    return modules_at("import jax, jax.numpy", "import gluonx", names, TRAINING, shown, "gluonx.flax.to_nnx")


def test_an_extra_is_imported_when_asked_for():
    """Not by ``import *``, which is to work without any extra, nor by showing a net."""
    *_, before, after = one_session()
    assert not {"flax", "treescope", "orbax"} & before
    assert {"flax", "gluonx.flax"} <= after


def test_import_is_light():
    """Count the modules that `import gluonx` loads beyond jax; `make bench` measures the time."""
    of_jax, *ours = one_session()[:3]
    for found in ours:
        extra = found - of_jax
        assert not [m for m in extra if m.split(".")[0] in OPTIONAL]
        assert not [m for m in extra if m in LAZY]
        own = {m for m in extra if m.split(".")[0] == "gluonx"}
        assert own
        assert len(extra - own) < 60, sorted(extra - own)


def test_training_does_without_optax():
    """To import it takes as long as a first step of a small net."""
    assert "optax" not in one_session()[3]


def test_import_touches_no_device():
    """Importing must not start a backend: a user may still set flags, or call jax.distributed.initialize."""
    code = (
        "import gluonx, jax\n"
        "jax.config.update('jax_platforms', 'nonexistent')\n"
        "try: jax.devices()\n"
        "except RuntimeError: print('not started before')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert "not started before" in done.stdout, done.stdout + done.stderr


def test_what_takes_turns_in_the_gate_is_there():
    """A test file that is renamed would run whole, and nobody would see why `make test` takes longer."""
    files = {path.name: path for path in TESTS.rglob("test_*.py")}
    assert not (SAMPLED.keys() | TURNS.keys()) - files.keys()
    assert not [(name, test) for name, test in WHOLE if f"def {test}(" not in files[name].read_text()]


def test_a_share_of_a_share_is_their_product():
    """`make test-fast` took half of a sweep's seventh, in place of a fourteenth."""
    taken = [n for n in range(40_000) if chosen(str(n), 7)]
    both = [n for n in taken if chosen(str(n), 14)]
    assert 0.5 < len(both) * 14 / len(taken) < 1.5
