"""Vectors of tokens, from files of lines such as ``token 0.1 0.2 0.3``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as onp

from gluonx._frames import warn
from gluonx.compat import nd
from gluonx.compat.contrib.text.vocab import Vocabulary
from gluonx.compat.registry import get_create_func, get_register_func, get_registry
from gluonx.errors import FormatError, GluonxError

__all__ = ["CompositeEmbedding", "CustomEmbedding", "TokenEmbedding", "create", "get_pretrained_file_names", "register"]


class TokenEmbedding(Vocabulary):
    """A vocabulary with a vector for each token; the base of all embeddings.

    Parameters
    ----------
    **kwargs
        As for `Vocabulary`.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._idx_to_vec: Any = None

    def _take(self, vectors: dict[Any, onp.ndarray], unknown: onp.ndarray, vocabulary: Vocabulary | None) -> None:
        """Take the vectors of all tokens, or of those of a vocabulary."""
        if vocabulary is None:
            self._idx_to_token += [token for token in vectors if token not in self._token_to_idx]
        else:
            self._unknown_token, self._reserved_tokens = vocabulary.unknown_token, vocabulary.reserved_tokens
            self._idx_to_token = list(vocabulary.idx_to_token)
        self._token_to_idx = {token: i for i, token in enumerate(self._idx_to_token)}
        rows = [vectors.get(token, unknown) for token in self._idx_to_token]
        self._idx_to_vec = nd.array(onp.asarray(rows, onp.float32))

    @property
    def vec_len(self) -> int:
        """The length of the vectors."""
        return self._idx_to_vec.shape[1]

    @property
    def idx_to_vec(self) -> Any:
        """The vectors in the order of the tokens' numbers, (tokens, length)."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens: Any, lower_case_backup: bool = False) -> Any:
        """Return the vector of a token, or a matrix of those of several; unknown ones have the first.

        Parameters
        ----------
        tokens : str, or list of str
        lower_case_backup : bool
            Whether a token without a vector is looked for in lower case.
        """
        several = isinstance(tokens, (list, tuple))
        found = [
            self.token_to_idx.get(t, self.token_to_idx.get(t.lower(), 0) if lower_case_backup else 0)
            for t in (tokens if several else [tokens])
        ]
        vectors = nd.array(self._idx_to_vec.asnumpy()[found])
        return vectors if several else vectors[0]

    def update_token_vectors(self, tokens: Any, new_vectors: Any) -> None:
        """Give tokens other vectors.

        Raises
        ------
        ValueError
            If a token has no number, or there are not as many vectors of the right length.
        """
        tokens = list(tokens) if isinstance(tokens, (list, tuple)) else [tokens]
        strange = [token for token in tokens if token not in self.token_to_idx]
        if strange:
            raise ValueError(
                f"the token {strange[0]!r} is unknown; of unknown tokens, {self.unknown_token!r} has the vector"
            )
        given = new_vectors.asnumpy() if hasattr(new_vectors, "asnumpy") else onp.asarray(new_vectors)
        given = given.reshape(1, -1) if given.ndim == 1 else given
        if given.shape != (len(tokens), self.vec_len):
            raise ValueError(f"vectors of shape {(len(tokens), self.vec_len)} were expected, got {given.shape}")
        values = onp.array(self._idx_to_vec.asnumpy())
        values[[self.token_to_idx[token] for token in tokens]] = given
        self._idx_to_vec[:] = values


_register = get_register_func(TokenEmbedding, "token embedding")
_create = get_create_func(TokenEmbedding, "token embedding")
_FETCHED = ("glove", "fasttext")


def register(embedding_cls: type) -> type:
    """Make a class of embeddings known to `create` by its name in lower case; for use as a decorator."""
    return _register(embedding_cls)


def create(embedding_name: str, **kwargs: Any) -> Any:
    """Return an embedding of a registered class.

    Raises
    ------
    GluonxError
        For ``'glove'`` and ``'fasttext'``, whose files are not fetched: give one to `CustomEmbedding`.
    """
    if embedding_name.lower() in _FETCHED:
        raise GluonxError(
            f"the vectors of {embedding_name} are not fetched here: unpack their file, and give it to CustomEmbedding"
        )
    return _create(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """Return the names of files that a class of embeddings fetches: none does, see `create`."""
    if embedding_name is None:
        return {name: [] for name in get_registry(TokenEmbedding)}
    if embedding_name.lower() not in get_registry(TokenEmbedding):
        raise KeyError(f"there is no embedding {embedding_name!r}: {', '.join(sorted(get_registry(TokenEmbedding)))}")
    return []


class CustomEmbedding(TokenEmbedding):
    """Vectors from a file, of which each line is a token and its numbers.

    Of a token that occurs twice, and of a line with a single number (a header), a warning tells that they are left out.

    Parameters
    ----------
    pretrained_file_path : str
    elem_delim : str
        Between token and numbers.
    encoding : str
    init_unknown_vec : callable
        Makes the vector of unknown tokens of its length, where the file has none: ``nd.zeros`` by default.
    vocabulary : Vocabulary, optional
        The tokens to take; all by default.

    Raises
    ------
    FormatError
        If a line has another number of numbers than the one before, or something else than numbers.
    """

    def __init__(
        self,
        pretrained_file_path: str | os.PathLike[str],
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        vectors = _read(pretrained_file_path, elem_delim, encoding)
        length = len(next(iter(vectors.values())))
        unknown = vectors.pop(self.unknown_token, None)
        if unknown is None:
            made = init_unknown_vec((length,))
            unknown = made.asnumpy() if hasattr(made, "asnumpy") else onp.asarray(made)
        self._take(vectors, unknown, vocabulary)


def _read(path: str | os.PathLike[str], delim: str, encoding: str) -> dict[str, onp.ndarray]:
    vectors: dict[str, onp.ndarray] = {}
    length = None
    with open(path, encoding=encoding) as file:
        for number, line in enumerate(file, 1):
            token, *parts = line.rstrip().split(delim)
            if len(parts) <= 1:
                warn(f"{path}, line {number}: token {token!r} with {len(parts)} numbers is left out, as a header is.")
                continue
            if token in vectors:
                warn(f"{path}, line {number}: token {token!r} has a vector already; this one is left out.")
                continue
            try:
                vectors[token] = onp.asarray([float(part) for part in parts], onp.float32)
            except ValueError:
                raise FormatError(f"{path}, line {number}: numbers were expected after {token!r}") from None
            length = len(parts) if length is None else length
            if len(parts) != length:
                raise FormatError(f"{path}, line {number}: {length} numbers were expected, got {len(parts)}")
    if not vectors:
        raise FormatError(f"{path}: there is no vector in it")
    return vectors


class CompositeEmbedding(TokenEmbedding):
    """The vectors of several embeddings, one behind the other, for the tokens of a vocabulary.

    Parameters
    ----------
    vocabulary : Vocabulary
    token_embeddings : TokenEmbedding, or list of them
    """

    def __init__(self, vocabulary: Vocabulary, token_embeddings: Any) -> None:
        super().__init__()
        parts = list(token_embeddings) if isinstance(token_embeddings, (list, tuple)) else [token_embeddings]
        tokens = vocabulary.idx_to_token
        joined = onp.concatenate([part.get_vecs_by_tokens(list(tokens)).asnumpy() for part in parts], axis=1)
        self._take(dict(zip(tokens, joined, strict=True)), joined[0], vocabulary)
