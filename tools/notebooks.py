"""Run the notebooks and write their outputs into them: ``python -m tools.notebooks [--check] [NAME ...]``.

A notebook is committed with what a run gave, so that it can be read where it is not run. What differs from run to run
and tells a reader nothing (times of execution, the version of the kernel) is left out. Its metadata keep a digest of
the code that ran, so that a test sees when outputs are those of other code.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pathlib
import time
from typing import Any

__all__ = ["FOLDER", "digest", "executed", "main", "trouble"]

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "notebooks"


def digest(notebook: Any) -> str:
    """Return what identifies the code of a notebook."""
    code = "\0".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def executed(path: pathlib.Path, timeout: int = 120) -> Any:
    """Return the notebook after a run from top to bottom in its own folder; a cell that fails is an error."""
    import nbclient
    import nbformat

    notebook: Any = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    resources = {"metadata": {"path": str(path.parent)}}
    client = nbclient.NotebookClient(
        notebook, timeout=timeout, kernel_name="python3", resources=resources, record_timing=False
    )
    root = str(FOLDER.parent)
    known = os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{known}" if known else root}
    environment["GLUONX_DISPLAY"] = "plain"  # viewers run no scripts, which treescope's displays are made of
    client.execute(env=environment)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "gluonx": {"outputs_of": digest(notebook)},
    }
    for number, cell in enumerate(notebook.cells):
        tags = cell.metadata.get("tags", [])
        cell.id, cell.metadata = f"cell-{number}", {"tags": tags} if tags else {}
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    return notebook


def _joined(outputs: list[Any]) -> list[Any]:
    """Return the outputs with texts joined that came one after the other: how they are cut is chance."""
    joined: list[Any] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def trouble(notebook: Any) -> str:
    """Return what a reader should not see: what went to the standard error, and an error to be shown that is none."""
    told = []
    for cell in notebook.cells:
        outputs = cell.get("outputs", ())
        told += [output.text for output in outputs if output.get("name") == "stderr"]
        if "raises-exception" in cell.metadata.get("tags", ()):
            if not any(output.output_type == "error" for output in outputs):
                told.append(f"{cell.id} raised nothing")
    return "".join(told)


def main(argv: list[str] | None = None) -> int:
    """Run the notebooks that are named, or all, and write them unless told not to; 1 where one wrote to stderr."""
    import nbformat

    parser = argparse.ArgumentParser(prog="python -m tools.notebooks", description="Run the notebooks in place.")
    parser.add_argument("names", nargs="*", help="the beginnings of names, such as 03; all unless given")
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args(argv)
    names = args.names
    status = 0
    for path in sorted(FOLDER.glob("*.ipynb")):
        if names and not any(path.stem.startswith(name) for name in names):
            continue
        start = time.perf_counter()
        notebook = executed(path, timeout=1800)  # a guard against a kernel that hangs: a busy machine is slow
        if not args.check:
            nbformat.write(notebook, path)
        told = trouble(notebook)
        status |= bool(told)
        print(f"{path.stem}: {time.perf_counter() - start:.1f} s{f', wrote to stderr: {told}' if told else ''}")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
