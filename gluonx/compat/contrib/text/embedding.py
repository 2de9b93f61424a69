"""Vectors of tokens, from files of lines such as ``token 0.1 0.2 0.3``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as onp

from gluonx.common.frames import warn
from gluonx.compat import nd
from gluonx.compat.contrib.text.vocab import Vocabulary
from gluonx.compat.registry import get_create_func, get_register_func, get_registry
from gluonx.errors import FormatError

__all__ = [
    "CompositeEmbedding",
    "CustomEmbedding",
    "FastText",
    "GloVe",
    "TokenEmbedding",
    "create",
    "get_pretrained_file_names",
    "register",
]


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

    def _load(
        self,
        path: str | os.PathLike[str],
        delim: str,
        encoding: str,
        init_unknown_vec: Callable[..., Any],
        vocabulary: Vocabulary | None,
    ) -> None:
        """Read a file of vectors; see `CustomEmbedding`."""
        vectors = _read(path, delim, encoding)
        length = len(next(iter(vectors.values())))
        unknown = vectors.pop(self.unknown_token, None)
        if unknown is None:
            made = init_unknown_vec((length,))
            unknown = made.asnumpy() if hasattr(made, "asnumpy") else onp.asarray(made)
        self._take(vectors, unknown, vocabulary)

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


def register(embedding_cls: type) -> type:
    """Make a class of embeddings known to `create` by its name in lower case; for use as a decorator."""
    return _register(embedding_cls)


def create(embedding_name: str, **kwargs: Any) -> Any:
    """Return an embedding of a registered class, such as ``'glove'``; see `GloVe`."""
    return _create(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """Return the names of the files that a class of embeddings knows, or those of all classes by name."""
    known = {name: list(getattr(cls, "file_names", ())) for name, cls in get_registry(TokenEmbedding).items()}
    if embedding_name is None:
        return known
    if embedding_name.lower() not in known:
        raise KeyError(f"there is no embedding {embedding_name!r}: {', '.join(sorted(known))}")
    return known[embedding_name.lower()]


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
        self._load(pretrained_file_path, elem_delim, encoding, init_unknown_vec, vocabulary)


class _Pretrained(TokenEmbedding):
    """Vectors that somebody else has trained, from a file that lies below `embedding_root` already.

    Parameters
    ----------
    pretrained_file_name : str
        One of ``get_pretrained_file_names()``.
    embedding_root : str, optional
        The folder with a folder ``glove``, or ``fasttext``; ``~/.mxnet/embeddings`` by default.
    init_unknown_vec, vocabulary
        As for `CustomEmbedding`.

    Raises
    ------
    KeyError
        If there is no such file.
    FileNotFoundError
        If it is not there: nothing is fetched.
    """

    folder: str
    file_names: tuple[str, ...]

    def __init__(
        self,
        pretrained_file_name: str,
        embedding_root: str | os.PathLike[str] | None = None,
        init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        if pretrained_file_name not in self.file_names:
            several = ", ".join(self.file_names[:10])
            raise KeyError(f"{type(self).__name__} has no file {pretrained_file_name!r}, but {several} ...")
        super().__init__(**kwargs)
        root = os.path.join("~", ".mxnet", "embeddings") if embedding_root is None else embedding_root
        path = os.path.join(os.path.expanduser(root), self.folder, pretrained_file_name)
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no file {path}: nothing is fetched here, put it there yourself")
        self._load(path, " ", "utf8", init_unknown_vec, vocabulary)


@register
class GloVe(_Pretrained):
    """The vectors of GloVe, from ``EMBEDDING_ROOT/glove``: the parameters are those of its base."""

    folder = "glove"
    file_names = (
        *(f"glove.{name}.txt" for name in ("42B.300d", "6B.50d", "6B.100d", "6B.200d", "6B.300d", "840B.300d")),
        *(f"glove.twitter.27B.{length}d.txt" for length in (25, 50, 100, 200)),
    )

    def __init__(self, pretrained_file_name: str = "glove.840B.300d.txt", *args: Any, **kwargs: Any) -> None:
        super().__init__(pretrained_file_name, *args, **kwargs)


_WIKIPEDIAS = """
    aa ab ace ady af ak als am ang an arc ar arz ast as av ay azb az bar bat_smg ba bcl be bg bh bi bjn bm bn bo
    bpy br bs bug bxr ca cbk_zam cdo ceb ce cho chr ch chy ckb co crh cr csb cs cu cv cy da de diq dsb dv dz ee
    el eml en eo es et eu ext fa ff fiu_vro fi fj fo frp frr fr fur fy gag gan ga gd glk gl gn gom got gu gv hak
    ha haw he hif hi ho hr hsb ht hu hy hz ia id ie ig ii ik ilo io is it iu jam ja jbo jv kaa kab ka kbd kg ki
    kj kk kl km kn koi ko krc kr ksh ks ku kv kw ky lad la lbe lb lez lg lij li lmo ln lo lrc ltg lt lv mai
    map_bms mdf mg mhr mh min mi mk ml mn mo mrj mr ms mt mus mwl my myv mzn nah nap na nds_nl nds ne new ng nl
    nn no nov nrm nso nv ny oc olo om or os pag pam pap pa pcd pdc pfl pih pi pl pms pnb pnt ps pt qu rm rmy rn
    roa_rup roa_tara ro rue ru rw sah sa scn sco sc sd se sg sh simple si sk sl sm sn so sq srn sr ss stq st su
    sv sw szl ta tcy tet te tg th ti tk tl tn to tpi tr ts tt tum tw ty tyv udm ug uk ur uz vec vep ve vi vls vo
    war wa wo wuu xal xh xmf yi yo za zea zh_classical zh_min_nan zh zh_yue zu
"""
_ALIGNED = "ar bg ca cs da de el en es et fi fr he hr hu id it mk nl no pl pt ro ru sk sl sv tr uk vi"


@register
class FastText(_Pretrained):
    """The vectors of fastText, from ``EMBEDDING_ROOT/fasttext``: the parameters are those of its base."""

    folder = "fasttext"
    file_names = (
        *("crawl-300d-2M.vec", "wiki-news-300d-1M-subword.vec", "wiki-news-300d-1M.vec"),
        *(f"wiki.{language}.vec" for language in _WIKIPEDIAS.split()),
        *(f"wiki.multi.{language}.vec" for language in _ALIGNED.split()),
    )

    def __init__(self, pretrained_file_name: str = "wiki.simple.vec", *args: Any, **kwargs: Any) -> None:
        super().__init__(pretrained_file_name, *args, **kwargs)


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
