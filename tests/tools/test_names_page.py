"""The page that tells users of other libraries what things are called here: every name is there, and every page."""

import importlib
import inspect
import re

import pytest

import gluonx
from lib import ROOT

PAGE = ROOT / "docs" / "names.md"
ROWS = [
    [cell.strip() for cell in line.strip()[1:-1].split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and "---" not in line and "`" in line
]
CALL = re.compile(r"([\w.]+)(?:\((\w+)=\))?")


def names_in(cell):
    return re.findall(r"`([^`]+)`", cell)


def resolved(text):
    """Return what a dotted name stands for, and the keyword that stands behind it."""
    name, keyword = CALL.fullmatch(text).groups()
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if not name.startswith(str(error.name)):
                raise ImportError(f"{name} needs {error.name}") from error
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found, keyword
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("row", ROWS, ids=[row[3] if len(row) == 5 else str(row) for row in ROWS])
def test_a_row_names_what_there_is_and_where_it_is_shown(row):
    assert len(row) == 5
    ours, shown = names_in(row[3]), re.findall(r"\]\(([^)#]+)\)", row[4])
    assert ours and shown
    for text in ours:
        assert text.startswith("gluonx.")
        found, keyword = resolved(text)
        if keyword is not None:
            function = found.__init__ if inspect.isclass(found) else found
            known = inspect.signature(function).parameters
            assert keyword in known or any(p.kind is p.VAR_KEYWORD for p in known.values())
    for target in shown:
        assert (PAGE.parent / target).resolve().is_file(), target
    last = [text.partition("(")[0].rpartition(".")[2] for text in ours]
    told = "".join((PAGE.parent / target).read_text(encoding="utf-8") for target in shown)
    keywords = [keyword for text in ours if (keyword := CALL.fullmatch(text)[2])]
    assert any(word.lower() in told.lower() for word in [*keywords, *(last if not keywords else [])]), (
        "shown there it is not"
    )


@pytest.mark.parametrize("row", ROWS, ids=[row[3] for row in ROWS])
def test_names_of_flax_and_optax_are_theirs(row):
    for text in names_in(row[2]):
        pytest.importorskip(text.partition(".")[0])
        found, keyword = resolved(text)
        assert keyword is None or keyword in inspect.signature(found).parameters


@pytest.mark.slow
@pytest.mark.parametrize("column", [0, 1])
def test_names_of_other_libraries_are_theirs(column):
    wrong = []
    for row in ROWS:
        for text in names_in(row[column]):
            try:
                importlib.import_module(text.partition(".")[0])
            except ImportError:
                continue
            try:
                resolved(text)
            except (AttributeError, ModuleNotFoundError):
                wrong.append(text)
            except ImportError:  # of a package beside it
                continue
    assert not wrong


LAYERS = ROOT / "docs" / "layer_names.md"
VERSIONS = {
    **dict.fromkeys(("torch.nn", "torch.optim", "torch.optim.lr_scheduler", "torch.nn.init"), "PyTorch 2.14"),
    "keras.layers": "Keras 3.15",
    "flax.nnx": "Flax 0.12",
}
LISTS = ROOT / "tests" / "data" / "layers_elsewhere"


def listed(library):
    return set((LISTS / f"{library}.txt").read_text(encoding="utf-8").split())


def rows_of(library):
    section = LAYERS.read_text(encoding="utf-8").partition(f"## {library}\n")[2].partition("\n## ")[0]
    rows = [line.strip()[1:-1].split(" | ") for line in section.splitlines() if line.startswith("| `")]
    assert all(len(row) == 2 for row in rows)
    return rows


@pytest.mark.parametrize("library", VERSIONS)
def test_no_layer_of_another_library_is_left_out(library):
    said = [name for row in rows_of(library) for name in names_in(row[0])]
    machinery = listed("flax.nnx.machinery") if library == "flax.nnx" else set()
    assert sorted(said) == sorted(set(said))
    assert listed(library) - machinery == set(said)


@pytest.mark.parametrize("library", VERSIONS)
def test_what_a_layer_is_here_is_here(library):
    """In code of the right column, what begins like a room of gluonx is a name of it, with these keywords."""
    checked = 0
    for _, here in rows_of(library):
        found_here = False
        for text in names_in(here):
            name, keywords = re.fullmatch(r"([\w.]*)(?:\((.*)\))?.*", text).groups()
            if name.partition(".")[0] not in dir(gluonx) or name in ("np", "npx", "nn"):
                continue
            found, _ = resolved(f"gluonx.{name}")
            known = inspect.signature(found).parameters if keywords else {}
            assert all(keyword in known for keyword in re.findall(r"(\w+)=", keywords or "")), text
            checked, found_here = checked + 1, True
        assert found_here or "not here" in here or here.strip().startswith(("`+`", "[")), here
    assert checked > 5


@pytest.mark.parametrize("library", VERSIONS)
def test_the_lists_of_other_libraries_are_theirs(library):
    """A release that adds a name adds a row; only the versions of the page are compared."""
    assert VERSIONS[library] in LAYERS.read_text(encoding="utf-8")
    module = pytest.importorskip(library)
    version = importlib.import_module(library.partition(".")[0]).__version__
    if not version.startswith(VERSIONS[library].split()[1] + "."):
        pytest.skip(f"this is {version}")
    names = getattr(module, "modules", module)
    assert set(getattr(names, "__all__", dir(names))) >= listed(library)
