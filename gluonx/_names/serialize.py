"""``gluonx.serialize`` of gluonx 0.1.0 is `gluonx.files`."""

from gluonx._frames import warn
from gluonx.aliases import stand_for

warn("gluonx.serialize is called gluonx.files now; the old name goes with version 0.3.", DeprecationWarning)
stand_for(__name__)
