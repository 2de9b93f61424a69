"""Counting tokens."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["count_tokens_from_str"]


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    """Return how often each token occurs in a text.

    Parameters
    ----------
    source_str : str
    token_delim, seq_delim : str
        Between tokens and between sequences: regular expressions.
    to_lower : bool
    counter_to_update : Counter, optional
        Counts to add to.

    Examples
    --------
    >>> dict(count_tokens_from_str("Life is life", to_lower=True))
    {'life': 2, 'is': 1}
    """
    text = source_str.lower() if to_lower else source_str
    counter: Counter[str] = Counter() if counter_to_update is None else counter_to_update
    counter.update(token for token in re.split(f"{token_delim}|{seq_delim}", text) if token)
    return counter
