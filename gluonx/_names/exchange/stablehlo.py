"""``gluonx.exchange.stablehlo`` of gluonx 0.1.0 is `gluonx.export.stablehlo`."""

from gluonx._frames import warn
from gluonx.aliases import stand_for

warn(
    "gluonx.exchange.stablehlo is called gluonx.export.stablehlo now; the old name goes with version 0.3.",
    DeprecationWarning,
)
stand_for(__name__)
