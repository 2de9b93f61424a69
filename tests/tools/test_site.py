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


def public():
    """Yield the names that a user imports with what they are: those of the pages, and of modules without one."""
    bare = ("gluonx", "gluonx.random", "gluonx.quantization", "gluonx.checkpoint")
    for page in (*api_pages.PAGES, *(api_pages.Page("", module) for module in bare)):
        module = importlib.import_module(page.module)
        for name in api_pages._public(module, page.names):
            value = getattr(module, name)
            if (value.__module__ or "gluonx").startswith("gluonx"):  # others are NumPy's and JAX's own
                yield f"{page.module}.{name}", value


NOT_RUN = {
    "gluonx.data.vision.CIFAR10": "comes over the network",
    "gluonx.data.vision.CIFAR100": "comes over the network",
    "gluonx.data.vision.FashionMNIST": "comes over the network",
    "gluonx.data.vision.MNIST": "comes over the network",
    "gluonx.device.gpu_memory_info": "needs a GPU",
    "gluonx.npx.gpu_memory_info": "needs a GPU",
    "gluonx.npx.get_cuda_compute_capability": "needs a GPU",
    "gluonx.parallel.initialize": "needs several processes",
    "gluonx.parallel.plan": "needs the compiler of a TPU, and seconds",
    "gluonx.profiler.set_state": "switches JAX's profiler on for the process",
    "gluonx.profiler.start": "switches JAX's profiler on for the process",
}
"""Why the examples of these are shown and not run; the list only gets shorter."""


def test_every_public_function_and_class_has_an_example():
    """But the classes of errors, of which each says when it is raised."""
    found = {name: v for name, v in public() if not (inspect.isclass(v) and issubclass(v, BaseException))}
    assert len(found) > 1500
    assert [name for name, value in found.items() if ">>>" not in inspect.getdoc(value)] == []
    assert {name for name, value in found.items() if "+SKIP" in inspect.getdoc(value)} == set(NOT_RUN)


def is_found_by_doctest(value):
    """Return whether pytest comes upon a function or class where it is defined."""
    home = sys.modules[value.__module__]
    at = home
    for part in value.__qualname__.split("."):
        at = getattr(at, part, None)
    return ">>>" in (getattr(at, "__doc__", None) or "") or any(v is value for v in vars(home).values())


def test_every_example_is_run():
    """By doctest, or in tests/np/test_documentation.py, where a table makes the function."""
    found = [(n, v) for n, v in public() if ">>>" in v.__doc__ and "Where to write the result" not in v.__doc__]
    assert len(found) > 800
    assert [name for name, value in found if not is_found_by_doctest(value)] == []


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
