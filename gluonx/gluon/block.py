"""``gluonx.gluon.block`` is ``gluonx.block``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.block.block import *  # noqa: F403

stand_for(__name__)
