"""``gluon.contrib.data.text``: the WikiText corpora for language models."""

from __future__ import annotations

import os
import shutil
import zipfile
from typing import Any, ClassVar

import numpy as onp

from gluonx.compat import nd
from gluonx.compat.contrib.text.utils import count_tokens_from_str
from gluonx.compat.contrib.text.vocab import Vocabulary
from gluonx.data import Dataset
from gluonx.files import atomic_write
from gluonx.utils import download, repo_file_url

__all__ = ["WikiText2", "WikiText103"]

EOS_TOKEN = "<eos>"
_FILES = {"train": "wiki.train.tokens", "validation": "wiki.valid.tokens", "test": "wiki.test.tokens"}


class _WikiText(Dataset):
    """Sequences of the numbers of tokens, and the same one token later."""

    _archive: ClassVar[tuple[str, str]]

    def __init__(
        self, root: Any = None, segment: str = "train", vocab: Vocabulary | None = None, seq_len: int = 35
    ) -> None:
        folder = self._archive[0].removesuffix("-v1.zip")
        home = os.environ.get("MXNET_HOME", os.path.join(os.path.expanduser("~"), ".mxnet"))
        self._root = os.path.expanduser(root or os.path.join(home, "datasets", folder))
        path = os.path.join(self._root, _FILES[segment])
        if not os.path.isfile(path):
            self._fetch(f"gluon/dataset/{folder}")
        with open(path, encoding="utf8") as file:
            content = file.read()
        self._counter = count_tokens_from_str(content)
        self._vocab = Vocabulary(counter=self._counter, reserved_tokens=[EOS_TOKEN]) if vocab is None else vocab
        tokens = [token for line in content.splitlines() if line.strip() for token in (*line.split(), EOS_TOKEN)]
        numbers = onp.asarray(self._vocab.to_indices(tokens), onp.int32)
        count = (len(numbers) - 1) // seq_len * seq_len
        self._data, self._label = (
            nd.array(x[:count].reshape(-1, seq_len), dtype="int32") for x in (numbers, numbers[1:])
        )

    def _fetch(self, place: str) -> None:
        """Fetch the archive, and put its files into the folder."""
        name, sha1 = self._archive
        with zipfile.ZipFile(download(repo_file_url(place, name), self._root, sha1_hash=sha1)) as archive:
            for member in archive.namelist():
                if os.path.basename(member):
                    with (
                        archive.open(member) as source,
                        atomic_write(os.path.join(self._root, os.path.basename(member))) as target,
                    ):
                        shutil.copyfileobj(source, target)

    @property
    def vocabulary(self) -> Any:
        """The vocabulary."""
        return self._vocab

    @property
    def frequencies(self) -> Any:
        """The number of times that each token is in the file."""
        return self._counter

    def __getitem__(self, idx: Any) -> tuple[Any, Any]:
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)


class WikiText2(_WikiText):
    """WikiText-2 (Merity and others, 2016): sequences of words for language models, and the same one word later.

    Parameters
    ----------
    root : str, optional
        The folder with ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``, or where they are put;
        ``$MXNET_HOME/datasets/wikitext-2`` by default.
    segment : {'train', 'validation', 'test'}
    vocab : Vocabulary, optional
        Made of the words of the segment by default.
    seq_len : int
    """

    _archive = ("wikitext-2-v1.zip", "3c914d17d80b1459be871a5039ac23e752a53cbe")


class WikiText103(_WikiText):
    """WikiText-103 (Merity and others, 2016): sequences of words for language models, and the same one word later.

    Parameters
    ----------
    root : str, optional
        The folder with ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``, or where they are put;
        ``$MXNET_HOME/datasets/wikitext-103`` by default.
    segment : {'train', 'validation', 'test'}
    vocab : Vocabulary, optional
        Made of the words of the segment by default.
    seq_len : int
    """

    _archive = ("wikitext-103-v1.zip", "0aec09a7537b58d4bb65362fee27650eeaba625a")
