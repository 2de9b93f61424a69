"""The notebooks run from top to bottom, and are kept without their outputs."""

import json

import pytest

from lib import ROOT

ROOT = ROOT
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
assert NOTEBOOKS, "they lie in notebooks/"
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@every_notebook
def test_outputs_are_stripped(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # the kernel's machinery warns of its own affairs
@every_notebook
def test_runs_in_a_kernel(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    streams = [out for cell in notebook.cells for out in cell.get("outputs", ()) if out.get("name") == "stderr"]
    assert not streams, streams[0]["text"]
