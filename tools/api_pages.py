"""The pages of the API: a table of a module's public names, and below it what their docstrings say.

Sphinx (``make docs``) asks for them while it builds; they are written beside the other pages, into ``docs/api``, which
is not committed. Which names there are is the modules' own ``__all__``: nothing has to be listed here.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
from types import ModuleType
from typing import NamedTuple

from gluonx import np
from gluonx.ops import OPS

__all__ = ["PAGES", "Page", "page", "write"]


class Page(NamedTuple):
    """One page: its title, the name under which users import the module, and names to show where that has too many."""

    title: str
    module: str
    names: tuple[str, ...] = ()


_CORE = ("Block", "HybridBlock", "Parameter", "Constant", "Fused", "Trainer", "functional", "from_jax", "load")

PAGES = (
    Page("Blocks, parameters, Trainer", "gluonx", _CORE),
    Page("Arrays: np", "gluonx.np"),
    Page("Linear algebra: np.linalg", "gluonx.np.linalg"),
    Page("Random numbers: np.random", "gluonx.np.random"),
    Page("Operators of nets: npx", "gluonx.npx"),
    Page("Images on the device: npx.image", "gluonx.npx.image"),
    Page("Random numbers of npx", "gluonx.npx.random"),
    Page("Gradients: autograd", "gluonx.autograd"),
    Page("The engine", "gluonx.engine"),
    Page("Layers: nn", "gluonx.nn"),
    Page("Recurrent layers: rnn", "gluonx.rnn"),
    Page("Losses", "gluonx.loss"),
    Page("Metrics", "gluonx.metric"),
    Page("Initializers", "gluonx.initializer"),
    Page("Optimizers", "gluonx.optimizer"),
    Page("Learning rates", "gluonx.lr_scheduler"),
    Page("Data", "gluonx.data"),
    Page("Batches of samples", "gluonx.data.batchify"),
    Page("Data sets of images", "gluonx.data.vision"),
    Page("Transforms of images", "gluonx.data.vision.transforms"),
    Page("Record files", "gluonx.recordio"),
    Page("Images: mx.image", "gluonx.image"),
    Page("The estimator", "gluonx.estimator"),
    Page("Models of images", "gluonx.model_zoo.vision"),
    Page("Models of the Hugging Face Hub", "gluonx.model_zoo.transformers"),
    Page("Weights from elsewhere", "gluonx.weights"),
    Page("Text from language models", "gluonx.generation"),
    Page("Low-rank adaptation", "gluonx.lora"),
    Page("Averages of weights", "gluonx.ema"),
    Page("Probability", "gluonx.probability"),
    Page("Sparse arrays", "gluonx.sparse"),
    Page("Mixed precision: amp", "gluonx.amp"),
    Page("Many devices: parallel", "gluonx.parallel"),
    Page("Flax", "gluonx.flax"),
    Page("Artifacts", "gluonx.export.stablehlo"),
    Page("Files", "gluonx.files"),
    Page("Profiler", "gluonx.profiler"),
    Page("Devices", "gluonx.device"),
    Page("Number types", "gluonx.dtype"),
    Page("Tools: gluon.utils", "gluonx.utils"),
    Page("Errors", "gluonx.errors"),
)


def _public(module: ModuleType, chosen: tuple[str, ...]) -> list[str]:
    """Return the names that have something to be said of them, in the order of the alphabet."""
    names = chosen or tuple(getattr(module, "__all__", ())) or tuple(n for n in dir(module) if not n.startswith("_"))
    if module.__name__ == "gluonx.npx":  # which makes a function of each operator when it is first asked for
        names = (*names, *[name for name in OPS if "." not in name and name not in names])
    values = {name: getattr(module, name) for name in sorted(names, key=str.lower)}
    return [n for n, v in values.items() if (inspect.isclass(v) or inspect.isroutine(v)) and (v.__doc__ or "").strip()]


def _told_at(module: ModuleType, name: str) -> tuple[str, str]:
    """Return the module and the name under which a page tells of this one: another name of an operator has no page."""
    op = OPS.get(name) if module.__name__ == "gluonx.npx" else None
    if op is None or name in module.__all__:
        return module.__name__, name
    home, _, last = op.name.rpartition("_")
    if home in ("linalg", "fft") and hasattr(getattr(np, home), last):
        return f"gluonx.np.{home}", last
    if name in np.functions.__all__:
        return "gluonx.np", name
    return module.__name__, op.name


def page(entry: Page, known: dict[int, str] | None = None) -> str:
    """Return the source of a page.

    Parameters
    ----------
    entry : Page
    known : dict of int to str, optional
        The whole names of what earlier pages tell of; to these there is a link. What this page tells is added.

    Examples
    --------
    >>> print(page(Page("Learning rates", "gluonx.lr_scheduler"))[:30])
    Learning rates
    ==============
    """
    known = {} if known is None else known
    module = importlib.import_module(entry.module)
    own, taken, foreign = [], [], []
    for name in _public(module, entry.names):
        value = getattr(module, name)
        if not (value.__module__ or "gluonx").startswith("gluonx"):
            foreign.append(f"``{name}`` ({value.__module__.partition('.')[0]})")
        elif _told_at(module, name) != (module.__name__, name):
            taken.append("``{}`` is :func:`{}.{}`".format(name, *_told_at(module, name)))
        elif id(value) in known:
            role = "class" if inspect.isclass(value) else "func"
            taken.append(f"``{name}`` is :{role}:`{known[id(value)]}`")
        else:
            known[id(value)] = f"{entry.module}.{name}"
            own.append(name)
    intro = "" if entry.names else f"\n.. automodule:: {entry.module}\n   :no-members:\n"
    lines = [
        entry.title,
        "=" * len(entry.title),
        intro,
        f".. currentmodule:: {entry.module}",
        "",
        ".. autosummary::",
        "",
    ]
    lines += [f"   {name}" for name in own]
    for told, start in ((taken, "Also here"), (foreign, "Of other libraries, as they are")):
        lines += ["", f"{start}: {', '.join(told)}."] if told else []
    for name in own:
        value = getattr(module, name)
        kind = "class" if inspect.isclass(value) else "function"
        if kind == "class" and issubclass(value, BaseException):
            kind = "exception"
        lines += ["", f".. auto{kind}:: {name}", *["   :members:"] * (kind == "class")]
    return "\n".join(lines) + "\n"


def write(folder: pathlib.Path) -> list[str]:
    """Write all pages and their list into a folder, those alone that have changed; return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    known: dict[int, str] = {}
    wanted = {f"{entry.module}.rst": page(entry, known) for entry in PAGES}
    titles = "\n".join(f"   {entry.title} <{entry.module}>" for entry in PAGES)
    wanted["index.rst"] = (
        "Reference\n=========\n\nEvery public name with its signature. Examples are run by the tests. "
        f"For the names of MXNet 2.0, see :doc:`/docs/parity`.\n\n.. toctree::\n   :maxdepth: 1\n\n{titles}\n"
    )
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("*.rst"):
        if path.name not in wanted:
            path.unlink()
    return sorted(wanted)
