"""The deferred engine: it records operators and computes them together.

Under ``autograd.record()`` an operator does not run. It is noted in the *pending graph* of the thread, and its result
is a handle that knows its shape and dtype and has no value yet. Reading a value, or ``trainer.step``, *flushes* the
graph: its operators are computed, usually by one XLA program, which is kept and runs again when the same code comes
again.

Recording must be fast, because it happens in each step. All the ways that recording ever took form a tree, the *trie*:
each operator leads from one node to the next. A step that is known only walks down the trie, and the node at which it
ends says which program to run.

The code lies in storeys; each imports from those below it only, and its own page lists its modules from the ground up:

- :mod:`~gluonx.deferred.trace`: a block's forward as one operator,
- :mod:`~gluonx.deferred.record`: the door of every operator (`engine`), the pending graph, gradients (`tape`),
- :mod:`~gluonx.deferred.run`: how pending operators become values, by NumPy or by XLA, and when XLA compiles,
- :mod:`~gluonx.deferred.operators`: operators that the engine makes, and what it keeps of each,
- :mod:`~gluonx.deferred.values`: handles, pending values, avals, trie nodes.

:mod:`~gluonx.deferred.replicas`, programs on lists of devices, stands beside the upper storeys: `flushing` asks it for
a program, and its calls record. To follow one operator, read ``values.core``, ``record.engine`` (does it run, or is it
recorded?), ``record.graph``, ``operators.growth`` (a node that is new), ``record.tape``, ``run.flushing`` and
``run.program``. docs/design/engine.md is the overview.
"""

from gluonx.deferred.operators.derived import DerivedOp as DerivedOp
from gluonx.deferred.record.engine import invoke as invoke
from gluonx.deferred.values.core import Handle as Handle
from gluonx.deferred.values.core import Index as Index
from gluonx.deferred.values.symbols import get_symbol as get_symbol
