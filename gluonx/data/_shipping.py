"""Makes a dataset ready for worker processes, which are fresh interpreters and not copies of this one.

Classes and functions go by name, so a worker must be able to import them. Those of installed modules and of files on
the path it can. Those that the program itself defines it can if the program is a file that does its work under
``if __name__ == "__main__":``, as ``multiprocessing`` asks for. Lambdas, local functions, open files, and what a
notebook or an unguarded script defines cannot be sent, and the caller is told why.
"""

from __future__ import annotations

import ast
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from gluonx.common.extensions import worker_setup
from gluonx.data._wire import Message
from gluonx.data._worker import Setup

if TYPE_CHECKING:
    from collections.abc import Callable


class CannotSendError(Exception):
    """Raised when a dataset cannot be sent to worker processes (caught by the DataLoader); says why."""


class Parcel(NamedTuple):
    """The message to worker processes: first what to resemble, then the dataset and the batchify function."""

    setup: Setup
    message: Message


def pack(dataset: object, batchify_fn: Callable[..., Any]) -> Parcel:
    """Return the parcel with these two.

    Raises
    ------
    CannotSendError
        When there is no way to send them.
    """
    try:
        message = Message((dataset, batchify_fn))
    except Exception as error:
        raise CannotSendError(str(error)) from error
    main = None
    if b"__main__" in message.text:  # names are part of the text, so this is never a false "no"
        main = _importable_main()
        if main is None:
            raise CannotSendError(
                "parts of it are defined in the running program, which workers cannot import; move them into a module, "
                "or, in a script, the work under `if __name__ == '__main__':`"
            )
    return Parcel(Setup(main, sys.argv, sys.path, _folder(), worker_setup()), message)


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"


def _importable_main() -> tuple[str, str] | None:
    """Return how a worker can import this program without running it; None when it cannot."""
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    if path is None or not os.path.isfile(path) or not _is_guarded(path):
        return None
    spec = getattr(main, "__spec__", None)
    return ("module", spec.name) if spec is not None else ("path", os.path.abspath(path))


def _is_guarded(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (SyntaxError, ValueError, OSError):
        return False
    tests = [node.test for node in tree.body if isinstance(node, ast.If)]
    return any(isinstance(part, ast.Name) and part.id == "__name__" for test in tests for part in ast.walk(test))
