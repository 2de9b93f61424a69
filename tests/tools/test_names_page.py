"""The page that tells users of other libraries what things are called here: every name is there, and every page."""

import importlib
import inspect
import re

import pytest

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
