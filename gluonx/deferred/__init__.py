"""The deferred engine: it records operators and computes them together.

Under ``autograd.record()`` an operator does not run. It is noted in the *pending graph* of the thread, and its result
is a handle that knows its shape and dtype and has no value yet. Reading a value, or ``trainer.step``, *flushes* the
graph: its operators are computed, usually by one XLA program, which is kept and runs again when the same code comes
again.

Recording must be fast, because it happens in each step. All the ways that recording ever took form a tree, the *trie*:
each operator leads from one node to the next. A step that is known only walks down the trie, and the node at which it
ends says which program to run.

To read the code, begin with :mod:`core` (handles, avals, trie nodes). Then follow one operator: :mod:`engine` decides
whether it runs or is recorded, :mod:`graph` records it, :mod:`growth` makes a node that is new, :mod:`tape` adds the
gradients, :mod:`flushing` chooses how to compute, :mod:`program` makes the XLA program. :mod:`tracing` makes one
operator of a hybridized block's forward. :mod:`policy` and :mod:`host` decide when NumPy runs in place of XLA. Each of
the other modules serves one purpose, which its docstring explains; docs/design/engine.md is the overview.
"""

from gluonx.deferred.core import Handle as Handle
from gluonx.deferred.core import Index as Index
from gluonx.deferred.derived import DerivedOp as DerivedOp
from gluonx.deferred.engine import invoke as invoke
from gluonx.deferred.symbols import get_symbol as get_symbol
