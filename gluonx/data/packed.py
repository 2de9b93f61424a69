"""Texts of many lengths in rows of one length, several in a row: nothing is padded but what is left at the ends.

Each place has the number of its text in the row, by which attention stays within texts
(:func:`gluonx.nn.gen_packed_attn_mask`) and losses leave the rest out, and its position in its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gluonx.errors import ArgumentError


class Packed(NamedTuple):
    """The result of `pack`: three arrays of int32, of shape (rows, length).

    Examples
    --------
    >>> tokens, segments, positions = pack([[5, 6], [7]], length=3)
    >>> tokens.tolist(), segments.tolist(), positions.tolist()
    ([[5, 6, 7]], [[1, 1, 2]], [[0, 1, 0]])
    """

    tokens: np.ndarray
    segments: np.ndarray
    positions: np.ndarray


def pack(texts: Iterable[Sequence[int]], length: int, val: int = 0, split: bool = False) -> Packed:
    """Put texts one behind the other into rows, each into the first row with room.

    Parameters
    ----------
    texts : iterable of sequences of int
        Those without a token are left out.
    length : int
        Of a row.
    val : int
        The token that fills up rows.
    split : bool
        Whether texts that are longer than a row are cut into several.

    Returns
    -------
    Packed
        ``tokens``; ``segments``, 1 for the first text of a row, 2 for the second, and 0 for what fills it up; and
        ``positions``, the place of each token in its text.

    Raises
    ------
    ArgumentError
        If a text is longer than a row and may not be cut, or `length` is below 1.

    Examples
    --------
    >>> found = pack([[5, 6, 7], [8, 9, 9, 9], [1]], length=4)
    >>> found.tokens.tolist(), found.segments.tolist()
    ([[5, 6, 7, 1], [8, 9, 9, 9]], [[1, 1, 1, 2], [1, 1, 1, 1]])
    >>> found.positions.tolist()
    [[0, 1, 2, 0], [0, 1, 2, 3]]
    """
    if length < 1:
        raise ArgumentError(f"pack: length must be at least 1, got {length}.")
    rows: list[list[np.ndarray]] = []
    room: list[int] = []
    first = 0  # rows before it are full
    for text in texts:
        whole: Any = np.asarray(text, np.int32)
        if len(whole) > length and not split:
            raise ArgumentError(
                f"pack: a text of {len(whole)} tokens is longer than a row of {length}; split=True cuts it."
            )
        for start in range(0, len(whole), length):
            piece = whole[start : start + length]
            row = next((i for i in range(first, len(rows)) if room[i] >= len(piece)), len(rows))
            if row == len(rows):
                rows.append([])
                room.append(length)
            rows[row].append(piece)
            room[row] -= len(piece)
            while first < len(rows) and not room[first]:
                first += 1
    tokens = np.full((len(rows), length), val, np.int32)
    segments, positions = np.zeros_like(tokens), np.zeros_like(tokens)
    for i, pieces in enumerate(rows):
        at = 0
        for number, piece in enumerate(pieces, 1):
            place = slice(at, at + len(piece))
            tokens[i, place], segments[i, place], positions[i, place] = piece, number, np.arange(len(piece))
            at += len(piece)
    return Packed(tokens, segments, positions)
