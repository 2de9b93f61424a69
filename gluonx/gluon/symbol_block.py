"""``gluonx.gluon.symbol_block`` is ``gluonx.symbol_block``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.compat.symbol_block import *  # noqa: F403

stand_for(__name__)
