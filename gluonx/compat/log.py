"""``mx.log``: loggers of the standard library, by MXNet's function."""

from __future__ import annotations

import logging
import sys
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING
from typing import Any

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]

_FORMAT = "%(levelname).1s%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d] %(message)s"


def get_logger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """Return a logger that writes to a file, or to the standard error.

    Parameters
    ----------
    name : str, optional
        The root logger, to which nothing is added, without one.
    filename, filemode : str, optional
        The file, and how it is opened: ``'a'`` by default.
    level : int

    Examples
    --------
    >>> get_logger("mine", level=INFO).level == INFO
    True
    """
    logger: Any = logging.getLogger(name)
    if name is not None and not getattr(logger, "_init_done", False):
        logger._init_done = True
        handler = logging.FileHandler(filename, filemode or "a") if filename else logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(_FORMAT, "%m%d %H:%M:%S"))
        logger.addHandler(handler)
    if name is not None:
        logger.setLevel(level)
    return logger


getLogger = get_logger


def __dir__() -> list[str]:
    return sorted(__all__)
