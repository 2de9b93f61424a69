"""``gluonx.deferred.fusion``, which stands in pickles of gluonx 0.1.0, see `gluonx.aliases`."""

from gluonx.aliases import stand_for

__all__: list[str] = []

stand_for(__name__)
