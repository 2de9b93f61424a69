"""Tokens and their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

__all__ = ["Vocabulary"]


class Vocabulary:
    """Numbers for tokens: 0 for unknown ones, then reserved ones, then all others by falling frequency.

    Parameters
    ----------
    counter : Counter, optional
        How often each token occurs.
    most_freq_count : int, optional
        The most tokens taken of it.
    min_freq : int
        The least count.
    unknown_token : str
        Stands for tokens that have no number.
    reserved_tokens : list of str, optional

    Raises
    ------
    ValueError
        If `min_freq` is below 1, or reserved tokens are not distinct.

    Examples
    --------
    >>> words = Vocabulary(Counter("abbccc"), min_freq=2)
    >>> words.idx_to_token, words.to_indices(["c", "a"])
    (['<unk>', 'c', 'b'], [1, 0])
    """

    def __init__(
        self,
        counter: Counter[Any] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Any = "<unk>",
        reserved_tokens: Sequence[Any] | None = None,
    ) -> None:
        if min_freq < 1:
            raise ValueError(f"min_freq must be 1 or more, got {min_freq}")
        reserved = list(reserved_tokens or [])
        if len({unknown_token, *reserved}) != len(reserved) + 1:
            raise ValueError(f"reserved_tokens must be distinct and without {unknown_token!r}, got {reserved}")
        self._unknown_token, self._reserved_tokens = unknown_token, None if reserved_tokens is None else reserved
        self._idx_to_token = [unknown_token, *reserved]
        taken = set(self._idx_to_token)
        # Of equal frequency, those first that come first in the alphabet.
        pairs = sorted(sorted((counter or {}).items(), key=lambda pair: pair[0]), key=lambda pair: -pair[1])
        frequent = [token for token, count in pairs if count >= min_freq and token not in taken]
        self._idx_to_token += frequent[:most_freq_count]
        self._token_to_idx = {token: i for i, token in enumerate(self._idx_to_token)}

    def __len__(self) -> int:
        return len(self.idx_to_token)

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """The number of each token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """The tokens in the order of their numbers."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Any:
        """The token that stands for those without a number."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        """The reserved tokens."""
        return self._reserved_tokens

    def to_indices(self, tokens: Any) -> Any:
        """Return the number of a token, or a list of those of several."""
        if isinstance(tokens, (list, tuple)):
            return [self.token_to_idx.get(token, 0) for token in tokens]
        return self.token_to_idx.get(tokens, 0)

    def to_tokens(self, indices: Any) -> Any:
        """Return the token of a number, or a list of those of several.

        Raises
        ------
        ValueError
            If there is no token of a number.
        """
        wanted = indices if isinstance(indices, (list, tuple)) else [indices]
        for i in wanted:
            if not isinstance(i, int) or not 0 <= i < len(self.idx_to_token):
                raise ValueError(f"there is no token {i!r}: the vocabulary has {len(self.idx_to_token)}")
        found = [self.idx_to_token[i] for i in wanted]
        return found if isinstance(indices, (list, tuple)) else found[0]
