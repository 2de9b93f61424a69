"""What of ONNX's own tests runs through ``gluonx.onnx.import_model``: ``python -m tools.onnx_report``.

The package onnx has a test of a node or two for everything that its operators can do (``onnx.backend.test``), in the
newest opset, and some whole models. Each is read, run on the inputs that come with it, and compared with the outputs.
What is not right is listed, with the reason: refused when it is read, or another result.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Case", "cases", "main", "outcome", "summary"]

RANDOM = ("bernoulli", "training_dropout", "randomuniform", "randomnormal")
"""Cases of random numbers, which no two libraries have in common: shape and type are compared."""
UNITS = {"bfloat16": 2.0**-6, "float16": 2.0**-9}
"""Two units in the last place of short floats, by which results of another order of sums may differ."""


class Case(NamedTuple):
    """A model with pairs of inputs and outputs."""

    name: str
    model: Any
    pairs: list[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float


def cases(kinds: Iterable[str] = ("node", "simple", "converted", "operator")) -> Iterator[Case]:
    """Yield the tests of the package onnx: of nodes, simple models, and models that PyTorch wrote."""
    import onnx
    from onnx.backend.test.case.node import collect_testcases

    if "node" in kinds:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # of the package's own making of the tests
            found: Any = collect_testcases(None)
        for case in found:
            pairs = [([_array(onnx, x) for x in i], [_array(onnx, x) for x in o]) for i, o in case.data_sets]
            yield Case(case.name, case.model, pairs, case.rtol, case.atol)
    data = Path(onnx.__file__).parent / "backend" / "test" / "data"
    folders = {"simple": "simple", "converted": "pytorch-converted", "operator": "pytorch-operator"}
    for kind in kinds:
        for folder in sorted((data / folders[kind]).iterdir()) if kind in folders else ():
            yield from _of_folder(onnx, folder)


def _of_folder(onnx: Any, folder: Path) -> Iterator[Case]:
    pairs = []
    for place in sorted(folder.glob("test_data_set_*")):
        pairs.append((_arrays(onnx, place, "input"), _arrays(onnx, place, "output")))
    if (folder / "model.onnx").exists():
        yield Case(folder.name, onnx.load(folder / "model.onnx"), pairs, 1e-3, 1e-7)


def _array(onnx: Any, value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _arrays(onnx: Any, place: Path, kind: str) -> list[Any]:
    found = []
    for number in range(len(list(place.glob(f"{kind}_*.pb")))):
        tensor = onnx.TensorProto.FromString((place / f"{kind}_{number}.pb").read_bytes())
        found.append(onnx.numpy_helper.to_array(tensor) if tensor.data_type else None)
    return found


def outcome(case: Case, hybridize: bool = False) -> str:
    """Return ``'right'``, or what went otherwise: ``'refused: ...'``, when it was read or run, or ``'wrong: ...'``."""
    from gluonx import np as gnp
    from gluonx.errors import GraphError
    from gluonx.importing.onnx.onnx_block import import_model

    try:
        net = import_model(case.model)
    except GraphError as error:
        return "refused: " + "; ".join(line.strip().partition(": node ")[0] for line in _lines(error))
    net.hybridize(hybridize)
    try:
        for inputs, outputs in case.pairs:
            found = net(*[gnp.array(x, dtype=x.dtype) for x in inputs])
            wrong = _difference(case, found if isinstance(found, list) else [found], outputs)
            if wrong:
                return f"wrong: {wrong}"
    except GraphError as error:
        return f"refused when it runs: {str(error).splitlines()[0]}"
    except Exception as error:  # whatever happens is to be reported
        return f"wrong: {type(error).__name__}: {str(error).splitlines()[0][:150]}"
    return "right"


def _lines(error: Exception) -> list[str]:
    lines = str(error).splitlines()
    return lines[1:] or lines


def _difference(case: Case, found: list[Any], wanted: list[Any]) -> str:
    if len(found) != len(wanted):
        return f"{len(found)} outputs for {len(wanted)}"
    for index, (array, expected) in enumerate(zip(found, wanted, strict=True)):
        got, expected = array.asnumpy(), np.asarray(expected)
        if got.dtype != expected.dtype or got.shape != expected.shape:
            return f"output {index} is {got.dtype}{got.shape}, not {expected.dtype}{expected.shape}"
        if any(word in case.name for word in RANDOM):
            continue
        kind = np.complex128 if got.dtype.kind == "c" else np.float64
        one, other = got.astype(kind), expected.astype(kind)
        rtol = max(case.rtol, UNITS.get(got.dtype.name, 0))
        if not np.allclose(one, other, rtol=rtol, atol=case.atol, equal_nan=True):
            return f"output {index} is off by {np.nanmax(np.abs(one - other)):.3g}"
    return ""


def summary(outcomes: dict[str, str]) -> str:
    """Return the count, and the reasons with how many cases have each."""
    right = sum(text == "right" for text in outcomes.values())
    reasons = Counter(re.sub(r", opset \d+", "", text) for text in outcomes.values() if text != "right")
    lines = [f"{right} of {len(outcomes)} are right"]
    lines += [f"{count:5d}  {reason}" for reason, count in sorted(reasons.items(), key=lambda row: (-row[1], row[0]))]
    return "\n".join(lines)


def main(args: list[str] | None = None) -> int:
    """Run the tests whose name matches, and print what came of them; returns the number of wrong results."""
    parser = argparse.ArgumentParser(prog="python -m tools.onnx_report", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--match", default="", help="a regular expression: the tests to run")
    parser.add_argument("--kinds", default="node,simple,converted,operator", help="which of them")
    parser.add_argument("--hybridize", action="store_true", help="trace each of them")
    parser.add_argument("--list", action="store_true", help="name each test that is not right")
    given = parser.parse_args(args)
    outcomes = {}
    for case in cases(given.kinds.split(",")):
        if re.search(given.match, case.name):
            outcomes[case.name] = outcome(case, given.hybridize)
            if given.list and outcomes[case.name] != "right":
                print(f"{case.name}: {outcomes[case.name]}", flush=True)
    print(summary(outcomes))
    return sum(text.startswith("wrong") for text in outcomes.values())


if __name__ == "__main__":
    sys.exit(main())
