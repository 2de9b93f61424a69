"""The deferred engine. See docs/design/engine.md; the essay of each part stands in its module."""

from gluonx.deferred.core import Handle as Handle
from gluonx.deferred.core import Index as Index
from gluonx.deferred.derived import DerivedOp as DerivedOp
from gluonx.deferred.engine import invoke as invoke
from gluonx.deferred.symbols import get_symbol as get_symbol
