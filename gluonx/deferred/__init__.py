"""The deferred engine: it records operators and computes them together.

docs/design/engine.md is the overview; the docstring of each module explains its part.
"""

from gluonx.deferred.core import Handle as Handle
from gluonx.deferred.core import Index as Index
from gluonx.deferred.derived import DerivedOp as DerivedOp
from gluonx.deferred.engine import invoke as invoke
from gluonx.deferred.symbols import get_symbol as get_symbol
