"""``gluonx.calls``, which stands in pickles of gluonx 0.1.0, see `gluonx.aliases`."""

from gluonx.aliases import stand_for

stand_for(__name__)
