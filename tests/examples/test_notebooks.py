"""The notebooks run from top to bottom, and are kept with the outputs of such a run: they are read on the site too."""

import re
import subprocess
import sys
import zlib

import pytest

from lib import ROOT
from lib.sample import ROUND
from tools import notebooks

nbformat = pytest.importorskip("nbformat")
PATHS = sorted(notebooks.FOLDER.glob("*.ipynb"))
assert [path.name[:2] for path in PATHS] == [f"{n:02}" for n in range(1, 14)], (
    "they are numbered, and read in that order"
)
LONG = ("05_transformer", "10_diffusion")  # they train for half a minute
SHORT = [path for path in PATHS if path.stem not in LONG]
TODAY = SHORT[zlib.crc32(ROUND.encode()) % len(SHORT)]  # one with every commit, all of them in `make test-all`


def run_by_turns():
    return [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] * (p != TODAY)) for p in PATHS]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_end_says_what_to_read_next(path):
    end = nbformat.read(path, as_version=4).cells[-1]
    assert end.cell_type == "markdown"
    linked = re.findall(r"\]\(([^)#]+)", end.source)
    assert linked and all((path.parent / place).exists() for place in linked)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_kept_outputs_are_those_of_the_code(path):
    """Outputs were once forbidden here, since nobody saw when they grew old; the digest of the code tells now."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    again = f"run: make notebooks ARGS={path.name[:2]}"
    assert notebook.metadata["gluonx"]["outputs_of"] == notebooks.digest(notebook), again
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), again
    assert not notebooks.trouble(notebook)
    for cell in code:
        failed = [output for output in cell.outputs if output.output_type == "error"]
        assert bool(failed) == ("raises-exception" in cell.metadata.get("tags", ()))
    text = path.read_text(encoding="utf-8")
    assert len(text) < 400_000
    for place in ("/work/", "/home/", "/root/", "ipykernel_", "site-packages"):
        assert place not in text, f"{path.name} shows a place on the machine that it ran on: {place}"


@pytest.mark.dear
@pytest.mark.parametrize("path", run_by_turns())
def test_runs_in_a_kernel(path):
    """Every cell runs, without a word on the standard error, and leaves no file beside the notebooks.

    In a process of its own: what speaks to a kernel leaves threads and callbacks behind, which met the closed event
    loop during some later test ("Event loop is closed").
    """
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    before = {p: p.stat().st_mtime_ns for p in (ROOT / "notebooks").rglob("*")}
    command = [sys.executable, "-m", "tools.notebooks", "--check", path.stem]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert {p: p.stat().st_mtime_ns for p in (ROOT / "notebooks").rglob("*")} == before
