"""The distribution: metadata, the built wheel in an empty folder, the Makefile's promises, the links of the pages."""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile

import pytest

import gluonx
from lib import ROOT, examples
from tools.parity.page import PAGES as PAGES_MADE

ROOT = ROOT
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])


def requirement_names(requirements):
    return {re.match(r"[\w-]+", r)[0] for r in requirements}


def test_version_is_told_once():
    assert gluonx.__version__ == PROJECT["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{PROJECT['version']}]" in changelog
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_core_dependencies_are_the_few_that_are_meant():
    assert requirement_names(PROJECT["dependencies"]) == {
        "jax", "jaxlib", "numpy", "ml_dtypes", "optax", "flatbuffers", "threadpoolctl",
    }  # fmt: skip
    assert {"flax", "vision", "notebook", "dev"} <= set(PROJECT["optional-dependencies"])


def test_installed_metadata_agrees():
    try:
        metadata = importlib.metadata.metadata("gluonx")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("gluonx runs from the source tree, not installed")
    assert set(metadata["Requires-Python"].split(",")) == set(PROJECT["requires-python"].split(","))
    assert metadata["License-Expression"] == "Apache-2.0"


@pytest.mark.dear
def test_wheel_works_from_an_empty_folder(tmp_path):
    pytest.importorskip("hatchling", reason="the wheel is built with hatchling, of the extra 'test'")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "site")
    shipped = {n for n in names if n.endswith((".py", ".pyi"))}
    wanted = {str(p.relative_to(ROOT)) for p in (ROOT / "gluonx").rglob("*.py*") if p.suffix in (".py", ".pyi")}
    assert shipped == wanted
    assert "gluonx/py.typed" in names
    assert any(n.endswith("licenses/LICENSE") for n in names)
    empty = tmp_path / "empty"
    empty.mkdir()
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import gluonx, pathlib\n"
        "from gluonx import autograd, np\n"
        f"assert pathlib.Path(gluonx.__file__).is_relative_to({str(tmp_path)!r}), gluonx.__file__\n"
        "x = np.ones((2, 3)); x.attach_grad()\n"
        "with autograd.record(): y = (x * x).sum()\n"
        "y.backward(); print(float(x.grad.sum()))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=empty, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "12.0"


@pytest.mark.dear
def test_what_a_package_index_shows(tmp_path):
    """A build that knows the repository has its addresses, and no link that is dead without the files beside it."""
    pytest.importorskip("hatchling", reason="the wheel is built with hatchling, of the extra 'test'")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True, env={**os.environ, "GLUONX_REPOSITORY": "https://example.org/o/gluonx/"},
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("/METADATA")]
        told = archive.read(name).decode()
    assert "Project-URL: Source, https://example.org/o/gluonx\n" in told
    assert f"https://example.org/o/gluonx/blob/v{PROJECT['version']}/CONTRIBUTING.md" in told
    links = re.findall(r"\]\(([^)\s]+)\)", told)
    assert len(links) > 20
    assert not [link for link in links if not link.startswith(("https://", "#"))]


def test_the_page_of_versions_is_what_is_installed_and_tried():
    """docs/support.md, pyproject.toml, the Makefile and the workflow name the same Pythons and bounds of JAX."""
    page = (ROOT / "docs" / "support.md").read_text(encoding="utf-8")
    pythons = re.findall(r"^\| (3\.\d+) \|", page, re.MULTILINE)
    classified = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert pythons == classified
    last = int(pythons[-1].partition(".")[2])
    assert PROJECT["requires-python"] == f">={pythons[0]},<3.{last + 1}"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    candidates = re.search(r"^CANDIDATES := (.*)$", makefile, re.MULTILINE)[1]
    assert set(re.findall(r"python(3\.\d+)", candidates)) == set(pythons)
    assert f"(3, {pythons[0][2:]}) <= sys.version_info < (3, {last + 1})" in makefile
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    assert re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1]) == pythons
    (jax,) = [r for r in PROJECT["dependencies"] if r.startswith("jax>")]
    oldest, after = re.fullmatch(r"jax>=([\d.]+),<0\.(\d+)", jax).groups()
    assert f"jax=={oldest}.0" in workflow
    newest = f"0.{int(after) - 1}"
    assert {f"{oldest} to {newest}", oldest} == {
        row.strip() for row in re.findall(r"^\| 3\.\d+ \|([^|]*)\|", page, re.MULTILINE)
    }


@pytest.mark.parametrize("target", ["demo", "test", "test-all", "bench", "lint", "test-room"])
def test_make_targets_set_up_what_they_need(target, tmp_path):
    """From nothing: each target first makes an environment and installs an extra into it."""
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target, f"VENV={tmp_path / 'venv'}", "ROOM=np"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "-m venv" in done.stdout
    assert "pip" in done.stdout and "install --editable" in done.stdout


@pytest.mark.dear
def test_makefile_takes_the_first_python_that_runs(tmp_path):
    """A shim that fails, and a Python that is too old, are passed over."""
    for name, body in {
        "python3.13": "exit 127",
        "python3.12": "exit 1",
        "python3.11": f'exec {sys.executable} "$@"',
    }.items():
        shim = tmp_path / name
        shim.write_text(f"#!/bin/sh\n{body}\n")
        shim.chmod(0o755)
    venv = tmp_path / "venv"
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    make = ["make", "--no-print-directory", f"VENV={venv}"]
    done = subprocess.run([*make, f"{venv}/bin/python"], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert sys.version.split()[0] in done.stdout
    assert (venv / "bin" / "python").exists()
    wrong = subprocess.run(
        ["make", f"VENV={tmp_path / 'other'}", "PYTHON=/no/such/python", f"{tmp_path / 'other'}/bin/python"],
        cwd=ROOT, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert wrong.returncode != 0
    assert "/no/such/python does not run" in wrong.stderr


def test_ci_calls_make_test():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert re.search(r"^exec make .*\btest$", script.read_text(), re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    missing = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target and not target.startswith(("#", "mailto:")):
            place = page.parent / target.partition("#")[0]
            if not place.exists() and str(place.resolve().relative_to(ROOT)) not in PAGES_MADE:
                missing.append(target)
    assert not missing, missing


def python_blocks(page):
    """The Python blocks of a page, each behind as many empty lines as stand before it: errors name its lines."""
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"```python\n(.*?)```", text, re.DOTALL):
        yield "\n" * text.count("\n", 0, found.start(1)) + found[1]


def test_nothing_stays_of_an_example():
    from gluonx.ops.registry import OPS, register

    with examples.alone():
        folder = pathlib.Path(tempfile.mkdtemp())
        (folder / "net.params").touch()
        register("an_example")(lambda x: x)
    assert not folder.exists() and "an_example" not in OPS
    assert pathlib.Path(tempfile.gettempdir()) != folder.parent


@pytest.mark.usefixtures("examples_alone")
@pytest.mark.parametrize("page", [p for p in PAGES if any(python_blocks(p))], ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_of_the_pages_run(page, tmp_path, monkeypatch):
    """The Python blocks of a page, in order, are a program that runs as printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    blocks = list(python_blocks(page))
    if any(switch in "".join(blocks) for switch in ("set_x64", "amp.init", "XLA_FLAGS")):  # of a process, for good
        code = "\n".join(f"exec(compile({block!r}, {str(page)!r}, 'exec'), globals())" for block in blocks)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return
    namespace = {"__name__": "__page__"}
    for code in blocks:
        exec(compile(code, str(page), "exec"), namespace)
