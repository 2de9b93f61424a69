"""Operators that the engine makes, and what it keeps of each: the node, the trace, the program for NumPy.

From the ground up: `lengths` (one trace for all lengths), `derived` (an operator made of others, and the functions that
run any), `linalg_checks` (matrices without an inverse), `amp_policy` (another precision), `growth` (a new node of the
trie), `segments` (parts of the tape that are computed already), `untraced` (NumPy's kernels in place of a trace),
`primitive` (an operator as one equation of a block's trace), and `linking`, which makes a program for NumPy of these.
"""
