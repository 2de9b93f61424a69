"""Profiles: where the time of a training loop goes, by operator, by block and by program.

It is ``jax.profiler`` under MXNet's names, with the way back from XLA's instructions to Gluon's blocks
(docs/profiling.md)::

    profiler.set_config(filename="profile.json")
    profiler.start()
    ...  # some steps
    profiler.stop()
    print(profiler.dumps())
    profiler.dump()  # for https://ui.perfetto.dev
"""

from __future__ import annotations

from gluonx.profiler.marks import Counter as Counter
from gluonx.profiler.marks import Domain as Domain
from gluonx.profiler.marks import Event as Event
from gluonx.profiler.marks import Frame as Frame
from gluonx.profiler.marks import Marker as Marker
from gluonx.profiler.marks import Task as Task
from gluonx.profiler.marks import scope as scope
from gluonx.profiler.session import dump as dump
from gluonx.profiler.session import dump_profile as dump_profile
from gluonx.profiler.session import dumps as dumps
from gluonx.profiler.session import pause as pause
from gluonx.profiler.session import profiler_set_config as profiler_set_config
from gluonx.profiler.session import profiler_set_state as profiler_set_state
from gluonx.profiler.session import resume as resume
from gluonx.profiler.session import set_config as set_config
from gluonx.profiler.session import set_state as set_state
from gluonx.profiler.session import start as start
from gluonx.profiler.session import stop as stop
