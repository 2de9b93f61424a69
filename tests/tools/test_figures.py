"""The figures of README.md and of pages are those of the tables that benchmarks wrote."""

import re

import pytest

from lib import ROOT
from tools import figures

README = figures.README.read_text(encoding="utf-8")


def test_readme_and_picture_are_made_from_the_tables():
    assert figures.page() == README, "run: python -m tools.figures --write"
    assert figures.PICTURE.read_text(encoding="utf-8") == figures.picture(), "run: python -m tools.figures --write"


def test_a_table_that_changes_changes_them(monkeypatch):
    found = figures.models()
    found["unet"]["MXNet 2.0, hybridized static"]["ratio"] = 7.77
    monkeypatch.setattr(figures, "models", lambda: found)
    assert "7.77 (U-Net)" in figures.stretch()
    assert figures.page() != README
    assert figures.picture() != figures.PICTURE.read_text(encoding="utf-8")


def test_no_other_figure_of_the_readme_is_measured():
    """Times, ratios, shares and sizes stand between the marks, where they are made from the tables, or nowhere."""
    outside = README.replace(figures.stretch(), "")
    outside = re.sub(r"```python.*?```", "", outside, flags=re.DOTALL)
    told = re.findall(r"\b\d[\d.,]*\s?(?:ms|µs|us|s|seconds|%|MiB|MB|GB|times)\b", outside)
    assert not told


COUNTED = [
    (r"jax, numpy and (\d+) lines", "gluonx/export/serve.py"),
]


@pytest.mark.parametrize(("words", "file"), COUNTED)
def test_what_is_counted_is_so(words, file):
    (told,) = re.findall(words, README)
    assert int(told) == len((ROOT / file).read_text(encoding="utf-8").splitlines())


def numbers(page, words):
    """The numbers in the sentence of a page that matches, which has to be there."""
    text = (ROOT / page).read_text(encoding="utf-8")
    (found,) = re.findall(words, text)
    return [float(n) for n in (found if isinstance(found, tuple) else (found,))]


ABOUT = [
    ("docs/export.md", r"a loader of about (\d+) lines", lambda: [lines_of_serve()]),
    ("docs/memory.md", r"([\d.]+) of PyTorch's for MobileNetV2 and ([\d.]+) for DCGAN",
     lambda: [figures.models()[w]["PyTorch, eager"]["memory"] for w in ("mobilenetv2", "dcgan")]),
    ("docs/index.md", r"LeNet's step takes ([\d.]+) of PyTorch's, MobileNetV2's ([\d.]+) and ResNet-50's ([\d.]+)",
     lambda: [figures.models()[w]["PyTorch, eager"]["ratio"] for w in ("lenet", "mobilenetv2", "resnet50")]),
]  # fmt: skip


def lines_of_serve():
    return len((ROOT / "gluonx/export/serve.py").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(("page", "words", "source"), ABOUT, ids=[page for page, _, _ in ABOUT])
def test_pages_say_what_the_tables_say(page, words, source):
    assert numbers(page, words) == pytest.approx(source(), abs=0.006)
