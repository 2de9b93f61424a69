"""``gluonx.viz`` stands for another module, see `gluonx.aliases`."""

from gluonx.aliases import stand_for

stand_for(__name__)
