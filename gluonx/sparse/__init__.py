"""Arrays of sparse storage: csr matrices, and arrays of which some rows are stored.

``mx.nd.sparse`` in programs of MXNet. `storage` holds the two classes, `functions` what is computed with them; how the
gradient of a large table is kept by rows is `gluonx.deferred.record.rows`, and how an optimizer updates only these rows
`gluonx.optimizer.lazily`. See docs/sparse.md.

Which names there are is what the modules list in their ``__all__``.
"""

from gluonx.sparse import functions, storage
from gluonx.sparse.functions import *  # noqa: F403
from gluonx.sparse.storage import *  # noqa: F403

__all__: list[str] = []
__all__ += functions.__all__
__all__ += storage.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
