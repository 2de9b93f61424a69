"""``gluonx.gluon.parameter`` is ``gluonx.parameter``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.block.parameter import *  # noqa: F403

stand_for(__name__)
