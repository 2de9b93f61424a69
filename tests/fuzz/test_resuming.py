"""Random trainings that go on from their files, `resuming`, give the bits of those that were not interrupted."""

from __future__ import annotations

import pytest

from fuzz import resuming
from fuzz.harness import counts

# Orbax leaves reads that failed to its closed event loop, and warns of its own old names.
pytestmark = [pytest.mark.usefixtures("collected"), pytest.mark.filterwarnings("ignore")]


@counts(few=2, many=400, parts=4)
def test_a_new_net_goes_on(count: int | range) -> None:
    resuming.main(count, elsewhere=False)


@counts(few=1, many=40)
def test_a_new_process_goes_on(count: int | range) -> None:
    resuming.main(count, elsewhere=True)
