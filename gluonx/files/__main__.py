"""Parameter files from one format to another: ``python -m gluonx.files in.params out.safetensors``.

Reads what :func:`gluonx.files.load_arrays` reads (every ``.params`` of MXNet, npz, npy, safetensors) and writes
npz, safetensors, npy or MXNet's NDArray list, with a report of every name, shape and dtype.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence

import numpy as np

from gluonx import files as serialize
from gluonx.errors import FormatError

__all__ = ["convert", "main"]

_FORMATS = ("npz", "safetensors", "mxnet", "npy")
_PREFIX = re.compile("^(arg|aux):")


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    format: str | None = None,
    *,
    strip: bool = False,
    dtype: str | None = None,
) -> dict[str, np.ndarray]:
    """Write the arrays of one parameter file as another, atomically.

    Parameters
    ----------
    source, target : str or path
        The formats: of `source` by its contents; of `target` by `format`, or by its extension.
    format : {"npz", "safetensors", "mxnet", "npy"}, optional
    strip : bool
        Whether to take ``arg:`` and ``aux:`` from the names.
    dtype : str, optional
        What to convert floating arrays to, such as ``"bfloat16"``.

    Returns
    -------
    dict of str to numpy.ndarray
        What was written.

    Raises
    ------
    FormatError
        If `source` is no parameter file, `target` cannot hold an array, or two names become the same.

    Examples
    --------
    >>> import pathlib, tempfile, numpy
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> serialize.save_arrays(folder / "a.params", {"arg:w": numpy.ones(2, "float32")}, "mxnet")
    >>> list(convert(folder / "a.params", folder / "a.safetensors", strip=True))
    ['w']
    """
    arrays: dict[str, np.ndarray] = {}
    for name, array in serialize.load_arrays(source, mapped=True).items():
        key = _PREFIX.sub("", name) if strip else name
        if key in arrays:
            raise FormatError(f"'{os.fspath(source)}': two arrays are called '{key}' without 'arg:' and 'aux:'")
        floating = array.dtype.kind == "f" or array.dtype.name == "bfloat16"
        arrays[key] = array.astype(dtype) if dtype and floating else array
    serialize.save_arrays(target, arrays, format)
    return arrays


def _report(arrays: dict[str, np.ndarray]) -> str:
    rows = [(name, str(tuple(a.shape)), a.dtype.name, f"{a.nbytes:,}") for name, a in arrays.items()]
    rows = [("name", "shape", "dtype", "bytes"), *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = ["  ".join((*[row[i].ljust(widths[i]) for i in range(3)], row[3].rjust(widths[3]))) for row in rows]
    total, values = sum(a.nbytes for a in arrays.values()), sum(a.size for a in arrays.values())
    return "\n".join([*lines, f"{len(arrays)} arrays, {values:,} values, {total:,} bytes"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m gluonx.files", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("source", help="a parameter file of MXNet 1 or 2, gluonx, numpy or safetensors")
    parser.add_argument("target", nargs="?", help="the file to write; without it, only the report is printed")
    parser.add_argument("--format", choices=_FORMATS, help="by default safetensors or npy by the extension, else npz")
    parser.add_argument("--strip", action="store_true", help="take 'arg:' and 'aux:' from the names")
    parser.add_argument("--dtype", help="convert floating arrays, for example to bfloat16")
    options = parser.parse_args(argv)
    try:
        if options.target is None:
            arrays = serialize.load_arrays(options.source, mapped=True)
        else:
            kind = options.format or ("npy" if options.target.endswith(".npy") else None)
            arrays = convert(options.source, options.target, kind, strip=options.strip, dtype=_dtype(options.dtype))
    except (FormatError, OSError, ValueError) as error:
        print(f"gluonx.files: {error}", file=sys.stderr)
        return 1
    print(_report(arrays))
    return 0


def _dtype(name: str | None) -> str | None:
    import ml_dtypes  # names bfloat16 to numpy

    if name is not None and (name not in ("float16", "float32", "float64", "bfloat16") or not ml_dtypes.bfloat16):
        raise ValueError(f"--dtype must be float16, bfloat16, float32 or float64, got {name!r}")
    return name


if __name__ == "__main__":
    sys.exit(main())
