"""Random programs with views, writes, leaf writes and NumPy operands, against the NumPy tape of `programs`.

`tests/test_random_programs.py` draws such programs with hypothesis, which makes small ones of those that fail; here
there are many, by seeds.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from fuzz.harness import counts, sweep
from gluonx import engine
from gluonx.common import policy
from lib import programs

_MODES = {
    "deferred": contextlib.nullcontext,
    "as a long record": contextlib.nullcontext,  # operator by operator, each leaves a segment of its own
    "naive": lambda: engine.mode("naive"),
    "bulk": lambda: engine.bulk(100),
}


def _drawn(numbers: Any, longest: int) -> list[tuple[Any, ...]]:
    steps = numbers.randint(4, longest)
    constants = (0.5, -1.25, 2.0, 0.75)
    # Half of the programs draw a few instructions and weights of their own: what is rare among all is often in some.
    names = numbers.choice(programs.NAMES, len(programs.NAMES) if numbers.randint(2) else 8).tolist()
    names += ["record", "backward"]
    return [
        ("record", 0, 0, 0.5),
        *[
            (
                names[numbers.randint(len(names))],
                int(numbers.randint(60)),
                int(numbers.randint(60)),
                constants[numbers.randint(4)],
            )
            for _ in range(steps)
        ],
    ]


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore:the line .* has compiled")
@pytest.mark.parametrize("mode", _MODES)
@counts(few=25, parts=5)
def test_programs(mode: str, count: int | range, monkeypatch: pytest.MonkeyPatch) -> None:
    # Every program is a new one: compiling each would be most of the time, and `test_random_programs` does that.
    monkeypatch.setitem(policy.limits, "many", 0)
    monkeypatch.setattr("gluonx.deferred.run.flushing._sites", {})
    if mode == "as a long record":
        monkeypatch.setitem(policy.limits, "long", 1)
        monkeypatch.setattr(policy, "few_kinds", lambda operations: operations)
        monkeypatch.setattr(policy, "runs_in_pieces", lambda operations: 10**9)

    def check(numbers: Any) -> None:
        program = _drawn(numbers, 24 if mode == "naive" else 16)
        programs.Reference.scale = 1.0
        wanted = programs.run(program, programs.Reference())
        with _MODES[mode]():
            found = programs.run(program, programs.GLUONX)
        programs.assert_agree(found, wanted)

    sweep(check, count)
