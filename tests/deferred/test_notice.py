"""What a terminal or a notebook shows while a program is compiled for long (`gluonx.deferred.run.notice`)."""

import os
import pty
import subprocess
import sys
import time

import pytest

from gluonx.deferred.run import notice
from lib import ROOT


class Shown:
    def __init__(self):
        self.texts = []

    def show(self, text):
        self.texts.append(text)

    def clear(self):
        self.texts.append(None)


class OfOne:
    def path(self):
        return [None]


@pytest.fixture
def shown(monkeypatch):
    found = Shown()
    monkeypatch.setattr(notice, "_where_to_tell", lambda: found)
    monkeypatch.setattr(notice, "_after", 0.05)
    monkeypatch.setattr(notice, "_every", 0.02)
    return found


@pytest.mark.dear
def test_what_takes_long_is_told_and_goes_away(shown):
    notice.told(lambda graph, seconds: time.sleep(seconds))(OfOne(), 0.5)
    assert len(shown.texts) >= 3
    assert shown.texts[-1] is None
    assert shown.texts[0].startswith("gluonx: compiling 1 operations of ")
    assert "test_notice.py:" in shown.texts[0]


def test_what_is_quick_is_not_told(shown, monkeypatch):
    monkeypatch.setattr(notice, "_after", 30)
    notice.told(lambda graph: None)(OfOne())
    assert shown.texts == []


@pytest.mark.dear
def test_an_error_takes_the_line_away_too(shown):
    def fails(graph):
        time.sleep(0.3)
        raise RuntimeError("no program")

    with pytest.raises(RuntimeError, match="no program"):
        notice.told(fails)(OfOne())
    assert shown.texts[-1] is None


def test_nothing_is_told_where_nobody_looks(monkeypatch):
    assert notice._where_to_tell() is None  # pytest's standard error is no terminal
    monkeypatch.setattr(sys, "stderr", None)
    assert notice._where_to_tell() is None


PROGRAM = """
import gluonx.deferred.run.notice as notice
notice._after, notice._every = 0.0, 0.01
from gluonx import autograd, gluon, np
net = gluon.nn.Dense(3)
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd")
with autograd.record():
    loss = net(np.ones((2, 4))).sum()
loss.backward()
trainer.step(2)
print(float(loss) == float(loss))
"""


@pytest.mark.dear
@pytest.mark.parametrize("wanted", [True, False], ids=["on", "GLUONX_PROGRESS=0"])
def test_a_terminal_shows_a_line(wanted):
    ours, theirs = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "GLUONX_HOST": "0", "TERM": "xterm", "JAX_PLATFORMS": "cpu"}
    env["GLUONX_PROGRESS"] = "" if wanted else "0"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True
    )
    os.close(theirs)
    told = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # nothing is left, and nobody has it open
            break
        if not part:
            break
        told += part
    os.close(ours)
    assert done.stdout.strip() == "True"
    if wanted:
        assert b"gluonx: compiling " in told
        assert told.endswith(b"\r\x1b[K")
    else:
        assert told == b""


def test_a_notebook_shows_a_bar_and_leaves_nothing(monkeypatch):
    shown = []

    class Display:
        HTML = staticmethod(str)

        def display(self, text, display_id):
            shown.append(text)
            return self

        def update(self, text):
            shown.append(text)

    monkeypatch.setattr(notice.importlib, "import_module", lambda name: Display())
    bar = notice.Bar()
    bar.clear()
    assert shown == []  # nothing was shown
    bar.show("a < b, 2 s")
    bar.show("a < b, 3 s")
    bar.clear()
    assert [text.startswith("<progress></progress>") for text in shown] == [True, True, False]
    assert "a &lt; b, 3 s" in shown[1]
    assert shown[-1] == ""
