"""``mx.executor_manager``: how MXNet 1 cut a batch for its devices."""

from __future__ import annotations

from collections.abc import Sequence

__all__: list[str] = []


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Cut a batch into a slice for each device, as large as its load; the last one takes what rounding leaves.

    Raises
    ------
    ValueError
        If a slice is empty.

    Examples
    --------
    >>> _split_input_slice(5, [1, 1])
    [slice(0, 2, None), slice(2, 5, None)]
    """
    total = sum(work_load_list)
    counts = [round(load * batch_size / total) for load in work_load_list]
    counts[-1] += max(batch_size - sum(counts), 0)
    ends = [min(sum(counts[: i + 1]), batch_size) for i in range(len(counts))]
    slices = [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    if any(s.start >= s.stop for s in slices):
        raise ValueError(f"a batch of {batch_size} does not fill {len(slices)} devices of loads {list(work_load_list)}")
    return slices
