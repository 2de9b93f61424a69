"""The documentation as a site: every public name has its place, and Sphinx builds it without a warning."""

import importlib
import inspect
import re
import subprocess
import sys

import pytest

from lib import ROOT
from tools import api_pages


@pytest.mark.parametrize("module", ["gluonx.nn", "gluonx.loss", "gluonx.np", "gluonx.optimizer"])
def test_a_page_tells_of_every_public_name(module):
    page = api_pages.page(api_pages.Page("Title", module))
    values = {name: getattr(importlib.import_module(module), name) for name in importlib.import_module(module).__all__}
    told = [name for name, value in values.items() if callable(value) and (value.__doc__ or "").strip()]
    assert len(told) > 10
    missing = [name for name in told if f":: {name}\n" not in page and f"``{name}``" not in page]
    assert not missing


def test_what_two_pages_have_is_told_once():
    known = {}
    first = api_pages.page(api_pages.Page("Core", "gluonx", ("Block", "Trainer")), known)
    second = api_pages.page(api_pages.Page("Layers", "gluonx.nn"), known)
    assert ".. autoclass:: Block\n" in first and ".. autoclass:: Block\n" not in second
    assert "``Block`` is :class:`gluonx.Block`" in second


def test_pages_are_written_only_where_they_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(api_pages, "PAGES", api_pages.PAGES[-2:])
    (tmp_path / "old.rst").write_text("of a module that is gone")
    names = api_pages.write(tmp_path)
    times = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert sorted(times) == names == sorted(["gluonx.errors.rst", "gluonx.utils.rst", "index.rst"])
    api_pages.write(tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times


def test_every_page_is_in_the_contents():
    """A page that no list of contents names would be found by search alone."""
    front = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [p.relative_to(ROOT / "docs").with_suffix("") for p in (ROOT / "docs").rglob("*.md")]
    entries = {line.split("<")[-1].rstrip(">") for line in front.splitlines()}
    assert {str(page) for page in pages} - entries == {"index"}
    assert {f"../notebooks/{p.stem}" for p in (ROOT / "notebooks").glob("*.ipynb")} <= entries


@pytest.mark.parametrize("module", ["gluonx", "gluonx.np", "gluonx.npx", "gluonx.np.random", "gluonx.nn"])
def test_a_docstring_refers_to_nothing_by_accident(module):
    """To Sphinx a word that ends with an underscore is a link, and one that leads nowhere stops `make docs`."""
    module = importlib.import_module(module)
    wrong = {}
    for name in sorted({*module.__all__, *dir(module)}):
        value = getattr(module, name)
        if not (inspect.isfunction(value) or inspect.isclass(value)) or not value.__module__.startswith("gluonx"):
            continue
        prose = re.sub(r"``.*?``|`.*?`", "", inspect.getdoc(value) or "", flags=re.DOTALL)
        lines = [line for line in prose.splitlines() if not line.lstrip().startswith((">>>", "..."))]
        found = re.findall(r"(?<![\w.])[A-Za-z]\w*_(?!\w)", "\n".join(lines))
        if found:
            wrong[name] = found
    assert not wrong


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    for package in ("sphinx", "myst_nb", "sphinx_book_theme", "sphinx_copybutton", "flax"):
        pytest.importorskip(package, reason="of the extra 'docs'")
    folders = ["--conf-dir", "docs", "--doctree-dir", tmp_path / "doctrees", ".", tmp_path / "site"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "--jobs", "2", "--fail-on-warning", *folders],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]
    site = tmp_path / "site"
    assert "docs/index.html" in (site / "index.html").read_text()
    assert "hybridize" in (site / "searchindex.js").read_text()
    layers = (site / "docs" / "api" / "gluonx.nn.html").read_text()
    assert 'id="gluonx.nn.Dense"' in layers and "units" in layers
    assert "<details" in (site / "notebooks" / "01_quickstart.html").read_text()  # the display of a net, as it was run
