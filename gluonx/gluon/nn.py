"""``gluonx.gluon.nn`` is ``gluonx.nn``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.nn import *  # noqa: F403

stand_for(__name__)
