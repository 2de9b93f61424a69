"""``gluonx.gluon.contrib`` is ``gluonx.contrib``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.compat.contrib import *  # noqa: F403

stand_for(__name__)
