"""``mx.contrib.text``: vocabularies, and embeddings of their tokens."""

from gluonx.compat.contrib.text import embedding as embedding
from gluonx.compat.contrib.text import utils as utils
from gluonx.compat.contrib.text import vocab as vocab

__all__ = ["embedding", "utils", "vocab"]
